//! Deadlines of runs that have ended: while the scheduler may still act on one, its run stays.

use serde_json::json;
use windrow::dialect::Dialect;

use super::graph;
use super::history::{OLD, Run, uuid};
use super::rows::model::AS_OF;
use super::runs::small;
use crate::harness::tests;
use crate::support::installation::Installation;

tests! {
    postgres_and_mysql: [
        a_deadline_that_was_not_missed_yet_keeps_its_run,
    ],
}

fn deadline(database: &mut Installation, number: i32, run: i32, time: &str, missed: bool) {
    let id = |number| uuid(database.dialect, number);
    let (id, callback, old) = (id(number), id(number + 100), "2025-06-01");
    database.execute(&format!("INSERT INTO callback (id, type, fetch_method, data, priority_weight, created_at, state) VALUES ('{callback}', 'x', 'x', '{{}}', 1, '{old}', 'scheduled')"));
    database.execute(&format!("INSERT INTO deadline (id, created_at, last_updated_at, dagrun_id, deadline_time, missed, callback_id) VALUES ('{id}', '{old}', '{old}', {run}, '{time}', {missed}, '{callback}')"));
}

/// The scheduler calls the callback of each deadline that has passed and is not marked as missed, whatever the state of its
/// run; it marks it then. It never asks again for one that is marked.
fn a_deadline_that_was_not_missed_yet_keeps_its_run(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, state) in [
        (33, "failed"),
        (36, "failed"),
        (39, "success"),
        (42, "success"),
    ] {
        Run { id, state, ..OLD }.insert(&mut database);
    }
    deadline(&mut database, 21, 33, "2026-06-01", false);
    deadline(&mut database, 22, 36, "2025-06-02", false);
    deadline(&mut database, 23, 39, "2025-06-02", true);
    deadline(&mut database, 24, 39, "2025-06-03", true);
    deadline(&mut database, 25, 42, "2025-06-02", true);
    deadline(&mut database, 26, 42, "2026-06-01", false);
    let options = json!({"as_of": AS_OF, "rule": "dag_runs"});
    let mut dry = options.clone();
    dry["dry_run"] = json!(true);
    let kept = |database: &mut Installation| {
        database.texts("SELECT id FROM dag_run WHERE id IN (33, 36, 39, 42) ORDER BY id")
    };
    for document in [
        database.preview(options.clone()).expect("a preview"),
        database.run(dry).expect("a dry run"),
        database.run(options.clone()).expect("a run"),
    ] {
        let skipped = &document["rules"][0]["skipped"];
        assert_eq!(skipped["REFERENCED"], 3, "{document}");
    }
    assert_eq!(kept(&mut database), ["33", "36", "42"]);
    assert_eq!(database.number("SELECT count(*) FROM deadline"), 4);
    // Nor does a purge take one.
    let purged = database.call("purge", json!({"rule": "dag_runs", "key": ["33"]}));
    let purged = purged.expect("a purge");
    assert_eq!(purged["refused"], json!({"33": "REFERENCED"}), "{purged}");
    assert_eq!(kept(&mut database), ["33", "36", "42"]);
    // The scheduler has acted.
    database.execute("UPDATE deadline SET missed = true");
    let run = database.run(options).expect("a run");
    assert_eq!(run["rules"][0]["skipped"].get("REFERENCED"), None, "{run}");
    assert_eq!(kept(&mut database), [""; 0]);
    assert_eq!(database.number("SELECT count(*) FROM deadline"), 0);
}
