-- With whose rights the routines, the views and the event run, and whether that role still exists.
--# definers
SELECT d.kind, d.definer, COUNT(*) AS objects, COUNT(u.user) > 0 AS known
FROM (
    SELECT 'procedure' AS kind, r.definer FROM information_schema.routines AS r WHERE r.routine_schema = {{ control_literal }}
    UNION ALL
    SELECT 'event', e.definer FROM information_schema.events AS e WHERE e.event_schema = {{ control_literal }}
    UNION ALL
    SELECT 'view', v.definer FROM information_schema.views AS v WHERE v.table_schema = {{ control_literal }}
) AS d
LEFT JOIN mysql.user AS u ON CONCAT(u.user, '@', u.host) IN (d.definer, CONCAT(d.definer, '@'))
GROUP BY d.kind, d.definer
ORDER BY d.kind, d.definer;

-- The schedule: whether events run at all, and this one.
--# schedule
SELECT @@GLOBAL.event_scheduler AS event_scheduler, e.status, e.interval_value, e.interval_field, e.starts, e.last_executed
FROM information_schema.events AS e
WHERE e.event_schema = {{ control_literal }};

{% for rule in rules -%}
{% if rule.single and not rule.single.expiry %}-- {{ rule.name }}: rows of {{ rule.table_name }} that {% if rule.single.orphan %}name something which is gone{% else %}enough rows of their group are newer than{% endif %}, whether or not they may be deleted.
--# rows of {{ rule.name }}
{%- filter fit %}
{%- if rule.single.ranked %}
SELECT COUNT(*) AS n FROM (SELECT {{ rule.single.ranked.goes }} AS goes FROM {{ rule.table }} AS t
WHERE {{ rule.single.passes[0].predicates | join(sep=" AND ") }}) AS r
WHERE r.goes;
{%- else %}
SELECT COUNT(*) AS n FROM {{ rule.table }} AS t
WHERE {% for condition in rule.single.conditions %}{{ condition }}
  AND {% endfor %}{{ rule.single.goes }};
{%- endif %}
{%- endfilter %}
{% else %}{% if not rule.by_end %}-- {{ rule.name }}: rows of {{ rule.table_name }} by their {{ rule.end_time_name }}, whether or not they may be deleted.{% else %}-- {{ rule.name }}: final roots by age, whether or not their family may be deleted.{% endif %}
--# ages of {{ rule.name }}
{%- filter fit %}
SELECT DATE_FORMAT({{ rule.ended }}, '%Y-%m') AS ended, COUNT(*) AS roots FROM {{ rule.table }} AS i
{%- if rule.by_end or rule.candidates %}
WHERE {{ rule.eligible | join(sep=" AND ") }}
{%- endif %}
GROUP BY 1 ORDER BY 1;
{%- endfilter %}
{% endif %}{% endfor %}
-- The rest uses views and routines of the installation, which need its owner role.
-- Indexes that the statements need.
--# indexes
SELECT i.index_name, i.table_name, i.usable FROM {{ control }}.index_state AS i ORDER BY i.index_name;
-- Rows whose parent does not exist, by edge.
--# orphans
CALL {{ control }}.orphans();

