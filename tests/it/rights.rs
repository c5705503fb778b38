//! Who may do what, on every server: users that are operator, auditor or nobody, and what they cannot get round.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Shared;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::oracle::now;
use crate::support::effort::one_of;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, Session, call, dialect_of};
use crate::support::oracle;
use crate::support::world::{SECOND, World};

mod sessions;

tests! {
    each_server: [
        an_operator_operates_and_no_more,
        an_auditor_reads_and_nobody_does_nothing,
    ],
    every_server: [
        no_path_leads_under_the_minimum,
    ],
    mysql_and_mariadb: [
        who_may_see_the_members_of_a_cluster_may_still_after_an_installation,
    ],
    within: [
        sessions::tests,
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
    "schedule_check",
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
        "SELECT r.routine_name, COALESCE(p.parameters, 0)
         FROM information_schema.routines AS r
         LEFT JOIN (
             SELECT p.specific_name, COUNT(*) AS parameters FROM information_schema.parameters AS p
             WHERE p.specific_schema = '{control}' GROUP BY p.specific_name
         ) AS p ON p.specific_name = r.routine_name
         WHERE r.routine_schema = '{control}' ORDER BY 1"
    ));
    assert!(others.len() > 30, "{}", others.len());
    for row in one_of(4, others) {
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

/// The rights are granted by hand, for a cluster to be armed. They are none too many, and stay where others that are go.
fn who_may_see_the_members_of_a_cluster_may_still_after_an_installation(flavour: Flavour) {
    let graph = dolphinscheduler(Shared::Closed);
    let mut installation = Installation::armed(dialect_of(flavour), &graph);
    let members: &[&str] = match flavour {
        Flavour::Mysql => &[
            "performance_schema.replication_group_members",
            "performance_schema.session_connect_attrs",
        ],
        Flavour::Mariadb => {
            // Galera makes it.
            installation.execute(
                "CREATE TABLE IF NOT EXISTS mysql.wsrep_cluster_members (node_uuid char(36) PRIMARY KEY)",
            );
            &["mysql.wsrep_cluster_members"]
        }
    };
    let owner = installation.texts("SELECT owner FROM W.spec").concat();
    let held = format!(
        "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.table_privileges
         WHERE grantee LIKE '%{}%' AND table_schema IN ('mysql', 'performance_schema') AND table_name <> 'proc'
         ORDER BY 1",
        owner.trim_matches('`')
    );
    assert_eq!(installation.texts(&held), [""; 0]);
    for members in members {
        installation.execute(&format!("GRANT SELECT ON {members} TO {owner}"));
    }
    assert_eq!(installation.deviations(&graph), [""; 0]);
    installation.execute(&format!(
        "CREATE TABLE besides (id integer PRIMARY KEY); GRANT SELECT ON besides TO {owner}"
    ));
    let told = installation.deviations(&graph).concat();
    assert!(told.contains("besides"), "{told}");
    installation.install(&graph);
    assert_eq!(installation.deviations(&graph), [""; 0]);
    assert_eq!(installation.texts(&held), members);
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
