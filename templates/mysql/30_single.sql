{{ session }}

-- {{ rule.name }}_types: the types of {{ rule.table_name }}. The kernel makes other work tables like these.
--# create procedure {{ control }}.{{ rule.name }}_types
CREATE PROCEDURE {{ control }}.{{ rule.name }}_types()
SQL SECURITY DEFINER
COMMENT 'Makes work_type for rows to look at and work_named for keys, with the types of {{ rule.table_name }}.'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS work_type, work_named;
    CREATE TEMPORARY TABLE work_type (
        position bigint NOT NULL AUTO_INCREMENT,
        pass integer NOT NULL DEFAULT 1,
        row_key text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
{%- for time in rule.single.read_times %}
        {{ time }} datetime(6),
{%- endfor %}
        PRIMARY KEY (position)
    ) ENGINE = InnoDB AS
    SELECT {{ rule.types.select }} LIMIT 0;
{%- filter fit %}
    CREATE TEMPORARY TABLE work_named (
        PRIMARY KEY ({{ rule.single.names }})
    ) ENGINE = InnoDB AS
    SELECT {{ rule.single.read_key }} FROM {{ rule.table }} AS t LIMIT 0;
{%- endfilter %}
END;
{% if rule.between %}
-- {{ rule.name }}_between: the keys of tables between {{ rule.table_name }} and what belongs to it.
--# create procedure {{ control }}.{{ rule.name }}_between
CREATE PROCEDURE {{ control }}.{{ rule.name }}_between(⟦IN p_make boolean, OUT o_filled longtext⟧)
SQL SECURITY DEFINER
COMMENT 'Makes these work tables where they are missing, and answers which have rows; or drops them.'
BEGIN
    IF p_make THEN
        {{- <w.make_collects control rule /> | indent }}
        {{- <w.filled rule /> }}
    ELSE
        {{- <w.drop_keys rule /> }}
    END IF;
END;
{% endif %}
-- {{ rule.name }}_search: the next rows of {{ rule.table_name }} after the cursor, at most p_rows of them, in the order of an index.
-- Pass 0: the row that work_target names, locked.
{%- for pass in rule.single.passes %}
-- Pass {{ pass.number }}, {{ pass.name }}: {{ pass.why }}
{%- endfor %}
--# create procedure {{ control }}.{{ rule.name }}_search
CREATE PROCEDURE {{ control }}.{{ rule.name }}_search(
    ⟦IN p_pass integer, IN p_rows bigint, IN p_as_of datetime(6), IN p_cutoff datetime(6)⟧
)
SQL SECURITY DEFINER
COMMENT 'Fills work_row with the next rows behind row 1 of work_cursor, and row 2 of that with the last of them.'
BEGIN
    DECLARE v_under_way boolean;
{%- if rule.single.shared %}
    DECLARE v_claimed boolean;
{%- endif %}
{%- if rule.single.expiry %}
    DECLARE ⟦v_now datetime(6)⟧ DEFAULT {{ rule.single.now }};
{%- endif %}
{%- if rule.single.expiry and rule.single.aged %}
    DECLARE ⟦v_cutoff datetime(6)⟧ DEFAULT {{ rule.single.cutoff }};
{%- endif %}
    SELECT COUNT(c.position) > 0 INTO v_under_way FROM work_cursor AS c WHERE c.position = 1 AND c.pass = p_pass;
{{- <w.is_claimed rule /> }}
    -- That row of the cursor is a constant of the statement, so that the index is read from there on.
{%- for pass in rule.single.passes %}
{%- for claimed in [rule.single.shared, false] %}
{%- if claimed or loop.last %}
{%- for begun in [true, false] %}
    {% if begun and pass.number == 1 and claimed == rule.single.shared %}IF{% else %}ELSEIF{% endif %} p_pass = {{ pass.number }}
{%- if claimed %} AND v_claimed{% endif %}{% if begun %} AND v_under_way{% endif %} THEN
{%- filter fit %}
        INSERT INTO work_row (pass, row_key, {{ pass.names }})
        «SELECT p_pass, {{ rule.single.key_text }}, {{ pass.values }}
        {{ <w.of_pass rule pass begun ends={claimed} end="work_end" /> }}
        ORDER BY {{ pass.order }}
        LIMIT p_rows»;
{%- endfilter %}
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endfor %}
    ELSE
{%- filter fit %}
        INSERT INTO work_row (pass, row_key, {{ rule.single.read_names }})
        «SELECT p_pass, {{ rule.single.key_text }}, {{ rule.single.read_values }}
        FROM work_target AS r
        STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}
        FOR UPDATE»;
{%- endfilter %}
    END IF;
    REPLACE INTO work_cursor (position, pass, row_key, {{ rule.single.read_names }})
    SELECT 2, r.pass, r.row_key, {{ rule.single.read_of_r }} FROM work_row AS r ORDER BY r.position DESC LIMIT 1;
END;

-- {{ rule.name }}_verdict: which of the rows in work_row are deleted:
-- {{ rule.single.why }}
{%- if rule.raw %}
-- where_sql of the spec, which windrow does not read, must be true of every row of the rule: {{ rule.raw }}
{%- endif %}
-- p_as_of is NULL where a purge names rows and their time does not matter. The second look is under the locks of the rows.
--# create procedure {{ control }}.{{ rule.name }}_verdict
CREATE PROCEDURE {{ control }}.{{ rule.name }}_verdict(
    ⟦IN p_look integer, IN p_pass integer, IN p_as_of datetime(6), IN p_cutoff datetime(6)⟧
)
SQL SECURITY DEFINER
COMMENT 'Writes to work_verdict which rows are deleted (no reason) or are due and kept. Look 2 locks them first.'
BEGIN
{{- <w.single_clock rule /> }}
{%- if rule.single.above %}
    -- Holds of what the rows belong to keep them, too.
    DECLARE ⟦v_above boolean⟧ DEFAULT {{ <w.any_holds_beside list={rule.single.above} /> }};
{%- endif %}
    IF p_look = 2 THEN
{%- filter fit %}
        INSERT INTO work_locked (position)
        «SELECT r.position
        FROM work_row AS r
        STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}
        ORDER BY r.position
        FOR UPDATE SKIP LOCKED»;
{%- endfilter %}
    END IF;
    CALL single_held({{ rule.literal }});
    INSERT INTO work_verdict (look, position, reason, due)
    «SELECT p_look, r.position,
        CASE
            WHEN h.{{ rule.single.keys[0].name }} IS NOT NULL THEN 'HELD'
{{- <w.held_above control rule pad="            " /> }}
{%- if rule.single.aged and not rule.single.expiry %}
            WHEN p_as_of IS NOT NULL AND {{ rule.single.time }} IS NULL THEN 'UNDATED_MEMBER'
{%- endif %}
        END,
        {{ rule.single.due }}
{%- filter fit %}
    FROM work_row AS r
    STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}
    LEFT JOIN work_held AS h ON {{ rule.single.holds_r }}
{%- endfilter %}
{%- filter fit %}
    WHERE {{ <w.single_goes rule undated={true} /> }}»;
{%- endfilter %}
END;

{% if rule.single.shared -%}
-- {{ rule.name }}_reach: where the next p_rows rows after the cursor end, for a claim; up to the row of work_end, if there is one.
--# create procedure {{ control }}.{{ rule.name }}_reach
CREATE PROCEDURE {{ control }}.{{ rule.name }}_reach(
    ⟦IN p_pass integer, IN p_rows bigint, IN p_as_of datetime(6), IN p_cutoff datetime(6)⟧
)
SQL SECURITY DEFINER
COMMENT 'Fills work_bound with the last of the next p_rows rows behind row 1 of work_cursor. Reads only.'
BEGIN
    DECLARE v_under_way boolean;
    DECLARE v_claimed boolean;
{{- <w.single_clock rule /> }}
    SELECT COUNT(c.position) > 0 INTO v_under_way FROM work_cursor AS c WHERE c.position = 1 AND c.pass = p_pass;
{{- <w.is_claimed rule /> }}
{%- for pass in rule.single.passes %}
{%- for claimed in [true, false] %}
{%- for begun in [true, false] %}
    {% if begun and claimed and pass.number == 1 %}IF{% else %}ELSEIF{% endif %} p_pass = {{ pass.number }}
{%- if claimed %} AND v_claimed{% endif %}{% if begun %} AND v_under_way{% endif %} THEN
{{- <w.reach rule pass begun claimed /> }}
{%- endfor %}
{%- endfor %}
{%- endfor %}
    END IF;
END;

{% endif -%}
{% if rule.single.swept -%}
{{ <w.sweep control rule maria /> }}

{% endif -%}
{% if rule.single.family -%}
{{ <w.rows_below control rule members="work_taken" /> }}

{% endif -%}
-- {{ rule.name }}_delete: deletes the rows in work_gone{% if rule.single.family %}, and before them what belongs to them{% endif %}.
--# create procedure {{ control }}.{{ rule.name }}_delete
CREATE PROCEDURE {{ control }}.{{ rule.name }}_delete(⟦IN p_run bigint, IN p_count bigint, OUT o_rows longtext⟧)
SQL SECURITY DEFINER
COMMENT 'Deletes, in its caller''s transaction, the rows in work_gone{% if rule.single.family %} and what belongs to them{% endif %}: how many by table.'
BEGIN
    DECLARE v_rows bigint;
{%- if rule.single.family %}
    DECLARE v_any boolean;{% for collect in rule.collects %}{% if collect.locked %} DECLARE {{ collect.locked }} bigint;{% endif %}{% endfor %}
{%- endif %}
{%- if rule.archives %}
    DECLARE v_copied bigint;
    {{ <w.as_they_are /> | indent }}
{%- endif %}
{%- if rule.single.family %}
{%- for collect in rule.collects %}
{{- <b.collect collect archives={rule.archives} /> }}
{%- endfor %}
    SET o_rows = '';
    -- MariaDB scans a nearly empty table, and a DELETE that scans waits for locks on rows of others: look first, with a
    -- separate SELECT, because IF (SELECT ...) locks what it reads.
{%- for step in rule.steps %}
{%- if not loop.last %}
    -- {{ step.why }}
    SET v_rows = 0;
{{- <b.delete step maria /> }}
    SET o_rows = CONCAT(o_rows, v_rows, ', ');
{%- endif %}
{%- endfor %}
    -- {{ rule.table_name }}: the rows themselves.
{%- endif %}
{%- if rule.archive %}
    INSERT INTO {{ rule.archive.entry }}
    «SELECT p_run, UTC_TIMESTAMP(6), t.*
    FROM work_gone AS g
    STRAIGHT_JOIN work_row AS r ON r.position = g.position
    STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}
    FOR UPDATE{% if not maria %} OF t{% endif %}»;
    SET v_copied = ROW_COUNT();
{%- endif %}
{%- filter fit %}
    «DELETE t
    FROM work_gone AS g
    STRAIGHT_JOIN work_row AS r ON r.position = g.position
    STRAIGHT_JOIN {{ rule.table }} AS t ON {{ rule.single.matches_r }}»;
{%- endfilter %}
    SET v_rows = ROW_COUNT();
    CALL single_gone({{ rule.literal }}, v_rows, p_count);
{%- if rule.archive %}
    {{ <w.all_copied control archive={rule.archive} rows="v_rows" /> }}
{%- endif %}
{%- if rule.archives %}
    {{ <w.fits control rule /> }}
{%- endif %}
    SET o_rows = CONCAT('[', {% if rule.single.family %}o_rows, {% endif %}v_rows, ']');
END;
{%- if rule.single.expiry and rule.single.aged %}

-- {{ rule.name }}_undated: rows that have neither {{ rule.end_time_name }} nor {{ rule.single.time_name }}; they can never become due.
--# create procedure {{ control }}.{{ rule.name }}_undated
CREATE PROCEDURE {{ control }}.{{ rule.name }}_undated()
SQL SECURITY DEFINER
COMMENT 'Writes to work_skip the first 100,000 rows that have neither {{ rule.end_time_name }} nor {{ rule.single.time_name }}. Reads only.'
BEGIN
    INSERT INTO work_skip (skip_key, reason)
    «SELECT {{ rule.single.key_text }}, 'UNDATED_MEMBER'
    FROM {{ rule.table }} AS t
    {{ <w.timeless rule /> }}
    LIMIT 100000»;
END;
{%- endif %}

{{ <w.due control rule /> }}
{%- if rule.single.keep_last %}

-- {{ rule.name }}_unranked: how many rows have no group or no place in it; they are kept, and block nothing.
--# create procedure {{ control }}.{{ rule.name }}_unranked
CREATE PROCEDURE {{ control }}.{{ rule.name }}_unranked(OUT o_rows bigint)
SQL SECURITY DEFINER
COMMENT 'Rows with NULL in a column of their group or order. Reads the whole table; verify() asks for it.'
BEGIN
{%- filter fit %}
    SELECT COUNT(*)
    INTO o_rows
    FROM {{ rule.table }} AS t
    WHERE {% for condition in rule.single.conditions %}{{ condition }}
      AND {% endfor %}({{ rule.single.unranked }});
{%- endfilter %}
END;
{%- endif %}
