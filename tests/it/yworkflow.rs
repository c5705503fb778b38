//! yWorkflow on its real schema, foreign keys included: what goes is what the definitions say, and no cascade takes a row.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::support::systems::dolphinscheduler::{FAMILIES_SETTING, NOW_SETTING};
use crate::support::systems::yworkflow::{HISTORY, SCHEMA};
use postgres::{Client, NoTls};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::database::{self, Database};
use crate::support::effort::rounds_of;
use crate::support::graphs::graph_of;
use crate::support::installation::violations;

tests! {
    on_postgres: [
        a_real_history_is_cleaned_from_end_to_end,
        the_spec_fits_the_schema,
        odd_histories_are_cleaned_as_the_model_says,
        a_state_that_changes_keeps_its_instance,
    ],
}

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

/// What says when an instance ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// Its last change.
    Updated,
    /// Its last state, once all are completed.
    Completed,
    /// The same, or else its last change.
    CompletedOrUpdated,
}

/// Whose instances are cleaned.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scope {
    /// Those of definitions with a policy.
    OptIn,
    /// Those of all definitions; a policy may say how long.
    All,
    /// All, and there are no policies.
    Unscoped,
}

/// What the spec says.
#[derive(Clone, Copy, Debug)]
struct Reading {
    attributes: Attributes,
    end: End,
    scope: Scope,
}

const fn reading(attributes: Attributes, end: End, scope: Scope) -> Reading {
    Reading {
        attributes,
        end,
        scope,
    }
}

const READINGS: [Reading; 6] = [
    reading(Attributes::Go, End::Updated, Scope::OptIn),
    reading(Attributes::Keep, End::Updated, Scope::OptIn),
    reading(Attributes::Go, End::Completed, Scope::OptIn),
    reading(Attributes::Keep, End::CompletedOrUpdated, Scope::OptIn),
    reading(Attributes::Go, End::Completed, Scope::All),
    reading(Attributes::Go, End::CompletedOrUpdated, Scope::Unscoped),
];

fn text(reading: Reading) -> String {
    let line = SPEC
        .lines()
        .find(|line| line.starts_with("persistent_attribute "));
    let line = line.expect("the table has a line");
    let kept = line.replace("workflow_instance.id\"", "workflow_instance.id restrict\"");
    assert_ne!(line, kept);
    let archive = SPEC.lines().find(|line| line.starts_with("archive "));
    let archive = archive.expect("attributes are archived");
    let text = match reading.attributes {
        Attributes::Go => SPEC.to_owned(),
        Attributes::Keep => SPEC.replace(line, &kept).replace(archive, ""),
    };
    let scoped = ", per = \"workflow_definition_id varchar\", opt_in = true";
    assert!(text.contains(scoped));
    let text = match reading.scope {
        Scope::OptIn => text,
        Scope::All => text.replace(", opt_in = true", ""),
        Scope::Unscoped => text.replace(scoped, ""),
    };
    let updated = "end_time  = \"updated_at\"";
    assert!(text.contains(updated));
    let completed = |otherwise: &str| {
        let other = format!(
            "start_time = \"created_at\"\nend_time = \"max(state_instance.completed_at){otherwise}\""
        );
        text.replace(updated, &other)
    };
    match reading.end {
        End::Updated => text,
        End::Completed => completed(""),
        End::CompletedOrUpdated => completed(" else updated_at"),
    }
}

fn graph(reading: Reading) -> Graph {
    graph_of(&text(reading))
}

fn armed(reading: Reading) -> Database {
    let mut database = Database::of(SCHEMA, &graph(reading));
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
    oldest: Option<String>,
}

/// The cutoff of definitions without a policy, where these are cleaned at all.
const DEFAULT_CUTOFF: &str = "2025-12-15T00:00:00";

/// `cutoffs` has the definitions with a policy; times compare as texts.
fn model(
    before: &Rows,
    cutoffs: &BTreeMap<String, String>,
    held: &BTreeSet<String>,
    reading: Reading,
) -> Verdict {
    let value = |row: &BTreeMap<String, Option<String>>, column: &str| {
        row[column].clone().unwrap_or_default()
    };
    let with_attributes: BTreeSet<String> = before["persistent_attribute"]
        .iter()
        .map(|row| value(row, "workflow_instance_id"))
        .collect();
    let mut completions: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    for row in &before["state_instance"] {
        let of = completions.entry(value(row, "workflow_instance_id"));
        of.or_default().push(row["completed_at"].clone());
    }
    let (mut gone, mut skipped, mut ends) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
    for row in &before["workflow_instance"] {
        let id = value(row, "id");
        let is_final = ["KILLED", "COMPLETED"].contains(&value(row, "status").as_str());
        let cutoff = match cutoffs.get(&value(row, "workflow_definition_id")) {
            Some(cutoff) => cutoff.as_str(),
            None if reading.scope == Scope::OptIn => continue,
            None => DEFAULT_CUTOFF,
        };
        let updated = Some(value(row, "updated_at"));
        let completed = completions.get(&id).and_then(|of| {
            let all: Option<Vec<String>> = of.iter().cloned().collect();
            all?.into_iter().max()
        });
        let ended = match reading.end {
            End::Updated => updated,
            End::Completed => completed,
            End::CompletedOrUpdated => completed.or(updated),
        };
        let began = reading.end == End::Updated || value(row, "created_at").as_str() < cutoff;
        if !is_final || !began {
            continue;
        }
        let Some(ended) = ended else {
            *skipped.entry("UNDATED_MEMBER").or_default() += 1;
            continue;
        };
        if ended.as_str() >= cutoff {
            continue;
        }
        if held.contains(&id) {
            *skipped.entry("HELD").or_default() += 1;
        } else if reading.attributes == Attributes::Keep && with_attributes.contains(&id) {
            *skipped.entry("REFERENCED").or_default() += 1;
        } else {
            gone.insert(id);
            ends.push(ended);
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
        oldest: ends.into_iter().min(),
    }
}

/// Runs, and compares what is left and what the documents say with the model.
fn check(
    database: &mut Database,
    options: &Value,
    cutoffs: &BTreeMap<String, String>,
    held: &BTreeSet<String>,
    reading: Reading,
) -> Value {
    let before = rows(database);
    let expected = model(&before, cutoffs, held, reading);
    let tables: BTreeMap<&str, usize> = TABLES
        .into_iter()
        .filter(|table| reading.attributes == Attributes::Go || *table != "persistent_attribute")
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
    assert_eq!(
        preview["rules"][0]["oldest_end_time"],
        json!(expected.oldest)
    );
    assert_eq!(rows(database), expected.left);
    let again = database.run(options.clone()).expect("a second run");
    assert_eq!(again["rules"][0]["rows"], 0, "{again}");
    run
}

/// Instances that ended long ago and were changed since.
const CORRECTED: &str = "SELECT id::text FROM workflow_instance
WHERE status IN ('KILLED', 'COMPLETED') AND created_at < '2025-10-01' AND updated_at > '2026-01-01'";

fn a_real_history_is_cleaned_from_end_to_end() {
    for reading in [READINGS[0], READINGS[1], READINGS[5]] {
        let mut database = armed(reading);
        database.execute(&format!(
            "SET {FAMILIES_SETTING} = 1000; SET {NOW_SETTING} = '2026-01-15'"
        ));
        database.execute(HISTORY);
        database.execute("ANALYZE");
        assert!(!database.texts(CORRECTED).is_empty());
        let mut cutoffs = BTreeMap::new();
        let policies = if reading.scope == Scope::Unscoped {
            0
        } else {
            3
        };
        for (definition, retention, cutoff) in [
            ("orders/approval", "30d", "2025-12-15T00:00:00"),
            ("claims/intake", "90d", "2025-10-16T00:00:00"),
            ("audit/sample", "7d", "2026-01-07T00:00:00"),
        ]
        .into_iter()
        .take(policies)
        {
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
        let run = check(&mut database, &options, &cutoffs, &held, reading);
        assert!(run["rules"][0]["families"].as_i64() > Some(50), "{run}");
        // Those that were corrected three days ago are no younger for that, where their states say when they ended.
        let left = database.texts(CORRECTED).len();
        assert_eq!(
            left > 0,
            reading.end == End::Updated || reading.scope == Scope::OptIn,
            "{reading:?}: {left}"
        );
        let verify = database.verify().expect("a verification");
        let wrong = violations(&verify);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

fn the_spec_fits_the_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    for end in [End::Updated, End::CompletedOrUpdated] {
        let reading = reading(Attributes::Go, end, Scope::OptIn);
        let database = armed(reading);
        let spec = folder.path().join("spec.toml");
        std::fs::write(&spec, text(reading)).expect("the spec is written");
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .arg("check")
            .arg(spec)
            .arg("--database")
            .arg(database::server().url(&database.name, "postgres"))
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
}

/// Steps that lead from a state of one instance to a state of another go with either.
fn odd_histories_are_cleaned_as_the_model_says() {
    for reading in READINGS {
        let mut database = armed(reading);
        let (mut kept, mut undated) = (0, 0);
        for seed in rounds_of("worlds of yWorkflow", Dialect::Postgres, 10) {
            let mut random = SmallRng::seed_from_u64(seed);
            let (cutoffs, held) = odd_history(&mut database, reading.scope, &mut random);
            let options = json!({"as_of": "2026-01-15T00:00:00Z"});
            let run = check(&mut database, &options, &cutoffs, &held, reading);
            let count = |reason: &str| run["rules"][0]["skipped"][reason].as_i64();
            kept += count("REFERENCED").unwrap_or_default();
            undated += count("UNDATED_MEMBER").unwrap_or_default();
        }
        assert_eq!(kept > 5, reading.attributes == Attributes::Keep, "{kept}");
        assert_eq!(undated > 5, reading.end == End::Completed, "{undated}");
    }
}

fn odd_history(
    database: &mut Database,
    scope: Scope,
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
        if random.random_bool(0.7) && scope != Scope::Unscoped {
            let scope = text(definition);
            let (seconds, cutoff) = if definition == "plain" {
                (604_800, "2026-01-07T00:00:00")
            } else {
                (2_592_000, DEFAULT_CUTOFF)
            };
            sql += &format!(
                "INSERT INTO W.policy (rule, scope, enabled, retention_seconds) VALUES ('workflow_instances', {scope}, true, {seconds});\n"
            );
            cutoffs.insert(definition.to_owned(), cutoff.to_owned());
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
        // A clock may have been wrong, so that an instance began after its states ended.
        let created = ["2025-10-01", "2025-10-01", "2025-12-14", "2025-12-15"]
            .choose(random)
            .expect("there are some");
        sql += &format!(
            "INSERT INTO workflow_instance VALUES ({id}, NULL, {definition}, '{status}', '{created}', '{updated}');\n"
        );
        odd_states(&mut sql, &mut states, id, random);
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

/// States of an instance, with their owners.
fn odd_states(sql: &mut String, states: &mut Vec<i32>, id: i32, random: &mut SmallRng) {
    for number in 0..random.random_range(0..4) {
        let state = id * 10 + number;
        states.push(state);
        let completed = [
            "'2025-11-01'",
            "'2025-12-14'",
            "'2025-12-14 23:59:59.999999'",
            "'2025-12-15'",
            "NULL",
        ]
        .choose(random)
        .expect("there are some");
        *sql += &format!(
            "INSERT INTO state_instance (id, workflow_instance_id, state_id, started_at, completed_at) VALUES ({state}, {id}, 's', '2025-10-01', {completed});\n"
        );
        if random.random_bool(0.5) {
            *sql += &format!(
                "INSERT INTO state_instance_owners VALUES ({state}, 'a'), ({state}, 'b');\n"
            );
        }
    }
}

/// A state is part of what is judged: while someone changes it, its instance stays, and afterwards what it says counts.
fn a_state_that_changes_keeps_its_instance() {
    let mut database = armed(reading(Attributes::Go, End::Completed, Scope::Unscoped));
    for id in [1, 2] {
        database.execute(&format!(
            "INSERT INTO workflow_instance VALUES ({id}, NULL, 'd', 'COMPLETED', '2025-10-01', '2025-11-01');
             INSERT INTO state_instance (id, workflow_instance_id, state_id, started_at, completed_at) VALUES ({id}, {id}, 's', '2025-10-01', '2025-11-01')"
        ));
    }
    let url = database::server().url(&database.name, "postgres");
    let mut other = Client::connect(&url, NoTls).expect("a second session");
    let mut change = other.transaction().expect("a transaction");
    change
        .execute(
            "UPDATE state_instance SET completed_at = '2026-01-14' WHERE id = 1",
            &[],
        )
        .expect("a change");
    let options = json!({"as_of": "2026-01-15T00:00:00Z"});
    let run = database.run(options.clone()).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    assert_eq!(run["rules"][0]["skipped"], json!({"LOCKED": 1}), "{run}");
    change.commit().expect("a commit");
    let run = database.run(options).expect("a run");
    assert_eq!(run["rules"][0]["families"], 0, "{run}");
    assert_eq!(run["rules"][0]["skipped"], json!({}), "{run}");
    assert_eq!(
        database.texts("SELECT id::text FROM workflow_instance"),
        ["1"]
    );
}
