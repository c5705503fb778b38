//! Rows that name no root, as engines before 7.10 wrote them, belong to their instance. What becomes of them is what becomes of
//! the same rows with their root: two databases with one history, in one of which half of the instances are old.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::{NOW, Unit, in_each_unit, in_each_unit_on_postgres, options, rule};
use crate::harness::tests;
use crate::support::camunda::Camunda;
use crate::support::installation::violations;

tests! {
    in_each_unit: [
        rows_without_a_root_go_with_the_instance_that_they_name,
    ],
    in_each_unit_on_postgres: [
        a_run_and_a_purge_take_an_old_instance_as_any_other,
        a_stamp_sets_the_removal_time_of_all_rows_of_an_old_instance,
    ],
}

/// Tables of a family with the column that names an instance, or a row of another of them.
const OWN: [(&str, &str); 14] = [
    ("act_hi_actinst", "proc_inst_id_"),
    ("act_hi_identitylink", "task_id_"),
    ("act_hi_taskinst", "proc_inst_id_"),
    ("act_hi_varinst", "proc_inst_id_"),
    ("act_hi_detail", "proc_inst_id_"),
    ("act_hi_incident", "proc_inst_id_"),
    ("act_hi_ext_task_log", "proc_inst_id_"),
    ("act_hi_job_log", "process_instance_id_"),
    ("act_hi_op_log", "proc_inst_id_"),
    ("act_hi_comment", "proc_inst_id_"),
    ("act_hi_attachment", "proc_inst_id_"),
    ("act_hi_dec_in", "dec_inst_id_"),
    ("act_hi_dec_out", "dec_inst_id_"),
    ("act_hi_decinst", "proc_inst_id_"),
];

/// What names a byte array.
const NAMES: [(&str, &str); 7] = [
    ("act_hi_varinst", "bytearray_id_"),
    ("act_hi_detail", "bytearray_id_"),
    ("act_hi_ext_task_log", "error_details_id_"),
    ("act_hi_job_log", "job_exception_stack_id_"),
    ("act_hi_attachment", "content_id_"),
    ("act_hi_dec_in", "bytearray_id_"),
    ("act_hi_dec_out", "bytearray_id_"),
];

fn listed(keys: &[String]) -> String {
    format!("('{}')", keys.join("', '"))
}

/// The same history twice, that goes in some batches.
fn twins(unit: Unit, dialect: Dialect) -> [Camunda; 2] {
    [(), ()].map(|()| {
        let mut camunda = unit.empty(dialect);
        camunda.remember(100, NOW);
        camunda.set_setting("batch_rows", 1_000);
        if unit == Unit::Family {
            camunda.set_setting("batch_families", 30);
        }
        camunda
    })
}

/// Every second family, of those with one instance if so wanted. By windows, what is referred to stays by itself where nothing
/// says of which family it is.
fn some_families(unit: Unit, camunda: &mut Camunda, alone: bool) -> Vec<String> {
    let having = if alone { "HAVING count(*) = 1" } else { "" };
    let keys = camunda.texts(&format!(
        "SELECT root_proc_inst_id_ FROM act_hi_procinst WHERE root_proc_inst_id_ IS NOT NULL GROUP BY root_proc_inst_id_ {having} ORDER BY 1"
    ));
    let tied: BTreeSet<String> = camunda
        .texts(
            "SELECT b.root_proc_inst_id_ FROM act_ge_bytearray AS b WHERE b.root_proc_inst_id_ IS NOT NULL AND (b.id_ IN (SELECT bytearray_id_ FROM act_ru_variable)
               OR b.id_ IN (SELECT exception_stack_id_ FROM act_ru_job) OR b.id_ IN (SELECT error_details_id_ FROM act_ru_ext_task))",
        )
        .into_iter()
        .collect();
    let keys = keys.into_iter().step_by(2);
    keys.filter(|key| unit == Unit::Family || !tied.contains(key))
        .collect()
}

/// Makes the rows of these families old: they name no root.
fn forget(camunda: &mut Camunda, keys: &[String], with_instances: bool) {
    let of = format!("root_proc_inst_id_ IN {}", listed(keys));
    for (table, own) in OWN {
        camunda.execute(&format!(
            "UPDATE {table} SET root_proc_inst_id_ = NULL WHERE {of} AND {own} IS NOT NULL"
        ));
    }
    if with_instances {
        let named: Vec<String> = NAMES
            .map(|(table, column)| format!("id_ IN (SELECT {column} FROM {table})"))
            .into();
        camunda.execute(&format!(
            "UPDATE act_ge_bytearray SET root_proc_inst_id_ = NULL WHERE {of} AND ({})",
            named.join(" OR ")
        ));
        camunda.execute(&format!(
            "UPDATE act_hi_procinst SET root_proc_inst_id_ = NULL WHERE {of}"
        ));
    }
}

/// Every row of a family with its removal time.
fn contents(camunda: &mut Camunda) -> BTreeMap<String, Option<String>> {
    let tables = OWN.map(|(table, _)| table);
    let tables = tables.iter().chain(&[
        "act_hi_procinst",
        "act_ge_bytearray",
        "act_ru_authorization",
        "act_hi_batch",
    ]);
    let text = camunda.either("text", "char");
    let selects: Vec<String> = tables
        .map(|table| {
            format!("SELECT CONCAT('{table} ', id_), CAST(removal_time_ AS {text}) FROM {table}")
        })
        .collect();
    let sql = camunda.named(&selects.join(" UNION ALL "));
    let rows = camunda.windrow.rows(&sql).into_iter();
    rows.map(|row| {
        (
            row[0].clone().expect("a key").to_lowercase(),
            row[1].clone(),
        )
    })
    .collect()
}

/// What a document says of the history, but for the windows that it looked through.
fn said(document: &Value) -> Vec<Value> {
    let rule = rule(document, "history");
    ["families", "rows", "tables", "skipped", "skipped_samples"]
        .map(|figure| rule[figure].clone())
        .into()
}

/// Runs in both, and compares what they say and leave.
fn alike(twins: &mut [Camunda; 2]) -> i64 {
    let [preview, dry, run] = [
        ("preview", options()),
        ("run", json!({"as_of": super::AS_OF, "dry_run": true})),
        ("run", options()),
    ]
    .map(|(routine, options)| {
        let [one, other] = [0, 1].map(|at| twins[at].call(routine, options.clone()));
        assert_eq!(said(&one), said(&other), "{routine}");
        one
    });
    assert_eq!(said(&preview), said(&dry));
    assert_eq!(said(&dry), said(&run));
    let [expected, found] = [0, 1].map(|at| contents(&mut twins[at]));
    assert_eq!(found, expected);
    for camunda in twins {
        assert!(camunda.torn().is_empty(), "{:?}", camunda.torn());
        let again = camunda.run(options());
        assert_eq!(rule(&again, "history")["rows"], 0, "{again}");
        let verify = camunda.call("verify", json!({}));
        let wrong = violations(&verify);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
    rule(&run, "history")["rows"].as_i64().expect("a number")
}

fn a_run_and_a_purge_take_an_old_instance_as_any_other(unit: Unit, dialect: Dialect) {
    let mut twins = twins(unit, dialect);
    let keys = some_families(unit, &mut twins[0], true);
    let one = |camunda: &mut Camunda, which: &str| {
        let sql = format!(
            "SELECT id_ FROM act_hi_procinst AS p WHERE id_ IN {} AND {which} ORDER BY removal_time_, id_ LIMIT 1",
            listed(&keys)
        );
        camunda.texts(&sql).remove(0)
    };
    let due = "removal_time_ < '2026-05-01' AND end_time_ IS NOT NULL";
    let held = one(&mut twins[0], due);
    let named = one(&mut twins[0], &format!("{due} AND id_ <> '{held}'"));
    let running = one(&mut twins[0], "end_time_ IS NULL");
    forget(&mut twins[1], &keys, true);
    for camunda in &mut twins {
        let hold = json!({"rule": "history", "key": held, "reason": "audit"});
        camunda.call("set_hold", hold);
    }
    for (key, refused) in [
        (&held, "HELD"),
        (&running, "NON_FINAL_MEMBER"),
        (&named, ""),
    ] {
        let answers = [0, 1].map(|at| {
            let options = json!({"rule": "history", "key": [key]});
            let dry = twins[at].purge(json!({"rule": "history", "key": [key], "dry_run": true}));
            let answer = twins[at].purge(options);
            let why = answer["refused"][key.as_str()].as_str().unwrap_or_default();
            assert_eq!(why, refused, "{answer}");
            assert_eq!(
                rule(&dry, "history")["tables"],
                rule(&answer, "history")["tables"]
            );
            rule(&answer, "history")["tables"].clone()
        });
        assert_eq!(answers[0], answers[1], "{key}");
    }
    assert!(alike(&mut twins) > 1_500);
    // A hold that ends, and an instance that has ended, set all rows free.
    for camunda in &mut twins {
        camunda.call("release_hold", json!({"rule": "history", "key": held}));
        camunda.execute("UPDATE act_hi_procinst SET end_time_ = '2026-01-01' WHERE end_time_ IS NULL AND removal_time_ IS NOT NULL");
    }
    assert!(alike(&mut twins) > 20);
}

/// The instance itself names its root, and its rows do not.
fn rows_without_a_root_go_with_the_instance_that_they_name(unit: Unit, dialect: Dialect) {
    let mut twins = twins(unit, dialect);
    let keys = some_families(unit, &mut twins[0], false);
    forget(&mut twins[1], &keys, false);
    assert!(alike(&mut twins) > 1_500);
}

fn a_stamp_sets_the_removal_time_of_all_rows_of_an_old_instance(unit: Unit, dialect: Dialect) {
    let mut twins = twins(unit, dialect);
    let keys = some_families(unit, &mut twins[0], true);
    let of = format!("root_proc_inst_id_ IN {}", listed(&keys));
    for camunda in &mut twins {
        for (table, _) in OWN
            .iter()
            .chain(&[("act_hi_procinst", ""), ("act_ge_bytearray", "")])
        {
            camunda.execute(&format!(
                "UPDATE {table} SET removal_time_ = NULL WHERE {of}"
            ));
        }
    }
    forget(&mut twins[1], &keys, true);
    let stamp = json!({"rule": "history", "calculated": "end", "default": "7d", "missing": true});
    let mut changed = Vec::new();
    for camunda in &mut twins {
        let answer = camunda.call("stamp", stamp.clone());
        changed.push(answer["rows"].clone());
    }
    assert_eq!(changed[0], changed[1]);
    let [expected, found] = [0, 1].map(|at| contents(&mut twins[at]));
    assert_eq!(found, expected);
    assert!(alike(&mut twins) > 1_500);
}
