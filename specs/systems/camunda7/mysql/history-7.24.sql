-- A realistic history for Camunda 7.24, loaded into the empty tables of schema-7.24.sql: the same rows as
-- postgres/history-7.24.sql has, which tells what is in them. MySQL and MariaDB.
--
-- Its size is the number of process instances without a parent in the variable @windrow_demo_families.
-- @windrow_demo_now, if set, is the instant in UTC that everything is counted back from. It makes a function and drops it
-- again, which takes an account that may do so under the binary log. ANALYZE the tables afterwards.
SET time_zone = '+00:00';

SET @demo_now = COALESCE(CAST(@windrow_demo_now AS DATETIME), UTC_TIMESTAMP()),
    @demo_families = CAST(@windrow_demo_families AS SIGNED);

DROP TEMPORARY TABLE IF EXISTS demo_number;

DROP TEMPORARY TABLE IF EXISTS demo_few;

DROP TEMPORARY TABLE IF EXISTS demo_instance;

DROP TEMPORARY TABLE IF EXISTS demo_bytes;

DROP TEMPORARY TABLE IF EXISTS demo_decision;

DROP FUNCTION IF EXISTS demo_id;

-- An id like those of the engine, always the same for the same seed, on every server.
CREATE FUNCTION demo_id (seed varchar(200) CHARACTER SET utf8mb4) RETURNS varchar(36) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin
DETERMINISTIC NO SQL
RETURN INSERT(INSERT(INSERT(INSERT(LEFT(SHA2(seed, 256), 32), 9, 0, '-'), 14, 0, '-'), 19, 0, '-'), 24, 0, '-');

START TRANSACTION;

CREATE TEMPORARY TABLE demo_number (n int NOT NULL PRIMARY KEY) AS
WITH digit (n) AS (
    SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
    UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9
)
SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS n
FROM digit AS a
CROSS JOIN digit AS b
CROSS JOIN digit AS c
CROSS JOIN digit AS d
CROSS JOIN digit AS e;

-- What is counted for each instance, apart: some servers read all numbers for each.
CREATE TEMPORARY TABLE demo_few (n int NOT NULL PRIMARY KEY) AS
SELECT n FROM demo_number WHERE n <= 11;

-- One row for each process instance: root f, member m of its family. Remainders by primes: spread like chance, yet
-- always the same.
CREATE TEMPORARY TABLE demo_instance (PRIMARY KEY (f, m)) AS
SELECT
    d.f,
    d.m,
    demo_id(CONCAT('p', d.f, '.1')) AS root_id,
    demo_id(CONCAT('p', d.f, '.', d.m)) AS id,
    CASE WHEN d.m > 1 THEN demo_id(CONCAT('p', d.f, '.', d.m - 1)) END AS super_id,
    CONCAT('process_', d.f % 12, CASE WHEN d.m > 1 THEN '_part' ELSE '' END) AS process,
    d.started + INTERVAL (d.m - 1) SECOND AS started,
    d.ended,
    CASE
        WHEN d.ended IS NULL AND d.f % 2 = 1 THEN d.started + INTERVAL d.days DAY     -- counted from the start
        WHEN d.ended IS NULL THEN NULL
        WHEN d.f % 53 = 11 THEN NULL                                                  -- from an older version
        WHEN d.f % 8 = 7 AND d.ended > @demo_now - INTERVAL 9 DAY THEN d.ended        -- no time to live
        WHEN d.f % 9 = 4 AND d.ended BETWEEN @demo_now - INTERVAL 120 DAY AND @demo_now - INTERVAL 90 DAY
            THEN CAST(DATE(@demo_now) - INTERVAL 40 DAY AS DATETIME)                  -- set by hand
        ELSE d.ended + INTERVAL d.days DAY
    END AS removal
FROM (
    SELECT
        r.f,
        r.m,
        r.started,
        r.days,
        CASE
            WHEN r.done >= @demo_now THEN NULL
            WHEN r.f % 211 = 5 THEN NULL                                              -- running for months
            WHEN r.f % 97 = 3 THEN LEAST(r.done, @demo_now - INTERVAL 2 HOUR)
            ELSE r.done
        END AS ended
    FROM (
        SELECT
            s.f,
            s.m,
            s.days,
            s.started,
            s.started + INTERVAL (60 + s.f * 7919 % 259200) SECOND AS done
        FROM (
            SELECT
                f.n AS f,
                m.n AS m,
                CASE WHEN f.n % 7 = 0 THEN 90 ELSE 30 END AS days,
                @demo_now - INTERVAL (17280000 * (@demo_families - f.n) DIV @demo_families) SECOND AS started
            FROM demo_number AS f
            JOIN (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3) AS m
                ON m.n <= CASE WHEN f.n % 10 < 7 THEN 1 WHEN f.n % 10 < 9 THEN 2 ELSE 3 END
            WHERE f.n BETWEEN 1 AND @demo_families
        ) AS s
    ) AS r
) AS d;

INSERT INTO ACT_HI_PROCINST (ID_, PROC_INST_ID_, BUSINESS_KEY_, PROC_DEF_KEY_, PROC_DEF_ID_, START_TIME_, END_TIME_, REMOVAL_TIME_, DURATION_, START_USER_ID_, START_ACT_ID_, END_ACT_ID_, SUPER_PROCESS_INSTANCE_ID_, ROOT_PROC_INST_ID_, STATE_)
SELECT i.id, i.id, CONCAT('order-', i.f), i.process, CONCAT(i.process, ':1'), i.started, i.ended, i.removal, TIMESTAMPDIFF(SECOND, i.started, i.ended) * 1000, 'demo', 'start', CASE WHEN i.ended IS NOT NULL THEN 'end' END, i.super_id, i.root_id, CASE WHEN i.ended IS NULL THEN 'ACTIVE' ELSE 'COMPLETED' END
FROM demo_instance AS i;

INSERT INTO ACT_HI_ACTINST (ID_, PARENT_ACT_INST_ID_, PROC_DEF_KEY_, PROC_DEF_ID_, ROOT_PROC_INST_ID_, PROC_INST_ID_, EXECUTION_ID_, ACT_ID_, ACT_NAME_, ACT_TYPE_, ASSIGNEE_, START_TIME_, END_TIME_, DURATION_, ACT_INST_STATE_, SEQUENCE_COUNTER_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('a', i.f, '.', i.m, '.', n.n)), i.id, i.process, CONCAT(i.process, ':1'), i.root_id, i.id, i.id, CONCAT('activity_', n.n), CONCAT('Activity ', n.n), CASE WHEN n.n % 3 = 0 THEN 'userTask' ELSE 'serviceTask' END, CASE WHEN n.n % 3 = 0 THEN CONCAT('user', i.f % 40) END, i.started + INTERVAL n.n SECOND, i.ended, 1000, 4, n.n, i.removal
FROM demo_instance AS i
JOIN demo_few AS n ON n.n BETWEEN 1 AND 7 + i.f % 4;

INSERT INTO ACT_HI_TASKINST (ID_, TASK_DEF_KEY_, PROC_DEF_KEY_, PROC_DEF_ID_, ROOT_PROC_INST_ID_, PROC_INST_ID_, EXECUTION_ID_, ACT_INST_ID_, NAME_, ASSIGNEE_, START_TIME_, END_TIME_, DURATION_, PRIORITY_, REMOVAL_TIME_, TASK_STATE_)
SELECT demo_id(CONCAT('t', i.f, '.', i.m, '.', n.n)), CONCAT('activity_', 3 * n.n), i.process, CONCAT(i.process, ':1'), i.root_id, i.id, i.id, demo_id(CONCAT('a', i.f, '.', i.m, '.', 3 * n.n)), 'Approve order', CONCAT('user', i.f % 40), i.started + INTERVAL 3 * n.n SECOND, i.ended, 1000, 50, i.removal, 'Completed'
FROM demo_instance AS i
JOIN demo_few AS n ON n.n BETWEEN 1 AND 2 + i.f % 2;

-- A big value for every eighth instance, a stack trace for every twentieth, a file for every fiftieth.
CREATE TEMPORARY TABLE demo_bytes (PRIMARY KEY (f, m, kind)) AS
SELECT i.*, k.kind, demo_id(CONCAT(k.kind, i.f, '.', i.m)) AS bytes_id
FROM demo_instance AS i
JOIN (
    SELECT 'value' AS kind, 8 AS every UNION ALL SELECT 'stack', 20 UNION ALL SELECT 'file', 50 UNION ALL SELECT 'decision', 32
) AS k ON i.f % k.every = 1;

INSERT INTO ACT_GE_BYTEARRAY (ID_, REV_, NAME_, BYTES_, GENERATED_, TYPE_, CREATE_TIME_, ROOT_PROC_INST_ID_, REMOVAL_TIME_)
SELECT b.bytes_id, 1, b.kind, REPEAT(demo_id(b.bytes_id), 20 + b.f % 90), NULL, 2, b.started, b.root_id, b.removal
FROM demo_bytes AS b;

-- The resources of a deployment have no removal time.
INSERT INTO ACT_RE_DEPLOYMENT (ID_, NAME_, DEPLOY_TIME_, SOURCE_)
SELECT 'deployment', 'orders', @demo_now - INTERVAL 2 YEAR, 'process application';

INSERT INTO ACT_GE_BYTEARRAY (ID_, REV_, NAME_, DEPLOYMENT_ID_, BYTES_, GENERATED_, TYPE_)
SELECT CONCAT('resource-', n.n), 1, CONCAT('process_', n.n, '.bpmn'), 'deployment', REPEAT('<bpmn/>', 400), false, 1
FROM demo_few AS n;

INSERT INTO ACT_HI_VARINST (ID_, PROC_DEF_KEY_, PROC_DEF_ID_, ROOT_PROC_INST_ID_, PROC_INST_ID_, EXECUTION_ID_, ACT_INST_ID_, NAME_, VAR_TYPE_, CREATE_TIME_, REV_, BYTEARRAY_ID_, TEXT_, STATE_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('v', i.f, '.', i.m, '.', n.n)), i.process, CONCAT(i.process, ':1'), i.root_id, i.id, i.id, i.id, CONCAT('variable_', n.n), CASE WHEN b.bytes_id IS NULL THEN 'string' ELSE 'object' END, i.started, 0, b.bytes_id, CASE WHEN b.bytes_id IS NULL THEN CONCAT('value ', n.n) END, 'CREATED', i.removal
FROM demo_instance AS i
JOIN demo_few AS n ON n.n BETWEEN 1 AND 5 + i.f % 4
LEFT JOIN demo_bytes AS b ON b.f = i.f AND b.m = i.m AND b.kind = 'value' AND n.n = 1;

INSERT INTO ACT_HI_DETAIL (ID_, TYPE_, PROC_DEF_KEY_, PROC_DEF_ID_, ROOT_PROC_INST_ID_, PROC_INST_ID_, EXECUTION_ID_, ACT_INST_ID_, VAR_INST_ID_, NAME_, VAR_TYPE_, REV_, TIME_, TEXT_, SEQUENCE_COUNTER_, REMOVAL_TIME_, INITIAL_)
SELECT demo_id(CONCAT('d', v.ID_, n.n)), 'VariableUpdate', v.PROC_DEF_KEY_, v.PROC_DEF_ID_, v.ROOT_PROC_INST_ID_, v.PROC_INST_ID_, v.EXECUTION_ID_, v.ACT_INST_ID_, v.ID_, v.NAME_, v.VAR_TYPE_, n.n, v.CREATE_TIME_, 'value', n.n, v.REMOVAL_TIME_, n.n = 0
FROM ACT_HI_VARINST AS v
JOIN demo_few AS n ON n.n <= 1;

INSERT INTO ACT_HI_IDENTITYLINK (ID_, TIMESTAMP_, TYPE_, USER_ID_, TASK_ID_, ROOT_PROC_INST_ID_, PROC_DEF_ID_, OPERATION_TYPE_, PROC_DEF_KEY_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('l', t.ID_, n.n)), t.START_TIME_, 'assignee', t.ASSIGNEE_, t.ID_, t.ROOT_PROC_INST_ID_, t.PROC_DEF_ID_, CASE n.n WHEN 0 THEN 'add' ELSE 'delete' END, t.PROC_DEF_KEY_, t.REMOVAL_TIME_
FROM ACT_HI_TASKINST AS t
JOIN demo_few AS n ON n.n <= 1;

INSERT INTO ACT_HI_JOB_LOG (ID_, TIMESTAMP_, JOB_ID_, JOB_RETRIES_, JOB_EXCEPTION_MSG_, JOB_EXCEPTION_STACK_ID_, JOB_STATE_, JOB_DEF_TYPE_, ACT_ID_, EXECUTION_ID_, ROOT_PROC_INST_ID_, PROCESS_INSTANCE_ID_, PROCESS_DEF_ID_, PROCESS_DEF_KEY_, SEQUENCE_COUNTER_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('j', i.f, '.', i.m, '.', n.n)), i.started + INTERVAL n.n SECOND, demo_id(CONCAT('job', i.f, '.', i.m)), 3, CASE WHEN b.bytes_id IS NOT NULL THEN 'connection refused' END, b.bytes_id, CASE WHEN b.bytes_id IS NOT NULL THEN 1 WHEN n.n = 1 THEN 0 ELSE 2 END, 'async-continuation', CONCAT('activity_', n.n), i.id, i.root_id, i.id, CONCAT(i.process, ':1'), i.process, n.n, i.removal
FROM demo_instance AS i
JOIN demo_few AS n ON n.n BETWEEN 1 AND 4
LEFT JOIN demo_bytes AS b ON b.f = i.f AND b.m = i.m AND b.kind = 'stack' AND n.n = 2;

INSERT INTO ACT_HI_INCIDENT (ID_, PROC_DEF_KEY_, PROC_DEF_ID_, ROOT_PROC_INST_ID_, PROC_INST_ID_, EXECUTION_ID_, CREATE_TIME_, END_TIME_, INCIDENT_MSG_, INCIDENT_TYPE_, ACTIVITY_ID_, INCIDENT_STATE_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('i', b.id)), b.process, CONCAT(b.process, ':1'), b.root_id, b.id, b.id, b.started, b.ended, 'connection refused', 'failedJob', 'activity_2', 1, b.removal
FROM demo_bytes AS b
WHERE b.kind = 'stack';

INSERT INTO ACT_HI_EXT_TASK_LOG (ID_, TIMESTAMP_, EXT_TASK_ID_, RETRIES_, TOPIC_NAME_, WORKER_ID_, ACT_ID_, ACT_INST_ID_, EXECUTION_ID_, PROC_INST_ID_, ROOT_PROC_INST_ID_, PROC_DEF_ID_, PROC_DEF_KEY_, STATE_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('e', i.f, '.', i.m, '.', n.n)), i.started, demo_id(CONCAT('ext', i.id)), 3, 'mail', 'worker', 'activity_2', i.id, i.id, i.id, i.root_id, CONCAT(i.process, ':1'), i.process, n.n, i.removal
FROM demo_instance AS i
JOIN demo_few AS n ON n.n <= 1
WHERE i.f % 3 = 0;

INSERT INTO ACT_HI_OP_LOG (ID_, PROC_DEF_ID_, PROC_DEF_KEY_, ROOT_PROC_INST_ID_, PROC_INST_ID_, TASK_ID_, USER_ID_, TIMESTAMP_, OPERATION_TYPE_, OPERATION_ID_, ENTITY_TYPE_, PROPERTY_, NEW_VALUE_, REMOVAL_TIME_, CATEGORY_)
SELECT demo_id(CONCAT('o', t.ID_)), t.PROC_DEF_ID_, t.PROC_DEF_KEY_, t.ROOT_PROC_INST_ID_, t.PROC_INST_ID_, t.ID_, t.ASSIGNEE_, t.END_TIME_, 'Complete', demo_id(CONCAT('op', t.ID_)), 'Task', 'delete', 'true', t.REMOVAL_TIME_, 'TaskWorker'
FROM ACT_HI_TASKINST AS t
WHERE t.END_TIME_ IS NOT NULL;

INSERT INTO ACT_HI_COMMENT (ID_, TYPE_, TIME_, USER_ID_, ROOT_PROC_INST_ID_, PROC_INST_ID_, ACTION_, MESSAGE_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('c', i.id)), 'comment', i.started, 'demo', i.root_id, i.id, 'AddComment', 'please check', i.removal
FROM demo_instance AS i
WHERE i.f % 5 = 0;

INSERT INTO ACT_HI_ATTACHMENT (ID_, REV_, USER_ID_, NAME_, TYPE_, ROOT_PROC_INST_ID_, PROC_INST_ID_, CONTENT_ID_, CREATE_TIME_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('f', b.id)), 1, 'demo', 'invoice.pdf', 'pdf', b.root_id, b.id, b.bytes_id, b.started, b.removal
FROM demo_bytes AS b
WHERE b.kind = 'file';

INSERT INTO ACT_RU_AUTHORIZATION (ID_, REV_, TYPE_, USER_ID_, RESOURCE_TYPE_, RESOURCE_ID_, PERMS_, REMOVAL_TIME_, ROOT_PROC_INST_ID_)
SELECT demo_id(CONCAT('z', i.id)), 1, 1, CONCAT('user', i.f % 40), 20, i.id, 2, i.removal, i.root_id
FROM demo_instance AS i
WHERE i.f % 10 = 2;

-- Decisions of processes, and every fortieth of none: those share a removal time of their own.
CREATE TEMPORARY TABLE demo_decision AS
SELECT demo_id(CONCAT('x', i.id)) AS id, i.id AS instance, i.root_id, i.process, i.started, i.removal, i.f, b.bytes_id
FROM demo_instance AS i
LEFT JOIN demo_bytes AS b ON b.f = i.f AND b.m = i.m AND b.kind = 'decision'
WHERE i.f % 4 = 1;

INSERT INTO demo_decision (id, started, removal, f)
SELECT demo_id(CONCAT('y', i.id)), i.started, i.started + INTERVAL 30 DAY, i.f
FROM demo_instance AS i
WHERE i.f % 40 = 7
  AND i.m = 1;

INSERT INTO ACT_HI_DECINST (ID_, DEC_DEF_ID_, DEC_DEF_KEY_, DEC_DEF_NAME_, PROC_DEF_KEY_, PROC_INST_ID_, EVAL_TIME_, REMOVAL_TIME_, ROOT_DEC_INST_ID_, ROOT_PROC_INST_ID_)
SELECT d.id, 'discount:1', 'discount', 'Discount', d.process, d.instance, d.started, d.removal, d.id, d.root_id
FROM demo_decision AS d;

INSERT INTO ACT_HI_DEC_IN (ID_, DEC_INST_ID_, CLAUSE_ID_, CLAUSE_NAME_, VAR_TYPE_, BYTEARRAY_ID_, TEXT_, CREATE_TIME_, ROOT_PROC_INST_ID_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('in', d.id, n.n)), d.id, CONCAT('input_', n.n), CONCAT('Input ', n.n), 'string', CASE WHEN n.n = 1 THEN d.bytes_id END, 'gold', d.started, d.root_id, d.removal
FROM demo_decision AS d
JOIN demo_few AS n ON n.n BETWEEN 1 AND 2;

INSERT INTO ACT_HI_DEC_OUT (ID_, DEC_INST_ID_, CLAUSE_ID_, CLAUSE_NAME_, RULE_ID_, RULE_ORDER_, VAR_NAME_, VAR_TYPE_, DOUBLE_, CREATE_TIME_, ROOT_PROC_INST_ID_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('out', d.id)), d.id, 'output', 'Discount', CONCAT('rule_', d.f % 5), 1, 'discount', 'double', 0.1, d.started, d.root_id, d.removal
FROM demo_decision AS d;

-- Tasks that belong to nothing.
INSERT INTO ACT_HI_TASKINST (ID_, NAME_, ASSIGNEE_, START_TIME_, END_TIME_, PRIORITY_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('s', i.id)), 'Call back', 'demo', i.started, i.started + INTERVAL 1 HOUR, 50, i.started + INTERVAL 31 DAY
FROM demo_instance AS i
WHERE i.f % 60 = 8
  AND i.m = 1;

-- Batches, with the logs of their jobs.
INSERT INTO ACT_HI_BATCH (ID_, TYPE_, TOTAL_JOBS_, JOBS_PER_SEED_, INVOCATIONS_PER_JOB_, START_TIME_, END_TIME_, REMOVAL_TIME_)
SELECT demo_id(CONCAT('b', i.f)), 'instance-deletion', 4, 100, 1, i.started, i.started + INTERVAL 5 MINUTE, i.started + INTERVAL 35 DAY
FROM demo_instance AS i
WHERE i.f % 150 = 9
  AND i.m = 1;

INSERT INTO ACT_HI_JOB_LOG (ID_, TIMESTAMP_, JOB_ID_, JOB_STATE_, JOB_DEF_TYPE_, SEQUENCE_COUNTER_, REMOVAL_TIME_, BATCH_ID_)
SELECT demo_id(CONCAT('bj', b.ID_, n.n)), b.START_TIME_, demo_id(CONCAT('bjob', b.ID_, n.n DIV 2)), n.n % 2 * 2, 'batch-job', n.n, b.REMOVAL_TIME_, b.ID_
FROM ACT_HI_BATCH AS b
JOIN demo_few AS n ON n.n <= 7;

-- What runs; some of it still names byte arrays of the history.
INSERT INTO ACT_RU_EXECUTION (ID_, REV_, ROOT_PROC_INST_ID_, PROC_INST_ID_, IS_ACTIVE_)
SELECT i.id, 1, i.root_id, i.id, true
FROM demo_instance AS i
WHERE i.ended IS NULL;

INSERT INTO ACT_RU_VARIABLE (ID_, REV_, TYPE_, NAME_, EXECUTION_ID_, PROC_INST_ID_, BYTEARRAY_ID_, VAR_SCOPE_)
SELECT demo_id(CONCAT('rv', r.id)), 1, 'object', CONCAT('copied_', r.f), r.runs, r.runs, r.bytes_id, r.runs
FROM (
    SELECT
        b.id,
        b.f,
        b.bytes_id,
        (SELECT x.ID_ FROM ACT_RU_EXECUTION AS x ORDER BY demo_id(CONCAT(x.ID_, b.id)) LIMIT 1) AS runs
    FROM demo_bytes AS b
    WHERE b.kind = 'value'
      AND b.f % 40 = 1
) AS r;

INSERT INTO ACT_RU_JOB (ID_, REV_, TYPE_, PROCESS_INSTANCE_ID_, RETRIES_, EXCEPTION_STACK_ID_, HANDLER_TYPE_)
SELECT demo_id(CONCAT('rj', b.id)), 1, 'message', b.id, 0, b.bytes_id, 'async-continuation'
FROM demo_bytes AS b
WHERE b.kind = 'stack'
  AND b.f % 100 = 41;

INSERT INTO ACT_RU_TASK_METER_LOG (ID_, ASSIGNEE_HASH_, TIMESTAMP_)
SELECT demo_id(CONCAT('m', n.n)), n.n % 40, @demo_now - INTERVAL (95040000 * n.n DIV @demo_families) SECOND
FROM demo_number AS n
WHERE n.n BETWEEN 1 AND @demo_families;

COMMIT;

DROP TEMPORARY TABLE demo_number;

DROP TEMPORARY TABLE demo_few;

DROP TEMPORARY TABLE demo_instance;

DROP TEMPORARY TABLE demo_bytes;

DROP TEMPORARY TABLE demo_decision;

DROP FUNCTION demo_id;
