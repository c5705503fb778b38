-- {{ rule.name }}_judge: which of these families may be deleted: all rows that name a root whose {{ rule.end_time_name }} has come,
-- whatever that of the others is. A purge names them: there is no p_cutoff then; without p_as_of, no minimum counts either.
-- o_locked: the family of each row that p_lock has locked.
{%- if rule.timed.middles %}
-- o_middle: the same of tables in between to which foreign keys refer, by the position of the table: the families, and of how many rows.
{%- endif %}
--# create function {{ control }}.{{ rule.name }}_judge
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_judge(
    ⟦p_roots {{ rule.key_type }}[], p_cutoff {{ rule.time_type }}, p_as_of timestamptz, p_lock boolean,
    OUT o_go {{ rule.key_type }}[], OUT o_locked {{ rule.key_type }}[], OUT o_middle jsonb, OUT o_skip_keys text[], OUT o_skip_reasons text[]⟧
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off SET enable_nestloop = on
SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    ⟦v_held {{ rule.key_type }}[]⟧;
{%- if rule.timed.tied_by_name or rule.timed.middles_adopted %}
    a        record;  -- what is known of rows that name no root
{%- endif %}
{%- if rule.timed.references %}
    ⟦v_tied {{ rule.key_type }}[]⟧ := '{}';  -- families with a row that something refers to
{%- if rule.timed.tied_by_name %}
    ⟦v_namers {{ rule.key_type }}[]⟧;  -- families, and what their rows without a root name
    ⟦v_named  text[]⟧;
{%- endif %}
{%- endif %}
{%- if rule.timed.ended %}
    ⟦v_least {{ rule.timed.end_type }}⟧ := {{ rule.timed.least }};
{%- endif %}
BEGIN
    -- A writer that changes a whole family also changes its rows in {{ rule.table_name }}: it waits, or this batch gives way.
    IF p_lock THEN
        o_locked := ARRAY(
            «SELECT l.family
            FROM (
                SELECT {{ rule.timed.family_of_t }} AS family
                FROM {{ rule.table }} AS t
                WHERE {{ rule.timed.of_roots }}
                ORDER BY t.{{ rule.key }}
                FOR UPDATE
            ) AS l»
        );
{%- for member in rule.timed.members | those(attribute="referenced_of_family", value=true) %}
{%- if loop.first %}
        -- Whoever brings a row that refers to one of these by a foreign key holds it until that row is there to be read.
{%- endif %}
        IF {{ control }}.is_referenced({{ member.table_literal }}) THEN
{%- filter fit %}
            o_middle := {{ control }}.with_locked(o_middle, {{ member.position }}, (SELECT jsonb_agg(m) FROM (
                «SELECT l.families, count(*) AS found
                FROM (SELECT ARRAY[t.{{ member.belongs | join(sep=", t.") }}]::text[] AS families
                    FROM {{ member.table }} AS t
                    WHERE {% for column in member.belongs %}
                    {%- if not loop.first %} OR {% endif %}t.{{ column }} = ANY (p_roots)
                    {%- endfor %} FOR UPDATE) AS l
                GROUP BY 1») AS m));
{%- endfilter %}
        END IF;
{%- endfor %}
{%- if rule.timed.middles_adopted %}
        -- The same of rows that name no root.
        SELECT * INTO a FROM {{ control }}.{{ rule.name }}_adopted(p_roots);
{%- for member in rule.timed.members | those(attribute="referenced_of_family", value=true) %}
{%- if member.adopt %}
        IF a.o_lost[{{ member.position }}] AND o_middle ? '{{ member.position }}' THEN
{%- if member.adopt.named %}
{%- filter fit %}
            o_middle := {{ control }}.with_locked(o_middle, {{ member.position }}, (SELECT jsonb_agg(m) FROM (
                «SELECT g.families, count(*) AS found
                FROM (SELECT array_agg(l.family::text) AS families
                    FROM (SELECT t.{{ member.adopt.key }} AS key, m.family
                        FROM {{ <w.adopted_rows control rule member /> | indent(width=24) }} FOR UPDATE OF t) AS l
                    GROUP BY l.key) AS g
                GROUP BY 1») AS m));
{%- endfilter %}
{%- else %}
{%- for own in member.adopt.owns %}
{%- filter fit %}
            o_middle := {{ control }}.with_locked(o_middle, {{ member.position }}, (SELECT jsonb_agg(m) FROM (
                «SELECT ARRAY[l.family::text] AS families, count(*) AS found
                FROM (SELECT m.family FROM {{ <w.own_rows rule own /> | indent(width=20) }} FOR UPDATE OF t) AS l
                GROUP BY l.family») AS m));
{%- endfilter %}
{%- endfor %}
{%- endif %}
        END IF;
{%- endif %}
{%- endfor %}
{%- endif %}
    END IF;
{%- if rule.timed.root_column %}
    v_held := {{ control }}.held_among({{ rule.literal }}, ARRAY(
        «SELECT t.{{ rule.key }}::text FROM {{ rule.table }} AS t WHERE {{ rule.timed.of_roots }}»
    ));
{%- else %}
    v_held := {{ control }}.held_among({{ rule.literal }}, p_roots::text[]);
{%- endif %}
{%- if rule.timed.bound %}
    IF {{ control }}.bound_by({{ rule.literal }}) THEN
        v_held := v_held || {{ control }}.{{ rule.name }}_bound(p_roots);
    END IF;
{%- endif %}
{%- for member in rule.timed.members %}
{%- for referrer in member.referrers %}
{%- for column in member.belongs %}
{%- filter fit %}
    v_tied := v_tied || ARRAY(«SELECT DISTINCT t.{{ column }}
        FROM {{ member.table }} AS t JOIN {{ referrer.table }} AS r ON r.{{ referrer.column }} = t.{{ member.key }}
        WHERE t.{{ column }} = ANY (p_roots)»);
{%- endfilter %}
{%- endfor %}
{%- endfor %}
{%- endfor %}
{%- for member in rule.timed.members %}
{%- if member.adopt %}
{%- for referrer in member.referrers %}
{%- if member.adopt.named %}
{%- if loop.first %}
    -- What rows without a root name in {{ member.table_name }} counts, too.
{%- if rule.timed.middles_adopted %}
    IF NOT p_lock THEN SELECT * INTO a FROM {{ control }}.{{ rule.name }}_adopted(p_roots); END IF;
{%- else %}
    SELECT * INTO a FROM {{ control }}.{{ rule.name }}_adopted(p_roots);
{%- endif %}
    IF a.o_lost[{{ member.position }}] THEN
        «SELECT array_agg(m.family), array_agg(m.key::text)
        ‹INTO v_namers, v_named›
        FROM {{ <w.adopted_rows control rule member /> | indent(width=8) }}»;
{%- endif %}
{%- filter fit %}
        v_tied := v_tied || ARRAY(«SELECT DISTINCT n.family
            FROM unnest(v_namers, v_named::{{ member.adopt.key_type }}[]) AS n(family, key)
            JOIN {{ referrer.table }} AS x ON x.{{ referrer.column }} = n.key»);
{%- endfilter %}
{%- if loop.last %}
    END IF;
{%- endif %}
{%- else %}
{%- for own in member.adopt.owns %}
    v_tied := v_tied || ARRAY(
        «SELECT DISTINCT m.family
        FROM (SELECT t.{{ rule.key }} AS id, {{ rule.timed.family_of_t }} AS family FROM {{ rule.table }} AS t WHERE {{ rule.timed.of_roots }}) AS m
{%- for join in own.joins %}
        JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
        JOIN {{ referrer.table }} AS x ON x.{{ referrer.column }} = t.{{ member.key }}»
    );
{%- endfor %}
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
        «SELECT
            {{ rule.timed.family_of_t }} AS key,
            CASE
                -- A hold on any member keeps the whole family.
                WHEN bool_or(t.{{ rule.key }} IN (SELECT unnest(v_held))) THEN 'HELD'
{%- if rule.timed.ended %}
                WHEN bool_or((t.{{ rule.timed.ended }} > '-infinity') IS NOT TRUE) THEN 'NON_FINAL_MEMBER'
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
        HAVING bool_or({{ rule.timed.is_root }} AND (p_cutoff IS NULL OR t.{{ rule.end_time }} < p_cutoff){% for condition in rule.timed.conditions_of_root %} AND {{ condition }}{% endfor %})»
    ) AS f;
END
$windrow$;

{% if rule.timed.crosses -%}
-- {{ rule.name }}_namers: rows of other families that name a row of one of these, or of no family; o_other: theirs.
--# create function {{ control }}.{{ rule.name }}_namers
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_namers(⟦p_roots {{ rule.key_type }}[]⟧)
RETURNS TABLE (o_family text, o_other text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off SET enable_nestloop = on
SET enable_hashjoin = off SET enable_mergejoin = off⟧ SET plan_cache_mode = force_generic_plan
AS $windrow$
{%- if rule.timed.crosses_adopted %}
DECLARE
    a record;  -- what is known of rows that name no root
{%- endif %}
BEGIN
{%- for member in rule.timed.members %}
{%- if member.namers %}
{%- for column in member.belongs %}
    RETURN QUERY
    «SELECT DISTINCT n.id::text, r.family::text
    FROM unnest(p_roots) AS n(id)
    JOIN {{ member.table }} AS t ON t.{{ column }} = n.id
    CROSS JOIN LATERAL (
{%- for namer in member.namers %}
        SELECT {{ namer.family }} FROM {{ namer.table }} AS r WHERE {{ namer.on }}
{%- for apart in namer.apart %} AND {{ apart }}{% endfor %}
{%- if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    ) AS r(family)
    WHERE (r.family = n.id) IS NOT TRUE»;
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- if rule.timed.crosses_adopted %}
    SELECT * INTO a FROM {{ control }}.{{ rule.name }}_adopted(p_roots);
{%- for member in rule.timed.members %}
{%- if member.adopted_namers %}
    IF a.o_lost[{{ member.position }}] THEN
{%- if member.adopt.named %}
        RETURN QUERY
        «SELECT DISTINCT m.family::text, r.family::text
        FROM {{ <w.adopted_rows control rule member /> | indent(width=8) }}
        {{ <w.adopted_namers member /> | indent(width=8) }}
{%- else %}
{%- for own in member.adopt.owns %}
        RETURN QUERY
        «SELECT DISTINCT m.family::text, r.family::text
        FROM {{ <w.own_rows rule own /> | indent(width=8) }}
        {{ <w.adopted_namers member /> | indent(width=8) }}
{%- endfor %}
{%- endif %}
    END IF;
{%- endif %}
{%- endfor %}
{%- endif %}
END
$windrow$;

{% endif -%}
{% if rule.timed.adopts -%}
-- {{ rule.name }}_adopted: what is known of the rows of these families that name no root, as older versions of the application
-- wrote them: they belong to their instance.
--# create function {{ control }}.{{ rule.name }}_adopted
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_adopted(
    ⟦p_go {{ rule.key_type }}[],
    OUT o_all {{ rule.key_type }}[]⟧,  -- the instances of the families
    ⟦OUT o_lost boolean[]{% for between in rule.timed.between %},
    OUT {{ between.variable }} {{ between.key_type }}[]{% endfor %}{% for member in rule.timed.members %}{% if member.adopt and member.adopt.named %},
    OUT {{ member.adopt.named }} {{ member.adopt.key_type }}[]{% endif %}{% endfor %}⟧
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off⟧
SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    o_all := ARRAY(«SELECT t.{{ rule.key }} FROM {{ rule.table }} AS t WHERE {{ rule.timed.of_go }}»);
    -- Most databases have no such rows. A table that has some is searched by instance, too.
    o_lost := ARRAY[
{%- for member in rule.timed.members %}
        {% if member.adopt and not member.adopt.named %}EXISTS («{{ member.adopt.look }}»){% else %}NULL{% endif %}{% if not loop.last %},{% endif %}
{%- endfor %}
    ];
{%- for between in rule.timed.between %}
    IF {% for position in between.positions %}o_lost[{{ position }}]{% if not loop.last %} OR {% endif %}{% endfor %} THEN
        {{ between.variable }} := ARRAY(«SELECT o.{{ between.key }} FROM {{ between.table }} AS o WHERE o.{{ between.column }} = ANY (o_all)»);
    END IF;
{%- endfor %}
{%- for member in rule.timed.members %}
{%- if member.adopt and member.adopt.named %}
    -- What these rows name in {{ member.table_name }}.
    IF {% for position in member.adopt.positions %}o_lost[{{ position }}]{% if not loop.last %} OR {% endif %}{% endfor %} THEN
        {{ member.adopt.named }} := ARRAY(
            «SELECT n.o_key FROM ‹{{ control }}.{{ rule.name }}_names_{{ member.position }}(o_all, o_lost)› AS n»
        );
        o_lost[{{ member.position }}] := {{ member.adopt.named }} <> '{}';
    END IF;
{%- endif %}
{%- endfor %}
END
$windrow$;

{% endif -%}
-- {{ rule.name }}_delete_families: deletes whole families, found by their roots, whatever the {{ rule.end_time_name }} of their rows.
--# create function {{ control }}.{{ rule.name }}_delete_families
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_delete_families(⟦p_run bigint, p_go {{ rule.key_type }}[], p_watched boolean, OUT o_rows bigint[]⟧)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off⟧
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
{%- if rule.timed.adopts %}
    a      record;  -- what is known of rows that name no root
{%- endif %}
    v_rows bigint;
{%- if rule.archives %}
    v_kept bigint;
{%- endif %}
BEGIN
    o_rows := ARRAY[{{ rule.zeros }}];
{%- if rule.timed.adopts %}
    SELECT * INTO a FROM {{ control }}.{{ rule.name }}_adopted(p_go);
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.of_roots %}
{%- if member.archive %}
    {{ <w.archived archive={member.archive} rows="v_rows"
        delete={<w.delete_where table={member.table} where={member.of_roots} />} /> | indent }}
    o_rows[{{ member.position }}] := v_rows;
{%- else %}
    «DELETE FROM {{ member.table }} AS t WHERE {{ member.of_roots }}»;
    GET DIAGNOSTICS v_rows = ROW_COUNT; o_rows[{{ member.position }}] := v_rows;
{%- endif %}
{%- if member.adopt %}
    IF a.o_lost[{{ member.position }}] THEN
{%- if member.archive %}
        {{ <w.archived archive={member.archive} rows="v_rows"
            delete={<w.delete_where table={member.table} where={member.adopt.found} />} /> | indent(width=8) }}
        o_rows[{{ member.position }}] := o_rows[{{ member.position }}] + v_rows;
{%- else %}
        «DELETE FROM {{ member.table }} AS t WHERE {{ member.adopt.found }}»;
        GET DIAGNOSTICS v_rows = ROW_COUNT; o_rows[{{ member.position }}] := o_rows[{{ member.position }}] + v_rows;
{%- endif %}
    END IF;
{%- endif %}
{%- endif %}
{%- endfor %}
    IF p_watched THEN
        PERFORM {{ control }}.all_gone({{ rule.literal }}, {{ control }}.{{ rule.name }}_count_families(p_go{% if rule.timed.adopts %}, to_jsonb(a){% endif %}));
    END IF;
END
$windrow$;

-- {{ rule.name }}_count_families: how many rows of each table belong to these families.
--# create function {{ control }}.{{ rule.name }}_count_families
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_count_families(⟦p_go {{ rule.key_type }}[]{% if rule.timed.adopts %}, p_adopted jsonb DEFAULT NULL{% endif %}⟧)
RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off⟧
SET plan_cache_mode = force_generic_plan
AS $windrow$
{%- if rule.timed.adopts %}
DECLARE
    a record;  -- what is known of rows that name no root
{%- endif %}
BEGIN
{%- if rule.timed.adopts %}
    IF p_adopted IS NULL THEN
        SELECT * INTO a FROM {{ control }}.{{ rule.name }}_adopted(p_go);
    ELSE
        SELECT * INTO a FROM jsonb_to_record(p_adopted) AS j(
            o_all {{ rule.key_type }}[], o_lost boolean[]{% for between in rule.timed.between %}, {{ between.variable }} {{ between.key_type }}[]{% endfor %}{% for member in rule.timed.members %}{% if member.adopt and member.adopt.named %}, {{ member.adopt.named }} {{ member.adopt.key_type }}[]{% endif %}{% endfor %}
        );
    END IF;
{%- endif %}
    RETURN ARRAY[
{%- for member in rule.timed.members %}
{%- if member.of_roots %}
        («SELECT count(*) FROM {{ member.table }} AS t WHERE {{ member.of_roots }}»){% if member.adopt %}
            + CASE WHEN a.o_lost[{{ member.position }}] THEN («SELECT count(*) FROM {{ member.table }} AS t WHERE {{ member.adopt.found }}») ELSE 0 END{% endif %}
{%- else %}
        0
{%- endif %}{% if not loop.last %},{% endif %}
{%- endfor %}
    ];
END
$windrow$;
