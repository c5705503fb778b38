--# set lock_timeout
SET lock_timeout = '5s';
-- Building an index on a big table takes a while; it does not block writers.
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
