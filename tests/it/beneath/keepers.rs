//! What keeps a family by a row between, and comes while a batch deletes that: the batch is tried again, and the family kept.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::beside;
use crate::harness::tests;
use crate::support::effort::share;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::keyed::{self, Rows};

tests! {
    each_server: [
        what_keeps_a_run_by_a_step_from_now_on_keeps_it,
        what_goes_together_goes,
        what_a_foreign_key_keeps_from_now_on_stays,
        what_a_foreign_key_keeps_from_now_on_is_named_by_a_purge,
        what_refers_to_a_row_of_one_table_from_now_on_keeps_it,
    ],
}

/// A run has steps. A bill keeps a step, and so does a part that has not ended; a note is deleted with both of its steps.
const SPEC: &str = r#"
name = "beneath"

[tables]
run  = { key = "id bigint" }
step = { key = "id bigint", parents = ["run_id -> run.id"] }
part = { key = "id bigint", parents = ["step_id -> step.id"], final = { ended = true } }
bill = { key = "id bigint", parents = ["step_id -> step.id restrict"] }
note = { key = "id bigint", parents = ["step_id -> step.id", "after_id -> step.id"], with = "all" }

[rules.history]
strategy  = "end-time"
root      = "run"
final     = { state = 1 }
end_time  = "ended"
retention = { default = "30d" }
archive   = true
"#;

const ALONE: &str = r#"
name = "beneath"

[tables]
run = { key = "id bigint" }

[rules.history]
strategy   = "removal-time"
root       = "run"
time       = "ended"
tables     = ["run"]
references = ["bill: run_id -> run"]
"#;

const TABLES: [&str; 2] = ["run", "step"];

pub(crate) fn graph() -> Graph {
    graph_of(SPEC)
}

fn installed(dialect: Dialect, spec: &str, tables: &str, rows: &str) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE run (id bigint PRIMARY KEY, state integer, ended {time});
         CREATE INDEX run_ended ON run (ended, id);
         {tables}"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(spec));
    database.arm();
    database.execute(rows);
    database
        .set_setting("lock_timeout", 60_000)
        .expect("a setting");
    database
}

fn database(dialect: Dialect, action: &str, runs: &str) -> Installation {
    let tables = format!(
        "CREATE TABLE step (id bigint PRIMARY KEY, run_id bigint, FOREIGN KEY (run_id) REFERENCES run (id));
         CREATE TABLE part (id bigint PRIMARY KEY, step_id bigint, ended boolean, FOREIGN KEY (step_id) REFERENCES step (id) ON DELETE {action});
         CREATE TABLE bill (id bigint PRIMARY KEY, step_id bigint, FOREIGN KEY (step_id) REFERENCES step (id));
         CREATE TABLE note (id bigint PRIMARY KEY, step_id bigint, after_id bigint,
             FOREIGN KEY (step_id) REFERENCES step (id) ON DELETE {action},
             FOREIGN KEY (after_id) REFERENCES step (id) ON DELETE {action});
         CREATE INDEX step_run ON step (run_id);
         CREATE INDEX part_step ON part (step_id);
         CREATE INDEX bill_step ON bill (step_id);
         CREATE INDEX note_step ON note (step_id);
         CREATE INDEX note_after ON note (after_id);"
    );
    let steps = "INSERT INTO step VALUES (10, 1), (11, 1), (30, 3)";
    let rows = format!("INSERT INTO run VALUES {runs}, (3, 0, '2999-01-01'); {steps}");
    installed(dialect, SPEC, &tables, &rows)
}

/// That a run has kept run 1 once it had tried again.
fn kept(database: &mut Installation, answer: &Value, families: i64, reason: &str, context: &str) {
    let rule = &answer["rules"][0];
    assert_eq!(answer["status"], "done", "{context}: {answer}");
    assert_eq!(rule["families"], families, "{context}: {answer}");
    assert_eq!(rule["skipped"], json!({reason: 1}), "{context}: {answer}");
    assert_eq!(rule["retries"], 1, "{context}: {answer}");
    let stay = [
        ("run", 1),
        ("run", 3),
        ("step", 10),
        ("step", 11),
        ("step", 30),
    ];
    assert_eq!(
        keyed::left(database, &TABLES),
        Rows::from(stay),
        "{context}: {answer}"
    );
}

const ONE: &str = "(1, 1, '2020-01-01')";
const TWO: &str = "(1, 1, '2020-01-01'), (2, 1, '2020-01-02')";

/// The table, what comes to it below step 10, and why that keeps run 1.
const KEEPERS: [(&str, &str, &str); 3] = [
    ("bill", "(1, 10)", "REFERENCED"),
    ("part", "(1, 10, false)", "REFERENCED"),
    ("note", "(1, 10, 30)", "SHARED_MEMBER"),
];

fn what_keeps_a_run_by_a_step_from_now_on_keeps_it(dialect: Dialect) {
    for action in ["NO ACTION", "CASCADE"] {
        for (runs, families) in share(dialect, [(ONE, 0), (TWO, 1)]) {
            for (table, row, reason) in KEEPERS {
                let mut database = database(dialect, action, runs);
                let comes = format!("INSERT INTO {table} VALUES {row}");
                let answer = beside(&mut database, &comes, "run", json!({}));
                let context = format!("{table} {action} {families}");
                kept(&mut database, &answer, families, reason, &context);
                let rows = database.number(&format!("SELECT COUNT(*) FROM {table}"));
                assert_eq!(rows, 1, "{context}");
            }
        }
    }
}

/// A dry run has rolled back what it took before, and a family that shares a row with another goes with it.
fn what_goes_together_goes(dialect: Dialect) {
    let mut database = database(dialect, "CASCADE", TWO);
    database.execute(
        "INSERT INTO step VALUES (20, 2);
         INSERT INTO part VALUES (1, 10, true);
         INSERT INTO note VALUES (1, 10, 20), (2, 10, 11)",
    );
    database
        .set_setting("batch_families", 1)
        .expect("a setting");
    let cleaned = keyed::cleaned(&mut database, "together");
    assert_eq!(cleaned.families, 2);
    let tables = json!({"part": 1, "note": 2, "step": 3, "run": 2});
    assert_eq!(cleaned.tables, tables);
}

/// Where nothing that is deleted keeps a family, nothing is read again: the key refuses.
/// Bills refer to steps.
fn billed(dialect: Dialect, runs: &str) -> Installation {
    let lines = SPEC.lines();
    let others = lines.filter(|line| !line.starts_with("part") && !line.starts_with("note"));
    let spec = others.collect::<Vec<_>>().join("\n");
    let tables = "CREATE TABLE step (id bigint PRIMARY KEY, run_id bigint, FOREIGN KEY (run_id) REFERENCES run (id));
        CREATE TABLE bill (id bigint PRIMARY KEY, step_id bigint, FOREIGN KEY (step_id) REFERENCES step (id));
        CREATE INDEX step_run ON step (run_id);
        CREATE INDEX bill_step ON bill (step_id);";
    let steps = "INSERT INTO step VALUES (10, 1), (11, 1), (30, 3)";
    let rows = format!("INSERT INTO run VALUES {runs}, (3, 0, '2999-01-01'); {steps}");
    installed(dialect, &spec, tables, &rows)
}

/// Bills refer to runs, whose rule has no other table.
fn billed_alone(dialect: Dialect) -> Installation {
    let tables = "CREATE TABLE bill (id bigint PRIMARY KEY, run_id bigint, FOREIGN KEY (run_id) REFERENCES run (id));
        CREATE INDEX bill_run ON bill (run_id);";
    let rows = "INSERT INTO run VALUES (1, 1, '2020-01-01'), (3, 0, '2999-01-01')";
    installed(dialect, ALONE, tables, rows)
}

fn what_a_foreign_key_keeps_from_now_on_stays(dialect: Dialect) {
    for (runs, families) in [(ONE, 0), (TWO, 1)] {
        let mut database = billed(dialect, runs);
        let comes = "INSERT INTO bill VALUES (1, 10)";
        let answer = beside(&mut database, comes, "run", json!({}));
        let context = families.to_string();
        kept(&mut database, &answer, families, "REFERENCED", &context);
    }
}

/// A purge judges it once more as well.
fn what_a_foreign_key_keeps_from_now_on_is_named_by_a_purge(dialect: Dialect) {
    for (mut database, row) in [(billed(dialect, ONE), 10), (billed_alone(dialect), 1)] {
        let comes = format!("INSERT INTO bill VALUES (1, {row})");
        let answer = beside(&mut database, &comes, "purge", json!({"key": [1]}));
        assert_eq!(answer["refused"], json!({"1": "REFERENCED"}), "{answer}");
        assert_eq!(answer["rules"][0]["failures"], json!([]), "{answer}");
        assert_eq!(database.number("SELECT COUNT(*) FROM run"), 2, "{answer}");
    }
}

fn what_refers_to_a_row_of_one_table_from_now_on_keeps_it(dialect: Dialect) {
    let mut database = billed_alone(dialect);
    let comes = "INSERT INTO bill VALUES (1, 1)";
    let answer = beside(&mut database, comes, "run", json!({}));
    let rule = &answer["rules"][0];
    assert_eq!(answer["status"], "done", "{answer}");
    assert_eq!(rule["skipped"], json!({"REFERENCED": 1}), "{answer}");
    assert_eq!(database.number("SELECT COUNT(*) FROM run"), 2, "{answer}");
}
