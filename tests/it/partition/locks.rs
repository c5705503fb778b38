//! What the application feels of a drop, and what a drop sees of the application.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{armed, only, partitions, set};

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
