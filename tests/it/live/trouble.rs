//! Servers that refuse, vanish or are full, and calls that are interrupted.

use super::{Database, W, client, fill, finish, interrupt, roles, shared, spawn, wait, windrow};
use windrow::sandbox::{Postgres, Settings, installed};

use crate::harness::tests;

tests! {
    on_postgres: [
        who_may_not_is_told_what_it_takes,
        a_role_that_may_create_roles_installs_on_the_newest_server,
        a_standby_refuses_and_a_killed_server_loses_nothing,
        an_interrupt_ends_the_run_between_two_batches,
        half_an_installation_is_told_and_gone_over,
        a_full_disk_is_told_and_got_over,
    ],
}

const STAYS: &str = "what was committed is kept, and the next run continues where this one stopped";

fn who_may_not_is_told_what_it_takes() {
    let _roles = roles();
    let mut database = Database::bare();
    windrow(&shared().url("nowhere", "postgres"), "status SPEC").expect(
        2,
        &[
            "database \"nowhere\" does not exist (SQLSTATE 3D000)",
            "hint: check the last part of the address",
        ],
    );
    windrow(&database.url_as("nobody"), "status SPEC")
        .expect(2, &["role \"nobody\" does not exist"]);

    database.sql("CREATE ROLE reader LOGIN; CREATE ROLE maker LOGIN; GRANT CREATE ON DATABASE template1 TO reader");
    windrow(&database.url_as("reader"), "check SPEC").expect(
        1,
        &[
            "error[not-explained]: `public`: this role lacks the rights for 45 of the statements",
            "help: connect as the owner of the tables",
            "1 error, 5 notices",
        ],
    );
    windrow(&database.url_as("reader"), "install SPEC")
        .expect(2, &["the spec does not fit this database: 1 error"]);
    windrow(&database.url_as("reader"), "install SPEC --force").expect(
        2,
        &[
            "error: cannot install `10_control.sql`",
            "it was rolled back; no file was applied",
            "permission denied for database",
            "may create schemas in the database and roles (CREATEROLE)",
        ],
    );
    // Owner of everything, but roles are beyond it.
    let name = database.name.clone();
    database.sql(&format!(
        "ALTER DATABASE {name} OWNER TO maker; ALTER SCHEMA public OWNER TO maker;
         DO $$ DECLARE t text; BEGIN FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP EXECUTE format('ALTER TABLE %I OWNER TO maker', t); END LOOP; END $$"
    ));
    windrow(&database.url_as("maker"), "install SPEC").expect(
        2,
        &[
            "cannot install `10_control.sql`",
            "it was rolled back; no file was applied",
            "roles (CREATEROLE)",
        ],
    );
    database.sql("ALTER ROLE maker CREATEROLE");
    windrow(&database.url_as("maker"), "install SPEC").expect(0, &["is installed in"]);
    windrow(&database.url_as("reader"), "status SPEC").expect(
        2,
        &[
            "permission denied for schema windrow_dolphinscheduler (SQLSTATE 42501)",
            "auditor role (to read)",
        ],
    );
    database.sql(&format!("GRANT {W}_auditor TO reader"));
    windrow(&database.url_as("reader"), "status SPEC").expect(0, &["armed      no"]);
    windrow(&database.url_as("reader"), "preview SPEC").expect(0, &["0 families"]);
    windrow(&database.url_as("reader"), "run SPEC --no-estimate").expect(
        2,
        &[
            "permission denied for procedure run",
            "operator role (to run)",
        ],
    );
    windrow(&database.url_as("reader"), "arm SPEC")
        .expect(2, &["permission denied for procedure arm"]);

    database.sql(&format!(
        "CALL {W}.arm(); ALTER ROLE maker SET default_transaction_read_only = on"
    ));
    windrow(&database.url_as("maker"), "run SPEC --no-estimate").expect(
        2,
        &["(SQLSTATE 25006)", "unset `default_transaction_read_only`"],
    );
    windrow(&database.url_as("maker"), "install SPEC").expect(
        2,
        &[
            "the session is read-only",
            "without `default_transaction_read_only`",
        ],
    );
    windrow(&database.url_as("maker"), "preview SPEC").expect(0, &["0 families"]);
    database.sql("ALTER ROLE maker RESET ALL");
    windrow(&database.url_as("maker"), "uninstall SPEC --yes").expect(0, &["was removed from"]);
}

/// From version 16 on, who may create roles does not own them.
fn a_role_that_may_create_roles_installs_on_the_newest_server() {
    let Some((_, bin_dir)) = installed().pop() else {
        panic!("no server");
    };
    let server = Postgres::start(&Settings {
        bin_dir: Some(bin_dir),
        ..Settings::default()
    })
    .expect("a server starts");
    client(&server, "postgres")
        .batch_execute("CREATE ROLE maker LOGIN CREATEROLE")
        .expect("a role");
    client(&server, "postgres")
        .batch_execute("CREATE DATABASE own OWNER maker")
        .expect("a database");
    let url = server.url("own", "maker");
    let mut own = postgres::Client::connect(&url, postgres::NoTls).expect("the server accepts us");
    own.batch_execute(crate::support::systems::dolphinscheduler::SCHEMA_34)
        .expect("the schema loads");
    // An installation that breaks off leaves nobody a member of the owner role.
    let mut admin = client(&server, "own");
    admin
        .batch_execute(
            "CREATE FUNCTION public.stop() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN IF current_query() LIKE '%CONCURRENTLY%' THEN RAISE EXCEPTION 'stop'; END IF; END $$;
             CREATE EVENT TRIGGER stop ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION public.stop()",
        )
        .expect("an event trigger");
    let member = format!("SELECT pg_has_role('maker', '{W}_owner', 'USAGE')");
    let mut is_member = || -> bool { admin.query_one(&member, &[]).expect("a row").get(0) };
    // The second call goes on where the first one broke off, by the operator role, which has no right yet.
    for _ in 0..2 {
        windrow(&url, "install SPEC").expect(2, &["cannot install `20_indexes.sql`"]);
        assert!(!is_member());
    }
    client(&server, "own")
        .batch_execute("DROP EVENT TRIGGER stop; DROP FUNCTION public.stop()")
        .expect("it is gone");
    windrow(&url, "install SPEC")
        .expect(0, &["is installed in"])
        .without(&["membership"]);
    assert!(!is_member());
    // Nor does one that finds it so.
    own.batch_execute(&format!("GRANT {W}_owner TO maker"))
        .expect("a membership");
    for _ in 0..2 {
        windrow(&url, "install SPEC")
            .expect(0, &["is installed in"])
            .without(&["membership"]);
        assert!(!is_member());
    }
    windrow(&url, "arm SPEC").expect(0, &[]);
    windrow(&url, "run SPEC").expect(0, &["done, nothing left"]);
    windrow(&url, "verify SPEC").expect(0, &["clean\n"]);
    windrow(&url, "uninstall SPEC --yes")
        .expect(0, &["was removed from"])
        .without(&["is kept"]);
}

fn a_standby_refuses_and_a_killed_server_loses_nothing() {
    let mut primary = Postgres::start(&Settings::default()).expect("a server starts");
    fill(&primary);
    let mut database = Database::copy(&primary, "history");
    database.slow();

    let standby = primary.start_replica().expect("a standby starts");
    let there = standby.url(&database.name, "postgres");
    windrow(&there, "install SPEC").expect(
        2,
        &["error: the server is a standby", "connect to the primary"],
    );
    windrow(&there, "run SPEC --no-estimate").expect(
        2,
        &[
            "(SQLSTATE 25006)",
            "this is a standby or a read-only session: connect to the primary",
        ],
    );
    windrow(&there, "arm SPEC").expect(2, &["(SQLSTATE 25006)", "standby"]);
    windrow(&there, "preview SPEC").expect(0, &["would be deleted, in"]);
    windrow(&there, "check SPEC").expect(1, &["warning[trigger]"]);
    windrow(
        &format!("{there}&target_session_attrs=read-write"),
        "status SPEC",
    )
    .expect(2, &["cannot connect to"]);
    drop(standby);

    let before = database.number("SELECT count(*) FROM t_ds_workflow_instance");
    let child = spawn(&database.url, "run SPEC --no-estimate");
    database.wait_for_batches();
    primary.kill().expect("the server dies");
    finish(child).expect(2, &["error: ", STAYS]);
    windrow(&database.url, "status SPEC").expect(
        2,
        &[
            "cannot connect to",
            "Connection refused",
            "that the server is running",
        ],
    );
    primary.restart().expect("the server starts again");
    database.client = client(&primary, &database.name);
    let after = database.number("SELECT count(*) FROM t_ds_workflow_instance");
    assert!(after < before, "two batches were committed");
    database.sql("DROP TRIGGER slow ON t_ds_workflow_instance");
    database
        .windrow("run SPEC")
        .expect(0, &["done, nothing left"]);
    database.windrow("history SPEC").expect(
        0,
        &["crashed", "its session vanished; what it committed is kept"],
    );
    database.windrow("verify SPEC").expect(0, &["clean\n"]);
}

fn an_interrupt_ends_the_run_between_two_batches() {
    let mut database = Database::history();
    database.slow();
    let child = spawn(&database.url, "run SPEC --no-estimate --output json");
    database.wait_for_batches();
    database
        .windrow("run SPEC --no-estimate")
        .expect(1, &["refused: run 1 is in progress (pid "]);
    database
        .windrow("status SPEC")
        .expect(0, &["running  rule", "1        workflow_instances"]);
    interrupt(&child);
    let said = finish(child).expect(
        2,
        &[
            "error: interrupted while running `CALL windrow_dolphinscheduler.run('{}')`",
            "hint: what was committed is kept, nothing is half done",
        ],
    );
    // A program that reads the document gets the error, and no answer.
    let document: serde_json::Value = serde_json::from_str(&said.out).expect("a document");
    assert_eq!(
        document.as_object().map(serde_json::Map::len),
        Some(1),
        "{document}"
    );
    assert_eq!(
        document["error"]["message"],
        "interrupted while running `CALL windrow_dolphinscheduler.run('{}')`"
    );
    let run = format!(
        "SELECT format('%s, %s, %s', status, reason, finished_at IS NOT NULL) FROM {W}.run WHERE run_id = 1"
    );
    assert_eq!(database.text(&run), "cancelled, cancelled, t");
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    wait("the lock is gone", || database.number(locks) == 0);
    database.sql("DROP TRIGGER slow ON t_ds_workflow_instance");
    database
        .windrow("run SPEC")
        .expect(0, &["done, nothing left"]);
    database.windrow("verify SPEC").expect(0, &["clean\n"]);
    // The administrator ends the session instead.
    database.sql("DROP FUNCTION slow(); UPDATE t_ds_workflow_instance SET end_time = end_time - interval '20 days'");
    database.slow();
    let child = spawn(&database.url, "run SPEC --no-estimate");
    wait("a run", || {
        database.number(&format!(
            "SELECT count(*) FROM {W}.run WHERE status = 'running'"
        )) > 0
    });
    database.sql(&format!(
        "SELECT pg_terminate_backend(backend_pid) FROM {W}.run WHERE status = 'running'"
    ));
    // The server's last words (SQLSTATE 57P01), or the end of the connection, whichever is read first.
    finish(child).expect(
        2,
        &["what was committed is kept, and the next run continues"],
    );
}

fn half_an_installation_is_told_and_gone_over() {
    let _roles = roles();
    let mut database = Database::bare();
    // Something else has the name of one of our views, behind files that work.
    database.sql(&format!(
        "CREATE SCHEMA {W}; CREATE TABLE {W}.open_hours (name text)"
    ));
    database.windrow("install SPEC").expect(
        2,
        &[
            "error: cannot install `37_place.sql`\n  detail: it was rolled back; `10_control.sql`, `10_options.sql`, `11_rules.sql`, `11_spec.sql`, `12_settings.sql`, `20_indexes.sql`, `30_workflow_instances.sql`, `32_tables.sql`, `34_catalog.sql`, `35_guard.sql`, `35_pace.sql` are applied",
            "caused by: cannot create view windrow_dolphinscheduler.open_hours",
            "\"open_hours\" is not a view (SQLSTATE 42809)",
            "running `windrow install` again is safe",
        ],
    );
    assert_eq!(database.number(&format!("SELECT count(*) FROM pg_proc WHERE pronamespace = '{W}'::regnamespace AND proname IN ('run', 'verify')")), 0, "rolled back");
    database
        .windrow("run SPEC --no-estimate")
        .expect(2, &["run `windrow install` first"]);
    database.sql(&format!("DROP TABLE {W}.open_hours"));

    // A writer holds one installation up; a second one does not wait for it.
    database.sql("DROP INDEX windrow_t_ds_task_instance_workflow_instance_id");
    let mut writer = client(shared(), &database.name);
    let mut transaction = writer.transaction().expect("a transaction");
    transaction
        .batch_execute("LOCK TABLE t_ds_task_instance IN ROW EXCLUSIVE MODE")
        .expect("a lock");
    let first = spawn(&database.url, "install SPEC");
    wait("the first waits", || {
        database.number("SELECT count(*) FROM pg_index WHERE NOT indisvalid") > 0
    });
    database.windrow("install SPEC").expect(
        2,
        &[
            "error: another installation or uninstallation of `windrow_dolphinscheduler` is in progress",
            "detail: the installation lock is held by session ",
            "user `postgres`, application `windrow`",
            "wait for it to finish",
        ],
    );
    transaction.rollback().expect("the writer ends");
    finish(first).expect(0, &["is installed in"]);
    a_lock_for_nothing_is_told(&mut database);
    database.windrow("check SPEC").expect(0, &["no findings"]);

    // Interrupted while an index waits: what is left is built again.
    database.sql("DROP INDEX windrow_t_ds_task_instance_workflow_instance_id");
    let mut transaction = writer.transaction().expect("a transaction");
    transaction
        .batch_execute("LOCK TABLE t_ds_task_instance IN ROW EXCLUSIVE MODE")
        .expect("a lock");
    let child = spawn(&database.url, "install SPEC");
    wait("it waits", || {
        database.number("SELECT count(*) FROM pg_index WHERE NOT indisvalid") > 0
    });
    interrupt(&child);
    finish(child).expect(
        2,
        &[
            "cannot install `20_indexes.sql`",
            "its finished statements are kept; `10_control.sql`, `10_options.sql`, `11_rules.sql`, `11_spec.sql`, `12_settings.sql` are applied",
            "interrupted while running",
        ],
    );
    transaction.rollback().expect("the writer ends");
    database.windrow("check SPEC").expect(
        1,
        &[
            "error[invalid-index]",
            "`windrow install` drops it and builds it again",
        ],
    );
    database.windrow("install SPEC").expect(
        0,
        &["drop the invalid index public.windrow_t_ds_task_instance_workflow_instance_id"],
    );
    database.windrow("check SPEC").expect(0, &["no findings"]);
}

/// The lock is free for every login: who holds it for nothing is found by what is said of him.
fn a_lock_for_nothing_is_told(database: &mut Database) {
    database.sql("DROP ROLE IF EXISTS nick; CREATE ROLE nick LOGIN");
    let mut nick =
        postgres::Client::connect(&shared().url(&database.name, "nick"), postgres::NoTls)
            .expect("a session");
    nick.batch_execute(&format!(
        "SET application_name = 'mine'; SELECT pg_advisory_lock(hashtext('windrow install'), hashtext('{W}'))"
    ))
    .expect("a lock");
    let pid: i32 = nick
        .query_one("SELECT pg_backend_pid()", &[])
        .expect("a number")
        .get(0);
    database.windrow("install SPEC").expect(
        2,
        &[
            &format!("held by session {pid}, user `nick`, application `mine`"),
            "if that session does neither, end it",
        ],
    );
    database.sql(&format!("SELECT pg_terminate_backend({pid}, 10000)"));
    database.sql("DROP ROLE nick");
}

fn a_full_disk_is_told_and_got_over() {
    let _roles = roles();
    let mut database = Database::bare();
    database.sql(
        "CREATE FUNCTION public.full() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN IF current_query() LIKE '%CONCURRENTLY%' THEN RAISE EXCEPTION 'could not extend file \"base/1\": No space left on device' USING ERRCODE = '53100'; END IF; END $$;
         CREATE EVENT TRIGGER full_disk ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION public.full()",
    );
    database.windrow("install SPEC").expect(
        2,
        &[
            "cannot install `20_indexes.sql`",
            "`10_control.sql`, `10_options.sql`, `11_rules.sql`, `11_spec.sql`, `12_settings.sql` are applied",
            "No space left on device (SQLSTATE 53100)",
            "hint: the server's disk is full: free some space",
        ],
    );
    database.sql("DROP EVENT TRIGGER full_disk");
    database
        .windrow("install SPEC")
        .expect(0, &["is installed in"]);

    let mut history = Database::history();
    history.sql(&format!(
        "CALL {W}.arm();
         CREATE FUNCTION public.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file \"base/1\": No space left on device' USING ERRCODE = '53100'; END $$;
         CREATE TRIGGER full_disk AFTER DELETE ON t_ds_alert FOR EACH STATEMENT EXECUTE FUNCTION public.full()"
    ));
    history
        .windrow("run SPEC --no-estimate")
        .expect(1, &["failed, error 53100: could not extend file"]);
    history.sql("DROP TRIGGER full_disk ON t_ds_alert");
    history
        .windrow("run SPEC")
        .expect(0, &["done, nothing left"]);
}
