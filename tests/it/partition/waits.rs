//! Rows that have not ended, or not long enough ago, keep their partition, on all servers.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::{grant, innodb, only, own};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};
use crate::support::patience::until;

tests! {
    every_server: [
        rows_that_have_not_ended_keep_their_partition,
        a_row_that_ended_at_the_cutoff_keeps_its_partition,
        a_row_that_runs_again_behind_the_look_keeps_its_partition,
    ],
}

const SPEC: &str = r#"
[tables]
event_log = { key = "id bigint" }
[rules.jobs]
strategy  = "partition"
root      = "event_log"
time      = "at timestamptz"
final     = { state = ["success", "failed"] }
where_sql = "{root}.note IS NULL"
end_time  = "ended timestamptz else touched"
retention = { default = "90d", minimum = "30d", safety_lag = "1d" }
"#;

const ROWS: &str = "INSERT INTO event_log (id, at, state, ended, touched, note) VALUES
    (1, '2025-01-02', 'success', '2025-01-03', NULL, NULL), (2, '2025-01-09', 'running', '2025-01-10', NULL, NULL),
    (3, '2025-02-02', 'failed', NOW() - INTERVAL '30' DAY, '2025-02-03', NULL), (4, '2025-03-02', 'success', NULL, NULL, NULL),
    (5, '2025-04-02', 'success', NULL, '2025-04-03', NULL), (6, '2025-04-03', 'failed', '2025-04-03', NULL, NULL),
    (7, '2025-05-02', 'failed', '2025-05-02', NULL, 'an open question'), (8, '2025-07-02', 'running', NULL, NULL, NULL)";

/// The rule, in an installation of this name.
pub(crate) fn graph(name: &str) -> Graph {
    graph_of(&format!("name = \"{name}\"{SPEC}"))
}

/// A partition for each of five months, and one that is not over.
fn armed(dialect: Dialect, name: &str) -> Installation {
    let columns = |time: &str| {
        format!(
            "id bigint NOT NULL, at {time}, state varchar(9), ended {time}, touched {time}, note varchar(20)"
        )
    };
    let parts = (1..=5).map(|month| match dialect {
        Dialect::Postgres => format!(
            "CREATE TABLE event_log_{month} PARTITION OF event_log FOR VALUES FROM ('2025-{month:02}-01') TO ('2025-{:02}-01');",
            month + 1
        ),
        Dialect::Mysql | Dialect::Mariadb => format!(
            "PARTITION event_log_{month} VALUES LESS THAN (UNIX_TIMESTAMP('2025-{:02}-01')),",
            month + 1
        ),
    });
    let parts = parts.collect::<String>();
    let schema = match dialect {
        Dialect::Postgres => format!(
            "CREATE TABLE event_log ({}) PARTITION BY RANGE (at); {parts}
             CREATE TABLE event_log_now PARTITION OF event_log FOR VALUES FROM ('2025-06-01') TO ('2100-01-01'); {ROWS}",
            columns("timestamptz")
        ),
        Dialect::Mysql | Dialect::Mariadb => format!(
            "CREATE TABLE event_log ({}) PARTITION BY RANGE (UNIX_TIMESTAMP(at)) (
             {parts} PARTITION later VALUES LESS THAN (UNIX_TIMESTAMP('2037-01-01'))); {ROWS}",
            columns("timestamp NULL")
        ),
    };
    if dialect != Dialect::Postgres {
        innodb::files(dialect);
    }
    let mut installation = Installation::of(dialect, &schema, &graph(name));
    if dialect == Dialect::Postgres {
        own(&mut installation);
        grant(&mut installation);
    }
    installation.arm();
    installation
}

fn ids(installation: &mut Installation) -> String {
    let ids = installation.texts("SELECT id FROM event_log ORDER BY id");
    ids.join(" ")
}

/// Preview, dry run and run say so many partitions and rows, and what is kept.
fn said(installation: &mut Installation, families: i64, rows: i64, kept: &Value) {
    let before = ids(installation);
    let preview = installation.preview(json!({})).expect("a preview");
    let dry = json!({"dry_run": true});
    let dry = installation.run(dry).expect("a dry run");
    assert_eq!(ids(installation), before);
    let run = installation.run(json!({})).expect("a run");
    for document in [&preview, &dry, &run] {
        let rule = only(document);
        assert_eq!(
            (&rule["families"], &rule["rows"], &rule["skipped_samples"]),
            (&json!(families), &json!(rows), kept),
            "{:?}: {document}",
            installation.dialect
        );
    }
}

fn rows_that_have_not_ended_keep_their_partition(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-unfinished");
    let kept = json!({
        "NON_FINAL_MEMBER": ["event_log_1 (2)", "event_log_5 (7)"],
        "RETENTION_NOT_REACHED": ["event_log_2 (3)"],
        "UNDATED_MEMBER": ["event_log_3 (4)"],
    });
    said(&mut installation, 1, 2, &kept);
    assert_eq!(ids(&mut installation), "1 2 3 4 7 8");
    // A hold comes before the rest.
    let hold = json!({"rule": "jobs", "key": 1, "reason": "a test"});
    installation.set_hold(hold).expect("a hold");
    let mut held = kept.clone();
    held["NON_FINAL_MEMBER"] = json!(["event_log_5 (7)"]);
    held["HELD"] = json!(["event_log_1 (1)"]);
    said(&mut installation, 0, 0, &held);
    installation.execute("DELETE FROM W.hold");

    // When they end, or their end is known and old enough, the partitions go with the next run.
    installation.execute(
        "UPDATE event_log SET state = 'failed', touched = '2025-05-05' WHERE id IN (2, 4)",
    );
    installation.execute("UPDATE event_log SET note = NULL WHERE id = 7");
    said(
        &mut installation,
        3,
        4,
        &json!({"RETENTION_NOT_REACHED": ["event_log_2 (3)"]}),
    );
    assert_eq!(ids(&mut installation), "3 8");
    installation.execute("UPDATE event_log SET ended = '2025-05-05' WHERE id = 3");
    said(&mut installation, 1, 1, &json!({}));
    assert_eq!(ids(&mut installation), "8");
    let verify = installation.call("verify", json!({})).expect("verify");
    assert!(violations(&verify).is_empty(), "{verify}");
}

/// As by end time, a row goes when it ended before the cutoff: 91 days before the instant of the run.
fn a_row_that_ended_at_the_cutoff_keeps_its_partition(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-at-the-cutoff");
    installation.execute("DELETE FROM event_log WHERE id NOT IN (5, 6, 8)");
    let mut run_after = |ended: &str| {
        installation.execute(&format!(
            "UPDATE event_log SET state = 'failed', ended = '{ended}' WHERE id = 6"
        ));
        let run = installation.run(json!({"as_of": "2025-09-01T00:00:00Z"}));
        let samples = only(&run.expect("a run"))["skipped_samples"].clone();
        (samples, ids(&mut installation))
    };
    assert_eq!(
        run_after("2025-06-02 00:00:00"),
        (
            json!({"RETENTION_NOT_REACHED": ["event_log_4 (6)"]}),
            "5 6 8".to_owned()
        )
    );
    assert_eq!(
        run_after("2025-06-01 23:59:59"),
        (json!({}), "8".to_owned())
    );
}

/// A job that is started anew: the run has looked already, or waits to look, when that is committed.
fn a_row_that_runs_again_behind_the_look_keeps_its_partition(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-reruns");
    installation.execute("DELETE FROM event_log WHERE id NOT IN (5, 6)");
    if dialect == Dialect::Postgres {
        installation.execute("DROP TABLE event_log_1, event_log_2, event_log_3, event_log_5");
    }
    installation
        .set_setting("lock_timeout", 20_000)
        .expect("a setting");
    for (change, kept) in [
        (
            "state = 'running'",
            json!({"NON_FINAL_MEMBER": ["event_log_4 (6)"]}),
        ),
        (
            "state = 'failed', ended = NOW()",
            json!({"RETENTION_NOT_REACHED": ["event_log_4 (6)"]}),
        ),
    ] {
        installation.execute("UPDATE event_log SET state = 'failed', ended = '2025-04-03'");
        let mut writer = installation.connect();
        writer
            .execute(&format!(
                "BEGIN; UPDATE event_log SET {change} WHERE id = 6"
            ))
            .expect("a change that is not committed");
        let (runner, _, session) = installation.call_aside("run", json!({}));
        let waits = match dialect {
            Dialect::Postgres => format!(
                "SELECT count(*) FROM pg_stat_activity WHERE pid = {session} AND wait_event_type = 'Lock'"
            ),
            Dialect::Mysql | Dialect::Mariadb => format!(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {session} \
                 AND state LIKE 'Waiting for table metadata lock%'"
            ),
        };
        until("a run that waits", || {
            assert!(!runner.is_finished(), "it ended");
            Ok(installation.number(&waits) == 1)
        })
        .expect("it waits");
        writer.execute("COMMIT").expect("the end of a transaction");
        let run = runner.join().expect("no panic").1.expect("a run");
        assert_eq!(run["status"], "done", "{dialect:?}: {run}");
        assert_eq!(only(&run)["skipped_samples"], kept, "{dialect:?}: {run}");
        assert_eq!(ids(&mut installation), "5 6", "{dialect:?}: {run}");
    }
}
