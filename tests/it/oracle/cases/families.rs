//! Which rows are one family, and that it goes as a whole or stays.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use super::{
    RUNNING, SUCCESS, database, insert, left, link, root, run, sub, while_blocked, with_policy,
};
use crate::harness::tests;
use crate::support::graphs::{foreign_key_within, within};
use crate::support::world::Row;

tests! {
    on_postgres: [
        an_instance_that_is_opened_again_meanwhile_stays,
    ],
    every_server: [
        a_family_that_another_session_holds_is_left_to_it,
        shared_members_keep_closed_families_together_and_literal_ones_apart,
        dynamic_children_belong_to_the_family,
        rows_that_name_each_other_go_with_a_cascade_between_them,
    ],
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
