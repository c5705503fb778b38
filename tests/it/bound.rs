//! Rules that reach the same rows: what a hold of one of them keeps, none of the others takes.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::effort::share;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        what_a_hold_of_one_rule_keeps_no_other_takes,
        a_removal_time_asks_for_holds_of_other_rules,
        windows_ask_for_holds_of_other_rules,
    ],
}

/// Below a job its steps, and below these rows that other rules take sooner, by themselves or with what is theirs.
const SPEC: &str = r#"
name = "bound"

[tables]
job    = { key = "id bigint" }
step   = { key = "id varchar", parents = ["job_id -> job.id"] }
entry  = { key = "id varchar", parents = ["step_id -> step.id"] }
token  = { key = "id bigint", parents = ["step_id -> step.id"] }
note   = { key = "a varchar, b integer", parents = ["step_id -> step.id"] }
task   = { key = "id bigint", parents = ["step_id -> step.id"] }
event  = { key = "id bigint", parents = ["task_id -> task.id"] }

[rules.jobs]
strategy   = "end-time"
root       = "job"
final      = { state = 1 }
end_time   = "at"
retention  = { default = "30d" }

[rules.others]
strategy   = "end-time"
root       = "job"
final      = { state = 2 }
end_time   = "at"
retention  = { default = "30d" }

[rules.entries]
strategy   = "age"
root       = "entry"
time       = "at"
retention  = { default = "30d" }

[rules.tokens]
strategy   = "expiry"
root       = "token"
time       = "at"

[rules.notes]
strategy   = "expiry"
root       = "note"
time       = "at"

[rules.tasks]
strategy   = "end-time"
root       = "task"
final      = { state = 1 }
end_time   = "at"
retention  = { default = "30d" }

[rules.events]
strategy   = "expiry"
root       = "event"
time       = "at"
"#;

/// Children first.
const TABLES: [&str; 7] = ["event", "task", "note", "token", "entry", "step", "job"];

pub(crate) fn database(dialect: Dialect) -> Installation {
    Installation::of(dialect, &schema(dialect), &graph_of(SPEC))
}

/// The table of entries is partitioned, and may repeat a key.
pub(crate) fn partitioned(dialect: Dialect) -> Installation {
    let (plain, parts) = (
        "entry (id varchar(20) PRIMARY KEY, step_id varchar(20), at timestamp NOT NULL);",
        "entry (id varchar(20), step_id varchar(20), at timestamp NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
         CREATE TABLE entry_all PARTITION OF entry FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
         CREATE INDEX entry_at ON entry (at);
         CREATE INDEX entry_step ON entry (step_id);",
    );
    let known = r#"entry  = { indexed = ["at", "step_id"], key"#;
    Installation::of(
        dialect,
        &schema(dialect).replace(plain, parts),
        &graph_of(&SPEC.replace("entry  = { key", known)),
    )
}

fn schema(dialect: Dialect) -> String {
    let (time, text) = match dialect {
        Dialect::Postgres => ("timestamp", ""),
        Dialect::Mysql => (
            "datetime(6)",
            " CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
        ),
        Dialect::Mariadb => (
            "datetime(6)",
            " CHARACTER SET latin1 COLLATE latin1_swedish_ci",
        ),
    };
    format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, state integer NOT NULL, at {time} NOT NULL);
         CREATE TABLE step (id varchar(20){text} PRIMARY KEY, job_id bigint);
         CREATE TABLE entry (id varchar(20){text} PRIMARY KEY, step_id varchar(20){text}, at {time} NOT NULL);
         CREATE TABLE token (id bigint PRIMARY KEY, step_id varchar(20){text}, at {time} NOT NULL);
         CREATE TABLE note (a varchar(20){text}, b integer, step_id varchar(20){text}, at {time} NOT NULL, PRIMARY KEY (a, b));
         CREATE TABLE task (id bigint PRIMARY KEY, step_id varchar(20){text}, state integer NOT NULL, at {time} NOT NULL);
         CREATE TABLE event (id bigint PRIMARY KEY, task_id bigint, at {time} NOT NULL);"
    )
}

/// Two families that are alike.
pub(crate) fn load(database: &mut Installation, state: i64) {
    let mut sql: String = TABLES
        .iter()
        .map(|table| format!("DELETE FROM {table}; "))
        .collect();
    for id in [1, 2] {
        sql += &format!(
            "INSERT INTO job (id, state, at) VALUES ({id}, {state}, '2020-01-01');
             INSERT INTO step (id, job_id) VALUES ('Step {id}', {id});
             INSERT INTO entry (id, step_id, at) VALUES ('Entry {id}', 'Step {id}', '2020-01-01');
             INSERT INTO token (id, step_id, at) VALUES ({id}, 'Step {id}', '2020-01-01');
             INSERT INTO note (a, b, step_id, at) VALUES ('Note', {id}, 'Step {id}', '2020-01-01');
             INSERT INTO task (id, step_id, state, at) VALUES ({id}, 'Step {id}', 1, '2020-01-01');
             INSERT INTO event (id, task_id, at) VALUES ({id}, {id}, '2020-01-01');\n"
        );
    }
    database.execute(&sql);
}

/// The tables that still have two rows, one, or none.
fn left(database: &mut Installation) -> Vec<i64> {
    TABLES
        .map(|table| database.number(&format!("SELECT count(*) FROM {table}")))
        .into()
}

/// What stays of the held family: the row itself, what it belongs to, and what goes with it.
fn stays(rule: &str) -> Vec<i64> {
    let kept: &[&str] = match rule {
        "jobs" | "others" => &TABLES,
        "entries" => &["job", "step", "entry"],
        "tokens" => &["job", "step", "token"],
        "notes" => &["job", "step", "note"],
        "tasks" => &["job", "step", "task", "event"],
        _ => &["job", "step", "task", "event"],
    };
    TABLES
        .iter()
        .map(|table| i64::from(kept.contains(table)))
        .collect()
}

fn what_a_hold_of_one_rule_keeps_no_other_takes(dialect: Dialect) {
    let mut database = database(dialect);
    database.execute("DELETE FROM W.hold");
    database.arm();
    let keys = [
        ("jobs", json!(1)),
        ("others", json!(1)),
        ("entries", json!("Entry 1")),
        ("tokens", json!(1)),
        ("notes", json!(["Note", 1])),
        ("tasks", json!(1)),
        ("events", json!(1)),
    ];
    let rounds = keys.iter().flat_map(|hold| [(hold, 1), (hold, 2)]);
    // Each of MySQL and MariaDB, which compare texts differently, meets every hold.
    for ((rule, key), state) in share(dialect, rounds) {
        load(&mut database, state);
        let hold = json!({"rule": rule, "key": key, "reason": "audit"});
        database.set_hold(hold).expect("a hold");
        // Whoever names a family that has it is refused, too.
        for (other, named) in &keys {
            let takes = match *other {
                "jobs" => state == 1,
                "others" => state == 2,
                _ => {
                    other == rule
                        || matches!(
                            (*other, *rule),
                            (_, "jobs" | "others") | ("tasks", "events") | ("events", "tasks")
                        )
                }
            };
            if takes {
                let purge = database.purge(json!({"rule": other, "key": [named], "dry_run": true}));
                let purge = purge.expect("a purge");
                let why: Vec<&Value> = purge["refused"].as_object().expect("it").values().collect();
                assert_eq!(why, [&json!("HELD")], "{rule} {state}, {other}: {purge}");
            }
        }
        let preview = database.preview(json!({})).expect("a preview");
        let dry = database.run(json!({"dry_run": true})).expect("a dry run");
        for at in 0..keys.len() {
            for figure in ["families", "skipped"] {
                assert_eq!(
                    preview["rules"][at][figure], dry["rules"][at][figure],
                    "{rule} {state}: {preview} {dry}"
                );
            }
        }
        database.run(json!({})).expect("a run");
        assert_eq!(left(&mut database), stays(rule), "{rule} {state}");
        let release = json!({"rule": rule, "key": key});
        database.call("release_hold", release).expect("a release");
        database.run(json!({})).expect("a run");
        assert_eq!(left(&mut database), [0; 7], "{rule} {state}");
    }
}

/// Two families with tasks and logs, and a task and a log of none; other rules hold rows of all of them, and of what they belong
/// to or take along.
const TIMED: &str = r#"
name = "bound_timed"

[tables]
job    = { key = "id bigint" }
task   = { key = "id bigint", parents = ["job_id -> job.id"] }
log    = { key = "id varchar", parents = ["job_id -> job.id", "task_id -> task.id"], with = "any" }

[rules.history]
strategy   = "removal-time"
root       = "job"
time       = "removal"
tables     = ["log: job_id", "task: job_id", "job"]
retention  = { safety_lag = "1h" }

[rules.jobs]
strategy   = "end-time"
root       = "job"
final      = { state = 2 }
end_time   = "at"
retention  = { default = "30d" }

[rules.tasks]
strategy   = "expiry"
root       = "task"
candidates = { state = 2 }
time       = "at"

[rules.logs]
strategy   = "age"
root       = "log"
candidates = { state = 2 }
time       = "at"
retention  = { default = "30d" }
"#;

/// That spec, by families or by windows.
pub(crate) fn by_time(unit: &str) -> Graph {
    let unit = format!("unit = \"{unit}\"\nretention  = {{ safety_lag");
    graph_of(&TIMED.replacen("retention  = { safety_lag", &unit, 1))
}

pub(crate) fn timed(dialect: Dialect, unit: &str) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let rest = format!("state integer NOT NULL DEFAULT 1, at {time}, removal {time}");
    let schema = format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, {rest});
         CREATE TABLE task (id bigint PRIMARY KEY, job_id bigint, {rest});
         CREATE TABLE log (id varchar(20) PRIMARY KEY, job_id bigint, task_id bigint, {rest});"
    );
    let mut database = Installation::of(dialect, &schema, &by_time(unit));
    database.arm();
    database
}

/// Which rule holds which row, and what stays then, by table.
const HOLDS: [(&str, &str, [&[&str]; 3]); 6] = [
    ("history", "1", [&["1"], &["11", "12"], &["a", "b"]]),
    ("jobs", "1", [&["1"], &["11", "12"], &["a", "b"]]),
    ("tasks", "12", [&["1"], &["11", "12"], &["a", "b"]]),
    ("logs", "b", [&["1"], &["11", "12"], &["a", "b"]]),
    ("tasks", "31", [&[], &["31"], &["x"]]),
    ("logs", "x", [&[], &["31"], &["x"]]),
];

fn bound_by_others(dialect: Dialect, unit: &str) {
    let mut database = timed(dialect, unit);
    for (rule, key, stays) in HOLDS {
        let (at, removal) = ("2020-01-01", "2020-02-01");
        let mut sql =
            "DELETE FROM W.hold; DELETE FROM log; DELETE FROM task; DELETE FROM job;".to_owned();
        for id in [1, 2] {
            sql += &format!(
                "INSERT INTO job (id, at, removal) VALUES ({id}, '{at}', '{removal}');
                 INSERT INTO task (id, job_id, at, removal) VALUES ({id}1, {id}, '{at}', '{removal}'), ({id}2, {id}, '{at}', '{removal}');"
            );
        }
        sql += &format!(
            "INSERT INTO task (id, at, removal) VALUES (31, '{at}', '{removal}'), (32, '{at}', '{removal}');
             INSERT INTO log (id, job_id, task_id, at, removal) VALUES ('a', 1, 11, '{at}', '{removal}'), ('b', 1, NULL, '{at}', '{removal}'),
                ('c', 2, 21, '{at}', '{removal}'), ('x', NULL, 31, '{at}', '{removal}'), ('y', NULL, 32, '{at}', '{removal}')"
        );
        database.execute(&sql);
        let hold = json!({"rule": rule, "key": key, "reason": "audit"});
        database.set_hold(hold).expect("a hold");
        if stays[0] == ["1"] {
            let purge = json!({"rule": "history", "key": [1], "dry_run": true});
            let purge = database.purge(purge).expect("a purge");
            assert_eq!(purge["refused"], json!({"1": "HELD"}), "{rule} {key}");
        }
        let options = json!({"rule": "history"});
        let documents = [
            database.preview(options.clone()).expect("a preview"),
            database
                .run(json!({"rule": "history", "dry_run": true}))
                .expect("a dry run"),
            database.run(options.clone()).expect("a run"),
        ];
        for document in &documents {
            let told = &document["rules"][0];
            let families = if stays[0].is_empty() { 2 } else { 1 };
            assert_eq!(told["families"], families, "{rule} {key}: {document}");
            assert_eq!(
                told["tables"], documents[2]["rules"][0]["tables"],
                "{rule} {key}"
            );
            assert!(
                told["skipped"]["HELD"].as_i64() >= Some(1),
                "{rule} {key}: {document}"
            );
        }
        for (table, rows) in ["job", "task", "log"].iter().zip(stays) {
            let left = database.texts(&format!("SELECT id FROM {table} ORDER BY id"));
            assert_eq!(left, rows, "{rule} {key}: {table}");
        }
        database.execute("DELETE FROM W.hold");
        database.run(options).expect("a run");
        for table in ["job", "task", "log"] {
            assert_eq!(
                database.number(&format!("SELECT count(*) FROM {table}")),
                0,
                "{rule} {key}"
            );
        }
    }
}

fn a_removal_time_asks_for_holds_of_other_rules(dialect: Dialect) {
    bound_by_others(dialect, "family");
}

fn windows_ask_for_holds_of_other_rules(dialect: Dialect) {
    bound_by_others(dialect, "window");
}
