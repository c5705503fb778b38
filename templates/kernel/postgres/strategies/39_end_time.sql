-- Rules by the end of families. Their verbs: scope, next, members, delete, count, undated; and where the document says so, met,
-- kept, newest, unlisted. Times and keys of the application travel as text, but for those of a batch.

-- end_time_step: one batch of a run, with its progress in the ledger, in the caller's transaction. A batch that fails is tried
-- again, then halved down to a single family, which is recorded and skipped. While the search continues, a half that
-- succeeds is followed by a quarter, not by the double: it would only fail again.
--# create function end_time_step
CREATE OR REPLACE FUNCTION end_time_step(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_type      text := (SELECT r.document ->> 'id_type' FROM rule AS r WHERE r.rule = p_rule);
    v_shared   boolean := (SELECT s.workers > 1 FROM spec AS s);
    v_run      run%ROWTYPE;
    v_progress run_rule%ROWTYPE;
    v_state    text;
    v_claim    text[];
    v_batch    record;
    v_take     bigint;
    v_roots    text[];
    v_last     text;
    v_key      text;
    v_count    integer;
    v_members  text[];
    v_rows     bigint[];
    v_sqlstate text;
    v_message  text;
    v_context  text;
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
        SELECT c.claimed INTO STRICT v_claim FROM run_claim AS c WHERE c.run_id = p_run AND c.rule = p_rule;
        IF v_claim = '{}' THEN
            RETURN claim_more(v_run, v_progress, v_take);
        END IF;
        v_roots := v_claim[1:v_take];
    ELSE
        IF v_progress.ahead_at >= cardinality(v_progress.ahead_keys) THEN
            v_progress := search_ahead(v_run, v_progress, v_take);
        END IF;
        v_roots := v_progress.ahead_keys[v_progress.ahead_at + 1:v_progress.ahead_at + v_take];
        IF v_roots = '{}' THEN
            RETURN 'nothing left';
        END IF;
        v_last := v_progress.ahead_times[v_progress.ahead_at + cardinality(v_roots)];
    END IF;
    v_count := cardinality(v_roots);
    IF v_progress.weigh > 0 AND v_count > 1 THEN
        EXECUTE format(
            'SELECT j.o_members::text[] FROM judge($1, %L::%s[], $2, $3, $4, false, false, %L) AS j',
            v_roots, v_type, v_progress.gone
        )
        INTO v_members
        USING p_rule, v_run.as_of, seconds(v_run.options ->> 'retention'), v_run.options ->> 'scope';
        EXECUTE format('SELECT %s(%L)', routine_of(p_rule, 'count'), v_members) INTO v_rows;
        v_state := lighten(p_run, p_rule, v_count, v_rows);
        IF v_state IS NOT NULL THEN
            RETURN v_state;
        END IF;
    END IF;

    BEGIN
        EXECUTE format(
            'SELECT
                b.o_families, CASE WHEN $6 THEN b.o_members::text[] END AS o_members, b.o_rows,
                b.o_skip_keys::text[] AS o_skip_keys, b.o_skip_reasons
            FROM batch_end_time($1, $5, $7::%1$s[], $2, $3, $4, false, $8::%1$s[]) AS b',
            v_type
        )
        INTO v_batch
        USING
            p_run, v_run.as_of, seconds(v_run.options ->> 'retention'), v_run.options ->> 'scope', p_rule, v_run.dry_run OR v_shared,
            v_roots, v_progress.gone;
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
        v_state := fail_step(p_run, p_rule, v_sqlstate, v_message, v_context, CASE WHEN v_count > 1 THEN v_count / 2 END);
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
        SELECT d.o_skip_keys, d.o_skip_reasons, d.o_time, d.o_key
        INTO v_batch.o_skip_keys, v_batch.o_skip_reasons, v_last, v_key
        FROM claim_done(
            p_run, p_rule,
            ARRAY(
                SELECT k.key
                FROM unnest(v_claim[v_count + 1:]) WITH ORDINALITY AS k(key, position)
                WHERE k.key NOT IN (SELECT m.id FROM unnest(v_batch.o_members) AS m(id))
                ORDER BY k.position
            ),
            v_batch.o_skip_keys, v_batch.o_skip_reasons
        ) AS d;
    ELSE
        v_key := v_roots[v_count];
    END IF;
    PERFORM end_step(
        p_run, p_rule, v_batch.o_families, v_batch.o_rows,
        CASE WHEN v_run.dry_run THEN v_batch.o_members ELSE '{}' END,
        v_count,
        CASE WHEN v_progress.halving AND v_count > 1 THEN v_count / 2
            ELSE least(v_progress.batch_families * 2, setting_of(p_rule, 'batch_families')) END,
        v_progress.halving AND v_count > 1,
        v_last,
        v_key,
        v_batch.o_skip_keys, v_batch.o_skip_reasons
    );
    RETURN 'more';
END
$windrow$;
--# comment on function end_time_step
COMMENT ON FUNCTION end_time_step(bigint, text) IS
    'One batch of run p_run by the end of families, and its progress in the ledger. Answers more, again, or why the run should end. run() '
    'calls it and commits.';

-- search_ahead: the roots of the next batch of a run, behind its cursor. Where only scopes with a retention of their own are cleaned, a
-- search asks all of them: as many scopes as there are, so many roots it finds at once, and writes down. Whether they may be
-- deleted, each
-- batch judges anew. A dry run searches for each batch, besides what it counted already.
--# create function search_ahead
CREATE OR REPLACE FUNCTION search_ahead(p_run run, p_progress run_rule, p_take bigint)
RETURNS run_rule
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    c_most     constant bigint := 10000;
    v_rule     constant text := p_progress.rule;
    v_progress run_rule%ROWTYPE := p_progress;
    v_scopes   bigint := 0;
BEGIN
    IF NOT p_run.dry_run AND (SELECT (r.document ->> 'opt_in')::boolean FROM rule AS r WHERE r.rule = v_rule) THEN
        EXECUTE format('SELECT count(*) FROM %s($1, NULL, NULL)', routine_of(v_rule, 'scope')) INTO v_scopes USING p_run.as_of;
    END IF;
    SELECT coalesce(n.o_roots, '{}'), coalesce(n.o_times, '{}'), 0
    INTO v_progress.ahead_keys, v_progress.ahead_times, v_progress.ahead_at
    FROM next_roots(
        v_rule, p_run.as_of, seconds(p_run.options ->> 'retention'), p_run.options ->> 'scope',
        p_progress.cursor_time, p_progress.cursor_key, greatest(p_take, least(v_scopes, c_most)), p_progress.gone, false,
        CASE WHEN p_progress.around THEN p_progress.start_time END, p_progress.start_key
    ) AS n;
    IF cardinality(v_progress.ahead_keys) > p_take THEN
        UPDATE run_rule AS r
        SET ahead_keys = v_progress.ahead_keys,
            ahead_times = v_progress.ahead_times,
            ahead_at = 0
        WHERE r.run_id = p_run.run_id
          AND r.rule = v_rule;
    END IF;
    RETURN v_progress;
END
$windrow$;
--# comment on function search_ahead
COMMENT ON FUNCTION search_ahead(run, run_rule, bigint) IS
    'p_progress with the next p_take roots or more behind its cursor; with more, they are written down for the next batches. Without any, '
    'nothing is left.';

-- end_time_idle: whether nothing is due.
--# create function end_time_idle
CREATE OR REPLACE FUNCTION end_time_idle(p_rule text, p_as_of timestamptz)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT CASE WHEN n.o_roots IS NULL THEN 0 END
        FROM next_roots(p_rule, p_as_of, NULL, NULL, NULL, NULL, 1, '{}', false) AS n
    );
END
$windrow$;
--# comment on function end_time_idle
COMMENT ON FUNCTION end_time_idle(text, timestamptz) IS
    '0 where no root of p_rule is due at p_as_of; else NULL. Reads only.';

-- end_time_preview: the batches of a run, judged but not locked and not deleted.
--# create function end_time_preview
CREATE OR REPLACE FUNCTION end_time_preview(p_rule text, p_options jsonb, p_as_of timestamptz)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
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
        SELECT * INTO v_next FROM next_roots(p_rule, p_as_of, v_retention, v_scope, v_time, v_key,
            greatest(least(v_size, v_limit - v_families), 1), v_gone, true);
        EXIT WHEN v_next.o_roots IS NULL;
        IF v_families >= v_limit THEN
            v_more := true;
            EXIT;
        END IF;
        v_time := v_next.o_times[cardinality(v_next.o_times)];
        v_key := v_next.o_roots[cardinality(v_next.o_roots)];
        EXECUTE format(
            'SELECT j.o_families, j.o_members::text[] AS o_members, j.o_other_roots::text[] AS o_other_roots, j.o_skip_keys::text[] AS '
            'o_skip_keys, j.o_skip_reasons
            FROM judge($4, %L::%s[], $1, $2, $3, false, false, %L) AS j',
            v_next.o_roots, v_rule.document ->> 'id_type', v_gone
        )
        INTO v_judged
        USING p_as_of, v_retention, v_scope, p_rule;
        v_batches := v_batches + 1;
        v_families := v_families + v_judged.o_families;
        v_members := v_members || v_judged.o_members;
        v_gone := v_gone || CASE WHEN (v_rule.document ->> 'closed')::boolean THEN v_judged.o_other_roots ELSE v_judged.o_members END;
        v_keys := v_keys || v_judged.o_skip_keys;
        v_reasons := v_reasons || v_judged.o_skip_reasons;
        -- The one that began first need not have ended first. Readers of JSON round a number that is longer than theirs, and nobody wants
        -- the blanks of a char.
        SELECT
            least(v_oldest COLLATE "C", min(r.ended COLLATE "C")),
            jsonb_path_query_array(v_samples || coalesce(jsonb_agg(
                CASE
                    WHEN v_rule.document ->> 'id_type' IN ('numeric', 'bpchar') THEN to_jsonb(r.root)
                    ELSE v_next.o_keys -> (r.position - 1)::integer
                END
                ORDER BY r.position), '[]'), '$[0 to 9]')
        INTO v_oldest, v_samples
        FROM unnest(v_next.o_roots, v_next.o_ends) WITH ORDINALITY AS r(root, ended, position)
        WHERE r.root IN (SELECT m.id FROM unnest(v_judged.o_members) AS m(id));
    END LOOP;
    EXECUTE format('SELECT %s(%L)', routine_of(p_rule, 'count'), v_members) INTO STRICT v_rows;
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

-- end_time_named: deletes named families through the same batch as a run, in the caller's transaction, unless something keeps them.
-- p_retention: the least that counts, which the minimum exceeds; without it, their age does not matter. Families that
-- share a member are deleted together if all of them are named.
--# create function end_time_named
CREATE OR REPLACE FUNCTION end_time_named(
    p_run bigint, p_rule text, p_keys text[], p_as_of timestamptz, p_retention bigint,
    OUT o_families bigint, OUT o_rows bigint[], OUT o_skipped text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_type    text := (SELECT r.document ->> 'id_type' FROM rule AS r WHERE r.rule = p_rule);
    v_keys    text[];
    v_key     text;
    v_is_root boolean;
    v_roots   text[] := '{}';
    v_skipped text[];
    v_reasons text[];
BEGIN
    EXECUTE format('SELECT %L::%s[]::text[]', p_keys, v_type) INTO v_keys;
    FOREACH v_key IN ARRAY v_keys LOOP
        EXECUTE format('SELECT m.o_root[1] FROM %s(%L, false) AS m', routine_of(p_rule, 'members'), ARRAY[v_key]) INTO v_is_root;
        v_roots := v_roots || CASE WHEN v_is_root THEN ARRAY[v_key] END;
    END LOOP;
    IF v_roots <> '{}' THEN
        EXECUTE format(
            'SELECT b.o_families, b.o_rows, b.o_skip_keys::text[], b.o_skip_reasons '
            'FROM batch_end_time($1, $3, %L::%2$s[], $2, $4, NULL, true, ''{}''::%2$s[]) AS b',
            v_roots, v_type
        )
        INTO o_families, o_rows, v_skipped, v_reasons
        USING p_run, p_as_of, p_rule, p_retention;
    END IF;
    o_skipped := ARRAY(
        SELECT CASE WHEN k.key <> ALL (v_roots) THEN 'NOT_A_ROOT' ELSE v_reasons[array_position(v_skipped, k.key)] END
        FROM unnest(v_keys) WITH ORDINALITY AS k(key, place)
        ORDER BY k.place
    );
END
$windrow$;
--# comment on function end_time_named
COMMENT ON FUNCTION end_time_named(bigint, text, text[], timestamptz, bigint) IS
    'Deletes named families that are final and unheld, and old enough for p_retention, unless that is NULL. o_skipped: why each is kept. '
    'purge_one() calls it.';

-- end_time_keeper: which family keeps one that is kept because others share a row with it, and why that family is kept.
--# create function end_time_keeper
CREATE OR REPLACE FUNCTION end_time_keeper(p_rule text, p_key text, p_named text[], p_as_of timestamptz, p_retention bigint)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_type    text;
    v_meets   boolean;
    v_named   text[];
    v_level   text[];
    v_seen    text[] := '{}';
    v_roots   text[] := '{}';  -- of all that is linked to it, the nearest first
    v_ids     text[];
    v_root    boolean[];
    v_linked  text[];
    v_met     text[];
    v_skipped text[];
    v_reasons text[];
BEGIN
    SELECT r.document ->> 'id_type', coalesce((r.document -> 'meets')::boolean, false) INTO v_type, v_meets
    FROM rule AS r
    WHERE r.rule = p_rule;
    EXECUTE format('SELECT ARRAY[%L::%2$s::text], %3$L::%2$s[]::text[]', p_key, v_type, p_named) INTO v_level, v_named;
    v_level := as_there(p_rule, v_level);
    v_named := as_there(p_rule, v_named);
    WHILE v_level <> '{}' LOOP
        EXECUTE format(
            'SELECT coalesce(m.o_ids::text[], ''{}''), m.o_root, m.o_upper::text[] || m.o_lower::text[] FROM %s(%L, false) AS m',
            routine_of(p_rule, 'members'), v_level
        )
        INTO v_ids, v_root, v_linked;
        IF v_meets THEN
            EXECUTE format('SELECT array_agg(s.other::text) FROM %s(%L) AS s', routine_of(p_rule, 'met'), v_ids) INTO v_met;
        END IF;
        v_roots := v_roots || ARRAY(SELECT m.id FROM unnest(v_ids, v_root) AS m(id, root) WHERE m.root ORDER BY m.id COLLATE "C");
        v_seen := v_seen || v_level;
        v_level := ARRAY(SELECT DISTINCT l.id FROM unnest(as_there(p_rule, v_linked || v_met)) AS l(id) WHERE l.id <> ALL (v_seen));
    END LOOP;
    EXECUTE format(
        'SELECT j.o_skip_keys::text[], j.o_skip_reasons '
        'FROM judge($1, %L::%2$s[], $2, $3, NULL, true, true, ''{}''::%2$s[]) AS j',
        v_roots, v_type
    )
    INTO v_skipped, v_reasons
    USING p_rule, p_as_of, p_retention;
    RETURN (
        SELECT json_build_object('key', o.key, 'reason', o.reason)
        FROM (
            SELECT r.key, r.place, CASE
                WHEN s.reason <> 'SHARED_MEMBER' THEN s.reason
                WHEN r.key <> ALL (v_named) THEN 'NOT_NAMED'
            END AS reason
            FROM unnest(v_roots) WITH ORDINALITY AS r(key, place)
            LEFT JOIN unnest(v_skipped, v_reasons) AS s(key, reason) ON s.key = r.key
        ) AS o
        WHERE o.reason IS NOT NULL
        ORDER BY o.reason = 'NOT_NAMED', o.place
        LIMIT 1
    );
END
$windrow$;
--# comment on function end_time_keeper
COMMENT ON FUNCTION end_time_keeper(text, text, text[], timestamptz, bigint) IS
    'Of the families that share rows with that of p_key, the nearest that stays for a reason of its own, with the reason; else the nearest '
    'that a purge of p_named does not name. purge_end() calls it.';

-- end_time_age_of: how long ago a root ended.
--# create function end_time_age_of
CREATE OR REPLACE FUNCTION end_time_age_of(p_rule text, p_key text)
RETURNS double precision
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_zone text := (SELECT coalesce(r.document ->> 'zone', 'UTC') FROM rule AS r WHERE r.rule = p_rule);
    v_age  double precision;
BEGIN
    EXECUTE format(
        'SELECT extract(epoch FROM clock_timestamp() AT TIME ZONE $1 - m.o_ended[1]) FROM %s(%L, false) AS m WHERE '
        'isfinite(m.o_ended[1])',
        routine_of(p_rule, 'members'), ARRAY[p_key]
    )
    INTO v_age
    USING v_zone;
    RETURN v_age;
END
$windrow$;
--# comment on function end_time_age_of
COMMENT ON FUNCTION end_time_age_of(text, text) IS
    'Seconds since the root with this key ended; NULL where it is gone or has no end. Reads only.';

-- end_time_finds: whether a rule could ever delete the row with a key, which is there or not: it is a candidate, or belongs to
-- the family of one.
--# create function end_time_finds
CREATE OR REPLACE FUNCTION end_time_finds(p_rule text, p_key text, p_there boolean)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_members text := routine_of(p_rule, 'members');
    v_above   text;  -- what lists the rows right above given ones
    v_seen    text[] := '{}';
    v_level   text[] := as_there(p_rule, ARRAY[p_key]);
    v_found   boolean := false;
BEGIN
    SELECT CASE
        WHEN r.document ? 'above' THEN format('SELECT a.id FROM unnest(%s(%%1$L)) AS a(id)', routine_of(p_rule, 'above'))
        WHEN r.document ? 'linked' THEN format(
            'SELECT l.upper FROM %1$s(%%1$L, false) AS m, '
            'unnest(as_there(%2$L, m.o_upper::text[]), as_there(%2$L, m.o_lower::text[])) AS l(upper, lower) WHERE l.lower = ANY (%%1$L)',
            v_members, p_rule
        )
    END
    INTO v_above
    FROM rule AS r
    WHERE r.rule = p_rule;
    LOOP
        EXECUTE format('SELECT coalesce(true = ANY (m.o_root), false) FROM %s(%L, false) AS m', v_members, v_level) INTO v_found;
        v_seen := v_seen || v_level;
        EXIT WHEN v_found OR v_above IS NULL OR v_level = '{}' OR NOT p_there;
        EXECUTE format('SELECT ARRAY(SELECT n.id::text FROM (%s) AS n(id))', format(v_above, v_level)) INTO v_level;
        v_level := ARRAY(SELECT DISTINCT n.id FROM unnest(as_there(p_rule, v_level)) AS n(id) WHERE n.id <> ALL (v_seen));
    END LOOP;
    RETURN v_found;
END
$windrow$;
--# comment on function end_time_finds
COMMENT ON FUNCTION end_time_finds(text, text, boolean) IS
    'Whether p_rule could ever delete the row with this key: it is a root, or below one. Reads only; row_of_key() calls it.';
