//! What is changed after an installation: it is told, and put back or left alone.

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use serde_json::json;
use windrow::dialect::{DIALECTS, Dialect};
use windrow::graph::Shared;
use windrow::sandbox::{Postgres, Settings};

use super::{database, deviations, violations};
use crate::harness::tests;
use crate::rig::{self, W};
use crate::support::effort::one_of;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::Installation;

tests! {
    on_postgres: [
        what_is_changed_beside_a_body_is_told,
        a_check_that_is_gone_or_another_is_put_back,
        a_right_that_the_spec_no_longer_needs_is_taken_back,
        what_a_query_of_the_spec_reads_stays_granted,
        a_publication_of_all_tables_is_no_matter,
        a_server_that_quotes_all_names_is_no_matter,
    ],
}

/// A change by hand, what takes it back, and what is told of it.
type Change = (String, String, &'static str);

/// Changes of routines: what is done, what takes it back, or nothing where an installation does, and what is told.
fn of_routines() -> Vec<Change> {
    let preview = format!("{W}.preview(jsonb)");
    vec![
        (
            format!("ALTER FUNCTION {preview} SECURITY INVOKER"),
            String::new(),
            "preview",
        ),
        (
            format!("ALTER FUNCTION {preview} RESET search_path"),
            String::new(),
            "preview",
        ),
        (
            format!("ALTER FUNCTION {preview} SET search_path = public, pg_catalog"),
            String::new(),
            "preview",
        ),
        (
            format!("ALTER FUNCTION {preview} SET row_security = on"),
            String::new(),
            "preview",
        ),
        (
            format!("ALTER FUNCTION {W}.seconds(text) VOLATILE"),
            String::new(),
            "seconds",
        ),
        (
            format!("UPDATE pg_proc SET prolang = (SELECT l.oid FROM pg_language AS l WHERE l.lanname = 'plpgsql') WHERE oid = '{W}.in_words(bigint)'::regprocedure"),
            String::new(),
            "in_words",
        ),
        (
            format!("GRANT EXECUTE ON FUNCTION {preview} TO PUBLIC"),
            String::new(),
            "PUBLIC",
        ),
        (
            format!("GRANT EXECUTE ON FUNCTION {W}.record_forced_install(jsonb) TO nick"),
            format!("REVOKE ALL ON FUNCTION {W}.record_forced_install(jsonb) FROM nick"),
            "nick",
        ),
        (
            format!("REVOKE EXECUTE ON FUNCTION {preview} FROM {W}_auditor"),
            String::new(),
            "_auditor",
        ),
        (
            format!("ALTER FUNCTION {preview} OWNER TO postgres"),
            format!("ALTER FUNCTION {preview} OWNER TO {W}_owner"),
            "belongs to postgres",
        ),
        (
            format!("GRANT EXECUTE ON FUNCTION {preview} TO {W}_auditor WITH GRANT OPTION; SET ROLE {W}_auditor;
                     GRANT EXECUTE ON FUNCTION {preview} TO nick; RESET ROLE"),
            String::new(),
            "may be called, and granted to others, by",
        ),
        (
            format!(
                "CREATE FUNCTION {W}.mine() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; ALTER FUNCTION {W}.mine() OWNER TO {W}_owner;
                 REVOKE ALL ON FUNCTION {W}.mine() FROM PUBLIC; CREATE TRIGGER mine BEFORE INSERT ON {W}.hold FOR EACH ROW EXECUTE FUNCTION {W}.mine()"
            ),
            format!("DROP FUNCTION {W}.mine() CASCADE"),
            "trigger mine",
        ),
    ]
}

/// The same of roles and their rights.
fn of_rights() -> Vec<Change> {
    let login = format!("{W}_schedule");
    vec![
        (
            format!("GRANT UPDATE ON {W}.control TO nick"),
            format!("REVOKE ALL ON {W}.control FROM nick"),
            "nick",
        ),
        (
            format!("GRANT UPDATE (armed) ON {W}.control TO nick"),
            format!("REVOKE UPDATE (armed) ON {W}.control FROM nick"),
            "nick",
        ),
        (
            format!("GRANT TRIGGER ON {W}.run TO PUBLIC"),
            format!("REVOKE ALL ON {W}.run FROM PUBLIC"),
            "PUBLIC",
        ),
        (
            format!("GRANT SELECT ON {W}.hold TO PUBLIC"),
            format!("REVOKE ALL ON {W}.hold FROM PUBLIC"),
            "PUBLIC",
        ),
        (
            format!("GRANT CREATE ON SCHEMA {W} TO nick"),
            format!("REVOKE CREATE ON SCHEMA {W} FROM nick"),
            "lets nick create",
        ),
        (
            format!("GRANT {W}_owner TO mallory"),
            format!("REVOKE {W}_owner FROM mallory"),
            "granted to mallory",
        ),
        (
            format!("ALTER ROLE {W}_owner LOGIN"),
            format!("ALTER ROLE {W}_owner NOLOGIN"),
            "log in",
        ),
        (
            format!("ALTER ROLE {W}_owner BYPASSRLS"),
            format!("ALTER ROLE {W}_owner NOBYPASSRLS"),
            "bypass",
        ),
        (
            format!("ALTER ROLE {login} SUPERUSER"),
            format!("ALTER ROLE {login} NOSUPERUSER"),
            "may do everything",
        ),
        (
            format!("GRANT pg_read_server_files TO {login}"),
            format!("REVOKE pg_read_server_files FROM {login}"),
            "is a member of pg_read_server_files",
        ),
        (
            format!("GRANT {login} TO mallory"),
            format!("REVOKE {login} FROM mallory"),
            "is granted to mallory, who is no operator",
        ),
        (
            format!("GRANT pg_write_all_data TO {W}_operator"),
            format!("REVOKE pg_write_all_data FROM {W}_operator"),
            "is a member of pg_write_all_data",
        ),
        (
            format!("GRANT nick TO {W}_auditor"),
            format!("REVOKE nick FROM {W}_auditor"),
            "is a member of nick",
        ),
        (
            format!("GRANT DELETE ON t_ds_alert TO {W}_operator"),
            format!("REVOKE ALL ON t_ds_alert FROM {W}_operator"),
            "DELETE by",
        ),
        (
            format!("GRANT UPDATE (id) ON t_ds_alert TO {W}_auditor"),
            format!("REVOKE UPDATE (id) ON t_ds_alert FROM {W}_auditor"),
            "UPDATE by",
        ),
        (
            format!("GRANT SELECT, DELETE ON t_ds_user TO {W}_owner"),
            String::new(),
            "may besides what the spec needs: DELETE on table public.t_ds_user",
        ),
        (
            format!("GRANT UPDATE (state) ON t_ds_workflow_instance TO {W}_owner"),
            String::new(),
            "may besides what the spec needs: UPDATE on column public.t_ds_workflow_instance.state",
        ),
        (
            format!("REVOKE DELETE ON t_ds_alert FROM {W}_owner"),
            String::new(),
            "may no longer: DELETE on table public.t_ds_alert",
        ),
    ]
}

/// The same of tables and views.
fn of_tables() -> Vec<Change> {
    vec![
        (
            format!("ALTER TABLE {W}.hold OWNER TO postgres"),
            format!("ALTER TABLE {W}.hold OWNER TO {W}_owner"),
            "belongs to postgres",
        ),
        (
            format!("ALTER VIEW {W}.metrics OWNER TO postgres"),
            format!("ALTER VIEW {W}.metrics OWNER TO {W}_owner"),
            "belongs to postgres",
        ),
        (
            format!("ALTER TABLE {W}.run DROP CONSTRAINT run_status_check"),
            String::new(),
            "run_status_check",
        ),
        (
            format!(
                "ALTER TABLE {W}.run DROP CONSTRAINT run_status_check, ADD CONSTRAINT run_status_check CHECK (true)"
            ),
            String::new(),
            "run_status_check",
        ),
        (
            format!("ALTER TABLE {W}.policy DROP CONSTRAINT policy_workflow_instances"),
            String::new(),
            "policy_workflow_instances",
        ),
        (
            format!("ALTER TABLE {W}.policy ADD CONSTRAINT mine CHECK (retention_seconds > 1)"),
            format!("ALTER TABLE {W}.policy DROP CONSTRAINT mine"),
            "mine",
        ),
        (
            format!("ALTER TABLE {W}.hold DROP CONSTRAINT hold_pkey"),
            format!("ALTER TABLE {W}.hold ADD PRIMARY KEY (rule, key)"),
            "primary key of hold",
        ),
        (
            format!(
                "CREATE TRIGGER mine BEFORE INSERT ON {W}.hold FOR EACH ROW EXECUTE FUNCTION public.evil()"
            ),
            format!("DROP TRIGGER mine ON {W}.hold"),
            "trigger mine",
        ),
        (
            format!("CREATE RULE mine AS ON INSERT TO {W}.hold DO INSTEAD NOTHING"),
            format!("DROP RULE mine ON {W}.hold"),
            "rule mine",
        ),
        (
            format!("ALTER TABLE {W}.setting DISABLE TRIGGER log_setting"),
            String::new(),
            "is disabled",
        ),
        (
            format!("DROP TRIGGER check_setting ON {W}.setting"),
            String::new(),
            "is missing",
        ),
        (
            format!("ALTER TABLE {W}.policy ENABLE ROW LEVEL SECURITY"),
            format!("ALTER TABLE {W}.policy DISABLE ROW LEVEL SECURITY"),
            "has row security",
        ),
        (
            format!("ALTER TABLE {W}.hold SET UNLOGGED"),
            format!("ALTER TABLE {W}.hold SET LOGGED"),
            "is not logged",
        ),
        (
            format!("CREATE TABLE public.more () INHERITS ({W}.hold)"),
            "DROP TABLE public.more".to_owned(),
            "has the rows of",
        ),
        (
            format!(
                "CREATE OR REPLACE VIEW {W}.open_hours AS SELECT 1 AS position, 'always' AS written, '1234567' AS days, '00:00'::time AS begins, '00:00'::time AS ends, 'UTC' AS zone, NULL::text AS changed_by, NULL::timestamptz AS changed_at"
            ),
            String::new(),
            "is another than the installation made",
        ),
    ]
}

fn what_is_changed_beside_a_body_is_told() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let mut admin = database(&server, "ds")?;
    admin.batch_execute(
        "CREATE ROLE mallory LOGIN; CREATE ROLE nick LOGIN;
         CREATE FUNCTION public.evil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
    )?;
    rig::install(&mut admin)?;
    // As the schedule has made it.
    let login = format!("{W}_schedule");
    admin.batch_execute(&format!("CREATE ROLE {login} LOGIN IN ROLE {W}_operator"))?;
    let bundle = rig::bundle()?;
    let changes = [of_routines(), of_rights(), of_tables()].concat();
    for (change, undo, says) in one_of(6, changes) {
        let before = violations(&mut admin)?;
        ensure!(before == "[]", "before {change}: {before}");
        ensure!(deviations(&mut admin, &bundle)?.is_empty(), "{change}");
        admin
            .batch_execute(&change)
            .with_context(|| change.clone())?;
        let told = violations(&mut admin)?;
        ensure!(told.contains(says), "{change}: {told}");
        let is_body = ["preview", "seconds", "in_words"].contains(&says);
        ensure!(
            is_body || !deviations(&mut admin, &bundle)?.is_empty(),
            "{change}: diff says nothing"
        );
        admin.batch_execute(&undo)?;
        rig::install(&mut admin).with_context(|| change.clone())?;
    }
    // Then verify() itself may not look; windrow diff does.
    admin.batch_execute(&format!("ALTER SCHEMA {W} OWNER TO postgres"))?;
    let told = deviations(&mut admin, &bundle)?;
    ensure!(told == ["belongs to postgres"], "{told:?}");
    Ok(())
}

fn a_check_that_is_gone_or_another_is_put_back() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let mut admin = database(&server, "ds")?;
    rig::install(&mut admin)?;
    admin.batch_execute(&format!(
        "ALTER TABLE {W}.run_skip DROP CONSTRAINT run_skip_reason_check, ADD CONSTRAINT run_skip_reason_check CHECK (reason = 'HELD')"
    ))?;
    rig::install(&mut admin)?;
    admin.batch_execute(&format!(
        "INSERT INTO {W}.run_skip (run_id, rule, reason, families, sample_keys) VALUES (0, 'x', 'FAILED', 1, '{{}}')"
    ))?;
    rig::refused(
        admin.batch_execute(&format!("UPDATE {W}.run_skip SET reason = 'whatever'")),
        "23514",
    )
}

fn a_right_that_the_spec_no_longer_needs_is_taken_back() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let mut admin = database(&server, "ds")?;
    rig::install(&mut admin)?;
    let rights = format!(
        "SELECT format('%s %s', c.oid::regclass, a.privilege_type) FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
         WHERE a.grantee = '{W}_owner'::regrole AND c.relnamespace <> '{W}'::regnamespace
         UNION ALL
         SELECT format('%s.%s %s', t.attrelid::regclass, t.attname, a.privilege_type) FROM pg_attribute AS t CROSS JOIN LATERAL aclexplode(t.attacl) AS a
         WHERE a.grantee = '{W}_owner'::regrole
         UNION ALL
         SELECT format('%s %s', n.nspname, a.privilege_type) FROM pg_namespace AS n CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
         WHERE a.grantee = '{W}_owner'::regrole AND n.nspname <> '{W}'
         ORDER BY 1"
    );
    let needed = rig::texts(&mut admin, &rights)?;
    ensure!(needed.len() > 10, "{needed:?}");
    // As an earlier state of the spec would have left it.
    admin.batch_execute(&format!(
        "CREATE SCHEMA once; CREATE TABLE once.t (a integer, b integer);
         GRANT USAGE ON SCHEMA once TO {W}_owner; GRANT SELECT, DELETE, UPDATE (b) ON once.t TO {W}_owner;
         GRANT INSERT, UPDATE, TRUNCATE ON t_ds_alert TO {W}_owner; GRANT UPDATE (state) ON t_ds_workflow_instance TO {W}_owner"
    ))?;
    rig::install(&mut admin)?;
    let left = rig::texts(&mut admin, &rights)?;
    ensure!(left == needed, "{left:?}");
    Ok(())
}

/// The owner role reads what a query of the spec names, and nobody but who wrote it knows what that is.
fn what_a_query_of_the_spec_reads_stays_granted() -> Result<()> {
    for dialect in DIALECTS.iter().copied() {
        let mut graph = dolphinscheduler(Shared::Closed);
        let mut made = Installation::armed(dialect, &graph);
        let (name, owner) = (made.name.clone(), format!("{}_owner", made.control));
        made.execute("CREATE TABLE calm (is_calm integer); INSERT INTO calm VALUES (1)");
        let table = match dialect {
            Dialect::Postgres => "public.calm".to_owned(),
            _ => format!("{name}.calm"),
        };
        graph.rules[0].limits.wait_while_sql = Some(format!("SELECT count(*) = 0 FROM {table}"));
        made.execute(&format!("GRANT SELECT ON calm TO {owner}"));
        let may_still = match dialect {
            Dialect::Postgres => {
                format!("SELECT has_table_privilege('{owner}', 't_ds_alert', 'INSERT')::int")
            }
            _ => format!(
                "SELECT COUNT(*) FROM information_schema.table_privileges WHERE grantee LIKE '%{owner}%' AND privilege_type = 'INSERT'"
            ),
        };
        for _ in 0..2 {
            // Beside a right that the spec does not need.
            made.execute(&format!("GRANT INSERT ON t_ds_alert TO {owner}"));
            made.install(&graph);
            let result = made.run(json!({}))?;
            ensure!(result["status"] == "done", "{dialect:?}: {result}");
            ensure!(made.number(&may_still) == 0, "{dialect:?}: INSERT is kept");
        }
    }
    Ok(())
}

/// A publication of all tables takes no DELETE from a table whose rows it cannot name: nor an installation.
fn a_publication_of_all_tables_is_no_matter() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let mut admin = database(&server, "ds")?;
    rig::install(&mut admin)?;
    admin.batch_execute(&format!(
        "CREATE PUBLICATION everything FOR ALL TABLES; CALL {W}.arm()"
    ))?;
    rig::install(&mut admin)?;
    rig::set_policies(&mut admin)?;
    let result = rig::run(&mut admin, &json!({"run_families": 3}))?;
    ensure!(result["rules"][0]["families"] == 3, "{result}");
    Ok(())
}

/// `quote_all_identifiers` changes how the server writes names and definitions, and none of these.
fn a_server_that_quotes_all_names_is_no_matter() -> Result<()> {
    let server = Postgres::start(&Settings::default())?;
    let bundle = rig::bundle()?;
    drop(database(&server, "ds")?);
    for setting in ["on", "off"] {
        Client::connect(&server.url("ds", "postgres"), NoTls)?.batch_execute(&format!(
            "ALTER DATABASE ds SET quote_all_identifiers = {setting}"
        ))?;
        let mut admin = Client::connect(&server.url("ds", "postgres"), NoTls)?;
        if setting == "on" {
            rig::install(&mut admin)?;
        }
        for look in ["on", "off"] {
            admin.batch_execute(&format!("SET quote_all_identifiers = {look}"))?;
            let broken = violations(&mut admin)?;
            ensure!(broken == "[]", "{setting}, {look}: {broken}");
            // The program looks without.
            if look == "off" {
                let told = deviations(&mut admin, &bundle)?;
                ensure!(told.is_empty(), "{setting}: {told:?}");
            }
        }
    }
    Ok(())
}
