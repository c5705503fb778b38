{% import "macros.sql" as w -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- server_identity: what tells this database from its restored copies, clones and promoted standbys. Whoever changes the
-- port, the name of the cluster, the listen addresses or the place of the data arms anew; a restart, a minor upgrade and
-- another address of the host change nothing, unless arm() said until restart. Where the owner role may not read all
-- settings, the place of the data counts as unknown.
--# create function {{ control }}.server_identity
CREATE OR REPLACE FUNCTION {{ control }}.server_identity()
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT concat_ws(
        '/',
        s.system_identifier, greatest(k.timeline_id, r.min_recovery_end_timeline), current_setting('port'), d.oid, d.datname,
        current_setting('cluster_name'), current_setting('listen_addresses'),
        coalesce((SELECT p.setting FROM pg_settings AS p WHERE p.name = 'data_directory'), '?'),
        CASE WHEN c.server_identity LIKE '%/started %' THEN to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', '"started "YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END
    )
    FROM pg_control_system() AS s
    -- A promotion and a recovery to a point in time begin a new timeline: known from the recovery until the next checkpoint.
    CROSS JOIN pg_control_checkpoint() AS k
    CROSS JOIN pg_control_recovery() AS r
    CROSS JOIN pg_database AS d
    CROSS JOIN {{ control }}.control AS c
    WHERE d.datname = current_database();
$windrow$;
--# comment on function {{ control }}.server_identity
COMMENT ON FUNCTION {{ control }}.server_identity() IS
    'System identifier, timeline, port, database, name of the cluster, listen addresses and data directory, and when the server has started where that counts; arm() stores it, and a run refuses when it has changed. [body @body@]';

-- open_hours: when scheduled runs may work.
--# create view {{ control }}.open_hours
CREATE OR REPLACE VIEW {{ control }}.open_hours AS
SELECT o.position, o.written, o.days, o.begins, o.ends, o.zone, o.changed_by, o.changed_at
FROM {{ control }}.run_window AS o
UNION ALL
SELECT d.position, d.written, d.days, d.begins, d.ends, d.zone, NULL, NULL
FROM (
    VALUES
{%- for window in windows %}
        ({{ loop.index }}, {{ window.written }}, {{ window.days }}, time {{ window.begins }}, time {{ window.ends }}, {{ window.zone }}){% if not loop.last %},{% endif %}
{%- endfor %}
) AS d(position, written, days, begins, ends, zone)
WHERE NOT EXISTS (SELECT FROM {{ control }}.run_window);
--# comment on view {{ control }}.open_hours
COMMENT ON VIEW {{ control }}.open_hours IS
    'When scheduled runs may work: the windows that set_windows() wrote, else those of the spec ({{ windows_text }}).';

-- in_window: whether a window is open at an instant. The clock of its zone decides: what it shows twice, as it is put
-- back, is in the window both times, and what it leaves out is in none.
--# create function {{ control }}.in_window
CREATE OR REPLACE FUNCTION {{ control }}.in_window(p_at timestamptz)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT EXISTS (
        SELECT
        FROM {{ control }}.open_hours AS h
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
--# comment on function {{ control }}.in_window
COMMENT ON FUNCTION {{ control }}.in_window(timestamptz) IS
    'Whether scheduled runs may work at an instant, by open_hours. Start inclusive, end exclusive, on the clock of each window''s zone. Example: SELECT {{ control }}.in_window(now()); [body @body@]';

-- record_skips: adds the families that a batch passed over to the ledger.
--# create function {{ control }}.record_skips
CREATE OR REPLACE FUNCTION {{ control }}.record_skips(p_run bigint, p_rule text, p_keys text[], p_reasons text[])
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    INSERT INTO {{ control }}.run_skip AS r (run_id, rule, reason, families, sample_keys)
    SELECT p_run, p_rule, k.reason, count(*), (array_agg(k.key ORDER BY k.position))[1:10]
    FROM unnest(p_keys, p_reasons) WITH ORDINALITY AS k(key, reason, position)
    GROUP BY k.reason
    ON CONFLICT (run_id, rule, reason) DO UPDATE
    SET families = r.families + excluded.families,
        sample_keys = (r.sample_keys || excluded.sample_keys)[1:10];
$windrow$;
--# comment on function {{ control }}.record_skips
COMMENT ON FUNCTION {{ control }}.record_skips(bigint, text, text[], text[]) IS
    'Adds skipped families to table run_skip, by reason. [body @body@]';

{% if by_row -%}
-- record_pass: adds the rows that a batch deleted to the ledger, by the reason why they went.
--# create function {{ control }}.record_pass
CREATE OR REPLACE FUNCTION {{ control }}.record_pass(p_run bigint, p_rule text, p_pass text, p_rows bigint, p_samples text[])
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    INSERT INTO {{ control }}.run_pass AS r (run_id, rule, pass, deleted_rows, sample_keys)
    VALUES (p_run, p_rule, p_pass, p_rows, p_samples)
    ON CONFLICT (run_id, rule, pass) DO UPDATE
    SET deleted_rows = r.deleted_rows + excluded.deleted_rows,
        sample_keys = (r.sample_keys || excluded.sample_keys)[1:10];
$windrow$;
--# comment on function {{ control }}.record_pass
COMMENT ON FUNCTION {{ control }}.record_pass(bigint, text, text, bigint, text[]) IS
    'Adds deleted rows to table run_pass, by the pass that found them. [body @body@]';

{% endif -%}
-- check_run_options: the options of run() and preview(), checked before anything happens. Answers the pinned instant.
--# create function {{ control }}.check_run_options
CREATE OR REPLACE FUNCTION {{ control }}.check_run_options(p_options jsonb)
RETURNS timestamptz
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule  text;
    v_as_of timestamptz := clock_timestamp();
BEGIN
    IF p_options ? 'rule' THEN
        PERFORM {{ control }}.check_rule(p_options);
    END IF;
    IF p_options ? 'as_of' THEN
        v_as_of := {{ control }}.instant_of(p_options ->> 'as_of');
        IF v_as_of IS NULL OR v_as_of > clock_timestamp() THEN
            RAISE EXCEPTION 'as_of is not an instant of the past: %', quote_nullable(p_options ->> 'as_of')
                USING ERRCODE = '22023', HINT = format('Write it like %s; without a zone it is UTC. It cannot lie after the clock of the database.', to_char(clock_timestamp(), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
        END IF;
    END IF;
{%- for rule in rules %}
{%- if rule.timed and not rule.timed.ages %}
    IF p_options ? 'retention' AND coalesce(p_options ->> 'rule', {{ rule.literal }}) = {{ rule.literal }} THEN
        RAISE EXCEPTION 'rule {{ rule.name }} has no retention of its own'
            USING ERRCODE = '22023', HINT = 'The stored {{ rule.table_name }}.{{ rule.end_time_name }} holds it: leave the option retention out, or name another rule.';
    END IF;
{%- elif rule.single and not rule.single.aged %}
    IF p_options ? 'retention' AND coalesce(p_options ->> 'rule', {{ rule.literal }}) = {{ rule.literal }} THEN
        RAISE EXCEPTION 'rule {{ rule.name }} has no retention'
            USING ERRCODE = '22023', HINT = 'Its rows go whatever their age: leave the option retention out, or name another rule.';
    END IF;
{%- else %}
    IF {{ control }}.seconds(p_options ->> 'retention') < {{ rule.minimum }} AND coalesce(p_options ->> 'rule', {{ rule.literal }}) = {{ rule.literal }} THEN
        RAISE EXCEPTION 'a retention of % is under the minimum of rule {{ rule.name }}', p_options ->> 'retention'
            USING ERRCODE = '22023', HINT = 'The minimum is {{ rule.minimum_text }}; it stands in the spec.';
    END IF;
{%- endif %}
{%- if rule.per %}
    IF p_options ->> 'scope' !~ {{ rule.scope_pattern }} AND coalesce(p_options ->> 'rule', {{ rule.literal }}) = {{ rule.literal }} THEN
        RAISE EXCEPTION 'not a scope of rule {{ rule.name }}: %', quote_literal(p_options ->> 'scope')
            USING ERRCODE = '22023', HINT = 'A scope is a value of {{ rule.table_name }}.{{ rule.per_name }}.';
    END IF;
{%- else %}
    IF p_options ? 'scope' AND coalesce(p_options ->> 'rule', {{ rule.literal }}) = {{ rule.literal }} THEN
        RAISE EXCEPTION 'rule {{ rule.name }} has no scopes'
            USING ERRCODE = '22023', HINT = 'Leave the option scope out{% if rules | length > 1 %}, or name another rule{% endif %}.';
    END IF;
{%- endif %}
{%- endfor %}
    IF p_options ? 'from' THEN
{%- for rule in rules %}{% if rule.single %}
        IF coalesce(p_options ->> 'rule', {{ rule.literal }}) = {{ rule.literal }} THEN
            RAISE EXCEPTION 'rule {{ rule.name }} does not go along a time'
                USING ERRCODE = '22023', HINT = 'Leave the option from out{% if rules | length > 1 %}, or name another rule{% endif %}.';
        END IF;
{%- endif %}{% endfor %}
        IF {{ control }}.instant_of(p_options ->> 'from') IS NULL THEN
            RAISE EXCEPTION 'from is not a time: %', quote_nullable(p_options ->> 'from')
                USING ERRCODE = '22023', HINT = 'Write it like 2026-01-31T12:00:00, by the clock of the application.';
        END IF;
{%- for rule in rules %}{% if not rule.single and not rule.zoned %}
        IF coalesce(p_options ->> 'rule', {{ rule.literal }}) = {{ rule.literal }} AND p_options ->> 'from' ~ ':.*[Z+-]' THEN
            RAISE EXCEPTION 'from has a zone: %', quote_nullable(p_options ->> 'from')
                USING ERRCODE = '22023', HINT = 'Write it like 2026-01-31T12:00:00, by the clock of the application: {{ rule.table_name }}.{{ rule.end_time_name }} has no zone.';
        END IF;
{%- endif %}{% endfor %}
    END IF;
    IF p_options ? 'run_families' AND (p_options ->> 'run_families' !~ '^[1-9][0-9]{0,17}$') IS NOT FALSE THEN
        RAISE EXCEPTION 'run_families is not a number above 0: %', quote_nullable(p_options ->> 'run_families')
            USING ERRCODE = '22023', HINT = 'Write it like {"run_families": 100}.';
    END IF;
    IF p_options ? 'time_budget' AND coalesce({{ control }}.seconds(p_options ->> 'time_budget'), 0) <= 0 THEN
        RAISE EXCEPTION 'time_budget is not a duration above 0: %', quote_nullable(p_options ->> 'time_budget')
            USING ERRCODE = '22023', HINT = 'Write it like {"time_budget": "10m"}.';
    END IF;
    IF p_options ? 'dry_run' AND jsonb_typeof(p_options -> 'dry_run') <> 'boolean' THEN
        RAISE EXCEPTION 'dry_run is not true or false: %', p_options -> 'dry_run'
            USING ERRCODE = '22023', HINT = 'Write {"dry_run": true}.';
    END IF;
{%- if workers > 1 %}
    IF p_options ? 'worker' AND (jsonb_typeof(p_options -> 'worker') = 'number' AND p_options ->> 'worker' ~ '^[1-{{ workers }}]$') IS NOT TRUE THEN
        RAISE EXCEPTION 'worker is not a number from 1 to {{ workers }}: %', quote_nullable(p_options ->> 'worker')
            USING ERRCODE = '22023', HINT = 'The spec says how many workers there are; without the option it is the first.';
    END IF;
{%- endif %}
    IF p_options ? 'trigger' AND (p_options ->> 'trigger' IN ('MANUAL', 'SCHEDULED')) IS NOT TRUE THEN
        RAISE EXCEPTION 'trigger is neither MANUAL nor SCHEDULED: %', quote_nullable(p_options ->> 'trigger')
            USING ERRCODE = '22023', HINT = 'Leave it out: MANUAL is the default.';
    END IF;
    RETURN v_as_of;
END
$windrow$;
--# comment on function {{ control }}.check_run_options
COMMENT ON FUNCTION {{ control }}.check_run_options(jsonb) IS
    'Raises 22023 with a hint for an option that makes no sense; answers the instant from which cutoffs are counted. [body @body@]';

-- take_lock: the session's lock says that its run goes on: it outlives COMMIT and ends with the session at the latest. Any
-- session may take any advisory lock, so nothing waits for this one: its number is free, and it counts for its own session.
--# create function {{ control }}.take_lock
CREATE OR REPLACE FUNCTION {{ control }}.take_lock()
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    WHILE NOT pg_try_advisory_lock({{ lock_class }}, 16 + floor(random() * 2147483000)::integer) LOOP
    END LOOP;
END
$windrow$;
--# comment on function {{ control }}.take_lock
COMMENT ON FUNCTION {{ control }}.take_lock() IS
    'Takes the lock by which others see that the run of this session goes on. [body @body@]';

-- holds_lock: whether a session has the lock of a run, which it takes at the begin and gives back at the end.
--# create function {{ control }}.holds_lock
CREATE OR REPLACE FUNCTION {{ control }}.holds_lock(p_pid integer)
RETURNS boolean
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT EXISTS (
        SELECT FROM pg_locks AS l
        WHERE l.locktype = 'advisory'
          AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
          AND l.pid = p_pid
          AND l.classid::bigint = {{ lock_class }}
          AND l.objid::bigint >= 16
          AND l.objsubid = 2
    );
$windrow$;
--# comment on function {{ control }}.holds_lock
COMMENT ON FUNCTION {{ control }}.holds_lock(integer) IS
    'Whether the session p_pid has the lock of a run. [body @body@]';

-- is_alive: whether the call that opened a run of the ledger still goes on.
-- An error that nothing can catch, such as a cancel between two batches, leaves the lock of the run to a session that
-- does nothing: a session at work has a transaction, but for an instant at COMMIT.
--# create function {{ control }}.is_alive
CREATE OR REPLACE FUNCTION {{ control }}.is_alive(p_pid integer)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    IF p_pid = pg_backend_pid() OR NOT {{ control }}.holds_lock(p_pid) THEN
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
--# comment on function {{ control }}.is_alive
COMMENT ON FUNCTION {{ control }}.is_alive(integer) IS
    'Whether the session p_pid, which opened a run, still works on it. [body @body@]';

-- run_unlock: gives back the locks of this session's runs.
--# create function {{ control }}.run_unlock
CREATE OR REPLACE FUNCTION {{ control }}.run_unlock()
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT pg_advisory_unlock({{ lock_class }}, l.objid::bigint::integer)
    FROM pg_locks AS l
    WHERE l.locktype = 'advisory'
      AND l.pid = pg_backend_pid()
      AND l.classid::bigint = {{ lock_class }}
      AND l.objid::bigint >= 16
      AND l.objsubid = 2;
$windrow$;
--# comment on function {{ control }}.run_unlock
COMMENT ON FUNCTION {{ control }}.run_unlock() IS
    'Gives back the locks of the runs of this session; a session has one run at a time. [body @body@]';

-- reap: closes the runs of the ledger that say running, though their call is over: its session vanished, or an error
-- that nothing can catch ended it between two batches. What they committed stays.
--# create function {{ control }}.reap
CREATE OR REPLACE FUNCTION {{ control }}.reap()
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_run    {{ control }}.run%ROWTYPE;
    v_own    boolean;
    v_closed bigint := 0;
BEGIN
    FOR v_run IN SELECT * FROM {{ control }}.run AS r WHERE r.status = 'running' ORDER BY r.run_id LOOP
        IF NOT {{ control }}.is_alive(v_run.backend_pid) THEN
            v_own := {{ control }}.holds_lock(pg_backend_pid());
            UPDATE {{ control }}.run AS r
            SET status = CASE WHEN v_own THEN 'cancelled' ELSE 'crashed' END,
                reason = CASE WHEN v_own THEN 'cancelled' ELSE 'its session vanished; what it committed stays' END,
                finished_at = {% if stamps > 0 %}greatest(
                    (SELECT max(p.updated_at) FROM {{ control }}.run_rule AS p WHERE p.run_id = r.run_id),
                    (SELECT max(p.updated_at) FROM {{ control }}.run_stamp AS p WHERE p.run_id = r.run_id)
                ){% else %}(SELECT max(p.updated_at) FROM {{ control }}.run_rule AS p WHERE p.run_id = r.run_id){% endif %}
            WHERE r.run_id = v_run.run_id
              AND r.status = 'running';
            v_closed := v_closed + 1;
        END IF;
    END LOOP;
    PERFORM {{ control }}.run_unlock();
    RETURN v_closed;
END
$windrow$;
--# comment on function {{ control }}.reap
COMMENT ON FUNCTION {{ control }}.reap() IS
    'Closes the runs of the ledger whose call is over, which the next run does too, and answers how many. Example: SELECT {{ control }}.reap(); [body @body@]';

-- is_own: a run of the ledger is driven only by the session that opened it, and only while it is open. PL/pgSQL keeps the
-- plan, as in all that is asked before every batch.
--# create function {{ control }}.is_own
CREATE OR REPLACE FUNCTION {{ control }}.is_own(p_run bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    RETURN EXISTS (
        SELECT FROM {{ control }}.run AS r
        WHERE r.run_id = p_run
          AND r.status = 'running'
          AND r.backend_pid = pg_backend_pid()
    );
END
$windrow$;
--# comment on function {{ control }}.is_own
COMMENT ON FUNCTION {{ control }}.is_own(bigint) IS
    'Whether run p_run is open and belongs to this session. [body @body@]';

-- run_begin: takes the lock and opens the ledger, or says why not.
--# create function {{ control }}.run_begin
CREATE OR REPLACE FUNCTION {{ control }}.run_begin(p_options jsonb, OUT o_run bigint, OUT o_refused text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_control {{ control }}.control%ROWTYPE;
    v_as_of   timestamptz;
    v_dry_run boolean;
{%- if workers > 1 %}
    -- What may differ between the workers of a sweep.
    v_own     constant text[] := ARRAY['worker', 'run_families', 'time_budget', 'trigger', 'dry_run'];
{%- endif %}
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'dry_run', 'scope', 'retention', 'as_of', 'run_families', 'time_budget', 'trigger'{% if workers > 1 %}, 'worker'{% endif %}]);
    v_as_of := {{ control }}.check_run_options(p_options);
    v_dry_run := coalesce((p_options ->> 'dry_run')::boolean, false);
    SELECT * INTO STRICT v_control FROM {{ control }}.control;
    o_refused := {{ control }}.held_back(p_options);
    IF o_refused IS NOT NULL THEN
        RETURN;
    END IF;
    IF NOT v_dry_run THEN
        IF NOT v_control.armed THEN
            RAISE EXCEPTION 'not armed: nothing is deleted before someone said so'
                USING ERRCODE = '55000', HINT = 'Read SELECT {{ control }}.preview(), then CALL {{ control }}.arm().';
        END IF;
        IF v_control.server_identity IS DISTINCT FROM {{ control }}.server_identity() THEN
            RAISE EXCEPTION 'armed on another server: %', v_control.server_identity
                USING ERRCODE = '55000', HINT = 'This looks like a restored copy or a clone. If it is to be cleaned too: CALL {{ control }}.arm().';
        END IF;
    END IF;
    -- What a scheduled run is refused for, held_back() has looked at.
    IF p_options ->> 'trigger' IS DISTINCT FROM 'SCHEDULED' THEN
        PERFORM {{ control }}.check_catalog();
    END IF;
{%- if archives %}
    PERFORM {{ control }}.check_archive(p_options ->> 'rule');
{%- endif %}

    -- One run at a time{% if workers > 1 %} of each worker, and those at a time do the same{% endif %}. A purge of named families{% if stamps > 0 %} or a stamp{% endif %} may go on beside it. What says running but is dead, has crashed.
{%- if workers > 1 %}
    -- Workers that start in the same second wait for each other.
    PERFORM set_config('lock_timeout', '10s', true);
    BEGIN
        PERFORM FROM {{ control }}.turn AS t WHERE t.name = 'run' FOR UPDATE;
    EXCEPTION WHEN lock_not_available THEN
        o_refused := 'another run is starting';
        RETURN;
    END;
{%- else %}
    PERFORM FROM {{ control }}.turn AS t WHERE t.name = 'run' FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        o_refused := 'another run is starting';
        RETURN;
    END IF;
{%- endif %}
    PERFORM {{ control }}.reap();
    SELECT format('run %s is in progress (pid %s, since %s)', r.run_id, r.backend_pid, to_char(r.started_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    INTO o_refused
    FROM {{ control }}.run AS r
    WHERE r.status = 'running'
      AND {{ w::is_run(stamps=stamps) }}
{%- if workers > 1 %}
      AND (
          coalesce(r.options ->> 'worker', '1') = coalesce(p_options ->> 'worker', '1')
          OR r.dry_run
          OR v_dry_run
          OR r.options - v_own <> p_options - v_own
      )
{%- endif %}
    ORDER BY r.run_id
    LIMIT 1;
    IF o_refused IS NOT NULL THEN
        RETURN;
    END IF;
    IF p_options ->> 'trigger' = 'SCHEDULED' AND NOT v_dry_run THEN
        o_refused := {{ control }}.kept_back();
        PERFORM {{ control }}.note_refusal(o_refused);
        IF o_refused IS NOT NULL THEN
            RETURN;
        END IF;
    END IF;

    INSERT INTO {{ control }}.run (trigger, dry_run, options, as_of, deadline)
    VALUES (
        coalesce(p_options ->> 'trigger', 'MANUAL'),
        v_dry_run,
        p_options,
        v_as_of,
        clock_timestamp() + make_interval(secs => coalesce({{ control }}.seconds(p_options ->> 'time_budget'), {{ control }}.setting_of({{ rules.0.literal }}, 'time_budget')))
    )
    RETURNING run_id INTO o_run;
    PERFORM {{ control }}.run_open(o_run, p_options ->> 'rule');
{%- if workers > 1 %}
    PERFORM {{ control }}.sweep_join(o_run, coalesce(p_options ->> 'worker', '1')::integer);
{%- endif %}

    PERFORM {{ control }}.take_lock();
END
$windrow$;
--# comment on function {{ control }}.run_begin
COMMENT ON FUNCTION {{ control }}.run_begin(jsonb) IS
    'Checks the options, takes the lock of the runs and opens the ledger. o_refused: why there is no run. [body @body@]';

-- run_open: the progress rows of a run, one per rule.
--# create function {{ control }}.run_open
CREATE OR REPLACE FUNCTION {{ control }}.run_open(p_run bigint, p_rule text)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    INSERT INTO {{ control }}.catalog_state (run_id, state)
    VALUES (p_run, {{ control }}.catalog_now());
    INSERT INTO {{ control }}.run_rule (run_id, rule, batch_families, table_names, table_rows)
    SELECT p_run, t.rule, {% if by_time %}coalesce({{ control }}.setting_of(t.rule, 'batch_families'), {{ control }}.setting_of(t.rule, 'batch_rows')){% else %}{{ control }}.setting_of(t.rule, 'batch_families'){% endif %}, t.names, array_fill(0::bigint, ARRAY[cardinality(t.names)])
    FROM (
        VALUES
{%- for rule in rules %}
            (
                {{ rule.literal }},
                ARRAY[
{%- for step in rule.steps %}
                    {{ step.table_literal }}{% if not loop.last %},{% endif %}
{%- endfor %}
                ]
            ){% if not loop.last %},{% endif %}
{%- endfor %}
    ) AS t(rule, names)
    WHERE p_rule IS NULL OR t.rule = p_rule;
$windrow$;
--# comment on function {{ control }}.run_open
COMMENT ON FUNCTION {{ control }}.run_open(bigint, text) IS
    'Opens the progress rows of run p_run, for one rule or all, and notes what the catalog says. [body @body@]';

-- run_end: closes the ledger and prunes it.
--# create function {{ control }}.run_end
CREATE OR REPLACE FUNCTION {{ control }}.run_end(p_run bigint, p_reasons text[])
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_reason text;
    v_status text;
    v_days   bigint;
BEGIN
    IF NOT {{ control }}.is_own(p_run) THEN
        RETURN {{ control }}.run_result(p_run);
    END IF;
{%- if workers > 1 %}
    -- The end of a run writes to what is everybody's: one at a time.
    PERFORM FROM {{ control }}.turn AS t WHERE t.name = 'run' FOR UPDATE;
{%- endif %}
{%- for rule in rules %}{% if not rule.single or rule.single.expiry and rule.single.aged %}
    -- {% if rule.single %}Rows without any time{% else %}Roots without an end time{% endif %} can never become due: count them where the rule looked at all that is due.
    IF p_reasons[(SELECT r.position FROM unnest(ARRAY[{{ rule_literals }}]) WITH ORDINALITY AS r(name, position) WHERE r.name = {{ rule.literal }})] = 'nothing left' THEN
        PERFORM {{ control }}.record_skips(r.run_id, {{ rule.literal }}, u.keys::text[], array_fill('UNDATED_MEMBER'::text, ARRAY[cardinality(u.keys)]))
        FROM {{ control }}.run AS r
        CROSS JOIN LATERAL {{ control }}.{{ rule.name }}_undated(r.as_of, r.options ->> 'scope') AS u(keys)
        WHERE r.run_id = p_run
{%- if workers > 1 %}
          AND EXISTS (SELECT FROM {{ control }}.sweep AS s WHERE s.rule = {{ rule.literal }} AND s.ended_by = p_run)
{%- endif %}
          AND cardinality(u.keys) > 0;
    END IF;
{%- endif %}{% endfor %}
{%- if workers > 1 %}
    -- What was locked, where nobody will look at it once more.
    PERFORM {{ control }}.record_skips(p_run, c.rule, c.left_keys, array_fill('LOCKED'::text, ARRAY[cardinality(c.left_keys)]))
    FROM {{ control }}.run_claim AS c
    JOIN {{ control }}.sweep AS s ON s.rule = c.rule
    WHERE c.run_id = p_run
      AND cardinality(c.left_keys) > 0
      AND NOT s.handed_out
      AND {{ control }}.others_at(p_run, c.rule, false) IS NULL;
{%- endif %}
    SELECT r.reason
    INTO v_reason
    FROM unnest(p_reasons) AS r(reason)
    WHERE r.reason IS NOT NULL
    ORDER BY r.reason LIKE 'error %' DESC, r.reason = 'cancelled' DESC, r.reason = 'nothing left', r.reason LIKE 'rule %'
    LIMIT 1;
    v_status := CASE
        WHEN v_reason LIKE 'error %' THEN 'failed'
        WHEN v_reason = 'cancelled' THEN 'cancelled'
        WHEN EXISTS (SELECT FROM {{ control }}.run_failure AS f WHERE f.run_id = p_run AND f.sqlstate NOT IN ('55P03', '40P01', '40001')) THEN 'failed'
        WHEN v_reason = 'nothing left' THEN 'done'
        ELSE 'stopped'
    END;
    UPDATE {{ control }}.run AS r
    SET status = v_status,
        reason = CASE WHEN v_status = 'stopped' THEN concat_ws(' while waiting for ', v_reason, r.waiting_for) ELSE v_reason END,
        finished_at = clock_timestamp()
    WHERE r.run_id = p_run;
{%- if by_family %}
    -- The batches of a dry run were rolled back one by one, so that a row that belongs to members of two batches was
    -- counted twice: count once more, over all members.
    UPDATE {{ control }}.run_rule AS r
    SET gone = '{}',
        table_rows = n.rows,
        deleted_rows = (SELECT sum(t.rows) FROM unnest(n.rows) AS t(rows))
    FROM (
        SELECT
            p.rule,
            CASE p.rule
{%- for rule in rules %}{% if rule.by_end or rule.single and rule.single.family %}
                WHEN {{ rule.literal }} THEN {{ control }}.{{ rule.name }}_rows(p.gone::{{ rule.id_type }}[])
{%- endif %}{% endfor %}
            END AS rows
        FROM {{ control }}.run_rule AS p
        WHERE p.run_id = p_run
          AND p.gone <> '{}'
    ) AS n
    WHERE r.run_id = p_run
      AND r.rule = n.rule;
{%- endif %}

    -- The ledger keeps itself small; what it counted stays in the metrics.
    PERFORM {{ control }}.tally_up();
    v_days := {{ control }}.setting_of({{ rules.0.literal }}, 'ledger_days');
{%- if archives %}
    PERFORM {{ control }}.archive_keep(v_days);
{%- endif %}
    DELETE FROM {{ control }}.run_failure AS f USING {{ control }}.run AS r WHERE f.run_id = r.run_id AND {{ w::is_old(control=control, archives=archives) }};
    DELETE FROM {{ control }}.run_backlog AS b USING {{ control }}.run AS r WHERE b.run_id = r.run_id AND {{ w::is_old(control=control, archives=archives) }};
    DELETE FROM {{ control }}.run_skip AS s USING {{ control }}.run AS r WHERE s.run_id = r.run_id AND {{ w::is_old(control=control, archives=archives) }};
{%- if by_row %}
    DELETE FROM {{ control }}.run_pass AS s USING {{ control }}.run AS r WHERE s.run_id = r.run_id AND {{ w::is_old(control=control, archives=archives) }};
{%- endif %}
{%- if stamps > 0 %}
    DELETE FROM {{ control }}.run_stamp AS p USING {{ control }}.run AS r WHERE p.run_id = r.run_id AND {{ w::is_old(control=control, archives=archives) }};
{%- endif %}
{%- if workers > 1 %}
    DELETE FROM {{ control }}.run_claim AS c USING {{ control }}.run AS r WHERE c.run_id = r.run_id AND {{ w::is_old(control=control, archives=archives) }};
    DELETE FROM {{ control }}.run_sweep AS o USING {{ control }}.run AS r WHERE o.run_id = r.run_id AND {{ w::is_old(control=control, archives=archives) }};
{%- endif %}
    DELETE FROM {{ control }}.run_rule AS p USING {{ control }}.run AS r WHERE p.run_id = r.run_id AND {{ w::is_old(control=control, archives=archives) }};
    DELETE FROM {{ control }}.catalog_state AS s WHERE s.run_id > 0 AND NOT EXISTS (SELECT FROM {{ control }}.run AS r WHERE r.run_id = s.run_id AND r.status = 'running');
    DELETE FROM {{ control }}.run AS r WHERE {{ w::is_old(control=control, archives=archives) }};
    -- The last change of a setting stays: it says who has set the present value.
    DELETE FROM {{ control }}.setting_log AS l
    WHERE l.changed_at < clock_timestamp() - make_interval(days => v_days::integer)
      -- Who makes the ledger forget earlier is not forgotten.
      AND l.name <> 'ledger_days'
      AND EXISTS (SELECT FROM {{ control }}.setting_log AS n WHERE n.rule = l.rule AND n.name = l.name AND n.log_id > l.log_id);

    RETURN {{ control }}.run_result(p_run);
END
$windrow$;
--# comment on function {{ control }}.run_end
COMMENT ON FUNCTION {{ control }}.run_end(bigint, text[]) IS
    'Closes run p_run: status, reason, pruning of the ledger by ledger_days. Answers run_result(). [body @body@]';

-- run_result: one run of the ledger as a document.
--# create function {{ control }}.run_result
CREATE OR REPLACE FUNCTION {{ control }}.run_result(p_run bigint)
RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
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
{%- if archives %}
        'archive_pruned', (SELECT coalesce(sum(u.table_rows), 0) FROM {{ control }}.unarchived AS u WHERE u.by_run = r.run_id),
{%- endif %}
        'rules', (
            SELECT json_agg(
                CASE f.rule
{%- for rule in rules %}
                    WHEN {{ rule.literal }} THEN json_build_object(
                        'rule', f.rule,
                        'families', f.families,
                        'rows', f.deleted_rows,
                        'batches', f.batches,
                        'retries', f.retries,
                        'tables', (
                            SELECT json_object_agg(t.name, t.rows ORDER BY t.position)
                            FROM unnest(f.table_names, f.table_rows) WITH ORDINALITY AS t(name, rows, position)
                        ),
{%- if rule.single %}
                        'passes', f.passes,
{%- endif %}
                        'skipped_families', f.skips,
                        'skipped', f.skipped,
                        'skipped_samples', f.skipped_samples,
                        'failures', f.failures{% for field in rule.report_run %},
                        {{ field.name }}, {{ field.value }}{% endfor %}
                    )
{%- endfor %}
                END
                ORDER BY array_position(ARRAY[{{ rule_literals }}], f.rule)
            )
            FROM (
                SELECT
                    p.rule, p.families, p.deleted_rows, p.batches, p.retries, p.table_names, p.table_rows,
                    coalesce(s.families, 0) AS skips,
                    coalesce(s.skipped, '{}') AS skipped,
                    coalesce(s.samples, '{}') AS skipped_samples,
                    coalesce(e.failures, '[]') AS failures,
{%- if by_row %}
                    (
                        SELECT coalesce(json_agg(json_build_object('pass', x.pass, 'rows', x.deleted_rows, 'sample_keys', x.sample_keys) ORDER BY x.pass), '[]')
                        FROM {{ control }}.run_pass AS x
                        WHERE x.run_id = p.run_id
                          AND x.rule = p.rule
                    ) AS passes,
{%- endif %}
                    r.dry_run,
                    round(extract(epoch FROM r.finished_at - r.started_at) * 1000) AS duration_ms,
                    (SELECT count(*) FROM {{ control }}.artifact AS a WHERE a.rule = p.rule AND a.last_error IS NOT NULL) AS artifact_failures
                FROM {{ control }}.run_rule AS p
                {{ w::skips_and_failures(control=control) | indent(prefix="                ") }}
                WHERE p.run_id = r.run_id
            ) AS f
        )
    )
    FROM {{ control }}.run AS r
    WHERE r.run_id = p_run;
$windrow$;
--# comment on function {{ control }}.run_result
COMMENT ON FUNCTION {{ control }}.run_result(bigint) IS
    'One run of the ledger as a JSON document. Example: SELECT {{ control }}.run_result(1); [body @body@]';

-- foreign_code: what code of somebody else runs inside a batch, or inside archive_restore(). It has the rights of the owner
-- role there; but what it puts off until the COMMIT runs with those of who called.
--# create function {{ control }}.foreign_code
CREATE OR REPLACE FUNCTION {{ control }}.foreign_code(p_restores boolean)
RETURNS TABLE (code text, table_name text, belongs_to text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $windrow$
BEGIN
    RETURN QUERY
    WITH RECURSIVE reached (oid, is_set) AS (
        SELECT t.oid, s.is_set OR p_restores
        FROM (
            VALUES
{%- for table in tables %}{% if table.deleted or table.updates %}
                (false, {{ table.class }}, {% if table.updates %}true{% else %}false{% endif %}),
{%- endif %}{% endfor %}
{%- for archive in archives %}
                (true, {{ archive.table_class }}, true),
{%- endfor %}
                (NULL, NULL, false)
        ) AS s(is_restored, name, is_set)
        JOIN pg_class AS t ON t.oid = to_regclass(s.name)
        WHERE s.is_restored = p_restores
        UNION
        SELECT x.oid, x.is_set
        FROM reached AS r
        CROSS JOIN LATERAL (
            SELECT f.conrelid, f.confdeltype <> 'c' FROM pg_constraint AS f WHERE f.confrelid = r.oid AND f.contype = 'f' AND f.confdeltype IN ('c', 'n', 'd') AND NOT p_restores
            UNION ALL
            SELECT i.inhrelid, r.is_set FROM pg_inherits AS i WHERE i.inhparent = r.oid
        ) AS x(oid, is_set)
    )
    SELECT x.code, x.class::text, x.owner::text
    FROM (
        SELECT format('trigger %I', g.tgname) AS code, r.oid::regclass AS class, CASE WHEN o.rolsuper THEN p.proowner ELSE t.relowner END::regrole AS owner
        FROM reached AS r
        JOIN pg_class AS t ON t.oid = r.oid
        JOIN pg_roles AS o ON o.oid = t.relowner
        -- INSERT, or else DELETE or UPDATE.
        JOIN pg_trigger AS g ON g.tgrelid = r.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgtype & CASE WHEN p_restores THEN 4 ELSE 24 END <> 0
        JOIN pg_proc AS p ON p.oid = g.tgfoid
        JOIN pg_roles AS q ON q.oid = p.proowner
        WHERE NOT (o.rolsuper AND q.rolsuper)
          AND p.pronamespace <> {{ control_literal }}::regnamespace
        UNION
        -- What a column that is set calls: defaults, generated columns, checks of tables and domains, indexes, partitions.
        SELECT format('function %s', p.oid::regprocedure), r.oid::regclass, p.proowner::regrole
        FROM reached AS r
        CROSS JOIN LATERAL (
            SELECT 'pg_class'::regclass, i.indexrelid FROM pg_index AS i WHERE i.indrelid = r.oid
            UNION ALL
            SELECT 'pg_attrdef'::regclass, f.oid FROM pg_attrdef AS f WHERE f.adrelid = r.oid
            UNION ALL
            SELECT 'pg_constraint'::regclass, c.oid FROM pg_constraint AS c WHERE c.conrelid = r.oid
            UNION ALL
            SELECT 'pg_constraint'::regclass, c.oid FROM pg_attribute AS a JOIN pg_constraint AS c ON c.contypid = a.atttypid WHERE a.attrelid = r.oid
            UNION ALL
            SELECT 'pg_class'::regclass, r.oid
        ) AS k(classid, objid)
        JOIN pg_depend AS d ON d.classid = k.classid AND d.objid = k.objid
        LEFT JOIN pg_operator AS n ON d.refclassid = 'pg_operator'::regclass AND n.oid = d.refobjid
        JOIN pg_proc AS p ON p.oid = CASE WHEN d.refclassid = 'pg_proc'::regclass THEN d.refobjid ELSE n.oprcode END
        JOIN pg_roles AS q ON q.oid = p.proowner
        WHERE r.is_set
          AND NOT q.rolsuper
    ) AS x
    ORDER BY x.class::text, x.code;
END
$windrow$;
--# comment on function {{ control }}.foreign_code
COMMENT ON FUNCTION {{ control }}.foreign_code(boolean) IS
    'Code that is not a superuser''s and runs when rows go or are set, or (p_restores) when archived rows come back: triggers and functions of the tables and of those that their foreign keys reach. [body @body@]';

-- check_caller: who has all rights must not lend them to the application. A deferred trigger runs at COMMIT with the rights
-- of the caller, before version 18, and a trigger of any kind may bring it about; a cursor WITH HOLD is read then, on any
-- version. So a superuser's call is refused where such code is, before the run and before each COMMIT: until then the locks
-- of the batch keep the triggers as they are. archive_restore() commits nothing, but its caller will.
--# create function {{ control }}.check_caller
CREATE OR REPLACE FUNCTION {{ control }}.check_caller(p_caller text, p_restores boolean)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_code record;
BEGIN
    -- Also one who has become somebody else by SET ROLE or SET SESSION AUTHORIZATION, and whoever can become a superuser.
    IF NOT EXISTS (
        SELECT FROM pg_roles AS r
        CROSS JOIN pg_stat_get_activity(pg_backend_pid()) AS a
        WHERE (r.rolsuper OR r.rolname IN ('pg_execute_server_program', 'pg_write_server_files'))
          AND (pg_has_role(p_caller, r.oid, 'MEMBER') OR pg_has_role(session_user, r.oid, 'MEMBER') OR pg_has_role(a.usesysid, r.oid, 'MEMBER'))
    ) THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM pg_cursors AS c WHERE c.is_holdable) THEN
        RAISE EXCEPTION 'a cursor WITH HOLD is open, and COMMIT would read it with the rights of a superuser'
            USING ERRCODE = '42501', HINT = 'Where a trigger of the application opened it, call this as a member of {{ control }}_operator that is no superuser; else close it first.';
    END IF;
    IF current_setting('server_version_num')::integer >= 180000 THEN
        RETURN;
    END IF;
{%- if archives %}
    -- An older snapshot shows no trigger that came since: then nobody else may be able to create one.
    IF p_restores AND current_setting('transaction_isolation') <> 'read committed' AND EXISTS (
        SELECT FROM unnest(ARRAY[{% for archive in archives %}{{ archive.table_class }}{% if not loop.last %}, {% endif %}{% endfor %}]) AS s(name)
        JOIN pg_class AS t ON t.oid = to_regclass(s.name)
        CROSS JOIN LATERAL (
            SELECT t.relowner
            UNION ALL
            SELECT a.grantee FROM aclexplode(t.relacl) AS a WHERE a.privilege_type = 'TRIGGER'
        ) AS m(oid)
        LEFT JOIN pg_roles AS r ON r.oid = m.oid
        WHERE r.rolsuper IS NOT TRUE
          AND m.oid <> current_user::regrole
    ) THEN
        RAISE EXCEPTION 'the transaction is %, and would not see a trigger that came after it began', current_setting('transaction_isolation')
            USING ERRCODE = '25001', HINT = 'BEGIN ISOLATION LEVEL READ COMMITTED, or call this as a member of {{ control }}_operator that is no superuser.';
    END IF;
{%- endif %}
    FOR v_code IN SELECT * FROM {{ control }}.foreign_code(p_restores) AS c LOOP
        RAISE EXCEPTION '% of table % belongs to %, and what it defers would run at COMMIT with the rights of a superuser', v_code.code, v_code.table_name, v_code.belongs_to
            USING ERRCODE = '42501', HINT = 'Before PostgreSQL 18 a deferred trigger runs with the rights of the caller: call this as a member of {{ control }}_operator that is no superuser.';
    END LOOP;
END
$windrow$;
--# comment on function {{ control }}.check_caller
COMMENT ON FUNCTION {{ control }}.check_caller(text, boolean) IS
    'Raises 42501 where a superuser calls what commits, or (p_restores) brings archived rows back, and code of somebody else could act at the COMMIT with his rights. [body @body@]';

-- run: loops and commits, nothing else. What it may do, the definer functions that it calls may do.
--# create procedure {{ control }}.run
CREATE OR REPLACE PROCEDURE {{ control }}.run(p_options jsonb DEFAULT '{}', INOUT p_result json DEFAULT NULL)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_rule    pg_catalog.text;
    v_run     bigint;
    v_refused pg_catalog.text;
    v_state   pg_catalog.text;
    v_rest    double precision;
    v_reasons pg_catalog.text[] := '{}';
{%- if workers > 1 %}
    v_last    bigint;
{%- endif %}
BEGIN
    -- An old snapshot would not see a hold, nor a child that came while a batch waited for locks.
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    PERFORM {{ control }}.check_caller(current_user, false);
    SELECT b.o_run, b.o_refused INTO v_run, v_refused FROM {{ control }}.run_begin(p_options) AS b;
    IF v_run IS NULL THEN
        p_result := pg_catalog.json_build_object('run', NULL, 'status', 'refused', 'reason', v_refused);
        RAISE NOTICE 'no run: %', v_refused;
        RETURN;
    END IF;
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    FOREACH v_rule IN ARRAY ARRAY[{{ rule_literals }}] LOOP
        v_state := NULL;
        IF p_options OPERATOR(pg_catalog.->>) 'rule' IS NULL OR p_options OPERATOR(pg_catalog.->>) 'rule' OPERATOR(pg_catalog.=) v_rule THEN
            v_rest := 0;
            LOOP
                BEGIN
                    IF v_rest OPERATOR(pg_catalog.>) 0 THEN
                        -- A transaction that does nothing else: no lock is held, and no snapshot for long.
                        PERFORM pg_catalog.pg_sleep(v_rest);
                        v_rest := 0;
                        v_state := 'again';
                    ELSE
                        SELECT p.o_rest, p.o_state INTO v_rest, v_state FROM {{ control }}.pace(v_run, v_rule) AS p;
                        v_state := CASE
                            WHEN v_state IS NOT NULL THEN v_state
                            WHEN v_rest OPERATOR(pg_catalog.>) 0 THEN 'again'
{%- for rule in rules %}
                            WHEN v_rule OPERATOR(pg_catalog.=) {{ rule.literal }} THEN {{ control }}.{{ rule.name }}_step(v_run)
{%- endfor %}
                        END;
                        PERFORM {{ control }}.check_caller(current_user, false);
                    END IF;
                EXCEPTION
                    WHEN query_canceled THEN
                        v_state := 'cancelled';
                    WHEN OTHERS THEN
                        v_state := pg_catalog.format('error %s: %s', SQLSTATE, SQLERRM);
                END;
                COMMIT;
                SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
                EXIT WHEN v_state OPERATOR(pg_catalog.<>) ALL (ARRAY['more', 'again']);
            END LOOP;
{%- if workers > 1 %}
            PERFORM {{ control }}.sweep_leave(v_run, v_rule, v_state);
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
{%- endif %}
        END IF;
        v_reasons := pg_catalog.array_append(v_reasons, v_state);
        EXIT WHEN v_state OPERATOR(pg_catalog.=) ANY (ARRAY['cancelled', 'paused', 'time budget spent', 'window closed']);
    END LOOP;
    {{ w::close(call=control ~ ".run_end(v_run, v_reasons)", state="v_state", cancelled="cancelled", again=control ~ ".run_end(v_run, pg_catalog.array_append(pg_catalog.array_replace(v_reasons, 'nothing left', v_state), v_state))") | indent }}
    COMMIT;
{%- if workers > 1 %}
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    -- The last one of a sweep does what is to be done once.
    v_last := {{ control }}.sweep_end(v_run);
{%- if archives %}
    IF v_last IS NOT NULL THEN
        CALL {{ control }}.archive_prune(v_run);
        p_result := {{ control }}.run_result(v_run);
    END IF;
{%- endif %}
    IF (v_state OPERATOR(pg_catalog.=) 'cancelled') IS NOT TRUE AND v_last IS NOT NULL THEN
        PERFORM {{ control }}.count_backlog(v_last);
    END IF;
    COMMIT;
{%- else %}
{%- if archives %}
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    CALL {{ control }}.archive_prune(v_run);
    p_result := {{ control }}.run_result(v_run);
{%- endif %}
    IF (v_state OPERATOR(pg_catalog.=) 'cancelled') IS NOT TRUE THEN
        PERFORM {{ control }}.count_backlog(v_run);
        COMMIT;
    END IF;
{%- endif %}
    PERFORM {{ control }}.run_unlock();
    IF v_state OPERATOR(pg_catalog.=) 'cancelled' THEN
        RAISE EXCEPTION 'run % was cancelled; what it committed stays', v_run USING ERRCODE = '57014';
    END IF;
END
$windrow$;
--# comment on procedure {{ control }}.run
COMMENT ON PROCEDURE {{ control }}.run(jsonb, json) IS
    'One run of all rules in order, in batches that commit. Options: rule, dry_run, scope, retention, as_of, run_families, time_budget, trigger{% if workers > 1 %}, worker (1 to {{ workers }}; each has a run at a time, and they share the families out){% endif %}. Examples: CALL {{ control }}.run(); CALL {{ control }}.run(''{"dry_run": true}''); [body @body@]';

-- preview: what a run would delete now.
--# create function {{ control }}.preview
CREATE OR REPLACE FUNCTION {{ control }}.preview(p_options jsonb DEFAULT '{}')
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_as_of timestamptz;
    v_rules json[] := '{}';
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'scope', 'retention', 'as_of', 'run_families', 'from']);
    v_as_of := {{ control }}.check_run_options(p_options);
{%- for rule in rules %}
    IF coalesce(p_options ->> 'rule', {{ rule.literal }}) = {{ rule.literal }} THEN
        v_rules := v_rules || {{ control }}.{{ rule.name }}_preview(p_options, v_as_of);
    END IF;
{%- endfor %}
    RETURN (
        SELECT json_build_object('spec', c.spec, 'as_of', v_as_of, 'armed', c.armed, 'paused', c.paused, 'rules', to_json(v_rules)
{%- if several %},
            -- A row that several rules would take is counted by each of them, and goes once.
            'counted_by_several', CASE WHEN p_options ? 'rule' THEN '{}' ELSE {{ several }} END::json
        {% endif %})
        FROM {{ control }}.control AS c
    );
END
$windrow$;
--# comment on function {{ control }}.preview
COMMENT ON FUNCTION {{ control }}.preview(jsonb) IS
    'What a run with the same options would delete and skip now, by rule and table, as one JSON document. from: only what ended then or later, by the clock of the application; undated rows and scopes without a policy are left out. {% if several %}counted_by_several: tables of which a row may be counted by each of these rules, though it goes once. {% endif %}Reads only, locks nothing. Example: SELECT {{ control }}.preview(''{"run_families": 100}''); [body @body@]';

-- purge_begin: opens the ledger for a purge of named families.
--# create function {{ control }}.purge_begin
CREATE OR REPLACE FUNCTION {{ control }}.purge_begin(p_options jsonb)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_control {{ control }}.control%ROWTYPE;
    v_rule    text;
    v_run     bigint;
    v_key     text;
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'key', 'dry_run']);
    v_rule := {{ control }}.check_rule(p_options);
    IF jsonb_typeof(p_options -> 'key') IS DISTINCT FROM 'array' OR jsonb_array_length(p_options -> 'key') = 0 THEN
        RAISE EXCEPTION 'the option key is not a list of keys'
            USING ERRCODE = '22023', HINT = 'Write it like {"key": [17, 18]}.';
    END IF;
    FOR v_key IN SELECT k.key FROM jsonb_array_elements_text(p_options -> 'key') AS k(key) LOOP
        PERFORM {{ control }}.check_key(v_rule, v_key);
    END LOOP;
    SELECT * INTO STRICT v_control FROM {{ control }}.control;
    IF v_control.paused THEN
        RAISE EXCEPTION '%', {{ w::paused(c="v_control") }}
            USING ERRCODE = '55000', HINT = 'CALL {{ control }}.resume() first.';
    END IF;
    IF {{ control }}.rule_paused(v_rule) IS NOT NULL THEN
        RAISE EXCEPTION '%', {{ control }}.rule_paused(v_rule)
            USING ERRCODE = '55000', HINT = 'SELECT {{ control }}.resume_rule(...) first.';
    END IF;
    IF NOT v_control.armed OR v_control.server_identity IS DISTINCT FROM {{ control }}.server_identity() THEN
        RAISE EXCEPTION 'not armed on this server: nothing is deleted before someone said so'
            USING ERRCODE = '55000', HINT = 'CALL {{ control }}.arm() first.';
    END IF;
    PERFORM {{ control }}.check_catalog();
{%- if archives %}
    PERFORM {{ control }}.check_archive(v_rule);
{%- endif %}
    PERFORM {{ control }}.reap();
    INSERT INTO {{ control }}.run (trigger, dry_run, options, as_of, deadline)
    VALUES ('PURGE', coalesce((p_options ->> 'dry_run')::boolean, false), p_options, clock_timestamp(), 'infinity')
    RETURNING run_id INTO v_run;
    PERFORM {{ control }}.run_open(v_run, v_rule);
    PERFORM {{ control }}.run_unlock();
    PERFORM {{ control }}.take_lock();
    RETURN v_run;
END
$windrow$;
--# comment on function {{ control }}.purge_begin
COMMENT ON FUNCTION {{ control }}.purge_begin(jsonb) IS
    'Checks the options of purge() and opens the ledger. [body @body@]';

-- check_key: a key is a value of the key column of the rule's root table.
--# create function {{ control }}.check_key
CREATE OR REPLACE FUNCTION {{ control }}.check_key(p_rule text, p_key text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_valid boolean;
BEGIN
{%- for rule in rules %}
    IF p_rule = {{ rule.literal }} THEN
        BEGIN
{%- if rule.single and rule.single.composite %}
            -- A key of several columns is a JSON array, written as the server writes it.
            v_valid := {{ rule.single.is_key }};
        EXCEPTION WHEN data_exception THEN
            v_valid := false;
        END;
        IF v_valid IS NOT TRUE THEN
            RAISE EXCEPTION 'not a key of %: %', {{ rule.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a JSON array with the values of {{ rule.single.key_form }}.';
        END IF;
{%- else %}
            -- A number that looks like a key may still be beyond the range of the column.
            v_valid := (p_key ~ {{ rule.key_pattern }}) AND p_key::{{ rule.key_type }} IS NOT NULL;
        EXCEPTION WHEN data_exception THEN
            v_valid := false;
        END;
        IF v_valid IS NOT TRUE THEN
            RAISE EXCEPTION 'not a key of %: %', {{ rule.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a value of {{ rule.table_name }}.{{ rule.key_name }}.';
        END IF;
{%- endif %}
    END IF;
{%- endfor %}
{%- for stamp in stamped %}{% if stamp.of %}
    IF p_rule = {{ stamp.whole_name }} THEN
        BEGIN
            v_valid := (p_key ~ {{ stamp.key_pattern }}) AND p_key::{{ stamp.key_type }} IS NOT NULL;
        EXCEPTION WHEN data_exception THEN
            v_valid := false;
        END;
        IF v_valid IS NOT TRUE THEN
            RAISE EXCEPTION 'not a key of %: %', {{ stamp.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a value of {{ stamp.table_name }}.{{ stamp.key_name }}.';
        END IF;
    END IF;
{%- endif %}{% endfor %}
END
$windrow$;
--# comment on function {{ control }}.check_key
COMMENT ON FUNCTION {{ control }}.check_key(text, text) IS
    'Raises 22023 for what cannot be a key of the root table of the rule. [body @body@]';
{% for rule in rules %}{% if rule.by_end %}
-- {{ rule.name }}_purge: deletes one named family through the same batch as a run. Answers NULL, or why it stays.
--# create function {{ control }}.{{ rule.name }}_purge
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_purge(p_run bigint, p_key text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
DECLARE
    v_run      {{ control }}.run%ROWTYPE;
    v_batch    record;
    v_keys     {{ rule.key_type }}[];
    v_skipped  text;
    v_sqlstate text;
    v_message  text;
BEGIN
    {{ w::before_purge(control=control, rule=rule) }}
    v_keys := ARRAY(
        SELECT i.{{ rule.key }}
        FROM {{ rule.table }} AS i
        WHERE i.{{ rule.key }} = p_key::{{ rule.key_type }}
{%- for predicate in rule.candidates %}
          AND {{ predicate }}
{%- endfor %}
    );
    IF cardinality(v_keys) = 0 THEN
        RETURN 'NOT_A_ROOT';
    END IF;
    PERFORM set_config('lock_timeout', {{ control }}.setting_of({{ rule.literal }}, 'lock_timeout') || 'ms', true);
    BEGIN
        PERFORM {{ control }}.take_tables(p_run);
        PERFORM {{ control }}.look_again(p_run);
        SELECT * INTO v_batch FROM {{ control }}.{{ rule.name }}_batch(p_run, v_keys, v_run.as_of, NULL, NULL, true, '{}');
        PERFORM {{ control }}.look_again(p_run);
        IF v_run.dry_run THEN
            RAISE EXCEPTION 'dry run' USING ERRCODE = 'WD000';
        END IF;
    EXCEPTION
        WHEN SQLSTATE 'WD000' THEN
            NULL;
        WHEN deadlock_detected OR lock_not_available OR serialization_failure THEN
            v_skipped := 'LOCKED';
        WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT;
            INSERT INTO {{ control }}.run_failure (run_id, rule, key, sqlstate, message)
            VALUES (p_run, {{ rule.literal }}, p_key, v_sqlstate, v_message)
            ON CONFLICT (run_id, rule, key) DO NOTHING;
            v_skipped := 'FAILED';
    END;
    IF v_skipped IS NULL THEN
        v_skipped := v_batch.o_skip_reasons[1];
        UPDATE {{ control }}.run_rule AS r
        SET families = r.families + v_batch.o_families,
            deleted_rows = r.deleted_rows + (SELECT sum(n.rows) FROM unnest(v_batch.o_rows) AS n(rows)),
            table_rows = ARRAY(
                SELECT n.before + n.now
                FROM unnest(r.table_rows, v_batch.o_rows) WITH ORDINALITY AS n(before, now, position)
                ORDER BY n.position
            ),
            batches = r.batches + 1,
            updated_at = clock_timestamp()
        WHERE r.run_id = p_run
          AND r.rule = {{ rule.literal }};
    END IF;
    IF v_skipped IS NOT NULL THEN
        PERFORM {{ control }}.record_skips(p_run, {{ rule.literal }}, ARRAY[p_key], ARRAY[v_skipped]);
    END IF;
    RETURN v_skipped;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_purge
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_purge(bigint, text) IS
    'Deletes one named family, whatever its age, if it is final and unheld. Answers NULL or the reason why it stays. [body @body@]';
{% endif %}{% endfor %}
-- purge: named families, now.
--# create procedure {{ control }}.purge
CREATE OR REPLACE PROCEDURE {{ control }}.purge(p_options jsonb, INOUT p_result json DEFAULT NULL)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_run     bigint;
    v_rule    pg_catalog.text;
    v_key     pg_catalog.text;
    v_reason  pg_catalog.text;
    v_keys    pg_catalog.text[] := '{}';
    v_reasons pg_catalog.text[] := '{}';
BEGIN
    -- Whatever the session prefers: what is locked, linked and held must be read as it is committed now.
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    PERFORM {{ control }}.check_caller(current_user, false);
    v_run := {{ control }}.purge_begin(p_options);
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    v_rule := {{ control }}.check_rule(p_options);
    -- No cursor stays open over a COMMIT.
    FOREACH v_key IN ARRAY ARRAY(SELECT DISTINCT k.key FROM pg_catalog.jsonb_array_elements_text(p_options OPERATOR(pg_catalog.->) 'key') AS k(key) ORDER BY k.key) LOOP
        BEGIN
            v_reason := CASE
{%- for rule in rules %}
                WHEN v_rule OPERATOR(pg_catalog.=) {{ rule.literal }} THEN {{ control }}.{{ rule.name }}_purge(v_run, v_key)
{%- endfor %}
            END;
            PERFORM {{ control }}.check_caller(current_user, false);
        EXCEPTION
            WHEN query_canceled THEN
                v_reason := 'CANCELLED';
        END;
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        IF v_reason IS NOT NULL THEN
            v_keys := pg_catalog.array_append(v_keys, v_key);
            v_reasons := pg_catalog.array_append(v_reasons, v_reason);
        END IF;
        EXIT WHEN v_reason OPERATOR(pg_catalog.=) ANY (ARRAY['CANCELLED', 'PAUSED']);
    END LOOP;
    {{ w::close(call=control ~ ".purge_end(v_run, v_keys, v_reasons)", state="v_reason", cancelled="CANCELLED", again=control ~ ".purge_end(v_run, pg_catalog.array_append(v_keys, v_key), pg_catalog.array_append(v_reasons, v_reason))") | indent }}
    COMMIT;
    PERFORM {{ control }}.run_unlock();
    IF v_reason OPERATOR(pg_catalog.=) 'CANCELLED' THEN
        RAISE EXCEPTION 'run % was cancelled; what it committed stays', v_run USING ERRCODE = '57014';
    END IF;
END
$windrow$;
--# comment on procedure {{ control }}.purge
COMMENT ON PROCEDURE {{ control }}.purge(jsonb, json) IS
    'Deletes the named families now, through the same engine as a run: still final, unheld, linked to nothing that stays; the retention does not matter. Example: CALL {{ control }}.purge(''{"key": [17]}''); [body @body@]';

-- purge_end: closes the ledger of a purge.
--# create function {{ control }}.purge_end
CREATE OR REPLACE FUNCTION {{ control }}.purge_end(p_run bigint, p_keys text[], p_reasons text[])
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    UPDATE {{ control }}.run AS r
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
      AND {{ control }}.is_own(p_run);
    -- Joined as text: jsonb would forget the order of the tables.
    RETURN (
        left({{ control }}.run_result(p_run)::text, -1) || ', "refused" : '
        || coalesce((SELECT json_object_agg(k.key, k.reason ORDER BY k.key) FROM unnest(p_keys, p_reasons) AS k(key, reason)), '{}')::text || '}'
    )::json;
END
$windrow$;
--# comment on function {{ control }}.purge_end
COMMENT ON FUNCTION {{ control }}.purge_end(bigint, text[], text[]) IS
    'Closes purge p_run; answers run_result() with the refused keys and their reasons. [body @body@]';

-- pause, resume: the kill switch. A running purge obeys before its next batch.
--# create procedure {{ control }}.pause
CREATE OR REPLACE PROCEDURE {{ control }}.pause(p_reason text DEFAULT NULL)
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    UPDATE {{ control }}.control
    SET paused = true,
        paused_by = session_user,
        paused_at = clock_timestamp(),
        paused_reason = p_reason;
$windrow$;
--# comment on procedure {{ control }}.pause
COMMENT ON PROCEDURE {{ control }}.pause(text) IS
    'Stops a running purge before its next batch and refuses new ones. Example: CALL {{ control }}.pause(''month-end closing''); [body @body@]';
--# create procedure {{ control }}.resume
CREATE OR REPLACE PROCEDURE {{ control }}.resume()
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    UPDATE {{ control }}.control
    SET paused = false,
        paused_by = NULL,
        paused_at = NULL,
        paused_reason = NULL;
$windrow$;
--# comment on procedure {{ control }}.resume
COMMENT ON PROCEDURE {{ control }}.resume() IS
    'Allows runs again after pause(). Example: CALL {{ control }}.resume(); [body @body@]';

-- orphans: rows whose parent is not there, by edge. Reads whole tables.
--# create function {{ control }}.orphans
CREATE OR REPLACE FUNCTION {{ control }}.orphans()
RETURNS TABLE (edge text, orphans bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
{%- for edge in edges %}
    SELECT {{ edge.literal }}, count(*)
    FROM {{ edge.table }} AS c
    WHERE {{ edge.present }}
{%- if edge.none %}
      AND c.{{ edge.column }} <> {{ edge.none }}
{%- endif %}
      AND NOT EXISTS (SELECT FROM {{ edge.parent }} AS p WHERE {{ edge.same }})
{%- if not loop.last %}
    UNION ALL{% else %};{% endif %}
{%- endfor %}
{%- if not edges %}
    SELECT NULL::text, 0::bigint WHERE false;
{%- endif %}
$windrow$;
--# comment on function {{ control }}.orphans
COMMENT ON FUNCTION {{ control }}.orphans() IS
    'Rows whose parent is not there, by edge. Reads whole tables. [body @body@]';

-- arm: from now on runs may delete on this server. Notes the orphans that were there before.
-- The one of earlier versions took no options; with both, a call without any would name neither.
--# drop procedure {{ control }}.arm of earlier versions
DO $windrow$
BEGIN
    DROP PROCEDURE IF EXISTS {{ control }}.arm();
END
$windrow$;
--# create procedure {{ control }}.arm
CREATE OR REPLACE PROCEDURE {{ control }}.arm(p_options jsonb DEFAULT '{}')
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['until']);
    IF coalesce(p_options ->> 'until', 'restart') <> 'restart' THEN
        RAISE EXCEPTION 'until is not "restart": %', quote_literal(p_options ->> 'until')
            USING ERRCODE = '22023', HINT = 'Leave it out, or write {"until": "restart"}: then a server that has started since is not armed.';
    END IF;
    UPDATE {{ control }}.control
    SET server_identity = CASE WHEN p_options ->> 'until' IS NOT NULL THEN '/started ' END;
    -- The tables are taken as they are now; what acts on them must be in the spec.
    DELETE FROM {{ control }}.catalog_state AS s WHERE s.run_id = 0;
    INSERT INTO {{ control }}.catalog_state (run_id, state)
    VALUES (0, {{ control }}.catalog_now());
    PERFORM {{ control }}.check_catalog();
    UPDATE {{ control }}.control
    SET armed = true,
        armed_by = session_user,
        armed_at = clock_timestamp(),
        armed_rules = ARRAY[{{ rule_literals }}],
        server_identity = {{ control }}.server_identity(),
        orphans_at_arm = (SELECT jsonb_object_agg(o.edge, o.orphans) FROM {{ control }}.orphans() AS o);
    -- What refused on other servers, or here, is over.
    DELETE FROM {{ control }}.refusal;
END
$windrow$;
--# comment on procedure {{ control }}.arm
COMMENT ON PROCEDURE {{ control }}.arm(jsonb) IS
    'Allows runs to delete on this server, unless something acts on its tables that the spec does not know; needed once after the installation, and again after a new rule was installed, and after a restore, clone or promotion. until: "restart" ends it with the next start of the server, for those who clone by snapshots of the storage. Examples: CALL {{ control }}.arm(); CALL {{ control }}.arm(''{"until": "restart"}''); [body @body@]';

-- set_policy, drop_policy: who is cleaned, and after how long.
--# create function {{ control }}.set_policy
CREATE OR REPLACE FUNCTION {{ control }}.set_policy(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule      text;
    v_scope     text := p_options ->> 'scope';
    v_default   bigint;
    v_minimum   bigint;
    v_pattern   text;
    v_retention bigint;
    v_policy    {{ control }}.policy%ROWTYPE;
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'scope', 'retention', 'enabled', 'artifacts', 'note']);
    v_rule := {{ control }}.check_rule(p_options);
    SELECT t.retention, t.minimum, t.pattern
    INTO STRICT v_default, v_minimum, v_pattern
    FROM (
        VALUES
{%- for rule in rules %}
            ({{ rule.literal }}, {{ rule.retention }}::bigint, {{ rule.minimum }}::bigint, {{ rule.scope_pattern }}){% if not loop.last %},{% endif %}
{%- endfor %}
    ) AS t(rule, retention, minimum, pattern)
    WHERE t.rule = v_rule;
{%- for rule in rules %}{% if not rule.per %}
    IF v_rule = {{ rule.literal }} THEN
        RAISE EXCEPTION 'rule {{ rule.name }} has no scopes'
            USING ERRCODE = '22023', HINT = 'Policies are for rules with scopes; the retention of this one stands in the spec.';
    END IF;
{%- endif %}{% endfor %}
    IF (v_scope ~ v_pattern) IS NOT TRUE THEN
        RAISE EXCEPTION 'not a scope of rule %: %', v_rule, quote_nullable(v_scope)
            USING ERRCODE = '22023', HINT = format('A scope has the form %s.', v_pattern);
    END IF;
    IF jsonb_typeof(p_options -> 'enabled') NOT IN ('boolean', 'null') OR jsonb_typeof(p_options -> 'artifacts') NOT IN ('boolean', 'null') THEN
        RAISE EXCEPTION 'enabled and artifacts are true or false: %', p_options
            USING ERRCODE = '22023', HINT = 'Write them like {"enabled": false}.';
    END IF;
    LOCK TABLE {{ control }}.latch IN EXCLUSIVE MODE;
    SELECT * INTO v_policy FROM {{ control }}.policy AS p WHERE p.rule = v_rule AND p.scope = v_scope;
    v_retention := coalesce({{ control }}.seconds(p_options ->> 'retention'), v_policy.retention_seconds, v_default);
{%- if no_default %}
    IF v_retention IS NULL THEN
        RAISE EXCEPTION 'rule % has no default retention', v_rule
            USING ERRCODE = '22023', HINT = 'Name one: {"retention": "30d"}.';
    END IF;
{%- endif %}
    IF v_retention < v_minimum THEN
        RAISE EXCEPTION 'a retention of % is under the minimum of rule %', p_options ->> 'retention', v_rule
            USING ERRCODE = '22023', HINT = format('The minimum is %s seconds (%s days); it stands in the spec.', v_minimum, round(v_minimum / 86400.0, 2));
    END IF;
    INSERT INTO {{ control }}.policy AS p (rule, scope, enabled, retention_seconds, artifacts, note)
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
--# comment on function {{ control }}.set_policy
COMMENT ON FUNCTION {{ control }}.set_policy(jsonb) IS
    'Writes one policy: rule, scope, retention (the spec''s default if new), enabled, artifacts, note. Waits for a running batch. Example: SELECT {{ control }}.set_policy(''{"scope": "42", "retention": "30d"}''); [body @body@]';
--# create function {{ control }}.drop_policy
CREATE OR REPLACE FUNCTION {{ control }}.drop_policy(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule   text;
    v_policy {{ control }}.policy%ROWTYPE;
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'scope']);
    v_rule := {{ control }}.check_rule(p_options);
    LOCK TABLE {{ control }}.latch IN EXCLUSIVE MODE;
    DELETE FROM {{ control }}.policy AS p WHERE p.rule = v_rule AND p.scope = p_options ->> 'scope' RETURNING * INTO v_policy;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no policy for scope % of rule %', quote_nullable(p_options ->> 'scope'), v_rule
            USING ERRCODE = '22023', HINT = 'The policies are in table {{ control }}.policy.';
    END IF;
    RETURN row_to_json(v_policy);
END
$windrow$;
--# comment on function {{ control }}.drop_policy
COMMENT ON FUNCTION {{ control }}.drop_policy(jsonb) IS
    'Drops one policy and answers it. Waits for a running batch. Example: SELECT {{ control }}.drop_policy(''{"scope": "42"}''); [body @body@]';

-- row_of_key: the row that a hold names. The type of the column reads the key, so that each of its spellings finds the row.
--# create function {{ control }}.row_of_key
CREATE OR REPLACE FUNCTION {{ control }}.row_of_key(p_rule text, p_key text, OUT o_key text, OUT o_found boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET timezone = 'UTC'
AS $windrow$
DECLARE
{%- for rule in rules %}
{%- for part in rule.held.parts %}
    {{ part.variable }} {{ part.kind }};
{%- endfor %}
{%- endfor %}
BEGIN
{%- for rule in rules %}
    IF p_rule = {{ rule.literal }} THEN
        BEGIN
{%- for part in rule.held.parts %}
            {{ part.variable }} := {{ part.value }};
{%- endfor %}
{%- if rule.held.composite %}
            IF jsonb_array_length(p_key::jsonb) <> {{ rule.held.parts | length }} THEN
                {{ rule.held.parts.0.variable }} := NULL;
            END IF;
{%- endif %}
        EXCEPTION WHEN data_exception OR check_violation OR not_null_violation THEN
            {{ rule.held.parts.0.variable }} := NULL;
        END;
        IF num_nulls({% for part in rule.held.parts %}{{ part.variable }}{% if not loop.last %}, {% endif %}{% endfor %}) > 0 THEN
            RAISE EXCEPTION 'not a key of %: %', {{ rule.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a {% if rule.held.composite %}JSON array with values{% else %}value{% endif %} of {{ rule.held.form }}.';
        END IF;
        SELECT {{ rule.held.key }}, {% if rule.by_end %}{{ rule.is_root }}{% else %}true{% endif %}
        INTO o_key, o_found
        FROM {{ rule.table }} AS i
        WHERE {{ rule.held.matches }};
        o_key := coalesce(o_key, {{ rule.held.key_as_read }});
{%- if rule.by_end and rule.links and rule.candidates %}
        -- Or it belongs to the family of one that is.
        IF NOT o_found THEN
            WITH RECURSIVE up AS (
                SELECT {{ rule.held.parts.0.variable }}::{{ rule.id_type }} AS id
                UNION
                SELECT l.parent
                FROM up
                CROSS JOIN LATERAL (
{%- for link in rule.links %}
                    SELECT n.{{ link.parent }}::{{ rule.id_type }} AS parent FROM {{ link.table }} AS n WHERE n.{{ link.child }} = up.id AND n.{{ link.parent }} IS NOT NULL{% if not loop.last %}
                    UNION ALL{% endif %}
{%- endfor %}
                ) AS l
            )
            SELECT EXISTS (SELECT FROM up JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = up.id WHERE {{ rule.is_root }}) INTO o_found;
        END IF;
{%- endif %}
{%- if rule.timed %}{% for other in rule.timed.others %}
        -- Or it is one of {{ other.table_name }}.
        IF o_found IS NOT TRUE THEN
            SELECT coalesce(max(r.{{ other.key }}::text), o_key), count(*) > 0
            INTO o_key, o_found
            FROM {{ other.table }} AS r
            WHERE r.{{ other.key }} = {{ rule.held.parts.0.variable }}
{%- for condition in other.conditions %}
              AND {{ condition }}
{%- endfor %};
        END IF;
{%- endfor %}{% endif %}
    END IF;
{%- endfor %}
    o_found := coalesce(o_found, false);
END
$windrow$;
--# comment on function {{ control }}.row_of_key
COMMENT ON FUNCTION {{ control }}.row_of_key(text, text) IS
    'The key of the row that p_key names, as the server writes it, and whether the rule could ever delete it; raises 22023 for what the column cannot hold. Reads only. [body @body@]';

-- set_hold, release_hold: families that must stay.
--# create function {{ control }}.set_hold
CREATE OR REPLACE FUNCTION {{ control }}.set_hold(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule  text;
    v_row   record;
    v_hold  {{ control }}.hold%ROWTYPE;
    v_until timestamptz;
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'key', 'reason', 'until', 'even_if_absent']);
    v_rule := {{ control }}.check_rule(p_options);
    IF coalesce(trim(p_options ->> 'reason'), '') = '' THEN
        RAISE EXCEPTION 'a hold needs a reason'
            USING ERRCODE = '22023', HINT = 'Say who wants it kept and why: {"key": 17, "reason": "audit 2026"}.';
    END IF;
    v_until := {{ control }}.instant_of(p_options ->> 'until');
    IF v_until IS NULL AND p_options ->> 'until' IS NOT NULL THEN
        RAISE EXCEPTION 'until is not an instant: %', quote_literal(p_options ->> 'until')
            USING ERRCODE = '22023', HINT = 'Write it like 2027-01-01T00:00:00Z; without a zone it is UTC.';
    END IF;
    IF v_until <= clock_timestamp() THEN
        RAISE EXCEPTION 'until has passed: %', quote_literal(p_options ->> 'until')
            USING ERRCODE = '22023', HINT = 'Such a hold keeps nothing. Name an instant after the clock of the database, or leave until out.';
    END IF;
    IF jsonb_typeof(p_options -> 'even_if_absent') NOT IN ('boolean', 'null') THEN
        RAISE EXCEPTION 'even_if_absent is not true or false: %', p_options -> 'even_if_absent'
            USING ERRCODE = '22023', HINT = 'Write {"even_if_absent": true}.';
    END IF;
    LOCK TABLE {{ control }}.latch IN EXCLUSIVE MODE;
    -- After the lock no batch is under way that will not see the hold: the row is here to stay, or already gone.
    SELECT r.o_key AS key, r.o_found AS found INTO v_row FROM {{ control }}.row_of_key(v_rule, p_options ->> 'key') AS r;
    IF NOT v_row.found AND NOT coalesce((p_options ->> 'even_if_absent')::boolean, false) THEN
        RAISE EXCEPTION 'rule % has no row with the key %', v_rule, quote_literal(v_row.key)
            USING ERRCODE = '22023', HINT = 'A hold names a row that is there and that the rule may delete some day. With {"even_if_absent": true} it is stored all the same.';
    END IF;
    INSERT INTO {{ control }}.hold AS h (rule, key, reason, until, absent)
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
--# comment on function {{ control }}.set_hold
COMMENT ON FUNCTION {{ control }}.set_hold(jsonb) IS
    'Holds the family of a row that is there: rule, key (in any spelling that its column reads), reason, until (open if left out), even_if_absent (stores it without a row, too). Waits for a running batch. Example: SELECT {{ control }}.set_hold(''{"key": 17, "reason": "audit 2026"}''); [body @body@]';
--# create function {{ control }}.release_hold
CREATE OR REPLACE FUNCTION {{ control }}.release_hold(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rule text;
    v_key  text := p_options ->> 'key';
    v_hold {{ control }}.hold%ROWTYPE;
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'key']);
    v_rule := {{ control }}.check_rule(p_options);
    IF NOT EXISTS (SELECT FROM {{ control }}.hold AS h WHERE h.rule = v_rule AND h.key = v_key) THEN
        SELECT r.o_key INTO v_key FROM {{ control }}.row_of_key(v_rule, v_key) AS r;
    END IF;
    DELETE FROM {{ control }}.hold AS h WHERE h.rule = v_rule AND h.key = v_key RETURNING * INTO v_hold;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no hold on key % of rule %', quote_nullable(p_options ->> 'key'), v_rule
            USING ERRCODE = '22023', HINT = 'The holds are in table {{ control }}.hold.';
    END IF;
    RETURN row_to_json(v_hold);
END
$windrow$;
--# comment on function {{ control }}.release_hold
COMMENT ON FUNCTION {{ control }}.release_hold(jsonb) IS
    'Releases a hold and answers it. Example: SELECT {{ control }}.release_hold(''{"key": 17}''); [body @body@]';

-- set_windows: says when scheduled runs may work, or gives that back to the spec with a null value.
--# create function {{ control }}.set_windows
CREATE OR REPLACE FUNCTION {{ control }}.set_windows(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    c_week    CONSTANT text[] := ARRAY['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
    c_hint    CONSTANT text := 'Write it like "mon-fri 22:00-06:00 Europe/Berlin" or "daily 01:30-05:00": days, start (inclusive) and end (exclusive), and a zone (UTC if left out); or "always", or "never".';
    v_windows jsonb := p_options -> 'windows';
    v_window  text;
    v_parts   text[];
    v_ranges  text[];
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['windows']);
    IF jsonb_typeof(v_windows) = 'string' THEN
        v_windows := jsonb_build_array(v_windows);
    ELSIF jsonb_typeof(v_windows) = 'null' THEN
        v_windows := '[]';
    ELSIF coalesce(jsonb_typeof(v_windows), 'none') <> 'array' OR v_windows = '[]' OR jsonb_path_exists(v_windows, '$[*] ? (@.type() != "string")') THEN
        RAISE EXCEPTION 'the option windows is neither a text nor a list of texts'
            USING ERRCODE = '22023', HINT = c_hint;
    END IF;
    IF jsonb_array_length(v_windows) > 1 AND (v_windows ? 'always' OR v_windows ? 'never') THEN
        RAISE EXCEPTION '"always" and "never" stand alone' USING ERRCODE = '22023', HINT = c_hint;
    END IF;
    LOCK TABLE {{ control }}.run_window IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM {{ control }}.run_window;
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
        INSERT INTO {{ control }}.run_window (position, written, days, begins, ends, zone)
        SELECT
            (SELECT count(*) + 1 FROM {{ control }}.run_window),
            v_window,
            coalesce(string_agg(d.day::text, '' ORDER BY d.day), ''),
            v_parts[2]::time,
            v_parts[3]::time,
            v_parts[4]
        FROM generate_series(1, 7) AS d(day)
        WHERE EXISTS (
            SELECT
            FROM unnest(v_ranges) AS r(range)
            CROSS JOIN LATERAL (SELECT array_position(c_week, left(r.range, 3)) AS first, array_position(c_week, right(r.range, 3)) AS last) AS n
            WHERE CASE WHEN n.first <= n.last THEN d.day BETWEEN n.first AND n.last ELSE d.day >= n.first OR d.day <= n.last END
        );
    END LOOP;
    RETURN json_build_object('windows', (SELECT json_agg(h.written ORDER BY h.position) FROM {{ control }}.open_hours AS h));
END
$windrow$;
--# comment on function {{ control }}.set_windows
COMMENT ON FUNCTION {{ control }}.set_windows(jsonb) IS
    'Says when scheduled runs may work, from the next batch on; null: as the spec says. Examples: SELECT {{ control }}.set_windows(''{"windows": ["mon-fri 22:00-06:00 Europe/Berlin", "sat,sun 00:00-00:00"]}''); SELECT {{ control }}.set_windows(''{"windows": "never"}''); [body @body@]';

-- claim_artifacts, named_artifacts, finish_artifact: the outbox of files. Best effort; retention never waits for it.
--# create function {{ control }}.claim_artifacts
CREATE OR REPLACE FUNCTION {{ control }}.claim_artifacts(p_limit integer)
RETURNS TABLE (artifact_id bigint, host text, path text)
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    UPDATE {{ control }}.artifact AS a
    SET attempts = a.attempts + 1,
        next_attempt_at = clock_timestamp() + make_interval(mins => (2 ^ least(a.attempts, 9))::integer)
    FROM (
        SELECT c.artifact_id
        FROM {{ control }}.artifact AS c
        WHERE NOT c.given_up
          AND c.next_attempt_at <= clock_timestamp()
        ORDER BY c.artifact_id
        LIMIT p_limit
        FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE a.artifact_id = due.artifact_id
    RETURNING a.artifact_id, a.host, a.path;
$windrow$;
--# comment on function {{ control }}.claim_artifacts
COMMENT ON FUNCTION {{ control }}.claim_artifacts(integer) IS
    'Takes up to p_limit files of the outbox for one attempt; the next one is due after 1, 2, 4 ... 512 minutes. [body @body@]';
--# create function {{ control }}.named_artifacts
CREATE OR REPLACE FUNCTION {{ control }}.named_artifacts(p_artifacts jsonb)
RETURNS TABLE (artifact_id bigint, named_by text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
{%- for file in files %}
    SELECT a.artifact_id, {{ file.table_literal }}
    FROM {{ control }}.artifact AS a
    WHERE a.artifact_id IN (SELECT k.artifact_id::bigint FROM jsonb_array_elements_text(p_artifacts) AS k(artifact_id))
      AND EXISTS (SELECT FROM {{ file.table }} AS t WHERE t.{{ file.path }} = a.path){% if loop.last %};{% else %}
    UNION ALL{% endif %}
{%- else %}
    -- No rule of the spec names files.
    SELECT NULL::bigint, NULL::text WHERE false;
{%- endfor %}
$windrow$;
--# comment on function {{ control }}.named_artifacts
COMMENT ON FUNCTION {{ control }}.named_artifacts(jsonb) IS
    'Which files of a JSON array of numbers a row that is there still names, whatever its host, and in which table: they must stay. Asked before a file is removed. Without an index on the path, it reads that table from end to end. [body @body@]';
--# create function {{ control }}.finish_artifact
CREATE OR REPLACE FUNCTION {{ control }}.finish_artifact(p_artifact_id bigint, p_error text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    IF p_error IS NULL THEN
        DELETE FROM {{ control }}.artifact AS a WHERE a.artifact_id = p_artifact_id;
    ELSE
        UPDATE {{ control }}.artifact AS a
        SET last_error = left(p_error, 1000),
            given_up = a.attempts >= 10
        WHERE a.artifact_id = p_artifact_id;
    END IF;
END
$windrow$;
--# comment on function {{ control }}.finish_artifact
COMMENT ON FUNCTION {{ control }}.finish_artifact(bigint, text) IS
    'Reports an attempt: no error takes the file out of the outbox, an error is kept; after ten attempts it is given up. [body @body@]';

-- record_forced_install: what `windrow install --force` overruled; null where there was nothing to overrule.
--# create function {{ control }}.record_forced_install
CREATE OR REPLACE FUNCTION {{ control }}.record_forced_install(p_findings jsonb)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
    UPDATE {{ control }}.control
    SET forced_install = CASE
        WHEN p_findings IS NOT NULL THEN jsonb_build_object('by', session_user, 'at', clock_timestamp(), 'findings', p_findings)
    END;
$windrow$;
--# comment on function {{ control }}.record_forced_install
COMMENT ON FUNCTION {{ control }}.record_forced_install(jsonb) IS
    'Notes the findings of the check that an installation overruled; NULL clears the note. [body @body@]';

-- verify: is everything as it should be?
--# create function {{ control }}.verify
CREATE OR REPLACE FUNCTION {{ control }}.verify(p_options jsonb DEFAULT '{}')
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $windrow$
DECLARE
    v_preview json;
    v_error   text;
    v_starts  boolean;
    v_checks  json;
    v_clean   boolean;
BEGIN
    PERFORM {{ control }}.check_options(p_options, '{}');
    -- A routine that was dropped or broken by hand is a finding, not the end of the report.
    BEGIN
        v_preview := {{ control }}.preview() -> 'rules';
    EXCEPTION WHEN OTHERS THEN
        v_error := SQLERRM;
    END;
    -- Whether a start of the next days falls in a window. Days of the month count as any.
    v_starts := EXISTS (
        SELECT
        FROM generate_series(date_trunc('minute', clock_timestamp()), clock_timestamp() + interval '8 days', interval '1 minute') AS m(minute)
        CROSS JOIN LATERAL (SELECT m.minute AT TIME ZONE 'UTC' AS at) AS s
        WHERE {{ control }}.in_window(m.minute)
{%- if not starts_always %}
          AND (
{%- for job in jobs %}
              {% if not loop.first %}OR {% endif %}{{ job.starts | join(sep=" AND ") }}
{%- endfor %}
          )
{%- endif %}
    );
    WITH
    skipped AS (
        SELECT r.value ->> 'rule' AS rule, (r.value ->> 'families')::bigint AS due, r.value -> 'skipped' AS reasons
        FROM json_array_elements(v_preview) AS r
    ),
    routine (name) AS (
        VALUES
{%- for routine in routines %}
            ({{ routine }}){% if not loop.last %},{% endif %}
{%- endfor %}
    ),
    needed (table_name, index_name) AS (
{%- if indexes %}
        VALUES
{%- for index in indexes %}
            ({{ index.table_literal }}, {{ index.literal }}){% if not loop.last %},{% endif %}
{%- endfor %}
{%- else %}
        SELECT NULL::text, NULL::text WHERE false
{%- endif %}
    ),
    checks (position, check_name, object, severity, count, detail) AS (
        SELECT
            1, 'orphans', o.edge,
            CASE WHEN o.orphans = 0 THEN 'ok' WHEN o.orphans <= coalesce((c.orphans_at_arm ->> o.edge)::bigint, 0) THEN 'notice' ELSE 'violation' END,
            o.orphans,
            CASE
                WHEN o.orphans = 0 THEN 'every row has its parent'
                WHEN c.orphans_at_arm IS NULL THEN 'rows without a parent; arm() notes those that were there before'
                ELSE format('rows without a parent; %s were there when windrow was armed', coalesce(c.orphans_at_arm ->> o.edge, '0'))
            END
        FROM {{ control }}.orphans() AS o
        CROSS JOIN {{ control }}.control AS c
{%- for rule in rules %}{% if rule.timed %}
        UNION ALL
        SELECT
            1, 'removal_time', format('%s %s', {{ rule.literal }}, o.table_name),
            CASE WHEN o.apart + o.undated = 0 THEN 'ok' ELSE 'notice' END,
            o.apart + o.undated,
            format('%s rows have another {{ rule.end_time_name }} than their family and go without it; %s have none and stay', o.apart, o.undated)
        FROM {{ control }}.{{ rule.name }}_strays() AS o
{%- elif rule.single and rule.single.keep_last %}
        UNION ALL
        SELECT
            1, 'unranked', {{ rule.literal }}, CASE WHEN o.rows = 0 THEN 'ok' ELSE 'notice' END, o.rows,
            'rows without a group or without a place in it; they stay'
        FROM {{ control }}.{{ rule.name }}_unranked() AS o(rows)
{%- endif %}{% endfor %}
        UNION ALL
        SELECT 2, 'preview', c.spec, 'violation', 1, format('preview() fails: %s', v_error)
        FROM {{ control }}.control AS c
        WHERE v_error IS NOT NULL
        UNION ALL
        SELECT 2, 'due', s.rule, CASE WHEN s.due = 0 THEN 'ok' ELSE 'notice' END, s.due, 'families that a run would delete now'
        FROM skipped AS s
        UNION ALL
        SELECT 3, 'undeletable', s.rule || ' ' || k.key, 'notice', k.value::bigint, 'families whose root is due but that stay'
        FROM skipped AS s
        CROSS JOIN LATERAL json_each_text(s.reasons) AS k
        UNION ALL
        SELECT
            4, 'routine', r.name,
            CASE WHEN p.known THEN 'ok' ELSE 'violation' END,
            1,
            CASE
                WHEN p.known IS NULL THEN 'missing; run windrow install'
                WHEN p.known THEN 'as generated'
                ELSE 'edited by hand; windrow install puts it back'
            END
        FROM routine AS r
        -- The hash is of the body and of how it is called: its rights, its settings, whether it changes anything.
        LEFT JOIN LATERAL (
            SELECT bool_or(coalesce(d.description LIKE concat('%[body ', left(encode(sha256(convert_to(concat(h.head, E'\n', p.prosrc), 'UTF8')), 'hex'), 12), ']'), false)) AS known
            FROM pg_proc AS p
            LEFT JOIN pg_description AS d ON d.objoid = p.oid AND d.classoid = 'pg_proc'::regclass AND d.objsubid = 0
            CROSS JOIN LATERAL (SELECT concat_ws(
                ' ',
                CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END,
                CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
                CASE WHEN p.proisstrict THEN 'strict' END,
                CASE WHEN p.prosecdef THEN 'definer' ELSE 'invoker' END,
                (
                    SELECT string_agg(t.told, ' ' ORDER BY t.told COLLATE "C")
                    FROM unnest(p.proconfig) AS s(setting)
                    CROSS JOIN LATERAL (SELECT CASE s.setting
                        WHEN 'search_path={{ control }}, pg_catalog, pg_temp' THEN 'search_path from current'
                        ELSE lower(s.setting)
                    END) AS t(told)
                )
            )) AS h(head)
            WHERE p.pronamespace = {{ control_literal }}::regnamespace
              AND p.proname = r.name
        ) AS p ON true
        UNION ALL
        -- What somebody else has made in the schema, or may do to what is in it.
        SELECT 4, 'claim', c.object, 'violation', 1, format('%s; %s', c.problem, c.remedy)
        FROM (
            {{ claims_now | indent(prefix="            ") }}
        ) AS c
        UNION ALL
        SELECT 4, 'claim', format('role %I', r.rolname), 'notice', 1, format('is granted to %I, who owns another database of the server with windrow, and may act as the owner in this one, too', m.rolname)
        FROM pg_auth_members AS a
        JOIN pg_roles AS r ON r.oid = a.roleid
        JOIN pg_roles AS m ON m.oid = a.member
        WHERE r.rolname = {{ owner_literal }}
          AND NOT m.rolsuper
          AND m.oid <> (SELECT d.datdba FROM pg_database AS d WHERE d.datname = current_database())
          AND EXISTS (
              SELECT FROM pg_database AS b
              JOIN pg_shdepend AS e ON e.dbid = b.oid AND e.refclassid = 'pg_authid'::regclass AND e.refobjid = r.oid
              WHERE b.datdba = m.oid
                AND b.datname <> current_database()
          )
        UNION ALL
        SELECT 4, 'rights', c.object, 'violation', 1, format('%s; %s', c.problem, c.remedy)
        FROM (
            {{ rights | indent(prefix="            ") }}
        ) AS c
        UNION ALL
        SELECT
            5, 'index', n.index_name,
            CASE WHEN i.indisvalid AND i.indisready THEN 'ok' ELSE 'violation' END,
            1,
            CASE
                WHEN i.indexrelid IS NULL THEN format('missing on %s; run windrow install', n.table_name)
                WHEN NOT (i.indisvalid AND i.indisready) THEN 'invalid, an earlier build failed; run windrow install'
                ELSE 'valid'
            END
        FROM needed AS n
        LEFT JOIN pg_class AS x ON x.relname = n.index_name AND x.relnamespace = {{ schema_literal }}::regnamespace
        LEFT JOIN pg_index AS i ON i.indexrelid = x.oid
{%- if guards %}
        UNION ALL
        SELECT
            5, 'trigger', n.table_name,
            CASE WHEN t.known AND t.tgenabled IN ('O', 'A') THEN 'ok' ELSE 'violation' END,
            1,
            CASE
                WHEN t.known IS NULL THEN 'missing; run windrow install'
                WHEN NOT t.known THEN 'edited by hand; windrow install puts it back'
                WHEN t.tgenabled IN ('O', 'A') THEN 'refuses rows whose parent is gone'
                ELSE 'disabled: ALTER TABLE ... ENABLE TRIGGER'
            END
        FROM (
            VALUES
{%- for guard in guards %}
                ({{ guard.table_class }}, {{ guard.trigger_name }}, {{ guard.function_literal }}, {{ guard.columns_literal }}){% if not loop.last %},{% endif %}
{%- endfor %}
        ) AS n(table_name, trigger_name, function_name, columns)
        LEFT JOIN LATERAL (
            -- After INSERT or UPDATE, for each row, whatever is in it.
            SELECT
                g.tgenabled,
                p.pronamespace = {{ control_literal }}::regnamespace AND p.proname = n.function_name AND g.tgtype = 21 AND g.tgqual IS NULL
                    AND n.columns = (
                        SELECT string_agg('"' || replace(a.attname, '"', '""') || '"', ', ' ORDER BY k.place)
                        FROM unnest(g.tgattr) WITH ORDINALITY AS k(number, place)
                        JOIN pg_attribute AS a ON a.attrelid = g.tgrelid AND a.attnum = k.number
                    ) AS known
            FROM pg_trigger AS g
            JOIN pg_proc AS p ON p.oid = g.tgfoid
            WHERE g.tgrelid = to_regclass(n.table_name)
              AND g.tgname = n.trigger_name
        ) AS t ON true
{%- endif %}
        UNION ALL
        SELECT
            5, 'reference', s.object, 'violation', 1,
            format('%s: %s', s.detail, CASE WHEN s.acts THEN 'its rows would go or change with it; runs refuse' ELSE 'no family that it names can go' END)
        FROM {{ control }}.strangers() AS s
        UNION ALL
        SELECT 5, 'catalog', c.spec, 'violation', 1, {{ control }}.unaccounted() || '; runs refuse'
        FROM {{ control }}.control AS c
        WHERE starts_with({{ control }}.unaccounted(), 'catalog changed')
        UNION ALL
        SELECT 6, 'policy', p.rule || ' ' || p.scope, 'violation', 1, format('its retention of %s s is under the minimum of %s s', p.retention_seconds, m.minimum)
        FROM {{ control }}.policy AS p
        JOIN (
            VALUES
{%- for rule in rules %}
                ({{ rule.literal }}, {{ rule.minimum }}::bigint){% if not loop.last %},{% endif %}
{%- endfor %}
        ) AS m(rule, minimum) ON m.rule = p.rule AND p.retention_seconds < m.minimum
        UNION ALL
        SELECT 7, 'ledger', format('run %s %s', r.run_id, r.rule), 'violation', r.deleted_rows, format('its tables sum up to %s rows', s.deleted_rows)
        FROM {{ control }}.run_rule AS r
        CROSS JOIN LATERAL (SELECT sum(t.deleted_rows) AS deleted_rows FROM {{ control }}.run_table AS t WHERE t.run_id = r.run_id AND t.rule = r.rule) AS s
        WHERE s.deleted_rows <> r.deleted_rows
        UNION ALL
        SELECT 8, 'run', 'run ' || r.run_id, 'notice', 1, format('%s: %s', r.status, r.reason)
        FROM {{ control }}.run AS r
        WHERE r.run_id = (SELECT max(l.run_id) FROM {{ control }}.run AS l)
          AND r.status NOT IN ('done', 'running')
        UNION ALL
        SELECT 9, 'armed', c.spec, CASE WHEN c.armed AND c.server_identity = {{ control }}.server_identity() THEN 'ok' ELSE 'notice' END, 1,
            CASE
                WHEN NOT c.armed THEN 'not armed: runs refuse'
                WHEN c.server_identity IS DISTINCT FROM {{ control }}.server_identity() THEN 'armed on another server: runs refuse'
                ELSE format('armed by %s', c.armed_by)
            END
        FROM {{ control }}.control AS c
        UNION ALL
        SELECT 10, 'paused', c.spec, 'notice', 1, {{ w::paused(c="c") }}
        FROM {{ control }}.control AS c
        WHERE c.paused
        UNION ALL
        SELECT 10, 'paused', p.rule, 'notice', 1, {{ control }}.rule_paused(p.rule)
        FROM {{ control }}.rule_pause AS p
        UNION ALL
        SELECT 10, 'refused', f.server, 'notice', 1, format('no scheduled run since %s: %s', to_char(f.since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), f.reason)
        FROM {{ control }}.refusal AS f
        UNION ALL
{%- if archives %}
        SELECT
            14, 'archive', a.rule,
            CASE WHEN a.misfit IS NULL THEN 'ok' ELSE 'violation' END,
            1,
            coalesce(a.misfit || '; runs refuse: run windrow install', 'it fits the tables')
        FROM (
            SELECT r.rule, {{ control }}.archive_misfit(r.rule) AS misfit
            FROM unnest(ARRAY[{{ archiving_literals }}]) AS r(rule)
        ) AS a
        UNION ALL
{%- endif %}
        SELECT 10, 'suspended', c.spec, 'violation', s.failed_runs, format('no scheduled run starts after so many failed ones, until one by hand succeeds or arm(); the last one: %s', s.last_error)
        FROM {{ control }}.scheduling AS s
        CROSS JOIN {{ control }}.control AS c
        WHERE s.suspended
        UNION ALL
        SELECT 13, 'windows', string_agg(h.written, ', ' ORDER BY h.position), CASE WHEN bool_and(h.days = '') THEN 'notice' WHEN v_starts THEN 'ok' ELSE 'violation' END, 1,
            CASE
                WHEN bool_and(h.days = '') THEN 'no scheduled run will ever start'
                WHEN NOT v_starts THEN 'no start of the schedule ({{ schedule }}, in UTC) falls in one: no scheduled run will ever start'
                WHEN {{ control }}.in_window(clock_timestamp()) THEN 'open now'
                ELSE 'closed now'
            END
        FROM {{ control }}.open_hours AS h
    )
    SELECT
        json_agg(json_build_object('check', k.check_name, 'object', k.object, 'severity', k.severity, 'count', k.count, 'detail', k.detail) ORDER BY k.position, k.object),
        bool_and(k.severity <> 'violation')
    INTO v_checks, v_clean
    FROM checks AS k;
    RETURN json_build_object('clean', v_clean, 'checks', v_checks);
END
$windrow$;
--# comment on function {{ control }}.verify
COMMENT ON FUNCTION {{ control }}.verify(jsonb) IS
    'Orphans, what is due and why it stays, drift of routines, indexes, policies under the minimum, ledger arithmetic, as one JSON document. Reads whole tables. Example: SELECT {{ control }}.verify(); [body @body@]';
--# become who installs
RESET ROLE;
