//! Who may do what, on every server: users that are operator, auditor or nobody, and what they cannot get round.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Shared;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::oracle::now;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, Session, call, dialect_of};
use crate::support::oracle;
use crate::support::patience::despite_cancels;
use crate::support::world::{SECOND, World};

tests! {
    on_postgres: [
        tables_of_a_session_are_not_taken_for_the_real_ones,
        every_call_drops_what_would_hide_a_table,
    ],
    each_server: [
        an_operator_operates_and_no_more,
        an_auditor_reads_and_nobody_does_nothing,
    ],
    every_server: [
        no_path_leads_under_the_minimum,
        what_a_session_has_set_changes_nothing,
    ],
    mysql_and_mariadb: [
        what_a_call_sets_in_a_session_is_given_back,
    ],
}

/// What auditors may read, with what answers rows written as a call.
const READS: &[&str] = &[
    "preview('{}')",
    "verify('{}')",
    "run_result(1)",
    "orphans()",
    "SELECT * FROM W.control",
    "SELECT * FROM W.policy",
    "SELECT * FROM W.hold",
    "SELECT * FROM W.setting",
    "SELECT * FROM W.settings",
    "SELECT * FROM W.setting_log",
    "SELECT * FROM W.run_window",
    "SELECT * FROM W.open_hours",
    "SELECT * FROM W.rule_pause",
    "SELECT * FROM W.refusal",
    "SELECT * FROM W.scheduling",
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

/// What operators may do besides.
const CHANGES: &[&str] = &[
    "arm()",
    "run('{}')",
    "run('{\"dry_run\": true}')",
    "purge('{\"key\": [1]}')",
    "pause('test')",
    "resume()",
    "pause_rule('{}')",
    "resume_rule('{}')",
    "set_policy('{\"scope\": \"42\", \"retention\": \"8d\"}')",
    "drop_policy('{\"scope\": \"42\"}')",
    "set_hold('{\"key\": 1, \"reason\": \"test\", \"even_if_absent\": true}')",
    "release_hold('{\"key\": 1}')",
    "set_setting('{\"name\": \"retries\", \"value\": 10}')",
    "set_windows('{\"windows\": \"always\"}')",
    "claim_artifacts(1)",
    "named_artifacts('[1]')",
    "finish_artifact(1, 'gone')",
];

/// What nobody but the owner role may do, whatever the way.
const FORBIDDEN: &[&str] = &[
    "SELECT count(*) FROM t_ds_workflow_instance",
    "SELECT id FROM t_ds_task_instance",
    "INSERT INTO t_ds_alert (id) VALUES (1)",
    "DELETE FROM t_ds_workflow_instance WHERE id = 1",
    "UPDATE t_ds_workflow_instance SET state = 7",
    "TRUNCATE TABLE t_ds_alert",
    "DELETE FROM W.run",
    "UPDATE W.run SET status = 'done'",
    "UPDATE W.control SET armed = true",
    "INSERT INTO W.policy (rule, scope, retention_seconds) VALUES ('workflow_instances', '1', 1)",
    "UPDATE W.policy SET retention_seconds = 1",
    "DELETE FROM W.hold",
    "INSERT INTO W.setting (rule, name, value) VALUES ('workflow_instances', 'batch_families', 1)",
    "DELETE FROM W.setting_log",
    "DELETE FROM W.run_window",
    "DELETE FROM W.rule_pause",
    "DELETE FROM W.refusal",
    "TRUNCATE TABLE W.artifact",
    "CREATE TABLE W.mine (id integer)",
    "DROP TABLE W.run_failure",
    "ALTER TABLE W.policy DROP CONSTRAINT policy_workflow_instances",
    "record_forced_install('{}')",
];

/// The same, as MySQL and MariaDB write it.
const FORBIDDEN_MYSQL: &[&str] = &[
    "DROP DATABASE W",
    "DROP PROCEDURE W.preview",
    "ALTER PROCEDURE W.preview SQL SECURITY INVOKER",
    "CREATE PROCEDURE W.mine() DO 0",
    "CREATE TEMPORARY TABLE W.policy (rule integer)",
    "CREATE VIEW W.mine AS SELECT 1",
    "CREATE EVENT W.mine ON SCHEDULE EVERY 1 DAY DO DELETE FROM W.run",
    "ALTER EVENT W.run DISABLE",
    "DROP EVENT W.run",
    "CREATE TRIGGER W.mine BEFORE INSERT ON W.run FOR EACH ROW SET @a = 1",
    "LOCK TABLES W.run WRITE",
    "GRANT SELECT ON W.run TO nobody_else",
    "SET GLOBAL event_scheduler = OFF",
    "SET ROLE W_owner",
];

/// The routines that some may call; all others are for routines only. PostgreSQL's have their own test.
const CALLABLE: &[&str] = &[
    "preview",
    "outlook",
    "verify",
    "run_result",
    "orphans",
    "in_window",
    "run",
    "purge",
    "pause",
    "pause_rule",
    "reap",
    "resume",
    "resume_rule",
    "arm",
    "arm_with",
    "set_policy",
    "drop_policy",
    "set_hold",
    "release_hold",
    "set_setting",
    "set_windows",
    "claim_artifacts",
    "named_artifacts",
    "finish_artifact",
];

/// What stands for a statement: itself, or a call as the server has it.
fn statement(installation: &Installation, text: &str) -> String {
    let name = text.split('(').next().unwrap_or_default();
    let text = if name.contains(' ') {
        text.to_owned()
    } else if installation.dialect != Dialect::Postgres
        || ["arm", "run", "purge", "pause", "resume"].contains(&name)
    {
        format!("CALL W.{text}")
    } else {
        format!("SELECT * FROM W.{text}")
    };
    let control = &installation.control;
    installation
        .named(&text)
        .replace("W_", &format!("{control}_"))
        .replace("DATABASE W", &format!("DATABASE {control}"))
}

fn all_work(installation: &Installation, session: &mut Session, texts: &[&str]) {
    for text in texts {
        let statement = statement(installation, text);
        if let Err(error) = session.execute(&statement) {
            panic!("{statement}: {error:#}");
        }
    }
}

fn all_refused(installation: &Installation, session: &mut Session, texts: &[&str]) {
    for text in texts {
        let statement = statement(installation, text);
        let Err(error) = session.execute(&statement) else {
            panic!("{statement}: nobody objects");
        };
        let error = format!("{error:#}");
        let expected: &[&str] = match installation.dialect {
            Dialect::Postgres => &["42501"],
            // Of a table, column, routine, database, server, role; and of a trigger while there is a binary log.
            Dialect::Mysql | Dialect::Mariadb => &[
                "error 1142",
                "error 1143",
                "error 1370",
                "error 1044",
                "error 1227",
                "error 1959",
                "error 3530",
                "error 1419",
            ],
        };
        assert!(
            expected.iter().any(|code| error.contains(code)),
            "{statement}: {error}"
        );
    }
}

/// A session of a new user: operator, auditor, or nobody.
pub(crate) fn user(installation: &mut Installation, role: Option<&str>) -> Session {
    let control = installation.control.clone();
    let name = format!("{}_{}", role.unwrap_or("nobody"), installation.name);
    let role = role.map(|role| format!("{control}_{role}"));
    if installation.dialect == Dialect::Postgres {
        let within = role.map_or(String::new(), |role| format!("IN ROLE {role}"));
        installation.execute(&format!("CREATE ROLE {name} LOGIN {within}"));
    } else {
        installation.execute(&format!("CREATE USER {name}@'127.0.0.1'"));
        if let Some(role) = role {
            installation.execute(&format!("GRANT {role} TO {name}@'127.0.0.1'"));
            let link = match installation.dialect {
                Dialect::Mariadb => "FOR",
                _ => "TO",
            };
            installation.execute(&format!(
                "SET DEFAULT ROLE {role} {link} {name}@'127.0.0.1'"
            ));
        }
    }
    // On MySQL and MariaDB nobody is let into a database without a right in it.
    let database = match installation.dialect {
        Dialect::Postgres => installation.name.clone(),
        Dialect::Mysql | Dialect::Mariadb => "information_schema".to_owned(),
    };
    installation.connect_to(&database, &name)
}

/// Tables of the application are not in the session's database.
fn qualified(installation: &Installation, texts: &[&str]) -> Vec<String> {
    texts
        .iter()
        .map(|text| match installation.dialect {
            Dialect::Postgres => (*text).to_owned(),
            _ => text.replace(" t_ds_", &format!(" {}.t_ds_", installation.name)),
        })
        .collect()
}

fn forbidden(installation: &mut Installation, session: &mut Session) {
    let texts = qualified(installation, FORBIDDEN);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    all_refused(installation, session, &texts);
    if installation.dialect == Dialect::Postgres {
        return;
    }
    all_refused(installation, session, FORBIDDEN_MYSQL);
    // MariaDB asks for no more than SELECT here.
    if installation.dialect == Dialect::Mysql {
        all_refused(installation, session, &["SELECT * FROM W.run FOR UPDATE"]);
    }
    let control = installation.control.clone();
    let others = installation.rows(&format!(
        "SELECT r.routine_name, (SELECT COUNT(*) FROM information_schema.parameters AS p WHERE p.specific_schema = r.routine_schema AND p.specific_name = r.routine_name)
         FROM information_schema.routines AS r WHERE r.routine_schema = '{control}' ORDER BY 1"
    ));
    assert!(others.len() > 30, "{}", others.len());
    for row in others {
        let name = row[0].clone().unwrap_or_default();
        if CALLABLE.contains(&name.as_str()) {
            continue;
        }
        let count: usize = row[1].as_deref().and_then(|n| n.parse().ok()).unwrap_or(0);
        let places = vec!["@a"; count].join(", ");
        all_refused(installation, session, &[&format!("{name}({places})")]);
    }
}

/// A world in which families go and stay.
pub(crate) fn fill(installation: &mut Installation) -> World {
    let world = (1..)
        .map(|seed| World::random(seed, Shared::Closed, now(), SECOND))
        .find(|world| {
            let outcome = oracle::run(world);
            !world.as_of_is_option
                && world.options().is_empty()
                && outcome.families > 2
                && !outcome.skipped.is_empty()
        })
        .expect("such a world");
    installation.load(&world);
    world
}

fn ask(installation: &Installation, session: &mut Session, routine: &str, options: Value) -> Value {
    call(
        session,
        installation.dialect,
        &installation.control,
        routine,
        &options,
    )
    .unwrap_or_else(|error| panic!("{routine}: {error:#}"))
}

/// The rows that a run leaves are those of the model, without the ones that it names.
fn check_gone(
    before: &std::collections::BTreeMap<(String, i32), String>,
    installation: &mut Installation,
    world: &World,
) {
    let deleted = oracle::run(world).deleted;
    let expected: Vec<_> = before
        .keys()
        .filter(|(table, id)| !deleted.iter().any(|gone| gone.0 == table && gone.1 == *id))
        .cloned()
        .collect();
    let found: Vec<_> = installation.contents().into_keys().collect();
    assert_eq!(found, expected);
}

fn an_operator_operates_and_no_more(dialect: Dialect) {
    let mut installation = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    let world = fill(&mut installation);
    let before = installation.contents();
    let mut olga = user(&mut installation, Some("operator"));
    forbidden(&mut installation, &mut olga);
    assert_eq!(installation.contents(), before);
    let preview = ask(&installation, &mut olga, "preview", json!({}));
    let result = ask(&installation, &mut olga, "run", json!({}));
    assert_eq!(result["status"], "done", "{result}");
    assert_eq!(
        result["rules"][0]["families"],
        preview["rules"][0]["families"]
    );
    check_gone(&before, &mut installation, &world);
    all_work(&installation, &mut olga, READS);
    all_work(&installation, &mut olga, CHANGES);
    let who = installation.texts("SELECT DISTINCT started_by FROM W.run");
    assert!(who.len() == 1 && who[0].starts_with("operator_"), "{who:?}");
    forbidden(&mut installation, &mut olga);
}

fn an_auditor_reads_and_nobody_does_nothing(dialect: Dialect) {
    let mut installation = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    fill(&mut installation);
    installation.run(json!({"dry_run": true})).expect("a run");
    let before = installation.contents();
    let mut anna = user(&mut installation, Some("auditor"));
    all_work(&installation, &mut anna, READS);
    let verify = ask(&installation, &mut anna, "verify", json!({}));
    let broken: Vec<&Value> = verify["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter(|check| {
            check["severity"] == "violation"
                || check["detail"]
                    .as_str()
                    .is_some_and(|detail| detail.contains("cannot be read"))
        })
        // No event runs on this server, and the world has orphans.
        .filter(|check| check["check"] != "schedule" && check["check"] != "orphans")
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
    all_refused(&installation, &mut anna, CHANGES);
    forbidden(&mut installation, &mut anna);
    let mut nick = user(&mut installation, None);
    all_refused(&installation, &mut nick, READS);
    all_refused(&installation, &mut nick, CHANGES);
    forbidden(&mut installation, &mut nick);
    assert_eq!(installation.contents(), before);
}

fn no_path_leads_under_the_minimum(dialect: Dialect) {
    let mut installation = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    fill(&mut installation);
    let before = installation.contents();
    let mut olga = user(&mut installation, Some("operator"));
    for (routine, options) in [
        ("set_policy", json!({"scope": "42", "retention": "6d"})),
        ("set_policy", json!({"scope": "42", "retention": "0s"})),
        ("set_policy", json!({"scope": "42", "retention": "-30d"})),
        (
            "set_policy",
            json!({"scope": "42", "retention": "999999999w"}),
        ),
        ("preview", json!({"retention": "6d23h"})),
        ("run", json!({"retention": "6d"})),
        ("run", json!({"retention": "1"})),
        ("run", json!({"as_of": "2999-01-01"})),
        ("run", json!({"as_of": "infinity"})),
        ("run", json!({"as_of": "tomorrow"})),
        ("purge", json!({"key": [99_999_999_999_i64]})),
    ] {
        let answer = call(&mut olga, dialect, &installation.control, routine, &options);
        let error = format!("{:#}", answer.expect_err(routine));
        assert!(error.contains("22023"), "{routine} {options}: {error}");
    }
    assert_eq!(installation.contents(), before);
    // The table says so to the superuser as well.
    for statement in [
        "INSERT INTO W.policy (rule, scope, retention_seconds) VALUES ('workflow_instances', '42', 604799)",
        "UPDATE W.policy SET retention_seconds = 1",
        "INSERT INTO W.setting (rule, name, value) VALUES ('workflow_instances', 'batch_families', 5001)",
    ] {
        let error = installation.attempt(statement).expect_err(statement);
        let error = format!("{error:#}");
        let codes = ["23514", "22023", "error 3819", "error 4025"];
        assert!(codes.iter().any(|code| error.contains(code)), "{error}");
    }
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
    @@innodb_lock_wait_timeout, @@lock_wait_timeout, @@max_seeks_for_key, @@time_zone, @@optimizer_switch, @@sql_mode";

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
    ];
    let mut set = SET.to_owned();
    if dialect == Dialect::Mariadb {
        settings.push("join_cache_level = 4");
        set += ", @@join_cache_level";
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
