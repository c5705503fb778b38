//! Whatever happens at the end of a run, a purge or a stamp, its row in the ledger is closed, and its locks are given back.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure;
use windrow::graph::Graph;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::camunda::Camunda;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, dialect_of};
use crate::support::patience::until;

tests! {
    on_postgres: [
        the_end_of_a_run_waits_for_that_of_another_worker,
        an_error_at_the_end_of_a_run_closes_it,
        an_error_after_the_end_of_a_run_keeps_no_lock,
        what_happens_as_a_worker_leaves_a_rule_closes_its_run,
        an_error_at_the_end_of_a_purge_closes_it,
        an_error_at_the_end_of_a_stamp_closes_it,
        an_uninstallation_by_hand_reads_what_is_archived_by_now,
    ],
    mysql_and_mariadb: [
        an_error_that_the_end_of_a_run_always_meets_closes_it,
        a_run_whose_end_cannot_be_written_is_closed_by_whoever_looks_next,
    ],
}

fn graph() -> Graph {
    graph_of(
        r#"
name    = "endings"
workers = 2

[tables]
job = { key = "id bigint" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 1 }
archive   = true
"#,
    )
}

/// Three jobs are due, and a fourth one runs.
fn armed() -> Installation {
    armed_on(Dialect::Postgres)
}

fn armed_on(dialect: Dialect) -> Installation {
    let schema =
        "CREATE TABLE job (id bigint PRIMARY KEY, state varchar(20), ended timestamp NULL)";
    let mut database = Installation::of(dialect, schema, &graph());
    database.arm();
    database.execute(
        "INSERT INTO job VALUES (1, 'done', '2020-01-01'), (2, 'done', '2020-01-02'), (3, 'done', '2020-01-03'), (4, 'runs', NULL)",
    );
    database
}

/// No run ends but as a failed one.
fn refuse_ends(database: &mut Installation) {
    database.execute(
        "CREATE FUNCTION public.refuses() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no space is left'; END $$;
         CREATE TRIGGER refuses BEFORE UPDATE ON W.run FOR EACH ROW WHEN (new.status NOT IN ('running', 'failed')) EXECUTE FUNCTION public.refuses()",
    );
}

fn closed(database: &mut Installation) {
    assert_eq!(
        database.texts("SELECT concat_ws('/', status, reason, finished_at IS NOT NULL) FROM W.run"),
        ["failed/error P0001: no space is left/t"]
    );
    unlocked(database);
}

/// In the session of the call, which continues.
fn unlocked(database: &mut Installation) {
    let locks =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
    assert_eq!(database.number(locks), 0);
}

fn code(answer: anyhow::Result<Value>) -> String {
    let error = answer.expect_err("it fails");
    failure::sqlstate(&error).unwrap_or_default().to_owned()
}

fn the_end_of_a_run_waits_for_that_of_another_worker() {
    let mut database = armed();
    database.execute(&format!(
        "ALTER DATABASE {} SET lock_timeout = '200ms'",
        database.name
    ));
    let mut other = None;
    let run = database.run_meanwhile(json!({"worker": 1}), |database| {
        let mut holder = database.connect();
        let turn = database.named("BEGIN; SELECT FROM W.turn WHERE name = 'run' FOR UPDATE");
        holder.execute(&turn).expect("its turn");
        let mut looker = database.connect();
        other = Some(thread::spawn(move || {
            let waits = "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
            until("a run that waits for its end", || {
                let rows = looker.query(waits, &[])?;
                Ok(rows[0][0].as_deref() == Some("1"))
            })
            .expect("it waits");
            thread::sleep(Duration::from_millis(500));
            holder.execute("COMMIT").expect("an end");
        }));
    });
    let run = run.expect("a run");
    other.expect("another one").join().expect("no panic");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(database.texts("SELECT status FROM W.run"), ["done"]);
}

fn an_error_at_the_end_of_a_run_closes_it() {
    let mut database = armed();
    refuse_ends(&mut database);
    let run = database.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &run["reason"], &run["rules"][0]["families"]),
        (
            &json!("failed"),
            &json!("error P0001: no space is left"),
            &json!(3)
        ),
        "{run}"
    );
    closed(&mut database);
    database.execute("DROP TRIGGER refuses ON W.run");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
}

/// An error, or a cancel.
fn what_happens_as_a_worker_leaves_a_rule_closes_its_run() {
    for (does, status) in [
        ("RAISE EXCEPTION 'no space is left'", "failed"),
        ("PERFORM pg_sleep(600); RETURN new", "cancelled"),
    ] {
        let mut database = armed();
        database.execute(&format!(
            "CREATE FUNCTION public.leaves() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {does}; END $$;
             CREATE TRIGGER leaves BEFORE UPDATE ON W.run_claim FOR EACH ROW WHEN (new.through) EXECUTE FUNCTION public.leaves()"
        ));
        let (runner, cancel, number) = database.call_aside("run", json!({"worker": 1}));
        if status == "cancelled" {
            database.until_asleep("a worker that leaves", &runner, number);
            cancel().expect("a cancel");
        }
        let (_, run) = runner.join().expect("no panic");
        assert_eq!(run.is_err(), status == "cancelled", "{run:?}");
        assert_eq!(
            database.texts("SELECT concat_ws('/', status, finished_at IS NOT NULL) FROM W.run"),
            [format!("{status}/t")],
            "{run:?}"
        );
        database.execute("DROP TRIGGER leaves ON W.run_claim");
        let run = database.run(json!({"worker": 1})).expect("a run");
        assert_eq!(run["status"], "done", "{run}");
    }
}

fn an_error_after_the_end_of_a_run_keeps_no_lock() {
    let mut database = armed();
    database.set_setting("archive_days", 10).expect("a setting");
    for (routine, arguments) in [
        ("count_backlog", "bigint"),
        (
            "archive_step",
            "bigint, bigint, timestamptz, bigint, integer, bigint",
        ),
    ] {
        let renamed = format!("ALTER FUNCTION W.{routine}({arguments}) RENAME TO gone");
        database.execute(&renamed);
        assert_eq!(code(database.run(json!({}))), "42883", "{routine}");
        unlocked(&mut database);
        database.execute(&format!(
            "ALTER FUNCTION W.gone({arguments}) RENAME TO {routine}"
        ));
    }
    assert_eq!(database.texts("SELECT status FROM W.run"), ["done"; 2]);
}

fn an_error_at_the_end_of_a_purge_closes_it() {
    let mut database = armed();
    refuse_ends(&mut database);
    assert_eq!(code(database.purge(json!({"key": [1, 4]}))), "P0001");
    closed(&mut database);
    assert_eq!(database.number("SELECT count(*) FROM job"), 3);
}

fn an_error_at_the_end_of_a_stamp_closes_it() {
    let mut camunda = Camunda::new(Dialect::Postgres);
    let database = &mut camunda.windrow;
    refuse_ends(database);
    let options = json!({"calculated": "end", "missing": true});
    assert_eq!(code(database.call("stamp", options)), "P0001");
    closed(database);
}

/// What a run did, in the ledger, and how it ended, as another session sees it: the call has left nothing open.
fn noted(database: &Installation) -> Vec<String> {
    let noted = database.named(
        "SELECT CONCAT_WS('/', r.status, r.reason, r.finished_at IS NOT NULL, MAX(p.families), MAX(p.deleted_rows))
         FROM W.run AS r JOIN W.run_rule AS p ON p.run_id = r.run_id GROUP BY r.run_id, r.status, r.reason, r.finished_at",
    );
    let rows = database.connect().query(&noted, &[]).expect("an answer");
    rows.into_iter().flatten().flatten().collect()
}

/// It prunes the ledger, too, and what it may not delete there it will never delete.
fn an_error_that_the_end_of_a_run_always_meets_closes_it(flavour: Flavour) {
    let mut database = armed_on(dialect_of(flavour));
    database.execute(
        "CREATE TRIGGER W.refuses BEFORE DELETE ON W.catalog_state FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no space is left'",
    );
    let told = "error 1644 (45000): no space is left";
    assert_eq!(code(database.run(json!({}))), "45000");
    assert_eq!(noted(&database), [format!("failed/{told}/1/3/3")]);
    database.execute("DROP TRIGGER W.refuses");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
}

/// What keeps its row from being written is gone by then. The session may still be there.
fn a_run_whose_end_cannot_be_written_is_closed_by_whoever_looks_next(flavour: Flavour) {
    for same in [true, false] {
        let mut database = armed_on(dialect_of(flavour));
        let mut other = database.connect();
        database.execute(
            "CREATE TRIGGER W.refuses BEFORE UPDATE ON W.run FOR EACH ROW BEGIN
                 IF new.status <> 'running' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no space is left'; END IF;
             END",
        );
        let error = database.run(json!({})).expect_err("it fails");
        assert_eq!(failure::sqlstate(&error), Some("45000"), "{error:?}");
        assert_eq!(noted(&database), ["running/0/3/3"]);
        database.execute("DROP TRIGGER W.refuses");
        let reap = database.named("CALL W.reap()");
        if same {
            database.execute(&reap);
        } else {
            other.execute(&reap).expect("a look");
        }
        let told = "its session vanished; what it committed is kept";
        assert_eq!(noted(&database), [format!("crashed/{told}/1/3/3")]);
        let run = database.run(json!({})).expect("a run");
        assert_eq!(run["status"], "done", "{run}");
    }
}

/// The first batch that archives something is about to commit.
fn an_uninstallation_by_hand_reads_what_is_archived_by_now() {
    let mut database = armed();
    let bundle = database.bundle(&graph());
    let undo = bundle
        .files
        .iter()
        .find(|file| file.path.ends_with("90_uninstall.sql"));
    let statements = undo.expect("an undo").statements.clone();
    let mut batch = database.connect();
    let archives = database.named(
        "BEGIN; LOCK TABLE W.run IN ROW EXCLUSIVE MODE;
         INSERT INTO W.archive_job (windrow_run_id, windrow_archived_at, id) VALUES (1, now(), 1)",
    );
    batch.execute(&archives).expect("a batch");
    let mut session = database.connect();
    session
        .execute("SET default_transaction_isolation = 'repeatable read'")
        .expect("a setting");
    let undoes = thread::spawn(move || {
        for statement in &statements {
            session.execute(&statement.sql)?;
        }
        anyhow::Ok(())
    });
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    until("it waits, or is refused", || {
        Ok(undoes.is_finished() || database.number(waits) == 1)
    })
    .expect("it gets there");
    batch.execute("COMMIT").expect("a commit");
    undoes.join().expect("no panic").expect_err("it is refused");
    assert_eq!(database.number("SELECT count(*) FROM W.archive_job"), 1);
}
