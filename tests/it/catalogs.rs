//! Catalogs that nobody thought of: keys of all effects between managed, ignored and unknown tables, to themselves, from other
//! schemas and databases, rules, tables that inherit, engines, and much that does no harm; there when a run begins, or made
//! while it rests between two batches.
//!
//! Whatever acts and is not in the spec must be named, and then no row goes or changes. Where nothing acts, nothing is refused,
//! and what the model keeps is there, unchanged.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};
use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::effort::seeds;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, bytes_of, columns_of};

tests! {
    each_server: [
        what_acts_is_named_and_what_does_not_is_no_matter,
    ],
}

const SPEC: &str = r#"
name   = "catalogs"
schema = "public"

[tables]
runs  = { key = "id integer" }
parts = { key = "id integer", parents = ["run_id -> runs.id"] }
bits  = { key = "id integer", parents = ["part_id -> parts.id"] }
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
const TABLES: [&str; 7] = [
    "runs",
    "parts",
    "bits",
    "notes",
    "audit",
    "stuff",
    "aside.far",
];

/// The tables from which rows go.
const GOING: [&str; 3] = ["runs", "parts", "bits"];

fn schema() -> String {
    let spare = "a integer, b integer";
    format!(
        "CREATE TABLE runs (id integer NOT NULL PRIMARY KEY, state varchar(20), ended timestamp NULL, {spare});
         CREATE TABLE parts (id integer NOT NULL PRIMARY KEY, run_id integer, {spare});
         CREATE TABLE bits (id integer NOT NULL PRIMARY KEY, part_id integer, {spare});
         CREATE TABLE notes (id integer NOT NULL PRIMARY KEY, run_id integer, {spare});
         CREATE TABLE audit (id integer NOT NULL PRIMARY KEY, {spare});
         CREATE TABLE stuff (id integer NOT NULL PRIMARY KEY, {spare});"
    )
}

/// Something in the catalog.
struct Thing {
    make: String,
    undo: String,
    /// How it is told, where it acts beside windrow.
    told: Option<String>,
    /// Whether it may keep families from going.
    refuses: bool,
}

/// A column that may refer, and the edge of the spec that stands on it.
const EDGES: [(&str, &str, &str, &[&str]); 3] = [
    (
        "parts",
        "run_id",
        "runs",
        &["CASCADE", "SET NULL", "SET DEFAULT"],
    ),
    (
        "bits",
        "part_id",
        "parts",
        &["CASCADE", "SET NULL", "SET DEFAULT"],
    ),
    ("notes", "run_id", "runs", &["SET NULL"]),
];

fn key(
    random: &mut SmallRng,
    dialect: Dialect,
    number: usize,
    free: &mut Vec<(&str, &str)>,
) -> Option<Thing> {
    let (table, column, parent, known) = if random.random_bool(0.4) {
        let (table, column, parent, known) = *EDGES.choose(random)?;
        let at = free.iter().position(|place| *place == (table, column))?;
        free.swap_remove(at);
        (table, column, parent, known)
    } else {
        let at = random.random_range(0..free.len());
        let (table, column) = free.swap_remove(at);
        if !["a", "b"].contains(&column) {
            return None;
        }
        let parent = *["runs", "parts", "bits", "stuff"].choose(random)?;
        (table, column, parent, &[] as &[&str])
    };
    let effect = *match dialect {
        Dialect::Postgres => &[
            "CASCADE",
            "SET NULL",
            "SET DEFAULT",
            "NO ACTION",
            "RESTRICT",
        ][..],
        // InnoDB knows no SET DEFAULT.
        Dialect::Mysql | Dialect::Mariadb => &["CASCADE", "SET NULL", "NO ACTION", "RESTRICT"],
    }
    .choose(random)?;
    let refuses = ["NO ACTION", "RESTRICT"].contains(&effect);
    let acts = !refuses && GOING.contains(&parent) && !known.contains(&effect);
    let name = format!("acts_{number}");
    let add = match (table, dialect) {
        ("aside.far", Dialect::Mysql | Dialect::Mariadb) => format!("HERE.{parent}"),
        _ => parent.to_owned(),
    };
    Some(Thing {
        make: format!(
            "UPDATE {table} SET {column} = NULL WHERE {column} NOT IN (SELECT id FROM (SELECT id FROM {add}) AS p);
             ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}) REFERENCES {add} (id) ON DELETE {effect}"
        ),
        undo: format!("ALTER TABLE {table} DROP CONSTRAINT {name}"),
        told: acts.then(|| format!("table {table} references {parent} by {name} (on delete {})", effect.to_lowercase())),
        refuses: refuses && GOING.contains(&parent) && known.is_empty(),
    })
}

fn other(random: &mut SmallRng, dialect: Dialect, number: usize) -> Thing {
    let table = *GOING.choose(random).expect("a table");
    let harmless = |make: String, undo: String| Thing {
        make,
        undo,
        told: None,
        refuses: false,
    };
    let acting = |make: String, undo: String, told: String| Thing {
        told: Some(told),
        ..harmless(make, undo)
    };
    let index = match dialect {
        Dialect::Postgres => format!("DROP INDEX other_{number}"),
        Dialect::Mysql | Dialect::Mariadb => format!("DROP INDEX other_{number} ON {table}"),
    };
    match (random.random_range(0..5), dialect) {
        (0, _) => harmless(
            format!("CREATE INDEX other_{number} ON {table} (b, a)"),
            index,
        ),
        (1, _) => harmless(
            format!("CREATE VIEW other_{number} AS SELECT id FROM {table}"),
            format!("DROP VIEW other_{number}"),
        ),
        (2, _) => harmless(
            format!("ALTER TABLE {table} ADD COLUMN other_{number} integer"),
            format!("ALTER TABLE {table} DROP COLUMN other_{number}"),
        ),
        (3, Dialect::Postgres) => acting(
            format!("CREATE RULE other_{number} AS ON DELETE TO {table} DO ALSO DELETE FROM stuff"),
            format!("DROP RULE other_{number} ON {table}"),
            format!("table {table} has the rule other_{number}"),
        ),
        (_, Dialect::Postgres) => acting(
            format!(
                "CREATE TABLE other_{number} () INHERITS ({table}); INSERT INTO other_{number} (id) VALUES ({})",
                9000 + number
            ),
            format!("DROP TABLE other_{number}"),
            format!("table other_{number} inherits from {table}"),
        ),
        (_, Dialect::Mysql | Dialect::Mariadb) => harmless(
            format!("CREATE TABLE other_{number} (id integer)"),
            format!("DROP TABLE other_{number}"),
        ),
    }
}

fn things(random: &mut SmallRng, dialect: Dialect) -> Vec<Thing> {
    let mut free: Vec<(&str, &str)> = TABLES
        .iter()
        .flat_map(|table| [(*table, "a"), (*table, "b")])
        .collect();
    free.extend(EDGES.iter().map(|(table, column, _, _)| (*table, *column)));
    free.shuffle(random);
    let number = random.random_range(0..4);
    (0..number)
        .filter_map(|number| match random.random_bool(0.7) {
            true => key(random, dialect, number, &mut free),
            false => Some(other(random, dialect, number)),
        })
        .collect()
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
            "INSERT INTO runs (id, state, ended, a, b) VALUES ({id}, '{state}', {ended}, {}, {});\n",
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
    for id in 301..310 {
        script += &format!(
            "INSERT INTO notes (id, run_id, a, b) VALUES ({id}, {}, {}, {});\n",
            any(random, 1..10),
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

/// The rows of all tables by key, as bytes.
fn contents(
    installation: &mut Installation,
    dialect: Dialect,
    aside: &str,
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for table in TABLES {
        let own = ["id", "state", "ended", "run_id", "part_id", "a", "b"];
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
            "SELECT concat_ws(' ', id, ",
            1,
        );
        for row in installation.texts(&rows) {
            let (id, rest) = row.split_once(' ').unwrap_or((&row, ""));
            found.insert(format!("{table} {id}"), rest.to_owned());
        }
    }
    found
}

fn what_acts_is_named_and_what_does_not_is_no_matter(dialect: Dialect) {
    let mut installation = Installation::of(dialect, &schema(), &graph_of(SPEC));
    let (here, aside) = match dialect {
        Dialect::Postgres => ("public".to_owned(), "aside".to_owned()),
        Dialect::Mysql | Dialect::Mariadb => {
            let here = installation.texts("SELECT DATABASE()").concat();
            (here.clone(), format!("{here}_aside"))
        }
    };
    let named = |sql: &str| {
        sql.replace("HERE.", &format!("{here}."))
            .replace("aside.", &format!("{aside}."))
    };
    installation.execute(&format!("CREATE SCHEMA {aside}"));
    installation.execute(&format!(
        "CREATE TABLE {aside}.far (id integer NOT NULL PRIMARY KEY, a integer, b integer)"
    ));
    let (mut acting, mut harmless) = (0, 0);
    for seed in seeds("hostile catalogs", dialect, 8) {
        let mut random = SmallRng::seed_from_u64(seed);
        let random = &mut random;
        let (script, going) = rows(random);
        let things = things(random, dialect);
        let during = random.random_bool(0.5);
        let said: Vec<String> = things.iter().map(|thing| named(&thing.make)).collect();
        let story = format!(
            "seed {seed}, {}: {said:#?}",
            if during {
                "during a run"
            } else {
                "before a run"
            }
        );
        installation.execute(&named(&script));
        installation.arm();
        let make =
            |installation: &mut Installation| said.iter().for_each(|sql| installation.execute(sql));
        let (before, answer) = if during {
            let mut before = BTreeMap::new();
            let answer = installation.run_meanwhile(json!({}), |installation| {
                make(installation);
                before = contents(installation, dialect, &aside);
            });
            (before, answer)
        } else {
            make(&mut installation);
            let before = contents(&mut installation, dialect, &aside);
            (before, installation.run(json!({})))
        };
        let after = contents(&mut installation, dialect, &aside);
        let reason = match &answer {
            Ok(run) => run["reason"].as_str().unwrap_or_default().to_owned(),
            Err(error) => format!("{error:#}"),
        };
        let told: Vec<String> = things
            .iter()
            .filter_map(|thing| thing.told.as_deref().map(&named))
            .collect();
        if told.is_empty() {
            harmless += 1;
            let run = answer.unwrap_or_else(|error| panic!("{story}\n{error:#}"));
            let goes = |row: &str| {
                let (table, id) = row.split_once(' ').unwrap_or_default();
                going
                    .get(table)
                    .is_some_and(|ids| ids.contains(&id.parse().unwrap_or_default()))
            };
            for (row, bytes) in &before {
                // A line of a run that went lets go of it.
                let may_change = row.starts_with("notes ");
                let kept = after.get(row);
                assert!(
                    goes(row) || kept.is_some_and(|kept| may_change || kept == bytes),
                    "{story}\n{row}: {bytes}, {kept:?}\n{run}"
                );
            }
            if things.iter().all(|thing| !thing.refuses) {
                assert_eq!(run["status"], "done", "{story}\n{run}");
                let left: Vec<&String> = after.keys().filter(|row| goes(row)).collect();
                assert!(left.is_empty(), "{story}\n{left:?}\n{run}");
            }
        } else {
            acting += 1;
            assert!(
                told.iter().any(|told| reason.contains(told)),
                "{story}\n{reason}\n{told:?}"
            );
            assert_eq!(after, before, "{story}");
        }
        for thing in things.iter().rev() {
            installation.execute(&named(&thing.undo));
            if dialect != Dialect::Postgres && thing.undo.contains("DROP CONSTRAINT") {
                drop_index_of(&mut installation, &named(&thing.undo));
            }
        }
        for table in TABLES {
            installation.execute(&named(&format!("DELETE FROM {table}")));
        }
    }
    assert!(acting > 0 && harmless > 0, "{acting} and {harmless}");
    installation.execute(&match dialect {
        Dialect::Postgres => format!("DROP SCHEMA {aside} CASCADE"),
        Dialect::Mysql | Dialect::Mariadb => format!("DROP DATABASE {aside}"),
    });
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
