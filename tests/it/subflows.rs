//! Rows that name the one above them by a row of another table, as Prefect has it: a flow run names a task run, and that belongs
//! to the flow run above.

use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, numbers, violations};
use crate::workers::slow_down;

const SPEC: &str = r#"
name = "subflows"

[tables]
flow_run       = { key = "id uuid", parents = ["parent_task_run_id -> task_run.id set null"] }
task_run       = { key = "id uuid", parents = ["flow_run_id -> flow_run.id"] }
flow_run_state = { parents = ["flow_run_id -> flow_run.id"] }
task_run_state = { parents = ["task_run_id -> task_run.id cascade"] }

[rules.flows]
strategy  = "end-time"
root      = "flow_run"
final     = { state_type = ["COMPLETED", "FAILED"] }
end_time  = "end_time timestamptz"
hierarchy = ["flow_run: parent_task_run_id -> task_run.flow_run_id"]
retention = { default = "30d" }
"#;

tests! {
    every_server: [
        a_family_over_task_runs_goes_together_or_not_at_all,
        a_purge_takes_what_is_below,
        a_hold_keeps_all_of_the_family,
        with_literal_families_a_member_is_held_with_its_root,
        a_sub_flow_that_comes_meanwhile_is_not_lost,
        a_sub_flow_that_comes_after_the_judgement_waits,
        what_goes_on_is_not_waited_for,
        the_catalog_fits,
        links_are_read_along_indexes,
        triggers_refuse_a_sub_flow_of_what_is_gone,
        the_archive_comes_back_by_the_run,
    ],
}

pub(crate) fn graph() -> Graph {
    graph_of(SPEC)
}

/// The foreign keys of Prefect 3, by which a task run goes with its flow run, and a sub-flow outlives its task run.
fn schema(dialect: Dialect, keys: bool) -> String {
    let (uuid, time) = match dialect {
        Dialect::Postgres => ("uuid", "timestamptz"),
        Dialect::Mysql | Dialect::Mariadb => ("char(36)", "timestamp(6)"),
    };
    let key = |table: &str, column: &str, parent: &str, action: &str| {
        let name = format!("fk_{table}_{column}");
        if keys {
            format!(
                "ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}) REFERENCES {parent} (id) ON DELETE {action};\n"
            )
        } else {
            String::new()
        }
    };
    format!(
        "CREATE TABLE flow_run (id {uuid} PRIMARY KEY, parent_task_run_id {uuid} NULL, state_type varchar(20), end_time {time} NULL);
CREATE TABLE task_run (id {uuid} PRIMARY KEY, flow_run_id {uuid} NULL);
CREATE TABLE flow_run_state (id integer PRIMARY KEY, flow_run_id {uuid} NOT NULL);
CREATE TABLE task_run_state (id integer PRIMARY KEY, task_run_id {uuid} NOT NULL);
{}{}{}{}",
        key("flow_run", "parent_task_run_id", "task_run", "SET NULL"),
        key("task_run", "flow_run_id", "flow_run", "CASCADE"),
        key("flow_run_state", "flow_run_id", "flow_run", "CASCADE"),
        key("task_run_state", "task_run_id", "task_run", "CASCADE"),
    )
}

fn installation(dialect: Dialect, graph: &Graph) -> Installation {
    let mut database = Installation::of(dialect, &schema(dialect, true), graph);
    database.arm();
    database.execute(match dialect {
        Dialect::Postgres => "SET timezone = 'UTC'",
        Dialect::Mysql | Dialect::Mariadb => "SET SESSION time_zone = '+00:00'",
    });
    database
}

fn id(number: i32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

const OLD: Option<&str> = Some("2025-10-01");
const YOUNG: Option<&str> = Some("2026-01-10");

/// A flow run with two task runs: of flow run 7, task runs 70 and 71. It is below the flow run of a task run.
fn flow(database: &mut Installation, number: i32, above: Option<i32>, ended: Option<&str>) {
    let text =
        |value: Option<String>| value.map_or("NULL".to_owned(), |value| format!("'{value}'"));
    let state = if ended.is_some() {
        "COMPLETED"
    } else {
        "RUNNING"
    };
    database.execute(&format!(
        "INSERT INTO flow_run VALUES ('{}', {}, '{state}', {})",
        id(number),
        text(above.map(id)),
        text(ended.map(|ended| format!("{ended} 00:00:00")))
    ));
    database.execute(&format!(
        "INSERT INTO flow_run_state VALUES ({number}, '{}')",
        id(number)
    ));
    for task in [number * 10, number * 10 + 1] {
        database.execute(&format!(
            "INSERT INTO task_run VALUES ('{}', '{}')",
            id(task),
            id(number)
        ));
        database.execute(&format!(
            "INSERT INTO task_run_state VALUES ({task}, '{}')",
            id(task)
        ));
    }
}

fn ids(database: &mut Installation) -> Vec<String> {
    database.texts("SELECT CAST(id AS char(36)) FROM flow_run ORDER BY 1")
}

/// The numbers of the flow runs that are left; each is whole.
fn left(database: &mut Installation) -> Vec<i64> {
    let flows = ids(database);
    let flows = flows.iter().map(|id| id[24..].parse().expect("a number"));
    let flows: Vec<i64> = flows.collect();
    for (table, each) in [
        ("flow_run_state", 1),
        ("task_run", 2),
        ("task_run_state", 2),
    ] {
        let among = match table {
            "task_run" => " WHERE flow_run_id IS NOT NULL",
            _ => "",
        };
        let rows = database.number(&format!("SELECT COUNT(*) FROM {table}{among}"));
        assert_eq!(rows, each * flows.len() as i64, "{table}: {flows:?}");
    }
    flows
}

fn linked(database: &mut Installation) -> i64 {
    database.number("SELECT COUNT(*) FROM flow_run WHERE parent_task_run_id IS NOT NULL")
}

fn options() -> Value {
    json!({"as_of": "2026-01-15T00:00:00Z"})
}

fn a_family_over_task_runs_goes_together_or_not_at_all(dialect: Dialect) {
    let mut database = installation(dialect, &graph());
    // Three levels, all due.
    flow(&mut database, 1, None, OLD);
    flow(&mut database, 2, Some(10), OLD);
    flow(&mut database, 3, Some(21), OLD);
    // A grandchild runs.
    flow(&mut database, 4, None, OLD);
    flow(&mut database, 5, Some(40), OLD);
    flow(&mut database, 6, Some(50), None);
    // One above is too young.
    flow(&mut database, 7, None, YOUNG);
    flow(&mut database, 8, Some(71), OLD);
    // A task run of no flow run is above nothing that could stay.
    database.execute(&format!(
        "INSERT INTO task_run VALUES ('{}', NULL)",
        id(999)
    ));
    flow(&mut database, 9, Some(999), OLD);
    // Two below the same task run.
    flow(&mut database, 10, None, OLD);
    flow(&mut database, 11, Some(100), OLD);
    flow(&mut database, 12, Some(100), YOUNG);
    let skipped = json!({"NON_FINAL_MEMBER": 2, "RETENTION_NOT_REACHED": 1, "SHARED_MEMBER": 2});
    let preview = database.preview(options()).expect("a preview");
    let mut dry = options();
    dry["dry_run"] = json!(true);
    let dry = database.run(dry).expect("a dry run");
    let run = database.run(options()).expect("a run");
    for document in [&preview, &dry, &run] {
        let rule = &document["rules"][0];
        assert_eq!(rule["families"], 4, "{document}");
        assert_eq!(rule["skipped"], skipped, "{document}");
        let tables =
            json!({"flow_run": 4, "flow_run_state": 4, "task_run": 8, "task_run_state": 8});
        assert_eq!(rule["tables"], tables, "{document}");
    }
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(left(&mut database), [4, 5, 6, 7, 8, 10, 11, 12]);
    assert_eq!(linked(&mut database), 5);
    // What kept them is over.
    database.execute("UPDATE flow_run SET state_type = 'FAILED', end_time = '2025-10-02 00:00:00'");
    let run = database.run(options()).expect("a run");
    assert_eq!(run["rules"][0]["families"], 8, "{run}");
    assert!(left(&mut database).is_empty());
    let verify = database.call("verify", json!({})).expect("a verification");
    let wrong = violations(&verify);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn a_purge_takes_what_is_below(dialect: Dialect) {
    let mut database = installation(dialect, &graph());
    flow(&mut database, 1, None, YOUNG);
    flow(&mut database, 2, Some(10), YOUNG);
    flow(&mut database, 3, Some(20), YOUNG);
    let below = json!({"rule": "flows", "key": [id(2)]});
    let purge = database.purge(below).expect("a purge");
    assert_eq!(
        purge["rules"][0]["skipped"],
        json!({"SHARED_MEMBER": 1}),
        "{purge}"
    );
    let above = json!({"rule": "flows", "key": [id(1)]});
    let purge = database.purge(above).expect("a purge");
    assert_eq!(purge["rules"][0]["families"], 3, "{purge}");
    assert!(left(&mut database).is_empty());
}

fn a_hold_keeps_all_of_the_family(dialect: Dialect) {
    let mut database = installation(dialect, &graph());
    flow(&mut database, 1, None, OLD);
    flow(&mut database, 2, Some(10), OLD);
    flow(&mut database, 3, None, OLD);
    let hold = json!({"rule": "flows", "key": id(2), "reason": "test"});
    database.set_hold(hold).expect("a hold");
    let run = database.run(options()).expect("a run");
    assert_eq!(run["rules"][0]["skipped"], json!({"HELD": 2}), "{run}");
    assert_eq!(left(&mut database), [1, 2]);
}

/// Only what has nothing above it is a root, and a root decides by what is below it.
fn with_literal_families_a_member_is_held_with_its_root(dialect: Dialect) {
    let literal = SPEC.replace(
        "retention =",
        "candidates = { parent_task_run_id = { null = true } }\nshared = \"literal\"\nretention =",
    );
    let mut database = installation(dialect, &graph_of(&literal));
    flow(&mut database, 1, None, OLD);
    flow(&mut database, 2, Some(10), OLD);
    flow(&mut database, 3, None, OLD);
    flow(&mut database, 4, Some(31), OLD);
    // A row that belongs to the family of a root can be held, another cannot.
    let hold = |number: i32| json!({"rule": "flows", "key": id(number), "reason": "test"});
    database.set_hold(hold(2)).expect("a hold");
    database.execute(&format!(
        "INSERT INTO task_run VALUES ('{}', NULL)",
        id(999)
    ));
    flow(&mut database, 5, Some(999), OLD);
    let refused = database.set_hold(hold(5)).expect_err("no root is above it");
    assert!(format!("{refused:#}").contains(&id(5)[..20]), "{refused:#}");
    let run = database.run(options()).expect("a run");
    assert_eq!(run["rules"][0]["skipped"], json!({"HELD": 1}), "{run}");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    assert_eq!(left(&mut database), [1, 2, 5]);
}

fn a_sub_flow_that_comes_meanwhile_is_not_lost(dialect: Dialect) {
    let mut database = installation(dialect, &graph());
    flow(&mut database, 1, None, OLD);
    flow(&mut database, 2, None, OLD);
    // It is not committed when the batch judges the family: the foreign key holds the task run.
    let mut application = database.connect();
    application.execute("BEGIN").expect("a transaction");
    application
        .execute(&format!(
            "INSERT INTO flow_run VALUES ('{}', '{}', 'RUNNING', NULL)",
            id(3),
            id(10)
        ))
        .expect("a row");
    let run = database.run(options()).expect("a run");
    assert_eq!(ids(&mut database), [id(1)], "{run}");
    assert_eq!(database.number("SELECT COUNT(*) FROM task_run"), 2, "{run}");
    application.execute("COMMIT").expect("a commit");
    let run = database.run(options()).expect("a run");
    assert_eq!(
        run["rules"][0]["skipped"],
        json!({"NON_FINAL_MEMBER": 1}),
        "{run}"
    );
    assert_eq!(linked(&mut database), 1);
}

/// The rows between are locked before the links are read: what would come below one of them waits, and is refused by its key.
fn a_sub_flow_that_comes_after_the_judgement_waits(dialect: Dialect) {
    let mut database = installation(dialect, &graph());
    flow(&mut database, 1, None, OLD);
    slow_down(&mut database, "flow_run_state", 2.0, None);
    let mut application = database.connect();
    let (runner, _, session) = database.call_aside("run", options());
    database.until_asleep("a batch that has judged", &runner, session);
    let late = application.execute(&format!(
        "INSERT INTO flow_run VALUES ('{}', '{}', 'RUNNING', NULL)",
        id(2),
        id(10)
    ));
    let run = runner.join().expect("no panic").1.expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    let refused = late.expect_err("its task run is gone").to_string();
    assert!(refused.to_lowercase().contains("foreign key"), "{refused}");
    assert!(left(&mut database).is_empty());
}

/// A sub-flow that runs keeps the flow above it; the batch leaves its task runs to the application.
fn what_goes_on_is_not_waited_for(dialect: Dialect) {
    let mut database = installation(dialect, &graph());
    flow(&mut database, 1, None, OLD);
    flow(&mut database, 2, Some(10), None);
    flow(&mut database, 3, None, OLD);
    let mut application = database.connect();
    application.execute("BEGIN").expect("a transaction");
    let touched = format!(
        "UPDATE task_run SET flow_run_id = flow_run_id WHERE id = '{}'",
        id(20)
    );
    application.execute(&touched).expect("a row");
    application
        .execute(&format!(
            "SELECT id FROM task_run WHERE id = '{}' FOR UPDATE",
            id(21)
        ))
        .expect("a lock");
    let run = database.run(options()).expect("a run");
    assert_eq!(run["rules"][0]["retries"], 0, "{run}");
    assert_eq!(
        run["rules"][0]["skipped"],
        json!({"NON_FINAL_MEMBER": 1}),
        "{run}"
    );
    application.execute("COMMIT").expect("a commit");
    assert_eq!(left(&mut database), [1, 2]);
}

fn the_catalog_fits(dialect: Dialect) {
    let mut database = installation(dialect, &graph());
    let verify = database.call("verify", json!({})).expect("a verification");
    let wrong = violations(&verify);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let deviations = database.deviations(&graph());
    assert!(deviations.is_empty(), "{deviations:#?}");
}

/// However few of many rows are linked.
fn links_are_read_along_indexes(dialect: Dialect) {
    let mut database = installation(dialect, &graph());
    let uuid = "CONCAT('00000000-0000-4000-8000-', LPAD(CAST(n AS char(12)), 12, '0'))";
    let (uuid, analyze) = match dialect {
        Dialect::Postgres => (format!("CAST({uuid} AS uuid)"), "ANALYZE"),
        Dialect::Mysql | Dialect::Mariadb => (uuid.to_owned(), "ANALYZE TABLE"),
    };
    let numbers = numbers(dialect, 20_000);
    database.execute(&format!(
        "INSERT INTO flow_run (id, state_type) SELECT {uuid}, 'RUNNING' FROM {numbers};
         INSERT INTO task_run (id, flow_run_id) SELECT {uuid}, {uuid} FROM {numbers};
         UPDATE flow_run SET parent_task_run_id = '{}' WHERE id = '{}'",
        id(1),
        id(2)
    ));
    for table in ["flow_run", "task_run"] {
        database.rows(&format!("{analyze} {table}"));
    }
    let graph = Graph {
        database: database.name.clone(),
        ..graph()
    };
    let probes = render::probes(&graph, dialect).expect("the statements");
    let mut links = probes
        .iter()
        .filter(|probe| probe.sql.contains("parent_task_run_id") || probe.sql.contains(" AS v "))
        .peekable();
    assert!(links.peek().is_some());
    if dialect == Dialect::Postgres {
        // As judge() has it.
        database.execute("SET enable_nestloop = off; SET plan_cache_mode = force_generic_plan");
    } else {
        database.execute("CALL W.settle(@before)");
    }
    for probe in links {
        let plan: Vec<String> = match dialect {
            Dialect::Postgres => database.texts(&format!("EXPLAIN {}", probe.sql)),
            Dialect::Mysql | Dialect::Mariadb => {
                let plan = database.rows(&format!("EXPLAIN FORMAT=TRADITIONAL {}", probe.sql));
                let lines = plan.iter().map(|row| {
                    let cells = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL"));
                    cells.collect::<Vec<_>>().join(" ")
                });
                lines.collect()
            }
        };
        let told = format!("{}\n{plan:#?}", probe.sql);
        for line in &plan {
            assert!(!line.contains("Seq Scan"), "{told}");
            // What stands for the work tables may be scanned.
            if ["v", "l", "p", "t"]
                .iter()
                .any(|name| line.contains(&format!(" {name} ")))
            {
                assert!(
                    line.contains("ref ") || dialect == Dialect::Postgres,
                    "{told}"
                );
            }
        }
    }
}

fn triggers_refuse_a_sub_flow_of_what_is_gone(dialect: Dialect) {
    let guarded = SPEC.replace("retention =", "orphan_guard = true\nretention =");
    let mut database = Installation::of(dialect, &schema(dialect, false), &graph_of(&guarded));
    database.arm();
    flow(&mut database, 1, None, OLD);
    flow(&mut database, 2, Some(10), OLD);
    let orphan = format!(
        "INSERT INTO flow_run VALUES ('{}', '{}', 'RUNNING', NULL)",
        id(3),
        id(30)
    );
    let refused = database.attempt(&orphan).expect_err("there is no task run");
    assert!(format!("{refused:#}").contains("task_run"), "{refused:#}");
    assert_eq!(left(&mut database), [1, 2]);
}

/// A member is copied when its task run is gone: which one that was, no archive says.
fn the_archive_comes_back_by_the_run(dialect: Dialect) {
    let archived = SPEC.replace("retention =", "archive = true\nretention =");
    let mut database = installation(dialect, &graph_of(&archived));
    flow(&mut database, 1, None, OLD);
    flow(&mut database, 2, Some(10), OLD);
    let run = database.run(options()).expect("a run");
    assert_eq!(run["rules"][0]["families"], 2, "{run}");
    let one = json!({"run": run["run"], "rule": "flows", "key": [id(1)]});
    let refused = database
        .call("archive_restore", one)
        .expect_err("no family is told");
    assert!(
        format!("{refused:#}").contains("cannot be distinguished"),
        "{refused:#}"
    );
    database
        .call("archive_restore", json!({"run": run["run"]}))
        .expect("the whole run comes back");
    assert_eq!(left(&mut database), [1, 2]);
}
