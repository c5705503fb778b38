//! Who lets runs begin and go on: nothing goes before somebody armed the rules, a pause ends a run, and one run goes at a time.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use super::{SUCCESS, blocker, database, insert, left, refused, root, run, while_blocked};
use crate::harness::tests;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, call};

tests! {
    every_server: [
        a_pause_stops_a_run_between_two_batches,
        nothing_goes_before_someone_said_so,
        only_one_run_at_a_time,
    ],
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
