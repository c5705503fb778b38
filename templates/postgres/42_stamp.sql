{#- Whether row r leads to its family: its root does, or else the first row of it that is among those that are looked at. -#}
{% component stamp.leads(stamp, among) -%}
{{ stamp.family_of_root }} = r.{{ stamp.key }} OR NOT EXISTS (
    SELECT FROM {{ stamp.table }} AS f
    WHERE f.{{ stamp.key }} = r.{{ stamp.root_column }} AND coalesce(f.{{ stamp.root_column }}, f.{{ stamp.key }}) = f.{{ stamp.key }}
      AND {{ among }}
) AND NOT EXISTS (
    SELECT FROM {{ stamp.table }} AS f
    WHERE f.{{ stamp.root_column }} = r.{{ stamp.root_column }} AND f.{{ stamp.key }} < r.{{ stamp.key }}
      AND {{ among }}
)
{%- endcomponent stamp.leads %}

{#- Changes the rows t of a table, which has this position among those that are stamped. -#}
{% component stamp.changes(stamp, step, position) -%}
{% for change in step.changes -%}
«UPDATE {{ step.table }} AS t SET {{ stamp.end_time }} = w.due
    FROM unnest(p_ids, p_roots, p_families, p_times) AS w(id, root, family, due)
{%- for join in change.joins %}
    JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
    WHERE {{ change.on }}{% if change.also %} {{ change.also }}{% endif %}{% if change.is_long %}
      AND{% else %} AND{% endif %} t.{{ stamp.end_time }} IS DISTINCT FROM w.due»;
    GET DIAGNOSTICS v_rows = ROW_COUNT; o_rows[{{ position }}] := o_rows[{{ position }}] + v_rows;
{%- if not loop.last %}
    {% endif %}
{%- endfor %}
{%- endcomponent stamp.changes -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};
--# set the owner of schema {{ control }}
ALTER SCHEMA {{ control }} OWNER TO CURRENT_ROLE;
-- The kernel's stamp_step() calls these. Row security would hide rows that must be stamped: with row_security = off it is an
-- error, not a gap. Row w of stamp_set has an instance, its family, and in one row of a whole family the key of that as root.
{% for stamp in stamped %}
--# create function {{ control }}.{{ stamp.name }}_stamp_next
CREATE OR REPLACE FUNCTION {{ control }}.{{ stamp.name }}_stamp_next(
    ⟦p_whole boolean, p_all boolean, p_after {{ stamp.key_type }}, p_limit bigint, OUT o_last {{ stamp.key_type }}, OUT o_keys {{ stamp.key_type }}[]⟧
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    SELECT max(n.id), coalesce(array_agg(n.key ORDER BY n.id), '{}') INTO o_last, o_keys
    FROM (
        «SELECT r.{{ stamp.key }} AS id, {% if stamp.root_column %}CASE WHEN p_whole THEN {{ stamp.family_of_root }} ELSE r.{{ stamp.key }} END{% else %}r.{{ stamp.key }}{% endif %} AS key
        FROM {{ stamp.table }} AS r
        WHERE r.{{ stamp.key }} > p_after
          AND (p_all OR r.{{ stamp.end_time }} IS NULL OR r.{{ stamp.end_time }} = '-infinity')
{%- for condition in stamp.conditions %}
          AND {{ condition }}
{%- endfor %}
{%- if stamp.root_column %}
          -- Where several rows lead to one family, the root does, or else the first of them.
          AND (NOT p_whole OR {{ <stamp.leads stamp among={"(p_all OR f." ~ stamp.end_time ~ " IS NULL OR f." ~ stamp.end_time ~ " = '-infinity')" ~ stamp.and_of_others} /> | indent(width=10) }})
{%- endif %}
        ORDER BY r.{{ stamp.key }} LIMIT p_limit»
    ) AS n;
END
$windrow$;
--# comment on function {{ control }}.{{ stamp.name }}_stamp_next
COMMENT ON FUNCTION {{ control }}.{{ stamp.name }}_stamp_next(boolean, boolean, {{ stamp.key_type }}, bigint) IS
    'The next p_limit families, or instances, behind row p_after of {{ stamp.table_name }}: p_all, or with no {{ stamp.end_time_name }}.';
--# create function {{ control }}.{{ stamp.name }}_stamp_rows
CREATE OR REPLACE FUNCTION {{ control }}.{{ stamp.name }}_stamp_rows(⟦p_roots {{ stamp.key_type }}[], p_keys {{ stamp.key_type }}[], p_lock boolean⟧)
RETURNS TABLE (id {{ stamp.key_type }}, family {{ stamp.key_type }}, named boolean, lacks boolean, rooted boolean, starts {{ stamp.time_type }}, ends {{ stamp.time_type }}, live bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off SET enable_nestloop = on
SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    ⟦v_ids {{ stamp.key_type }}[]⟧ := p_keys;
BEGIN
    IF p_lock THEN
{%- if stamp.of %}
        -- These rows first: no other stamp meets a family that is stamped in part.
{%- else %}
        -- The same lock as that of a purge: no run meets a family that is stamped in part, and no stamp one that is half deleted.
{%- endif %}
        v_ids := ARRAY(
            «SELECT t.{{ stamp.key }} FROM {{ stamp.table }} AS t
            WHERE {% if stamp.root_column %}t.{{ stamp.root_column }} = ANY (p_roots) OR {% endif %}t.{{ stamp.key }} = ANY (p_keys)
            ORDER BY t.{{ stamp.key }}
            FOR UPDATE»
        );
    END IF;
{%- if stamp.definition %}
    -- By the time to live of the root's definition in {{ stamp.definition_name }}: NULL there is the default (-1 here), less than 0 or more
    -- than a hundred years is forever (NULL here).
{%- else %}
    -- By the time to live that the spec gives for its {{ stamp.per_name }}: any other means the default (-1 here).
{%- endif %}
    RETURN QUERY «SELECT
        r.{{ stamp.key }}::{{ stamp.key_type }}, {{ stamp.family_of_root }}::{{ stamp.key_type }},
        {% for condition in stamp.conditions %}{{ condition }}{% if not loop.last %} AND {% endif %}{% endfor %}{% if not stamp.conditions %}true{% endif %}, nullif(r.{{ stamp.end_time }}, '-infinity') IS NULL,
        b.{{ stamp.key }} IS NOT NULL, nullif(b.{{ stamp.start }}, '-infinity')::{{ stamp.time_type }},
        nullif(b.{{ stamp.ended }}, '-infinity')::{{ stamp.time_type }},
        {% if stamp.definition %}CASE WHEN {{ stamp.says }} IS NULL THEN -1 WHEN {{ stamp.ends }} THEN {{ stamp.seconds }} END{% else %}coalesce({{ stamp.says }}, -1)::bigint{% endif %}
    FROM {{ stamp.table }} AS r
    LEFT JOIN {{ stamp.table }} AS b ON b.{{ stamp.key }} = {{ stamp.family_of_root }}
{%- if stamp.definition %}
    LEFT JOIN {{ stamp.definition }} AS d ON d.{{ stamp.definition_key }} = b.{{ stamp.per }}
{%- endif %}
    WHERE r.{{ stamp.key }} = ANY (v_ids)
    ORDER BY r.{{ stamp.key }}»;
END
$windrow$;
--# comment on function {{ control }}.{{ stamp.name }}_stamp_rows
COMMENT ON FUNCTION {{ control }}.{{ stamp.name }}_stamp_rows({{ stamp.key_type }}[], {{ stamp.key_type }}[], boolean) IS
    'The rows p_keys of {{ stamp.table_name }}, and if p_lock, locked, of the families p_roots; whether each lacks a time, and what the roots say of times.';
--# create function {{ control }}.{{ stamp.name }}_stamp_set
CREATE OR REPLACE FUNCTION {{ control }}.{{ stamp.name }}_stamp_set(
    ⟦p_whole boolean, p_ids {{ stamp.key_type }}[], p_roots {{ stamp.key_type }}[], p_families {{ stamp.key_type }}[], p_times {{ stamp.time_type }}[], OUT o_rows bigint[]⟧
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off SET enable_nestloop = on
SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_rows bigint;
BEGIN
    o_rows := array_fill(0, ARRAY[{{ stamp.steps | length }}]);
{%- for step in stamp.steps %}

    {{ <stamp.changes stamp step position={loop.index} /> }}
{%- endfor %}
END
$windrow$;
--# comment on function {{ control }}.{{ stamp.name }}_stamp_set
COMMENT ON FUNCTION {{ control }}.{{ stamp.name }}_stamp_set(boolean, {{ stamp.key_type }}[], {{ stamp.key_type }}[], {{ stamp.key_type }}[], {{ stamp.time_type }}[]) IS
    'Sets the {{ stamp.end_time_name }} of rows of the instances p_ids, with p_whole of the families p_roots; how many by table.';
{% endfor %}
--# become who installs
RESET ROLE;
