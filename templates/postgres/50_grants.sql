--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';

--# grant {{ control }}_auditor to {{ control }}_operator
GRANT {{ control }}_auditor TO {{ control }}_operator;

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
        FROM pg_attribute AS t
        CROSS JOIN LATERAL aclexplode(t.attacl) AS a
        WHERE a.grantee = {{ owner_literal }}::regrole
        UNION ALL
        SELECT DISTINCT format('ALL ON %s', c.oid::regclass)
        FROM pg_class AS c
        CROSS JOIN LATERAL aclexplode(c.relacl) AS a
        WHERE c.relnamespace <> {{ control_literal }}::regnamespace
          AND a.grantee = {{ owner_literal }}::regrole
        UNION ALL
        SELECT DISTINCT format('ALL ON SCHEMA %I', n.nspname)
        FROM pg_namespace AS n
        CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
        WHERE n.nspname <> {{ control_literal }}
          AND a.grantee = {{ owner_literal }}::regrole
    LOOP
        EXECUTE format('REVOKE %s FROM {{ owner }}', v_right.told);
    END LOOP;

    GRANT USAGE ON SCHEMA {{ schema }} TO {{ owner }};
{%- for table in tables %}
    GRANT SELECT{% if table.deleted %}, DELETE{% endif %}{% if table.updates %}, UPDATE ({{ table.updates }}){% endif %} ON {{ table.table }} TO {{ owner }};
{%- endfor %}
{%- for rule in rules %}{% if rule.timed %}{% for reference in rule.timed.references %}
    GRANT SELECT ON {{ reference }} TO {{ owner }};
{%- endfor %}{% elif rule.single %}{% for reference in rule.single.references %}
    GRANT SELECT ON {{ reference }} TO {{ owner }};
{%- endfor %}{% endif %}{% endfor %}
{%- for archive in archives %}
    GRANT INSERT ON {{ archive.table }} TO {{ owner }};
{%- endfor %}
{%- for definition in definitions %}
    GRANT SELECT ON {{ definition.table }} TO {{ owner }};
{%- endfor %}
{%- for root in roots %}
    GRANT UPDATE ({{ root.column }}) ON {{ root.table }} TO {{ owner }};
{%- endfor %}
{%- if throttles.heartbeat %}
{%- if throttles.heartbeat.schema %}
    GRANT USAGE ON SCHEMA {{ throttles.heartbeat.schema }} TO {{ owner }};
{%- endif %}
    GRANT SELECT ON {{ throttles.heartbeat.table }} TO {{ owner }};
{%- endif %}
END
$windrow$;
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

{% else -%}
-- An earlier state of the spec had runs wait for replicas or for the load. Roles belong to all databases of the server.
--# revoke pg_read_all_stats from {{ owner }}
DO $windrow$
BEGIN
    IF EXISTS (
        SELECT FROM pg_catalog.pg_auth_members AS a
        WHERE a.roleid = 'pg_read_all_stats'::pg_catalog.regrole
          AND a.member = {{ owner_literal }}::pg_catalog.regrole
          AND NOT EXISTS (
              SELECT FROM pg_catalog.pg_shdepend AS d
              WHERE d.refobjid = a.member
                AND d.dbid NOT IN (SELECT 0::pg_catalog.oid UNION ALL SELECT b.oid FROM pg_catalog.pg_database AS b WHERE b.datname = pg_catalog.current_database())
          )
    ) THEN
        REVOKE pg_read_all_stats FROM {{ owner }};
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE WARNING 'the spec no longer needs it: someone may REVOKE pg_read_all_stats FROM {{ owner }}';
END
$windrow$;

{% endif -%}
-- server_identity() knows a copy in another folder by the place of the data, which is for those to see who may read all settings.
--# grant pg_read_all_settings to {{ owner }}
DO $windrow$
BEGIN
    IF NOT pg_catalog.pg_has_role({{ owner_literal }}, 'pg_read_all_settings', 'USAGE') THEN
        GRANT pg_read_all_settings TO {{ owner }};
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'a copy of the server in another folder looks like this one until someone may GRANT pg_read_all_settings TO {{ owner }}, and arms again';
END
$windrow$;
-- Who was armed by what an earlier version looked at stays so.
--# update table {{ control }}.control
UPDATE {{ control }}.control AS c
SET server_identity = {{ control }}.server_identity()
WHERE c.server_identity OPERATOR(pg_catalog.=) (
    SELECT pg_catalog.format('%s/%s/%s/%s/%s', s.system_identifier, greatest(k.timeline_id, r.min_recovery_end_timeline), pg_catalog.current_setting('port'), d.oid, d.datname)
    FROM pg_catalog.pg_control_system() AS s
    CROSS JOIN pg_catalog.pg_control_checkpoint() AS k
    CROSS JOIN pg_catalog.pg_control_recovery() AS r
    CROSS JOIN pg_catalog.pg_database AS d
    WHERE d.datname = pg_catalog.current_database()
);

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
-- What the checks of the ledger say now: verify() and windrow diff tell when one is changed or dropped later.
--# note the constraints of {{ control }}
DO $windrow$
DECLARE
    v_check record;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    FOR v_check IN
        SELECT
            k.conname,
            k.conrelid::regclass AS class,
            concat_ws(' ', regexp_replace(obj_description(k.oid, 'pg_constraint'), ' ?[[]check [0-9a-f]+[]]$', ''), format('[check %s]', left(md5(pg_get_constraintdef(k.oid)), 12))) AS says
        FROM pg_constraint AS k
        WHERE k.connamespace = {{ control_literal }}::regnamespace
          AND k.contype = 'c'
          AND k.conrelid <> 0
          AND k.conname = ANY (ARRAY[{{ constraints | join(sep=", ") }}]::name[])
    LOOP
        EXECUTE format('COMMENT ON CONSTRAINT %I ON %s IS %L', v_check.conname, v_check.class, v_check.says);
    END LOOP;
END
$windrow$;

-- Who installs on a server that is armed takes the tables of the spec as they are now.
--# note the catalog
INSERT INTO {{ control }}.catalog_state AS s (run_id, state)
SELECT 0, {{ control }}.catalog_now()
FROM {{ control }}.control AS c
WHERE c.armed
  AND c.server_identity = {{ control }}.server_identity()
ON CONFLICT (run_id) DO UPDATE
SET state = excluded.state,
    taken_at = excluded.taken_at
WHERE s.state <> excluded.state;
