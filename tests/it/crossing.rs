//! Rules by removal time whose rows name rows of other families: none goes that a row names which stays.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::effort;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::keyed::{self, Cleaned, Rows};

tests! {
    every_server: [
        a_family_stays_whose_row_something_names_that_stays,
        families_that_name_each_other_go_together,
        what_belongs_to_no_family_stays_for_what_names_it,
        a_purge_takes_families_that_name_each_other_if_all_are_named,
        rows_that_name_each_other_go_as_the_model_says,
    ],
}

/// A job has tasks, logs of a task, which may be one of another job, marks on a log, and ties between two jobs.
const SPEC: &str = r#"
name = "crossing"

[tables]
job  = { key = "id bigint" }
task = { key = "id bigint", parents = ["job_id -> job.id"] }
log  = { key = "id bigint", parents = ["job_id -> job.id", "task_id -> task.id"], with = "any" }
mark = { key = "id bigint", parents = ["job_id -> job.id", "log_id -> log.id"], with = "any" }
tie  = { key = "id bigint", parents = ["one -> job.id", "other -> job.id", "task_id -> task.id"], with = "any" }

[rules.history]
strategy   = "removal-time"
root       = "job"
time       = "removal"
tables     = ["tie: one, other", "mark: job_id", "log: job_id", "task: job_id", "job"]
retention  = { safety_lag = "1h" }
limits     = { batch_families = 1 }
"#;

/// Children first.
const TABLES: [&str; 5] = ["tie", "mark", "log", "task", "job"];

pub(crate) fn graph() -> Graph {
    graph_of(SPEC)
}

fn database(dialect: Dialect) -> Installation {
    let removal = match dialect {
        Dialect::Postgres => "removal timestamp",
        Dialect::Mysql | Dialect::Mariadb => "removal datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE job (id bigint PRIMARY KEY, {removal});
         CREATE TABLE task (id bigint PRIMARY KEY, job_id bigint, {removal});
         CREATE TABLE log (id bigint PRIMARY KEY, job_id bigint, task_id bigint, {removal});
         CREATE TABLE mark (id bigint PRIMARY KEY, job_id bigint, log_id bigint, {removal});
         CREATE TABLE tie (id bigint PRIMARY KEY, one bigint, other bigint, task_id bigint, {removal});"
    );
    let mut database = Installation::of(dialect, &schema, &graph());
    database.arm();
    database
}

/// A row: its table, its key, the families that it is of, what it names, and its removal time.
type Row = (
    &'static str,
    i64,
    [Option<i64>; 2],
    Option<i64>,
    Option<&'static str>,
);

const DUE: Option<&str> = Some("2020-02-01");
const EARLIER: Option<&str> = Some("2020-01-01");
const LATER: Option<&str> = Some("2020-03-01");
const YOUNG: Option<&str> = Some("2999-01-01");

fn job(id: i64, removal: Option<&'static str>) -> Row {
    ("job", id, [Some(id), None], None, removal)
}

fn task(id: i64, job: Option<i64>, removal: Option<&'static str>) -> Row {
    ("task", id, [job, None], None, removal)
}

fn log(id: i64, job: Option<i64>, task: Option<i64>, removal: Option<&'static str>) -> Row {
    ("log", id, [job, None], task, removal)
}

fn mark(id: i64, job: Option<i64>, log: Option<i64>, removal: Option<&'static str>) -> Row {
    ("mark", id, [job, None], log, removal)
}

fn tie(id: i64, of: [Option<i64>; 2], task: Option<i64>, removal: Option<&'static str>) -> Row {
    ("tie", id, of, task, removal)
}

/// Puts these rows in the place of all others, and these jobs on hold.
fn load(database: &mut Installation, rows: &[Row], held: &[i64]) {
    let mut sql = String::new();
    for (table, id, of, names, removal) in rows {
        let null = |value: &Option<i64>| value.map_or("NULL".to_owned(), |it| it.to_string());
        let removal = removal.map_or("NULL".to_owned(), |it| format!("'{it}'"));
        let (columns, values) = match *table {
            "job" => ("id", id.to_string()),
            "task" => ("id, job_id", format!("{id}, {}", null(&of[0]))),
            "log" => (
                "id, job_id, task_id",
                format!("{id}, {}, {}", null(&of[0]), null(names)),
            ),
            "mark" => (
                "id, job_id, log_id",
                format!("{id}, {}, {}", null(&of[0]), null(names)),
            ),
            _ => (
                "id, one, other, task_id",
                format!("{id}, {}, {}, {}", null(&of[0]), null(&of[1]), null(names)),
            ),
        };
        sql += &format!("INSERT INTO {table} ({columns}, removal) VALUES ({values}, {removal});\n");
    }
    keyed::load(database, &TABLES, &sql, held);
}

fn left(database: &mut Installation) -> Rows {
    keyed::left(database, &TABLES)
}

fn keys(rows: &[Row]) -> Rows {
    rows.iter().map(|row| (row.0, row.1)).collect()
}

fn a_family_stays_whose_row_something_names_that_stays(dialect: Dialect) {
    let mut database = database(dialect);
    let both = |id: i64| [job(id, DUE), task(id * 10, Some(id), DUE)];
    let base = [both(1), both(2), both(3)].concat();
    let named = [("REFERENCED", 1)];
    type Case = (&'static str, Vec<Row>, i64, Vec<(&'static str, i64)>);
    let cases: [Case; 8] = [
        (
            "a log of the held one names a task of the first",
            vec![log(1, Some(2), Some(10), EARLIER)],
            1,
            named.to_vec(),
        ),
        (
            "and the first has a log that a mark of the held one names",
            vec![
                log(1, Some(1), None, DUE),
                mark(1, Some(2), Some(1), EARLIER),
            ],
            1,
            named.to_vec(),
        ),
        (
            "what names it is of a family that what stays names",
            vec![
                log(1, Some(3), Some(10), DUE),
                log(2, Some(2), Some(30), DUE),
            ],
            0,
            vec![("REFERENCED", 2)],
        ),
        (
            "a row of no family that never goes",
            vec![log(1, None, Some(10), None)],
            1,
            named.to_vec(),
        ),
        (
            "a row whose root is gone and that goes later",
            vec![log(1, Some(9), Some(10), YOUNG)],
            1,
            named.to_vec(),
        ),
        (
            "a row of a family that is not due",
            vec![job(4, YOUNG), log(1, Some(4), Some(10), DUE)],
            1,
            named.to_vec(),
        ),
        (
            "a tie of the held one and itself goes with it",
            vec![tie(1, [Some(1), Some(2)], Some(10), DUE)],
            2,
            vec![],
        ),
        (
            "a tie of the held one alone does not",
            vec![tie(1, [Some(2), None], Some(10), DUE)],
            1,
            named.to_vec(),
        ),
    ];
    for (what, more, families, skipped) in cases {
        let rows = [base.clone(), more].concat();
        load(&mut database, &rows, &[2]);
        let cleaned = keyed::cleaned(&mut database, what);
        let (found, why) = (cleaned.families, cleaned.skipped);
        let mut expected: BTreeMap<&str, i64> = skipped.into_iter().collect();
        expected.insert("HELD", 1);
        assert_eq!(found, families, "{what}");
        assert_eq!(why, json!(expected), "{what}");
        dangles(&mut database, what);
        let left = left(&mut database);
        assert_eq!(
            left.contains(&("task", 10)),
            families < 2,
            "{what}: {left:?}"
        );
        assert!(left.contains(&("task", 20)), "{what}: {left:?}");
        database.execute("DELETE FROM W.hold");
        let found = keyed::cleaned(&mut database, what).families;
        let again = if what.contains("never") || what.contains("later") || what.contains("not due")
        {
            1
        } else {
            3 - families
        };
        assert_eq!(found, again, "{what}, released");
    }
}

/// No row names one that is not there, but for roots that never were.
fn dangles(database: &mut Installation, context: &str) {
    for (child, column, parent) in [
        ("log", "task_id", "task"),
        ("mark", "log_id", "log"),
        ("tie", "task_id", "task"),
    ] {
        let sql = format!(
            "SELECT c.id FROM {child} AS c LEFT JOIN {parent} AS p ON p.id = c.{column} WHERE c.{column} IS NOT NULL AND p.id IS NULL"
        );
        assert_eq!(database.texts(&sql), [""; 0], "{context}: {child}.{column}");
    }
}

fn families_that_name_each_other_go_together(dialect: Dialect) {
    let mut database = database(dialect);
    // Each names the one before; the first names the last.
    let mut rows = Vec::new();
    for id in 1..=4 {
        rows.extend([
            job(id, DUE),
            task(id, Some(id), DUE),
            log(id, Some(id), Some(if id == 1 { 4 } else { id - 1 }), DUE),
        ]);
    }
    load(&mut database, &rows, &[]);
    let Cleaned {
        families, skipped, ..
    } = keyed::cleaned(&mut database, "");
    assert_eq!((families, skipped), (4, json!({})));
    assert_eq!(left(&mut database), Rows::new());
    let batches = "SELECT batches FROM W.run_rule ORDER BY run_id DESC LIMIT 1";
    assert_eq!(database.number(batches), 1);
    // One that is held keeps all of them.
    load(&mut database, &rows, &[3]);
    let Cleaned {
        families, skipped, ..
    } = keyed::cleaned(&mut database, "");
    assert_eq!(
        (families, skipped),
        (0, json!({"HELD": 1, "REFERENCED": 3}))
    );
    assert_eq!(left(&mut database), keys(&rows));
}

fn what_belongs_to_no_family_stays_for_what_names_it(dialect: Dialect) {
    let mut database = database(dialect);
    let held = [job(1, DUE), log(1, Some(1), Some(71), EARLIER)];
    let chain = [
        task(72, None, LATER),
        log(2, None, Some(72), DUE),
        mark(2, None, Some(2), None),
    ];
    let due = [
        task(73, None, DUE),
        log(3, None, Some(73), DUE),
        mark(3, None, Some(3), EARLIER),
    ];
    let rows = [&held[..], &chain, &due, &[task(71, None, DUE)]].concat();
    load(&mut database, &rows, &[1]);
    let Cleaned {
        families, skipped, ..
    } = keyed::cleaned(&mut database, "");
    assert_eq!(
        (families, skipped),
        (0, json!({"HELD": 1, "REFERENCED": 3}))
    );
    let stays = [&held[..], &chain, &[task(71, None, DUE)]].concat();
    assert_eq!(left(&mut database), keys(&stays));
    // A later run, whose windows begin behind what stayed.
    database.run(json!({})).expect("a run");
    assert_eq!(left(&mut database), keys(&stays));
    database.execute("DELETE FROM W.hold; UPDATE mark SET removal = '2020-01-01'");
    for _ in 0..2 {
        database.run(json!({})).expect("a run");
    }
    assert_eq!(left(&mut database), Rows::new());
}

fn a_purge_takes_families_that_name_each_other_if_all_are_named(dialect: Dialect) {
    let mut database = database(dialect);
    let both = |id: i64| [job(id, YOUNG), task(id * 10, Some(id), YOUNG)];
    let names = [
        log(1, Some(1), Some(20), YOUNG),
        log(2, Some(2), Some(10), YOUNG),
    ];
    let rows = [&both(1)[..], &both(2), &both(3), &names].concat();
    load(&mut database, &rows, &[]);
    let purge = database.purge(json!({"key": [1, 3], "dry_run": true}));
    let purge = purge.expect("a purge");
    assert_eq!(purge["refused"], json!({"1": "REFERENCED"}), "{purge}");
    let second = json!({"1": {"key": "2", "reason": "NOT_NAMED"}});
    assert_eq!(purge["refused_with"], second, "{purge}");
    assert_eq!(purge["rules"][0]["families"], 1, "{purge}");
    let hold = json!({"key": 2, "reason": "audit"});
    database.call("set_hold", hold).expect("a hold");
    let purge = database.purge(json!({"key": [1, 2]}));
    let purge = purge.expect("a purge");
    let second = json!({"1": {"key": "2", "reason": "HELD"}});
    assert_eq!(purge["refused_with"], second, "{purge}");
    database.execute("DELETE FROM W.hold");
    for dry in [true, false] {
        let purge = database.purge(json!({"key": [1, 2], "dry_run": dry}));
        let purge = purge.expect("a purge");
        assert_eq!(purge["refused"], json!({}), "{purge}");
        assert_eq!(purge["rules"][0]["families"], 2, "{purge}");
        assert_eq!(purge["rules"][0]["tables"]["log"], 2, "{purge}");
        assert_eq!(purge["together"], json!(["1", "2"]), "{purge}");
    }
    assert_eq!(left(&mut database), keys(&both(3)));
}

/// What must be left: families first, of which one goes if it is due and unheld, and each row that names one of its rows is
/// of it or of families that all go; then rows of no family, by their time, unless one that is left names them.
fn expected(rows: &[Row], held: &[i64]) -> Rows {
    let is_due = |removal: Option<&str>| removal.is_some_and(|it| it < "2026");
    let parent = |table: &str| match table {
        "log" | "tie" => "task",
        _ => "log",
    };
    let mut going: BTreeSet<i64> = rows
        .iter()
        .filter(|row| row.0 == "job" && is_due(row.4) && !held.contains(&row.1))
        .map(|row| row.1)
        .collect();
    let goes = |going: &BTreeSet<i64>, row: &Row| {
        let mut of = row.2.iter().flatten();
        of.any(|it| going.contains(it))
    };
    // One of two families may go alone.
    let may_be_deleted = |going: &BTreeSet<i64>, row: &Row, family: i64| {
        let all = row.2.iter().flatten().all(|it| going.contains(it));
        row.2.contains(&Some(family)) || all && row.2 != [None, None]
    };
    loop {
        let kept = going.iter().copied().find(|family| {
            rows.iter().any(|row| {
                let names = |it: &&Row| it.0 == parent(row.0) && Some(it.1) == row.3;
                let named = rows.iter().filter(names);
                let mut named = named.filter(|it| it.2.contains(&Some(*family)));
                row.3.is_some() && !may_be_deleted(&going, row, *family) && named.next().is_some()
            })
        });
        match kept {
            Some(family) => going.remove(&family),
            None => break,
        };
    }
    let roots: BTreeSet<i64> = rows
        .iter()
        .filter(|row| row.0 == "job" && !going.contains(&row.1))
        .map(|row| row.1)
        .collect();
    let mut left: Vec<Row> = Vec::new();
    for table in TABLES {
        for row in rows
            .iter()
            .filter(|row| row.0 == table && !goes(&going, row))
        {
            let belongs = row.2.iter().flatten().any(|it| roots.contains(it));
            // What goes later in the same run is there yet.
            let later = |it: &&Row| it.4.is_none() || it.4 > row.4;
            let there = rows.iter().filter(|it| !goes(&going, it));
            let by = there.filter(|it| left.contains(it) || later(it));
            let named = by
                .filter(|it| it.3.is_some())
                .any(|it| (parent(it.0), it.3) == (table, Some(row.1)));
            if belongs || !is_due(row.4) || named {
                left.push(*row);
            }
        }
    }
    keys(&left)
}

fn rows_that_name_each_other_go_as_the_model_says(dialect: Dialect) {
    let mut database = database(dialect);
    let (mut gone, mut kept) = (0, 0);
    for seed in effort::seeds("rows that name each other", dialect, 12) {
        let mut random = SmallRng::seed_from_u64(seed);
        let with_two = random.random_bool(0.5);
        // In some worlds half of the rows are of no family, and name each other in chains.
        let lone = if random.random_bool(0.5) { 0.5 } else { 0.125 };
        let times = [DUE, EARLIER, LATER, YOUNG, None];
        let mut rows = Vec::new();
        let mut held = Vec::new();
        for id in 1..=6 {
            rows.push(job(
                id,
                times[[0, 1, 2, 0, 1, 3, 4][random.random_range(0..7)]],
            ));
            if random.random_bool(0.1) {
                held.push(id);
            }
        }
        // Most rows name one of their own family.
        for table in ["task", "log", "mark", "tie"] {
            for id in 1..=12 {
                let own = (id - 1) % 6 + 1;
                let of = match random.random_range(0..8) {
                    _ if random.random_bool(lone) => None,
                    0 => Some(9),
                    _ => Some(own),
                };
                let names = match random.random_range(0..8) {
                    0 | 1 => None,
                    2 => Some(random.random_range(1..=12)),
                    _ => Some(own),
                };
                let removal = times[random.random_range(0..times.len())];
                rows.push(match table {
                    "task" => task(id, of, removal),
                    "log" => log(id, of, names, removal),
                    "mark" => mark(id, of, names, removal),
                    _ => {
                        let other = (with_two && random.random_bool(0.3))
                            .then(|| random.random_range(1..=6));
                        tie(id, [of, other], names, removal)
                    }
                });
            }
        }
        load(&mut database, &rows, &held);
        let stays = expected(&rows, &held);
        // A preview counts a row of two families with each of them.
        match with_two {
            true => drop(database.run(json!({})).expect("a run")),
            false => drop(keyed::cleaned(&mut database, &format!("seed {seed}"))),
        }
        assert_eq!(left(&mut database), stays, "seed {seed}: {held:?} {rows:?}");
        gone += rows.len() - stays.len();
        kept += stays.len();
    }
    assert!(gone > 0 && kept > 0);
}
