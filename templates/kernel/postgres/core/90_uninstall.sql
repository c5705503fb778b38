-- Dropping an index waits for its readers.
--# wait without a limit
SET statement_timeout = 0;

--# unschedule
DO $windrow$
DECLARE
    v_control pg_catalog.text := pg_catalog.current_setting('windrow.document')::pg_catalog.jsonb OPERATOR(pg_catalog.->>) 'control';
    v_login   pg_catalog.text := pg_catalog.current_setting('windrow.document')::pg_catalog.jsonb OPERATOR(pg_catalog.->>) 'login';
    v_role    pg_catalog.text := pg_catalog.current_setting('role');
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    IF EXISTS (SELECT FROM pg_catalog.pg_extension AS e WHERE e.extname = 'pg_cron') THEN
        PERFORM cron.unschedule(j.jobid)
        FROM cron.job AS j
        WHERE starts_with(j.jobname || ' ', v_control || ' ')
          AND (j.database = pg_catalog.current_database() OR NOT EXISTS (SELECT FROM pg_catalog.pg_database AS d
              WHERE d.datname = j.database));
        -- pg_cron shows everybody except superusers only their own jobs.
        IF EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = v_login)
            AND pg_catalog.pg_has_role(current_user, v_login, 'MEMBER') THEN
            PERFORM pg_catalog.set_config('role', v_login, true);
            PERFORM cron.unschedule(j.jobid)
            FROM cron.job AS j
            WHERE starts_with(j.jobname || ' ', v_control || ' ')
              AND (j.database = pg_catalog.current_database() OR NOT EXISTS (SELECT FROM pg_catalog.pg_database AS d
                  WHERE d.datname = j.database));
            PERFORM pg_catalog.set_config('role', v_role, true);
        END IF;
    END IF;
END
$windrow$;

-- The ledger, the policies and the holds are dropped with the schema: first copy what you must keep. Triggers that refuse
-- orphans are dropped with their functions. A batch in progress is waited for, and the next one finds nothing.
-- Archived rows exist nowhere else. They are dropped only after: SET windrow.drop_archive = 'yes';
--# drop schema
DO $windrow$
DECLARE
    v_told    pg_catalog.jsonb := pg_catalog.current_setting('windrow.document')::pg_catalog.jsonb;
    v_control pg_catalog.text;
    v_owner   pg_catalog.text;
    v_archive pg_catalog.text;
    v_any     boolean;
    v_schemas pg_catalog.text[];
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'an uninstallation needs the isolation level read committed'
            USING ERRCODE = '25001', HINT = 'An old snapshot would hide what a run is archiving. SET default_transaction_isolation = '
                '''read committed''; then apply this file again.';
    END IF;
    v_control := v_told ->> 'control';
    v_owner := v_told ->> 'owner';
    -- That of archived partitions, too.
    v_schemas := ARRAY(
        SELECT quote_ident(n.nspname)
        FROM pg_namespace AS n
        WHERE n.nspname = v_control
           OR pg_get_userbyid(n.nspowner) = v_owner AND right(n.nspname, 8) = '_archive'
    );
    -- The schema is its owner's.
    IF EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = v_owner) AND NOT pg_has_role(current_user, v_owner, 'USAGE') THEN
        EXECUTE format('GRANT %I TO %I', v_owner, current_user);
        PERFORM set_config('windrow.joined', 'yes', false);
    END IF;
    -- A batch that has read some other table first may wait for this one, and this one for it: the one that gives way tries again.
    FOR v_try IN 1..5 LOOP
        BEGIN
            IF to_regclass(format('%I.run', v_control)) IS NOT NULL THEN
                EXECUTE format('LOCK TABLE %I.run', v_control);
            END IF;
            IF current_setting('windrow.drop_archive', true) IS DISTINCT FROM 'yes' THEN
                FOR v_archive, v_any IN
                    SELECT a.attrelid::regclass::text, NULL::boolean
                    FROM pg_attribute AS a
                    JOIN pg_class AS c ON c.oid = a.attrelid
                    WHERE c.relnamespace = to_regnamespace(quote_ident(v_control))
                      AND c.relkind = 'r'
                      AND a.attname = 'windrow_row_id'
                    UNION ALL
                    -- A partition has the indexes of the application still, whose functions the planner would call with all rights of
                    -- whoever uninstalls: no statement reads it.
                    SELECT c.oid::regclass::text, true
                    FROM unnest(v_schemas) AS s(name)
                    JOIN pg_class AS c ON c.relnamespace = s.name::regnamespace AND c.relkind = 'r'
                    WHERE s.name <> quote_ident(v_control)
                      AND pg_relation_size(c.oid) > 0
                    ORDER BY 1
                LOOP
                    -- Row security may hide rows, also from their owner.
                    IF v_any IS NULL THEN
                        EXECUTE format('SELECT row_security_active(%1$L::text) OR EXISTS (SELECT FROM %1$s)', v_archive) INTO v_any;
                    END IF;
                    IF v_any THEN
                        RAISE EXCEPTION 'there are archived rows in %', v_archive
                            USING ERRCODE = '55000', HINT = 'Copy them first. Then uninstall with --drop-archive, or in psql: SET '
                                'windrow.drop_archive = ''yes'';';
                    END IF;
                END LOOP;
            END IF;
            IF cardinality(v_schemas) > 0 THEN
                EXECUTE format('DROP SCHEMA %s CASCADE', array_to_string(v_schemas, ', '));
            END IF;
            EXIT;
        EXCEPTION WHEN deadlock_detected THEN
            IF v_try = 5 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
END
$windrow$;

--+ indexes
-- Roles are shared by all databases of the server: one that is still needed elsewhere is kept.
--# drop roles
DO $windrow$
DECLARE
    v_told   pg_catalog.jsonb := pg_catalog.current_setting('windrow.document')::pg_catalog.jsonb;
    v_role   pg_catalog.text;
    v_joined boolean;
    v_given  pg_catalog.text[];
    v_give   pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    -- What a role owns is dropped with it.
    IF to_regnamespace(quote_ident(v_told ->> 'control')) IS NOT NULL THEN
        RAISE EXCEPTION 'the schema % is still there: the roles are kept', v_told ->> 'control' USING ERRCODE = '55000';
    END IF;
    FOREACH v_role IN ARRAY ARRAY[v_told ->> 'login', v_told ->> 'operator', v_told ->> 'auditor', v_told ->> 'owner'] LOOP
        IF EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = v_role) THEN
            -- Only a member may take the rights away that a role has here.
            v_joined := NOT pg_has_role(current_user, v_role, 'USAGE') OR v_role = v_told ->> 'owner'
                AND current_setting('windrow.joined', true) = 'yes';
            IF v_joined THEN
                EXECUTE format('GRANT %I TO %I', v_role, current_user);
            END IF;
            -- That takes away what the role may do with other databases and with tablespaces, too: if another database needs the role,
            -- it is given again.
            v_given := ARRAY(
                SELECT format('GRANT %s ON %s TO %I%s', a.privilege_type, s.object, v_role, CASE WHEN a.is_grantable
                    THEN ' WITH GRANT OPTION' ELSE '' END)
                FROM (
                    SELECT format('DATABASE %I', b.datname), b.datacl, b.datdba
                    FROM pg_database AS b
                    WHERE b.datname <> current_database()
                    UNION ALL
                    SELECT format('TABLESPACE %I', t.spcname), t.spcacl, t.spcowner
                    FROM pg_tablespace AS t
                ) AS s(object, acl, owner)
                CROSS JOIN LATERAL aclexplode(s.acl) AS a
                WHERE a.grantee = quote_ident(v_role)::regrole
                  -- The grants that are taken away are the owner's, or those of who uninstalls.
                  AND pg_has_role(current_user, a.grantor, 'USAGE')
                  AND (a.grantor = s.owner OR NOT pg_has_role(current_user, s.owner, 'USAGE'))
                  AND EXISTS (
                      SELECT FROM pg_shdepend AS d
                      WHERE d.refclassid = 'pg_authid'::regclass
                        AND d.refobjid = a.grantee
                        AND d.dbid NOT IN (SELECT 0::oid UNION ALL SELECT o.oid FROM pg_database AS o WHERE o.datname = current_database())
                  )
            );
            EXECUTE format('DROP OWNED BY %I', v_role);
            FOREACH v_give IN ARRAY v_given LOOP
                EXECUTE v_give;
            END LOOP;
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
