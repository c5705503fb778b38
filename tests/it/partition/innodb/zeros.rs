//! Tables whose columns have values that the server takes only from sessions that are less strict: no date, and no day.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::rules::of_file;
use super::{PAST, SCHEMA, files, ids, leave, partitions, taken};
use crate::partition::archive;
use crate::partition::{example, example_of, only};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

/// What an application does that writes dates without a day: it says so, and then does it.
fn loosely(sql: &str) -> String {
    format!("SET SESSION sql_mode = 'ALLOW_INVALID_DATES'; {sql}; SET SESSION sql_mode = DEFAULT")
}

/// The table of the example, with such columns, and such values in all rows.
fn with_zeros(dialect: Dialect, graph: &Graph) -> Installation {
    files(dialect);
    let schema = SCHEMA.replace(
        "    message   text NOT NULL,\n",
        "    message   text NOT NULL,
         ended     datetime(6) NOT NULL DEFAULT '0000-00-00 00:00:00',
         day       date DEFAULT '0000-00-00',
         part      date DEFAULT '2025-00-00',
         invalid   date DEFAULT '2025-02-31',
         stamped   timestamp NOT NULL DEFAULT '0000-00-00 00:00:00',
         state     enum('a', 'b') NOT NULL DEFAULT 'a',\n",
    );
    assert_ne!(schema, SCHEMA);
    // All of them are five months wide.
    let schema = schema.replace("'2026-01-01'", "'2025-11-01'");
    let schema = format!("{}; UPDATE event_log SET state = 'c'", schema.trim_end());
    let mut installation = Installation::of(dialect, &loosely(&schema), graph);
    installation.arm();
    installation
}

fn all_of(installation: &mut Installation) -> Vec<String> {
    installation.texts("SELECT CONCAT_WS('/', id, ended, day, part, invalid, stamped, state) FROM event_log ORDER BY id")
}

/// A run drops what is due, merges what is empty and makes what comes next, as of other tables.
pub(super) fn dates_without_a_day_are_no_obstacle(dialect: Dialect) {
    let mut installation = with_zeros(dialect, &example("event-log-zeros"));
    installation.preview(json!({})).expect("a preview");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &only(&run)["rows"]),
        (&json!("done"), &json!(5)),
        "{run}"
    );
    assert_eq!(ids(&mut installation), "6");
    assert_eq!(partitions(&mut installation), ["late", "future"]);
    let verify = installation.call("verify", json!({})).expect("verify");
    assert!(violations(&verify).is_empty(), "{verify}");

    let mut installation = with_zeros(dialect, &example_of("event-log-zeros-ahead", "400d"));
    installation.execute("DELETE FROM event_log WHERE id = 6");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(only(&run)["not_made"], json!({}), "{run}");
    assert!(
        only(&run)["made"]
            .as_array()
            .is_some_and(|it| !it.is_empty()),
        "{run}"
    );
}

/// Rows that go back, and such as were written meanwhile, are what they were.
pub(super) fn rows_with_dates_without_a_day_go_back(dialect: Dialect) {
    for (phase, late) in [("returning", true), ("taking", true), ("taking", false)] {
        let mut installation = with_zeros(dialect, &example("event-log-zeros-back"));
        let hold = json!({"rule": "event_log", "key": 3, "reason": "a test"});
        installation.set_hold(hold).expect("a hold");
        installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
        let before = all_of(&mut installation);
        let intent = format!("INTENT {phase}");
        installation.execute("SET SESSION sql_mode = 'ALLOW_INVALID_DATES'");
        leave(&mut installation, &[&intent, "TWIN", "SWAP"]);
        if late {
            leave(&mut installation, &["LATE"]);
            installation.execute("UPDATE event_log SET state = 'c' WHERE id = 8");
        }
        installation.execute("SET SESSION sql_mode = DEFAULT");
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(run["status"], "done", "{phase}: {run}");
        assert_eq!(taken(&mut installation), 0, "{phase}: {run}");
        let mut left = before;
        if late {
            left.push(left[0].replacen('3', "8", 1));
        }
        assert_eq!(all_of(&mut installation), left, "{phase}");
        assert!(run.to_string().contains(PAST), "{run}");
    }
}

/// What is archived comes back as it was.
pub(super) fn archived_dates_without_a_day_come_back(dialect: Dialect) {
    let mut installation = with_zeros(dialect, &archive::example("event-log-zeros-archive"));
    let before = all_of(&mut installation);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &only(&run)["rows"]),
        (&json!("done"), &json!(5)),
        "{run}"
    );
    assert_eq!(ids(&mut installation), "6");
    installation
        .call("archive_restore", json!({"run": run["run"]}))
        .expect("it comes back");
    assert_eq!(all_of(&mut installation), before);
}

/// A table with such dates gets the index that a rule needs.
pub(super) fn an_index_is_made_and_dropped_beside_dates_without_a_day(dialect: Dialect) {
    let graph = graph_of(
        r#"
name = "zeros"

[tables]
job = { key = "id bigint" }

[rules.jobs]
strategy  = "age"
root      = "job"
time      = "made timestamp"
retention = { default = "30d" }
"#,
    );
    let schema = "CREATE TABLE job (
            id bigint AUTO_INCREMENT PRIMARY KEY, made datetime, ended datetime(6) NOT NULL DEFAULT '0000-00-00 00:00:00',
            day date DEFAULT '2025-00-00', invalid date DEFAULT '2025-02-31', state enum('a', 'b') NOT NULL DEFAULT 'a'
        );
        INSERT INTO job (id, made) VALUES (1, '2024-01-01'), (2, '2024-01-02'), (3, UTC_TIMESTAMP());
        UPDATE job SET state = 'c'";
    let mut installation = Installation::of(dialect, &loosely(schema), &graph);
    installation.arm();
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &only(&run)["rows"]),
        (&json!("done"), &json!(2)),
        "{run}"
    );
    assert_eq!(installation.texts("SELECT id FROM job"), ["3"]);
    let indexes = "SELECT COUNT(*) FROM information_schema.statistics
         WHERE table_schema = DATABASE() AND table_name = 'job' AND index_name LIKE 'windrow%' AND seq_in_index = 1";
    assert_eq!(installation.number(indexes), 1);

    let undo = of_file(&installation.bundle(&graph), "90_uninstall.sql");
    for statement in undo {
        installation
            .attempt(&statement)
            .expect("an uninstallation that drops the index");
    }
    assert_eq!(installation.number(indexes), 0);
}
