//! Sessions on MySQL and MariaDB, on every version that is installed: values, errors, cancelling, TLS, passwords.

use std::thread;

use anyhow::Result;
use windrow::bundle::{Statement, What};
use windrow::db::{self, Database};
use windrow::dialect::Dialect;
use windrow::failure::{self, Failure};
use windrow::sandbox::mysql::{Flavour, Mysql, Settings, installed};

use crate::harness::tests;
use crate::support::patience::until;

tests! {
    on_several: [
        values_errors_and_notices,
        who_may_not_grant_a_role_learns_who_may,
        statements_before_a_failed_one_stay_and_that_is_told,
        another_thread_cancels_a_statement,
        a_replica_and_a_read_only_server_are_known,
        passwords_and_encryption,
        a_long_session_holds_few_prepared_statements,
    ],
}

const PASSWORD: &str = "hunter2+\u{e4}";

/// A server of each installed version.
fn servers() -> Result<Vec<Mysql>> {
    installed()
        .into_iter()
        .map(|found| {
            Mysql::start(&Settings {
                bin_dir: Some(found.bin_dir),
                ..Settings::new(found.flavour)
            })
        })
        .collect()
}

fn open(url: &str) -> Result<Box<dyn Database>> {
    db::connect_as_application(&url.parse()?)
}

/// Everything that an error shows, hints and all.
fn told(error: &anyhow::Error) -> String {
    let mut text = format!("{error:#}");
    for cause in error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<Failure>())
    {
        for line in cause.details().iter().chain(cause.hints()) {
            text += "\n";
            text += line;
        }
    }
    assert!(!text.contains("hunter2"), "a password is shown: {text}");
    text
}

#[track_caller]
pub(crate) fn refused<T>(result: Result<T>, parts: &[&str]) {
    let Err(error) = result else {
        panic!("it works");
    };
    let text = told(&error);
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

fn values_errors_and_notices() -> Result<()> {
    for server in servers()? {
        let mut session = open(&server.url("", "root"))?;
        let found = session.server()?;
        let (dialect, title) = match server.flavour() {
            Flavour::Mysql => (Dialect::Mysql, "MySQL"),
            Flavour::Mariadb => (Dialect::Mariadb, "MariaDB"),
        };
        assert_eq!(found.dialect, dialect);
        assert_eq!(found.dialect.facts().title, title);
        assert!(found.release() >= found.dialect.facts().minimum_version);
        assert!(!found.in_recovery && !found.read_only);

        let text = "it's \\ a \"quote\" \u{1f33e}\n";
        let rows = session.query("SELECT ?, ?, 1", &[Some(text), None])?;
        let expected = [Some(text), None, Some("1")].map(|cell| cell.map(str::to_owned));
        assert_eq!(rows, [expected.to_vec()]);
        let rows = session.query(
            "SELECT 1, 1.5e0, 18446744073709551615, CAST('2026-11-21 08:00:00.5' AS datetime(6)), NULL, JSON_OBJECT('a', 1 = 1), @@time_zone, @@autocommit",
            &[],
        )?;
        let cells: Vec<&str> = rows[0]
            .iter()
            .map(|cell| cell.as_deref().unwrap_or("NULL"))
            .collect();
        assert_eq!(
            cells,
            [
                "1",
                "1.5",
                "18446744073709551615",
                "2026-11-21 08:00:00.500000",
                "NULL",
                "{\"a\": true}",
                "+00:00",
                "1"
            ]
        );

        // A script; a procedure that answers a document; one that fails after it answered.
        session.execute(
            "CREATE DATABASE farm DEFAULT CHARACTER SET utf8mb4; CREATE TABLE farm.field (id int PRIMARY KEY)",
        )?;
        session.execute(
            "CREATE PROCEDURE farm.echo(IN p_options longtext) BEGIN SELECT JSON_OBJECT('asked', JSON_EXTRACT(p_options, '$')) AS p_result; SELECT 2; END",
        )?;
        let rows = session.query("CALL farm.echo(?)", &[Some("{\"a\": [1, \"\u{e4}\"]}")])?;
        assert_eq!(
            rows,
            [[Some("{\"asked\": {\"a\": [1, \"\u{e4}\"]}}".to_owned())]]
        );
        session.execute(
            "CREATE PROCEDURE farm.late() BEGIN SELECT 1; SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = 'not armed'; END",
        )?;
        for parameters in [&[][..], &[Some("x")]] {
            let sql = match parameters {
                [] => "CALL farm.late()",
                _ => "SELECT 1 FROM farm.nothing WHERE id = ?",
            };
            let Err(error) = session.query(sql, parameters) else {
                panic!("`{sql}` works");
            };
            let (state, shown) = match parameters {
                [] => ("55000", "not armed (SQLSTATE 55000)"),
                _ => ("42S02", "(error 1146, SQLSTATE 42S02)"),
            };
            assert_eq!(failure::sqlstate(&error), Some(state));
            assert!(told(&error).contains(shown), "{}", told(&error));
        }
        // The session goes on.
        assert_eq!(session.query("SELECT 7", &[])?, [[Some("7".to_owned())]]);

        session.execute("DROP TABLE IF EXISTS farm.nothing")?;
        assert_eq!(session.notices(), Vec::<String>::new());
        session.execute("SET SESSION sql_mode = ''; INSERT INTO farm.field VALUES ('5x')")?;
        let notices = session.notices();
        assert!(
            notices.len() == 1 && notices[0].ends_with("(1265)"),
            "{notices:?}"
        );
        refused(
            session.query("CALL windrow_x.run('{}')", &[]),
            &["run `windrow install` first"],
        );
        refused(
            session.query("SELECT armed FROM windrow_x.control", &[]),
            &["run `windrow install` first"],
        );
    }
    Ok(())
}

/// To be denied access means something else at the login.
fn who_may_not_grant_a_role_learns_who_may() -> Result<()> {
    let server = Mysql::start(&Settings::new(Flavour::Mariadb))?;
    let mut session = open(&server.url("", "root"))?;
    session.execute("CREATE ROLE reader; CREATE ROLE writer")?;
    session.execute(
        "CREATE USER other@'127.0.0.1'; GRANT ALL ON *.* TO other@'127.0.0.1' WITH GRANT OPTION",
    )?;
    refused(
        open(&server.url("", "other"))?.execute("GRANT reader TO writer"),
        &[
            "error 1698",
            "only the account that created a role may grant it",
        ],
    );
    Ok(())
}

fn statements_before_a_failed_one_stay_and_that_is_told() -> Result<()> {
    for server in servers()? {
        let mut session = open(&server.url("", "root"))?;
        let statement = |what: &str, sql: &str| Statement {
            what: What::new(what),
            sql: sql.to_owned(),
            alone: false,
            shown: None,
        };
        let all = [
            statement("create database farm", "CREATE DATABASE farm"),
            statement("create table farm.a", "CREATE TABLE farm.a (id int)"),
            statement("create table farm.b", "CREATE TABLE nowhere.b (id int)"),
            statement("create table farm.c", "CREATE TABLE farm.c (id int)"),
        ];
        let mut done = Vec::new();
        let result = session.transaction(&all.iter().collect::<Vec<_>>(), &mut |statement, _| {
            done.push(statement.what.to_string());
        });
        refused(
            result,
            &[
                "cannot create table farm.b",
                "the 2 statements before it are committed",
            ],
        );
        assert_eq!(done, ["create database farm", "create table farm.a"]);
        let catalog = session.catalog("farm")?;
        assert_eq!(catalog.tables.keys().collect::<Vec<_>>(), ["a"]);
    }
    Ok(())
}

fn another_thread_cancels_a_statement() -> Result<()> {
    for server in servers()? {
        let mut session = open(&server.url("", "root"))?;
        session.execute(
            "CREATE DATABASE farm; CREATE PROCEDURE farm.plough() BEGIN DECLARE v_row bigint DEFAULT 0; \
             DO GET_LOCK('plough', 0); WHILE v_row < 1000000000 DO SET v_row = v_row + 1; END WHILE; END",
        )?;
        let cancel = session.cancel();
        let mut watch = open(&server.url("", "root"))?;
        // A cancel that comes before the first statement of the procedure is forgotten.
        let at_work = "SELECT IS_USED_LOCK('plough') IS NOT NULL";
        let canceller = thread::spawn(move || {
            until("it is at work", || {
                let rows = watch.query(at_work, &[])?;
                Ok(rows[0][0].as_deref() == Some("1"))
            })?;
            cancel()
        });
        refused(
            session.query("CALL farm.plough()", &[]),
            &["error 1317", "the next call continues"],
        );
        canceller.join().expect("no panic")?;
        assert_eq!(session.query("SELECT 7", &[])?, [[Some("7".to_owned())]]);
        let id = session.session()?.to_string();
        assert_eq!(
            session.query("SELECT CONNECTION_ID()", &[])?,
            [[Some(id.clone())]]
        );
        // A session that is gone is a lost connection.
        open(&server.url("", "root"))?.execute(&format!("KILL {id}"))?;
        refused(
            session.query("SELECT 7", &[]),
            &["what was committed is kept"],
        );
    }
    Ok(())
}

fn a_replica_and_a_read_only_server_are_known() -> Result<()> {
    for flavour in Flavour::ALL {
        let source = Mysql::start(&Settings::new(flavour))?;
        let replica = source.start_replica(&Settings::new(flavour))?;
        let mut session = open(&replica.url("", "root"))?;
        let found = session.server()?;
        assert!(found.in_recovery && !found.read_only);
        session.execute("SET GLOBAL read_only = ON")?;
        assert!(session.server()?.read_only);
        let mut session = open(&source.url("", "root"))?;
        assert!(!session.server()?.in_recovery);
        session.execute("SET SESSION TRANSACTION READ ONLY")?;
        assert!(session.server()?.read_only);
    }
    Ok(())
}

fn passwords_and_encryption() -> Result<()> {
    for server in servers()? {
        let mut admin = open(&server.url("", "root"))?;
        for host in ["localhost", "127.0.0.1"] {
            admin.execute(&format!(
                "CREATE USER app@'{host}' IDENTIFIED BY '{PASSWORD}'"
            ))?;
        }
        let mysql = server.flavour() == Flavour::Mysql;
        let port = server.port();
        let with = |more: &str| {
            let url = format!("mysql://app@127.0.0.1:{port}/?{more}");
            let url: db::url::Url = url.parse()?;
            let mut session =
                db::connect_as_application(&url.or_password(Some(PASSWORD.to_owned())))?;
            let rows = session.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'", &[])?;
            Ok::<String, anyhow::Error>(rows[0][1].clone().unwrap_or_default())
        };
        refused(
            open(&format!("mysql://app:hunter2@127.0.0.1:{port}/")),
            &["error 1045", "MYSQL_PWD or --password-file", "app:***@"],
        );
        refused(
            open(&format!("mysql://root@127.0.0.1:{port}/nowhere")),
            &["error 1049", "check the last part of the address"],
        );
        refused(
            open("mysql://root@127.0.0.1:1/"),
            &["Connection refused", "that the server is running"],
        );
        refused(
            open("mysql://root@localhost/?socket=/nowhere.sock"),
            &["check the path of the socket"],
        );
        if mysql {
            // Until the server has seen the password once, it wants it whole.
            refused(
                with("ssl-mode=DISABLED"),
                &["caching_sha2_password", "get-server-public-key=true"],
            );
            assert_eq!(with("ssl-mode=DISABLED&get-server-public-key=true")?, "");
            admin.execute("FLUSH PRIVILEGES")?;
            let key = server.dir().join("data/public_key.pem");
            let key = format!("ssl-mode=DISABLED&server-public-key-path={}", key.display());
            assert_eq!(with(&key)?, "");
        }
        assert_eq!(with("ssl-mode=DISABLED&get-server-public-key=true")?, "");
        // A socket is safe by itself.
        let socket = format!(
            "mysql://app@localhost/?socket={}",
            server.socket().display()
        );
        let socket: db::url::Url = socket.parse()?;
        db::connect_as_application(&socket.or_password(Some(PASSWORD.to_owned())))?;

        let has_tls = !admin
            .query(
                "SHOW VARIABLES WHERE Variable_name = 'have_ssl' AND Value = 'DISABLED'",
                &[],
            )?
            .iter()
            .any(|_| true);
        if !has_tls {
            assert_eq!(with("ssl-mode=PREFERRED")?, "");
            refused(
                with("ssl-mode=REQUIRED"),
                &["the server has no TLS", "ssl-mode=PREFERRED"],
            );
            continue;
        }
        assert_ne!(with("ssl-mode=PREFERRED")?, "");
        assert_ne!(with("ssl-mode=REQUIRED")?, "");
        // Nobody signed it for this host.
        refused(
            with("ssl-mode=VERIFY_IDENTITY"),
            &["check `ssl-mode` and `ssl-ca`"],
        );
        if mysql {
            let authority = server.dir().join("data/ca.pem");
            let authority = authority.display();
            assert_ne!(with(&format!("ssl-ca={authority}"))?, "");
            assert_ne!(with(&format!("ssl-mode=VERIFY_CA&ssl-ca={authority}"))?, "");
            refused(
                with(&format!("ssl-mode=VERIFY_IDENTITY&ssl-ca={authority}")),
                &["check `ssl-mode` and `ssl-ca`"],
            );
        }
        admin.execute("ALTER USER app@'127.0.0.1' REQUIRE SSL")?;
        refused(
            with("ssl-mode=DISABLED&get-server-public-key=true"),
            &["(error "],
        );
    }
    Ok(())
}

/// What is prepared counts against a limit of the whole server, and a run that is watched asks again and again for hours.
fn a_long_session_holds_few_prepared_statements() -> Result<()> {
    for server in servers()? {
        let mut session = open(&server.url("mysql", "root"))?;
        for number in 0..500 {
            session.query("SELECT CONCAT(?, '')", &[Some("again")])?;
            session.query(&format!("SELECT ? + {number}"), &[Some("1")])?;
        }
        let rows = session.query("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'", &[])?;
        let count: u32 = rows[0][1].as_deref().unwrap_or_default().parse()?;
        assert!(count <= 20, "{} holds {count}", server.flavour().title());
    }
    Ok(())
}
