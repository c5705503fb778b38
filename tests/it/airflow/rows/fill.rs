//! Rows at random for every table without a tree.

use std::collections::BTreeSet;

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use super::model::{RULES, time};
use crate::airflow::history::{text, uuid};
use crate::support::installation::Installation;

/// The tasks of the run whose tries are counted.
pub(super) const TASKS: [(&str, i32); 3] = [("t", 0), ("t", 1), ("u", -1)];

/// Fills the tables anew. Answers what is held.
pub(super) fn fill(
    database: &mut Installation,
    random: &mut SmallRng,
) -> BTreeSet<(&'static str, String)> {
    let mut statements: Vec<String> = vec!["DELETE FROM hitl_detail_history".to_owned()];
    let emptied = RULES
        .iter()
        .map(|(_, table, _)| format!("DELETE FROM {table}"));
    statements.extend(emptied);
    statements.push("DELETE FROM asset_active".to_owned());
    statements.push("DELETE FROM W.hold".to_owned());
    let maybe = |random: &mut SmallRng, words: &[&str]| {
        let word = words.choose(random).expect("a word");
        match *word {
            "" => "NULL".to_owned(),
            word => text(word),
        }
    };
    let mut held = BTreeSet::new();
    let mut hold = |random: &mut SmallRng, rule: &'static str, key: String| {
        if random.random_bool(0.25) {
            held.insert((rule, key));
        }
    };
    hold(random, "dag_runs", "1".to_owned());
    for asset in ["a", "b", "c"] {
        if random.random_bool(0.5) {
            statements.push(format!(
                "INSERT INTO asset_active (name, uri) VALUES ('{asset}', '{asset}')"
            ));
        }
    }
    for (at, (task, map_index)) in TASKS.into_iter().enumerate() {
        for number in 1..random.random_range(2..8) {
            let place = i32::try_from(at).expect("a small number") * 10 + number;
            let id = uuid(database.dialect, place);
            statements.push(format!("INSERT INTO task_instance_history (dag_id, task_id, run_id, map_index, task_instance_id, try_number, pool, pool_slots) VALUES ('a', '{task}', 'run 0', {map_index}, '{id}', {number}, 'p', 1)"));
            if random.random_bool(0.5) {
                statements.push(format!("INSERT INTO hitl_detail_history (ti_history_id, options, subject, params, created_at, params_input) VALUES ('{id}', '[]', 's', '{{}}', '2025-01-01', '{{}}')"));
            }
            hold(random, "tries", id);
        }
    }
    for id in 1..random.random_range(2..25) {
        statements.push(format!(
            "INSERT INTO task_state_store (id, dag_run_id, task_id, \"key\", dag_id, run_id, value, updated_at, expires_at) VALUES ({id}, 1, 't', 'k{id}', 'a', 'run 0', 'v', {}, {})",
            time(random, false),
            if random.random_bool(0.5) { time(random, false) } else { "NULL".to_owned() },
        ));
        hold(random, "task_state", id.to_string());
        let (asset, name) = (random.random_range(1..4), format!("it's \"{id}\""));
        statements.push(format!(
            "INSERT INTO asset_state_store (asset_id, \"key\", value, updated_at) VALUES ({asset}, {}, 'v', {})",
            text(&name),
            time(random, false)
        ));
        hold(
            random,
            "asset_state",
            format!("[{asset}, {}]", Value::from(name)),
        );
        statements.push(format!(
            "INSERT INTO revoked_token (jti, exp) VALUES ('t{id}', {})",
            time(random, false)
        ));
        hold(random, "revoked_token", format!("t{id}"));
        statements.push(format!(
            "INSERT INTO log (id, dttm, event) VALUES ({id}, {}, 'success')",
            time(random, true)
        ));
        hold(random, "log", id.to_string());
        statements.push(format!(
            "INSERT INTO import_error (id, timestamp, filename) VALUES ({id}, {}, 'x.py')",
            time(random, true)
        ));
        hold(random, "import_error", id.to_string());
        statements.push(format!(
            "INSERT INTO job (id, state, latest_heartbeat) VALUES ({id}, {}, {})",
            maybe(
                random,
                &["success", "success", "failed", "running", "restarting", ""]
            ),
            time(random, true)
        ));
        hold(random, "job", id.to_string());
        let key = uuid(database.dialect, id);
        statements.push(format!(
            "INSERT INTO connection_test_request (id, token, connection_id, state, created_at, updated_at, conn_type) VALUES ('{key}', 't{id}', 'c', {}, '2025-01-01', {}, 'http')",
            maybe(random, &["success", "success", "failed", "pending", "running"]),
            time(random, false)
        ));
        hold(random, "connection_test_request", key);
    }
    store(database, &statements, &held);
    held
}

fn store(
    database: &mut Installation,
    statements: &[String],
    held: &BTreeSet<(&'static str, String)>,
) {
    for statement in statements {
        database.execute(statement);
    }
    for (rule, key) in held {
        let hold = json!({"rule": rule, "key": key, "reason": "test"});
        let document = database.set_hold(hold).expect("a hold");
        assert_eq!(document["exists"], true, "{document}");
    }
}

pub(super) fn set(database: &mut Installation, rule: &str, name: &str, value: i64) {
    let setting = json!({"rule": rule, "name": name, "value": value});
    database.call("set_setting", setting).expect("a setting");
}
