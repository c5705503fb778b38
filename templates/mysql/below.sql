{#- The rows `t` that name a row of the work table of an edge, as a batch finds them: its parts, line by line. -#}
{% component b.rows(edge, table) -%}
{{ edge.keys }} AS w
{%- if edge.between %}
STRAIGHT_JOIN {{ edge.between.table }} AS p ON p.{{ edge.between.column }} = w.id
{%- elif edge.via %}
STRAIGHT_JOIN {{ edge.via.table }} AS p ON p.{{ edge.via.key }} = w.id
{%- endif %}
STRAIGHT_JOIN {{ table }} AS t ON {% if edge.via %}{{ edge.via.on }}{% elif edge.between %}t.{{ edge.column }} = p.{{ edge.between.key }}{% else %}t.{{ edge.column }} = w.id{% endif %}{{ edge.unless }}
{%- endcomponent b.rows %}

{#- The same as a count finds them, which keeps the keys of all tables in between in work tables. -#}
{% component b.rows_of_keys(edge, table) -%}
{{ edge.keys_of_rows }} AS w
{%- if edge.via %}
STRAIGHT_JOIN {{ edge.via.table }} AS p ON p.{{ edge.via.key }} = w.id
{%- endif %}
STRAIGHT_JOIN {{ table }} AS t ON {% if edge.via %}{{ edge.via.on }}{{ edge.unless }}{% else %}t.{{ edge.column }} = w.id{% if edge.none %} AND w.id <> {{ edge.none }}{% endif %}{{ edge.kept }}{% endif %}
{%- endcomponent b.rows_of_keys %}

{#- The same rows `t`, each of them once where several others name it. -#}
{% component b.rows_once(keys, column, edge, table) -%}
(SELECT DISTINCT {{ edge.via.named }} FROM {{ keys }} AS w STRAIGHT_JOIN {{ edge.via.table }} AS p ON p.{{ column }} = w.id) AS p
STRAIGHT_JOIN {{ table }} AS t ON {{ edge.via.on }}{{ edge.unless }}
{%- endcomponent b.rows_once %}

{#- That some of these rows are there, looked for by a statement of its own. -#}
{% component b.look(edge, table, pad) -%}
{%- filter fit %}
{{ pad }}SELECT EXISTS (
«SELECT 1 FROM {{ <b.rows edge table /> }}») INTO v_any;
{%- endfilter %}
{%- endcomponent b.look %}

{#- Copies the rows that are deleted next into their archive, adding their number to v_copied. They are locked as the deletion
    locks them: what was copied is what goes. -#}
{% component b.copy(archive, edge, table, maria, pad) -%}
{%- filter fit %}
{{ pad }}INSERT INTO {{ archive.entry }}
«SELECT p_run, UTC_TIMESTAMP(6), t.*
FROM {% if edge.via and edge.via.many and edge.between -%}
{{ <b.rows_once keys={edge.keys} column={edge.between.column} edge table /> }}
{%- elif edge.via and edge.via.many %}{{ <b.rows_once keys={edge.keys} column={edge.via.key} edge table /> }}
{%- else %}{{ <b.rows edge table /> }}{% endif %}
FOR UPDATE{% if not maria %} OF t{% endif %}»;
{%- endfilter %}
{{ pad }}SET v_copied = v_copied + ROW_COUNT();
{%- endcomponent b.copy %}

{#- The deletion from one table, counted in v_rows. -#}
{% component b.delete(step, maria) -%}
{%- if step.archive %}
    SET v_copied = 0;
{%- endif %}
{%- for edge in step.taken %}
{{- <b.look edge table={step.table} pad="    " /> }}
    IF v_any THEN
{%- if step.archive %}
{{- <b.copy archive={step.archive} edge table={step.table} maria pad="        " /> }}
{%- endif %}
{%- filter fit %}
        «DELETE t FROM {{ <b.rows edge table={step.table} /> }}»;
{%- endfilter %}
        SET v_rows = v_rows + ROW_COUNT();
    END IF;
{%- endfor %}
{%- if step.archive %}
    CALL check_copied({{ step.archive.table_literal }}, v_copied, v_rows);
{%- endif %}
{%- if step.locked %}
    CALL all_locked({{ step.table_literal }}, v_rows, {{ step.locked }});
{%- endif %}
{%- endcomponent b.delete %}

{#- The keys of a table whose rows are deleted, for the tables below it, and the locks of those to which foreign keys refer: whoever
    brings a row below one of them holds it, so that it is there to be read once they are locked. The kernel's read_catalog() knows
    whether any key does. Whoever moves one elsewhere holds it, too: what is read of it is what it says under the lock, and where a
    deletion reads the rows themselves it locks them, but a copy before it does not. Where some are kept, no index says which: MariaDB
    scans a nearly empty table, and waits for rows of others, unless a look has found none to lock. -#}
{% component b.collect(collect, archives) -%}
{%- for edge in collect.edges %}
{%- if collect.joined and archives %}
{%- filter fit %}
    «SELECT COUNT(*) ‹INTO {% if collect.locked %}{{ collect.locked }}{% else %}v_copied{% endif %}›
    FROM {{ <b.rows edge table={collect.table} /> }} FOR UPDATE»;
{%- endfilter %}
{%- elif collect.referenced or not collect.joined %}
{%- if edge.kept %}
{{- <b.look edge table={collect.table} pad="    " /> }}
{%- endif %}
{%- filter fit %}
{%- if collect.joined %}
    IF COALESCE(@windrow_referred, true) THEN
    «SELECT COUNT(*) ‹INTO {{ collect.locked }}› FROM {{ <b.rows edge table={collect.table} /> }}
{%- else %}
    {% if edge.kept %}IF v_any THEN {% endif %}INSERT {% if collect.edges | length > 1 %}IGNORE {% endif %}INTO {{ collect.work }} (id)
    «SELECT t.{{ collect.key }} FROM {{ <b.rows edge table={collect.table} /> }}
{%- endif %}
    FOR UPDATE»;{% if collect.joined or edge.kept %} END IF;{% endif %}
{%- endfilter %}
{%- if collect.locked and not collect.joined %}
    SET {{ collect.locked }} = COALESCE({{ collect.locked }}, 0) + ROW_COUNT();
{%- endif %}
{%- endif %}
{%- endfor %}
{%- endcomponent b.collect %}

{#- Sets what rows of another table name to NULL, before it is deleted. -#}
{% component b.release(release) -%}
    -- {{ release.why }}
{{- <b.look edge={release.edge} table={release.table} pad="    " /> }}
    IF v_any THEN
{%- filter fit %}
        «UPDATE {{ <b.rows edge={release.edge} table={release.table} /> }}
        SET {{ release.nulls_of_t }}»;
{%- endfilter %}
{{- <b.look edge={release.edge} table={release.table} pad="        " /> }}
        IF v_any THEN
            SET v_message = LEFT(CONCAT('a trigger keeps what rows of ', {{ release.table_literal }}, ' name; they could not be updated'), 128);
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_message;
        END IF;
    END IF;
{%- endcomponent b.release %}

{#- How many rows belong to the keys of an edge, each row counted with the first of its edges. -#}
{% component b.counted(edge, table) -%}
FROM {% if edge.via and edge.via.many %}{{ <b.rows_once keys={edge.keys_of_rows} column={edge.via.key} edge table /> }}
{%- else %}{{ <b.rows_of_keys edge table /> }}{% endif %}
{%- for other in edge.others %}
{%- if other.via and other.via.many %}
LEFT JOIN (SELECT DISTINCT {{ other.via.named }}, 1 AS is_named FROM {{ other.keys }} AS w
    STRAIGHT_JOIN {{ other.via.table }} AS p ON p.{{ other.via.key }} = w.id) AS p{{ loop.index }} ON {{ other.via.on }}
{%- else %}
{%- if other.via %}
LEFT JOIN {{ other.via.table }} AS p{{ loop.index }} ON {{ other.via.on }}
{%- endif %}
LEFT JOIN {{ other.keys }} AS o{{ loop.index }} ON o{{ loop.index }}.id = {% if other.via %}p{{ loop.index }}.{{ other.via.key }}{% else %}t.{{ other.column }}{% endif %}{% if other.none %} AND t.{{ other.column }} <> {{ other.none }}{% endif %}
{%- endif %}
{%- endfor %}
{%- for other in edge.others %}
{% if loop.first %}WHERE{% else %}AND{% endif -%}
{% if other.via and other.via.many %} p{{ loop.index }}.is_named{% else %} o{{ loop.index }}.id{% endif %} IS NULL
{%- endfor %}»;
{%- endcomponent b.counted %}
