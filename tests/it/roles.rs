//! Who may do what: login users that are operator, auditor or nobody, the owner role, hostile search paths, and an
//! installation by a database owner who is no superuser.

use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, ensure};
use postgres::{Client, NoTls};
use serde_json::json;
use windrow::sandbox::{self, Postgres, Settings};

use crate::harness::tests;
use crate::rig::{self, Database, W};
use crate::support::effort::ends;

tests! {
    on_postgres: [
        an_operator_operates_and_no_more,
        no_path_leads_under_the_minimum,
        an_auditor_reads_and_nobody_does_nothing,
        the_owner_role_has_what_the_batch_needs,
        hostile_objects_of_the_caller_are_not_used,
        the_program_uses_nothing_of_others,
        a_database_owner_installs_without_a_superuser,
    ],
}

/// A server with the users `olga` (operator), `anna` (auditor) and `nick` (nobody).
fn server() -> Result<&'static Postgres> {
    static SERVER: OnceLock<std::result::Result<Postgres, String>> = OnceLock::new();
    SERVER
        .get_or_init(|| with_users().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}

fn with_users() -> Result<Postgres> {
    let server = rig::start(150, &Settings::default())?;
    Client::connect(&server.url("postgres", "postgres"), NoTls)?.batch_execute(&format!(
        "CREATE ROLE olga LOGIN IN ROLE {W}_operator;
         CREATE ROLE anna LOGIN IN ROLE {W}_auditor;
         CREATE ROLE nick LOGIN"
    ))?;
    Ok(server)
}

fn all_refused(client: &mut Client, statements: &[&str]) -> Result<()> {
    for statement in statements {
        let statement = statement
            .replace("W.", &format!("{W}."))
            .replace("SCHEMA W", &format!("SCHEMA {W}"));
        rig::refused(client.batch_execute(&statement), "42501").with_context(|| statement)?;
    }
    Ok(())
}

fn all_work(client: &mut Client, statements: &[&str]) -> Result<()> {
    for statement in statements {
        let statement = statement.replace("W.", &format!("{W}."));
        client
            .batch_execute(&statement)
            .with_context(|| statement)?;
    }
    Ok(())
}

const READS: &[&str] = &[
    "SELECT W.preview()",
    "SELECT W.verify()",
    "SELECT W.run_result(1)",
    "SELECT * FROM W.orphans()",
    "SELECT * FROM W.control",
    "SELECT * FROM W.policy",
    "SELECT * FROM W.hold",
    "SELECT * FROM W.setting",
    "SELECT * FROM W.settings",
    "SELECT * FROM W.setting_log",
    "SELECT * FROM W.run",
    "SELECT * FROM W.run_rule",
    "SELECT * FROM W.run_table",
    "SELECT * FROM W.run_skip",
    "SELECT * FROM W.run_failure",
    "SELECT * FROM W.artifact",
    "SELECT * FROM W.backlog",
    "SELECT * FROM W.undeletable",
    "SELECT * FROM W.metrics",
];

const CHANGES: &[&str] = &[
    "CALL W.arm()",
    "CALL W.run()",
    "CALL W.run('{\"dry_run\": true}')",
    "CALL W.purge('{\"key\": [1]}')",
    "CALL W.pause('test')",
    "CALL W.resume()",
    "SELECT W.pause_rule('{}')",
    "SELECT W.resume_rule('{}')",
    "SELECT W.set_policy('{\"scope\": \"42\", \"retention\": \"8d\"}')",
    "SELECT W.drop_policy('{\"scope\": \"42\"}')",
    "SELECT W.set_hold('{\"key\": 1, \"reason\": \"test\", \"even_if_absent\": true}')",
    "SELECT W.release_hold('{\"key\": 1}')",
    "SELECT W.set_setting('{\"name\": \"batch_families\", \"value\": 10}')",
    "SELECT * FROM W.claim_artifacts(1)",
    "SELECT * FROM W.named_artifacts('[1]')",
    "SELECT W.finish_artifact(1, 'gone')",
];

/// What nobody but the owner role may do, whatever the way.
const FORBIDDEN: &[&str] = &[
    "SELECT count(*) FROM t_ds_workflow_instance",
    "SELECT id FROM t_ds_task_instance",
    "DELETE FROM t_ds_workflow_instance WHERE id = 1",
    "UPDATE t_ds_workflow_instance SET state = 7",
    "TRUNCATE t_ds_alert",
    "DELETE FROM W.run",
    "UPDATE W.run SET status = 'done'",
    "UPDATE W.control SET armed = true",
    "INSERT INTO W.policy (rule, scope, retention_seconds) VALUES ('workflow_instances', '1', 1)",
    "UPDATE W.policy SET retention_seconds = 1",
    "DELETE FROM W.hold",
    "INSERT INTO W.setting (rule, name, value) VALUES ('workflow_instances', 'batch_families', 1)",
    "TRUNCATE W.artifact",
    "SELECT W.batch_end_time(1, 'workflow_instances', '{1}'::bigint[], now(), 0, NULL, true, '{}'::bigint[])",
    "SELECT W.workflow_instances_delete(1, '{1}', '{}', '{}', false, '{}')",
    "SELECT W.judge('workflow_instances', '{1}'::bigint[], now(), 0, NULL, true, true, '{}')",
    "SELECT W.workflow_instances_count('{1}')",
    "SELECT W.record_skips(1, 'workflow_instances', '{1}', '{HELD}')",
    "SELECT W.run_open(1, NULL, NULL)",
    "SELECT W.record_forced_install('{}')",
    "ALTER FUNCTION W.preview(jsonb) SECURITY INVOKER",
    "ALTER FUNCTION W.preview(jsonb) RESET ALL",
    "CREATE OR REPLACE FUNCTION W.seconds(p_duration text) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
    "DROP FUNCTION W.preview(jsonb)",
    "CREATE TABLE W.mine (id integer)",
    "CREATE FUNCTION W.mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "ALTER TABLE W.policy DROP CONSTRAINT policy_workflow_instances",
    "DROP SCHEMA W CASCADE",
    "SET ROLE windrow_dolphinscheduler_owner",
];

fn an_operator_operates_and_no_more() -> Result<()> {
    let database = Database::create(server()?)?;
    let mut olga = database.connect_as("olga")?;
    let mut admin = database.connect()?;
    let preview = rig::call(&mut olga, "preview", &json!({}))?;
    let (result, rule) = rig::run_rule(&mut olga, &json!({}))?;
    ensure!(
        result["status"] == "done" && rule["families"] == preview["rules"][0]["families"],
        "{result}"
    );
    rig::check_whole(&mut admin)?;
    all_work(&mut olga, READS)?;
    all_work(&mut olga, CHANGES)?;
    let who = rig::texts(
        &mut admin,
        &format!("SELECT DISTINCT started_by FROM {W}.run"),
    )?;
    ensure!(who == ["olga"], "{who:?}");
    all_refused(&mut olga, FORBIDDEN)?;
    rig::check_unlocked(&mut admin)
}

fn no_path_leads_under_the_minimum() -> Result<()> {
    let database = Database::create(server()?)?;
    let mut olga = database.connect_as("olga")?;
    for statement in [
        "SELECT W.set_policy('{\"scope\": \"42\", \"retention\": \"6d\"}')",
        "SELECT W.set_policy('{\"scope\": \"42\", \"retention\": \"0s\"}')",
        "SELECT W.set_policy('{\"scope\": \"42\", \"retention\": \"-30d\"}')",
        "SELECT W.preview('{\"retention\": \"6d23h\"}')",
        "CALL W.run('{\"retention\": \"6d\"}')",
        "CALL W.run('{\"retention\": \"1\"}')",
        "CALL W.run('{\"as_of\": \"2999-01-01\"}')",
        "CALL W.run('{\"as_of\": \"infinity\"}')",
        "CALL W.run('{\"as_of\": \"tomorrow\"}')",
        "SELECT W.run_begin('{\"retention\": \"6d\"}')",
        "SELECT W.run_begin('{\"as_of\": \"2999-01-01\"}')",
    ] {
        let statement = statement.replace("W.", &format!("{W}."));
        rig::refused(olga.batch_execute(&statement), "22023").with_context(|| statement)?;
    }
    // Nor do the parts of a run, called by hand.
    let mut admin = database.connect()?;
    let young = rig::texts(
        &mut admin,
        "SELECT id::text FROM t_ds_workflow_instance WHERE end_time > now() - interval '8 days'",
    )?
    .len();
    ensure!(young > 0);
    olga.batch_execute(&format!(
        "SELECT {W}.run_begin('{{\"retention\": \"7d\"}}')"
    ))?;
    let run = rig::number(&mut olga, &format!("SELECT max(run_id) FROM {W}.run"))?;
    olga.batch_execute(&format!("SELECT {W}.step({run}, 'workflow_instances')"))?;
    ensure!(
        rig::texts(
            &mut admin,
            "SELECT id::text FROM t_ds_workflow_instance WHERE end_time > now() - interval '8 days'"
        )?
        .len()
            == young
    );
    // A run is no purge, and a closed run takes nothing more; the ledger of another session's run is not hers to close.
    rig::refused(
        olga.batch_execute(&format!(
            "SELECT {W}.purge_one({run}, 'workflow_instances', ARRAY['1'], true)"
        )),
        "55000",
    )?;
    olga.batch_execute(&format!("SELECT {W}.run_end({run}, ARRAY['nothing left'])"))?;
    let closed = rig::texts(
        &mut admin,
        &format!("SELECT to_jsonb(r)::text FROM {W}.run AS r"),
    )?;
    ensure!(
        rig::texts(
            &mut olga,
            &format!("SELECT {W}.step({run}, 'workflow_instances')")
        )? == ["the run was ended from outside"]
    );
    olga.batch_execute(&format!("SELECT {W}.run_end({run}, ARRAY['error, she says']); SELECT {W}.purge_end({run}, '{{}}', '{{}}', '{{}}'); SELECT {W}.run_unlock()"))?;
    ensure!(
        rig::texts(
            &mut admin,
            &format!("SELECT to_jsonb(r)::text FROM {W}.run AS r")
        )? == closed
    );
    // A retention beyond the calendar would make every run fail.
    rig::refused(
        rig::call(
            &mut olga,
            "set_policy",
            &json!({"scope": "42", "retention": "999999999w"}),
        ),
        "22023",
    )?;
    // So would a key that no key column can hold.
    rig::refused(
        rig::purge(&mut olga, &json!({"key": [99_999_999_999_i64]})),
        "22023",
    )?;
    rig::refused(
        rig::call(
            &mut olga,
            "set_hold",
            &json!({"key": 99_999_999_999_i64, "reason": "test"}),
        ),
        "22023",
    )?;
    rig::check_whole(&mut admin)?;
    rig::check_unlocked(&mut admin)
}

fn an_auditor_reads_and_nobody_does_nothing() -> Result<()> {
    let database = Database::create(server()?)?;
    let mut anna = database.connect_as("anna")?;
    all_work(&mut anna, READS)?;
    all_refused(&mut anna, CHANGES)?;
    all_refused(&mut anna, FORBIDDEN)?;
    all_refused(
        &mut anna,
        &[
            "SELECT W.run_begin('{}')",
            "SELECT W.run_end(1, '{}')",
            "SELECT W.purge_begin('{}')",
            "SELECT W.step(1, 'workflow_instances')",
            "SELECT W.purge_one(1, 'workflow_instances', ARRAY['1'], true)",
        ],
    )?;
    let mut nick = database.connect_as("nick")?;
    all_refused(&mut nick, READS)?;
    all_refused(&mut nick, CHANGES)?;
    all_refused(&mut nick, FORBIDDEN)
}

fn the_owner_role_has_what_the_batch_needs() -> Result<()> {
    let database = Database::create(server()?)?;
    let mut admin = database.connect()?;
    rig::refused(database.connect_as(&format!("{W}_owner")), "28000")?;
    let rights = rig::texts(
        &mut admin,
        &format!(
            "SELECT c.relname || ' ' || string_agg(a.privilege_type, ' ' ORDER BY a.privilege_type)
             FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a JOIN pg_roles AS r ON r.oid = a.grantee
             WHERE r.rolname LIKE '{W}%' AND c.relnamespace = 'public'::regnamespace
             GROUP BY c.relname ORDER BY 1"
        ),
    )?;
    let tables = rig::graph()
        .tables
        .iter()
        .map(|table| format!("{} DELETE SELECT", table.name))
        .collect::<Vec<_>>();
    ensure!(rights == tables, "{rights:?}");
    let columns = rig::texts(
        &mut admin,
        &format!(
            "SELECT c.relname || '.' || t.attname || ' ' || a.privilege_type || ' ' || r.rolname
             FROM pg_attribute AS t JOIN pg_class AS c ON c.oid = t.attrelid CROSS JOIN LATERAL aclexplode(t.attacl) AS a
             JOIN pg_roles AS r ON r.oid = a.grantee WHERE r.rolname LIKE '{W}%' ORDER BY 1"
        ),
    )?;
    // To lock the rows to which others refer.
    let locked = ["alert", "task_instance", "workflow_instance"]
        .map(|table| format!("t_ds_{table}.id UPDATE {W}_owner"));
    ensure!(columns == locked, "{columns:?}");
    let open = rig::texts(
        &mut admin,
        &format!(
            "SELECT proname FROM pg_proc WHERE pronamespace = '{W}'::regnamespace AND has_function_privilege('nick', oid, 'EXECUTE')"
        ),
    )?;
    ensure!(open.is_empty(), "{open:?}");
    let loose = rig::texts(
        &mut admin,
        &format!(
            "SELECT proname FROM pg_proc WHERE pronamespace = '{W}'::regnamespace AND prosecdef
             AND NOT coalesce(proconfig && ARRAY['search_path=pg_catalog, pg_temp', 'search_path={W}, pg_catalog, pg_temp'], false)"
        ),
    )?;
    ensure!(
        loose.is_empty(),
        "definer functions without a search path: {loose:?}"
    );
    Ok(())
}

/// Types, functions and operators that would be called by their names alone.
fn hostile(types: &str) -> String {
    let mut text = format!(
        "CREATE TABLE evil.called (what text);
             GRANT INSERT ON evil.called TO PUBLIC;
             CREATE DOMAIN {types}.text AS varchar CHECK (length(VALUE) < 3);
             CREATE DOMAIN {types}.json AS varchar CHECK (VALUE = 'evil');
             CREATE DOMAIN {types}.jsonb AS varchar CHECK (VALUE = 'evil');
             CREATE DOMAIN {types}.regclass AS varchar CHECK (VALUE = 'evil');"
    );
    for (name, arguments, returns) in [
        ("now", "", "timestamptz"),
        ("clock_timestamp", "", "timestamptz"),
        (
            "array_append",
            "pg_catalog.text[], pg_catalog.text",
            "pg_catalog.text[]",
        ),
        (
            "jsonb_array_elements_text",
            "pg_catalog.jsonb",
            "pg_catalog.text",
        ),
        ("pg_backend_pid", "", "integer"),
    ] {
        text.push_str(&format!(
            "CREATE FUNCTION evil.{name}({arguments}) RETURNS {returns} LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'evil.{name} was called' USING ERRCODE = 'EV001'; END $$;"
        ));
    }
    for (operator, left, right, returns) in [
        ("=", "pg_catalog.text", "pg_catalog.text", "boolean"),
        ("<>", "pg_catalog.text", "pg_catalog.text", "boolean"),
        (
            "->>",
            "pg_catalog.jsonb",
            "pg_catalog.text",
            "pg_catalog.text",
        ),
        (
            "->",
            "pg_catalog.jsonb",
            "pg_catalog.text",
            "pg_catalog.jsonb",
        ),
        (
            "||",
            "pg_catalog.text",
            "pg_catalog.text",
            "pg_catalog.text",
        ),
        ("<", "timestamp", "timestamp", "boolean"),
        ("=", "integer", "integer", "boolean"),
    ] {
        let function = format!("evil.op_{}", text.len());
        text.push_str(&format!(
            "CREATE FUNCTION {function}({left}, {right}) RETURNS {returns} LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'the evil operator {operator} was called' USING ERRCODE = 'EV001'; END $$;
                 CREATE OPERATOR evil.{operator} (FUNCTION = {function}, LEFTARG = {left}, RIGHTARG = {right});"
        ));
    }
    text
}

/// What a caller brings along in his session changes nothing: no table, type, operator or function of his is used.
fn hostile_objects_of_the_caller_are_not_used() -> Result<()> {
    let database = Database::create(server()?)?;
    let mut admin = database.connect()?;
    admin.batch_execute("CREATE SCHEMA evil AUTHORIZATION nick; GRANT USAGE ON SCHEMA evil TO PUBLIC; CREATE SCHEMA AUTHORIZATION olga")?;
    let expected = rig::call(&mut admin, "preview", &json!({}))?["rules"][0]["families"].clone();
    let mut nick = database.connect_as("nick")?;
    nick.batch_execute(&hostile("evil"))?;

    let mut olga = database.connect_as("olga")?;
    olga.batch_execute(
        "CREATE TEMP TABLE t_ds_workflow_instance (id integer, state integer, end_time timestamp, project_code bigint, is_sub_workflow integer);
         CREATE TEMP TABLE policy (rule text, scope text);
         CREATE TEMP TABLE control (paused boolean, armed boolean);
         CREATE TEMP TABLE run (run_id bigint);
         CREATE TEMP TABLE pg_locks (pid integer);
         CREATE TEMP TABLE pg_class (relname text);
         DO $$ DECLARE v_type text;
         BEGIN
             FOR v_type IN
                 SELECT t.typname FROM pg_catalog.pg_type AS t
                 WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype IN ('b', 'p') AND t.typname !~ '^_|^reg|^pg_'
             LOOP
                 EXECUTE format('CREATE DOMAIN pg_temp.%I AS pg_catalog.varchar CHECK (false)', v_type);
             END LOOP;
         END $$",
    )?;
    olga.batch_execute("SET search_path = evil, pg_temp, public, pg_catalog")?;
    let statement = |call: &str| format!("CALL {W}.{call}");
    let (result, rule) = rig::run_rule(&mut olga, &json!({"run_families": 20}))?;
    ensure!(
        result["status"] == "stopped" && rule["families"] == 20,
        "{result}"
    );
    let key = rig::due(&mut admin, 20)?[0];
    let purge = rig::purge(&mut olga, &json!({"key": [key]}))?;
    ensure!(purge["rules"][0]["families"] == 1, "{purge}");
    for call in ["pause('test')", "resume()"] {
        olga.batch_execute(&statement(call))?;
    }
    for (function, options) in [
        ("preview", json!({})),
        ("outlook", json!({})),
        ("verify", json!({})),
        ("set_policy", json!({"scope": "42", "retention": "8d"})),
        ("drop_policy", json!({"scope": "42"})),
        (
            "set_hold",
            json!({"key": 1, "reason": "test", "even_if_absent": true}),
        ),
        ("release_hold", json!({"key": 1})),
        ("set_setting", json!({"name": "retries", "value": 1})),
    ] {
        rig::call(&mut olga, function, &options).with_context(|| function)?;
    }
    olga.batch_execute(&format!(
        "SELECT * FROM {W}.metrics; SELECT * FROM {W}.claim_artifacts(1)"
    ))?;
    let (result, _) = rig::run_rule(&mut olga, &json!({"rule": "workflow_instances"}))?;
    ensure!(result["status"] == "done", "{result}");
    let gone = rig::number(
        &mut admin,
        "SELECT count(*) FROM before.instance AS b WHERE b.is_sub_workflow = 0 AND NOT EXISTS (SELECT FROM public.t_ds_workflow_instance AS i WHERE i.id = b.id)",
    )?;
    ensure!(expected == gone, "{gone} instead of {expected}");
    rig::check_whole(&mut admin)
}

/// For each function and operator of the server that takes a text or anything, one that takes a name: a query of the catalog
/// that does not say where it looks would call that one.
const BETTER_FITTING: &str = "
    DO $$
    DECLARE
        v_row   record;
        v_count integer := 0;
    BEGIN
        FOR v_row IN
            SELECT DISTINCT p.proname AS name, (
                SELECT string_agg(CASE WHEN a.type::regtype::text IN ('text', 'anyelement', '\"any\"') THEN 'name' ELSE a.type::regtype::text END, ', ' ORDER BY a.n)
                FROM unnest(p.proargtypes) WITH ORDINALITY AS a (type, n)) AS arguments
            FROM pg_proc AS p
            WHERE p.pronamespace = 'pg_catalog'::regnamespace
              AND p.provariadic = 0
              AND p.prokind IN ('f', 'a')
              AND (p.proargtypes::oid[] && ARRAY['text'::regtype::oid, 'anyelement'::regtype::oid, '\"any\"'::regtype::oid])
              AND NOT p.proargtypes::oid[] && ARRAY['internal'::regtype::oid]
        LOOP
            EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS pg_catalog.text LANGUAGE plpgsql AS %L', v_row.name, v_row.arguments,
                format('BEGIN RAISE EXCEPTION ''evil.%s was called'' USING ERRCODE = ''EV001''; END', v_row.name));
            v_count := v_count + 1;
        END LOOP;
        ASSERT v_count > 100, v_count;
        CREATE FUNCTION evil.operator(name, name) RETURNS boolean LANGUAGE plpgsql AS
            'BEGIN RAISE EXCEPTION ''an evil operator was called'' USING ERRCODE = ''EV001''; END';
        FOR v_row IN
            SELECT DISTINCT o.oprname AS name FROM pg_operator AS o
            WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprleft = 'text'::regtype AND o.oprright = 'text'::regtype
        LOOP
            EXECUTE format('CREATE OPERATOR evil.%s (LEFTARG = name, RIGHTARG = name, FUNCTION = evil.operator)', v_row.name);
        END LOOP;
    END $$";

/// What the program itself asks, before and after an installation, looks where the server's own functions and operators are.
fn the_program_uses_nothing_of_others() -> Result<()> {
    let database = Database::create(server()?)?;
    let mut admin = database.connect()?;
    admin.batch_execute("CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO PUBLIC")?;
    admin.batch_execute(BETTER_FITTING)?;
    admin.batch_execute(&hostile("evil"))?;
    let key = rig::due(&mut admin, 20)?[0].to_string();
    let name = rig::texts(&mut admin, "SELECT current_database()")?.remove(0);
    admin.batch_execute(&format!(
        "ALTER DATABASE {name} SET search_path = evil, pg_catalog, public"
    ))?;
    // They are called where a session looks there.
    rig::refused(
        database
            .connect()?
            .batch_execute("SELECT nspname || '_owner' FROM pg_namespace"),
        "EV001",
    )?;
    let folder = tempfile::tempdir()?;
    let page = folder.path().join("page.html");
    let spec = "specs/dolphinscheduler.toml";
    for words in [
        "inspect --root t_ds_workflow_instance",
        "init --from SPEC",
        "check SPEC",
        "install SPEC --force",
        "arm SPEC",
        "diff SPEC",
        "verify SPEC",
        "plan SPEC",
        "preview SPEC",
        "report SPEC --out PAGE",
        "policy list SPEC",
        "hold set SPEC --reason test --key KEY",
        "hold list SPEC",
        "settings list SPEC",
        "run SPEC",
        "status SPEC",
        "history SPEC",
        "uninstall SPEC",
        "uninstall SPEC --yes",
    ] {
        let arguments = words.split(' ').map(|word| match word {
            "SPEC" => spec,
            "PAGE" => page.to_str().unwrap_or_default(),
            "KEY" => &key,
            word => word,
        });
        let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args(arguments)
            .env("WINDROW_URL", database.url())
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() != Some(2), "{words}: {said}");
        ensure!(!said.contains("evil"), "{words}: {said}");
    }
    let left = format!("SELECT count(*) FROM pg_namespace WHERE nspname LIKE '{W}%'");
    admin.batch_execute("RESET search_path")?;
    ensure!(rig::number(&mut admin, &left)? == 0);
    Ok(())
}

/// A database owner with CREATEROLE installs, runs and uninstalls, on every version.
fn a_database_owner_installs_without_a_superuser() -> Result<()> {
    for (major, bin_dir) in ends(sandbox::installed()) {
        if major >= 14 {
            by_owner(bin_dir).with_context(|| format!("on PostgreSQL {major}"))?;
        }
    }
    Ok(())
}

fn by_owner(bin_dir: std::path::PathBuf) -> Result<()> {
    let server = Postgres::start(&Settings {
        bin_dir: Some(bin_dir),
        ..Settings::default()
    })?;
    Client::connect(&server.url("postgres", "postgres"), NoTls)?
        .batch_execute("CREATE ROLE dora LOGIN CREATEROLE")?;
    Client::connect(&server.url("postgres", "postgres"), NoTls)?
        .batch_execute("CREATE DATABASE ds OWNER dora")?;
    let mut dora = Client::connect(&server.url("ds", "dora"), NoTls)?;
    rig::load(&mut dora, 120)?;
    let roles = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'windrow%'";
    let objects = "SELECT string_agg(c.relname || coalesce(c.relacl::text, ''), ' ' ORDER BY c.relname) FROM pg_class AS c WHERE c.relnamespace IN ('public'::regnamespace, 'before'::regnamespace) AND c.relkind IN ('r', 'i')";
    let before = rig::texts(&mut dora, objects)?;
    for _ in 0..2 {
        rig::install(&mut dora)?;
    }
    rig::set_policies(&mut dora)?;
    dora.batch_execute(&format!("CALL {W}.arm()"))?;
    let preview = rig::call(&mut dora, "preview", &json!({}))?;
    let (result, rule) = rig::run_rule(&mut dora, &json!({}))?;
    ensure!(
        result["status"] == "done"
            && rule["families"] == preview["rules"][0]["families"]
            && rule["families"].as_i64() > Some(50),
        "{result}"
    );
    rig::check_whole(&mut dora)?;
    let document = rig::call(&mut dora, "verify", &json!({}))?;
    ensure!(document["clean"] == true, "{document}");
    // She may hand the roles out.
    dora.batch_execute(&format!(
        "CREATE ROLE otto LOGIN; GRANT {W}_operator TO otto"
    ))?;
    let mut otto = Client::connect(&server.url("ds", "otto"), NoTls)?;
    ensure!(rig::run(&mut otto, &json!({}))?["status"] == "done");
    all_refused(&mut otto, FORBIDDEN)?;
    rig::uninstall(&mut dora)?;
    ensure!(rig::number(&mut dora, roles)? == 0);
    let after = rig::texts(&mut dora, objects)?
        .remove(0)
        .replace("{dora=arwdDxt/dora}", "")
        .replace("{dora=arwdDxtm/dora}", "");
    ensure!(after == before[0], "{after}");
    rig::uninstall(&mut dora)
}
