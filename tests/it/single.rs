//! Rules whose rows go one by one: expired, orphaned, or outnumbered by newer ones. What goes is what a model says.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::{DIALECTS, Dialect};
use windrow::graph::Graph;
use windrow::{fit, render};

use crate::agree::anonymous;
use crate::harness::tests;
use crate::support::database::exclusive;
use crate::support::effort::seeds;
use crate::support::graphs::graph_of;
use crate::support::installation::{Aside, Installation, apply, bundle, numbers, violations};
use crate::support::patience::until;

tests! {
    on_several: [
        all_servers_answer_alike,
    ],
    each_server: [
        a_poisoned_row_is_found_recorded_and_passed_over,
        a_row_that_is_not_deleted_is_no_success,
        every_statement_goes_along_an_index_and_sorts_no_table,
        installing_twice_changes_nothing_and_uninstalling_leaves_nothing,
    ],
    every_server: [
        a_run_deletes_what_the_model_says,
        a_key_of_several_columns_is_held_and_purged_as_a_json_array,
        purge_takes_a_row_before_its_time_and_none_that_is_not_of_the_rule,
        the_fallback_is_off_at_a_retention_of_nothing_and_bound_by_the_minimum,
        a_batch_looks_again_at_what_it_was_told_to_delete,
        what_another_session_holds_is_left_to_it,
        a_run_takes_no_more_rows_than_it_may_and_the_next_goes_on,
        what_a_lost_session_leaves_is_finished_by_the_next_run,
        what_the_session_of_a_killed_run_commits_is_told_and_finished,
        a_pause_ends_a_run_before_its_next_batch,
        metrics_and_verify_know_rows_that_are_due,
        the_check_knows_what_a_rule_looks_into_and_goes_along,
    ],
}

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
CREATE TABLE attempt (id integer PRIMARY KEY, job varchar(50), part integer, began timestamp, step integer, ended timestamp, kind varchar(10) NOT NULL);
";

/// The same on MySQL and MariaDB: texts that compare by bytes, by letters, and of another character set. `UUID` is what a
/// server has for it.
const SCHEMA_MYSQL: &str = "
CREATE TABLE task_state_store (
    id integer PRIMARY KEY, dag_run_id integer NOT NULL, task_id varchar(250) NOT NULL, map_index integer NOT NULL DEFAULT -1,
    name varchar(250) NOT NULL, value text NOT NULL, updated_at timestamp(6) NULL, expires_at timestamp(6) NULL,
    UNIQUE (dag_run_id, task_id, map_index, name)
) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX idx_task_state_store_expires_at ON task_state_store (expires_at);
CREATE TABLE lease (id bigint PRIMARY KEY, until_at datetime(6), kind integer NOT NULL);
CREATE TABLE asset (id integer PRIMARY KEY, name varchar(150) NOT NULL, uri varchar(150) NOT NULL, UNIQUE (name, uri)) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE asset_active (name varchar(150), uri varchar(150), PRIMARY KEY (name, uri)) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci;
CREATE TABLE asset_state_store (
    asset_id integer NOT NULL, name varchar(512) NOT NULL, value text NOT NULL, updated_at timestamp(6) NULL,
    PRIMARY KEY (asset_id, name)
) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE TABLE orders (id bigint PRIMARY KEY, state varchar(9), ended datetime(6));
CREATE TABLE stock (id integer PRIMARY KEY, shop varchar(50) NOT NULL, number integer NOT NULL, state varchar(9), ended datetime(6), UNIQUE (shop, number)) DEFAULT CHARSET latin1;
CREATE TABLE line (id varchar(36) PRIMARY KEY, order_id bigint, shop varchar(50), number integer) DEFAULT CHARSET latin1;
CREATE TABLE task_instance_history (
    task_instance_id UUID PRIMARY KEY, task_id varchar(250) NOT NULL, dag_id varchar(250) NOT NULL, run_id varchar(250) NOT NULL,
    map_index integer NOT NULL DEFAULT -1, try_number integer NOT NULL, end_date timestamp(6) NULL,
    CONSTRAINT task_instance_history_dtrt_uq UNIQUE (dag_id, task_id, run_id, map_index, try_number)
) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE attempt (id integer PRIMARY KEY, job varchar(50), part integer, began datetime(6), step integer, ended datetime(6), kind varchar(10) NOT NULL) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci;
";

const SPEC: &str = r#"
name      = "stores"
dialects  = ["postgres", "mysql", "mariadb"]
time_zone = "Asia/Shanghai"

[tables]
task_state_store      = { key = "id integer", indexed = ["expires_at"] }
lease                 = { key = "id bigint" }
asset_state_store     = { key = "asset_id integer, name varchar" }
line                  = { key = "id varchar", parents = ["order_id bigint -> orders.id unless 0", "shop, number -> stock(shop, number)"], with = "any" }
orders                = { key = "id bigint" }
stock                 = { key = "id integer", unique = ["shop varchar, number integer"] }
task_instance_history = { key = "task_instance_id uuid", unique = ["dag_id varchar, task_id varchar, run_id varchar, map_index integer, try_number integer"], indexed = ["dag_id, task_id, run_id, map_index, try_number"] }
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
keep       = { newest = 2, per = ["job varchar", "part integer"], by = ["began", "step integer"] }
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

pub(crate) fn graph() -> Graph {
    graph_of(SPEC)
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
    step: Option<i32>,
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
        let postgres = installation.dialect == Dialect::Postgres;
        let zoned = |time: Time| {
            or_null(time.map(|it| match postgres {
                true => {
                    format!("timestamptz '2026-06-01 12:00:00+00' + interval '{it} microseconds'")
                }
                false => format!("timestamp '2026-06-01 12:00:00' + interval {it} microsecond"),
            }))
        };
        let plain = |time: Time| {
            or_null(time.map(|it| match postgres {
                true => format!("timestamp '2026-06-01 20:00:00' + interval '{it} microseconds'"),
                false => format!("timestamp '2026-06-01 20:00:00' + interval {it} microsecond"),
            }))
        };
        let mut script = String::new();
        let mut insert = |table: &str, columns: &str, rows: Vec<String>| {
            script += &format!("DELETE FROM {table};\n");
            if !rows.is_empty() {
                let rows = rows.join("), (");
                script += &format!("INSERT INTO {table} ({columns}) VALUES ({rows});\n");
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
}

/// The keys that are left in the table of a rule.
fn left(installation: &mut Installation, rule: &str) -> BTreeSet<String> {
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

fn new(dialect: Dialect) -> Installation {
    let schema = match dialect {
        Dialect::Postgres => SCHEMA.to_owned(),
        Dialect::Mysql => SCHEMA_MYSQL.replace("UUID", "char(36)"),
        Dialect::Mariadb => SCHEMA_MYSQL.replace("UUID", "uuid"),
    };
    let mut installation = Installation::of(dialect, &schema, &graph());
    installation.arm();
    if dialect != Dialect::Postgres {
        // Instants are written in UTC.
        installation.execute("SET time_zone = '+00:00'");
    }
    installation
}

/// What is written in one way for PostgreSQL and in another for MySQL and MariaDB.
fn either<T>(dialect: Dialect, postgres: T, mysql: T) -> T {
    match dialect {
        Dialect::Postgres => postgres,
        Dialect::Mysql | Dialect::Mariadb => mysql,
    }
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

fn a_run_deletes_what_the_model_says(dialect: Dialect) {
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
        let least = either(dialect, least / 2, (least / 5).max(1));
        assert!(count >= least, "{what}: only {count} in {gone:?}");
    }
    let verify = installation.call("verify", json!({})).expect("a report");
    let mut wrong = violations(&verify);
    wrong.retain(|check| check["check"] != "orphans");
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
                step: Some(0),
                ended: Some(-99 * DAY),
                kind: "auto",
            })
            .collect(),
        fallback: 30 * DAY / SECOND,
        ..World::default()
    }
}

fn loaded(dialect: Dialect, world: &World) -> Installation {
    let mut installation = new(dialect);
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

fn all_servers_answer_alike() {
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

/// The keys that a run of a rule takes by the model.
fn due(world: &World, rule: &'static str) -> BTreeSet<String> {
    model(world, rule, None)
        .gone
        .into_values()
        .flatten()
        .collect()
}

fn a_key_of_several_columns_is_held_and_purged_as_a_json_array(dialect: Dialect) {
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

fn purge_takes_a_row_before_its_time_and_none_that_is_not_of_the_rule(dialect: Dialect) {
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

fn the_fallback_is_off_at_a_retention_of_nothing_and_bound_by_the_minimum(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
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

fn a_batch_looks_again_at_what_it_was_told_to_delete(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    let mut told = |rule: &str, change: &str| -> i64 {
        // Between the search and the batch, what made the rows go is no more.
        if dialect == Dialect::Postgres {
            let cutoff = format!("W.cutoff_of('{rule}', '{AS_OF}', NULL)");
            let search = format!("W.{rule}_search(1, NULL, 100, '{AS_OF}', {cutoff})");
            installation.execute(&format!(
                "CREATE TEMPORARY TABLE told AS SELECT * FROM {search} AS n; {change}"
            ));
            assert!(installation.number("SELECT sum(cardinality(o_keys)) FROM told") > 0);
            let gone = installation.number(&format!(
                "SELECT b.o_families FROM told AS n CROSS JOIN LATERAL W.batch_single(1, '{rule}', 1, n.o_keys, '{AS_OF}', {cutoff}) AS b"
            ));
            installation.execute("DROP TABLE told");
            return gone;
        }
        let as_of = "'2026-06-01 12:00:00'";
        installation.execute(&format!(
            "CALL W.single_open('{rule}'); CALL W.work_single('{rule}'); CALL W.cutoff_of('{rule}', {as_of}, NULL, @cutoff);
             CALL W.search_single('{rule}', 1, 100, {as_of}, @cutoff, @found); {change};"
        ));
        assert!(installation.number("SELECT COUNT(*) FROM W.work_row") > 0);
        installation.execute(&format!(
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION;
             CALL W.single_lock('{rule}', 1, {as_of}, @cutoff); CALL W.batch_single(1, '{rule}', @gone, @rows); COMMIT;
             CALL W.single_close('{rule}');"
        ));
        installation.number("SELECT @gone")
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
            "UPDATE task_state_store SET expires_at = '2037-01-01 00:00:00' WHERE expires_at IS NOT NULL"
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
            "INSERT INTO W.hold (rule, \"key\", reason) SELECT 'lease', CAST(id AS char(20)), 'audit' FROM lease"
        ),
        0
    );
    for rule in ["asset_state", "line", "tries", "lease"] {
        assert_eq!(left(&mut installation, rule), world.keys(rule));
    }
}

/// A trigger that refuses to let a row go, with this message, or without a word where the server knows such triggers.
fn refuse(installation: &mut Installation, row: i32) {
    let sql = either(
        installation.dialect,
        format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF OLD.id = {row} THEN RAISE EXCEPTION 'not this one'; END IF;
                 RETURN OLD;
             END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON task_state_store FOR EACH ROW EXECUTE FUNCTION refuse()"
        ),
        format!(
            "CREATE TRIGGER refuse BEFORE DELETE ON task_state_store FOR EACH ROW
             BEGIN
                 IF OLD.id = {row} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF;
             END"
        ),
    );
    installation.execute(&sql);
}

fn relent(installation: &mut Installation) {
    let sql = either(
        installation.dialect,
        "DROP FUNCTION refuse() CASCADE",
        "DROP TRIGGER refuse",
    );
    installation.execute(sql);
}

fn a_poisoned_row_is_found_recorded_and_passed_over(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    let stays = |taken: &BTreeSet<String>| -> BTreeSet<String> {
        world
            .keys("task_state")
            .difference(taken)
            .cloned()
            .collect()
    };
    // One of the first pass, and one of the second: the cursor is led past either.
    for row in [12, 13] {
        refuse(&mut installation, row);
        let key = row.to_string();
        let answer = run(&mut installation, "task_state");
        assert_eq!(answer["status"], "failed", "{answer}");
        assert_eq!(only(&answer)["skipped_samples"], json!({"FAILED": [key]}));
        assert_eq!(only(&answer)["failures"][0]["message"], "not this one");
        assert_eq!(only(&answer)["failures"][0]["key"], key);
        let mut taken = due(&world, "task_state");
        assert!(taken.remove(&key));
        assert_eq!(left(&mut installation, "task_state"), stays(&taken));
        let purge = installation
            .purge(json!({"rule": "task_state", "key": [key]}))
            .expect("a purge");
        assert_eq!(purge["refused"], json!({key: "FAILED"}));
        relent(&mut installation);
        if row == 12 {
            world.load(&mut installation);
        }
    }
    let last = run(&mut installation, "task_state");
    assert_eq!(
        (&last["status"], &only(&last)["rows"]),
        (&json!("done"), &json!(1))
    );
    assert_eq!(
        left(&mut installation, "task_state"),
        stays(&due(&world, "task_state"))
    );
}

fn a_row_that_is_not_deleted_is_no_success(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    if dialect == Dialect::Postgres {
        // A trigger that keeps a row without a word.
        installation.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 RETURN CASE WHEN OLD.id = 12 THEN NULL ELSE OLD END;
             END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON task_state_store FOR EACH ROW EXECUTE FUNCTION refuse()",
        );
        let answer = run(&mut installation, "task_state");
        let message = &only(&answer)["failures"][0]["message"];
        assert_eq!(
            message, "rows of task_state_store could not be deleted",
            "{answer}"
        );
        let purge = installation
            .purge(json!({"rule": "task_state", "key": ["12"]}))
            .expect("a purge");
        assert_eq!(purge["refused"], json!({"12": "FAILED"}));
        return;
    }
    // A foreign key that would take a row before its turn comes, uncounted, refuses the run.
    installation.execute(
        "ALTER TABLE lease ADD COLUMN above bigint; UPDATE lease SET above = 3 WHERE id = 4;
         ALTER TABLE lease ADD FOREIGN KEY (above) REFERENCES lease (id) ON DELETE CASCADE",
    );
    let error = installation
        .run(json!({"rule": "lease"}))
        .expect_err("a key that cascades");
    assert!(
        format!("{error:#}").contains("table lease references lease"),
        "{error:#}"
    );
    assert_eq!(left(&mut installation, "lease").len(), 10);
}

fn what_another_session_holds_is_left_to_it(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
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

fn a_run_takes_no_more_rows_than_it_may_and_the_next_goes_on(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
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

/// Each row that goes waits for so many seconds.
fn slow_down(installation: &mut Installation, seconds: f64) {
    let sql = either(
        installation.dialect,
        format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep({seconds}); RETURN OLD; END $$;
             CREATE TRIGGER refuse BEFORE DELETE ON task_state_store FOR EACH ROW EXECUTE FUNCTION refuse()"
        ),
        format!(
            "CREATE TRIGGER refuse BEFORE DELETE ON task_state_store FOR EACH ROW BEGIN DECLARE v integer; SET v = SLEEP({seconds}); END"
        ),
    );
    installation.execute(&sql);
}

fn run_aside(installation: &Installation) -> Aside {
    installation.call_aside("run", by_rule())
}

fn by_rule() -> Value {
    json!({"rule": "task_state", "as_of": AS_OF})
}

/// The rows that are gone, by the ledger, by the passes and in truth.
fn gone(installation: &mut Installation, world: &World) -> [i64; 3] {
    let left = left(installation, "task_state").len();
    [
        installation.number("SELECT coalesce(sum(deleted_rows), 0) FROM W.run_rule"),
        installation.number("SELECT coalesce(sum(deleted_rows), 0) FROM W.run_pass"),
        i64::try_from(world.states.len() - left).expect("a small number"),
    ]
}

/// What a run leaves that gets to its end.
fn finished(installation: &mut Installation, world: &World) {
    let answer = run(installation, "task_state");
    assert_eq!(answer["status"], "done", "{answer}");
    let expected: BTreeSet<String> = world
        .keys("task_state")
        .difference(&due(world, "task_state"))
        .cloned()
        .collect();
    assert_eq!(left(installation, "task_state"), expected);
}

fn what_a_lost_session_leaves_is_finished_by_the_next_run(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    set(&mut installation, "task_state", "batch_rows", 2);
    slow_down(&mut installation, 0.05);
    let (runner, _, number) = run_aside(&installation);
    until("the run is under way", || {
        Ok(installation.number("SELECT coalesce(sum(batches), 0) FROM W.run_rule") >= 3)
    })
    .expect("it begins");
    installation.execute(&either(
        dialect,
        format!("SELECT pg_terminate_backend({number}, 60000)"),
        format!("KILL {number}"),
    ));
    let (_, answer) = runner.join().expect("no panic");
    assert!(answer.is_err(), "the run survived");
    installation.until_gone(number);
    let [ledger, passes, truth] = gone(&mut installation, &world);
    assert_eq!((ledger, passes), (truth, truth));
    finished(&mut installation, &world);
}

fn what_the_session_of_a_killed_run_commits_is_told_and_finished(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    set(&mut installation, "task_state", "batch_rows", 4);
    slow_down(&mut installation, 600.0);
    installation.kill_asleep("a run", "run", by_rule());
    relent(&mut installation);
    assert_eq!(installation.is_unfinished(), dialect == Dialect::Mysql);
    finished(&mut installation, &world);
    assert!(!installation.is_unfinished());
}

fn a_pause_ends_a_run_before_its_next_batch(dialect: Dialect) {
    let world = ample();
    let mut installation = loaded(dialect, &world);
    set(&mut installation, "task_state", "batch_rows", 1);
    slow_down(&mut installation, 0.05);
    let (runner, _, _) = run_aside(&installation);
    until("the run is under way", || {
        Ok(installation.number("SELECT coalesce(sum(batches), 0) FROM W.run_rule") >= 1)
    })
    .expect("it begins");
    installation.execute("CALL W.pause('month-end')");
    let (_, answer) = runner.join().expect("no panic");
    let answer = answer.expect("a document");
    assert_eq!(
        (&answer["status"], &answer["reason"]),
        (&json!("stopped"), &json!("paused")),
        "{answer}"
    );
    let [ledger, passes, truth] = gone(&mut installation, &world);
    assert_eq!((ledger, passes), (truth, truth));
    assert!(truth < 20, "{answer}");
    let refused = run(&mut installation, "task_state");
    assert_eq!(refused["status"], "refused", "{refused}");
    installation.execute("CALL W.resume()");
    relent(&mut installation);
    finished(&mut installation, &world);
}

fn metrics_and_verify_know_rows_that_are_due(dialect: Dialect) {
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

fn every_statement_goes_along_an_index_and_sorts_no_table(dialect: Dialect) {
    let mut installation = new(dialect);
    match dialect {
        Dialect::Postgres => installation.execute(&format!(
            "CREATE TABLE series AS SELECT i FROM generate_series(1, 20000) AS i; {}; ANALYZE",
            large(dialect)
        )),
        Dialect::Mysql | Dialect::Mariadb => {
            installation.execute(&format!(
                "CREATE TABLE series (i integer PRIMARY KEY);
                 INSERT INTO series SELECT n FROM {};
                 {}",
                numbers(dialect, 20_000),
                large(dialect)
            ));
            for table in [
                "task_state_store",
                "lease",
                "asset",
                "asset_active",
                "asset_state_store",
                "orders",
                "stock",
                "line",
                "task_instance_history",
                "attempt",
            ] {
                installation.rows(&format!("ANALYZE TABLE {table}"));
            }
        }
    }
    let graph = Graph {
        database: installation.name.clone(),
        ..graph()
    };
    let probes = render::probes(&graph, dialect);
    let of_rows: Vec<_> = probes
        .iter()
        .filter(|probe| {
            RULES
                .iter()
                .any(|rule| probe.what.contains(&format!("rule {rule}:")))
        })
        .collect();
    assert_eq!(of_rows.len(), either(dialect, 13, 17));
    if dialect != Dialect::Postgres {
        // As the routines do.
        installation.execute("CALL W.settle(@before)");
        for probe in of_rows {
            let plan = installation.rows(&format!("EXPLAIN FORMAT=TRADITIONAL {}", probe.sql));
            for row in &plan {
                let told = format!("{}\n{}\n{plan:#?}", probe.what, probe.sql);
                let cell = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
                let access = cell(row.len() - if row.len() >= 12 { 8 } else { 7 });
                // What stands for a work table is read whole.
                let is_work = cell(2) == "s" || cell(2).starts_with("<derived");
                assert!(
                    is_work || !["ALL", "index"].contains(&access.as_str()),
                    "{told}"
                );
                assert!(!cell(row.len() - 1).contains("filesort"), "{told}");
            }
        }
        the_search_goes_on_where_it_was(&mut installation);
        return;
    }
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

/// Where the cursor stands far behind, no more rows are read than are looked at.
fn the_search_goes_on_where_it_was(installation: &mut Installation) {
    let as_of = "'2026-06-01 12:00:00'";
    for (rule, pass, behind) in [
        ("task_state", 1, 9_000),
        ("task_state", 2, 9_000),
        ("lease", 1, 9_000),
        ("asset_state", 1, 18_000),
        ("line", 1, 18_000),
        ("tries", 1, 18_000),
        ("attempts", 1, 18_000),
    ] {
        let search = |rows: i32| {
            format!("CALL W.search_single('{rule}', {pass}, {rows}, {as_of}, @cutoff, @found)")
        };
        installation.execute(&format!(
            "CALL W.single_open('{rule}'); CALL W.work_single('{rule}'); CALL W.cutoff_of('{rule}', {as_of}, NULL, @cutoff);
             {}; CALL W.single_moved(); CALL W.work_single('{rule}'); FLUSH STATUS; {}",
            search(behind),
            search(100)
        ));
        let status = installation.rows("SHOW SESSION STATUS LIKE 'Handler_read%'");
        let read: i64 = status
            .iter()
            .map(|row| {
                row[1]
                    .as_deref()
                    .expect("a value")
                    .parse::<i64>()
                    .expect("a number")
            })
            .sum();
        assert_eq!(installation.number("SELECT COUNT(*) FROM W.work_row"), 100);
        assert!(read < 1_000, "{rule}, pass {pass}: {status:?}");
        installation.execute(&format!("CALL W.single_close('{rule}')"));
    }
}

/// Many rows, from a table `series` with the numbers from 1 to 20,000.
fn large(dialect: Dialect) -> String {
    let after = |column: &str| {
        either(
            dialect,
            format!("timestamp '2026-01-01' + {column} * interval '1 second'"),
            format!("timestamp '2026-01-01 00:00:00' + interval {column} second"),
        )
    };
    let uuid = either(dialect, "gen_random_uuid()", "uuid()");
    let div = either(dialect, "/", "DIV");
    format!(
        "INSERT INTO task_state_store (id, dag_run_id, task_id, name, value, updated_at, expires_at)
         SELECT i, i, 't', 'n', 'v', '2026-01-01', CASE WHEN i % 2 = 0 THEN {at} END FROM series;
         INSERT INTO lease SELECT i, {at}, 1 + i % 3 FROM series;
         INSERT INTO asset SELECT i, CONCAT('n', i), CONCAT('u', i) FROM series WHERE i <= 5000;
         INSERT INTO asset_active SELECT CONCAT('n', i), CONCAT('u', i) FROM series WHERE i <= 5000 AND i % 2 = 1;
         INSERT INTO asset_state_store SELECT i % 5000, CONCAT('k', i), 'v', '2026-01-01' FROM series;
         INSERT INTO orders (id) SELECT i FROM series WHERE i <= 5000;
         INSERT INTO stock (id, shop, number) SELECT i, CONCAT('s', i % 10), i FROM series WHERE i <= 5000;
         INSERT INTO line SELECT CONCAT('l', i), i % 6000, CONCAT('s', i % 10), i FROM series;
         INSERT INTO task_instance_history (task_instance_id, task_id, dag_id, run_id, map_index, try_number)
         SELECT {uuid}, CONCAT('t', i % 7), CONCAT('d', i % 50), CONCAT('r', i {div} 50), -1, i FROM series;
         INSERT INTO attempt SELECT i, CONCAT('j', i % 10), i % 10, {at}, i % 5, '2026-01-01', 'auto' FROM series",
        at = after("i")
    )
}

/// What `check --database` finds, beside triggers and the like: code and object.
fn findings(installation: &mut Installation) -> BTreeSet<(String, String)> {
    let home = either(
        installation.dialect,
        "public".to_owned(),
        installation.name.clone(),
    );
    let graph = Graph {
        database: installation.name.clone(),
        ..graph()
    };
    let mut catalog = installation
        .session
        .catalog(&home)
        .expect("a readable catalog");
    catalog.spell_like(&graph.names());
    fit::compare(&graph, &catalog)
        .into_iter()
        // What the throw-away server is told about itself.
        .filter(|finding| finding.code != "event-scheduler")
        .map(|finding| (finding.code.to_owned(), finding.object))
        .collect()
}

fn the_check_knows_what_a_rule_looks_into_and_goes_along(dialect: Dialect) {
    let mut installation = new(dialect);
    let clean = findings(&mut installation);
    let expected: BTreeSet<(String, String)> = ["job", "part", "began", "step"]
        .map(|column| ("nullable-rank".to_owned(), format!("attempt.{column}")))
        .into();
    assert_eq!(clean, expected);
    // The order of the columns matters, where a run goes along them.
    let (key, names) = either(
        dialect,
        ("DROP CONSTRAINT asset_active_pkey", ""),
        ("DROP PRIMARY KEY", "DROP INDEX name, "),
    );
    installation.execute(&format!(
        "ALTER TABLE task_instance_history DROP CONSTRAINT task_instance_history_dtrt_uq;
         ALTER TABLE task_instance_history ADD UNIQUE (try_number, dag_id, task_id, run_id, map_index);
         ALTER TABLE asset_active {key};
         ALTER TABLE asset {names}DROP COLUMN uri;
         ALTER TABLE attempt DROP COLUMN ended"
    ));
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

fn installing_twice_changes_nothing_and_uninstalling_leaves_nothing(dialect: Dialect) {
    let mut installation = new(dialect);
    let _only = exclusive();
    let control = installation.control.clone();
    let graph = Graph {
        name: control.trim_start_matches("windrow_").to_owned(),
        database: installation.name.clone(),
        ..graph()
    };
    let (objects, left) = either(
        dialect,
        (
            "SELECT p.proname::text || md5(p.prosrc) FROM pg_proc AS p WHERE p.pronamespace = 'CONTROL'::regnamespace
             UNION ALL SELECT c.relname::text || c.relkind::text FROM pg_class AS c WHERE c.relnamespace IN ('CONTROL'::regnamespace, 'public'::regnamespace) ORDER BY 1",
            "SELECT nspname FROM pg_namespace WHERE nspname = 'CONTROL' UNION ALL SELECT relname FROM pg_class WHERE relname LIKE 'windrow\\_%'",
        ),
        (
            "SELECT CONCAT(routine_name, SHA2(routine_definition, 256)) FROM information_schema.routines WHERE routine_schema = 'CONTROL'
             UNION ALL SELECT CONCAT(table_name, column_name, column_type) FROM information_schema.columns WHERE table_schema IN ('CONTROL', DATABASE())
             UNION ALL SELECT CONCAT(table_name, index_name, seq_in_index) FROM information_schema.statistics WHERE table_schema IN ('CONTROL', DATABASE()) ORDER BY 1",
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name = 'CONTROL'
             UNION ALL SELECT index_name FROM information_schema.statistics WHERE table_schema = DATABASE() AND index_name LIKE 'windrow|_%' ESCAPE '|'
             UNION ALL SELECT user FROM mysql.user WHERE user LIKE 'CONTROL|_%' ESCAPE '|'",
        ),
    );
    let objects = objects.replace("CONTROL", &control);
    let before = installation.texts(&objects);
    assert!(before.len() > 40, "{before:?}");
    let bundle = bundle(dialect, &graph);
    apply(&mut installation.session, &bundle);
    assert_eq!(installation.texts(&objects), before);
    let undo = bundle.files.iter().find(|file| file.path.contains("/90_"));
    for statement in &undo.expect("the uninstallation").statements {
        installation.execute(&statement.sql);
    }
    let left = left.replace("CONTROL", &control);
    assert_eq!(installation.texts(&left), Vec::<String>::new());
}
