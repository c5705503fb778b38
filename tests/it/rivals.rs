//! Sessions that work on the same rows, policies and holds while a run goes on.

mod at_once;
mod uninstallation;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::effort::first_seed;
use crate::support::history::{Client, History, joined, refused};
use crate::support::patience::until;

tests! {
    within: [at_once::tests, uninstallation::tests],
    each_server: [
        a_family_with_a_locked_member_is_skipped_without_waiting,
        a_locked_row_of_a_nearly_empty_table_is_in_nobodys_way,
        in_a_deadlock_the_purge_gives_way,
    ],
    every_server: [
        a_locked_row_of_a_child_table_is_retried_then_recorded,
        a_child_that_comes_under_a_locked_parent_is_no_orphan,
        what_writers_touch_is_never_deleted,
        a_second_run_is_refused_at_once_and_a_purge_is_not,
        a_run_beside_a_purge_lets_it_live,
        a_pause_refuses_runs_and_stops_those_under_way,
        a_hold_or_a_disabled_policy_counts_from_its_return,
        an_open_hold_delays_a_run_and_spoils_nothing,
    ],
}

/// A sub-workflow of a root that goes, with its root.
fn a_sub_workflow(client: &mut Client) -> Result<(i64, i64)> {
    let due: Vec<String> = client.due(100)?.iter().map(i64::to_string).collect();
    let rows = client.rows(&format!(
        "SELECT l.upper_id, l.lower_id FROM before_link AS l
         WHERE l.upper_id IN ({}) AND NOT EXISTS (SELECT 1 FROM before_link AS o WHERE o.lower_id = l.lower_id AND o.upper_id <> l.upper_id)
         ORDER BY l.upper_id LIMIT 1",
        due.join(", ")
    ))?;
    let number = |place: usize| -> Result<i64> {
        Ok(rows[0][place].as_deref().context("a number")?.parse()?)
    };
    Ok((number(0)?, number(1)?))
}

fn families(client: &mut Client) -> Result<i64> {
    let preview = client.call("preview", &json!({}))?;
    preview["rules"][0]["families"].as_i64().context("a number")
}

fn a_family_with_a_locked_member_is_skipped_without_waiting(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    let expected = families(&mut client)?;
    let (root, sub) = a_sub_workflow(&mut client)?;
    let mut rival = history.connect()?;
    let lock = rival.either("FOR NO KEY UPDATE", "FOR UPDATE");
    rival.execute(&format!(
        "BEGIN; SELECT id FROM t_ds_workflow_instance WHERE id = {sub} {lock}"
    ))?;
    let (result, rule) = client.run_rule(&json!({}))?;
    ensure!(
        result["status"] == "done" && rule["families"] == expected - 1,
        "{expected}: {result}"
    );
    ensure!(
        rule["skipped"]["LOCKED"] == 1
            && rule["skipped_samples"]["LOCKED"] == json!([root.to_string()]),
        "{rule}"
    );
    ensure!(rule["retries"] == 0, "{rule}");
    client.check_whole()?;
    rival.execute("ROLLBACK")?;
    let (result, rule) = client.run_rule(&json!({}))?;
    ensure!(
        result["status"] == "done" && rule["families"] == 1,
        "{result}"
    );
    client.check_whole()
}

/// The children are locked by DELETE, not judged: the batch waits for `lock_timeout`, then gives way.
fn a_locked_row_of_a_child_table_is_retried_then_recorded(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    client.set("lock_timeout", 10)?;
    // MySQL and MariaDB wait in whole seconds.
    client.set("batch_families", 8)?;
    client.set("retries", 1)?;
    let key = client.due(10)?[7];
    let mut rival = history.connect()?;
    rival.execute(&format!(
        "BEGIN; SELECT id FROM t_ds_task_instance WHERE workflow_instance_id = {key} FOR UPDATE"
    ))?;
    let (result, rule) = client.run_rule(&json!({"run_families": 30}))?;
    ensure!(
        result["status"] == "stopped" && rule["families"] == 30,
        "{result}"
    );
    let code = client.either("55P03", "HY000");
    ensure!(
        rule["skipped"]["LOCKED"] == 1 && rule["failures"][0]["sqlstate"] == code,
        "{rule}"
    );
    ensure!(
        rule["failures"][0]["key"] == json!(key.to_string()) && rule["retries"].as_i64() > Some(3),
        "{rule}"
    );
    client.check_whole()?;
    let purge = client.call("purge", &json!({"key": [key]}))?;
    ensure!(purge["refused"][key.to_string()] == "LOCKED", "{purge}");
    rival.execute("ROLLBACK")?;
    client.set("batch_families", 200)?;
    client.run(&json!({}))?;
    ensure!(!client.is_there(key)?);
    client.check_whole()
}

/// A table that is scanned instead of looked up waits for rows of strangers: where there are few, a scan looks cheap.
fn a_locked_row_of_a_nearly_empty_table_is_in_nobodys_way(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    client.set("batch_families", 20)?;
    let mut rival = history.connect()?;
    rival.execute("BEGIN")?;
    for rows in [1, 3] {
        for (table, columns) in [
            ("alert", &["workflow_instance_id"][..]),
            ("alert_send_status", &["alert_id"]),
            ("command", &["workflow_instance_id"]),
            ("error_command", &["workflow_instance_id"]),
            (
                "relation_sub_workflow",
                &["parent_workflow_instance_id", "sub_workflow_instance_id"],
            ),
            ("serial_command", &["workflow_instance_id"]),
            ("task_group_queue", &["workflow_instance_id", "task_id"]),
            ("task_instance_context", &["task_instance_id"]),
        ] {
            let table = format!("t_ds_{table}");
            rival.execute("ROLLBACK")?;
            let keep = client.number(&format!(
                "SELECT COALESCE(MIN(k.id), 0) FROM (SELECT id FROM {table} ORDER BY id DESC LIMIT {rows}) AS k"
            ))?;
            client.execute(&format!("DELETE FROM {table} WHERE id < {keep}"))?;
            for column in columns {
                client.execute(&format!("UPDATE {table} SET {column} = -id"))?;
            }
            rival.execute(&format!("BEGIN; SELECT id FROM {table} FOR UPDATE"))?;
            let (_, rule) = client.run_rule(&json!({"run_families": 5, "time_budget": "2s"}))?;
            ensure!(
                rule["retries"] == 0 && rule["skipped"]["LOCKED"].is_null(),
                "{rows} rows of {table}: {rule}"
            );
        }
    }
    Ok(())
}

/// The application updates a task, then its instance: the opposite order.
fn in_a_deadlock_the_purge_gives_way(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    client.set("lock_timeout", 20_000)?;
    let key = client.due(10)?[4];
    let mut rival = history.connect()?;
    rival.execute("BEGIN")?;
    if dialect == Dialect::Postgres {
        client.set("lock_timeout", 100)?;
    } else {
        // InnoDB gives way where the fewest rows were written.
        rival.execute(
            "CREATE TABLE ballast (id integer PRIMARY KEY) ENGINE = InnoDB; BEGIN;
             INSERT INTO ballast SELECT id FROM t_ds_task_instance",
        )?;
    }
    rival.execute(&format!(
        "UPDATE t_ds_task_instance SET pid = 1 WHERE workflow_instance_id = {key}"
    ))?;
    let runner = history.run_aside(json!({"run_families": 10}));
    let mut watch = history.connect()?;
    let waiting = watch.either(
        "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'".to_owned(),
        format!("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE '%{}%'", history.name),
    );
    until("the batch waits for the task", || {
        // InnoDB tells anew what nobody has asked for in the last tenth of a second.
        thread::sleep(Duration::from_millis(150));
        ensure!(!runner.is_finished(), "it did not wait");
        Ok(watch.number(&waiting)? > 0)
    })?;
    // Blocks until the batch has given way, and is not the victim.
    rival.execute(&format!(
        "UPDATE t_ds_workflow_instance SET host = 'rival' WHERE id = {key}"
    ))?;
    rival.execute("COMMIT")?;
    let result = joined(runner)?;
    let rule = &result["rules"][0];
    ensure!(
        result["status"] == "stopped" && rule["retries"].as_i64() > Some(0),
        "{result}"
    );
    client.check_whole()?;
    client.run(&json!({}))?;
    ensure!(!client.is_there(key)?);
    client.check_whole()
}

/// A child and its link, inserted under a locked parent, are seen by the batch that comes after the commit.
fn a_child_that_comes_under_a_locked_parent_is_no_orphan(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    let key = client.due(10)?[5];
    let mut rival = history.connect()?;
    rival.execute(&format!(
        "BEGIN; SELECT id FROM t_ds_workflow_instance WHERE id = {key} FOR UPDATE"
    ))?;
    for (id, state) in [(-1_i64, 1), (-2, 7)] {
        rival.execute(&child(&key.to_string(), &id.to_string(), state))?;
    }
    let (_, rule) = client.run_rule(&json!({}))?;
    ensure!(rule["skipped"]["LOCKED"] == 1, "{rule}");
    rival.execute("COMMIT")?;
    let (_, rule) = client.run_rule(&json!({}))?;
    ensure!(rule["rows"] == 0, "{rule}");
    for id in [key, -1, -2] {
        ensure!(client.is_there(id)?, "{id} is gone");
    }
    // Final at last, and long ended: now the family goes with its late members.
    client.execute("UPDATE t_ds_workflow_instance SET state = 7 WHERE id = -1")?;
    let (_, rule) = client.run_rule(&json!({}))?;
    ensure!(
        rule["families"] == 1 && rule["tables"]["t_ds_workflow_instance"].as_i64() >= Some(3),
        "{rule}"
    );
    let torn = client.torn()?;
    ensure!(torn.is_empty(), "{torn:?}");
    Ok(())
}

/// What inserts a late sub-workflow under an instance, and its link.
fn child(parent: &str, id: &str, state: i32) -> String {
    format!(
        "INSERT INTO t_ds_workflow_instance (id, name, workflow_definition_code, workflow_definition_version, project_code, executor_id, is_sub_workflow, state, end_time)
         SELECT {id}, 'late', 1, 1, project_code, 1, 1, {state}, '2020-01-01' FROM before_instance WHERE id = {parent};
         INSERT INTO t_ds_relation_workflow_instance (parent_workflow_instance_id, parent_task_instance_id, workflow_instance_id) VALUES ({parent}, -7, {id})"
    )
}

/// Instances are re-opened, given tasks and sub-workflows, and finished, all the time while runs go on.
fn what_writers_touch_is_never_deleted(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    client.execute(
        "CREATE TABLE before_deleted (id integer, state integer, end_time timestamp NULL);
         CREATE TABLE before_touched (id integer)",
    )?;
    client.execute(client.either(
        "CREATE FUNCTION before_witness() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN INSERT INTO public.before_deleted VALUES (OLD.id, OLD.state, OLD.end_time); RETURN NULL; END $$;
         CREATE TRIGGER witness AFTER DELETE ON t_ds_workflow_instance FOR EACH ROW EXECUTE FUNCTION before_witness()",
        "CREATE TRIGGER witness AFTER DELETE ON t_ds_workflow_instance FOR EACH ROW INSERT INTO before_deleted VALUES (OLD.id, OLD.state, OLD.end_time)",
    ))?;
    client.set("batch_families", 4)?;
    let enough = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..2)
        .map(|number: u64| {
            let mut session = history.connect()?;
            let enough = Arc::clone(&enough);
            Ok(thread::spawn(move || {
                let mut random = SmallRng::seed_from_u64(first_seed() + number);
                let mut touched = 0;
                let mut late = i64::try_from(number)? * 1_000_000 + 1_000_000;
                while !enough.load(Ordering::Relaxed) || touched < 30 {
                    late += 1;
                    match write(&mut session, &mut random, late) {
                        Ok(true) => touched += 1,
                        Ok(false) => (),
                        // A writer may lose a deadlock as well.
                        Err(error) if is_deadlock(&error) => session.execute("ROLLBACK")?,
                        Err(error) => return Err(error),
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                Ok(touched)
            }))
        })
        .collect::<Result<_>>()?;
    let (start, mut deleted) = (Instant::now(), 0);
    while writers.iter().any(|writer| !writer.is_finished()) {
        let elapsed = start.elapsed().as_secs();
        if (elapsed >= 2 && deleted > 20) || elapsed > 120 {
            enough.store(true, Ordering::Relaxed);
        }
        // A few families at a time, so that the runs last as long as the writers do.
        let (result, rule) = client.run_rule(&json!({"run_families": 8}))?;
        ensure!(
            ["done", "stopped"].contains(&result["status"].as_str().unwrap_or_default()),
            "{result}"
        );
        deleted += rule["families"].as_i64().unwrap_or_default();
        thread::sleep(Duration::from_millis(60));
    }
    for writer in writers {
        joined(writer)?;
    }
    client.run(&json!({}))?;
    ensure!(deleted > 20, "only {deleted} families went");
    let young = client.either(
        "SELECT CONCAT(id) FROM before_deleted WHERE end_time > now() AT TIME ZONE 'UTC' - interval '31 days' + interval '1 minute' OR end_time IS NULL",
        "SELECT CONCAT(id) FROM before_deleted WHERE end_time > UTC_TIMESTAMP() - INTERVAL 31 DAY + INTERVAL 1 MINUTE OR end_time IS NULL",
    );
    for (what, query) in [
        (
            "deleted although not final",
            "SELECT CONCAT(id) FROM before_deleted WHERE state NOT IN (3, 5, 6, 7) OR state IS NULL",
        ),
        ("deleted although too young", young),
        (
            "touched, then deleted",
            "SELECT CONCAT(t.id) FROM before_touched AS t WHERE NOT EXISTS (SELECT 1 FROM t_ds_workflow_instance AS i WHERE i.id = t.id)",
        ),
        (
            "an instance without its new task",
            "SELECT CONCAT(t.id) FROM before_touched AS t WHERE NOT EXISTS (SELECT 1 FROM t_ds_task_instance AS i WHERE i.workflow_instance_id = t.id AND i.name = 'rival')",
        ),
        (
            "a new task without its instance",
            "SELECT CONCAT(t.id) FROM t_ds_task_instance AS t WHERE t.name = 'rival' AND NOT EXISTS (SELECT 1 FROM t_ds_workflow_instance AS i WHERE i.id = t.workflow_instance_id)",
        ),
        (
            "a new link without an end",
            "SELECT CONCAT(r.id) FROM t_ds_relation_workflow_instance AS r WHERE r.parent_task_instance_id = -7 AND 2 <> (SELECT COUNT(*) FROM t_ds_workflow_instance AS i WHERE i.id IN (r.parent_workflow_instance_id, r.workflow_instance_id))",
        ),
    ] {
        let found = client.texts(query)?;
        ensure!(found.is_empty(), "{what}: {found:?}");
    }
    let torn = client.torn()?;
    ensure!(torn.is_empty(), "torn apart: {torn:?}");
    Ok(())
}

fn is_deadlock(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let text = cause.to_string();
        ["SQLSTATE 40P01)", "error 1213", "error 1205"]
            .iter()
            .any(|code| text.contains(code))
    })
}

/// One write of the application: a recovery of some old instance, or the end of one.
fn write(session: &mut Client, random: &mut SmallRng, late: i64) -> Result<bool> {
    let id: i32 = random.random_range(1..720);
    session.execute("BEGIN")?;
    // Opened if it is there: only then is there a row to lock.
    session.execute(&format!(
        "UPDATE t_ds_workflow_instance SET state = 1, end_time = NULL WHERE id = {id}"
    ))?;
    if !session.is_there(id.into())? {
        session.execute("ROLLBACK")?;
        return Ok(false);
    }
    session.execute(&format!(
        "INSERT INTO before_touched VALUES ({id});
         INSERT INTO t_ds_task_instance (name, task_type, task_code, task_definition_version, workflow_instance_id) VALUES ('rival', 'SHELL', 1, 1, {id})"
    ))?;
    if random.random_bool(0.3) {
        session.execute(&child(&id.to_string(), &late.to_string(), 7))?;
    }
    session.execute("COMMIT")?;
    if random.random_bool(0.5) {
        let now = session.either("now() AT TIME ZONE 'UTC'", "UTC_TIMESTAMP()");
        session.execute(&format!(
            "UPDATE t_ds_workflow_instance SET state = 7, end_time = {now} WHERE id = {id}"
        ))?;
    }
    Ok(true)
}

fn a_second_run_is_refused_at_once_and_a_purge_is_not(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    let young = client.number("SELECT MAX(id) FROM t_ds_workflow_instance AS i WHERE state IN (5, 6, 7) AND is_sub_workflow = 0 AND end_time IS NOT NULL AND NOT EXISTS (SELECT 1 FROM before_link AS l WHERE i.id IN (l.upper_id, l.lower_id))")?;
    client.set("batch_families", 5)?;
    client.slow_down(5)?;
    let runner = history.run_aside(json!({}));
    let (run, session) = client.until_batches(0)?;
    let refused = client.run(&json!({"trigger": "SCHEDULED"}))?;
    let reason = refused["reason"].as_str().unwrap_or_default();
    ensure!(
        refused["status"] == "refused"
            && reason.starts_with(&format!("run {run} is in progress (pid {session}, since ")),
        "{refused}"
    );
    let still = format!("SELECT COUNT(*) FROM W.run WHERE run_id = {run} AND status = 'running'");
    ensure!(
        client.number(&still)? == 1,
        "it waited for the end of the run"
    );

    let purge = client.call("purge", &json!({"key": [young], "force": true}))?;
    ensure!(
        purge["status"] == "done"
            && purge["refused"] == json!({})
            && purge["rules"][0]["families"] == 1,
        "{purge}"
    );
    ensure!(
        client.number(&still)? == 1,
        "it waited for the end of the run"
    );
    client.speed_up()?;
    let result = joined(runner)?;
    ensure!(result["status"] == "done", "{result}");
    client.check_whole()?;
    client.check_unlocked()
}

/// A run that begins beside a purge does not take it for dead.
fn a_run_beside_a_purge_lets_it_live(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    let keys = json!({"key": client.due(40)?});
    // The purge alone takes its time.
    let mut session = history.connect()?;
    let id = session.session.session()?;
    client.execute(&client.either(
        format!(
            "CREATE FUNCTION public.before_slow() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN IF pg_backend_pid() = {id} THEN PERFORM pg_sleep(0.02); END IF; RETURN NULL; END $$;
             CREATE TRIGGER slow AFTER DELETE ON t_ds_alert FOR EACH STATEMENT EXECUTE FUNCTION public.before_slow()"
        ),
        format!(
            "CREATE TRIGGER slow AFTER DELETE ON t_ds_workflow_instance FOR EACH ROW
             BEGIN DECLARE v integer; IF CONNECTION_ID() = {id} THEN SET v = SLEEP(0.02); END IF; END"
        ),
    ))?;
    let purger = thread::spawn(move || session.call("purge", &keys));
    until_purging(&mut client)?;
    let result = client.run(&json!({}))?;
    ensure!(result["status"] == "done", "{result}");
    let crashed = client.number("SELECT COUNT(*) FROM W.run WHERE status = 'crashed'")?;
    ensure!(crashed == 0, "the purge was taken for dead");
    let purge = joined(purger)?;
    ensure!(purge["status"] == "done", "{purge}");
    for refused in purge["refused"].as_object().context("an object")?.values() {
        ensure!(refused == "NOT_A_ROOT" || refused == "LOCKED", "{purge}");
    }
    client.run(&json!({}))?;
    client.check_whole()?;
    client.check_unlocked()
}

fn until_purging(client: &mut Client) -> Result<()> {
    until("the purge has begun", || {
        let sql = "SELECT COUNT(*) FROM W.run AS r JOIN W.run_rule AS p ON p.run_id = r.run_id WHERE r.trigger = 'PURGE' AND p.batches > 0";
        Ok(client.number(sql)? == 1)
    })
}

fn a_pause_refuses_runs_and_stops_those_under_way(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    client.execute("CALL W.pause('closing')")?;
    let refusal = client.run(&json!({}))?;
    ensure!(
        refusal["status"] == "refused"
            && refusal["reason"]
                .as_str()
                .unwrap_or_default()
                .ends_with(": closing"),
        "{refusal}"
    );
    refused(client.call("purge", &json!({"key": [1]})), "55000")?;
    client.execute("CALL W.resume()")?;

    client.set("batch_families", 5)?;
    client.slow_down(10)?;
    let runner = history.run_aside(json!({}));
    client.until_batches(0)?;
    client.execute("CALL W.pause('now')")?;
    let batches = client.number("SELECT MAX(batches) FROM W.run_rule")?;
    let result = joined(runner)?;
    ensure!(
        result["status"] == "stopped" && result["reason"] == "paused",
        "{result}"
    );
    ensure!(
        result["rules"][0]["batches"].as_i64() <= Some(batches + 1),
        "{batches}: {result}"
    );
    client.check_whole()?;

    // A purge of many families obeys as well.
    client.execute("CALL W.resume()")?;
    let keys = json!({"key": client.due(50)?});
    let mut session = history.connect()?;
    let purger = thread::spawn(move || session.call("purge", &keys));
    until_purging(&mut client)?;
    client.execute("CALL W.pause('again')")?;
    let families = client.number("SELECT SUM(p.families) FROM W.run_rule AS p JOIN W.run AS r ON r.run_id = p.run_id WHERE r.trigger = 'PURGE'")?;
    let purge = joined(purger)?;
    ensure!(
        purge["status"] == "stopped" && purge["reason"] == "paused",
        "{purge}"
    );
    ensure!(
        purge["rules"][0]["families"].as_i64() <= Some(families + 1),
        "{families}: {purge}"
    );
    client.check_whole()
}

/// Once set_hold() has returned, the family is gone already, or stays for good; and so with a disabled policy.
fn a_hold_or_a_disabled_policy_counts_from_its_return(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    client.set("batch_families", 7)?;
    client.slow_down(6)?;
    let keys = client.due(200)?;
    let runner = history.run_aside(json!({}));
    client.until_batches(0)?;
    let mut kept = Vec::new();
    // The run comes from the oldest, the holds from the newest: they meet.
    for key in keys.iter().rev().step_by(4) {
        let answer = client.call("set_hold", &json!({"key": key, "reason": "audit"}));
        ensure!(answer.is_ok() == client.is_there(*key)?, "{answer:?}");
        match answer {
            Ok(_) => kept.push(*key),
            Err(error) => ensure!(
                format!("{error:#}").contains("has no row with the key"),
                "{error:#}"
            ),
        }
    }
    // A project that still has families to lose.
    let old = client.either(
        "now() - interval '40 days'",
        "UTC_TIMESTAMP() - INTERVAL 40 DAY",
    );
    let project = client.texts(&format!("SELECT CONCAT(i.project_code) FROM t_ds_workflow_instance AS i WHERE i.id = (SELECT MAX(m.id) FROM t_ds_workflow_instance AS m WHERE m.end_time < {old})"))?.remove(0);
    client.call("set_policy", &json!({"scope": project, "enabled": false}))?;
    let of_project =
        format!("SELECT COUNT(*) FROM t_ds_workflow_instance WHERE project_code = {project}");
    let before = client.number(&of_project)?;
    let result = joined(runner)?;
    ensure!(result["status"] == "done", "{result}");
    ensure!(
        client.number(&of_project)? == before,
        "deleted after the policy was disabled"
    );
    ensure!(kept.len() > 5, "{} were held in time", kept.len());
    for key in kept {
        ensure!(client.is_there(key)?, "{key} was held in time");
    }
    ensure!(
        result["rules"][0]["skipped"]["HELD"].as_i64() > Some(0),
        "{result}"
    );
    client.check_whole()
}

/// A session that writes a hold and takes its time to commit: the run waits for it, takes no family for locked, and
/// sees the hold even where sessions prefer old snapshots.
fn an_open_hold_delays_a_run_and_spoils_nothing(dialect: Dialect) -> Result<()> {
    for (isolation, lock_timeout) in [("READ COMMITTED", 5), ("REPEATABLE READ", 5_000)] {
        let history = History::shared(dialect)?;
        let mut client = history.connect()?;
        client.set("lock_timeout", lock_timeout)?;
        let key = client.due(3)?[2];
        let expected = families(&mut client)?;
        let mut session = history.connect()?;
        let mut runner = history.connect()?;
        for session in [&mut session, &mut runner] {
            session.execute(&session.either(
                format!(
                    "SET default_transaction_isolation = '{}'",
                    isolation.to_lowercase()
                ),
                format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"),
            ))?;
        }
        session.execute("BEGIN")?;
        session.call("set_hold", &json!({"key": key, "reason": "audit"}))?;
        let number = runner.session.session()?;
        let waiting = client.either(
            format!("SELECT COUNT(*) FROM pg_stat_activity WHERE pid = {number} AND wait_event_type = 'Lock'"),
            format!("SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = {number}"),
        );
        let runner = thread::spawn(move || runner.run(&json!({})));
        let mut watch = history.connect()?;
        until("the run waits for the hold", || {
            // InnoDB tells anew what nobody has asked for in the last tenth of a second.
            thread::sleep(Duration::from_millis(watch.either(1, 150)));
            Ok(watch.number(&waiting)? > 0)
        })?;
        // MySQL and MariaDB wait in whole seconds: longer than one.
        thread::sleep(Duration::from_millis(session.either(600, 1_600)));
        ensure!(!runner.is_finished(), "it did not wait");
        session.execute("COMMIT")?;
        let result = joined(runner)?;
        let rule = &result["rules"][0];
        ensure!(
            result["status"] == "done" && rule["failures"] == json!([]),
            "{result}"
        );
        ensure!(
            rule["families"] == expected - 1 && rule["skipped"]["HELD"] == 1,
            "{expected}: {result}"
        );
        client.check_whole()?;
    }
    Ok(())
}
