//! Keys without a sign, which many applications of MySQL and MariaDB have (Laravel's are `bigint unsigned`), and decimals, at both ends
//! of their range.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::acting::all_findings;
use crate::harness::tests;
use crate::support::effort::in_turn;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    mysql_or_mariadb: [
        families_are_found_by_keys_without_a_sign,
        rows_are_found_by_keys_without_a_sign,
        members_are_found_by_keys_without_a_sign,
        links_and_claims_have_keys_without_a_sign,
        a_decimal_with_a_fraction_is_no_key,
    ],
}

/// Types, the words for them in a spec, and their greatest value.
const KINDS: [(&str, &str, &str); 7] = [
    ("tinyint unsigned", "smallint", "255"),
    ("smallint unsigned", "smallint", "65535"),
    ("mediumint unsigned", "integer", "16777215"),
    ("int unsigned", "integer", "4294967295"),
    ("bigint unsigned", "bigint", "18446744073709551615"),
    ("decimal(20,0)", "numeric", "99999999999999999999"),
    (
        "decimal(62,0)",
        "numeric",
        "99999999999999999999999999999999999999999999999999999999999999",
    ),
];

const RETENTION: &str = "retention = { default = \"30d\", minimum = \"7d\", safety_lag = \"1d\" }";

fn spec(word: &str, tables: &str, rule: &str) -> String {
    format!(
        r#"
name = "signs"
dialects = ["mysql", "mariadb"]
database = "signs"

[tables]
job = {{ key = "id {word}" }}
{tables}

[rules.jobs]
root = "job"
{rule}
"#
    )
}

/// What a preview and a run say of the rule, and what is left of the keys 0, 1, 2 and the greatest: the second is held.
fn cleaned(database: &mut Installation, greatest: &str) -> (Value, Value, Vec<String>) {
    database.arm();
    database
        .set_hold(json!({ "key": "1", "reason": "audit" }))
        .expect("a hold");
    let preview = database.preview(json!({})).expect("a preview");
    let run = database.run(json!({})).expect("a run");
    let left = database.texts("SELECT CAST(id AS char(62)) FROM job ORDER BY id");
    // Whoever is not held goes by name, too.
    database.execute(&format!("INSERT INTO job SELECT {greatest}, j.state, j.ended_at, j.gone FROM job AS j WHERE j.id = 1"));
    // A spec knows no type that has the range of these two.
    if !["255", "16777215"].contains(&greatest) && !greatest.starts_with("999") {
        let refused = database.purge(json!({ "rule": "jobs", "key": [format!("{greatest}0")] }));
        let told = format!("{refused:?}");
        assert!(told.contains("not a key of job"), "{told}");
    }
    let purge = database.purge(json!({ "rule": "jobs", "key": [greatest] }));
    assert!(purge.is_ok(), "{purge:?}");
    let again = database.number(&format!("SELECT COUNT(*) FROM job WHERE id = {greatest}"));
    assert_eq!(again, 0, "{purge:?}");
    (preview, run, left)
}

fn schema(kind: &str, greatest: &str) -> String {
    format!(
        "CREATE TABLE job (id {kind} PRIMARY KEY, state varchar(10) NOT NULL, ended_at datetime, gone {kind});
         CREATE TABLE step (id {kind} PRIMARY KEY, job_id {kind} NOT NULL, KEY (job_id));
         CREATE TABLE part (step_id {kind} NOT NULL, KEY (step_id));
         CREATE TABLE other (id {kind} PRIMARY KEY);
         INSERT INTO job VALUES (0, 'done', '2024-01-01', 7), (1, 'done', '2024-01-01', 7), (2, 'done', '2024-01-02', 7),
             ({greatest}, 'done', '2024-01-01', {greatest});
         INSERT INTO step SELECT id, id FROM job;
         INSERT INTO part SELECT id FROM step"
    )
}

fn families_are_found_by_keys_without_a_sign(dialect: Dialect) {
    for (kind, word, greatest) in KINDS {
        let tables = format!(
            "step = {{ key = \"id {word}\", parents = [\"job_id -> job.id\"] }}\npart = {{ parents = [\"step_id -> step.id\"] }}"
        );
        let rule = format!(
            "strategy = \"end-time\"\nfinal = {{ state = \"done\" }}\nend_time = \"ended_at\"\n{RETENTION}\nlimits = {{ batch_families = 1 }}"
        );
        let spec = spec(word, &tables, &rule);
        let schema = schema(kind, greatest);
        let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
        let (preview, run, left) = cleaned(&mut database, greatest);
        assert_eq!(preview["rules"][0]["families"], 3, "{kind}: {preview}");
        assert_eq!(
            run["rules"][0]["tables"],
            json!({ "part": 3, "step": 3, "job": 3 }),
            "{kind}: {run}"
        );
        assert_eq!(left, ["1"], "{kind}");
    }
}

/// Links are compared as numbers with a sign, which is enough for all but the upper half of 64 bits.
fn links_and_claims_have_keys_without_a_sign(dialect: Dialect) {
    for (kind, word, greatest) in KINDS {
        let greatest = match word {
            "bigint" => "9223372036854775807",
            _ => greatest,
        };
        for links in [
            "",
            "hierarchy = [\"job: gone -> id\"]\nshared = \"closed\"\n",
        ] {
            let rule = format!(
                "strategy = \"end-time\"\nfinal = {{ state = \"done\" }}\nend_time = \"ended_at\"\n{links}{RETENTION}\nlimits = {{ batch_families = 1 }}"
            );
            let spec = spec(word, "", &rule).replace("[tables]", "workers = 2\n\n[tables]");
            let schema = schema(kind, greatest);
            let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
            let (preview, run, left) = cleaned(&mut database, greatest);
            assert_eq!(preview["rules"][0]["families"], 3, "{kind}: {preview}");
            assert_eq!(run["rules"][0]["tables"]["job"], 3, "{kind} {links}: {run}");
            assert_eq!(left, ["1"], "{kind} {links}");
        }
    }
}

fn a_decimal_with_a_fraction_is_no_key(dialect: Dialect) {
    let rule = format!("strategy = \"age\"\ntime = \"ended_at\"\n{RETENTION}");
    let spec = spec("numeric", "", &rule);
    for (kind, refused) in [("decimal(12)", false), ("decimal(12,2)", true)] {
        let schema = schema(kind, "1000");
        let database = Installation::of(dialect, &schema, &graph_of(&spec));
        let found = all_findings(&database, dialect, &spec);
        let found: Vec<String> = found
            .iter()
            .filter(|it| it.code == "type-differs")
            .map(ToString::to_string)
            .collect();
        assert_eq!(!found.is_empty(), refused, "{kind}: {found:?}");
        assert!(
            found
                .iter()
                .all(|it| it.contains("is `decimal(12,2)`, but refers to whole numbers")),
            "{found:?}"
        );
    }
}

fn rows_are_found_by_keys_without_a_sign(dialect: Dialect) {
    for (round, (kind, word, greatest)) in KINDS.into_iter().enumerate() {
        let rules = [
            format!("strategy = \"age\"\ntime = \"ended_at\"\n{RETENTION}"),
            "strategy = \"expiry\"\ntime = \"ended_at\"".to_owned(),
            format!(
                "strategy = \"orphan\"\nneeds = [\"gone -> other.id\"]\ntime = \"ended_at\"\n{RETENTION}"
            ),
        ];
        for rule in in_turn(round, rules.len(), rules) {
            let rule = format!("{rule}\nlimits = {{ batch_rows = 1 }}");
            let spec = spec(word, "", &rule);
            let schema = schema(kind, greatest);
            let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
            let (preview, run, left) = cleaned(&mut database, greatest);
            assert_eq!(preview["rules"][0]["tables"]["job"], 3, "{kind}: {preview}");
            assert_eq!(run["rules"][0]["tables"]["job"], 3, "{kind} {rule}: {run}");
            assert_eq!(left, ["1"], "{kind} {rule}");
        }
    }
}

fn members_are_found_by_keys_without_a_sign(dialect: Dialect) {
    for (kind, word, greatest) in KINDS {
        let tables = format!("step = {{ key = \"id {word}\", parents = [\"job_id -> job.id\"] }}");
        let rule = "strategy = \"removal-time\"\ntime = \"removal_time\"\ntables = [\"step: job_id\", \"job: id\"]\nlimits = { batch_families = 1 }";
        let spec = spec(word, &tables, rule);
        let schema = format!(
            "{};
             ALTER TABLE job ADD COLUMN removal_time datetime; ALTER TABLE step ADD COLUMN removal_time datetime;
             UPDATE job SET removal_time = ended_at; UPDATE step SET removal_time = '2024-01-01'",
            schema(kind, greatest)
        );
        let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
        database.arm();
        database
            .set_hold(json!({ "key": "1", "reason": "audit" }))
            .expect("a hold");
        let preview = database.preview(json!({})).expect("a preview");
        assert_eq!(
            preview["rules"][0]["tables"],
            json!({ "step": 3, "job": 3 }),
            "{kind}: {preview}"
        );
        let run = database.run(json!({})).expect("a run");
        assert_eq!(
            run["rules"][0]["tables"],
            json!({ "step": 3, "job": 3 }),
            "{kind}: {run}"
        );
        let left = database.texts("SELECT CAST(id AS char(20)) FROM job ORDER BY id");
        assert_eq!(left, ["1"], "{kind}");
    }
}
