//! What the application feels of a drop, and what a drop sees of the application.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use windrow::dialect::Dialect;

use super::{armed, grant, only, owner, partitions, set};
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

const INSERT: &str = "INSERT INTO event_log (logged_at, message) VALUES (now(), 'meanwhile')";

pub(super) fn the_application_waits_no_longer_than_the_lock_timeout() {
    const TIMEOUT: u64 = 600;
    let mut installation = armed("event-log-locks");
    let timeout = i64::try_from(TIMEOUT).expect("a number");
    installation
        .set_setting("lock_timeout", timeout)
        .expect("a setting");
    // Somebody reads all of the table for as long as the run tries.
    let mut reader = installation.connect();
    reader
        .execute("BEGIN; SELECT count(*) FROM event_log")
        .expect("a reader");

    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (stop, mut session) = (Arc::clone(&stop), installation.connect());
        thread::spawn(move || {
            let mut longest = Duration::ZERO;
            let mut rows = 0;
            while !stop.load(Ordering::Relaxed) {
                let began = Instant::now();
                session.execute(INSERT).expect("the application writes");
                longest = longest.max(began.elapsed());
                rows += 1;
                thread::sleep(Duration::from_millis(2));
            }
            (longest, rows)
        })
    };
    let run = installation.run(json!({})).expect("a run that gives way");
    stop.store(true, Ordering::Relaxed);
    let (longest, rows) = writer.join().expect("the writer ends");
    let rule = only(&run);
    assert_eq!(
        rule["skipped_samples"],
        json!({"LOCKED": ["event_log_old", "event_log_past"]}),
        "{run}"
    );
    assert_eq!(
        (&rule["families"], &rule["retries"]),
        (&json!(0), &json!(6)),
        "{run}"
    );
    assert_eq!(
        partitions(&mut installation),
        set(&["event_log_now", "event_log_old", "event_log_past"])
    );
    // It did have to wait behind the lock, for half of the timeout, and went on between the tries.
    assert!(
        longest >= Duration::from_millis(TIMEOUT / 4),
        "nobody waited: {longest:?}, {rows} rows"
    );
    assert!(
        longest <= Duration::from_millis(TIMEOUT),
        "somebody waited {longest:?}, {rows} rows"
    );
    assert!(rows > 20, "{rows}");

    reader.execute("COMMIT").expect("the reader ends");
    let run = installation.run(json!({})).expect("the next run");
    assert_eq!(only(&run)["families"], 2, "{run}");
    assert_eq!(partitions(&mut installation), set(&["event_log_now"]));
    let written = installation.number("SELECT count(*) FROM event_log WHERE message = 'meanwhile'");
    assert_eq!(written, rows);
}

/// The exclusive lock of a drop would be in the WAL, whether or not it is rolled back, and cancel queries on standbys.
pub(super) fn a_dry_run_locks_nobody_out() {
    let mut installation = armed("event-log-dry");
    let mut reader = installation.connect();
    reader
        .execute("BEGIN; SELECT count(*) FROM event_log; INSERT INTO event_log (logged_at, message) VALUES (now(), 'open')")
        .expect("a reader");
    let dry = json!({"dry_run": true});
    let told = installation.run(dry.clone()).expect("a dry run");
    assert_eq!(
        (&only(&told)["families"], &only(&told)["skipped"]),
        (&json!(2), &json!({})),
        "{told}"
    );
    reader.execute("ROLLBACK").expect("an end");
    // What would keep a partition is told all the same.
    installation.execute("CREATE VIEW shows AS SELECT * FROM event_log_past");
    for options in [dry, json!({})] {
        let run = installation.run(options).expect("a run");
        assert_eq!(
            (&only(&run)["families"], &only(&run)["skipped_samples"]),
            (&json!(1), &json!({"FAILED": ["event_log_past"]})),
            "{run}"
        );
    }
}

/// What is attached while a family is looked at is of that family.
pub(super) fn a_partition_that_comes_late_keeps_its_family() {
    let spec = r#"
name = "part-attached"
dialects = ["postgres"]
[tables]
run  = { key = "id bigint" }
step = { parents = ["run_id bigint -> run.id"], indexed = ["run_id"] }
[rules.runs]
strategy  = "partition"
root      = "run"
time      = "at timestamptz"
tables    = ["step: run_id", "run"]
where_sql = "public.looked({root}.id)"
retention = { default = "31d", minimum = "7d", safety_lag = "1h" }
"#;
    let schema = "
        CREATE TABLE run (id bigint NOT NULL, at timestamptz) PARTITION BY RANGE (at);
        CREATE INDEX ON run (id);
        CREATE TABLE step (id bigint, run_id bigint, at timestamptz) PARTITION BY RANGE (at);
        CREATE INDEX ON step (run_id);
        CREATE TABLE run_1 PARTITION OF run FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
        CREATE TABLE step_q (LIKE step);
        INSERT INTO run VALUES (1, '2026-01-03');
        INSERT INTO step_q VALUES (1, 1, '2026-01-03');
        CREATE FUNCTION public.looked(bigint) RETURNS boolean LANGUAGE plpgsql AS
            'BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN true; END'";
    let mut installation = Installation::of(Dialect::Postgres, schema, &graph_of(spec));
    let owner = owner(&installation);
    installation.execute(&format!(
        "DO $$ BEGIN CREATE ROLE {owner} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
         ALTER TABLE run_1 OWNER TO {owner}"
    ));
    grant(&mut installation);
    installation.arm();
    installation
        .set_setting("lock_timeout", 20_000)
        .expect("a setting");
    let options = json!({"as_of": "2026-03-10"});
    let mut other = installation.connect();
    other
        .execute("SELECT pg_advisory_lock(4711)")
        .expect("a lock");
    let (runner, _, session) = installation.call_aside("run", options.clone());
    installation.until_locked("a look", &runner, session);
    other
        .execute(&format!(
            "ALTER TABLE step_q OWNER TO {owner};
             ALTER TABLE step ATTACH PARTITION step_q FOR VALUES FROM ('2026-01-01') TO ('2026-04-01');
             SELECT pg_advisory_unlock(4711)"
        ))
        .expect("a partition");
    let run = runner.join().expect("no panic").1.expect("a run");
    assert_eq!(
        (&only(&run)["families"], &only(&run)["skipped"]["FAILED"]),
        (&json!(0), &json!(1)),
        "{run}"
    );
    assert_eq!(installation.number("SELECT count(*) FROM run"), 1);
    // The family is not over, then.
    let run = installation.run(options).expect("a run");
    assert_eq!(
        only(&run)["skipped_samples"],
        json!({"RETENTION_NOT_REACHED": ["run_1 (step_q)"]}),
        "{run}"
    );
    let run = installation.run(json!({"as_of": "2026-06-01"}));
    let run = run.expect("a run");
    assert_eq!(only(&run)["families"], 1, "{run}");
}

pub(super) fn a_held_row_that_comes_late_keeps_its_partition() {
    let mut installation = armed("event-log-late");
    installation
        .set_setting("lock_timeout", 20_000)
        .expect("a setting");
    installation.execute("DROP TABLE event_log_old");
    let hold = json!({"rule": "event_log", "key": 999, "reason": "a test", "even_if_absent": true});
    installation.set_hold(hold).expect("a hold");
    let mut writer = installation.connect();
    let insert = "INSERT INTO event_log (id, logged_at, message) OVERRIDING SYSTEM VALUE VALUES (999, now() - interval '150 days', 'late')";
    writer
        .execute(&format!("BEGIN; {insert}"))
        .expect("a row that is not committed");
    let (runner, _, session) = installation.call_aside("run", json!({}));
    installation.until_locked("a late row", &runner, session);
    assert_eq!(
        partitions(&mut installation),
        set(&["event_log_now", "event_log_past"])
    );
    writer.execute("COMMIT").expect("the row is there");
    let (_, run) = runner.join().expect("the run ends");
    let run = run.expect("a run");
    assert_eq!(only(&run)["families"], 0, "{run}");
    assert_eq!(
        only(&run)["skipped_samples"],
        json!({"HELD": ["event_log_past (999)"]}),
        "{run}"
    );
    assert_eq!(
        installation.number("SELECT count(*) FROM event_log WHERE id = 999"),
        1
    );
}
