//! Rights that somebody else than the installation gave, on what is windrow's or to windrow's roles. On PostgreSQL, which notes who
//! gave what.

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use serde_json::{Value, json};
use windrow::sandbox::{Postgres, Settings};

use crate::harness::tests;
use crate::rig::{self, W};

tests! {
    on_postgres: [
        what_others_gave_the_owner_is_taken_back_or_told,
        what_somebody_may_do_with_ours_is_taken_back,
        rights_beside_tables_are_told,
    ],
}

/// A database with windrow, and some who have rights of their own.
fn lent(server: &Postgres, installer: &str) -> Result<[Client; 2]> {
    let mut admin = Client::connect(&server.url("postgres", "postgres"), NoTls)?;
    admin.batch_execute(
        "CREATE ROLE nick LOGIN; CREATE ROLE lena LOGIN; CREATE ROLE dora LOGIN CREATEROLE",
    )?;
    admin.batch_execute("CREATE DATABASE ds OWNER dora")?;
    let mut installer = Client::connect(&server.url("ds", installer), NoTls)?;
    rig::load(&mut installer, 20)?;
    rig::install(&mut installer)?;
    let admin = Client::connect(&server.url("ds", "postgres"), NoTls)?;
    Ok([admin, installer])
}

/// What verify() and `windrow diff` tell of rights, each finding once.
fn told(admin: &mut Client) -> Result<[String; 2]> {
    let verify = rig::call(admin, "verify", &json!({}))?;
    let checks = verify["checks"].as_array().context("checks")?;
    let broken: Vec<String> = checks
        .iter()
        .filter(|check| {
            check["severity"] == "violation"
                && ["rights", "claim"]
                    .map(Value::from)
                    .contains(&check["check"])
        })
        .map(|check| format!("{}: {}", check["object"], check["detail"]))
        .collect();
    let mut drift = Vec::new();
    for query in &rig::bundle()?.deviations {
        drift.extend(rig::texts(
            admin,
            &format!("SELECT concat_ws('; ', d.object, d.problem, d.remedy) FROM ({query}) AS d"),
        )?);
    }
    Ok([broken.join("\n"), drift.join("\n")])
}

fn is_told(admin: &mut Client, says: &str) -> Result<()> {
    let found = told(admin)?;
    let all = found.iter().all(|text| text.contains(says));
    ensure!(all, "no `{says}` in: {found:?}");
    Ok(())
}

fn is_clean(admin: &mut Client, round: &str) -> Result<()> {
    let found = told(admin)?;
    ensure!(found.iter().all(String::is_empty), "{round}: {found:?}");
    Ok(())
}

fn what_others_gave_the_owner_is_taken_back_or_told() -> Result<()> {
    for who in ["postgres", "dora"] {
        let server = Postgres::start(&Settings::default())?;
        let [mut admin, mut installer] = lent(&server, who)?;
        is_clean(&mut admin, who)?;
        // Who may pass a right on, does.
        admin.batch_execute(&format!(
            "CREATE TABLE public.once (a integer, b integer); GRANT USAGE ON SCHEMA public TO lena; CREATE SCHEMA apart;
             GRANT ALL ON public.once, t_ds_alert TO lena WITH GRANT OPTION; GRANT UPDATE (state) ON t_ds_workflow_instance TO lena WITH GRANT OPTION;
             GRANT ALL ON SCHEMA apart TO lena WITH GRANT OPTION; GRANT CREATE ON DATABASE ds TO lena WITH GRANT OPTION;
             SET ROLE lena; GRANT SELECT, DELETE ON public.once TO {W}_owner; GRANT TRUNCATE ON t_ds_alert TO {W}_owner;
             GRANT UPDATE (state) ON t_ds_workflow_instance TO {W}_owner; GRANT CREATE ON SCHEMA apart TO {W}_owner;
             GRANT CREATE ON DATABASE ds TO {W}_owner; RESET ROLE"
        ))?;
        let given = [
            "DELETE on table public.once",
            "TRUNCATE on table public.t_ds_alert",
            "UPDATE on column public.t_ds_workflow_instance.state",
            "CREATE on schema apart",
            "CREATE on database ds",
        ];
        for says in given {
            is_told(&mut admin, says)?;
        }
        rig::install(&mut installer)?;
        if who == "dora" {
            // She may not act as the one who gave it.
            for says in given {
                is_told(&mut admin, says)?;
                is_told(&mut admin, "given by lena")?;
            }
            rig::install(&mut admin)?;
        }
        is_clean(&mut admin, who)?;
        // Nobody else has lost anything.
        let own = rig::number(
            &mut admin,
            "SELECT has_table_privilege('lena', 'public.once', 'DELETE')::int + has_database_privilege('lena', 'ds', 'CREATE')::int",
        )?;
        ensure!(own == 2, "{who}: lena has lost a right");
        // Who may not even name the table any more cannot take back what he gave on it.
        if who == "postgres" {
            admin.batch_execute(&format!(
                "CREATE TABLE apart.t (a integer); GRANT ALL ON apart.t TO lena WITH GRANT OPTION; SET ROLE lena;
                 GRANT DELETE ON apart.t TO {W}_owner; RESET ROLE; REVOKE ALL ON SCHEMA apart FROM lena CASCADE"
            ))?;
            rig::install(&mut installer)?;
            is_told(&mut admin, "DELETE on table apart.t")?;
            is_told(&mut admin, "given by lena")?;
            admin.batch_execute("DROP TABLE apart.t")?;
        }
        // What a database's owner gave, she takes back.
        admin.batch_execute(&format!("GRANT CREATE ON DATABASE ds TO {W}_owner"))?;
        is_told(&mut admin, "CREATE on database ds")?;
        rig::install(&mut installer)?;
        is_clean(&mut admin, who)?;
    }
    Ok(())
}

fn what_somebody_may_do_with_ours_is_taken_back() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let [mut admin, _] = lent(&server, "postgres")?;
    is_clean(&mut admin, "at first")?;
    for (given, says) in [
        (
            format!(
                "GRANT EXECUTE ON FUNCTION {W}.record_forced_install(jsonb) TO nick WITH GRANT OPTION; SET ROLE nick;
                 GRANT EXECUTE ON FUNCTION {W}.record_forced_install(jsonb) TO lena, {W}_operator; RESET ROLE"
            ),
            "may be called by lena",
        ),
        (
            format!(
                "GRANT ALL ON {W}.hold TO nick WITH GRANT OPTION; SET ROLE nick; GRANT INSERT ON {W}.hold TO {W}_operator, PUBLIC; RESET ROLE"
            ),
            "may be written to: INSERT by PUBLIC",
        ),
        (
            format!("GRANT UPDATE (armed) ON {W}.control TO {W}_operator"),
            "may be written to: UPDATE",
        ),
        (
            format!("GRANT SELECT ON {W}.hold TO PUBLIC"),
            "may be read by PUBLIC",
        ),
        (
            format!("GRANT CREATE ON SCHEMA {W} TO nick WITH GRANT OPTION; SET ROLE nick; GRANT CREATE ON SCHEMA {W} TO lena; RESET ROLE"),
            "lets lena create",
        ),
    ] {
        admin.batch_execute(&format!("GRANT USAGE ON SCHEMA {W} TO nick; {given}"))?;
        is_told(&mut admin, says)?;
        if says.starts_with("lets") {
            // Nothing is installed where somebody else may put something in the way.
            ensure!(rig::install(&mut admin).is_err());
            admin.batch_execute(&format!("RESET ROLE; REVOKE CREATE ON SCHEMA {W} FROM nick CASCADE"))?;
        }
        rig::install(&mut admin)?;
        is_clean(&mut admin, &given)?;
    }
    // Who may read is for the owner to say.
    admin.batch_execute(&format!("GRANT SELECT ON {W}.run TO nick"))?;
    rig::install(&mut admin)?;
    is_clean(&mut admin, "a reader")?;
    let reads = format!("SELECT has_table_privilege('nick', '{W}.run', 'SELECT')::int");
    ensure!(rig::number(&mut admin, &reads)? == 1);
    Ok(())
}

fn rights_beside_tables_are_told() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let [mut admin, mut installer] = lent(&server, "postgres")?;
    for role in ["owner", "operator", "auditor"] {
        for (given, taken, says) in [
            (
                format!(
                    "ALTER DEFAULT PRIVILEGES FOR ROLE dora IN SCHEMA public GRANT DELETE ON TABLES TO {W}_{role}"
                ),
                format!(
                    "ALTER DEFAULT PRIVILEGES FOR ROLE dora IN SCHEMA public REVOKE DELETE ON TABLES FROM {W}_{role}"
                ),
                "by default privileges of dora",
            ),
            (
                format!(
                    "ALTER DEFAULT PRIVILEGES FOR ROLE dora GRANT EXECUTE ON ROUTINES TO {W}_{role}"
                ),
                format!(
                    "ALTER DEFAULT PRIVILEGES FOR ROLE dora REVOKE EXECUTE ON ROUTINES FROM {W}_{role}"
                ),
                "by default privileges of dora",
            ),
            (
                format!("GRANT CREATE ON DATABASE ds TO {W}_{role}"),
                format!("REVOKE CREATE ON DATABASE ds FROM {W}_{role}"),
                "CREATE on database ds",
            ),
        ] {
            admin.batch_execute(&given)?;
            is_told(&mut admin, says).with_context(|| given.clone())?;
            admin.batch_execute(&taken)?;
            is_clean(&mut admin, &given)?;
        }
        // Everybody has these.
        admin.batch_execute(&format!(
            "GRANT CONNECT, TEMPORARY ON DATABASE ds TO {W}_{role}"
        ))?;
        is_clean(&mut admin, role)?;
    }
    // What such a privilege has brought is a right like any.
    admin.batch_execute(&format!(
        "ALTER DEFAULT PRIVILEGES FOR ROLE dora GRANT DELETE ON TABLES TO {W}_owner;
         SET ROLE dora; CREATE TABLE public.later (); RESET ROLE;
         ALTER DEFAULT PRIVILEGES FOR ROLE dora REVOKE DELETE ON TABLES FROM {W}_owner"
    ))?;
    is_told(&mut admin, "later")?;
    rig::install(&mut installer)?;
    is_clean(&mut admin, "later")
}
