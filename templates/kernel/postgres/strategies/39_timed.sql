-- Rules by a stored removal time, or by age. Their verbs are rows, at and delete; of several tables also count, judge,
-- delete_families, count_families, strays and, where rows are held by themselves, other. Times and keys of the application
-- travel as text.

-- timed_batch: one batch: the rows of a slice that may be deleted, of all tables. Has no transaction control.
--# create function timed_batch
CREATE OR REPLACE FUNCTION timed_batch(
    p_run bigint, p_rule text, p_from text, p_to text, p_as_of timestamptz, p_cutoff text,
    OUT o_families bigint, OUT o_rows bigint[], OUT o_skip_keys text[], OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
AS $windrow$
DECLARE
    v_held   text[];
    v_judged bigint[];
    v_left   bigint[];
BEGIN
    PERFORM begin_batch('holds and new removal times');
    IF is_plain(p_rule) THEN
        EXECUTE format(
            'SELECT d.o_rows FROM %s($1, %L, %L, $2::%s[], NULL) AS d', routine_of(p_rule, 'delete'), p_from, p_to, key_type_of(p_rule)
        )
        INTO o_families
        USING p_run, held_keys(p_rule);
        o_rows := ARRAY[o_families];
        o_skip_keys := '{}';
        v_held := keys_that_stay(p_rule, p_from, p_to, NULL);
        IF v_held <> '{}' THEN
            EXECUTE format(
                'SELECT coalesce(array_agg(n.o_key::text ORDER BY n.o_key), ''{}'') FROM %s AS n WHERE n.is_held',
                rows_of(p_rule, p_from, p_to, NULL)
            )
            INTO o_skip_keys
            USING v_held;
        END IF;
        o_skip_reasons := array_fill('HELD'::text, ARRAY[cardinality(o_skip_keys)]);
    ELSE
        EXECUTE format(
            'SELECT d.o_families, d.o_rows, d.o_judged, d.o_skip_keys, d.o_skip_reasons FROM %s($1, %L, %L, $2, %L) AS d',
            routine_of(p_rule, 'delete'), p_from, p_to, p_cutoff
        )
        INTO o_families, o_rows, v_judged, o_skip_keys, o_skip_reasons
        USING p_run, p_as_of;
        PERFORM all_locked(p_rule, o_rows, v_judged);
    END IF;
    -- A trigger or a rule can keep rows without a word. Only where there is one, it is worth looking.
    IF may_keep(p_rule) THEN
        v_left := (SELECT c.o_rows FROM count_timed(p_rule, p_from, p_to, p_as_of, NULL) AS c);
        PERFORM all_gone(p_rule, v_left);
    END IF;
    PERFORM end_batch(p_rule);
END
$windrow$;
--# comment on function timed_batch
COMMENT ON FUNCTION timed_batch(bigint, text, text, text, timestamptz, text) IS
    'Deletes, in the caller''s transaction, what may be deleted of the window from p_from to p_to; timed_step() calls it, a dry run with '
    'its cutoff.';

-- lock_plain: the locks of some rows of a rule that has one table, for which it waits as long as the lock timeout.
--# create function lock_plain
CREATE OR REPLACE FUNCTION lock_plain(p_rule text, p_from text, p_to text, p_keys text[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
SET enable_seqscan = off
AS $windrow$
BEGIN
    EXECUTE (
        SELECT format(
            'SELECT FROM %I.%I AS t WHERE t.%I = ANY (%L::%s[])%s FOR UPDATE',
            s.schema_name, r.root, regexp_replace(r.document -> 'key' ->> 0, ' [a-z]+$', ''), p_keys, key_type_of(p_rule),
            -- A number or a date is no time by which a partition is left out.
            CASE WHEN p_from IS NOT NULL AND by_window(p_rule) THEN (
                SELECT format(' AND t.%1$I >= %2$L::%4$s AND t.%1$I < %3$L::%4$s', a.attname, p_from, p_to, time_type_of(p_rule))
                FROM pg_attribute AS a
                WHERE a.attrelid = to_regclass(format('%I.%I', s.schema_name, r.root))
                  AND a.attname = r.document ->> 'time_name'
                  AND a.atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype)
            ) END
        )
        FROM rule AS r
        CROSS JOIN spec AS s
        WHERE r.rule = p_rule
    );
END
$windrow$;
--# comment on function lock_plain
COMMENT ON FUNCTION lock_plain(text, text, text, text[]) IS
    'Locks the rows p_keys of p_rule, which has one table, of a partitioned one in the window from p_from to p_to; timed_part() and '
    'timed_named() call it.';

-- timed_part: one batch: some rows of one table and one instant. Has no transaction control. Those that others have locked are passed
-- over; with p_wait it waits for them first, once.
--# create function timed_part
CREATE OR REPLACE FUNCTION timed_part(
    p_run bigint, p_rule text, p_from text, p_to text, p_keys text[], p_wait boolean,
    OUT o_families bigint, OUT o_left text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
AS $windrow$
DECLARE
    v_locked bigint;
BEGIN
    PERFORM begin_batch('holds and new removal times');
    IF p_wait THEN
        BEGIN
            PERFORM lock_plain(p_rule, p_from, p_to, p_keys);
        EXCEPTION WHEN lock_not_available THEN
            -- Of these, what is free by now is deleted.
            NULL;
        END;
    END IF;
    EXECUTE format(
        'SELECT d.o_rows, d.o_locked FROM %s($1, %L, %L, $2::%s[], %L) AS d',
        routine_of(p_rule, 'delete'), p_from, p_to, key_type_of(p_rule), p_keys
    )
    INTO o_families, v_locked
    USING p_run, held_keys(p_rule);
    -- What was locked is gone, unless a trigger or a rule has kept it without a word.
    PERFORM none_left((SELECT r.root FROM rule AS r WHERE r.rule = p_rule), o_families < v_locked);
    o_left := '{}';
    IF o_families < cardinality(p_keys) THEN
        o_left := rows_left(p_rule, p_from, p_to, p_keys);
    END IF;
    PERFORM end_batch(p_rule);
END
$windrow$;
--# comment on function timed_part
COMMENT ON FUNCTION timed_part(bigint, text, text, text, text[], boolean) IS
    'Deletes, in the caller''s transaction, the rows p_keys of p_rule, which has one table, that are still due in the window from p_from '
    'to p_to; o_left: those of them that others have locked. timed_step() calls it.';

-- timed_families: one batch: whole families, found by their roots. Has no transaction control.
--# create function timed_families
CREATE OR REPLACE FUNCTION timed_families(
    p_run bigint, p_rule text, p_roots text[], p_cutoff text, p_as_of timestamptz,
    OUT o_families bigint, OUT o_rows bigint[], OUT o_skip_keys text[], OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_go     text[];
    v_judged bigint[];
    v_own    text[];
    v_rows   bigint[];
    v_apart  boolean;  -- whether only these families count
BEGIN
    PERFORM begin_batch('holds and new removal times');
    SELECT j.o_go, j.o_judged, j.o_skip_keys, j.o_skip_reasons
    INTO v_go, v_judged, o_skip_keys, o_skip_reasons
    FROM judge_timed(p_rule, p_roots, p_cutoff, p_as_of, true) AS j;
    -- What a dry run deletes with it is still there when its turn comes.
    v_own := ARRAY(SELECT g.id FROM unnest(v_go) AS g(id) WHERE g.id = ANY (p_roots));
    v_apart := cardinality(v_own) < cardinality(v_go) AND (SELECT r.dry_run FROM run AS r WHERE r.run_id = p_run);
    IF v_apart THEN
        v_rows := own_rows_timed(p_rule, v_go, v_own);
    END IF;
    EXECUTE format('SELECT %s($1, %L, $2)', routine_of(p_rule, 'delete_families'), v_go)
    INTO o_rows
    USING p_run, may_keep(p_rule);
    PERFORM all_locked(p_rule, o_rows, v_judged);
    o_rows := coalesce(v_rows, o_rows);
    o_families := cardinality(CASE WHEN v_apart THEN v_own ELSE v_go END);
    PERFORM end_batch(p_rule);
END
$windrow$;
--# comment on function timed_families
COMMENT ON FUNCTION timed_families(bigint, text, text[], text, timestamptz) IS
    'Deletes, in the caller''s transaction, those families of these roots that may be deleted; timed_step() calls it.';

-- own_rows_timed: what a batch takes of families that are deleted together with some of other batches: a row that belongs to several goes
-- with the first.
--# create function own_rows_timed
CREATE OR REPLACE FUNCTION own_rows_timed(p_rule text, p_go text[], p_own text[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
AS $windrow$
DECLARE
    v_before text[] := '{}';  -- families of batches before it
    v_rows   bigint[];
    v_less   bigint[];
BEGIN
    IF cardinality(p_own) < cardinality(p_go) THEN
        EXECUTE format(
            $before$
            SELECT ARRAY(
                SELECT n.o_key::text
                FROM %1$s AS n
                WHERE n.o_key = ANY (%2$L)
                  AND (n.o_time, n.o_key) < (
                      SELECT f.o_time, f.o_key FROM %1$s AS f WHERE f.o_key = ANY (%3$L) ORDER BY f.o_time, f.o_key LIMIT 1
                  )
            )
            $before$,
            rows_timed(p_rule), p_go, p_own
        )
        INTO v_before;
    END IF;
    EXECUTE format('SELECT %s(%L)', routine_of(p_rule, 'count_families'), v_before || p_own) INTO v_rows;
    IF v_before <> '{}' THEN
        EXECUTE format('SELECT %s(%L)', routine_of(p_rule, 'count_families'), v_before) INTO v_less;
        v_rows := ARRAY(
            SELECT n.both_rows - n.less
            FROM unnest(v_rows, v_less) WITH ORDINALITY AS n(both_rows, less, position)
            ORDER BY n.position
        );
    END IF;
    RETURN v_rows;
END
$windrow$;
--# comment on function own_rows_timed
COMMENT ON FUNCTION own_rows_timed(text, text[], text[]) IS
    'Rows by table that are deleted with the families p_own of p_go and with none of an earlier batch. '
    'Reads only; a preview and a dry run call it.';

-- with_locked: what is known of the rows of tables in between that a judge has locked, with those of a further look at one of them: the
-- families that they belong to, and how many there are.
--# create function with_locked
CREATE OR REPLACE FUNCTION with_locked(p_middle jsonb, p_position integer, p_found jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT coalesce(p_middle, '{}')
        || jsonb_build_object(p_position, coalesce(p_middle -> p_position::text, '[]') || coalesce(p_found, '[]'))
$windrow$;
--# comment on function with_locked
COMMENT ON FUNCTION with_locked(jsonb, integer, jsonb) IS
    'Adds rows that are locked to those of the table at a position; the judge of a rule by removal time calls it.';

-- judge_timed: which of these families may be deleted, and why the others are kept. No row is left that refers to a
-- deleted row: if rows of other families refer to rows of these, they are deleted together, if all of them may be, or not at all.
--# create function judge_timed
CREATE OR REPLACE FUNCTION judge_timed(
    p_rule text, p_roots text[], p_cutoff text, p_as_of timestamptz, p_lock boolean,
    OUT o_go text[], OUT o_judged bigint[], OUT o_skip_keys text[], OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_crosses  boolean := (SELECT r.document ? 'crosses' FROM rule AS r WHERE r.rule = p_rule);
    -- Rows may name a family in another spelling than that of its root.
    v_spelled  boolean := many_spellings(p_rule);
    v_named    text[] := as_there(p_rule, p_roots);
    v_roots    text[] := v_named;
    v_locked   text[];  -- the family of each row that is locked
    v_middle   jsonb;  -- by table, families, and how many rows of tables in between are locked
    v_more     text[];
    v_families text[];  -- families, and those of rows that name a row of them
    v_others   text[];
    v_left     text[];
BEGIN
    LOOP
        EXECUTE format(
            'SELECT j.o_go::text[], j.o_locked::text[], j.o_middle, j.o_skip_keys, j.o_skip_reasons FROM %s(%L, %L, $1, $2) AS j',
            routine_of(p_rule, 'judge'), v_roots, p_cutoff
        )
        INTO o_go, v_locked, v_middle, o_skip_keys, o_skip_reasons
        USING p_as_of, p_lock;
        IF v_spelled THEN
            o_go := as_there(p_rule, o_go);
            v_locked := as_there(p_rule, v_locked);
            o_skip_keys := as_there(p_rule, o_skip_keys);
        END IF;
        EXIT WHEN NOT v_crosses OR o_go = '{}';
        -- Read after the rows were locked.
        EXECUTE format('SELECT array_agg(n.o_family), array_agg(n.o_other) FROM %s(%L) AS n', routine_of(p_rule, 'namers'), o_go)
        INTO v_families, v_others;
        EXIT WHEN v_families IS NULL;
        IF v_spelled THEN
            v_families := as_there(p_rule, v_families);
            v_others := as_there(p_rule, v_others);
        END IF;
        v_more := ARRAY(
            SELECT DISTINCT n.id
            FROM unnest(v_others) AS n(id)
            WHERE n.id <> ALL (v_roots)
              AND p_cutoff IS NOT NULL
        );
        EXIT WHEN v_more = '{}';
        v_roots := v_roots || v_more;
    END LOOP;
    WHILE v_families IS NOT NULL LOOP
        v_left := ARRAY(
            SELECT g.id
            FROM unnest(o_go) AS g(id)
            WHERE g.id IN (
                SELECT n.family FROM unnest(v_families, v_others) AS n(family, other) WHERE (n.other = ANY (o_go)) IS NOT TRUE
            )
        );
        EXIT WHEN v_left = '{}';
        o_go := ARRAY(SELECT g.id FROM unnest(o_go) AS g(id) WHERE g.id <> ALL (v_left));
        o_skip_keys := o_skip_keys || v_left;
        o_skip_reasons := o_skip_reasons || array_fill('REFERENCED'::text, ARRAY[cardinality(v_left)]);
    END LOOP;
    IF p_lock THEN
        o_judged := (
            SELECT array_agg(
                CASE
                    WHEN t.name = r.root THEN (SELECT count(*) FROM unnest(v_locked) AS l(family) WHERE l.family IN (SELECT unnest(o_go)))
                    WHEN v_middle ? t.position::text THEN (
                        SELECT coalesce(sum(m.found), 0)
                        FROM jsonb_to_recordset(v_middle -> t.position::text) AS m(families text[], found bigint)
                        WHERE CASE WHEN v_spelled THEN as_there(p_rule, m.families) ELSE m.families END && o_go
                    )
                END
                ORDER BY t.position
            )
            FROM rule AS r
            CROSS JOIN LATERAL unnest(r.tables) WITH ORDINALITY AS t(name, position)
            WHERE r.rule = p_rule
        );
    END IF;
    -- The others are reported when their turn comes.
    IF cardinality(v_roots) > cardinality(v_named) THEN
        SELECT coalesce(array_agg(s.key ORDER BY s.position), '{}'), coalesce(array_agg(s.reason ORDER BY s.position), '{}')
        INTO o_skip_keys, o_skip_reasons
        FROM unnest(o_skip_keys, o_skip_reasons) WITH ORDINALITY AS s(key, reason, position)
        WHERE s.key = ANY (v_named);
    END IF;
END
$windrow$;
--# comment on function judge_timed
COMMENT ON FUNCTION judge_timed(text, text[], text, timestamptz, boolean) IS
    'The families of these roots that may be deleted, with those of rows that name theirs, and why others are not. '
    'p_lock: locks their rows of the root table first, and of those to which foreign keys refer; o_judged: by table, how many are locked '
    'of those that may be deleted, NULL: none had to be. Without p_cutoff a purge names them, and no others are added; p_as_of: the '
    'minimum counts.';

-- gone_before: which of some families a run would take before its windows. Each of p_families is an array as text.
--# create function gone_before
CREATE OR REPLACE FUNCTION gone_before(p_rule text, p_families text[], p_cutoff text, p_as_of timestamptz)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET array_nulls = on
AS $windrow$
DECLARE
    v_ids text[] := ARRAY(
        SELECT DISTINCT f.id
        FROM unnest(p_families) AS l(families)
        CROSS JOIN unnest(l.families::text[]) AS f(id)
        WHERE f.id IS NOT NULL
    );
    v_there text[] := as_there(p_rule, v_ids);
    v_go    text[];
BEGIN
    SELECT j.o_go
    INTO v_go
    FROM judge_timed(p_rule, ARRAY(SELECT DISTINCT t.id FROM unnest(v_there) AS t(id)), p_cutoff, p_as_of, false) AS j;
    RETURN ARRAY(SELECT f.id FROM unnest(v_ids, v_there) AS f(id, there) WHERE f.there = ANY (v_go));
END
$windrow$;
--# comment on function gone_before
COMMENT ON FUNCTION gone_before(text, text[], text, timestamptz) IS
    'Which of these families a run would take; what a dry run or a preview says of a window relies on it. Reads only.';

-- count_timed: what a batch would delete of a window. Reads only.
--# create function count_timed
CREATE OR REPLACE FUNCTION count_timed(
    p_rule text, p_from text, p_to text, p_as_of timestamptz, p_cutoff text,
    OUT o_families bigint, OUT o_rows bigint[], OUT o_oldest json, OUT o_roots jsonb, OUT o_skip_keys text[], OUT o_skip_reasons text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
AS $windrow$
BEGIN
    IF NOT is_plain(p_rule) THEN
        EXECUTE format(
            $count$
            SELECT c.o_families, c.o_rows, to_json(c.o_oldest), to_jsonb(c.o_roots), c.o_skip_keys, c.o_skip_reasons
            FROM %s(%L, %L, $1, %L) AS c
            $count$,
            routine_of(p_rule, 'count'), p_from, p_to, p_cutoff
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
        rows_of(p_rule, p_from, p_to, NULL)
    )
    INTO o_families, o_oldest, o_roots, o_skip_keys
    USING keys_that_stay(p_rule, p_from, p_to, NULL);
    o_rows := ARRAY[o_families];
    o_skip_reasons := array_fill('HELD'::text, ARRAY[cardinality(o_skip_keys)]);
END
$windrow$;
--# comment on function count_timed
COMMENT ON FUNCTION count_timed(text, text, text, timestamptz, text) IS
    'Rows of the window from p_from to p_to that may be deleted, by table, its families and the first of their roots. Reads only.';

-- count_timed_families: what a batch would delete of these families.
--# create function count_timed_families
CREATE OR REPLACE FUNCTION count_timed_families(
    p_rule text, p_roots text[], p_cutoff text, p_as_of timestamptz,
    OUT o_families bigint, OUT o_rows bigint[], OUT o_oldest json, OUT o_roots jsonb, OUT o_skip_keys text[], OUT o_skip_reasons text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
AS $windrow$
DECLARE
    v_go  text[];
    v_own text[];
BEGIN
    SELECT j.o_go, j.o_skip_keys, j.o_skip_reasons
    INTO v_go, o_skip_keys, o_skip_reasons
    FROM judge_timed(p_rule, p_roots, p_cutoff, p_as_of, false) AS j;
    v_own := ARRAY(SELECT g.id FROM unnest(v_go) AS g(id) WHERE g.id = ANY (p_roots));
    o_families := cardinality(v_own);
    o_rows := own_rows_timed(p_rule, v_go, v_own);
    EXECUTE format(
        $first$
        SELECT to_json(min(n.o_time)), to_jsonb(coalesce((array_agg(n.o_key ORDER BY n.o_time, n.o_key))[1:10], '{}'))
        FROM %s AS n
        WHERE n.o_key = ANY (%L)
        $first$,
        rows_timed(p_rule), v_own
    )
    INTO o_oldest, o_roots;
END
$windrow$;
--# comment on function count_timed_families
COMMENT ON FUNCTION count_timed_families(text, text[], text, timestamptz) IS
    'Rows of those families of these roots that may be deleted, by table, and the first of the roots. Reads only.';

-- young_among: of a rule by age, which of some roots are too young for its minimum, and why.
--# create function young_among
CREATE OR REPLACE FUNCTION young_among(p_rule text, p_keys text[], p_as_of timestamptz)
RETURNS TABLE (key text, reason text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
BEGIN
    IF (SELECT r.strategy = 'age' FROM rule AS r WHERE r.rule = p_rule) THEN
        RETURN QUERY EXECUTE format(
            $young$
            SELECT n.o_key::text, CASE WHEN n.o_time > '-infinity' THEN 'RETENTION_NOT_REACHED' ELSE 'UNDATED_MEMBER' END
            FROM %s AS n
            WHERE n.o_key = ANY (%L)
              AND (n.o_time > '-infinity' AND n.o_time < %s) IS NOT TRUE
            $young$,
            rows_timed(p_rule), p_keys, cutoff_call(p_rule, '$1', '0')
        )
        USING p_as_of;
    END IF;
END
$windrow$;
--# comment on function young_among
COMMENT ON FUNCTION young_among(text, text[], timestamptz) IS
    'Of the roots p_keys of a rule by age those that have no time, or one that the minimum and the safety lag at p_as_of keep. Reads only.';

-- timed_named: deletes named families, found by their roots, in the caller's transaction, unless there is a reason to keep them.
-- Without p_force, the minimum of the rule is one.
--# create function timed_named
CREATE OR REPLACE FUNCTION timed_named(
    p_run bigint, p_rule text, p_keys text[], p_as_of timestamptz, p_force boolean,
    OUT o_families bigint, OUT o_rows bigint[], OUT o_skipped text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
AS $windrow$
DECLARE
    v_held    boolean;
    v_keys    text[];
    v_go      text[];
    v_judged  bigint[];
    v_young   text[];
    v_why     text[];  -- of each of these
    v_skipped text[];
    v_reasons text[];
BEGIN
    IF is_plain(p_rule) THEN
        -- Of one table each row is alone.
        EXECUTE format('SELECT n.is_held FROM %s AS n', rows_of(p_rule, NULL, NULL, p_keys[1:1]))
        INTO v_held
        USING keys_that_stay(p_rule, NULL, NULL, p_keys[1:1]);
        o_skipped := ARRAY[CASE WHEN v_held IS NULL THEN 'NOT_A_ROOT' WHEN v_held THEN 'HELD' END];
        IF o_skipped[1] IS NULL AND NOT p_force THEN
            o_skipped := ARRAY[(SELECT y.reason FROM young_among(p_rule, p_keys, p_as_of) AS y)];
        END IF;
        IF o_skipped[1] IS NULL THEN
            -- Until it is locked, the row may get a later time.
            PERFORM lock_plain(p_rule, NULL, NULL, p_keys[1:1]);
            EXECUTE format(
                'SELECT d.o_rows FROM %s($1, %s, NULL, %L) AS d',
                routine_of(p_rule, 'delete'),
                CASE
                    WHEN p_force OR (SELECT r.strategy = 'removal-time' FROM rule AS r WHERE r.rule = p_rule) THEN 'NULL, NULL'
                    ELSE '''-infinity'', ' || cutoff_call(p_rule, '$2', '0')
                END,
                p_keys[1:1]
            )
            INTO o_families
            USING p_run, p_as_of;
            o_rows := ARRAY[o_families];
            PERFORM end_batch(p_rule);
        END IF;
        IF o_families = 0 THEN
            -- It is no row of the rule any more, or too young by now, or below a row that is held, or a trigger or a rule keeps it without
            -- a word.
            o_skipped := ARRAY[(SELECT y.reason FROM young_among(p_rule, p_keys, p_as_of) AS y WHERE NOT p_force)];
            IF o_skipped[1] IS NOT NULL THEN
                RETURN;
            END IF;
            EXECUTE format('SELECT n.is_held FROM %s AS n', rows_of(p_rule, NULL, NULL, p_keys[1:1]))
            INTO v_held
            USING keys_that_stay(p_rule, NULL, NULL, p_keys[1:1]);
            PERFORM none_left((SELECT r.root FROM rule AS r WHERE r.rule = p_rule), NOT v_held);
            o_skipped := ARRAY[CASE WHEN v_held THEN 'HELD' ELSE 'NOT_A_ROOT' END];
        END IF;
        RETURN;
    END IF;
    EXECUTE format('SELECT %L::%s[]::text[]', p_keys, key_type_of(p_rule)) INTO v_keys;
    SELECT coalesce(array_agg(y.key), '{}'), array_agg(y.reason)
    INTO v_young, v_why
    FROM young_among(p_rule, v_keys, p_as_of) AS y
    WHERE NOT p_force;
    SELECT j.o_go, j.o_judged, j.o_skip_keys, j.o_skip_reasons
    INTO v_go, v_judged, v_skipped, v_reasons
    FROM judge_timed(
        p_rule, ARRAY(SELECT k.key FROM unnest(v_keys) AS k(key) WHERE k.key <> ALL (v_young)), NULL,
        CASE WHEN NOT p_force THEN p_as_of END, true
    ) AS j;
    v_skipped := v_young || v_skipped;
    v_reasons := v_why || v_reasons;
    IF NOT p_force AND EXISTS (SELECT FROM young_among(p_rule, v_go, p_as_of) AS y) THEN
        RAISE EXCEPTION 'a family has become too young, until it was locked'
            USING ERRCODE = 'serialization_failure', HINT = 'Name it again.';
    END IF;
    IF v_go <> '{}' THEN
        o_families := cardinality(v_go);
        EXECUTE format('SELECT %s($1, %L, $2)', routine_of(p_rule, 'delete_families'), v_go)
        INTO o_rows
        USING p_run, may_keep(p_rule);
        PERFORM all_locked(p_rule, o_rows, v_judged);
        PERFORM end_batch(p_rule);
    END IF;
    o_skipped := ARRAY(
        SELECT CASE WHEN k.key <> ALL (v_go) THEN coalesce(v_reasons[array_position(v_skipped, k.key)], 'NOT_A_ROOT') END
        FROM unnest(v_keys) WITH ORDINALITY AS k(key, place)
        ORDER BY k.place
    );
END
$windrow$;
--# comment on function timed_named
COMMENT ON FUNCTION timed_named(bigint, text, text[], timestamptz, boolean) IS
    'Deletes the rows of these roots, if the families are over and unheld, and, but for p_force, older than the minimum. o_skipped: why '
    'each is kept. purge_one() calls it.';

-- timed_keeper: which family keeps one that is kept because a row of the other refers to one of its rows, and why that family is kept.
--# create function timed_keeper
CREATE OR REPLACE FUNCTION timed_keeper(p_rule text, p_key text, p_named text[], p_as_of timestamptz, p_force boolean)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_named   text[];
    v_key     text[];
    v_others  text[];
    v_skipped text[];
    v_reasons text[];
BEGIN
    EXECUTE format('SELECT %L::%2$s[]::text[], %3$L::%2$s[]::text[]', p_named, key_type_of(p_rule), ARRAY[p_key]) INTO v_named, v_key;
    v_named := as_there(p_rule, v_named);
    v_key := as_there(p_rule, v_key);
    EXECUTE format('SELECT array_agg(n.o_other) FROM %s(%L) AS n WHERE n.o_other IS NOT NULL', routine_of(p_rule, 'namers'), v_key)
    INTO v_others;
    v_others := as_there(p_rule, v_others);
    SELECT j.o_skip_keys, j.o_skip_reasons
    INTO v_skipped, v_reasons
    FROM judge_timed(p_rule, v_named, NULL, CASE WHEN NOT p_force THEN p_as_of END, false) AS j;
    SELECT array_agg(y.key) || v_skipped, array_agg(y.reason) || v_reasons
    INTO v_skipped, v_reasons
    FROM young_among(p_rule, v_named, p_as_of) AS y
    WHERE NOT p_force;
    RETURN (
        SELECT json_build_object('key', n.key, 'reason', n.reason)
        FROM (
            SELECT o.key, CASE WHEN o.key <> ALL (v_named) THEN 'NOT_NAMED' ELSE s.reason END AS reason
            FROM unnest(v_others) AS o(key)
            LEFT JOIN unnest(v_skipped, v_reasons) AS s(key, reason) ON s.key = o.key
        ) AS n
        WHERE n.reason IS NOT NULL
        ORDER BY n.reason = 'REFERENCED', n.reason = 'NOT_NAMED', n.key COLLATE "C"
        LIMIT 1
    );
END
$windrow$;
--# comment on function timed_keeper
COMMENT ON FUNCTION timed_keeper(text, text, text[], timestamptz, boolean) IS
    'Of the families whose rows name rows of that of p_key, the first that stays, with the reason, or that a purge of p_named does not '
    'name; NULL where there is none. Reads only; purge_end() calls it.';

-- timed_step: one batch of a run, with its progress in the ledger, in the caller's transaction. A batch that fails is tried
-- again, then halved down to one family, or to the rows of one instant, of one table to a single row, which are recorded and skipped. Of
-- one table, an instant with more rows than a batch takes goes in parts: first what nobody has locked, then the others.
--# create function timed_step
CREATE OR REPLACE FUNCTION timed_step(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    c_first     constant text := '4714-11-24 00:00:00 BC';
    c_ahead     constant bigint := 20;  -- for so many batches the keys of an instant are listed, and as many that are locked
    c_listed    constant bigint := 100000;  -- these are so many at most
    c_failures  constant bigint := 500;  -- so many failures of an instant in a run, and those behind are left to the next one
    v_run       run%ROWTYPE;
    v_progress  run_rule%ROWTYPE;
    v_unit      text := (SELECT r.document ->> 'unit' FROM rule AS r WHERE r.rule = p_rule);
    v_by_family boolean;  -- families are deleted first; what belongs to none is deleted by windows, after them
    v_shared    boolean := (SELECT s.workers > 1 AND r.divided FROM rule AS r CROSS JOIN spec AS s WHERE r.rule = p_rule);
    v_alone     boolean;  -- whether this one of several workers goes through windows that follow families
    v_claim     text[];
    v_final     boolean;  -- whether nobody will look at it once more
    v_later     boolean := false;  -- whether the last worker does
    v_last      text;
    v_key       text;
    v_state     text;
    v_batch     record;
    v_cutoff    text;
    v_end       text;
    v_roots     text[];
    v_most      bigint;
    v_take      bigint;  -- families, or rows of one table; 0: those of one instant
    v_families  bigint;
    v_from      text;
    v_to        text;
    v_instant   boolean;  -- the batch cannot be halved any more
    v_part      bigint;   -- so many rows at most, of one instant that has more
    v_slice     text[];   -- these
    v_waits     boolean := false;  -- whether it is the last look at them
    v_goes_on   boolean := false;  -- whether the next batch goes on with that instant
    v_gives_up  boolean := false;  -- whether it is only to look at what was locked
    v_left      text[] := '{}';  -- what others have locked of it
    v_since     bigint;  -- since this run, what is refused of it is passed over
    v_first     bigint := p_run;  -- since this one, it was told, perhaps by another worker
    v_many      boolean := false;  -- whether this run has met so many that are refused that it goes on with another instant
    v_more      boolean := false;  -- whether it leaves others
    v_done      bigint;
    v_half      bigint;
    v_keys      text[];
    v_held      text[] := '{}';
    v_rows      bigint[];
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
    v_families := families_left(v_run, v_progress);
    IF v_families <= 0 THEN
        RETURN 'run_families reached';
    END IF;
    IF v_shared THEN
        SELECT c.claimed, c.alone, s.around, s.start_time, s.start_key
        INTO STRICT v_claim, v_alone, v_progress.around, v_progress.start_time, v_progress.start_key
        FROM run_claim AS c
        JOIN sweep AS s ON s.rule = c.rule
        WHERE c.run_id = p_run
          AND c.rule = p_rule;
        v_shared := NOT v_alone;
    END IF;
    -- The cursor has a key as long as there are families.
    v_by_family := v_unit = 'family' AND CASE
        WHEN v_alone IS NULL THEN v_progress.cursor_time IS NULL OR v_progress.cursor_key IS NOT NULL
        ELSE v_shared
    END;
    v_most := setting_of(p_rule, CASE WHEN v_by_family THEN 'batch_families' ELSE 'batch_rows' END);
    -- No size of families is 0.
    v_take := least(greatest(v_progress.batch_families, CASE WHEN v_by_family THEN 1 ELSE 0 END), v_most);
    v_state := take_locks(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;
    EXECUTE format('SELECT (%s)::text', cutoff_call(p_rule, '$1', '$2'))
    INTO v_cutoff
    USING v_run.as_of, seconds(v_run.options ->> 'retention');

    IF v_shared AND v_claim = '{}' THEN
        RETURN claim_more(v_run, v_progress, v_take);
    END IF;
    IF v_by_family THEN
        IF v_shared THEN
            v_roots := v_claim[1:least(v_take, v_families)];
        ELSE
            v_take := least(v_take, v_families);
            IF v_progress.ahead_at >= cardinality(v_progress.ahead_keys) THEN
                v_progress := timed_ahead(v_progress, v_cutoff, v_take, v_families);
            END IF;
            v_roots := v_progress.ahead_keys[v_progress.ahead_at + 1:v_progress.ahead_at + v_take];
            v_to := v_progress.ahead_times[v_progress.ahead_at + cardinality(v_roots)];
        END IF;
        v_take := cardinality(v_roots);
        IF v_take = 0 THEN
            IF v_progress.around AND v_progress.start_key IS NOT NULL THEN
                RETURN 'nothing left';
            END IF;
            UPDATE run_rule AS r
            SET family_size = r.batch_families,
                batch_families = setting_of(p_rule, 'batch_rows'),
                halving = false,
                cursor_time = c_first,
                cursor_key = NULL,
                ahead_keys = '{}',
                ahead_times = '{}',
                ahead_at = 0,
                updated_at = clock_timestamp()
            WHERE r.run_id = p_run
              AND r.rule = p_rule;
            RETURN 'more';
        END IF;
        v_instant := v_take = 1;
        IF v_progress.weigh > 0 AND NOT v_instant THEN
            v_rows := (SELECT c.o_rows FROM count_timed_families(p_rule, v_roots, v_cutoff, v_run.as_of) AS c);
            v_state := lighten(p_run, p_rule, v_take, v_rows);
            IF v_state IS NOT NULL THEN
                RETURN v_state;
            END IF;
        END IF;
    ELSE
        -- A claim that was made under a later cutoff ends at this one.
        v_last := CASE WHEN v_shared THEN split_part(v_claim[1], '/', 1) ELSE v_progress.cursor_time END;
        v_end := CASE WHEN v_shared THEN split_part(v_claim[1], '/', 2) WHEN v_progress.around THEN v_progress.start_time END;
        IF v_end IS NOT NULL THEN
            EXECUTE format('SELECT least($1::%1$s, $2::%1$s)::text', time_type_of(p_rule))
            INTO v_cutoff
            USING v_cutoff, v_end;
        END IF;
        v_part := greatest(least(v_take, v_families), 1);
        IF v_progress.ahead_of IN ('part/' || v_last, 'last/' || v_last, 'many/' || v_last)
            AND v_last::timestamptz < v_cutoff::timestamptz
        THEN
            v_from := v_last;
            EXECUTE format('SELECT ($1::%s + interval ''1 microsecond'')::text', time_type_of(p_rule)) INTO v_to USING v_from;
        ELSE
            SELECT w.o_from, w.o_to
            INTO v_from, v_to
            FROM window_timed(
                p_rule, coalesce(v_last, c_first), v_cutoff, v_take, v_families,
                CASE WHEN NOT v_shared THEN v_progress.cursor_key::bigint[] END
            ) AS w;
            IF v_from IS NULL AND v_shared THEN
                PERFORM claim_done(p_run, p_rule, v_claim[2:], '{}', '{}');
                RETURN 'again';
            ELSIF v_from IS NULL AND v_alone THEN
                -- From the windows that follow families the sweep starts again.
                RETURN sweep_around(p_run, p_rule);
            ELSIF v_from IS NULL THEN
                RETURN 'nothing left';
            END IF;
            v_instant := v_to::timestamptz <= v_from::timestamptz + interval '1 microsecond';
            v_part := CASE WHEN v_instant AND is_divisible(p_rule, v_from, v_to, v_part) THEN v_part END;
        END IF;
        IF v_part IS NOT NULL AND NOT v_run.dry_run THEN
            v_progress := timed_ahead_of(
                v_progress, v_from, v_to, greatest(v_part, least(v_families, greatest(c_ahead * v_part, v_most), c_listed))
            );
            v_slice := v_progress.ahead_keys[v_progress.ahead_at + 1:v_progress.ahead_at + v_part];
            v_waits := v_progress.ahead_of NOT LIKE 'part/%';
            v_goes_on := v_slice <> '{}';
            v_instant := cardinality(v_slice) <= 1;
        END IF;
    END IF;

    BEGIN
        IF v_by_family THEN
            SELECT b.o_families, b.o_rows, b.o_skip_keys, b.o_skip_reasons
            INTO v_batch
            FROM timed_families(p_run, p_rule, v_roots, v_cutoff, v_run.as_of) AS b;
        ELSIF v_run.dry_run AND v_part IS NOT NULL THEN
            -- The rows of the instant are more than a transaction takes: they are counted, up to the limit of the run.
            SELECT
                least(c.o_families, v_families) AS o_families, ARRAY[least(c.o_families, v_families)] AS o_rows, c.o_skip_keys,
                c.o_skip_reasons
            INTO v_batch
            FROM count_timed(p_rule, v_from, v_to, v_run.as_of, v_cutoff) AS c;
        ELSIF v_goes_on THEN
            SELECT b.o_families, b.o_left
            INTO v_done, v_left
            FROM timed_part(p_run, p_rule, v_from, v_to, v_slice, v_waits) AS b;
            SELECT v_done AS o_families, ARRAY[v_done] AS o_rows, '{}'::text[] AS o_skip_keys, '{}'::text[] AS o_skip_reasons
            INTO v_batch;
        ELSIF v_slice IS NOT NULL THEN
            -- The instant is over: what is held of it is told, by a worker unless it has left some of it for a further look.
            v_final := true;
            IF v_shared THEN
                v_final := (
                    SELECT v_from || '/' || v_to <> ALL (c.left_keys) FROM run_claim AS c WHERE c.run_id = p_run AND c.rule = p_rule
                );
                v_later := NOT is_last(p_run, p_rule);
            END IF;
            IF (SELECT s.workers > 1 FROM spec AS s) THEN
                v_first := (SELECT s.sweep_id FROM run_sweep AS s WHERE s.run_id = p_run);
            END IF;
            SELECT 0::bigint AS o_families, ARRAY[0::bigint] AS o_rows, '{}'::text[] AS o_skip_keys, '{}'::text[] AS o_skip_reasons
            INTO v_batch;
            IF v_final THEN
                v_since := instant_since(p_run, p_rule, v_from);
                v_many := instant_gives_up(p_run, p_rule, v_from, c_failures);
                v_keys := what_was_refused(v_since, p_rule);
                -- Whether there are others than those that were refused or looked at last.
                v_more := v_progress.ahead_of LIKE 'many/%'
                    AND rows_ahead(p_rule, v_from, v_to, v_progress.ahead_keys || v_keys, v_most) <> '{}';
                -- What a worker has not looked at, the last one will.
                v_later := v_more AND NOT v_many AND v_later;
                -- What earlier runs have met was not tried again. Where no row had a key, they have the instant.
                v_keys := ARRAY(
                    SELECT k.key
                    FROM unnest(v_keys) AS k(key)
                    WHERE k.key NOT IN (SELECT unnest(what_was_refused(v_first, p_rule)))
                      AND k.key !~ '^[0-9]+-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}$'
                );
                v_keys := CASE WHEN v_later OR v_keys = '{}' THEN '{}' ELSE rows_left(p_rule, v_from, v_to, v_keys) END;
                IF v_keys <> '{}' THEN
                    PERFORM refused_before(p_run, p_rule, v_since, v_keys);
                END IF;
                SELECT
                    CASE WHEN v_later THEN ARRAY[v_from || '/' || v_to] ELSE
                        c.o_skip_keys || v_keys || CASE WHEN v_more THEN ARRAY[v_from] END
                    END,
                    CASE WHEN v_later THEN '{}' ELSE c.o_skip_reasons || array_fill('FAILED'::text, ARRAY[cardinality(v_keys)]) END
                        || CASE WHEN v_more THEN ARRAY[CASE WHEN v_many THEN 'FAILED' ELSE 'LOCKED' END] END
                INTO v_batch.o_skip_keys, v_batch.o_skip_reasons
                FROM count_timed(p_rule, v_from, v_to, v_run.as_of, NULL) AS c;
                IF NOT v_more THEN
                    -- Then all are tried again.
                    DELETE FROM rule_instant AS i WHERE i.rule = p_rule AND i.due = instant_due(p_rule, v_from);
                END IF;
            END IF;
        ELSE
            SELECT b.o_families, b.o_rows, b.o_skip_keys, b.o_skip_reasons
            INTO v_batch
            FROM timed_batch(p_run, p_rule, v_from, v_to, v_run.as_of, CASE WHEN v_run.dry_run THEN v_cutoff END) AS b;
            -- Nothing was refused.
            DELETE FROM rule_instant AS i
            WHERE i.rule = p_rule
              AND i.due COLLATE "C" >= instant_due(p_rule, v_from)
              AND i.due COLLATE "C" < instant_due(p_rule, v_to);
        END IF;
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
        v_half := CASE
            WHEN v_goes_on AND v_waits AND is_busy(v_sqlstate) THEN NULL
            WHEN v_slice IS NOT NULL THEN nullif(cardinality(v_slice) / 2, 0)
            WHEN NOT v_instant THEN v_take / 2
            -- Of one table, one row keeps no other of its instant.
            WHEN is_plain(p_rule) THEN (
                SELECT nullif(c.o_families / 2, 0) FROM count_timed(p_rule, v_from, v_to, v_run.as_of, NULL) AS c
            )
        END;
        v_state := fail_step(p_run, p_rule, v_sqlstate, v_message, v_context, v_half);
        IF v_state IS NOT NULL THEN
            RETURN v_state;
        END IF;
        IF v_goes_on AND is_busy(v_sqlstate) THEN
            v_left := v_slice;
            v_keys := '{}';
        ELSE
            -- What others have locked may be deleted yet, where a worker will look at it once more.
            v_final := true;
            IF v_shared AND is_busy(v_sqlstate) THEN
                v_final := is_last(p_run, p_rule);
            END IF;
            IF v_by_family THEN
                v_keys := v_roots;
            ELSIF v_goes_on THEN
                v_keys := v_slice;
            ELSIF NOT v_final THEN
                v_keys := ARRAY[v_from || '/' || v_to];
            ELSE
                v_keys := timed_in_window(p_rule, v_from, v_to);
                IF is_plain(p_rule) THEN
                    -- What is held is told as such.
                    v_held := (SELECT c.o_skip_keys FROM count_timed(p_rule, v_from, v_to, v_run.as_of, NULL) AS c);
                    v_keys := ARRAY(
                        SELECT k.key FROM unnest(v_keys) AS k(key) WHERE k.key IS NOT NULL AND k.key NOT IN (SELECT unnest(v_held))
                    );
                END IF;
                -- Of one table, what failed is looked for by its key, if it has one.
                v_key := CASE WHEN is_plain(p_rule) THEN coalesce(v_keys[1], v_held[1], instant_due(p_rule, v_from)) ELSE v_from END;
                v_keys := CASE WHEN cardinality(v_keys) > 0 THEN v_keys ELSE ARRAY[v_from] END;
            END IF;
            v_key := CASE WHEN v_by_family OR v_goes_on THEN v_keys[1] ELSE v_key END;
            IF v_final THEN
                PERFORM record_failure(p_run, p_rule, v_key, v_sqlstate, v_message);
            END IF;
            IF v_goes_on THEN
                PERFORM instant_refuses(p_run, p_rule, v_from);
            END IF;
        END IF;
        SELECT
            0::bigint AS o_families,
            array_fill(0::bigint, ARRAY[cardinality(v_progress.table_rows)]) AS o_rows,
            v_keys || v_held AS o_skip_keys,
            array_fill(CASE WHEN is_busy(v_sqlstate) THEN 'LOCKED' ELSE 'FAILED' END, ARRAY[cardinality(v_keys)])
                || array_fill('HELD'::text, ARRAY[cardinality(v_held)]) AS o_skip_reasons
        INTO v_batch;
    END IF;
    IF v_goes_on AND NOT v_waits THEN
        v_gives_up := cardinality(v_progress.ahead_times) + cardinality(v_left) > least(c_ahead * v_most, c_listed)
            OR v_sqlstate IS NOT NULL
            AND instant_gives_up(p_run, p_rule, v_from, c_failures);
    END IF;
    IF v_waits AND v_left <> '{}' THEN
        v_final := true;
        IF v_shared THEN
            v_final := is_last(p_run, p_rule);
        END IF;
        IF NOT v_final THEN
            v_keys := ARRAY[v_from || '/' || v_to];
        ELSE
            v_keys := v_left;
            PERFORM record_failure(
                p_run, p_rule, v_left[1], coalesce(v_sqlstate, '55P03'), coalesce(v_message, 'others have locked the row for long')
            );
        END IF;
        v_batch.o_skip_keys := v_keys;
        v_batch.o_skip_reasons := array_fill('LOCKED'::text, ARRAY[cardinality(v_keys)]);
    END IF;

    IF v_shared THEN
        SELECT d.o_skip_keys, d.o_skip_reasons, d.o_time, d.o_key
        INTO v_batch.o_skip_keys, v_batch.o_skip_reasons, v_last, v_key
        FROM claim_done(
            p_run, p_rule,
            CASE
                WHEN v_by_family THEN v_claim[v_take + 1:]
                WHEN v_goes_on THEN ARRAY[v_from || '/' || v_cutoff] || v_claim[2:]
                ELSE CASE WHEN v_to <> v_cutoff THEN ARRAY[v_to || '/' || v_cutoff] ELSE '{}' END || v_claim[2:]
            END,
            v_batch.o_skip_keys, v_batch.o_skip_reasons
        ) AS d;
    ELSE
        v_last := CASE WHEN v_goes_on THEN v_from ELSE v_to END;
        v_key := CASE
            WHEN v_by_family THEN v_roots[cardinality(v_roots)]
            -- How long the window was, and its rows by table: what the next one is measured by.
            WHEN v_unit = 'window' THEN
                ((extract(epoch FROM v_to::timestamptz - v_from::timestamptz) * 1000000)::bigint || v_batch.o_rows)::text
        END;
    END IF;
    PERFORM end_step(
        p_run, p_rule, v_batch.o_families, v_batch.o_rows, '{}',
        CASE WHEN v_by_family THEN v_take END,
        CASE WHEN v_progress.halving AND NOT v_instant THEN v_take / 2 ELSE least(greatest(v_take * 2, 1), v_most) END,
        v_progress.halving AND NOT v_instant,
        v_last, v_key,
        v_batch.o_skip_keys, v_batch.o_skip_reasons
    );
    IF v_by_family AND NOT v_shared AND NOT v_run.dry_run AND v_batch.o_families + cardinality(v_batch.o_skip_keys) > v_take THEN
        PERFORM forget_gone(p_run, p_rule);
    END IF;
    IF v_gives_up THEN
        UPDATE run_rule AS r
        SET ahead_of = 'many/' || v_from,
            ahead_keys = r.ahead_times || v_left,
            ahead_times = '{}',
            ahead_at = 0
        WHERE r.run_id = p_run
          AND r.rule = p_rule;
    ELSIF v_goes_on THEN
        UPDATE run_rule AS r
        SET ahead_times = CASE WHEN v_waits OR v_left = '{}' THEN r.ahead_times ELSE r.ahead_times || v_left END,
            ahead_at = r.ahead_at + cardinality(v_slice)
        WHERE r.run_id = p_run
          AND r.rule = p_rule;
    ELSIF v_slice IS NOT NULL THEN
        UPDATE run_rule AS r
        SET ahead_of = NULL,
            ahead_keys = '{}',
            ahead_times = '{}',
            ahead_at = 0
        WHERE r.run_id = p_run
          AND r.rule = p_rule;
    END IF;
    RETURN 'more';
END
$windrow$;
--# comment on function timed_step
COMMENT ON FUNCTION timed_step(bigint, text) IS
    'One batch of run p_run, and its progress in the ledger. Answers more, again, or why the run should end. run() calls it and commits.';

-- timed_ahead: the roots of the next batches of a run, behind its cursor, written down where they are more than one takes. Whether they may
-- be deleted, each batch judges anew.
--# create function timed_ahead
CREATE OR REPLACE FUNCTION timed_ahead(p_progress run_rule, p_cutoff text, p_take bigint, p_families bigint)
RETURNS run_rule
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    c_first    constant text := '4714-11-24 00:00:00 BC';
    v_progress run_rule%ROWTYPE := p_progress;
BEGIN
    SELECT n.o_roots, n.o_times, 0
    INTO v_progress.ahead_keys, v_progress.ahead_times, v_progress.ahead_at
    FROM next_timed(
        p_progress.rule, coalesce(p_progress.cursor_time, c_first), p_progress.cursor_key, p_cutoff, most_ahead(p_take, p_families),
        CASE WHEN p_progress.around THEN p_progress.start_time END, CASE WHEN p_progress.around THEN p_progress.start_key END
    ) AS n;
    IF cardinality(v_progress.ahead_keys) > p_take THEN
        UPDATE run_rule AS r
        SET ahead_keys = v_progress.ahead_keys,
            ahead_times = v_progress.ahead_times,
            ahead_at = 0
        WHERE r.run_id = p_progress.run_id
          AND r.rule = p_progress.rule;
    END IF;
    RETURN v_progress;
END
$windrow$;
--# comment on function timed_ahead
COMMENT ON FUNCTION timed_ahead(run_rule, text, bigint, bigint) IS
    'p_progress with the roots behind its cursor, p_take or more, of which the run may take p_families; without any, nothing is left.';

-- forget_gone: a batch has deleted families with its own that rows of both name: no batch is made of them.
--# create function forget_gone
CREATE OR REPLACE FUNCTION forget_gone(p_run bigint, p_rule text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
SET enable_seqscan = off
AS $windrow$
BEGIN
    EXECUTE format(
        $forget$
        UPDATE run_rule AS r
        SET (ahead_keys, ahead_times, ahead_at) = (
            SELECT coalesce(array_agg(k.key ORDER BY k.place), '{}'), coalesce(array_agg(k.due ORDER BY k.place), '{}'), 0
            FROM unnest(r.ahead_keys[r.ahead_at + 1:], r.ahead_times[r.ahead_at + 1:]) WITH ORDINALITY AS k(key, due, place)
            WHERE EXISTS (SELECT FROM %s AS n WHERE n.o_key = k.key::%s)
        )
        WHERE r.run_id = $1
          AND r.rule = $2
          AND r.ahead_at < cardinality(r.ahead_keys)
        $forget$,
        rows_timed(p_rule), key_type_of(p_rule)
    )
    USING p_run, p_rule;
END
$windrow$;
--# comment on function forget_gone
COMMENT ON FUNCTION forget_gone(bigint, text) IS
    'Takes those roots out of the list of a rule that are no longer there; timed_step() calls it.';

-- timed_ahead_of: the keys of the next rows of one instant of a run. Once there are no others, or too many were locked or failed, what was
-- locked comes once more, and nothing else of the instant.
--# create function timed_ahead_of
CREATE OR REPLACE FUNCTION timed_ahead_of(p_progress run_rule, p_from text, p_to text, p_rows bigint)
RETURNS run_rule
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_progress run_rule%ROWTYPE := p_progress;
BEGIN
    IF (v_progress.ahead_of IN ('part/' || p_from, 'last/' || p_from, 'many/' || p_from)) IS NOT TRUE THEN
        v_progress.ahead_of := 'part/' || p_from;
        v_progress.ahead_keys := '{}';
        v_progress.ahead_times := '{}';
        v_progress.ahead_at := 0;
    END IF;
    IF v_progress.ahead_at < cardinality(v_progress.ahead_keys) OR v_progress.ahead_of <> 'part/' || p_from THEN
        RETURN v_progress;
    END IF;
    v_progress.ahead_keys := rows_ahead(
        p_progress.rule, p_from, p_to,
        v_progress.ahead_times || what_was_refused(instant_since(p_progress.run_id, p_progress.rule, p_from), p_progress.rule),
        p_rows
    );
    v_progress.ahead_at := 0;
    IF v_progress.ahead_keys = '{}' THEN
        v_progress.ahead_of := 'last/' || p_from;
        v_progress.ahead_keys := v_progress.ahead_times;
        v_progress.ahead_times := '{}';
    END IF;
    UPDATE run_rule AS r
    SET ahead_of = v_progress.ahead_of,
        ahead_keys = v_progress.ahead_keys,
        ahead_times = v_progress.ahead_times,
        ahead_at = v_progress.ahead_at
    WHERE r.run_id = p_progress.run_id
      AND r.rule = p_progress.rule;
    RETURN v_progress;
END
$windrow$;
--# comment on function timed_ahead_of
COMMENT ON FUNCTION timed_ahead_of(run_rule, text, text, bigint) IS
    'p_progress with the keys of rows in the window from p_from to p_to, at most p_rows, of which ahead_at were looked at; without any, '
    'the window is over.';

-- timed_idle: whether nothing is due.
--# create function timed_idle
CREATE OR REPLACE FUNCTION timed_idle(p_rule text, p_as_of timestamptz)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_cutoff text;
BEGIN
    EXECUTE format('SELECT (%s)::text', cutoff_call(p_rule, '$1')) INTO v_cutoff USING p_as_of;
    RETURN (
        SELECT CASE WHEN w.o_from IS NULL THEN 0 END
        FROM window_timed(p_rule, '4714-11-24 00:00:00 BC', v_cutoff, 0, 0, NULL) AS w
    );
END
$windrow$;
--# comment on function timed_idle
COMMENT ON FUNCTION timed_idle(text, timestamptz) IS
    '0 where no row of the tables of p_rule is due at p_as_of; else NULL. Reads only.';

-- timed_preview: the batches of a run, counted but not locked and not deleted.
--# create function timed_preview
CREATE OR REPLACE FUNCTION timed_preview(p_rule text, p_options jsonb, p_as_of timestamptz)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
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
    v_ahead     text[] := '{}';  -- the next roots, their times, and how many of them were looked at
    v_times     text[];
    v_at        bigint := 0;
    v_take      bigint;
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
        v_keys := undated_timed(p_rule, p_as_of, NULL);
    END IF;
    v_reasons := array_fill('UNDATED_MEMBER'::text, ARRAY[cardinality(v_keys)]);
    EXECUTE format('SELECT (%s)::text', cutoff_call(p_rule, '$1', '$2')) INTO v_cutoff USING p_as_of, seconds(p_options ->> 'retention');
    LOOP
        IF v_by_family THEN
            v_take := least(v_most, greatest(v_limit - v_families, 1));
            IF v_at >= cardinality(v_ahead) THEN
                SELECT n.o_roots, n.o_times, 0
                INTO v_ahead, v_times, v_at
                FROM next_timed(p_rule, v_from, v_key, v_cutoff, most_ahead(v_take, v_limit - v_families)) AS n;
            END IF;
            v_roots := v_ahead[v_at + 1:v_at + v_take];
            v_at := v_at + cardinality(v_roots);
            v_to := v_times[v_at];
            v_by_family := v_roots <> '{}';
            IF NOT v_by_family THEN
                v_from := coalesce(p_options ->> 'from', c_first);
                CONTINUE;
            END IF;
        ELSE
            SELECT w.o_from, w.o_to
            INTO v_begin, v_to
            FROM window_timed(p_rule, v_from, v_cutoff, v_size, greatest(v_limit - v_families, 1), v_last) AS w;
            EXIT WHEN v_begin IS NULL;
        END IF;
        IF v_families >= v_limit THEN
            v_more := true;
            EXIT;
        END IF;
        IF v_by_family THEN
            SELECT c.* INTO v_counted FROM count_timed_families(p_rule, v_roots, v_cutoff, p_as_of) AS c;
        ELSE
            SELECT c.* INTO v_counted FROM count_timed(p_rule, v_begin, v_to, p_as_of, v_cutoff) AS c;
        END IF;
        v_from := v_to;
        v_key := v_roots[cardinality(v_roots)];
        IF v_windows THEN
            v_last := (extract(epoch FROM v_to::timestamptz - v_begin::timestamptz) * 1000000)::bigint || v_counted.o_rows;
        END IF;
        IF is_plain(p_rule) AND v_counted.o_families > v_limit - v_families THEN
            -- An instant that has more rows is not taken whole.
            v_counted.o_families := v_limit - v_families;
            v_counted.o_rows := ARRAY[v_counted.o_families];
            v_more := true;
        END IF;
        -- Of one table, an instant that has more rows takes several batches.
        v_batches := v_batches + CASE
            WHEN is_plain(p_rule) THEN greatest(1, (v_counted.o_families + v_size - 1) / v_size)
            ELSE 1
        END;
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
