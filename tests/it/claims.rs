//! What stands under windrow's names before an installation, or is changed after it: roles, schemas and objects of others,
//! rights that somebody gave, constraints that are gone. On PostgreSQL; `rights` has what holds on every server.

use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use serde_json::{Value, json};
use windrow::bundle::Bundle;
use windrow::dialect::{DIALECTS, Dialect};
use windrow::sandbox::{self, Postgres, Settings};

use windrow::graph::Shared;
use windrow::sandbox::mysql::{self, Flavour, Mysql};

use crate::harness::tests;
use crate::rig::{self, W};
use crate::support::defect;
use crate::support::effort::{flavours, is_proof};
use crate::support::graphs::{dolphinscheduler, graph_of};
use crate::support::installation::{self, Installation};

tests! {
    on_postgres: [
        what_somebody_else_has_made_is_refused_by_name,
        nothing_is_open_or_the_installers_at_any_moment,
        who_owns_the_tables_installs_before_a_superuser_does,
        roles_of_another_database_of_the_server_are_told,
        what_is_changed_beside_a_body_is_told,
        a_check_that_is_gone_or_another_is_put_back,
        a_superuser_lends_the_application_nothing,
        a_superuser_who_restores_lends_nothing_either,
        a_login_without_rights_blocks_no_run,
        a_right_that_the_spec_no_longer_needs_is_taken_back,
        what_a_query_of_the_spec_reads_stays_granted,
        a_publication_of_all_tables_is_no_matter,
        a_server_that_quotes_all_names_is_no_matter,
        a_restart_disarms_only_who_was_armed_until_then,
        the_place_of_a_server_is_part_of_what_is_armed,
        what_stands_in_the_control_database_is_refused_by_name,
        an_operator_does_not_shorten_his_trail,
    ],
}

/// The oldest version of those from 15 on, where a superuser's COMMIT lends his rights, and the newest; in `make prove`
/// every one.
fn on_each_version(test: impl Fn(&Postgres) -> Result<()>) -> Result<()> {
    let versions = sandbox::installed();
    let mut versions: Vec<_> = versions.into_iter().filter(|it| it.0 >= 15).collect();
    let between = 1..versions.len().saturating_sub(1);
    if !is_proof() && !between.is_empty() {
        versions.drain(between);
    }
    for (major, bin_dir) in versions {
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

/// Applies the files as psql does, statement by statement, and says what refused.
fn refusal(client: &mut Client, bundle: &Bundle) -> Result<String> {
    for file in bundle
        .files
        .iter()
        .filter(|file| file.path.contains("/10_"))
    {
        for statement in &file.statements {
            if let Err(error) = client.batch_execute(&statement.sql) {
                let error = error.as_db_error().context("no error of the server")?;
                client.batch_execute("RESET ROLE")?;
                return Ok(format!(
                    "{}; {}",
                    error.message(),
                    error.hint().unwrap_or("")
                ));
            }
        }
    }
    anyhow::bail!("nothing refused")
}

fn what_somebody_else_has_made_is_refused_by_name() -> Result<()> {
    on_each_version(|server| {
        let bundle = rig::bundle()?;
        let mut admin = database(server, "ds")?;
        admin.batch_execute(
            "CREATE ROLE mallory LOGIN; CREATE ROLE app NOLOGIN; CREATE TABLE public.told (who text);
             GRANT INSERT ON public.told TO PUBLIC; GRANT CREATE ON DATABASE ds TO mallory",
        )?;
        let evil = format!(
            "CREATE FUNCTION {W}.evil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.told SELECT current_user; RETURN NEW; END $$;
             CREATE TABLE {W}.control (only_row boolean PRIMARY KEY DEFAULT true, spec text, armed boolean, armed_rules text[]);
             CREATE TRIGGER evil BEFORE INSERT ON {W}.control FOR EACH ROW EXECUTE FUNCTION {W}.evil()"
        );
        let owner = format!("{W}_owner");
        for (round, prepared, says) in [
            ("log in", format!("CREATE ROLE {owner} LOGIN"), vec![&*owner, "log in", "NOLOGIN"]),
            ("superuser", format!("CREATE ROLE {owner} SUPERUSER"), vec![&*owner, "do everything"]),
            ("createrole", format!("CREATE ROLE {owner} CREATEROLE"), vec![&*owner, "create roles"]),
            ("bypassrls", format!("CREATE ROLE {owner} BYPASSRLS"), vec![&*owner, "bypass row security"]),
            ("replication", format!("CREATE ROLE {owner} REPLICATION"), vec![&*owner, "replicate"]),
            ("operator", format!("CREATE ROLE {W}_operator SUPERUSER"), vec!["_operator", "do everything"]),
            ("granted", format!("CREATE ROLE {owner}; GRANT {owner} TO mallory"), vec![&*owner, "granted to mallory", "REVOKE"]),
            ("member", format!("CREATE ROLE {owner} IN ROLE app"), vec![&*owner, "member of app"]),
            (
                "default privileges",
                format!("CREATE ROLE {owner}; ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT EXECUTE ON ROUTINES TO mallory"),
                vec![&*owner, "default privileges", "mallory", "REVOKE ALL ON ROUTINES FROM mallory"],
            ),
            (
                "default privileges of tables",
                format!("CREATE ROLE {owner}; ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT SELECT ON TABLES TO PUBLIC"),
                vec![&*owner, "default privileges", "PUBLIC", "REVOKE ALL ON TABLES FROM PUBLIC"],
            ),
            (
                "default privileges of sequences",
                format!("CREATE ROLE {owner}; ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT USAGE ON SEQUENCES TO mallory"),
                vec![&*owner, "default privileges", "mallory", "REVOKE ALL ON SEQUENCES FROM mallory"],
            ),
            (
                "default privileges of schemas",
                format!("CREATE ROLE {owner}; ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT CREATE ON SCHEMAS TO PUBLIC"),
                vec![&*owner, "default privileges", "PUBLIC", "REVOKE ALL ON SCHEMAS FROM PUBLIC"],
            ),
            (
                "schema",
                format!("SET ROLE mallory; CREATE SCHEMA {W}; {evil}; RESET ROLE"),
                vec!["schema", "belongs to mallory", "DROP SCHEMA"],
            ),
            (
                "table",
                format!(
                    "CREATE ROLE {owner}; CREATE SCHEMA {W} AUTHORIZATION {owner}; GRANT ALL ON SCHEMA {W} TO mallory;
                     SET ROLE mallory; {evil}; RESET ROLE; REVOKE ALL ON SCHEMA {W} FROM mallory"
                ),
                vec![&format!("{W}.evil()"), "belongs to mallory"],
            ),
            (
                "create",
                format!("CREATE ROLE {owner}; CREATE SCHEMA {W} AUTHORIZATION {owner}; GRANT CREATE ON SCHEMA {W} TO mallory"),
                vec!["lets mallory create"],
            ),
            (
                "trigger",
                format!(
                    "CREATE ROLE {owner}; CREATE SCHEMA {W} AUTHORIZATION {owner};
                     CREATE FUNCTION public.evil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.told SELECT current_user; RETURN NEW; END $$;
                     SET ROLE {owner}; CREATE TABLE {W}.control (spec text); CREATE TRIGGER evil BEFORE INSERT ON {W}.control FOR EACH ROW EXECUTE FUNCTION public.evil(); RESET ROLE"
                ),
                vec!["trigger evil", &format!("{W}.control")],
            ),
            (
                "rule",
                format!(
                    "CREATE ROLE {owner}; CREATE SCHEMA {W} AUTHORIZATION {owner}; SET ROLE {owner}; CREATE TABLE {W}.control (spec text);
                     CREATE RULE evil AS ON INSERT TO {W}.control DO ALSO INSERT INTO public.told SELECT current_user; RESET ROLE"
                ),
                vec!["rule evil"],
            ),
        ] {
            admin.batch_execute(&prepared).with_context(|| round.to_owned())?;
            let said = refusal(&mut admin, &bundle).with_context(|| round.to_owned())?;
            for word in says {
                ensure!(said.contains(word), "{round}: no `{word}` in: {said}");
            }
            let told = rig::number(&mut admin, "SELECT count(*) FROM public.told")?;
            ensure!(told == 0, "{round}: what was prepared was executed");
            if round.starts_with("default privileges") {
                admin.batch_execute(&format!("DROP OWNED BY {owner}"))?;
            }
            admin.batch_execute(&format!(
                "DROP SCHEMA IF EXISTS {W} CASCADE; DROP FUNCTION IF EXISTS public.evil() CASCADE;
                 DROP ROLE IF EXISTS {owner}; DROP ROLE IF EXISTS {W}_operator; DROP ROLE IF EXISTS {W}_auditor"
            ))
            .with_context(|| round.to_owned())?;
        }
        // What a superuser has made becomes the owner's: an installation that broke off, or something by hand.
        admin.batch_execute(&format!(
            "CREATE SCHEMA {W}; CREATE TABLE {W}.turn (name text NOT NULL PRIMARY KEY);
             CREATE FUNCTION {W}.mine() RETURNS integer LANGUAGE sql SECURITY DEFINER AS 'SELECT 5'"
        ))?;
        rig::install(&mut admin)?;
        admin.batch_execute(&format!("DROP FUNCTION {W}.mine()"))?;
        let broken = deviations(&mut admin, &bundle)?;
        ensure!(broken.is_empty(), "{broken:?}");
        Ok(())
    })
}

/// What anybody may call, or what would run with other rights than the owner role's.
fn open(admin: &mut Client) -> Result<Vec<String>> {
    rig::texts(
        admin,
        &format!(
            "SELECT p.oid::regprocedure || ' of ' || p.proowner::regrole || coalesce(' ' || p.proacl::text, '')
             FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
             WHERE n.nspname = '{W}' AND (p.proowner::regrole::text <> '{W}_owner' OR has_function_privilege('nick', p.oid, 'EXECUTE'))
             UNION ALL
             SELECT c.oid::regclass || ' of ' || c.relowner::regrole
             FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
             WHERE n.nspname = '{W}' AND c.relowner::regrole::text <> '{W}_owner'"
        ),
    )
}

fn nothing_is_open_or_the_installers_at_any_moment() -> Result<()> {
    on_each_version(|server| {
        let mut root = Client::connect(&server.url("postgres", "postgres"), NoTls)?;
        root.batch_execute("CREATE ROLE nick LOGIN; CREATE ROLE dora LOGIN CREATEROLE")?;
        root.batch_execute("CREATE DATABASE hers OWNER dora")?;
        drop(database(server, "ds")?);
        let bundle = rig::bundle()?;
        for (name, who) in [("ds", "postgres"), ("hers", "dora")] {
            let mut installer = Client::connect(&server.url(name, who), NoTls)?;
            let mut admin = Client::connect(&server.url(name, "postgres"), NoTls)?;
            if who == "dora" {
                rig::load(&mut installer, 20)?;
            }
            for round in ["new", "again", "a routine more"] {
                if round == "a routine more" {
                    admin.batch_execute(&format!(
                        "DROP FUNCTION {W}.seconds(text) CASCADE; DROP PROCEDURE {W}.run(jsonb, json)"
                    ))?;
                }
                for file in bundle.files.iter().filter(|file| {
                    !file.path.contains("/90_") && !file.path.ends_with("/verify.sql")
                }) {
                    for statement in &file.statements {
                        let what = || format!("{who}, {round}, {}: {}", file.path, statement.what);
                        installer.batch_execute(&statement.sql).with_context(what)?;
                        let open = open(&mut admin)?;
                        ensure!(open.is_empty(), "{}: {open:?}", what());
                    }
                    let me = rig::texts(&mut installer, "SELECT current_user::text")?;
                    ensure!(me == [who], "{}: {me:?}", file.path);
                }
            }
            rig::uninstall(&mut installer)?;
            let left = rig::number(&mut admin, "SELECT count(*) FROM pg_default_acl")?;
            ensure!(left == 0, "default privileges are left");
        }
        Ok(())
    })
}

fn who_owns_the_tables_installs_before_a_superuser_does() -> Result<()> {
    on_each_version(|server| {
        let mut root = Client::connect(&server.url("postgres", "postgres"), NoTls)?;
        root.batch_execute("CREATE ROLE dora LOGIN CREATEROLE")?;
        root.batch_execute("CREATE DATABASE hers OWNER dora")?;
        let mut dora = Client::connect(&server.url("hers", "dora"), NoTls)?;
        rig::load(&mut dora, 20)?;
        rig::install(&mut dora)?;
        let mut admin = Client::connect(&server.url("hers", "postgres"), NoTls)?;
        rig::install(&mut admin)?;
        rig::install(&mut dora)?;
        let broken = violations(&mut admin)?;
        ensure!(broken == "[]", "{broken}");
        Ok(())
    })
}

/// Roles belong to the whole server: who has one of these in another database has it here. Nor may everybody let the owner
/// role read all settings.
fn roles_of_another_database_of_the_server_are_told() -> Result<()> {
    on_each_version(|server| {
        let mut root = Client::connect(&server.url("postgres", "postgres"), NoTls)?;
        root.batch_execute("CREATE ROLE dora LOGIN CREATEROLE; CREATE ROLE otto LOGIN")?;
        root.batch_execute("CREATE DATABASE hers OWNER dora")?;
        let told = Arc::new(Mutex::new(Vec::new()));
        let open = |database: &str, who: &str| {
            let told = Arc::clone(&told);
            let url = server.url(database, who);
            url.parse::<postgres::Config>()?
                .notice_callback(move |notice| {
                    told.lock()
                        .expect("notices")
                        .push(notice.message().to_owned());
                })
                .connect(NoTls)
                .context("a session")
        };
        let says = |words: &[&str]| {
            let told = std::mem::take(&mut *told.lock().expect("notices"));
            told.iter()
                .any(|it| words.iter().all(|word| it.contains(word)))
        };
        let mut dora = open("hers", "dora")?;
        rig::load(&mut dora, 20)?;
        rig::install(&mut dora)?;
        // Before version 16 who may create roles may grant this one, too.
        let is_told = says(&[
            "a copy of the server in another folder looks like this one",
            "pg_read_all_settings",
        ]);
        let identity = format!("SELECT {W}.server_identity()");
        ensure!(rig::texts(&mut dora, &identity)?[0].ends_with("/?") == is_told);
        let version = rig::number(
            &mut dora,
            "SELECT current_setting('server_version_num')::bigint",
        )?;
        ensure!(is_told == (version >= 160_000), "{version}: {is_told}");
        dora.batch_execute(&format!("GRANT {W}_operator TO otto"))?;

        drop(database(server, "ds")?);
        let mut admin = open("ds", "postgres")?;
        rig::install(&mut admin)?;
        ensure!(says(&[
            "_operator is there already: ",
            "otto",
            "in this database, too"
        ]));
        ensure!(!rig::texts(&mut admin, &identity)?[0].ends_with("/?"));
        let verify = rig::call(&mut admin, "verify", &json!({}))?.to_string();
        ensure!(
            verify.contains("is granted to dora, who owns another database of the server"),
            "{verify}"
        );
        // An operator of the one is an operator of the other.
        let mut otto = Client::connect(&server.url("ds", "otto"), NoTls)?;
        rig::call(&mut otto, "preview", &json!({})).map(drop)
    })
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
    let preview = format!("{W}.preview(jsonb)");
    for (change, undo, says) in [
        (
            format!("ALTER FUNCTION {preview} SECURITY INVOKER"),
            "",
            "preview",
        ),
        (
            format!("ALTER FUNCTION {preview} RESET search_path"),
            "",
            "preview",
        ),
        (
            format!("ALTER FUNCTION {preview} SET search_path = public, pg_catalog"),
            "",
            "preview",
        ),
        (
            format!("ALTER FUNCTION {preview} SET row_security = on"),
            "",
            "preview",
        ),
        (
            format!("ALTER FUNCTION {W}.seconds(text) VOLATILE"),
            "",
            "seconds",
        ),
        (
            format!("GRANT EXECUTE ON FUNCTION {preview} TO PUBLIC"),
            "",
            "PUBLIC",
        ),
        (
            format!("GRANT EXECUTE ON FUNCTION {W}.record_forced_install(jsonb) TO nick"),
            &*format!("REVOKE ALL ON FUNCTION {W}.record_forced_install(jsonb) FROM nick"),
            "nick",
        ),
        (
            format!("REVOKE EXECUTE ON FUNCTION {preview} FROM {W}_auditor"),
            "",
            "_auditor",
        ),
        (
            format!("GRANT UPDATE ON {W}.control TO nick"),
            &*format!("REVOKE ALL ON {W}.control FROM nick"),
            "nick",
        ),
        (
            format!("GRANT UPDATE (armed) ON {W}.control TO nick"),
            &*format!("REVOKE UPDATE (armed) ON {W}.control FROM nick"),
            "nick",
        ),
        (
            format!("GRANT TRIGGER ON {W}.run TO PUBLIC"),
            &*format!("REVOKE ALL ON {W}.run FROM PUBLIC"),
            "PUBLIC",
        ),
        (
            format!("GRANT SELECT ON {W}.hold TO PUBLIC"),
            &*format!("REVOKE ALL ON {W}.hold FROM PUBLIC"),
            "PUBLIC",
        ),
        (
            format!("ALTER FUNCTION {preview} OWNER TO postgres"),
            &*format!("ALTER FUNCTION {preview} OWNER TO {W}_owner"),
            "belongs to postgres",
        ),
        (
            format!("ALTER TABLE {W}.hold OWNER TO postgres"),
            &*format!("ALTER TABLE {W}.hold OWNER TO {W}_owner"),
            "belongs to postgres",
        ),
        (
            format!("ALTER VIEW {W}.metrics OWNER TO postgres"),
            &*format!("ALTER VIEW {W}.metrics OWNER TO {W}_owner"),
            "belongs to postgres",
        ),
        (
            format!("GRANT CREATE ON SCHEMA {W} TO nick"),
            &*format!("REVOKE CREATE ON SCHEMA {W} FROM nick"),
            "lets nick create",
        ),
        (
            format!("GRANT {W}_owner TO mallory"),
            &*format!("REVOKE {W}_owner FROM mallory"),
            "granted to mallory",
        ),
        (
            format!("ALTER ROLE {W}_owner LOGIN"),
            &*format!("ALTER ROLE {W}_owner NOLOGIN"),
            "log in",
        ),
        (
            format!("ALTER ROLE {W}_owner BYPASSRLS"),
            &*format!("ALTER ROLE {W}_owner NOBYPASSRLS"),
            "bypass",
        ),
        (
            format!("ALTER TABLE {W}.run DROP CONSTRAINT run_status_check"),
            "",
            "run_status_check",
        ),
        (
            format!(
                "ALTER TABLE {W}.run DROP CONSTRAINT run_status_check, ADD CONSTRAINT run_status_check CHECK (true)"
            ),
            "",
            "run_status_check",
        ),
        (
            format!("ALTER TABLE {W}.policy DROP CONSTRAINT policy_workflow_instances"),
            "",
            "policy_workflow_instances",
        ),
        (
            format!("ALTER TABLE {W}.policy ADD CONSTRAINT mine CHECK (retention_seconds > 1)"),
            &*format!("ALTER TABLE {W}.policy DROP CONSTRAINT mine"),
            "mine",
        ),
        (
            format!("ALTER TABLE {W}.hold DROP CONSTRAINT hold_pkey"),
            &*format!("ALTER TABLE {W}.hold ADD PRIMARY KEY (rule, key)"),
            "primary key of hold",
        ),
        (
            format!(
                "CREATE TRIGGER mine BEFORE INSERT ON {W}.hold FOR EACH ROW EXECUTE FUNCTION public.evil()"
            ),
            &*format!("DROP TRIGGER mine ON {W}.hold"),
            "trigger mine",
        ),
        (
            format!("CREATE RULE mine AS ON INSERT TO {W}.hold DO INSTEAD NOTHING"),
            &*format!("DROP RULE mine ON {W}.hold"),
            "rule mine",
        ),
        (
            format!("ALTER ROLE {login} SUPERUSER"),
            &*format!("ALTER ROLE {login} NOSUPERUSER"),
            "may do everything",
        ),
        (
            format!("GRANT pg_read_server_files TO {login}"),
            &*format!("REVOKE pg_read_server_files FROM {login}"),
            "is a member of pg_read_server_files",
        ),
        (
            format!("GRANT {login} TO mallory"),
            &*format!("REVOKE {login} FROM mallory"),
            "is granted to mallory, who is no operator",
        ),
        (
            format!("GRANT pg_write_all_data TO {W}_operator"),
            &*format!("REVOKE pg_write_all_data FROM {W}_operator"),
            "is a member of pg_write_all_data",
        ),
        (
            format!("GRANT nick TO {W}_auditor"),
            &*format!("REVOKE nick FROM {W}_auditor"),
            "is a member of nick",
        ),
        (
            format!("GRANT DELETE ON t_ds_alert TO {W}_operator"),
            &*format!("REVOKE ALL ON t_ds_alert FROM {W}_operator"),
            "DELETE by",
        ),
        (
            format!("GRANT UPDATE (id) ON t_ds_alert TO {W}_auditor"),
            &*format!("REVOKE UPDATE (id) ON t_ds_alert FROM {W}_auditor"),
            "UPDATE by",
        ),
        (
            format!("GRANT SELECT, DELETE ON t_ds_user TO {W}_owner"),
            "",
            "may besides what the spec needs: DELETE on table public.t_ds_user",
        ),
        (
            format!("GRANT UPDATE (state) ON t_ds_workflow_instance TO {W}_owner"),
            "",
            "may besides what the spec needs: UPDATE on column public.t_ds_workflow_instance.state",
        ),
        (
            format!("REVOKE DELETE ON t_ds_alert FROM {W}_owner"),
            "",
            "may no longer: DELETE on table public.t_ds_alert",
        ),
        (
            format!("GRANT EXECUTE ON FUNCTION {preview} TO {W}_auditor WITH GRANT OPTION; SET ROLE {W}_auditor;
                     GRANT EXECUTE ON FUNCTION {preview} TO nick; RESET ROLE"),
            "",
            "may be called, and granted to others, by",
        ),
        (
            format!(
                "CREATE FUNCTION {W}.mine() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$; ALTER FUNCTION {W}.mine() OWNER TO {W}_owner;
                 REVOKE ALL ON FUNCTION {W}.mine() FROM PUBLIC; CREATE TRIGGER mine BEFORE INSERT ON {W}.hold FOR EACH ROW EXECUTE FUNCTION {W}.mine()"
            ),
            &*format!("DROP FUNCTION {W}.mine() CASCADE"),
            "trigger mine",
        ),
        (
            format!("ALTER TABLE {W}.setting DISABLE TRIGGER log_setting"),
            "",
            "is disabled",
        ),
        (
            format!("DROP TRIGGER check_setting ON {W}.setting"),
            "",
            "is missing",
        ),
        (
            format!("ALTER TABLE {W}.policy ENABLE ROW LEVEL SECURITY"),
            &*format!("ALTER TABLE {W}.policy DISABLE ROW LEVEL SECURITY"),
            "has row security",
        ),
        (
            format!("ALTER TABLE {W}.hold SET UNLOGGED"),
            &*format!("ALTER TABLE {W}.hold SET LOGGED"),
            "is not logged",
        ),
        (
            format!("CREATE TABLE public.more () INHERITS ({W}.hold)"),
            "DROP TABLE public.more",
            "has the rows of",
        ),
        (
            format!("CREATE OR REPLACE VIEW {W}.open_hours AS SELECT 1 AS position, 'always' AS written, '1234567' AS days, '00:00'::time AS begins, '00:00'::time AS ends, 'UTC' AS zone, NULL::text AS changed_by, NULL::timestamptz AS changed_at"),
            "",
            "is another than the installation made",
        ),
    ] {
        let before = violations(&mut admin)?;
        ensure!(before == "[]", "before {change}: {before}");
        ensure!(deviations(&mut admin, &bundle)?.is_empty(), "{change}");
        admin
            .batch_execute(&change)
            .with_context(|| change.clone())?;
        let told = violations(&mut admin)?;
        ensure!(told.contains(says), "{change}: {told}");
        let is_body = says == "preview" || says == "seconds";
        ensure!(
            is_body || !deviations(&mut admin, &bundle)?.is_empty(),
            "{change}: diff says nothing"
        );
        admin.batch_execute(undo)?;
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

/// An owner of a covered table puts something off until the COMMIT, which has the rights of the caller then.
fn a_superuser_lends_the_application_nothing() -> Result<()> {
    on_each_version(|server| {
        let mut admin = database(server, "ds")?;
        rig::install(&mut admin)?;
        rig::set_policies(&mut admin)?;
        admin.batch_execute(&format!(
            "CALL {W}.arm();
             CREATE ROLE app LOGIN; CREATE ROLE olga LOGIN IN ROLE {W}_operator;
             CREATE SCHEMA app AUTHORIZATION app; GRANT USAGE ON SCHEMA app TO PUBLIC; GRANT CREATE ON SCHEMA public TO app;
             ALTER TABLE t_ds_alert OWNER TO app; ALTER TABLE t_ds_workflow_instance OWNER TO app"
        ))?;
        let mut app = Client::connect(&server.url("ds", "app"), NoTls)?;
        app.batch_execute(
            "CREATE TABLE app.told (who text); GRANT INSERT, SELECT ON app.told TO PUBLIC;
             CREATE FUNCTION app.tell() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.told SELECT current_user; RETURN 1; END $$;
             CREATE FUNCTION app.later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM app.tell(); RETURN NULL; END $$;
             CREATE FUNCTION app.now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1); RETURN OLD; END $$;
             CREATE TABLE app.log (id integer); GRANT INSERT ON app.log TO PUBLIC;
             CREATE CONSTRAINT TRIGGER later AFTER INSERT ON app.log DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.later();
             CREATE FUNCTION app.again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1); RETURN NULL; END $$;
             CREATE FUNCTION app.held() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('DECLARE mine_%s CURSOR WITH HOLD FOR SELECT app.tell()', OLD.id); RETURN OLD; END $$;
             CREATE FUNCTION app.noted() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1); RETURN 1; EXCEPTION WHEN OTHERS THEN RETURN 1; END $$;
             CREATE FUNCTION app.mine(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN app.noted(); END $$",
        )?;
        let version = rig::number(&mut admin, "SELECT current_setting('server_version_num')")?;
        let superuser = || -> Result<Vec<(&str, Client)>> {
            let mut masked = Client::connect(&server.url("ds", "postgres"), NoTls)?;
            masked.batch_execute("SET ROLE olga")?;
            let mut other = Client::connect(&server.url("ds", "postgres"), NoTls)?;
            other.batch_execute("SET SESSION AUTHORIZATION olga")?;
            Ok(vec![
                (
                    "a superuser",
                    Client::connect(&server.url("ds", "postgres"), NoTls)?,
                ),
                ("one behind SET ROLE", masked),
                ("one behind SET SESSION AUTHORIZATION", other),
            ])
        };
        for (round, table, trigger, until) in [
            (
                "deferred",
                "t_ds_alert",
                "CONSTRAINT TRIGGER mine AFTER DELETE ON t_ds_alert DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.later()",
                180_000,
            ),
            (
                "deferred by another",
                "t_ds_alert",
                "CONSTRAINT TRIGGER mine AFTER DELETE ON t_ds_alert DEFERRABLE INITIALLY IMMEDIATE FOR EACH ROW EXECUTE FUNCTION app.again()",
                180_000,
            ),
            (
                "not deferred",
                "t_ds_workflow_instance",
                "TRIGGER mine BEFORE DELETE ON t_ds_workflow_instance FOR EACH ROW EXECUTE FUNCTION app.now()",
                180_000,
            ),
            (
                "a cursor",
                "t_ds_workflow_instance",
                "TRIGGER mine BEFORE DELETE ON t_ds_workflow_instance FOR EACH ROW EXECUTE FUNCTION app.held()",
                i64::MAX,
            ),
            // The planner calls a function of an index, of a table that is only read, too.
            (
                "planned",
                "t_ds_alert",
                "INDEX mine ON t_ds_alert ((id + app.mine(1)))",
                180_000,
            ),
        ] {
            app.batch_execute(&format!("CREATE {trigger}"))?;
            for (who, mut client) in superuser()? {
                for call in [
                    "run('{\"run_families\": 1}')",
                    "run('{\"dry_run\": true}')",
                    "purge('{\"key\": [1]}')",
                ] {
                    let answer = client.query_one(&format!("CALL {W}.{call}"), &[]);
                    let told =
                        rig::texts(&mut admin, "SELECT who FROM app.told WHERE who <> 'olga'")?;
                    let wrong: Vec<_> = told.iter().filter(|who| *who == "postgres").collect();
                    ensure!(wrong.is_empty(), "{who}, {round}, {call}: {told:?}");
                    if version >= until || round == "a cursor" {
                        continue;
                    }
                    let error = answer
                        .err()
                        .with_context(|| format!("{who}, {round}, {call}: nothing refuses"))?;
                    let error = error.as_db_error().context("no error of the server")?;
                    ensure!(
                        error.code().code() == "42501"
                            && error.message().contains("mine")
                            && error.message().contains(table),
                        "{who}, {round}, {call}: {}",
                        error.message()
                    );
                }
            }
            // An operator lends no more than he has.
            let mut olga = Client::connect(&server.url("ds", "olga"), NoTls)?;
            let before = rig::number(&mut admin, "SELECT count(*) FROM t_ds_workflow_instance")?;
            let result = rig::run(&mut olga, &json!({"run_families": 3}))?;
            let after = rig::number(&mut admin, "SELECT count(*) FROM t_ds_workflow_instance")?;
            ensure!(
                result["status"] != "failed" && before > after,
                "{round}: {result}"
            );
            app.batch_execute(&format!(
                "DROP TRIGGER IF EXISTS mine ON {table}; DROP INDEX IF EXISTS mine; DELETE FROM app.told"
            ))?;
        }
        // What only inserts, or is switched off, or is a superuser's own, is no reason.
        app.batch_execute(
            "CREATE CONSTRAINT TRIGGER mine AFTER INSERT ON t_ds_alert DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.later();
             CREATE TRIGGER off BEFORE DELETE ON t_ds_alert FOR EACH ROW EXECUTE FUNCTION app.now();
             ALTER TABLE t_ds_alert DISABLE TRIGGER off",
        )?;
        admin.batch_execute(
            "CREATE TABLE public.log (id integer);
             CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO public.log VALUES (1); RETURN NULL; END $$;
             CREATE TRIGGER note AFTER DELETE ON t_ds_task_instance FOR EACH ROW EXECUTE FUNCTION public.note()",
        )?;
        let result = rig::run(&mut admin, &json!({}))?;
        ensure!(result["status"] == "done", "{result}");
        Ok(())
    })
}

/// What archived rows set off on their way back is code of the application, too, and the COMMIT is the caller's.
fn a_superuser_who_restores_lends_nothing_either() -> Result<()> {
    let graph = graph_of(
        r#"
name = "lent"

[tables]
job = { key = "id bigint" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
archive   = true
"#,
    );
    on_each_version(|server| {
        Client::connect(&server.url("postgres", "postgres"), NoTls)?
            .batch_execute("CREATE DATABASE lent")?;
        let connect = |user: &str| Client::connect(&server.url("lent", user), NoTls);
        let mut admin = connect("postgres")?;
        admin.batch_execute(
            "CREATE ROLE app LOGIN; CREATE SCHEMA app AUTHORIZATION app; GRANT USAGE ON SCHEMA app TO PUBLIC;
             CREATE TABLE job (id bigint PRIMARY KEY, state text, ended timestamp);
             INSERT INTO job SELECT n, 'done', '2020-01-01' FROM generate_series(1, 20) AS s(n);
             ALTER TABLE job OWNER TO app",
        )?;
        installation::apply(
            &mut installation::connect(&server.url("lent", "postgres")),
            &installation::bundle(Dialect::Postgres, &graph),
        );
        admin.batch_execute(
            "CREATE ROLE olga LOGIN IN ROLE windrow_lent_operator; CALL windrow_lent.arm()",
        )?;
        let mut app = connect("app")?;
        app.batch_execute(
            "CREATE TABLE app.told (who text); GRANT INSERT ON app.told TO PUBLIC;
             CREATE TABLE app.log (id integer); GRANT INSERT ON app.log TO PUBLIC;
             CREATE FUNCTION app.tell() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.told SELECT current_user; RETURN true; END $$;
             CREATE FUNCTION app.later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM app.tell(); RETURN NULL; END $$;
             CREATE CONSTRAINT TRIGGER later AFTER INSERT ON app.log DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.later();
             CREATE FUNCTION app.now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1); RETURN NEW; END $$;
             CREATE FUNCTION app.same(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1); RETURN true; END $$;
             CREATE OPERATOR app.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = app.same);
             CREATE FUNCTION app.held() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('DECLARE mine_%s CURSOR WITH HOLD FOR SELECT app.tell()', NEW.id); RETURN NEW; END $$",
        )?;
        let version = rig::number(&mut admin, "SELECT current_setting('server_version_num')")?;
        // Archives the next family; the one before is on hold since it came back.
        let archived = |olga: &mut Client| -> Result<Value> {
            let row = olga.query_one("CALL windrow_lent.run('{\"run_families\": 1}')", &[])?;
            let result: Value = row.get(0);
            ensure!(result["rules"][0]["families"] == 1, "{result}");
            Ok(json!({"run": result["run"]}))
        };
        let mut olga = connect("olga")?;
        for (made, undone, says) in [
            (
                "CREATE CONSTRAINT TRIGGER mine AFTER INSERT ON job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.later()",
                "DROP TRIGGER mine ON job",
                "trigger mine of table public.job belongs to app",
            ),
            (
                "CREATE TRIGGER mine BEFORE INSERT ON job FOR EACH ROW EXECUTE FUNCTION app.now()",
                "DROP TRIGGER mine ON job",
                "trigger mine of table public.job belongs to app",
            ),
            (
                "ALTER TABLE job ADD CONSTRAINT mine CHECK (state OPERATOR(app.===) 'done') NOT VALID",
                "ALTER TABLE job DROP CONSTRAINT mine",
                "function app.same(text,text) of table public.job belongs to app",
            ),
            (
                "CREATE TRIGGER mine BEFORE INSERT ON job FOR EACH ROW EXECUTE FUNCTION app.held()",
                "DROP TRIGGER mine ON job",
                "",
            ),
        ] {
            let options = archived(&mut olga)?;
            let restore = format!("SELECT windrow_lent.archive_restore('{options}')");
            app.batch_execute(made)?;
            if version >= 180_000 && !says.is_empty() {
                // What was put off acts as the owner role.
                connect("postgres")?.batch_execute(&restore)?;
                let told = rig::texts(&mut admin, "SELECT DISTINCT who FROM app.told")?;
                ensure!(told == ["windrow_lent_owner"], "{made}: {told:?}");
                app.batch_execute(&format!("{undone}; DELETE FROM app.told"))?;
                continue;
            }
            let mut masked = connect("postgres")?;
            masked.batch_execute("SET ROLE olga")?;
            let mut other = connect("postgres")?;
            other.batch_execute("SET SESSION AUTHORIZATION olga")?;
            for mut superuser in [connect("postgres")?, masked, other] {
                for call in [restore.clone(), format!("BEGIN; {restore}; COMMIT")] {
                    let error = superuser.batch_execute(&call).err();
                    superuser.batch_execute("ROLLBACK")?;
                    let told = rig::texts(&mut admin, "SELECT who FROM app.told")?;
                    ensure!(told.is_empty(), "{made}: {told:?}");
                    let error = error.with_context(|| format!("{made}: nothing refuses"))?;
                    let error = error.as_db_error().context("no error of the server")?;
                    let says = if version < 180_000 {
                        says
                    } else {
                        "a cursor WITH HOLD"
                    };
                    ensure!(
                        error.code().code() == "42501" && error.message().contains(says),
                        "{made}: {}",
                        error.message()
                    );
                }
            }
            // Nothing of the application acts when an archive is emptied: that is refused to nobody.
            let emptied = archived(&mut olga)?;
            admin.batch_execute(&format!("CALL windrow_lent.archive_drop('{emptied}')"))?;
            // An operator lends no more than he has.
            olga.batch_execute(&restore)?;
            app.batch_execute(&format!("{undone}; DELETE FROM app.told"))?;
        }
        // Without such code a superuser restores, from a transaction that sees what is there now.
        let options = archived(&mut olga)?;
        let restore = format!("SELECT windrow_lent.archive_restore('{options}')");
        if version < 180_000 {
            let mut old = connect("postgres")?;
            rig::refused(
                old.batch_execute(&format!("BEGIN ISOLATION LEVEL REPEATABLE READ; {restore}")),
                "25001",
            )?;
        }
        admin.batch_execute(&restore)?;
        Ok(())
    })
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
        for _ in 0..2 {
            made.install(&graph);
            let result = made.run(json!({}))?;
            ensure!(result["status"] == "done", "{dialect:?}: {result}");
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

/// What else somebody may change on MySQL or MariaDB, what takes it back, and what is told of it.
fn changes(
    dialect: Dialect,
    control: &str,
    name: &str,
    owner: &str,
) -> Vec<(String, String, &'static str)> {
    let role = |suffix: &str| owner.replace("_owner", suffix);
    let (operator, auditor) = (role("_operator"), role("_auditor"));
    let mallory = "mallory@'127.0.0.1'";
    let rights = |rights: &str, on: &str, to: &str, says| {
        (
            format!("GRANT {rights} ON {on} TO {to}"),
            format!("REVOKE {rights} ON {on} FROM {to}"),
            says,
        )
    };
    let all = format!("{control}.*");
    let application = format!("{name}.*");
    let alert = format!("{name}.t_ds_alert");
    let preview = format!("PROCEDURE {control}.preview");
    let mut changes = vec![
        rights("EXECUTE", "*.*", owner, "rights on the whole server"),
        rights("PROCESS", "*.*", &operator, "rights on the whole server"),
        rights("PROXY", owner, mallory, "may be taken on by mallory"),
        rights("DELETE", &application, owner, "besides what the spec needs: DELETE"),
        rights("INSERT", "mysql.*", owner, "besides what the spec needs: INSERT"),
        rights("DELETE", &alert, &operator, "besides what the spec needs: DELETE"),
        rights("UPDATE (id)", &alert, &auditor, "besides what the spec needs: UPDATE of a column"),
        rights("SELECT", &application, &operator, "besides what the spec needs: SELECT"),
        rights("LOCK TABLES", &all, mallory, "may be changed by mallory"),
        (
            format!("GRANT DELETE, UPDATE ON {name}.t_ds_user TO {owner}"),
            "install".to_owned(),
            "besides what the spec needs: UPDATE",
        ),
        (
            format!("GRANT UPDATE ON {application} TO {owner}"),
            "install".to_owned(),
            "besides what the spec needs: UPDATE",
        ),
        (
            format!("REVOKE DELETE ON {alert} FROM {owner}"),
            "install".to_owned(),
            "may no longer: DELETE",
        ),
        (
            format!("REVOKE EXECUTE ON {preview} FROM {auditor}"),
            "install".to_owned(),
            "preview may not be called by",
        ),
        (
            format!("GRANT EXECUTE ON {preview} TO {auditor} WITH GRANT OPTION"),
            format!("REVOKE GRANT OPTION ON {preview} FROM {auditor}"),
            "preview may be called by",
        ),
        (
            format!("ALTER TABLE {control}.policy DROP CONSTRAINT policy_workflow_instances, ADD CONSTRAINT policy_workflow_instances CHECK (retention_seconds > -1)"),
            "install".to_owned(),
            "policy_workflow_instances is another than the installation made",
        ),
        (
            format!("ALTER TABLE {control}.hold ADD CONSTRAINT mine CHECK (rule <> '')"),
            format!("ALTER TABLE {control}.hold DROP CONSTRAINT mine"),
            "mine is none of windrow's",
        ),
        (
            format!("ALTER TABLE {control}.hold DROP PRIMARY KEY"),
            format!("ALTER TABLE {control}.hold ADD PRIMARY KEY (rule, `key`)"),
            "primary key of hold is missing",
        ),
        (
            format!("ALTER TABLE {control}.policy MODIFY COLUMN retention_seconds bigint"),
            format!("ALTER TABLE {control}.policy MODIFY COLUMN retention_seconds bigint NOT NULL"),
            "column policy.retention_seconds is another",
        ),
        (
            format!(
                "ALTER DEFINER = {owner} SQL SECURITY INVOKER VIEW {control}.open_hours AS SELECT 1 AS position, 'always' AS written, '1234567' AS days,
                 '00:00:00' AS begins, '00:00:00' AS ends, 'UTC' AS zone, NULL AS changed_by, NULL AS changed_at"
            ),
            "install".to_owned(),
            "view open_hours is another",
        ),
        // Who looks is no excuse for what belongs to him.
        (
            format!("ALTER DEFINER = CURRENT_USER SQL SECURITY INVOKER VIEW {control}.open_hours AS SELECT 1 AS position"),
            "install".to_owned(),
            "belongs to root",
        ),
    ];
    match dialect {
        Dialect::Mysql => changes.extend([
            (
                format!("SET GLOBAL mandatory_roles = 'other, {owner}@`%`'"),
                "SET GLOBAL mandatory_roles = ''".to_owned(),
                "granted to everybody",
            ),
            rights("ROLE_ADMIN", "*.*", owner, "rights on the whole server: ROLE_ADMIN"),
            (
                format!("ALTER TABLE {control}.policy ALTER CHECK policy_workflow_instances NOT ENFORCED"),
                format!("ALTER TABLE {control}.policy ALTER CHECK policy_workflow_instances ENFORCED"),
                "policy_workflow_instances is another",
            ),
        ]),
        _ => changes.extend([
            (
                format!("GRANT {owner} TO PUBLIC"),
                format!("REVOKE {owner} FROM PUBLIC"),
                "granted to PUBLIC",
            ),
            rights("SET USER", "*.*", owner, "rights on the whole server"),
        ]),
    }
    changes
}

/// What verify() tells of that is not as the installation made it.
fn unlike(verify: &Value) -> Vec<&Value> {
    let checks = verify["checks"].as_array().into_iter().flatten();
    checks
        .filter(|check| {
            ["claim", "rights", "routine"].contains(&check["check"].as_str().unwrap_or_default())
                && check["severity"] == "violation"
        })
        .collect()
}

/// On MySQL and MariaDB nothing has an owner but what has a definer; what stands there before windrow is somebody else's.
fn what_stands_in_the_control_database_is_refused_by_name() -> Result<()> {
    for flavour in Flavour::ALL {
        let server = Mysql::start(&mysql::Settings::new(flavour))?;
        let mut made = Installation::on(&server, &dolphinscheduler(Shared::Closed));
        let (control, dialect) = (made.control.clone(), made.dialect);
        made.execute("CREATE USER mallory@'127.0.0.1'");
        let mut graph = dolphinscheduler(Shared::Closed);
        graph.name = control
            .strip_prefix("windrow_")
            .context("a prefix")?
            .to_owned();
        graph.database = made.name.clone();
        let bundle = windrow::render::bundle(&graph, dialect)?;
        let bundle = defect::of_this_process(bundle, &graph, dialect);
        let owner = windrow::render::role_name(dialect, &control, "owner");
        let claims = windrow::render::claims(&graph, dialect)?;
        let told = |made: &mut Installation, queries: &[String]| -> Vec<String> {
            let rows = queries.iter().flat_map(|query| made.rows(query));
            rows.map(|row| {
                format!(
                    "{} {}",
                    row[0].clone().unwrap_or_default(),
                    row[1].clone().unwrap_or_default()
                )
            })
            .collect()
        };
        ensure!(
            told(&mut made, &claims).is_empty(),
            "{:?}",
            told(&mut made, &claims)
        );
        ensure!(
            told(&mut made, &bundle.deviations).is_empty(),
            "{:?}",
            told(&mut made, &bundle.deviations)
        );
        let verify = made.call("verify", json!({}))?;
        let broken = unlike(&verify);
        ensure!(broken.is_empty(), "{broken:?}");
        for (change, undo, says) in [
            (
                format!("GRANT {owner} TO mallory@'127.0.0.1'"),
                format!("REVOKE {owner} FROM mallory@'127.0.0.1'"),
                "granted to mallory",
            ),
            (
                format!("GRANT SELECT ON *.* TO {owner}"),
                format!("REVOKE SELECT ON *.* FROM {owner}"),
                "rights on the whole server",
            ),
            (
                format!(
                    "GRANT EXECUTE ON PROCEDURE {control}.record_forced_install TO mallory@'127.0.0.1'"
                ),
                format!(
                    "REVOKE EXECUTE ON PROCEDURE {control}.record_forced_install FROM mallory@'127.0.0.1'"
                ),
                "may be called by mallory",
            ),
            (
                format!("GRANT UPDATE ON {control}.control TO mallory@'127.0.0.1'"),
                format!("REVOKE UPDATE ON {control}.control FROM mallory@'127.0.0.1'"),
                "may be changed by mallory",
            ),
            (
                format!("GRANT UPDATE ON {control}.* TO mallory@'127.0.0.1'"),
                format!("REVOKE UPDATE ON {control}.* FROM mallory@'127.0.0.1'"),
                "may be changed by mallory",
            ),
            (
                format!("ALTER PROCEDURE {control}.preview SQL SECURITY INVOKER"),
                format!("ALTER PROCEDURE {control}.preview SQL SECURITY DEFINER"),
                "rights of its invoker",
            ),
            (
                format!(
                    "CREATE TRIGGER {control}.evil BEFORE INSERT ON {control}.hold FOR EACH ROW SET @told = 1"
                ),
                format!("DROP TRIGGER {control}.evil"),
                "acts when table hold",
            ),
            (
                format!("ALTER TABLE {control}.policy DROP CONSTRAINT policy_workflow_instances"),
                "install".to_owned(),
                "policy_workflow_instances is missing",
            ),
        ]
        .into_iter()
        .chain(changes(dialect, &control, &made.name, &owner))
        {
            made.execute(&change);
            let found = told(&mut made, &bundle.deviations);
            ensure!(
                found.iter().any(|it| it.contains(says)),
                "{dialect:?}, {change}: {found:?}"
            );
            // The rights of accounts are for those to see who may read them, which the owner role may not.
            let is_of_accounts = ["GRANT", "REVOKE", "SET GLOBAL"];
            if !is_of_accounts.iter().any(|it| change.starts_with(it)) {
                let verify = made.call("verify", json!({}));
                let told = verify.as_ref().map_or(true, |verify| !unlike(verify).is_empty());
                ensure!(told, "{dialect:?}, {change}: {verify:?}");
            }
            match undo.as_str() {
                "install" => made.install(&dolphinscheduler(Shared::Closed)),
                undo => made.execute(undo),
            }
            let left = told(&mut made, &bundle.deviations);
            ensure!(left.is_empty(), "{dialect:?}, after {change}: {left:?}");
        }
        // Keys of other databases are seen by a right on everything, or verify() says that they are not.
        let aside = format!("{}_aside", made.name);
        made.execute(&format!(
            "CREATE DATABASE {aside}; CREATE TABLE {aside}.bill (id bigint PRIMARY KEY, run_id int,
             CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES {}.t_ds_workflow_instance (id) ON DELETE CASCADE)",
            made.name
        ));
        for (right, is_seen) in [("PROCESS", true), ("REFERENCES", false)] {
            if right == "REFERENCES" || dialect == Dialect::Mariadb {
                made.execute(&format!("REVOKE {right} ON *.* FROM {owner}"));
            }
            let verify = made.call("verify", json!({}))?.to_string();
            ensure!(
                verify.contains(&format!("{aside}.bill")) == is_seen,
                "{dialect:?}, {right}: {verify}"
            );
            let says = verify.contains("foreign keys of their tables are not seen");
            ensure!(says != is_seen, "{dialect:?}, {right}: {verify}");
        }
        made.install(&dolphinscheduler(Shared::Closed));
        let verify = made.call("verify", json!({}))?.to_string();
        ensure!(
            verify.contains(&format!("{aside}.bill")),
            "{dialect:?}: {verify}"
        );
        made.execute(&format!("DROP DATABASE {aside}"));
        // What an earlier state of the spec needed is taken back, and nothing else.
        let rights = format!(
            "SELECT CONCAT_WS(' ', p.table_schema, p.table_name, p.privilege_type) FROM information_schema.table_privileges AS p WHERE p.grantee LIKE '%{owner}%'
             UNION ALL
             SELECT CONCAT_WS(' ', p.table_schema, p.table_name, p.column_name, p.privilege_type) FROM information_schema.column_privileges AS p WHERE p.grantee LIKE '%{owner}%'
             ORDER BY 1"
        );
        let needed = made.texts(&rights);
        ensure!(needed.len() > 10, "{dialect:?}: {needed:?}");
        let name = made.name.clone();
        made.execute(&format!(
            "CREATE TABLE {name}.once (a int, b int); GRANT SELECT, DELETE, UPDATE (b) ON {name}.once TO {owner}; GRANT INSERT ON {name}.t_ds_alert TO {owner}"
        ));
        ensure!(made.texts(&rights).len() > needed.len());
        made.install(&dolphinscheduler(Shared::Closed));
        ensure!(
            made.texts(&rights) == needed,
            "{dialect:?}: {:?}",
            made.texts(&rights)
        );
        made.arm();
        ensure!(made.run(json!({}))?["status"] == "done");
        // Nothing is taken for windrow's own that was there before.
        for (prepared, says) in [
            (
                format!("CREATE TABLE {control}.control (only_row int)"),
                "control is there",
            ),
            (
                format!("CREATE SQL SECURITY INVOKER VIEW {control}.policy AS SELECT 1 AS rule"),
                "policy is there",
            ),
            (
                format!(
                    "CREATE TABLE {control}.run (run_id int); CREATE TRIGGER {control}.evil BEFORE INSERT ON {control}.run FOR EACH ROW SET @told = 1"
                ),
                "evil",
            ),
        ] {
            made.execute(&format!(
                "DROP DATABASE {control}; CREATE DATABASE {control}; {prepared}"
            ));
            let found = told(&mut made, &claims);
            ensure!(
                found.iter().any(|it| it.contains(says)),
                "{dialect:?}, {prepared}: {found:?}"
            );
            let files = bundle.files.iter();
            let refused = files
                .filter(|file| file.path.contains("/00_") || file.path.contains("/10_"))
                .flat_map(|file| &file.statements)
                .find_map(|it| made.attempt(&it.sql).err())
                .context("nothing refuses")?;
            ensure!(format!("{refused:#}").contains("refused: "), "{refused:#}");
        }
        made.execute(&format!(
            "DROP DATABASE {control}; CREATE DATABASE {control}"
        ));
        ensure!(told(&mut made, &claims).is_empty());
        made.install(&dolphinscheduler(Shared::Closed));
    }
    Ok(())
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
    rig::set(&mut admin, "ledger_days", 1)?;
    let kept = format!("SELECT count(*) FROM {W}.setting_log WHERE name = 'ledger_days'");
    admin.batch_execute(&format!(
        "UPDATE {W}.setting_log SET changed_at = changed_at - interval '1000 days'"
    ))?;
    rig::run(&mut olga, &json!({}))?;
    ensure!(rig::number(&mut admin, &kept)? == 2);

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
