//! MySQL and MariaDB have the schemas and the history that PostgreSQL has.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::systems::dolphinscheduler::{
    self, DEMO_FAMILIES, FAMILIES_SETTING, NOW_SETTING, mysql,
};
use anyhow::{Context, Result, ensure};
use windrow::sandbox::Postgres;
use windrow::sandbox::mysql::{Flavour, Mysql, Settings};

use super::{loaded, number};

use crate::harness::tests;
use crate::support::effort;

tests! {
    on_several: [
        the_schemas_are_those_of_postgres,
        the_history_is_that_of_postgres_row_by_row,
        a_run_leaves_the_same_rows_on_every_server,
    ],
}

/// What time it is for the histories that are compared.
const NOW: &str = "2025-02-28 23:59:58";

/// Executes a text as `mysql database < file` does.
fn load(server: &Mysql, database: &str, text: &str) -> Result<()> {
    let mut client = server
        .client()
        .arg(database)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut pipe = client.stdin.take().context("a pipe")?;
    // A client that gave up says so below.
    drop(pipe.write_all(text.as_bytes()));
    drop(pipe);
    let output = client.wait_with_output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

fn both() -> Result<Vec<Mysql>> {
    Flavour::ALL
        .iter()
        .map(|flavour| Mysql::start(&Settings::new(*flavour)))
        .collect()
}

/// Columns of PostgreSQL that DolphinScheduler's MySQL lacks or has by another name, and the other way round.
fn is_known_difference(table: &str, column: &str) -> bool {
    matches!(
        (table, column),
        (
            "t_ds_workflow_instance" | "t_ds_process_instance",
            "dependence_schedule_times" | "process_instance_json" | "workflow_instance_json"
        )
    )
}

fn the_schemas_are_those_of_postgres() -> Result<()> {
    let postgres = Postgres::start(&windrow::sandbox::Settings::default())?;
    let versions = [
        ("new", dolphinscheduler::SCHEMA_34, mysql::SCHEMA_34, 53),
        ("old", dolphinscheduler::SCHEMA_32, mysql::SCHEMA_32, 56),
    ];
    for server in both()? {
        for (database, postgres_schema, schema, tables) in versions {
            server.query(&format!("CREATE DATABASE {database}"))?;
            load(&server, database, schema)?;
            let text = server.query(&format!(
                "SELECT CONCAT(table_name, '.', column_name) FROM information_schema.columns \
                 WHERE table_schema = '{database}' ORDER BY 1"
            ))?;
            let mut columns: Vec<&str> = text.lines().collect();
            columns.sort_unstable();
            let name = format!("{database}_{}", server.port());
            let mut client = loaded(&postgres, &name, postgres_schema)?;
            let expected: Vec<String> = client
                .query(
                    "SELECT table_name || '.' || column_name FROM information_schema.columns
                     WHERE table_schema = 'public'",
                    &[],
                )?
                .iter()
                .map(|row| row.get(0))
                .collect();
            let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            expected.sort_unstable();
            for (have, others) in [(&columns, &expected), (&expected, &columns)] {
                let odd: Vec<&&str> = have
                    .iter()
                    .filter(|name| others.binary_search(name).is_err())
                    .filter(|name| {
                        let (table, column) = name.split_once('.').unwrap_or_default();
                        !is_known_difference(table, column)
                    })
                    .collect();
                assert!(
                    odd.is_empty(),
                    "{database} of {:?}: {odd:?}",
                    server.flavour()
                );
            }
            let found = server.query(&format!(
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{database}' AND engine = 'InnoDB'"
            ))?;
            assert_eq!(found.trim(), tables.to_string());
        }
    }
    Ok(())
}

/// Rows and a digest of all their values, by table.
type Digests = BTreeMap<String, (i64, String)>;

/// Columns by table, and whether each is a time.
type Columns = BTreeMap<String, Vec<(String, bool)>>;

/// The tables with a history and their columns, as PostgreSQL tells them.
fn columns(client: &mut postgres::Client) -> Result<Columns> {
    let mut tables: Columns = BTreeMap::new();
    for row in client.query(
        "SELECT table_name::text, column_name::text, data_type LIKE 'timestamp%'
         FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position",
        &[],
    )? {
        let (table, column): (String, String) = (row.get(0), row.get(1));
        if !is_known_difference(&table, &column) {
            tables.entry(table).or_default().push((column, row.get(2)));
        }
    }
    let mut filled = BTreeMap::new();
    for (table, columns) in tables {
        if number(client, &format!("SELECT count(*) FROM {table}"))? > 0 {
            filled.insert(table, columns);
        }
    }
    Ok(filled)
}

fn digests_of_postgres(client: &mut postgres::Client, tables: &Columns) -> Result<Digests> {
    let mut digests = Digests::new();
    for (table, columns) in tables {
        let values: Vec<String> = columns
            .iter()
            .map(|(column, is_time)| {
                if *is_time {
                    format!("coalesce(to_char(\"{column}\", 'YYYY-MM-DD HH24:MI:SS.US'), '~')")
                } else {
                    format!("coalesce(\"{column}\"::text, '~')")
                }
            })
            .collect();
        let row = client.query_one(
            &format!(
                "SELECT count(*), sum(('x' || left(encode(sha256(convert_to(concat_ws('|', {}), 'UTF8')), 'hex'), 8))\
                 ::bit(32)::bigint)::text FROM {table}",
                values.join(", ")
            ),
            &[],
        )?;
        digests.insert(table.clone(), (row.get(0), row.get(1)));
    }
    Ok(digests)
}

fn digests_of_mysql(server: &Mysql, tables: &Columns) -> Result<Digests> {
    let mut digests = Digests::new();
    for (table, columns) in tables {
        let values: Vec<String> = columns
            .iter()
            .map(|(column, is_time)| {
                if *is_time {
                    format!("COALESCE(DATE_FORMAT(`{column}`, '%Y-%m-%d %H:%i:%s.%f'), '~')")
                } else {
                    format!("COALESCE(`{column}`, '~')")
                }
            })
            .collect();
        let answer = server.query(&format!(
            "SELECT COUNT(*), CAST(SUM(CAST(CONV(LEFT(SHA2(CONCAT_WS('|', {}), 256), 8), 16, 10) AS UNSIGNED)) AS CHAR) \
             FROM dolphinscheduler.{table}",
            values.join(", ")
        ))?;
        let (count, digest) = answer.trim().split_once('\t').context("two fields")?;
        digests.insert(table.clone(), (count.parse()?, digest.to_owned()));
    }
    Ok(digests)
}

/// A PostgreSQL with the history of a size at [`NOW`], and the tables that hold it.
fn history_on_postgres(server: &Postgres, families: u32) -> Result<(postgres::Client, Columns)> {
    let mut client = loaded(server, "dolphinscheduler", dolphinscheduler::SCHEMA_34)?;
    client.batch_execute(&format!(
        "SET {FAMILIES_SETTING} = {families}; SET {NOW_SETTING} = '{NOW}'"
    ))?;
    client.batch_execute(dolphinscheduler::HISTORY_34)?;
    let tables = columns(&mut client)?;
    assert_eq!(tables.len(), 14, "{:?}", tables.keys());
    Ok((client, tables))
}

/// The same on MySQL or MariaDB.
fn history_on_mysql(server: &Mysql, families: u32) -> Result<()> {
    server.query("CREATE DATABASE dolphinscheduler")?;
    load(server, "dolphinscheduler", mysql::SCHEMA_34)?;
    load(
        server,
        "dolphinscheduler",
        &format!(
            "SET {} = {families}, {} = '{NOW}';\n{}",
            mysql::FAMILIES_VARIABLE,
            mysql::NOW_VARIABLE,
            mysql::HISTORY_34
        ),
    )
}

fn the_history_is_that_of_postgres_row_by_row() -> Result<()> {
    let postgres = Postgres::start(&windrow::sandbox::Settings::default())?;
    let families = effort::size(1_000, DEMO_FAMILIES);
    let (mut client, tables) = history_on_postgres(&postgres, families)?;
    let expected = digests_of_postgres(&mut client, &tables)?;
    let rows: i64 = expected.values().map(|(count, _)| count).sum();
    assert!(rows > 30 * i64::from(families), "{rows}");

    for server in both()? {
        history_on_mysql(&server, families)?;
        let found = digests_of_mysql(&server, &tables)?;
        assert_eq!(found, expected, "{:?}", server.flavour());
        // Without this a row of defaults alone is refused.
        server.query("SET GLOBAL sql_mode = ''")?;
        // A new row gets an id above every one in use, those that have no row included.
        for (table, least) in [
            ("t_ds_workflow_instance", 1_000_000_000),
            ("t_ds_command", 1_000_000),
            ("t_ds_task_instance", 1_000_000_000),
        ] {
            let id = server.query(&format!(
                "INSERT INTO dolphinscheduler.{table} () VALUES (); SELECT LAST_INSERT_ID()"
            ))?;
            assert!(id.trim().parse::<i64>()? > least, "{table}: {id}");
        }
    }
    Ok(())
}

/// Installs windrow, opts nine of ten projects in, and runs it as it would have been at [`NOW`].
fn clean_up(url: &str) -> Result<()> {
    let windrow = |words: &[&str]| {
        let spec = "specs/dolphinscheduler.toml";
        let verbs = if words[0] == "policy" { 2 } else { 1 };
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(&words[..verbs])
            .arg(spec)
            .args(&words[verbs..])
            .args(["--url", url])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()?;
        ensure!(
            output.status.success(),
            "windrow {words:?} of {url}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    };
    // pg_cron is another server's.
    windrow(&["install", "--skip", "60_schedule.sql"])?;
    for number in 0..9_i64 {
        let scope = (8_104_250_113_728 + number * 137_438_953).to_string();
        let retention = if number == 0 { "90d" } else { "30d" };
        windrow(&["policy", "set", "--scope", &scope, "--retention", retention])?;
    }
    windrow(&["arm"])?;
    let now = format!("{}Z", NOW.replace(' ', "T"));
    windrow(&["run", "--no-estimate", "--as-of", &now])
}

fn a_run_leaves_the_same_rows_on_every_server() -> Result<()> {
    let postgres = Postgres::start(&windrow::sandbox::Settings::default())?;
    let families = effort::size(1_000, 2_000);
    let (mut client, tables) = history_on_postgres(&postgres, families)?;
    let before = digests_of_postgres(&mut client, &tables)?;
    clean_up(&postgres.url("dolphinscheduler", "postgres"))?;
    let expected = digests_of_postgres(&mut client, &tables)?;
    let gone = |table: &str| before[table].0 - expected[table].0;
    assert!(gone("t_ds_workflow_instance") > i64::from(families) / 2);
    assert!(gone("t_ds_task_instance") > i64::from(families) * 5);
    assert_eq!(gone("t_ds_project"), 0);

    for flavour in effort::flavours(Flavour::Mariadb) {
        let server = Mysql::start(&Settings::new(flavour))?;
        history_on_mysql(&server, families)?;
        clean_up(&server.url("dolphinscheduler", "root"))?;
        let found = digests_of_mysql(&server, &tables)?;
        assert_eq!(found, expected, "{:?}", server.flavour());
    }
    Ok(())
}
