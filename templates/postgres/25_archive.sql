{% import "macros.sql" as w -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- Rows are copied here by the very statement that deletes them. An archive table has the columns of its source behind three
-- of its own, no constraint but its key, and no foreign key: rows come and go by windrow's routines alone. Columns that the
-- source gets are added when this file is applied again; none is dropped or changed.
{% for archive in archives %}
-- {{ archive.bare }}: what went of {{ archive.table_name }}.
--# create table {{ archive.archive }}
CREATE TABLE IF NOT EXISTS {{ archive.archive }} (
    windrow_run_id      bigint      NOT NULL,
    windrow_row_id      bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    windrow_archived_at timestamptz NOT NULL,
    PRIMARY KEY (windrow_run_id, windrow_row_id)
);
--# comment on table {{ archive.archive }}
COMMENT ON TABLE {{ archive.archive }} IS
    'Rows of {{ archive.table_name }} that windrow deleted, with the run and the instant. Kept by an uninstallation that is not told otherwise.';
{% endfor %}
-- kept_run: runs that the ledger would have forgotten by now, if there were no archived rows of them.
--# create table {{ control }}.kept_run
CREATE TABLE IF NOT EXISTS {{ control }}.kept_run (
    run_id bigint NOT NULL PRIMARY KEY
);
--# comment on table {{ control }}.kept_run
COMMENT ON TABLE {{ control }}.kept_run IS
    'Runs older than ledger_days that the ledger keeps, since rows of them are archived. Written by archive_keep().';
-- unarchived: what has left the archive.
--# create table {{ control }}.unarchived
CREATE TABLE IF NOT EXISTS {{ control }}.unarchived (
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
{{ w::check(table=control ~ ".unarchived", name="unarchived_action_check", condition="action IN ('PRUNED', 'DROPPED', 'RESTORED')") }}
--# comment on table {{ control }}.unarchived
COMMENT ON TABLE {{ control }}.unarchived IS
    'Archived rows of run run_id that have left the archive, by table, and how: by_run is the run at whose end they were pruned. Written in the transaction in which they left.';

-- fit_archive: gives an archive table the columns that its source has and it lacks, and makes its view anew: the columns of
-- the source in their present order, so that a row comes in as it is.
--# create function {{ control }}.fit_archive
CREATE OR REPLACE FUNCTION {{ control }}.fit_archive(p_source text, p_archive text, p_entry text)
RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_archive regclass := format('{{ control }}.%I', p_archive);
    v_column  record;
BEGIN
    FOR v_column IN
        SELECT s.attname, format_type(s.atttypid, s.atttypmod) AS type
        FROM pg_attribute AS s
        WHERE s.attrelid = p_source::regclass
          AND s.attnum > 0
          AND NOT s.attisdropped
          AND NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = v_archive AND a.attname = s.attname AND NOT a.attisdropped)
        ORDER BY s.attnum
    LOOP
        EXECUTE format('ALTER TABLE %s ADD COLUMN %I %s', v_archive, v_column.attname, v_column.type);
    END LOOP;
    EXECUTE format('DROP VIEW IF EXISTS {{ control }}.%I', p_entry);
    EXECUTE format(
        'CREATE VIEW {{ control }}.%I AS SELECT windrow_run_id, windrow_archived_at, %s FROM %s',
        p_entry,
        (
            SELECT string_agg(quote_ident(s.attname), ', ' ORDER BY s.attnum)
            FROM pg_attribute AS s
            WHERE s.attrelid = p_source::regclass
              AND s.attnum > 0
              AND NOT s.attisdropped
        ),
        v_archive
    );
    EXECUTE format('COMMENT ON VIEW {{ control }}.%I IS %L', p_entry, format('Through which rows of %s come into %s, their columns in the order of the source.', p_source, v_archive));
END
$windrow$;
--# comment on function {{ control }}.fit_archive
COMMENT ON FUNCTION {{ control }}.fit_archive(text, text, text) IS
    'Adds to an archive table the columns that its source has and it lacks, and makes its view anew. The installation calls it. [body @body@]';
{% for archive in archives -%}
--# create view {{ archive.entry }}
SELECT {{ control }}.fit_archive({{ archive.table_class }}, {{ archive.archive_literal }}, {{ archive.entry_literal }});
{% endfor %}
-- archive_misfit: what keeps rows from being archived as they are. Looked at before a run, and at the end of each batch: by
-- then it holds locks that keep the columns as they are.
--# create function {{ control }}.archive_misfit
CREATE OR REPLACE FUNCTION {{ control }}.archive_misfit(p_rule text)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
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
        VALUES
{%- for archive in archives %}
            ({{ loop.index }}, ARRAY[{{ archive.rule_literals }}], {{ archive.table_literal }}, {{ archive.table_class }}, {{ archive.entry_class }}){% if not loop.last %},{% endif %}
{%- endfor %}
    ) AS a(position, rules, name, source, entry)
    CROSS JOIN LATERAL (
        SELECT array_agg(c.attname::text ORDER BY c.attnum) AS names, array_agg(format_type(c.atttypid, c.atttypmod) ORDER BY c.attnum) AS columns
        FROM pg_attribute AS c
        WHERE c.attrelid = to_regclass(a.source)
          AND c.attnum > 0
          AND NOT c.attisdropped
    ) AS s
    CROSS JOIN LATERAL (
        SELECT array_agg(c.attname::text ORDER BY c.attnum) AS names, array_agg(format_type(c.atttypid, c.atttypmod) ORDER BY c.attnum) AS columns
        FROM pg_attribute AS c
        WHERE c.attrelid = to_regclass(a.entry)
          AND c.attnum > 2
          AND NOT c.attisdropped
    ) AS e
    WHERE (p_rule IS NULL OR p_rule = ANY (a.rules))
      AND (
          (s.names, s.columns) IS DISTINCT FROM (e.names, e.columns)
          OR EXISTS (
              SELECT FROM pg_inherits AS i
              JOIN pg_class AS c ON c.oid = i.inhparent
              WHERE i.inhparent = to_regclass(a.source)
                AND c.relkind = 'r'
          )
      )
    ORDER BY a.position
    LIMIT 1;
$windrow$;
--# comment on function {{ control }}.archive_misfit
COMMENT ON FUNCTION {{ control }}.archive_misfit(text) IS
    'Why rows of a rule (NULL: of any) cannot be archived as they are: a table and its column; NULL where nothing is in the way. [body @body@]';
--# create function {{ control }}.check_archive
CREATE OR REPLACE FUNCTION {{ control }}.check_archive(p_rule text)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_misfit text := {{ control }}.archive_misfit(p_rule);
BEGIN
    IF v_misfit IS NOT NULL THEN
        RAISE EXCEPTION 'the archive does not fit: %', v_misfit
            USING ERRCODE = '42P17', HINT = 'Run windrow install again: it adds new columns. A type is changed by hand: drop the view, change the column of the archive table, install again.';
    END IF;
END
$windrow$;
--# comment on function {{ control }}.check_archive
COMMENT ON FUNCTION {{ control }}.check_archive(text) IS
    'Raises 42P17 where archive_misfit() finds something. Example: SELECT {{ control }}.check_archive(NULL); [body @body@]';
--# become who installs
RESET ROLE;
