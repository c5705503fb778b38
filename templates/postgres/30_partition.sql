--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

{{ <w.rows control rule /> }}

-- {{ rule.name }}_count_partition: the rows of {{ rule.table_name }} between two bounds, and which of them have one of the keys p_held.
-- A partition is read from end to end, along no index: its bounds are the condition, so that no other is read.
--# create function {{ control }}.{{ rule.name }}_count_partition
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_count_partition(
    p_from {{ rule.timed.partition.bound_type }}, p_to {{ rule.timed.partition.bound_type }}, p_held {{ rule.key_type }}[],
    OUT o_rows bigint, OUT o_oldest {{ rule.time_type }}, OUT o_held text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
AS $windrow$
BEGIN
    SELECT count(*), min({{ rule.timed.due.of_t }})
    INTO o_rows, o_oldest
    FROM {{ rule.table }} AS t
    WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to;
    o_held := '{}';
    IF p_held <> '{}' THEN
        o_held := ARRAY(
            SELECT t.{{ rule.key }}::text FROM {{ rule.table }} AS t
            WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to AND t.{{ rule.key }} IN (SELECT unnest(p_held))
            ORDER BY 1
        );
    END IF;
END
$windrow$;

{% if rule.bound | length > 0 -%}
-- {{ rule.name }}_held_partition: the keys of the rows between two bounds that a hold of another rule keeps.
--# create function {{ control }}.{{ rule.name }}_held_partition
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_held_partition(
    p_from {{ rule.timed.partition.bound_type }}, p_to {{ rule.timed.partition.bound_type }}
)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
AS $windrow$
BEGIN
    RETURN ARRAY(
        SELECT t.{{ rule.key }}::text FROM {{ rule.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to AND (
{%- for above in rule.bound %}
{%- filter fit %}
            {% if not loop.first %}OR {% endif %}{{ <w.held_beside control above /> | indent(width=12) }}
{%- endfilter %}
{%- endfor %}
        )
    );
END
$windrow$;

{% endif -%}
-- {{ rule.name }}_drop_partition: drops one partition of {{ rule.table_name }}: a plain table that the catalog has, under a lock
-- that lets nobody change it, as a partition of exactly this table with exactly the bounds p_bound. Anything else is an error.
-- Whoever wants the table meanwhile waits as long as this waits for its locks, p_wait milliseconds at most: half of them for the
-- table, the rest for the partition and the default one. What they lock is dropped at once.
--# create function {{ control }}.{{ rule.name }}_drop_partition
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_drop_partition(p_partition oid, p_bound text, p_wait integer)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO, YMD' SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_schema text;
    v_name   text;
BEGIN
    PERFORM set_config('lock_timeout', greatest(p_wait / 2, 1) || 'ms', true);
    LOCK TABLE ONLY {{ rule.table }} IN ACCESS EXCLUSIVE MODE;
    SELECT n.nspname, c.relname
    INTO v_schema, v_name
    FROM pg_inherits AS i
    JOIN pg_class AS c ON c.oid = i.inhrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE i.inhparent = {{ rule.timed.partition.regclass }}::regclass
      AND i.inhrelid = p_partition
      AND NOT i.inhdetachpending
      AND c.relispartition
      AND c.relkind = 'r'
      AND pg_get_expr(c.relpartbound, c.oid) = p_bound
      AND p_bound LIKE 'FOR VALUES FROM %';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no partition of % has the bounds %', {{ rule.timed.partition.regclass }}, p_bound
            USING ERRCODE = '55000', HINT = 'It was dropped, detached or replaced meanwhile. Nothing was dropped.';
    END IF;
    PERFORM set_config('lock_timeout', greatest(p_wait / 4, 1) || 'ms', true);
    EXECUTE format('DROP TABLE %I.%I', v_schema, v_name);
END
$windrow$;
--# become who installs
RESET ROLE;
