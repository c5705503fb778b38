-- Rules by a stored removal time, or by age. Of one table, their verbs are window, rows and delete. Of several, they are
-- window, batch, count, in_window, undated, due, age_of, strays, named; and, where one transaction takes whole families, next,
-- families, families_count. Times and keys of the application travel as text.

-- is_plain: whether a rule takes rows of one table, of which nothing else says that they stay.
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

-- rows_of: the call that lists rows of a plain rule, with their keys (o_key) and times (o_time): those of a window, at most
-- p_limit, the oldest first; without a window, those that have no time; or the one with a key. is_held: whether a hold keeps it.
--# create function rows_of
CREATE OR REPLACE FUNCTION rows_of(p_rule text, p_from text, p_to text, p_limit text, p_key text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT format(
            '(SELECT r.o_key, r.o_time, r.o_key IN (SELECT unnest(%L::%s[])) AS is_held FROM %s(%s, %s, %s, %L) AS r)',
            held_keys(p_rule), key_type_of(p_rule), routine_of(p_rule, 'rows'),
            coalesce(p_from, 'NULL'), coalesce(p_to, 'NULL'), coalesce(p_limit, 'NULL'), p_key
        )
        FROM rule AS r
        WHERE r.rule = p_rule
    );
END
$windrow$;
--# comment on function rows_of
COMMENT ON FUNCTION rows_of(text, text, text, text, text) IS
    'What lists rows of p_rule, which has one table, for a FROM: of a window (p_from, p_to and p_limit are expressions), undated ones, or the one with a key.';

-- timed_batch: one batch: the rows of a window that may go, of all tables. Has no transaction control.
--# create function timed_batch
CREATE OR REPLACE FUNCTION timed_batch(
    p_run bigint, p_rule text, p_from text, p_to text, p_as_of timestamptz,
    OUT o_families bigint, OUT o_rows bigint[], OUT o_skip_keys text[], OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
SET row_security = off
SET jit = off
AS $windrow$
DECLARE
    v_held text[];
    v_left boolean;
BEGIN
    IF NOT is_plain(p_rule) THEN
        EXECUTE format('SELECT b.o_families, b.o_rows, b.o_skip_keys, b.o_skip_reasons FROM %s($1, %L, %L, $2) AS b', routine_of(p_rule, 'batch'), p_from, p_to)
        INTO o_families, o_rows, o_skip_keys, o_skip_reasons
        USING p_run, p_as_of;
        RETURN;
    END IF;
    PERFORM begin_batch('holds and new removal times');
    v_held := held_keys(p_rule);
    o_skip_keys := '{}';
    IF v_held <> '{}' THEN
        EXECUTE format(
            'SELECT coalesce(array_agg(n.o_key::text ORDER BY n.o_key), ''{}'') FROM %s AS n WHERE n.is_held',
            rows_of(p_rule, quote_literal(p_from), quote_literal(p_to), NULL, NULL)
        )
        INTO o_skip_keys;
    END IF;
    o_skip_reasons := array_fill('HELD'::text, ARRAY[cardinality(o_skip_keys)]);
    EXECUTE format('SELECT %s($1, %L, %L, %L, NULL)', routine_of(p_rule, 'delete'), p_from, p_to, v_held)
    INTO o_families
    USING p_run;
    o_rows := ARRAY[o_families];
    -- A trigger or a rule can keep rows without a word. Only where there is one, it is worth looking.
    IF may_keep(p_rule) THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM %s AS n WHERE NOT n.is_held)', rows_of(p_rule, quote_literal(p_from), quote_literal(p_to), NULL, NULL))
        INTO v_left;
        IF v_left THEN
            RAISE EXCEPTION 'rows of % could not be deleted', (SELECT r.root FROM rule AS r WHERE r.rule = p_rule)
                USING HINT = 'A trigger or a rule keeps them. The batch is rolled back.';
        END IF;
    END IF;
    PERFORM end_batch(p_rule);
END
$windrow$;
--# comment on function timed_batch
COMMENT ON FUNCTION timed_batch(bigint, text, text, text, timestamptz) IS
    'Deletes, in the caller''s transaction, what may go of the window from p_from to p_to. No transaction control, so it can be rolled back; timed_step() calls it.';

-- timed_count: what a batch would delete of a window. Reads only.
--# create function timed_count
CREATE OR REPLACE FUNCTION timed_count(
    p_rule text, p_from text, p_to text, p_as_of timestamptz,
    OUT o_families bigint, OUT o_rows bigint[], OUT o_oldest json, OUT o_roots jsonb, OUT o_skip_keys text[], OUT o_skip_reasons text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
SET row_security = off
AS $windrow$
BEGIN
    IF NOT is_plain(p_rule) THEN
        EXECUTE format(
            'SELECT c.o_families, c.o_rows, to_json(c.o_oldest), to_jsonb(c.o_roots), c.o_skip_keys, c.o_skip_reasons FROM %s(%L, %L, $1) AS c',
            routine_of(p_rule, 'count'), p_from, p_to
        )
        INTO o_families, o_rows, o_oldest, o_roots, o_skip_keys, o_skip_reasons
        USING p_as_of;
        RETURN;
    END IF;
    EXECUTE format(
        $count$
        SELECT
            count(*) FILTER (WHERE NOT n.is_held),
            to_json(min(n.o_time) FILTER (WHERE NOT n.is_held)),
            to_jsonb(coalesce((array_agg(n.o_key ORDER BY n.o_time, n.o_key) FILTER (WHERE NOT n.is_held))[1:10], '{}')),
            coalesce(array_agg(n.o_key::text ORDER BY n.o_key) FILTER (WHERE n.is_held), '{}')
        FROM %s AS n
        $count$,
        rows_of(p_rule, quote_literal(p_from), quote_literal(p_to), NULL, NULL)
    )
    INTO o_families, o_oldest, o_roots, o_skip_keys;
    o_rows := ARRAY[o_families];
    o_skip_reasons := array_fill('HELD'::text, ARRAY[cardinality(o_skip_keys)]);
END
$windrow$;
--# comment on function timed_count
COMMENT ON FUNCTION timed_count(text, text, text, timestamptz) IS
    'Rows of the window from p_from to p_to that may go, by table, its families and the first of their roots. Reads only.';

-- timed_in_window: the families that have rows of the root table in a window.
--# create function timed_in_window
CREATE OR REPLACE FUNCTION timed_in_window(p_rule text, p_from text, p_to text)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
SET row_security = off
AS $windrow$
DECLARE
    v_keys text[];
BEGIN
    EXECUTE CASE
        WHEN is_plain(p_rule) THEN format('SELECT ARRAY(SELECT n.o_key::text FROM %s AS n ORDER BY 1)', rows_of(p_rule, quote_literal(p_from), quote_literal(p_to), NULL, NULL))
        ELSE format('SELECT %s(%L, %L)', routine_of(p_rule, 'in_window'), p_from, p_to)
    END
    INTO v_keys;
    RETURN v_keys;
END
$windrow$;
--# comment on function timed_in_window
COMMENT ON FUNCTION timed_in_window(text, text, text) IS
    'The families of a window that cannot go. Reads only; timed_step() calls it.';

-- timed_undated: families without a time; they can never become due.
--# create function timed_undated
CREATE OR REPLACE FUNCTION timed_undated(p_rule text, p_as_of timestamptz, p_scope text)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_keys text[];
BEGIN
    EXECUTE CASE
        WHEN is_plain(p_rule) THEN format('SELECT ARRAY(SELECT n.o_key FROM %s AS n ORDER BY 1)::text[]', rows_of(p_rule, NULL, NULL, NULL, NULL))
        ELSE format('SELECT %s($1, $2)::text[]', routine_of(p_rule, 'undated'))
    END
    INTO v_keys
    USING p_as_of, p_scope;
    RETURN v_keys;
END
$windrow$;
--# comment on function timed_undated
COMMENT ON FUNCTION timed_undated(text, timestamptz, text) IS
    'Families without a time. Reads only.';

-- timed_due: what lists the times of what is due by a rule, the oldest first, for a FROM: up to the cutoff at an instant.
--# create function timed_due
CREATE OR REPLACE FUNCTION timed_due(p_rule text, p_from text, p_at text, p_limit text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF is_plain(p_rule) THEN
        RETURN format('(SELECT d.o_time AS ended FROM %s AS d)', rows_of(p_rule, p_from, cutoff_call(p_rule, p_at), p_limit, NULL));
    END IF;
    RETURN format('%s(%s, %s, %s)', routine_of(p_rule, 'due'), p_from, p_at, p_limit);
END
$windrow$;
--# comment on function timed_due
COMMENT ON FUNCTION timed_due(text, text, text, text) IS
    'The call that lists what is due by a rule at p_at, from p_from on, whether or not it may go, at most p_limit; these are expressions.';

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
    EXECUTE CASE
        WHEN is_plain(p_rule) THEN format(
            'SELECT extract(epoch FROM clock_timestamp()%s - n.o_time) FROM %s AS n WHERE isfinite(n.o_time)',
            in_zone(p_rule), rows_of(p_rule, NULL, NULL, NULL, p_key)
        )
        ELSE format('SELECT %s(%L)', routine_of(p_rule, 'age_of'), p_key)
    END
    INTO v_age;
    RETURN v_age;
END
$windrow$;
--# comment on function timed_age_of
COMMENT ON FUNCTION timed_age_of(text, text) IS
    'Seconds since the root with this key ended; NULL where it is gone or has no end. Reads only.';

-- timed_strays: by table, rows that do not share the time of their root, and rows without one.
--# create function timed_strays
CREATE OR REPLACE FUNCTION timed_strays(p_rule text)
RETURNS TABLE (table_name text, apart bigint, undated bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
BEGIN
    RETURN QUERY EXECUTE CASE
        WHEN is_plain(p_rule) THEN format(
            'SELECT %L, 0::bigint, count(*) FILTER (WHERE n.o_time IS NULL) FROM %s AS n',
            (SELECT r.root FROM rule AS r WHERE r.rule = p_rule), rows_of(p_rule, NULL, NULL, NULL, NULL)
        )
        ELSE format('SELECT s.table_name, s.apart, s.undated FROM %s() AS s', routine_of(p_rule, 'strays'))
    END;
END
$windrow$;
--# comment on function timed_strays
COMMENT ON FUNCTION timed_strays(text) IS
    'Rows that would go without their family, and rows that never go, by table. Reads whole tables; verify() calls it.';

-- timed_named: deletes one named family, found by its root, in the caller's transaction, unless something speaks against it.
--# create function timed_named
CREATE OR REPLACE FUNCTION timed_named(
    p_run bigint, p_rule text, p_key text, p_as_of timestamptz,
    OUT o_families bigint, OUT o_rows bigint[], OUT o_skipped text
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
AS $windrow$
DECLARE
    v_held boolean;
BEGIN
    IF NOT is_plain(p_rule) THEN
        EXECUTE format('SELECT n.o_families, n.o_rows, n.o_skipped FROM %s($1, $2, $3) AS n', routine_of(p_rule, 'named'))
        INTO o_families, o_rows, o_skipped
        USING p_run, p_key, p_as_of;
        RETURN;
    END IF;
    EXECUTE format('SELECT n.is_held FROM %s AS n', rows_of(p_rule, NULL, NULL, NULL, p_key)) INTO v_held;
    o_skipped := CASE WHEN v_held IS NULL THEN 'NOT_A_ROOT' WHEN v_held THEN 'HELD' END;
    IF o_skipped IS NULL THEN
        EXECUTE format('SELECT %s($1, NULL, NULL, NULL, %L)', routine_of(p_rule, 'delete'), p_key)
        INTO o_families
        USING p_run;
        o_rows := ARRAY[o_families];
        PERFORM end_batch(p_rule);
    END IF;
END
$windrow$;
--# comment on function timed_named
COMMENT ON FUNCTION timed_named(bigint, text, text, timestamptz) IS
    'Deletes the rows that name this root, whatever their time, if the family is unheld. o_skipped: why it stays. purge_one() calls it.';

-- timed_step: one batch of a run, with its progress in the ledger, in the caller's transaction. A batch that fails is tried
-- again, then halved down to one family, or to the rows of one instant, which are recorded and passed over.
--# create function timed_step
CREATE OR REPLACE FUNCTION timed_step(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
AS $windrow$
DECLARE
    c_first     constant text := '4714-11-24 00:00:00 BC';
    v_run       run%ROWTYPE;
    v_progress  run_rule%ROWTYPE;
    v_unit      text := (SELECT r.document ->> 'unit' FROM rule AS r WHERE r.rule = p_rule);
    v_by_family boolean;  -- families go first; what belongs to none goes by windows, after them
    v_state     text;
    v_batch     record;
    v_cutoff    text;
    v_roots     text[];
    v_most      bigint;
    v_take      bigint;  -- families, or rows of one table; 0: those of one instant
    v_families  bigint;
    v_from      text;
    v_to        text;
    v_instant   boolean;  -- the batch cannot be halved any more
    v_keys      text[];
    v_sqlstate  text;
    v_message   text;
BEGIN
    v_state := begin_step(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    SELECT * INTO STRICT v_progress FROM run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule;
    v_families := families_left(v_run, v_progress);
    IF v_families <= 0 THEN
        RETURN 'run_families reached';
    END IF;
    -- The cursor has a key as long as there are families.
    v_by_family := v_unit = 'family' AND (v_progress.cursor_time IS NULL OR v_progress.cursor_key IS NOT NULL);
    v_most := setting_of(p_rule, CASE WHEN v_by_family THEN 'batch_families' ELSE 'batch_rows' END);
    v_take := least(v_progress.batch_families, v_most);
    v_state := take_locks(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;
    EXECUTE format('SELECT (%s)::text', cutoff_call(p_rule, '$1', '$2')) INTO v_cutoff USING v_run.as_of, seconds(v_run.options ->> 'retention');

    IF v_by_family THEN
        EXECUTE format('SELECT n.o_roots::text[], n.o_last::text FROM %s(%L, %L, %L, $1) AS n', routine_of(p_rule, 'next'), coalesce(v_progress.cursor_time, c_first), v_progress.cursor_key, v_cutoff)
        INTO v_roots, v_to
        USING least(v_take, v_families);
        v_take := cardinality(v_roots);
        IF v_take = 0 THEN
            UPDATE run_rule AS r
            SET batch_families = setting_of(p_rule, 'batch_rows'),
                halving = false,
                cursor_time = c_first,
                cursor_key = NULL,
                updated_at = clock_timestamp()
            WHERE r.run_id = p_run
              AND r.rule = p_rule;
            RETURN 'more';
        END IF;
        v_instant := v_take = 1;
    ELSE
        EXECUTE format('SELECT w.o_from::text, w.o_to::text FROM %s(%L, %L, $1, $2, $3) AS w', routine_of(p_rule, 'window'), coalesce(v_progress.cursor_time, c_first), v_cutoff)
        INTO v_from, v_to
        USING v_take, v_families, v_progress.cursor_key::bigint[];
        IF v_from IS NULL THEN
            RETURN 'nothing left';
        END IF;
        v_instant := v_to::timestamptz <= v_from::timestamptz + interval '1 microsecond';
    END IF;

    BEGIN
        IF v_by_family THEN
            EXECUTE format('SELECT b.o_families, b.o_rows, b.o_skip_keys, b.o_skip_reasons FROM %s($1, %L, %L, $2) AS b', routine_of(p_rule, 'families'), v_roots, v_cutoff)
            INTO v_batch
            USING p_run, v_run.as_of;
        ELSE
            SELECT b.o_families, b.o_rows, b.o_skip_keys, b.o_skip_reasons
            INTO v_batch
            FROM timed_batch(p_run, p_rule, v_from, v_to, v_run.as_of) AS b;
        END IF;
        PERFORM look_again(p_run);
        IF v_run.dry_run THEN
            -- The dry run is the real batch, rolled back.
            RAISE EXCEPTION 'dry run' USING ERRCODE = 'WD000';
        END IF;
    EXCEPTION
        WHEN SQLSTATE 'WD000' THEN
            NULL;
        WHEN query_canceled THEN
            RETURN 'cancelled';
        WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT;
    END;
    IF v_sqlstate IS NOT NULL THEN
        v_state := fail_step(p_run, p_rule, v_sqlstate, v_message, CASE WHEN NOT v_instant THEN v_take / 2 END);
        IF v_state IS NOT NULL THEN
            RETURN v_state;
        END IF;
        PERFORM record_failure(p_run, p_rule, coalesce(v_roots[1], v_from), v_sqlstate, v_message);
        IF v_by_family THEN
            v_keys := v_roots;
        ELSE
            v_keys := timed_in_window(p_rule, v_from, v_to);
            v_keys := CASE WHEN cardinality(v_keys) > 0 THEN v_keys ELSE ARRAY[v_from] END;
        END IF;
        SELECT
            0::bigint AS o_families,
            array_fill(0::bigint, ARRAY[cardinality(v_progress.table_rows)]) AS o_rows,
            v_keys AS o_skip_keys,
            array_fill(CASE WHEN is_busy(v_sqlstate) THEN 'LOCKED' ELSE 'FAILED' END, ARRAY[cardinality(v_keys)]) AS o_skip_reasons
        INTO v_batch;
    END IF;

    PERFORM end_step(
        p_run, p_rule, v_batch.o_families, v_batch.o_rows, '{}',
        CASE WHEN v_progress.halving AND NOT v_instant THEN v_take / 2 ELSE least(greatest(v_take * 2, 1), v_most) END,
        v_progress.halving AND NOT v_instant,
        v_to,
        CASE
            WHEN v_by_family THEN v_roots[cardinality(v_roots)]
            -- How long the window was, and its rows by table: what the next one is measured by.
            WHEN v_unit = 'window' THEN
                ((extract(epoch FROM v_to::timestamptz - v_from::timestamptz) * 1000000)::bigint || v_batch.o_rows)::text
        END,
        v_batch.o_skip_keys, v_batch.o_skip_reasons
    );
    RETURN 'more';
END
$windrow$;
--# comment on function timed_step
COMMENT ON FUNCTION timed_step(bigint, text) IS
    'One batch of run p_run by removal time or age, and its progress in the ledger. Answers more, again, or why the run should end. run() calls it and commits.';

-- timed_preview: the batches of a run, counted but not locked and not deleted.
--# create function timed_preview
CREATE OR REPLACE FUNCTION timed_preview(p_rule text, p_options jsonb, p_as_of timestamptz)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
AS $windrow$
DECLARE
    c_first     constant text := '4714-11-24 00:00:00 BC';
    v_by_family boolean := (SELECT r.document ->> 'unit' = 'family' FROM rule AS r WHERE r.rule = p_rule);
    v_families  bigint := 0;
    v_batches   bigint := 0;
    v_most      bigint := setting_of(p_rule, 'batch_families');
    v_size      bigint := setting_of(p_rule, 'batch_rows');
    v_limit     bigint := coalesce((p_options ->> 'run_families')::bigint, setting_of(p_rule, 'run_families'));
    v_cutoff    text;
    v_from      text := coalesce(p_options ->> 'from', c_first);
    v_key       text;
    v_begin     text;
    v_to        text;
    v_roots     text[];
    v_last      bigint[];
    v_windows   boolean := NOT v_by_family;  -- whether a window is measured by the one before
    v_counted   record;
    v_rows      bigint[] := (SELECT array_fill(0::bigint, ARRAY[cardinality(r.tables)]) FROM rule AS r WHERE r.rule = p_rule);
    v_oldest    json;
    v_samples   jsonb := '[]';
    v_keys      text[] := '{}';
    v_reasons   text[];
    v_more      boolean := false;
BEGIN
    IF NOT p_options ? 'from' THEN
        v_keys := timed_undated(p_rule, p_as_of, NULL);
    END IF;
    v_reasons := array_fill('UNDATED_MEMBER'::text, ARRAY[cardinality(v_keys)]);
    EXECUTE format('SELECT (%s)::text', cutoff_call(p_rule, '$1', '$2')) INTO v_cutoff USING p_as_of, seconds(p_options ->> 'retention');
    LOOP
        IF v_by_family THEN
            EXECUTE format('SELECT n.o_roots::text[], n.o_last::text FROM %s(%L, %L, %L, $1) AS n', routine_of(p_rule, 'next'), v_from, v_key, v_cutoff)
            INTO v_roots, v_to
            USING least(v_most, greatest(v_limit - v_families, 1));
            v_by_family := v_roots <> '{}';
            IF NOT v_by_family THEN
                v_from := coalesce(p_options ->> 'from', c_first);
                CONTINUE;
            END IF;
        ELSE
            EXECUTE format('SELECT w.o_from::text, w.o_to::text FROM %s(%L, %L, $1, $2, $3) AS w', routine_of(p_rule, 'window'), v_from, v_cutoff)
            INTO v_begin, v_to
            USING v_size, greatest(v_limit - v_families, 1), v_last;
            EXIT WHEN v_begin IS NULL;
        END IF;
        IF v_families >= v_limit THEN
            v_more := true;
            EXIT;
        END IF;
        IF v_by_family THEN
            EXECUTE format(
                'SELECT c.o_families, c.o_rows, to_json(c.o_oldest) AS o_oldest, to_jsonb(c.o_roots) AS o_roots, c.o_skip_keys, c.o_skip_reasons FROM %s(%L, %L, $1) AS c',
                routine_of(p_rule, 'families_count'), v_roots, v_cutoff
            )
            INTO v_counted
            USING p_as_of;
        ELSE
            SELECT c.* INTO v_counted FROM timed_count(p_rule, v_begin, v_to, p_as_of) AS c;
        END IF;
        v_from := v_to;
        v_key := v_roots[cardinality(v_roots)];
        IF v_windows THEN
            v_last := (extract(epoch FROM v_to::timestamptz - v_begin::timestamptz) * 1000000)::bigint || v_counted.o_rows;
        END IF;
        v_batches := v_batches + 1;
        v_families := v_families + v_counted.o_families;
        v_rows := ARRAY(
            SELECT n.before + n.now
            FROM unnest(v_rows, v_counted.o_rows) WITH ORDINALITY AS n(before, now, position)
            ORDER BY n.position
        );
        v_oldest := coalesce(v_oldest, v_counted.o_oldest);
        IF jsonb_array_length(v_samples) < 10 THEN
            v_samples := jsonb_path_query_array(v_samples || v_counted.o_roots, '$[0 to 9]');
        END IF;
        v_keys := v_keys || v_counted.o_skip_keys;
        v_reasons := v_reasons || v_counted.o_skip_reasons;
    END LOOP;
    RETURN preview_document(p_rule, v_families, v_rows, v_oldest, v_samples, v_keys, v_reasons, NULL, v_limit, v_more, v_batches);
END
$windrow$;
--# comment on function timed_preview
COMMENT ON FUNCTION timed_preview(text, jsonb, timestamptz) IS
    'What a run of a rule by removal time or age would delete and skip now, as one JSON document. Reads only; preview() calls it.';
