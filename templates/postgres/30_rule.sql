{% import "macros.sql" as w -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- {{ rule.name }}_scope: whom the rule may clean, and up to which end time (exclusive).
{%- if rule.per %}
-- One row per scope with a policy{% if rule.source %} or another retention of its own{% endif %}{% if not rule.opt_in %}; the row without a scope holds for all others{% endif %}.
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_scope
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_scope(p_as_of timestamptz, p_retention bigint, p_scope text)
RETURNS TABLE (scope {{ rule.scope_type }}, cutoff {{ rule.time_type }})
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
{%- if rule.source and rule.source.table %}
SET row_security = off
{%- endif %}
AS $windrow$
BEGIN
    RETURN QUERY
{%- if rule.per %}
    SELECT
        p.scope::{{ rule.scope_type }},
        {% if not rule.opt_in %}CASE WHEN p.enabled THEN {% endif %}{{ rule.cutoff_of_policy }}{% if not rule.opt_in %} ELSE '-infinity' END{% endif %}
    FROM {{ control }}.policy AS p
    WHERE p.rule = {{ rule.literal }}
      {%- if rule.opt_in %}
      AND p.enabled
      {%- endif %}
      AND (p_scope IS NULL OR p.scope = p_scope)
{%- if rule.source %}
    UNION ALL
    -- {{ rule.source.why }}
    SELECT
        {{ rule.source.scope }}::{{ rule.scope_type }},
        {% if rule.source.ends %}CASE WHEN {{ rule.source.ends }} THEN {% endif %}{{ rule.cutoff_of_source }}{% if rule.source.ends %} ELSE '-infinity' END{% endif %}
    FROM {{ rule.source.rows }}
    WHERE (p_scope IS NULL OR {{ rule.source.scope_text }} = p_scope)
      {%- if rule.source.says %}
      AND {{ rule.source.says }}
      {%- endif %}
      AND NOT EXISTS (
          SELECT FROM {{ control }}.policy AS p
          WHERE p.rule = {{ rule.literal }}
            AND p.scope = {{ rule.source.scope_text }}
      )
{%- endif %}
{%- if not rule.opt_in %}
    UNION ALL
    SELECT
        NULL,
        {{ rule.cutoff_of_default }}
    WHERE p_scope IS NULL
    UNION ALL
    SELECT
        p_scope::{{ rule.scope_type }},
        {{ rule.cutoff_of_default }}
    WHERE p_scope IS NOT NULL
      AND NOT EXISTS (
          SELECT FROM {{ control }}.policy AS p
          WHERE p.rule = {{ rule.literal }}
            AND p.scope = p_scope
      )
      {%- if rule.source %}
      AND NOT EXISTS (
          SELECT FROM {{ rule.source.rows }}
          WHERE {{ rule.source.scope_text }} = p_scope
            {%- if rule.source.says %}
            AND {{ rule.source.says }}
            {%- endif %}
      )
      {%- endif %}
{%- endif %};
{%- else %}
    SELECT
        NULL::{{ rule.scope_type }},
        {{ rule.cutoff_of_default }};
{%- endif %}
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_scope
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_scope(timestamptz, bigint, text) IS
    'Cutoffs by scope, counted from p_as_of, in the zone of the application ({{ zone }}). p_retention overrides the policies{% if rule.source %} and the source{% endif %}, never under {{ rule.minimum }} seconds; the safety lag of {{ rule.safety_lag }} seconds is added. [body @body@]';

-- Row security would hide rows that hang on what goes: with row_security = off it is an error, not a gap.

-- {{ rule.name }}_next: the next roots to judge, oldest first, after a cursor. Reads, decides nothing.
{%- if rule.last %}
-- No index has their end. What has ended before the cutoff has begun before it: the cursor goes by {{ rule.start_name }}.
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_next
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_next(
    p_as_of      timestamptz,
    p_retention  bigint,
    p_scope      text,
    p_after_time {{ rule.time_type }},
    p_after_key  {{ rule.key_type }},
    p_limit      bigint
)
RETURNS TABLE (root {{ rule.key_type }}, ended {{ rule.time_type }}{% if rule.last %}, started {{ rule.time_type }}{% endif %})
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    RETURN QUERY
{%- if rule.per and rule.opt_in %}
    SELECT r.{{ rule.key }}{{ rule.key_cast }}, r.{{ rule.ended_name }}{% if rule.last %}, r.started{% endif %}
    FROM {{ control }}.{{ rule.name }}_scope(p_as_of, p_retention, p_scope) AS s
{%- for newest in rule.newest %}
{%- if newest.of_scope %}
    -- The last one of each {{ newest.group_name }} that stays is looked up once, and not for every row.
    LEFT JOIN LATERAL {{ w::last_that_stays(rule=rule, newest=newest, same=newest.same_as_scope) | indent }} AS l{{ newest.number }} ({{ newest.columns_of_l }}) ON true
{%- endif %}
{%- endfor %}
    CROSS JOIN LATERAL (
        SELECT i.{{ rule.key }}, {% if rule.last %}{{ rule.last.ended }} AS ended, {{ rule.ended }} AS started{% else %}{{ rule.ended }}{% if rule.otherwise %} AS ended{% endif %}{% endif %}
        FROM {{ rule.table }} AS i
{%- if rule.last %}
        {{ w::last_end(rule=rule) | indent(prefix="        ") }}
{%- endif %}
        WHERE i.{{ rule.per }} = s.scope
          AND {{ rule.ended }} < s.cutoff
          AND ({{ rule.ended }}, i.{{ rule.key }}) > (p_after_time, p_after_key)
{%- for predicate in rule.eligible %}
          AND {{ predicate }}
{%- endfor %}
{%- if rule.last %}
          AND {{ rule.last.ended }} < s.cutoff
{%- endif %}
{%- if rule.newest | length > 0 %}
          {{ w::not_newest(rule=rule, known=true) | indent(prefix="          ") }}
{%- endif %}
        ORDER BY {{ rule.ended }}, i.{{ rule.key }}
        LIMIT p_limit
    ) AS r
    ORDER BY r.{% if rule.last %}started{% else %}{{ rule.ended_name }}{% endif %}, r.{{ rule.key }}
    LIMIT p_limit;
{%- else %}
    SELECT i.{{ rule.key }}{{ rule.key_cast }}, {% if rule.last %}{{ rule.last.ended }}, {% endif %}{{ rule.ended }}
    FROM {{ rule.table }} AS i
{%- if rule.last %}
    {{ w::last_end(rule=rule) | indent }}
{%- endif %}
    {%- if rule.per %}
    LEFT JOIN {{ control }}.{{ rule.name }}_scope(p_as_of, p_retention, p_scope) AS s
        ON s.scope = i.{{ rule.per }}
    {%- endif %}
    WHERE {{ rule.ended }} < (
        SELECT max(c.cutoff) FROM {{ control }}.{{ rule.name }}_scope(p_as_of, p_retention, p_scope) AS c
    )
      {%- if rule.per %}
      AND {{ rule.ended }} < coalesce(s.cutoff, (
          SELECT c.cutoff FROM {{ control }}.{{ rule.name }}_scope(p_as_of, p_retention, p_scope) AS c WHERE c.scope IS NULL
      ))
      {%- endif %}
      {%- if rule.last %}
      AND {{ rule.last.ended }} < {% if rule.per %}coalesce(s.cutoff, {% endif %}(
          SELECT c.cutoff FROM {{ control }}.{{ rule.name }}_scope(p_as_of, p_retention, p_scope) AS c{% if rule.per %} WHERE c.scope IS NULL{% endif %}
      ){% if rule.per %}){% endif %}
      {%- endif %}
      AND ({{ rule.ended }}, i.{{ rule.key }}) > (p_after_time, p_after_key)
{%- for predicate in rule.eligible %}
      AND {{ predicate }}
{%- endfor %}
{%- if rule.newest | length > 0 %}
      {{ w::not_newest(rule=rule) | indent(prefix="      ") }}
{%- endif %}
    ORDER BY {{ rule.ended }}, i.{{ rule.key }}
    LIMIT p_limit;
{%- endif %}
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_next
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_next(timestamptz, bigint, text, {{ rule.time_type }}, {{ rule.key_type }}, bigint) IS
    'The next p_limit roots after the cursor (p_after_time, p_after_key), {% if rule.last %}those that began first at first{% else %}oldest first{% endif %}. Reads only; {{ rule.name }}_judge decides. [body @body@]';

{%- if rule.keeps | length > 0 %}

-- {{ rule.name }}_kept: the members that a row of another table keeps.
--# create function {{ control }}.{{ rule.name }}_kept
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_kept(p_members {{ rule.id_type }}[])
RETURNS {{ rule.id_type }}[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    RETURN ARRAY(
{%- for keep in rule.keeps %}
        -- {{ keep.why }}
        SELECT m.id
        FROM unnest(p_members) AS m(id)
        WHERE EXISTS (
            SELECT
            FROM {{ keep.hops.0.table }} AS {{ keep.hops.0.alias }}
{%- for hop in keep.hops %}
{%- if not loop.first %}
            JOIN {{ hop.table }} AS {{ hop.alias }} ON {{ hop.on }}
{%- endif %}
{%- endfor %}
            WHERE {{ keep.hops.0.on }}
        )
{%- if not loop.last %}
        UNION{% endif %}
{%- endfor %}
    );
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_kept
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_kept({{ rule.id_type }}[]) IS
    'Which of the given members a row of another table keeps: as long as it is there, their families stay. Reads only; {{ rule.name }}_judge calls it. [body @body@]';
{%- endif %}
{%- if rule.meets | length > 0 %}

-- {{ rule.name }}_met: the members of other families that share a row with one of the given members. Such a row goes with
-- all of its parents, so these families go together or not at all.
--# create function {{ control }}.{{ rule.name }}_met
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_met(p_members {{ rule.id_type }}[])
RETURNS TABLE (id {{ rule.id_type }}, other {{ rule.id_type }})
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    RETURN QUERY
{%- for meet in rule.meets %}
    -- {{ meet.why }}
    SELECT m.id, {{ meet.other }}::{{ rule.id_type }}
    FROM unnest(p_members) AS m(id)
{%- for hop in meet.hops %}
    JOIN {{ hop.table }} AS {{ hop.alias }} ON {{ hop.on }}
{%- endfor %}
    WHERE {{ meet.other }} <> m.id
{%- if not loop.last %}
    UNION{% endif %}
{%- endfor %};
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_met
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_met({{ rule.id_type }}[]) IS
    'Which other members share a row with the given ones that goes with all of its parents. Reads only; {{ rule.name }}_judge calls it. [body @body@]';
{%- endif %}

-- {{ rule.name }}_judge: expands the given roots to their families and decides, row by row under lock, which may go.
--
-- A member is a row of {{ rule.table_name }}. Links to ids without a row are not followed.
{%- if rule.closed %}
-- Closed: the rows on both ends of a link go together or not at all; so members are collected in both directions.
{%- else %}
-- Literal: a root's own descendants decide, whoever else links to them.
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_judge
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_judge(
    p_roots     {{ rule.key_type }}[],
    p_as_of     timestamptz,
    p_retention bigint,
    p_scope     text,
    p_purge     boolean,
    p_lock      boolean,
    p_gone      {{ rule.id_type }}[],
    OUT o_members     {{ rule.id_type }}[],
    OUT o_artifacts   {{ rule.id_type }}[],
    OUT o_families    bigint,
    OUT o_other_roots {{ rule.id_type }}[],
    OUT o_skip_keys   {{ rule.id_type }}[],
    OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET jit = off
SET enable_nestloop = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_reasons constant text[] := ARRAY[
        'HELD', 'NON_FINAL_MEMBER', 'UNDATED_MEMBER', 'RETENTION_NOT_REACHED', 'LOCKED', 'POLICY_DISABLED', 'SHARED_MEMBER'{% if rule.keeps | length > 0 %}, 'REFERENCED'{% endif %}
    ];
{%- if rule.per %}
    -- The policies, one element per scope.
    v_scopes    {{ rule.scope_type }}[];
    v_cutoffs   {{ rule.time_type }}[];
    v_recording boolean[];  -- whether files are recorded
{%- endif %}
    v_default {{ rule.time_type }};  -- the cutoff of scopes without a policy
    v_least   {{ rule.time_type }};  -- the earliest cutoff
    v_level  {{ rule.id_type }}[];  -- ids of the present level of the expansion
    v_seen   {{ rule.id_type }}[];  -- ids of all levels so far
    v_first  integer;  -- how many members the first level has
    v_locked {{ rule.id_type }}[] := '{}';  -- rows that another session holds
    v_held   {{ rule.id_type }}[];
{%- if rule.keeps | length > 0 %}
    v_kept   {{ rule.id_type }}[];  -- rows that a row of another table keeps
{%- endif %}
{%- if rule.newest | length > 0 %}
    v_newest {{ rule.id_type }}[] := '{}';  -- roots that are among the newest of their group
{%- endif %}
    v_doubt  {{ rule.id_type }}[] := '{}';  -- rows that something may speak against
    v_bad    {{ rule.id_type }}[];  -- roots with a fault below them, and the fault's rank in v_reasons
    v_rank   integer[];
    v_go     {{ rule.id_type }}[];  -- rows in doubt that go all the same
{%- if rule.closed %}
    v_stay   {{ rule.id_type }}[];
{%- endif %}
    -- The members so far: parallel arrays, one element per row.
    v_id     {{ rule.id_type }}[] := '{}';
    v_final  boolean[] := '{}';
    v_root   boolean[] := '{}';
    v_ended  {{ rule.time_type }}[] := '{}';
    v_cutoff {{ rule.time_type }}[] := '{}';  -- what a root must have ended before; none for other rows
{%- if rule.per %}
    v_record boolean[] := '{}';
{%- endif %}
    -- The links so far.
    v_upper  {{ rule.id_type }}[] := '{}';
    v_lower  {{ rule.id_type }}[] := '{}';
{%- if rule.meets | length > 0 %}
    -- Members that share a row, each with each.
    v_one    {{ rule.id_type }}[] := '{}';
    v_other  {{ rule.id_type }}[] := '{}';
    n_one    {{ rule.id_type }}[];
    n_other  {{ rule.id_type }}[];
{%- endif %}
    -- What one level added.
    n_id     {{ rule.id_type }}[];
    n_final  boolean[];
    n_root   boolean[];
    n_ended  {{ rule.time_type }}[];
    n_cutoff {{ rule.time_type }}[];
{%- if rule.per %}
    n_record boolean[];
{%- endif %}
    n_doubt  {{ rule.id_type }}[];
    n_upper  {{ rule.id_type }}[];
    n_lower  {{ rule.id_type }}[];
BEGIN
{%- if rule.per %}
    -- Whether files are recorded is said by a policy even where it is disabled, or not the scope of this run.
    SELECT
        max(s.cutoff) FILTER (WHERE s.scope IS NULL),
        min(s.cutoff) FILTER (WHERE s.cutoff > '-infinity'),
        array_agg(coalesce(s.scope, p.scope)),
        array_agg(s.cutoff),
        array_agg(coalesce(p.artifacts, true))
    INTO v_default, v_least, v_scopes, v_cutoffs, v_recording
    FROM (
        SELECT o.scope::{{ rule.scope_type }}, o.artifacts FROM {{ control }}.policy AS o WHERE o.rule = {{ rule.literal }}
    ) AS p
    FULL JOIN {{ control }}.{{ rule.name }}_scope(p_as_of, p_retention, p_scope) AS s ON s.scope = p.scope;
{%- else %}
    SELECT max(s.cutoff), min(s.cutoff) FILTER (WHERE s.cutoff > '-infinity')
    INTO v_default, v_least
    FROM {{ control }}.{{ rule.name }}_scope(p_as_of, p_retention, p_scope) AS s;
{%- endif %}

    v_level := p_roots;
    v_seen := p_gone;
    WHILE cardinality(v_level) > 0 LOOP
        -- The rows of this level, in key order so that two batches cannot deadlock. What another session holds is left to it.
{%- for locking in [true, false] %}
        {% if locking %}IF p_lock THEN{% else %}ELSE{% endif %}
            SELECT
                array_agg(m.id), array_agg(m.final), array_agg(m.root), array_agg(m.ended),{% if rule.per %} array_agg(coalesce(p.artifacts, true)),{% endif %}
                array_agg(CASE
                    WHEN NOT m.root THEN NULL
                    WHEN p_purge THEN CASE WHEN m.id = ANY (p_roots){% if rule.nested %} OR {% if rule.closed %}NOT m.id = ANY (n_doubt){% else %}v_first IS NOT NULL{% endif %}{% endif %} THEN 'infinity'::{{ rule.time_type }} END
                    ELSE {% if rule.per %}coalesce(p.cutoff, v_default){% else %}v_default{% endif %}
                END)
            INTO n_id, n_final, n_root, n_ended,{% if rule.per %} n_record,{% endif %} n_cutoff
            FROM (
                SELECT {{ rule.level_columns }}
                FROM {{ rule.table }} AS i
                WHERE i.{{ rule.key }} = ANY (v_level)
{%- if locking %}
                ORDER BY i.{{ rule.key }}
                FOR UPDATE SKIP LOCKED
{%- endif %}
            ) AS m
{%- if rule.per %}
            LEFT JOIN unnest(v_scopes, v_cutoffs, v_recording) AS p(scope, cutoff, artifacts) ON p.scope = m.scope
{%- endif %};
{%- if locking %}
            IF cardinality(n_id) IS DISTINCT FROM cardinality(v_level) THEN
                v_locked := v_locked || ARRAY(
                    SELECT i.{{ rule.key }}
                    FROM {{ rule.table }} AS i
                    WHERE i.{{ rule.key }} = ANY (v_level)
                    EXCEPT
                    SELECT m.id FROM unnest(n_id) AS m(id)
                );
            END IF;
{%- endif %}
{%- endfor %}
        END IF;
        EXIT WHEN n_id IS NULL;
{%- if rule.last %}

        -- When they ended, read after they were locked: with the last of their rows of {{ rule.last.table_name }}, once each of these has a
        -- {{ rule.last.time_name }}{% if rule.last.otherwise %}; else at their {{ rule.last.otherwise_name }}{% endif %}. Those rows are locked as well, so that none of them changes any more.
{%- for locking in [true, false] %}
        {% if locking %}IF p_lock THEN{% else %}ELSE{% endif %}
            SELECT array_agg(coalesce(e.ended, m.ended) ORDER BY m.position)
            INTO n_ended
            FROM unnest(n_id, n_ended) WITH ORDINALITY AS m(id, ended, position)
            LEFT JOIN (
                SELECT l.root, CASE WHEN bool_and(l.ended IS NOT NULL) THEN max(l.ended) END AS ended
                FROM (
                    SELECT t.{{ rule.last.names }} AS root, t.{{ rule.last.time }} AS ended
                    FROM {{ rule.last.table }} AS t
                    WHERE t.{{ rule.last.names }} = ANY (n_id)
{%- if locking %}
                    FOR UPDATE
{%- endif %}
                ) AS l
                GROUP BY l.root
            ) AS e ON e.root = m.id;
{%- endfor %}
        END IF;
{% endif %}
        -- In doubt, generously: what is not final, undated or perhaps too young, and what is no root that may be cleaned.
        v_doubt := v_doubt || ARRAY(
            SELECT m.id
            FROM unnest(n_id, n_final, n_root, n_ended, n_cutoff) AS m(id, final, root, ended, cutoff)
            WHERE NOT m.final
               OR m.ended IS NULL
               OR m.ended >= v_least
               OR (m.root AND (m.cutoff IS NULL OR m.ended >= m.cutoff))
               OR (NOT m.root AND v_first IS NULL)
        );
        v_first := coalesce(v_first, cardinality(n_id));
        v_id := v_id || n_id;
        v_final := v_final || n_final;
        v_root := v_root || n_root;
        v_ended := v_ended || n_ended;
        v_cutoff := v_cutoff || n_cutoff;
{%- if rule.per %}
        v_record := v_record || n_record;
{%- endif %}
{%- if not rule.linked %}
        EXIT;
{%- else %}

        -- Read after the rows were locked: a link that was committed before is seen.
{%- if rule.links | length > 0 %}
        SELECT array_agg(l.upper), array_agg(l.lower)
        INTO n_upper, n_lower
        FROM (
{%- for link in rule.links %}
            SELECT l.{{ link.parent }} AS upper, l.{{ link.child }} AS lower
            FROM {{ link.table }} AS l
            WHERE l.{{ link.parent }} = ANY (n_id)
              AND l.{{ link.child }} IS NOT NULL
{%- if rule.closed %}
            UNION ALL
            SELECT l.{{ link.parent }}, l.{{ link.child }}
            FROM {{ link.table }} AS l
            WHERE l.{{ link.child }} = ANY (n_id)
              AND l.{{ link.parent }} IS NOT NULL
{%- endif %}
{%- if not loop.last %}
            UNION ALL
{%- endif %}
{%- endfor %}
        ) AS l;
{%- endif %}
{%- if rule.meets | length > 0 %}
        SELECT array_agg(s.id), array_agg(s.other)
        INTO n_one, n_other
        FROM {{ control }}.{{ rule.name }}_met(n_id) AS s;
        EXIT WHEN n_upper IS NULL AND n_one IS NULL;
        v_one := v_one || n_one;
        v_other := v_other || n_other;
{%- else %}
        EXIT WHEN n_upper IS NULL;
{%- endif %}
        v_upper := v_upper || n_upper;
        v_lower := v_lower || n_lower;
        v_seen := v_seen || v_level;
{%- if rule.closed %}
        -- A row that was not found from above may belong to a family that is not in this batch.
        SELECT coalesce(array_agg(f.id), '{}'), coalesce(array_agg(f.id) FILTER (WHERE NOT f.below), '{}')
        INTO v_level, n_doubt
        FROM (
            SELECT l.id, bool_or(l.below) AS below
            FROM (
                SELECT u.id, false AS below FROM unnest(n_upper) AS u(id)
                UNION ALL
                SELECT d.id, true FROM unnest(n_lower) AS d(id)
{%- if rule.meets | length > 0 %}
                UNION ALL
                SELECT o.id, false FROM unnest(n_other) AS o(id)
{%- endif %}
            ) AS l
            WHERE l.id NOT IN (SELECT s.id FROM unnest(v_seen) AS s(id))
            GROUP BY l.id
        ) AS f;
        v_doubt := v_doubt || n_doubt;
{%- else %}
        v_level := ARRAY(SELECT DISTINCT d.id FROM unnest(n_lower) AS d(id) WHERE d.id NOT IN (SELECT s.id FROM unnest(v_seen) AS s(id)));
{%- endif %}
{%- endif %}
    END LOOP;

    v_held := ARRAY(
        SELECT h.key::{{ rule.id_type }}
        FROM {{ control }}.hold AS h
        WHERE h.rule = {{ rule.literal }}
          AND {{ w::holds_now() }}
    );
    v_doubt := v_doubt || v_locked || ARRAY(
        SELECT m.id FROM unnest(v_id) AS m(id) WHERE m.id IN (SELECT h.id FROM unnest(v_held) AS h(id))
    );
{%- if rule.keeps | length > 0 %}
    -- Read after the rows were locked, too. With a foreign key, no further row can come to keep them.
    v_kept := {{ control }}.{{ rule.name }}_kept(v_id);
    v_doubt := v_doubt || v_kept;
{%- endif %}
{%- if rule.newest | length > 0 %}
    -- Read after the rows were locked, too. While the newest are locked, nobody can delete them and leave the group without.
{%- for locking in [true, false] %}
    {% if locking %}IF p_lock AND NOT p_purge THEN{% else %}ELSIF NOT p_purge THEN{% endif %}
{%- for newest in rule.newest %}
        v_newest := v_newest || ARRAY(
            WITH counted AS MATERIALIZED (
                SELECT i.{{ rule.key }} AS key, {{ newest.taken }}
                FROM {{ rule.table }} AS i
                WHERE i.{{ rule.key }} = ANY (v_id)
{%- for predicate in newest.placed %}
                  AND {{ predicate }}
{%- endfor %}
{%- for predicate in newest.counted_of_i %}
                  AND {{ predicate }}
{%- endfor %}
            ), last AS MATERIALIZED (
                -- Once for each {{ newest.group_name }}, and not for every row.
                SELECT {{ newest.groups_of_g }}, {{ newest.place_of_l }}
                FROM (SELECT DISTINCT {{ newest.groups_of_c }} FROM counted AS c) AS g
                CROSS JOIN LATERAL {% if locking %}{{ w::last_that_stays(rule=rule, newest=newest, same=newest.same_as_g, lock="FOR KEY SHARE SKIP LOCKED") | indent(prefix="                ") }}{% else %}{{ w::last_that_stays(rule=rule, newest=newest, same=newest.same_as_g) | indent(prefix="                ") }}{% endif %} AS l ({{ newest.columns_of_l }})
            )
            SELECT c.key::{{ rule.id_type }}
            FROM counted AS c
            LEFT JOIN last AS l ON {{ newest.last_of_c | join(sep=" AND ") }}
            WHERE (({{ newest.place_of_c }}) < ({{ newest.place_of_l }})) IS NOT TRUE
        );
{%- endfor %}
{%- endfor %}
    END IF;
    v_doubt := v_doubt || v_newest;
{%- endif %}
{%- if rule.linked %}
    WITH RECURSIVE doubt (id) AS (
        SELECT d.id
        FROM unnest(v_doubt) AS d(id)
        UNION
        SELECT l.there
        FROM doubt AS d
        JOIN unnest(v_upper || v_lower{% if rule.meets | length > 0 %} || v_one || v_other{% endif %}, v_lower || v_upper{% if rule.meets | length > 0 %} || v_other || v_one{% endif %}) AS l(here, there) ON l.here = d.id
    )
    SELECT coalesce(array_agg(d.id), '{}')
    INTO v_doubt
    FROM doubt AS d;
{%- endif %}

    -- What is linked to nothing doubtful goes: final, old enough, unheld, below a root that may be cleaned. That is most of it.
    SELECT
        coalesce(array_agg(m.id) FILTER (WHERE NOT m.doubtful), '{}'),
        coalesce(array_agg(m.id) FILTER (WHERE NOT m.doubtful{% if rule.per %} AND m.record{% endif %}), '{}'),
        count(*) FILTER (WHERE NOT m.doubtful AND m.root),
        coalesce(array_agg(m.id) FILTER (WHERE NOT m.doubtful AND m.root AND m.position > v_first), '{}'),
        array_agg(m.id) FILTER (WHERE m.doubtful),
        array_agg(m.final) FILTER (WHERE m.doubtful),
        array_agg(m.root) FILTER (WHERE m.doubtful),
        array_agg(m.ended) FILTER (WHERE m.doubtful),
        array_agg(m.cutoff) FILTER (WHERE m.doubtful){% if rule.per %},
        array_agg(m.record) FILTER (WHERE m.doubtful){% endif %}
    INTO o_members, o_artifacts, o_families, o_other_roots, v_id, v_final, v_root, v_ended, v_cutoff{% if rule.per %}, v_record{% endif %}
    FROM (
        SELECT a.*, a.id IN (SELECT d.id FROM unnest(v_doubt) AS d(id)) AS doubtful
        FROM unnest(v_id, v_final, v_root, v_ended, v_cutoff{% if rule.per %}, v_record{% endif %}) WITH ORDINALITY AS a(id, final, root, ended, cutoff{% if rule.per %}, record{% endif %}, position)
    ) AS m;
    o_skip_keys := '{}';
    o_skip_reasons := '{}';
    IF cardinality(v_doubt) = 0 THEN
        RETURN;
    END IF;
    v_id := coalesce(v_id, '{}');
{%- if rule.linked %}

    -- A link to an id without a row links nothing.
    SELECT coalesce(array_agg(l.upper), '{}'), coalesce(array_agg(l.lower), '{}')
    INTO v_upper, v_lower
    FROM (
        SELECT DISTINCT u.upper, u.lower FROM unnest(v_upper, v_lower) AS u(upper, lower)
    ) AS l
    WHERE l.upper IN (SELECT p.id FROM unnest(v_id || v_locked) AS p(id))
      AND l.lower IN (SELECT p.id FROM unnest(v_id || v_locked) AS p(id));
{%- if rule.meets | length > 0 %}
    SELECT coalesce(array_agg(s.one), '{}'), coalesce(array_agg(s.other), '{}')
    INTO v_one, v_other
    FROM unnest(v_one, v_other) AS s(one, other)
    WHERE s.other IN (SELECT p.id FROM unnest(v_id || v_locked) AS p(id));
{%- endif %}
{%- endif %}

    -- What speaks against a row speaks against all rows above it. A fault with a cutoff: only against roots with this cutoff.
    WITH RECURSIVE fault (id, rank, cutoff) AS (
        (
            SELECT h.id, 1, NULL::{{ rule.time_type }}
            FROM unnest(v_held) AS h(id)
            UNION ALL
            SELECT m.id, CASE WHEN m.final THEN 3 ELSE 2 END, NULL
            FROM unnest(v_id, v_final, v_ended) AS m(id, final, ended)
            WHERE NOT m.final
               OR (m.ended IS NULL AND NOT p_purge)
            UNION ALL
            SELECT m.id, 4, c.cutoff
            FROM (SELECT DISTINCT r.cutoff FROM unnest(v_cutoff) AS r(cutoff)) AS c
            JOIN unnest(v_id, v_ended) AS m(id, ended) ON m.ended >= c.cutoff
            WHERE NOT p_purge
            UNION ALL
{%- if rule.newest | length > 0 %}
            SELECT n.id, 4, NULL
            FROM unnest(v_newest) AS n(id)
            UNION ALL
{%- endif %}
            SELECT l.id, 5, NULL
            FROM unnest(v_locked) AS l(id)
{%- if rule.keeps | length > 0 %}
            UNION ALL
            SELECT k.id, 8, NULL
            FROM unnest(v_kept) AS k(id)
{%- endif %}
        )
        UNION
        SELECT l.upper, f.rank, f.cutoff
        FROM fault AS f
        JOIN unnest(v_upper, v_lower) AS l(upper, lower) ON l.lower = f.id
    )
    SELECT coalesce(array_agg(v.id), '{}'), coalesce(array_agg(v.rank), '{}')
    INTO v_bad, v_rank
    FROM (
        SELECT m.id, min(f.rank) AS rank
        FROM fault AS f
        JOIN unnest(v_id, v_cutoff) AS m(id, cutoff) ON m.id = f.id
        WHERE m.cutoff IS NOT NULL
          AND (f.cutoff IS NULL OR f.cutoff = m.cutoff)
        GROUP BY m.id
    ) AS v;
{% if rule.closed %}
    -- What stays: roots with a fault, roots without a cutoff, rows that no root with a cutoff leads to, and whatever is linked to these.
    WITH RECURSIVE covered (id) AS (
        SELECT m.id
        FROM unnest(v_id, v_cutoff) AS m(id, cutoff)
        WHERE m.cutoff IS NOT NULL
        UNION
        SELECT l.lower
        FROM covered AS c
        JOIN unnest(v_upper, v_lower) AS l(upper, lower) ON l.upper = c.id
    )
    SELECT v_bad || v_locked || coalesce(array_agg(m.id), '{}')
    INTO v_stay
    FROM unnest(v_id, v_root, v_cutoff) AS m(id, root, cutoff)
    WHERE (m.root AND m.cutoff IS NULL)
       OR m.id NOT IN (SELECT c.id FROM covered AS c);
    IF cardinality(v_stay) > 0 THEN
        WITH RECURSIVE stay (id) AS (
            SELECT s.id
            FROM unnest(v_stay) AS s(id)
            UNION
            SELECT l.there
            FROM stay AS s
            JOIN unnest(v_upper || v_lower{% if rule.meets | length > 0 %} || v_one || v_other{% endif %}, v_lower || v_upper{% if rule.meets | length > 0 %} || v_other || v_one{% endif %}) AS l(here, there) ON l.here = s.id
        )
        SELECT array_agg(s.id)
        INTO v_stay
        FROM stay AS s;
    END IF;
    v_go := ARRAY(SELECT m.id FROM unnest(v_id) AS m(id) WHERE m.id NOT IN (SELECT s.id FROM unnest(v_stay) AS s(id)));
{%- else %}
    -- What goes: the roots without a fault, and all rows below them.
    WITH RECURSIVE below (id) AS (
        SELECT m.id
        FROM unnest(v_id, v_cutoff) AS m(id, cutoff)
        WHERE m.cutoff IS NOT NULL
          AND m.id IN (SELECT r.id FROM unnest(p_roots) AS r(id))
          AND m.id NOT IN (SELECT b.id FROM unnest(v_bad) AS b(id))
        UNION
        SELECT l.lower
        FROM below AS b
        JOIN unnest(v_upper, v_lower) AS l(upper, lower) ON l.upper = b.id
    )
    SELECT coalesce(array_agg(b.id), '{}')
    INTO v_go
    FROM below AS b;
{%- endif %}

    SELECT
        o_members || v_go,
        o_artifacts || coalesce(array_agg(m.id){% if rule.per %} FILTER (WHERE m.record){% endif %}, '{}'),
        o_families + count(*) FILTER (WHERE m.root),
        o_other_roots || coalesce(array_agg(m.id) FILTER (WHERE m.root AND m.id NOT IN (SELECT r.id FROM unnest(p_roots) AS r(id))), '{}')
    INTO o_members, o_artifacts, o_families, o_other_roots
    FROM unnest(v_id, v_root{% if rule.per %}, v_record{% endif %}) AS m(id, root{% if rule.per %}, record{% endif %})
    WHERE m.id IN (SELECT g.id FROM unnest(v_go) AS g(id));
    SELECT
        coalesce(array_agg(r.id ORDER BY r.position), '{}'),
        coalesce(array_agg(v_reasons[coalesce(b.rank, CASE WHEN m.id IS NULL THEN 5 WHEN m.cutoff IS NULL THEN 6 ELSE 7 END)] ORDER BY r.position), '{}')
    INTO o_skip_keys, o_skip_reasons
    FROM unnest(p_roots) WITH ORDINALITY AS r(id, position)
    LEFT JOIN unnest(v_id, v_cutoff) AS m(id, cutoff) ON m.id = r.id
    LEFT JOIN unnest(v_bad, v_rank) AS b(id, rank) ON b.id = r.id
    WHERE r.id IN (SELECT p.id FROM unnest(v_id || v_locked) AS p(id))
      AND r.id NOT IN (SELECT g.id FROM unnest(v_go) AS g(id));
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_judge
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_judge({{ rule.key_type }}[], timestamptz, bigint, text, boolean, boolean, {{ rule.id_type }}[]) IS
    'Expands p_roots to their families and decides which may go: every member final, ended{% if rule.last %} (by {{ rule.end_time_name }}){% endif %} before the cutoff, unheld{% if rule.newest | length > 0 %}, not among the newest roots of its group{% endif %}{% if rule.keeps | length > 0 %}, kept by no row of another table{% endif %}{% if rule.closed %}, and linked to nothing that stays{% endif %}. p_lock: FOR UPDATE SKIP LOCKED on every member first. p_purge: the retention does not matter. p_gone: ids to treat as gone. o_members may go; o_skip_keys may not, by o_skip_reasons. [body @body@]';

{{ w::rows_below(control=control, rule=rule) }}

-- {{ rule.name }}_batch: deletes the families of the given roots that may go, in the caller's transaction.
--# create function {{ control }}.{{ rule.name }}_batch
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_batch(
    p_run       bigint,
    p_roots     {{ rule.key_type }}[],
    p_as_of     timestamptz,
    p_retention bigint,
    p_scope     text,
    p_purge     boolean,
    p_gone      {{ rule.id_type }}[],
    OUT o_members      {{ rule.id_type }}[],
    OUT o_families     bigint,
    OUT o_other_roots  {{ rule.id_type }}[],
    OUT o_skip_keys    {{ rule.id_type }}[],
    OUT o_skip_reasons text[],
    OUT o_rows         bigint[]
)
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
    v_artifacts {{ rule.id_type }}[];
    v_rows      bigint;
    v_more      bigint;
{%- if rule.archives %}
    v_kept      bigint;
{%- endif %}
{%- if rule.watches %}
    v_watched   boolean;  -- whether a trigger or a rule may keep rows
{%- endif %}
{%- if rule.cascading %}
    v_left      integer[];  -- the tables whose rows are left to foreign keys, by their places in o_rows
    v_tables    oid[];
    v_counted   bigint[];  -- what the server has counted of them in this session
{%- endif %}
BEGIN
    o_rows := ARRAY[{{ rule.zeros }}]::bigint[];
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a batch needs the isolation level read committed'
            USING ERRCODE = '25001', HINT = 'A snapshot from before its locks would hide holds and new children.';
    END IF;

    -- A hold or a policy that is being written waits for this batch, or this batch for it.
    LOCK TABLE {{ control }}.latch IN ROW SHARE MODE;

    SELECT j.o_members, j.o_artifacts, j.o_families, j.o_other_roots, j.o_skip_keys, j.o_skip_reasons
    INTO o_members, v_artifacts, o_families, o_other_roots, o_skip_keys, o_skip_reasons
    FROM {{ control }}.{{ rule.name }}_judge(p_roots, p_as_of, p_retention, p_scope, p_purge, true, p_gone) AS j;
    IF cardinality(o_members) = 0 THEN
        RETURN;
    END IF;
{%- if rule.watches %}

    -- A trigger or a rule can keep rows without a word. Only where there is one, it is worth looking.
    v_watched := {{ w::watched(rule=rule) }};
{%- endif %}
{%- if rule.cascading %}

    -- Where a foreign key cascades, the server looks for the rows of a table with every row that they may name, whatever went
    -- before. Such a table is left to it if the triggers of the key act, nothing may keep a row, and the server counts what it
    -- deletes. The keys stay as they are until this batch ends.
    LOCK TABLE {{ rule.cascading }} IN ROW EXCLUSIVE MODE;
    SELECT coalesce(array_agg(e.place), '{}'), array_agg(e.child), array_agg(pg_stat_get_xact_tuples_deleted(e.child))
    INTO v_left, v_tables, v_counted
    FROM (
        VALUES
{%- for step in rule.steps | filter(attribute="cascade") %}
            ({{ step.position }}, {{ step.table_class }}::regclass, {{ step.cascade.parent_class }}::regclass, ARRAY[{{ step.cascade.columns }}]){% if not loop.last %},{% endif %}
{%- endfor %}
    ) AS e(place, child, parent, columns)
    WHERE NOT v_watched
      AND current_setting('track_counts')::boolean
      AND current_setting('session_replication_role') <> 'replica'
      AND (
          SELECT bool_or(
              e.columns = ARRAY(
                  SELECT format('%s -> %s', a.attname, b.attname) COLLATE "C"
                  FROM unnest(c.conkey, c.confkey) AS k(child, parent)
                  JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = k.child
                  JOIN pg_attribute AS b ON b.attrelid = c.confrelid AND b.attnum = k.parent
                  ORDER BY 1
              )
              AND EXISTS (
                  SELECT FROM pg_trigger AS g
                  WHERE g.tgconstraint = c.oid
                    AND g.tgrelid = c.confrelid
                    AND g.tgtype & 8 = 8
                    AND g.tgenabled IN ('A', 'O')
              )
          )
          FROM pg_constraint AS c
          WHERE c.contype = 'f'
            AND c.conrelid = e.child
            AND c.confrelid = e.parent
            AND c.confdeltype = 'c'
      );
{%- endif %}

{%- for collect in rule.collects %}
{%- if collect.users %}
    IF NOT v_left @> ARRAY[{{ collect.users }}] THEN
        {{ w::collect(collect=collect) | indent }}
    END IF;
{%- else %}
    {{ w::collect(collect=collect) }}
{%- endif %}
{%- endfor %}
{%- for artifact in rule.artifacts %}

    -- The files that {{ artifact.table_name }} names go to the outbox, to be removed later.
    INSERT INTO {{ control }}.artifact (run_id, rule, host, path)
    SELECT p_run, {{ rule.literal }}, {{ artifact.host }}, t.{{ artifact.path }}
    FROM {{ artifact.table }} AS t
    WHERE t.{{ artifact.column }} = ANY (v_artifacts)
      AND t.{{ artifact.path }} <> '';
{%- endfor %}
{%- for step in rule.steps %}
{%- for release in step.releases %}

    -- {{ release.why }}
    UPDATE {{ release.table }} AS t
    SET {{ release.nulls }}
{%- if release.edge.via %}
    FROM {{ release.edge.via.table }} AS p
    WHERE p.{{ release.edge.via.key }} = ANY ({{ release.edge.keys }}){{ release.edge.unless }}
      AND {{ release.edge.via.on }};
{%- else %}
    WHERE t.{{ release.edge.column }} = ANY ({{ release.edge.keys }}){{ release.edge.unless }};
{%- endif %}
    IF EXISTS (
        SELECT FROM {{ release.table }} AS t {% if release.edge.via %}JOIN {{ release.edge.via.table }} AS p ON {{ release.edge.via.on }} WHERE p.{{ release.edge.via.key }}{% else %}WHERE t.{{ release.edge.column }}{% endif %} = ANY ({{ release.edge.keys }}){{ release.edge.unless }}
    ) THEN
        RAISE EXCEPTION 'rows of % could not be updated', {{ release.table_literal }}
            USING HINT = 'A trigger or a rule keeps what they name. The batch is rolled back.';
    END IF;
{%- endfor %}

    {{ w::delete_step(step=step) }}
{%- endfor %}
    IF v_rows <> cardinality(o_members) THEN
        RAISE EXCEPTION '% of % rows of % could not be deleted', cardinality(o_members) - v_rows, cardinality(o_members), {{ rule.table_literal }}
            USING HINT = 'A trigger or a rule keeps them. The batch is rolled back.';
    END IF;
{%- if rule.cascading %}

    -- What the foreign keys have deleted.
    FOR v_at IN 1..cardinality(v_left) LOOP
        o_rows[v_left[v_at]] := pg_stat_get_xact_tuples_deleted(v_tables[v_at]) - v_counted[v_at];
    END LOOP;
{%- endif %}

{% if not rule.watches %}    -- A trigger or a rule can keep rows without a word. Only where there is one, it is worth looking.
    IF {{ w::watched(rule=rule) }} THEN
{%- else %}    IF v_watched THEN
{%- endif %}
{%- for step in rule.steps %}
{%- if step.plain | length > 0 %}
        {{ w::kept_silently(step=step) }}
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
--# comment on function {{ control }}.{{ rule.name }}_batch
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_batch(bigint, {{ rule.key_type }}[], timestamptz, bigint, text, boolean, {{ rule.id_type }}[]) IS
    'Deletes, in the caller''s transaction, the families of p_roots that {{ rule.name }}_judge lets go: {{ rule.table_list }}. No transaction control, so it can be rolled back; {{ rule.name }}_step calls it. [body @body@]';

-- {{ rule.name }}_named: deletes one named family through the same batch as a run, in the caller's transaction, unless something speaks against it.
--# create function {{ control }}.{{ rule.name }}_named
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_named(p_run bigint, p_key text, p_as_of timestamptz, OUT o_families bigint, OUT o_rows bigint[], OUT o_skipped text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
DECLARE
    v_keys {{ rule.key_type }}[] := ARRAY(
        SELECT i.{{ rule.key }}
        FROM {{ rule.table }} AS i
        WHERE i.{{ rule.key }} = p_key::{{ rule.key_type }}
{%- for predicate in rule.candidates %}
          AND {{ predicate }}
{%- endfor %}
    );
BEGIN
    IF cardinality(v_keys) = 0 THEN
        o_skipped := 'NOT_A_ROOT';
        RETURN;
    END IF;
    SELECT b.o_families, b.o_rows, b.o_skip_reasons[1]
    INTO o_families, o_rows, o_skipped
    FROM {{ control }}.{{ rule.name }}_batch(p_run, v_keys, p_as_of, NULL, NULL, true, '{}') AS b;
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_named
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_named(bigint, text, timestamptz) IS
    'Deletes one named family, whatever its age, if it is final and unheld. o_skipped: why it stays. purge_one() calls it. [body @body@]';

{{ w::age_of(control=control, rule=rule) }}

-- {{ rule.name }}_undated: roots that are final but carry no end time; they can never become due.
{%- if rule.last %}
-- Only those that began before the cutoff are looked at.
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_undated
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_undated(p_as_of timestamptz, p_scope text)
RETURNS {{ rule.key_type }}[]
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
    SELECT ARRAY(
        SELECT i.{{ rule.key }}
        FROM {{ rule.table }} AS i
        WHERE {{ rule.ended }} IS NULL
{%- for predicate in rule.eligible %}
          AND {{ predicate }}
{%- endfor %}
{%- if rule.per and rule.opt_in %}
          AND i.{{ rule.per }} IN (SELECT s.scope FROM {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, p_scope) AS s)
{%- elif rule.per %}
          AND (p_scope IS NULL OR i.{{ rule.per }} = p_scope::{{ rule.scope_type }})
{%- endif %}
{%- if rule.last %}
        UNION ALL
        -- Those that began before the cutoff, and of which nothing says when they ended.
        SELECT i.{{ rule.key }}
        FROM {{ rule.table }} AS i
{%- if rule.per %}
        {% if not rule.opt_in %}LEFT {% endif %}JOIN {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, p_scope) AS s ON s.scope = i.{{ rule.per }}
{%- endif %}
        {{ w::last_end(rule=rule) | indent(prefix="        ") }}
        WHERE {{ rule.ended }} < {% if rule.opt_in %}s.cutoff{% else %}(
              SELECT max(c.cutoff) FROM {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, p_scope) AS c
          )
{%- if rule.per %}
          AND {{ rule.ended }} < coalesce(s.cutoff, (
              SELECT c.cutoff FROM {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, p_scope) AS c WHERE c.scope IS NULL
          ))
{%- endif %}
{%- endif %}
          AND {{ rule.last.ended }} IS NULL
{%- for predicate in rule.eligible %}
          AND {{ predicate }}
{%- endfor %}
        ORDER BY 1
{%- else %}
        ORDER BY i.{{ rule.key }}
{%- endif %}
    );
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_undated
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_undated(timestamptz, text) IS
    'Roots that are final but have no {{ rule.end_time_name }}, so that no retention can ever be reached. Reads only. [body @body@]';

{% if rule.per and rule.opt_in -%}
-- {{ rule.name }}_unlisted: roots that would be due, of scopes without a policy. They stay; a preview counts them.
--# create function {{ control }}.{{ rule.name }}_unlisted
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_unlisted(p_as_of timestamptz, p_retention bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
DECLARE
    v_default {{ rule.time_type }} := {{ rule.cutoff_of_default }};
BEGIN
    RETURN (
        SELECT count(*)
        FROM {{ rule.table }} AS i
{%- if rule.last %}
        {{ w::last_end(rule=rule) | indent(prefix="        ") }}
{%- endif %}
        WHERE {{ rule.ended }} < v_default
{%- if rule.last %}
          AND {{ rule.last.ended }} < v_default
{%- endif %}
{%- for predicate in rule.eligible %}
          AND {{ predicate }}
{%- endfor %}
{%- if rule.newest | length > 0 %}
          {{ w::not_newest(rule=rule) | indent(prefix="          ") }}
{%- endif %}
          AND NOT EXISTS (
{%- if rule.source %}
              SELECT FROM {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, NULL) AS s
              WHERE s.scope = i.{{ rule.per }}
{%- else %}
              SELECT FROM {{ control }}.policy AS p
              WHERE p.rule = {{ rule.literal }}
                AND p.enabled
                AND p.scope = i.{{ rule.per }}::text
{%- endif %}
          )
    );
END
$windrow$;
--# comment on function {{ control }}.{{ rule.name }}_unlisted
COMMENT ON FUNCTION {{ control }}.{{ rule.name }}_unlisted(timestamptz, bigint) IS
    'How many roots are older than the default retention and stay, since their scope has no policy. Reads the whole table; previews call it. [body @body@]';
{% endif -%}
--# become who installs
RESET ROLE;
