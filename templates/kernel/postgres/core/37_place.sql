-- identity_of, server_identity: what distinguishes this database from its restored copies, clones and promoted standbys. Whoever
-- changes the port, the name of the cluster, the listen addresses or the place of the data arms anew; a restart, a minor upgrade
-- and another address of the host change nothing, unless arm() said until restart. Where the owner role may not read all settings,
-- the place of the data counts as unknown, and where it may or may no more, nothing else has changed: is_server compares the rest.
--# create function identity_of
CREATE OR REPLACE FUNCTION identity_of(p_started boolean)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT concat_ws(
        '/',
        s.system_identifier, greatest(k.timeline_id, r.min_recovery_end_timeline), current_setting('port'), d.oid, d.datname,
        current_setting('cluster_name'), current_setting('listen_addresses'),
        -- As pg_settings shows it, which takes a hundred times as long.
        CASE WHEN pg_has_role('pg_read_all_settings', 'USAGE') THEN current_setting('data_directory') ELSE '?' END,
        CASE WHEN p_started
            THEN to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', '"started "YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END
    )
    FROM pg_control_system() AS s
    -- A promotion and a recovery to a point in time begin a new timeline: known from the recovery until the next checkpoint.
    CROSS JOIN pg_control_checkpoint() AS k
    CROSS JOIN pg_control_recovery() AS r
    CROSS JOIN pg_database AS d
    WHERE d.datname = current_database();
$windrow$;
--# comment on function identity_of
COMMENT ON FUNCTION identity_of(boolean) IS
    'System identifier, timeline, port, database, name of the cluster, listen addresses and data directory, and with p_started when the '
    'server has started.';
--# create function server_identity
CREATE OR REPLACE FUNCTION server_identity()
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT identity_of(coalesce(c.server_identity LIKE '%/started %', false))
    FROM control AS c;
$windrow$;
--# comment on function server_identity
COMMENT ON FUNCTION server_identity() IS
    'What identity_of() answers, with the start of the server where that counts; arm() stores it, and a run refuses when it has changed.';

--# create function is_server
CREATE OR REPLACE FUNCTION is_server(p_armed_on text)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT coalesce(
        p_armed_on = i.now
        OR (
            starts_with(p_armed_on, t.stem)
            AND w.began IS NOT DISTINCT FROM n.began
            AND (w.place = '?' OR (n.place = '?' AND starts_with(w.place, '/')))
        ),
        false
    )
    FROM server_identity() AS i(now)
    CROSS JOIN LATERAL (
        SELECT
            CASE WHEN pg_has_role('pg_read_all_settings', 'USAGE') THEN current_setting('data_directory') ELSE '?' END AS place,
            substring(i.now FROM '/started [^/]*$') AS began
    ) AS n
    CROSS JOIN LATERAL (SELECT left(i.now, -length(n.place || coalesce(n.began, ''))) AS stem) AS t
    CROSS JOIN LATERAL (SELECT substr(p_armed_on, length(t.stem) + 1) AS rest, substring(p_armed_on FROM '/started [^/]*$') AS began) AS a
    CROSS JOIN LATERAL (SELECT left(a.rest, length(a.rest) - length(coalesce(a.began, ''))) AS place, a.began) AS w;
$windrow$;
--# comment on function is_server
COMMENT ON FUNCTION is_server(text) IS
    'Whether an identity that arm() stored is that of this server. Where the place of the data is unknown in one of both, all else counts.';

-- cluster_identity: what tells the cluster that this server belongs to from all others; the same on each of its servers.
--# create function cluster_identity
CREATE OR REPLACE FUNCTION cluster_identity()
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT concat_ws('/', 'cluster ' || current_setting('cluster_name'), s.system_identifier, d.oid, d.datname)
    FROM pg_control_system() AS s
    CROSS JOIN pg_database AS d
    WHERE d.datname = current_database()
      AND current_setting('cluster_name') <> '';
$windrow$;
--# comment on function cluster_identity
COMMENT ON FUNCTION cluster_identity() IS
    'Name of the cluster, system identifier and database; NULL without a cluster_name. arm() with a cluster stores it.';

-- not_armed: why nobody armed windrow here. Where a cluster is armed, whichever of its servers is the primary deletes. A server
-- that failed and has come back may find that another one has taken over, and cannot see it: it waits until a standby follows it.
-- Dry runs and stamps begin on a server that waits, too: they show nothing.
--# create function not_armed
CREATE OR REPLACE FUNCTION not_armed()
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
    SELECT CASE
        WHEN NOT c.armed THEN 'not armed: nothing is deleted until you arm it'
        WHEN c.server_identity LIKE 'cluster %' THEN CASE
            WHEN c.server_identity IS DISTINCT FROM cluster_identity() THEN format('armed for another %s', c.server_identity)
            WHEN pg_postmaster_start_time() > greatest(c.armed_at, r.started_at, r.finished_at, p.updated_at)
                AND NOT EXISTS (
                    -- A receiver of WAL replays nothing; a logical subscriber is no standby.
                    SELECT FROM pg_stat_replication AS w
                    WHERE w.replay_lsn IS NOT NULL
                      AND NOT EXISTS (SELECT FROM pg_replication_slots AS l WHERE l.slot_type = 'logical' AND l.active_pid = w.pid)
                )
                THEN CASE
                    WHEN EXISTS (SELECT FROM pg_stat_replication AS w WHERE w.state IS NULL)
                        THEN format('this server has started since the last run, and whether a standby follows it is not seen without the '
                            'right: GRANT pg_monitor TO %I', current_user)
                    ELSE 'this server has started since the last run, and no standby follows it: another one may have taken over'
                END
        END
        WHEN NOT is_server(c.server_identity) THEN format('armed on another server: %s', c.server_identity)
    END
    FROM control AS c
    LEFT JOIN run AS r ON r.run_id = (SELECT max(l.run_id) FROM run AS l WHERE NOT l.dry_run AND l.trigger <> 'STAMP')
    LEFT JOIN LATERAL (SELECT max(u.updated_at) AS updated_at FROM run_rule AS u WHERE u.run_id = r.run_id) AS p ON true;
$windrow$;
--# comment on function not_armed
COMMENT ON FUNCTION not_armed() IS
    'Why nothing is deleted on this server: nobody armed windrow, or for another server or cluster, or the server has come back alone; '
    'NULL if it is armed. Example: SELECT not_armed();';

-- arming: what not_armed() says, for those who watch. On a standby no run starts, whatever it says.
--# create view arming
CREATE OR REPLACE VIEW arming AS
SELECT not_armed() AS reason, pg_is_in_recovery() AS read_only;
--# comment on view arming
COMMENT ON VIEW arming IS
    'Why runs delete nothing on this server, by not_armed(); NULL if they may. read_only: it is a standby.';

-- open_hours: when scheduled runs may work.
--# create view open_hours
CREATE OR REPLACE VIEW open_hours AS
SELECT o.position, o.written, o.days, o.begins, o.ends, o.zone, o.changed_by, o.changed_at
FROM run_window AS o
UNION ALL
SELECT d.position::integer, d.written, d.days, d.begins, d.ends, d.zone, NULL, NULL
FROM spec AS s
CROSS JOIN LATERAL ROWS FROM (
    jsonb_to_recordset(s.document -> 'windows') AS (written text, days text, begins time, ends time, zone text)
) WITH ORDINALITY AS d(written, days, begins, ends, zone, position)
WHERE NOT EXISTS (SELECT FROM run_window);
--# comment on view open_hours
COMMENT ON VIEW open_hours IS
    'When scheduled runs may work: the windows written by set_windows(), otherwise those of the spec.';

-- in_window: whether a window is open at an instant. The clock of its zone decides: what it shows twice, as it is put
-- back, is in the window both times, and what it leaves out is in none.
--# create function in_window
CREATE OR REPLACE FUNCTION in_window(p_at timestamptz)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT EXISTS (
        SELECT
        FROM open_hours AS h
        CROSS JOIN LATERAL (SELECT p_at AT TIME ZONE h.zone AS now) AS clock
        CROSS JOIN LATERAL (
            SELECT
                clock.now::time AS time,
                strpos(h.days, extract(isodow FROM clock.now)::text) > 0 AS today,
                strpos(h.days, extract(isodow FROM clock.now - interval '1 day')::text) > 0 AS yesterday
        ) AS it
        WHERE CASE
            WHEN h.begins < h.ends THEN it.today AND it.time >= h.begins AND it.time < h.ends
            ELSE (it.today AND it.time >= h.begins) OR (it.yesterday AND it.time < h.ends)
        END
    );
$windrow$;
--# comment on function in_window
COMMENT ON FUNCTION in_window(timestamptz) IS
    'Whether scheduled runs may work at an instant, by open_hours. Start inclusive, end exclusive, in each window''s time zone. '
    'Example: SELECT in_window(now());';

-- take_lock: the session's lock shows that its run is in progress: it outlives COMMIT and ends with the session at the latest. Any
-- session may take any advisory lock, so nothing waits for this one: its number is free, and it counts for its own session.
--# create function take_lock
CREATE OR REPLACE FUNCTION take_lock()
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    WHILE NOT pg_try_advisory_lock((SELECT s.lock_class FROM spec AS s), 16 + floor(random() * 2147483000)::integer) LOOP
    END LOOP;
END
$windrow$;
--# comment on function take_lock
COMMENT ON FUNCTION take_lock() IS
    'Takes the lock by which others see that the run of this session continues.';

-- holds_lock: whether a session has the lock of a run, which it takes at the begin and gives back at the end.
--# create function holds_lock
CREATE OR REPLACE FUNCTION holds_lock(p_pid integer)
RETURNS boolean
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT EXISTS (
        SELECT FROM pg_locks AS l
        WHERE l.locktype = 'advisory'
          AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
          AND l.pid = p_pid
          AND l.classid::bigint = (SELECT s.lock_class FROM spec AS s)
          AND l.objid::bigint >= 16
          AND l.objsubid = 2
    );
$windrow$;
--# comment on function holds_lock
COMMENT ON FUNCTION holds_lock(integer) IS
    'Whether the session p_pid has the lock of a run.';

-- is_alive: whether the call that opened a run of the ledger is still in progress.
-- An error that nothing can catch, such as a cancel between two batches, leaves the lock of the run to a session that
-- does nothing: a session at work has a transaction, but for an instant at COMMIT.
--# create function is_alive
CREATE OR REPLACE FUNCTION is_alive(p_pid integer)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF p_pid = pg_backend_pid() OR NOT holds_lock(p_pid) THEN
        RETURN false;
    END IF;
    FOR v_look IN 1..10 LOOP
        IF EXISTS (SELECT FROM pg_locks AS l WHERE l.locktype = 'virtualxid' AND l.pid = p_pid) THEN
            RETURN true;
        END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
    RETURN false;
END
$windrow$;
--# comment on function is_alive
COMMENT ON FUNCTION is_alive(integer) IS
    'Whether the session p_pid, which opened a run, still works on it.';

-- run_unlock: gives back the locks of this session's runs.
--# create function run_unlock
CREATE OR REPLACE FUNCTION run_unlock()
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT pg_advisory_unlock(l.classid::bigint::integer, l.objid::bigint::integer)
    FROM pg_locks AS l
    WHERE l.locktype = 'advisory'
      AND l.pid = pg_backend_pid()
      AND l.classid::bigint = (SELECT s.lock_class FROM spec AS s)
      AND l.objid::bigint >= 16
      AND l.objsubid = 2;
$windrow$;
--# comment on function run_unlock
COMMENT ON FUNCTION run_unlock() IS
    'Gives back the locks of the runs of this session; a session has one run at a time.';

-- reap: closes the runs of the ledger that say running, though their call is over: its session vanished, or an error
-- that nothing can catch ended it between two batches. What they committed is kept.
--# create function reap
CREATE OR REPLACE FUNCTION reap()
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_run    run%ROWTYPE;
    v_own    boolean;
    v_closed bigint := 0;
BEGIN
    FOR v_run IN SELECT * FROM run AS r WHERE r.status = 'running' ORDER BY r.run_id LOOP
        IF NOT is_alive(v_run.backend_pid) THEN
            v_own := v_run.backend_pid = pg_backend_pid() AND holds_lock(pg_backend_pid());
            UPDATE run AS r
            SET status = CASE WHEN v_own THEN 'cancelled' ELSE 'crashed' END,
                reason = CASE WHEN v_own THEN 'cancelled' ELSE 'its session vanished; what it committed is kept' END,
                finished_at = greatest(
                    (SELECT max(p.updated_at) FROM run_rule AS p WHERE p.run_id = r.run_id),
                    (SELECT max(p.updated_at) FROM run_stamp AS p WHERE p.run_id = r.run_id)
                )
            WHERE r.run_id = v_run.run_id
              AND r.status = 'running';
            v_closed := v_closed + 1;
        END IF;
    END LOOP;
    PERFORM run_unlock();
    RETURN v_closed;
END
$windrow$;
--# comment on function reap
COMMENT ON FUNCTION reap() IS
    'Closes runs of the ledger whose call has ended, as the next run also does, and returns how many. Example: SELECT reap();';

-- is_own: a run of the ledger is driven only by the session that opened it, and only while it is open. PL/pgSQL keeps the
-- plan, as in all that is asked before every batch.
--# create function is_own
CREATE OR REPLACE FUNCTION is_own(p_run bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN EXISTS (
        SELECT FROM run AS r
        WHERE r.run_id = p_run
          AND r.status = 'running'
          AND r.backend_pid = pg_backend_pid()
    );
END
$windrow$;
--# comment on function is_own
COMMENT ON FUNCTION is_own(bigint) IS
    'Whether run p_run is open and belongs to this session.';

-- foreign_code: what code of others runs inside a batch, or inside archive_restore(). There it has the rights of the owner role;
-- but what it defers until the COMMIT runs with the caller's rights.
-- One plan serves all calls of a session: to plan costs more than to look. Each batch looks, and a database may have a hundred thousand
-- objects: no catalog is read whole, not by an index either, and no large table of hashes is made ready for rows that do not come. Where
-- a thousand things and more depend on functions, these are not looked through, but the tables.
--# create function foreign_code
CREATE OR REPLACE FUNCTION foreign_code(p_restores boolean)
RETURNS TABLE (code text, table_name text, belongs_to text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET work_mem = '256kB'
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_tables oid[];
    v_is_set boolean[];
    v_read   oid[];
    v_named  name[];
    v_called name[];
    -- Who owns a type says how its values become others. The server's own casts are not in this catalog.
    v_casts  oid[] := ARRAY(
        SELECT d.objid
        FROM pg_depend AS d
        JOIN pg_proc AS p ON p.oid = d.refobjid
        JOIN pg_roles AS q ON q.oid = p.proowner
        WHERE d.classid = 'pg_cast'::regclass
          AND d.refclassid = 'pg_proc'::regclass
          AND NOT q.rolsuper
          AND p.pronamespace <> current_schema()::regnamespace
    );
    v_calls  boolean := cardinality(v_casts) > 0 OR EXISTS (
        SELECT
        FROM (
            SELECT d.classid, d.objid, row_number() OVER () AS number
            FROM pg_depend AS d
            WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
        ) AS d
        WHERE d.classid IN ('pg_class'::regclass, 'pg_statistic_ext'::regclass, 'pg_attrdef'::regclass, 'pg_constraint'::regclass)
           OR d.number > 1000
           -- Of the types, domains and ranges call functions that anybody can write.
           OR CASE WHEN d.classid = 'pg_type'::regclass THEN (SELECT y.typtype IN ('d', 'r') FROM pg_type AS y WHERE y.oid = d.objid) END
    );
BEGIN
    IF NOT p_restores THEN
        SELECT s.named, s.called INTO v_named, v_called FROM spec AS s;
    END IF;
    -- What is only read: the owner has rights on it; or everybody has, and SQL of the spec names it.
    SELECT array_agg(DISTINCT o.oid)
    INTO v_read
    FROM (
        SELECT d.objid AS oid
        FROM pg_shdepend AS d
        WHERE d.refclassid = 'pg_authid'::regclass
          AND d.refobjid = current_user::regrole
          AND d.dbid = (SELECT b.oid FROM pg_database AS b WHERE b.datname = current_database())
          AND d.classid = 'pg_class'::regclass
          AND d.deptype = 'a'
        UNION ALL
        SELECT c.oid
        FROM generate_subscripts(v_named, 1) AS w(place)
        JOIN pg_namespace AS e ON e.nspname = v_named[w.place][1]
        JOIN pg_class AS c ON c.relname = v_named[w.place][2] AND c.relnamespace = e.oid
        WHERE c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, current_schema()::regnamespace)
          AND c.relkind IN ('r', 'p', 'v', 'm')
          AND has_any_column_privilege(c.oid, 'SELECT')
    ) AS o
    WHERE NOT p_restores;
    -- What it calls by its name.
    RETURN QUERY
    SELECT format('function %s', p.oid::regprocedure), NULL, p.proowner::regrole::text
    FROM generate_subscripts(v_called, 1) AS w(place)
    JOIN pg_namespace AS e ON e.nspname = v_called[w.place][1]
    CROSS JOIN LATERAL (
        SELECT f.oid FROM pg_proc AS f WHERE f.proname = v_called[w.place][2] AND f.pronamespace = e.oid
        UNION ALL
        SELECT n.oprcode::oid FROM pg_operator AS n WHERE n.oprname = v_called[w.place][2] AND n.oprnamespace = e.oid
    ) AS f(oid)
    JOIN pg_proc AS p ON p.oid = f.oid
    JOIN pg_roles AS q ON q.oid = p.proowner
    WHERE NOT q.rolsuper
      AND p.pronamespace <> current_schema()::regnamespace
      AND has_function_privilege(p.oid, 'EXECUTE');
    -- Many databases have no trigger, and nothing else, that calls a user-made function. The triggers of foreign keys call none. Views do
    -- in all databases, windrow's own too: they count where they are read.
    v_calls := v_calls OR EXISTS (SELECT FROM pg_class AS c WHERE c.oid = ANY (v_read) AND c.relkind = 'v');
    IF NOT v_calls AND NOT EXISTS (
        SELECT
        FROM (
            SELECT d.classid, d.refclassid, d.refobjid, row_number() OVER () AS number
            FROM pg_depend AS d
            WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
        ) AS d
        WHERE d.number > 1000
           OR CASE WHEN d.classid = 'pg_trigger'::regclass THEN d.refclassid = 'pg_operator'::regclass
               OR (SELECT p.pronamespace <> current_schema()::regnamespace FROM pg_proc AS p WHERE p.oid = d.refobjid) END
    ) THEN
        RETURN;
    END IF;
    WITH RECURSIVE reached (oid, is_set) AS (
        SELECT t.oid, cardinality(s.sets) > 0 OR p_restores
        FROM known_table AS s
        JOIN spec AS m ON true
        JOIN pg_class AS t ON t.oid = to_regclass(format('%I.%I', m.schema_name, s.name))
        WHERE CASE WHEN p_restores THEN s.is_archived ELSE s.goes OR cardinality(s.sets) > 0 END
        UNION
        SELECT x.oid, x.is_set
        FROM reached AS r
        CROSS JOIN LATERAL (
            SELECT f.conrelid, f.confdeltype <> 'c'
            FROM key_events AS g
            JOIN pg_constraint AS f ON f.oid = g.key_id AND f.contype = 'f' AND f.confrelid = r.oid
            WHERE g.table_id = r.oid
              AND f.confdeltype IN ('c', 'n', 'd')
              AND NOT p_restores
            UNION ALL
            SELECT i.inhrelid, r.is_set FROM pg_inherits AS i WHERE i.inhparent = r.oid
        ) AS x(oid, is_set)
    )
    SELECT array_agg(r.oid), array_agg(r.is_set)
    INTO v_tables, v_is_set
    FROM reached AS r;
    RETURN QUERY
    SELECT x.code, x.class::text, x.owner::text
    FROM (
        SELECT DISTINCT format('trigger %I', g.tgname) AS code, t.oid::regclass AS class, CASE WHEN NOT o.rolsuper THEN t.relowner
            WHEN NOT q.rolsuper THEN p.proowner ELSE w.proowner END::regrole AS owner
        FROM unnest(v_tables, v_is_set) AS r(oid, is_set)
        JOIN pg_class AS t ON t.oid = r.oid
        JOIN pg_roles AS o ON o.oid = t.relowner
        -- INSERT, or else DELETE or UPDATE; a row that is set may move to another partition, which is an INSERT there.
        JOIN pg_trigger AS g ON g.tgrelid = t.oid AND NOT g.tgisinternal AND g.tgenabled <> 'D' AND g.tgtype & CASE WHEN p_restores THEN 4
            WHEN r.is_set THEN 28 ELSE 24 END <> 0
        JOIN pg_proc AS p ON p.oid = g.tgfoid
        JOIN pg_roles AS q ON q.oid = p.proowner
        -- Who may make a trigger on the table of somebody else says when it fires (WHEN), whosever function it calls.
        LEFT JOIN LATERAL (
            SELECT f.proowner
            FROM pg_depend AS d
            LEFT JOIN pg_operator AS n ON d.refclassid = 'pg_operator'::regclass AND n.oid = d.refobjid
            JOIN pg_proc AS f ON f.oid = CASE WHEN d.refclassid = 'pg_proc'::regclass THEN d.refobjid ELSE n.oprcode END
            JOIN pg_roles AS u ON u.oid = f.proowner
            WHERE d.classid = 'pg_trigger'::regclass
              AND d.objid = g.oid
              AND NOT u.rolsuper
              AND f.pronamespace <> current_schema()::regnamespace
            LIMIT 1
        ) AS w ON g.tgqual IS NOT NULL
        WHERE NOT (o.rolsuper AND q.rolsuper) AND p.pronamespace <> current_schema()::regnamespace
           OR w.proowner IS NOT NULL
    ) AS x
    ORDER BY x.class::text, x.code;
    IF NOT v_calls THEN
        RETURN;
    END IF;
    -- Casts of a type that a column has, also one of a key, or that SQL of the spec names.
    RETURN QUERY
    SELECT DISTINCT format('function %s', p.oid::regprocedure), x.table_id::regclass::text, p.proowner::regrole::text
    FROM pg_cast AS k
    JOIN pg_proc AS p ON p.oid = k.castfunc
    CROSS JOIN LATERAL (VALUES (k.castsource), (k.casttarget)) AS y(oid)
    CROSS JOIN LATERAL (
        SELECT d.objid
        FROM pg_depend AS d
        WHERE d.refclassid = 'pg_type'::regclass
          AND d.refobjid = y.oid
          AND d.classid = 'pg_class'::regclass
          AND (d.objid = ANY (v_tables) OR d.objid = ANY (v_read)
            OR EXISTS (SELECT FROM pg_constraint AS f WHERE f.conrelid = d.objid AND f.contype = 'f' AND f.confrelid = ANY (v_tables)))
        UNION ALL
        SELECT NULL
        FROM generate_subscripts(v_named, 1) AS w(place)
        JOIN pg_namespace AS e ON e.nspname = v_named[w.place][1]
        JOIN pg_type AS n ON n.typname = v_named[w.place][2] AND n.typnamespace = e.oid
        WHERE n.oid = y.oid
    ) AS x(table_id)
    WHERE k.oid = ANY (v_casts);
    RETURN QUERY
    WITH RECURSIVE planned (oid, is_set) AS (
        (
            SELECT r.oid, r.is_set
            FROM unnest(v_tables, v_is_set) AS r(oid, is_set)
            UNION
            SELECT o.oid, false
            FROM unnest(v_read) AS o(oid)
            UNION
            -- At both ends of a foreign key the server looks for rows, whatever it does with them.
            SELECT e.oid, false
            FROM unnest(v_tables) AS r(oid)
            JOIN pg_trigger AS g ON g.tgrelid = r.oid AND g.tgconstraint <> 0
            JOIN pg_constraint AS f ON f.oid = g.tgconstraint AND f.contype = 'f'
            CROSS JOIN LATERAL (VALUES (f.conrelid), (f.confrelid)) AS e(oid)
        )
        UNION
        -- What a view reads, and partitions.
        SELECT x.oid, x.is_set
        FROM planned AS r
        CROSS JOIN LATERAL (
            SELECT d.refobjid, false
            FROM pg_class AS v
            JOIN pg_rewrite AS w ON w.ev_class = v.oid AND w.ev_type = '1'
            JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
            WHERE v.oid = r.oid
              AND v.relkind = 'v'
            UNION ALL
            SELECT i.inhrelid, r.is_set FROM pg_inherits AS i WHERE i.inhparent = r.oid
        ) AS x(oid, is_set)
    ),
    -- What a column that is set calls: defaults, generated columns, checks of tables and domains, indexes, partitions. The planner calls
    -- functions of indexes, statistics, checks and partitions, even of tables that are only read; and a view calls its own.
    parts (table_id, classid, objid, is_set) AS (
        SELECT r.oid, k.classid, k.objid, r.is_set
        FROM planned AS r
        CROSS JOIN LATERAL (
            SELECT 'pg_class'::regclass, i.indexrelid
            FROM pg_index AS i
            WHERE i.indrelid = r.oid
              AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
            UNION ALL
            SELECT 'pg_statistic_ext'::regclass, s.oid FROM pg_statistic_ext AS s WHERE s.stxrelid = r.oid
            UNION ALL
            SELECT 'pg_attrdef'::regclass, f.oid FROM pg_attrdef AS f WHERE f.adrelid = r.oid AND r.is_set
            UNION ALL
            SELECT 'pg_constraint'::regclass, c.oid FROM pg_constraint AS c WHERE c.conrelid = r.oid AND c.contype IN ('c', 'x', 'f')
            UNION ALL
            SELECT 'pg_rewrite'::regclass, w.oid FROM pg_rewrite AS w JOIN pg_class AS v ON v.oid = w.ev_class
                WHERE w.ev_class = r.oid AND w.ev_type = '1' AND v.relkind = 'v'
            UNION ALL
            SELECT 'pg_class'::regclass, r.oid WHERE r.is_set
            UNION ALL
            SELECT 'pg_class'::regclass, t.partrelid FROM pg_partitioned_table AS t WHERE t.partrelid = r.oid AND NOT r.is_set
        ) AS k(classid, objid)
    ),
    -- The types of columns, and those that expressions, conditions of triggers and SQL of the spec name, with what they are made of: a
    -- domain has checks, or a default, and a range a function. Others are the server's own, or made by a superuser.
    types (table_id, oid, kind) AS (
        SELECT k.table_id, y.oid, y.typtype
        FROM (
            SELECT o.table_id, d.refobjid
            FROM parts AS o
            JOIN pg_depend AS d ON d.classid = o.classid AND d.objid = o.objid AND d.refclassid = 'pg_type'::regclass
            WHERE o.is_set
               OR o.classid = 'pg_rewrite'::regclass
            UNION ALL
            SELECT r.oid, d.refobjid
            FROM unnest(v_tables, v_is_set) AS r(oid, is_set)
            JOIN pg_trigger AS g ON g.tgrelid = r.oid AND g.tgqual IS NOT NULL AND NOT g.tgisinternal AND g.tgenabled <> 'D'
                AND g.tgtype & CASE WHEN p_restores THEN 4 ELSE 24 + 4 * r.is_set::integer END <> 0
            JOIN pg_depend AS d ON d.classid = 'pg_trigger'::regclass AND d.objid = g.oid AND d.refclassid = 'pg_type'::regclass
            UNION ALL
            SELECT NULL, n.oid
            FROM generate_subscripts(v_named, 1) AS w(place)
            JOIN pg_namespace AS e ON e.nspname = v_named[w.place][1]
            JOIN pg_type AS n ON n.typname = v_named[w.place][2] AND n.typnamespace = e.oid
            WHERE n.typtype IN ('d', 'r', 'm')
               OR n.typtype = 'c' AND (SELECT c.relkind = 'c' FROM pg_class AS c WHERE c.oid = n.typrelid)
            UNION ALL
            -- A row of a table that a text becomes, not one that is read.
            SELECT NULL, n.oid
            FROM generate_subscripts(v_called, 1) AS w(place)
            JOIN pg_namespace AS e ON e.nspname = v_called[w.place][1]
            JOIN pg_type AS n ON n.typname = v_called[w.place][2] AND n.typnamespace = e.oid
            WHERE n.typtype = 'c'
        ) AS k(table_id, oid)
        JOIN pg_type AS y ON y.oid = k.oid
        UNION
        SELECT t.table_id, n.oid, n.typtype
        FROM types AS t
        JOIN pg_type AS y ON y.oid = t.oid
        CROSS JOIN LATERAL (
            VALUES (y.typbasetype), (y.typelem)
            UNION ALL
            SELECT a.atttypid FROM pg_attribute AS a WHERE t.kind = 'c' AND a.attrelid = y.typrelid AND a.attnum > 0
            UNION ALL
            SELECT g.rngsubtype FROM pg_range AS g WHERE t.kind = 'r' AND g.rngtypid = y.oid
            UNION ALL
            SELECT g.rngtypid FROM pg_range AS g WHERE t.kind = 'm' AND g.rngmultitypid = y.oid
            UNION ALL
            SELECT d.refobjid
            FROM pg_constraint AS c
            JOIN pg_depend AS d ON d.classid = 'pg_constraint'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_type'::regclass
            WHERE t.kind = 'd'
              AND c.contypid = y.oid
            UNION ALL
            SELECT d.refobjid
            FROM pg_depend AS d
            WHERE t.kind = 'd'
              AND d.classid = 'pg_type'::regclass
              AND d.objid = y.oid
              AND d.refclassid = 'pg_type'::regclass
        ) AS m(oid)
        JOIN pg_type AS n ON n.oid = m.oid
        WHERE m.oid <> 0
    )
    SELECT x.code, x.class::text, x.owner::text
    FROM (
        SELECT DISTINCT format('function %s', p.oid::regprocedure) AS code, k.table_id::regclass AS class, p.proowner::regrole AS owner
        FROM (
            SELECT o.table_id, o.classid, o.objid FROM parts AS o
            UNION
            SELECT t.table_id, 'pg_constraint'::regclass, c.oid FROM types AS t JOIN pg_constraint AS c ON c.contypid = t.oid
                WHERE t.kind = 'd'
            UNION
            SELECT t.table_id, 'pg_type'::regclass, t.oid FROM types AS t WHERE t.kind IN ('d', 'r')
        ) AS k
        JOIN pg_depend AS d ON d.classid = k.classid AND d.objid = k.objid
        LEFT JOIN pg_operator AS n ON d.refclassid = 'pg_operator'::regclass AND n.oid = d.refobjid
        JOIN pg_proc AS p ON p.oid = CASE WHEN d.refclassid = 'pg_proc'::regclass THEN d.refobjid ELSE n.oprcode END
        JOIN pg_roles AS q ON q.oid = p.proowner
        WHERE NOT q.rolsuper
    ) AS x
    ORDER BY x.class::text, x.code;
END
$windrow$;
--# comment on function foreign_code
COMMENT ON FUNCTION foreign_code(boolean) IS
    'Code that is not a superuser''s and runs when rows are read, deleted or set, or (p_restores) when archived rows are restored: '
    'triggers and functions of the tables and of those that their foreign keys reach, and what SQL of the spec calls (no table_name).';

-- check_caller: a caller with all rights must not lend them to the application. A deferred trigger runs at COMMIT with the rights
-- of the caller, before version 18, and a trigger of any kind may bring it about; a cursor WITH HOLD is read then, on any
-- version. So a superuser's call is refused where such code is, before the run and before each COMMIT: until then the locks
-- of the batch keep the triggers as they are. archive_restore() commits nothing, but its caller will.
--# create function check_caller
CREATE OR REPLACE FUNCTION check_caller(p_caller text, p_restores boolean)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_code record;
BEGIN
    -- This includes superusers after SET ROLE or SET SESSION AUTHORIZATION, and everybody who can become a superuser: before version
    -- 16 also who may create roles, since such a role may grant any role that is no superuser.
    IF NOT EXISTS (
        SELECT FROM pg_roles AS r
        CROSS JOIN pg_stat_get_activity(pg_backend_pid()) AS a
        WHERE (r.rolsuper OR r.rolname IN ('pg_execute_server_program', 'pg_write_server_files')
              OR r.rolcreaterole AND current_setting('server_version_num')::integer < 160000)
          AND (pg_has_role(p_caller, r.oid, 'MEMBER') OR pg_has_role(session_user, r.oid, 'MEMBER')
              OR pg_has_role(a.usesysid, r.oid, 'MEMBER'))
    ) THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM pg_cursors AS c WHERE c.is_holdable) THEN
        RAISE EXCEPTION 'a cursor WITH HOLD is open, and COMMIT would read it with the rights of a superuser'
            USING ERRCODE = '42501', HINT = format('Where a trigger of the application opened it, call this as a member of %I that is no '
                'superuser; else close it first.', current_schema() || '_operator');
    END IF;
    IF current_setting('server_version_num')::integer >= 180000 THEN
        RETURN;
    END IF;
    -- An older snapshot does not show a trigger that was created since: then nobody else may be able to create one.
    IF p_restores AND current_setting('transaction_isolation') <> 'read committed' AND EXISTS (
        SELECT
        FROM known_table AS s
        JOIN spec AS n ON true
        JOIN pg_class AS t ON t.oid = to_regclass(format('%I.%I', n.schema_name, s.name))
        CROSS JOIN LATERAL (
            SELECT t.relowner
            UNION ALL
            SELECT a.grantee FROM aclexplode(t.relacl) AS a WHERE a.privilege_type = 'TRIGGER'
        ) AS m(oid)
        LEFT JOIN pg_roles AS r ON r.oid = m.oid
        WHERE s.is_archived
          AND r.rolsuper IS NOT TRUE
          AND m.oid <> current_user::regrole
    ) THEN
        RAISE EXCEPTION 'the transaction is %, and would not see a trigger that was created after it began',
            current_setting('transaction_isolation')
            USING ERRCODE = '25001', HINT = format('BEGIN ISOLATION LEVEL READ COMMITTED, or call this as a member of %I that is no '
                'superuser.', current_schema() || '_operator');
    END IF;
    FOR v_code IN SELECT * FROM foreign_code(p_restores) AS c LOOP
        RAISE EXCEPTION '%', format('%s %s belongs to %s, and what it defers would run at COMMIT with the rights of a superuser',
            v_code.code, coalesce('of table ' || v_code.table_name, 'in SQL of the spec'), v_code.belongs_to)
            USING ERRCODE = '42501', HINT = format('Before PostgreSQL 18 a deferred trigger runs with the rights of the caller: call this '
                'as a member of %I that is no superuser, and before version 16 may not create roles.', current_schema() || '_operator');
    END LOOP;
END
$windrow$;
--# comment on function check_caller
COMMENT ON FUNCTION check_caller(text, boolean) IS
    'Raises 42501 where a superuser calls what commits, or (p_restores) brings archived rows back, and code of somebody else could act at '
    'the COMMIT with his rights.';
