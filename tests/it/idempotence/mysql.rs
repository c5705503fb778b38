//! The same on MySQL and MariaDB, where each CREATE and DROP commits.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;
use windrow::db::Row;
use windrow::demo::dolphinscheduler::mysql::SCHEMA_34;
use windrow::dialect::Dialect;
use windrow::graph::{Graph, Shared};

use super::is_numbered;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Session, bundle, call, connect, server};

/// What a caller may have set, all of it at once.
const ODD: &str = "SET autocommit = 0, sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT', time_zone = '+05:30', collation_connection = latin1_swedish_ci";

macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        $(mod $name {
            #[test] fn mysql() { super::$name(windrow::dialect::Dialect::Mysql); }
            #[test] fn mariadb() { super::$name(windrow::dialect::Dialect::Mariadb); }
        })*
    };
}
on_both!(
    installing_twice_changes_nothing,
    the_client_installs_what_windrow_installs,
    uninstalling_leaves_the_catalog_as_it_was,
    an_installation_that_broke_off_is_finished_by_the_next,
    what_was_changed_by_hand_is_seen_and_put_back,
);

/// A database with the application's tables.
struct Place {
    dialect: Dialect,
    graph: Graph,
    session: Session,
}

impl Place {
    fn new(dialect: Dialect, name: &str) -> Self {
        let mut session = connect(&server(dialect).url("", "root"));
        session
            .execute(&format!("CREATE DATABASE {name}; USE {name}"))
            .expect("a database is created");
        session.execute(SCHEMA_34).expect("the schema loads");
        Self {
            dialect,
            graph: Graph {
                name: name.to_owned(),
                database: name.to_owned(),
                ..dolphinscheduler(Shared::Closed)
            },
            session,
        }
    }

    /// Applies files as windrow does, in a new session that did something before.
    fn apply(&self, first: &str, wanted: fn(&str) -> bool) {
        let mut session = connect(&server(self.dialect).url(&self.graph.name, "root"));
        session.execute(first).expect("a session is prepared");
        for file in bundle(self.dialect, &self.graph).files {
            for statement in file.statements.iter().filter(|_| wanted(&file.path)) {
                if let Err(error) = session.execute(&statement.sql) {
                    panic!("{}, {}: {error:#}", file.path, statement.what);
                }
            }
        }
    }

    /// Applies files as a DBA would, who is another administrator than windrow's: he comes through the socket.
    fn apply_by_client(&self, first: &str, wanted: fn(&str) -> bool) {
        for file in bundle(self.dialect, &self.graph).files {
            if !wanted(&file.path) {
                continue;
            }
            let mut client = server(self.dialect)
                .client()
                .arg(format!("--init-command={first}"))
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the client starts");
            let mut input = client.stdin.take().expect("an input");
            input.write_all(file.text.as_bytes()).expect("it reads");
            drop(input);
            let answer = client.wait_with_output().expect("the client ends");
            assert!(
                answer.status.success(),
                "{}: {}",
                file.path,
                String::from_utf8_lossy(&answer.stderr)
            );
        }
    }

    /// Everything that an installation may touch, one line per fact, in a fixed order. MariaDB's client leaves out the
    /// comments of a body; the comment of a routine has a hash of the rest, which verify() compares.
    fn facts(&mut self, with_bodies: bool) -> Vec<String> {
        let name = &self.graph.name;
        let (body, event) = match with_bodies {
            true => ("routine_definition", "event_definition"),
            false => ("NULL", "NULL"),
        };
        let role = format!("LIKE '%windrow\\_{name}%'");
        let within = |column: &str| format!("{column} IN ('{name}', 'windrow_{name}')");
        let schema = within("table_schema");
        let selects = [
            format!(
                "'column', table_schema, table_name, ordinal_position, column_name, column_type, is_nullable, COALESCE(column_default, 'NULL'), COALESCE(collation_name, ''), extra, column_comment FROM information_schema.columns WHERE {schema}"
            ),
            format!(
                "'index', table_schema, table_name, index_name, seq_in_index, column_name, non_unique, index_type FROM information_schema.statistics WHERE {schema}"
            ),
            format!(
                "'table', table_schema, table_name, table_type, COALESCE(engine, ''), COALESCE(table_collation, ''), table_comment FROM information_schema.tables WHERE {schema}"
            ),
            format!(
                "'view', table_schema, table_name, view_definition, definer, security_type FROM information_schema.views WHERE {schema}"
            ),
            format!(
                "'constraint', table_schema, table_name, constraint_name, constraint_type FROM information_schema.table_constraints WHERE {schema}"
            ),
            format!(
                "'check', constraint_schema, constraint_name, check_clause FROM information_schema.check_constraints WHERE {}",
                within("constraint_schema")
            ),
            format!(
                "'trigger', trigger_schema, trigger_name, action_statement FROM information_schema.triggers WHERE {}",
                within("trigger_schema")
            ),
            format!(
                "'routine', routine_schema, routine_name, {body}, routine_comment, security_type, definer, sql_mode, character_set_client, collation_connection, database_collation FROM information_schema.routines WHERE {}",
                within("routine_schema")
            ),
            format!(
                "'parameter', specific_schema, specific_name, ordinal_position, parameter_mode, parameter_name, dtd_identifier, COALESCE(collation_name, '') FROM information_schema.parameters WHERE {}",
                within("specific_schema")
            ),
            format!(
                "'event', event_schema, event_name, {event}, event_comment, time_zone, sql_mode, status, on_completion, interval_value, interval_field, definer FROM information_schema.events WHERE {}",
                within("event_schema")
            ),
            format!(
                "'schema', schema_name, default_character_set_name, default_collation_name FROM information_schema.schemata WHERE {}",
                within("schema_name")
            ),
            format!("'user', user, host FROM mysql.user WHERE user {role}"),
            format!(
                "'may', grantee, table_schema, privilege_type FROM information_schema.schema_privileges WHERE grantee {role} OR {schema}"
            ),
            format!(
                "'may', grantee, table_schema, table_name, privilege_type FROM information_schema.table_privileges WHERE grantee {role} OR {schema}"
            ),
            format!(
                "'may', user, host, db, routine_name, proc_priv FROM mysql.procs_priv WHERE user {role} OR {}",
                within("db")
            ),
        ];
        let mut facts = Vec::new();
        for select in selects {
            let rows = self
                .session
                .query(
                    &format!(
                        "SELECT CONCAT_WS(' ', {}",
                        select.replacen(" FROM ", ") FROM ", 1)
                    ),
                    &[],
                )
                .unwrap_or_else(|error| panic!("{error:#}\n\n{select}"));
            facts.extend(rows.into_iter().flatten().flatten());
        }
        facts.sort();
        facts
    }

    /// The rows that people and runs write.
    fn rows(&mut self) -> Vec<Vec<Row>> {
        [
            "control",
            "policy",
            "hold",
            "setting",
            "run",
            "run_rule",
            "run_table",
            "latch",
        ]
        .iter()
        .map(|table| {
            let sql = format!(
                "SELECT * FROM windrow_{}.{table} ORDER BY 1, 2",
                self.graph.name
            );
            let sql = sql.replace("latch ORDER BY 1, 2", "latch");
            self.session.query(&sql, &[]).expect("a table of ours")
        })
        .collect()
    }

    fn call(&mut self, routine: &str, options: serde_json::Value) -> serde_json::Value {
        let control = format!("windrow_{}", self.graph.name);
        call(&mut self.session, self.dialect, &control, routine, &options)
            .unwrap_or_else(|error| panic!("{routine}: {error:#}"))
    }

    fn use_it(&mut self) {
        self.session
            .execute(&format!("CALL windrow_{}.arm()", self.graph.name))
            .expect("arm() works");
        self.call("set_policy", json!({"scope": "1", "retention": "45d"}));
        self.call("set_hold", json!({"key": 7, "reason": "audit"}));
        self.call("set_setting", json!({"name": "retries", "value": 5}));
        assert_eq!(self.call("run", json!({}))["status"], "done");
    }
}

fn installation(path: &str) -> bool {
    is_numbered(path) && !path.contains("/90_")
}

fn uninstallation(path: &str) -> bool {
    path.contains("/90_")
}

fn installing_twice_changes_nothing(dialect: Dialect) {
    let mut place = Place::new(dialect, "twice");
    place.apply("DO 0", installation);
    place.use_it();
    let (facts, rows) = (place.facts(true), place.rows());
    assert!(facts.len() > 400, "{}", facts.len());
    assert!(rows.iter().all(|table| !table.is_empty()), "{rows:?}");
    for first in ["DO 0", ODD] {
        place.apply(first, installation);
        super::assert_same(&facts, &place.facts(true));
        assert_eq!(rows, place.rows());
    }
}

fn the_client_installs_what_windrow_installs(dialect: Dialect) {
    let mut place = Place::new(dialect, "by_client");
    let bare = place.facts(true);
    place.apply("DO 0", installation);
    let facts = place.facts(false);
    place.apply("DO 0", uninstallation);
    super::assert_same(&bare, &place.facts(true));
    for first in ["DO 0", ODD] {
        place.apply_by_client(first, installation);
        super::assert_same(&facts, &place.facts(false));
        let answer = place.call("verify", json!({}));
        for check in answer["checks"].as_array().expect("checks") {
            assert!(
                check["check"] != "routine" || check["severity"] == "ok",
                "{check}"
            );
        }
        // The file of checks reads only.
        place.apply_by_client(first, |path| path.ends_with("/verify.sql"));
        super::assert_same(&facts, &place.facts(false));
    }
    // And on top of what the client installed.
    place.apply("DO 0", installation);
    super::assert_same(&facts, &place.facts(false));
}

fn uninstalling_leaves_the_catalog_as_it_was(dialect: Dialect) {
    let mut place = Place::new(dialect, "undone");
    let before = place.facts(true);
    assert!(before.len() > 100, "{}", before.len());
    place.apply("DO 0", installation);
    place.use_it();
    assert!(place.facts(true).len() > before.len() + 300);
    place.apply("DO 0", uninstallation);
    super::assert_same(&before, &place.facts(true));
    // Once more: nothing to undo is no error. And a second life.
    place.apply(ODD, uninstallation);
    super::assert_same(&before, &place.facts(true));
    place.apply(ODD, installation);
    place.use_it();
    place.apply_by_client(ODD, uninstallation);
    super::assert_same(&before, &place.facts(true));
}

/// Each CREATE commits: what was applied before an error stays, and the files are applied again from the first.
fn an_installation_that_broke_off_is_finished_by_the_next(dialect: Dialect) {
    let mut place = Place::new(dialect, "broken");
    place.apply("DO 0", installation);
    let facts = place.facts(true);
    let files = bundle(dialect, &place.graph).files;
    let statements: Vec<&str> = files
        .iter()
        .filter(|file| installation(&file.path))
        .flat_map(|file| &file.statements)
        .map(|statement| statement.sql.as_str())
        .collect();
    let count = statements.len();
    assert!(count > 100, "{count}");
    for end in [3, count / 8, count / 3, count / 2, count - 10, count - 1] {
        place.apply("DO 0", uninstallation);
        let mut session = connect(&server(dialect).url(&place.graph.name, "root"));
        for sql in &statements[..end] {
            session.execute(sql).expect("the first statements work");
        }
        drop(session);
        place.apply("DO 0", installation);
        super::assert_same(&facts, &place.facts(true));
        place.use_it();
    }
}

/// What verify() does not find as it should be, as `check object`.
fn violations(place: &mut Place) -> Vec<String> {
    let answer = place.call("verify", json!({}));
    let checks = answer["checks"].as_array().expect("checks");
    checks
        .iter()
        .filter(|check| check["severity"] == "violation" && check["object"] != "event_scheduler")
        .map(|check| {
            format!(
                "{} {}",
                check["check"].as_str().unwrap_or_default(),
                check["object"].as_str().unwrap_or_default()
            )
        })
        .collect()
}

fn what_was_changed_by_hand_is_seen_and_put_back(dialect: Dialect) {
    let mut place = Place::new(dialect, "by_hand");
    place.apply("DO 0", installation);
    place.use_it();
    let facts = place.facts(true);
    assert_eq!(violations(&mut place), [""; 0]);

    // A routine, edited: its comment still tells what it was.
    let file = bundle(dialect, &place.graph).files;
    let judge = file
        .iter()
        .flat_map(|file| &file.statements)
        .find(|statement| {
            statement
                .what
                .ends_with("create procedure windrow_by_hand.workflow_instances_judge")
        })
        .expect("the procedure");
    let edited = judge.sql.replace("NOT m.final", "m.final IS NULL");
    assert_ne!(edited, judge.sql);
    let mut session = connect(&server(dialect).url("by_hand", "root"));
    session
        .execute("SET NAMES utf8mb4 COLLATE utf8mb4_bin; DROP PROCEDURE windrow_by_hand.workflow_instances_judge")
        .expect("it goes");
    session.execute(&edited).expect("an edited one comes");
    session
        .execute(
            "DROP PROCEDURE windrow_by_hand.record_skips;
             DROP INDEX windrow_t_ds_command_workflow_instance_id ON t_ds_command;
             ALTER EVENT windrow_by_hand.run DO DO 1",
        )
        .expect("changes by hand");
    assert_eq!(
        violations(&mut place),
        [
            "routine record_skips",
            "routine workflow_instances_judge",
            "index windrow_t_ds_command_workflow_instance_id",
            "schedule by_hand",
        ]
    );
    session
        .execute("DROP EVENT windrow_by_hand.run")
        .expect("the event goes");
    let answer = place.call("verify", json!({}));
    let told = answer["checks"].as_array().expect("checks").iter();
    let event = "no event: nothing runs by itself";
    assert!(
        told.clone().any(|check| check["detail"] == event),
        "{answer}"
    );
    place.apply("DO 0", installation);
    assert_eq!(violations(&mut place), [""; 0]);
    super::assert_same(&facts, &place.facts(true));
}
