//! Sessions and servers that die in the middle of a batch: no family is torn apart, the ledger stays true, and the next
//! run finishes the work.

mod stops;

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rand::{Rng, SeedableRng, rngs::SmallRng};
use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::{count, tests};
use crate::rig::{self, Database, W};
use crate::support::effort::{first_seed, size};
use crate::support::graphs::graph_of;
use crate::support::history::{Client, History, joined, refused};
use crate::support::installation::{Installation, violations};
use crate::support::patience::{despite_cancels, until};
use crate::workers::slow_down;

tests! {
    within: [stops::tests],
    on_postgres: [
        a_statement_timeout_ends_the_run_like_a_cancel,
        a_run_ends_before_a_statement_timeout,
        a_cancel_while_a_run_looks_for_roots_counts_too,
        a_cancel_at_the_end_of_a_run_closes_the_ledger_too,
        a_session_that_began_a_run_and_does_nothing_blocks_nobody,
    ],
    every_server: [
        what_the_session_of_a_killed_run_commits_is_told_and_finished,
        a_full_disk_ends_the_run_red_and_the_next_one_works,
        a_cancel_counts_whatever_the_rule_before_has_met,
    ],
    each_server: [
        a_cancelled_run_leaves_no_half_family_and_no_lock,
    ],
}

fn kill(pid: i64) -> Result<()> {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -KILL {pid}")])
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "cannot kill {pid}");
    Ok(())
}

/// A session as soon as the server, which may be recovering, lets one in.
fn reconnect(history: &History) -> Result<Client> {
    let mut client = None;
    until("the server accepts a session", || {
        client = history.connect().ok();
        Ok(client.is_some())
    })?;
    client.context("a session")
}

fn until_unlocked(client: &mut Client) -> Result<()> {
    until("the session of the run has ended", || {
        Ok(client.check_unlocked().is_ok())
    })
}

/// The session that was cancelled stays: it rolls back and says that its run is over, as windrow does after an interrupt.
fn a_cancelled_run_leaves_no_half_family_and_no_lock(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    client.set("batch_families", 5)?;
    client.slow_down(15)?;
    let mut random = SmallRng::seed_from_u64(first_seed());
    let mut last = 0;
    // More would come to the end of the history.
    for _ in 0..size(4, 6) {
        count("cancelled runs", dialect.facts().title, 1);
        let mut session = history.connect()?;
        let cancel = session.session.cancel();
        let runner = std::thread::spawn(move || {
            let answer = session.run(&json!({}));
            Ok((session, answer))
        });
        let (run, _) = client.until_batches(last)?;
        last = run;
        sleep(Duration::from_millis(random.random_range(0..20)));
        // A KILL QUERY that comes between some two statements of a procedure is forgotten: another one comes before the run
        // is through, but not so often that it can never close. On PostgreSQL a second cancel would meet what the first one set off.
        let mut patience = Duration::from_millis(if dialect == Dialect::Postgres {
            30_000
        } else {
            20
        });
        while !runner.is_finished() {
            cancel()?;
            let again = Instant::now() + patience;
            patience = patience.mul_f64(1.2);
            while !runner.is_finished() && Instant::now() < again {
                sleep(Duration::from_millis(2));
            }
        }
        let (mut session, answer) = joined(runner)?;
        refused(answer, session.either("57014", "70100"))?;
        client.check_whole()?;
        // Between two batches nothing can catch it, and MySQL's handlers never do: the session says itself that it is over.
        despite_cancels(|| session.execute("ROLLBACK"))?;
        despite_cancels(|| session.execute(session.either("SELECT W.reap()", "CALL W.reap()")))?;
        client.check_whole()?;
        client.check_unlocked()?;
        let status = client.texts(&format!("SELECT status FROM W.run WHERE run_id = {run}"))?;
        let reason = client.texts(&format!("SELECT reason FROM W.run WHERE run_id = {run}"))?;
        ensure!(status == ["cancelled"], "{status:?} {reason:?}");
        let (result, _) = client.run_rule(&json!({"run_families": 5}))?;
        ensure!(result["status"] == "stopped", "{result}");
        client.check_whole()?;
    }
    client.check_unlocked()
}

/// Where a batch can be killed: the table that a statement of it writes to, and how. First those that a batch writes to
/// even if none of its families goes: the later ones begin with the families that stay.
const POINTS: [(&str, &str); 16] = [
    ("W.unfinished", "INSERT"),
    ("W.run_table", "UPDATE"),
    ("W.run_rule", "UPDATE"),
    ("W.unfinished", "DELETE"),
    ("W.artifact", "INSERT"),
    ("t_ds_alert_send_status", "DELETE"),
    ("t_ds_alert", "DELETE"),
    ("t_ds_command", "DELETE"),
    ("t_ds_error_command", "DELETE"),
    ("t_ds_relation_sub_workflow", "DELETE"),
    ("t_ds_relation_workflow_instance", "DELETE"),
    ("t_ds_serial_command", "DELETE"),
    ("t_ds_task_group_queue", "DELETE"),
    ("t_ds_task_instance_context", "DELETE"),
    ("t_ds_task_instance", "DELETE"),
    ("t_ds_workflow_instance", "DELETE"),
];

/// How many rows have no parent, by edge.
fn orphans(client: &mut Client) -> Result<Vec<i64>> {
    let sql = client.either(
        "SELECT edge, orphans FROM W.orphans() ORDER BY edge",
        "CALL W.orphans()",
    );
    let rows = client.rows(sql)?;
    rows.into_iter()
        .map(|row| Ok(row[1].as_deref().context("a number")?.parse()?))
        .collect()
}

/// MySQL runs no handler at KILL QUERY, and the session that stays may commit what the batch had done so far. The links of
/// a family may be gone then, and its members still there.
fn what_the_session_of_a_killed_run_commits_is_told_and_finished(dialect: Dialect) -> Result<()> {
    let (as_of, expected) = undisturbed(dialect)?;

    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    client.set("batch_families", 6)?;
    let before = orphans(&mut client)?;
    let mut rounds: Vec<_> = POINTS.iter().map(|point| ("run", *point)).collect();
    rounds.extend([
        ("dry run", POINTS[12]),
        ("dry run", POINTS[15]),
        ("purge", POINTS[14]),
        ("purge", POINTS[15]),
    ]);
    let mut due = client.due(200)?;
    let mut killed = Vec::new();
    for (routine, (table, event)) in rounds {
        if dialect == Dialect::Postgres && ["W.unfinished", "W.run_table"].contains(&table) {
            continue;
        }
        let round = format!("a {routine} killed at {event} of {table}");
        let options = match routine {
            "purge" => json!({"key": due.split_off(due.len() - 6)}),
            _ => json!({"as_of": as_of, "run_families": 6, "dry_run": routine == "dry run"}),
        };
        let present = client.digest()?;
        client.stop_at(table, event)?;
        let mut session = history.connect()?;
        let id = session.session.session()?;
        let cancel = session.session.cancel();
        let called = if routine == "purge" { "purge" } else { "run" };
        let runner = std::thread::spawn(move || {
            let answer = session.call(called, &options);
            Ok((session, answer))
        });
        let asleep = client.either(
            format!("SELECT COUNT(*) FROM pg_stat_activity WHERE pid = {id} AND wait_event = 'PgSleep'"),
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND state = 'User sleep'"),
        );
        until(&round, || {
            Ok(runner.is_finished() || client.number(&asleep)? == 1)
        })?;
        if runner.is_finished() {
            // No row of these families is in that table.
            let (_, answer) = joined(runner)?;
            answer.context(round)?;
            client.stop_no_more(table)?;
            continue;
        }
        while !runner.is_finished() {
            cancel()?;
            sleep(Duration::from_millis(20));
        }
        let (mut session, answer) = joined(runner)?;
        refused(answer, session.either("57014", "70100")).context(round.clone())?;
        despite_cancels(|| session.execute("COMMIT"))?;
        drop(session);
        until_unlocked(&mut client)?;
        client.stop_no_more(table)?;
        // The history has some, and those of a family go with it.
        let after = orphans(&mut client)?;
        ensure!(
            before
                .iter()
                .zip(&after)
                .all(|(before, after)| before >= after),
            "orphans of {round}: {after:?} instead of {before:?}"
        );
        if dialect == Dialect::Mysql {
            let verify = client.call("verify", &json!({}))?;
            let told = verify["checks"].as_array().context("checks")?;
            let told = told.iter().filter(|check| check["check"] == "unfinished");
            let told: Vec<_> = told.map(|check| check["object"].clone()).collect();
            let run = client.number("SELECT MAX(r.run_id) FROM W.run AS r")?;
            if told.contains(&json!(format!("run {run} workflow_instances"))) {
                killed.push(run);
            } else {
                ensure!(client.digest()? == present, "{round} is not told: {told:?}");
            }
            ensure!(told.len() == killed.len(), "{round}: {told:?}");
        } else {
            killed.push(0);
            client.check_whole().context(round.clone())?;
        }
        let (result, rule) = client.run_rule(&json!({"as_of": as_of, "run_families": 6}))?;
        ensure!(
            result["status"] == "stopped" && rule["failures"] == json!([]),
            "after {round}: {result}"
        );
    }
    finish(&mut client, &as_of, &expected, &killed)
}

/// The instant of a run that nothing disturbs, and what it leaves.
fn undisturbed(dialect: Dialect) -> Result<(String, Vec<String>)> {
    let twin = History::shared(dialect)?;
    let mut other = twin.connect()?;
    let as_of = other.present()?;
    let run = other.run(&json!({"as_of": as_of}))?;
    ensure!(run["status"] == "done", "{run}");
    let expected = other.digest()?;
    Ok((as_of, expected))
}

/// What is left goes with the next run, and the ledger tells of the runs that were killed.
fn finish(client: &mut Client, as_of: &str, expected: &[String], killed: &[i64]) -> Result<()> {
    ensure!(killed.len() > 10, "only {} points were met", killed.len());
    let run = client.run(&json!({"as_of": as_of}))?;
    ensure!(run["status"] == "done", "{run}");
    ensure!(
        client.digest()? == expected,
        "another state than undisturbed"
    );
    if client.dialect == Dialect::Mysql {
        ensure!(client.number("SELECT COUNT(*) FROM W.unfinished")? == 0);
        let told = client.number(
            "SELECT COUNT(*) FROM W.run AS r WHERE r.status = 'crashed' AND r.reason LIKE 'killed inside a batch%'",
        )?;
        ensure!(
            usize::try_from(told)? == killed.len(),
            "{told} of {killed:?}"
        );
    }
    let verify = client.call("verify", &json!({}))?;
    let wrong = violations(&verify);
    ensure!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// As a database may have it for the application; pg_cron starts each run with it.
fn a_run_ends_before_a_statement_timeout() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    rig::set(&mut client, "batch_families", 1)?;
    rig::slow_down(&mut client, 5)?;
    let mut session = database.connect()?;
    // On a busy machine most of the time may be over before the run has begun: then it gets more.
    let mut timeout = 4;
    loop {
        session.batch_execute(&format!("SET statement_timeout = '{timeout}s'"))?;
        let run = rig::run(&mut session, &json!({}))?;
        ensure!(run["reason"] == "time budget spent", "{run}");
        if run["rules"][0]["families"].as_i64() > Some(0) {
            break;
        }
        ensure!(timeout < 60, "{run}");
        timeout *= 2;
    }
    let tidy = rig::texts(&mut client, &format!("SELECT DISTINCT status FROM {W}.run"))?;
    ensure!(tidy == ["stopped"], "{tidy:?}");
    // It may be changed meanwhile, and so may the budget.
    let longer = json!({"time_budget": "2m"});
    let again = rig::run(&mut session, &longer)?;
    ensure!(again["reason"] == "time budget spent", "{again}");
    rig::check_whole(&mut client)?;
    rig::check_unlocked(&mut client)
}

/// A batch that lasts longer than that cannot end before it.
fn a_statement_timeout_ends_the_run_like_a_cancel() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    rig::set(&mut client, "batch_families", 5)?;
    rig::slow_down(&mut client, 1_000)?;
    let mut session = database.connect()?;
    // On a busy machine the time may be over before the run has begun: then it gets more.
    let mut timeout = 300;
    let statuses = loop {
        session.batch_execute(&format!("SET statement_timeout = '{timeout}ms'"))?;
        let run = rig::run(&mut session, &json!({}));
        if !matches!(&run, Ok(run) if run["reason"] == "time budget spent") {
            rig::refused(run, "57014")?;
        }
        session.batch_execute("SET statement_timeout = 0")?;
        // Where it fell between two batches, the session says itself that its run is over.
        session.batch_execute(&format!("SELECT {W}.reap()"))?;
        let statuses = rig::texts(
            &mut client,
            &format!("SELECT status FROM {W}.run ORDER BY run_id"),
        )?;
        if statuses.iter().any(|status| status == "cancelled") {
            break statuses;
        }
        timeout *= 2;
    };
    let last = statuses.last();
    ensure!(last.is_some_and(|it| it == "cancelled"), "{statuses:?}");
    rig::check_whole(&mut client)?;
    rig::check_unlocked(&mut client)?;
    client.batch_execute("DROP FUNCTION before.slow() CASCADE")?;
    ensure!(rig::run(&mut client, &json!({}))?["status"] == "done");
    rig::check_whole(&mut client)
}

fn a_cancel_while_a_run_looks_for_roots_counts_too() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    rig::set(&mut client, "batch_families", 5)?;
    // The wait must outlast the cancel: a time-out would let the cancel fall between two batches.
    rig::set(&mut client, "lock_timeout", 60_000)?;
    // Slow enough for the end, which looks at the policies as well, to be far away.
    rig::slow_down(&mut client, 50)?;
    cancelled_at("policy", &database, &mut client)
}

/// A client's cancel comes as two signals, to the process and to its group (signal_child() of the server), and the second
/// one may come when the first has been dealt with.
fn a_cancel_at_the_end_of_a_run_closes_the_ledger_too() -> Result<()> {
    let database = Database::shared()?;
    let mut client = database.connect()?;
    rig::slow_down(&mut client, 50)?;
    cancelled_at("setting_log", &database, &mut client)
}

/// Takes `table` of the control schema away from a run under way, cancels the run when it waits for it, and looks whether
/// the ledger says so. One signal does it: the second one of a client's cancel could fall between two transactions.
fn cancelled_at(table: &str, database: &Database, client: &mut ::postgres::Client) -> Result<()> {
    let mut session = database.connect()?;
    let runner = std::thread::spawn(move || {
        let error = rig::run(&mut session, &json!({}));
        Ok((session, error))
    });
    let (_, pid) = rig::until_batches(client, 0)?;
    let mut rival = client.transaction()?;
    rival.batch_execute(&format!("LOCK TABLE {W}.{table}"))?;
    let mut watch = database.connect()?;
    let waits = format!("SELECT count(*) FROM pg_locks WHERE pid = {pid} AND NOT granted");
    until(
        "the run waits",
        || Ok(rig::number(&mut watch, &waits)? == 1),
    )?;
    watch.execute("SELECT pg_cancel_backend($1)", &[&pid])?;
    rival.rollback()?;
    let (_session, result) = rig::joined(runner)?;
    rig::refused(result, "57014")?;
    let told = rig::texts(
        client,
        &format!("SELECT concat_ws(': ', status, reason) FROM {W}.run ORDER BY run_id"),
    )?;
    ensure!(told == ["cancelled: cancelled"], "{told:?}");
    rig::check_unlocked(client)?;
    rig::check_whole(client)
}

/// An error that no handler can catch, such as a cancel between two batches, leaves a session that holds the lock.
fn a_session_that_began_a_run_and_does_nothing_blocks_nobody() -> Result<()> {
    let database = Database::shared()?;
    let mut dead = database.connect()?;
    let run: i64 = dead
        .query_one(&format!("SELECT o_run FROM {W}.run_begin('{{}}')"), &[])?
        .get(0);
    let mut client = database.connect()?;
    let result = rig::run(&mut client, &json!({"run_families": 3}))?;
    ensure!(result["status"] == "stopped", "{result}");
    ensure!(
        rig::texts(
            &mut client,
            &format!("SELECT status FROM {W}.run ORDER BY run_id")
        )? == ["crashed", "stopped"]
    );
    // It does not rise again.
    let answer = rig::texts(
        &mut dead,
        &format!("SELECT {W}.step({run}, 'workflow_instances')"),
    )?;
    ensure!(answer == ["the run was ended from outside"], "{answer:?}");
    dead.query(
        &format!("SELECT {W}.run_end({run}, ARRAY['nothing left'])"),
        &[],
    )?;
    ensure!(
        rig::texts(
            &mut client,
            &format!("SELECT status FROM {W}.run ORDER BY run_id")
        )? == ["crashed", "stopped"]
    );

    // In the same session neither, and it leaves no lock behind.
    dead.query(&format!("SELECT {W}.run_begin('{{}}')"), &[])?;
    let result = rig::run(&mut dead, &json!({"run_families": 3}))?;
    ensure!(result["status"] == "stopped", "{result}");
    rig::check_unlocked(&mut client)?;

    // Nor after it said itself that the call is over.
    dead.query(&format!("SELECT {W}.run_begin('{{}}')"), &[])?;
    ensure!(rig::number(&mut dead, &format!("SELECT {W}.reap()"))? == 1);
    ensure!(
        rig::texts(
            &mut client,
            &format!("SELECT status FROM {W}.run ORDER BY run_id")
        )?
        .join(" ")
            == "crashed stopped cancelled stopped cancelled"
    );
    rig::check_unlocked(&mut client)?;
    ensure!(rig::number(&mut client, &format!("SELECT {W}.reap()"))? == 0);

    // A run of a session that has vanished has crashed, whatever the session left open that closes it.
    dead.query(&format!("SELECT {W}.run_begin('{{}}')"), &[])?;
    client.batch_execute(&format!(
        "INSERT INTO {W}.run (trigger, dry_run, options, as_of, deadline, backend_pid)
         SELECT trigger, dry_run, options, as_of, deadline, 0 FROM {W}.run WHERE run_id = {run}"
    ))?;
    ensure!(rig::number(&mut dead, &format!("SELECT {W}.reap()"))? == 2);
    let last = rig::texts(
        &mut client,
        &format!("SELECT status FROM {W}.run ORDER BY run_id DESC LIMIT 2"),
    )?;
    ensure!(last == ["crashed", "cancelled"], "{last:?}");

    // Inside a transaction a run cannot commit: it refuses and leaves nothing.
    rig::refused(
        dead.batch_execute(&format!("BEGIN; CALL {W}.run('{{}}')")),
        "2D000",
    )?;
    dead.batch_execute("ROLLBACK")?;
    rig::check_unlocked(&mut client)?;
    rig::check_whole(&mut client)
}

fn a_full_disk_ends_the_run_red_and_the_next_one_works(dialect: Dialect) -> Result<()> {
    let history = History::shared(dialect)?;
    let mut client = history.connect()?;
    client.set("batch_families", 20)?;
    if dialect == Dialect::Postgres {
        client.execute(
            "CREATE FUNCTION public.before_full() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
             BEGIN
                 IF (SELECT max(batches) FROM W.run_rule) >= 3 THEN
                     RAISE EXCEPTION 'could not extend file \"base/5/1259\": No space left on device' USING ERRCODE = '53100';
                 END IF;
                 RETURN NULL;
             END $$;
             CREATE TRIGGER full_disk AFTER DELETE ON t_ds_task_instance FOR EACH ROW EXECUTE FUNCTION public.before_full()",
        )?;
    } else {
        client.execute(
            "CREATE TRIGGER full_disk AFTER DELETE ON t_ds_task_instance FOR EACH ROW
             BEGIN
                 IF (SELECT MAX(p.batches) FROM W.run_rule AS p) >= 3 THEN
                     SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table ''t_ds_task_instance'' is full';
                 END IF;
             END",
        )?;
    }
    let (result, rule) = client.run_rule(&json!({}))?;
    ensure!(result["status"] == "failed", "{result}");
    let said = client.either(
        "error 53100: could not extend",
        "error 1114 (HY000): The table",
    );
    ensure!(
        result["reason"]
            .as_str()
            .unwrap_or_default()
            .starts_with(said),
        "{result}"
    );
    ensure!(
        rule["batches"] == 3 && rule["failures"] == json!([]),
        "{rule}"
    );
    client.check_whole()?;
    client.check_unlocked()?;
    client.execute(client.either(
        "DROP FUNCTION public.before_full() CASCADE",
        "DROP TRIGGER full_disk",
    ))?;
    ensure!(client.run(&json!({}))?["status"] == "done");
    client.check_whole()
}

const TWO_RULES: &str = r#"
name = "cancels"

[tables]
job  = { key = "id integer" }
note = { key = "id integer" }

[rules.a_jobs]
strategy  = "age"
root      = "job"
time      = "at"
retention = { default = "30d" }

[rules.b_notes]
strategy  = "age"
root      = "note"
time      = "at"
retention = { default = "30d" }
"#;

/// The rule before may have reached its limit, or met an error: who cancels the next one is told so, and nothing follows.
fn a_cancel_counts_whatever_the_rule_before_has_met(dialect: Dialect) -> Result<()> {
    for meets_an_error in [false, true] {
        let schema = "CREATE TABLE job (id integer PRIMARY KEY, at timestamp NULL);
             CREATE TABLE note (id integer PRIMARY KEY, at timestamp NULL)";
        let mut database = Installation::of(dialect, schema, &graph_of(TWO_RULES));
        database.arm();
        for id in [1, 2] {
            for table in ["job", "note"] {
                database.execute(&format!(
                    "INSERT INTO {table} (id, at) VALUES ({id}, '2025-01-0{id} 12:00:00')"
                ));
            }
        }
        for (name, value) in [("batch_rows", 1), ("run_families", 1)] {
            database.call(
                "set_setting",
                json!({"rule": "a_jobs", "name": name, "value": value}),
            )?;
        }
        slow_down(&mut database, "note", 20.0, None);
        if meets_an_error {
            database.execute(match dialect {
                Dialect::Postgres => {
                    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no' USING ERRCODE = '25006'; END $$;
                     CREATE TRIGGER refuse BEFORE DELETE ON job FOR EACH ROW EXECUTE FUNCTION refuse()"
                }
                Dialect::Mysql | Dialect::Mariadb => {
                    "CREATE TRIGGER refuse BEFORE DELETE ON job FOR EACH ROW SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1142"
                }
            });
        }
        let (runner, cancel, session) = database.call_aside("run", json!({}));
        database.until_asleep("the run is at the second rule", &runner, session);
        cancel()?;
        let (mut session, answer) = runner.join().expect("no panic");
        ensure!(answer.is_err(), "{meets_an_error}: {answer:?}");
        // MySQL runs no handler when a statement is killed.
        let reap = match dialect {
            Dialect::Postgres => "SELECT W.reap()",
            Dialect::Mysql | Dialect::Mariadb => "CALL W.reap()",
        };
        despite_cancels(|| session.execute("ROLLBACK"))?;
        despite_cancels(|| session.execute(&database.named(reap)))?;
        let status = database.texts("SELECT status FROM W.run");
        let expected = match dialect {
            Dialect::Postgres | Dialect::Mariadb if meets_an_error => "failed",
            _ => "cancelled",
        };
        ensure!(status == [expected], "{meets_an_error}: {status:?}");
        ensure!(database.number("SELECT count(*) FROM note") == 2);
    }
    Ok(())
}
