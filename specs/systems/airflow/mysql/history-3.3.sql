-- A realistic history for Apache Airflow 3.3, loaded into the empty tables of schema-3.3.sql: the same rows, but for
-- their uuids, as postgres/history-3.3.sql has, which tells what is in them. MySQL.
--
-- Its size is the number of dag runs in the variable @windrow_demo_families; 8,000 give about 240,000 rows.
-- @windrow_demo_now, if set, is the instant in UTC that everything is counted back from. ANALYZE the tables afterwards.
SET time_zone = '+00:00';

SET cte_max_recursion_depth = 10000000;

SET @demo_now = COALESCE(CAST(@windrow_demo_now AS DATETIME), UTC_TIMESTAMP()),
    @demo_families = CAST(@windrow_demo_families AS SIGNED);

DROP TEMPORARY TABLE IF EXISTS demo_run, demo_dag, demo_task, demo_number;

START TRANSACTION;

CREATE TEMPORARY TABLE demo_number (number int PRIMARY KEY);

INSERT INTO demo_number VALUES (1), (2), (3), (4), (5), (6), (7), (8);

CREATE TEMPORARY TABLE demo_run (PRIMARY KEY (id), KEY (dag)) AS
WITH RECURSIVE i (id) AS (
    SELECT 1
    UNION ALL
    SELECT i.id + 1 FROM i WHERE i.id < @demo_families
)
SELECT
    r.*,
    CASE
        WHEN r.started + INTERVAL r.lasts MINUTE > @demo_now THEN 'running'
        WHEN r.id % 250 = 5 THEN 'running'
        WHEN r.id % 250 = 6 THEN 'queued'
        WHEN r.id % 10 = 3 OR r.never_began THEN 'failed'
        ELSE 'success'
    END AS state,
    CONCAT(r.dag, '__', DATE_FORMAT(r.started, '%Y-%m-%dT%H:%i:%s'), '_', r.id) AS run
FROM (
    SELECT
        i.id,
        @demo_now - INTERVAL 15552000 * (@demo_families - i.id) DIV @demo_families SECOND AS started,
        3 + i.id % 170 AS lasts,
        i.id % 50 = 2 AS never_began,
        3 + i.id % 6 AS tasks,
        -- The ninth dag was stopped after 60 of the 180 days; the tenth took over.
        ELT(
            IF(i.id % 10 = 8 AND i.id * 3 > @demo_families, 10, 1 + i.id % 10),
            'billing_daily', 'catalogue_sync', 'churn_model', 'clicks_hourly', 'fraud_scores', 'inventory', 'orders_to_lake',
            'reports', 'legacy_export', 'adhoc_queries'
        ) AS dag
    FROM i
) AS r;

CREATE TEMPORARY TABLE demo_dag (PRIMARY KEY (dag)) AS
SELECT d.dag, LEFT(SHA2(CONCAT('version of ', d.dag), 256), 32) AS version
FROM (SELECT DISTINCT r.dag FROM demo_run AS r) AS d;

-- What dag runs and task instances refer to.
INSERT INTO dag_bundle (name, active) VALUES ('dags-folder', true);

INSERT INTO dag (
    dag_id, is_paused, is_stale, fileloc, bundle_name, owners, timetable_type, partition_mapper_info, max_active_tasks,
    max_active_runs, max_consecutive_failed_dag_runs, has_task_concurrency_limits
)
SELECT d.dag, d.dag = 'legacy_export', false, CONCAT('/dags/', d.dag, '.py'), 'dags-folder', 'data', 'CronDataIntervalTimetable', '{}', 16, 16, 0, false
FROM demo_dag AS d;

INSERT INTO dag_version (id, version_number, dag_id, bundle_name, created_at, last_updated)
SELECT d.version, 1, d.dag, 'dags-folder', @demo_now - INTERVAL 200 DAY, @demo_now - INTERVAL 200 DAY
FROM demo_dag AS d;

INSERT INTO log_template (id, filename, elasticsearch_id, created_at)
VALUES (1, 'dag_id={{ ti.dag_id }}', '{dag_id}', @demo_now - INTERVAL 200 DAY);

INSERT INTO backfill (id, dag_id, from_date, to_date, dag_run_conf, is_paused, reprocess_behavior, max_active_runs, created_at, completed_at, updated_at)
VALUES (
    1, 'reports', @demo_now - INTERVAL 180 DAY, @demo_now - INTERVAL 90 DAY, '{}', false, 'none', 4,
    @demo_now - INTERVAL 90 DAY, @demo_now - INTERVAL 80 DAY, @demo_now - INTERVAL 80 DAY
);

INSERT INTO `trigger` (id, classpath, kwargs, created_date)
SELECT r.id, 'airflow.triggers.temporal.DateTimeTrigger', '{}', r.started
FROM demo_run AS r
WHERE r.state = 'running';

INSERT INTO asset (id, name, uri, `group`, extra, created_at, updated_at)
SELECT n.number, CONCAT('lake-', n.number), CONCAT('s3://lake/', n.number), 'asset', '{}', @demo_now - INTERVAL 200 DAY, @demo_now - INTERVAL 200 DAY
FROM demo_number AS n
WHERE n.number <= 5;

-- A run that never began has no start and no end; of every fourth nobody knows when it was changed.
INSERT INTO dag_run (
    id, dag_id, queued_at, logical_date, start_date, end_date, state, run_id, run_type, triggered_by, conf, data_interval_start,
    data_interval_end, run_after, last_scheduling_decision, log_template_id, created_at, updated_at, clear_number,
    backfill_id, created_dag_version_id
)
SELECT
    r.id,
    r.dag,
    r.started - INTERVAL 5 SECOND,
    r.started - INTERVAL r.id MICROSECOND,
    CASE WHEN NOT r.never_began AND r.state <> 'queued' THEN r.started END,
    CASE WHEN NOT r.never_began AND r.state IN ('success', 'failed') THEN r.started + INTERVAL r.lasts MINUTE END,
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
    r.started - INTERVAL 1 DAY,
    r.started,
    r.started,
    r.started,
    1,
    r.started,
    CASE WHEN r.id % 200 <> 52 THEN r.started + INTERVAL r.lasts MINUTE END,
    0,
    CASE WHEN r.dag = 'reports' AND r.id % 3 = 0 THEN 1 END,
    d.version
FROM demo_run AS r
JOIN demo_dag AS d ON d.dag = r.dag;

-- The last task of every fifth run is mapped: three instances of one name.
CREATE TEMPORARY TABLE demo_task (PRIMARY KEY (id), KEY (run_key)) AS
SELECT
    LEFT(SHA2(CONCAT('try ', r.id, ' ', t.number, ' ', m.map_index), 256), 32) AS id,
    r.id AS run_key,
    r.dag,
    r.run,
    r.started,
    r.started + INTERVAL r.lasts MINUTE AS ended,
    r.state AS run_state,
    CONCAT('task_', t.number) AS task,
    t.number,
    m.map_index,
    t.number = r.tasks AS is_last,
    d.version
FROM demo_run AS r
JOIN demo_dag AS d ON d.dag = r.dag
JOIN demo_number AS t ON t.number <= r.tasks
JOIN (SELECT -1 AS map_index UNION ALL SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2) AS m
    ON (m.map_index >= 0) = (r.id % 5 = 0 AND t.number = r.tasks)
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
    CASE WHEN t.run_state <> 'running' OR NOT t.is_last THEN t.ended END,
    60,
    CASE
        WHEN t.is_last AND t.run_state = 'running' THEN IF(t.run_key % 2 = 0, 'deferred', 'running')
        WHEN t.is_last AND t.run_state = 'failed' THEN 'failed'
        ELSE 'success'
    END,
    CASE WHEN t.run_key % 70 = 0 THEN 7 WHEN t.run_key % 7 = 0 THEN 3 ELSE 1 END,
    3,
    CONCAT('worker-', t.run_key % 4),
    'default_pool',
    1,
    'default',
    1,
    'PythonOperator',
    t.started,
    t.ended,
    CASE WHEN t.is_last AND t.run_state = 'running' AND t.run_key % 2 = 0 THEN t.run_key END,
    t.version
FROM demo_task AS t;

-- Two earlier tries of each task of every seventh run, six of every seventieth; a person was asked in some of them.
INSERT INTO task_instance_history (task_instance_id, task_id, dag_id, run_id, map_index, try_number, start_date, end_date, state, pool, pool_slots, dag_version_id)
SELECT LEFT(SHA2(CONCAT('earlier ', t.id, n.number), 256), 32), t.task, t.dag, t.run, t.map_index, n.number, t.started, t.ended, 'failed', 'default_pool', 1, t.version
FROM demo_task AS t
JOIN demo_number AS n ON n.number <= CASE WHEN t.run_key % 70 = 0 THEN 6 ELSE 2 END
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
SELECT t.id, t.started, t.started, 1, t.started + INTERVAL n.number MINUTE
FROM demo_task AS t
JOIN demo_number AS n ON n.number <= 3
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

INSERT INTO xcom (dag_run_id, task_id, map_index, `key`, dag_id, run_id, value, timestamp)
SELECT t.run_key, t.task, t.map_index, IF(n.number = 1, 'return_value', 'rows'), t.dag, t.run, '"0123456789"', t.started
FROM demo_task AS t
JOIN demo_number AS n ON n.number <= 2;

-- What hangs on the run itself.
INSERT INTO dag_run_note (dag_run_id, user_id, content, created_at, updated_at)
SELECT r.id, 'bert', 'see ticket', r.started, r.started
FROM demo_run AS r
WHERE r.id % 25 = 0;

INSERT INTO task_state_store (dag_run_id, task_id, map_index, `key`, dag_id, run_id, value, updated_at, expires_at)
SELECT r.id, 'task_1', -1, 'offset', r.dag, r.run, '17', r.started, CASE WHEN r.id % 2 = 0 THEN r.started + INTERVAL 30 DAY END
FROM demo_run AS r
WHERE r.id % 3 = 0
  AND NOT r.never_began;

INSERT INTO callback (id, type, fetch_method, data, priority_weight, created_at, state)
SELECT LEFT(SHA2(CONCAT('callback ', r.id), 256), 32), 'executor', 'import_path', '{}', 1, r.started, 'success'
FROM demo_run AS r
WHERE r.id % 20 = 1;

INSERT INTO deadline (id, created_at, last_updated_at, dagrun_id, deadline_time, missed, callback_id)
SELECT LEFT(SHA2(CONCAT('deadline ', r.id), 256), 32), r.started, r.started, r.id, r.started + INTERVAL 1 DAY, true, LEFT(SHA2(CONCAT('callback ', r.id), 256), 32)
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
SELECT r.id, r.dag, CASE WHEN r.id % 100 <> 16 THEN r.id END, CONCAT('p', r.id), r.started, r.started
FROM demo_run AS r
WHERE r.dag = 'orders_to_lake';

INSERT INTO partitioned_asset_key_log (asset_id, asset_event_id, asset_partition_dag_run_id, source_partition_key, target_dag_id, target_partition_key, created_at)
SELECT e.asset_id, e.id, p.id, CONCAT('s', e.id), p.target_dag_id, p.partition_key, p.created_at
FROM asset_partition_dag_run AS p
JOIN asset_event AS e ON e.id BETWEEN p.id - 19 AND p.id;

INSERT INTO backfill_dag_run (backfill_id, dag_run_id, logical_date, sort_ordinal)
SELECT r.backfill_id, r.id, r.logical_date, ROW_NUMBER() OVER (ORDER BY r.id)
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

INSERT INTO asset_state_store (asset_id, `key`, value, updated_at, last_updated_by_kind, last_updated_by_dag_id, last_updated_by_run_id)
SELECT 1 + r.id DIV 10 % 5, CONCAT('watermark-', r.id), '17', r.started, 'task', r.dag, r.run
FROM demo_run AS r
WHERE r.id % 10 = 4;

INSERT INTO revoked_token (jti, exp)
SELECT LPAD(r.id, 32, '0'), r.started + INTERVAL 1 DAY
FROM demo_run AS r
WHERE r.id % 10 = 7;

INSERT INTO import_error (timestamp, filename, bundle_name, stacktrace)
SELECT CASE WHEN r.id % 400 <> 28 THEN r.started END, CONCAT(r.dag, '.py'), 'dags-folder', 'SyntaxError: invalid syntax'
FROM demo_run AS r
WHERE r.id % 40 = 28
ORDER BY r.id;

-- A job runs for eight hours. Every tenth crashed without a word.
INSERT INTO job (state, job_type, start_date, end_date, latest_heartbeat, hostname, unixname)
SELECT
    CASE
        WHEN r.started + INTERVAL 8 HOUR > @demo_now OR r.id % 200 = 9 THEN 'running'
        WHEN r.id % 200 = 29 THEN 'failed'
        ELSE 'success'
    END,
    ELT(1 + r.id DIV 20 % 3, 'SchedulerJob', 'TriggererJob', 'DagProcessorJob'),
    r.started,
    CASE WHEN r.started + INTERVAL 8 HOUR <= @demo_now AND r.id % 200 <> 9 THEN r.started + INTERVAL 8 HOUR END,
    LEAST(r.started + INTERVAL 8 HOUR, @demo_now),
    'scheduler-1',
    'airflow'
FROM demo_run AS r
WHERE r.id % 20 = 9
ORDER BY r.id;

-- Of every tenth connection test there is no outcome.
INSERT INTO connection_test_request (id, token, connection_id, state, created_at, updated_at, conn_type)
SELECT
    LEFT(SHA2(CONCAT('test ', r.id), 256), 32),
    CONCAT('token-', r.id),
    'warehouse',
    CASE WHEN r.id % 300 = 12 THEN 'pending' WHEN r.id % 300 = 42 THEN 'failed' ELSE 'success' END,
    r.started,
    r.started + INTERVAL 1 MINUTE,
    'postgres'
FROM demo_run AS r
WHERE r.id % 30 = 12;

COMMIT;

DROP TEMPORARY TABLE demo_run, demo_dag, demo_task, demo_number;
