//! Throw-away servers: they start, survive a kill, and leave nothing behind.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use windrow::sandbox::{self, Postgres, Settings};

mod mysql;

use crate::harness::tests;
use crate::support::patience::until;

tests! {
    within: [mysql::tests],
    on_postgres: [
        every_installed_version_starts_and_answers,
        a_killed_server_restarts_with_what_was_committed,
        a_dropped_server_is_gone_with_its_directory,
        a_kept_server_is_found_again_and_ended,
        the_cpu_time_of_ended_backends_counts,
        a_failed_start_quotes_the_log,
        a_folder_without_a_server_is_an_error,
        pg_cron_is_loaded_on_request,
        a_server_of_another_process,
        a_killed_process_takes_its_server_along,
        a_user_other_than_root_can_start_one,
    ],
}

/// The user and group id that no account of a person has.
const NOBODY: u32 = 65534;

fn connect(server: &Postgres) -> Result<Client> {
    Ok(Client::connect(&server.url("postgres", "postgres"), NoTls)?)
}

fn is_process(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

fn every_installed_version_starts_and_answers() -> Result<()> {
    let found = sandbox::installed();
    ensure!(
        !found.is_empty(),
        "no PostgreSQL is installed: run `make setup`"
    );
    for (major, bin_dir) in found {
        let server = Postgres::start(&Settings {
            bin_dir: Some(bin_dir),
            ..Settings::default()
        })?;
        let mut client = connect(&server)?;
        let row = client.query_one(
            "SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'), \
             current_setting('TimeZone'), current_setting('lc_collate', true), datcollate \
             FROM pg_database WHERE datname = 'postgres'",
            &[],
        )?;
        assert_eq!(row.get::<_, i32>(0), i32::try_from(major)?);
        assert_eq!(row.get::<_, &str>(1), "UTF8");
        assert_eq!(row.get::<_, &str>(2), "UTC");
        assert_eq!(row.get::<_, &str>(4), "C.UTF-8");
        let answer = server
            .bin("psql")
            .args(["-Atc", "SELECT current_user"])
            .output()?;
        assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "postgres");
    }
    Ok(())
}

fn a_killed_server_restarts_with_what_was_committed() -> Result<()> {
    let mut server = Postgres::start(&Settings {
        durable: true,
        ..Settings::default()
    })?;
    let port = server.port();
    let mut client = connect(&server)?;
    client.batch_execute(
        "CREATE TABLE kept (id int); INSERT INTO kept SELECT generate_series(1, 1000)",
    )?;
    let mut open = client.transaction()?;
    open.batch_execute("DELETE FROM kept")?;
    let backend: i32 = open.query_one("SELECT pg_backend_pid()", &[])?.get(0);
    let backend = u32::try_from(backend)?;
    let postmaster = server.pid();

    server.kill()?;
    assert!(!is_process(postmaster) && !is_process(backend));
    drop(open.rollback());
    assert!(connect(&server).is_err());

    server.restart()?;
    assert_eq!(server.port(), port);
    assert_ne!(server.pid(), postmaster);
    let rows: i64 = connect(&server)?
        .query_one("SELECT count(*) FROM kept", &[])?
        .get(0);
    assert_eq!(rows, 1000);
    Ok(())
}

fn a_dropped_server_is_gone_with_its_directory() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let (pid, dir) = (server.pid(), server.socket_dir().to_owned());
    assert!(is_process(pid) && dir.exists());
    drop(server);
    assert!(!is_process(pid) && !dir.exists());
    Ok(())
}

fn a_kept_server_is_found_again_and_ended() -> Result<()> {
    let parent = tempfile::tempdir()?;
    open_to_all(parent.path())?;
    let dir = parent.path().join("kept");
    let settings = Settings {
        keep_at: Some(dir.clone()),
        ..Settings::default()
    };
    let server = Postgres::start(&settings)?;
    let (pid, port) = (server.pid(), server.port());
    drop(server);
    assert!(is_process(pid));

    let occupied = Postgres::start(&settings)
        .map(drop)
        .expect_err("the start must fail")
        .to_string();
    assert!(
        occupied.contains("runs in") && occupied.contains("demo --down"),
        "{occupied}"
    );

    let found = Postgres::attach(&dir)?;
    assert_eq!((found.pid(), found.port()), (pid, port));
    connect(&found)?.batch_execute("SELECT 1")?;
    let answer = found.bin("psql").args(["-Atc", "SELECT 1"]).output()?;
    assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "1");
    drop(found);
    assert!(is_process(pid));

    sandbox::stop_at(&dir)?;
    assert!(!dir.exists());
    // The postmaster is still a child of this process, which has not asked for its exit status.
    assert!(!is_process(pid));
    Ok(())
}

fn the_cpu_time_of_ended_backends_counts() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let before = server.cpu_seconds();
    let mut client = connect(&server)?;
    let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[])?.get(0);
    let pid = u32::try_from(pid)?;
    client.batch_execute("SELECT sum(sqrt(n)) FROM generate_series(1, 2000000) n")?;
    let spent = sandbox::backend_cpu_seconds(pid);
    assert!(spent > 0.05, "{spent}");
    drop(client);
    until("the backend has ended", || Ok(!is_process(pid)))?;
    assert_eq!(sandbox::backend_cpu_seconds(pid), 0.0);
    // Its time is the server's once that has seen the end, and nothing of the process is left.
    until("the server has seen it", || {
        Ok(!Path::new(&format!("/proc/{pid}")).exists())
    })?;
    let all = server.cpu_seconds() - before;
    // The kernel counts in hundredths of a second and rounds each process by itself.
    assert!(all >= spent - 0.02, "{all} {spent}");
    Ok(())
}

/// Why a server does not start.
fn not_started(settings: &Settings) -> String {
    let started = Postgres::start(settings).map(drop);
    format!("{:#}", started.expect_err("the start must fail"))
}

fn a_failed_start_quotes_the_log() {
    let settings = Settings {
        extra: vec![("no_such_setting".into(), "1".into())],
        ..Settings::default()
    };
    let error = not_started(&settings);
    assert!(error.contains("no_such_setting"), "{error}");
}

fn a_folder_without_a_server_is_an_error() {
    let settings = Settings {
        bin_dir: Some("/nonexistent".into()),
        ..Settings::default()
    };
    let error = not_started(&settings);
    assert!(
        error.contains("/nonexistent") && error.contains("hint:"),
        "{error}"
    );
}

fn pg_cron_is_loaded_on_request() -> Result<()> {
    let settings = Settings {
        preload_pg_cron: true,
        cron_database: "jobs".to_owned(),
        ..Settings::default()
    };
    let server = Postgres::start(&settings)?;
    connect(&server)?.batch_execute("CREATE DATABASE jobs")?;
    let mut client = Client::connect(&server.url("jobs", "postgres"), NoTls)?;
    client.batch_execute("CREATE EXTENSION pg_cron")?;
    Ok(())
}

/// Run as a process of its own by the two tests below, with the variable set; a plain start and drop otherwise.
fn a_server_of_another_process() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    connect(&server)?.batch_execute("SELECT 1")?;
    report(server.pid(), server.socket_dir())
}

/// Tells the test that waits for it what it should look at, and lives on.
fn report(pid: u32, dir: &Path) -> Result<()> {
    if let Some(report) = std::env::var_os("WINDROW_TEST_REPORT") {
        std::fs::write(report, format!("{pid} {}", dir.display()))?;
        std::thread::sleep(Duration::from_secs(300));
    }
    Ok(())
}

fn a_killed_process_takes_its_server_along() -> Result<()> {
    kill_process_of("sandbox::a_server_of_another_process")
}

/// As root the server runs as another user, so this is the only case in which the test's own user starts it.
fn a_user_other_than_root_can_start_one() -> Result<()> {
    run_as_nobody("sandbox::a_server_of_another_process")
}

/// This test binary, limited to one test.
fn other_process(program: Option<&Path>, test: &str) -> Result<Command> {
    let mut command = Command::new(program.map_or(std::env::current_exe()?, Path::to_owned));
    command.args(["--exact", test]).stdin(Stdio::null());
    Ok(command)
}

/// Runs a test that reports as another process, kills that, and looks after its server.
fn kill_process_of(test: &str) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let report = scratch.path().join("report");
    let mut other = other_process(None, test)?
        .env("WINDROW_TEST_REPORT", &report)
        .stdout(Stdio::null())
        .spawn()?;
    until("the other process has a server", || {
        Ok(std::fs::read_to_string(&report).is_ok_and(|text| text.contains('/')))
    })?;
    let text = std::fs::read_to_string(&report)?;
    let (pid, dir) = text
        .split_once(' ')
        .context("a process id and a directory")?;
    let (pid, dir): (u32, PathBuf) = (pid.parse()?, dir.into());
    assert!(is_process(pid) && dir.exists());
    other.kill()?;
    other.wait()?;
    until("its server and directory are gone", || {
        Ok(!is_process(pid) && !dir.exists())
    })
}

/// Runs a test as another process, as `nobody` where this is root's.
fn run_as_nobody(test: &str) -> Result<()> {
    let own = std::fs::read_to_string("/proc/self/status")?;
    let is_root = own.lines().any(|line| line.starts_with("Uid:\t0\t"));
    // The binary's own folder may be closed to other users.
    let scratch = tempfile::tempdir()?;
    open_to_all(scratch.path())?;
    let copy = scratch.path().join("it");
    // By another process: what this one has open to write, a process that another thread starts now has open too, and
    // nobody could execute it.
    let status = Command::new("cp")
        .arg(std::env::current_exe()?)
        .arg(&copy)
        .status()?;
    ensure!(status.success(), "cp: {status}");
    let mut other = other_process(Some(&copy), test)?;
    other.current_dir("/").env("TMPDIR", "/tmp");
    if is_root {
        other.uid(NOBODY).gid(NOBODY).env("HOME", "/nonexistent");
    }
    let output = other.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
    Ok(())
}

fn open_to_all(dir: &Path) -> Result<()> {
    Ok(std::fs::set_permissions(
        dir,
        std::fs::Permissions::from_mode(0o755),
    )?)
}
