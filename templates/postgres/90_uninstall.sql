--# set lock_timeout
SET lock_timeout = '5s';
-- Dropping an index waits for its readers.
--# set statement_timeout
SET statement_timeout = 0;

--# unschedule {{ control }}
DO $windrow$
DECLARE
    v_role pg_catalog.text := pg_catalog.current_setting('role');
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_extension AS e WHERE e.extname = 'pg_cron') THEN
        PERFORM cron.unschedule(j.jobid) FROM cron.job AS j WHERE starts_with(j.jobname || ' ', '{{ control }} ');
        -- pg_cron shows everybody but a superuser his own jobs only.
        IF EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = {{ login_literal }}) AND pg_catalog.pg_has_role(current_user, {{ login_literal }}, 'MEMBER') THEN
            PERFORM pg_catalog.set_config('role', {{ login_literal }}, true);
            PERFORM cron.unschedule(j.jobid) FROM cron.job AS j WHERE starts_with(j.jobname || ' ', '{{ control }} ');
            PERFORM pg_catalog.set_config('role', v_role, true);
        END IF;
    END IF;
END
$windrow$;

-- The ledger, the policies and the holds go with the schema: copy what you must keep first.
-- A batch under way is waited for, and the next one finds nothing.
{%- if guards %}
-- The triggers on the application's tables go with their functions; for that, their writers are waited for.
{%- endif %}
{%- if archives %}
-- Archived rows exist nowhere else. They go only where someone said so, by: SET windrow.drop_archive = 'yes';
{%- endif %}
--# drop schema {{ control }}
DO $windrow$
{%- if archives %}
DECLARE
    v_archive pg_catalog.text;
    v_any     boolean;
{%- endif %}
BEGIN
    -- The schema is its owner's.
    IF EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = {{ owner_literal }}) AND NOT pg_catalog.pg_has_role(current_user, {{ owner_literal }}, 'USAGE') THEN
        EXECUTE format('GRANT {{ owner }} TO %I', current_user);
        PERFORM pg_catalog.set_config('windrow.joined', 'yes', false);
    END IF;
    -- A batch that has read some other table first may wait for this one, and this one for it: whoever gives way tries again.
    FOR v_try IN 1..5 LOOP
        BEGIN
            IF pg_catalog.to_regclass('{{ control }}.run') IS NOT NULL THEN
                LOCK TABLE {{ control }}.run;
            END IF;
{%- if archives %}
            IF current_setting('windrow.drop_archive', true) IS DISTINCT FROM 'yes' THEN
                FOR v_archive IN
                    SELECT a.attrelid::pg_catalog.regclass::text
                    FROM pg_catalog.pg_attribute AS a
                    JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid
                    WHERE c.relnamespace = pg_catalog.to_regnamespace('{{ control }}')
                      AND c.relkind = 'r'
                      AND a.attname = 'windrow_row_id'
                LOOP
                    EXECUTE format('SELECT EXISTS (SELECT FROM %s)', v_archive) INTO v_any;
                    IF v_any THEN
                        RAISE EXCEPTION 'there are archived rows in %', v_archive
                            USING ERRCODE = '55000', HINT = 'Copy them first. Then uninstall with --drop-archive, or in psql: SET windrow.drop_archive = ''yes'';';
                    END IF;
                END LOOP;
            END IF;
{%- endif %}
            DROP SCHEMA IF EXISTS {{ control }} CASCADE;
            EXIT;
        EXCEPTION WHEN deadlock_detected THEN
            IF v_try = 5 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
END
$windrow$;
{% for index in indexes_reversed %}
--! drop index {{ index.name }}
DROP INDEX CONCURRENTLY IF EXISTS {{ index.qualified }};
{% endfor %}
-- Roles are shared by all databases of the server: one that is still needed elsewhere stays.
--# drop roles
DO $windrow$
DECLARE
    v_role   text;
    v_joined boolean;
BEGIN
{%- if archives %}
    -- What a role owns goes with it.
    IF pg_catalog.to_regnamespace('{{ control }}') IS NOT NULL THEN
        RAISE EXCEPTION 'the schema {{ control }} is still there: the roles stay' USING ERRCODE = '55000';
    END IF;
{%- endif %}
    FOREACH v_role IN ARRAY ARRAY[{{ login_literal }}, {{ operator_literal }}, {{ auditor_literal }}, {{ owner_literal }}] LOOP
        IF EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = v_role) THEN
            -- Only a member may take the rights away that a role has here.
            v_joined := NOT pg_catalog.pg_has_role(current_user, v_role, 'USAGE') OR v_role = {{ owner_literal }} AND current_setting('windrow.joined', true) = 'yes';
            IF v_joined THEN
                EXECUTE format('GRANT %I TO %I', v_role, current_user);
            END IF;
            EXECUTE format('DROP OWNED BY %I', v_role);
            BEGIN
                EXECUTE format('DROP ROLE %I', v_role);
            EXCEPTION WHEN dependent_objects_still_exist THEN
                IF v_joined THEN
                    EXECUTE format('REVOKE %I FROM %I', v_role, current_user);
                END IF;
                RAISE NOTICE 'role % stays: another database still needs it', v_role;
            END;
        END IF;
    END LOOP;
END
$windrow$;
