//! What belongs to no family of a rule by removal time, but can be held by it (`stamp.of`), and other rules that take it.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::effort::one_of;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        what_is_held_beside_families_no_other_rule_takes,
        what_is_of_a_held_instance_without_its_root_no_other_rule_takes,
    ],
}

/// Batches with logs go by their removal time, or by rules of their own.
const SPEC: &str = r#"
name = "bound_of"

[tables]
job   = { key = "id bigint" }
task  = { key = "id bigint", parents = ["job_id -> job.id"] }
batch = { key = "id bigint" }
log   = { key = "id bigint", parents = ["batch_id -> batch.id"] }

[rules.history]
strategy  = "removal-time"
root      = "job"
time      = "removal"
end_time  = "at"
tables    = ["task: job_id", "log", "job: job_id", "batch"]
retention = { minimum = "1d", safety_lag = "1h" }

[rules.history.stamp]
start = "at"
per   = "kind varchar"
from  = "kind: id -> days days"

[rules.history.stamp.of.batches]
root     = "batch"
start    = "at"
end_time = "at"
per      = "kind varchar"
by_value = { a = "1d" }
own      = ["log: batch_id"]

[rules.batches]
strategy  = "end-time"
root      = "batch"
final     = { state = 1 }
end_time  = "at"
retention = { default = "30d" }

[rules.logs]
strategy  = "age"
root      = "log"
time      = "at"
retention = { default = "30d" }
"#;

/// What each of the tables has beside its keys.
fn rest(dialect: Dialect) -> String {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    format!("state integer NOT NULL DEFAULT 1, kind varchar(20), at {time}, removal {time}")
}

fn what_is_held_beside_families_no_other_rule_takes(dialect: Dialect) {
    let rest = rest(dialect);
    let schema = format!(
        "CREATE TABLE kind (id varchar(20) PRIMARY KEY, days integer);
         CREATE TABLE job (id bigint PRIMARY KEY, job_id bigint, {rest});
         CREATE TABLE task (id bigint PRIMARY KEY, job_id bigint, {rest});
         CREATE TABLE batch (id bigint PRIMARY KEY, {rest});
         CREATE TABLE log (id bigint PRIMARY KEY, batch_id bigint, {rest});"
    );
    let mut database = Installation::of(dialect, &schema, &graph_of(SPEC));
    database.arm();
    // Held by the rule by removal time, or by the one that takes batches, or their logs.
    for (held, key) in [("history", 1), ("batches", 1), ("logs", 11)] {
        for rule in ["history", "batches", "logs"] {
            database.execute("DELETE FROM W.hold; DELETE FROM log; DELETE FROM batch");
            for id in [1, 2] {
                let (at, removal) = ("2020-01-01", "2020-02-01");
                database.execute(&format!(
                    "INSERT INTO batch (id, at, removal) VALUES ({id}, '{at}', '{removal}');
                     INSERT INTO log (id, batch_id, at, removal) VALUES ({id}1, {id}, '{at}', '{removal}');"
                ));
            }
            let hold = json!({"rule": held, "key": key, "reason": "audit"});
            database.set_hold(hold).expect("a hold");
            database.run(json!({"rule": rule})).expect("a run");
            let context = format!("{held} holds, {rule} runs");
            for (table, key) in [("batch", "1"), ("log", "11")] {
                let left = database.texts(&format!("SELECT id FROM {table} ORDER BY id"));
                assert!(
                    left.contains(&key.to_owned()),
                    "{context}: {table} {left:?}"
                );
            }
        }
    }
}

/// Rows that name their root, or a job or a part alone, or are named by such rows, go by the removal time of their family, or by
/// rules of their own.
const OWN: &str = r#"
name = "bound_own"

[tables]
job  = { key = "id bigint" }
part = { key = "id bigint", parents = ["root -> job.id"] }
doc  = { key = "id bigint", parents = ["root -> job.id"] }
fact = { key = "id bigint", parents = ["root -> job.id", "doc_id -> doc.id"], with = "any" }
note = { key = "id bigint", parents = ["root -> job.id"] }
line = { key = "id bigint", parents = ["root -> job.id", "fact_id -> fact.id"], with = "any" }

[rules.history]
strategy  = "removal-time"
root      = "job"
time      = "removal"
end_time  = "at"
tables    = ["line: root", "note: root", "fact: root", "part: root", "doc: root", "job: root"]
retention = { minimum = "1d", safety_lag = "1h" }

[rules.history.stamp]
start = "at"
per   = "kind varchar"
from  = "kind: id -> days days"
own   = ["part: job_id", "fact: job_id", "note: part_id -> part", "line: fact_id -> fact"]
named = ["doc"]

[rules.parts]
strategy  = "age"
root      = "part"
time      = "at"
retention = { default = "30d" }

[rules.facts]
strategy  = "expiry"
root      = "fact"
time      = "at"

[rules.notes]
strategy  = "end-time"
root      = "note"
final     = { state = 1 }
end_time  = "at"
retention = { default = "30d" }

[rules.docs]
strategy  = "orphan"
root      = "doc"
needs     = ["id -> job.id"]
at_once   = true

[rules.lines]
strategy  = "keep-last"
root      = "line"
keep      = { newest = 1, per = "kind varchar", by = "id bigint" }
"#;

/// That spec, by families or by windows.
pub(crate) fn own(unit: &str) -> Graph {
    let unit = format!("unit = \"{unit}\"\nretention = {{ minimum");
    graph_of(&OWN.replacen("retention = { minimum", &unit, 1))
}

const OF_JOB: [(&str, i64); 6] = [
    ("line", 14),
    ("note", 13),
    ("fact", 12),
    ("part", 11),
    ("doc", 10),
    ("job", 1),
];

/// The rows of a job: its own that names another as its root, or is it.
fn load(database: &mut Installation, with_roots: bool) {
    let at = "'2020-01-01', '2020-02-01'";
    let mut sql: String = OF_JOB
        .iter()
        .map(|(table, _)| format!("DELETE FROM {table}; "))
        .collect();
    for id in [1, 2] {
        let root = if with_roots {
            id.to_string()
        } else {
            "NULL".to_owned()
        };
        sql += &format!(
            "INSERT INTO job (id, root, at, removal) VALUES ({id}, {root}, {at}), ({id}00, {id}, {at});
             INSERT INTO part (id, root, job_id, at, removal) VALUES ({id}1, {root}, {id}00, {at});
             INSERT INTO doc (id, root, kind, at, removal) VALUES ({id}0, {root}, 'gone', {at});
             INSERT INTO fact (id, root, job_id, doc_id, at, removal) VALUES ({id}2, {root}, {id}00, {id}0, {at});
             INSERT INTO note (id, root, part_id, at, removal) VALUES ({id}3, {root}, {id}1, {at});
             INSERT INTO line (id, root, kind, fact_id) VALUES ({id}4, {root}, 'x', {id}2);"
        );
    }
    sql += "INSERT INTO line (id, kind) VALUES (99, 'x');";
    database.execute("DELETE FROM W.hold");
    database.execute(&sql);
}

fn what_is_of_a_held_instance_without_its_root_no_other_rule_takes(dialect: Dialect) {
    for unit in ["family", "window"] {
        of_a_held_instance(dialect, unit);
    }
}

fn of_a_held_instance(dialect: Dialect, unit: &str) {
    let rest = rest(dialect);
    let schema = format!(
        "CREATE TABLE kind (id varchar(20) PRIMARY KEY, days integer);
         CREATE TABLE job (id bigint PRIMARY KEY, root bigint, {rest});
         CREATE TABLE part (id bigint PRIMARY KEY, root bigint, job_id bigint, {rest});
         CREATE TABLE doc (id bigint PRIMARY KEY, root bigint, {rest});
         CREATE TABLE fact (id bigint PRIMARY KEY, root bigint, job_id bigint, doc_id bigint, {rest});
         CREATE TABLE note (id bigint PRIMARY KEY, root bigint, part_id bigint, {rest});
         CREATE TABLE line (id bigint PRIMARY KEY, root bigint, fact_id bigint, {rest});"
    );
    let mut database = Installation::of(dialect, &schema, &own(unit));
    database.arm();
    let mut wrong = Vec::new();
    // One costs several times as much on MySQL and MariaDB.
    let step = match dialect {
        Dialect::Postgres => 1,
        Dialect::Mysql | Dialect::Mariadb => 2,
    };
    for with_roots in [true, false] {
        // The family by its root and by another member of it: no rule takes what is of it.
        let keys = [1, 100].into_iter();
        let rules = [
            ("parts", "part", 11),
            ("facts", "fact", 12),
            ("notes", "note", 13),
            ("docs", "doc", 10),
            ("lines", "line", 14),
        ];
        let rounds = keys.flat_map(|key| rules.map(|rule| (key, rule)));
        for (key, (rule, table, named)) in one_of(step, rounds) {
            load(&mut database, with_roots);
            let hold = json!({"rule": "history", "key": key, "reason": "audit"});
            database.set_hold(hold).expect("a hold");
            let context = format!("roots {with_roots}, {key} is held, {rule}");
            let purge = json!({"rule": rule, "key": [named], "dry_run": true});
            let purge = database.purge(purge).expect("a purge");
            if purge["refused"] != json!({named.to_string(): "HELD"}) {
                wrong.push(format!("{context}: {}", purge["refused"]));
            }
            let [preview, run] = [
                database.preview(json!({"rule": rule})).expect("a preview"),
                database.run(json!({"rule": rule})).expect("a run"),
            ]
            .map(|it| it["rules"][0]["families"].clone());
            if preview != run || run != 1 {
                wrong.push(format!("{context}: {preview} {run}"));
            }
            let left = database.texts(&format!("SELECT id FROM {table} ORDER BY id"));
            if !left.contains(&named.to_string()) {
                wrong.push(format!("{context}: {table} {left:?}"));
            }
        }
        // What the rule or another one holds keeps the family.
        let holds = [
            ("history", 1),
            ("parts", 11),
            ("history", 100),
            ("facts", 12),
            ("notes", 13),
            ("docs", 10),
            ("lines", 14),
        ];
        for (rule, key) in one_of(step, holds) {
            load(&mut database, with_roots);
            let hold = json!({"rule": rule, "key": key, "reason": "audit"});
            database.set_hold(hold).expect("a hold");
            let context = format!("roots {with_roots}, {key} of {rule} is held");
            let purge = json!({"rule": "history", "key": [1], "dry_run": true});
            let purge = database.purge(purge).expect("a purge");
            if purge["refused"] != json!({"1": "HELD"}) {
                wrong.push(format!("{context}: {}", purge["refused"]));
            }
            let options = json!({"rule": "history"});
            let [preview, run] = [
                database.preview(options.clone()).expect("a preview"),
                database.run(options).expect("a run"),
            ]
            .map(|it| it["rules"][0]["families"].clone());
            if preview != run || run != 1 {
                wrong.push(format!("{context}: {preview} {run}"));
            }
            for (table, key) in OF_JOB {
                let left = database.texts(&format!("SELECT id FROM {table} ORDER BY id"));
                if !left.contains(&key.to_string()) {
                    wrong.push(format!("{context}: {table} {left:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{unit}: {wrong:#?}");
}
