//! How long a sweep lives.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use super::{Gate, graph, left};
use crate::harness::tests;
use crate::windows::due_families;

tests! {
    every_server: [
        a_sweep_that_is_old_takes_in_nobody,
    ],
}

const SWEEPS: &str = "SELECT sweep_id FROM W.run_sweep ORDER BY run_id";

/// Workers whose runs overlap would keep one sweep alive for ever: its cutoff stands still, and no rule is visited twice.
fn a_sweep_that_is_old_takes_in_nobody(dialect: Dialect) {
    let mut database = due_families(dialect, &graph(Shared::Closed), 20);
    let mut gate = Gate::new(&mut database, &["t_ds_workflow_instance"], &[1, 2]);
    let one = json!({"worker": 1, "run_families": 1});
    let (first, _, session) = database.call_aside("run", one.clone());
    database.until_asleep("worker 1 has the first family", &first, session);
    let (second, _, session) = database.call_aside("run", json!({"worker": 2, "run_families": 1}));
    database.until_asleep("worker 2 has the second family", &second, session);
    gate.open(&[1]);
    first.join().expect("no panic").1.expect("a run");
    let joins = database.run(one.clone()).expect("a run");
    assert_eq!(joins["rules"][0]["families"], 1, "{joins}");
    assert_eq!(database.texts(SWEEPS), ["1", "1", "1"]);

    // The run that began the sweep has used up its time long ago.
    let past = match dialect {
        Dialect::Postgres => {
            "started_at = started_at - interval '1 day', deadline = deadline - interval '1 day'"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "started_at = started_at - INTERVAL 1 DAY, deadline = deadline - INTERVAL 1 DAY"
        }
    };
    database.execute(&format!("UPDATE W.run SET {past} WHERE run_id = 1"));
    let refused = database.run(one.clone()).expect("an answer");
    assert_eq!(refused["status"], "refused", "{refused}");
    let reason = refused["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("run 2 is in progress") && reason.contains("the sweep of run 1"),
        "{reason}"
    );
    // A run with a longer budget than that has time for it.
    let patient = json!({"worker": 1, "run_families": 1, "time_budget": "2d"});
    let joins = database.run(patient).expect("a run");
    assert_eq!(joins["rules"][0]["families"], 1, "{joins}");

    gate.open(&[2]);
    second.join().expect("no panic").1.expect("a run");
    let next = database.run(one).expect("a run");
    assert_eq!(next["rules"][0]["families"], 1, "{next}");
    assert_eq!(database.texts(SWEEPS), ["1", "1", "1", "1", "5"]);
    assert_eq!(left(&mut database), 15);
}
