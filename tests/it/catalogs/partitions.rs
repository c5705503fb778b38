//! Tables of parts: the spec names the whole, a part, or a part of a part, and keys and rules stand on any of them.

use std::collections::BTreeMap;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;
use windrow::dialect::Dialect;
use windrow::fit::{self, Severity};

use crate::harness::tests;
use crate::support::effort::rounds_of;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    on_postgres: [
        what_acts_on_a_part_or_its_whole_is_named,
    ],
}

const SPEC: &str = r#"
name = "parts"

[tables]
EVENTS = { key = "id integer", indexed = ["ended"] }

[rules.events]
strategy  = "age"
root      = "EVENTS"
time      = "ended timestamp"
retention = { default = "30d" }
limits    = { batch_rows = 2 }
"#;

/// Each table with the one that it is a part of, and the first of its keys.
const TABLES: [(&str, &str, i32); 6] = [
    ("events", "", 0),
    ("events_1", "events", 0),
    ("events_2", "events", 100),
    ("events_2a", "events_2", 100),
    ("events_2b", "events_2", 150),
    ("events_3", "events", 200),
];

/// What the spec names, in turns.
const NAMED: [&str; 4] = ["events", "events_1", "events_2", "events_2a"];

const SCHEMA: &str = "
CREATE TABLE events (id integer PRIMARY KEY, ended timestamp) PARTITION BY RANGE (id);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (100);
CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (100) TO (200) PARTITION BY RANGE (id);
CREATE TABLE events_2a PARTITION OF events_2 FOR VALUES FROM (100) TO (150);
CREATE TABLE events_2b PARTITION OF events_2 FOR VALUES FROM (150) TO (200);
CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM (200) TO (300);
CREATE INDEX ON events (ended);
CREATE SCHEMA aside";

/// Whether a table is another one, or a part of it.
fn is_of(part: &str, whole: &str) -> bool {
    let above = TABLES.iter().find(|table| table.0 == part);
    part == whole || above.is_some_and(|table| is_of(table.1, whole))
}

/// Whether what stands on a table acts on rows of the one that the spec names.
fn touches(table: &str, named: &str) -> bool {
    is_of(table, named) || is_of(named, table)
}

/// The ids of a table: three that are due and two that are not in each leaf.
fn ids(table: &str) -> Vec<i32> {
    let leaves = TABLES.iter().filter(|leaf| {
        let is_leaf = !TABLES.iter().any(|other| other.1 == leaf.0);
        is_leaf && is_of(leaf.0, table)
    });
    leaves.flat_map(|leaf| leaf.2 + 1..leaf.2 + 6).collect()
}

fn is_due(id: i32) -> bool {
    id % 50 <= 3
}

struct Thing {
    class: &'static str,
    make: String,
    undo: String,
    told: Option<String>,
    refuses: bool,
}

/// A foreign key of a table, of one of parts, or of one of another schema.
fn key(random: &mut SmallRng, named: &str, acts: bool, to: Option<&'static str>) -> Thing {
    let tables = || TABLES.iter().map(|table| table.0);
    let near: Vec<&str> = tables().filter(|table| touches(table, named)).collect();
    let beside: Vec<&str> = tables().filter(|table| !touches(table, named)).collect();
    let to_any = *if acts || beside.is_empty() {
        &near
    } else {
        &beside
    }
    .choose(random)
    .expect("a table");
    let to = to.unwrap_or(to_any);
    let effects: &[&str] = if !acts && touches(to, named) {
        &["NO ACTION", "RESTRICT"]
    } else {
        &["CASCADE", "SET NULL", "SET DEFAULT"]
    };
    let effect = *effects.choose(random).expect("an effect");
    let (bill, parts) = *[
        ("bill", ""),
        ("bill", " PARTITION BY LIST (a)"),
        ("aside.bill", ""),
    ]
    .choose(random)
    .expect("a table");
    let leaf = match parts {
        "" => "",
        _ => "CREATE TABLE bill_1 PARTITION OF bill FOR VALUES IN (1);",
    };
    Thing {
        class: match (acts, is_of(to, named), to == named) {
            (false, _, _) if touches(to, named) => "key that only refuses",
            (false, _, _) => "key to a part beside",
            (true, _, true) => "key to what the spec names",
            (true, true, false) => "key to a part of it",
            (true, false, false) => "key to what it is a part of",
        },
        make: format!(
            "CREATE TABLE {bill} (a integer, event integer){parts}; {leaf}
             INSERT INTO {bill} SELECT 1, id FROM {to};
             ALTER TABLE {bill} ADD CONSTRAINT acts FOREIGN KEY (event) REFERENCES {to} (id) ON DELETE {effect}"
        ),
        undo: format!("DROP TABLE {bill}"),
        told: acts.then(|| format!("table {bill} references {named} by acts (on delete {})", effect.to_lowercase())),
        refuses: touches(to, named),
    }
}

fn rule(random: &mut SmallRng, named: &str, acts: bool) -> Thing {
    let others: Vec<&str> = TABLES
        .iter()
        .map(|table| table.0)
        .filter(|table| *table != named)
        .collect();
    // What stands on a part does nothing where the whole is named, and the other way round.
    let on = if acts {
        named
    } else {
        *others.choose(random).expect("a table")
    };
    Thing {
        class: if acts { "rule" } else { "rule of another part" },
        make: format!("CREATE RULE acts AS ON DELETE TO {on} DO INSTEAD NOTHING"),
        undo: format!("DROP RULE acts ON {on}"),
        told: acts.then(|| format!("table {named} has the rule acts, which acts on DELETE")),
        refuses: false,
    }
}

/// A further part, and what refers to it.
fn part(random: &mut SmallRng, named: &str, acts: bool) -> Thing {
    let of = *["events", "events_2"].choose(random).expect("a table");
    let (first, last) = if of == "events" {
        (300, 400)
    } else {
        (190, 200)
    };
    let room = match of {
        "events" => "",
        _ => {
            "ALTER TABLE events_2 DETACH PARTITION events_2b; ALTER TABLE events_2 ATTACH PARTITION events_2b FOR VALUES FROM (150) TO (190);"
        }
    };
    let back = match of {
        "events" => "",
        _ => {
            "; ALTER TABLE events_2 DETACH PARTITION events_2b; ALTER TABLE events_2 ATTACH PARTITION events_2b FOR VALUES FROM (150) TO (200)"
        }
    };
    let is_here = is_of(of, named);
    let key = match acts {
        true => {
            "CREATE TABLE bill (a integer, event integer CONSTRAINT acts REFERENCES events_new (id) ON DELETE CASCADE);"
        }
        false => "",
    };
    Thing {
        class: if acts {
            "key to a part that is new"
        } else {
            "part that is new"
        },
        make: format!(
            "{room} CREATE TABLE events_new (id integer PRIMARY KEY, ended timestamp); {key} ALTER TABLE {of} ATTACH PARTITION events_new FOR VALUES FROM ({first}) TO ({last})"
        ),
        undo: format!("DROP TABLE IF EXISTS bill; DROP TABLE events_new{back}"),
        told: (acts && is_here)
            .then(|| format!("table bill references {named} by acts (on delete cascade)")),
        refuses: false,
    }
}

fn contents(installation: &mut Installation) -> BTreeMap<String, String> {
    let bill = "SELECT table_schema || '.' || table_name FROM information_schema.tables WHERE table_name = 'bill'";
    let mut found = BTreeMap::new();
    for bill in installation.texts(bill) {
        for row in installation.texts(&format!(
            "SELECT concat(row_number() OVER (ORDER BY event), ' ', t::text) FROM {bill} AS t"
        )) {
            found.insert(format!("{bill} {row}"), row);
        }
    }
    for row in installation.texts("SELECT concat(id, ' ', t::text) FROM events AS t") {
        let (id, rest) = row.split_once(' ').unwrap_or_default();
        found.insert(format!("event {id}"), rest.to_owned());
    }
    found
}

/// How often each class is met for each table that the spec names.
const CLASSES: [fn(&mut SmallRng, &str) -> Thing; 6] = [
    |random, named| key(random, named, true, Some("events")),
    |random, named| key(random, named, true, None),
    |random, named| key(random, named, false, None),
    |random, named| rule(random, named, true),
    |random, named| rule(random, named, false),
    |random, named| {
        let acts = random.random_bool(0.5);
        part(random, named, acts)
    },
];

fn what_acts_on_a_part_or_its_whole_is_named() {
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    let mut places = NAMED.map(|named| {
        let spec = SPEC.replace("EVENTS", named);
        (
            named,
            Installation::of(Dialect::Postgres, SCHEMA, &graph_of(&spec)),
            spec,
        )
    });
    let rounds = (NAMED.len() * CLASSES.len()) as u64;
    for (seed, round) in rounds_of("partitions", Dialect::Postgres, rounds).zip(0..) {
        let mut random = SmallRng::seed_from_u64(seed);
        let (named, installation, spec) = &mut places[round % NAMED.len()];
        let thing = CLASSES[round / NAMED.len() % CLASSES.len()](&mut random, named);
        let story = format!("seed {seed}, the spec names {named}: {}", thing.make);
        for id in ids("events") {
            let ended = if is_due(id) {
                "2025-01-01"
            } else {
                "2037-01-01"
            };
            installation.execute(&format!("INSERT INTO events VALUES ({id}, '{ended}')"));
        }
        installation.arm();
        let (before, answer) = if random.random_bool(0.5) {
            let mut before = BTreeMap::new();
            let answer = installation.run_meanwhile(json!({}), |installation| {
                installation.execute(&thing.make);
                before = contents(installation);
            });
            (before, answer)
        } else {
            installation.execute(&thing.make);
            (contents(installation), installation.run(json!({})))
        };
        let after = contents(installation);
        let catalog = installation.connect().catalog("public").expect("a catalog");
        let mut found = fit::compare(&graph_of(spec), &catalog);
        found.retain(|it| it.severity == Severity::Error);
        assert_eq!(
            !found.is_empty(),
            thing.told.is_some(),
            "{story}\n{found:?}"
        );
        if let Some(told) = &thing.told {
            let reason = match &answer {
                Ok(run) => run["reason"].as_str().unwrap_or_default().to_owned(),
                Err(error) => format!("{error:#}"),
            };
            assert!(reason.contains(told), "{story}\n{reason}\n{told}");
            assert_eq!(after, before, "{story}");
        } else {
            let run = answer.unwrap_or_else(|error| panic!("{story}\n{error:#}"));
            let goes = |row: &str| {
                let id = row.strip_prefix("event ").and_then(|id| id.parse().ok());
                id.is_some_and(|id| is_due(id) && ids(named).contains(&id))
            };
            let kept = |rows: &BTreeMap<String, String>| -> Vec<String> {
                let kept = rows.iter().filter(|(row, _)| !goes(row));
                kept.map(|(row, bytes)| format!("{row}: {bytes}")).collect()
            };
            assert_eq!(kept(&after), kept(&before), "{story}\n{run}");
            if !thing.refuses {
                assert_eq!(run["status"], "done", "{story}\n{run}");
                assert!(!after.keys().any(|row| goes(row)), "{story}\n{run}");
            }
        }
        *met.entry(thing.class).or_default() += 1;
        installation.execute(&thing.undo);
        installation.execute("DELETE FROM events");
    }
    for class in [
        "key to what the spec names",
        "key to a part of it",
        "key to what it is a part of",
        "key to a part beside",
        "key that only refuses",
        "rule",
        "rule of another part",
        "part that is new",
        "key to a part that is new",
    ] {
        let met = met.get(class).copied().unwrap_or_default();
        assert!(met > 0, "{class}: never met; {met:?}");
    }
}
