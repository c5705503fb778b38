-- Rules of single rows: expiry, orphan, keep-last. Their verbs: next, judge, batch; undated, where rows without a time are
-- counted; and rows, where other rows go with them. The lists of keys that next, judge and batch pass on have a type for each
-- column of the key; here they travel as text.

-- single_keys: the columns o_k1, o_k2 ... of a verb's answer, as one array of lists.
--# create function single_keys
CREATE OR REPLACE FUNCTION single_keys(p_rule text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT format('ARRAY[%s]', string_agg(format('n.o_k%s::text', k.number), ', ' ORDER BY k.number))
        FROM rule AS r
        CROSS JOIN LATERAL generate_series(1, (r.document ->> 'key_columns')::integer) AS k(number)
        WHERE r.rule = p_rule
    );
END
$windrow$;
--# comment on function single_keys
COMMENT ON FUNCTION single_keys(text) IS
    'What selects the lists of keys of n, the answer of a verb of p_rule, one for each column of its key.';

-- literals: such lists as arguments of a call.
--# create function literals
CREATE OR REPLACE FUNCTION literals(p_lists text[])
RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT string_agg(quote_literal(l.list), ', ' ORDER BY l.position)
    FROM unnest(p_lists) WITH ORDINALITY AS l(list, position);
$windrow$;
--# comment on function literals
COMMENT ON FUNCTION literals(text[]) IS
    'Texts as literals between commas.';

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
    v_next      text := format('SELECT n.o_count, n.o_after, n.o_key, %s FROM %s($1, $2, $3, $4, $5) AS n', single_keys(p_rule), routine_of(p_rule, 'next'));
    v_state     text;
    v_retention bigint;
    v_pass      integer;
    v_after     text[];
    v_reached   text[];
    v_take      bigint;
    v_count     bigint;
    v_key       text;
    v_lists     text[];
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
    v_retention := seconds(v_run.options ->> 'retention');
    v_state := take_locks(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;

    -- The cursor: the pass, and the place of the last row that was looked at in it.
    v_pass := coalesce(v_progress.cursor_key::integer, 1);
    v_after := v_progress.cursor_time::text[];
    LOOP
        EXECUTE v_next INTO v_count, v_reached, v_key, v_lists USING v_pass, v_after, v_take, v_run.as_of, v_retention;
        EXIT WHEN v_count > 0;
        IF v_pass = cardinality(v_passes) THEN
            RETURN 'nothing left';
        END IF;
        v_pass := v_pass + 1;
        v_after := NULL;
    END LOOP;

    BEGIN
        EXECUTE format(
            'SELECT b.o_families, b.o_members, b.o_rows, b.o_samples, b.o_skip_keys, b.o_skip_reasons FROM %s($1, $2, %s, $3, $4) AS b',
            routine_of(p_rule, 'batch'), literals(v_lists)
        )
        INTO v_batch
        USING p_run, v_pass, v_run.as_of, v_retention;
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
        CASE WHEN v_progress.halving AND v_count > 1 THEN v_count / 2 ELSE least(v_progress.batch_families * 2, setting_of(p_rule, 'batch_rows')) END,
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
    'One batch of run p_run by a rule of single rows, and its progress in the ledger. Answers more, again, or why the run should end. run() calls it and commits.';

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
    v_next      text := format('SELECT n.o_count, n.o_after, %s FROM %s($1, $2, $3, $4, $5) AS n', single_keys(p_rule), routine_of(p_rule, 'next'));
    v_names     text[];
    v_retention bigint := seconds(p_options ->> 'retention');
    v_size      bigint := setting_of(p_rule, 'batch_rows');
    v_limit     bigint := coalesce((p_options ->> 'run_families')::bigint, setting_of(p_rule, 'run_families'));
    v_pass      integer := 1;
    v_after     text[];
    v_reached   text[];
    v_count     bigint;
    v_lists     text[];
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
        EXECUTE format('SELECT %s($1, NULL)', routine_of(p_rule, 'undated')) INTO v_keys USING p_as_of;
        v_reasons := array_fill('UNDATED_MEMBER'::text, ARRAY[cardinality(v_keys)]);
    END IF;
    LOOP
        EXECUTE v_next INTO v_count, v_reached, v_lists USING v_pass, v_after, greatest(least(v_size, v_limit - v_families), 1), p_as_of, v_retention;
        v_more := v_count > 0 AND v_families >= v_limit;
        IF v_count = 0 OR v_more THEN
            v_passes := v_passes || json_build_object('pass', v_names[v_pass], 'rows', v_here, 'oldest_end_time', v_since::json, 'sample_keys', v_first);
            EXIT WHEN v_more OR v_pass = cardinality(v_names);
            v_pass := v_pass + 1;
            v_after := NULL;
            v_here := 0;
            v_since := NULL;
            v_first := '{}';
            CONTINUE;
        END IF;
        v_after := v_reached;
        EXECUTE format(
            'SELECT j.o_keys, to_json(j.o_oldest)::text AS o_oldest, j.o_skip_keys, j.o_skip_reasons FROM %s($1, %s, $2, $3) AS j',
            routine_of(p_rule, 'judge'), literals(v_lists)
        )
        INTO v_judged
        USING v_pass, p_as_of, v_retention;
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
        EXECUTE format('SELECT %s(%L)', routine_of(p_rule, 'rows'), v_members) INTO STRICT v_rows;
    END IF;
    RETURN preview_document(
        p_rule, v_families, v_rows, v_oldest::json, to_jsonb(v_samples), v_keys, v_reasons, to_json(v_passes), v_limit, v_more, v_batches
    );
END
$windrow$;
--# comment on function single_preview
COMMENT ON FUNCTION single_preview(text, jsonb, timestamptz) IS
    'What a run of a rule of single rows would delete and skip now, as one JSON document; passes tells why. Reads only; preview() calls it.';
