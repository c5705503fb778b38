//! What a run, a preview and a purge do is what the model says, on every server alike.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::{DIALECTS, Dialect};

use super::world::{World, ample, due, json_text, model};
use super::{AS_OF, DAY, RULES, SECOND, either, loaded, new, run, set};
use crate::agree::anonymous;
use crate::support::effort::{enough, seeds};
use crate::support::installation::{Installation, violations};

/// The keys that are left in the table of a rule.
pub(super) fn left(installation: &mut Installation, rule: &str) -> BTreeSet<String> {
    let (key, table): (&[&str], _) = match rule {
        "task_state" => (&["id"], "task_state_store"),
        "lease" => (&["id"], "lease"),
        "asset_state" => (&["asset_id", "name"], "asset_state_store"),
        "line" => (&["id"], "line"),
        "tries" => (&["task_instance_id"], "task_instance_history"),
        _ => (&["id"], "attempt"),
    };
    let text = either(installation.dialect, "text", "char");
    let key: Vec<String> = key
        .iter()
        .map(|column| format!("CAST({column} AS {text})"))
        .collect();
    let rows = installation.rows(&format!("SELECT {} FROM {table}", key.join(", ")));
    rows.into_iter()
        .map(|row| {
            let mut values = row.into_iter().map(|it| it.expect("no NULL"));
            let first = values.next().expect("a key");
            match values.next() {
                None => first,
                Some(second) => {
                    let first: i32 = first.parse().expect("a number");
                    json_text(&json!([first, second]))
                }
            }
        })
        .collect()
}

/// The part of a document about the only rule.
pub(super) fn only(document: &Value) -> &Value {
    &document["rules"][0]
}

/// Rows and first keys of the passes that took any.
pub(super) fn passes(rule: &Value) -> BTreeMap<String, (Value, Value)> {
    rule["passes"]
        .as_array()
        .expect("passes")
        .iter()
        .filter(|pass| pass["rows"] != 0)
        .map(|pass| {
            let name = pass["pass"].as_str().expect("a name").to_owned();
            (name, (pass["rows"].clone(), pass["sample_keys"].clone()))
        })
        .collect()
}

pub(super) fn a_run_deletes_what_the_model_says(dialect: Dialect) {
    let mut installation = new(dialect);
    let mut gone = BTreeMap::new();
    // Each batch takes much longer where it makes its work tables first.
    let (worlds, batches) = either(dialect, (24, 1..9), (8, 2..24));
    for seed in seeds("worlds of single rows", dialect, worlds) {
        let mut random = SmallRng::seed_from_u64(seed);
        let world = World::random(&mut random);
        world.load(&mut installation);
        for rule in RULES {
            let days = ["task_state", "asset_state", "attempts"]
                .contains(&rule)
                .then(|| *[None, Some(8), Some(20)].choose(&mut random).expect("days"))
                .flatten();
            let batch = random.random_range(batches.clone());
            installation
                .call(
                    "set_setting",
                    json!({"rule": rule, "name": "batch_rows", "value": batch}),
                )
                .expect("a setting");
            let mut options = json!({"rule": rule, "as_of": AS_OF});
            if let Some(days) = days {
                options["retention"] = json!(format!("{days}d"));
            }
            let told = format!("seed {seed}, rule {rule}, {options}, {world:#?}");
            let before = left(&mut installation, rule);
            let verdict = model(&world, rule, days);
            let preview = installation.preview(options.clone()).expect("a preview");
            let mut dry = options.clone();
            dry["dry_run"] = json!(true);
            let dry = installation.run(dry).expect("a dry run");
            assert_eq!(left(&mut installation, rule), before, "{told}");
            let run = installation.run(options.clone()).expect("a run");
            assert_eq!(run["status"], "done", "{run} {told}");

            let went: BTreeSet<String> = verdict.gone.values().flatten().cloned().collect();
            let stays: BTreeSet<String> = before.difference(&went).cloned().collect();
            assert_eq!(left(&mut installation, rule), stays, "{told}");
            let of_rule = only(&run);
            for (pass, keys) in &verdict.gone {
                let (rows, samples) = &passes(of_rule)[*pass];
                assert_eq!(*rows, keys.len(), "{pass}, {told}");
                for sample in samples.as_array().expect("keys") {
                    assert!(keys.contains(sample.as_str().expect("a key")), "{told}");
                }
                *gone.entry(format!("{rule} {pass}")).or_insert(0) += keys.len();
            }
            assert_eq!(passes(of_rule).len(), verdict.gone.len(), "{told}");
            let skipped: BTreeMap<String, usize> = verdict
                .skipped
                .iter()
                .map(|(reason, keys)| ((*reason).to_owned(), keys.len()))
                .collect();
            assert_eq!(of_rule["skipped"], json!(skipped), "{told}");
            for (reason, keys) in &verdict.skipped {
                *gone.entry(format!("{rule} {reason}")).or_insert(0) += keys.len();
            }
            for figure in [
                "rows",
                "families",
                "batches",
                "tables",
                "skipped",
                "skipped_samples",
            ] {
                assert_eq!(of_rule[figure], only(&preview)[figure], "{figure}, {told}");
                assert_eq!(of_rule[figure], only(&dry)[figure], "{figure}, {told}");
            }
            assert_eq!(passes(of_rule), passes(only(&preview)), "{told}");
            assert_eq!(passes(of_rule), passes(only(&dry)), "{told}");

            let again = installation.run(options).expect("a second run");
            assert_eq!(only(&again)["rows"], 0, "{told}");
        }
    }
    enough_happened(dialect, &gone);
    let verify = installation.call("verify", json!({})).expect("a report");
    let mut wrong = violations(&verify);
    wrong.retain(|check| check["check"] != "orphans");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Worlds in which nothing happens prove nothing.
fn enough_happened(dialect: Dialect, seen: &BTreeMap<String, usize>) {
    let expected = [
        ("task_state expired", 200),
        ("task_state fallback", 50),
        ("task_state HELD", 10),
        ("task_state UNDATED_MEMBER", 20),
        ("lease expired", 100),
        ("lease HELD", 10),
        ("asset_state orphan", 100),
        ("asset_state HELD", 10),
        ("asset_state UNDATED_MEMBER", 20),
        ("line orphan", 100),
        ("line HELD", 10),
        ("tries surplus", 80),
        ("tries HELD", 3),
        ("attempts surplus", 25),
        ("attempts HELD", 3),
        ("attempts UNDATED_MEMBER", 5),
    ];
    for (what, least) in expected {
        let count = seen.get(what).copied().unwrap_or_default();
        let least = enough(either(dialect, least / 2, least / 5)).max(1);
        assert!(count >= least, "{what}: only {count} in {seen:?}");
    }
}

pub(super) fn all_servers_answer_alike() {
    let world = ample();
    let mut answers = DIALECTS.iter().map(|dialect| {
        let mut installation = loaded(*dialect, &world);
        let hold = json!({"rule": "asset_state", "key": [2, "it's"], "reason": "audit"});
        installation.call("set_hold", hold).expect("a hold");
        let mut told = Vec::new();
        for rule in RULES {
            set(&mut installation, rule, "batch_rows", 4);
            let options = json!({"rule": rule, "as_of": AS_OF, "run_families": 11});
            let mut dry = options.clone();
            dry["dry_run"] = json!(true);
            for mut answer in [
                installation.preview(options.clone()).expect("a preview"),
                installation.run(dry).expect("a dry run"),
                installation.run(options).expect("a run"),
            ] {
                anonymous(&mut answer);
                if rule == "asset_state" {
                    // Texts have an order of their own on each server.
                    let rule = answer["rules"][0].as_object_mut().expect("a rule");
                    rule.remove("sample_roots");
                    for pass in rule["passes"].as_array_mut().expect("passes") {
                        pass.as_object_mut().expect("a pass").remove("sample_keys");
                    }
                }
                told.push(answer);
            }
        }
        told
    });
    let expected = answers.next().expect("a server");
    for answer in answers {
        for (ours, theirs) in expected.iter().zip(&answer) {
            assert_eq!(ours, theirs);
        }
    }
}

pub(super) fn a_key_of_several_columns_is_held_and_purged_as_a_json_array(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    let key = "[2, \"it's\"]";
    let held = installation
        .call(
            "set_hold",
            json!({"rule": "asset_state", "key": [2, "it's"], "reason": "audit"}),
        )
        .expect("a hold");
    assert_eq!((&held["key"], &held["exists"]), (&json!(key), &json!(true)));
    let run = run(&mut installation, "asset_state");
    assert_eq!(
        only(&run)["skipped_samples"],
        json!({"HELD": [key]}),
        "{run}"
    );
    let mut purge = |key: Value| {
        let answer = installation.purge(json!({"rule": "asset_state", "key": [key]}));
        answer
            .map(|answer| answer["refused"].clone())
            .map_err(|error| format!("{error:#}"))
    };
    assert_eq!(purge(json!([2, "it's"])), Ok(json!({key: "HELD"})));
    // Its asset is active; and there is no such row.
    let active = "[1, \"q\\\"uote\"]";
    assert_eq!(purge(json!(active)), Ok(json!({active: "NOT_A_ROOT"})));
    assert_eq!(
        purge(json!([9, "a"])),
        Ok(json!({"[9, \"a\"]": "NOT_A_ROOT"}))
    );
    for wrong in [
        json!(2),
        json!("it's"),
        json!([2]),
        json!([2, "a", 3]),
        json!(["2", "a"]),
        json!([2, 3]),
        json!([3_000_000_000_i64, "a"]),
        json!("[2,\"a\"]"),
        json!([null, "a"]),
        json!({"asset_id": 2, "name": "a"}),
    ] {
        let refused = purge(wrong.clone()).expect_err("refused");
        let told = match wrong[0].is_null() && wrong.is_array() {
            true => "null is no value of the option key",
            false => "not a key of asset_state_store",
        };
        assert!(refused.contains(told), "{wrong}: {refused}");
    }
    installation
        .call(
            "release_hold",
            json!({"rule": "asset_state", "key": [2, "it's"]}),
        )
        .expect("a release");
    let answer = installation
        .purge(json!({"rule": "asset_state", "key": [[2, "it's"]]}))
        .expect("a purge");
    assert_eq!(
        (&answer["refused"], &only(&answer)["rows"]),
        (&json!({}), &json!(1))
    );
    let left = left(&mut installation, "asset_state");
    assert!(left.iter().all(|key| key.starts_with("[1, ")), "{left:?}");
}

pub(super) fn purge_takes_a_row_before_its_time_and_none_that_is_not_of_the_rule(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    let mut purge = |rule: &str, key: &str| {
        let answer = installation
            .purge(json!({"rule": rule, "key": [key]}))
            .expect("a purge");
        answer["refused"][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    // Not expired; of no kind that the rule takes; of an order that exists, and of one that does not.
    assert_eq!(purge("task_state", "2"), "");
    assert_eq!(purge("task_state", "2"), "NOT_A_ROOT");
    assert_eq!(purge("line", "line 1"), "NOT_A_ROOT");
    assert_eq!(purge("line", "line 2"), "");
    // The newest stay, whoever asks.
    assert_eq!(purge("tries", &world.tries[19].0), "NOT_A_ROOT");
    assert_eq!(purge("tries", &world.tries[15].0), "");
    let states = left(&mut installation, "task_state");
    assert_eq!(states.len(), 29);
}

pub(super) fn the_fallback_is_off_at_a_retention_of_nothing_and_bound_by_the_minimum(
    dialect: Dialect,
) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    let set = |installation: &mut Installation, value: i64| {
        let options = json!({"rule": "task_state", "name": "fallback_retention", "value": value});
        installation.call("set_setting", options)
    };
    let refused = set(&mut installation, 6 * DAY / SECOND).expect_err("refused");
    assert!(
        format!("{refused:#}").contains("below the minimum of rule task_state"),
        "{refused:#}"
    );
    set(&mut installation, 0).expect("off");
    let rows =
        |document: &Value, pass: &str| passes(only(document)).get(pass).map(|it| it.0.clone());
    // No option turns it on.
    let options = json!({"rule": "task_state", "as_of": AS_OF, "retention": "7d"});
    let preview = installation.preview(options).expect("a preview");
    assert_eq!(rows(&preview, "fallback"), None);
    let answer = run(&mut installation, "task_state");
    assert_eq!(
        (rows(&answer, "expired"), rows(&answer, "fallback")),
        (Some(json!(10)), None)
    );
    set(&mut installation, 90 * DAY / SECOND).expect("a retention");
    assert_eq!(only(&run(&mut installation, "task_state"))["rows"], 0);
    set(&mut installation, 7 * DAY / SECOND).expect("a retention");
    assert_eq!(
        rows(&run(&mut installation, "task_state"), "fallback"),
        Some(json!(10))
    );
    let refused = installation
        .preview(json!({"rule": "lease", "retention": "30d"}))
        .expect_err("refused");
    assert!(
        format!("{refused:#}").contains("rule lease has no retention"),
        "{refused:#}"
    );
}

pub(super) fn metrics_and_verify_know_rows_that_are_due(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    // The metrics count from the present instant: long after the one of this world, so that all is old.
    let backlog = |installation: &mut Installation| -> BTreeMap<String, i64> {
        let sql = either(
            dialect,
            "SELECT labels ->> 'rule', value::bigint::text FROM W.metrics WHERE name = 'windrow_backlog_families'",
            "SELECT JSON_UNQUOTE(JSON_EXTRACT(labels, '$.rule')), CAST(value AS signed) FROM W.metrics WHERE name = 'windrow_backlog_families'",
        );
        installation
            .rows(sql)
            .into_iter()
            .map(|row| {
                (
                    row[0].clone().expect("a rule"),
                    row[1]
                        .as_deref()
                        .expect("a value")
                        .parse()
                        .expect("a number"),
                )
            })
            .collect()
    };
    let before = backlog(&mut installation);
    assert_eq!(before["lease"], 10);
    assert_eq!(before["task_state"], 30);
    for rule in ["asset_state", "line", "tries", "attempts"] {
        assert_eq!(
            before[rule],
            i64::try_from(due(&world, rule).len()).expect("few"),
            "{rule}"
        );
    }
    installation.execute("UPDATE attempt SET began = NULL WHERE id = 1");
    for rule in RULES {
        installation.run(json!({"rule": rule})).expect("a run");
    }
    assert!(backlog(&mut installation).values().all(|rows| *rows == 0));
    let verify = installation.call("verify", json!({})).expect("a report");
    let checks = verify["checks"].as_array().expect("checks");
    let of = |check: &str, object: &str| {
        let found = checks
            .iter()
            .find(|it| it["check"] == check && it["object"] == object);
        found.map(|it| it["count"].clone())
    };
    assert_eq!(of("unranked", "attempts"), Some(json!(1)));
    assert_eq!(of("unranked", "tries"), Some(json!(0)));
    assert!(violations(&verify).is_empty(), "{verify:#}");
}
