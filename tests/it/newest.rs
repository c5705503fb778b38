//! The newest roots of each group stay, and a second column stands in for an end time that is NULL: random worlds against
//! a model, with the scopes of policies as lists of groups that are cleaned, or are not.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::effort::{enough, fewer, seeds};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

const SPEC: &str = r#"
name = "newest"
dialects = ["postgres", "mysql"]

[tables]
runs  = { key = "id integer" }
tasks = { parents = ["run -> runs.id"] }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = ["done", "failed"] }
end_time  = "ended else changed"
retention = { default = "30d", per = "dag varchar", opt_in = true }
keep      = { newest = 2, per = "dag varchar", by = "started", of = { kind = ["timed", "asset"] } }
limits    = { batch_families = 3 }
"#;

/// Runs that start others: a family has several members, of which only some are roots.
const FAMILIES: &str = r#"
name = "newest-families"

[tables]
runs  = { key = "id integer" }
calls = { parents = ["caller -> runs.id", "called -> runs.id"], with = "any" }

[rules.runs]
strategy   = "end-time"
root       = "runs"
candidates = { called = 0 }
final      = { state = ["done", "failed"] }
end_time   = "ended"
hierarchy  = ["calls: caller -> called"]
retention  = { default = "30d" }
keep       = { newest = 1, per = "dag varchar", by = "started" }
limits     = { batch_families = 2 }
"#;

/// Several groups of several columns, each with an order and a condition of its own. A run may be among the newest of one
/// and not of another; what orders may be the key itself.
const SEVERAL: &str = r#"
name = "newest-several"

[tables]
runs  = { key = "id integer" }
tasks = { parents = ["run -> runs.id"] }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = ["done", "failed"] }
end_time  = "ended"
retention = { default = "30d", per = "dag varchar", opt_in = true }
keep      = [
    { newest = 1, per = ["dag varchar", "kind varchar"], by = "started", of = { kind = ["timed", "asset"] } },
    { newest = 2, per = "dag varchar", by = ["changed", "started"], of = { kind = "manual", changed = { null = false } } },
    { newest = 1, per = ["dag varchar", "called integer"], by = "id integer", of = { changed = { null = true }, state = "failed" } },
]
limits    = { batch_families = 3 }
"#;

tests! {
    every_server: [
        the_newest_of_each_group_stay,
        each_of_several_keeps_has_its_own_groups,
        a_list_of_groups_is_cleaned_or_spared,
        a_family_stays_with_its_newest_root,
        a_newest_root_goes_by_hand,
        a_root_stays_while_the_newest_may_be_gone,
    ],
}

/// MariaDB has no index for a second column.
fn graph(text: &str, dialect: Dialect) -> Graph {
    let text = match dialect {
        Dialect::Postgres | Dialect::Mysql => text.to_owned(),
        Dialect::Mariadb => text
            .replace("ended else changed", "ended")
            .replace("dialects = [\"postgres\", \"mysql\"]", ""),
    };
    graph_of(&text)
}

fn installation(text: &str, dialect: Dialect) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE runs (id integer PRIMARY KEY, dag varchar(20), kind varchar(20), state varchar(20), called integer, started {time}, ended {time}, changed {time});
CREATE TABLE tasks (id integer PRIMARY KEY, run integer);
CREATE TABLE calls (id integer PRIMARY KEY, caller integer, called integer);
"
    );
    let mut database = Installation::of(dialect, &schema, &graph(text, dialect));
    database.arm();
    database
}

const CUTOFF: &str = "2025-12-15";

#[derive(Clone, Debug)]
struct Run {
    id: i32,
    dag: Option<&'static str>,
    kind: Option<&'static str>,
    state: &'static str,
    called: i32,
    started: Option<&'static str>,
    ended: Option<&'static str>,
    changed: Option<&'static str>,
}

impl Run {
    fn random(id: i32, random: &mut SmallRng) -> Run {
        let mut one = |values: &[Option<&'static str>]| *values.choose(random).expect("some");
        Run {
            id,
            dag: one(&[Some("a"), Some("b"), Some("it's"), Some("c"), None]),
            kind: one(&[
                Some("timed"),
                Some("timed"),
                Some("asset"),
                Some("manual"),
                None,
            ]),
            state: one(&[Some("done"), Some("done"), Some("failed"), Some("running")])
                .expect("one"),
            called: 0,
            // Equal times are common: then the key decides.
            started: one(&[
                Some("2025-10-01"),
                Some("2025-10-01"),
                Some("2025-10-02"),
                Some("2025-11-03"),
                None,
            ]),
            ended: one(&[
                Some("2025-10-05"),
                Some("2025-11-05"),
                Some("2025-12-14"),
                Some(CUTOFF),
                None,
            ]),
            changed: one(&[
                Some("2025-10-06"),
                Some("2025-12-01"),
                Some("2026-01-02"),
                None,
            ]),
        }
    }

    fn insert(&self) -> String {
        let text = |value: Option<&str>| match value {
            None => "NULL".to_owned(),
            Some(value) => format!("'{}'", value.replace('\'', "''")),
        };
        format!(
            "INSERT INTO runs VALUES ({}, {}, {}, '{}', {}, {}, {}, {})",
            self.id,
            text(self.dag),
            text(self.kind),
            self.state,
            self.called,
            text(self.started),
            text(self.ended),
            text(self.changed)
        )
    }

    fn is_final(&self) -> bool {
        self.state != "running"
    }
}

/// The newest of each group, among those that count.
fn newest(runs: &[Run], count: usize, counts: impl Fn(&Run) -> bool) -> BTreeSet<i32> {
    let mut groups: BTreeMap<&str, Vec<(&str, i32)>> = BTreeMap::new();
    for run in runs.iter().filter(|run| counts(run)) {
        if let (Some(dag), Some(started)) = (run.dag, run.started) {
            groups.entry(dag).or_default().push((started, run.id));
        }
    }
    let newest = groups.into_values().flat_map(|mut group| {
        group.sort_unstable();
        group.into_iter().rev().take(count)
    });
    newest.map(|(_, id)| id).collect()
}

fn left(database: &mut Installation) -> BTreeSet<i32> {
    let ids = database.texts("SELECT id FROM runs");
    ids.iter().map(|id| id.parse().expect("a key")).collect()
}

fn clear(database: &mut Installation) {
    for table in ["runs", "tasks", "calls", "W.policy", "W.hold"] {
        database.execute(&format!("DELETE FROM {table}"));
    }
}

fn the_newest_of_each_group_stay(dialect: Dialect) {
    explore(dialect, true);
}

fn a_list_of_groups_is_cleaned_or_spared(dialect: Dialect) {
    explore(dialect, false);
}

/// With `opt_in`, a policy names a group that is cleaned; without, a disabled one names a group that is not.
fn explore(dialect: Dialect, opt_in: bool) {
    let text = SPEC.replace("opt_in = true", &format!("opt_in = {opt_in}"));
    let mut database = installation(&text, dialect);
    let has_fallback = dialect != Dialect::Mariadb;
    let (mut families, mut spared, mut by_change) = (0, 0, 0);
    for seed in seeds(
        "worlds of the newest of each group",
        dialect,
        fewer(dialect, 30),
    ) {
        let random = &mut SmallRng::seed_from_u64(seed);
        clear(&mut database);
        let runs: Vec<Run> = (1..random.random_range(2..30))
            .map(|id| Run::random(id, random))
            .collect();
        for run in &runs {
            database.execute(&run.insert());
            database.execute(&format!("INSERT INTO tasks VALUES ({}, {0})", run.id));
        }
        let mut policies: BTreeMap<&str, bool> = BTreeMap::new();
        for dag in ["a", "b", "it's", "c"] {
            if random.random_bool(0.6) {
                let enabled = random.random_bool(0.7);
                let policy = json!({"scope": dag, "retention": "30d", "enabled": enabled});
                database.set_policy(policy).expect("a policy");
                policies.insert(dag, enabled);
            }
        }
        let mut held = BTreeSet::new();
        if let Some(run) = runs.choose(random).filter(|_| random.random_bool(0.5)) {
            let hold = json!({"key": run.id.to_string(), "reason": "test"});
            database.set_hold(hold).expect("a hold");
            held.insert(run.id);
        }

        let newest = newest(&runs, 2, |run| {
            ["timed", "asset"].map(Some).contains(&run.kind)
        });
        let is_cleaned = |run: &Run| {
            let policy = run.dag.and_then(|dag| policies.get(dag)).copied();
            policy.unwrap_or(!opt_in)
        };
        let ended = |run: &Run| run.ended.or(run.changed.filter(|_| has_fallback));
        let is_old = |run: &Run| ended(run).is_some_and(|ended| ended < CUTOFF);
        let due = |run: &&Run| run.is_final() && is_old(run) && is_cleaned(run);
        let goes = |run: &&Run| due(run) && !newest.contains(&run.id) && !held.contains(&run.id);
        let gone: BTreeSet<i32> = runs.iter().filter(goes).map(|run| run.id).collect();
        let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
        let of_interest = |run: &&Run| !opt_in || is_cleaned(run);
        let undated = runs
            .iter()
            .filter(|run| run.is_final() && ended(run).is_none());
        let undated = undated.filter(of_interest).count();
        let kept = runs
            .iter()
            .filter(due)
            .filter(|run| !newest.contains(&run.id));
        let kept = kept.filter(|run| held.contains(&run.id)).count();
        for (reason, count) in [("UNDATED_MEMBER", undated), ("HELD", kept)] {
            if count > 0 {
                skipped.insert(reason, count);
            }
        }
        let options = json!({"as_of": "2026-01-15T00:00:00Z"});
        let documents = check(&mut database, &options, &gone, &format!("seed {seed}"));
        for document in &documents {
            let rule = &document["rules"][0];
            assert_eq!(
                rule["skipped"],
                json!(skipped),
                "seed {seed}: {document}\n{runs:?}"
            );
            assert_eq!(
                rule["tables"]["tasks"],
                gone.len(),
                "seed {seed}: {document}"
            );
        }
        families += gone.len();
        spared += runs
            .iter()
            .filter(due)
            .filter(|run| newest.contains(&run.id))
            .count();
        let by_other = |run: &&Run| run.ended.is_none() && gone.contains(&run.id);
        by_change += runs.iter().filter(by_other).count();
    }
    assert!(
        families > enough(fewer(dialect, 30)) && spared > enough(fewer(dialect, 15)),
        "{families} {spared}"
    );
    assert_eq!(by_change > 0, has_fallback, "{by_change}");
    verified(&mut database);
}

/// What orders the runs of a group.
type Rank = (Vec<&'static str>, i32);

/// A group of a run, its place in it, and how many of the group stay.
type Place = (String, Rank, usize);

/// The groups in which a run has a place, as `SEVERAL` has them.
fn places(run: &Run) -> Vec<Place> {
    let mut places = Vec::new();
    let Some(dag) = run.dag else {
        return places;
    };
    if let (Some(kind @ ("timed" | "asset")), Some(started)) = (run.kind, run.started) {
        places.push((format!("kind {dag} {kind}"), (vec![started], run.id), 1));
    }
    if let (Some("manual"), Some(changed), Some(started)) = (run.kind, run.changed, run.started) {
        places.push((
            format!("by hand {dag}"),
            (vec![changed, started], run.id),
            2,
        ));
    }
    if run.state == "failed" && run.changed.is_none() {
        let group = format!("failed {dag} {}", run.called);
        places.push((group, (Vec::new(), run.id), 1));
    }
    places
}

fn each_of_several_keeps_has_its_own_groups(dialect: Dialect) {
    let mut database = installation(SEVERAL, dialect);
    let (mut families, mut spared) = (0, BTreeMap::new());
    for seed in seeds("worlds of several keeps", dialect, fewer(dialect, 30)) {
        let random = &mut SmallRng::seed_from_u64(seed);
        clear(&mut database);
        let runs: Vec<Run> = (1..random.random_range(10..40))
            .map(|id| Run {
                called: random.random_range(0..2),
                ..Run::random(id, random)
            })
            .collect();
        for run in &runs {
            database.execute(&run.insert());
            database.execute(&format!("INSERT INTO tasks VALUES ({}, {0})", run.id));
        }
        for dag in ["a", "b", "it's"] {
            let policy = json!({"scope": dag, "retention": "30d"});
            database.set_policy(policy).expect("a policy");
        }
        let mut groups: BTreeMap<String, (Vec<Rank>, usize)> = BTreeMap::new();
        for run in &runs {
            for (group, place, count) in places(run) {
                let group = groups.entry(group).or_insert((Vec::new(), count));
                group.0.push(place);
            }
        }
        let mut newest = BTreeSet::new();
        for (name, (mut places, count)) in groups {
            places.sort_unstable();
            let last = places.into_iter().rev().take(count).map(|(_, id)| id);
            let kind = name.split(' ').next().expect("a word").to_owned();
            let old: Vec<i32> = last.collect();
            *spared.entry(kind).or_insert(0) += old.len();
            newest.extend(old);
        }
        let gone: BTreeSet<i32> = runs
            .iter()
            .filter(|run| run.is_final() && run.ended.is_some_and(|ended| ended < CUTOFF))
            .filter(|run| run.dag.is_some_and(|dag| dag != "c") && !newest.contains(&run.id))
            .map(|run| run.id)
            .collect();
        let options = json!({"as_of": "2026-01-15T00:00:00Z"});
        let what = format!("seed {seed}: {runs:?}");
        for document in check(&mut database, &options, &gone, &what) {
            assert_eq!(
                document["rules"][0]["tables"]["tasks"],
                gone.len(),
                "{what}"
            );
        }
        families += gone.len();
    }
    assert!(
        families > enough(fewer(dialect, 30)) && spared.len() == 3,
        "{families} {spared:?}"
    );
    assert!(
        spared
            .values()
            .all(|count| *count > enough(fewer(dialect, 20))),
        "{spared:?}"
    );
    verified(&mut database);
}

/// Preview, dry run, run and second run, of which all but the last are answered.
fn check(
    database: &mut Installation,
    options: &Value,
    gone: &BTreeSet<i32>,
    what: &str,
) -> Vec<Value> {
    let before = left(database);
    let mut dry = options.clone();
    dry["dry_run"] = json!(true);
    let mut documents = vec![
        database.preview(options.clone()).expect("a preview"),
        database.run(dry).expect("a dry run"),
    ];
    assert_eq!(left(database), before, "{what}: a dry run changes nothing");
    let run = database.run(options.clone()).expect("a run");
    assert_eq!(run["status"], "done", "{what}: {run}");
    documents.push(run);
    let stay: BTreeSet<i32> = before.difference(gone).copied().collect();
    assert_eq!(left(database), stay, "{what}");
    for document in &documents {
        assert_eq!(
            document["rules"][0]["tables"]["runs"],
            gone.len(),
            "{what}: {document}"
        );
    }
    let again = database.run(options.clone()).expect("a second run");
    assert_eq!(again["rules"][0]["rows"], 0, "{what}: {again}");
    documents
}

/// Among others: every index that the statements need can be used.
fn verified(database: &mut Installation) {
    let verify = database.call("verify", json!({})).expect("a verification");
    let wrong = violations(&verify);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Members of a family share their fate: with one that stays, because it is the newest or for any other reason, all stay.
fn a_family_stays_with_its_newest_root(dialect: Dialect) {
    let mut database = installation(FAMILIES, dialect);
    let (mut families, mut spared) = (0, 0);
    for seed in seeds(
        "worlds of the newest of each group",
        dialect,
        fewer(dialect, 30),
    ) {
        let random = &mut SmallRng::seed_from_u64(seed);
        clear(&mut database);
        let mut runs: Vec<Run> = (1..random.random_range(4..30))
            .map(|id| Run::random(id, random))
            .collect();
        for run in &mut runs {
            run.called = i32::from(random.random_bool(0.4));
            if random.random_bool(0.8) {
                (run.state, run.ended) = ("done", Some("2025-10-05"));
            }
            database.execute(&run.insert());
        }
        let mut calls: Vec<(i32, i32)> = Vec::new();
        for called in runs.iter().filter(|run| run.called == 1) {
            for _ in 0..random.random_range(1..3) {
                let caller = runs.choose(random).expect("some").id;
                calls.push((caller, called.id));
            }
        }
        for (at, (caller, called)) in calls.iter().enumerate() {
            database.execute(&format!(
                "INSERT INTO calls VALUES ({at}, {caller}, {called})"
            ));
        }
        let newest = newest(&runs, 1, |run| run.called == 0);
        let by_id = |id: &i32| runs.iter().find(|run| run.id == *id).expect("a run");
        let connected = |start: i32, downwards: bool| -> BTreeSet<i32> {
            let mut reached = BTreeSet::from([start]);
            loop {
                let before = reached.len();
                for (caller, called) in &calls {
                    if reached.contains(caller) {
                        reached.insert(*called);
                    } else if !downwards && reached.contains(called) {
                        reached.insert(*caller);
                    }
                }
                if reached.len() == before {
                    return reached;
                }
            }
        };
        let may_go = |run: &Run| {
            run.is_final()
                && run.ended.is_some_and(|ended| ended < CUTOFF)
                && !newest.contains(&run.id)
        };
        let mut gone = BTreeSet::new();
        for run in &runs {
            let all = connected(run.id, false);
            let roots = all.iter().filter(|id| by_id(id).called == 0);
            let below: BTreeSet<i32> = roots.flat_map(|root| connected(*root, true)).collect();
            if below == all && all.iter().all(|id| may_go(by_id(id))) {
                gone.insert(run.id);
            } else if all
                .iter()
                .all(|id| may_go(by_id(id)) || newest.contains(id))
                && all.len() > 1
            {
                spared += 1;
            }
        }
        let options = json!({"as_of": "2026-01-15T00:00:00Z"});
        check(
            &mut database,
            &options,
            &gone,
            &format!("seed {seed}: {runs:?} {calls:?}"),
        );
        families += gone.len();
    }
    assert!(
        families > enough(fewer(dialect, 30)) && spared > enough(fewer(dialect, 10)),
        "{families} {spared}"
    );
    verified(&mut database);
}

/// The newest stay, whoever names them, unless he says that they go all the same.
fn a_newest_root_goes_by_hand(dialect: Dialect) {
    let mut database = installation(SPEC, dialect);
    database.execute(
        "INSERT INTO runs VALUES (1, 'a', 'timed', 'done', 0, '2025-10-01', '2025-10-02', NULL)",
    );
    let policy = json!({"scope": "a", "retention": "30d"});
    database.set_policy(policy).expect("a policy");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 0, "{run}");
    assert_eq!(run["rules"][0]["skipped"], json!({}), "{run}");
    let purge = database.purge(json!({"key": [1]})).expect("a purge");
    let young = json!({"1": "RETENTION_NOT_REACHED"});
    assert_eq!(purge["refused"], young, "{purge}");
    let purge = database.purge(json!({"key": [1], "force": true}));
    assert_eq!(purge.expect("a purge")["refused"], json!({}));
    assert!(left(&mut database).is_empty());
}

/// Somebody deletes the newest root and has not committed: whether the older one is the newest now, nobody knows.
fn a_root_stays_while_the_newest_may_be_gone(dialect: Dialect) {
    let text = SPEC.replace("newest = 2", "newest = 1");
    let mut database = installation(&text, dialect);
    database.execute("INSERT INTO runs VALUES (1, 'a', 'timed', 'done', 0, '2025-10-01', '2025-10-02', NULL), (2, 'a', 'timed', 'done', 0, '2025-10-03', '2025-10-04', NULL)");
    let policy = json!({"scope": "a", "retention": "30d"});
    database.set_policy(policy).expect("a policy");
    let preview = database.preview(json!({})).expect("a preview");
    assert_eq!(preview["rules"][0]["families"], 1, "{preview}");
    let mut other = database.connect();
    let begin = match dialect {
        Dialect::Postgres => "BEGIN",
        Dialect::Mysql | Dialect::Mariadb => "START TRANSACTION",
    };
    other.execute(begin).expect("a transaction");
    other
        .execute("DELETE FROM runs WHERE id = 2")
        .expect("a deletion");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 0, "{run}");
    assert_eq!(
        run["rules"][0]["skipped"],
        json!({"RETENTION_NOT_REACHED": 1}),
        "{run}"
    );
    other.execute("COMMIT").expect("a commit");
    database.run(json!({})).expect("a run");
    assert_eq!(left(&mut database), BTreeSet::from([1]));
}
