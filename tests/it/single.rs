//! Rules whose rows go one by one: expired, orphaned, or outnumbered by newer ones. What goes is what a model says.

use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::{fit, lint, render};

use crate::support::database::exclusive;
use crate::support::installation::{Installation, apply, bundle};

/// The stores and the history of Airflow 3 in the columns that matter, and two tables with what Airflow forbids: equal
/// places, no places, references that mean nothing. Assets that vanish are debris, so no foreign key holds them.
const SCHEMA: &str = "
CREATE TABLE task_state_store (
    id integer PRIMARY KEY, dag_run_id integer NOT NULL, task_id varchar(250) NOT NULL, map_index integer NOT NULL DEFAULT -1,
    name varchar(512) NOT NULL, value text NOT NULL, updated_at timestamptz, expires_at timestamptz,
    UNIQUE (dag_run_id, task_id, map_index, name)
);
CREATE INDEX idx_task_state_store_expires_at ON task_state_store (expires_at);
CREATE TABLE lease (id bigint PRIMARY KEY, until_at timestamp, kind integer NOT NULL);
CREATE TABLE asset (id integer PRIMARY KEY, name varchar(150) NOT NULL, uri varchar(150) NOT NULL, UNIQUE (name, uri));
CREATE TABLE asset_active (name varchar(150), uri varchar(150), PRIMARY KEY (name, uri));
CREATE TABLE asset_state_store (
    asset_id integer NOT NULL, name varchar(150) NOT NULL, value text NOT NULL, updated_at timestamptz,
    PRIMARY KEY (asset_id, name)
);
CREATE TABLE orders (id bigint PRIMARY KEY, state varchar(9), ended timestamp);
CREATE TABLE stock (id integer PRIMARY KEY, shop varchar(50) NOT NULL, number integer NOT NULL, state varchar(9), ended timestamp, UNIQUE (shop, number));
CREATE TABLE line (id varchar(36) PRIMARY KEY, order_id bigint, shop varchar(50), number integer);
CREATE TABLE task_instance_history (
    task_instance_id uuid PRIMARY KEY, task_id varchar(250) NOT NULL, dag_id varchar(250) NOT NULL, run_id varchar(250) NOT NULL,
    map_index integer NOT NULL DEFAULT -1, try_number integer NOT NULL, end_date timestamptz,
    CONSTRAINT task_instance_history_dtrt_uq UNIQUE (dag_id, task_id, run_id, map_index, try_number)
);
CREATE TABLE attempt (id integer PRIMARY KEY, job varchar(50), part integer, began timestamp, ended timestamp, kind varchar(10) NOT NULL);
";

const SPEC: &str = r#"
name      = "stores"
dialects  = ["postgres"]
time_zone = "Asia/Shanghai"

[tables]
task_state_store      = { key = "id integer", indexed = ["expires_at"] }
lease                 = { key = "id bigint" }
asset_state_store     = { key = "asset_id integer, name varchar" }
line                  = { key = "id varchar", parents = ["order_id bigint -> orders.id unless 0", "shop, number -> stock(shop, number)"] }
orders                = { key = "id bigint" }
stock                 = { key = "id integer", unique = ["shop varchar, number integer"] }
task_instance_history = { key = "task_instance_id uuid", indexed = ["dag_id, task_id, run_id, map_index, try_number"] }
attempt               = { key = "id integer" }

[rules.task_state]
strategy = "expiry"
root     = "task_state_store"
time     = "expires_at timestamptz"
fallback = { time = "updated_at timestamptz", retention = { default = "30d", minimum = "7d", safety_lag = "1d" } }

[rules.lease]
strategy   = "expiry"
root       = "lease"
time       = "until_at"
candidates = { kind = [1, 2] }

[rules.asset_state]
strategy  = "orphan"
root      = "asset_state_store"
needs     = ["asset_id -> asset.id", "name, uri -> asset_active(name, uri)"]
time      = "updated_at timestamptz"
retention = { default = "14d", minimum = "7d", safety_lag = "1h" }

[rules.line]
strategy = "orphan"
root     = "line"
at_once  = true

[rules.tries]
strategy = "keep-last"
root     = "task_instance_history"
keep     = { newest = 2, per = ["dag_id varchar", "task_id varchar", "run_id varchar", "map_index integer"], by = "try_number integer" }

[rules.attempts]
strategy   = "keep-last"
root       = "attempt"
candidates = { kind = "auto" }
keep       = { newest = 2, per = ["job varchar", "part integer"], by = ["began"] }
time       = "ended"
retention  = { default = "30d", minimum = "7d", safety_lag = "1d" }

# Lines go with what they belong to, and what earlier scripts have left of them goes by the rule above.
[rules.orders]
strategy  = "end-time"
root      = "orders"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }

[rules.stock]
strategy  = "end-time"
root      = "stock"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
"#;

const RULES: [&str; 6] = [
    "task_state",
    "lease",
    "asset_state",
    "line",
    "tries",
    "attempts",
];

const AS_OF: &str = "2026-06-01T12:00:00Z";
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

fn graph() -> Graph {
    let (graph, findings) = lint::load(SPEC);
    graph.unwrap_or_else(|| panic!("the spec has errors: {findings:?}"))
}

/// Microseconds after the instant of the run; before it, mostly.
type Time = Option<i64>;

/// Rows of all tables, as the model sees them.
#[derive(Clone, Debug, Default)]
struct World {
    states: Vec<(i32, Time, Time)>,
    leases: Vec<(i64, Time, i32)>,
    assets: Vec<(i32, &'static str, &'static str)>,
    active: BTreeSet<(&'static str, &'static str)>,
    asset_states: Vec<(i32, &'static str, Time)>,
    orders: BTreeSet<i64>,
    stock: BTreeSet<(&'static str, i32)>,
    lines: Vec<Line>,
    tries: Vec<(String, [&'static str; 3], i32, i32)>,
    attempts: Vec<Attempt>,
    /// By rule and key, as the documents write it.
    holds: BTreeSet<(&'static str, String)>,
    /// Seconds; 0: off.
    fallback: i64,
}

/// Its key, its order, and the shop and number of what it has from stock.
type Line = (String, Option<i64>, Option<&'static str>, Option<i32>);

#[derive(Clone, Debug)]
struct Attempt {
    id: i32,
    job: Option<&'static str>,
    part: Option<i32>,
    began: Time,
    ended: Time,
    kind: &'static str,
}

/// What a run of one rule should do: keys in no order.
#[derive(Debug, Default, PartialEq)]
struct Verdict {
    /// By pass.
    gone: BTreeMap<&'static str, BTreeSet<String>>,
    /// By reason.
    skipped: BTreeMap<&'static str, BTreeSet<String>>,
}

impl Verdict {
    /// A row that is due for a reason goes, unless it is held or has no time that would say how old it is.
    fn judge(
        &mut self,
        world: &World,
        rule: &'static str,
        pass: &'static str,
        key: String,
        age: Age,
    ) {
        let held = world.holds.contains(&(rule, key.clone()));
        match age {
            Age::Young => {}
            _ if held => drop(self.skipped.entry("HELD").or_default().insert(key)),
            Age::Unknown => drop(
                self.skipped
                    .entry("UNDATED_MEMBER")
                    .or_default()
                    .insert(key),
            ),
            Age::Old => drop(self.gone.entry(pass).or_default().insert(key)),
        }
    }
}

enum Age {
    Old,
    Young,
    Unknown,
}

/// Older than a retention of days, and a lag in seconds.
fn age(time: Time, days: i64, lag: i64) -> Age {
    match time {
        None => Age::Unknown,
        Some(time) if time < -(days * DAY + lag * SECOND) => Age::Old,
        Some(_) => Age::Young,
    }
}

/// `days` is the retention that the options of the run ask for.
fn model(world: &World, rule: &'static str, days: Option<i64>) -> Verdict {
    let mut verdict = Verdict::default();
    let passed = |time: Time| match time {
        Some(time) if time < 0 => Age::Old,
        _ => Age::Young,
    };
    match rule {
        "task_state" => {
            for (id, expires, updated) in &world.states {
                let key = id.to_string();
                if expires.is_some() {
                    verdict.judge(world, rule, "expired", key, passed(*expires));
                } else if world.fallback > 0 {
                    let seconds = days.map_or(world.fallback, |days| days * DAY / SECOND);
                    let kept = seconds.max(7 * DAY / SECOND);
                    match age(*updated, 0, kept + DAY / SECOND) {
                        // Whether it is held does not matter, where nothing makes it due.
                        Age::Unknown => drop(
                            verdict
                                .skipped
                                .entry("UNDATED_MEMBER")
                                .or_default()
                                .insert(key),
                        ),
                        age => verdict.judge(world, rule, "fallback", key, age),
                    }
                }
            }
        }
        "lease" => {
            for (id, until, kind) in &world.leases {
                if [1, 2].contains(kind) {
                    verdict.judge(world, rule, "expired", id.to_string(), passed(*until));
                }
            }
        }
        "asset_state" => {
            for (asset, name, updated) in &world.asset_states {
                let known = world.assets.iter().find(|(id, ..)| id == asset);
                if known.is_some_and(|(_, name, uri)| world.active.contains(&(name, uri))) {
                    continue;
                }
                let key = json_text(&json!([asset, name]));
                let kept = days.unwrap_or(14).max(7);
                verdict.judge(world, rule, "orphan", key, age(*updated, kept, 3_600));
            }
        }
        "line" => {
            for (id, order, shop, number) in &world.lines {
                let no_order =
                    order.is_some_and(|order| order != 0 && !world.orders.contains(&order));
                let no_stock = match (shop, number) {
                    (Some(shop), Some(number)) => !world.stock.contains(&(*shop, *number)),
                    _ => false,
                };
                if no_order || no_stock {
                    verdict.judge(world, rule, "orphan", id.clone(), Age::Old);
                }
            }
        }
        "tries" => {
            let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
            for (id, names, index, number) in &world.tries {
                groups
                    .entry((names, index))
                    .or_default()
                    .push((*number, id));
            }
            for rows in groups.values_mut() {
                rows.sort_unstable();
                for (_, id) in rows.iter().rev().skip(2) {
                    verdict.judge(world, rule, "surplus", (*id).clone(), Age::Old);
                }
            }
        }
        _ => {
            let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
            for row in world.attempts.iter().filter(|row| row.kind == "auto") {
                if let (Some(job), Some(part), Some(began)) = (row.job, row.part, row.began) {
                    groups
                        .entry((job, part))
                        .or_default()
                        .push((began, row.id, row.ended));
                }
            }
            for rows in groups.values_mut() {
                rows.sort_unstable();
                for (_, id, ended) in rows.iter().rev().skip(2) {
                    let age = age(*ended, days.unwrap_or(30).max(7), DAY / SECOND);
                    verdict.judge(world, rule, "surplus", id.to_string(), age);
                }
            }
        }
    }
    verdict
}

/// A JSON array as the servers write it.
fn json_text(value: &Value) -> String {
    let parts: Vec<String> = value
        .as_array()
        .expect("a list")
        .iter()
        .map(Value::to_string)
        .collect();
    format!("[{}]", parts.join(", "))
}

const NAMES: [&str; 6] = ["a", "B", "a b", "it's", "q\"uote", "käse"];

impl World {
    fn random(random: &mut SmallRng) -> Self {
        let mut world = Self {
            fallback: *[0, 8, 30, 40].choose(random).expect("a number") * DAY / SECOND,
            ..Self::default()
        };
        let size = random.random_range(0..40);
        // Around every limit, to the microsecond.
        let time = |random: &mut SmallRng| -> Time {
            let limits = [
                0,
                DAY,
                7 * DAY,
                8 * DAY,
                9 * DAY,
                14 * DAY,
                15 * DAY,
                20 * DAY,
                31 * DAY,
                41 * DAY,
            ];
            let limit = *limits.choose(random).expect("a limit");
            let lag = *[0, 3_600 * SECOND].choose(random).expect("a lag");
            let off = random.random_range(-1..=1);
            (!random.random_bool(0.15)).then_some(off - limit - lag)
        };
        let name = |random: &mut SmallRng| *NAMES.choose(random).expect("a name");
        let maybe = |random: &mut SmallRng| random.random_bool(0.85);
        for id in 0..size {
            let expires = if random.random_bool(0.5) {
                time(random)
            } else {
                None
            };
            world.states.push((id - 5, expires, time(random)));
            world
                .leases
                .push((i64::from(id) << 33, time(random), random.random_range(1..4)));
            if random.random_bool(0.5) {
                let (first, second) = (name(random), name(random));
                if world
                    .assets
                    .iter()
                    .all(|(_, name, uri)| (*name, *uri) != (first, second))
                {
                    world.assets.push((id, first, second));
                }
            }
            if random.random_bool(0.3) {
                world.active.insert((name(random), name(random)));
            }
            let state = (random.random_range(0..size), name(random), time(random));
            if world
                .asset_states
                .iter()
                .all(|it| (it.0, it.1) != (state.0, state.1))
            {
                world.asset_states.push(state);
            }
            if random.random_bool(0.5) {
                world.orders.insert(random.random_range(1..20));
                world
                    .stock
                    .insert((name(random), random.random_range(1..4)));
            }
            world.lines.push((
                format!("{}-{id}", name(random)),
                maybe(random).then(|| random.random_range(0..20)),
                maybe(random).then(|| name(random)),
                maybe(random).then(|| random.random_range(1..4)),
            ));
            let names = [0, 1, 2].map(|_| *["a", "b"].choose(random).expect("a name"));
            let (index, number) = (random.random_range(-1..1), random.random_range(1..9));
            if world
                .tries
                .iter()
                .all(|it| (it.1, it.2, it.3) != (names, index, number))
            {
                let id = format!("{:08x}-0000-4000-8000-000000000000", random.random::<u32>());
                world.tries.push((id, names, index, number));
            }
            world.attempts.push(Attempt {
                id,
                job: maybe(random).then(|| *["x", "y"].choose(random).expect("a job")),
                part: maybe(random).then(|| random.random_range(1..3)),
                began: maybe(random).then(|| -DAY * random.random_range(0..4)),
                ended: time(random),
                kind: if random.random_bool(0.8) {
                    "auto"
                } else {
                    "hand"
                },
            });
        }
        for rule in RULES {
            for key in world.keys(rule) {
                if random.random_bool(0.1) {
                    world.holds.insert((rule, key));
                }
            }
        }
        world
    }

    /// The keys of the table of a rule.
    fn keys(&self, rule: &str) -> BTreeSet<String> {
        match rule {
            "task_state" => self.states.iter().map(|it| it.0.to_string()).collect(),
            "lease" => self.leases.iter().map(|it| it.0.to_string()).collect(),
            "asset_state" => self
                .asset_states
                .iter()
                .map(|it| json_text(&json!([it.0, it.1])))
                .collect(),
            "line" => self.lines.iter().map(|it| it.0.clone()).collect(),
            "tries" => self.tries.iter().map(|it| it.0.clone()).collect(),
            _ => self.attempts.iter().map(|it| it.id.to_string()).collect(),
        }
    }

    fn load(&self, installation: &mut Installation) {
        let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let or_null = |value: Option<String>| value.unwrap_or_else(|| "NULL".to_owned());
        // The instant, and what the application's clock in Shanghai shows then.
        let zoned = |time: Time| {
            or_null(time.map(|it| {
                format!("timestamptz '2026-06-01 12:00:00+00' + interval '{it} microseconds'")
            }))
        };
        let plain = |time: Time| {
            or_null(time.map(|it| {
                format!("timestamp '2026-06-01 20:00:00' + interval '{it} microseconds'")
            }))
        };
        let mut script = String::new();
        let mut insert = |table: &str, columns: &str, rows: Vec<String>| {
            script += &format!("DELETE FROM {table};\n");
            for row in rows {
                script += &format!("INSERT INTO {table} ({columns}) VALUES ({row});\n");
            }
        };
        insert(
            "task_state_store",
            "id, dag_run_id, task_id, name, value, expires_at, updated_at",
            self.states
                .iter()
                .map(|(id, expires, updated)| {
                    format!(
                        "{id}, 1, 't', '{id}', 'v', {}, {}",
                        zoned(*expires),
                        zoned(*updated)
                    )
                })
                .collect(),
        );
        insert(
            "lease",
            "id, until_at, kind",
            self.leases
                .iter()
                .map(|(id, until, kind)| format!("{id}, {}, {kind}", plain(*until)))
                .collect(),
        );
        insert(
            "asset",
            "id, name, uri",
            self.assets
                .iter()
                .map(|(id, name, uri)| format!("{id}, {}, {}", text(name), text(uri)))
                .collect(),
        );
        insert(
            "asset_active",
            "name, uri",
            self.active
                .iter()
                .map(|(name, uri)| format!("{}, {}", text(name), text(uri)))
                .collect(),
        );
        insert(
            "asset_state_store",
            "asset_id, name, value, updated_at",
            self.asset_states
                .iter()
                .map(|(asset, name, updated)| {
                    format!("{asset}, {}, 'v', {}", text(name), zoned(*updated))
                })
                .collect(),
        );
        insert(
            "orders",
            "id",
            self.orders.iter().map(ToString::to_string).collect(),
        );
        insert(
            "stock",
            "id, shop, number",
            self.stock
                .iter()
                .enumerate()
                .map(|(id, (shop, number))| format!("{id}, {}, {number}", text(shop)))
                .collect(),
        );
        insert(
            "line",
            "id, order_id, shop, number",
            self.lines
                .iter()
                .map(|(id, order, shop, number)| {
                    format!(
                        "{}, {}, {}, {}",
                        text(id),
                        or_null(order.map(|it| it.to_string())),
                        or_null(shop.map(text)),
                        or_null(number.map(|it| it.to_string()))
                    )
                })
                .collect(),
        );
        insert(
            "task_instance_history",
            "task_instance_id, dag_id, task_id, run_id, map_index, try_number",
            self.tries
                .iter()
                .map(|(id, names, index, number)| {
                    format!(
                        "'{id}', '{}', '{}', '{}', {index}, {number}",
                        names[0], names[1], names[2]
                    )
                })
                .collect(),
        );
        insert(
            "attempt",
            "id, job, part, began, ended, kind",
            self.attempts
                .iter()
                .map(|row| {
                    format!(
                        "{}, {}, {}, {}, {}, '{}'",
                        row.id,
                        or_null(row.job.map(text)),
                        or_null(row.part.map(|it| it.to_string())),
                        plain(row.began),
                        plain(row.ended),
                        row.kind
                    )
                })
                .collect(),
        );
        script += "DELETE FROM W.hold;\nDELETE FROM W.setting;\nDELETE FROM W.run_failure;\n";
        for (rule, key) in &self.holds {
            script += &format!(
                "INSERT INTO W.hold (rule, key, reason) VALUES ('{rule}', {}, 'audit');\n",
                text(key)
            );
        }
        script += &format!(
            "INSERT INTO W.setting (rule, name, value) VALUES ('task_state', 'fallback_retention', {});\n",
            self.fallback
        );
        installation.execute(&script);
    }
}

/// The keys that are left in the table of a rule.
fn left(installation: &mut Installation, rule: &str) -> BTreeSet<String> {
    let sql = match rule {
        "task_state" => "SELECT id::text FROM task_state_store",
        "lease" => "SELECT id::text FROM lease",
        "asset_state" => "SELECT jsonb_build_array(asset_id, name)::text FROM asset_state_store",
        "line" => "SELECT id FROM line",
        "tries" => "SELECT task_instance_id::text FROM task_instance_history",
        _ => "SELECT id::text FROM attempt",
    };
    installation.texts(sql).into_iter().collect()
}

fn new() -> Installation {
    let mut installation = Installation::of(Dialect::Postgres, SCHEMA, &graph());
    installation.arm();
    installation
}

/// The part of a document about the only rule.
fn only(document: &Value) -> &Value {
    &document["rules"][0]
}

/// Rows and first keys of the passes that took any.
fn passes(rule: &Value) -> BTreeMap<String, (Value, Value)> {
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

#[test]
fn a_run_deletes_what_the_model_says() {
    let mut installation = new();
    let mut gone = BTreeMap::new();
    for seed in 0..40 {
        let mut random = SmallRng::seed_from_u64(seed);
        let world = World::random(&mut random);
        world.load(&mut installation);
        for rule in RULES {
            let days = ["task_state", "asset_state", "attempts"]
                .contains(&rule)
                .then(|| *[None, Some(8), Some(20)].choose(&mut random).expect("days"))
                .flatten();
            let batch = random.random_range(1..9);
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
    // Worlds in which nothing happens prove nothing.
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
        let count = gone.get(what).copied().unwrap_or_default();
        assert!(count >= least, "{what}: only {count} in {gone:?}");
    }
    let verify = installation.call("verify", json!({})).expect("a report");
    let wrong: Vec<&Value> = verify["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter(|check| check["severity"] == "violation" && check["check"] != "orphans")
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A small world in which every rule has rows to take.
fn ample() -> World {
    World {
        states: (0..30)
            .map(|id| match id % 3 {
                0 => (id, Some(-DAY - i64::from(id)), Some(0)),
                1 => (id, None, Some(-60 * DAY - i64::from(id))),
                _ => (id, Some(DAY), Some(-60 * DAY)),
            })
            .collect(),
        leases: (0..10).map(|id| (id, Some(-DAY), 1)).collect(),
        assets: vec![(1, "a", "a"), (2, "B", "B")],
        active: BTreeSet::from([("a", "a")]),
        asset_states: NAMES
            .iter()
            .flat_map(|name| (1..4).map(move |asset| (asset, *name, Some(-30 * DAY))))
            .collect(),
        lines: (0..10)
            .map(|id| (format!("line {id}"), Some(id % 3), None, None))
            .collect(),
        orders: BTreeSet::from([1]),
        tries: (0..20)
            .map(|number| {
                let id = format!("{number:08x}-0000-4000-8000-000000000000");
                (
                    id,
                    ["a", "b", if number % 2 == 0 { "c" } else { "d" }],
                    -1,
                    number,
                )
            })
            .collect(),
        attempts: (0..12)
            .map(|id| Attempt {
                id,
                job: Some("x"),
                part: Some(1),
                began: Some(-100 * DAY + i64::from(id)),
                ended: Some(-99 * DAY),
                kind: "auto",
            })
            .collect(),
        fallback: 30 * DAY / SECOND,
        ..World::default()
    }
}

fn loaded(world: &World) -> Installation {
    let mut installation = new();
    world.load(&mut installation);
    installation
}

fn run(installation: &mut Installation, rule: &str) -> Value {
    let options = json!({"rule": rule, "as_of": AS_OF});
    installation.run(options).expect("a run")
}

fn set(installation: &mut Installation, rule: &str, name: &str, value: i64) {
    installation
        .call(
            "set_setting",
            json!({"rule": rule, "name": name, "value": value}),
        )
        .expect("a setting");
}

/// The keys that a run of a rule takes by the model.
fn due(world: &World, rule: &'static str) -> BTreeSet<String> {
    model(world, rule, None)
        .gone
        .into_values()
        .flatten()
        .collect()
}

#[test]
fn a_key_of_several_columns_is_held_and_purged_as_a_json_array() {
    let world = ample();
    let mut installation = loaded(&world);
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
        assert!(
            refused.contains("not a key of asset_state_store"),
            "{wrong}: {refused}"
        );
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

#[test]
fn purge_takes_a_row_before_its_time_and_none_that_is_not_of_the_rule() {
    let world = ample();
    let mut installation = loaded(&world);
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

#[test]
fn the_fallback_is_off_at_a_retention_of_nothing_and_bound_by_the_minimum() {
    let world = ample();
    let mut installation = loaded(&world);
    let set = |installation: &mut Installation, value: i64| {
        let options = json!({"rule": "task_state", "name": "fallback_retention", "value": value});
        installation.call("set_setting", options)
    };
    let refused = set(&mut installation, 6 * DAY / SECOND).expect_err("refused");
    assert!(
        format!("{refused:#}").contains("under the minimum of rule task_state"),
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

#[test]
fn a_batch_looks_again_at_what_it_was_told_to_delete() {
    let world = ample();
    let mut installation = loaded(&world);
    let mut told = |rule: &str, change: &str| -> i64 {
        let next = format!("W.{rule}_next(1, NULL, 100, '{AS_OF}', NULL)");
        let columns = if rule == "asset_state" {
            "n.o_k1, n.o_k2"
        } else {
            "n.o_k1"
        };
        // Between the search and the batch, what made the rows go is no more.
        installation.execute(&format!(
            "CREATE TEMPORARY TABLE told AS SELECT * FROM {next} AS n; {change}"
        ));
        let gone = installation.number(&format!(
            "SELECT b.o_families FROM told AS n CROSS JOIN LATERAL W.{rule}_batch(1, {columns}, '{AS_OF}', NULL) AS b"
        ));
        installation.execute("DROP TABLE told");
        gone
    };
    assert_eq!(
        told(
            "asset_state",
            "INSERT INTO asset_active VALUES ('B', 'B'); INSERT INTO asset VALUES (3, 'c', 'c'); INSERT INTO asset_active VALUES ('c', 'c')"
        ),
        0
    );
    assert_eq!(told("line", "INSERT INTO orders (id) VALUES (2)"), 0);
    assert_eq!(
        told(
            "task_state",
            "UPDATE task_state_store SET expires_at = 'infinity' WHERE expires_at IS NOT NULL"
        ),
        0
    );
    assert_eq!(
        told(
            "tries",
            "UPDATE task_instance_history SET map_index = try_number"
        ),
        0
    );
    assert_eq!(
        told(
            "lease",
            "INSERT INTO W.hold (rule, key, reason) SELECT 'lease', id::text, 'audit' FROM lease"
        ),
        0
    );
    for rule in ["asset_state", "line", "tries", "lease"] {
        assert_eq!(left(&mut installation, rule), world.keys(rule));
    }
}

#[test]
fn a_poisoned_row_is_found_recorded_and_passed_over() {
    let world = ample();
    let mut installation = loaded(&world);
    installation.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF OLD.id = 12 THEN RAISE EXCEPTION 'not this one'; END IF;
             RETURN OLD;
         END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON task_state_store FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let stays = |taken: &BTreeSet<String>| -> BTreeSet<String> {
        world
            .keys("task_state")
            .difference(taken)
            .cloned()
            .collect()
    };
    let mut taken = due(&world, "task_state");
    assert!(taken.remove("12"));
    let first = run(&mut installation, "task_state");
    assert_eq!(first["status"], "failed", "{first}");
    assert_eq!(only(&first)["skipped_samples"], json!({"FAILED": ["12"]}));
    assert_eq!(only(&first)["failures"][0]["message"], "not this one");
    assert_eq!(left(&mut installation, "task_state"), stays(&taken));

    // A trigger that keeps a row without a word is found out, too.
    installation.execute(
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             RETURN CASE WHEN OLD.id = 12 THEN NULL ELSE OLD END;
         END $$",
    );
    let second = run(&mut installation, "task_state");
    let message = &only(&second)["failures"][0]["message"];
    assert_eq!(
        message, "rows of task_state_store could not be deleted",
        "{second}"
    );
    let purge = installation
        .purge(json!({"rule": "task_state", "key": ["12"]}))
        .expect("a purge");
    assert_eq!(purge["refused"], json!({"12": "FAILED"}));
    installation.execute("DROP FUNCTION refuse() CASCADE");
    let third = run(&mut installation, "task_state");
    assert_eq!(
        (&third["status"], &only(&third)["rows"]),
        (&json!("done"), &json!(1))
    );
    assert_eq!(
        left(&mut installation, "task_state"),
        stays(&due(&world, "task_state"))
    );
}

#[test]
fn what_another_session_holds_is_left_to_it() {
    let world = ample();
    let mut installation = loaded(&world);
    let mut rival = installation.connect();
    for (rule, lock, key) in [
        (
            "task_state",
            "SELECT 1 FROM task_state_store WHERE id = 3 FOR UPDATE",
            "3",
        ),
        (
            "asset_state",
            "SELECT 1 FROM asset_state_store WHERE asset_id = 3 AND name = 'a' FOR UPDATE",
            "[3, \"a\"]",
        ),
        (
            "line",
            "SELECT 1 FROM line WHERE id = 'line 2' FOR UPDATE",
            "line 2",
        ),
        (
            "attempts",
            "SELECT 1 FROM attempt WHERE id = 5 FOR UPDATE",
            "5",
        ),
    ] {
        rival.execute("BEGIN").expect("a transaction");
        rival.query(lock, &[]).expect("a lock");
        let answer = run(&mut installation, rule);
        assert_eq!(answer["status"], "done", "{answer}");
        assert_eq!(
            only(&answer)["skipped_samples"],
            json!({"LOCKED": [key]}),
            "{answer}"
        );
        let expected = due(&world, rule);
        assert!(expected.contains(key));
        assert_eq!(only(&answer)["rows"], expected.len() - 1, "{answer}");
        rival.execute("COMMIT").expect("a commit");
        assert_eq!(only(&run(&mut installation, rule))["rows"], 1);
    }
}

#[test]
fn a_run_takes_no_more_rows_than_it_may_and_the_next_goes_on() {
    let world = ample();
    let mut installation = loaded(&world);
    set(&mut installation, "task_state", "batch_rows", 4);
    let options = json!({"rule": "task_state", "as_of": AS_OF, "run_families": 7});
    let preview = installation.preview(options.clone()).expect("a preview");
    assert_eq!(only(&preview)["limited"], true);
    let mut rows = Vec::new();
    for _ in 0..4 {
        let answer = installation.run(options.clone()).expect("a run");
        rows.push(only(&answer)["rows"].as_i64().expect("a number"));
    }
    assert_eq!(rows, [7, 7, 6, 0]);
    assert_eq!(only(&preview)["rows"], 7);
}

#[test]
fn what_a_lost_session_leaves_is_finished_by_the_next_run() {
    let world = ample();
    let mut installation = loaded(&world);
    set(&mut installation, "task_state", "batch_rows", 1);
    installation.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.05); RETURN NULL; END $$;
         CREATE TRIGGER slow AFTER DELETE ON task_state_store FOR EACH STATEMENT EXECUTE FUNCTION slow()",
    );
    let mut session = installation.connect();
    let pid = session
        .query("SELECT pg_backend_pid()::text", &[])
        .expect("a pid")[0][0]
        .clone()
        .expect("a pid");
    let sql = format!(
        "CALL {}.run('{{\"rule\": \"task_state\", \"as_of\": \"{AS_OF}\"}}')",
        installation.control
    );
    let runner = std::thread::spawn(move || session.query(&sql, &[]).is_err());
    let began = Instant::now();
    while installation.number("SELECT coalesce(sum(batches), 0) FROM W.run_rule") < 3 {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "the run does not begin"
        );
        sleep(Duration::from_millis(2));
    }
    installation.execute(&format!("SELECT pg_terminate_backend({pid}, 60000)"));
    assert!(runner.join().expect("no panic"), "the run survived");
    let committed = installation.number("SELECT sum(deleted_rows) FROM W.run_rule");
    let gone = world.states.len() - left(&mut installation, "task_state").len();
    assert_eq!(i64::try_from(gone).expect("a small number"), committed);
    assert_eq!(
        installation.number("SELECT sum(deleted_rows) FROM W.run_pass"),
        committed
    );
    let answer = run(&mut installation, "task_state");
    assert_eq!(answer["status"], "done", "{answer}");
    let expected: BTreeSet<String> = world
        .keys("task_state")
        .difference(&due(&world, "task_state"))
        .cloned()
        .collect();
    assert_eq!(left(&mut installation, "task_state"), expected);
}

#[test]
fn metrics_and_verify_know_rows_that_are_due() {
    let world = ample();
    let mut installation = loaded(&world);
    // The metrics count from the present instant: long after the one of this world, so that all is old.
    let backlog = |installation: &mut Installation| -> BTreeMap<String, i64> {
        installation
            .rows("SELECT labels ->> 'rule', value::bigint::text FROM W.metrics WHERE name = 'windrow_backlog_families'")
            .into_iter()
            .map(|row| (row[0].clone().expect("a rule"), row[1].as_deref().expect("a value").parse().expect("a number")))
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
    assert!(
        checks.iter().all(|check| check["severity"] != "violation"),
        "{verify:#}"
    );
}

#[test]
fn every_statement_goes_along_an_index_and_sorts_no_table() {
    let mut installation = new();
    installation.execute(
        "INSERT INTO task_state_store (id, dag_run_id, task_id, name, value, updated_at, expires_at)
         SELECT i, i, 't', 'n', 'v', '2026-01-01', CASE WHEN i % 2 = 0 THEN timestamptz '2026-01-01' + i * interval '1 second' END FROM generate_series(1, 20000) AS i;
         INSERT INTO lease SELECT i, timestamp '2026-01-01' + i * interval '1 second', 1 + i % 3 FROM generate_series(1, 20000) AS i;
         INSERT INTO asset SELECT i, 'n' || i, 'u' || i FROM generate_series(1, 5000) AS i;
         INSERT INTO asset_active SELECT 'n' || i, 'u' || i FROM generate_series(1, 5000, 2) AS i;
         INSERT INTO asset_state_store SELECT i % 5000, 'k' || i, 'v', '2026-01-01' FROM generate_series(1, 20000) AS i;
         INSERT INTO orders SELECT i FROM generate_series(1, 5000) AS i;
         INSERT INTO stock SELECT i, 's' || i % 10, i FROM generate_series(1, 5000) AS i;
         INSERT INTO line SELECT 'l' || i, i % 6000, 's' || i % 10, i FROM generate_series(1, 20000) AS i;
         INSERT INTO task_instance_history SELECT gen_random_uuid(), 't' || i % 7, 'd' || i % 50, 'r' || i / 50, -1, i FROM generate_series(1, 20000) AS i;
         INSERT INTO attempt SELECT i, 'j' || i % 10, i % 10, timestamp '2026-01-01' + i * interval '1 second', '2026-01-01', 'auto' FROM generate_series(1, 20000) AS i;
         ANALYZE",
    );
    let probes = render::probes(&graph(), Dialect::Postgres);
    let of_rows: Vec<_> = probes
        .iter()
        .filter(|probe| {
            RULES
                .iter()
                .any(|rule| probe.what.contains(&format!("rule {rule}:")))
        })
        .collect();
    assert_eq!(of_rows.len(), 13);
    // As the routines do: what is still read or sorted whole then has no index.
    installation
        .execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off");
    for probe in of_rows {
        let plan = installation
            .texts(&format!("EXPLAIN {}", probe.sql))
            .join("\n");
        assert!(!plan.contains("Seq Scan on"), "{}\n{plan}", probe.what);
        let nodes = plan
            .lines()
            .map(|line| line.trim_start().trim_start_matches("->").trim_start());
        assert!(
            nodes.clone().all(|node| !node.starts_with("Sort  (")),
            "{}\n{plan}",
            probe.what
        );
        // Where the application's own index stops before the key, equals are put in order among themselves.
        let own = probe.what.contains("pass expired") || probe.what.contains("rule tries:");
        assert!(
            own || !plan.contains("Incremental Sort"),
            "{}\n{plan}",
            probe.what
        );
    }
}

/// What `check --database` finds, beside triggers and the like: code and object.
fn findings(installation: &mut Installation) -> BTreeSet<(String, String)> {
    let mut catalog = installation
        .session
        .catalog("public")
        .expect("a readable catalog");
    catalog.spell_like(&graph().names());
    fit::compare(&graph(), &catalog)
        .into_iter()
        .map(|finding| (finding.code.to_owned(), finding.object))
        .collect()
}

#[test]
fn the_check_knows_what_a_rule_looks_into_and_goes_along() {
    let mut installation = new();
    let clean = findings(&mut installation);
    let expected: BTreeSet<(String, String)> = ["job", "part", "began"]
        .map(|column| ("nullable-rank".to_owned(), format!("attempt.{column}")))
        .into();
    assert_eq!(clean, expected);
    // The order of the columns matters, where a run goes along them.
    installation.execute(
        "ALTER TABLE task_instance_history DROP CONSTRAINT task_instance_history_dtrt_uq;
         ALTER TABLE task_instance_history ADD UNIQUE (try_number, dag_id, task_id, run_id, map_index);
         ALTER TABLE asset_active DROP CONSTRAINT asset_active_pkey;
         ALTER TABLE asset DROP COLUMN uri;
         ALTER TABLE attempt DROP COLUMN ended",
    );
    let found = findings(&mut installation);
    let more: BTreeSet<(&str, &str)> = found
        .difference(&clean)
        .map(|(code, object)| (code.as_str(), object.as_str()))
        .collect();
    assert_eq!(
        more,
        BTreeSet::from([
            ("missing-column", "asset.uri"),
            ("missing-column", "attempt.ended"),
            ("missing-index", "asset_active.name_uri"),
            (
                "missing-index",
                "task_instance_history.dag_id, task_id, run_id, map_index, try_number"
            ),
        ])
    );
    installation.execute("DROP TABLE asset_active");
    let missing = ("missing-table".to_owned(), "asset_active".to_owned());
    assert!(findings(&mut installation).contains(&missing));
}

#[test]
fn installing_twice_changes_nothing_and_uninstalling_leaves_nothing() {
    let mut installation = new();
    let _only = exclusive();
    let objects = "SELECT p.proname::text || md5(p.prosrc) FROM pg_proc AS p WHERE p.pronamespace = 'windrow_stores'::regnamespace
         UNION ALL SELECT c.relname::text || c.relkind::text FROM pg_class AS c WHERE c.relnamespace IN ('windrow_stores'::regnamespace, 'public'::regnamespace) ORDER BY 1";
    let before = installation.texts(objects);
    let bundle = bundle(Dialect::Postgres, &graph());
    apply(&mut installation.session, &bundle);
    assert_eq!(installation.texts(objects), before);
    let undo = bundle.files.iter().find(|file| file.path.contains("/90_"));
    for statement in &undo.expect("the uninstallation").statements {
        installation.execute(&statement.sql);
    }
    let left = "SELECT nspname FROM pg_namespace WHERE nspname = 'windrow_stores' UNION ALL SELECT relname FROM pg_class WHERE relname LIKE 'windrow\\_%'";
    assert!(installation.texts(left).is_empty());
}
