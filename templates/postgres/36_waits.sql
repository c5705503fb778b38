--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};
--# set the owner of schema {{ control }}
ALTER SCHEMA {{ control }} OWNER TO CURRENT_ROLE;
{% for query in throttles.queries -%}
-- {{ query.name }}_wait_while: what the rule waits for, as the spec has it (wait_while_sql).
--# create function {{ control }}.{{ query.name }}_wait_while
CREATE OR REPLACE FUNCTION {{ control }}.{{ query.name }}_wait_while()
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET timezone = 'UTC'
AS $windrow$
BEGIN
    RETURN to_jsonb((
{{ query.sql }}
    ));
END
$windrow$;
--# comment on function {{ control }}.{{ query.name }}_wait_while
COMMENT ON FUNCTION {{ control }}.{{ query.name }}_wait_while() IS
    'What rule {{ query.name }} waits for: true, or a number above 0, means wait.';
{% endfor -%}
{% if throttles.heartbeat -%}
-- heartbeat_age: how far the slowest replica is behind, by {{ throttles.heartbeat.name }}.
--# create function {{ control }}.heartbeat_age
CREATE OR REPLACE FUNCTION {{ control }}.heartbeat_age()
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET timezone = 'UTC'
AS $windrow$
BEGIN
    RETURN (SELECT extract(epoch FROM clock_timestamp() - min(h.{{ throttles.heartbeat.column }})) FROM {{ throttles.heartbeat.table }} AS h);
END
$windrow$;
--# comment on function {{ control }}.heartbeat_age
COMMENT ON FUNCTION {{ control }}.heartbeat_age() IS
    'Seconds since the oldest beat in {{ throttles.heartbeat.name }}, of the slowest replica; NULL where there is none.';
{% endif -%}
--# become who installs
RESET ROLE;
