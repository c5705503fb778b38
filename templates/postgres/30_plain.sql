--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};
--# set the owner of schema {{ control }}
ALTER SCHEMA {{ control }} OWNER TO CURRENT_ROLE;
{{ <w.rows control rule /> }}

-- {{ rule.name }}_at: the time of the row that comes after p_skip others from p_from on, before p_to; NULL where there is none.
--# create function {{ control }}.{{ rule.name }}_at
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_at(⟦p_from {{ rule.time_type }}, p_to {{ rule.time_type }}[], p_skip bigint[]⟧)
RETURNS {{ rule.time_type }}[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
⟦SET enable_seqscan = off SET enable_bitmapscan = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
{%- filter fit %}
    RETURN ARRAY[(«SELECT {{ rule.timed.due.time }} FROM {{ rule.table }} AS t
        WHERE {{ rule.timed.due.time }} >= p_from AND {{ rule.timed.due.time }} < p_to[1]
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY {{ rule.timed.due.time }} OFFSET p_skip[1] LIMIT 1»)];
{%- endfilter %}
END
$windrow$;

{% if rule.bound | length > 0 -%}
-- {{ rule.name }}_bound: the keys of the rows of a window, of p_keys, or of both, that a hold of another rule keeps.
--# create function {{ control }}.{{ rule.name }}_bound
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_bound(
    ⟦p_from {{ rule.time_type }}, p_to {{ rule.time_type }}, p_keys {{ rule.key_type }}[]⟧
)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
⟦SET enable_seqscan = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    IF p_from IS NULL THEN
        RETURN ARRAY(
            «SELECT t.{{ rule.key }}::text FROM {{ rule.table }} AS t
            WHERE t.{{ rule.key }} = ANY (p_keys) AND (
{%- for above in rule.bound %}
{%- filter fit %}
                {% if not loop.first %}OR {% endif %}{{ <w.held_beside control above /> | indent(width=16) }}
{%- endfilter %}
{%- endfor %}
            )»
        );
    ELSIF p_keys IS NOT NULL AND {{ control }}.key_leads({{ rule.literal }}) THEN
        RETURN ARRAY(
            «SELECT t.{{ rule.key }}::text FROM {{ rule.table }} AS t
            WHERE t.{{ rule.key }} = ANY (p_keys) AND {{ rule.timed.due.time }} >= p_from AND {{ rule.timed.due.time }} < p_to AND (
{%- for above in rule.bound %}
{%- filter fit %}
                {% if not loop.first %}OR {% endif %}{{ <w.held_beside control above /> | indent(width=16) }}
{%- endfilter %}
{%- endfor %}
            )»
        );
    END IF;
    RETURN ARRAY(
        «SELECT t.{{ rule.key }}::text FROM {{ rule.table }} AS t
        WHERE {{ rule.timed.due.time }} >= p_from AND {{ rule.timed.due.time }} < p_to AND (
{%- for above in rule.bound %}
{%- filter fit %}
            {% if not loop.first %}OR {% endif %}{{ <w.held_beside control above /> | indent(width=12) }}
{%- endfilter %}
{%- endfor %}
        )»
    );
END
$windrow$;

{% endif -%}
-- {{ rule.name }}_delete: deletes the rows of a window but for p_keep; with p_keys, of these what nobody has locked.
{%- if rule.bound | length > 0 %}
-- Where a hold of another rule may keep some, they are locked first: whoever moves one below a held row waits, or this batch does.
{%- endif %}
{%- if rule.raw %}
-- where_sql of the spec, which windrow does not read, must be true of every row of the rule: {{ rule.raw }}
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_delete
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_delete(
    ⟦p_run bigint, p_from {{ rule.time_type }}, p_to {{ rule.time_type }},
    p_keep {{ rule.key_type }}[], p_keys {{ rule.key_type }}[], OUT o_rows bigint, OUT o_locked bigint⟧
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
⟦SET enable_seqscan = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE ⟦v_keys {{ rule.key_type }}[]⟧;
{%- if rule.bound | length > 0 %}
    v_bound boolean := {{ control }}.bound_by({{ rule.literal }});
{%- endif %}
{%- if rule.archive %}
    v_kept  bigint;
{%- endif %}
BEGIN
    IF p_keys IS NULL{% if rule.bound | length > 0 %} AND NOT v_bound{% endif %} THEN
        {{ <w.take_plain rule delete={<w.delete_plain rule />} /> | trim_start | indent(width=8) }}
    ELSIF p_from IS NULL THEN
{%- filter fit %}
        v_keys := ARRAY({{ <w.lock_plain_keys rule window={false} /> | trim_start }} FOR UPDATE SKIP LOCKED»);
{%- endfilter %}
        {%- if rule.bound | length > 0 %}
        {{ <w.unbound control rule /> | trim_start | indent(width=8) }}
        {%- endif %}
        {{ <w.take_plain rule delete={<w.delete_plain_keys rule window={false} />} /> | trim_start | indent(width=8) }}
    ELSIF {% if rule.bound | length > 0 %}p_keys IS NOT NULL AND {% endif %}{{ control }}.key_leads({{ rule.literal }}) THEN
{%- filter fit %}
        v_keys := ARRAY({{ <w.lock_plain_keys rule /> | trim_start }} FOR UPDATE SKIP LOCKED»);
{%- endfilter %}
        {%- if rule.bound | length > 0 %}
        {{ <w.unbound control rule /> | trim_start | indent(width=8) }}
        {%- endif %}
        {{ <w.take_plain rule delete={<w.delete_plain_keys rule />} /> | trim_start | indent(width=8) }}
    ELSE
{%- if rule.bound | length > 0 %}
        IF p_keys IS NULL THEN
{%- filter fit %}
            v_keys := ARRAY({{ <w.lock_plain rule /> | trim_start }} FOR UPDATE»);
{%- endfilter %}
        ELSE
{%- filter fit %}
            v_keys := ARRAY({{ <w.lock_plain rule among="p_keys" /> | trim_start }} FOR UPDATE SKIP LOCKED»);
{%- endfilter %}
        END IF;
        {{ <w.unbound control rule /> | trim_start | indent(width=8) }}
{%- else %}
{%- filter fit %}
        v_keys := ARRAY({{ <w.lock_plain rule among="p_keys" /> | trim_start }} FOR UPDATE SKIP LOCKED»);
{%- endfilter %}
{%- endif %}
        {{ <w.take_plain rule delete={<w.delete_plain rule among="v_keys" />} /> | trim_start | indent(width=8) }}
    END IF;
{%- if rule.archive %}
    o_locked := cardinality(v_keys);
{%- else %}
    GET DIAGNOSTICS o_rows = ROW_COUNT; o_locked := cardinality(v_keys);
{%- endif %}
END
$windrow$;
--# become who installs
RESET ROLE;
