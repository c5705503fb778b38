//! Prefect on its real schema: finished runs go with their sub-flows and all that is theirs, and nothing else does.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use windrow::dialect::Dialect;

use crate::acting::all_findings;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};
use crate::support::systems::dolphinscheduler as settings;
use crate::support::systems::prefect::{HISTORY, SCHEMA};

tests! {
    on_postgres: [
        a_history_is_cleaned_from_end_to_end,
    ],
}

const SPEC: &str = include_str!("../../specs/prefect-3.toml");

/// Each table with the query of its rows: what tells them apart, the flow run and the task run that they belong to.
const TABLES: [(&str, &str); 8] = [
    (
        "artifact",
        "SELECT id, flow_run_id, task_run_id FROM artifact",
    ),
    (
        "flow_run_input",
        "SELECT id, flow_run_id, NULL FROM flow_run_input",
    ),
    (
        "flow_run_state",
        "SELECT id, flow_run_id, NULL FROM flow_run_state",
    ),
    ("log", "SELECT id, flow_run_id, task_run_id FROM log"),
    (
        "task_run_state",
        "SELECT id, NULL, task_run_id FROM task_run_state",
    ),
    (
        "task_run_state_cache",
        "SELECT c.id, NULL, s.task_run_id FROM task_run_state_cache AS c LEFT JOIN task_run_state AS s ON s.id = c.task_run_state_id",
    ),
    ("task_run", "SELECT id, flow_run_id, id FROM task_run"),
    ("flow_run", "SELECT id, id, NULL FROM flow_run"),
];

type Cells = Vec<Vec<Option<String>>>;

/// A flow run, its flow, and how many seconds ago it ended, if it is final.
type Member = (String, Option<String>, Option<i64>);

fn rows(database: &mut Installation, query: &str) -> Cells {
    let mut rows = database.rows(&format!("SELECT to_jsonb(r)::text FROM ({query}) AS r"));
    rows.sort();
    rows
}

fn cells(database: &mut Installation, query: &str) -> Cells {
    let texts = rows(database, &format!("SELECT * FROM ({query}) AS q(a, b, c)"));
    let read = |row: Vec<Option<String>>| {
        let row: serde_json::Value =
            serde_json::from_str(row[0].as_ref().expect("a row")).expect("a document");
        ["a", "b", "c"]
            .map(|name| row[name].as_str().map(str::to_owned))
            .to_vec()
    };
    let mut cells: Cells = texts.into_iter().map(read).collect();
    cells.sort();
    cells
}

/// The flow runs that go: every run of their family is final, ended before the cutoff of the flow of its root, and none has an
/// artifact that is the latest of its key.
fn due(database: &mut Installation, policies: &BTreeMap<String, i64>) -> BTreeSet<String> {
    let over = "SELECT f.id, t.flow_run_id, NULL FROM flow_run AS f LEFT JOIN task_run AS t ON t.id = f.parent_task_run_id";
    let above: BTreeMap<String, Option<String>> = cells(database, over)
        .into_iter()
        .map(|row| (row[0].clone().expect("a key"), row[1].clone()))
        .collect();
    let ended = "SELECT id, flow_id::text, CASE WHEN state_type IN ('COMPLETED', 'FAILED', 'CANCELLED', 'CRASHED')
        THEN extract(epoch FROM timestamptz '2026-06-01 12:00Z' - end_time)::bigint::text END FROM flow_run";
    let shown = "SELECT a.flow_run_id, NULL, NULL FROM artifact AS a JOIN artifact_collection AS c ON c.latest_id = a.id";
    let shown: BTreeSet<Option<String>> = cells(database, shown)
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    let mut families: BTreeMap<String, Vec<Member>> = BTreeMap::new();
    for row in cells(database, ended) {
        let run = row[0].clone().expect("a key");
        let mut root = run.clone();
        while let Some(Some(upper)) = above.get(&root) {
            root.clone_from(upper);
        }
        let age = row[2].as_ref().map(|age| age.parse().expect("seconds"));
        families
            .entry(root)
            .or_default()
            .push((run, row[1].clone(), age));
    }
    let goes = |root: &String, family: &[Member]| {
        let flow = family
            .iter()
            .find(|(run, ..)| run == root)
            .and_then(|(_, flow, _)| flow.clone());
        let days = flow.and_then(|flow| policies.get(&flow).copied());
        days.is_some_and(|days| {
            family.iter().all(|(run, _, age)| {
                age.is_some_and(|age| age > (days + 1) * 86_400)
                    && !shown.contains(&Some(run.clone()))
            })
        })
    };
    let due = families.iter().filter(|(root, family)| goes(root, family));
    due.flat_map(|(_, family)| family.iter().map(|(run, ..)| run.clone()))
        .collect()
}

/// An armed installation with a history, and the days that each flow has a policy for.
fn loaded() -> (Installation, BTreeMap<String, i64>) {
    let mut database = Installation::of(Dialect::Postgres, SCHEMA, &graph_of(SPEC));
    let found = all_findings(&database, Dialect::Postgres, SPEC);
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, [""; 0]);
    let mut loader = database.connect();
    let sizes = format!(
        "SET {} = 1000; SET {} = '2026-06-01 12:00:00'",
        settings::FAMILIES_SETTING,
        settings::NOW_SETTING
    );
    loader.execute(&sizes).expect("settings");
    loader.execute(HISTORY).expect("the history loads");
    database.arm();
    let flows = database.texts("SELECT id::text FROM flow ORDER BY name");
    let policies: BTreeMap<String, i64> = flows
        .into_iter()
        .skip(1)
        .zip((1..).map(|at| 15 * at))
        .collect();
    for (flow, days) in &policies {
        let policy = json!({ "scope": flow, "retention": format!("{days}d") });
        database.set_policy(policy).expect("a policy");
    }
    (database, policies)
}

fn a_history_is_cleaned_from_end_to_end() {
    let (mut database, policies) = loaded();
    let due = due(&mut database, &policies);
    assert!(due.len() > 300, "{}", due.len());
    let tasks = cells(&mut database, "SELECT id, flow_run_id, NULL FROM task_run");
    let gone = |run: &Option<String>| run.as_ref().is_some_and(|run| due.contains(run));
    let gone_tasks: BTreeSet<Option<String>> = tasks
        .into_iter()
        .filter(|task| gone(&task[1]))
        .map(|task| task[0].clone())
        .collect();
    let before: Vec<Cells> = TABLES
        .iter()
        .map(|(_, query)| cells(&mut database, query))
        .collect();
    let kept = ["flow", "artifact_collection"].map(|table| format!("SELECT * FROM {table}"));
    let whole = kept.clone().map(|query| rows(&mut database, &query));

    let options = json!({ "as_of": "2026-06-01T12:00:00Z" });
    let preview = database.preview(options.clone()).expect("a preview");
    let run = database.run(options).expect("a run");
    let rule = &run["rules"][0];
    assert_eq!(rule["tables"], preview["rules"][0]["tables"], "{run}");
    for reason in [
        "NON_FINAL_MEMBER",
        "RETENTION_NOT_REACHED",
        "REFERENCED",
        "UNDATED_MEMBER",
    ] {
        assert!(
            rule["skipped"][reason].as_i64() > Some(0),
            "{reason}: {run}"
        );
    }
    for ((table, query), before) in TABLES.iter().zip(before) {
        let goes = |row: &Vec<Option<String>>| {
            gone(&row[1]) || row[2].is_some() && gone_tasks.contains(&row[2])
        };
        let expected: Cells = before.into_iter().filter(|row| !goes(row)).collect();
        let left = cells(&mut database, query);
        assert!(
            left == expected,
            "{table}: {} rows left, {} expected",
            left.len(),
            expected.len()
        );
    }
    assert_eq!(kept.map(|query| rows(&mut database, &query)), whole);
    let verify = database.call("verify", json!({})).expect("a verification");
    assert_eq!(violations(&verify), Vec::<&serde_json::Value>::new());
}
