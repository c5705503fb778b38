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
    'Stops the current run before its next batch and refuses new ones. Example: CALL pause(''month-end closing'');';
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

-- decided: what people have decided for rules by their names. orphaned: what of it matches no rule of the spec any more, because a
-- rule was renamed, left out, or given another key or scope: it has no effect, so nothing is deleted until somebody releases it.
--# create view decided
CREATE OR REPLACE VIEW decided AS
SELECT d.kind, d.rule, d.name, coalesce(d.refers_to, n.refers_to) AS refers_to, d.in_force
FROM (
    SELECT 'hold' AS kind, h.rule, h.key AS name, h.refers_to, (h.until > clock_timestamp()) IS NOT FALSE AS in_force FROM hold AS h
    UNION ALL
    SELECT 'policy', p.rule, p.scope, p.refers_to, true FROM policy AS p
    UNION ALL
    SELECT 'pause', p.rule, NULL, NULL, true FROM rule_pause AS p
    UNION ALL
    SELECT 'setting', s.rule, s.name, NULL, true FROM setting AS s
) AS d
LEFT JOIN rule_refers AS n ON n.rule = d.rule AND n.kind = d.kind;
--# comment on view decided
COMMENT ON VIEW decided IS
    'Holds, policies, pauses of rules and settings. name: the key, the scope or the setting; refers_to: the columns that it is a value '
    'of; in_force: a hold has not expired.';
--# create view orphaned
CREATE OR REPLACE VIEW orphaned AS
SELECT
    d.kind, d.rule, count(*) AS count, array_to_string((array_agg(d.name ORDER BY d.name COLLATE "C"))[1:20], ', ') AS names,
    CASE
        WHEN r.rule IS NULL THEN format('the spec has no rule %s', d.rule)
        ELSE format('set for %s, and rule %s has %s now', d.refers_to, d.rule, coalesce(n.refers_to, 'no scopes'))
    END AS why
FROM decided AS d
LEFT JOIN rule AS r ON r.rule = d.rule
LEFT JOIN rule_refers AS n ON n.rule = d.rule AND n.kind = d.kind
WHERE d.in_force
  AND (r.rule IS NULL OR d.refers_to <> coalesce(n.refers_to, ''))
GROUP BY d.kind, d.rule, r.rule, d.refers_to, n.refers_to;
--# comment on view orphaned
COMMENT ON VIEW orphaned IS
    'Holds, policies, pauses and settings that match no rule of the spec and so have no effect. names: the first 20 keys, scopes or '
    'settings, on MySQL and MariaDB the first and the last; why: what has changed.';

-- check_decided: the rule of something that was decided. It may be one that the spec no longer has.
--# create function check_decided
CREATE OR REPLACE FUNCTION check_decided(p_options jsonb)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF EXISTS (SELECT FROM decided AS d WHERE d.rule = p_options ->> 'rule') THEN
        RETURN p_options ->> 'rule';
    END IF;
    RETURN check_rule(p_options);
END
$windrow$;
--# comment on function check_decided
COMMENT ON FUNCTION check_decided(jsonb) IS
    'The rule that the options name, also one that the spec no longer has, if there are holds, policies, a pause or settings of it.';

-- check_cluster: whether a cluster may be armed by this name. One that every server may have says nothing.
--# create function check_cluster
CREATE OR REPLACE FUNCTION check_cluster(p_cluster text, p_until text)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF p_until IS NOT NULL THEN
        RAISE EXCEPTION 'until and cluster exclude each other'
            USING ERRCODE = '22023', HINT = 'A cluster is armed until somebody arms a server or another cluster.';
    END IF;
    IF p_cluster <> current_setting('cluster_name') OR p_cluster = '' THEN
        RAISE EXCEPTION 'this server is not of cluster %: its cluster_name is %', quote_literal(p_cluster),
            quote_literal(current_setting('cluster_name'))
            USING ERRCODE = '22023', HINT = 'Give all servers of the cluster, and no other, the same cluster_name, restart them, and name '
                'it here.';
    END IF;
    -- postgresql-common writes version and name of a folder there, on every machine.
    IF p_cluster ~ '^[0-9.]+/' THEN
        RAISE EXCEPTION 'cluster_name % is what Debian''s packages give any server', quote_literal(p_cluster)
            USING ERRCODE = '22023', HINT = 'Give all servers of the cluster, and no other, a cluster_name of its own, and restart them.';
    END IF;
    -- After its next restart this server would wait for a standby that it cannot see.
    IF NOT pg_has_role('pg_read_all_stats', 'USAGE') THEN
        RAISE EXCEPTION 'whether a standby follows this server is not seen without the right: GRANT pg_monitor TO %',
            quote_ident(current_user)
            USING ERRCODE = '55000', HINT = 'Without it no run starts once this server has restarted.';
    END IF;
END
$windrow$;
--# comment on function check_cluster
COMMENT ON FUNCTION check_cluster(text, text) IS
    'Raises 22023 where arm() may not name this cluster, 55000 where the owner role would not see a standby.';

-- arm: from now on runs may delete on this server. Notes the orphans that were there before. Where a cluster is armed that this
-- server belongs to, it stays armed as a whole, unless the caller says that this server alone is meant: nobody would notice before
-- the next failover.
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
--+ printed.sql
AS $windrow$
DECLARE
    v_cluster text := p_options ->> 'cluster';
    v_alone   boolean;
    v_orphans jsonb;
    v_orphan  record;
BEGIN
    PERFORM check_options(p_options, ARRAY['until', 'cluster', 'this_server']);
    IF jsonb_typeof(p_options -> 'this_server') <> 'boolean' THEN
        RAISE EXCEPTION 'this_server is not true or false: %', p_options -> 'this_server'
            USING ERRCODE = '22023', HINT = 'Write {"this_server": true}.';
    END IF;
    v_alone := coalesce((p_options ->> 'this_server')::boolean, false);
    IF coalesce(p_options ->> 'until', 'restart') <> 'restart' THEN
        RAISE EXCEPTION 'until is not "restart": %', quote_literal(p_options ->> 'until')
            USING ERRCODE = '22023', HINT = 'Leave it out, or write {"until": "restart"}: then a server that has started since is not '
                'armed.';
    END IF;
    IF v_alone AND v_cluster IS NOT NULL THEN
        RAISE EXCEPTION 'this_server and cluster exclude each other'
            USING ERRCODE = '22023', HINT = 'Write {"this_server": true} to arm this server alone, or {"cluster": "..."} to arm a cluster.';
    END IF;
    IF NOT v_alone AND v_cluster IS NULL AND p_options ->> 'until' IS NULL
        AND EXISTS (SELECT FROM control AS c WHERE c.server_identity = cluster_identity()) THEN
        v_cluster := current_setting('cluster_name');
        RAISE NOTICE 'cluster % stays armed; {"this_server": true} arms this server alone', quote_literal(v_cluster);
    END IF;
    IF v_cluster IS NOT NULL THEN
        PERFORM check_cluster(v_cluster, p_options ->> 'until');
    END IF;
    FOR v_orphan IN SELECT o.* FROM orphaned AS o ORDER BY o.kind, o.rule LIMIT 1 LOOP
        RAISE EXCEPTION '%', concat_ws(': ', format('%s of rule %s has no effect', v_orphan.kind, v_orphan.rule), v_orphan.why,
            v_orphan.names)
            USING ERRCODE = '55000', HINT = format('Set it for the rule that it is meant for, if it is still needed, and release or drop '
                'this one; view %I.orphaned lists all.', current_schema());
    END LOOP;
    -- Whole tables are read before anything is written, so that nobody waits for that meanwhile; what acts is told before it, too.
    IF stranger() IS NOT NULL THEN
        PERFORM check_catalog();
    END IF;
    v_orphans := (SELECT jsonb_object_agg(o.edge, o.orphans) FROM orphans() AS o);
    -- The tables are taken as they are now; what acts on them must be in the spec.
    DELETE FROM catalog_state AS s WHERE s.run_id = 0;
    INSERT INTO catalog_state (run_id, state)
    VALUES (0, catalog_now());
    PERFORM note_clean(s.state) FROM catalog_state AS s WHERE s.run_id = 0;
    PERFORM check_catalog();
    UPDATE control
    SET armed = true,
        armed_by = session_user,
        armed_at = clock_timestamp(),
        armed_rules = ARRAY(SELECT r.rule FROM rule AS r ORDER BY r.position),
        server_identity = CASE WHEN v_cluster IS NULL THEN identity_of(p_options ->> 'until' IS NOT NULL) ELSE cluster_identity() END,
        orphans_at_arm = v_orphans;
    -- What refused on other servers, or here, is over.
    DELETE FROM refusal;
END
$windrow$;
--# comment on procedure arm
COMMENT ON PROCEDURE arm(jsonb) IS
    'Allows runs to delete on this server, unless something that is not in the spec acts on its tables; needed once after the '
    'installation, and again after a new rule was installed, and after a restore, clone or promotion. until: "restart" ends this '
    'permission at the next server start, for sites that clone servers by storage snapshots. cluster: the cluster_name of this server: '
    'whichever server of that cluster is the primary may delete, also after a failover. Once armed, the cluster stays armed when one '
    'of its servers calls arm() without options; this_server: true arms that server alone. Examples: CALL arm(); CALL '
    'arm(''{"until": "restart"}''); CALL arm(''{"cluster": "billing"}'');';

-- set_policy, drop_policy: what is cleaned, and after how long.
--# create function set_policy
CREATE OR REPLACE FUNCTION set_policy(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_rule      text;
    v_scope     text := p_options ->> 'scope';
    v_other     text;
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
            USING ERRCODE = '22023', HINT = 'Policies are for rules with scopes; the retention of this one is in the spec.';
    END IF;
    IF (v_scope ~ v_pattern) IS NOT TRUE THEN
        RAISE EXCEPTION 'not a scope of rule %: %', v_rule, quote_nullable(v_scope)
            USING ERRCODE = '22023', HINT = format('A scope has the form %s.', v_pattern);
    END IF;
    IF jsonb_typeof(p_options -> 'enabled') <> 'boolean' OR jsonb_typeof(p_options -> 'artifacts') <> 'boolean' THEN
        RAISE EXCEPTION 'enabled and artifacts are true or false: %', p_options
            USING ERRCODE = '22023', HINT = 'Write them like {"enabled": false}.';
    END IF;
    LOCK TABLE latch IN EXCLUSIVE MODE;
    SELECT min(a.other)
    INTO v_other
    FROM alike(v_rule, ARRAY[v_scope], ARRAY(
        SELECT p.scope
        FROM policy AS p
        JOIN rule_refers AS n ON n.rule = p.rule AND n.kind = 'policy'
        WHERE p.rule = v_rule
          AND p.scope <> v_scope
          AND (p.refers_to = n.refers_to) IS NOT FALSE
    )) AS a;
    IF v_other IS NOT NULL THEN
        RAISE EXCEPTION 'scope % has a policy already, for its spelling %', quote_literal(v_scope), quote_literal(v_other)
            USING ERRCODE = '22023', HINT = (SELECT format('Change or drop that one: to %s.%s they are the same.', r.root, r.scope_name)
                FROM rule AS r WHERE r.rule = v_rule);
    END IF;
    SELECT * INTO v_policy FROM policy AS p WHERE p.rule = v_rule AND p.scope = v_scope;
    v_retention := CASE
        WHEN p_options ->> 'retention' IS DISTINCT FROM 'default'
            THEN coalesce(seconds(p_options ->> 'retention'), v_policy.retention_seconds)
    END;
    -- One that follows the spec may be disabled or noted, also where that has no default any more.
    IF v_retention IS NULL AND v_default IS NULL AND (v_policy.rule IS NULL OR p_options ->> 'retention' = 'default') THEN
        RAISE EXCEPTION 'rule % has no default retention', v_rule
            USING ERRCODE = '22023', HINT = 'Name one: {"retention": "30d"}.';
    END IF;
    IF v_retention < v_minimum THEN
        RAISE EXCEPTION 'a retention of % is below the minimum of rule %', p_options ->> 'retention', v_rule
            USING ERRCODE = '22023', HINT = format('The minimum is %s seconds (%s days); it is set in the spec.', v_minimum,
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
        changed_at = clock_timestamp(),
        refers_to = NULL
    RETURNING * INTO v_policy;
    RETURN (to_jsonb(v_policy) - 'refers_to' || jsonb_build_object(
        'retention_seconds', coalesce(v_policy.retention_seconds, v_default),
        'follows_spec', v_policy.retention_seconds IS NULL
    ))::json;
END
$windrow$;
--# comment on function set_policy
COMMENT ON FUNCTION set_policy(jsonb) IS
    'Writes one policy: rule, scope, retention ("default", or none where it is new: the default of the spec, also of each later one), '
    'enabled, artifacts, note. Waits for a running batch. Example: SELECT set_policy(''{"scope": "42", "retention": "30d"}'');';
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
    v_rule := check_decided(p_options);
    LOCK TABLE latch IN EXCLUSIVE MODE;
    DELETE FROM policy AS p WHERE p.rule = v_rule AND p.scope = p_options ->> 'scope' RETURNING * INTO v_policy;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no policy for scope % of rule %', quote_nullable(p_options ->> 'scope'), v_rule
            USING ERRCODE = '22023', HINT = format('The policies are in table %I.policy.', current_schema());
    END IF;
    RETURN (to_jsonb(v_policy) - 'refers_to' || jsonb_build_object(
        'retention_seconds', coalesce(v_policy.retention_seconds, (SELECT r.retention FROM rule AS r WHERE r.rule = v_rule)),
        'follows_spec', v_policy.retention_seconds IS NULL
    ))::json;
END
$windrow$;
--# comment on function drop_policy
COMMENT ON FUNCTION drop_policy(jsonb) IS
    'Drops one policy and returns it. Waits for a running batch. Example: SELECT drop_policy(''{"scope": "42"}'');';

-- set_hold, release_hold: families that must be kept.
--# create function set_hold
CREATE OR REPLACE FUNCTION set_hold(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
SET row_security = off
AS $windrow$
DECLARE
    v_rule   text;
    v_reason text := p_options ->> 'reason';
    v_row    record;
    v_hold   hold%ROWTYPE;
    v_until  timestamptz;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'key', 'reason', 'until', 'even_if_absent']);
    v_rule := check_rule(p_options);
    IF coalesce(trim(v_reason), '') = '' THEN
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
    IF jsonb_typeof(p_options -> 'even_if_absent') <> 'boolean' THEN
        RAISE EXCEPTION 'even_if_absent is not true or false: %', p_options -> 'even_if_absent'
            USING ERRCODE = '22023', HINT = 'Write {"even_if_absent": true}.';
    END IF;
    LOCK TABLE latch IN EXCLUSIVE MODE;
    -- After the lock no batch is in progress that will not see the hold: the row will be kept, or is already deleted.
    SELECT r.o_key AS key, r.o_found AS found INTO v_row FROM row_of_key(v_rule, p_options ->> 'key') AS r;
    IF NOT v_row.found AND NOT coalesce((p_options ->> 'even_if_absent')::boolean, false) THEN
        RAISE EXCEPTION 'rule % has no row with the key %', v_rule, quote_literal(v_row.key)
            USING ERRCODE = 'WD003', HINT = 'A hold must name an existing row that the rule may delete some day. With '
                '{"even_if_absent": true} it is stored all the same.';
    END IF;
    IF v_row.found THEN
        PERFORM still_there(v_rule, v_row.key);
    END IF;
    -- Nobody makes a hold shorter, or forgets a reason, by setting another one.
    SELECT * INTO v_hold
    FROM hold AS h
    WHERE h.rule = v_rule
      AND h.key = v_row.key
      AND (h.until IS NULL OR h.until > clock_timestamp());
    IF FOUND AND v_until < coalesce(v_hold.until, 'infinity') THEN
        RAISE EXCEPTION 'key % of rule % is held already, %', quote_literal(v_row.key), v_rule,
            coalesce('until ' || to_char(v_hold.until, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'without an end')
            USING ERRCODE = '22023', HINT = format('Set by %s: %s. A hold that ends earlier takes its place only if that one is released '
                'first.', v_hold.placed_by, v_hold.reason);
    END IF;
    -- The latest reason comes first, each once; of the others as many as there is room for.
    v_reason := left(
        concat_ws('; ', v_reason, nullif(btrim(replace('; ' || v_hold.reason || '; ', '; ' || v_reason || '; ', '; '), '; '), '')),
        greatest(1000, length(v_reason))
    );
    INSERT INTO hold AS h (rule, key, reason, until, absent)
    VALUES (v_rule, v_row.key, v_reason, v_until, NOT v_row.found)
    ON CONFLICT (rule, key) DO UPDATE
    SET reason = excluded.reason,
        until = excluded.until,
        placed_by = excluded.placed_by,
        placed_at = clock_timestamp(),
        absent = excluded.absent,
        refers_to = NULL
    RETURNING * INTO v_hold;
    RETURN (to_jsonb(v_hold) - 'refers_to' || jsonb_build_object('exists', v_row.found))::json;
END
$windrow$;
--# comment on function set_hold
COMMENT ON FUNCTION set_hold(jsonb) IS
    'Holds the family of an existing row: rule, key (in any spelling that its column accepts), reason, until (default: no end; not '
    'before that of a hold that is there, whose reason is kept, too), even_if_absent (also places it without a row). Waits for a running '
    'batch. Example: SELECT set_hold(''{"key": 17, "reason": "audit 2026"}'');';
--# create function release_hold
CREATE OR REPLACE FUNCTION release_hold(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_rule text;
    v_key  text := p_options ->> 'key';
    v_hold hold%ROWTYPE;
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'key']);
    v_rule := check_decided(p_options);
    IF EXISTS (SELECT FROM rule AS r WHERE r.rule = v_rule)
        AND NOT EXISTS (SELECT FROM hold AS h WHERE h.rule = v_rule AND h.key = v_key) THEN
        SELECT r.o_key INTO v_key FROM row_of_key(v_rule, v_key) AS r;
    END IF;
    IF NOT EXISTS (SELECT FROM hold AS h WHERE h.rule = v_rule AND h.key = v_key) THEN
        v_key := coalesce((SELECT a.key FROM absent_holds(v_rule) AS a WHERE a.there = v_key LIMIT 1), v_key);
    END IF;
    DELETE FROM hold AS h WHERE h.rule = v_rule AND h.key = v_key RETURNING * INTO v_hold;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no hold on key % of rule %', quote_nullable(p_options ->> 'key'), v_rule
            USING ERRCODE = 'WD003', HINT = format('The holds are in table %I.hold.', current_schema());
    END IF;
    RETURN (to_jsonb(v_hold) - 'refers_to')::json;
END
$windrow$;
--# comment on function release_hold
COMMENT ON FUNCTION release_hold(jsonb) IS
    'Releases a hold and returns it. Example: SELECT release_hold(''{"key": 17}'');';

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
        RAISE EXCEPTION 'the option windows is neither a string nor a list of strings'
            USING ERRCODE = '22023', HINT = c_hint;
    END IF;
    IF jsonb_array_length(v_windows) > 1 AND (v_windows ? 'always' OR v_windows ? 'never') THEN
        RAISE EXCEPTION '"always" and "never" cannot be combined' USING ERRCODE = '22023', HINT = c_hint;
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
            RAISE EXCEPTION 'not a window: %', quote_literal(v_window) USING ERRCODE = '22023', HINT = c_hint;
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
    'Sets the windows in which scheduled runs may work, from the next batch on; null: those of the spec. Examples: SELECT '
    'set_windows(''{"windows": '
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
