//! What a stamp sets, as a model over rows in memory, compared row by row with the database; and what a run then deletes.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::calls::Calls;
use windrow::dialect::Dialect;

use super::oracle::{self, AS_OF, BATCH, BYTES, PROCESS, contents, lenient};
use super::{Unit, history};
use crate::harness::tests;
use crate::rights;
use crate::support::camunda::Camunda;
use crate::support::database;
use crate::support::effort::{enough, fewer, in_turn, seeds};
use crate::support::installation::{Session, call};

mod model;

pub(super) use model::{DAY, DEFINITIONS, Outcome, Stamp, What, Which};
use model::{TABLES, World};

tests! {
    on_postgres: [
        the_command_line_stamps_and_the_spec_fits,
    ],
    every_server: [
        a_stamp_of_a_realistic_history_is_finished_whatever_ends_it,
        no_transaction_of_a_stamp_changes_more_rows_than_the_setting_says,
        a_stamp_sets_what_the_model_says_and_nothing_else,
        a_stamp_that_makes_no_sense_is_refused,
    ],
}

/// The removal time of every row, in minutes before `AS_OF`.
pub(super) fn stored(camunda: &mut Camunda) -> BTreeMap<(String, String), Option<i64>> {
    let minutes = camunda.either(
        "(extract(epoch FROM timestamp '2026-01-01 00:00:00' - removal_time_) / 60)::bigint::text",
        "TIMESTAMPDIFF(MINUTE, removal_time_, '2026-01-01 00:00:00')",
    );
    let selects: Vec<String> = TABLES
        .map(|(table, ..)| table)
        .iter()
        .chain(&[PROCESS, BYTES, BATCH])
        .map(|table| {
            format!("SELECT CONCAT('{table} ', id_, ' ', coalesce({minutes}, 'none')) FROM {table}")
        })
        .collect();
    camunda
        .texts(&selects.join(" UNION ALL "))
        .iter()
        .map(|text| {
            let words: Vec<&str> = text.split(' ').collect();
            let key = (words[0].to_lowercase(), words[1].to_owned());
            (key, words[2].parse().ok())
        })
        .collect()
}

/// What the document of a stamp says.
pub(super) fn told(document: &Value) -> Outcome {
    let rule = &document["rules"][0];
    let numbers = |value: &Value| -> BTreeMap<String, i64> {
        let fields = value.as_object().expect("an object");
        let fields = fields.iter().filter(|(_, value)| **value != 0);
        fields
            .map(|(name, value)| (name.clone(), value.as_i64().expect("a number")))
            .collect()
    };
    let changed: BTreeMap<String, i64> = numbers(&rule["tables"])
        .into_iter()
        .map(|(name, rows)| (name.to_lowercase(), rows))
        .collect();
    assert_eq!(rule["rows"], changed.values().sum::<i64>(), "{document}");
    let skipped = numbers(&rule["skipped"]);
    assert_eq!(rule["skipped_families"], skipped.values().sum::<i64>());
    let refused = document["refused"].as_object().expect("an object");
    Outcome {
        families: rule["families"].as_i64().expect("a number"),
        changed,
        skipped,
        refused: refused.keys().cloned().collect(),
    }
}

fn a_stamp_sets_what_the_model_says_and_nothing_else(dialect: Dialect) {
    let mut camunda = Camunda::new(dialect);
    lenient(&mut camunda);
    let (mut changed, mut gone, mut reasons) = (0, 0, BTreeSet::new());
    for seed in seeds("worlds of stamps", dialect, fewer(dialect, 14)) {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut world = World::random(&mut random);
        world.load(&mut camunda);
        let mut stamps: Vec<Stamp> = (0..random.random_range(1..3))
            .map(|_| {
                let processes = world.rows.iter().filter(|row| row.table == PROCESS);
                let keys = processes.map(|row| row.id.clone()).collect();
                Stamp::random(keys, &mut random)
            })
            .collect();
        // At last each family has one removal time, or none: what a run does with those that have several is not defined.
        for what in [
            What::Clear,
            What::Calculated {
                from_start: random.random_bool(0.3),
                default: Some(3 * DAY),
            },
        ] {
            stamps.push(Stamp {
                what,
                which: Which::All,
                whole: true,
            });
        }
        for stamp in stamps {
            let context = format!("seed {seed}: {stamp:?} {world:#?}");
            let mut options = stamp.options();
            options["chunk"] = json!(random.random_range(1..9));
            let before = world.removals();
            let expected = world.stamp(&stamp);

            let mut dry = options.clone();
            dry["dry_run"] = json!(true);
            let dry = camunda.call("stamp", dry);
            assert_eq!(
                stored(&mut camunda),
                before,
                "a dry run sets nothing; {context}"
            );
            let done = camunda.call("stamp", options.clone());
            assert_eq!(done["status"], "done", "{done}\n{context}");
            assert_eq!(stored(&mut camunda), world.removals(), "{context}");
            assert_eq!(told(&dry), expected, "{context}");
            assert_eq!(told(&done), expected, "{context}");
            changed += expected.changed.values().sum::<i64>();
            reasons.extend(expected.skipped.into_keys());
            let again = camunda.call("stamp", options);
            assert_eq!(again["rules"][0]["rows"], 0, "{again}\n{context}");
        }
        // A run goes by what was set.
        let rows = world.rows.iter();
        let model = oracle::World::of(rows.map(|row| {
            let root = world.family_of(row);
            oracle::row(row.table, &row.id, root, row.removal, row.ended)
        }));
        let run = camunda.run(json!({"rule": "history", "as_of": AS_OF}));
        assert_eq!(run["status"], "done", "seed {seed}: {run}");
        let left = contents(&mut camunda);
        assert_eq!(left, model.left(), "seed {seed}: {world:#?}");
        gone += world.rows.len() - left.len();
    }
    // If hardly anything was set, the worlds would prove nothing.
    assert!(
        changed > enough(fewer(dialect, 500)) && gone > enough(fewer(dialect, 150)),
        "{changed} set, {gone} gone"
    );
    let all = ["NON_FINAL_MEMBER", "POLICY_DISABLED", "UNDATED_MEMBER"];
    assert_eq!(reasons.iter().collect::<Vec<_>>(), all);
}

/// What a stamp may set: how many rows of each table have which removal time.
fn times(camunda: &mut Camunda) -> Vec<String> {
    let selects: Vec<String> = TABLES
        .map(|(table, ..)| table)
        .iter()
        .chain(&[PROCESS, BYTES, BATCH])
        .map(|table| {
            format!("SELECT CONCAT('{table} ', coalesce(removal_time_, '1970-01-01 00:00:00'), ' ', count(*)) AS line FROM {table} GROUP BY removal_time_")
        })
        .collect();
    let mut lines = camunda.texts(&selects.join(" UNION ALL "));
    lines.sort_unstable();
    lines
}

/// Definitions of the realistic history; every third has no time to live.
fn define(camunda: &mut Camunda) {
    for number in 0..12 {
        let days = match number % 3 {
            0 => "NULL".to_owned(),
            _ => (number * 5).to_string(),
        };
        camunda.execute(&format!(
            "INSERT INTO act_re_procdef (id_, key_, version_, history_ttl_) VALUES ('process_{number}:1', 'process_{number}', 1, {days})"
        ));
    }
}

/// A batch that changed too many is rolled back, and fewer families are tried.
fn no_transaction_of_a_stamp_changes_more_rows_than_the_setting_says(dialect: Dialect) {
    const MOST: i64 = 400;
    let units = [
        (Unit::Window, "batch_rows"),
        (Unit::Family, "batch_family_rows"),
    ];
    let round = usize::from(dialect == Dialect::Postgres);
    for (unit, setting) in in_turn(round, units.len(), units) {
        let mut camunda = unit.history(dialect);
        let told = |answer: &Value| {
            let rule = &answer["rules"][0];
            ["families", "rows", "batches"].map(|name| rule[name].as_i64().expect("a number"))
        };
        let mut stamp = json!({"to": "2040-01-01T00:00:00Z", "all": true});
        let whole = camunda.call("stamp", stamp.clone());
        let [families, rows, batches] = told(&whole);
        assert!(batches < families / 20, "{whole}");
        let most = json!({"rule": "history", "name": setting, "value": MOST});
        camunda
            .windrow
            .call("set_setting", most)
            .expect("a setting");
        stamp["to"] = json!("2041-01-01T00:00:00Z");
        let small = camunda.call("stamp", stamp);
        let [again, changed, batches] = told(&small);
        assert_eq!([again, changed], [families, rows], "{small}");
        // Some families have more, and are batches of their own.
        assert!(batches > rows / MOST / 2, "{small}");
        assert!(batches < families, "{small}");
    }
}

fn a_stamp_of_a_realistic_history_is_finished_whatever_ends_it(dialect: Dialect) {
    let mut camunda = history(dialect);
    define(&mut camunda);
    if dialect != Dialect::Postgres {
        // As some servers do by themselves with the first timestamp of a table.
        camunda.execute("ALTER TABLE act_hi_identitylink MODIFY timestamp_ timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP");
        camunda.windrow.arm();
    }
    let clocks = "SELECT CONCAT(id_, ' ', timestamp_) FROM act_hi_identitylink ORDER BY 1";
    let untouched = camunda.texts(clocks);
    let options = json!({"calculated": "end", "default": "45d", "missing": true, "chunk": 20});
    let roots = "SELECT id_ FROM act_hi_procinst WHERE id_ = root_proc_inst_id_";
    let some = camunda.texts(&format!("{roots} ORDER BY id_ LIMIT 150"));
    let cleared = camunda.call("stamp", json!({"clear": true, "key": some}));
    assert!(
        cleared["rules"][0]["rows"].as_i64() > Some(4_000),
        "{cleared}"
    );
    let calls = Calls::new(dialect, &camunda.windrow.control, "stamp");
    let past = camunda
        .windrow
        .session
        .query(&calls.history(true), &[Some("1")]);
    let newest = past.expect("an answer")[0][0].clone().expect("a document");
    let newest: Value = serde_json::from_str(&newest).expect("JSON");
    assert_eq!(
        newest["changed_rows"], cleared["rules"][0]["rows"],
        "{newest}"
    );
    let missing = camunda.texts(&format!("{roots} AND removal_time_ IS NULL"));
    let started = times(&mut camunda);
    let done = camunda.call("stamp", options.clone());
    assert_eq!(done["status"], "done", "{done}");
    let expected = times(&mut camunda);
    assert_ne!(expected, started);
    camunda.call("stamp", json!({"clear": true, "key": missing}));
    assert_eq!(times(&mut camunda), started, "cleared, as they were");

    let operator = |camunda: &mut Camunda| rights::user(&mut camunda.windrow, Some("operator"));
    let mut olga = operator(&mut camunda);
    let control = camunda.windrow.control.clone();
    let mut dry = options.clone();
    dry["dry_run"] = json!(true);
    let dry = call(&mut olga, dialect, &control, "stamp", &dry).expect("an operator may");
    assert_eq!(told(&dry), told(&done));
    assert_eq!(times(&mut camunda), started);

    let middle = killed_in_a_batch(&mut camunda, &mut olga, &options, &expected);
    a_held_one_is_finished_later(&mut camunda, &options, &middle, &expected);
    assert_eq!(
        camunda.texts(clocks),
        untouched,
        "times that the server set"
    );
    the_ledger_tells(&mut camunda);
}

/// Killed in the middle of a batch, and its session gone: each family has its new time as a whole or not at all.
/// Answers the family.
fn killed_in_a_batch(
    camunda: &mut Camunda,
    olga: &mut Session,
    options: &Value,
    expected: &[String],
) -> Vec<String> {
    let (dialect, control) = (camunda.windrow.dialect, camunda.windrow.control.clone());
    let torn = "SELECT count(*) FROM act_hi_actinst AS a JOIN act_hi_procinst AS p ON p.id_ = a.proc_inst_id_ WHERE NOT a.removal_time_ = p.removal_time_ OR (a.removal_time_ IS NULL) <> (p.removal_time_ IS NULL)";
    let apart = camunda.number(torn);
    let stop = camunda.either(
        "CREATE FUNCTION public.stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF OLD.id_ = 'ID' THEN PERFORM pg_sleep(600); END IF; RETURN NEW; END $$;
         CREATE TRIGGER stop BEFORE UPDATE ON act_hi_procinst FOR EACH ROW EXECUTE FUNCTION public.stop()",
        "CREATE TRIGGER stop BEFORE UPDATE ON act_hi_procinst FOR EACH ROW BEGIN DECLARE v integer; IF OLD.id_ = 'ID' THEN SET v = SLEEP(600); END IF; END",
    );
    let middle = camunda.texts(
        "SELECT id_ FROM act_hi_procinst WHERE id_ = root_proc_inst_id_ AND removal_time_ IS NULL AND end_time_ IS NOT NULL ORDER BY id_ LIMIT 1 OFFSET 90",
    );
    camunda.execute(&stop.replace("'ID'", &format!("'{}'", middle[0])));
    let (runner, _, number) = camunda.call_aside("stamp", options.clone());
    camunda
        .windrow
        .until_asleep("a stamp in the middle", &runner, number);
    let other = call(olga, dialect, &control, "stamp", options).expect("an answer");
    assert_eq!(other["status"], "refused", "{other}");
    camunda.execute(&camunda.either(
        format!("SELECT pg_terminate_backend({number}, 5000)"),
        format!("KILL CONNECTION {number}"),
    ));
    let (_, answer) = runner.join().expect("no panic");
    assert!(answer.is_err(), "it survived");
    camunda.windrow.until_gone(number);
    camunda.execute(camunda.either("DROP FUNCTION public.stop() CASCADE", "DROP TRIGGER stop"));
    let batches = "SELECT p.batches FROM W.run_stamp AS p JOIN W.run AS r ON r.run_id = p.run_id WHERE r.status <> 'done'";
    assert!(camunda.number(batches) > 0, "it had begun");
    assert_ne!(times(camunda), expected);
    assert!(camunda.number(torn) <= apart, "half a family is stamped");
    middle
}

/// Someone holds a family: it is left to him, and the rest is finished.
fn a_held_one_is_finished_later(
    camunda: &mut Camunda,
    options: &Value,
    middle: &[String],
    expected: &[String],
) {
    camunda.set_setting("lock_timeout", 20);
    camunda.set_setting("retries", 0);
    let mut rival = camunda.connect();
    rival.execute("BEGIN").expect("a transaction");
    let held = format!(
        "SELECT id_ FROM act_hi_procinst WHERE id_ = '{}' FOR UPDATE",
        middle[0]
    );
    rival
        .query(&camunda.named(&held), &[])
        .expect("it is locked");
    let part = camunda.call("stamp", options.clone());
    assert_eq!(part["status"], "done", "{part}");
    let rule = &part["rules"][0];
    assert_eq!(rule["skipped_samples"]["LOCKED"], json!(middle), "{part}");
    rival.execute("COMMIT").expect("a commit");
    let rest = camunda.call("stamp", options.clone());
    assert_eq!(rest["rules"][0]["families"], 1, "{rest}");
    assert!(rest["rules"][0]["rows"].as_i64() > Some(0), "{rest}");
    assert_eq!(times(camunda), expected);
    let again = camunda.call("stamp", options.clone());
    assert_eq!(again["rules"][0]["rows"], 0, "{again}");
}

/// The ledger says who did what.
fn the_ledger_tells(camunda: &mut Camunda) {
    let statuses = camunda.texts("SELECT CONCAT(status, ' ', started_by) FROM W.run WHERE \"trigger\" = 'STAMP' ORDER BY run_id");
    let first: Vec<&str> = statuses
        .iter()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let story = [
        "done", "done", "done", "done", "crashed", "done", "done", "done",
    ];
    assert_eq!(first, story);
    assert!(statuses[3].contains("operator_"), "{statuses:?}");
    // Nothing was deleted, and nobody says so.
    let deleted = camunda.number("SELECT count(*) FROM W.run_rule");
    assert_eq!(deleted, 0);
}

fn a_stamp_that_makes_no_sense_is_refused(dialect: Dialect) {
    let mut camunda = Camunda::new(dialect);
    let one = "not one of to, calculated and clear";
    let which = "not one of key, missing and all";
    for (options, message) in [
        (json!({"all": true}), one),
        (
            json!({"all": true, "clear": true, "calculated": "end"}),
            one,
        ),
        (json!({"clear": true}), which),
        (json!({"clear": true, "all": true, "missing": true}), which),
        (json!({"clear": false, "all": true}), "clear is not true"),
        (json!({"clear": true, "all": false}), "all is not true"),
        (
            json!({"to": "tomorrow", "all": true}),
            "to is not an instant in whole seconds: 'tomorrow'",
        ),
        (
            json!({"to": "2027-01-01T00:00:00.5Z", "all": true}),
            "to is not an instant in whole seconds",
        ),
        (
            json!({"calculated": "middle", "all": true}),
            "calculated is neither start nor end: 'middle'",
        ),
        (
            json!({"clear": true, "default": "3d", "all": true}),
            "default is not the time to live of a calculated removal time: '3d'",
        ),
        (
            json!({"clear": true, "key": []}),
            "the option key is not a list of keys",
        ),
        (json!({"clear": true, "key": [""]}), "not a key of"),
        (
            json!({"clear": true, "all": true, "chunk": 0}),
            "chunk is not a number from 1 to 9999: '0'",
        ),
        (
            json!({"clear": true, "all": true, "hierarchical": "no"}),
            "hierarchical is not true or false",
        ),
        (
            json!({"clear": true, "all": true, "dry_run": 1}),
            "dry_run is not true or false",
        ),
        (
            json!({"clear": true, "all": true, "time_budget": "0s"}),
            "time_budget is not a duration above 0: '0s'",
        ),
        (
            json!({"clear": true, "all": true, "rule": "task_metrics"}),
            "no such rule with removal times to set: 'task_metrics'",
        ),
        (
            json!({"clear": true, "all": true, "force": true}),
            "unknown option: 'force'",
        ),
    ] {
        match camunda.attempt("stamp", options) {
            Ok(answer) => panic!("not refused: {answer}"),
            Err(error) => {
                let said = format!("{error:#}");
                assert!(said.contains("22023") && said.contains(message), "{said}");
            }
        }
    }
    let nothing = json!({"clear": true, "all": true});
    camunda.execute("CALL W.pause('closing')");
    let paused = camunda.call("stamp", nothing.clone());
    assert_eq!(paused["status"], "refused", "{paused}");
    camunda.execute("CALL W.resume()");
    let done = camunda.call("stamp", nothing);
    assert_eq!(done["status"], "done", "{done}");
}

fn the_command_line_stamps_and_the_spec_fits() {
    let mut camunda = Camunda::new(Dialect::Postgres);
    lenient(&mut camunda);
    camunda.execute(
        "INSERT INTO act_re_procdef (id_, key_, version_, history_ttl_) VALUES ('week', 'k', 1, 7);
         INSERT INTO act_hi_procinst (id_, proc_inst_id_, root_proc_inst_id_, proc_def_id_, start_time_, end_time_) VALUES ('p', 'p', 'p', 'week', '2026-01-01', '2026-01-02 03:04:05.678');
         INSERT INTO act_hi_actinst (id_, proc_inst_id_, root_proc_inst_id_) VALUES ('a', 'p', 'p')",
    );
    let url = database::server().url(&camunda.windrow.name, "postgres");
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/camunda7.toml");
    let windrow = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(arguments)
            .output()
            .expect("windrow runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said, errors)
    };
    let removal = "SELECT coalesce(p.removal_time_::text, 'none') || ' ' || coalesce(a.removal_time_::text, 'none') FROM act_hi_procinst AS p CROSS JOIN act_hi_actinst AS a";
    let stamp = ["stamp", spec, "--url", &url];
    let with = |more: &[&'static str]| windrow(&[&stamp[..], more].concat());

    let dry = with(&["--calculated", "--missing", "--dry-run"]);
    assert_eq!(dry.0, Some(0), "{dry:?}");
    assert!(
        dry.1.starts_with("stamp 1: dry run, rolled back: done"),
        "{dry:?}"
    );
    assert!(
        dry.1
            .contains("rule history: 1 family, 2 rows set in 1 batch"),
        "{dry:?}"
    );
    assert_eq!(camunda.texts(removal), ["none none"]);
    let done = with(&["--calculated", "--missing", "--output", "json"]);
    assert_eq!(done.0, Some(0), "{done:?}");
    assert_eq!(
        camunda.texts(removal),
        ["2026-01-09 03:04:05.678 2026-01-09 03:04:05.678"]
    );
    let from_start = with(&[
        "--calculated=start",
        "--key",
        "p",
        "--own-rows",
        "--key",
        "q",
    ]);
    assert_eq!(from_start.0, Some(1), "one key is nobody's: {from_start:?}");
    assert_eq!(
        camunda.texts(removal),
        ["2026-01-08 00:00:00 2026-01-08 00:00:00"]
    );
    let clear = with(&["--clear", "--all"]);
    assert_eq!(clear.0, Some(0), "{clear:?}");
    assert_eq!(camunda.texts(removal), ["none none"]);
    for wrong in [
        &["--all"][..],
        &["--clear"],
        &["--clear", "--all", "--missing"],
        &["--clear", "--calculated", "--all"],
        &["--clear", "--default", "3d", "--all"],
    ] {
        let said = with(wrong);
        assert_eq!(said.0, Some(2), "{said:?}");
    }
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/yworkflow.toml");
    let other = windrow(&["stamp", other, "--clear", "--all", "--url", &url]);
    assert_eq!(other.0, Some(2), "{other:?}");
    assert!(
        other.2.contains("does not say how removal times are set"),
        "{other:?}"
    );

    let check = windrow(&["check", spec, "--database", &url, "--threshold", "0"]);
    assert!(!check.1.contains("error["), "{check:?}");
}
