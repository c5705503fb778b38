-- A realistic history for MLflow 3.17, loaded into the empty tables of schema-3.17.sql: the same rows as
-- postgres/history-3.17.sql has, which tells what is in them. MySQL and MariaDB.
--
-- Its size is the number of runs in the variable @windrow_demo_families; 8,000 give about a quarter of a million rows.
-- @windrow_demo_now, if set, is the instant in UTC that everything is counted back from. ANALYZE the tables afterwards.
-- The default experiment has the key 0.
SET time_zone = '+00:00', sql_mode = CONCAT_WS(',', @@SESSION.sql_mode, 'NO_AUTO_VALUE_ON_ZERO');

SET @demo_now = TIMESTAMPDIFF(SECOND, '1970-01-01', COALESCE(CAST(@windrow_demo_now AS DATETIME), UTC_TIMESTAMP())) * 1000,
    @demo_families = CAST(@windrow_demo_families AS SIGNED);

DROP TEMPORARY TABLE IF EXISTS demo_run;

START TRANSACTION;

CREATE TEMPORARY TABLE demo_run AS
WITH digit (n) AS (
    SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
    UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9
),
number (id) AS (
    SELECT 1 + a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 100000 * f.n
    FROM digit AS a
    CROSS JOIN digit AS b
    CROSS JOIN digit AS c
    CROSS JOIN digit AS d
    CROSS JOIN digit AS e
    CROSS JOIN digit AS f
)
SELECT
    i.id,
    LEFT(SHA2(CONCAT('run', i.id), 256), 32) AS run_uuid,
    CONCAT('tr-', LEFT(SHA2(CONCAT('trace', i.id), 256), 32)) AS trace_id,
    i.id % 10 AS experiment_id,
    @demo_now AS now,
    @demo_now - 15552000000 + 15552000000 * i.id DIV (@demo_families + 1) AS started,
    i.id % 5 < 2 AS deleted
FROM number AS i
WHERE i.id <= @demo_families
ORDER BY i.id;

INSERT INTO experiments (experiment_id, name, lifecycle_stage, creation_time, last_update_time)
SELECT i.id, CASE i.id WHEN 0 THEN 'Default' ELSE CONCAT('experiment-', i.id) END, 'active', r.now - 31536000000, r.now - 31536000000
FROM (
    SELECT 0 AS id UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
    UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9
) AS i
CROSS JOIN (SELECT MIN(now) AS now FROM demo_run) AS r;

INSERT INTO runs (
    run_uuid, name, source_type, user_id, status, start_time, end_time, lifecycle_stage, artifact_uri, experiment_id, deleted_time
)
SELECT
    r.run_uuid,
    CONCAT('run-', r.id),
    'LOCAL',
    CONCAT('user-', r.id % 20),
    CASE WHEN r.id % 40 = 39 THEN 'RUNNING' WHEN r.id % 20 = 7 THEN 'FAILED' ELSE 'FINISHED' END,
    r.started,
    CASE WHEN r.id % 40 <> 39 THEN r.started + 600000 END,
    CASE WHEN r.deleted THEN 'deleted' ELSE 'active' END,
    CONCAT('s3://mlflow/', r.experiment_id, '/', r.run_uuid, '/artifacts'),
    r.experiment_id,
    CASE
        WHEN NOT r.deleted OR r.id % 95 = 0 THEN NULL
        WHEN r.id % 96 = 0 THEN 0
        ELSE LEAST(r.started + 86400000 * (1 + r.id % 9), r.now)
    END
FROM demo_run AS r;

INSERT INTO metrics (`key`, value, timestamp, run_uuid, step, is_nan)
SELECT CONCAT('metric-', k.id), r.id % 100 / (k.id + s.id), r.started + 60000 * s.id, r.run_uuid, s.id, false
FROM demo_run AS r
CROSS JOIN (SELECT 1 AS id UNION ALL SELECT 2 UNION ALL SELECT 3) AS k
CROSS JOIN (SELECT 1 AS id UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) AS s;

INSERT INTO latest_metrics (`key`, value, timestamp, run_uuid, step, is_nan)
SELECT m.`key`, m.value, m.timestamp, m.run_uuid, m.step, m.is_nan FROM metrics AS m WHERE m.step = 4;

INSERT INTO params (`key`, value, run_uuid)
SELECT CONCAT('param-', k.id), r.id * k.id % 17, r.run_uuid
FROM demo_run AS r
CROSS JOIN (SELECT 1 AS id UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) AS k;

INSERT INTO tags (`key`, value, run_uuid)
SELECT 'mlflow.source.name', 'train.py', r.run_uuid FROM demo_run AS r;

INSERT INTO tags (`key`, value, run_uuid)
SELECT 'mlflow.user', CONCAT('user-', r.id % 20), r.run_uuid FROM demo_run AS r;

-- The parent of a nested run.
INSERT INTO tags (`key`, value, run_uuid)
SELECT 'mlflow.parentRunId', LEFT(SHA2(CONCAT('run', (r.id - 1)), 256), 32), r.run_uuid FROM demo_run AS r WHERE r.id % 10 IN (1, 3);

-- What a run read, and the model that it made.
INSERT INTO inputs (input_uuid, source_type, source_id, destination_type, destination_id, step)
SELECT CONCAT('input-', r.id), 'DATASET', CONCAT('dataset-', r.id % 30), 'RUN', r.run_uuid, 0
FROM demo_run AS r
WHERE r.id % 4 = 0;

INSERT INTO inputs (input_uuid, source_type, source_id, destination_type, destination_id, step)
SELECT CONCAT('output-', r.id), 'RUN_OUTPUT', r.run_uuid, 'MODEL_OUTPUT', CONCAT('m-', r.id), 4
FROM demo_run AS r
WHERE r.id % 8 = 1;

INSERT INTO input_tags (input_uuid, name, value)
SELECT CONCAT('input-', r.id), 'mlflow.data.context', 'training' FROM demo_run AS r WHERE r.id % 4 = 0;

INSERT INTO logged_models (
    model_id, experiment_id, name, artifact_location, creation_timestamp_ms, last_updated_timestamp_ms, status, lifecycle_stage,
    source_run_id
)
SELECT
    CONCAT('m-', r.id), r.experiment_id, 'model', CONCAT('s3://mlflow/models/', r.id), r.started, r.started, 2,
    'active', r.run_uuid
FROM demo_run AS r
WHERE r.id % 8 = 1;

INSERT INTO logged_model_metrics (model_id, metric_name, metric_timestamp_ms, metric_step, metric_value, experiment_id, run_id)
SELECT m.model_id, 'accuracy', m.creation_timestamp_ms, 4, 0.9, m.experiment_id, m.source_run_id FROM logged_models AS m;

INSERT INTO registered_models (name, creation_time, last_updated_time)
SELECT DISTINCT CONCAT('registered-', r.experiment_id), r.now - 15552000000, r.now FROM demo_run AS r;

INSERT INTO model_versions (name, version, creation_time, last_updated_time, current_stage, source, run_id, status)
SELECT CONCAT('registered-', r.experiment_id), r.id, r.started, r.started, 'None', CONCAT('models:/m-', r.id), r.run_uuid, 'READY'
FROM demo_run AS r
WHERE r.id % 50 = 1;

INSERT INTO issues (
    issue_id, experiment_id, name, description, status, source_run_id, created_timestamp, last_updated_timestamp
)
SELECT CONCAT('issue-', r.id), r.experiment_id, CONCAT('issue-', r.id), 'drift', 'open', r.run_uuid, r.started, r.started
FROM demo_run AS r
WHERE r.id % 60 = 1;

INSERT INTO trace_info (
    request_id, experiment_id, timestamp_ms, execution_time_ms, status, request_preview, db_payload_generation, trace_name
)
SELECT
    t.trace_id,
    t.experiment_id,
    t.started,
    CASE WHEN t.id % 30 <> 29 THEN 900 + t.id % 500 END,
    CASE WHEN t.id % 30 = 29 THEN 'IN_PROGRESS' WHEN t.id % 12 = 5 THEN 'ERROR' ELSE 'OK' END,
    CONCAT('question ', t.id),
    0,
    'answer'
FROM demo_run AS t;

INSERT INTO trace_tags (`key`, value, request_id)
SELECT k.name, k.value, t.trace_id
FROM demo_run AS t
CROSS JOIN (
    SELECT 'mlflow.traceName' AS name, 'answer' AS value UNION ALL SELECT 'mlflow.trace.spansLocation', 'TRACKING_STORE'
) AS k;

INSERT INTO trace_request_metadata (`key`, value, request_id)
SELECT 'mlflow.trace_schema.version', '3', t.trace_id FROM demo_run AS t;

INSERT INTO trace_request_metadata (`key`, value, request_id)
SELECT 'mlflow.sourceRun', t.run_uuid, t.trace_id FROM demo_run AS t WHERE t.id % 5 = 0;

INSERT INTO trace_metrics (request_id, `key`, value)
SELECT t.trace_id, 'total_tokens', t.id % 4000 FROM demo_run AS t;

INSERT INTO spans (trace_id, experiment_id, span_id, parent_span_id, name, type, status, start_time_unix_nano, end_time_unix_nano, content)
SELECT
    t.trace_id,
    t.experiment_id,
    CONCAT('span-', s.id),
    CASE WHEN s.id > 1 THEN 'span-1' END,
    CONCAT('step-', s.id),
    CASE s.id WHEN 1 THEN 'AGENT' ELSE 'TOOL' END,
    'OK',
    (t.started + 100 * s.id) * 1000000,
    (t.started + 100 * s.id + 90) * 1000000,
    '{"name": "step"}'
FROM demo_run AS t
CROSS JOIN (SELECT 1 AS id UNION ALL SELECT 2 UNION ALL SELECT 3) AS s;

INSERT INTO span_metrics (trace_id, span_id, `key`, value)
SELECT s.trace_id, s.span_id, 'tokens', 12 FROM spans AS s WHERE s.span_id <> 'span-1';

INSERT INTO assessments (
    assessment_id, trace_id, name, assessment_type, value, created_timestamp, last_updated_timestamp, source_type, valid, experiment_id
)
SELECT
    CONCAT('a-', t.id), t.trace_id, 'correct', 'feedback', 'true', t.started, t.started, 'HUMAN', true,
    t.experiment_id
FROM demo_run AS t
WHERE t.id % 3 = 0;

-- Which run a trace belongs to.
INSERT INTO entity_associations (association_id, source_type, source_id, destination_type, destination_id, created_time)
SELECT CONCAT('association-', t.id), 'trace', t.trace_id, 'run', t.run_uuid, t.started FROM demo_run AS t WHERE t.id % 5 = 0;

INSERT INTO review_queues (queue_id, experiment_id, name, queue_type, creation_time_ms, last_update_time_ms, name_key)
SELECT CONCAT('queue-', e.experiment_id), e.experiment_id, 'review', 'manual', e.creation_time, e.creation_time, 'review'
FROM experiments AS e;

INSERT INTO review_queue_items (queue_id, item_type, item_id, status, creation_time_ms, last_update_time_ms)
SELECT CONCAT('queue-', t.experiment_id), 'trace', t.trace_id, 'pending', t.started, t.started FROM demo_run AS t WHERE t.id % 70 = 4;

COMMIT;

DROP TEMPORARY TABLE demo_run;
