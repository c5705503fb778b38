{#- Whether the hold h has not passed. -#}
{% component w.holds_now() -%}
(h.until IS NULL OR h.until > UTC_TIMESTAMP(6))
{%- endcomponent w.holds_now %}

{#- Whether a rule has to look for holds of others: there are not many, if any. -#}
{% component w.any_holds_beside(list) -%}
EXISTS (SELECT 1 FROM hold AS h
        WHERE h.rule IN ({% for above in list %}{{ above.rule }}{% if not loop.last %}, {% endif %}{% endfor %}) AND {{ <w.holds_now /> }})
{%- endcomponent w.any_holds_beside %}

{#- Whether a hold of another rule keeps row t. -#}
{% component w.held_beside(above) -%}
EXISTS (
{%- for way in above.ways %}
{%- if loop.first %}
    SELECT 1 FROM {{ way.table }} AS {{ way.alias }}
{%- else %}
    JOIN {{ way.table }} AS {{ way.alias }} ON {{ way.on }}
{%- endif %}
{%- endfor %}
{%- if above.ways | length > 0 %}
    JOIN hold AS h ON h.rule = {{ above.rule }} AND h.`key` = {{ above.key }}
    WHERE {{ above.ways[0].on }}
{%- else %}
    SELECT 1 FROM hold AS h
    WHERE h.rule = {{ above.rule }}
      AND h.`key` = {{ above.key }}
{%- endif %}
      AND COALESCE(h.until > UTC_TIMESTAMP(6), true)
)
{%- endcomponent w.held_beside %}

{#- The case of row t: a hold of another rule keeps it. -#}
{% component w.held_above(control, rule, pad) -%}
{%- for above in rule.single.above %}
{%- filter fit %}
{{ pad }}WHEN v_above AND {{ <w.held_beside above /> }} THEN 'HELD'
{%- endfilter %}
{%- endfor %}
{%- endcomponent w.held_above %}

{#- The rows t of the families to delete that name no root, but by one of their columns an instance. -#}
{% component w.adopted(own, pad) -%}
FROM work_root AS m
{{ pad }}STRAIGHT_JOIN work_target AS c ON c.id = m.family
{%- for join in own.joins %}
{{ pad }}STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
{%- endcomponent w.adopted %}

{#- The same where it is others that name them. -#}
{% component w.adopted_by_name(member, pad) -%}
FROM (SELECT DISTINCT n.id FROM {{ member.adopt.named }} AS n STRAIGHT_JOIN work_target AS c ON c.id = n.family) AS a
{{ pad }}STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ member.adopt.key }} = a.id
{%- endcomponent w.adopted_by_name %}

{#- The rows t of a table of the families in work_next. -#}
{% component w.rows_of_next(member, column) -%}
FROM work_next AS n
        STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ column }} = n.id
{%- endcomponent w.rows_of_next %}

{#- Those that name no root, but by one of their columns an instance. -#}
{% component w.own_of_families(own) -%}
FROM work_root AS m
{%- for join in own.joins %}
        STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
{%- endcomponent w.own_of_families %}

{#- Those where it is others that name them. -#}
{% component w.named_of_families(member) -%}
FROM {{ member.adopt.named }} AS m
        STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ member.adopt.key }} = m.id
{%- endcomponent w.named_of_families %}

{#- Adds to work_namer the families of rows that name rows t of others. -#}
{% component w.namers(namer, of, row, from) -%}
INSERT INTO work_namer (family, other, binds)
    «SELECT DISTINCT f.id, COALESCE(f.family, f.id), f.family IS NULL
    FROM (
        SELECT {{ of }}, {{ namer.family }} AS family
        {{ from }}
        STRAIGHT_JOIN {{ namer.table }} AS {{ row }} ON {{ namer.on }}
{%- for apart in namer.apart %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ apart }}
{%- endfor %}
    ) AS f
    WHERE (f.family = f.id) IS NOT TRUE»;
{%- endcomponent w.namers %}

{#- Deletes those of the families to delete that name no root, and counts them. -#}
{% component w.delete_adopted(member, from, maria, pad) -%}
{% if member.archive -%}
INSERT INTO {{ member.archive.entry }}
{{ pad }}«SELECT p_run, UTC_TIMESTAMP(6), t.*
{{ pad }}{{ from }}
{{ pad }}FOR UPDATE{% if not maria %} OF t{% endif %}»;
{{ pad }}SET v_copied = v_copied + ROW_COUNT();
{{ pad }}
{%- endif -%}
«DELETE t {{ from }}»;
{{ pad }}CALL timed_gone({{ member.position }}, ROW_COUNT());
{%- endcomponent w.delete_adopted %}

{#- Deletes the rows of a table that belong to the families of work_target, and counts them. -#}
{% component w.delete_of_targets(member, maria) -%}
{% if member.archive -%}
SET v_copied = 0;
    {% endif -%}
{%- for column in member.belongs -%}
{% if member.archive -%}
INSERT INTO {{ member.archive.entry }}
    «SELECT p_run, UTC_TIMESTAMP(6), t.*
    FROM work_target AS c
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ column }} = c.id
    FOR UPDATE{% if not maria %} OF t{% endif %}»;
    SET v_copied = v_copied + ROW_COUNT();
    {% endif -%}
«DELETE t FROM work_target AS c
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ column }} = c.id»;
    CALL timed_gone({{ member.position }}, ROW_COUNT());
{%- if not loop.last %}
    {% endif -%}
{%- endfor -%}
{%- if member.referenced_of_family and (not member.adopt or member.adopt.named) %}
    CALL timed_between({{ member.position }}, {{ member.table_literal }});
{%- endif %}
{%- if member.adopt %}
{%- if member.adopt.named %}
    -- Those that name no root, but an instance.
    {{ <w.delete_adopted member from={<w.adopted_by_name member pad="    " />} maria pad="    " /> }}
{%- else %}
{%- for own in member.adopt.owns %}
    -- Those that name no root, but an instance.
    IF EXISTS («{{ own.look }}») THEN
        {{ <w.delete_adopted member from={<w.adopted own pad="        " />} maria pad="        " /> }}
    END IF;
{%- endfor %}
{%- if member.referenced_of_family %}
    CALL timed_between({{ member.position }}, {{ member.table_literal }});
{%- endif %}
{%- endif %}
{%- endif %}
{%- if member.archive %}
    {{ <w.all_taken member /> }}
{%- endif %}
{%- endcomponent w.delete_of_targets %}

{#- The error where not as many rows of a table were deleted as copied. -#}
{% component w.all_taken(member) -%}
SELECT COALESCE(SUM(n.found), 0) INTO v_rows FROM work_count AS n WHERE n.position = {{ member.position }};
    CALL check_copied({{ member.archive.table_literal }}, v_copied, v_rows);
{%- endcomponent w.all_taken %}

{#- What keeps row `r` of the root table of a rule by time: the place of the reason in ELT(). -#}
{% component w.fault_of_root(rule) -%}
{% if rule.timed.ended -%}
CASE WHEN NULLIF(r.{{ rule.timed.ended }}, 0) IS NULL THEN 2 WHEN r.{{ rule.timed.ended }} >= v_least THEN 3 ELSE 9 END
{%- else -%}
9
{%- endif %}
{%- endcomponent w.fault_of_root %}

{#- The members of the families of work_next, with what keeps each; 0: the root is not due any more. -#}
{% component w.members_of_next(rule, column) -%}
«SELECT
            r.{{ rule.key }}, {{ rule.timed.family_of_root }},
            CASE
                WHEN {{ rule.timed.family_of_root }} = r.{{ rule.key }} AND p_cutoff IS NOT NULL AND (NULLIF(r.{{ rule.end_time }}, 0) < p_cutoff) IS NOT TRUE THEN 0
                ELSE {{ <w.fault_of_root rule /> }}
            END
        FROM work_next AS n
        STRAIGHT_JOIN {{ rule.table }} AS r ON r.{{ column }} = n.id»
{%- endcomponent w.members_of_next %}

{#- The rows r of the root table that have no time, though they have ended, where the rule knows when. -#}
{% component w.undated_rows(rule) -%}
FROM {{ rule.table }} AS r
        WHERE (r.{{ rule.end_time }} IS NULL OR r.{{ rule.end_time }} <= 0)
{%- for condition in rule.timed.root_alone %}
          AND {{ condition }}
{%- endfor %}
{%- if rule.timed.ended %}
          AND r.{{ rule.timed.ended }} > 0
{%- endif %}
{%- endcomponent w.undated_rows %}

{#- The rows of the root table in a window, with what keeps each. -#}
{% component w.roots_of_window(rule) -%}
«SELECT
            r.{{ rule.key }}, {{ rule.timed.family_of_root }},
            {{ <w.fault_of_root rule /> }}
        FROM {{ rule.table }} AS r
        WHERE r.{{ rule.end_time }} >= p_from
          AND r.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.root_window %}
          AND {{ condition }}
{%- endfor %}»
{%- endcomponent w.roots_of_window %}

{#- The rows `t` of a window that are not kept: by their instants, as a batch finds them, and by time, as a count does.
    Where families are deleted as such, the rows of those whose root is there are kept. -#}
{% component w.rest_of_window(rule, member, join_roots=true) -%}
FROM work_due AS w
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ rule.end_time }} = w.due
{%- for stay in member.stays %}
    LEFT JOIN {{ stay.work }} AS {{ stay.alias }} ON {{ stay.alias }}.id = t.{{ stay.column }}
{%- endfor %}
{%- if join_roots %}
{%- for root in member.roots %}
    LEFT JOIN {{ rule.table }} AS {{ root.alias }} ON {{ root.on }}
{%- endfor %}
{%- endif %}
    WHERE w.position = {{ member.position }}{% for stay in member.stays %} AND {{ stay.alias }}.id IS NULL{% endfor %}
{%- if join_roots %}{% for root in member.roots %} AND {{ root.alias }}.{{ rule.key }} IS NULL{% endfor %}{% endif %}
{%- for condition in member.conditions %}
      AND {{ condition }}
{%- endfor %}
{%- for condition in member.spares %}
      AND {{ condition }}
{%- endfor %}
{%- for condition in member.unbound %}
      AND {{ condition }}
{%- endfor %}
{%- if not join_roots %}
{%- for root in member.roots %}
      AND NOT EXISTS (SELECT 1 FROM {{ rule.table }} AS {{ root.alias }} WHERE {{ root.on }})
{%- endfor %}
{%- endif %}
{%- endcomponent w.rest_of_window %}

{#- Copies those rows into their archive. MariaDB would lock the roots that it joins, and has no way to lock only `t`. -#}
{% component w.copy_window(rule, member, maria) -%}
INSERT INTO {{ member.archive.entry }}
    «SELECT p_run, UTC_TIMESTAMP(6), t.*
    {{ <w.rest_of_window rule member join_roots={not maria} /> }}
    FOR UPDATE{% if not maria %} OF t{% endif %}»;
    SET v_copied = ROW_COUNT();
{%- endcomponent w.copy_window %}

{#- The families of a work table that holds of other rules keep by rows of a table. -#}
{% component w.bound_families(member, work) -%}
{%- if member.bound | length > 0 %}
{%- for column in member.belongs %}
INSERT IGNORE INTO work_keep (id)
«SELECT n.id
FROM {{ work }} AS n
STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ column }} = n.id
WHERE {{ member.bound | join(sep=" OR ") }}»;
{%- endfor %}
{%- endif %}
{%- endcomponent w.bound_families %}

{#- The same by rows that name no root. -#}
{% component w.bound_adopted(member) -%}
{%- if member.bound | length > 0 and member.adopt %}
{%- if member.adopt.named %}
INSERT IGNORE INTO work_keep (id)
«SELECT m.family
FROM {{ member.adopt.named }} AS m
STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ member.adopt.key }} = m.id
WHERE {{ member.bound | join(sep=" OR ") }}»;
{%- endif %}
{%- for own in member.adopt.owns %}
INSERT IGNORE INTO work_keep (id)
«SELECT m.family
FROM work_root AS m
{%- for join in own.joins %}
STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
WHERE {{ member.bound | join(sep=" OR ") }}»;
{%- endfor %}
{%- endif %}
{%- endcomponent w.bound_adopted %}

{#- The same in a window, whose families are in `work_tied`. -#}
{% component w.bound_in_window(rule, member) -%}
-- {{ member.table_name }}: rows that name no root.
{%- for column in rule.timed.names_root %}
{%- for way in member.adopt.ways %}
INSERT IGNORE INTO work_keep (id)
«SELECT m.family
{{ <w.of_window rule column joins={way.joins} /> }}
STRAIGHT_JOIN {{ member.table }} AS t ON {{ way.on }}{% for column in member.family %} AND t.{{ column }} IS NULL{% endfor %}
WHERE {{ member.bound | join(sep=" OR ") }}»;
{%- endfor %}
{%- for own in member.adopt.owns %}
INSERT IGNORE INTO work_keep (id)
«SELECT m.family
{{ <w.of_window rule column joins={own.joins} /> }}
WHERE {{ member.bound | join(sep=" OR ") }}»;
{%- endfor %}
{%- endfor %}
{%- endcomponent w.bound_in_window %}

{% component w.of_window(rule, column, joins) -%}
FROM (
    SELECT r.{{ rule.key }} AS id, n.id AS family FROM work_tied AS n STRAIGHT_JOIN {{ rule.table }} AS r ON r.{{ column }} = n.id
) AS m
{%- for join in joins %}
STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
{%- endcomponent w.of_window %}

{% component w.rows_of_window(rule, member, stays) -%}
FROM {{ member.table }} AS t
{%- for stay in stays %}
    LEFT JOIN {{ stay.work }} AS {{ stay.alias }} ON {{ stay.alias }}.id = t.{{ stay.column }}
{%- endfor %}
{%- for root in member.roots %}
    LEFT JOIN {{ rule.table }} AS {{ root.alias }} ON {{ root.on }}
{%- endfor %}
    WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- for stay in stays %} AND {{ stay.alias }}.id IS NULL{% endfor %}
{%- for root in member.roots %} AND {{ root.alias }}.{{ rule.key }} IS NULL{% endfor %}
{%- for condition in member.conditions %}
      AND {{ condition }}
{%- endfor %}
{%- for condition in member.spares %}
      AND {{ condition }}
{%- endfor %}
{%- for condition in member.unbound %}
      AND {{ condition }}
{%- endfor %}
{%- endcomponent w.rows_of_window %}

{#- The rows `p` of a window, of no family, that rows `t` name which are not deleted before them, or with them. -#}
{% component w.pinned_in_window(rule, pin, member, child) -%}
FROM {{ member.table }} AS p
    STRAIGHT_JOIN {{ child.table }} AS t ON {{ pin.on }}
{%- for stay in pin.stays %}
    LEFT JOIN {{ stay.work }} AS {{ stay.alias }} ON {{ stay.alias }}.id = t.{{ stay.column }}
{%- endfor %}
{%- for root in child.roots %}
    LEFT JOIN {{ rule.table }} AS {{ root.alias }} ON {{ root.on }}
{%- endfor %}
    LEFT JOIN work_gone AS g ON {% for family in pin.families %}{% if not loop.first %} OR {% endif %}g.id = {{ family }}{% endfor %}
    WHERE p.{{ rule.end_time }} >= p_from AND p.{{ rule.end_time }} < p_to
{%- for alone in member.pinned_alone %}
      AND {{ alone }}
{%- endfor %}
      AND g.id IS NULL
      AND (
          (t.{{ rule.end_time }} >= p_from OR p_dry) AND t.{{ rule.end_time }} <= p.{{ rule.end_time }}
{%- for stay in pin.stays %} AND {{ stay.alias }}.id IS NULL{% endfor %}
{%- for root in child.roots %} AND {{ root.alias }}.{{ rule.key }} IS NULL{% endfor %}
{%- for condition in child.conditions %}
          AND {{ condition }}
{%- endfor %}
{%- for condition in child.spares %}
          AND {{ condition }}
{%- endfor %}
{%- for condition in child.unbound %}
          AND {{ condition }}
{%- endfor %}
      ) IS NOT TRUE
{%- endcomponent w.pinned_in_window %}

{#- That root i is older than the last one of its group that is kept. The group is in the order so that no index on the
    time alone is read through all other groups. A small group has no such one, and is kept. -#}
{% component w.older_than_newest(rule, newest, lock) -%}
({{ newest.place_of_i }}) < (
    SELECT {{ newest.place_of_n }}
    FROM {{ rule.table }} AS n
    WHERE {{ newest.same_as_i | join(sep=" AND ") }}
{%- for predicate in newest.ordered %}
      AND {{ predicate }}
{%- endfor %}
{%- for predicate in newest.counted %}
      AND {{ predicate }}
{%- endfor %}
    ORDER BY {{ newest.order }}
    LIMIT 1{% if newest.offset > 0 %} OFFSET {{ newest.offset }}{% endif %}
{%- if lock %}
    {{ lock }}
{%- endif %}
)
{%- endcomponent w.older_than_newest %}

{#- That root i, which is final and a candidate, is not among the newest of its group. -#}
{% component w.not_newest(rule) -%}
{% for newest in rule.newest -%}
{% if not newest.told -%}
-- The newest {{ newest.count }} of each {{ newest.group_name }} are kept.
{% endif -%}
AND (
    {{ newest.placeless | join(sep=" OR ") }}
{%- if newest.of | length > 0 %}
    OR ({{ newest.of | join(sep=" AND ") }}) IS NOT TRUE
{%- endif %}
    OR {{ <w.older_than_newest rule newest lock="" /> | indent }}
)
{%- if not loop.last %}
{% endif %}
{%- endfor %}
{%- endcomponent w.not_newest %}

{#- The work tables for the keys of tables between the members and other tables: making them, and their names behind others. -#}
{% component w.make_collects(control, rule) -%}
{%- for collect in rule.collects %}
{%- if not collect.joined %}
{%- filter fit %}
    CREATE TEMPORARY TABLE IF NOT EXISTS {{ control }}.{{ collect.work }} (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT {{ collect.made.select }} LIMIT 0;
{%- endfilter %}
{%- endif %}
{%- endfor %}
{%- endcomponent w.make_collects %}

{#- Which of these have rows, and dropping them. Both begin on a new line. -#}
{% component w.filled(rule) -%}
{%- filter fit %}
        SELECT CONCAT_WS(', ',
{%- for collect in rule.collects | those(attribute="joined", value=false) %}
        IF(EXISTS (SELECT 1 FROM {{ collect.work }}), '{{ collect.work }}', NULL){% if not loop.last %},{% endif %}
{%- endfor %}
        ) INTO o_filled;
{%- endfilter %}
{%- endcomponent w.filled %}
{% component w.drop_keys(rule) -%}
{%- filter fit %}
        DROP TEMPORARY TABLE IF EXISTS
{%- for collect in rule.collects | those(attribute="joined", value=false) %}
        {{ collect.work }}{% if not loop.last %},{% endif %}
{%- endfor %};
{%- endfilter %}
{%- endcomponent w.drop_keys %}

{#- Before rows are copied into an archive, in a routine that gives the caller its own mode back at its end. -#}
{% component w.as_they_are() -%}
-- Rows are archived as they are: with dates without a day, and such as the calendar does not have.
SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ALLOW_INVALID_DATES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
{%- endcomponent w.as_they_are %}

{#- The error where not as many rows were deleted as copied. -#}
{% component w.all_copied(control, archive, rows) -%}
CALL {{ control }}.check_copied({{ archive.table_literal }}, v_copied, {{ rows }});
{%- endcomponent w.all_copied %}

{#- Whether the archives fit, once a batch holds the locks that keep the columns of its tables. -#}
{% component w.fits(control, rule) -%}
CALL {{ control }}.check_archive({{ rule.literal }});
{%- endcomponent w.fits %}

{#- How many rows of each table belong to the rows of the root table whose keys are in the work table `members`. -#}
{% component w.rows_below(control, rule, members) -%}
-- {{ rule.name }}_rows: how many rows of each table belong to the ids in {{ members }}, in the order of deletion.
--# create procedure {{ control }}.{{ rule.name }}_rows
CREATE PROCEDURE {{ control }}.{{ rule.name }}_rows(OUT o_rows longtext)
SQL SECURITY DEFINER
COMMENT 'Counts rows by table that belong to the ids in {{ members }}: a JSON list in the order of deletion. Reads only.'
BEGIN
    DECLARE v_rows bigint;
    DECLARE v_more bigint;
{%- if not rule.single %}
    CALL {{ control }}.{{ rule.name }}_work();
{%- endif %}
{%- for collect in rule.collects %}
{%- if collect.joined %}
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.{{ collect.work }};
{%- filter fit %}
    CREATE TEMPORARY TABLE {{ control }}.{{ collect.work }} (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT {{ collect.made.select }} LIMIT 0;
{%- endfilter %}
{%- endif %}
{%- for edge in collect.edges %}
{%- filter fit %}
    INSERT {% if collect.edges | length > 1 %}IGNORE {% endif %}INTO {{ control }}.{{ collect.work }} (id)
    «SELECT t.{{ collect.key }}
    FROM {{ control }}.{{ edge.keys_of_rows }} AS w
{%- if edge.via %}
    STRAIGHT_JOIN {{ edge.via.table }} AS p ON p.{{ edge.via.key }} = w.id
{%- endif %}
    STRAIGHT_JOIN {{ collect.table }} AS t ON {% if edge.via %}{{ edge.via.on }}{{ edge.unless }}{% else %}t.{{ edge.column }} = w.id{% if edge.none %} AND w.id <> {{ edge.none }}{% endif %}{{ edge.kept }}{% endif %}»;
{%- endfilter %}
{%- endfor %}
{%- endfor %}
{%- for copy in rule.copies %}
    -- The same keys once more, for statements that need them twice.
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.{{ copy.work }};
{%- filter fit %}
    CREATE TEMPORARY TABLE {{ control }}.{{ copy.work }} (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT w.id FROM {{ control }}.{{ copy.of }} AS w;
{%- endfilter %}
{%- endfor %}
    SET o_rows = '';
{%- for step in rule.steps %}
    -- {{ step.why }}
    SET v_rows = 0;
{%- for edge in step.edges %}
{%- filter fit %}
    «SELECT COUNT(*)
    ‹INTO v_more›
    FROM {{ control }}.{{ edge.keys_of_rows }} AS w
{%- if edge.via %}
    STRAIGHT_JOIN {{ edge.via.table }} AS p ON p.{{ edge.via.key }} = w.id
{%- endif %}
    STRAIGHT_JOIN {{ step.table }} AS t ON {% if edge.via %}{{ edge.via.on }}{{ edge.unless }}{% else %}t.{{ edge.column }} = w.id{% if edge.none %} AND w.id <> {{ edge.none }}{% endif %}{{ edge.kept }}{% endif %}
{%- for other in edge.others %}
{%- if other.via %}
    LEFT JOIN {{ other.via.table }} AS p{{ loop.index }} ON {{ other.via.on }}
{%- endif %}
    LEFT JOIN {{ control }}.{{ other.keys }} AS o{{ loop.index }} ON o{{ loop.index }}.id = {% if other.via %}p{{ loop.index }}.{{ other.via.key }}{% else %}t.{{ other.column }}{% endif %}{% if other.none %} AND t.{{ other.column }} <> {{ other.none }}{% endif %}
{%- endfor %}
{%- for other in edge.others %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} o{{ loop.index }}.id IS NULL
{%- endfor %}»;
{%- endfilter %}
    SET v_rows = v_rows + v_more;
{%- endfor %}
    SET o_rows = CONCAT(o_rows, {% if not loop.first %}', ', {% endif %}v_rows);
{%- endfor %}
    SET o_rows = CONCAT('[', o_rows, ']');
{%- for copy in rule.copies %}
    DROP TEMPORARY TABLE {{ control }}.{{ copy.work }};
{%- endfor %}
{%- for collect in rule.collects %}
{%- if collect.joined %}
    DROP TEMPORARY TABLE {{ control }}.{{ collect.work }};
{%- endif %}
{%- endfor %}
END;
{%- endcomponent w.rows_below %}

{#- An instant as a time of the rule is compared with it: as it is, or as the number that says it. -#}
{% component w.as_ended(rule, at) -%}
{{ rule.number_of[0] }}{{ at }}{{ rule.number_of[1] }}
{%- endcomponent w.as_ended %}

{#- Whether row t of one table has its time before an instant. -#}
{% component w.within_end(rule, to) -%}
{{ rule.timed.due.time }} < {{ <w.as_ended rule at={to} /> }}
{%- endcomponent w.within_end %}

{#- Whether row t of one table has its time in a window, or has none. -#}
{% component w.within(rule, to="p_to") -%}
{% if rule.numbered %}{{ rule.timed.due.time }} > 0
AND {% endif %}{{ rule.timed.due.time }} >= {{ <w.as_ended rule at="p_from" /> }}
AND {{ <w.within_end rule to={to} /> }}
{%- endcomponent w.within %}

{#- Whether it has the time p_from, where p_to is the next instant. Several numbers may say the same: only those of one lie by their
    keys in an index. -#}
{% component w.within_instant(rule, one=false) -%}
{% if one -%}
{{ rule.timed.due.time }} = v_number
{%- elif rule.numbered -%}
{{ <w.within rule /> }}
{%- else -%}
{{ rule.timed.due.time }} = {{ <w.as_ended rule at="p_from" /> }}
{%- endif %}
{%- endcomponent w.within_instant %}

{#- Whether one number says the instant p_from of all rows: v_number, the last one. Neither it nor another one is looked for where the
    index has entries of what was just deleted. A DOUBLE that no decimal says is not it. -#}
{% component w.one_number(rule) -%}
{%- filter fit %}
SELECT MAX(x.number)
INTO v_number
FROM (
    «SELECT {{ rule.timed.due.time }} AS number
    FROM {{ rule.table }} AS t
    WHERE {{ <w.within rule /> | indent(width=6) }}
{%- for condition in rule.timed.conditions_of_root %}
      AND {{ condition }}
{%- endfor %}
    ORDER BY {{ rule.timed.due.time }} DESC
    LIMIT 1»
) AS x;
{%- endfilter %}
{%- filter fit %}
SELECT COUNT(*) = 0
INTO v_one
FROM (
    «SELECT {{ rule.timed.due.time }} AS number
    FROM {{ rule.table }} AS t
    WHERE {{ <w.within rule /> | indent(width=6) }}
      AND {{ rule.timed.due.time }} <> v_number
{%- for condition in rule.timed.conditions_of_root %}
      AND {{ condition }}
{%- endfor %}
    LIMIT 1»
) AS x;
{%- endfilter %}
{%- endcomponent w.one_number %}

{#- The next rows of an instant by their keys, behind work_at where that has begun. -#}
{% component w.part_of_instant(rule, begun, one) -%}
{%- filter fit %}
        INSERT INTO work_row (id)
        «SELECT t.{{ rule.key }}
        FROM {% if begun %}work_at AS c STRAIGHT_JOIN {% endif %}{{ rule.table }} AS t
        LEFT JOIN work_keep AS k1 ON k1.id = t.{{ rule.key }}
        WHERE {% if begun %}c.only_row = 1 AND {% endif %}{{ <w.within_instant rule one={one} /> }}
        {% if begun %}AND t.{{ rule.key }} > c.id{% endif %}
{%- for condition in rule.timed.conditions_of_root %}
        AND {{ condition }}
{%- endfor %}
        AND k1.id IS NULL
        ORDER BY t.{{ rule.key }}
        LIMIT p_limit»
        ON DUPLICATE KEY UPDATE work_row.id = work_row.id;
{%- endfilter %}
{%- endcomponent w.part_of_instant %}

{#- Whether it lies in a window of which either end may be open. -#}
{% component w.within_ends(rule) -%}
(p_from IS NULL OR {{ rule.timed.due.time }} >= {{ <w.as_ended rule at="p_from" /> }})
AND (p_to IS NULL OR {% if rule.numbered %}{{ rule.timed.due.time }} > 0 AND {% endif %}{{ <w.within_end rule to="p_to" /> }})
{%- endcomponent w.within_ends %}

{#- Whether row t lies between the bounds of a partition; the first has no lower one, and the rows without a time. -#}
{% component w.of_partition(rule) -%}
({{ rule.timed.due.time }} < {{ <w.as_ended rule at="p_to" /> }}
AND (p_from IS NULL OR {{ rule.timed.due.time }} >= {{ <w.as_ended rule at="p_from" /> }})
OR p_from IS NULL AND {{ <w.undated rule /> }})
{%- endcomponent w.of_partition %}

{#- Or has none that counts: of numbers, and where dates are not those of a partition, 0 is none. -#}
{% component w.undated(rule, zero=false) -%}
{% if rule.numbered or zero %}({{ rule.timed.due.time }} IS NULL OR {{ rule.timed.due.time }} <= 0){% else %}{{ rule.timed.due.time }} IS NULL{% endif %}
{%- endcomponent w.undated %}

{#- Whether row i ended before an instant, at or after it, after it, or is not known to have. A zero date is no end; early: none that is
    not after some other instant is read. -#}
{% component w.ended_before(rule, at, early=true) -%}
{% if rule.numbered or early %}{{ rule.time }} > 0 AND {% endif %}{{ rule.time }} < {{ <w.as_ended rule at={at} /> }}
{%- endcomponent w.ended_before %}

{% component w.ended_from(rule, at) -%}
{{ rule.time }} >= {{ <w.as_ended rule at={at} /> }}
{%- endcomponent w.ended_from %}

{% component w.ended_after(rule, at) -%}
{% if rule.numbered %}{{ rule.time }} >= {{ rule.number_of[0] }}{{ at }} + INTERVAL 1 MICROSECOND{{ rule.number_of[1] }}
{%- else %}{{ rule.time }} > {{ <w.as_ended rule at={at} /> }}
{%- endif %}
{%- endcomponent w.ended_after %}

{#- Whether it ended in a microsecond. -#}
{% component w.ended_at(rule, at) -%}
{{ <w.ended_from rule at={at} /> }}
AND {{ rule.time }} < {{ rule.number_of[0] }}{{ at }} + INTERVAL 1 MICROSECOND{{ rule.number_of[1] }}
{%- endcomponent w.ended_at %}

{#- The next roots of a scope; again: those of its last microsecond alone, by their keys. -#}
{% component w.roots_of_scope(rule, again) -%}
INSERT INTO work_due (id, ended)
«SELECT i.{{ rule.key }}, {{ rule.ended }}
FROM work_scope AS s
STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.per }} = s.scope
LEFT JOIN work_gone AS g ON g.id = i.{{ rule.key }}
WHERE s.position = v_position
  AND {{ <w.ended_before rule at="s.cutoff" early={false} /> }}
  AND {{ <w.ended_from rule at="v_after" /> }}
  AND ({{ <w.ended_after rule at="v_after" /> }} OR i.{{ rule.key }} > s.ahead_id)
{%- if again %}
  AND {{ <w.ended_at rule at="v_ended" /> | indent(width=2) }}
{%- endif %}
{%- for predicate in rule.eligible %}
  AND {{ predicate }}
{%- endfor %}
  AND g.id IS NULL
{%- if rule.newest | length > 0 %}
  {{ <w.not_newest rule /> | indent(width=2) }}
{%- endif %}
ORDER BY {% if again %}{{ rule.ended }}{% else %}{{ rule.time }}{% endif %}, i.{{ rule.key }}
LIMIT {% if again %}v_rest{% else %}v_chunk{% endif %}»;
{%- endcomponent w.roots_of_scope %}

{#- The same where scopes do not matter, or all are searched at once. -#}
{% component w.roots_of_all(rule, again) -%}
INSERT INTO work_root (id, ended)
«SELECT i.{{ rule.key }}, {{ rule.ended }}
FROM work_cursor AS c
STRAIGHT_JOIN {{ rule.table }} AS i
{%- if rule.per %}
LEFT JOIN work_scope AS s ON s.scope = i.{{ rule.per }}
{%- endif %}
LEFT JOIN work_gone AS g ON g.id = i.{{ rule.key }}
WHERE c.only_row = 1
  AND {{ <w.ended_before rule at="v_newest" early={false} /> }}
  {%- if rule.per %}
  AND {{ <w.ended_before rule at="COALESCE(s.cutoff, v_default)" early={false} /> }}
  {%- endif %}
  AND {% if rule.otherwise %}{{ <w.ended_from rule at="v_after" /> }}{% else %}{{ <w.ended_from rule at="c.ended" /> }}{% endif %}
  AND ({{ <w.ended_after rule at="c.ended" /> }} OR i.{{ rule.key }} > c.id)
{%- if again %}
  AND {{ <w.ended_at rule at="v_ended" /> | indent(width=2) }}
{%- endif %}
{%- for predicate in rule.eligible %}
  AND {{ predicate }}
{%- endfor %}
  AND g.id IS NULL
{%- if rule.newest | length > 0 %}
  {{ <w.not_newest rule /> | indent(width=2) }}
{%- endif %}
ORDER BY {% if again %}{{ rule.ended }}{% else %}{{ rule.time }}{% endif %}, i.{{ rule.key }}
LIMIT {% if again %}v_rest{% else %}p_limit{% endif %}»;
{%- endcomponent w.roots_of_all %}

{% component w.not_ended(rule) -%}
({{ rule.time }} IS NULL OR {{ rule.time }} <= 0)
{%- endcomponent w.not_ended %}

{#- What root i of a rule with listed scopes must be, besides in policy p or source row and old enough. -#}
{% component w.due_root(rule, newest=true) %}
{%- if rule.timed and rule.timed.root_column %}
AND COALESCE(i.{{ rule.timed.root_column }}, i.{{ rule.key }}) = i.{{ rule.key }}
{%- endif %}
{%- for predicate in rule.eligible %}
AND {{ predicate }}
{%- endfor %}
{%- if newest and rule.newest | length > 0 %}
{{ <w.not_newest rule /> }}
{%- endif %}
{%- endcomponent w.due_root %}

{#- The single rows n that are due now, or that a run would look at, up to a limit in each pass; goes: NULL for want of a time. -#}
{% component w.due_rows(rule, limit) -%}
{% if rule.single.expiry -%}
FROM (
{%- for pass in rule.single.passes %}
{%- filter fit %}
    (
        SELECT {{ pass.due_time }} AS due
        FROM {{ rule.table }} AS t
{%- for predicate in pass.backlog %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ predicate }}
{%- endfor %}
        ORDER BY t.{{ pass.along[0].column }} LIMIT {{ limit }}
    ){% if not loop.last %}
    UNION ALL{% endif %}
{%- endfilter %}
{%- endfor %}
) AS n
{%- else -%}
FROM (
{%- for pass in rule.single.passes %}
{%- filter fit %}
    SELECT {{ pass.due_time }} AS due,
{%- for predicate in pass.backlog %}
            {% if loop.first %}({{ predicate }}) IS TRUE{% else %}AND {{ predicate }}{% endif %}
{%- endfor %} AS goes
{%- endfilter %}

{%- if rule.single.ranked %}
    FROM (
{%- filter fit %}
        SELECT {{ rule.single.ranked.columns }}
        {{ <w.read_rows rule pass limit /> }}
{%- endfilter %}
    ) AS t
{%- else %}
{%- filter fit %}
    {{ <w.read_rows rule pass limit /> }}
{%- endfilter %}
{%- endif %}
{%- endfor %}
) AS n
{%- endif %}
{%- endcomponent w.due_rows %}

{#- The first rows t of a pass, in its order. -#}
{% component w.read_rows(rule, pass, limit) -%}
FROM {{ rule.table }} AS t
{%- for predicate in pass.predicates %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ predicate }}
{%- endfor %}
    ORDER BY {{ pass.order }} LIMIT {{ limit }}
{%- endcomponent w.read_rows %}

{#- One row: the rule, the families that are due now, counted up to a limit, seconds since the oldest ended, and whether
    these are all. -#}
{% component w.due_now(control, rule, limit, schema) -%}
{% if rule.timed and rule.timed.partition -%}
SELECT {{ rule.literal }} AS rule, COUNT(*) AS families, 
    COALESCE(TIMESTAMPDIFF(MICROSECOND, MIN(n.ended), {{ rule.now_here }}), 0) / 1e6 AS age_seconds, true AS complete
FROM (
    SELECT CASE
            WHEN p.partition_description = 'MAXVALUE' THEN NULL
            WHEN p.partition_method = 'RANGE COLUMNS' THEN CAST(TRIM(BOTH '\'' FROM p.partition_description) AS datetime(6))
            WHEN p.partition_expression LIKE 'unix%'
                THEN CAST('1970-01-01' AS datetime(6)) + INTERVAL CAST(p.partition_description AS signed) SECOND
            ELSE CAST('1000-01-01' AS datetime(6))
                + INTERVAL GREATEST(CAST(p.partition_description AS signed) - TO_DAYS('1000-01-01'), 0) DAY
        END AS ended
    FROM information_schema.partitions AS p
    WHERE p.table_schema = {{ schema }}
      AND p.table_name = {{ rule.timed.partition.root }}
      AND p.partition_name IS NOT NULL
      AND p.partition_name NOT IN (SELECT e.name FROM {{ control }}.empty_partition AS e WHERE e.rule = {{ rule.literal }})
) AS n
WHERE n.ended <= {{ rule.cutoff_now_default }}
{%- elif rule.single and not rule.single.expiry -%}
SELECT {{ rule.literal }} AS rule, CAST(COALESCE(SUM(n.goes), 0) AS SIGNED) AS families, 
    COALESCE(TIMESTAMPDIFF(MICROSECOND, MIN(IF(n.goes, n.due, NULL)), {{ rule.single.oldest_now }}), 0) / 1e6 AS age_seconds, COUNT(*) < {{ limit }} AS complete
{{ <w.due_rows rule limit /> }}
{%- elif rule.single -%}
SELECT {{ rule.literal }} AS rule, COUNT(*) AS families, 
    COALESCE(TIMESTAMPDIFF(MICROSECOND, MIN(n.due), {{ rule.single.oldest_now }}), 0) / 1e6 AS age_seconds, COUNT(*) < {{ limit }} AS complete
{{ <w.due_rows rule limit /> }}
{%- elif rule.per -%}
SELECT w.rule, w.families, w.age_seconds, w.complete
FROM (
WITH RECURSIVE said (scope, said, seconds) AS (
    -- The first row has the collation of the column, by which the others are compared, and room for all of them.
{%- filter fit %}
    SELECT (SELECT {{ rule.roomy }} FROM {{ rule.table }} AS i LIMIT 0), 0, CAST(NULL AS SIGNED)
{%- endfilter %}
    UNION ALL
    SELECT {{ rule.scope_of_policy }}, 1, IF(p.enabled, {{ rule.seconds_of_policy }}, NULL)
    FROM said AS o STRAIGHT_JOIN {{ control }}.policy AS p WHERE o.said = 0 AND {{ rule.is_policy }}
{%- if rule.source %}
    UNION ALL
    SELECT {{ rule.source.scope }}, 2, {% if rule.source.ends %}IF({{ rule.source.ends }}, {% endif %}{{ rule.source.seconds }}{% if rule.source.ends %}, NULL){% endif %}
    FROM said AS o STRAIGHT_JOIN {{ rule.source.rows }} WHERE o.said = 0{% if rule.source.says %} AND {{ rule.source.says }}{% endif %}
{%- endif %}
), s AS (
    SELECT o.scope, o.seconds, ROW_NUMBER() OVER (PARTITION BY o.scope ORDER BY o.said, o.seconds IS NOT NULL, o.seconds DESC) AS place
    FROM said AS o WHERE o.scope IS NOT NULL
)
{%- if rule.opt_in %}
SELECT {{ rule.literal }} AS rule, COUNT(*) AS families, 
    COALESCE(TIMESTAMPDIFF(MICROSECOND, (
    -- The oldest of each scope.
    SELECT MIN(o.ended) FROM (
        SELECT (
            SELECT {{ rule.ended }} FROM {{ rule.table }} AS i
            WHERE i.{{ rule.per }} = s.scope
              AND {{ <w.ended_before rule at={rule.cutoff_now} /> }}{{ <w.due_root rule /> | indent(width=14) }}
            ORDER BY {{ rule.time }} LIMIT 1
        ) AS ended
        FROM s WHERE s.place = 1
    ) AS o
), {{ rule.now_here }}), 0) / 1e6 AS age_seconds, COUNT(*) < {{ limit }} AS complete
FROM (
    SELECT {{ rule.ended }} AS ended FROM s STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.per }} = s.scope
    WHERE s.place = 1 AND {{ <w.ended_before rule at={rule.cutoff_now} /> }}{{ <w.due_root rule /> | indent(width=6) }}
    LIMIT {{ limit }}
) AS n
{%- else %}
SELECT {{ rule.literal }} AS rule, COUNT(*) AS families, 
    COALESCE(TIMESTAMPDIFF(MICROSECOND, MIN(n.ended), {{ rule.now_here }}), 0) / 1e6 AS age_seconds, COUNT(*) < {{ limit }} AS complete
FROM (
    SELECT {{ rule.ended }} AS ended FROM {{ rule.table }} AS i LEFT JOIN s ON s.scope = i.{{ rule.per }} AND s.place = 1
    WHERE {{ <w.ended_before rule at={rule.cutoff_now_minimum} /> }}
      AND {{ <w.ended_before rule at={rule.cutoff_now_either} early={false} /> }}{{ <w.due_root rule /> | indent(width=6) }}
    ORDER BY {{ rule.time }} LIMIT {{ limit }}
) AS n
{%- endif %}
) AS w
{%- else -%}
SELECT {{ rule.literal }} AS rule, COUNT(*) AS families, 
    COALESCE(TIMESTAMPDIFF(MICROSECOND, MIN(n.ended), {{ rule.now_here }}), 0) / 1e6 AS age_seconds, COUNT(*) < {{ limit }} AS complete
FROM (
    SELECT {{ rule.ended }} AS ended FROM {{ rule.table }} AS i
    WHERE {{ <w.ended_before rule at={rule.cutoff_now_default} /> }}{{ <w.due_root rule /> | indent(width=6) }}
    ORDER BY {{ rule.time }} LIMIT {{ limit }}
) AS n
{%- endif %}
{%- endcomponent w.due_now %}

{#- The body of a trigger: what the new row names must be there; of a row that changes, only what it names anew. -#}
{% component w.orphan_guard(guard, changes) -%}
BEGIN
    DECLARE v_found   bigint;
    DECLARE v_message varchar(128);
    -- LIMIT: in a trigger the sql_select_limit of the session counts, and may be 0.
{%- for edge in guard.edges %}
    -- {{ edge.child }} names a row of {{ edge.parent_name }}.
    IF {{ edge.present }}{% if changes %} AND ({{ edge.changed }}){% endif %} THEN
{%- for way in edge.ways %}
        SELECT COUNT(*) INTO v_found FROM {{ edge.root }} AS r
        WHERE r.{{ edge.root_key }} = (SELECT {{ way.column }} FROM {{ way.from }} WHERE {{ way.names }})
        LIMIT 1 LOCK IN SHARE MODE;
        -- Gone, or not yet in the snapshot of this transaction.
        IF v_found = 0 THEN
            SELECT COUNT(*) INTO v_found FROM {{ edge.root }} AS r
            WHERE r.{{ edge.root_key }} = (SELECT {{ way.column }} FROM {{ way.from }} WHERE {{ way.names }} LOCK IN SHARE MODE)
            LIMIT 1 LOCK IN SHARE MODE;
        END IF;
{%- endfor %}
        SELECT COUNT(*) INTO v_found FROM {{ edge.parent }} AS p WHERE {{ edge.same }} LIMIT 1 LOCK IN SHARE MODE;
        IF v_found = 0 THEN
            SET v_message = LEFT(CONCAT('{{ edge.child }} names a row of {{ edge.parent_name }} that does not exist: ', {{ edge.value }}), 128);
            SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1452, MESSAGE_TEXT = v_message;
        END IF;
    END IF;
{%- endfor %}
END
{%- endcomponent w.orphan_guard %}

{#- The rows t that a plain rule deletes: those that are named, and those of a window that nothing keeps. -#}
{% component w.plain_target(rule) -%}
FROM work_target AS c
STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = c.id
WHERE {{ <w.within_ends rule /> }}
{%- for condition in rule.timed.conditions_of_root %}
AND {{ condition }}
{%- endfor %}
{%- endcomponent w.plain_target %}

{% component w.plain_window(rule) -%}
{% if rule.numbered -%}
FROM work_target AS c
STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = c.id
LEFT JOIN work_keep AS k1 ON k1.id = t.{{ rule.key }}
WHERE k1.id IS NULL
AND {{ <w.within rule /> }}
{%- else -%}
FROM work_due AS w
STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.timed.due.time }} = {{ <w.as_ended rule at="w.due" /> }}
LEFT JOIN work_keep AS k1 ON k1.id = t.{{ rule.key }}
WHERE k1.id IS NULL
{%- endif %}
{%- for condition in rule.timed.conditions_of_root %}
AND {{ condition }}
{%- endfor %}
{%- endcomponent w.plain_window %}

{#- Lists rows t in work_row, locked. Begins on a new line. -#}
{% component w.plain_listed(rule, rows) %}
        DELETE FROM work_row;
{%- filter fit %}
        INSERT INTO work_row (id)
        «SELECT t.{{ rule.key }}
        {{ rows }}
        FOR UPDATE»
        ON DUPLICATE KEY UPDATE work_row.id = work_row.id;
{%- endfilter %}
{%- endcomponent w.plain_listed %}

{% component w.plain_rows(rule) -%}
FROM work_row AS w
STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = w.id
WHERE {{ <w.within_ends rule /> }}
{%- endcomponent w.plain_rows %}

{#- What the kernel asks every rule: the row that a key names. -#}
{% component w.row(control, rule) -%}
-- {{ rule.name }}_row: the row that a key names, in whatever spelling its column reads.
--# create procedure {{ control }}.{{ rule.name }}_row
CREATE PROCEDURE {{ control }}.{{ rule.name }}_row(IN p_key longtext, OUT o_key longtext, OUT o_found boolean)
SQL SECURITY DEFINER
COMMENT 'The key of the row that p_key names, NULL for what the column cannot hold; whether the rule may delete it.'
BEGIN
    DECLARE v_readable boolean DEFAULT false;
    DECLARE v_way int DEFAULT 0;
{%- if rule.held.composite %}
    IF JSON_VALID(p_key) THEN
        IF JSON_TYPE(p_key) = 'ARRAY' AND JSON_LENGTH(p_key) = {{ rule.held.parts | length }} THEN
            SET v_readable = {{ rule.held.readable }};
        END IF;
    END IF;
{%- else %}
    SET v_readable = {{ rule.held.readable }};
{%- endif %}
    DROP TEMPORARY TABLE IF EXISTS work_hold;
    CREATE TEMPORARY TABLE work_hold (pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE = InnoDB AS
    SELECT {{ rule.held.read }} FROM {{ rule.table }} AS i LIMIT 0;
    WHILE v_readable AND v_way <= {{ rule.held.last_way }} DO
        BEGIN
            -- The column cannot hold this spelling.
            DECLARE CONTINUE HANDLER FOR 1264, 1265, 1292, 1366, 1406, 1690 BEGIN END;
            INSERT INTO work_hold ({{ rule.held.names }}) SELECT {{ rule.held.values }};
        END;
        SET v_way = v_way + 1;
    END WHILE;
    SELECT {{ rule.held.key_as_read }} INTO o_key FROM work_hold AS r LIMIT 1;
    IF o_key IS NOT NULL THEN
{%- filter fit %}
        SELECT {{ rule.held.key }}, {% if rule.by_end %}{{ rule.is_root }}{% else %}true{% endif %}
        INTO o_key, o_found
        FROM work_hold AS r
        STRAIGHT_JOIN {{ rule.table }} AS i ON {{ rule.held.matches }}
        ORDER BY {{ rule.held.key }} = p_key DESC LIMIT 1 LOCK IN SHARE MODE;
{%- endfilter %}
{%- if rule.by_end and rule.links and rule.candidates %}
        -- Or it belongs to the family of one that is.
        IF NOT o_found THEN
            SET o_found = (
                WITH RECURSIVE up AS (
                    -- A link may name what is beyond the range of the key.
                    SELECT {% if rule.id_type %}CAST(r.k1 AS signed){% else %}r.k1{% endif %} AS id
                    FROM work_hold AS r
{%- for link in rule.links %}
                    UNION
                    SELECT {{ link.upper_of_n }}
                    FROM up
                    JOIN {{ link.table }} AS n ON n.{{ link.child }} = up.id
{%- if link.over %}
                    JOIN {{ link.over.table }} AS v ON v.{{ link.over.key }} = n.{{ link.parent }}
{%- endif %}
                    WHERE {{ link.upper_of_n }} IS NOT NULL
{%- endfor %}
                )
                SELECT COUNT(*)
                FROM up
                JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = up.id
                WHERE {{ rule.is_root }}
            ) > 0;
        END IF;
{%- endif %}
{%- if rule.timed %}{% for other in rule.timed.others %}
        -- Or it is one of {{ other.table_name }}.
        IF o_found IS NOT TRUE THEN
            SELECT COALESCE(MAX(r.{{ other.key }}), o_key), COUNT(*) > 0
            INTO o_key, o_found
            FROM work_hold AS h
            STRAIGHT_JOIN {{ other.table }} AS r ON r.{{ other.key }} = h.k1
{%- for condition in other.conditions %}
            {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}
            LOCK IN SHARE MODE;
        END IF;
{%- endfor %}{% endif %}
    END IF;
    DROP TEMPORARY TABLE work_hold;
END;
{%- endcomponent w.row %}

{#- That row t has neither an expiry nor the time of its fallback. -#}
{% component w.timeless(rule) -%}
WHERE (t.{{ rule.end_time }} IS NULL AND {{ rule.single.time }} IS NULL OR t.{{ rule.end_time }} <= 0)
{%- for condition in rule.single.conditions %}
      AND {{ condition }}
{%- endfor %}
{%- endcomponent w.timeless %}

{#- How much is due. -#}
{% component w.due(control, rule) -%}
-- {{ rule.name }}_due: how much is due now, counted up to a limit.
--# create procedure {{ control }}.{{ rule.name }}_due
CREATE PROCEDURE {{ control }}.{{ rule.name }}_due(IN p_limit bigint, OUT o_families bigint, OUT o_looked bigint, OUT o_undated bigint)
SQL SECURITY DEFINER
COMMENT 'How many of the first p_limit rows are due, how many these are, and how many only lack a time. Reads only.'
BEGIN
{%- if not rule.single.expiry %}
    SELECT CAST(COALESCE(SUM(n.goes), 0) AS signed), COUNT(*), COUNT(*) - COUNT(n.goes) INTO o_families, o_looked, o_undated
{%- else %}
{%- filter fit %}
    SELECT COUNT(*), COUNT(*),
{%- if rule.single.aged %}
    (SELECT COUNT(*) FROM (SELECT 1 FROM {{ rule.table }} AS t {{ <w.timeless rule /> }} LIMIT 1) AS u)
{%- else %} 0
{%- endif %} INTO o_families, o_looked, o_undated
{%- endfilter %}
{%- endif %}
    {{ <w.due_rows rule limit="p_limit" /> | indent(width=4) }};
END;
{%- endcomponent w.due %}


{#- The rows t of a pass, where it is under way behind row 1 of the cursor: that is a constant of the statement, so that the index is read
    from there on. As far as row 2 of the work table with the end of a batch, or of what a worker has claimed, where there is one. -#}
{% component w.of_pass(rule, pass, begun, ends, end) -%}
FROM {% if begun %}work_cursor AS c STRAIGHT_JOIN {% endif %}{% if ends %}{{ end }} AS b STRAIGHT_JOIN {% endif %}{{ rule.table }} AS t
{%- if begun %}
        WHERE c.position = 1 AND {{ pass.beyond }}
{%- endif %}
{%- if ends %}
        {% if begun %}AND{% else %}WHERE{% endif %} b.position = 2 AND {{ pass.upto }}
{%- endif %}
{%- for predicate in pass.predicates %}
        {% if loop.first and not begun and not ends %}WHERE{% else %}AND{% endif %} {{ predicate }}
{%- endfor %}
{%- endcomponent w.of_pass %}

{#- Whether row t is deleted in pass p_pass; undated: or would be, if it had a time. -#}
{% component w.single_goes(rule, undated) -%}
{% for condition in rule.single.conditions %}{{ condition }}
      AND {% endfor %}
{%- if rule.single.expiry -%}
      (
          {% if undated %}p_as_of IS NULL
          OR {% endif %}
{%- for pass in rule.single.passes %}{% if not loop.first %}
          OR {% endif %}p_pass = {{ pass.number }}{% for predicate in pass.due %} AND {{ predicate }}{% endfor %}
{%- endfor %}
      )
{%- else -%}
{{ rule.single.goes }}
{%- if rule.single.aged %}
      AND ({% if undated %}p_as_of IS NULL OR {% endif %}{{ rule.single.time }} < v_cutoff
{%- if undated %} OR {{ rule.single.time }} IS NULL{% endif %})
{%- endif %}
{%- endif %}
{%- endcomponent w.single_goes %}

{#- Where the next p_rows rows of a pass end. -#}
{% component w.reach(rule, pass, begun, claimed) -%}
{%- filter fit %}
        INSERT INTO work_bound (position, pass, row_key, {{ pass.names }})
        «SELECT 2, p_pass, {{ pass.key_of_f }}, {{ pass.of_f }}
        FROM (SELECT {{ pass.columns }} {{ <w.of_pass rule pass begun ends={claimed} end="work_end" /> }}
        ORDER BY {{ pass.order }}
        LIMIT p_rows) AS f
        ORDER BY {{ pass.backwards }}
        LIMIT 1»;
{%- endfilter %}
{%- endcomponent w.reach %}

{#- The row behind which the next batch begins, if so many are there; else what is claimed ends there, or the pass. -#}
{% component w.bound(rule, pass, begun, claimed) -%}
{%- filter fit %}
        INSERT INTO work_bound (position, pass, row_key, {{ pass.names }})
        «SELECT 2, p_pass, {{ rule.single.key_text }}, {{ pass.values }} {{ <w.of_pass rule pass begun ends={claimed} end="work_end" /> }}
        ORDER BY {{ pass.order }}
        LIMIT 1 OFFSET v_skip»;
{%- endfilter %}
{%- endcomponent w.bound %}

{#- The last row of a pass. -#}
{% component w.last_bound(rule, pass) -%}
{%- filter fit %}
        INSERT INTO work_bound (position, pass, row_key, {{ pass.names }})
        «SELECT 2, p_pass, {{ rule.single.key_text }}, {{ pass.values }} {{ <w.of_pass rule pass begun={false} ends={false} end="" /> }}
        ORDER BY {{ pass.backwards_t }}
        LIMIT 1»;
{%- endfilter %}
{%- endcomponent w.last_bound %}

{#- A batch whose rows nobody is at and none of which is held: found, judged under their locks and deleted by lists of their keys, which
    cost less than rows of work tables. -#}
{% component w.sweep(control, rule, maria) -%}
-- {{ rule.name }}_sweep: the next p_rows rows after the cursor, where no other session has a row that would be deleted, and nothing is held.
--# create procedure {{ control }}.{{ rule.name }}_sweep
CREATE PROCEDURE {{ control }}.{{ rule.name }}_sweep(
    ⟦IN p_pass integer, IN p_rows bigint, IN p_as_of datetime(6), IN p_cutoff datetime(6), OUT o_found bigint,
    OUT o_first longtext, OUT o_count bigint, OUT o_rows bigint, OUT o_place longtext⟧
)
SQL SECURITY DEFINER
COMMENT 'Fills work_bound with the last row of the batch, and deletes those that may be; o_rows: NULL where one is locked, held or changed.'
BEGIN
    DECLARE v_under_way, v_held, v_more{% if rule.single.shared %}, v_claimed{% endif %} boolean;
    DECLARE v_listed, v_dated bigint;
    DECLARE ⟦v_keys json⟧;
{%- if rule.single.ranked %}
    DECLARE v_again     json;
{%- endif %}
    DECLARE ⟦v_skip integer⟧ DEFAULT p_rows - 1;
    DECLARE ⟦v_ahead bigint⟧ DEFAULT p_rows + {% if rule.single.ranked %}{{ rule.single.ranked.ahead }}{% else %}1{% endif %};
{{- <w.single_clock rule /> }}
    SELECT COUNT(c.position) > 0 INTO v_under_way FROM work_cursor AS c WHERE c.position = 1 AND c.pass = p_pass;
{{- <w.is_claimed rule /> }}
{%- if rule.single.locks %}
    -- Where any row may be held, the search locks none.
    CALL listed_held({{ rule.literal }}, '[]', v_held);
    SET v_ahead = IF(v_held{% if rule.single.above %} OR {{ <w.any_holds_beside list={rule.single.above} /> }}{% endif %}, 0, v_ahead);
{%- endif %}
{%- for pass in rule.single.passes %}
{%- for claimed in [rule.single.shared, false] %}
{%- if claimed or loop.last %}
{%- for begun in [true, false] %}
    {% if begun and pass.number == 1 and claimed == rule.single.shared %}IF{% else %}ELSEIF{% endif %} p_pass = {{ pass.number }}
{%- if claimed %} AND v_claimed{% endif %}{% if begun %} AND v_under_way{% endif %} THEN
{{- <w.bound rule pass begun claimed /> }}
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endfor %}
    END IF;
    -- There are less than p_rows: the batch ends where the claim ends or the pass.
    SET v_more = ROW_COUNT() > 0;
{%- if rule.single.shared %}
    IF NOT v_more AND v_claimed THEN
        INSERT INTO work_bound SELECT e.* FROM work_end AS e;
{%- endif %}
{%- for pass in rule.single.passes %}
    {% if loop.first and not rule.single.shared %}IF{% else %}ELSEIF{% endif %} NOT v_more AND p_pass = {{ pass.number }} THEN
{{- <w.last_bound rule pass /> }}
{%- endfor %}
    END IF;
{%- if not rule.single.ranked %}
{%- for pass in rule.single.passes %}
    {% if loop.first %}IF{% else %}ELSEIF{% endif %} p_pass = {{ pass.number }} AND v_under_way THEN
{{- <w.list rule pass begun={true} locks={rule.single.locks} /> }}
    ELSEIF p_pass = {{ pass.number }} THEN
{{- <w.list rule pass begun={false} locks={rule.single.locks} /> }}
{%- endfor %}
    END IF;
{%- endif %}
{%- if rule.single.ranked %}
{{- <w.list_ranked rule into="v_keys" /> }}
    SET v_listed = JSON_LENGTH(v_keys), v_dated = v_listed{% if not maria %}, o_first = JSON_EXTRACT(v_keys, '$[0 to 9]'){% endif %};
{%- else %}
    SET o_found = {% if rule.single.orphan %}IF(v_more AND v_listed = 0, p_rows, v_listed){% else %}v_listed{% endif %}
{%- if rule.single.locks %}, o_count = v_listed{% endif %}{% if not maria %}, o_first = JSON_EXTRACT(v_keys, '$[0 to 9]'){% endif %};
{%- endif %}
{%- if rule.single.locks %}
    -- They are locked since they were judged: what held then holds until the end of the transaction. Nobody is waited for.
{%- else %}
    -- Under their locks they are judged once more: what holds then holds until the end of the transaction. Nobody is waited for.
{%- endif %}
    CALL listed_held({{ rule.literal }}, v_keys, v_held);
    IF o_found BETWEEN 1 AND p_rows AND v_dated = v_listed AND NOT v_held
{%- if rule.single.locks %} AND v_ahead > 0
{%- elif rule.single.above %}
        AND NOT {{ <w.any_holds_beside list={rule.single.above} /> }}
{%- endif %} THEN
{%- if maria and rule.single.at_once %}
        -- All are judged before any is deleted. Where one is locked this is an error, where one has changed fewer are deleted: both
        -- are taken back.
        SET o_count = v_listed;
        SET STATEMENT innodb_lock_wait_timeout = 0, optimizer_switch = 'materialization=off' FOR
{%- filter fit %}
        «DELETE t
        FROM {{ <w.listed rule /> }}
        STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}
        WHERE {{ <w.single_goes rule undated={false} /> }}»;
{%- endfilter %}
        SET o_rows = ROW_COUNT();
{%- elif rule.single.locks %}
{{- <w.delete_listed rule maria /> }}
{%- else %}
{%- filter fit %}
        «SELECT COUNT(*) ‹INTO o_count›
        FROM {{ <w.listed rule /> }}
        STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}
{%- if rule.single.ranked %}
{%- for condition in rule.single.conditions %}
        {% if loop.first %}WHERE{% else %}AND{% endif %} {{ condition }}
{%- endfor %}
{%- if rule.single.aged %}
        {% if rule.single.conditions %}AND{% else %}WHERE{% endif %} {{ rule.single.time }} < v_cutoff
{%- endif %}
{%- else %}
        WHERE {{ <w.single_goes rule undated={false} /> }}
{%- endif %}
        FOR UPDATE{% if not maria %} OF t{% endif %} SKIP LOCKED»;
{%- endfilter %}
{%- if rule.single.ranked %}
        -- Rows of their groups may have gone meanwhile.
{{- <w.list_ranked rule into="v_again" /> | indent(width=4) }}
{%- endif %}
    END IF;
    IF o_count = v_listed{% if rule.single.ranked %} AND v_again = v_keys{% endif %} THEN
{{- <w.delete_listed rule maria /> }}
{%- endif %}
{%- if maria %}
        SET o_first = CONCAT(SUBSTRING_INDEX(TRIM(TRAILING ']' FROM v_keys), ',', 10), ']');
{%- endif %}
        SELECT JSON_ARRAY(b.pass, b.row_key, {{ rule.single.place_of_b }}) INTO o_place FROM work_bound AS b WHERE b.position = 2;
{%- if rule.single.locks %}
    ELSEIF v_listed > 0 THEN
        -- Locked and not deleted: the caller rolls back where o_rows is not o_count.
        SET o_rows = 0;
{%- endif %}
    END IF;
END;
{%- endcomponent w.sweep %}

{#- The rows of a list, which are locked, are deleted. -#}
{% component w.delete_listed(rule, maria) -%}
{%- if maria %}
{%- filter fit %}
        «DELETE t
        FROM {{ <w.listed rule /> }}
        STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}»;
{%- endfilter %}
        SET o_rows = ROW_COUNT();
{%- else %}
{%- filter fit %}
        CALL delete_listed({{ rule.single.deletes_list }}, v_keys, o_rows);
{%- endfilter %}
{%- endif %}
{%- endcomponent w.delete_listed %}

{#- The keys of those rows of a batch that are deleted, in the order of the pass. locks: under their locks; a condition that is a value, and
    not a join, lets MySQL release the lock of each row that does not meet it. -#}
{% component w.list(rule, pass, begun, locks) -%}
{%- filter fit %}
        «SELECT COUNT(*), COUNT(t.k1), CONCAT('[', COALESCE(GROUP_CONCAT(t.k1), ''), ']')
        ‹INTO v_listed, v_dated, v_keys›
        FROM (SELECT {% if rule.single.orphan and rule.single.aged -%}
            IF({{ rule.single.time }} IS NULL, NULL, t.{{ rule.single.keys[0].column }})
            {%- else %}t.{{ rule.single.keys[0].column }}{% endif %} AS k1 {{ <w.of_pass rule pass begun ends={true} end="work_bound" /> }}
{%- if rule.single.orphan %} AND {{ rule.single.goes }}{% if locks %} IS TRUE{% endif %}
{%- if rule.single.aged %} AND ({{ rule.single.time }} < v_cutoff OR {{ rule.single.time }} IS NULL){% endif %}
{%- endif %}
        ORDER BY {{ pass.order }} LIMIT v_ahead{% if locks %} FOR UPDATE OF t NOWAIT{% endif %}) AS t»;
{%- endfilter %}
{%- endcomponent w.list %}

{#- The same of those that enough rows of their group are newer than. -#}
{% component w.list_ranked(rule, into) -%}
{%- for begun in [true, false] %}
    {% if begun %}IF v_under_way THEN{% else %}ELSE{% endif %}
{%- filter fit %}
        «SELECT COUNT(*), CONCAT('[', COALESCE(GROUP_CONCAT(IF(t.windrow_goes
{%- if rule.single.aged %} AND ({{ rule.single.time }} < v_cutoff OR {{ rule.single.time }} IS NULL){% endif %}
{#- -#}, t.{{ rule.single.keys[0].column }}, NULL)), ''), ']')
        ‹INTO o_found, {{ into }}›
        FROM work_bound AS b STRAIGHT_JOIN (
            SELECT t.*, {{ rule.single.ranked.goes }} AS windrow_goes FROM (
                SELECT {{ rule.single.ranked.columns }}
                {{ <w.of_pass rule pass={rule.single.passes[0]} begun ends={false} end="" /> }}
                ORDER BY {{ rule.single.passes[0].order }}
                LIMIT v_ahead
            ) AS t
            ORDER BY {{ rule.single.passes[0].order }}
            LIMIT v_ahead
        ) AS t
        WHERE b.position = 2 AND {{ rule.single.passes[0].upto }}»;
{%- endfilter %}
{%- endfor %}
    END IF;
{%- endcomponent w.list_ranked %}

{#- Whether a search ends where a claim of a worker ends. -#}
{% component w.is_claimed(rule) -%}
{%- if rule.single.shared %}
    SELECT COUNT(e.position) > 0 INTO v_claimed FROM work_end AS e WHERE e.position > 0;
{%- endif %}
{%- endcomponent w.is_claimed %}

{#- What the times of a rule are compared with. -#}
{% component w.single_clock(rule) -%}
{%- if rule.single.expiry %}
    DECLARE ⟦v_now datetime(6)⟧ DEFAULT {{ rule.single.now }};
{%- endif %}
{%- if rule.single.aged %}
    DECLARE ⟦v_cutoff datetime(6)⟧ DEFAULT {{ rule.single.cutoff }};
{%- endif %}
{%- endcomponent w.single_clock %}

{#- The keys of a list as rows r. -#}
{% component w.listed(rule) -%}
JSON_TABLE(v_keys, '$[*]' COLUMNS (k1 {{ rule.single.keys[0].kind }} PATH '$')) AS r
{%- endcomponent w.listed %}
