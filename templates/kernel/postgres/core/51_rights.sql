-- known_shape: what the tables and views of the control schema are, as the last installation left them: verify() and windrow diff
-- tell when something of it is another later.
--# create table known_shape
CREATE TABLE IF NOT EXISTS known_shape (
    name  text    NOT NULL PRIMARY KEY,
    says  text    NOT NULL,
    lasts boolean NOT NULL,
    made  text    NOT NULL
);
--# comment on table known_shape
COMMENT ON TABLE known_shape IS
    'The primary keys, columns, checks and views of the control schema. lasts: an installation does not recreate it; made: the hash '
    'of the tables as generated. Written by an installation.';

-- Nobody else may call anything, whatever an earlier version allowed. The rows of an archive are the application's: grant access
-- by hand to those who may read them.
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
        -- Rights that others have on it, and those they have granted further. The owner decides who may read the ledger.
        SELECT format('REVOKE %s FROM %s CASCADE', o.told, CASE o.grantee WHEN 0 THEN 'PUBLIC' ELSE o.grantee::regrole::text END)
        FROM who AS w
        CROSS JOIN LATERAL (
            SELECT DISTINCT format('ALL ON ROUTINE %s', p.oid::regprocedure) AS told, a.grantee
            FROM pg_proc AS p
            CROSS JOIN LATERAL aclexplode(p.proacl) AS a
            WHERE p.pronamespace = current_schema()::regnamespace
              AND a.grantee NOT IN (p.proowner, quote_ident(w.auditor)::regrole, quote_ident(w.operator)::regrole)
            UNION ALL
            SELECT DISTINCT format('%s ON %s', a.privilege_type, c.oid::regclass), a.grantee
            FROM pg_class AS c
            LEFT JOIN pg_attribute AS t ON t.attrelid = c.oid AND t.attacl IS NOT NULL AND NOT t.attisdropped
            CROSS JOIN LATERAL (
                SELECT x.grantee, x.privilege_type FROM aclexplode(c.relacl) AS x
                UNION ALL
                SELECT x.grantee, x.privilege_type FROM aclexplode(t.attacl) AS x
            ) AS a
            WHERE c.relnamespace = current_schema()::regnamespace
              AND c.relkind IN ('r', 'p', 'v')
              AND a.grantee <> c.relowner
              AND (a.privilege_type <> 'SELECT' OR a.grantee = 0)
        ) AS o
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
-- What exists now was made by the installation.
--# note what the tables and views are
DO $windrow$
DECLARE
    v_made constant text := (SELECT s.document ->> 'ledger' FROM spec AS s);
BEGIN
    PERFORM set_config('quote_all_identifiers', 'off', true);
    -- What is not recreated remains recorded as it was made: nothing that was changed by hand is taken for windrow's own.
    DELETE FROM known_shape AS k
    WHERE NOT k.lasts
       OR k.made <> v_made;
    INSERT INTO known_shape (name, says, lasts, made)
    WITH who AS (
        SELECT i.* FROM installation AS i
    )
    SELECT s.name, s.says, s.lasts, v_made
    FROM (
        --+ shapes.sql
    ) AS s
    ON CONFLICT (name) DO NOTHING;
END
$windrow$;
-- What the owner role may do outside of it.
--# note the rights of the owner
DO $windrow$
BEGIN
    PERFORM set_config('quote_all_identifiers', 'off', true);
    EXECUTE format('COMMENT ON TABLE known_table IS %L', (
        SELECT concat_ws(' ', regexp_replace(obj_description('known_table'::regclass, 'pg_class'), ' ?[[]rights .*[]]$', ''),
            format('[rights %s]', coalesce(jsonb_agg(h.told ORDER BY h.told COLLATE "C"), '[]')))
        FROM (
            SELECT DISTINCT h.told
            FROM held_right AS h
            -- What others have granted, and the installing account cannot revoke, is not windrow's doing.
            WHERE h.grantor = quote_ident(session_user)::regrole
               OR (h.grantor = h.owner AND pg_has_role(session_user, h.owner, 'USAGE'))
        ) AS h
    ));
END
$windrow$;

-- An installation that was armed by an earlier version's checks remains armed.
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
-- An installation on an armed server accepts the tables of the spec as they are now.
--# note the catalog
INSERT INTO catalog_state AS s (run_id, state)
SELECT 0, catalog_now()
FROM control AS c
WHERE not_armed() IS NULL
ON CONFLICT (run_id) DO UPDATE
SET state = excluded.state,
    taken_at = excluded.taken_at
WHERE s.state <> excluded.state;

-- What acts is judged by the spec that is installed now.
--# note that nothing acts
SELECT note_clean(catalog_now());

-- The tables of the registry are too small for autovacuum to look at them. Without statistics the server assumes large tables,
-- and reads the whole catalog when it needs one table.
--# look at the registry
ANALYZE spec, rule, rule_limit, known_table, known_key, known_edge, known_routine;
