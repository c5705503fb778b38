{#- What every file of this folder begins with. A routine keeps the mode, the character set and the collation that it was
    created with; an event keeps the time zone. No statement waits long for a table that a session holds. -#}
{% macro session() -%}
--# set names
SET NAMES utf8mb4 COLLATE utf8mb4_bin;
--# set session
SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
    SESSION time_zone = '+00:00',
    SESSION lock_wait_timeout = 5;
{% endmacro session %}

{#- Parts of a JSON document that keeps its order: an expression as a JSON text. Instants as PostgreSQL writes them. -#}
{% macro text(x) -%}
COALESCE(JSON_QUOTE({{ x }}), 'null')
{%- endmacro text %}

{% macro number(x) -%}
COALESCE(CAST({{ x }} AS CHAR), 'null')
{%- endmacro number %}

{% macro flag(x) -%}
IF({{ x }}, 'true', 'false')
{%- endmacro flag %}

{% macro instant(x) -%}
COALESCE(CONCAT('"', DATE_FORMAT({{ x }}, '%Y-%m-%dT%T'), TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT({{ x }}, '.%f'))), '+00:00"'), 'null')
{%- endmacro instant %}

{#- The hash of a body as generated: without what a client or a server changes: comments, spaces, and how a quote is escaped. -#}
{% macro body_hash(x) -%}
LEFT(SHA2(TRIM(REGEXP_REPLACE(REPLACE(REPLACE(REGEXP_REPLACE({{ x }}, '(?m)^[[:blank:]]*--.*$', ''), '''', ''), CHAR(92 USING utf8mb4), ''), '[[:space:]]+', ' ')), 256), 12)
{%- endmacro body_hash %}
