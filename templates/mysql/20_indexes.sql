{% import "macros.sql" as w -%}
{{ session }}

-- An index on a big table takes its time; it is built without blocking readers or writers, but for an instant at its
-- beginning and end: where that has to wait longer than lock_wait_timeout for an open transaction, apply this file again.
-- An index that leads with the columns serves, whoever made it; one that is there under the name wanted is left as it is.
{% for index in indexes %}
-- {{ index.why }}
{%- if index.expression %}
-- A part of it is an expression: while MySQL builds it, others read the table, but nobody writes to it.
{%- endif %}
--! look for index {{ index.name }}
SET @windrow_statement = (
    SELECT IF(COUNT(*) > 0, 'DO 0', {{ index.statement }})
    FROM (
        {{ w::serving(index=index, database=schema_literal, maria=maria) | indent(prefix="        ") }}
        UNION ALL
        SELECT s.index_name
        FROM information_schema.statistics AS s
        WHERE s.table_schema = {{ schema_literal }}
          AND s.table_name = {{ index.table_literal }}
          AND s.index_name = {{ index.literal }}
    ) AS l
);
--! parse index {{ index.name }}
PREPARE windrow_statement FROM @windrow_statement;
--! create index {{ index.name }}
EXECUTE windrow_statement;
--! forget index {{ index.name }}
DEALLOCATE PREPARE windrow_statement;
{% endfor %}