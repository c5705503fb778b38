//! When a family is due: its end, its state, and the retention that counts.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use super::{SUCCESS, database, insert, instance, left, link, refused, root, run, with_policy};
use crate::harness::tests;
use crate::oracle::now;
use crate::support::graphs::dolphinscheduler;
use crate::support::world::{DAY, timestamp};

tests! {
    every_server: [
        an_end_time_exactly_at_the_cutoff_stays,
        a_zone_less_end_time_is_read_in_the_zone_of_the_application,
        a_zone_that_the_server_does_not_know_is_an_error,
        nothing_undercuts_the_minimum_retention,
        an_unknown_state_is_not_final,
        as_of_judges_as_if_it_were_then,
    ],
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
