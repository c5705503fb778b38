//! Airflow on its whole schema, all 60 foreign keys included: what goes is what the definitions say, nothing goes uncounted, and
//! what is known to go wrong with `airflow db clean` does not.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;
use windrow::demo::SYSTEMS;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::effort::seeds;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

mod cascades;
mod deadlines;
mod history;
mod model;
mod rows;
mod runs;

use history::{Run, add_beside, add_task, prepare, run_name, text};
use model::{OUTLIVES, TREE, check};

tests! {
    within: [
        cascades::tests,
        deadlines::tests,
        rows::tests,
        runs::tests,
    ],
    postgres_then_mysql: [
        a_real_history_is_cleaned_from_end_to_end,
    ],
    postgres_and_mysql: [
        odd_histories_are_cleaned_as_the_model_says,
        the_spec_fits_the_schema,
    ],
}

const SPEC: &str = include_str!("../../specs/airflow-3.toml");

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

/// The states of callbacks 2 to 7; that of `prepare` is the first.
const CALLBACKS: [&str; 6] = [
    "'failed'",
    "'scheduled'",
    "'pending'",
    "'queued'",
    "'running'",
    "NULL",
];

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

/// What belongs to a run, at random: tries, what stands beside them, a hold.
fn surround(
    database: &mut Installation,
    random: &mut SmallRng,
    (dag, id): (&str, i32),
    number: &mut i32,
    held: &mut BTreeSet<String>,
) {
    for task in ["t", "u"] {
        for map_index in [-1, 0, 1] {
            if random.random_bool(0.4) {
                *number += 1;
                add_task(database, *number, dag, id, task, map_index, "success");
            }
        }
    }
    if random.random_bool(0.5) {
        let missed = random.random_bool(0.8);
        let ended = random.random_bool(0.7);
        // By their places in `CALLBACKS`.
        let callback = if ended { 1..=2 } else { 3..=7 };
        add_beside(database, dag, id, (missed, random.random_range(callback)));
    }
    if random.random_bool(0.1) {
        let hold = json!({"rule": "dag_runs", "key": id.to_string(), "reason": "test"});
        database.set_hold(hold).expect("a hold");
        held.insert(id.to_string());
    }
}

fn odd_histories_are_cleaned_as_the_model_says(dialect: Dialect) {
    let mut database = armed(dialect, &graph());
    let dags = ["plain", "it's", "Ünï — 定義", "no policy"];
    prepare(&mut database, &dags);
    for (state, number) in CALLBACKS.iter().zip(2..) {
        database.execute(&format!("INSERT INTO callback (id, type, fetch_method, data, priority_weight, created_at, state) VALUES ('{number:032}', 'x', 'x', '{{}}', 1, '2025-09-01', {state})"));
    }
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
            surround(&mut database, random, (dag, id), &mut number, &mut held);
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
    for probe in windrow::render::probes(&graph, dialect).expect("the statements") {
        let plan = session.query(&format!("EXPLAIN {}", probe.sql), &[]);
        assert!(plan.is_ok(), "{}: {plan:?}\n{}", probe.what, probe.sql);
    }
}
