--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};
--# set the owner of schema {{ control }}
ALTER SCHEMA {{ control }} OWNER TO CURRENT_ROLE;
--# become who installs
RESET ROLE;
-- What the definer functions need from the application, and no more: FOR UPDATE needs UPDATE on one column. Rights that
-- only an earlier spec needed are revoked, in the transaction that grants what this one needs.
--# grant the tables of the application to {{ owner }}
DO $windrow$
DECLARE
    v_role  pg_catalog.text := pg_catalog.current_setting('role');
    v_right record;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
{%- if throttles.reads_more %}
    -- Rights for the SQL of the spec are granted by hand.
{%- endif %}
    FOR v_right IN SELECT h.* FROM {{ control }}.held_right AS h{% if throttles.reads_more %} WHERE NOT h.reads{% endif %} LOOP
        -- Only the grantor, or a role that may act as the granting owner, can revoke a right. verify() reports what remains.
        CONTINUE WHEN NOT pg_has_role(current_user, v_right.grantor, CASE WHEN v_right.grantor = v_right.owner THEN 'USAGE'
            WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END);
        BEGIN
            IF v_right.grantor <> v_right.owner THEN
                PERFORM set_config('role', pg_get_userbyid(v_right.grantor), true);
            END IF;
            EXECUTE format('REVOKE %s FROM {{ owner }}', v_right.given);
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE WARNING '%: % is kept, granted by %', {{ owner_literal }}, v_right.given, pg_get_userbyid(v_right.grantor);
        END;
        PERFORM set_config('role', v_role, true);
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
