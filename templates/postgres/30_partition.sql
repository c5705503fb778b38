--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};
--# set the owner of schema {{ control }}
ALTER SCHEMA {{ control }} OWNER TO CURRENT_ROLE;
{{ <w.rows control rule /> }}

{% for member in rule.timed.members -%}
-- {{ rule.name }}_count_partition_{{ member.position }}: the rows of {{ member.table_name }} between two bounds, and which of the keys
-- p_held they have or name. To count them, a partition is read from end to end, along no index: its bounds are the condition, so
-- that no other is read. Without p_counted they are only searched for those keys, and the first one for rows at '-infinity'.
--# create function {{ control }}.{{ rule.name }}_count_partition_{{ member.position }}
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_count_partition_{{ member.position }}(
    p_from {{ rule.timed.partition.bound_type }}, p_to {{ rule.timed.partition.bound_type }}, p_held {{ rule.key_type }}[],
    p_counted boolean, OUT o_rows bigint, OUT o_oldest {{ rule.time_type }}, OUT o_held text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET plan_cache_mode = force_custom_plan
AS $windrow$
BEGIN
    IF p_counted THEN
        SELECT count(*), min({{ rule.timed.due.of_t }})
        INTO o_rows, o_oldest
        FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to;
    ELSIF p_from = '-infinity' THEN
        SELECT min({{ rule.timed.due.of_t }}) INTO o_oldest FROM {{ member.table }} AS t WHERE t.{{ rule.end_time }} = '-infinity';
    END IF;
    o_held := '{}';
{%- if member.belongs | length > 0 %}
    IF p_held <> '{}' THEN
        o_held := ARRAY(
{%- for column in member.belongs %}
            SELECT t.{{ column }}::text FROM {{ member.table }} AS t
            WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to AND t.{{ column }} IN (SELECT unnest(p_held))
{%- if not loop.last %}
            UNION{% endif %}
{%- endfor %}
            ORDER BY 1
        );
    END IF;
{%- endif %}
END
$windrow$;

{% if rule.timed.bound -%}
-- {{ rule.name }}_held_partition_{{ member.position }}: the rows of {{ member.table_name }} between two bounds that a hold of another rule
-- keeps.
--# create function {{ control }}.{{ rule.name }}_held_partition_{{ member.position }}
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_held_partition_{{ member.position }}(
    p_from {{ rule.timed.partition.bound_type }}, p_to {{ rule.timed.partition.bound_type }}
)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET plan_cache_mode = force_custom_plan
AS $windrow$
BEGIN
{%- if member.bound | length > 0 %}
    RETURN ARRAY(
{%- filter fit %}
        SELECT t.{% if member.key %}{{ member.key }}{% else %}{{ rule.end_time }}{% endif %}::text FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to AND ({{ member.bound | join(sep=" OR ") }})
{%- endfilter %}
    );
{%- else %}
    -- No other rule reaches the table.
    RETURN '{}';
{%- endif %}
END
$windrow$;

{% endif -%}
{% if rule.timed.references | length > 0 -%}
-- {{ rule.name }}_referred_partition_{{ member.position }}: the first row of {{ member.table_name }} between two bounds that a row of another
-- table refers to.
--# create function {{ control }}.{{ rule.name }}_referred_partition_{{ member.position }}
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_referred_partition_{{ member.position }}(
    p_from {{ rule.timed.partition.bound_type }}, p_to {{ rule.timed.partition.bound_type }}
)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET plan_cache_mode = force_custom_plan
AS $windrow$
BEGIN
{%- if member.referrers | length > 0 %}
    RETURN (
        SELECT t.{{ member.key }}::text FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to AND (
{%- for referrer in member.referrers %}
            {% if not loop.first %}OR {% endif %}EXISTS (SELECT FROM {{ referrer.table }} AS n WHERE n.{{ referrer.column }} = t.{{ member.key }})
{%- endfor %}
        )
        ORDER BY t.{{ member.key }} LIMIT 1
    );
{%- else %}
    -- No other table refers to it.
    RETURN NULL;
{%- endif %}
END
$windrow$;

{% endif -%}
{% endfor -%}
{% if rule.timed.partition.waits -%}
{% for member in rule.timed.members -%}
-- {{ rule.name }}_waiting_partition_{{ member.position }}: of the rows of {{ rule.table_name }} that rows of {{ member.table_name }}
-- between two bounds are or name, wherever they are, the first one that has not ended, or not before p_cutoff.
--# create function {{ control }}.{{ rule.name }}_waiting_partition_{{ member.position }}
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_waiting_partition_{{ member.position }}(
    ⟦p_from {{ rule.timed.partition.bound_type }}, p_to {{ rule.timed.partition.bound_type }}, p_cutoff timestamptz, OUT o_fault integer,
    OUT o_key text⟧
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET plan_cache_mode = force_custom_plan
AS $windrow$
BEGIN
{%- if member.belongs | length == 0 %}
    -- None of its rows names one.
    RETURN;
{%- else %}
{%- if rule.raw %}
    -- where_sql of the spec, which windrow does not read, must be true of final rows: {{ rule.raw }}
{%- endif %}
    «SELECT f.fault, f.id::text
    ‹INTO o_fault, o_key›
    FROM (
        SELECT
            i.{{ rule.key }} AS id,
            CASE
{%- if rule.timed.partition.waits.final %}
{%- filter fit %}
                WHEN NOT {{ rule.is_final }} THEN 1
{%- endfilter %}
{%- endif %}
{%- if rule.timed.partition.waits.ended %}
{%- filter fit %}
                WHEN ({{ rule.timed.partition.waits.ended }} > '-infinity') IS NOT TRUE THEN 2
                WHEN {{ rule.timed.partition.waits.ended }} >= {{ rule.timed.partition.waits.cutoff }} THEN 3
{%- endfilter %}
{%- endif %}
            END AS fault
        FROM {{ rule.table }} AS i
{%- if member.root and member.belongs | length == 1 %}
        WHERE i.{{ rule.end_time }} >= p_from AND i.{{ rule.end_time }} < p_to
{%- else %}
        WHERE i.{{ rule.key }} IN (
{%- for column in member.belongs %}
            SELECT t.{{ column }} FROM {{ member.table }} AS t WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- if not loop.last %}
            UNION ALL{% endif %}
{%- endfor %}
        )
{%- endif %}
    ) AS f
    WHERE f.fault IS NOT NULL
    ORDER BY f.fault, f.id
    LIMIT 1»;
{%- endif %}
END
$windrow$;

{% endfor -%}
{% endif -%}
-- {{ rule.name }}_drop_partitions: {% if rule.timed.partition.all_detached %}detaches{% elif rule.timed.partition.detached %}drops or detaches{% else %}drops{% endif %} partitions, in this order: plain tables that the catalog has, under a lock that lets nobody
-- change it, as partitions of exactly {{ rule.timed.partition.told }} with exactly the bounds p_bounds. Anything else is an error.
-- Whoever wants the table meanwhile waits as long as this waits for its locks, p_wait milliseconds at most: half of them for the
-- table, the rest for the partitions and the default one.{% if not rule.timed.partition.detached %} What they lock is dropped at once.{% endif %}
--# create function {{ control }}.{{ rule.name }}_drop_partitions
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_drop_partitions(
{%- if rule.timed.partition.detached %}
    p_partitions oid[], p_bounds text[], p_wait integer, p_run bigint, p_family text
)
{%- else -%}
p_partitions oid[], p_bounds text[], p_wait integer)
{%- endif %}
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' SET timezone = 'UTC'
AS $windrow$
DECLARE
{%- if rule.timed.partition.all_detached %}
    v_place integer;
{%- else %}
    v_schema text;
    v_name   text;
    v_place  integer;
{%- endif %}
BEGIN
    PERFORM set_config('lock_timeout', greatest(p_wait / {{ 2 * rule.timed.members | length }}, 1) || 'ms', true);
{%- for member in rule.timed.members %}
    LOCK TABLE ONLY {{ member.table }} IN ACCESS EXCLUSIVE MODE;
{%- endfor %}
{%- if rule.timed.partition.detached %}
    -- A foreign key of a partition that is kept locks the table to which it refers, twice.
    PERFORM set_config('lock_timeout', greatest(p_wait / (4 * greatest(cardinality(p_partitions), 1) * (1 + (
        SELECT count(*) FROM pg_constraint AS f WHERE f.contype = 'f' AND f.conrelid = ANY (p_partitions)
    ))), 1) || 'ms', true);
{%- else %}
    PERFORM set_config('lock_timeout', greatest(p_wait / (4 * greatest(cardinality(p_partitions), 1)), 1) || 'ms', true);
{%- endif %}
{%- if rule.timed.members | length > 1 %}
    -- What was attached meanwhile and overlaps is of this family, and nobody has looked at it.
    IF NOT EXISTS (SELECT FROM {{ control }}.partition_families('{{ rule.name }}') AS f WHERE f.o_ids = p_partitions) THEN
        RAISE EXCEPTION 'partitions of % that go together are others now', {{ rule.timed.partition.text }}
            USING ERRCODE = '55000', HINT = 'One was attached, dropped or detached meanwhile. Nothing was dropped.';
    END IF;
{%- endif %}
    FOR v_place IN 1 .. cardinality(p_partitions) LOOP
{%- if rule.timed.partition.all_detached %}
        PERFORM
        FROM pg_inherits AS i
        JOIN pg_class AS c ON c.oid = i.inhrelid
{%- else %}
        SELECT n.nspname, c.relname
        INTO v_schema, v_name
        FROM pg_inherits AS i
        JOIN pg_class AS c ON c.oid = i.inhrelid
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
{%- endif %}
        WHERE i.inhparent IN ({{ rule.timed.partition.tables }})
          AND i.inhrelid = p_partitions[v_place]
          AND NOT i.inhdetachpending
          AND c.relispartition
          AND c.relkind = 'r'
          AND pg_get_expr(c.relpartbound, c.oid) = p_bounds[v_place]
          AND p_bounds[v_place] LIKE 'FOR VALUES FROM %';
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no partition of % has the bounds %', {{ rule.timed.partition.text }}, p_bounds[v_place]
                USING ERRCODE = '55000', HINT = 'It was dropped, detached or replaced meanwhile. Nothing was dropped.';
        END IF;
{%- if rule.timed.partition.detached %}
        -- Kept: detached, and moved to where nobody else gets at it.
{%- if rule.timed.partition.all_detached %}
        PERFORM {{ control }}.archive_partition(p_run, '{{ rule.name }}', p_family, p_partitions[v_place]);
{%- else %}
        IF EXISTS (
            SELECT FROM pg_inherits AS i
            WHERE i.inhrelid = p_partitions[v_place] AND i.inhparent IN ({{ rule.timed.partition.detached }})
        ) THEN
            PERFORM {{ control }}.archive_partition(p_run, '{{ rule.name }}', p_family, p_partitions[v_place]);
        ELSE
            EXECUTE format('DROP TABLE %I.%I', v_schema, v_name);
        END IF;
{%- endif %}
{%- else %}
        EXECUTE format('DROP TABLE %I.%I', v_schema, v_name);
{%- endif %}
    END LOOP;
END
$windrow$;
{% if rule.timed.partition.ahead -%}
-- {{ rule.name }}_make_partition: makes a partition of {{ rule.timed.partition.told }}, like p_like, which is one: with the same owner,
-- rights, storage and foreign keys (p_keys, to p_twins; p_like: to itself). What the table itself has (columns, checks, indexes, keys,
-- row triggers) it gets from that. The table is made first, then attached: the application writes meanwhile. Whoever wants the default
-- partition waits for the two locks that are waited for, p_wait milliseconds at most.
--# create function {{ control }}.{{ rule.name }}_make_partition
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_make_partition(
    p_place integer, p_like oid, p_name text, p_from text, p_to text, p_keys oid[], p_twins oid[], p_wait integer
)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' SET timezone = 'UTC' SET default_tablespace = ''
AS $windrow$
DECLARE
    v_table regclass := (ARRAY[{{ rule.timed.partition.tables }}])[p_place];
    v_like  record;
    v_new   text;
    v_text  text;
    v_index text;
BEGIN
    SELECT n.nspname, c.relowner, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity, c.relreplident,
        t.relowner AS owner, a.amname, s.spcname, x.reloptions AS toast, c.reloptions,
        (SELECT count(*) FROM pg_constraint AS k WHERE k.conrelid = v_table AND k.contype = 'f') AS keys
    INTO STRICT v_like
    FROM pg_inherits AS i
    JOIN pg_class AS c ON c.oid = i.inhrelid AND c.relkind = 'r'
    JOIN pg_class AS t ON t.oid = i.inhparent
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_am AS a ON a.oid = c.relam
    LEFT JOIN pg_class AS x ON x.oid = c.reltoastrelid
    LEFT JOIN pg_tablespace AS s ON s.oid = c.reltablespace
    WHERE i.inhparent = v_table
      AND i.inhrelid = p_like;
    PERFORM set_config('lock_timeout', greatest(p_wait / (2 + v_like.keys), 1) || 'ms', true);
    v_new := format('%I.%I', v_like.nspname, p_name);
    EXECUTE format(
        'CREATE %s TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY EXCLUDING INDEXES EXCLUDING STATISTICS) USING %I%s%s',
        CASE v_like.relpersistence WHEN 'u' THEN 'UNLOGGED' END, v_new, v_table, v_like.amname,
        (
            SELECT format(' WITH (%s)', string_agg(
                format('%s%I = %L', o.of, split_part(o.said, '=', 1), substr(o.said, strpos(o.said, '=') + 1)), ', '
            ))
            FROM (SELECT '' AS of, unnest(v_like.reloptions) AS said UNION ALL SELECT 'toast.', unnest(v_like.toast)) AS o
            HAVING count(*) > 0
        ),
        ' TABLESPACE ' || quote_ident(v_like.spcname)
    );
    EXECUTE format('ALTER TABLE %s OWNER TO %I', v_new, pg_get_userbyid(v_like.owner));
    FOR v_text IN
        SELECT g.statement FROM {{ control }}.partition_grants(p_like, v_new, ARRAY[v_like.relowner, v_like.owner]) AS g(statement)
    LOOP
        EXECUTE v_text;
    END LOOP;
    IF v_like.relrowsecurity THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', v_new);
    END IF;
    IF v_like.relforcerowsecurity THEN
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', v_new);
    END IF;
    -- A key to the partition itself needs an index that comes when it is attached.
    FOR v_text IN
        SELECT s.statement
        FROM (
            SELECT
                CASE WHEN w.twin = p_like THEN 3 ELSE 1 END,
                format('ALTER TABLE %s ADD %s', v_new, replace(
                    pg_get_constraintdef(k.oid), format('REFERENCES %s(', k.confrelid::regclass),
                    format('REFERENCES %s(', CASE WHEN w.twin = p_like THEN v_new ELSE w.twin::regclass::text END)
                ))
            FROM unnest(p_keys, p_twins) AS w(key, twin)
            JOIN pg_constraint AS k ON k.oid = w.key AND k.conrelid = p_like
            UNION ALL
            SELECT 2, format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)', v_table, v_new, p_from, p_to)
        ) AS s(place, statement)
        ORDER BY s.place
    LOOP
        EXECUTE v_text;
    END LOOP;
    -- What says which row it is to a subscriber: the index that comes from the same one of the table.
    SELECT n.inhrelid::regclass::text
    INTO v_index
    FROM pg_index AS l
    JOIN pg_inherits AS p ON p.inhrelid = l.indexrelid
    JOIN pg_inherits AS n ON n.inhparent = p.inhparent
    JOIN pg_index AS i ON i.indexrelid = n.inhrelid AND i.indrelid = to_regclass(v_new)
    WHERE l.indrelid = p_like
      AND l.indisreplident;
    v_text := CASE v_like.relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' WHEN 'i' THEN 'USING INDEX ' || quote_ident((
        SELECT c.relname FROM pg_class AS c WHERE c.oid = to_regclass(v_index)
    )) END;
    IF v_text IS NOT NULL THEN
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY %s', v_new, v_text);
    END IF;
END
$windrow$;

{% endif -%}
--# become who installs
RESET ROLE;
