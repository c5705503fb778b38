//! Runs that find nothing wait, and a rule whose families fail is suspended.

use serde_json::json;
use windrow::dialect::Dialect;

use super::{assert_refused, installed, scheduled};
use crate::harness::tests;
use crate::support::installation::Installation;

tests! {
    every_server: [
        runs_that_find_nothing_back_off_and_failed_ones_suspend,
        what_a_wrong_clock_wrote_counts_for_nothing,
    ],
}

fn set(installation: &mut Installation, name: &str, value: i64) {
    for rule in ["jobs", "events"] {
        let setting = json!({"rule": rule, "name": name, "value": value});
        installation
            .call("set_setting", setting)
            .expect("a setting");
    }
}

fn runs_that_find_nothing_back_off_and_failed_ones_suspend(dialect: Dialect) {
    let mut installation = installed(dialect);
    let due = |installation: &mut Installation| {
        installation
            .execute("UPDATE jobs SET state = 'done', ended = '2025-01-04 00:00:00' WHERE id = 4");
    };
    // Without a back-off, runs that find nothing follow each other.
    set(&mut installation, "back_off_max", 0);
    for rows in [3, 0, 0, 0, 0] {
        let run = scheduled(&mut installation);
        assert_eq!(
            (&run["status"], &run["rules"][0]["rows"]),
            (&json!("done"), &json!(rows)),
            "{run}"
        );
    }
    // With one, the pause is 10 seconds, doubled for each further one: 80 after four, and never more than the limit.
    let pause = match dialect {
        Dialect::Postgres => {
            "(SELECT round(extract(epoch FROM s.idle_until - max(r.finished_at))) FROM W.scheduling AS s, W.run AS r GROUP BY s.idle_until)"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "(SELECT TIMESTAMPDIFF(SECOND, MAX(r.finished_at), s.idle_until) FROM W.scheduling AS s, W.run AS r GROUP BY s.idle_until)"
        }
    };
    for (limit, expected) in [(604_800, 80), (1_800, 80), (80, 80), (79, 79), (1, 1)] {
        set(&mut installation, "back_off_max", limit);
        assert_eq!(installation.number(pause), expected, "{limit}");
    }
    set(&mut installation, "back_off_max", 604_800);
    assert_refused(
        &mut installation,
        "nothing left, runs in a row: 4; back-off until 2",
    );
    // A dry run and a purge are no runs; one by hand begins anew.
    installation
        .run(json!({"dry_run": true}))
        .expect("a dry run");
    installation
        .purge(json!({"rule": "jobs", "key": [9]}))
        .expect("a purge");
    assert_refused(
        &mut installation,
        "nothing left, runs in a row: 4; back-off until 2",
    );
    due(&mut installation);
    assert_eq!(
        installation.run(json!({})).expect("a run")["rules"][0]["rows"],
        1
    );
    assert_eq!(scheduled(&mut installation)["status"], "done");
    assert_refused(
        &mut installation,
        "nothing left, runs in a row: 1; back-off until 2",
    );
    installation.arm();
    assert_eq!(scheduled(&mut installation)["status"], "done");
    set(&mut installation, "back_off_max", 0);

    failed_runs_suspend(&mut installation);
}

/// Runs that fail one after the other, and what ends the suspension.
fn failed_runs_suspend(installation: &mut Installation) {
    set(installation, "suspend_after", 2);
    let (right, of) = match installation.dialect {
        Dialect::Postgres => ("DELETE ON jobs", format!("{}_owner", installation.control)),
        Dialect::Mysql | Dialect::Mariadb => {
            ("DELETE ON jobs", format!("{}_owner", installation.control))
        }
    };
    let fail = |installation: &mut Installation| {
        installation.execute(
            "INSERT INTO jobs (id, state, ended) VALUES (5, 'done', '2025-01-05 00:00:00')",
        );
        installation.execute(&format!("REVOKE {right} FROM {of}"));
        for _ in 0..2 {
            let run = scheduled(installation);
            assert_eq!(run["status"], "failed", "{run}");
        }
        assert_refused(
            installation,
            "suspended after 2 failed runs in a row, the last one: error ",
        );
        let verify = installation.call("verify", json!({})).expect("verify");
        assert_eq!(verify["clean"], false, "{verify}");
        let metric =
            "SELECT COUNT(*) FROM W.metrics WHERE name = 'windrow_suspended' AND value = 1";
        assert_eq!(installation.number(metric), 1);
    };
    fail(installation);
    // One by hand that fails as well cures nothing, nor does the right alone.
    assert_eq!(
        installation.run(json!({})).expect("a run")["status"],
        "failed"
    );
    installation.execute(&format!("GRANT {right} TO {of}"));
    assert_refused(
        installation,
        "suspended after 2 failed runs in a row, the last one: error ",
    );
    assert_eq!(
        installation.run(json!({})).expect("a run")["rules"][0]["rows"],
        1
    );
    assert_eq!(scheduled(installation)["status"], "done");
    fail(installation);
    installation.execute(&format!("GRANT {right} TO {of}"));
    installation.arm();
    assert_eq!(scheduled(installation)["rules"][0]["rows"], 1);
    // What crashed has failed, too.
    for _ in 0..2 {
        installation.execute(
            r#"INSERT INTO W.run ("trigger", dry_run, options, as_of, deadline, status, reason, backend_pid, finished_at)
               SELECT 'SCHEDULED', dry_run, options, as_of, deadline, 'crashed', 'its session vanished', backend_pid, finished_at
               FROM W.run WHERE run_id = (SELECT MAX(run_id) FROM W.run)"#,
        );
    }
    assert_refused(
        installation,
        "suspended after 2 failed runs in a row, the last one: its session vanished",
    );
    installation.run(json!({})).expect("a run");
    assert_eq!(scheduled(installation)["status"], "done");
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.refusal"), 0);
}

/// The clock of the server was a year ahead, and is put right.
fn what_a_wrong_clock_wrote_counts_for_nothing(dialect: Dialect) {
    let mut installation = installed(dialect);
    set(&mut installation, "suspend_after", 2);
    assert_eq!(scheduled(&mut installation)["status"], "done");
    let year = match dialect {
        Dialect::Postgres => "interval '1 year'",
        Dialect::Mysql | Dialect::Mariadb => "INTERVAL 1 YEAR",
    };
    let ahead = |installation: &mut Installation| {
        installation.execute(&format!(
            "UPDATE W.run SET started_at = started_at + {year}, finished_at = finished_at + {year}
             WHERE run_id = (SELECT r.run_id FROM (SELECT MAX(run_id) AS run_id FROM W.run) AS r)"
        ));
    };
    assert_eq!(scheduled(&mut installation)["status"], "done");
    assert_refused(&mut installation, "nothing left, runs in a row: 1");
    ahead(&mut installation);
    let latest =
        "SELECT value FROM W.metrics WHERE name = 'windrow_last_success_timestamp_seconds'";
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a time");
    let latest: f64 = installation.texts(latest)[0].parse().expect("a number");
    assert!(latest <= now.as_secs_f64() + 60.0, "{latest}");
    assert_eq!(scheduled(&mut installation)["status"], "done");
    assert_refused(&mut installation, "nothing left, runs in a row: 1");
    ahead(&mut installation);
    // Nor do failures of that time suspend anything.
    for _ in 0..2 {
        installation.execute(
            r#"INSERT INTO W.run ("trigger", dry_run, options, as_of, deadline, status, reason, backend_pid, started_at, finished_at)
               SELECT 'SCHEDULED', dry_run, options, as_of, deadline, 'failed', 'error 1', backend_pid, started_at, finished_at
               FROM W.run WHERE run_id = (SELECT MAX(run_id) FROM W.run)"#,
        );
    }
    assert_eq!(scheduled(&mut installation)["status"], "done");
}
