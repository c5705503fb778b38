//! Throw-away MySQL and MariaDB servers.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use windrow::sandbox::mysql::{Flavour, Installed, Mysql, Settings, installed};
use windrow::sandbox::{Postgres, stop_at};

use super::{is_process, kill_process_of, open_to_all, report, run_as_nobody};

use crate::harness::tests;
use crate::support::effort::flavours;
use crate::support::patience::until;

tests! {
    on_mysql: [
        a_mysql_of_another_process,
    ],
    on_mariadb: [
        a_mariadb_of_another_process,
    ],
    on_several: [
        every_installed_version_starts_and_answers,
        its_manners_are_settings,
        a_killed_server_restarts_with_what_was_committed,
        a_dropped_server_is_gone_with_its_directory,
        a_kept_server_is_found_again_and_ended,
        a_replica_repeats_its_source_from_the_beginning,
        the_cpu_time_counts,
        a_failed_start_quotes_the_log,
        a_folder_without_a_server_is_an_error,
        a_killed_process_takes_its_server_along,
        a_user_other_than_root_can_start_one,
    ],
}

fn start(flavour: Flavour) -> Result<Mysql> {
    Mysql::start(&Settings::new(flavour))
}

fn with(flavour: Flavour, extra: &[(&str, &str)]) -> Settings {
    Settings {
        extra: extra
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..Settings::new(flavour)
    }
}

fn every_installed_version_starts_and_answers() -> Result<()> {
    let found = installed();
    for flavour in Flavour::ALL {
        ensure!(
            found.iter().any(|server| server.flavour == flavour),
            "no {} is installed: run `make setup` and `.ci/servers`",
            flavour.title()
        );
    }
    for Installed {
        flavour,
        version,
        bin_dir,
    } in found
    {
        let server = Mysql::start(&Settings {
            bin_dir: Some(bin_dir),
            ..Settings::new(flavour)
        })?;
        assert_eq!(server.flavour(), flavour);
        let answer = server.query(
            "SELECT VERSION(), CURRENT_USER(), @@time_zone, @@log_bin, @@binlog_format, @@global.event_scheduler",
        )?;
        let fields: Vec<&str> = answer.trim().split('\t').collect();
        assert_eq!(fields[1..], ["root@localhost", "+00:00", "1", "ROW", "OFF"]);
        assert_eq!(fields[0].contains("MariaDB"), flavour == Flavour::Mariadb);
        let expected = format!("{}.{}.", version.0, version.1);
        assert!(fields[0].starts_with(&expected), "{}", fields[0]);
        let over_tcp = server
            .client()
            .args(["--host=127.0.0.1", "--protocol=TCP"])
            .arg(format!("--port={}", server.port()))
            .args(["-Ne", "SELECT CURRENT_USER()"])
            .output()?;
        assert_eq!(
            String::from_utf8_lossy(&over_tcp.stdout).trim(),
            "root@127.0.0.1",
            "{}",
            String::from_utf8_lossy(&over_tcp.stderr)
        );
    }
    Ok(())
}

fn its_manners_are_settings() -> Result<()> {
    for flavour in Flavour::ALL {
        let server = Mysql::start(&Settings {
            binlog: false,
            events: true,
            durable: true,
            ..with(
                flavour,
                &[
                    ("sql_mode", "ANSI_QUOTES"),
                    ("init_connect", r#"SET @a = "it's \ #1""#),
                ],
            )
        })?;
        let answer = server.query(
            "SELECT @@log_bin, @@global.event_scheduler, @@innodb_flush_log_at_trx_commit, @@global.sql_mode, \
             @@global.init_connect",
        )?;
        assert_eq!(answer.trim(), r#"0	ON	1	ANSI_QUOTES	SET @a = "it's \\ #1""#);
        let url = server.url("jobs", "app");
        let scheme = if flavour == Flavour::Mysql {
            "mysql"
        } else {
            "mariadb"
        };
        assert_eq!(
            url,
            format!(
                "{scheme}://app@127.0.0.1:{}/jobs?ssl-mode=DISABLED",
                server.port()
            )
        );
    }
    Ok(())
}

fn a_killed_server_restarts_with_what_was_committed() -> Result<()> {
    for flavour in flavours(Flavour::Mariadb) {
        let mut server = Mysql::start(&Settings {
            durable: flavour == Flavour::Mysql,
            ..Settings::new(flavour)
        })?;
        server.query(
            "CREATE DATABASE jobs; CREATE TABLE jobs.kept (id int PRIMARY KEY);\
             INSERT INTO jobs.kept WITH RECURSIVE n (id) AS \
             (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 1000) SELECT id FROM n",
        )?;
        let (pid, port) = (server.pid(), server.port());
        let mut open = server
            .client()
            .args(["-e", "BEGIN; DELETE FROM jobs.kept; SELECT SLEEP(60)"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        until("the rows are deleted", || {
            let sleeping = server.query(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'",
            );
            Ok(sleeping.is_ok_and(|text| text.trim() == "1"))
        })?;

        server.kill()?;
        assert!(!is_process(pid));
        assert!(!open.wait()?.success());
        assert!(server.query("SELECT 1").is_err());

        server.restart()?;
        assert_eq!(server.port(), port);
        assert_ne!(server.pid(), pid);
        assert_eq!(
            server.query("SELECT COUNT(*) FROM jobs.kept")?.trim(),
            "1000"
        );
        server.stop()?;
        assert!(!is_process(server.pid()));
        server.restart()?;
        assert_eq!(
            server.query("SELECT COUNT(*) FROM jobs.kept")?.trim(),
            "1000"
        );
    }
    Ok(())
}

fn a_dropped_server_is_gone_with_its_directory() -> Result<()> {
    for flavour in flavours(Flavour::Mariadb) {
        let server = start(flavour)?;
        let (pid, dir) = (server.pid(), server.dir().to_owned());
        assert!(is_process(pid) && dir.exists());
        drop(server);
        assert!(!is_process(pid) && !dir.exists());
    }
    Ok(())
}

fn a_kept_server_is_found_again_and_ended() -> Result<()> {
    for flavour in flavours(Flavour::Mariadb) {
        let parent = tempfile::tempdir()?;
        open_to_all(parent.path())?;
        let dir = parent.path().join("kept");
        let settings = Settings {
            keep_at: Some(dir.clone()),
            ..Settings::new(flavour)
        };
        let server = Mysql::start(&settings)?;
        server.query("CREATE DATABASE jobs")?;
        let (pid, port) = (server.pid(), server.port());
        drop(server);
        assert!(is_process(pid));

        for occupied in [
            Mysql::start(&settings).map(drop),
            Postgres::start(&windrow::sandbox::Settings {
                keep_at: Some(dir.clone()),
                ..Default::default()
            })
            .map(drop),
        ] {
            let occupied = format!("{:#}", occupied.expect_err("the start must fail"));
            assert!(
                occupied.contains("runs in") && occupied.contains("demo --down"),
                "{occupied}"
            );
        }

        let mut found = Mysql::attach(&dir)?;
        assert_eq!(
            (found.pid(), found.port(), found.flavour()),
            (pid, port, flavour)
        );
        assert!(found.query("SHOW DATABASES")?.contains("jobs"));
        found.restart()?;
        let pid = found.pid();
        assert!(found.query("SHOW DATABASES")?.contains("jobs"));
        drop(found);
        assert!(is_process(pid));

        stop_at(&dir)?;
        assert!(!dir.exists());
        assert!(!is_process(pid));
    }
    Ok(())
}

fn a_replica_repeats_its_source_from_the_beginning() -> Result<()> {
    for flavour in flavours(Flavour::Mysql) {
        let source = start(flavour)?;
        source.query(
            "CREATE DATABASE jobs; CREATE TABLE jobs.kept (id int PRIMARY KEY); INSERT INTO jobs.kept VALUES (1), (2)",
        )?;
        let replica = source.start_replica(&with(flavour, &[("read_only", "ON")]))?;
        replica.catch_up(&source)?;
        assert_eq!(replica.query("SELECT COUNT(*) FROM jobs.kept")?.trim(), "2");
        source
            .query("DELETE FROM jobs.kept WHERE id = 1; INSERT INTO jobs.kept VALUES (3), (4)")?;
        replica.catch_up(&source)?;
        let digest = "SELECT GROUP_CONCAT(id ORDER BY id) FROM jobs.kept";
        assert_eq!(replica.query(digest)?, source.query(digest)?);
        assert_eq!(replica.query("SELECT @@read_only")?.trim(), "1");
    }
    Ok(())
}

fn the_cpu_time_counts() -> Result<()> {
    for flavour in flavours(Flavour::Mariadb) {
        let server = start(flavour)?;
        let before = server.cpu_seconds();
        server.query(
            "WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 1000) \
             SELECT SUM(SQRT(a.id * b.id)) FROM n AS a CROSS JOIN n AS b",
        )?;
        let spent = server.cpu_seconds() - before;
        // Counted in hundredths.
        assert!(spent > 0.02, "{spent}");
    }
    Ok(())
}

fn a_failed_start_quotes_the_log() {
    for flavour in flavours(Flavour::Mariadb) {
        let error = Mysql::start(&with(flavour, &[("no_such_setting", "1")]))
            .map(drop)
            .expect_err("the start must fail");
        let error = format!("{error:#}");
        assert!(
            error.contains("no_such_setting") && error.contains(flavour.title()),
            "{error}"
        );
    }
}

fn a_folder_without_a_server_is_an_error() {
    let [mysql, mariadb] = Flavour::ALL.map(|flavour| {
        installed()
            .into_iter()
            .find(|server| server.flavour == flavour)
            .expect("both are installed")
            .bin_dir
    });
    for (flavour, folder) in [
        (Flavour::Mysql, Path::new("/nonexistent")),
        (Flavour::Mariadb, Path::new("/nonexistent")),
        // MariaDB answers to MySQL's name.
        (Flavour::Mysql, &mariadb),
        (Flavour::Mariadb, &mysql),
    ] {
        let error = Mysql::start(&Settings {
            bin_dir: Some(folder.to_owned()),
            ..Settings::new(flavour)
        })
        .map(drop)
        .expect_err("the start must fail");
        let error = format!("{error:#}");
        assert!(
            error.contains(&*folder.to_string_lossy()) && error.contains("hint:"),
            "{error}"
        );
    }
}

/// Run as a process of its own by the tests below, with the variable set; a plain start and drop otherwise.
fn a_mysql_of_another_process() -> Result<()> {
    let server = start(Flavour::Mysql)?;
    server.query("SELECT 1").context("the server answers")?;
    report(server.pid(), server.dir())
}

/// The same for MariaDB.
fn a_mariadb_of_another_process() -> Result<()> {
    let server = start(Flavour::Mariadb)?;
    server.query("SELECT 1").context("the server answers")?;
    report(server.pid(), server.dir())
}

fn a_killed_process_takes_its_server_along() -> Result<()> {
    kill_process_of("sandbox::mysql::a_mysql_of_another_process")?;
    kill_process_of("sandbox::mysql::a_mariadb_of_another_process")
}

fn a_user_other_than_root_can_start_one() -> Result<()> {
    run_as_nobody("sandbox::mysql::a_mysql_of_another_process")?;
    run_as_nobody("sandbox::mysql::a_mariadb_of_another_process")
}
