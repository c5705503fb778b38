{%- for table in tables -%}
SELECT {{ table.class }} AS name, 'SELECT{% if table.deleted %},DELETE{% endif %}{% if table.dropped %},INSERT,CREATE,ALTER,DROP,TRIGGER{% endif %}{% if table.updates %},UPDATE of a column{% endif %}{% if archives %},INSERT{% endif %}{% if guards %},TRIGGER{% endif %}' AS rights UNION ALL
{% endfor %}
{%- for name in looked_into -%}
SELECT {{ name }}, 'SELECT{% if archives %},INSERT{% endif %}{% if guards %},TRIGGER{% endif %}' UNION ALL
{% endfor %}
{%- if maria -%}
SELECT '`mysql`.`proc`', 'SELECT' UNION ALL
SELECT '`mysql`.`wsrep_cluster_members`', 'SELECT' UNION ALL
{% else -%}
SELECT '`performance_schema`.`replication_group_members`', 'SELECT' UNION ALL
SELECT '`performance_schema`.`session_connect_attrs`', 'SELECT' UNION ALL
{% endif -%}
{%- if throttles.sees_members and not maria -%}
SELECT '`performance_schema`.`replication_group_member_stats`', 'SELECT' UNION ALL
{% endif -%}
SELECT CONCAT('`', REPLACE({{ schema_literal }}, '`', '``'), '`.*'), '{% if maria %}SHOW VIEW{% else %}SELECT{% endif %}'
