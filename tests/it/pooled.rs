//! What one test leaves to the next on MySQL and MariaDB: a database as it was in the beginning, or none.

use serde_json::json;
use windrow::graph::{Graph, Shared};
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::effort;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, dialect_of};

tests! {
    mysql_and_mariadb: [
        rows_are_as_in_the_beginning,
        what_was_changed_is_left_to_nobody,
    ],
}

/// A database of a graph that no other test has.
fn installation(flavour: Flavour, batch_families: i64) -> Installation {
    let mut graph: Graph = dolphinscheduler(Shared::Closed);
    graph.rules[0]
        .limits
        .said
        .insert("batch_families", batch_families);
    Installation::new(dialect_of(flavour), &graph)
}

fn rows_are_as_in_the_beginning(flavour: Flavour) {
    let state = |installation: &mut Installation| {
        let control = installation.rows("SELECT * FROM W.control");
        let settings = installation.rows("SELECT * FROM W.settings");
        (control, settings, installation.contents())
    };
    let mut first = installation(flavour, 71);
    let before = state(&mut first);
    let name = first.name.clone();
    first.execute(
        "INSERT INTO t_ds_workflow_instance (id, project_code, workflow_definition_code, workflow_definition_version, is_sub_workflow, executor_id, state, start_time, end_time) VALUES (1, 1, 1, 1, 0, 1, 5, '2020-01-01', '2020-01-01')",
    );
    first.arm();
    first.set_setting("batch_families", 3).expect("a setting");
    let run = first.run(json!({})).expect("a run");
    assert_eq!(run["run"], 1, "{run}");
    assert!(state(&mut first) != before);
    drop(first);

    for _ in 0..2 {
        let mut next = installation(flavour, 71);
        assert_eq!(next.name, name);
        assert_eq!(state(&mut next), before);
        next.arm();
        let run = next.run(json!({})).expect("a run");
        assert_eq!(run["run"], 1, "the numbers of runs start again: {run}");
    }
}

/// What a test may do that the next one must not see.
const CHANGES: [&str; 10] = [
    "CREATE TRIGGER late BEFORE DELETE ON t_ds_alert FOR EACH ROW SET @late = 1",
    "ALTER TABLE t_ds_alert ADD COLUMN more integer",
    "DROP PROCEDURE W.resume",
    "CREATE INDEX more ON t_ds_alert (title(9))",
    "ALTER TABLE W.hold COMMENT = 'more'",
    "ALTER TABLE t_ds_alert ADD CONSTRAINT more CHECK (CHAR_LENGTH(title) < 5000)",
    "CREATE VIEW more AS SELECT 1 AS one",
    "CREATE EVENT W.more ON SCHEDULE EVERY 1 DAY DO SET @more = 1",
    "ALTER TABLE t_ds_task_instance ADD CONSTRAINT more FOREIGN KEY (workflow_instance_id) REFERENCES t_ds_workflow_instance (id)",
    "GRANT SELECT ON t_ds_alert TO CURRENT_USER",
];

fn what_was_changed_is_left_to_nobody(flavour: Flavour) {
    for change in &CHANGES[..effort::size(2, CHANGES.len())] {
        let mut one = installation(flavour, 72);
        let name = one.name.clone();
        one.execute(change);
        drop(one);
        let next = installation(flavour, 72);
        assert_ne!(next.name, name, "{change}");
    }
}
