//! Runs one by one, where a reader can follow them: what stays, what is told, and what a failure is.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};
use windrow::answers;
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::report;

use super::history::{OLD, Run, add_beside, add_task, prepare, run_name, text};
use super::model::{OUTLIVES, contents, next_of_the_scheduler};
use super::{SPEC, armed, graph, scripts, set_policies};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    on_postgres: [
        a_failed_family_is_an_exit_code,
    ],
    postgres_and_mysql: [
        old_runs_that_run_stay,
        the_last_run_of_a_dag_keeps_its_tasks,
        the_scheduler_goes_on_where_it_would_have,
        what_two_rules_would_take_is_told,
        a_run_without_an_end_goes_by_its_last_change,
        a_table_that_refuses_keeps_its_family_and_no_other,
        a_table_that_is_known_to_refuse_is_a_reason,
        triggers_and_deferred_tasks_stay,
        a_run_that_is_cleared_meanwhile_stays,
    ],
}

/// A database with two dags of which all is cleaned after 30 days.
pub(super) fn small(dialect: Dialect, graph: &Graph) -> Installation {
    let mut database = armed(dialect, graph);
    prepare(&mut database, &["a", "b"]);
    set_policies(
        &mut database,
        &BTreeMap::from([("a".to_owned(), 30), ("b".to_owned(), 30)]),
    );
    database
}

pub(super) fn runs(database: &mut Installation) -> Vec<i64> {
    let ids = database.texts("SELECT id FROM dag_run ORDER BY id");
    ids.iter().map(|id| id.parse().expect("a key")).collect()
}

/// `airflow db clean` has no condition on the state.
fn old_runs_that_run_stay(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, state) in [(1, "running"), (2, "queued"), (3, "success"), (4, "failed")] {
        Run {
            id,
            state,
            dag: if id % 2 == 0 { "a" } else { "b" },
            ..OLD
        }
        .insert(&mut database);
        add_task(
            &mut database,
            id,
            if id % 2 == 0 { "a" } else { "b" },
            id,
            "t",
            -1,
            "running",
        );
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(runs(&mut database), [1, 2]);
    assert_eq!(database.number("SELECT count(*) FROM task_instance"), 2);
}

/// `airflow db clean` keeps the last run of a dag, and deletes its task instances by their own age.
fn the_last_run_of_a_dag_keeps_its_tasks(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, kind, after) in [
        (3, "scheduled", "2025-09-01"),
        (6, "scheduled", "2025-09-02"),
        (9, "manual", "2025-09-03"),
    ] {
        Run {
            id,
            kind,
            after,
            logical: Some(after),
            ..OLD
        }
        .insert(&mut database);
        add_task(&mut database, id, "a", id, "t", -1, "success");
        add_beside(&mut database, "a", id, (true, 1));
    }
    let before = contents(&mut database);
    let run = database.run(json!({})).expect("a run");
    // It is not due: nobody is told that it stays.
    assert_eq!(run["rules"][0]["skipped"], json!({}), "{run}");
    assert_eq!(runs(&mut database), [6]);
    let after = contents(&mut database);
    for (table, rows) in &before.tree {
        let share = match *table {
            // Partitions that wait for a run stay, and lines of a backfill.
            "asset_partition_dag_run" | "partitioned_asset_key_log" => 4 * rows.len() / 6,
            OUTLIVES => rows.len(),
            _ => rows.len() / 3,
        };
        assert_eq!(after.tree[table].len(), share, "{table}");
    }
    // A younger run sets it free.
    Run {
        id: 12,
        kind: "scheduled",
        state: "running",
        after: "2025-09-04",
        logical: Some("2025-09-04"),
        ..OLD
    }
    .insert(&mut database);
    database.run(json!({})).expect("a run");
    assert_eq!(runs(&mut database), [12]);
}

/// An operator, an asset or a hand may start a run of a dag long after its schedule has. Where the newest of all runs stays
/// instead of the newest of the schedule, the scheduler makes all its runs since then again.
fn the_scheduler_goes_on_where_it_would_have(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, kind, after, logical, partition) in [
        (3, "scheduled", "2025-09-05", Some("2025-09-01"), None),
        // What was scheduled last need not be the last of the schedule.
        (6, "scheduled", "2025-09-02", Some("2025-09-02"), None),
        (9, "backfill", "2025-09-01", Some("2025-08-31"), None),
        (12, "backfill", "2025-09-09", Some("2025-08-30"), None),
        (15, "operator_triggered", "2025-09-20", None, None),
        (18, "asset_materialization", "2025-09-21", None, None),
        (21, "manual", "2025-09-22", Some("2025-09-22"), None),
        (24, "asset_triggered", "2025-09-03", None, None),
        (27, "asset_triggered", "2025-09-04", None, None),
        (
            30,
            "scheduled",
            "2025-09-10",
            None,
            Some(("p", Some("2025-08-03"))),
        ),
        (
            33,
            "scheduled",
            "2025-09-08",
            None,
            Some(("q", Some("2025-08-04"))),
        ),
        (
            36,
            "scheduled",
            "2025-09-07",
            None,
            Some(("r", Some("2025-08-04"))),
        ),
        (39, "scheduled", "2025-09-06", None, Some(("s", None))),
        (42, "scheduled", "2025-09-05", None, Some(("t", None))),
        (
            45,
            "asset_triggered",
            "2025-09-02",
            None,
            Some(("p", Some("2025-12-01"))),
        ),
    ] {
        Run {
            id,
            kind,
            after,
            logical,
            partition,
            ..OLD
        }
        .insert(&mut database);
    }
    let next = next_of_the_scheduler(&mut database);
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["skipped"], json!({}), "{run}");
    assert_eq!(runs(&mut database), [6, 9, 27, 33, 39]);
    assert_eq!(next_of_the_scheduler(&mut database), next);
}

/// What has expired goes with its run, where that goes, and is counted with both: a preview says so.
fn what_two_rules_would_take_is_told(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, state) in [(3, "success"), (6, "running")] {
        Run { id, state, ..OLD }.insert(&mut database);
        add_beside(&mut database, "a", id, (true, 1));
    }
    database.execute("UPDATE task_state_store SET expires_at = '2025-11-01'");
    let states = |document: &Value| -> Vec<(String, i64)> {
        let rules = document["rules"].as_array().expect("rules");
        let rows = rules.iter().map(|rule| {
            let rows = rule["tables"]["task_state_store"].as_i64();
            let name = rule["rule"].as_str().expect("a name").to_owned();
            (name, rows.unwrap_or_default())
        });
        rows.filter(|(_, rows)| *rows > 0).collect()
    };
    let both = [("dag_runs".to_owned(), 1), ("task_state".to_owned(), 2)];
    let preview = database.preview(json!({})).expect("a preview");
    let dry = database.run(json!({"dry_run": true})).expect("a dry run");
    assert_eq!(states(&preview), both, "{preview}");
    assert_eq!(states(&dry), both, "{dry}");
    let several = &preview["counted_by_several"];
    assert_eq!(
        several["task_state_store"],
        json!(["dag_runs", "task_state"])
    );
    assert_eq!(several["dag_run"], Value::Null, "one rule takes these");
    let previewed = |it: &Value| report::preview(&answers::read("preview", it).expect("a preview"));
    let told = |it: &Value| report::run(&answers::read("run", it).expect("a run"));
    let said = "\nrows that match several rules are deleted once, but counted by each of them: task_state_store (dag_runs, task_state)\n";
    for text in [previewed(&preview), told(&dry)] {
        assert!(text.contains(said), "{text}");
    }
    // One rule by itself counts nothing twice.
    let alone = database.preview(json!({"rule": "task_state"}));
    let alone = alone.expect("a preview");
    assert_eq!(states(&alone), both[1..], "{alone}");
    assert_eq!(alone["counted_by_several"], json!({}));
    assert!(!previewed(&alone).contains("several"));
    // Each goes once.
    let run = database.run(json!({})).expect("a run");
    assert_eq!(states(&run), both.map(|(rule, _)| (rule, 1)), "{run}");
    assert!(!told(&run).contains("several"));
    let left = database.number("SELECT count(*) FROM task_state_store");
    assert_eq!(left, 0);
}

/// `airflow db clean` never purges a row whose recency column is NULL.
fn a_run_without_an_end_goes_by_its_last_change(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, changed) in [(3, Some("2025-10-02")), (6, None), (9, Some("2037-01-01"))] {
        Run {
            id,
            changed,
            ended: None,
            ..OLD
        }
        .insert(&mut database);
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(
        run["rules"][0]["skipped"],
        json!({"UNDATED_MEMBER": 1}),
        "{run}"
    );
    assert_eq!(
        run["rules"][0]["skipped_samples"]["UNDATED_MEMBER"],
        json!(["6"]),
        "{run}"
    );
    assert_eq!(runs(&mut database), [6, 9]);
}

/// A table that an extension has brought, and that no spec knows.
pub(super) fn extension(database: &mut Installation) {
    database.execute("CREATE TABLE invoice (id integer PRIMARY KEY, dag_run_id integer, FOREIGN KEY (dag_run_id) REFERENCES dag_run (id))");
    for id in 1..=5 {
        Run { id: id * 3, ..OLD }.insert(database);
        add_task(database, id, "a", id * 3, "t", -1, "success");
    }
    database.execute("INSERT INTO invoice VALUES (1, 9)");
}

/// The first foreign key that refuses ends a run of `airflow db clean`, later tables are left, and it exits with 0.
fn a_table_that_refuses_keeps_its_family_and_no_other(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    extension(&mut database);
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(run["rules"][0]["skipped"], json!({"FAILED": 1}), "{run}");
    assert_eq!(run["rules"][0]["families"], 4, "{run}");
    assert_eq!(runs(&mut database), [9]);
    assert_eq!(
        database.number("SELECT count(*) FROM task_instance"),
        1,
        "the family is whole"
    );
}

/// Once the spec knows it, the family is passed over with its reason.
fn a_table_that_is_known_to_refuse_is_a_reason(dialect: Dialect) {
    let text = SPEC.replace(
        "[rules.dag_runs]",
        "invoice = { parents = [\"dag_run_id -> dag_run.id restrict\"] }\n\n[rules.dag_runs]",
    );
    let graph = graph_of(&text);
    let schema = format!(
        "{}CREATE TABLE invoice (id integer PRIMARY KEY, dag_run_id integer, FOREIGN KEY (dag_run_id) REFERENCES dag_run (id));\n",
        scripts(dialect).schema
    );
    let mut database = Installation::of(dialect, &schema, &graph);
    database.arm();
    prepare(&mut database, &["a"]);
    set_policies(&mut database, &BTreeMap::from([("a".to_owned(), 30)]));
    for id in [3, 6] {
        Run { id, ..OLD }.insert(&mut database);
        add_task(&mut database, id, "a", id, "t", -1, "success");
    }
    database.execute("INSERT INTO invoice VALUES (1, 3)");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(
        run["rules"][0]["skipped"],
        json!({"REFERENCED": 1}),
        "{run}"
    );
    assert_eq!(runs(&mut database), [3]);
    database.execute("DELETE FROM invoice");
    database.run(json!({})).expect("a run");
    assert!(runs(&mut database).is_empty());
}

/// `airflow db clean` deletes triggers by their age, and with them, by a cascade, the tasks that wait for them.
fn triggers_and_deferred_tasks_stay(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    let trigger = if dialect == Dialect::Postgres {
        "trigger"
    } else {
        "`trigger`"
    };
    database.execute(&format!("INSERT INTO {trigger} (id, classpath, kwargs, created_date) VALUES (1, 'c', '{{}}', '2025-10-01'), (2, 'c', '{{}}', '2025-10-01')"));
    for (id, state) in [(3, "running"), (6, "success")] {
        Run { id, state, ..OLD }.insert(&mut database);
        add_task(&mut database, id, "a", id, "t", -1, "deferred");
        let run = text(&run_name(id));
        database.execute(&format!(
            "UPDATE task_instance SET trigger_id = {} WHERE run_id = {run}",
            id / 3
        ));
    }
    database.run(json!({})).expect("a run");
    assert_eq!(runs(&mut database), [3]);
    assert_eq!(database.number("SELECT count(*) FROM task_instance"), 1);
    assert_eq!(
        database.number(&format!("SELECT count(*) FROM {trigger}")),
        2
    );
}

/// `airflow db clean` copies rows, commits, and deletes what it has copied, whatever became of it meanwhile.
fn a_run_that_is_cleared_meanwhile_stays(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for id in [3, 6] {
        Run { id, ..OLD }.insert(&mut database);
        add_task(&mut database, id, "a", id, "t", -1, "success");
    }
    let mut rival = database.connect();
    for statement in ["BEGIN", "UPDATE dag_run SET state = 'queued' WHERE id = 3"] {
        rival.execute(statement).expect("a statement");
    }
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["skipped"], json!({"LOCKED": 1}), "{run}");
    assert_eq!(runs(&mut database), [3]);
    rival.execute("COMMIT").expect("a commit");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["rows"], 0, "{run}");
    assert_eq!(database.number("SELECT count(*) FROM task_instance"), 1);
}

/// A family that could not go is a failure that the shell sees.
fn a_failed_family_is_an_exit_code() {
    let mut database = small(Dialect::Postgres, &graph());
    extension(&mut database);
    let run = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(["run", "specs/airflow-3.toml", "--url"])
        .arg(crate::support::database::server().url(&database.name, "postgres"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("windrow runs");
    assert_eq!(run.status.code(), Some(1), "{run:?}");
}
