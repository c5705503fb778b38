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
    -- What runs of an earlier state of the spec archived can still be restored.
    SELECT 'unarchived_action_check'
)
SELECT f.object, f.problem, f.remedy
FROM (
    SELECT
        1 AS position,
        pg_catalog.format('routine %s', p.oid::pg_catalog.regprocedure) AS object,
        pg_catalog.format('may be %s by %s', CASE WHEN a.is_grantable THEN 'called, and granted to others,' ELSE 'called' END,
            CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END) AS problem,
        pg_catalog.format('REVOKE ALL ON ROUTINE %s FROM %s CASCADE', p.oid::pg_catalog.regprocedure, CASE a.grantee WHEN 0 THEN 'PUBLIC'
            ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END) AS remedy
    FROM who AS w
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.control
    JOIN pg_catalog.pg_proc AS p ON p.pronamespace = n.oid
    CROSS JOIN LATERAL pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) AS a
    WHERE a.grantee <> p.proowner
      AND (
          a.is_grantable
          OR NOT EXISTS (SELECT FROM callable AS g WHERE g.routine = p.proname AND g.role = pg_catalog.pg_get_userbyid(a.grantee))
      )
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
    UNION ALL
    -- What changes which rows of the ledger are seen, or whether they outlive a crash.
    SELECT
        7,
        pg_catalog.format('table %s', c.oid::pg_catalog.regclass),
        t.problem,
        pg_catalog.format('ALTER TABLE %s %s', c.oid::pg_catalog.regclass, t.remedy)
    FROM who AS w
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.control
    JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p')
    CROSS JOIN LATERAL (
        SELECT 'is not logged, and would be empty after a crash', 'SET LOGGED'
        WHERE c.relpersistence <> 'p'
        UNION ALL
        SELECT 'has row security', 'DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY'
        WHERE c.relrowsecurity
        UNION ALL
        SELECT pg_catalog.format('has the rows of %s for its own', i.inhrelid::pg_catalog.regclass),
            pg_catalog.format('is named first: ALTER TABLE %s NO INHERIT it', i.inhrelid::pg_catalog.regclass)
        FROM pg_catalog.pg_inherits AS i
        WHERE i.inhparent = c.oid
    ) AS t(problem, remedy)
    UNION ALL
    SELECT
        8,
        pg_catalog.format('trigger %s on table setting', k.name),
        CASE WHEN g.oid IS NULL THEN 'is missing' ELSE 'is disabled' END,
        'run windrow install'
    FROM who AS w
    CROSS JOIN (VALUES ('check_setting'), ('log_setting'), ('log_truncation')) AS k(name)
    LEFT JOIN (
        pg_catalog.pg_trigger AS g
        JOIN pg_catalog.pg_class AS c ON c.oid = g.tgrelid AND c.relname = 'setting'
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    ) ON g.tgname = k.name AND n.nspname = w.control
    WHERE g.oid IS NULL
       OR g.tgenabled NOT IN ('O', 'A')
    UNION ALL
    -- Operators and auditors have no right of the application's, neither themselves nor by a role that they are members of.
    SELECT
        10,
        pg_catalog.format('role %I', m.rolname),
        pg_catalog.format('is a member of %s', pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(r.rolname), ', ')),
        pg_catalog.format('REVOKE %s FROM %I', pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(r.rolname), ', '), m.rolname)
    FROM who AS w
    CROSS JOIN pg_catalog.pg_auth_members AS a
    JOIN pg_catalog.pg_roles AS r ON r.oid = a.roleid
    JOIN pg_catalog.pg_roles AS m ON m.oid = a.member
    WHERE m.rolname IN (w.operator, w.auditor)
      AND r.rolname NOT IN ('pg_monitor', 'pg_read_all_stats', 'pg_read_all_settings')
      AND NOT (m.rolname = w.operator AND r.rolname = w.auditor)
    GROUP BY m.rolname
    UNION ALL
    SELECT
        11,
        pg_catalog.format('table %I.%I', n.nspname, c.relname),
        pg_catalog.format('%s by %I', pg_catalog.string_agg(DISTINCT e.privilege_type, ', '), r.rolname),
        pg_catalog.format('REVOKE ALL ON %I.%I FROM %I', n.nspname, c.relname, r.rolname)
    FROM who AS w
    JOIN pg_catalog.pg_roles AS r ON r.rolname IN (w.operator, w.auditor, w.login)
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.schema
    JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = ANY (w.tables)
    LEFT JOIN pg_catalog.pg_attribute AS t ON t.attrelid = c.oid AND t.attacl IS NOT NULL AND NOT t.attisdropped
    CROSS JOIN LATERAL (
        SELECT x.grantee, x.privilege_type FROM pg_catalog.aclexplode(c.relacl) AS x
        UNION ALL
        SELECT x.grantee, x.privilege_type FROM pg_catalog.aclexplode(t.attacl) AS x
    ) AS e
    WHERE e.grantee = r.oid
    GROUP BY n.nspname, c.relname, r.rolname
    UNION ALL
    SELECT
        11,
        pg_catalog.format('role %I', r.rolname),
        pg_catalog.format('CREATE on database %I', b.datname),
        pg_catalog.format('REVOKE CREATE ON DATABASE %I FROM %I', b.datname, r.rolname)
    FROM who AS w
    JOIN pg_catalog.pg_roles AS r ON r.rolname IN (w.operator, w.auditor, w.login)
    JOIN pg_catalog.pg_database AS b ON b.datname = pg_catalog.current_database()
    WHERE EXISTS (
        SELECT FROM pg_catalog.aclexplode(b.datacl) AS a WHERE a.grantee = r.oid AND a.privilege_type = 'CREATE'
    )
    UNION ALL
    -- What somebody makes later would be open to these roles.
    SELECT
        11,
        pg_catalog.format('role %I', r.rolname),
        pg_catalog.format('%s on what is made later, by default privileges of %I', pg_catalog.string_agg(DISTINCT a.privilege_type, ', '),
            o.rolname),
        pg_catalog.format('ALTER DEFAULT PRIVILEGES FOR ROLE %I%s REVOKE ALL ON %s FROM %I', o.rolname,
            ' IN SCHEMA ' || pg_catalog.quote_ident(h.nspname), CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES'
            WHEN 'f' THEN 'ROUTINES' WHEN 'T' THEN 'TYPES' ELSE 'SCHEMAS' END, r.rolname)
    FROM who AS w
    JOIN pg_catalog.pg_roles AS r ON r.rolname IN (w.owner, w.operator, w.auditor, w.login)
    CROSS JOIN pg_catalog.pg_default_acl AS d
    JOIN pg_catalog.pg_roles AS o ON o.oid = d.defaclrole
    LEFT JOIN pg_catalog.pg_namespace AS h ON h.oid = d.defaclnamespace
    CROSS JOIN LATERAL pg_catalog.aclexplode(d.defaclacl) AS a
    WHERE a.grantee = r.oid
      AND o.rolname <> w.owner
    GROUP BY r.rolname, o.rolname, h.nspname, d.defaclobjtype
    UNION ALL
    -- The owner role has what the last installation gave it. What SQL of the spec's own reads (wait_while_sql, where_sql), nobody
    -- else knows.
    SELECT
        12,
        pg_catalog.format('role %I', w.owner),
        pg_catalog.format(CASE WHEN d.given IS NULL THEN 'may besides what the spec needs: %s' ELSE 'may no longer: %s' END,
            coalesce(d.has, d.given)),
        CASE WHEN d.grantor IS NULL THEN 'run windrow install'
            ELSE pg_catalog.format('run windrow install, as a superuser where %s may not: it was given by %I',
                pg_catalog.array_to_string(w.installers, ', '), pg_catalog.pg_get_userbyid(d.grantor)) END
    FROM who AS w
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.control
    CROSS JOIN LATERAL (
        SELECT
            (SELECT pg_catalog.obj_description(c.oid, 'pg_class') FROM pg_catalog.pg_class AS c WHERE c.relnamespace = n.oid
                AND c.relname = 'known_table') AS says,
            EXISTS (
                SELECT FROM pg_catalog.pg_proc AS p
                WHERE p.pronamespace = n.oid
                  AND (p.proname LIKE '%_wait_while' OR p.prosrc LIKE '%-- where_sql of the spec%')
            ) AS reads_more
    ) AS s
    CROSS JOIN LATERAL (
        SELECT pg_catalog.substring(s.says, '[[]rights (.*)[]]$')::pg_catalog.jsonb AS rights
    ) AS g
    CROSS JOIN LATERAL (
        SELECT k.told AS given, h.told AS has, h.reads, h.grantor
        FROM pg_catalog.jsonb_array_elements_text(g.rights) AS k(told)
        FULL JOIN (
            --+ held.sql
        ) AS h ON h.told = k.told
    ) AS d
    WHERE g.rights IS NOT NULL
      AND (d.has IS NULL OR d.given IS NULL)
      AND NOT (s.reads_more AND d.given IS NULL AND d.reads)
) AS f
ORDER BY f.position, f.object, f.problem
