-- server_identity: what tells this database from its restored copies, clones and promoted standbys. Whoever changes the
-- port, the name of the cluster, the listen addresses or the place of the data arms anew; a restart, a minor upgrade and
-- another address of the host change nothing, unless arm() said until restart. Where the owner role may not read all
-- settings, the place of the data counts as unknown.
--# create function server_identity
CREATE OR REPLACE FUNCTION server_identity()
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT concat_ws(
        '/',
        s.system_identifier, greatest(k.timeline_id, r.min_recovery_end_timeline), current_setting('port'), d.oid, d.datname,
        current_setting('cluster_name'), current_setting('listen_addresses'),
        coalesce((SELECT p.setting FROM pg_settings AS p WHERE p.name = 'data_directory'), '?'),
        CASE WHEN c.server_identity LIKE '%/started %'
            THEN to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', '"started "YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END
    )
    FROM pg_control_system() AS s
    -- A promotion and a recovery to a point in time begin a new timeline: known from the recovery until the next checkpoint.
    CROSS JOIN pg_control_checkpoint() AS k
    CROSS JOIN pg_control_recovery() AS r
    CROSS JOIN pg_database AS d
    CROSS JOIN control AS c
    WHERE d.datname = current_database();
$windrow$;
--# comment on function server_identity
COMMENT ON FUNCTION server_identity() IS
    'System identifier, timeline, port, database, name of the cluster, listen addresses and data directory, and when the server has '
    'started where that counts; arm() stores it, and a run refuses when it has changed.';

-- open_hours: when scheduled runs may work.
--# create view open_hours
CREATE OR REPLACE VIEW open_hours AS
SELECT o.position, o.written, o.days, o.begins, o.ends, o.zone, o.changed_by, o.changed_at
FROM run_window AS o
UNION ALL
SELECT d.position::integer, d.written, d.days, d.begins, d.ends, d.zone, NULL, NULL
FROM spec AS s
CROSS JOIN LATERAL ROWS FROM (
    jsonb_to_recordset(s.document -> 'windows') AS (written text, days text, begins time, ends time, zone text)
) WITH ORDINALITY AS d(written, days, begins, ends, zone, position)
WHERE NOT EXISTS (SELECT FROM run_window);
--# comment on view open_hours
COMMENT ON VIEW open_hours IS
    'When scheduled runs may work: the windows that set_windows() wrote, else those of the spec.';

-- in_window: whether a window is open at an instant. The clock of its zone decides: what it shows twice, as it is put
-- back, is in the window both times, and what it leaves out is in none.
--# create function in_window
CREATE OR REPLACE FUNCTION in_window(p_at timestamptz)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT EXISTS (
        SELECT
        FROM open_hours AS h
        CROSS JOIN LATERAL (SELECT p_at AT TIME ZONE h.zone AS now) AS clock
        CROSS JOIN LATERAL (
            SELECT
                clock.now::time AS time,
                strpos(h.days, extract(isodow FROM clock.now)::text) > 0 AS today,
                strpos(h.days, extract(isodow FROM clock.now - interval '1 day')::text) > 0 AS yesterday
        ) AS it
        WHERE CASE
            WHEN h.begins < h.ends THEN it.today AND it.time >= h.begins AND it.time < h.ends
            ELSE (it.today AND it.time >= h.begins) OR (it.yesterday AND it.time < h.ends)
        END
    );
$windrow$;
--# comment on function in_window
COMMENT ON FUNCTION in_window(timestamptz) IS
    'Whether scheduled runs may work at an instant, by open_hours. Start inclusive, end exclusive, on the clock of each window''s zone. '
    'Example: SELECT in_window(now());';

-- record_skips: adds the families that a batch passed over to the ledger.
--# create function record_skips
CREATE OR REPLACE FUNCTION record_skips(p_run bigint, p_rule text, p_keys text[], p_reasons text[])
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    INSERT INTO run_skip AS r (run_id, rule, reason, families, sample_keys)
    SELECT p_run, p_rule, k.reason, count(*), (array_agg(k.key ORDER BY k.position))[1:10]
    FROM unnest(p_keys, p_reasons) WITH ORDINALITY AS k(key, reason, position)
    GROUP BY k.reason
    ON CONFLICT (run_id, rule, reason) DO UPDATE
    SET families = r.families + excluded.families,
        sample_keys = (r.sample_keys || excluded.sample_keys)[1:10];
$windrow$;
--# comment on function record_skips
COMMENT ON FUNCTION record_skips(bigint, text, text[], text[]) IS
    'Adds skipped families to table run_skip, by reason.';

-- record_pass: adds the rows that a batch deleted to the ledger, by the reason why they went.
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

-- check_run_options: the options of run() and preview(), checked before anything happens. Answers the pinned instant.
--# create function check_run_options
CREATE OR REPLACE FUNCTION check_run_options(p_options jsonb)
RETURNS timestamptz
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_of      record;
    v_workers integer := (SELECT s.workers FROM spec AS s);
    v_as_of   timestamptz := clock_timestamp();
BEGIN
    IF p_options ? 'rule' THEN
        PERFORM check_rule(p_options);
    END IF;
    IF p_options ? 'as_of' THEN
        v_as_of := instant_of(p_options ->> 'as_of');
        IF v_as_of IS NULL OR v_as_of > clock_timestamp() THEN
            RAISE EXCEPTION 'as_of is not an instant of the past: %', quote_nullable(p_options ->> 'as_of')
                USING ERRCODE = '22023', HINT = format('Write it like %s; without a zone it is UTC. It cannot lie after the clock of the '
                    'database.', to_char(clock_timestamp(), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
        END IF;
    END IF;
    FOR v_of IN
        SELECT
            r.rule, r.strategy, r.root, r.minimum, r.retained, r.time_name, r.zoned, r.scope_name, r.scope_pattern,
            CASE WHEN count(*) OVER () > 1 THEN ', or name another rule' END AS else_other
        FROM rule AS r
        ORDER BY r.position
    LOOP
        CONTINUE WHEN p_options ->> 'rule' <> v_of.rule;
        IF p_options ? 'retention' AND v_of.strategy = 'removal-time' THEN
            RAISE EXCEPTION 'rule % has no retention of its own', v_of.rule
                USING ERRCODE = '22023', HINT = format('The stored %s.%s holds it: leave the option retention out, or name another rule.',
                    v_of.root, v_of.time_name);
        ELSIF p_options ? 'retention' AND NOT v_of.retained THEN
            RAISE EXCEPTION 'rule % has no retention', v_of.rule
                USING ERRCODE = '22023', HINT = 'Its rows go whatever their age: leave the option retention out, or name another rule.';
        ELSIF seconds(p_options ->> 'retention') < v_of.minimum THEN
            RAISE EXCEPTION 'a retention of % is under the minimum of rule %', p_options ->> 'retention', v_of.rule
                USING ERRCODE = '22023', HINT = format('The minimum is %s; it stands in the spec.', in_words(v_of.minimum));
        END IF;
        IF p_options ? 'scope' AND v_of.scope_name IS NULL THEN
            RAISE EXCEPTION 'rule % has no scopes', v_of.rule
                USING ERRCODE = '22023', HINT = concat('Leave the option scope out', v_of.else_other, '.');
        ELSIF p_options ->> 'scope' !~ v_of.scope_pattern THEN
            RAISE EXCEPTION 'not a scope of rule %: %', v_of.rule, quote_literal(p_options ->> 'scope')
                USING ERRCODE = '22023', HINT = format('A scope is a value of %s.%s.', v_of.root, v_of.scope_name);
        END IF;
    END LOOP;
    IF p_options ? 'from' THEN
        FOR v_of IN
            SELECT r.rule, CASE WHEN count(*) OVER () > 1 THEN ', or name another rule' END AS else_other
            FROM rule AS r
            WHERE r.strategy IN ('expiry', 'orphan', 'keep-last')
              AND coalesce(p_options ->> 'rule', r.rule) = r.rule
            ORDER BY r.position
            LIMIT 1
        LOOP
            RAISE EXCEPTION 'rule % does not go along a time', v_of.rule
                USING ERRCODE = '22023', HINT = concat('Leave the option from out', v_of.else_other, '.');
        END LOOP;
        IF instant_of(p_options ->> 'from') IS NULL THEN
            RAISE EXCEPTION 'from is not a time: %', quote_nullable(p_options ->> 'from')
                USING ERRCODE = '22023', HINT = 'Write it like 2026-01-31T12:00:00, by the clock of the application.';
        END IF;
        FOR v_of IN
            SELECT r.root, r.time_name
            FROM rule AS r
            WHERE NOT r.zoned
              AND p_options ->> 'from' ~ ':.*[Z+-]'
              AND coalesce(p_options ->> 'rule', r.rule) = r.rule
            ORDER BY r.position
            LIMIT 1
        LOOP
            RAISE EXCEPTION 'from has a zone: %', quote_nullable(p_options ->> 'from')
                USING ERRCODE = '22023', HINT = format('Write it like 2026-01-31T12:00:00, by the clock of the application: %s.%s has no '
                    'zone.', v_of.root, v_of.time_name);
        END LOOP;
    END IF;
    IF p_options ? 'run_families' AND (p_options ->> 'run_families' !~ '^[1-9][0-9]{0,17}$') IS NOT FALSE THEN
        RAISE EXCEPTION 'run_families is not a number above 0: %', quote_nullable(p_options ->> 'run_families')
            USING ERRCODE = '22023', HINT = 'Write it like {"run_families": 100}.';
    END IF;
    IF p_options ? 'time_budget' AND coalesce(seconds(p_options ->> 'time_budget'), 0) <= 0 THEN
        RAISE EXCEPTION 'time_budget is not a duration above 0: %', quote_nullable(p_options ->> 'time_budget')
            USING ERRCODE = '22023', HINT = 'Write it like {"time_budget": "10m"}.';
    END IF;
    IF p_options ? 'dry_run' AND jsonb_typeof(p_options -> 'dry_run') <> 'boolean' THEN
        RAISE EXCEPTION 'dry_run is not true or false: %', p_options -> 'dry_run'
            USING ERRCODE = '22023', HINT = 'Write {"dry_run": true}.';
    END IF;
    IF p_options ? 'worker' AND NOT coalesce(
        jsonb_typeof(p_options -> 'worker') = 'number' AND p_options ->> 'worker' ~ '^[1-9][0-9]?$'
            AND (p_options ->> 'worker')::integer <= v_workers,
        false
    ) THEN
        RAISE EXCEPTION 'worker is not a number from 1 to %: %', v_workers, quote_nullable(p_options ->> 'worker')
            USING ERRCODE = '22023', HINT = 'The spec says how many workers there are; without the option it is the first.';
    END IF;
    IF p_options ? 'trigger' AND (p_options ->> 'trigger' IN ('MANUAL', 'SCHEDULED')) IS NOT TRUE THEN
        RAISE EXCEPTION 'trigger is neither MANUAL nor SCHEDULED: %', quote_nullable(p_options ->> 'trigger')
            USING ERRCODE = '22023', HINT = 'Leave it out: MANUAL is the default.';
    END IF;
    RETURN v_as_of;
END
$windrow$;
--# comment on function check_run_options
COMMENT ON FUNCTION check_run_options(jsonb) IS
    'Raises 22023 with a hint for an option that makes no sense; answers the instant from which cutoffs are counted.';

-- take_lock: the session's lock says that its run goes on: it outlives COMMIT and ends with the session at the latest. Any
-- session may take any advisory lock, so nothing waits for this one: its number is free, and it counts for its own session.
--# create function take_lock
CREATE OR REPLACE FUNCTION take_lock()
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    WHILE NOT pg_try_advisory_lock((SELECT s.lock_class FROM spec AS s), 16 + floor(random() * 2147483000)::integer) LOOP
    END LOOP;
END
$windrow$;
--# comment on function take_lock
COMMENT ON FUNCTION take_lock() IS
    'Takes the lock by which others see that the run of this session goes on.';

-- holds_lock: whether a session has the lock of a run, which it takes at the begin and gives back at the end.
--# create function holds_lock
CREATE OR REPLACE FUNCTION holds_lock(p_pid integer)
RETURNS boolean
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT EXISTS (
        SELECT FROM pg_locks AS l
        WHERE l.locktype = 'advisory'
          AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
          AND l.pid = p_pid
          AND l.classid::bigint = (SELECT s.lock_class FROM spec AS s)
          AND l.objid::bigint >= 16
          AND l.objsubid = 2
    );
$windrow$;
--# comment on function holds_lock
COMMENT ON FUNCTION holds_lock(integer) IS
    'Whether the session p_pid has the lock of a run.';

-- is_alive: whether the call that opened a run of the ledger still goes on.
-- An error that nothing can catch, such as a cancel between two batches, leaves the lock of the run to a session that
-- does nothing: a session at work has a transaction, but for an instant at COMMIT.
--# create function is_alive
CREATE OR REPLACE FUNCTION is_alive(p_pid integer)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF p_pid = pg_backend_pid() OR NOT holds_lock(p_pid) THEN
        RETURN false;
    END IF;
    FOR v_look IN 1..10 LOOP
        IF EXISTS (SELECT FROM pg_locks AS l WHERE l.locktype = 'virtualxid' AND l.pid = p_pid) THEN
            RETURN true;
        END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
    RETURN false;
END
$windrow$;
--# comment on function is_alive
COMMENT ON FUNCTION is_alive(integer) IS
    'Whether the session p_pid, which opened a run, still works on it.';

-- run_unlock: gives back the locks of this session's runs.
--# create function run_unlock
CREATE OR REPLACE FUNCTION run_unlock()
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT pg_advisory_unlock(l.classid::bigint::integer, l.objid::bigint::integer)
    FROM pg_locks AS l
    WHERE l.locktype = 'advisory'
      AND l.pid = pg_backend_pid()
      AND l.classid::bigint = (SELECT s.lock_class FROM spec AS s)
      AND l.objid::bigint >= 16
      AND l.objsubid = 2;
$windrow$;
--# comment on function run_unlock
COMMENT ON FUNCTION run_unlock() IS
    'Gives back the locks of the runs of this session; a session has one run at a time.';

-- reap: closes the runs of the ledger that say running, though their call is over: its session vanished, or an error
-- that nothing can catch ended it between two batches. What they committed stays.
--# create function reap
CREATE OR REPLACE FUNCTION reap()
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_run    run%ROWTYPE;
    v_own    boolean;
    v_closed bigint := 0;
BEGIN
    FOR v_run IN SELECT * FROM run AS r WHERE r.status = 'running' ORDER BY r.run_id LOOP
        IF NOT is_alive(v_run.backend_pid) THEN
            v_own := holds_lock(pg_backend_pid());
            UPDATE run AS r
            SET status = CASE WHEN v_own THEN 'cancelled' ELSE 'crashed' END,
                reason = CASE WHEN v_own THEN 'cancelled' ELSE 'its session vanished; what it committed stays' END,
                finished_at = greatest(
                    (SELECT max(p.updated_at) FROM run_rule AS p WHERE p.run_id = r.run_id),
                    (SELECT max(p.updated_at) FROM run_stamp AS p WHERE p.run_id = r.run_id)
                )
            WHERE r.run_id = v_run.run_id
              AND r.status = 'running';
            v_closed := v_closed + 1;
        END IF;
    END LOOP;
    PERFORM run_unlock();
    RETURN v_closed;
END
$windrow$;
--# comment on function reap
COMMENT ON FUNCTION reap() IS
    'Closes the runs of the ledger whose call is over, which the next run does too, and answers how many. Example: SELECT reap();';

-- is_own: a run of the ledger is driven only by the session that opened it, and only while it is open. PL/pgSQL keeps the
-- plan, as in all that is asked before every batch.
--# create function is_own
CREATE OR REPLACE FUNCTION is_own(p_run bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN EXISTS (
        SELECT FROM run AS r
        WHERE r.run_id = p_run
          AND r.status = 'running'
          AND r.backend_pid = pg_backend_pid()
    );
END
$windrow$;
--# comment on function is_own
COMMENT ON FUNCTION is_own(bigint) IS
    'Whether run p_run is open and belongs to this session.';

-- run_begin: takes the lock and opens the ledger, or says why not.
--# create function run_begin
CREATE OR REPLACE FUNCTION run_begin(p_options jsonb, OUT o_run bigint, OUT o_refused text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_control control%ROWTYPE;
    v_spec    spec%ROWTYPE;
    v_as_of   timestamptz;
    v_dry_run boolean;
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
    SELECT * INTO STRICT v_control FROM control;
    o_refused := held_back(p_options);
    IF o_refused IS NOT NULL THEN
        RETURN;
    END IF;
    IF NOT v_dry_run THEN
        IF NOT v_control.armed THEN
            RAISE EXCEPTION 'not armed: nothing is deleted before someone said so'
                USING ERRCODE = '55000', HINT = format('Read SELECT %I.preview(), then CALL %I.arm().', current_schema(), current_schema());
        END IF;
        IF v_control.server_identity IS DISTINCT FROM server_identity() THEN
            RAISE EXCEPTION 'armed on another server: %', v_control.server_identity
                USING ERRCODE = '55000', HINT = format('This looks like a restored copy or a clone. If it is to be cleaned too: CALL '
                    '%I.arm().', current_schema());
        END IF;
    END IF;
    -- What a scheduled run is refused for, held_back() has looked at.
    IF p_options ->> 'trigger' IS DISTINCT FROM 'SCHEDULED' THEN
        PERFORM check_catalog();
    END IF;
    IF v_spec.archives THEN
        PERFORM check_archive(p_options ->> 'rule');
    END IF;

    -- One run at a time of each worker, and those at a time do the same. A purge of named families or a stamp may go on beside
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
        clock_timestamp() + make_interval(secs => coalesce(seconds(p_options ->> 'time_budget'), setting_of(first_rule(), 'time_budget')))
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

-- run_open: the progress rows of a run, one per rule.
--# create function run_open
CREATE OR REPLACE FUNCTION run_open(p_run bigint, p_rule text, p_catalog jsonb)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    INSERT INTO catalog_state (run_id, state)
    VALUES (p_run, p_catalog);
    INSERT INTO run_rule (run_id, rule, batch_families, table_names, table_rows)
    SELECT
        p_run, r.rule, coalesce(setting_of(r.rule, 'batch_families'), setting_of(r.rule, 'batch_rows')),
        r.tables, array_fill(0::bigint, ARRAY[cardinality(r.tables)])
    FROM rule AS r
    WHERE p_rule IS NULL OR r.rule = p_rule;
$windrow$;
--# comment on function run_open
COMMENT ON FUNCTION run_open(bigint, text, jsonb) IS
    'Opens the progress rows of run p_run, for one rule or all, and notes p_catalog, what catalog_now() said before it was judged.';

-- run_end: closes the ledger and prunes it.
--# create function run_end
CREATE OR REPLACE FUNCTION run_end(p_run bigint, p_reasons text[])
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
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
        -- What was locked, where nobody will look at it once more.
        PERFORM record_skips(p_run, c.rule, c.left_keys, array_fill('LOCKED'::text, ARRAY[cardinality(c.left_keys)]))
        FROM run_claim AS c
        JOIN sweep AS s ON s.rule = c.rule
        WHERE c.run_id = p_run
          AND cardinality(c.left_keys) > 0
          AND NOT s.handed_out
          AND at_others(p_run, c.rule, false) IS NULL;
    END IF;
    SELECT r.reason
    INTO v_reason
    FROM unnest(p_reasons) AS r(reason)
    WHERE r.reason IS NOT NULL
    ORDER BY r.reason LIKE 'error %' DESC, r.reason = 'cancelled' DESC, r.reason = 'nothing left', r.reason LIKE 'rule %'
    LIMIT 1;
    v_status := CASE
        WHEN v_reason LIKE 'error %' THEN 'failed'
        WHEN v_reason = 'cancelled' THEN 'cancelled'
        WHEN EXISTS (SELECT FROM run_failure AS f WHERE f.run_id = p_run AND f.sqlstate NOT IN ('55P03', '40P01', '40001')) THEN 'failed'
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

    -- The ledger keeps itself small; what it counted stays in the metrics.
    PERFORM tally_up();
    v_days := setting_of(first_rule(), 'ledger_days');
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
    DELETE FROM run_stamp AS p WHERE p.run_id = ANY (v_old);
    IF v_spec.workers > 1 THEN
        DELETE FROM run_claim AS c WHERE c.run_id = ANY (v_old);
    END IF;
    DELETE FROM run_sweep AS o WHERE o.run_id = ANY (v_old);
    DELETE FROM run_rule AS p WHERE p.run_id = ANY (v_old);
    DELETE FROM catalog_state AS s WHERE s.run_id > 0
        AND NOT EXISTS (SELECT FROM run AS r WHERE r.run_id = s.run_id AND r.status = 'running');
    DELETE FROM run AS r WHERE r.run_id = ANY (v_old);
    -- The last change of a setting stays: it says who has set the present value.
    DELETE FROM setting_log AS l
    WHERE l.changed_at < clock_timestamp() - make_interval(days => v_days::integer)
      -- Who makes the ledger forget earlier is not forgotten.
      AND l.name <> 'ledger_days'
      AND EXISTS (SELECT FROM setting_log AS n WHERE n.rule = l.rule AND n.name = l.name AND n.log_id > l.log_id);

    RETURN run_result(p_run);
END
$windrow$;
--# comment on function run_end
COMMENT ON FUNCTION run_end(bigint, text[]) IS
    'Closes run p_run: status, reason, pruning of the ledger by ledger_days. Answers run_result().';

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
                (11, 'failures', e.failures)
        ) AS v(position, name, value)
        WHERE v.name <> 'passes' OR r.strategy IN ('expiry', 'orphan', 'keep-last')
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
                WHEN 'artifact_failures' THEN to_json((SELECT count(*) FROM artifact AS a WHERE a.rule = p.rule
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
                (6, 'as_of', to_json(r.as_of)),
                (7, 'started_at', to_json(r.started_at)),
                (8, 'finished_at', to_json(r.finished_at)),
                (9, 'duration_ms', to_json(duration_of(r))),
                (10, 'archive_pruned', to_json(pruned_by(r.run_id))),
                (11, 'rules', (SELECT json_agg(rule_result(r, p) ORDER BY u.position) FROM run_rule AS p LEFT JOIN rule AS u
                    ON u.rule = p.rule WHERE p.run_id = r.run_id))
        ) AS d(position, name, value)
        WHERE d.name <> 'archive_pruned' OR s.archives
    )
    FROM run AS r
    CROSS JOIN spec AS s
    WHERE r.run_id = p_run;
$windrow$;
--# comment on function run_result
COMMENT ON FUNCTION run_result(bigint) IS
    'One run of the ledger as a JSON document. Example: SELECT run_result(1);';

-- foreign_code: what code of somebody else runs inside a batch, or inside archive_restore(). It has the rights of the owner
-- role there; but what it puts off until the COMMIT runs with those of who called.
-- One plan serves all calls of a session: to plan costs more than to look.
--# create function foreign_code
CREATE OR REPLACE FUNCTION foreign_code(p_restores boolean)
RETURNS TABLE (code text, table_name text, belongs_to text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_tables oid[];
    v_is_set boolean[];
    v_calls  boolean := EXISTS (
        SELECT
        FROM pg_depend AS d
        WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
          AND d.classid IN ('pg_class'::regclass, 'pg_statistic_ext'::regclass, 'pg_attrdef'::regclass, 'pg_constraint'::regclass)
    );
BEGIN
    -- Many databases have no trigger that somebody made, and nothing that calls a function of somebody's.
    IF NOT v_calls AND NOT EXISTS (
        SELECT
        FROM pg_trigger AS g
        JOIN pg_proc AS p ON p.oid = g.tgfoid
        WHERE NOT g.tgisinternal
          AND p.pronamespace <> current_schema()::regnamespace
    ) THEN
        RETURN;
    END IF;
    WITH RECURSIVE reached (oid, is_set) AS (
        SELECT t.oid, cardinality(s.sets) > 0 OR p_restores
        FROM known_table AS s
        JOIN spec AS m ON true
        JOIN pg_class AS t ON t.oid = to_regclass(format('%I.%I', m.schema_name, s.name))
        WHERE CASE WHEN p_restores THEN s.is_archived ELSE s.goes OR cardinality(s.sets) > 0 END
        UNION
        SELECT x.oid, x.is_set
        FROM reached AS r
        CROSS JOIN LATERAL (
            SELECT f.conrelid, f.confdeltype <> 'c'
            FROM key_events AS g
            JOIN pg_constraint AS f ON f.oid = g.key_id AND f.contype = 'f' AND f.confrelid = r.oid
            WHERE g.table_id = r.oid
              AND f.confdeltype IN ('c', 'n', 'd')
              AND NOT p_restores
            UNION ALL
            SELECT i.inhrelid, r.is_set FROM pg_inherits AS i WHERE i.inhparent = r.oid
        ) AS x(oid, is_set)
    )
    SELECT array_agg(r.oid), array_agg(r.is_set)
    INTO v_tables, v_is_set
    FROM reached AS r;
    RETURN QUERY
    SELECT x.code, x.class::text, x.owner::text
    FROM (
        SELECT DISTINCT format('trigger %I', g.tgname) AS code, t.oid::regclass AS class, CASE WHEN o.rolsuper THEN p.proowner
            ELSE t.relowner END::regrole AS owner
        FROM unnest(v_tables, v_is_set) AS r(oid, is_set)
        JOIN pg_class AS t ON t.oid = r.oid
        JOIN pg_roles AS o ON o.oid = t.relowner
        -- INSERT, or else DELETE or UPDATE; a row that is set may move to another partition, which is an INSERT there.
        JOIN pg_trigger AS g ON g.tgrelid = t.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgtype & CASE WHEN p_restores THEN 4
            WHEN r.is_set THEN 28 ELSE 24 END <> 0
        JOIN pg_proc AS p ON p.oid = g.tgfoid
        JOIN pg_roles AS q ON q.oid = p.proowner
        WHERE NOT (o.rolsuper AND q.rolsuper)
          AND p.pronamespace <> current_schema()::regnamespace
    ) AS x
    ORDER BY x.class::text, x.code;
    IF NOT v_calls THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH planned (oid, is_set) AS (
        SELECT r.oid, r.is_set
        FROM unnest(v_tables, v_is_set) AS r(oid, is_set)
        UNION
        -- What is read, too: the owner has rights on it.
        SELECT coalesce(p.relid, d.objid), false
        FROM pg_shdepend AS d
        LEFT JOIN LATERAL pg_partition_tree(d.objid) AS p ON true
        WHERE d.refclassid = 'pg_authid'::regclass
          AND d.refobjid = current_user::regrole
          AND d.dbid = (SELECT b.oid FROM pg_database AS b WHERE b.datname = current_database())
          AND d.classid = 'pg_class'::regclass
          AND d.deptype = 'a'
          AND NOT p_restores
    )
    SELECT x.code, x.class::text, x.owner::text
    FROM (
        -- What a column that is set calls: defaults, generated columns, checks of tables and domains, indexes, partitions. The
        -- planner calls functions of indexes, statistics, checks and partitions, even of tables that are only read.
        SELECT DISTINCT format('function %s', p.oid::regprocedure) AS code, r.oid::regclass AS class, p.proowner::regrole AS owner
        FROM planned AS r
        CROSS JOIN LATERAL (
            SELECT 'pg_class'::regclass, i.indexrelid FROM pg_index AS i WHERE i.indrelid = r.oid
            UNION ALL
            SELECT 'pg_statistic_ext'::regclass, s.oid FROM pg_statistic_ext AS s WHERE s.stxrelid = r.oid
            UNION ALL
            SELECT 'pg_attrdef'::regclass, f.oid FROM pg_attrdef AS f WHERE f.adrelid = r.oid AND r.is_set
            UNION ALL
            SELECT 'pg_constraint'::regclass, c.oid FROM pg_constraint AS c WHERE c.conrelid = r.oid
            UNION ALL
            SELECT 'pg_constraint'::regclass, c.oid FROM pg_attribute AS a JOIN pg_constraint AS c ON c.contypid = a.atttypid
                WHERE a.attrelid = r.oid AND r.is_set
            UNION ALL
            SELECT 'pg_class'::regclass, r.oid
        ) AS k(classid, objid)
        JOIN pg_depend AS d ON d.classid = k.classid AND d.objid = k.objid
        LEFT JOIN pg_operator AS n ON d.refclassid = 'pg_operator'::regclass AND n.oid = d.refobjid
        JOIN pg_proc AS p ON p.oid = CASE WHEN d.refclassid = 'pg_proc'::regclass THEN d.refobjid ELSE n.oprcode END
        JOIN pg_roles AS q ON q.oid = p.proowner
        WHERE NOT q.rolsuper
    ) AS x
    ORDER BY x.class::text, x.code;
END
$windrow$;
--# comment on function foreign_code
COMMENT ON FUNCTION foreign_code(boolean) IS
    'Code that is not a superuser''s and runs when rows are read, go or are set, or (p_restores) when archived rows come back: triggers '
    'and functions of the tables and of those that their foreign keys reach.';

-- check_caller: who has all rights must not lend them to the application. A deferred trigger runs at COMMIT with the rights
-- of the caller, before version 18, and a trigger of any kind may bring it about; a cursor WITH HOLD is read then, on any
-- version. So a superuser's call is refused where such code is, before the run and before each COMMIT: until then the locks
-- of the batch keep the triggers as they are. archive_restore() commits nothing, but its caller will.
--# create function check_caller
CREATE OR REPLACE FUNCTION check_caller(p_caller text, p_restores boolean)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_code record;
BEGIN
    -- Also one who has become somebody else by SET ROLE or SET SESSION AUTHORIZATION, and whoever can become a superuser.
    IF NOT EXISTS (
        SELECT FROM pg_roles AS r
        CROSS JOIN pg_stat_get_activity(pg_backend_pid()) AS a
        WHERE (r.rolsuper OR r.rolname IN ('pg_execute_server_program', 'pg_write_server_files'))
          AND (pg_has_role(p_caller, r.oid, 'MEMBER') OR pg_has_role(session_user, r.oid, 'MEMBER')
              OR pg_has_role(a.usesysid, r.oid, 'MEMBER'))
    ) THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM pg_cursors AS c WHERE c.is_holdable) THEN
        RAISE EXCEPTION 'a cursor WITH HOLD is open, and COMMIT would read it with the rights of a superuser'
            USING ERRCODE = '42501', HINT = format('Where a trigger of the application opened it, call this as a member of %I that is no '
                'superuser; else close it first.', current_schema() || '_operator');
    END IF;
    IF current_setting('server_version_num')::integer >= 180000 THEN
        RETURN;
    END IF;
    -- An older snapshot shows no trigger that came since: then nobody else may be able to create one.
    IF p_restores AND current_setting('transaction_isolation') <> 'read committed' AND EXISTS (
        SELECT
        FROM known_table AS s
        JOIN spec AS n ON true
        JOIN pg_class AS t ON t.oid = to_regclass(format('%I.%I', n.schema_name, s.name))
        CROSS JOIN LATERAL (
            SELECT t.relowner
            UNION ALL
            SELECT a.grantee FROM aclexplode(t.relacl) AS a WHERE a.privilege_type = 'TRIGGER'
        ) AS m(oid)
        LEFT JOIN pg_roles AS r ON r.oid = m.oid
        WHERE s.is_archived
          AND r.rolsuper IS NOT TRUE
          AND m.oid <> current_user::regrole
    ) THEN
        RAISE EXCEPTION 'the transaction is %, and would not see a trigger that came after it began',
            current_setting('transaction_isolation')
            USING ERRCODE = '25001', HINT = format('BEGIN ISOLATION LEVEL READ COMMITTED, or call this as a member of %I that is no '
                'superuser.', current_schema() || '_operator');
    END IF;
    FOR v_code IN SELECT * FROM foreign_code(p_restores) AS c LOOP
        RAISE EXCEPTION '% of table % belongs to %, and what it defers would run at COMMIT with the rights of a superuser', v_code.code,
            v_code.table_name, v_code.belongs_to
            USING ERRCODE = '42501', HINT = format('Before PostgreSQL 18 a deferred trigger runs with the rights of the caller: call this '
                'as a member of %I that is no superuser.', current_schema() || '_operator');
    END LOOP;
END
$windrow$;
--# comment on function check_caller
COMMENT ON FUNCTION check_caller(text, boolean) IS
    'Raises 42501 where a superuser calls what commits, or (p_restores) brings archived rows back, and code of somebody else could act at '
    'the COMMIT with his rights.';

-- step: one batch of a rule, by its strategy.
--# create function step
CREATE OR REPLACE FUNCTION step(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_strategy text := (SELECT r.strategy FROM rule AS r WHERE r.rule = p_rule);
BEGIN
    IF v_strategy IN ('removal-time', 'age') THEN
        RETURN timed_step(p_run, p_rule);
    ELSIF v_strategy IN ('expiry', 'orphan', 'keep-last') THEN
        RETURN single_step(p_run, p_rule);
    END IF;
    RETURN end_time_step(p_run, p_rule);
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
SET timezone = 'UTC'
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
        ELSIF v_rule.strategy IN ('expiry', 'orphan', 'keep-last') THEN
            v_of := single_preview(v_rule.rule, p_options, v_as_of);
        ELSE
            v_of := end_time_preview(v_rule.rule, p_options, v_as_of);
        END IF;
        v_rules := v_rules || v_of;
    END LOOP;
    -- A row that several rules would take is counted by each of them, and goes once.
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
        CROSS JOIN LATERAL (
            VALUES
                (1, 'spec', to_json(c.spec)),
                (2, 'as_of', to_json(v_as_of)),
                (3, 'armed', to_json(c.armed)),
                (4, 'paused', to_json(c.paused)),
                (5, 'rules', to_json(v_rules)),
                (6, 'counted_by_several', CASE WHEN p_options ? 'rule' THEN '{}' ELSE v_several END)
        ) AS d(position, name, value)
        WHERE d.name <> 'counted_by_several' OR v_several IS NOT NULL
    );
END
$windrow$;
--# comment on function preview
COMMENT ON FUNCTION preview(jsonb) IS
    'What a run with the same options would delete and skip now, by rule and table, as one JSON document. from: only what ended then or '
    'later, by the clock of the application; undated rows and scopes without a policy are left out. counted_by_several: tables of which a '
    'row may be counted by each of these rules, though it goes once. Reads only, locks nothing. Example: SELECT preview(''{"run_families": '
    '100}'');';

-- purge_begin: opens the ledger for a purge of named families.
--# create function purge_begin
CREATE OR REPLACE FUNCTION purge_begin(p_options jsonb)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_control control%ROWTYPE;
    v_rule    text;
    v_run     bigint;
    v_catalog jsonb := catalog_now();
    v_key     text;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'key', 'dry_run']);
    v_rule := check_rule(p_options);
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
    IF NOT v_control.armed OR v_control.server_identity IS DISTINCT FROM server_identity() THEN
        RAISE EXCEPTION 'not armed on this server: nothing is deleted before someone said so'
            USING ERRCODE = '55000', HINT = format('CALL %I.arm() first.', current_schema());
    END IF;
    PERFORM check_catalog();
    IF (SELECT s.archives FROM spec AS s) THEN
        PERFORM check_archive(v_rule);
    END IF;
    PERFORM reap();
    INSERT INTO run (trigger, dry_run, options, as_of, deadline)
    VALUES ('PURGE', coalesce((p_options ->> 'dry_run')::boolean, false), p_options, clock_timestamp(), 'infinity')
    RETURNING run_id INTO v_run;
    PERFORM run_open(v_run, v_rule, v_catalog);
    PERFORM run_unlock();
    PERFORM take_lock();
    RETURN v_run;
END
$windrow$;
--# comment on function purge_begin
COMMENT ON FUNCTION purge_begin(jsonb) IS
    'Checks the options of purge() and opens the ledger.';

-- purge_end: closes the ledger of a purge.
--# create function purge_end
CREATE OR REPLACE FUNCTION purge_end(p_run bigint, p_keys text[], p_reasons text[])
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
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
            WHEN cardinality(p_keys) = 1 THEN '1 named family stays'
            ELSE format('%s named families stay', cardinality(p_keys))
        END,
        finished_at = clock_timestamp()
    WHERE r.run_id = p_run
      AND is_own(p_run);
    -- Joined as text: jsonb would forget the order of the tables.
    RETURN (
        left(run_result(p_run)::text, -1) || ', "refused" : '
        || coalesce((SELECT json_object_agg(k.key, k.reason ORDER BY k.key) FROM unnest(p_keys, p_reasons) AS k(key, reason)),
            '{}')::text || '}'
    )::json;
END
$windrow$;
--# comment on function purge_end
COMMENT ON FUNCTION purge_end(bigint, text[], text[]) IS
    'Closes purge p_run; answers run_result() with the refused keys and their reasons.';

-- pause, resume: the kill switch. A running purge obeys before its next batch.
--# create procedure pause
CREATE OR REPLACE PROCEDURE pause(p_reason text DEFAULT NULL)
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    UPDATE control
    SET paused = true,
        paused_by = session_user,
        paused_at = clock_timestamp(),
        paused_reason = p_reason;
$windrow$;
--# comment on procedure pause
COMMENT ON PROCEDURE pause(text) IS
    'Stops a running purge before its next batch and refuses new ones. Example: CALL pause(''month-end closing'');';
--# create procedure resume
CREATE OR REPLACE PROCEDURE resume()
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    UPDATE control
    SET paused = false,
        paused_by = NULL,
        paused_at = NULL,
        paused_reason = NULL;
$windrow$;
--# comment on procedure resume
COMMENT ON PROCEDURE resume() IS
    'Allows runs again after pause(). Example: CALL resume();';

-- arm: from now on runs may delete on this server. Notes the orphans that were there before.
-- The one of earlier versions took no options; with both, a call without any would name neither.
--# drop procedure arm of earlier versions
DO $windrow$
BEGIN
    DROP PROCEDURE IF EXISTS arm();
END
$windrow$;
--# create procedure arm
CREATE OR REPLACE PROCEDURE arm(p_options jsonb DEFAULT '{}')
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    PERFORM check_options(p_options, ARRAY['until']);
    IF coalesce(p_options ->> 'until', 'restart') <> 'restart' THEN
        RAISE EXCEPTION 'until is not "restart": %', quote_literal(p_options ->> 'until')
            USING ERRCODE = '22023', HINT = 'Leave it out, or write {"until": "restart"}: then a server that has started since is not '
                'armed.';
    END IF;
    UPDATE control
    SET server_identity = CASE WHEN p_options ->> 'until' IS NOT NULL THEN '/started ' END;
    -- The tables are taken as they are now; what acts on them must be in the spec.
    DELETE FROM catalog_state AS s WHERE s.run_id = 0;
    INSERT INTO catalog_state (run_id, state)
    VALUES (0, catalog_now());
    PERFORM check_catalog();
    UPDATE control
    SET armed = true,
        armed_by = session_user,
        armed_at = clock_timestamp(),
        armed_rules = ARRAY(SELECT r.rule FROM rule AS r ORDER BY r.position),
        server_identity = server_identity(),
        orphans_at_arm = (SELECT jsonb_object_agg(o.edge, o.orphans) FROM orphans() AS o);
    -- What refused on other servers, or here, is over.
    DELETE FROM refusal;
END
$windrow$;
--# comment on procedure arm
COMMENT ON PROCEDURE arm(jsonb) IS
    'Allows runs to delete on this server, unless something acts on its tables that the spec does not know; needed once after the '
    'installation, and again after a new rule was installed, and after a restore, clone or promotion. until: "restart" ends it with the '
    'next start of the server, for those who clone by snapshots of the storage. Examples: CALL arm(); CALL arm(''{"until": "restart"}'');';

-- set_policy, drop_policy: who is cleaned, and after how long.
--# create function set_policy
CREATE OR REPLACE FUNCTION set_policy(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule      text;
    v_scope     text := p_options ->> 'scope';
    v_default   bigint;
    v_minimum   bigint;
    v_pattern   text;
    v_retention bigint;
    v_policy    policy%ROWTYPE;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'scope', 'retention', 'enabled', 'artifacts', 'note']);
    v_rule := check_rule(p_options);
    SELECT r.retention, r.minimum, r.scope_pattern
    INTO STRICT v_default, v_minimum, v_pattern
    FROM rule AS r
    WHERE r.rule = v_rule;
    IF v_pattern IS NULL THEN
        RAISE EXCEPTION 'rule % has no scopes', v_rule
            USING ERRCODE = '22023', HINT = 'Policies are for rules with scopes; the retention of this one stands in the spec.';
    END IF;
    IF (v_scope ~ v_pattern) IS NOT TRUE THEN
        RAISE EXCEPTION 'not a scope of rule %: %', v_rule, quote_nullable(v_scope)
            USING ERRCODE = '22023', HINT = format('A scope has the form %s.', v_pattern);
    END IF;
    IF jsonb_typeof(p_options -> 'enabled') NOT IN ('boolean', 'null')
        OR jsonb_typeof(p_options -> 'artifacts') NOT IN ('boolean', 'null') THEN
        RAISE EXCEPTION 'enabled and artifacts are true or false: %', p_options
            USING ERRCODE = '22023', HINT = 'Write them like {"enabled": false}.';
    END IF;
    LOCK TABLE latch IN EXCLUSIVE MODE;
    SELECT * INTO v_policy FROM policy AS p WHERE p.rule = v_rule AND p.scope = v_scope;
    v_retention := coalesce(seconds(p_options ->> 'retention'), v_policy.retention_seconds, v_default);
    IF v_retention IS NULL THEN
        RAISE EXCEPTION 'rule % has no default retention', v_rule
            USING ERRCODE = '22023', HINT = 'Name one: {"retention": "30d"}.';
    END IF;
    IF v_retention < v_minimum THEN
        RAISE EXCEPTION 'a retention of % is under the minimum of rule %', p_options ->> 'retention', v_rule
            USING ERRCODE = '22023', HINT = format('The minimum is %s seconds (%s days); it stands in the spec.', v_minimum,
                round(v_minimum / 86400.0, 2));
    END IF;
    INSERT INTO policy AS p (rule, scope, enabled, retention_seconds, artifacts, note)
    VALUES (
        v_rule,
        v_scope,
        coalesce((p_options ->> 'enabled')::boolean, v_policy.enabled, true),
        v_retention,
        coalesce((p_options ->> 'artifacts')::boolean, v_policy.artifacts, true),
        coalesce(p_options ->> 'note', v_policy.note)
    )
    ON CONFLICT (rule, scope) DO UPDATE
    SET enabled = excluded.enabled,
        retention_seconds = excluded.retention_seconds,
        artifacts = excluded.artifacts,
        note = excluded.note,
        changed_by = excluded.changed_by,
        changed_at = clock_timestamp()
    RETURNING * INTO v_policy;
    RETURN row_to_json(v_policy);
END
$windrow$;
--# comment on function set_policy
COMMENT ON FUNCTION set_policy(jsonb) IS
    'Writes one policy: rule, scope, retention (the spec''s default if new), enabled, artifacts, note. Waits for a running batch. Example: '
    'SELECT set_policy(''{"scope": "42", "retention": "30d"}'');';
--# create function drop_policy
CREATE OR REPLACE FUNCTION drop_policy(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule   text;
    v_policy policy%ROWTYPE;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'scope']);
    v_rule := check_rule(p_options);
    LOCK TABLE latch IN EXCLUSIVE MODE;
    DELETE FROM policy AS p WHERE p.rule = v_rule AND p.scope = p_options ->> 'scope' RETURNING * INTO v_policy;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no policy for scope % of rule %', quote_nullable(p_options ->> 'scope'), v_rule
            USING ERRCODE = '22023', HINT = format('The policies are in table %I.policy.', current_schema());
    END IF;
    RETURN row_to_json(v_policy);
END
$windrow$;
--# comment on function drop_policy
COMMENT ON FUNCTION drop_policy(jsonb) IS
    'Drops one policy and answers it. Waits for a running batch. Example: SELECT drop_policy(''{"scope": "42"}'');';

-- set_hold, release_hold: families that must stay.
--# create function set_hold
CREATE OR REPLACE FUNCTION set_hold(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule  text;
    v_row   record;
    v_hold  hold%ROWTYPE;
    v_until timestamptz;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'key', 'reason', 'until', 'even_if_absent']);
    v_rule := check_rule(p_options);
    IF coalesce(trim(p_options ->> 'reason'), '') = '' THEN
        RAISE EXCEPTION 'a hold needs a reason'
            USING ERRCODE = '22023', HINT = 'Say who wants it kept and why: {"key": 17, "reason": "audit 2026"}.';
    END IF;
    v_until := instant_of(p_options ->> 'until');
    IF v_until IS NULL AND p_options ->> 'until' IS NOT NULL THEN
        RAISE EXCEPTION 'until is not an instant: %', quote_literal(p_options ->> 'until')
            USING ERRCODE = '22023', HINT = 'Write it like 2027-01-01T00:00:00Z; without a zone it is UTC.';
    END IF;
    IF v_until <= clock_timestamp() THEN
        RAISE EXCEPTION 'until has passed: %', quote_literal(p_options ->> 'until')
            USING ERRCODE = '22023', HINT = 'Such a hold keeps nothing. Name an instant after the clock of the database, or leave until '
                'out.';
    END IF;
    IF jsonb_typeof(p_options -> 'even_if_absent') NOT IN ('boolean', 'null') THEN
        RAISE EXCEPTION 'even_if_absent is not true or false: %', p_options -> 'even_if_absent'
            USING ERRCODE = '22023', HINT = 'Write {"even_if_absent": true}.';
    END IF;
    LOCK TABLE latch IN EXCLUSIVE MODE;
    -- After the lock no batch is under way that will not see the hold: the row is here to stay, or already gone.
    SELECT r.o_key AS key, r.o_found AS found INTO v_row FROM row_of_key(v_rule, p_options ->> 'key') AS r;
    IF NOT v_row.found AND NOT coalesce((p_options ->> 'even_if_absent')::boolean, false) THEN
        RAISE EXCEPTION 'rule % has no row with the key %', v_rule, quote_literal(v_row.key)
            USING ERRCODE = '22023', HINT = 'A hold names a row that is there and that the rule may delete some day. With '
                '{"even_if_absent": true} it is stored all the same.';
    END IF;
    INSERT INTO hold AS h (rule, key, reason, until, absent)
    VALUES (v_rule, v_row.key, p_options ->> 'reason', v_until, NOT v_row.found)
    ON CONFLICT (rule, key) DO UPDATE
    SET reason = excluded.reason,
        until = excluded.until,
        placed_by = excluded.placed_by,
        placed_at = clock_timestamp(),
        absent = excluded.absent
    RETURNING * INTO v_hold;
    RETURN (to_jsonb(v_hold) || jsonb_build_object('exists', v_row.found))::json;
END
$windrow$;
--# comment on function set_hold
COMMENT ON FUNCTION set_hold(jsonb) IS
    'Holds the family of a row that is there: rule, key (in any spelling that its column reads), reason, until (open if left out), '
    'even_if_absent (stores it without a row, too). Waits for a running batch. Example: SELECT set_hold(''{"key": 17, "reason": "audit '
    '2026"}'');';
--# create function release_hold
CREATE OR REPLACE FUNCTION release_hold(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule text;
    v_key  text := p_options ->> 'key';
    v_hold hold%ROWTYPE;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'key']);
    v_rule := check_rule(p_options);
    IF NOT EXISTS (SELECT FROM hold AS h WHERE h.rule = v_rule AND h.key = v_key) THEN
        SELECT r.o_key INTO v_key FROM row_of_key(v_rule, v_key) AS r;
    END IF;
    IF NOT EXISTS (SELECT FROM hold AS h WHERE h.rule = v_rule AND h.key = v_key) THEN
        v_key := coalesce((SELECT a.key FROM absent_holds(v_rule) AS a WHERE a.there = v_key LIMIT 1), v_key);
    END IF;
    DELETE FROM hold AS h WHERE h.rule = v_rule AND h.key = v_key RETURNING * INTO v_hold;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no hold on key % of rule %', quote_nullable(p_options ->> 'key'), v_rule
            USING ERRCODE = '22023', HINT = format('The holds are in table %I.hold.', current_schema());
    END IF;
    RETURN row_to_json(v_hold);
END
$windrow$;
--# comment on function release_hold
COMMENT ON FUNCTION release_hold(jsonb) IS
    'Releases a hold and answers it. Example: SELECT release_hold(''{"key": 17}'');';

-- set_windows: says when scheduled runs may work, or gives that back to the spec with a null value.
--# create function set_windows
CREATE OR REPLACE FUNCTION set_windows(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    c_week    CONSTANT text[] := ARRAY['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
    c_hint    CONSTANT text := 'Write it like "mon-fri 22:00-06:00 Europe/Berlin" or "daily 01:30-05:00": days, start (inclusive) and end '
        '(exclusive), and a zone (UTC if left out); or "always", or "never".';
    v_windows jsonb := p_options -> 'windows';
    v_window  text;
    v_parts   text[];
    v_ranges  text[];
BEGIN
    PERFORM check_options(p_options, ARRAY['windows']);
    IF jsonb_typeof(v_windows) = 'string' THEN
        v_windows := jsonb_build_array(v_windows);
    ELSIF jsonb_typeof(v_windows) = 'null' THEN
        v_windows := '[]';
    ELSIF coalesce(jsonb_typeof(v_windows), 'none') <> 'array' OR v_windows = '[]'
        OR jsonb_path_exists(v_windows, '$[*] ? (@.type() != "string")') THEN
        RAISE EXCEPTION 'the option windows is neither a text nor a list of texts'
            USING ERRCODE = '22023', HINT = c_hint;
    END IF;
    IF jsonb_array_length(v_windows) > 1 AND (v_windows ? 'always' OR v_windows ? 'never') THEN
        RAISE EXCEPTION '"always" and "never" stand alone' USING ERRCODE = '22023', HINT = c_hint;
    END IF;
    LOCK TABLE run_window IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM run_window;
    FOR v_window IN SELECT w.window FROM jsonb_array_elements_text(v_windows) AS w("window") LOOP
        v_parts := CASE v_window
            WHEN 'always' THEN ARRAY['daily', '00:00', '00:00', 'UTC']
            WHEN 'never' THEN ARRAY['', '00:00', '00:00', 'UTC']
            ELSE regexp_match(v_window, '^([a-z,-]+) ((?:[01][0-9]|2[0-3]):[0-5][0-9])-((?:[01][0-9]|2[0-3]):[0-5][0-9])(?: ([^ ]+))?$')
        END;
        v_ranges := string_to_array(CASE WHEN v_parts[1] = 'daily' THEN 'mon-sun' ELSE v_parts[1] END, ',');
        IF v_parts IS NULL OR EXISTS (
            SELECT
            FROM unnest(v_ranges) AS r(range)
            WHERE r.range !~ '^[a-z]{3}(-[a-z]{3})?$'
               OR left(r.range, 3) <> ALL (c_week)
               OR right(r.range, 3) <> ALL (c_week)
        ) THEN
            RAISE EXCEPTION 'no window: %', quote_literal(v_window) USING ERRCODE = '22023', HINT = c_hint;
        END IF;
        v_parts[4] := coalesce(v_parts[4], 'UTC');
        IF NOT EXISTS (SELECT FROM pg_timezone_names AS z WHERE z.name = v_parts[4]) THEN
            RAISE EXCEPTION 'the server does not know the time zone %', quote_literal(v_parts[4])
                USING ERRCODE = '22023', HINT = 'Names are those of the IANA time zone database, such as Europe/Berlin.';
        END IF;
        INSERT INTO run_window (position, written, days, begins, ends, zone)
        SELECT
            (SELECT count(*) + 1 FROM run_window),
            v_window,
            coalesce(string_agg(d.day::text, '' ORDER BY d.day), ''),
            v_parts[2]::time,
            v_parts[3]::time,
            v_parts[4]
        FROM generate_series(1, 7) AS d(day)
        WHERE EXISTS (
            SELECT
            FROM unnest(v_ranges) AS r(range)
            CROSS JOIN LATERAL (SELECT array_position(c_week, left(r.range, 3)) AS first,
                array_position(c_week, right(r.range, 3)) AS last) AS n
            WHERE CASE WHEN n.first <= n.last THEN d.day BETWEEN n.first AND n.last ELSE d.day >= n.first OR d.day <= n.last END
        );
    END LOOP;
    RETURN json_build_object('windows', (SELECT json_agg(h.written ORDER BY h.position) FROM open_hours AS h));
END
$windrow$;
--# comment on function set_windows
COMMENT ON FUNCTION set_windows(jsonb) IS
    'Says when scheduled runs may work, from the next batch on; null: as the spec says. Examples: SELECT set_windows(''{"windows": '
    '["mon-fri 22:00-06:00 Europe/Berlin", "sat,sun 00:00-00:00"]}''); SELECT set_windows(''{"windows": "never"}'');';

-- claim_artifacts, named_artifacts, finish_artifact: the outbox of files. Best effort; retention never waits for it.
--# create function claim_artifacts
CREATE OR REPLACE FUNCTION claim_artifacts(p_limit integer)
RETURNS TABLE (artifact_id bigint, host text, path text)
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    UPDATE artifact AS a
    SET attempts = a.attempts + 1,
        next_attempt_at = clock_timestamp() + make_interval(mins => (2 ^ least(a.attempts, 9))::integer)
    FROM (
        SELECT c.artifact_id
        FROM artifact AS c
        WHERE NOT c.given_up
          AND c.next_attempt_at <= clock_timestamp()
        ORDER BY c.artifact_id
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE a.artifact_id = due.artifact_id
    RETURNING a.artifact_id, a.host, a.path;
$windrow$;
--# comment on function claim_artifacts
COMMENT ON FUNCTION claim_artifacts(integer) IS
    'Takes up to p_limit files of the outbox for one attempt; the next one is due after 1, 2, 4 ... 512 minutes.';
--# create function finish_artifact
CREATE OR REPLACE FUNCTION finish_artifact(p_artifact_id bigint, p_error text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF p_error IS NULL THEN
        DELETE FROM artifact AS a WHERE a.artifact_id = p_artifact_id;
    ELSE
        UPDATE artifact AS a
        SET last_error = left(p_error, 1000),
            given_up = a.attempts >= 10
        WHERE a.artifact_id = p_artifact_id;
    END IF;
END
$windrow$;
--# comment on function finish_artifact
COMMENT ON FUNCTION finish_artifact(bigint, text) IS
    'Reports an attempt: no error takes the file out of the outbox, an error is kept; after ten attempts it is given up.';

-- record_forced_install: what `windrow install --force` overruled; null where there was nothing to overrule.
--# create function record_forced_install
CREATE OR REPLACE FUNCTION record_forced_install(p_findings jsonb)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
    UPDATE control
    SET forced_install = CASE
        WHEN p_findings IS NOT NULL THEN jsonb_build_object('by', session_user, 'at', clock_timestamp(), 'findings', p_findings)
    END;
$windrow$;
--# comment on function record_forced_install
COMMENT ON FUNCTION record_forced_install(jsonb) IS
    'Notes the findings of the check that an installation overruled; NULL clears the note.';

