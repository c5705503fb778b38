{#- What rules of all strategies share. -#}

{#- Whether the hold h has not passed. -#}
{% component w.holds_now() -%}
coalesce(h.until > clock_timestamp(), true)
{%- endcomponent w.holds_now %}

{#- Whether a hold of another rule keeps row t. -#}
{% component w.held_beside(control, above) -%}
EXISTS (
{%- for way in above.ways %}
{%- if loop.first %}
    SELECT FROM {{ way.table }} AS {{ way.alias }}
{%- else %}
    JOIN {{ way.table }} AS {{ way.alias }} ON {{ way.on }}
{%- endif %}
{%- endfor %}
{%- if above.ways | length > 0 %}
    JOIN {{ control }}.hold AS h ON h.rule = {{ above.rule }} AND h.key = {{ above.key }}
    WHERE {{ above.ways[0].on }}
{%- else %}
    SELECT FROM {{ control }}.hold AS h
    WHERE h.rule = {{ above.rule }}
      AND h.key = {{ above.key }}
{%- endif %}
      AND {{ <w.holds_now /> }}
)
{%- endcomponent w.held_beside %}

{#- The case of row t: a hold of another rule keeps it. -#}
{% component w.held_above(control, rule, pad) -%}
{%- for above in rule.single.above %}
{%- filter fit %}
{{ pad }}WHEN v_above AND {{ <w.held_beside control above /> }} THEN 'HELD'
{%- endfilter %}
{%- endfor %}
{%- endcomponent w.held_above %}

{#- The rows t of a table without a root, with the families of what names them, which has none either: a knows of that. -#}
{% component w.adopted_rows(control, rule, member) -%}
(
    SELECT {{ rule.timed.family_of_t }} AS family, x.o_key AS key
    FROM ‹{{ control }}.{{ rule.name }}_names_{{ member.position }}(a.o_all, a.o_lost)› AS x
    JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = x.o_instance
) AS m
JOIN {{ member.table }} AS t ON t.{{ member.adopt.key }} = m.key
{%- for column in member.family %} AND t.{{ column }} IS NULL{% endfor %}
{%- endcomponent w.adopted_rows %}

{#- The rows t that name no root, but by one of their columns an instance of the families p_roots. -#}
{% component w.own_rows(rule, own) -%}
(
    SELECT t.{{ rule.key }} AS id, {{ rule.timed.family_of_t }} AS family FROM {{ rule.table }} AS t WHERE {{ rule.timed.of_roots }}
) AS m
{%- for join in own.joins %}
JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
{%- endcomponent w.own_rows %}

{#- The families of rows that name row t of the family in m, where they are others. -#}
{% component w.adopted_namers(member) -%}
CROSS JOIN LATERAL (
{%- for namer in member.adopted_namers %}
    SELECT {{ namer.family }} FROM {{ namer.table }} AS x WHERE {{ namer.on }}
{%- for apart in namer.apart %} AND {{ apart }}{% endfor %}
{%- if not loop.last %}
    UNION ALL{% endif %}
{%- endfor %}
) AS r(family)
WHERE (r.family = m.family) IS NOT TRUE»;
{%- endcomponent w.adopted_namers %}

{#- The place of the last root of a group that is kept. A small group has no such one. -#}
{% component w.last_that_stays(rule, newest, same, lock="") -%}
(
{%- filter fit %}
    SELECT {{ newest.place_of_n }}
    FROM {{ rule.table }} AS n
    WHERE {{ same | join(sep=" AND ") }}
      AND {{ newest.ordered | join(sep=" AND ") }}
{%- for predicate in newest.counted %} AND {{ predicate }}{% endfor %}
{%- endfilter %}
    ORDER BY {{ newest.order }} LIMIT 1{% if newest.offset > 0 %} OFFSET {{ newest.offset }}{% endif %}{% if lock %} {{ lock }}{% endif %}
)
{%- endcomponent w.last_that_stays %}

{#- That root i, which is final and a candidate, is not among the newest of its group. -#}
{% component w.not_newest(rule) -%}
{% for newest in rule.newest -%}
{% if not newest.told -%}
-- The newest {{ newest.count }} of each {{ newest.group_name }} are kept.
{% endif -%}
AND (
{%- filter fit %}
    {{ newest.placeless | join(sep=" OR ") }}
{%- if newest.of | length > 0 %}
    OR ({{ newest.of | join(sep=" AND ") }}) IS NOT TRUE
{%- endif %}
{%- endfilter %}
    OR ({{ newest.place_of_i }}) < {{ <w.last_that_stays rule newest same={newest.same_as_i} /> | indent }}
)
{%- if not loop.last %}
{% endif %}
{%- endfor %}
{%- endcomponent w.not_newest %}

{#- When root i ended by its rows of another table, as e. -#}
{% component w.last_end(rule) -%}
CROSS JOIN LATERAL (
    -- It ended with the last of its rows of {{ rule.last.table_name }}, once each of them has a {{ rule.last.time_name }}{% if rule.last.otherwise %}; else at its {{ rule.last.otherwise_name }}{% endif %}.
    SELECT CASE WHEN bool_and((t.{{ rule.last.time }} > '-infinity') IS TRUE) THEN max(t.{{ rule.last.time }}) END AS ended
    FROM {{ rule.last.table }} AS t
    WHERE t.{{ rule.last.names }} = i.{{ rule.key }}
) AS e
{%- endcomponent w.last_end %}

{#- Why row t is kept, if it is: '' where it is not deleted by itself. -#}
{% component w.why_it_stays(control, rule, key, leaves="") -%}
CASE
{%- if leaves %}
{%- filter fit %}
    WHEN ({{ leaves }}) IS NOT TRUE THEN ''
{%- endfilter %}
{%- endif %}
    WHEN {{ key }} IN (SELECT unnest(‹{{ control }}.held_keys({{ rule.literal }})›::{{ rule.single.key_type }}[])) THEN 'HELD'
{{- <w.held_above control rule pad="    " /> }}
{%- if rule.single.aged and not rule.single.expiry %}
    WHEN p_as_of IS NOT NULL AND ({{ rule.single.time }} > '-infinity') IS NOT TRUE THEN 'UNDATED_MEMBER'
{%- endif %}
END
{%- endcomponent w.why_it_stays %}

{#- The next rows of a pass. -#}
{% component w.search_pass(control, rule, pass, claimed) -%}
RETURN QUERY
«SELECT {{ rule.single.key_of_t }}, t.ctid, {{ pass.due_cast }}, {{ <w.why_it_stays control rule key={rule.single.key_of_t} leaves={rule.single.leaves} /> }}
FROM {{ rule.table }} AS t
{%- filter fit %}
WHERE {{ pass.reached }}
{%- if claimed %}
  AND {{ pass.claimed }}
  AND (p_after[1] IS NULL OR {{ pass.passed }})
{%- else %}
  AND (p_after IS NULL OR {{ pass.passed }})
{%- endif %}
{%- for predicate in pass.predicates %}
  AND {{ predicate }}
{%- endfor %}
{%- endfilter %}
ORDER BY {{ pass.order }} LIMIT p_rows»;
{%- endcomponent w.search_pass %}

{#- The same as far as a worker has claimed rows, where the newest of a group are kept: whether enough rows are newer, those behind the end
of the claim say, too. -#}
{% component w.search_claimed(control, rule, pass) -%}
RETURN QUERY
«SELECT s.o_key, s.o_place, s.o_due, s.o_reason FROM (
    SELECT {{ rule.single.key_of_t }} AS o_key, t.ctid AS o_place, {{ pass.due_cast }} AS o_due,
{{- " " }}{{ <w.why_it_stays control rule key={rule.single.key_of_t} leaves={rule.single.leaves} /> | indent }} AS o_reason, {{ pass.columns }}
    FROM {{ rule.table }} AS t
{%- filter fit %}
    WHERE {{ pass.reached }}
      AND (p_after[1] IS NULL OR {{ pass.passed }})
{%- for predicate in pass.predicates %}
      AND {{ predicate }}
{%- endfor %}
{%- endfilter %}
    ORDER BY {{ pass.order }} LIMIT p_rows
) AS s
WHERE {{ pass.claimed_s }}
ORDER BY {{ pass.order_s }}»;
{%- endcomponent w.search_claimed %}

{#- The place of a row among those behind p_after: the one with so many before it, or the last one. -#}
{% component w.place_reach(rule, pass, claimed, last) -%}
«SELECT ARRAY[{{ pass.texts }}] FROM {{ rule.table }} AS t
{%- filter fit %}
WHERE {{ pass.reached }}
{%- if claimed %}
  AND {{ pass.claimed }}
{%- endif %}
  AND (p_after[1] IS NULL OR {{ pass.passed }})
{%- for predicate in pass.predicates %}
  AND {{ predicate }}
{%- endfor %}
{%- endfilter %}
ORDER BY {% if last %}{{ pass.backwards_t }} LIMIT 1{% else %}{{ pass.order }} OFFSET p_rows - 1 LIMIT 1{% endif %}»
{%- endcomponent w.place_reach %}

{#- What a search along a pass declares: the instants, the place behind which it begins, and the one where a claim ends. -#}
{% component w.along(rule) -%}
{%- if rule.single.expiry %}
    ⟦v_now {{ rule.time_type }}⟧ := {{ rule.single.now }};
{%- endif %}
{%- if rule.single.aged and rule.single.expiry or rule.single.in_zone %}
    ⟦v_cutoff {{ rule.single.time_type }}⟧ := p_cutoff{{ rule.single.in_zone }};
{%- endif %}
{%- for pass in rule.single.passes %}
{%- for place in pass.along %}
    ⟦{{ place.variable }} {{ place.kind }}⟧ := coalesce({% if rule.single.passes | length > 1 %}CASE p_pass WHEN {{ pass.number }} THEN p_after[{{ loop.index }}] END{% else %}p_after[{{ loop.index }}]{% endif %}, {{ place.first }});
{%- endfor %}
{%- if rule.single.shared %}
{%- for place in pass.along %}
    ⟦{{ place.variable }}_to {{ place.kind }}⟧ :=
{%- if rule.single.passes | length > 1 %} CASE p_pass WHEN {{ pass.number }} THEN p_after[{{ place.behind }}] END;
{%- else %} p_after[{{ place.behind }}];
{%- endif %}
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endcomponent w.along %}

{#- Which of the tables that are looked into are small beside a batch of so many rows. -#}
{% component w.smalls(control, rule, rows) -%}
{%- for small in rule.single.smalls %}
    ⟦{{ small.variable }} boolean⟧ := {{ control }}.is_small({{ small.table_literal }}, {{ rows }});
{%- endfor %}
{%- endcomponent w.smalls %}

{#- The statement that deletes the rows of a rule of single rows, by their places or by their keys; counted in o_rows, where they are
archived. -#}
{% component w.delete_single(rule, places) -%}
{%- if rule.archive -%}
WITH gone AS (
{%- endif -%}
{%- filter fit %}
{%- if places %}
«DELETE FROM ONLY {{ rule.table }} AS t
WHERE t.ctid = ANY (p_places) AND (age(t.xmin) > age(p_before)) IS NOT FALSE
{%- else %}
«DELETE FROM {{ rule.table }} AS t USING unnest(p_keys) AS k(key)
WHERE {{ rule.single.same_key }}
{%- endif %}
{%- if rule.single.orphan %}
  AND {% if places %}{{ rule.single.goes_by_size }}{% else %}{{ rule.single.goes }}{% endif %}
{%- endif %}
{%- if rule.single.asked and not rule.single.family %}
  AND {{ rule.single.asked }}
{%- endif %}
{%- if rule.archive %}
    RETURNING t.*»
),
{{ <w.keep_gone archive={rule.archive} /> }}
SELECT count(*), (SELECT count(*) FROM kept) INTO o_rows, v_kept FROM gone;
{%- else -%}
»;
{%- endif %}
{%- endfilter %}
{%- endcomponent w.delete_single %}

{#- How many rows of each table belong to given rows of the root table. -#}
{% component w.count_below(control, rule) -%}
-- {{ rule.name }}_count: the rows of each table that belong to given members, in the order of deletion
{%- if rule.collects %}; keys not given are read
{%- endif %}.
--# create function {{ control }}.{{ rule.name }}_count
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_count(⟦p_members {{ rule.id_type }}[]{% for collect in rule.collects %}, {{ collect.variable }} {{ collect.key_type }}[] DEFAULT NULL{% endfor %}⟧)
RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET row_security = off SET jit = off ⟦SET enable_seqscan = off⟧
SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
{%- for collect in rule.collects %}
{%- filter fit %}
    {{ collect.variable }} := coalesce({{ collect.variable }}, ARRAY(
{%- for edge in collect.edges %}
        «SELECT t.{{ collect.key }} FROM {{ collect.table }} AS t {{ <w.named_by edge keys={edge.keys_of_rows} /> }}{{ collect.naming }}»
{%- if not loop.last %}
        UNION{% endif %}
{%- endfor %}
    ));
{%- endfilter %}
{%- endfor %}
    RETURN ARRAY[
{%- for step in rule.steps %}
{%- filter fit %}
{%- if step.edges | length == 1 and (not step.edges[0].via or not step.edges[0].via.many) %}
        («SELECT count(*) FROM {{ step.table }} AS t {{ <w.named_by edge={step.edges[0]} keys={step.edges[0].keys_of_rows} /> }}»){% if not loop.last %},{% endif %}
{%- else %}
        (SELECT count(*) FROM (
{%- for edge in step.edges %}
            «SELECT {% if step.edges | length == 1 %}DISTINCT {% endif %}t.tableoid, t.ctid
            FROM {{ step.table }} AS t {{ <w.named_by edge keys={edge.keys_of_rows} /> }}»
{%- if not loop.last %}
            UNION{% endif %}
{%- endfor %}
        ) AS t){% if not loop.last %},{% endif %}
{%- endif %}
{%- endfilter %}
{%- endfor %}
    ];
END
$windrow$;
{%- endcomponent w.count_below %}

{#- What finds the rows t that name one of some keys by an edge, behind FROM. -#}
{% component w.named_by(edge, keys) -%}
{% if edge.via %}JOIN {{ edge.via.table }} AS p ON {{ edge.via.on }}
WHERE p.{{ edge.via.key }}{% else %}WHERE t.{{ edge.column }}{% endif %} = ANY ({{ keys }}){{ edge.unless }}
{%- endcomponent w.named_by %}

{#- The keys of a table whose rows are deleted, for the tables below it: of those that name any of their rows, where nothing else needs
    the others. Where some are kept, those to delete are locked: they can still be deleted then. Where a foreign key refers to them, all
    are locked: whoever brings a row below one of them holds it until that row is there to be read, and whoever moves one elsewhere, until
    it names another row. -#}
{% component w.collect(collect, control) -%}
{%- filter fit %}
{{ collect.variable }} :=
{%- if collect.locks or collect.always %} ARRAY(
    {{- <w.keys_of collect lock={true} /> }});
{%- elif collect.referenced %} CASE WHEN {{ control }}.is_referenced({{ collect.table_literal }}) THEN ARRAY(
    {{- <w.keys_of collect lock={true} /> }})
    ELSE ARRAY({{ <w.keys_of collect lock={false} /> }}) END;
{%- else %} ARRAY(
    {{- <w.keys_of collect lock={false} /> }});
{%- endif %}
{%- endfilter %}
{%- endcomponent w.collect %}

{#- The same as a query. A lock is taken of rows that name one of the keys as it is taken. -#}
{% component w.keys_of(collect, lock) -%}
{%- for edge in collect.edges %}
{%- if lock %}
        «SELECT {% if edge.via and edge.via.many and collect.edges | length == 1 %}DISTINCT {% endif %}l.id FROM (
            SELECT t.{{ collect.key }} AS id FROM {{ collect.table }} AS t {{ <w.named_by edge keys={edge.keys} /> }}
            FOR UPDATE OF t) AS l»
{%- else %}
        «SELECT {% if edge.via and edge.via.many and collect.edges | length == 1 %}DISTINCT {% endif %}t.{{ collect.key }} FROM {# -#}
        {{ collect.table }} AS t {{ <w.named_by edge keys={edge.keys} /> }}{{ collect.naming }}»
{%- endif %}
{%- if not loop.last %}
        UNION{% endif %}
{%- endfor %}
        ORDER BY 1
{%- endcomponent w.keys_of %}

{#- The rows t of a window to which foreign keys may refer: where families are deleted as such, those whose root is not there. -#}
{% component w.rootless(rule, member) -%}
{{ member.table }} AS t
WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- for condition in member.rootless %}
  AND {{ condition }}
{%- endfor %}
{%- endcomponent w.rootless %}

{#- What copies the rows of "gone", the deletion before it, into an archive. -#}
{% component w.keep_gone(archive, row="g.*") -%}
kept AS (
    INSERT INTO {{ archive.entry }}
    SELECT p_run, now(), {{ row }}
    FROM gone AS g
    RETURNING 1
)
{%- endcomponent w.keep_gone %}

{#- The error where fewer rows were archived than deleted. -#}
{% component w.all_kept(archive, rows) -%}
IF v_kept <> {{ rows }} THEN
    RAISE EXCEPTION '% rows of % were deleted, and % archived', {{ rows }}, {{ archive.table_literal }}, v_kept
        USING HINT = 'A trigger or a rule on its archive rejects them. The batch is rolled back.';
END IF;
{%- endcomponent w.all_kept %}

{#- A deletion of rows t whose copies are written to an archive; counted in "rows". -#}
{% component w.archived(archive, rows, delete) -%}
WITH gone AS (
    {{ delete | trim_start | indent }}
    RETURNING t.*
),
{{ <w.keep_gone archive /> }}
SELECT count(*), (SELECT count(*) FROM kept)
INTO {{ rows }}, v_kept
FROM gone;
{{ <w.all_kept archive rows /> }}
{%- endcomponent w.archived %}

{#- The statement that deletes the rows t of a table that a condition names, without its end. -#}
{% component w.delete_where(table, where) -%}
«DELETE FROM {{ table }} AS t
WHERE {{ where }}»
{%- endcomponent w.delete_where %}

{#- The statement that deletes the rows t of a window, without its end. -#}
{% component w.delete_window(rule, member, predicates) -%}
«DELETE FROM {{ member.table }} AS t
WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- for predicate in predicates %}
  AND {{ predicate }}
{%- endfor %}»
{%- endcomponent w.delete_window %}

{#- The statement that deletes the rows t of a window of a plain rule but for those in p_keep, or of some keys, without its end; the
    beginning of those that lock them, by the window or by their keys; and the statement that deletes them by their keys. -#}
{% component w.plain_window(rule, among="") -%}
{{ rule.timed.due.time }} >= p_from AND {{ rule.timed.due.time }} < p_to
{%- for condition in rule.timed.conditions_of_root %}
  AND {{ condition }}
{%- endfor %}
{%- if among %}
  AND (t.{{ rule.key }} IN (SELECT unnest({{ among }}))) IS TRUE
{%- endif %}
{%- endcomponent w.plain_window %}

{% component w.delete_plain(rule, among="") -%}
{%- filter fit %}
«DELETE FROM {{ rule.table }} AS t
WHERE {{ <w.plain_window rule among /> }}
{%- if not among %}
  AND (t.{{ rule.key }} IN (SELECT unnest(p_keep))) IS NOT TRUE
{%- endif %}»
{%- endfilter %}
{%- endcomponent w.delete_plain %}

{% component w.lock_plain(rule, among="") -%}
{%- filter fit %}
«SELECT t.{{ rule.key }} FROM {{ rule.table }} AS t
WHERE {{ <w.plain_window rule among /> }}
  AND (t.{{ rule.key }} IN (SELECT unnest(p_keep))) IS NOT TRUE
{%- endfilter %}
{%- endcomponent w.lock_plain %}

{#- By its keys alone, or where an index begins with the key, by these and the window. -#}
{% component w.plain_keys(rule, keys, window) -%}
t.{{ rule.key }} = ANY ({{ keys }})
{%- if window %}
  AND {{ <w.plain_window rule /> }}
{%- else %}
{%- for condition in rule.timed.conditions_of_root %}
  AND {{ condition }}
{%- endfor %}
{%- endif %}
{%- endcomponent w.plain_keys %}

{% component w.lock_plain_keys(rule, window=true) -%}
{%- filter fit %}
«SELECT t.{{ rule.key }} FROM {{ rule.table }} AS t
WHERE {{ <w.plain_keys rule keys="p_keys" window /> }}
  AND (t.{{ rule.key }} IN (SELECT unnest(p_keep))) IS NOT TRUE
{%- endfilter %}
{%- endcomponent w.lock_plain_keys %}

{% component w.delete_plain_keys(rule, window=true) -%}
{%- filter fit %}
«DELETE FROM {{ rule.table }} AS t
WHERE {{ <w.plain_keys rule keys="v_keys" window /> }}»
{%- endfilter %}
{%- endcomponent w.delete_plain_keys %}

{#- Of the rows of a plain rule that are locked, v_keys, those that no hold of another rule keeps. -#}
{% component w.unbound(control, rule) -%}
IF v_bound THEN
    v_keys := ARRAY(
        SELECT k.key FROM unnest(v_keys) AS k(key) WHERE (k.key IN (
            SELECT unnest({{ control }}.{{ rule.name }}_bound(p_from, p_to, p_keys)::{{ rule.key_type }}[])
        )) IS NOT TRUE
    );
END IF;
{%- endcomponent w.unbound %}

{#- The deletion of rows of a plain rule, which are archived where the rule says so; counted in o_rows. -#}
{% component w.take_plain(rule, delete) -%}
{%- if rule.archive %}
{{ <w.archived archive={rule.archive} rows="o_rows" delete /> }}
{%- else %}
{%- filter fit %}
{{ delete | trim_start }};
{%- endfilter %}
{%- endif %}
{%- endcomponent w.take_plain %}

{#- What lies between the first and the last of some sorted keys. -#}
{% component w.among(edge) -%}
t.{{ edge.column }} BETWEEN {{ edge.keys }}[1] AND {{ edge.keys }}[cardinality({{ edge.keys }})]
{%- endcomponent w.among %}

{#- The statement that deletes the rows of a step by one of its edges, without its end; or those that one scan among the keys finds. -#}
{% component w.delete_by(step, edge, control, among=false) -%}
{%- filter fit %}
«DELETE FROM {{ step.table }} AS t
{%- if step.collected %} WHERE t.{{ step.key }} = ANY ({{ step.collected }}){{ edge.kept }}
{%- elif edge.via %} USING {{ edge.via.table }} AS p
WHERE p.{{ edge.via.key }} = ANY ({{ edge.keys }}) AND {{ edge.via.on }}{{ edge.unless }}
{%- else %} WHERE {% if among %}{{ <w.among edge /> }} AND (t.{{ edge.column }} IN (SELECT unnest({{ edge.keys }}))) IS TRUE
{%- elif edge.sifted %}t.{{ edge.column }} = ANY (‹{{ control }}.named(p_members, v_many, ›ARRAY(
SELECT e.{{ edge.column }}::{{ edge.sifted }} FROM {{ step.table }} AS e WHERE e.{{ edge.column }} BETWEEN v_first AND v_last
LIMIT v_many)‹)›)
{%- else %}t.{{ edge.column }} = ANY ({{ edge.keys }}){% endif %}{{ edge.unless }}
{%- endif %}»
{%- endfilter %}
{%- endcomponent w.delete_by %}

{#- The deletion from one table, counted. -#}
{% component w.delete_step(step, control, watched="p_watched") -%}
{% if step.cascade -%}
    IF {{ step.position }} <> ALL (p_left) THEN
        {{ <w.delete_rows step control watched /> | trim_start | indent }}
    END IF;
{%- else -%}
    {{ <w.delete_rows step control watched /> | trim_start }}
{%- endif %}
{%- endcomponent w.delete_step %}

{#- The same, with copies in an archive, where there is one, and how many rows it took in v_rows. -#}
{% component w.delete_or_archive(step, edge, control, among=false) -%}
{%- if step.archive -%}
    {{ <w.archived archive={step.archive} rows="v_rows" delete={<w.delete_by step edge control among />} /> | indent }}
{%- else -%}
    {{ <w.delete_by step edge control among /> | trim_start | indent }};
    GET DIAGNOSTICS v_rows = ROW_COUNT;
{%- endif %}
{%- endcomponent w.delete_or_archive %}

{#- The deletion from one table, and how many rows it took. -#}
{% component w.delete_rows(step, control, watched) -%}
{%- if step.spares %}
    -- {{ step.why }}

{%- endif %}
{%- for edge in step.edges %}
{%- if loop.first or not step.collected %}
{%- if edge.near %}
{%- filter fit %}
    IF {{ control }}.are_close({{ edge.keys }}) AND cardinality({{ edge.keys }}) > (
        «SELECT count(*) FROM (
            SELECT FROM {{ step.table }} AS t WHERE {{ <w.among edge /> }} LIMIT cardinality({{ edge.keys }})
        ) AS f») THEN
{%- endfilter %}
        {{ <w.delete_or_archive step edge control among={true} /> | trim_start | indent }}
    ELSE
        {{ <w.delete_or_archive step edge control /> | trim_start | indent }}
    END IF;
{%- else %}
    {{ <w.delete_or_archive step edge control /> | trim_start }}
{%- endif %} o_rows[{{ step.position }}] := o_rows[{{ step.position }}] + v_rows;
{%- endif %}
{%- if edge.via %}
{%- filter fit %}
    PERFORM {{ control }}.none_left({{ step.table_literal }}, {{ watched }} AND EXISTS (
        «SELECT FROM {{ step.table }} AS t {{ <w.named_by edge keys={edge.keys} /> }}»));
{%- endfilter %}
{%- endif %}
{%- endfor %}
{%- endcomponent w.delete_rows %}

{#- That of tables in between no more rows were deleted than were read before, and that those which were not locked are gone: one that
    has moved elsewhere stays, and what was deleted is its own. Where nobody else has committed anything since the batch began to read,
    which its snapshots say, none has moved. -#}
{% component w.none_elsewhere(control, rule, rows) -%}
{%- if rule.locks %}
{%- filter fit %}
    PERFORM {{ control }}.all_locked({{ rule.literal }}, {{ rows }}, ARRAY[
{%- for step in rule.steps %}
{%- if step.found and step.cascade %}
        CASE WHEN {{ step.position }} <> ALL (p_left) THEN cardinality({{ step.found }}) END{% elif step.found %}
        cardinality({{ step.found }}){% else %}
        NULL{% endif %}{% if not loop.last %},{% endif %}
{%- endfor %}
    ]);
{%- endfilter %}
{%- endif %}
{%- for collect in rule.collects %}
{%- if collect.naming or not (collect.locks or collect.always) %}
{%- filter fit %}
    PERFORM {{ control }}.none_moved({{ collect.table_literal }},
{%- if collect.referenced and not collect.naming %} {{ control }}.may_move({{ collect.table_literal }}, v_since)
{%- else %} v_since <> pg_current_snapshot()::text
{%- endif %} AND EXISTS (
        «SELECT FROM {{ collect.table }} AS t WHERE t.{{ collect.key }} = ANY ({{ collect.variable }})»));
{%- endfilter %}
{%- endif %}
{%- endfor %}
{%- endcomponent w.none_elsewhere %}

{#- Whether a rule or a trigger has kept rows below the members, by the keys that were read before. -#}
{% component w.all_gone_below(control, rule, watched, members) -%}
{%- filter fit %}
    PERFORM {{ control }}.all_gone({{ rule.literal }}, CASE WHEN {{ watched }} THEN ({{ control }}.{{ rule.name }}_count({{ members }}
{%- for collect in rule.collects %}, {{ collect.variable }}{% endfor %}))[:{{ rule.steps | length - 1 }}] END);
{%- endfilter %}
{%- endcomponent w.all_gone_below %}

{#- The rows of the root table of a rule by time, as the kernel asks for them. -#}
{% component w.rows(control, rule) -%}
-- {{ rule.name }}_rows: the rows of {{ rule.table_name }}. No SECURITY DEFINER: PostgreSQL takes its text into the statements that name it.
--# create function {{ control }}.{{ rule.name }}_rows
CREATE OR REPLACE FUNCTION {{ control }}.{{ rule.name }}_rows()
RETURNS TABLE (
    ⟦o_key {{ rule.key_type }}, o_family {{ rule.key_type }}, o_time {{ rule.time_type }}, o_root boolean, o_alone boolean, o_over boolean⟧
)
LANGUAGE sql STABLE
AS $windrow$

{%- filter fit %}
    ⟪SELECT r.{{ rule.key }}::{{ rule.key_type }}{{ rule.key_sorts }}, ({{ rule.timed.family_of_root }})::{{ rule.key_type }}, {{ rule.timed.due.of_r }}::{{ rule.time_type }},
        {{ rule.timed.is_root_r }},
        {{ rule.timed.is_alone_r }},
        {% if rule.timed.ended %}r.{{ rule.timed.ended }} IS NOT NULL AND r.{{ rule.timed.ended }} > '-infinity'{% else %}true{% endif %}
    FROM {{ rule.table }} AS r
{%- for condition in rule.timed.conditions_of_rows %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}⟫;
{%- endfilter %}
$windrow$;
{%- endcomponent w.rows %}

{#- The roots without an end. Where an index begins with the scope, each of two such ends is looked up by itself: with OR, all of a scope
    would be read. -#}
{% component w.undated(control, rule, end, or_end) -%}
SELECT i.{{ rule.key }} AS root FROM {{ rule.table }} AS i
WHERE {% if or_end %}({{ rule.ended }} {{ end }} OR {{ rule.ended }} {{ or_end }}){% else %}{{ rule.ended }} {{ end }}{% endif %}
{%- for predicate in rule.eligible %}
  AND {{ predicate }}
{%- endfor %}
{%- if rule.per and rule.opt_in %}
  AND i.{{ rule.per }} IN (SELECT s.scope FROM {{ control }}.{{ rule.name }}_scope(p_as_of, NULL, {{ <w.scopes /> }}) AS s)
{%- elif rule.per %}
  AND (p_scope IS NULL OR i.{{ rule.per }} = p_scope::{{ rule.scope_type }})
{%- endif %}
{%- endcomponent w.undated %}

{#- The option p_scope as the scopes that are asked for: all without it. -#}
{% component w.scopes() -%}
CASE WHEN p_scope IS NOT NULL THEN ARRAY[p_scope] END
{%- endcomponent w.scopes %}

{#- The cutoff for a scope, looked up by its key: it costs the same with many policies. A policy that is disabled keeps. Of several that the
    column takes for one, in other spellings, the strictest counts; and where the table of definitions takes more for one, what it says in
    other spellings as well, besides what holds without it. -#}
{% component w.cutoff_for(control, rule, scope, text) -%}
coalesce(
{%- filter fit %}
    (SELECT {% if rule.spelled %}min({% endif %}CASE WHEN p.enabled THEN {{ rule.cutoff_of_policy }}
        ELSE '-infinity' END{% if rule.spelled %}){% endif %}
        FROM {{ control }}.policy AS p WHERE {{ rule.is_policy }} AND p.scope = {{ text }})
{%- endfilter %}
{%- if rule.source %},
    -- {{ rule.source.why }}
    (SELECT {% if rule.source.plain %}{% if rule.opt_in %}CASE WHEN bool_or(({{ rule.source.plain }}) = {{ text }}) THEN {% else %}least({% endif %}{% endif %}{% if rule.spelled %}min({% endif %}{% if rule.source.ends %}CASE WHEN {{ rule.source.ends }} THEN {{ rule.cutoff_of_source }} ELSE '-infinity' END{% else %}{{ rule.cutoff_of_source }}{% endif %}{% if rule.spelled %}){% endif %}{% if rule.source.plain %}{% if rule.opt_in %} END{% else %}, CASE WHEN NOT bool_or(({{ rule.source.plain }}) = {{ text }}) THEN v_default END){% endif %}{% endif %}
    FROM {{ rule.source.rows }}
    WHERE {{ rule.source.scope }} = {{ scope }}{% if rule.source.says and not rule.opt_in %} AND {{ rule.source.says }}{% endif %})
{%- endif %}
{%- if not rule.opt_in %},
    v_default
{%- endif %}
)
{%- endcomponent w.cutoff_for %}
