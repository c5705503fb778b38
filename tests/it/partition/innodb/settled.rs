//! What a killed run has taken out of a table, where the run that finds it is another than the one that took it.

use std::thread;
use std::time::Duration;

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::{PAST, SCHEMA, armed, files, ids, leave, ledger, taken};
use crate::partition::{only, without_ahead};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};
use crate::support::patience::until;

/// The rows are out of the table, and not judged.
const TAKEN: &[&str] = &["INTENT taking", "TWIN", "SWAP"];

/// The run that took a partition had another retention than the one that settles it, or another time.
pub(super) fn what_is_not_due_for_the_run_that_settles_it_goes_back(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-due");
    installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
    // The partition ends on 1 June: 50 days before, and with the lag of a day, 91.
    for (as_of, retention) in [
        ("2025-07-21T00:00:00Z", None),
        ("2025-08-30T23:59:59Z", None),
        ("2025-07-01T23:59:59Z", Some("30d")),
    ] {
        leave(&mut installation, TAKEN);
        assert_eq!(ids(&mut installation), "6");
        let mut options = json!({"as_of": as_of});
        if let Some(retention) = retention {
            options["retention"] = json!(retention);
        }
        let run = installation.run(options).expect("a run");
        assert_eq!(
            (&run["status"], &only(&run)["skipped_samples"]),
            (&json!("done"), &json!({"RETENTION_NOT_REACHED": [PAST]})),
            "{run}"
        );
        assert_eq!(ids(&mut installation), "3 4 6", "{run}");
        assert_eq!(ledger(&mut installation), [""; 0]);
        assert_eq!(taken(&mut installation), 0);
    }
    for options in [
        json!({"as_of": "2025-08-31T00:00:00Z"}),
        json!({"as_of": "2025-07-02T00:00:00Z", "retention": "30d"}),
    ] {
        leave(&mut installation, TAKEN);
        let run = installation.run(options).expect("a run");
        assert_eq!(only(&run)["rows"], 2, "{run}");
        assert_eq!(taken(&mut installation), 0);
        assert_eq!(ids(&mut installation), "6");
        installation.execute(
            "INSERT INTO event_log (id, logged_at, message) VALUES (3, '2025-01-01', 'c'), (4, '2025-05-01', 'd')",
        );
    }
}

/// A rule of details, which go once their event is gone, stands before that of events.
const DETAILS: &str = r#"
detail = { key = "id bigint" }

[rules.detail]
strategy  = "orphan"
root      = "detail"
needs     = ["event_id -> event_log.id"]
at_once   = true
"#;

fn with_details(dialect: Dialect, name: &str, workers: i64) -> Installation {
    files(dialect);
    let spec = without_ahead().replace("\"event-log\"", &format!("\"{name}\""));
    let spec = spec.replace(
        "\n\n# A partition is dropped",
        &format!("{DETAILS}\n# A partition is dropped"),
    );
    let graph = Graph {
        workers,
        ..graph_of(&spec)
    };
    let schema = format!(
        "{SCHEMA}; CREATE TABLE detail (id bigint PRIMARY KEY, event_id bigint NOT NULL, KEY (event_id));
         INSERT INTO detail (id, event_id) VALUES (30, 3), (60, 6), (70, 7)"
    );
    let mut installation = Installation::of(dialect, &schema, &graph);
    installation.arm();
    installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
    installation
}

fn details(installation: &mut Installation) -> String {
    installation
        .texts("SELECT id FROM detail ORDER BY id")
        .join(" ")
}

/// Rows that are out of their table are not gone: no other rule deletes what belongs to them.
pub(super) fn what_belongs_to_rows_that_are_out_stays(dialect: Dialect) {
    for workers in [1, 2] {
        let mut installation = with_details(dialect, "event-log-details", workers);
        let hold = json!({"rule": "event_log", "key": 3, "reason": "a test"});
        installation.set_hold(hold).expect("a hold");
        leave(&mut installation, TAKEN);
        let refused = format!("rows of partition {PAST} are out of their table");
        let run = installation
            .run(json!({"rule": "detail"}))
            .expect("a run of details");
        assert_eq!(run["status"], "failed", "{run}");
        assert!(
            run["reason"]
                .as_str()
                .unwrap_or_default()
                .contains(&refused),
            "{run}"
        );
        let purge = json!({"rule": "detail", "key": [30]});
        let purge = installation.purge(purge).expect_err("rows that are out");
        let purge = format!("{purge:#}");
        assert!(purge.contains(&refused), "{purge}");
        assert_eq!(details(&mut installation), "30 60 70");

        let run = installation.run(json!({})).expect("a run of all rules");
        assert_eq!(run["status"], "done", "{run}");
        assert_eq!(ids(&mut installation), "3 4 6", "{run}");
        assert_eq!(details(&mut installation), "30 60", "{run}");
        assert_eq!(taken(&mut installation), 0);
    }
}

/// In the run itself, where the rows cannot go back.
pub(super) fn what_belongs_to_rows_that_cannot_go_back_stays(dialect: Dialect) {
    let mut installation = with_details(dialect, "event-log-details-busy", 1);
    leave(&mut installation, &["INTENT returning", "TWIN", "SWAP"]);
    let mut reader = installation.connect();
    reader
        .execute("BEGIN; SELECT COUNT(*) FROM event_log")
        .expect("a reader");
    let setting = json!({"rule": "event_log", "name": "retries", "value": 1});
    installation
        .call("set_setting", setting)
        .expect("a setting");
    let (runner, _, _) = installation.call_aside("run", json!({"time_budget": "1s"}));
    // Neither the tries that a batch has nor the time of the run end it.
    let tries = "SELECT COUNT(*) FROM W.run_rule WHERE retries > 3";
    until("a run that tries", || {
        assert!(!runner.is_finished(), "it ended");
        Ok(installation.number(tries) == 1)
    })
    .expect("it tries");
    assert_eq!(details(&mut installation), "30 60 70");
    let waits = "SELECT waiting_for LIKE 'a lock on a table%' FROM W.run WHERE status = 'running'";
    assert_eq!(installation.number(waits), 1);
    reader.execute("COMMIT").expect("the reader ends");
    let run = runner.join().expect("no panic").1.expect("a run");
    assert_eq!(taken(&mut installation), 0);
    assert_eq!(ids(&mut installation), "3 4 6", "{run}");
    assert_eq!(details(&mut installation), "30 60 70", "{run}");
    let run = installation.run(json!({})).expect("the next run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(details(&mut installation), "30 60", "{run}");
    assert_eq!(ids(&mut installation), "6");
}

/// A row that is out of its table can be held until it is judged.
pub(super) fn a_row_that_is_out_can_be_held(dialect: Dialect) {
    for (statements, there, left) in [
        (TAKEN, true, "3 4 6"),
        (
            &["LEDGER", "INTENT dropping", "TWIN", "SWAP"][..],
            false,
            "6",
        ),
    ] {
        let mut installation = armed(dialect, "event-log-hold");
        installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
        leave(&mut installation, statements);
        let hold = |key: i64| json!({"rule": "event_log", "key": key, "reason": "a test"});
        let held = installation.set_hold(hold(3));
        assert_eq!(held.is_ok(), there, "{held:?}");
        assert!(installation.set_hold(hold(77)).is_err());
        installation.set_hold(hold(6)).expect("a row of the table");
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(run["status"], "done", "{run}");
        assert_eq!(ids(&mut installation), left, "{run}");
        assert_eq!(taken(&mut installation), 0);
    }
}

/// A run that is killed within the judgement, whose session commits what there is of it (MySQL): nothing goes uncounted, and nothing is
/// counted that has not gone.
pub(super) fn what_is_killed_while_it_is_judged_is_counted_once(dialect: Dialect) {
    for (round, table, change, when) in [
        (
            "before the ledger",
            "run_partition",
            "BEFORE INSERT",
            "true",
        ),
        (
            "within the ledger",
            "run_rule",
            "BEFORE UPDATE",
            "new.deleted_rows > old.deleted_rows",
        ),
        (
            "behind the ledger",
            "run_rule",
            "BEFORE UPDATE",
            "new.batches > old.batches AND old.deleted_rows > 0",
        ),
    ] {
        let mut installation = armed(dialect, "event-log-judged");
        installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
        installation.execute(&format!(
            "CREATE TRIGGER W.sleeps {change} ON W.{table} FOR EACH ROW
             BEGIN DECLARE v_slept int; IF {when} THEN SET v_slept = SLEEP(600); END IF; END"
        ));
        installation.kill_asleep(round, "run", json!({}));
        installation.execute("DROP TRIGGER W.sleeps");
        let run = installation.run(json!({})).expect("the next run");
        assert_eq!(run["status"], "done", "{round}: {run}");
        assert_eq!(ids(&mut installation), "6", "{round}: {run}");
        assert_eq!(taken(&mut installation), 0, "{round}");
        assert_eq!(
            ledger(&mut installation),
            [format!("{PAST}/2025-01-01 00:00:00/2025-06-01 00:00:00/2")],
            "{dialect:?}, {round}"
        );
        for sum in ["run_table", "run_rule"] {
            let sum = format!("SELECT SUM(deleted_rows) FROM W.{sum}");
            assert_eq!(installation.number(&sum), 2, "{round}: {sum}");
        }
    }
}

/// Marks each row that is inserted.
const INSERTS: &str = "CREATE TRIGGER inserts BEFORE INSERT ON event_log FOR EACH ROW SET new.message = CONCAT(new.message, '!')";

/// A run that ends behind the exchange by which rows go back has not said so. The next one inserts only what was written meanwhile.
pub(super) fn rows_that_went_back_are_not_taken_out_again(dialect: Dialect) {
    let back = ["INTENT returning", "MARK", "TWIN", "SWAP", "LATE", "SWAP"];
    // The rows are still out where the mark is.
    for (statements, messages) in [(&back[..], "c d late!"), (&back[..5], "c d late!")] {
        let mut installation = armed(dialect, "event-log-back");
        installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5, 6)");
        let hold = json!({"rule": "event_log", "key": 3, "reason": "a test"});
        installation.set_hold(hold).expect("a hold");
        leave(&mut installation, statements);
        installation.execute(INSERTS);
        let run = installation.run(json!({})).expect("the next run");
        assert_eq!(run["status"], "done", "{run}");
        let found = installation.texts("SELECT message FROM event_log ORDER BY id");
        assert_eq!(found.join(" "), messages, "{statements:?}: {run}");
        assert_eq!(taken(&mut installation), 0, "{statements:?}");
    }
}

/// Whatever ends a run: rows that are out of their table go back first.
pub(super) fn rows_go_back_where_a_run_may_not_go_on(dialect: Dialect) {
    for workers in [1, 2] {
        let mut installation = with_details(dialect, "event-log-ends", workers);
        leave(&mut installation, TAKEN);
        installation.execute(r#"CALL W.pause_rule('{"rule": "event_log", "reason": "a test"}')"#);
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(run["status"], "stopped", "{run}");
        assert_eq!(ids(&mut installation), "3 4 6", "{workers}: {run}");
        assert_eq!(details(&mut installation), "30 60", "{run}");
        assert_eq!(taken(&mut installation), 0);
        assert_eq!(ledger(&mut installation), [""; 0]);
        installation.execute(r#"CALL W.resume_rule('{"rule": "event_log"}')"#);

        // A policy or a hold that is being written for longer than the run may take.
        leave(&mut installation, TAKEN);
        let mut writer = installation.connect();
        let control = installation.control.clone();
        writer
            .execute(&format!("BEGIN; SELECT * FROM {control}.latch FOR UPDATE"))
            .expect("a latch");
        let run = installation
            .run(json!({"time_budget": "1s"}))
            .expect("a run");
        assert_eq!(run["status"], "stopped", "{run}");
        assert_eq!(ids(&mut installation), "3 4 6", "{workers}: {run}");
        assert_eq!(taken(&mut installation), 0);
        writer.execute("ROLLBACK").expect("the end of it");
    }
}

/// What a batch waits for, such as a replica, does not keep rows out of their table.
pub(super) fn what_is_out_waits_for_nothing(dialect: Dialect) {
    files(dialect);
    let spec = without_ahead().replace("\"event-log\"", "\"event-log-waits\"");
    let spec = spec.replace(
        "retention = { default",
        "limits = { wait_while_sql = \"SELECT 1\" }\nretention = { default",
    );
    let mut installation = Installation::of(dialect, SCHEMA, &graph_of(&spec));
    installation.arm();
    leave(&mut installation, TAKEN);
    let run = installation
        .run(json!({"time_budget": "2s"}))
        .expect("a run");
    // It has dropped them, and takes no others.
    assert_eq!(run["status"], "stopped", "{run}");
    assert_eq!(only(&run)["rows"], 2, "{run}");
    assert_eq!(ids(&mut installation), "1 2 5 6", "{run}");
    assert_eq!(taken(&mut installation), 0);
}

/// What a migration did while rows were out of the table.
pub(super) fn rows_go_back_into_a_table_that_was_altered(dialect: Dialect) {
    for alters in [
        "ALTER TABLE event_log ADD COLUMN more int",
        "ALTER TABLE event_log ADD COLUMN more int FIRST, DROP COLUMN twice",
        "ALTER TABLE event_log ADD INDEX more (message(20))",
        "ALTER TABLE event_log DROP COLUMN twice, MODIFY message mediumtext NOT NULL",
        "ALTER TABLE event_log REORGANIZE PARTITION `the ``past``` INTO (
             PARTITION a VALUES LESS THAN (UNIX_TIMESTAMP('2025-02-01')), PARTITION b VALUES LESS THAN (UNIX_TIMESTAMP('2025-06-01')))",
        "ALTER TABLE event_log REMOVE PARTITIONING",
        "ALTER TABLE event_log MODIFY code char(6) CHARACTER SET utf8mb4, MODIFY kind enum('a', 'b') CHARACTER SET utf8mb4",
    ] {
        let mut installation = armed(dialect, "event-log-altered");
        installation.execute(
            "ALTER TABLE event_log ADD COLUMN code char(4) CHARACTER SET utf8mb3 DEFAULT 'x',
                 ADD COLUMN kind enum('a', 'b') CHARACTER SET utf8mb3 DEFAULT 'b', ALGORITHM = COPY;
             DELETE FROM event_log WHERE id IN (1, 2, 5, 6)",
        );
        leave(
            &mut installation,
            &["INTENT returning", "MARK", "TWIN", "SWAP", "LATE"],
        );
        installation.execute(alters);
        installation.execute("CALL W.give_back()");
        let found = installation.texts("SELECT CONCAT(id, message) FROM event_log ORDER BY id");
        assert_eq!(found, ["3c", "4d", "8late"], "{alters}");
        assert_eq!(taken(&mut installation), 0, "{alters}");
    }
}

/// What the table cannot have as it is stays where it is until somebody has seen to it.
pub(super) fn no_value_is_lost_in_a_table_that_was_altered(dialect: Dialect) {
    for (alters, back, says) in [
        (
            "ALTER TABLE event_log DROP COLUMN twice; ALTER TABLE event_log RENAME COLUMN message TO body",
            "ALTER TABLE event_log RENAME COLUMN body TO message",
            "column message is not in both of event_log and event_log_taken",
        ),
        (
            "ALTER TABLE event_log MODIFY took decimal(6, 1) NOT NULL DEFAULT 1.3",
            "ALTER TABLE event_log MODIFY took decimal(6, 3) NOT NULL DEFAULT 1.234",
            "event_log.took is decimal(6,1), and decimal(6,3) in event_log_taken",
        ),
        (
            "ALTER TABLE event_log MODIFY at_sea timestamp(3) NULL",
            "ALTER TABLE event_log MODIFY at_sea datetime(3)",
            "event_log.at_sea is timestamp(3), and datetime(3) in event_log_taken",
        ),
        (
            "ALTER TABLE event_log MODIFY tag tinytext CHARACTER SET utf8mb4",
            "ALTER TABLE event_log MODIFY tag varchar(100) CHARACTER SET utf8mb4",
            "event_log.tag is tinytext, and varchar(100) in event_log_taken",
        ),
    ] {
        let mut installation = armed(dialect, "event-log-misfit");
        installation.execute(
            "ALTER TABLE event_log ADD COLUMN took decimal(6, 3) NOT NULL DEFAULT 1.234, ADD COLUMN at_sea datetime(3),
                 ADD COLUMN tag varchar(100) CHARACTER SET utf8mb4, ALGORITHM = COPY;
             DELETE FROM event_log WHERE id IN (1, 2, 5, 6)",
        );
        leave(&mut installation, TAKEN);
        installation.execute(alters);
        let refused = installation.attempt("CALL W.give_back()");
        let refused = format!("{:#}", refused.expect_err(says));
        assert!(refused.contains(says), "{refused}");
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(run["status"], "failed", "{run}");
        assert!(run["reason"].to_string().contains(says), "{run}");
        assert_ne!(taken(&mut installation), 0, "{alters}");
        installation.execute(back);
        installation.execute("CALL W.give_back()");
        let found =
            installation.texts("SELECT CONCAT(id, message, took) FROM event_log ORDER BY id");
        assert_eq!(found, ["3c1.234", "4d1.234"], "{alters}");
        assert_eq!(taken(&mut installation), 0, "{alters}");
    }
}

/// A run that was killed behind the last row that went back left only its note of it.
pub(super) fn what_is_back_is_done_with(dialect: Dialect) {
    for left in [&["INTENT returned"][..], &["INTENT returning", "MARK"]] {
        let mut installation = armed(dialect, "event-log-done");
        installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
        leave(&mut installation, left);
        installation.execute("CALL W.give_back()");
        assert_eq!(taken(&mut installation), 0, "{left:?}");
        assert_eq!(ids(&mut installation), "3 4 6", "{left:?}");
        leave(&mut installation, left);
        let run = installation.run(json!({})).expect("the next run");
        assert_eq!(run["status"], "done", "{left:?}: {run}");
        assert_eq!(taken(&mut installation), 0, "{left:?}");
        assert_eq!(ids(&mut installation), "6", "{left:?}: {run}");
    }
}

/// A run that was killed between what it wrote down and that the rows go, and whose session committed (MySQL).
pub(super) fn what_goes_back_is_not_counted(dialect: Dialect) {
    let counted = ["INTENT taking", "TWIN", "SWAP", "LEDGER"];
    let mut installation = armed(dialect, "event-log-counted");
    installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
    leave(&mut installation, &counted);
    assert_eq!(ledger(&mut installation).len(), 1);
    installation.execute("CALL W.give_back()");
    assert_eq!(ledger(&mut installation), [""; 0]);
    assert_eq!(ids(&mut installation), "3 4 6");
    leave(&mut installation, &counted);
    let hold = json!({"rule": "event_log", "key": 3, "reason": "a test"});
    installation.set_hold(hold).expect("a hold");
    let run = installation.run(json!({})).expect("the next run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(ledger(&mut installation), [""; 0]);
    assert_eq!(ids(&mut installation), "3 4 6", "{run}");
}

/// While nobody may start a run, too.
pub(super) fn rows_of_a_cancelled_run_go_back(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-cancelled");
    installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
    installation.execute(
        "CREATE TRIGGER W.sleeps BEFORE INSERT ON W.run_partition FOR EACH ROW BEGIN DECLARE v_slept int; SET v_slept = SLEEP(600); END",
    );
    let (runner, cancel, number) = installation.call_aside("run", json!({}));
    installation.until_asleep("judged", &runner, number);
    cancel().expect("a cancel");
    let (mut session, answer) = runner.join().expect("no panic");
    assert!(answer.is_err(), "it survived");
    session.execute("COMMIT").expect("a commit");
    drop(session);
    installation.until_gone(number);
    installation.execute("DROP TRIGGER W.sleeps");
    // On MySQL no handler runs.
    let back = match dialect {
        Dialect::Mariadb => "3 4 6",
        _ => "6",
    };
    assert_eq!(ids(&mut installation), back, "{dialect:?}");
    installation.execute("CALL W.give_back()");
    assert_eq!(ids(&mut installation), "3 4 6");
    assert_eq!(taken(&mut installation), 0);

    leave(&mut installation, TAKEN);
    installation.execute("CALL W.pause('rows are missing')");
    installation.execute("UPDATE W.control SET server_identity = 'another'");
    let verify = installation.call("verify", json!({})).expect("verify");
    let said = violations(&verify);
    assert!(
        said.iter().any(|it| it.to_string().contains("give_back()")),
        "{verify}"
    );
    installation.execute("CALL W.give_back()");
    assert_eq!(ids(&mut installation), "3 4 6");
    assert_eq!(taken(&mut installation), 0);
    assert_eq!(ledger(&mut installation), [""; 0]);

    // Nothing that the ledger has as deleted, and not beside a run.
    leave(
        &mut installation,
        &["LEDGER", "INTENT dropping", "TWIN", "SWAP"],
    );
    installation.execute("CALL W.give_back()");
    assert_eq!(ids(&mut installation), "6");
    let mut run = installation.connect();
    let lock = installation.named("SELECT GET_LOCK(s.run_lock, 0) FROM W.spec AS s");
    run.query(&lock, &[]).expect("a lock");
    installation
        .attempt("CALL W.give_back()")
        .expect_err("a run is in progress");
}

/// Where rows cannot go back, the run says so.
pub(super) fn a_run_that_ends_says_that_rows_are_out(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-says");
    let hold = json!({"rule": "event_log", "key": 3, "reason": "a test"});
    installation.set_hold(hold).expect("a hold");
    leave(
        &mut installation,
        &["INTENT returning", "MARK", "TWIN", "SWAP"],
    );
    let mut reader = installation.connect();
    reader
        .execute("BEGIN; SELECT COUNT(*) FROM event_log")
        .expect("a reader");
    let (runner, cancel, number) = installation.call_aside("run", json!({}));
    let tries = "SELECT COUNT(*) FROM W.run_rule WHERE retries > 0";
    until("a run that tries", || Ok(installation.number(tries) > 0)).expect("it tries");
    while !runner.is_finished() {
        cancel().expect("a cancel");
        thread::sleep(Duration::from_millis(500));
    }
    let (mut session, answer) = runner.join().expect("no panic");
    assert!(answer.is_err(), "it survived");
    if dialect == Dialect::Mysql {
        session.execute("ROLLBACK").expect("a rollback");
    }
    drop(session);
    installation.until_gone(number);
    reader.execute("COMMIT").expect("the reader ends");
    installation.execute("CALL W.reap()");
    let reason = installation.texts("SELECT CONCAT(status, ': ', reason) FROM W.run");
    let said = format!("cancelled: cancelled; rows of partition {PAST} are out of their table");
    if dialect == Dialect::Mariadb {
        assert_eq!(reason, [said]);
    }
    installation.execute("CALL W.give_back()");
    assert_eq!(ids(&mut installation), "1 2 3 4 5 6");
}
