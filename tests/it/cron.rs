//! The scheduled run, as pg_cron starts it.

mod clock;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use serde_json::{Value, json};
use windrow::bundle::Bundle;
use windrow::db;
use windrow::dialect::Dialect;
use windrow::fit;
use windrow::graph::Graph;
use windrow::render;
use windrow::sandbox::{self, Postgres, Settings};
use windrow::schedule::Schedule;

use crate::harness::tests;
use crate::rig::{self, W};
use crate::support::effort::{ends, one_end};
use crate::support::patience::until;

tests! {
    on_postgres: [
        pg_cron_starts_runs_that_record_themselves,
        every_version_installs_runs_and_uninstalls,
    ],
}

fn pg_cron_starts_runs_that_record_themselves() -> Result<()> {
    let versions = sandbox::installed();
    ensure!(
        versions.iter().any(|(major, _)| *major == 15),
        "PostgreSQL 15 is not installed: run `make setup`"
    );
    let versions: Vec<_> = versions
        .into_iter()
        .filter(|(major, _)| *major >= 14)
        .collect();
    let threads: Vec<_> = ends(versions)
        .into_iter()
        .map(|(major, bin_dir)| (major, thread::spawn(move || scheduled(major, bin_dir))))
        .collect();
    for (major, thread) in threads {
        rig::joined(thread).with_context(|| format!("on PostgreSQL {major}"))?;
    }
    Ok(())
}

/// What a check says of the schedule, after a change.
fn told(client: &mut Client, change: &str) -> Result<String> {
    client.batch_execute(change)?;
    let check = format!(
        "SELECT concat_ws(': ', c ->> 'severity', c ->> 'detail') FROM {W}.schedule_check() AS c"
    );
    Ok(rig::texts(client, &check)?.remove(0))
}

fn active(active: bool) -> String {
    format!("SELECT cron.alter_job(jobid, active := {active}) FROM cron.job WHERE jobname = '{W}'")
}

/// What was edited by hand, as `windrow diff` says it.
fn drifted(client: &mut Client) -> Result<Vec<String>> {
    let bundle = rig::bundle()?;
    let mut found = Vec::new();
    for query in bundle.deviations.iter().chain([&bundle.schedule]) {
        let query = format!("SELECT concat_ws('; ', d.problem, d.remedy) FROM ({query}) AS d");
        found.extend(rig::texts(client, &query)?);
    }
    Ok(found)
}

/// What somebody may do to the jobs, how severe that is, and what is said of it.
fn edits() -> [(String, &'static str, &'static str); 7] {
    let job = format!("FROM cron.job WHERE jobname = '{W}'");
    let history = format!("FROM cron.job WHERE jobname = '{W} history'");
    [
        (
            format!("SELECT cron.alter_job(jobid, schedule := '8 * * * *') {job}"),
            "violation",
            "starts at 8 * * * * instead of 7 * * * *",
        ),
        (
            format!("SELECT cron.alter_job(jobid, command := 'SELECT 1') {job}"),
            "violation",
            "does another thing: SELECT 1",
        ),
        (
            format!(
                "SELECT cron.alter_job(jobid, command := 'DELETE FROM cron.job_run_details') {history}"
            ),
            "violation",
            "does another thing: DELETE FROM cron.job_run_details",
        ),
        (
            format!("UPDATE cron.job SET username = 'postgres' WHERE jobname = '{W}'"),
            "violation",
            "runs as postgres",
        ),
        (
            format!("SELECT cron.alter_job(jobid, schedule := '8 * * * *', active := false) {job}"),
            "violation",
            "starts at 8 * * * * instead of 7 * * * *",
        ),
        (
            active(false),
            "violation",
            "is not active; SELECT cron.alter_job(",
        ),
        (
            format!("SELECT cron.unschedule(jobid) {job}"),
            "violation",
            "no job of pg_cron is called",
        ),
    ]
}

/// pg_cron shows each login its own jobs: what is hidden from somebody is not compared, and is said.
fn hidden(client: &mut Client, server: &Postgres) -> Result<()> {
    client.batch_execute(&format!("CREATE ROLE watcher LOGIN IN ROLE {W}_auditor"))?;
    for (user, expected) in [
        ("watcher", json!(["jobs of pg_cron"])),
        ("postgres", json!([])),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args([
                "diff",
                "specs/dolphinscheduler.toml",
                "--output",
                "json",
                "--url",
            ])
            .arg(server.url("ds", user))
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer: Value = serde_json::from_slice(&output.stdout).with_context(|| said.clone())?;
        ensure!(answer["not_compared"] == expected, "{user}: {answer}");
        let told = said.contains("cannot see the jobs of pg_cron");
        ensure!(told == (user == "watcher"), "{user}: {said}");
    }
    client.batch_execute("DROP ROLE watcher")?;
    Ok(())
}

fn jobs(client: &mut Client) -> Result<Vec<String>> {
    let jobs = "SELECT jobname || ': ' || schedule FROM cron.job ORDER BY jobname COLLATE \"C\"";
    rig::texts(client, jobs)
}

fn scheduled(major: u32, bin_dir: PathBuf) -> Result<()> {
    let settings = Settings {
        bin_dir: Some(bin_dir),
        preload_pg_cron: true,
        cron_database: "ds".to_owned(),
        ..Settings::default()
    };
    let mut server = match rig::start(150, &settings) {
        // The hint says how to install it; only the distribution's own version must have it.
        Err(error) if major != 15 && format!("{error:#}").contains("pg_cron") => return Ok(()),
        other => other?,
    };
    let mut admin = Client::connect(&server.url("postgres", "postgres"), NoTls)?;
    admin.batch_execute("CREATE DATABASE ds TEMPLATE origin")?;
    admin.batch_execute("CREATE DATABASE busy TEMPLATE origin")?;
    drop(admin);
    server.restart()?;
    let mut client = Client::connect(&server.url("ds", "postgres"), NoTls)?;

    schedules_once(&mut client)?;
    seconds_need_a_version(&mut client, &server.url("ds", "postgres"))?;
    let families = rig::call(&mut client, "preview", &json!({}))?["rules"][0]["families"].clone();

    // A database whose run is under way when the job starts.
    let mut busy = Client::connect(&server.url("busy", "postgres"), NoTls)?;
    busy.batch_execute(&format!("CALL {W}.arm()"))?;
    busy.batch_execute(&format!("SELECT {W}.run_begin('{{}}')"))?;
    busy.batch_execute("BEGIN; SELECT 1")?;

    both_start(&mut client)?;
    forgets(&mut client)?;

    edited(&mut client)?;
    hidden(&mut client, &server)?;
    idle_or_elsewhere(&mut client, &mut busy)?;
    each_line_is_a_job(&mut client)?;
    those_of_another_database_stay(&mut client)?;

    let run = client.query_one(
        &format!("SELECT r.trigger, r.status, r.started_by, p.families FROM {W}.run AS r JOIN {W}.run_rule AS p USING (run_id) ORDER BY run_id LIMIT 1"),
        &[],
    )?;
    let done: (&str, &str, &str, i64) = (run.get(0), run.get(1), run.get(2), run.get(3));
    ensure!(
        done.0 == "SCHEDULED" && done.1 == "done" && done.2 == format!("{W}_schedule"),
        "{done:?}"
    );
    ensure!(
        families == done.3 && done.3 > 50,
        "{families} in the preview, {done:?}"
    );
    rig::check_whole(&mut client)?;

    // The overlapping start was refused without harm: one run in the ledger, nothing deleted.
    let runs = rig::texts(
        &mut busy,
        &format!("SELECT trigger || ' ' || status FROM {W}.run"),
    )?;
    ensure!(runs == ["MANUAL running"], "{runs:?}");
    ensure!(rig::number(&mut busy, "SELECT before.gone()")? == 0);

    if major == 15 {
        client = without_pg_cron(&mut server, client)?;
    }
    client = clock::by_another_clock(&mut server, client)?;

    rig::uninstall(&mut client)?;
    let left = rig::texts(&mut client, "SELECT database FROM cron.job")?;
    ensure!(left == ["busy", "busy"], "still scheduled: {left:?}");
    Ok(())
}

/// Without the extension the installation went through with a notice; with it, it schedules, once.
fn schedules_once(client: &mut Client) -> Result<()> {
    client.batch_execute(&format!("CREATE EXTENSION pg_cron; CALL {W}.arm()"))?;
    for _ in 0..2 {
        rig::install(client)?;
    }
    let jobs = rig::texts(
        client,
        "SELECT concat_ws(' | ', jobname, schedule, command, database, active) FROM cron.job ORDER BY jobname",
    )?;
    ensure!(
        jobs.len() == 2
            && jobs[0]
                == format!(
                    "{W} | 7 * * * * | CALL {W}.run('{{\"trigger\": \"SCHEDULED\"}}') | ds | t"
                )
            && jobs[1].starts_with(&format!(
                "{W} history | 41 3 * * * | DELETE FROM cron.job_run_details "
            )),
        "{jobs:?}"
    );
    // Under a login of its own, which is an operator and nothing else.
    let logins = rig::texts(
        client,
        "SELECT DISTINCT concat_ws(' ', j.username, r.rolcanlogin, r.rolsuper, r.rolcreaterole, (SELECT string_agg(a.roleid::regrole::text, ' ') FROM pg_auth_members AS a WHERE a.member = r.oid))
         FROM cron.job AS j JOIN pg_roles AS r ON r.rolname = j.username",
    )?;
    ensure!(
        logins == [format!("{W}_schedule t f f {W}_operator")],
        "{logins:?}"
    );
    // What the database limits for the application does not end its runs.
    let settings = format!(
        "SELECT array_to_string(s.setconfig, ', ') FROM pg_db_role_setting AS s WHERE s.setrole = '{W}_schedule'::regrole"
    );
    let settings = rig::texts(client, &settings)?;
    ensure!(settings == ["statement_timeout=0"], "{settings:?}");
    Ok(())
}

/// A check warns of seconds where pg_cron refuses them, and nowhere else.
fn seconds_need_a_version(client: &mut Client, url: &str) -> Result<()> {
    let mut transaction = client.transaction()?;
    let schedule = "SELECT cron.schedule('seconds', '30 seconds', 'SELECT 1')";
    let refuses = transaction.batch_execute(schedule).is_err();
    transaction.rollback()?;
    let catalog = db::connect_as_application(&url.parse()?)?.catalog("public")?;
    let mut graph = rig::graph();
    for (schedule, told) in [("30 seconds", refuses), ("* * * * *", false)] {
        graph.schedules = Schedule::parse(schedule).into_iter().collect();
        let found = fit::compare(&graph, &catalog);
        let found = found.iter().any(|it| it.code == "pg-cron-seconds");
        ensure!(found == told, "{schedule}, refused: {refuses}");
    }
    Ok(())
}

/// Starts the jobs of both databases soon, and waits for them.
fn both_start(client: &mut Client) -> Result<()> {
    let version = rig::texts(
        client,
        "SELECT extversion FROM pg_extension WHERE extname = 'pg_cron'",
    )?
    .remove(0);
    let schedule = if ["1.3", "1.4", "1.4-1"].contains(&version.as_str()) {
        "* * * * *"
    } else {
        "2 seconds"
    };
    client.batch_execute(&format!(
        "SELECT cron.alter_job(jobid, schedule := '{schedule}') FROM cron.job WHERE jobname = '{W}';
         SELECT cron.schedule_in_database('busy', '{schedule}', command, 'busy') FROM cron.job WHERE jobname = '{W}'"
    ))?;
    let mut details = || {
        rig::texts(
            client,
            "SELECT DISTINCT database::text || ' ' || status FROM cron.job_run_details ORDER BY 1",
        )
    };
    // At the next minute: pg_cron before 1.5 knows no seconds.
    until("a job starts", || Ok(!details()?.is_empty()))?;
    until("both jobs end", || {
        let details = details()?;
        ensure!(
            !details.iter().any(|job| job.ends_with(" failed")),
            "{details:?}"
        );
        Ok(["busy succeeded", "ds succeeded"]
            .iter()
            .all(|job| details.iter().any(|d| d == job)))
    })
}

/// What a month ago was done is forgotten, but that of another job is not windrow's.
fn forgets(client: &mut Client) -> Result<()> {
    client.batch_execute("UPDATE cron.job_run_details SET start_time = now() - interval '31 days', end_time = now() - interval '31 days'")?;
    let forget = rig::texts(
        client,
        &format!("SELECT command FROM cron.job WHERE jobname = '{W} history'"),
    )?;
    client.batch_execute(&forget[0])?;
    let old = rig::texts(
        client,
        "SELECT DISTINCT j.jobname::text FROM cron.job_run_details AS d JOIN cron.job AS j USING (jobid) WHERE d.end_time < now() - interval '30 days'",
    )?;
    ensure!(old == ["busy"], "{old:?}");
    client.batch_execute("SELECT cron.unschedule('busy')")?;
    Ok(())
}

/// Whether the job will start runs, and what was edited by hand.
fn edited(client: &mut Client) -> Result<()> {
    let hurried = told(client, "")?;
    ensure!(hurried.starts_with("violation: job "), "{hurried}");
    rig::install(client)?;
    let fine = told(client, "")?;
    ensure!(fine.starts_with("ok: job "), "{fine}");
    let left = drifted(client)?;
    ensure!(left.is_empty(), "{left:?}");
    for (change, severity, says) in edits() {
        let found = told(client, &change)?;
        let drift = drifted(client)?;
        ensure!(
            found.starts_with(&format!("{severity}: ")) && found.contains(says),
            "{change}: {found}"
        );
        ensure!(
            drift.len() == 1 && drift[0].contains(says),
            "{change}: {drift:?}"
        );
        rig::schedule(client)?;
        // Who has stopped a job may want it so.
        let fine = told(client, &active(true))?;
        let left = drifted(client)?;
        ensure!(
            fine.starts_with("ok: job ") && left.is_empty(),
            "{fine}, {left:?}"
        );
    }
    Ok(())
}

/// A job that is not active, or works elsewhere.
fn idle_or_elsewhere(client: &mut Client, busy: &mut Client) -> Result<()> {
    // Only where it is armed does anybody rely on it.
    for (armed, severity) in [("false", "notice"), ("true", "violation")] {
        client.batch_execute(&format!("UPDATE {W}.control SET armed = {armed}"))?;
        let idle = told(client, &active(false))?;
        ensure!(
            idle.starts_with(&format!("{severity}: job ")) && idle.contains("is not active"),
            "{idle}"
        );
        // An installation says so, and leaves it.
        rig::install(client)?;
        ensure!(told(client, "")? == idle, "{idle}");
    }
    // Where the schedule was left out, runs are started from elsewhere.
    for (scheduled, severity) in [("false", "notice"), ("true", "violation")] {
        let set = format!("UPDATE {W}.control SET scheduled = {scheduled}");
        let idle = told(client, &set)?;
        ensure!(
            idle.starts_with(&format!("{severity}: job "))
                && idle.contains("windrow install --skip 60_schedule.sql")
                    == (severity == "violation"),
            "{idle}"
        );
        // It is no difference there, nor is a job that is gone.
        let drift = drifted(client)?;
        ensure!(drift.len() == usize::from(scheduled == "true"), "{drift:?}");
    }
    let moved = "UPDATE cron.job SET database = 'busy', active = true";
    let moved = told(client, moved)?;
    ensure!(
        moved.starts_with("violation: no job of pg_cron is called"),
        "{moved}"
    );
    let gone = told(client, "UPDATE cron.job SET database = 'gone'")?;
    ensure!(
        gone.starts_with("violation: job ") && gone.contains("gone, which does not exist"),
        "{gone}"
    );
    // In a database without pg_cron, something else starts runs, unless an installation has scheduled them.
    for (scheduled, severity) in [("false", "notice"), ("true", "violation")] {
        let set = format!("UPDATE {W}.control SET scheduled = {scheduled}");
        let nowhere = told(busy, &set)?;
        ensure!(
            nowhere.starts_with(&format!("{severity}: pg_cron is not in database busy")),
            "{nowhere}"
        );
    }
    // A copy of the server would start the jobs of the one it was copied from.
    let copied = "UPDATE cron.job SET database = 'ds', nodeport = nodeport + 1";
    let copied = told(client, copied)?;
    ensure!(
        copied.starts_with("violation: job ") && copied.contains("works on another server"),
        "{copied}"
    );
    Ok(())
}

/// Jobs that somebody made for another database, under the same name, are left alone.
fn those_of_another_database_stay(client: &mut Client) -> Result<()> {
    // pg_cron before 1.4 makes no job for another database.
    client.batch_execute(&format!(
        "INSERT INTO cron.job (schedule, command, nodename, nodeport, database, username, jobname)
         SELECT '9 9 * * *', 'SELECT 1', nodename, nodeport, 'busy', 'postgres', jobname || suffix
         FROM cron.job, unnest(ARRAY['', ' line 2']) AS s(suffix) WHERE jobname = '{W}'"
    ))?;
    rig::install(client)?;
    let left = rig::texts(client, THEIRS)?;
    ensure!(left == [W.to_owned(), format!("{W} line 2")], "{left:?}");
    let fine = told(client, "")?;
    ensure!(fine.starts_with("ok: job "), "{fine}");
    let drift = drifted(client)?;
    ensure!(drift.is_empty(), "{drift:?}");
    // One login has one job of a name: it is not overwritten.
    client.batch_execute(&format!(
        "SELECT cron.unschedule(jobid) FROM cron.job WHERE jobname = '{W}' AND database = 'ds';
         UPDATE cron.job SET username = '{W}_schedule' WHERE jobname = '{W}'"
    ))?;
    rig::install(client)?;
    let left = rig::texts(client, THEIRS)?;
    ensure!(left.len() == 2, "{left:?}");
    let missing = told(client, "")?;
    ensure!(
        missing.starts_with("violation: no job of pg_cron is called"),
        "{missing}"
    );
    client.batch_execute(&format!(
        "UPDATE cron.job SET username = 'postgres' WHERE jobname = '{W}'"
    ))?;
    rig::install(client)?;
    let fine = told(client, "")?;
    ensure!(fine.starts_with("ok: job "), "{fine}");
    Ok(())
}

/// The jobs that are not of this database, and do as they did.
const THEIRS: &str = "SELECT jobname FROM cron.job WHERE database = 'busy' AND command = 'SELECT 1' ORDER BY jobname COLLATE \"C\"";

/// Every line of the schedule is a job, and those of lines that are gone go.
fn each_line_is_a_job(client: &mut Client) -> Result<()> {
    let lines = Graph {
        schedules: ["7 * * * *", "*/5 3 * * 0"]
            .map(|line| Schedule::parse(line).expect("a schedule"))
            .to_vec(),
        workers: 2,
        ..rig::graph()
    };
    let of_lines = render::bundle(&lines, Dialect::Postgres)?;
    apply(client, &of_lines, &["10_control.sql", "60_schedule.sql"])?;
    let both = jobs(client)?;
    ensure!(
        both[0] == format!("{W}: 7 * * * *")
            && both[1].starts_with(&format!("{W} history: "))
            && both[2..]
                == [
                    format!("{W} line 2: */5 3 * * 0"),
                    format!("{W} line 2 worker 2: */5 3 * * 0"),
                    format!("{W} worker 2: 7 * * * *"),
                ],
        "{both:?}"
    );
    let second = "SELECT command FROM cron.job WHERE jobname LIKE '% line 2 worker 2'";
    let second = rig::texts(client, second)?;
    ensure!(
        second[0] == format!("CALL {W}.run('{{\"trigger\": \"SCHEDULED\", \"worker\": 2}}')"),
        "{second:?}"
    );
    let fine = told(client, "")?;
    ensure!(
        fine.starts_with("ok: job ") && fine.matches("; job ").count() == 4,
        "{fine}"
    );
    apply(client, &rig::bundle()?, &["10_control.sql"])?;
    let left = told(client, "")?;
    ensure!(
        left.starts_with("violation: job ") && left.contains(&format!("{W} line 2, is of no line")),
        "{left}"
    );
    rig::install(client)?;
    let one = jobs(client)?;
    ensure!(one[..] == both[..2], "{one:?}");
    let fine = told(client, "")?;
    ensure!(fine.starts_with("ok: job "), "{fine}");
    Ok(())
}

/// A server that comes up without pg_cron; who configured it has left the rest as it was.
fn without_pg_cron(server: &mut Postgres, mut client: Client) -> Result<Client> {
    let file = rig::texts(&mut client, "SHOW config_file")?.remove(0);
    let with = std::fs::read_to_string(&file)?;
    // A standby repeats the jobs of its primary, which connect there.
    let moved = "UPDATE cron.job SET nodeport = nodeport + 1";
    let moved = told(&mut client, moved)?;
    ensure!(moved.starts_with("violation: job "), "{moved}");
    let signal = Path::new(&rig::texts(&mut client, "SHOW data_directory")?.remove(0))
        .join("standby.signal");
    std::fs::write(&signal, "")?;
    server.restart()?;
    client = Client::connect(&server.url("ds", "postgres"), NoTls)?;
    let standby = told(&mut client, "")?;
    ensure!(
        standby.starts_with("notice: job ") && standby.contains("works on another server"),
        "{standby}"
    );
    std::fs::remove_file(&signal)?;
    server.restart()?;
    client = Client::connect(&server.url("ds", "postgres"), NoTls)?;
    let back = told(&mut client, "UPDATE cron.job SET nodeport = nodeport - 1")?;
    ensure!(back.starts_with("ok: job "), "{back}");
    let without = format!("{with}shared_preload_libraries = ''\n");
    for (text, expected) in [
        (without, "violation: the server has not loaded pg_cron"),
        (with, "ok: job "),
    ] {
        std::fs::write(&file, text)?;
        server.restart()?;
        client = Client::connect(&server.url("ds", "postgres"), NoTls)?;
        let said = told(&mut client, "")?;
        ensure!(said.starts_with(expected), "{said}");
    }
    Ok(client)
}

/// The files as `psql -f` takes them, on every version: what is previewed goes, and nothing is left of windrow.
fn every_version_installs_runs_and_uninstalls() -> Result<()> {
    let mut served = sandbox::installed();
    served.retain(|(major, _)| *major >= 14);
    for (major, bin_dir) in one_end(served) {
        through_psql(bin_dir).with_context(|| format!("on PostgreSQL {major}"))?;
    }
    Ok(())
}

fn through_psql(bin_dir: PathBuf) -> Result<()> {
    let server = Postgres::start(&Settings {
        bin_dir: Some(bin_dir),
        ..Settings::default()
    })?;
    let mut client = Client::connect(&server.url("postgres", "postgres"), NoTls)?;
    rig::load(&mut client, 150)?;
    let catalog = "SELECT string_agg(c.relname || coalesce(c.relacl::text, ''), ' ' ORDER BY c.relname) FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace";
    let before = rig::texts(&mut client, catalog)?;
    let directory = tempfile::tempdir()?;
    let files = rig::bundle()?.files;
    let psql = |name: &str, text: &str| -> Result<()> {
        let path = directory.path().join(name);
        std::fs::write(&path, text)?;
        let output = server
            .bin("psql")
            .args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f"])
            .arg(&path)
            .output()?;
        ensure!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    };
    let named = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    for _ in 0..2 {
        for file in files
            .iter()
            .filter(|file| named(&file.path).as_str() < "90")
        {
            psql(&named(&file.path), &file.text)?;
        }
    }
    rig::set_policies(&mut client)?;
    client.batch_execute(&format!("CALL {W}.arm()"))?;
    let preview = rig::call(&mut client, "preview", &json!({}))?["rules"][0].clone();
    let (dry, of_dry) = rig::run_rule(&mut client, &json!({"dry_run": true}))?;
    let (result, of_run) = rig::run_rule(&mut client, &json!({}))?;
    ensure!(
        dry["status"] == "done" && result["status"] == "done",
        "{dry} {result}"
    );
    for figure in ["families", "rows", "tables", "skipped"] {
        ensure!(
            preview[figure] == of_run[figure] && preview[figure] == of_dry[figure],
            "{figure}: {preview} {of_dry} {of_run}"
        );
    }
    rig::check_whole(&mut client)?;
    let (again, of_again) = rig::run_rule(&mut client, &json!({}))?;
    ensure!(
        again["status"] == "done" && of_again["rows"] == 0,
        "{again}"
    );
    let document = rig::call(&mut client, "verify", &json!({}))?;
    ensure!(document["clean"] == true, "{document}");
    psql(
        "verify.sql",
        &files
            .iter()
            .find(|file| file.path.ends_with("/verify.sql"))
            .context("verify.sql")?
            .text,
    )?;
    for _ in 0..2 {
        for file in files
            .iter()
            .filter(|file| named(&file.path).starts_with("90"))
        {
            psql(&named(&file.path), &file.text)?;
        }
    }
    let after = rig::texts(&mut client, catalog)?.remove(0);
    let after = after
        .replace("{postgres=arwdDxt/postgres}", "")
        .replace("{postgres=arwdDxtm/postgres}", "");
    ensure!(after == before[0], "{after}");
    ensure!(
        rig::number(
            &mut client,
            "SELECT (SELECT count(*) FROM pg_roles WHERE rolname LIKE 'windrow%') + (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'windrow%')"
        )? == 0
    );
    Ok(())
}

/// Applies some files of a bundle, by their names.
fn apply(client: &mut Client, bundle: &Bundle, names: &[&str]) -> Result<()> {
    let files = bundle.files.iter();
    let files = files.filter(|file| names.iter().any(|name| file.path.ends_with(name)));
    for statement in files.flat_map(|file| &file.statements) {
        client.batch_execute(&statement.sql)?;
    }
    Ok(())
}
