//! Two workers that share out the rows of one table by windows of time, or single rows, beside one of the same installation.

use std::thread::{self, sleep};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use windrow::db::{self, Database};
use windrow::dialect::Dialect;

use crate::idle::{installed_as, numbers};
use crate::plan::ROUNDS;
use crate::report::{Report, Workers};

/// The rules, each with the name of its table, and what they are called.
const RULES: [(&str, &str); 2] = [
    ("log", "windows of one table, "),
    ("state", "rows that expire, "),
];

/// How many rows a table has; nine in ten go. On MySQL and MariaDB a row costs several times as much.
fn rows(dialect: Dialect) -> u32 {
    match dialect {
        Dialect::Postgres => 1_600_000,
        Dialect::Mysql | Dialect::Mariadb => 400_000,
    }
}

/// `url` answers the address of a database, `cost` the CPU and wall seconds of work that the sessions of these numbers do.
pub(crate) fn measure(
    dialect: Dialect,
    url: impl Fn(&str) -> String,
    cost: impl Fn(&[i64], &mut dyn FnMut() -> Result<()>) -> Result<(f64, f64)>,
    report: &mut Report,
) -> Result<()> {
    let databases = ["windows", "windows_beside"];
    let mut admins = Vec::new();
    for name in databases {
        admins.push(installed_as(dialect, &url, "windows", name, fill)?);
    }
    for (rule, what) in RULES {
        let mut times = Workers::default();
        let mut gone = 0;
        for _ in 0..ROUNDS {
            let mut expected: Option<i64> = None;
            // By run, its database and the number of its worker.
            for (runs, times) in [
                (&[(0, 1)][..], &mut times.one),
                (&[(0, 1), (0, 2)], &mut times.two),
                (&[(0, 1), (1, 1)], &mut times.apart),
            ] {
                for (admin, _) in &mut admins {
                    anew(&mut **admin, dialect, rule)?;
                }
                // What was made a moment ago is looked at anew by each run.
                sleep(Duration::from_secs(4));
                let (mut sessions, mut ids) = (Vec::new(), Vec::new());
                for (place, worker) in runs {
                    let mut session = db::connect_as_application(&url(databases[*place]).parse()?)?;
                    ids.push(session.session()?);
                    let options = json!({"rule": rule, "run_families": 1_000_000_000, "time_budget": "1h", "worker": worker});
                    sessions.push((
                        session,
                        format!("CALL {}.run('{options}')", admins[*place].1),
                    ));
                }
                times.push(cost(&ids, &mut || at_once(&mut sessions))?);
                for (place, _) in runs {
                    let left = number(
                        &mut *admins[*place].0,
                        &format!("SELECT COUNT(*) FROM {rule}"),
                    )?;
                    let one = *expected.get_or_insert(left);
                    ensure!(
                        left == one,
                        "{} runs left {left} rows, one {one}",
                        runs.len()
                    );
                    gone = i64::from(rows(dialect)) - left;
                }
            }
        }
        report.workers(what, gone, &times);
    }
    Ok(())
}

/// All calls of `run`, each in its session.
fn at_once(sessions: &mut [(Box<dyn Database>, String)]) -> Result<()> {
    thread::scope(|scope| {
        let runs: Vec<_> = sessions
            .iter_mut()
            .map(|(session, call)| {
                scope.spawn(move || -> Result<()> {
                    let answer = format!("{:?}", session.query(call, &[])?);
                    ensure!(answer.contains("nothing left"), "{answer}");
                    Ok(())
                })
            })
            .collect();
        runs.into_iter()
            .try_for_each(|run| run.join().expect("the run does not panic"))
    })
}

fn number(session: &mut dyn Database, sql: &str) -> Result<i64> {
    Ok(text(session, sql)?.parse()?)
}

/// The first column of the first row.
pub(crate) fn text(session: &mut dyn Database, sql: &str) -> Result<String> {
    let rows = session.query(sql, &[])?;
    let text = rows.first().and_then(|row| row[0].clone());
    text.with_context(|| format!("no answer: {sql}"))
}

/// Rows a second apart; one in ten has a month left.
fn fill(session: &mut dyn Database, dialect: Dialect) -> Result<()> {
    let rows = rows(dialect);
    let (time, began, later) = match dialect {
        Dialect::Postgres => (
            "timestamptz",
            "now() - interval '90 days' + n * interval '1 second'",
            "now() + interval '30 days'",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "timestamp(6) NULL",
            "UTC_TIMESTAMP(6) - INTERVAL 90 DAY + INTERVAL n SECOND",
            "UTC_TIMESTAMP(6) + INTERVAL 30 DAY",
        ),
    };
    let allow = match dialect {
        Dialect::Postgres => None,
        Dialect::Mysql => Some("cte_max_recursion_depth"),
        Dialect::Mariadb => Some("max_recursive_iterations"),
    };
    if let Some(name) = allow {
        session.execute(&format!("SET SESSION {name} = {rows}"))?;
    }
    for table in ["log", "state", "whole"] {
        session.execute(&format!(
            "CREATE TABLE {table} (id bigint PRIMARY KEY, written {time}, value varchar(100) NOT NULL)"
        ))?;
    }
    session.execute(&format!(
        "INSERT INTO whole SELECT n, CASE n % 10 WHEN 0 THEN {later} ELSE {began} END, REPEAT('v', 100) FROM {}",
        numbers(dialect, rows)
    ))
}

/// The rows as they were.
fn anew(session: &mut dyn Database, dialect: Dialect, table: &str) -> Result<()> {
    session.execute(&format!(
        "TRUNCATE TABLE {table}; INSERT INTO {table} SELECT * FROM whole"
    ))?;
    session.execute(&match dialect {
        Dialect::Postgres => format!("VACUUM (ANALYZE) {table}"),
        Dialect::Mysql | Dialect::Mariadb => format!("ANALYZE TABLE {table}"),
    })?;
    if dialect == Dialect::Postgres {
        session.execute("CHECKPOINT")?;
    }
    Ok(())
}
