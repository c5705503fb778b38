//! The rows of all tables of these rules, drawn at random or ample, and what the model says of them.

use std::collections::{BTreeMap, BTreeSet};

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::{DAY, RULES, SECOND};
use crate::support::installation::Installation;

/// Microseconds after the instant of the run; before it, mostly.
pub(super) type Time = Option<i64>;

/// Rows of all tables, as the model sees them.
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub(super) states: Vec<(i32, Time, Time)>,
    pub(super) leases: Vec<(i64, Time, i32)>,
    pub(super) assets: Vec<(i32, &'static str, &'static str)>,
    pub(super) active: BTreeSet<(&'static str, &'static str)>,
    pub(super) asset_states: Vec<(i32, &'static str, Time)>,
    pub(super) orders: BTreeSet<i64>,
    pub(super) stock: BTreeSet<(&'static str, i32)>,
    pub(super) lines: Vec<Line>,
    pub(super) tries: Vec<(String, [&'static str; 3], i32, i32)>,
    pub(super) attempts: Vec<Attempt>,
    /// By rule and key, as the documents write it.
    pub(super) holds: BTreeSet<(&'static str, String)>,
    /// Seconds; 0: off.
    pub(super) fallback: i64,
}

/// Its key, its order, and the shop and number of what it has from stock.
pub(super) type Line = (String, Option<i64>, Option<&'static str>, Option<i32>);

#[derive(Clone, Debug)]
pub(super) struct Attempt {
    id: i32,
    job: Option<&'static str>,
    part: Option<i32>,
    began: Time,
    step: Option<i32>,
    ended: Time,
    kind: &'static str,
}

/// What a run of one rule should do: keys in no order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Verdict {
    /// By pass.
    pub(super) gone: BTreeMap<&'static str, BTreeSet<String>>,
    /// By reason.
    pub(super) skipped: BTreeMap<&'static str, BTreeSet<String>>,
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
pub(super) fn model(world: &World, rule: &'static str, days: Option<i64>) -> Verdict {
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
                let place = (row.began, row.step);
                if let (Some(job), Some(part), (Some(began), Some(step))) =
                    (row.job, row.part, place)
                {
                    groups
                        .entry((job, part))
                        .or_default()
                        .push(((began, step), row.id, row.ended));
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
pub(super) fn json_text(value: &Value) -> String {
    let parts: Vec<String> = value
        .as_array()
        .expect("a list")
        .iter()
        .map(Value::to_string)
        .collect();
    format!("[{}]", parts.join(", "))
}

const NAMES: [&str; 6] = ["a", "B", "a b", "it's", "q\"uote", "käse"];

fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn or_null(value: Option<String>) -> String {
    value.unwrap_or_else(|| "NULL".to_owned())
}

/// An instant.
fn zoned(postgres: bool, time: Time) -> String {
    or_null(time.map(|it| match postgres {
        true => {
            format!("timestamptz '2026-06-01 12:00:00+00' + {it} * interval '1 microsecond'")
        }
        false => format!("timestamp '2026-06-01 12:00:00' + interval {it} microsecond"),
    }))
}

/// What the application's clock in Shanghai shows at that instant.
fn plain(postgres: bool, time: Time) -> String {
    or_null(time.map(|it| match postgres {
        true => {
            format!("timestamp '2026-06-01 20:00:00' + {it} * interval '1 microsecond'")
        }
        false => format!("timestamp '2026-06-01 20:00:00' + interval {it} microsecond"),
    }))
}

fn insert(script: &mut String, table: &str, columns: &str, rows: Vec<String>) {
    *script += &format!("DELETE FROM {table};\n");
    if !rows.is_empty() {
        let rows = rows.join("), (");
        *script += &format!("INSERT INTO {table} ({columns}) VALUES ({rows});\n");
    }
}

/// Around every limit, to the microsecond.
fn time(random: &mut SmallRng) -> Time {
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
}

impl World {
    pub(super) fn random(random: &mut SmallRng) -> Self {
        let mut world = Self {
            fallback: *[0, 8, 30, 40].choose(random).expect("a number") * DAY / SECOND,
            ..Self::default()
        };
        let size = random.random_range(0..40);
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
                began: maybe(random).then(|| -DAY * random.random_range(0..3)),
                step: random.random_bool(0.95).then(|| random.random_range(0..3)),
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
    pub(super) fn keys(&self, rule: &str) -> BTreeSet<String> {
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

    pub(super) fn load(&self, installation: &mut Installation) {
        let postgres = installation.dialect == Dialect::Postgres;
        let mut script = String::new();
        self.load_times(&mut script, postgres);
        self.load_orders(&mut script);
        self.load_tries(&mut script, postgres);
        script += "DELETE FROM W.hold;\nDELETE FROM W.setting;\nDELETE FROM W.run_failure;\n";
        for (rule, key) in &self.holds {
            script += &format!(
                "INSERT INTO W.hold (rule, \"key\", reason) VALUES ('{rule}', {}, 'audit');\n",
                text(key)
            );
        }
        script += &format!(
            "INSERT INTO W.setting (rule, name, value) VALUES ('task_state', 'fallback_retention', {});\n",
            self.fallback
        );
        installation.execute(&script);
    }

    /// Rows that go by a time of their own.
    fn load_times(&self, script: &mut String, postgres: bool) {
        let (zoned, plain) = (|it| zoned(postgres, it), |it| plain(postgres, it));
        insert(
            script,
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
            script,
            "lease",
            "id, until_at, kind",
            self.leases
                .iter()
                .map(|(id, until, kind)| format!("{id}, {}, {kind}", plain(*until)))
                .collect(),
        );
        insert(
            script,
            "asset",
            "id, name, uri",
            self.assets
                .iter()
                .map(|(id, name, uri)| format!("{id}, {}, {}", text(name), text(uri)))
                .collect(),
        );
        insert(
            script,
            "asset_active",
            "name, uri",
            self.active
                .iter()
                .map(|(name, uri)| format!("{}, {}", text(name), text(uri)))
                .collect(),
        );
        insert(
            script,
            "asset_state_store",
            "asset_id, name, value, updated_at",
            self.asset_states
                .iter()
                .map(|(asset, name, updated)| {
                    format!("{asset}, {}, 'v', {}", text(name), zoned(*updated))
                })
                .collect(),
        );
    }

    /// Rows that name others.
    fn load_orders(&self, script: &mut String) {
        insert(
            script,
            "orders",
            "id",
            self.orders.iter().map(ToString::to_string).collect(),
        );
        insert(
            script,
            "stock",
            "id, shop, number",
            self.stock
                .iter()
                .enumerate()
                .map(|(id, (shop, number))| format!("{id}, {}, {number}", text(shop)))
                .collect(),
        );
        insert(
            script,
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
    }

    /// Rows of which the newest stay.
    fn load_tries(&self, script: &mut String, postgres: bool) {
        let plain = |it| plain(postgres, it);
        insert(
            script,
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
            script,
            "attempt",
            "id, job, part, began, step, ended, kind",
            self.attempts
                .iter()
                .map(|row| {
                    format!(
                        "{}, {}, {}, {}, {}, {}, '{}'",
                        row.id,
                        or_null(row.job.map(text)),
                        or_null(row.part.map(|it| it.to_string())),
                        plain(row.began),
                        or_null(row.step.map(|it| it.to_string())),
                        plain(row.ended),
                        row.kind
                    )
                })
                .collect(),
        );
    }
}

/// A small world in which every rule has rows to take.
pub(super) fn ample() -> World {
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
                step: Some(0),
                ended: Some(-99 * DAY),
                kind: "auto",
            })
            .collect(),
        fallback: 30 * DAY / SECOND,
        ..World::default()
    }
}

/// The keys that a run of a rule takes by the model.
pub(super) fn due(world: &World, rule: &'static str) -> BTreeSet<String> {
    model(world, rule, None)
        .gone
        .into_values()
        .flatten()
        .collect()
}
