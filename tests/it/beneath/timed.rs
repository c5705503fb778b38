//! The same in rules by removal time: what comes below a row of a family, or of a window, is deleted with it where it is of
//! the same, and keeps it otherwise.

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
        what_comes_below_a_step_goes_with_its_family,
        what_comes_below_a_step_of_no_family_goes_with_it,
        what_comes_below_a_step_from_elsewhere_keeps_it,
        what_comes_below_a_step_of_no_family_from_elsewhere_keeps_it,
        what_refers_to_a_step_from_now_on_keeps_it,
        what_comes_below_a_step_goes_with_its_purge,
        what_comes_with_a_step_of_its_own_goes_with_its_family,
        what_comes_with_a_step_of_its_own_goes_with_its_purge,
        what_comes_with_a_step_of_no_family_goes_with_it,
    ],
}

/// A run has steps, and these have parts, which say their run, too. A bill refers to a step.
const SPEC: &str = r#"
name = "beneath"

[tables]
run  = { key = "id bigint" }
step = { key = "id bigint", parents = ["run_id -> run.id"] }
part = { key = "id bigint", parents = ["run_id -> run.id", "step_id -> step.id"], with = "any" }

[rules.history]
strategy   = "removal-time"
root       = "run"
time       = "removal"
tables     = ["part: run_id", "step: run_id", "run"]
references = ["bill: step_id -> step"]
archive    = ARCHIVE
unit       = "UNIT"
"#;

const UNITS: [&str; 2] = ["family", "window"];

const TABLES: [&str; 3] = ["run", "step", "part"];

pub(crate) fn graph(unit: &str, archive: bool) -> Graph {
    let spec = SPEC.replace("ARCHIVE", &archive.to_string());
    graph_of(&spec.replace("UNIT", unit))
}

fn database(dialect: Dialect, unit: &str, archive: bool, action: &str) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE run (id bigint PRIMARY KEY, removal {time});
         CREATE TABLE step (id bigint PRIMARY KEY, run_id bigint, removal {time});
         CREATE TABLE part (id bigint PRIMARY KEY, run_id bigint, step_id bigint, removal {time},
             FOREIGN KEY (step_id) REFERENCES step (id) ON DELETE {action});
         CREATE TABLE bill (id bigint PRIMARY KEY, step_id bigint, FOREIGN KEY (step_id) REFERENCES step (id));
         CREATE INDEX step_run ON step (run_id);
         CREATE INDEX part_run ON part (run_id);
         CREATE INDEX part_step ON part (step_id);
         CREATE INDEX bill_step ON bill (step_id);
         CREATE INDEX run_removal ON run (removal);
         CREATE INDEX step_removal ON step (removal);
         CREATE INDEX part_removal ON part (removal);"
    );
    let mut database = Installation::of(dialect, &schema, &graph(unit, archive));
    database.arm();
    let rows = format!(
        "INSERT INTO run VALUES (1, '2020-01-01'), (2, '2020-01-02'), {};
         INSERT INTO step VALUES (10, 1, '2020-01-01'), (11, 1, '2020-01-01'), (20, 2, '2020-01-02'), {};
         INSERT INTO part VALUES (100, 1, 10, '2020-01-01'), (110, 1, 11, '2020-01-01'), (200, 2, 20, '2020-01-02'), {}",
        many("'2999-01-01'"),
        many("1000, '2999-01-01'"),
        many("1000, 1000, '2999-01-01'"),
    );
    fill(&mut database, &["bill", "part", "step", "run"], &rows);
    database
}

fn left(database: &mut Installation) -> Rows {
    let mut rows = keyed::left(database, &TABLES);
    rows.retain(|(_, id)| *id < FILL);
    rows
}

const COMES: &str = "INSERT INTO part VALUES (101, 1, 10, '2020-01-01')";

/// That a run, or a purge, has deleted so many rows, and has counted and archived these parts.
fn went(
    database: &mut Installation,
    answer: &Value,
    parts: &[&str],
    tables: &Value,
    context: &str,
) {
    let rule = &answer["rules"][0];
    assert_eq!(&rule["tables"], tables, "{context}: {answer}");
    assert_eq!(rule["skipped"], json!({}), "{context}: {answer}");
    if context.contains("true") {
        assert_eq!(archived(database, "part"), parts, "{context}");
    }
}

fn what_comes_below_a_step_goes_with_its_family(dialect: Dialect) {
    for unit in UNITS {
        let ways = [(true, "CASCADE"), (true, "NO ACTION"), (false, "CASCADE")];
        for (archive, action) in share(dialect, ways) {
            // A key that cascades would take what has a time of its own.
            if (unit, action) == ("window", "CASCADE") {
                continue;
            }
            let context = format!("{unit} {archive} {action}");
            let mut database = database(dialect, unit, archive, action);
            let answer = beside(&mut database, COMES, "run", json!({}));
            let tables = json!({"part": 4, "step": 3, "run": 2});
            went(
                &mut database,
                &answer,
                &["100", "101", "110", "200"],
                &tables,
                &context,
            );
            assert_eq!(left(&mut database), Rows::new(), "{context}: {answer}");
        }
    }
}

/// Those whose root is gone go by windows.
fn what_comes_below_a_step_of_no_family_goes_with_it(dialect: Dialect) {
    for (archive, action) in share(dialect, [(true, "CASCADE"), (true, "NO ACTION")]) {
        let context = format!("{archive} {action}");
        let mut database = database(dialect, "family", archive, action);
        database.execute("DELETE FROM run WHERE id = 1");
        let answer = beside(&mut database, COMES, "run", json!({}));
        let tables = json!({"part": 4, "step": 3, "run": 1});
        went(
            &mut database,
            &answer,
            &["100", "101", "110", "200"],
            &tables,
            &context,
        );
        assert_eq!(left(&mut database), Rows::new(), "{context}: {answer}");
    }
}

/// A part of a run that is kept, or that says none.
fn what_comes_below_a_step_from_elsewhere_keeps_it(dialect: Dialect) {
    for action in ["CASCADE", "NO ACTION"] {
        for run in share(dialect, ["1000", "NULL"]) {
            let context = format!("{action} {run}");
            let comes = format!("INSERT INTO part VALUES (101, {run}, 10, '2999-01-01')");
            let mut database = database(dialect, "family", true, action);
            let answer = beside(&mut database, &comes, "run", json!({}));
            let rule = &answer["rules"][0];
            assert_eq!(answer["status"], "done", "{context}: {answer}");
            let tables = json!({"part": 1, "step": 1, "run": 1});
            assert_eq!(rule["tables"], tables, "{context}: {answer}");
            assert_eq!(
                rule["skipped"],
                json!({"REFERENCED": 1}),
                "{context}: {answer}"
            );
            let stay = [
                ("run", 1),
                ("step", 10),
                ("step", 11),
                ("part", 100),
                ("part", 101),
                ("part", 110),
            ];
            assert_eq!(left(&mut database), Rows::from(stay), "{context}: {answer}");
        }
    }
}

/// As if it had been there before.
fn what_comes_below_a_step_of_no_family_from_elsewhere_keeps_it(dialect: Dialect) {
    for action in share(dialect, ["CASCADE", "NO ACTION"]) {
        let comes = "INSERT INTO part VALUES (101, 1000, 10, '2999-01-01')";
        let mut results = Vec::new();
        for before in [true, false] {
            let mut database = database(dialect, "family", true, action);
            database.execute("DELETE FROM run WHERE id = 1");
            let answer = if before {
                database.execute(comes);
                database.run(json!({})).expect("a run")
            } else {
                beside(&mut database, comes, "run", json!({}))
            };
            let rule = &answer["rules"][0];
            assert_eq!(answer["status"], "done", "{action}: {answer}");
            assert_eq!(
                rule["skipped"],
                json!({"REFERENCED": 1}),
                "{action}: {answer}"
            );
            results.push((rule["tables"].clone(), left(&mut database)));
        }
        assert_eq!(results[0], results[1], "{action}");
        assert!(results[0].1.contains(&("step", 10)), "{action}");
    }
}

fn what_refers_to_a_step_from_now_on_keeps_it(dialect: Dialect) {
    for unit in UNITS {
        for only in share(dialect, [false, true]) {
            let mut database = database(dialect, unit, true, "NO ACTION");
            if only {
                database.execute(
                    "DELETE FROM part WHERE id = 200; DELETE FROM step WHERE id = 20; DELETE FROM run WHERE id = 2",
                );
            }
            let comes = "INSERT INTO bill VALUES (1, 10)";
            let answer = beside(&mut database, comes, "run", json!({}));
            let rule = &answer["rules"][0];
            let context = format!("{unit} {only}");
            assert_eq!(answer["status"], "done", "{context}: {answer}");
            assert_eq!(
                rule["skipped"],
                json!({"REFERENCED": 1}),
                "{context}: {answer}"
            );
            let stay = [
                ("run", 1),
                ("step", 10),
                ("step", 11),
                ("part", 100),
                ("part", 110),
            ];
            assert_eq!(left(&mut database), Rows::from(stay), "{context}: {answer}");
        }
    }
}

fn what_comes_below_a_step_goes_with_its_purge(dialect: Dialect) {
    for unit in UNITS {
        let action = if unit == "family" {
            "CASCADE"
        } else {
            "NO ACTION"
        };
        let mut database = database(dialect, unit, true, action);
        let answer = beside(&mut database, COMES, "purge", json!({"key": [1]}));
        let tables = json!({"part": 3, "step": 2, "run": 1});
        let context = format!("{unit} true");
        went(
            &mut database,
            &answer,
            &["100", "101", "110"],
            &tables,
            &context,
        );
    }
}

/// What a call answers that waits for a part while another session brings a step with a part: no key has that wait for the batch that
/// deletes the run, which has deleted the parts of that already, or has read that there are none.
fn with_a_step(
    database: &mut Installation,
    part: &str,
    routine: &'static str,
    options: Value,
) -> Value {
    let mut other = database.connect();
    let holds = "SELECT id FROM part WHERE id = 200 FOR UPDATE";
    let rows = ["step VALUES (13, 1, '2020-01-01')", part];
    beside_too(database, holds, routine, options, || {
        other.execute("BEGIN").expect("a transaction");
        for row in rows {
            other.execute(&format!("INSERT INTO {row}")).expect(row);
        }
        other.execute("COMMIT").expect("a transaction");
    })
}

const PART: &str = "part VALUES (130, 1, 13, '2020-01-01')";

fn what_comes_with_a_step_of_its_own_goes_with_its_family(dialect: Dialect) {
    for unit in UNITS {
        let ways = [(true, "CASCADE"), (false, "CASCADE"), (false, "NO ACTION")];
        for (archive, action) in share(dialect, ways) {
            if (unit, action) == ("window", "CASCADE") {
                continue;
            }
            let context = format!("{unit} {archive} {action}");
            let mut database = database(dialect, unit, archive, action);
            let answer = with_a_step(&mut database, PART, "run", json!({}));
            let tables = json!({"part": 4, "step": 4, "run": 2});
            let parts = ["100", "110", "130", "200"];
            went(&mut database, &answer, &parts, &tables, &context);
            assert_eq!(left(&mut database), Rows::new(), "{context}: {answer}");
        }
    }
}

fn what_comes_with_a_step_of_its_own_goes_with_its_purge(dialect: Dialect) {
    for archive in share(dialect, [true, false]) {
        let context = format!("{archive}");
        let mut database = database(dialect, "family", archive, "CASCADE");
        database.execute("UPDATE part SET run_id = 1 WHERE id = 200");
        let all = left(&mut database);
        let answer = with_a_step(&mut database, PART, "purge", json!({"key": [1]}));
        if answer["refused"] == json!({"1": "LOCKED"}) {
            let all = &all | &Rows::from([("step", 13), ("part", 130)]);
            assert_eq!(left(&mut database), all, "{context}: {answer}");
            continue;
        }
        let tables = json!({"part": 4, "step": 3, "run": 1});
        let parts = ["100", "110", "130", "200"];
        went(&mut database, &answer, &parts, &tables, &context);
    }
}

/// Of a window; a part that is of another family, which is kept, keeps the step.
fn what_comes_with_a_step_of_no_family_goes_with_it(dialect: Dialect) {
    for archive in share(dialect, [true, false]) {
        for (part, kept) in [
            (PART, false),
            ("part VALUES (130, 1000, 13, '2999-01-01')", true),
        ] {
            let context = format!("{archive} {part}");
            let mut database = database(dialect, "family", archive, "CASCADE");
            database.execute("DELETE FROM run WHERE id < 1000");
            let answer = with_a_step(&mut database, part, "run", json!({}));
            let rule = &answer["rules"][0];
            if kept {
                assert_eq!(
                    rule["tables"],
                    json!({"part": 3, "step": 3, "run": 0}),
                    "{context}: {answer}"
                );
                let stay = Rows::from([("step", 13), ("part", 130)]);
                assert_eq!(left(&mut database), stay, "{context}: {answer}");
                continue;
            }
            let tables = json!({"part": 4, "step": 4, "run": 0});
            went(
                &mut database,
                &answer,
                &["100", "110", "130", "200"],
                &tables,
                &context,
            );
            assert_eq!(left(&mut database), Rows::new(), "{context}: {answer}");
        }
    }
}
