-- record_skips: adds the families that a batch skipped to the ledger.
--# create function record_skips
CREATE OR REPLACE FUNCTION record_skips(p_run bigint, p_rule text, p_keys text[], p_reasons text[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF cardinality(p_keys) = 0 THEN
        RETURN;
    END IF;
    INSERT INTO run_skip AS r (run_id, rule, reason, families, sample_keys)
    SELECT p_run, p_rule, k.reason, count(*), (array_agg(k.key ORDER BY k.position))[1:10]
    FROM unnest(p_keys, p_reasons) WITH ORDINALITY AS k(key, reason, position)
    GROUP BY k.reason
    ON CONFLICT (run_id, rule, reason) DO UPDATE
    SET families = r.families + excluded.families,
        sample_keys = (r.sample_keys || excluded.sample_keys)[1:10];
END
$windrow$;
--# comment on function record_skips
COMMENT ON FUNCTION record_skips(bigint, text, text[], text[]) IS
    'Adds skipped families to table run_skip, by reason.';

-- record_pass: adds the rows that a batch deleted to the ledger, by their reasons.
--# create function record_pass
CREATE OR REPLACE FUNCTION record_pass(p_run bigint, p_rule text, p_pass text, p_rows bigint, p_samples text[])
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    INSERT INTO run_pass AS r (run_id, rule, pass, deleted_rows, sample_keys)
    VALUES (p_run, p_rule, p_pass, p_rows, p_samples)
    ON CONFLICT (run_id, rule, pass) DO UPDATE
    SET deleted_rows = r.deleted_rows + excluded.deleted_rows,
        sample_keys = (r.sample_keys || excluded.sample_keys)[1:10];
$windrow$;
--# comment on function record_pass
COMMENT ON FUNCTION record_pass(bigint, text, text, bigint, text[]) IS
    'Adds deleted rows to table run_pass, by the pass that found them.';

-- run_begin: takes the lock and opens the ledger, or says why not.
--# create function run_begin
CREATE OR REPLACE FUNCTION run_begin(p_options jsonb, OUT o_run bigint, OUT o_refused text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_spec    spec%ROWTYPE;
    v_as_of   timestamptz;
    v_dry_run boolean;
    v_budget  bigint;
    -- Read before it is judged: what comes meanwhile, or later, is a change that the first batch sees.
    v_catalog jsonb := catalog_now();
    -- What may differ between the workers of a sweep.
    v_own     constant text[] := ARRAY['worker', 'run_families', 'time_budget', 'trigger', 'dry_run'];
BEGIN
    SELECT * INTO STRICT v_spec FROM spec;
    PERFORM check_options(
        p_options,
        ARRAY['rule', 'dry_run', 'scope', 'retention', 'as_of', 'run_families', 'time_budget', 'trigger'] || CASE WHEN v_spec.workers > 1
            THEN ARRAY['worker'] END
    );
    v_as_of := check_run_options(p_options);
    v_dry_run := coalesce((p_options ->> 'dry_run')::boolean, false);
    o_refused := held_back(p_options);
    IF o_refused IS NOT NULL THEN
        RETURN;
    END IF;
    -- What a scheduled run is refused for, held_back() has looked at.
    IF p_options ->> 'trigger' IS DISTINCT FROM 'SCHEDULED' THEN
        IF NOT v_dry_run THEN
            PERFORM check_armed();
        END IF;
        PERFORM check_catalog();
    END IF;
    IF v_spec.archives THEN
        PERFORM check_archive(p_options ->> 'rule');
    END IF;

    -- One run at a time for each worker, and runs at the same time do the same. A purge of named families or a stamp may run beside
    -- it. What says running but is dead, has crashed.
    IF v_spec.workers > 1 THEN
        -- Workers that start in the same second wait for each other.
        PERFORM set_config('lock_timeout', '10s', true);
        BEGIN
            PERFORM FROM turn AS t WHERE t.name = 'run' FOR UPDATE;
        EXCEPTION WHEN lock_not_available THEN
            o_refused := 'another run is starting';
            RETURN;
        END;
    ELSE
        PERFORM FROM turn AS t WHERE t.name = 'run' FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            o_refused := 'another run is starting';
            RETURN;
        END IF;
    END IF;
    PERFORM reap();
    SELECT format('run %s is in progress (pid %s, since %s)', r.run_id, r.backend_pid, to_char(r.started_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    INTO o_refused
    FROM run AS r
    WHERE r.status = 'running'
      AND r.trigger NOT IN ('PURGE', 'STAMP')
      AND (
          coalesce(r.options ->> 'worker', '1') = coalesce(p_options ->> 'worker', '1')
          OR r.dry_run
          OR v_dry_run
          OR r.options - v_own <> p_options - v_own
      )
    ORDER BY r.run_id
    LIMIT 1;
    v_budget := coalesce(seconds(p_options ->> 'time_budget'), setting_of(first_rule(), 'time_budget'));
    IF o_refused IS NULL AND v_spec.workers > 1 THEN
        o_refused := sweep_refuses(v_budget);
    END IF;
    IF o_refused IS NOT NULL THEN
        RETURN;
    END IF;
    IF p_options ->> 'trigger' = 'SCHEDULED' AND NOT v_dry_run THEN
        o_refused := kept_back();
        PERFORM note_refusal(o_refused);
        IF o_refused IS NOT NULL THEN
            RETURN;
        END IF;
    END IF;

    INSERT INTO run (trigger, dry_run, options, as_of, deadline)
    VALUES (
        coalesce(p_options ->> 'trigger', 'MANUAL'),
        v_dry_run,
        p_options,
        v_as_of,
        clock_timestamp() + make_interval(secs => v_budget)
    )
    RETURNING run_id INTO o_run;
    PERFORM run_open(o_run, p_options ->> 'rule', v_catalog);
    IF v_spec.workers > 1 THEN
        PERFORM sweep_join(o_run, coalesce(p_options ->> 'worker', '1')::integer);
    END IF;

    PERFORM take_lock();
END
$windrow$;
--# comment on function run_begin
COMMENT ON FUNCTION run_begin(jsonb) IS
    'Checks the options, takes the lock of the runs and opens the ledger. o_refused: why there is no run.';

-- open_run: an error before a scheduled run begins refuses it, too: its caller may be a job whose errors nobody reads. run() raises it
-- once that is written.
--# create function open_run
CREATE OR REPLACE FUNCTION open_run(p_options jsonb, p_caller text, OUT o_run bigint, OUT o_refused text, OUT o_error json)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_message text;
    v_hint    text;
    v_detail  text;
    v_context text;
BEGIN
    PERFORM check_caller(p_caller, false);
    SELECT b.o_run, b.o_refused INTO o_run, o_refused FROM run_begin(p_options) AS b;
EXCEPTION WHEN OTHERS OR assert_failure THEN
    IF (p_options ->> 'trigger' = 'SCHEDULED' AND NOT p_options @> '{"dry_run": true}') IS NOT TRUE OR pg_is_in_recovery() THEN
        RAISE;
    END IF;
    GET STACKED DIAGNOSTICS v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL,
        v_context = PG_EXCEPTION_CONTEXT;
    o_run := NULL;
    o_refused := NULL;
    v_detail := left(concat_ws(chr(10), nullif(v_detail, ''), v_context), 2000);
    o_error := json_build_object('code', SQLSTATE, 'message', v_message, 'hint', v_hint, 'detail', v_detail);
    BEGIN
        PERFORM note_refusal(format('error %s: %s', SQLSTATE, v_message));
        UPDATE refusal AS f SET detail = v_detail WHERE f.server = identity_of(false) AND f.detail IS NULL;
    EXCEPTION WHEN OTHERS OR assert_failure THEN
        -- The error itself says more.
        NULL;
    END;
END
$windrow$;
--# comment on function open_run
COMMENT ON FUNCTION open_run(jsonb, text) IS
    'What run_begin() answers; an error of a scheduled run is written to table refusal and answered, for run() to raise it. Where it '
    'comes from is then in its DETAIL.';

-- sweeping: the runs that examine everything that is due: not those for one scope or another time.
--# create view sweeping
CREATE OR REPLACE VIEW sweeping AS
SELECT r.run_id, r.status, r.dry_run, r.finished_at
FROM run AS r
WHERE r.trigger NOT IN ('PURGE', 'STAMP')
  AND coalesce(r.options -> 'scope', r.options -> 'retention', r.options -> 'as_of') IS NULL;
--# comment on view sweeping
COMMENT ON VIEW sweeping IS
    'Runs and dry runs that examine everything that is due. A run continues where the previous one stopped.';

-- left_off: where such a run continues, if it is not a dry run: at the cursor of a rule, if the previous run had more to examine
-- there; with several workers, where the one that was last at the rule had. Kept rows before it are skipped at first; the run
-- comes to them at its end, as far
-- as its time lasts. A spec that says something else of the rule begins at the oldest, since the cursor may be of another column.
--# create function left_off
CREATE OR REPLACE FUNCTION left_off(p_run bigint, p_rule text, OUT o_time text, OUT o_key text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET join_collapse_limit = 1
AS $windrow$
    SELECT p.cursor_time, p.cursor_key
    FROM sweeping AS r
    JOIN rule AS n ON n.rule = p_rule
    CROSS JOIN LATERAL (
        SELECT o.cursor_time, o.cursor_key, o.rule_hash
        FROM (
            SELECT b.run_id
            FROM sweeping AS b
            WHERE b.run_id BETWEEN p_run - 1000 AND p_run - 1
              AND NOT b.dry_run
              AND EXISTS (SELECT FROM run_rule AS o WHERE o.run_id = b.run_id AND o.rule = p_rule)
            ORDER BY b.run_id DESC
            LIMIT (SELECT s.workers FROM spec AS s)
        ) AS b
        JOIN run_rule AS o ON o.run_id = b.run_id AND o.rule = p_rule
        ORDER BY o.updated_at DESC
        LIMIT 1
    ) AS p
    WHERE r.run_id = p_run
      AND NOT r.dry_run
      AND p.rule_hash = md5(n.document::text)
      AND p.cursor_time IS NOT NULL
$windrow$;
--# comment on function left_off
COMMENT ON FUNCTION left_off(bigint, text) IS
    'Where run p_run takes p_rule up: the cursor of the latest run before it that had more to look at; NULL: at the oldest.';

-- rules_of: the rules of a run in the order in which it takes them. If the previous run of all rules left one before it had seen
-- everything, however it ended, that rule comes last, so that it cannot take the time of the others forever; so does the last rule that
-- it took, if it did not come to all. A rule was taken if its row was written since the run began: a wait before the first batch does
-- so, too, and so does what comes before a batch that ends the session. The workers of a sweep keep to one order; a sweep counts as one
-- run.
--# create function rules_of
CREATE OR REPLACE FUNCTION rules_of(p_run bigint)
RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT array_agg(n.rule ORDER BY n.position <= coalesce(l.position, 0), n.position)
    FROM run AS u
    JOIN rule AS n ON n.rule = coalesce(u.options ->> 'rule', n.rule)
    LEFT JOIN (
        SELECT o.position
        FROM (
            SELECT p.rule, max(p.updated_at) AS at, bool_or(p.around AND p.cursor_time IS NULL) AS is_through, count(*) OVER () AS taken
            FROM (
                SELECT r.run_id, coalesce(w.sweep_id, r.run_id) AS sweep_id
                FROM sweeping AS r
                LEFT JOIN run_sweep AS w ON w.run_id = r.run_id
                WHERE r.run_id = p_run
                  AND NOT r.dry_run
            ) AS r
            CROSS JOIN LATERAL (
                -- Neither one of a single rule, nor one that took none.
                SELECT max(l.run_id) AS run_id
                FROM sweeping AS l
                JOIN run AS a ON a.run_id = l.run_id AND NOT a.options ? 'rule'
                WHERE l.run_id BETWEEN r.sweep_id - 1000 AND r.sweep_id - 1
                  AND NOT l.dry_run
                  AND EXISTS (SELECT FROM run_rule AS t WHERE t.run_id = a.run_id AND t.updated_at > a.started_at)
            ) AS d
            CROSS JOIN LATERAL (
                SELECT d.run_id
                UNION
                SELECT o.run_id FROM run_sweep AS w JOIN run_sweep AS o ON o.sweep_id = w.sweep_id WHERE w.run_id = d.run_id
            ) AS s
            JOIN run_rule AS p ON p.run_id = s.run_id
            WHERE p.updated_at > (SELECT b.started_at FROM run AS b WHERE b.run_id = s.run_id)
            GROUP BY p.rule, d.run_id
        ) AS p
        JOIN rule AS o ON o.rule = p.rule
        WHERE NOT p.is_through
           OR p.taken < (SELECT count(*) FROM rule)
        ORDER BY p.at DESC
        LIMIT 1
    ) AS l ON true
    WHERE u.run_id = p_run
$windrow$;
--# comment on function rules_of
COMMENT ON FUNCTION rules_of(bigint) IS
    'The rules of run p_run in the order in which it takes them: what had its turn when time was up comes last.';

-- run_open: the progress rows of a run, one per rule.
--# create function run_open
CREATE OR REPLACE FUNCTION run_open(p_run bigint, p_rule text, p_catalog jsonb)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    INSERT INTO catalog_state (run_id, state)
    VALUES (p_run, p_catalog);
    INSERT INTO run_rule (run_id, rule, batch_families, table_names, table_rows, weigh, cursor_time, cursor_key, start_time, start_key,
        rule_hash, archived, started_at, updated_at)
    SELECT
        p_run, r.rule, coalesce(setting_of(r.rule, 'batch_families'), setting_of(r.rule, 'batch_rows')),
        r.tables, array_fill(0::bigint, ARRAY[cardinality(r.tables)]),
        -- What the last batches had: a run without any leaves it as it was. Nothing is known before the first.
        coalesce(
            (SELECT b.weigh FROM run_rule AS b WHERE b.rule = r.rule AND b.run_id < p_run ORDER BY b.run_id DESC LIMIT 1),
            1
        ),
        l.o_time, l.o_key, l.o_time, l.o_key,
        md5(r.document::text), ARRAY(SELECT a.name FROM jsonb_array_elements_text(r.document -> 'archive') AS a(name)),
        u.started_at, u.started_at
    FROM run AS u
    CROSS JOIN rule AS r
    LEFT JOIN LATERAL left_off(p_run, r.rule) AS l ON true
    WHERE u.run_id = p_run
      AND (p_rule IS NULL OR r.rule = p_rule);
$windrow$;
--# comment on function run_open
COMMENT ON FUNCTION run_open(bigint, text, jsonb) IS
    'Opens the progress rows of run p_run, for one rule or all, and notes p_catalog, what catalog_now() said before it was judged.';

-- run_end: closes the ledger and prunes it.
--# create function run_end
CREATE OR REPLACE FUNCTION run_end(p_run bigint, p_reasons text[])
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = 0
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_spec   spec%ROWTYPE;
    v_run    run%ROWTYPE;
    v_of     record;
    v_keys   text[];
    v_rows   bigint[];
    v_reason text;
    v_status text;
    v_days   bigint;
    v_old    bigint[];
BEGIN
    IF NOT is_own(p_run) THEN
        RETURN run_result(p_run);
    END IF;
    SELECT * INTO STRICT v_spec FROM spec;
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    IF v_spec.workers > 1 THEN
        -- The end of a run writes to what is everybody's: one at a time.
        PERFORM FROM turn AS t WHERE t.name = 'run' FOR UPDATE;
    END IF;
    -- What has no time can never become due: it is counted where the rule looked at all that is due.
    FOR v_of IN SELECT r.rule, p_reasons[r.position] AS reason FROM rule AS r WHERE r.counts_undated ORDER BY r.position LOOP
        CONTINUE WHEN v_of.reason IS DISTINCT FROM 'nothing left';
        IF v_spec.workers > 1 THEN
            CONTINUE WHEN NOT EXISTS (SELECT FROM sweep AS s WHERE s.rule = v_of.rule AND s.ended_by = p_run);
        END IF;
        v_keys := undated_of(v_of.rule, v_run.as_of, v_run.options ->> 'scope');
        IF cardinality(v_keys) > 0 THEN
            PERFORM record_skips(p_run, v_of.rule, v_keys, array_fill('UNDATED_MEMBER'::text, ARRAY[cardinality(v_keys)]));
        END IF;
    END LOOP;
    IF v_spec.workers > 1 THEN
        -- What was locked, if no worker will examine it again.
        PERFORM record_skips(p_run, c.rule, k.keys, array_fill('LOCKED'::text, ARRAY[cardinality(k.keys)]))
        FROM run_claim AS c
        CROSS JOIN LATERAL what_is_left(p_run, c.rule) AS k(keys)
        WHERE c.run_id = p_run
          AND cardinality(k.keys) > 0;
    END IF;
    UPDATE run_rule AS r
    SET ahead_keys = '{}',
        ahead_times = '{}',
        ahead_at = 0,
        ahead_of = NULL
    WHERE r.run_id = p_run
      AND (r.ahead_of IS NOT NULL OR r.ahead_keys <> '{}' OR r.ahead_times <> '{}' OR r.ahead_at > 0);
    -- The worst; of several that are alike, the first. What ended the run is worse than what ended a rule.
    SELECT r.reason
    INTO v_reason
    FROM (SELECT i.position, p_reasons[i.position] FROM generate_subscripts(p_reasons, 1) AS i(position)) AS r(position, reason)
    LEFT JOIN rule AS n ON n.position = r.position
    LEFT JOIN run_rule AS p ON p.run_id = p_run AND p.rule = n.rule
    WHERE r.reason IS NOT NULL
    ORDER BY
        CASE
            WHEN r.reason LIKE 'error %' THEN 1
            WHEN r.reason = 'cancelled' THEN 2
            WHEN r.reason IN ('run_families reached', 'run_rows reached') THEN 4
            WHEN r.reason LIKE 'rule %' THEN 5
            WHEN r.reason = 'nothing left' THEN 6
            ELSE 3
        END,
        p.updated_at, r.position
    LIMIT 1;
    v_status := CASE
        WHEN v_reason LIKE 'error %' THEN 'failed'
        WHEN v_reason = 'cancelled' THEN 'cancelled'
        WHEN EXISTS (SELECT FROM run_failure AS f WHERE f.run_id = p_run AND f.sqlstate NOT IN ('55P03', '40P01', '40001')) THEN 'failed'
        -- What earlier runs have met is passed over, and told.
        WHEN EXISTS (SELECT FROM run_skip AS s WHERE s.run_id = p_run AND s.reason = 'FAILED') THEN 'failed'
        WHEN v_reason = 'nothing left' THEN 'done'
        ELSE 'stopped'
    END;
    UPDATE run AS r
    SET status = v_status,
        reason = CASE WHEN v_status = 'stopped' THEN concat_ws(' while waiting for ', v_reason, r.waiting_for) ELSE v_reason END,
        finished_at = clock_timestamp()
    WHERE r.run_id = p_run;
    -- The batches of a dry run were rolled back one by one, so that a row that belongs to members of two batches was
    -- counted twice: count once more, over all members.
    FOR v_of IN SELECT p.rule, p.gone FROM run_rule AS p WHERE p.run_id = p_run AND p.gone <> '{}' LOOP
        EXECUTE format('SELECT %s(%L)', routine_of(v_of.rule, 'count'), v_of.gone) INTO STRICT v_rows;
        UPDATE run_rule AS r
        SET gone = '{}',
            table_rows = v_rows,
            deleted_rows = (SELECT sum(t.rows) FROM unnest(v_rows) AS t(rows))
        WHERE r.run_id = p_run
          AND r.rule = v_of.rule;
    END LOOP;

    -- The ledger prunes itself; its counts are kept in the metrics. Before an installation is finished, it is not said for how long
    -- the ledger is kept: nothing is older than NULL.
    PERFORM tally_up();
    v_days := CASE WHEN unfinished() IS NULL THEN setting_of(first_rule(), 'ledger_days') END;
    v_old := ARRAY(SELECT r.run_id FROM run AS r WHERE r.finished_at < clock_timestamp() - make_interval(days => v_days::integer));
    IF v_spec.archives THEN
        -- Not while rows of it are archived.
        PERFORM keep_archive(v_days);
        v_old := ARRAY(SELECT o.run_id FROM unnest(v_old) AS o(run_id)
            WHERE NOT EXISTS (SELECT FROM kept_run AS k WHERE k.run_id = o.run_id));
    END IF;
    DELETE FROM run_failure AS f WHERE f.run_id = ANY (v_old);
    DELETE FROM run_backlog AS b WHERE b.run_id = ANY (v_old);
    DELETE FROM run_skip AS s WHERE s.run_id = ANY (v_old);
    DELETE FROM run_pass AS s WHERE s.run_id = ANY (v_old);
    IF EXISTS (SELECT FROM rule AS r WHERE r.strategy = 'partition') THEN
        DELETE FROM run_partition AS p WHERE p.run_id = ANY (v_old);
        DELETE FROM run_ahead AS a WHERE a.run_id = ANY (v_old);
    END IF;
    DELETE FROM run_stamp AS p WHERE p.run_id = ANY (v_old);
    IF v_spec.workers > 1 THEN
        DELETE FROM run_claim AS c WHERE c.run_id = ANY (v_old);
    END IF;
    DELETE FROM run_sweep AS o WHERE o.run_id = ANY (v_old);
    DELETE FROM run_rule AS p WHERE p.run_id = ANY (v_old);
    DELETE FROM catalog_state AS s WHERE s.run_id > 0
        AND NOT EXISTS (SELECT FROM run AS r WHERE r.run_id = s.run_id AND r.status = 'running');
    DELETE FROM run AS r WHERE r.run_id = ANY (v_old);
    -- Whose rows went otherwise.
    DELETE FROM rule_instant AS i WHERE i.noted_at < clock_timestamp() - make_interval(days => v_days::integer);
    -- The last change of a setting is kept: it says who set the current value.
    DELETE FROM setting_log AS l
    WHERE l.changed_at < clock_timestamp() - make_interval(days => v_days::integer)
      -- A change that shortens the ledger is never pruned.
      AND l.name <> 'ledger_days'
      AND EXISTS (SELECT FROM setting_log AS n WHERE n.rule = l.rule AND n.name = l.name AND n.log_id > l.log_id);

    RETURN run_result(p_run);
END
$windrow$;
--# comment on function run_end
COMMENT ON FUNCTION run_end(bigint, text[]) IS
    'Closes run p_run: status, reason, pruning of the ledger by ledger_days. Answers run_result().';

-- close_run: what is left to do where the end of a run, a purge or a stamp fails: a row that says running would count as crashed.
--# create function close_run
CREATE OR REPLACE FUNCTION close_run(p_run bigint, p_reason text)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = 0
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
BEGIN
    UPDATE run AS r
    SET status = CASE p_reason WHEN 'cancelled' THEN 'cancelled' ELSE 'failed' END,
        reason = p_reason,
        finished_at = clock_timestamp()
    WHERE r.run_id = p_run
      AND is_own(p_run);
    IF FOUND THEN
        DELETE FROM run_key AS k WHERE k.run_id = p_run;
    END IF;
    RETURN run_result(p_run);
END
$windrow$;
--# comment on function close_run
COMMENT ON FUNCTION close_run(bigint, text) IS
    'Closes run p_run of this session, whose end failed or was cancelled, and does nothing else. Answers run_result().';

-- duration_of: how long a run took.
--# create function duration_of
CREATE OR REPLACE FUNCTION duration_of(p_run run)
RETURNS numeric
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT round(extract(epoch FROM p_run.finished_at - p_run.started_at) * 1000);
$windrow$;
--# comment on function duration_of
COMMENT ON FUNCTION duration_of(run) IS
    'Milliseconds from the begin of a run to its end.';

-- pruned_by: what a run took out of the archive.
--# create function pruned_by
CREATE OR REPLACE FUNCTION pruned_by(p_run bigint)
RETURNS numeric
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF (SELECT s.archives FROM spec AS s) THEN
        RETURN (SELECT coalesce(sum(u.table_rows), 0) FROM unarchived AS u WHERE u.by_run = p_run);
    END IF;
    RETURN NULL;
END
$windrow$;
--# comment on function pruned_by
COMMENT ON FUNCTION pruned_by(bigint) IS
    'Rows that run p_run took out of the archive; NULL where the spec archives nothing.';

-- made_in_advance: what a run made in advance, where a rule does.
--# create function made_in_advance
CREATE OR REPLACE FUNCTION made_in_advance(p_run bigint, p_rule text, p_made boolean)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF (SELECT r.document ? 'ahead' FROM rule AS r WHERE r.rule = p_rule) THEN
        RETURN (SELECT CASE WHEN p_made THEN m.o_made ELSE m.o_not_made END FROM made_by(p_run, p_rule) AS m);
    END IF;
    RETURN NULL;
END
$windrow$;
--# comment on function made_in_advance
COMMENT ON FUNCTION made_in_advance(bigint, text, boolean) IS
    'The partitions that run p_run made by p_rule in advance, or (p_made: false) could not make, and why; NULL where a rule makes none.';

-- rule_result: what a run did by one rule, as a document. The spec may ask for more fields, under names of its own.
--# create function rule_result
CREATE OR REPLACE FUNCTION rule_result(p_run run, p_progress run_rule)
RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
    SELECT json_object_agg(d.name, d.value ORDER BY d.position)
    FROM (SELECT p_progress.*) AS p
    LEFT JOIN rule AS r ON r.rule = p.rule
    LEFT JOIN LATERAL (
        SELECT sum(k.families) AS families, json_object_agg(k.reason, k.families ORDER BY k.reason) AS skipped,
            json_object_agg(k.reason, k.sample_keys ORDER BY k.reason) AS samples
        FROM run_skip AS k
        WHERE k.run_id = p.run_id
          AND k.rule = p.rule
    ) AS s ON true
    CROSS JOIN LATERAL (
        SELECT coalesce(json_agg(json_build_object('key', x.key, 'sqlstate', x.sqlstate, 'message', x.message) ORDER BY x.failed_at),
            '[]') AS failures
        FROM (SELECT * FROM run_failure AS y WHERE y.run_id = p.run_id AND y.rule = p.rule ORDER BY y.failed_at LIMIT 100) AS x
    ) AS e
    CROSS JOIN LATERAL (
        SELECT coalesce(json_agg(json_build_object('pass', x.pass, 'rows', x.deleted_rows, 'sample_keys', x.sample_keys) ORDER BY x.pass),
            '[]') AS passes
        FROM run_pass AS x
        WHERE x.run_id = p.run_id
          AND x.rule = p.rule
    ) AS x
    CROSS JOIN LATERAL (
        SELECT v.position, v.name, v.value
        FROM (
            VALUES
                (1, 'rule', to_json(p.rule)),
                (2, 'families', to_json(p.families)),
                (3, 'rows', to_json(p.deleted_rows)),
                (4, 'batches', to_json(p.batches)),
                (5, 'retries', to_json(p.retries)),
                (6, 'tables', (
                    SELECT json_object_agg(t.name, t.rows ORDER BY t.position)
                    FROM unnest(p.table_names, p.table_rows) WITH ORDINALITY AS t(name, rows, position)
                )),
                (7, 'passes', x.passes),
                (8, 'skipped_families', to_json(coalesce(s.families, 0))),
                (9, 'skipped', coalesce(s.skipped, '{}')),
                (10, 'skipped_samples', coalesce(s.samples, '{}')),
                (11, 'failures', e.failures),
                (12, 'work_ms', to_json(round(extract(epoch FROM p.updated_at - p.started_at) * 1000))),
                (13, 'made', made_in_advance(p.run_id, p.rule, true)),
                (14, 'not_made', made_in_advance(p.run_id, p.rule, false))
        ) AS v(position, name, value)
        WHERE CASE v.name
            WHEN 'passes' THEN r.strategy IN ('expiry', 'orphan', 'keep-last')
            WHEN 'made' THEN r.document ? 'ahead'
            WHEN 'not_made' THEN r.document ? 'ahead'
            ELSE true
        END
        UNION ALL
        SELECT
            20 + f.position, f.field ->> 'name',
            CASE f.field ->> 'figure'
                WHEN 'families' THEN to_json(p.families)
                WHEN 'table' THEN to_json(p.table_rows[array_position(p.table_names, f.field ->> 'table')])
                WHEN 'skipped' THEN coalesce(s.skipped, '{}')
                WHEN 'skipped_families' THEN to_json(coalesce(s.families, 0))
                WHEN 'dry_run' THEN to_json(p_run.dry_run)
                WHEN 'duration_ms' THEN to_json(duration_of(p_run))
                WHEN 'artifact_failures' THEN to_json((SELECT count(*) FROM artifact AS a WHERE a.run_id = p.run_id AND a.rule = p.rule
                    AND a.last_error IS NOT NULL))
            END
        FROM jsonb_array_elements(r.document -> 'report_run') WITH ORDINALITY AS f(field, position)
    ) AS d;
$windrow$;
--# comment on function rule_result
COMMENT ON FUNCTION rule_result(run, run_rule) IS
    'What a run did by one rule, as a JSON document; run_result() has one for each.';

-- run_result: one run of the ledger as a document.
--# create function run_result
CREATE OR REPLACE FUNCTION run_result(p_run bigint)
RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
    -- Where a field is not of every spec or rule, json_object_agg leaves it out and keeps the order of the others.
    SELECT (
        SELECT json_object_agg(d.name, d.value ORDER BY d.position)
        FROM (
            VALUES
                (1, 'run', to_json(r.run_id)),
                (2, 'status', to_json(r.status)),
                (3, 'reason', to_json(r.reason)),
                (4, 'dry_run', to_json(r.dry_run)),
                (5, 'trigger', to_json(r.trigger)),
                (6, 'forced', to_json(true)),
                (7, 'as_of', to_json(r.as_of)),
                (8, 'started_at', to_json(r.started_at)),
                (9, 'finished_at', to_json(r.finished_at)),
                (10, 'duration_ms', to_json(duration_of(r))),
                (11, 'archive_pruned', to_json(pruned_by(r.run_id))),
                (12, 'rules', (SELECT json_agg(rule_result(r, p) ORDER BY u.position) FROM run_rule AS p LEFT JOIN rule AS u
                    ON u.rule = p.rule WHERE p.run_id = r.run_id))
        ) AS d(position, name, value)
        WHERE CASE d.name WHEN 'archive_pruned' THEN s.archives WHEN 'forced' THEN is_forced(r) ELSE true END
    )
    FROM run AS r
    CROSS JOIN spec AS s
    WHERE r.run_id = p_run;
$windrow$;
--# comment on function run_result
COMMENT ON FUNCTION run_result(bigint) IS
    'One run of the ledger as a JSON document. Example: SELECT run_result(1);';

-- begin_rule: what a run does before the first batch of a rule. Most runs find nothing that is due: a look that locks no row is enough
-- for that. Wherever more is to be done or said, or waited for, batches do it.
--# create function begin_rule
CREATE OR REPLACE FUNCTION begin_rule(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_now      timestamptz := clock_timestamp();
    v_run      run%ROWTYPE;
    v_progress run_rule%ROWTYPE;
    v_rule     rule%ROWTYPE;
    v_state    text;
    v_batches  bigint;
BEGIN
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    SELECT * INTO STRICT v_progress FROM run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule;
    IF NOT is_own(p_run) THEN
        RETURN 'the run was ended from outside';
    END IF;
    -- What a scope, a retention or an instant of its own means is left to batches, and what other runs left, what a dry run would
    -- delete, and what is shared out.
    IF (SELECT s.workers > 1 FROM spec AS s) THEN
        RETURN NULL;
    END IF;
    IF NOT (v_run.dry_run OR v_run.options ?| ARRAY['scope', 'retention', 'as_of'] OR v_run.waiting_for IS NOT NULL
        OR v_progress.start_time IS NOT NULL) THEN
        v_state := begin_step(p_run, p_rule);
        IF v_state IS NOT NULL THEN
            RETURN v_state;
        END IF;
        IF throttled(p_rule) IS NULL THEN
            SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
            PERFORM set_config('lock_timeout', setting_of(p_rule, 'lock_timeout') || 'ms', true);
            -- Errors that occur here would end the session.
            PERFORM set_config('exit_on_error', 'off', true);
            BEGIN
                -- How many batches would have looked and found nothing due; NULL: something is. A strategy that no rule has is not
                -- installed.
                IF v_rule.strategy IN ('removal-time', 'age') THEN
                    v_batches := timed_idle(p_rule, v_run.as_of);
                ELSIF v_rule.strategy = 'partition' THEN
                    v_batches := partition_idle(p_rule, v_run.as_of);
                ELSIF v_rule.strategy IN ('expiry', 'orphan', 'keep-last') THEN
                    v_batches := single_idle(p_rule, v_run.as_of, least(v_progress.batch_families, setting_of(p_rule, 'batch_rows')));
                ELSE
                    v_batches := end_time_idle(p_rule, v_run.as_of);
                END IF;
            EXCEPTION
                WHEN query_canceled THEN
                    RAISE;
                WHEN OTHERS OR assert_failure THEN
                    -- A batch meets the same, and says so.
                    v_batches := NULL;
            END;
        END IF;
    END IF;
    -- If the first batch ends the session, the rule had its turn: that is committed before.
    UPDATE run_rule AS r
    SET batches = coalesce(v_batches, r.batches),
        around = r.around OR v_batches IS NOT NULL,
        started_at = v_now,
        updated_at = v_now
    WHERE r.run_id = p_run
      AND r.rule = p_rule;
    RETURN CASE WHEN v_batches IS NOT NULL THEN 'nothing left' END;
END
$windrow$;
--# comment on function begin_rule
COMMENT ON FUNCTION begin_rule(bigint, text) IS
    'What a batch would answer, where that is found out without one: nothing left, or why the run should end. NULL: batches do it.';

-- step: one batch of a rule, by its strategy.
--# create function step
CREATE OR REPLACE FUNCTION step(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_strategy text := (SELECT r.strategy FROM rule AS r WHERE r.rule = p_rule);
    v_state    text;
BEGIN
    -- A strategy that no rule has is not installed.
    IF v_strategy IN ('removal-time', 'age') THEN
        v_state := timed_step(p_run, p_rule);
    ELSIF v_strategy = 'partition' THEN
        v_state := partition_step(p_run, p_rule);
    ELSIF v_strategy IN ('expiry', 'orphan', 'keep-last') THEN
        v_state := single_step(p_run, p_rule);
    ELSE
        v_state := end_time_step(p_run, p_rule);
    END IF;
    IF v_state = 'nothing left' THEN
        -- What lies before the place where it began comes last. Then the next run begins at the oldest.
        UPDATE run_rule AS r
        SET cursor_time = NULL,
            cursor_key = NULL,
            batch_families = coalesce(r.family_size, r.batch_families),
            family_size = NULL,
            around = true
        FROM (SELECT p.around OR p.start_time IS NULL AS is_through FROM run_rule AS p WHERE p.run_id = p_run AND p.rule = p_rule) AS o
        WHERE r.run_id = p_run
          AND r.rule = p_rule
        RETURNING CASE WHEN o.is_through THEN v_state ELSE 'again' END
        INTO v_state;
        IF v_state = 'again' AND v_strategy IN ('expiry', 'orphan', 'keep-last') THEN
            -- All single rows are examined once more: what is kept is counted again.
            DELETE FROM run_skip AS s
            WHERE s.run_id = p_run
              AND s.rule = p_rule;
        END IF;
    END IF;
    RETURN v_state;
END
$windrow$;
--# comment on function step
COMMENT ON FUNCTION step(bigint, text) IS
    'One batch of run p_run by p_rule, and its progress in the ledger, in the caller''s transaction. Answers more, again, or why the run '
    'should end. run() calls it and commits.';

-- preview: what a run would delete now.
--# create function preview
CREATE OR REPLACE FUNCTION preview(p_options jsonb DEFAULT '{}')
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_as_of   timestamptz;
    v_rule    rule%ROWTYPE;
    v_of      json;
    v_rules   json[] := '{}';
    v_several json;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'scope', 'retention', 'as_of', 'run_families', 'from']);
    v_as_of := check_run_options(p_options);
    FOR v_rule IN SELECT * FROM rule AS r WHERE r.rule = coalesce(p_options ->> 'rule', r.rule) ORDER BY r.position LOOP
        IF v_rule.strategy IN ('removal-time', 'age') THEN
            v_of := timed_preview(v_rule.rule, p_options, v_as_of);
        ELSIF v_rule.strategy = 'partition' THEN
            v_of := partition_preview(v_rule.rule, p_options, v_as_of);
        ELSIF v_rule.strategy IN ('expiry', 'orphan', 'keep-last') THEN
            v_of := single_preview(v_rule.rule, p_options, v_as_of);
        ELSE
            v_of := end_time_preview(v_rule.rule, p_options, v_as_of);
        END IF;
        v_rules := v_rules || v_of;
    END LOOP;
    -- A row that matches several rules is counted by each of them, and deleted once.
    SELECT json_object_agg(m.name, m.rules ORDER BY m.name COLLATE "C")
    INTO v_several
    FROM (
        SELECT t.name, json_agg(r.rule ORDER BY r.position) AS rules
        FROM rule AS r
        CROSS JOIN LATERAL unnest(r.tables) AS t(name)
        GROUP BY t.name
        HAVING count(*) > 1
    ) AS m;
    RETURN (
        SELECT json_object_agg(d.name, d.value ORDER BY d.position)
        FROM control AS c
        CROSS JOIN arming AS a
        CROSS JOIN LATERAL (
            VALUES
                (1, 'spec', to_json(c.spec)),
                (2, 'as_of', to_json(v_as_of)),
                (3, 'armed', to_json(a.reason IS NULL)),
                (4, 'not_armed', to_json(a.reason)),
                (5, 'paused', to_json(c.paused)),
                (6, 'rules', to_json(v_rules)),
                (7, 'counted_by_several', CASE WHEN p_options ? 'rule' THEN '{}' ELSE v_several END)
        ) AS d(position, name, value)
        WHERE d.name <> 'counted_by_several' OR v_several IS NOT NULL
    );
END
$windrow$;
--# comment on function preview
COMMENT ON FUNCTION preview(jsonb) IS
    'What a run with the same options would delete and skip now, by rule and table, as one JSON document. from: only what ended then '
    'or later, by the application''s clock; undated rows and scopes without a policy are left out. counted_by_several: tables whose '
    'rows may be counted by each of these rules, though each row is deleted once. Reads only, locks nothing. Example: SELECT '
    'preview(''{"run_families": '
    '100}'');';

-- purge_begin: opens the ledger for a purge of named families.
--# create function purge_begin
CREATE OR REPLACE FUNCTION purge_begin(p_options jsonb)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_control control%ROWTYPE;
    v_rule    text;
    v_run     bigint;
    v_catalog jsonb := catalog_now();
    v_key     text;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'key', 'dry_run', 'force']);
    FOREACH v_key IN ARRAY ARRAY['dry_run', 'force'] LOOP
        IF jsonb_typeof(p_options -> v_key) <> 'boolean' THEN
            RAISE EXCEPTION '% is not true or false: %', v_key, p_options -> v_key
                USING ERRCODE = '22023', HINT = format('Write {"%s": true}.', v_key);
        END IF;
    END LOOP;
    v_rule := check_rule(p_options);
    IF (SELECT r.strategy = 'partition' FROM rule AS r WHERE r.rule = v_rule) THEN
        RAISE EXCEPTION 'rule % drops whole partitions, and no single rows', v_rule
            USING ERRCODE = '0A000', HINT = 'Delete the rows by hand, or by another rule of the strategy age.';
    END IF;
    IF jsonb_typeof(p_options -> 'key') IS DISTINCT FROM 'array' OR jsonb_array_length(p_options -> 'key') = 0 THEN
        RAISE EXCEPTION 'the option key is not a list of keys'
            USING ERRCODE = '22023', HINT = 'Write it like {"key": [17, 18]}.';
    END IF;
    FOR v_key IN SELECT k.key FROM jsonb_array_elements_text(p_options -> 'key') AS k(key) LOOP
        PERFORM check_key(v_rule, v_key);
    END LOOP;
    SELECT * INTO STRICT v_control FROM control;
    IF v_control.paused THEN
        RAISE EXCEPTION '%', why_paused(v_control.paused_by, v_control.paused_at, v_control.paused_reason)
            USING ERRCODE = '55000', HINT = format('CALL %I.resume() first.', current_schema());
    END IF;
    IF rule_paused(v_rule) IS NOT NULL THEN
        RAISE EXCEPTION '%', rule_paused(v_rule)
            USING ERRCODE = '55000', HINT = format('SELECT %I.resume_rule(...) first.', current_schema());
    END IF;
    PERFORM check_armed();
    PERFORM check_catalog();
    IF (SELECT s.archives FROM spec AS s) THEN
        PERFORM check_archive(v_rule);
    END IF;
    PERFORM reap();
    INSERT INTO run (trigger, dry_run, options, as_of, deadline)
    VALUES ('PURGE', coalesce((p_options ->> 'dry_run')::boolean, false), p_options, clock_timestamp(), 'infinity')
    RETURNING run_id INTO v_run;
    PERFORM run_open(v_run, v_rule, v_catalog);
    -- Those of a purge that broke off are gone with it.
    DELETE FROM run_key AS k WHERE NOT EXISTS (SELECT FROM run AS r WHERE r.run_id = k.run_id AND r.status = 'running');
    INSERT INTO run_key (run_id, key, forced)
    SELECT DISTINCT v_run, k.key, coalesce((p_options ->> 'force')::boolean, false)
    FROM jsonb_array_elements_text(p_options -> 'key') AS k(key);
    PERFORM run_unlock();
    PERFORM take_lock();
    RETURN v_run;
END
$windrow$;
--# comment on function purge_begin
COMMENT ON FUNCTION purge_begin(jsonb) IS
    'Checks the options of purge() and opens the ledger.';

-- minimum_of: what a rule keeps, whoever asks for less.
--# create function minimum_of
CREATE OR REPLACE FUNCTION minimum_of(p_rule text, p_as_of timestamptz)
RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT json_build_object(
        'seconds', m.seconds,
        'safety_lag_seconds', m.lag,
        'before', to_char(
            CASE
                WHEN m.calendar IS NULL THEN p_as_of - make_interval(secs => m.seconds + m.lag)
                ELSE calendar_before(p_as_of, m.seconds + m.lag, m.calendar)
            END AT TIME ZONE 'UTC',
            'YYYY-MM-DD"T"HH24:MI:SS"Z"'
        )
    )
    FROM (
        SELECT r.minimum AS seconds, (r.document ->> 'safety_lag')::bigint AS lag, r.document ->> 'calendar' AS calendar
        FROM rule AS r
        WHERE r.rule = p_rule
    ) AS m
$windrow$;
--# comment on function minimum_of
COMMENT ON FUNCTION minimum_of(text, timestamptz) IS
    'The minimum retention and the safety lag of p_rule, in seconds, and the instant that lies so long before p_as_of, as the rule counts '
    'days.';

-- purge_end: closes the ledger of a purge.
--# create function purge_end
CREATE OR REPLACE FUNCTION purge_end(p_run bigint, p_keys text[], p_reasons text[], p_tied text[])
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = 0
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_run     run%ROWTYPE;
    v_rule    text;
    v_force   boolean;
    v_named   text[];
    v_keepers text;
BEGIN
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    v_rule := (SELECT r.rule FROM run_rule AS r WHERE r.run_id = p_run);
    v_force := is_forced(v_run);
    v_named := ARRAY(SELECT k.key FROM jsonb_array_elements_text(v_run.options -> 'key') AS k(key));
    -- Why others keep it, is not said by its own reason.
    IF is_own(p_run) AND NOT ARRAY['CANCELLED', 'PAUSED'] && p_reasons THEN
        SELECT json_object_agg(k.key, k.keeper ORDER BY k.key)::text
        INTO v_keepers
        FROM (
            SELECT s.key, keeper_of(v_rule, s.key, s.reason, v_named, v_run.as_of, v_force) AS keeper
            FROM unnest(p_keys, p_reasons) AS s(key, reason)
            WHERE s.reason IN ('SHARED_MEMBER', 'REFERENCED')
        ) AS k
        WHERE k.keeper IS NOT NULL;
    END IF;
    UPDATE run AS r
    SET status = CASE
            WHEN 'CANCELLED' = ANY (p_reasons) THEN 'cancelled'
            WHEN 'FAILED' = ANY (p_reasons) THEN 'failed'
            WHEN 'PAUSED' = ANY (p_reasons) THEN 'stopped'
            ELSE 'done'
        END,
        reason = CASE
            WHEN 'CANCELLED' = ANY (p_reasons) THEN 'cancelled'
            WHEN 'PAUSED' = ANY (p_reasons) THEN 'paused'
            WHEN cardinality(p_keys) = 0 THEN 'all named families are gone'
            WHEN cardinality(p_keys) = 1 THEN '1 named family is kept'
            ELSE format('%s named families are kept', cardinality(p_keys))
        END,
        finished_at = clock_timestamp()
    WHERE r.run_id = p_run
      AND is_own(p_run);
    IF FOUND THEN
        DELETE FROM run_key AS k WHERE k.run_id = p_run;
    END IF;
    -- Joined as text: jsonb would forget the order of the tables.
    RETURN (
        left(run_result(p_run)::text, -1) || ', "refused" : '
        || coalesce((SELECT json_object_agg(k.key, k.reason ORDER BY k.key) FROM unnest(p_keys, p_reasons) AS k(key, reason)),
            '{}')::text || ', "refused_with" : ' || coalesce(v_keepers, '{}')
        || CASE WHEN cardinality(p_tied) > 1 THEN format(', "together" : %s', to_json(p_tied)) ELSE '' END
        || CASE WHEN 'RETENTION_NOT_REACHED' = ANY (p_reasons) THEN format(', "minimum" : %s', minimum_of(v_rule, v_run.as_of)) ELSE '' END
        || '}'
    )::json;
END
$windrow$;
--# comment on function purge_end
COMMENT ON FUNCTION purge_end(bigint, text[], text[], text[]) IS
    'Closes purge p_run; answers run_result() with the refused keys and their reasons, and p_tied, the keys that one transaction deleted.';
