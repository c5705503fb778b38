-- What rules by a stored removal time, or by age, have in their tables: all of it reads only.

-- is_plain: whether a rule deletes rows of one table, and nothing else can keep them.
--# create function is_plain
CREATE OR REPLACE FUNCTION is_plain(p_rule text)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (SELECT r.document ? 'plain' FROM rule AS r WHERE r.rule = p_rule);
END
$windrow$;
--# comment on function is_plain
COMMENT ON FUNCTION is_plain(text) IS
    'Whether p_rule takes rows of one table by a time of theirs, of which only a hold keeps one.';

-- time_type_of: the type of the time by which rows of a rule become due.
--# create function time_type_of
CREATE OR REPLACE FUNCTION time_type_of(p_rule text)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (SELECT CASE WHEN r.zoned THEN 'timestamptz' ELSE 'timestamp' END FROM rule AS r WHERE r.rule = p_rule);
END
$windrow$;
--# comment on function time_type_of
COMMENT ON FUNCTION time_type_of(text) IS
    'timestamptz, or timestamp where the time of p_rule has no zone.';

-- rows_timed: the rows of the root table of a rule, for a FROM. The function that lists them is not SECURITY DEFINER: PostgreSQL
-- inlines its text into the statement, which can then use an index.
--# create function rows_timed
CREATE OR REPLACE FUNCTION rows_timed(p_rule text)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rows text;
BEGIN
    SELECT p.oid::regproc::text || '()'
    INTO v_rows
    FROM rule AS r
    JOIN pg_proc AS p ON p.proname = r.rule || '_rows'
    WHERE r.rule = p_rule
      AND p.pronamespace = current_schema()::regnamespace
      AND p.proowner = current_user::regrole
      AND p.provolatile = 's'
      AND NOT p.prosecdef
      AND p.proconfig IS NULL;
    IF v_rows IS NULL THEN
        RAISE EXCEPTION 'rule % has no routine %_rows: it is missing, or not the one that the installation made', p_rule, p_rule
            USING ERRCODE = '55000', HINT = 'windrow install puts it back; windrow diff shows how it differs.';
    END IF;
    RETURN v_rows;
END
$windrow$;
--# comment on function rows_timed
COMMENT ON FUNCTION rows_timed(text) IS
    'The call that lists the rows of the root table of p_rule; raises 55000 where there is none as the installation made it.';

-- window_timed: the next window of time, from its oldest row on (inclusive) to o_to (exclusive). No table has more than about
-- p_rows rows in it, the root table no more than p_families, unless they have the same time.
--# create function window_timed
CREATE OR REPLACE FUNCTION window_timed(
    p_rule text, p_from text, p_cutoff text, p_rows bigint, p_families bigint, p_last bigint[],
    OUT o_from text, OUT o_to text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
AS $windrow$
DECLARE
    v_rule  rule%ROWTYPE;
    v_all   integer[];  -- how many tables there are
    v_busy  bigint := (SELECT max(l.rows) FROM unnest(p_last[2:]) AS l(rows)) * 3 / 4;
    v_least text;
    v_ask   boolean[];  -- by table, whether it is looked at
    v_asked boolean[];
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    v_all := ARRAY[cardinality(v_rule.tables)];
    v_least := format(
        'SELECT least($4::%1$s, (SELECT min(a.at) FROM unnest(%2$s($1::%1$s, $2::%1$s[], $3)) AS a(at)))::text',
        time_type_of(p_rule), routine_of(p_rule, 'at')
    );
    -- What lies before p_from is not looked at again: an index keeps the entries of deleted rows for a while.
    EXECUTE v_least
    INTO o_from
    USING p_from, array_fill(p_cutoff, v_all), array_fill(0::bigint, v_all), NULL::text;
    IF o_from IS NULL THEN
        RETURN;
    END IF;

    -- The window ends before the row that would be one too many, whichever table has it first. Those that had the most rows in
    -- the last window are looked at first, and all of them where it would become much longer than the last one: to look costs
    -- a tenth of deleting.
    o_to := CASE WHEN p_rows = 0 THEN o_from ELSE p_cutoff END;
    v_asked := array_fill(false, v_all);
    FOR v_look IN 1..2 LOOP
        v_ask := ARRAY(
            SELECT NOT t.asked AND (v_look = 2 OR t.name = v_rule.root OR coalesce(p_last[t.place + 1] >= v_busy, false))
            FROM unnest(v_rule.tables, v_asked) WITH ORDINALITY AS t(name, asked, place)
            ORDER BY t.place
        );
        EXECUTE v_least
        INTO o_to
        USING
            o_from,
            ARRAY(SELECT CASE WHEN k.ask THEN o_to END FROM unnest(v_ask) WITH ORDINALITY AS k(ask, place) ORDER BY k.place),
            ARRAY(
                SELECT CASE WHEN t.name = v_rule.root THEN least(p_rows, p_families) ELSE p_rows END
                FROM unnest(v_rule.tables) WITH ORDINALITY AS t(name, place)
                ORDER BY t.place
            ),
            o_to;
        EXIT WHEN v_all[1] = 1 OR o_to::timestamptz - o_from::timestamptz <= make_interval(secs => p_last[1] / 500000.0);
        v_asked := v_ask;
    END LOOP;
    -- Rows with the same time are in one window, however many they are.
    EXECUTE format('SELECT greatest($1::%1$s, $2::%1$s + interval ''1 microsecond'')::text', time_type_of(p_rule))
    INTO o_to
    USING o_to, o_from;
END
$windrow$;
--# comment on function window_timed
COMMENT ON FUNCTION window_timed(text, text, text, bigint, bigint, bigint[]) IS
    'The next window of p_rule; NULL: nothing before p_cutoff is left. p_last: microseconds of the last one, then its rows by table. Reads '
    'only.';

-- is_divisible: whether the rows of one instant are deleted in parts: they are of one table, and more than a batch takes.
--# create function is_divisible
CREATE OR REPLACE FUNCTION is_divisible(p_rule text, p_from text, p_to text, p_rows bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
AS $windrow$
DECLARE
    v_more boolean;
BEGIN
    IF NOT is_plain(p_rule) THEN
        RETURN false;
    END IF;
    EXECUTE format('SELECT (%s(%L, %L, ARRAY[$1]))[1] IS NOT NULL', routine_of(p_rule, 'at'), p_from, ARRAY[p_to])
    INTO v_more
    USING p_rows;
    RETURN v_more;
END
$windrow$;
--# comment on function is_divisible
COMMENT ON FUNCTION is_divisible(text, text, text, bigint) IS
    'Whether p_rule has one table, with more than p_rows rows in the window from p_from to p_to, which go in several batches. Reads only.';

-- what_was_refused: what has failed in runs since one, and was not only in use. refused_before: a run that passes over what earlier ones
-- have met has failed, and shows why, by one of these rows.
--# create function what_was_refused
CREATE OR REPLACE FUNCTION what_was_refused(p_run bigint, p_rule text)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN ARRAY(
        SELECT f.key
        FROM run_failure AS f
        JOIN run AS r ON r.run_id = f.run_id
        WHERE f.run_id >= p_run
          AND f.rule = p_rule
          AND f.message NOT LIKE 'not tried again since run %'
          AND NOT is_busy(f.sqlstate)
          AND r.trigger NOT IN ('PURGE', 'STAMP')
          AND NOT r.dry_run
    );
END
$windrow$;
--# comment on function what_was_refused
COMMENT ON FUNCTION what_was_refused(bigint, text) IS
    'The keys of what was refused in run p_run and those after it, as their failures have them. Dry runs, purges and stamps do not count.';
--# create function refused_before
CREATE OR REPLACE FUNCTION refused_before(p_run bigint, p_rule text, p_since bigint, p_keys text[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    PERFORM record_failure(p_run, p_rule, f.key, f.sqlstate, format('not tried again since run %s: %s', f.run_id, f.message))
    FROM (
        SELECT e.*
        FROM run_failure AS e
        JOIN run AS r ON r.run_id = e.run_id
        WHERE e.run_id >= p_since
          AND e.rule = p_rule
          AND e.key = ANY (p_keys)
          AND e.message NOT LIKE 'not tried again since run %'
          AND NOT is_busy(e.sqlstate)
          AND r.trigger NOT IN ('PURGE', 'STAMP')
          AND NOT r.dry_run
        ORDER BY e.run_id DESC, e.failed_at
        LIMIT 1
    ) AS f;
END
$windrow$;
--# comment on function refused_before
COMMENT ON FUNCTION refused_before(bigint, text, bigint, text[]) IS
    'Writes to table run_failure, for run p_run, the error of one of the rows p_keys that runs from p_since on have met; timed_step() '
    'calls it.';

-- instant_due: an instant as rule_instant has it, whatever the zone and the style of dates of the session.
--# create function instant_due
CREATE OR REPLACE FUNCTION instant_due(p_rule text, p_due text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN to_char(
        CASE time_type_of(p_rule)
            WHEN 'timestamp' THEN p_due::timestamp
            ELSE p_due::timestamptz AT TIME ZONE 'UTC'
        END,
        'YYYY-MM-DD HH24:MI:SS.US'
    );
END
$windrow$;
--# comment on function instant_due
COMMENT ON FUNCTION instant_due(text, text) IS
    'The instant p_due, a text of this session, as rule_instant.due has it: in UTC where the time of p_rule '
    'has a zone.';

-- instant_since: what was refused of an instant is not tried again before a run has looked at all others of it: else it would be all that
-- runs come to.
--# create function instant_since
CREATE OR REPLACE FUNCTION instant_since(p_run bigint, p_rule text, p_due text)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN coalesce((
        -- Another worker, which has met the first one, may have begun later.
        SELECT least(i.since, p_run)
        FROM rule_instant AS i
        JOIN rule AS r ON r.rule = i.rule AND md5(r.document::text) = i.rule_hash
        WHERE i.rule = p_rule
          AND i.due = instant_due(p_rule, p_due)
    ), p_run);
END
$windrow$;
--# comment on function instant_since
COMMENT ON FUNCTION instant_since(bigint, text, text) IS
    'Since which run what is refused of the instant p_due is passed over: p_run, unless an earlier one has not come to the end of it.';

-- instant_gives_up: whether a run has met so many.
--# create function instant_gives_up
CREATE OR REPLACE FUNCTION instant_gives_up(p_run bigint, p_rule text, p_due text, p_failures bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN EXISTS (
        SELECT
        FROM rule_instant AS i
        WHERE i.rule = p_rule
          AND i.due = instant_due(p_rule, p_due)
          AND i.run_id = p_run
          AND i.failures >= p_failures
    );
END
$windrow$;
--# comment on function instant_gives_up
COMMENT ON FUNCTION instant_gives_up(bigint, text, text, bigint) IS
    'Whether run p_run has met p_failures rows of the instant p_due that are refused, or more.';

-- instant_refuses: a run has met a row of an instant that is refused.
--# create function instant_refuses
CREATE OR REPLACE FUNCTION instant_refuses(p_run bigint, p_rule text, p_due text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    INSERT INTO rule_instant AS i (rule, due, since, rule_hash, run_id, failures)
    SELECT p_rule, instant_due(p_rule, p_due), instant_since(p_run, p_rule, p_due), md5(r.document::text), p_run, 1
    FROM rule AS r
    WHERE r.rule = p_rule
    ON CONFLICT (rule, due) DO UPDATE
    SET since = excluded.since,
        rule_hash = excluded.rule_hash,
        failures = CASE WHEN i.run_id = p_run THEN i.failures ELSE 0 END + 1,
        run_id = p_run,
        noted_at = clock_timestamp();
END
$windrow$;
--# comment on function instant_refuses
COMMENT ON FUNCTION instant_refuses(bigint, text, text) IS
    'Notes that run p_run has met one more row of the instant p_due that is refused; timed_step() calls it.';

-- rows_ahead: keys of one instant of a plain rule, for many batches: an index keeps the entries of deleted rows for a while, and each
-- look at the instant begins with them.
--# create function rows_ahead
CREATE OR REPLACE FUNCTION rows_ahead(p_rule text, p_from text, p_to text, p_but text[], p_limit bigint)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
AS $windrow$
DECLARE
    v_keys text[];
BEGIN
    -- Either list may be long: each is read once, not once for each row. A row without a key is found by none.
    EXECUTE format(
        $ahead$
        SELECT ARRAY(
            SELECT r.o_key::text
            FROM %s AS r
            WHERE r.o_time >= %L AND r.o_time < %L
              AND r.o_key IS NOT NULL
              AND NOT EXISTS (SELECT FROM unnest($1::%s[]) AS h(key) WHERE h.key = r.o_key)
              AND NOT EXISTS (SELECT FROM unnest($3) AS b(key) WHERE b.key = r.o_key::text)
            LIMIT $2
        )
        $ahead$,
        rows_timed(p_rule), p_from, p_to, key_type_of(p_rule)
    )
    INTO v_keys
    USING keys_that_stay(p_rule, p_from, p_to, NULL), p_limit, p_but;
    RETURN v_keys;
END
$windrow$;
--# comment on function rows_ahead
COMMENT ON FUNCTION rows_ahead(text, text, text, text[], bigint) IS
    'The keys of p_limit rows of a window of p_rule, which has one table, that no hold keeps; not those in p_but. Reads only.';

-- next_timed: the next roots that are due by families, oldest first, after a cursor. Reads, decides nothing.
--# create function next_timed
CREATE OR REPLACE FUNCTION next_timed(
    p_rule text, p_time text, p_key text, p_cutoff text, p_limit bigint,
    p_to_time text DEFAULT NULL, p_to_key text DEFAULT NULL,
    OUT o_roots text[], OUT o_times text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $windrow$
BEGIN
    -- What lies before the cursor is not looked at again: an index keeps the entries of deleted rows for a while.
    EXECUTE format(
        $next$
        SELECT
            coalesce(array_agg(n.o_key::text ORDER BY n.o_time, n.o_key), '{}'),
            coalesce(array_agg(n.o_time::text ORDER BY n.o_time, n.o_key), '{}')
        FROM (
            SELECT r.o_key, r.o_time
            FROM %s AS r
            WHERE r.o_time >= %L %s AND r.o_time < %L AND r.o_root%s
            ORDER BY r.o_time, r.o_key
            LIMIT $1
        ) AS n
        $next$,
        rows_timed(p_rule), p_time,
        coalesce(format('AND (r.o_time > %L OR r.o_key > ', p_time) || quote_literal(p_key) || ')', ''),
        p_cutoff,
        -- A place among the windows has no key.
        CASE
            WHEN p_to_key IS NOT NULL
                THEN format(' AND r.o_time <= %1$L AND (r.o_time < %1$L OR r.o_key <= %2$L)', p_to_time, p_to_key)
        END
    )
    INTO o_roots, o_times
    USING p_limit;
END
$windrow$;
--# comment on function next_timed
COMMENT ON FUNCTION next_timed(text, text, text, text, bigint, text, text) IS
    'The next p_limit roots with a time before p_cutoff, from p_time and p_key on, up to p_to_time and p_to_key where these are given, '
    'and their times. Reads only.';

-- most_ahead: how many roots one search lists for the next batches of so many, at most. The index has their times, not their keys: where
-- many have one time, a search reads and sorts all of these.
--# create function most_ahead
CREATE OR REPLACE FUNCTION most_ahead(p_take bigint, p_limit bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT greatest(p_take, least(p_limit, 10000))
$windrow$;
--# comment on function most_ahead
COMMENT ON FUNCTION most_ahead(bigint, bigint) IS
    'How many roots by time are listed at once for batches of p_take, where a run may take p_limit.';

-- key_leads: whether an index of the root table of a rule begins with its key: one of a partitioned table may begin with the time. Where
-- this is a number or a date, it leaves no partition out, and keys would be looked up in all of them.
--# create function key_leads
CREATE OR REPLACE FUNCTION key_leads(p_rule text)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN EXISTS (
        SELECT
        FROM rule AS r
        CROSS JOIN spec AS s
        JOIN pg_class AS c ON c.oid = to_regclass(format('%I.%I', s.schema_name, r.root))
        JOIN pg_index AS i ON i.indrelid = c.oid
        JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        JOIN pg_attribute AS t ON t.attrelid = i.indrelid AND t.attname = r.document ->> 'time_name'
        WHERE r.rule = p_rule
          AND a.attname = regexp_replace(r.document -> 'key' ->> 0, ' [a-z]+$', '')
          AND (c.relkind <> 'p' OR t.atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype))
          AND i.indisvalid
          AND i.indpred IS NULL
    );
END
$windrow$;
--# comment on function key_leads
COMMENT ON FUNCTION key_leads(text) IS
    'Whether rows of p_rule, which has one table, can be looked up by their keys alone. Reads only.';

-- by_window: whether rows of a plain rule that are known by their keys are better looked for in their window only: partitions are left
-- out by it.
--# create function by_window
CREATE OR REPLACE FUNCTION by_window(p_rule text)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN NOT key_leads(p_rule) OR EXISTS (
        SELECT
        FROM rule AS r
        CROSS JOIN spec AS s
        JOIN pg_class AS c ON c.oid = to_regclass(format('%I.%I', s.schema_name, r.root))
        WHERE r.rule = p_rule
          AND c.relkind = 'p'
    );
END
$windrow$;
--# comment on function by_window
COMMENT ON FUNCTION by_window(text) IS
    'Whether rows of p_rule, which has one table, are looked up by their time as well as by their keys. Reads only.';

-- rows_left: what is left of some rows of a window, and that no hold keeps. Without partitions it reads them by their keys alone: an index
-- keeps the entries of deleted rows for a while.
--# create function rows_left
CREATE OR REPLACE FUNCTION rows_left(p_rule text, p_from text, p_to text, p_keys text[])
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
SET enable_seqscan = off
AS $windrow$
DECLARE
    v_keys text[];
BEGIN
    EXECUTE format(
        $left$
        SELECT ARRAY(
            SELECT n.o_key::text
            FROM (SELECT r.o_key, r.o_time FROM %s AS r WHERE r.o_key = ANY (%L)%s OFFSET 0) AS n
            WHERE n.o_time >= %L AND n.o_time < %L
              AND (n.o_key IN (SELECT unnest($1::%s[]))) IS NOT TRUE
        )
        $left$,
        rows_timed(p_rule), p_keys,
        CASE WHEN by_window(p_rule) THEN format(' AND r.o_time >= %L AND r.o_time < %L', p_from, p_to) END,
        p_from, p_to, key_type_of(p_rule)
    )
    INTO v_keys
    USING keys_that_stay(p_rule, p_from, p_to, p_keys);
    RETURN v_keys;
END
$windrow$;
--# comment on function rows_left
COMMENT ON FUNCTION rows_left(text, text, text, text[]) IS
    'Which of the rows p_keys of p_rule, which has one table, are still in the window from p_from to p_to, and not held. Reads only.';

-- keys_that_stay: the keys of what holds keep of a plain rule: its own, and in a window, of the rows with some keys, or both, those of
-- others.
--# create function keys_that_stay
CREATE OR REPLACE FUNCTION keys_that_stay(p_rule text, p_from text, p_to text, p_keys text[])
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_bound text[];
BEGIN
    IF bound_by(p_rule) THEN
        EXECUTE format('SELECT %s(%L, %L, %L)', routine_of(p_rule, 'bound'), p_from, p_to, p_keys) INTO v_bound;
    END IF;
    RETURN held_keys(p_rule) || v_bound;
END
$windrow$;
--# comment on function keys_that_stay
COMMENT ON FUNCTION keys_that_stay(text, text, text, text[]) IS
    'The keys of the rows of p_rule, which has one table, that holds keep: of other rules those in a window, among p_keys, or both.';

-- rows_of: the call that lists rows of a plain rule, with their keys (o_key) and times (o_time): those of a window, or with some keys.
-- is_held: whether it is among the keys $1, as keys_that_stay() has them.
--# create function rows_of
CREATE OR REPLACE FUNCTION rows_of(p_rule text, p_from text, p_to text, p_keys text[])
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN format(
        '(SELECT r.o_key, r.o_time, r.o_key IN (SELECT unnest($1::%s[])) AS is_held FROM %s AS r WHERE %s)',
        key_type_of(p_rule), rows_timed(p_rule),
        coalesce('r.o_key = ANY (' || quote_literal(p_keys) || ')', format('r.o_time >= %L AND r.o_time < %L', p_from, p_to))
    );
END
$windrow$;
--# comment on function rows_of
COMMENT ON FUNCTION rows_of(text, text, text, text[]) IS
    'What lists rows of p_rule, which has one table, for a FROM: of a window, or those with some keys.';

-- timed_in_window: the families that have rows of the root table in a slice, and are deleted with it.
--# create function timed_in_window
CREATE OR REPLACE FUNCTION timed_in_window(p_rule text, p_from text, p_to text)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_keys text[];
BEGIN
    EXECUTE format(
        'SELECT ARRAY(SELECT DISTINCT r.o_family::text FROM %s AS r WHERE r.o_time >= %L AND r.o_time < %L AND r.o_alone ORDER BY 1)',
        rows_timed(p_rule), p_from, p_to
    )
    INTO v_keys;
    RETURN v_keys;
END
$windrow$;
--# comment on function timed_in_window
COMMENT ON FUNCTION timed_in_window(text, text, text) IS
    'The families of a window that cannot be deleted. Reads only; timed_step() calls it.';

-- undated_timed: families, over if they have an end at all, without a time; they can never become due.
--# create function undated_timed
CREATE OR REPLACE FUNCTION undated_timed(p_rule text, p_as_of timestamptz, p_scope text)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_keys text[];
BEGIN
    EXECUTE format(
        $undated$
        SELECT ARRAY(SELECT u.o_family FROM (
            SELECT DISTINCT r.o_family
            FROM %s AS r
            WHERE (r.o_time IS NULL OR r.o_time = '-infinity') AND (r.o_root OR r.o_alone) AND r.o_over
            LIMIT 100000
        ) AS u ORDER BY 1)::text[]
        $undated$,
        rows_timed(p_rule)
    )
    INTO v_keys;
    RETURN v_keys;
END
$windrow$;
--# comment on function undated_timed
COMMENT ON FUNCTION undated_timed(text, timestamptz, text) IS
    'The first 100,000 families without a time. Reads only.';

-- due_timed: what lists the times of what is due by a rule, the oldest first, for a FROM: up to the cutoff at an instant.
--# create function due_timed
CREATE OR REPLACE FUNCTION due_timed(p_rule text, p_from text, p_at text, p_limit text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN format(
        $due$(
            SELECT r.o_time AS ended
            FROM %s AS r
            WHERE r.o_time >= %s AND r.o_time < %s AND r.o_time > '-infinity' AND r.o_root
            ORDER BY r.o_time
            LIMIT %s
        )$due$,
        rows_timed(p_rule), p_from, cutoff_call(p_rule, p_at), p_limit
    );
END
$windrow$;
--# comment on function due_timed
COMMENT ON FUNCTION due_timed(text, text, text, text) IS
    'The call that lists what is due by a rule at p_at, from p_from on, kept or not, at most p_limit; these are expressions.';

-- timed_age_of: how long ago a root ended.
--# create function timed_age_of
CREATE OR REPLACE FUNCTION timed_age_of(p_rule text, p_key text)
RETURNS double precision
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_age double precision;
BEGIN
    EXECUTE format(
        'SELECT extract(epoch FROM clock_timestamp()%s - r.o_time) FROM %s AS r WHERE r.o_key = %L AND isfinite(r.o_time)',
        in_zone(p_rule), rows_timed(p_rule), p_key
    )
    INTO v_age;
    RETURN v_age;
END
$windrow$;
--# comment on function timed_age_of
COMMENT ON FUNCTION timed_age_of(text, text) IS
    'Seconds since the root with this key ended; NULL where it is gone or has no end. Reads only.';

-- strays_timed: by table, rows that do not share the time of their root, and rows without one.
--# create function strays_timed
CREATE OR REPLACE FUNCTION strays_timed(p_rule text)
RETURNS TABLE (table_name text, apart bigint, undated bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
BEGIN
    RETURN QUERY EXECUTE CASE
        WHEN is_plain(p_rule) THEN format(
            'SELECT %L, 0::bigint, count(*) FROM %s AS r WHERE r.o_time IS NULL',
            (SELECT r.root FROM rule AS r WHERE r.rule = p_rule), rows_timed(p_rule)
        )
        ELSE format(
            'SELECT t.name, coalesce(s.apart, 0), coalesce(s.undated, 0) FROM unnest(%L::text[]) WITH ORDINALITY AS t(name, position) '
            'LEFT JOIN %s() AS s ON s.table_name = t.name ORDER BY t.position',
            (SELECT r.tables FROM rule AS r WHERE r.rule = p_rule), routine_of(p_rule, 'strays')
        )
    END;
END
$windrow$;
--# comment on function strays_timed
COMMENT ON FUNCTION strays_timed(text) IS
    'Rows that would be deleted without their family, and rows that are never deleted, by table. Reads whole tables; verify() calls it.';
