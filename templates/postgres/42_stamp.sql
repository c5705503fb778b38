
{#- Whether row r leads to its family: its root does, or else the first row of it that is among those that are looked at. -#}
{% macro leads(stamp, among) -%}
{{ stamp.family_of_root }} = r.{{ stamp.key }} OR NOT EXISTS (
    SELECT FROM {{ stamp.table }} AS f
    WHERE f.{{ stamp.key }} = r.{{ stamp.root_column }}
      AND coalesce(f.{{ stamp.root_column }}, f.{{ stamp.key }}) = f.{{ stamp.key }}
      AND {{ among }}
) AND NOT EXISTS (
    SELECT FROM {{ stamp.table }} AS f
    WHERE f.{{ stamp.root_column }} = r.{{ stamp.root_column }}
      AND f.{{ stamp.key }} < r.{{ stamp.key }}
      AND {{ among }}
)
{%- endmacro leads %}

{#- Changes the rows t of a step that are found in one way. -#}
{% macro change(stamp, step, change) -%}
-- {{ change.why }}
UPDATE {{ step.table }} AS t
SET {{ stamp.end_time }} = w.due
FROM unnest(v_keys, v_families, v_times) AS w(id, family, due)
{%- for join in change.joins %}
JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
WHERE {{ change.on }} AND t.{{ stamp.end_time }} IS DISTINCT FROM w.due;
GET DIAGNOSTICS v_rows = ROW_COUNT;
o_rows[{{ step.position }}] := o_rows[{{ step.position }}] + v_rows;
{%- endmacro change -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

{% for stamp in stamped %}
-- Row security would hide rows that must be stamped: with row_security = off it is an error, not a gap.

-- {{ stamp.name }}_stamp_next: the next families or instances, in the order of the rows of {{ stamp.table_name }} that lead to them.
--# create function {{ control }}.{{ stamp.name }}_stamp_next
CREATE OR REPLACE FUNCTION {{ control }}.{{ stamp.name }}_stamp_next(
    p_options jsonb,
    p_after   {{ stamp.key_type }},
    p_limit   bigint,
    OUT o_last {{ stamp.key_type }},
    OUT o_keys {{ stamp.key_type }}[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
{%- if stamp.root_column %}
    v_family boolean := coalesce((p_options ->> 'hierarchical')::boolean, true);
{%- endif %}
    v_all    boolean := p_options ? 'all';
    v_named  {{ stamp.key_type }}[];
BEGIN
    IF p_options ? 'key' THEN
        v_named := ARRAY(SELECT k.key::{{ stamp.key_type }} FROM jsonb_array_elements_text(p_options -> 'key') AS k(key));
        SELECT max(n.id), coalesce(array_agg(n.key ORDER BY n.id), '{}')
        INTO o_last, o_keys
        FROM (
            SELECT r.{{ stamp.key }} AS id, {% if stamp.root_column %}CASE WHEN v_family THEN {{ stamp.family_of_root }} ELSE r.{{ stamp.key }} END{% else %}r.{{ stamp.key }}{% endif %} AS key
            FROM {{ stamp.table }} AS r
            WHERE r.{{ stamp.key }} = ANY (v_named)
              AND r.{{ stamp.key }} > p_after
{%- for condition in stamp.conditions %}
              AND {{ condition }}
{%- endfor %}
{%- if stamp.root_column %}
              -- Where several rows lead to one family, the root does, or else the first of them.
              AND (NOT v_family OR {{ self::leads(stamp=stamp, among="f." ~ stamp.key ~ " = ANY (v_named)" ~ stamp.and_of_others) | indent(prefix="              ") }})
{%- endif %}
            ORDER BY r.{{ stamp.key }}
            LIMIT p_limit
        ) AS n;
    ELSE
        SELECT max(n.id), coalesce(array_agg(n.key ORDER BY n.id), '{}')
        INTO o_last, o_keys
        FROM (
            SELECT r.{{ stamp.key }} AS id, {% if stamp.root_column %}CASE WHEN v_family THEN {{ stamp.family_of_root }} ELSE r.{{ stamp.key }} END{% else %}r.{{ stamp.key }}{% endif %} AS key
            FROM {{ stamp.table }} AS r
            WHERE r.{{ stamp.key }} > p_after
              AND (v_all OR r.{{ stamp.end_time }} IS NULL)
{%- for condition in stamp.conditions %}
              AND {{ condition }}
{%- endfor %}
{%- if stamp.root_column %}
              -- Where several rows lead to one family, the root does, or else the first of them.
              AND (NOT v_family OR {{ self::leads(stamp=stamp, among="(v_all OR f." ~ stamp.end_time ~ " IS NULL)" ~ stamp.and_of_others) | indent(prefix="              ") }})
{%- endif %}
            ORDER BY r.{{ stamp.key }}
            LIMIT p_limit
        ) AS n;
    END IF;
END
$windrow$;
--# comment on function {{ control }}.{{ stamp.name }}_stamp_next
COMMENT ON FUNCTION {{ control }}.{{ stamp.name }}_stamp_next(jsonb, {{ stamp.key_type }}, bigint) IS
    'The next p_limit families that the options of a stamp name, or instances where it is not hierarchical, behind row p_after of {{ stamp.table_name }}; o_last is NULL where there are no more. Reads only. [body @body@]';

-- {{ stamp.name }}_stamp_batch: sets the removal time of some families, or instances. Has no transaction control.
--# create function {{ control }}.{{ stamp.name }}_stamp_batch
CREATE OR REPLACE FUNCTION {{ control }}.{{ stamp.name }}_stamp_batch(
    p_options jsonb,
    p_keys    {{ stamp.key_type }}[],
    OUT o_families     bigint,
    OUT o_skip_keys    text[],
    OUT o_skip_reasons text[],
    OUT o_rows         bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan SET timezone = 'UTC'
AS $windrow$
DECLARE
{%- if stamp.by_family %}
    v_family   boolean := coalesce((p_options ->> 'hierarchical')::boolean, true);
{%- endif %}
    v_base     text := p_options ->> 'calculated';
    v_default  bigint := {{ control }}.seconds(p_options ->> 'default');
    v_to       {{ stamp.time_type }} := {{ stamp.to }};
    v_members  {{ stamp.key_type }}[];
    v_keys     {{ stamp.key_type }}[];
    v_families {{ stamp.key_type }}[];
    v_times    {{ stamp.time_type }}[];
    v_rows     bigint;
BEGIN
    o_rows := ARRAY[{{ stamp.zeros }}];
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a batch needs the isolation level read committed'
            USING ERRCODE = '25001', HINT = 'A snapshot from before its locks would hide what others have written.';
    END IF;
{%- if stamp.of %}

    -- These rows first: no other stamp meets a family that is stamped in part.
{%- else %}

    -- The same lock as that of a purge: no run meets a family that is stamped in part, and no stamp one that is half gone.
{%- endif %}
{%- if stamp.root_column %}
    IF v_family THEN
        v_members := ARRAY(
            SELECT t.{{ stamp.key }}
            FROM {{ stamp.table }} AS t
            WHERE t.{{ stamp.root_column }} = ANY (p_keys)
               OR t.{{ stamp.key }} = ANY (p_keys)
            ORDER BY t.{{ stamp.key }}
            FOR UPDATE
        );
    ELSE
        v_members := ARRAY(
            SELECT t.{{ stamp.key }}
            FROM {{ stamp.table }} AS t
            WHERE t.{{ stamp.key }} = ANY (p_keys)
            ORDER BY t.{{ stamp.key }}
            FOR UPDATE
        );
    END IF;
{%- else %}
    v_members := ARRAY(
        SELECT t.{{ stamp.key }}
        FROM {{ stamp.table }} AS t
        WHERE t.{{ stamp.key }} = ANY (p_keys)
        ORDER BY t.{{ stamp.key }}
        FOR UPDATE
    );
{%- endif %}
{% if stamp.definition %}
    -- A calculated time counts from the root of the family, by the time to live of the root's definition in {{ stamp.definition_name }}:
    -- NULL there is the default, less than 0 or more than a hundred years is for ever. What cannot be calculated stays as it is.
{%- else %}
    -- A calculated time counts from the root of the family, by the time to live that the spec has for its {{ stamp.per_name }}: any
    -- other means the default. What cannot be calculated stays as it is.
{%- endif %}
    SELECT
        coalesce(array_agg(s.key ORDER BY s.key) FILTER (WHERE s.reason IS NULL), '{}'),
        coalesce(array_agg(s.family ORDER BY s.key) FILTER (WHERE s.reason IS NULL), '{}'),
        coalesce(array_agg(CASE WHEN v_base IS NULL THEN v_to ELSE s.base + make_interval(secs => s.live) END ORDER BY s.key) FILTER (WHERE s.reason IS NULL), '{}'),
        coalesce(array_agg(s.key::text ORDER BY s.key) FILTER (WHERE s.reason IS NOT NULL), '{}'),
        coalesce(array_agg(s.reason ORDER BY s.key) FILTER (WHERE s.reason IS NOT NULL), '{}')
    INTO v_keys, v_families, v_times, o_skip_keys, o_skip_reasons
    FROM (
        SELECT
            c.*,
            CASE
                WHEN v_base IS NULL THEN NULL
                WHEN c.root IS NULL THEN 'UNDATED_MEMBER'
                WHEN c.base IS NULL AND v_base = 'end' THEN 'NON_FINAL_MEMBER'
                WHEN c.base IS NULL THEN 'UNDATED_MEMBER'
                WHEN c.live IS NULL THEN 'POLICY_DISABLED'
            END AS reason
        FROM (
            SELECT
                k.key, k.family, b.{{ stamp.key }} AS root,
                CASE v_base WHEN 'start' THEN b.{{ stamp.start }} ELSE b.{{ stamp.ended }} END AS base,
                {% if stamp.definition %}CASE WHEN {{ stamp.says }} IS NULL THEN v_default WHEN {{ stamp.ends }} THEN {{ stamp.seconds }} END{% else %}coalesce({{ stamp.says }}, v_default){% endif %} AS live
            FROM (
                SELECT DISTINCT {% if stamp.root_column %}CASE WHEN v_family THEN {{ stamp.family_of_root }} ELSE r.{{ stamp.key }} END{% else %}r.{{ stamp.key }}{% endif %} AS key, {{ stamp.family_of_root }} AS family
                FROM {{ stamp.table }} AS r
                WHERE r.{{ stamp.key }} = ANY (v_members)
            ) AS k
            LEFT JOIN {{ stamp.table }} AS b ON b.{{ stamp.key }} = k.family
{%- if stamp.definition %}
            LEFT JOIN {{ stamp.definition }} AS d ON d.{{ stamp.definition_key }} = b.{{ stamp.per }}
{%- endif %}
            WHERE k.key = ANY (p_keys)
        ) AS c
    ) AS s;
    o_families := cardinality(v_keys);
{%- for step in stamp.steps %}

    -- {{ step.table_name }}
{%- for change in step.always %}
    {{ self::change(stamp=stamp, step=step, change=change) | indent(prefix="    ") }}
{%- endfor %}
{%- if not step.always %}
    IF v_family THEN
{%- for change in step.whole %}
        {{ self::change(stamp=stamp, step=step, change=change) | indent(prefix="        ") }}
{%- endfor %}
{%- if not step.whole %}
        NULL;
{%- endif %}
    ELSE
{%- for change in step.own %}
        {{ self::change(stamp=stamp, step=step, change=change) | indent(prefix="        ") }}
{%- endfor %}
{%- if not step.own %}
        -- Its rows name no single instance.
        NULL;
{%- endif %}
    END IF;
{%- endif %}
{%- endfor %}
END
$windrow$;
--# comment on function {{ control }}.{{ stamp.name }}_stamp_batch
COMMENT ON FUNCTION {{ control }}.{{ stamp.name }}_stamp_batch(jsonb, {{ stamp.key_type }}[]) IS
    'Sets, in the caller''s transaction, the {{ stamp.end_time_name }} that the options of a stamp say: of all rows of the families p_keys, or of the rows of the instances p_keys where it is not hierarchical. Locks their rows of {{ stamp.table_name }} first. No transaction control; stamp_step() calls it. [body @body@]';
{% endfor %}
--# become who installs
RESET ROLE;
