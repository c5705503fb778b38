//! What a superuser who calls lends to code of the application.

use anyhow::{Context, Result, ensure};
use postgres::{Client, NoTls};
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::{database, on_each_version};
use crate::harness::tests;
use crate::rig::{self, W};
use crate::support::graphs::graph_of;
use crate::support::installation;

tests! {
    on_postgres: [
        a_superuser_lends_the_application_nothing,
        a_superuser_who_restores_lends_nothing_either,
        a_superuser_lends_nothing_to_what_sql_of_the_spec_reads,
        a_superuser_looks_for_code_of_others_at_little_cost,
    ],
}

/// What an owner of a table puts off: its name, its table, how, and before which version of the server it is refused.
const ROUNDS: [(&str, &str, &str, i64); 9] = [
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
    // Who may make a trigger on the table of a superuser, with a function of his, says when it fires.
    (
        "asked first",
        "t_ds_task_instance",
        "TRIGGER mine BEFORE DELETE ON t_ds_task_instance FOR EACH ROW WHEN (app.noted() = 1) EXECUTE FUNCTION public.idle()",
        180_000,
    ),
    (
        "asked first, by the check of a domain",
        "t_ds_task_instance",
        "DOMAIN app.word AS text CHECK (app.mine(1) > 0);
         CREATE TRIGGER mine BEFORE DELETE ON t_ds_task_instance FOR EACH ROW WHEN (OLD.id::text::app.word IS NOT NULL) EXECUTE FUNCTION public.idle()",
        180_000,
    ),
    // The planner calls a function of an index, of a table that is only read, too.
    (
        "planned",
        "t_ds_alert",
        "INDEX mine ON t_ds_alert ((id + app.mine(1)))",
        180_000,
    ),
    // So it does where the server only looks whether a row is still referred to.
    (
        "planned for a foreign key",
        "app.child",
        "TABLE app.child (id integer REFERENCES public.t_ds_workflow_instance);
         CREATE INDEX mine ON app.child (id) WHERE app.mine(1) = 1",
        180_000,
    ),
    // A view calls its functions for whoever reads it.
    (
        "a view of a view",
        "app.",
        "VIEW app.called AS SELECT app.mine(1) AS one; CREATE VIEW app.shown AS SELECT c.one FROM app.called AS c;
         GRANT SELECT ON app.shown TO windrow_dolphinscheduler_owner",
        180_000,
    ),
];

/// What an owner of tables has ready.
const PUT_OFF: &str = "CREATE TABLE app.told (who text); GRANT INSERT, SELECT ON app.told TO PUBLIC;
             CREATE FUNCTION app.tell() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.told SELECT current_user; RETURN 1; END $$;
             CREATE FUNCTION app.later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM app.tell(); RETURN NULL; END $$;
             CREATE FUNCTION app.now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1); RETURN OLD; END $$;
             CREATE TABLE app.log (id integer); GRANT INSERT ON app.log TO PUBLIC;
             CREATE CONSTRAINT TRIGGER later AFTER INSERT ON app.log DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.later();
             CREATE FUNCTION app.again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1); RETURN NULL; END $$;
             CREATE FUNCTION app.held() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('DECLARE mine_%s CURSOR WITH HOLD FOR SELECT app.tell()', OLD.id); RETURN OLD; END $$;
             CREATE FUNCTION app.noted() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1); RETURN 1; EXCEPTION WHEN OTHERS THEN RETURN 1; END $$;
             CREATE FUNCTION app.mine(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN app.noted(); END $$";

/// Where the database has no code of others at all, a batch asks no more than that.
fn nothing_is_looked_at(admin: &mut Client) -> Result<()> {
    let looks = |admin: &mut Client| {
        let scans = "SELECT seq_scan + idx_scan FROM pg_stat_xact_user_tables WHERE relname = 'known_table'";
        rig::number(admin, scans)
    };
    admin.batch_execute("BEGIN")?;
    let before = looks(admin)?;
    admin.batch_execute(&format!("SELECT {W}.foreign_code(false)"))?;
    let after = looks(admin)?;
    admin.batch_execute("COMMIT")?;
    ensure!(before == after, "{before} looks, then {after}");
    Ok(())
}

/// How many pages a batch looks at for that, once the session has its plans.
fn pages(admin: &mut Client) -> Result<i64> {
    let call = format!("SELECT * FROM {W}.foreign_code(false)");
    admin.batch_execute(&format!("{call}; {call}"))?;
    let row = admin.query_one(
        &format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {call}"),
        &[],
    )?;
    let document: Value = row.get(0);
    let plan = &document[0]["Plan"];
    let blocks = |name: &str| plan[name].as_i64().context("a number of pages");
    Ok(blocks("Shared Hit Blocks")? + blocks("Shared Read Blocks")?)
}

/// Whatever else is in the database, and also where something calls functions of others there.
fn a_superuser_looks_for_code_of_others_at_little_cost() -> Result<()> {
    on_each_version(|server| {
        let mut admin = database(server, "ds")?;
        rig::install(&mut admin)?;
        let nothing = pages(&mut admin)?;
        admin.batch_execute(
            "CREATE ROLE app LOGIN; CREATE SCHEMA app AUTHORIZATION app; SET ROLE app;
             CREATE FUNCTION app.mine(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1; END $$;
             CREATE FUNCTION app.now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
             CREATE TABLE app.other (id integer); RESET ROLE",
        )?;
        let make =
            "CREATE TRIGGER t%s AFTER DELETE ON app.other FOR EACH ROW EXECUTE FUNCTION app.now()";
        admin.batch_execute(&format!(
            "DO $$ BEGIN FOR n IN 1..3000 LOOP EXECUTE format('{make}', n); END LOOP; END $$"
        ))?;
        let triggers = pages(&mut admin)?;
        admin.batch_execute("CREATE INDEX ON app.other (app.mine(id))")?;
        let index = pages(&mut admin)?;
        ensure!(
            nothing <= 200 && triggers <= 600 && index <= 600,
            "{nothing} pages, {triggers} beside triggers, {index} beside an index"
        );
        Ok(())
    })
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
             CREATE ROLE dora LOGIN CREATEROLE IN ROLE {W}_operator; CREATE ROLE dan LOGIN IN ROLE {W}_operator, dora;
             CREATE SCHEMA app AUTHORIZATION app; GRANT USAGE ON SCHEMA app TO PUBLIC; GRANT CREATE ON SCHEMA public TO app;
             CREATE FUNCTION public.idle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
             GRANT TRIGGER ON t_ds_task_instance TO app;
             ALTER TABLE t_ds_alert OWNER TO app; ALTER TABLE t_ds_workflow_instance OWNER TO app"
        ))?;
        nothing_is_looked_at(&mut admin)?;
        let mut app = Client::connect(&server.url("ds", "app"), NoTls)?;
        app.batch_execute(PUT_OFF)?;
        let version = rig::number(&mut admin, "SELECT current_setting('server_version_num')")?;
        let superuser = || -> Result<Vec<(&str, Client)>> {
            let mut masked = Client::connect(&server.url("ds", "postgres"), NoTls)?;
            masked.batch_execute("SET ROLE olga")?;
            let mut other = Client::connect(&server.url("ds", "postgres"), NoTls)?;
            other.batch_execute("SET SESSION AUTHORIZATION olga")?;
            let connect = |user: &str| Client::connect(&server.url("ds", user), NoTls);
            let mut all = vec![
                ("a superuser", connect("postgres")?),
                ("one behind SET ROLE", masked),
                ("one behind SET SESSION AUTHORIZATION", other),
            ];
            // Who may create roles could make anybody run programs of the server.
            if version < 160_000 {
                all.push(("who creates roles", connect("dora")?));
                all.push(("a member of that", connect("dan")?));
            }
            Ok(all)
        };
        for (round, table, trigger, until) in ROUNDS {
            app.batch_execute(&format!("CREATE {trigger}"))?;
            for (who, mut client) in superuser()? {
                for call in [
                    "run('{\"run_families\": 1}')",
                    "run('{\"dry_run\": true}')",
                    "purge('{\"key\": [1]}')",
                ] {
                    let answer = client.query_one(&format!("CALL {W}.{call}"), &[]);
                    let told = rig::texts(
                        &mut admin,
                        "SELECT who FROM app.told WHERE who IN ('postgres', 'dora', 'dan')",
                    )?;
                    ensure!(told.is_empty(), "{who}, {round}, {call}: {told:?}");
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
            let result = rig::run(&mut olga, &json!({"run_families": 1}))?;
            let after = rig::number(&mut admin, "SELECT count(*) FROM t_ds_workflow_instance")?;
            ensure!(
                result["status"] != "failed" && before > after,
                "{round}: {result}"
            );
            let table = if table == "app." { "app.told" } else { table };
            admin.batch_execute(&format!(
                "DROP TRIGGER IF EXISTS mine ON {table}; DROP INDEX IF EXISTS mine; DROP VIEW IF EXISTS app.shown, app.called;
                 DROP DOMAIN IF EXISTS app.word; DROP TABLE IF EXISTS app.child; DELETE FROM app.told"
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

const LENT: &str = r#"
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
"#;

/// What acts as rows come back, what ends it, and the words of the refusal.
const ON_INSERT: [(&str, &str, &str); 8] = [
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
    // A domain over another one, whose check it is.
    (
        "ALTER TABLE job ADD CONSTRAINT mine CHECK (state::app.outer IS NOT NULL) NOT VALID",
        "ALTER TABLE job DROP CONSTRAINT mine",
        "function app.same(text,text) of table public.job belongs to app",
    ),
    // A text that becomes a row, or a range, of such a domain; and one whose own check is a cast to it.
    (
        "ALTER TABLE job ADD CONSTRAINT mine CHECK (('(' || state || ')')::app.pair IS NOT NULL) NOT VALID",
        "ALTER TABLE job DROP CONSTRAINT mine",
        "function app.same(text,text) of table public.job belongs to app",
    ),
    (
        "ALTER TABLE job ADD CONSTRAINT mine CHECK (('[' || state || ',]')::app.span IS NOT NULL) NOT VALID",
        "ALTER TABLE job DROP CONSTRAINT mine",
        "function app.same(text,text) of table public.job belongs to app",
    ),
    (
        "ALTER TABLE job ADD CONSTRAINT mine CHECK (state::app.third IS NOT NULL) NOT VALID",
        "ALTER TABLE job DROP CONSTRAINT mine",
        "function app.same(text,text) of table public.job belongs to app",
    ),
    (
        "CREATE TRIGGER mine BEFORE INSERT ON job FOR EACH ROW EXECUTE FUNCTION app.held()",
        "DROP TRIGGER mine ON job",
        "",
    ),
];

/// The same for rows that come back.
const PUT_OFF_ON_INSERT: &str = "CREATE TABLE app.told (who text); GRANT INSERT ON app.told TO PUBLIC;
             CREATE TABLE app.log (id integer); GRANT INSERT ON app.log TO PUBLIC;
             CREATE FUNCTION app.tell() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.told SELECT current_user; RETURN true; END $$;
             CREATE FUNCTION app.later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM app.tell(); RETURN NULL; END $$;
             CREATE CONSTRAINT TRIGGER later AFTER INSERT ON app.log DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.later();
             CREATE FUNCTION app.now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1); RETURN NEW; END $$;
             CREATE FUNCTION app.same(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO app.log VALUES (1); RETURN true; END $$;
             CREATE OPERATOR app.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = app.same);
             CREATE DOMAIN app.inner AS text CHECK (VALUE OPERATOR(app.===) 'done'); CREATE DOMAIN app.outer AS app.inner;
             CREATE TYPE app.pair AS (state app.inner); CREATE TYPE app.span AS RANGE (subtype = app.inner);
             CREATE DOMAIN app.third AS text CHECK (VALUE::app.inner IS NOT NULL);
             CREATE DOMAIN app.word AS text; CREATE FUNCTION app.said() RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$;
             CREATE FUNCTION app.held() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('DECLARE mine_%s CURSOR WITH HOLD FOR SELECT app.tell()', NEW.id); RETURN NEW; END $$";

/// What archived rows set off on their way back is code of the application, too, and the COMMIT is the caller's.
fn a_superuser_who_restores_lends_nothing_either() -> Result<()> {
    let graph = graph_of(LENT);
    on_each_version(|server| {
        Client::connect(&server.url("postgres", "postgres"), NoTls)?
            .batch_execute("CREATE DATABASE lent")?;
        let connect = |user: &str| Client::connect(&server.url("lent", user), NoTls);
        let mut admin = connect("postgres")?;
        admin.batch_execute(
            "CREATE ROLE app LOGIN; CREATE SCHEMA app AUTHORIZATION app; GRANT USAGE ON SCHEMA app TO PUBLIC;
             CREATE TABLE job (id bigint PRIMARY KEY, state text, ended timestamp);
             INSERT INTO job SELECT n, 'done', '2020-01-01' FROM generate_series(1, 30) AS s(n);
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
        app.batch_execute(PUT_OFF_ON_INSERT)?;
        let version = rig::number(&mut admin, "SELECT current_setting('server_version_num')")?;
        // Archives the next family; the one before is on hold since it came back.
        let archived = |olga: &mut Client| -> Result<Value> {
            let row = olga.query_one("CALL windrow_lent.run('{\"run_families\": 1}')", &[])?;
            let result: Value = row.get(0);
            ensure!(result["rules"][0]["families"] == 1, "{result}");
            Ok(json!({"run": result["run"]}))
        };
        let mut olga = connect("olga")?;
        for (made, undone, says) in ON_INSERT {
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
        // The default of a domain, which a column without one has.
        app.batch_execute(
            "ALTER TABLE job ADD word app.word; ALTER DOMAIN app.word SET DEFAULT app.said()",
        )?;
        let found = "SELECT code FROM windrow_lent.foreign_code(true)";
        ensure!(
            rig::texts(&mut admin, found)? == ["function app.said()"],
            "the default of a domain"
        );
        app.batch_execute("ALTER TABLE job DROP word")?;
        ensure!(rig::texts(&mut admin, found)?.is_empty());
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

const READ: &str = r#"
name = "read"

[tables]
job = { key = "id bigint" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
where_sql = "{root}.id + (SELECT count(*) FROM app.Shown) + app.counted(1) >= 0 AND {root}.state::app.word IS NOT NULL AND pg_catalog.length({root}.state::text) > 0 AND '()'::app.row::text <> ''"
end_time  = "ended"
retention = { default = "30d" }
limits    = { wait_while_sql = "SELECT count(*) < 0 FROM app.queue" }
"#;

/// What everybody may read, what ends it, and the words of the refusal.
const SHOWN: [(&str, &str, &str); 10] = [
    (
        "CREATE VIEW app.shown AS SELECT app.mine(1) AS one",
        "DROP VIEW app.shown",
        "function app.mine(integer) of table app.shown belongs to app",
    ),
    // The planner calls the function of an index.
    (
        "CREATE TABLE app.parts (id integer) PARTITION BY RANGE (id);
         CREATE TABLE app.part PARTITION OF app.parts FOR VALUES FROM (0) TO (9);
         CREATE INDEX ON app.part ((id + app.mine(1)));
         CREATE VIEW app.shown AS SELECT p.id FROM app.parts AS p",
        "DROP VIEW app.shown; DROP TABLE app.parts",
        "function app.mine(integer) of table app.part belongs to app",
    ),
    // Nobody who reads what a query once gave calls its functions. A table that no rule names does not matter, either.
    (
        "CREATE TABLE app.other (id integer); CREATE INDEX ON app.other ((id + app.mine(1)));
         CREATE MATERIALIZED VIEW app.shown AS SELECT app.mine(1) AS one",
        "DROP MATERIALIZED VIEW app.shown",
        "",
    ),
    // What it calls, and what it makes of a value.
    (
        "CREATE VIEW app.shown AS SELECT 1 AS one; DROP FUNCTION app.counted(integer);
         CREATE FUNCTION app.counted(integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN $1; END $$",
        "DROP VIEW app.shown; ALTER FUNCTION app.counted(integer) OWNER TO postgres",
        "function app.counted(integer) in SQL of the spec belongs to app",
    ),
    (
        "CREATE VIEW app.shown AS SELECT 1 AS one; DROP DOMAIN app.word;
         CREATE DOMAIN app.word AS text CHECK (app.mine(length(VALUE)) > 0)",
        "DROP VIEW app.shown; DROP DOMAIN app.word; CREATE DOMAIN app.word AS text",
        "function app.mine(integer) in SQL of the spec belongs to app",
    ),
    // A row that a text becomes has the checks of its columns.
    (
        "CREATE VIEW app.shown AS SELECT 1 AS one; CREATE DOMAIN app.one AS integer CHECK (app.mine(VALUE) > 0);
         ALTER TABLE app.row ADD id app.one",
        "DROP VIEW app.shown; ALTER TABLE app.row DROP id; DROP DOMAIN app.one",
        "function app.mine(integer) in SQL of the spec belongs to app",
    ),
    // Who owns a type makes casts.
    (
        "CREATE VIEW app.shown AS SELECT 1 AS one; CREATE FUNCTION app.made(text) RETURNS app.row LANGUAGE sql AS $$ SELECT NULL::app.row $$;
         CREATE CAST (text AS app.row) WITH FUNCTION app.made(text)",
        "DROP VIEW app.shown; DROP FUNCTION app.made CASCADE",
        "function app.made(text) in SQL of the spec belongs to app",
    ),
    (
        "CREATE VIEW app.shown AS SELECT 1 AS one; CREATE FUNCTION app.said(app.kind) RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$;
         CREATE CAST (app.kind AS text) WITH FUNCTION app.said(app.kind)",
        "DROP VIEW app.shown; DROP FUNCTION app.said CASCADE",
        "function app.said(app.kind) of table public.job belongs to app",
    ),
    // What has the same name elsewhere: a word without a schema is a column, or the server's own. A table is not asked for what its
    // columns check, where it is read only.
    (
        "CREATE TABLE app.shown (state text); CREATE DOMAIN other.word AS text CHECK (app.mine(length(VALUE)) > 0);
         CREATE DOMAIN app.state AS text CHECK (app.mine(length(VALUE)) > 0); ALTER TABLE app.shown ALTER state TYPE app.state;
         CREATE FUNCTION other.counted(integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN $1; END $$;
         CREATE FUNCTION app.length(text) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
         CREATE TYPE other.kind AS ENUM ('x'); CREATE FUNCTION other.said(other.kind) RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$;
         CREATE CAST (other.kind AS text) WITH FUNCTION other.said(other.kind)",
        "DROP TYPE other.kind CASCADE; DROP TABLE app.shown; DROP DOMAIN other.word, app.state; DROP FUNCTION other.counted(integer), app.length(text)",
        "",
    ),
    // What it waits for.
    (
        "CREATE VIEW app.shown AS SELECT 1 AS one; DROP VIEW app.queue; CREATE VIEW app.queue AS SELECT app.mine(1) AS one;
         GRANT SELECT ON app.queue TO PUBLIC",
        "DROP VIEW app.shown",
        "function app.mine(integer) of table app.queue belongs to app",
    ),
];

/// A view that SQL of the spec names calls its functions for a run, too, whoever gave the right to read it.
fn a_superuser_lends_nothing_to_what_sql_of_the_spec_reads() -> Result<()> {
    let graph = graph_of(READ);
    on_each_version(|server| {
        Client::connect(&server.url("postgres", "postgres"), NoTls)?
            .batch_execute("CREATE DATABASE read")?;
        let connect = |user: &str| Client::connect(&server.url("read", user), NoTls);
        let mut admin = connect("postgres")?;
        admin.batch_execute(
            "CREATE ROLE app LOGIN; CREATE SCHEMA app AUTHORIZATION app; GRANT USAGE ON SCHEMA app TO PUBLIC;
             CREATE TYPE app.kind AS ENUM ('x'); ALTER TYPE app.kind OWNER TO app;
             CREATE TABLE job (id bigint PRIMARY KEY, state text, ended timestamp, kind app.kind);
             INSERT INTO job SELECT n, 'done', '2020-01-01' FROM generate_series(1, 20) AS s(n);
             CREATE VIEW app.shown AS SELECT 1 AS one; ALTER VIEW app.shown OWNER TO app;
             CREATE VIEW app.queue AS SELECT 1 AS one; GRANT SELECT ON app.queue TO PUBLIC; CREATE DOMAIN app.word AS text;
             CREATE SCHEMA other AUTHORIZATION app; CREATE TABLE app.row (); ALTER TABLE app.row OWNER TO app;
             CREATE FUNCTION app.counted(integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN $1; END $$",
        )?;
        installation::apply(
            &mut installation::connect(&server.url("read", "postgres")),
            &installation::bundle(Dialect::Postgres, &graph),
        );
        admin.batch_execute("CALL windrow_read.arm()")?;
        let version = rig::number(&mut admin, "SELECT current_setting('server_version_num')")?;
        let mut app = connect("app")?;
        app.batch_execute(
            "DROP VIEW app.shown;
             CREATE FUNCTION app.mine(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN $1; END $$",
        )?;
        for (made, undone, says) in SHOWN {
            app.batch_execute(&format!("{made}; GRANT SELECT ON app.shown TO PUBLIC"))?;
            let run = connect("postgres")?
                .query_one("CALL windrow_read.run('{\"run_families\": 1}')", &[]);
            let found = "SELECT format('%s%s', code, ' of table ' || table_name) FROM windrow_read.foreign_code(false)";
            let found = rig::texts(&mut admin, found)?;
            ensure!(found.is_empty() == says.is_empty(), "{made}: {found:?}");
            if says.is_empty() || version >= 180_000 {
                let result: Value = run.with_context(|| made.to_owned())?.get(0);
                ensure!(result["rules"][0]["families"] == 1, "{made}: {result}");
            } else {
                let error = run
                    .err()
                    .with_context(|| format!("{made}: nothing refuses"))?;
                let error = error.as_db_error().context("no error of the server")?;
                ensure!(
                    error.code().code() == "42501" && error.message().contains(says),
                    "{made}: {}",
                    error.message()
                );
            }
            admin.batch_execute(undone)?;
        }
        Ok(())
    })
}
