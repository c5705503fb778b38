//! What each rule takes of the tables without a tree, as a model over rows in memory.

use std::collections::{BTreeMap, BTreeSet};

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::airflow::model::{MICROSECONDS_A_DAY, NOW, Row, instant, value};
use crate::support::installation::Installation;

/// A rule with its table, what its key is, and what else the model reads; times begin with `@`.
pub(super) const RULES: [(&str, &str, &[&str]); 8] = [
    (
        "tries",
        "task_instance_history",
        &[
            "task_instance_id",
            "dag_id",
            "task_id",
            "run_id",
            "map_index",
            "try_number",
        ],
    ),
    (
        "task_state",
        "task_state_store",
        &["id", "dag_run_id", "@expires_at"],
    ),
    (
        "asset_state",
        "asset_state_store",
        &["asset_id", "key", "@updated_at"],
    ),
    ("revoked_token", "revoked_token", &["jti", "@exp"]),
    ("log", "log", &["id", "@dttm"]),
    ("import_error", "import_error", &["id", "@timestamp"]),
    ("job", "job", &["id", "state", "@latest_heartbeat"]),
    (
        "connection_test_request",
        "connection_test_request",
        &["id", "state", "@updated_at"],
    ),
];

const HOUR: i64 = 3_600_000_000;

/// The rows of all these tables, the assets that are active, and the earlier tries in which someone was asked.
#[derive(Clone, Debug, PartialEq)]
struct World {
    rows: BTreeMap<&'static str, BTreeSet<Row>>,
    active: BTreeSet<i64>,
    asked: BTreeSet<String>,
}

impl World {
    fn read(database: &mut Installation) -> Self {
        let (text, instant) = match database.dialect {
            Dialect::Postgres => ("text", "(extract(epoch FROM NAME) * 1000000)::bigint"),
            Dialect::Mysql | Dialect::Mariadb => {
                ("char", "CAST(UNIX_TIMESTAMP(NAME) * 1000000 AS signed)")
            }
        };
        let mut rows = BTreeMap::new();
        for (rule, table, columns) in RULES {
            let names: Vec<&str> = columns
                .iter()
                .map(|column| column.trim_start_matches('@'))
                .collect();
            let casts: Vec<String> = columns
                .iter()
                .map(|column| match column.strip_prefix('@') {
                    Some(name) => {
                        let name = format!("t.\"{name}\"");
                        format!("CAST({} AS {text})", instant.replace("NAME", &name))
                    }
                    None => format!("CAST(t.\"{column}\" AS {text})"),
                })
                .collect();
            let found = database.rows(&format!("SELECT {} FROM {table} AS t", casts.join(", ")));
            let row = |values: Vec<Option<String>>| names.iter().copied().zip(values).collect();
            rows.insert(rule, found.into_iter().map(row).collect());
        }
        let active = database.texts(
            "SELECT a.id FROM asset AS a JOIN asset_active AS v ON v.name = a.name AND v.uri = a.uri",
        );
        let active = active.iter().map(|id| id.parse().expect("a number"));
        let asked = format!("SELECT CAST(ti_history_id AS {text}) FROM hitl_detail_history");
        Self {
            rows,
            active: active.collect(),
            asked: database.texts(&asked).into_iter().collect(),
        }
    }
}

/// The key of a row as the documents write it.
pub(super) fn key(rule: &str, row: &Row) -> String {
    match rule {
        "asset_state" => format!(
            "[{}, {}]",
            value(row, "asset_id"),
            Value::from(value(row, "key"))
        ),
        "revoked_token" => value(row, "jti").to_owned(),
        "tries" => value(row, "task_instance_id").to_owned(),
        _ => value(row, "id").to_owned(),
    }
}

/// What a run should do with a table.
#[derive(Debug, Default)]
struct Verdict {
    /// The rows that go, by pass; rules of an age have one pass.
    gone: BTreeMap<&'static str, BTreeSet<Row>>,
    skipped: BTreeMap<&'static str, usize>,
}

fn model(world: &World, rule: &str, held: &BTreeSet<(&str, String)>) -> Verdict {
    let mut verdict = Verdict::default();
    let of_run = |row: &Row| match rule {
        "task_state" => held.contains(&("dag_runs", value(row, "dag_run_id").to_owned())),
        // All tries are of the one run.
        "tries" => held.contains(&("dag_runs", "1".to_owned())),
        _ => false,
    };
    let before = |days: i64, hours: i64| NOW - days * MICROSECONDS_A_DAY - hours * HOUR;
    if rule == "tries" {
        let mut tasks: BTreeMap<_, Vec<(i64, &Row)>> = BTreeMap::new();
        for row in &world.rows[rule] {
            let task = ["dag_id", "task_id", "run_id", "map_index"].map(|name| value(row, name));
            let number = value(row, "try_number").parse().expect("a number");
            tasks.entry(task).or_default().push((number, row));
        }
        for tries in tasks.values_mut() {
            tries.sort_by_key(|(number, _)| -number);
            for (_, row) in tries.iter().skip(3) {
                if held.contains(&(rule, key(rule, row))) || of_run(row) {
                    *verdict.skipped.entry("HELD").or_default() += 1;
                } else {
                    verdict
                        .gone
                        .entry("surplus")
                        .or_default()
                        .insert((*row).clone());
                }
            }
        }
        return verdict;
    }
    for row in &world.rows[rule] {
        let has_ended = || ["success", "failed"].contains(&value(row, "state"));
        // In which pass the row may go, by which time, and what that must lie before.
        let (pass, time, limit) = match rule {
            "task_state" if row["expires_at"].is_some() => ("expired", "expires_at", NOW),
            // What Airflow gives no expiry never expires.
            "task_state" => continue,
            "asset_state" => {
                let asset = value(row, "asset_id").parse().expect("a number");
                if world.active.contains(&asset) {
                    continue;
                }
                ("orphan", "updated_at", before(14, 1))
            }
            "revoked_token" => ("expired", "exp", NOW),
            "log" => ("age", "dttm", before(90, 24)),
            "import_error" => ("age", "timestamp", before(90, 24)),
            "job" if has_ended() => ("age", "latest_heartbeat", before(90, 24)),
            "connection_test_request" if has_ended() => ("age", "updated_at", before(30, 1)),
            _ => continue,
        };
        match instant(row, time) {
            None => *verdict.skipped.entry("UNDATED_MEMBER").or_default() += 1,
            Some(time) if time >= limit => {}
            Some(_) if held.contains(&(rule, key(rule, row))) || of_run(row) => {
                *verdict.skipped.entry("HELD").or_default() += 1;
            }
            Some(_) => drop(verdict.gone.entry(pass).or_default().insert(row.clone())),
        }
    }
    verdict
}

pub(in crate::airflow) const AS_OF: &str = "2026-01-15T00:00:00Z";

pub(super) fn of_rule<'a>(document: &'a Value, rule: &str) -> &'a Value {
    let rules = document["rules"].as_array().expect("rules");
    let found = rules.iter().find(|one| one["rule"] == rule);
    found.unwrap_or_else(|| panic!("no {rule} in {document}"))
}

/// Runs all rules, and compares what is left and what the documents say with the model. Answers the rows by rule and pass,
/// and those that were skipped by rule and reason.
pub(super) fn check(
    database: &mut Installation,
    held: &BTreeSet<(&str, String)>,
) -> BTreeMap<String, usize> {
    let before = World::read(database);
    let options = json!({"as_of": AS_OF});
    let dry = json!({"as_of": AS_OF, "dry_run": true});
    let documents = [
        database.preview(options.clone()).expect("a preview"),
        database.run(dry).expect("a dry run"),
    ];
    assert!(World::read(database) == before, "a dry run changes nothing");
    let run = database.run(options.clone()).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    let after = World::read(database);
    let mut counts = BTreeMap::new();
    for (rule, table, _) in RULES {
        let verdict = model(&before, rule, held);
        let gone: BTreeSet<Row> = verdict.gone.values().flatten().cloned().collect();
        let stays: BTreeSet<Row> = before.rows[rule].difference(&gone).cloned().collect();
        assert_eq!(after.rows[rule], stays, "{rule}");
        // What goes with the rows, before them.
        let mut tables: BTreeMap<&str, usize> = [(table, gone.len())].into();
        if rule == "tries" {
            let mut asked = before.asked.clone();
            for row in &gone {
                asked.remove(value(row, "task_instance_id"));
            }
            assert_eq!(after.asked, asked);
            tables.insert("hitl_detail_history", before.asked.len() - asked.len());
        }
        let rows: usize = tables.values().sum();
        for document in documents.iter().chain([&run]) {
            let of_rule = of_rule(document, rule);
            assert_eq!(of_rule["families"], gone.len(), "{of_rule}");
            assert_eq!(of_rule["rows"], rows, "{of_rule}");
            assert_eq!(of_rule["tables"], json!(tables), "{of_rule}");
            assert_eq!(of_rule["skipped"], json!(verdict.skipped), "{of_rule}");
            for pass in of_rule["passes"].as_array().into_iter().flatten() {
                let name = pass["pass"].as_str().expect("a name");
                let rows = verdict.gone.get(name).map_or(0, BTreeSet::len);
                assert_eq!(pass["rows"], rows, "{of_rule}");
            }
        }
        counts.insert(format!("{rule} below"), rows - gone.len());
        for (pass, rows) in verdict.gone {
            counts.insert(format!("{rule} {pass}"), rows.len());
        }
        for (reason, rows) in verdict.skipped {
            counts.insert(format!("{rule} {reason}"), rows);
        }
        counts.insert(format!("{rule} left"), stays.len());
    }
    let again = database.run(options).expect("a second run");
    for (rule, ..) in RULES {
        assert_eq!(of_rule(&again, rule)["rows"], 0, "{again}");
    }
    counts
}

/// A random time around every limit, to the microsecond; NULL now and then.
pub(super) fn time(random: &mut SmallRng, may_lack: bool) -> String {
    if may_lack && random.random_bool(0.15) {
        return "NULL".to_owned();
    }
    let days = *[0, 1, 7, 8, 14, 30, 31, 91, 200]
        .choose(random)
        .expect("a number of days");
    let hours = *[0, 1].choose(random).expect("a number of hours");
    let at = days * 86_400 + hours * 3_600;
    let off = random.random_range(-1..=1);
    match off {
        0 => format!("timestamp '2026-01-15 00:00:00' - interval '{at}' second"),
        -1 => format!("timestamp '2026-01-14 23:59:59.999999' - interval '{at}' second"),
        _ => format!("timestamp '2026-01-15 00:00:00.000001' - interval '{at}' second"),
    }
}
