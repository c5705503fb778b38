//! Files that rows name: they go to the outbox with the rows.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use super::{SUCCESS, database, insert, left, link, root, run, sub};
use crate::harness::tests;
use crate::support::world::Row;

tests! {
    every_server: [
        files_go_to_the_outbox_unless_the_project_of_their_instance_wants_to_keep_them,
        a_file_that_a_row_names_is_told_before_it_goes,
    ],
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
