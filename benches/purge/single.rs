//! Rules of single rows beside the loop that everybody writes first: `DELETE … WHERE key IN (SELECT … LIMIT n)`, again until
//! nothing is left, a transaction for each batch of as many rows as windrow takes.
//!
//! Nine rows in ten go. Their times lie a second apart, or all rows have one instant.

use anyhow::{Context as _, Result, ensure};
use postgres::Client;
use serde_json::{Value, json};

use crate::plan::PAIRS;
use crate::report::Report;
use crate::system::{INSTALLED, System, timed};

/// The spec, from the folder of those that are shipped.
pub(crate) const SPEC: &str = "../benches/purge/single";

/// Rows per CPU second beside those of the loop.
pub(crate) const BAR: f64 = 0.8;

/// How many rows of a group stay, of how many.
pub(crate) const KEEP: u64 = 3;
pub(crate) const GROUP: u64 = 30;

/// Each rule with its table.
pub(crate) const RULES: [(&str, &str); 3] = [
    ("expiry", "state"),
    ("orphan", "note"),
    ("keep_last", "try"),
];

/// How many rows each table has: `WINDROW_BENCH_ROWS`, or these.
pub(crate) fn rows() -> Result<u64> {
    std::env::var("WINDROW_BENCH_ROWS")
        .map_or(Ok(150_000), |number| number.parse())
        .context("WINDROW_BENCH_ROWS is not a number")
}

/// When the times of the rows are, in words.
pub(crate) fn times(spread: bool) -> &'static str {
    match spread {
        true => "times a second apart",
        false => "all rows of one instant",
    }
}

/// Which rows of a batch the loop names: of the expired ones any; of those that name no asset any that are old enough; of the
/// ranked ones any behind the newest.
pub(crate) fn chosen(rule: &str, present: &str) -> String {
    match rule {
        "expiry" => format!("SELECT id FROM state WHERE expires_at < {present}"),
        "orphan" => format!(
            "SELECT id FROM note AS n WHERE updated_at < {present} - INTERVAL '337' HOUR
             AND NOT EXISTS (SELECT 1 FROM asset AS a WHERE a.id = n.asset_id)"
        ),
        _ => format!(
            "SELECT id FROM (
                 SELECT id, row_number() OVER (PARTITION BY job ORDER BY began DESC, id DESC) AS place FROM try
             ) AS ranked
             WHERE place > {KEEP}"
        ),
    }
}

fn fill(client: &mut Client, spread: bool) -> Result<()> {
    let rows = rows()?;
    let began = match spread {
        true => "now() - interval '60 days' + n * interval '1 second'",
        false => "now() - interval '60 days'",
    };
    client.batch_execute(&format!(
        "CREATE TABLE state (id bigint PRIMARY KEY, expires_at timestamptz, value text NOT NULL);
         CREATE TABLE asset (id bigint PRIMARY KEY);
         CREATE TABLE note (id bigint PRIMARY KEY, asset_id bigint NOT NULL, updated_at timestamptz NOT NULL, value text NOT NULL);
         CREATE TABLE try (id bigint PRIMARY KEY, job integer NOT NULL, began timestamptz NOT NULL, value text NOT NULL);
         INSERT INTO state
         SELECT n, CASE n % 10 WHEN 0 THEN now() + interval '30 days' ELSE {began} END, repeat('v', 100) FROM generate_series(1, {rows}) AS n;
         INSERT INTO asset SELECT n FROM generate_series(10, {rows}, 10) AS n;
         INSERT INTO note SELECT n, n, {began}, repeat('v', 100) FROM generate_series(1, {rows}) AS n;
         INSERT INTO try SELECT n, n % ({rows} / {GROUP}), {began}, repeat('v', 100) FROM generate_series(1, {rows}) AS n"
    ))?;
    Ok(())
}

/// How many rows are left, and the sum of their keys.
fn left(client: &mut Client, table: &str) -> Result<(i64, String)> {
    let row = client.query_one(
        &format!("SELECT count(*), coalesce(sum(id), 0)::text FROM {table}"),
        &[],
    )?;
    Ok((row.get(0), row.get(1)))
}

pub(crate) fn measure(report: &mut Report) -> Result<()> {
    for spread in [true, false] {
        let mut system = System::open(SPEC, |client| fill(client, spread))?;
        for (rule, table) in RULES {
            side_by_side(&mut system, rule, table, times(spread), report)?;
        }
    }
    Ok(())
}

/// A run of a rule, as a schedule begins one, and the loop for the same instant take turns; both must leave the same rows.
fn side_by_side(
    system: &mut System,
    rule: &str,
    table: &str,
    times: &str,
    report: &mut Report,
) -> Result<()> {
    let options = json!({"rule": rule, "run_families": 1_000_000_000, "time_budget": "1h"});
    let call = format!("CALL {}.run('{options}')", system.control);
    let (mut ours, mut loops) = (Vec::new(), Vec::new());
    let mut rows = 0;
    for _ in 0..PAIRS {
        let mut client = system.fresh(INSTALLED)?;
        let (took, answer) = timed(&mut system.operator()?, |client| {
            let answer: Value = client.query_one(&call, &[])?.get(0);
            Ok(answer)
        })?;
        ensure!(answer["status"] == "done", "the run ended with {answer}");
        rows = answer["rules"][0]["rows"].as_i64().context("a number")?;
        ours.push(took);
        let stays = left(&mut client, table)?;
        drop(client);

        let mut client = system.fresh(INSTALLED)?;
        let batch: i64 = client
            .query_one(
                &format!(
                    "SELECT value FROM {}.settings WHERE rule = $1 AND name = 'batch_rows'",
                    system.control
                ),
                &[&rule],
            )?
            .get(0);
        let as_of = answer["as_of"].as_str().context("an instant")?;
        let present = format!("'{as_of}'::timestamptz");
        let batch = format!(
            "DELETE FROM {table} WHERE id IN ({} LIMIT {batch})",
            chosen(rule, &present)
        );
        let (took, ()) = timed(&mut client, |client| {
            while client.execute(&batch, &[])? > 0 {}
            Ok(())
        })?;
        loops.push(took);
        let expected = left(&mut client, table)?;
        ensure!(
            stays == expected,
            "windrow left {stays:?}, the loop {expected:?}"
        );
    }
    tell(report, rule, times, rows, &ours, &loops);
    Ok(())
}

/// The figures of a rule: CPU and wall seconds of windrow and of the loop.
pub(crate) fn tell(
    report: &mut Report,
    rule: &str,
    times: &str,
    rows: i64,
    ours: &[(f64, f64)],
    loops: &[(f64, f64)],
) {
    let name = format!("single rows, {rule}, {times}");
    report.variant(&format!("{name}: windrow"), rows, ours);
    report.variant(&format!("{name}: the plain loop"), rows, loops);
    let cpu = |times: &[(f64, f64)]| times.iter().map(|time| time.0).collect::<Vec<_>>();
    report.ratio(
        &format!("the plain loop ({name})"),
        &cpu(ours),
        &cpu(loops),
        Some(BAR),
    );
}
