//! The servers give one answer: the same history leads to the same documents, the same ledger and the same rows.

use serde_json::{Value, json};
use windrow::dialect::{DIALECTS, Dialect};

use super::{AS_OF, Unit, options, state};
use crate::agree::anonymous;
use crate::harness::tests;
use crate::support::camunda::Camunda;
use crate::support::effort::one_of;

tests! {
    on_several: [
        all_servers_answer_alike_by_families,
    ],
    in_prove: [
        all_servers_answer_alike,
    ],
}

/// How a run is cut into batches is the server's own matter, and so is where its windows end.
const OWN: [&str; 2] = ["batches", "work_ms"];

fn all_servers_answer_alike() {
    agree(Unit::Window);
}

fn all_servers_answer_alike_by_families() {
    agree(Unit::Family);
}

fn agree(unit: Unit) {
    // The first and the last in `make test`.
    let mut told = one_of(2, DIALECTS).map(|dialect| (*dialect, story(unit, *dialect)));
    let (first, expected) = told.next().expect("a server");
    for (dialect, answers) in told {
        assert_eq!(expected.len(), answers.len());
        for (ours, theirs) in expected.iter().zip(&answers) {
            assert_eq!(ours, theirs, "{first:?} is left, {dialect:?} is right");
        }
    }
}

/// What an operator may do with the history, and what is said of it.
fn story(unit: Unit, dialect: Dialect) -> Vec<(String, Value)> {
    let mut camunda = unit.history(dialect);
    // The samples of what stays follow the windows, whose size is a server's own matter.
    camunda.call(
        "set_setting",
        json!({"rule": "history", "name": "batch_rows", "value": 5_000}),
    );
    // A whole family that is held, and one that is purged before its time; a sub-instance that is not a root.
    let some = |camunda: &mut Camunda, which: &str| {
        camunda.texts(&format!(
            "SELECT id_ FROM act_hi_procinst WHERE {which} ORDER BY removal_time_, id_ LIMIT 1"
        ))
    };
    let held = some(
        &mut camunda,
        "removal_time_ > '2026-03-01' AND id_ <> root_proc_inst_id_",
    );
    let young = some(
        &mut camunda,
        "removal_time_ > '2026-06-02' AND id_ = root_proc_inst_id_",
    );
    let metric =
        camunda.texts("SELECT id_ FROM act_ru_task_meter_log ORDER BY timestamp_, id_ LIMIT 1");
    let mut told = Vec::new();
    let mut ask = |camunda: &mut Camunda, routine: &str, options: Value| {
        let mut answer = camunda.call(routine, options);
        anonymous(&mut answer);
        without(&mut answer, &OWN);
        if routine == "purge" {
            // A purge judges from now.
            answer["as_of"] = json!("now");
        }
        told.push((routine.to_owned(), in_lower_case(&answer)));
    };
    let dry = json!({"as_of": AS_OF, "dry_run": true});
    let keys = json!({"rule": "history", "key": [young[0], held[0], "nobody"]});
    let few = json!({"as_of": AS_OF, "run_families": 40});
    ask(&mut camunda, "preview", options());
    ask(&mut camunda, "preview", few.clone());
    ask(
        &mut camunda,
        "set_hold",
        json!({"rule": "history", "key": held[0], "reason": "audit"}),
    );
    ask(
        &mut camunda,
        "set_hold",
        json!({"rule": "task_metrics", "key": metric[0], "reason": "audit"}),
    );
    ask(&mut camunda, "run", dry);
    ask(&mut camunda, "purge", keys);
    ask(&mut camunda, "run", few);
    ask(
        &mut camunda,
        "set_setting",
        json!({"rule": "history", "name": "batch_rows", "value": 500}),
    );
    ask(&mut camunda, "run", options());
    ask(
        &mut camunda,
        "run",
        json!({"rule": "task_metrics", "retention": "400d", "as_of": AS_OF}),
    );
    ask(&mut camunda, "preview", options());
    for (what, sql) in [
        (
            "run",
            "SELECT run_id, status, reason FROM W.run ORDER BY run_id",
        ),
        (
            "run_rule",
            "SELECT run_id, rule, families, deleted_rows, retries FROM W.run_rule ORDER BY run_id, rule",
        ),
        (
            "run_skip",
            "SELECT run_id, rule, reason, families FROM W.run_skip ORDER BY run_id, rule, reason",
        ),
    ] {
        let rows = camunda.windrow.rows(sql);
        told.push((what.to_owned(), json!(rows)));
    }
    told.push(("what is left".to_owned(), json!(state(&mut camunda))));
    told
}

fn without(document: &mut Value, names: &[&str]) {
    match document {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.contains(&name.as_str()));
            fields.values_mut().for_each(|value| without(value, names));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| without(value, names)),
        _ => (),
    }
}

/// The names of tables are in upper case on some servers.
fn in_lower_case(document: &Value) -> Value {
    let text = document.to_string().to_lowercase();
    serde_json::from_str(&text).expect("still a document")
}
