-- rule_pause: rules that runs pass over.
--# create table rule_pause
CREATE TABLE IF NOT EXISTS rule_pause (
    rule      text        NOT NULL PRIMARY KEY,
    reason    text,
    paused_by text        NOT NULL DEFAULT session_user,
    paused_at timestamptz NOT NULL DEFAULT now()
);
--# comment on table rule_pause
COMMENT ON TABLE rule_pause IS
    'Rules that runs skip. Read again before every batch. Written by pause_rule() and resume_rule().';

-- refusal: why a server starts no scheduled run. A row changes when the reason does, not with every refusal.
--# create table refusal
CREATE TABLE IF NOT EXISTS refusal (
    server text        NOT NULL PRIMARY KEY,
    reason text        NOT NULL,
    since  timestamptz NOT NULL DEFAULT clock_timestamp(),
    detail text
);
--# add column refusal.detail
ALTER TABLE refusal ADD COLUMN IF NOT EXISTS detail text;
--# comment on table refusal
COMMENT ON TABLE refusal IS
    'Why a server, by its identity_of(false), refuses scheduled runs, and since when; detail: of an error, the first time, its DETAIL and '
    'CONTEXT, up to 2,000 characters. The row is deleted when such a run starts there.';

-- scheduling: what the latest runs mean for the next scheduled one; the ledger says it, and nothing else counts.
-- A run is broken that an error ended, or that crashed. One is empty that found nothing left and deleted nothing, for
-- another reason than locks. Both count in a row since somebody armed windrow; a run by hand that is not broken ends the row.
-- What was written by a clock that was ahead does not count.
--# create view scheduling
CREATE OR REPLACE VIEW scheduling AS
WITH latest AS (
    SELECT
        r.run_id,
        coalesce(w.sweep_id, r.run_id) AS sweep_id,
        r.reason,
        r.finished_at,
        coalesce(
            r.trigger = 'SCHEDULED' AND r.started_at > c.armed_at AND coalesce(r.finished_at, r.started_at) <= clock_timestamp(), false
        ) AS is_counted,
        r.status = 'crashed' OR coalesce(r.reason LIKE 'error %', false) AS is_broken,
        coalesce(r.reason = 'nothing left', false)
            AND NOT EXISTS (
                SELECT FROM run_rule AS p
                WHERE p.run_id IN (SELECT r.run_id UNION SELECT o.run_id FROM run_sweep AS o WHERE o.sweep_id = w.sweep_id)
                  AND p.deleted_rows > 0
            )
            AND NOT EXISTS (SELECT FROM run_skip AS k WHERE k.run_id = r.run_id AND k.reason = 'LOCKED') AS is_empty
    FROM run AS r
    CROSS JOIN control AS c
    -- The runs of a sweep count as one.
    LEFT JOIN run_sweep AS w ON w.run_id = r.run_id
    WHERE r.trigger NOT IN ('PURGE', 'STAMP')
      AND NOT r.dry_run
      AND r.status NOT IN ('running', 'cancelled')
    ORDER BY r.run_id DESC
    -- One sweep more than may count in a row.
    LIMIT (SELECT 101 * s.workers FROM spec AS s)
),
sweeps AS (
    -- One worker that fails is enough; that others do not, does not make up for it.
    SELECT
        l.sweep_id,
        max(l.run_id) FILTER (WHERE l.is_broken AND l.is_counted) AS broken_run,
        bool_or(l.is_broken) AS is_broken,
        bool_and(l.is_empty AND l.is_counted) AS is_empty,
        max(l.finished_at) AS ended
    FROM latest AS l
    GROUP BY l.sweep_id
    -- Of a sweep that is under way, nothing else is known yet.
    HAVING bool_or(l.is_broken)
        OR l.sweep_id NOT IN (SELECT o.sweep_id FROM run AS r JOIN run_sweep AS o ON o.run_id = r.run_id WHERE r.status = 'running')
),
failures AS (
    SELECT count(w.broken_run) AS runs, max(w.broken_run) AS last_run
    FROM sweeps AS w
    WHERE w.sweep_id > coalesce((SELECT max(o.sweep_id) FROM sweeps AS o WHERE NOT o.is_broken), 0)
),
idle AS (
    SELECT count(w.sweep_id) AS runs, max(w.ended) AS ended
    FROM sweeps AS w
    WHERE w.sweep_id > coalesce((SELECT max(o.sweep_id) FROM sweeps AS o WHERE NOT o.is_empty), 0)
),
bounds AS (
    -- Off is not the smallest: it is off where all rules have it off.
    SELECT coalesce(min(s.value) FILTER (WHERE s.name = 'suspend_after'), 0) AS suspend_after,
        coalesce(min(s.value) FILTER (WHERE s.name = 'back_off_max'), 0) AS back_off_max
    FROM settings AS s
    WHERE s.value > 0
)
SELECT
    f.runs AS failed_runs,
    b.suspend_after > 0 AND f.runs >= b.suspend_after AS suspended,
    (SELECT l.reason FROM latest AS l WHERE l.run_id = f.last_run) AS last_error,
    i.runs AS empty_runs,
    CASE WHEN b.back_off_max > 0 THEN i.ended + make_interval(secs => least(b.back_off_max, 10 * 2 ^ (i.runs - 1))) END AS idle_until
FROM failures AS f
CROSS JOIN idle AS i
CROSS JOIN bounds AS b;
--# comment on view scheduling
COMMENT ON VIEW scheduling IS
    'Scheduled runs in a row that failed, or found nothing left; whether no further one starts before a manual run succeeds or arm() '
    'is called, and the end of the back-off.';

-- pause_rule, resume_rule: a switch for one rule. A run in progress obeys before its next batch, and continues with other rules.
--# create function pause_rule
CREATE OR REPLACE FUNCTION pause_rule(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_pause rule_pause%ROWTYPE;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'reason']);
    INSERT INTO rule_pause AS p (rule, reason)
    VALUES (check_rule(p_options), p_options ->> 'reason')
    ON CONFLICT (rule) DO UPDATE
    SET reason = excluded.reason,
        paused_by = session_user,
        paused_at = clock_timestamp()
    RETURNING p.* INTO v_pause;
    RETURN row_to_json(v_pause);
END
$windrow$;
--# comment on function pause_rule
COMMENT ON FUNCTION pause_rule(jsonb) IS
    'Makes runs skip a rule, from the next batch on. Example: SELECT pause_rule(''{"rule": "a_rule", "reason": "audit"}'');';
--# create function resume_rule
CREATE OR REPLACE FUNCTION resume_rule(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_pause rule_pause%ROWTYPE;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule']);
    DELETE FROM rule_pause AS p
    WHERE p.rule = check_decided(p_options)
    RETURNING p.* INTO v_pause;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'rule % is not paused', check_decided(p_options)
            USING ERRCODE = '22023', HINT = format('The paused rules are in table %I.rule_pause; CALL %I.resume() ends a pause of '
                'everything.', current_schema(), current_schema());
    END IF;
    RETURN row_to_json(v_pause);
END
$windrow$;
--# comment on function resume_rule
COMMENT ON FUNCTION resume_rule(jsonb) IS
    'Ends the pause of a rule and returns it. Example: SELECT resume_rule(''{"rule": "a_rule"}'');';

-- why_paused: what a pause says, of everything or of a rule.
--# create function why_paused
CREATE OR REPLACE FUNCTION why_paused(p_by text, p_at timestamptz, p_reason text)
RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
    SELECT format('paused by %s since %s: %s', p_by, to_char(p_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), coalesce(p_reason, 'no reason given'));
$windrow$;
--# comment on function why_paused
COMMENT ON FUNCTION why_paused(text, timestamptz, text) IS
    'Why nothing is done, in words: who paused it, since when and why.';

-- rule_paused: why a rule is skipped.
--# create function rule_paused
CREATE OR REPLACE FUNCTION rule_paused(p_rule text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT format('rule %s is %s', p.rule, why_paused(p.paused_by, p.paused_at, p.reason))
        FROM rule_pause AS p
        WHERE p.rule = p_rule
    );
END
$windrow$;
--# comment on function rule_paused
COMMENT ON FUNCTION rule_paused(text) IS
    'Why the rule is passed over: who paused it, since when and why; NULL if nobody did.';

-- note_refusal: what refuses a scheduled run on this server is written down once, not at every start, and anew where a run has begun
-- meanwhile: those who watch count only what came after it.
--# create function note_refusal
CREATE OR REPLACE FUNCTION note_refusal(p_reason text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_server constant text := identity_of(false);
    v_known  text := (
        SELECT f.reason
        FROM refusal AS f
        WHERE f.server = v_server
          AND (
              p_reason IS NULL
              OR f.since > ALL (
                  SELECT r.started_at
                  FROM run AS r
                  WHERE NOT r.dry_run
                    AND r.trigger NOT IN ('PURGE', 'STAMP')
                  ORDER BY r.run_id DESC
                  LIMIT 1
              )
          )
    );
BEGIN
    IF p_reason IS NULL AND v_known IS NOT NULL THEN
        DELETE FROM refusal AS r WHERE r.server = v_server;
    ELSIF p_reason <> v_known OR v_known IS NULL AND p_reason IS NOT NULL THEN
        INSERT INTO refusal (server, reason)
        VALUES (v_server, p_reason)
        ON CONFLICT (server) DO UPDATE
        SET reason = excluded.reason,
            since = excluded.since,
            detail = NULL;
    END IF;
END
$windrow$;
--# comment on function note_refusal
COMMENT ON FUNCTION note_refusal(text) IS
    'Writes to table refusal why this server refuses scheduled runs; NULL: it does not.';

-- check_armed: a manual run and a purge get an error where nobody armed windrow.
--# create function check_armed
CREATE OR REPLACE FUNCTION check_armed()
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_reason text := not_armed();
BEGIN
    IF v_reason LIKE 'not armed%' THEN
        RAISE EXCEPTION '%', v_reason
            USING ERRCODE = '55000', HINT = format('Read SELECT %I.preview(), then CALL %I.arm().', current_schema(), current_schema());
    ELSIF v_reason LIKE 'armed%' THEN
        RAISE EXCEPTION '%', v_reason
            USING ERRCODE = '55000', HINT = format('This looks like a restored copy or a clone. If it is to be cleaned too: CALL '
                '%I.arm().', current_schema());
    ELSIF v_reason IS NOT NULL THEN
        RAISE EXCEPTION '%', v_reason
            USING ERRCODE = '55000', HINT = format('Where it is still the primary: CALL %I.arm(), or let a standby follow it. Where it is '
                'not, make it a standby.', current_schema());
    END IF;
END
$windrow$;
--# comment on function check_armed
COMMENT ON FUNCTION check_armed() IS
    'Raises 55000 where not_armed() finds something.';

-- held_back: why no run may start now. Where nobody armed windrow on this server, a scheduled run is refused without an
-- error: a standby that was promoted, a restored copy or another node of a cluster would fill its log with them.
--# create function held_back
CREATE OR REPLACE FUNCTION held_back(p_options jsonb)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_control control%ROWTYPE;
    v_reason  text;
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'the server is a standby: nothing is deleted here' USING ERRCODE = '25006';
    END IF;
    SELECT * INTO STRICT v_control FROM control;
    IF v_control.paused THEN
        v_reason := why_paused(v_control.paused_by, v_control.paused_at, v_control.paused_reason);
    ELSE
        -- Not one of the rules may be worked on.
        SELECT CASE WHEN bool_and(p.why IS NOT NULL) THEN string_agg(p.why, '; ' ORDER BY p.position) END
        INTO v_reason
        FROM (
            SELECT r.position, rule_paused(r.rule) AS why
            FROM rule AS r
            WHERE r.rule = coalesce(p_options ->> 'rule', r.rule)
        ) AS p;
    END IF;
    IF p_options ->> 'trigger' = 'SCHEDULED' THEN
        v_reason := coalesce(
            v_reason,
            CASE WHEN (p_options ->> 'dry_run')::boolean IS NOT TRUE THEN not_armed() END,
            unaccounted(),
            CASE WHEN NOT in_window(clock_timestamp()) THEN
                format('no window is open: %s', (SELECT string_agg(h.written, ', ' ORDER BY h.position) FROM open_hours AS h))
            END
        );
        IF v_reason IS NOT NULL THEN
            PERFORM note_refusal(v_reason);
        END IF;
    END IF;
    RETURN v_reason;
END
$windrow$;
--# comment on function held_back
COMMENT ON FUNCTION held_back(jsonb) IS
    'Why no run with these options may start now: a pause, and for scheduled runs also a server where nobody armed windrow, something in '
    'the catalog that the spec does not know or a closed window; NULL if nothing forbids it.';

-- kept_back: why no scheduled run starts now, by the latest ones.
--# create function kept_back
CREATE OR REPLACE FUNCTION kept_back()
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT CASE
        WHEN s.suspended THEN format('suspended after %s failed runs in a row, the last one: %s', s.failed_runs, s.last_error)
        WHEN s.idle_until > clock_timestamp()
            THEN format('nothing left, runs in a row: %s; back-off until %s', s.empty_runs,
            to_char(s.idle_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    END
    FROM scheduling AS s;
$windrow$;
--# comment on function kept_back
COMMENT ON FUNCTION kept_back() IS
    'Why no scheduled run starts now: suspended after failures, or a back-off after runs that found nothing left; NULL if one may.';

-- schedule_check: whether pg_cron will start runs. With the rights of its caller: pg_cron shows everybody his own jobs only,
-- and its settings to those alone who may read all settings. Where windrow is armed and nothing starts a run, nobody would notice:
-- that is a violation, unless an installation left the schedule out, since runs are started from elsewhere.
--# create function schedule_check
CREATE OR REPLACE FUNCTION schedule_check()
RETURNS json
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_control  control%ROWTYPE;
    v_works    constant boolean := not_armed() IS NULL AND NOT pg_is_in_recovery();
    v_home     text;
    v_zone     text;
    v_jobs     jsonb;
    v_starts   boolean;
    v_severity text;
    v_detail   text;
BEGIN
    SELECT * INTO STRICT v_control FROM control;
    v_severity := CASE WHEN v_control.scheduled AND NOT pg_is_in_recovery() THEN 'violation' ELSE 'notice' END;
    SELECT max(s.setting) FILTER (WHERE s.name = 'cron.database_name')
    INTO v_home
    FROM pg_settings AS s;
    BEGIN
        PERFORM current_setting('cron.database_name', true);
        v_zone := current_setting('cron.timezone', true);
    EXCEPTION WHEN insufficient_privilege THEN
        -- It is there and not to be seen, so pg_cron is loaded.
        v_home := current_database();
    END;
    IF NOT EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'pg_cron') THEN
        v_severity := CASE WHEN v_works AND v_control.scheduled THEN 'violation' ELSE 'notice' END;
        v_detail := format('pg_cron is not in database %s: no run starts by itself', current_database());
    ELSIF v_home IS NULL THEN
        v_detail := 'the server has not loaded pg_cron: no run starts; add it to shared_preload_libraries and restart the server';
    ELSIF v_home <> current_database() THEN
        v_detail := format('pg_cron takes its jobs from database %s (cron.database_name), not from this one: no run starts', v_home);
    ELSE
        -- The extension may come later than this function.
        EXECUTE $jobs$
            WITH who AS (
                SELECT i.* FROM installation AS i
            )
            SELECT
                CASE
                    WHEN bool_or(c.severity = 'violation') AND NOT pg_is_in_recovery() THEN 'violation'
                    WHEN bool_or($1 AND $2 AND c.severity = 'notice' AND c.beside AND c.name <> current_schema() || ' history')
                        THEN 'violation'
                    WHEN bool_or(c.severity <> 'ok') THEN 'notice'
                    ELSE 'ok'
                END,
                string_agg(CASE WHEN c.problem IS NULL THEN c.runs_as ELSE format('%s; %s', c.problem, c.remedy) END, '; '
                    ORDER BY c.position, c.jobid)
            FROM (
                --+ jobs.sql
            ) AS c
        $jobs$
        INTO v_severity, v_detail
        USING v_works, v_control.scheduled;
        SELECT s.document -> 'cron' INTO v_jobs FROM spec AS s;
        IF
            --+ other_clock.sql
        THEN
            SELECT
                --+ starts.sql
            INTO v_starts
            FROM spec AS s;
            v_severity := CASE WHEN v_severity = 'violation' OR v_starts THEN replace(v_severity, 'ok', 'notice')
                WHEN v_works AND v_control.scheduled THEN 'violation' ELSE 'notice' END;
            v_detail := v_detail || format('; pg_cron starts its jobs by the clock of %s (cron.timezone), not in UTC as the spec and '
                'windrow plan have it', v_zone) || CASE WHEN v_starts THEN '' ELSE ': no start falls in a window' END;
        END IF;
    END IF;
    IF v_works AND v_control.scheduled AND v_severity = 'violation'
        AND v_detail ~ '(^pg_cron |^the server has not|no job of pg_cron|is not active)' THEN
        v_detail := v_detail || '; if runs are started from elsewhere: windrow install --skip 60_schedule.sql';
    END IF;
    RETURN json_build_object('check', 'schedule', 'object', v_control.spec, 'severity', v_severity, 'count', 1, 'detail', v_detail);
END
$windrow$;
--# comment on function schedule_check
COMMENT ON FUNCTION schedule_check() IS
    'Whether pg_cron will start runs, as far as the caller can see; windrow verify adds it to the result of verify(). Example: SELECT '
    'schedule_check();';
