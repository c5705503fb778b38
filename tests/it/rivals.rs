//! Sessions that work on the same rows, policies and holds while a run goes on.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use postgres::{Client, NoTls};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use serde_json::{Value, json};

use crate::rig::{self, Database, W};

/// A sub-workflow of a root that goes, with its root.
fn a_sub_workflow(client: &mut Client) -> Result<(i64, i64)> {
    let due = rig::due(client, 100)?;
    let row = client.query_one(
        "SELECT l.upper, l.lower FROM before.link AS l
         WHERE l.upper = ANY ($1) AND NOT EXISTS (SELECT FROM before.link AS o WHERE o.lower = l.lower AND o.upper <> l.upper)
         ORDER BY l.upper LIMIT 1",
        &[&due],
    )?;
    Ok((row.get(0), row.get(1)))
}

fn families(client: &mut Client) -> Result<i64> {
    let preview = rig::call(client, "preview", &json!({}))?;
    preview["rules"][0]["families"].as_i64().context("a number")
}

fn status_of_last(client: &mut Client) -> Result<Value> {
    Ok(client
        .query_one(
            &format!("SELECT to_jsonb(r) FROM {W}.run AS r ORDER BY run_id DESC LIMIT 1"),
            &[],
        )?
        .get(0))
}

#[test]
fn a_family_with_a_locked_member_is_skipped_without_waiting() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    let expected = families(&mut client)?;
    let (root, sub) = a_sub_workflow(&mut client)?;
    let mut session = database.connect()?;
    let mut rival = session.transaction()?;
    rival.query_one(
        "SELECT id FROM t_ds_workflow_instance WHERE id = $1::bigint FOR NO KEY UPDATE",
        &[&sub],
    )?;
    let (result, rule) = rig::run_rule(&mut client, &json!({}))?;
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
    rig::check_whole(&mut client)?;
    rival.rollback()?;
    let (result, rule) = rig::run_rule(&mut client, &json!({}))?;
    ensure!(
        result["status"] == "done" && rule["families"] == 1,
        "{result}"
    );
    rig::check_whole(&mut client)
}

/// The children are locked by DELETE, not judged: the batch waits for `lock_timeout`, then gives way.
#[test]
fn a_locked_row_of_a_child_table_is_retried_then_recorded() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    rig::set(&mut client, "lock_timeout", 10)?;
    let expected = families(&mut client)?;
    let key = rig::due(&mut client, 10)?[7];
    let mut session = database.connect()?;
    let mut rival = session.transaction()?;
    rival.execute(
        "SELECT FROM t_ds_task_instance WHERE workflow_instance_id = $1::bigint FOR UPDATE",
        &[&key],
    )?;
    let (result, rule) = rig::run_rule(&mut client, &json!({}))?;
    ensure!(
        result["status"] == "done" && rule["families"] == expected - 1,
        "{expected}: {result}"
    );
    ensure!(
        rule["skipped"]["LOCKED"] == 1 && rule["failures"][0]["sqlstate"] == "55P03",
        "{rule}"
    );
    ensure!(
        rule["failures"][0]["key"] == json!(key.to_string()) && rule["retries"].as_i64() > Some(3),
        "{rule}"
    );
    rig::check_whole(&mut client)?;
    let purge = rig::purge(&mut client, &json!({"key": [key]}))?;
    ensure!(purge["refused"][key.to_string()] == "LOCKED", "{purge}");
    rival.rollback()?;
    let (_, rule) = rig::run_rule(&mut client, &json!({}))?;
    ensure!(rule["families"] == 1, "{rule}");
    rig::check_whole(&mut client)
}

/// The application updates a task, then its instance: the opposite order.
#[test]
fn in_a_deadlock_the_purge_gives_way() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    let key = rig::due(&mut client, 10)?[4];
    let mut session = database.connect()?;
    let mut rival = session.transaction()?;
    rival.execute(
        "UPDATE t_ds_task_instance SET pid = 1 WHERE workflow_instance_id = $1::bigint",
        &[&key],
    )?;
    let runner = database.run_aside(json!({"run_families": 10}));
    let mut watch = database.connect()?;
    rig::until("the batch waits for the task", || {
        Ok(rig::number(
            &mut watch,
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )? > 0)
    })?;
    // Blocks until the batch has given way, and is not the victim.
    rival.execute(
        "UPDATE t_ds_workflow_instance SET host = 'rival' WHERE id = $1::bigint",
        &[&key],
    )?;
    rival.commit()?;
    let result = rig::joined(runner)?;
    let rule = &result["rules"][0];
    ensure!(
        result["status"] == "stopped" && rule["retries"].as_i64() > Some(0),
        "{result}"
    );
    rig::check_whole(&mut client)?;
    rig::run(&mut client, &json!({}))?;
    ensure!(!rig::is_there(&mut client, key)?);
    rig::check_whole(&mut client)
}

/// A child and its link, inserted under a locked parent, are seen by the batch that comes after the commit.
#[test]
fn a_child_that_comes_under_a_locked_parent_is_no_orphan() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    let keys = rig::due(&mut client, 10)?;
    let key = keys[5];
    let mut session = database.connect()?;
    let mut rival = session.transaction()?;
    rival.execute(
        "SELECT FROM t_ds_workflow_instance WHERE id = $1::bigint FOR UPDATE",
        &[&key],
    )?;
    for (id, state) in [(-1_i64, 1), (-2, 7)] {
        rival.batch_execute(&format!(
            "INSERT INTO t_ds_workflow_instance (id, name, workflow_definition_code, workflow_definition_version, project_code, executor_id, is_sub_workflow, state, end_time)
             SELECT {id}, 'late', 1, 1, project_code, 1, 1, {state}, end_time FROM t_ds_workflow_instance WHERE id = {key};
             INSERT INTO t_ds_relation_workflow_instance (parent_workflow_instance_id, workflow_instance_id) VALUES ({key}, {id})"
        ))?;
    }
    let (_, rule) = rig::run_rule(&mut client, &json!({}))?;
    ensure!(rule["skipped"]["LOCKED"] == 1, "{rule}");
    rival.commit()?;
    let (_, rule) = rig::run_rule(&mut client, &json!({}))?;
    ensure!(rule["rows"] == 0, "{rule}");
    ensure!(
        rig::is_there(&mut client, key)?
            && rig::is_there(&mut client, -1)?
            && rig::is_there(&mut client, -2)?
    );
    // Final at last, and long ended: now the family goes with its late members.
    client.batch_execute(&format!("UPDATE t_ds_workflow_instance SET state = 7, end_time = (SELECT end_time FROM t_ds_workflow_instance WHERE id = {key}) WHERE id = -1"))?;
    let (_, rule) = rig::run_rule(&mut client, &json!({}))?;
    ensure!(
        rule["families"] == 1 && rule["tables"]["t_ds_workflow_instance"].as_i64() >= Some(3),
        "{rule}"
    );
    ensure!(rig::texts(&mut client, "SELECT before.torn()")?.is_empty());
    Ok(())
}

/// Instances are re-opened, given tasks and sub-workflows, and finished, all the time while runs go on.
#[test]
fn what_writers_touch_is_never_deleted() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    client.batch_execute(
        "CREATE TABLE before.deleted (id integer, state integer, end_time timestamp);
         CREATE FUNCTION before.witness() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN INSERT INTO before.deleted SELECT id, state, end_time FROM old; RETURN NULL; END $$;
         CREATE TRIGGER witness AFTER DELETE ON t_ds_workflow_instance REFERENCING OLD TABLE AS old
         FOR EACH STATEMENT EXECUTE FUNCTION before.witness();
         CREATE TABLE before.touched (id integer)",
    )?;
    rig::set(&mut client, "batch_families", 4)?;
    let end = Instant::now() + Duration::from_secs(4);
    let writers: Vec<_> = (0..2)
        .map(|number: u64| {
            let mut session = database.connect()?;
            Ok(thread::spawn(move || {
                let mut random = SmallRng::seed_from_u64(number);
                let mut touched = 0;
                while Instant::now() < end {
                    if write(&mut session, &mut random)? {
                        touched += 1;
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                Ok(touched)
            }))
        })
        .collect::<Result<_>>()?;
    let mut deleted = 0;
    while Instant::now() < end {
        // A few families at a time, so that the runs last as long as the writers do.
        let (result, rule) = rig::run_rule(&mut client, &json!({"run_families": 8}))?;
        ensure!(
            ["done", "stopped"].contains(&result["status"].as_str().unwrap_or_default()),
            "{result}"
        );
        deleted += rule["families"].as_i64().unwrap_or_default();
        thread::sleep(Duration::from_millis(60));
    }
    for writer in writers {
        let touched: i32 = rig::joined(writer)?;
        ensure!(touched > 50, "only {touched} instances were touched");
    }
    rig::run(&mut client, &json!({}))?;
    ensure!(deleted > 50, "only {deleted} families went");
    for (what, query) in [
        (
            "deleted although not final",
            "SELECT id::text FROM before.deleted WHERE state NOT IN (3, 5, 6, 7) OR state IS NULL",
        ),
        (
            "deleted although too young",
            "SELECT id::text FROM before.deleted WHERE end_time > now() AT TIME ZONE 'UTC' - interval '31 days' + interval '1 minute' OR end_time IS NULL",
        ),
        (
            "touched, then deleted",
            "SELECT id::text FROM before.touched EXCEPT SELECT id::text FROM t_ds_workflow_instance",
        ),
        ("torn apart", "SELECT before.torn()"),
        (
            "an instance without its new task",
            "SELECT t.id::text FROM before.touched AS t WHERE NOT EXISTS (SELECT FROM t_ds_task_instance AS i WHERE i.workflow_instance_id = t.id AND i.name = 'rival')",
        ),
        (
            "a new task without its instance",
            "SELECT t.id::text FROM t_ds_task_instance AS t WHERE t.name = 'rival' AND NOT EXISTS (SELECT FROM t_ds_workflow_instance AS i WHERE i.id = t.workflow_instance_id)",
        ),
        (
            "a new link without an end",
            "SELECT r.id::text FROM t_ds_relation_workflow_instance AS r WHERE r.parent_task_instance_id = -7 AND 2 <> (SELECT count(*) FROM t_ds_workflow_instance AS i WHERE i.id IN (r.parent_workflow_instance_id, r.workflow_instance_id))",
        ),
    ] {
        let found = rig::texts(&mut client, query)?;
        ensure!(found.is_empty(), "{what}: {found:?}");
    }
    let document = rig::call(&mut client, "verify", &json!({}))?;
    ensure!(document["clean"] == true, "{document}");
    Ok(())
}

/// One write of the application: a recovery of some old instance, or the end of one.
fn write(session: &mut Client, random: &mut SmallRng) -> Result<bool> {
    let id: i32 = random.random_range(1..720);
    let mut transaction = session.transaction()?;
    let opened = transaction.execute(
        "UPDATE t_ds_workflow_instance SET state = 1, end_time = NULL WHERE id = $1",
        &[&id],
    )?;
    if opened == 0 {
        return Ok(false);
    }
    transaction.execute("INSERT INTO before.touched VALUES ($1)", &[&id])?;
    transaction.execute("INSERT INTO t_ds_task_instance (name, task_type, task_code, workflow_instance_id) VALUES ('rival', 'SHELL', 1, $1)", &[&id])?;
    if random.random_bool(0.3) {
        transaction.execute(
            "WITH child AS (
                 INSERT INTO t_ds_workflow_instance (name, workflow_definition_code, workflow_definition_version, project_code, executor_id, is_sub_workflow, state, end_time)
                 SELECT 'late', 1, 1, project_code, 1, 1, 7, timestamp '2020-01-01' FROM t_ds_workflow_instance WHERE id = $1
                 RETURNING id
             )
             INSERT INTO t_ds_relation_workflow_instance (parent_workflow_instance_id, parent_task_instance_id, workflow_instance_id)
             SELECT $1, -7, id FROM child",
            &[&id],
        )?;
    }
    transaction.commit()?;
    if random.random_bool(0.5) {
        session.execute("UPDATE t_ds_workflow_instance SET state = 7, end_time = now() AT TIME ZONE 'UTC' WHERE id = $1", &[&id])?;
    }
    Ok(true)
}

#[test]
fn a_second_run_is_refused_at_once_and_a_purge_is_not() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    let young: i64 = client
        .query_one("SELECT max(id)::bigint FROM t_ds_workflow_instance AS i WHERE state IN (5, 6, 7) AND is_sub_workflow = 0 AND end_time IS NOT NULL AND NOT EXISTS (SELECT FROM before.link AS l WHERE i.id IN (l.upper, l.lower))", &[])?
        .get(0);
    rig::set(&mut client, "batch_families", 5)?;
    rig::slow_down(&mut client, 5)?;
    let runner = database.run_aside(json!({}));
    let (run, pid) = rig::until_batches(&mut client, 0)?;
    let begun = Instant::now();
    let refused = rig::run(&mut client, &json!({"trigger": "SCHEDULED"}))?;
    ensure!(
        begun.elapsed() < Duration::from_millis(300),
        "{:?}",
        begun.elapsed()
    );
    let reason = refused["reason"].as_str().unwrap_or_default();
    ensure!(
        refused["status"] == "refused"
            && reason.starts_with(&format!("run {run} is in progress (pid {pid}, since ")),
        "{refused}"
    );

    let purge = rig::purge(&mut client, &json!({"key": [young]}))?;
    ensure!(
        purge["status"] == "done"
            && purge["refused"] == json!({})
            && purge["rules"][0]["families"] == 1,
        "{purge}"
    );
    client.batch_execute("DROP TRIGGER slow ON t_ds_alert; DROP TRIGGER slow ON t_ds_task_instance; DROP TRIGGER slow ON t_ds_relation_workflow_instance")?;
    ensure!(rig::joined(runner)?["status"] == "done");
    rig::check_whole(&mut client)?;
    rig::check_unlocked(&mut client)
}

/// A run that begins beside a purge does not take it for dead.
#[test]
fn a_run_beside_a_purge_lets_it_live() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    let keys = rig::due(&mut client, 40)?;
    client.batch_execute(
        "CREATE FUNCTION before.slow() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN IF session_user = 'postgres' AND current_setting('application_name') = 'purge' THEN PERFORM pg_sleep(0.02); END IF; RETURN NULL; END $$;
         CREATE TRIGGER slow AFTER DELETE ON t_ds_alert FOR EACH STATEMENT EXECUTE FUNCTION before.slow()",
    )?;
    let mut session = database.connect()?;
    session.batch_execute("SET application_name = 'purge'")?;
    let keys_of_purge = json!({"key": keys});
    let purger = thread::spawn(move || rig::purge(&mut session, &keys_of_purge));
    rig::until("the purge has begun", || {
        Ok(rig::number(
            &mut client,
            &format!(
                "SELECT count(*) FROM {W}.run AS r JOIN {W}.run_rule USING (run_id) WHERE trigger = 'PURGE' AND batches > 0"
            ),
        )? == 1)
    })?;
    let result = rig::run(&mut client, &json!({}))?;
    ensure!(result["status"] == "done", "{result}");
    let crashed = rig::number(
        &mut client,
        &format!("SELECT count(*) FROM {W}.run WHERE status = 'crashed'"),
    )?;
    ensure!(crashed == 0, "the purge was taken for dead");
    let purge = rig::joined(purger)?;
    ensure!(purge["status"] == "done", "{purge}");
    for refused in purge["refused"].as_object().context("an object")?.values() {
        ensure!(refused == "NOT_A_ROOT" || refused == "LOCKED", "{purge}");
    }
    rig::run(&mut client, &json!({}))?;
    rig::check_whole(&mut client)?;
    rig::check_unlocked(&mut client)
}

#[test]
fn a_pause_refuses_runs_and_stops_those_under_way() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    client.batch_execute(&format!("CALL {W}.pause('closing')"))?;
    let refused = rig::run(&mut client, &json!({}))?;
    ensure!(
        refused["status"] == "refused"
            && refused["reason"]
                .as_str()
                .unwrap_or_default()
                .ends_with(": closing"),
        "{refused}"
    );
    rig::refused(rig::purge(&mut client, &json!({"key": [1]})), "55000")?;
    client.batch_execute(&format!("CALL {W}.resume()"))?;

    rig::set(&mut client, "batch_families", 5)?;
    rig::slow_down(&mut client, 10)?;
    let runner = database.run_aside(json!({}));
    rig::until_batches(&mut client, 0)?;
    client.batch_execute(&format!("CALL {W}.pause()"))?;
    let batches = rig::number(&mut client, &format!("SELECT batches FROM {W}.run_rule"))?;
    let result = rig::joined(runner)?;
    ensure!(
        result["status"] == "stopped" && result["reason"] == "paused",
        "{result}"
    );
    ensure!(
        result["rules"][0]["batches"].as_i64() <= Some(batches + 1),
        "{batches}: {result}"
    );
    rig::check_whole(&mut client)?;

    // A purge of many families obeys as well.
    client.batch_execute(&format!("CALL {W}.resume()"))?;
    let keys = json!({"key": rig::due(&mut client, 50)?});
    let mut session = database.connect()?;
    let purger = thread::spawn(move || rig::purge(&mut session, &keys));
    rig::until("the purge has begun", || {
        Ok(rig::number(
            &mut client,
            &format!(
                "SELECT count(*) FROM {W}.run AS r JOIN {W}.run_rule USING (run_id) WHERE trigger = 'PURGE' AND batches > 0"
            ),
        )? == 1)
    })?;
    client.batch_execute(&format!("CALL {W}.pause()"))?;
    let purge = rig::joined(purger)?;
    ensure!(
        purge["status"] == "stopped" && purge["reason"] == "paused",
        "{purge}"
    );
    ensure!(purge["rules"][0]["families"].as_i64() < Some(20), "{purge}");
    rig::check_whole(&mut client)
}

/// Once set_hold() has returned, the family is gone already, or stays for good; and so with a disabled policy.
#[test]
fn a_hold_or_a_disabled_policy_counts_from_its_return() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    rig::set(&mut client, "batch_families", 7)?;
    rig::slow_down(&mut client, 4)?;
    let keys = rig::due(&mut client, 250)?;
    let runner = database.run_aside(json!({}));
    rig::until_batches(&mut client, 0)?;
    let mut kept = Vec::new();
    // The run comes from the oldest, the holds from the newest: they meet.
    for key in keys.iter().rev().step_by(4) {
        let answer = rig::call(
            &mut client,
            "set_hold",
            &json!({"key": key, "reason": "audit"}),
        )?;
        let exists = answer["exists"].as_bool().context("exists")?;
        ensure!(exists == rig::is_there(&mut client, *key)?, "{answer}");
        if exists {
            kept.push(*key);
        }
    }
    // A project whose families all wait until the policy is off again.
    let project = rig::texts(&mut client, "SELECT project_code::text FROM t_ds_workflow_instance AS i WHERE i.id = (SELECT max(id) FROM t_ds_workflow_instance WHERE end_time < now() - interval '40 days')")?.remove(0);
    rig::call(
        &mut client,
        "set_policy",
        &json!({"scope": project, "enabled": false}),
    )?;
    let of_project =
        format!("SELECT count(*) FROM t_ds_workflow_instance WHERE project_code = {project}");
    let before = rig::number(&mut client, &of_project)?;
    let result = rig::joined(runner)?;
    ensure!(result["status"] == "done", "{result}");
    ensure!(
        rig::number(&mut client, &of_project)? == before,
        "deleted after the policy was disabled"
    );
    ensure!(
        kept.len() > 5 && kept.len() < keys.len() / 4,
        "{} were held in time",
        kept.len()
    );
    for key in kept {
        ensure!(rig::is_there(&mut client, key)?, "{key} was held in time");
    }
    ensure!(
        result["rules"][0]["skipped"]["HELD"].as_i64() > Some(0),
        "{result}"
    );
    rig::check_whole(&mut client)?;
    Ok(())
}

/// A session that writes a hold and takes its time to commit: the run waits for it, takes no family for locked, and
/// sees the hold even where sessions prefer old snapshots.
#[test]
fn an_open_hold_delays_a_run_and_spoils_nothing() -> Result<()> {
    for (isolation, lock_timeout) in [("read committed", 5), ("repeatable read", 5_000)] {
        let database = Database::shared()?;
        let mut client = database.connect()?;
        rig::set(&mut client, "lock_timeout", lock_timeout)?;
        let key = rig::due(&mut client, 3)?[2];
        let expected = families(&mut client)?;
        client.batch_execute(&format!(
            "ALTER DATABASE {} SET default_transaction_isolation = '{isolation}'",
            database.name()
        ))?;
        let mut session = database.connect()?;
        let mut open = session.transaction()?;
        open.batch_execute(&format!(
            "SELECT {W}.set_hold('{{\"key\": {key}, \"reason\": \"audit\"}}')"
        ))?;
        let runner = database.run_aside(json!({}));
        thread::sleep(Duration::from_millis(600));
        open.commit()?;
        let result = rig::joined(runner)?;
        let rule = &result["rules"][0];
        ensure!(
            result["status"] == "done" && rule["failures"] == json!([]),
            "{result}"
        );
        ensure!(
            rule["families"] == expected - 1 && rule["skipped"]["HELD"] == 1,
            "{expected}: {result}"
        );
        rig::check_whole(&mut client)?;
    }
    Ok(())
}

#[test]
fn an_uninstallation_during_a_run_is_clean() -> Result<()> {
    // Roles belong to a whole server: this one is its own.
    let server = rig::start(200, &windrow::sandbox::Settings::default())?;
    let database = Database::create(&server)?;
    let mut client = database.connect()?;
    rig::set(&mut client, "batch_families", 5)?;
    rig::slow_down(&mut client, 10)?;
    let runner = database.run_aside(json!({}));
    rig::until_batches(&mut client, 0)?;
    rig::uninstall(&mut client)?;
    if let Ok(result) = rig::joined(runner) {
        bail!("the run went on: {result}");
    }
    let torn = rig::texts(&mut client, "SELECT before.torn()")?;
    ensure!(torn.is_empty(), "{torn:?}");
    rig::check_unlocked(&mut client)?;
    let left = rig::number(
        &mut client,
        "SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relname LIKE 'windrow%' OR n.nspname LIKE 'windrow%'",
    )?;
    ensure!(left == 0, "{left}");
    // The origin still uses the roles, so they stay.
    ensure!(
        rig::number(
            &mut client,
            "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'windrow%'"
        )? == 3
    );
    Client::connect(&server.url("origin", "postgres"), NoTls)?
        .batch_execute(&format!("SELECT {W}.preview()"))?;
    rig::install(&mut client)?;
    rig::set_policies(&mut client)?;
    client.batch_execute(&format!(
        "CALL {W}.arm(); DROP FUNCTION before.slow() CASCADE"
    ))?;
    ensure!(rig::run(&mut client, &json!({}))?["status"] == "done");
    ensure!(status_of_last(&mut client)?["status"] == "done");
    let torn = rig::texts(&mut client, "SELECT before.torn()")?;
    ensure!(torn.is_empty(), "{torn:?}");
    Ok(())
}
