-- How rows leave the archive for good. What is composed here at run time names archives, by table known_archive.

-- in_archives: a query over all archives. p_query is a format whose first value is an archive, and its second one the table
-- whose rows are in it. An archive that the spec does not name any more may have been dropped by hand.
--# create function in_archives
CREATE OR REPLACE FUNCTION in_archives(p_query text)
RETURNS text
LANGUAGE sql STABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT string_agg(format(p_query, k.archive, k.name), ' UNION ALL ' ORDER BY k.position)
    FROM known_archive AS k
    WHERE k.rules <> '{}'
       OR to_regclass(quote_ident(k.archive)) IS NOT NULL;
$windrow$;
--# comment on function in_archives
COMMENT ON FUNCTION in_archives(text) IS
    'A query for the rows that p_query finds in each archive (%1$I) of a table (%2$L).';

-- next_archive: the next run with archived rows. Like what follows it looks along the key of an archive, which may be big: a plan
-- that reads the whole table is never the better one.
--# create function next_archive
CREATE OR REPLACE FUNCTION next_archive(p_after bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET jit = off
SET enable_seqscan = off
AS $windrow$
DECLARE
    v_run bigint;
BEGIN
    EXECUTE format(
        'SELECT min(n.run) FROM (%s) AS n(run)',
        concat_ws(
            ' UNION ALL ',
            in_archives('SELECT min(a.windrow_run_id) FROM %1$I AS a WHERE a.windrow_run_id > $1'),
            'SELECT min(p.run_id) FROM partition_archive AS p WHERE p.run_id > $1 AND num_nulls(p.restored_at, p.dropped_at) = 2'
        )
    )
    INTO v_run
    USING p_after;
    RETURN v_run;
END
$windrow$;
--# comment on function next_archive
COMMENT ON FUNCTION next_archive(bigint) IS
    'The first run after p_after of which rows or partitions are archived; NULL if there is none.';

-- archive_last: when the last row of a run was archived.
--# create function archive_last
CREATE OR REPLACE FUNCTION archive_last(p_run bigint)
RETURNS timestamptz
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET jit = off
SET enable_seqscan = off
AS $windrow$
DECLARE
    v_last timestamptz;
BEGIN
    EXECUTE format(
        'SELECT max(n.at) FROM (%s) AS n(at)',
        concat_ws(
            ' UNION ALL ',
            in_archives('(SELECT a.windrow_archived_at FROM %1$I AS a WHERE a.windrow_run_id = $1 ORDER BY a.windrow_row_id DESC LIMIT 1)'),
            'SELECT max(p.archived_at) FROM partition_archive AS p WHERE p.run_id = $1 AND num_nulls(p.restored_at, p.dropped_at) = 2'
        )
    )
    INTO v_last
    USING p_run;
    RETURN v_last;
END
$windrow$;
--# comment on function archive_last
COMMENT ON FUNCTION archive_last(bigint) IS
    'When the last of the archived rows and partitions of a run came into the archive; NULL if there is none.';

-- keep_archive: the ledger does not forget a run while rows of it are archived.
--# create function keep_archive
CREATE OR REPLACE FUNCTION keep_archive(p_days bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_run bigint;
BEGIN
    FOR v_run IN
        SELECT r.run_id
        FROM run AS r
        WHERE r.finished_at < clock_timestamp() - make_interval(days => p_days::integer)
          AND NOT EXISTS (SELECT FROM kept_run AS k WHERE k.run_id = r.run_id)
        ORDER BY r.run_id
    LOOP
        IF archive_last(v_run) IS NOT NULL THEN
            INSERT INTO kept_run (run_id) VALUES (v_run) ON CONFLICT (run_id) DO NOTHING;
        END IF;
    END LOOP;
    DELETE FROM unarchived AS u
    WHERE u.done_at < clock_timestamp() - make_interval(days => p_days::integer)
      AND NOT EXISTS (SELECT FROM run AS r WHERE r.run_id = u.run_id);
    DELETE FROM partition_archive AS p
    WHERE coalesce(p.restored_at, p.dropped_at) < clock_timestamp() - make_interval(days => p_days::integer)
      AND NOT EXISTS (SELECT FROM run AS r WHERE r.run_id = p.run_id);
END
$windrow$;
--# comment on function keep_archive
COMMENT ON FUNCTION keep_archive(bigint) IS
    'Notes in table kept_run which runs older than p_days have archived rows; forgets what left the archive of runs that are forgotten.';

-- archive_counts: how many rows are archived.
--# create function archive_counts
CREATE OR REPLACE FUNCTION archive_counts(p_run bigint)
RETURNS TABLE (name text, run bigint, rows bigint, last timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    -- A table may have both: one rule archives its partitions, another one copies of its rows.
    RETURN QUERY EXECUTE format(
        'SELECT n.name, n.run, sum(n.rows)::bigint, max(n.last) FROM (%s) AS n(name, run, rows, last) GROUP BY n.name, n.run',
        concat_ws(
            ' UNION ALL ',
            in_archives(
                'SELECT %2$L, a.windrow_run_id, count(*), max(a.windrow_archived_at) FROM %1$I AS a '
                'WHERE $1 IS NULL OR a.windrow_run_id = $1 GROUP BY a.windrow_run_id'
            ),
            'SELECT p.table_name, p.run_id, p.partition_rows, p.archived_at FROM partition_archive AS p '
            'WHERE ($1 IS NULL OR p.run_id = $1) AND num_nulls(p.restored_at, p.dropped_at) = 2'
        )
    )
    USING p_run;
END
$windrow$;
--# comment on function archive_counts
COMMENT ON FUNCTION archive_counts(bigint) IS
    'The archived rows by table and run, and when the last one came; p_run: of this one. Rows of partitions are not counted once more.';

-- archive_of: the archived rows of one run, or of all that are old enough, counted.
--# create function archive_of
CREATE OR REPLACE FUNCTION archive_of(p_run bigint, p_before timestamptz)
RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
    SELECT json_build_object(
        'rows', coalesce(sum(t.rows), 0),
        'runs', coalesce(json_agg(json_build_object(
            'run', t.run,
            'trigger', r.trigger,
            'status', r.status,
            'started_at', r.started_at,
            'started_by', r.started_by,
            'archived_at', t.last,
            'rules', (
                SELECT coalesce(json_agg(p.rule ORDER BY l.position), '[]')
                FROM run_rule AS p
                LEFT JOIN rule AS l ON l.rule = p.rule
                WHERE p.run_id = t.run
                  AND p.deleted_rows > 0
            ),
            'rows', t.rows,
            'tables', t.tables,
            'partitions', (
                SELECT json_agg(json_build_object(
                    'rule', p.rule,
                    'partition', coalesce(p.family, p.name),
                    'table', p.table_name,
                    'from', p.from_bound,
                    'to', p.to_bound,
                    'rows', p.partition_rows,
                    'counted', p.counted,
                    'bytes', p.bytes,
                    'archive', format('%s.%s', p.archive_schema, p.archive)
                ) ORDER BY p.place)
                FROM partition_archive AS p
                WHERE p.run_id = t.run
                  AND num_nulls(p.restored_at, p.dropped_at) = 2
            ),
            'restored', u.restored,
            'dropped', u.dropped
        ) ORDER BY t.run), '[]')
    )
    FROM (
        SELECT c.run, sum(c.rows) AS rows, max(c.last) AS last, json_object_agg(c.name, c.rows ORDER BY k.position) AS tables
        FROM archive_counts(p_run) AS c
        LEFT JOIN known_archive AS k ON k.name = c.name
        GROUP BY c.run
    ) AS t
    LEFT JOIN run AS r ON r.run_id = t.run
    CROSS JOIN LATERAL (
        SELECT
            coalesce(sum(x.table_rows) FILTER (WHERE x.action = 'RESTORED'), 0) AS restored,
            coalesce(sum(x.table_rows) FILTER (WHERE x.action <> 'RESTORED'), 0) AS dropped
        FROM unarchived AS x
        WHERE x.run_id = t.run
    ) AS u
    WHERE p_before IS NULL OR t.last < p_before AND r.status IS DISTINCT FROM 'running';
$windrow$;
--# comment on function archive_of
COMMENT ON FUNCTION archive_of(bigint, timestamptz) IS
    'What archive_list() answers, of one run or of those whose last row was archived before an instant.';

-- archive_options: the options run and older_than, of which a list needs none and a drop one.
--# create function archive_options
CREATE OR REPLACE FUNCTION archive_options(p_options jsonb, OUT o_run bigint, OUT o_before timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF p_options ? 'run' THEN
        IF (p_options ->> 'run' ~ '^[1-9][0-9]{0,17}$') IS NOT TRUE THEN
            RAISE EXCEPTION 'run is not the number of a run: %', quote_nullable(p_options ->> 'run')
                USING ERRCODE = '22023',
                    HINT = format('Write it like {"run": 17}; SELECT %I.archive_list() has the runs.', current_schema());
        END IF;
        o_run := (p_options ->> 'run')::bigint;
    END IF;
    IF p_options ? 'older_than' THEN
        IF p_options ->> 'older_than' IS NULL THEN
            RAISE EXCEPTION 'older_than is not a duration'
                USING ERRCODE = '22023', HINT = 'Write it like {"older_than": "90d"}.';
        END IF;
        o_before := clock_timestamp() - make_interval(secs => seconds(p_options ->> 'older_than'));
    END IF;
END
$windrow$;
--# comment on function archive_options
COMMENT ON FUNCTION archive_options(jsonb) IS
    'The options run and older_than of what works on the archive; raises 22023 with a hint for what makes no sense.';

-- archive_list: which runs have archived rows.
--# create function archive_list
CREATE OR REPLACE FUNCTION archive_list(p_options jsonb DEFAULT '{}')
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
BEGIN
    PERFORM check_options(p_options, ARRAY['run', 'older_than']);
    RETURN (SELECT archive_of(o.o_run, o.o_before) FROM archive_options(p_options) AS o);
END
$windrow$;
--# comment on function archive_list
COMMENT ON FUNCTION archive_list(jsonb) IS
    'The runs that have archived rows, with the rows by table, and how many were already restored or dropped. Reads the whole '
    'archive, unless a run is named. Examples: SELECT archive_list(); SELECT archive_list(''{"older_than": "90d"}'');';

-- note_left: that rows of a table have left the archive. p_by_run: the run that prunes, or 0.
--# create function note_left
CREATE OR REPLACE FUNCTION note_left(p_run bigint, p_by_run bigint, p_table text, p_rows bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_action constant text := CASE WHEN p_by_run = 0 THEN 'DROPPED' ELSE 'PRUNED' END;
BEGIN
    UPDATE unarchived AS u
    SET table_rows = u.table_rows + p_rows,
        done_at = clock_timestamp()
    WHERE u.run_id = p_run
      AND u.action = v_action
      AND u.by_run = p_by_run
      AND u.table_name = p_table
      AND u.done_by = session_user;
    IF NOT FOUND THEN
        INSERT INTO unarchived (run_id, action, by_run, table_name, table_rows) VALUES (p_run, v_action, p_by_run, p_table, p_rows);
    END IF;
END
$windrow$;
--# comment on function note_left
COMMENT ON FUNCTION note_left(bigint, bigint, text, bigint) IS
    'Notes in table unarchived that rows of a table have left the archive of run p_run for good; archive_step() calls it.';

-- archive_drop_partition: drops an archived partition. What reads it, such as a dump, is not waited for long, and where a run prunes,
-- which then goes on behind it, still less. Who restores or drops it has its row.
--# create function archive_drop_partition
CREATE OR REPLACE FUNCTION archive_drop_partition(p_run bigint, p_place integer, p_prunes boolean)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $windrow$
DECLARE
    v_part partition_archive%ROWTYPE;
BEGIN
    IF p_prunes THEN
        PERFORM set_config('lock_timeout', '200ms', true);
    END IF;
    BEGIN
        SELECT *
        INTO v_part
        FROM partition_archive AS p
        WHERE p.run_id = p_run
          AND p.place = p_place
          AND num_nulls(p.restored_at, p.dropped_at) = 2
        FOR UPDATE;
        IF NOT FOUND THEN
            -- Somebody else was first.
            RETURN false;
        END IF;
        EXECUTE format('DROP TABLE IF EXISTS %I.%I', v_part.archive_schema, v_part.archive);
    EXCEPTION WHEN lock_not_available OR deadlock_detected OR dependent_objects_still_exist THEN
        IF NOT p_prunes THEN
            RAISE;
        END IF;
        RAISE WARNING 'the archived partition % is not pruned: %', coalesce(v_part.archive, format('%s of run %s', p_place, p_run)),
            SQLERRM;
        RETURN false;
    END;
    UPDATE partition_archive AS p
    SET dropped_at = clock_timestamp()
    WHERE p.run_id = p_run
      AND p.place = p_place;
    RETURN true;
END
$windrow$;
--# comment on function archive_drop_partition
COMMENT ON FUNCTION archive_drop_partition(bigint, integer, boolean) IS
    'Drops an archived partition, as noted in table partition_archive; false where it has left the archive meanwhile, or others use it '
    'and a run prunes. archive_step() calls it.';

-- archive_step: one bounded step of dropping or pruning: it looks for the next run (io_place is 0), or drops the next partition of
-- that run (1), or deletes up to 10,000 rows of it from the archive number io_place - 1, behind row io_after. io_run is NULL when all
-- is done. p_by_run is the run at whose end this prunes, or 0.
--# create function archive_step
CREATE OR REPLACE FUNCTION archive_step(
    p_by_run bigint, p_only bigint, p_before timestamptz,
    INOUT io_run bigint, INOUT io_place integer, INOUT io_after bigint, OUT o_rows bigint
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
SET jit = off
SET enable_seqscan = off
AS $windrow$
DECLARE
    v_known record;
    v_last  bigint;
BEGIN
    -- Callers of this routine alone may drop rows, but not in the name of a run.
    IF p_by_run <> 0 AND (
        p_only IS NOT NULL
        OR NOT EXISTS (SELECT FROM run AS r WHERE r.run_id = p_by_run AND r.backend_pid = pg_backend_pid())
    ) THEN
        RAISE EXCEPTION 'run % does not prune', p_by_run
            USING ERRCODE = '55000', HINT = format('CALL %I.archive_drop(...) drops archived rows.', current_schema());
    END IF;
    o_rows := 0;
    -- Somebody has made archive_days longer, or 0, cancelled the run, or begun an installation, since it began to prune.
    IF p_by_run <> 0 AND (p_before <= archive_cutoff(p_by_run)) IS NOT TRUE THEN
        io_run := NULL;
        RETURN;
    END IF;
    IF io_place = 0 THEN
        io_run := CASE WHEN p_only IS NULL THEN next_archive(io_run) WHEN io_run = 0 THEN p_only END;
        -- The oldest first, up to one that is too young or still in progress.
        IF p_only IS NULL AND archive_last(io_run) >= p_before
            OR EXISTS (SELECT FROM run AS r WHERE r.run_id = io_run AND r.status = 'running')
        THEN
            io_run := NULL;
        END IF;
        io_place := CASE WHEN io_run IS NULL THEN 0 ELSE 1 END;
        io_after := 0;
        RETURN;
    END IF;
    -- Whoever calls this with a place of their own asks for no more than a prune, or archive_drop(), comes to.
    IF p_by_run <> 0 AND archive_last(io_run) >= p_before
        OR EXISTS (SELECT FROM run AS r WHERE r.run_id = io_run AND r.status = 'running')
    THEN
        RAISE EXCEPTION 'run % is not one whose archived rows may go', io_run USING ERRCODE = '55000';
    END IF;
    IF io_place = 1 THEN
        SELECT p.place, p.table_name, p.partition_rows
        INTO v_known
        FROM partition_archive AS p
        WHERE p.run_id = io_run
          AND p.place > io_after
          AND num_nulls(p.restored_at, p.dropped_at) = 2
        ORDER BY p.place
        LIMIT 1;
        IF FOUND THEN
            io_after := v_known.place;
            -- What is left there is looked for by the next run; this one goes on with the rest.
            IF archive_drop_partition(io_run, v_known.place, p_by_run <> 0) THEN
                o_rows := v_known.partition_rows;
                PERFORM note_left(io_run, p_by_run, v_known.table_name, o_rows);
            END IF;
            RETURN;
        END IF;
        io_after := 0;
    END IF;
    SELECT k.name, k.archive
    INTO v_known
    FROM known_archive AS k
    WHERE k.position = io_place - 1
      AND to_regclass(quote_ident(k.archive)) IS NOT NULL;
    IF FOUND THEN
        EXECUTE format(
            'SELECT max(b.windrow_row_id) FROM (SELECT a.windrow_row_id FROM %I AS a '
            'WHERE a.windrow_run_id = $1 AND a.windrow_row_id > $2 ORDER BY a.windrow_row_id LIMIT 10000) AS b',
            v_known.archive
        )
        INTO v_last
        USING io_run, io_after;
        EXECUTE format(
            'DELETE FROM %I AS a WHERE a.windrow_run_id = $1 AND a.windrow_row_id > $2 AND a.windrow_row_id <= $3',
            v_known.archive
        )
        USING io_run, io_after, v_last;
        GET DIAGNOSTICS o_rows = ROW_COUNT;
    END IF;
    IF o_rows > 0 THEN
        PERFORM note_left(io_run, p_by_run, v_known.name, o_rows);
    END IF;
    io_after := coalesce(v_last, 0);
    IF v_last IS NULL THEN
        io_place := io_place + 1;
    END IF;
    IF io_place > (SELECT coalesce(max(k.position), 0) FROM known_archive AS k) + 1 THEN
        io_place := 0;
        DELETE FROM kept_run AS k
        WHERE k.run_id = io_run
          AND NOT EXISTS (
              SELECT FROM partition_archive AS p WHERE p.run_id = io_run AND num_nulls(p.restored_at, p.dropped_at) = 2
          );
    END IF;
END
$windrow$;
--# comment on function archive_step
COMMENT ON FUNCTION archive_step(bigint, bigint, timestamptz, bigint, integer, bigint) IS
    'One step of archive_drop() or archive_prune(): the next run, or one partition or up to 10,000 rows of one table less, as noted in '
    'table unarchived.';

-- archive_cutoff: the instant before which the last row of a run must have been archived, so that a run prunes it. The first rule
-- that archives has the setting for all of them.
--# create function archive_cutoff
CREATE OR REPLACE FUNCTION archive_cutoff(p_run bigint)
RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    -- Hours: a day of the calendar is longer or shorter in the session of a run than in that of a step.
    SELECT clock_timestamp() - make_interval(hours => 24 * nullif(setting_of(f.rule, 'archive_days'), 0)::integer)
    FROM run AS r
    CROSS JOIN (SELECT l.rule FROM rule AS l WHERE l.document ? 'archive' ORDER BY l.position LIMIT 1) AS f
    WHERE r.run_id = p_run
      AND NOT r.dry_run
      AND r.status <> 'cancelled'
      AND unfinished() IS NULL;
$windrow$;
--# comment on function archive_cutoff
COMMENT ON FUNCTION archive_cutoff(bigint) IS
    'The instant archive_days ago; NULL where that is 0, run p_run must not prune, or an installation is not finished.';

-- archive_goes_on: whether a run that has pruned so many rows prunes on.
--# create function archive_goes_on
CREATE OR REPLACE FUNCTION archive_goes_on(p_run bigint, p_rows bigint)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT NOT c.paused
       AND run_ends('infinity') > clock_timestamp()
       AND (p_rows < 100000 OR run_ends(r.deadline) > clock_timestamp() AND (r.trigger <> 'SCHEDULED' OR in_window(clock_timestamp())))
    FROM run AS r
    CROSS JOIN control AS c
    WHERE r.run_id = p_run;
$windrow$;
--# comment on function archive_goes_on
COMMENT ON FUNCTION archive_goes_on(bigint, bigint) IS
    'Whether run p_run prunes on after p_rows rows: up to 100,000, or as long as its time budget and its window last; not once it is '
    'paused.';

-- archive_drop_begin: what archive_drop() is about.
--# create function archive_drop_begin
CREATE OR REPLACE FUNCTION archive_drop_begin(
    p_options jsonb, OUT o_run bigint, OUT o_before timestamptz, OUT o_dry_run boolean, OUT o_found json
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
BEGIN
    PERFORM check_options(p_options, ARRAY['run', 'older_than', 'dry_run']);
    IF (p_options ? 'run') = (p_options ? 'older_than') THEN
        RAISE EXCEPTION 'not one of run and older_than'
            USING ERRCODE = '22023', HINT = 'Write {"run": 17} or {"older_than": "90d"}.';
    END IF;
    IF p_options ? 'dry_run' AND jsonb_typeof(p_options -> 'dry_run') <> 'boolean' THEN
        RAISE EXCEPTION 'dry_run is not true or false: %', p_options -> 'dry_run'
            USING ERRCODE = '22023', HINT = 'Write {"dry_run": true}.';
    END IF;
    o_dry_run := coalesce((p_options ->> 'dry_run')::boolean, false);
    SELECT o.o_run, o.o_before INTO o_run, o_before FROM archive_options(p_options) AS o;
    IF o_run IS NOT NULL AND archive_last(o_run) IS NULL THEN
        RAISE EXCEPTION 'no rows of run % are archived', o_run
            USING ERRCODE = '22023', HINT = format('SELECT %I.archive_list() has the runs with archived rows.', current_schema());
    END IF;
    IF EXISTS (SELECT FROM run AS r WHERE r.run_id = o_run AND r.status = 'running') THEN
        RAISE EXCEPTION 'run % is in progress', o_run USING ERRCODE = '55000', HINT = 'Wait for its end.';
    END IF;
    o_found := archive_of(o_run, o_before);
END
$windrow$;
--# comment on function archive_drop_begin
COMMENT ON FUNCTION archive_drop_begin(jsonb) IS
    'Checks the options of archive_drop() and counts what it is about.';
