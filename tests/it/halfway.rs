//! An installation that broke off: what the new spec accounts for, the statements of the old one may not know. Nothing is deleted
//! before it is finished.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::database::is_numbered;
use crate::support::effort::one_of;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, dialect_of, home_of, violations};

tests! {
    each_server: [
        a_trigger_that_was_not_installed_is_missed,
        nothing_goes_before_an_installation_is_finished,
    ],
    every_server: [
        verify_tells_of_an_installation_that_broke_off,
        a_run_ends_where_an_installation_begins,
        a_purge_ends_where_an_installation_begins,
        nothing_is_forgotten_before_an_installation_is_finished,
    ],
    mysql_and_mariadb: [
        nothing_goes_before_the_triggers_are_there,
    ],
    mysql_or_mariadb: [
        a_run_goes_on_with_the_routines_of_another_installation,
    ],
}

/// A run has steps.
const SPEC: &str = r#"
name = "halfway"

[tables]
run  = { key = "id bigint" }
step = { parents = ["run_id -> run.id"] }

[rules.history]
strategy  = "end-time"
root      = "run"
final     = { state = 1 }
end_time  = "ended"
retention = { default = "30d" }
"#;

/// What a migration of the application adds, whose rows keep a run.
const NOTE: &str = "\n[tables.note]\nparents = [\"run_id -> run.id restrict\"]\n";

fn database(dialect: Dialect) -> Installation {
    database_of(dialect, &graph_of(SPEC))
}

fn database_of(dialect: Dialect, graph: &Graph) -> Installation {
    let time = match dialect {
        Dialect::Postgres => "timestamp",
        Dialect::Mysql | Dialect::Mariadb => "datetime(6)",
    };
    let schema = format!(
        "CREATE TABLE run (id bigint PRIMARY KEY, state integer, ended {time});
         CREATE TABLE step (id bigint PRIMARY KEY, run_id bigint);
         CREATE INDEX step_run ON step (run_id);
         INSERT INTO run VALUES (1, 1, '2020-01-01'), (2, 1, '2020-01-01');
         INSERT INTO step VALUES (10, 1), (20, 2)"
    );
    let mut database = Installation::of(dialect, &schema, graph);
    database.arm();
    database
}

/// The table of the migration, with a row for the first run.
const MIGRATION: &str = "CREATE TABLE note (id bigint PRIMARY KEY, run_id bigint, FOREIGN KEY (run_id) REFERENCES run (id) ON DELETE CASCADE);
    INSERT INTO note VALUES (100, 1)";

/// Applies the files of the new spec, or of the old one, as far as one of them, without that.
fn applied(database: &mut Installation, added: &str, stop: &str) {
    broken_off(database, &graph_of(&(SPEC.to_owned() + added)), stop);
}

/// Applies the files of a spec as far as one of them, without that.
pub(crate) fn broken_off(database: &mut Installation, graph: &Graph, stop: &str) {
    let bundle = database.bundle(graph);
    let home = home_of(&mut database.session);
    for file in &bundle.files {
        if file.path.contains(stop) {
            break;
        }
        if is_numbered(&file.path) && !file.path.contains("/90_") {
            for statement in &file.statements {
                let done = database.session.execute(&statement.sql);
                done.unwrap_or_else(|error| panic!("{}: {error:#}", statement.what));
            }
        }
    }
    // A session of an installation that broke off is gone.
    if database.dialect == Dialect::Postgres {
        database
            .execute("RESET ROLE; RESET search_path; RESET lock_timeout; RESET statement_timeout");
    }
    if let Some(home) = home {
        database.execute(&home);
    }
}

const SAID: &str = "an installation is not finished: it has not applied 30_history.sql";

const BEHIND: &str = "an installation is not finished: it has not applied 48_verify.sql";

fn nothing_goes_before_an_installation_is_finished(dialect: Dialect) {
    // Behind the last rule the new statements would meet the old judge.
    let stops = [
        ("/12_settings", SAID),
        ("/20_indexes", SAID),
        ("/30_history", SAID),
        ("/34_catalog", BEHIND),
        ("/40_run", BEHIND),
        ("/48_verify", BEHIND),
    ];
    for (stop, said) in one_of(2, stops) {
        let mut database = database(dialect);
        database.execute(MIGRATION);
        // The old spec does not know the key.
        let refused = database.run(json!({})).expect_err("a stranger").to_string();
        assert!(refused.contains("note"), "{refused}");
        applied(&mut database, NOTE, stop);
        for routine in ["run", "purge"] {
            let options = if routine == "run" {
                json!({})
            } else {
                json!({"key": [1]})
            };
            let refused = database.call(routine, options);
            let refused = format!("{:#}", refused.expect_err("an installation under way"));
            assert!(
                refused.contains(said) || stop == "/12_settings" && dialect != Dialect::Postgres,
                "{stop}: {refused}"
            );
        }
        let scheduled = database.run(json!({"trigger": "SCHEDULED"}));
        if stop != "/12_settings" {
            let scheduled = scheduled.expect("an answer");
            assert_eq!(scheduled["reason"], said, "{stop}: {scheduled}");
        }
        assert_eq!(database.number("SELECT COUNT(*) FROM run"), 2, "{stop}");
        assert_eq!(database.number("SELECT COUNT(*) FROM note"), 1, "{stop}");
        // The whole of it.
        applied(&mut database, NOTE, "/99");
        let run = database.run(json!({})).expect("a run");
        assert_eq!(run["rules"][0]["families"], 1, "{stop}: {run}");
        assert_eq!(database.texts("SELECT id FROM run"), ["1"], "{stop}");
        assert_eq!(database.number("SELECT COUNT(*) FROM note"), 1, "{stop}");
    }
}

/// The migration comes while a run rests, and the installation breaks off.
fn a_run_ends_where_an_installation_begins(dialect: Dialect) {
    let mut database = database(dialect);
    database
        .set_setting("batch_families", 1)
        .expect("a setting");
    let run = database.run_meanwhile(json!({}), |database| {
        let left = database.texts("SELECT id FROM run").concat();
        database.execute(&MIGRATION.replace("(100, 1)", &format!("(100, {left})")));
        applied(database, NOTE, "/20_indexes");
    });
    match run {
        Ok(run) => {
            let reason = run["reason"].as_str().unwrap_or_default();
            assert!(reason.contains(SAID), "{run}");
            assert_eq!(run["rules"][0]["families"], 1, "{run}");
        }
        // MariaDB reads all tables of the spec, and the rights on the new one come later.
        Err(error) => assert!(format!("{error:#}").contains("`note`"), "{error:#}"),
    }
    assert_eq!(database.number("SELECT COUNT(*) FROM run"), 1);
    assert_eq!(database.number("SELECT COUNT(*) FROM note"), 1);
}

/// The installation begins with the first key: what it forgets then is forgotten in the same transaction.
fn a_purge_ends_where_an_installation_begins(dialect: Dialect) {
    let mut database = database(dialect);
    let begins = "DELETE FROM W.known_routine WHERE file = '48_verify.sql'";
    database.execute(&match dialect {
        Dialect::Postgres => format!(
            "CREATE FUNCTION begins() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN {begins}; RETURN NULL; END $$;
             CREATE TRIGGER begins AFTER DELETE ON step FOR EACH ROW EXECUTE FUNCTION begins()"
        ),
        Dialect::Mysql | Dialect::Mariadb => {
            format!("CREATE TRIGGER begins AFTER DELETE ON step FOR EACH ROW {begins}")
        }
    });
    let purge = database.call("purge", json!({"key": [1, 2]}));
    let said = match &purge {
        Ok(purge) => purge.to_string(),
        Err(error) => format!("{error:#}"),
    };
    assert!(said.contains(BEHIND), "{said}");
    assert_eq!(database.texts("SELECT id FROM run"), ["2"], "{said}");
    assert_eq!(database.texts("SELECT id FROM step"), ["20"], "{said}");
    assert_eq!(
        database.texts("SELECT status FROM W.run"),
        ["failed"],
        "{said}"
    );
}

/// The run ends because an installation has begun: how long the ledger and the archive are kept is not said before the settings
/// have moved to the rules that have them then.
fn nothing_is_forgotten_before_an_installation_is_finished(dialect: Dialect) {
    let archiving = SPEC
        .replace("\"halfway\"", "\"halfway\"\narchive_days = 400")
        .replace("\"30d\" }", "\"30d\" }\narchive = true");
    let graph = graph_of(&archiving);
    let mut database = database_of(dialect, &graph);
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 2, "{run}");
    let columns = format!(
        "{}, dry_run, options, as_of, deadline, status, reason, backend_pid",
        dialect.ident("trigger")
    );
    database.execute(&format!(
        "INSERT INTO W.run ({columns}, finished_at) SELECT {columns}, '2020-01-01' FROM W.run;
           UPDATE W.archive_run SET windrow_archived_at = '2020-01-01';
           UPDATE W.archive_step SET windrow_archived_at = '2020-01-01';
           INSERT INTO run VALUES (3, 1, '2020-01-01'), (4, 1, '2020-01-01')"
    ));
    for value in [7, 8, 1] {
        let set = database.set_setting("batch_families", value);
        set.expect("a setting");
    }
    database.execute("UPDATE W.setting_log SET changed_at = '2020-01-01' WHERE new_value < 9");
    let old = |database: &mut Installation| {
        [
            "run WHERE finished_at < '2021-01-01'",
            "setting_log WHERE changed_at < '2021-01-01'",
            "archive_run WHERE windrow_archived_at < '2021-01-01'",
            "archive_step WHERE windrow_archived_at < '2021-01-01'",
        ]
        .map(|rows| database.number(&format!("SELECT COUNT(*) FROM W.{rows}")))
    };
    assert_eq!(old(&mut database), [1, 3, 2, 2]);
    let run = database.run_meanwhile(json!({}), |database| {
        broken_off(database, &graph, "/20_indexes");
    });
    let run = run.expect("a run");
    assert!(run["reason"].to_string().contains(SAID), "{run}");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    assert_eq!(old(&mut database), [1, 3, 2, 2], "{run}");
    // The next run does it.
    database.install(&graph);
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["archive_pruned"], 4, "{run}");
    assert_eq!(old(&mut database), [0, 1, 0, 0], "{run}");
}

/// Makes routines of windrow anew.
fn replaced(database: &mut Installation, routines: &[(&str, String)]) {
    let home = home_of(&mut database.session).expect("a database");
    let control = format!("USE {}", database.control);
    database.execute(&control);
    for (name, routine) in routines {
        database.execute(&format!("DROP PROCEDURE {name}"));
        let made = database.session.execute(routine);
        made.unwrap_or_else(|error| panic!("{name}: {error:#}"));
    }
    database.execute(&home);
}

/// Rows of one table, and the routines of a version that knew nothing of instants in parts: their work table is not there.
fn a_run_goes_on_with_the_routines_of_another_installation(dialect: Dialect) {
    let graph = graph_of(
        "name = \"halfway\"\n\n[tables]\nlog = { key = \"id integer\" }\n
[rules.history]\nstrategy = \"age\"\nroot = \"log\"\ntime = \"at\"\nretention = { default = \"30d\" }\n",
    );
    let schema = "CREATE TABLE log (id integer PRIMARY KEY, at datetime(6)); CREATE INDEX log_at ON log (at);
         INSERT INTO log VALUES (1, '2020-01-01'), (2, '2020-01-02'), (3, '2020-01-03');";
    let mut database = Installation::of(dialect, schema, &graph);
    database.arm();
    database.set_setting("batch_rows", 1).expect("a setting");
    let bundle = database.bundle(&graph);
    let made = |name: &str| {
        let mut statements = bundle.files.iter().flat_map(|file| &file.statements);
        let head = format!(" PROCEDURE {name}(");
        let found = statements.find(|it| it.sql.starts_with("CREATE") && it.sql.contains(&head));
        found.expect("a routine").sql.clone()
    };
    let open = made("timed_open");
    let (before, rest) = open
        .split_once("    CREATE TEMPORARY TABLE work_at (")
        .expect("its work table");
    let (_, behind) = rest
        .split_once("VALUES (1);")
        .expect("the end of its work table");
    let old = [
        ("timed_open", format!("{before}{behind}")),
        (
            "resume_part",
            "CREATE PROCEDURE resume_part(p_run bigint, p_rule varchar(64), p_from datetime(6), p_to datetime(6), OUT o_look integer, \
             OUT o_resumed boolean) BEGIN SET o_look = NULL, o_resumed = false; END"
                .to_owned(),
        ),
        (
            "note_part",
            "CREATE PROCEDURE note_part(p_run bigint, p_rule varchar(64)) BEGIN END".to_owned(),
        ),
    ];
    let new = [
        ("timed_open", open.clone()),
        ("resume_part", made("resume_part")),
        ("note_part", made("note_part")),
    ];
    replaced(&mut database, &old);
    let run = database.run_meanwhile(json!({}), |database| {
        // The run waits until all are there.
        let mut rival = database.connect();
        rival.execute("START TRANSACTION").expect("a transaction");
        let lock = format!("SELECT rule FROM {}.run_rule FOR UPDATE", database.control);
        rival.query(&lock, &[]).expect("a lock");
        replaced(database, &new);
    });
    let run = run.expect("a run");
    assert_eq!(run["reason"], "nothing left", "{run}");
    assert_eq!(run["rules"][0]["rows"], 3, "{run}");
}

fn verify_tells_of_an_installation_that_broke_off(dialect: Dialect) {
    let mut database = database(dialect);
    for (stop, said) in [
        ("/30_history", SAID),
        ("/34_catalog", BEHIND),
        ("/45_manage", BEHIND),
    ] {
        applied(&mut database, "", stop);
        let verify = database.call("verify", json!({})).expect("a verification");
        let found = violations(&verify);
        let told = found
            .iter()
            .any(|it| it["detail"].to_string().contains(said));
        assert!(told, "{stop}: {found:#?}");
    }
    applied(&mut database, "", "/99");
    let verify = database.call("verify", json!({})).expect("a verification");
    assert_eq!(violations(&verify).len(), 0, "{verify}");
}

/// Creating a trigger waits for the writers of its table, and may give up.
fn a_trigger_that_was_not_installed_is_missed(dialect: Dialect) {
    let mut database = database(dialect);
    let added = "orphan_guard = true\n";
    let triggers = |database: &mut Installation| {
        let verify = database.call("verify", json!({})).expect("a verification");
        let mut found: Vec<Value> = violations(&verify).into_iter().cloned().collect();
        found.retain(|it| it["check"] == "trigger");
        found
    };
    applied(&mut database, added, "/52_triggers");
    let found = triggers(&mut database);
    let detail = match dialect {
        Dialect::Postgres => "missing; run windrow install",
        Dialect::Mysql | Dialect::Mariadb => {
            "missing, or unseen by the owner role; run windrow install"
        }
    };
    let missing = |it: &Value| it["detail"] == detail;
    assert!(!found.is_empty() && found.iter().all(missing), "{found:#?}");
    applied(&mut database, added, "/99");
    assert!(triggers(&mut database).is_empty());
    // Those of the installation before are there; whether they are the right ones is not known.
    applied(&mut database, added, "/52_triggers");
    let found = triggers(&mut database);
    assert_eq!(found.is_empty(), dialect == Dialect::Postgres, "{found:#?}");
}

/// Wherever the file of the triggers ends: while there is none, the rows of the application come unguarded.
fn nothing_goes_before_the_triggers_are_there(flavour: Flavour) {
    let graph = graph_of(&(SPEC.to_owned() + "orphan_guard = true\n"));
    let mut database = database_of(dialect_of(flavour), &graph);
    let bundle = database.bundle(&graph);
    let mut files = bundle.files.iter();
    let file = files.find(|file| file.path.ends_with("/52_triggers.sql"));
    let statements = &file.expect("triggers").statements;
    let first = |part: &str| statements.iter().position(|it| it.sql.contains(part));
    let created = first("TRIGGER windrow_")
        .or_else(|| first(" TRIGGER `"))
        .expect("one");
    for stop in [0, created, statements.len() - 1] {
        broken_off(&mut database, &graph, "/52_triggers");
        let home = home_of(&mut database.session).expect("a database");
        for statement in &statements[..stop] {
            let done = database.session.execute(&statement.sql);
            done.unwrap_or_else(|error| panic!("{}: {error:#}", statement.what));
        }
        database.execute(&home);
        let said = "an installation is not finished: it has not applied 52_triggers.sql";
        let refused = database
            .run(json!({}))
            .expect_err("an installation under way");
        assert!(format!("{refused:#}").contains(said), "{stop}: {refused:#}");
        let scheduled = database.run(json!({"trigger": "SCHEDULED"}));
        assert_eq!(scheduled.expect("an answer")["reason"], said, "{stop}");
        let verify = database.call("verify", json!({})).expect("a verification");
        assert!(verify.to_string().contains(said), "{stop}: {verify}");
    }
    database.install(&graph);
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 2, "{run}");
}
