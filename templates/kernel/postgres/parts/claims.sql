SELECT f.object, f.problem, f.remedy
FROM (
    -- The roles hold rights and do nothing else.
    SELECT
        1 AS position,
        pg_catalog.format('role %I', r.rolname) AS object,
        pg_catalog.concat('may ', pg_catalog.concat_ws(
            ', ',
            CASE WHEN r.rolcanlogin AND r.rolname = w.owner THEN 'log in' END,
            CASE WHEN r.rolsuper THEN 'do everything' END,
            CASE WHEN r.rolcreaterole THEN 'create roles' END,
            CASE WHEN r.rolcreatedb THEN 'create databases' END,
            CASE WHEN r.rolreplication THEN 'replicate' END,
            CASE WHEN r.rolbypassrls THEN 'bypass row security' END
        )) AS problem,
        pg_catalog.format('ALTER ROLE %I %sNOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS', r.rolname, CASE
            WHEN r.rolname = w.owner THEN 'NOLOGIN ' END) AS remedy
    FROM who AS w
    JOIN pg_catalog.pg_roles AS r ON r.rolname IN (w.owner, w.operator, w.auditor, w.login)
    WHERE (r.rolcanlogin AND r.rolname = w.owner OR r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolbypassrls)
    UNION ALL
    -- A member of the owner role may do what it may. Who installs is one, and who owns all the tables gains nothing by it.
    SELECT
        2,
        pg_catalog.format('role %I', r.rolname),
        pg_catalog.format('is granted to %s, who may then act as the owner',
            pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(m.rolname), ', ')),
        pg_catalog.format('REVOKE %I FROM %s', r.rolname, pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(m.rolname), ', '))
    FROM who AS w
    CROSS JOIN pg_catalog.pg_auth_members AS a
    JOIN pg_catalog.pg_roles AS r ON r.oid = a.roleid
    JOIN pg_catalog.pg_roles AS m ON m.oid = a.member
    WHERE r.rolname = w.owner
      AND NOT m.rolsuper
      AND m.rolname <> ALL (w.installers)
      AND NOT coalesce((
          SELECT pg_catalog.bool_and(pg_catalog.pg_has_role(m.oid, t.relowner, 'MEMBER'))
          FROM pg_catalog.pg_class AS t
          WHERE t.relnamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident(w.schema))
            AND t.relname = ANY (w.tables)
      ), false)
      -- Roles belong to the whole server: who owns another database of it with windrow is named by a warning and verify().
      AND NOT EXISTS (
          SELECT FROM pg_catalog.pg_database AS b
          JOIN pg_catalog.pg_shdepend AS e ON e.dbid = b.oid AND e.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass
              AND e.refobjid = r.oid
          WHERE b.datdba = m.oid
            AND b.datname <> pg_catalog.current_database()
      )
    GROUP BY r.rolname
    UNION ALL
    -- Who has the login of the schedule may start runs and change its jobs. An operator may start them anyway.
    SELECT
        2,
        pg_catalog.format('role %I', r.rolname),
        pg_catalog.format('is granted to %s, who is no operator',
            pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(m.rolname), ', ')),
        pg_catalog.format('REVOKE %I FROM %s', r.rolname, pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(m.rolname), ', '))
    FROM who AS w
    CROSS JOIN pg_catalog.pg_auth_members AS a
    JOIN pg_catalog.pg_roles AS r ON r.oid = a.roleid
    JOIN pg_catalog.pg_roles AS m ON m.oid = a.member
    WHERE r.rolname = w.login
      AND NOT m.rolsuper
      AND m.rolname <> ALL (w.installers)
      AND NOT EXISTS (
          SELECT FROM pg_catalog.pg_auth_members AS b
          JOIN pg_catalog.pg_roles AS o ON o.oid = b.roleid
          WHERE b.member = m.oid
            AND o.rolname IN (w.operator, w.owner)
      )
    GROUP BY r.rolname
    UNION ALL
    SELECT
        3,
        pg_catalog.format('role %I', m.rolname),
        pg_catalog.format('is a member of %s', pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(r.rolname), ', ')),
        pg_catalog.format('REVOKE %s FROM %I', pg_catalog.string_agg(DISTINCT pg_catalog.quote_ident(r.rolname), ', '), m.rolname)
    FROM who AS w
    CROSS JOIN pg_catalog.pg_auth_members AS a
    JOIN pg_catalog.pg_roles AS r ON r.oid = a.roleid
    JOIN pg_catalog.pg_roles AS m ON m.oid = a.member
    WHERE CASE m.rolname
        WHEN w.owner THEN r.rolname NOT IN ('pg_monitor', 'pg_read_all_stats', 'pg_read_all_settings')
            -- Only who owns a partition can drop it.
            AND (r.rolsuper OR NOT EXISTS (
                SELECT
                FROM pg_catalog.pg_class AS t
                LEFT JOIN pg_catalog.pg_inherits AS i ON i.inhrelid = t.oid
                JOIN pg_catalog.pg_class AS p ON p.oid IN (t.oid, i.inhparent)
                WHERE t.relowner = r.oid
                  AND p.relnamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident(w.schema))
                  AND p.relname = ANY (w.dropped)
            ))
        WHEN w.login THEN r.rolname <> w.operator
        ELSE false
    END
    GROUP BY m.rolname
    UNION ALL
    -- What the owner makes would be open from the first moment.
    SELECT
        3,
        pg_catalog.format('role %I', r.rolname),
        pg_catalog.format('grants what it makes to %s by its default privileges', pg_catalog.string_agg(DISTINCT g.name, ', ')),
        pg_catalog.format('ALTER DEFAULT PRIVILEGES FOR ROLE %I REVOKE ALL ON %s FROM %s', r.rolname, k.kind,
            pg_catalog.string_agg(DISTINCT g.name, ', '))
    FROM who AS w
    JOIN pg_catalog.pg_roles AS r ON r.rolname = w.owner
    JOIN pg_catalog.pg_default_acl AS d ON d.defaclrole = r.oid
    CROSS JOIN LATERAL pg_catalog.aclexplode(d.defaclacl) AS a
    CROSS JOIN LATERAL (
        SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END
    ) AS g(name)
    CROSS JOIN LATERAL (
        SELECT CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'ROUTINES' WHEN 'T' THEN 'TYPES'
            ELSE 'SCHEMAS' END
    ) AS k(kind)
    WHERE a.grantee <> r.oid
      -- What PUBLIC may do without anybody's doing, the installation takes back.
      AND NOT (a.grantee = 0 AND d.defaclobjtype IN ('f', 'T'))
    GROUP BY r.rolname, k.kind
    UNION ALL
    SELECT
        4,
        pg_catalog.format('schema %I', n.nspname),
        pg_catalog.format('belongs to %I', pg_catalog.pg_get_userbyid(n.nspowner)),
        pg_catalog.format('if windrow is not installed there, DROP SCHEMA %I CASCADE; if it is, ALTER SCHEMA %I OWNER TO %I', n.nspname,
            n.nspname, w.owner)
    FROM who AS w
    CROSS JOIN pg_catalog.pg_namespace AS n
    WHERE n.nspname = w.control
      AND pg_catalog.pg_get_userbyid(n.nspowner) <> w.owner
      AND NOT (w.installing AND (SELECT pg_catalog.bool_and(s.rolsuper) FROM pg_catalog.pg_roles AS s WHERE s.oid = n.nspowner
          OR s.rolname = current_user))
    UNION ALL
    SELECT
        5,
        pg_catalog.format('schema %I', n.nspname),
        pg_catalog.format('lets %s create objects in it', CASE a.grantee WHEN 0 THEN 'PUBLIC'
            ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END),
        pg_catalog.format('REVOKE CREATE ON SCHEMA %I FROM %s', n.nspname, CASE a.grantee WHEN 0 THEN 'PUBLIC'
            ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END)
    FROM who AS w
    CROSS JOIN pg_catalog.pg_namespace AS n
    CROSS JOIN LATERAL pg_catalog.aclexplode(n.nspacl) AS a
    WHERE n.nspname = w.control
      AND a.privilege_type = 'CREATE'
      AND a.grantee <> n.nspowner
      AND pg_catalog.pg_get_userbyid(a.grantee) <> w.owner
    UNION ALL
    -- The catalog does not record who owns what the first superuser created. What any superuser created is given to the owner.
    SELECT
        6,
        pg_catalog.pg_describe_object(d.classid, d.objid, 0),
        pg_catalog.format('belongs to %I', pg_catalog.pg_get_userbyid(coalesce(o.refobjid, 10))),
        pg_catalog.format('drop it if windrow did not make it, else give it to %I', w.owner)
    FROM who AS w
    CROSS JOIN pg_catalog.pg_namespace AS n
    JOIN pg_catalog.pg_depend AS d ON d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass AND d.refobjid = n.oid
        AND d.deptype = 'n'
    LEFT JOIN pg_catalog.pg_shdepend AS o
        ON o.dbid = (SELECT b.oid FROM pg_catalog.pg_database AS b WHERE b.datname = pg_catalog.current_database())
        AND o.classid = d.classid
        AND o.objid = d.objid
        AND o.deptype = 'o'
    WHERE n.nspname = w.control
      AND pg_catalog.pg_get_userbyid(coalesce(o.refobjid, 10)) <> w.owner
      AND NOT (w.installing AND (SELECT pg_catalog.bool_and(s.rolsuper) FROM pg_catalog.pg_roles AS s
          WHERE s.oid = coalesce(o.refobjid, 10) OR s.rolname = current_user))
    UNION ALL
    -- What acts when a row of the ledger is written.
    SELECT
        7,
        pg_catalog.format('trigger %I on table %s', t.tgname, t.tgrelid::pg_catalog.regclass),
        pg_catalog.format('calls %s', t.tgfoid::pg_catalog.regprocedure),
        pg_catalog.format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::pg_catalog.regclass)
    FROM who AS w
    CROSS JOIN pg_catalog.pg_namespace AS n
    JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid
    JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = c.oid AND NOT t.tgisinternal
    JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid
    WHERE n.nspname = w.control
      AND NOT (
          p.pronamespace = n.oid
          AND p.proname = 'on_setting'
          AND c.relname = 'setting'
          AND t.tgname IN ('check_setting', 'log_setting', 'log_truncation')
      )
    UNION ALL
    SELECT
        8,
        pg_catalog.format('rule %I on table %s', u.rulename, u.ev_class::pg_catalog.regclass),
        'acts beside what windrow writes',
        pg_catalog.format('DROP RULE %I ON %s', u.rulename, u.ev_class::pg_catalog.regclass)
    FROM who AS w
    CROSS JOIN pg_catalog.pg_namespace AS n
    JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid
    JOIN pg_catalog.pg_rewrite AS u ON u.ev_class = c.oid
    WHERE n.nspname = w.control
      AND u.rulename <> '_RETURN'
) AS f
ORDER BY f.position, f.object
