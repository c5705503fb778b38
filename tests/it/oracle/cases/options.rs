//! The options of a run and of a purge: what they narrow, and what is refused.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use super::{RUNNING, SUCCESS, database, insert, instance, left, link, refused, root, run, sub};
use crate::harness::tests;
use crate::support::world::Row;

tests! {
    every_server: [
        options_narrow_a_run,
        a_limited_dry_run_looks_at_the_families_of_the_run,
        a_purge_takes_young_families_by_force_and_nothing_that_must_stay,
        a_key_beyond_its_column_is_refused_before_anything_happens,
        a_scope_has_one_spelling,
        unknown_options_are_errors,
    ],
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

fn a_purge_takes_young_families_by_force_and_nothing_that_must_stay(dialect: Dialect) {
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
    // They are of today, and 8 has no end.
    let keys = json!(["1", 2, 3, 4, 5, 8, 9, 77]);
    let result = database.purge(json!({"key": keys})).expect("a purge");
    let (young, dated) = ("RETENTION_NOT_REACHED", "UNDATED_MEMBER");
    assert_eq!(
        result["refused"],
        json!({
            "1": young, "2": "NOT_A_ROOT", "3": "NON_FINAL_MEMBER", "4": "HELD", "5": young, "8": dated, "9": "NON_FINAL_MEMBER",
            "77": "NOT_A_ROOT"
        })
    );
    assert_eq!(left(&mut database).len(), 10);
    let expected = json!({
        "2": "NOT_A_ROOT", "3": "NON_FINAL_MEMBER", "4": "HELD", "5": "SHARED_MEMBER", "9": "NON_FINAL_MEMBER", "77": "NOT_A_ROOT"
    });
    let dry = database
        .purge(json!({"key": keys, "force": true, "dry_run": true}))
        .expect("a dry purge");
    assert_eq!(dry["refused"], expected);
    assert_eq!(left(&mut database).len(), 10);
    let result = database
        .purge(json!({"key": keys, "force": true}))
        .expect("a purge");
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
    refused(
        database.purge(json!({"key": [1], "by_force": true})),
        "22023",
    );
    refused(database.purge(json!({"key": [1], "force": "yes"})), "22023");
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
