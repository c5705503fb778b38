//! Dag runs of Airflow: windrow beside the statements of `airflow db clean`.

use std::time::Instant;

use anyhow::{Result, ensure};
use postgres::Client;
use serde_json::{Value, json};
use windrow::demo::FAMILIES_SETTING;

use crate::data;
use crate::observe::watched;
use crate::plan::{PAIRS, ROUNDS};
use crate::report::Report;
use crate::system::{INSTALLED, STOCK, System, digest, timed};

const HISTORY_33: &str = include_str!("../../specs/systems/airflow/postgres/history-3.3.sql");
const SCHEMA_33: &str = include_str!("../../specs/systems/airflow/postgres/schema-3.3.sql");

/// The longest transaction of the unbatched statements beside windrow's, and rows per CPU second beside theirs.
const LONGEST_BAR: f64 = 20.0;
const CPU_BAR: f64 = 1.0;

/// The tables in whose rows both must agree.
const TABLES: [&str; 15] = [
    "backfill_dag_run",
    "dag_run",
    "dag_run_note",
    "dagrun_asset_event",
    "deadline",
    "hitl_detail",
    "hitl_detail_history",
    "rendered_task_instance_fields",
    "task_instance",
    "task_instance_history",
    "task_instance_note",
    "task_map",
    "task_reschedule",
    "task_state_store",
    "xcom",
];

/// What `db clean` takes of these, in its order, each by a column of its own.
const CLEANED: [(&str, &str); 7] = [
    ("dag_run", "start_date"),
    ("deadline", "deadline_time"),
    ("task_instance", "start_date"),
    ("task_instance_history", "start_date"),
    ("task_reschedule", "start_date"),
    ("task_state_store", "expires_at"),
    ("xcom", "timestamp"),
];

/// Rows in a transaction of its batches.
const BATCH: i64 = 10_000;

/// `db clean` judges by other columns: it takes runs that still run, leaves those without a start, and takes the tasks of a
/// last run that it keeps. No foreign key leads it to partitions. Without all these, both take the same rows.
const WITHOUT_DIFFERENCES: &str = "
DELETE FROM partitioned_asset_key_log;
DELETE FROM asset_partition_dag_run;
DELETE FROM dag_run
WHERE state NOT IN ('success', 'failed')
   OR start_date IS NULL
   OR end_date IS NULL
   OR dag_id = 'legacy_export'
   OR (start_date < now() - interval '91 days' + interval '1 hour' AND end_date > now() - interval '91 days' - interval '1 hour');";

fn fill(client: &mut Client) -> Result<()> {
    client.batch_execute(SCHEMA_33)?;
    client.batch_execute(&format!("SET {FAMILIES_SETTING} = {}", data::families()?))?;
    client.batch_execute(HISTORY_33)?;
    // These foreign keys have no index, without which what follows would take minutes.
    client.batch_execute(
        "CREATE INDEX one ON deadline (dagrun_id);
         CREATE INDEX other ON backfill_dag_run (dag_run_id)",
    )?;
    client.batch_execute(WITHOUT_DIFFERENCES)?;
    client.batch_execute("DROP INDEX one, other")?;
    Ok(())
}

/// What one way took: CPU and wall seconds, and the longest transaction in milliseconds.
#[derive(Default)]
struct Way {
    times: Vec<(f64, f64)>,
    longest: Vec<f64>,
}

/// What `db clean` does with a table: count, copy to an archive table, delete what was copied; with a limit, again until
/// nothing is left. Answers the milliseconds of the longest transaction.
fn clean(
    client: &mut Client,
    (table, recency): (&str, &str),
    cutoff: &str,
    limit: Option<i64>,
) -> Result<f64> {
    let limit = limit.map_or(String::new(), |rows| format!("LIMIT {rows}"));
    let (join, last) = if table == "dag_run" {
        (
            "LEFT OUTER JOIN (
                 SELECT dag_id, max(start_date) AS start_date FROM dag_run WHERE run_type <> 'manual' GROUP BY dag_id
             ) AS latest ON base.dag_id = latest.dag_id AND base.start_date = latest.start_date",
            "AND latest.start_date IS NULL",
        )
    } else {
        ("", "")
    };
    let rows = format!(
        "SELECT base.* FROM {table} AS base {join} WHERE base.{recency} < '{cutoff}' {last} {limit}"
    );
    let key: Vec<String> = client
        .query_one(
            "SELECT array_agg(a.attname::text)
             FROM pg_index AS i
             JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
             WHERE i.indrelid = $1::text::regclass AND i.indisprimary",
            &[&table],
        )?
        .get(0);
    let mut longest: f64 = 0.0;
    for batch in 1.. {
        let count = format!("SELECT count(*) FROM ({rows}) AS found");
        if client.query_one(&count, &[])?.get::<_, i64>(0) == 0 {
            break;
        }
        let archive = format!("_airflow_deleted__{table}__{batch}");
        let same: Vec<String> = key
            .iter()
            .map(|column| format!("{table}.{column} = {archive}.{column}"))
            .collect();
        for statement in [
            format!("CREATE TABLE {archive} AS {rows}"),
            format!(
                "DELETE FROM {table} USING {archive} WHERE {}",
                same.join(" AND ")
            ),
        ] {
            let began = Instant::now();
            client.batch_execute(&statement)?;
            longest = longest.max(began.elapsed().as_secs_f64() * 1e3);
        }
        if limit.is_empty() {
            break;
        }
    }
    Ok(longest)
}

/// `db clean` on a copy of that database: what it took, and what it left.
fn peer(
    system: &mut System,
    of: &str,
    limit: Option<i64>,
    cutoff: &str,
    way: &mut Way,
) -> Result<Vec<i64>> {
    let mut client = system.fresh(of)?;
    let (times, longest) = timed(&mut client, |client| {
        let mut longest: f64 = 0.0;
        for table in CLEANED {
            longest = longest.max(clean(client, table, cutoff, limit)?);
        }
        Ok(longest)
    })?;
    way.times.push(times);
    way.longest.push(longest);
    digest(&mut client, &TABLES)
}

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let mut system = System::open("airflow-3", fill)?;
    let cutoff: String = system
        .fresh(STOCK)?
        .query_one(
            "SELECT ($1::text::timestamptz - interval '91 days')::text",
            &[&system.as_of],
        )?
        .get(0);
    let mut ours = Way::default();
    let mut theirs = [Way::default(), Way::default(), Way::default()];
    let (mut rows, mut batches) = (0, 0);
    for round in 0..PAIRS {
        drop(system.fresh(INSTALLED)?);
        let mut worker = system.operator()?;
        let mut reader = system.session()?;
        reader.batch_execute(&format!(
            "SELECT {}.set_policy(jsonb_build_object('rule', 'dag_runs', 'scope', dag_id, 'retention', '90d')) FROM dag",
            system.control
        ))?;
        let call = format!(
            "CALL {}.run('{}')",
            system.control,
            json!({"rule": "dag_runs", "run_families": 1_000_000_000, "time_budget": "1h", "as_of": system.as_of})
        );
        let progress = format!(
            "SELECT deleted_rows, batches, extract(epoch FROM updated_at)::double precision FROM {}.run_rule",
            system.control
        );
        let mut answer = Value::Null;
        let run = watched(&mut worker, &mut reader, &progress, |client| {
            answer = client.query_one(&call, &[])?.get(0);
            Ok(())
        })?;
        ensure!(answer["status"] == "done", "the run ended with {answer}");
        (rows, batches) = (run.rows, run.batches);
        ours.times.push((run.cpu, run.wall));
        ours.longest.push(run.longest);
        let left = digest(&mut reader, &TABLES)?;
        drop((worker, reader));

        let ways = [(STOCK, None), (STOCK, Some(BATCH)), (INSTALLED, None)];
        let of_round = if round < ROUNDS { ways.len() } else { 1 };
        for (at, (of, limit)) in ways.into_iter().take(of_round).enumerate() {
            let expected = peer(&mut system, of, limit, &cutoff, &mut theirs[at])?;
            ensure!(
                left == expected,
                "windrow left {left:?}, `db clean` {expected:?}"
            );
        }
    }
    report.variant("dag runs: windrow", rows, &ours.times);
    report.batches(batches, &ours.longest);
    let cpu = |way: &Way| way.times.iter().map(|time| time.0).collect::<Vec<_>>();
    for (way, (name, longest, rate)) in theirs.iter().zip([
        ("`airflow db clean`", Some(LONGEST_BAR), Some(CPU_BAR)),
        ("`airflow db clean` in batches of 10,000", None, None),
        ("`airflow db clean` with windrow's indexes", None, None),
    ]) {
        report.variant(&format!("dag runs: {name}"), rows, &way.times);
        report.longest(name, &ours.longest, &way.longest, longest);
        report.ratio(name, &cpu(&ours), &cpu(way), rate);
    }
    Ok(())
}
