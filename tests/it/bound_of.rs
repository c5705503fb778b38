//! What belongs to no family of a rule by removal time, but can be held by it (`stamp.of`), and other rules that take it.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    each_server: [
        what_is_held_beside_families_no_other_rule_takes,
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

fn what_is_held_beside_families_no_other_rule_takes(dialect: Dialect) {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let rest =
        format!("state integer NOT NULL DEFAULT 1, kind varchar(20), at {time}, removal {time}");
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
