//! What a rule of the runs must leave of all tables, as a model over rows in memory.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::history::text;
use crate::support::installation::Installation;

/// The tables of the tree and the columns that say what belongs to what.
pub(super) const TREE: [(&str, &[&str]); 17] = [
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
    ("deadline", &["id", "dagrun_id", "missed", "callback_id"]),
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

/// Whose rows outlive the runs.
pub(super) const OUTLIVES: &str = "backfill_dag_run";

pub(super) const MICROSECONDS_A_DAY: i64 = 86_400_000_000;

/// 2026-01-15 00:00:00 UTC.
pub(super) const NOW: i64 = 1_768_435_200_000_000;

pub(super) type Row = BTreeMap<&'static str, Option<String>>;

/// The tables of the tree, and how many rows each other table has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contents {
    pub(super) tree: BTreeMap<&'static str, BTreeSet<Row>>,
    pub(super) beside: BTreeMap<String, i64>,
    /// The callbacks that have ended.
    pub(super) ended: BTreeSet<String>,
}

pub(super) fn contents(database: &mut Installation) -> Contents {
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
    let ended = database.texts(&format!(
        "SELECT CAST(id AS {text}) FROM callback WHERE state IN ('success', 'failed')"
    ));
    let mut count = |name: String| {
        let rows = database.number(&format!("SELECT count(*) FROM {quote}{name}{quote}"));
        (name, rows)
    };
    Contents {
        ended: ended.into_iter().collect(),
        beside: beside.into_iter().map(&mut count).collect(),
        tree,
    }
}

/// What a run should do, by the definitions.
pub(super) struct Verdict {
    pub(super) left: Contents,
    pub(super) families: usize,
    pub(super) skipped: BTreeMap<&'static str, usize>,
}

pub(super) fn value<'a>(row: &'a Row, name: &str) -> &'a str {
    row[name].as_deref().unwrap_or_default()
}

pub(super) fn instant(row: &Row, name: &str) -> Option<i64> {
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
pub(super) fn next_of_the_scheduler(database: &mut Installation) -> Vec<Vec<Option<String>>> {
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
pub(super) fn model(
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
        .filter(|row| !missed(row) || !before.ended.contains(value(row, "callback_id")))
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
pub(super) fn check(
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
