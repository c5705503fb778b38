//! Who is armed, who may hold runs up, and how long a trail stays.

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use serde_json::json;
use windrow::graph::Shared;
use windrow::sandbox::mysql::{self, Flavour, Mysql};
use windrow::sandbox::{Postgres, Settings};

use super::{database, on_each_version};
use crate::harness::tests;
use crate::rig::{self, W};
use crate::support::effort::flavours;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{self, Installation};

tests! {
    on_postgres: [
        a_login_without_rights_blocks_no_run,
        a_restart_disarms_only_who_was_armed_until_then,
        the_place_of_a_server_is_part_of_what_is_armed,
        what_was_granted_for_a_cluster_stays,
        an_operator_does_not_shorten_his_trail,
    ],
}

/// Advisory locks are for everybody: none of them holds a run up.
fn a_login_without_rights_blocks_no_run() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let mut admin = database(&server, "ds")?;
    rig::install(&mut admin)?;
    rig::set_policies(&mut admin)?;
    admin.batch_execute(&format!("CALL {W}.arm(); CREATE ROLE nick LOGIN"))?;
    let class = rig::texts(
        &mut admin,
        &format!("SELECT lock_class::text FROM {W}.spec"),
    )?
    .remove(0);
    let mut nick = Client::connect(&server.url("ds", "nick"), NoTls)?;
    nick.batch_execute(&format!(
        "SELECT pg_advisory_lock({class}, k) FROM generate_series(0, 2000) AS k"
    ))?;
    admin.batch_execute("SET statement_timeout = '60s'")?;
    for (routine, options) in [
        ("set_hold", json!({"key": 1, "reason": "test"})),
        ("release_hold", json!({"key": 1})),
    ] {
        rig::call(&mut admin, routine, &options)?;
    }
    let result = rig::run(&mut admin, &json!({"run_families": 3}))?;
    ensure!(
        result["status"] != "refused" && result["rules"][0]["families"] == 3,
        "{result}"
    );
    let key = rig::due(&mut admin, 1)?[0];
    let result = rig::purge(&mut admin, &json!({"key": [key]}))?;
    ensure!(result["rules"][0]["families"] == 1, "{result}");
    // One at a time still, and a run that lives is not taken for dead.
    let mut other = Client::connect(&server.url("ds", "postgres"), NoTls)?;
    other.batch_execute(&format!("SELECT {W}.run_begin('{{}}')"))?;
    other.batch_execute("BEGIN; SELECT 1")?;
    let refused = rig::run(&mut admin, &json!({}))?;
    ensure!(
        refused["status"] == "refused"
            && refused["reason"]
                .as_str()
                .is_some_and(|it| it.contains("in progress")),
        "{refused}"
    );
    drop(other);
    drop(nick);
    crate::support::patience::until("the session is gone", || {
        Ok(rig::run(&mut admin, &json!({"dry_run": true}))?["status"] != "refused")
    })
}

fn a_restart_disarms_only_who_was_armed_until_then() -> Result<()> {
    let mut server = Postgres::start(&Settings::default())?;
    let mut admin = database(&server, "ds")?;
    rig::install(&mut admin)?;
    admin.batch_execute(&format!("CALL {W}.arm()"))?;
    rig::refused(
        admin.batch_execute(&format!("CALL {W}.arm('{{\"until\": \"tomorrow\"}}')")),
        "22023",
    )?;
    server.restart()?;
    let mut admin = Client::connect(&server.url("ds", "postgres"), NoTls)?;
    ensure!(rig::run(&mut admin, &json!({}))?["status"] == "done");
    admin.batch_execute(&format!("CALL {W}.arm('{{\"until\": \"restart\"}}')"))?;
    ensure!(rig::run(&mut admin, &json!({}))?["status"] == "done");
    server.restart()?;
    let mut admin = Client::connect(&server.url("ds", "postgres"), NoTls)?;
    rig::refused(
        admin.batch_execute(&format!("CALL {W}.run('{{}}')")),
        "55000",
    )?;
    let refused = rig::run(&mut admin, &json!({"trigger": "SCHEDULED"}))?;
    ensure!(refused["status"] == "refused", "{refused}");
    admin.batch_execute(&format!("CALL {W}.arm()"))?;
    ensure!(rig::run(&mut admin, &json!({}))?["status"] == "done");

    for flavour in flavours(Flavour::Mariadb) {
        let mut server = Mysql::start(&mysql::Settings::new(flavour))?;
        let mut made = Installation::on(&server, &dolphinscheduler(Shared::Closed));
        made.arm();
        let (name, control, dialect) = (made.name.clone(), made.control.clone(), made.dialect);
        let open = |server: &Mysql| installation::connect(&server.url(&name, "root"));
        let run = |server: &Mysql| {
            installation::call(&mut open(server), dialect, &control, "run", &json!({}))
        };
        server.restart()?;
        ensure!(run(&server)?["status"] == "done", "{dialect:?}");
        open(&server).execute(&format!(
            "CALL {control}.arm_with('{{\"until\": \"restart\"}}')"
        ))?;
        // The second of the start is the same, whenever it is asked for.
        for _ in 0..15 {
            ensure!(run(&server)?["status"] == "done", "{dialect:?}");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        server.restart()?;
        let error = run(&server)
            .err()
            .with_context(|| format!("{dialect:?}: it is armed"))?;
        ensure!(
            format!("{error:#}").contains("armed on another server"),
            "{error:#}"
        );
    }
    Ok(())
}

/// To see standbys, the owner role was given a right by hand, which an earlier state of the spec could have needed, too.
fn what_was_granted_for_a_cluster_stays() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let mut admin = database(&server, "ds")?;
    rig::install(&mut admin)?;
    let has = format!(
        "SELECT count(*) FROM pg_auth_members WHERE member = '{W}_owner'::regrole AND roleid = 'pg_read_all_stats'::regrole"
    );
    for (identity, left) in [("cluster orders/1", 1), ("1/2", 0)] {
        admin.batch_execute(&format!(
            "GRANT pg_read_all_stats TO {W}_owner; UPDATE {W}.control SET server_identity = '{identity}'"
        ))?;
        rig::install(&mut admin)?;
        let found = rig::number(&mut admin, &has)?;
        ensure!(found == left, "{identity}: {found}");
    }
    // For a limit that is only a setting, too, as long as it is set.
    for (limit, left) in [(30, 1), (0, 0)] {
        admin.batch_execute(&format!("GRANT pg_read_all_stats TO {W}_owner"))?;
        for name in ["max_replica_lag", "max_replica_wal", "max_active_sessions"] {
            rig::set(&mut admin, name, limit)?;
            rig::install(&mut admin)?;
            let found = rig::number(&mut admin, &has)?;
            ensure!(limit == 0 || found == left, "{name} {limit}: {found}");
            if limit > 0 {
                rig::set(&mut admin, name, 0)?;
            }
        }
        ensure!(rig::number(&mut admin, &has)? == left, "{limit}");
    }
    Ok(())
}

/// What a copy of the folder has in common with the original is not all that counts.
fn the_place_of_a_server_is_part_of_what_is_armed() -> Result<()> {
    on_each_version(|server| {
        let mut admin = database(server, "ds")?;
        rig::install(&mut admin)?;
        let identity = rig::texts(&mut admin, &format!("SELECT {W}.server_identity()"))?.remove(0);
        for setting in ["data_directory", "listen_addresses", "port"] {
            let value =
                rig::texts(&mut admin, &format!("SELECT current_setting('{setting}')"))?.remove(0);
            ensure!(
                identity.contains(&format!("/{value}")),
                "{setting}: {identity}"
            );
        }
        // Who was armed by an earlier version stays so.
        admin.batch_execute(&format!(
            "CALL {W}.arm();
             UPDATE {W}.control SET server_identity = (SELECT string_agg(p.part, '/' ORDER BY p.place) FROM unnest(string_to_array(server_identity, '/')) WITH ORDINALITY AS p(part, place) WHERE p.place <= 5)"
        ))?;
        rig::refused(
            admin.batch_execute(&format!("CALL {W}.run('{{}}')")),
            "55000",
        )?;
        rig::install(&mut admin)?;
        ensure!(rig::run(&mut admin, &json!({}))?["status"] == "done");
        Ok(())
    })
}

fn an_operator_does_not_shorten_his_trail() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let mut admin = database(&server, "ds")?;
    rig::install(&mut admin)?;
    admin.batch_execute(&format!(
        "CALL {W}.arm(); CREATE ROLE olga LOGIN IN ROLE {W}_operator"
    ))?;
    let mut olga = Client::connect(&server.url("ds", "olga"), NoTls)?;
    rig::refused(rig::set(&mut olga, "ledger_days", 399), "42501")?;
    rig::set(&mut olga, "ledger_days", 1000)?;
    // Nor what somebody has made longer, and not by giving the setting back.
    rig::refused(rig::set(&mut olga, "ledger_days", 999), "42501")?;
    let back = format!(r#"SELECT {W}.set_setting('{{"name": "ledger_days", "value": null}}')"#);
    rig::refused(olga.batch_execute(&back), "42501")?;
    rig::set(&mut admin, "ledger_days", 30)?;
    rig::set(&mut olga, "ledger_days", 31)?;
    olga.batch_execute(&back)?;
    rig::set(&mut admin, "ledger_days", 1)?;
    let kept = format!("SELECT count(*) FROM {W}.setting_log WHERE name = 'ledger_days'");
    admin.batch_execute(&format!(
        "UPDATE {W}.setting_log SET changed_at = changed_at - interval '1000 days'"
    ))?;
    rig::run(&mut olga, &json!({}))?;
    ensure!(rig::number(&mut admin, &kept)? == 5);

    for flavour in flavours(Flavour::Mariadb) {
        let server = Mysql::start(&mysql::Settings::new(flavour))?;
        let mut made = Installation::on(&server, &dolphinscheduler(Shared::Closed));
        made.arm();
        for days in [1000, 1] {
            made.set_setting("ledger_days", days)?;
        }
        made.execute("UPDATE W.setting_log SET changed_at = changed_at - INTERVAL 1000 DAY");
        made.run(json!({}))?;
        let left = made.number("SELECT COUNT(*) FROM W.setting_log WHERE name = 'ledger_days'");
        ensure!(left == 2, "{left}");
    }
    Ok(())
}
