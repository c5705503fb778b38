-- Rules by the end of families. Their verbs: next, judge, batch, rows, undated; and unlisted, where only scopes with a policy
-- are cleaned. Times and keys of the application travel as text.

-- next_roots: the next roots that a run has not looked at: their keys, the times by which they are searched, and their ends.
-- What a dry run has already counted is still there, but no longer a root to look at.
--# create function next_roots
CREATE OR REPLACE FUNCTION next_roots(
    p_rule      text,
    p_as_of     timestamptz,
    p_retention bigint,
    p_scope     text,
    p_time      text,
    p_key       text,
    p_take      bigint,
    p_gone      text[],
    OUT o_roots text[],
    OUT o_times text[],
    OUT o_ends  text[],
    OUT o_keys  jsonb
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule rule%ROWTYPE;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    EXECUTE format(
        'SELECT
            array_agg(n.root::text ORDER BY n.%1$I, n.root),
            array_agg(n.%1$I::text ORDER BY n.%1$I, n.root),
            array_agg(to_json(n.ended)::text ORDER BY n.%1$I, n.root),
            jsonb_agg(n.root ORDER BY n.%1$I, n.root)
        FROM (
            SELECT g.*
            FROM %2$s($1, $2, $3, %3$L, %4$L, $4 + cardinality($5)) AS g
            WHERE g.root::text NOT IN (SELECT x.id FROM unnest($5) AS x(id))
            ORDER BY g.%1$I, g.root
            LIMIT $4
        ) AS n',
        v_rule.document ->> 'along', routine_of(p_rule, 'next'), coalesce(p_time, '-infinity'), coalesce(p_key, v_rule.document ->> 'first_key')
    )
    INTO o_roots, o_times, o_ends, o_keys
    USING p_as_of, p_retention, p_scope, p_take, p_gone;
END
$windrow$;
--# comment on function next_roots
COMMENT ON FUNCTION next_roots(text, timestamptz, bigint, text, text, text, bigint, text[]) IS
    'The next p_take roots of p_rule behind p_time and p_key, oldest first: keys, times of the search, ends and keys as JSON has them; NULL where none is left. Reads only.';

-- end_time_step: one batch of a run, with its progress in the ledger, in the caller's transaction. A batch that fails is tried
-- again, then halved down to a single family, which is recorded and passed over. While the search goes on, a half that
-- succeeds is followed by a quarter, not by the double: it would only fail again.
--# create function end_time_step
CREATE OR REPLACE FUNCTION end_time_step(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_shared   boolean := (SELECT s.workers > 1 FROM spec AS s);
    v_run      run%ROWTYPE;
    v_progress run_rule%ROWTYPE;
    v_state    text;
    v_claim    text[];
    v_is_last  boolean := true;
    v_batch    record;
    v_take     bigint;
    v_roots    text[];
    v_times    text[];
    v_count    integer;
    v_sqlstate text;
    v_message  text;
BEGIN
    v_state := begin_step(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    SELECT * INTO STRICT v_progress FROM run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule;
    v_take := least(v_progress.batch_families, setting_of(p_rule, 'batch_families'), families_left(v_run, v_progress));
    IF v_take <= 0 THEN
        RETURN 'run_families reached';
    END IF;
    v_state := take_locks(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;

    IF v_shared THEN
        SELECT c.claimed, c.is_last INTO STRICT v_claim, v_is_last FROM run_claim AS c WHERE c.run_id = p_run AND c.rule = p_rule;
        IF cardinality(v_claim) = 0 THEN
            RETURN claim_roots(v_run, v_progress, v_take);
        END IF;
        v_roots := v_claim[1:v_take];
    ELSE
        SELECT n.o_roots, n.o_times
        INTO v_roots, v_times
        FROM next_roots(
            p_rule, v_run.as_of, seconds(v_run.options ->> 'retention'), v_run.options ->> 'scope',
            v_progress.cursor_time, v_progress.cursor_key, v_take, v_progress.gone
        ) AS n;
        IF v_roots IS NULL THEN
            RETURN 'nothing left';
        END IF;
    END IF;
    v_count := cardinality(v_roots);

    BEGIN
        EXECUTE format(
            'SELECT b.o_families, b.o_members::text[] AS o_members, b.o_rows, b.o_skip_keys::text[] AS o_skip_keys, b.o_skip_reasons
            FROM %s($1, %L, $2, $3, $4, false, %L) AS b',
            routine_of(p_rule, 'batch'), v_roots, v_progress.gone
        )
        INTO v_batch
        USING p_run, v_run.as_of, seconds(v_run.options ->> 'retention'), v_run.options ->> 'scope';
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
        PERFORM record_failure(p_run, p_rule, v_roots[1], v_sqlstate, v_message);
        SELECT
            0::bigint AS o_families, '{}'::text[] AS o_members,
            array_fill(0::bigint, ARRAY[cardinality(v_progress.table_rows)]) AS o_rows,
            v_roots AS o_skip_keys,
            ARRAY[CASE WHEN is_busy(v_sqlstate) THEN 'LOCKED' ELSE 'FAILED' END] AS o_skip_reasons
        INTO v_batch;
    END IF;

    IF v_shared THEN
        -- What was locked by another worker perhaps, or is linked to such a row, is looked at once more when all others are through.
        v_is_last := v_is_last OR NOT EXISTS (
            SELECT
            FROM run_sweep AS s
            JOIN run_sweep AS o ON o.sweep_id = s.sweep_id AND o.run_id <> s.run_id
            WHERE s.run_id = p_run
        );
        UPDATE run_claim AS c
        SET claimed = ARRAY(
                SELECT k.key
                FROM unnest(c.claimed[v_count + 1:]) WITH ORDINALITY AS k(key, position)
                WHERE k.key NOT IN (SELECT m.id FROM unnest(v_batch.o_members) AS m(id))
                ORDER BY k.position
            ),
            left_keys = c.left_keys || ARRAY(
                SELECT k.key
                FROM unnest(v_batch.o_skip_keys, v_batch.o_skip_reasons) AS k(key, reason)
                WHERE k.reason IN ('LOCKED', 'SHARED_MEMBER')
                  AND NOT v_is_last
            )
        WHERE c.run_id = p_run
          AND c.rule = p_rule;
        SELECT coalesce(array_agg(k.key), '{}'), coalesce(array_agg(k.reason), '{}')
        INTO v_batch.o_skip_keys, v_batch.o_skip_reasons
        FROM unnest(v_batch.o_skip_keys, v_batch.o_skip_reasons) AS k(key, reason)
        WHERE k.reason NOT IN ('LOCKED', 'SHARED_MEMBER')
           OR v_is_last;
    END IF;
    PERFORM end_step(
        p_run, p_rule, v_batch.o_families, v_batch.o_rows,
        CASE WHEN v_run.dry_run THEN v_batch.o_members ELSE '{}' END,
        CASE WHEN v_progress.halving AND v_count > 1 THEN v_count / 2 ELSE least(v_progress.batch_families * 2, setting_of(p_rule, 'batch_families')) END,
        v_progress.halving AND v_count > 1,
        -- The claim has moved the cursor of a worker already.
        CASE WHEN v_shared THEN v_progress.cursor_time ELSE v_times[v_count] END,
        CASE WHEN v_shared THEN v_progress.cursor_key ELSE v_roots[v_count] END,
        v_batch.o_skip_keys, v_batch.o_skip_reasons
    );
    RETURN 'more';
END
$windrow$;
--# comment on function end_time_step
COMMENT ON FUNCTION end_time_step(bigint, text) IS
    'One batch of run p_run by the end of families, and its progress in the ledger. Answers more, again, or why the run should end. run() calls it and commits.';

-- end_time_preview: the batches of a run, judged but not locked and not deleted.
--# create function end_time_preview
CREATE OR REPLACE FUNCTION end_time_preview(p_rule text, p_options jsonb, p_as_of timestamptz)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule      rule%ROWTYPE;
    v_retention bigint := seconds(p_options ->> 'retention');
    v_scope     text := p_options ->> 'scope';
    v_size      bigint := setting_of(p_rule, 'batch_families');
    v_limit     bigint := coalesce((p_options ->> 'run_families')::bigint, setting_of(p_rule, 'run_families'));
    v_judged    record;
    v_next      record;
    v_time      text := p_options ->> 'from';
    v_key       text;
    v_gone      text[] := '{}';
    v_members   text[] := '{}';
    v_families  bigint := 0;
    v_batches   bigint := 0;
    v_oldest    text;  -- as JSON has it, in one form, which sorts as the times do
    v_samples   jsonb := '[]';
    v_keys      text[] := '{}';
    v_reasons   text[];
    v_rows      bigint[];
    v_more      boolean := false;
    v_unlisted  bigint;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    IF NOT p_options ? 'from' THEN
        EXECUTE format('SELECT %s($1, $2)::text[]', routine_of(p_rule, 'undated')) INTO v_keys USING p_as_of, v_scope;
    END IF;
    v_reasons := array_fill('UNDATED_MEMBER'::text, ARRAY[cardinality(v_keys)]);
    LOOP
        SELECT * INTO v_next FROM next_roots(p_rule, p_as_of, v_retention, v_scope, v_time, v_key, greatest(least(v_size, v_limit - v_families), 1), v_gone);
        EXIT WHEN v_next.o_roots IS NULL;
        IF v_families >= v_limit THEN
            v_more := true;
            EXIT;
        END IF;
        v_time := v_next.o_times[cardinality(v_next.o_times)];
        v_key := v_next.o_roots[cardinality(v_next.o_roots)];
        EXECUTE format(
            'SELECT j.o_families, j.o_members::text[] AS o_members, j.o_other_roots::text[] AS o_other_roots, j.o_skip_keys::text[] AS o_skip_keys, j.o_skip_reasons
            FROM %s(%L, $1, $2, $3, false, false, %L) AS j',
            routine_of(p_rule, 'judge'), v_next.o_roots, v_gone
        )
        INTO v_judged
        USING p_as_of, v_retention, v_scope;
        v_batches := v_batches + 1;
        v_families := v_families + v_judged.o_families;
        v_members := v_members || v_judged.o_members;
        v_gone := v_gone || CASE WHEN (v_rule.document ->> 'closed')::boolean THEN v_judged.o_other_roots ELSE v_judged.o_members END;
        v_keys := v_keys || v_judged.o_skip_keys;
        v_reasons := v_reasons || v_judged.o_skip_reasons;
        -- Which began first need not have ended first.
        SELECT
            least(v_oldest COLLATE "C", min(r.ended COLLATE "C")),
            jsonb_path_query_array(v_samples || coalesce(jsonb_agg(v_next.o_keys -> (r.position - 1)::integer ORDER BY r.position), '[]'), '$[0 to 9]')
        INTO v_oldest, v_samples
        FROM unnest(v_next.o_roots, v_next.o_ends) WITH ORDINALITY AS r(root, ended, position)
        WHERE r.root IN (SELECT m.id FROM unnest(v_judged.o_members) AS m(id));
    END LOOP;
    EXECUTE format('SELECT %s(%L)', routine_of(p_rule, 'rows'), v_members) INTO STRICT v_rows;
    IF (v_rule.document ->> 'opt_in')::boolean AND NOT p_options ? 'from' THEN
        EXECUTE format('SELECT %s($1, $2)', routine_of(p_rule, 'unlisted')) INTO v_unlisted USING p_as_of, v_retention;
    END IF;
    RETURN preview_document(
        p_rule, v_families, v_rows, v_oldest::json, v_samples, v_keys, v_reasons, NULL, v_limit, v_more, v_batches, v_unlisted
    );
END
$windrow$;
--# comment on function end_time_preview
COMMENT ON FUNCTION end_time_preview(text, jsonb, timestamptz) IS
    'What a run of a rule by the end of families would delete and skip now, as one JSON document. Reads only; preview() calls it.';
