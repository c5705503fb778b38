-- A realistic history for Prefect 3.8, loaded into the empty tables of schema-3.8.sql.
--
-- Its size is the number of top-level flow runs in the setting windrow.demo_families; 8,000 give about 290,000 rows, 1,000 are
-- the fewest that show every oddity below. The rows are the same on every load, but for their distance from now() in UTC, or
-- from the instant in the setting windrow.demo_now if there is one. Load it as one string or with psql, then VACUUM ANALYZE.
--
-- The runs begin evenly over the last 180 days, in ten flows; the newest are scheduled. Each has three task runs with two states
-- each, three states of its own and seven lines of log. One in five starts a sub-flow, one in 25 of these another.
--
-- What makes a clean-up hard is all here:
--   * sub-flows, which name the task run that started them, and are no children of their parent by any key;
--   * sub-flows that still run, or ended lately, though their parent has ended long ago;
--   * crashed runs without an end;
--   * runs that name their last state, and states that name their run;
--   * artifacts, which have no foreign key; the latest one of a key is still shown;
--   * task runs without a flow run, with their logs.
BEGIN;

CREATE TEMPORARY TABLE demo_run ON COMMIT DROP AS
SELECT
    r.id,
    r.level,
    md5('flow_run' || r.id || '/' || r.level)::uuid AS run,
    md5('flow' || r.id % 10)::uuid AS flow,
    CASE WHEN r.level > 0 THEN md5('task_run' || r.id || '/' || (r.level - 1) || '/1')::uuid END AS parent,
    c.now,
    c.now - interval '180 days' * (1 - r.id::double precision / (c.families + 1)) AS started,
    CASE
        WHEN r.level = 1 AND r.id % 150 = 75 THEN 'RUNNING'
        WHEN r.level > 0 THEN 'COMPLETED'
        WHEN r.id % 100 = 99 THEN 'RUNNING'
        WHEN r.id % 100 = 98 THEN 'PAUSED'
        WHEN r.id % 100 IN (31, 77) THEN 'CANCELLED'
        WHEN r.id % 100 IN (3, 53, 83) THEN 'CRASHED'
        WHEN r.id % 12 = 7 THEN 'FAILED'
        ELSE 'COMPLETED'
    END AS state
FROM (
    SELECT
        current_setting('windrow.demo_families')::integer AS families,
        date_trunc('second', coalesce(
            nullif(current_setting('windrow.demo_now', true), '')::timestamp AT TIME ZONE 'UTC',
            now()
        )) AS now
) AS c
CROSS JOIN LATERAL (
    SELECT i.id, l.level
    FROM generate_series(1, c.families) AS i(id)
    CROSS JOIN generate_series(0, 2) AS l(level)
    WHERE l.level = 0
       OR l.level = 1 AND i.id % 5 = 0
       OR l.level = 2 AND i.id % 25 = 0
) AS r;

INSERT INTO flow (id, name, created, updated)
SELECT DISTINCT r.flow, 'flow-' || r.id % 10, r.now - interval '1 year', r.now - interval '1 year' FROM demo_run AS r;

INSERT INTO flow_run (
    id, created, updated, name, state_type, state_name, start_time, end_time, expected_start_time, flow_id, state_timestamp
)
SELECT
    r.run,
    r.started,
    r.started + interval '10 minutes',
    'run-' || r.id || '-' || r.level,
    r.state::state_type,
    initcap(r.state),
    r.started,
    CASE
        WHEN r.state IN ('RUNNING', 'PAUSED') OR r.state = 'CRASHED' AND r.id % 100 = 53 THEN NULL
        -- Retried by hand.
        WHEN r.level = 1 AND r.id % 90 = 45 THEN r.now - interval '3 days'
        ELSE r.started + interval '10 minutes' * (3 - r.level)
    END,
    r.started,
    r.flow,
    r.started + interval '10 minutes'
FROM demo_run AS r;

-- Those that the scheduler has made in advance.
INSERT INTO flow_run (id, created, updated, name, state_type, state_name, expected_start_time, auto_scheduled, flow_id)
SELECT
    md5('scheduled' || i.id)::uuid, c.now, c.now, 'scheduled-' || i.id, 'SCHEDULED', 'Scheduled', c.now + interval '1 hour' * i.id, true,
    c.flow
FROM generate_series(1, 24) AS i(id)
CROSS JOIN (SELECT r.now, r.flow FROM demo_run AS r WHERE r.id = 10 AND r.level = 0) AS c;

INSERT INTO task_run (
    id, created, updated, name, task_key, dynamic_key, state_type, state_name, start_time, end_time, flow_run_id, state_timestamp
)
SELECT
    md5('task_run' || r.id || '/' || r.level || '/' || t.number)::uuid,
    r.started,
    r.started,
    'task-' || t.number,
    'task',
    t.number::text,
    'COMPLETED',
    'Completed',
    r.started,
    r.started + interval '5 minutes',
    r.run,
    r.started
FROM demo_run AS r
CROSS JOIN generate_series(1, 3) AS t(number);

-- Tasks that nobody started from a flow.
INSERT INTO task_run (id, created, updated, name, task_key, dynamic_key, state_type, state_name, start_time, end_time)
SELECT md5('alone' || r.id)::uuid, r.started, r.started, 'alone', 'alone', r.id::text, 'COMPLETED', 'Completed', r.started, r.started
FROM demo_run AS r
WHERE r.level = 0
  AND r.id % 50 = 0;

UPDATE flow_run AS f
SET parent_task_run_id = r.parent
FROM demo_run AS r
WHERE f.id = r.run
  AND r.parent IS NOT NULL;

INSERT INTO artifact (id, created, updated, key, type, data, flow_run_id, task_run_id)
SELECT
    md5('artifact' || r.id)::uuid,
    r.started,
    r.started,
    CASE WHEN r.id % 99 = 0 THEN 'report-of-' || r.id WHEN r.id % 9 = 0 THEN 'report-' || r.id % 27 END,
    'markdown',
    '"a table"',
    r.run,
    md5('task_run' || r.id || '/0/2')::uuid
FROM demo_run AS r
WHERE r.level = 0
  AND r.id % 3 = 0;

INSERT INTO artifact_collection (id, created, updated, key, latest_id, flow_run_id)
SELECT DISTINCT ON (a.key) gen_random_uuid(), a.created, a.created, a.key, a.id, a.flow_run_id
FROM artifact AS a
WHERE a.key IS NOT NULL
ORDER BY a.key, a.created DESC;

INSERT INTO flow_run_state (id, created, updated, type, name, timestamp, flow_run_id, result_artifact_id)
SELECT
    md5('flow_run_state' || r.id || '/' || r.level || '/' || s.number)::uuid,
    r.started,
    r.started,
    CASE s.number WHEN 1 THEN 'PENDING' WHEN 2 THEN 'RUNNING' ELSE r.state END::state_type,
    'state-' || s.number,
    r.started + interval '1 minute' * s.number,
    r.run,
    CASE WHEN s.number = 3 AND r.level = 0 AND r.id % 3 = 0 THEN md5('artifact' || r.id)::uuid END
FROM demo_run AS r
CROSS JOIN generate_series(1, 3) AS s(number);

UPDATE flow_run AS f
SET state_id = s.id
FROM flow_run_state AS s
WHERE s.flow_run_id = f.id
  AND s.name = 'state-3';

INSERT INTO task_run_state (id, created, updated, type, name, timestamp, task_run_id)
SELECT
    md5(t.id || '/' || s.number)::uuid, t.created, t.created, 'COMPLETED', 'state-' || s.number,
    t.start_time + interval '1 minute' * s.number, t.id
FROM task_run AS t
CROSS JOIN generate_series(1, 2) AS s(number);

INSERT INTO task_run_state_cache (id, created, updated, cache_key, task_run_state_id)
SELECT md5('cache' || s.id)::uuid, s.created, s.created, 'cache-' || s.id, s.id FROM task_run_state AS s WHERE s.name = 'state-2';

INSERT INTO flow_run_input (id, created, updated, key, value, flow_run_id)
SELECT md5('input' || r.id)::uuid, r.started, r.started, 'approval', 'yes', r.run
FROM demo_run AS r
WHERE r.level = 0
  AND r.id % 20 = 5;

INSERT INTO log (id, created, updated, name, level, flow_run_id, task_run_id, message, timestamp)
SELECT
    md5('log' || r.id || '/' || r.level || '/' || l.number)::uuid,
    r.started,
    r.started,
    'prefect.flow_runs',
    20,
    r.run,
    CASE WHEN l.number <= 3 THEN md5('task_run' || r.id || '/' || r.level || '/' || l.number)::uuid END,
    'step ' || l.number,
    r.started
FROM demo_run AS r
CROSS JOIN generate_series(1, 7) AS l(number);

INSERT INTO log (id, created, updated, name, level, task_run_id, message, timestamp)
SELECT md5('log' || t.id)::uuid, t.created, t.created, 'prefect.task_runs', 20, t.id, 'alone', t.created
FROM task_run AS t
WHERE t.flow_run_id IS NULL;

COMMIT;
