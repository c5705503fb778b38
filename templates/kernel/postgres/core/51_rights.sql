-- Nobody else may call anything, whatever an earlier version allowed. The rows of an archive are the application's: grant them by
-- hand to who may read these.
--# grant the rights
DO $windrow$
DECLARE
    v_right text;
BEGIN
    FOR v_right IN
        WITH who AS (
            SELECT i.* FROM installation AS i
        ),
        --+ callable.sql
        SELECT format('REVOKE ALL ON ALL ROUTINES IN SCHEMA %I FROM PUBLIC, %I, %I CASCADE', w.control, w.auditor, w.operator)
        FROM who AS w
        UNION ALL
        SELECT format('GRANT USAGE ON SCHEMA %I TO %I', w.control, w.auditor)
        FROM who AS w
        UNION ALL
        SELECT format('%s ON %s %s %I', CASE WHEN a.archived THEN 'REVOKE SELECT' ELSE 'GRANT SELECT' END, c.oid::regclass, CASE
            WHEN a.archived THEN 'FROM' ELSE 'TO' END, w.auditor)
        FROM who AS w
        JOIN pg_class AS c ON c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'v')
        CROSS JOIN LATERAL (
            SELECT EXISTS (SELECT FROM pg_attribute AS t WHERE t.attrelid = c.oid AND t.attname = 'windrow_run_id')
        ) AS a(archived)
        UNION ALL
        SELECT format('GRANT EXECUTE ON ROUTINE %s TO %I', p.oid::regprocedure, g.role)
        FROM callable AS g
        JOIN pg_proc AS p ON p.proname = g.routine AND p.pronamespace = current_schema()::regnamespace
    LOOP
        EXECUTE v_right;
    END LOOP;
END
$windrow$;
-- What the checks and views of the ledger say now, and what the owner role may do outside of it: verify() and windrow diff tell
-- when something of it is another later.
--# note the constraints
DO $windrow$
DECLARE
    v_check record;
BEGIN
    PERFORM set_config('quote_all_identifiers', 'off', true);
    FOR v_check IN
        SELECT
            c.oid::regclass AS class,
            concat_ws(' ', regexp_replace(obj_description(c.oid, 'pg_class'), ' ?[[]view [0-9a-f]+[]]$', ''),
                format('[view %s]', left(md5(replace(pg_get_viewdef(c.oid), concat(quote_ident(current_schema()), '.'), '')), 12))) AS says
        FROM pg_class AS c
        WHERE c.relnamespace = current_schema()::regnamespace
          AND c.relkind = 'v'
    LOOP
        EXECUTE format('COMMENT ON VIEW %s IS %L', v_check.class, v_check.says);
    END LOOP;
    EXECUTE format('COMMENT ON TABLE known_table IS %L', (
        SELECT concat_ws(' ', regexp_replace(obj_description('known_table'::regclass, 'pg_class'), ' ?[[]rights .*[]]$', ''),
            format('[rights %s]', coalesce(jsonb_agg(h.told ORDER BY h.told COLLATE "C"), '[]')))
        FROM installation AS w
        CROSS JOIN LATERAL (
            --+ held.sql
        ) AS h
    ));
    FOR v_check IN
        SELECT
            k.conname,
            k.conrelid::regclass AS class,
            concat_ws(' ', regexp_replace(obj_description(k.oid, 'pg_constraint'), ' ?[[]check [0-9a-f]+[]]$', ''),
                format('[check %s]', left(md5(pg_get_constraintdef(k.oid)), 12))) AS says
        FROM pg_constraint AS k
        WHERE k.connamespace = current_schema()::regnamespace
          AND k.contype = 'c'
          AND k.conrelid <> 0
    LOOP
        EXECUTE format('COMMENT ON CONSTRAINT %I ON %s IS %L', v_check.conname, v_check.class, v_check.says);
    END LOOP;
END
$windrow$;

-- Who was armed by what an earlier version looked at stays so.
--# update table control
UPDATE control AS c
SET server_identity = server_identity()
WHERE c.server_identity = (
    SELECT format('%s/%s/%s/%s/%s', s.system_identifier, greatest(k.timeline_id, r.min_recovery_end_timeline), current_setting('port'),
        d.oid, d.datname)
    FROM pg_control_system() AS s
    CROSS JOIN pg_control_checkpoint() AS k
    CROSS JOIN pg_control_recovery() AS r
    CROSS JOIN pg_database AS d
    WHERE d.datname = current_database()
);
-- Who installs on a server that is armed takes the tables of the spec as they are now.
--# note the catalog
INSERT INTO catalog_state AS s (run_id, state)
SELECT 0, catalog_now()
FROM control AS c
WHERE c.armed
  AND c.server_identity = server_identity()
ON CONFLICT (run_id) DO UPDATE
SET state = excluded.state,
    taken_at = excluded.taken_at
WHERE s.state <> excluded.state;

-- The tables of the registry are too small for autovacuum to look at them. Without statistics the server takes them for large
-- ones, and reads the catalog whole where it asks for one table.
--# look at the registry
ANALYZE spec, rule, rule_limit, known_table, known_key, known_edge, known_routine;
