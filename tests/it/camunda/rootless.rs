//! Rows that name no root belong to their instance: engines before 7.10 wrote none, and later ones write none with a comment or an
//! attachment of a task that has ended, which then names its task alone. What becomes of them is what becomes of
//! the same rows with their root: two databases with one history, in one of which half of the instances are old.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::oracle::{insert, lenient};
use super::{
    NOW, Unit, in_each_unit, in_each_unit_everywhere, in_each_unit_on_postgres, options, rule,
};
use crate::harness::tests;
use crate::support::camunda::Camunda;
use crate::support::installation::violations;

tests! {
    in_each_unit_everywhere: [
        what_names_a_task_alone_is_of_the_instance_of_that,
    ],
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

/// Those of them whose rows may name a task and no instance.
const OF_TASKS: [&str; 2] = ["act_hi_comment", "act_hi_attachment"];

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

/// Makes the rows of these families old: they name no root. Comments and attachments of tasks name no instance either.
fn forget(camunda: &mut Camunda, keys: &[String], with_instances: bool) {
    let of = format!("root_proc_inst_id_ IN {}", listed(keys));
    for table in OF_TASKS {
        let task = format!(
            "SELECT min(t.id_) FROM act_hi_taskinst AS t WHERE t.proc_inst_id_ = {table}.proc_inst_id_"
        );
        camunda.execute(&format!(
            "UPDATE {table} SET task_id_ = ({task}) WHERE {of}"
        ));
    }
    camunda.execute(&format!(
        "UPDATE act_ge_bytearray SET root_proc_inst_id_ = NULL WHERE {of} AND id_ IN (SELECT content_id_ FROM act_hi_attachment WHERE task_id_ IS NOT NULL)"
    ));
    for table in OF_TASKS {
        camunda.execute(&format!(
            "UPDATE {table} SET root_proc_inst_id_ = NULL, proc_inst_id_ = NULL WHERE {of} AND task_id_ IS NOT NULL"
        ));
    }
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

/// A comment and an attachment of each task, written when that had ended: Camunda gives them neither a root nor a removal time.
/// Those whose time has come all the same stay with their instance, too.
fn what_names_a_task_alone_is_of_the_instance_of_that(unit: Unit, dialect: Dialect) {
    let mut camunda = unit.empty(dialect);
    lenient(&mut camunda);
    let (old, due, later) = ("'2024-01-01'", "'2026-01-01'", "'2036-01-01'");
    let mut add = |table: &str, columns: &[(&str, &str)]| {
        let columns = columns
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        camunda.execute(&insert(table, columns.collect()));
    };
    for (instance, removal, end) in [
        ("due", due, old),
        ("held", due, old),
        ("runs", due, "NULL"),
        ("young", later, old),
    ] {
        let [key, task] = ["", "task "].map(|what| format!("'{what}{instance}'"));
        let of = [
            ("root_proc_inst_id_", key.as_str()),
            ("proc_inst_id_", &key),
            ("removal_time_", removal),
        ];
        let ended = [("id_", key.as_str()), ("end_time_", end)];
        add("act_hi_procinst", &[&of[..], &ended].concat());
        add("act_hi_taskinst", &[&of[..], &[("id_", &task)]].concat());
        for removal in ["NULL", due] {
            let which = if removal == "NULL" {
                "undated"
            } else {
                "dated"
            };
            let own = format!("'{which} {instance}'");
            let row = [
                ("id_", own.as_str()),
                ("task_id_", &task),
                ("removal_time_", removal),
            ];
            add("act_hi_comment", &row);
            add(
                "act_hi_attachment",
                &[&row[..], &[("content_id_", &own)]].concat(),
            );
            add(
                "act_ge_bytearray",
                &[("id_", &own), ("removal_time_", removal)],
            );
        }
    }
    let hold = json!({"rule": "history", "key": "held", "reason": "audit"});
    camunda.call("set_hold", hold);
    let [preview, run] = ["preview", "run"].map(|routine| camunda.call(routine, options()));
    assert_eq!(said(&preview), said(&run));
    let stay = match unit {
        // By windows what has no time stays, and what has one goes with it where the family is in no list.
        Unit::Window => vec![
            "dated held",
            "dated runs",
            "undated due",
            "undated held",
            "undated runs",
            "undated young",
        ],
        Unit::Family => vec![
            "dated held",
            "dated runs",
            "dated young",
            "undated held",
            "undated runs",
            "undated young",
        ],
    };
    for table in ["act_hi_comment", "act_hi_attachment", "act_ge_bytearray"] {
        let left = camunda.texts(&format!("SELECT id_ FROM {table} ORDER BY 1"));
        assert_eq!(left, stay, "{table}");
    }
    // They get the removal time of their instance, and go with whoever names that.
    let stamp = json!({"rule": "history", "to": "2037-01-01T00:00:00Z", "key": ["young"]});
    camunda.call("stamp", stamp);
    for table in ["act_hi_comment", "act_hi_attachment", "act_ge_bytearray"] {
        let stamped = camunda.number(&format!(
            "SELECT count(*) FROM {table} WHERE removal_time_ = '2037-01-01'"
        ));
        assert_eq!(stamped, if unit == Unit::Family { 2 } else { 1 }, "{table}");
    }
    let purge = camunda.purge(json!({"rule": "history", "key": ["young", "held"]}));
    assert_eq!(purge["refused"], json!({"held": "HELD"}), "{purge}");
    for table in ["act_hi_comment", "act_hi_attachment", "act_ge_bytearray"] {
        let young = format!("SELECT count(*) FROM {table} WHERE id_ LIKE '%young'");
        assert_eq!(camunda.number(&young), 0, "{table}");
    }
}
