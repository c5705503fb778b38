//! Catalogs that nobody thought of: keys of all effects between managed, ignored and unknown tables, to themselves, from other
//! schemas and databases, rules, tables that inherit, engines, and much that does no harm; there when a run begins, or made
//! while it rests between two batches.
//!
//! Whatever acts and is not in the spec must be named, and then no row goes or changes. Where nothing acts, nothing is refused,
//! and what the model keeps is there, unchanged.

mod beside;
mod enforced;
mod partitions;
mod things;

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::effort::rounds_of;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, bytes_of, columns_of};
use crate::support::patience::until;
use things::{TEXT, TEXT_OF_POSTGRES, Thing, classes, things};

tests! {
    each_server: [
        what_acts_is_named_and_what_does_not_is_no_matter,
    ],
    within: [beside::tests, enforced::tests, partitions::tests],
}

const SPEC: &str = r#"
name   = "catalogs"
schema = "public"

[tables]
runs  = { key = "id integer" }
parts = { key = "id integer", parents = ["run_id -> runs.id"] }
bits  = { key = "id integer", parents = ["part_id -> parts.id"] }
tags  = { key = "code varchar", parents = ["run_id -> runs.id"] }
marks = { key = "id integer", parents = ["tag_code -> tags.code"] }
notes = { key = "id integer", parents = ["run_id -> runs.id set null"] }

[ignore]
audit = "kept for the auditors"

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 2 }
"#;

/// The managed tables, the ignored one, one that the spec does not name, and one of another schema or database.
const TABLES: [&str; 9] = [
    "runs",
    "parts",
    "bits",
    "tags",
    "marks",
    "notes",
    "audit",
    "stuff",
    "aside.far",
];

/// The tables from which rows go.
const GOING: [&str; 5] = ["runs", "parts", "bits", "tags", "marks"];

/// The columns of the edges, what they name, and what the spec lets a key of theirs do.
const EDGES: [(&str, &str, &str, &str, &[&str]); 5] = [
    ("parts", "run_id", "runs", "id", &ANY),
    ("bits", "part_id", "parts", "id", &ANY),
    ("tags", "run_id", "runs", "id", &ANY),
    ("marks", "tag_code", "tags", "code", &ANY),
    ("notes", "run_id", "runs", "id", &["SET NULL"]),
];
const ANY: [&str; 3] = ["CASCADE", "SET NULL", "SET DEFAULT"];

fn schema(dialect: Dialect) -> String {
    let spare = "a integer, b integer";
    let (text, loose) = match dialect {
        Dialect::Postgres => (
            TEXT_OF_POSTGRES,
            "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);",
        ),
        Dialect::Mysql | Dialect::Mariadb => (TEXT, ""),
    };
    format!(
        "{loose}
         CREATE TABLE runs (id integer NOT NULL PRIMARY KEY, number integer UNIQUE, state varchar(20), ended timestamp NULL, {spare});
         CREATE TABLE parts (id integer NOT NULL PRIMARY KEY, run_id integer, {spare}, UNIQUE (id, run_id));
         CREATE TABLE bits (id integer NOT NULL PRIMARY KEY, part_id integer, {spare});
         CREATE TABLE tags (code {text} NOT NULL PRIMARY KEY, run_id integer, {spare});
         CREATE TABLE marks (id integer NOT NULL PRIMARY KEY, tag_code {text}, {spare});
         CREATE TABLE notes (id integer NOT NULL PRIMARY KEY, run_id integer UNIQUE, note varchar(20), {spare});
         CREATE TABLE audit (id integer NOT NULL PRIMARY KEY, {spare});
         CREATE TABLE stuff (id integer NOT NULL PRIMARY KEY, {spare});"
    )
}

/// The rows: nine runs, of which at least three are due, with what hangs on them, and references to anything.
fn rows(random: &mut SmallRng) -> (String, BTreeMap<&'static str, BTreeSet<i64>>) {
    let mut script = String::new();
    let mut going: BTreeMap<&str, BTreeSet<i64>> =
        GOING.map(|table| (table, BTreeSet::new())).into();
    let any = |random: &mut SmallRng, of: std::ops::Range<i64>| match random.random_bool(0.3) {
        true => "NULL".to_owned(),
        false => random.random_range(of).to_string(),
    };
    for id in 1..10 {
        let due = id <= 3 || random.random_bool(0.4);
        let (state, ended) = match due {
            true => (
                "done",
                format!("'2025-01-{:02} 00:00:00'", random.random_range(1..28)),
            ),
            false if random.random_bool(0.5) => ("running", "NULL".to_owned()),
            false => ("done", "'2037-01-01 00:00:00'".to_owned()),
        };
        if due {
            going.entry("runs").or_default().insert(id);
        }
        script += &format!(
            "INSERT INTO runs (id, number, state, ended, a, b) VALUES ({id}, {id}, '{state}', {ended}, {}, {});\n",
            any(random, 1..10),
            any(random, 101..119)
        );
    }
    for id in 101..119 {
        let run = random.random_range(1..10);
        if going["runs"].contains(&run) {
            going.entry("parts").or_default().insert(id);
        }
        script += &format!(
            "INSERT INTO parts (id, run_id, a, b) VALUES ({id}, {run}, {}, {});\n",
            any(random, 1..10),
            any(random, 101..119)
        );
    }
    for id in 201..225 {
        let part = random.random_range(101..119);
        if going["parts"].contains(&part) {
            going.entry("bits").or_default().insert(id);
        }
        script += &format!(
            "INSERT INTO bits (id, part_id, a, b) VALUES ({id}, {part}, {}, {});\n",
            any(random, 1..10),
            any(random, 101..119)
        );
    }
    for id in 701..711 {
        let run = random.random_range(1..10);
        if going["runs"].contains(&run) {
            going.entry("tags").or_default().insert(id);
        }
        script += &format!(
            "INSERT INTO tags (code, run_id, a, b) VALUES ('{id}', {run}, {}, {});\n",
            any(random, 1..10),
            any(random, 101..119)
        );
    }
    for id in 801..815 {
        let tag = random.random_range(701..711);
        if going["tags"].contains(&tag) {
            going.entry("marks").or_default().insert(id);
        }
        script += &format!(
            "INSERT INTO marks (id, tag_code, a, b) VALUES ({id}, '{tag}', {}, {});\n",
            any(random, 1..10),
            any(random, 101..119)
        );
    }
    // Each run has a note at most.
    let mut of_runs: Vec<i64> = (1..10).collect();
    of_runs.shuffle(random);
    for (id, run) in (301..310).zip(of_runs) {
        let run = match random.random_bool(0.2) {
            true => "NULL".to_owned(),
            false => run.to_string(),
        };
        script += &format!(
            "INSERT INTO notes (id, run_id, a, b) VALUES ({id}, {run}, {}, {});\n",
            any(random, 201..225),
            any(random, 101..119)
        );
    }
    for (table, first) in [("audit", 401), ("stuff", 501), ("aside.far", 601)] {
        for id in first..first + 8 {
            script += &format!(
                "INSERT INTO {table} (id, a, b) VALUES ({id}, {}, {});\n",
                any(random, 1..10),
                any(random, 101..119)
            );
        }
    }
    (script, going)
}

/// Rows by table and key, as bytes.
type Rows = BTreeMap<String, String>;

/// The rows of all tables.
fn contents(installation: &mut Installation, dialect: Dialect, aside: &str) -> Rows {
    let mut found = Rows::new();
    for table in TABLES {
        let own = [
            "id", "code", "state", "ended", "run_id", "part_id", "tag_code", "a", "b",
        ];
        let columns = match table {
            "aside.far" => ["id", "a", "b"].map(str::to_owned).to_vec(),
            _ => {
                let mut columns = installation.texts(&columns_of(dialect, table));
                columns.retain(|column| own.contains(&column.as_str()));
                columns
            }
        };
        let only = match dialect {
            // What inherits is not of the table.
            Dialect::Postgres => "ONLY ",
            Dialect::Mysql | Dialect::Mariadb => "",
        };
        let from = format!("{only}{}", table.replace("aside", aside));
        let rows = bytes_of(dialect, &columns, &from).replacen(
            "SELECT concat_ws(",
            if table == "tags" {
                "SELECT concat_ws(' ', code, "
            } else {
                "SELECT concat_ws(' ', id, "
            },
            1,
        );
        for row in installation.texts(&rows) {
            let (id, rest) = row.split_once(' ').unwrap_or((&row, ""));
            found.insert(format!("{table} {id}"), rest.to_owned());
        }
    }
    found
}

/// When something comes into the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Unarmed,
    BeforeARun,
    DuringARun,
}

const MOMENTS: [Moment; 3] = [Moment::Unarmed, Moment::BeforeARun, Moment::DuringARun];

/// How many rounds have anything in them, after one for each class.
const MIXED: usize = 3;

/// An installation, and what its databases are called.
struct Place {
    installation: Installation,
    dialect: Dialect,
    here: String,
    aside: String,
}

impl Place {
    fn new(dialect: Dialect) -> Self {
        let mut installation = Installation::of(dialect, &schema(dialect), &graph_of(SPEC));
        let (here, aside) = match dialect {
            Dialect::Postgres => ("public".to_owned(), "aside".to_owned()),
            Dialect::Mysql | Dialect::Mariadb => {
                let here = installation.texts("SELECT DATABASE()").concat();
                (here.clone(), format!("{here}_aside"))
            }
        };
        installation.execute(&format!("CREATE SCHEMA {aside}"));
        installation.execute(&format!(
            "CREATE TABLE {aside}.far (id integer NOT NULL PRIMARY KEY, a integer, b integer)"
        ));
        Self {
            installation,
            dialect,
            here,
            aside,
        }
    }

    fn named(&self, sql: &str) -> String {
        sql.replace("HERE.", &format!("{}.", self.here))
            .replace("aside.", &format!("{}.", self.aside))
    }

    fn execute(&mut self, sql: &str) {
        let sql = self.named(sql);
        self.installation.execute(&sql);
    }

    fn contents(&mut self) -> Rows {
        contents(&mut self.installation, self.dialect, &self.aside)
    }

    /// Waits until what is altered now is made in another second than the tables that are there.
    fn until_another_second(&mut self) {
        let young = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND create_time >= NOW()";
        let old = || Ok(self.installation.number(young) == 0);
        until("tables of another second", old).expect("time passes");
    }

    /// Makes the things at their moment and lets windrow run: the rows before, and what it says.
    fn run_with(&mut self, things: &[Thing], moment: Moment) -> (Rows, anyhow::Result<Value>) {
        let made: Vec<String> = things.iter().map(|it| self.named(&it.make)).collect();
        let make =
            |installation: &mut Installation| made.iter().for_each(|sql| installation.execute(sql));
        if self.dialect != Dialect::Postgres && things.iter().any(Thing::is_told_by_time) {
            self.until_another_second();
        }
        if moment != Moment::DuringARun {
            if moment == Moment::BeforeARun {
                self.installation.arm();
            }
            make(&mut self.installation);
            let before = self.contents();
            let armed = match moment {
                Moment::Unarmed => self.installation.attempt("CALL W.arm()"),
                Moment::BeforeARun | Moment::DuringARun => Ok(()),
            };
            return (
                before,
                armed.and_then(|()| self.installation.run(json!({}))),
            );
        }
        self.installation.arm();
        let (dialect, aside) = (self.dialect, self.aside.clone());
        let mut before = Rows::new();
        let answer = self.installation.run_meanwhile(json!({}), |installation| {
            make(installation);
            before = contents(installation, dialect, &aside);
        });
        (before, answer)
    }

    /// As it was before the things were made, without a row.
    fn undo(&mut self, things: &[Thing]) {
        for thing in things.iter().rev() {
            self.execute(&thing.undo);
            if self.dialect != Dialect::Postgres && thing.undo.contains("DROP CONSTRAINT") {
                let undo = self.named(&thing.undo);
                drop_index_of(&mut self.installation, &undo);
            }
        }
        for table in TABLES {
            self.execute(&format!("DELETE FROM {table}"));
        }
    }
}

fn what_acts_is_named_and_what_does_not_is_no_matter(dialect: Dialect) {
    let mut place = Place::new(dialect);
    let classes = classes(dialect);
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    let rounds = classes.len() + MIXED;
    for (seed, round) in rounds_of("hostile catalogs", dialect, rounds as u64).zip(0..) {
        let mut random = SmallRng::seed_from_u64(seed);
        let (script, going) = rows(&mut random);
        let lead = classes.get(round % rounds).copied();
        let things = things(&mut random, dialect, lead);
        // Each server meets a class at another moment, and `make prove` at all of them. What only refuses is looked at before.
        let moment = match lead {
            Some(lead) if lead.name == "key that only refuses" && round < rounds => {
                Moment::BeforeARun
            }
            _ => MOMENTS[(round + round / rounds + dialect as usize) % MOMENTS.len()],
        };
        let story = format!("seed {seed}, {moment:?}: {things:#?}");
        place.execute(&script);
        let (before, answer) = place.run_with(&things, moment);
        let after = place.contents();
        let told: Vec<String> = things
            .iter()
            .filter_map(|thing| {
                let later = (moment != Moment::Unarmed).then_some(thing.told_later.as_deref());
                let told = thing.told.as_deref().or(later.flatten())?;
                Some(place.named(told))
            })
            .collect();
        if told.is_empty() {
            let run = answer.unwrap_or_else(|error| panic!("{story}\n{error:#}"));
            let all = things.iter().all(|thing| !thing.refuses);
            check_kept(&story, (&before, &after), &going, all, &run);
        } else {
            let reason = match &answer {
                Ok(run) => run["reason"].as_str().unwrap_or_default().to_owned(),
                Err(error) => format!("{error:#}"),
            };
            assert!(
                told.iter().any(|told| reason.contains(told)),
                "{story}\n{reason}\n{told:?}"
            );
            assert_eq!(after, before, "{story}");
        }
        // What was the only thing to tell, or stood where there was none.
        for thing in things.iter().filter(|_| told.len() < 2) {
            if told.is_empty() || thing.told.is_some() || thing.told_later.is_some() {
                *met.entry(thing.class).or_default() += 1;
            }
        }
        place.undo(&things);
    }
    for class in classes {
        let met = met.get(class.name).copied().unwrap_or_default();
        assert!(met > 0, "{}: never met", class.name);
    }
    let end = match dialect {
        Dialect::Postgres => format!("DROP SCHEMA {} CASCADE", place.aside),
        Dialect::Mysql | Dialect::Mariadb => format!("DROP DATABASE {}", place.aside),
    };
    place.installation.execute(&end);
}

/// Nothing acted: what the model keeps is there, unchanged, and what it does not keep is gone, but for families that
/// something keeps.
fn check_kept(
    story: &str,
    (before, after): (&Rows, &Rows),
    going: &BTreeMap<&str, BTreeSet<i64>>,
    all: bool,
    run: &Value,
) {
    let goes = |row: &str| {
        let (table, id) = row.split_once(' ').unwrap_or_default();
        let ids = going.get(table);
        ids.is_some_and(|ids| ids.contains(&id.parse().unwrap_or_default()))
    };
    // A note of a run that is gone lets go of it, and is the same otherwise.
    let is_let_go = |was: &str, is: &str| {
        let (was, run) = was.rsplit_once(' ').unwrap_or_default();
        let run: String = run.chars().skip(1).step_by(2).collect();
        is == format!("{was} none") && !after.contains_key(&format!("runs {run}"))
    };
    for (row, bytes) in before.iter().filter(|(row, _)| !goes(row)) {
        let kept = after.get(row);
        assert!(
            kept.is_some_and(
                |kept| kept == bytes || row.starts_with("notes ") && is_let_go(bytes, kept)
            ),
            "{story}\n{row}: {bytes}, {kept:?}\n{run}"
        );
    }
    if all {
        assert_eq!(run["status"], "done", "{story}\n{run}");
        let left: Vec<&String> = after.keys().filter(|row| goes(row)).collect();
        assert!(left.is_empty(), "{story}\n{left:?}\n{run}");
    }
}

/// InnoDB makes an index for a foreign key where there is none, and leaves it.
fn drop_index_of(installation: &mut Installation, undo: &str) {
    let words: Vec<&str> = undo.split_whitespace().collect();
    let (table, name) = (words[2], words[words.len() - 1]);
    let (schema, bare) = match table.split_once('.') {
        Some((schema, bare)) => (format!("'{schema}'"), bare),
        None => ("DATABASE()".to_owned(), table),
    };
    let there = format!(
        "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = {schema} AND table_name = '{bare}' AND index_name = '{name}'"
    );
    if installation.number(&there) > 0 {
        installation.execute(&format!("DROP INDEX {name} ON {table}"));
    }
}
