{{ session }}

-- An index on a big table takes its time; it is built without blocking readers or writers, but for an instant at its
-- beginning and end: where that has to wait longer than lock_wait_timeout for an open transaction, apply this file again.
-- An index that leads with the columns serves, whoever made it; one that is there under the name wanted is left as it is.
{% for index in indexes %}
-- {{ index.why }}
{%- if index.expression %}
-- A part of it is an expression: while MySQL builds it, others read the table, but nobody writes to it.
{%- endif %}
--! create index {{ index.name }}
CALL make_index({{ index.literal }},
    {{ index.statement | replace(from=" ADD INDEX ", to="
        ADD INDEX ") }});
{% endfor %}