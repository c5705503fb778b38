--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';

-- What the definer functions need of the application, and no more: UPDATE on one column is what FOR UPDATE asks for. What an
-- earlier state of the spec needed is taken back, in one transaction with what this one needs.
--# grant the tables of the application to {{ owner }}
DO $windrow$
DECLARE
    v_right record;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    FOR v_right IN
        SELECT DISTINCT format('ALL (%I) ON %s', t.attname, t.attrelid::regclass) AS told
        FROM pg_attribute AS t CROSS JOIN LATERAL aclexplode(t.attacl) AS a
        WHERE a.grantee = {{ owner_literal }}::regrole
        UNION ALL
        SELECT DISTINCT format('%s ON %s', a.privilege_type, c.oid::regclass)
        FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
        WHERE c.relnamespace <> {{ control_literal }}::regnamespace AND a.grantee = {{ owner_literal }}::regrole
{%- if throttles.queries %}
          -- What the queries of the spec read is granted by hand.
          AND a.privilege_type <> 'SELECT'
{%- endif %}
        UNION ALL
        SELECT DISTINCT format('%s ON SCHEMA %I', a.privilege_type, n.nspname)
        FROM pg_namespace AS n CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
        WHERE n.nspname <> {{ control_literal }} AND a.grantee = {{ owner_literal }}::regrole
{%- if throttles.queries %}
          AND a.privilege_type <> 'USAGE'
{%- endif %}
    LOOP
        EXECUTE format('REVOKE %s FROM {{ owner }}', v_right.told);
    END LOOP;

    GRANT USAGE ON SCHEMA {{ schema }} TO {{ owner }};
{%- if throttles.heartbeat and throttles.heartbeat.schema %}
    GRANT USAGE ON SCHEMA {{ throttles.heartbeat.schema }} TO {{ owner }};
{%- endif %}
{%- for grant in grants %}
{{ grant }}
{%- endfor %}
END
$windrow$;
