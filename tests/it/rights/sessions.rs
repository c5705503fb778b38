//! What a session has set or made changes nothing of what a call does in it, and no call leaves anything there.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Shared;
use windrow::sandbox::mysql::Flavour;

use super::{CHANGES, READS, all_refused, all_work, ask, check_gone, fill, user};
use crate::harness::tests;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, Session, call, dialect_of};
use crate::support::patience::despite_cancels;

tests! {
    on_postgres: [
        tables_of_a_session_are_not_taken_for_the_real_ones,
        every_call_drops_what_would_hide_a_table,
    ],
    every_server: [
        what_a_session_has_set_changes_nothing,
    ],
    mysql_and_mariadb: [
        what_a_call_sets_in_a_session_is_given_back,
    ],
}

/// The clock, the checks and the manners of a session are the caller's to set; the rules are not.
fn what_a_session_has_set_changes_nothing(dialect: Dialect) {
    let mut installation = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    let world = fill(&mut installation);
    let before = installation.contents();
    let mut olga = user(&mut installation, Some("operator"));
    let settings: &[&str] = match dialect {
        Dialect::Postgres => &["SET TimeZone = 'Asia/Tokyo'", "SET datestyle = 'SQL, DMY'"],
        // A year later all families would be due.
        Dialect::Mysql | Dialect::Mariadb => &[
            "SET timestamp = UNIX_TIMESTAMP() + 31536000",
            "SET time_zone = '-12:00'",
            "SET sql_safe_updates = 1",
            "SET sql_select_limit = 1",
            "SET foreign_key_checks = 0",
            "SET unique_checks = 0",
            "SET sql_mode = 'PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,IGNORE_SPACE'",
        ],
    };
    for setting in settings {
        olga.execute(setting).expect(setting);
    }
    // MySQL 9.7 writes the names of what a role may call with the quotes of the session that looks first after a GRANT; with
    // this mode it then denies all of them, to every session with that role, until the next GRANT.
    if dialect == Dialect::Mariadb {
        olga.execute(
            "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES'), check_constraint_checks = 0",
        )
        .expect("a setting");
    }
    for (routine, options) in [
        (
            "set_setting",
            json!({"name": "batch_families", "value": 5001}),
        ),
        ("run", json!({"as_of": "2999-01-01"})),
    ] {
        let answer = call(&mut olga, dialect, &installation.control, routine, &options);
        let error = format!("{:#}", answer.expect_err(routine));
        assert!(error.contains("22023"), "{routine} {options}: {error}");
    }
    let changes = ["pause('test')", "resume()", "arm()"];
    all_work(&installation, &mut olga, &changes);
    let hold = json!({"key": 99, "reason": "test", "even_if_absent": true});
    ask(&installation, &mut olga, "set_hold", hold);
    let policy = json!({"scope": "42", "retention": "8d"});
    ask(&installation, &mut olga, "set_policy", policy);
    ask(
        &installation,
        &mut olga,
        "set_setting",
        json!({"name": "retries", "value": 1}),
    );
    ask(
        &installation,
        &mut olga,
        "set_setting",
        json!({"name": "retries", "value": null}),
    );
    let others = [
        "set_policy('{\"scope\": \"43\"}')",
        "drop_policy('{\"scope\": \"43\"}')",
        "set_hold('{\"key\": 98, \"reason\": \"test\", \"even_if_absent\": true}')",
        "release_hold('{\"key\": 98}')",
        "claim_artifacts(1)",
        "named_artifacts('[1]')",
        "finish_artifact(1, 'gone')",
        "finish_artifact(1, NULL)",
        "preview('{}')",
        "verify('{}')",
        "orphans()",
        "purge('{\"key\": [98]}')",
    ];
    all_work(&installation, &mut olga, &others);
    if dialect != Dialect::Postgres {
        olga.execute("COMMIT").expect("a commit");
        // What was done is not dated ahead.
        let ahead = installation.number(
            "SELECT COUNT(*) FROM W.control AS c, W.hold AS h, W.policy AS p
             WHERE GREATEST(c.armed_at, h.placed_at, p.changed_at) > UTC_TIMESTAMP(6)",
        );
        assert_eq!(ahead, 0);
        olga.execute("SET timestamp = UNIX_TIMESTAMP() + 31536000")
            .expect("a clock");
    }
    let result = ask(&installation, &mut olga, "run", json!({}));
    assert_eq!(result["status"], "done", "{result}");
    check_gone(&before, &mut installation, &world);
}

/// What the calls of a run set in the session of the caller.
const SET: &str = "SELECT @@autocommit, @@completion_type, @@foreign_key_checks, @@sql_safe_updates, @@sql_big_selects, @@group_concat_max_len,
    @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@max_seeks_for_key, @@time_zone, @@optimizer_switch,
    @@optimizer_search_depth, @@max_sort_length, @@max_error_count, @@sql_mode";

/// Whatever ends a call, but for KILL QUERY on MySQL, at which that runs no handler.
fn what_a_call_sets_in_a_session_is_given_back(flavour: Flavour) {
    let dialect = dialect_of(flavour);
    let mut installation = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    fill(&mut installation);
    let mut session = installation.connect();
    let mut settings = vec![
        "autocommit = 0",
        "completion_type = CHAIN",
        "foreign_key_checks = 0",
        "sql_safe_updates = 1",
        "sql_big_selects = 0",
        "group_concat_max_len = 2000",
        "innodb_lock_wait_timeout = 33",
        "lock_wait_timeout = 44",
        "max_seeks_for_key = 99",
        "time_zone = '+03:00'",
        "optimizer_switch = 'semijoin=off,derived_merge=off'",
        "optimizer_search_depth = 3",
        "max_sort_length = 100",
        "max_error_count = 0",
    ];
    let mut set = SET.to_owned();
    if dialect == Dialect::Mariadb {
        settings.extend(["join_cache_level = 4", "sql_if_exists = 1"]);
        set += ", @@join_cache_level, @@sql_if_exists";
    }
    for setting in settings {
        session
            .execute(&format!("SET SESSION {setting}"))
            .expect(setting);
    }
    let shown = |session: &mut Session| session.query(&set, &[]).expect("variables");
    let before = shown(&mut session);
    let calls = [
        ("run", json!({"run_families": 1}), true),
        ("run", json!({"dry_run": true}), true),
        ("run", json!({"unknown": 1}), false),
        ("purge", json!({"key": [1]}), true),
        ("purge", json!({"key": 1}), false),
        ("preview", json!({}), true),
        ("preview", json!({"unknown": 1}), false),
        ("verify", json!({}), true),
        (
            "set_hold",
            json!({"key": 99, "reason": "test", "even_if_absent": true}),
            true,
        ),
    ];
    let ask = |session: &mut Session, routine: &str, options: &Value| {
        // A transaction that a look at the variables began.
        session
            .execute("ROLLBACK AND NO CHAIN")
            .expect("no transaction");
        call(session, dialect, &installation.control, routine, options)
    };
    for (routine, options, works) in calls {
        let answer = ask(&mut session, routine, &options);
        assert_eq!(answer.is_ok(), works, "{routine} {options}: {answer:?}");
        assert_eq!(shown(&mut session), before, "{routine} {options}");
    }
    session
        .execute("ROLLBACK AND NO CHAIN")
        .expect("no transaction");
    installation.execute("CREATE TRIGGER asleep BEFORE DELETE ON t_ds_workflow_instance FOR EACH ROW SET @slept = SLEEP(30)");
    let cancel = session.cancel();
    let number = session.session().expect("a number");
    let control = installation.control.clone();
    let runner = thread::spawn(move || {
        let answer = call(&mut session, dialect, &control, "run", &json!({}));
        (session, answer)
    });
    installation.until_asleep("a run", &runner, number);
    while !runner.is_finished() {
        cancel().expect("a cancel");
        thread::sleep(Duration::from_millis(20));
    }
    let (mut session, answer) = runner.join().expect("no panic");
    assert!(answer.is_err(), "it survived");
    despite_cancels(|| session.execute("ROLLBACK AND NO CHAIN")).expect("it is over");
    let after = shown(&mut session);
    assert_eq!(after == before, dialect == Dialect::Mariadb, "{after:?}");
}

/// A temporary table hides the one of its name, also from a routine with other rights than the caller's.
/// On PostgreSQL the search path decides; see `roles`.
fn tables_of_a_session_are_not_taken_for_the_real_ones() {
    for dialect in [Dialect::Mysql, Dialect::Mariadb] {
        forge(dialect);
    }
}

fn forge(dialect: Dialect) {
    let mut installation = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    let world = fill(&mut installation);
    let before = installation.contents();
    let mut olga = user(&mut installation, Some("operator"));
    let (name, control) = (installation.name.clone(), installation.control.clone());
    // A call that ended with an error has left its work table, and that is hers to write.
    olga.execute(&format!(
        "CALL {control}.purge('{{\"key\": [99999999999]}}')"
    ))
    .expect_err("no such key");
    olga.query(&format!("SELECT COUNT(*) FROM {control}.work_key"), &[])
        .expect("the work table is there");
    all_refused(
        &installation,
        &mut olga,
        &[
            "ALTER TABLE W.work_key RENAME TO W.policy",
            "CREATE TEMPORARY TABLE W.policy AS SELECT * FROM W.work_key",
        ],
    );
    installation.execute(&format!("CREATE DATABASE {name}_scratch"));
    installation.execute(&format!(
        "GRANT CREATE TEMPORARY TABLES ON {name}_scratch.* TO operator_{name}@'127.0.0.1'"
    ));
    // Everything is due: no minimum, all ended long ago, nothing is held.
    let forged = [
        (
            "policy",
            "(rule varchar(64), scope varchar(255), enabled boolean, retention_seconds bigint, artifacts boolean)",
        ),
        (
            "hold",
            "(rule varchar(64), `key` varchar(255), reason text, until datetime(6))",
        ),
        (
            "t_ds_workflow_instance",
            "(id int PRIMARY KEY, state int, end_time datetime, is_sub_workflow int, project_code bigint)",
        ),
    ];
    for (table, columns) in forged {
        let home = if table.starts_with("t_ds") {
            &name
        } else {
            &control
        };
        olga.execute(&format!(
            "CREATE TEMPORARY TABLE {name}_scratch.{table} {columns}"
        ))
        .expect("a temporary table");
        let renamed = olga.execute(&format!(
            "RENAME TABLE {name}_scratch.{table} TO {home}.{table}"
        ));
        // MySQL asks for rights on both names.
        assert_eq!(renamed.is_ok(), dialect == Dialect::Mariadb, "{table}");
    }
    if dialect == Dialect::Mariadb {
        for scope in ["1", "2", "-3", "14389543210432777"] {
            olga.execute(&format!(
                "INSERT INTO {control}.policy VALUES ('workflow_instances', '{scope}', true, 1, false)"
            ))
            .expect("her own table");
        }
        let ids = (1..60).map(|id| format!("({id}, 7, '2020-01-01', 0, 1)"));
        let ids = ids.collect::<Vec<_>>().join(", ");
        olga.execute(&format!(
            "INSERT INTO {name}.t_ds_workflow_instance VALUES {ids}"
        ))
        .expect("her own table");
    }
    let result = ask(&installation, &mut olga, "run", json!({}));
    assert_eq!(result["status"], "done", "{result}");
    check_gone(&before, &mut installation, &world);
    installation.execute(&format!("DROP DATABASE {name}_scratch"));
}

/// Who may create temporary tables there could hide any table from a routine, with a word that suits him: every call drops
/// them first, work tables of other columns among them.
fn every_call_drops_what_would_hide_a_table() {
    for dialect in [Dialect::Mysql, Dialect::Mariadb] {
        hide(dialect);
    }
}

fn hide(dialect: Dialect) {
    let mut installation = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    let world = fill(&mut installation);
    let before = installation.contents();
    installation.execute("UPDATE W.control SET armed = false");
    let mut olga = user(&mut installation, Some("operator"));
    let (name, control) = (installation.name.clone(), installation.control.clone());
    let refused = |installation: &Installation, olga: &mut Session, round: &str| {
        for routine in ["run", "purge"] {
            let options = json!({"key": [1]});
            let options = if routine == "run" { json!({}) } else { options };
            let answer = call(olga, dialect, &installation.control, routine, &options);
            let error = format!("{:#}", answer.expect_err("nobody armed it"));
            assert!(error.contains("not armed"), "{round}: {error}");
        }
    };
    refused(&installation, &mut olga, "no shadow");
    for database in [&name, &control] {
        installation.execute(&format!(
            "GRANT CREATE TEMPORARY TABLES ON {database}.* TO operator_{name}@'127.0.0.1'"
        ));
    }
    let mut olga = installation.connect_to("information_schema", &format!("operator_{name}"));
    // Armed, as far as she is concerned.
    let forge = format!(
        "CREATE TEMPORARY TABLE {control}.control AS SELECT c.*, true AS shadow FROM {control}.control AS c"
    );
    olga.execute(&forge).expect("a table of her own");
    olga.execute(&format!("UPDATE {control}.control SET armed = true"))
        .expect("a row of her own");
    refused(&installation, &mut olga, "a shadow of control");
    assert_eq!(installation.contents(), before);

    let views_too = format!(
        "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables
         WHERE table_schema = '{control}' OR table_schema = '{name}' AND table_name IN ('{}')",
        crate::support::world::TABLES.join("', '")
    );
    let tables = installation.texts(&views_too);
    assert!(tables.len() > 30, "{tables:?}");
    let work = installation.texts(&format!(
        "SELECT routine_definition FROM information_schema.routines WHERE routine_schema = '{control}'"
    ));
    let work: std::collections::BTreeSet<String> = work
        .iter()
        .flat_map(|body| body.split("CREATE TEMPORARY TABLE ").skip(1))
        .filter_map(|rest| rest.split_whitespace().next())
        .map(|name| name.replace('`', ""))
        .map(|name| match name.contains('.') {
            true => name,
            // The kernel's own names are those of its database.
            false => format!("{control}.{name}"),
        })
        .collect();
    assert!(work.len() > 10, "{work:?}");
    installation.execute("UPDATE W.control SET armed = true");
    let others = [
        "in_window(UTC_TIMESTAMP(6), @open)",
        "reap()",
        "outlook('{}')",
    ];
    let calls = READS.iter().chain(CHANGES).chain(&others);
    for text in calls.filter(|text| !text.starts_with("SELECT") && **text != "run('{}')") {
        for table in tables.iter().chain(&work) {
            olga.execute(&format!("DROP TEMPORARY TABLE IF EXISTS {table}"))
                .expect("hers");
            olga.execute(&format!("CREATE TEMPORARY TABLE {table} (shadow int)"))
                .unwrap_or_else(|error| panic!("{table}: {error:#}"));
        }
        all_work(&installation, &mut olga, &[text]);
        for table in &tables {
            let answer = olga.execute(&format!("SELECT COUNT(shadow) FROM {table}"));
            assert!(answer.is_err(), "{text}: {table} is hidden");
        }
    }
    // What the calls wrote is in the real tables, and a run decides by them.
    let written = installation.texts("SELECT name FROM W.setting WHERE name = 'retries'");
    assert_eq!(written, ["retries"]);
    installation.load(&world);
    let result = ask(&installation, &mut olga, "run", json!({}));
    assert_eq!(result["status"], "done", "{result}");
    check_gone(&before, &mut installation, &world);
}
