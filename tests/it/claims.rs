//! What stands under windrow's names before an installation, or is changed after it: roles, schemas and objects of others,
//! rights that somebody gave, constraints that are gone. On PostgreSQL; `rights` has what holds on every server.

mod armed;
mod changed;
mod first;
mod innodb;
mod superusers;

use anyhow::{Context, Result};
use postgres::{Client, NoTls};
use serde_json::{Value, json};
use windrow::bundle::Bundle;
use windrow::sandbox::{self, Postgres, Settings};

use crate::harness::tests;
use crate::rig;
use crate::support::effort::one_end;

tests! {
    within: [
        armed::tests,
        changed::tests,
        first::tests,
        innodb::tests,
        superusers::tests,
    ],
}

/// The oldest version of those from 15 on, where a superuser's COMMIT lends his rights, or the newest; in `make prove`
/// every one.
fn on_each_version(test: impl Fn(&Postgres) -> Result<()>) -> Result<()> {
    let versions = sandbox::installed();
    let versions: Vec<_> = versions.into_iter().filter(|it| it.0 >= 15).collect();
    for (major, bin_dir) in one_end(versions) {
        let server = Postgres::start(&Settings {
            bin_dir: Some(bin_dir),
            ..Settings::default()
        })?;
        test(&server).with_context(|| format!("on PostgreSQL {major}"))?;
    }
    Ok(())
}

/// A database with the tables of the spec, which belong to the superuser.
fn database(server: &Postgres, name: &str) -> Result<Client> {
    Client::connect(&server.url("postgres", "postgres"), NoTls)?
        .batch_execute(&format!("CREATE DATABASE {name}"))?;
    let mut admin = Client::connect(&server.url(name, "postgres"), NoTls)?;
    rig::load(&mut admin, 80)?;
    Ok(admin)
}

/// The violations of verify().
fn violations(admin: &mut Client) -> Result<String> {
    let document = rig::call(admin, "verify", &json!({}))?;
    let checks = document["checks"].as_array().context("checks")?;
    let broken: Vec<&Value> = checks
        .iter()
        // The history has orphans, and no job of pg_cron is here.
        .filter(|check| check["severity"] == "violation" && check["check"] != "orphans")
        .collect();
    Ok(format!("{broken:?}"))
}

/// What `windrow diff` tells besides.
fn deviations(admin: &mut Client, bundle: &Bundle) -> Result<Vec<String>> {
    let mut told = Vec::new();
    for query in &bundle.deviations {
        told.extend(rig::texts(
            admin,
            &format!("SELECT d.problem FROM ({query}) AS d"),
        )?);
    }
    Ok(told)
}
