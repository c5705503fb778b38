//! A run that finds nothing due, by nine rules of every strategy: what an hourly schedule costs where there is nothing to do.

use anyhow::{Context as _, Result, ensure};
use windrow::db::{self, Database};
use windrow::dialect::Dialect;
use windrow::graph::{self, Graph};
use windrow::spec;

use crate::data;
use crate::plan::ROUNDS;
use crate::report::Report;

/// How many runs are measured together: the CPU time of a server comes in hundredths of a second.
const RUNS: u32 = 40;

/// What a run may take, in milliseconds of CPU.
const BAR: f64 = 50.0;

/// How many rows a table has, none of them due.
const ROWS: u32 = 300;

/// The tables, with the columns beside `id`.
const TABLES: [(&str, &str); 13] = [
    ("job", "state varchar(20), ended TIME"),
    ("step", "job_id bigint"),
    ("file", "step_id bigint"),
    ("task", "task_id bigint, remove_at TIME"),
    ("event", "task_id bigint, remove_at TIME"),
    ("log", "made TIME"),
    ("audit", "made TIME"),
    ("beat", "made TIME"),
    ("state", "made TIME"),
    ("asset", "made TIME"),
    ("note", "asset_id bigint, made TIME"),
    ("try", "job integer, made TIME"),
    ("draft", "job integer, made TIME"),
];

/// `url` answers the address of a database, `cpu` the seconds of the server, or of the session of that number.
pub(crate) fn measure(
    dialect: Dialect,
    url: impl Fn(&str) -> String,
    cpu: impl Fn(i64) -> f64,
    report: &mut Report,
) -> Result<()> {
    let (mut session, control) = installed(dialect, url, "idle", fill)?;
    // What was made a moment ago is looked at anew by each run.
    std::thread::sleep(std::time::Duration::from_secs(4));
    let number = session.session()?;
    let call = format!("CALL {control}.run('{{}}')");
    for _ in 0..3 {
        let answer = session.query(&call, &[])?;
        let answer = format!("{answer:?}");
        ensure!(answer.contains("nothing left"), "{answer}");
    }
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let before = cpu(number);
        for _ in 0..RUNS {
            session.query(&call, &[])?;
        }
        times.push((cpu(number) - before) * 1e3 / f64::from(RUNS));
    }
    report.idle(&times, BAR);
    Ok(())
}

/// A session in a new database with the name of a spec of this folder, with its rules over what `fill` makes, armed; and the control
/// schema.
pub(crate) fn installed(
    dialect: Dialect,
    url: impl Fn(&str) -> String,
    spec: &str,
    fill: impl Fn(&mut dyn Database, Dialect) -> Result<()>,
) -> Result<(Box<dyn Database>, String)> {
    let name = spec.rsplit('/').next().unwrap_or(spec);
    installed_as(dialect, url, spec, name, fill)
}

/// The same by another name.
pub(crate) fn installed_as(
    dialect: Dialect,
    url: impl Fn(&str) -> String,
    spec: &str,
    name: &str,
    fill: impl Fn(&mut dyn Database, Dialect) -> Result<()>,
) -> Result<(Box<dyn Database>, String)> {
    let path = format!("{}/benches/purge/{spec}.toml", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(path).context("cannot read the spec")?;
    let spec = spec::parse(&source).0.context("the spec is not TOML")?;
    let graph = Graph {
        name: name.to_owned(),
        database: name.to_owned(),
        ..graph::build(&spec, &source).0
    };
    let (control, statements) = data::statements_of(&graph, dialect)?;
    let first = match dialect {
        Dialect::Postgres => "postgres",
        Dialect::Mysql | Dialect::Mariadb => "mysql",
    };
    db::connect_as_application(&url(first).parse()?)?
        .execute(&format!("CREATE DATABASE {name}"))?;
    let mut session = db::connect_as_application(&url(name).parse()?)?;
    fill(&mut *session, dialect)?;
    for statement in statements {
        session
            .execute(&statement.sql)
            .with_context(|| statement.what.to_string())?;
    }
    if dialect != Dialect::Postgres {
        session.execute(&format!("USE {name}"))?;
    }
    session.execute(&format!("CALL {control}.arm()"))?;
    Ok((session, control))
}

/// The numbers from one on, as a table `s (n)`. MySQL and MariaDB make a thousand, if a session does not allow more.
pub(crate) fn numbers(dialect: Dialect, most: u32) -> String {
    match dialect {
        Dialect::Postgres => format!("generate_series(1, {most}) AS s (n)"),
        Dialect::Mysql | Dialect::Mariadb => format!(
            "(WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {most}) SELECT n FROM r) AS s"
        ),
    }
}

/// Rows that are a day old, or have a day left: no rule takes any.
fn fill(session: &mut dyn Database, dialect: Dialect) -> Result<()> {
    let (time, yesterday, tomorrow) = match dialect {
        Dialect::Postgres => (
            "timestamptz",
            "now() - interval '1 day'",
            "now() + interval '1 day'",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "timestamp(6) NULL",
            "UTC_TIMESTAMP(6) - INTERVAL 1 DAY",
            "UTC_TIMESTAMP(6) + INTERVAL 1 DAY",
        ),
    };
    for (table, columns) in TABLES {
        let values: Vec<&str> = columns
            .split(", ")
            .map(|column| match column.split_once(' ') {
                Some((_, "TIME")) if ["task", "event", "state"].contains(&table) => tomorrow,
                Some((_, "TIME")) => yesterday,
                Some(("state", _)) => "'done'",
                _ => "n",
            })
            .collect();
        session.execute(&format!(
            "CREATE TABLE {table} (id bigint PRIMARY KEY, {})",
            columns.replace("TIME", time)
        ))?;
        session.execute(&format!(
            "INSERT INTO {table} SELECT n, {} FROM {}",
            values.join(", "),
            numbers(dialect, ROWS)
        ))?;
    }
    Ok(())
}
