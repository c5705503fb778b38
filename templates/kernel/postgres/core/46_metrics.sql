-- due_query: how the times of what is due by a rule are read, the oldest first: at the instant $1, at most $2 of them.
--# create function due_query
CREATE OR REPLACE FUNCTION due_query(p_rule text)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rule rule%ROWTYPE;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    IF v_rule.strategy = 'end-time' THEN
        RETURN format('%s($1, NULL, NULL, %L, %L, $2)', routine_of(p_rule, 'next'), '-infinity', v_rule.document ->> 'first_key');
    END IF;
    IF v_rule.strategy = 'partition' THEN
        RETURN due_partitions(p_rule, $from$'4713-01-01 00:00:00 BC'$from$, '$1', '$2');
    END IF;
    RETURN due_timed(p_rule, $from$'4713-01-01 00:00:00 BC'$from$, '$1', '$2');
END
$windrow$;
--# comment on function due_query
COMMENT ON FUNCTION due_query(text) IS
    'The call that lists what is due by a rule; ended: when it became so. $1: as of when; $2: how many at most.';

-- due_of: what is due at this instant, of one rule or of each: the search of a run, ended after p_limit rows.
--# create function due_of
CREATE OR REPLACE FUNCTION due_of(p_rule text, p_limit bigint)
RETURNS TABLE (rule text, families bigint, age_seconds double precision, complete boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
SET jit = off
AS $windrow$
#variable_conflict use_column
DECLARE
    v_rule record;
    v_due  text;
BEGIN
    FOR v_rule IN SELECT r.* FROM rule AS r WHERE p_rule IS NULL OR r.rule = p_rule ORDER BY r.position LOOP
        v_due := CASE
            WHEN v_rule.strategy IN ('end-time', 'removal-time', 'age', 'partition') THEN format(
                -- By the clock of the application, where its times have no zone.
                '(SELECT count(*) AS families, clock_timestamp()%s - min(n.ended) AS age, count(*) < $2 AS complete FROM %s AS n)',
                ' AT TIME ZONE ' || quote_literal(v_rule.document ->> 'zone'),
                due_query(v_rule.rule)
            )
            ELSE format('single_overdue(%L, $1, $2)', v_rule.rule)
        END;
        RETURN QUERY EXECUTE format(
            'SELECT $3, o.families, coalesce(extract(epoch FROM o.age), 0)::double precision, o.complete FROM %s AS o',
            v_due
        )
        USING clock_timestamp(), p_limit, v_rule.rule;
    END LOOP;
END
$windrow$;
--# comment on function due_of
COMMENT ON FUNCTION due_of(text, bigint) IS
    'As due_now, of rule p_rule; NULL is each.';

-- due_now: what is due at this instant, by rule.
--# create function due_now
CREATE OR REPLACE FUNCTION due_now(p_limit bigint)
RETURNS TABLE (rule text, families bigint, age_seconds double precision, complete boolean)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
    SELECT d.rule, d.families, d.age_seconds, d.complete FROM due_of(NULL, p_limit) AS d;
$windrow$;
--# comment on function due_now
COMMENT ON FUNCTION due_now(bigint) IS
    'By rule, families that are due now, whether or not they may be deleted, counted up to p_limit, seconds since the oldest ended, '
    'and whether these are all. Reads at most p_limit entries of an index per rule. Example: SELECT * FROM due_now(10000);';

-- left_by: what a run, or the sweep of which it is the last, left of its rules. A run that has been through all rows of a rule of one table
-- has told what it left: the entries of the index that it has just deleted are not read once more.
--# create function left_by
CREATE OR REPLACE FUNCTION left_by(p_run bigint)
RETURNS TABLE (rule text, families bigint, complete boolean, counted_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
#variable_conflict use_column
DECLARE
    v_run  run%ROWTYPE;
    v_runs bigint[];
    v_all  boolean;
    v_rule record;
BEGIN
    SELECT r.* INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    v_runs := p_run || ARRAY(
        SELECT o.run_id FROM run_sweep AS s JOIN run_sweep AS o ON o.sweep_id = s.sweep_id WHERE s.run_id = p_run AND o.run_id <> p_run
    );
    v_all := EXISTS (SELECT FROM sweeping AS r WHERE r.run_id = p_run AND NOT r.dry_run);
    FOR v_rule IN
        SELECT n.rule, n.strategy IN ('expiry', 'orphan', 'keep-last') OR n.document ? 'plain' AS is_alone,
            bool_and(p.around AND p.cursor_time IS NULL) AS is_through
        FROM rule AS n
        JOIN run_rule AS p ON p.rule = n.rule AND p.run_id = ANY (v_runs)
        WHERE n.rule = coalesce(v_run.options ->> 'rule', n.rule)
        GROUP BY n.rule
        ORDER BY n.position
    LOOP
        IF v_all AND v_rule.is_alone AND v_rule.is_through AND NOT EXISTS (
            -- What was locked, or cannot be deleted, may stand for others of its instant.
            SELECT FROM run_skip AS k WHERE k.run_id = ANY (v_runs) AND k.rule = v_rule.rule AND k.reason IN ('LOCKED', 'FAILED')
        ) THEN
            RETURN QUERY
            SELECT v_rule.rule, coalesce(sum(k.families), 0)::bigint, true, v_run.as_of
            FROM run_skip AS k
            WHERE k.run_id = ANY (v_runs)
              AND k.rule = v_rule.rule
              AND k.reason <> 'UNDATED_MEMBER';
        ELSE
            RETURN QUERY SELECT d.rule, d.families, d.complete, clock_timestamp() FROM due_of(v_rule.rule, 1000000) AS d;
        END IF;
    END LOOP;
END
$windrow$;
--# comment on function left_by
COMMENT ON FUNCTION left_by(bigint) IS
    'By rule of run p_run, families that were due and are left, kept or not; up to 1,000,000 are counted, unless the run has told all. '
    'Reads only.';

-- count_backlog: what a run left of its rules, and what became due and was deleted since the first count of the last seven days.
--# create function count_backlog
CREATE OR REPLACE FUNCTION count_backlog(p_run bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    -- Of all rules together: what they took is read once.
    WITH first_count AS (
        SELECT n.rule, b.run_id, b.families, b.counted_at, b.complete
        FROM rule AS n
        CROSS JOIN LATERAL (
            SELECT b.run_id, b.families, b.counted_at, coalesce(b.complete, b.families < 1000000) AS complete
            FROM run_backlog AS b
            WHERE b.rule = n.rule
              AND b.counted_at BETWEEN clock_timestamp() - interval '7 days' AND clock_timestamp() - interval '1 second'
            ORDER BY b.run_id
            LIMIT 1
        ) AS b
    ),
    last_rows AS (
        SELECT l.rule, sum(l.deleted_rows)::double precision / sum(l.families) AS rows_per_family
        FROM (
            SELECT p.rule, p.deleted_rows, p.families, row_number() OVER (PARTITION BY p.rule ORDER BY p.run_id DESC) AS place
            FROM run_rule AS p
            WHERE p.run_id > p_run - 1000
              AND p.families > 0
        ) AS l
        WHERE l.place <= 5
        GROUP BY l.rule
    ),
    gone AS (
        SELECT p.rule, sum(p.families)::double precision AS families
        FROM run_rule AS p
        JOIN first_count AS f ON f.rule = p.rule AND f.run_id < p.run_id
        JOIN run AS r ON r.run_id = p.run_id
        WHERE p.families > 0
          AND NOT r.dry_run
        GROUP BY p.rule
    )
    INSERT INTO run_backlog (rule, run_id, families, counted_at, rows_per_family, due_per_hour, deleted_per_hour, complete)
    SELECT
        d.rule, p_run, d.families, d.counted_at, l.rows_per_family,
        -- Of a million families and more nobody knows how many, nor what lies behind the first million rows.
        CASE WHEN d.complete AND f.complete THEN greatest(d.families - f.families + coalesce(g.families, 0), 0) / h.hours END,
        CASE WHEN f.rule IS NOT NULL THEN coalesce(g.families, 0) / h.hours END,
        d.complete
    FROM run AS c
    CROSS JOIN LATERAL left_by(c.run_id) AS d
    LEFT JOIN last_rows AS l ON l.rule = d.rule
    LEFT JOIN first_count AS f ON f.rule = d.rule AND f.counted_at < d.counted_at - interval '1 second'
    LEFT JOIN gone AS g ON g.rule = f.rule
    CROSS JOIN LATERAL (SELECT extract(epoch FROM d.counted_at - f.counted_at)::double precision / 3600 AS hours) AS h
    WHERE c.run_id = p_run
      AND (
          c.backend_pid = pg_backend_pid()
          -- The last one of a sweep to end need not be the last one to begin.
          OR EXISTS (
              SELECT
              FROM run_sweep AS s
              JOIN run_sweep AS o ON o.sweep_id = s.sweep_id
              JOIN run AS r ON r.run_id = o.run_id
              WHERE s.run_id = p_run
                AND r.backend_pid = pg_backend_pid()
          )
      )
    ON CONFLICT (rule, run_id) DO NOTHING;
END
$windrow$;
--# comment on function count_backlog
COMMENT ON FUNCTION count_backlog(bigint) IS
    'Counts what run p_run left of each rule, up to 1,000,000 families, into table run_backlog; run() calls it at its end. What follows '
    'no time is counted among the first 1,000,000 rows, unless the run has been through all.';

-- last_look: by rule, the last run that looked at what is due: not one for a single scope or another instant.
--# create view last_look
CREATE OR REPLACE VIEW last_look AS
SELECT n.rule, (
    SELECT r.run_id
    FROM sweeping AS r
    JOIN run_rule AS p ON p.run_id = r.run_id AND p.rule = n.rule
    WHERE r.finished_at IS NOT NULL
      AND (p.batches > 0 OR r.status = 'done')
      AND r.run_id > (SELECT max(l.run_id) FROM run AS l) - 1000
    ORDER BY r.run_id DESC
    LIMIT 1
) AS run_id
FROM rule AS n;
--# comment on view last_look
COMMENT ON VIEW last_look IS
    'By rule, the last run, or dry run, that examined what is due; NULL if none of the last thousand did.';

-- age_of: how long ago a root ended, by its key.
--# create function age_of
CREATE OR REPLACE FUNCTION age_of(p_rule text, p_key text)
RETURNS double precision
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_strategy text := (SELECT r.strategy FROM rule AS r WHERE r.rule = p_rule);
    v_age      double precision;
BEGIN
    IF p_key IS NULL THEN
        RETURN NULL;
    END IF;
    IF v_strategy = 'end-time' THEN
        v_age := end_time_age_of(p_rule, p_key);
    ELSIF v_strategy IN ('removal-time', 'age') THEN
        v_age := timed_age_of(p_rule, p_key);
    END IF;
    RETURN v_age;
EXCEPTION WHEN data_exception THEN
    -- An instant stands for what is left of it, and the rule may have got a key of another type since.
    RETURN NULL;
END
$windrow$;
--# comment on function age_of
COMMENT ON FUNCTION age_of(text, text) IS
    'Seconds since the root with this key ended; NULL where it is gone, has no end, is no key, or its rule is of single rows.';

-- undeletable: what the last look at each rule left, and why.
--# create view undeletable
CREATE OR REPLACE VIEW undeletable AS
SELECT s.rule, s.reason, s.families, s.sample_key, age_of(s.rule, s.sample_key) AS oldest_age_seconds, s.run_id
FROM (
    -- What all workers of its sweep left.
    SELECT k.rule, k.reason, sum(k.families)::bigint AS families, (array_agg(k.sample_keys[1] ORDER BY k.run_id))[1] AS sample_key, l.run_id
    FROM last_look AS l
    LEFT JOIN run_sweep AS w ON w.run_id = l.run_id
    LEFT JOIN run_sweep AS o ON o.sweep_id = w.sweep_id
    JOIN run_skip AS k ON k.run_id = coalesce(o.run_id, l.run_id) AND k.rule = l.rule
    GROUP BY k.rule, k.reason, l.run_id
) AS s;
--# comment on view undeletable
COMMENT ON VIEW undeletable IS
    'What is due but kept, by rule and reason, as seen by the last run that looked: sample_key is the first key that it found, with '
    'its age now; NULL if it no longer exists, or for rules of single rows.';

-- backlog: how much is due, how fast more becomes due, and how fast it is deleted.
--# create view backlog
CREATE OR REPLACE VIEW backlog AS
SELECT
    d.rule,
    c.families,
    round(c.families * n.rows_per_family)::bigint AS rows,
    d.age_seconds AS oldest_age_seconds,
    CASE WHEN d.complete THEN clock_timestamp() WHEN n.complete AND n.families - n.gone >= d.families THEN n.counted_at END AS counted_at,
    n.due_per_hour,
    n.deleted_per_hour
FROM due_now(10000) AS d
-- The last count of a run, and what was deleted since.
LEFT JOIN LATERAL (
    SELECT b.families, b.counted_at, b.rows_per_family, b.due_per_hour, b.deleted_per_hour,
        coalesce(b.complete, b.families < 1000000) AS complete, (
        SELECT coalesce(sum(p.families), 0)
        FROM run_rule AS p
        JOIN run AS r ON r.run_id = p.run_id
        WHERE p.rule = b.rule
          AND p.run_id > b.run_id
          AND NOT r.dry_run
    ) AS gone
    FROM run_backlog AS b
    WHERE b.rule = d.rule
    ORDER BY b.run_id DESC
    LIMIT 1
) AS n ON true
CROSS JOIN LATERAL (
    SELECT CASE WHEN d.complete THEN d.families ELSE greatest(d.families, n.families - n.gone)::bigint END AS families
) AS c;
--# comment on view backlog
COMMENT ON VIEW backlog IS
    'By rule, families that are due, whether or not they may be deleted. Up to 10,000 are counted now; beyond, it is the count of the '
    'last run minus what was deleted since, counted_at says when; NULL there: at least this many. rows: estimated from the families '
    'of the last five runs. Per hour, as the last run saw it: families that became due and that were deleted, over up to seven days.';

-- run_count: what each run that table tally does not have yet adds to the counters of the metrics.
--# create view run_count
CREATE OR REPLACE VIEW run_count AS
SELECT r.run_id, 'windrow_runs_total' AS name, jsonb_build_object('status', r.status, 'trigger', r.trigger) AS labels, 1::bigint AS value
FROM run AS r
WHERE r.status <> 'running'
  AND NOT r.dry_run
  AND r.run_id > (SELECT t.value FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}')
UNION ALL
SELECT p.run_id, 'windrow_deleted_families_total', jsonb_build_object('rule', p.rule), p.families
FROM run_rule AS p
JOIN run AS r ON r.run_id = p.run_id AND NOT r.dry_run
WHERE p.run_id > (SELECT t.value FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}')
UNION ALL
SELECT t.run_id, 'windrow_deleted_rows_total', jsonb_build_object('rule', t.rule, 'table', t.table_name), t.deleted_rows
FROM run_table AS t
JOIN run AS r ON r.run_id = t.run_id AND NOT r.dry_run
WHERE t.run_id > (SELECT t.value FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}')
UNION ALL
SELECT p.run_id, 'windrow_retries_total', jsonb_build_object('rule', p.rule), p.retries
FROM run_rule AS p
JOIN run AS r ON r.run_id = p.run_id AND NOT r.dry_run
WHERE p.run_id > (SELECT t.value FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}');
--# comment on view run_count
COMMENT ON VIEW run_count IS
    'What each run that table tally does not have yet adds to the counters of view metrics. Dry runs add nothing.';

-- tally_up: adds up the runs that ended an hour ago and before, so that a scrape reads the later ones only, and a run that
-- is pruned still counts.
--# create function tally_up
CREATE OR REPLACE FUNCTION tally_up()
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_from bigint;
    v_to   bigint;
BEGIN
    -- One at a time.
    SELECT t.value INTO STRICT v_from FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}' FOR UPDATE;
    -- The hour is for a run whose row is not committed yet, though a later one has ended.
    SELECT coalesce(min(r.run_id) FILTER (WHERE r.finished_at IS NULL OR r.finished_at > clock_timestamp() - interval '1 hour') - 1,
        max(r.run_id))
    INTO v_to
    FROM run AS r
    WHERE r.run_id > v_from;
    IF v_to > v_from THEN
        INSERT INTO tally AS t (name, labels, value)
        SELECT c.name, c.labels, sum(c.value)
        FROM run_count AS c
        WHERE c.run_id > v_from
          AND c.run_id <= v_to
        GROUP BY c.name, c.labels
        ON CONFLICT (name, labels) DO UPDATE
        SET value = t.value + excluded.value;
        UPDATE tally AS t
        SET value = v_to
        WHERE t.name = 'up to run'
          AND t.labels = '{}';
    END IF;
END
$windrow$;
--# comment on function tally_up
COMMENT ON FUNCTION tally_up() IS
    'Adds the runs that ended more than an hour ago to table tally; the end of a run calls it before it prunes the ledger.';

-- metrics: for sql_exporter and friends.
--# create view metrics
CREATE OR REPLACE VIEW metrics AS
-- A standby repeats what its primary was told: nobody is to arm it.
SELECT 'windrow_armed' AS name, '{}'::jsonb AS labels,
    CASE WHEN a.read_only THEN c.armed ELSE a.reason IS NULL END::integer::double precision AS value
FROM control AS c
CROSS JOIN arming AS a
UNION ALL
SELECT 'windrow_paused', '{}', c.paused::integer
FROM control AS c
UNION ALL
SELECT 'windrow_rule_paused', jsonb_build_object('rule', r.rule), (p.rule IS NOT NULL)::integer
FROM rule AS r
LEFT JOIN rule_pause AS p ON p.rule = r.rule
UNION ALL
SELECT m.name, '{}', m.value
FROM scheduling AS s
CROSS JOIN LATERAL (
    VALUES
        ('windrow_suspended', s.suspended::integer::double precision),
        ('windrow_failed_runs_in_row', s.failed_runs),
        ('windrow_back_off_until_timestamp_seconds', coalesce(extract(epoch FROM s.idle_until), 0))
) AS m(name, value)
UNION ALL
SELECT 'windrow_window_open', '{}', in_window(clock_timestamp())::integer
UNION ALL
-- What refused a scheduled run since the last one began. Where windrow is not armed, windrow_armed says so.
SELECT 'windrow_refused', jsonb_build_object('reason', k.reason), (n.reason IS NOT NULL)::integer
FROM (VALUES ('CATALOG'), ('INSTALLATION'), ('RULES_PAUSED'), ('OTHER')) AS k(reason)
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
      AND f.since > coalesce((
          SELECT r.started_at
          FROM run AS r
          WHERE NOT r.dry_run
            AND r.trigger NOT IN ('PURGE', 'STAMP')
          ORDER BY r.run_id DESC
          LIMIT 1
      ), '-infinity')
    ORDER BY f.since DESC
    LIMIT 1
) AS n ON n.reason = k.reason
UNION ALL
SELECT 'windrow_running', '{}', count(*)
FROM run AS r
WHERE r.status = 'running'
UNION ALL
SELECT 'windrow_running_since_timestamp_seconds', '{}', extract(epoch FROM min(r.started_at))
FROM run AS r
WHERE r.status = 'running'
  AND r.trigger NOT IN ('PURGE', 'STAMP')
HAVING count(*) > 0
UNION ALL
SELECT 'windrow_last_success_timestamp_seconds', '{}', extract(epoch FROM l.finished_at)
FROM (
    -- One that did nothing but wait has not succeeded.
    SELECT r.finished_at
    FROM run AS r
    WHERE (r.status = 'done'
        OR r.status = 'stopped' AND EXISTS (SELECT FROM run_rule AS p WHERE p.run_id = r.run_id AND p.batches > 0))
      AND NOT r.dry_run
      AND r.trigger NOT IN ('PURGE', 'STAMP')
      -- By a clock that was ahead.
      AND r.finished_at <= clock_timestamp()
    ORDER BY r.run_id DESC
    LIMIT 1
) AS l
UNION ALL
SELECT m.name, '{}', m.value
FROM (
    SELECT r.finished_at, r.started_at, r.status FROM run AS r WHERE r.finished_at IS NOT NULL AND NOT r.dry_run
        AND r.trigger NOT IN ('PURGE', 'STAMP') ORDER BY r.run_id DESC LIMIT 1
) AS l
CROSS JOIN LATERAL (
    VALUES
        ('windrow_last_run_duration_seconds', extract(epoch FROM l.finished_at - l.started_at)),
        ('windrow_last_run_failed', (l.status NOT IN ('done', 'stopped'))::integer)
) AS m(name, value)
UNION ALL
SELECT c.name, c.labels, sum(c.value)
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
SELECT m.name, jsonb_build_object('rule', u.rule, 'reason', u.reason), m.value
FROM undeletable AS u
CROSS JOIN LATERAL (
    VALUES
        ('windrow_skipped_families', u.families),
        ('windrow_skipped_oldest_age_seconds', u.oldest_age_seconds)
) AS m(name, value)
WHERE m.value IS NOT NULL
UNION ALL
SELECT m.name, jsonb_build_object('rule', b.rule), m.value
FROM backlog AS b
CROSS JOIN LATERAL (
    VALUES
        ('windrow_backlog_families', b.families),
        ('windrow_backlog_rows', b.rows),
        ('windrow_backlog_oldest_age_seconds', b.oldest_age_seconds),
        ('windrow_backlog_counted_timestamp_seconds', extract(epoch FROM b.counted_at)),
        ('windrow_due_families_per_hour', b.due_per_hour),
        ('windrow_deleted_families_per_hour', b.deleted_per_hour)
) AS m(name, value)
WHERE m.value IS NOT NULL
UNION ALL
SELECT 'windrow_artifacts_pending', '{}', count(*)
FROM artifact AS a
WHERE NOT a.given_up
UNION ALL
SELECT 'windrow_artifacts_failed', '{}', count(*)
FROM artifact AS a
WHERE a.last_error IS NOT NULL
UNION ALL
SELECT 'windrow_holds', '{}', count(*)
FROM hold AS h
WHERE h.until IS NULL OR h.until > clock_timestamp();
--# comment on view metrics
COMMENT ON VIEW metrics IS
    'Name, labels and value of every metric; the generated collector file says what each means. How current: backlog as in view '
    'backlog, skipped families as the last run saw them (view undeletable), everything else as of now. Reads at most 10,000 entries '
    'of an '
    'index per rule, and the ledger of about the last hour.';
