//! Rows that another row names, instead of naming it (`or alone`), below roots whose keys and definitions are texts.

use std::collections::BTreeSet;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::support::effort::{enough, seeds};
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

const SPEC: &str = r#"
name = "named"

[tables]
job     = { key = "id varchar" }
part    = { key = "id varchar", parents = ["job_id -> job.id"] }
note    = { key = "id varchar", parents = ["part_id -> part.id"] }
content = { key = "id varchar", parents = [
    "id -> part.value_id or alone",
    "id -> note.value_id or alone",
], with = "any", indexed = ["id"] }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended"
retention = { per = "kind varchar", from = "job_kind: name -> keep hours", safety_lag = "0s" }
limits    = { batch_families = 3 }
"#;

/// Children before parents, as they can be emptied.
const TABLES: [&str; 4] = ["content", "note", "part", "job"];

/// Kinds with the hours that they are kept; the last has no row.
const KINDS: [(&str, Option<i64>); 5] = [
    ("it's \"a\"", Some(240)),
    ("Ünï — 定義", Some(1_000)),
    ("unsaid", None),
    ("under the minimum", Some(1)),
    ("gone", None),
];

tests! {
    every_server: [
        what_a_row_names_goes_with_it,
        what_the_column_has_no_room_for_is_the_scope_of_no_row,
    ],
}

fn schema(dialect: Dialect) -> String {
    // Another collation than that of the control tables.
    let (time, like) = match dialect {
        Dialect::Postgres => ("timestamp", ""),
        Dialect::Mysql | Dialect::Mariadb => ("datetime", " COLLATE utf8mb4_general_ci"),
    };
    format!(
        "CREATE TABLE job_kind (name varchar(50) PRIMARY KEY, keep integer){like};
CREATE TABLE job (id varchar(64) PRIMARY KEY, kind varchar(50), state varchar(20), ended {time}){like};
CREATE TABLE part (id varchar(64) PRIMARY KEY, job_id varchar(64), value_id varchar(64)){like};
CREATE TABLE note (id varchar(64) PRIMARY KEY, part_id varchar(64), value_id varchar(64)){like};
CREATE TABLE content (id varchar(64) PRIMARY KEY){like};
"
    )
}

/// A row with the one that it belongs to, and the value that it names.
struct Row {
    table: &'static str,
    id: String,
    parent: Option<String>,
    value: Option<String>,
}

/// Fills the tables, and answers what should go by table and key.
fn fill(database: &mut Installation, random: &mut SmallRng) -> BTreeSet<(&'static str, String)> {
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let or_null = |value: &Option<String>| value.as_ref().map_or("NULL".to_owned(), |it| text(it));
    let mut sql = String::from("DELETE FROM job_kind;\n");
    for table in TABLES {
        sql += &format!("DELETE FROM {table};\n");
    }
    for (kind, hours) in &KINDS[..4] {
        let hours = hours.map_or("NULL".to_owned(), |hours| hours.to_string());
        sql += &format!("INSERT INTO job_kind VALUES ({}, {hours});\n", text(kind));
    }
    let mut gone = BTreeSet::new();
    let jobs = random.random_range(1..12);
    for job in 0..jobs {
        let (kind, hours) = KINDS.choose(random).expect("there are some");
        // Hours before the run, on both sides of every cutoff.
        let ended = *[1, 167, 168, 169, 240, 241, 1_000, 1_001]
            .choose(random)
            .expect("some");
        let state = if random.random_bool(0.8) {
            "done"
        } else {
            "busy"
        };
        // The fourteenth, less so many hours.
        let (day, hour) = (14 - (ended + 23) / 24, (24 - ended % 24) % 24);
        let date = match day {
            1.. => format!("2026-01-{day:02}"),
            _ => format!("2025-12-{:02}", 31 + day),
        };
        sql += &format!(
            "INSERT INTO job VALUES ('job {job}', {}, '{state}', '{date} {hour:02}:00:00');\n",
            text(kind)
        );
        if state == "done" && hours.is_some_and(|hours| ended > hours.max(168)) {
            gone.insert(("job", format!("job {job}")));
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for (table, parent) in [("part", "job"), ("note", "part")] {
        let parents: Vec<String> = match parent {
            "job" => (0..jobs).map(|job| format!("job {job}")).collect(),
            _ => rows.iter().map(|row| row.id.clone()).collect(),
        };
        for number in 0..random.random_range(0..15) {
            let row = Row {
                table,
                id: format!("{table} {number}"),
                parent: parents.choose(random).filter(|_| number % 5 > 0).cloned(),
                value: random
                    .random_bool(0.6)
                    .then(|| format!("value of {table} {number}")),
            };
            let belongs = row
                .parent
                .iter()
                .any(|id| gone.contains(&(parent, id.clone())));
            if belongs {
                gone.insert((table, row.id.clone()));
                gone.extend(row.value.iter().map(|id| ("content", id.clone())));
            }
            rows.push(row);
        }
    }
    for row in &rows {
        let (id, parent, value) = (text(&row.id), or_null(&row.parent), or_null(&row.value));
        if row.value.is_some() {
            sql += &format!("INSERT INTO content VALUES ({value});\n");
        }
        sql += &format!(
            "INSERT INTO {} VALUES ({id}, {parent}, {value});\n",
            row.table
        );
    }
    sql += "INSERT INTO content VALUES ('of nobody'), ('of nobody else')";
    database.execute(&sql);
    gone
}

fn contents(database: &mut Installation) -> BTreeSet<(&'static str, String)> {
    let mut rows = BTreeSet::new();
    for table in TABLES {
        let keys = database.texts(&format!("SELECT id FROM {table}"));
        rows.extend(keys.into_iter().map(|key| (table, key)));
    }
    rows
}

fn what_a_row_names_goes_with_it(dialect: Dialect) {
    let graph = graph_of(SPEC);
    let mut database = Installation::of(dialect, &schema(dialect), &graph);
    database.arm();
    let (mut jobs, mut values) = (0, 0);
    for seed in seeds("worlds of named rows", dialect, 20) {
        let gone = fill(&mut database, &mut SmallRng::seed_from_u64(seed));
        let count = |of: &str| gone.iter().filter(|(table, _)| *table == of).count();
        jobs += count("job");
        values += count("content");
        let before = contents(&mut database);
        let options = json!({"as_of": "2026-01-14T00:00:00Z"});
        let preview = database.preview(options.clone()).expect("a preview");
        let run = database.run(options.clone()).expect("a run");
        assert_eq!(run["status"], "done", "seed {seed}: {run}");
        for document in [&preview, &run] {
            let rule = &document["rules"][0];
            assert_eq!(rule["families"], count("job"), "seed {seed}: {rule}");
            for table in TABLES {
                let found = &rule["tables"][table];
                assert_eq!(*found, count(table), "seed {seed}, {table}: {rule}");
            }
        }
        let left: BTreeSet<_> = before.difference(&gone).cloned().collect();
        assert_eq!(contents(&mut database), left, "seed {seed}");
        let again = database.run(options).expect("a second run");
        assert_eq!(again["rules"][0]["rows"], 0, "seed {seed}: {again}");
    }
    assert!(jobs >= enough(20) && values > enough(10), "{jobs} {values}");
    let verify = database.call("verify", json!({})).expect("a verification");
    let checks = verify["checks"].as_array().expect("checks");
    let orphans: Vec<_> = checks
        .iter()
        .filter(|check| check["check"] == "orphans")
        .collect();
    // Values that nobody names are none.
    assert_eq!(orphans.len(), 2, "{orphans:?}");
    assert!(
        orphans.iter().all(|check| check["severity"] == "ok"),
        "{orphans:?}"
    );
}

const ROOMY: &str = r#"
name = "roomy"

[tables]
job  = { key = "id bigint" }
task = { key = "id bigint" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended"
retention = { per = "kind varchar", from = "job_kind: name -> keep days", safety_lag = "0s" }

[rules.tasks]
strategy  = "end-time"
root      = "task"
final     = { state = "done" }
end_time  = "ended"
retention = { per = "team bigint", from = "team: id -> keep days", default = "30d", safety_lag = "0s" }
"#;

/// A definition, or a policy, with a text too long for the column of the roots, with a sign that its character set lacks, or with a
/// number that is too large: it is no other scope's, and stops nothing.
fn what_the_column_has_no_room_for_is_the_scope_of_no_row(dialect: Dialect) {
    let graph = graph_of(ROOMY);
    let (time, narrow, wide) = match dialect {
        Dialect::Postgres => ("timestamp", "varchar(20)", ""),
        Dialect::Mysql | Dialect::Mariadb => (
            "datetime",
            "varchar(20) CHARACTER SET latin1",
            " CHARACTER SET utf8mb4",
        ),
    };
    let schema = format!(
        "CREATE TABLE job_kind (name varchar(100){wide} PRIMARY KEY, keep integer);
         CREATE TABLE team (id bigint PRIMARY KEY, keep integer);
         CREATE TABLE job (id bigint PRIMARY KEY, kind {narrow}, state varchar(20), ended {time});
         CREATE TABLE task (id bigint PRIMARY KEY, team integer, state varchar(20), ended {time});"
    );
    let mut database = Installation::of(dialect, &schema, &graph);
    database.arm();
    database.execute(
        "INSERT INTO job VALUES (1, 'nightly', 'done', '2025-01-01'), (2, 'a kind that no run h', 'done', '2025-01-01'),
             (3, '????', 'done', '2025-01-01'), (4, 'weekly', 'done', '2025-12-20');
         INSERT INTO task VALUES (1, 2147483647, 'done', '2025-01-01'), (2, 7, 'done', '2025-12-20'), (3, 8, 'done', '2025-12-20')",
    );
    let (mut said, mut teams) = (Vec::new(), Vec::new());
    for number in 0..40 {
        said.push(format!(
            "('a kind that no run has had so far, {number}', 1)"
        ));
        said.push(format!("('kind {number}', 1)"));
        teams.push(format!("({}, 1)", 3_000_000_000_i64 + number));
        teams.push(format!("({}, 1)", 100 + number));
    }
    database.execute(&format!(
        "INSERT INTO job_kind VALUES ('nightly', 7), ('a kind that no run has had', 7), ('weekly', 100), {};
         INSERT INTO team VALUES (7, 7), (9223372036854775807, 7), (2147483647, NULL), {}",
        said.join(", "),
        teams.join(", ")
    ));
    due_by_the_clock(&mut database);
    database.execute("INSERT INTO job_kind VALUES ('łódź', 7)");
    let options = json!({"as_of": "2026-01-14T00:00:00Z"});
    let preview = database.preview(options.clone()).expect("a preview");
    assert_eq!(preview["rules"][0]["families"], 1, "{preview}");
    let policy = json!({"rule": "jobs", "scope": "łęk", "retention": "30d"});
    database.call("set_policy", policy).expect("a policy");
    let run = database.run(options).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(
        database.texts("SELECT id FROM job ORDER BY id"),
        ["2", "3", "4"]
    );
    assert_eq!(database.texts("SELECT id FROM task ORDER BY id"), ["3"]);
}

/// What is due by now, and how many metrics there are.
fn due_by_the_clock(database: &mut Installation) {
    let modes: &[&str] = match database.dialect {
        Dialect::Postgres => &[],
        Dialect::Mysql | Dialect::Mariadb => &["", "STRICT_ALL_TABLES"],
    };
    for mode in modes {
        database.execute(&format!("SET SESSION sql_mode = '{mode}'"));
        for view in ["due_now", "backlog"] {
            let due = format!("SELECT CONCAT(families, '') FROM W.{view} ORDER BY rule");
            assert_eq!(database.texts(&due), ["2", "3"], "{view} {mode}");
        }
        assert!(database.number("SELECT COUNT(*) FROM W.metrics") > 9);
    }
}
