-- What the metrics and the documents of status count. What names tables of the application is the spec's: 45_backlog.sql has
-- the views due_now and last_left.
-- What reads the application's tables has the rights of the owner role. The views that it names are views with the rights of
-- their reader: a dump can be restored in any order then, without roles.

-- count_backlog: what a run left of its rules, and what became due and was deleted since the first count of the last seven days.
--# create procedure count_backlog
CREATE PROCEDURE count_backlog(IN p_run bigint, IN p_idle longtext)
SQL SECURITY DEFINER
COMMENT 'Counts what is due, up to 1,000,000 families for each rule of run p_run, into table run_backlog; run() calls it at its end. What
    follows no time is counted among the first 1,000,000 rows. Of the rules p_idle, between commas, the run
    has found nothing due: where it began within the last second, that is not asked again. Ends the transaction
    in which it counts, and begins another one to write.'
BEGIN
    DECLARE v_place    int;
    DECLARE v_rule     varchar(64);
    DECLARE v_families bigint;
    DECLARE v_complete boolean;
    DECLARE v_counts   longtext DEFAULT '';
    DECLARE v_idle     longtext;
    SELECT IF(r.as_of > UTC_TIMESTAMP(6) - INTERVAL 1 SECOND, p_idle, '') INTO v_idle FROM run AS r WHERE r.run_id = p_run;
    SELECT MIN(k.position) INTO v_place FROM rule AS k JOIN run_rule AS p ON p.run_id = p_run AND p.rule = k.rule;
    WHILE v_place IS NOT NULL DO
        SELECT k.rule INTO v_rule FROM rule AS k WHERE k.position = v_place;
        SET v_families = 0, v_complete = true;
        IF NOT FIND_IN_SET(v_rule, v_idle) THEN
            CALL due_of(v_rule, 1000000, v_families, v_complete);
        END IF;
        SET v_counts = CONCAT(v_counts, IF(v_counts = '', '', ', '), '[', JSON_QUOTE(v_rule), ', ', v_families, ', ', v_complete, ']');
        SELECT MIN(k.position) INTO v_place FROM rule AS k JOIN run_rule AS p ON p.run_id = p_run AND p.rule = k.rule
            WHERE k.position > v_place;
    END WHILE;
    COMMIT;
    CALL begin_ledger();
    -- Of all rules together: the ledger is read once.
    INSERT IGNORE INTO run_backlog (rule, run_id, families, rows_per_family, due_per_hour, deleted_per_hour, complete)
    WITH first_count AS (
        SELECT b.rule, MIN(b.run_id) AS run_id
        FROM run_backlog AS b
        WHERE b.counted_at BETWEEN UTC_TIMESTAMP(6) - INTERVAL 7 DAY AND UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        GROUP BY b.rule
    ),
    last_rows AS (
        SELECT l.rule, SUM(l.deleted_rows) / SUM(l.families) AS rows_per_family
        FROM (
            SELECT p.rule, p.deleted_rows, p.families, ROW_NUMBER() OVER (PARTITION BY p.rule ORDER BY p.run_id DESC) AS place
            FROM run_rule AS p
            WHERE p.run_id > p_run - 1000
              AND p.families > 0
        ) AS l
        WHERE l.place <= 5
        GROUP BY l.rule
    ),
    gone AS (
        SELECT p.rule, SUM(p.families) AS families
        FROM run_rule AS p
        STRAIGHT_JOIN first_count AS f ON f.rule = p.rule
        STRAIGHT_JOIN run AS r ON r.run_id = p.run_id
        WHERE p.families > 0
          AND p.run_id > f.run_id
          AND NOT r.dry_run
        GROUP BY p.rule
    )
    SELECT
        c.rule, p_run, c.families, c.rows_per_family,
        -- Of a million families and more nobody knows how many, nor what lies behind the first million rows.
        IF(c.complete AND c.complete_before, GREATEST(c.families - c.families_before + c.families_gone, 0) / c.hours, NULL),
        c.families_gone / c.hours,
        c.complete
    FROM (
        SELECT
            w.rule, w.families, w.complete, l.rows_per_family, b.families AS families_before,
            COALESCE(b.complete, b.families < 1000000) AS complete_before, COALESCE(g.families, 0) AS families_gone,
            TIMESTAMPDIFF(MICROSECOND, b.counted_at, UTC_TIMESTAMP(6)) / 3.6e9 AS hours
        FROM JSON_TABLE(CONCAT('[', v_counts, ']'), '$[*]' COLUMNS (
            rule varchar(64) PATH '$[0]', families bigint PATH '$[1]', complete boolean PATH '$[2]'
        )) AS w
        LEFT JOIN last_rows AS l ON l.rule = w.rule
        LEFT JOIN first_count AS f ON f.rule = w.rule
        LEFT JOIN run_backlog AS b ON b.rule = f.rule AND b.run_id = f.run_id
        LEFT JOIN gone AS g ON g.rule = w.rule
    ) AS c;
END;

-- run_count: what each run that table tally does not have yet adds to the counters of the metrics; dry runs add nothing. What it has
-- is left out in each part: a condition on the view would read the whole ledger.
--# create view run_count
CREATE OR REPLACE SQL SECURITY INVOKER VIEW run_count (run_id, name, labels, value) AS
SELECT r.run_id, 'windrow_runs_total', CAST(JSON_OBJECT('status', r.status, 'trigger', r.`trigger`) AS CHAR), 1
FROM run AS r
WHERE r.status <> 'running'
  AND NOT r.dry_run
  AND r.run_id > (SELECT t.value FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}')
UNION ALL
SELECT p.run_id, 'windrow_deleted_families_total', CAST(JSON_OBJECT('rule', p.rule) AS CHAR), p.families
FROM run_rule AS p
JOIN run AS r ON r.run_id = p.run_id AND NOT r.dry_run
WHERE p.run_id > (SELECT t.value FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}')
UNION ALL
SELECT t.run_id, 'windrow_deleted_rows_total', CAST(JSON_OBJECT('rule', t.rule, 'table', t.table_name) AS CHAR), t.deleted_rows
FROM run_table AS t
JOIN run AS r ON r.run_id = t.run_id AND NOT r.dry_run
WHERE t.run_id > (SELECT t.value FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}')
UNION ALL
SELECT p.run_id, 'windrow_retries_total', CAST(JSON_OBJECT('rule', p.rule) AS CHAR), p.retries
FROM run_rule AS p
JOIN run AS r ON r.run_id = p.run_id AND NOT r.dry_run
WHERE p.run_id > (SELECT t.value FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}');

-- tally_up: adds up the runs that ended an hour ago and before, so that a scrape reads the later ones only, and a run that
-- is pruned still counts.
--# create procedure tally_up
CREATE PROCEDURE tally_up()
SQL SECURITY DEFINER
COMMENT 'Adds the runs that ended more than an hour ago to table tally; the end of a run calls it before it prunes the ledger.'
BEGIN
    DECLARE v_from bigint;
    DECLARE v_to   bigint;
    -- One at a time.
    SELECT t.value INTO v_from FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}' FOR UPDATE;
    -- The hour is for a run whose row is not committed yet, though a later one has ended.
    SELECT COALESCE(MIN(IF(r.finished_at IS NULL OR r.finished_at > UTC_TIMESTAMP(6) - INTERVAL 1 HOUR, r.run_id, NULL)) - 1, MAX(r.run_id))
    INTO v_to
    FROM run AS r
    WHERE r.run_id > v_from;
    IF v_to > v_from THEN
        INSERT INTO tally (name, labels, value)
        SELECT n.name, n.labels, n.value
        FROM (
            SELECT c.name, c.labels, SUM(c.value) AS value
            FROM run_count AS c
            WHERE c.run_id > v_from
              AND c.run_id <= v_to
            GROUP BY c.name, c.labels
        ) AS n
        ON DUPLICATE KEY UPDATE
            value = tally.value + n.value;
        UPDATE tally AS t
        SET t.value = v_to
        WHERE t.name = 'up to run'
          AND t.labels = '{}';
    END IF;
END;

-- undeletable: what the last look at each rule left, and why: the first that it came upon, and how long
-- ago that ended, where it still is there and its rule is not of single rows.
--# create view undeletable
CREATE OR REPLACE SQL SECURITY DEFINER VIEW undeletable (rule, reason, families, sample_key, oldest_age_seconds, run_id) AS
SELECT u.rule, u.reason, u.families, u.sample_key, u.oldest_age_seconds, u.run_id
FROM last_left AS u;

-- backlog: how much is due, how fast more becomes due, and how fast it is deleted. Up to 10,000 families are counted now; beyond,
-- it is the count of the last run less what was deleted since, counted_at says when; NULL there: at least so many.
-- rows: as many as a family of the last five runs had. Per hour, as the last run saw it: over up to seven days.
--# create view backlog_now
CREATE OR REPLACE SQL SECURITY INVOKER VIEW backlog_now (
    rule, families, `rows`, oldest_age_seconds, counted_at, due_per_hour, deleted_per_hour
) AS
SELECT
    c.rule,
    IF(c.complete, c.counted_now, GREATEST(c.counted_now, COALESCE(c.left_by_run, 0))),
    ROUND(IF(c.complete, c.counted_now, GREATEST(c.counted_now, COALESCE(c.left_by_run, 0))) * c.rows_per_family),
    c.age_seconds,
    CASE WHEN c.complete THEN UTC_TIMESTAMP(6) WHEN c.all_by_run AND c.left_by_run >= c.counted_now THEN c.counted_at END,
    c.due_per_hour,
    c.deleted_per_hour
FROM (
    SELECT
        d.rule, d.families AS counted_now, d.age_seconds, d.complete, b.counted_at, b.rows_per_family, b.due_per_hour, b.deleted_per_hour,
        COALESCE(b.complete, b.families < 1000000) AS all_by_run,
        b.families - (
            SELECT COALESCE(SUM(p.families), 0)
            FROM run_rule AS p
            JOIN run AS r ON r.run_id = p.run_id
            WHERE p.rule = b.rule
              AND p.run_id > b.run_id
              AND NOT r.dry_run
        ) AS left_by_run
    FROM due_now AS d
    LEFT JOIN run_backlog AS b ON b.rule = d.rule AND b.run_id = (SELECT MAX(o.run_id) FROM run_backlog AS o WHERE o.rule = d.rule)
) AS c;
--# create view backlog
CREATE OR REPLACE SQL SECURITY DEFINER VIEW backlog (
    rule, families, `rows`, oldest_age_seconds, counted_at, due_per_hour, deleted_per_hour
) AS
SELECT b.rule, b.families, b.`rows`, b.oldest_age_seconds, b.counted_at, b.due_per_hour, b.deleted_per_hour
FROM backlog_now AS b;

-- metrics: for sql_exporter and friends; the collector file among the generated ones says what each metric means.
-- How current: the backlog as in view backlog, skipped families as the last run saw them (view undeletable), all else as it
-- is now. Reads at most 10,000 entries of an index per rule and pass, and the ledger of about the last hour.
--# create view metrics
CREATE OR REPLACE SQL SECURITY DEFINER VIEW metrics (name, labels, value) AS
-- A replica repeats what its source was told: nobody is to arm it.
SELECT 'windrow_armed', JSON_OBJECT(), IF(a.read_only, c.armed, a.reason IS NULL) + 0e0
FROM control AS c
CROSS JOIN arming AS a
UNION ALL
SELECT 'windrow_paused', JSON_OBJECT(), c.paused
FROM control AS c
UNION ALL
SELECT 'windrow_rule_paused', JSON_OBJECT('rule', k.rule), p.rule IS NOT NULL
FROM rule AS k
LEFT JOIN rule_pause AS p ON p.rule = k.rule
UNION ALL
SELECT
    m.name, JSON_OBJECT(),
    CASE m.name
        WHEN 'windrow_suspended' THEN s.suspended
        WHEN 'windrow_failed_runs_in_row' THEN s.failed_runs
        ELSE COALESCE(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', s.idle_until) / 1e6, 0)
    END
FROM scheduling AS s
CROSS JOIN (
    SELECT 'windrow_suspended' AS name
    UNION ALL SELECT 'windrow_failed_runs_in_row'
    UNION ALL SELECT 'windrow_back_off_until_timestamp_seconds'
) AS m
UNION ALL
SELECT 'windrow_window_open', JSON_OBJECT(), COALESCE(MAX(IF(
    it.begins < it.ends,
    it.today AND TIME(it.clock) >= it.begins AND TIME(it.clock) < it.ends,
    (it.today AND TIME(it.clock) >= it.begins) OR (it.yesterday AND TIME(it.clock) < it.ends)
)), false)
FROM (
    SELECT
        l.begins, l.ends, l.zone, l.clock,
        LOCATE(WEEKDAY(l.clock) + 1, l.days) > 0 AS today,
        LOCATE(WEEKDAY(l.clock - INTERVAL 1 DAY) + 1, l.days) > 0 AS yesterday
    FROM (
        SELECT h.begins, h.ends, h.zone, h.days, CONVERT_TZ(UTC_TIMESTAMP(6), '+00:00', IF(h.zone = 'UTC', '+00:00', h.zone)) AS clock
        FROM open_hours AS h
    ) AS l
) AS it
UNION ALL
-- What refused a scheduled run since the last one began. Where windrow is not armed, windrow_armed says so.
SELECT 'windrow_refused', JSON_OBJECT('reason', k.reason), n.reason IS NOT NULL
FROM (
    SELECT 'CATALOG' AS reason UNION ALL SELECT 'INSTALLATION' UNION ALL SELECT 'RULES_PAUSED' UNION ALL SELECT 'OTHER'
) AS k
LEFT JOIN (
    SELECT CASE
        WHEN f.reason LIKE 'table %' OR f.reason LIKE 'catalog changed%' THEN 'CATALOG'
        WHEN f.reason LIKE 'an installation is not finished%' THEN 'INSTALLATION'
        WHEN f.reason LIKE 'rule %' THEN 'RULES_PAUSED'
        -- It is as it should be, or another metric says it.
        WHEN f.reason LIKE 'no window is open%' OR f.reason LIKE 'nothing left%' OR f.reason LIKE 'paused by %'
            OR f.reason LIKE 'suspended after %' OR f.reason LIKE 'not armed%' OR f.reason LIKE 'armed %'
            OR f.reason LIKE 'this server has started since %'
            THEN NULL
        ELSE 'OTHER'
    END AS reason
    FROM refusal AS f
    CROSS JOIN arming AS a
    WHERE (a.reason IS NULL OR a.read_only)
      AND f.since > COALESCE((
          SELECT r.started_at
          FROM run AS r
          WHERE NOT r.dry_run
            AND r.`trigger` NOT IN ('PURGE', 'STAMP')
          ORDER BY r.run_id DESC
          LIMIT 1
      ), '1000-01-01')
    ORDER BY f.since DESC
    LIMIT 1
) AS n ON n.reason = k.reason
UNION ALL
SELECT 'windrow_running', JSON_OBJECT(), COUNT(*)
FROM run AS r
WHERE r.status = 'running'
UNION ALL
SELECT
    'windrow_running_since_timestamp_seconds', JSON_OBJECT(),
    TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', MIN(r.started_at)) / 1e6
FROM run AS r
WHERE r.status = 'running'
  AND r.`trigger` NOT IN ('PURGE', 'STAMP')
HAVING COUNT(*) > 0
UNION ALL
SELECT 'windrow_last_success_timestamp_seconds', JSON_OBJECT(), l.at
FROM (
    -- One that did nothing but wait has not succeeded.
    SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', r.finished_at) / 1e6 AS at
    FROM run AS r
    WHERE (r.status = 'done'
        OR r.status = 'stopped' AND EXISTS (SELECT 1 FROM run_rule AS p WHERE p.run_id = r.run_id AND p.batches > 0))
      AND NOT r.dry_run
      AND r.`trigger` NOT IN ('PURGE', 'STAMP')
      -- By a clock that was ahead.
      AND r.finished_at <= UTC_TIMESTAMP(6)
    ORDER BY r.run_id DESC
    LIMIT 1
) AS l
UNION ALL
SELECT m.name, JSON_OBJECT(), IF(m.name = 'windrow_last_run_failed', l.failed, l.seconds)
FROM (
    SELECT
        r.status NOT IN ('done', 'stopped') AS failed,
        TIMESTAMPDIFF(MICROSECOND, r.started_at, r.finished_at) / 1e6 AS seconds
    FROM run AS r
    WHERE r.finished_at IS NOT NULL
      AND NOT r.dry_run
      AND r.`trigger` NOT IN ('PURGE', 'STAMP')
    ORDER BY r.run_id DESC
    LIMIT 1
) AS l
CROSS JOIN (SELECT 'windrow_last_run_duration_seconds' AS name UNION ALL SELECT 'windrow_last_run_failed') AS m
UNION ALL
SELECT c.name, JSON_EXTRACT(c.labels, '$'), SUM(c.value)
FROM (
    SELECT t.name, t.labels, t.value
    FROM tally AS t
    WHERE t.name <> 'up to run'
    UNION ALL
    SELECT k.name, k.labels, k.value
    FROM run_count AS k
) AS c
GROUP BY c.name, c.labels
UNION ALL
SELECT
    m.name, JSON_OBJECT('rule', u.rule, 'reason', u.reason),
    IF(m.name = 'windrow_skipped_families', u.families, u.oldest_age_seconds)
FROM last_left AS u
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
            WHEN 'windrow_backlog_rows' THEN b.`rows`
            WHEN 'windrow_backlog_oldest_age_seconds' THEN b.oldest_age_seconds
            WHEN 'windrow_backlog_counted_timestamp_seconds' THEN TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', b.counted_at) / 1e6
            WHEN 'windrow_due_families_per_hour' THEN b.due_per_hour
            WHEN 'windrow_deleted_families_per_hour' THEN b.deleted_per_hour
        END AS value
    FROM backlog_now AS b
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
FROM artifact AS a
WHERE NOT a.given_up
UNION ALL
SELECT 'windrow_artifacts_failed', JSON_OBJECT(), COUNT(*)
FROM artifact AS a
WHERE a.claim IS NOT NULL
  AND a.last_error IS NOT NULL
UNION ALL
SELECT 'windrow_holds', JSON_OBJECT(), COUNT(*)
FROM hold AS h
WHERE (h.until IS NULL OR h.until > UTC_TIMESTAMP(6));
