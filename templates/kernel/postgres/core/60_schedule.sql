-- The scheduled runs, in the zone of pg_cron (GMT unless cron.timezone says otherwise): a job for each line of the schedule and
-- each worker.
-- One statement a job, so that run() can commit. A missed or overlapping start does no harm: one run at a time.
-- The jobs have a login of their own, with the rights of an operator and no more: what a trigger of the application puts off
-- until the COMMIT runs with these. pg_cron connects as this login (pg_hba.conf must let it in, without a password or with
-- one in the .pgpass of the server), or needs no connection, with cron.use_background_workers = on.
--# schedule the runs
DO $windrow$
DECLARE
    v_known    pg_catalog.jsonb := pg_catalog.current_setting('windrow.document')::pg_catalog.jsonb;
    v_role     pg_catalog.text := pg_catalog.current_setting('role');
    v_control  pg_catalog.text;
    v_login    pg_catalog.text;
    v_operator pg_catalog.text;
    v_job      record;
    v_says     pg_catalog.text;
    v_id       pg_catalog.int8;
    v_jobs     pg_catalog.jsonb := v_known OPERATOR(pg_catalog.->) 'jobs';
    v_zone     pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    v_control := v_known ->> 'control';
    v_login := v_known ->> 'login';
    v_operator := v_known ->> 'operator';
    IF NOT EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'pg_cron') THEN
        RAISE NOTICE 'not scheduled: the extension pg_cron is not in database %', current_database()
            USING HINT = 'CREATE EXTENSION pg_cron in the database that cron.database_name names, then apply this file again; or start '
                'CALL ' || quote_ident(v_control) || '.run(''{"trigger": "SCHEDULED"}'') from elsewhere.';
        RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = v_login) THEN
        EXECUTE format('CREATE ROLE %I LOGIN', v_login);
    END IF;
    EXECUTE format('GRANT %I TO %I', v_operator, v_login);
    -- A limit that the database has for the statements of the application would cancel a run. One of the login itself stays.
    IF NOT EXISTS (
        SELECT FROM pg_db_role_setting AS s
        JOIN pg_roles AS r ON r.oid = s.setrole
        CROSS JOIN LATERAL unnest(s.setconfig) AS c(said)
        WHERE r.rolname = v_login AND starts_with(c.said, 'statement_timeout=')
    ) THEN
        BEGIN
            EXECUTE format('ALTER ROLE %I SET statement_timeout = 0', v_login);
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE NOTICE 'the settings of % are left as they are: % may not change them', quote_ident(v_login), current_user;
        END;
    END IF;
    SELECT concat_ws(', ', CASE WHEN r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication OR r.rolbypassrls
        THEN 'has rights on the whole server' END, m.says)
    INTO v_says
    FROM pg_roles AS r
    CROSS JOIN LATERAL (
        SELECT format('is a member of %s', string_agg(DISTINCT quote_ident(g.rolname), ', ')) AS says
        FROM pg_auth_members AS a
        JOIN pg_roles AS g ON g.oid = a.roleid
        WHERE a.member = r.oid
          AND g.rolname <> v_operator
        HAVING count(*) > 0
        UNION ALL
        SELECT NULL
        LIMIT 1
    ) AS m
    WHERE r.rolname = v_login;
    IF v_says <> '' THEN
        RAISE EXCEPTION 'the login of the schedule, %, %', quote_ident(v_login), v_says
            USING ERRCODE = '55000', HINT = format('It is to have the rights of %I and no more: take the others away, or drop it.',
                v_operator);
    END IF;
    IF NOT has_schema_privilege(v_login, 'cron', 'USAGE') THEN
        BEGIN
            EXECUTE format('GRANT USAGE ON SCHEMA cron TO %I', v_login);
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE WARNING 'not scheduled: % may not grant the schema cron', current_user
                USING HINT = format('Have a superuser GRANT USAGE ON SCHEMA cron TO %I, then apply this file again.', v_login);
            RETURN;
        END;
    END IF;
    IF NOT pg_has_role(current_user, v_login, CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER'
        ELSE 'SET' END) THEN
        EXECUTE format('GRANT %I TO %I', v_login, current_user);
    END IF;
    -- Jobs that an earlier spec or version had, and those that still connect to the server of which this one is a copy. A job that
    -- works in another database is not of this installation, whatever it is called.
    FOR v_look IN 1..2 LOOP
        PERFORM cron.unschedule(j.jobid)
        FROM cron.job AS j
        WHERE starts_with(j.jobname || ' ', v_control || ' ')
          AND (j.database = current_database() OR NOT EXISTS (SELECT FROM pg_database AS d WHERE d.datname = j.database))
          AND (
              j.username <> v_login
              OR j.nodeport <> current_setting('port')::integer
              OR j.database <> current_database()
              OR NOT EXISTS (SELECT FROM jsonb_array_elements(v_jobs) AS k WHERE k.value ->> 'name' = j.jobname)
          );
        -- pg_cron shows everybody but a superuser his own jobs only, and a job belongs to who makes it.
        PERFORM set_config('role', v_login, true);
    END LOOP;
    FOR v_job IN
        SELECT k.name, k.schedule, k.command
        FROM jsonb_to_recordset(v_jobs) AS k(name text, schedule text, command text)
    LOOP
        -- One login has one job of a name.
        SELECT j.jobid INTO v_id FROM cron.job AS j
        WHERE j.jobname = v_job.name AND j.username = v_login AND j.database <> current_database();
        IF FOUND THEN
            RAISE WARNING 'not scheduled: job % of pg_cron, for another database, has the name % and its login', v_id, v_job.name
                USING HINT = 'Give it another name or another login, then apply this file again.';
            CONTINUE;
        END IF;
        v_id := cron.schedule(v_job.name, v_job.schedule, v_job.command);
        IF NOT (SELECT j.active FROM cron.job AS j WHERE j.jobid = v_id) THEN
            RAISE NOTICE 'job % of pg_cron, %, stays inactive: it starts no run', v_id, v_job.name
                USING HINT = format('SELECT cron.alter_job(%s, active := true);', v_id);
        END IF;
    END LOOP;
    PERFORM set_config('role', v_role, true);
    BEGIN
        v_zone := current_setting('cron.timezone', true);
    EXCEPTION WHEN insufficient_privilege THEN
        -- Who may not read it is not told; a superuser is, by windrow verify.
        NULL;
    END;
    IF
        --+ other_clock.sql
    THEN
        RAISE NOTICE 'pg_cron starts its jobs by the clock of % (cron.timezone), not in UTC as the spec and windrow plan have it', v_zone
            USING HINT = 'Set cron.timezone to GMT and restart the server.';
    END IF;
    EXECUTE format('UPDATE %I.control SET scheduled = true WHERE NOT scheduled', v_control);
END
$windrow$;
