//! Edges of two and four columns to unique keys that are not the key, with foreign keys: rows are told apart by all
//! columns together, and whatever goes is counted by windrow and not taken by a cascade.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::effort::{enough, fewer, seeds};
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

const SPEC: &str = r#"
name = "composite"

[tables]
dag_run = { key = "id integer", unique = ["dag_id varchar, run_id varchar"] }
task    = { key = "id uuid", unique = ["dag_id varchar, task_id varchar, run_id varchar, map_index integer"], parents = ["dag_id, run_id -> dag_run(dag_id, run_id)"] }
message = { parents = ["map_index, dag_id, task_id, run_id -> task(map_index, dag_id, task_id, run_id)"] }
pause   = { parents = ["task -> task.id"], indexed = ["task"] }
pair    = { parents = ["one_dag, one_run -> dag_run(dag_id, run_id)", "other_dag, other_run -> dag_run(dag_id, run_id)"], with = "any" }
mixed   = { parents = ["task -> task.id", "dag_id, run_id -> dag_run(dag_id, run_id)", "run integer -> dag_run.id"], with = "any" }
audit   = { parents = ["dag_id, task_id, run_id, map_index -> task(dag_id, task_id, run_id, map_index) restrict"] }
review  = { parents = ["dag_id, run_id -> dag_run(dag_id, run_id) restrict"] }

[rules.runs]
strategy  = "end-time"
root      = "dag_run"
final     = { state = ["success", "failed"] }
end_time  = "end_date"
retention = { default = "30d" }
limits    = { batch_families = 2 }
"#;

/// Children before parents, as they can be emptied.
const TABLES: [&str; 8] = [
    "message", "pause", "pair", "mixed", "audit", "review", "task", "dag_run",
];

tests! {
    on_postgres: [
        a_row_that_a_trigger_keeps_keeps_its_family,
    ],
    every_server: [
        rows_are_told_apart_by_all_columns_of_an_edge,
    ],
}

fn graph() -> Graph {
    graph_of(SPEC)
}

fn schema(dialect: Dialect) -> String {
    let (uuid, time) = match dialect {
        Dialect::Postgres => ("uuid", "timestamp"),
        Dialect::Mysql | Dialect::Mariadb => ("char(36)", "datetime"),
    };
    format!(
        "CREATE TABLE dag_run (id integer PRIMARY KEY, dag_id varchar(50) NOT NULL, run_id varchar(50) NOT NULL, state varchar(20), end_date {time}, UNIQUE (dag_id, run_id));
CREATE TABLE task (id {uuid} PRIMARY KEY, dag_id varchar(50) NOT NULL, task_id varchar(50) NOT NULL, run_id varchar(50) NOT NULL, map_index integer NOT NULL, UNIQUE (dag_id, task_id, run_id, map_index), FOREIGN KEY (dag_id, run_id) REFERENCES dag_run (dag_id, run_id) ON DELETE CASCADE);
CREATE TABLE message (id integer PRIMARY KEY, dag_id varchar(50), task_id varchar(50), run_id varchar(50), map_index integer, FOREIGN KEY (dag_id, task_id, run_id, map_index) REFERENCES task (dag_id, task_id, run_id, map_index) ON DELETE CASCADE);
CREATE TABLE pause (id integer PRIMARY KEY, task {uuid}, FOREIGN KEY (task) REFERENCES task (id) ON DELETE CASCADE);
CREATE INDEX pause_task ON pause (task);
CREATE TABLE pair (id integer PRIMARY KEY, one_dag varchar(50), one_run varchar(50), other_dag varchar(50), other_run varchar(50), FOREIGN KEY (one_dag, one_run) REFERENCES dag_run (dag_id, run_id) ON DELETE CASCADE, FOREIGN KEY (other_dag, other_run) REFERENCES dag_run (dag_id, run_id));
CREATE TABLE mixed (id integer PRIMARY KEY, task {uuid}, dag_id varchar(50), run_id varchar(50), run integer, FOREIGN KEY (task) REFERENCES task (id), FOREIGN KEY (dag_id, run_id) REFERENCES dag_run (dag_id, run_id), FOREIGN KEY (run) REFERENCES dag_run (id) ON DELETE CASCADE);
CREATE TABLE audit (id integer PRIMARY KEY, dag_id varchar(50), task_id varchar(50), run_id varchar(50), map_index integer, FOREIGN KEY (dag_id, task_id, run_id, map_index) REFERENCES task (dag_id, task_id, run_id, map_index));
CREATE TABLE review (id integer PRIMARY KEY, dag_id varchar(50), run_id varchar(50), FOREIGN KEY (dag_id, run_id) REFERENCES dag_run (dag_id, run_id));
"
    )
}

struct Run {
    id: i32,
    name: [&'static str; 2],
    due: bool,
    values: String,
}

/// A task, and the place of its run.
struct Task {
    id: String,
    run: usize,
    name: &'static str,
    map_index: i32,
}

/// A row beside these: what it names, as places of runs and tasks, and its values.
struct Other {
    table: &'static str,
    id: i32,
    runs: Vec<usize>,
    tasks: Vec<usize>,
    values: String,
}

struct World {
    runs: Vec<Run>,
    tasks: Vec<Task>,
    others: Vec<Other>,
}

fn world(random: &mut SmallRng) -> World {
    let mut world = World {
        runs: Vec::new(),
        tasks: Vec::new(),
        others: Vec::new(),
    };
    // Every name is in use several times; only two of them together are one run.
    for dag in ["a", "b", "it's"] {
        for run in ["x", "y", "z"] {
            if random.random_bool(0.6) {
                let state = ["success", "failed", "success", "running"]
                    .choose(random)
                    .expect("there are some");
                let old = random.random_bool(0.8);
                let id = i32::try_from(world.runs.len()).expect("a few") + 1;
                world.runs.push(Run {
                    id,
                    name: [dag, run],
                    due: old && *state != "running",
                    values: format!(
                        "{id}, {}, {}, '{state}', '{}'",
                        text(dag),
                        text(run),
                        if old { "2025-10-01" } else { "2026-01-10" }
                    ),
                });
            }
        }
    }
    for run in 0..world.runs.len() {
        for name in ["t", "u"] {
            for map_index in [-1, 0] {
                if random.random_bool(0.5) {
                    let id = format!("00000000-0000-0000-0000-{:012}", world.tasks.len());
                    world.tasks.push(Task {
                        id,
                        run,
                        name,
                        map_index,
                    });
                }
            }
        }
    }
    for id in 1..=random.random_range(0..40) {
        let table = *[
            "message", "message", "pause", "pair", "mixed", "mixed", "audit", "review",
        ]
        .choose(random)
        .expect("there are some");
        // What keeps families is rare, or none would go.
        if ["audit", "review"].contains(&table) && random.random_bool(0.8) {
            continue;
        }
        let other = world.other(table, id, random);
        world.others.push(other);
    }
    world
}

impl World {
    fn other(&self, table: &'static str, id: i32, random: &mut SmallRng) -> Other {
        let some = |count: usize, random: &mut SmallRng| {
            (count > 0 && random.random_bool(0.85)).then(|| random.random_range(0..count))
        };
        let (one, two) = (some(self.runs.len(), random), some(self.runs.len(), random));
        let task = some(self.tasks.len(), random);
        // A key of which a part is missing names nothing.
        let half = random.random_bool(0.3);
        let run_name = |run: Option<usize>| match run {
            Some(at) => format!(
                "{}, {}",
                text(self.runs[at].name[0]),
                text(self.runs[at].name[1])
            ),
            None if half => format!("{}, NULL", text("a")),
            None => "NULL, NULL".to_owned(),
        };
        let task_name = || match task {
            Some(at) => {
                let task = &self.tasks[at];
                let [dag, run] = self.runs[task.run].name;
                format!(
                    "{}, '{}', {}, {}",
                    text(dag),
                    task.name,
                    text(run),
                    task.map_index
                )
            }
            None if half => "'a', 't', 'x', NULL".to_owned(),
            None => "NULL, NULL, NULL, NULL".to_owned(),
        };
        let task_id = || task.map_or("NULL".to_owned(), |at| format!("'{}'", self.tasks[at].id));
        let run_id = || two.map_or("NULL".to_owned(), |at| self.runs[at].id.to_string());
        let (runs, tasks, values) = match table {
            "message" | "audit" => (vec![], vec![task], task_name()),
            "pause" => (vec![], vec![task], task_id()),
            "pair" => (
                vec![one, two],
                vec![],
                format!("{}, {}", run_name(one), run_name(two)),
            ),
            "review" => (vec![one], vec![], run_name(one)),
            _ => (
                vec![one, two],
                vec![task],
                format!("{}, {}, {}", task_id(), run_name(one), run_id()),
            ),
        };
        Other {
            table,
            id,
            runs: runs.into_iter().flatten().collect(),
            tasks: tasks.into_iter().flatten().collect(),
            values: format!("{id}, {values}"),
        }
    }

    fn inserts(&self) -> String {
        let mut script = String::new();
        for run in &self.runs {
            script += &format!("INSERT INTO dag_run VALUES ({});\n", run.values);
        }
        for task in &self.tasks {
            let [dag, run] = self.runs[task.run].name;
            script += &format!(
                "INSERT INTO task VALUES ('{}', {}, '{}', {}, {});\n",
                task.id,
                text(dag),
                task.name,
                text(run),
                task.map_index
            );
        }
        for other in &self.others {
            script += &format!("INSERT INTO {} VALUES ({});\n", other.table, other.values);
        }
        script
    }

    fn is_kept(&self, run: usize) -> bool {
        self.others.iter().any(|other| match other.table {
            "audit" => other.tasks.iter().any(|task| self.tasks[*task].run == run),
            "review" => other.runs.contains(&run),
            _ => false,
        })
    }

    /// The rows that go, by table and key.
    fn gone(&self) -> BTreeSet<(&'static str, String)> {
        let goes = |run: usize| self.runs[run].due && !self.is_kept(run);
        let runs = (0..self.runs.len()).filter(|run| goes(*run));
        let tasks = self.tasks.iter().filter(|task| goes(task.run));
        let others = self.others.iter().filter(|other| {
            !["audit", "review"].contains(&other.table)
                && (other.runs.iter().any(|run| goes(*run))
                    || other.tasks.iter().any(|task| goes(self.tasks[*task].run)))
        });
        runs.map(|run| ("dag_run", self.runs[run].id.to_string()))
            .chain(tasks.map(|task| ("task", task.id.clone())))
            .chain(others.map(|other| (other.table, other.id.to_string())))
            .collect()
    }
}

fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn contents(database: &mut Installation) -> BTreeSet<(&'static str, String)> {
    let mut rows = BTreeSet::new();
    let text = match database.dialect {
        Dialect::Postgres => "text",
        Dialect::Mysql | Dialect::Mariadb => "char",
    };
    for table in TABLES {
        let keys = database.texts(&format!("SELECT CAST(id AS {text}) FROM {table}"));
        rows.extend(keys.into_iter().map(|key| (table, key)));
    }
    rows
}

fn rows_are_told_apart_by_all_columns_of_an_edge(dialect: Dialect) {
    let mut database = Installation::of(dialect, &schema(dialect), &graph());
    database.arm();
    let (mut families, mut kept) = (0, 0);
    for seed in seeds("worlds of composite keys", dialect, fewer(dialect, 30)) {
        let world = world(&mut SmallRng::seed_from_u64(seed));
        for table in TABLES {
            database.execute(&format!("DELETE FROM {table}"));
        }
        database.execute(&world.inserts());
        let before = contents(&mut database);
        let gone = world.gone();
        let mut tables: BTreeMap<&str, usize> = TABLES
            .into_iter()
            .filter(|table| !["audit", "review"].contains(table))
            .map(|table| (table, 0))
            .collect();
        for (table, _) in &gone {
            *tables.entry(table).or_default() += 1;
        }
        let stay = (0..world.runs.len()).filter(|run| world.runs[*run].due && world.is_kept(*run));
        let skipped = match stay.count() {
            0 => json!({}),
            stay => json!({"REFERENCED": stay}),
        };
        let options = json!({"as_of": "2026-01-15T00:00:00Z"});
        let dry = json!({"as_of": "2026-01-15T00:00:00Z", "dry_run": true});
        let documents = [
            database.preview(options.clone()).expect("a preview"),
            database.run(dry).expect("a dry run"),
        ];
        assert_eq!(contents(&mut database), before, "seed {seed}: a dry run");
        let run = database.run(options.clone()).expect("a run");
        assert_eq!(run["status"], "done", "seed {seed}: {run}");
        for document in documents.iter().chain([&run]) {
            let rule = &document["rules"][0];
            assert_eq!(rule["tables"], json!(tables), "seed {seed}: {document}");
            assert_eq!(rule["skipped"], skipped, "seed {seed}: {document}");
        }
        let left: BTreeSet<_> = before.difference(&gone).cloned().collect();
        assert_eq!(contents(&mut database), left, "seed {seed}");
        let again = database.run(options).expect("a second run");
        assert_eq!(again["rules"][0]["rows"], 0, "seed {seed}: {again}");
        families += tables["dag_run"];
        kept += usize::from(skipped != json!({}));
    }
    assert!(
        families > enough(fewer(dialect, 50)) && kept > enough(fewer(dialect, 5)),
        "{families} {kept}"
    );
    let verify = database.call("verify", json!({})).expect("a verification");
    let checks = verify["checks"].as_array().expect("checks");
    let of = |what: &'static str| checks.iter().filter(move |check| check["check"] == what);
    // One for each edge, whatever it does.
    assert_eq!(of("orphans").count(), 10, "{verify}");
    for check in of("orphans").chain(of("index")) {
        assert_eq!(check["severity"], "ok", "{check}");
    }
}

/// What a trigger keeps is missed while the rows are still there by which it is found.
fn a_row_that_a_trigger_keeps_keeps_its_family() {
    let dialect = Dialect::Postgres;
    let mut database = Installation::of(dialect, &schema(dialect), &graph());
    database.arm();
    database.execute(
        "INSERT INTO dag_run VALUES (1, 'a', 'x', 'success', '2025-10-01'), (2, 'a', 'y', 'success', '2025-10-01');
         INSERT INTO task VALUES ('00000000-0000-0000-0000-000000000001', 'a', 't', 'x', -1), ('00000000-0000-0000-0000-000000000002', 'a', 't', 'y', -1);
         INSERT INTO message VALUES (1, 'a', 't', 'x', -1), (2, 'a', 't', 'y', -1);
         CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN CASE WHEN OLD.id = 2 THEN OLD END; END$$;
         CREATE TRIGGER keep BEFORE DELETE ON message FOR EACH ROW EXECUTE FUNCTION keep()",
    );
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(
        run["rules"][0]["failures"][0]["message"],
        "rows of message could not be deleted"
    );
    assert_eq!(
        database.texts("SELECT run_id FROM task"),
        ["x"],
        "the other family went"
    );
    assert_eq!(database.number("SELECT count(*) FROM message"), 1);
}
