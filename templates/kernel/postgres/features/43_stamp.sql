-- Sets removal times, on demand. The verbs of a rule: stamp_next, stamp_rows, stamp_set; with the name of what is stamped
-- besides the families of the rule in front of them, where it is not these.

-- stamps: what has removal times to set. whole: the name that distinguishes it from all others; first_key: before all keys.
--# create view stamps
CREATE OR REPLACE VIEW stamps AS
SELECT
    r.rule, s.said ->> 'of' AS of, concat_ws('.', r.rule, s.said ->> 'of') AS whole, concat(s.said ->> 'of' || '_', 'stamp_') AS verb,
    ARRAY(SELECT jsonb_array_elements_text(s.said -> 'tables')) AS tables, s.said ->> 'first_key' AS first_key,
    r.position * 1000 + s.place AS place
FROM rule AS r
CROSS JOIN LATERAL jsonb_array_elements(r.document -> 'stamps') WITH ORDINALITY AS s(said, place);
--# comment on view stamps
COMMENT ON VIEW stamps IS
    'What has removal times to set: of (NULL: the families of the rule); whole: its name; verb: what follows the rule in the names of '
    'its routines; tables: those whose rows are set; first_key: a value before all keys of its root table.';

-- check_stamp_options: the options of stamp(), checked before anything happens. Answers the rule.
--# create function check_stamp_options
CREATE OR REPLACE FUNCTION check_stamp_options(p_options jsonb)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rules  constant text[] := ARRAY(SELECT r.rule FROM rule AS r WHERE r.document ? 'stamps' ORDER BY r.position);
    v_others constant text[] := ARRAY(SELECT s.whole FROM stamps AS s WHERE s.of IS NOT NULL ORDER BY s.place);
    v_rule  text;
    v_key   text;
    v_to    timestamptz;
BEGIN
    PERFORM check_options(p_options,
        ARRAY['rule', 'to', 'calculated', 'default', 'clear', 'key', 'missing', 'all', 'hierarchical', 'chunk', 'time_budget',
        'dry_run'] || CASE WHEN v_others <> '{}' THEN ARRAY['of'] END);
    v_rule := coalesce(p_options ->> 'rule', CASE WHEN cardinality(v_rules) = 1 THEN v_rules[1] END);
    IF v_rule IS NULL OR v_rule <> ALL (v_rules) THEN
        RAISE EXCEPTION 'no such rule with removal times to set: %', quote_nullable(v_rule)
            USING ERRCODE = '22023', HINT = format('The rules are: %s.', array_to_string(v_rules, ', '));
    END IF;
    IF num_nonnulls(p_options -> 'to', p_options -> 'calculated', p_options -> 'clear') <> 1 THEN
        RAISE EXCEPTION 'not one of to, calculated and clear'
            USING ERRCODE = '22023', HINT = 'Write {"to": "2027-01-01T00:00:00Z"}, {"calculated": "end"}, {"calculated": "start"} or '
                '{"clear": true}.';
    END IF;
    IF num_nonnulls(p_options -> 'key', p_options -> 'missing', p_options -> 'all') <> 1 THEN
        RAISE EXCEPTION 'not one of key, missing and all'
            USING ERRCODE = '22023', HINT = 'Write {"key": [17, 18]} for some, {"missing": true} for those without a removal time, or '
                '{"all": true}.';
    END IF;
    IF p_options ? 'of' AND (v_rule || '.' || (p_options ->> 'of') = ANY (v_others)) IS NOT TRUE THEN
        RAISE EXCEPTION 'rule % has no such removal times to set: %', v_rule, quote_nullable(p_options ->> 'of')
            USING ERRCODE = '22023', HINT = format('The option of is the last part of one of these: %s.', array_to_string(v_others, ', '));
    END IF;
    IF p_options ? 'to' THEN
        v_to := instant_of(p_options ->> 'to');
        -- Whole seconds of four-digit years: what every server stores alike.
        IF v_to IS NULL OR v_to < '1970-01-02 00:00:00' OR v_to >= '9999-01-01 00:00:00' OR v_to <> date_trunc('second', v_to) THEN
            RAISE EXCEPTION 'to is not an instant in whole seconds: %', quote_nullable(p_options ->> 'to')
                USING ERRCODE = '22023', HINT = 'Write it like 2027-01-01T00:00:00Z; without a zone it is UTC.';
        END IF;
    END IF;
    IF p_options ? 'calculated' AND (p_options ->> 'calculated' IN ('start', 'end')) IS NOT TRUE THEN
        RAISE EXCEPTION 'calculated is neither start nor end: %', quote_nullable(p_options ->> 'calculated')
            USING ERRCODE = '22023', HINT = 'Say from when the time to live is counted: {"calculated": "end"}.';
    END IF;
    IF p_options ? 'default' AND (NOT p_options ? 'calculated' OR seconds(p_options ->> 'default') IS NULL) THEN
        RAISE EXCEPTION 'default is not the time to live of a calculated removal time: %', quote_nullable(p_options ->> 'default')
            USING ERRCODE = '22023', HINT = 'Write it like {"calculated": "end", "default": "30d"}: for definitions without a time to '
                'live.';
    END IF;
    FOR v_key IN SELECT f.name FROM unnest(ARRAY['clear', 'missing', 'all']) AS f(name) LOOP
        IF p_options ? v_key AND p_options -> v_key <> 'true' THEN
            RAISE EXCEPTION '% is not true: %', v_key, p_options -> v_key
                USING ERRCODE = '22023', HINT = format('Write {"%s": true}, or leave it out.', v_key);
        END IF;
    END LOOP;
    FOR v_key IN SELECT f.name FROM unnest(ARRAY['hierarchical', 'dry_run']) AS f(name) LOOP
        IF p_options ? v_key AND jsonb_typeof(p_options -> v_key) <> 'boolean' THEN
            RAISE EXCEPTION '% is not true or false: %', v_key, p_options -> v_key
                USING ERRCODE = '22023', HINT = format('Write {"%s": true} or {"%s": false}.', v_key, v_key);
        END IF;
    END LOOP;
    IF p_options ? 'chunk' AND ((p_options ->> 'chunk') ~ '^[1-9][0-9]{0,3}$') IS NOT TRUE THEN
        RAISE EXCEPTION 'chunk is not a number from 1 to 9999: %', quote_nullable(p_options ->> 'chunk')
            USING ERRCODE = '22023', HINT = 'Write it like {"chunk": 200}: so many families in one transaction.';
    END IF;
    IF p_options ? 'time_budget' AND coalesce(seconds(p_options ->> 'time_budget'), 0) <= 0 THEN
        RAISE EXCEPTION 'time_budget is not a duration above 0: %', quote_nullable(p_options ->> 'time_budget')
            USING ERRCODE = '22023', HINT = 'Write it like {"time_budget": "10m"}.';
    END IF;
    IF p_options ? 'key' THEN
        IF jsonb_typeof(p_options -> 'key') <> 'array' OR jsonb_array_length(p_options -> 'key') = 0 THEN
            RAISE EXCEPTION 'the option key is not a list of keys'
                USING ERRCODE = '22023', HINT = 'Write it like {"key": [17, 18]}.';
        END IF;
        FOR v_key IN SELECT k.key FROM jsonb_array_elements_text(p_options -> 'key') AS k(key) LOOP
            PERFORM check_key(v_rule || coalesce('.' || (p_options ->> 'of'), ''), v_key);
        END LOOP;
    END IF;
    RETURN v_rule;
END
$windrow$;
--# comment on function check_stamp_options
COMMENT ON FUNCTION check_stamp_options(jsonb) IS
    'Raises 22023 with a hint for an option of stamp() that makes no sense; answers the rule.';

-- stamped_by: what the routines of a verb set, by its name that distinguishes it from all others.
--# create function stamped_by
CREATE OR REPLACE FUNCTION stamped_by(p_rule text, p_verb text)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT s.whole FROM stamps AS s WHERE s.rule = p_rule AND s.verb = p_verb;
$windrow$;
--# comment on function stamped_by
COMMENT ON FUNCTION stamped_by(text, text) IS
    'The rule, or rule.of, whose rows the routines with p_verb in their names set.';

-- stamp_chosen: the rows that the options of a stamp name.
--# create function stamp_chosen
CREATE OR REPLACE FUNCTION stamp_chosen(p_rule text, p_verb text, p_options jsonb)
RETURNS TABLE (id text, family text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_named    text[] := ARRAY(SELECT k.key FROM jsonb_array_elements_text(coalesce(p_options -> 'key', '[]')) AS k(key));
    v_ids      text[];
    v_families text[];
BEGIN
    EXECUTE format(
        'SELECT array_agg(m.id::text), array_agg(m.family::text) FROM %s(''{}'', %L, false) AS m WHERE m.named',
        routine_of(p_rule, p_verb || 'rows'), v_named
    )
    INTO v_ids, v_families;
    v_families := as_there(stamped_by(p_rule, p_verb), v_families);
    RETURN QUERY SELECT n.id, n.family FROM unnest(v_ids, v_families) AS n(id, family);
END
$windrow$;
--# comment on function stamp_chosen
COMMENT ON FUNCTION stamp_chosen(text, text, jsonb) IS
    'Those of the rows that the options of a stamp name that are there, each with the key of its family.';

-- stamp_todo: the next families or instances behind one of the rows that lead to them.
--# create function stamp_todo
CREATE OR REPLACE FUNCTION stamp_todo(
    p_rule text, p_verb text, p_options jsonb, p_after text, p_first text, p_limit bigint, OUT o_last text, OUT o_keys text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_whole boolean := coalesce((p_options ->> 'hierarchical')::boolean, true);
BEGIN
    IF p_options ? 'key' THEN
        -- Where several rows lead to one family, the root does, or else the first of them.
        SELECT max(n.lead), coalesce(array_agg(n.key ORDER BY n.lead), '{}')
        INTO o_last, o_keys
        FROM (
            SELECT l.key, l.lead
            FROM (
                SELECT m.key, coalesce(min(m.id) FILTER (WHERE m.id = m.key), min(m.id)) AS lead
                FROM (
                    SELECT f.id COLLATE "C" AS id, CASE WHEN v_whole THEN f.family ELSE f.id END AS key
                    FROM stamp_chosen(p_rule, p_verb, p_options) AS f
                ) AS m
                GROUP BY m.key
            ) AS l
            WHERE p_after IS NULL OR l.lead > p_after
            ORDER BY l.lead
            LIMIT p_limit
        ) AS n;
    ELSE
        EXECUTE format(
            'SELECT n.o_last::text, n.o_keys::text[] FROM %s($1, $2, %L, $3) AS n',
            routine_of(p_rule, p_verb || 'next'), coalesce(p_after, p_first)
        )
        INTO o_last, o_keys
        USING v_whole, p_options ? 'all', p_limit;
        o_keys := as_there(stamped_by(p_rule, p_verb), o_keys);
    END IF;
END
$windrow$;
--# comment on function stamp_todo
COMMENT ON FUNCTION stamp_todo(text, text, jsonb, text, text, bigint) IS
    'The next p_limit families, or instances, that the options of a stamp name, behind row p_after; o_last is NULL after the last.';

-- stamp_apply: sets the removal time of some families, or instances. Has no transaction control. Times are texts, as the
-- application writes them.
--# create function stamp_apply
CREATE OR REPLACE FUNCTION stamp_apply(
    p_rule text, p_verb text, p_options jsonb, p_keys text[],
    OUT o_families bigint, OUT o_skip_keys text[], OUT o_skip_reasons text[], OUT o_rows bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET array_nulls = on
AS $windrow$
DECLARE
    v_whole    constant boolean := coalesce((p_options ->> 'hierarchical')::boolean, true);
    v_base     constant text := p_options ->> 'calculated';
    v_default  constant bigint := seconds(p_options ->> 'default');
    v_zone     constant text := (SELECT r.document ->> 'zone' FROM rule AS r WHERE r.rule = p_rule);
    v_to       constant timestamptz := (p_options ->> 'to')::timestamptz;
    v_ids      text[];
    v_families text[];
    v_lacks    boolean[];
    v_rooted   boolean[];
    v_bases    text[];
    v_lives    bigint[];
    v_keys     text[];
    v_dues     text[];
    v_of       text[];
    v_roots    text[];
    v_times    text[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a batch needs the isolation level read committed'
            USING ERRCODE = '25001', HINT = 'A snapshot from before its locks would hide what others have written.';
    END IF;
    EXECUTE format(
        'SELECT array_agg(m.id::text), array_agg(m.family::text), array_agg(m.lacks), array_agg(m.rooted),
                array_agg(CASE $1 WHEN ''start'' THEN m.starts ELSE m.ends END::text), array_agg(m.live)
         FROM %s(%L, %L, true) AS m',
        routine_of(p_rule, p_verb || 'rows'), CASE WHEN v_whole THEN p_keys ELSE '{}' END, p_keys
    )
    INTO v_ids, v_families, v_lacks, v_rooted, v_bases, v_lives
    USING v_base;
    v_families := as_there(stamped_by(p_rule, p_verb), v_families);

    -- What lacked a time when it was searched may have got one since.
    v_keys := ARRAY(
        SELECT k.key
        FROM unnest(p_keys) WITH ORDINALITY AS k(key, place)
        WHERE NOT p_options ? 'missing'
           OR k.key IN (
              SELECT CASE WHEN v_whole THEN m.family ELSE m.id END
              FROM unnest(v_ids, v_families, v_lacks) AS m(id, family, lacks)
              WHERE m.lacks
           )
        ORDER BY k.place
    );

    -- A calculated time counts from the root of the family. What cannot be calculated is left unchanged.
    SELECT
        coalesce(array_agg(s.key ORDER BY s.place) FILTER (WHERE s.reason IS NULL), '{}'),
        coalesce(array_agg(s.family ORDER BY s.place) FILTER (WHERE s.reason IS NULL), '{}'),
        coalesce(array_agg(
            CASE
                WHEN v_base IS NOT NULL THEN (s.base::timestamp + make_interval(secs => s.live))::text
                WHEN v_zone IS NULL THEN v_to::text
                ELSE (v_to AT TIME ZONE v_zone)::text
            END
            ORDER BY s.place
        ) FILTER (WHERE s.reason IS NULL), '{}'),
        coalesce(array_agg(s.key ORDER BY s.place) FILTER (WHERE s.reason IS NOT NULL), '{}'),
        coalesce(array_agg(s.reason ORDER BY s.place) FILTER (WHERE s.reason IS NOT NULL), '{}')
    INTO v_keys, v_of, v_dues, o_skip_keys, o_skip_reasons
    FROM (
        SELECT
            c.*,
            CASE
                WHEN v_base IS NULL THEN NULL
                WHEN NOT c.rooted THEN 'UNDATED_MEMBER'
                WHEN c.base IS NULL AND v_base = 'end' THEN 'NON_FINAL_MEMBER'
                WHEN c.base IS NULL THEN 'UNDATED_MEMBER'
                WHEN c.live IS NULL THEN 'POLICY_DISABLED'
            END AS reason
        FROM (
            SELECT DISTINCT ON (k.place)
                k.key, k.place, m.family, m.rooted, m.base, CASE WHEN m.live < 0 THEN v_default ELSE m.live END AS live
            FROM unnest(v_keys) WITH ORDINALITY AS k(key, place)
            JOIN unnest(v_ids, v_families, v_rooted, v_bases, v_lives) AS m(id, family, rooted, base, live)
              ON k.key = CASE WHEN v_whole THEN m.family ELSE m.id END
            ORDER BY k.place
        ) AS c
    ) AS s;
    o_families := cardinality(v_keys);

    -- With whole families, their other instances have the time of the root.
    SELECT
        coalesce(array_agg(w.id), '{}'), coalesce(array_agg(w.root), '{}'),
        coalesce(array_agg(w.family), '{}'), coalesce(array_agg(w.due), '{}')
    INTO v_ids, v_roots, v_families, v_times
    FROM (
        SELECT k.key AS id, CASE WHEN v_whole THEN k.key END AS root, k.family, k.due
        FROM unnest(v_keys, v_of, v_dues) AS k(key, family, due)
        UNION ALL
        SELECT m.id, NULL, m.family, k.due
        FROM unnest(v_ids, v_families) AS m(id, family)
        JOIN unnest(v_keys, v_dues) AS k(key, due) ON k.key = m.family
        WHERE v_whole
          AND m.id <> m.family
    ) AS w;
    EXECUTE format('SELECT %s($1, %L, %L, %L, %L)', routine_of(p_rule, p_verb || 'set'), v_ids, v_roots, v_families, v_times)
    INTO o_rows
    USING v_whole;
END
$windrow$;
--# comment on function stamp_apply
COMMENT ON FUNCTION stamp_apply(text, text, jsonb, text[]) IS
    'Locks families or instances and sets the removal times that the options of a stamp say. No transaction control.';

-- stamp_step: one batch of a stamp, with its progress in the ledger, in the caller's transaction.
-- A batch that fails is retried, then halved down to one family, which is recorded and skipped. One that changed more rows
-- than a transaction may is rolled back, and fewer families are tried; so the first one is small.
--# create function stamp_step
CREATE OR REPLACE FUNCTION stamp_step(p_run bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_run      run%ROWTYPE;
    v_progress run_stamp%ROWTYPE;
    v_stamp    stamps%ROWTYPE;
    v_last     text;
    v_keys     text[];
    v_batch    record;
    v_fits     bigint;
    v_state    text;
    v_sqlstate text;
    v_message  text;
    v_context  text;
BEGIN
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    SELECT * INTO STRICT v_progress FROM run_stamp AS r WHERE r.run_id = p_run FOR UPDATE;
    -- Everything that may end a run is looked at before every batch.
    IF NOT is_own(p_run) THEN
        RETURN 'the run was ended from outside';
    END IF;
    IF (SELECT c.paused FROM control AS c) THEN
        RETURN 'paused';
    END IF;
    IF unfinished() IS NOT NULL THEN
        RETURN unfinished();
    END IF;
    IF clock_timestamp() >= run_ends(v_run.deadline) THEN
        RETURN 'time budget spent';
    END IF;
    IF rule_paused(v_progress.rule) IS NOT NULL THEN
        RETURN rule_paused(v_progress.rule);
    END IF;
    SELECT * INTO STRICT v_stamp FROM stamps AS s WHERE s.rule = v_progress.rule AND s.of IS NOT DISTINCT FROM v_run.options ->> 'of';
    -- Where few rows lack a time, the search reads many: not under the locks, for which others would wait.
    SELECT n.o_last, n.o_keys
    INTO v_last, v_keys
    FROM stamp_todo(v_stamp.rule, v_stamp.verb, v_run.options, v_progress.cursor_key, v_stamp.first_key, v_progress.batch_families) AS n;
    IF v_last IS NULL THEN
        RETURN 'nothing left';
    END IF;
    v_state := take_locks(p_run, v_progress.rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;

    BEGIN
        SELECT b.* INTO v_batch FROM stamp_apply(v_stamp.rule, v_stamp.verb, v_run.options, v_keys) AS b;
        PERFORM look_at_last(p_run, NULL);
        v_fits := fits(v_stamp.rule, cardinality(v_keys), (SELECT sum(n.rows)::bigint FROM unnest(v_batch.o_rows) AS n(rows)));
        IF v_fits < cardinality(v_keys) THEN
            RAISE EXCEPTION 'too many rows' USING ERRCODE = 'WD003';
        ELSIF v_run.dry_run THEN
            -- The dry run is the real batch, rolled back.
            RAISE EXCEPTION 'dry run' USING ERRCODE = 'WD002';
        END IF;
    EXCEPTION
        WHEN SQLSTATE 'WD002' THEN
            NULL;
        WHEN SQLSTATE 'WD003' THEN
            UPDATE run_stamp AS r
            SET batch_families = v_fits,
                updated_at = clock_timestamp()
            WHERE r.run_id = p_run;
            RETURN 'again';
        WHEN query_canceled OR OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_context = PG_EXCEPTION_CONTEXT;
            IF v_sqlstate = '57014' AND is_cancel(v_message, v_context) THEN
                RETURN 'cancelled';
            END IF;
    END;
    IF v_sqlstate IS NOT NULL THEN
        IF is_fatal(p_run, v_stamp.rule, v_sqlstate, v_context, cardinality(v_keys) <= 1) THEN
            RETURN format('error %s: %s', v_sqlstate, v_message);
        END IF;
        IF is_busy(v_sqlstate) AND v_progress.retries_in_row < setting_of(v_stamp.rule, 'retries') THEN
            UPDATE run_stamp AS r
            SET retries = r.retries + 1,
                retries_in_row = r.retries_in_row + 1,
                updated_at = clock_timestamp()
            WHERE r.run_id = p_run;
            RETURN 'again';
        END IF;
        IF cardinality(v_keys) > 1 THEN
            UPDATE run_stamp AS r
            SET retries = r.retries + 1,
                retries_in_row = 0,
                batch_families = cardinality(v_keys) / 2,
                updated_at = clock_timestamp()
            WHERE r.run_id = p_run;
            RETURN 'again';
        END IF;
        PERFORM record_failure(p_run, v_stamp.rule, v_keys[1], v_sqlstate, v_message);
        SELECT
            0::bigint AS o_families, v_keys AS o_skip_keys,
            ARRAY[CASE WHEN is_busy(v_sqlstate) THEN 'LOCKED' ELSE 'FAILED' END] AS o_skip_reasons,
            array_fill(0::bigint, ARRAY[cardinality(v_progress.table_rows)]) AS o_rows
        INTO v_batch;
    END IF;

    UPDATE run_stamp AS r
    SET families = r.families + v_batch.o_families,
        changed_rows = r.changed_rows + (SELECT sum(n.rows) FROM unnest(v_batch.o_rows) AS n(rows)),
        table_rows = ARRAY(
            SELECT n.before + n.now
            FROM unnest(r.table_rows, v_batch.o_rows) WITH ORDINALITY AS n(before, now, position)
            ORDER BY n.position
        ),
        batches = r.batches + 1,
        retries_in_row = 0,
        batch_families = least(r.batch_families * 2, coalesce((v_run.options ->> 'chunk')::integer, 200), v_fits),
        cursor_key = v_last,
        updated_at = clock_timestamp()
    WHERE r.run_id = p_run;
    IF cardinality(v_batch.o_skip_keys) > 0 THEN
        PERFORM record_skips(p_run, v_stamp.rule, v_batch.o_skip_keys, v_batch.o_skip_reasons);
    END IF;
    RETURN 'more';
END
$windrow$;
--# comment on function stamp_step
COMMENT ON FUNCTION stamp_step(bigint) IS
    'One batch of stamp p_run and its progress in the ledger. Answers more, again, or why the stamp should end. stamp() calls it and '
    'commits.';

-- stamp_begin: opens the ledger for a stamp, or says why not.
--# create function stamp_begin
CREATE OR REPLACE FUNCTION stamp_begin(p_options jsonb, OUT o_run bigint, OUT o_rule text, OUT o_refused text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_control control%ROWTYPE;
    v_catalog jsonb := catalog_now();
BEGIN
    o_rule := check_stamp_options(p_options);
    SELECT * INTO STRICT v_control FROM control;
    o_refused := CASE WHEN v_control.paused THEN why_paused(v_control.paused_by, v_control.paused_at, v_control.paused_reason)
        ELSE rule_paused(o_rule) END;
    IF o_refused IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM check_catalog();

    -- One stamp at a time. Runs and purges may run at the same time.
    PERFORM FROM turn AS t WHERE t.name = 'stamp' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        o_refused := 'another stamp is starting';
        RETURN;
    END IF;
    PERFORM reap();
    SELECT format('stamp %s is in progress (pid %s, since %s)', r.run_id, r.backend_pid,
        to_char(r.started_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    INTO o_refused
    FROM run AS r
    WHERE r.status = 'running'
      AND r.trigger = 'STAMP'
    ORDER BY r.run_id
    LIMIT 1;
    IF o_refused IS NOT NULL THEN
        RETURN;
    END IF;

    INSERT INTO run (trigger, dry_run, options, as_of, deadline)
    VALUES (
        'STAMP',
        coalesce((p_options ->> 'dry_run')::boolean, false),
        p_options,
        clock_timestamp(),
        clock_timestamp() + make_interval(secs => coalesce(seconds(p_options ->> 'time_budget'), setting_of(first_rule(), 'time_budget')))
    )
    RETURNING run_id INTO o_run;
    INSERT INTO catalog_state (run_id, state)
    VALUES (o_run, v_catalog);
    INSERT INTO run_stamp (run_id, rule, batch_families, table_names, table_rows)
    SELECT
        o_run, o_rule, least(coalesce((p_options ->> 'chunk')::integer, 200), 20), t.names,
        array_fill(0::bigint, ARRAY[cardinality(t.names)])
    FROM (
        SELECT s.tables
        FROM stamps AS s
        WHERE s.whole = o_rule || coalesce('.' || (p_options ->> 'of'), '')
    ) AS t(names);
    -- What distinguishes the stamp from all others.
    o_rule := o_rule || coalesce('.' || (p_options ->> 'of'), '');
    PERFORM take_lock();
END
$windrow$;
--# comment on function stamp_begin
COMMENT ON FUNCTION stamp_begin(jsonb) IS
    'Checks the options of stamp() and opens the ledger. o_refused: why there is no stamp.';

-- stamp_end: closes the ledger of a stamp.
--# create function stamp_end
CREATE OR REPLACE FUNCTION stamp_end(p_run bigint, p_reason text)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = 0
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
BEGIN
    UPDATE run AS r
    SET status = CASE
            WHEN p_reason LIKE 'error %' THEN 'failed'
            WHEN p_reason = 'cancelled' THEN 'cancelled'
            WHEN EXISTS (SELECT FROM run_failure AS f WHERE f.run_id = p_run AND f.sqlstate NOT IN ('55P03', '40P01', '40001'))
                THEN 'failed'
            WHEN p_reason = 'nothing left' THEN 'done'
            ELSE 'stopped'
        END,
        reason = p_reason,
        finished_at = clock_timestamp()
    WHERE r.run_id = p_run
      AND is_own(p_run);
    DELETE FROM catalog_state AS s WHERE s.run_id = p_run;
    RETURN stamp_result(p_run);
END
$windrow$;
--# comment on function stamp_end
COMMENT ON FUNCTION stamp_end(bigint, text) IS
    'Closes stamp p_run: status and reason. Answers stamp_result().';

-- stamp_result: one stamp of the ledger as a document, in the form of run_result().
--# create function stamp_result
CREATE OR REPLACE FUNCTION stamp_result(p_run bigint)
RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
SET row_security = off
AS $windrow$
    SELECT json_build_object(
        'run', r.run_id,
        'status', r.status,
        'reason', r.reason,
        'dry_run', r.dry_run,
        'trigger', r.trigger,
        'as_of', r.as_of,
        'started_at', r.started_at,
        'finished_at', r.finished_at,
        'duration_ms', round(extract(epoch FROM r.finished_at - r.started_at) * 1000),
        'rules', (
            SELECT json_agg((
                SELECT json_object_agg(d.name, d.value ORDER BY d.position)
                FROM (
                    VALUES
                        (1, 'rule', to_json(p.rule)),
                        (2, 'of', to_json(r.options ->> 'of')),
                        (3, 'families', to_json(p.families)),
                        (4, 'rows', to_json(p.changed_rows)),
                        (5, 'batches', to_json(p.batches)),
                        (6, 'retries', to_json(p.retries)),
                        (7, 'tables', (
                            SELECT json_object_agg(t.name, t.rows ORDER BY t.position)
                            FROM unnest(p.table_names, p.table_rows) WITH ORDINALITY AS t(name, rows, position)
                        )),
                        (8, 'skipped_families', to_json(coalesce(s.families, 0))),
                        (9, 'skipped', coalesce(s.skipped, '{}')),
                        (10, 'skipped_samples', coalesce(s.samples, '{}')),
                        (11, 'failures', coalesce(e.failures, '[]'))
                ) AS d(position, name, value)
                WHERE d.name <> 'of' OR EXISTS (SELECT FROM stamps AS o WHERE o.of IS NOT NULL)
            ))
            FROM run_stamp AS p
            LEFT JOIN LATERAL (
                SELECT sum(k.families) AS families, json_object_agg(k.reason, k.families ORDER BY k.reason) AS skipped,
                    json_object_agg(k.reason, k.sample_keys ORDER BY k.reason) AS samples
                FROM run_skip AS k
                WHERE k.run_id = p.run_id
                  AND k.rule = p.rule
                HAVING count(*) > 0
            ) AS s ON true
            LEFT JOIN LATERAL (
                SELECT json_agg(json_build_object('key', x.key, 'sqlstate', x.sqlstate, 'message', x.message)
                    ORDER BY x.failed_at) AS failures
                FROM (SELECT * FROM run_failure AS y WHERE y.run_id = p.run_id AND y.rule = p.rule ORDER BY y.failed_at LIMIT 100) AS x
                HAVING count(*) > 0
            ) AS e ON true
            WHERE p.run_id = r.run_id
        ),
        -- Keys that no row has.
        'refused', (
            SELECT coalesce(json_object_agg(k.key, 'NOT_A_ROOT' ORDER BY k.key), '{}')
            FROM (
                SELECT DISTINCT n.key
                FROM jsonb_array_elements_text(coalesce(r.options -> 'key', '[]')) AS n(key)
            ) AS k
            WHERE coalesce((
                SELECT (as_there(concat_ws('.', p.rule, r.options ->> 'of'), ARRAY[k.key]))[1] FROM run_stamp AS p WHERE p.run_id = r.run_id
            ), k.key) <> ALL (ARRAY(
                SELECT n.id
                FROM run_stamp AS p
                JOIN stamps AS s ON s.rule = p.rule AND s.of IS NOT DISTINCT FROM r.options ->> 'of'
                CROSS JOIN LATERAL stamp_chosen(s.rule, s.verb, r.options) AS n
                WHERE p.run_id = r.run_id
            ))
        )
    )
    FROM run AS r
    WHERE r.run_id = p_run;
$windrow$;
--# comment on function stamp_result
COMMENT ON FUNCTION stamp_result(bigint) IS
    'One stamp of the ledger as a JSON document: rows are those that were changed. Example: SELECT stamp_result(1);';
