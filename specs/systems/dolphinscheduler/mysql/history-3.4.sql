-- A realistic history for DolphinScheduler 3.4, loaded into the empty tables of schema-3.4.sql: the same rows as
-- postgres/history-3.4.sql has, which tells what is in them. MySQL and MariaDB.
--
-- Its size is the number of families in the variable @windrow_demo_families; 8,000 give a quarter of a million rows.
-- @windrow_demo_now, if set, is the instant in UTC that everything is counted back from. ANALYZE the tables afterwards.
SET time_zone = '+00:00';

SET @demo_now = COALESCE(CAST(@windrow_demo_now AS DATETIME), UTC_TIMESTAMP()),
    @demo_families = CAST(@windrow_demo_families AS SIGNED);

-- Every how many-th group of ten families holds the rare oddities.
SET @demo_rare_every = GREATEST(@demo_families DIV 90, 1);

DROP TEMPORARY TABLE IF EXISTS demo_member;

DROP TEMPORARY TABLE IF EXISTS demo_instance;

START TRANSACTION;

-- One row for each instance. The draws are remainders by primes: spread like chance, yet always the same.
CREATE TEMPORARY TABLE demo_member AS
WITH digit (n) AS (
    SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
    UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9
),
ten (ten) AS (
    SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n
    FROM digit AS a
    CROSS JOIN digit AS b
    CROSS JOIN digit AS c
    CROSS JOIN digit AS d
    CROSS JOIN digit AS e
),
-- The shape of ten families: the kind of the family, the member's number, its parent's number, whether only a dynamic
-- task links it, and where its id stands among the 18 ids of the ten.
shape (kind, member, parent, may_be_dynamic, place) AS (
    SELECT 0, 1, NULL, 0, 1
    UNION ALL SELECT 1, 1, NULL, 0, 2
    UNION ALL SELECT 2, 1, NULL, 0, 3
    UNION ALL SELECT 3, 1, NULL, 0, 4
    UNION ALL SELECT 4, 1, NULL, 0, 5
    UNION ALL SELECT 5, 1, NULL, 0, 6
    UNION ALL SELECT 6, 1, NULL, 0, 7
    UNION ALL SELECT 6, 2, 1, 0, 8
    UNION ALL SELECT 7, 1, NULL, 0, 9
    UNION ALL SELECT 7, 2, 1, 0, 10
    UNION ALL SELECT 7, 3, 2, 0, 11
    UNION ALL SELECT 8, 1, NULL, 0, 12
    UNION ALL SELECT 8, 2, 1, 0, 13
    UNION ALL SELECT 8, 3, 1, 1, 14
    UNION ALL SELECT 9, 1, NULL, 0, 15
    UNION ALL SELECT 9, 2, 1, 0, 16
    UNION ALL SELECT 9, 3, 2, 0, 17
    UNION ALL SELECT 9, 4, 3, 0, 18
)
SELECT
    ten * 18 + place AS id,
    ten * 10 + kind + 1 AS family,
    kind,
    member,
    ten * 18 + place - member + 1 AS root_id,
    ten * 18 + place - member + parent AS parent_id,
    may_be_dynamic AND ten % 3 = 0 AS is_dynamic,
    (kind, member) IN ((6, 2), (7, 3), (8, 3), (9, 4)) AS is_last_sub,
    ten > 5 AND ten % @demo_rare_every = 0 AS is_rare,
    ten DIV @demo_rare_every AS rare_number,
    (ten * 10 + kind + 1) * 7919 % 10007 AS family_draw,
    (ten * 18 + place) * 104729 % 10009 % 100 AS percent,
    @demo_now - INTERVAL (15552000 * (@demo_families - (ten * 10 + kind + 1)) DIV @demo_families) SECOND AS root_start,
    600 + (ten * 10 + kind + 1) * 611953 % 3001 AS seconds
FROM ten
CROSS JOIN shape
WHERE ten * 10 + kind + 1 <= @demo_families;

-- The verdict on each instance: what is odd about it, if anything.
CREATE TEMPORARY TABLE demo_instance (PRIMARY KEY (id)) AS
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
        WHEN root_start + INTERVAL seconds SECOND > @demo_now THEN 'running'
        ELSE 'final'
    END AS verdict
FROM demo_member AS member;

INSERT INTO t_ds_user (id, user_name, user_password, user_type, email, tenant_id, create_time, update_time, state)
SELECT 1, 'admin', '', 0, 'admin@example.com', -1, start, start, 1
FROM (SELECT @demo_now - INTERVAL 2 YEAR AS start) AS clock;

INSERT INTO t_ds_project (id, name, code, description, user_id, flag, create_time, update_time)
SELECT number + 1, name, 8104250113728 + number * 137438953, CONCAT(name, ' pipelines'), 1, 1, start, start
FROM (SELECT @demo_now - INTERVAL 1 YEAR AS start) AS clock
CROSS JOIN (
    SELECT 0 AS number, 'billing' AS name UNION ALL SELECT 1, 'catalogue' UNION ALL SELECT 2, 'clickstream'
    UNION ALL SELECT 3, 'finance' UNION ALL SELECT 4, 'fraud' UNION ALL SELECT 5, 'inventory'
    UNION ALL SELECT 6, 'marketing' UNION ALL SELECT 7, 'orders' UNION ALL SELECT 8, 'reporting'
    UNION ALL SELECT 9, 'search'
) AS named;

INSERT INTO t_ds_task_group (id, name, group_size, project_code, use_size, user_id, status, create_time, update_time)
SELECT id, CONCAT('warehouse-', id), 10, code, 0, 1, 1, create_time, create_time
FROM t_ds_project;

INSERT INTO t_ds_workflow_instance (
    id, name, workflow_definition_code, workflow_definition_version, project_code, state, state_history, recovery,
    start_time, end_time, run_times, host, command_type, command_param, task_depend_type, max_try_times,
    failure_strategy, warning_type, warning_group_id, schedule_time, command_start_time, global_params, flag,
    update_time, is_sub_workflow, executor_id, executor_name, history_cmd, workflow_instance_priority, worker_group,
    tenant_code, dry_run, next_workflow_instance_id, restart_time
)
SELECT
    id,
    CONCAT(
        CASE member WHEN 1 THEN 'daily_load' ELSE CONCAT('sub_load_', member) END,
        '-', family % 20, '-', DATE_FORMAT(start_time, '%Y%m%d%H%i%s000')
    ),
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
    CONCAT(
        '[{"time":"', DATE_FORMAT(start_time, '%Y-%m-%d %H:%i:%s'), '","state":"RUNNING_EXECUTION","desc":"start"}]'
    ),
    0,
    start_time,
    end_time,
    CASE verdict WHEN 'run again' THEN 2 ELSE 1 END,
    CONCAT('master-', family_draw % 3, '.internal:5678'),
    CASE WHEN member = 1 THEN 6 ELSE 0 END,
    '{"schedule_timezone":"UTC"}',
    2,
    0,
    1,
    'ALL',
    1,
    DATE_FORMAT(start_time, '%Y-%m-%d %H:00:00'),
    start_time,
    '[]',
    1,
    COALESCE(end_time, start_time),
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
FROM (
    SELECT
        instance.*,
        root_start + INTERVAL (member - 1) MINUTE AS start_time,
        CASE
            WHEN verdict = 'run again' THEN @demo_now - INTERVAL 3 DAY
            WHEN verdict IN ('final', 'without state')
            THEN root_start + INTERVAL seconds - 60 * (member - 1) SECOND
        END AS end_time
    FROM demo_instance AS instance
) AS timed
ORDER BY id;

-- Five instances share 50 task ids, and have 8, 9, 10, 11 and 12 tasks.
INSERT INTO t_ds_task_instance (
    id, name, task_type, task_execute_type, task_code, task_definition_version, workflow_instance_id,
    workflow_instance_name, project_code, state, submit_time, start_time, end_time, host, log_path,
    alert_flag, retry_times, pid, task_params, flag, retry_interval, max_retry_times, task_instance_priority,
    worker_group, executor_id, executor_name, first_submit_time, delay_time, task_group_id, var_pool, dry_run
)
SELECT
    task_id,
    CONCAT('load_partition_', number),
    'SHELL',
    0,
    workflow_definition_code + 500000 + number,
    1,
    id,
    name,
    project_code,
    CASE WHEN end_time IS NULL AND number = 7 THEN 1 ELSE 7 END,
    start_time,
    start_time + INTERVAL number SECOND,
    CASE WHEN end_time IS NULL AND number = 7 THEN NULL ELSE start_time + INTERVAL 10 * number SECOND END,
    CASE WHEN task_id % 37 = 0 THEN NULL ELSE CONCAT('worker-', task_id % 6, '.internal:1234') END,
    CASE
        WHEN task_id % 37 = 0 THEN NULL
        WHEN task_id % 41 = 0 THEN ''
        ELSE CONCAT(
            '/opt/dolphinscheduler/logs/', DATE_FORMAT(start_time, '%Y%m%d'), '/', workflow_definition_code, '/',
            workflow_definition_version, '/', id, '/', task_id, '.log'
        )
    END,
    0,
    0,
    1000 + task_id % 30000,
    CONCAT('{"rawScript":"load.sh ', number, '"}'),
    1,
    1,
    0,
    2,
    'default',
    1,
    'admin',
    start_time,
    0,
    0,
    '[]',
    0
FROM (
    SELECT
        instance.*,
        number,
        (id - 1) DIV 5 * 50 + (id - 1) % 5 * 8 + (id - 1) % 5 * ((id - 1) % 5 - 1) DIV 2 + number AS task_id
    FROM t_ds_workflow_instance AS instance
    JOIN (
        SELECT 1 AS number UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5
        UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9 UNION ALL SELECT 10
        UNION ALL SELECT 11 UNION ALL SELECT 12
    ) AS numbers ON number <= 8 + (id - 1) % 5
) AS task
ORDER BY task_id;

INSERT INTO t_ds_task_instance_context (id, task_instance_id, context, context_type, create_time, update_time)
SELECT
    id DIV 3,
    id,
    CONCAT('[{"projectCode":', project_code, ',"dependentResult":"SUCCESS","date":"', DATE(submit_time), '"}]'),
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
    id DIV 10,
    id,
    name,
    1 + id DIV 10 % 10,
    workflow_instance_id,
    0,
    CASE WHEN end_time IS NULL THEN 1 ELSE 2 END,
    0,
    0,
    submit_time,
    COALESCE(end_time, submit_time)
FROM t_ds_task_instance
WHERE id % 10 = 0
ORDER BY id;

INSERT INTO t_ds_alert (
    id, title, sign, content, alert_status, warning_type, log, alertgroup_id, create_time, update_time, project_code,
    workflow_definition_code, workflow_instance_id, alert_type
)
SELECT
    id DIV 2,
    CONCAT(CASE state WHEN 7 THEN 'success' ELSE 'failure' END, ' of workflow ', name),
    CONCAT(LEFT(SHA2(id, 256), 32), LPAD(LOWER(HEX(id)), 8, '0')),
    CONCAT('[{"projectCode":', project_code, ',"workflowInstanceId":', id, ',"workflowName":"', name, '"}]'),
    1,
    CASE state WHEN 7 THEN 1 ELSE 2 END,
    'all instances sent',
    1,
    COALESCE(end_time, start_time),
    COALESCE(end_time, start_time),
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
CROSS JOIN (SELECT 1 AS plugin UNION ALL SELECT 2) AS plugins
ORDER BY alert.id, plugin;

INSERT INTO t_ds_serial_command (
    id, workflow_definition_code, workflow_definition_version, workflow_instance_id, state, command, create_time,
    update_time
)
SELECT
    ROW_NUMBER() OVER (ORDER BY id), workflow_definition_code, workflow_definition_version, id, 0, '{"commandType":6}',
    start_time, start_time
FROM t_ds_workflow_instance
WHERE id % 400 = 0;

-- Commands of existing instances, then the starts that have no instance yet.
INSERT INTO t_ds_command (
    id, command_type, workflow_definition_code, command_param, task_depend_type, failure_strategy, warning_type,
    start_time, executor_id, update_time, worker_group, workflow_instance_id, workflow_definition_version
)
SELECT
    ROW_NUMBER() OVER (ORDER BY id), 7, workflow_definition_code, CONCAT('{"recoverWorkflowInstance":', id, '}'), 2, 1,
    'NONE', start_time, 1, start_time, 'default', id, workflow_definition_version
FROM t_ds_workflow_instance
WHERE id % 500 = 0;

SET @demo_commands = (SELECT COUNT(*) FROM t_ds_command);

INSERT INTO t_ds_command (
    id, command_type, workflow_definition_code, command_param, task_depend_type, failure_strategy, warning_type,
    start_time, executor_id, update_time, worker_group, workflow_instance_id, workflow_definition_version
)
SELECT
    @demo_commands + number, 0, 8104250114728 + number, '{}', 2, 1, 'NONE', @demo_now - INTERVAL 5 * number DAY, 1,
    @demo_now - INTERVAL 5 * number DAY, 'default', 0, 1
FROM (SELECT id AS number FROM t_ds_workflow_instance WHERE id <= 25) AS numbers;

-- The id of an error command is that of the command it was; the ids of commands go on above them.
INSERT INTO t_ds_error_command (
    id, command_type, workflow_definition_code, command_param, task_depend_type, failure_strategy, warning_type,
    start_time, executor_id, update_time, worker_group, message, workflow_instance_id, workflow_definition_version
)
SELECT
    1000000 + id DIV 200, 7, workflow_definition_code, '{}', 2, 1, 'NONE', start_time, 1, start_time, 'default',
    'workflow instance is not in a state to recover', id, workflow_definition_version
FROM t_ds_workflow_instance
WHERE id % 200 = 0
UNION ALL
SELECT
    999900 + id, 0, 8104250114728 + id, '{}', 2, 1, 'NONE', @demo_now - INTERVAL 9 * id DAY, 1,
    @demo_now - INTERVAL 9 * id DAY, 'default', 'workflow definition does not exist', 0, 1
FROM t_ds_project;

INSERT INTO t_ds_relation_workflow_instance (
    id, parent_workflow_instance_id, parent_task_instance_id, workflow_instance_id
)
SELECT
    ROW_NUMBER() OVER (ORDER BY id),
    parent_id,
    (parent_id - 1) DIV 5 * 50 + (parent_id - 1) % 5 * 8 + (parent_id - 1) % 5 * ((parent_id - 1) % 5 - 1) DIV 2 + 1,
    id
FROM demo_instance
WHERE parent_id IS NOT NULL AND NOT is_dynamic;

INSERT INTO t_ds_relation_sub_workflow (id, parent_workflow_instance_id, parent_task_code, sub_workflow_instance_id)
SELECT ROW_NUMBER() OVER (ORDER BY id), parent_id, project_code + 501001 + family % 20 * 8 + 1, id
FROM demo_instance
WHERE is_dynamic;

-- The rare oddities of the relation tables, in a few groups of ten families each; kinds as in the shape above.
SET @demo_relations = (SELECT COUNT(*) FROM t_ds_relation_workflow_instance),
    @demo_dynamic_relations = (SELECT COUNT(*) FROM t_ds_relation_sub_workflow);

INSERT INTO t_ds_relation_workflow_instance (
    id, parent_workflow_instance_id, parent_task_instance_id, workflow_instance_id
)
SELECT
    @demo_relations + ROW_NUMBER() OVER (ORDER BY oddity, id),
    CASE oddity WHEN 'a' THEN id + 1 WHEN 'e' THEN 1000000000 + id ELSE id END,
    0,
    CASE oddity WHEN 'b' THEN root_id + 1 WHEN 'c' THEN root_id WHEN 'd' THEN 1000000000 + id ELSE id END
FROM (
    SELECT
        id,
        root_id,
        CASE
            -- The sub-workflow of one root is also under the next root.
            WHEN kind = 6 AND member = 2 AND family < @demo_families THEN 'a'
            -- The deepest sub-workflow is the parent of its own ancestor: a circle below the root.
            WHEN kind = 9 AND member = 4 AND rare_number % 2 = 0 THEN 'b'
            -- The deepest sub-workflow is the parent of the root: a circle through it, and a root with a parent row.
            WHEN kind = 9 AND member = 4 THEN 'c'
            -- A parent without its sub-workflow, and a root whose parent is gone.
            WHEN kind = 0 THEN 'd'
            WHEN kind = 1 THEN 'e'
        END AS oddity
    FROM demo_instance
    WHERE is_rare
) AS rare
WHERE oddity IS NOT NULL;

INSERT INTO t_ds_relation_sub_workflow (id, parent_workflow_instance_id, parent_task_code, sub_workflow_instance_id)
SELECT
    @demo_dynamic_relations + ROW_NUMBER() OVER (ORDER BY kind, id),
    CASE kind WHEN 2 THEN id ELSE 1000000000 + id END,
    project_code + 501001,
    CASE kind WHEN 2 THEN 1000000000 + id ELSE id END
FROM demo_instance
WHERE is_rare AND kind IN (2, 3);

-- Tasks whose instance was deleted by hand long ago.
INSERT INTO t_ds_task_instance (
    id, name, task_type, task_code, workflow_instance_id, project_code, state, submit_time, start_time, end_time, host,
    log_path
)
SELECT
    1000000000 + id, 'left_behind', 'SHELL', project_code + 501001, 1000000000 + id, project_code, 7, root_start,
    root_start, root_start + INTERVAL seconds SECOND, 'worker-0.internal:1234',
    CONCAT('/opt/dolphinscheduler/logs/left_behind/', id, '.log')
FROM demo_instance
WHERE is_rare AND kind = 4;

-- The ids go on above every one in use, those that have no row included.
SET @demo_sql = (
    SELECT CONCAT('ALTER TABLE t_ds_workflow_instance AUTO_INCREMENT = ', 1000000001 + MAX(id))
    FROM t_ds_workflow_instance
);

COMMIT;

PREPARE demo_statement FROM @demo_sql;

EXECUTE demo_statement;

SET @demo_sql = (
    SELECT CONCAT('ALTER TABLE t_ds_command AUTO_INCREMENT = ', 1 + MAX(id)) FROM t_ds_error_command
);

PREPARE demo_statement FROM @demo_sql;

EXECUTE demo_statement;

DEALLOCATE PREPARE demo_statement;

DROP TEMPORARY TABLE demo_member;

DROP TEMPORARY TABLE demo_instance;
