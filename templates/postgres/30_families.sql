{% import "macros.sql" as w -%}
-- {{ rule.name }}_next: the next roots that are due, oldest first, after a cursor. Reads, decides nothing.
--# create function {{ control }}.{{ rule.name }}_next
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_next(
    p_time   {{ rule.time_type }},
    p_key    {{ rule.key_type }},
    p_cutoff {{ rule.time_type }},
    p_limit  bigint,
    OUT o_roots {{ rule.key_type }}[],
    OUT o_last  {{ rule.time_type }}
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    -- What lies before the cursor is not looked at again: an index keeps the entries of deleted rows for a while.
    SELECT coalesce(array_agg(n.key ORDER BY n.due, n.key), '{}'), max(n.due)
    INTO o_roots, o_last
    FROM (
        SELECT t.{{ rule.key }} AS key, t.{{ rule.end_time }} AS due
        FROM {{ rule.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_time
          AND (t.{{ rule.end_time }} > p_time OR t.{{ rule.key }} > coalesce(p_key, {{ rule.first_key }}))
          AND t.{{ rule.end_time }} < p_cutoff
          AND {{ rule.timed.is_root }}
        ORDER BY t.{{ rule.end_time }}, t.{{ rule.key }}
        LIMIT p_limit
    ) AS n;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_next
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_next({{ rule.time_type }}, {{ rule.key_type }}, {{ rule.time_type }}, bigint) IS
    'The next p_limit roots with a {{ rule.end_time_name }} before p_cutoff, from p_time and p_key on, and the last one''s time. Reads only; {{ rule.name }}_judge decides. [body @body@]';

-- {{ rule.name }}_judge: which of these families may go. A family is all rows that name the root, and goes when the
-- {{ rule.end_time_name }} of the root has come, whatever that of its other rows is.
--# create function {{ control }}.{{ rule.name }}_judge
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_judge(
    p_roots  {{ rule.key_type }}[],
    p_cutoff {{ rule.time_type }},
    p_as_of  timestamptz,
    p_lock   boolean,
    OUT o_go           {{ rule.key_type }}[],
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
{%- for member in rule.timed.members %}
{%- if member.adopt and member.adopt.named and member.referrers %}
    v_namers {{ rule.key_type }}[];  -- instances without a root, and what their rows name
    v_named  {{ member.adopt.key_type }}[];
{%- endif %}
{%- endfor %}
{%- endif %}
{%- if rule.timed.ended %}
    v_least {{ rule.timed.end_type }} := {{ rule.timed.least }};
{%- endif %}
BEGIN
    -- Whoever changes a whole family changes its rows in {{ rule.table_name }} too: he waits, or this batch gives way.
    IF p_lock THEN
        PERFORM
        FROM {{ rule.table }} AS t
        WHERE {{ rule.timed.of_roots }}
        ORDER BY t.{{ rule.key }}
        FOR UPDATE;
    END IF;
    v_held := ARRAY(
        SELECT h.key::{{ rule.key_type }}
        FROM {{ control }}.hold AS h
        WHERE h.rule = {{ rule.literal }}
          AND {{ w::holds_now() }}
    );
{%- for member in rule.timed.members %}
{%- for referrer in member.referrers %}
{%- for column in member.belongs %}
    v_tied := v_tied || ARRAY(
        SELECT DISTINCT t.{{ column }}
        FROM {{ member.table }} AS t
        JOIN {{ referrer.table }} AS r ON r.{{ referrer.column }} = t.{{ member.key }}
        WHERE t.{{ column }} = ANY (p_roots)
    );
{%- endfor %}
{%- endfor %}
{%- endfor %}
{%- for member in rule.timed.members %}
{%- if member.adopt %}
{%- for referrer in member.referrers %}
{%- if member.adopt.named %}
{%- if loop.first %}
    -- Of instances without a root, what their rows name in {{ member.table_name }} counts, too.
    IF EXISTS (SELECT FROM {{ rule.table }} AS t WHERE t.{{ rule.key }} = ANY (p_roots) AND t.{{ rule.timed.root_column }} IS NULL) THEN
        SELECT array_agg(n.family), array_agg(n.key)
        INTO v_namers, v_named
        FROM (
{%- for way in member.adopt.ways %}
            SELECT m.id AS family, {{ way.names }} AS key
            FROM (SELECT t.{{ rule.key }} AS id FROM {{ rule.table }} AS t WHERE t.{{ rule.key }} = ANY (p_roots) AND t.{{ rule.timed.root_column }} IS NULL) AS m
{%- for join in way.joins %}
            JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
            WHERE {{ way.names }} IS NOT NULL
{%- if not loop.last %}
            UNION ALL
{%- endif %}
{%- endfor %}
        ) AS n;
{%- endif %}
        v_tied := v_tied || ARRAY(
            SELECT DISTINCT n.family
            FROM unnest(v_namers, v_named) AS n(family, key)
            JOIN {{ referrer.table }} AS x ON x.{{ referrer.column }} = n.key
        );
{%- if loop.last %}
    END IF;
{%- endif %}
{%- else %}
    v_tied := v_tied || ARRAY(
        SELECT DISTINCT m.family
        FROM (SELECT t.{{ rule.key }} AS id, {{ rule.timed.family_of_t }} AS family FROM {{ rule.table }} AS t WHERE {{ rule.timed.of_roots }}) AS m
{%- for join in member.adopt.joins %}
        JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
        JOIN {{ referrer.table }} AS x ON x.{{ referrer.column }} = t.{{ member.key }}
    );
{%- endif %}
{%- endfor %}
{%- endif %}
{%- endfor %}
    SELECT
        coalesce(array_agg(f.key ORDER BY f.key) FILTER (WHERE f.reason IS NULL), '{}'),
        coalesce(array_agg(f.key::text ORDER BY f.key) FILTER (WHERE f.reason IS NOT NULL), '{}'),
        coalesce(array_agg(f.reason ORDER BY f.key) FILTER (WHERE f.reason IS NOT NULL), '{}')
    INTO o_go, o_skip_keys, o_skip_reasons
    FROM (
        SELECT
            {{ rule.timed.family_of_t }} AS key,
            CASE
                -- A hold on any member keeps the whole family.
                WHEN bool_or(t.{{ rule.key }} IN (SELECT unnest(v_held))) THEN 'HELD'
{%- if rule.timed.ended %}
                WHEN bool_or(t.{{ rule.timed.ended }} IS NULL) THEN 'NON_FINAL_MEMBER'
                WHEN bool_or(t.{{ rule.timed.ended }} >= v_least) THEN 'RETENTION_NOT_REACHED'
{%- endif %}
{%- if rule.timed.references %}
                WHEN {{ rule.timed.family_of_t }} IN (SELECT unnest(v_tied)) THEN 'REFERENCED'
{%- endif %}
            END AS reason
        FROM {{ rule.table }} AS t
        WHERE {{ rule.timed.of_roots }}
        GROUP BY 1
        -- While this batch waited for its locks, a root may have got a later time.
        HAVING bool_or({{ rule.timed.is_root }} AND t.{{ rule.end_time }} < p_cutoff)
    ) AS f;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_judge
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_judge({{ rule.key_type }}[], {{ rule.time_type }}, timestamptz, boolean) IS
    'The families of these roots that may go, and why the others stay. p_lock: locks their rows of {{ rule.table_name }} first. [body @body@]';

-- {{ rule.name }}_families: one batch: whole families, found by their roots. Has no transaction control.
--# create function {{ control }}.{{ rule.name }}_families
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_families(
    p_run    bigint,
    p_roots  {{ rule.key_type }}[],
    p_cutoff {{ rule.time_type }},
    p_as_of  timestamptz,
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
    v_go   {{ rule.key_type }}[];
{%- if rule.timed.adopts %}
    {{ w::adopted_variables(rule=rule) }}
{%- endif %}
    v_rows bigint;
{%- if rule.archives %}
    v_kept bigint;
{%- endif %}
BEGIN
    o_rows := ARRAY[{{ rule.zeros }}]::bigint[];
    {{ w::begin_batch(control=control, hidden="holds and new removal times") }}

    SELECT j.o_go, cardinality(j.o_go), j.o_skip_keys, j.o_skip_reasons
    INTO v_go, o_families, o_skip_keys, o_skip_reasons
    FROM {{ control }}.{{ rule.name }}_judge(p_roots, p_cutoff, p_as_of, true) AS j;
{%- if rule.timed.adopts %}

    {{ w::adopted(rule=rule) }}
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.of_families %}

    -- {{ member.table_name }}: {% if member.root %}the families themselves{% else %}rows of the families, whatever their own {{ rule.end_time_name }}{% endif %}.
{%- if member.archive %}
    {{ w::archived(archive=member.archive, rows="v_rows", delete=w::delete_where(table=member.table, where=member.of_roots)) | indent }}
{%- else %}
    DELETE FROM {{ member.table }} AS t
    WHERE {{ member.of_roots }};
    GET DIAGNOSTICS v_rows = ROW_COUNT;
{%- endif %}
    o_rows[{{ member.position }}] := v_rows;
{%- if member.adopt %}
    IF v_lost[{{ member.position }}] THEN
{%- if member.archive %}
        {{ w::archived(archive=member.archive, rows="v_rows", delete=w::delete_where(table=member.table, where=member.adopt.found)) | indent(prefix="        ") }}
{%- else %}
        DELETE FROM {{ member.table }} AS t
        WHERE {{ member.adopt.found }};
        GET DIAGNOSTICS v_rows = ROW_COUNT;
{%- endif %}
        o_rows[{{ member.position }}] := o_rows[{{ member.position }}] + v_rows;
    END IF;
{%- endif %}
{%- endif %}
{%- endfor %}

    -- A trigger or a rule can keep rows without a word. Only where there is one, it is worth looking.
    IF {{ control }}.may_keep({{ rule.literal }}) THEN
{%- for member in rule.timed.members %}
{%- if member.of_families %}
        IF EXISTS (SELECT FROM {{ member.table }} AS t WHERE {{ member.of_families }}) THEN
            RAISE EXCEPTION 'rows of % could not be deleted', {{ member.table_literal }}
                USING HINT = 'A trigger or a rule keeps them. The batch is rolled back.';
        END IF;
{%- endif %}
{%- endfor %}
    END IF;
{%- if rule.archives %}
    {{ w::fits(control=control, rule=rule) }}
{%- endif %}

    -- Deferred foreign keys speak now, while this batch can still be rolled back alone.
    SET CONSTRAINTS ALL IMMEDIATE;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_families
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_families(bigint, {{ rule.key_type }}[], {{ rule.time_type }}, timestamptz) IS
    'Deletes, in the caller''s transaction, those families of these roots that {{ rule.name }}_judge lets go: {{ rule.table_list }}. No transaction control, so it can be rolled back; timed_step() calls it. [body @body@]';

-- {{ rule.name }}_families_count: what a batch would delete of these families. Reads only.
--# create function {{ control }}.{{ rule.name }}_families_count
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_families_count(
    p_roots  {{ rule.key_type }}[],
    p_cutoff {{ rule.time_type }},
    p_as_of  timestamptz,
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
    v_go {{ rule.key_type }}[];
{%- if rule.timed.adopts %}
    {{ w::adopted_variables(rule=rule) }}
{%- endif %}
BEGIN
    SELECT j.o_go, cardinality(j.o_go), j.o_skip_keys, j.o_skip_reasons
    INTO v_go, o_families, o_skip_keys, o_skip_reasons
    FROM {{ control }}.{{ rule.name }}_judge(p_roots, p_cutoff, p_as_of, false) AS j;
{%- if rule.timed.adopts %}
    {{ w::adopted(rule=rule) }}
{%- endif %}
    o_rows := ARRAY[
{%- for member in rule.timed.members %}
        {% if member.of_families %}(SELECT count(*) FROM {{ member.table }} AS t WHERE {{ member.of_roots }}){% if member.adopt %} + CASE WHEN v_lost[{{ member.position }}] THEN (SELECT count(*) FROM {{ member.table }} AS t WHERE {{ member.adopt.found }}) ELSE 0 END{% endif %}{% else %}0{% endif %}{% if not loop.last %},{% endif %}
{%- endfor %}
    ];
    SELECT min(t.{{ rule.end_time }}), coalesce((array_agg(t.{{ rule.key }} ORDER BY t.{{ rule.end_time }}, t.{{ rule.key }}))[1:10], '{}')
    INTO o_oldest, o_roots
    FROM {{ rule.table }} AS t
    WHERE t.{{ rule.key }} = ANY (v_go);
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_families_count
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_families_count({{ rule.key_type }}[], {{ rule.time_type }}, timestamptz) IS
    'Rows of those families of these roots that may go, by table, and the first of the roots. Reads only. [body @body@]';
