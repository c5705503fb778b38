--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};
--# set the owner of schema {{ control }}
ALTER SCHEMA {{ control }} OWNER TO CURRENT_ROLE;
-- IN (SELECT unnest(list)) looks a value up in a hash of the list, however many families are held.

{% if rule.timed.by_family -%}
-- {{ rule.name }}_roots: the keys of the rows that are the root of their family. Like all routines here that are no SECURITY DEFINER,
-- it is a part of the statements that name it: PostgreSQL takes its text in.
--# create function {{ control }}.{{ rule.name }}_roots
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_roots()
RETURNS SETOF {{ rule.key_type }}
LANGUAGE sql STABLE
AS $windrow$
    ⟪SELECT f.{{ rule.key }}::{{ rule.key_type }} FROM {{ rule.table }} AS f WHERE {{ rule.timed.is_root_f }}⟫;
$windrow$;

{% if rule.timed.adopts -%}
-- {{ rule.name }}_rooted: the keys of the rows whose root is there.
--# create function {{ control }}.{{ rule.name }}_rooted
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_rooted()
RETURNS SETOF {{ rule.key_type }}
LANGUAGE sql STABLE
AS $windrow$
    ⟪SELECT r.{{ rule.key }}::{{ rule.key_type }}
    FROM {{ rule.table }} AS r
    WHERE EXISTS (SELECT FROM {{ rule.timed.roots }} AS f(id) WHERE f.id = {{ rule.timed.family_of_root }})⟫;
$windrow$;

{% endif -%}
{% endif -%}
{{ <w.rows control rule /> }}

{% for member in rule.timed.members -%}
{% if member.adopt and member.adopt.named -%}
-- {{ rule.name }}_names_{{ member.position }}: what rows without a root of some instances name in {{ member.table_name }}.
-- p_lost: in which tables there may be such rows.
--# create function {{ control }}.{{ rule.name }}_names_{{ member.position }}
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_names_{{ member.position }}(⟦p_of {{ rule.key_type }}[], p_lost boolean[]⟧)
RETURNS TABLE (⟦o_instance {{ rule.key_type }}, o_key {{ member.adopt.key_type }}⟧)
LANGUAGE sql STABLE
AS $windrow$
{%- for way in member.adopt.ways %}
    {% if loop.first %}⟪{% endif %}SELECT m.id, {{ way.names }}::{{ member.adopt.key_type }} FROM unnest(p_of) AS m(id)
{%- for join in way.joins %}
    JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
    WHERE {{ way.names }} IS NOT NULL AND p_lost[{{ way.position }}]
{%- if not loop.last %}
    UNION ALL{% else %}⟫;{% endif %}
{%- endfor %}
$windrow$;

{% endif -%}
{% endfor -%}
-- {{ rule.name }}_at: by table, the time of the row that comes after p_skip others from p_from on, before p_to; NULL: there is none.
--# create function {{ control }}.{{ rule.name }}_at
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_at(⟦p_from {{ rule.time_type }}, p_to {{ rule.time_type }}[], p_skip bigint[]⟧)
RETURNS {{ rule.time_type }}[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off
SET enable_bitmapscan = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    RETURN ARRAY[
{%- for member in rule.timed.members %}
        («SELECT t.{{ rule.end_time }} FROM {{ member.table }} AS t
         WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to[{{ member.position }}]{% for condition in member.conditions %} AND {{ condition }}{% endfor %} ORDER BY t.{{ rule.end_time }} OFFSET p_skip[{{ member.position }}] LIMIT 1»){% if not loop.last %},{% endif %}
{%- endfor %}
    ];
END
$windrow$;

{% if rule.timed.bound -%}
-- {{ rule.name }}_bound: which of these families holds of other rules keep, by any of their rows.
--# create function {{ control }}.{{ rule.name }}_bound
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_bound(⟦p_roots {{ rule.key_type }}[]⟧)
RETURNS {{ rule.key_type }}[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off SET enable_nestloop = on
SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_families {{ rule.key_type }}[] := '{}';
{%- if rule.timed.bound_adopted %}
    a record;  -- what is known of rows that name no root
{%- endif %}
BEGIN
{%- for member in rule.timed.members %}
{%- for column in member.belongs %}
{%- if member.bound | length > 0 %}
    v_families := v_families || ARRAY(
        «SELECT t.{{ column }} FROM {{ member.table }} AS t WHERE t.{{ column }} = ANY (p_roots) AND (
{%- for held in member.bound %}
            {% if not loop.first %}OR {% endif %}{{ held }}
{%- endfor %}
        )»
    );
{%- endif %}
{%- endfor %}
{%- endfor %}
{%- if rule.timed.bound_adopted %}
    SELECT * INTO a FROM {{ control }}.{{ rule.name }}_adopted(p_roots);
{%- for member in rule.timed.members %}
{%- if member.bound | length > 0 and member.adopt %}
    IF a.o_lost[{{ member.position }}] THEN
{%- if member.adopt.named %}
        v_families := v_families || ARRAY(
            «SELECT m.family
            FROM {{ <w.adopted_rows control rule member /> | indent(width=12) }}
            WHERE {{ member.bound | join(sep=" OR ") }}»
        );
{%- endif %}
{%- for own in member.adopt.owns %}
        v_families := v_families || ARRAY(
            «SELECT m.family
            FROM {{ <w.own_rows rule own /> | indent(width=12) }}
            WHERE {{ member.bound | join(sep=" OR ") }}»
        );
{%- endfor %}
    END IF;
{%- endif %}
{%- endfor %}
{%- endif %}
    RETURN v_families;
END
$windrow$;

{% endif -%}
-- {{ rule.name }}_keep: what is kept of a window, and why: families that are held{% if rule.timed.ended %}, not ended or ended too recently{% endif %}{% if rule.timed.references %}, and what others refer to{% endif %}{% if rule.timed.others %};
-- what is held of {% for other in rule.timed.others %}{% if not loop.first %} and {% endif %}{{ other.table_name }}{% endfor %}{% endif %}.
{%- if rule.timed.root_column %}
-- A family is the rows that name the same root in {{ rule.table_name }}.
{%- endif %}
{%- if rule.timed.locks %}
-- o_locked: the family of each row that p_lock has locked.
{%- if rule.timed.middles_of_none %}
-- o_middle: how many of tables in between to which foreign keys refer, by the position of the table.
{%- endif %}
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_keep
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_keep(
    ⟦p_from {{ rule.time_type }}, p_to {{ rule.time_type }}, p_as_of timestamptz, p_cutoff {{ rule.time_type }}, p_lock boolean,
    OUT o_keep         {{ rule.key_type }}[],
{%- if rule.timed.locks %}
    OUT o_locked       {{ rule.key_type }}[],
{%- endif %}
{%- if rule.timed.middles_of_none %}
    OUT o_middle       bigint[],
{%- endif %}
{%- for member in rule.timed.members %}{% if member.collects %}
    OUT {{ member.named }}     {{ member.key_type }}[],
{%- endif %}{% if member.whose %}
    OUT {{ member.whose }}     {{ member.key_type }}[],
{%- endif %}{% if member.left %}
    OUT {{ member.left }}      {{ member.key_type }}[],
{%- endif %}{% endfor %}
{%- for list in rule.timed.held %}
    OUT {{ list.name }}       text[],
{%- endfor %}
    OUT o_skip_keys    text[],
    OUT o_skip_reasons text[]⟧
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off SET enable_nestloop = on
SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    ⟦v_held {{ rule.key_type }}[]⟧;
{%- if rule.timed.references %}
    ⟦v_tied {{ rule.key_type }}[]⟧ := '{}';  -- families with a row that something refers to
    v_lone text[] := '{}';  -- such rows without a family
{%- endif %}
{%- for other in rule.timed.others %}
    ⟦{{ other.first }} {{ rule.key_type }}[]⟧;  -- families of {{ other.table_name }} that are held
{%- endfor %}
{%- for member in rule.timed.members %}{% if member.pinned %}
    ⟦{{ member.pinned }} {{ member.key_type }}[]⟧;  -- rows of {{ member.table_name }} that kept rows name
{%- endif %}{% endfor %}
{%- if rule.timed.pins %}
    v_pinning text[];  -- the families of these
{%- endif %}
{%- if rule.timed.bound %}
    v_bound text[];
{%- endif %}
{%- if rule.timed.others %}
    v_other text[];
{%- endif %}
{%- if rule.timed.ended %}
    ⟦v_least {{ rule.timed.end_type }}⟧ := {{ rule.timed.least }};
{%- endif %}
BEGIN
{%- if rule.timed.locks %}
    -- A writer that changes a whole family also changes its rows in {{ rule.table_name }}: it waits, or this batch gives way.
    IF p_lock THEN
        o_locked := ARRAY(
            «SELECT l.family
            FROM (
                SELECT {{ rule.timed.family_of_t }} AS family
                FROM {{ rule.table }} AS t
                WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.window_of_root %}
                  AND {{ condition }}
{%- endfor %}
                ORDER BY t.{{ rule.end_time }}, t.{{ rule.key }}
                FOR UPDATE
            ) AS l»
        );
{%- for member in rule.timed.members | those(attribute="referenced", value=true) %}
{%- if loop.first %}
        -- Whoever brings a row that refers to one of these by a foreign key holds it until that row is there to be read.
{%- endif %}
{%- if rule.timed.middles_of_none %}
        IF {{ control }}.is_referenced({{ member.table_literal }}) THEN
{%- filter fit %}
            o_middle[{{ member.position }}] := (SELECT count(*)
                FROM («SELECT FROM {{ <w.rootless rule member /> | indent(width=16) }} FOR UPDATE OF t») AS l);
{%- endfilter %}
        END IF;
{%- else %}
{%- filter fit %}
        «‹PERFORM› FROM {{ <w.rootless rule member /> | indent(width=8) }}
          ‹AND {{ control }}.is_referenced({{ member.table_literal }})› FOR UPDATE OF t»;
{%- endfilter %}
{%- endif %}
{%- endfor %}
    END IF;
{%- endif %}
    v_held := {{ control }}.held_keys({{ rule.literal }});
{%- if rule.timed.bound %}
    -- Holds of other rules keep whole families, too.
    IF {{ control }}.bound_by({{ rule.literal }}) THEN
        v_held := v_held || {{ control }}.{{ rule.name }}_bound(
{%- for member in rule.timed.members %}
{%- for column in member.belongs %}
            ARRAY(
                «SELECT DISTINCT t.{{ column }} FROM {{ member.table }} AS t
                WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to AND t.{{ column }} IS NOT NULL»
            ) ||
{%- endfor %}
{%- endfor %}
            '{}'::{{ rule.key_type }}[]
        );
    END IF;
{%- endif %}
{%- for other in rule.timed.others %}
{%- if loop.first %}
    -- What belongs to no family is held by itself, and with it what is its.
{%- endif %}
    {{ other.first }} := ARRAY(
        «SELECT {{ other.family }} FROM {{ other.table }} AS r
        WHERE r.{{ other.key }} = ANY (v_held){% for condition in other.conditions %} AND {{ condition }}{% endfor %}»
    );
{%- endfor %}
{%- for list in rule.timed.held %}
    -- {{ list.why }}
    {{ list.name }} := ARRAY(
{%- for way in list.ways %}
        «SELECT {{ way.text }} FROM unnest({{ rule.timed.others[way.other].first }}) AS w(id)
{%- for join in way.joins %}
        JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}»
{%- if not loop.last %}
        UNION{% endif %}
{%- endfor %}
    );
{%- endfor %}
{%- if rule.timed.root_column %}
    -- A hold on any member keeps the whole family.
    v_held := v_held || ARRAY(
        «SELECT r.{{ rule.timed.root_column }} FROM {{ rule.table }} AS r
        WHERE r.{{ rule.key }} = ANY (v_held) AND r.{{ rule.timed.root_column }} IS NOT NULL»
    );
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.whose %}

    -- {{ member.table_name }}: what rows of a kept family refer to is kept with it, though it refers to no root itself.
    {{ member.whose }} := ARRAY(
        «SELECT t.{{ member.key }}
        FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
          AND {{ member.adopt.is_named | indent(width=10) }}»
    );
{%- endif %}
{%- if member.referrers %}

    -- {{ member.table_name }}: what is referred to is kept, and its family with it.
    {{ member.named }} := ARRAY(
        «SELECT t.{{ member.key }}
        FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- if member.whose %}
          AND (t.{{ member.key }} IN (SELECT unnest({{ member.whose }}))) IS NOT TRUE
{%- elif rule.timed.by_family %}
{%- for predicate in member.spares %}
          AND {{ predicate }}
{%- endfor %}
{%- endif %}
          AND (
{%- for referrer in member.referrers %}
              {% if not loop.first %}OR {% endif %}EXISTS (SELECT FROM {{ referrer.table }} AS r WHERE r.{{ referrer.column }} = t.{{ member.key }})
{%- endfor %}
          )»
    );
{%- for column in member.family %}
{%- filter fit %}
    v_tied := v_tied || ARRAY(«SELECT t.{{ column }} FROM {{ member.table }} AS t
        WHERE t.{{ member.key }} = ANY ({{ member.named }}) AND t.{{ column }} IS NOT NULL»);
{%- endfilter %}
{%- endfor %}
{%- filter fit %}
    v_lone := v_lone || ARRAY(«SELECT t.{{ member.key }}::text FROM {{ member.table }} AS t
        WHERE t.{{ member.key }} = ANY ({{ member.named }}){% for column in member.family %} AND t.{{ column }} IS NULL{% endfor %}
        ORDER BY 1»);
{%- endfilter %}
{%- endif %}
{%- endfor %}

    SELECT
        coalesce(array_agg(f.key ORDER BY f.key), '{}'),
        coalesce(array_agg(f.key::text ORDER BY f.key), '{}'),
        coalesce(array_agg(f.reason ORDER BY f.key), '{}')
    INTO o_keep, o_skip_keys, o_skip_reasons
    FROM (
        «SELECT
            {{ rule.timed.family_of_root }} AS key,
            CASE
                WHEN bool_or({{ rule.timed.root_is_held }}) THEN 'HELD'
{%- if rule.timed.ended %}
                WHEN bool_or((r.{{ rule.timed.ended }} > '-infinity') IS NOT TRUE) THEN 'NON_FINAL_MEMBER'
                WHEN bool_or(r.{{ rule.timed.ended }} >= v_least) THEN 'RETENTION_NOT_REACHED'
{%- endif %}
{%- if rule.timed.references %}
                ELSE 'REFERENCED'
{%- endif %}
            END AS reason
        FROM {{ rule.table }} AS r
        WHERE r.{{ rule.end_time }} >= p_from AND r.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.root_window %}
          AND {{ condition }}
{%- endfor %}
          AND (
              {{ rule.timed.root_is_held }}
{%- if rule.timed.ended %}
              OR (r.{{ rule.timed.ended }} > '-infinity') IS NOT TRUE
              OR r.{{ rule.timed.ended }} >= v_least
{%- endif %}
{%- if rule.timed.references %}
              OR {{ rule.timed.family_of_root }} IN (SELECT unnest(v_tied))
{%- endif %}
          )
        GROUP BY 1»
    ) AS f;
{%- if rule.timed.references %}
    o_keep := o_keep || v_held || v_tied;
    o_skip_keys := o_skip_keys || v_lone;
    o_skip_reasons := o_skip_reasons || array_fill('REFERENCED'::text, ARRAY[cardinality(v_lone)]);
{%- else %}
    o_keep := o_keep || v_held;
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.bound | length > 0 and member.key %}
    -- {{ member.table_name }}: what a hold of another rule keeps, and of no family.
    v_bound := ARRAY(
        «SELECT t.{{ member.key }}::text FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- for condition in member.conditions %}
          AND {{ condition }}
{%- endfor %}
{%- for column in member.belongs %}
          AND t.{{ column }} IS NULL
{%- endfor %}
          AND (
{%- for held in member.bound %}
              {% if not loop.first %}OR {% endif %}{{ held }}
{%- endfor %}
          )
        ORDER BY 1»
    );
    o_skip_keys := o_skip_keys || v_bound;
    o_skip_reasons := o_skip_reasons || array_fill('HELD'::text, ARRAY[cardinality(v_bound)]);
{%- endif %}
{%- endfor %}
{%- for other in rule.timed.others %}
    v_other := ARRAY(
        «SELECT r.{{ other.key }}::text FROM {{ other.table }} AS r
        WHERE r.{{ rule.end_time }} >= p_from AND r.{{ rule.end_time }} < p_to AND {{ other.key_text }} IN (SELECT unnest({{ other.list }}))
        ORDER BY 1»
    );
    o_skip_keys := o_skip_keys || v_other;
    o_skip_reasons := o_skip_reasons || array_fill('HELD'::text, ARRAY[cardinality(v_other)]);
{%- endfor %}
{%- if rule.timed.adopts and not rule.timed.by_family %}
{%- for member in rule.timed.members %}
{%- if member.adopt and member.adopt.named %}
{%- for way in member.adopt.ways %}
{%- if loop.first %}
    -- What rows of these families refer to in {{ member.table_name }} is kept with them.
    IF o_keep <> '{}' THEN
{%- endif %}
        {{ member.named }} := {{ member.named }} || ARRAY(
            «SELECT {{ way.names }}
            FROM (SELECT t.{{ rule.key }} AS id FROM {{ rule.table }} AS t WHERE {{ rule.timed.of_kept }}) AS m
{%- for join in way.joins %}
            JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
            WHERE {{ way.names }} IS NOT NULL
{%- for column in way.family %}
            UNION ALL
            SELECT {{ way.names }}
            FROM {{ way.table }} AS r
            WHERE {{ column }} = ANY (o_keep)
              AND {{ way.names }} IS NOT NULL
{%- endfor %}»
        );
{%- if loop.last %}
    END IF;
{%- endif %}
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.left %}

    -- {{ member.table_name }}: what belongs to no family is kept if rows that are kept, or deleted later, belong to it. In a preview or a dry
    -- run, which say p_cutoff, what is deleted before is still there.
    «SELECT array_agg(p.{{ member.key }}), array_agg(r.families::text)
    ‹INTO {{ member.pinned }}, v_pinning›
    FROM {{ member.table }} AS p
    CROSS JOIN LATERAL (
{%- for pin in member.pins %}
        SELECT ARRAY[{{ pin.families | join(sep=", ") }}]::{{ rule.key_type }}[], t.{{ rule.end_time }},
{%- for predicate in pin.goes %}
            {% if not loop.first %}AND {% endif %}{{ predicate | indent(width=12) }}
{%- else %} true{% endfor %}
        FROM {{ pin.table }} AS t WHERE {{ pin.on }}
{%- if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    ) AS r(families, at, goes)
    WHERE p.{{ rule.end_time }} >= p_from AND p.{{ rule.end_time }} < p_to
{%- for alone in member.pinned_alone %}
      AND {{ alone }}
{%- endfor %}
      AND (
          (r.at >= p_from OR p_cutoff IS NOT NULL) AND r.at <= p.{{ rule.end_time }} AND r.goes AND NOT r.families && o_keep
          AND {{ rule.timed.pin_missing }}
      ) IS NOT TRUE»;
    IF p_cutoff IS NOT NULL THEN
        {{ member.pinned }} := ARRAY(
            SELECT n.id
            FROM unnest({{ member.pinned }}, v_pinning) AS n(id, families)
            WHERE NOT n.families::text[] && (SELECT {{ control }}.gone_before({{ rule.literal }}, v_pinning, p_cutoff::text, p_as_of))
        );
    END IF;
    {{ member.left }} := ARRAY(
        «SELECT t.{{ member.key }}
        FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- for predicate in member.left_of %}
          AND {{ predicate }}
{%- endfor %}
        ORDER BY 1»
    );
    o_skip_keys := o_skip_keys || {{ member.left }}::text[];
    o_skip_reasons := o_skip_reasons || array_fill('REFERENCED'::text, ARRAY[cardinality({{ member.left }})]);
{%- endif %}
{%- endfor %}
END
$windrow$;

-- {{ rule.name }}_delete: deletes the rows of a window that may be deleted, of all tables{% if rule.timed.by_family %}, and of
-- no family whose root is there{% endif %}.
--# create function {{ control }}.{{ rule.name }}_delete
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_delete(
    ⟦p_run bigint, p_from {{ rule.time_type }}, p_to {{ rule.time_type }}, p_as_of timestamptz, p_cutoff {{ rule.time_type }},
    OUT o_families bigint, OUT o_rows bigint[], OUT o_judged bigint[], OUT o_skip_keys text[], OUT o_skip_reasons text[]⟧
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off⟧
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    k      record;  -- what is kept
    v_rows bigint;
{%- if rule.archives %}
    v_kept bigint;
{%- endif %}
BEGIN
    o_families := 0;
    o_rows := ARRAY[{{ rule.zeros }}];
    SELECT * INTO k FROM {{ control }}.{{ rule.name }}_keep(p_from, p_to, p_as_of, p_cutoff, true);
{%- if rule.timed.locks %}
    o_judged := array_fill(NULL::bigint, ARRAY[cardinality(o_rows)]);
{%- for member in rule.timed.members %}
{%- if member.root %}
    o_judged[{{ member.position }}] := (
{%- if rule.key_type == "text" or rule.key_type == "bpchar" %}
        -- No row, but the collation of the column, by which the others are compared.
        «SELECT count(*) FROM (SELECT r.{{ rule.key }} FROM {{ rule.table }} AS r WHERE false UNION ALL SELECT unnest(k.o_locked)) AS l(family)
        WHERE (l.family IN (SELECT unnest(k.o_keep))) IS NOT TRUE»
{%- else %}
        SELECT count(*) FROM unnest(k.o_locked) AS l(family) WHERE (l.family IN (SELECT unnest(k.o_keep))) IS NOT TRUE
{%- endif %}
    );
{%- elif member.referenced and rule.timed.middles_of_none %}
    IF k.o_middle[{{ member.position }}] IS NOT NULL THEN
        -- Without those that stay.
{%- filter fit %}
        o_judged[{{ member.position }}] := k.o_middle[{{ member.position }}] - («SELECT count(*) FROM {# -#}
            {{ <w.rootless rule member /> | indent(width=12) }} AND ({{ member.predicates | join(sep=" AND ") }}) IS NOT TRUE»);
{%- endfilter %}
    END IF;
{%- endif %}
{%- endfor %}
{%- endif %}
    o_skip_keys := k.o_skip_keys;
    o_skip_reasons := k.o_skip_reasons;
{%- if rule.timed.spares %}
    -- If no family is kept, rows are not asked for their family, which would take a tenth of the time.
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.root and rule.timed.root_column and not rule.timed.by_family %}
    WITH gone AS (
        {{ <w.delete_window rule member predicates={member.predicates} /> | indent(width=8) }}
        RETURNING {% if member.archive %}t.*{% else %}{{ rule.timed.is_root }} AS root{% endif %}
    )
{%- if member.archive %},
    {{ <w.keep_gone archive={member.archive} /> | indent }}
    SELECT count(*), count(*) FILTER (WHERE {{ rule.timed.is_root }}), (SELECT count(*) FROM kept)
    INTO v_rows, o_families, v_kept
    FROM gone AS t;
    {{ <w.all_kept archive={member.archive} rows="v_rows" /> | indent }}
{%- else %}
    SELECT count(*), count(*) FILTER (WHERE g.root)
    INTO v_rows, o_families
    FROM gone AS g;
{%- endif %}
    o_rows[{{ member.position }}] := v_rows;
{%- else %}
{%- if member.archive %}
    {{ <w.archived archive={member.archive} rows="v_rows"
        delete={<w.delete_window rule member predicates={member.predicates} />} /> | indent }}
    o_rows[{{ member.position }}] := v_rows;
{%- else %}
{%- if member.spared %}
    IF k.o_keep = '{}'{% for list in member.held %} AND k.{{ list }} = '{}'{% endfor %} THEN
        {{ <w.delete_window rule member predicates={member.alone} /> | indent(width=8) }};
    ELSE
        {{ <w.delete_window rule member predicates={member.predicates} /> | indent(width=8) }};
    END IF;
{%- else %}
    {{ <w.delete_window rule member predicates={member.predicates} /> | indent }};
{%- endif %}
    GET DIAGNOSTICS v_rows = ROW_COUNT; o_rows[{{ member.position }}] := v_rows;
{%- endif %}
{%- if member.root and not rule.timed.by_family %}
    o_families := v_rows;
{%- endif %}
{%- endif %}
{%- endfor %}
END
$windrow$;

-- {{ rule.name }}_count: what a batch would delete of a window. Reads only.
--# create function {{ control }}.{{ rule.name }}_count
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_count(
    ⟦p_from {{ rule.time_type }}, p_to {{ rule.time_type }}, p_as_of timestamptz, p_cutoff {{ rule.time_type }},
    OUT o_families bigint, OUT o_rows bigint[], OUT o_oldest {{ rule.time_type }}, OUT o_roots {{ rule.key_type }}[],
    OUT o_skip_keys text[], OUT o_skip_reasons text[]⟧
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off⟧
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    k record;  -- what is kept
BEGIN
    SELECT * INTO k FROM {{ control }}.{{ rule.name }}_keep(p_from, p_to, p_as_of, p_cutoff, false);
    o_skip_keys := k.o_skip_keys;
    o_skip_reasons := k.o_skip_reasons;
    o_rows := ARRAY[
{%- for member in rule.timed.members %}
        («SELECT count(*) FROM {{ member.table }} AS t
         WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- for predicate in member.predicates %}
           AND {{ predicate }}
{%- endfor %}»){% if not loop.last %},{% endif %}
{%- endfor %}
    ];
{%- if rule.timed.by_family %}
    o_families := 0;
    o_roots := '{}';
{%- else %}
    «SELECT
        count(*), min(t.{{ rule.end_time }}),
        coalesce((array_agg(t.{{ rule.key }} ORDER BY t.{{ rule.end_time }}, t.{{ rule.key }}))[1:10], '{}')
    ‹INTO o_families, o_oldest, o_roots›
    FROM {{ rule.table }} AS t
    WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- if rule.timed.root_column %}
      AND {{ rule.timed.is_root }}
{%- endif %}
{%- for predicate in rule.timed.root_predicates %}
      AND {{ predicate }}
{%- endfor %}»;
{%- endif %}
END
$windrow$;

{% include "30_families.sql" %}
{%- if rule.timed.others %}

-- {{ rule.name }}_other: the key of a row that is held by itself{% for other in rule.timed.others %}{% if loop.first %}: of {% else %} or {% endif %}{{ other.table_name }}{% endfor %}.
--# create function {{ control }}.{{ rule.name }}_other
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_other(⟦p_key text⟧)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
    SELECT max(o.key)
    FROM (
{%- for other in rule.timed.others %}
        «SELECT r.{{ other.key }}::text
        FROM {{ other.table }} AS r
        WHERE r.{{ other.key }} = p_key::{{ rule.key_type }}
{%- for condition in other.conditions %}
          AND {{ condition }}
{%- endfor %}»
{%- if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    ) AS o(key);
$windrow$;
{%- endif %}

-- {{ rule.name }}_strays: by table, rows that do not share the {{ rule.end_time_name }} of their root, and rows without one.
--# create function {{ control }}.{{ rule.name }}_strays
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_strays()
RETURNS TABLE (table_name text, apart bigint, undated bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$

    SELECT s.name, count(*) FILTER (WHERE s.at IS DISTINCT FROM s.of_root AND s.has_root), count(*) FILTER (WHERE s.at IS NULL)
    FROM (
{%- for member in rule.timed.members %}
    SELECT {{ member.table_literal }}, t.{{ rule.end_time }}, {% if member.with_root %}r.{{ rule.end_time }}, r.{{ rule.key }} IS NOT NULL{% else %}t.{{ rule.end_time }}, false{% endif %}
    FROM {{ member.table }} AS t{% if member.with_root %} LEFT JOIN {{ rule.table }} AS r ON r.{{ rule.key }} = t.{{ member.with_root }}{% endif %}
{%- for condition in member.alone %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition | indent(width=6) }}
{%- endfor %}
{%- if not loop.last %}
    UNION ALL{% endif %}
{%- endfor %}
    ) AS s(name, at, of_root, has_root) GROUP BY s.name;
$windrow$;
--# become who installs
RESET ROLE;
