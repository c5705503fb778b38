{{ session }}

-- The kernel's stamp_advance() calls these. Work tables have the types and collations of the columns in work_type.
{% for stamp in stamped %}
--# create procedure {{ control }}.{{ stamp.name }}_stamp_type
CREATE PROCEDURE {{ control }}.{{ stamp.name }}_stamp_type()
SQL SECURITY DEFINER
COMMENT 'Makes work_type: key and {{ stamp.end_time_name }} of {{ stamp.table_name }}, whose types other work tables take.'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_type;
    CREATE TEMPORARY TABLE {{ control }}.work_type (
        pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY{% if stamp.id_type %},
        id {{ stamp.id_type }} NOT NULL{% endif %}
    ) ENGINE = InnoDB AS
    SELECT {{ stamp.types.select }} LIMIT 0;
END;
--# create procedure {{ control }}.{{ stamp.name }}_stamp_todo
CREATE PROCEDURE {{ control }}.{{ stamp.name }}_stamp_todo(
    ⟦IN p_whole boolean, IN p_named boolean, IN p_all boolean⟧
)
SQL SECURITY DEFINER
COMMENT 'Fills work_todo with families, or instances, by their keys: p_named, p_all, or without a {{ stamp.end_time_name }}.'
BEGIN
    IF p_named THEN
        INSERT INTO {{ control }}.work_todo (id)
        «SELECT DISTINCT {% if stamp.root_column %}IF(p_whole, {{ stamp.family_of_root }}, r.{{ stamp.key }}){% else %}r.{{ stamp.key }}{% endif %} AS id
        FROM {{ control }}.work_named AS n
        STRAIGHT_JOIN {{ stamp.table }} AS r ON r.{{ stamp.key }} = n.id
{%- for condition in stamp.conditions %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}
        ORDER BY id»;
    ELSE
        INSERT INTO {{ control }}.work_todo (id)
        «SELECT DISTINCT {% if stamp.root_column %}IF(p_whole, {{ stamp.family_of_root }}, r.{{ stamp.key }}){% else %}r.{{ stamp.key }}{% endif %} AS id
        FROM {{ stamp.table }} AS r
        WHERE (p_all OR r.{{ stamp.end_time }} IS NULL OR r.{{ stamp.end_time }} = 0)
{%- for condition in stamp.conditions %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY id»;
    END IF;
END;
--# create procedure {{ control }}.{{ stamp.name }}_stamp_rows
CREATE PROCEDURE {{ control }}.{{ stamp.name }}_stamp_rows(⟦IN p_whole boolean⟧)
SQL SECURITY DEFINER
COMMENT 'Locks rows of {{ stamp.table_name }} in work_batch, with p_whole of their families; which lack times, what roots say of these.'
BEGIN
{%- if stamp.of %}
    -- These rows first: no other stamp meets a family that is stamped in part.
{%- else %}
    -- The same lock as that of a purge: no run meets a family that is stamped in part, and no stamp one that is half deleted.
{%- endif %}
{%- if stamp.root_column %}
    INSERT IGNORE INTO {{ control }}.work_member (id, family, lacks)
    «SELECT r.{{ stamp.key }}, {{ stamp.family_of_root }}, NULLIF(r.{{ stamp.end_time }}, 0) IS NULL
    FROM {{ control }}.work_batch AS w
    STRAIGHT_JOIN {{ stamp.table }} AS r ON r.{{ stamp.root_column }} = w.id
    WHERE p_whole
    ORDER BY r.{{ stamp.key }}
    FOR UPDATE»;
{%- endif %}
    INSERT IGNORE INTO {{ control }}.work_member (id, family, lacks)
    «SELECT r.{{ stamp.key }}, {{ stamp.family_of_root }}, NULLIF(r.{{ stamp.end_time }}, 0) IS NULL
    FROM {{ control }}.work_batch AS w
    STRAIGHT_JOIN {{ stamp.table }} AS r ON r.{{ stamp.key }} = w.id
    ORDER BY r.{{ stamp.key }}
    FOR UPDATE»;
{%- if stamp.definition %}
    -- By the time to live of the root's definition in {{ stamp.definition_name }}: NULL there is the default (-1 here), less than 0 or more
    -- than a hundred years is forever (NULL here).
{%- else %}
    -- By the time to live that the spec gives for its {{ stamp.per_name }}: any other means the default (-1 here).
{%- endif %}
    INSERT INTO {{ control }}.work_base (id, starts, ends, live)
    «SELECT
        b.{{ stamp.key }}, NULLIF(b.{{ stamp.start }}, 0), NULLIF(b.{{ stamp.ended }}, 0),
        {% if stamp.definition %}CASE WHEN {{ stamp.says }} IS NULL THEN -1 WHEN {{ stamp.ends }} THEN {{ stamp.seconds }} END{% else %}COALESCE({{ stamp.says }}, -1){% endif %}
    FROM (SELECT DISTINCT m.family AS id FROM {{ control }}.work_member AS m) AS f
    STRAIGHT_JOIN {{ stamp.table }} AS b ON b.{{ stamp.key }} = f.id
{%- if stamp.definition %}
    LEFT JOIN {{ stamp.definition }} AS d ON d.{{ stamp.definition_key }} = b.{{ stamp.per }}
{%- endif %}»;
END;
--# create procedure {{ control }}.{{ stamp.name }}_stamp_set
CREATE PROCEDURE {{ control }}.{{ stamp.name }}_stamp_set(⟦IN p_whole boolean, OUT o_rows longtext⟧)
SQL SECURITY DEFINER
COMMENT 'Sets the {{ stamp.end_time_name }} in work_time of rows of instances, with p_whole of families; answers how many by table.'
BEGIN
    DECLARE v_rows bigint DEFAULT 0;
    -- Where a column is set to what it is, that may be a date without a day.
    SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ALLOW_INVALID_DATES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';
    SET o_rows = '[]';
{%- for step in stamp.steps %}
{% for change in step.changes %}
    «UPDATE {{ control }}.work_time AS w
{%- for join in change.joins %}
    STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
    STRAIGHT_JOIN {{ step.table }} AS t ON {{ change.on }}
    SET t.{{ stamp.end_time }} = w.due{% for column in step.untouched %}, t.{{ column }} = t.{{ column }}{% endfor %}
    WHERE NOT t.{{ stamp.end_time }} <=> w.due{% if change.also %} {{ change.also }}{% endif %}»;
    SET v_rows = v_rows + ROW_COUNT();
{%- endfor %}
    SET o_rows = JSON_ARRAY_APPEND(o_rows, '$', v_rows), v_rows = 0;
{%- endfor %}
END;
{% endfor %}
