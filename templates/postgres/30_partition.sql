--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

{{ <w.rows control rule /> }}

{% for member in rule.timed.members -%}
-- {{ rule.name }}_count_partition_{{ member.position }}: the rows of {{ member.table_name }} between two bounds, and which of the keys
-- p_held they have or name. A partition is read from end to end, along no index: its bounds are the condition, so that no other
-- is read.
--# create function {{ control }}.{{ rule.name }}_count_partition_{{ member.position }}
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_count_partition_{{ member.position }}(
    p_from {{ rule.timed.partition.bound_type }}, p_to {{ rule.timed.partition.bound_type }}, p_held {{ rule.key_type }}[],
    OUT o_rows bigint, OUT o_oldest {{ rule.time_type }}, OUT o_held text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
AS $windrow$
BEGIN
    SELECT count(*), min({{ rule.timed.due.of_t }})
    INTO o_rows, o_oldest
    FROM {{ member.table }} AS t
    WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to;
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
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
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
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
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
-- {{ rule.name }}_drop_partitions: drops partitions, in this order: plain tables that the catalog has, under a lock that lets nobody
-- change it, as partitions of exactly {{ rule.timed.partition.told }} with exactly the bounds p_bounds. Anything else is an error.
-- Whoever wants the table meanwhile waits as long as this waits for its locks, p_wait milliseconds at most: half of them for the
-- table, the rest for the partitions and the default one. What they lock is dropped at once.
--# create function {{ control }}.{{ rule.name }}_drop_partitions
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_drop_partitions(p_partitions oid[], p_bounds text[], p_wait integer)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_schema text;
    v_name   text;
    v_place  integer;
BEGIN
    PERFORM set_config('lock_timeout', greatest(p_wait / {{ 2 * rule.timed.members | length }}, 1) || 'ms', true);
{%- for member in rule.timed.members %}
    LOCK TABLE ONLY {{ member.table }} IN ACCESS EXCLUSIVE MODE;
{%- endfor %}
    PERFORM set_config('lock_timeout', greatest(p_wait / (4 * greatest(cardinality(p_partitions), 1)), 1) || 'ms', true);
    FOR v_place IN 1 .. cardinality(p_partitions) LOOP
        SELECT n.nspname, c.relname
        INTO v_schema, v_name
        FROM pg_inherits AS i
        JOIN pg_class AS c ON c.oid = i.inhrelid
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
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
        EXECUTE format('DROP TABLE %I.%I', v_schema, v_name);
    END LOOP;
END
$windrow$;
--# become who installs
RESET ROLE;
