//! MLflow on its real schema: deleted runs and old traces go with all that is theirs, and nothing else does.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use windrow::dialect::Dialect;

use crate::acting::all_findings;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::systems::dolphinscheduler as settings;
use crate::support::systems::mlflow::{self, mysql};

tests! {
    every_server: [
        a_history_is_cleaned_from_end_to_end,
    ],
}

const SPEC: &str = include_str!("../../specs/mlflow-3.toml");

/// 2026-06-01 12:00 UTC, in milliseconds.
const AS_OF: i64 = 1_780_315_200_000;
const DAY: i64 = 86_400_000;

/// Each table with the columns that tell its rows apart, and those that name a run or a trace.
const TABLES: [(&str, &[&str], &[&str]); 15] = [
    ("assessments", &["assessment_id"], &["trace_id"]),
    (
        "entity_associations",
        &["association_id"],
        &["source_id", "destination_id"],
    ),
    ("inputs", &["input_uuid"], &["source_id", "destination_id"]),
    ("latest_metrics", &["key", "run_uuid"], &["run_uuid"]),
    ("logged_model_metrics", &["model_id"], &["run_id"]),
    ("metrics", &["key", "step", "run_uuid"], &["run_uuid"]),
    ("params", &["key", "run_uuid"], &["run_uuid"]),
    ("runs", &["run_uuid"], &["run_uuid"]),
    (
        "span_metrics",
        &["trace_id", "span_id", "key"],
        &["trace_id"],
    ),
    ("spans", &["trace_id", "span_id"], &["trace_id"]),
    ("tags", &["key", "run_uuid"], &["run_uuid"]),
    ("trace_info", &["request_id"], &["request_id"]),
    ("trace_metrics", &["key", "request_id"], &["request_id"]),
    (
        "trace_request_metadata",
        &["key", "request_id"],
        &["request_id"],
    ),
    ("trace_tags", &["key", "request_id"], &["request_id"]),
];

/// What outlives a run or a trace, whole.
const KEPT: [(&str, &[&str]); 4] = [
    ("experiments", &["experiment_id"]),
    ("logged_models", &["model_id", "source_run_id"]),
    ("model_versions", &["name", "version", "run_id"]),
    ("review_queue_items", &["queue_id", "item_id"]),
];

fn rows(database: &mut Installation, table: &str, columns: &[&str]) -> Vec<Vec<Option<String>>> {
    let dialect = database.dialect;
    let columns: Vec<String> = columns.iter().map(|column| dialect.ident(column)).collect();
    let columns: Vec<String> = match dialect {
        Dialect::Postgres => columns.iter().map(|it| format!("{it}::text")).collect(),
        Dialect::Mysql | Dialect::Mariadb => columns,
    };
    let mut rows = database.rows(&format!("SELECT {} FROM {table}", columns.join(", ")));
    rows.sort();
    rows
}

fn number(cell: &Option<String>) -> Option<i64> {
    cell.as_ref().map(|it| it.parse().expect("a number"))
}

/// The deleted runs: those that go, after 30 days and an hour; how many stay because a registered model is theirs; and how many
/// because nobody knows when they were deleted.
fn deleted_runs(database: &mut Installation) -> (BTreeSet<String>, usize, usize) {
    let versions = rows(database, "model_versions", &["run_id"]);
    let models: BTreeSet<Option<String>> = versions.into_iter().map(|row| row[0].clone()).collect();
    let (mut due, mut referenced, mut undated) = (BTreeSet::new(), 0, 0);
    for run in rows(
        database,
        "runs",
        &["run_uuid", "lifecycle_stage", "deleted_time"],
    ) {
        if run[1].as_deref() != Some("deleted") {
            continue;
        }
        match number(&run[2]).filter(|at| *at > 0) {
            None => undated += 1,
            Some(at) if at >= AS_OF - 30 * DAY - DAY / 24 => {}
            Some(_) if models.contains(&run[0]) => referenced += 1,
            Some(_) => due.extend(run[0].clone()),
        }
    }
    (due, referenced, undated)
}

/// The traces that go: ended, older than their experiment's policy and a day, and nobody is to review them.
fn due_traces(database: &mut Installation, policies: &BTreeMap<String, i64>) -> BTreeSet<String> {
    let items = rows(database, "review_queue_items", &["item_id"]);
    let queued: BTreeSet<String> = items.into_iter().filter_map(|row| row[0].clone()).collect();
    let columns = ["request_id", "experiment_id", "status", "timestamp_ms"];
    let due = rows(database, "trace_info", &columns)
        .into_iter()
        .filter(|trace| {
            let days = trace[1]
                .as_ref()
                .and_then(|experiment| policies.get(experiment));
            let began = number(&trace[3]).expect("a time");
            ["OK", "ERROR"].contains(&trace[2].as_deref().unwrap_or_default())
                && days.is_some_and(|days| began < AS_OF - (days + 1) * DAY)
        });
    let due = due.filter_map(|trace| trace[0].clone());
    due.filter(|trace| !queued.contains(trace)).collect()
}

/// An armed installation with a history, and the days that each experiment has a policy for.
fn loaded(dialect: Dialect) -> (Installation, BTreeMap<String, i64>) {
    let (schema, history) = match dialect {
        Dialect::Postgres => (mlflow::SCHEMA, mlflow::HISTORY),
        Dialect::Mysql | Dialect::Mariadb => (mysql::SCHEMA, mysql::HISTORY),
    };
    let mut database = Installation::of(dialect, schema, &graph_of(SPEC));
    let found = all_findings(&database, dialect, SPEC);
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let wanted = |finding: &&String| {
        !(finding.starts_with("warning[event-scheduler]")
            // What foreign keys of MySQL and MariaDB have made.
            || finding.starts_with("notice[index-serves]: `logged_model_metrics.run_id`"))
    };
    assert_eq!(found.iter().filter(wanted).collect::<Vec<_>>(), [""; 0]);

    let mut loader = database.connect();
    let sizes = match dialect {
        Dialect::Postgres => format!(
            "SET {} = 1000; SET {} = '2026-06-01 12:00:00'",
            settings::FAMILIES_SETTING,
            settings::NOW_SETTING
        ),
        Dialect::Mysql | Dialect::Mariadb => format!(
            "SET {} = 1000, {} = '2026-06-01 12:00:00'",
            settings::mysql::FAMILIES_VARIABLE,
            settings::mysql::NOW_VARIABLE
        ),
    };
    loader.execute(&sizes).expect("settings");
    loader.execute(history).expect("the history loads");
    database.arm();
    let policies: BTreeMap<String, i64> = (0..9)
        .map(|experiment: i64| (experiment.to_string(), 20 + 10 * experiment))
        .collect();
    for (experiment, days) in &policies {
        let policy =
            json!({ "rule": "traces", "scope": experiment, "retention": format!("{days}d") });
        database.set_policy(policy).expect("a policy");
    }

    (database, policies)
}

fn a_history_is_cleaned_from_end_to_end(dialect: Dialect) {
    let (mut database, policies) = loaded(dialect);
    let (runs, referenced, undated) = deleted_runs(&mut database);
    let traces = due_traces(&mut database, &policies);
    assert!(
        runs.len() > 200 && referenced > 5 && undated > 5 && traces.len() > 300,
        "{} and {}",
        runs.len(),
        traces.len()
    );
    let before: Vec<_> = TABLES
        .iter()
        .map(|(table, key, names)| {
            (
                *table,
                rows(&mut database, table, &[key, *names].concat()),
                key.len(),
            )
        })
        .collect();
    let kept: Vec<_> = KEPT
        .iter()
        .map(|(table, key)| rows(&mut database, table, key))
        .collect();

    let options = json!({ "as_of": "2026-06-01T12:00:00Z" });
    let preview = database.preview(options.clone()).expect("a preview");
    assert_eq!(preview["rules"][0]["families"], runs.len(), "{preview}");
    assert_eq!(
        preview["rules"][0]["skipped"],
        json!({ "REFERENCED": referenced, "UNDATED_MEMBER": undated }),
        "{preview}"
    );
    assert_eq!(preview["rules"][1]["families"], traces.len(), "{preview}");
    let run = database.run(options).expect("a run");
    assert_eq!(
        run["rules"][0]["tables"], preview["rules"][0]["tables"],
        "{run}"
    );
    // Those of both rules have gone with the runs.
    let shared = "entity_associations";
    let (mut found, mut expected) = (
        run["rules"][1]["tables"].clone(),
        preview["rules"][1]["tables"].clone(),
    );
    for tables in [&mut found, &mut expected] {
        tables.as_object_mut().expect("tables").remove(shared);
    }
    assert_eq!(found, expected, "{run}");

    for ((table, before, key), (_, columns, names)) in before.into_iter().zip(TABLES) {
        let gone = |cell: &Option<String>| {
            cell.as_ref()
                .is_some_and(|name| runs.contains(name) || traces.contains(name))
        };
        let expected: Vec<_> = before
            .into_iter()
            .filter(|row| !row[key..].iter().any(gone))
            .collect();
        let left = rows(&mut database, table, &[columns, names].concat());
        assert!(
            left == expected,
            "{table}: {} rows left, {} expected",
            left.len(),
            expected.len()
        );
    }
    for ((table, key), before) in KEPT.iter().zip(kept) {
        assert_eq!(rows(&mut database, table, key), before, "{table}");
    }
    // No key says so, but a tag goes with its input.
    let inputs = rows(&mut database, "inputs", &["input_uuid"]);
    let datasets: Vec<_> = inputs
        .into_iter()
        .filter(|input| input[0].as_ref().is_some_and(|it| it.starts_with("input-")))
        .collect();
    assert!(datasets.len() > 100, "{} inputs left", datasets.len());
    assert_eq!(rows(&mut database, "input_tags", &["input_uuid"]), datasets);
    // An issue outlives its run, and lets go of it.
    let issues = rows(&mut database, "issues", &["issue_id", "source_run_id"]);
    assert_eq!(issues.len(), 17);
    assert!(
        issues
            .iter()
            .all(|issue| issue[1].as_ref().is_none_or(|run| !runs.contains(run)))
    );
    let verify = database.call("verify", json!({})).expect("a verification");
    assert_eq!(
        crate::support::installation::violations(&verify),
        Vec::<&serde_json::Value>::new()
    );
}
