//! What a rule by removal time must delete, as a model over rows in memory, compared row by row with the database.

use std::collections::BTreeSet;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::json;

use windrow::dialect::Dialect;

use super::{Unit, in_each_unit_everywhere};
use crate::harness::tests;
use crate::support::camunda::Camunda;
use crate::support::effort::{fewer, seeds};

mod model;

pub(super) use model::{BATCH, BYTES, PROCESS, World, insert, instant, row};
use model::{CHILDREN, skipped};

tests! {
    in_each_unit_everywhere: [
        a_run_deletes_what_the_model_says_and_nothing_else,
    ],
}

pub(super) const AS_OF: &str = "2026-01-01T00:00:00Z";

/// Lets columns be NULL, so that a row of a world needs no more than what counts.
pub(super) fn lenient(camunda: &mut Camunda) {
    let sql = camunda.either(
        "SELECT format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL', a.attrelid::regclass, a.attname)
         FROM pg_attribute AS a JOIN pg_class AS r ON r.oid = a.attrelid
         WHERE r.relkind = 'r' AND r.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND a.attnotnull AND a.attname <> 'id_'
           AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = r.oid AND i.indisprimary AND a.attnum = ANY (i.indkey))",
        "SELECT CONCAT('ALTER TABLE ', c.table_name, ' MODIFY ', c.column_name, ' ', c.column_type, ' NULL')
         FROM information_schema.columns AS c
         WHERE c.table_schema = DATABASE() AND c.is_nullable = 'NO' AND c.column_key <> 'PRI'",
    );
    for statement in camunda.texts(sql) {
        camunda.execute(&statement);
    }
    // Each of them makes a table anew on MySQL and MariaDB, where every run would look for what took its place.
    camunda.windrow.arm();
}

pub(super) fn contents(camunda: &mut Camunda) -> BTreeSet<(String, String)> {
    let selects: Vec<String> = CHILDREN
        .iter()
        .chain(&[PROCESS, BYTES, BATCH])
        .map(|table| format!("SELECT CONCAT('{table}', ' ', id_) FROM {table}"))
        .collect();
    camunda
        .texts(&selects.join(" UNION ALL "))
        .iter()
        .map(|text| {
            let (table, id) = text.split_once(' ').expect("a table and an id");
            (table.to_lowercase(), id.to_owned())
        })
        .collect()
}

fn a_run_deletes_what_the_model_says_and_nothing_else(unit: Unit, dialect: Dialect) {
    let mut camunda = unit.empty(dialect);
    lenient(&mut camunda);
    let (mut gone, mut kept, mut worlds) = (0, 0, 0);
    for seed in seeds(
        "worlds of Camunda by removal time",
        dialect,
        fewer(dialect, 24),
    ) {
        worlds += 1;
        let mut random = SmallRng::seed_from_u64(seed);
        let world = match unit {
            Unit::Window => World::random(&mut random),
            Unit::Family => World::scattered(&mut random),
        };
        world.load(&mut camunda);
        camunda.set_setting("batch_rows", random.random_range(1..6));
        if unit == Unit::Family {
            camunda.set_setting("batch_families", random.random_range(1..4));
        }
        let before = contents(&mut camunda);
        let expected = world.left();
        let context = format!("seed {seed}: {world:#?}");
        let deleted = i64::try_from(before.len() - expected.len()).expect("a small number");

        let preview = camunda.call("preview", json!({"rule": "history", "as_of": AS_OF}));
        let preview = &preview["rules"][0];
        assert_eq!(preview["rows"], deleted, "{context}");
        assert_eq!(skipped(preview), world.skipped(), "{context}");
        let dry = camunda.run(json!({"rule": "history", "as_of": AS_OF, "dry_run": true}));
        assert_eq!(
            contents(&mut camunda),
            before,
            "a dry run deletes nothing; {context}"
        );

        // Sometimes in several runs, each of which may end early; what goes, goes by whole families.
        let limited = random.random_bool(0.4);
        let mut rows = 0;
        let run = loop {
            let mut options = json!({"rule": "history", "as_of": AS_OF});
            if limited {
                options["run_families"] = json!(random.random_range(1..3));
            }
            let run = camunda.run(options);
            rows += run["rules"][0]["rows"].as_i64().expect("a number");
            let now = contents(&mut camunda);
            assert!(
                expected.is_subset(&now),
                "a row went that must stay; {context}"
            );
            for root in world.processes().map(World::family) {
                let family: Vec<bool> = world
                    .rows
                    .iter()
                    .filter(|row| row.root.as_deref() == Some(root) || row.id == root)
                    .map(|row| (row.table.to_owned(), row.id.clone()))
                    .filter(|row| !expected.contains(row))
                    .map(|row| now.contains(&row))
                    .collect();
                assert!(
                    family.windows(2).all(|two| two[0] == two[1]),
                    "half a family of {root} is left; {context}"
                );
            }
            if run["status"] == "done" {
                break run;
            }
            assert!(
                limited && run["reason"] == "run_families reached",
                "{run}\n{context}"
            );
        };
        assert_eq!(contents(&mut camunda), expected, "{context}");
        assert_eq!(rows, deleted, "{context}");
        if !limited {
            let (run, dry) = (&run["rules"][0], &dry["rules"][0]);
            assert_eq!(dry["batches"], preview["batches"], "{context}");
            // Where the families are gone, there are fewer windows to look through.
            if unit == Unit::Window {
                assert_eq!(run["batches"], dry["batches"], "{context}");
            }
            for figure in ["rows", "families"] {
                assert_eq!(run[figure], preview[figure], "{figure}; {context}");
                assert_eq!(run[figure], dry[figure], "{figure}; {context}");
            }
            assert_eq!(run["tables"], preview["tables"], "{context}");
            assert_eq!(run["tables"], dry["tables"], "{context}");
            assert_eq!(skipped(run), world.skipped(), "{context}");
            assert_eq!(skipped(dry), world.skipped(), "{context}");
        }
        gone += deleted;
        kept += world.staying().len();
    }
    // If hardly anything went or stayed, the worlds would prove nothing.
    assert!(
        80 * gone > 1_000 * worlds && kept > worlds as usize,
        "{gone} rows went, {kept} families stayed"
    );
}
