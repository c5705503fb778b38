//! Airflow's tables without a tree: what each rule takes of them is what a model says.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::render;

use super::{
    MICROSECONDS_A_DAY, NOW, OLD, Row, Run, armed, extension, graph, instant, load_history,
    prepare, set_policies, small, uuid, value, verified,
};
use crate::harness::tests;
use crate::session::refused;
use crate::support::effort::seeds;
use crate::support::installation::Installation;

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

/// A rule with its table, what its key is, and what else the model reads; times begin with `@`.
const RULES: [(&str, &str, &[&str]); 8] = [
    (
        "tries",
        "task_instance_history",
        &[
            "task_instance_id",
            "dag_id",
            "task_id",
            "run_id",
            "map_index",
            "try_number",
        ],
    ),
    (
        "task_state",
        "task_state_store",
        &["id", "dag_run_id", "@expires_at"],
    ),
    (
        "asset_state",
        "asset_state_store",
        &["asset_id", "key", "@updated_at"],
    ),
    ("revoked_token", "revoked_token", &["jti", "@exp"]),
    ("log", "log", &["id", "@dttm"]),
    ("import_error", "import_error", &["id", "@timestamp"]),
    ("job", "job", &["id", "state", "@latest_heartbeat"]),
    (
        "connection_test_request",
        "connection_test_request",
        &["id", "state", "@updated_at"],
    ),
];

/// The tasks of the run whose tries are counted.
const TASKS: [(&str, i32); 3] = [("t", 0), ("t", 1), ("u", -1)];

const HOUR: i64 = 3_600_000_000;

/// The rows of all these tables, the assets that are active, and the earlier tries in which someone was asked.
#[derive(Clone, Debug, PartialEq)]
struct World {
    rows: BTreeMap<&'static str, BTreeSet<Row>>,
    active: BTreeSet<i64>,
    asked: BTreeSet<String>,
}

impl World {
    fn read(database: &mut Installation) -> Self {
        let (text, instant) = match database.dialect {
            Dialect::Postgres => ("text", "(extract(epoch FROM NAME) * 1000000)::bigint"),
            Dialect::Mysql | Dialect::Mariadb => {
                ("char", "CAST(UNIX_TIMESTAMP(NAME) * 1000000 AS signed)")
            }
        };
        let mut rows = BTreeMap::new();
        for (rule, table, columns) in RULES {
            let names: Vec<&str> = columns
                .iter()
                .map(|column| column.trim_start_matches('@'))
                .collect();
            let casts: Vec<String> = columns
                .iter()
                .map(|column| match column.strip_prefix('@') {
                    Some(name) => {
                        let name = format!("t.\"{name}\"");
                        format!("CAST({} AS {text})", instant.replace("NAME", &name))
                    }
                    None => format!("CAST(t.\"{column}\" AS {text})"),
                })
                .collect();
            let found = database.rows(&format!("SELECT {} FROM {table} AS t", casts.join(", ")));
            let row = |values: Vec<Option<String>>| names.iter().copied().zip(values).collect();
            rows.insert(rule, found.into_iter().map(row).collect());
        }
        let active = database.texts(
            "SELECT a.id FROM asset AS a JOIN asset_active AS v ON v.name = a.name AND v.uri = a.uri",
        );
        let active = active.iter().map(|id| id.parse().expect("a number"));
        let asked = format!("SELECT CAST(ti_history_id AS {text}) FROM hitl_detail_history");
        Self {
            rows,
            active: active.collect(),
            asked: database.texts(&asked).into_iter().collect(),
        }
    }
}

/// The key of a row as the documents write it.
fn key(rule: &str, row: &Row) -> String {
    match rule {
        "asset_state" => format!(
            "[{}, {}]",
            value(row, "asset_id"),
            Value::from(value(row, "key"))
        ),
        "revoked_token" => value(row, "jti").to_owned(),
        "tries" => value(row, "task_instance_id").to_owned(),
        _ => value(row, "id").to_owned(),
    }
}

/// What a run should do with a table.
#[derive(Debug, Default)]
struct Verdict {
    /// The rows that go, by pass; rules of an age have one pass.
    gone: BTreeMap<&'static str, BTreeSet<Row>>,
    skipped: BTreeMap<&'static str, usize>,
}

fn model(world: &World, rule: &str, held: &BTreeSet<(&str, String)>) -> Verdict {
    let mut verdict = Verdict::default();
    let of_run = |row: &Row| match rule {
        "task_state" => held.contains(&("dag_runs", value(row, "dag_run_id").to_owned())),
        // All tries are of the one run.
        "tries" => held.contains(&("dag_runs", "1".to_owned())),
        _ => false,
    };
    let before = |days: i64, hours: i64| NOW - days * MICROSECONDS_A_DAY - hours * HOUR;
    if rule == "tries" {
        let mut tasks: BTreeMap<_, Vec<(i64, &Row)>> = BTreeMap::new();
        for row in &world.rows[rule] {
            let task = ["dag_id", "task_id", "run_id", "map_index"].map(|name| value(row, name));
            let number = value(row, "try_number").parse().expect("a number");
            tasks.entry(task).or_default().push((number, row));
        }
        for tries in tasks.values_mut() {
            tries.sort_by_key(|(number, _)| -number);
            for (_, row) in tries.iter().skip(3) {
                if held.contains(&(rule, key(rule, row))) || of_run(row) {
                    *verdict.skipped.entry("HELD").or_default() += 1;
                } else {
                    verdict
                        .gone
                        .entry("surplus")
                        .or_default()
                        .insert((*row).clone());
                }
            }
        }
        return verdict;
    }
    for row in &world.rows[rule] {
        let has_ended = || ["success", "failed"].contains(&value(row, "state"));
        // In which pass the row may go, by which time, and what that must lie before.
        let (pass, time, limit) = match rule {
            "task_state" if row["expires_at"].is_some() => ("expired", "expires_at", NOW),
            // What Airflow gives no expiry never expires.
            "task_state" => continue,
            "asset_state" => {
                let asset = value(row, "asset_id").parse().expect("a number");
                if world.active.contains(&asset) {
                    continue;
                }
                ("orphan", "updated_at", before(14, 1))
            }
            "revoked_token" => ("expired", "exp", NOW),
            "log" => ("age", "dttm", before(90, 24)),
            "import_error" => ("age", "timestamp", before(90, 24)),
            "job" if has_ended() => ("age", "latest_heartbeat", before(90, 24)),
            "connection_test_request" if has_ended() => ("age", "updated_at", before(30, 1)),
            _ => continue,
        };
        match instant(row, time) {
            None => *verdict.skipped.entry("UNDATED_MEMBER").or_default() += 1,
            Some(time) if time >= limit => {}
            Some(_) if held.contains(&(rule, key(rule, row))) || of_run(row) => {
                *verdict.skipped.entry("HELD").or_default() += 1;
            }
            Some(_) => drop(verdict.gone.entry(pass).or_default().insert(row.clone())),
        }
    }
    verdict
}

pub(super) const AS_OF: &str = "2026-01-15T00:00:00Z";

fn of_rule<'a>(document: &'a Value, rule: &str) -> &'a Value {
    let rules = document["rules"].as_array().expect("rules");
    let found = rules.iter().find(|one| one["rule"] == rule);
    found.unwrap_or_else(|| panic!("no {rule} in {document}"))
}

/// Runs all rules, and compares what is left and what the documents say with the model. Answers the rows by rule and pass,
/// and those that were skipped by rule and reason.
fn check(database: &mut Installation, held: &BTreeSet<(&str, String)>) -> BTreeMap<String, usize> {
    let before = World::read(database);
    let options = json!({"as_of": AS_OF});
    let dry = json!({"as_of": AS_OF, "dry_run": true});
    let documents = [
        database.preview(options.clone()).expect("a preview"),
        database.run(dry).expect("a dry run"),
    ];
    assert!(World::read(database) == before, "a dry run changes nothing");
    let run = database.run(options.clone()).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    let after = World::read(database);
    let mut counts = BTreeMap::new();
    for (rule, table, _) in RULES {
        let verdict = model(&before, rule, held);
        let gone: BTreeSet<Row> = verdict.gone.values().flatten().cloned().collect();
        let stays: BTreeSet<Row> = before.rows[rule].difference(&gone).cloned().collect();
        assert_eq!(after.rows[rule], stays, "{rule}");
        // What goes with the rows, before them.
        let mut tables: BTreeMap<&str, usize> = [(table, gone.len())].into();
        if rule == "tries" {
            let mut asked = before.asked.clone();
            for row in &gone {
                asked.remove(value(row, "task_instance_id"));
            }
            assert_eq!(after.asked, asked);
            tables.insert("hitl_detail_history", before.asked.len() - asked.len());
        }
        let rows: usize = tables.values().sum();
        for document in documents.iter().chain([&run]) {
            let of_rule = of_rule(document, rule);
            assert_eq!(of_rule["families"], gone.len(), "{of_rule}");
            assert_eq!(of_rule["rows"], rows, "{of_rule}");
            assert_eq!(of_rule["tables"], json!(tables), "{of_rule}");
            assert_eq!(of_rule["skipped"], json!(verdict.skipped), "{of_rule}");
            for pass in of_rule["passes"].as_array().into_iter().flatten() {
                let name = pass["pass"].as_str().expect("a name");
                let rows = verdict.gone.get(name).map_or(0, BTreeSet::len);
                assert_eq!(pass["rows"], rows, "{of_rule}");
            }
        }
        counts.insert(format!("{rule} below"), rows - gone.len());
        for (pass, rows) in verdict.gone {
            counts.insert(format!("{rule} {pass}"), rows.len());
        }
        for (reason, rows) in verdict.skipped {
            counts.insert(format!("{rule} {reason}"), rows);
        }
        counts.insert(format!("{rule} left"), stays.len());
    }
    let again = database.run(options).expect("a second run");
    for (rule, ..) in RULES {
        assert_eq!(of_rule(&again, rule)["rows"], 0, "{again}");
    }
    counts
}

/// A random time around every limit, to the microsecond; NULL now and then.
fn time(random: &mut SmallRng, may_lack: bool) -> String {
    if may_lack && random.random_bool(0.15) {
        return "NULL".to_owned();
    }
    let days = *[0, 1, 7, 8, 14, 30, 31, 91, 200]
        .choose(random)
        .expect("a number of days");
    let hours = *[0, 1].choose(random).expect("a number of hours");
    let at = days * 86_400 + hours * 3_600;
    let off = random.random_range(-1..=1);
    match off {
        0 => format!("timestamp '2026-01-15 00:00:00' - interval '{at}' second"),
        -1 => format!("timestamp '2026-01-14 23:59:59.999999' - interval '{at}' second"),
        _ => format!("timestamp '2026-01-15 00:00:00.000001' - interval '{at}' second"),
    }
}

/// Fills the tables anew. Answers what is held.
fn fill(database: &mut Installation, random: &mut SmallRng) -> BTreeSet<(&'static str, String)> {
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
            word => super::text(word),
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
            super::text(&name),
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
    for statement in statements {
        database.execute(&statement);
    }
    for (rule, key) in &held {
        let hold = json!({"rule": rule, "key": key, "reason": "test"});
        let document = database.set_hold(hold).expect("a hold");
        assert_eq!(document["exists"], true, "{document}");
    }
    held
}

fn set(database: &mut Installation, rule: &str, name: &str, value: i64) {
    let setting = json!({"rule": rule, "name": name, "value": value});
    database.call("set_setting", setting).expect("a setting");
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
        Dialect::Postgres => (30, 1..9),
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
        assert!(seen.get(what) >= Some(&least), "{what}: {seen:?}");
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
        (16, "'scheduled'", old),
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
    // 1 is that of `prepare`, which runs by a task of no deadline and has no state. A version stays for a run, a deadline, or
    // as the last one.
    assert_eq!(left("SELECT LAST FROM callback"), [1, 13, 14, 15, 17]);
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
    let probes = render::probes(&graph, dialect);
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
                    // What stands for a work table is read whole.
                    let is_work = cell(2).len() <= 2 || cell(2).starts_with("<derived");
                    let is_whole = ["ALL", "index"].contains(&cell(4).as_str());
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
