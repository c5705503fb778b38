//! Edges with `set null`: rows outlive what they name, and no foreign key, whatever it would do by itself, gets to act.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;
use windrow::catalog::Catalog;
use windrow::dialect::Dialect;
use windrow::fit;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::effort::{enough, fewer, seeds};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

const SPEC: &str = r#"
name = "outlive"

[tables]
runs  = { key = "id integer", unique = ["dag varchar, run varchar"], parents = ["previous -> runs.id set null"] }
tasks = { key = "id uuid", unique = ["dag varchar, run varchar, number integer"], parents = ["dag, run -> runs(dag, run)"] }
parts = { key = "id integer", parents = ["run -> runs.id"] }
steps = { parents = ["run -> runs.id", "last_task -> tasks.id set null"] }
memos = { parents = ["run -> runs.id set null", "part -> parts.id set null"] }
marks = { parents = ["dag, run -> runs(dag, run) set null"], indexed = ["dag, run"] }
looks = { parents = ["task -> tasks.id set null"] }
notes = { parents = ["number, run, dag -> tasks(number, run, dag) set null"] }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 2 }
"#;

/// Every table with its columns, as they can be filled.
const TABLES: [(&str, &[&str]); 8] = [
    ("runs", &["id", "dag", "run", "previous", "state", "ended"]),
    ("tasks", &["id", "dag", "run", "number"]),
    ("parts", &["id", "run"]),
    ("steps", &["id", "run", "last_task"]),
    ("memos", &["id", "run", "part"]),
    ("marks", &["id", "dag", "run"]),
    ("looks", &["id", "task"]),
    ("notes", &["id", "dag", "run", "number"]),
];

/// The tables whose rows go.
const DELETED: [&str; 4] = ["parts", "runs", "steps", "tasks"];

tests! {
    on_postgres: [
        a_column_that_is_never_null_is_refused,
    ],
    every_server: [
        rows_outlive_what_they_name,
        a_row_that_a_trigger_does_not_let_change_keeps_the_family,
    ],
}

fn graph() -> Graph {
    graph_of(SPEC)
}

/// Left alone, the foreign keys would refuse, take the row away, or set the column to NULL themselves.
fn schema(dialect: Dialect) -> String {
    let (uuid, time) = match dialect {
        Dialect::Postgres => ("uuid", "timestamp"),
        Dialect::Mysql | Dialect::Mariadb => ("char(36)", "datetime"),
    };
    format!(
        "CREATE TABLE runs (id integer PRIMARY KEY, dag varchar(20) NOT NULL, run varchar(20) NOT NULL, previous integer, state varchar(20), ended {time}, UNIQUE (dag, run), FOREIGN KEY (previous) REFERENCES runs (id));
CREATE TABLE tasks (id {uuid} PRIMARY KEY, dag varchar(20) NOT NULL, run varchar(20) NOT NULL, number integer NOT NULL, UNIQUE (dag, run, number), FOREIGN KEY (dag, run) REFERENCES runs (dag, run));
CREATE TABLE parts (id integer PRIMARY KEY, run integer, FOREIGN KEY (run) REFERENCES runs (id) ON DELETE SET NULL);
CREATE TABLE steps (id integer PRIMARY KEY, run integer, last_task {uuid}, FOREIGN KEY (run) REFERENCES runs (id) ON DELETE CASCADE, FOREIGN KEY (last_task) REFERENCES tasks (id) ON DELETE SET NULL);
CREATE TABLE memos (id integer PRIMARY KEY, run integer, part integer, FOREIGN KEY (run) REFERENCES runs (id) ON DELETE SET NULL, FOREIGN KEY (part) REFERENCES parts (id));
CREATE TABLE marks (id integer PRIMARY KEY, dag varchar(20), run varchar(20));
CREATE INDEX marks_run ON marks (dag, run);
CREATE TABLE looks (id integer PRIMARY KEY, task {uuid}, FOREIGN KEY (task) REFERENCES tasks (id));
CREATE TABLE notes (id integer PRIMARY KEY, dag varchar(20), run varchar(20), number integer, FOREIGN KEY (dag, run, number) REFERENCES tasks (dag, run, number) ON DELETE SET NULL);
"
    )
}

/// The values of a row, in the order of its table's columns.
type Row = Vec<Option<String>>;
type World = BTreeMap<&'static str, Vec<Row>>;

fn columns(table: &str) -> &'static [&'static str] {
    let found = TABLES.iter().find(|(name, _)| *name == table);
    found.expect("a table").1
}

fn value<'a>(table: &str, row: &'a Row, column: &str) -> Option<&'a String> {
    let at = columns(table).iter().position(|name| *name == column);
    row[at.expect("a column")].as_ref()
}

fn world(random: &mut SmallRng) -> World {
    let mut world = World::new();
    let mut runs: Vec<Row> = Vec::new();
    for dag in ["a", "b", "it's"] {
        for run in ["x", "y", "z"] {
            if random.random_bool(0.7) {
                let id = runs.len() + 1;
                let before = (id > 1).then(|| random.random_range(1..id).to_string());
                let previous = before.filter(|_| random.random_bool(0.6));
                let state = *["done", "done", "done", "running"]
                    .choose(random)
                    .expect("some");
                let ended = *["2025-10-01", "2025-11-01", "2026-01-10"]
                    .choose(random)
                    .expect("some");
                let row = [id.to_string(), dag.to_owned(), run.to_owned()].map(Some);
                let rest = [
                    previous,
                    Some(state.to_owned()),
                    Some(format!("{ended} 00:00:00")),
                ];
                runs.push(row.into_iter().chain(rest).collect());
            }
        }
    }
    let mut tasks: Vec<Row> = Vec::new();
    for run in &runs {
        for number in 0..random.random_range(0..3) {
            let id = format!("00000000-0000-0000-0000-{:012}", tasks.len());
            tasks.push(vec![
                Some(id),
                run[1].clone(),
                run[2].clone(),
                Some(number.to_string()),
            ]);
        }
    }
    let some = |rows: &[Row], random: &mut SmallRng| {
        rows.choose(random)
            .filter(|_| random.random_bool(0.85))
            .cloned()
    };
    let mut parts: Vec<Row> = Vec::new();
    for id in 1..=random.random_range(0..8) {
        let run = some(&runs, random).and_then(|run| run[0].clone());
        parts.push(vec![Some(id.to_string()), run]);
    }
    for id in 1..=random.random_range(0..40) {
        let id = Some(format!("{id}"));
        let (run, task, part) = (
            some(&runs, random),
            some(&tasks, random),
            some(&parts, random),
        );
        let of = |row: &Option<Row>, at: usize| row.as_ref().and_then(|row| row[at].clone());
        // A key of which a part is missing names nothing, and stays as it is.
        let half = random.random_bool(0.2);
        let half = |value: Option<String>| value.filter(|_| !half);
        let (table, row) = match random.random_range(0..5) {
            0 => ("steps", vec![id, of(&run, 0), of(&task, 0)]),
            1 => ("memos", vec![id, of(&run, 0), of(&part, 0)]),
            2 => ("marks", vec![id, of(&run, 1), half(of(&run, 2))]),
            3 => ("looks", vec![id, of(&task, 0)]),
            _ => (
                "notes",
                vec![id, of(&task, 1), of(&task, 2), half(of(&task, 3))],
            ),
        };
        world.entry(table).or_default().push(row);
    }
    world.extend([("runs", runs), ("tasks", tasks), ("parts", parts)]);
    world
}

/// What is left of a world, by the definitions.
fn left(world: &World) -> World {
    let rows = |table: &str| world.get(table).cloned().unwrap_or_default();
    // What names one of the gone rows by these columns; an incomplete name names nothing.
    let named = |table: &str, row: &Row, names: &[&str], gone: &BTreeSet<Vec<String>>| {
        let values: Option<Vec<String>> = names
            .iter()
            .map(|name| value(table, row, name).cloned())
            .collect();
        values.is_some_and(|values| gone.contains(&values))
    };
    let keys = |table: &str, rows: &[Row], names: &[&str]| -> BTreeSet<Vec<String>> {
        let key = |row: &Row| {
            names
                .iter()
                .map(|name| value(table, row, name).cloned().expect("a key"))
                .collect()
        };
        rows.iter().map(key).collect()
    };
    let due: Vec<Row> = rows("runs")
        .into_iter()
        .filter(|row| {
            value("runs", row, "state").is_some_and(|state| state == "done")
                && value("runs", row, "ended").is_some_and(|ended| ended.as_str() < "2025-12-15")
        })
        .collect();
    let runs = keys("runs", &due, &["id"]);
    let run_names = keys("runs", &due, &["dag", "run"]);
    let of_runs = |table: &'static str, names: &[&str], gone: &BTreeSet<Vec<String>>| -> Vec<Row> {
        rows(table)
            .into_iter()
            .filter(|row| named(table, row, names, gone))
            .collect()
    };
    let task_rows = of_runs("tasks", &["dag", "run"], &run_names);
    let tasks = keys("tasks", &task_rows, &["id"]);
    let task_names = keys("tasks", &task_rows, &["dag", "run", "number"]);
    let parts = keys("parts", &of_runs("parts", &["run"], &runs), &["id"]);
    let mut left = World::new();
    for (table, _) in TABLES {
        for mut row in rows(table) {
            let goes = match table {
                "runs" => named(table, &row, &["id"], &runs),
                "tasks" => named(table, &row, &["id"], &tasks),
                "parts" | "steps" => named(table, &row, &["run"], &runs),
                _ => false,
            };
            if goes {
                continue;
            }
            let edges: &[(&[&str], &BTreeSet<Vec<String>>)] = match table {
                "runs" => &[(&["previous"], &runs)],
                "steps" => &[(&["last_task"], &tasks)],
                "memos" => &[(&["run"], &runs), (&["part"], &parts)],
                "marks" => &[(&["dag", "run"], &run_names)],
                "looks" => &[(&["task"], &tasks)],
                "notes" => &[(&["dag", "run", "number"], &task_names)],
                _ => &[],
            };
            for (names, gone) in edges {
                if named(table, &row, names, gone) {
                    for (at, column) in columns(table).iter().enumerate() {
                        if names.contains(column) {
                            row[at] = None;
                        }
                    }
                }
            }
            left.entry(table).or_default().push(row);
        }
    }
    left
}

fn load(database: &mut Installation, world: &World) {
    database.execute("UPDATE runs SET previous = NULL");
    for (table, _) in TABLES.iter().rev() {
        database.execute(&format!("DELETE FROM {table}"));
    }
    for (table, _) in TABLES {
        for row in world.get(table).into_iter().flatten() {
            let literal = |value: &Option<String>| match value {
                None => "NULL".to_owned(),
                Some(value) => format!("'{}'", value.replace('\'', "''")),
            };
            let values: Vec<String> = row.iter().map(literal).collect();
            database.execute(&format!(
                "INSERT INTO {table} VALUES ({})",
                values.join(", ")
            ));
        }
    }
}

fn contents(database: &mut Installation) -> World {
    let text = match database.dialect {
        Dialect::Postgres => "text",
        Dialect::Mysql | Dialect::Mariadb => "char",
    };
    let mut world = World::new();
    for (table, columns) in TABLES {
        let casts: Vec<String> = columns
            .iter()
            .map(|column| format!("CAST({column} AS {text})"))
            .collect();
        let rows = database.rows(&format!(
            "SELECT {} FROM {table} ORDER BY id",
            casts.join(", ")
        ));
        if !rows.is_empty() {
            world.insert(table, rows);
        }
    }
    world
}

fn sorted(mut world: World) -> World {
    for (table, rows) in &mut world {
        let id = |row: &Row| {
            let id = row[0].clone().unwrap_or_default();
            (id.parse::<i64>().unwrap_or_default(), id)
        };
        assert!(columns(table)[0] == "id");
        rows.sort_by_key(id);
    }
    world.retain(|_, rows| !rows.is_empty());
    world
}

fn rows_outlive_what_they_name(dialect: Dialect) {
    let mut database = Installation::of(dialect, &schema(dialect), &graph());
    database.arm();
    let mut let_go = 0;
    for seed in seeds(
        "worlds of columns that become NULL",
        dialect,
        fewer(dialect, 30),
    ) {
        let world = world(&mut SmallRng::seed_from_u64(seed));
        load(&mut database, &world);
        let before = contents(&mut database);
        assert_eq!(
            sorted(before.clone()),
            sorted(world.clone()),
            "seed {seed}: the world is loaded"
        );
        let expected = sorted(left(&world));
        let count = |world: &World, table: &str| world.get(table).map_or(0, Vec::len);
        let tables: BTreeMap<&str, usize> = DELETED
            .into_iter()
            .map(|table| (table, count(&world, table) - count(&expected, table)))
            .collect();
        let options = json!({"as_of": "2026-01-15T00:00:00Z"});
        let dry = json!({"as_of": "2026-01-15T00:00:00Z", "dry_run": true});
        let documents = [
            database.preview(options.clone()).expect("a preview"),
            database.run(dry).expect("a dry run"),
        ];
        assert_eq!(
            contents(&mut database),
            before,
            "seed {seed}: a dry run changes nothing"
        );
        let run = database.run(options.clone()).expect("a run");
        assert_eq!(run["status"], "done", "seed {seed}: {run}");
        for document in documents.iter().chain([&run]) {
            // Rows that let go are no deleted rows.
            assert_eq!(
                document["rules"][0]["tables"],
                json!(tables),
                "seed {seed}: {document}"
            );
        }
        assert_eq!(sorted(contents(&mut database)), expected, "seed {seed}");
        let again = database.run(options).expect("a second run");
        assert_eq!(again["rules"][0]["rows"], 0, "seed {seed}: {again}");
        let changed = |(table, rows): (&&'static str, &Vec<Row>)| {
            rows.iter()
                .filter(|row| !world[*table].contains(row))
                .count()
        };
        let_go += expected.iter().map(changed).sum::<usize>();
    }
    assert!(let_go > enough(fewer(dialect, 50)), "{let_go}");
    let verify = database.call("verify", json!({})).expect("a verification");
    let wrong = violations(&verify);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn a_row_that_a_trigger_does_not_let_change_keeps_the_family(dialect: Dialect) {
    let mut database = Installation::of(dialect, &schema(dialect), &graph());
    database.arm();
    database.execute(
        "INSERT INTO runs VALUES (1, 'a', 'x', NULL, 'done', '2025-10-01'), (2, 'a', 'y', NULL, 'done', '2025-10-01')",
    );
    database.execute("INSERT INTO memos VALUES (1, 1, NULL), (2, 2, NULL)");
    match dialect {
        Dialect::Postgres => database.execute(
            "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN new.run := CASE WHEN OLD.id = 2 THEN OLD.run END; RETURN new; END$$;
             CREATE TRIGGER keep BEFORE UPDATE ON memos FOR EACH ROW EXECUTE FUNCTION keep()",
        ),
        Dialect::Mysql | Dialect::Mariadb => database.execute(
            "CREATE TRIGGER keep BEFORE UPDATE ON memos FOR EACH ROW SET new.run = IF(OLD.id = 2, OLD.run, NULL)",
        ),
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(run["rules"][0]["skipped"], json!({"FAILED": 1}), "{run}");
    // The key would have taken the memo away.
    assert_eq!(database.texts("SELECT run FROM runs"), ["y"]);
    assert_eq!(database.number("SELECT count(*) FROM memos"), 2);
    assert_eq!(
        database.number("SELECT count(*) FROM memos WHERE run IS NULL"),
        1
    );
}

fn a_column_that_is_never_null_is_refused() {
    let catalog = |nullable: bool| {
        let column = |name: &str| windrow::catalog::CatalogColumn {
            name: name.to_owned(),
            kind: "integer".to_owned(),
            nullable,
            ..Default::default()
        };
        let table = windrow::catalog::CatalogTable {
            columns: ["id", "run", "part"].map(column).to_vec(),
            ..Default::default()
        };
        let names = graph().tables.into_iter().map(|known| known.name);
        Catalog {
            schema: "public".to_owned(),
            schema_exists: true,
            tables: names.map(|name| (name, table.clone())).collect(),
            ..Catalog::default()
        }
    };
    let found = |nullable: bool| -> Vec<String> {
        let findings = fit::compare(&graph(), &catalog(nullable));
        let these = findings.iter().filter(|it| it.code == "not-nullable");
        these
            .map(|it| format!("{} {:?}", it.object, it.severity))
            .collect()
    };
    assert_eq!(
        found(false),
        [
            "marks.run Error",
            "memos.part Error",
            "memos.run Error",
            "notes.run Error"
        ]
    );
    assert!(found(true).is_empty());
}
