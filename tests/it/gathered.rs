//! Roots and rows of one instant: what a search finds is listed for many batches, and a row that has to stay keeps no other.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, numbers};

tests! {
    postgres_alone: [
        roots_of_one_instant_are_listed_for_many_batches,
    ],
}

const FAMILIES: &str = r#"
name = "gathered"
workers = WORKERS

[tables]
job  = { key = "id bigint" }
part = { key = "id bigint", parents = ["root -> job.id"] }

[rules.history]
strategy  = "removal-time"
root      = "job"
time      = "removal"
tables    = ["part: root", "job"]
unit      = "family"
retention = { safety_lag = "1h" }
"#;

/// So many roots, all of one instant.
const ROOTS: i64 = 2000;

/// Roots in a batch.
const FEW: i64 = 20;

fn families(dialect: Dialect, workers: u32) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let graph = graph_of(&FAMILIES.replace("WORKERS", &workers.to_string()));
    let schema = format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, removal {time});
         CREATE TABLE part (id bigint PRIMARY KEY, root bigint, removal {time});
         CREATE INDEX job_removal ON job (removal);
         CREATE INDEX part_removal ON part (removal);
         CREATE INDEX part_root ON part (root);"
    );
    let mut database = Installation::of(dialect, &schema, &graph);
    database.arm();
    let few = database.set_setting("batch_families", FEW);
    few.expect("a setting");
    let all = numbers(dialect, ROOTS);
    database.execute(&format!(
        "INSERT INTO job SELECT n, '2025-01-01' FROM {all}"
    ));
    database
}

/// Entries of the indexes with these names that were read.
fn entries_read(database: &mut Installation, names: &str) -> i64 {
    database.execute("SELECT pg_stat_force_next_flush()");
    database.number(&format!(
        "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE indexrelname LIKE '%{names}%'"
    ))
}

/// The index has the times of roots, and not their keys: a search reads and sorts all of the instant. Once, each batch did.
fn roots_of_one_instant_are_listed_for_many_batches(dialect: Dialect) {
    for workers in [1, 2] {
        let mut database = families(dialect, workers);
        let first = if workers > 1 {
            json!({"worker": 1})
        } else {
            json!({})
        };
        for call in ["preview", "run"] {
            let before = entries_read(&mut database, "job_removal");
            let options = if call == "run" {
                first.clone()
            } else {
                json!({})
            };
            let answer = database.call(call, options).expect("an answer");
            let read = entries_read(&mut database, "job_removal") - before;
            let rule: &Value = &answer["rules"][0];
            assert_eq!(rule["families"], ROOTS, "{call}: {answer}");
            let batches = rule["batches"].as_i64();
            assert!(batches >= Some(ROOTS / FEW), "{call}: {answer}");
            assert!(
                read < 20 * ROOTS,
                "{workers}, {call}: {read} entries read of {ROOTS}"
            );
        }
    }
}
