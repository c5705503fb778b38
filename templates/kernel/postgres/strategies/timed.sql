-- Rules by a stored removal time, or by age. Their verbs: cutoff, window, batch, count, in_window, undated; and, where one
-- transaction takes whole families, next, families, families_count. Times and keys of the application travel as text.

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
    EXECUTE format('SELECT %s($1, $2)::text', routine_of(p_rule, 'cutoff')) INTO v_cutoff USING v_run.as_of, seconds(v_run.options ->> 'retention');

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
            EXECUTE format('SELECT b.o_families, b.o_rows, b.o_skip_keys, b.o_skip_reasons FROM %s($1, %L, %L, $2) AS b', routine_of(p_rule, 'batch'), v_from, v_to)
            INTO v_batch
            USING p_run, v_run.as_of;
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
            EXECUTE format('SELECT %s(%L, %L)', routine_of(p_rule, 'in_window'), v_from, v_to) INTO v_keys;
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
        EXECUTE format('SELECT %s($1, NULL)::text[]', routine_of(p_rule, 'undated')) INTO v_keys USING p_as_of;
    END IF;
    v_reasons := array_fill('UNDATED_MEMBER'::text, ARRAY[cardinality(v_keys)]);
    EXECUTE format('SELECT %s($1, $2)::text', routine_of(p_rule, 'cutoff')) INTO v_cutoff USING p_as_of, seconds(p_options ->> 'retention');
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
        EXECUTE format(
            'SELECT c.o_families, c.o_rows, to_json(c.o_oldest) AS o_oldest, to_jsonb(c.o_roots) AS o_roots, c.o_skip_keys, c.o_skip_reasons FROM %s(%L, %L, $1) AS c',
            routine_of(p_rule, CASE WHEN v_by_family THEN 'families_count' ELSE 'count' END),
            CASE WHEN v_by_family THEN v_roots::text ELSE v_begin END,
            CASE WHEN v_by_family THEN v_cutoff ELSE v_to END
        )
        INTO v_counted
        USING p_as_of;
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
