//! Rules of single rows beside the plain loop. A derived table stands for the subquery of the loop: MySQL takes no LIMIT in one
//! behind IN, and MariaDB would ask it for each row.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use windrow::db::Database;
use windrow::{graph, spec};

use super::lab::{Lab, at_rest, done, install, number, text};
use crate::data;
use crate::plan::PAIRS;
use crate::report::Report;
use crate::single::{GROUP, RULES, chosen, rows, tell, times};

/// The tables as they are before each run, with the columns of the application's.
const TABLES: [(&str, &str); 4] = [
    (
        "state",
        "id bigint PRIMARY KEY, expires_at timestamp(6) NULL, value varchar(100) NOT NULL",
    ),
    ("asset", "id bigint PRIMARY KEY"),
    (
        "note",
        "id bigint PRIMARY KEY, asset_id bigint NOT NULL, updated_at timestamp(6) NOT NULL, value varchar(100) NOT NULL",
    ),
    (
        "try",
        "id bigint PRIMARY KEY, job integer NOT NULL, began timestamp(6) NOT NULL, value varchar(100) NOT NULL",
    ),
];

pub(super) fn measure(lab: &mut Lab, report: &mut Report) -> Result<()> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/purge/single.toml");
    let source = std::fs::read_to_string(path).context("cannot read the spec")?;
    let spec = spec::parse(&source).0.context("the spec is not TOML")?;
    let (control, statements) = data::statements_of(&graph::build(&spec, &source).0, lab.dialect)?;
    lab.fresh_on_one_core()?;
    let mut session = lab.connect()?;
    session.execute("CREATE DATABASE single; USE single; CREATE DATABASE whole")?;
    for (table, columns) in TABLES {
        session.execute(&format!("CREATE TABLE {table} ({columns})"))?;
    }
    install(&mut session, &statements)?;
    session.execute("USE single")?;
    for (table, _) in TABLES {
        session.execute(&format!("CREATE TABLE whole.{table} LIKE single.{table}"))?;
    }
    session.query(&format!("CALL {control}.arm()"), &[])?;
    for spread in [true, false] {
        fill(&mut *session, spread)?;
        for (rule, table) in RULES {
            side_by_side(lab, &control, rule, table, times(spread), report)?;
        }
    }
    Ok(())
}

fn fill(session: &mut dyn Database, spread: bool) -> Result<()> {
    let rows = rows()?;
    let began = match spread {
        true => "UTC_TIMESTAMP(6) - INTERVAL 60 DAY + INTERVAL n SECOND",
        false => "UTC_TIMESTAMP(6) - INTERVAL 60 DAY",
    };
    let digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5
        UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";
    session.execute(&format!(
        "TRUNCATE whole.state; TRUNCATE whole.asset; TRUNCATE whole.note; TRUNCATE whole.try; TRUNCATE asset;
         DROP TABLE IF EXISTS whole.numbers;
         CREATE TABLE whole.numbers (n bigint PRIMARY KEY);
         INSERT INTO whole.numbers
         SELECT x.n FROM (
             SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 100000 * g.d AS n
             FROM {digits} AS a, {digits} AS b, {digits} AS c, {digits} AS e, {digits} AS f, {digits} AS g
         ) AS x WHERE x.n <= {rows} ORDER BY x.n;
         INSERT INTO whole.state
         SELECT n, IF(n % 10 = 0, UTC_TIMESTAMP(6) + INTERVAL 30 DAY, {began}), REPEAT('v', 100) FROM whole.numbers;
         INSERT INTO whole.asset SELECT n FROM whole.numbers WHERE n % 10 = 0;
         INSERT INTO whole.note SELECT n, n, {began}, REPEAT('v', 100) FROM whole.numbers;
         INSERT INTO whole.try SELECT n, n % ({rows} DIV {GROUP}), {began}, REPEAT('v', 100) FROM whole.numbers;
         INSERT INTO asset SELECT * FROM whole.asset"
    ))
}

/// The rows of a table as they were.
fn anew(lab: &Lab, table: &str) -> Result<()> {
    let mut session = lab.connect()?;
    session.execute(&format!(
        "USE single; TRUNCATE {table}; INSERT INTO {table} SELECT * FROM whole.{table}; ANALYZE TABLE {table}"
    ))?;
    at_rest(&mut session)
}

/// How many rows are left, and the sum of their keys.
fn left(lab: &Lab, table: &str) -> Result<String> {
    text(
        &mut lab.connect()?,
        &format!("SELECT CONCAT_WS(' ', COUNT(*), SUM(id)) FROM single.{table}"),
    )
}

fn side_by_side(
    lab: &Lab,
    control: &str,
    rule: &str,
    table: &str,
    times: &str,
    report: &mut Report,
) -> Result<()> {
    let mut session = lab.connect()?;
    let as_of = text(
        &mut session,
        "SELECT DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%dT%TZ')",
    )?;
    let options =
        json!({"rule": rule, "run_families": 1_000_000_000, "time_budget": "1h", "as_of": as_of});
    let call = format!("CALL {control}.run('{options}')");
    let batch = number(
        &mut session,
        &format!(
            "SELECT value FROM {control}.settings WHERE rule = '{rule}' AND name = 'batch_rows'"
        ),
    )?;
    let chosen = chosen(
        rule,
        &format!(
            "TIMESTAMP '{}'",
            as_of.replace('T', " ").trim_end_matches('Z')
        ),
    );
    session.execute(&format!(
        "USE single; DROP PROCEDURE IF EXISTS bench.plain;
         CREATE PROCEDURE bench.plain() BEGIN
             DECLARE v_rows bigint DEFAULT 1;
             WHILE v_rows > 0 DO
                 DELETE t FROM single.{table} AS t JOIN ({} LIMIT {batch}) AS d ON d.id = t.id;
                 SET v_rows = ROW_COUNT();
                 COMMIT;
             END WHILE;
         END",
        chosen
            .replace("FROM state", "FROM single.state")
            .replace("FROM note", "FROM single.note")
            .replace("FROM asset", "FROM single.asset")
            .replace("FROM try", "FROM single.try")
    ))?;
    let (mut ours, mut loops) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        anew(lab, table)?;
        let (cost, ()) = lab.costs_here(|lab| done(&mut lab.connect()?, &call))?;
        ours.push((cost.cpu, cost.wall));
        let stays = left(lab, table)?;
        anew(lab, table)?;
        let (cost, ()) = lab.costs_here(|lab| lab.connect()?.execute("CALL bench.plain()"))?;
        loops.push((cost.cpu, cost.wall));
        let expected = left(lab, table)?;
        ensure!(
            stays == expected,
            "windrow left {stays}, the loop {expected}"
        );
    }
    let whole = number(&mut session, &format!("SELECT COUNT(*) FROM whole.{table}"))?;
    let stays = number(
        &mut session,
        &format!("SELECT COUNT(*) FROM single.{table}"),
    )?;
    tell(report, rule, times, (whole - stays) as i64, &ours, &loops);
    Ok(())
}
