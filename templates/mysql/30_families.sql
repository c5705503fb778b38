{% import "macros.sql" as w -%}
-- {{ rule.name }}_next: the next roots that are due, oldest first, after a cursor. Reads, decides nothing.
--# create procedure {{ control }}.{{ rule.name }}_next
CREATE PROCEDURE {{ control }}.{{ rule.name }}_next(
    IN p_time   datetime(6),
    IN p_key    varchar(255),
    IN p_cutoff datetime(6),
    IN p_limit  bigint
)
SQL SECURITY DEFINER
COMMENT 'Fills work_next with the next p_limit roots with a {{ rule.end_time_name }} before p_cutoff, from p_time and p_key on. Reads only; {{ rule.name }}_judge decides. [body @body@]'
BEGIN
    -- What lies before the cursor is not looked at again: an index keeps the entries of deleted rows for a while.
    -- The work table has the type and the collation of the key.
    INSERT INTO {{ control }}.work_cursor (only_row, due, id)
    VALUES (1, p_time, p_key);
    INSERT INTO {{ control }}.work_next (id, due)
    SELECT t.{{ rule.key }}, t.{{ rule.end_time }}
    FROM {{ control }}.work_cursor AS c
    STRAIGHT_JOIN {{ rule.table }} AS t
    WHERE c.only_row = 1
      AND t.{{ rule.end_time }} < p_cutoff
      AND t.{{ rule.end_time }} >= c.due
      AND (t.{{ rule.end_time }} > c.due OR t.{{ rule.key }} > c.id)
      AND {{ rule.timed.is_root }}
    ORDER BY t.{{ rule.end_time }}, t.{{ rule.key }}
    LIMIT p_limit;
END;

-- {{ rule.name }}_judge: which of the families of work_next may go. A family is all rows that name the root, and goes when
-- the {{ rule.end_time_name }} of the root has come, whatever that of its other rows is.
--# create procedure {{ control }}.{{ rule.name }}_judge
CREATE PROCEDURE {{ control }}.{{ rule.name }}_judge(
    IN  p_cutoff   datetime(6),
    IN  p_as_of    datetime(6),
    IN  p_lock     boolean,
    OUT o_families bigint
)
SQL SECURITY DEFINER
COMMENT 'Fills work_target with the roots of work_next whose families may go, and work_skip with the others and why they stay. p_lock: locks their rows of {{ rule.table_name }} first; a family that another session holds stays. [body @body@]'
BEGIN
{%- if rule.timed.ended %}
    DECLARE v_least datetime(6) DEFAULT {{ rule.timed.least }};
{% endif %}
    -- Whoever changes a whole family changes its rows in {{ rule.table_name }} too: he waits for this batch, or it leaves the
    -- family to him.
    IF p_lock THEN
{%- for column in rule.timed.names_root %}
        INSERT IGNORE INTO {{ control }}.work_root (id, family, fault)
        {{ w::members_of_next(control=control, rule=rule, column=column) }}
        FOR UPDATE SKIP LOCKED;
{%- endfor %}
{%- for column in rule.timed.names_root %}
        INSERT IGNORE INTO {{ control }}.work_locked (id, family)
        SELECT r.{{ rule.key }}, {{ rule.timed.family_of_root }}
        FROM {{ control }}.work_next AS n
        STRAIGHT_JOIN {{ rule.table }} AS r ON r.{{ column }} = n.id
        LEFT JOIN {{ control }}.work_root AS w ON w.id = r.{{ rule.key }}
        WHERE w.id IS NULL;
{%- endfor %}
        INSERT INTO {{ control }}.work_root (id, family, fault)
        SELECT l.id, l.family, 5
        FROM {{ control }}.work_locked AS l;
    ELSE
{%- for column in rule.timed.names_root %}
        INSERT IGNORE INTO {{ control }}.work_root (id, family, fault)
        {{ w::members_of_next(control=control, rule=rule, column=column) }};
{%- endfor %}
    END IF;

    -- A hold on any member keeps the whole family.
    INSERT IGNORE INTO {{ control }}.work_keep (id)
    SELECT h.`key`
    FROM {{ control }}.hold AS h
    WHERE h.rule = {{ rule.literal }}
      AND {{ w::holds_now() }};
    UPDATE {{ control }}.work_keep AS h
    STRAIGHT_JOIN {{ control }}.work_root AS w ON w.id = h.id
    SET w.fault = LEAST(w.fault, 1);
{%- for member in rule.timed.members %}
{%- for referrer in member.referrers %}
{%- for column in member.belongs %}
    INSERT IGNORE INTO {{ control }}.work_tied (id)
    SELECT t.{{ column }}
    FROM {{ control }}.work_next AS n
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ column }} = n.id
    STRAIGHT_JOIN {{ referrer.table }} AS r ON r.{{ referrer.column }} = t.{{ member.key }};
{%- endfor %}
{%- endfor %}
{%- endfor %}
{%- if rule.timed.adopts %}
    {{ w::collect_adopted(control=control, rule=rule, pad="    ") }}
{%- for member in rule.timed.members %}
{%- if member.adopt %}
{%- for referrer in member.referrers %}
    INSERT IGNORE INTO {{ control }}.work_tied (id)
{%- if member.adopt.named %}
    SELECT a.family
    FROM {{ control }}.{{ member.adopt.named }} AS a
    STRAIGHT_JOIN {{ referrer.table }} AS x ON x.{{ referrer.column }} = a.id;
{%- else %}
    SELECT m.family
    FROM {{ control }}.work_root AS m
{%- for join in member.adopt.joins %}
    STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
    STRAIGHT_JOIN {{ referrer.table }} AS x ON x.{{ referrer.column }} = t.{{ member.key }};
{%- endif %}
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endif %}
{%- if rule.timed.references %}
    UPDATE {{ control }}.work_tied AS h
    STRAIGHT_JOIN {{ control }}.work_root AS w ON w.family = h.id
    SET w.fault = LEAST(w.fault, 4);
{%- endif %}

    INSERT INTO {{ control }}.work_skip (skip_key, reason)
    SELECT f.family, ELT(f.fault, 'HELD', 'NON_FINAL_MEMBER', 'RETENTION_NOT_REACHED', 'REFERENCED', 'LOCKED')
    FROM (
        SELECT w.family, MIN(w.fault) AS fault
        FROM {{ control }}.work_root AS w
        GROUP BY w.family
    ) AS f
    WHERE f.fault BETWEEN 1 AND 5
    ORDER BY f.family;
    INSERT INTO {{ control }}.work_target (id)
    SELECT f.family
    FROM (
        SELECT w.family, MIN(w.fault) AS fault, MAX(w.id = w.family) AS with_root
        FROM {{ control }}.work_root AS w
        GROUP BY w.family
    ) AS f
    WHERE f.fault = 9
      AND f.with_root;
    SET o_families = ROW_COUNT();
END;

-- {{ rule.name }}_families: one batch: the whole families in work_target, in the caller's transaction.
--# create procedure {{ control }}.{{ rule.name }}_families
CREATE PROCEDURE {{ control }}.{{ rule.name }}_families(
    IN  p_run  bigint,
    OUT o_rows longtext
)
SQL SECURITY DEFINER
COMMENT 'Deletes, in the caller''s transaction (READ COMMITTED), those families of work_next that {{ rule.name }}_judge has locked and lets go: {{ rule.table_list }}. {{ rule.name }}_step calls it, and rolls back for a dry run. [body @body@]'
BEGIN
    DECLARE v_rows bigint;
{%- if rule.archives %}
    DECLARE v_copied bigint;
{%- endif %}
    -- Taken out before COMMIT: should the session of a killed run commit what it began, the next run finds the families by
    -- their roots, which go last.
    INSERT INTO {{ control }}.unfinished (run_id, rule, links)
    VALUES (p_run, {{ rule.literal }}, '[]');
    SET o_rows = '';
{%- for member in rule.timed.members %}

    -- {{ member.table_name }}: {% if member.root %}the families themselves{% elif member.belongs %}rows of the families, whatever their own {{ rule.end_time_name }}{% else %}its rows belong to no family{% endif %}.
    {{ w::delete_of_targets(control=control, member=member, count="v_rows", maria=maria, pad="    ") }}
    SET o_rows = CONCAT(o_rows, {% if not loop.first %}', ', {% endif %}v_rows);
{%- endfor %}
    SET o_rows = CONCAT('[', o_rows, ']');
{%- if rule.archives %}
    {{ w::fits(control=control, rule=rule) }}
{%- endif %}
END;

-- {{ rule.name }}_families_count: what a batch would delete of the families of work_next. Reads only.
--# create procedure {{ control }}.{{ rule.name }}_families_count
CREATE PROCEDURE {{ control }}.{{ rule.name }}_families_count(
    IN  p_cutoff   datetime(6),
    IN  p_as_of    datetime(6),
    OUT o_families bigint,
    OUT o_rows     longtext
)
SQL SECURITY DEFINER
COMMENT 'Rows of those families of work_next that may go, as a JSON list in the order of deletion, and how many these are. Reads only. [body @body@]'
BEGIN
    DECLARE v_rows bigint;
    DECLARE v_more bigint;
    CALL {{ control }}.{{ rule.name }}_judge(p_cutoff, p_as_of, false, o_families);
{%- for twin in rule.timed.twins %}
    INSERT INTO {{ control }}.{{ twin }} (id)
    SELECT c.id FROM {{ control }}.work_target AS c;
{%- endfor %}
    SET o_rows = '';
{%- for member in rule.timed.members %}
    SET v_rows = 0;
{%- for found in member.found %}
    SELECT COUNT(*)
    INTO v_more
    FROM {{ control }}.work_target AS c
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ found.column }} = c.id
{%- for stay in found.before %}
    LEFT JOIN {{ control }}.{{ stay.work }} AS {{ stay.alias }} ON {{ stay.alias }}.id = t.{{ stay.column }}
{%- endfor %}
{%- for stay in found.before %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ stay.alias }}.id IS NULL
{%- endfor %};
    SET v_rows = v_rows + v_more;
{%- endfor %}
{%- if member.adopt %}
    SELECT COUNT(*)
    INTO v_more
    {{ w::adopted(control=control, member=member, pad="    ") }};
    SET v_rows = v_rows + v_more;
{%- endif %}
    SET o_rows = CONCAT(o_rows, {% if not loop.first %}', ', {% endif %}v_rows);
{%- endfor %}
    SET o_rows = CONCAT('[', o_rows, ']');
END;
