//! The rules one by one, where a reader can follow them.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::failure::{self, Failure};
use windrow::graph::{Graph, Shared};

use super::{figures, finished, now};
use crate::harness::tests;
use crate::support::effort::seeds;
use crate::support::graphs::{dolphinscheduler, foreign_key_within, within};
use crate::support::installation::{Installation, Session, call};
use crate::support::oracle;
use crate::support::patience::until;
use crate::support::world::{DAY, Row, World, timestamp};

const SUCCESS: i32 = 7;
const RUNNING: i32 = 1;

tests! {
    on_postgres: [
        an_instance_that_is_opened_again_meanwhile_stays,
    ],
    on_several: [
        a_session_that_commits_itself_runs,
    ],
    each_server: [
        a_hold_counts_from_the_moment_it_is_committed,
        a_file_that_a_row_names_is_told_before_it_goes,
    ],
    every_server: [
        the_settings_of_a_session_change_nothing,
        an_end_time_exactly_at_the_cutoff_stays,
        a_zone_less_end_time_is_read_in_the_zone_of_the_application,
        a_zone_that_the_server_does_not_know_is_an_error,
        nothing_undercuts_the_minimum_retention,
        a_held_family_stays_until_the_hold_ends,
        an_unknown_state_is_not_final,
        a_family_that_another_session_holds_is_left_to_it,
        shared_members_keep_closed_families_together_and_literal_ones_apart,
        dynamic_children_belong_to_the_family,
        rows_that_name_each_other_go_with_a_cascade_between_them,
        as_of_judges_as_if_it_were_then,
        options_narrow_a_run,
        a_limited_dry_run_looks_at_the_families_of_the_run,
        files_go_to_the_outbox_unless_the_project_of_their_instance_wants_to_keep_them,
        a_purge_takes_young_families_and_nothing_that_must_stay,
        a_key_beyond_its_column_is_refused_before_anything_happens,
        a_scope_has_one_spelling,
        unknown_options_are_errors,
        settings_stay_within_their_limits,
        every_change_of_a_setting_is_logged,
        a_pause_stops_a_run_between_two_batches,
        nothing_goes_before_someone_said_so,
        only_one_run_at_a_time,
        a_run_inside_a_transaction_is_refused,
    ],
}

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

fn an_end_time_exactly_at_the_cutoff_stays(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    let (before, after) = match dialect {
        Dialect::Postgres => ("2025-12-14 23:59:59.999999", "2025-12-15 00:00:00.000001"),
        Dialect::Mysql | Dialect::Mariadb => ("2025-12-14 23:59:59", "2025-12-15 00:00:01"),
    };
    for (id, end_time) in [(1, "2025-12-15 00:00:00"), (2, before), (3, after)] {
        insert(&mut database, &[root(id, SUCCESS, 90)]);
        database.execute(&format!(
            "UPDATE t_ds_workflow_instance SET end_time = '{end_time}' WHERE id = {id}"
        ));
    }
    run(&mut database, json!({"as_of": "2026-01-15T00:00:00Z"}));
    assert_eq!(left(&mut database), ["1", "3"]);
}

fn a_zone_less_end_time_is_read_in_the_zone_of_the_application(dialect: Dialect) {
    let mut graph = dolphinscheduler(Shared::Closed);
    graph.time_zone = "Europe/Berlin".to_owned();
    let mut database = with_policy(dialect, &graph);
    for (as_of, goes, stays) in [
        // 31 days before midnight UTC it was one o'clock in Berlin; in October, two.
        (
            "2026-01-15T00:00:00Z",
            "2025-12-15 00:59:59",
            "2025-12-15 01:00:00",
        ),
        (
            "2025-11-10T00:00:00Z",
            "2025-10-10 01:59:59",
            "2025-10-10 02:00:00",
        ),
    ] {
        insert(&mut database, &[root(1, SUCCESS, 0), root(2, SUCCESS, 0)]);
        for (id, end_time) in [(1, goes), (2, stays)] {
            database.execute(&format!(
                "UPDATE t_ds_workflow_instance SET end_time = '{end_time}' WHERE id = {id}"
            ));
        }
        run(&mut database, json!({"as_of": as_of}));
        assert_eq!(left(&mut database), ["2"], "{as_of}");
        database.execute("DELETE FROM t_ds_workflow_instance");
    }
}

/// MySQL and MariaDB know only the zones that were loaded into them.
fn a_zone_that_the_server_does_not_know_is_an_error(dialect: Dialect) {
    let mut graph = dolphinscheduler(Shared::Closed);
    graph.time_zone = "Pacific/Chatham".to_owned();
    let mut database = with_policy(dialect, &graph);
    insert(&mut database, &[root(1, SUCCESS, 90)]);
    if dialect == Dialect::Postgres {
        run(&mut database, json!({}));
        assert!(left(&mut database).is_empty());
        return;
    }
    for answer in [database.run(json!({})), database.preview(json!({}))] {
        let error = answer.expect_err("no cutoff without a zone");
        let text = format!("{error:#}");
        assert!(text.contains("Pacific/Chatham"), "{text}");
    }
    assert_eq!(left(&mut database), ["1"]);
}

fn nothing_undercuts_the_minimum_retention(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    insert(&mut database, &[root(1, SUCCESS, 9), root(2, SUCCESS, 7)]);
    let control = database.control.clone();
    let policy = |scope, seconds| {
        format!(
            "INSERT INTO {control}.policy (rule, scope, retention_seconds) VALUES ('workflow_instances', '{scope}', {seconds})"
        )
    };
    refused(database.attempt(&policy("2", 7 * 86_400 - 1)), "23514");
    let update = format!("UPDATE {control}.policy SET retention_seconds = 0");
    refused(database.attempt(&update), "23514");
    refused(
        database.set_policy(json!({"scope": "1", "retention": "6d"})),
        "22023",
    );
    refused(
        database.set_policy(json!({"scope": "2", "retention": "0d"})),
        "22023",
    );
    refused(database.run(json!({"retention": "6d"})), "22023");
    refused(database.preview(json!({"retention": "167h"})), "22023");
    assert_eq!(left(&mut database), ["1", "2"]);
    run(&mut database, json!({"retention": "7d"}));
    assert_eq!(left(&mut database), ["2"]);
}

fn a_held_family_stays_until_the_hold_ends(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    insert(
        &mut database,
        &[
            root(1, SUCCESS, 90),
            root(2, SUCCESS, 90),
            sub(3, SUCCESS, 90),
            link(2, 3),
            root(4, SUCCESS, 90),
        ],
    );
    for (key, until) in [
        (1, json!(null)),
        (3, json!("2999-01-01T00:00:00Z")),
        (4, json!("2999-01-01T00:00:00Z")),
    ] {
        let hold = database
            .set_hold(json!({"key": key, "reason": "audit", "until": until}))
            .expect("a hold");
        assert_eq!(hold["exists"], true);
    }
    database.execute("UPDATE W.hold SET until = '2020-01-01' WHERE \"key\" = '4'");
    assert_eq!(run(&mut database, json!({})), json!({"HELD": 2}));
    assert_eq!(left(&mut database), ["1", "2", "3"]);
    database
        .call("release_hold", json!({"key": "3"}))
        .expect("a release");
    assert_eq!(run(&mut database, json!({})), json!({"HELD": 1}));
    assert_eq!(left(&mut database), ["1"]);
}

/// None, and numbers that no version of the application has written: of a root, and of a member.
fn an_unknown_state_is_not_final(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    let unknown = [None, Some(-1), Some(0), Some(99), Some(127)];
    let mut stay = Vec::new();
    for (state, id) in unknown.into_iter().zip((10..).step_by(10)) {
        insert(
            &mut database,
            &[
                instance(id, state, Some(90), 0),
                root(id + 1, SUCCESS, 90),
                instance(id + 2, state, Some(90), 1),
                link(id + 1, id + 2),
            ],
        );
        stay.extend([id, id + 1, id + 2].map(|id| id.to_string()));
    }
    insert(&mut database, &[root(1, SUCCESS, 90)]);
    assert_eq!(
        run(&mut database, json!({})),
        json!({"NON_FINAL_MEMBER": unknown.len()})
    );
    assert_eq!(left(&mut database), stay);
}

fn an_instance_that_is_opened_again_meanwhile_stays() {
    let mut database = database(Dialect::Postgres, Shared::Closed);
    database
        .set_setting("lock_timeout", 60_000)
        .expect("a setting");
    insert(&mut database, &[root(1, SUCCESS, 90), root(2, SUCCESS, 90)]);
    let mut application = database.connect();
    // A batch locks its tables before it chooses, so that it waits here, and then sees what was committed.
    application
        .execute(
            "BEGIN; UPDATE t_ds_workflow_instance SET state = 1 WHERE id = 1; LOCK TABLE t_ds_workflow_instance IN EXCLUSIVE MODE",
        )
        .expect("a lock");
    let session = database.connect();
    let result = while_blocked(&mut database, session, move || {
        application.execute("COMMIT").expect("the end of the lock");
    });
    assert_eq!(result["rules"][0]["skipped"], json!({}));
    assert_eq!(left(&mut database), ["1"]);
}

fn a_family_that_another_session_holds_is_left_to_it(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    insert(
        &mut database,
        &[
            root(1, SUCCESS, 90),
            sub(2, SUCCESS, 90),
            link(1, 2),
            root(3, SUCCESS, 90),
        ],
    );
    let mut application = database.connect();
    application
        .execute("BEGIN; UPDATE t_ds_workflow_instance SET state = 1 WHERE id = 2")
        .expect("a row of its own");
    assert_eq!(run(&mut database, json!({})), json!({"LOCKED": 1}));
    application
        .execute("ROLLBACK")
        .expect("the end of the transaction");
    assert_eq!(left(&mut database), ["1", "2"]);
    assert_eq!(run(&mut database, json!({})), json!({}));
    assert!(left(&mut database).is_empty());
}

/// Holds are written while a batch waits, and the other way round, whatever isolation the session likes.
fn a_hold_counts_from_the_moment_it_is_committed(dialect: Dialect) {
    for isolation in ["read committed", "repeatable read", "serializable"] {
        let mut database = database(dialect, Shared::Closed);
        database
            .set_setting("lock_timeout", 60_000)
            .expect("a setting");
        insert(&mut database, &[root(1, SUCCESS, 90), root(2, SUCCESS, 90)]);
        let mut session = database.connect();
        let (likes, set_hold) = match dialect {
            Dialect::Postgres => ("SET default_transaction_isolation =", "SELECT"),
            Dialect::Mysql | Dialect::Mariadb => ("SET SESSION transaction_isolation =", "CALL"),
        };
        session
            .execute(&match dialect {
                Dialect::Postgres => format!("{likes} '{isolation}'"),
                Dialect::Mysql => format!("{likes} '{}'", isolation.replace(' ', "-")),
                Dialect::Mariadb => format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"),
            })
            .expect("a setting");
        let mut auditor = database.connect();
        auditor.execute("BEGIN").expect("a transaction");
        auditor
            .execute(&format!(
                "{set_hold} {}.set_hold('{{\"key\": 1, \"reason\": \"audit\"}}')",
                database.control
            ))
            .expect("a hold");
        let result = while_blocked(&mut database, session, move || {
            auditor.execute("COMMIT").expect("the hold is placed");
        });
        assert_eq!(
            result["rules"][0]["skipped"],
            json!({"HELD": 1}),
            "{isolation}"
        );
        assert_eq!(left(&mut database), ["1"], "{isolation}");
    }
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

fn shared_members_keep_closed_families_together_and_literal_ones_apart(dialect: Dialect) {
    let rows = [
        root(1, SUCCESS, 90),
        root(2, SUCCESS, 1),
        sub(3, SUCCESS, 90),
        link(1, 3),
        link(2, 3),
    ];
    let mut closed = database(dialect, Shared::Closed);
    insert(&mut closed, &rows);
    assert_eq!(run(&mut closed, json!({})), json!({"SHARED_MEMBER": 1}));
    assert_eq!(left(&mut closed), ["1", "2", "3"]);

    let mut literal = database(dialect, Shared::Literal);
    insert(&mut literal, &rows);
    assert_eq!(run(&mut literal, json!({})), json!({}));
    assert_eq!(left(&mut literal), ["2"]);
    assert_eq!(
        literal.number("SELECT count(*) FROM t_ds_relation_workflow_instance"),
        0
    );
}

fn dynamic_children_belong_to_the_family(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    for (id, parent, child) in [(1, 1, 2), (2, 3, 4)] {
        insert(&mut database, &[Row::DynamicLink { id, parent, child }]);
    }
    insert(
        &mut database,
        &[
            root(1, SUCCESS, 90),
            sub(2, SUCCESS, 90),
            root(3, SUCCESS, 90),
            sub(4, RUNNING, 90),
        ],
    );
    assert_eq!(
        run(&mut database, json!({})),
        json!({"NON_FINAL_MEMBER": 1})
    );
    assert_eq!(left(&mut database), ["3", "4"]);
    assert_eq!(
        database.number("SELECT count(*) FROM t_ds_relation_sub_workflow"),
        1
    );
}

fn rows_that_name_each_other_go_with_a_cascade_between_them(dialect: Dialect) {
    for on_delete in ["CASCADE", "NO ACTION"] {
        let mut database = with_policy(dialect, &within(Shared::Closed));
        for statement in foreign_key_within(on_delete) {
            database.execute(&statement);
        }
        let rows = [
            root(1, SUCCESS, 90),
            sub(2, SUCCESS, 90),
            sub(3, SUCCESS, 90),
            root(4, RUNNING, 90),
        ];
        insert(&mut database, &rows);
        for (id, above) in [(1, 3), (2, 1), (3, 2)] {
            database.execute(&format!(
                "UPDATE t_ds_workflow_instance SET next_workflow_instance_id = {above} WHERE id = {id}"
            ));
        }
        let result = database.run(json!({"dry_run": true})).expect("a dry run");
        if dialect != Dialect::Postgres && on_delete == "NO ACTION" {
            // These servers check each row for itself.
            assert_eq!(
                result["rules"][0]["skipped"],
                json!({"FAILED": 1}),
                "{result}"
            );
            continue;
        }
        assert_eq!(result["status"], "done", "{result}");
        let skipped = run(&mut database, json!({}));
        assert_eq!(skipped, json!({}), "{on_delete}");
        assert_eq!(left(&mut database), ["4"]);
    }
}

fn as_of_judges_as_if_it_were_then(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    insert(&mut database, &[root(1, SUCCESS, 90), root(2, SUCCESS, 40)]);
    let then = format!("{}Z", timestamp(now() - 50 * DAY));
    run(&mut database, json!({"as_of": then}));
    assert_eq!(left(&mut database), ["2"]);
    let future = format!("{}Z", timestamp(now() + DAY / 24));
    for as_of in [json!(future), json!("infinity"), json!("soon"), json!(null)] {
        refused(database.run(json!({"as_of": as_of})), "22023");
        refused(database.preview(json!({"as_of": as_of})), "22023");
    }
}

fn options_narrow_a_run(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    database
        .set_policy(json!({"scope": "2", "retention": "60d"}))
        .expect("a policy");
    let rows: Vec<Row> = (1..=6)
        .map(|id| root(id, SUCCESS, 100 - i64::from(id)))
        .collect();
    insert(&mut database, &rows);
    database.execute("UPDATE t_ds_workflow_instance SET project_code = 2 WHERE id <= 2");

    run(&mut database, json!({"scope": "2", "retention": "99d"}));
    assert_eq!(left(&mut database), ["1", "2", "3", "4", "5", "6"]);
    run(&mut database, json!({"scope": "2", "retention": "97d12h"}));
    assert_eq!(left(&mut database), ["2", "3", "4", "5", "6"]);
    let result = database
        .run(json!({"scope": "1", "run_families": 3}))
        .expect("a run");
    assert_eq!(result["status"], "stopped");
    assert_eq!(result["reason"], "run_families reached");
    assert_eq!(left(&mut database), ["2", "6"]);
    run(&mut database, json!({"scope": "9"}));
    run(&mut database, json!({}));
    assert!(left(&mut database).is_empty());
}

/// Families 1 and 3 share a member, and so do 4 and 6: what a dry run has counted is not there to be looked at again.
fn a_limited_dry_run_looks_at_the_families_of_the_run(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    database
        .set_setting("batch_families", 2)
        .expect("a setting");
    let mut rows: Vec<Row> = (1..=7)
        .map(|id| root(id, SUCCESS, 100 - i64::from(id)))
        .collect();
    rows.extend([sub(13, SUCCESS, 90), link(1, 13), link(3, 13)]);
    rows.extend([sub(46, SUCCESS, 90), link(4, 46), link(6, 46)]);
    insert(&mut database, &rows);
    let options = json!({"run_families": 5});
    let preview = database.preview(options.clone()).expect("a preview");
    let dry = database
        .run(json!({"run_families": 5, "dry_run": true}))
        .expect("a dry run");
    let run = database.run(options).expect("a run");
    assert_eq!(left(&mut database), ["7"]);
    assert_eq!(run["rules"][0]["families"], 6);
    assert_eq!(run["rules"][0]["tables"], dry["rules"][0]["tables"]);
    assert_eq!(run["rules"][0]["tables"], preview["rules"][0]["tables"]);
    assert_eq!(preview["limited"], Value::Null);
    assert_eq!(preview["rules"][0]["limited"], true);
}

fn files_go_to_the_outbox_unless_the_project_of_their_instance_wants_to_keep_them(
    dialect: Dialect,
) {
    let mut database = database(dialect, Shared::Closed);
    for (scope, enabled) in [("2", true), ("3", false)] {
        database
            .set_policy(json!({"scope": scope, "enabled": enabled, "artifacts": false}))
            .expect("a policy");
    }
    insert(
        &mut database,
        &[root(1, SUCCESS, 90), link(1, 2), link(1, 3), link(1, 4)],
    );
    for id in 1..=4 {
        let (host, path) = (Some("worker"), Some(format!("/logs/{id}")));
        let task = Row::Task {
            id,
            instance: Some(id),
            host,
            path,
        };
        insert(&mut database, &[task]);
        if id > 1 {
            insert(&mut database, &[sub(id, SUCCESS, 90)]);
            database.execute(&format!(
                "UPDATE t_ds_workflow_instance SET project_code = {id} WHERE id = {id}"
            ));
        }
    }
    run(&mut database, json!({"scope": "1"}));
    assert!(left(&mut database).is_empty());
    assert_eq!(
        database.texts("SELECT path FROM W.artifact ORDER BY path"),
        ["/logs/1", "/logs/4"]
    );
}

fn a_file_that_a_row_names_is_told_before_it_goes(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    for (id, path) in [(1, "/logs/1"), (2, "/logs/2"), (3, "/logs/\u{e4} b")] {
        database.execute(&format!(
            "INSERT INTO W.artifact (run_id, rule, host, path) VALUES ({id}, 'workflow_instances', 'worker', '{path}')"
        ));
    }
    for (id, path) in [(1, "/logs/1"), (2, "/logs/22"), (3, "/logs/\u{e4} b")] {
        let (host, path) = (Some("another"), Some(path.to_owned()));
        insert(
            &mut database,
            &[Row::Task {
                id,
                instance: Some(id),
                host,
                path,
            }],
        );
    }
    let numbers =
        database.texts("SELECT a.artifact_id FROM W.artifact AS a ORDER BY a.artifact_id");
    let call = match dialect {
        Dialect::Postgres => "SELECT artifact_id::text, named_by FROM W.named_artifacts",
        Dialect::Mysql | Dialect::Mariadb => "CALL W.named_artifacts",
    };
    let mut named = |numbers: &[String]| {
        let mut rows = database.rows(&format!("{call}('[{}]')", numbers.join(", ")));
        rows.sort();
        rows
    };
    let told = |number: &String| vec![Some(number.clone()), Some("t_ds_task_instance".to_owned())];
    assert_eq!(named(&numbers), [told(&numbers[0]), told(&numbers[2])]);
    assert!(named(&numbers[1..2]).is_empty() && named(&[]).is_empty());
}

fn a_purge_takes_young_families_and_nothing_that_must_stay(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    insert(
        &mut database,
        &[
            root(1, SUCCESS, 0),
            sub(2, SUCCESS, 0),
            link(1, 2),
            root(3, RUNNING, 0),
            root(4, SUCCESS, 0),
            root(5, SUCCESS, 0),
            root(6, SUCCESS, 0),
            sub(7, SUCCESS, 0),
            link(5, 7),
            link(6, 7),
            instance(8, Some(SUCCESS), None, 0),
            root(9, SUCCESS, 0),
            sub(10, RUNNING, 0),
            link(9, 10),
        ],
    );
    database
        .set_hold(json!({"key": "4", "reason": "audit"}))
        .expect("a hold");
    let keys = json!(["1", 2, 3, 4, 5, 8, 9, 77]);
    let expected = json!({
        "2": "NOT_A_ROOT", "3": "NON_FINAL_MEMBER", "4": "HELD", "5": "SHARED_MEMBER", "9": "NON_FINAL_MEMBER", "77": "NOT_A_ROOT"
    });
    let dry = database
        .purge(json!({"key": keys, "dry_run": true}))
        .expect("a dry purge");
    assert_eq!(dry["refused"], expected);
    assert_eq!(left(&mut database).len(), 10);
    let result = database.purge(json!({"key": keys})).expect("a purge");
    assert_eq!(result["refused"], expected);
    assert_eq!(result["rules"][0]["families"], 2);
    assert_eq!(result["rules"][0]["rows"], 4);
    assert_eq!(left(&mut database), ["3", "4", "5", "6", "7", "9", "10"]);

    for key in [
        json!([]),
        json!("1"),
        json!(["1; DROP"]),
        json!([null]),
        json!([1.5]),
    ] {
        refused(database.purge(json!({"key": key})), "22023");
    }
    assert_eq!(
        database.number("SELECT count(*) FROM W.run WHERE status = 'running'"),
        0
    );
}

fn a_key_beyond_its_column_is_refused_before_anything_happens(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    for key in [
        "2147483648",
        "-2147483649",
        "999999999999999999",
        "007",
        "-0",
    ] {
        refused(database.purge(json!({"key": [key]})), "22023");
        // Some spell the key of a row, which is not there.
        let spells = ["007", "-0"].contains(&key);
        refused(
            database.set_hold(json!({"key": key, "reason": "audit"})),
            if spells { "WD003" } else { "22023" },
        );
    }
    assert_eq!(database.number("SELECT count(*) FROM W.run"), 0);
}

/// Two policies for one project would be one too many: which retention holds?
fn a_scope_has_one_spelling(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    for scope in ["01", "-0", "00", "+1", " 1", "1\n"] {
        refused(
            database.set_policy(json!({"scope": scope, "retention": "7d"})),
            "22023",
        );
        let sql = format!(
            "INSERT INTO {}.policy (rule, scope, retention_seconds) VALUES ('workflow_instances', '{scope}', 31536000)",
            database.control
        );
        refused(database.attempt(&sql), "23514");
    }
    for scope in ["0", "-1", "999999999999999999"] {
        database
            .set_policy(json!({"scope": scope}))
            .expect("a policy");
    }
}

fn unknown_options_are_errors(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    insert(&mut database, &[root(1, SUCCESS, 90)]);
    refused(database.run(json!({"dryrun": true})), "22023");
    refused(database.run(json!({"dry_run": "yes"})), "22023");
    refused(database.run(json!({"rule": "none"})), "22023");
    refused(database.run(json!({"scope": "x"})), "22023");
    refused(database.run(json!({"retention": "soon"})), "22023");
    refused(database.run(json!({"run_families": 0})), "22023");
    refused(database.run(json!({"time_budget": "0s"})), "22023");
    refused(database.run(json!({"trigger": "PURGE"})), "22023");
    refused(database.run(json!([])), "22023");
    refused(database.preview(json!({"dry_run": true})), "22023");
    refused(database.purge(json!({"key": [1], "force": true})), "22023");
    refused(
        database.set_policy(json!({"scope": "1", "days": 30})),
        "22023",
    );
    refused(database.set_policy(json!({"retention": "30d"})), "22023");
    refused(
        database.set_hold(json!({"key": 1, "reason": "x", "forever": true})),
        "22023",
    );
    refused(database.set_hold(json!({"key": 1})), "22023");
    refused(database.call("drop_policy", json!({"scope": "9"})), "22023");
    refused(database.call("release_hold", json!({"key": 9})), "WD003");
    refused(database.call("verify", json!({"quick": true})), "22023");
    assert_eq!(left(&mut database), ["1"]);
}

fn settings_stay_within_their_limits(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    for (name, least, most) in [
        ("batch_families", 1, 5_000),
        ("run_families", 1, 999_999_999_999_999_999),
        ("run_rows", 0, 999_999_999_999_999_999),
        ("time_budget", 1, 86_400),
        ("lock_timeout", 1, 60_000),
        ("retries", 0, 100),
        ("ledger_days", 1, 36_500),
    ] {
        for value in [least, most] {
            let answer = database.set_setting(name, value).expect("a setting");
            assert_eq!(answer["value"], value);
        }
        if least > 0 {
            refused(database.set_setting(name, least - 1), "22023");
        }
        if most < 999_999_999 {
            refused(database.set_setting(name, most + 1), "22023");
        }
        let cleared = database
            .call("set_setting", json!({"name": name, "value": null}))
            .expect("the default again");
        assert_ne!(cleared["value"], most);
    }
    refused(database.set_setting("speed", 1), "22023");
    refused(database.set_setting("retries", -1), "22023");
    assert_eq!(database.number("SELECT count(*) FROM W.setting"), 0);

    // By hand, the database names the limits, too.
    for (name, value, says) in [
        (
            "batch_families",
            0,
            "batch_families takes 1 to 5000 families",
        ),
        ("speed", 1, "no such setting"),
    ] {
        let insert = format!(
            "INSERT INTO W.setting (rule, name, value) VALUES ('workflow_instances', '{name}', {value})"
        );
        crate::session::refused(database.attempt(&insert), &[says]);
    }
}

/// What a setting was and is, and whether it is known who has changed it: all is logged, also what is written by hand.
fn every_change_of_a_setting_is_logged(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    database.set_setting("retries", 4).expect("a setting");
    database.set_setting("retries", 4).expect("a setting");
    database.execute("INSERT INTO W.setting (rule, name, value) VALUES ('workflow_instances', 'time_budget', 900)");
    database.set_setting("retries", 5).expect("a setting");
    database.execute("UPDATE W.setting SET value = 6 WHERE name = 'retries'");
    database.execute("DELETE FROM W.setting WHERE name = 'time_budget'");
    run(&mut database, json!({}));
    let unknown = database.number("SELECT COUNT(*) FROM W.setting_log WHERE changed_by IS NULL");
    assert_eq!(unknown, if dialect == Dialect::Postgres { 0 } else { 3 });
    let log = |database: &mut Installation| {
        ["retries", "time_budget"].map(|name| {
            database.texts(&format!(
                "SELECT COALESCE(new_value, -1) FROM W.setting_log WHERE name = '{name}' ORDER BY log_id"
            ))
        })
    };
    let all = [vec!["4", "5", "6"], vec!["900", "-1"]];
    assert_eq!(log(&mut database), all);
    let broken = "SELECT COUNT(*) FROM W.setting_log AS l WHERE COALESCE(l.old_value, -1) <> COALESCE((SELECT p.new_value FROM W.setting_log AS p WHERE p.name = l.name AND p.log_id < l.log_id ORDER BY p.log_id DESC LIMIT 1), -1)";
    assert_eq!(database.number(broken), 0);
    let shown = "SELECT COUNT(*) FROM W.settings WHERE value = 6 AND spec_value = 3 AND unit = 'times' AND changed_by IS NOT NULL";
    assert_eq!(database.number(shown), 1);

    // The ledger forgets; who has set a setting last is not forgotten, and a run takes nothing for a change.
    database.execute("UPDATE W.setting_log SET changed_at = '2020-01-01 00:00:00'");
    for _ in 0..2 {
        run(&mut database, json!({}));
        assert_eq!(log(&mut database), [["6"], ["-1"]]);
    }
}

fn a_pause_stops_a_run_between_two_batches(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    database
        .set_setting("batch_families", 1)
        .expect("a setting");
    database
        .set_setting("lock_timeout", 60_000)
        .expect("a setting");
    insert(&mut database, &[root(1, SUCCESS, 91), root(2, SUCCESS, 90)]);
    let mut blocker = blocker(&database);
    let session = database.connect();
    let pause = format!("CALL {}.pause('month end')", database.control);
    let mut operator = database.connect();
    let result = while_blocked(&mut database, session, move || {
        operator.execute(&pause).expect("a pause");
        blocker.execute("COMMIT").expect("the end of the lock");
    });
    assert_eq!(result["status"], "stopped");
    assert_eq!(result["reason"], "paused");
    assert_eq!(left(&mut database), ["2"]);

    let answer = database.run(json!({})).expect("an answer");
    assert_eq!(answer["status"], "refused");
    let reason = answer["reason"].as_str().expect("a reason");
    assert!(
        reason.starts_with("paused by ") && reason.ends_with(": month end"),
        "{reason}"
    );
    refused(database.purge(json!({"key": [2]})), "55000");
    assert_eq!(left(&mut database), ["2"]);
    database.execute("CALL W.resume()");
    run(&mut database, json!({}));
    assert!(left(&mut database).is_empty());
}

fn nothing_goes_before_someone_said_so(dialect: Dialect) {
    let mut database = Installation::new(dialect, &dolphinscheduler(Shared::Closed));
    insert(&mut database, &[root(1, SUCCESS, 90)]);
    database.arm();
    run(&mut database, json!({}));
    assert_eq!(left(&mut database), ["1"], "no policy, nothing goes");
    database
        .set_policy(json!({"scope": "1", "enabled": false}))
        .expect("a policy");
    run(&mut database, json!({}));
    assert_eq!(left(&mut database), ["1"], "a policy that is not enabled");
    database
        .set_policy(json!({"scope": "1", "enabled": true}))
        .expect("a policy");

    database.execute("UPDATE W.control SET armed = false");
    refused(database.run(json!({})), "55000");
    refused(database.purge(json!({"key": [1]})), "55000");
    database.execute("UPDATE W.control SET armed = true, server_identity = 'elsewhere'");
    refused(database.run(json!({})), "55000");
    refused(database.purge(json!({"key": [1]})), "55000");
    let dry = database.run(json!({"dry_run": true})).expect("a dry run");
    assert_eq!(dry["rules"][0]["families"], 1);
    assert_eq!(left(&mut database), ["1"]);
    database.arm();
    run(&mut database, json!({}));
    assert!(left(&mut database).is_empty());
}

fn only_one_run_at_a_time(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    database
        .set_setting("lock_timeout", 60_000)
        .expect("a setting");
    insert(&mut database, &[root(1, SUCCESS, 90)]);
    let mut blocker = blocker(&database);
    let session = database.connect();
    let (mut rival, control) = (database.connect(), database.control.clone());
    let result = while_blocked(&mut database, session, move || {
        let answer = call(&mut rival, dialect, &control, "run", &json!({})).expect("an answer");
        assert_eq!(answer["status"], "refused");
        assert_eq!(answer["run"], json!(null));
        blocker.execute("COMMIT").expect("the end of the lock");
    });
    assert_eq!(result["status"], "done");
    assert!(
        database
            .run(json!({}))
            .is_ok_and(|next| next["status"] == "done")
    );
}

fn a_run_inside_a_transaction_is_refused(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    insert(&mut database, &[root(1, SUCCESS, 90)]);
    database.execute("BEGIN");
    let error = database.run(json!({})).expect_err("no run in here");
    let code = match dialect {
        Dialect::Postgres => "2D000",
        Dialect::Mysql | Dialect::Mariadb => "25001",
    };
    assert_eq!(failure::sqlstate(&error), Some(code), "{error:#}");
    database.execute("ROLLBACK");
    assert_eq!(left(&mut database), ["1"]);
    run(&mut database, json!({}));
    assert!(left(&mut database).is_empty());
}

/// As many clients open one: Python's, and whoever has SET autocommit = 0.
fn a_session_that_commits_itself_runs() {
    for dialect in [Dialect::Mysql, Dialect::Mariadb] {
        commits_itself(dialect);
    }
}

fn commits_itself(dialect: Dialect) {
    let mut database = database(dialect, Shared::Closed);
    insert(&mut database, &[root(1, SUCCESS, 90), root(2, SUCCESS, 90)]);
    let control = database.control.clone();
    let mut session = database.connect();
    session.execute("SET autocommit = 0").expect("a setting");
    for (routine, options) in [
        ("preview", json!({})),
        ("outlook", json!({})),
        ("verify", json!({})),
        ("run", json!({"dry_run": true})),
        ("purge", json!({"key": [2]})),
        ("run", json!({})),
    ] {
        let answer = call(&mut session, dialect, &control, routine, &options);
        answer.unwrap_or_else(|error| panic!("{routine}: {error:#}"));
        let rows = session.query("SELECT @@autocommit", &[]).expect("a row");
        assert_eq!(rows[0][0].as_deref(), Some("0"), "{routine}");
    }
    assert!(left(&mut database).is_empty());
    // What is open is the caller's to end.
    let hold = json!({"key": 1, "reason": "test", "even_if_absent": true});
    call(&mut session, dialect, &control, "set_hold", &hold).expect("a hold");
    let error = call(&mut session, dialect, &control, "run", &json!({}));
    let error = error.expect_err("a transaction is open");
    assert_eq!(failure::sqlstate(&error), Some("25001"), "{error:#}");
    session.execute("ROLLBACK").expect("an end");
    assert_eq!(database.number("SELECT COUNT(*) FROM W.hold"), 0);
    call(&mut session, dialect, &control, "run", &json!({})).expect("a run");
}

/// The settings of a session of PostgreSQL, each with a name for a message.
const SESSIONS: [(&str, &str); 13] = [
    ("dates as in German", "SET DateStyle = 'German, DMY'"),
    ("dates as in SQL", "SET DateStyle = 'SQL, DMY'"),
    ("another zone", "SET TimeZone = 'Asia/Tokyo'"),
    ("intervals", "SET IntervalStyle = 'sql_standard'"),
    ("backslashes", "SET standard_conforming_strings = off"),
    (
        "repeatable read",
        "SET default_transaction_isolation = 'repeatable read'",
    ),
    (
        "serializable",
        "SET default_transaction_isolation = 'serializable'",
    ),
    ("nothing on the path", "SET search_path = ''"),
    (
        "NULLs",
        "SET transform_null_equals = on; SET array_nulls = off",
    ),
    (
        "a path full of traps",
        "SET search_path = trap, pg_catalog, public",
    ),
    (
        "no triggers",
        "SET session_replication_role = replica; SET row_security = off; SET quote_all_identifiers = on",
    ),
    (
        "other ways of writing",
        "SET bytea_output = 'escape'; SET extra_float_digits = -15; SET timezone_abbreviations = 'Australia'; SET xmlbinary = hex;
         SET lc_messages = 'C'; SET lc_time = 'C'; SET default_text_search_config = 'simple'; SET check_function_bodies = off",
    ),
    (
        "ambiguous names",
        "SET plpgsql.variable_conflict = use_column; SET plpgsql.extra_errors = 'none'; SET constraint_exclusion = on;
         SET enable_indexscan = off; SET enable_nestloop = off; SET jit_above_cost = 0; SET cursor_tuple_fraction = 0;
         SET plan_cache_mode = force_custom_plan; SET synchronous_commit = off; SET client_min_messages = debug1",
    ),
];

/// Whatever an unqualified name could mean to a session that looks into this schema first, it does not mean it here.
const TRAPS: &str = "
CREATE SCHEMA trap;
CREATE TABLE trap.t_ds_workflow_instance (LIKE public.t_ds_workflow_instance);
CREATE TABLE trap.t_ds_task_instance (LIKE public.t_ds_task_instance);
CREATE TABLE trap.policy (rule text, scope text);
CREATE FUNCTION trap.sprung() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a trap sprang'; END $$;
DO $do$
DECLARE
    v_type text;
    v_operator text;
    v_function text;
BEGIN
    FOREACH v_type IN ARRAY ARRAY['text', 'integer', 'bigint', 'timestamp', 'timestamptz', 'boolean', 'jsonb', 'json'] LOOP
        FOREACH v_operator IN ARRAY ARRAY['=', '<>', '<', '>', '<=', '>='] LOOP
            EXECUTE format('CREATE FUNCTION trap.%I(%s, %s) RETURNS boolean LANGUAGE sql AS $f$ SELECT true FROM (SELECT trap.sprung()) AS s $f$', 'compare ' || v_operator, v_type, v_type);
            EXECUTE format('CREATE OPERATOR trap.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = trap.%I)', v_operator, v_type, v_type, 'compare ' || v_operator);
        END LOOP;
    END LOOP;
    FOREACH v_operator IN ARRAY ARRAY['->', '->>', '?'] LOOP
        EXECUTE format('CREATE FUNCTION trap.%I(jsonb, text) RETURNS text LANGUAGE sql AS $f$ SELECT ''x'' FROM (SELECT trap.sprung()) AS s $f$', 'get ' || v_operator);
        EXECUTE format('CREATE OPERATOR trap.%s (LEFTARG = jsonb, RIGHTARG = text, FUNCTION = trap.%I)', v_operator, 'get ' || v_operator);
    END LOOP;
    FOREACH v_function IN ARRAY ARRAY['clock_timestamp()', 'now()', 'array_append(anyarray, anyelement)', 'cardinality(anyarray)', 'jsonb_array_elements_text(jsonb)', 'json_build_object(VARIADIC \"any\")', 'format(text, VARIADIC \"any\")', 'pg_backend_pid()', 'set_config(text, text, boolean)'] LOOP
        BEGIN
            EXECUTE format('CREATE FUNCTION trap.%s RETURNS text LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION ''a trap sprang''; END $f$', v_function);
        EXCEPTION WHEN feature_not_supported OR invalid_function_definition THEN
            NULL;
        END;
    END LOOP;
END
$do$;
CREATE DOMAIN trap.json AS integer;
CREATE DOMAIN trap.jsonb AS integer;
CREATE DOMAIN trap.text AS integer;
";

/// The settings of a session of MySQL or MariaDB.
const MYSQL_SESSIONS: [(&str, &str); 14] = [
    ("another zone", "SET time_zone = '+09:00'"),
    ("ANSI", "SET sql_mode = 'ANSI'"),
    ("no mode", "SET sql_mode = ''"),
    (
        "backslashes",
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,PAD_CHAR_TO_FULL_LENGTH'",
    ),
    (
        "repeatable read",
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    ),
    (
        "serializable",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    ),
    ("other characters", "SET NAMES latin1"),
    (
        "short lists",
        "SET group_concat_max_len = 4, lc_time_names = 'de_DE', div_precision_increment = 0",
    ),
    (
        "timid",
        "SET sql_safe_updates = 1, sql_select_limit = 1, foreign_key_checks = 0",
    ),
    (
        "narrow",
        "SET max_sort_length = 8, max_error_count = 0, sql_big_selects = 0, max_join_size = 1000000, sql_auto_is_null = 1, insert_id = 9000,
         big_tables = 1, sql_buffer_result = 1, low_priority_updates = 1, default_week_format = 3, unique_checks = 0, sql_notes = 0",
    ),
    (
        "own transactions",
        "SET completion_type = 'CHAIN', innodb_lock_wait_timeout = 1, lock_wait_timeout = 1",
    ),
    (
        "of one server",
        "SET /*!80000 cte_max_recursion_depth = 1, windowing_use_high_precision = 0, internal_tmp_mem_storage_engine = 'MEMORY',
         default_collation_for_utf8mb4 = 'utf8mb4_general_ci', range_optimizer_max_mem_size = 1, */
         /*M! max_recursive_iterations = 1, max_statement_time = 60, check_constraint_checks = 0, old_mode = 'UTF8_IS_UTF8MB3',
         system_versioning_asof = '2001-01-01 00:00:00', */ eq_range_index_dive_limit = 1",
    ),
    (
        "other collations",
        "SET character_set_connection = latin1, collation_connection = latin1_german2_ci, character_set_results = latin1,
         character_set_client = utf8mb4, collation_database = utf8mb4_general_ci",
    ),
    (
        "forged",
        "SET @windrow_names = 'x', @windrow_state = 'x', @windrow_beside = 'x', @windrow_shapes = 'x', @windrow_rows = '[99]', @windrow_found = 99,
         @windrow_families = 99, @windrow_limit = 99, @windrow_run = 99, @windrow_way = 99, @windrow_key = 'x', @windrow_as_read = 'x',
         @windrow_default = 1, @windrow_above = 1, @windrow_retention = 1, @windrow_scope = 'x', @windrow_before = '2999-01-01',
         @windrow_without = 99, @windrow_call = 'SELECT 99', @windrow_text = 'SELECT 99', @windrow_said = 1, @windrow_artifacts = '[99]'",
    ),
];

fn the_settings_of_a_session_change_nothing(dialect: Dialect) {
    let mut failures = Vec::new();
    let sessions: &[(&str, &str)] = match dialect {
        Dialect::Postgres => &SESSIONS,
        Dialect::Mysql | Dialect::Mariadb => &MYSQL_SESSIONS,
    };
    for shared in [Shared::Closed, Shared::Literal] {
        let mut database = Installation::armed(dialect, &dolphinscheduler(shared));
        if dialect == Dialect::Postgres {
            database.execute(TRAPS);
        }
        for (name, settings) in sessions {
            let mut session = database.connect();
            session.execute(settings).expect("settings");
            for seed in seeds("worlds in odd sessions", dialect, 3) {
                let world = World::random(seed, shared, now(), database.tick());
                if let Err(difference) = odd_session(&mut database, &mut session, &world) {
                    failures.push(format!("{name}, seed {seed}: {difference}"));
                    break;
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn odd_session(
    database: &mut Installation,
    session: &mut Session,
    world: &World,
) -> Result<(), String> {
    database.load(world);
    let expected = oracle::run(world);
    let (dialect, control) = (database.dialect, database.control.clone());
    let options = Value::Object(world.options());
    let mut ask = |routine: &str, options: &Value| {
        call(session, dialect, &control, routine, options)
            .map_err(|error| format!("{routine}: {error:#}"))
    };

    let preview = ask("preview", &options)?;
    figures("preview", &preview["rules"][0], &expected, true)?;
    let mut after = database.contents();
    for (table, id) in &expected.deleted {
        after.remove(&((*table).to_owned(), *id));
    }
    let run = ask("run", &options)?;
    finished("run", &run, &expected)?;
    figures("run", &run["rules"][0], &expected, !expected.limited)?;
    super::same("rows", &after, &database.contents())?;
    for time in ["as_of", "started_at", "finished_at"] {
        let text = run[time].as_str().unwrap_or_default();
        if !(text.starts_with("20") && text.ends_with("+00:00")) {
            return Err(format!("{time} is not in UTC: {text}"));
        }
    }

    if world.rows.len() > 20 {
        // Purging goes its own way through the rules.
        database.load(world);
        let purge = ask("purge", &json!({"key": ["1000"]}))?;
        super::same("purge", &json!({"1000": "NOT_A_ROOT"}), &purge["refused"])?;
    }
    for (routine, options) in [
        ("set_policy", json!({"scope": "77", "retention": "P30D"})),
        ("drop_policy", json!({"scope": "77"})),
        (
            "set_hold",
            json!({"key": 77, "reason": "audit", "until": "2999-01-01T00:00:00Z", "even_if_absent": true}),
        ),
        ("release_hold", json!({"key": 77})),
        ("set_setting", json!({"name": "retries", "value": 2})),
    ] {
        let answer = ask(routine, &options)?;
        for time in ["changed_at", "placed_at", "until"] {
            if let Some(text) = answer[time].as_str()
                && !text.ends_with("+00:00")
            {
                return Err(format!("{routine}: {time} is not in UTC: {text}"));
            }
        }
    }
    Ok(())
}
