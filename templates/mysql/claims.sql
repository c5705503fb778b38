SELECT f.object, f.problem, f.remedy
FROM (
{%- if accounts %}
{%- if maria %}
    SELECT 1 AS position, CONCAT('account ', u.user, '@', u.host) AS object, 'has the name of the owner role, and may log in' AS problem, CONCAT('DROP USER ''', u.user, '''@''', u.host, '''') AS remedy
    FROM mysql.user AS u
    WHERE u.user = {{ owner_literal }}
      AND u.is_role <> 'Y'
    UNION ALL
    -- Bits 8 and 11: PROCESS and REFERENCES.
    SELECT 2, CONCAT('role ', u.user), 'has rights on the whole server', CONCAT('REVOKE ALL PRIVILEGES, GRANT OPTION FROM ', u.user, ', then install again')
    FROM mysql.global_priv AS u
    WHERE u.user IN ({{ owner_literal }}, {{ operator_literal }}, {{ auditor_literal }})
      AND COALESCE(JSON_VALUE(u.priv, '$.is_role'), 0)
      AND COALESCE(JSON_VALUE(u.priv, '$.access'), 0) & ~IF(u.user = {{ owner_literal }}, 2304, 0) <> 0
    UNION ALL
    SELECT 3, CONCAT('role ', {{ owner_literal }}), CONCAT('may be taken on by ', p.user, '@', p.host, ', as a proxy'),
        CONCAT('REVOKE PROXY ON ', {{ owner_literal }}, ' FROM ''', p.user, '''@''', p.host, '''')
    FROM mysql.proxies_priv AS p
    WHERE p.proxied_user = {{ owner_literal }}
    UNION ALL
    SELECT 3, CONCAT('role ', m.role), CONCAT('is granted to ', m.user, IF(m.host = '', '', CONCAT('@', m.host)), ', who may then act as the owner'), CONCAT('REVOKE ', m.role, ' FROM ', m.user, IF(m.host = '', '', CONCAT('@''', m.host, '''')))
    FROM mysql.roles_mapping AS m
    LEFT JOIN mysql.user AS u ON u.user = m.user AND u.host = m.host
    WHERE m.role = {{ owner_literal }}
      AND COALESCE(u.super_priv, 'N') <> 'Y'
      AND CONCAT(m.user, '@', m.host) <> CURRENT_USER()
    UNION ALL
    SELECT 4, CONCAT('role ', m.user), CONCAT('is a member of ', m.role), CONCAT('REVOKE ', m.role, ' FROM ', m.user)
    FROM mysql.roles_mapping AS m
    WHERE m.user = {{ owner_literal }}
      AND m.host = ''
{%- else %}
    SELECT 1 AS position, CONCAT('account ', u.user, '@', u.host) AS object, 'has the name of the owner role, and may log in' AS problem, CONCAT('DROP USER ''', u.user, '''@''', u.host, ''', or lock it and take its password away') AS remedy
    FROM mysql.user AS u
    WHERE u.user = {{ owner_literal }}
      AND NOT (u.host = '%' AND u.account_locked = 'Y' AND COALESCE(u.authentication_string, '') = '')
    UNION ALL
    SELECT 2, CONCAT('role ', u.role), CONCAT('has rights on the whole server: ',
        GROUP_CONCAT(u.privilege_type ORDER BY u.privilege_type SEPARATOR ', ')), CONCAT('REVOKE ALL PRIVILEGES, GRANT OPTION FROM ',
        u.role, ', then install again')
    FROM (SELECT SUBSTR(SUBSTRING_INDEX(p.grantee, '@', 1), 2, CHAR_LENGTH(SUBSTRING_INDEX(p.grantee, '@', 1)) - 2) AS role,
        p.privilege_type FROM information_schema.user_privileges AS p) AS u
    WHERE u.role IN ({{ owner_literal }}, {{ operator_literal }}, {{ auditor_literal }})
      AND u.privilege_type <> 'USAGE'
      AND NOT (u.role = {{ owner_literal }} AND u.privilege_type IN ('REFERENCES', 'PROCESS'))
    GROUP BY u.role
    UNION ALL
    SELECT 3, CONCAT('role ', {{ owner_literal }}), CONCAT('may be taken on by ', p.user, '@', p.host, ', as a proxy'),
        CONCAT('REVOKE PROXY ON ', {{ owner_literal }}, ' FROM ''', p.user, '''@''', p.host, '''')
    FROM mysql.proxies_priv AS p
    WHERE p.proxied_user = {{ owner_literal }}
    UNION ALL
    SELECT 3, CONCAT('role ', {{ owner_literal }}), 'is granted to everybody by mandatory_roles', 'SET PERSIST mandatory_roles without it'
    FROM DUAL
    WHERE CONCAT(',', REGEXP_REPLACE(@@GLOBAL.mandatory_roles, '[`'' ]', ''), ',') LIKE CONCAT('%,', REPLACE({{ owner_literal }}, '_',
        '|_'), ',%') ESCAPE '|'
       OR CONCAT(',', REGEXP_REPLACE(@@GLOBAL.mandatory_roles, '[`'' ]', ''), ',') LIKE CONCAT('%,', REPLACE({{ owner_literal }}, '_',
           '|_'), '@%') ESCAPE '|'
    UNION ALL
    SELECT 3, CONCAT('role ', m.from_user), CONCAT('is granted to ', m.to_user, '@', m.to_host, ', who may then act as the owner'), CONCAT('REVOKE ', m.from_user, ' FROM ''', m.to_user, '''@''', m.to_host, '''')
    FROM mysql.role_edges AS m
    LEFT JOIN mysql.user AS u ON u.user = m.to_user AND u.host = m.to_host
    WHERE m.from_user = {{ owner_literal }}
      AND COALESCE(u.super_priv, 'N') <> 'Y'
      AND CONCAT(m.to_user, '@', m.to_host) <> CURRENT_USER()
    UNION ALL
    SELECT 4, CONCAT('role ', m.to_user), CONCAT('is a member of ', m.from_user), CONCAT('REVOKE ', m.from_user, ' FROM ', m.to_user)
    FROM mysql.role_edges AS m
    WHERE m.to_user = {{ owner_literal }}
{%- endif %}
{%- else %}
    -- The first thing that an installation creates is its table control, with this comment. CREATE TABLE IF NOT EXISTS would
    -- take any other table for it.
    SELECT
        1 AS position, CONCAT(IF(t.table_type = 'VIEW', 'view ', 'table '), t.table_schema, '.', t.table_name) AS object,
        'is there, and windrow is not installed in this database' AS problem, 'look whose it is, and drop it' AS remedy
    FROM information_schema.tables AS t
    WHERE t.table_schema = {{ control_literal }}
      AND t.table_name IN (
          {{ ledger | indent(width=10) }}
      )
      AND NOT EXISTS (
          SELECT 1
          FROM information_schema.tables AS c
          WHERE c.table_schema = {{ control_literal }}
            AND c.table_name = 'control'
            AND c.table_type = 'BASE TABLE'
            AND c.table_comment LIKE 'windrow: %'
      )
    UNION ALL
    SELECT
        2, CONCAT('table ', t.table_schema, '.', t.table_name), CONCAT('has the engine ', t.engine),
        'ALTER TABLE ... ENGINE = InnoDB'
    FROM information_schema.tables AS t
    WHERE t.table_schema = {{ control_literal }}
      AND t.table_type = 'BASE TABLE'
      AND t.engine <> 'InnoDB'
    UNION ALL
    SELECT
        3, CONCAT('trigger ', t.trigger_schema, '.', t.trigger_name),
        CONCAT('acts when table ', t.event_object_table, ' is written to, as ', t.definer), 'look whose it is, and drop it'
    FROM information_schema.triggers AS t
    WHERE t.event_object_schema = {{ control_literal }}
    UNION ALL
    SELECT
        4, CONCAT('view ', v.table_schema, '.', v.table_name), CONCAT('belongs to ', v.definer),
        'look whose it is, and drop it'
    FROM information_schema.views AS v
    WHERE v.table_schema = {{ control_literal }}
      AND v.definer NOT IN (
          {{ owner_literal }}, CONCAT({{ owner_literal }}, '@%'), CONCAT({{ owner_literal }}, '@')
          {%- if installing %}, CURRENT_USER(){% endif %}
      )
    UNION ALL
    SELECT
        5, CONCAT(LOWER(r.routine_type), ' ', r.routine_schema, '.', r.routine_name),
        CONCAT('belongs to ', r.definer), 'look whose it is, and drop it'
    FROM information_schema.routines AS r
    WHERE r.routine_schema = {{ control_literal }}
      AND r.definer NOT IN (
          {{ owner_literal }}, CONCAT({{ owner_literal }}, '@%'), CONCAT({{ owner_literal }}, '@')
          {%- if installing %}, CURRENT_USER(){% endif %}
      )
    UNION ALL
    SELECT
        6, CONCAT('event ', e.event_schema, '.', e.event_name), CONCAT('belongs to ', e.definer),
        'look whose it is, and drop it'
    FROM information_schema.events AS e
    WHERE e.event_schema = {{ control_literal }}
      AND e.definer NOT IN (
          {{ owner_literal }}, CONCAT({{ owner_literal }}, '@%'), CONCAT({{ owner_literal }}, '@')
          {%- if installing %}, CURRENT_USER(){% endif %}
      )
{%- endif %}
) AS f
ORDER BY f.position, f.object
