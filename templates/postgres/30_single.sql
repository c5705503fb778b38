--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};
--# set the owner of schema {{ control }}
ALTER SCHEMA {{ control }} OWNER TO CURRENT_ROLE;
-- {{ rule.name }}_search: the next rows of {{ rule.table_name }} behind p_after, in the order of an index, or the rows p_keys.
-- Those without o_reason are deleted: {{ rule.single.why }} '' says: not due.
{%- if rule.raw %}
-- where_sql of the spec, which windrow does not read, must be true of every row of the rule: {{ rule.raw }}
{%- endif %}
{%- if rule.single.passes | length > 1 %}
{%- for pass in rule.single.passes %}
-- Pass {{ pass.number }}, {{ pass.name }}: {{ pass.why }}
{%- endfor %}
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_search
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_search(
    ⟦p_pass integer, p_keys {{ rule.single.key_type }}[], p_after text[], p_rows bigint, p_as_of timestamptz, p_cutoff timestamptz⟧
)
RETURNS TABLE (o_key {{ rule.single.key_type }}, o_place tid, o_due {{ rule.single.oldest_type }}, o_reason text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET datestyle = 'ISO, YMD' SET jit = off ⟦SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off⟧
SET plan_cache_mode = force_generic_plan{% if rule.single.smalls %} SET work_mem = '8MB'{% endif %}
AS $windrow$
DECLARE
{%- filter fit %}
{{- <w.smalls control rule rows="p_rows" /> }}
{%- if rule.single.above %}
    ⟦v_above boolean⟧ := {{ control }}.any_holds({% for above in rule.single.above %}{{ above.rule }}{% if not loop.last %}, {% endif %}{% endfor %});
{%- endif %}
{{- <w.along rule /> }}
{%- endfilter %}
BEGIN
    IF p_keys IS NOT NULL THEN
        RETURN QUERY
        «SELECT k.key, t.ctid, {{ rule.single.due_cast }}, {{ <w.why_it_stays control rule key="k.key" /> | indent(width=8) }}

{%- filter fit %}
        FROM unnest(p_keys) WITH ORDINALITY AS k(key, position) JOIN {{ rule.table }} AS t ON {{ rule.single.same_key }}
{%- endfilter %}
{%- filter fit %}
        WHERE {% for condition in rule.single.conditions %}{{ condition }}
          AND {% endfor %}
{%- if rule.single.expiry -%}
          (p_as_of IS NULL
{%- for pass in rule.single.passes %}
          OR p_pass = {{ pass.number }}{% for predicate in pass.due %} AND {{ predicate }}{% endfor %}
{%- endfor %}
          )
{%- else -%}
{{ rule.single.goes }}
{%- if rule.single.aged %}
          AND (p_as_of IS NULL OR {{ rule.single.old_enough }})
{%- endif %}
{%- endif %}
{%- endfilter %}
        ORDER BY k.position»;
{%- if rule.single.shared %}
{%- for pass in rule.single.passes %}
    -- The claim of a worker ends at a second cursor, behind the first.
    ELSIF p_pass = {{ pass.number }} AND cardinality(p_after) > {{ pass.along | length }} THEN
{%- if rule.single.keep_last %}
        {{ <w.search_claimed control rule pass /> | trim_start | indent(width=8) }}
{%- else %}
        {{ <w.search_pass control rule pass claimed={true} /> | trim_start | indent(width=8) }}
{%- endif %}
{%- endfor %}
{%- endif %}
{%- for pass in rule.single.passes %}
    {% if loop.last %}ELSE{% else %}ELSIF p_pass = {{ pass.number }} THEN{% endif %}
        {{ <w.search_pass control rule pass claimed={false} /> | trim_start | indent(width=8) }}
{%- endfor %}
    END IF;
END
$windrow$;
{%- if rule.single.shared %}

-- {{ rule.name }}_reach: where the next p_rows rows behind p_after end, for a claim; up to a second place, if there is one.
--# create function {{ control }}.{{ rule.name }}_reach
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_reach(
    ⟦p_pass integer, p_after text[], p_rows bigint, p_as_of timestamptz, p_cutoff timestamptz⟧
)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET datestyle = 'ISO, YMD' SET jit = off ⟦SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off⟧
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
{%- filter fit %}
{{- <w.along rule /> }}
{%- endfilter %}
BEGIN
{%- for pass in rule.single.passes %}
    IF p_pass = {{ pass.number }} AND cardinality(p_after) > {{ pass.along | length }} THEN
        RETURN (
            {{ <w.place_reach rule pass claimed={true} last={false} /> | trim_start | indent(width=12) }}
        );
    ELSIF p_pass = {{ pass.number }} THEN
        RETURN coalesce((
            {{ <w.place_reach rule pass claimed={false} last={false} /> | trim_start | indent(width=12) }}
        ), (
            {{ <w.place_reach rule pass claimed={false} last={true} /> | trim_start | indent(width=12) }}
        ));
    END IF;
{%- endfor %}
END
$windrow$;
{%- endif %}

{% if rule.single.family -%}
{{ <w.count_below control rule /> }}

{% endif -%}
-- {{ rule.name }}_delete: deletes rows{% if rule.single.family %} with what belongs to them{% endif %} where a search of the time of p_before saw them (NULL: locked since), or by keys.
--# create function {{ control }}.{{ rule.name }}_delete
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_delete(
    ⟦p_run bigint, p_keys {{ rule.single.key_type }}[], p_places tid[], p_before xid, OUT o_below bigint[], OUT o_rows bigint⟧
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off SET enable_nestloop = on
SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan{% if rule.single.smalls %} SET work_mem = '8MB'{% endif %}
AS $windrow$
{%- if rule.single.smalls %}
{%- filter fit %}
DECLARE
{{- <w.smalls control rule rows="cardinality(p_places)" /> }}
{%- endfilter %}
{%- elif rule.single.family or rule.archives %}
DECLARE
{%- endif %}
{%- if rule.single.family or rule.archives %}
{%- if rule.single.family %}
    v_rows bigint;{% if rule.unlocked %} v_since text := pg_current_snapshot()::text;{% endif %}
    ⟦v_members {{ rule.id_type }}[]⟧ := p_keys;
{%- for collect in rule.collects %}
    ⟦{{ collect.variable }} {{ collect.key_type }}[]⟧;
{%- endfor %}
    -- A trigger or a rule can keep rows silently. It is worth looking only where there is one.
    v_watched boolean := {{ control }}.may_keep({{ rule.literal }});
{%- endif %}
{%- if rule.archives %}
    v_kept bigint;
{%- endif %}
{%- endif %}
BEGIN
{%- if rule.single.family %}
    o_below := ARRAY[{{ rule.zeros }}];
{%- for collect in rule.collects %}
    {{ <w.collect collect control /> | trim_start | indent | replace(from="p_members", to="v_members") }}
{%- endfor %}
{%- for step in rule.steps %}
{%- if not loop.last %}
    {{ <w.delete_step step control watched="v_watched" /> | replace(from="p_members", to="v_members") | replace(from="o_rows[", to="o_below[") }}
{%- endif %}
{%- endfor %}
{{- <w.all_gone_below control rule watched="v_watched" members="v_members" /> }}
{{- <w.none_elsewhere control rule rows="o_below" /> }}
{%- endif %}
    IF p_places IS NULL THEN
        {{ <w.delete_single rule places={false} /> | trim_start | indent(width=8) }}
    ELSE
        {{ <w.delete_single rule places={true} /> | trim_start | indent(width=8) }}
    END IF;
{%- if rule.archive %}
    {{ <w.all_kept archive={rule.archive} rows="o_rows" /> | indent }}
{%- else %}
    GET DIAGNOSTICS o_rows = ROW_COUNT;
{%- endif %}
END
$windrow$;
{%- if rule.single.expiry and rule.single.aged %}

-- {{ rule.name }}_undated: rows that have neither {{ rule.end_time_name }} nor {{ rule.single.time_name }}; they can never become due.
-- '-infinity' is no time, and with it as its {{ rule.end_time_name }}, a row is kept.
--# create function {{ control }}.{{ rule.name }}_undated
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_undated(p_as_of timestamptz, p_scope text)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
BEGIN
    RETURN ARRAY(
        SELECT {{ rule.single.key_text }} FROM {{ rule.table }} AS t
        WHERE {% if rule.numbered %}t.{{ rule.end_time }} IS NULL AND ({{ rule.single.time }} > '-infinity') IS NOT TRUE{% else %}(
            t.{{ rule.end_time }} IS NULL AND ({{ rule.single.time }} > '-infinity') IS NOT TRUE OR t.{{ rule.end_time }} = '-infinity'
        ){% endif %}
{%- for condition in rule.single.conditions %}
          AND {{ condition }}
{%- endfor %}
          AND {{ control }}.cutoff_of({{ rule.literal }}, p_as_of, NULL) IS NOT NULL
        LIMIT 100000
    );
END
$windrow$;
{%- endif %}
{%- if rule.single.keep_last %}

-- {{ rule.name }}_unranked: how many rows have no group or no place in it; they are kept, and block nothing.
--# create function {{ control }}.{{ rule.name }}_unranked
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_unranked()
RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
    SELECT count(*) FROM {{ rule.table }} AS t
    WHERE {% for condition in rule.single.conditions %}{{ condition }}
      AND {% endfor %}({{ rule.single.unranked }});
$windrow$;
{%- endif %}
--# become who installs
RESET ROLE;
