//! Removal times: windrow beside the statements of Camunda's engine, and beside one DELETE per table.

use anyhow::{Context as _, Result, ensure};
use postgres::Client;
use serde_json::{Value, json};
use windrow::demo::FAMILIES_SETTING;

use crate::data;
use crate::plan::{PAIRS, ROUNDS};
use crate::report::Report;
use crate::system::{INSTALLED, System, digest, timed};

const HISTORY_724: &str = include_str!("../../specs/systems/camunda7/postgres/history-7.24.sql");
const SCHEMA_724: &str = include_str!("../../specs/systems/camunda7/postgres/schema-7.24.sql");

/// Rows per CPU second beside the statements of the engine, and in windows beside the limit.
const ENGINE_BAR: f64 = 7.0;
const LIMIT_BAR: f64 = 0.95;

/// Rows per CPU second of whole families, which is what the spec says, beside windows of time: what it costs that no row goes
/// whose root is there and stays, and that rows without a root go with their instance. 0.33 of 20,000 families, 0.54 of 2,000.
const FAMILY_BAR: f64 = 0.28;

/// The database of a spec with `unit = "window"`.
const WINDOWS: &str = "windows";

/// Families that stay for a hold, and rows per CPU second beside a run that holds none: each row is compared with the list.
const HOLDS: i64 = 1_000;
const HELD_BAR: f64 = 0.6;

/// The same history by end time, which judges each instance and what it has called: rows per CPU second beside whole families by
/// removal time.
const BY_END: &str = "by_end";
const BY_END_BAR: f64 = 0.5;

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

/// Each definition has the time to live of most of its instances' removal times.
const DEFINITIONS: &str = "
INSERT INTO act_re_procdef (id_, key_, version_, history_ttl_)
SELECT DISTINCT proc_def_id_, proc_def_key_, 1, 30 FROM act_hi_procinst";

fn fill(client: &mut Client) -> Result<()> {
    client.batch_execute(SCHEMA_724)?;
    client.batch_execute(&format!("SET {FAMILIES_SETTING} = {}", data::families()?))?;
    client.batch_execute(HISTORY_724)?;
    client.batch_execute(WITHOUT_WHAT_STAYS)?;
    client.batch_execute(DEFINITIONS)?;
    for table in TABLES.iter().filter(|table| **table != "act_hi_batch") {
        client.batch_execute(&format!(
            "UPDATE {table} SET removal_time_ = NULL WHERE root_proc_inst_id_ IN (SELECT id_ FROM staying)"
        ))?;
    }
    Ok(())
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

/// CPU and wall seconds of each round, by the way in which the rows went.
#[derive(Default)]
struct Taken {
    ours: Vec<(f64, f64)>,
    windows: Vec<(f64, f64)>,
    limits: Vec<(f64, f64)>,
    held: Vec<(f64, f64)>,
    engines: Vec<(f64, f64)>,
    by_end: Vec<(f64, f64)>,
    rows: i64,
    batches: i64,
    held_rows: i64,
    by_end_rows: i64,
}

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    let mut system = System::open("camunda7", fill)?;
    system.install(WINDOWS, "camunda7", |text| {
        text.replace("[rules.history]\n", "[rules.history]\nunit = \"window\"\n")
    })?;
    system.install(BY_END, "camunda7-end-time", |text| {
        text.replace("\"camunda7-end-time\"", "\"camunda7\"")
    })?;
    // The instant before which rows are due, in the engine's own clock.
    let cutoff = format!(
        "('{}'::timestamptz AT TIME ZONE 'UTC' - interval '1 hour')",
        system.as_of
    );
    let mut taken = Taken::default();
    let (control, as_of) = (system.control.clone(), system.as_of.clone());
    let run_of = |rule: &str, system: &mut System| -> Result<((f64, f64), Value)> {
        let options = json!({"rule": rule, "time_budget": "1h", "run_families": 1_000_000_000, "as_of": as_of});
        let call = format!("CALL {control}.run('{options}')");
        let (times, answer) = timed(&mut system.operator()?, |client| {
            let answer: Value = client.query_one(&call, &[])?.get(0);
            Ok(answer)
        })?;
        ensure!(answer["status"] == "done", "the run ended with {answer}");
        Ok((times, answer))
    };
    let run = |system: &mut System| run_of("history", system);
    for round in 0..PAIRS {
        let mut client = system.fresh(INSTALLED)?;
        let (times, answer) = run(&mut system)?;
        taken.rows = answer["rules"][0]["rows"].as_i64().context("a number")?;
        taken.batches = answer["rules"][0]["batches"].as_i64().context("a number")?;
        let left = digest(&mut client, &TABLES)?;
        taken.ours.push(times);

        let mut client = system.fresh(WINDOWS)?;
        let (times, _) = run(&mut system)?;
        let same = digest(&mut client, &TABLES)?;
        ensure!(left == same, "families left {left:?}, windows {same:?}");
        taken.windows.push(times);

        let mut client = system.fresh(INSTALLED)?;
        let script: String = TABLES
            .iter()
            .map(|table| format!("DELETE FROM {table} WHERE removal_time_ < {cutoff};"))
            .collect();
        let (times, ()) = timed(&mut client, |client| {
            Ok(client.batch_execute(&format!("BEGIN; {script} COMMIT"))?)
        })?;
        let expected = digest(&mut client, &TABLES)?;
        ensure!(
            left == expected,
            "windrow left {left:?}, the limit {expected:?}"
        );
        taken.limits.push(times);

        if round >= ROUNDS {
            continue;
        }
        let mut client = system.fresh(INSTALLED)?;
        client.batch_execute(&format!(
            "INSERT INTO {}.hold (rule, key, reason)
             SELECT 'history', id_, 'measured' FROM act_hi_procinst WHERE id_ = root_proc_inst_id_ ORDER BY md5(id_) LIMIT {HOLDS}",
            system.control
        ))?;
        let (times, answer) = run(&mut system)?;
        taken.held_rows = answer["rules"][0]["rows"].as_i64().context("a number")?;
        ensure!(taken.held_rows < taken.rows, "nothing was held");
        taken.held.push(times);

        drop(system.fresh(BY_END)?);
        let (times, answer) = run_of("process_instances", &mut system)?;
        taken.by_end_rows = answer["rules"][0]["rows"].as_i64().context("a number")?;
        ensure!(
            taken.by_end_rows > taken.rows / 2,
            "the rules take other rows"
        );
        taken.by_end.push(times);

        // Once is enough: it takes minutes, and the bar is far away.
        if round == 0 {
            let mut client = system.fresh(INSTALLED)?;
            let (times, ()) = timed(&mut client, |client| engine(client, &cutoff))?;
            let expected = digest(&mut client, &TABLES)?;
            ensure!(
                left == expected,
                "windrow left {left:?}, the engine {expected:?}"
            );
            taken.engines.push(times);
        }
    }
    tell(report, &taken);
    Ok(())
}

fn tell(report: &mut Report, taken: &Taken) {
    let Taken {
        ours,
        windows,
        limits,
        held,
        engines,
        by_end,
        batches,
        ..
    } = taken;
    let (rows, held_rows, by_end_rows) = (taken.rows, taken.held_rows, taken.by_end_rows);
    report.variant(
        &format!("removal time: windrow, {batches} batches of whole families"),
        rows,
        ours,
    );
    let in_windows = "removal time: windrow, unit = \"window\"";
    report.variant(in_windows, rows, windows);
    let some_held = format!("removal time: windrow, {HOLDS} families on hold");
    report.variant(&some_held, held_rows, held);
    report.variant("end time: windrow, process instances", by_end_rows, by_end);
    let limit = "removal time: one DELETE per table, one transaction";
    report.variant(limit, rows, limits);
    let engine = "removal time: the statements of Camunda's engine";
    report.variant(engine, rows, engines);
    let cpu = |times: &[(f64, f64)]| times.iter().map(|time| time.0).collect::<Vec<_>>();
    report.ratio(in_windows, &cpu(ours), &cpu(windows), Some(FAMILY_BAR));
    report.ratio(limit, &cpu(ours), &cpu(limits), None);
    report.ratio(
        &format!("{limit}, in windows"),
        &cpu(windows),
        &cpu(limits),
        Some(LIMIT_BAR),
    );
    report.ratio(engine, &cpu(ours), &cpu(engines), Some(ENGINE_BAR));
    // What stays took no time to delete.
    let for_rows = |deleted: i64| -> Vec<f64> {
        let as_many = deleted as f64 / rows as f64;
        cpu(ours).iter().map(|time| time * as_many).collect()
    };
    report.ratio(
        &format!("itself without {HOLDS} families on hold"),
        &cpu(held),
        &for_rows(held_rows),
        Some(HELD_BAR),
    );
    report.ratio(
        "the removal-time rule, by the end-time rule",
        &cpu(by_end),
        &for_rows(by_end_rows),
        Some(BY_END_BAR),
    );
}
