WITH
--+ callable.sql
, constraints (name) AS (
    VALUES
        ('control_only_row_check'),
        ('run_window_days_check'),
        ('run_trigger_check'),
        ('run_status_check'),
        ('run_skip_reason_check')
    UNION ALL
    SELECT pg_catalog.concat('policy_', r.rule)
    FROM who AS w
    CROSS JOIN LATERAL pg_catalog.unnest(w.rules) AS r(rule)
    UNION ALL
    SELECT 'unarchived_action_check'
    FROM who AS w
    WHERE w.archives
)
SELECT f.object, f.problem, f.remedy
FROM (
    SELECT
        1 AS position,
        pg_catalog.format('routine %s', p.oid::pg_catalog.regprocedure) AS object,
        pg_catalog.format('may be called by %s', CASE a.grantee WHEN 0 THEN 'PUBLIC'
            ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END) AS problem,
        pg_catalog.format('REVOKE ALL ON ROUTINE %s FROM %s', p.oid::pg_catalog.regprocedure, CASE a.grantee WHEN 0 THEN 'PUBLIC'
            ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END) AS remedy
    FROM who AS w
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.control
    JOIN pg_catalog.pg_proc AS p ON p.pronamespace = n.oid
    CROSS JOIN LATERAL pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) AS a
    WHERE a.grantee <> p.proowner
      AND NOT EXISTS (SELECT FROM callable AS g WHERE g.routine = p.proname AND g.role = pg_catalog.pg_get_userbyid(a.grantee))
    UNION ALL
    SELECT
        2,
        pg_catalog.format('routine %s', p.oid::pg_catalog.regprocedure),
        pg_catalog.format('may not be called by %I', g.role),
        'run windrow install'
    FROM who AS w
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.control
    JOIN pg_catalog.pg_proc AS p ON p.pronamespace = n.oid
    JOIN callable AS g ON g.routine = p.proname
    WHERE NOT EXISTS (
        SELECT FROM pg_catalog.aclexplode(p.proacl) AS a
        WHERE pg_catalog.pg_get_userbyid(a.grantee) = g.role
    )
    UNION ALL
    -- Who may read the ledger is for its owner to say; who writes to it says what is true.
    SELECT
        3,
        pg_catalog.format('table %s', a.class),
        pg_catalog.format('%s by %s', a.does, CASE a.grantee WHEN 0 THEN 'PUBLIC'
            ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END),
        pg_catalog.format('REVOKE ALL ON %s FROM %s', a.class, CASE a.grantee WHEN 0 THEN 'PUBLIC'
            ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END)
    FROM (
        SELECT c.oid::pg_catalog.regclass AS class, e.grantee,
            pg_catalog.concat('may be written to: ', pg_catalog.string_agg(DISTINCT e.privilege_type, ', ')) AS does
        FROM who AS w
        JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.control
        JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid
        LEFT JOIN pg_catalog.pg_attribute AS t ON t.attrelid = c.oid AND t.attacl IS NOT NULL AND NOT t.attisdropped
        CROSS JOIN LATERAL (
            SELECT x.grantee, x.privilege_type FROM pg_catalog.aclexplode(c.relacl) AS x
            UNION ALL
            SELECT x.grantee, x.privilege_type FROM pg_catalog.aclexplode(t.attacl) AS x
        ) AS e
        WHERE e.grantee <> c.relowner
          AND e.privilege_type NOT IN ('SELECT', 'USAGE')
        GROUP BY c.oid, e.grantee
        UNION ALL
        SELECT c.oid::pg_catalog.regclass, x.grantee, 'may be read'
        FROM who AS w
        JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.control
        JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid
        CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) AS x
        WHERE x.grantee = 0
          AND x.privilege_type = 'SELECT'
    ) AS a
    UNION ALL
    -- The last installation noted what each check said.
    SELECT
        4,
        pg_catalog.format('constraint %I', s.name),
        CASE
            WHEN k.oid IS NULL THEN 'is missing'
            WHEN NOT k.convalidated THEN 'is not validated'
            ELSE 'is another than the installation made'
        END,
        'run windrow install'
    FROM who AS w
    CROSS JOIN constraints AS s
    LEFT JOIN (
        pg_catalog.pg_constraint AS k
        JOIN pg_catalog.pg_namespace AS n ON n.oid = k.connamespace
    ) ON k.conname = s.name AND k.contype = 'c' AND n.nspname = w.control
    WHERE k.oid IS NULL
       OR NOT k.convalidated
       OR pg_catalog.obj_description(k.oid, 'pg_constraint') NOT LIKE pg_catalog.concat('%[check ',
           pg_catalog.left(pg_catalog.md5(pg_catalog.pg_get_constraintdef(k.oid)), 12), ']')
       OR pg_catalog.obj_description(k.oid, 'pg_constraint') IS NULL
    UNION ALL
    SELECT
        5,
        pg_catalog.format('table %s', c.oid::pg_catalog.regclass),
        'has no primary key any more',
        'make it again, as the CREATE TABLE of the generated files has it'
    FROM who AS w
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.control
    JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relkind = 'r'
    WHERE c.relname NOT IN ('latch', 'known_key', 'known_edge')
      AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint AS k WHERE k.conrelid = c.oid AND k.contype = 'p')
    UNION ALL
    SELECT
        6,
        pg_catalog.format('constraint %I on table %s', k.conname, k.conrelid::pg_catalog.regclass),
        'is none of windrow''s',
        pg_catalog.format('ALTER TABLE %s DROP CONSTRAINT %I', k.conrelid::pg_catalog.regclass, k.conname)
    FROM who AS w
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.control
    JOIN pg_catalog.pg_constraint AS k ON k.connamespace = n.oid
    WHERE k.conrelid <> 0
      AND k.contype IN ('c', 'f', 'x', 't')
      AND NOT EXISTS (SELECT FROM constraints AS s WHERE s.name = k.conname)
) AS f
ORDER BY f.position, f.object, f.problem
