//! Columns that name rows are longer than the keys of these, and hold what can be no key.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        what_is_no_root_is_longer_than_one,
    ],
}

/// A type of keys with its word, three of them, the type of what names them, and what fits that alone; its beginning is a key.
type Kinds = (
    &'static str,
    &'static str,
    [&'static str; 3],
    &'static str,
    &'static str,
);

const KINDS: [Kinds; 2] = [
    (
        "varchar(4)",
        "varchar",
        ["'a'", "'b'", "'long'"],
        "varchar(9)",
        "'longest'",
    ),
    (
        "integer",
        "integer",
        ["1", "2", "2147483647"],
        "bigint",
        "99999999999",
    ),
];

fn time(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    }
}

/// Rows of the root table, of a table in between and of one below name two roots, of which one can be none.
fn what_is_no_root_is_longer_than_one(dialect: Dialect) {
    for (key, word, [one, two, long], wide, other) in KINDS {
        // A variable there has the type that the spec says, and `check` tells of another one.
        if dialect == Dialect::Postgres && word != "varchar" {
            continue;
        }
        for unit in ["window", "family"] {
            let spec = format!(
                r#"
name = "wider"

[tables]
job  = {{ key = "id {word}" }}
step = {{ key = "id integer", parents = ["root -> job.id"] }}
part = {{ parents = ["step_id -> step.id", "root -> job.id"], with = "any" }}

[rules.jobs]
strategy = "removal-time"
root     = "job"
time     = "removal"
tables   = ["part: first, root", "step: first, root", "job: root"]
unit     = "{unit}"
limits   = {{ retries = 0 }}
"#
            );
            let time = time(dialect);
            let schema = format!(
                "CREATE TABLE job (id {key} PRIMARY KEY, root {wide}, removal {time});
                 CREATE TABLE step (id integer PRIMARY KEY, first {wide}, root {wide}, removal {time});
                 CREATE TABLE part (step_id integer, first {wide}, root {wide}, removal {time}, FOREIGN KEY (step_id) REFERENCES step (id));
                 INSERT INTO job VALUES ({one}, {one}, '2020-01-01'), ({two}, {other}, '2020-01-02'), ({long}, {long}, '2999-01-01');
                 INSERT INTO step VALUES (1, {other}, {one}, '2020-01-01'), (2, NULL, {one}, '2020-01-01'), (4, {long}, {long}, '2999-01-01');
                 INSERT INTO part VALUES (1, {other}, {one}, '2020-01-01'), (1, NULL, {one}, '2020-01-01'), (4, {long}, {long}, '2999-01-01')"
            );
            let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
            database.arm();
            let context = format!("{key} {unit}");
            for dry_run in [true, false] {
                let run = database.run(json!({"dry_run": dry_run})).expect("a run");
                assert_eq!(run["rules"][0]["failures"], json!([]), "{context}: {run}");
                assert_eq!(run["status"], "done", "{context}: {run}");
            }
            let left = "SELECT CONCAT((SELECT COUNT(*) FROM job), ' ', (SELECT COUNT(*) FROM step), ' ', (SELECT COUNT(*) FROM part))";
            assert_eq!(database.texts(left), ["1 1 1"], "{context}");
        }
    }
}
