//! Batches, and decisions of no process instance: what belongs to no family, and can be held.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::failure;

use super::oracle::{AS_OF, BATCH, contents, insert, instant, lenient};
use super::rule;
use crate::harness::tests;
use crate::support::camunda::{Camunda, text_by_family};
use crate::support::graphs::graph_of;

tests! {
    every_server: [
        what_comes_back_from_the_archive_is_held,
        a_decision_of_a_process_is_held_by_its_instance,
    ],
    on_postgres: [
        a_batch_that_only_an_old_snapshot_has_is_not_held,
    ],
}

const DECISION: &str = "act_hi_decinst";

/// A batch with its log, and a decision with one that it required and what that one took.
fn load(camunda: &mut Camunda) {
    lenient(camunda);
    let text = |text: &str| format!("'{text}'");
    let mut script = String::new();
    for (table, id, column, value) in [
        (BATCH, "batch", "seed_job_def_id_", "seed"),
        ("act_hi_job_log", "log", "job_def_id_", "seed"),
        (DECISION, "first", "root_dec_inst_id_", "first"),
        (DECISION, "second", "root_dec_inst_id_", "first"),
        ("act_hi_dec_in", "input", "dec_inst_id_", "second"),
    ] {
        let time = ("removal_time_", instant(Some(9_000)));
        script += &insert(table, vec![("id_", text(id)), time, (column, text(value))]);
    }
    camunda.execute(&script);
}

fn what_comes_back_from_the_archive_is_held(dialect: Dialect) {
    let strategy = "strategy   = \"removal-time\"\n";
    let text = text_by_family();
    assert!(text.contains(strategy), "{text}");
    let text = text.replace(strategy, &format!("{strategy}archive    = true\n"));
    let mut camunda = Camunda::of(dialect, &graph_of(&text));
    load(&mut camunda);
    let before = contents(&mut camunda);
    assert_eq!(before.len(), 5);

    let options = json!({"rule": "history", "as_of": AS_OF});
    let run = camunda.run(options.clone());
    assert!(contents(&mut camunda).is_empty(), "{run}");
    let back = camunda.call("archive_restore", json!({"run": run["run"]}));
    assert_eq!(contents(&mut camunda), before);
    assert_eq!(back["holds"], 3, "{back}");

    let run = camunda.run(options);
    assert_eq!(
        rule(&run, "history")["skipped"],
        json!({"HELD": 3}),
        "{run}"
    );
    assert_eq!(contents(&mut camunda), before);
}

fn a_decision_of_a_process_is_held_by_its_instance(dialect: Dialect) {
    let mut camunda = Camunda::new(dialect);
    load(&mut camunda);
    camunda.execute(&format!(
        "UPDATE {DECISION} SET root_proc_inst_id_ = 'p' WHERE id_ = 'second'"
    ));
    let hold = |key: &str| json!({"rule": "history", "key": key, "reason": "audit"});
    for key in ["batch", "first"] {
        let held = camunda.call("set_hold", hold(key));
        assert_eq!(held["absent"], false, "{held}");
    }
    let error = camunda.attempt("set_hold", hold("second"));
    let error = format!("{:#}", error.expect_err("a row of a family"));
    assert!(error.contains("WD003"), "{error}");
}

fn a_batch_that_only_an_old_snapshot_has_is_not_held() {
    let mut camunda = Camunda::new(Dialect::Postgres);
    load(&mut camunda);
    camunda.execute("BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(contents(&mut camunda).len(), 5);
    let mut other = camunda.connect();
    let gone = format!("DELETE FROM {BATCH}");
    other.execute(&gone).expect("a batch that goes");
    let hold = |key: &str| json!({"rule": "history", "key": key, "reason": "audit"});
    let held = camunda.call("set_hold", hold("first"));
    assert_eq!(held["exists"], true, "{held}");
    let error = camunda.attempt("set_hold", hold("batch"));
    let error = error.expect_err("no batch any more");
    assert_eq!(failure::sqlstate(&error), Some("40001"), "{error:#}");
    camunda.execute("ROLLBACK");
}
