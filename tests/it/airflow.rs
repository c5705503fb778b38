//! Airflow on its whole schema, all 60 foreign keys included: what goes is what the definitions say, nothing goes uncounted, and
//! what is known to go wrong with `airflow db clean` does not.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::answers;
use windrow::demo::SYSTEMS;
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::report;

use crate::harness::tests;
use crate::support::effort::seeds;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

mod cascades;
mod deadlines;
mod rows;

const SPEC: &str = include_str!("../../specs/airflow-3.toml");

tests! {
    within: [cascades::tests, deadlines::tests, rows::tests],
    on_postgres: [
        a_failed_family_is_an_exit_code,
    ],
    postgres_then_mysql: [
        a_real_history_is_cleaned_from_end_to_end,
    ],
    postgres_and_mysql: [
        odd_histories_are_cleaned_as_the_model_says,
        the_spec_fits_the_schema,
        old_runs_that_run_stay,
        the_last_run_of_a_dag_keeps_its_tasks,
        the_scheduler_goes_on_where_it_would_have,
        what_two_rules_would_take_is_told,
        a_run_without_an_end_goes_by_its_last_change,
        a_table_that_refuses_keeps_its_family_and_no_other,
        a_table_that_is_known_to_refuse_is_a_reason,
        triggers_and_deferred_tasks_stay,
        a_run_that_is_cleared_meanwhile_stays,
    ],
}

/// The tables of the tree and the columns that say what belongs to what.
const TREE: [(&str, &[&str]); 17] = [
    ("asset_partition_dag_run", &["id", "created_dag_run_id"]),
    ("backfill_dag_run", &["id", "dag_run_id"]),
    (
        "dag_run",
        &[
            "id",
            "dag_id",
            "run_id",
            "state",
            "run_type",
            "partition_key",
        ],
    ),
    ("dag_run_note", &["dag_run_id"]),
    ("dagrun_asset_event", &["dag_run_id", "event_id"]),
    ("deadline", &["id", "dagrun_id", "missed"]),
    ("hitl_detail", &["ti_id"]),
    ("hitl_detail_history", &["ti_history_id"]),
    (
        "partitioned_asset_key_log",
        &["id", "asset_partition_dag_run_id"],
    ),
    (
        "rendered_task_instance_fields",
        &["dag_id", "task_id", "run_id", "map_index"],
    ),
    (
        "task_instance",
        &["id", "dag_id", "task_id", "run_id", "map_index"],
    ),
    (
        "task_instance_history",
        &[
            "task_instance_id",
            "dag_id",
            "task_id",
            "run_id",
            "map_index",
        ],
    ),
    ("task_instance_note", &["ti_id"]),
    ("task_map", &["dag_id", "task_id", "run_id", "map_index"]),
    ("task_reschedule", &["id", "ti_id"]),
    ("task_state_store", &["id", "dag_run_id"]),
    ("xcom", &["dag_id", "task_id", "run_id", "map_index", "key"]),
];

/// The same tables, as they can be emptied.
const EMPTIED: [&str; 17] = [
    "hitl_detail_history",
    "hitl_detail",
    "task_reschedule",
    "task_instance_note",
    "task_instance_history",
    "xcom",
    "task_map",
    "rendered_task_instance_fields",
    "task_instance",
    "task_state_store",
    "deadline",
    "dag_run_note",
    "dagrun_asset_event",
    "partitioned_asset_key_log",
    "asset_partition_dag_run",
    "backfill_dag_run",
    "dag_run",
];

/// Whose rows outlive the runs.
const OUTLIVES: &str = "backfill_dag_run";

const MICROSECONDS_A_DAY: i64 = 86_400_000_000;

/// 2026-01-15 00:00:00 UTC.
const NOW: i64 = 1_768_435_200_000_000;

pub(crate) fn graph() -> Graph {
    graph_of(SPEC)
}

fn scripts(dialect: Dialect) -> windrow::demo::Scripts {
    let system = SYSTEMS.iter().find(|system| system.name == "airflow-3");
    let scripts = system.and_then(|system| system.scripts(dialect));
    scripts.expect("Airflow runs on this server")
}

fn armed(dialect: Dialect, graph: &Graph) -> Installation {
    let mut database = Installation::of(dialect, scripts(dialect).schema, graph);
    database.arm();
    match dialect {
        Dialect::Postgres => database.execute("SET timezone = 'UTC'"),
        Dialect::Mysql | Dialect::Mariadb => database.execute("SET time_zone = '+00:00'"),
    }
    database
}

type Row = BTreeMap<&'static str, Option<String>>;

/// The tables of the tree, and how many rows each other table has.
#[derive(Clone, Debug, PartialEq)]
struct Contents {
    tree: BTreeMap<&'static str, BTreeSet<Row>>,
    beside: BTreeMap<String, i64>,
}

fn contents(database: &mut Installation) -> Contents {
    let (text, tables, instant) = match database.dialect {
        Dialect::Postgres => (
            "text",
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
            "(extract(epoch FROM NAME) * 1000000)::bigint",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "char",
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1",
            "CAST(UNIX_TIMESTAMP(NAME) * 1000000 AS signed)",
        ),
    };
    let mut tree = BTreeMap::new();
    for (table, columns) in TREE {
        let mut names: Vec<&str> = columns.to_vec();
        let mut casts: Vec<String> = columns
            .iter()
            .map(|name| format!("CAST(t.{name} AS {text})"))
            .collect();
        if table == "dag_run" {
            for name in [
                "run_after",
                "end_date",
                "updated_at",
                "logical_date",
                "partition_date",
            ] {
                names.push(name);
                casts.push(format!("CAST({} AS {text})", instant.replace("NAME", name)));
            }
        }
        let rows = database.rows(&format!("SELECT {} FROM {table} AS t", casts.join(", ")));
        let row = |values: Vec<Option<String>>| names.iter().copied().zip(values).collect();
        tree.insert(table, rows.into_iter().map(row).collect());
    }
    let tables = database.texts(tables);
    let beside = tables
        .into_iter()
        .filter(|name| !tree.contains_key(name.as_str()));
    let beside: Vec<String> = beside.collect();
    // All but the tree, and what windrow itself would bring.
    assert_eq!(beside.len() + TREE.len(), 58, "{beside:?}");
    let quote = if database.dialect == Dialect::Postgres {
        '"'
    } else {
        '`'
    };
    let mut count = |name: String| {
        let rows = database.number(&format!("SELECT count(*) FROM {quote}{name}{quote}"));
        (name, rows)
    };
    Contents {
        beside: beside.into_iter().map(&mut count).collect(),
        tree,
    }
}

/// What a run should do, by the definitions.
struct Verdict {
    left: Contents,
    families: usize,
    skipped: BTreeMap<&'static str, usize>,
}

fn value<'a>(row: &'a Row, name: &str) -> &'a str {
    row[name].as_deref().unwrap_or_default()
}

fn instant(row: &Row, name: &str) -> Option<i64> {
    Some(row[name].as_ref()?.parse().expect("microseconds"))
}

/// The runs that say where the scheduler goes on. Of those that a schedule or a backfill has made, each kind has the one with
/// the latest logical date, or of a partitioned dag with the latest partition date; partitions without a date come first, by
/// the time after which they could run. Of those that assets have triggered, it is the one that could run last.
fn watermarks(runs: &BTreeSet<Row>) -> BTreeSet<String> {
    let mut last: BTreeMap<(&str, &str, &str), ([i64; 3], &str)> = BTreeMap::new();
    for run in runs {
        let kind = value(run, "run_type");
        let [logical, partition] = ["logical_date", "partition_date"].map(|it| instant(run, it));
        let after = instant(run, "run_after").expect("never NULL");
        let id: i64 = value(run, "id").parse().expect("a number");
        let mut of_kind = Vec::new();
        if ["scheduled", "backfill"].contains(&kind) {
            of_kind.extend(logical.map(|date| ("logical", [date, 0, id])));
            if run["partition_key"].is_some() {
                of_kind.push(match partition {
                    Some(date) => ("partition", [date, after, id]),
                    None => ("undated partition", [after, 0, id]),
                });
            }
        } else if kind == "asset_triggered" {
            of_kind.push(("asset", [after, 0, id]));
        }
        for (sort, place) in of_kind {
            let group = (value(run, "dag_id"), kind, sort);
            let newest = last.entry(group).or_insert((place, value(run, "id")));
            *newest = (place, value(run, "id")).max(*newest);
        }
    }
    last.into_values().map(|(_, id)| id.to_owned()).collect()
}

/// What Airflow 3.3.2 asks before it makes the next run of a dag, word for word: `_get_latest_runs_stmt`,
/// `_get_latest_runs_stmt_partitioned` (dag_processing/collection.py) and the watermark of asset events
/// (jobs/scheduler_job_runner.py).
fn next_of_the_scheduler(database: &mut Installation) -> Vec<Vec<Option<String>>> {
    let text = if database.dialect == Dialect::Postgres {
        "text"
    } else {
        "char"
    };
    let mut found = Vec::new();
    for dag in database.texts("SELECT dag_id FROM dag ORDER BY dag_id") {
        let of_dag = format!("dag_id = {}", self::text(&dag));
        let by_schedule = format!("{of_dag} AND run_type IN ('backfill', 'scheduled')");
        for sql in [
            format!("SELECT CAST(max(logical_date) AS {text}) FROM dag_run WHERE {by_schedule}"),
            format!(
                "SELECT CAST(partition_date AS {text}), CAST(run_after AS {text}) FROM dag_run WHERE {by_schedule} AND partition_key IS NOT NULL ORDER BY partition_date IS NULL, partition_date DESC, run_after DESC LIMIT 1"
            ),
            format!(
                "SELECT CAST(max(run_after) AS {text}) FROM dag_run WHERE {of_dag} AND run_type = 'asset_triggered'"
            ),
        ] {
            found.extend(database.rows(&sql));
        }
    }
    found
}

/// `retentions` has the dags with a policy, in days.
fn model(
    before: &Contents,
    retentions: &BTreeMap<String, i64>,
    held: &BTreeSet<String>,
) -> Verdict {
    let runs = &before.tree["dag_run"];
    let watermarks = watermarks(runs);
    let is_last = |run: &Row| watermarks.contains(value(run, "id"));
    let missed = |row: &Row| ["t", "true", "1"].contains(&value(row, "missed"));
    let deadlines = before.tree["deadline"].iter();
    let awaited: BTreeSet<&str> = deadlines
        .filter(|row| !missed(row))
        .map(|row| value(row, "dagrun_id"))
        .collect();
    let (mut gone, mut skipped) = (BTreeSet::new(), BTreeMap::new());
    for run in runs {
        let Some(days) = retentions.get(value(run, "dag_id")) else {
            continue;
        };
        if !["success", "failed"].contains(&value(run, "state")) {
            continue;
        }
        let ended = instant(run, "end_date").or(instant(run, "updated_at"));
        let cutoff = NOW - (days + 1) * MICROSECONDS_A_DAY;
        match ended {
            None => *skipped.entry("UNDATED_MEMBER").or_default() += 1,
            Some(ended) if ended >= cutoff || is_last(run) => {}
            Some(_) if held.contains(value(run, "id")) => *skipped.entry("HELD").or_default() += 1,
            Some(_) if awaited.contains(value(run, "id")) => {
                *skipped.entry("REFERENCED").or_default() += 1
            }
            Some(_) => {
                gone.insert(value(run, "id").to_owned());
            }
        }
    }
    let names: BTreeSet<(&str, &str)> = runs
        .iter()
        .filter(|run| gone.contains(value(run, "id")))
        .map(|run| (value(run, "dag_id"), value(run, "run_id")))
        .collect();
    let of_run = |row: &Row| names.contains(&(value(row, "dag_id"), value(row, "run_id")));
    let keys = |table: &str, key: &str| -> BTreeSet<&str> {
        let rows = before.tree[table].iter().filter(|row| of_run(row));
        rows.map(|row| value(row, key)).collect()
    };
    let (tries, earlier) = (
        keys("task_instance", "id"),
        keys("task_instance_history", "task_instance_id"),
    );
    let partitions: BTreeSet<&str> = before.tree["asset_partition_dag_run"]
        .iter()
        .filter(|row| gone.contains(value(row, "created_dag_run_id")))
        .map(|row| value(row, "id"))
        .collect();
    let goes = |table: &str, row: &Row| match table {
        "dag_run" => gone.contains(value(row, "id")),
        "task_instance"
        | "task_instance_history"
        | "xcom"
        | "task_map"
        | "rendered_task_instance_fields" => of_run(row),
        "task_reschedule" | "task_instance_note" | "hitl_detail" => {
            tries.contains(value(row, "ti_id"))
        }
        "hitl_detail_history" => earlier.contains(value(row, "ti_history_id")),
        "dag_run_note" | "dagrun_asset_event" | "task_state_store" => {
            gone.contains(value(row, "dag_run_id"))
        }
        "deadline" => gone.contains(value(row, "dagrun_id")),
        "asset_partition_dag_run" => partitions.contains(value(row, "id")),
        "partitioned_asset_key_log" => {
            partitions.contains(value(row, "asset_partition_dag_run_id"))
        }
        OUTLIVES => false,
        other => panic!("{other} is no table of the tree"),
    };
    let mut left = before.clone();
    for (table, rows) in &mut left.tree {
        rows.retain(|row| !goes(table, row));
    }
    let lines = left.tree.get_mut(OUTLIVES).expect("the table");
    *lines = std::mem::take(lines)
        .into_iter()
        .map(|mut row| {
            if gone.contains(value(&row, "dag_run_id")) {
                row.insert("dag_run_id", None);
            }
            row
        })
        .collect();
    Verdict {
        left,
        families: gone.len(),
        skipped,
    }
}

/// Runs, and compares what is left and what the documents say with the model.
fn check(
    database: &mut Installation,
    retentions: &BTreeMap<String, i64>,
    held: &BTreeSet<String>,
) -> Value {
    let before = contents(database);
    let next = next_of_the_scheduler(database);
    let expected = model(&before, retentions, held);
    let tables: BTreeMap<&str, usize> = TREE
        .into_iter()
        .filter(|(table, _)| *table != OUTLIVES)
        .map(|(table, _)| {
            (
                table,
                before.tree[table].len() - expected.left.tree[table].len(),
            )
        })
        .collect();
    let options = json!({"rule": "dag_runs", "as_of": "2026-01-15T00:00:00Z"});
    let mut dry = options.clone();
    dry["dry_run"] = json!(true);
    let documents = [
        database.preview(options.clone()).expect("a preview"),
        database.run(dry).expect("a dry run"),
    ];
    assert!(contents(database) == before, "a dry run changes nothing");
    let run = database.run(options.clone()).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    for document in documents.iter().chain([&run]) {
        let rule = &document["rules"][0];
        assert_eq!(rule["families"], expected.families, "{rule}");
        // What had gone uncounted would be missing here.
        assert_eq!(rule["tables"], json!(tables), "{rule}");
        assert_eq!(rule["skipped"], json!(expected.skipped), "{rule}");
    }
    let after = contents(database);
    for (table, rows) in &after.tree {
        assert_eq!(rows, &expected.left.tree[table], "{table}");
    }
    assert_eq!(after.beside, expected.left.beside);
    assert_eq!(
        next_of_the_scheduler(database),
        next,
        "the scheduler goes on"
    );
    let again = database.run(options).expect("a second run");
    assert_eq!(again["rules"][0]["rows"], 0, "{again}");
    run
}

fn set_policies(database: &mut Installation, retentions: &BTreeMap<String, i64>) {
    for (dag, days) in retentions {
        let policy = json!({"rule": "dag_runs", "scope": dag, "retention": format!("{days}d")});
        database.set_policy(policy).expect("a policy");
    }
}

fn verified(database: &mut Installation) {
    let verify = database.call("verify", json!({})).expect("a verification");
    let wrong = violations(&verify);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn load_history(database: &mut Installation) {
    let dialect = database.dialect;
    let now = match dialect {
        Dialect::Postgres => "SET windrow.demo_now = '2026-01-15'",
        Dialect::Mysql | Dialect::Mariadb => "SET @windrow_demo_now = '2026-01-15'",
    };
    database.execute(&format!("SET {} = 1000", scripts(dialect).size));
    database.execute(now);
    database.execute(scripts(dialect).history);
}

fn a_real_history_is_cleaned_from_end_to_end(dialect: Dialect) {
    let mut database = armed(dialect, &graph());
    load_history(&mut database);
    let retentions: BTreeMap<String, i64> = [
        ("billing_daily", 90),
        ("catalogue_sync", 30),
        ("churn_model", 30),
        ("clicks_hourly", 7),
        ("fraud_scores", 365),
        ("legacy_export", 90),
        ("orders_to_lake", 30),
        ("reports", 30),
        ("adhoc_queries", 30),
    ]
    .map(|(dag, days)| (dag.to_owned(), days))
    .into();
    set_policies(&mut database, &retentions);
    let held: BTreeSet<String> = ["1", "11", "21"].map(str::to_owned).into();
    for key in &held {
        let hold = json!({"rule": "dag_runs", "key": key, "reason": "audit"});
        database.set_hold(hold).expect("a hold");
    }
    let run = check(&mut database, &retentions, &held);
    let rule = &run["rules"][0];
    assert!(rule["families"].as_i64() > Some(300), "{run}");
    for (table, _) in TREE.iter().filter(|(table, _)| *table != OUTLIVES) {
        assert!(rule["tables"][table].as_i64() > Some(0), "{table}: {run}");
    }
    assert!(
        rule["skipped"]["UNDATED_MEMBER"].as_i64() > Some(0),
        "{run}"
    );
    assert!(database.number("SELECT count(*) FROM backfill_dag_run WHERE dag_run_id IS NULL") > 0);
    verified(&mut database);
}

/// What runs need before they can be: a dag with a version, an asset with an event, a backfill, a callback.
fn prepare(database: &mut Installation, dags: &[&str]) {
    const ID: &str = "00000000000000000000000000000001";
    database.execute("INSERT INTO dag_bundle (name) VALUES ('dags')");
    for dag in dags {
        database.execute(&format!(
            "INSERT INTO dag (dag_id, is_paused, is_stale, exceeds_max_non_backfill, bundle_name, timetable_type, timetable_partitioned, timetable_periodic, partition_mapper_info, max_active_tasks, max_consecutive_failed_dag_runs, has_task_concurrency_limits, fail_fast)
             VALUES ({}, false, false, false, 'dags', 'cron', false, false, '{{}}', 1, 0, false, false)",
            text(dag)
        ));
    }
    let (dag, then) = (text(dags[0]), "'2025-09-01'");
    database.execute(&format!("INSERT INTO dag_version (id, version_number, dag_id, created_at, last_updated) VALUES ('{ID}', 1, {dag}, {then}, {then})"));
    database.execute(&format!("INSERT INTO callback (id, type, fetch_method, data, priority_weight, created_at) VALUES ('{ID}', 'x', 'x', '{{}}', 1, {then})"));
    database.execute(&format!("INSERT INTO backfill (id, dag_id, from_date, to_date, dag_run_conf, reprocess_behavior, max_active_runs, created_at, updated_at) VALUES (1, {dag}, {then}, {then}, '{{}}', 'none', 1, {then}, {then})"));
    let group = if database.dialect == Dialect::Postgres {
        "\"group\""
    } else {
        "`group`"
    };
    database.execute(&format!("INSERT INTO asset (id, name, uri, {group}, extra, created_at, updated_at) VALUES (1, 'a', 'a', 'asset', '{{}}', {then}, {then})"));
    for id in 1..=3 {
        database.execute(&format!("INSERT INTO asset_event (id, asset_id, extra, timestamp) VALUES ({id}, 1, '{{}}', {then})"));
    }
}

fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn time(value: Option<&str>) -> String {
    value.map_or("NULL".to_owned(), text)
}

/// A dag run; its run_id is that of its number.
struct Run<'a> {
    id: i32,
    dag: &'a str,
    state: &'a str,
    kind: &'a str,
    after: &'a str,
    /// Its logical date, which no other run of the dag has.
    logical: Option<&'a str>,
    /// The key of its partition, and the date of that.
    partition: Option<(&'a str, Option<&'a str>)>,
    ended: Option<&'a str>,
    changed: Option<&'a str>,
}

impl Run<'_> {
    fn insert(&self, database: &mut Installation) {
        database.execute(&format!(
            "INSERT INTO dag_run (id, dag_id, run_id, state, run_type, run_after, logical_date, partition_key, partition_date, end_date, updated_at, span_status, clear_number) VALUES ({}, {}, {}, '{}', '{}', '{}', {}, {}, {}, {}, {}, 'x', 0)",
            self.id,
            text(self.dag),
            text(&run_name(self.id)),
            self.state,
            self.kind,
            self.after,
            time(self.logical),
            time(self.partition.map(|(key, _)| key)),
            time(self.partition.and_then(|(_, date)| date)),
            time(self.ended),
            time(self.changed)
        ));
    }
}

/// Different dags have runs of the same name.
fn run_name(id: i32) -> String {
    format!("run {}", id / 3)
}

/// A uuid as Airflow stores it: on MySQL without dashes.
fn uuid(dialect: Dialect, number: i32) -> String {
    let text = format!("00000000-0000-0000-0000-{number:012}");
    match dialect {
        Dialect::Postgres => text,
        Dialect::Mysql | Dialect::Mariadb => text.replace('-', ""),
    }
}

/// A task instance with a row of every kind that hangs on it.
fn add_task(
    database: &mut Installation,
    number: i32,
    dag: &str,
    run: i32,
    task: &str,
    map_index: i32,
    state: &str,
) {
    let dialect = database.dialect;
    let id = uuid(dialect, number);
    let names = format!(
        "{}, '{task}', {}, {map_index}",
        text(dag),
        text(&run_name(run))
    );
    let then = "'2025-10-01'";
    let key = if database.dialect == Dialect::Postgres {
        "key"
    } else {
        "`key`"
    };
    for statement in [
        format!(
            "INSERT INTO task_instance (dag_id, task_id, run_id, map_index, id, state, try_number, pool, pool_slots, dag_version_id) VALUES ({names}, '{id}', '{state}', 2, 'p', 1, '00000000000000000000000000000001')"
        ),
        format!(
            "INSERT INTO task_instance_history (dag_id, task_id, run_id, map_index, task_instance_id, try_number, pool, pool_slots) VALUES ({names}, '{}', 1, 'p', 1)",
            uuid(dialect, number + 100_000)
        ),
        format!(
            "INSERT INTO xcom (dag_id, task_id, run_id, map_index, dag_run_id, {key}, timestamp) VALUES ({names}, {run}, 'k', {then}), ({names}, {run}, 'l', {then})"
        ),
        format!(
            "INSERT INTO task_map (dag_id, task_id, run_id, map_index, length) VALUES ({names}, 3)"
        ),
        format!(
            "INSERT INTO rendered_task_instance_fields (dag_id, task_id, run_id, map_index, rendered_fields) VALUES ({names}, '{{}}')"
        ),
        format!(
            "INSERT INTO task_reschedule (ti_id, start_date, end_date, duration, reschedule_date) VALUES ('{id}', {then}, {then}, 1, {then})"
        ),
        format!(
            "INSERT INTO task_instance_note (ti_id, created_at, updated_at) VALUES ('{id}', {then}, {then})"
        ),
        format!(
            "INSERT INTO hitl_detail (ti_id, options, subject, params, created_at, params_input) VALUES ('{id}', '[]', 's', '{{}}', {then}, '{{}}')"
        ),
        format!(
            "INSERT INTO hitl_detail_history (ti_history_id, options, subject, params, created_at, params_input) VALUES ('{}', '[]', 's', '{{}}', {then}, '{{}}')",
            uuid(dialect, number + 100_000)
        ),
    ] {
        database.execute(&statement);
    }
}

/// A row of every kind that hangs on a run itself.
fn add_beside(database: &mut Installation, dag: &str, run: i32, missed: bool) {
    let (then, dag, name) = ("'2025-10-01'", text(dag), text(&run_name(run)));
    let key = if database.dialect == Dialect::Postgres {
        "key"
    } else {
        "`key`"
    };
    for statement in [
        format!(
            "INSERT INTO dag_run_note (dag_run_id, created_at, updated_at) VALUES ({run}, {then}, {then})"
        ),
        format!(
            "INSERT INTO dagrun_asset_event (dag_run_id, event_id) VALUES ({run}, 1), ({run}, 3)"
        ),
        format!(
            "INSERT INTO deadline (id, created_at, last_updated_at, dagrun_id, deadline_time, missed, callback_id) VALUES ('{:032}', {then}, {then}, {run}, {then}, {missed}, '00000000000000000000000000000001')",
            run + 1
        ),
        format!(
            "INSERT INTO task_state_store (dag_run_id, task_id, {key}, dag_id, run_id, value, updated_at) VALUES ({run}, 't', 'k', {dag}, {name}, 'v', {then})"
        ),
        format!(
            "INSERT INTO asset_partition_dag_run (id, target_dag_id, created_dag_run_id, partition_key, created_at, updated_at) VALUES ({run}, {dag}, {run}, 'p', {then}, {then}), ({}, {dag}, NULL, 'q', {then}, {then})",
            run + 1000
        ),
        format!(
            "INSERT INTO partitioned_asset_key_log (asset_id, asset_event_id, asset_partition_dag_run_id, source_partition_key, target_dag_id, target_partition_key, created_at) VALUES (1, 1, {run}, 's', {dag}, 'p', {then}), (1, 2, {}, 's', {dag}, 'q', {then})",
            run + 1000
        ),
        format!(
            "INSERT INTO backfill_dag_run (backfill_id, dag_run_id, sort_ordinal) VALUES (1, {run}, 1)"
        ),
    ] {
        database.execute(&statement);
    }
}

fn odd_histories_are_cleaned_as_the_model_says(dialect: Dialect) {
    let mut database = armed(dialect, &graph());
    let dags = ["plain", "it's", "Ünï — 定義", "no policy"];
    prepare(&mut database, &dags);
    let (mut families, mut outlived) = (0, 0);
    for seed in seeds("worlds of Airflow's runs", dialect, 12) {
        let random = &mut SmallRng::seed_from_u64(seed);
        for table in EMPTIED.iter().chain(&["W.policy", "W.hold"]) {
            database.execute(&format!("DELETE FROM {table}"));
        }
        let retentions: BTreeMap<String, i64> = dags[..3]
            .iter()
            .map(|dag| {
                (
                    (*dag).to_owned(),
                    *[7, 30, 90].choose(random).expect("some"),
                )
            })
            .collect();
        set_policies(&mut database, &retentions);
        let mut held = BTreeSet::new();
        let mut number = 0;
        for id in 1..random.random_range(30..60) {
            let mut one = |values: &[&'static str]| *values.choose(random).expect("some");
            let dag = one(&dags);
            let logical = one(&["2025-09-01", "2025-09-02", "2025-12-01", ""]);
            let logical = Some(format!("{logical} 00:00:{id:02}")).filter(|it| it.len() > 10);
            let dated = one(&["2025-09-01", "2025-09-02", "2025-12-01", ""]);
            let dated = Some(dated).filter(|date| !date.is_empty());
            let run = Run {
                id,
                dag,
                logical: logical.as_deref(),
                partition: Some(one(&["p", "", ""]))
                    .filter(|key| !key.is_empty())
                    .map(|key| (key, dated)),
                state: one(&[
                    "success", "success", "failed", "failed", "running", "queued",
                ]),
                kind: one(&[
                    "scheduled",
                    "scheduled",
                    "backfill",
                    "asset_triggered",
                    "manual",
                    "operator_triggered",
                    "asset_materialization",
                ]),
                // Equal times are common: then the key decides.
                after: one(&["2025-09-01", "2025-09-01", "2025-09-02", "2025-12-01"]),
                ended: Some(one(&[
                    "2025-09-02",
                    "2025-10-20",
                    "2025-12-15",
                    "2026-01-06",
                    "2026-01-14",
                    "",
                ]))
                .filter(|time| !time.is_empty()),
                changed: Some(one(&["2025-09-03", "2026-01-10", ""]))
                    .filter(|time| !time.is_empty()),
            };
            // One name is one run of a dag.
            if database.number(&format!(
                "SELECT count(*) FROM dag_run WHERE dag_id = {} AND run_id = {}",
                text(dag),
                text(&run_name(id))
            )) > 0
            {
                continue;
            }
            run.insert(&mut database);
            for task in ["t", "u"] {
                for map_index in [-1, 0, 1] {
                    if random.random_bool(0.4) {
                        number += 1;
                        add_task(&mut database, number, dag, id, task, map_index, "success");
                    }
                }
            }
            if random.random_bool(0.5) {
                let missed = random.random_bool(0.8);
                add_beside(&mut database, dag, id, missed);
            }
            if random.random_bool(0.1) {
                let hold = json!({"rule": "dag_runs", "key": id.to_string(), "reason": "test"});
                database.set_hold(hold).expect("a hold");
                held.insert(id.to_string());
            }
        }
        let batch = random.random_range(1..5);
        let setting = json!({"rule": "dag_runs", "name": "batch_families", "value": batch});
        database.call("set_setting", setting).expect("a setting");
        let run = check(&mut database, &retentions, &held);
        families += run["rules"][0]["families"].as_i64().unwrap_or_default();
        outlived +=
            database.number("SELECT count(*) FROM backfill_dag_run WHERE dag_run_id IS NULL");
    }
    assert!(families >= 15 && outlived > 5, "{families} {outlived}");
    verified(&mut database);
}

/// `check --database` has nothing to say but that windrow acts before the foreign keys do.
fn the_spec_fits_the_schema(dialect: Dialect) {
    let database = armed(dialect, &graph());
    let graph = Graph {
        database: database.name.clone(),
        ..graph()
    };
    let mut session = database.connect();
    let catalog = session
        .catalog(windrow::render::home(&graph, dialect))
        .expect("the catalog can be read");
    let findings = windrow::fit::compare(&graph, &catalog);
    let bad: Vec<String> = findings
        .iter()
        .filter(|finding| {
            finding.severity > windrow::fit::Severity::Notice && finding.code != "event-scheduler"
        })
        .map(ToString::to_string)
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(
        !findings
            .iter()
            .any(|finding| finding.code == "missing-index"),
        "windrow is installed"
    );
    for probe in windrow::render::probes(&graph, dialect) {
        let plan = session.query(&format!("EXPLAIN {}", probe.sql), &[]);
        assert!(plan.is_ok(), "{}: {plan:?}\n{}", probe.what, probe.sql);
    }
}

/// A database with two dags of which all is cleaned after 30 days.
fn small(dialect: Dialect, graph: &Graph) -> Installation {
    let mut database = armed(dialect, graph);
    prepare(&mut database, &["a", "b"]);
    set_policies(
        &mut database,
        &BTreeMap::from([("a".to_owned(), 30), ("b".to_owned(), 30)]),
    );
    database
}

const OLD: Run = Run {
    id: 0,
    dag: "a",
    state: "success",
    kind: "manual",
    after: "2025-10-01",
    logical: None,
    partition: None,
    ended: Some("2025-10-02"),
    changed: Some("2025-10-02"),
};

fn runs(database: &mut Installation) -> Vec<i64> {
    let ids = database.texts("SELECT id FROM dag_run ORDER BY id");
    ids.iter().map(|id| id.parse().expect("a key")).collect()
}

/// `airflow db clean` has no condition on the state.
fn old_runs_that_run_stay(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, state) in [(1, "running"), (2, "queued"), (3, "success"), (4, "failed")] {
        Run {
            id,
            state,
            dag: if id % 2 == 0 { "a" } else { "b" },
            ..OLD
        }
        .insert(&mut database);
        add_task(
            &mut database,
            id,
            if id % 2 == 0 { "a" } else { "b" },
            id,
            "t",
            -1,
            "running",
        );
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(runs(&mut database), [1, 2]);
    assert_eq!(database.number("SELECT count(*) FROM task_instance"), 2);
}

/// `airflow db clean` keeps the last run of a dag, and deletes its task instances by their own age.
fn the_last_run_of_a_dag_keeps_its_tasks(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, kind, after) in [
        (3, "scheduled", "2025-09-01"),
        (6, "scheduled", "2025-09-02"),
        (9, "manual", "2025-09-03"),
    ] {
        Run {
            id,
            kind,
            after,
            logical: Some(after),
            ..OLD
        }
        .insert(&mut database);
        add_task(&mut database, id, "a", id, "t", -1, "success");
        add_beside(&mut database, "a", id, true);
    }
    let before = contents(&mut database);
    let run = database.run(json!({})).expect("a run");
    // It is not due: nobody is told that it stays.
    assert_eq!(run["rules"][0]["skipped"], json!({}), "{run}");
    assert_eq!(runs(&mut database), [6]);
    let after = contents(&mut database);
    for (table, rows) in &before.tree {
        let share = match *table {
            // Partitions that wait for a run stay, and lines of a backfill.
            "asset_partition_dag_run" | "partitioned_asset_key_log" => 4 * rows.len() / 6,
            OUTLIVES => rows.len(),
            _ => rows.len() / 3,
        };
        assert_eq!(after.tree[table].len(), share, "{table}");
    }
    // A younger run sets it free.
    Run {
        id: 12,
        kind: "scheduled",
        state: "running",
        after: "2025-09-04",
        logical: Some("2025-09-04"),
        ..OLD
    }
    .insert(&mut database);
    database.run(json!({})).expect("a run");
    assert_eq!(runs(&mut database), [12]);
}

/// An operator, an asset or a hand may start a run of a dag long after its schedule has. Where the newest of all runs stays
/// instead of the newest of the schedule, the scheduler makes all its runs since then again.
fn the_scheduler_goes_on_where_it_would_have(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, kind, after, logical, partition) in [
        (3, "scheduled", "2025-09-05", Some("2025-09-01"), None),
        // What was scheduled last need not be the last of the schedule.
        (6, "scheduled", "2025-09-02", Some("2025-09-02"), None),
        (9, "backfill", "2025-09-01", Some("2025-08-31"), None),
        (12, "backfill", "2025-09-09", Some("2025-08-30"), None),
        (15, "operator_triggered", "2025-09-20", None, None),
        (18, "asset_materialization", "2025-09-21", None, None),
        (21, "manual", "2025-09-22", Some("2025-09-22"), None),
        (24, "asset_triggered", "2025-09-03", None, None),
        (27, "asset_triggered", "2025-09-04", None, None),
        (
            30,
            "scheduled",
            "2025-09-10",
            None,
            Some(("p", Some("2025-08-03"))),
        ),
        (
            33,
            "scheduled",
            "2025-09-08",
            None,
            Some(("q", Some("2025-08-04"))),
        ),
        (
            36,
            "scheduled",
            "2025-09-07",
            None,
            Some(("r", Some("2025-08-04"))),
        ),
        (39, "scheduled", "2025-09-06", None, Some(("s", None))),
        (42, "scheduled", "2025-09-05", None, Some(("t", None))),
        (
            45,
            "asset_triggered",
            "2025-09-02",
            None,
            Some(("p", Some("2025-12-01"))),
        ),
    ] {
        Run {
            id,
            kind,
            after,
            logical,
            partition,
            ..OLD
        }
        .insert(&mut database);
    }
    let next = next_of_the_scheduler(&mut database);
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["skipped"], json!({}), "{run}");
    assert_eq!(runs(&mut database), [6, 9, 27, 33, 39]);
    assert_eq!(next_of_the_scheduler(&mut database), next);
}

/// What has expired goes with its run, where that goes, and is counted with both: a preview says so.
fn what_two_rules_would_take_is_told(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, state) in [(3, "success"), (6, "running")] {
        Run { id, state, ..OLD }.insert(&mut database);
        add_beside(&mut database, "a", id, true);
    }
    database.execute("UPDATE task_state_store SET expires_at = '2025-11-01'");
    let states = |document: &Value| -> Vec<(String, i64)> {
        let rules = document["rules"].as_array().expect("rules");
        let rows = rules.iter().map(|rule| {
            let rows = rule["tables"]["task_state_store"].as_i64();
            let name = rule["rule"].as_str().expect("a name").to_owned();
            (name, rows.unwrap_or_default())
        });
        rows.filter(|(_, rows)| *rows > 0).collect()
    };
    let both = [("dag_runs".to_owned(), 1), ("task_state".to_owned(), 2)];
    let preview = database.preview(json!({})).expect("a preview");
    let dry = database.run(json!({"dry_run": true})).expect("a dry run");
    assert_eq!(states(&preview), both, "{preview}");
    assert_eq!(states(&dry), both, "{dry}");
    let several = &preview["counted_by_several"];
    assert_eq!(
        several["task_state_store"],
        json!(["dag_runs", "task_state"])
    );
    assert_eq!(several["dag_run"], Value::Null, "one rule takes these");
    let previewed = |it: &Value| report::preview(&answers::read("preview", it).expect("a preview"));
    let told = |it: &Value| report::run(&answers::read("run", it).expect("a run"));
    let said = "\na row that several rules would take goes once, and is counted by each of them: task_state_store (dag_runs, task_state)\n";
    for text in [previewed(&preview), told(&dry)] {
        assert!(text.contains(said), "{text}");
    }
    // One rule by itself counts nothing twice.
    let alone = database.preview(json!({"rule": "task_state"}));
    let alone = alone.expect("a preview");
    assert_eq!(states(&alone), both[1..], "{alone}");
    assert_eq!(alone["counted_by_several"], json!({}));
    assert!(!previewed(&alone).contains("several"));
    // Each goes once.
    let run = database.run(json!({})).expect("a run");
    assert_eq!(states(&run), both.map(|(rule, _)| (rule, 1)), "{run}");
    assert!(!told(&run).contains("several"));
    let left = database.number("SELECT count(*) FROM task_state_store");
    assert_eq!(left, 0);
}

/// `airflow db clean` never purges a row whose recency column is NULL.
fn a_run_without_an_end_goes_by_its_last_change(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, changed) in [(3, Some("2025-10-02")), (6, None), (9, Some("2037-01-01"))] {
        Run {
            id,
            changed,
            ended: None,
            ..OLD
        }
        .insert(&mut database);
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(
        run["rules"][0]["skipped"],
        json!({"UNDATED_MEMBER": 1}),
        "{run}"
    );
    assert_eq!(
        run["rules"][0]["skipped_samples"]["UNDATED_MEMBER"],
        json!(["6"]),
        "{run}"
    );
    assert_eq!(runs(&mut database), [6, 9]);
}

/// A table that an extension has brought, and that no spec knows.
fn extension(database: &mut Installation) {
    database.execute("CREATE TABLE invoice (id integer PRIMARY KEY, dag_run_id integer, FOREIGN KEY (dag_run_id) REFERENCES dag_run (id))");
    for id in 1..=5 {
        Run { id: id * 3, ..OLD }.insert(database);
        add_task(database, id, "a", id * 3, "t", -1, "success");
    }
    database.execute("INSERT INTO invoice VALUES (1, 9)");
}

/// The first foreign key that refuses ends a run of `airflow db clean`, later tables are left, and it exits with 0.
fn a_table_that_refuses_keeps_its_family_and_no_other(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    extension(&mut database);
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(run["rules"][0]["skipped"], json!({"FAILED": 1}), "{run}");
    assert_eq!(run["rules"][0]["families"], 4, "{run}");
    assert_eq!(runs(&mut database), [9]);
    assert_eq!(
        database.number("SELECT count(*) FROM task_instance"),
        1,
        "the family is whole"
    );
}

/// Once the spec knows it, the family is passed over with its reason.
fn a_table_that_is_known_to_refuse_is_a_reason(dialect: Dialect) {
    let text = SPEC.replace(
        "[rules.dag_runs]",
        "invoice = { parents = [\"dag_run_id -> dag_run.id restrict\"] }\n\n[rules.dag_runs]",
    );
    let graph = graph_of(&text);
    let schema = format!(
        "{}CREATE TABLE invoice (id integer PRIMARY KEY, dag_run_id integer, FOREIGN KEY (dag_run_id) REFERENCES dag_run (id));\n",
        scripts(dialect).schema
    );
    let mut database = Installation::of(dialect, &schema, &graph);
    database.arm();
    prepare(&mut database, &["a"]);
    set_policies(&mut database, &BTreeMap::from([("a".to_owned(), 30)]));
    for id in [3, 6] {
        Run { id, ..OLD }.insert(&mut database);
        add_task(&mut database, id, "a", id, "t", -1, "success");
    }
    database.execute("INSERT INTO invoice VALUES (1, 3)");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(
        run["rules"][0]["skipped"],
        json!({"REFERENCED": 1}),
        "{run}"
    );
    assert_eq!(runs(&mut database), [3]);
    database.execute("DELETE FROM invoice");
    database.run(json!({})).expect("a run");
    assert!(runs(&mut database).is_empty());
}

/// `airflow db clean` deletes triggers by their age, and with them, by a cascade, the tasks that wait for them.
fn triggers_and_deferred_tasks_stay(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    let trigger = if dialect == Dialect::Postgres {
        "trigger"
    } else {
        "`trigger`"
    };
    database.execute(&format!("INSERT INTO {trigger} (id, classpath, kwargs, created_date) VALUES (1, 'c', '{{}}', '2025-10-01'), (2, 'c', '{{}}', '2025-10-01')"));
    for (id, state) in [(3, "running"), (6, "success")] {
        Run { id, state, ..OLD }.insert(&mut database);
        add_task(&mut database, id, "a", id, "t", -1, "deferred");
        let run = text(&run_name(id));
        database.execute(&format!(
            "UPDATE task_instance SET trigger_id = {} WHERE run_id = {run}",
            id / 3
        ));
    }
    database.run(json!({})).expect("a run");
    assert_eq!(runs(&mut database), [3]);
    assert_eq!(database.number("SELECT count(*) FROM task_instance"), 1);
    assert_eq!(
        database.number(&format!("SELECT count(*) FROM {trigger}")),
        2
    );
}

/// `airflow db clean` copies rows, commits, and deletes what it has copied, whatever became of it meanwhile.
fn a_run_that_is_cleared_meanwhile_stays(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for id in [3, 6] {
        Run { id, ..OLD }.insert(&mut database);
        add_task(&mut database, id, "a", id, "t", -1, "success");
    }
    let mut rival = database.connect();
    for statement in ["BEGIN", "UPDATE dag_run SET state = 'queued' WHERE id = 3"] {
        rival.execute(statement).expect("a statement");
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["skipped"], json!({"LOCKED": 1}), "{run}");
    assert_eq!(runs(&mut database), [3]);
    rival.execute("COMMIT").expect("a commit");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["rows"], 0, "{run}");
    assert_eq!(database.number("SELECT count(*) FROM task_instance"), 1);
}

/// A family that could not go is a failure that the shell sees.
fn a_failed_family_is_an_exit_code() {
    let mut database = small(Dialect::Postgres, &graph());
    extension(&mut database);
    let run = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(["run", "specs/airflow-3.toml", "--url"])
        .arg(crate::support::database::server().url(&database.name, "postgres"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("windrow runs");
    assert_eq!(run.status.code(), Some(1), "{run:?}");
}
