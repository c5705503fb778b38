{% import "macros.sql" as w -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';

-- rule_pause: rules that runs pass over.
--# create table {{ control }}.rule_pause
CREATE TABLE IF NOT EXISTS {{ control }}.rule_pause (
    rule      text        NOT NULL PRIMARY KEY,
    reason    text,
    paused_by text        NOT NULL DEFAULT session_user,
    paused_at timestamptz NOT NULL DEFAULT now()
);
--# comment on table {{ control }}.rule_pause
COMMENT ON TABLE {{ control }}.rule_pause IS
    'Rules that runs pass over. Read again before every batch. Written by pause_rule() and resume_rule().';

-- refusal: why a server starts no scheduled run. A row changes when the reason does, not with every refusal.
--# create table {{ control }}.refusal
CREATE TABLE IF NOT EXISTS {{ control }}.refusal (
    server text        NOT NULL PRIMARY KEY,
    reason text        NOT NULL,
    since  timestamptz NOT NULL DEFAULT clock_timestamp()
);
--# comment on table {{ control }}.refusal
COMMENT ON TABLE {{ control }}.refusal IS
    'Why a server, by its server_identity(), refuses scheduled runs, and since when. Its row goes when such a run starts there.';

-- pause_rule, resume_rule: a switch for one rule. A run under way obeys before its next batch, and goes on with other rules.
--# create function {{ control }}.pause_rule
CREATE OR REPLACE FUNCTION {{ control }}.pause_rule(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_pause {{ control }}.rule_pause%ROWTYPE;
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'reason']);
    INSERT INTO {{ control }}.rule_pause AS p (rule, reason)
    VALUES ({{ control }}.check_rule(p_options), p_options ->> 'reason')
    ON CONFLICT (rule) DO UPDATE
    SET reason = excluded.reason,
        paused_by = session_user,
        paused_at = clock_timestamp()
    RETURNING p.* INTO v_pause;
    RETURN row_to_json(v_pause);
END
$windrow$;
--# comment on function {{ control }}.pause_rule
COMMENT ON FUNCTION {{ control }}.pause_rule(jsonb) IS
    'Makes runs pass a rule over, from the next batch on. Example: SELECT {{ control }}.pause_rule(''{"rule": "{{ rules.0.name }}", "reason": "audit"}''); [body @body@]';
--# create function {{ control }}.resume_rule
CREATE OR REPLACE FUNCTION {{ control }}.resume_rule(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_pause {{ control }}.rule_pause%ROWTYPE;
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule']);
    DELETE FROM {{ control }}.rule_pause AS p
    WHERE p.rule = {{ control }}.check_rule(p_options)
    RETURNING p.* INTO v_pause;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'rule % is not paused', {{ control }}.check_rule(p_options)
            USING ERRCODE = '22023', HINT = 'The paused rules are in table {{ control }}.rule_pause; CALL {{ control }}.resume() ends a pause of everything.';
    END IF;
    RETURN row_to_json(v_pause);
END
$windrow$;
--# comment on function {{ control }}.resume_rule
COMMENT ON FUNCTION {{ control }}.resume_rule(jsonb) IS
    'Ends the pause of a rule and answers it. Example: SELECT {{ control }}.resume_rule(''{"rule": "{{ rules.0.name }}"}''); [body @body@]';

-- rule_paused: why a rule is passed over.
--# create function {{ control }}.rule_paused
CREATE OR REPLACE FUNCTION {{ control }}.rule_paused(p_rule text)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT format('rule %s is %s', p.rule, {{ w::paused(c="p", reason="reason") }})
    FROM {{ control }}.rule_pause AS p
    WHERE p.rule = p_rule;
$windrow$;
--# comment on function {{ control }}.rule_paused
COMMENT ON FUNCTION {{ control }}.rule_paused(text) IS
    'Why the rule is passed over: who paused it, since when and why; NULL if nobody did. [body @body@]';

-- note_refusal: what refuses a scheduled run on this server is written down once, not at every start.
--# create function {{ control }}.note_refusal
CREATE OR REPLACE FUNCTION {{ control }}.note_refusal(p_reason text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_server constant text := {{ control }}.server_identity();
    v_known  text := (SELECT r.reason FROM {{ control }}.refusal AS r WHERE r.server = v_server);
BEGIN
    IF p_reason IS NULL AND v_known IS NOT NULL THEN
        DELETE FROM {{ control }}.refusal AS r WHERE r.server = v_server;
    ELSIF p_reason <> v_known OR v_known IS NULL AND p_reason IS NOT NULL THEN
        INSERT INTO {{ control }}.refusal (server, reason)
        VALUES (v_server, p_reason)
        ON CONFLICT (server) DO UPDATE
        SET reason = excluded.reason,
            since = excluded.since;
    END IF;
END
$windrow$;
--# comment on function {{ control }}.note_refusal
COMMENT ON FUNCTION {{ control }}.note_refusal(text) IS
    'Writes to table refusal why this server refuses scheduled runs; NULL: it does not. [body @body@]';

-- held_back: why no run may start now. Where nobody armed windrow on this server, a scheduled run is refused without an
-- error: a standby that was promoted, a restored copy or another node of a cluster would fill its log with them.
--# create function {{ control }}.held_back
CREATE OR REPLACE FUNCTION {{ control }}.held_back(p_options jsonb)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_control {{ control }}.control%ROWTYPE;
    v_reason  text;
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'the server is a standby: nothing is deleted here' USING ERRCODE = '25006';
    END IF;
    SELECT * INTO STRICT v_control FROM {{ control }}.control;
    IF v_control.paused THEN
        v_reason := {{ w::paused(c="v_control") }};
    ELSE
        -- Not one of the rules may be worked on.
        SELECT CASE WHEN bool_and(p.why IS NOT NULL) THEN string_agg(p.why, '; ' ORDER BY p.position) END
        INTO v_reason
        FROM (
            SELECT r.position, {{ control }}.rule_paused(r.name) AS why
            FROM unnest(ARRAY[{{ rule_literals }}]) WITH ORDINALITY AS r(name, position)
            WHERE r.name = coalesce(p_options ->> 'rule', r.name)
        ) AS p;
    END IF;
    IF p_options ->> 'trigger' = 'SCHEDULED' THEN
        v_reason := coalesce(
            v_reason,
            CASE
                WHEN (p_options ->> 'dry_run')::boolean THEN NULL
                WHEN NOT v_control.armed THEN 'not armed: nothing is deleted before someone said so'
                WHEN v_control.server_identity IS DISTINCT FROM {{ control }}.server_identity() THEN format('armed on another server: %s', v_control.server_identity)
            END,
            CASE WHEN NOT {{ control }}.in_window(clock_timestamp()) THEN
                format('no window is open: %s', (SELECT string_agg(h.written, ', ' ORDER BY h.position) FROM {{ control }}.open_hours AS h))
            END
        );
        PERFORM {{ control }}.note_refusal(v_reason);
    END IF;
    RETURN v_reason;
END
$windrow$;
--# comment on function {{ control }}.held_back
COMMENT ON FUNCTION {{ control }}.held_back(jsonb) IS
    'Why no run with these options may start now: a pause, and for scheduled runs also a server where nobody armed windrow or a closed window; NULL if nothing speaks against it. [body @body@]';
