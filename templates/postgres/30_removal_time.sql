{% import "macros.sql" as w -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- Row security would hide rows that must go: with row_security = off it is an error, not a gap.
-- IN (SELECT unnest(list)) looks a value up in a hash of the list, however many families are held.

-- {{ rule.name }}_window: the next window of time, from its oldest row on (inclusive) to o_to (exclusive).
-- No table has more than about p_rows rows in it, the root table no more than p_families, unless they have the same time.
--# create function {{ control }}.{{ rule.name }}_window
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_window(
    p_from     {{ rule.time_type }},
    p_cutoff   {{ rule.time_type }},
    p_rows     bigint,
    p_families bigint,
    p_last     bigint[],
    OUT o_from {{ rule.time_type }},
    OUT o_to   {{ rule.time_type }}
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $windrow$
{%- if rule.timed.several %}
DECLARE
    v_busy bigint := (SELECT max(l.rows) FROM unnest(p_last[2:]) AS l(rows)) * 3 / 4;
{%- endif %}
BEGIN
    -- What lies before p_from is not looked at again: an index keeps the entries of deleted rows for a while.
    o_from := least(
{%- for member in rule.timed.members %}
        (SELECT min(t.{{ rule.end_time }}) FROM {{ member.table }} AS t WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_cutoff{% for condition in member.conditions %} AND {{ condition }}{% endfor %}){% if not loop.last %},{% endif %}
{%- endfor %}
    );
    IF o_from IS NULL THEN
        RETURN;
    END IF;

    -- The window ends before the row that would be one too many, whichever table has it first.
    o_to := CASE WHEN p_rows = 0 THEN o_from ELSE p_cutoff END;
{%- if rule.timed.several %}
    -- Those that had the most rows in the last window are looked at first, and all of them where it would become much
    -- longer than the last one: to look costs a tenth of deleting.
    FOR v_look IN 1..2 LOOP
{%- for member in rule.timed.members %}
{%- if member.root %}
        o_to := coalesce((
            SELECT t.{{ rule.end_time }}
            FROM {{ member.table }} AS t
            WHERE t.{{ rule.end_time }} >= o_from AND t.{{ rule.end_time }} < o_to
{%- for condition in member.conditions %} AND {{ condition }}{% endfor %}
            ORDER BY t.{{ rule.end_time }} OFFSET least(p_rows, p_families) LIMIT 1
        ), o_to);
{%- else %}
        IF v_look = 2 OR p_last[{{ member.position }} + 1] >= v_busy THEN
            o_to := coalesce((
                SELECT t.{{ rule.end_time }}
                FROM {{ member.table }} AS t
                WHERE t.{{ rule.end_time }} >= o_from AND t.{{ rule.end_time }} < o_to
{%- for condition in member.conditions %} AND {{ condition }}{% endfor %}
                ORDER BY t.{{ rule.end_time }} OFFSET p_rows LIMIT 1
            ), o_to);
        END IF;
{%- endif %}
{%- endfor %}
        EXIT WHEN o_to - o_from <= make_interval(secs => p_last[1] / 500000.0);
    END LOOP;
{%- else %}
{%- for member in rule.timed.members %}
    o_to := coalesce((
        SELECT t.{{ rule.end_time }}
        FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= o_from AND t.{{ rule.end_time }} < o_to
{%- for condition in member.conditions %} AND {{ condition }}{% endfor %}
        ORDER BY t.{{ rule.end_time }} OFFSET least(p_rows, p_families) LIMIT 1
    ), o_to);
{%- endfor %}
{%- endif %}
    -- Rows with one and the same time go together, however many they are.
    o_to := greatest(o_to, o_from + {{ rule.timed.tick }});
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_window
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_window({{ rule.time_type }}, {{ rule.time_type }}, bigint, bigint, bigint[]) IS
    'The next window of {{ rule.end_time_name }} from p_from on, with about p_rows rows of any table at most; NULL where nothing before p_cutoff is left. p_last: the length of the last window in microseconds, then its rows by table. Reads only. [body @body@]';

-- {{ rule.name }}_keep: what stays of a window, and why: families that are held{% if rule.timed.ended %}, not ended or ended too recently{% endif %}{% if rule.timed.references %}, and what others refer to{% endif %}{% for other in rule.timed.others %}{% if loop.first %}; what is held of {% else %} and {% endif %}{{ other.table_name }}{% endfor %}.
{%- if rule.timed.root_column %}
-- A family is the rows that name the same root in {{ rule.table_name }}.
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_keep
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_keep(
    p_from  {{ rule.time_type }},
    p_to    {{ rule.time_type }},
    p_as_of timestamptz,
    p_lock  boolean,
    OUT o_keep         {{ rule.key_type }}[],
{%- for member in rule.timed.members %}{% if member.referrers %}
    OUT {{ member.named }}      {{ member.key_type }}[],
{%- endif %}{% endfor %}
{%- for list in rule.timed.held %}
    OUT {{ list.name }}       text[],
{%- endfor %}
    OUT o_skip_keys    text[],
    OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET enable_seqscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_held {{ rule.key_type }}[];
{%- if rule.timed.references %}
    v_tied {{ rule.key_type }}[] := '{}';  -- families with a row that something refers to
    v_lone text[] := '{}';  -- such rows without a family
{%- endif %}
{%- for other in rule.timed.others %}
    {{ other.first }} {{ rule.key_type }}[];  -- families of {{ other.table_name }} that are held
{%- endfor %}
{%- if rule.timed.others %}
    v_other text[];
{%- endif %}
{%- if rule.timed.ended %}
    v_least {{ rule.timed.end_type }} := {{ rule.timed.least }};
{%- endif %}
BEGIN
    v_held := ARRAY(
        SELECT h.key::{{ rule.key_type }}
        FROM {{ control }}.hold AS h
        WHERE h.rule = {{ rule.literal }}
          AND {{ w::holds_now() }}
    );
{%- for other in rule.timed.others %}
{%- if loop.first %}
    -- What belongs to no family is held by itself, and with it what is its.
{%- endif %}
    {{ other.first }} := ARRAY(
        SELECT {{ other.family }}
        FROM {{ other.table }} AS r
        WHERE r.{{ other.key }} = ANY (v_held)
{%- for condition in other.conditions %}
          AND {{ condition }}
{%- endfor %}
    );
{%- endfor %}
{%- for list in rule.timed.held %}
    -- {{ list.why }}
    {{ list.name }} := ARRAY(
{%- for way in list.ways %}
        SELECT {{ way.value }}::text
        FROM unnest({{ rule.timed.others[way.other].first }}) AS w(id)
{%- for join in way.joins %}
        JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
{%- if not loop.last %}
        UNION{% endif %}
{%- endfor %}
    );
{%- endfor %}
{%- if rule.timed.root_column %}
    -- A hold on any member keeps the whole family.
    v_held := v_held || ARRAY(
        SELECT r.{{ rule.timed.root_column }}
        FROM {{ rule.table }} AS r
        WHERE r.{{ rule.key }} = ANY (v_held)
          AND r.{{ rule.timed.root_column }} IS NOT NULL
    );
{%- endif %}
{%- if rule.timed.locks %}

    -- Whoever changes a whole family changes its rows in {{ rule.table_name }} too: he waits, or this batch gives way.
    IF p_lock THEN
        PERFORM
        FROM {{ rule.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from
          AND t.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.window_of_root %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY t.{{ rule.end_time }}, t.{{ rule.key }}
        FOR UPDATE;
    END IF;
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.referrers %}

    -- {{ member.table_name }}: what is referred to stays, and its family with it.
    {{ member.named }} := ARRAY(
{%- for referrer in member.referrers %}
        SELECT t.{{ member.key }}
        FROM {{ member.table }} AS t
        JOIN {{ referrer.table }} AS r ON r.{{ referrer.column }} = t.{{ member.key }}
        WHERE t.{{ rule.end_time }} >= p_from
          AND t.{{ rule.end_time }} < p_to
{%- if rule.timed.by_family %}
{%- for predicate in member.spares %}
          AND {{ predicate }}
{%- endfor %}
{%- endif %}
{%- if not loop.last %}
        UNION{% endif %}
{%- endfor %}
    );
{%- for column in member.family %}
    v_tied := v_tied || ARRAY(SELECT t.{{ column }} FROM {{ member.table }} AS t WHERE t.{{ member.key }} = ANY ({{ member.named }}) AND t.{{ column }} IS NOT NULL);
{%- endfor %}
    v_lone := v_lone || ARRAY(
        SELECT t.{{ member.key }}::text
        FROM {{ member.table }} AS t
        WHERE t.{{ member.key }} = ANY ({{ member.named }})
{%- for column in member.family %}
          AND t.{{ column }} IS NULL
{%- endfor %}
        ORDER BY 1
    );
{%- endif %}
{%- endfor %}

    SELECT coalesce(array_agg(f.key ORDER BY f.key), '{}'), coalesce(array_agg(f.key::text ORDER BY f.key), '{}'), coalesce(array_agg(f.reason ORDER BY f.key), '{}')
    INTO o_keep, o_skip_keys, o_skip_reasons
    FROM (
        SELECT
            {{ rule.timed.family_of_root }} AS key,
            CASE
                WHEN bool_or({{ rule.timed.root_is_held }}) THEN 'HELD'
{%- if rule.timed.ended %}
                WHEN bool_or(r.{{ rule.timed.ended }} IS NULL) THEN 'NON_FINAL_MEMBER'
                WHEN bool_or(r.{{ rule.timed.ended }} >= v_least) THEN 'RETENTION_NOT_REACHED'
{%- endif %}
{%- if rule.timed.references %}
                ELSE 'REFERENCED'
{%- endif %}
            END AS reason
        FROM {{ rule.table }} AS r
        WHERE r.{{ rule.end_time }} >= p_from
          AND r.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.root_window %}
          AND {{ condition }}
{%- endfor %}
          AND (
              {{ rule.timed.root_is_held }}
{%- if rule.timed.ended %}
              OR r.{{ rule.timed.ended }} IS NULL
              OR r.{{ rule.timed.ended }} >= v_least
{%- endif %}
{%- if rule.timed.references %}
              OR {{ rule.timed.family_of_root }} IN (SELECT unnest(v_tied))
{%- endif %}
          )
        GROUP BY 1
    ) AS f;
{%- if rule.timed.references %}
    o_keep := o_keep || v_held || v_tied;
    o_skip_keys := o_skip_keys || v_lone;
    o_skip_reasons := o_skip_reasons || array_fill('REFERENCED'::text, ARRAY[cardinality(v_lone)]);
{%- else %}
    o_keep := o_keep || v_held;
{%- endif %}
{%- for other in rule.timed.others %}
    v_other := ARRAY(
        SELECT r.{{ other.key }}::text
        FROM {{ other.table }} AS r
        WHERE r.{{ rule.end_time }} >= p_from
          AND r.{{ rule.end_time }} < p_to
          AND r.{{ other.key }}::text IN (SELECT unnest({{ other.list }}))
        ORDER BY 1
    );
    o_skip_keys := o_skip_keys || v_other;
    o_skip_reasons := o_skip_reasons || array_fill('HELD'::text, ARRAY[cardinality(v_other)]);
{%- endfor %}
{%- if rule.timed.adopts and not rule.timed.by_family %}
{%- for member in rule.timed.members %}
{%- if member.adopt and member.adopt.named and member.referrers %}
{%- for way in member.adopt.ways %}
{%- if loop.first %}
    -- What rows of these families name in {{ member.table_name }} stays with them.
{%- endif %}
    {{ member.named }} := {{ member.named }} || ARRAY(
        SELECT {{ way.names }}
        FROM (SELECT t.{{ rule.key }} AS id FROM {{ rule.table }} AS t WHERE t.{{ rule.key }} = ANY (o_keep) AND t.{{ rule.timed.root_column }} IS NULL) AS m
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
{%- endfor %}
    );
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endif %}
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_keep
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_keep({{ rule.time_type }}, {{ rule.time_type }}, timestamptz, boolean) IS
    'What stays of the window from p_from to p_to, with the reasons. p_lock: locks the rows of {{ rule.table_name }} in it first. [body @body@]';

-- {{ rule.name }}_batch: one batch: the rows of a window that may go, of all tables{% if rule.timed.by_family %}, and of no family whose root is there{% endif %}. Has no transaction control.
--# create function {{ control }}.{{ rule.name }}_batch
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_batch(
    p_run   bigint,
    p_from  {{ rule.time_type }},
    p_to    {{ rule.time_type }},
    p_as_of timestamptz,
    OUT o_families     bigint,
    OUT o_skip_keys    text[],
    OUT o_skip_reasons text[],
    OUT o_rows         bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_keep {{ rule.key_type }}[];
{%- for member in rule.timed.members %}{% if member.referrers %}
    {{ member.named }} {{ member.key_type }}[];
{%- endif %}{% endfor %}
{%- for list in rule.timed.held %}
    {{ list.name }} text[];
{%- endfor %}
    v_rows bigint;
{%- if rule.archives %}
    v_kept bigint;
{%- endif %}
BEGIN
    o_rows := ARRAY[{{ rule.zeros }}]::bigint[];
    {{ w::begin_batch(control=control, hidden="holds and new removal times") }}

    SELECT k.o_keep, {% for member in rule.timed.members %}{% if member.referrers %}k.{{ member.named }}, {% endif %}{% endfor %}{% for list in rule.timed.held %}k.{{ list.name }}, {% endfor %}k.o_skip_keys, k.o_skip_reasons
    INTO v_keep, {% for member in rule.timed.members %}{% if member.referrers %}{{ member.named }}, {% endif %}{% endfor %}{% for list in rule.timed.held %}{{ list.name }}, {% endfor %}o_skip_keys, o_skip_reasons
    FROM {{ control }}.{{ rule.name }}_keep(p_from, p_to, p_as_of, true) AS k;
{%- if rule.timed.spares %}

    -- Where no family stays, no row is asked for its own, which would be a tenth of the time.
{%- endif %}
{%- for member in rule.timed.members %}

    -- {{ member.why }}
{%- if member.root and rule.timed.root_column %}
    WITH gone AS (
        {{ w::delete_window(rule=rule, member=member, predicates=member.predicates) | indent(prefix="        ") }}
        RETURNING {% if member.archive %}t.*{% else %}{{ rule.timed.is_root }} AS root{% endif %}
    )
{%- if member.archive %},
    {{ w::keep_gone(archive=member.archive) | indent }}
    SELECT count(*), count(*) FILTER (WHERE {{ rule.timed.is_root }}), (SELECT count(*) FROM kept)
    INTO v_rows, o_families, v_kept
    FROM gone AS t;
    {{ w::all_kept(archive=member.archive, rows="v_rows") | indent }}
{%- else %}
    SELECT count(*), count(*) FILTER (WHERE g.root)
    INTO v_rows, o_families
    FROM gone AS g;
{%- endif %}
{%- else %}
{%- if member.archive %}
    {{ w::archived(archive=member.archive, rows="v_rows", delete=w::delete_window(rule=rule, member=member, predicates=member.predicates)) | indent }}
{%- else %}
{%- if member.spared %}
    IF v_keep = '{}'{% for list in member.held %} AND {{ list }} = '{}'{% endfor %} THEN
        {{ w::delete_window(rule=rule, member=member, predicates=member.alone) | indent(prefix="        ") }};
    ELSE
        {{ w::delete_window(rule=rule, member=member, predicates=member.predicates) | indent(prefix="        ") }};
    END IF;
{%- else %}
    {{ w::delete_window(rule=rule, member=member, predicates=member.predicates) | indent }};
{%- endif %}
    GET DIAGNOSTICS v_rows = ROW_COUNT;
{%- endif %}
{%- if member.root %}
    o_families := v_rows;
{%- endif %}
{%- endif %}
    o_rows[{{ member.position }}] := v_rows;
{%- endfor %}

    -- A trigger or a rule can keep rows without a word. Only where there is one, it is worth looking.
    IF EXISTS (
        SELECT FROM pg_class AS c
        WHERE c.oid IN (
{%- for member in rule.timed.members %}
            {{ member.table_class }}::regclass{% if not loop.last %},{% endif %}
{%- endfor %}
        )
          AND (
              c.relkind <> 'r'
              OR c.relhassubclass
              OR c.relhasrules
              OR EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = c.oid AND t.tgtype & 11 = 11)
          )
    ) THEN
{%- for member in rule.timed.members %}
        IF EXISTS (
            SELECT FROM {{ member.table }} AS t
            WHERE t.{{ rule.end_time }} >= p_from
              AND t.{{ rule.end_time }} < p_to
{%- for predicate in member.predicates %}
              AND {{ predicate }}
{%- endfor %}
        ) THEN
            RAISE EXCEPTION 'rows of % could not be deleted', {{ member.table_literal }}
                USING HINT = 'A trigger or a rule keeps them. The batch is rolled back.';
        END IF;
{%- endfor %}
    END IF;
{%- if rule.archives %}
    {{ w::fits(control=control, rule=rule) }}
{%- endif %}

    -- Deferred foreign keys speak now, while this batch can still be rolled back alone.
    SET CONSTRAINTS ALL IMMEDIATE;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_batch
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_batch(bigint, {{ rule.time_type }}, {{ rule.time_type }}, timestamptz) IS
    'Deletes, in the caller''s transaction, what {{ rule.name }}_keep does not keep of the window from p_from to p_to: {{ rule.table_list }}. No transaction control, so it can be rolled back; timed_step() calls it. [body @body@]';

-- {{ rule.name }}_count: what a batch would delete of a window. Reads only.
--# create function {{ control }}.{{ rule.name }}_count
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_count(
    p_from  {{ rule.time_type }},
    p_to    {{ rule.time_type }},
    p_as_of timestamptz,
    OUT o_families     bigint,
    OUT o_roots        {{ rule.key_type }}[],
    OUT o_oldest       {{ rule.time_type }},
    OUT o_skip_keys    text[],
    OUT o_skip_reasons text[],
    OUT o_rows         bigint[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_keep {{ rule.key_type }}[];
{%- for member in rule.timed.members %}{% if member.referrers %}
    {{ member.named }} {{ member.key_type }}[];
{%- endif %}{% endfor %}
{%- for list in rule.timed.held %}
    {{ list.name }} text[];
{%- endfor %}
BEGIN
    SELECT k.o_keep, {% for member in rule.timed.members %}{% if member.referrers %}k.{{ member.named }}, {% endif %}{% endfor %}{% for list in rule.timed.held %}k.{{ list.name }}, {% endfor %}k.o_skip_keys, k.o_skip_reasons
    INTO v_keep, {% for member in rule.timed.members %}{% if member.referrers %}{{ member.named }}, {% endif %}{% endfor %}{% for list in rule.timed.held %}{{ list.name }}, {% endfor %}o_skip_keys, o_skip_reasons
    FROM {{ control }}.{{ rule.name }}_keep(p_from, p_to, p_as_of, false) AS k;
    o_rows := ARRAY[
{%- for member in rule.timed.members %}
        (
            SELECT count(*)
            FROM {{ member.table }} AS t
            WHERE t.{{ rule.end_time }} >= p_from
              AND t.{{ rule.end_time }} < p_to
{%- for predicate in member.predicates %}
              AND {{ predicate }}
{%- endfor %}
        ){% if not loop.last %},{% endif %}
{%- endfor %}
    ];
    SELECT count(*), min(t.{{ rule.end_time }}), coalesce((array_agg(t.{{ rule.key }} ORDER BY t.{{ rule.end_time }}, t.{{ rule.key }}))[1:10], '{}')
    INTO o_families, o_oldest, o_roots
    FROM {{ rule.table }} AS t
    WHERE t.{{ rule.end_time }} >= p_from
      AND t.{{ rule.end_time }} < p_to
{%- if rule.timed.root_column %}
      AND {{ rule.timed.is_root }}
{%- endif %}
{%- for predicate in rule.timed.root_predicates %}
      AND {{ predicate }}
{%- endfor %};
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_count
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_count({{ rule.time_type }}, {{ rule.time_type }}, timestamptz) IS
    'Rows of the window from p_from to p_to that may go, by table, its families and the first of their roots. Reads only. [body @body@]';

{% if rule.timed.by_family %}{% include "30_families.sql" %}
{% endif -%}
-- {{ rule.name }}_undated: families{% if rule.timed.ended %} that ended{% endif %} without a {{ rule.end_time_name }}; they can never become due.
--# create function {{ control }}.{{ rule.name }}_undated
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_undated(p_as_of timestamptz, p_scope text)
RETURNS {{ rule.key_type }}[]
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
    SELECT ARRAY(
        SELECT DISTINCT {{ rule.timed.family_of_root }}
        FROM {{ rule.table }} AS r
        WHERE (r.{{ rule.end_time }} IS NULL OR r.{{ rule.end_time }} = '-infinity')
{%- for condition in rule.timed.root_alone %}
          AND {{ condition }}
{%- endfor %}
{%- if rule.timed.ended %}
          AND r.{{ rule.timed.ended }} IS NOT NULL
{%- endif %}
        ORDER BY 1
    );
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_undated
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_undated(timestamptz, text) IS
    'Families without a {{ rule.end_time_name }}{% if rule.timed.ended %}, though they have ended{% endif %}. Reads only. [body @body@]';

-- {{ rule.name }}_due: when what is due at an instant became so, the oldest first.
--# create function {{ control }}.{{ rule.name }}_due
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_due(p_from {{ rule.time_type }}, p_as_of timestamptz, p_limit bigint)
RETURNS TABLE (ended {{ rule.time_type }})
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
AS $windrow$
BEGIN
    RETURN QUERY
    SELECT t.{{ rule.end_time }}
    FROM {{ rule.table }} AS t
    WHERE t.{{ rule.end_time }} < {{ control }}.cutoff_of({{ rule.literal }}, p_as_of, NULL){{ rule.timed.in_zone }}
      AND t.{{ rule.end_time }} >= p_from
      AND t.{{ rule.end_time }} > '-infinity'
{%- if rule.timed.root_column %}
      AND {{ rule.timed.is_root }}
{%- endif %}
{%- for condition in rule.timed.conditions_of_root %}
      AND {{ condition }}
{%- endfor %}
    ORDER BY t.{{ rule.end_time }}
    LIMIT p_limit;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_due
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_due({{ rule.time_type }}, timestamptz, bigint) IS
    'The {{ rule.end_time_name }} of families that are due, from p_from on, whether or not they may go, at most p_limit. Reads only. [body @body@]';

{{ w::age_of(control=control, rule=rule) }}
{%- if rule.timed.others %}

-- {{ rule.name }}_other: the key of a row that is held by itself{% for other in rule.timed.others %}{% if loop.first %}: of {% else %} or {% endif %}{{ other.table_name }}{% endfor %}.
--# create function {{ control }}.{{ rule.name }}_other
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_other(p_key text)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
    SELECT max(o.key)
    FROM (
{%- for other in rule.timed.others %}
        SELECT r.{{ other.key }}::text
        FROM {{ other.table }} AS r
        WHERE r.{{ other.key }} = p_key::{{ rule.key_type }}
{%- for condition in other.conditions %}
          AND {{ condition }}
{%- endfor %}
{%- if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    ) AS o(key);
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_other
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_other(text) IS
    'The key of a row that belongs to no family and can be held; NULL where there is none. Reads only; row_of_key() calls it. [body @body@]';
{%- endif %}

-- {{ rule.name }}_strays: by table, rows that do not share the {{ rule.end_time_name }} of their root, and rows without one.
--# create function {{ control }}.{{ rule.name }}_strays
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_strays()
RETURNS TABLE (table_name text, apart bigint, undated bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
{%- for member in rule.timed.members %}
    SELECT
        {{ member.table_literal }},
{%- if member.with_root %}
        count(*) FILTER (WHERE r.{{ rule.key }} IS NOT NULL AND t.{{ rule.end_time }} IS DISTINCT FROM r.{{ rule.end_time }}),
{%- else %}
        0::bigint,
{%- endif %}
        count(*) FILTER (WHERE t.{{ rule.end_time }} IS NULL)
    FROM {{ member.table }} AS t
{%- if member.with_root %}
    LEFT JOIN {{ rule.table }} AS r ON r.{{ rule.key }} = t.{{ member.with_root }}
{%- endif %}
{%- for condition in member.alone %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}
{%- if not loop.last %}
    UNION ALL{% else %};{% endif %}
{%- endfor %}
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_strays
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_strays() IS
    'Rows that would go without their family, and rows that never go, by table. Reads whole tables; verify() calls it. [body @body@]';

-- {{ rule.name }}_in_window: the families that have rows of the root table in a window.
--# create function {{ control }}.{{ rule.name }}_in_window
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_in_window(p_from {{ rule.time_type }}, p_to {{ rule.time_type }})
RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
    SELECT ARRAY(
        SELECT DISTINCT ({{ rule.timed.family_of_root }})::text AS key
        FROM {{ rule.table }} AS r
        WHERE r.{{ rule.end_time }} >= p_from
          AND r.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.root_window %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY 1
    );
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_in_window
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_in_window({{ rule.time_type }}, {{ rule.time_type }}) IS
    'The families of a window that cannot go. Reads only; timed_step() calls it. [body @body@]';

-- {{ rule.name }}_named: deletes one named family, found by its root, in the caller's transaction, unless something speaks against it.
--# create function {{ control }}.{{ rule.name }}_named
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_named(p_run bigint, p_key text, p_as_of timestamptz, OUT o_families bigint, OUT o_rows bigint[], OUT o_skipped text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
AS $windrow$
DECLARE
    v_key      {{ rule.key_type }} := p_key::{{ rule.key_type }};
{%- if rule.timed.adopts %}
    v_go       {{ rule.key_type }}[] := ARRAY[v_key];
    {{ w::adopted_variables(rule=rule) }}
{%- endif %}
    v_deleted  bigint;
{%- if rule.archives %}
    v_kept     bigint;
{%- endif %}
BEGIN
    PERFORM FROM {{ rule.table }} AS t WHERE {{ rule.timed.of_family }} ORDER BY t.{{ rule.key }} FOR UPDATE;
{%- if rule.timed.adopts %}
    {{ w::adopted(rule=rule) }}
{%- endif %}
    o_skipped := CASE
        WHEN NOT EXISTS (
            SELECT FROM {{ rule.table }} AS t
            WHERE t.{{ rule.key }} = v_key
{%- if rule.timed.root_column %}
              AND {{ rule.timed.is_root }}
{%- endif %}
{%- for condition in rule.timed.conditions_of_root %}
              AND {{ condition }}
{%- endfor %}
        ) THEN 'NOT_A_ROOT'
        WHEN EXISTS (
            SELECT FROM {{ rule.table }} AS t
            JOIN {{ control }}.hold AS h ON h.rule = {{ rule.literal }} AND h.key = t.{{ rule.key }}::text
            WHERE ({{ rule.timed.of_family }})
              AND {{ w::holds_now() }}
        ) THEN 'HELD'
{%- if rule.timed.ended %}
        WHEN EXISTS (
            SELECT FROM {{ rule.table }} AS t
            WHERE ({{ rule.timed.of_family }})
              AND t.{{ rule.timed.ended }} IS NULL
        ) THEN 'NON_FINAL_MEMBER'
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.of_family %}
{%- for referrer in member.referrers %}
        WHEN EXISTS (
            SELECT FROM {{ member.table }} AS t
            JOIN {{ referrer.table }} AS r ON r.{{ referrer.column }} = t.{{ member.key }}
            WHERE {{ member.of_family }}
        ) THEN 'REFERENCED'
{%- endfor %}
{%- endif %}
{%- endfor %}
    END;
    IF o_skipped IS NULL THEN
        o_families := 1;
        o_rows := ARRAY[{{ rule.zeros }}]::bigint[];
{%- for member in rule.timed.members %}
{%- if member.of_family %}
{%- if member.archive %}
        {{ w::archived(archive=member.archive, rows="v_deleted", delete=w::delete_where(table=member.table, where=member.of_family)) | indent(prefix="        ") }}
{%- else %}
        DELETE FROM {{ member.table }} AS t
        WHERE {{ member.of_family }};
        GET DIAGNOSTICS v_deleted = ROW_COUNT;
{%- endif %}
        o_rows[{{ member.position }}] := v_deleted;
{%- endif %}
{%- endfor %}
{%- if rule.archives %}
        {{ w::fits(control=control, rule=rule) }}
{%- endif %}
        SET CONSTRAINTS ALL IMMEDIATE;
    END IF;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_named
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_named(bigint, text, timestamptz) IS
    'Deletes the rows that name this root, whatever their {{ rule.end_time_name }}, if the family is{% if rule.timed.ended %} over and{% endif %} unheld. o_skipped: why it stays. purge_one() calls it. [body @body@]';
--# become who installs
RESET ROLE;
