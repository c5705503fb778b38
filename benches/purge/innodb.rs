//! The measurements on MySQL and MariaDB: windrow beside what deletes the same rows there otherwise.
//!
//! CPU seconds are those of the whole server, until what was deleted is also cleared away, and of the client program
//! where there is one; windrow, the unbatched DELETE and the loop take one call. Where CPU seconds are compared, the
//! server runs on one core: what is cleared away beside the deletions slows them down on a neighbouring core, and what
//! is cleared away after them does not, though it is the same work.

use std::rc::Rc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use windrow::graph::Graph;
use windrow::sandbox::Mysql;
use windrow::sandbox::mysql::{Flavour, Settings};

use crate::data;
use crate::installer::Installer;
use crate::observe::on_time;
use crate::plan::{
    self, CATALOG, CATALOG_BAR, FLAT_BAR, LOOKS, PACED, Plan, QUIET, ROUNDS, live_bar,
};
use crate::report::{LIVE_RANKS, Report, Workers, percentile};
use crate::{crowd, earlier, guard, idle, partitions, scale, windows};

mod lab;
mod single;
mod ways;

use lab::{BESIDE, Cost, HOME, Lab, at_rest, dialect_of, install, on_one_core, settings};

/// Families of the history: a row costs ten times what it does on PostgreSQL, and so many tell the same as three times as many.
const FAMILIES: u32 = 14_000;

/// Families of a small batch, to see what the size of a transaction does to others.
const SMALL_BATCH: usize = 100;

/// Rounds of windrow and the unbatched DELETE: their ratio is near its bar, and a busy host moves single rounds a lot.
const PAIRS: usize = 7;

/// Rows per CPU second beside one unbatched DELETE per table, and beside both modes of pt-archiver.
const LIMIT_BAR: f64 = 0.9;
const BULK_BAR: f64 = 1.0;
const ROW_BAR: f64 = 2.5;

/// Everything that the plan wants on one of the servers.
pub(crate) fn measure(flavour: Flavour, plan: &Plan) -> Result<Report> {
    let families = data::families_or(FAMILIES)?;
    let own = [
        "limit",
        "statements",
        "workers",
        "flat",
        "live",
        "pace",
        "guard",
        "catalog",
        "single",
    ];
    if !own.into_iter().any(|part| plan.wants(part)) {
        let mut report = Report::titled(flavour.title());
        others(flavour, plan, families, &mut report)?;
        return Ok(report);
    }
    let mut lab = Lab::open(flavour, families)?;
    let mut report = Report::new(flavour.title(), families, lab.rows);
    if plan.wants("limit") {
        side_by_side(&mut lab, &mut report)?;
    }
    if plan.wants("statements") && flavour == Flavour::Mysql {
        statements_alone(&mut lab, &mut report)?;
    }
    if plan.wants("workers") {
        workers(flavour, families, &mut report)?;
    }
    if plan.wants("flat") {
        flatness(&mut lab, &mut report)?;
    }
    if plan.wants("live") {
        live_load(&mut lab, &mut report)?;
    }
    if plan.wants("pace") {
        pace(&mut lab, &mut report)?;
    }
    if plan.wants("guard") {
        orphan_guard(&mut lab, &mut report)?;
    }
    if plan.wants("catalog") {
        catalog(&mut lab, &mut report)?;
    }
    if plan.wants("single") {
        single::measure(&mut lab, &mut report)?;
    }
    drop(lab);
    others(flavour, plan, families, &mut report)?;
    Ok(report)
}

/// The parts that have servers of their own.
fn others(flavour: Flavour, plan: &Plan, families: u32, report: &mut Report) -> Result<()> {
    if plan.wants("earlier") {
        earlier(flavour, families, report)?;
    }
    if plan.wants("idle") || plan.wants("crowd") {
        let server = Mysql::start(&Settings {
            durable: true,
            ..Settings::new(flavour)
        })?;
        let url = |database: &str| server.url(database, "root");
        let cpu = |_| server.cpu_seconds();
        if plan.wants("idle") {
            idle::measure(dialect_of(flavour), url, cpu, report)?;
        }
        if plan.wants("crowd") {
            crowd::measure(dialect_of(flavour), url, cpu, report)?;
        }
    }
    if plan.wants("partitions") {
        let server = Mysql::start(&settings(flavour))?;
        let url = |database: &str| server.url(database, "root");
        let cpu = |_, work: &mut dyn FnMut() -> Result<()>| {
            let mut session = windrow::db::connect_as_application(&url("mysql").parse()?)?;
            at_rest(&mut session)?;
            on_one_core(&server)?;
            let before = server.cpu_seconds();
            work()?;
            at_rest(&mut session)?;
            Ok(server.cpu_seconds() - before)
        };
        partitions::measure(dialect_of(flavour), &url, cpu, report)?;
        // On all cores again.
        let server = Mysql::start(&settings(flavour))?;
        let url = |database: &str| server.url(database, "root");
        partitions::live_load(dialect_of(flavour), &url, report)?;
    }
    Ok(())
}

/// This state and an earlier one, each with a server of its own.
fn earlier(flavour: Flavour, families: u32, report: &mut Report) -> Result<()> {
    let mut this = Lab::open(flavour, families)?;
    let mut other = Lab::open_by(&Installer::earlier()?, flavour, families)?;
    earlier::measure([&mut this, &mut other], report, |lab| {
        lab.fresh_on_one_core()?;
        let run = lab.windrow()?;
        Ok((run, lab.digest()?))
    })
}

/// What each batch takes for its two looks at the catalog, beside all that it does. A procedure calls them as a run does.
fn catalog(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let mut shares = Vec::new();
    for _ in 0..ROUNDS {
        lab.fresh_on_one_core()?;
        let run = lab.windrow()?;
        let mut session = lab.connect()?;
        let control = &lab.control;
        session.execute("DROP PROCEDURE IF EXISTS bench.looks")?;
        session.execute(&format!(
            "CREATE PROCEDURE bench.looks() BEGIN
                 DECLARE v_left integer DEFAULT {LOOKS};
                 DECLARE v_changed boolean;
                 WHILE v_left > 0 DO
                     CALL {control}.take_tables('workflow_instances');
                     CALL {control}.look_again(0, false, v_changed);
                     CALL {control}.look_again(0, true, v_changed);
                     SET v_left = v_left - 1;
                 END WHILE;
             END"
        ))?;
        at_rest(&mut session)?;
        let before = lab.server.cpu_seconds();
        session.execute("CALL bench.looks()")?;
        let look = (lab.server.cpu_seconds() - before) / f64::from(LOOKS);
        shares.push(look / (run.cpu / run.batches as f64));
    }
    report.share(CATALOG, &shares, CATALOG_BAR);
    Ok(())
}

/// A fresh copy of a history of so many families, for one run.
pub(crate) fn scale_lab(flavour: Flavour, families: u32) -> Result<scale::Lab> {
    let mut lab = Lab::open(flavour, families)?;
    lab.fresh()?;
    let server = Rc::new(lab.server);
    let clock = Rc::clone(&server);
    Ok(scale::Lab {
        url: server.url("dolphinscheduler", "root"),
        as_of: format!("{}Z", lab.as_of.replace(' ', "T")),
        progress: format!(
            "SELECT deleted_rows, batches, UNIX_TIMESTAMP(updated_at) FROM {}.run_rule",
            lab.control
        ),
        pid: server.pid(),
        cpu: Box::new(move || clock.cpu_seconds()),
        server: Box::new(server),
    })
}

/// All ways to delete the same rows take turns, and must leave the same.
fn side_by_side(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let mut costs: [(&str, Vec<Cost>); 5] = [
        ("windrow", Vec::new()),
        ("one DELETE per table, one transaction", Vec::new()),
        ("loop of DELETE … LIMIT, table by table", Vec::new()),
        ("pt-archiver, in bulk", Vec::new()),
        ("pt-archiver, row by row", Vec::new()),
    ];
    let mut runs = Vec::new();
    for round in 0..PAIRS {
        let mut left = None;
        // Row by row takes as long as all others together, and is far from its bar.
        let ways = match round {
            0 => costs.len(),
            _ if round < ROUNDS => costs.len() - 1,
            _ => 2,
        };
        for (name, costs) in &mut costs[..ways] {
            let (cost, run) = lab.costs(|lab| match *name {
                "windrow" => lab.windrow().map(Some),
                "one DELETE per table, one transaction" => lab.unbatched().map(|()| None),
                "loop of DELETE … LIMIT, table by table" => lab.naive().map(|_| None),
                "pt-archiver, in bulk" => lab.archiver(&["--bulk-delete"]).map(|()| None),
                _ => lab.archiver(&[]).map(|()| None),
            })?;
            costs.push(cost);
            runs.extend(run);
            let digest = lab.digest()?;
            let expected = left.get_or_insert_with(|| digest.clone());
            ensure!(
                *expected == digest,
                "windrow left {expected:?}, {name} {digest:?}"
            );
        }
    }
    let rows = runs[0].rows;
    for (name, costs) in &costs {
        let times: Vec<_> = costs.iter().map(|cost| (cost.cpu, cost.wall)).collect();
        report.variant(name, rows, &times);
    }
    for (name, costs) in &costs[3..] {
        let client: Vec<f64> = costs.iter().map(|cost| cost.client / cost.cpu).collect();
        report.range(&format!("{name}: the client's part of the CPU"), &client, 2);
    }
    let cpu = |index: usize| {
        costs[index]
            .1
            .iter()
            .map(|cost| cost.cpu)
            .collect::<Vec<_>>()
    };
    for (index, bar) in [
        (1, Some(LIMIT_BAR)),
        (2, None),
        (3, Some(BULK_BAR)),
        (4, Some(ROW_BAR)),
    ] {
        report.ratio(costs[index].0, &cpu(0), &cpu(index), bar);
    }
    for (name, costs) in &costs {
        let bytes: Vec<f64> = costs.iter().map(|cost| cost.binlog / rows as f64).collect();
        report.range(&format!("{name}: bytes of binary log per row"), &bytes, 0);
    }
    report.batches(
        runs[0].batches,
        &runs.iter().map(|run| run.longest).collect::<Vec<_>>(),
    );
    let whole: Vec<f64> = costs[1].1.iter().map(|cost| cost.wall * 1e3).collect();
    report.range("the unbatched transaction, ms", &whole, 0);
    Ok(())
}

/// A run, two workers of the same spec, and two runs in databases of their own take turns, on all cores; the workers must leave the same
/// rows.
fn workers(flavour: Flavour, families: u32, report: &mut Report) -> Result<()> {
    let graph = Graph {
        workers: 2,
        ..data::graph()?
    };
    let mut lab = Lab::open_beside(flavour, families)?;
    let (_, of_two) = data::statements_of(&graph, lab.dialect)?;
    let mut times = Workers::default();
    let mut rows = 0;
    for _ in 0..ROUNDS {
        lab.fresh()?;
        let (cost, run) = lab.costs_here(Lab::windrow)?;
        rows = run.rows;
        times.one.push((cost.cpu, cost.wall));
        let expected = lab.digest()?;

        lab.fresh()?;
        let mut session = lab.connect()?;
        install(&mut session, &of_two)?;
        at_rest(&mut session)?;
        let (cost, ()) = lab.costs_here(|lab| lab.at_once([(HOME, 1), (HOME, 2)]))?;
        times.two.push((cost.cpu, cost.wall));
        let left = lab.digest()?;
        ensure!(
            left == expected,
            "two workers left {left:?}, one {expected:?}"
        );

        lab.fresh()?;
        let (cost, ()) = lab.costs_here(|lab| lab.at_once([(HOME, 1), (BESIDE, 1)]))?;
        times.apart.push((cost.cpu, cost.wall));
    }
    report.workers("", rows, &times);
    lab.fresh()?;
    windows::measure(
        lab.dialect,
        |database| lab.server.url(database, "root"),
        |_, work| {
            let (cost, ()) = lab.costs_here(|_| work())?;
            Ok((cost.cpu, cost.wall))
        },
        report,
    )
}

/// What an inserted row costs plain, with the triggers of `orphan_guard` and with a foreign key, in turns.
fn orphan_guard(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let triggers = guard::triggers(lab.dialect)?;
    for (table, insert, key) in guard::CHILDREN {
        let mut times = guard::Times::default();
        for _ in 0..ROUNDS {
            for (variant, times) in times.iter_mut().enumerate() {
                lab.fresh_on_one_core()?;
                let mut session = lab.connect()?;
                match variant {
                    0 => (),
                    1 => install(&mut session, &triggers)?,
                    // Rows that hang on nothing stay as they are.
                    _ => session.execute(&format!(
                        "SET foreign_key_checks = 0; ALTER TABLE {table} {key}; SET foreign_key_checks = 1"
                    ))?,
                }
                let keys = session.query(&guard::parents(table), &[])?;
                ensure!(!keys.is_empty(), "no parents");
                at_rest(&mut session)?;
                session.execute("START TRANSACTION")?;
                let (cpu, began) = (lab.server.cpu_seconds(), Instant::now());
                for row in keys.iter().cycle().take(guard::ROWS) {
                    session.query(insert, &[row[0].as_deref()])?;
                }
                session.execute("COMMIT")?;
                times.push((
                    lab.server.cpu_seconds() - cpu,
                    began.elapsed().as_secs_f64(),
                ));
            }
        }
        guard::tell(report, table, &times);
    }
    Ok(())
}

/// How much of the CPU is in the deletions themselves. Only MySQL tells.
fn statements_alone(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let (mut ratios, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let windrow = lab.in_deletes(Lab::windrow)?;
        let unbatched = lab.in_deletes(Lab::unbatched)?;
        ratios.push(unbatched.0 / windrow.0);
        ours.push(windrow.1 - windrow.0);
        theirs.push(unbatched.1 - unbatched.0);
    }
    report.range(
        "windrow / one DELETE per table, DELETE statements alone, by CPU of the session",
        &ratios,
        2,
    );
    report.range(
        "windrow: CPU seconds to choose, judge and lock families and to keep the ledger",
        &ours,
        2,
    );
    report.range(
        "one DELETE per table: CPU seconds to find the families",
        &theirs,
        2,
    );
    Ok(())
}

/// Cost per row over a run, without and with an old snapshot that keeps every deleted row.
fn flatness(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let (mut plain, mut held) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        lab.fresh_on_one_core()?;
        plain.push(lab.windrow()?.steepness());
        lab.fresh_on_one_core()?;
        let _snapshot = lab.old_snapshot()?;
        held.push(lab.windrow()?.steepness());
    }
    lab.fresh_on_one_core()?;
    let _snapshot = lab.old_snapshot()?;
    let naive = lab.naive()?;
    report.flat("plain", &plain, FLAT_BAR);
    report.flat("with an old snapshot open", &held, FLAT_BAR);
    report.naive(&naive.deciles(1), naive.rows, naive.wall);
    Ok(())
}

/// Latencies of small transactions, without a purge and during one; and beside what else keeps two cores busy: threads
/// that only compute, and the unbatched DELETE.
fn live_load(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let (mut quiet, mut busy) = (Vec::new(), Vec::new());
    let (mut longest, mut smallest) = (Vec::new(), Vec::new());
    let (mut small, mut computing, mut unbatched) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        lab.fresh()?;
        quiet.extend(on_time(writers(lab)?, || sleep(QUIET))?);
        computing.extend(on_time(writers(lab)?, || compute(QUIET))?);
        let mut run = Err(anyhow!("the purge did not start"));
        busy.extend(on_time(writers(lab)?, || run = lab.windrow())?);
        longest.push(run?.longest);
        lab.fresh()?;
        lab.connect()?.query(
            &format!(
                "CALL {}.set_setting('{{\"name\": \"batch_families\", \"value\": {SMALL_BATCH}}}')",
                lab.control
            ),
            &[],
        )?;
        let mut run = Err(anyhow!("the purge did not start"));
        small.extend(on_time(writers(lab)?, || run = lab.windrow())?);
        smallest.push(run?.longest);
        lab.fresh()?;
        let mut done = Ok(());
        unbatched.extend(on_time(writers(lab)?, || done = lab.unbatched())?);
        done?;
    }
    report.live(
        LIVE_RANKS.map(|rank| percentile(&mut quiet, rank)),
        LIVE_RANKS.map(|rank| percentile(&mut busy, rank)),
        &longest,
        busy.len(),
        live_bar(lab.dialect),
    );
    let batches = format!("during a purge with {SMALL_BATCH} families a batch");
    for (what, latencies) in [
        (batches.as_str(), &mut small),
        ("beside two threads that only compute", &mut computing),
        ("during the unbatched DELETE", &mut unbatched),
    ] {
        report.beside(
            what,
            LIVE_RANKS.map(|rank| percentile(latencies, rank)),
            latencies.len(),
        );
    }
    report.range(
        &format!("longest batch transaction with {SMALL_BATCH} families beside this load, ms"),
        &smallest,
        0,
    );
    Ok(())
}

/// Latencies of small transactions, without a purge and during scheduled runs with the pace that they have by default.
fn pace(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let (mut quiet, mut paced, mut rows) = (Vec::new(), Vec::new(), 0);
    let call = plan::scheduled(&lab.control, &format!("{}Z", lab.as_of.replace(' ', "T")));
    for _ in 0..ROUNDS {
        lab.fresh()?;
        plan::settle()?;
        let mut session = lab.connect()?;
        quiet.extend(on_time(writers(lab)?, || sleep(PACED / 2))?);
        let mut run = Ok(Vec::new());
        paced.extend(on_time(writers(lab)?, || run = session.query(&call, &[]))?);
        let run = run?;
        let answer = run[0][0].as_deref().context("no answer")?;
        rows += plan::deleted(&serde_json::from_str(answer)?)?;
        quiet.extend(on_time(writers(lab)?, || sleep(PACED / 2))?);
    }
    report.paced(&mut quiet, &mut paced, rows);
    Ok(())
}

/// Keeps two cores busy with nothing that a server could be asked for: as busy as a purge and the clearing away behind it.
fn compute(duration: Duration) {
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while began.elapsed() < duration {
                    std::hint::spin_loop();
                }
            });
        }
    });
}

/// Two sessions that each do what an instance with two tasks does.
fn writers(lab: &Lab) -> Result<Vec<impl FnMut() -> Result<()> + Send>> {
    const TASK: &str = "('live', 'SHELL', 1, 1, @id, 1, UTC_TIMESTAMP(), 'worker-0.internal:1234', '/opt/dolphinscheduler/logs/live.log')";
    let statements = [
        "START TRANSACTION".to_owned(),
        "INSERT INTO t_ds_workflow_instance (name, workflow_definition_code, workflow_definition_version, project_code, state, start_time, is_sub_workflow, executor_id)
         VALUES ('live', 1, 1, 8104250113728, 1, UTC_TIMESTAMP(), 0, 1)".to_owned(),
        "SET @id = LAST_INSERT_ID()".to_owned(),
        format!(
            "INSERT INTO t_ds_task_instance (name, task_type, task_code, task_definition_version, workflow_instance_id, state, submit_time, host, log_path)
             VALUES {TASK}, {TASK}"
        ),
        "UPDATE t_ds_workflow_instance SET state = 7, end_time = UTC_TIMESTAMP() WHERE id = @id".to_owned(),
        "DO (SELECT state FROM t_ds_workflow_instance WHERE id = @id)".to_owned(),
        "COMMIT".to_owned(),
    ];
    (0..2)
        .map(|_| {
            let mut session = lab.connect()?;
            // What the driver is not told of may be left out.
            session.execute("SET SESSION sql_mode = ''")?;
            let statements = statements.clone();
            Ok(move || {
                statements
                    .iter()
                    .try_for_each(|statement| session.execute(statement))
            })
        })
        .collect()
}
