//! Rules by a time, while others change what a batch has chosen and not locked yet: what comes below a held row stays.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::bound;
use crate::harness::tests;
use crate::support::installation::{Installation, Session};
use crate::support::meanwhile::meanwhile;

tests! {
    postgres_alone: [
        what_comes_below_a_held_row_during_its_batch_stays,
        what_comes_below_a_held_row_during_its_purge_stays,
        what_is_held_and_comes_to_a_window_keeps_its_family,
        a_held_row_whose_key_repeats_stays,
    ],
}

/// An entry of another job comes below job 1, which is held: below a step that was there, or with one of its own.
const COMES: [&str; 2] = [
    "UPDATE entry SET step_id = 'Step 1' WHERE id = 'Entry 2'",
    "INSERT INTO step (id, job_id) VALUES ('Step 3', 1); UPDATE entry SET step_id = 'Step 3' WHERE id = 'Entry 2'",
];

/// Two jobs with their rows, of which the first is held.
fn database(dialect: Dialect) -> Installation {
    let mut database = bound::database(dialect);
    database.arm();
    bound::load(&mut database, 1);
    let hold = json!({"rule": "jobs", "key": 1, "reason": "audit"});
    database.set_hold(hold).expect("a hold");
    patient(database)
}

/// It waits longer than any machine takes for what happens meanwhile.
fn patient(mut database: Installation) -> Installation {
    let rules = database.texts("SELECT rule FROM W.rule");
    for rule in rules {
        let wait = json!({"rule": rule, "name": "lock_timeout", "value": 60_000});
        database.call("set_setting", wait).expect("a setting");
    }
    database
}

/// A session that has not committed these changes yet.
fn rival(database: &Installation, changes: &str) -> Session {
    let mut rival = database.connect();
    rival.execute("START TRANSACTION").expect("a transaction");
    for change in changes.split("; ") {
        rival.execute(change).expect("a change");
    }
    rival
}

fn entries(database: &mut Installation) -> Vec<String> {
    database.texts("SELECT id FROM entry ORDER BY id")
}

fn what_comes_below_a_held_row_during_its_batch_stays(dialect: Dialect) {
    for change in COMES {
        let mut database = database(dialect);
        let mut rival = rival(&database, change);
        let options = json!({"rule": "entries"});
        let run = meanwhile(&mut database, &mut rival, "run", options, |_, _| ());
        assert_eq!(run["status"], "done", "{change}: {run}");
        assert_eq!(
            entries(&mut database),
            ["Entry 1", "Entry 2"],
            "{change}: {run}"
        );
        assert_eq!(run["rules"][0]["skipped"], json!({"HELD": 2}), "{run}");
    }
}

fn what_comes_below_a_held_row_during_its_purge_stays(dialect: Dialect) {
    for change in COMES {
        let mut database = database(dialect);
        let mut rival = rival(&database, change);
        let options = json!({"rule": "entries", "key": ["Entry 2"]});
        let purge = meanwhile(&mut database, &mut rival, "purge", options, |_, _| ());
        assert_eq!(
            purge["refused"],
            json!({"Entry 2": "HELD"}),
            "{change}: {purge}"
        );
        assert_eq!(entries(&mut database), ["Entry 1", "Entry 2"], "{change}");
    }
}

/// Whoever brings a row to a family also changes the row of its job.
fn what_is_held_and_comes_to_a_window_keeps_its_family(dialect: Dialect) {
    let mut database = patient(bound::timed(dialect, "window"));
    let times = "'2020-01-01', '2020-02-01'";
    database.execute(&format!(
        "INSERT INTO job (id, at, removal) VALUES (1, {times}), (2, {times});
         INSERT INTO task (id, job_id, at, removal) VALUES (11, 1, {times}), (21, 2, {times});
         INSERT INTO log (id, job_id, at, removal) VALUES ('a', 1, {times}), ('b', 2, {times}), ('x', NULL, {times})"
    ));
    let hold = json!({"rule": "logs", "key": "x", "reason": "audit"});
    database.set_hold(hold).expect("a hold");
    let changes = "UPDATE job SET state = 3 WHERE id = 2; UPDATE log SET job_id = 2 WHERE id = 'x'";
    let mut rival = rival(&database, changes);
    let options = json!({"rule": "history"});
    let run = meanwhile(&mut database, &mut rival, "run", options, |_, _| ());
    assert_eq!(run["status"], "done", "{run}");
    for (table, rows) in [
        ("job", vec!["2"]),
        ("task", vec!["21"]),
        ("log", vec!["b", "x"]),
    ] {
        let left = database.texts(&format!("SELECT id FROM {table} ORDER BY id"));
        assert_eq!(left, rows, "{table}: {run}");
    }
}

/// The other row with its key, in the same window, is of a job that is not held.
fn a_held_row_whose_key_repeats_stays(dialect: Dialect) {
    let mut database = bound::partitioned(dialect);
    database.arm();
    bound::load(&mut database, 1);
    database.execute(
        "INSERT INTO entry (id, step_id, at) VALUES ('Entry 1', 'Step 2', '2020-01-02'), ('Entry 3', 'Step 2', '2020-01-02')",
    );
    let hold = json!({"rule": "jobs", "key": 1, "reason": "audit"});
    database.set_hold(hold).expect("a hold");
    let run = database.run(json!({"rule": "entries"})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    let steps = database.texts("SELECT step_id FROM entry WHERE id = 'Entry 1' ORDER BY at");
    assert!(steps.contains(&"Step 1".to_owned()), "{steps:?}: {run}");
    assert_eq!(run["rules"][0]["rows"], 2, "{run}");
}
