//! `windrow heartbeat`: runs on MySQL and MariaDB wait for replicas, which are real ones.

use std::fs;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use windrow::db;
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::{Flavour, Mysql, Settings};

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::bundle;
use crate::support::patience::until;

tests! {
    mysql_and_mariadb: [
        runs_wait_for_replicas,
    ],
    lint: [
        only_a_spec_that_says_so_has_the_tables,
    ],
}

const SPEC: &str = r#"
name      = "replicas"
database  = "app"
heartbeat = "windrow"

[tables]
tick = { key = "id integer" }

[rules.ticks]
strategy  = "expiry"
root      = "tick"
time      = "expires timestamp"
limits    = { max_replica_lag = "1s" }
"#;

const PASSWORD: &str = "of-the-watch";

fn only_a_spec_that_says_so_has_the_tables() {
    // Without a heartbeat, a lag would be an error.
    let without: String = SPEC
        .lines()
        .filter(|line| !line.starts_with("heartbeat") && !line.starts_with("limits"))
        .map(|line| format!("{line}\n"))
        .collect();
    let has = |dialect, spec: &str| {
        let bundle = bundle(dialect, &graph_of(spec));
        let mut files = bundle.files.iter();
        let table = "CREATE TABLE IF NOT EXISTS replica_heartbeat";
        files.any(|file| file.statements.iter().any(|it| it.sql.contains(table)))
    };
    for dialect in [Dialect::Mysql, Dialect::Mariadb] {
        assert!(has(dialect, SPEC), "{dialect:?}");
        assert!(!has(dialect, &without), "{dialect:?}");
    }
    assert!(!has(Dialect::Postgres, SPEC));
}

/// A primary with an installation, a replica, and a replica of that. `beat` has the role of the operator, `watch` may read the beat.
struct Place {
    folder: tempfile::TempDir,
    primary: Mysql,
    replicas: [Mysql; 2],
    flavour: Flavour,
}

impl Place {
    fn new(flavour: Flavour) -> Result<Place> {
        let mut settings = Settings::new(flavour);
        settings
            .extra
            .push(("log_slave_updates".to_owned(), "ON".to_owned()));
        let primary = Mysql::start(&settings)?;
        settings
            .extra
            .push(("read_only".to_owned(), "ON".to_owned()));
        let first = primary.start_replica(&settings)?;
        let second = first.start_replica(&settings)?;
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("replicas.toml"), SPEC)?;
        primary.query(
            "CREATE DATABASE app; CREATE TABLE app.tick (id integer AUTO_INCREMENT PRIMARY KEY, expires datetime, KEY (expires, id))",
        )?;
        let place = Place {
            folder,
            primary,
            replicas: [first, second],
            flavour,
        };
        place.clean("install", &[])?;
        place.clean("arm", &[])?;
        let role = "windrow_replicas_operator";
        let default = match flavour {
            Flavour::Mysql => "TO",
            Flavour::Mariadb => "FOR",
        };
        // Only the account that created a role may grant it on MariaDB: the one that installed over TCP.
        let mut session = db::connect_as_application(&url(&place.primary, "root").parse()?)?;
        for statement in [
            format!(
                "CREATE USER beat IDENTIFIED BY '{PASSWORD}', watch IDENTIFIED BY '{PASSWORD}'"
            ),
            format!("GRANT {role} TO beat"),
            format!("SET DEFAULT ROLE {role} {default} beat"),
            "GRANT SELECT ON windrow_replicas.replica_beat TO watch".to_owned(),
        ] {
            session.execute(&statement)?;
        }
        place.replicas[0].catch_up(&place.primary)?;
        place.replicas[1].catch_up(&place.replicas[0])?;
        Ok(place)
    }

    /// A command on the primary; the password of an account stands in the environment.
    fn command(&self, word: &str, user: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windrow"));
        command
            .arg(word)
            .arg(self.folder.path().join("replicas.toml"))
            .args(more)
            .env("WINDROW_URL", url(&self.primary, user))
            .env_remove("MYSQL_PWD")
            .env_remove("WINDROW_SPEC")
            .stdin(Stdio::null());
        if user != "root" {
            command.env("MYSQL_PWD", PASSWORD);
        }
        command
    }

    /// A command of the superuser that ends clean.
    fn clean(&self, word: &str, more: &[&str]) -> Result<()> {
        let output = self.command(word, "root", more).output()?;
        ensure!(output.status.code() == Some(0), "{word}: {output:?}");
        Ok(())
    }

    /// The heartbeat, with every replica.
    fn heartbeat(&self, more: &[&str]) -> Command {
        let mut command = self.command("heartbeat", "beat", more);
        for replica in &self.replicas {
            command.arg("--replica").arg(url(replica, "watch"));
        }
        command
    }

    fn name(&self, replica: usize) -> String {
        format!("127.0.0.1:{}", self.replicas[replica].port())
    }

    /// Starts or stops threads of a replica.
    fn order(&self, replica: usize, order: &str) -> Result<()> {
        let order = match self.flavour {
            Flavour::Mysql => order.replace("SLAVE", "REPLICA"),
            Flavour::Mariadb => order.to_owned(),
        };
        self.replicas[replica].query(&order).map(drop)
    }

    /// Sends a signal to the server of a replica.
    fn signal(&self, replica: usize, name: &str) -> Result<()> {
        let pid = self.replicas[replica].pid().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status()?;
        ensure!(status.success(), "{status}");
        Ok(())
    }

    /// Waits until a batch would wait for what has these words; without any, until it would not wait.
    fn would_wait(&self, words: &[&str]) -> Result<()> {
        let mut said = String::new();
        let would = until("what a batch would wait for", || {
            said = self.primary.query(
                "CALL windrow_replicas.replica_lag(1, @said); SELECT COALESCE(@said, 'nothing')",
            )?;
            let waits = said.trim() != "nothing";
            Ok(waits != words.is_empty() && words.iter().all(|word| said.contains(word)))
        });
        would.with_context(|| format!("{words:?}: {said}"))
    }

    /// A run waits for this, and deletes nothing, until `then` has made it go on.
    fn waits(&self, words: &[&str], then: impl FnOnce() -> Result<()>) -> Result<()> {
        self.would_wait(words)?;
        self.primary
            .query("INSERT INTO app.tick (expires) VALUES ('2025-01-01'), ('2025-01-02')")?;
        let left = || self.primary.query("SELECT COUNT(*) FROM app.tick");
        let mut run = self
            .command("run", "root", &[])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let done = until("the run waits", || {
            let waiting = "SELECT waiting_for FROM windrow_replicas.run WHERE status = 'running' AND waiting_for IS NOT NULL";
            let said = self.primary.query(waiting)?;
            Ok(words.iter().all(|word| said.contains(word)))
        })
        .and_then(|()| {
            ensure!(left()?.trim() == "2", "it deletes while it waits");
            then()?;
            until("the run ends", || Ok(run.try_wait()?.is_some()))
        });
        if done.is_err() {
            run.kill()?;
        }
        let status = run.wait()?;
        done?;
        ensure!(
            status.code() == Some(0) && left()?.trim() == "0",
            "{status}"
        );
        Ok(())
    }

    /// What is noted of a replica.
    fn state(&self, replica: usize) -> Result<String> {
        let name = self.name(replica);
        let state = "SELECT state FROM windrow_replicas.replica_heartbeat WHERE replica = ";
        self.primary.query(&format!("{state}'{name}'"))
    }
}

/// An address over which MySQL takes a password without TLS.
fn url(server: &Mysql, user: &str) -> String {
    let url = server.url("", user);
    match server.flavour() {
        Flavour::Mysql => format!("{url}&get-server-public-key=true"),
        Flavour::Mariadb => url,
    }
}

/// A heartbeat at work, which ends with the test at the latest.
struct Heart(Option<Child>);

impl Heart {
    /// Ends it as Ctrl-C does.
    fn interrupt(mut self) -> Result<Output> {
        let child = self.0.take().context("it beats")?;
        let status = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()?;
        ensure!(status.success(), "{status}");
        Ok(child.wait_with_output()?)
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

/// The document that a command printed, which ended with this code.
fn document(command: &mut Command, code: i32) -> Result<Value> {
    let output = command.args(["--output", "json"]).output()?;
    ensure!(output.status.code() == Some(code), "{output:?}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn runs_wait_for_replicas(flavour: Flavour) -> Result<()> {
    let mut place = Place::new(flavour)?;
    refusals(&place)?;

    let mut beating = place.heartbeat(&["--every", "200ms"]);
    beating.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut heart = None;
    place.waits(&["the first look at a replica (max_replica_lag 1)"], || {
        heart = Some(Heart(Some(beating.spawn()?)));
        Ok(())
    })?;
    let heart = heart.context("a heartbeat")?;
    let followed = follows(&mut place);
    let output = heart.interrupt()?;
    followed.with_context(|| format!("{output:?}"))?;
    ensure!(output.status.code() == Some(0), "{output:?}");
    let said = String::from_utf8(output.stderr)?;
    let (_, after) = said
        .split_once("the primary cannot take the beat: ")
        .with_context(|| said.clone())?;
    ensure!(after.contains("the primary takes the beat"), "{said}");

    place.would_wait(&[
        "nobody has looked since ",
        " UTC; is windrow heartbeat running?",
    ])?;
    let beat =
        "SELECT DATE_FORMAT(beat_at, '%Y-%m-%dT%H:%i:%sZ') FROM windrow_replicas.replica_beat";
    let last = place.primary.query(beat)?;
    until("one look finds a new beat on both", || {
        let once = ["--once", "--every", "300ms"];
        let answer = document(&mut place.heartbeat(&once), 0)?;
        let replicas = answer["replicas"].as_array().context("replicas")?;
        Ok(replicas.iter().all(|it| {
            let until = it["replicated_until"].as_str();
            it["state"] == "replicates" && until > Some(last.trim())
        }))
    })?;
    forgotten(&place)?;
    place.clean("uninstall", &["--yes"])
}

/// What is seen of replicas while the heart beats.
fn follows(place: &mut Place) -> Result<()> {
    // The right to see the status is wanted for the reason alone.
    let denied = place.state(0)?;
    ensure!(
        denied.contains("the replica status is not shown: "),
        "{denied}"
    );
    let right = match place.flavour {
        Flavour::Mysql => "REPLICATION CLIENT",
        Flavour::Mariadb => "SLAVE MONITOR",
    };
    place
        .primary
        .query(&format!("GRANT {right} ON *.* TO watch"))?;
    until("the status is shown", || {
        Ok(place.state(0)?.trim() == "replicates" && place.state(1)?.trim() == "replicates")
    })?;
    place.clean("diff", &[])?;

    place.order(1, "STOP SLAVE SQL_THREAD")?;
    let last = format!("replica {}, which is ", place.name(1));
    let stopped = [
        &last,
        " seconds behind (max_replica_lag 1): the applier is stopped",
    ];
    place.waits(&stopped, || place.order(1, "START SLAVE SQL_THREAD"))?;

    // The last one is behind, although nothing is wrong with it.
    place.order(0, "STOP SLAVE IO_THREAD")?;
    until("the one behind it is late, too", || {
        let late =
            "SELECT COUNT(*) FROM windrow_replicas.replica_heartbeat WHERE state = 'replicates'
            AND replicated_until < UTC_TIMESTAMP() - INTERVAL 2 SECOND";
        Ok(place.primary.query(late)?.trim() == "1")
    })?;
    place.would_wait(&["max_replica_lag 1"])?;
    place.order(0, "START SLAVE IO_THREAD")?;
    place.would_wait(&[])?;

    // One that hangs stops no look at the other.
    place.signal(1, "STOP")?;
    let hung = place
        .would_wait(&[&last, ": nobody has looked since "])
        .and_then(|()| {
            let both = "SELECT SUM(IF(replica = 'NAME', age >= 3, age = 0)) FROM (
                SELECT replica, TIMESTAMPDIFF(SECOND, looked_at, UTC_TIMESTAMP(6)) AS age FROM windrow_replicas.replica_heartbeat
            ) AS h";
            let both = both.replace("NAME", &place.name(1));
            until("the other is looked at for three seconds", || {
                Ok(place.primary.query(&both)?.trim() == "2")
            })
        });
    place.signal(1, "CONT")?;
    hung?;
    place.would_wait(&[])?;

    place.replicas[1].kill()?;
    place.would_wait(&[&last, "cannot connect to "])?;
    place.replicas[1].restart()?;
    place.order(1, "START SLAVE")?;
    place.would_wait(&[])?;

    place.primary.kill()?;
    place.primary.restart()?;
    let beat = || {
        place
            .primary
            .query("SELECT beat_at FROM windrow_replicas.replica_beat")
    };
    let last = beat()?;
    until("the heart beats again", || Ok(beat()? != last))?;
    place.would_wait(&[])
}

/// What ends the command at once, with the reason.
fn refusals(place: &Place) -> Result<()> {
    let refused = |mut command: Command, words: &str| -> Result<()> {
        let error = document(&mut command, 2)?.to_string();
        ensure!(error.contains(words), "{words}: {error}");
        Ok(())
    };
    let hasty = place.heartbeat(&["--every", "1ms"]);
    refused(hasty, "is no time between two beats")?;
    let other = ["--replica", "postgres://db2/"];
    refused(place.heartbeat(&other), "is no address of MySQL or MariaDB")?;
    let wrong = url(&place.replicas[1], "watch").replace("watch@", "watch:wrong@");
    let wrong = ["--replica", &wrong, "--every", "100ms", "--once"];
    refused(place.command("heartbeat", "beat", &wrong), "Access denied")?;
    refused(
        place.command("heartbeat", "beat", &wrong[..4]),
        "Access denied",
    )?;
    // As if nobody had looked.
    place
        .primary
        .query("DELETE FROM windrow_replicas.replica_heartbeat")
        .map(drop)
}

/// A replica that is gone for good is forgotten by its name.
fn forgotten(place: &Place) -> Result<()> {
    let name = place.name(1);
    let forget = || place.command("heartbeat", "beat", &["--forget", &name]);
    let answer = document(&mut forget(), 0)?;
    let left = answer["replicas"].as_array().context("replicas")?;
    ensure!(
        left.len() == 1 && left[0]["replica"] == place.name(0),
        "{answer}"
    );
    let error = document(&mut forget(), 2)?.to_string();
    ensure!(error.contains(&format!("no replica '{name}'")), "{error}");
    Ok(())
}
