//! How long a sweep lives, what a worker that waits costs, and what the ledger of many sweeps costs and says.

use std::thread;
use std::time::Duration;

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::{Graph, Shared};

use super::{Gate, LOG_JOBS_AND_MAILS, graph, left};
use crate::harness::tests;
use crate::support::graphs::{dolphinscheduler, graph_of};
use crate::support::installation::{Installation, numbers};
use crate::support::patience::until;
use crate::windows::due_families;

tests! {
    on_postgres: [
        a_long_ledger_is_not_read_from_end_to_end,
    ],
    every_server: [
        a_sweep_that_is_old_takes_in_nobody,
        a_worker_that_waits_writes_little,
        sweeps_of_many_workers_count_in_a_row,
    ],
}

const SWEEPS: &str = "SELECT sweep_id FROM W.run_sweep ORDER BY run_id";

/// Workers whose runs overlap would keep one sweep alive for ever: its cutoff stands still, and no rule is visited twice.
fn a_sweep_that_is_old_takes_in_nobody(dialect: Dialect) {
    let mut database = due_families(dialect, &graph(Shared::Closed), 20);
    let mut gate = Gate::new(&mut database, &["t_ds_workflow_instance"], &[1, 2]);
    let one = json!({"worker": 1, "run_families": 1});
    let (first, _, session) = database.call_aside("run", one.clone());
    database.until_asleep("worker 1 has the first family", &first, session);
    let (second, _, session) = database.call_aside("run", json!({"worker": 2, "run_families": 1}));
    database.until_asleep("worker 2 has the second family", &second, session);
    gate.open(&[1]);
    first.join().expect("no panic").1.expect("a run");
    let joins = database.run(one.clone()).expect("a run");
    assert_eq!(joins["rules"][0]["families"], 1, "{joins}");
    assert_eq!(database.texts(SWEEPS), ["1", "1", "1"]);

    // The run that began the sweep has used up its time long ago.
    let past = match dialect {
        Dialect::Postgres => {
            "started_at = started_at - interval '1 day', deadline = deadline - interval '1 day'"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "started_at = started_at - INTERVAL 1 DAY, deadline = deadline - INTERVAL 1 DAY"
        }
    };
    database.execute(&format!("UPDATE W.run SET {past} WHERE run_id = 1"));
    let refused = database.run(one.clone()).expect("an answer");
    assert_eq!(refused["status"], "refused", "{refused}");
    let reason = refused["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("run 2 is in progress") && reason.contains("the sweep of run 1"),
        "{reason}"
    );
    // A run with a longer budget than that has time for it.
    let patient = json!({"worker": 1, "run_families": 1, "time_budget": "2d"});
    let joins = database.run(patient).expect("a run");
    assert_eq!(joins["rules"][0]["families"], 1, "{joins}");

    gate.open(&[2]);
    second.join().expect("no panic").1.expect("a run");
    let next = database.run(one).expect("a run");
    assert_eq!(next["rules"][0]["families"], 1, "{next}");
    assert_eq!(database.texts(SWEEPS), ["1", "1", "1", "1", "5"]);
    assert_eq!(left(&mut database), 15);
}

fn a_worker_that_waits_writes_little(dialect: Dialect) {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE log (id integer PRIMARY KEY, written {time});
         CREATE TABLE line (id integer PRIMARY KEY, log integer, written {time});
         CREATE TABLE job (id integer PRIMARY KEY, state integer, ended {time});
         CREATE TABLE mail (id integer PRIMARY KEY, written {time});
         CREATE TABLE noted (what varchar(20))"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(LOG_JOBS_AND_MAILS));
    database.arm();
    database.execute("INSERT INTO log (id, written) VALUES (1, '2025-01-01 12:00:00')");
    let home = match dialect {
        Dialect::Postgres => "public".to_owned(),
        Dialect::Mysql | Dialect::Mariadb => database.texts("SELECT DATABASE()").remove(0),
    };
    for table in ["run", "run_rule", "run_sweep"] {
        let noted = format!("INSERT INTO {home}.noted (what) VALUES ('{table}')");
        if dialect == Dialect::Postgres {
            database.execute(&format!(
                "CREATE FUNCTION note_{table}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                 $$BEGIN {noted}; RETURN NULL; END$$;
                 CREATE TRIGGER note AFTER UPDATE ON W.{table} FOR EACH ROW EXECUTE FUNCTION note_{table}()"
            ));
        } else {
            database.execute(&format!(
                "CREATE TRIGGER W.note_{table} AFTER UPDATE ON W.{table} FOR EACH ROW {noted}"
            ));
        }
    }
    // Its rests would be the longest there are.
    for rule in ["a_log", "b_jobs", "c_mails"] {
        let short = json!({"rule": rule, "name": "scheduled_nice", "value": 1});
        database.call("set_setting", short).expect("a limit");
    }
    let mut gate = Gate::new(&mut database, &["log"], &[1]);
    let scheduled = |worker: i64| json!({"worker": worker, "trigger": "SCHEDULED"});
    let (first, _, session) = database.call_aside("run", scheduled(1));
    database.until_asleep("worker 1 is at the log", &first, session);
    let (second, _, _) = database.call_aside("run", scheduled(2));
    until("worker 2 waits", || {
        let waits = "SELECT COUNT(*) FROM W.run WHERE waiting_for LIKE 'worker 1%'";
        Ok(database.number(waits) == 1)
    })
    .expect("it waits");
    thread::sleep(Duration::from_secs(2));
    let noted = "SELECT concat(what, ' ', count(*)) FROM noted GROUP BY what ORDER BY what";
    let before = database.texts(noted);
    thread::sleep(Duration::from_secs(4));
    let after = database.texts(noted);
    gate.open(&[1]);
    for runner in [first, second] {
        let run = runner.join().expect("no panic").1.expect("a run");
        assert_eq!(run["status"], "done", "{run}");
    }
    assert_eq!(before, after, "in four seconds");
}

/// Writes so many sweeps to the ledger, each of a scheduled run of every worker.
fn add_sweeps(database: &mut Installation, sweeps: i64, workers: i64, ends: &str) {
    let (now, pid) = match database.dialect {
        Dialect::Postgres => ("clock_timestamp()", "0"),
        Dialect::Mysql | Dialect::Mariadb => ("UTC_TIMESTAMP(6)", "0"),
    };
    let trigger = match database.dialect {
        Dialect::Postgres => "trigger",
        Dialect::Mysql | Dialect::Mariadb => "`trigger`",
    };
    let many = numbers(database.dialect, sweeps * workers);
    database.execute(&format!(
        "INSERT INTO W.run ({trigger}, dry_run, options, as_of, deadline, status, reason, backend_pid, started_at, finished_at)
         SELECT 'SCHEDULED', false, '{{}}', {now}, {now}, {ends}, {pid}, {now}, {now} FROM {many}"
    ));
    database.execute(&format!(
        "INSERT INTO W.run_sweep (run_id, sweep_id, worker)
         SELECT run_id, run_id - (run_id - 1) % {workers}, 1 + (run_id - 1) % {workers} FROM W.run"
    ));
}

fn sweeps_of_many_workers_count_in_a_row(dialect: Dialect) {
    const WORKERS: i64 = 8;
    let graph = Graph {
        workers: WORKERS,
        ..dolphinscheduler(Shared::Closed)
    };
    let mut database = Installation::armed(dialect, &graph);
    database.set_setting("suspend_after", 100).expect("a limit");
    database
        .set_setting("back_off_max", 604_800)
        .expect("a limit");
    add_sweeps(&mut database, 100, WORKERS, "'crashed', NULL");
    let failed = "SELECT failed_runs FROM W.scheduling WHERE suspended";
    assert_eq!(database.texts(failed), ["100"]);
    database.execute("UPDATE W.run SET status = 'done', reason = 'nothing left'");
    let idle = match dialect {
        Dialect::Postgres => {
            "SELECT extract(day FROM idle_until - clock_timestamp())::bigint FROM W.scheduling WHERE empty_runs = 100"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "SELECT TIMESTAMPDIFF(DAY, UTC_TIMESTAMP(6), idle_until) FROM W.scheduling WHERE empty_runs = 100"
        }
    };
    assert_eq!(database.texts(idle), ["6"]);
}

/// The ledger keeps its runs for a year, and workers look into it before each batch.
fn a_long_ledger_is_not_read_from_end_to_end() {
    let mut database = Installation::armed(Dialect::Postgres, &graph(Shared::Closed));
    add_sweeps(&mut database, 10_000, 3, "'done', 'nothing left'");
    database.execute("ANALYZE W.run; ANALYZE W.run_sweep");
    // What was read so far in this session.
    let sum = "SELECT coalesce(sum(seq_tup_read), 0)::bigint FROM pg_stat_xact_user_tables WHERE relname IN ('run', 'run_sweep')";
    let mut before = database.number(sum);
    let mut read = Vec::new();
    for looks in [
        "SELECT W.at_others(30000, NULL, false)",
        "SELECT W.is_last(30000, 'workflow_instances')",
        "SELECT W.sweep_end(30000)",
        "SELECT W.reap()",
        "SELECT failed_runs, idle_until::text FROM W.scheduling",
        "SELECT * FROM W.run_begin('{\"worker\": 2}')",
    ] {
        database.execute("BEGIN");
        database.rows(looks);
        let rows = database.number(sum);
        database.execute("ROLLBACK");
        if rows > before + 1_000 {
            read.push(format!("{looks}: {} rows", rows - before));
        }
        before = rows;
    }
    assert_eq!(read, [""; 0]);
}
