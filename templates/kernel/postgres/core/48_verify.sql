-- orphaned_told: the rows of view orphaned. A table of ours that has another owner is told by another check.
--# create function orphaned_told
CREATE OR REPLACE FUNCTION orphaned_told()
RETURNS TABLE (kind text, rule text, count bigint, names text, why text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN QUERY SELECT o.kind, o.rule, o.count, o.names, o.why FROM orphaned AS o;
EXCEPTION WHEN insufficient_privilege THEN
    RETURN;
END
$windrow$;
--# comment on function orphaned_told
COMMENT ON FUNCTION orphaned_told() IS
    'What view orphaned shows, for verify(); nothing where it cannot be read.';

-- verify: is everything as it should be?
--# create function verify
CREATE OR REPLACE FUNCTION verify(p_options jsonb DEFAULT '{}')
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
SET jit = off
SET quote_all_identifiers = off
AS $windrow$
DECLARE
    v_spec     constant jsonb := (SELECT s.document FROM spec AS s);
    v_rule     record;
    v_found    record;
    v_count    bigint;
    v_misfit   text;
    v_of_rules jsonb := '[]';
    v_preview  json;
    v_error    text;
    v_zone     text;
    v_starts   boolean;
    v_checks   json;
    v_clean    boolean;
BEGIN
    PERFORM check_options(p_options, '{}');
    -- A routine that was dropped or broken by hand is a finding, not the end of the report.
    BEGIN
        v_preview := preview() -> 'rules';
    EXCEPTION WHEN OTHERS OR assert_failure THEN
        v_error := SQLERRM;
    END;
    -- What the rules of some strategies know of rows that they never look at, and whether the archive fits its tables.
    FOR v_rule IN
        SELECT r.rule, r.strategy, r.time_name, r.document ? 'archive' AS archives
        FROM rule AS r
        ORDER BY r.position
    LOOP
        BEGIN
            IF v_rule.strategy IN ('removal-time', 'age', 'partition') THEN
                FOR v_found IN SELECT s.table_name, s.apart, s.undated FROM strays_timed(v_rule.rule) AS s LOOP
                    v_of_rules := v_of_rules || jsonb_build_object(
                        'position', 1,
                        'check_name', 'removal_time',
                        'object', format('%s %s', v_rule.rule, v_found.table_name),
                        'severity', CASE WHEN v_found.apart + v_found.undated = 0 THEN 'ok' ELSE 'notice' END,
                        'count', v_found.apart + v_found.undated,
                        'detail', format('%s rows have another %s than their family and are deleted without it; %s have none and are kept',
                            v_found.apart, v_rule.time_name, v_found.undated)
                    );
                END LOOP;
                IF v_rule.strategy = 'partition' THEN
                    v_of_rules := v_of_rules || partition_watch(v_rule.rule);
                END IF;
            ELSIF v_rule.strategy = 'keep-last' THEN
                EXECUTE format('SELECT %s()', routine_of(v_rule.rule, 'unranked')) INTO v_count;
                v_of_rules := v_of_rules || jsonb_build_object(
                    'position', 1,
                    'check_name', 'unranked',
                    'object', v_rule.rule,
                    'severity', CASE WHEN v_count = 0 THEN 'ok' ELSE 'notice' END,
                    'count', v_count,
                    'detail', 'rows without a group or without a place in it; they are kept'
                );
            END IF;
        EXCEPTION WHEN object_not_in_prerequisite_state OR undefined_table OR undefined_column THEN
            -- That the routine or the table is missing is a finding of its own.
            NULL;
        END;
        IF v_rule.archives THEN
            v_misfit := archive_misfit(v_rule.rule);
            v_of_rules := v_of_rules || jsonb_build_object(
                'position', 14,
                'check_name', 'archive',
                'object', v_rule.rule,
                'severity', CASE WHEN v_misfit IS NULL THEN 'ok' ELSE 'violation' END,
                'count', 1,
                'detail', coalesce(v_misfit || '; runs refuse: run windrow install', 'it fits the tables')
            );
        END IF;
    END LOOP;
    -- By whose clock runs start: that of pg_cron, where the installation made its jobs. Who may not read it takes UTC, as the spec does.
    BEGIN
        SELECT current_setting('cron.timezone', true)
        INTO v_zone
        FROM control AS c
        WHERE c.scheduled
          AND current_setting('cron.database_name', true) = current_database();
    EXCEPTION WHEN insufficient_privilege THEN
        NULL;
    END;
    v_zone := coalesce(nullif(v_zone, ''), 'UTC');
    -- Whether a start of the next days falls in a window. Days of the month count as any.
    SELECT
        --+ starts.sql
    INTO v_starts
    FROM spec AS s;
    WITH
    skipped AS (
        SELECT r.value ->> 'rule' AS rule, (r.value ->> 'families')::bigint AS due, r.value -> 'skipped' AS reasons
        FROM json_array_elements(v_preview) AS r
    ),
    who AS (
        SELECT i.* FROM installation AS i
    ),
    needed (table_name, index_name, led_by) AS (
        SELECT t.key, x.value, ARRAY(SELECT jsonb_array_elements_text(v_spec -> 'led_by' -> x.value))
        FROM jsonb_each(v_spec -> 'indexes') AS t
        CROSS JOIN LATERAL jsonb_array_elements_text(t.value) AS x
    ),
    checks (position, check_name, object, severity, count, detail) AS (
        SELECT
            1, 'orphans', o.edge,
            CASE WHEN o.orphans = 0 THEN 'ok' WHEN o.orphans <= coalesce((c.orphans_at_arm ->> o.edge)::bigint, 0) THEN 'notice'
                ELSE 'violation' END,
            coalesce(o.orphans, 0),
            CASE
                WHEN o.orphans IS NULL THEN 'cannot be counted: a table or a column of it is missing'
                WHEN o.orphans = 0 THEN 'every row has its parent'
                WHEN c.orphans_at_arm IS NULL THEN 'rows without a parent; arm() notes those that were there before'
                ELSE format('rows without a parent; %s were there when windrow was armed', coalesce(c.orphans_at_arm ->> o.edge, '0'))
            END
        FROM orphans() AS o
        CROSS JOIN control AS c
        UNION ALL
        SELECT o.position, o.check_name, o.object, o.severity, o.count, o.detail
        FROM jsonb_to_recordset(v_of_rules) AS o(position integer, check_name text, object text, severity text, count bigint, detail text)
        UNION ALL
        SELECT 2, 'preview', c.spec, 'violation', 1, format('preview() fails: %s', v_error)
        FROM control AS c
        WHERE v_error IS NOT NULL
        UNION ALL
        SELECT 2, 'due', s.rule, CASE WHEN s.due = 0 THEN 'ok' ELSE 'notice' END, s.due, 'families that a run would delete now'
        FROM skipped AS s
        UNION ALL
        SELECT 3, 'undeletable', s.rule || ' ' || k.key, 'notice', k.value::bigint, 'families whose root is due but that are kept'
        FROM skipped AS s
        CROSS JOIN LATERAL json_each_text(s.reasons) AS k
        UNION ALL
        SELECT
            4, 'routine', r.routine,
            CASE WHEN p.known THEN 'ok' ELSE 'violation' END,
            1,
            CASE
                WHEN p.known IS NULL THEN 'missing; run windrow install'
                WHEN p.known THEN 'as generated'
                ELSE 'edited by hand; windrow install puts it back'
            END
        FROM (SELECT DISTINCT k.routine FROM known_routine AS k) AS r
        LEFT JOIN LATERAL (
            SELECT bool_or(coalesce(d.description LIKE concat('%[text ', routine_hash(p.oid), ']'), false)) AS known
            FROM pg_proc AS p
            LEFT JOIN pg_description AS d ON d.objoid = p.oid AND d.classoid = 'pg_proc'::regclass AND d.objsubid = 0
            WHERE p.pronamespace = current_schema()::regnamespace
              AND p.proname = r.routine
        ) AS p ON true
        UNION ALL
        -- Objects of others in the schema, and rights of others on what is in it.
        SELECT 4, 'claim', c.object, 'violation', 1, format('%s; %s', c.problem, c.remedy)
        FROM (
            --+ claims.sql
        ) AS c
        UNION ALL
        SELECT 4, 'claim', format('role %I', r.rolname), 'notice', 1,
            format('is granted to %I, who owns another database of the server with windrow, and may act as the owner in this one, too',
            m.rolname)
        FROM pg_auth_members AS a
        JOIN pg_roles AS r ON r.oid = a.roleid
        JOIN pg_roles AS m ON m.oid = a.member
        WHERE r.oid = current_user::regrole
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
            --+ rights.sql
        ) AS c
        UNION ALL
        SELECT 4, 'rights', c.object, 'violation', 1, format('%s; %s', c.problem, c.remedy)
        FROM (
            --+ reshaped.sql
        ) AS c
        UNION ALL
        SELECT
            5, 'index', n.index_name,
            CASE WHEN i.indisvalid AND i.indisready OR o.name IS NOT NULL THEN 'ok' ELSE 'violation' END,
            1,
            CASE
                WHEN o.name IS NOT NULL THEN format('%I, which is there, serves', o.name)
                WHEN i.indexrelid IS NULL THEN format('missing on %s; run windrow install', n.table_name)
                WHEN NOT (i.indisvalid AND i.indisready) THEN 'invalid, an earlier build failed; run windrow install'
                ELSE 'valid'
            END
        FROM needed AS n
        LEFT JOIN pg_class AS x ON x.relname = n.index_name AND x.relnamespace = to_regnamespace(quote_ident(v_spec ->> 'schema'))
        LEFT JOIN pg_index AS i ON i.indexrelid = x.oid AND i.indrelid = to_regclass(format('%I.%I', v_spec ->> 'schema', n.table_name))
        LEFT JOIN LATERAL (
            SELECT c.relname AS name
            FROM pg_index AS k
            JOIN pg_class AS c ON c.oid = k.indexrelid
            JOIN pg_am AS m ON m.oid = c.relam AND m.amname = 'btree'
            -- As windrow check compares them: in the order of the columns, either way.
            LEFT JOIN LATERAL (
                SELECT min(p.place) AS place
                FROM unnest(k.indkey::int2[], k.indclass::oid[], k.indcollation::oid[], k.indoption::int2[])
                    WITH ORDINALITY AS p(number, class, coll, direction, place)
                JOIN pg_opclass AS o ON o.oid = p.class
                LEFT JOIN pg_attribute AS a ON a.attrelid = k.indrelid AND a.attnum = p.number
                WHERE a.attcollation <> p.coll
                   OR p.direction NOT IN (0, 3)
                   OR p.direction <> k.indoption[0]
                   OR NOT EXISTS (SELECT FROM pg_opclass AS d WHERE d.opcfamily = o.opcfamily AND d.opcdefault)
            ) AS l ON true
            WHERE i.indexrelid IS NULL
              AND k.indrelid = to_regclass(format('%I.%I', v_spec ->> 'schema', n.table_name))
              AND k.indisvalid
              AND k.indisready
              AND k.indpred IS NULL
              AND cardinality(n.led_by) BETWEEN 1 AND coalesce(l.place - 1, k.indnkeyatts)
              AND n.led_by = ARRAY(
                  SELECT a.attname::text
                  FROM unnest(k.indkey::int2[]) WITH ORDINALITY AS p(number, place)
                  JOIN pg_attribute AS a ON a.attrelid = k.indrelid AND a.attnum = p.number
                  WHERE p.place <= cardinality(n.led_by)
                  ORDER BY p.place
              )
            ORDER BY c.relname
            LIMIT 1
        ) AS o ON true
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
        FROM jsonb_to_recordset(v_spec -> 'guards') AS n(table_name text, trigger_name text, function_name text, columns text)
        LEFT JOIN LATERAL (
            -- After INSERT or UPDATE, for each row, whatever is in it.
            SELECT
                g.tgenabled,
                p.pronamespace = current_schema()::regnamespace AND p.proname = n.function_name AND g.tgtype = 21 AND g.tgqual IS NULL
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
        UNION ALL
        -- Code of the application, for which nobody can account but by its name. One of a part, at any depth, fires for rows of the whole
        -- table; a row that is set may move to another part.
        SELECT
            5, 'trigger', k.name, 'notice', 1,
            format('the trigger %s fires %s, and the spec does not accept it: read it, then list it there under triggers', g.tgname,
                CASE
                    WHEN bool_or(k.goes AND g.tgtype & 9 = 9) THEN 'for each deleted row'
                    WHEN bool_or(k.goes AND g.tgtype & 8 = 8) THEN 'for each statement that deletes rows'
                    ELSE 'when windrow sets a column'
                END)
        FROM covered AS k
        JOIN pg_trigger AS g ON g.tgrelid = k.table_id AND NOT g.tgisinternal AND g.tgenabled IN ('O', 'A')
        JOIN pg_proc AS p ON p.oid = g.tgfoid AND p.pronamespace <> current_schema()::regnamespace
        WHERE (k.is_whole OR g.tgtype & 1 = 1)
          AND (
              k.goes AND g.tgtype & 8 = 8
              OR k.sets <> '{}' AND g.tgtype & 16 = 16 AND (
                  cardinality(g.tgattr::int2[]) = 0
                  OR EXISTS (
                      SELECT FROM pg_attribute AS a
                      WHERE a.attrelid = g.tgrelid AND a.attnum = ANY (g.tgattr::int2[]) AND a.attname = ANY (k.sets)
                  )
              )
              OR k.sets <> '{}' AND g.tgtype & 1 = 1 AND g.tgtype & 12 <> 0 AND EXISTS (
                  SELECT
                  FROM pg_partition_tree(pg_partition_root(k.table_id)) AS t
                  JOIN pg_attribute AS a ON a.attrelid = t.relid AND a.attname = ANY (k.sets)
                  JOIN pg_depend AS d ON d.objid = t.relid AND d.objsubid = a.attnum AND d.refobjid = t.relid AND d.refobjsubid = 0
                  WHERE d.classid = 'pg_class'::regclass
                    AND d.refclassid = 'pg_class'::regclass
                    AND d.deptype = 'i'
              )
          )
          AND NOT coalesce(v_spec -> 'tables' -> k.name -> 'triggers' ? g.tgname::text, false)
        GROUP BY k.name, g.tgname
        UNION ALL
        SELECT
            5, 'reference', s.object, 'violation', 1,
            format('%s: %s', s.detail, CASE
                WHEN NOT s.acts THEN 'no family that it names can be deleted'
                WHEN s.detail LIKE 'compares %' THEN 'rows could be taken for those of others, or for missing; runs refuse'
                WHEN s.detail LIKE 'references %' THEN 'its rows would be deleted or changed with it; runs refuse'
                ELSE 'runs refuse'
            END)
        FROM strangers() AS s
        UNION ALL
        SELECT 5, 'table', t.name, 'violation', 1, format('missing in schema %s: runs refuse', s.schema_name)
        FROM known_table AS t
        CROSS JOIN spec AS s
        WHERE to_regclass(format('%I.%I', s.schema_name, t.name)) IS NULL
        UNION ALL
        -- Without one the server refuses each DELETE and UPDATE that would be published. A publication may name the whole table of a
        -- partition.
        SELECT 5, 'table', c.relname::text, 'violation', 1, format(
            'publication %s publishes what a rule does to it, and it has no replica identity: no row can be deleted or set; '
            'ALTER TABLE ... REPLICA IDENTITY names one', min(u.pubname)
        )
        FROM covered AS k
        JOIN pg_class AS c ON c.oid = k.table_id AND c.relkind = 'r'
        CROSS JOIN LATERAL (SELECT c.oid UNION SELECT a.relid FROM pg_partition_ancestors(c.oid) AS a) AS w
        JOIN pg_class AS x ON x.oid = w.oid
        JOIN pg_namespace AS n ON n.oid = x.relnamespace
        JOIN pg_publication_tables AS t ON t.schemaname = n.nspname AND t.tablename = x.relname
        JOIN pg_publication AS u ON u.pubname = t.pubname AND (k.goes AND u.pubdelete OR k.sets <> '{}' AND u.pubupdate)
        WHERE c.relreplident <> 'f'
          AND NOT EXISTS (
              SELECT
              FROM pg_index AS i
              WHERE i.indrelid = c.oid
                AND i.indisvalid
                AND i.indimmediate
                AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident END
          )
        GROUP BY c.oid, c.relname
        UNION ALL
        SELECT 5, 'catalog', c.spec, 'violation', 1, unaccounted() || '; runs refuse'
        FROM control AS c
        WHERE unaccounted() ~ '^(catalog changed|an installation is not finished|the collation )'
        UNION ALL
        SELECT 6, 'policy', p.rule || ' ' || p.scope, 'violation', 1,
            format('its retention of %s s is below the minimum of %s s', p.retention_seconds, m.minimum)
        FROM policy AS p
        JOIN rule AS m ON m.rule = p.rule AND p.retention_seconds < m.minimum
        UNION ALL
        SELECT 6, 'policy', p.rule || ' ' || p.scope, 'notice', 1,
            'it follows the default retention of the spec, which has none: everything of the scope is kept'
        FROM policy AS p
        JOIN rule AS m ON m.rule = p.rule AND m.scope_name IS NOT NULL AND m.retention IS NULL
        WHERE p.enabled
          AND p.retention_seconds IS NULL
        UNION ALL
        SELECT 7, 'ledger', format('run %s %s', r.run_id, r.rule), 'violation', r.deleted_rows,
            format('its tables sum up to %s rows', s.deleted_rows)
        FROM run_rule AS r
        CROSS JOIN LATERAL (SELECT sum(t.deleted_rows) AS deleted_rows FROM run_table AS t WHERE t.run_id = r.run_id
            AND t.rule = r.rule) AS s
        WHERE s.deleted_rows <> r.deleted_rows
        UNION ALL
        SELECT 8, 'run', 'run ' || r.run_id, 'notice', 1, format('%s: %s', r.status, r.reason)
        FROM run AS r
        WHERE r.run_id = (SELECT max(l.run_id) FROM run AS l)
          AND r.status NOT IN ('done', 'running')
        UNION ALL
        SELECT 9, 'armed', c.spec, CASE WHEN a.reason IS NOT NULL THEN 'notice' WHEN u.unseen THEN 'violation' WHEN u.alone THEN 'notice'
            ELSE 'ok' END, 1,
            CASE
                WHEN a.reason IS NOT NULL THEN a.reason || '; runs refuse'
                WHEN u.unseen THEN format('runs will refuse once this server has restarted, since no standby is seen without the right: '
                    'GRANT pg_monitor TO %I', current_user)
                WHEN u.alone THEN 'no standby follows this server: once it has restarted, runs refuse until one does or somebody arms it '
                    'again'
                ELSE format('armed by %s', c.armed_by)
            END
        FROM control AS c
        CROSS JOIN not_armed() AS a(reason)
        CROSS JOIN LATERAL (
            SELECT
                c.server_identity LIKE 'cluster %' AND NOT pg_has_role('pg_read_all_stats', 'USAGE') AS unseen,
                c.server_identity LIKE 'cluster %' AND NOT pg_is_in_recovery() AND NOT EXISTS (
                    SELECT FROM pg_stat_replication AS w
                    WHERE w.replay_lsn IS NOT NULL
                      AND NOT EXISTS (SELECT FROM pg_replication_slots AS l WHERE l.slot_type = 'logical' AND l.active_pid = w.pid)
                ) AS alone
        ) AS u
        UNION ALL
        SELECT 10, 'paused', c.spec, 'notice', 1, why_paused(c.paused_by, c.paused_at, c.paused_reason)
        FROM control AS c
        WHERE c.paused
        UNION ALL
        SELECT 10, 'paused', p.rule, 'notice', 1, rule_paused(p.rule)
        FROM rule_pause AS p
        UNION ALL
        SELECT 10, 'orphaned', concat_ws(' ', o.kind, 'of rule', o.rule), 'violation', o.count::integer,
            format('%s%s; it has no effect, and windrow cannot be armed', o.names || ': ', o.why)
        FROM orphaned_told() AS o
        UNION ALL
        SELECT 10, 'refused', f.server, 'notice', 1,
            concat_ws('; ', format('no scheduled run since %s: %s', to_char(f.since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                f.reason), replace(f.detail, chr(10), '; '))
        FROM refusal AS f
        UNION ALL
        SELECT 10, 'suspended', c.spec, 'violation', s.failed_runs,
            format('no scheduled run starts after so many failed ones, until one by hand succeeds or arm(); the last one: %s', s.last_error)
        FROM scheduling AS s
        CROSS JOIN control AS c
        WHERE s.suspended
        UNION ALL
        SELECT 13, 'windows', string_agg(h.written, ', ' ORDER BY h.position), CASE WHEN bool_and(h.days = '') THEN 'notice' WHEN v_starts
            THEN 'ok' ELSE 'violation' END, 1,
            CASE
                WHEN bool_and(h.days = '') THEN 'no scheduled run will ever start'
                WHEN NOT v_starts THEN format('no start of the schedule (%s, in %s) falls in one: no scheduled run will ever start',
                    v_spec ->> 'schedule', v_zone)
                WHEN in_window(clock_timestamp()) THEN 'open now'
                ELSE 'closed now'
            END
        FROM open_hours AS h
    )
    SELECT
        json_agg(json_build_object('check', k.check_name, 'object', k.object, 'severity', k.severity, 'count', k.count, 'detail',
            k.detail) ORDER BY k.position, k.object),
        bool_and(k.severity <> 'violation')
    INTO v_checks, v_clean
    FROM checks AS k;
    RETURN json_build_object('clean', v_clean, 'checks', v_checks);
END
$windrow$;
--# comment on function verify
COMMENT ON FUNCTION verify(jsonb) IS
    'Orphans, what is due or kept and why, drift of routines, indexes, policies below the minimum, ledger arithmetic, as one JSON '
    'document. Reads whole tables. Example: SELECT verify();';

-- What matches no rule has no effect. Where the installation took it, it has disarmed before.
--# tell of what has no effect
DO $windrow$
DECLARE
    v_orphan record;
BEGIN
    FOR v_orphan IN SELECT o.* FROM orphaned AS o ORDER BY o.kind, o.rule LOOP
        RAISE WARNING '%', concat_ws(': ', format('%s of rule %s has no effect', v_orphan.kind, v_orphan.rule), v_orphan.why,
            v_orphan.names)
            USING HINT = 'Set it for the rule that it is meant for, if it is still needed, and release or drop this one: until then '
                'windrow cannot be armed.';
    END LOOP;
END
$windrow$;
