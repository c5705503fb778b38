//! Everybody at once: two who start runs, a scheduler, a purge by hand, writers of four kinds, and at last an uninstallation.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use serde_json::json;
use windrow::dialect::Dialect;

use super::{is_deadlock, write};
use crate::harness::tests;
use crate::support::effort::first_seed;
use crate::support::history::{Client, History, Server, joined};

tests! {
    every_server: [
        who_works_on_the_same_rows_spoils_nothing_and_waits_for_nobody_long,
    ],
}

/// How long all of them work, at least and at most.
const AT_LEAST: Duration = Duration::from_secs(2);
const AT_MOST: Duration = Duration::from_secs(60);

/// What a writer may wait for at most: the batch that is before him, and the lock for which that one waits. A lock timeout
/// is a tenth of a second, or a second where the server counts in seconds; the rest is for a busy machine. What nobody
/// bounds would be waited for by MySQL and MariaDB for 50 seconds, by PostgreSQL without end.
const LONGEST_WAIT: Duration = Duration::from_secs(6);

/// What one of the sessions did.
#[derive(Default)]
struct Tally {
    done: usize,
    refused: usize,
    /// It was the victim of a deadlock, or waited too long for its own taste.
    gave_way: usize,
    longest: Duration,
}

/// A session that does something again and again until it is told to stop.
fn again(
    history: &History,
    number: u64,
    enough: &Arc<AtomicBool>,
    mut work: impl FnMut(&mut Client, &mut SmallRng, &mut Tally) -> Result<()> + Send + 'static,
) -> Result<JoinHandle<Result<Tally>>> {
    let mut session = history.connect()?;
    let enough = Arc::clone(enough);
    Ok(thread::spawn(move || {
        let mut random = SmallRng::seed_from_u64(first_seed() + number);
        let mut tally = Tally::default();
        while !enough.load(Ordering::Relaxed) {
            match work(&mut session, &mut random, &mut tally) {
                Ok(()) => (),
                Err(error) if is_deadlock(&error) => {
                    tally.gave_way += 1;
                    session.execute("ROLLBACK")?;
                }
                Err(error) => return Err(error),
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(tally)
    }))
}

/// Executes a statement of a writer and notes how long he waited.
fn timed(session: &mut Client, tally: &mut Tally, sql: &str) -> Result<()> {
    let began = Instant::now();
    let answer = session.execute(sql);
    tally.longest = tally.longest.max(began.elapsed());
    answer
}

/// Those who work for the application, on these families before all.
fn writers(
    history: &History,
    due: &[i64],
    enough: &Arc<AtomicBool>,
) -> Result<Vec<JoinHandle<Result<Tally>>>> {
    let mut writers = Vec::new();
    // Re-open, add tasks, sub-workflows and links, and close.
    for number in 0..2 {
        let mut late = i64::try_from(number)? * 1_000_000 + 1_000_000;
        writers.push(again(
            history,
            number,
            enough,
            move |session, random, tally| {
                late += 1;
                let began = Instant::now();
                let answer = write(session, random, late);
                tally.longest = tally.longest.max(began.elapsed());
                tally.done += usize::from(answer?);
                Ok(())
            },
        )?);
    }
    // Hold a lock of a row for a while.
    writers.push(again(history, 2, enough, |session, random, tally| {
        let id: i32 = random.random_range(1..720);
        timed(
            session,
            tally,
            &format!("BEGIN; SELECT id FROM t_ds_workflow_instance WHERE id = {id} FOR UPDATE"),
        )?;
        thread::sleep(Duration::from_millis(20));
        session.execute("COMMIT")?;
        tally.done += 1;
        Ok(())
    })?);
    // The task first, then its instance: the opposite order. It goes where the runs go: to those whose turn is next, not to
    // those that were touched and stay.
    let mut next = due.to_vec();
    let mut visits = HashMap::new();
    writers.push(again(history, 3, enough, move |session, _, tally| {
        if next.is_empty() {
            return Ok(());
        }
        let ids: Vec<String> = next.iter().map(i64::to_string).collect();
        let there = session.texts(&format!(
            "SELECT CONCAT(id) FROM t_ds_workflow_instance WHERE id IN ({}) AND state IN (5, 6, 7) AND id NOT IN (SELECT t.id FROM before_touched AS t)",
            ids.join(", ")
        ))?;
        next.retain(|id| there.contains(&id.to_string()) && visits.get(id) < Some(&2));
        for &id in next.iter().take(8) {
            *visits.entry(id).or_insert(0) += 1;
            timed(
                session,
                tally,
                &format!(
                    "BEGIN; UPDATE t_ds_task_instance SET pid = 1 WHERE workflow_instance_id = {id}"
                ),
            )?;
            thread::sleep(Duration::from_millis(20));
            timed(
                session,
                tally,
                &format!("UPDATE t_ds_workflow_instance SET host = 'rival' WHERE id = {id}"),
            )?;
            session.execute("COMMIT")?;
            tally.done += 1;
        }
        Ok(())
    })?);
    Ok(writers)
}

/// Those who start runs: two by hand, and a scheduler.
fn runners(history: &History, enough: &Arc<AtomicBool>) -> Result<Vec<JoinHandle<Result<Tally>>>> {
    let options = [
        json!({"run_families": 8}),
        json!({"run_families": 8}),
        json!({"run_families": 8, "trigger": "SCHEDULED"}),
    ];
    let mut runners = Vec::new();
    for (number, options) in options.into_iter().enumerate() {
        runners.push(again(
            history,
            number.try_into()?,
            enough,
            move |session, _, tally| {
                let result = session.run(&options)?;
                match result["status"].as_str().unwrap_or_default() {
                    "done" | "stopped" => tally.done += 1,
                    "refused" => {
                        let reason = result["reason"].as_str().unwrap_or_default();
                        let known = reason.contains(" is in progress ")
                            || reason.starts_with("another run is starting")
                            || reason.starts_with("nothing left, ");
                        ensure!(known, "{result}");
                        tally.refused += 1;
                    }
                    _ => bail!("{result}"),
                }
                thread::sleep(Duration::from_millis(15));
                Ok(())
            },
        )?);
    }
    Ok(runners)
}

/// A purge by force does not ask how old a family is.
fn purges(session: &mut Client) -> Result<()> {
    session.execute(session.either(
        "INSERT INTO before_purger VALUES (pg_backend_pid())",
        "INSERT INTO before_purger VALUES (CONNECTION_ID())",
    ))
}

/// Whoever purges by hand, in a session of its own; what stays has a reason.
fn purger(
    history: &History,
    keys: Vec<i64>,
    enough: &Arc<AtomicBool>,
) -> Result<JoinHandle<Result<Tally>>> {
    let mut keys = keys.into_iter();
    again(history, 9, enough, move |session, _, tally| {
        let some: Vec<i64> = keys.by_ref().take(2).collect();
        if some.is_empty() {
            return Ok(());
        }
        purges(session)?;
        let result = session.call("purge", &json!({"key": some, "force": true}))?;
        for reason in result["refused"].as_object().context("an object")?.values() {
            let known = [
                "NOT_A_ROOT",
                "LOCKED",
                "NON_FINAL_MEMBER",
                "UNDATED_MEMBER",
                "SHARED_MEMBER",
            ];
            ensure!(known.iter().any(|known| reason == known), "{result}");
            tally.refused += 1;
        }
        tally.done += 1;
        thread::sleep(Duration::from_millis(20));
        Ok(())
    })
}

fn who_works_on_the_same_rows_spoils_nothing_and_waits_for_nobody_long(
    dialect: Dialect,
) -> Result<()> {
    // Roles of PostgreSQL belong to a whole server.
    let server = Server::start(dialect, 400)?;
    let history = History::create(&server)?;
    let mut client = history.connect()?;
    witness(&mut client)?;
    client.set("batch_families", 4)?;
    client.set("lock_timeout", 100)?;
    // Nobody rests.
    client.set("scheduled_nice", 0)?;
    // Work for as long as they are at it.
    client.slow_down(5)?;
    let due = client.due(200)?;
    let enough = Arc::new(AtomicBool::new(false));
    let live = writers(&history, &due, &enough)?;
    let over = Arc::new(AtomicBool::new(false));
    let runs = runners(&history, &over)?;
    // The runs come from the oldest.
    let by_hand = purger(&history, due.into_iter().rev().take(40).collect(), &over)?;
    let started = Instant::now();
    loop {
        thread::sleep(Duration::from_millis(100));
        let sessions = live.iter().chain(&runs);
        if sessions.into_iter().any(JoinHandle::is_finished) {
            enough.store(true, Ordering::Relaxed);
            over.store(true, Ordering::Relaxed);
            for session in live.into_iter().chain(runs) {
                joined(session)?;
            }
            bail!("somebody gave up");
        }
        let gone = client.number("SELECT COUNT(*) FROM before_deleted")?;
        let retries = client.number("SELECT COALESCE(SUM(retries), 0) FROM W.run_rule")?;
        // InnoDB lets the one give way who wrote the fewest rows: the writer.
        let enough = gone > 40 && (retries > 0 || dialect != Dialect::Postgres);
        if started.elapsed() > AT_LEAST && enough {
            break;
        }
        ensure!(
            started.elapsed() < AT_MOST,
            "{gone} instances went, {retries} retries"
        );
    }
    over.store(true, Ordering::Relaxed);
    let (mut runs_done, mut runs_refused) = (0, 0);
    for runner in runs {
        let tally = joined(runner)?;
        runs_done += tally.done;
        runs_refused += tally.refused;
    }
    ensure!(
        runs_done > 0 && runs_refused > 0,
        "{runs_done} runs, {runs_refused} refused"
    );
    ensure!(joined(by_hand)?.done > 0, "nothing was purged");

    check_ledger(&mut client)?;

    // An uninstallation beside a run and a purge, while the writers go on.
    let last = history.run_aside(json!({}));
    let keys = client.texts(
        "SELECT CONCAT(id) FROM t_ds_workflow_instance WHERE is_sub_workflow = 0 AND state IN (5, 6, 7) ORDER BY id DESC LIMIT 10",
    )?;
    let mut session = history.connect()?;
    purges(&mut session)?;
    let purge = thread::spawn(move || session.call("purge", &json!({"key": keys})));
    history.uninstall()?;
    // They have come to their end or to a schema that is gone.
    let _ = (joined(last), joined(purge));
    thread::sleep(Duration::from_millis(200));
    enough.store(true, Ordering::Relaxed);
    let mut written = 0;
    for writer in live {
        let tally = joined(writer)?;
        ensure!(
            tally.longest < LONGEST_WAIT,
            "a writer waited for {:?}",
            tally.longest
        );
        written += tally.done;
    }
    ensure!(written > 100, "{written} writes");

    check_nothing_spoiled(&mut client)?;
    let torn = client.torn()?;
    ensure!(torn.is_empty(), "torn apart: {torn:?}");

    // It can be installed again, and finishes.
    history.install()?;
    client.execute("CALL W.arm()")?;
    let result = client.run(&json!({}))?;
    ensure!(result["status"] == "done", "{result}");
    let torn = client.torn()?;
    ensure!(torn.is_empty(), "torn apart: {torn:?}");
    client.check_unlocked()
}

/// Lets a trigger write down what goes, and who took it.
fn witness(client: &mut Client) -> Result<()> {
    client.execute(
        "CREATE TABLE before_deleted (id integer, state integer, end_time timestamp NULL, session bigint);
         CREATE TABLE before_touched (id integer);
         CREATE TABLE before_purger (session bigint)",
    )?;
    client.execute(client.either(
        "CREATE FUNCTION before_witness() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN INSERT INTO public.before_deleted VALUES (OLD.id, OLD.state, OLD.end_time, pg_backend_pid()); RETURN NULL; END $$;
         CREATE TRIGGER witness AFTER DELETE ON t_ds_workflow_instance FOR EACH ROW EXECUTE FUNCTION before_witness()",
        "CREATE TRIGGER witness AFTER DELETE ON t_ds_workflow_instance FOR EACH ROW INSERT INTO before_deleted VALUES (OLD.id, OLD.state, OLD.end_time, CONNECTION_ID())",
    ))?;
    Ok(())
}

/// Whatever went stands in the ledger, and what failed did so for a lock.
fn check_ledger(client: &mut Client) -> Result<()> {
    let told = client.number(
        "SELECT COALESCE(SUM(t.deleted_rows), 0) FROM W.run_table AS t WHERE t.table_name = 't_ds_workflow_instance'",
    )?;
    let gone = client.number("SELECT COUNT(*) FROM before_deleted")?;
    ensure!(
        gone == told,
        "{gone} instances are gone, the ledger tells of {told}"
    );
    let failed = client.texts(client.either(
        "SELECT DISTINCT sqlstate FROM W.run_failure WHERE sqlstate NOT IN ('55P03', '40P01', '40001')",
        "SELECT DISTINCT CONCAT(errno) FROM W.run_failure WHERE errno NOT IN (1205, 1213, 1020)",
    ))?;
    ensure!(failed.is_empty(), "{failed:?}");
    let statuses = client.texts(
        "SELECT DISTINCT status FROM W.run WHERE status NOT IN ('done', 'stopped', 'failed')",
    )?;
    ensure!(statuses.is_empty(), "{statuses:?}");
    Ok(())
}

/// What went was due, and what was written beside the runs is whole.
fn check_nothing_spoiled(client: &mut Client) -> Result<()> {
    let young = client.either(
        "end_time > now() AT TIME ZONE 'UTC' - interval '31 days' + interval '1 minute'",
        "end_time > UTC_TIMESTAMP() - INTERVAL 31 DAY + INTERVAL 1 MINUTE",
    );
    let by_run = "d.session NOT IN (SELECT p.session FROM before_purger AS p)";
    for (what, query) in [
        (
            "deleted although not final",
            "SELECT CONCAT(id) FROM before_deleted WHERE state NOT IN (3, 5, 6, 7) OR state IS NULL".to_owned(),
        ),
        (
            "deleted by a run although too young",
            format!("SELECT CONCAT(d.id) FROM before_deleted AS d WHERE {by_run} AND (d.{young} OR d.end_time IS NULL)"),
        ),
        (
            "touched, then deleted by a run",
            format!("SELECT CONCAT(d.id) FROM before_deleted AS d WHERE {by_run} AND d.id IN (SELECT t.id FROM before_touched AS t)"),
        ),
        (
            "a new task without its instance",
            "SELECT CONCAT(t.id) FROM t_ds_task_instance AS t WHERE t.name = 'rival' AND NOT EXISTS (SELECT 1 FROM t_ds_workflow_instance AS i WHERE i.id = t.workflow_instance_id)".to_owned(),
        ),
        (
            "a new link without an end",
            "SELECT CONCAT(r.id) FROM t_ds_relation_workflow_instance AS r WHERE r.parent_task_instance_id = -7 AND 2 <> (SELECT COUNT(*) FROM t_ds_workflow_instance AS i WHERE i.id IN (r.parent_workflow_instance_id, r.workflow_instance_id))".to_owned(),
        ),
    ] {
        let found = client.texts(&query)?;
        ensure!(found.is_empty(), "{what}: {found:?}");
    }
    Ok(())
}
