-- A realistic history for Apache Airflow 3.3, loaded into the empty tables of schema-3.3.sql.
--
-- Its size is the number of dag runs in the setting windrow.demo_families; 8,000 give about 240,000 rows, 1,000 are the fewest
-- that show every oddity below. The rows are the same on every load, but for their distance from now(), or from the instant
-- in the setting windrow.demo_now (in UTC) if there is one. Load it as one string or with psql, then VACUUM ANALYZE.
--
-- The dag runs start evenly over the last 180 days, in the order of their ids; the newest still run. Each has three to eight
-- task instances with their xcoms and rendered fields, earlier tries, mapped tasks, reschedules, notes, questions to people.
--
-- What makes a clean-up hard is all here:
--   * runs that have been running or queued for months;
--   * runs that were marked as failed before they began, and have no end date; some of them have no date at all;
--   * a dag that was stopped 120 days ago: its last run is old, and says where its schedule would go on;
--   * a dag of which all runs are by hand;
--   * a backfill, whose lines outlive the runs;
--   * partitions that wait for their run, and deadlines of runs that are long gone;
--   * tasks that are deferred or running in runs that run, with triggers that must not go;
--   * task state that expires while its run still runs; state of assets that were given up, written lately and long ago;
--   * jobs that crashed and still say that they run; connection tests that nobody took up; errors without a date.
BEGIN;
SET LOCAL timezone = 'UTC';

CREATE TEMPORARY TABLE demo_run ON COMMIT DROP AS
SELECT
    r.*,
    CASE
        WHEN r.started + r.lasts > r.now THEN 'running'
        WHEN r.id % 250 = 5 THEN 'running'
        WHEN r.id % 250 = 6 THEN 'queued'
        WHEN r.id % 10 = 3 OR r.never_began THEN 'failed'
        ELSE 'success'
    END AS state,
    r.dag || '__' || to_char(r.started, 'YYYY-MM-DD"T"HH24:MI:SS') || '_' || r.id AS run
FROM (
    SELECT
        i.id,
        c.now,
        c.now - make_interval(secs => 15552000::bigint * (c.families - i.id) / c.families) AS started,
        interval '1 minute' * (3 + i.id % 170) AS lasts,
        i.id % 50 = 2 AS never_began,
        3 + i.id % 6 AS tasks,
        -- The ninth dag was stopped after 60 of the 180 days; the tenth took over.
        (ARRAY[
            'billing_daily', 'catalogue_sync', 'churn_model', 'clicks_hourly', 'fraud_scores', 'inventory', 'orders_to_lake',
            'reports', 'legacy_export', 'adhoc_queries'
        ])[CASE WHEN i.id % 10 = 8 AND i.id * 3 > c.families THEN 10 ELSE 1 + i.id % 10 END] AS dag
    FROM (
        SELECT
            current_setting('windrow.demo_families')::integer AS families,
            date_trunc('second', coalesce(
                nullif(current_setting('windrow.demo_now', true), '')::timestamp AT TIME ZONE 'UTC',
                now()
            )) AS now
    ) AS c
    CROSS JOIN LATERAL generate_series(1, c.families) AS i(id)
) AS r;

CREATE TEMPORARY TABLE demo_dag ON COMMIT DROP AS
SELECT d.dag, d.now, row_number() OVER (ORDER BY d.dag)::integer AS number, md5('version of ' || d.dag)::uuid AS version
FROM (SELECT DISTINCT r.dag, r.now FROM demo_run AS r) AS d;

-- What dag runs and task instances refer to.
INSERT INTO dag_bundle (name, active) VALUES ('dags-folder', true);

INSERT INTO dag (
    dag_id, is_paused, is_stale, fileloc, bundle_name, owners, timetable_type, partition_mapper_info, max_active_tasks,
    max_active_runs, max_consecutive_failed_dag_runs, has_task_concurrency_limits
)
SELECT d.dag, d.dag = 'legacy_export', false, '/dags/' || d.dag || '.py', 'dags-folder', 'data', 'CronDataIntervalTimetable', '{}', 16, 16, 0, false
FROM demo_dag AS d;

INSERT INTO dag_version (id, version_number, dag_id, bundle_name, created_at, last_updated)
SELECT d.version, 1, d.dag, 'dags-folder', d.now - interval '200 days', d.now - interval '200 days'
FROM demo_dag AS d;

INSERT INTO log_template (id, filename, elasticsearch_id, created_at)
SELECT 1, 'dag_id={{ ti.dag_id }}', '{dag_id}', min(d.now) - interval '200 days'
FROM demo_dag AS d;

INSERT INTO backfill (id, dag_id, from_date, to_date, dag_run_conf, is_paused, reprocess_behavior, max_active_runs, created_at, completed_at, updated_at)
SELECT 1, 'reports', d.now - interval '180 days', d.now - interval '90 days', '{}', false, 'none', 4, d.now - interval '90 days', d.now - interval '80 days', d.now - interval '80 days'
FROM demo_dag AS d
WHERE d.dag = 'reports';

INSERT INTO trigger (id, classpath, kwargs, created_date)
SELECT r.id, 'airflow.triggers.temporal.DateTimeTrigger', '{}', r.started
FROM demo_run AS r
WHERE r.state = 'running';

INSERT INTO asset (id, name, uri, "group", extra, created_at, updated_at)
SELECT a.id, 'lake-' || a.id, 's3://lake/' || a.id, 'asset', '{}', d.now - interval '200 days', d.now - interval '200 days'
FROM (SELECT min(n.now) AS now FROM demo_dag AS n) AS d
CROSS JOIN generate_series(1, 5) AS a(id);

-- A run that never began has no start and no end; of every fourth nobody knows when it was changed.
INSERT INTO dag_run (
    id, dag_id, queued_at, logical_date, start_date, end_date, state, run_id, run_type, triggered_by, conf, data_interval_start,
    data_interval_end, run_after, last_scheduling_decision, log_template_id, created_at, updated_at, clear_number,
    backfill_id, created_dag_version_id
)
SELECT
    r.id,
    r.dag,
    r.started - interval '5 seconds',
    r.started - r.id * interval '1 microsecond',
    CASE WHEN NOT r.never_began AND r.state <> 'queued' THEN r.started END,
    CASE WHEN NOT r.never_began AND r.state IN ('success', 'failed') THEN r.started + r.lasts END,
    r.state,
    r.run,
    CASE
        WHEN r.dag = 'adhoc_queries' THEN 'manual'
        WHEN r.dag = 'reports' AND r.id % 3 = 0 THEN 'backfill'
        WHEN r.dag = 'orders_to_lake' THEN 'asset_triggered'
        WHEN r.id % 40 = 11 THEN 'manual'
        ELSE 'scheduled'
    END,
    'timetable',
    '{}',
    r.started - interval '1 day',
    r.started,
    r.started,
    r.started,
    1,
    r.started,
    CASE WHEN r.id % 200 <> 52 THEN r.started + r.lasts END,
    0,
    CASE WHEN r.dag = 'reports' AND r.id % 3 = 0 THEN 1 END,
    d.version
FROM demo_run AS r
JOIN demo_dag AS d ON d.dag = r.dag;

-- The last task of every fifth run is mapped: three instances of one name.
CREATE TEMPORARY TABLE demo_task ON COMMIT DROP AS
SELECT
    md5('try ' || r.id || ' ' || t.number || ' ' || m.map_index)::uuid AS id,
    r.id AS run_key,
    r.dag,
    r.run,
    r.started,
    r.lasts,
    r.state AS run_state,
    'task_' || t.number AS task,
    t.number,
    m.map_index,
    t.number = r.tasks AS is_last,
    d.version
FROM demo_run AS r
JOIN demo_dag AS d ON d.dag = r.dag
CROSS JOIN LATERAL generate_series(1, r.tasks) AS t(number)
CROSS JOIN LATERAL (
    SELECT -1 AS map_index WHERE r.id % 5 > 0 OR t.number < r.tasks
    UNION ALL
    SELECT g.map_index FROM generate_series(0, 2) AS g(map_index) WHERE r.id % 5 = 0 AND t.number = r.tasks
) AS m
WHERE NOT r.never_began
  AND r.state <> 'queued';

INSERT INTO task_instance (
    id, task_id, dag_id, run_id, map_index, start_date, end_date, duration, state, try_number, max_tries, hostname, pool,
    pool_slots, queue, priority_weight, operator, queued_dttm, updated_at, trigger_id, dag_version_id
)
SELECT
    t.id,
    t.task,
    t.dag,
    t.run,
    t.map_index,
    t.started,
    CASE WHEN t.run_state <> 'running' OR NOT t.is_last THEN t.started + t.lasts END,
    60,
    CASE
        WHEN t.is_last AND t.run_state = 'running' THEN CASE WHEN t.run_key % 2 = 0 THEN 'deferred' ELSE 'running' END
        WHEN t.is_last AND t.run_state = 'failed' THEN 'failed'
        ELSE 'success'
    END,
    CASE WHEN t.run_key % 70 = 0 THEN 7 WHEN t.run_key % 7 = 0 THEN 3 ELSE 1 END,
    3,
    'worker-' || t.run_key % 4,
    'default_pool',
    1,
    'default',
    1,
    'PythonOperator',
    t.started,
    t.started + t.lasts,
    CASE WHEN t.is_last AND t.run_state = 'running' AND t.run_key % 2 = 0 THEN t.run_key END,
    t.version
FROM demo_task AS t;

-- Two earlier tries of each task of every seventh run, six of every seventieth; a person was asked in some of them.
INSERT INTO task_instance_history (task_instance_id, task_id, dag_id, run_id, map_index, try_number, start_date, end_date, state, pool, pool_slots, dag_version_id)
SELECT md5('earlier ' || t.id || n.number)::uuid, t.task, t.dag, t.run, t.map_index, n.number, t.started, t.started + t.lasts, 'failed', 'default_pool', 1, t.version
FROM demo_task AS t
CROSS JOIN LATERAL generate_series(1, CASE WHEN t.run_key % 70 = 0 THEN 6 ELSE 2 END) AS n(number)
WHERE t.run_key % 7 = 0;

INSERT INTO hitl_detail_history (ti_history_id, options, subject, params, created_at, params_input)
SELECT h.task_instance_id, '["yes", "no"]', 'Go on?', '{}', h.start_date, '{}'
FROM task_instance_history AS h
WHERE h.task_id = 'task_2'
  AND h.try_number = 2;

INSERT INTO hitl_detail (ti_id, options, subject, params, created_at, params_input)
SELECT t.id, '["yes", "no"]', 'Go on?', '{}', t.started, '{}'
FROM demo_task AS t
WHERE t.number = 2
  AND t.run_key % 7 = 0;

INSERT INTO task_instance_note (ti_id, user_id, content, created_at, updated_at)
SELECT t.id, 'anna', 'looked at', t.started, t.started
FROM demo_task AS t
WHERE t.number = 1
  AND t.run_key % 30 = 0;

INSERT INTO task_reschedule (ti_id, start_date, end_date, duration, reschedule_date)
SELECT t.id, t.started, t.started, 1, t.started + n.number * interval '1 minute'
FROM demo_task AS t
CROSS JOIN generate_series(1, 3) AS n(number)
WHERE t.number = 1
  AND t.run_key % 4 = 1;

INSERT INTO rendered_task_instance_fields (dag_id, task_id, run_id, map_index, rendered_fields)
SELECT t.dag, t.task, t.run, t.map_index, '{"op_args": "[]"}'
FROM demo_task AS t;

INSERT INTO task_map (dag_id, task_id, run_id, map_index, length)
SELECT t.dag, t.task, t.run, t.map_index, 3
FROM demo_task AS t
WHERE t.run_key % 5 = 0
  AND t.number = 1;

INSERT INTO xcom (dag_run_id, task_id, map_index, key, dag_id, run_id, value, timestamp)
SELECT t.run_key, t.task, t.map_index, k.key, t.dag, t.run, '"0123456789"', t.started
FROM demo_task AS t
CROSS JOIN (VALUES ('return_value'), ('rows')) AS k(key);

-- What hangs on the run itself.
INSERT INTO dag_run_note (dag_run_id, user_id, content, created_at, updated_at)
SELECT r.id, 'bert', 'see ticket', r.started, r.started
FROM demo_run AS r
WHERE r.id % 25 = 0;

INSERT INTO task_state_store (dag_run_id, task_id, map_index, key, dag_id, run_id, value, updated_at, expires_at)
SELECT r.id, 'task_1', -1, 'offset', r.dag, r.run, '17', r.started, CASE WHEN r.id % 2 = 0 THEN r.started + interval '30 days' END
FROM demo_run AS r
WHERE r.id % 3 = 0
  AND NOT r.never_began;

INSERT INTO callback (id, type, fetch_method, data, priority_weight, created_at, state)
SELECT md5('callback ' || r.id)::uuid, 'executor', 'import_path', '{}', 1, r.started, 'success'
FROM demo_run AS r
WHERE r.id % 20 = 1;

INSERT INTO deadline (id, created_at, last_updated_at, dagrun_id, deadline_time, missed, callback_id)
SELECT md5('deadline ' || r.id)::uuid, r.started, r.started, r.id, r.started + interval '1 day', true, md5('callback ' || r.id)::uuid
FROM demo_run AS r
WHERE r.id % 20 = 1;

INSERT INTO asset_event (id, asset_id, extra, source_task_id, source_dag_id, source_run_id, timestamp)
SELECT r.id, 1 + r.id % 5, '{}', 'task_1', r.dag, r.run, r.started
FROM demo_run AS r
WHERE r.dag = 'catalogue_sync';

INSERT INTO dagrun_asset_event (dag_run_id, event_id)
SELECT r.id, e.id
FROM demo_run AS r
JOIN asset_event AS e ON e.id BETWEEN r.id - 19 AND r.id
WHERE r.dag = 'orders_to_lake';

-- Every tenth partition waits for its run.
INSERT INTO asset_partition_dag_run (id, target_dag_id, created_dag_run_id, partition_key, created_at, updated_at)
SELECT r.id, r.dag, CASE WHEN r.id % 100 <> 16 THEN r.id END, 'p' || r.id, r.started, r.started
FROM demo_run AS r
WHERE r.dag = 'orders_to_lake';

INSERT INTO partitioned_asset_key_log (asset_id, asset_event_id, asset_partition_dag_run_id, source_partition_key, target_dag_id, target_partition_key, created_at)
SELECT e.asset_id, e.id, p.id, 's' || e.id, p.target_dag_id, p.partition_key, p.created_at
FROM asset_partition_dag_run AS p
JOIN asset_event AS e ON e.id BETWEEN p.id - 19 AND p.id;

INSERT INTO backfill_dag_run (backfill_id, dag_run_id, logical_date, sort_ordinal)
SELECT r.backfill_id, r.id, r.logical_date, row_number() OVER (ORDER BY r.id)
FROM dag_run AS r
WHERE r.backfill_id IS NOT NULL;

-- The audit log names runs, without a foreign key.
INSERT INTO log (dttm, dag_id, task_id, map_index, event, run_id, owner, try_number)
SELECT t.started, t.dag, t.task, t.map_index, 'success', t.run, 'data', 1
FROM demo_task AS t
WHERE t.number = 1;

-- What hangs on no run. Two of the five assets were given up.
INSERT INTO asset_active (name, uri)
SELECT a.name, a.uri
FROM asset AS a
WHERE a.id <= 3;

INSERT INTO asset_state_store (asset_id, key, value, updated_at, last_updated_by_kind, last_updated_by_dag_id, last_updated_by_run_id)
SELECT 1 + r.id / 10 % 5, 'watermark-' || r.id, '17', r.started, 'task', r.dag, r.run
FROM demo_run AS r
WHERE r.id % 10 = 4;

INSERT INTO revoked_token (jti, exp)
SELECT lpad(r.id::text, 32, '0'), r.started + interval '1 day'
FROM demo_run AS r
WHERE r.id % 10 = 7;

INSERT INTO import_error (timestamp, filename, bundle_name, stacktrace)
SELECT CASE WHEN r.id % 400 <> 28 THEN r.started END, r.dag || '.py', 'dags-folder', 'SyntaxError: invalid syntax'
FROM demo_run AS r
WHERE r.id % 40 = 28
ORDER BY r.id;

-- A job runs for eight hours. Every tenth crashed without a word.
INSERT INTO job (state, job_type, start_date, end_date, latest_heartbeat, hostname, unixname)
SELECT
    CASE
        WHEN r.started + interval '8 hours' > r.now OR r.id % 200 = 9 THEN 'running'
        WHEN r.id % 200 = 29 THEN 'failed'
        ELSE 'success'
    END,
    (ARRAY['SchedulerJob', 'TriggererJob', 'DagProcessorJob'])[1 + r.id / 20 % 3],
    r.started,
    CASE WHEN r.started + interval '8 hours' <= r.now AND r.id % 200 <> 9 THEN r.started + interval '8 hours' END,
    least(r.started + interval '8 hours', r.now),
    'scheduler-1',
    'airflow'
FROM demo_run AS r
WHERE r.id % 20 = 9
ORDER BY r.id;

-- Of every tenth connection test there is no outcome.
INSERT INTO connection_test_request (id, token, connection_id, state, created_at, updated_at, conn_type)
SELECT
    md5('test ' || r.id)::uuid,
    'token-' || r.id,
    'warehouse',
    CASE WHEN r.id % 300 = 12 THEN 'pending' WHEN r.id % 300 = 42 THEN 'failed' ELSE 'success' END,
    r.started,
    r.started + interval '1 minute',
    'postgres'
FROM demo_run AS r
WHERE r.id % 30 = 12;

SELECT
    setval('dag_run_id_seq', (SELECT max(r.id) FROM dag_run AS r)),
    setval('asset_id_seq', 5),
    setval('asset_event_id_seq', (SELECT max(e.id) FROM asset_event AS e)),
    setval('asset_partition_dag_run_id_seq', (SELECT max(p.id) FROM asset_partition_dag_run AS p)),
    setval('trigger_id_seq', (SELECT max(t.id) FROM trigger AS t));

COMMIT;
