--# set lock_timeout
SET lock_timeout = '5s';
-- An index on a big table takes its time; it is built without blocking writers.
--# set statement_timeout
SET statement_timeout = 0;

-- Every statement of this file is run by itself: CREATE INDEX CONCURRENTLY cannot run in a transaction.
{% for index in indexes -%}
-- {{ index.why }}
--! create index {{ index.name }}
{%- filter fit %}
CREATE INDEX CONCURRENTLY IF NOT EXISTS {{ index.ident }}
    ON {{ index.table }} ({{ index.columns }})
{%- if index.predicates | length > 0 %}
    WHERE {{ index.predicates | join(sep=" AND ") }}
{%- endif %};
{%- endfilter %}
{% endfor %}
