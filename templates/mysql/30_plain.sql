{{ session }}

-- {{ rule.name }}_types: the type of keys, for the work tables of the kernel.
--# create procedure {{ control }}.{{ rule.name }}_types
CREATE PROCEDURE {{ control }}.{{ rule.name }}_types()
SQL SECURITY DEFINER
COMMENT 'Makes work_type, whose id has the type and the collation of {{ rule.table_name }}.{{ rule.key_name }}.'
BEGIN
    CREATE TEMPORARY TABLE work_type (pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY{% if rule.id_type %}, id {{ rule.id_type }} NOT NULL{% endif %}) ENGINE = InnoDB AS
    SELECT {{ rule.types.select }} LIMIT 0;
END;

-- {{ rule.name }}_window: where the row is that has p_rows or p_families before it. Nothing is SET to a query: MySQL would lock what it reads.
--# create procedure {{ control }}.{{ rule.name }}_window
CREATE PROCEDURE {{ control }}.{{ rule.name }}_window(
    ⟦IN p_from datetime(6), IN p_rows bigint, IN p_families bigint, INOUT o_to datetime(6)⟧
)
SQL SECURITY DEFINER
COMMENT 'The {{ rule.end_time_name }} of the row that has p_families before it from p_from on; o_to is unchanged where there is none before it. Reads only.'
BEGIN
    SELECT COALESCE(MIN(x.due), o_to)
    INTO o_to
    FROM (
{%- filter fit %}
        «SELECT {{ rule.timed.due.of_t }} AS due
        FROM {{ rule.table }} AS t
        WHERE {{ <w.within rule to="o_to" /> | indent(width=10) }}
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY {{ rule.timed.due.time }}
        LIMIT p_families, 1»
{%- endfilter %}
    ) AS x;
END;

-- {{ rule.name }}_rows: rows of {{ rule.table_name }}, for rows_timed().
--# create procedure {{ control }}.{{ rule.name }}_rows
CREATE PROCEDURE {{ control }}.{{ rule.name }}_rows(⟦IN p_what varchar(10), IN p_from datetime(6), IN p_to datetime(6), IN p_limit bigint⟧)
SQL SECURITY DEFINER
COMMENT 'Fills work_row: named, rows in work_target; undated, those without a {{ rule.end_time_name }}; held, those of a window that are in work_keep; window, the first p_limit that are not; first, the same of one instant, by their keys; next, behind work_at. part and wait lock those of work_row that lie in a window, and list them in work_target; part: without what others have locked.'
BEGIN
{%- if rule.numbered %}
    DECLARE ⟦v_number decimal(65,30)⟧;
    DECLARE v_one boolean;
    IF p_what IN ('first', 'next') THEN
        {{ <w.one_number rule /> | indent(width=8) }}
    END IF;
{%- endif %}
    CASE p_what
    WHEN 'named' THEN
{%- filter fit %}
        INSERT INTO work_row (id, due)
        «SELECT t.{{ rule.key }}, {{ rule.timed.due.dated_of_t }}
        FROM work_target AS c
        STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = c.id
{%- for condition in rule.timed.conditions_of_root %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}»;
{%- endfilter %}
    WHEN 'undated' THEN
{%- filter fit %}
        INSERT INTO work_row (id)
        «SELECT t.{{ rule.key }}
        FROM {{ rule.table }} AS t
        WHERE {{ <w.undated rule zero={true} /> }}
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}
        LIMIT p_limit»;
{%- endfilter %}
    WHEN 'held' THEN
{%- filter fit %}
        INSERT INTO work_row (id)
        «SELECT t.{{ rule.key }}
        FROM {{ rule.table }} AS t
        STRAIGHT_JOIN work_keep AS k1 ON k1.id = t.{{ rule.key }}
        WHERE {{ <w.within rule /> | indent(width=10) }}
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}»;
{%- endfilter %}
{%- for begun in [false, true] %}
    WHEN '{% if begun %}next{% else %}first{% endif %}' THEN
{%- if rule.numbered %}
        IF v_one THEN
{{- <w.part_of_instant rule begun={begun} one={true} /> }}
        ELSE
{{- <w.part_of_instant rule begun={begun} one={false} /> }}
        END IF;
{%- else %}
{{- <w.part_of_instant rule begun={begun} one={false} /> }}
{%- endif %}
{%- endfor %}
{%- for skips in [true, false] %}
    WHEN '{% if skips %}part{% else %}wait{% endif %}' THEN
{%- filter fit %}
        INSERT INTO work_target (id)
        «SELECT t.{{ rule.key }}
        FROM work_row AS w
        STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = w.id
        WHERE {{ <w.within_ends rule /> }}
{%- for condition in rule.timed.conditions_of_root %}
        AND {{ condition }}
{%- endfor %}
        FOR UPDATE{% if not maria %} OF t{% endif %}{% if skips %} SKIP LOCKED{% endif %}»
        ON DUPLICATE KEY UPDATE work_target.id = work_target.id;
{%- endfilter %}
{%- endfor %}
    ELSE
{%- filter fit %}
        INSERT INTO work_row (id, due)
        «SELECT t.{{ rule.key }}, {{ rule.timed.due.of_t }}
        FROM {{ rule.table }} AS t
        LEFT JOIN work_keep AS k1 ON k1.id = t.{{ rule.key }}
        WHERE {{ <w.within rule /> | indent(width=10) }}
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}
          AND k1.id IS NULL
        ORDER BY {{ rule.timed.due.time }}, t.{{ rule.key }}
        LIMIT p_limit»
        ON DUPLICATE KEY UPDATE work_row.id = work_row.id;
{%- endfilter %}
    END CASE;
END;

{% if rule.bound | length > 0 -%}
-- {{ rule.name }}_bound: the rows of a window, or without one those in work_target, that a hold of another rule keeps.
--# create procedure {{ control }}.{{ rule.name }}_bound
CREATE PROCEDURE {{ control }}.{{ rule.name }}_bound(⟦IN p_from datetime(6), IN p_to datetime(6)⟧)
SQL SECURITY DEFINER
COMMENT 'Adds the rows of a window, or without one those in work_target, that holds of other rules keep to work_keep.'
BEGIN
{%- for named in [true, false] %}
    {% if named %}IF p_from IS NULL THEN{% else %}ELSE{% endif %}
        INSERT IGNORE INTO work_keep (id)
        «SELECT t.{{ rule.key }}
{%- if named %}
        FROM work_target AS c
        STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = c.id
        WHERE (
{%- else %}
        FROM {{ rule.table }} AS t
        WHERE {{ <w.within rule /> | indent(width=10) }} AND (
{%- endif %}
{%- for above in rule.bound %}
{%- filter fit %}
            {% if not loop.first %}OR {% endif %}{{ <w.held_beside above /> | indent(width=12) }}
{%- endfilter %}
{%- endfor %}
        )»;
{%- endfor %}
    END IF;
END;

{% endif -%}
-- {{ rule.name }}_count: how many rows a window has.
--# create procedure {{ control }}.{{ rule.name }}_count
CREATE PROCEDURE {{ control }}.{{ rule.name }}_count(⟦IN p_from datetime(6), IN p_to datetime(6), IN p_limit bigint, OUT o_rows bigint⟧)
SQL SECURITY DEFINER
COMMENT 'The rows of {{ rule.table_name }} in a window, else those without {{ rule.end_time_name }}, up to p_limit. Reads only.'
BEGIN
{%- for timed in [true, false] %}
    {% if timed %}IF p_from IS NOT NULL THEN{% else %}ELSE{% endif %}
{%- filter fit %}
        SELECT COUNT(*) INTO o_rows FROM (
            «SELECT {{ rule.timed.due.of_t }}
            FROM {{ rule.table }} AS t
            WHERE {% if timed %}{{ <w.within rule /> | indent(width=14) }}{% else %}{{ <w.undated rule zero={true} /> }}{% endif %}
{%- for condition in rule.timed.conditions_of_root %}
              AND {{ condition }}
{%- endfor %}
            LIMIT p_limit»
        ) AS x;
{%- endfilter %}
{%- endfor %}
    END IF;
END;

-- {{ rule.name }}_delete: deletes the rows of a window: but for those in work_keep, or those that are listed in work_target.
{%- if rule.raw %}
-- where_sql of the spec, which windrow does not read, must be true of every row of the rule: {{ rule.raw }}
-- It is evaluated on locked rows, which are then deleted: a DELETE would lock what it reads, and must not read its own table.
{%- endif %}
--# create procedure {{ control }}.{{ rule.name }}_delete
CREATE PROCEDURE {{ control }}.{{ rule.name }}_delete(
    ⟦IN p_run bigint, IN p_from datetime(6), IN p_to datetime(6), IN p_listed boolean, OUT o_rows bigint⟧
)
SQL SECURITY DEFINER
COMMENT 'Deletes rows of {{ rule.table_name }}, in the caller''s transaction (READ COMMITTED), and answers how many; timed_step() and timed_purge() call it.'
BEGIN
{%- if rule.archive %}
    DECLARE v_copied bigint;
    {{ <w.as_they_are /> | indent }}
{%- endif %}
    IF p_listed THEN
{%- if rule.raw %}
{{- <w.plain_listed rule rows={<w.plain_target rule />} /> }}
{%- endif %}
{%- if rule.archive %}
        INSERT INTO {{ rule.archive.entry }}
        «SELECT p_run, UTC_TIMESTAMP(6), t.*
        {% if rule.raw %}{{ <w.plain_rows rule /> }}{% else %}{{ <w.plain_target rule /> }}{% endif %}
        FOR UPDATE{% if not maria %} OF t{% endif %}»;
        SET v_copied = ROW_COUNT();
{%- endif %}
{%- filter fit %}
        «DELETE t
        {% if rule.raw %}{{ <w.plain_rows rule /> }}{% else %}{{ <w.plain_target rule /> }}{% endif %}»;
{%- endfilter %}
        SET o_rows = ROW_COUNT();
    ELSE
{%- if rule.numbered %}
        -- By their keys: more than one number can mean the same instant.
{%- endif %}
{%- filter fit %}
{%- if rule.numbered %}
        INSERT INTO work_target (id)
        «SELECT t.{{ rule.key }}
{%- else %}
        INSERT INTO work_due (due)
        «SELECT DISTINCT {{ rule.timed.due.of_t }}
{%- endif %}
        FROM {{ rule.table }} AS t
        WHERE {{ <w.within rule /> | indent(width=10) }}
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}»;
{%- endfilter %}
{%- if rule.raw %}
{{- <w.plain_listed rule rows={<w.plain_window rule />} /> }}
{%- endif %}
{%- if rule.archive %}
        INSERT INTO {{ rule.archive.entry }}
        «SELECT p_run, UTC_TIMESTAMP(6), t.*
        {% if rule.raw %}{{ <w.plain_rows rule /> }}{% else %}{{ <w.plain_window rule /> }}{% endif %}
        FOR UPDATE{% if not maria %} OF t{% endif %}»;
        SET v_copied = ROW_COUNT();
{%- endif %}
{%- filter fit %}
        «DELETE t
        {% if rule.raw %}{{ <w.plain_rows rule /> }}{% else %}{{ <w.plain_window rule /> }}{% endif %}»;
{%- endfilter %}
        SET o_rows = ROW_COUNT();
    END IF;
{%- if rule.archive %}
    {{ <w.all_copied control archive={rule.archive} rows="o_rows" /> }}
{%- endif %}
END;

