-- next_batch: the size of the next batch, after one of p_size has taken p_took of the p_target milliseconds that it may
-- take. Slowly up, by a fifth, if that much more would still be in time; down at once, in proportion. A size of 0 is that of the one
-- instant to which a slice that fails is halved.
--# create function next_batch
CREATE OR REPLACE FUNCTION next_batch(p_size bigint, p_took bigint, p_target bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT CASE
        WHEN p_took > p_target THEN greatest(p_size * p_target / p_took, 1)
        WHEN p_took + p_took / 5 <= p_target THEN greatest(p_size + (p_size + 4) / 5, 1)
        ELSE greatest(p_size, 1)
    END;
$windrow$;
--# comment on function next_batch
COMMENT ON FUNCTION next_batch(bigint, bigint, bigint) IS
    'The size of the batch after one of p_size that took p_took milliseconds instead of p_target. Example: SELECT next_batch(100, 800, '
    '500);';

-- throttle: the first reason not to do a batch now, or NULL. A limit of 0 is off. What is not to be
-- seen with the rights of the owner role is a reason, too: a run that cannot measure waits, and says so.
--# create function throttle
CREATE OR REPLACE FUNCTION throttle(p_rule text, p_lag bigint, p_wal bigint, p_active bigint, p_snapshot bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
DECLARE
    c_blind CONSTANT text := format('the right to see the sessions of others: GRANT pg_read_all_stats TO %I', current_user);
    v_name  text;
    v_found bigint;
    v_said  jsonb;
BEGIN
    IF (p_lag > 0 OR p_wal > 0) AND EXISTS (SELECT FROM pg_stat_replication AS r WHERE r.state IS NULL) THEN
        RETURN c_blind;
    END IF;
    IF p_lag > 0 THEN
        SELECT r.application_name, extract(epoch FROM r.replay_lag)
        INTO v_name, v_found
        FROM pg_stat_replication AS r
        WHERE r.replay_lag > make_interval(secs => p_lag)
        ORDER BY r.replay_lag DESC
        LIMIT 1;
        IF FOUND THEN
            RETURN format('replica %s, which is %s seconds behind (max_replica_lag %s)', v_name, v_found, p_lag);
        END IF;
        v_name := (SELECT s.document ->> 'heartbeat' FROM spec AS s);
        IF v_name IS NOT NULL THEN
            v_found := heartbeat_age();
            IF v_found IS NULL OR v_found > p_lag THEN
                RETURN format('the slowest replica in %s, which is %s seconds behind (max_replica_lag %s)', v_name,
                    coalesce(v_found::text, 'unknown'), p_lag);
            END IF;
        END IF;
    END IF;
    IF p_wal > 0 THEN
        -- A replica that is away is not in the list of replicas; its slot keeps the WAL for it.
        SELECT l.name, pg_wal_lsn_diff(pg_current_wal_lsn(), l.lsn) / 1048576
        INTO v_name, v_found
        FROM (
            SELECT 'replica ' || r.application_name, r.replay_lsn
            FROM pg_stat_replication AS r
            WHERE r.state IN ('catchup', 'streaming')
            UNION ALL
            SELECT 'replication slot ' || s.slot_name, coalesce(s.confirmed_flush_lsn, s.restart_lsn)
            FROM pg_replication_slots AS s
            -- Nothing is kept for a slot that the server has given up.
            WHERE s.wal_status IS DISTINCT FROM 'lost'
        ) AS l(name, lsn)
        WHERE pg_wal_lsn_diff(pg_current_wal_lsn(), l.lsn) > p_wal * 1048576
        ORDER BY l.lsn
        LIMIT 1;
        IF FOUND THEN
            RETURN format('%s, which is %s MB of WAL behind (max_replica_wal %s)', v_name, v_found, p_wal);
        END IF;
    END IF;
    IF p_active > 0 THEN
        IF EXISTS (SELECT FROM pg_stat_activity AS a WHERE a.backend_type IS NULL) THEN
            RETURN c_blind;
        END IF;
        SELECT count(*)
        INTO v_found
        FROM pg_stat_activity AS a
        WHERE a.backend_type = 'client backend'
          AND a.state = 'active'
          AND a.pid <> pg_backend_pid();
        IF v_found > p_active THEN
            RETURN format('other sessions, of which %s are active (max_active_sessions %s)', v_found, p_active);
        END IF;
    END IF;
    IF p_snapshot > 0 THEN
        -- Deleted rows stay on the disk, and slow down every scan, while a transaction may still need to see them.
        SELECT o.name, o.age
        INTO v_name, v_found
        FROM (
            SELECT 'session ' || a.pid, age(a.backend_xmin)::bigint
            FROM pg_stat_activity AS a
            WHERE a.pid <> pg_backend_pid()
              -- Nothing is kept for the sake of a VACUUM.
              AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
              AND (a.datid IS NULL OR a.datname = current_database())
            UNION ALL
            SELECT 'replication slot ' || s.slot_name, age(s.xmin)
            FROM pg_replication_slots AS s
            WHERE s.wal_status IS DISTINCT FROM 'lost'
            UNION ALL
            SELECT 'prepared transaction ' || x.gid, age(x.transaction)
            FROM pg_prepared_xacts AS x
            WHERE x.database = current_database()
        ) AS o(name, age)
        WHERE o.age > p_snapshot
        ORDER BY o.age DESC
        LIMIT 1;
        IF FOUND THEN
            RETURN format('%s, whose snapshot is %s transactions old (max_old_snapshot %s)', v_name, v_found, p_snapshot);
        END IF;
    END IF;
    IF EXISTS (SELECT FROM rule AS r WHERE r.rule = p_rule AND r.document ? 'wait_while_sql') THEN
        -- True or a number above 0 is a reason.
        EXECUTE format('SELECT %s()', routine_of(p_rule, 'wait_while')) INTO v_said;
        IF jsonb_typeof(v_said) NOT IN ('boolean', 'number', 'null') THEN
            RAISE EXCEPTION 'wait_while_sql of rule % answers neither a boolean nor a number: %', p_rule, v_said USING ERRCODE = '22023';
        END IF;
        IF v_said = 'true' OR (CASE jsonb_typeof(v_said) WHEN 'number' THEN v_said::numeric > 0 END) THEN
            RETURN format('the query of the spec, which says %s', v_said);
        END IF;
    END IF;
    RETURN NULL;
END
$windrow$;
--# comment on function throttle
COMMENT ON FUNCTION throttle(text, bigint, bigint, bigint, bigint) IS
    'What a batch of p_rule would wait for now, by the limits max_replica_lag (seconds), max_replica_wal (megabytes), max_active_sessions, '
    'max_old_snapshot (transactions); NULL: nothing. Example: SELECT throttle(''a_rule'', 30, 512, 40, 1000000);';

-- throttled: the same by the settings of a rule.
--# create function throttled
CREATE OR REPLACE FUNCTION throttled(p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT throttle(
            p_rule,
            max(s.value) FILTER (WHERE s.name = 'max_replica_lag'),
            max(s.value) FILTER (WHERE s.name = 'max_replica_wal'),
            max(s.value) FILTER (WHERE s.name = 'max_active_sessions'),
            max(s.value) FILTER (WHERE s.name = 'max_old_snapshot')
        )
        FROM settings AS s
        WHERE s.rule = p_rule
    );
END
$windrow$;
--# comment on function throttled
COMMENT ON FUNCTION throttled(text) IS
    'What a batch of p_rule would wait for now, by its settings; NULL: nothing.';

-- is_over: whether a run that rests does not go on with a rule, as its next step will find and report.
--# create function is_over
CREATE OR REPLACE FUNCTION is_over(p_run run, p_rule text, p_now timestamptz)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (SELECT c.paused FROM control AS c)
        OR rule_paused(p_rule) IS NOT NULL
        OR (p_run.trigger = 'SCHEDULED' AND NOT in_window(p_now));
END
$windrow$;
--# comment on function is_over
COMMENT ON FUNCTION is_over(run, text, timestamptz) IS
    'Whether something is paused, or the window of a scheduled run is closed, so that it makes no further batch of p_rule.';

-- pace: called before every batch. How long the run rests first, in seconds: 0, or up to 1, after which it checks again, so
-- that a pause, the end of a window and the deadline are obeyed at once. run() rests outside of the transactions that
-- delete. Meanwhile its row shows what the run waits for.
--# create function pace
CREATE OR REPLACE FUNCTION pace(p_run bigint, p_rule text, OUT o_rest double precision, OUT o_state text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_run      run%ROWTYPE;
    v_progress run_rule%ROWTYPE;
    v_limit    record;
    v_nice     text := 'nice';
    v_now      timestamptz := clock_timestamp();
    v_took     bigint;
    v_until    timestamptz;
    v_longest_rest bigint := 86400000;
    v_paced    boolean;
    v_reason   text;
    v_workers  integer;
    v_at       text;
    v_over     boolean;
    v_other    text;
    v_waits    boolean := false;
BEGIN
    o_rest := 0;
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    IF NOT is_own(p_run) THEN
        RETURN;
    END IF;
    SELECT s.workers INTO STRICT v_workers FROM spec AS s;
    IF v_workers > 1 THEN
        SELECT s.at_rule INTO v_at FROM run_sweep AS s WHERE s.run_id = p_run;
        IF NOT FOUND THEN
            o_state := 'begun before there were workers';
            RETURN;
        END IF;
        IF v_at IS DISTINCT FROM p_rule THEN
            SELECT e.o_wait, e.o_over INTO v_other, v_over FROM sweep_enter(p_run, p_rule) AS e;
            IF v_over OR v_other IS NULL THEN
                -- The first batch begins in a transaction of its own. If that ends the session, the rule had its turn.
                UPDATE run_rule AS r
                SET started_at = v_now,
                    updated_at = v_now
                WHERE r.run_id = p_run
                  AND r.rule = p_rule
                  AND r.batches = 0
                  AND r.retries = 0
                  AND NOT v_over;
                o_state := CASE WHEN v_over THEN 'nothing left' ELSE 'again' END;
                RETURN;
            END IF;
        END IF;
    END IF;
    -- For whom it waits is in its row already: as long as it goes on, nothing is written or locked.
    IF v_other = v_run.waiting_for THEN
        o_rest := least(
            CASE WHEN v_other LIKE 'worker %' AND v_run.waiting_since > v_now - interval '1 s' THEN 0.1 ELSE 1 END,
            extract(epoch FROM run_ends(v_run.deadline) - v_now)
        );
        IF o_rest > 0 AND NOT is_over(v_run, p_rule, v_now) THEN
            o_state := CASE WHEN NOT v_run.dry_run THEN 'waits' END;
            RETURN;
        END IF;
    END IF;
    SELECT * INTO STRICT v_progress FROM run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule FOR UPDATE;
    -- The rules before it do not count for its speed.
    IF v_progress.batches = 0 AND v_progress.retries = 0 THEN
        UPDATE run_rule AS r SET started_at = v_now, updated_at = v_now WHERE r.run_id = p_run AND r.rule = p_rule;
    END IF;
    SELECT
        max(s.value) FILTER (WHERE s.name = 'run_rows') AS run_rows,
        max(s.value) FILTER (WHERE s.name = 'target_batch') AS target_batch,
        max(s.value) FILTER (WHERE s.name = 'rate') AS rate,
        max(s.value) FILTER (WHERE s.name = 'nice') AS nice,
        max(s.value) FILTER (WHERE s.name = 'scheduled_nice') AS scheduled_nice
    INTO v_limit
    FROM settings AS s
    WHERE s.rule = p_rule;
    -- Nobody waits for a scheduled run, and it should not slow down the application. None of these rests is longer than a
    -- minute, since a batch may have taken long for waiting itself; batches that would need more get smaller.
    IF v_run.trigger = 'SCHEDULED' AND v_limit.rate = 0 AND v_limit.nice = 0 THEN
        v_nice := 'scheduled_nice';
        v_limit.nice := v_limit.scheduled_nice;
        v_longest_rest := 60000;
        IF v_limit.nice > 0 AND v_limit.target_batch = 0 THEN
            v_limit.target_batch := v_longest_rest * 100 / v_limit.nice;
        END IF;
    END IF;
    v_paced := v_limit.target_batch > 0 OR v_limit.rate > 0 OR v_limit.nice > 0;

    IF v_paced AND v_progress.batches = v_progress.paced_batches + 1 AND v_progress.paced_at IS NOT NULL THEN
        -- The last batch, from the begin of its transaction to the end of its COMMIT.
        v_took := ceil(extract(epoch FROM coalesce(v_progress.rest_from, v_now) - v_progress.paced_at) * 1000);
        IF v_progress.rest_from IS NULL AND v_limit.target_batch > 0 AND NOT v_progress.halving THEN
            v_progress.batch_families := least(v_progress.batch_families, next_batch(v_progress.paced_size, v_took, v_limit.target_batch));
        END IF;
        v_progress.rest_from := coalesce(v_progress.rest_from, v_now);
        v_until := greatest(
            CASE WHEN v_limit.rate > 0 THEN
                v_progress.paced_at
                    + make_interval(secs => (v_progress.deleted_rows - v_progress.paced_rows) / v_limit.rate::double precision)
            END,
            CASE WHEN v_limit.nice > 0 THEN
                v_progress.rest_from
                    + make_interval(secs => least(v_took * v_limit.nice / 100, v_longest_rest) / 1000.0::double precision)
            END
        );
    ELSIF v_limit.target_batch > 0 AND v_progress.paced_at IS NULL THEN
        -- The first batch: as big as the last one of the run before; of families, where slices followed them.
        v_progress.batch_families := least(
            v_progress.batch_families,
            (SELECT greatest(coalesce(r.family_size, r.batch_families), 1)
                FROM run_rule AS r
                WHERE r.rule = p_rule AND r.run_id < p_run AND r.paced_at IS NOT NULL
                ORDER BY r.run_id DESC
                LIMIT 1)
        );
    END IF;

    IF v_until > v_now THEN
        v_reason := concat_ws(' and ',
            CASE WHEN v_limit.rate > 0 THEN format('the rate of %s rows per second', v_limit.rate) END,
            CASE WHEN v_limit.nice > 0 THEN format('%s, %s %% of the time of a batch', v_nice, v_limit.nice) END
        );
        o_rest := extract(epoch FROM v_until - v_now);
    ELSIF v_limit.run_rows > 0 AND v_progress.deleted_rows >= v_limit.run_rows THEN
        -- Behind the rest: the next rule has its first batch at once.
        o_state := 'run_rows reached';
        RETURN;
    ELSE
        v_reason := coalesce(v_other, throttled(p_rule));
        o_rest := CASE WHEN v_reason IS NULL THEN 0 WHEN v_other LIKE 'worker %' THEN 0.1 ELSE 1 END;
        v_waits := v_reason IS NOT NULL AND NOT v_run.dry_run;
    END IF;
    IF v_reason IS NOT NULL THEN
        o_rest := least(o_rest, 1, extract(epoch FROM run_ends(v_run.deadline) - v_now));
    END IF;
    IF v_reason IS NOT NULL AND (o_rest <= 0 OR is_over(v_run, p_rule, v_now)) THEN
        -- The run or the rule ends here, as the next step finds and reports; what it waited for is kept in its row.
        o_rest := 0;
        RETURN;
    END IF;

    -- Whether a lock is still in the way, the batch finds out.
    IF v_reason IS DISTINCT FROM v_run.waiting_for AND (v_reason IS NOT NULL OR v_run.waiting_for NOT LIKE 'a lock on %') THEN
        UPDATE run AS r
        SET waiting_for = v_reason,
            waiting_since = CASE WHEN v_reason IS NOT NULL THEN coalesce(r.waiting_since, v_now) END
        WHERE r.run_id = p_run;
    END IF;
    IF v_paced THEN
        -- What the next batch is measured by, once it begins.
        UPDATE run_rule AS r
        SET batch_families = v_progress.batch_families,
            rest_from = CASE WHEN v_reason IS NOT NULL THEN v_progress.rest_from END,
            paced_at = CASE WHEN v_reason IS NULL THEN clock_timestamp() ELSE r.paced_at END,
            paced_size = CASE WHEN v_reason IS NULL THEN v_progress.batch_families ELSE r.paced_size END,
            paced_rows = CASE WHEN v_reason IS NULL THEN r.deleted_rows ELSE r.paced_rows END,
            paced_batches = CASE WHEN v_reason IS NULL THEN r.batches ELSE r.paced_batches END
        WHERE r.run_id = p_run
          AND r.rule = p_rule;
    END IF;
    IF v_waits THEN
        o_state := 'waits';
    END IF;
END
$windrow$;
--# comment on function pace
COMMENT ON FUNCTION pace(bigint, text) IS
    'What run p_run does before the next batch of p_rule: o_rest, for how many seconds it rests; o_state, why it takes none; waits: other '
    'rules may go on meanwhile. Sets the size of the batch where target_batch says so.';

-- put_off: a rule that waits does not hold up the rules behind it.
--# create function put_off
CREATE OR REPLACE FUNCTION put_off(p_run bigint, p_rule text, p_rest double precision, p_all boolean)
RETURNS double precision
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF NOT is_own(p_run) THEN
        RETURN 0;
    END IF;
    IF (SELECT s.workers > 1 FROM spec AS s) THEN
        PERFORM sweep_part(p_run, p_rule);
    END IF;
    IF p_all THEN
        RETURN (
            SELECT greatest(0, least(
                CASE WHEN p_rest > 0 THEN p_rest ELSE 1 END, extract(epoch FROM run_ends(r.deadline) - clock_timestamp())
            ))
            FROM run AS r
            WHERE r.run_id = p_run
        );
    END IF;
    UPDATE run AS r
    SET waiting_for = NULL,
        waiting_since = NULL
    WHERE r.run_id = p_run
      AND r.waiting_for NOT LIKE 'worker %';
    RETURN 0;
END
$windrow$;
--# comment on function put_off
COMMENT ON FUNCTION put_off(bigint, text, double precision, boolean) IS
    'Run p_run leaves p_rule, which waits, for the next rule; p_all: all that it has left wait. Answers for how long it rests, in seconds.';
