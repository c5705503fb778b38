//! States in columns of other types than numbers.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        an_unknown_state_of_any_type_is_not_final,
    ],
}

const SPEC: &str = r#"
name = "states"

[tables]
runs  = { key = "id integer" }
parts = { parents = ["run_id -> runs.id"] }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = [FINAL] }
end_time  = "ended"
retention = { default = "30d" }
"#;

/// A type, what is final, and what is not: what nobody has foreseen, what has it in it, what is like it.
type Case = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const TEXTS: [&str; 11] = [
    "NULL",
    "''",
    "'odd'",
    "'don'",
    "'donee'",
    "'undone'",
    "' done'",
    "'d%'",
    "'done,failed'",
    "'0'",
    "'null'",
];
const NAMES: [&str; 2] = ["'done'", "'failed'"];
const NUMBERS: [&str; 5] = ["NULL", "-1", "0", "4", "127"];

fn cases(dialect: Dialect) -> Vec<Case> {
    let mut cases: Vec<Case> = vec![
        ("smallint", &["3", "5"], &NUMBERS),
        (
            "bigint",
            &["3", "5"],
            &["NULL", "-3", "35", "4294967299", "9223372036854775807"],
        ),
        (
            "decimal(12, 3)",
            &["3", "5"],
            &["NULL", "3.001", "2.999", "30", "-5"],
        ),
    ];
    cases.extend::<[Case; 3]>(match dialect {
        Dialect::Postgres => [
            ("varchar(20)", &NAMES, &TEXTS),
            (
                "text COLLATE \"C\"",
                &NAMES,
                &["NULL", "'DONE'", "'Done'", "'done '", "E'done\\n'"],
            ),
            ("mood", &NAMES, &["NULL", "'odd'", "'Done'"]),
        ],
        Dialect::Mysql | Dialect::Mariadb => [
            ("varchar(20)", &NAMES, &TEXTS),
            (
                "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
                &NAMES,
                &["NULL", "'DONE'", "'Done'", "'done\\n'"],
            ),
            (
                "enum('odd', 'done', 'failed', 'undone')",
                &NAMES,
                &["NULL", "'odd'", "'undone'", "1"],
            ),
        ],
    });
    cases
}

fn an_unknown_state_of_any_type_is_not_final(dialect: Dialect) {
    for (kind, known, unknown) in cases(dialect) {
        let written = known.join(", ").replace('\'', "\"");
        let spec = SPEC.replace("FINAL", &written);
        let mood = match dialect {
            Dialect::Postgres => "CREATE TYPE mood AS ENUM ('odd', 'done', 'Done', 'failed');\n",
            Dialect::Mysql | Dialect::Mariadb => "",
        };
        let schema = format!(
            "{mood}CREATE TABLE runs (id integer NOT NULL PRIMARY KEY, state {kind}, ended timestamp NULL);
             CREATE TABLE parts (id integer NOT NULL PRIMARY KEY, run_id integer)"
        );
        let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
        let mut stay = Vec::new();
        for (state, id) in known.iter().chain(unknown).zip(1..) {
            database.execute(&format!(
                "INSERT INTO runs VALUES ({id}, {state}, '2025-01-01 00:00:00')"
            ));
            database.execute(&format!("INSERT INTO parts VALUES ({id}, {id})"));
            if id > known.len() {
                stay.push(id.to_string());
            }
        }
        database.arm();
        let run = database.run(json!({})).expect("a run");
        assert_eq!(run["status"], "done", "{kind}: {run}");
        for rows in [
            "SELECT id FROM runs ORDER BY id",
            "SELECT run_id FROM parts ORDER BY run_id",
        ] {
            assert_eq!(database.texts(rows), stay, "{kind}: {run}");
        }
    }
}
