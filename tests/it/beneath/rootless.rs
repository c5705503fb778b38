//! The same of rows that name no root, but an instance of the family.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::{FILL, archived, beside, beside_too, fill, many};
use crate::harness::tests;
use crate::support::effort::share;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::keyed::{self, Rows};

tests! {
    each_server: [
        what_comes_below_a_step_without_a_root_goes_with_it,
        what_comes_below_a_named_step_without_a_root_goes_with_it,
        what_comes_below_a_step_without_a_root_from_elsewhere_keeps_it,
        what_comes_with_a_step_without_a_root_goes_with_it,
    ],
}

/// A run has steps, and these have parts. Old ones of both name no root, but their run; or it is the parts that name a step.
const SPEC: &str = r#"
name = "beneath"

[tables]
run  = { key = "id bigint" }
step = { key = "id bigint", parents = ["root -> run.id"] }
part = { key = "id bigint", parents = ["root -> run.id", "step_id -> step.id"], with = "any" }

[rules.history]
strategy  = "removal-time"
root      = "run"
time      = "removal"
end_time  = "ended"
tables    = ["part: root", "step: root", "run: root"]
archive   = ARCHIVE
retention = { minimum = "1d", safety_lag = "1h" }

[rules.history.stamp]
start = "ended"
per   = "kind varchar"
from  = "kind: id -> days days"
OWN
"#;

pub(crate) const OWN: [&str; 2] = [
    "own = [\"step: run_id\", \"part: run_id\"]",
    "own = [\"part: run_id\"]\nnamed = [\"step\"]",
];

const TABLES: [&str; 3] = ["run", "step", "part"];

pub(crate) fn graph(archive: bool, own: &str) -> Graph {
    let spec = SPEC.replace("ARCHIVE", &archive.to_string());
    graph_of(&spec.replace("OWN", own))
}

fn database(dialect: Dialect, archive: bool, own: &str) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE kind (id varchar(20) PRIMARY KEY, days integer);
         CREATE TABLE run (id bigint PRIMARY KEY, root bigint, kind varchar(20), ended {time}, removal {time});
         CREATE TABLE step (id bigint PRIMARY KEY, root bigint, run_id bigint, removal {time});
         CREATE TABLE part (id bigint PRIMARY KEY, root bigint, run_id bigint, step_id bigint, removal {time},
             FOREIGN KEY (step_id) REFERENCES step (id) ON DELETE CASCADE);
         CREATE INDEX run_root ON run (root);
         CREATE INDEX step_root ON step (root);
         CREATE INDEX step_run ON step (run_id);
         CREATE INDEX part_root ON part (root);
         CREATE INDEX part_run ON part (run_id);
         CREATE INDEX part_step ON part (step_id);
         CREATE INDEX run_removal ON run (removal);
         CREATE INDEX step_removal ON step (removal);
         CREATE INDEX part_removal ON part (removal);"
    );
    let mut database = Installation::of(dialect, &schema, &graph(archive, own));
    database.arm();
    let rows = format!(
        "INSERT INTO run VALUES (1, 1, 'a', '2020-01-01', '2020-01-01'), (2, 2, 'a', '2020-01-01', '2020-01-02'), {};
         INSERT INTO step VALUES (10, NULL, 1, '2020-01-01'), (20, NULL, 2, '2020-01-02'), {};
         INSERT INTO part VALUES (100, NULL, 1, 10, '2020-01-01'), (200, NULL, 2, 20, '2020-01-02'), {}",
        many("1000, 'a', '2999-01-01', '2999-01-01'"),
        many("1000, 1000, '2999-01-01'"),
        many("1000, 1000, 1000, '2999-01-01'"),
    );
    fill(&mut database, &["part", "step", "run"], &rows);
    database
}

fn left(database: &mut Installation) -> Rows {
    let mut rows = keyed::left(database, &TABLES);
    rows.retain(|(_, id)| *id < FILL);
    rows
}

/// That all is deleted, counted and archived.
fn all_went(
    database: &mut Installation,
    answer: &Value,
    parts: &[&str],
    steps: u64,
    context: &str,
) {
    let rule = &answer["rules"][0];
    assert_eq!(answer["status"], "done", "{context}: {answer}");
    let tables = json!({"part": parts.len(), "step": steps, "run": 2});
    assert_eq!(rule["tables"], tables, "{context}: {answer}");
    assert_eq!(rule["skipped"], json!({}), "{context}: {answer}");
    if context.contains("true") {
        assert_eq!(archived(database, "part"), parts, "{context}");
    }
    assert_eq!(left(database), Rows::new(), "{context}: {answer}");
}

fn below(dialect: Dialect, own: &str) {
    for archive in share(dialect, [true, false]) {
        let context = format!("{archive}");
        let mut database = database(dialect, archive, own);
        let comes = "INSERT INTO part VALUES (101, NULL, 1, 10, '2020-01-01')";
        let answer = beside(&mut database, comes, "run", json!({}));
        all_went(&mut database, &answer, &["100", "101", "200"], 2, &context);
    }
}

fn what_comes_below_a_step_without_a_root_goes_with_it(dialect: Dialect) {
    below(dialect, OWN[0]);
}

fn what_comes_below_a_named_step_without_a_root_goes_with_it(dialect: Dialect) {
    below(dialect, OWN[1]);
}

/// A part of a run that is kept.
fn what_comes_below_a_step_without_a_root_from_elsewhere_keeps_it(dialect: Dialect) {
    for own in OWN {
        let mut database = database(dialect, true, own);
        let comes = "INSERT INTO part VALUES (101, 1000, 1000, 10, '2999-01-01')";
        let answer = beside(&mut database, comes, "run", json!({}));
        let rule = &answer["rules"][0];
        assert_eq!(answer["status"], "done", "{own}: {answer}");
        let tables = json!({"part": 1, "step": 1, "run": 1});
        assert_eq!(rule["tables"], tables, "{own}: {answer}");
        let skipped = json!({"REFERENCED": 1});
        assert_eq!(rule["skipped"], skipped, "{own}: {answer}");
        let stay = [("run", 1), ("step", 10), ("part", 100), ("part", 101)];
        assert_eq!(left(&mut database), Rows::from(stay), "{own}: {answer}");
    }
}

/// It comes after the batch has deleted the parts of its run.
fn what_comes_with_a_step_without_a_root_goes_with_it(dialect: Dialect) {
    for archive in share(dialect, [true, false]) {
        let context = format!("{archive}");
        let mut database = database(dialect, archive, OWN[0]);
        let mut other = database.connect();
        let holds = "SELECT id FROM part WHERE id = 200 FOR UPDATE";
        let answer = beside_too(&mut database, holds, "run", json!({}), || {
            for row in [
                "step VALUES (13, NULL, 1, '2020-01-01')",
                "part VALUES (130, NULL, 1, 13, '2020-01-01')",
            ] {
                other.execute(&format!("INSERT INTO {row}")).expect(row);
            }
        });
        all_went(&mut database, &answer, &["100", "130", "200"], 3, &context);
    }
}
