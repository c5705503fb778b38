//! The servers give one answer: the same rows and options lead to the same documents and the same ledger on all of them.

use serde_json::{Value, json};
use windrow::dialect::{DIALECTS, Dialect};
use windrow::graph::Shared;

use crate::harness::tests;
use crate::oracle::now;
use crate::support::effort::seeds;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::Installation;
use crate::support::world::{Row, SECOND, World};

tests! {
    on_several: [
        all_servers_answer_alike,
    ],
}

/// What is of the server, the clock or the installation alone.
const OWN: [&str; 13] = [
    "spec",
    "run",
    "started_at",
    "finished_at",
    "duration_ms",
    "durationMillis",
    "work_ms",
    "estimated_seconds",
    "changed_at",
    "changed_by",
    "placed_at",
    "placed_by",
    "armed",
];

fn all_servers_answer_alike() {
    for shared in [Shared::Closed, Shared::Literal] {
        let mut installations: Vec<_> = DIALECTS
            .iter()
            .map(|dialect| Installation::armed(*dialect, &dolphinscheduler(shared)))
            .collect();
        for seed in seeds("worlds of three servers", Dialect::Postgres, 7) {
            let world = World::random(seed, shared, now(), SECOND);
            if !world.as_of_is_option {
                continue;
            }
            let mut answers = installations
                .iter_mut()
                .map(|installation| (installation.dialect, story(installation, &world)));
            let (first, expected) = answers.next().expect("a server");
            for (dialect, answer) in answers {
                for (ours, theirs) in expected.iter().zip(&answer) {
                    assert_eq!(
                        ours, theirs,
                        "{shared:?}, seed {seed}: {first:?} is left, {dialect:?} is right"
                    );
                }
            }
        }
    }
}

/// Everything that an operator may do with a world, and what is said of it.
fn story(installation: &mut Installation, world: &World) -> Vec<(&'static str, Value)> {
    installation.load(world);
    let options = Value::Object(world.options());
    let mut dry = options.clone();
    dry["dry_run"] = json!(true);
    let root = world.rows.iter().find_map(|row| match row {
        Row::Instance { id, .. } => Some(*id),
        _ => None,
    });
    let mut told = Vec::new();
    let mut ask = |installation: &mut Installation, routine: &'static str, options: Value| {
        let mut answer = installation
            .call(routine, options)
            .unwrap_or_else(|error| panic!("{:?}, {routine}: {error:#}", installation.dialect));
        anonymous(&mut answer);
        if routine == "purge" {
            // A purge judges from now.
            answer["as_of"] = json!("now");
        }
        told.push((routine, answer));
    };
    ask(installation, "preview", options.clone());
    ask(installation, "run", dry);
    if let Some(root) = root {
        let purge = json!({"key": [root, 999], "dry_run": true});
        ask(installation, "purge", purge);
    }
    ask(installation, "run", options);
    ask(
        installation,
        "set_policy",
        json!({"scope": "77", "retention": "P30D", "note": "it's\t\"quoted\" \\ ü"}),
    );
    ask(installation, "drop_policy", json!({"scope": "77"}));
    ask(
        installation,
        "set_hold",
        json!({"key": 77, "reason": "audit", "until": "2999-01-01T01:02:03.5+02:00", "even_if_absent": true}),
    );
    ask(installation, "release_hold", json!({"key": 77}));
    ask(
        installation,
        "set_setting",
        json!({"name": "retries", "value": 2}),
    );
    for windows in [
        json!(["fri-mon,wed 22:00-06:00", "daily 01:30-02:00 UTC"]),
        json!("never"),
        json!(null),
    ] {
        ask(installation, "set_windows", json!({"windows": windows}));
    }
    for (what, sql) in LEDGER {
        let rows: Vec<_> = installation
            .rows(sql)
            .into_iter()
            .map(|row| json!(row))
            .collect();
        told.push((what, Value::Array(rows)));
    }
    installation.execute("DELETE FROM W.run; DELETE FROM W.run_rule; DELETE FROM W.run_skip");
    told
}

/// The ledger, in the order in which it was written.
const LEDGER: [(&str, &str); 4] = [
    (
        "run",
        "SELECT trigger_name, status, reason FROM (SELECT run_id, \"trigger\" AS trigger_name, status, reason FROM W.run) AS r ORDER BY run_id",
    ),
    (
        "run_rule",
        "SELECT rule, families, deleted_rows, batches, retries, batch_families, cursor_time, cursor_key FROM W.run_rule ORDER BY run_id",
    ),
    (
        "run_table",
        "SELECT t.position, t.table_name, t.deleted_rows FROM W.run_table AS t JOIN W.run AS r ON r.run_id = t.run_id ORDER BY t.run_id, t.position",
    ),
    (
        "run_skip",
        "SELECT reason, families FROM W.run_skip ORDER BY run_id, reason",
    ),
];

/// Takes out of a document what differs by nature.
pub(crate) fn anonymous(document: &mut Value) {
    hide(document, &OWN);
}

/// A document that says of some fields only whether they are there.
pub(crate) fn hide(document: &mut Value, names: &[&str]) {
    match document {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                if names.contains(&name.as_str()) {
                    *value = json!(if value.is_null() {
                        "nothing"
                    } else {
                        "something"
                    });
                } else {
                    hide(value, names);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| hide(value, names)),
        _ => (),
    }
}
