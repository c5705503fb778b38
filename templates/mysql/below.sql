{#- The rows `t` that name a row of the work table of an edge, as a batch finds them: its parts, line by line. -#}
{% macro rows(edge, table) -%}
{{ edge.keys }} AS w
{%- if edge.between %}
STRAIGHT_JOIN {{ edge.between.table }} AS p ON p.{{ edge.between.column }} = w.id
{%- elif edge.via %}
STRAIGHT_JOIN {{ edge.via.table }} AS p ON p.{{ edge.via.key }} = w.id
{%- endif %}
STRAIGHT_JOIN {{ table }} AS t ON {% if edge.via %}{{ edge.via.on }}{% elif edge.between %}t.{{ edge.column }} = p.{{ edge.between.key }}{% else %}t.{{ edge.column }} = w.id{% endif %}{{ edge.unless }}
{%- endmacro rows %}

{#- The same as a count finds them, which keeps the keys of all tables in between in work tables. -#}
{% macro rows_of_keys(edge, table) -%}
{{ edge.keys_of_rows }} AS w
{%- if edge.via %}
STRAIGHT_JOIN {{ edge.via.table }} AS p ON p.{{ edge.via.key }} = w.id
{%- endif %}
STRAIGHT_JOIN {{ table }} AS t ON {% if edge.via %}{{ edge.via.on }}{{ edge.unless }}{% else %}t.{{ edge.column }} = w.id{% if edge.none %} AND w.id <> {{ edge.none }}{% endif %}{% endif %}
{%- endmacro rows_of_keys %}

{#- That some of these rows are there, looked for by a statement of its own. -#}
{% macro look(edge, table, pad) -%}
{%- filter fit %}
{{ pad }}SELECT EXISTS (
SELECT 1 FROM {{ self::rows(edge=edge, table=table) }}) INTO v_any;
{%- endfilter %}
{%- endmacro look %}

{#- Copies the rows that are deleted next into their archive, adding their number to v_copied. They are locked as the deletion
    locks them: what was copied is what goes. -#}
{% macro copy(archive, edge, table, maria, pad) -%}
{%- filter fit %}
{{ pad }}INSERT INTO {{ archive.entry }}
SELECT p_run, UTC_TIMESTAMP(6), t.*
FROM {{ self::rows(edge=edge, table=table) }}
FOR UPDATE{% if not maria %} OF t{% endif %};
{%- endfilter %}
{{ pad }}SET v_copied = v_copied + ROW_COUNT();
{%- endmacro copy %}

{#- The deletion from one table, counted in v_rows. -#}
{% macro delete(step, maria) -%}
{%- if step.archive %}
    SET v_copied = 0;
{%- endif %}
{%- for edge in step.edges %}
{{- self::look(edge=edge, table=step.table, pad="    ") }}
    IF v_any THEN
{%- if step.archive %}
{{- self::copy(archive=step.archive, edge=edge, table=step.table, maria=maria, pad="        ") }}
{%- endif %}
{%- filter fit %}
        DELETE t FROM {{ self::rows(edge=edge, table=step.table) }};
{%- endfilter %}
        SET v_rows = v_rows + ROW_COUNT();
    END IF;
{%- endfor %}
{%- if step.archive %}
    CALL check_copied({{ step.archive.table_literal }}, v_copied, v_rows);
{%- endif %}
{%- endmacro delete %}

{#- Sets what rows of another table name to NULL, before it goes. -#}
{% macro release(release) -%}
    -- {{ release.why }}
{{- self::look(edge=release.edge, table=release.table, pad="    ") }}
    IF v_any THEN
{%- filter fit %}
        UPDATE {{ self::rows(edge=release.edge, table=release.table) }}
        SET {{ release.nulls_of_t }};
{%- endfilter %}
{{- self::look(edge=release.edge, table=release.table, pad="        ") }}
        IF v_any THEN
            SET v_message = LEFT(CONCAT('a trigger keeps what rows of ', {{ release.table_literal }}, ' name; they could not be updated'), 128);
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_message;
        END IF;
    END IF;
{%- endmacro release %}

{#- How many rows belong to the keys of an edge, each row counted with the first of its edges. -#}
{% macro counted(edge, table) -%}
FROM {{ self::rows_of_keys(edge=edge, table=table) }}
{%- for other in edge.others %}
{%- if other.via %}
LEFT JOIN {{ other.via.table }} AS p{{ loop.index }} ON {{ other.via.on }}
{%- endif %}
LEFT JOIN {{ other.keys }} AS o{{ loop.index }} ON o{{ loop.index }}.id = {% if other.via %}p{{ loop.index }}.{{ other.via.key }}{% else %}t.{{ other.column }}{% endif %}{% if other.none %} AND t.{{ other.column }} <> {{ other.none }}{% endif %}
{%- endfor %}
{%- for other in edge.others %}
{% if loop.first %}WHERE{% else %}AND{% endif %} o{{ loop.index }}.id IS NULL
{%- endfor %};
{%- endmacro counted %}
