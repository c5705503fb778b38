{{ session }}

-- Building an index on a big table takes a while. It blocks readers and writers only for a moment, at its beginning and at
-- its end: if it has to wait longer than lock_wait_timeout for an open transaction there, apply this file again.
-- Any index that begins with these columns is used, whoever created it. One that already has the wanted name is kept as it is.
{% for index in indexes %}
-- {{ index.why }}
{%- if index.expression %}
-- A part of it is an expression: while MySQL builds it, others can read the table but not write to it.
{%- endif %}
--! create index {{ index.name }}
CALL make_index({{ index.literal }},
    {{ index.statement | replace(from=" ADD INDEX ", to="
        ADD INDEX ") }});
{% endfor %}