//! The rules of a clean-up against a model of them: whatever stands in the tables, the database does what the
//! definitions say, row by row.

mod cases;
mod sources;
mod states;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use crate::harness::tests;
use crate::support::defect;
use crate::support::effort::{seeds, shared_seeds};
use crate::support::graphs::{
    dolphinscheduler, foreign_key_within, foreign_keys, with_keepers, within,
};
use crate::support::installation::{Installation, tick};
use crate::support::oracle::{self, Outcome};
use crate::support::world::{Row, SECOND, World, timestamp};

/// How many worlds of the main kinds `make test` looks at.
const WORLDS: u64 = 80;

/// The same by server: one costs several times as much on MySQL and MariaDB.
fn worlds(dialect: Dialect) -> u64 {
    match dialect {
        Dialect::Postgres => WORLDS,
        Dialect::Mysql | Dialect::Mariadb => WORLDS / 2,
    }
}

tests! {
    within: [cases::tests, sources::tests, states::tests],
    alone: [
        the_worlds_are_odd_enough,
    ],
    each_server: [
        closed_worlds_are_cleaned_as_the_model_says,
    ],
    every_server: [
        literal_worlds_are_cleaned_as_the_model_says,
        closed_families_are_purged_as_the_model_says,
        literal_families_are_purged_as_the_model_says,
        closed_worlds_with_foreign_keys_are_cleaned_as_the_model_says,
        literal_worlds_with_foreign_keys_are_cleaned_as_the_model_says,
        families_with_foreign_keys_are_purged_as_the_model_says,
        families_within_one_table_are_cleaned_as_the_model_says,
        families_within_one_table_are_purged_as_the_model_says,
    ],
}

fn closed_worlds_are_cleaned_as_the_model_says(dialect: Dialect) {
    let seeds = shared_seeds(FAMILIES, dialect, worlds(dialect));
    explore_these(dialect, Shared::Closed, &check_run, seeds);
}

fn literal_worlds_are_cleaned_as_the_model_says(dialect: Dialect) {
    explore(dialect, Shared::Literal, &check_run);
}

fn closed_families_are_purged_as_the_model_says(dialect: Dialect) {
    explore(dialect, Shared::Closed, &check_purge);
}

fn literal_families_are_purged_as_the_model_says(dialect: Dialect) {
    explore(dialect, Shared::Literal, &check_purge);
}

fn closed_worlds_with_foreign_keys_are_cleaned_as_the_model_says(dialect: Dialect) {
    explore_keyed(dialect, Shared::Closed, &check_run);
}

fn literal_worlds_with_foreign_keys_are_cleaned_as_the_model_says(dialect: Dialect) {
    explore_keyed(dialect, Shared::Literal, &check_run);
}

fn families_with_foreign_keys_are_purged_as_the_model_says(dialect: Dialect) {
    explore_keyed(dialect, Shared::Closed, &check_purge);
}

fn families_within_one_table_are_cleaned_as_the_model_says(dialect: Dialect) {
    for (shared, key) in [
        (Shared::Closed, None),
        (Shared::Closed, Some("NO ACTION")),
        (Shared::Literal, Some("CASCADE")),
    ] {
        explore_within(dialect, shared, key, &check_run);
    }
}

fn families_within_one_table_are_purged_as_the_model_says(dialect: Dialect) {
    explore_within(dialect, Shared::Closed, Some("RESTRICT"), &check_purge);
}

/// What the model decides must not be the same thing over and over, or the tests above would see nothing.
fn the_worlds_are_odd_enough() {
    type Change = fn(World) -> World;
    let (plain, keyed): (Change, Change) = (|world| world, World::keyed);
    let (free, bound): (Change, Change) = (|world| world.within(false), |world| world.within(true));
    for (shared, tick, change) in [
        (Shared::Closed, 1, plain),
        (Shared::Literal, 1, plain),
        (Shared::Closed, SECOND, plain),
        (Shared::Literal, SECOND, plain),
        (Shared::Closed, SECOND, keyed),
        (Shared::Literal, SECOND, keyed),
        (Shared::Closed, SECOND, free),
        (Shared::Closed, SECOND, bound),
        (Shared::Literal, SECOND, bound),
    ] {
        let mut worlds: BTreeMap<&str, u64> = BTreeMap::new();
        let mut keyed = false;
        for seed in 1..=2 * WORLDS {
            let world = change(World::random(seed, shared, now(), tick));
            keyed = world.keyed;
            let is_within = world
                .rows
                .iter()
                .any(|row| matches!(row, Row::Above { .. }));
            let outcome = oracle::run(&world);
            let (deleted, due) = (outcome.families, outcome.skipped.len());
            for (what, is_so) in [
                ("families go and stay", deleted > 0 && due > 0),
                ("several families go", deleted > 2),
                ("files go", !outcome.artifacts.is_empty()),
                ("undated roots", !outcome.undated.is_empty()),
                ("a limit is met", outcome.limited),
                ("a chain goes", !is_within || a_chain_goes(&world, &outcome)),
                ("roots without a policy", outcome.without_policy > Some(0)),
            ] {
                *worlds.entry(what).or_default() += u64::from(is_so);
            }
            for reason in outcome.skipped.keys() {
                *worlds.entry(reason).or_default() += 1;
            }
        }
        let reasons = [
            "HELD",
            "NON_FINAL_MEMBER",
            "RETENTION_NOT_REACHED",
            "UNDATED_MEMBER",
            "SHARED_MEMBER",
            "REFERENCED",
        ];
        for reason in reasons {
            let none = (reason == "SHARED_MEMBER" && shared == Shared::Literal)
                || (reason == "REFERENCED" && !keyed);
            assert!(none || worlds.contains_key(reason), "{reason}: {worlds:?}");
        }
        assert!(worlds.values().all(|count| *count >= 4), "{worlds:?}");
    }
}

/// Whether an instance goes with the one above it, and with the one above that.
fn a_chain_goes(world: &World, outcome: &Outcome) -> bool {
    let above: BTreeMap<i32, i32> = world
        .rows
        .iter()
        .filter_map(|row| match row {
            Row::Above { instance, above } if instance != above => Some((*instance, *above)),
            _ => None,
        })
        .collect();
    let goes = |id: &i32| outcome.deleted.contains(&("t_ds_workflow_instance", *id));
    let mut tops = above.iter().filter(|(low, _)| goes(low));
    tops.any(|(_, middle)| goes(middle) && above.get(middle).is_some_and(goes))
}

pub(crate) type Check = dyn Fn(&mut Installation, &World) -> Result<(), String>;

/// A class of worlds.
const FAMILIES: &str = "worlds of families";

fn explore(dialect: Dialect, shared: Shared, check: &Check) {
    let seeds = seeds(FAMILIES, dialect, worlds(dialect));
    explore_these(dialect, shared, check, seeds);
}

fn explore_these(
    dialect: Dialect,
    shared: Shared,
    check: &Check,
    seeds: impl Iterator<Item = u64>,
) {
    let mut database = Installation::armed(dialect, &dolphinscheduler(shared));
    let tick = tick(dialect);
    let make = |seed| World::random(seed, shared, now(), tick);
    explore_in(&mut database, seeds, check, &make, &|world| world);
}

/// The same with foreign keys between the tables, and with rows that keep families.
fn explore_keyed(dialect: Dialect, shared: Shared, check: &Check) {
    let graph = with_keepers(shared);
    let mut database = Installation::armed(dialect, &graph);
    for statement in foreign_keys(&graph, dialect) {
        database.execute(&statement);
    }
    // On MySQL and MariaDB a key makes its table anew: every run would look for what took its place.
    database.arm();
    let tick = tick(dialect);
    let make = |seed| World::random(seed, shared, now(), tick).keyed();
    explore_in(
        &mut database,
        seeds("worlds with foreign keys", dialect, worlds(dialect) / 2),
        check,
        &make,
        &World::keyed,
    );
}

/// The same where instances name the one above them, with a foreign key or without.
fn explore_within(dialect: Dialect, shared: Shared, key: Option<&str>, check: &Check) {
    let mut database = Installation::armed(dialect, &within(shared));
    for statement in key.into_iter().flat_map(foreign_key_within) {
        database.execute(&statement);
    }
    database.arm();
    let tick = tick(dialect);
    let make = |seed| World::random(seed, shared, now(), tick).within(key.is_some());
    let adapt = |world: World| world.within(key.is_some());
    explore_in(
        &mut database,
        seeds("worlds within one table", dialect, worlds(dialect) / 4),
        check,
        &make,
        &adapt,
    );
}

/// Checks the worlds of these seeds; `adapt` brings one that has lost a row back into order.
pub(crate) fn explore_in(
    database: &mut Installation,
    seeds: impl Iterator<Item = u64>,
    check: &Check,
    make: &dyn Fn(u64) -> World,
    adapt: &dyn Fn(World) -> World,
) {
    for seed in seeds {
        let world = make(seed);
        if let Err(difference) = check(database, &world) {
            let (world, difference) = shrink(database, world, difference, check, adapt);
            panic!("seed {seed}: {difference}\n\n{}", report(&world));
        }
    }
}

/// The clock, in microseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("it is after 1970");
    i64::try_from(since.as_micros()).expect("the clock fits")
}

/// Takes rows away one by one as long as the database and the model still disagree.
fn shrink(
    database: &mut Installation,
    mut world: World,
    mut difference: String,
    check: &Check,
    adapt: &dyn Fn(World) -> World,
) -> (World, String) {
    let started = Instant::now();
    let mut smaller = true;
    while smaller && started.elapsed().as_secs() < 60 && !defect::is_expected() {
        smaller = false;
        for index in (0..world.rows.len()).rev() {
            let mut candidate = world.clone();
            if index >= candidate.rows.len() {
                continue;
            }
            candidate.rows.remove(index);
            candidate = adapt(candidate);
            if let Err(found) = check(database, &candidate) {
                (world, difference) = (candidate, found);
                smaller = true;
            }
        }
        for change in [
            |world: &mut World| world.scope = None,
            |world: &mut World| world.retention = None,
            |world: &mut World| world.run_families = None,
        ] {
            let mut candidate = world.clone();
            change(&mut candidate);
            if candidate.options().len() < world.options().len()
                && let Err(found) = check(database, &candidate)
            {
                (world, difference) = (candidate, found);
                smaller = true;
            }
        }
    }
    (world, difference)
}

fn report(world: &World) -> String {
    let mut text = format!(
        "{:?}, batches of {}, options {}\n",
        world.shared,
        world.batch_families,
        Value::Object(world.options())
    );
    for row in &world.rows {
        let _ = writeln!(text, "{};", row.insert());
    }
    text
}

pub(crate) fn check_run(database: &mut Installation, world: &World) -> Result<(), String> {
    database.load(world);
    let expected = oracle::run(world);
    let before = database.contents();
    let options = world.options();
    let with = |name: &str, value: Value| {
        let mut options = options.clone();
        options.insert(name.to_owned(), value);
        Value::Object(options)
    };

    let preview = database
        .preview(Value::Object(options.clone()))
        .map_err(|error| format!("preview: {error:#}"))?;
    let rule = &preview["rules"][0];
    figures("preview", rule, &expected, true)?;
    same(
        "without_policy",
        &json!(expected.without_policy),
        &rule["without_policy"],
    )?;
    let oldest = expected.oldest.map(|time| {
        timestamp(time)
            .replace(' ', "T")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    });
    same("oldest_end_time", &json!(oldest), &rule["oldest_end_time"])?;

    let dry = database
        .run(with("dry_run", json!(true)))
        .map_err(|error| format!("dry run: {error:#}"))?;
    finished("dry run", &dry, &expected)?;
    figures("dry run", &dry["rules"][0], &expected, !expected.limited)?;
    same("rows after the dry run", &before, &database.contents())?;
    same(
        "files after the dry run",
        &0,
        &database.number("SELECT count(*) FROM W.artifact"),
    )?;

    let run = database
        .run(Value::Object(options.clone()))
        .map_err(|error| format!("run: {error:#}"))?;
    finished("run", &run, &expected)?;
    figures("run", &run["rules"][0], &expected, !expected.limited)?;
    let mut after = before;
    for (table, id) in &expected.deleted {
        after.remove(&((*table).to_owned(), *id));
    }
    same("rows after the run", &after, &database.contents())?;
    same("files", &expected.artifacts, &files(database))?;
    ledger(database, &run)?;

    if !expected.limited {
        let again = database
            .run(Value::Object(options))
            .map_err(|error| format!("second run: {error:#}"))?;
        same(
            "families of the second run",
            &json!(0),
            &again["rules"][0]["families"],
        )?;
        same(
            "rows of the second run",
            &json!(0),
            &again["rules"][0]["rows"],
        )?;
        same(
            "skipped by the second run",
            &run["rules"][0]["skipped"],
            &again["rules"][0]["skipped"],
        )?;
        same("rows after the second run", &after, &database.contents())?;
    }
    Ok(())
}

/// Purges one family, by force or not: the world's options do not count.
fn check_purge(database: &mut Installation, world: &World) -> Result<(), String> {
    check_purge_of(database, world, false)?;
    check_purge_of(database, world, true)
}

fn check_purge_of(database: &mut Installation, world: &World, force: bool) -> Result<(), String> {
    let Some(key) = world.rows.iter().find_map(|row| match row {
        Row::Instance { id, .. } => Some(*id),
        _ => None,
    }) else {
        return Ok(());
    };
    database.load(world);
    let mut left = database.contents();
    let answer = database
        .purge(json!({"key": [key], "force": force}))
        .map_err(|error| format!("purge: {error:#}"))?;
    let mut then = world.clone();
    if world.as_of_is_option {
        then.as_of = now();
    }
    match oracle::purge(&then, key, force) {
        Ok(deleted) => {
            for (table, id) in &deleted {
                left.remove(&((*table).to_owned(), *id));
            }
            same("refused", &json!({}), &answer["refused"])?;
            same("rows", &json!(deleted.len()), &answer["rules"][0]["rows"])?;
        }
        Err(reason) => same(
            "refused",
            &json!({key.to_string(): reason}),
            &answer["refused"],
        )?,
    }
    same("rows after the purge", &left, &database.contents())
}

/// The figures that preview, dry run and run share.
fn figures(who: &str, rule: &Value, expected: &Outcome, undated: bool) -> Result<(), String> {
    let mut tables: BTreeMap<&str, usize> =
        expected.tables.iter().map(|table| (*table, 0)).collect();
    for (table, _) in &expected.deleted {
        *tables.entry(table).or_default() += 1;
    }
    let mut skipped = expected.skipped.clone();
    if undated && !expected.undated.is_empty() {
        let reason = skipped.entry("UNDATED_MEMBER").or_default();
        reason.extend(&expected.undated);
    }
    let counts: Map<String, Value> = skipped
        .iter()
        .map(|(reason, roots)| ((*reason).to_owned(), json!(roots.len())))
        .collect();
    let sum: usize = skipped.values().map(BTreeSet::len).sum();
    let name = |what: &str| format!("{who}: {what}");
    same(
        &name("families"),
        &json!(expected.families),
        &rule["families"],
    )?;
    same(&name("tables"), &json!(tables), &rule["tables"])?;
    same(&name("rows"), &json!(expected.deleted.len()), &rule["rows"])?;
    same(&name("skipped"), &Value::Object(counts), &rule["skipped"])?;
    same(
        &name("skipped families"),
        &json!(sum),
        &rule["skipped_families"],
    )?;
    for (reason, roots) in &skipped {
        let samples: BTreeSet<i32> = rule["skipped_samples"][*reason]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|key| key.as_str()?.parse().ok())
            .collect();
        if samples.len() != roots.len().min(10) || !samples.is_subset(roots) {
            return Err(format!(
                "{who}: samples of {reason} are {samples:?}, not of {roots:?}"
            ));
        }
    }
    Ok(())
}

fn finished(who: &str, result: &Value, expected: &Outcome) -> Result<(), String> {
    let (status, reason) = if expected.limited {
        ("stopped", "run_families reached")
    } else {
        ("done", "nothing left")
    };
    same(&format!("{who}: status"), &json!(status), &result["status"])
        .and_then(|()| same(&format!("{who}: reason"), &json!(reason), &result["reason"]))
        .map_err(|difference| format!("{difference}\n{result:#}"))
}

/// The ledger of a run says what its document says.
fn ledger(database: &mut Installation, result: &Value) -> Result<(), String> {
    let id = &result["run"];
    let rule = &result["rules"][0];
    for (what, column, table) in [
        ("families", "families", "run_rule"),
        ("rows", "deleted_rows", "run_rule"),
        ("rows", "deleted_rows", "run_table"),
        ("skipped_families", "families", "run_skip"),
    ] {
        let sum = database.number(&format!(
            "SELECT coalesce(sum({column}), 0) FROM W.{table} WHERE run_id = {id}"
        ));
        same(&format!("{what} in {table}"), &rule[what], &json!(sum))?;
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, found: &T) -> Result<(), String> {
    if expected == found {
        Ok(())
    } else {
        Err(format!(
            "{what}\nexpected: {expected:?}\n   found: {found:?}"
        ))
    }
}

fn files(database: &mut Installation) -> Vec<(Option<String>, String)> {
    let mut files: Vec<_> = database
        .rows("SELECT host, path FROM W.artifact")
        .into_iter()
        .map(|mut row| (row.swap_remove(0), row.swap_remove(0).expect("a path")))
        .collect();
    files.sort();
    files
}
