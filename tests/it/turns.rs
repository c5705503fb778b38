//! Which rule of a run is next: one that waits holds up none behind it, and one whose batch ends the session has had its turn.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, Session, dialect_of, numbers};
use crate::support::patience::until;
use crate::workers::slow_down;

tests! {
    every_server: [
        a_rule_that_waits_does_not_hold_up_workers,
        a_rule_that_was_put_off_is_asked_again_beside_a_long_one,
        rules_that_wait_now_and_then_are_finished_by_workers,
        what_a_worker_that_waits_has_still_to_look_at_is_not_told_as_locked,
        what_was_locked_is_told_by_a_worker_that_ends_before_its_turn,
        what_has_the_lock_is_told_and_the_next_rule_goes_on,
        a_batch_that_ends_its_session_was_a_turn,
        a_run_rests_between_two_rules,
        the_worst_reason_is_that_of_the_run,
        one_worker_that_fails_is_a_failure_of_all,
    ],
    mysql_and_mariadb: [
        a_long_ledger_is_not_searched_for_runs_in_progress,
        a_run_with_many_failures_is_forgotten_row_by_row,
        what_the_latest_runs_mean_is_read_from_these,
    ],
}

/// A spec of four rules; the text about jobs may say when that rule waits.
fn spec(workers: u32, jobs: &str) -> String {
    format!(
        r#"
name    = "turns"
workers = {workers}

[tables]
log  = {{ key = "id integer" }}
line = {{ key = "id integer", parents = ["log -> log.id"] }}
job  = {{ key = "id integer" }}
mail = {{ key = "id integer" }}
seat = {{ key = "id integer" }}

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = {{ state = 1 }}
end_time  = "ended"
retention = {{ default = "30d" }}
{jobs}

[rules.logs]
strategy = "removal-time"
root     = "log"
time     = "written"
tables   = ["line: log", "log: id"]
unit     = "UNIT"
WAITS

[rules.mails]
strategy  = "age"
root      = "mail"
time      = "written"
retention = {{ default = "30d" }}
WAITS

[rules.seats]
strategy = "expiry"
root     = "seat"
time     = "written"
WAITS
"#
    )
}

fn installation(dialect: Dialect, spec: &str, rows: i64) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE log (id integer PRIMARY KEY, written {time});
         CREATE TABLE line (id integer PRIMARY KEY, log integer, written {time});
         CREATE TABLE job (id integer PRIMARY KEY, state integer, ended {time});
         CREATE TABLE mail (id integer PRIMARY KEY, written {time});
         CREATE TABLE seat (id integer PRIMARY KEY, written {time})"
    );
    let spec = spec.replace("UNIT", "window").replace("WAITS", "");
    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    database.arm();
    for id in 1..=rows {
        let time = format!("2025-01-{:02} 12:00:{:02}", 1 + id % 28, id % 60);
        for insert in [
            format!("log (id, written) VALUES ({id}, '{time}')"),
            // The log of the last lines is gone.
            format!(
                "line (id, log, written) VALUES ({id}, {}, '{time}')",
                id + 1
            ),
            format!("job (id, state, ended) VALUES ({id}, 1, '{time}')"),
            format!("mail (id, written) VALUES ({id}, '{time}')"),
            format!("seat (id, written) VALUES ({id}, '{time}')"),
        ] {
            database.execute(&format!("INSERT INTO {insert}"));
        }
    }
    database
}

const COUNTS: &str = "SELECT CONCAT((SELECT COUNT(*) FROM job), ' ', (SELECT COUNT(*) FROM log), ' ', (SELECT COUNT(*) FROM line), ' ', \
    (SELECT COUNT(*) FROM mail), ' ', (SELECT COUNT(*) FROM seat))";

/// A query of the spec that says to wait while a session has a lock, and how a session takes that.
fn gate(dialect: Dialect) -> (&'static str, &'static str) {
    match dialect {
        Dialect::Postgres => (
            "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 4245 AND granted)",
            "SELECT pg_advisory_lock(4245)",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "SELECT IS_USED_LOCK('windrow turns') IS NOT NULL",
            "DO GET_LOCK('windrow turns', 600)",
        ),
    }
}

fn holding(database: &Installation, sql: &str) -> Session {
    let mut rival = database.connect();
    rival.execute(&database.named(sql)).expect("a lock");
    rival
}

fn until_counts(database: &mut Installation, counts: &str) {
    until(&format!("{counts} are left"), || {
        Ok(database.texts(COUNTS) == [counts])
    })
    .expect("the other rules go on");
}

fn a_rule_that_waits_does_not_hold_up_workers(dialect: Dialect) {
    let (query, close) = gate(dialect);
    let jobs = format!("limits = {{ wait_while_sql = \"{query}\" }}");
    let mut database = installation(dialect, &spec(2, &jobs), 6);
    let rival = holding(&database, close);
    let runners = [1, 2].map(|worker| database.call_aside("run", json!({"worker": worker})).0);
    until_counts(&mut database, "6 0 0 0 0");
    let waits = "SELECT COUNT(*) FROM W.run WHERE status = 'running' AND waiting_for LIKE 'the query of the spec%'";
    until("both wait for the first rule", || {
        Ok(database.number(waits) == 2)
    })
    .expect("they wait");
    drop(rival);
    let runs = runners.map(|runner| runner.join().expect("no panic").1.expect("a run"));
    assert_eq!(database.texts(COUNTS), ["0 0 0 0 0"]);
    assert!(runs.iter().all(|run| run["status"] == "done"), "{runs:#?}");
}

/// A rule with more to do than a run has time for does not keep the one that waited at the begin from its turn.
fn a_rule_that_was_put_off_is_asked_again_beside_a_long_one(dialect: Dialect) {
    let (query, close) = gate(dialect);
    let jobs = format!("limits = {{ wait_while_sql = \"{query}\" }}");
    let mut database = installation(dialect, &spec(1, &jobs), 28);
    slow_down(&mut database, "mail", 0.6, None);
    let one = json!({"rule": "mails", "name": "batch_rows", "value": 1});
    database.call("set_setting", one).expect("a setting");
    let rival = holding(&database, close);
    let (runner, _, _) = database.call_aside("run", json!({}));
    until("the long rule is at work", || {
        Ok(database.number("SELECT COUNT(*) FROM mail") < 28)
    })
    .expect("it goes on");
    drop(rival);
    until("the first rule has had its turn", || {
        Ok(database.number("SELECT COUNT(*) FROM job") == 0)
    })
    .expect("a turn");
    let left = database.number("SELECT COUNT(*) FROM mail");
    assert!(left > 2, "{left} are left");
    let run = runner.join().expect("no panic").1.expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(database.texts(COUNTS), ["0 0 0 0 0"]);
}

/// Each look says by chance that the rule waits, so that workers leave rules in the middle of claims, and come back.
fn rules_that_wait_now_and_then_are_finished_by_workers(dialect: Dialect) {
    const ROWS: i64 = 24;
    let query = match dialect {
        Dialect::Postgres => "SELECT random() < 0.1",
        Dialect::Mysql | Dialect::Mariadb => "SELECT RAND() < 0.1",
    };
    let waits = format!("limits = {{ wait_while_sql = \"{query}\" }}");
    for unit in ["window", "family"] {
        let spec = spec(3, "WAITS")
            .replace("UNIT", unit)
            .replace("WAITS", &waits);
        let mut database = installation(dialect, &spec, ROWS);
        for rule in database.texts("SELECT rule FROM W.rule") {
            for name in ["batch_families", "batch_rows"] {
                let limit = json!({"rule": rule, "name": name, "value": 2});
                // A rule has the one or the other.
                let _ = database.call("set_setting", limit);
            }
        }
        let runners =
            [1, 2, 3].map(|worker| database.call_aside("run", json!({"worker": worker})).0);
        let runs = runners.map(|runner| runner.join().expect("no panic").1.expect("a run"));
        assert_eq!(database.texts(COUNTS), ["0 0 0 0 0"], "{unit}: {runs:#?}");
        let done = |run: &Value| run["status"] == "done" && run["reason"] == "nothing left";
        assert!(runs.iter().all(done), "{unit}: {runs:#?}");
        for (rule, rows) in [ROWS, 2 * ROWS, ROWS, ROWS].into_iter().enumerate() {
            let told = runs
                .iter()
                .map(|run| run["rules"][rule]["rows"].as_i64().expect("a number"));
            assert_eq!(told.sum::<i64>(), rows, "{unit}, {rule}: {runs:#?}");
        }
    }
}

/// The gate, and one for a session alone.
fn waits_for_a_session(dialect: Dialect) -> String {
    let query = match dialect {
        Dialect::Postgres => {
            "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted \
             AND (objid = 4245 OR classid = 4245 AND objid = pg_backend_pid()))"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "SELECT IS_USED_LOCK('windrow turns') IS NOT NULL OR IS_USED_LOCK(CONCAT('windrow turns ', CONNECTION_ID())) IS NOT NULL"
        }
    };
    format!("limits = {{ wait_while_sql = \"{query}\" }}")
}

/// How the gate is closed for one session.
fn close_for(dialect: Dialect, session: i64) -> String {
    match dialect {
        Dialect::Postgres => format!("SELECT pg_advisory_lock(4245, {session})"),
        Dialect::Mysql | Dialect::Mariadb => {
            format!("DO GET_LOCK('windrow turns {session}', 600)")
        }
    }
}

/// A worker ends while the other one waits for its turn at the rule: that one takes what was locked, or tells of it.
fn what_a_worker_that_waits_has_still_to_look_at_is_not_told_as_locked(dialect: Dialect) {
    let (_, close) = gate(dialect);
    let jobs = waits_for_a_session(dialect);
    // How many families the second worker takes at most, whether the row stays locked, and what it tells.
    for (most, stays, told) in [
        (100, false, json!({})),
        (100, true, json!({"LOCKED": 1})),
        (1, false, json!({"LOCKED": 1})),
    ] {
        let mut database = installation(dialect, &spec(2, &jobs), 6);
        for (name, value) in [("retries", 0), ("lock_timeout", 100), ("batch_families", 1)] {
            let one = json!({"rule": "jobs", "name": name, "value": value});
            database.call("set_setting", one).expect("a setting");
        }
        let all = holding(&database, close);
        let options = json!({"worker": 2, "rule": "jobs", "run_families": most});
        let (runner, _, session) = database.call_aside("run", options);
        let waits = "SELECT COUNT(*) FROM W.run WHERE status = 'running' AND waiting_for LIKE 'the query of the spec%'";
        until("worker 2 waits", || Ok(database.number(waits) == 1)).expect("it waits");
        let second = holding(&database, &close_for(dialect, session));
        drop(all);
        let mut rival = database.connect();
        rival.execute("BEGIN").expect("a transaction");
        rival
            .query("SELECT id FROM job WHERE id = 1 FOR UPDATE", &[])
            .expect("a lock");
        let options = json!({"worker": 1, "rule": "jobs", "run_families": 2});
        let first = database.run(options).expect("a run");
        assert_eq!(first["reason"], "run_families reached", "{first}");
        assert_eq!(first["rules"][0]["skipped"], json!({}), "{first}");
        if !stays {
            rival.execute("ROLLBACK").expect("no lock");
        }
        drop(second);
        let last = runner.join().expect("no panic").1.expect("a run");
        let context = format!("{most} {stays}: {first} {last}");
        assert_eq!(last["rules"][0]["skipped"], told, "{context}");
        let left = if most == 1 { 3 } else { i64::from(stays) };
        assert_eq!(
            database.number("SELECT COUNT(*) FROM job"),
            left,
            "{context}"
        );
    }
}

/// A worker that put the rule off ends at another one, and does not come back to it.
fn what_was_locked_is_told_by_a_worker_that_ends_before_its_turn(dialect: Dialect) {
    let (_, close) = gate(dialect);
    for end in ["paused", "time budget spent"] {
        let mut database = installation(dialect, &spec(2, &waits_for_a_session(dialect)), 28);
        slow_down(&mut database, "mail", 0.3, None);
        for (rule, name, value) in [
            ("jobs", "retries", 0),
            ("jobs", "lock_timeout", 100),
            ("jobs", "batch_families", 1),
            ("mails", "batch_rows", 1),
        ] {
            let one = json!({"rule": rule, "name": name, "value": value});
            database.call("set_setting", one).expect("a setting");
        }
        let mut rival = database.connect();
        rival.execute("BEGIN").expect("a transaction");
        rival
            .query("SELECT id FROM job WHERE id = 1 FOR UPDATE", &[])
            .expect("a lock");
        let all = holding(&database, close);
        let (second, _, session) = database.call_aside("run", json!({"worker": 2}));
        until("worker 2 is at the third rule", || {
            Ok(database.number("SELECT COUNT(*) FROM mail") < 28)
        })
        .expect("it goes on");
        let its = holding(&database, &close_for(dialect, session));
        drop(all);
        let options = json!({"worker": 1, "run_families": 2});
        let (first, _, _) = database.call_aside("run", options);
        let through = "SELECT COUNT(*) FROM W.run AS r JOIN W.run_sweep AS s ON s.run_id = r.run_id AND s.worker = 1
            JOIN W.run_claim AS c ON c.run_id = r.run_id AND c.rule = 'jobs' AND c.through WHERE r.status = 'running'";
        until("worker 1 is through with the first rule", || {
            Ok(database.number(through) == 1)
        })
        .expect("it goes on");
        if end == "paused" {
            database.execute("CALL W.pause('a look')");
        } else {
            database.execute(
                "UPDATE W.run SET deadline = started_at
                 WHERE run_id = (SELECT MAX(s.run_id) FROM W.run_sweep AS s WHERE s.worker = 2)",
            );
        }
        let second = second.join().expect("no panic").1.expect("a run");
        if end != "paused" {
            database.execute("CALL W.pause('a look')");
        }
        let first = first.join().expect("no panic").1.expect("a run");
        let context = format!("{end}: {first} {second}");
        assert_eq!(second["reason"], end, "{context}");
        assert_eq!(second["rules"][0]["families"], 0, "{context}");
        assert_eq!(first["rules"][0]["skipped"], json!({}), "{context}");
        let told = &second["rules"][0]["skipped"];
        assert_eq!(*told, json!({"LOCKED": 1}), "{context}");
        drop(its);
    }
}

fn what_has_the_lock_is_told_and_the_next_rule_goes_on(dialect: Dialect) {
    let mut database = installation(dialect, &spec(1, ""), 3);
    let (lock, reason) = match dialect {
        Dialect::Postgres => (
            "BEGIN; LOCK TABLE job IN SHARE MODE",
            "a lock on job, which session % has (ShareLock)",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "START TRANSACTION; SELECT * FROM W.latch FOR UPDATE",
            "a lock on holds and policies, which another session changes",
        ),
    };
    let rival = holding(&database, lock);
    let (runner, _, _) = database.call_aside("run", json!({}));
    if dialect == Dialect::Postgres {
        until_counts(&mut database, "3 0 0 0 0");
    }
    let waits = format!(
        "SELECT COUNT(*) FROM W.run WHERE status = 'running' AND waiting_for LIKE '{reason}'"
    );
    until("the lock is told", || Ok(database.number(&waits) == 1)).expect("it waits");
    drop(rival);
    let run = runner.join().expect("no panic").1.expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(database.texts(COUNTS), ["0 0 0 0 0"]);
    assert_eq!(
        database.number("SELECT COUNT(*) FROM W.run WHERE waiting_for IS NOT NULL"),
        0
    );

    // With the time of a run that is up, the reason is told as well.
    database.execute("INSERT INTO job (id, state, ended) VALUES (1, 1, '2025-01-01 12:00:00')");
    let rival = holding(&database, lock);
    let run = database
        .run(json!({"time_budget": "3s"}))
        .expect("an answer");
    let told = run["reason"].as_str().expect("a reason");
    let begin = format!(
        "time budget spent while waiting for {}",
        reason.split('%').next().expect("a text")
    );
    assert!(told.starts_with(&begin), "{run}");
    drop(rival);
}

/// A family, or the server, may end each session that deletes it: the rules behind have their turn in the next run.
fn a_batch_that_ends_its_session_was_a_turn(dialect: Dialect) {
    for workers in [1, 2] {
        let mut database = installation(dialect, &spec(workers, ""), 2);
        slow_down(&mut database, "job", 60.0, None);
        let (runner, _, session) = database.call_aside("run", json!({}));
        database.until_asleep("the first batch", &runner, session);
        database.execute(&match dialect {
            Dialect::Postgres => format!("SELECT pg_terminate_backend({session}, 5000)"),
            Dialect::Mysql | Dialect::Mariadb => format!("KILL CONNECTION {session}"),
        });
        database.until_gone(session);
        assert!(runner.join().expect("no panic").1.is_err(), "it survived");
        let (runner, _, session) = database.call_aside("run", json!({}));
        until_counts(&mut database, "2 0 0 0 0");
        database.until_asleep("the rule that ended the last run", &runner, session);
        database.execute(&match dialect {
            Dialect::Postgres => format!("SELECT pg_terminate_backend({session}, 5000)"),
            Dialect::Mysql | Dialect::Mariadb => format!("KILL CONNECTION {session}"),
        });
        database.until_gone(session);
        let _ = runner.join();
    }
}

/// At the default pace of a scheduled run. A rule that may delete no more ends after the rest that its last batch is due.
fn a_run_rests_between_two_rules(dialect: Dialect) {
    for limit in ["run_rows", "run_families", ""] {
        let mut database = installation(dialect, &spec(1, ""), 1);
        slow_down(&mut database, "job", 0.4, None);
        if !limit.is_empty() {
            let limit = json!({"rule": "jobs", "name": limit, "value": 1});
            database.call("set_setting", limit).expect("a limit");
        }
        for rule in ["jobs", "logs", "mails", "seats"] {
            let limit = json!({"rule": rule, "name": "scheduled_nice", "value": 300});
            database.call("set_setting", limit).expect("a limit");
        }
        let run = database
            .run(json!({"trigger": "SCHEDULED"}))
            .expect("a run");
        assert_eq!(database.texts(COUNTS), ["0 0 0 0 0"], "{limit}: {run}");
        // The batch takes 400 ms, its rest three times that, and all else next to nothing.
        let took = run["duration_ms"].as_f64().expect("a number");
        assert!(took > 1_500.0, "{limit}: {run}");
    }
}

fn the_worst_reason_is_that_of_the_run(dialect: Dialect) {
    let mut database = installation(dialect, &spec(1, ""), 3);
    slow_down(&mut database, "log", 2.5, None);
    // One rule has what it may delete, and the time is up in the next one.
    let run = database
        .run(json!({"run_families": 1, "time_budget": "2s"}))
        .expect("a run");
    assert_eq!(run["status"], "stopped", "{run}");
    assert_eq!(run["reason"], "time budget spent", "{run}");
    // Of two limits that were reached, the first one.
    database.execute(if dialect == Dialect::Postgres {
        "DROP TRIGGER slow ON log"
    } else {
        "DROP TRIGGER slow"
    });
    let first = json!({"rule": "seats", "name": "run_rows", "value": 1});
    database.call("set_setting", first).expect("a limit");
    let paused = json!({"rule": "mails", "reason": "audit"});
    database.call("pause_rule", paused).expect("a pause");
    let small = json!({"rule": "seats", "name": "batch_rows", "value": 1});
    database.call("set_setting", small).expect("a limit");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["reason"], "run_rows reached", "{run}");
}

/// Writes a scheduled run of each of two workers to the ledger.
fn sweep(database: &mut Installation, ends: [&str; 2]) {
    let (now, trigger) = match database.dialect {
        Dialect::Postgres => ("clock_timestamp()", "trigger"),
        Dialect::Mysql | Dialect::Mariadb => ("UTC_TIMESTAMP(6)", "`trigger`"),
    };
    let mut ids = Vec::new();
    for (worker, ends) in (1..).zip(ends) {
        database.execute(&format!(
            "INSERT INTO W.run ({trigger}, dry_run, options, as_of, deadline, status, reason, backend_pid, started_at, finished_at)
             VALUES ('SCHEDULED', false, '{{}}', {now}, {now}, {ends}, 0, {now}, {now})"
        ));
        ids.push(database.number("SELECT MAX(run_id) FROM W.run"));
        database.execute(&format!(
            "INSERT INTO W.run_sweep (run_id, sweep_id, worker) VALUES ({}, {}, {worker})",
            ids[ids.len() - 1],
            ids[0]
        ));
    }
}

fn one_worker_that_fails_is_a_failure_of_all(dialect: Dialect) {
    const GOOD: &str = "'done', 'nothing left'";
    const BAD: &str = "'failed', 'error 42501: permission denied'";
    let mut database = installation(dialect, &spec(2, ""), 0);
    let failed = "SELECT failed_runs FROM W.scheduling";
    for number in 1..=4 {
        // Whichever of them fails.
        let ends = if number % 2 == 0 {
            [GOOD, BAD]
        } else {
            [BAD, GOOD]
        };
        sweep(&mut database, ends);
        assert_eq!(database.number(failed), number, "sweeps");
    }
    let empty = "SELECT empty_runs FROM W.scheduling";
    assert_eq!(database.number(empty), 0, "one of them did not come so far");
    // One that is through while the other is under way says nothing yet.
    sweep(&mut database, ["'running', NULL", GOOD]);
    assert_eq!(database.number(failed), 4);
    database.execute("UPDATE W.run SET status = 'crashed' WHERE status = 'running'");
    assert_eq!(database.number(failed), 5);
    let suspended = "SELECT COUNT(*) FROM W.scheduling WHERE suspended AND last_error IS NULL";
    assert_eq!(database.number(suspended), 1);
    sweep(&mut database, [GOOD, GOOD]);
    assert_eq!(database.number(failed), 0);
    assert_eq!(database.number(empty), 1);
}

/// The rows that a look reads.
struct Reads(String);

impl Reads {
    fn of(dialect: Dialect) -> Self {
        let schema = match dialect {
            Dialect::Mariadb => "information_schema",
            _ => "performance_schema",
        };
        Self(format!(
            "SELECT SUM(variable_value) FROM {schema}.session_status WHERE variable_name LIKE 'Handler_read%'"
        ))
    }

    fn by(&self, database: &mut Installation, look: &str) -> i64 {
        let before = database.number(&self.0);
        database.rows(look);
        database.number(&self.0) - before
    }
}

/// What the ledger forgets is read table by table, however much there is in several of them.
fn a_run_with_many_failures_is_forgotten_row_by_row(flavour: Flavour) {
    const FAILURES: i64 = 400;
    let mut database = installation(dialect_of(flavour), &spec(1, ""), 0);
    sweep(&mut database, ["'done', 'nothing left'"; 2]);
    database.execute("SET @old = (SELECT MIN(run_id) FROM W.run)");
    database.execute("UPDATE W.run SET finished_at = '2020-01-01' WHERE run_id = @old");
    let many = numbers(database.dialect, FAILURES);
    for rows in [
        "run_failure (run_id, rule, `key`, errno, `sqlstate`, message) SELECT @old, 'jobs', s.n, 1205, '41000', 'x'",
        "run_table (run_id, rule, position, table_name) SELECT @old, 'jobs', s.n, 'job'",
    ] {
        database.execute(&format!("INSERT INTO W.{rows} FROM {many}"));
    }
    let reads = Reads::of(database.dialect).by(&mut database, "CALL W.prune_ledger()");
    for table in ["run", "run_failure", "run_table", "run_sweep"] {
        let left = format!("SELECT COUNT(*) FROM W.{table} WHERE run_id = @old");
        assert_eq!(database.number(&left), 0, "{table}");
    }
    assert!(reads < FAILURES * 20, "{reads} reads");
}

/// Writes many runs that ended two hours ago to the ledger, with what each did by one rule.
fn long_ledger(database: &mut Installation, runs: i64) {
    let many = numbers(database.dialect, runs);
    database.execute(&format!(
        "INSERT INTO W.run (`trigger`, dry_run, options, as_of, deadline, status, reason, backend_pid, started_at, finished_at)
         SELECT 'SCHEDULED', false, '{{}}', l.at, l.at, 'done', 'nothing left', 0, l.at, l.at
         FROM (SELECT UTC_TIMESTAMP(6) - INTERVAL 2 HOUR AS at) AS l CROSS JOIN {many}"
    ));
    database.execute("UPDATE W.control SET armed_at = UTC_TIMESTAMP(6) - INTERVAL 1 DAY");
    database.execute(
        "INSERT IGNORE INTO W.run_rule (run_id, rule, batch_families) SELECT r.run_id, 'jobs', 100 FROM W.run AS r",
    );
    database.execute(
        "INSERT IGNORE INTO W.run_sweep (run_id, sweep_id, worker)
         SELECT r.run_id, r.run_id - r.run_id % 2, 1 + r.run_id % 2 FROM W.run AS r CROSS JOIN W.spec AS s WHERE s.workers > 1",
    );
    database.execute("CALL W.tally_up()");
    database.execute("ANALYZE TABLE W.run, W.run_rule, W.run_sweep");
}

/// The ledger keeps its runs for a year.
fn a_long_ledger_is_not_searched_for_runs_in_progress(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let mut database = installation(dialect, &spec(1, ""), 0);
    long_ledger(&mut database, 30_000);
    let reads = Reads::of(dialect);
    let mut told = Vec::new();
    for look in [
        "CALL W.reap()",
        "SELECT run_id FROM W.run WHERE status = 'running'",
    ] {
        let rows = reads.by(&mut database, look);
        // What the look itself reads of the status is some hundreds.
        if rows > 5_000 {
            told.push(format!("{look}: {rows} rows"));
        }
    }
    assert_eq!(told, [""; 0]);
}

/// What verify() reads besides, to check the sums of the ledger, is left out.
fn what_the_latest_runs_mean_is_read_from_these(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let mut told = Vec::new();
    for workers in [1, 2] {
        let mut database = installation(dialect, &spec(workers, ""), 0);
        let reads = Reads::of(dialect);
        let looks = [
            "SELECT * FROM W.scheduling",
            "CALL W.kept_back(@refused)",
            // MariaDB may read a view wrongly when a routine reads it again.
            "CALL W.kept_back(@refused)",
            "SELECT * FROM W.last_look",
            "SELECT * FROM W.undeletable",
            "SELECT * FROM W.backlog",
            "SELECT * FROM W.run_count",
            "SELECT * FROM W.metrics",
        ];
        long_ledger(&mut database, 2_000);
        let before = looks.map(|look| reads.by(&mut database, look));
        long_ledger(&mut database, 30_000);
        for (look, before) in looks.iter().zip(before) {
            let rows = reads.by(&mut database, look);
            if rows > before + 5_000 {
                told.push(format!(
                    "{workers} workers: {look}: {before} rows, and {rows} of a long ledger"
                ));
            }
        }
        let meaning = "SELECT CONCAT_WS(' ', failed_runs, suspended, last_error, empty_runs >= 100) FROM W.scheduling";
        assert_eq!(database.texts(meaning), ["0 0 1"]);
    }
    assert_eq!(told, [""; 0]);
}
