--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';

-- owner: holds the rights on the application's tables; nobody logs in as it.
-- operator: runs, previews, sets policies and holds, pauses; no rights on the application's tables.
-- auditor: previews, reads the ledger and the metrics.
--# create roles
DO $windrow$
DECLARE
    v_role text;
BEGIN
    FOREACH v_role IN ARRAY ARRAY['{{ control }}_owner', '{{ control }}_operator', '{{ control }}_auditor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = v_role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
        END IF;
    END LOOP;
END
$windrow$;
--# grant {{ control }}_auditor to {{ control }}_operator
GRANT {{ control }}_auditor TO {{ control }}_operator;

-- What the definer functions need, and no more: UPDATE on one column is what FOR UPDATE asks for.
--# grant usage on schema {{ schema }}
GRANT USAGE ON SCHEMA {{ schema }} TO {{ control }}_owner;
{% for table in tables -%}
--# grant on {{ table.name }}
GRANT SELECT{% if table.deleted %}, DELETE{% endif %}{% if table.updates %}, UPDATE ({{ table.updates }}){% endif %} ON {{ table.table }} TO {{ control }}_owner;
{% endfor -%}
{% for rule in rules %}{% if rule.timed %}{% for reference in rule.timed.references -%}
--# grant select on {{ reference }}
GRANT SELECT ON {{ reference }} TO {{ control }}_owner;
{% endfor %}{% elif rule.single %}{% for reference in rule.single.references -%}
--# grant select on {{ reference }}
GRANT SELECT ON {{ reference }} TO {{ control }}_owner;
{% endfor %}{% endif %}{% endfor -%}
{% for archive in archives -%}
--# grant insert on {{ archive.table_name }}
GRANT INSERT ON {{ archive.table }} TO {{ control }}_owner;
{% endfor -%}
{% for definition in definitions -%}
--# grant select on {{ definition.name }}
GRANT SELECT ON {{ definition.table }} TO {{ control }}_owner;
{% endfor -%}
{% for root in roots -%}
--# grant lock on {{ root.name }}
GRANT UPDATE ({{ root.column }}) ON {{ root.table }} TO {{ control }}_owner;
{% endfor %}
{% if throttles.heartbeat -%}
{% if throttles.heartbeat.schema -%}
--# grant usage on schema {{ throttles.heartbeat.schema }}
GRANT USAGE ON SCHEMA {{ throttles.heartbeat.schema }} TO {{ control }}_owner;
{% endif -%}
--# grant select on {{ throttles.heartbeat.name }}
GRANT SELECT ON {{ throttles.heartbeat.table }} TO {{ control }}_owner;

{% endif -%}
{% if throttles.sees_sessions -%}
-- The spec has runs wait for replicas or for the load: who may not see the sessions of others knows of neither.
--# grant pg_read_all_stats to {{ control }}_owner
DO $windrow$
BEGIN
    GRANT pg_read_all_stats TO {{ control }}_owner;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE WARNING 'runs will wait until someone may GRANT pg_read_all_stats TO {{ control }}_owner';
END
$windrow$;

{% endif -%}
-- The control schema belongs to the owner role, so that its definer functions run with these rights only.
--# give {{ control }} to {{ control }}_owner
DO $windrow$
DECLARE
    v_object record;
BEGIN
    -- From version 16 on, who creates a role may grant it, also to himself, but does not have it yet.
    IF NOT pg_catalog.pg_has_role(current_user, '{{ control }}_owner', 'USAGE') THEN
        EXECUTE format('GRANT {{ control }}_owner TO %I', current_user);
    END IF;
    EXECUTE format('GRANT CREATE ON DATABASE %I TO {{ control }}_owner', current_database());
    ALTER SCHEMA {{ control }} OWNER TO {{ control }}_owner;
    EXECUTE format('REVOKE CREATE ON DATABASE %I FROM {{ control }}_owner', current_database());
    FOR v_object IN
        SELECT c.relname, c.relkind
        FROM pg_catalog.pg_class AS c
        WHERE c.relnamespace = '{{ control }}'::pg_catalog.regnamespace
          AND c.relkind IN ('r', 'v')
        ORDER BY c.relname
    LOOP
        EXECUTE format('ALTER %s {{ control }}.%I OWNER TO {{ control }}_owner', CASE v_object.relkind WHEN 'r' THEN 'TABLE' ELSE 'VIEW' END, v_object.relname);
    END LOOP;
    FOR v_object IN
        SELECT p.oid::pg_catalog.regprocedure AS signature
        FROM pg_catalog.pg_proc AS p
        WHERE p.pronamespace = '{{ control }}'::pg_catalog.regnamespace
        ORDER BY p.proname
    LOOP
        EXECUTE format('ALTER ROUTINE %s OWNER TO {{ control }}_owner', v_object.signature);
    END LOOP;
END
$windrow$;

-- Nobody else may call anything.
--# revoke from public
REVOKE ALL ON ALL ROUTINES IN SCHEMA {{ control }} FROM PUBLIC;
--# grant usage on schema {{ control }}
GRANT USAGE ON SCHEMA {{ control }} TO {{ control }}_auditor;
--# grant select to {{ control }}_auditor
GRANT SELECT ON ALL TABLES IN SCHEMA {{ control }} TO {{ control }}_auditor;
{% if archives -%}
-- But for the archive, whose rows are the application's: grant it by hand to who may read these.
{% for archive in archives -%}
--# revoke select on {{ archive.archive }}
REVOKE SELECT ON {{ archive.archive }}, {{ archive.entry }} FROM {{ control }}_auditor;
{% endfor -%}
{% endif -%}
{% for routine in auditor_routines -%}
--# grant {{ routine }} to {{ control }}_auditor
GRANT EXECUTE ON ROUTINE {{ control }}.{{ routine }} TO {{ control }}_auditor;
{% endfor -%}
{% for routine in operator_routines -%}
--# grant {{ routine }} to {{ control }}_operator
GRANT EXECUTE ON ROUTINE {{ control }}.{{ routine }} TO {{ control }}_operator;
{% endfor -%}
