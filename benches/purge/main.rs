//! What a purge costs beside the limit of the engine: `cargo bench --bench purge`.
//!
//! Every run works on a fresh copy of the same history in a durable sandbox, after a checkpoint; variants take turns.
//! CPU seconds are those of the one backend that does the work, so a busy machine disturbs the wall time only.
//! `WINDROW_BENCH_FAMILIES` sets the size (`WINDROW_BENCH_SIZES` those of the part scale, `WINDROW_BENCH_ROWS` that of single and partitions), `WINDROW_BENCH_ONLY` what is measured:
//! a list of servers (postgres, mysql, mariadb) and of parts (limit, outbox, workers, flat, live, generate,
//! guard, catalog, camunda, airflow, single, idle, crowd, partitions, scale, and earlier: beside the state that `benches/earlier-state` names).
//! Exits with 1 when a bar is missed.

#![allow(clippy::print_stdout)] // A report is what this program is for.

mod airflow;
mod camunda;
mod crowd;
mod data;
mod earlier;
mod guard;
mod idle;
mod innodb;
mod installer;
mod observe;
mod partitions;
mod plan;
mod report;
mod scale;
mod single;
mod system;
mod windows;

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::thread::{self, sleep};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use postgres::{Client, Statement};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;
use windrow::sandbox::mysql::Flavour;

use data::{Lab, RUN};
use installer::{Installer, SPEC};
use observe::{Run, backend, cpu_seconds, on_time, watched};
use plan::{CATALOG, CATALOG_BAR, FLAT_BAR, LOOKS, PACED, Plan, QUIET, ROUNDS, SERVERS, live_bar};
use report::{LIVE_RANKS, Report, Workers, median, percentile};

/// Rows per CPU second beside the limit of the engine.
const SPEED_BAR: f64 = 0.85;

/// Another database for a run at the same time.
const BESIDE: &str = "beside";

/// How long the naive loop may take.
const NAIVE_SECONDS: u64 = 60;

fn main() -> Result<ExitCode> {
    // `cargo test --all-targets` starts this program too, without this argument.
    if !env::args().any(|argument| argument == "--bench") {
        println!("nothing to do: start it with `cargo bench --bench purge`");
        return Ok(ExitCode::SUCCESS);
    }
    let plan = Plan::from_environment();
    let mut missed = false;
    let mut tables = Vec::new();
    let mut scales = Vec::new();
    for server in SERVERS.into_iter().filter(|server| plan.has(server)) {
        let started = Instant::now();
        let report = match server {
            "mysql" => innodb::measure(Flavour::Mysql, &plan)?,
            "mariadb" => innodb::measure(Flavour::Mariadb, &plan)?,
            _ => measure(&plan)?,
        };
        missed |= report.missed();
        tables.push(report.markdown(started.elapsed()));
        // Three sizes take minutes; MySQL's and MariaDB's engine is the same.
        if plan.wants("scale") && server != "mysql" {
            let started = Instant::now();
            let mut report = Report::titled(&format!("{server}: histories of three sizes"));
            let points = match server {
                "mariadb" => scale::measure(&mut report, |families| {
                    innodb::scale_lab(Flavour::Mariadb, families)
                })?,
                _ => scale::measure(&mut report, scale::postgres)?,
            };
            tables.push(report.markdown(started.elapsed()));
            scales.push((server, points));
        }
    }
    if !scales.is_empty() {
        draw("docs/scale.svg", &report::scale_plot(&scales))?;
    }
    println!("{}", tables.join("\n\n"));
    Ok(ExitCode::from(u8::from(missed)))
}

/// Everything that the plan wants on PostgreSQL.
fn measure(plan: &Plan) -> Result<Report> {
    let families = data::families()?;
    // Some parts make data of their own.
    let own = [
        "limit", "outbox", "workers", "flat", "live", "pace", "guard", "catalog",
    ];
    if !own.into_iter().any(|part| plan.wants(part)) {
        let mut report = Report::titled("PostgreSQL");
        others(plan, &mut report)?;
        return Ok(report);
    }
    let mut lab = Lab::open(families)?;
    let mut report = Report::new("PostgreSQL", families, lab.rows);
    let mut plain = Vec::new();
    if plan.wants("limit") {
        plain = against_the_limit(&mut lab, false, &mut report)?;
    }
    if plan.wants("outbox") {
        against_the_limit(&mut lab, true, &mut report)?;
    }
    if plan.wants("workers") {
        workers(&mut lab, &mut report)?;
    }
    if plan.wants("flat") {
        flatness(&mut lab, plain, &mut report)?;
    }
    if plan.wants("live") {
        live_load(&mut lab, &mut report)?;
    }
    if plan.wants("pace") {
        pace(&mut lab, &mut report)?;
    }
    if plan.wants("guard") {
        guard::measure(&mut lab, &mut report)?;
    }
    if plan.wants("catalog") {
        catalog(&mut lab, &mut report)?;
    }
    others(plan, &mut report)?;
    Ok(report)
}

/// The parts that make data of their own, or need none.
fn others(plan: &Plan, report: &mut Report) -> Result<()> {
    if plan.wants("earlier") {
        let families = data::families()?;
        let mut this = Lab::open(families)?;
        let mut other = Lab::open_by(&Installer::earlier()?, families)?;
        earlier::measure([&mut this, &mut other], report, |lab| {
            lab.fresh(false)?;
            let mut reader = lab.connect()?;
            let run = windrow_run(lab, &mut reader)?;
            let left = lab.digest(&mut reader)?;
            Ok((run, left))
        })?;
    }
    if plan.wants("generate") {
        generate(report)?;
    }
    if plan.wants("camunda") {
        camunda::measure(report)?;
    }
    if plan.wants("airflow") {
        airflow::measure(report)?;
    }
    if plan.wants("single") {
        single::measure(report)?;
    }
    if plan.wants("idle") || plan.wants("crowd") {
        let server = data::server()?;
        let cpu = |session: i64| u32::try_from(session).map_or(0.0, cpu_seconds);
        let url = |database: &str| server.url(database, "postgres");
        if plan.wants("idle") {
            idle::measure(Dialect::Postgres, url, cpu, report)?;
        }
        if plan.wants("crowd") {
            crowd::measure(Dialect::Postgres, url, cpu, report)?;
        }
    }
    if plan.wants("partitions") {
        let server = data::server()?;
        let url = |database: &str| server.url(database, "postgres");
        partitions::measure(
            Dialect::Postgres,
            &url,
            |session, work| {
                let pid = u32::try_from(session)?;
                let before = cpu_seconds(pid);
                work()?;
                Ok(cpu_seconds(pid) - before)
            },
            report,
        )?;
        partitions::live_load(Dialect::Postgres, &url, report)?;
    }
    Ok(())
}

/// `CALL run` on a fresh copy, in a session of its own.
fn windrow_run(lab: &Lab, reader: &mut Client) -> Result<Run> {
    let options = json!({"run_families": 1_000_000_000, "time_budget": "1h", "as_of": lab.as_of});
    let call = format!("CALL {}.run('{options}')", lab.control);
    let progress = format!(
        "SELECT deleted_rows, batches, extract(epoch FROM updated_at)::double precision FROM {}.run_rule",
        lab.control
    );
    let mut answer = Value::Null;
    let run = watched(&mut lab.operator()?, reader, &progress, |client| {
        answer = client.query_one(&call, &[])?.get(0);
        Ok(())
    })?;
    ensure!(answer["status"] == "done", "the run ended with {answer}");
    Ok(run)
}

/// A run, two workers of the same spec, and two runs in databases of their own take turns; the workers must leave the same rows.
fn workers(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let of_two = data::statements_of(
        &Graph {
            workers: 2,
            ..data::graph()?
        },
        Dialect::Postgres,
    )?;
    let (mut times, mut shares) = (Workers::default(), Vec::new());
    let mut rows = 0;
    for _ in 0..ROUNDS {
        lab.fresh(false)?;
        let mut reader = lab.connect()?;
        let run = windrow_run(lab, &mut reader)?;
        rows = run.rows;
        times.one.push((run.cpu, run.wall));
        let expected = lab.digest(&mut reader)?;

        lab.fresh(false)?;
        data::install(&mut lab.connect()?, &of_two.1)?;
        let (cost, answers) = at_once(lab, [(RUN, Some(1)), (RUN, Some(2))])?;
        times.two.push(cost);
        let share = |answer: &Value| answer["rules"][0]["families"].as_f64().unwrap_or_default();
        shares.push(share(&answers[1]) / answers.iter().map(share).sum::<f64>());
        let left = lab.digest(&mut lab.connect()?)?;
        ensure!(
            left == expected,
            "two workers left {left:?}, one {expected:?}"
        );

        for database in [BESIDE, RUN] {
            lab.fresh_as(database, false)?;
        }
        let (cost, _) = at_once(lab, [(RUN, None), (BESIDE, None)])?;
        times.apart.push(cost);
    }
    report.workers("", rows, &times);
    report.range("share of the second worker", &shares, 2);
    let server = data::server()?;
    windows::measure(
        Dialect::Postgres,
        |database| server.url(database, "postgres"),
        |sessions, work| {
            let cpu = || -> f64 {
                let pids = sessions.iter().filter_map(|id| u32::try_from(*id).ok());
                pids.map(cpu_seconds).sum()
            };
            let (before, began) = (cpu(), Instant::now());
            work()?;
            Ok((cpu() - before, began.elapsed().as_secs_f64()))
        },
        report,
    )
}

/// Two runs at once, each in its database, and of a worker where there are several: CPU and wall seconds, and what they answer.
fn at_once(lab: &Lab, runs: [(&str, Option<u32>); 2]) -> Result<((f64, f64), Vec<Value>)> {
    let mut clients = [lab.operator_of(runs[0].0)?, lab.operator_of(runs[1].0)?];
    let mut pids = [0; 2];
    for (pid, client) in pids.iter_mut().zip(&mut clients) {
        *pid = backend(client)?;
    }
    let cpu = || pids.iter().map(|pid| cpu_seconds(*pid)).sum::<f64>();
    let (before, began) = (cpu(), Instant::now());
    let answers = thread::scope(|scope| -> Result<Vec<Value>> {
        let started: Vec<_> = clients
            .iter_mut()
            .zip(&runs)
            .map(|(client, (_, worker))| {
                let mut options =
                    json!({"run_families": 1_000_000_000, "time_budget": "1h", "as_of": lab.as_of});
                if let Some(worker) = worker {
                    options["worker"] = json!(worker);
                }
                let call = format!("CALL {}.run('{options}')", lab.control);
                scope.spawn(move || -> Result<Value> { Ok(client.query_one(&call, &[])?.get(0)) })
            })
            .collect();
        let ended = started.into_iter();
        ended
            .map(|run| {
                let answer = run.join().expect("the run does not panic")?;
                ensure!(answer["status"] == "done", "a run ended with {answer}");
                Ok(answer)
            })
            .collect()
    })?;
    Ok(((cpu() - before, began.elapsed().as_secs_f64()), answers))
}

/// What each batch takes for its table locks and its two looks at the catalog, beside all that it does.
fn catalog(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let mut shares = Vec::new();
    for _ in 0..ROUNDS {
        lab.fresh(false)?;
        let mut reader = lab.connect()?;
        let run = windrow_run(lab, &mut reader)?;
        let control = &lab.control;
        let looks = format!(
            "DO $$ BEGIN FOR i IN 1..{LOOKS} LOOP PERFORM {control}.take_tables(0, 'workflow_instances'); PERFORM {control}.look_again(0); PERFORM {control}.look_again(0); END LOOP; END $$"
        );
        let mut worker = lab.connect()?;
        let pid = backend(&mut worker)?;
        let before = cpu_seconds(pid);
        worker.batch_execute(&looks)?;
        let look = (cpu_seconds(pid) - before) / f64::from(LOOKS);
        shares.push(look / (run.cpu / run.batches as f64));
    }
    report.share(CATALOG, &shares, CATALOG_BAR);
    Ok(())
}

/// Windrow and one unbatched DELETE per table take turns; both must leave the same rows.
fn against_the_limit(lab: &mut Lab, outbox: bool, report: &mut Report) -> Result<Vec<Run>> {
    let mut ours = Vec::new();
    let mut limits = Vec::new();
    for _ in 0..ROUNDS {
        lab.fresh(outbox)?;
        let mut reader = lab.connect()?;
        ours.push(windrow_run(lab, &mut reader)?);
        let left = lab.digest(&mut reader)?;

        lab.fresh(outbox)?;
        let mut worker = lab.connect()?;
        let pid = backend(&mut worker)?;
        let script = data::unbatched(lab, outbox);
        let (cpu, began) = (cpu_seconds(pid), Instant::now());
        worker.batch_execute(&script)?;
        limits.push((cpu_seconds(pid) - cpu, began.elapsed().as_secs_f64()));
        let expected = lab.digest(&mut worker)?;
        ensure!(
            left == expected,
            "windrow left {left:?}, the limit {expected:?}"
        );
    }
    let with = if outbox { ", files recorded" } else { "" };
    let limit = format!("one DELETE per table, one transaction{with}");
    let times: Vec<_> = ours.iter().map(|run| (run.cpu, run.wall)).collect();
    report.variant(&format!("windrow{with}"), ours[0].rows, &times);
    report.variant(&limit, ours[0].rows, &limits);
    let cpu = |times: &[(f64, f64)]| times.iter().map(|time| time.0).collect::<Vec<_>>();
    report.ratio(&limit, &cpu(&times), &cpu(&limits), Some(SPEED_BAR));
    if !outbox {
        report.batches(
            ours[0].batches,
            &ours.iter().map(|run| run.longest).collect::<Vec<_>>(),
        );
    }
    Ok(ours)
}

/// Cost per row over a run: plain, under an old snapshot, and that of the loop that everybody writes first.
fn flatness(lab: &mut Lab, mut plain: Vec<Run>, report: &mut Report) -> Result<()> {
    let mut held = Vec::new();
    for round in 0..ROUNDS {
        if plain.len() <= round {
            lab.fresh(false)?;
            let mut reader = lab.connect()?;
            plain.push(windrow_run(lab, &mut reader)?);
        }
        lab.fresh(false)?;
        let mut reader = lab.connect()?;
        let _snapshot = lab.old_snapshot()?;
        held.push(windrow_run(lab, &mut reader)?);
    }
    lab.fresh(false)?;
    let (mut worker, mut reader) = (lab.connect()?, lab.connect()?);
    worker.batch_execute(data::NAIVE_SETUP)?;
    let _snapshot = lab.old_snapshot()?;
    let script = data::naive(lab, NAIVE_SECONDS);
    let naive = watched(&mut worker, &mut reader, data::NAIVE_PROGRESS, |client| {
        Ok(client.batch_execute(&script)?)
    })?;

    let steepness = |runs: &[Run]| runs.iter().map(Run::steepness).collect::<Vec<_>>();
    report.flat("plain", &steepness(&plain), FLAT_BAR);
    report.flat("with an old snapshot open", &steepness(&held), FLAT_BAR);
    report.naive(&naive.deciles(1), naive.rows, naive.wall);
    let middle = |runs: &[Run]| {
        let all: Vec<[f64; 10]> = runs.iter().map(|run| run.deciles(1)).collect();
        std::array::from_fn(|decile| median(&all.iter().map(|run| run[decile]).collect::<Vec<_>>()))
    };
    draw(
        "target/bench/purge.svg",
        &report::plot(&[
            ("windrow", middle(&plain)),
            ("windrow, old snapshot open", middle(&held)),
            ("loop without a cursor, old snapshot open", naive.deciles(1)),
        ]),
    )
}

/// Writes a picture below the folder of the project.
fn draw(path: &str, svg: &str) -> Result<()> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::create_dir_all(path.parent().context("the plot needs a folder")?)?;
    fs::write(&path, svg)?;
    println!("wrote {}", path.display());
    Ok(())
}

/// Latencies of small transactions, without a purge and during one.
fn live_load(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let (mut quiet, mut busy, mut longest) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        lab.fresh(true)?;
        quiet.extend(on_time(writers(lab)?, || sleep(QUIET))?);
        let mut reader = lab.connect()?;
        let mut purge = Ok(());
        busy.extend(on_time(writers(lab)?, || {
            purge = windrow_run(lab, &mut reader).map(|run| longest.push(run.longest));
        })?);
        purge?;
    }
    report.live(
        LIVE_RANKS.map(|rank| percentile(&mut quiet, rank)),
        LIVE_RANKS.map(|rank| percentile(&mut busy, rank)),
        &longest,
        busy.len(),
        live_bar(Dialect::Postgres),
    );
    Ok(())
}

/// Latencies of small transactions, without a purge and during scheduled runs with the pace that they have by default.
fn pace(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let (mut quiet, mut paced, mut rows) = (Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        lab.fresh(true)?;
        plan::settle()?;
        let mut session = lab.connect()?;
        let call = plan::scheduled(&lab.control, &lab.as_of);
        quiet.extend(on_time(writers(lab)?, || sleep(PACED / 2))?);
        let mut run = Ok(Value::Null);
        paced.extend(on_time(writers(lab)?, || {
            run = session.query_one(&call, &[]).map(|row| row.get(0));
        })?);
        rows += plan::deleted(&run?)?;
        quiet.extend(on_time(writers(lab)?, || sleep(PACED / 2))?);
    }
    report.paced(&mut quiet, &mut paced, rows);
    Ok(())
}

/// Two sessions that each do what an instance with two tasks does.
fn writers(lab: &Lab) -> Result<Vec<impl FnMut() -> Result<()> + Send>> {
    (0..2)
        .map(|_| {
            let mut session = lab.connect()?;
            let statements = data::LIVE
                .iter()
                .map(|sql| session.prepare(sql))
                .collect::<Result<Vec<Statement>, _>>()?;
            Ok(move || {
                let mut transaction = session.transaction()?;
                let id: i32 = transaction.query_one(&statements[0], &[])?.get(0);
                for statement in &statements[1..] {
                    transaction.execute(statement, &[&id])?;
                }
                Ok(transaction.commit()?)
            })
        })
        .collect()
}

/// How long the SQL takes to make, and how much memory the program needs for it.
fn generate(report: &mut Report) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        render::bundle(&data::graph()?, Dialect::Postgres)?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let folder = tempfile::tempdir()?;
    let mut process = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(["generate", "--out"])
        .arg(folder.path())
        .arg(SPEC)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut peak = None;
    while process.try_wait()?.is_none() {
        let path = format!("/proc/{}/status", process.id());
        peak = scale::kilobytes(&path, "VmHWM:").or(peak);
    }
    let worked = process.wait()?.success() && fs::read_dir(folder.path())?.next().is_some();
    report.generate(&times, peak.filter(|_| worked));
    Ok(())
}
