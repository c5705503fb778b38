//! Removal times: windrow beside the statements of Camunda's engine, and beside one DELETE per table.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use postgres::Client;
use serde_json::{Value, json};
use windrow::bundle::Statement;
use windrow::demo::camunda7::{HISTORY_724, SCHEMA_724};
use windrow::demo::dolphinscheduler::FAMILIES_SETTING;
use windrow::dialect::Dialect;
use windrow::sandbox::Postgres;
use windrow::{graph, render, spec};

use crate::report::Report;
use crate::{ROUNDS, backend, connect, cpu_seconds, data};

const SPEC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/camunda7.toml");

/// Rows per CPU second beside the statements of the engine, and beside the limit.
const ENGINE_BAR: f64 = 10.0;
const LIMIT_BAR: f64 = 0.95;

/// The tables in the order of the engine's clean-up.
const TABLES: [&str; 18] = [
    "act_hi_actinst",
    "act_hi_taskinst",
    "act_hi_varinst",
    "act_hi_detail",
    "act_hi_incident",
    "act_hi_ext_task_log",
    "act_hi_job_log",
    "act_hi_op_log",
    "act_hi_identitylink",
    "act_hi_comment",
    "act_hi_attachment",
    "act_ge_bytearray",
    "act_ru_authorization",
    "act_hi_procinst",
    "act_hi_dec_in",
    "act_hi_dec_out",
    "act_hi_decinst",
    "act_hi_batch",
];

/// The others know neither families that run nor byte arrays that something refers to.
const WITHOUT_WHAT_STAYS: &str = "
DELETE FROM act_ru_variable;
DELETE FROM act_ru_job;
CREATE TEMPORARY TABLE staying AS
SELECT id_ FROM act_hi_procinst
WHERE id_ = root_proc_inst_id_ AND removal_time_ < now() AT TIME ZONE 'UTC' AND (end_time_ IS NULL OR end_time_ > now() AT TIME ZONE 'UTC' - interval '2 days');";

/// A durable server with the history in a database that every run copies.
struct Lab {
    server: Postgres,
    admin: Client,
    control: String,
    as_of: String,
}

impl Lab {
    fn open() -> Result<Self> {
        let server = data::server()?;
        let mut admin = connect(&server.url("postgres", "postgres"))?;
        admin.batch_execute("CREATE DATABASE history")?;
        let mut client = connect(&server.url("history", "postgres"))?;
        client.batch_execute(SCHEMA_724)?;
        client.batch_execute(&format!("SET {FAMILIES_SETTING} = {}", data::families()?))?;
        client.batch_execute(HISTORY_724)?;
        client.batch_execute(WITHOUT_WHAT_STAYS)?;
        for table in TABLES.iter().filter(|table| **table != "act_hi_batch") {
            client.batch_execute(&format!(
                "UPDATE {table} SET removal_time_ = NULL WHERE root_proc_inst_id_ IN (SELECT id_ FROM staying)"
            ))?;
        }
        let (control, statements) = statements()?;
        data::install(&mut client, &statements)?;
        client.batch_execute("CREATE EXTENSION pg_prewarm")?;
        client.batch_execute("VACUUM (FULL, ANALYZE)")?;
        client.batch_execute("VACUUM (FREEZE, ANALYZE)")?;
        let as_of = client
            .query_one("SELECT clock_timestamp()::text", &[])?
            .get(0);
        Ok(Self {
            server,
            admin,
            control,
            as_of,
        })
    }

    fn fresh(&mut self) -> Result<Client> {
        self.admin
            .batch_execute("DROP DATABASE IF EXISTS run WITH (FORCE)")?;
        self.admin
            .batch_execute("CREATE DATABASE run TEMPLATE history")?;
        let mut client = connect(&self.server.url("run", "postgres"))?;
        client.batch_execute(&format!("CALL {}.arm()", self.control))?;
        client.batch_execute(
            "SELECT pg_prewarm(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i');
             CHECKPOINT",
        )?;
        connect(&self.server.url("run", "postgres"))
    }

    /// The instant before which rows are due, in the engine's own clock.
    fn cutoff(&self) -> String {
        format!(
            "('{}'::timestamptz AT TIME ZONE 'UTC' - interval '1 hour')",
            self.as_of
        )
    }
}

fn statements() -> Result<(String, Vec<Statement>)> {
    let text = std::fs::read_to_string(SPEC).context("cannot read the spec")?;
    let spec = spec::parse(&text).0.context("the spec is not TOML")?;
    let bundle = render::bundle(&graph::build(&spec, &text).0, Dialect::Postgres)?;
    let numbered = bundle.files.into_iter().filter(|file| {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        name.starts_with(|first: char| first.is_ascii_digit()) && !name.starts_with("90")
    });
    Ok((
        bundle.control,
        numbered.flat_map(|file| file.statements).collect(),
    ))
}

/// The number of rows in each table.
fn digest(client: &mut Client) -> Result<Vec<i64>> {
    let counts = TABLES.map(|table| format!("(SELECT count(*) FROM {table})"));
    let row = client.query_one(&format!("SELECT ARRAY[{}]", counts.join(", ")), &[])?;
    Ok(row.get(0))
}

/// CPU and wall seconds of some work of a backend, and what it left.
fn timed(
    client: &mut Client,
    work: impl FnOnce(&mut Client) -> Result<()>,
) -> Result<((f64, f64), Vec<i64>)> {
    let pid = backend(client)?;
    let (cpu, began) = (cpu_seconds(pid), Instant::now());
    work(client)?;
    let times = (cpu_seconds(pid) - cpu, began.elapsed().as_secs_f64());
    Ok((times, digest(client)?))
}

/// What the engine does: at most 500 rows of each table in one transaction, again while any table had that many.
fn engine(client: &mut Client, cutoff: &str) -> Result<()> {
    let statements = TABLES
        .iter()
        .map(|table| {
            client.prepare(&format!(
                "DELETE FROM {table} WHERE id_ IN (SELECT id_ FROM {table} WHERE removal_time_ <= {cutoff} LIMIT 500)"
            ))
        })
        .collect::<Result<Vec<_>, _>>()?;
    loop {
        let mut transaction = client.transaction()?;
        let mut full = false;
        for statement in &statements {
            full |= transaction.execute(statement, &[])? == 500;
        }
        transaction.commit()?;
        if !full {
            return Ok(());
        }
    }
}

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let mut lab = Lab::open()?;
    let cutoff = lab.cutoff();
    let (mut ours, mut limits, mut engines) = (Vec::new(), Vec::new(), Vec::new());
    let mut rows = 0;
    for round in 0..ROUNDS {
        let mut client = lab.fresh()?;
        let call = format!(
            "CALL {}.run('{}')",
            lab.control,
            json!({"rule": "history", "time_budget": "1h", "as_of": lab.as_of})
        );
        let mut answer = Value::Null;
        let (times, left) = timed(&mut client, |client| {
            answer = client.query_one(&call, &[])?.get(0);
            Ok(())
        })?;
        ensure!(answer["status"] == "done", "the run ended with {answer}");
        rows = answer["rules"][0]["rows"].as_i64().context("a number")?;
        ours.push(times);

        let mut client = lab.fresh()?;
        let script: String = TABLES
            .iter()
            .map(|table| format!("DELETE FROM {table} WHERE removal_time_ < {cutoff};"))
            .collect();
        let (times, expected) = timed(&mut client, |client| {
            Ok(client.batch_execute(&format!("BEGIN; {script} COMMIT"))?)
        })?;
        ensure!(
            left == expected,
            "windrow left {left:?}, the limit {expected:?}"
        );
        limits.push(times);

        // Once is enough: it takes minutes, and the bar is far away.
        if round == 0 {
            let mut client = lab.fresh()?;
            let (times, expected) = timed(&mut client, |client| engine(client, &cutoff))?;
            ensure!(
                left == expected,
                "windrow left {left:?}, the engine {expected:?}"
            );
            engines.push(times);
        }
    }
    report.variant("removal time: windrow", rows, &ours);
    let limit = "removal time: one DELETE per table, one transaction";
    report.variant(limit, rows, &limits);
    let engine = "removal time: the statements of Camunda's engine";
    report.variant(engine, rows, &engines);
    let cpu = |times: &[(f64, f64)]| times.iter().map(|time| time.0).collect::<Vec<_>>();
    report.ratio(limit, &cpu(&ours), &cpu(&limits), Some(LIMIT_BAR));
    report.ratio(engine, &cpu(&ours), &cpu(&engines), Some(ENGINE_BAR));
    Ok(())
}
