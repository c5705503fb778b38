//! Airflow's tables without a tree: what each rule takes of them is what a model says.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::bundle::Probe;
use windrow::dialect::Dialect;
use windrow::render;

use super::history::{OLD, Run, prepare, uuid};
use super::runs::{extension, small};
use super::{armed, graph, load_history, set_policies, verified};
use crate::harness::tests;
use crate::session::refused;
use crate::support::effort::{enough, seeds};

mod fill;
pub(super) mod model;

use fill::{TASKS, fill, set};
use model::{AS_OF, RULES, check, of_rule};

tests! {
    postgres_then_mysql: [
        the_rows_of_a_real_history_go_as_the_model_says,
    ],
    postgres_and_mysql: [
        rows_go_as_the_model_says,
        a_row_of_two_rules_goes_once,
        task_state_without_an_expiry_never_goes_by_itself,
        what_nothing_names_any_more_goes,
        tries_go_by_their_age_where_a_rule_says_so,
        a_family_that_fails_keeps_no_other_rule_from_its_work,
        a_row_is_named_by_its_key,
        who_names_no_rule_is_told_which_there_are,
        every_search_goes_along_an_index,
    ],
}

fn rows_go_as_the_model_says(dialect: Dialect) {
    let mut database = armed(dialect, &graph());
    prepare(&mut database, &["a"]);
    for (id, name) in [(2, "b"), (3, "c")] {
        database.execute(&format!("INSERT INTO asset (id, name, uri, \"group\", extra, created_at, updated_at) VALUES ({id}, '{name}', '{name}', 'asset', '{{}}', '2025-01-01', '2025-01-01')"));
    }
    // Task state of a run that runs expires as well.
    Run {
        id: 1,
        state: "running",
        ..OLD
    }
    .insert(&mut database);
    for ((task, map_index), number) in TASKS.into_iter().zip(1..) {
        let id = uuid(dialect, 900_000 + number);
        database.execute(&format!("INSERT INTO task_instance (dag_id, task_id, run_id, map_index, id, state, try_number, pool, pool_slots, dag_version_id) VALUES ('a', '{task}', 'run 0', {map_index}, '{id}', 'running', 9, 'p', 1, '00000000000000000000000000000001')"));
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    // Each batch takes much longer where it makes its work tables first.
    let (worlds, batches) = match dialect {
        Dialect::Postgres => (20, 1..9),
        Dialect::Mysql | Dialect::Mariadb => (8, 4..16),
    };
    for seed in seeds("worlds of Airflow's rows", dialect, worlds) {
        let random = &mut SmallRng::seed_from_u64(seed);
        let held = fill(&mut database, random);
        for (rule, ..) in RULES {
            set(
                &mut database,
                rule,
                "batch_rows",
                random.random_range(batches.clone()),
            );
        }
        for (what, count) in check(&mut database, &held) {
            *seen.entry(what).or_default() += count;
        }
    }
    // Worlds in which nothing happens prove nothing.
    let least = match dialect {
        Dialect::Postgres => 5,
        Dialect::Mysql | Dialect::Mariadb => 1,
    };
    for what in [
        "tries surplus",
        "tries below",
        "task_state expired",
        "asset_state orphan",
        "revoked_token expired",
        "log age",
        "log UNDATED_MEMBER",
        "import_error age",
        "import_error UNDATED_MEMBER",
        "job age",
        "job UNDATED_MEMBER",
        "connection_test_request age",
    ] {
        assert!(
            seen.get(what) >= Some(&enough(least).max(1)),
            "{what}: {seen:?}"
        );
    }
    for (rule, ..) in RULES {
        assert!(
            seen.contains_key(&format!("{rule} HELD")),
            "{rule}: {seen:?}"
        );
    }
    verified(&mut database);
}

fn the_rows_of_a_real_history_go_as_the_model_says(dialect: Dialect) {
    let mut database = armed(dialect, &graph());
    load_history(&mut database);
    // What says no expiry stays. No dag has a policy: all rows below the runs stay, too.
    let counts = check(&mut database, &BTreeSet::new());
    for (rule, ..) in RULES {
        let gone: usize = ["surplus", "expired", "orphan", "age"]
            .iter()
            .filter_map(|pass| counts.get(&format!("{rule} {pass}")))
            .sum();
        let left = counts[&format!("{rule} left")];
        assert!(gone > 0 && left > 0, "{rule}: {counts:?}");
    }
    assert!(counts["tries below"] > 0, "{counts:?}");
    assert!(counts["import_error UNDATED_MEMBER"] > 0, "{counts:?}");
    let crashed =
        "SELECT count(*) FROM job WHERE state = 'running' AND latest_heartbeat < '2025-10-01'";
    assert!(database.number(crashed) > 0);
    verified(&mut database);
}

/// There is no fallback for task state, in the spec or by a setting: NULL means that the task or Airflow wants it to stay.
fn task_state_without_an_expiry_never_goes_by_itself(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, state) in [(3, "running"), (6, "success")] {
        Run { id, state, ..OLD }.insert(&mut database);
        database.execute(&format!("INSERT INTO task_state_store (id, dag_run_id, task_id, \"key\", dag_id, run_id, value, updated_at, expires_at) VALUES ({id}, {id}, 't', 'k', 'a', 'run {}', 'v', '2020-01-01', NULL)", id / 3));
    }
    let setting = json!({"rule": "task_state", "name": "fallback_retention", "value": 2_592_000});
    let refusal = database.call("set_setting", setting);
    assert!(refusal.is_err(), "{refusal:?}");
    let run = database
        .run(json!({"rule": "task_state", "as_of": AS_OF}))
        .expect("a run");
    assert_eq!(of_rule(&run, "task_state")["rows"], 0, "{run}");
    // With its run it goes.
    database.run(json!({"as_of": AS_OF})).expect("a run");
    assert_eq!(database.texts("SELECT id FROM task_state_store"), ["3"]);
}

/// Task state that has expired goes by itself, and with its run. Each rule counts it while it is there.
fn a_row_of_two_rules_goes_once(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    Run { id: 3, ..OLD }.insert(&mut database);
    Run {
        id: 6,
        state: "running",
        ..OLD
    }
    .insert(&mut database);
    for (id, run, expires) in [
        (1, 3, "'2025-11-01'"),
        (2, 3, "NULL"),
        (3, 6, "'2025-11-01'"),
        (4, 6, "NULL"),
    ] {
        database.execute(&format!("INSERT INTO task_state_store (id, dag_run_id, task_id, \"key\", dag_id, run_id, value, updated_at, expires_at) VALUES ({id}, {run}, 't', 'k{id}', 'a', 'run {}', 'v', '2025-10-01', {expires})", run / 3));
    }
    let options = json!({"as_of": AS_OF});
    let rows = |document: &Value| {
        [
            of_rule(document, "dag_runs")["tables"]["task_state_store"].clone(),
            of_rule(document, "task_state")["rows"].clone(),
        ]
    };
    let preview = database.preview(options.clone()).expect("a preview");
    assert_eq!(rows(&preview), [json!(2), json!(2)], "{preview}");
    let run = database.run(options).expect("a run");
    assert_eq!(rows(&run), [json!(2), json!(1)], "{run}");
    assert_eq!(database.texts("SELECT id FROM task_state_store"), ["4"]);
}

/// Callbacks go after their deadline, versions of dags after all that names them, events after the runs that consumed them.
fn what_nothing_names_any_more_goes(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    let id = |number| uuid(dialect, number);
    let (old, young) = ("2025-06-01", "2026-01-14");
    // Runs of two dags: 3 is due, 6 runs; the deadlines of both name a callback, and an alert of the second version.
    for (run, state) in [(3, "success"), (6, "running")] {
        Run {
            id: run,
            state,
            ..OLD
        }
        .insert(&mut database);
    }
    for (version, number) in [(2, 2), (3, 3), (4, 4), (5, 5)] {
        database.execute(&format!("INSERT INTO dag_version (id, version_number, dag_id, created_at, last_updated) VALUES ('{}', {number}, 'a', '{old}', '{old}')", id(version)));
        database.execute(&format!("INSERT INTO dag_code (id, dag_id, fileloc, created_at, last_updated, source_code, source_code_hash, dag_version_id) VALUES ('{0}', 'a', 'f', '{old}', '{old}', 's', 'h', '{0}')", id(version)));
        database.execute(&format!("INSERT INTO serialized_dag (id, dag_id, created_at, last_updated, dag_hash, dag_version_id) VALUES ('{0}', 'a', '{old}', '{old}', 'h', '{0}')", id(version)));
        database.execute(&format!("INSERT INTO deadline_alert (id, created_at, serialized_dag_id, name, reference, \"interval\", callback_def) VALUES ('{0}', '{old}', '{0}', 'n', '{{}}', '{{}}', '{{}}')", id(version)));
    }
    database.execute(&format!(
        "UPDATE dag_run SET created_dag_version_id = '{}' WHERE id = 6",
        id(3)
    ));
    for (callback, state, created) in [
        (11, "'scheduled'", old),
        (12, "'success'", old),
        (13, "'running'", old),
        (14, "NULL", old),
        (15, "'failed'", young),
        (16, "'success'", old),
        (17, "'scheduled'", old),
    ] {
        database.execute(&format!("INSERT INTO callback (id, type, fetch_method, data, priority_weight, created_at, state) VALUES ('{}', 'x', 'x', '{{}}', 1, '{created}', {state})", id(callback)));
    }
    for (deadline, run, callback, alert) in [(21, "3", 16, 2), (22, "6", 17, 4)] {
        database.execute(&format!("INSERT INTO deadline (id, created_at, last_updated_at, dagrun_id, deadline_time, missed, callback_id, deadline_alert_id) VALUES ('{}', '{old}', '{old}', {run}, '{old}', true, '{}', '{}')", id(deadline), id(callback), id(alert)));
    }
    for event in [31, 32, 33, 34] {
        let at = if event == 34 { young } else { old };
        database.execute(&format!("INSERT INTO asset_event (id, asset_id, extra, timestamp) VALUES ({event}, 1, '{{}}', '{at}')"));
    }
    database.execute("INSERT INTO asset_alias (id, name, \"group\") VALUES (1, 'x', 'g')");
    database.execute(
        "INSERT INTO asset_alias_asset_event (alias_id, event_id) VALUES (1, 31), (1, 32)",
    );
    database
        .execute("INSERT INTO dagrun_asset_event (dag_run_id, event_id) VALUES (3, 31), (6, 32)");
    database.execute(&format!("INSERT INTO asset_partition_dag_run (id, target_dag_id, partition_key, created_at, updated_at) VALUES (41, 'a', 'p', '{old}', '{old}')"));
    for (log, partition, event, at) in [(51, 41, 33, old), (52, 99, 1, old), (53, 99, 2, young)] {
        database.execute(&format!("INSERT INTO partitioned_asset_key_log (id, asset_id, asset_event_id, asset_partition_dag_run_id, source_partition_key, target_dag_id, target_partition_key, created_at) VALUES ({log}, 1, {event}, {partition}, 's', 'a', 'p', '{at}')"));
    }
    let options = json!({"as_of": AS_OF});
    database.preview(options.clone()).expect("a preview");
    let first = database.run(options.clone()).expect("a run");
    assert_eq!(first["status"], "done", "{first}");
    let mut left = |sql: &str| -> Vec<i64> {
        let cast = match dialect {
            Dialect::Postgres => "CAST(right(CAST(KEY AS text), 4) AS integer)",
            Dialect::Mysql | Dialect::Mariadb => "CAST(right(KEY, 4) AS signed)",
        };
        let sql = sql.replace("LAST", &cast.replace("KEY", "id"));
        let keys = database.texts(&format!("{sql} ORDER BY 1"));
        keys.iter()
            .map(|key| key.parse().expect("a number"))
            .collect()
    };
    // 14 runs by a task of no deadline and has no state. A version stays for a run, a deadline, or as the last one.
    assert_eq!(left("SELECT LAST FROM callback"), [13, 14, 15, 17]);
    assert_eq!(left("SELECT LAST FROM dag_version"), [3, 4, 5]);
    for table in ["dag_code", "serialized_dag", "deadline_alert"] {
        assert_eq!(
            left(&format!("SELECT LAST FROM {table}")),
            [3, 4, 5],
            "{table}"
        );
    }
    // A run and a partition keep their events; those of the log that hangs on nothing were kept by it until now.
    assert_eq!(left("SELECT id FROM asset_event"), [2, 32, 33, 34]);
    assert_eq!(left("SELECT event_id FROM asset_alias_asset_event"), [32]);
    assert_eq!(left("SELECT id FROM partitioned_asset_key_log"), [51, 53]);
    for (rule, reason, count) in [
        ("asset_event", "REFERENCED", 3),
        ("dag_version", "REFERENCED", 2),
    ] {
        assert_eq!(
            of_rule(&first, rule)["skipped"],
            json!({reason: count}),
            "{first}"
        );
    }
    let again = database.run(options).expect("a second run");
    assert_eq!(again["status"], "done", "{again}");
    assert_eq!(of_rule(&again, "callback")["rows"], 0, "{again}");
}

/// In the place of the rule that keeps some of each task.
fn tries_go_by_their_age_where_a_rule_says_so(dialect: Dialect) {
    let before = super::SPEC.find("[rules.tries]").expect("the rule");
    let behind = before
        + super::SPEC[before..]
            .find("# What tasks keep")
            .expect("the next");
    let rule = "[rules.tries]
strategy  = \"end-time\"
root      = \"task_instance_history\"
final     = { task_instance_id = { null = false } }
end_time  = \"end_date timestamptz else updated_at\"
retention = { default = \"30d\", minimum = \"7d\", safety_lag = \"1d\" }

";
    let text = format!("{}{rule}{}", &super::SPEC[..before], &super::SPEC[behind..])
        .replace(", \"dag_id, task_id, run_id, map_index, try_number\"]", "]");
    let mut database = small(dialect, &crate::support::graphs::graph_of(&text));
    Run {
        id: 3,
        state: "running",
        ..OLD
    }
    .insert(&mut database);
    super::add_task(&mut database, 1, "a", 3, "t", -1, "running");
    super::add_task(&mut database, 2, "a", 3, "u", -1, "running");
    database
        .execute("UPDATE task_instance_history SET end_date = '2025-10-01' WHERE task_id = 't'");
    database
        .execute("UPDATE task_instance_history SET end_date = '2026-01-10' WHERE task_id = 'u'");
    let run = database.run(json!({"as_of": AS_OF})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(
        database.texts("SELECT task_id FROM task_instance_history"),
        ["u"]
    );
    assert_eq!(
        database.number("SELECT count(*) FROM hitl_detail_history"),
        1
    );
    assert_eq!(database.number("SELECT count(*) FROM task_instance"), 2);
}

/// The first table that fails ends a run of `airflow db clean`.
fn a_family_that_fails_keeps_no_other_rule_from_its_work(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    extension(&mut database);
    database.execute("INSERT INTO log (id, dttm, event) VALUES (1, '2025-01-01', 'success')");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(
        of_rule(&run, "dag_runs")["skipped"],
        json!({"FAILED": 1}),
        "{run}"
    );
    assert_eq!(of_rule(&run, "log")["rows"], 1, "{run}");
}

/// A named row goes before its time, but not one that the rule does not take at any time.
fn a_row_is_named_by_its_key(dialect: Dialect) {
    let mut database = armed(dialect, &graph());
    for (number, state) in [(1, "success"), (2, "pending"), (3, "failed")] {
        let key = uuid(dialect, number);
        database.execute(&format!("INSERT INTO connection_test_request (id, token, connection_id, state, created_at, updated_at, conn_type) VALUES ('{key}', 't{number}', 'c', '{state}', '2026-01-01', '2026-01-01', 'http')"));
    }
    let keys: Vec<String> = (1..=3).map(|number| uuid(dialect, number)).collect();
    let hold = json!({"rule": "connection_test_request", "key": keys[2], "reason": "audit"});
    let hold = database.set_hold(hold).expect("a hold");
    assert_eq!(hold["exists"], true, "{hold}");
    let purge = database
        .purge(json!({"rule": "connection_test_request", "key": keys}))
        .expect("a purge");
    assert_eq!(
        purge["refused"],
        json!({keys[1].as_str(): "NOT_A_ROOT", keys[2].as_str(): "HELD"}),
        "{purge}"
    );
    let left = database.texts("SELECT token FROM connection_test_request ORDER BY token");
    assert_eq!(left, ["t2", "t3"]);
    let wrong = json!({"rule": "connection_test_request", "key": ["17"]});
    refused(
        database.purge(wrong),
        &["not a key of connection_test_request"],
    );
}

fn who_names_no_rule_is_told_which_there_are(dialect: Dialect) {
    let mut database = armed(dialect, &graph());
    for (routine, options, message, hint) in [
        (
            "set_policy",
            json!({"scope": "a", "retention": "30d"}),
            "the option rule is missing: there are 13 rules",
            "ame one of them: dag_runs, tries, task_state, ",
        ),
        (
            "set_hold",
            json!({"key": 1, "reason": "audit"}),
            "the option rule is missing",
            "ame one of them: dag_runs, ",
        ),
        (
            "set_setting",
            json!({"name": "retries", "value": 1}),
            "the option rule is missing",
            "ame one of them: dag_runs, ",
        ),
        (
            "purge",
            json!({"key": [1]}),
            "the option rule is missing",
            "ame one of them: dag_runs, ",
        ),
        (
            "set_policy",
            json!({"rule": "log", "scope": "a", "retention": "30d"}),
            "rule log has no scopes",
            "",
        ),
        (
            "preview",
            json!({"scope": "a"}),
            "rule tries has no scopes",
            "or name another rule",
        ),
    ] {
        refused(database.call(routine, options), &[message, hint]);
    }
    set_policies(&mut database, &BTreeMap::from([("a".to_owned(), 30)]));
    let preview = json!({"rule": "dag_runs", "scope": "a"});
    database.preview(preview).expect("a preview of one scope");
}

/// Most columns by which `airflow db clean` searches have no index.
fn every_search_goes_along_an_index(dialect: Dialect) {
    let mut database = armed(dialect, &graph());
    load_history(&mut database);
    let graph = windrow::graph::Graph {
        database: database.name.clone(),
        ..graph()
    };
    match dialect {
        // What is still read whole then has no index.
        Dialect::Postgres => database.execute("SET enable_seqscan = off; ANALYZE"),
        Dialect::Mysql | Dialect::Mariadb => database.execute("CALL W.settle(@before)"),
    }
    let probes = render::probes(&graph, dialect).expect("the statements");
    for (rule, ..) in RULES {
        let of_rule = format!("rule {rule}:");
        assert!(
            probes.iter().any(|probe| probe.what.contains(&of_rule)),
            "{rule}"
        );
    }
    for probe in &probes {
        match dialect {
            Dialect::Postgres => {
                let plan = database.texts(&format!("EXPLAIN {}", probe.sql)).join("\n");
                assert!(!plan.contains("Seq Scan on"), "{}\n{plan}", probe.what);
            }
            Dialect::Mysql | Dialect::Mariadb => {
                let plan = database.rows(&format!("EXPLAIN FORMAT=TRADITIONAL {}", probe.sql));
                for row in &plan {
                    let cell = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
                    // What stands for a work table is read whole, and so is a list of keys.
                    let is_work = cell(2) == Probe::FED
                        || cell(2).starts_with('<')
                        || cell(row.len() - 1).starts_with("Table function");
                    // LIMIT ends a search in the order of an index.
                    let few = cell(9).parse().is_ok_and(|rows: i64| rows <= 100);
                    let is_whole = cell(4) == "ALL" || cell(4) == "index" && !few;
                    assert!(
                        is_work || !is_whole,
                        "{}\n{}\n{plan:#?}",
                        probe.what,
                        probe.sql
                    );
                }
            }
        }
    }
}
