--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- archive_next: the next run with archived rows. Like what follows it looks along the key of an archive, which may be big: a plan
-- that reads the whole table is never the better one.
--# create function {{ control }}.archive_next
CREATE OR REPLACE FUNCTION {{ control }}.archive_next(p_after bigint)
RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $windrow$
    SELECT min(n.run)
    FROM (
        VALUES
{%- for archive in archives %}
            ((SELECT min(a.windrow_run_id) FROM {{ archive.archive }} AS a WHERE a.windrow_run_id > p_after)){% if not loop.last %},{% endif %}
{%- endfor %}
    ) AS n(run);
$windrow$;
--# comment on function {{ control }}.archive_next
COMMENT ON FUNCTION {{ control }}.archive_next(bigint) IS
    'The first run after p_after of which rows are archived; NULL if there is none. [body @body@]';

-- archive_last: when the last row of a run was archived.
--# create function {{ control }}.archive_last
CREATE OR REPLACE FUNCTION {{ control }}.archive_last(p_run bigint)
RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $windrow$
    SELECT max(n.at)
    FROM (
        VALUES
{%- for archive in archives %}
            ((SELECT a.windrow_archived_at FROM {{ archive.archive }} AS a WHERE a.windrow_run_id = p_run ORDER BY a.windrow_row_id DESC LIMIT 1)){% if not loop.last %},{% endif %}
{%- endfor %}
    ) AS n(at);
$windrow$;
--# comment on function {{ control }}.archive_last
COMMENT ON FUNCTION {{ control }}.archive_last(bigint) IS
    'When the last of the archived rows of a run came into the archive; NULL if there is none. [body @body@]';

-- archive_keep: the ledger does not forget a run while rows of it are archived.
--# create function {{ control }}.archive_keep
CREATE OR REPLACE FUNCTION {{ control }}.archive_keep(p_days bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_run bigint;
BEGIN
    FOR v_run IN
        SELECT r.run_id
        FROM {{ control }}.run AS r
        WHERE r.finished_at < clock_timestamp() - make_interval(days => p_days::integer)
          AND NOT EXISTS (SELECT FROM {{ control }}.kept_run AS k WHERE k.run_id = r.run_id)
        ORDER BY r.run_id
    LOOP
        IF {{ control }}.archive_last(v_run) IS NOT NULL THEN
            INSERT INTO {{ control }}.kept_run (run_id) VALUES (v_run) ON CONFLICT (run_id) DO NOTHING;
        END IF;
    END LOOP;
    DELETE FROM {{ control }}.unarchived AS u
    WHERE u.done_at < clock_timestamp() - make_interval(days => p_days::integer)
      AND NOT EXISTS (SELECT FROM {{ control }}.run AS r WHERE r.run_id = u.run_id);
END
$windrow$;
--# comment on function {{ control }}.archive_keep
COMMENT ON FUNCTION {{ control }}.archive_keep(bigint) IS
    'Notes in table kept_run which runs older than p_days have archived rows; forgets what left the archive of runs that are forgotten. [body @body@]';

-- archive_of: the archived rows of one run, or of all that are old enough, counted.
--# create function {{ control }}.archive_of
CREATE OR REPLACE FUNCTION {{ control }}.archive_of(p_run bigint, p_before timestamptz)
RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
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
            'rules', (SELECT coalesce(json_agg(p.rule ORDER BY array_position(ARRAY[{{ rule_literals }}], p.rule)), '[]') FROM {{ control }}.run_rule AS p WHERE p.run_id = t.run AND p.deleted_rows > 0),
            'rows', t.rows,
            'tables', t.tables,
            'restored', u.restored,
            'dropped', u.dropped
        ) ORDER BY t.run), '[]')
    )
    FROM (
        SELECT c.run, sum(c.rows) AS rows, max(c.last) AS last, json_object_agg(c.name, c.rows ORDER BY c.position) AS tables
        FROM (
{%- for archive in archives %}
            SELECT {{ loop.index }}, {{ archive.table_literal }}, a.windrow_run_id, count(*), max(a.windrow_archived_at) FROM {{ archive.archive }} AS a WHERE p_run IS NULL OR a.windrow_run_id = p_run GROUP BY a.windrow_run_id{% if not loop.last %}
            UNION ALL{% endif %}
{%- endfor %}
        ) AS c(position, name, run, rows, last)
        GROUP BY c.run
    ) AS t
    LEFT JOIN {{ control }}.run AS r ON r.run_id = t.run
    CROSS JOIN LATERAL (
        SELECT
            coalesce(sum(x.table_rows) FILTER (WHERE x.action = 'RESTORED'), 0) AS restored,
            coalesce(sum(x.table_rows) FILTER (WHERE x.action <> 'RESTORED'), 0) AS dropped
        FROM {{ control }}.unarchived AS x
        WHERE x.run_id = t.run
    ) AS u
    WHERE p_before IS NULL OR t.last < p_before AND r.status IS DISTINCT FROM 'running';
$windrow$;
--# comment on function {{ control }}.archive_of
COMMENT ON FUNCTION {{ control }}.archive_of(bigint, timestamptz) IS
    'What archive_list() answers, of one run or of those whose last row was archived before an instant. [body @body@]';

-- archive_options: the options run and older_than, of which a list needs none and a drop one.
--# create function {{ control }}.archive_options
CREATE OR REPLACE FUNCTION {{ control }}.archive_options(p_options jsonb, OUT o_run bigint, OUT o_before timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    IF p_options ? 'run' THEN
        IF (p_options ->> 'run' ~ '^[1-9][0-9]{0,17}$') IS NOT TRUE THEN
            RAISE EXCEPTION 'run is not the number of a run: %', quote_nullable(p_options ->> 'run')
                USING ERRCODE = '22023', HINT = 'Write it like {"run": 17}; SELECT {{ control }}.archive_list() has the runs.';
        END IF;
        o_run := (p_options ->> 'run')::bigint;
    END IF;
    IF p_options ? 'older_than' THEN
        IF p_options ->> 'older_than' IS NULL THEN
            RAISE EXCEPTION 'older_than is not a duration' USING ERRCODE = '22023', HINT = 'Write it like {"older_than": "90d"}.';
        END IF;
        o_before := clock_timestamp() - make_interval(secs => {{ control }}.seconds(p_options ->> 'older_than'));
    END IF;
END
$windrow$;
--# comment on function {{ control }}.archive_options
COMMENT ON FUNCTION {{ control }}.archive_options(jsonb) IS
    'The options run and older_than of what works on the archive; raises 22023 with a hint for what makes no sense. [body @body@]';

-- archive_list: which runs have archived rows.
--# create function {{ control }}.archive_list
CREATE OR REPLACE FUNCTION {{ control }}.archive_list(p_options jsonb DEFAULT '{}')
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['run', 'older_than']);
    RETURN (SELECT {{ control }}.archive_of(o.o_run, o.o_before) FROM {{ control }}.archive_options(p_options) AS o);
END
$windrow$;
--# comment on function {{ control }}.archive_list
COMMENT ON FUNCTION {{ control }}.archive_list(jsonb) IS
    'The runs of which rows are archived, with the rows by table, and how many were restored or dropped already. Reads the archive from end to end, unless a run is named. Examples: SELECT {{ control }}.archive_list(); SELECT {{ control }}.archive_list(''{"older_than": "90d"}''); [body @body@]';

-- archive_step: one bounded step of dropping or pruning: it looks for the next run (io_place is 0), or deletes up to 10,000
-- rows of that run from the archive number io_place, behind row io_after. io_run is NULL when all is done. p_by_run is the
-- run at whose end this prunes, or 0.
--# create function {{ control }}.archive_step
CREATE OR REPLACE FUNCTION {{ control }}.archive_step(p_by_run bigint, p_only bigint, p_before timestamptz, INOUT io_run bigint, INOUT io_place integer, INOUT io_after bigint, OUT o_rows bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $windrow$
DECLARE
    v_action constant text := CASE WHEN p_by_run = 0 THEN 'DROPPED' ELSE 'PRUNED' END;
    v_table  text;
    v_last   bigint;
BEGIN
    -- Whoever may call this alone may drop rows, but not in the name of a run.
    IF p_by_run <> 0 AND (
        p_only IS NOT NULL
        OR (p_before <= {{ control }}.archive_cutoff(p_by_run)) IS NOT TRUE
        OR NOT EXISTS (SELECT FROM {{ control }}.run AS r WHERE r.run_id = p_by_run AND r.backend_pid = pg_backend_pid())
    ) THEN
        RAISE EXCEPTION 'run % does not prune', p_by_run
            USING ERRCODE = '55000', HINT = 'CALL {{ control }}.archive_drop(...) drops archived rows.';
    END IF;
    o_rows := 0;
    IF io_place = 0 THEN
        io_run := CASE WHEN p_only IS NULL THEN {{ control }}.archive_next(io_run) WHEN io_run = 0 THEN p_only END;
        -- The oldest first, up to one that is too young, or goes on.
        IF p_only IS NULL AND {{ control }}.archive_last(io_run) >= p_before OR EXISTS (SELECT FROM {{ control }}.run AS r WHERE r.run_id = io_run AND r.status = 'running') THEN
            io_run := NULL;
        END IF;
        io_place := CASE WHEN io_run IS NULL THEN 0 ELSE 1 END;
        io_after := 0;
        RETURN;
    END IF;
{%- for archive in archives %}
    IF io_place = {{ loop.index }} THEN
        v_table := {{ archive.table_literal }};
        SELECT max(b.windrow_row_id)
        INTO v_last
        FROM (
            SELECT a.windrow_row_id
            FROM {{ archive.archive }} AS a
            WHERE a.windrow_run_id = io_run
              AND a.windrow_row_id > io_after
            ORDER BY a.windrow_row_id
            LIMIT 10000
        ) AS b;
        DELETE FROM {{ archive.archive }} AS a
        WHERE a.windrow_run_id = io_run
          AND a.windrow_row_id > io_after
          AND a.windrow_row_id <= v_last;
        GET DIAGNOSTICS o_rows = ROW_COUNT;
    END IF;
{%- endfor %}
    IF o_rows > 0 THEN
        UPDATE {{ control }}.unarchived AS u
        SET table_rows = u.table_rows + o_rows,
            done_at = clock_timestamp()
        WHERE u.run_id = io_run
          AND u.action = v_action
          AND u.by_run = p_by_run
          AND u.table_name = v_table
          AND u.done_by = session_user;
        IF NOT FOUND THEN
            INSERT INTO {{ control }}.unarchived (run_id, action, by_run, table_name, table_rows)
            VALUES (io_run, v_action, p_by_run, v_table, o_rows);
        END IF;
    END IF;
    io_after := coalesce(v_last, 0);
    IF v_last IS NULL THEN
        io_place := io_place + 1;
    END IF;
    IF io_place > {{ archives | length }} THEN
        io_place := 0;
        DELETE FROM {{ control }}.kept_run AS k WHERE k.run_id = io_run;
    END IF;
END
$windrow$;
--# comment on function {{ control }}.archive_step
COMMENT ON FUNCTION {{ control }}.archive_step(bigint, bigint, timestamptz, bigint, integer, bigint) IS
    'One step of archive_drop() or archive_prune(): the next run, or up to 10,000 rows of one table less, as noted in table unarchived. [body @body@]';

-- archive_cutoff: the instant before which the last row of a run must have been archived, so that a run prunes it.
--# create function {{ control }}.archive_cutoff
CREATE OR REPLACE FUNCTION {{ control }}.archive_cutoff(p_run bigint)
RETURNS timestamptz
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT clock_timestamp() - make_interval(days => nullif({{ control }}.setting_of({{ archiving_first }}, 'archive_days'), 0)::integer)
    FROM {{ control }}.run AS r
    WHERE r.run_id = p_run
      AND NOT r.dry_run
      AND r.status <> 'cancelled';
$windrow$;
--# comment on function {{ control }}.archive_cutoff
COMMENT ON FUNCTION {{ control }}.archive_cutoff(bigint) IS
    'The instant archive_days ago; NULL where that is 0, or run p_run must not prune. [body @body@]';

-- archive_goes_on: whether a run that has pruned so many rows prunes on.
--# create function {{ control }}.archive_goes_on
CREATE OR REPLACE FUNCTION {{ control }}.archive_goes_on(p_run bigint, p_rows bigint)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT NOT c.paused
       AND (p_rows < 100000 OR r.deadline > clock_timestamp() AND (r.trigger <> 'SCHEDULED' OR {{ control }}.in_window(clock_timestamp())))
    FROM {{ control }}.run AS r
    CROSS JOIN {{ control }}.control AS c
    WHERE r.run_id = p_run;
$windrow$;
--# comment on function {{ control }}.archive_goes_on
COMMENT ON FUNCTION {{ control }}.archive_goes_on(bigint, bigint) IS
    'Whether run p_run prunes on after p_rows rows: up to 100,000, or as long as its time budget and its window last; not once it is paused. [body @body@]';

-- archive_prune: what the end of a run does to the archive.
--# create procedure {{ control }}.archive_prune
CREATE OR REPLACE PROCEDURE {{ control }}.archive_prune(p_run bigint)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_before timestamptz;
    v_run    bigint := 0;
    v_place  integer := 0;
    v_after  bigint := 0;
    v_rows   bigint;
    v_sum    bigint := 0;
BEGIN
    v_before := {{ control }}.archive_cutoff(p_run);
    WHILE v_before IS NOT NULL AND v_run IS NOT NULL AND {{ control }}.archive_goes_on(p_run, v_sum) LOOP
        SELECT s.io_run, s.io_place, s.io_after, s.o_rows
        INTO v_run, v_place, v_after, v_rows
        FROM {{ control }}.archive_step(p_run, NULL, v_before, v_run, v_place, v_after) AS s;
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        v_sum := v_sum OPERATOR(pg_catalog.+) v_rows;
    END LOOP;
END
$windrow$;
--# comment on procedure {{ control }}.archive_prune
COMMENT ON PROCEDURE {{ control }}.archive_prune(bigint) IS
    'Deletes archived rows of runs whose last row was archived more than archive_days ago, oldest run first, up to 10,000 in a transaction. The end of a run calls it. [body @body@]';

-- archive_drop: archived rows of a run, or of all old ones, for good.
--# create function {{ control }}.archive_drop_begin
CREATE OR REPLACE FUNCTION {{ control }}.archive_drop_begin(p_options jsonb, OUT o_run bigint, OUT o_before timestamptz, OUT o_dry_run boolean, OUT o_found json)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['run', 'older_than', 'dry_run']);
    IF (p_options ? 'run') = (p_options ? 'older_than') THEN
        RAISE EXCEPTION 'not one of run and older_than'
            USING ERRCODE = '22023', HINT = 'Write {"run": 17} or {"older_than": "90d"}.';
    END IF;
    IF p_options ? 'dry_run' AND jsonb_typeof(p_options -> 'dry_run') <> 'boolean' THEN
        RAISE EXCEPTION 'dry_run is not true or false: %', p_options -> 'dry_run'
            USING ERRCODE = '22023', HINT = 'Write {"dry_run": true}.';
    END IF;
    o_dry_run := coalesce((p_options ->> 'dry_run')::boolean, false);
    SELECT o.o_run, o.o_before INTO o_run, o_before FROM {{ control }}.archive_options(p_options) AS o;
    IF o_run IS NOT NULL AND {{ control }}.archive_last(o_run) IS NULL THEN
        RAISE EXCEPTION 'no rows of run % are archived', o_run
            USING ERRCODE = '22023', HINT = 'SELECT {{ control }}.archive_list() has the runs with archived rows.';
    END IF;
    IF EXISTS (SELECT FROM {{ control }}.run AS r WHERE r.run_id = o_run AND r.status = 'running') THEN
        RAISE EXCEPTION 'run % is in progress', o_run USING ERRCODE = '55000', HINT = 'Wait for its end.';
    END IF;
    o_found := {{ control }}.archive_of(o_run, o_before);
END
$windrow$;
--# comment on function {{ control }}.archive_drop_begin
COMMENT ON FUNCTION {{ control }}.archive_drop_begin(jsonb) IS
    'Checks the options of archive_drop() and counts what it is about. [body @body@]';
--# create procedure {{ control }}.archive_drop
CREATE OR REPLACE PROCEDURE {{ control }}.archive_drop(p_options jsonb, INOUT p_result json DEFAULT NULL)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_only    bigint;
    v_before  timestamptz;
    v_dry_run boolean;
    v_found   pg_catalog.json;
    v_run     bigint := 0;
    v_place   integer := 0;
    v_after   bigint := 0;
    v_rows    bigint;
    v_sum     bigint := 0;
BEGIN
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SELECT d.o_run, d.o_before, d.o_dry_run, d.o_found INTO v_only, v_before, v_dry_run, v_found FROM {{ control }}.archive_drop_begin(p_options) AS d;
    WHILE v_run IS NOT NULL AND NOT v_dry_run LOOP
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        SELECT s.io_run, s.io_place, s.io_after, s.o_rows
        INTO v_run, v_place, v_after, v_rows
        FROM {{ control }}.archive_step(0, v_only, v_before, v_run, v_place, v_after) AS s;
        v_sum := v_sum OPERATOR(pg_catalog.+) v_rows;
    END LOOP;
    p_result := pg_catalog.json_build_object(
        'dry_run', v_dry_run,
        'rows', CASE WHEN v_dry_run THEN (v_found OPERATOR(pg_catalog.->>) 'rows')::bigint ELSE v_sum END,
        'runs', v_found OPERATOR(pg_catalog.->) 'runs'
    );
END
$windrow$;
--# comment on procedure {{ control }}.archive_drop
COMMENT ON PROCEDURE {{ control }}.archive_drop(jsonb, json) IS
    'Deletes the archived rows of a run, or of the runs whose last row was archived that long ago: run or older_than, dry_run. Up to 10,000 rows in a transaction; they exist nowhere else. Examples: CALL {{ control }}.archive_drop(''{"run": 17}''); CALL {{ control }}.archive_drop(''{"older_than": "90d", "dry_run": true}''); [body @body@]';
{% for rule in unarchive.rules %}{% if not rule.unknown %}
-- {{ rule.name }}_archived: the archived rows of families, found along the edges of the spec in the archive of one run.
--# create function {{ control }}.{{ rule.name }}_archived
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_archived(p_run bigint, p_keys text[])
RETURNS TABLE (place integer, row_id bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
{%- if rule.root > 0 %}
    v_key  text;
    v_{{ rule.root }}    bigint[];
    v_next bigint[];
{%- endif %}
{%- for step in rule.steps %}
    v_{{ step.place }}    bigint[];
{%- endfor %}
BEGIN
{%- if rule.root > 0 %}
    SELECT k.named
    INTO v_key
    FROM unnest(p_keys) AS k(named)
    WHERE NOT EXISTS (
        SELECT FROM {{ rule.root_archive }} AS t
        WHERE t.windrow_run_id = p_run
          AND {{ rule.is_named }}
{%- for condition in rule.conditions %}
          AND {{ condition }}
{%- endfor %}
    )
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'run % has no archived root in {{ rule.root_name }} with the key %', p_run, v_key
            USING ERRCODE = '22023', HINT = 'SELECT {{ control }}.archive_list() has the runs with archived rows.';
    END IF;
    v_{{ rule.root }} := ARRAY(
        SELECT DISTINCT t.windrow_row_id
        FROM {{ rule.root_archive }} AS t
        JOIN unnest(p_keys) AS k(named) ON {{ rule.is_named }}{% if rule.timed %}{% for column in rule.within %} OR t.{{ column }} = k.named::{{ rule.key_type }}{% endfor %}{% endif %}
        WHERE t.windrow_run_id = p_run
{%- for condition in rule.conditions %}
          AND {{ condition }}
{%- endfor %}
    );
{%- if not rule.timed and (rule.links or rule.within) %}
    -- Level by level: what the last members found name as their descendants.
    v_next := v_{{ rule.root }};
    WHILE cardinality(v_next) > 0 LOOP
        v_next := ARRAY(
{%- for link in rule.links %}
            SELECT t.windrow_row_id
            FROM {{ rule.root_archive }} AS t
            WHERE t.windrow_run_id = p_run
              AND t.{{ rule.key }} IN (
                  SELECT l.{{ link.child }}
                  FROM {{ link.archive }} AS l
                  JOIN {{ rule.root_archive }} AS p ON p.windrow_run_id = p_run AND p.{{ rule.key }} = l.{{ link.parent }}
                  WHERE l.windrow_run_id = p_run
                    AND p.windrow_row_id = ANY (v_next)
              )
{%- if not loop.last or rule.within %}
            UNION{% endif %}
{%- endfor %}
{%- for column in rule.within %}
            SELECT t.windrow_row_id
            FROM {{ rule.root_archive }} AS t
            WHERE t.windrow_run_id = p_run
              AND t.{{ column }} IN (SELECT p.{{ rule.key }} FROM {{ rule.root_archive }} AS p WHERE p.windrow_run_id = p_run AND p.windrow_row_id = ANY (v_next))
{%- if not loop.last %}
            UNION{% endif %}
{%- endfor %}
            EXCEPT
            SELECT m.row_id FROM unnest(v_{{ rule.root }}) AS m(row_id)
        );
        v_{{ rule.root }} := v_{{ rule.root }} || v_next;
    END LOOP;
{%- endif %}
{%- endif %}
{%- for step in rule.steps %}
    v_{{ step.place }} := ARRAY(
        SELECT t.windrow_row_id
        FROM {{ step.archive }} AS t
        WHERE t.windrow_run_id = p_run
          AND (
{%- for column in step.family %}
              {% if not loop.first %}OR {% endif %}t.{{ column }} = ANY (p_keys::{{ rule.key_type }}[])
{%- endfor %}
{%- for edge in step.edges %}
              {% if step.family or not loop.first %}OR {% endif %}({% for pair in edge.pairs %}t.{{ pair.child }}{% if not loop.last %}, {% endif %}{% endfor %}) IN (SELECT {% for pair in edge.pairs %}p.{{ pair.parent }}{% if not loop.last %}, {% endif %}{% endfor %} FROM {{ edge.archive }} AS p WHERE p.windrow_run_id = p_run AND p.windrow_row_id = ANY (v_{{ edge.place }}))
{%- endfor %}
          )
    );
{%- endfor %}
    RETURN QUERY
{%- if rule.root > 0 %}
    SELECT {{ rule.root }}, f.row_id FROM unnest(v_{{ rule.root }}) AS f(row_id){% if rule.steps %}
    UNION ALL{% endif %}
{%- endif %}
{%- for step in rule.steps %}
    SELECT {{ step.place }}, f.row_id FROM unnest(v_{{ step.place }}) AS f(row_id){% if not loop.last %}
    UNION ALL{% endif %}
{%- endfor %};
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_archived
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_archived(bigint, text[]) IS
    'The archived rows of run p_run that belong to the families p_keys: the place of the table in the order of a restoration, and windrow_row_id. [body @body@]';
{% endif %}{% endfor %}
-- archive_gap: the archive holds what the ledger says that a run deleted, but for what has left it since.
--# create function {{ control }}.archive_gap
CREATE OR REPLACE FUNCTION {{ control }}.archive_gap(p_run bigint)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT format('table %s: %s rows were deleted, %s of them are archived and %s have left the archive', a.name, coalesce(d.rows, 0), a.rows, u.rows)
    FROM (
        VALUES
{%- for archive in archives %}
            ({{ loop.index }}, {{ archive.table_literal }}, ARRAY[{{ archive.rule_literals }}], (SELECT count(*) FROM {{ archive.archive }} AS x WHERE x.windrow_run_id = p_run)){% if not loop.last %},{% endif %}
{%- endfor %}
    ) AS a(position, name, rules, rows)
    CROSS JOIN LATERAL (SELECT sum(t.deleted_rows) FROM {{ control }}.run_table AS t WHERE t.run_id = p_run AND t.rule = ANY (a.rules) AND t.table_name = a.name) AS d(rows)
    CROSS JOIN LATERAL (SELECT coalesce(sum(x.table_rows), 0) FROM {{ control }}.unarchived AS x WHERE x.run_id = p_run AND x.table_name = a.name) AS u(rows)
    WHERE a.rows + u.rows <> coalesce(d.rows, 0)
    ORDER BY a.position
    LIMIT 1;
$windrow$;
--# comment on function {{ control }}.archive_gap
COMMENT ON FUNCTION {{ control }}.archive_gap(bigint) IS
    'The first table of which the archive of run p_run does not hold as many rows as the ledger says; NULL where all are there. [body @body@]';

-- archive_put: rows go from an archive back into their table, in one statement, and as many come in as leave.
--# create function {{ control }}.archive_put
CREATE OR REPLACE FUNCTION {{ control }}.archive_put(p_source text, p_archive text, p_name text, p_run bigint, p_rows bigint[])
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
DECLARE
    v_columns text;
    v_gone    bigint;
    v_put     bigint;
    v_message text;
    v_detail  text;
    v_state   text;
BEGIN
    -- What the table generates, it generates again.
    SELECT string_agg(quote_ident(s.attname), ', ' ORDER BY s.attnum)
    INTO v_columns
    FROM pg_attribute AS s
    WHERE s.attrelid = p_source::regclass
      AND s.attnum > 0
      AND NOT s.attisdropped
      AND s.attgenerated = '';
    BEGIN
        EXECUTE format(
            'WITH gone AS (DELETE FROM %1$s AS a USING unnest($2) AS w(row_id) WHERE a.windrow_run_id = $1 AND a.windrow_row_id = w.row_id RETURNING %2$s), '
            'put AS (INSERT INTO %3$s (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM gone RETURNING 1) '
            'SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM put)',
            p_archive, v_columns, p_source
        )
        INTO v_gone, v_put
        USING p_run, p_rows;
    EXCEPTION WHEN unique_violation OR exclusion_violation THEN
        GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_detail = PG_EXCEPTION_DETAIL;
        RAISE EXCEPTION 'nothing is restored: table %: %', p_name, coalesce(nullif(v_detail, ''), v_message)
            USING ERRCODE = v_state, HINT = 'A row that has come since is in the way. Restore other families by their keys, or see to that row first.';
    END;
    IF v_gone <> cardinality(p_rows) OR v_put <> v_gone THEN
        RAISE EXCEPTION 'nothing is restored: table %: % rows were to come back, % left the archive, and % came in', p_name, cardinality(p_rows), v_gone, v_put
            USING ERRCODE = '55000', HINT = 'Someone else took rows out of the archive, or a trigger or a rule of the table keeps them out.';
    END IF;
    RETURN v_put;
END
$windrow$;
--# comment on function {{ control }}.archive_put
COMMENT ON FUNCTION {{ control }}.archive_put(text, text, text, bigint, bigint[]) IS
    'Moves the rows of run p_run with these windrow_row_id from an archive into their table; answers how many. [body @body@]';

-- archive_restore: archived rows come back, of a whole run or of families; all of them, or none.
--# create function {{ control }}.archive_restore
CREATE OR REPLACE FUNCTION {{ control }}.archive_restore(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_run    bigint;
    v_rule   text;
    v_gap    text;
    v_keys   text[];
    v_key    text;
    v_most   bigint := 1000000;
    v_more   bigint;
    v_total  bigint;
    v_holds  bigint := 0;
    v_unheld bigint := 0;
    v_names  text[] := '{}';
    v_counts bigint[] := '{}';
{%- for place in unarchive.places %}
    v_{{ place.place }} bigint[];
{%- endfor %}
BEGIN
    PERFORM {{ control }}.check_caller(session_user, true);
    PERFORM {{ control }}.check_options(p_options, ARRAY['run', 'rule', 'key', 'max_rows']);
    SELECT o.o_run INTO v_run FROM {{ control }}.archive_options(p_options) AS o;
    IF v_run IS NULL THEN
        RAISE EXCEPTION 'the option run is missing' USING ERRCODE = '22023', HINT = 'Write it like {"run": 17}; SELECT {{ control }}.archive_list() has the runs.';
    END IF;
    IF p_options ? 'max_rows' THEN
        IF (p_options ->> 'max_rows' ~ '^[1-9][0-9]{0,17}$') IS NOT TRUE THEN
            RAISE EXCEPTION 'max_rows is not a number above 0: %', quote_nullable(p_options ->> 'max_rows')
                USING ERRCODE = '22023', HINT = 'Write it like {"max_rows": 2000000}.';
        END IF;
        v_most := (p_options ->> 'max_rows')::bigint;
    END IF;
    IF (p_options ? 'rule') AND NOT (p_options ? 'key') THEN
        RAISE EXCEPTION 'the option rule is for keys' USING ERRCODE = '22023', HINT = 'Name keys, too: {"run": 17, "rule": "{{ unarchive.rules.0.name }}", "key": [4]}.';
    END IF;
    IF p_options ? 'key' THEN
        v_rule := {{ control }}.check_rule(p_options);
        IF jsonb_typeof(p_options -> 'key') IS DISTINCT FROM 'array' OR jsonb_array_length(p_options -> 'key') = 0 THEN
            RAISE EXCEPTION 'the option key is not a list of keys'
                USING ERRCODE = '22023', HINT = 'Write it like {"key": [17, 18]}.';
        END IF;
        v_keys := ARRAY(SELECT DISTINCT k.key FROM jsonb_array_elements_text(p_options -> 'key') AS k(key) ORDER BY k.key);
        FOREACH v_key IN ARRAY v_keys LOOP
            PERFORM {{ control }}.check_key(v_rule, v_key);
        END LOOP;
        IF v_rule <> ALL (ARRAY[{{ archiving_literals }}]) THEN
            RAISE EXCEPTION 'rule % archives nothing', v_rule USING ERRCODE = '22023', HINT = 'The rules that do are: ' || array_to_string(ARRAY[{{ archiving_literals }}], ', ') || '.';
        END IF;
{%- for rule in unarchive.rules %}{% if rule.unknown %}
        IF v_rule = {{ rule.literal }} THEN
            RAISE EXCEPTION 'the families of rule {{ rule.name }} cannot be told apart in the archive: {{ rule.unknown }}'
                USING ERRCODE = '22023', HINT = 'That table, or what its rows belong to, is not archived, or has no family. Restore the whole run.';
        END IF;
{%- endif %}{% endfor %}
    END IF;
    IF {{ control }}.archive_last(v_run) IS NULL THEN
        RAISE EXCEPTION 'no rows of run % are archived', v_run
            USING ERRCODE = '22023', HINT = 'SELECT {{ control }}.archive_list() has the runs with archived rows.';
    END IF;
    IF EXISTS (SELECT FROM {{ control }}.run AS r WHERE r.run_id = v_run AND r.status = 'running') THEN
        RAISE EXCEPTION 'run % is in progress', v_run USING ERRCODE = '55000', HINT = 'Wait for its end.';
    END IF;
    SELECT sum(u.table_rows) INTO v_more FROM {{ control }}.unarchived AS u WHERE u.run_id = v_run AND u.action <> 'RESTORED';
    IF v_more > 0 THEN
        RAISE EXCEPTION '% rows of run % were dropped from the archive: what is left is not whole', v_more, v_run
            USING ERRCODE = '55000', HINT = 'windrow archive export writes what is left.';
    END IF;
    v_gap := {{ control }}.archive_gap(v_run);
    IF v_gap IS NOT NULL THEN
        RAISE EXCEPTION 'the archive of run % is not whole: %', v_run, v_gap
            USING ERRCODE = '55000', HINT = 'Someone has changed the archive or the ledger by hand.';
    END IF;
    PERFORM {{ control }}.check_archive(v_rule);

    -- Which rows.
    IF v_keys IS NULL THEN
{%- for place in unarchive.places %}
        v_{{ place.place }} := ARRAY(SELECT a.windrow_row_id FROM {{ place.archive.archive }} AS a WHERE a.windrow_run_id = v_run ORDER BY a.windrow_row_id LIMIT v_most + 1);
{%- endfor %}
    END IF;
{%- for rule in unarchive.rules %}{% if not rule.unknown %}
    IF v_rule = {{ rule.literal }} THEN
        SELECT
{%- for place in unarchive.places %}
            coalesce(array_agg(f.row_id ORDER BY f.row_id) FILTER (WHERE f.place = {{ place.place }}), '{}'){% if not loop.last %},{% endif %}
{%- endfor %}
        INTO {% for place in unarchive.places %}v_{{ place.place }}{% if not loop.last %}, {% endif %}{% endfor %}
        FROM {{ control }}.{{ rule.name }}_archived(v_run, v_keys) AS f;
    END IF;
{%- endif %}{% endfor %}
    v_total := {% for place in unarchive.places %}cardinality(v_{{ place.place }}){% if not loop.last %} + {% endif %}{% endfor %};
    IF v_total = 0 THEN
        RAISE EXCEPTION 'run % has no archived rows of these families', v_run
            USING ERRCODE = '22023', HINT = 'SELECT {{ control }}.archive_list() has the runs with archived rows.';
    END IF;
    IF v_total > v_most THEN
        RAISE EXCEPTION 'more rows than one transaction should bring back: max_rows is %', v_most
            USING ERRCODE = '54000', HINT = 'Restore families by their keys, or raise the limit: {"max_rows": 2000000}.';
    END IF;
{%- if unarchive.holds %}

    -- What comes back is due at once: a hold keeps it.
{%- endif %}
{%- for hold in unarchive.holds %}
    INSERT INTO {{ control }}.hold AS h (rule, key, reason)
    SELECT DISTINCT {{ hold.rule }}, {{ hold.key }}, format('restored from the archive of run %s', v_run)
    FROM {{ hold.archive }} AS t
    WHERE t.windrow_run_id = v_run
      AND t.windrow_row_id = ANY (v_{{ hold.place }})
{%- if hold.may_lack %}
      AND {{ hold.key }} IS NOT NULL
{%- endif %}
{%- for condition in hold.conditions %}
      AND {{ condition }}
{%- endfor %}
    ON CONFLICT (rule, key) DO UPDATE
    SET reason = excluded.reason,
        until = NULL,
        placed_by = excluded.placed_by,
        placed_at = excluded.placed_at
    WHERE h.until <= clock_timestamp();
    GET DIAGNOSTICS v_more = ROW_COUNT;
    v_holds := v_holds + v_more;
{%- if hold.may_lack %}
    v_unheld := v_unheld + (SELECT count(*) FROM {{ hold.archive }} AS t WHERE t.windrow_run_id = v_run AND t.windrow_row_id = ANY (v_{{ hold.place }}) AND {{ hold.key }} IS NULL);
{%- endif %}
{%- endfor %}

    -- Parents before children.
{%- for place in unarchive.places %}
    IF cardinality(v_{{ place.place }}) > 0 THEN
        v_counts := v_counts || {{ control }}.archive_put({{ place.archive.table_class }}, {{ place.archive.archive_class }}, {{ place.archive.table_literal }}, v_run, v_{{ place.place }});
        v_names := v_names || {{ place.archive.table_literal }}::text;
    END IF;
{%- endfor %}
    INSERT INTO {{ control }}.unarchived (run_id, action, table_name, table_rows, keys)
    SELECT v_run, 'RESTORED', n.name, n.rows, to_jsonb(v_keys)
    FROM unnest(v_names, v_counts) WITH ORDINALITY AS n(name, rows, position)
    ORDER BY n.position;
    -- By now the tables are locked, and get no further trigger.
    PERFORM {{ control }}.check_caller(session_user, true);
    -- After the lock no batch is under way that did not see the holds.
    LOCK TABLE {{ control }}.latch IN EXCLUSIVE MODE;
    RETURN json_build_object(
        'run', v_run,
        'rows', v_total,
        'tables', (SELECT json_object_agg(n.name, n.rows ORDER BY n.position) FROM unnest(v_names, v_counts) WITH ORDINALITY AS n(name, rows, position)),
        'holds', v_holds,
        'not_held', v_unheld,
        'not_archived', (
            SELECT coalesce(json_agg(DISTINCT m.name), '[]')
            FROM (
                VALUES
{%- for missing in unarchive.missing %}
                    ({{ missing.rule }}, ARRAY[{% for table in missing.tables %}{{ table }}{% if not loop.last %}, {% endif %}{% endfor %}]::text[]){% if not loop.last %},{% endif %}
{%- endfor %}
            ) AS x(rule, names)
            CROSS JOIN LATERAL unnest(x.names) AS m(name)
            WHERE CASE WHEN v_rule IS NOT NULL THEN x.rule = v_rule ELSE EXISTS (SELECT FROM {{ control }}.run_rule AS p WHERE p.run_id = v_run AND p.rule = x.rule AND p.deleted_rows > 0) END
        )
    );
END
$windrow$;
--# comment on function {{ control }}.archive_restore
COMMENT ON FUNCTION {{ control }}.archive_restore(jsonb) IS
    'Moves archived rows back into their tables, parents before children: all of a run, or families of it by their keys (run, rule, key, max_rows). All or nothing, in one transaction. Holds are placed, since what comes back is due at once. Examples: SELECT {{ control }}.archive_restore(''{"run": 17}''); SELECT {{ control }}.archive_restore(''{"run": 17, "key": [4]}''); [body @body@]';
--# become who installs
RESET ROLE;
