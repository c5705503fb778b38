-- A realistic history for DolphinScheduler 3.4, loaded into the empty tables of schema-3.4.sql.
--
-- Its size is the number of families in the setting windrow.demo_families; 8,000 give a quarter of a million rows,
-- 1,000 are the fewest that show every oddity below. The rows are the same on every load, but for their distance
-- from now() in UTC, or from the instant in the setting windrow.demo_now if there is one. They are the same in
-- mysql/history-3.4.sql. Load it as one string or with psql, then VACUUM ANALYZE.
--
-- A family is a root workflow instance and its sub-workflows. The roots start evenly over the last 180 days, in the
-- order of their ids; the newest still run. Of ten families six are a root alone, and four have two to four
-- instances, down to the fourth level. An instance has eight to twelve tasks.
--
-- What makes a clean-up hard is all here:
--   * about 1 % of the families, and every nested one among the first fifty, have a running sub-workflow;
--   * sub-workflows that were run again three days ago, far later than their root;
--   * final roots without an end time, instances without a state, roots that have been running for months;
--   * dynamic sub-workflows, which only t_ds_relation_sub_workflow knows;
--   * sub-workflows under two roots; in every other such pair the second root still runs;
--   * relation rows in a circle, and roots that have a parent row as well;
--   * relation rows to ids that have no row, from either end, in both tables;
--   * tasks of an instance that no longer exists;
--   * commands and error commands with the instance id 0: starts that wait, to be left alone;
--   * tasks without a log path, as NULL and as the empty string.
BEGIN;

CREATE TEMPORARY TABLE demo_clock ON COMMIT DROP AS
SELECT date_trunc('second', coalesce(
    nullif(current_setting('windrow.demo_now', true), '')::timestamp,
    now() AT TIME ZONE 'UTC'
)) AS now;

-- The shape of ten families: the kind of the family, the member's number, its parent's number, whether only a dynamic
-- task links it, and where its id stands among the 18 ids of the ten.
CREATE TEMPORARY TABLE demo_shape (
    kind integer,
    member integer,
    parent integer,
    may_be_dynamic boolean,
    place integer
) ON COMMIT DROP;

INSERT INTO demo_shape VALUES
    (0, 1, NULL, false, 1),
    (1, 1, NULL, false, 2),
    (2, 1, NULL, false, 3),
    (3, 1, NULL, false, 4),
    (4, 1, NULL, false, 5),
    (5, 1, NULL, false, 6),
    (6, 1, NULL, false, 7),
    (6, 2, 1, false, 8),
    (7, 1, NULL, false, 9),
    (7, 2, 1, false, 10),
    (7, 3, 2, false, 11),
    (8, 1, NULL, false, 12),
    (8, 2, 1, false, 13),
    (8, 3, 1, true, 14),
    (9, 1, NULL, false, 15),
    (9, 2, 1, false, 16),
    (9, 3, 2, false, 17),
    (9, 4, 3, false, 18);

-- One row for each instance. The draws are remainders by primes: spread like chance, yet always the same.
CREATE TEMPORARY TABLE demo_member ON COMMIT DROP AS
WITH size AS (
    SELECT
        current_setting('windrow.demo_families')::integer AS families,
        -- Every how many-th group of ten families holds the rare oddities.
        greatest(current_setting('windrow.demo_families')::integer / 90, 1) AS rare_every
)
SELECT
    ten * 18 + shape.place AS id,
    family,
    shape.kind,
    shape.member,
    ten * 18 + shape.place - shape.member + 1 AS root_id,
    ten * 18 + shape.place - shape.member + shape.parent AS parent_id,
    shape.may_be_dynamic AND ten % 3 = 0 AS is_dynamic,
    shape.member = max(shape.member) OVER (PARTITION BY family) AND shape.member > 1 AS is_last_sub,
    ten > 5 AND ten % size.rare_every = 0 AS is_rare,
    ten / size.rare_every AS rare_number,
    (family::bigint * 7919 % 10007)::integer AS family_draw,
    ((ten::bigint * 18 + shape.place) * 104729 % 10009 % 100)::integer AS percent,
    clock.now - interval '1 second' * (15552000::bigint * (size.families - family) / size.families) AS root_start,
    interval '1 second' * (600 + family::bigint * 611953 % 3001) AS duration
FROM size
CROSS JOIN demo_clock AS clock
CROSS JOIN LATERAL generate_series(0, (size.families - 1) / 10) AS ten
CROSS JOIN demo_shape AS shape
CROSS JOIN LATERAL (SELECT ten * 10 + shape.kind + 1 AS family) AS numbered
WHERE family <= size.families;

-- The verdict on each instance: what is odd about it, if anything.
CREATE TEMPORARY TABLE demo_instance ON COMMIT DROP AS
SELECT
    member.*,
    8104250113728 + family_draw % 10 * 137438953 AS project_code,
    CASE
        WHEN is_rare AND kind = 7 AND member = 1 AND rare_number % 2 = 0 THEN 'running'
        WHEN is_rare AND kind IN (6, 7) THEN 'final'
        WHEN is_last_sub AND (family <= 50 OR family_draw % 40 = 1) THEN 'running'
        WHEN is_last_sub AND family_draw % 80 = 2 THEN 'run again'
        WHEN member = 1 AND family_draw % 200 = 3 THEN 'without end'
        WHEN member = 1 AND family_draw % 250 = 5 THEN 'running'
        WHEN family_draw % 500 = 4 AND (member = 1 OR is_last_sub) THEN 'without state'
        WHEN root_start + duration > clock.now THEN 'running'
        ELSE 'final'
    END AS verdict
FROM demo_member AS member
CROSS JOIN demo_clock AS clock;

INSERT INTO t_ds_user (id, user_name, user_password, user_type, email, tenant_id, create_time, update_time, state)
SELECT 1, 'admin', '', 0, 'admin@example.com', -1, start, start, 1
FROM (SELECT now - interval '2 years' AS start FROM demo_clock) AS clock;

INSERT INTO t_ds_project (id, name, code, description, user_id, flag, create_time, update_time)
SELECT number + 1, name, 8104250113728 + number * 137438953, name || ' pipelines', 1, 1, start, start
FROM (SELECT now - interval '1 year' AS start FROM demo_clock) AS clock
CROSS JOIN unnest(ARRAY[
    'billing', 'catalogue', 'clickstream', 'finance', 'fraud', 'inventory', 'marketing', 'orders', 'reporting', 'search'
]) WITH ORDINALITY AS named (name, place)
CROSS JOIN LATERAL (SELECT place - 1 AS number) AS counted;

INSERT INTO t_ds_task_group (id, name, group_size, project_code, use_size, user_id, status, create_time, update_time)
SELECT number, 'warehouse-' || number, 10, 8104250113728 + (number - 1) * 137438953, 0, 1, 1, start, start
FROM generate_series(1, 10) AS number
CROSS JOIN (SELECT now - interval '1 year' AS start FROM demo_clock) AS clock;

INSERT INTO t_ds_workflow_instance (
    id, name, workflow_definition_code, workflow_definition_version, project_code, state, state_history, recovery,
    start_time, end_time, run_times, host, command_type, command_param, task_depend_type, max_try_times,
    failure_strategy, warning_type, warning_group_id, schedule_time, command_start_time, global_params, flag,
    update_time, is_sub_workflow, executor_id, executor_name, history_cmd, workflow_instance_priority, worker_group,
    tenant_code, dry_run, next_workflow_instance_id, restart_time
)
SELECT
    id,
    CASE member WHEN 1 THEN 'daily_load' ELSE 'sub_load_' || member END
        || '-' || family % 20 || '-' || to_char(start_time, 'YYYYMMDDHH24MISSMS'),
    project_code + 1000 + family % 20 * 8 + member,
    1 + family_draw % 4,
    project_code,
    CASE
        WHEN verdict = 'running' THEN 1
        WHEN verdict = 'without state' THEN NULL
        WHEN verdict = 'without end' OR percent < 88 THEN 7
        WHEN percent < 94 THEN 6
        WHEN percent < 97 THEN 5
        ELSE 3
    END,
    '[{"time":"' || to_char(start_time, 'YYYY-MM-DD HH24:MI:SS') || '","state":"RUNNING_EXECUTION","desc":"start"}]',
    0,
    start_time,
    end_time,
    CASE verdict WHEN 'run again' THEN 2 ELSE 1 END,
    'master-' || family_draw % 3 || '.internal:5678',
    CASE WHEN member = 1 THEN 6 ELSE 0 END,
    '{"schedule_timezone":"UTC"}',
    2,
    0,
    1,
    'ALL',
    1,
    date_trunc('hour', start_time),
    start_time,
    '[]',
    1,
    coalesce(end_time, start_time),
    CASE WHEN member = 1 THEN 0 ELSE 1 END,
    1,
    'admin',
    CASE WHEN member = 1 THEN 'SCHEDULER' ELSE 'START_PROCESS' END,
    2,
    'default',
    'default',
    0,
    0,
    start_time
FROM demo_instance AS instance
CROSS JOIN demo_clock AS clock
CROSS JOIN LATERAL (
    SELECT
        root_start + interval '1 minute' * (member - 1) AS start_time,
        CASE
            WHEN verdict = 'run again' THEN clock.now - interval '3 days'
            WHEN verdict IN ('final', 'without state') THEN root_start + duration - interval '1 minute' * (member - 1)
        END AS end_time
) AS times
ORDER BY id;

-- Five instances share 50 task ids, and have 8, 9, 10, 11 and 12 tasks.
INSERT INTO t_ds_task_instance (
    id, name, task_type, task_execute_type, task_code, task_definition_version, workflow_instance_id,
    workflow_instance_name, project_code, state, submit_time, start_time, end_time, host, log_path,
    alert_flag, retry_times, pid, task_params, flag, retry_interval, max_retry_times, task_instance_priority,
    worker_group, executor_id, executor_name, first_submit_time, delay_time, task_group_id, var_pool, dry_run
)
SELECT
    task.id,
    'load_partition_' || task.number,
    'SHELL',
    0,
    instance.workflow_definition_code + 500000 + task.number,
    1,
    instance.id,
    instance.name,
    instance.project_code,
    CASE WHEN instance.end_time IS NULL AND task.number = 7 THEN 1 ELSE 7 END,
    instance.start_time,
    instance.start_time + interval '1 second' * task.number,
    CASE
        WHEN instance.end_time IS NULL AND task.number = 7 THEN NULL
        ELSE instance.start_time + interval '10 seconds' * task.number
    END,
    CASE WHEN task.id % 37 = 0 THEN NULL ELSE 'worker-' || task.id % 6 || '.internal:1234' END,
    CASE
        WHEN task.id % 37 = 0 THEN NULL
        WHEN task.id % 41 = 0 THEN ''
        ELSE '/opt/dolphinscheduler/logs/' || to_char(instance.start_time, 'YYYYMMDD') || '/'
            || instance.workflow_definition_code || '/' || instance.workflow_definition_version || '/'
            || instance.id || '/' || task.id || '.log'
    END,
    0,
    0,
    1000 + task.id % 30000,
    '{"rawScript":"load.sh ' || task.number || '"}',
    1,
    1,
    0,
    2,
    'default',
    1,
    'admin',
    instance.start_time,
    0,
    0,
    '[]',
    0
FROM t_ds_workflow_instance AS instance
CROSS JOIN LATERAL (
    SELECT
        (instance.id - 1) / 5 * 50 + (ARRAY[0, 8, 17, 27, 38])[(instance.id - 1) % 5 + 1] + number AS id,
        number
    FROM generate_series(1, 8 + (instance.id - 1) % 5) AS number
) AS task
ORDER BY task.id;

INSERT INTO t_ds_task_instance_context (id, task_instance_id, context, context_type, create_time, update_time)
SELECT
    id / 3,
    id,
    '[{"projectCode":' || project_code || ',"dependentResult":"SUCCESS","date":"' || submit_time::date || '"}]',
    'DEPENDENT_RESULT_CONTEXT',
    submit_time,
    submit_time
FROM t_ds_task_instance
WHERE id % 3 = 0
ORDER BY id;

INSERT INTO t_ds_task_group_queue (
    id, task_id, task_name, group_id, workflow_instance_id, priority, status, force_start, in_queue, create_time,
    update_time
)
SELECT
    id / 10,
    id,
    name,
    1 + id / 10 % 10,
    workflow_instance_id,
    0,
    CASE WHEN end_time IS NULL THEN 1 ELSE 2 END,
    0,
    0,
    submit_time,
    coalesce(end_time, submit_time)
FROM t_ds_task_instance
WHERE id % 10 = 0
ORDER BY id;

INSERT INTO t_ds_alert (
    id, title, sign, content, alert_status, warning_type, log, alertgroup_id, create_time, update_time, project_code,
    workflow_definition_code, workflow_instance_id, alert_type
)
SELECT
    id / 2,
    CASE state WHEN 7 THEN 'success' ELSE 'failure' END || ' of workflow ' || name,
    left(encode(sha256(id::text::bytea), 'hex'), 32) || lpad(to_hex(id), 8, '0'),
    '[{"projectCode":' || project_code || ',"workflowInstanceId":' || id || ',"workflowName":"' || name || '"}]',
    1,
    CASE state WHEN 7 THEN 1 ELSE 2 END,
    'all instances sent',
    1,
    coalesce(end_time, start_time),
    coalesce(end_time, start_time),
    project_code,
    workflow_definition_code,
    id,
    CASE state WHEN 7 THEN 1 ELSE 2 END
FROM t_ds_workflow_instance
WHERE id % 2 = 0
ORDER BY id;

INSERT INTO t_ds_alert_send_status (id, alert_id, alert_plugin_instance_id, send_status, log, create_time)
SELECT
    (alert.id - 1) * 2 + plugin,
    alert.id,
    plugin,
    1,
    '{"success":true,"message":"sent"}',
    alert.create_time
FROM t_ds_alert AS alert
CROSS JOIN generate_series(1, 2) AS plugin
ORDER BY alert.id, plugin;

INSERT INTO t_ds_serial_command (
    workflow_definition_code, workflow_definition_version, workflow_instance_id, state, command, create_time,
    update_time
)
SELECT workflow_definition_code, workflow_definition_version, id, 0, '{"commandType":6}', start_time, start_time
FROM t_ds_workflow_instance
WHERE id % 400 = 0
ORDER BY id;

-- Commands of existing instances, then the starts that have no instance yet.
INSERT INTO t_ds_command (
    command_type, workflow_definition_code, command_param, task_depend_type, failure_strategy, warning_type,
    start_time, executor_id, update_time, worker_group, workflow_instance_id, workflow_definition_version
)
SELECT
    7, workflow_definition_code, '{"recoverWorkflowInstance":' || id || '}', 2, 1, 'NONE', start_time, 1, start_time,
    'default', id, workflow_definition_version
FROM t_ds_workflow_instance
WHERE id % 500 = 0
ORDER BY id;

INSERT INTO t_ds_command (
    command_type, workflow_definition_code, command_param, task_depend_type, failure_strategy, warning_type,
    start_time, executor_id, update_time, worker_group, workflow_instance_id, workflow_definition_version
)
SELECT 0, 8104250114728 + number, '{}', 2, 1, 'NONE', wanted, 1, wanted, 'default', 0, 1
FROM generate_series(1, 25) AS number
CROSS JOIN LATERAL (SELECT now - interval '5 days' * number AS wanted FROM demo_clock) AS clock
ORDER BY number;

-- The id of an error command is that of the command it was; the sequence of commands goes on above them.
INSERT INTO t_ds_error_command (
    id, command_type, workflow_definition_code, command_param, task_depend_type, failure_strategy, warning_type,
    start_time, executor_id, update_time, worker_group, message, workflow_instance_id, workflow_definition_version
)
SELECT
    1000000 + id / 200, 7, workflow_definition_code, '{}', 2, 1, 'NONE', start_time, 1, start_time, 'default',
    'workflow instance is not in a state to recover', id, workflow_definition_version
FROM t_ds_workflow_instance
WHERE id % 200 = 0
UNION ALL
SELECT
    999900 + number, 0, 8104250114728 + number, '{}', 2, 1, 'NONE', failed, 1, failed, 'default',
    'workflow definition does not exist', 0, 1
FROM generate_series(1, 10) AS number
CROSS JOIN LATERAL (SELECT now - interval '9 days' * number AS failed FROM demo_clock) AS clock;

INSERT INTO t_ds_relation_workflow_instance (
    parent_workflow_instance_id, parent_task_instance_id, workflow_instance_id
)
SELECT
    parent_id,
    (parent_id - 1) / 5 * 50 + (ARRAY[0, 8, 17, 27, 38])[(parent_id - 1) % 5 + 1] + 1,
    id
FROM demo_instance
WHERE parent_id IS NOT NULL AND NOT is_dynamic
ORDER BY id;

INSERT INTO t_ds_relation_sub_workflow (parent_workflow_instance_id, parent_task_code, sub_workflow_instance_id)
SELECT parent_id, project_code + 501001 + family % 20 * 8 + 1, id
FROM demo_instance
WHERE is_dynamic
ORDER BY id;

-- The rare oddities of the relation tables, in a few groups of ten families each; kinds as in the shape above.
INSERT INTO t_ds_relation_workflow_instance (
    parent_workflow_instance_id, parent_task_instance_id, workflow_instance_id
)
SELECT parent, 0, child
FROM (
    -- The sub-workflow of one root is also under the next root.
    SELECT 'a' AS oddity, shared.id, other.id AS parent, shared.id AS child
    FROM demo_instance AS shared
    JOIN demo_instance AS other ON other.family = shared.family + 1 AND other.member = 1
    WHERE shared.is_rare AND shared.kind = 6 AND shared.member = 2
    UNION ALL
    -- The deepest sub-workflow is the parent of its own ancestor: a circle below the root.
    SELECT 'b', id, id, root_id + 1
    FROM demo_instance
    WHERE is_rare AND kind = 9 AND member = 4 AND rare_number % 2 = 0
    UNION ALL
    -- The deepest sub-workflow is the parent of the root: a circle through it, and a root with a parent row.
    SELECT 'c', id, id, root_id
    FROM demo_instance
    WHERE is_rare AND kind = 9 AND member = 4 AND rare_number % 2 = 1
    UNION ALL
    -- A parent without its sub-workflow, and a root whose parent is gone.
    SELECT 'd', id, id, 1000000000 + id
    FROM demo_instance
    WHERE is_rare AND kind = 0
    UNION ALL
    SELECT 'e', id, 1000000000 + id, id
    FROM demo_instance
    WHERE is_rare AND kind = 1
) AS rare
ORDER BY oddity, id;

INSERT INTO t_ds_relation_sub_workflow (parent_workflow_instance_id, parent_task_code, sub_workflow_instance_id)
SELECT parent, project_code + 501001, child
FROM (
    SELECT kind, id, project_code, id AS parent, 1000000000 + id AS child
    FROM demo_instance
    WHERE is_rare AND kind = 2
    UNION ALL
    SELECT kind, id, project_code, 1000000000 + id, id
    FROM demo_instance
    WHERE is_rare AND kind = 3
) AS rare
ORDER BY kind, id;

-- Tasks whose instance was deleted by hand long ago.
INSERT INTO t_ds_task_instance (
    id, name, task_type, task_code, workflow_instance_id, project_code, state, submit_time, start_time, end_time, host,
    log_path
)
SELECT
    1000000000 + id, 'left_behind', 'SHELL', project_code + 501001, 1000000000 + id, project_code, 7, root_start,
    root_start, root_start + duration, 'worker-0.internal:1234',
    '/opt/dolphinscheduler/logs/left_behind/' || id || '.log'
FROM demo_instance
WHERE is_rare AND kind = 4;

-- The sequences go on above every id in use, those that have no row included.
SELECT
    setval('t_ds_user_id_sequence', (SELECT max(id) FROM t_ds_user)),
    setval('t_ds_project_id_sequence', (SELECT max(id) FROM t_ds_project)),
    setval('t_ds_task_group_id_seq', (SELECT max(id) FROM t_ds_task_group)),
    setval('t_ds_workflow_instance_id_sequence', 1000000000 + (SELECT max(id) FROM t_ds_workflow_instance)),
    setval('t_ds_task_instance_id_sequence', (SELECT max(id) FROM t_ds_task_instance)),
    setval('t_ds_task_instance_context_id_seq', (SELECT max(id) FROM t_ds_task_instance_context)),
    setval('t_ds_task_group_queue_id_seq', (SELECT max(id) FROM t_ds_task_group_queue)),
    setval('t_ds_alert_id_sequence', (SELECT max(id) FROM t_ds_alert)),
    setval('t_ds_alert_send_status_id_seq', (SELECT max(id) FROM t_ds_alert_send_status)),
    setval('t_ds_command_id_sequence', (SELECT max(id) FROM t_ds_error_command));

COMMIT;
