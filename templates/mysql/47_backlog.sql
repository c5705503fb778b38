{% import "macros.sql" as w -%}
{{ session }}

-- What reads the application's tables has the rights of the owner role, and names tables only. What views name are views
-- with the rights of their reader, over the ledger: a dump can be restored in any order then, without roles.

-- undeletable: what the last look at each rule left, and why: the first that it came upon, which is the oldest, and how long
-- ago that ended, where it still is there and its rule is not of single rows.
--# create view {{ control }}.undeletable
CREATE OR REPLACE DEFINER = {{ owner }} SQL SECURITY DEFINER VIEW {{ control }}.undeletable (rule, reason, families, sample_key, oldest_age_seconds, run_id) AS
{{ w::undeletable(control=control, rules=rules, q=q, workers=workers) }};

-- backlog: how much is due, how fast more becomes due, and how fast it goes. Up to 10,000 families are counted now; beyond,
-- it is the count of the last run less what went since, counted_at says when; NULL there: at least so many.
-- rows: as many as a family of the last five runs had. Per hour, as the last run saw it: over up to seven days.
--# create view {{ control }}.backlog
CREATE OR REPLACE DEFINER = {{ owner }} SQL SECURITY DEFINER VIEW {{ control }}.backlog (rule, families, {{ q }}rows{{ q }}, oldest_age_seconds, counted_at, due_per_hour, deleted_per_hour) AS
{{ w::backlog(control=control, rules=rules, by_calendar=by_calendar, q=q) }};

-- metrics: for sql_exporter and friends; the collector file among the generated ones says what each metric means.
-- How current: the backlog as in view backlog, skipped families as the last run saw them (view undeletable), all else as it
-- is now. Reads at most 10,000 entries of an index per rule and pass, and the ledger of about the last hour.
--# create view {{ control }}.metrics
CREATE OR REPLACE DEFINER = {{ owner }} SQL SECURITY DEFINER VIEW {{ control }}.metrics (name, labels, value) AS
SELECT 'windrow_armed', JSON_OBJECT(), c.armed + 0e0
FROM {{ control }}.control AS c
UNION ALL
SELECT 'windrow_paused', JSON_OBJECT(), c.paused
FROM {{ control }}.control AS c
UNION ALL
SELECT 'windrow_rule_paused', JSON_OBJECT('rule', k.rule), p.rule IS NOT NULL
FROM {{ control }}.rule AS k
LEFT JOIN {{ control }}.rule_pause AS p ON p.rule = k.rule
UNION ALL
SELECT 'windrow_suspended', JSON_OBJECT(), s.suspended
FROM {{ control }}.scheduling AS s
UNION ALL
SELECT 'windrow_failed_runs_in_row', JSON_OBJECT(), s.failed_runs
FROM {{ control }}.scheduling AS s
UNION ALL
SELECT 'windrow_back_off_until_timestamp_seconds', JSON_OBJECT(), COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', s.idle_until) / 1e6, 0)
FROM {{ control }}.scheduling AS s
UNION ALL
SELECT 'windrow_window_open', JSON_OBJECT(), {{ w::is_open() }}
FROM {{ w::clocks(control=control, at="UTC_TIMESTAMP(6)") }}
UNION ALL
SELECT 'windrow_running', JSON_OBJECT(), COUNT(*)
FROM {{ control }}.run AS r
WHERE r.status = 'running'
UNION ALL
SELECT 'windrow_running_since_timestamp_seconds', JSON_OBJECT(), TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', MIN(r.started_at)) / 1e6
FROM {{ control }}.run AS r
WHERE r.status = 'running'
  AND {{ w::is_run(stamps=stamps) }}
HAVING COUNT(*) > 0
UNION ALL
SELECT 'windrow_last_success_timestamp_seconds', JSON_OBJECT(), l.at
FROM (
    SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', r.finished_at) / 1e6 AS at
    FROM {{ control }}.run AS r
    WHERE r.status IN ('done', 'stopped')
      AND NOT r.dry_run
      AND {{ w::is_run(stamps=stamps) }}
    ORDER BY r.run_id DESC
    LIMIT 1
) AS l
UNION ALL
SELECT m.name, JSON_OBJECT(), IF(m.name = 'windrow_last_run_failed', l.failed, l.seconds)
FROM (
    SELECT r.status NOT IN ('done', 'stopped') AS failed, TIMESTAMPDIFF(MICROSECOND, r.started_at, r.finished_at) / 1e6 AS seconds
    FROM {{ control }}.run AS r
    WHERE r.finished_at IS NOT NULL
      AND NOT r.dry_run
      AND {{ w::is_run(stamps=stamps) }}
    ORDER BY r.run_id DESC
    LIMIT 1
) AS l
CROSS JOIN (SELECT 'windrow_last_run_duration_seconds' AS name UNION ALL SELECT 'windrow_last_run_failed') AS m
UNION ALL
SELECT c.name, JSON_EXTRACT(c.labels, '$'), SUM(c.value)
FROM (
    SELECT t.name, t.labels, t.value
    FROM {{ control }}.tally AS t
    WHERE t.name <> 'up to run'
    UNION ALL
    SELECT k.name, k.labels, k.value
    FROM {{ control }}.run_count AS k
    WHERE k.run_id > (SELECT t.value FROM {{ control }}.tally AS t WHERE t.name = 'up to run' AND t.labels = '{}')
) AS c
GROUP BY c.name, c.labels
UNION ALL
SELECT m.name, JSON_OBJECT('rule', u.rule, 'reason', u.reason), IF(m.name = 'windrow_skipped_families', u.families, u.oldest_age_seconds)
FROM (
    {{ w::undeletable(control=control, rules=rules, q=q, workers=workers) | indent(prefix="    ") }}
) AS u
CROSS JOIN (SELECT 'windrow_skipped_families' AS name UNION ALL SELECT 'windrow_skipped_oldest_age_seconds') AS m
WHERE m.name = 'windrow_skipped_families'
   OR u.oldest_age_seconds IS NOT NULL
UNION ALL
SELECT v.name, JSON_OBJECT('rule', v.rule), v.value
FROM (
    SELECT
        m.name, b.rule,
        CASE m.name
            WHEN 'windrow_backlog_families' THEN b.families
            WHEN 'windrow_backlog_rows' THEN b.{{ q }}rows{{ q }}
            WHEN 'windrow_backlog_oldest_age_seconds' THEN b.oldest_age_seconds
            WHEN 'windrow_backlog_counted_timestamp_seconds' THEN TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', b.counted_at) / 1e6
            WHEN 'windrow_due_families_per_hour' THEN b.due_per_hour
            WHEN 'windrow_deleted_families_per_hour' THEN b.deleted_per_hour
        END AS value
    FROM (
        {{ w::backlog(control=control, rules=rules, by_calendar=by_calendar, q=q) | indent(prefix="        ") }}
    ) AS b
    CROSS JOIN (
        SELECT 'windrow_backlog_families' AS name
        UNION ALL SELECT 'windrow_backlog_rows'
        UNION ALL SELECT 'windrow_backlog_oldest_age_seconds'
        UNION ALL SELECT 'windrow_backlog_counted_timestamp_seconds'
        UNION ALL SELECT 'windrow_due_families_per_hour'
        UNION ALL SELECT 'windrow_deleted_families_per_hour'
    ) AS m
) AS v
WHERE v.value IS NOT NULL
UNION ALL
SELECT 'windrow_artifacts_pending', JSON_OBJECT(), COUNT(*)
FROM {{ control }}.artifact AS a
WHERE NOT a.given_up
UNION ALL
SELECT 'windrow_artifacts_failed', JSON_OBJECT(), COUNT(*)
FROM {{ control }}.artifact AS a
WHERE a.last_error IS NOT NULL
UNION ALL
SELECT 'windrow_holds', JSON_OBJECT(), COUNT(*)
FROM {{ control }}.hold AS h
WHERE {{ w::holds_now() }};
