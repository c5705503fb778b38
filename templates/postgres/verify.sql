-- Rows whose parent does not exist, by edge.
--# orphans
SELECT o.edge, o.orphans FROM {{ control }}.orphans() AS o ORDER BY o.edge;

-- Indexes that the statements need.
--# indexes
SELECT n.index_name, t.key AS table_name, coalesce(i.indisvalid AND i.indisready, false) AS usable
FROM {{ control }}.spec AS s
CROSS JOIN LATERAL pg_catalog.jsonb_each(s.document -> 'indexes') AS t
CROSS JOIN LATERAL pg_catalog.jsonb_array_elements_text(t.value) AS n(index_name)
LEFT JOIN pg_catalog.pg_class AS x ON x.relname = n.index_name AND x.relnamespace = {{ schema_literal }}::pg_catalog.regnamespace
LEFT JOIN pg_catalog.pg_index AS i ON i.indexrelid = x.oid
ORDER BY n.index_name;

{% for rule in rules -%}
{% if rule.single and not rule.single.expiry %}-- {{ rule.name }}: rows of {{ rule.table_name }} that {% if rule.single.orphan %}name something which is gone{% else %}enough rows of their group are newer than{% endif %}, whether or not they may be deleted.
--# rows of {{ rule.name }}
{%- filter fit %}
SELECT count(*) AS rows FROM {{ rule.table }} AS t
WHERE {% for condition in rule.single.conditions %}{{ condition }}
  AND {% endfor %}{{ rule.single.goes }};
{%- endfilter %}
{% else %}{% if not rule.by_end %}-- {{ rule.name }}: rows of {{ rule.table_name }} by their {{ rule.end_time_name }}, whether or not they may be deleted.{% else %}-- {{ rule.name }}: final roots by age, whether or not their family may be deleted.{% endif %}
--# ages of {{ rule.name }}
{%- if not rule.last %}
{%- filter fit %}
SELECT date_trunc('month', {{ rule.ended }}) AS ended, count(*) AS roots FROM {{ rule.table }} AS i
{%- if rule.by_end or rule.candidates %}
WHERE {{ rule.eligible | join(sep=" AND ") }}
{%- endif %}
GROUP BY 1 ORDER BY 1;
{%- endfilter %}
{%- else %}
SELECT date_trunc('month', {{ rule.last.ended }}) AS ended, count(*) AS roots
FROM {{ rule.table }} AS i
{{ <w.last_end rule /> }}
{%- if rule.by_end or rule.candidates %}
WHERE {{ rule.eligible | join(sep=" AND ") }}
{%- endif %}
GROUP BY 1 ORDER BY 1;
{%- endif %}
{% endif %}{% endfor %}
