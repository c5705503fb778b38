{% import "macros.sql" as w -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};
{% if rule.single.aged %}
-- {{ rule.name }}_cutoff: before this instant, {{ rule.single.time_name }} is long enough ago.
--# create function {{ control }}.{{ rule.name }}_cutoff
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_cutoff(p_as_of timestamptz, p_retention bigint)
RETURNS {{ rule.single.time_type }}
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
{%- if rule.single.expiry %}
    -- A retention of nothing turns the fallback off: no cutoff, and no option of a run turns it on.
    SELECT CASE WHEN s.seconds > 0 THEN {{ rule.single.cutoff }} END
    FROM (SELECT {{ control }}.setting_of({{ rule.literal }}, 'fallback_retention') AS seconds) AS s;
{%- else %}
    SELECT {{ rule.single.cutoff }};
{%- endif %}
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_cutoff
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_cutoff(timestamptz, bigint) IS
    'Rows whose {{ rule.single.time_name }} lies before this are old enough, in the zone of the application ({{ zone }}): the retention, never under {{ rule.minimum }} seconds, and the safety lag of {{ rule.safety_lag }} seconds before p_as_of.{% if rule.single.expiry %} NULL where the setting fallback_retention is 0.{% endif %} [body @body@]';
{% endif %}
-- Row security would hide rows that must go: with row_security = off it is an error, not a gap.
-- IN (SELECT unnest(list)) looks a value up in a hash of the list, however many families are held.

-- {{ rule.name }}_next: the next rows of {{ rule.table_name }} behind p_after, at most p_rows of them, in the order of an index.
{%- for pass in rule.single.passes %}
-- Pass {{ pass.number }}, {{ pass.name }}: {{ pass.why }}
{%- endfor %}
--# create function {{ control }}.{{ rule.name }}_next
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_next(
    p_pass      integer,
    p_after     text[],
    p_rows      bigint,
    p_as_of     timestamptz,
    p_retention bigint,
    OUT o_count bigint,
    OUT o_after text[],
    OUT o_key   text
{%- for key in rule.single.keys %},
    OUT o_{{ key.name }} {{ key.kind }}[]
{%- endfor %}
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET datestyle = 'ISO, YMD'
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
{%- for pass in rule.single.passes %}
{%- for place in pass.along %}
    {{ place.variable }} {{ place.kind }};
{%- endfor %}
{%- endfor %}
{%- if rule.single.expiry %}
    v_now {{ rule.time_type }} := {{ rule.single.now }};
{%- endif %}
{%- if rule.single.expiry and rule.single.aged %}
    v_cutoff {{ rule.single.time_type }} := {{ control }}.{{ rule.name }}_cutoff(p_as_of, p_retention);
{%- endif %}
BEGIN
{%- for pass in rule.single.passes %}
    {% if loop.first %}IF{% else %}ELSIF{% endif %} p_pass = {{ pass.number }} THEN
{%- for place in pass.along %}
        {{ place.variable }} := coalesce(p_after[{{ loop.index }}], {{ place.first }});
{%- endfor %}
        SELECT
            count(*),
            ARRAY[{% for place in pass.along %}(array_agg(n.{{ place.name }}::text ORDER BY {{ pass.order_of_n }}))[count(*)]{% if not loop.last %}, {% endif %}{% endfor %}],
{%- for key in rule.single.keys %}
            array_agg(n.{{ key.name }} ORDER BY {{ pass.order_of_n }}){% if not loop.last %},{% endif %}
{%- endfor %}
        INTO o_count, o_after, {% for key in rule.single.keys %}o_{{ key.name }}{% if not loop.last %}, {% endif %}{% endfor %}
        FROM (
            SELECT {{ pass.columns }}
            FROM {{ rule.table }} AS t
            WHERE {{ pass.reached }}
              AND (p_after IS NULL OR {{ pass.passed }})
{%- for predicate in pass.predicates %}
              AND {{ predicate }}
{%- endfor %}
            ORDER BY {{ pass.order }}
            LIMIT p_rows
        ) AS n;
{%- endfor %}
    END IF;
    -- The key of a single row, which may have to be told.
    IF o_count = 1 THEN
        o_key := {{ rule.single.key_of_next }};
    END IF;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_next
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_next(integer, text[], bigint, timestamptz, bigint) IS
    'The keys of the next rows to look at, and the place of the last one, from which the next call goes on. Reads only. [body @body@]';

-- {{ rule.name }}_judge: which of these rows go: {{ rule.single.why }}
-- p_as_of is NULL for a purge of named rows, whose time does not matter.
--# create function {{ control }}.{{ rule.name }}_judge
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_judge(
    p_pass      integer,
{%- for key in rule.single.keys %}
    p_{{ key.name }}        {{ key.kind }}[],
{%- endfor %}
    p_as_of     timestamptz,
    p_retention bigint,
{%- for key in rule.single.keys %}
    OUT o_{{ key.name }}    {{ key.kind }}[],
{%- endfor %}
    OUT o_keys         text[],
    OUT o_oldest       {{ rule.single.oldest_type }},
    OUT o_skip_keys    text[],
    OUT o_skip_reasons text[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_held {{ rule.single.held_type }}[] := ARRAY(
        SELECT {{ rule.single.held }}
        FROM {{ control }}.hold AS h
        WHERE h.rule = {{ rule.literal }}
          AND {{ w::holds_now() }}
    );
{%- if rule.single.above %}
    -- Holds of what the rows belong to keep them, too.
    v_above boolean := {{ w::any_holds_above(control=control, rule=rule) }};
{%- endif %}
{%- if rule.single.expiry %}
    v_now {{ rule.time_type }} := {{ rule.single.now }};
{%- endif %}
{%- if rule.single.aged %}
    v_cutoff {{ rule.single.time_type }} := {{ control }}.{{ rule.name }}_cutoff(p_as_of, p_retention);
{%- endif %}
BEGIN
    SELECT
{%- for key in rule.single.keys %}
        coalesce(array_agg(j.{{ key.name }} ORDER BY j.position) FILTER (WHERE j.reason IS NULL), '{}'),
{%- endfor %}
        coalesce(array_agg(j.key ORDER BY j.position) FILTER (WHERE j.reason IS NULL), '{}'),
        min(j.due) FILTER (WHERE j.reason IS NULL),
        coalesce(array_agg(j.key ORDER BY j.position) FILTER (WHERE j.reason IS NOT NULL), '{}'),
        coalesce(array_agg(j.reason ORDER BY j.position) FILTER (WHERE j.reason IS NOT NULL), '{}')
    INTO {% for key in rule.single.keys %}o_{{ key.name }}, {% endfor %}o_keys, o_oldest, o_skip_keys, o_skip_reasons
    FROM (
        SELECT
            k.position,
{%- for key in rule.single.keys %}
            t.{{ key.column }} AS {{ key.name }},
{%- endfor %}
            {{ rule.single.key_text }} AS key,
            {{ rule.single.due }} AS due,
            CASE
                WHEN {{ rule.single.is_held }} THEN 'HELD'
{{- w::held_above(control=control, rule=rule, pad="                ") }}
{%- if rule.single.aged and not rule.single.expiry %}
                WHEN p_as_of IS NOT NULL AND t.{{ rule.single.time }} IS NULL THEN 'UNDATED_MEMBER'
{%- endif %}
            END AS reason
        FROM unnest({{ rule.single.given }}) WITH ORDINALITY AS k({{ rule.single.names }}, position)
        JOIN {{ rule.table }} AS t ON {{ rule.single.matches }}
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
{{ rule.single.goes | indent(prefix="          ") }}
{%- if rule.single.aged %}
          AND (p_as_of IS NULL OR t.{{ rule.single.time }} < v_cutoff OR t.{{ rule.single.time }} IS NULL)
{%- endif %}
{%- endif %}
    ) AS j;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_judge
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_judge(integer, {% for key in rule.single.keys %}{{ key.kind }}[], {% endfor %}timestamptz, bigint) IS
    'Which of the named rows go, and which are due and stay, with the reasons. Reads only. [body @body@]';

{% if rule.single.family -%}
{{ w::rows_below(control=control, rule=rule) }}

-- {{ rule.name }}_below: deletes what belongs to the given rows, children before parents, in the caller's transaction.
--# create function {{ control }}.{{ rule.name }}_below
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_below(p_run bigint, p_members {{ rule.id_type }}[], OUT o_rows bigint[])
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
{%- for collect in rule.collects %}
    {{ collect.variable }} {{ collect.key_type }}[];
{%- if collect.near %}
    {{ collect.near }} {{ collect.key_type }}[];
{%- endif %}
{%- endfor %}
    v_rows    bigint;
    v_more    bigint;
{%- if rule.archives %}
    v_kept    bigint;
{%- endif %}
    -- A trigger or a rule can keep rows without a word. Only where there is one, it is worth looking.
    v_watched boolean := {{ control }}.may_keep({{ rule.literal }});
BEGIN
    o_rows := ARRAY[{{ rule.zeros }}]::bigint[];
{%- for collect in rule.collects %}
    {{ w::collect(collect=collect) }}
{%- endfor %}
{%- for step in rule.steps %}
{%- if not loop.last %}

    {{ w::delete_step(step=step) }}
{%- endif %}
{%- endfor %}

    IF v_watched THEN
{%- for step in rule.steps %}
{%- if not loop.last and step.plain | length > 0 %}
        {{ w::kept_silently(step=step) }}
{%- endif %}
{%- endfor %}
    END IF;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_below
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_below(bigint, {{ rule.id_type }}[]) IS
    'Deletes the rows that belong to the given rows of {{ rule.table_name }}, and leaves these to the caller: {{ rule.table_list }}. Answers their number by table. {{ rule.name }}_batch and {{ rule.name }}_named call it. [body @body@]';

{% endif -%}
-- {{ rule.name }}_batch: one batch: those of the named rows that go. Has no transaction control.
--# create function {{ control }}.{{ rule.name }}_batch
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_batch(
    p_run       bigint,
    p_pass      integer,
{%- for key in rule.single.keys %}
    p_{{ key.name }}        {{ key.kind }}[],
{%- endfor %}
    p_as_of     timestamptz,
    p_retention bigint,
    OUT o_families     bigint,
    OUT o_members      text[],
    OUT o_rows         bigint[],
    OUT o_samples      text[],
    OUT o_skip_keys    text[],
    OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_looked record;
    v_judged record;
    v_busy   text[];
{%- if rule.archives %}
    v_kept   bigint;
{%- endif %}
{%- for key in rule.single.keys %}
    v_{{ key.name }} {{ key.kind }}[];
{%- endfor %}
BEGIN
    {{ w::begin_batch(control=control, hidden="holds, and what came back") }}

    -- A first look without locks, so that a row that stays is not touched; then those that seem to go are locked.
    SELECT * INTO v_looked FROM {{ control }}.{{ rule.name }}_judge(p_pass, {{ rule.single.given }}, p_as_of, p_retention);
    o_skip_keys := v_looked.o_skip_keys;
    o_skip_reasons := v_looked.o_skip_reasons;
    SELECT {% for key in rule.single.keys %}coalesce(array_agg(l.{{ key.name }} ORDER BY l.position), '{}'){% if not loop.last %}, {% endif %}{% endfor %}
    INTO {{ rule.single.locked }}
    FROM (
        SELECT k.position, {{ rule.single.names_of_k }}
        FROM unnest({{ rule.single.looked }}) WITH ORDINALITY AS k({{ rule.single.names }}, position)
        JOIN {{ rule.table }} AS t ON {{ rule.single.matches }}
        ORDER BY {{ rule.single.names_of_k }}
        FOR UPDATE OF t SKIP LOCKED
    ) AS l;
    IF cardinality(v_{{ rule.single.keys.0.name }}) < cardinality(v_looked.o_keys) THEN
        -- Rows that another session has locked are left to it. Those that it deleted are not worth a word.
        SELECT j.o_keys
        INTO v_busy
        FROM (
            SELECT {% for key in rule.single.keys %}array_agg(k.{{ key.name }}) AS {{ key.name }}{% if not loop.last %}, {% endif %}{% endfor %}
            FROM unnest({{ rule.single.looked }}) AS k({{ rule.single.names }})
            WHERE ({{ rule.single.names_of_k }}) NOT IN (SELECT {{ rule.single.names_of_l }} FROM unnest({{ rule.single.locked }}) AS l({{ rule.single.names }}))
        ) AS b
        CROSS JOIN LATERAL {{ control }}.{{ rule.name }}_judge(p_pass, {{ rule.single.names_of_b }}, p_as_of, p_retention) AS j;
        o_skip_keys := o_skip_keys || v_busy;
        o_skip_reasons := o_skip_reasons || array_fill('LOCKED'::text, ARRAY[cardinality(v_busy)]);
    END IF;

    -- Nobody changes them any more: what is judged now holds until the end of the transaction.
    SELECT * INTO v_judged FROM {{ control }}.{{ rule.name }}_judge(p_pass, {{ rule.single.locked }}, p_as_of, p_retention);
    o_skip_keys := o_skip_keys || v_judged.o_skip_keys;
    o_skip_reasons := o_skip_reasons || v_judged.o_skip_reasons;
{%- if rule.single.family %}
    -- What belongs to them goes with them, and before them.
    o_members := v_judged.o_keys;
    o_rows := {{ control }}.{{ rule.name }}_below(p_run, v_judged.o_k1);
{%- endif %}
    WITH gone AS (
        DELETE FROM {{ rule.table }} AS t
        USING unnest({{ rule.single.judged }}) WITH ORDINALITY AS k({{ rule.single.names }}, position)
        WHERE {{ rule.single.matches }}
{%- if rule.single.orphan %}
          AND {{ rule.single.goes | indent(prefix="          ") }}
{%- endif %}
        RETURNING k.position, {{ rule.single.key_text }} AS key{% if rule.archive %}, ROW(t.*)::{{ rule.table }} AS whole{% endif %}
    )
{%- if rule.archive %},
    {{ w::keep_gone(archive=rule.archive, row="(g.whole).*") | indent }}
{%- endif %}
    SELECT count(*), coalesce((array_agg(g.key ORDER BY g.position))[1:10], '{}'){% if rule.archive %}, (SELECT count(*) FROM kept){% endif %}
    INTO o_families, o_samples{% if rule.archive %}, v_kept{% endif %}
    FROM gone AS g;
{%- if rule.archive %}
    {{ w::all_kept(archive=rule.archive, rows="o_families") | indent }}
{%- endif %}

    -- A trigger or a rule can keep rows without a word.
    IF o_families < cardinality(v_judged.o_keys) AND EXISTS (
        SELECT FROM {{ control }}.{{ rule.name }}_judge(p_pass, {{ rule.single.judged }}, p_as_of, p_retention) AS j
        WHERE cardinality(j.o_keys) > 0
    ) THEN
        RAISE EXCEPTION 'rows of % could not be deleted', {{ rule.table_literal }}
            USING HINT = 'A trigger or a rule keeps them. The batch is rolled back.';
    END IF;
{%- if rule.single.family and rule.single.orphan %}
    IF o_families < cardinality(v_judged.o_keys) THEN
        RAISE EXCEPTION 'what % rows of % name came back this moment', cardinality(v_judged.o_keys) - o_families, {{ rule.table_literal }}
            USING ERRCODE = 'serialization_failure', HINT = 'What belongs to them must stay, too. The batch is rolled back and tried again.';
    END IF;
{%- endif %}
    o_rows[{{ rule.steps | length }}] := o_families;
{%- if rule.archives %}
    {{ w::fits(control=control, rule=rule) }}
{%- endif %}

    -- Deferred foreign keys speak now, while this batch can still be rolled back alone.
    SET CONSTRAINTS ALL IMMEDIATE;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_batch
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_batch(bigint, integer, {% for key in rule.single.keys %}{{ key.kind }}[], {% endfor %}timestamptz, bigint) IS
    'Deletes, in the caller''s transaction, those of the named rows of {{ rule.table_name }} that go, each looked at again under its lock{% if rule.single.family %}, with what belongs to them{% endif %}. No transaction control, so it can be rolled back; {{ rule.name }}_step calls it. [body @body@]';
{%- if rule.single.expiry and rule.single.aged %}

-- {{ rule.name }}_undated: rows that have neither {{ rule.end_time_name }} nor {{ rule.single.time_name }}; they can never become due.
--# create function {{ control }}.{{ rule.name }}_undated
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_undated(p_as_of timestamptz, p_scope text)
RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
    SELECT ARRAY(
        SELECT {{ rule.single.key_text }}
        FROM {{ rule.table }} AS t
        WHERE t.{{ rule.end_time }} IS NULL
          AND t.{{ rule.single.time }} IS NULL
{%- for condition in rule.single.conditions %}
          AND {{ condition }}
{%- endfor %}
          AND {{ control }}.{{ rule.name }}_cutoff(p_as_of, NULL) IS NOT NULL
        ORDER BY {{ rule.single.key_order }}
    );
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_undated
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_undated(timestamptz, text) IS
    'Rows that have neither {{ rule.end_time_name }} nor {{ rule.single.time_name }}, as long as the fallback is on. Reads only. [body @body@]';
{%- endif %}
{%- if rule.single.keep_last %}

-- {{ rule.name }}_unranked: how many rows have no group or no place in it; they stay, and stand in nobody's way.
--# create function {{ control }}.{{ rule.name }}_unranked
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_unranked()
RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
    SELECT count(*)
    FROM {{ rule.table }} AS t
    WHERE {% for condition in rule.single.conditions %}{{ condition }}
      AND {% endfor %}({{ rule.single.unranked }});
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_unranked
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_unranked() IS
    'Rows with NULL in a column by which they are grouped or ordered. Reads the whole table; verify() calls it. [body @body@]';
{%- endif %}

-- {{ rule.name }}_overdue: what is due at an instant, for metrics.
--# create function {{ control }}.{{ rule.name }}_overdue
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_overdue(p_as_of timestamptz, p_limit bigint)
RETURNS TABLE (families bigint, age interval, complete boolean)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
{%- if rule.single.expiry %}
    SELECT count(*), {{ rule.single.age_of_oldest }}, count(*) < p_limit
    FROM (
{%- for pass in rule.single.passes %}
        (
            SELECT {{ pass.due_time }} AS due
            FROM {{ rule.table }} AS t
{%- for predicate in pass.backlog %}
            {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ predicate | indent(prefix="            ") }}
{%- endfor %}
            ORDER BY {{ pass.due_time }}
            LIMIT p_limit
        ){% if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    ) AS o;
{%- else %}
{%- for pass in rule.single.passes %}
    SELECT count(*) FILTER (WHERE o.goes), {{ rule.single.age_of_oldest }} FILTER (WHERE o.goes), count(*) < p_limit
    FROM (
        SELECT
            {{ pass.due_time }} AS due,
            (
{%- for predicate in pass.backlog %}
                {% if not loop.first %}AND {% endif %}{{ predicate | indent(prefix="                ") }}
{%- endfor %}
            ) AS goes
        FROM {{ rule.table }} AS t
{%- for predicate in pass.predicates %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ predicate }}
{%- endfor %}
        ORDER BY {{ pass.order }}
        LIMIT p_limit
    ) AS o;
{%- endfor %}
{%- endif %}
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_overdue
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_overdue(timestamptz, bigint) IS
    '{% if rule.single.expiry %}Rows that are due, whether or not they may go, counted up to p_limit by pass{% else %}Rows that are due, whether or not they may go, among the first p_limit of the table{% endif %}, how long ago the oldest time was, and whether these are all. Reads only. [body @body@]';

-- {{ rule.name }}_named: deletes one named row, in the caller's transaction, unless something speaks against it.
--# create function {{ control }}.{{ rule.name }}_named
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_named(p_run bigint, p_key text, p_as_of timestamptz, OUT o_families bigint, OUT o_rows bigint[], OUT o_skipped text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET jit = off
AS $windrow$
DECLARE
    v_judged  record;
    v_deleted bigint;
{%- if rule.archives %}
    v_kept    bigint;
{%- endif %}
{%- for key in rule.single.keys %}
    v_{{ key.name }} {{ key.kind }} := {{ key.of_text }};
{%- endfor %}
BEGIN
    PERFORM FROM {{ rule.table }} AS t WHERE {{ rule.single.is_named }} FOR UPDATE;
    SELECT * INTO v_judged FROM {{ control }}.{{ rule.name }}_judge(0, {% for key in rule.single.keys %}ARRAY[v_{{ key.name }}], {% endfor %}NULL, NULL);
    o_skipped := CASE WHEN cardinality(v_judged.o_keys) = 0 THEN coalesce(v_judged.o_skip_reasons[1], 'NOT_A_ROOT') END;
    IF o_skipped IS NULL THEN
        o_families := 1;
{%- if rule.single.family %}
        o_rows := {{ control }}.{{ rule.name }}_below(p_run, ARRAY[v_k1]);
{%- endif %}
{%- if rule.archive %}
        {{ w::archived(archive=rule.archive, rows="v_deleted", delete=w::delete_named(rule=rule)) | indent(prefix="        ") }}
{%- else %}
        {{ w::delete_named(rule=rule) | indent(prefix="        ") }};
        GET DIAGNOSTICS v_deleted = ROW_COUNT;
{%- endif %}
        o_rows[{{ rule.steps | length }}] := v_deleted;
        IF v_deleted = 0 THEN
            RAISE EXCEPTION 'rows of % could not be deleted', {{ rule.table_literal }}
                USING HINT = '{% if rule.single.orphan %}A trigger or a rule keeps them, or what they name came back this moment.{% else %}A trigger or a rule keeps them.{% endif %}';
        END IF;
{%- if rule.archives %}
        {{ w::fits(control=control, rule=rule) }}
{%- endif %}
        SET CONSTRAINTS ALL IMMEDIATE;
    END IF;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_named
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_named(bigint, text, timestamptz) IS
    'Deletes the named row of {{ rule.table_name }}{% if rule.single.family %} with what belongs to it{% endif %}{% if rule.single.expiry %}, whatever its {{ rule.end_time_name }}{% elif rule.single.orphan %} if what it names is gone, however young it is{% else %} if enough rows of its group are newer, however young it is{% endif %}, unless it is held. o_skipped: why it stays. purge_one() calls it. [body @body@]';
--# become who installs
RESET ROLE;
