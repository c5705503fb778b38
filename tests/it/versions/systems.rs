//! The shipped specs on the tables of earlier versions.

use serde_json::json;
use windrow::demo::SYSTEMS;
use windrow::dialect::Dialect;

use super::{against, database, home, init};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};
use crate::support::systems::dolphinscheduler;

tests! {
    postgres_and_mysql: [
        airflow_3_0,
        airflow_3_1,
        partitions_without_a_date_keep_what_they_kept,
    ],
    on_postgres: [
        prefect_3_0,
    ],
    every_server: [
        a_spec_that_fits_stays_as_it_is,
        dolphinscheduler_3_2,
        mlflow_without_what_came_later,
    ],
}

fn airflow(dialect: Dialect, steps: &[[&str; 2]]) -> (String, Installation) {
    let system = SYSTEMS.iter().find(|system| system.name == "airflow-3");
    let scripts = system.and_then(|system| system.scripts(dialect));
    let mut schema = scripts.expect("Airflow").schema.to_owned();
    for [postgres, mysql] in steps {
        schema += match dialect {
            Dialect::Postgres => postgres,
            Dialect::Mysql | Dialect::Mariadb => mysql,
        };
    }
    let database = database(dialect, &schema);
    (schema, database)
}

const TO_3_1: [&str; 2] = [
    include_str!("airflow-3.1-postgres.sql"),
    include_str!("airflow-3.1-mysql.sql"),
];
const TO_3_0: [&str; 2] = [
    include_str!("airflow-3.0-postgres.sql"),
    include_str!("airflow-3.0-mysql.sql"),
];

fn airflow_3_1(dialect: Dialect) {
    let (schema, database) = airflow(dialect, &[TO_3_1]);
    let spec = fitted_airflow(&database);
    for line in [
        "# left out: table \"callback\": not in this database",
        "# left out: \"callback_id -> callback.id\" of \"deadline\": `callback` is left out",
        "# left out: rule \"task_state\": its rows belong to `task_state_store`, which is not in this database",
        "    # left out: a `keep` of rule \"dag_runs\": `partition_date` is not in this database, so it keeps no row",
        "hitl_detail         = { optional = true, parents = [\"ti_id -> task_instance.id cascade\"], indexed = [\"ti_id\"] }",
    ] {
        assert!(spec.lines().any(|it| it == line), "{line}\n\n{spec}");
    }
    // As it was, it is refused: nobody is asked.
    let original = include_str!("../../../specs/airflow-3.toml").replace(
        "database  = \"airflow\"",
        &format!("database = \"{}\"", home(&database)),
    );
    let wrong = against(&database, &original);
    let finals = "`final` needs `missed`, which is not in this database";
    assert!(wrong.iter().any(|it| it.contains(finals)), "{wrong:#?}");
    assert!(
        !wrong.iter().any(|it| it.contains("missing-table")),
        "{wrong:#?}"
    );
    // The answer that the page gives.
    let question = "final = { dagrun_id = { null = true } }";
    let answered = spec.replace(
        question,
        "final = { callback_state = [\"success\", \"failed\"] }",
    );
    assert_ne!(answered, spec);
    let wrong = against(&database, &answered);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let deadline = "INSERT INTO deadline (id, dagrun_id, deadline_time, callback, callback_state)
        VALUES ('00000000000000000000000000000001', 2, '2025-10-01', '{}', 'queued')";
    purges(dialect, &schema, &spec, deadline);
    purges(dialect, &schema, &answered, deadline);
}

fn airflow_3_0(dialect: Dialect) {
    let (schema, database) = airflow(dialect, &[TO_3_1, TO_3_0]);
    let spec = fitted_airflow(&database);
    let line = "# left out: table \"hitl_detail\": not in this database";
    assert!(spec.lines().any(|it| it == line), "{line}\n\n{spec}");
    let deadline = "INSERT INTO deadline (id, dagrun_id, deadline, callback)
        VALUES ('00000000000000000000000000000001', 2, '2025-10-01', 'x')";
    purges(dialect, &schema, &spec, deadline);
}

/// The spec of Airflow 3.3, fitted; nothing is wrong with it.
fn fitted_airflow(database: &Installation) -> String {
    let (code, spec, told) = init(database, "specs/airflow-3.toml");
    // Which deadlines are final has to be answered.
    assert_eq!(code, Some(1), "{told}\n{spec}");
    let questions: Vec<&str> = spec.lines().filter(|line| line.contains("# ? ")).collect();
    let [question] = questions[..] else {
        panic!("{questions:#?}\n{spec}");
    };
    assert!(
        question
            .starts_with("# ? stricter: `final` of \"deadline\": `missed` is not in this database"),
        "{question}"
    );
    let deadline = spec.lines().find(|line| line.starts_with("deadline "));
    assert_eq!(
        deadline,
        Some(
            "deadline                  = { parents = [\"dagrun_id -> dag_run.id\"], final = { dagrun_id = { null = true } } }"
        )
    );
    let wrong = against(database, &spec);
    assert!(wrong.is_empty(), "{wrong:#?}\n{spec}");
    // A comment stands where it stood.
    let original = include_str!("../../../specs/airflow-3.toml");
    let comments = original.lines().filter(|line| line.starts_with('#'));
    for comment in comments {
        assert!(spec.contains(comment), "{comment}\n{spec}");
    }
    spec
}

/// Installed in a database of this version, it takes what has ended, and keeps what a deadline or the schedule needs.
fn purges(dialect: Dialect, schema: &str, spec: &str, deadline: &str) {
    let mut database = Installation::of(dialect, schema, &graph_of(spec));
    database.arm();
    let then = "'2025-09-01'";
    let version = "'00000000000000000000000000000001'";
    database.execute("INSERT INTO dag_bundle (name) VALUES ('dags')");
    database.execute(
        "INSERT INTO dag (dag_id, is_paused, is_stale, exceeds_max_non_backfill, bundle_name, timetable_type, timetable_partitioned, timetable_periodic, partition_mapper_info, max_active_tasks, max_consecutive_failed_dag_runs, has_task_concurrency_limits, fail_fast)
         VALUES ('d', false, false, false, 'dags', 'cron', false, false, '{}', 1, 0, false, false)",
    );
    database.execute(&format!("INSERT INTO dag_version (id, version_number, dag_id, created_at, last_updated) VALUES ({version}, 1, 'd', {then}, {then})"));
    // An old one, one with a deadline, one that runs, and the last of the schedule.
    for (id, state, kind, end) in [
        (1, "success", "manual", "'2025-10-02'"),
        (2, "success", "manual", "'2025-10-02'"),
        (3, "running", "manual", "NULL"),
        (4, "success", "scheduled", "'2025-10-02'"),
    ] {
        database.execute(&format!(
            "INSERT INTO dag_run (id, dag_id, run_id, state, run_type, run_after, logical_date, end_date, updated_at, span_status, clear_number)
             VALUES ({id}, 'd', 'run {id}', '{state}', '{kind}', {then}, '2025-09-0{id}', {end}, {end}, 'x', 0)"
        ));
        database.execute(&format!(
            "INSERT INTO task_instance (dag_id, task_id, run_id, map_index, id, state, try_number, pool, pool_slots, dag_version_id) VALUES ('d', 't', 'run {id}', -1, '{id:032}', 'success', 1, 'p', 1, {version})"
        ));
        database.execute(&format!(
            "INSERT INTO task_reschedule (ti_id, start_date, end_date, duration, reschedule_date) VALUES ('{id:032}', {then}, {then}, 1, {then})"
        ));
    }
    database.execute(deadline);
    let policy = json!({"rule": "dag_runs", "scope": "d", "retention": "30d"});
    database.set_policy(policy).expect("a policy");
    let run = database.run(json!({"rule": "dag_runs"})).expect("a run");
    let left = database.texts("SELECT id FROM dag_run ORDER BY id");
    assert_eq!(left, ["2", "3", "4"], "{run}");
    assert_eq!(run["rules"][0]["skipped"]["REFERENCED"], 1, "{run}");
    assert_eq!(run["rules"][0]["tables"]["task_instance"], 1, "{run}");
    let reschedules = database.number("SELECT COUNT(*) FROM task_reschedule");
    assert_eq!(reschedules, 3, "{run}");
    let verify = database.call("verify", json!({})).expect("a verification");
    assert!(violations(&verify).is_empty(), "{verify}");
}

/// A keep by the date of a partition keeps nothing where no partition has one; one of those without a date goes on.
fn partitions_without_a_date_keep_what_they_kept(dialect: Dialect) {
    let drop = "ALTER TABLE dag_run DROP COLUMN partition_date;";
    let (schema, database) = airflow(dialect, &[[drop, drop]]);
    let (code, spec, told) = init(&database, "specs/airflow-3.toml");
    assert_eq!(code, Some(0), "{told}\n{spec}");
    for line in [
        "    # left out: a `keep` of rule \"dag_runs\": `partition_date` is not in this database, so it keeps no row",
        "    # left out: \"partition_date\" of a `keep` of rule \"dag_runs\": not in this database, so every row counts as one in which it is NULL",
        "    { newest = 1, per = [\"dag_id varchar\", \"run_type varchar\"], by = \"run_after timestamptz\", of = { run_type = [\"scheduled\", \"backfill\"], partition_key = { null = false } }, optional = true },",
    ] {
        assert!(spec.lines().any(|it| it == line), "{line}\n\n{spec}");
    }
    let wrong = against(&database, &spec);
    assert!(wrong.is_empty(), "{wrong:#?}\n{spec}");
    assert!(!schema.is_empty());
}

fn dolphinscheduler_3_2(dialect: Dialect) {
    let schema = match dialect {
        Dialect::Postgres => dolphinscheduler::SCHEMA_32,
        Dialect::Mysql | Dialect::Mariadb => dolphinscheduler::mysql::SCHEMA_32,
    };
    let without = format!("{schema}\nDROP TABLE t_ds_dq_task_statistics_value;");
    let database = database(dialect, &without);
    // Its own spec fits, but for a table that is no longer there and keeps nothing.
    let (code, spec, told) = init(&database, "specs/dolphinscheduler-3.2.toml");
    assert_eq!(code, Some(1), "{told}\n{spec}");
    let asked = "# ? left out: table \"t_ds_dq_task_statistics_value\": not in this database; if it has another name here, its rows would be left behind";
    let head = format!(
        "# Fitted by `windrow init` to a database of {}: 1 part is left out, 1 question is open. Each change is marked at its place, questions by `# ?`.",
        dialect.facts().title
    );
    let original = include_str!("../../../specs/dolphinscheduler-3.2.toml");
    let place = format!("database  = \"{}\"", home(&database));
    let expected: Vec<&str> = original
        .lines()
        .enumerate()
        .flat_map(|(at, line)| match line {
            _ if at == 0 => vec![line, &head],
            _ if line.starts_with("t_ds_dq_task_statistics_value") => vec![asked],
            _ => vec![line],
        })
        .collect();
    let expected = expected.join("\n") + "\n";
    let expected = match dialect {
        Dialect::Postgres => expected,
        Dialect::Mysql | Dialect::Mariadb => {
            expected.replace("database  = \"dolphinscheduler\"", &place)
        }
    };
    assert_eq!(spec, expected);
    let wrong = against(&database, &spec);
    assert!(wrong.is_empty(), "{wrong:#?}\n{spec}");
    // The one of 3.4 names other tables.
    let (code, spec, told) = init(&database, "specs/dolphinscheduler.toml");
    assert_eq!((code, spec.as_str()), (Some(2), ""), "{told}");
    for part in [
        "error: this database lacks parts that `specs/dolphinscheduler.toml` requires",
        "tables are missing: ",
        "`t_ds_workflow_instance`",
        "hint: if it has another name here, this is another version or another system: try another spec of `specs/`",
    ] {
        assert!(told.contains(part), "{part}\n\n{told}");
    }
    let mut database = Installation::of(dialect, &without, &graph_of(&expected));
    database.arm();
    database.execute("INSERT INTO t_ds_process_instance (id, is_sub_process, state, end_time, project_code, executor_id) VALUES (1, 0, 7, '2025-01-01', 1, 1), (2, 0, 1, NULL, 1, 1)");
    database
        .set_policy(json!({"scope": "1", "retention": "30d"}))
        .expect("a policy");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(
        database.texts("SELECT id FROM t_ds_process_instance"),
        ["2"],
        "{run}"
    );
}

/// Nothing but a line on top, and the name of the database.
fn a_spec_that_fits_stays_as_it_is(dialect: Dialect) {
    for (name, path) in [
        ("airflow-3", "specs/airflow-3.toml"),
        ("camunda7", "specs/camunda7.toml"),
        ("camunda7", "specs/camunda7-cases.toml"),
        ("camunda7", "specs/camunda7-end-time.toml"),
        ("dolphinscheduler", "specs/dolphinscheduler.toml"),
        ("mlflow-3", "specs/mlflow-3.toml"),
        ("prefect-3", "specs/prefect-3.toml"),
        ("yworkflow", "specs/yworkflow.toml"),
    ] {
        let system = SYSTEMS.iter().find(|system| system.name == name);
        let Some(scripts) = system.and_then(|system| system.scripts(dialect)) else {
            continue;
        };
        let database = database(dialect, scripts.schema);
        let (code, spec, told) = init(&database, path);
        assert_eq!(code, Some(0), "{path}: {told}\n{spec}");
        assert_eq!(told, "nothing had to be changed\n", "{path}");
        let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
        let original = std::fs::read_to_string(path).expect("a spec");
        let place = |line: &&str| {
            ["schema", "database"]
                .iter()
                .any(|field| line.starts_with(field))
        };
        let expected = original.lines().filter(|line| !place(line));
        let written = spec
            .lines()
            .filter(|line| !line.starts_with("# Fitted by ") && !place(line));
        assert!(expected.eq(written), "{spec}");
    }
}

/// What has come with minor versions is left out by `install` itself, and the rest goes as ever.
fn mlflow_without_what_came_later(dialect: Dialect) {
    let system = SYSTEMS.iter().find(|system| system.name == "mlflow-3");
    let scripts = system.and_then(|system| system.scripts(dialect));
    let schema = scripts.expect("MLflow").schema.to_owned()
        + "DROP TABLE review_queue_items; DROP TABLE span_metrics; DROP TABLE spans; DROP TABLE assessments;
           DROP TABLE trace_metrics; DROP TABLE entity_associations; DROP TABLE issues; DROP TABLE logged_model_metrics;";
    let database = database(dialect, &schema);
    let (code, spec, told) = init(&database, "specs/mlflow-3.toml");
    assert_eq!(code, Some(0), "{told}\n{spec}");
    for table in ["review_queue_items", "span_metrics", "spans", "issues"] {
        let line = format!("# left out: table \"{table}\": not in this database");
        assert!(spec.lines().any(|it| it == line), "{line}\n\n{spec}");
    }
    let wrong = against(&database, &spec);
    assert!(wrong.is_empty(), "{wrong:#?}\n{spec}");

    let mut database = Installation::of(dialect, &schema, &graph_of(&spec));
    database.arm();
    database.execute(
        "INSERT INTO experiments (experiment_id, name) VALUES (1, 'one');
         INSERT INTO runs (run_uuid, lifecycle_stage, experiment_id, deleted_time) VALUES
             ('old', 'deleted', 1, 1700000000000), ('live', 'active', 1, NULL);
         INSERT INTO tags VALUES ('name', 'a', 'old'), ('name', 'b', 'live')",
    );
    let run = database.run(json!({"rule": "runs"})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 1, "{run}");
    assert_eq!(database.texts("SELECT run_uuid FROM tags"), ["live"]);
}

/// Up to Prefect 3.4 a task run named its last state by a foreign key, and notices waited in a table of their own: see the migrations of
/// Prefect, `3b86c5ea017a` and `4160a4841eed`.
fn prefect_3_0() {
    let system = SYSTEMS.iter().find(|system| system.name == "prefect-3");
    let scripts = system.and_then(|system| system.scripts(Dialect::Postgres));
    let scripts = scripts.expect("Prefect");
    let schema = scripts.schema.to_owned()
        + "ALTER TABLE task_run ADD CONSTRAINT fk_task_run__state_id__task_run_state FOREIGN KEY (state_id)
               REFERENCES task_run_state (id) ON DELETE SET NULL;
           CREATE TABLE flow_run_notification_queue (id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
               flow_run_notification_policy_id uuid NOT NULL, flow_run_state_id uuid NOT NULL);";
    let database = database(Dialect::Postgres, &schema);
    let (code, spec, told) = init(&database, "specs/prefect-3.toml");
    assert_eq!(code, Some(0), "{told}\n{spec}");
    for part in [
        "# mended: parents of \"task_run\": it references `task_run_state` by `fk_task_run__state_id__task_run_state` (state_id, on delete set null)\ntask_run ",
        "parents = [\"flow_run_id -> flow_run.id\", \"state_id -> task_run_state.id set null\"]",
    ] {
        assert!(spec.contains(part), "{part}\n\n{spec}");
    }
    let wrong = against(&database, &spec);
    let indexed = wrong.iter().filter(|it| !it.contains("index-serves"));
    assert_eq!(indexed.count(), 0, "{wrong:#?}\n{spec}");

    let mut database = Installation::of(Dialect::Postgres, &schema, &graph_of(&spec));
    database.arm();
    database.execute(&format!("SET {} = 300", scripts.size));
    database.execute(scripts.history);
    database.execute("UPDATE task_run AS t SET state_id = s.id FROM task_run_state AS s WHERE s.task_run_id = t.id AND s.name = 'state-2'");
    for flow in database.texts("SELECT id::text FROM flow") {
        let policy = json!({"scope": flow, "retention": "30d"});
        database.set_policy(policy).expect("a policy");
    }
    let run = database.run(json!({})).expect("a run");
    let gone = run["rules"][0]["families"].as_i64();
    assert!(gone > Some(50), "{run}");
    assert_eq!(run["rules"][0]["failed"].as_i64().unwrap_or(0), 0, "{run}");
    let verify = database.call("verify", json!({})).expect("a verification");
    assert!(violations(&verify).is_empty(), "{verify}");
}
