//! The rules one by one, where a reader can follow them.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure::{self, Failure};
use windrow::graph::{Graph, Shared};

use super::now;
use crate::harness::tests;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, Session, call};
use crate::support::patience::until;
use crate::support::world::{DAY, Row};

mod control;
mod due;
mod families;
mod holds;
mod options;
mod outbox;
mod sessions;
mod settings;

tests! {
    within: [
        control::tests,
        due::tests,
        families::tests,
        holds::tests,
        options::tests,
        outbox::tests,
        sessions::tests,
        settings::tests,
    ],
}

const SUCCESS: i32 = 7;
const RUNNING: i32 = 1;

/// A database in which project 1 keeps its instances for 30 days.
fn database(dialect: Dialect, shared: Shared) -> Installation {
    with_policy(dialect, &dolphinscheduler(shared))
}

fn with_policy(dialect: Dialect, graph: &Graph) -> Installation {
    let mut database = Installation::armed(dialect, graph);
    database
        .set_policy(json!({"scope": "1", "retention": "30d"}))
        .expect("a policy");
    database
}

/// A root of project 1 that ended so many days ago.
fn root(id: i32, state: i32, days: i64) -> Row {
    instance(id, Some(state), Some(days), 0)
}

fn sub(id: i32, state: i32, days: i64) -> Row {
    instance(id, Some(state), Some(days), 1)
}

fn instance(id: i32, state: Option<i32>, days: Option<i64>, is_sub_workflow: i32) -> Row {
    Row::Instance {
        id,
        state,
        end_time: days.map(|days| now() - days * DAY),
        is_sub_workflow: Some(is_sub_workflow),
        project: Some(1),
    }
}

fn link(parent: i32, child: i32) -> Row {
    Row::Link {
        id: parent * 1_000 + child,
        parent: Some(parent),
        child: Some(child),
    }
}

fn insert(database: &mut Installation, rows: &[Row]) {
    for row in rows {
        database.execute(&row.insert());
    }
}

fn left(database: &mut Installation) -> Vec<String> {
    database.texts("SELECT i.id FROM t_ds_workflow_instance AS i ORDER BY i.id")
}

/// What a run skipped; it must have ended in good order.
fn run(database: &mut Installation, options: Value) -> Value {
    let result = database.run(options).expect("a run");
    assert_eq!(result["status"], "done", "{result}");
    result["rules"][0]["skipped"].clone()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(answer: anyhow::Result<T>, sqlstate: &str) {
    let error = answer.expect_err("this is refused");
    let text = format!("{error:#}");
    // A CHECK says in its name what is wrong; everything else brings a hint. MySQL and MariaDB have no code for it.
    if sqlstate == "23514" {
        assert!(text.contains("policy_workflow_instances"), "{text}");
        return;
    }
    assert_eq!(failure::sqlstate(&error), Some(sqlstate), "{text}");
    let hints = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<Failure>())
        .flat_map(Failure::hints);
    assert!(hints.count() > 0, "{error:?}");
}

/// A session that keeps every batch from looking at its families for good.
fn blocker(database: &Installation) -> Session {
    let mut session = database.connect();
    let lock = match database.dialect {
        Dialect::Postgres => {
            "BEGIN; LOCK TABLE t_ds_workflow_instance IN EXCLUSIVE MODE".to_owned()
        }
        Dialect::Mysql | Dialect::Mariadb => format!(
            "BEGIN; SELECT only_row FROM {}.latch FOR UPDATE",
            database.control
        ),
    };
    session.execute(&lock).expect("a lock");
    session
}

/// Starts a run in a session, waits until it waits for a lock, does something, and answers the run's result.
fn while_blocked(database: &mut Installation, mut session: Session, act: impl FnOnce()) -> Value {
    let (dialect, control) = (database.dialect, database.control.clone());
    let run = thread::spawn(move || call(&mut session, dialect, &control, "run", &json!({})));
    let waiting = match dialect {
        Dialect::Postgres => {
            "SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) WHERE NOT l.granted AND a.datname = current_database()"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "SELECT count(*) FROM information_schema.innodb_trx AS t JOIN information_schema.processlist AS p ON p.id = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND CONCAT(p.db, '.') = 'W.'"
        }
    };
    until("the run waits for a lock", || {
        // InnoDB makes its list anew once nobody has read it for a tenth of a second.
        thread::sleep(Duration::from_millis(150));
        Ok(database.number(waiting) > 0)
    })
    .expect("it waits");
    act();
    run.join().expect("no panic").expect("a run")
}
