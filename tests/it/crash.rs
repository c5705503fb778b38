//! Sessions and servers that die in the middle of a batch: no family is torn apart, the ledger stays true, and the next
//! run finishes the work.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use postgres::Client;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use serde_json::{Value, json};
use windrow::sandbox::{Postgres, Settings};

use crate::rig::{self, Database, W};

fn kill(pid: i32) -> Result<()> {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -KILL {pid}")])
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "cannot kill {pid}");
    Ok(())
}

/// A session as soon as the server, which may be recovering, lets one in.
fn reconnect(database: &Database) -> Result<Client> {
    let mut client = None;
    rig::until("the server accepts a session", || {
        client = database.connect().ok();
        Ok(client.is_some())
    })?;
    client.context("a session")
}

fn statuses(client: &mut Client) -> Result<Vec<String>> {
    rig::texts(
        client,
        &format!("SELECT status FROM {W}.run ORDER BY run_id"),
    )
}

fn verify(client: &mut Client) -> Result<()> {
    let document = rig::call(client, "verify", &json!({}))?;
    ensure!(document["clean"] == true, "{document}");
    Ok(())
}

/// What an undisturbed run leaves behind.
fn undisturbed(server: &Postgres, options: &Value) -> Result<String> {
    let database = Database::create(server)?;
    let mut client = database.connect()?;
    let (result, rule) = rig::run_rule(&mut client, options)?;
    ensure!(result["status"] == "done", "{result}");
    ensure!(rule["families"].as_i64() > Some(900), "{rule}");
    rig::check_whole(&mut client)?;
    rig::digest(&mut client)
}

#[test]
fn what_a_crash_leaves_is_whole_and_the_next_run_finishes() -> Result<()> {
    let mut server = rig::start(1_500, &Settings::default())?;
    let options = json!({"as_of": rig::present(&server)?});
    let expected = undisturbed(&server, &options)?;
    let database = Database::create(&server)?;
    let mut client = database.connect()?;
    rig::set(&mut client, "batch_families", 20)?;
    rig::slow_down(&mut client, 8)?;

    let seed = SystemTime::now()
        .duration_since(UNIX_EPOCH)?
        .subsec_nanos()
        .into();
    let mut random = SmallRng::seed_from_u64(seed);
    let mut last = 0;
    for blow in 0..8 {
        let runner = database.run_aside(options.clone());
        let (run, pid) = rig::until_batches(&mut client, last)?;
        last = run;
        sleep(Duration::from_millis(random.random_range(0..120)));
        if blow % 2 == 0 {
            kill(pid)?;
            rig::until("the server ends all other sessions as well", || {
                Ok(client.batch_execute("SELECT 1").is_err())
            })?;
        } else {
            server.kill()?;
            server.restart()?;
        }
        ensure!(rig::joined(runner).is_err(), "the run survived");
        client = reconnect(&database)?;
        let context = || format!("blow {blow} with the seed {seed}");
        rig::check_whole(&mut client).with_context(context)?;
        rig::check_unlocked(&mut client).with_context(context)?;
        let status = statuses(&mut client)?;
        ensure!(
            status.last().map(String::as_str) == Some("running"),
            "{status:?}"
        );
        ensure!(
            status[..status.len() - 1]
                .iter()
                .all(|status| status == "crashed"),
            "{status:?} before run {run}"
        );
    }

    // A client that vanishes: the session does not notice before it wants to answer, so the run goes on to its end.
    let mut psql = server
        .bin("psql")
        .args([
            "-d",
            database.name(),
            "-c",
            &format!("CALL {W}.run('{options}')"),
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let (run, _) = rig::until_batches(&mut client, last)?;
    psql.kill()?;
    psql.wait()?;
    rig::until("the run has ended by itself", || {
        let query =
            format!("SELECT count(*) FROM {W}.run WHERE run_id = {run} AND status = 'done'");
        Ok(rig::number(&mut client, &query)? == 1)
    })?;
    rig::until("its session has ended", || {
        Ok(rig::check_unlocked(&mut client).is_ok())
    })?;
    let status = statuses(&mut client)?;
    ensure!(
        status[..8].iter().all(|status| status == "crashed"),
        "{status:?}"
    );
    rig::check_whole(&mut client)?;
    ensure!(
        rig::digest(&mut client)? == expected,
        "another state than without crashes"
    );

    let (result, rule) = rig::run_rule(&mut client, &options)?;
    ensure!(result["status"] == "done" && rule["rows"] == 0, "{result}");
    verify(&mut client)?;
    ensure!(rig::texts(&mut client, &format!("SELECT name FROM {W}.metrics"))?.len() > 10);
    Ok(())
}

#[test]
fn a_cancelled_run_says_so_and_gives_the_lock_back() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    rig::set(&mut client, "batch_families", 5)?;
    rig::slow_down(&mut client, 2)?;
    let mut random = SmallRng::seed_from_u64(7);
    let mut last = 0;
    for _ in 0..6 {
        // The session that was cancelled stays: the lock must not depend on its end.
        let mut session = database.connect()?;
        let canceller = session.cancel_token();
        let runner = std::thread::spawn(move || {
            let error = rig::run(&mut session, &json!({}));
            Ok((session, error))
        });
        let (run, _) = rig::until_batches(&mut client, last)?;
        last = run;
        sleep(Duration::from_millis(random.random_range(0..20)));
        canceller.cancel_query(postgres::NoTls)?;
        let (_session, result) = rig::joined(runner)?;
        rig::refused(result, "57014")?;
        let (result, _) = rig::run_rule(&mut client, &json!({"run_families": 5}))?;
        ensure!(result["status"] == "stopped", "{result}");
        let status = rig::texts(
            &mut client,
            &format!("SELECT status FROM {W}.run WHERE run_id = {run}"),
        )?;
        // Between two batches nothing can catch it: the next run notices that its session does nothing any more.
        ensure!(
            ["cancelled", "crashed"].contains(&status[0].as_str()),
            "{status:?}"
        );
        rig::check_whole(&mut client)?;
    }
    let cancelled = rig::number(
        &mut client,
        &format!("SELECT count(*) FROM {W}.run WHERE status = 'cancelled'"),
    )?;
    ensure!(cancelled >= 3, "only {cancelled} of 6 said cancelled");
    Ok(())
}

#[test]
fn a_statement_timeout_ends_the_run_like_a_cancel() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    rig::set(&mut client, "batch_families", 5)?;
    rig::slow_down(&mut client, 5)?;
    let mut session = database.connect()?;
    session.batch_execute("SET statement_timeout = '300ms'")?;
    rig::refused(rig::run(&mut session, &json!({})), "57014")?;
    ensure!(statuses(&mut client)? == ["cancelled"]);
    rig::check_whole(&mut client)?;
    rig::check_unlocked(&mut client)?;
    client.batch_execute("DROP FUNCTION before.slow() CASCADE")?;
    ensure!(rig::run(&mut client, &json!({}))?["status"] == "done");
    rig::check_whole(&mut client)
}

#[test]
fn a_cancel_while_a_run_looks_for_roots_counts_too() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    rig::set(&mut client, "batch_families", 5)?;
    // The wait must outlast the cancel: a time-out would let the cancel fall between two batches.
    rig::set(&mut client, "lock_timeout", 60_000)?;
    rig::slow_down(&mut client, 5)?;
    let mut session = database.connect()?;
    let canceller = session.cancel_token();
    let runner = std::thread::spawn(move || {
        let error = rig::run(&mut session, &json!({}));
        Ok((session, error))
    });
    let (_, pid) = rig::until_batches(&mut client, 0)?;
    let mut rival = client.transaction()?;
    rival.batch_execute(&format!("LOCK TABLE {W}.policy"))?;
    let mut watch = database.connect()?;
    rig::until("the run waits for the policies", || {
        Ok(rig::number(
            &mut watch,
            &format!("SELECT count(*) FROM pg_locks WHERE pid = {pid} AND NOT granted"),
        )? == 1)
    })?;
    canceller.cancel_query(postgres::NoTls)?;
    let (_session, result) = rig::joined(runner)?;
    rig::refused(result, "57014")?;
    rival.rollback()?;
    ensure!(
        statuses(&mut client)? == ["cancelled"],
        "{:?}",
        statuses(&mut client)?
    );
    rig::check_unlocked(&mut client)?;
    rig::check_whole(&mut client)
}

/// An error that no handler can catch, such as a cancel between two batches, leaves a session that holds the lock.
#[test]
fn a_session_that_began_a_run_and_does_nothing_blocks_nobody() -> Result<()> {
    let database = Database::shared()?;
    let mut dead = database.connect()?;
    let run: i64 = dead
        .query_one(&format!("SELECT o_run FROM {W}.run_begin('{{}}')"), &[])?
        .get(0);
    let mut client = database.connect()?;
    let result = rig::run(&mut client, &json!({"run_families": 3}))?;
    ensure!(result["status"] == "stopped", "{result}");
    ensure!(statuses(&mut client)? == ["crashed", "stopped"]);
    // It does not rise again.
    let answer = rig::texts(
        &mut dead,
        &format!("SELECT {W}.workflow_instances_step({run})"),
    )?;
    ensure!(answer == ["the run was ended from outside"], "{answer:?}");
    dead.query(
        &format!("SELECT {W}.run_end({run}, ARRAY['nothing left'])"),
        &[],
    )?;
    ensure!(statuses(&mut client)? == ["crashed", "stopped"]);

    // In the same session neither, and it leaves no lock behind.
    dead.query(&format!("SELECT {W}.run_begin('{{}}')"), &[])?;
    let result = rig::run(&mut dead, &json!({"run_families": 3}))?;
    ensure!(result["status"] == "stopped", "{result}");
    rig::check_unlocked(&mut client)?;

    // Inside a transaction a run cannot commit: it refuses and leaves nothing.
    rig::refused(
        dead.batch_execute(&format!("BEGIN; CALL {W}.run('{{}}')")),
        "2D000",
    )?;
    dead.batch_execute("ROLLBACK")?;
    rig::check_unlocked(&mut client)?;
    rig::check_whole(&mut client)
}

#[test]
fn a_full_disk_ends_the_run_red_and_the_next_one_works() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    rig::set(&mut client, "batch_families", 20)?;
    client.batch_execute(
        "CREATE SEQUENCE before.batch;
         CREATE FUNCTION before.full() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN
             IF nextval('before.batch') > 3 THEN
                 RAISE EXCEPTION 'could not extend file \"base/5/1259\": No space left on device' USING ERRCODE = '53100';
             END IF;
             RETURN NULL;
         END $$;
         CREATE TRIGGER full_disk AFTER DELETE ON t_ds_task_instance FOR EACH STATEMENT EXECUTE FUNCTION before.full()",
    )?;
    let (result, rule) = rig::run_rule(&mut client, &json!({}))?;
    ensure!(result["status"] == "failed", "{result}");
    ensure!(
        result["reason"]
            .as_str()
            .unwrap_or_default()
            .starts_with("error 53100: could not extend"),
        "{result}"
    );
    ensure!(
        rule["batches"] == 3 && rule["failures"] == json!([]),
        "{rule}"
    );
    rig::check_whole(&mut client)?;
    rig::check_unlocked(&mut client)?;
    client.batch_execute("DROP FUNCTION before.full() CASCADE")?;
    ensure!(rig::run(&mut client, &json!({}))?["status"] == "done");
    rig::check_whole(&mut client)
}
