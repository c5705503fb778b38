//! What a killed run has taken out of a table, where the run that finds it is another than the one that took it.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::{PAST, SCHEMA, armed, files, ids, leave, ledger, taken};
use crate::partition::{only, without_ahead};
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

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
        let purge = installation.purge(purge).expect("a purge");
        assert_eq!(
            only(&purge)["skipped_samples"],
            json!({"FAILED": ["30"]}),
            "{purge}"
        );
        assert!(purge.to_string().contains(&refused), "{purge}");
        installation.execute(r#"CALL W.pause_rule('{"rule": "event_log", "reason": "a test"}')"#);
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(run["status"], "failed", "{run}");
        installation.execute(r#"CALL W.resume_rule('{"rule": "event_log"}')"#);
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
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(details(&mut installation), "30 60 70", "{run}");
    reader.execute("COMMIT").expect("the reader ends");
    let run = installation.run(json!({})).expect("the next run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(details(&mut installation), "60", "{run}");
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
