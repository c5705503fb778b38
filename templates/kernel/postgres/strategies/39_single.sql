-- Rules of single rows: expiry, orphan, keep-last. Their verbs: search, verdict, delete; undated, where rows without a time are
-- counted; unranked, of keep-last; and count, where other rows go with them. A key of several columns is one text.

-- lock_rows: locks the named rows of a rule's root table, and answers which it got, in their order. p_wait: it waits for others;
-- a run leaves what they have locked to them.
--# create function lock_rows
CREATE OR REPLACE FUNCTION lock_rows(p_rule text, p_keys anyarray, p_wait boolean)
RETURNS anyarray
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $windrow$
DECLARE
    v_got p_keys%TYPE;
BEGIN
    EXECUTE (
        SELECT format(
            $lock$
            SELECT coalesce(array_agg(l.key ORDER BY l.position), '{}')
            FROM (
                SELECT k.key, k.position
                FROM unnest($1) WITH ORDINALITY AS k(key, position)
                JOIN %I.%I AS t ON %s
                ORDER BY k.key
                FOR UPDATE OF t %s
            ) AS l
            $lock$,
            max(s.schema_name), max(r.root),
            CASE count(*)
                WHEN 1 THEN format('t.%I = k.key', max(c.name))
                -- A key of several columns is one text.
                ELSE string_agg(format('t.%I = (k.key::jsonb ->> %s)::%s', c.name, c.place - 1, c.type), ' AND ' ORDER BY c.place)
            END,
            CASE WHEN NOT p_wait THEN 'SKIP LOCKED' END
        )
        FROM rule AS r
        CROSS JOIN spec AS s
        CROSS JOIN key_of(p_rule) AS c
        WHERE r.rule = p_rule
    )
    INTO v_got
    USING p_keys;
    RETURN v_got;
END
$windrow$;
--# comment on function lock_rows
COMMENT ON FUNCTION lock_rows(text, anyarray, boolean) IS
    'Locks the named rows of the root table of p_rule in the order of their keys, and answers which it got.';

-- verdict_query: what a rule says of rows in pass $1, at $3 with the cutoff $4.
--# create function verdict_query
CREATE OR REPLACE FUNCTION verdict_query(p_rule text, p_keys text DEFAULT '$2')
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN format(
        $verdict$
        SELECT
            coalesce(array_agg(v.o_key) FILTER (WHERE v.o_reason IS NULL), '{}') AS o_keys,
            to_json(min(v.o_due) FILTER (WHERE v.o_reason IS NULL))::text AS o_oldest,
            coalesce(array_agg(v.o_key::text) FILTER (WHERE v.o_reason IS NOT NULL), '{}') AS o_skip_keys,
            coalesce(array_agg(v.o_reason) FILTER (WHERE v.o_reason IS NOT NULL), '{}') AS o_skip_reasons
        FROM %s($1, %s, $3, $4) AS v
        $verdict$,
        routine_of(p_rule, 'verdict'), p_keys
    );
END
$windrow$;
--# comment on function verdict_query
COMMENT ON FUNCTION verdict_query(text, text) IS
    'The query for those of the rows p_keys, an expression, that go, the oldest of their times, and those that are due and stay, with the '
    'reasons.';

-- batch_single: one batch: those of the named rows that go. Has no transaction control.
--# create function batch_single
CREATE OR REPLACE FUNCTION batch_single(
    p_run bigint, p_rule text, p_pass integer, p_keys anyarray, p_as_of timestamptz, p_cutoff timestamptz,
    OUT o_families bigint, OUT o_members text[], OUT o_rows bigint[], OUT o_samples text[],
    OUT o_skip_keys text[], OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule    rule%ROWTYPE;
    v_verdict text := verdict_query(p_rule);
    v_goes    constant text := format('SELECT v.o_keys FROM (%s) AS v', v_verdict);
    v_looked  p_keys%TYPE;
    v_judged  p_keys%TYPE;
    v_rest    p_keys%TYPE;
    v_oldest  text;
    v_keys    text[];
    v_reasons text[];
    v_busy    text[] := '{}';
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    PERFORM begin_batch('holds, and what came back');

    -- A first look without locks, so that a row that stays is not touched. Then those that seem to go are locked, and nobody
    -- changes them any more: what is judged now holds until the end of the transaction.
    EXECUTE v_verdict INTO v_looked, v_oldest, o_skip_keys, o_skip_reasons USING p_pass, p_keys, p_as_of, p_cutoff;
    v_judged := lock_rows(p_rule, v_looked, false);
    EXECUTE v_verdict INTO v_judged, v_oldest, v_keys, v_reasons USING p_pass, v_judged, p_as_of, p_cutoff;
    IF cardinality(v_judged) < cardinality(v_looked) THEN
        -- Rows that another session has locked are left to it. Those that it deleted are not worth a word.
        v_rest := ARRAY(SELECT k.key FROM unnest(v_looked) WITH ORDINALITY AS k(key, position)
            WHERE k.key NOT IN (SELECT unnest(v_judged)) ORDER BY k.position);
        EXECUTE v_goes INTO v_rest USING p_pass, v_rest, p_as_of, p_cutoff;
        v_busy := v_rest::text[];
    END IF;
    o_skip_keys := o_skip_keys || v_busy || v_keys;
    o_skip_reasons := o_skip_reasons || array_fill('LOCKED'::text, ARRAY[cardinality(v_busy)]) || v_reasons;

    EXECUTE format('SELECT d.o_rows, d.o_samples FROM %s($1, $2) AS d', routine_of(p_rule, 'delete')) INTO o_rows, o_samples USING p_run,
        v_judged;
    o_families := o_rows[cardinality(o_rows)];
    IF o_families < cardinality(v_judged) THEN
        -- A trigger or a rule can keep rows without a word.
        EXECUTE v_goes INTO v_rest USING p_pass, v_judged, p_as_of, p_cutoff;
        IF cardinality(v_rest) > 0 THEN
            RAISE EXCEPTION 'rows of % could not be deleted', v_rule.root
                USING HINT = 'A trigger or a rule keeps them. The batch is rolled back.';
        END IF;
        IF cardinality(v_rule.tables) > 1 AND v_rule.strategy = 'orphan' THEN
            RAISE EXCEPTION 'what % rows of % name came back this moment', cardinality(v_judged) - o_families, v_rule.root
                USING ERRCODE = 'serialization_failure',
                    HINT = 'What belongs to them must stay, too. The batch is rolled back and tried again.';
        END IF;
    END IF;
    o_members := CASE WHEN cardinality(v_rule.tables) > 1 THEN v_judged::text[] ELSE '{}' END;
    PERFORM end_batch(p_rule);
END
$windrow$;
--# comment on function batch_single
COMMENT ON FUNCTION batch_single(bigint, text, integer, anyarray, timestamptz, timestamptz) IS
    'Deletes, in the caller''s transaction, those of the named rows that go, each looked at again under its lock, with what belongs to '
    'them. No transaction control, so it can be rolled back; single_step() calls it.';

-- single_named: deletes one named row, in the caller's transaction, unless something speaks against it.
--# create function single_named
CREATE OR REPLACE FUNCTION single_named(
    p_run bigint, p_rule text, p_key text,
    OUT o_families bigint, OUT o_rows bigint[], OUT o_skipped text
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rule   rule%ROWTYPE;
    v_reason text;
    v_goes   boolean;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    EXECUTE format('SELECT lock_rows($1, %L::%s[], true)', ARRAY[p_key], key_type_of(p_rule)) USING p_rule;
    EXECUTE format('SELECT true, v.o_reason FROM %s(0, %L, NULL, NULL) AS v', routine_of(p_rule, 'verdict'), ARRAY[p_key])
    INTO v_goes, v_reason;
    o_skipped := CASE WHEN v_goes THEN v_reason ELSE 'NOT_A_ROOT' END;
    IF o_skipped IS NULL THEN
        EXECUTE format('SELECT d.o_rows FROM %s($1, %L) AS d', routine_of(p_rule, 'delete'), ARRAY[p_key]) INTO o_rows USING p_run;
        o_families := 1;
        IF o_rows[cardinality(o_rows)] = 0 THEN
            RAISE EXCEPTION 'rows of % could not be deleted', v_rule.root
                USING HINT = CASE
                    WHEN v_rule.strategy = 'orphan' THEN 'A trigger or a rule keeps them, or what they name came back this moment.'
                    ELSE 'A trigger or a rule keeps them.'
                END;
        END IF;
        PERFORM end_batch(p_rule);
    END IF;
END
$windrow$;
--# comment on function single_named
COMMENT ON FUNCTION single_named(bigint, text, text) IS
    'Deletes the named row with what belongs to it, whatever its time, unless it is held or the rule does not take it. o_skipped: why it '
    'stays. purge_one() calls it.';

-- single_overdue: what is due at an instant, for metrics.
--# create function single_overdue
CREATE OR REPLACE FUNCTION single_overdue(p_rule text, p_as_of timestamptz, p_limit bigint)
RETURNS TABLE (families bigint, age interval, complete boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
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
            SELECT min(n.found), count(*) FILTER (WHERE v.o_due IS NOT NULL OR v.o_key IS NOT NULL AND $5),
                clock_timestamp()%s - min(v.o_due)
            FROM (SELECT s.o_keys, cardinality(s.o_keys) AS found FROM %s($1, NULL, $2, $3, $4) AS s) AS n
            LEFT JOIN LATERAL %s($1, n.o_keys, $3, $4) AS v ON true
            $overdue$,
            in_zone(p_rule), routine_of(p_rule, 'search'), routine_of(p_rule, 'verdict')
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
    'Rows that are due, whether or not they may go, among the first p_limit that a run looks at in each pass, how long ago the oldest time '
    'was, and whether these are all. Reads only.';

-- single_step: one batch of a run, with its progress in the ledger, in the caller's transaction. A batch that fails is tried
-- again, then halved down to a single row, which is recorded and passed over.
--# create function single_step
CREATE OR REPLACE FUNCTION single_step(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_run       run%ROWTYPE;
    v_progress  run_rule%ROWTYPE;
    v_passes    text[] := ARRAY(SELECT jsonb_array_elements_text(r.document -> 'passes') FROM rule AS r WHERE r.rule = p_rule);
    v_type      text := key_type_of(p_rule);
    v_search    text := format('SELECT cardinality(n.o_keys), n.o_after, n.o_keys[1]::text, n.o_keys::text FROM %s($1, $2, $3, $4, $5) AS '
        'n', routine_of(p_rule, 'search'));
    v_state     text;
    v_cutoff    timestamptz;
    v_pass      integer;
    v_after     text[];
    v_reached   text[];
    v_take      bigint;
    v_count     bigint;
    v_key       text;
    v_keys      text;
    v_members   text[];
    v_rows      bigint[];
    v_batch     record;
    v_sqlstate  text;
    v_message   text;
BEGIN
    v_state := begin_step(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    SELECT * INTO STRICT v_progress FROM run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule;
    v_take := least(v_progress.batch_families, setting_of(p_rule, 'batch_rows'), families_left(v_run, v_progress));
    IF v_take <= 0 THEN
        RETURN 'run_families reached';
    END IF;
    v_cutoff := cutoff_of(p_rule, v_run.as_of, seconds(v_run.options ->> 'retention'));
    v_state := take_locks(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;

    -- The cursor: the pass, and the place of the last row that was looked at in it.
    v_pass := coalesce(v_progress.cursor_key::integer, 1);
    v_after := v_progress.cursor_time::text[];
    LOOP
        EXECUTE v_search INTO v_count, v_reached, v_key, v_keys USING v_pass, v_after, v_take, v_run.as_of, v_cutoff;
        EXIT WHEN v_count > 0;
        IF v_pass = cardinality(v_passes) THEN
            RETURN 'nothing left';
        END IF;
        v_pass := v_pass + 1;
        v_after := NULL;
    END LOOP;
    IF v_progress.weigh > 0 AND v_count > 1 AND cardinality(v_progress.table_names) > 1 THEN
        EXECUTE format('SELECT v.o_keys::text[] FROM (%s) AS v', verdict_query(p_rule, format('%L::%s[]', v_keys, v_type)))
        INTO v_members
        USING v_pass, NULL, v_run.as_of, v_cutoff;
        EXECUTE format('SELECT %s(%L)', routine_of(p_rule, 'count'), v_members) INTO v_rows;
        v_state := lighten(p_run, p_rule, v_count, v_rows);
        IF v_state IS NOT NULL THEN
            RETURN v_state;
        END IF;
    END IF;

    BEGIN
        EXECUTE format(
            'SELECT b.o_families, b.o_members, b.o_rows, b.o_samples, b.o_skip_keys, b.o_skip_reasons FROM batch_single($1, $2, $3, '
            '%L::%s[], $4, $5) AS b',
            v_keys, v_type
        )
        INTO v_batch
        USING p_run, p_rule, v_pass, v_run.as_of, v_cutoff;
        PERFORM look_again(p_run);
        IF v_run.dry_run THEN
            -- The dry run is the real batch, rolled back.
            RAISE EXCEPTION 'dry run' USING ERRCODE = 'WD002';
        END IF;
    EXCEPTION
        WHEN SQLSTATE 'WD002' THEN
            NULL;
        WHEN query_canceled THEN
            RETURN 'cancelled';
        WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT;
    END;
    IF v_sqlstate IS NOT NULL THEN
        v_state := fail_step(p_run, p_rule, v_sqlstate, v_message, CASE WHEN v_count > 1 THEN v_count / 2 END);
        IF v_state IS NOT NULL THEN
            RETURN v_state;
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

    PERFORM end_step(
        p_run, p_rule, v_batch.o_families, v_batch.o_rows,
        CASE WHEN v_run.dry_run THEN v_batch.o_members ELSE '{}' END,
        v_count,
        CASE WHEN v_progress.halving AND v_count > 1 THEN v_count / 2
            ELSE least(v_progress.batch_families * 2, setting_of(p_rule, 'batch_rows')) END,
        v_progress.halving AND v_count > 1,
        v_reached::text, v_pass::text,
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
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule      rule%ROWTYPE;
    v_search    text := format('SELECT cardinality(n.o_keys), n.o_after, n.o_keys::text FROM %s($1, $2, $3, $4, $5) AS n',
        routine_of(p_rule, 'search'));
    v_names     text[];
    v_cutoff    timestamptz := cutoff_of(p_rule, p_as_of, seconds(p_options ->> 'retention'));
    v_size      bigint := setting_of(p_rule, 'batch_rows');
    v_limit     bigint := coalesce((p_options ->> 'run_families')::bigint, setting_of(p_rule, 'run_families'));
    v_pass      integer := 1;
    v_after     text[];
    v_reached   text[];
    v_count     bigint;
    v_looked    text;
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
        EXECUTE v_search INTO v_count, v_reached, v_looked USING v_pass, v_after, greatest(least(v_size, v_limit - v_families), 1),
            p_as_of, v_cutoff;
        v_more := v_count > 0 AND v_families >= v_limit;
        IF v_count = 0 OR v_more THEN
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
        v_after := v_reached;
        EXECUTE format('SELECT v.o_keys::text[] AS o_keys, v.o_oldest, v.o_skip_keys, v.o_skip_reasons FROM (%s) AS v',
            verdict_query(p_rule, quote_literal(v_looked)))
        INTO v_judged
        USING v_pass, NULL::text, p_as_of, v_cutoff;
        v_batches := v_batches + 1;
        v_families := v_families + cardinality(v_judged.o_keys);
        v_here := v_here + cardinality(v_judged.o_keys);
        v_since := least(v_since COLLATE "C", v_judged.o_oldest);
        v_oldest := least(v_oldest COLLATE "C", v_judged.o_oldest);
        v_first := (v_first || v_judged.o_keys)[1:10];
        v_samples := (v_samples || v_judged.o_keys)[1:10];
        v_keys := v_keys || v_judged.o_skip_keys;
        v_reasons := v_reasons || v_judged.o_skip_reasons;
        IF cardinality(v_rule.tables) > 1 THEN
            v_members := v_members || v_judged.o_keys;
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
    'What a run of a rule of single rows would delete and skip now, as one JSON document; passes tells why. Reads only; preview() calls '
    'it.';
