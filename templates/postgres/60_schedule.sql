--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';

-- The scheduled run: {{ schedule }}, in the zone of pg_cron (GMT unless cron.timezone says otherwise).
{%- if jobs | length > 1 %}
-- Each line is a job of its own.
{%- endif %}
-- One statement a job, so that run() can commit. A missed or overlapping start does no harm: one run at a time.
-- The jobs have a login of their own, with the rights of an operator and no more: what a trigger of the application puts off
-- until the COMMIT runs with these. pg_cron connects as this login (pg_hba.conf must let it in, without a password or with
-- one in the .pgpass of the server), or needs no connection, with cron.use_background_workers = on.
--# schedule {{ control }}
DO $windrow$
DECLARE
    v_role pg_catalog.text := pg_catalog.current_setting('role');
    v_says pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    IF NOT EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'pg_cron') THEN
        RAISE NOTICE 'not scheduled: the extension pg_cron is not in database %', current_database()
            USING HINT = 'CREATE EXTENSION pg_cron in the database that cron.database_name names, then apply this file again; or start CALL {{ control }}.run(''{"trigger": "SCHEDULED"}'') from elsewhere.';
        RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = {{ login_literal }}) THEN
        CREATE ROLE {{ login }} LOGIN;
    END IF;
    GRANT {{ operator }} TO {{ login }};
    SELECT concat_ws(', ', CASE WHEN r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolbypassrls THEN 'has rights on the whole server' END, m.says)
    INTO v_says
    FROM pg_roles AS r
    CROSS JOIN LATERAL (
        SELECT format('is a member of %s', string_agg(DISTINCT quote_ident(g.rolname), ', ')) AS says
        FROM pg_auth_members AS a
        JOIN pg_roles AS g ON g.oid = a.roleid
        WHERE a.member = r.oid
          AND g.rolname <> {{ operator_literal }}
        HAVING count(*) > 0
        UNION ALL
        SELECT NULL
        LIMIT 1
    ) AS m
    WHERE r.rolname = {{ login_literal }};
    IF v_says <> '' THEN
        RAISE EXCEPTION 'the login of the schedule, {{ login }}, %', v_says
            USING ERRCODE = '55000', HINT = 'It is to have the rights of {{ operator }} and no more: take the others away, or drop it.';
    END IF;
    IF NOT has_schema_privilege({{ login_literal }}, 'cron', 'USAGE') THEN
        BEGIN
            GRANT USAGE ON SCHEMA cron TO {{ login }};
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE WARNING 'not scheduled: % may not grant the schema cron', current_user
                USING HINT = 'Have a superuser GRANT USAGE ON SCHEMA cron TO {{ login }}, then apply this file again.';
            RETURN;
        END;
    END IF;
    IF NOT pg_has_role(current_user, {{ login_literal }}, CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END) THEN
        EXECUTE format('GRANT {{ login }} TO %I', current_user);
    END IF;
    -- Jobs that an earlier spec or version had, and those that still connect to the server of which this one is a copy.
    FOR v_look IN 1..2 LOOP
        PERFORM cron.unschedule(j.jobid)
        FROM cron.job AS j
        WHERE starts_with(j.jobname || ' ', '{{ control }} ')
          AND (
              j.username <> {{ login_literal }}
              OR j.nodeport <> current_setting('port')::integer
              OR j.jobname NOT IN ({% for job in jobs %}'{{ control }}{{ job.suffix }}'{% if not loop.last or cron_history > 0 %}, {% endif %}{% endfor %}{% if cron_history > 0 %}'{{ control }} history'{% endif %})
          );
        -- pg_cron shows everybody but a superuser his own jobs only, and a job belongs to who makes it.
        PERFORM set_config('role', {{ login_literal }}, true);
    END LOOP;
{%- for job in jobs %}
    PERFORM cron.schedule('{{ control }}{{ job.suffix }}', {{ job.schedule_literal }}, 'CALL {{ control }}.run(''{"trigger": "SCHEDULED"{% if job.worker %}, "worker": {{ job.worker }}{% endif %}}'')');
{%- endfor %}
{%- if cron_history > 0 %}
    -- pg_cron keeps a row of every start for ever: those of these jobs go after {{ cron_history }} seconds.
    PERFORM cron.schedule(
        '{{ control }} history',
        '41 3 * * *',
        'DELETE FROM cron.job_run_details AS d USING cron.job AS j WHERE j.jobid = d.jobid AND j.jobname IN ({% for job in jobs %}''{{ control }}{{ job.suffix }}'', {% endfor %}''{{ control }} history'') AND coalesce(d.end_time, d.start_time) < now() - interval ''{{ cron_history }} seconds'''
    );
{%- endif %}
    PERFORM set_config('role', v_role, true);
END
$windrow$;
