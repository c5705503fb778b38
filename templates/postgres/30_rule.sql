--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};
--# set the owner of schema {{ control }}
ALTER SCHEMA {{ control }} OWNER TO CURRENT_ROLE;
-- {{ rule.name }}_scope: which scopes the rule may clean, and up to which end time (exclusive)
{%- if rule.per and rule.opt_in %}: those of p_scopes, or all, that have a policy{% if rule.source %}
-- or another retention of their own{% endif %}.
{%- elif rule.per %}.
-- One row for each of p_scopes; without them, one for each with a retention of its own, and for all others one without a scope.
{%- else %}.
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_scope
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_scope(⟦p_as_of timestamptz, p_retention bigint, p_scopes text[]⟧)
RETURNS TABLE (⟦scope {{ rule.scope_type }}, cutoff {{ rule.time_type }}⟧)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
{%- if rule.source and rule.source.table %}
SET row_security = off ⟦SET enable_nestloop = on⟧
{%- endif %}
{%- if rule.per and rule.opt_in and not rule.source and not rule.spelled %} SET plan_cache_mode = force_custom_plan
{%- endif %}
AS $windrow$
{%- if rule.per and not rule.opt_in %}
DECLARE
    ⟦v_default {{ rule.time_type }}⟧ := {{ rule.cutoff_of_default }};
{%- endif %}
BEGIN RETURN QUERY
{%- if rule.per and rule.opt_in and not rule.source and rule.spelled %}
{%- filter fit %}
    {# The first has no row, but the collation of the column, by which the others are compared. -#}
    «SELECT o.scope::{{ rule.scope_type }}, c.cutoff FROM unnest(coalesce(p_scopes, ARRAY(
        SELECT {{ rule.text_of_i }} FROM {{ rule.table }} AS i
        WHERE false UNION SELECT p.scope FROM {{ control }}.policy AS p WHERE {{ rule.is_policy }}))) AS o(scope), LATERAL (
        SELECT min(CASE WHEN p.enabled THEN {{ rule.cutoff_of_policy }} ELSE '-infinity' END) AS cutoff
        FROM {{ control }}.policy AS p WHERE {{ rule.is_policy }} AND p.scope = o.scope) AS c WHERE c.cutoff > '-infinity'»;
{%- endfilter %}
{%- elif rule.per and rule.opt_in and not rule.source %}
{%- filter fit %}
    SELECT p.scope::{{ rule.scope_type }}, {{ rule.cutoff_of_policy }}
    FROM {{ control }}.policy AS p
    WHERE {{ rule.is_policy }} AND p.enabled AND (p_scopes IS NULL OR p.scope = ANY (p_scopes));
{%- endfilter %}
{%- elif rule.per %}
    «SELECT o.scope::{{ rule.scope_type }}, c.cutoff
    FROM unnest(coalesce(p_scopes, ARRAY(
{%- if rule.spelled %}
        -- No row, but the collation of the column, by which the others are compared.
        SELECT {{ rule.text_of_i }} FROM {{ rule.table }} AS i WHERE false
        UNION
{%- endif %}
{%- filter fit %}
        SELECT p.scope FROM {{ control }}.policy AS p WHERE {{ rule.is_policy }}
{%- endfilter %}
{%- if rule.source %}
        UNION
        SELECT {% if rule.source.plain %}{{ rule.source.plain }}
{%- else %}{{ rule.source.scope_text }}{% endif %} FROM {{ rule.source.rows }}
{%- if rule.source.says %} WHERE {{ rule.source.says }}{% endif %}
{%- endif %}
{%- if not rule.opt_in %}
        UNION
        SELECT NULL
{%- endif %}
    ))) AS o(scope), LATERAL (
        SELECT {{ <w.cutoff_for control rule scope={"o.scope::" ~ rule.scope_type} text="o.scope" /> | indent(width=8) }} AS cutoff
{%- if rule.opt_in %}
        OFFSET 0
    ) AS c
    WHERE c.cutoff > '-infinity'»;
{%- else %}
    ) AS c»;
{%- endif %}
{%- else %}
    SELECT NULL::{{ rule.scope_type }}, {{ rule.cutoff_of_default }};
{%- endif %}
END
$windrow$;

{% if rule.newest | length > 0 -%}
-- {{ rule.name }}_roots: the roots that are final: their scope, when they ended, and whether they are among the newest of their group,
-- which are kept. It is no SECURITY DEFINER: PostgreSQL takes its text into statements that name it.
--# create function {{ control }}.{{ rule.name }}_roots
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_roots()
RETURNS TABLE (
    ⟦o_key {{ rule.key_type }}, o_scope {{ rule.scope_type }}, o_ended {{ rule.time_type }}{% if rule.last %}, o_started {{ rule.time_type }}{% endif %}, o_newest boolean⟧
)
LANGUAGE sql STABLE
AS $windrow$
    ⟪SELECT i.{{ rule.key }}::{{ rule.key_type }}{{ rule.key_sorts }}, {% if rule.per %}i.{{ rule.per }}{% else %}NULL{% endif %}::{{ rule.scope_type }}, ({% if rule.last %}{{ rule.last.ended }}{% else %}{{ rule.ended }}{% endif %})::{{ rule.time_type }},{% if rule.last %} ({{ rule.ended }})::{{ rule.time_type }},{% endif %}
        (true
            {{ <w.not_newest rule /> | indent(width=12) }}
        ) IS NOT TRUE
    FROM {{ rule.table }} AS i
{%- if rule.last %}
    {{ <w.last_end rule /> | indent }}
{%- endif %}
    WHERE {{ rule.eligible | join(sep=" AND ") }}⟫;
$windrow$;

{% endif -%}
-- {{ rule.name }}_next: the next roots to judge, oldest first, after a cursor. Reads, decides nothing.
{%- if rule.last %}
-- No index has their end. A root that ended before the cutoff also began before it: the cursor goes by {{ rule.start_name }}.
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_next
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_next(
    ⟦p_as_of timestamptz, p_retention bigint, p_scope text,
    p_after_time {{ rule.time_type }}, p_after_key {{ rule.key_type }}, p_limit bigint⟧
)
RETURNS TABLE (root {{ rule.key_type }}, ended {{ rule.time_type }}{% if rule.last %}, started {{ rule.time_type }}{% endif %})
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off SET plan_cache_mode = force_generic_plan
AS $windrow$
{%- if rule.per and rule.opt_in %}
DECLARE

{%- if rule.last %}
    ⟦v_started {{ rule.time_type }}[]⟧;
{%- endif %}
    ⟦v_scopes {{ rule.scope_type }}[]⟧; ⟦v_cutoffs {{ rule.time_type }}[]⟧; ⟦v_roots {{ rule.key_type }}[]⟧; ⟦v_ended {{ rule.time_type }}[]⟧; {# -#}
    ⟦v_to {{ rule.time_type }}⟧ := 'infinity'; ⟦v_from integer⟧ := 1;
BEGIN
    p_after_time := greatest(p_after_time, '4713-01-01 BC');  -- '-infinity' is no end
{%- filter fit %}
    SELECT array_agg(s.scope), array_agg(s.cutoff) INTO v_scopes, v_cutoffs
    FROM {{ control }}.{{ rule.name }}_scope(p_as_of, p_retention, {{ <w.scopes /> }}) AS s;
{%- endfilter %}
    -- Each round reads twice as many scopes as the one before, and none of them beyond the oldest p_limit roots found so far.
    WHILE v_from <= cardinality(v_scopes) LOOP
{%- filter fit %}
        SELECT array_agg(n.root), array_agg(n.ended){% if rule.last %}, array_agg(n.started){% endif %}
        INTO v_roots, v_ended{% if rule.last %}, v_started{% endif %} FROM (
{%- endfilter %}
            «SELECT unnest(v_roots) AS root, unnest(v_ended) AS ended{% if rule.last %}, unnest(v_started) AS started{% endif %} UNION ALL SELECT r.*
            FROM (SELECT unnest(v_scopes[v_from:2 * v_from - 1]), unnest(v_cutoffs[v_from:2 * v_from - 1])) AS s(scope, cutoff), LATERAL (
{%- if rule.newest | length > 0 %}
                SELECT i.o_key, i.o_ended{% if rule.last %}, i.o_started{% endif %} FROM ‹{{ control }}.{{ rule.name }}_roots()› AS i
{%- filter fit %}
                WHERE i.o_scope = {{ rule.scope_of_s }} AND i.o_{{ rule.along }} < s.cutoff AND i.o_{{ rule.along }} <= v_to
                {% if rule.last %} AND i.o_ended < s.cutoff{% endif %} AND NOT i.o_newest
                AND (i.o_{{ rule.along }}, i.o_key) > (p_after_time, p_after_key)
{%- endfilter %}
                ORDER BY i.o_{{ rule.along }}, i.o_key LIMIT p_limit
{%- else %}
                SELECT i.{{ rule.key }}{{ rule.key_cast }}, {% if rule.last %}{{ rule.last.ended }}, {% endif %}{{ rule.ended }}
                FROM {{ rule.table }} AS i
{%- if rule.last %}
                {{ <w.last_end rule /> | indent(width=16) }}
{%- endif %}
                WHERE i.{{ rule.per }} = s.scope AND {{ rule.ended }} < s.cutoff AND {{ rule.ended }} <= v_to
                  AND ({{ rule.ended }}, i.{{ rule.key }}) > (p_after_time, p_after_key)
{%- for predicate in rule.eligible %}
                  AND {{ predicate }}
{%- endfor %}
{%- if rule.last %}
                  AND {{ rule.last.ended }} < s.cutoff
{%- endif %}
                ORDER BY {{ rule.ended }}, i.{{ rule.key }} LIMIT p_limit
{%- endif %}) AS r
            ORDER BY {{ rule.along }}, root LIMIT p_limit») AS n;
        v_to := coalesce(v_{{ rule.along }}[least(p_limit, 2147483647)], 'infinity'); v_from := 2 * v_from;
    END LOOP;
    RETURN QUERY SELECT unnest(v_roots), unnest(v_ended){% if rule.last %}, unnest(v_started){% endif %};
{%- else %}
DECLARE
    ⟦v_default {{ rule.time_type }}⟧ := {{ rule.cutoff_of_default }};
{%- if rule.per %}
    -- Nothing younger is due in any scope.
    ⟦v_latest {{ rule.time_type }}⟧ := greatest(
        v_default,
{%- filter fit %}
        (SELECT {{ rule.cutoff_of_policy }} FROM {{ control }}.policy AS p
            WHERE {{ rule.is_policy }} AND p.enabled ORDER BY p.retention_seconds LIMIT 1)
{%- endfilter %}
{%- if rule.source %},
        («SELECT max({{ rule.cutoff_of_source }}) FROM {{ rule.source.rows }}
{%- if rule.source.ends %} WHERE {{ rule.source.ends }}{% endif %}»)
{%- endif %}
    );
{%- endif %}
BEGIN
    p_after_time := greatest(p_after_time, '4713-01-01 BC');  -- '-infinity' is no end
    RETURN QUERY
{%- if rule.newest | length > 0 %}
    «SELECT i.o_key, i.o_ended{% if rule.last %}, i.o_started{% endif %} FROM ‹{{ control }}.{{ rule.name }}_roots()› AS i
    WHERE i.o_{{ rule.along }} < {% if rule.per %}v_latest{% else %}v_default{% endif %}
{%- if rule.last and not rule.per %}
      AND i.o_ended < v_default
{%- endif %}
      AND (i.o_{{ rule.along }}, i.o_key) > (p_after_time, p_after_key) AND NOT i.o_newest
{%- if rule.per %}
      AND (p_scope IS NULL OR {{ rule.text_of_root }} = p_scope)
{%- if rule.last %}
      AND i.o_ended IS NOT NULL
{%- endif %}
      AND {% if rule.last %}greatest(i.o_started, i.o_ended){% else %}i.o_ended{% endif %} < {# -#}
      {{ <w.cutoff_for control rule scope={rule.of_root} text={rule.text_of_root} /> | indent(width=6) }}
{%- endif %}
    ORDER BY i.o_{{ rule.along }}, i.o_key LIMIT p_limit»;
{%- else %}
    «SELECT i.{{ rule.key }}{{ rule.key_cast }}, {% if rule.last %}{{ rule.last.ended }}, {% endif %}{{ rule.ended }}
    FROM {{ rule.table }} AS i
{%- if rule.last %}
    {{ <w.last_end rule /> | indent }}
{%- endif %}
    WHERE {{ rule.ended }} < {% if rule.per %}v_latest{% else %}v_default{% endif %}
{%- if rule.last and not rule.per %}
      AND {{ rule.last.ended }} < v_default
{%- endif %}
      AND ({{ rule.ended }}, i.{{ rule.key }}) > (p_after_time, p_after_key)
{%- for predicate in rule.eligible %}
      AND {{ predicate }}
{%- endfor %}
{%- if rule.per %}
      AND (p_scope IS NULL OR {{ rule.text_of_i }} = p_scope)
{%- if rule.last %}
      AND {{ rule.last.ended }} IS NOT NULL
{%- endif %}
      AND {% if rule.last %}greatest({{ rule.ended }}, {{ rule.last.ended }}){% else %}{{ rule.ended }}{% endif %} < {# -#}
      {{ <w.cutoff_for control rule scope={"i." ~ rule.per} text={rule.text_of_i} /> | indent(width=6) }}
{%- endif %}
    ORDER BY {{ rule.ended }}, i.{{ rule.key }} LIMIT p_limit»;
{%- endif %}
{%- endif %}
END
$windrow$;

{%- if rule.bound | length > 0 %}

-- {{ rule.name }}_bound: the members that holds of other rules keep: of themselves, of what is theirs, or of what they belong to.
--# create function {{ control }}.{{ rule.name }}_bound
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_bound(⟦p_members {{ rule.id_type }}[]⟧)
RETURNS {{ rule.id_type }}[]
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off SET enable_nestloop = on
SET enable_hashjoin = off SET enable_mergejoin = off⟧
AS $windrow$
    «SELECT coalesce(array_agg(m.id), '{}') FROM unnest(p_members) AS m(id) JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = m.id
{%- for above in rule.bound %}
{%- filter fit %}
    {% if loop.first %}WHERE {% else %}   OR {% endif %}{{ <w.held_beside control above /> | indent(width=4) }}
{%- endfilter %}
{%- endfor %}»;
$windrow$;
{%- endif %}
{%- if rule.keeps | length > 0 %}

-- {{ rule.name }}_kept: the members that a row of another table keeps.
--# create function {{ control }}.{{ rule.name }}_kept
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_kept(⟦p_members {{ rule.id_type }}[]⟧)
RETURNS {{ rule.id_type }}[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off SET enable_nestloop = on
SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN RETURN ARRAY(
{%- for keep in rule.keeps %}
        -- {{ keep.why }}

{%- filter fit %}
        «SELECT m.id FROM unnest(p_members) AS m(id)
        WHERE EXISTS (
            SELECT FROM {{ keep.hops[0].table }} AS {{ keep.hops[0].alias }}
{%- for hop in keep.hops %}
{%- if not loop.first %}
            JOIN {{ hop.table }} AS {{ hop.alias }} ON {{ hop.on }}
{%- endif %}
{%- endfor %}
            WHERE {{ keep.hops[0].on }}
        )»
{%- endfilter %}
{%- if not loop.last %}
        UNION{% endif %}
{%- endfor %}
); END
$windrow$;
{%- endif %}
{%- if rule.meets | length > 0 %}

-- {{ rule.name }}_met: the members of other families that share a row with one of the given members. Such a row is
-- deleted with all of its parents, so these families are deleted together or not at all.
--# create function {{ control }}.{{ rule.name }}_met
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_met(⟦p_members {{ rule.id_type }}[]⟧)
RETURNS TABLE (id {{ rule.id_type }}, other {{ rule.id_type }})
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off SET enable_nestloop = on
SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    RETURN QUERY
{%- for meet in rule.meets %}
    -- {{ meet.why }}
    «SELECT m.id, {{ meet.other }}::{{ rule.id_type }}
    FROM unnest(p_members) AS m(id)
{%- for hop in meet.hops %}
    JOIN {{ hop.table }} AS {{ hop.alias }} ON {{ hop.on }}
{%- endfor %}
    WHERE {{ meet.other }} <> m.id»
{%- if not loop.last %}
    UNION{% endif %}
{%- endfor %};
END
$windrow$;
{%- endif %}

-- {{ rule.name }}_members: rows of {{ rule.table_name }}, locked or not: whether they are final, and roots; when they ended{% if rule.zoned %}, in UTC{% endif %};
-- {% if rule.per %}their {{ rule.per_name }} as their scope{% else %}they have no scope{% endif %}{% if rule.links | length > 0 %}; then the links {% if rule.closed %}of{% else %}below{% endif %} them{% endif %}.
{%- if rule.last %}
-- They ended with the last of their rows of {{ rule.last.table_name }}, once each of these has a {{ rule.last.time_name }}{% if rule.last.otherwise %}; else at their {{ rule.last.otherwise_name }}{% endif %}. Those rows
-- are locked as well, and read behind the lock, so that none of them changes any more.
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_members
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_members(
    ⟦p_ids {{ rule.id_type }}[], p_lock boolean,
    OUT o_ids {{ rule.id_type }}[], OUT o_final boolean[], OUT o_root boolean[], OUT o_ended timestamp[], OUT o_scope text[],
    OUT o_upper {{ rule.id_type }}[], OUT o_lower {{ rule.id_type }}[]⟧
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
{%- if rule.last %}
DECLARE
    ⟦v_ids {{ rule.key_type }}[]⟧ := p_ids;
{%- endif %}
BEGIN
{%- if rule.raw %}
    -- where_sql of the spec, which windrow does not read, must be true of final rows: {{ rule.raw }}
{%- endif %}
{%- if rule.last %}
    IF p_lock THEN
        v_ids := ARRAY(«SELECT i.{{ rule.key }} FROM {{ rule.table }} AS i WHERE i.{{ rule.key }} = ANY (p_ids) ORDER BY i.{{ rule.key }} FOR UPDATE SKIP LOCKED»);
        «‹PERFORM› FROM {{ rule.last.table }} AS t WHERE t.{{ rule.last.names }} = ANY (v_ids) FOR UPDATE»;
    END IF;
    «SELECT array_agg(m.id), array_agg(m.final), array_agg(m.root), array_agg(coalesce(e.ended, m.ended){{ rule.in_utc }}), array_agg({{ rule.text_of_m }})
    ‹INTO o_ids, o_final, o_root, o_ended, o_scope›
    FROM (
        SELECT {{ rule.level_columns }}
        FROM {{ rule.table }} AS i
        WHERE i.{{ rule.key }} = ANY (v_ids)
    ) AS m
    LEFT JOIN (
        SELECT t.{{ rule.last.names }} AS root, CASE WHEN bool_and((t.{{ rule.last.time }} > '-infinity') IS TRUE) THEN max(t.{{ rule.last.time }}) END AS ended
        FROM {{ rule.last.table }} AS t
        WHERE t.{{ rule.last.names }} = ANY (v_ids)
        GROUP BY t.{{ rule.last.names }}
    ) AS e ON e.root = m.id»;
{%- else %}
{%- for locking in [true, false] %}
    {% if locking %}IF p_lock THEN{% else %}ELSE{% endif %}
        SELECT array_agg(m.id), array_agg(m.final), array_agg(m.root), array_agg(m.ended{{ rule.in_utc }}), array_agg({{ rule.text_of_m }})
        INTO o_ids, o_final, o_root, o_ended, o_scope FROM (
{%- filter fit %}
            «SELECT {{ rule.level_columns }}
            FROM {{ rule.table }} AS i
            WHERE i.{{ rule.key }} = ANY (p_ids)
{%- if locking %}
            ORDER BY i.{{ rule.key }} FOR UPDATE SKIP LOCKED
{%- endif %}»
{%- endfilter %}
        ) AS m;
{%- endfor %}
    END IF;
{%- endif %}
{%- for link in rule.links %}
{%- if link.over %}
    -- Members are named over these rows: if there is a foreign key, a new row below one of them waits for this batch. Those of
    -- members that are not final are not locked: their family is kept.
    IF p_lock THEN
        «‹PERFORM› FROM {{ link.over.table }} AS v
        WHERE v.{{ link.over.names }} = ANY (ARRAY(SELECT m.id FROM unnest(o_ids, o_final) AS m(id, final) WHERE m.final)) FOR UPDATE»;
    END IF;
{%- endif %}
{%- endfor %}
{%- if rule.links | length > 0 %}
    -- Read after the rows were locked: a link that was committed before is seen.
    «SELECT array_agg(l.upper), array_agg(l.lower)
    ‹INTO o_upper, o_lower›
    FROM (
{%- for link in rule.links %}
        SELECT {{ link.upper }}{% if loop.first %}::{{ rule.id_type }} AS upper{% endif %}, l.{{ link.child }}{% if loop.first %}::{{ rule.id_type }} AS lower{% endif %}
        FROM {{ link.table }} AS l
        WHERE {{ link.below }} AND l.{{ link.child }} IS NOT NULL
{%- if rule.closed %}
        UNION ALL
        SELECT {{ link.upper }}, l.{{ link.child }}
        FROM {{ link.table }} AS l
        WHERE l.{{ link.child }} = ANY (o_ids) AND {{ link.upper }} IS NOT NULL
{%- endif %}
{%- if not loop.last %}
        UNION ALL
{%- endif %}
{%- endfor %}
    ) AS l»;
{%- endif %}
END
$windrow$;
{%- if rule.links and rule.candidates and not rule.closed %}

-- {{ rule.name }}_above: the rows right above some rows.
--# create function {{ control }}.{{ rule.name }}_above
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_above(⟦p_ids {{ rule.id_type }}[]⟧)
RETURNS {{ rule.id_type }}[]
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
    SELECT ARRAY(
{%- for link in rule.links %}
        «SELECT {{ link.upper_of_n }}::{{ rule.id_type }} FROM {{ link.table }} AS n WHERE n.{{ link.child }} = ANY (p_ids) AND {{ link.upper_of_n }} IS NOT NULL»{% if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    );
$windrow$;
{%- endif %}
{%- if rule.newest | length > 0 %}

-- {{ rule.name }}_newest: which of some rows are roots among the newest of their group, whose last one is locked where p_lock.
--# create function {{ control }}.{{ rule.name }}_newest
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_newest(⟦p_ids {{ rule.id_type }}[], p_lock boolean⟧)
RETURNS {{ rule.id_type }}[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off ⟦SET enable_nestloop = on⟧
AS $windrow$
DECLARE
    v_newest {{ rule.id_type }}[] := '{}';
BEGIN
    IF NOT p_lock THEN
        RETURN ARRAY(«SELECT i.o_key::{{ rule.id_type }} FROM ‹{{ control }}.{{ rule.name }}_roots()› AS i WHERE i.o_key = ANY (p_ids) AND i.o_newest»);
    END IF;
    -- The last one of a group that is kept is looked up once for each group, not for every row.
{%- for newest in rule.newest %}
    v_newest := v_newest || ARRAY(
        «WITH counted AS MATERIALIZED (
{%- filter fit %}
            SELECT i.{{ rule.key }} AS key, {{ newest.taken }}
            FROM {{ rule.table }} AS i
            WHERE i.{{ rule.key }} = ANY (p_ids)
              AND {{ newest.placed | join(sep=" AND ") }}
{%- for predicate in newest.counted_of_i %} AND {{ predicate }}{% endfor %}
{%- endfilter %}
        ), last AS MATERIALIZED (
            SELECT {{ newest.groups_of_g }}, {{ newest.place_of_l }} FROM (SELECT DISTINCT {{ newest.groups_of_c }} FROM counted AS c) AS g
            CROSS JOIN LATERAL {{ <w.last_that_stays rule newest same={newest.same_as_g} lock="FOR KEY SHARE SKIP LOCKED" /> | indent(width=12) }} AS l ({{ newest.columns_of_l }})
        )
{%- filter fit %}
        SELECT c.key::{{ rule.id_type }} FROM counted AS c LEFT JOIN last AS l ON {{ newest.last_of_c | join(sep=" AND ") }}
        WHERE (({{ newest.place_of_c }}) < ({{ newest.place_of_l }})) IS NOT TRUE»
{%- endfilter %}
    );
{%- endfor %}
    RETURN v_newest;
END
$windrow$;
{%- endif %}

{{ <w.count_below control rule /> }}

-- {{ rule.name }}_delete: deletes the families of the given members, children before parents. Has no transaction control.
{%- if rule.sifts %}
-- If the members lie close together, one scan among them finds those that a table names, and only these are looked up.
{%- endif %}
{%- if rule.collects %}
-- If keys lie close together and fewer rows than keys exist among them, one scan of these finds those to delete. Rows that a trigger
-- or a rule has kept are looked for while the rows that they name still exist.
{%- endif %}
{%- if rule.cascading %}
-- p_left: the tables that are left to foreign keys, by their position; their keys are not needed then.
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_delete
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_delete(
    ⟦p_run bigint, p_members {{ rule.id_type }}[], p_artifacts {{ rule.id_type }}[], p_left integer[], p_watched boolean,
    p_gone {{ rule.id_type }}[],
    OUT o_rows bigint[]⟧
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off
⟦SET enable_seqscan = off SET enable_bitmapscan = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
{%- filter fit %}
{%- for collect in rule.collects %}
    ⟦{{ collect.variable }} {{ collect.key_type }}[]⟧;
{%- endfor %}
    v_rows bigint;
{%- endfilter %}
{%- if rule.unlocked %}
    v_since text := pg_current_snapshot()::text;
{%- endif %}
{%- if rule.sifts %}
{%- filter fit %}
    ⟦v_first {{ rule.id_type }}⟧ := p_members[1]; ⟦v_last {{ rule.id_type }}⟧ := p_members[cardinality(p_members)];
    ⟦v_many bigint⟧ := CASE WHEN {{ control }}.are_close(p_members) THEN cardinality(p_members) ELSE 0 END;
{%- endfilter %}
{%- endif %}
{%- if rule.archives %}
    v_kept bigint;
{%- endif %}
BEGIN
    o_rows := ARRAY[{{ rule.zeros }}];
{%- for collect in rule.collects %}
{%- if collect.users %}
    IF NOT p_left @> ARRAY[{{ collect.users }}] THEN
        {{ <w.collect collect control /> | trim_start | indent(width=8) }}
    END IF;
{%- else %}
    {{ <w.collect collect control /> | trim_start | indent }}
{%- endif %}
{%- endfor %}
{%- if rule.middles | length > 0 %}
    -- What has come before these were locked is there to be read.
    IF {% for table in rule.middles %}{{ control }}.is_referenced({{ table }}){% if not loop.last %}
        OR {% endif %}{% endfor %} THEN
        PERFORM {{ control }}.none_came({{ rule.literal }}, p_members, p_gone);
    END IF;
{%- endif %}
{%- for artifact in rule.artifacts %}
    -- The files that {{ artifact.table_name }} names are written to the outbox, to be removed later.
    INSERT INTO {{ control }}.artifact (run_id, rule, host, path)
    «SELECT p_run, {{ rule.literal }}, {{ artifact.host }}, t.{{ artifact.path }}
    FROM {{ artifact.table }} AS t
    WHERE t.{{ artifact.column }} = ANY (p_artifacts)
      AND t.{{ artifact.path }} <> ''{{ artifact.kept }}»;
{%- endfor %}
{%- for step in rule.steps %}
{%- for release in step.releases %}
    -- {{ release.why }}

{%- filter fit %}
    «UPDATE {{ release.table }} AS t SET {{ release.nulls }}
{%- if release.edge.via %}
    FROM {{ release.edge.via.table }} AS p
    WHERE p.{{ release.edge.via.key }} = ANY ({{ release.edge.keys }}){{ release.edge.unless }}
      AND {{ release.edge.via.on }}
{%- else %}
    WHERE t.{{ release.edge.column }} = ANY ({{ release.edge.keys }}){{ release.edge.unless }}
{%- endif %}»;
{%- endfilter %}
{%- filter fit %}
    IF EXISTS (
        «SELECT FROM {{ release.table }} AS t {{ <w.named_by edge={release.edge} keys={release.edge.keys} /> }}»
    ) THEN
{%- endfilter %}
        RAISE EXCEPTION 'rows of % could not be updated', {{ release.table_literal }}
            USING HINT = 'A trigger or a rule keeps what they refer to. The batch is rolled back.';
    END IF;
{%- endfor %}
    {{ <w.delete_step step control /> }}
{%- endfor %}
{%- if rule.steps | length > 1 %}
{{- <w.all_gone_below control rule watched="p_watched" members="p_members" /> }}
{%- endif %}
{{- <w.none_elsewhere control rule rows="o_rows" /> }}
END
$windrow$;

-- {{ rule.name }}_undated: roots that are final but have no end time; they can never become due.
{%- if rule.last %}
-- Only those that began before the cutoff are looked at.
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_undated
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_undated(p_as_of timestamptz, p_scope text)
RETURNS {{ rule.key_type }}[]
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
{%- filter fit %}
    SELECT ARRAY(SELECT u.root FROM (
{%- if rule.numbered %}
        {{ <w.undated control rule end="IS NULL" or_end="" /> }}
{%- elif rule.per and rule.opt_in %}
        {{ <w.undated control rule end="IS NULL" or_end="" /> }}
        UNION ALL {{ <w.undated control rule end="= '-infinity'" or_end="" /> }}
{%- else %}
        {{ <w.undated control rule end="IS NULL" or_end="= '-infinity'" /> }}
{%- endif %}
{%- endfilter %}
{%- if rule.last %}
        UNION ALL
        -- Those that began before the cutoff and have no known end.
        SELECT i.{{ rule.key }}
        FROM {{ rule.table }} AS i
{%- if rule.per %}
        {% if not rule.opt_in %}LEFT {% endif %}JOIN {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, {{ <w.scopes /> }}) AS s ON s.scope = i.{{ rule.per }}
{%- endif %}
        {{ <w.last_end rule /> | indent(width=8) }}
        WHERE {{ rule.ended }} < {% if rule.opt_in %}s.cutoff{% else %}(
              SELECT max(c.cutoff) FROM {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, {{ <w.scopes /> }}) AS c
          )
{%- if rule.per %}
          AND {{ rule.ended }} < coalesce(s.cutoff, (
              SELECT c.cutoff FROM {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, {{ <w.scopes /> }}) AS c WHERE c.scope IS NULL
          ))
{%- endif %}
{%- endif %}
          AND {{ rule.last.ended }} IS NULL
{%- for predicate in rule.eligible %}
          AND {{ predicate }}
{%- endfor %}
{%- endif %}
        LIMIT 100000) AS u ORDER BY u.root);
$windrow$;

{% if rule.per and rule.opt_in -%}
-- {{ rule.name }}_unlisted: roots that would be due, of scopes without any policy. They are kept; a preview counts them.
--# create function {{ control }}.{{ rule.name }}_unlisted
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_unlisted(p_as_of timestamptz, p_retention bigint)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $windrow$
DECLARE
    ⟦v_default {{ rule.time_type }}⟧ := {{ rule.cutoff_of_default }};
BEGIN RETURN (

{%- if rule.newest | length > 0 %}
        SELECT count(*) FROM {{ control }}.{{ rule.name }}_roots() AS i
        WHERE i.o_{{ rule.along }} < v_default AND i.o_{{ rule.along }} > '-infinity'{% if rule.last %} AND i.o_ended < v_default{% endif %} AND NOT i.o_newest AND i.o_scope IS NOT NULL
{%- else %}
        SELECT count(*)
        FROM {{ rule.table }} AS i
{%- if rule.last %}
        {{ <w.last_end rule /> | indent(width=8) }}
{%- endif %}
        WHERE {{ rule.ended }} < v_default AND i.{{ rule.per }} IS NOT NULL
{%- if not rule.numbered %}
          AND {{ rule.ended }} > '-infinity'
{%- endif %}
{%- if rule.last %}
          AND {{ rule.last.ended }} < v_default
{%- endif %}
{%- for predicate in rule.eligible %}
          AND {{ predicate }}
{%- endfor %}
{%- endif %}

{%- filter fit %}
          AND NOT EXISTS (
{%- if rule.source %}
              SELECT FROM {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, NULL) AS s
              WHERE s.scope = {% if rule.newest | length > 0 %}{{ rule.of_root }}{% else %}i.{{ rule.per }}{% endif %}
              UNION ALL
{%- endif %}
              SELECT FROM {{ control }}.policy AS p
              WHERE {{ rule.is_policy }} AND p.scope = {% if rule.newest | length > 0 %}{{ rule.text_of_root }}{% else %}{{ rule.text_of_i }}{% endif %}
          )
{%- endfilter %}
    ); END
$windrow$;
{% endif -%}
--# become who installs
RESET ROLE;
