-- Rules of single rows: expiry, orphan, keep-last. Their verbs: search, delete; undated, where rows without a time are counted;
-- unranked, of keep-last; and count, if other rows are deleted with them. A key of several columns is one string.

-- key_match: that row t of a rule's root table has the key k.key.
--# create function key_match
CREATE OR REPLACE FUNCTION key_match(p_rule text)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT CASE count(*)
        WHEN 1 THEN format('t.%I = k.key', max(c.name))
        -- A key of several columns is one text.
        ELSE string_agg(format('t.%I = (k.key::jsonb ->> %s)::%s', c.name, c.place - 1, c.type), ' AND ' ORDER BY c.place)
    END
    FROM key_of(p_rule) AS c;
$windrow$;
--# comment on function key_match
COMMENT ON FUNCTION key_match(text) IS
    'The condition that row t of the root table of p_rule has the key k.key.';

-- lock_rows: those of the named rows of a rule's root table that are there, in their order; with p_lock, locked in the order of
-- their keys. With p_places: those that are where a search saw them, in a version of the time before p_before.
--# create function lock_rows
CREATE OR REPLACE FUNCTION lock_rows(
    p_rule text, p_keys anyarray, p_lock text, p_places tid[] DEFAULT NULL, p_before xid DEFAULT NULL,
    OUT o_keys anyarray, OUT o_places tid[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_nestloop = on
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $windrow$
BEGIN
    EXECUTE (
        SELECT format(
            $rows$
            SELECT coalesce(array_agg(l.key ORDER BY l.position), '{}'), array_agg(l.place ORDER BY l.position)
            FROM (
                SELECT k.key, k.place, k.position
                FROM unnest($1, $2) WITH ORDINALITY AS k(key, place, position)
                JOIN %s %I.%I AS t ON %s
                ORDER BY k.key
                %s
            ) AS l
            $rows$,
            CASE WHEN p_places IS NOT NULL THEN 'ONLY' END,
            s.schema_name, r.root,
            CASE WHEN p_places IS NULL THEN key_match(p_rule) ELSE 't.ctid = k.place AND age(t.xmin) > age($3)' END,
            p_lock
        )
        FROM rule AS r
        CROSS JOIN spec AS s
        WHERE r.rule = p_rule
    )
    INTO o_keys, o_places
    USING p_keys, p_places, p_before;
END
$windrow$;
--# comment on function lock_rows
COMMENT ON FUNCTION lock_rows(text, anyarray, text, tid[], xid) IS
    'Those of the named rows of the root table of p_rule that are there; with a clause p_lock, those that it gets.';

-- is_small: whether a table that is looked into has so few pages that reading it whole, once, costs no more than to look along an index
-- for each of p_rows rows, and that what a verb remembers of it fits into the work_mem that it sets: else the planner would compare each
-- row with all of them. Its own size counts, so what has parts is not small.
--# create function is_small
CREATE OR REPLACE FUNCTION is_small(p_table text, p_rows bigint)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT c.relkind = 'r' AND NOT c.relhassubclass
        -- It may be read along an index, of which pages stay where rows have gone.
        AND greatest(pg_relation_size(c.oid), (SELECT max(pg_relation_size(i.indexrelid)) FROM pg_index AS i WHERE i.indrelid = c.oid))
            / current_setting('block_size')::bigint <= least(p_rows, 20000) / 64
    FROM spec AS s
    JOIN pg_class AS c ON c.oid = to_regclass(format('%I.%I', s.schema_name, p_table));
$windrow$;
--# comment on function is_small
COMMENT ON FUNCTION is_small(text, bigint) IS
    'Whether p_table is one table which, like each index of it, has at most one page for each 64 of p_rows rows; of these 20,000 count.';

-- has_places: whether the place of a row distinguishes it from others: not where a table has parts.
--# create function has_places
CREATE OR REPLACE FUNCTION has_places(p_rule text)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT NOT c.relhassubclass
    FROM rule AS r
    CROSS JOIN spec AS s
    JOIN pg_class AS c ON c.oid = to_regclass(format('%I.%I', s.schema_name, r.root))
    WHERE r.rule = p_rule;
$windrow$;
--# comment on function has_places
COMMENT ON FUNCTION has_places(text) IS
    'Whether the root table of p_rule is one table, so that a place in it is that of one row.';

-- place_of: where a row is along a pass, so that the next search continues after it.
--# create function place_of
CREATE OR REPLACE FUNCTION place_of(p_rule text, p_pass integer, p_key anyelement)
RETURNS text[]
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
SET enable_seqscan = off
AS $windrow$
DECLARE
    v_place text[];
BEGIN
    EXECUTE (
        SELECT format(
            'SELECT ARRAY[%s] FROM (SELECT $1) AS k(key) JOIN %I.%I AS t ON %s',
            (
                SELECT string_agg(a.of_t || '::text', ', ' ORDER BY a.position)
                FROM jsonb_array_elements_text(r.document -> 'ways' -> p_pass - 1) WITH ORDINALITY AS a(of_t, position)
            ),
            s.schema_name, r.root, key_match(p_rule)
        )
        FROM rule AS r
        CROSS JOIN spec AS s
        WHERE r.rule = p_rule
    )
    INTO v_place
    USING p_key;
    RETURN v_place;
END
$windrow$;
--# comment on function place_of
COMMENT ON FUNCTION place_of(text, integer, anyelement) IS
    'What the row p_key of p_rule has in the columns along which the search goes in pass p_pass.';

-- found_query: what a search answers in pass $1 at $5 with the cutoff $6: of the rows p_keys, an expression, or of the next $4 rows
-- behind $3, up to the first that would be one more to delete than p_most. What is visible and of the time before o_before, it saw.
--# create function found_query
CREATE OR REPLACE FUNCTION found_query(p_rule text, p_keys text DEFAULT 'NULL', p_most bigint DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN format(
        $found$
        SELECT f.*, place_of(%L, $1, f.o_last) AS o_after
        FROM (
            SELECT
                count(*) AS o_found,
                (array_agg(s.o_key))[1] AS o_first,
                (array_agg(s.o_key))[count(*)::integer] AS o_last,
                coalesce(array_agg(s.o_key) FILTER (WHERE s.o_reason IS NULL), '{}') AS o_keys,
                coalesce(array_agg(s.o_place) FILTER (WHERE s.o_reason IS NULL), '{}') AS o_places,
                pg_snapshot_xmin(pg_current_snapshot())::xid AS o_before,
                to_json(min(s.o_due) FILTER (WHERE s.o_reason IS NULL))::text AS o_oldest,
                coalesce(array_agg(s.o_key::text) FILTER (WHERE s.o_reason <> ''), '{}') AS o_skip_keys,
                coalesce(array_agg(s.o_reason) FILTER (WHERE s.o_reason <> ''), '{}') AS o_skip_reasons
            FROM %s AS s
        ) AS f
        OFFSET 0
        $found$,
        p_rule,
        format(
            CASE WHEN p_most IS NULL THEN '%s' ELSE
                '(SELECT n.* FROM (SELECT r.*, count(*) FILTER (WHERE r.o_reason IS NULL) OVER (ROWS UNBOUNDED PRECEDING) AS o_number '
                'FROM %s AS r) AS n WHERE n.o_number <= %s)'
            END,
            format('%s($1, %s, $3, $4, $5, $6)', routine_of(p_rule, 'search'), p_keys), p_most
        )
    );
END
$windrow$;
--# comment on function found_query
COMMENT ON FUNCTION found_query(text, text, bigint) IS
    'The query for what a search finds: how many rows and the place of the last, those to delete, where they are and the oldest of their '
    'times, and those that are due and stay, with the reasons.';

-- delete_single: what the verb delete of a rule deletes, by table.
--# create function delete_single
CREATE OR REPLACE FUNCTION delete_single(p_run bigint, p_rule text, p_keys anyarray, p_places tid[], p_before xid)
RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rows bigint[];
BEGIN
    EXECUTE format(
        'SELECT d.o_below[:$5] || d.o_rows FROM %s($1, $2, $3, $4) AS d', routine_of(p_rule, 'delete')
    )
    INTO v_rows
    USING p_run, p_keys, p_places, p_before, (SELECT cardinality(r.tables) - 1 FROM rule AS r WHERE r.rule = p_rule);
    RETURN v_rows;
END
$windrow$;
--# comment on function delete_single
COMMENT ON FUNCTION delete_single(bigint, text, anyarray, tid[], xid) IS
    'Deletes the named rows of p_rule, and answers how many rows were deleted, by table.';

-- delete_at_once: deletes rows where a search saw them, without a lock before, if it gets them all. Where another session has
-- locked one, which shows at once, or has changed it, this takes none.
--# create function delete_at_once
CREATE OR REPLACE FUNCTION delete_at_once(p_run bigint, p_rule text, p_keys anyarray, p_places tid[], p_before xid)
RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_patience constant text := current_setting('lock_timeout');
    v_rows     bigint[];
BEGIN
    PERFORM set_config('lock_timeout', '1ms', true);
    v_rows := delete_single(p_run, p_rule, p_keys, p_places, p_before);
    IF v_rows[1] < cardinality(p_keys) THEN
        RAISE EXCEPTION 'others were here' USING ERRCODE = 'lock_not_available';
    END IF;
    PERFORM set_config('lock_timeout', v_patience, true);
    RETURN v_rows;
EXCEPTION WHEN lock_not_available THEN
    RETURN NULL;
END
$windrow$;
--# comment on function delete_at_once
COMMENT ON FUNCTION delete_at_once(bigint, text, anyarray, tid[], xid) IS
    'Deletes the named rows of p_rule where they were at p_places before p_before, and answers how many; NULL where it does not get all.';

-- delete_judged: deletes rows that were judged and are locked.
--# create function delete_judged
CREATE OR REPLACE FUNCTION delete_judged(
    p_run bigint, p_rule text, p_pass integer, p_keys anyarray, p_places tid[], p_as_of timestamptz, p_cutoff timestamptz,
    OUT o_rows bigint[], OUT o_gone anyarray
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rule rule%ROWTYPE;
    v_rest bigint;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    o_rows := delete_single(p_run, p_rule, p_keys, p_places, NULL);
    o_gone := p_keys;
    v_rest := cardinality(p_keys) - o_rows[cardinality(o_rows)];
    IF v_rest > 0 THEN
        -- A trigger or a rule can keep rows without a word.
        EXECUTE format('SELECT f.o_keys FROM (%s) AS f', found_query(p_rule, '$2'))
        INTO o_gone
        USING p_pass, p_keys, NULL::text[], NULL::bigint, p_as_of, p_cutoff;
        IF cardinality(o_gone) > 0 OR cardinality(v_rule.tables) > 1 AND v_rule.strategy <> 'orphan' THEN
            RAISE EXCEPTION 'rows of % could not be deleted', v_rule.root
                USING HINT = 'A trigger or a rule keeps them. The batch is rolled back.';
        END IF;
        IF cardinality(v_rule.tables) > 1 THEN
            RAISE EXCEPTION 'what % rows of % name were inserted again meanwhile', v_rest, v_rule.root
                USING ERRCODE = 'serialization_failure',
                    HINT = 'What belongs to them must also be kept. The batch is rolled back and retried.';
        END IF;
        SELECT all_but(p_keys, r.o_keys) INTO o_gone FROM lock_rows(p_rule, p_keys, '') AS r;
    END IF;
END
$windrow$;
--# comment on function delete_judged
COMMENT ON FUNCTION delete_judged(bigint, text, integer, anyarray, tid[], timestamptz, timestamptz) IS
    'Deletes rows of p_rule that are due and locked, and answers which and how many, by table; raises an error where some are kept.';

-- all_but: what a list has and another has not, in its order.
--# create function all_but
CREATE OR REPLACE FUNCTION all_but(p_keys anyarray, p_others anyarray)
RETURNS anyarray
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT coalesce(array_agg(k.key ORDER BY k.position), '{}')
    FROM unnest(p_keys) WITH ORDINALITY AS k(key, position)
    WHERE k.key NOT IN (SELECT unnest(p_others));
$windrow$;
--# comment on function all_but
COMMENT ON FUNCTION all_but(anyarray, anyarray) IS
    'Those of p_keys that are not among p_others.';

-- lock_judged: locks those of the named rows that are still to be deleted, whatever happened to them since they were found.
--# create function lock_judged
CREATE OR REPLACE FUNCTION lock_judged(
    p_rule text, p_pass integer, p_keys anyarray, p_as_of timestamptz, p_cutoff timestamptz,
    OUT o_keys anyarray, OUT o_skip_keys text[], OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_judge   constant text := format('SELECT f.o_keys, f.o_skip_keys, f.o_skip_reasons FROM (%s) AS f', found_query(p_rule, '$2'));
    v_looked  p_keys%TYPE;
    v_rest    p_keys%TYPE;
    v_keys    text[];
    v_reasons text[];
    v_busy    text[] := '{}';
BEGIN
    -- A first look without locks, so that a row that is kept is not touched. Then those that seem to be deletable are locked, and nobody
    -- changes them any more: what is judged now holds until the end of the transaction.
    EXECUTE v_judge INTO v_looked, o_skip_keys, o_skip_reasons USING p_pass, p_keys, NULL::text[], NULL::bigint, p_as_of, p_cutoff;
    SELECT r.o_keys INTO o_keys FROM lock_rows(p_rule, v_looked, 'FOR UPDATE OF t SKIP LOCKED') AS r;
    EXECUTE v_judge INTO o_keys, v_keys, v_reasons USING p_pass, o_keys, NULL::text[], NULL::bigint, p_as_of, p_cutoff;
    IF cardinality(o_keys) < cardinality(v_looked) THEN
        -- Rows that another session has locked are left to it. Those that it deleted are not worth a word.
        EXECUTE format('SELECT j.o_keys FROM (%s) AS j', v_judge)
        INTO v_rest
        USING p_pass, all_but(v_looked, o_keys), NULL::text[], NULL::bigint, p_as_of, p_cutoff;
        v_busy := v_rest::text[];
    END IF;
    o_skip_keys := o_skip_keys || v_busy || v_keys;
    o_skip_reasons := o_skip_reasons || array_fill('LOCKED'::text, ARRAY[cardinality(v_busy)]) || v_reasons;
END
$windrow$;
--# comment on function lock_judged
COMMENT ON FUNCTION lock_judged(text, integer, anyarray, timestamptz, timestamptz) IS
    'Locks those of the named rows that may be deleted, each looked at again under its lock; answers them, and those due and kept, with '
    'the reasons.';

-- batch_single: one batch: deletes those of the named rows that may be deleted. Has no transaction control.
--# create function batch_single
CREATE OR REPLACE FUNCTION batch_single(
    p_run bigint, p_rule text, p_pass integer, p_keys anyarray, p_places tid[], p_before xid, p_as_of timestamptz, p_cutoff timestamptz,
    OUT o_families bigint, OUT o_members text[], OUT o_rows bigint[], OUT o_samples text[],
    OUT o_skip_keys text[], OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_tables constant integer := (SELECT cardinality(r.tables) FROM rule AS r WHERE r.rule = p_rule);
    v_again  constant boolean := (SELECT coalesce((r.document ->> 'judged_again')::boolean, false) FROM rule AS r WHERE r.rule = p_rule);
    v_placed constant boolean := p_places IS NOT NULL AND NOT v_again AND has_places(p_rule);
    v_rows   bigint[];
    v_later  bigint[];
    v_left   p_keys%TYPE := p_keys;
    v_judged p_keys%TYPE;
    v_places tid[];
    v_gone   p_keys%TYPE := '{}';
    v_others p_keys%TYPE := '{}';
BEGIN
    PERFORM begin_batch('holds, and what came back');
    o_skip_keys := '{}';
    o_skip_reasons := '{}';

    -- The search result for a row applies to the version that it saw, unless rows of other tables say that it goes, some of which may
    -- be deleted before it. If nothing is deleted before the row, no lock is needed as long as no other session is in the way.
    IF v_placed AND v_tables = 1 THEN
        v_rows := delete_at_once(p_run, p_rule, p_keys, p_places, p_before);
    END IF;
    IF v_rows IS NOT NULL THEN
        v_gone := p_keys;
        v_left := '{}';
    ELSIF v_placed THEN
        SELECT r.o_keys, r.o_places
        INTO v_judged, v_places
        FROM lock_rows(p_rule, p_keys, 'FOR UPDATE OF t SKIP LOCKED', p_places, p_before) AS r;
        SELECT d.o_rows, d.o_gone
        INTO v_rows, v_gone
        FROM delete_judged(p_run, p_rule, p_pass, v_judged, v_places, p_as_of, p_cutoff) AS d;
        v_left := all_but(p_keys, v_judged);
    END IF;
    -- Rows that others have changed or locked since, or may have, are looked at again, by their keys.
    IF cardinality(v_left) > 0 OR v_rows IS NULL THEN
        SELECT l.o_keys, l.o_skip_keys, l.o_skip_reasons
        INTO v_judged, o_skip_keys, o_skip_reasons
        FROM lock_judged(p_rule, p_pass, v_left, p_as_of, p_cutoff) AS l;
        SELECT d.o_rows, d.o_gone
        INTO v_later, v_others
        FROM delete_judged(p_run, p_rule, p_pass, v_judged, NULL, p_as_of, p_cutoff) AS d;
    END IF;
    o_rows := ARRAY(
        SELECT coalesce(n.first, 0) + coalesce(n.later, 0)
        FROM unnest(v_rows, v_later) WITH ORDINALITY AS n(first, later, place)
        ORDER BY n.place
    );
    o_families := o_rows[v_tables];
    v_gone := v_gone || v_others;
    o_samples := v_gone[1:10]::text[];
    o_members := CASE WHEN v_tables > 1 THEN v_gone::text[] ELSE '{}' END;
    PERFORM end_batch(p_rule);
END
$windrow$;
--# comment on function batch_single
COMMENT ON FUNCTION batch_single(bigint, text, integer, anyarray, tid[], xid, timestamptz, timestamptz) IS
    'Deletes, in the caller''s transaction, those of the named rows that are due, with what belongs to them: where a search saw them that '
    'knew all of the time before p_before, else each looked at again under its lock. No transaction control, so it can be rolled back.';

-- single_named: deletes one named row, in the caller's transaction, unless there is a reason to keep it. Without p_force, the minimum
-- of the rule is one; an expiry that the row has itself knows no minimum.
--# create function single_named
CREATE OR REPLACE FUNCTION single_named(
    p_run bigint, p_rule text, p_key text, p_as_of timestamptz, p_force boolean,
    OUT o_families bigint, OUT o_rows bigint[], OUT o_skipped text
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rule   rule%ROWTYPE;
    v_search text;
    v_reason text;
    v_goes   boolean;
    v_old    boolean;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    EXECUTE format('SELECT lock_rows($1, %L::%s[], ''FOR UPDATE OF t'')', ARRAY[p_key], key_type_of(p_rule)) USING p_rule;
    v_search := format('SELECT true, s.o_reason FROM %s($1, %L, NULL, NULL, $2, $3) AS s', routine_of(p_rule, 'search'), ARRAY[p_key]);
    EXECUTE v_search INTO v_goes, v_reason USING 0, NULL::timestamptz, NULL::timestamptz;
    o_skipped := CASE WHEN v_goes THEN v_reason ELSE 'NOT_A_ROOT' END;
    IF o_skipped IS NULL AND NOT p_force THEN
        IF v_rule.strategy <> 'expiry' THEN
            EXECUTE v_search INTO v_old, v_reason USING 0, p_as_of, cutoff_of(p_rule, p_as_of, 0);
            o_skipped := CASE WHEN v_old THEN v_reason ELSE 'RETENTION_NOT_REACHED' END;
        ELSIF v_rule.document -> 'passes' ? 'fallback' THEN
            -- Of the rows without an expiry.
            EXECUTE v_search INTO v_old, v_reason USING 1, 'infinity'::timestamptz, NULL::timestamptz;
            IF v_old IS NULL THEN
                EXECUTE v_search INTO v_old, v_reason USING 2, p_as_of, cutoff_of(p_rule, p_as_of, 0);
                -- Neither that it never expires nor a time that is missing is one from which the minimum counts.
                IF v_old IS NULL THEN
                    EXECUTE v_search INTO v_old, v_reason USING 2, p_as_of, 'infinity'::timestamptz;
                    o_skipped := CASE WHEN v_old THEN 'RETENTION_NOT_REACHED' ELSE 'UNDATED_MEMBER' END;
                END IF;
            END IF;
        END IF;
    END IF;
    IF o_skipped IS NULL THEN
        EXECUTE format('SELECT delete_single($1, $2, %L::%s[], NULL, NULL)', ARRAY[p_key], key_type_of(p_rule))
        INTO o_rows
        USING p_run, p_rule;
        o_families := 1;
        IF o_rows[cardinality(o_rows)] = 0 THEN
            RAISE EXCEPTION 'rows of % could not be deleted', v_rule.root
                USING HINT = CASE
                    WHEN v_rule.strategy = 'orphan' THEN 'A trigger or a rule keeps them, or what they name were inserted again meanwhile.'
                    ELSE 'A trigger or a rule keeps them.'
                END;
        END IF;
        PERFORM end_batch(p_rule);
    END IF;
END
$windrow$;
--# comment on function single_named
COMMENT ON FUNCTION single_named(bigint, text, text, timestamptz, boolean) IS
    'Deletes the named row with what belongs to it, unless it is held, the rule does not take it, or it is, but for p_force, too young for '
    'the minimum. o_skipped: why it stays. purge_one() calls it.';

-- single_overdue: what is due at an instant, for metrics.
--# create function single_overdue
CREATE OR REPLACE FUNCTION single_overdue(p_rule text, p_as_of timestamptz, p_limit bigint)
RETURNS TABLE (families bigint, age interval, complete boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rule   rule%ROWTYPE;
    v_cutoff timestamptz := cutoff_of(p_rule, p_as_of, NULL);
    v_found  bigint;
    v_due    bigint;
    v_age    interval;
    v_looked bigint := 0;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    families := 0;
    FOR v_pass IN 1..jsonb_array_length(v_rule.document -> 'passes') LOOP
        -- A row without a time may be in the way of nobody: it is not due.
        EXECUTE format(
            $overdue$
            SELECT count(*), count(*) FILTER (WHERE s.o_reason IS DISTINCT FROM '' AND (isfinite(s.o_due) OR $5)),
                clock_timestamp()%s - min(s.o_due) FILTER (WHERE s.o_reason IS DISTINCT FROM '' AND isfinite(s.o_due))
            FROM %s($1, NULL, NULL, $2, $3, $4) AS s
            $overdue$,
            in_zone(p_rule), routine_of(p_rule, 'search')
        )
        INTO v_found, v_due, v_age
        USING v_pass, p_limit, p_as_of, v_cutoff, NOT v_rule.retained AND v_rule.strategy <> 'expiry';
        families := families + v_due;
        age := greatest(age, v_age);
        v_looked := v_looked + v_found;
    END LOOP;
    complete := v_looked < p_limit;
    RETURN NEXT;
END
$windrow$;
--# comment on function single_overdue
COMMENT ON FUNCTION single_overdue(text, timestamptz, bigint) IS
    'Rows that are due, kept or not, among the first p_limit that a run looks at in each pass, how long ago the oldest time '
    'was, and whether these are all. Reads only.';

-- single_idle: whether nothing is due, and nothing only lacks a time. What does not lie along a time is looked at row by row: where these
-- are no more than the first batch would take, it is done here, and counts as a batch.
--# create function single_idle
CREATE OR REPLACE FUNCTION single_idle(p_rule text, p_as_of timestamptz, p_rows bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_cutoff timestamptz := cutoff_of(p_rule, p_as_of, NULL);
    v_passes integer := (SELECT jsonb_array_length(r.document -> 'passes') FROM rule AS r WHERE r.rule = p_rule);
    v_take   bigint;
    v_found  bigint;
    v_due    bigint;
BEGIN
    FOR v_pass IN 1..v_passes LOOP
        -- Where something is due, it is mostly among the first.
        FOREACH v_take IN ARRAY ARRAY[least(100, p_rows), p_rows] LOOP
            EXECUTE format(
                $look$
                SELECT count(*), count(*) FILTER (WHERE s.o_reason IS DISTINCT FROM '')
                FROM %s($1, NULL, NULL, $2, $3, $4) AS s
                $look$,
                routine_of(p_rule, 'search')
            )
            INTO v_found, v_due
            USING v_pass, v_take, p_as_of, v_cutoff;
            IF v_due > 0 OR v_found = p_rows THEN
                RETURN NULL;
            END IF;
            EXIT WHEN v_found < v_take;
        END LOOP;
    END LOOP;
    RETURN least(v_found, 1);
END
$windrow$;
--# comment on function single_idle
COMMENT ON FUNCTION single_idle(text, timestamptz, bigint) IS
    'How many batches of p_rows would look at rows of p_rule, where there are no more rows and nothing is due: one at most; else NULL. '
    'Reads only.';

-- single_step: one batch of a run, with its progress in the ledger, in the caller's transaction. A batch that fails is tried
-- again, then halved down to a single row, which is recorded and skipped.
--# create function single_step
CREATE OR REPLACE FUNCTION single_step(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_run       run%ROWTYPE;
    v_progress  run_rule%ROWTYPE;
    v_passes    text[] := ARRAY(SELECT jsonb_array_elements_text(r.document -> 'passes') FROM rule AS r WHERE r.rule = p_rule);
    v_found     text;
    v_shared    boolean := (SELECT s.workers > 1 AND r.divided FROM rule AS r CROSS JOIN spec AS s WHERE r.rule = p_rule);
    v_claimed   text[];
    v_claim     jsonb;
    v_state     text;
    v_cutoff    timestamptz;
    v_pass      integer;
    v_after     text[];
    v_to        text[];
    v_reached   text[];
    v_time      text;
    v_at        text;
    v_take      bigint;
    v_left      bigint;
    v_count     bigint;
    v_key       text;
    v_members   text[];
    v_rows      bigint[];
    v_batch     record;
    v_sqlstate  text;
    v_message   text;
    v_context   text;
BEGIN
    v_state := begin_step(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    SELECT * INTO STRICT v_progress FROM run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule;
    v_left := families_left(v_run, v_progress);
    IF v_left <= 0 THEN
        RETURN 'run_families reached';
    END IF;
    -- A batch looks at as many rows as one may have, however few of them the run may still delete.
    v_take := least(v_progress.batch_families, setting_of(p_rule, 'batch_rows'));
    v_found := found_query(p_rule, p_most => CASE WHEN v_left < v_take THEN v_left END);
    v_cutoff := cutoff_of(p_rule, v_run.as_of, seconds(v_run.options ->> 'retention'));
    v_state := take_locks(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;

    -- The cursor: the pass, and the place of the last row that was looked at in it.
    v_pass := coalesce(v_progress.cursor_key::integer, 1);
    v_after := v_progress.cursor_time::text[];
    IF v_shared THEN
        SELECT c.claimed INTO STRICT v_claimed FROM run_claim AS c WHERE c.run_id = p_run AND c.rule = p_rule;
        IF v_claimed = '{}' THEN
            RETURN claim_more(v_run, v_progress, v_take);
        END IF;
        -- Where a claim begins, and after that where it ends.
        v_claim := v_claimed[1];
        v_pass := (v_claim ->> 'pass')::integer;
        v_to := ARRAY(SELECT jsonb_array_elements_text(v_claim -> 'to'));
        v_after := ARRAY(SELECT jsonb_array_elements_text(v_claim -> 'after'));
        v_after := CASE WHEN v_after = '{}' THEN array_fill(NULL::text, ARRAY[cardinality(v_to)]) ELSE v_after END || v_to;
    END IF;
    IF v_progress.weigh > 0 AND cardinality(v_progress.table_names) > 1 THEN
        LOOP
            EXECUTE format('SELECT n.o_found, n.o_keys::text[] FROM (%s) AS n', v_found)
            INTO v_count, v_members
            USING v_pass, NULL::text, v_after, v_take, v_run.as_of, v_cutoff;
            EXIT WHEN v_count > 0 OR v_shared OR v_pass = cardinality(v_passes);
            v_pass := v_pass + 1;
            v_after := NULL;
        END LOOP;
        IF v_count > 1 THEN
            EXECUTE format('SELECT %s(%L)', routine_of(p_rule, 'count'), v_members) INTO v_rows;
            v_state := lighten(p_run, p_rule, v_count, v_rows);
            IF v_state IS NOT NULL THEN
                RETURN v_state;
            END IF;
        END IF;
    END IF;

    BEGIN
        LOOP
            -- One statement, which hands over keys and places as they are; and while it lasts, its snapshot keeps these places.
            EXECUTE format(
                $batch$
                SELECT n.o_found, n.o_after, b.o_families, b.o_members, b.o_rows, b.o_samples,
                    n.o_skip_keys || b.o_skip_keys AS o_skip_keys, n.o_skip_reasons || b.o_skip_reasons AS o_skip_reasons
                FROM (%s) AS n
                CROSS JOIN LATERAL batch_single($7, $8, $1, n.o_keys, n.o_places, n.o_before, $5, $6) AS b
                WHERE n.o_found > 0
                $batch$,
                v_found
            )
            INTO v_batch
            USING v_pass, NULL::text, v_after, v_take, v_run.as_of, v_cutoff, p_run, p_rule;
            EXIT WHEN v_batch.o_found > 0;
            IF v_shared THEN
                PERFORM claim_done(p_run, p_rule, v_claimed[2:], '{}', '{}');
                RETURN 'again';
            END IF;
            IF v_pass = cardinality(v_passes) THEN
                RETURN 'nothing left';
            END IF;
            v_pass := v_pass + 1;
            v_after := NULL;
        END LOOP;
        v_count := v_batch.o_found;
        v_reached := v_batch.o_after;
        PERFORM look_at_last(p_run, p_rule);
        IF v_run.dry_run THEN
            -- The dry run is the real batch, rolled back.
            RAISE EXCEPTION 'dry run' USING ERRCODE = 'WD002';
        END IF;
    EXCEPTION
        WHEN SQLSTATE 'WD002' THEN
            NULL;
        WHEN query_canceled OR OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_context = PG_EXCEPTION_CONTEXT;
            IF v_sqlstate = '57014' AND is_cancel(v_message, v_context) THEN
                RETURN 'cancelled';
            END IF;
    END;
    IF v_sqlstate IS NOT NULL THEN
        EXECUTE format('SELECT n.o_found, n.o_after, n.o_first::text FROM (%s) AS n', v_found)
        INTO v_count, v_reached, v_key
        USING v_pass, NULL::text, v_after, v_take, v_run.as_of, v_cutoff;
        v_state := fail_step(p_run, p_rule, v_sqlstate, v_message, v_context, CASE WHEN v_count > 1 THEN v_count / 2 END);
        IF v_state IS NOT NULL OR v_count = 0 THEN
            RETURN coalesce(v_state, 'again');
        END IF;
        PERFORM record_failure(p_run, p_rule, v_key, v_sqlstate, v_message);
        SELECT
            0::bigint AS o_families, '{}'::text[] AS o_members,
            array_fill(0::bigint, ARRAY[cardinality(v_progress.table_rows)]) AS o_rows,
            '{}'::text[] AS o_samples,
            ARRAY[v_key] AS o_skip_keys,
            ARRAY[CASE WHEN is_busy(v_sqlstate) THEN 'LOCKED' ELSE 'FAILED' END] AS o_skip_reasons
        INTO v_batch;
    END IF;

    v_time := v_reached::text;
    v_at := v_pass::text;
    IF v_shared THEN
        SELECT d.o_skip_keys, d.o_skip_reasons, d.o_time, d.o_key
        INTO v_batch.o_skip_keys, v_batch.o_skip_reasons, v_time, v_at
        FROM claim_done(
            p_run, p_rule,
            CASE
                WHEN v_reached = v_to THEN v_claimed[2:]
                ELSE jsonb_set(v_claim, '{after}', to_jsonb(v_reached))::text || v_claimed[2:]
            END,
            v_batch.o_skip_keys, v_batch.o_skip_reasons
        ) AS d;
    END IF;
    PERFORM end_step(
        p_run, p_rule, v_batch.o_families, v_batch.o_rows,
        CASE WHEN v_run.dry_run THEN v_batch.o_members ELSE '{}' END,
        v_count,
        CASE WHEN v_progress.halving AND v_count > 1 THEN v_count / 2
            ELSE least(v_progress.batch_families * 2, setting_of(p_rule, 'batch_rows')) END,
        v_progress.halving AND v_count > 1,
        v_time, v_at,
        v_batch.o_skip_keys, v_batch.o_skip_reasons
    );
    IF v_batch.o_families > 0 THEN
        PERFORM record_pass(p_run, p_rule, v_passes[v_pass], v_batch.o_families, v_batch.o_samples);
    END IF;
    RETURN 'more';
END
$windrow$;
--# comment on function single_step
COMMENT ON FUNCTION single_step(bigint, text) IS
    'One batch of run p_run by a rule of single rows, and its progress in the ledger. Answers more, again, or why the run should end. '
    'run() calls it and commits.';

-- single_preview: the batches of a run, judged but not locked and not deleted.
--# create function single_preview
CREATE OR REPLACE FUNCTION single_preview(p_rule text, p_options jsonb, p_as_of timestamptz)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rule      rule%ROWTYPE;
    v_names     text[];
    v_cutoff    timestamptz := cutoff_of(p_rule, p_as_of, seconds(p_options ->> 'retention'));
    v_size      bigint := setting_of(p_rule, 'batch_rows');
    v_limit     bigint := coalesce((p_options ->> 'run_families')::bigint, setting_of(p_rule, 'run_families'));
    v_left      bigint;
    v_pass      integer := 1;
    v_after     text[];
    v_judged    record;
    v_families  bigint := 0;
    v_batches   bigint := 0;
    -- Times as JSON has them, in one form, which sorts as they do.
    v_oldest    text;
    v_samples   text[] := '{}';
    v_passes    json[] := '{}';
    v_here      bigint := 0;  -- of the pass under way: its rows, the oldest of them, its first keys
    v_since     text;
    v_first     text[] := '{}';
    v_keys      text[] := '{}';
    v_reasons   text[] := '{}';
    v_members   text[] := '{}';
    v_rows      bigint[];
    v_more      boolean := false;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    v_names := ARRAY(SELECT jsonb_array_elements_text(v_rule.document -> 'passes'));
    IF v_rule.counts_undated THEN
        v_keys := undated_of(p_rule, p_as_of, NULL);
        v_reasons := array_fill('UNDATED_MEMBER'::text, ARRAY[cardinality(v_keys)]);
    END IF;
    LOOP
        v_left := v_limit - v_families;
        EXECUTE format(
            'SELECT f.*, f.o_keys::text[] AS o_texts FROM (%s) AS f',
            found_query(p_rule, p_most => CASE WHEN v_left BETWEEN 1 AND v_size - 1 THEN v_left END)
        )
        INTO v_judged
        USING v_pass, NULL::text, v_after, CASE WHEN v_left > 0 THEN v_size ELSE 1 END, p_as_of, v_cutoff;
        v_more := v_judged.o_found > 0 AND v_left <= 0;
        IF v_judged.o_found = 0 OR v_more THEN
            v_passes := v_passes || json_build_object('pass', v_names[v_pass], 'rows', v_here, 'oldest_end_time', v_since::json,
                'sample_keys', v_first);
            EXIT WHEN v_more OR v_pass = cardinality(v_names);
            v_pass := v_pass + 1;
            v_after := NULL;
            v_here := 0;
            v_since := NULL;
            v_first := '{}';
            CONTINUE;
        END IF;
        v_after := v_judged.o_after;
        v_batches := v_batches + 1;
        v_families := v_families + cardinality(v_judged.o_texts);
        v_here := v_here + cardinality(v_judged.o_texts);
        v_since := least(v_since COLLATE "C", v_judged.o_oldest);
        v_oldest := least(v_oldest COLLATE "C", v_judged.o_oldest);
        v_first := (v_first || v_judged.o_texts)[1:10];
        v_samples := (v_samples || v_judged.o_texts)[1:10];
        v_keys := v_keys || v_judged.o_skip_keys;
        v_reasons := v_reasons || v_judged.o_skip_reasons;
        IF cardinality(v_rule.tables) > 1 THEN
            v_members := v_members || v_judged.o_texts;
        END IF;
    END LOOP;
    v_rows := ARRAY[v_families];
    IF cardinality(v_rule.tables) > 1 THEN
        EXECUTE format('SELECT %s(%L)', routine_of(p_rule, 'count'), v_members) INTO STRICT v_rows;
    END IF;
    RETURN preview_document(
        p_rule, v_families, v_rows, v_oldest::json, to_jsonb(v_samples), v_keys, v_reasons, to_json(v_passes), v_limit, v_more, v_batches
    );
END
$windrow$;
--# comment on function single_preview
COMMENT ON FUNCTION single_preview(text, jsonb, timestamptz) IS
    'What a run of a rule of single rows would delete and skip now, as one JSON document; passes says why. Reads only; preview() calls '
    'it.';
