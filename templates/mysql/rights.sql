SELECT f.object, f.problem, f.remedy
FROM (
{%- if accounts %}
    -- The one who makes a routine may be given rights on it by the server itself.
    SELECT 1 AS position, CONCAT('procedure ', p.db, '.', p.routine_name) AS object, CONCAT('may be called by ', p.user, IF(p.host = '', '', CONCAT('@', p.host))) AS problem, CONCAT('REVOKE EXECUTE ON PROCEDURE ', p.db, '.', p.routine_name, ' FROM that account') AS remedy
    FROM mysql.procs_priv AS p
    LEFT JOIN mysql.user AS u ON u.user = p.user AND u.host = p.host
    WHERE p.db = {{ control_literal }}
      AND p.user <> {{ owner_literal }}
      AND COALESCE(u.super_priv, 'N') <> 'Y'
      AND CONCAT(p.user, '@', p.host) <> CURRENT_USER()
      AND NOT (p.user = {{ auditor_literal }} AND p.routine_name IN ({% for routine in auditor_routines %}'{{ routine }}'{% if not loop.last %}, {% endif %}{% endfor %}))
      AND NOT (p.user = {{ operator_literal }} AND p.routine_name IN ({% for routine in operator_routines %}'{{ routine }}'{% if not loop.last %}, {% endif %}{% endfor %}))
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
      AND 'Y' IN (p.insert_priv, p.update_priv, p.delete_priv, p.create_priv, p.drop_priv, p.alter_priv, p.trigger_priv, p.execute_priv, p.event_priv, p.create_routine_priv, p.alter_routine_priv, p.create_view_priv)
{%- else %}
    SELECT 1 AS position, CONCAT('procedure ', r.routine_schema, '.', r.routine_name) AS object, CONCAT('runs with the rights of its ', LOWER(r.security_type)) AS problem, 'run windrow install' AS remedy
    FROM information_schema.routines AS r
    WHERE r.routine_schema = {{ control_literal }}
      AND r.routine_comment LIKE '%[body %'
      AND r.security_type <> IF(r.routine_name IN ('make_index', 'run_text'), 'INVOKER', 'DEFINER')
    UNION ALL
    SELECT 2, CONCAT('procedure ', r.routine_schema, '.', r.routine_name), CONCAT('was made with another sql_mode: ', r.sql_mode), 'run windrow install'
    FROM information_schema.routines AS r
    WHERE r.routine_schema = {{ control_literal }}
      AND r.routine_comment LIKE '%[body %'
      AND r.sql_mode <> 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'
    UNION ALL
    SELECT 3 AS position, CONCAT('view ', v.table_schema, '.', v.table_name) AS object, CONCAT('runs with the rights of its ', LOWER(v.security_type)) AS problem, 'run windrow install' AS remedy
    FROM information_schema.views AS v
    WHERE v.table_schema = {{ control_literal }}
      AND v.security_type <> CASE WHEN v.table_name IN ('undeletable', 'backlog', 'metrics') THEN 'DEFINER' WHEN v.table_name IN ('settings', 'open_hours', 'scheduling', 'last_look', 'run_count', 'index_state', 'left_behind', 'last_left', 'due_now', 'backlog_now') THEN 'INVOKER' ELSE v.security_type END
    UNION ALL
    SELECT 4, CONCAT('constraint ', w.name), 'is missing', 'run windrow install'
    FROM (
{%- for rule in rules %}
        SELECT 'policy_{{ rule.name }}' AS name
        UNION ALL
{%- endfor %}
        SELECT 'there is no such setting'
    ) AS w
    LEFT JOIN information_schema.check_constraints AS c ON c.constraint_schema = {{ control_literal }} AND c.constraint_name = w.name
    WHERE c.constraint_name IS NULL
{%- endif %}
) AS f
ORDER BY f.position, f.object
