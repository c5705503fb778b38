//! yWorkflow on its real schema, foreign keys included: what goes is what the definitions say, and no cascade takes a row.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::demo::dolphinscheduler::{FAMILIES_SETTING, NOW_SETTING};
use windrow::demo::yworkflow::{HISTORY, SCHEMA};
use windrow::graph::Graph;
use windrow::lint;

use crate::support::database::{self, Database};

const SPEC: &str = include_str!("../../specs/yworkflow.toml");

const TABLES: [&str; 5] = [
    "persistent_attribute",
    "state_instance",
    "state_instance_history",
    "state_instance_owners",
    "workflow_instance",
];

/// What becomes of the attributes of an instance that is due.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Attributes {
    Go,
    Keep,
}

fn graph(attributes: Attributes) -> Graph {
    let line = SPEC
        .lines()
        .find(|line| line.starts_with("persistent_attribute "));
    let line = line.expect("the table has a line");
    let kept = line.replace("workflow_instance.id\"", "workflow_instance.id restrict\"");
    assert_ne!(line, kept);
    let text = match attributes {
        Attributes::Go => SPEC.to_owned(),
        Attributes::Keep => SPEC.replace(line, &kept),
    };
    let (graph, findings) = lint::load(&text);
    graph.unwrap_or_else(|| panic!("the spec has errors: {findings:?}"))
}

fn armed(attributes: Attributes) -> Database {
    let mut database = Database::of(SCHEMA, &graph(attributes));
    database.arm();
    database
}

/// Every row of every table, as texts by column.
type Rows = BTreeMap<&'static str, BTreeSet<BTreeMap<String, Option<String>>>>;

fn rows(database: &mut Database) -> Rows {
    let read = |table: &'static str, database: &mut Database| {
        let texts = database.texts(&format!("SELECT to_jsonb(t)::text FROM {table} AS t"));
        let row = |text: String| -> BTreeMap<String, Option<String>> {
            let row: BTreeMap<String, Value> = serde_json::from_str(&text).expect("a row");
            let plain = |value: Value| match value {
                Value::Null => None,
                Value::String(text) => Some(text),
                other => Some(other.to_string()),
            };
            row.into_iter()
                .map(|(name, value)| (name, plain(value)))
                .collect()
        };
        texts.into_iter().map(row).collect()
    };
    TABLES
        .into_iter()
        .map(|table| (table, read(table, database)))
        .collect()
}

/// What a run should do, by the definitions.
struct Verdict {
    left: Rows,
    families: usize,
    skipped: BTreeMap<&'static str, usize>,
}

/// `cutoffs` has the definitions with a policy; times compare as texts.
fn model(
    before: &Rows,
    cutoffs: &BTreeMap<String, String>,
    held: &BTreeSet<String>,
    attributes: Attributes,
) -> Verdict {
    let value = |row: &BTreeMap<String, Option<String>>, column: &str| {
        row[column].clone().unwrap_or_default()
    };
    let with_attributes: BTreeSet<String> = before["persistent_attribute"]
        .iter()
        .map(|row| value(row, "workflow_instance_id"))
        .collect();
    let (mut gone, mut skipped) = (BTreeSet::new(), BTreeMap::new());
    for row in &before["workflow_instance"] {
        let id = value(row, "id");
        let is_final = ["KILLED", "COMPLETED"].contains(&value(row, "status").as_str());
        let ended = value(row, "updated_at");
        let cutoff = cutoffs.get(&value(row, "workflow_definition_id"));
        if !is_final || cutoff.is_none_or(|cutoff| ended >= *cutoff) {
            continue;
        }
        if held.contains(&id) {
            *skipped.entry("HELD").or_default() += 1;
        } else if attributes == Attributes::Keep && with_attributes.contains(&id) {
            *skipped.entry("REFERENCED").or_default() += 1;
        } else {
            gone.insert(id);
        }
    }
    let of_gone =
        |row: &BTreeMap<String, Option<String>>| gone.contains(&value(row, "workflow_instance_id"));
    let states: BTreeSet<String> = before["state_instance"]
        .iter()
        .filter(|row| of_gone(row))
        .map(|row| value(row, "id"))
        .collect();
    let goes = |table: &str, row: &BTreeMap<String, Option<String>>| match table {
        "workflow_instance" => gone.contains(&value(row, "id")),
        "state_instance" | "persistent_attribute" => of_gone(row),
        "state_instance_owners" => states.contains(&value(row, "state_instance_id")),
        "state_instance_history" => {
            states.contains(&value(row, "state_instance_id"))
                || states.contains(&value(row, "previous_state_instance_id"))
        }
        other => panic!("{other} is no table of yWorkflow"),
    };
    let left = before.iter().map(|(table, rows)| {
        let left = rows.iter().filter(|row| !goes(table, row));
        (*table, left.cloned().collect())
    });
    Verdict {
        left: left.collect(),
        families: gone.len(),
        skipped,
    }
}

/// Runs, and compares what is left and what the documents say with the model.
fn check(
    database: &mut Database,
    options: &Value,
    cutoffs: &BTreeMap<String, String>,
    held: &BTreeSet<String>,
    attributes: Attributes,
) -> Value {
    let before = rows(database);
    let expected = model(&before, cutoffs, held, attributes);
    let tables: BTreeMap<&str, usize> = TABLES
        .into_iter()
        .filter(|table| attributes == Attributes::Go || *table != "persistent_attribute")
        .map(|table| (table, before[table].len() - expected.left[table].len()))
        .collect();
    let dry = {
        let mut options = options.clone();
        options["dry_run"] = json!(true);
        options
    };
    let preview = database
        .select("preview", options.clone())
        .expect("a preview");
    let dry = database.run(dry).expect("a dry run");
    assert_eq!(rows(database), before, "a dry run changes nothing");
    let run = database.run(options.clone()).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    for document in [&preview, &dry, &run] {
        let rule = &document["rules"][0];
        assert_eq!(rule["families"], expected.families, "{rule}");
        // What a cascade had taken would be missing here.
        assert_eq!(rule["tables"], json!(tables), "{rule}");
        assert_eq!(rule["skipped"], json!(expected.skipped), "{rule}");
    }
    assert_eq!(rows(database), expected.left);
    let again = database.run(options.clone()).expect("a second run");
    assert_eq!(again["rules"][0]["rows"], 0, "{again}");
    run
}

#[test]
fn a_real_history_is_cleaned_from_end_to_end() {
    for attributes in [Attributes::Go, Attributes::Keep] {
        let mut database = armed(attributes);
        database.execute(&format!(
            "SET {FAMILIES_SETTING} = 1000; SET {NOW_SETTING} = '2026-01-15'"
        ));
        database.execute(HISTORY);
        database.execute("ANALYZE");
        let mut cutoffs = BTreeMap::new();
        for (definition, retention, cutoff) in [
            ("orders/approval", "30d", "2025-12-15T00:00:00"),
            ("claims/intake", "90d", "2025-10-16T00:00:00"),
            ("audit/sample", "7d", "2026-01-07T00:00:00"),
        ] {
            database
                .set_policy(json!({"scope": definition, "retention": retention}))
                .expect("a policy");
            cutoffs.insert(definition.to_owned(), cutoff.to_owned());
        }
        let held = BTreeSet::from(["10".to_owned(), "20".to_owned(), "30".to_owned()]);
        for key in &held {
            let hold = json!({"key": key, "reason": "audit"});
            database.set_hold(hold).expect("a hold");
        }
        let options = json!({"as_of": "2026-01-15T00:00:00Z"});
        let run = check(&mut database, &options, &cutoffs, &held, attributes);
        assert!(run["rules"][0]["families"].as_i64() > Some(50), "{run}");
        let verify = database.verify().expect("a verification");
        let broken = verify["checks"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|check| check["severity"] == "violation")
            .count();
        assert_eq!(broken, 0, "{verify}");
    }
}

#[test]
fn the_spec_fits_the_schema() {
    let database = armed(Attributes::Go);
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(["check", "specs/yworkflow.toml", "--database"])
        .arg(database::server().url(&database.name, "postgres"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("windrow runs");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{said}");
    assert!(
        !said.contains("warning") && !said.contains("error"),
        "{said}"
    );
}

/// Steps that lead from a state of one instance to a state of another go with either.
#[test]
fn odd_histories_are_cleaned_as_the_model_says() {
    for attributes in [Attributes::Go, Attributes::Keep] {
        let mut database = armed(attributes);
        let mut kept = 0;
        for seed in 1..=60 {
            let mut random = SmallRng::seed_from_u64(seed);
            let (cutoffs, held) = odd_history(&mut database, &mut random);
            let options = json!({"as_of": "2026-01-15T00:00:00Z"});
            let run = check(&mut database, &options, &cutoffs, &held, attributes);
            kept += run["rules"][0]["skipped"]["REFERENCED"]
                .as_i64()
                .unwrap_or_default();
        }
        assert_eq!(kept > 10, attributes == Attributes::Keep, "{kept}");
    }
}

fn odd_history(
    database: &mut Database,
    random: &mut SmallRng,
) -> (BTreeMap<String, String>, BTreeSet<String>) {
    // A scope is whatever the application writes.
    let definitions = ["plain", "it's \"quoted\"", "a/b c:d", "Ünï — 定義"];
    let mut sql = String::from(
        "TRUNCATE workflow_instance CASCADE; DELETE FROM W.policy; DELETE FROM W.hold;\n",
    );
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut cutoffs = BTreeMap::new();
    for definition in definitions {
        if random.random_bool(0.7) {
            let scope = text(definition);
            sql += &format!(
                "INSERT INTO W.policy (rule, scope, enabled, retention_seconds) VALUES ('workflow_instances', {scope}, true, 2592000);\n"
            );
            cutoffs.insert(definition.to_owned(), "2025-12-15T00:00:00".to_owned());
        }
    }
    let mut held = BTreeSet::new();
    let instances = random.random_range(1..20);
    let mut states = Vec::new();
    for id in 1..=instances {
        let definition = text(definitions.choose(random).expect("there are some"));
        let status = [
            "COMPLETED",
            "KILLED",
            "COMPLETED",
            "STOPPED",
            "PROCESSING",
            "completed",
        ]
        .choose(random)
        .expect("there are some");
        let updated = [
            "2025-11-01",
            "2025-12-14 23:59:59.999999",
            "2025-12-15",
            "2025-12-15 00:00:00.000001",
            "2026-01-14",
        ]
        .choose(random)
        .expect("there are some");
        sql += &format!(
            "INSERT INTO workflow_instance VALUES ({id}, NULL, {definition}, '{status}', '2025-10-01', '{updated}');\n"
        );
        for number in 0..random.random_range(0..4) {
            let state = id * 10 + number;
            states.push(state);
            sql += &format!(
                "INSERT INTO state_instance (id, workflow_instance_id, state_id, started_at) VALUES ({state}, {id}, 's', '2025-10-01');\n"
            );
            if random.random_bool(0.5) {
                sql += &format!(
                    "INSERT INTO state_instance_owners VALUES ({state}, 'a'), ({state}, 'b');\n"
                );
            }
        }
        if random.random_bool(0.3) {
            sql += &format!(
                "INSERT INTO persistent_attribute (workflow_instance_id, attribute_name, attribute_type) VALUES ({id}, 'a', 'STRING'), ({id}, 'b', 'DATE');\n"
            );
        }
        if random.random_bool(0.1) {
            sql += &format!(
                "INSERT INTO W.hold (rule, key, reason) VALUES ('workflow_instances', '{id}', 'test');\n"
            );
            held.insert(id.to_string());
        }
    }
    for _ in 0..random.random_range(0..30) {
        if let (Some(one), Some(other)) = (states.choose(random), states.choose(random)) {
            sql += &format!(
                "INSERT INTO state_instance_history VALUES ({one}, {other}, 0) ON CONFLICT DO NOTHING;\n"
            );
        }
    }
    database.execute(&sql);
    let families = random.random_range(1..5);
    database
        .set_setting("batch_families", families)
        .expect("a setting");
    (cutoffs, held)
}
