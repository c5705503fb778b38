SELECT f.object, f.problem, f.remedy
FROM (
    -- The one who makes a routine may be given rights on it by the server itself.
    SELECT 1 AS position, CONCAT('procedure ', p.db, '.', p.routine_name) AS object, CONCAT('may be called by ', p.user, IF(p.host = '', '', CONCAT('@', p.host))) AS problem, CONCAT('REVOKE EXECUTE ON PROCEDURE ', p.db, '.', p.routine_name, ' FROM that account') AS remedy
    FROM mysql.procs_priv AS p
    LEFT JOIN mysql.user AS u ON u.user = p.user AND u.host = p.host
    WHERE p.db = {{ control_literal }}
      AND p.user <> {{ owner_literal }}
      AND COALESCE(u.super_priv, 'N') <> 'Y'
      AND CONCAT(p.user, '@', p.host) <> CURRENT_USER()
      AND (p.proc_priv LIKE '%Grant%' OR NOT (p.user = {{ auditor_literal }} AND p.routine_name IN ({% for routine in auditor_routines %}'{{ routine }}'{% if not loop.last %}, {% endif %}{% endfor %}))
      AND NOT (p.user = {{ operator_literal }} AND p.routine_name IN ({% for routine in operator_routines %}'{{ routine }}'{% if not loop.last %}, {% endif %}{% endfor %})))
    UNION ALL
    SELECT 1, CONCAT('procedure ', {{ control_literal }}, '.', n.routine), CONCAT('may not be called by ', n.role), 'run windrow install'
    FROM (
{%- for routine in auditor_routines %}
        SELECT '{{ routine }}' AS routine, {{ auditor_literal }} AS role UNION ALL
{%- endfor %}
{%- for routine in operator_routines %}
        SELECT '{{ routine }}', {{ operator_literal }}{% if not loop.last %} UNION ALL{% endif %}
{%- endfor %}
    ) AS n
    LEFT JOIN mysql.procs_priv AS p ON p.db = {{ control_literal }} AND p.routine_name = n.routine AND p.user = n.role
        AND p.proc_priv LIKE '%Execute%'
    WHERE p.user IS NULL
    UNION ALL
    -- What the owner role may do with the application, and what operators and auditors may not.
    SELECT 4, CONCAT('role ', h.role), CONCAT('may besides what the spec needs: ', h.privilege_type, ' on ', h.object),
        'run windrow install, or revoke it'
    FROM (
        {{ held | indent(width=8) }}
    ) AS h
    LEFT JOIN (
        {{ needed | indent(width=8) }}
    ) AS n ON n.name = h.object AND FIND_IN_SET(h.privilege_type, n.rights) > 0
    WHERE h.role IN ({{ owner_literal }}, {{ operator_literal }}, {{ auditor_literal }})
      AND h.home <> {{ control_literal }}
      AND (h.role <> {{ owner_literal }} OR n.name IS NULL)
{%- if throttles.reads_more %}
      AND NOT (h.role = {{ owner_literal }} AND h.privilege_type LIKE 'SELECT%')
{%- endif %}
    UNION ALL
    SELECT 5, CONCAT('role ', {{ owner_literal }}), CONCAT('may no longer: DELETE on ', n.name), 'run windrow install'
    FROM (
        {{ needed | indent(width=8) }}
    ) AS n
    LEFT JOIN information_schema.table_privileges AS t ON n.name = CONCAT('`', REPLACE(t.table_schema, '`', '``'), '`.`',
        REPLACE(t.table_name, '`', '``'), '`')
        AND t.privilege_type = 'DELETE'
        AND SUBSTR(SUBSTRING_INDEX(t.grantee, '@', 1), 2, CHAR_LENGTH(SUBSTRING_INDEX(t.grantee, '@', 1)) - 2) = {{ owner_literal }}
    WHERE FIND_IN_SET('DELETE', n.rights) > 0
      AND t.grantee IS NULL
    UNION ALL
    SELECT 2, CONCAT('table ', p.db, '.', p.table_name), CONCAT('may be changed by ', p.user, IF(p.host = '', '', CONCAT('@', p.host)), ' (', p.table_priv, p.column_priv, ')'), CONCAT('REVOKE ALL ON ', p.db, '.', p.table_name, ' FROM that account')
    FROM mysql.tables_priv AS p
    LEFT JOIN mysql.user AS u ON u.user = p.user AND u.host = p.host
    WHERE p.db = {{ control_literal }}
      AND p.user <> {{ owner_literal }}
      AND COALESCE(u.super_priv, 'N') <> 'Y'
      AND CONCAT(p.user, '@', p.host) <> CURRENT_USER()
      AND (p.table_priv NOT IN ('', 'Select') OR p.column_priv NOT IN ('', 'Select'))
    UNION ALL
    SELECT 3, CONCAT('database ', {{ control_literal }}), CONCAT('may be changed by ', p.user, IF(p.host = '', '', CONCAT('@', p.host))), CONCAT('REVOKE ALL ON the database FROM that account')
    FROM mysql.db AS p
    LEFT JOIN mysql.user AS u ON u.user = p.user AND u.host = p.host
    WHERE {{ control_literal }} LIKE p.db
      AND p.user <> {{ owner_literal }}
      AND COALESCE(u.super_priv, 'N') <> 'Y'
      AND CONCAT(p.user, '@', p.host) <> CURRENT_USER()
      AND 'Y' IN (p.insert_priv, p.update_priv, p.delete_priv, p.create_priv, p.drop_priv, p.alter_priv, p.trigger_priv, p.execute_priv,
          p.event_priv, p.create_routine_priv, p.alter_routine_priv, p.create_view_priv, p.grant_priv, p.references_priv, p.index_priv,
          p.lock_tables_priv)
) AS f
ORDER BY f.position, f.object
