//! Rows of one instant, as all rows of a day are where the time is a date: a batch takes no more of them than of others.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::heavy::note_batches;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, numbers};

tests! {
    every_server: [
        the_rows_of_a_day_go_in_batches,
        what_is_locked_keeps_nothing_else_of_its_day,
        a_day_that_is_locked_is_left_alone,
        workers_share_out_a_day,
    ],
}

/// Rows in one transaction.
const MOST: i64 = 10;

/// Rows of the first day; the second has a few.
const ROWS: i64 = 37;

/// Rules of one table, whose keys are of these kinds, and what else they say.
const RULES: [&str; 4] = [
    "time = \"day date\"",
    "time = \"day date\"\narchive = true",
    "time = \"day date\"\nwhere_sql = \"{root}.id <> 5\"",
    "time = \"noon epoch-ms\"",
];

/// Two days of rows, of which those with the keys 3 and 4 are held.
fn installation(dialect: Dialect, workers: u32, rule: &str) -> Installation {
    let graph = graph_of(&format!(
        "name = \"one_day\"\nworkers = {workers}\n\n[tables]\nlog = {{ key = \"id integer\" }}\n
[rules.logs]\nstrategy = \"age\"\nroot = \"log\"\nretention = {{ default = \"30d\" }}\n{rule}\n"
    ));
    let schema = "CREATE TABLE log (id integer PRIMARY KEY, day date, noon bigint);
         CREATE INDEX log_day ON log (day);
         CREATE INDEX log_noon ON log (noon);";
    let mut installation = Installation::of(dialect, schema, &graph);
    installation.arm();
    note_batches(&mut installation);
    installation
        .set_setting("batch_rows", MOST)
        .expect("a setting");
    installation.set_setting("retries", 0).expect("a setting");
    let all = numbers(dialect, ROWS + 4);
    installation.execute(&format!(
        "INSERT INTO log SELECT n, CASE WHEN n <= {ROWS} THEN DATE '2025-01-01' ELSE DATE '2025-01-02' END,
         CASE WHEN n <= {ROWS} THEN 1735732800000 ELSE 1735819200000 END FROM {all}"
    ));
    for key in [3, 4] {
        installation
            .set_hold(json!({"key": key, "reason": "x"}))
            .expect("a hold");
    }
    installation
}

fn left(installation: &mut Installation) -> Vec<String> {
    installation.texts("SELECT id FROM log ORDER BY id")
}

/// The most rows that a batch took.
fn most(installation: &mut Installation) -> i64 {
    let noted = installation.texts("SELECT found FROM noted ORDER BY found");
    let mut before = 0;
    let mut most = 0;
    for found in noted {
        let found = found.parse::<i64>().expect("a number");
        most = most.max(found - before);
        before = found;
    }
    most
}

fn skipped(run: &Value) -> &Value {
    &run["rules"][0]["skipped"]
}

fn the_rows_of_a_day_go_in_batches(dialect: Dialect) {
    for rule in RULES {
        let mut database = installation(dialect, 1, rule);
        let (kept, stay) = if rule.contains("where_sql") {
            (3, vec!["3", "4", "5"])
        } else {
            (2, vec!["3", "4"])
        };
        let preview = database.preview(json!({})).expect("a preview");
        let before = left(&mut database);
        let dry = database.run(json!({"dry_run": true})).expect("a dry run");
        assert_eq!(left(&mut database), before, "{rule}");
        database.execute("DELETE FROM noted");
        let run = database.run(json!({})).expect("a run");
        assert_eq!(run["reason"], "nothing left", "{rule}: {run}");
        assert_eq!(left(&mut database), stay, "{rule}");
        assert_eq!(most(&mut database), MOST, "{rule}: {run}");
        for answer in [&dry, &run] {
            assert_eq!(skipped(answer), &json!({"HELD": 2}), "{rule}: {answer}");
            assert_eq!(
                answer["rules"][0]["rows"],
                ROWS + 4 - kept,
                "{rule}: {answer}"
            );
        }
        let foretold = preview["rules"][0]["rows"].as_i64();
        assert_eq!(foretold, Some(ROWS + 4 - kept), "{rule}: {preview}");
        let batches = preview["rules"][0]["batches"].as_i64().expect("a number");
        assert!((4..=6).contains(&batches), "{rule}: {preview}");
        if rule.contains("archive") {
            assert_eq!(
                database.number("SELECT count(*) FROM W.archive_log"),
                ROWS + 2
            );
        }
    }
}

/// Neither a lock nor the limit of a run.
fn what_is_locked_keeps_nothing_else_of_its_day(dialect: Dialect) {
    let mut database = installation(dialect, 1, RULES[0]);
    let few = json!({"run_families": 12});
    let preview = database.preview(few.clone()).expect("a preview");
    let dry = database.run(json!({"run_families": 12, "dry_run": true}));
    let first = database.run(few).expect("a run");
    for answer in [&preview, &dry.expect("a dry run"), &first] {
        assert_eq!(answer["rules"][0]["rows"], 12, "{answer}");
    }
    let mut other = database.connect();
    other.execute("START TRANSACTION").expect("a transaction");
    let locked = left(&mut database).remove(9);
    other
        .execute(&format!("UPDATE log SET noon = 1 WHERE id = {locked}"))
        .expect("a lock");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(skipped(&run), &json!({"HELD": 2, "LOCKED": 1}), "{run}");
    assert_eq!(left(&mut database), ["3", "4", &locked]);
    other.execute("ROLLBACK").expect("no lock");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(skipped(&run), &json!({"HELD": 2}), "{run}");
    assert_eq!(left(&mut database), ["3", "4"]);
    assert!(most(&mut database) <= MOST);
}

/// More rows are locked than a batch takes: they are not waited for one by one, and the other day goes.
fn a_day_that_is_locked_is_left_alone(dialect: Dialect) {
    let mut database = installation(dialect, 1, RULES[0]);
    let mut other = database.connect();
    other.execute("START TRANSACTION").expect("a transaction");
    // One by one: a range is locked to the row behind it.
    for id in 11..=30 {
        other
            .execute(&format!("UPDATE log SET noon = 1 WHERE id = {id}"))
            .expect("a lock");
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(skipped(&run), &json!({"HELD": 2, "LOCKED": 20}), "{run}");
    assert_eq!(run["rules"][0]["rows"], ROWS + 2 - 20, "{run}");
    assert!(run["rules"][0]["retries"].as_i64() < Some(4), "{run}");
    other.execute("ROLLBACK").expect("no locks");
    database.run(json!({})).expect("a run");
    assert_eq!(left(&mut database), ["3", "4"]);
    assert!(most(&mut database) <= MOST);
}

fn workers_share_out_a_day(dialect: Dialect) {
    let mut database = installation(dialect, 2, RULES[0]);
    let (runner, _, _) = database.call_aside("run", json!({"worker": 2}));
    let one = database.run(json!({"worker": 1})).expect("a run");
    let (_, two) = runner.join().expect("a thread");
    let two = two.expect("a run");
    assert_eq!(left(&mut database), ["3", "4"], "{one} {two}");
    let rows = |run: &Value| run["rules"][0]["rows"].as_i64().expect("a number");
    assert_eq!(rows(&one) + rows(&two), ROWS + 2, "{one} {two}");
    assert!(most(&mut database) <= 2 * MOST);
}
