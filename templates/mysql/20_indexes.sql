{% import "macros.sql" as w -%}
{{ w::session() }}

-- An index on a big table takes its time; it is built without blocking readers or writers, but for an instant at its
-- beginning and end: where that has to wait longer than lock_wait_timeout for an open transaction, apply this file again.
{% for index in indexes %}
-- {{ index.why }}
{%- if maria %}
--! create index {{ index.name }}
ALTER TABLE {{ index.table }}
    ADD INDEX IF NOT EXISTS {{ index.ident }} ({{ index.columns }}),
    ALGORITHM = INPLACE, LOCK = NONE;
{%- else %}
--! look for index {{ index.name }}
SET @windrow_statement = (
    SELECT IF(COUNT(*) > 0, 'DO 0', {{ index.statement }})
    FROM information_schema.statistics AS s
    WHERE s.table_schema = {{ schema_literal }}
      AND s.table_name = {{ index.table_literal }}
      AND s.index_name = {{ index.literal }}
);
--! parse index {{ index.name }}
PREPARE windrow_statement FROM @windrow_statement;
--! create index {{ index.name }}
EXECUTE windrow_statement;
--! forget index {{ index.name }}
DEALLOCATE PREPARE windrow_statement;
{%- endif %}
{% endfor %}
