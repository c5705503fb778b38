//! What stands under windrow's names before an installation, and whose it is while one goes on.

use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use serde_json::json;
use windrow::bundle::Bundle;

use super::{database, deviations, on_each_version, violations};
use crate::harness::tests;
use crate::rig::{self, W};
use crate::support::effort::size;

tests! {
    on_postgres: [
        what_somebody_else_has_made_is_refused_by_name,
        each_file_refuses_a_schema_of_somebody_else,
        nothing_is_open_or_the_installers_at_any_moment,
        who_owns_the_tables_installs_before_a_superuser_does,
        who_inherits_no_rights_is_told_so_before_anything_is_made,
        roles_of_another_database_of_the_server_are_told,
    ],
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

/// What somebody prepares before an installation: its name, how, and the words of the refusal.
fn prepared<'a>(
    owner: &'a str,
    function: &'a str,
    table: &'a str,
) -> Vec<(&'static str, String, Vec<&'a str>)> {
    let evil = format!(
        "CREATE FUNCTION {W}.evil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.told SELECT current_user; RETURN NEW; END $$;
         CREATE TABLE {W}.control (only_row boolean PRIMARY KEY DEFAULT true, spec text, armed boolean, armed_rules text[]);
         CREATE TRIGGER evil BEFORE INSERT ON {W}.control FOR EACH ROW EXECUTE FUNCTION {W}.evil()"
    );
    vec![
        ("log in", format!("CREATE ROLE {owner} LOGIN"), vec![owner, "log in", "NOLOGIN"]),
        ("superuser", format!("CREATE ROLE {owner} SUPERUSER"), vec![owner, "do everything"]),
        ("createrole", format!("CREATE ROLE {owner} CREATEROLE"), vec![owner, "create roles"]),
        ("bypassrls", format!("CREATE ROLE {owner} BYPASSRLS"), vec![owner, "bypass row security"]),
        ("replication", format!("CREATE ROLE {owner} REPLICATION"), vec![owner, "replicate"]),
        ("operator", format!("CREATE ROLE {W}_operator SUPERUSER"), vec!["_operator", "do everything"]),
        ("granted", format!("CREATE ROLE {owner}; GRANT {owner} TO mallory"), vec![owner, "granted to mallory", "REVOKE"]),
        ("member", format!("CREATE ROLE {owner} IN ROLE app"), vec![owner, "member of app"]),
        (
            "default privileges",
            format!("CREATE ROLE {owner}; ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT EXECUTE ON ROUTINES TO mallory"),
            vec![owner, "default privileges", "mallory", "REVOKE ALL ON ROUTINES FROM mallory"],
        ),
        (
            "default privileges of tables",
            format!("CREATE ROLE {owner}; ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT SELECT ON TABLES TO PUBLIC"),
            vec![owner, "default privileges", "PUBLIC", "REVOKE ALL ON TABLES FROM PUBLIC"],
        ),
        (
            "default privileges of sequences",
            format!("CREATE ROLE {owner}; ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT USAGE ON SEQUENCES TO mallory"),
            vec![owner, "default privileges", "mallory", "REVOKE ALL ON SEQUENCES FROM mallory"],
        ),
        (
            "default privileges of schemas",
            format!("CREATE ROLE {owner}; ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT CREATE ON SCHEMAS TO PUBLIC"),
            vec![owner, "default privileges", "PUBLIC", "REVOKE ALL ON SCHEMAS FROM PUBLIC"],
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
            vec![function, "belongs to mallory"],
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
            vec!["trigger evil", table],
        ),
        (
            "rule",
            format!(
                "CREATE ROLE {owner}; CREATE SCHEMA {W} AUTHORIZATION {owner}; SET ROLE {owner}; CREATE TABLE {W}.control (spec text);
                 CREATE RULE evil AS ON INSERT TO {W}.control DO ALSO INSERT INTO public.told SELECT current_user; RESET ROLE"
            ),
            vec!["rule evil"],
        ),
    ]
}

fn what_somebody_else_has_made_is_refused_by_name() -> Result<()> {
    on_each_version(|server| {
        let bundle = rig::bundle()?;
        let mut admin = database(server, "ds")?;
        admin.batch_execute(
            "CREATE ROLE mallory LOGIN; CREATE ROLE app NOLOGIN; CREATE TABLE public.told (who text);
             GRANT INSERT ON public.told TO PUBLIC; GRANT CREATE ON DATABASE ds TO mallory",
        )?;
        let owner = format!("{W}_owner");
        let [function, table] = ["evil()", "control"].map(|name| format!("{W}.{name}"));
        for (round, prepared, says) in prepared(&owner, &function, &table) {
            admin
                .batch_execute(&prepared)
                .with_context(|| round.to_owned())?;
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

/// A client that goes on behind an error applies the other files, too.
fn each_file_refuses_a_schema_of_somebody_else() -> Result<()> {
    on_each_version(|server| {
        let bundle = rig::bundle()?;
        let mut admin = database(server, "ds")?;
        // The roles are there where another database of the server has windrow.
        let evil = "LANGUAGE plpgsql AS $$ BEGIN RESET ROLE; INSERT INTO public.told SELECT current_user; RETURN '[]'; END $$";
        admin.batch_execute(&format!(
            "CREATE ROLE mallory LOGIN; CREATE ROLE {W}_owner; CREATE ROLE {W}_operator; CREATE ROLE {W}_auditor;
             CREATE TABLE public.told (who text); GRANT CREATE ON DATABASE ds TO mallory; GRANT USAGE ON SCHEMA public TO {W}_owner;
             SET ROLE mallory; CREATE SCHEMA {W}; GRANT ALL ON SCHEMA {W} TO {W}_owner;
             CREATE FUNCTION {W}.register_verbs(text, text[]) RETURNS text {evil};
             CREATE FUNCTION {W}.register_routines(text, text[]) RETURNS text {evil};
             CREATE FUNCTION {W}.register_spec() RETURNS text {evil};
             CREATE FUNCTION {W}.held() RETURNS text {evil};
             CREATE VIEW {W}.held_right AS SELECT h::regrole AS grantor, h::regrole AS owner, h AS given, true AS reads FROM {W}.held() AS h;
             GRANT ALL ON ALL TABLES IN SCHEMA {W} TO {W}_owner; RESET ROLE"
        ))?;
        let mut seen = 0;
        for file in &bundle.files {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            // The file of the indexes uses nothing of the schema.
            if !("10_".."90_").contains(&name) || name.starts_with("20_") {
                continue;
            }
            let mut client = Client::connect(&server.url("ds", "postgres"), NoTls)?;
            let mut statements = file.statements.iter();
            let refused = statements.find_map(|it| client.batch_execute(&it.sql).err());
            let refused = refused.with_context(|| format!("{} is applied", file.path))?;
            let said = refused
                .as_db_error()
                .context("an error of the server")?
                .message();
            let says = [
                "must be owner of schema",
                "belongs to mallory",
                "does not belong to its owner role",
            ];
            ensure!(
                says.iter().any(|it| said.contains(it)),
                "{}: {said}",
                file.path
            );
            let told = rig::texts(&mut admin, "SELECT who FROM public.told")?;
            ensure!(told.is_empty(), "{}: executed as {told:?}", file.path);
            seen += 1;
        }
        ensure!(seen > 20, "{seen}");
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
            // The second installs again what is there, too.
            let rounds = size(
                vec!["new", "a routine more"],
                vec!["new", "again", "a routine more"],
            );
            for round in rounds {
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

/// The owner role is lent to who installs. A role with NOINHERIT could not use it: what failed was the first file that reads a table
/// of windrow.
fn who_inherits_no_rights_is_told_so_before_anything_is_made() -> Result<()> {
    on_each_version(|server| {
        let mut root = Client::connect(&server.url("postgres", "postgres"), NoTls)?;
        root.batch_execute("CREATE ROLE nora LOGIN CREATEROLE NOINHERIT")?;
        root.batch_execute("CREATE DATABASE theirs OWNER nora")?;
        // What the owner of a database may do with it she would inherit.
        let mut admin = Client::connect(&server.url("theirs", "postgres"), NoTls)?;
        admin.batch_execute("ALTER SCHEMA public OWNER TO nora")?;
        let mut nora = Client::connect(&server.url("theirs", "nora"), NoTls)?;
        rig::load(&mut nora, 20)?;
        // A member that a superuser has made one is no better off.
        for made in ["", "CREATE ROLE W_owner; GRANT W_owner TO nora"] {
            root.batch_execute(&made.replace("W_", &format!("{W}_")))?;
            let said = refusal(&mut nora, &rig::bundle()?)?;
            ensure!(
                said.starts_with(&format!(
                    "role nora does not inherit the rights of {W}_owner"
                )) && said.contains("; ALTER ROLE nora INHERIT"),
                "{said}"
            );
            let made = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'windrow%'";
            ensure!(rig::number(&mut nora, made)? == 0);
        }
        root.batch_execute(&format!("DROP ROLE {W}_owner; ALTER ROLE nora INHERIT"))?;
        rig::install(&mut nora)?;
        let broken = violations(&mut nora)?;
        ensure!(broken == "[]", "{broken}");
        rig::uninstall(&mut nora)
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
