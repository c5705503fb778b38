-- A realistic history for yWorkflow, loaded into the empty tables of schema.sql.
--
-- Its size is the number of workflow instances in the setting windrow.demo_families; 8,000 give about 190,000 rows, 1,000
-- are the fewest that show every oddity below. The rows are the same on every load, but for their distance from now() in
-- UTC, or from the instant in the setting windrow.demo_now if there is one. Load it as one string or with psql, then
-- VACUUM ANALYZE.
--
-- The instances start evenly over the last 180 days, in the order of their ids; the newest still run. Each has five to ten
-- states, the steps between them, the owners of its states, and six of ten have attributes.
--
-- What makes a clean-up hard is all here:
--   * STOPPED instances, which have ended long ago and may be started again;
--   * instances that were never started, or have been processing for months;
--   * COMPLETED instances that were corrected three days ago;
--   * steps with several previous states, and steps back to an earlier one;
--   * attributes, whose foreign key refuses what all others let cascade;
--   * instances without a tenant.
BEGIN;

CREATE TEMPORARY TABLE demo_instance ON COMMIT DROP AS
SELECT
    i.id,
    c.now,
    c.now - interval '180 days' * (1 - i.id::double precision / c.families) AS created_at,
    interval '1 hour' * (1 + i.id % 17) AS lasts,
    5 + i.id % 6 AS states,
    CASE
        WHEN i.id % 100 < 82 THEN 'COMPLETED'
        WHEN i.id % 100 < 90 THEN 'KILLED'
        WHEN i.id % 100 < 95 THEN 'STOPPED'
        WHEN i.id % 100 < 98 THEN 'PROCESSING'
        WHEN i.id % 100 < 99 THEN 'STARTED'
        ELSE 'CREATED'
    END AS status
FROM (
    SELECT
        current_setting('windrow.demo_families')::integer AS families,
        date_trunc('second', coalesce(
            nullif(current_setting('windrow.demo_now', true), '')::timestamp,
            now() AT TIME ZONE 'UTC'
        )) AS now
) AS c
CROSS JOIN LATERAL generate_series(1, c.families) AS i(id);

-- What has not had the time to end is still at work.
UPDATE demo_instance
SET status = 'PROCESSING'
WHERE created_at + lasts > now
  AND status <> 'CREATED';

INSERT INTO workflow_instance (id, tenant_id, workflow_definition_id, status, created_at, updated_at)
SELECT
    i.id,
    CASE WHEN i.id % 9 > 0 THEN 'tenant-' || i.id % 4 END,
    (ARRAY[
        'orders/approval', 'orders/return', 'claims/intake', 'claims/payment', 'people/onboarding', 'people/leave',
        'invoices/review', 'contracts/renewal', 'support/escalation', 'audit/sample'
    ])[1 + (i.id * 7 + i.id / 10) % 10],
    i.status,
    i.created_at,
    CASE
        WHEN i.status = 'CREATED' THEN i.created_at
        WHEN i.id % 211 = 0 AND i.created_at < i.now - interval '3 days' THEN i.now - interval '3 days'
        ELSE least(i.created_at + i.lasts, i.now)
    END
FROM demo_instance AS i;

-- The states of an instance follow one another; the last one of an instance that has not ended is active.
INSERT INTO state_instance (id, workflow_instance_id, state_id, transition_id, started_at, completed_at, due_at, status, is_active, caller)
SELECT
    i.id * 16 + s.number,
    i.id,
    'state-' || s.number,
    CASE WHEN s.number > 1 THEN 'transition-' || s.number END,
    i.created_at + i.lasts * (s.number - 1) / i.states,
    CASE WHEN s.number < i.states OR i.status IN ('COMPLETED', 'KILLED') THEN i.created_at + i.lasts * s.number / i.states END,
    CASE WHEN s.number % 3 = 0 THEN i.created_at + interval '14 days' END,
    CASE WHEN s.number < i.states OR i.status IN ('COMPLETED', 'KILLED') THEN 'COMPLETED' ELSE 'ACTIVE' END,
    s.number = i.states AND i.status NOT IN ('COMPLETED', 'KILLED'),
    CASE WHEN s.number % 2 = 0 THEN 'user-' || (i.id + s.number) % 50 END
FROM demo_instance AS i
CROSS JOIN LATERAL generate_series(1, i.states) AS s(number)
WHERE i.status <> 'CREATED';

INSERT INTO state_instance_history (state_instance_id, previous_state_instance_id, previous_state_instance_order)
SELECT s.id, s.id - 1, 0
FROM state_instance AS s
WHERE s.id % 16 > 1
UNION ALL
-- Two branches come together in the fourth state.
SELECT s.id, s.id - 2, 1
FROM state_instance AS s
WHERE s.id % 16 = 4
  AND s.workflow_instance_id % 5 = 0
UNION ALL
-- The second state was entered once more, from the fifth.
SELECT s.id - 3, s.id, 2
FROM state_instance AS s
WHERE s.id % 16 = 5
  AND s.workflow_instance_id % 13 = 0;

INSERT INTO state_instance_owners (state_instance_id, owner_id)
SELECT s.id, 'user-' || (s.id + o.number * 11) % 50
FROM state_instance AS s
CROSS JOIN LATERAL generate_series(1, s.id % 3) AS o(number);

INSERT INTO persistent_attribute (
    workflow_instance_id, attribute_name, attribute_type, string_value, date_value, data_value, float_value, number_value
)
SELECT
    i.id,
    'attribute-' || a.number,
    (ARRAY['STRING', 'DATE', 'DATA', 'FLOAT', 'NUMBER'])[a.number],
    CASE WHEN a.number = 1 THEN repeat('text ', 8) END,
    CASE WHEN a.number = 2 THEN i.created_at END,
    CASE WHEN a.number = 3 THEN '\x0badcafe'::bytea END,
    CASE WHEN a.number = 4 THEN i.id / 7.0 END,
    CASE WHEN a.number = 5 THEN i.id * 1.25 END
FROM demo_instance AS i
CROSS JOIN LATERAL generate_series(1, 1 + i.id % 5) AS a(number)
WHERE i.id % 10 < 6;

SELECT
    setval('workflow_instance_id_seq', (SELECT max(i.id) FROM workflow_instance AS i)),
    setval('state_instance_id_seq', (SELECT max(s.id) FROM state_instance AS s));

COMMIT;
