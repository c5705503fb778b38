//! A cluster that is armed stays armed when somebody arms again without naming it; only who says so arms one server of it.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::sandbox::mysql::{Flavour, Mysql};
use windrow::sandbox::{self, Postgres};

use super::super::SPEC;
use super::{CONTROL, Host, graph, mysql, place, postgres, rows, schema};
use crate::harness::tests;
use crate::support::installation::{Installation, apply, bundle, call, dialect_of};
use crate::support::patience::until;

tests! {
    on_postgres: [
        a_cluster_of_postgresql_stays_armed,
    ],
    mysql_and_mariadb: [
        servers_that_replicate_stay_armed,
        a_server_without_a_replica_is_told,
    ],
}

impl<S> Host<S> {
    fn armed_on(&mut self) -> Result<String> {
        let sql = format!("SELECT server_identity FROM {CONTROL}.control");
        let rows = self.session.query(&sql, &[])?;
        rows[0][0].clone().context("an identity")
    }

    /// What an installation with a new rule leaves.
    fn disarm(&mut self) -> Result<()> {
        let sql = format!("UPDATE {CONTROL}.control SET armed = false WHERE only_row = true");
        self.session.execute(&sql)
    }

    /// `cluster`, as this server says it, is armed; each way to arm again keeps it, and one narrows it.
    fn stays_armed(&mut self, url: &str, cluster: &str) -> Result<()> {
        let identity = self.armed_on()?;
        ensure!(identity.starts_with("cluster "), "{identity}");
        // As the hint of a run says.
        self.disarm()?;
        let error = call(&mut self.session, self.dialect, CONTROL, "run", &json!({}));
        let hint = format!("{CONTROL}.arm()");
        let error = format!("{:#}", error.expect_err("not armed"));
        ensure!(error.contains("not armed"), "{error}");
        self.session.execute(&format!("CALL {hint}"))?;
        assert_eq!(self.armed_on()?, identity);
        let answer = call(&mut self.session, self.dialect, CONTROL, "run", &json!({}))?;
        assert_eq!(answer["status"], "done", "{answer}");

        // As those of an installation and of the alerts say.
        self.disarm()?;
        let text = windrow(url, &[])?;
        ensure!(
            text.contains(&format!("cluster {cluster} stays armed"))
                && text.contains("--this-server"),
            "{text}"
        );
        assert_eq!(self.armed_on()?, identity);
        let armed: Value = serde_json::from_str(&windrow(url, &["--output", "json"])?)?;
        assert_eq!(armed["cluster"], cluster, "{armed}");
        assert_eq!(self.armed_on()?, identity);

        // A value that says nothing narrows nothing; one that is no truth is refused, and so is none.
        self.arm(&json!({"this_server": false}))?;
        assert_eq!(self.armed_on()?, identity);
        let error = self
            .arm(&json!({"this_server": "yes"}))
            .expect_err("no truth");
        ensure!(format!("{error:#}").contains("true"), "{error:#}");
        let error = self.arm(&json!({"cluster": null})).expect_err("none");
        ensure!(format!("{error:#}").contains("null"), "{error:#}");
        let error = self
            .arm(&json!({"this_server": true, "cluster": cluster}))
            .expect_err("both");
        ensure!(
            format!("{error:#}").contains("exclude each other"),
            "{error:#}"
        );
        assert_eq!(self.armed_on()?, identity);

        let armed: Value =
            serde_json::from_str(&windrow(url, &["--this-server", "--output", "json"])?)?;
        assert_eq!(armed["cluster"], Value::Null, "{armed}");
        let alone = self.armed_on()?;
        ensure!(!alone.starts_with("cluster "), "{alone}");
        // What is one server stays one.
        let text = windrow(url, &[])?;
        ensure!(!text.contains("cluster"), "{text}");
        assert_eq!(self.armed_on()?, alone);
        Ok(())
    }

    /// A server that is no member of the cluster any more is armed by itself.
    fn leaves(&mut self, url: &str) -> Result<()> {
        let text = windrow(url, &[])?;
        ensure!(
            text.contains("on this server alone") && text.contains("--cluster"),
            "{text}"
        );
        let alone = self.armed_on()?;
        ensure!(!alone.starts_with("cluster "), "{alone}");
        Ok(())
    }
}

/// A list of servers is armed, and no replica is seen: the next restart would end the cleanup. And a host is called as what begins the
/// identity of a cluster.
fn a_server_without_a_replica_is_told(flavour: Flavour) -> Result<()> {
    let mut made = Installation::of(dialect_of(flavour), &schema(), &graph());
    let armed = |made: &mut Installation| -> Result<String> {
        let checks = made.call("verify", json!({}))?["checks"].clone();
        let mut checks = checks.as_array().context("checks")?.iter();
        let armed = checks
            .find(|it| it["check"] == "armed")
            .context("a check")?;
        Ok(format!("{} {}", armed["severity"], armed["detail"]))
    };
    let answer =
        made.texts(r#"CALL W.arm_with(CONCAT('{"cluster": "', @@hostname, ':', @@port, '"}'))"#);
    let told = armed(&mut made)?;
    let says = match flavour {
        Flavour::Mysql => "whether a replica follows this server is not seen",
        Flavour::Mariadb => "no replica follows this server: once it has restarted",
    };
    ensure!(
        told.starts_with("\"notice\"") && told.contains(says),
        "{told}"
    );
    // Who arms it is told at once.
    ensure!(answer.len() == 1 && told.contains(&answer[0]), "{answer:?}");
    let answer = made.rows(r#"CALL W.arm_with('{"this_server": true}')"#);
    ensure!(answer.is_empty(), "{answer:?}");
    let told = armed(&mut made)?;
    ensure!(told.starts_with("\"ok\""), "{told}");

    let statements = made.bundle(&graph()).files.into_iter();
    let statement = statements
        .flat_map(|file| file.statements)
        .find(|it| it.sql.contains("PROCEDURE identity_of("))
        .context("identity_of")?;
    made.execute("DROP PROCEDURE W.identity_of");
    let cluster = statement.sql.replace("@@hostname", "'cluster'");
    made.execute(&cluster.replacen(" identity_of(", " W.identity_of(", 1));
    made.execute("CALL W.arm()");
    let told = armed(&mut made)?;
    ensure!(told.starts_with("\"ok\""), "{told}");
    Ok(())
}

/// What `windrow arm` of the spec says.
fn windrow(url: &str, options: &[&str]) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let spec = folder.path().join("guard.toml");
    fs::write(&spec, SPEC)?;
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .arg("arm")
        .arg(&spec)
        .args(["--url", url])
        .args(options)
        .output()?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let why = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{told}{why}");
    Ok(if told.is_empty() {
        why.into_owned()
    } else {
        told
    })
}

fn a_cluster_of_postgresql_stays_armed() -> Result<()> {
    // Such a name looks like a part of what is stored.
    let name = "orders/eu 1";
    let settings = sandbox::Settings {
        extra: vec![("cluster_name".to_owned(), name.to_owned())],
        ..sandbox::Settings::default()
    };
    let mut host = postgres(Postgres::start(&settings)?);
    host.session.execute(&(schema() + &rows()))?;
    apply(&mut host.session, &bundle(Dialect::Postgres, &graph()));
    host.session
        .execute(&format!("GRANT pg_monitor TO {CONTROL}_owner"))?;
    host.arm(&json!({"cluster": name}))?;
    let url = host.server.url("postgres", "postgres");
    host.stays_armed(&url, name)?;

    host.arm(&json!({"cluster": name}))?;
    host.arm(&json!({"until": "restart"}))?;
    let alone = host.armed_on()?;
    ensure!(alone.contains("/started "), "{alone}");
    host.arm(&json!({"cluster": name}))?;
    host.session
        .execute("ALTER SYSTEM SET cluster_name = 'copy'")?;
    host.server.restart()?;
    let mut copy = postgres(host.server);
    copy.refuses("armed for another cluster orders");
    copy.leaves(&url)
}

fn servers_that_replicate_stay_armed(flavour: Flavour) -> Result<()> {
    let server = Mysql::start(&mysql::Settings::new(flavour))?;
    server.query("CREATE DATABASE guard")?;
    let mut host = mysql(server);
    host.session.execute(&(schema() + &rows()))?;
    apply(&mut host.session, &bundle(host.dialect, &graph()));
    let listed = format!("elsewhere:3306,{}", place(&host.server)?);
    // Armed in the second of its start, it would count as one that has come back alone.
    let second = host.started()?;
    until("the second after that of the start", || {
        Ok(host.number(&format!("SELECT UTC_TIMESTAMP() > '{second}'")) == 1)
    })?;
    host.arm(&json!({"cluster": listed}))?;
    let url = host.server.url("guard", "root");
    host.stays_armed(&url, &listed)?;

    host.arm(&json!({"cluster": listed}))?;
    // No replica follows it, or none is seen.
    let text = windrow(&url, &[])?;
    ensure!(text.contains("once it has restarted"), "{text}");
    let armed: Value = serde_json::from_str(&windrow(&url, &["--output", "json"])?)?;
    let notice = armed["notice"].as_str().context("a notice")?;
    ensure!(text.contains(notice), "{text}: {notice}");
    host.session.execute(&format!(
        "UPDATE {CONTROL}.control SET server_identity = REPLACE(server_identity, '{listed}', 'elsewhere:1') WHERE only_row = true"
    ))?;
    host.refuses("armed for another cluster of servers");
    host.leaves(&url)
}
