-- What the steps, previews and purges of all strategies share.

-- begin_step: why run p_run makes no batch of a rule now; everything that may end a run is looked at before every batch.
--# create function begin_step
CREATE OR REPLACE FUNCTION begin_step(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_run run%ROWTYPE;
BEGIN
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    PERFORM FROM run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule FOR UPDATE;
    -- A purge takes what it names, and no more.
    IF NOT FOUND OR v_run.trigger = 'PURGE' THEN
        RAISE EXCEPTION 'run % does not take rule %', p_run, p_rule USING ERRCODE = '55000';
    END IF;
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
    IF v_run.trigger = 'SCHEDULED' AND NOT in_window(clock_timestamp()) THEN
        RETURN 'window closed';
    END IF;
    IF rule_paused(p_rule) IS NOT NULL THEN
        RETURN rule_paused(p_rule);
    END IF;
    -- A worker that is not at the rule may not do a batch of it; pace() lets it there.
    IF (SELECT s.workers > 1 FROM spec AS s) AND NOT EXISTS (SELECT FROM run_sweep AS s WHERE s.run_id = p_run AND s.at_rule = p_rule) THEN
        RETURN 'again';
    END IF;
    RETURN NULL;
END
$windrow$;
--# comment on function begin_step
COMMENT ON FUNCTION begin_step(bigint, text) IS
    'Why run p_run makes no batch of p_rule now; NULL where it may. Locks its progress.';

-- lock_holder: who is in the way of a batch. Everybody may see the locks of others.
--# create function lock_holder
CREATE OR REPLACE FUNCTION lock_holder(p_rule text)
RETURNS text
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT coalesce(
        (
            SELECT format('a lock on %s, %s %s (%s)',
                t.name,
                CASE WHEN l.granted THEN 'which' ELSE 'for which' END,
                coalesce('session ' || l.pid, 'a prepared transaction') || CASE WHEN l.granted THEN ' has' ELSE ' waits' END,
                l.mode)
            FROM (
                SELECT n.name, to_regclass(format('%I.%I', s.schema_name, n.name)) AS id
                FROM rule AS r
                CROSS JOIN spec AS s
                CROSS JOIN LATERAL unnest(r.tables) AS n(name)
                WHERE r.rule = p_rule
                UNION ALL
                SELECT 'holds and policies', to_regclass('latch')
            ) AS t
            JOIN pg_locks AS l ON l.locktype = 'relation' AND l.relation = t.id AND l.pid IS DISTINCT FROM pg_backend_pid()
            WHERE l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
              AND (
                  l.mode IN ('ExclusiveLock', 'AccessExclusiveLock')
                  -- The latch is taken in a weaker mode than the tables.
                  OR l.mode IN ('ShareLock', 'ShareRowExclusiveLock') AND t.id <> to_regclass('latch')
              )
            ORDER BY l.granted DESC, t.name, l.pid
            LIMIT 1
        ),
        'a lock on a table'
    );
$windrow$;
--# comment on function lock_holder
COMMENT ON FUNCTION lock_holder(text) IS
    'Which table a batch of p_rule could not lock, and which session has the lock, in words.';

-- locked_out: the run says what is in the way, and tries as often as after other errors of this kind; then other rules have their turn.
--# create function locked_out
CREATE OR REPLACE FUNCTION locked_out(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_reason text := lock_holder(p_rule);
    v_waits  boolean;
BEGIN
    UPDATE run AS r
    SET waiting_for = v_reason,
        waiting_since = coalesce(r.waiting_since, clock_timestamp())
    WHERE r.run_id = p_run
      AND r.waiting_for IS DISTINCT FROM v_reason;
    UPDATE run_rule AS p
    SET retries_in_row = CASE WHEN o.waits THEN 0 ELSE p.retries_in_row + 1 END,
        retries = p.retries + 1,
        updated_at = clock_timestamp()
    FROM (
        SELECT q.retries_in_row >= setting_of(p_rule, 'retries') AS waits
        FROM run_rule AS q
        WHERE q.run_id = p_run
          AND q.rule = p_rule
    ) AS o
    WHERE p.run_id = p_run
      AND p.rule = p_rule
    RETURNING o.waits INTO v_waits;
    RETURN CASE WHEN v_waits AND NOT (SELECT r.dry_run FROM run AS r WHERE r.run_id = p_run) THEN 'waits' ELSE 'again' END;
END
$windrow$;
--# comment on function locked_out
COMMENT ON FUNCTION locked_out(bigint, text) IS
    'Notes what the next batch of p_rule waits for. Answers again, and where the setting retries is reached, waits.';

-- take_locks: the tables, and the latch of holds and policies, shared, for as long as the lock timeout. A hold that is being
-- written for a long time is not caused by a family: wait, and check everything again. The catalog must be as it was when the
-- run began: anything else ends the run.
--# create function take_locks
CREATE OR REPLACE FUNCTION take_locks(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    PERFORM set_config('lock_timeout', setting_of(p_rule, 'lock_timeout') || 'ms', true);
    -- Errors that occur here would end the session, and so would the end of a dry run.
    PERFORM set_config('exit_on_error', 'off', true);
    BEGIN
        -- A stamp has no progress of rules, and other tables.
        PERFORM take_tables(p_run, CASE WHEN EXISTS (SELECT FROM run_rule AS p WHERE p.run_id = p_run) THEN p_rule END);
        LOCK TABLE latch IN ROW SHARE MODE;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
        RETURN locked_out(p_run, p_rule);
    END;
    UPDATE run AS r
    SET waiting_for = NULL,
        waiting_since = NULL
    WHERE r.run_id = p_run
      AND r.waiting_for LIKE 'a lock on %';
    IF FOUND THEN
        -- The batch has all its tries.
        UPDATE run_rule AS r
        SET retries_in_row = 0
        WHERE r.run_id = p_run
          AND r.rule = p_rule;
    END IF;
    PERFORM look_again(p_run);
    RETURN NULL;
END
$windrow$;
--# comment on function take_locks
COMMENT ON FUNCTION take_locks(bigint, text) IS
    'Takes the locks of a batch until the transaction ends; again or waits, where they were not to be had.';

-- begin_batch: what a batch does first in its transaction.
--# create function begin_batch
CREATE OR REPLACE FUNCTION begin_batch(p_hidden text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a batch needs the isolation level read committed'
            USING ERRCODE = '25001', HINT = format('A snapshot from before its locks would hide %s.', p_hidden);
    END IF;
    -- A hold that is being written waits for this batch, or this batch for it.
    LOCK TABLE latch IN ROW SHARE MODE;
END
$windrow$;
--# comment on function begin_batch
COMMENT ON FUNCTION begin_batch(text) IS
    'What a batch does first: refuses another isolation level than read committed, and takes the latch of holds and policies.';

-- end_batch: what a batch does last in its transaction.
--# create function end_batch
CREATE OR REPLACE FUNCTION end_batch(p_rule text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF (SELECT s.archives FROM spec AS s) THEN
        PERFORM check_archive(p_rule);
    END IF;
    -- Deferred foreign keys are checked now, while this batch can still be rolled back alone.
    SET CONSTRAINTS ALL IMMEDIATE;
END
$windrow$;
--# comment on function end_batch
COMMENT ON FUNCTION end_batch(text) IS
    'What a batch does last: the archives fit, and deferred foreign keys are checked.';

-- key_of_holds: what the holds of a rule are keys of. One that is of other columns has no effect, and may be no value of their type.
--# create function key_of_holds
CREATE OR REPLACE FUNCTION key_of_holds(p_rule text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (SELECT n.refers_to FROM rule_refers AS n WHERE n.rule = p_rule AND n.kind = 'hold');
END
$windrow$;
--# comment on function key_of_holds
COMMENT ON FUNCTION key_of_holds(text) IS
    'The columns that the keys of the holds of p_rule are values of.';

-- absent_holds: holds that were set before their row came, where it has: it may spell its key differently, if a collation treats
-- different strings as equal, or the number has other zeros behind its point.
--# create function absent_holds
CREATE OR REPLACE FUNCTION absent_holds(p_rule text)
RETURNS TABLE (key text, there text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_refers text;
BEGIN
    IF NOT EXISTS (SELECT FROM hold AS h WHERE h.rule = p_rule AND h.absent) THEN
        RETURN;
    END IF;
    v_refers := key_of_holds(p_rule);
    IF many_spellings(p_rule) THEN
        RETURN QUERY
        SELECT h.key, w.o_key
        FROM hold AS h
        CROSS JOIN LATERAL row_of_key(p_rule, h.key) AS w
        WHERE h.rule = p_rule
          AND h.absent
          AND (h.refers_to = v_refers) IS NOT FALSE
          AND (h.until IS NULL OR h.until > clock_timestamp())
          AND w.o_found;
    END IF;
END
$windrow$;
--# comment on function absent_holds
COMMENT ON FUNCTION absent_holds(text) IS
    'The holds of p_rule that were set without a row, and its key, where it is there by now and may be spelled otherwise.';

-- held_keys: what a hold keeps of a rule, now.
--# create function held_keys
CREATE OR REPLACE FUNCTION held_keys(p_rule text)
RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_refers constant text := key_of_holds(p_rule);
BEGIN
    RETURN ARRAY(
        SELECT h.key
        FROM hold AS h
        WHERE h.rule = p_rule
          AND (h.refers_to = v_refers) IS NOT FALSE
          AND (h.until IS NULL OR h.until > clock_timestamp())
        UNION ALL
        SELECT a.there FROM absent_holds(p_rule) AS a
    );
END
$windrow$;
--# comment on function held_keys
COMMENT ON FUNCTION held_keys(text) IS
    'The keys of the holds of p_rule that have not passed.';

-- held_among: what holds keep of some rows, and of holds that were set before their row came, all that they name. There may be many
-- holds: each key is looked up by their index. With = ANY the server would sort the keys first, by their collation.
--# create function held_among
CREATE OR REPLACE FUNCTION held_among(p_rule text, p_keys text[])
RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_refers text;
BEGIN
    IF NOT EXISTS (SELECT FROM hold AS h WHERE h.rule = p_rule) THEN
        RETURN '{}';
    END IF;
    v_refers := key_of_holds(p_rule);
    RETURN ARRAY(
        SELECT k.key
        FROM unnest(p_keys) AS k(key)
        WHERE (
            SELECT true
            FROM hold AS h
            WHERE h.rule = p_rule
              AND h.key = k.key
              AND (h.refers_to = v_refers) IS NOT FALSE
              AND (h.until IS NULL OR h.until > clock_timestamp())
        )
        UNION ALL
        SELECT h.key
        FROM hold AS h
        WHERE h.rule = p_rule
          AND h.absent
          AND (h.refers_to = v_refers) IS NOT FALSE
          AND (h.until IS NULL OR h.until > clock_timestamp())
        UNION ALL
        SELECT a.there FROM absent_holds(p_rule) AS a
    );
END
$windrow$;
--# comment on function held_among
COMMENT ON FUNCTION held_among(text, text[]) IS
    'Those of p_keys that holds of p_rule keep, and the keys of all its holds that were set without a row.';

-- any_holds: whether there is a hold of one of some rules, now.
--# create function any_holds
CREATE OR REPLACE FUNCTION any_holds(VARIADIC p_rules text[])
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN EXISTS (SELECT FROM hold AS h WHERE h.rule = ANY (p_rules) AND (h.until IS NULL OR h.until > clock_timestamp()));
END
$windrow$;
--# comment on function any_holds
COMMENT ON FUNCTION any_holds(text[]) IS
    'Whether there is a hold that has not passed of one of these rules. There are not many, if any.';

-- bound_by: whether there is a hold of a rule whose rows belong to those of another, or lead to them.
--# create function bound_by
CREATE OR REPLACE FUNCTION bound_by(p_rule text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN any_holds(VARIADIC ARRAY(
        SELECT b.name FROM rule AS r CROSS JOIN jsonb_array_elements_text(r.document -> 'bound') AS b(name) WHERE r.rule = p_rule
    ));
END
$windrow$;
--# comment on function bound_by
COMMENT ON FUNCTION bound_by(text) IS
    'Whether a hold of another rule may keep rows of p_rule.';

-- in_zone: what turns an instant into the clock of the application, where the time of a rule has no zone.
--# create function in_zone
CREATE OR REPLACE FUNCTION in_zone(p_rule text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (SELECT coalesce(' AT TIME ZONE ' || quote_literal(r.document ->> 'zone'), '') FROM rule AS r WHERE r.rule = p_rule);
END
$windrow$;
--# comment on function in_zone
COMMENT ON FUNCTION in_zone(text) IS
    'What follows an instant that is compared with the time of p_rule.';

-- cutoff_of: before this instant a row is old enough: the retention, never below the minimum, and the safety lag before an
-- instant. A stored removal time already includes the retention. If a fallback has a retention of 0, there is none, and no
-- option of a run turns it on.
--# create function cutoff_of
CREATE OR REPLACE FUNCTION cutoff_of(p_rule text, p_as_of timestamptz, p_retention bigint)
RETURNS timestamptz
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rule      rule%ROWTYPE;
    v_retention bigint;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    v_retention := CASE v_rule.strategy
        WHEN 'removal-time' THEN 0
        WHEN 'expiry' THEN nullif(setting_of(p_rule, 'fallback_retention'), 0)
        ELSE coalesce(v_rule.retention, 0)
    END;
    IF v_retention IS NULL THEN
        RETURN NULL;
    END IF;
    IF v_rule.strategy <> 'removal-time' THEN
        v_retention := greatest(coalesce(p_retention, v_retention), v_rule.minimum);
    END IF;
    RETURN p_as_of - make_interval(secs => v_retention + coalesce((v_rule.document ->> 'safety_lag')::bigint, 0));
END
$windrow$;
--# comment on function cutoff_of
COMMENT ON FUNCTION cutoff_of(text, timestamptz, bigint) IS
    'Rows of p_rule with a time before this are old enough at p_as_of, by p_retention in seconds, or that of the spec; NULL where the '
    'setting fallback_retention is 0.';

-- cutoff_call: the same as an expression, by the clock of the application.
--# create function cutoff_call
CREATE OR REPLACE FUNCTION cutoff_call(p_rule text, p_at text, p_retention text DEFAULT 'NULL')
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN format('cutoff_of(%L, %s, %s)%s', p_rule, p_at, p_retention, in_zone(p_rule));
END
$windrow$;
--# comment on function cutoff_call
COMMENT ON FUNCTION cutoff_call(text, text, text) IS
    'The expression for the cutoff of p_rule at p_at, in the zone of the application; p_at and p_retention are expressions.';

-- undated_of: what can never become due by a rule.
--# create function undated_of
CREATE OR REPLACE FUNCTION undated_of(p_rule text, p_as_of timestamptz, p_scope text)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_keys text[];
BEGIN
    IF (SELECT r.strategy IN ('removal-time', 'age') FROM rule AS r WHERE r.rule = p_rule) THEN
        RETURN undated_timed(p_rule, p_as_of, p_scope);
    END IF;
    EXECUTE format('SELECT %s($1, $2)::text[]', routine_of(p_rule, 'undated')) INTO v_keys USING p_as_of, p_scope;
    RETURN v_keys;
END
$windrow$;
--# comment on function undated_of
COMMENT ON FUNCTION undated_of(text, timestamptz, text) IS
    'The keys of what has no time by which it could become due, of one scope or of all.';

-- families_left: how many families more a run may take of a rule.
--# create function families_left
CREATE OR REPLACE FUNCTION families_left(p_run run, p_progress run_rule)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN coalesce((p_run.options ->> 'run_families')::bigint, setting_of(p_progress.rule, 'run_families')) - p_progress.families;
END
$windrow$;
--# comment on function families_left
COMMENT ON FUNCTION families_left(run, run_rule) IS
    'How many families more a run may take of a rule, by its option or setting run_families.';

-- fail_step: what the error of a batch means: the run ends; the batch is retried; or it is halved. NULL: it cannot be
-- halved, and what failed is recorded and skipped.
--# create function fail_step
CREATE OR REPLACE FUNCTION fail_step(p_run bigint, p_rule text, p_sqlstate text, p_message text, p_context text, p_half bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_busy    boolean := is_busy(p_sqlstate);
    v_retries integer := (SELECT r.retries_in_row FROM run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule);
BEGIN
    IF is_fatal(p_run, p_rule, p_sqlstate, p_context, p_half IS NULL) THEN
        RETURN format('error %s: %s', p_sqlstate, p_message);
    END IF;
    -- A foreign key that refuses (foreign_key_violation, restrict_violation) may have got a row since what keeps rows was read: a batch
    -- that cannot be halved, and is not judged anew by that, is tried once more.
    IF v_busy AND v_retries < setting_of(p_rule, 'retries')
        OR p_sqlstate IN ('23503', '23001') AND p_half IS NULL AND v_retries = 0
    THEN
        UPDATE run_rule AS r
        SET retries = r.retries + 1,
            retries_in_row = r.retries_in_row + 1,
            updated_at = clock_timestamp()
        WHERE r.run_id = p_run
          AND r.rule = p_rule;
        RETURN 'again';
    END IF;
    IF p_half IS NOT NULL THEN
        UPDATE run_rule AS r
        SET retries = r.retries + 1,
            retries_in_row = 0,
            batch_families = p_half,
            halving = true,
            updated_at = clock_timestamp()
        WHERE r.run_id = p_run
          AND r.rule = p_rule;
        RETURN 'again';
    END IF;
    RETURN NULL;
END
$windrow$;
--# comment on function fail_step
COMMENT ON FUNCTION fail_step(bigint, text, text, text, text, bigint) IS
    'What the run does after a batch that ended with an error: the state that run() gets, or NULL where the batch (p_half: NULL) cannot be '
    'halved any more.';

-- is_fatal: whether the error of a batch ends the run. Rights, resources, a read-only server, a changed catalog are not caused by a
-- family. But many applications refuse a deletion with the state of a missing right; and fewer rows need less memory.
--# create function is_fatal
CREATE OR REPLACE FUNCTION is_fatal(p_run bigint, p_rule text, p_sqlstate text, p_context text, p_alone boolean)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF p_sqlstate IN ('WD001', '42P17') THEN
        -- The catalog has changed, or the archive does not fit.
        RETURN true;
    ELSIF is_busy(p_sqlstate) OR left(p_sqlstate, 2) NOT IN ('25', '42', '53', '54', '57', '58', 'F0', 'XX') THEN
        RETURN false;
    ELSIF left(p_sqlstate, 2) NOT IN ('25', '53', '58') AND is_raised(p_context)
        OR left(p_sqlstate, 2) = '54' OR p_sqlstate IN ('53200', '53400')
    THEN
        -- What concerns no family would fail with each. That those which are tried first are all refused, does not say so: they may be
        -- of one customer.
        RETURN p_alone AND (
            SELECT count(*) >= 100
            FROM run_failure AS f
            WHERE f.run_id = p_run
              AND f.rule = p_rule
              AND f.sqlstate = p_sqlstate
              AND f.message NOT LIKE 'not tried again since run %'
        );
    END IF;
    RETURN true;
END
$windrow$;
--# comment on function is_fatal
COMMENT ON FUNCTION is_fatal(bigint, text, text, text, boolean) IS
    'Whether the error of a batch ends the run, as no family is at fault. p_alone: the batch cannot be halved. What code of the '
    'application raised by itself ends it after 100 such families.';

-- is_raised: whether code in PL/pgSQL raised an error by itself. In most languages of the server, the first line of the context ends with
-- the statement; in others it begins with it, or a word follows. How it is in the one of this session, an error of its own shows: what is
-- beside the statement, up to the number of the line, which is at the other side of it.
--# create function is_raised
CREATE OR REPLACE FUNCTION is_raised(p_context text)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_line   text := split_part(coalesce(p_context, ''), chr(10), 1);
    v_own    text;
    v_before text;
    v_behind text;
BEGIN
    IF v_line ~ '\mRAISE$' THEN
        RETURN true;
    ELSIF strpos(v_line, 'RAISE') = 0 THEN
        RETURN false;
    END IF;
    BEGIN
        RAISE EXCEPTION USING ERRCODE = 'WD004', MESSAGE = 'an example';
    EXCEPTION WHEN SQLSTATE 'WD004' THEN
        GET STACKED DIAGNOSTICS v_own = PG_EXCEPTION_CONTEXT;
    END;
    v_own := split_part(v_own, chr(10), 1);
    v_before := split_part(v_own, 'RAISE', 1);
    v_behind := split_part(v_own, 'RAISE', 2);
    IF v_before ~ '[0-9]' THEN
        v_own := substring(v_before FROM '[^0-9]*$') || 'RAISE' || v_behind;
        RETURN right(v_line, length(v_own)) = v_own;
    END IF;
    RETURN starts_with(v_line, v_before || 'RAISE' || substring(v_behind FROM '^[^0-9]*'));
END
$windrow$;
--# comment on function is_raised
COMMENT ON FUNCTION is_raised(text) IS
    'Whether an error comes from the statement RAISE, by its context, in any language of the server.';

-- is_cancel: a trigger may raise the state of a cancel, too. A cancel that comes as a trigger begins a RAISE is known by its message,
-- and so is one that a trigger has caught and raises again, where that is in English; elsewhere all are cancels.
--# create function is_cancel
CREATE OR REPLACE FUNCTION is_cancel(p_message text, p_context text)
RETURNS boolean
LANGUAGE sql STABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT NOT is_raised(p_context) OR p_message LIKE '%canceling %' OR current_setting('lc_messages') !~* '^(c|posix|en)($|[_.@-])';
$windrow$;
--# comment on function is_cancel
COMMENT ON FUNCTION is_cancel(text, text) IS
    'Whether an error with SQLSTATE 57014 is a cancel: no code of the application raised it.';

-- is_busy: whether an error means that others were in the way.
--# create function is_busy
CREATE OR REPLACE FUNCTION is_busy(p_sqlstate text)
RETURNS boolean
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
    -- lock_not_available, deadlock_detected, serialization_failure
    SELECT p_sqlstate IN ('55P03', '40P01', '40001');
$windrow$;
--# comment on function is_busy
COMMENT ON FUNCTION is_busy(text) IS
    'Whether an error means that another session was in the way, so that to try again helps.';

-- record_failure: what failed though it could not be halved any more. What was only in use may fail otherwise later in the run.
--# create function record_failure
CREATE OR REPLACE FUNCTION record_failure(p_run bigint, p_rule text, p_key text, p_sqlstate text, p_message text)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    INSERT INTO run_failure AS f (run_id, rule, key, sqlstate, message)
    VALUES (p_run, p_rule, p_key, p_sqlstate, p_message)
    ON CONFLICT (run_id, rule, key) DO UPDATE
        SET sqlstate = EXCLUDED.sqlstate, message = EXCLUDED.message
        WHERE is_busy(f.sqlstate) AND NOT is_busy(EXCLUDED.sqlstate);
$windrow$;
--# comment on function record_failure
COMMENT ON FUNCTION record_failure(bigint, text, text, text, text) IS
    'Writes what failed to table run_failure, with the error.';

-- end_step: the progress of a batch, written in its transaction.
--# create function end_step
CREATE OR REPLACE FUNCTION end_step(
    p_run          bigint,
    p_rule         text,
    p_families     bigint,
    p_rows         bigint[],
    p_gone         text[],
    p_count        bigint,
    p_size         bigint,
    p_halving      boolean,
    p_cursor_time  text,
    p_cursor_key   text,
    p_skip_keys    text[],
    p_skip_reasons text[]
)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rows bigint := (SELECT sum(n.rows) FROM unnest(p_rows) AS n(rows));
    v_fits bigint := fits(p_rule, p_count, v_rows);
BEGIN
    UPDATE run_rule AS r
    SET families = r.families + p_families,
        deleted_rows = r.deleted_rows + v_rows,
        table_rows = ARRAY(
            SELECT n.before + n.now
            FROM unnest(r.table_rows, p_rows) WITH ORDINALITY AS n(before, now, position)
            ORDER BY n.position
        ),
        gone = r.gone || p_gone,
        batches = r.batches + 1,
        retries_in_row = 0,
        batch_families = least(p_size, v_fits),
        halving = p_halving,
        weigh = CASE
            WHEN v_fits IS NULL THEN r.weigh
            ELSE greatest(r.weigh - p_count, CASE WHEN v_fits < p_size THEN p_size ELSE 0 END)
        END,
        cursor_time = p_cursor_time,
        cursor_key = p_cursor_key,
        ahead_at = r.ahead_at + coalesce(p_count, 0),
        updated_at = clock_timestamp()
    WHERE r.run_id = p_run
      AND r.rule = p_rule;
    IF cardinality(p_skip_keys) > 0 THEN
        PERFORM record_skips(p_run, p_rule, p_skip_keys, p_skip_reasons);
    END IF;
END
$windrow$;
--# comment on function end_step
COMMENT ON FUNCTION end_step(bigint, text, bigint, bigint[], text[], bigint, bigint, boolean, text, text, text[], text[]) IS
    'Writes what a batch of p_count families of p_rule did to the progress of run p_run: families, rows by table, what a dry run counted, '
    'the size of the next batch, the cursor, what was passed over and why.';

-- fits: how many families fit in one transaction, where so many have so many rows. What a batch had is what the next one is
-- expected to have; only where that would be too much, its rows are counted before. A rule that deletes no families has stamps of them.
--# create function fits
CREATE OR REPLACE FUNCTION fits(p_rule text, p_families bigint, p_rows bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT greatest(p_families * s.most / p_rows, 1)
        FROM coalesce(setting_of(p_rule, 'batch_family_rows'), setting_of(p_rule, 'batch_rows')) AS s(most)
        WHERE p_families * s.most > 0
          AND p_rows > 0
    );
END
$windrow$;
--# comment on function fits
COMMENT ON FUNCTION fits(text, bigint, bigint) IS
    'How many families have as many rows as the setting batch_family_rows lets one transaction take, where p_families have p_rows: one at '
    'least. NULL where nothing says so.';

-- lighten: what a step does where the families that it found have too many rows.
--# create function lighten
CREATE OR REPLACE FUNCTION lighten(p_run bigint, p_rule text, p_families bigint, p_rows bigint[])
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_fits bigint := fits(p_rule, p_families, (SELECT sum(n.rows)::bigint FROM unnest(p_rows) AS n(rows)));
BEGIN
    IF v_fits < p_families THEN
        UPDATE run_rule AS r
        SET batch_families = v_fits,
            weigh = greatest(r.weigh, p_families),
            updated_at = clock_timestamp()
        WHERE r.run_id = p_run
          AND r.rule = p_rule;
        RETURN 'again';
    END IF;
    RETURN NULL;
END
$windrow$;
--# comment on function lighten
COMMENT ON FUNCTION lighten(bigint, text, bigint, bigint[]) IS
    'Has the next try of a batch of p_families, which have p_rows, take as many as fit, and answers again; NULL where these fit.';

-- preview_document: what the preview of a rule returns. The spec may ask for more fields, under names of its own.
--# create function preview_document
CREATE OR REPLACE FUNCTION preview_document(
    p_rule     text,
    p_families bigint,
    p_rows     bigint[],
    p_oldest   json,
    p_samples  jsonb,
    p_keys     text[],
    p_reasons  text[],
    p_passes   json,
    p_limit    bigint,
    p_more     boolean,
    p_batches  bigint,
    p_unlisted bigint DEFAULT NULL
)
RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT json_object_agg(d.name, d.value ORDER BY d.position)
    FROM rule AS r
    CROSS JOIN LATERAL (
        SELECT
            coalesce(json_object_agg(s.reason, s.families ORDER BY s.reason), '{}') AS skipped,
            coalesce(json_object_agg(s.reason, s.keys ORDER BY s.reason), '{}') AS samples,
            coalesce(sum(s.families), 0) AS families
        FROM (
            SELECT k.reason, count(*) AS families, to_json((array_agg(k.key ORDER BY k.position))[1:10]) AS keys
            FROM unnest(p_keys, p_reasons) WITH ORDINALITY AS k(key, reason, position)
            GROUP BY k.reason
        ) AS s
    ) AS s
    CROSS JOIN LATERAL (SELECT coalesce(sum(n.rows), 0) AS rows FROM unnest(p_rows) AS n(rows)) AS n
    LEFT JOIN LATERAL (
        -- Rows per second of the last manual runs that did some work; where there are none, of scheduled ones, which rest. A purge of
        -- single families takes its time for other things, and a dry run rolls back.
        SELECT sum(l.deleted_rows) / sum(extract(epoch FROM l.updated_at - l.started_at)) AS speed
        FROM (VALUES ('MANUAL'), ('SCHEDULED')) AS k(trigger)
        CROSS JOIN LATERAL (
            SELECT o.deleted_rows, o.updated_at, o.started_at
            FROM run_rule AS o
            JOIN run AS g ON g.run_id = o.run_id AND NOT g.dry_run AND g.trigger = k.trigger
            WHERE o.rule = p_rule
              AND o.deleted_rows > 0
            ORDER BY o.run_id DESC
            LIMIT 5
        ) AS l
        GROUP BY k.trigger
        HAVING sum(extract(epoch FROM l.updated_at - l.started_at)) > 0
        ORDER BY k.trigger
        LIMIT 1
    ) AS l ON true
    CROSS JOIN LATERAL (
        SELECT v.position, v.name, v.value
        FROM (
            VALUES
                (1, 'rule', to_json(p_rule)),
                (2, 'root', to_json(r.root)),
                (3, 'families', to_json(p_families)),
                (4, 'rows', to_json(n.rows)),
                (5, 'tables', (
                    SELECT json_object_agg(t.name, p_rows[t.position] ORDER BY t.position)
                    FROM unnest(r.tables) WITH ORDINALITY AS t(name, position)
                )),
                (6, 'oldest_end_time', p_oldest),
                (7, 'sample_roots', p_samples::json),
                (8, 'skipped_families', to_json(s.families)),
                (9, 'skipped', s.skipped),
                (10, 'skipped_samples', s.samples),
                (11, 'passes', p_passes),
                (12, 'without_policy', to_json(p_unlisted)),
                (13, 'run_families', to_json(p_limit)),
                (14, 'limited', to_json(p_more)),
                (15, 'batches', to_json(p_batches)),
                (16, 'estimated_seconds', to_json(round(n.rows / l.speed, 1)))
        ) AS v(position, name, value)
        WHERE CASE v.name
            WHEN 'passes' THEN p_passes IS NOT NULL
            WHEN 'without_policy' THEN (r.document ->> 'opt_in')::boolean
            ELSE true
        END
        UNION ALL
        SELECT
            20 + f.position, f.field ->> 'name',
            CASE f.field ->> 'figure'
                WHEN 'families' THEN to_json(p_families)
                WHEN 'table' THEN to_json(p_rows[array_position(r.tables, f.field ->> 'table')])
                WHEN 'oldest_end_time' THEN p_oldest
                WHEN 'sample_roots' THEN p_samples::json
                WHEN 'skipped' THEN s.skipped
                WHEN 'skipped_families' THEN to_json(s.families)
                WHEN 'dry_run' THEN to_json(true)
                WHEN 'artifact_failures' THEN to_json((SELECT count(*) FROM artifact AS a WHERE a.last_error IS NOT NULL))
            END
        FROM jsonb_array_elements(r.document -> 'report_preview') WITH ORDINALITY AS f(field, position)
    ) AS d
    WHERE r.rule = p_rule;
$windrow$;
--# comment on function preview_document
COMMENT ON FUNCTION preview_document(text, bigint, bigint[], json, jsonb, text[], text[], json, bigint, boolean, bigint, bigint) IS
    'What the preview of a rule answers: figures, samples, what is kept and why, how long it would take by the last five manual runs, '
    'or else by the last five scheduled ones.';

-- is_forced: whether a purge was told to delete below the minimum of its rule, and what policies and `keep` keep.
--# create function is_forced
CREATE OR REPLACE FUNCTION is_forced(p_run run)
RETURNS boolean
LANGUAGE sql STABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT coalesce((p_run.options ->> 'force')::boolean, false)
$windrow$;
--# comment on function is_forced
COMMENT ON FUNCTION is_forced(run) IS
    'Whether p_run is a purge with the option force.';

-- purge_one: deletes one named family or row, or some that may be deleted only together, with the ledger, in the caller's
-- transaction. Returns for each NULL, or why it is kept; AGAIN with p_again: others keep it, which may also be named.
--# create function purge_one
CREATE OR REPLACE FUNCTION purge_one(p_run bigint, p_rule text, p_keys text[], p_again boolean)
RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_run      record;
    v_force    boolean;
    v_named    bigint;
    v_families bigint;
    v_rows     bigint[];
    v_skipped  text[];
    v_single   text;
    v_strategy text;
    v_crosses  boolean;
    v_sqlstate text;
    v_message  text;
    v_context  text;
    v_keys     text[];
BEGIN
    -- Not the options: where many keys are named, each would have all of them read.
    SELECT r.trigger, r.dry_run, r.as_of INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    IF v_run.trigger <> 'PURGE' OR NOT is_own(p_run) THEN
        RAISE EXCEPTION 'run % is not an open purge of this session', p_run
            USING ERRCODE = '55000', HINT = format('CALL %I.purge() opens one.', current_schema());
    END IF;
    -- What goes is what the ledger says: of no other rule, and no other key.
    SELECT count(k.key), coalesce(bool_or(k.forced), false)
    INTO v_named, v_force
    FROM unnest(p_keys) AS n(key)
    JOIN run_key AS k ON k.run_id = p_run AND k.key = n.key;
    IF v_named IS DISTINCT FROM cardinality(p_keys)
        OR NOT EXISTS (SELECT FROM run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule)
    THEN
        RAISE EXCEPTION 'purge % does not name these keys of rule %', p_run, p_rule USING ERRCODE = '55000';
    END IF;
    IF (SELECT c.paused FROM control AS c) OR rule_paused(p_rule) IS NOT NULL THEN
        RETURN array_fill('PAUSED'::text, ARRAY[cardinality(p_keys)]);
    END IF;
    IF unfinished() IS NOT NULL THEN
        RAISE EXCEPTION '%', unfinished() USING ERRCODE = '55000', HINT = 'Let it finish, or run windrow install again.';
    END IF;
    PERFORM set_config('lock_timeout', setting_of(p_rule, 'lock_timeout') || 'ms', true);
    PERFORM set_config('exit_on_error', 'off', true);
    FOR v_try IN 1..2 LOOP
        BEGIN
            PERFORM take_tables(p_run, p_rule);
            PERFORM look_again(p_run);
            LOCK TABLE latch IN ROW SHARE MODE;
            -- Holds have the keys of the rows.
            v_keys := as_there(p_rule, p_keys);
            SELECT r.strategy, r.document ? 'crosses' INTO v_strategy, v_crosses FROM rule AS r WHERE r.rule = p_rule;
            IF v_strategy = 'end-time' THEN
                SELECT n.o_families, n.o_rows, n.o_skipped
                INTO v_families, v_rows, v_skipped
                FROM end_time_named(p_run, p_rule, v_keys, v_run.as_of, CASE WHEN NOT v_force THEN 0 END) AS n;
            ELSIF v_strategy IN ('removal-time', 'age') THEN
                SELECT n.o_families, n.o_rows, n.o_skipped
                INTO v_families, v_rows, v_skipped
                FROM timed_named(p_run, p_rule, v_keys, v_run.as_of, v_force) AS n;
            ELSE
                SELECT n.o_families, n.o_rows, n.o_skipped
                INTO v_families, v_rows, v_single
                FROM single_named(p_run, p_rule, v_keys[1], v_run.as_of, v_force) AS n;
                v_skipped := ARRAY[v_single];
            END IF;
            PERFORM look_at_last(p_run, p_rule);
            IF v_run.dry_run THEN
                RAISE EXCEPTION 'dry run' USING ERRCODE = 'WD002';
            END IF;
        EXCEPTION
            WHEN SQLSTATE 'WD002' THEN
                NULL;
            WHEN deadlock_detected OR lock_not_available OR serialization_failure THEN
                -- What has come, or has gone elsewhere, a second look knows.
                CONTINUE WHEN SQLSTATE = '40001' AND v_try = 1;
                v_rows := NULL;
                v_skipped := array_fill('LOCKED'::text, ARRAY[cardinality(p_keys)]);
            WHEN query_canceled OR OTHERS OR assert_failure THEN
                GET STACKED DIAGNOSTICS v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_context = PG_EXCEPTION_CONTEXT;
                -- What concerns no family would be the same for each key: it ends the purge, as it ends a run.
                IF v_sqlstate = '57014' AND is_cancel(v_message, v_context)
                    OR is_fatal(p_run, p_rule, v_sqlstate, v_context, true)
                THEN
                    RAISE;
                END IF;
                -- A foreign key that refuses may have got a row since what keeps rows was read.
                CONTINUE WHEN v_sqlstate IN ('23503', '23001') AND v_try = 1;
                PERFORM record_failure(p_run, p_rule, p_keys[1], v_sqlstate, v_message);
                v_rows := NULL;
                v_skipped := array_fill('FAILED'::text, ARRAY[cardinality(p_keys)]);
        END;
        EXIT;
    END LOOP;
    IF v_skipped = ARRAY['NOT_A_ROOT'] THEN
        RETURN v_skipped;
    END IF;
    IF p_again AND (v_skipped[1] = 'SHARED_MEMBER' OR v_skipped[1] = 'REFERENCED' AND v_crosses) THEN
        RETURN ARRAY['AGAIN'];
    END IF;
    IF v_rows IS NOT NULL THEN
        UPDATE run_rule AS r
        SET families = r.families + v_families,
            deleted_rows = r.deleted_rows + (SELECT sum(n.rows) FROM unnest(v_rows) AS n(rows)),
            table_rows = ARRAY(
                SELECT n.before + n.now
                FROM unnest(r.table_rows, v_rows) WITH ORDINALITY AS n(before, now, position)
                ORDER BY n.position
            ),
            batches = r.batches + 1,
            updated_at = clock_timestamp()
        WHERE r.run_id = p_run
          AND r.rule = p_rule;
    END IF;
    PERFORM record_skips(p_run, p_rule, array_agg(k.key ORDER BY k.key), array_agg(k.reason ORDER BY k.key))
    FROM unnest(p_keys, v_skipped) AS k(key, reason)
    WHERE k.reason <> 'NOT_A_ROOT'
    HAVING count(*) > 0;
    RETURN v_skipped;
END
$windrow$;
--# comment on function purge_one
COMMENT ON FUNCTION purge_one(bigint, text, text[], boolean) IS
    'Deletes what p_keys name in p_rule, if nothing forbids it; purge() calls it and commits. Answers NULL or the reason why it stays.';

-- keeper_of: which other family keeps one that a purge has named, and why that family is kept.
--# create function keeper_of
CREATE OR REPLACE FUNCTION keeper_of(p_rule text, p_key text, p_reason text, p_named text[], p_as_of timestamptz, p_force boolean)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_crosses boolean := (SELECT r.document ? 'crosses' FROM rule AS r WHERE r.rule = p_rule);
BEGIN
    IF p_reason = 'SHARED_MEMBER' THEN
        RETURN end_time_keeper(p_rule, p_key, p_named, p_as_of, CASE WHEN NOT p_force THEN 0 END);
    ELSIF p_reason = 'REFERENCED' AND v_crosses THEN
        RETURN timed_keeper(p_rule, p_key, p_named, p_as_of, p_force);
    END IF;
    RETURN NULL;
END
$windrow$;
--# comment on function keeper_of
COMMENT ON FUNCTION keeper_of(text, text, text, text[], timestamptz, boolean) IS
    'Key of the family that keeps the one of p_key, and why it is kept, or NOT_NAMED: p_named would take it; NULL where no other does.';

-- may_keep: whether something may silently keep rows that a rule deletes: a trigger, a rule, a relation that is not a plain table.
--# create function may_keep
CREATE OR REPLACE FUNCTION may_keep(p_rule text)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN EXISTS (
        SELECT
        FROM rule AS r
        CROSS JOIN spec AS s
        CROSS JOIN LATERAL unnest(r.tables) AS t(name)
        JOIN pg_class AS c ON c.oid = to_regclass(format('%I.%I', s.schema_name, t.name))
        WHERE r.rule = p_rule
          AND (
              c.relkind <> 'r'
              OR c.relhassubclass
              OR c.relhasrules
              OR EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = c.oid AND g.tgtype & 11 = 11)
          )
    );
END
$windrow$;
--# comment on function may_keep
COMMENT ON FUNCTION may_keep(text) IS
    'Whether a table whose rows p_rule deletes has something that may keep them: only then a batch looks whether they are gone.';

-- none_left: the error where rows of a table are still there, though they were deleted.
--# create function none_left
CREATE OR REPLACE FUNCTION none_left(p_table text, p_left boolean)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF p_left THEN
        RAISE EXCEPTION 'rows of % could not be deleted', p_table
            USING HINT = 'A trigger or a rule keeps them. The batch is rolled back.';
    END IF;
END
$windrow$;
--# comment on function none_left
COMMENT ON FUNCTION none_left(text, boolean) IS
    'Raises an error where p_left says that rows of p_table are still there after their deletion.';

-- all_locked: rows of a root table, or between a root and others, that come after those were locked, or read: nobody has judged them.
-- What is below them was not read, and a foreign key deletes it uncounted and without a copy. Fewer are no matter: others may have
-- deleted some meanwhile.
--# create function all_locked
CREATE OR REPLACE FUNCTION all_locked(p_rule text, p_rows bigint[], p_locked bigint[])
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_table text;
BEGIN
    FOR n IN 1..coalesce(cardinality(p_locked), 0) LOOP
        IF p_rows[n] > p_locked[n] THEN
            SELECT r.tables[n] INTO v_table FROM rule AS r WHERE r.rule = p_rule;
            RAISE EXCEPTION 'rows of % have come to what a batch deletes', v_table
                USING ERRCODE = 'serialization_failure', HINT = 'The batch is rolled back and tried again.';
        END IF;
    END LOOP;
END
$windrow$;
--# comment on function all_locked
COMMENT ON FUNCTION all_locked(text, bigint[], bigint[]) IS
    'Raises an error where more rows of a table of p_rule were deleted than locked or read before. p_rows, p_locked: how many, by table; '
    'NULL: it does not count.';

-- may_move: whether rows that a batch has read may have gone elsewhere since: those to which foreign keys refer are locked, and as long
-- as nobody has committed anything, the server gives the same snapshot.
--# create function may_move
CREATE OR REPLACE FUNCTION may_move(p_table text, p_since text)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN p_since <> pg_current_snapshot()::text AND NOT is_referenced(p_table);
END
$windrow$;
--# comment on function may_move
COMMENT ON FUNCTION may_move(text, text) IS
    'Whether rows of p_table that a batch has read since its snapshot was p_since, and has not locked, may have been changed by others.';

-- none_moved: a row that was read, but not locked, and is still there has gone elsewhere: what was deleted below it is its own.
--# create function none_moved
CREATE OR REPLACE FUNCTION none_moved(p_table text, p_moved boolean)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF p_moved THEN
        RAISE EXCEPTION 'rows of % have gone elsewhere from what a batch deletes', p_table
            USING ERRCODE = 'serialization_failure', HINT = 'The batch is rolled back and tried again.';
    END IF;
END
$windrow$;
--# comment on function none_moved
COMMENT ON FUNCTION none_moved(text, boolean) IS
    'Raises an error where p_moved says that rows of p_table are still there after what they name was deleted.';

-- all_gone: the same as none_left for all tables of a rule, by how many rows there still are.
--# create function all_gone
CREATE OR REPLACE FUNCTION all_gone(p_rule text, p_rows bigint[])
RETURNS void
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    PERFORM none_left(t.name, true)
    FROM rule AS r
    CROSS JOIN LATERAL unnest(r.tables, p_rows) WITH ORDINALITY AS t(name, rows, place)
    WHERE r.rule = p_rule
      AND t.rows > 0
    ORDER BY t.place
    LIMIT 1;
END
$windrow$;
--# comment on function all_gone
COMMENT ON FUNCTION all_gone(text, bigint[]) IS
    'Raises an error where there are still rows of a table of p_rule after their deletion; p_rows: how many, by table.';
