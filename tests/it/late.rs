//! Rows that come to a family by removal time, or to a window, while a batch deletes it: nobody has judged them, so that the batch
//! gives way, and what it judged is judged once more with them.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, Session};
use crate::support::keyed::{self, Rows};
use crate::support::meanwhile::meanwhile;

tests! {
    every_server: [
        what_comes_to_a_family_during_its_batch_is_judged,
        what_comes_to_a_family_during_its_purge_is_judged,
        what_is_stamped_into_a_window_during_its_batch_is_judged,
        what_comes_to_the_window_of_a_lost_root_is_judged,
        what_gets_a_time_while_a_stamp_comes_to_it_keeps_that,
    ],
    mysql_or_mariadb: [
        what_is_not_committed_when_a_family_is_judged_is_judged,
    ],
}

/// A job has parts, and jobs below it.
const SPEC: &str = r#"
name = "late"

[tables]
job  = { key = "id bigint" }
part = { key = "id bigint", parents = ["root -> job.id"] }

[rules.history]
strategy  = "removal-time"
root      = "job"
time      = "removal"
end_time  = "ended"
tables    = ["part: root", "job: root"]
unit      = "UNIT"
retention = { minimum = "1d", safety_lag = "1h" }

[rules.history.stamp]
start = "ended"
per   = "kind varchar"
from  = "kind: id -> days days"
"#;

/// Rows from this key on are never due.
const FILL: i64 = 1000;

const TABLES: [&str; 2] = ["part", "job"];

/// A job that is over, with three parts.
const OVER: &str = "INSERT INTO job VALUES (1, 1, 'a', '2020-01-01', '2020-02-01');
    INSERT INTO part VALUES (10, 1, '2020-02-01'), (11, 1, '2020-02-01'), (12, 1, '2020-02-01')";

/// What belongs to it, and runs.
const RUNS: &str = "INSERT INTO job VALUES (2, 1, 'a', NULL, NULL)";

fn database(dialect: Dialect, unit: &str, rows: &str) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE kind (id varchar(20) PRIMARY KEY, days integer);
         CREATE TABLE job (id bigint PRIMARY KEY, root bigint, kind varchar(20), ended {time}, removal {time});
         CREATE TABLE part (id bigint PRIMARY KEY, root bigint, removal {time});
         CREATE INDEX job_root ON job (root);
         CREATE INDEX job_removal ON job (removal);
         CREATE INDEX part_root ON part (root);
         CREATE INDEX part_removal ON part (removal);"
    );
    let graph = graph_of(&SPEC.replace("UNIT", unit));
    let mut database = Installation::of(dialect, &schema, &graph);
    database.arm();
    // Where there are few rows, a scan looks cheap, and locks them all.
    let many = |values: &str| {
        let rows = (FILL..FILL + 300).map(|id| format!("({id}, {id}, {values})"));
        rows.collect::<Vec<_>>().join(", ")
    };
    let (jobs, parts) = (
        many("'a', '2020-01-01', '2999-01-01'"),
        many("'2999-01-01'"),
    );
    let rows = format!("{rows}; INSERT INTO job VALUES {jobs}; INSERT INTO part VALUES {parts}");
    keyed::load(&mut database, &TABLES, &rows, &[]);
    let analyze = match dialect {
        Dialect::Postgres => "ANALYZE",
        Dialect::Mysql | Dialect::Mariadb => "ANALYZE TABLE job, part",
    };
    database.session.query(analyze, &[]).expect("statistics");
    // Longer than any machine takes for what happens meanwhile.
    database
        .set_setting("lock_timeout", 60_000)
        .expect("a setting");
    database
}

fn left(database: &mut Installation) -> Rows {
    let mut rows = keyed::left(database, &TABLES);
    rows.retain(|(_, id)| *id < FILL);
    rows
}

/// All rows that there ever were.
fn all(jobs: &[i64], parts: &[i64]) -> Rows {
    let jobs = jobs.iter().map(|id| ("job", *id));
    let parts = parts.iter().map(|id| ("part", *id));
    jobs.chain(parts).collect::<BTreeSet<_>>()
}

/// A session that holds a part.
fn holder(database: &Installation, part: i64) -> Session {
    let mut rival = database.connect();
    rival.execute("BEGIN").expect("a transaction");
    let lock = format!("SELECT id FROM part WHERE id = {part} FOR UPDATE");
    rival.query(&lock, &[]).expect("a lock");
    rival
}

/// That a run has kept the family of job 1 for what runs, after it has tried once more.
fn gave_way(answer: &Value) {
    let rule = &answer["rules"][0];
    assert_eq!(answer["status"], "done", "{answer}");
    assert_eq!(rule["families"], 0, "{answer}");
    assert_eq!(rule["skipped"]["NON_FINAL_MEMBER"], 1, "{answer}");
    assert_eq!(rule["retries"], 1, "{answer}");
}

fn what_comes_to_a_family_during_its_batch_is_judged(dialect: Dialect) {
    for comes in [
        RUNS,
        // One that was in no family.
        "UPDATE job SET root = 1 WHERE id = 3",
    ] {
        let rows = format!("{OVER}; INSERT INTO job VALUES (3, 3, 'a', NULL, NULL)");
        let mut database = database(dialect, "family", &rows);
        let mut rival = holder(&database, 11);
        let answer = meanwhile(
            &mut database,
            &mut rival,
            "run",
            json!({}),
            |database, _| {
                database.execute(comes);
            },
        );
        gave_way(&answer);
        let jobs: &[i64] = if comes == RUNS { &[1, 2, 3] } else { &[1, 3] };
        assert_eq!(left(&mut database), all(jobs, &[10, 11, 12]), "{answer}");
    }
    // What has ended as well goes with the others.
    let mut database = database(dialect, "family", OVER);
    let mut rival = holder(&database, 11);
    let answer = meanwhile(
        &mut database,
        &mut rival,
        "run",
        json!({}),
        |database, _| {
            database.execute("INSERT INTO job VALUES (2, 1, 'a', '2020-01-01', NULL)");
        },
    );
    let rule = &answer["rules"][0];
    assert_eq!(
        (&answer["status"], &rule["families"]),
        (&json!("done"), &json!(1)),
        "{answer}"
    );
    assert_eq!(rule["tables"]["job"], 2, "{answer}");
    assert_eq!(left(&mut database), Rows::new(), "{answer}");
}

/// InnoDB waits for it.
fn what_is_not_committed_when_a_family_is_judged_is_judged(dialect: Dialect) {
    let mut database = database(dialect, "family", OVER);
    let mut rival = database.connect();
    rival.execute("BEGIN").expect("a transaction");
    rival.execute(RUNS).expect("a job");
    let answer = meanwhile(&mut database, &mut rival, "run", json!({}), |_, _| ());
    gave_way(&answer);
    assert_eq!(left(&mut database), all(&[1, 2], &[10, 11, 12]), "{answer}");
}

fn what_comes_to_a_family_during_its_purge_is_judged(dialect: Dialect) {
    let mut database = database(dialect, "family", OVER);
    let mut rival = holder(&database, 11);
    let purge = json!({"key": [1]});
    let answer = meanwhile(
        &mut database,
        &mut rival,
        "purge",
        purge.clone(),
        |database, _| {
            database.execute(RUNS);
        },
    );
    // PostgreSQL looks once more at what has come meanwhile.
    let why = match dialect {
        Dialect::Postgres => "NON_FINAL_MEMBER",
        Dialect::Mysql | Dialect::Mariadb => "LOCKED",
    };
    assert_eq!(answer["refused"], json!({"1": why}), "{answer}");
    assert_eq!(left(&mut database), all(&[1, 2], &[10, 11, 12]), "{answer}");
    let answer = database.purge(purge).expect("a purge");
    assert_eq!(
        answer["refused"],
        json!({"1": "NON_FINAL_MEMBER"}),
        "{answer}"
    );
}

/// The window has job 1; job 2 runs, and gets the same time.
fn what_is_stamped_into_a_window_during_its_batch_is_judged(dialect: Dialect) {
    // The second time, some of the window is held, and is asked for its family.
    for held in [false, true] {
        let rows = format!(
            "{OVER}; INSERT INTO job VALUES (2, 2, 'a', NULL, NULL), (4, 4, 'a', '2020-01-01', '2020-02-01');
             INSERT INTO part VALUES (20, 2, NULL), (40, 4, '2020-02-01')"
        );
        let mut database = database(dialect, "window", &rows);
        if held {
            let hold = json!({"rule": "history", "key": 4, "reason": "audit"});
            database.set_hold(hold).expect("a hold");
        }
        let mut rival = holder(&database, 11);
        let answer = meanwhile(
            &mut database,
            &mut rival,
            "run",
            json!({}),
            |database, _| {
                let stamp = json!({"to": "2020-02-01T00:00:00", "key": [2]});
                let stamp = database.call("stamp", stamp).expect("a stamp");
                assert_eq!(stamp["rules"][0]["families"], 1, "{stamp}");
            },
        );
        let rule = &answer["rules"][0];
        assert_eq!(answer["status"], "done", "{answer}");
        assert_eq!(rule["families"], if held { 1 } else { 2 }, "{answer}");
        assert_eq!(rule["skipped"]["NON_FINAL_MEMBER"], 1, "{answer}");
        assert_eq!(rule["retries"], 1, "{answer}");
        let stay = if held {
            all(&[2, 4], &[20, 40])
        } else {
            all(&[2], &[20])
        };
        assert_eq!(left(&mut database), stay, "{answer}");
    }
}

/// Where families are deleted as such, windows have what names a root that is not there.
fn what_comes_to_the_window_of_a_lost_root_is_judged(dialect: Dialect) {
    let rows = "INSERT INTO job VALUES (5, 9, 'a', '2020-01-01', '2020-02-01');
        INSERT INTO part VALUES (50, 9, '2020-02-01'), (51, 9, '2020-02-01')";
    let mut database = database(dialect, "family", rows);
    let mut rival = holder(&database, 51);
    let answer = meanwhile(
        &mut database,
        &mut rival,
        "run",
        json!({}),
        |database, _| {
            database.execute("INSERT INTO job VALUES (6, 9, 'a', NULL, '2020-02-01')");
        },
    );
    let rule = &answer["rules"][0];
    assert_eq!(answer["status"], "done", "{answer}");
    assert_eq!(rule["skipped"]["NON_FINAL_MEMBER"], 1, "{answer}");
    assert_eq!(left(&mut database), all(&[5, 6], &[50, 51]), "{answer}");
}

/// The application ends two jobs and sets their times while a stamp of what lacks one waits for the first; a part of theirs still lacks
/// one.
fn what_gets_a_time_while_a_stamp_comes_to_it_keeps_that(dialect: Dialect) {
    let days = "INSERT INTO kind VALUES ('a', 5)";
    for stamp in [
        json!({"to": "2026-01-01T00:00:00Z", "missing": true, "chunk": 1}),
        json!({"calculated": "start", "missing": true}),
        json!({"to": "2026-01-01T00:00:00Z", "missing": true, "hierarchical": false}),
    ] {
        let rows = format!(
            "{days}; INSERT INTO job VALUES (1, 1, 'a', NULL, NULL), (2, 2, 'a', NULL, NULL), (3, 3, 'a', '2020-01-01', NULL);
             INSERT INTO part VALUES (10, 1, NULL), (20, 2, NULL), (30, 3, NULL)"
        );
        let mut database = database(dialect, "family", &rows);
        let mut rival = database.connect();
        rival.execute("BEGIN").expect("a transaction");
        let ends = "UPDATE job SET ended = '2026-01-01', removal = '2027-01-01' WHERE id IN (1, 2)";
        rival.execute(ends).expect("they end");
        let answer = meanwhile(
            &mut database,
            &mut rival,
            "stamp",
            stamp.clone(),
            |_, rival| {
                let parts = "UPDATE part SET removal = '2027-01-01' WHERE id = 10";
                rival.execute(parts).expect("its part");
            },
        );
        let rule = &answer["rules"][0];
        assert_eq!(answer["status"], "done", "{stamp} {answer}");
        assert_eq!(rule["families"], 1, "{stamp} {answer}");
        let of = |database: &mut Installation, what: &str| {
            database.number(&format!("SELECT COUNT(*) FROM {what}"))
        };
        let kept = "job WHERE id IN (1, 2) AND removal = '2027-01-01'";
        assert_eq!(of(&mut database, kept), 2, "{stamp} {answer}");
        let parts = "part WHERE id = 10 AND removal = '2027-01-01' OR id = 20 AND removal IS NULL";
        assert_eq!(of(&mut database, parts), 2, "{stamp} {answer}");
        let stamped = "job WHERE id = 3 AND removal IS NOT NULL";
        assert_eq!(of(&mut database, stamped), 1, "{stamp} {answer}");
    }
}
