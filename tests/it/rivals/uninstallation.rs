//! Uninstallations, and installations that take something away, beside runs and the application.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::history::{History, Server, joined};
use crate::support::patience::until;

tests! {
    every_server: [
        an_uninstallation_during_a_run_is_clean,
        an_uninstallation_lets_the_application_through,
        an_installation_that_drops_triggers_lets_the_application_through,
    ],
    on_postgres: [
        an_uninstallation_that_gives_way_in_a_deadlock_tries_again,
    ],
}

fn an_uninstallation_during_a_run_is_clean(dialect: Dialect) -> Result<()> {
    // Roles of PostgreSQL belong to a whole server, and its spec has one name: this one is its own.
    let server = Server::start(dialect, 200)?;
    let history = History::create(&server)?;
    let mut client = history.connect()?;
    client.set("batch_families", 5)?;
    client.slow_down(100)?;
    let runner = history.run_aside(json!({}));
    client.until_batches(0)?;
    history.uninstall()?;
    if let Ok(result) = joined(runner) {
        bail!("the run went on: {result}");
    }
    let torn = client.torn()?;
    ensure!(torn.is_empty(), "{torn:?}");
    let left = client.number(&client.either(
        "SELECT COUNT(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relname LIKE 'windrow%' OR n.nspname LIKE 'windrow%'".to_owned(),
        format!(
            "SELECT (SELECT COUNT(*) FROM information_schema.statistics WHERE index_name LIKE 'windrow%' AND table_schema = '{}')
                  + (SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE 'windrow%')
                  + (SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'windrow%')",
            history.name
        ),
    ))?;
    ensure!(left == 0, "{left}");
    if dialect == Dialect::Postgres {
        // The origin still uses the roles, so they stay.
        let roles = "SELECT COUNT(*) FROM pg_roles WHERE rolname LIKE 'windrow%'";
        ensure!(client.number(roles)? == 3);
    }
    history.install()?;
    client.execute("CALL W.arm()")?;
    client.speed_up()?;
    ensure!(client.run(&json!({}))?["status"] == "done");
    let torn = client.torn()?;
    ensure!(torn.is_empty(), "{torn:?}");
    client.check_unlocked()
}

/// Where a transaction is open on a table, whoever wants it after an uninstallation that wants it waits, too.
fn an_uninstallation_lets_the_application_through(dialect: Dialect) -> Result<()> {
    let server = Server::start(dialect, 20)?;
    let history = History::create(&server)?;
    let mut open = history.connect()?;
    open.execute("BEGIN; SELECT id FROM t_ds_workflow_instance LIMIT 1")?;
    let folder = tempfile::tempdir()?;
    let spec = folder.path().join("spec.toml");
    history.write_spec(&spec)?;
    let mut uninstall = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args([
            "uninstall",
            "--yes",
            "--url",
            &history.url_at(history.port()?)?,
        ])
        .arg(&spec)
        .stderr(Stdio::piped())
        .spawn()?;
    let mut client = history.connect()?;
    let gone = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE 'windrow%'";
    until("a control schema that is gone", || {
        Ok(client.number(gone)? == 0)
    })?;
    let mut longest = Duration::ZERO;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(4) {
        let since = Instant::now();
        client.number("SELECT COUNT(*) FROM t_ds_workflow_instance")?;
        longest = longest.max(since.elapsed());
        thread::sleep(Duration::from_millis(5));
    }
    let waits = dialect != Dialect::Postgres;
    ensure!(
        !waits || longest > Duration::from_millis(500),
        "nobody waited"
    );
    ensure!(
        longest < Duration::from_secs(6),
        "the application waited for {longest:?}"
    );
    ensure!(uninstall.try_wait()?.is_none(), "it gave up");
    open.execute("COMMIT")?;
    let output = uninstall.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}");
    let left = client.number(&client.either(
        "SELECT COUNT(*) FROM pg_class WHERE relname LIKE 'windrow%'".to_owned(),
        format!(
            "SELECT COUNT(*) FROM information_schema.statistics WHERE index_name LIKE 'windrow%' AND table_schema = '{}'",
            history.name
        ),
    ))?;
    ensure!(left == 0, "{left} indexes are left: {said}");
    Ok(())
}

/// A spec without orphan guards: the triggers of an earlier state of it are dropped, which takes a lock of each table.
fn an_installation_that_drops_triggers_lets_the_application_through(
    dialect: Dialect,
) -> Result<()> {
    let server = Server::start(dialect, 20)?;
    let mut history = History::create(&server)?;
    history.graph.rules[0].orphan_guard = true;
    history.install()?;
    let mut client = history.connect()?;
    let triggers = client.either(
        "SELECT COUNT(*) FROM pg_trigger WHERE tgname LIKE 'windrow%'".to_owned(),
        format!(
            "SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_name LIKE 'windrow%' AND trigger_schema = '{}'",
            history.name
        ),
    );
    ensure!(client.number(&triggers)? > 2);
    let mut open = history.connect()?;
    open.execute("BEGIN; SELECT id FROM t_ds_command LIMIT 1")?;
    let folder = tempfile::tempdir()?;
    let spec = folder.path().join("spec.toml");
    history.write_spec(&spec)?;
    let mut install = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(["install", "--url", &history.url_at(history.port()?)?])
        .arg(&spec)
        .stderr(Stdio::piped())
        .spawn()?;
    let patience = client.either(
        "SET statement_timeout = '8s'".to_owned(),
        "SET lock_wait_timeout = 8".to_owned(),
    );
    client.execute(&patience)?;
    let (mut longest, mut waited) = (Duration::ZERO, 0);
    let began = Instant::now();
    // Until it was tried twice.
    while waited < 2 && began.elapsed() < Duration::from_secs(90) {
        let since = Instant::now();
        client.number("SELECT COUNT(*) FROM t_ds_command")?;
        waited += i32::from(since.elapsed() > Duration::from_millis(500));
        longest = longest.max(since.elapsed());
        thread::sleep(Duration::from_millis(5));
    }
    ensure!(waited == 2, "nobody waited");
    ensure!(
        longest < Duration::from_secs(6),
        "the application waited for {longest:?}"
    );
    ensure!(install.try_wait()?.is_none(), "it gave up");
    open.execute("COMMIT")?;
    let output = install.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}");
    ensure!(client.number(&triggers)? == 0, "{said}");
    Ok(())
}

/// On PostgreSQL, where a schema is dropped table by table.
fn an_uninstallation_that_gives_way_in_a_deadlock_tries_again() -> Result<()> {
    let server = Server::start(Dialect::Postgres, 50)?;
    let history = History::create(&server)?;
    let mut client = history.connect()?;
    // Like a batch that has read its settings, and comes to write its progress.
    client.execute("SET deadlock_timeout = '1min'")?;
    client.execute("BEGIN; SELECT FROM W.setting")?;
    let mut watcher = history.connect()?;
    thread::scope(|scope| -> Result<()> {
        let remover = scope.spawn(|| history.uninstall());
        until("an uninstallation that waits", || {
            Ok(watcher.number(
                "SELECT count(*) FROM pg_locks WHERE relation = 'W.setting'::regclass AND NOT granted",
            )? > 0)
        })?;
        client.execute("SELECT FROM W.run; COMMIT")?;
        remover.join().expect("no panic")
    })?;
    let left = watcher.number("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'windrow%'")?;
    ensure!(left == 0, "{left}");
    Ok(())
}
