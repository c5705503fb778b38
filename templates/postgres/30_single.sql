--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- {{ rule.name }}_search: the next rows of {{ rule.table_name }} behind p_after, at most p_rows of them, in the order of an index.
{%- for pass in rule.single.passes %}
-- Pass {{ pass.number }}, {{ pass.name }}: {{ pass.why }}
{%- endfor %}
--# create function {{ control }}.{{ rule.name }}_search
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_search(
    ⟦p_pass integer, p_after text[], p_rows bigint, p_as_of timestamptz, p_cutoff timestamptz,
    OUT o_keys {{ rule.single.key_type }}[], OUT o_after text[]⟧
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET datestyle = 'ISO, YMD' SET jit = off ⟦SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
{%- if rule.single.expiry %}
    ⟦v_now {{ rule.time_type }}⟧ := {{ rule.single.now }};
{%- endif %}
{%- if rule.single.expiry and rule.single.aged %}
    ⟦v_cutoff {{ rule.single.time_type }}⟧ := p_cutoff{{ rule.single.in_zone }};
{%- endif %}
{%- for pass in rule.single.passes %}
{%- for place in pass.along %}
    ⟦{{ place.variable }} {{ place.kind }}⟧ := coalesce({% if rule.single.passes | length > 1 %}CASE p_pass WHEN {{ pass.number }} THEN p_after[{{ loop.index }}] END{% else %}p_after[{{ loop.index }}]{% endif %}, {{ place.first }});
{%- endfor %}
{%- endfor %}
BEGIN
{%- for pass in rule.single.passes %}
{%- if rule.single.passes | length > 1 %}
    {% if loop.first %}IF{% else %}ELSIF{% endif %} p_pass = {{ pass.number }} THEN
        {{ <w.search_pass rule pass /> | indent }}
{%- else %}
    {{ <w.search_pass rule pass /> }}
{%- endif %}
{%- endfor %}
{%- if rule.single.passes | length > 1 %}
    END IF;
{%- endif %}
END
$windrow$;

-- {{ rule.name }}_verdict: which of these rows are due: {{ rule.single.why }}
--# create function {{ control }}.{{ rule.name }}_verdict
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_verdict(
    ⟦p_pass integer, p_keys {{ rule.single.key_type }}[], p_as_of timestamptz, p_cutoff timestamptz⟧
)
RETURNS TABLE (o_key {{ rule.single.key_type }}, o_due {{ rule.single.oldest_type }}, o_reason text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
{%- if rule.single.above or rule.single.expiry or rule.single.in_zone %}
DECLARE
{%- if rule.single.above %}
    ⟦v_above boolean⟧ := {{ control }}.any_holds({% for above in rule.single.above %}{{ above.rule }}{% if not loop.last %}, {% endif %}{% endfor %});
{%- endif %}
{%- if rule.single.expiry %}
    ⟦v_now {{ rule.time_type }}⟧ := {{ rule.single.now }};
{%- endif %}
{%- if rule.single.aged and rule.single.expiry or rule.single.in_zone %}
    ⟦v_cutoff {{ rule.single.time_type }}⟧ := p_cutoff{{ rule.single.in_zone }};
{%- endif %}
{%- endif %}
BEGIN
    RETURN QUERY
    «SELECT k.key, {{ rule.single.due_cast }},
        CASE
            WHEN k.key IN (SELECT unnest(‹{{ control }}.held_keys({{ rule.literal }})›::{{ rule.single.key_type }}[])) THEN 'HELD'
{{- <w.held_above control rule pad="            " /> }}
{%- if rule.single.aged and not rule.single.expiry %}
            WHEN p_as_of IS NOT NULL AND t.{{ rule.single.time }} IS NULL THEN 'UNDATED_MEMBER'
{%- endif %}
        END
    FROM unnest(p_keys) WITH ORDINALITY AS k(key, position) JOIN {{ rule.table }} AS t ON {{ rule.single.same_key }}

{%- filter fit %}
    WHERE {% for condition in rule.single.conditions %}{{ condition }}
      AND {% endfor %}
{%- if rule.single.expiry -%}
      (
          p_as_of IS NULL
{%- for pass in rule.single.passes %}
          OR p_pass = {{ pass.number }}{% for predicate in pass.due %} AND {{ predicate }}{% endfor %}
{%- endfor %}
      )
{%- else -%}
{{ rule.single.goes }}
{%- if rule.single.aged %}
      AND (p_as_of IS NULL OR t.{{ rule.single.time }} < {% if rule.single.in_zone %}v_cutoff{% else %}p_cutoff{% endif %} OR t.{{ rule.single.time }} IS NULL)
{%- endif %}
{%- endif %}
{%- endfilter %}
    ORDER BY k.position»;
END
$windrow$;

{% if rule.single.family -%}
{{ <w.count_below control rule /> }}

{% endif -%}
-- {{ rule.name }}_delete: deletes the given rows{% if rule.single.family %}, and before them what belongs to them{% endif %}. Has no transaction control.
--# create function {{ control }}.{{ rule.name }}_delete
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_delete(⟦p_run bigint, p_keys {{ rule.single.key_type }}[], OUT o_rows bigint[], OUT o_samples text[]⟧)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off
SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
{%- if rule.single.family or rule.archives %}
DECLARE
    v_rows bigint;
{%- if rule.single.family %}
    ⟦v_members {{ rule.id_type }}[]⟧ := p_keys;
{%- for collect in rule.collects %}
    ⟦{{ collect.variable }} {{ collect.key_type }}[]⟧;
{%- if collect.near %}
    ⟦{{ collect.near }} {{ collect.key_type }}[]⟧;
{%- endif %}
{%- endfor %}
    -- A trigger or a rule can keep rows without a word. Only where there is one, it is worth looking.
    v_watched boolean := {{ control }}.may_keep({{ rule.literal }});
{%- endif %}
{%- if rule.archives %}
    v_kept bigint;
{%- endif %}
{%- endif %}
BEGIN
{%- if rule.single.family %}
    o_rows := ARRAY[{{ rule.zeros }}];
{%- for collect in rule.collects %}
    {{ <w.collect collect /> | trim_start | indent | replace(from="p_members", to="v_members") }}
{%- endfor %}
{%- for step in rule.steps %}
{%- if not loop.last %}
    {{ <w.delete_step step control watched="v_watched" /> | replace(from="p_members", to="v_members") }}
{%- endif %}
{%- endfor %}
    {{ <w.all_gone_below control rule watched="v_watched" members="v_members" /> }}
{%- endif %}
    WITH gone AS (
        «DELETE FROM {{ rule.table }} AS t USING unnest(p_keys) WITH ORDINALITY AS k(key, position)

{%- filter fit %}
        WHERE {{ rule.single.same_key }}
{%- if rule.single.orphan %}
          AND {{ rule.single.goes }}
{%- endif %}
        RETURNING k.key, k.position{% if rule.archive %}, ROW(t.*)::{{ rule.table }} AS whole{% endif %}»
{%- endfilter %}
    )
{%- if rule.archive %},
    {{ <w.keep_gone archive={rule.archive} row="(g.whole).*" /> | indent }}
{%- endif %}
    SELECT {% if rule.single.family %}o_rows[:{{ rule.steps | length - 1 }}] || count(*){% else %}ARRAY[count(*)]{% endif %}, coalesce((array_agg(g.key ORDER BY g.position))[1:10], '{}'){% if rule.archive %}, (SELECT count(*) FROM kept){% endif %}
    INTO o_rows, o_samples{% if rule.archive %}, v_kept{% endif %} FROM gone AS g;
{%- if rule.archive %}
    {{ <w.all_kept archive={rule.archive} rows="o_rows[cardinality(o_rows)]" /> | indent }}
{%- endif %}
END
$windrow$;
{%- if rule.single.expiry and rule.single.aged %}

-- {{ rule.name }}_undated: rows that have neither {{ rule.end_time_name }} nor {{ rule.single.time_name }}; they can never become due.
--# create function {{ control }}.{{ rule.name }}_undated
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_undated(p_as_of timestamptz, p_scope text)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
BEGIN
    RETURN ARRAY(
        SELECT {{ rule.single.key_text }} FROM {{ rule.table }} AS t
        WHERE t.{{ rule.end_time }} IS NULL AND t.{{ rule.single.time }} IS NULL
{%- for condition in rule.single.conditions %}
          AND {{ condition }}
{%- endfor %}
          AND {{ control }}.cutoff_of({{ rule.literal }}, p_as_of, NULL) IS NOT NULL
        ORDER BY {{ rule.single.key_order }}
    );
END
$windrow$;
{%- endif %}
{%- if rule.single.keep_last %}

-- {{ rule.name }}_unranked: how many rows have no group or no place in it; they stay, and stand in nobody's way.
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
