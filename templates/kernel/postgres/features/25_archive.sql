-- The statement that deletes rows also copies them here. An archive table has three columns of its own, then those of its
-- source, no constraint but its key, and no foreign key: only windrow's routines insert and delete rows. Columns that the
-- source gets are added when this file is applied again; none is dropped or changed.

-- known_archive: which tables have an archive.
--# create table known_archive
CREATE TABLE IF NOT EXISTS known_archive (
    name     text    NOT NULL PRIMARY KEY,
    position integer NOT NULL,
    place    integer NOT NULL,
    archive  text    NOT NULL,
    entry    text    NOT NULL,
    rules    text[]  NOT NULL
);
--# comment on table known_archive
COMMENT ON TABLE known_archive IS
    'The tables whose rows are archived, by their positions in the spec. place: the order in which rows are restored, parents before '
    'children; archive: the table with the copies; entry: the view through which they are inserted; rules: those that archive rows of '
    'the table; none: the spec does not archive the table any more, but its rows of earlier runs are there. Written by an installation.';
--# register the archives
INSERT INTO known_archive AS k (name, position, place, archive, entry, rules)
SELECT
    a."table", d.position, a.place, a.archive, a.entry,
    ARRAY(
        SELECT r.rule FROM rule AS r
        WHERE r.document -> 'archive' @> to_jsonb(a."table")
          AND r.strategy <> 'partition'
        ORDER BY r.position
    )
FROM spec AS s
CROSS JOIN LATERAL jsonb_array_elements(s.document -> 'archives') WITH ORDINALITY AS d(archive, position)
CROSS JOIN LATERAL jsonb_to_record(d.archive) AS a("table" text, place integer, archive text, entry text)
ON CONFLICT (name) DO UPDATE
SET position = excluded.position,
    place = excluded.place,
    archive = excluded.archive,
    entry = excluded.entry,
    rules = excluded.rules;
--# forget other archives
DELETE FROM known_archive AS k
USING spec AS s
WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(s.document -> 'archives') AS d(archive) WHERE d.archive ->> 'table' = k.name);
-- The rows in archives of tables that an earlier state of the spec archived are listed, dropped and pruned like others. The comment
-- of an archive says whose it is.
--# register the archives of earlier states of the spec
INSERT INTO known_archive (name, position, place, archive, entry, rules)
SELECT
    n.name, (SELECT count(*) FROM known_archive) + row_number() OVER (ORDER BY c.relname), 0, c.relname, concat('into_', c.relname), '{}'
FROM pg_class AS c
CROSS JOIN LATERAL (
    SELECT coalesce(substring(obj_description(c.oid, 'pg_class') FROM '^Rows of (.*) that windrow deleted'), substr(c.relname, 9))
) AS n(name)
WHERE c.relnamespace = current_schema()::regnamespace
  AND c.relkind = 'r'
  AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'windrow_row_id')
  AND NOT EXISTS (SELECT FROM known_archive AS k WHERE k.archive = c.relname OR k.name = n.name);

-- kept_run: runs that the ledger would have forgotten by now, if there were no archived rows of them.
--# create table kept_run
CREATE TABLE IF NOT EXISTS kept_run (
    run_id bigint NOT NULL PRIMARY KEY
);
--# comment on table kept_run
COMMENT ON TABLE kept_run IS
    'Runs older than ledger_days that the ledger keeps because it has archived rows of them. Written by keep_archive().';
-- unarchived: what has left the archive.
--# create table unarchived
CREATE TABLE IF NOT EXISTS unarchived (
    run_id     bigint      NOT NULL,
    entry_id   bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    action     text        NOT NULL,
    by_run     bigint      NOT NULL DEFAULT 0,
    table_name text        NOT NULL,
    table_rows bigint      NOT NULL,
    keys       jsonb,
    done_by    text        NOT NULL DEFAULT session_user,
    done_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, entry_id)
);
--# create constraint unarchived_action_check
ALTER TABLE unarchived
    DROP CONSTRAINT IF EXISTS unarchived_action_check,
    ADD CONSTRAINT unarchived_action_check CHECK (action IN ('PRUNED', 'DROPPED', 'RESTORED'));
--# comment on table unarchived
COMMENT ON TABLE unarchived IS
    'Archived rows of run run_id that were removed from the archive, by table, and how: by_run is the run at whose end they were '
    'pruned. Written in the transaction that removed them.';

-- partition_archive: the partitions that runs have detached instead of dropping them.
--# create table partition_archive
CREATE TABLE IF NOT EXISTS partition_archive (
    run_id         bigint      NOT NULL,
    place          integer     NOT NULL,
    rule           text        NOT NULL,
    family         text,
    table_name     text        NOT NULL,
    schema_name    text        NOT NULL,
    name           text        NOT NULL,
    bound          text        NOT NULL,
    from_bound     text        NOT NULL,
    to_bound       text        NOT NULL,
    partition_rows bigint      NOT NULL,
    counted        boolean     NOT NULL,
    bytes          bigint      NOT NULL,
    archive_schema text        NOT NULL,
    archive        text        NOT NULL,
    belonged_to    text        NOT NULL,
    undo           text[]      NOT NULL,
    archived_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    restored_at    timestamptz,
    dropped_at     timestamptz,
    not_restored   text[]      NOT NULL DEFAULT '{}',
    PRIMARY KEY (run_id, place)
);
--# add column partition_archive.not_restored
ALTER TABLE partition_archive ADD COLUMN IF NOT EXISTS not_restored text[] NOT NULL DEFAULT '{}';
--# comment on table partition_archive
COMMENT ON TABLE partition_archive IS
    'The partitions that runs have detached: schema, name and owner that they had, their bounds, their rows (counted, or estimated) and '
    'size, and the table of the archive schema that they are now. family: the partition by whose name those are restored that went '
    'together; undo: what gives them their indexes'' names, rights and foreign keys again; not_restored: what of it '
    'was left out. restored_at and dropped_at are NULL while they are archived.';

-- make_archive: the archive table of a table. Its columns come by fit_archive().
--# create function make_archive
CREATE OR REPLACE FUNCTION make_archive(p_table text)
RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_archive constant text := (SELECT k.archive FROM known_archive AS k WHERE k.name = p_table);
BEGIN
    EXECUTE format(
        $table$
        CREATE TABLE IF NOT EXISTS %I (
            windrow_run_id      bigint      NOT NULL,
            windrow_row_id      bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
            windrow_archived_at timestamptz NOT NULL,
            PRIMARY KEY (windrow_run_id, windrow_row_id)
        )
        $table$,
        v_archive
    );
    EXECUTE format(
        'COMMENT ON TABLE %I IS %L',
        v_archive,
        format(
            'Rows of %s that windrow deleted, with the run and the instant. Kept by an uninstallation unless it is told otherwise.',
            p_table
        )
    );
END
$windrow$;
--# comment on function make_archive
COMMENT ON FUNCTION make_archive(text) IS
    'Makes the archive table of a table, where it is not there. The installation calls it.';

-- fit_archive: gives an archive table the columns that its source has and it lacks, and makes its view anew: the columns of
-- the source in their present order, so that a row comes in as it is.
--# create function fit_archive
CREATE OR REPLACE FUNCTION fit_archive(p_table text)
RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_source  regclass;
    v_archive text;
    v_entry   text;
    v_column  record;
BEGIN
    SELECT format('%I.%I', s.schema_name, k.name)::regclass, k.archive, k.entry
    INTO v_source, v_archive, v_entry
    FROM known_archive AS k
    CROSS JOIN spec AS s
    WHERE k.name = p_table;
    EXECUTE format('DROP VIEW IF EXISTS %I', v_entry);
    -- With a collation that takes different strings for equal, rows are found again that name theirs in another spelling.
    FOR v_column IN
        SELECT
            s.attname, format_type(s.atttypid, s.atttypmod) || coalesce(' COLLATE ' || c.oid::regcollation, '') AS type,
            a.attname IS NOT NULL AS is_there
        FROM pg_attribute AS s
        LEFT JOIN pg_collation AS c ON c.oid = s.attcollation AND NOT c.collisdeterministic
        LEFT JOIN pg_attribute AS a
            ON a.attrelid = quote_ident(v_archive)::regclass
            AND a.attname = s.attname
            AND NOT a.attisdropped
        WHERE s.attrelid = v_source
          AND s.attnum > 0
          AND NOT s.attisdropped
          AND (a.attname IS NULL OR c.oid <> a.attcollation AND (s.atttypid, s.atttypmod) = (a.atttypid, a.atttypmod))
        ORDER BY s.attnum
    LOOP
        IF v_column.is_there THEN
            BEGIN
                EXECUTE format('ALTER TABLE %I ALTER COLUMN %I TYPE %s', v_archive, v_column.attname, v_column.type);
            EXCEPTION WHEN feature_not_supported THEN
                RAISE WARNING 'column % of % keeps its collation: %', v_column.attname, v_archive, SQLERRM
                    USING HINT = 'Rows that name theirs in another spelling are restored with the whole run, not by its key.';
            END;
        ELSE
            EXECUTE format('ALTER TABLE %I ADD COLUMN %I %s', v_archive, v_column.attname, v_column.type);
        END IF;
    END LOOP;
    EXECUTE format(
        'CREATE VIEW %I AS SELECT windrow_run_id, windrow_archived_at, %s FROM %I',
        v_entry,
        (
            SELECT string_agg(quote_ident(s.attname), ', ' ORDER BY s.attnum)
            FROM pg_attribute AS s
            WHERE s.attrelid = v_source
              AND s.attnum > 0
              AND NOT s.attisdropped
        ),
        v_archive
    );
    EXECUTE format(
        'COMMENT ON VIEW %I IS %L',
        v_entry,
        format('Through which rows of %s come into %I, their columns in the order of the source.', p_table, v_archive)
    );
END
$windrow$;
--# comment on function fit_archive
COMMENT ON FUNCTION fit_archive(text) IS
    'Adds to the archive table of a table the columns that this has and it lacks, and makes its view anew. The installation calls it.';
--+ each archive
--# create table this archive
SELECT make_archive(current_setting('windrow.archived'));
--# create view this view
SELECT fit_archive(current_setting('windrow.archived'));
--+ end

-- archive_misfit: what keeps rows from being archived as they are. Looked at before a run, and at the end of each batch: by
-- then it holds locks that keep the columns as they are.
--# create function archive_misfit
CREATE OR REPLACE FUNCTION archive_misfit(p_rule text)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT format(
        'table %s: %s',
        a.name,
        CASE
            WHEN e.columns IS NULL THEN format('%s is missing', a.entry)
            WHEN s.columns = e.columns THEN 'other tables inherit from it, and an archive would lose their columns'
            ELSE coalesce(
                (
                    SELECT CASE
                        WHEN o.type IS NULL THEN format('its column %I (%s) is not in %s', n.name, n.type, a.entry)
                        ELSE format('its column %I is %s, and %s in %s', n.name, n.type, o.type, a.entry)
                    END
                    FROM unnest(s.names, s.columns) WITH ORDINALITY AS n(name, type, position)
                    LEFT JOIN unnest(e.names, e.columns) AS o(name, type) ON o.name = n.name
                    WHERE o.type IS DISTINCT FROM n.type
                    ORDER BY n.position
                    LIMIT 1
                ),
                format('%s has columns that it has no more', a.entry)
            )
        END
    )
    FROM (
        SELECT
            k.position, k.rules, k.name, to_regclass(format('%I.%I', w.schema_name, k.name)) AS source,
            format('%I.%I', current_schema(), k.entry) AS entry
        FROM known_archive AS k
        CROSS JOIN spec AS w
    ) AS a
    CROSS JOIN LATERAL (
        SELECT
            array_agg(c.attname::text ORDER BY c.attnum) AS names,
            array_agg(format_type(c.atttypid, c.atttypmod) ORDER BY c.attnum) AS columns
        FROM pg_attribute AS c
        WHERE c.attrelid = a.source
          AND c.attnum > 0
          AND NOT c.attisdropped
    ) AS s
    CROSS JOIN LATERAL (
        SELECT
            array_agg(c.attname::text ORDER BY c.attnum) AS names,
            array_agg(format_type(c.atttypid, c.atttypmod) ORDER BY c.attnum) AS columns
        FROM pg_attribute AS c
        WHERE c.attrelid = to_regclass(a.entry)
          AND c.attnum > 2
          AND NOT c.attisdropped
    ) AS e
    WHERE CASE WHEN p_rule IS NULL THEN a.rules <> '{}' ELSE p_rule = ANY (a.rules) END
      AND (
          (s.names, s.columns) IS DISTINCT FROM (e.names, e.columns)
          OR EXISTS (
              SELECT FROM pg_inherits AS i
              JOIN pg_class AS c ON c.oid = i.inhparent
              WHERE i.inhparent = a.source
                AND c.relkind = 'r'
          )
      )
    ORDER BY a.position
    LIMIT 1;
$windrow$;
--# comment on function archive_misfit
COMMENT ON FUNCTION archive_misfit(text) IS
    'Why rows of a rule (NULL: of any) cannot be archived as they are: a table and its column; NULL where nothing is in the way.';
--# create function check_archive
CREATE OR REPLACE FUNCTION check_archive(p_rule text)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_misfit text := archive_misfit(p_rule);
BEGIN
    IF v_misfit IS NOT NULL THEN
        RAISE EXCEPTION 'the archive does not fit: %', v_misfit
            USING ERRCODE = '42P17', HINT = 'Run windrow install again: it adds new columns. '
                'A type is changed by hand: drop the view, change the column of the archive table, install again.';
    END IF;
END
$windrow$;
--# comment on function check_archive
COMMENT ON FUNCTION check_archive(text) IS
    'Raises 42P17 where archive_misfit() finds something. Example: SELECT check_archive(NULL);';
