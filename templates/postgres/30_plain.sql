{% import "macros.sql" as w -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- Row security would hide rows that must go: with row_security = off it is an error, not a gap.

-- {{ rule.name }}_window: the next window of time, from its oldest row on (inclusive) to o_to (exclusive): no more than p_rows and
-- p_families, unless they have the same time. What lies before p_from is not looked at again: an index keeps the entries of
-- deleted rows for a while.
--# create function {{ control }}.{{ rule.name }}_window
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_window(
    p_from {{ rule.time_type }}, p_cutoff {{ rule.time_type }}, p_rows bigint, p_families bigint, p_last bigint[],
    OUT o_from {{ rule.time_type }}, OUT o_to {{ rule.time_type }}
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    o_from := (
        SELECT min(t.{{ rule.end_time }})
        FROM {{ rule.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from
          AND t.{{ rule.end_time }} < p_cutoff
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}
    );
    o_to := CASE WHEN p_rows = 0 THEN o_from ELSE p_cutoff END;
    o_to := coalesce((
        SELECT t.{{ rule.end_time }}
        FROM {{ rule.table }} AS t
        WHERE t.{{ rule.end_time }} >= o_from
          AND t.{{ rule.end_time }} < o_to
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY t.{{ rule.end_time }} OFFSET least(p_rows, p_families) LIMIT 1
    ), o_to);
    o_to := greatest(o_to, o_from + {{ rule.timed.tick }});
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_window
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_window({{ rule.time_type }}, {{ rule.time_type }}, bigint, bigint, bigint[]) IS
    'The next window of {{ rule.end_time_name }} from p_from on; o_from is NULL where nothing before p_cutoff is left. Reads only. [body @body@]';

-- {{ rule.name }}_rows: the rows of a window, the oldest first; without one, those without a {{ rule.end_time_name }}; or the one with a key.
--# create function {{ control }}.{{ rule.name }}_rows
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_rows(p_from {{ rule.time_type }}, p_to {{ rule.time_type }}, p_limit bigint, p_key text)
RETURNS TABLE (o_key {{ rule.key_type }}, o_time {{ rule.time_type }})
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    IF p_key IS NOT NULL THEN
        RETURN QUERY
        SELECT t.{{ rule.key }}::{{ rule.key_type }}, t.{{ rule.end_time }}::{{ rule.time_type }}
        FROM {{ rule.table }} AS t
        WHERE t.{{ rule.key }} = p_key::{{ rule.key_type }}
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %};
    ELSIF p_from IS NULL THEN
        RETURN QUERY
        SELECT t.{{ rule.key }}::{{ rule.key_type }}, t.{{ rule.end_time }}::{{ rule.time_type }}
        FROM {{ rule.table }} AS t
        WHERE (t.{{ rule.end_time }} IS NULL OR t.{{ rule.end_time }} = '-infinity')
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %};
    ELSE
        RETURN QUERY
        SELECT t.{{ rule.key }}::{{ rule.key_type }}, t.{{ rule.end_time }}::{{ rule.time_type }}
        FROM {{ rule.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from
          AND t.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY t.{{ rule.end_time }}
        LIMIT p_limit;
    END IF;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_rows
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_rows({{ rule.time_type }}, {{ rule.time_type }}, bigint, text) IS
    'The keys and times of rows of {{ rule.table_name }} in a window, of undated ones, or of one. Reads only. [body @body@]';

-- {{ rule.name }}_delete: deletes the rows of a window but for those in p_keep; or the one with a key.
--# create function {{ control }}.{{ rule.name }}_delete
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_delete(p_run bigint, p_from {{ rule.time_type }}, p_to {{ rule.time_type }}, p_keep {{ rule.key_type }}[], p_key text)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_rows bigint;
{%- if rule.archive %}
    v_kept bigint;
{%- endif %}
BEGIN
    IF p_key IS NULL THEN
{%- if rule.archive %}
        {{ w::archived(archive=rule.archive, rows="v_rows", delete=w::delete_plain(rule=rule)) | indent(prefix="        ") }}
    ELSE
        {{ w::archived(archive=rule.archive, rows="v_rows", delete=w::delete_plain_one(rule=rule)) | indent(prefix="        ") }}
    END IF;
{%- else %}
        {{ w::delete_plain(rule=rule) | indent(prefix="        ") }};
    ELSE
        {{ w::delete_plain_one(rule=rule) | indent(prefix="        ") }};
    END IF;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
{%- endif %}
    RETURN v_rows;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_delete
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_delete(bigint, {{ rule.time_type }}, {{ rule.time_type }}, {{ rule.key_type }}[], text) IS
    'Deletes rows of {{ rule.table_name }}, in the caller''s transaction, and answers how many; timed_batch() and timed_named() call it. [body @body@]';
--# become who installs
RESET ROLE;
