//! Dags, runs and tasks with what belongs to them, as a test needs them.

use windrow::dialect::Dialect;

use crate::support::installation::Installation;

/// What runs need before they can be: a dag with a version, an asset with an event, a backfill, a callback.
pub(super) fn prepare(database: &mut Installation, dags: &[&str]) {
    const ID: &str = "00000000000000000000000000000001";
    database.execute("INSERT INTO dag_bundle (name) VALUES ('dags')");
    for dag in dags {
        database.execute(&format!(
            "INSERT INTO dag (dag_id, is_paused, is_stale, exceeds_max_non_backfill, bundle_name, timetable_type, timetable_partitioned, timetable_periodic, partition_mapper_info, max_active_tasks, max_consecutive_failed_dag_runs, has_task_concurrency_limits, fail_fast)
             VALUES ({}, false, false, false, 'dags', 'cron', false, false, '{{}}', 1, 0, false, false)",
            text(dag)
        ));
    }
    let (dag, then) = (text(dags[0]), "'2025-09-01'");
    database.execute(&format!("INSERT INTO dag_version (id, version_number, dag_id, created_at, last_updated) VALUES ('{ID}', 1, {dag}, {then}, {then})"));
    database.execute(&format!("INSERT INTO callback (id, type, fetch_method, data, priority_weight, created_at, state) VALUES ('{ID}', 'x', 'x', '{{}}', 1, {then}, 'success')"));
    database.execute(&format!("INSERT INTO backfill (id, dag_id, from_date, to_date, dag_run_conf, reprocess_behavior, max_active_runs, created_at, updated_at) VALUES (1, {dag}, {then}, {then}, '{{}}', 'none', 1, {then}, {then})"));
    let group = if database.dialect == Dialect::Postgres {
        "\"group\""
    } else {
        "`group`"
    };
    database.execute(&format!("INSERT INTO asset (id, name, uri, {group}, extra, created_at, updated_at) VALUES (1, 'a', 'a', 'asset', '{{}}', {then}, {then})"));
    for id in 1..=3 {
        database.execute(&format!("INSERT INTO asset_event (id, asset_id, extra, timestamp) VALUES ({id}, 1, '{{}}', {then})"));
    }
}

pub(super) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(super) fn time(value: Option<&str>) -> String {
    value.map_or("NULL".to_owned(), text)
}

/// A dag run; its run_id is that of its number.
pub(super) struct Run<'a> {
    pub(super) id: i32,
    pub(super) dag: &'a str,
    pub(super) state: &'a str,
    pub(super) kind: &'a str,
    pub(super) after: &'a str,
    /// Its logical date, which no other run of the dag has.
    pub(super) logical: Option<&'a str>,
    /// The key of its partition, and the date of that.
    pub(super) partition: Option<(&'a str, Option<&'a str>)>,
    pub(super) ended: Option<&'a str>,
    pub(super) changed: Option<&'a str>,
}

impl Run<'_> {
    pub(super) fn insert(&self, database: &mut Installation) {
        database.execute(&format!(
            "INSERT INTO dag_run (id, dag_id, run_id, state, run_type, run_after, logical_date, partition_key, partition_date, end_date, updated_at, span_status, clear_number) VALUES ({}, {}, {}, '{}', '{}', '{}', {}, {}, {}, {}, {}, 'x', 0)",
            self.id,
            text(self.dag),
            text(&run_name(self.id)),
            self.state,
            self.kind,
            self.after,
            time(self.logical),
            time(self.partition.map(|(key, _)| key)),
            time(self.partition.and_then(|(_, date)| date)),
            time(self.ended),
            time(self.changed)
        ));
    }
}

/// Different dags have runs of the same name.
pub(super) fn run_name(id: i32) -> String {
    format!("run {}", id / 3)
}

/// A uuid as Airflow stores it: on MySQL without dashes.
pub(super) fn uuid(dialect: Dialect, number: i32) -> String {
    let text = format!("00000000-0000-0000-0000-{number:012}");
    match dialect {
        Dialect::Postgres => text,
        Dialect::Mysql | Dialect::Mariadb => text.replace('-', ""),
    }
}

/// A task instance with a row of every kind that hangs on it.
pub(super) fn add_task(
    database: &mut Installation,
    number: i32,
    dag: &str,
    run: i32,
    task: &str,
    map_index: i32,
    state: &str,
) {
    let dialect = database.dialect;
    let id = uuid(dialect, number);
    let names = format!(
        "{}, '{task}', {}, {map_index}",
        text(dag),
        text(&run_name(run))
    );
    let then = "'2025-10-01'";
    let key = if database.dialect == Dialect::Postgres {
        "key"
    } else {
        "`key`"
    };
    for statement in [
        format!(
            "INSERT INTO task_instance (dag_id, task_id, run_id, map_index, id, state, try_number, pool, pool_slots, dag_version_id) VALUES ({names}, '{id}', '{state}', 2, 'p', 1, '00000000000000000000000000000001')"
        ),
        format!(
            "INSERT INTO task_instance_history (dag_id, task_id, run_id, map_index, task_instance_id, try_number, pool, pool_slots) VALUES ({names}, '{}', 1, 'p', 1)",
            uuid(dialect, number + 100_000)
        ),
        format!(
            "INSERT INTO xcom (dag_id, task_id, run_id, map_index, dag_run_id, {key}, timestamp) VALUES ({names}, {run}, 'k', {then}), ({names}, {run}, 'l', {then})"
        ),
        format!(
            "INSERT INTO task_map (dag_id, task_id, run_id, map_index, length) VALUES ({names}, 3)"
        ),
        format!(
            "INSERT INTO rendered_task_instance_fields (dag_id, task_id, run_id, map_index, rendered_fields) VALUES ({names}, '{{}}')"
        ),
        format!(
            "INSERT INTO task_reschedule (ti_id, start_date, end_date, duration, reschedule_date) VALUES ('{id}', {then}, {then}, 1, {then})"
        ),
        format!(
            "INSERT INTO task_instance_note (ti_id, created_at, updated_at) VALUES ('{id}', {then}, {then})"
        ),
        format!(
            "INSERT INTO hitl_detail (ti_id, options, subject, params, created_at, params_input) VALUES ('{id}', '[]', 's', '{{}}', {then}, '{{}}')"
        ),
        format!(
            "INSERT INTO hitl_detail_history (ti_history_id, options, subject, params, created_at, params_input) VALUES ('{}', '[]', 's', '{{}}', {then}, '{{}}')",
            uuid(dialect, number + 100_000)
        ),
    ] {
        database.execute(&statement);
    }
}

/// A row of every kind that hangs on a run itself.
pub(super) fn add_beside(
    database: &mut Installation,
    dag: &str,
    run: i32,
    (missed, callback): (bool, usize),
) {
    let (then, dag, name) = ("'2025-10-01'", text(dag), text(&run_name(run)));
    let key = if database.dialect == Dialect::Postgres {
        "key"
    } else {
        "`key`"
    };
    for statement in [
        format!(
            "INSERT INTO dag_run_note (dag_run_id, created_at, updated_at) VALUES ({run}, {then}, {then})"
        ),
        format!(
            "INSERT INTO dagrun_asset_event (dag_run_id, event_id) VALUES ({run}, 1), ({run}, 3)"
        ),
        format!(
            "INSERT INTO deadline (id, created_at, last_updated_at, dagrun_id, deadline_time, missed, callback_id) VALUES ('{:032}', {then}, {then}, {run}, {then}, {missed}, '{callback:032}')",
            run + 1
        ),
        format!(
            "INSERT INTO task_state_store (dag_run_id, task_id, {key}, dag_id, run_id, value, updated_at) VALUES ({run}, 't', 'k', {dag}, {name}, 'v', {then})"
        ),
        format!(
            "INSERT INTO asset_partition_dag_run (id, target_dag_id, created_dag_run_id, partition_key, created_at, updated_at) VALUES ({run}, {dag}, {run}, 'p', {then}, {then}), ({}, {dag}, NULL, 'q', {then}, {then})",
            run + 1000
        ),
        format!(
            "INSERT INTO partitioned_asset_key_log (asset_id, asset_event_id, asset_partition_dag_run_id, source_partition_key, target_dag_id, target_partition_key, created_at) VALUES (1, 1, {run}, 's', {dag}, 'p', {then}), (1, 2, {}, 's', {dag}, 'q', {then})",
            run + 1000
        ),
        format!(
            "INSERT INTO backfill_dag_run (backfill_id, dag_run_id, sort_ordinal) VALUES (1, {run}, 1)"
        ),
    ] {
        database.execute(&statement);
    }
}

pub(super) const OLD: Run = Run {
    id: 0,
    dag: "a",
    state: "success",
    kind: "manual",
    after: "2025-10-01",
    logical: None,
    partition: None,
    ended: Some("2025-10-02"),
    changed: Some("2025-10-02"),
};
