//! Servers where nobody armed windrow: restored copies and promoted standbys.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::failure;
use windrow::graph::Graph;
use windrow::sandbox::mysql::{Flavour, Mysql};
use windrow::sandbox::{self, Postgres};

use super::{SCHEDULED, graph, installed, left, rows, scheduled, schema, told};
use crate::harness::tests;
use crate::support::database;
use crate::support::installation::{self, Installation, Session, apply, bundle, call, connect};
use crate::support::patience;
use crate::support::patience::PATIENCE;

tests! {
    on_postgres: [
        a_promoted_standby_waits_until_somebody_arms_it,
        a_right_more_or_less_makes_no_other_server,
    ],
    every_server: [
        a_restored_copy_waits_until_somebody_arms_it,
    ],
    each_server: [
        each_thing_that_a_server_shows_of_itself_is_compared,
    ],
}

/// Another server with what a dump of an installation brings there.
enum Copy {
    Postgres(Postgres),
    Mysql(Mysql),
}

impl Copy {
    pub(super) fn of(installation: &Installation) -> Copy {
        let (name, control) = (&installation.name, &installation.control);
        if installation.dialect == Dialect::Postgres {
            let source = database::server();
            let copy = Postgres::start(&sandbox::Settings::default()).expect("a server");
            pipe(
                source.bin("pg_dumpall").arg("--roles-only"),
                &mut copy.bin("psql"),
            );
            pipe(
                source.bin("pg_dump").args(["--create", name]),
                &mut copy.bin("psql"),
            );
            return Copy::Postgres(copy);
        }
        let source = installation::server(installation.dialect);
        let flavour = source.flavour();
        let copy = Mysql::start(&sandbox::mysql::Settings {
            events: true,
            ..sandbox::mysql::Settings::new(flavour)
        });
        let copy = copy.expect("a server");
        match flavour {
            Flavour::Mysql => {
                let mut dump = source.bin("mysqldump");
                dump.args(["--routines", "--events", "--set-gtid-purged=OFF"]);
                pipe(
                    dump.args(["--databases", control, name]),
                    &mut copy.client(),
                );
            }
            Flavour::Mariadb => {
                let mut session = connect(&copy.url("mysql", "root"));
                for statement in dump(source, &[control, name]) {
                    let answer = session.execute(&statement);
                    answer.unwrap_or_else(|error| panic!("{error:#}\n\n{statement}"));
                }
            }
        }
        // Roles are not in a dump: nobody may call anything until the installation is gone over.
        let mut session = connect(&copy.url(name, "root"));
        for routine in ["run", "purge", "preview", "verify", "set_hold"] {
            let error = call(
                &mut session,
                installation.dialect,
                control,
                routine,
                &json!({}),
            );
            let error = error.expect_err(routine);
            assert_eq!(failure::errno(&error), Some(1449), "{routine}: {error:#}");
        }
        let graph = Graph {
            name: control.trim_start_matches("windrow_").to_owned(),
            database: name.clone(),
            ..graph()
        };
        let bundle = bundle(installation.dialect, &graph);
        apply(&mut connect(&copy.url("mysql", "root")), &bundle);
        Copy::Mysql(copy)
    }

    fn connect(&self, name: &str) -> Session {
        connect(&match self {
            Copy::Postgres(server) => server.url(name, "postgres"),
            Copy::Mysql(server) => server.url(name, "root"),
        })
    }
}

/// What a dump of these databases of MariaDB is, in the order of the program, which its core packages do not have: tables with
/// what stands for the views meanwhile, rows, then the views by their names.
fn dump(server: &Mysql, databases: &[&str]) -> Vec<String> {
    let mut session = connect(&server.url("mysql", "root"));
    let mut texts = |sql: &str, column: usize| -> Vec<String> {
        let rows = session.query(sql, &[]).expect(sql);
        let cell = |row: Vec<Option<String>>| row[column].clone().expect("a text");
        rows.into_iter().map(cell).collect()
    };
    let mut dump = vec!["SET SESSION foreign_key_checks = 0".to_owned()];
    let mut views = Vec::new();
    for database in databases {
        dump.push(format!("CREATE DATABASE {database}"));
        dump.push(format!("USE {database}"));
        let of_kind = |kind| {
            format!(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}' AND table_type = '{kind}' ORDER BY table_name"
            )
        };
        for table in texts(&of_kind("BASE TABLE"), 0) {
            dump.extend(texts(&format!("SHOW CREATE TABLE {database}.{table}"), 1));
        }
        for view in texts(&of_kind("VIEW"), 0) {
            let columns = texts(&format!("SHOW COLUMNS FROM {database}.{view}"), 0);
            let columns: Vec<String> = columns.iter().map(|it| format!("1 AS `{it}`")).collect();
            dump.push(format!(
                "CREATE VIEW {view} AS SELECT {}",
                columns.join(", ")
            ));
            views.push(format!("USE {database}"));
            views.push(format!("DROP VIEW {view}"));
            views.extend(texts(&format!("SHOW CREATE VIEW {database}.{view}"), 1));
        }
        dump.push(rows_of(server, database));
        let routines = format!(
            "SELECT routine_name FROM information_schema.routines WHERE routine_schema = '{database}' ORDER BY routine_name"
        );
        for routine in texts(&routines, 0) {
            let create = format!("SHOW CREATE PROCEDURE {database}.{routine}");
            let modes = texts(&create, 1);
            dump.extend(
                modes
                    .iter()
                    .map(|mode| format!("SET SESSION sql_mode = '{mode}'")),
            );
            dump.extend(texts(&create, 2));
        }
    }
    dump.extend(views);
    dump.retain(|statement| !statement.is_empty());
    dump
}

/// All rows of a database of MariaDB, as statements that write them.
fn rows_of(server: &Mysql, database: &str) -> String {
    let selects = server.query(&format!(
        "SELECT CONCAT('SELECT CONCAT(''REPLACE INTO ', t.table_schema, '.', t.table_name, ' VALUES ('', CONCAT_WS('','', ',
             GROUP_CONCAT(IF(c.collation_name IS NULL, CONCAT('QUOTE(`', c.column_name, '`)'),
                 CONCAT('QUOTE(CONVERT(`', c.column_name, '` USING utf8mb4) COLLATE utf8mb4_bin)')) ORDER BY c.ordinal_position),
             '), '');'') FROM ', t.table_schema, '.', t.table_name)
         FROM information_schema.tables AS t JOIN information_schema.columns AS c USING (table_schema, table_name)
         WHERE t.table_schema = '{database}' AND t.table_type = 'BASE TABLE' GROUP BY t.table_schema, t.table_name"
    ));
    let selects = selects.expect("the tables");
    let rows = selects.lines().map(|select| server.query(select));
    rows.map(|rows| rows.expect("rows")).collect()
}

/// What one program says, to another.
fn pipe(from: &mut Command, to: &mut Command) {
    let said = from.output().expect("a dump");
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    let mut reader = to
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a client");
    let mut input = reader.stdin.take().expect("an input");
    input.write_all(&said.stdout).expect("all is read");
    drop(input);
    let read = reader.wait_with_output().expect("an end");
    assert!(
        read.status.success(),
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
}

fn number(session: &mut Session, sql: &str) -> i64 {
    let rows = session.query(sql, &[]).expect("a number");
    let text = rows[0][0].as_deref().expect("a number");
    text.parse().expect("a number")
}

/// Waits for what the scheduler does; without one, for what its call does.
#[track_caller]
fn until(session: &mut Session, dialect: Dialect, control: &str, sql: &str) {
    let deadline = Instant::now() + PATIENCE;
    while number(session, sql) == 0 {
        assert!(Instant::now() < deadline, "{sql}");
        if dialect == Dialect::Postgres {
            let options = serde_json::from_str(SCHEDULED).expect("options");
            call(session, dialect, control, "run", &options).expect("no error");
        } else {
            sleep(Duration::from_millis(100));
        }
    }
}

/// Refused without an error where the scheduler calls, with one where a person does, until somebody arms it.
fn check_refusal(session: &mut Session, dialect: Dialect, control: &str) {
    let known = number(session, &format!("SELECT COUNT(*) FROM {control}.run"));
    let refused = format!(
        "SELECT COUNT(*) FROM {control}.refusal WHERE reason LIKE 'armed on another server%'"
    );
    until(session, dialect, control, &refused);
    for (routine, options) in [
        ("run", json!({})),
        ("purge", json!({"rule": "jobs", "key": [1]})),
    ] {
        let error = call(session, dialect, control, routine, &options);
        assert_eq!(failure::sqlstate(&error.expect_err(routine)), Some("55000"));
    }
    assert_eq!(
        number(session, &format!("SELECT COUNT(*) FROM {control}.run")),
        known
    );
    assert_eq!(number(session, "SELECT COUNT(*) FROM jobs"), 4);
    let why = told(session, dialect, control).expect("a reason");
    assert!(why.starts_with("armed on another server: "), "{why}");

    session
        .execute(&format!("CALL {control}.arm()"))
        .expect("armed");
    let done = format!("SELECT COUNT(*) FROM {control}.run WHERE {control}.run.status = 'done'");
    until(session, dialect, control, &done);
    assert_eq!(number(session, "SELECT COUNT(*) FROM jobs"), 1);
    assert_eq!(number(session, &refused), 0);
    assert_eq!(told(session, dialect, control), None);
}

fn a_restored_copy_waits_until_somebody_arms_it(dialect: Dialect) {
    let mut installation = installed(dialect);
    let copy = Copy::of(&installation);
    let mut session = copy.connect(&installation.name);
    check_refusal(&mut session, dialect, &installation.control);
    // Where it comes from, nothing has changed.
    assert_eq!(left(&mut installation, "jobs"), 4);
    assert_eq!(scheduled(&mut installation)["status"], "done");
}

/// What `SECURITY.md` names for each server: where one of these is another, it is another server.
fn each_thing_that_a_server_shows_of_itself_is_compared(dialect: Dialect) {
    let mut installation = installed(dialect);
    let control = format!("'{}'", installation.control);
    let shown = match dialect {
        Dialect::Postgres => vec![
            "(SELECT system_identifier::text FROM pg_control_system())",
            "current_setting('port')",
            "current_database()",
            "current_setting('listen_addresses')",
            "current_setting('data_directory')",
        ],
        Dialect::Mysql => vec![
            "@@server_uuid",
            "@@hostname",
            "@@port",
            "@@datadir",
            "@@bind_address",
            &control,
        ],
        Dialect::Mariadb => vec![
            "@@hostname",
            "@@port",
            "@@datadir",
            "@@bind_address",
            "@@server_id",
            &control,
        ],
    };
    let armed = "SELECT server_identity FROM W.control";
    let identity = installation.texts(armed).remove(0);
    let arm_as = |installation: &mut Installation, identity: &str| {
        let identity = identity.replace('\'', "''");
        installation.execute(&format!(
            "UPDATE W.control SET server_identity = '{identity}'"
        ));
        installation.run(json!({}))
    };
    for part in shown {
        let value = installation
            .texts(&format!("SELECT CONCAT({part}, '')"))
            .remove(0);
        let other = identity.replace(&value, "another");
        assert_ne!(other, identity, "{part}: {identity}");
        let error = arm_as(&mut installation, &other).expect_err(part);
        assert_eq!(
            failure::sqlstate(&error),
            Some("55000"),
            "{part}: {error:#}"
        );
        // Before a scheduled run, too; a view of MySQL knows only what such a run was told (docs/monitoring.md).
        let control = installation.control.clone();
        let why = Some(format!("armed on another server: {other}"));
        if dialect != Dialect::Mysql {
            assert_eq!(told(&mut installation.session, dialect, &control), why);
        }
        assert_eq!(scheduled(&mut installation)["status"], "refused");
        assert_eq!(told(&mut installation.session, dialect, &control), why);
    }
    if dialect == Dialect::Postgres {
        // The name of a cluster, which this server has none of, stands behind the database.
        let database = format!("/{}/", installation.name);
        let other = identity.replace(&database, &format!("{database}another"));
        assert_ne!(other, identity);
        arm_as(&mut installation, &other).expect_err("another cluster");
    }
    arm_as(&mut installation, &identity).expect("a run");
    let control = installation.control.clone();
    assert_eq!(told(&mut installation.session, dialect, &control), None);
}

/// Where the data are is for those to see who may read all settings, and the owner role may get that right or lose it.
fn a_right_more_or_less_makes_no_other_server() {
    let mut installation = installed(Dialect::Postgres);
    let control = installation.control.clone();
    let revoke = format!("REVOKE pg_read_all_settings FROM {control}_owner");
    let grant = format!("GRANT pg_monitor TO {control}_owner");
    let armed = "SELECT server_identity FROM W.control";
    let reason = |installation: &mut Installation| {
        told(&mut installation.session, Dialect::Postgres, &control)
    };
    for arm in ["CALL W.arm()", r#"CALL W.arm('{"until": "restart"}')"#] {
        installation.execute(arm);
        installation.execute(&revoke);
        assert_eq!(reason(&mut installation), None, "{arm}, revoked");
        // Armed without it.
        installation.execute(arm);
        let identity = installation.texts(armed).remove(0);
        assert!(identity.contains("/?"), "{identity}");
        assert_eq!(reason(&mut installation), None, "{arm}, without");
        installation.execute(&grant);
        assert_eq!(reason(&mut installation), None, "{arm}, granted");
        // All else is compared as ever.
        let port = installation.texts("SHOW port").remove(0);
        let parts = [
            (format!("/{port}/"), "/1/".to_owned()),
            (format!("/{}/", installation.name), "/another/".to_owned()),
            ("/?".to_owned(), "/more/?".to_owned()),
            ("/?".to_owned(), "//another".to_owned()),
            ("/started ".to_owned(), "/started 1".to_owned()),
        ];
        for (part, other) in parts {
            let another = identity.replace(&part, &other);
            if another == identity {
                continue;
            }
            installation.execute(&format!(
                "UPDATE W.control SET server_identity = '{another}'"
            ));
            let why = reason(&mut installation);
            assert_eq!(
                why,
                Some(format!("armed on another server: {another}")),
                "{arm}"
            );
        }
        installation.execute(&format!(
            "REVOKE pg_monitor FROM {0}_owner; GRANT pg_read_all_settings TO {0}_owner",
            installation.control
        ));
    }
}

/// A standby shares the identifier of its primary, for good: the timeline tells them apart, from the promotion on.
fn a_promoted_standby_waits_until_somebody_arms_it() {
    let dialect = Dialect::Postgres;
    let primary = Postgres::start(&sandbox::Settings::default()).expect("a server");
    let mut there = connect(&primary.url("postgres", "postgres"));
    there.execute(&(schema() + &rows())).expect("tables");
    apply(&mut there, &bundle(dialect, &graph()));
    let control = "windrow_guard";
    there
        .execute(&format!("CALL {control}.arm()"))
        .expect("armed");

    let standby = primary.start_replica().expect("a standby");
    let mut here = connect(&standby.url("postgres", "postgres"));
    let error = call(&mut here, dialect, control, "run", &json!({}));
    assert_eq!(
        failure::sqlstate(&error.expect_err("a standby")),
        Some("25006")
    );
    is_no_later(&mut there, &mut here, control);
    let promoted = here
        .query("SELECT pg_promote(true, 60)", &[])
        .expect("a promotion");
    assert_eq!(promoted[0][0].as_deref(), Some("true"));
    let identity = format!("SELECT {control}.server_identity()");
    let identity = |session: &mut Session| {
        let rows = session.query(&identity, &[]).expect("an identity");
        let text = rows[0][0].clone().expect("an identity");
        let parts = text.split('/').map(str::to_owned);
        parts.collect::<Vec<_>>()
    };
    // The checkpoint that ends the recovery may still be to come: what is told before it and after it is the same.
    let before = identity(&mut here);
    here.execute("CHECKPOINT").expect("a checkpoint");
    assert_eq!(identity(&mut here), before);
    let known = identity(&mut there);
    assert_eq!(known[0], before[0]);
    assert_eq!((known[1].as_str(), before[1].as_str()), ("1", "2"));
    check_refusal(&mut here, dialect, control);

    let run = call(&mut there, dialect, control, "run", &json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
}

/// As long as it is one, a standby repeats what its primary has done and was told: it is late where that is.
fn is_no_later(there: &mut Session, here: &mut Session, control: &str) {
    there
        .execute(&format!(
            "INSERT INTO {control}.run (trigger, dry_run, options, as_of, deadline, status, finished_at)
             VALUES ('MANUAL', false, '{{}}', clock_timestamp(), clock_timestamp(), 'done', clock_timestamp());
             INSERT INTO {control}.refusal (server, reason) VALUES ('there', 'table note acts')"
        ))
        .expect("a run and a refusal");
    let metrics = format!(
        "SELECT concat_ws(' ', m.name, m.labels, m.value) FROM {control}.metrics AS m
         WHERE m.name IN ('windrow_armed', 'windrow_refused', 'windrow_last_success_timestamp_seconds') ORDER BY 1"
    );
    let metrics = |session: &mut Session| session.query(&metrics, &[]).expect("the metrics");
    let follows = |session: &mut Session, expected: &Vec<Vec<Option<String>>>| {
        patience::until("the standby follows", || Ok(metrics(session) == *expected))
            .expect("it does");
    };
    let expected = metrics(there);
    let said = format!("{expected:?}");
    assert_eq!(expected.len(), 6, "{said}");
    assert!(said.contains("CATALOG\\\"} 1"), "{said}");
    follows(here, &expected);
    there
        .execute(&format!(
            "DELETE FROM {control}.refusal; DELETE FROM {control}.run"
        ))
        .expect("none");
    follows(here, &metrics(there));
}
