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

{#- The indexes that lead with the columns of a wanted one, whoever made them, and that the optimizer may use. -#}
{% macro serving(index, database, maria) -%}
SELECT s.index_name
FROM information_schema.statistics AS s
WHERE s.table_schema = {{ database }}
  AND s.table_name = {{ index.table_literal }}
  AND (s.seq_in_index, {% if index.expression %}COALESCE(s.column_name, s.expression){% else %}s.column_name{% endif %}) IN ({% for column in index.places %}({{ loop.index }}, {{ column }}){% if not loop.last %}, {% endif %}{% endfor %})
  AND s.collation = 'A'
  AND s.sub_part IS NULL
  AND s.{% if maria %}ignored = 'NO'{% else %}is_visible = 'YES'{% endif %}
GROUP BY s.index_name
HAVING COUNT(*) = {{ index.width }}
{%- endmacro serving %}

{#- Of every index that the statements need, whether one that leads with its columns may be used, and whether its own name
    is there. -#}
{% macro served(indexes, database, maria, expression) -%}
SELECT c.table_name, c.index_name, MAX(c.usable) AS usable, MAX(c.found) AS found
FROM (
    SELECT
        w.table_name,
        w.index_name,
        COUNT(CASE WHEN s.collation = 'A' AND s.sub_part IS NULL AND s.{% if maria %}ignored = 'NO'{% else %}is_visible = 'YES'{% endif %} THEN 1 END) = w.width AS usable,
        COALESCE(s.index_name = w.index_name, false) AS found
    FROM (
{%- for index in indexes %}
{%- for column in index.places %}
        SELECT {{ index.table_literal }} AS table_name, {{ index.literal }} AS index_name, {{ index.width }} AS width, {{ loop.index }} AS place, {{ column }} AS column_name
{%- if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
{%- if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    ) AS w
    LEFT JOIN information_schema.statistics AS s
        ON s.table_schema = {{ database }}
        AND s.table_name = w.table_name
        AND s.seq_in_index = w.place
        AND LOWER({% if expression %}COALESCE(s.column_name, s.expression){% else %}s.column_name{% endif %}) = LOWER(w.column_name)
    GROUP BY w.table_name, w.index_name, w.width, s.index_name
) AS c
GROUP BY c.table_name, c.index_name
{%- endmacro served %}

{#- What a handler learns of the error that it caught: v_errno, v_sqlstate, v_message. -#}
{% macro diagnose(maria) -%}
-- Warnings come before the error. Behind it are the lines of the routines (MariaDB), and what a deadlock could not roll
-- back: work tables.
GET {% if not maria %}STACKED {% endif %}DIAGNOSTICS v_number = NUMBER;
REPEAT
    GET {% if not maria %}STACKED {% endif %}DIAGNOSTICS CONDITION v_number v_errno = MYSQL_ERRNO, v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT;
    SET v_number = v_number - 1;
UNTIL v_errno NOT IN (4094, 1196, 1751, 1752) OR v_number = 0 END REPEAT;
-- A cancel shows in its own way in a sort, and as an error of syntax where it meets MariaDB reading a routine.
IF v_errno = 1028 AND v_message LIKE '%interrupted%' OR v_errno = 1064 THEN
    SET v_errno = 1317, v_sqlstate = '70100';
END IF;
{%- endmacro diagnose %}

{#- The rows t of a table that name a row of the work table of an edge. -#}
{% macro named(control, edge, table, break) -%}
FROM {{ self::joined(control=control, edge=edge, table=table, break=break) }}
{%- endmacro named %}

{#- The same without the word before it. -#}
{% macro joined(control, edge, table, break) -%}
{{ control }}.{{ edge.keys }} AS w
{%- if edge.between %}{{ break }}STRAIGHT_JOIN {{ edge.between.table }} AS p ON p.{{ edge.between.column }} = w.id
{%- elif edge.via %}{{ break }}STRAIGHT_JOIN {{ edge.via.table }} AS p ON p.{{ edge.via.key }} = w.id
{%- endif %}{{ break }}STRAIGHT_JOIN {{ table }} AS t ON {% if edge.via %}{{ edge.via.on }}{% elif edge.between %}t.{{ edge.column }} = p.{{ edge.between.key }}{% else %}t.{{ edge.column }} = w.id{% endif %}
{%- endmacro joined %}

{#- That root i is older than the last one of its group that stays. The group stands in the order so that no index on the
    time alone is read through all other groups. A small group has no such one, and stays. -#}
{% macro older_than_newest(rule, lock) -%}
(i.{{ rule.newest.by }}, i.{{ rule.key }}) < (
    SELECT n.{{ rule.newest.by }}, n.{{ rule.key }}
    FROM {{ rule.table }} AS n
    WHERE n.{{ rule.newest.per }} = i.{{ rule.newest.per }}
      AND n.{{ rule.newest.by }} IS NOT NULL
{%- for predicate in rule.newest.counted %}
      AND {{ predicate }}
{%- endfor %}
    ORDER BY n.{{ rule.newest.per }} DESC, n.{{ rule.newest.by }} DESC, n.{{ rule.key }} DESC
    LIMIT 1{% if rule.newest.offset > 0 %} OFFSET {{ rule.newest.offset }}{% endif %}
{%- if lock %}
    {{ lock }}
{%- endif %}
)
{%- endmacro older_than_newest %}

{#- That root i, which is final and a candidate, is not among the newest of its group. -#}
{% macro not_newest(rule) -%}
-- The newest {{ rule.newest.count }} of each {{ rule.newest.per_name }} stay.
AND (
    i.{{ rule.newest.per }} IS NULL
    OR i.{{ rule.newest.by }} IS NULL
{%- if rule.newest.of | length > 0 %}
    OR ({{ rule.newest.of | join(sep=" AND ") }}) IS NOT TRUE
{%- endif %}
    OR {{ self::older_than_newest(rule=rule, lock="") | indent }}
)
{%- endmacro not_newest %}
