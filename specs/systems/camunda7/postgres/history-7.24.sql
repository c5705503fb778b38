-- A realistic history for Camunda 7.24, loaded into the empty tables of schema-7.24.sql.
--
-- Its size is the number of process instances without a parent in the setting windrow.demo_families; 1,000 are the
-- fewest that show every oddity below. The rows are the same on every load, but for their distance from now() in UTC, or
-- from the instant in the setting windrow.demo_now if there is one. Load it as one string or with psql, then VACUUM ANALYZE.
-- They lie in the order in which their instances ended: the engine sets the removal time of a whole family then, and
-- PostgreSQL writes a row that is updated anew.
--
-- The roots start evenly over the last 200 days and end within three days; the time to live is 30 days for most, 90 for
-- every seventh. Of ten families three have sub-instances, which share the removal time of their root. An instance has
-- activities, tasks, variables with their details, identity links, logs of jobs, external tasks and operations; some have
-- decisions, incidents, comments, attachments, authorizations, and values or stack traces that are byte arrays.
--
-- What makes a clean-up hard is all here:
--   * running instances without a removal time, and some with one that has come: counted from their start;
--   * instances that ended a few hours ago and whose time to live was zero;
--   * instances that ended before removal times were invented: they have none;
--   * one absolute removal time that someone set for every ninth family of a month: many rows of one instant;
--   * byte arrays of the history that a variable or a job that runs still names;
--   * tasks and decisions that belong to no process instance; batches with the logs of their jobs;
--   * removal times in the future; task metrics of three years.
BEGIN;

-- An id like those of the engine, always the same for the same seed, on every server.
CREATE OR REPLACE FUNCTION pg_temp.demo_id(seed text) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT left(encode(sha256(convert_to(seed, 'UTF8')), 'hex'), 32)::uuid::text
$$;

CREATE TEMPORARY TABLE demo_clock ON COMMIT DROP AS
SELECT date_trunc('second', coalesce(
    nullif(current_setting('windrow.demo_now', true), '')::timestamp,
    now() AT TIME ZONE 'UTC'
)) AS now, current_setting('windrow.demo_families')::integer AS families;

-- One row for each process instance: root f, member m of its family. Remainders by primes: spread like chance, yet
-- always the same.
CREATE TEMPORARY TABLE demo_instance ON COMMIT DROP AS
WITH root AS (
    SELECT
        f,
        pg_temp.demo_id('p' || f || '.1') AS root_id,
        'process_' || f % 12 AS process,
        c.now - make_interval(secs => 17280000::bigint * (c.families - f) / c.families) AS started,
        make_interval(secs => 60 + f * 7919 % 259200) AS took,
        CASE WHEN f % 7 = 0 THEN 90 ELSE 30 END AS days,
        f % 10 AS shape,
        c.now
    FROM demo_clock AS c
    CROSS JOIN LATERAL generate_series(1, c.families) AS f
), dated AS (
    SELECT
        r.*,
        CASE
            WHEN r.started + r.took >= r.now THEN NULL
            WHEN r.f % 211 = 5 THEN NULL                                        -- running for months
            WHEN r.f % 97 = 3 THEN least(r.started + r.took, r.now - interval '2 hours')
            ELSE r.started + r.took
        END AS ended
    FROM root AS r
)
SELECT
    d.f,
    m,
    d.root_id,
    pg_temp.demo_id('p' || d.f || '.' || m) AS id,
    CASE WHEN m > 1 THEN pg_temp.demo_id('p' || d.f || '.' || m - 1) END AS super_id,
    d.process || CASE WHEN m > 1 THEN '_part' ELSE '' END AS process,
    d.started + make_interval(secs => m - 1) AS started,
    d.ended,
    CASE
        WHEN d.ended IS NULL AND d.f % 2 = 1 THEN d.started + make_interval(days => d.days)  -- counted from the start
        WHEN d.ended IS NULL THEN NULL
        WHEN d.f % 53 = 11 THEN NULL                                                         -- from an older version
        WHEN d.f % 8 = 7 AND d.ended > d.now - interval '9 days' THEN d.ended               -- no time to live
        WHEN d.f % 9 = 4 AND d.ended BETWEEN d.now - interval '120 days' AND d.now - interval '90 days'
            THEN date_trunc('day', d.now) - interval '40 days'                               -- set by hand
        ELSE d.ended + make_interval(days => d.days)
    END AS removal
FROM dated AS d
CROSS JOIN LATERAL generate_series(1, CASE WHEN d.shape < 7 THEN 1 WHEN d.shape < 9 THEN 2 ELSE 3 END) AS m;

ANALYZE demo_instance;

INSERT INTO act_hi_procinst (id_, proc_inst_id_, business_key_, proc_def_key_, proc_def_id_, start_time_, end_time_, removal_time_, duration_, start_user_id_, start_act_id_, end_act_id_, super_process_instance_id_, root_proc_inst_id_, state_)
SELECT i.id, i.id, 'order-' || i.f, i.process, i.process || ':1', i.started, i.ended, i.removal, extract(epoch FROM i.ended - i.started) * 1000, 'demo', 'start', CASE WHEN i.ended IS NOT NULL THEN 'end' END, i.super_id, i.root_id, CASE WHEN i.ended IS NULL THEN 'ACTIVE' ELSE 'COMPLETED' END
FROM demo_instance AS i
ORDER BY coalesce(i.ended, i.started), i.f, i.m;

INSERT INTO act_hi_actinst (id_, parent_act_inst_id_, proc_def_key_, proc_def_id_, root_proc_inst_id_, proc_inst_id_, execution_id_, act_id_, act_name_, act_type_, assignee_, start_time_, end_time_, duration_, act_inst_state_, sequence_counter_, removal_time_)
SELECT pg_temp.demo_id('a' || i.f || '.' || i.m || '.' || n), i.id, i.process, i.process || ':1', i.root_id, i.id, i.id, 'activity_' || n, 'Activity ' || n, CASE WHEN n % 3 = 0 THEN 'userTask' ELSE 'serviceTask' END, CASE WHEN n % 3 = 0 THEN 'user' || i.f % 40 END, i.started + make_interval(secs => n), i.ended, 1000, 4, n, i.removal
FROM demo_instance AS i
CROSS JOIN LATERAL generate_series(1, 7 + i.f % 4) AS n
ORDER BY coalesce(i.ended, i.started), i.f, i.m, n;

INSERT INTO act_hi_taskinst (id_, task_def_key_, proc_def_key_, proc_def_id_, root_proc_inst_id_, proc_inst_id_, execution_id_, act_inst_id_, name_, assignee_, start_time_, end_time_, duration_, priority_, removal_time_, task_state_)
SELECT pg_temp.demo_id('t' || i.f || '.' || i.m || '.' || n), 'activity_' || 3 * n, i.process, i.process || ':1', i.root_id, i.id, i.id, pg_temp.demo_id('a' || i.f || '.' || i.m || '.' || 3 * n), 'Approve order', 'user' || i.f % 40, i.started + make_interval(secs => 3 * n), i.ended, 1000, 50, i.removal, 'Completed'
FROM demo_instance AS i
CROSS JOIN LATERAL generate_series(1, 2 + i.f % 2) AS n
ORDER BY coalesce(i.ended, i.started), i.f, i.m, n;

-- A big value for every eighth instance, a stack trace for every twentieth, a file for every fiftieth.
CREATE TEMPORARY TABLE demo_bytes ON COMMIT DROP AS
SELECT i.*, k.kind, pg_temp.demo_id(k.kind || i.f || '.' || i.m) AS bytes_id
FROM demo_instance AS i
CROSS JOIN LATERAL (VALUES ('value', 8), ('stack', 20), ('file', 50), ('decision', 32)) AS k(kind, every)
WHERE i.f % k.every = 1;
ANALYZE demo_bytes;
INSERT INTO act_ge_bytearray (id_, rev_, name_, bytes_, generated_, type_, create_time_, root_proc_inst_id_, removal_time_)
SELECT b.bytes_id, 1, b.kind, convert_to(repeat(pg_temp.demo_id(b.bytes_id), 20 + b.f % 90), 'UTF8'), NULL, 2, b.started, b.root_id, b.removal
FROM demo_bytes AS b
ORDER BY coalesce(b.ended, b.started), b.f, b.m, b.kind;
-- The resources of a deployment have no removal time.
INSERT INTO act_re_deployment (id_, name_, deploy_time_, source_)
SELECT 'deployment', 'orders', c.now - interval '2 years', 'process application' FROM demo_clock AS c;
INSERT INTO act_ge_bytearray (id_, rev_, name_, deployment_id_, bytes_, generated_, type_)
SELECT 'resource-' || n, 1, 'process_' || n || '.bpmn', 'deployment', convert_to(repeat('<bpmn/>', 400), 'UTF8'), false, 1
FROM generate_series(0, 11) AS n;

INSERT INTO act_hi_varinst (id_, proc_def_key_, proc_def_id_, root_proc_inst_id_, proc_inst_id_, execution_id_, act_inst_id_, name_, var_type_, create_time_, rev_, bytearray_id_, text_, state_, removal_time_)
SELECT pg_temp.demo_id('v' || i.f || '.' || i.m || '.' || n), i.process, i.process || ':1', i.root_id, i.id, i.id, i.id, 'variable_' || n, CASE WHEN b.bytes_id IS NULL THEN 'string' ELSE 'object' END, i.started, 0, b.bytes_id, CASE WHEN b.bytes_id IS NULL THEN 'value ' || n END, 'CREATED', i.removal
FROM demo_instance AS i
CROSS JOIN LATERAL generate_series(1, 5 + i.f % 4) AS n
LEFT JOIN demo_bytes AS b ON b.id = i.id AND b.kind = 'value' AND n = 1
ORDER BY coalesce(i.ended, i.started), i.f, i.m, n;
INSERT INTO act_hi_detail (id_, type_, proc_def_key_, proc_def_id_, root_proc_inst_id_, proc_inst_id_, execution_id_, act_inst_id_, var_inst_id_, name_, var_type_, rev_, time_, text_, sequence_counter_, removal_time_, initial_)
SELECT pg_temp.demo_id('d' || v.id_ || n), 'VariableUpdate', v.proc_def_key_, v.proc_def_id_, v.root_proc_inst_id_, v.proc_inst_id_, v.execution_id_, v.act_inst_id_, v.id_, v.name_, v.var_type_, n, v.create_time_, 'value', n, v.removal_time_, n = 0
FROM act_hi_varinst AS v
JOIN demo_instance AS i ON i.id = v.proc_inst_id_
CROSS JOIN generate_series(0, 1) AS n
ORDER BY coalesce(i.ended, i.started), i.f, i.m, v.name_, n;

INSERT INTO act_hi_identitylink (id_, timestamp_, type_, user_id_, task_id_, root_proc_inst_id_, proc_def_id_, operation_type_, proc_def_key_, removal_time_)
SELECT pg_temp.demo_id('l' || t.id_ || n), t.start_time_, 'assignee', t.assignee_, t.id_, t.root_proc_inst_id_, t.proc_def_id_, CASE n WHEN 0 THEN 'add' ELSE 'delete' END, t.proc_def_key_, t.removal_time_
FROM act_hi_taskinst AS t
JOIN demo_instance AS i ON i.id = t.proc_inst_id_
CROSS JOIN generate_series(0, 1) AS n
ORDER BY coalesce(i.ended, i.started), i.f, i.m, t.start_time_, n;
INSERT INTO act_hi_job_log (id_, timestamp_, job_id_, job_retries_, job_exception_msg_, job_exception_stack_id_, job_state_, job_def_type_, act_id_, execution_id_, root_proc_inst_id_, process_instance_id_, process_def_id_, process_def_key_, sequence_counter_, removal_time_)
SELECT pg_temp.demo_id('j' || i.f || '.' || i.m || '.' || n), i.started + make_interval(secs => n), pg_temp.demo_id('job' || i.f || '.' || i.m), 3, CASE WHEN b.bytes_id IS NOT NULL THEN 'connection refused' END, b.bytes_id, CASE WHEN b.bytes_id IS NOT NULL THEN 1 WHEN n = 1 THEN 0 ELSE 2 END, 'async-continuation', 'activity_' || n, i.id, i.root_id, i.id, i.process || ':1', i.process, n, i.removal
FROM demo_instance AS i
CROSS JOIN generate_series(1, 4) AS n
LEFT JOIN demo_bytes AS b ON b.id = i.id AND b.kind = 'stack' AND n = 2
ORDER BY coalesce(i.ended, i.started), i.f, i.m, n;
INSERT INTO act_hi_incident (id_, proc_def_key_, proc_def_id_, root_proc_inst_id_, proc_inst_id_, execution_id_, create_time_, end_time_, incident_msg_, incident_type_, activity_id_, incident_state_, removal_time_)
SELECT pg_temp.demo_id('i' || b.id), b.process, b.process || ':1', b.root_id, b.id, b.id, b.started, b.ended, 'connection refused', 'failedJob', 'activity_2', 1, b.removal
FROM demo_bytes AS b
WHERE b.kind = 'stack'
ORDER BY coalesce(b.ended, b.started), b.f, b.m;
INSERT INTO act_hi_ext_task_log (id_, timestamp_, ext_task_id_, retries_, topic_name_, worker_id_, act_id_, act_inst_id_, execution_id_, proc_inst_id_, root_proc_inst_id_, proc_def_id_, proc_def_key_, state_, removal_time_)
SELECT pg_temp.demo_id('e' || i.f || '.' || i.m || '.' || n), i.started, pg_temp.demo_id('ext' || i.id), 3, 'mail', 'worker', 'activity_2', i.id, i.id, i.id, i.root_id, i.process || ':1', i.process, n, i.removal
FROM demo_instance AS i
CROSS JOIN generate_series(0, 1) AS n
WHERE i.f % 3 = 0
ORDER BY coalesce(i.ended, i.started), i.f, i.m, n;
INSERT INTO act_hi_op_log (id_, proc_def_id_, proc_def_key_, root_proc_inst_id_, proc_inst_id_, task_id_, user_id_, timestamp_, operation_type_, operation_id_, entity_type_, property_, new_value_, removal_time_, category_)
SELECT pg_temp.demo_id('o' || t.id_), t.proc_def_id_, t.proc_def_key_, t.root_proc_inst_id_, t.proc_inst_id_, t.id_, t.assignee_, t.end_time_, 'Complete', pg_temp.demo_id('op' || t.id_), 'Task', 'delete', 'true', t.removal_time_, 'TaskWorker'
FROM act_hi_taskinst AS t
WHERE t.end_time_ IS NOT NULL
ORDER BY t.end_time_, t.root_proc_inst_id_, t.start_time_, t.id_;
INSERT INTO act_hi_comment (id_, type_, time_, user_id_, root_proc_inst_id_, proc_inst_id_, action_, message_, removal_time_)
SELECT pg_temp.demo_id('c' || i.id), 'comment', i.started, 'demo', i.root_id, i.id, 'AddComment', 'please check', i.removal
FROM demo_instance AS i
WHERE i.f % 5 = 0
ORDER BY coalesce(i.ended, i.started), i.f, i.m;
INSERT INTO act_hi_attachment (id_, rev_, user_id_, name_, type_, root_proc_inst_id_, proc_inst_id_, content_id_, create_time_, removal_time_)
SELECT pg_temp.demo_id('f' || b.id), 1, 'demo', 'invoice.pdf', 'pdf', b.root_id, b.id, b.bytes_id, b.started, b.removal
FROM demo_bytes AS b
WHERE b.kind = 'file'
ORDER BY coalesce(b.ended, b.started), b.f, b.m;
INSERT INTO act_ru_authorization (id_, rev_, type_, user_id_, resource_type_, resource_id_, perms_, removal_time_, root_proc_inst_id_)
SELECT pg_temp.demo_id('z' || i.id), 1, 1, 'user' || i.f % 40, 20, i.id, 2, i.removal, i.root_id
FROM demo_instance AS i
WHERE i.f % 10 = 2
ORDER BY coalesce(i.ended, i.started), i.f, i.m;

-- Decisions of processes, and every fortieth of none: those share a removal time of their own.
CREATE TEMPORARY TABLE demo_decision ON COMMIT DROP AS
SELECT pg_temp.demo_id('x' || i.id) AS id, i.id AS instance, i.root_id, i.process, i.started, i.ended, i.removal, i.f, b.bytes_id
FROM demo_instance AS i
LEFT JOIN demo_bytes AS b ON b.id = i.id AND b.kind = 'decision'
WHERE i.f % 4 = 1
UNION ALL
SELECT pg_temp.demo_id('y' || i.id), NULL, NULL, NULL, i.started, i.started, i.started + interval '30 days', i.f, NULL
FROM demo_instance AS i
WHERE i.f % 40 = 7
  AND i.m = 1;
INSERT INTO act_hi_decinst (id_, dec_def_id_, dec_def_key_, dec_def_name_, proc_def_key_, proc_inst_id_, eval_time_, removal_time_, root_dec_inst_id_, root_proc_inst_id_)
SELECT d.id, 'discount:1', 'discount', 'Discount', d.process, d.instance, d.started, d.removal, d.id, d.root_id
FROM demo_decision AS d
ORDER BY coalesce(d.ended, d.started), d.f, d.id;
INSERT INTO act_hi_dec_in (id_, dec_inst_id_, clause_id_, clause_name_, var_type_, bytearray_id_, text_, create_time_, root_proc_inst_id_, removal_time_)
SELECT pg_temp.demo_id('in' || d.id || n), d.id, 'input_' || n, 'Input ' || n, 'string', CASE WHEN n = 1 THEN d.bytes_id END, 'gold', d.started, d.root_id, d.removal
FROM demo_decision AS d
CROSS JOIN generate_series(1, 2) AS n
ORDER BY coalesce(d.ended, d.started), d.f, d.id, n;
INSERT INTO act_hi_dec_out (id_, dec_inst_id_, clause_id_, clause_name_, rule_id_, rule_order_, var_name_, var_type_, double_, create_time_, root_proc_inst_id_, removal_time_)
SELECT pg_temp.demo_id('out' || d.id), d.id, 'output', 'Discount', 'rule_' || d.f % 5, 1, 'discount', 'double', 0.1, d.started, d.root_id, d.removal
FROM demo_decision AS d
ORDER BY coalesce(d.ended, d.started), d.f, d.id;

-- Tasks that belong to nothing.
INSERT INTO act_hi_taskinst (id_, name_, assignee_, start_time_, end_time_, priority_, removal_time_)
SELECT pg_temp.demo_id('s' || i.id), 'Call back', 'demo', i.started, i.started + interval '1 hour', 50, i.started + interval '31 days'
FROM demo_instance AS i
WHERE i.f % 60 = 8
  AND i.m = 1;

-- Batches, with the logs of their jobs.
INSERT INTO act_hi_batch (id_, type_, total_jobs_, jobs_per_seed_, invocations_per_job_, start_time_, end_time_, removal_time_)
SELECT pg_temp.demo_id('b' || i.f), 'instance-deletion', 4, 100, 1, i.started, i.started + interval '5 minutes', i.started + interval '35 days'
FROM demo_instance AS i
WHERE i.f % 150 = 9
  AND i.m = 1;
INSERT INTO act_hi_job_log (id_, timestamp_, job_id_, job_state_, job_def_type_, sequence_counter_, removal_time_, batch_id_)
SELECT pg_temp.demo_id('bj' || b.id_ || n), b.start_time_, pg_temp.demo_id('bjob' || b.id_ || n / 2), n % 2 * 2, 'batch-job', n, b.removal_time_, b.id_
FROM act_hi_batch AS b
CROSS JOIN generate_series(0, 7) AS n;

-- What runs; some of it still names byte arrays of the history.
INSERT INTO act_ru_execution (id_, rev_, root_proc_inst_id_, proc_inst_id_, is_active_)
SELECT i.id, 1, i.root_id, i.id, true FROM demo_instance AS i WHERE i.ended IS NULL;
INSERT INTO act_ru_variable (id_, rev_, type_, name_, execution_id_, proc_inst_id_, bytearray_id_, var_scope_)
SELECT pg_temp.demo_id('rv' || b.id), 1, 'object', 'copied_' || b.f, r.id_, r.proc_inst_id_, b.bytes_id, r.id_
FROM demo_bytes AS b
CROSS JOIN LATERAL (SELECT x.id_, x.proc_inst_id_ FROM act_ru_execution AS x ORDER BY pg_temp.demo_id(x.id_ || b.id) LIMIT 1) AS r
WHERE b.kind = 'value'
  AND b.f % 40 = 1;
INSERT INTO act_ru_job (id_, rev_, type_, process_instance_id_, retries_, exception_stack_id_, handler_type_)
SELECT pg_temp.demo_id('rj' || b.id), 1, 'message', b.id, 0, b.bytes_id, 'async-continuation'
FROM demo_bytes AS b
WHERE b.kind = 'stack'
  AND b.f % 100 = 41;

INSERT INTO act_ru_task_meter_log (id_, assignee_hash_, timestamp_)
SELECT pg_temp.demo_id('m' || n), n % 40, c.now - make_interval(secs => 95040000::bigint * n / c.families)
FROM demo_clock AS c
CROSS JOIN LATERAL generate_series(1, c.families) AS n;

COMMIT;
