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

-- {{ rule.name }}_work: the work tables of a batch that only this rule has.
--# create procedure {{ control }}.{{ rule.name }}_work
CREATE PROCEDURE {{ control }}.{{ rule.name }}_work(⟦IN p_make boolean, OUT o_filled longtext⟧)
SQL SECURITY DEFINER
COMMENT 'Makes those work tables that only this rule has, where they are missing, and answers which have rows; or drops them.'
BEGIN
{%- if rule.timed.works | length == 0 %}
    SET o_filled = '';
{%- else %}
    IF p_make THEN
{%- for work in rule.timed.works %}
{%- if work.why %}
        -- {{ work.why }}
{%- endif %}
        CREATE TEMPORARY TABLE IF NOT EXISTS {{ work.name }} ({{ work.keys }}) ENGINE = InnoDB AS
        SELECT {{ work.select }} LIMIT 0;
{%- endfor %}
{%- filter fit %}
        SELECT CONCAT_WS(', ',
{%- for work in rule.timed.works %}
        IF(EXISTS (SELECT 1 FROM {{ work.name }}), '{{ work.name }}', NULL){% if not loop.last %},{% endif %}
{%- endfor %}
        ) INTO o_filled;
{%- endfilter %}
    ELSE
{%- filter fit %}
        DROP TEMPORARY TABLE IF EXISTS
{%- for work in rule.timed.works %}
        {{ work.name }}{% if not loop.last %},{% endif %}
{%- endfor %};
{%- endfilter %}
    END IF;
{%- endif %}
END;

-- {{ rule.name }}_window: where the row is that has so many before it, in whichever table it comes first. Nothing is SET to a query: MySQL
-- would lock what it reads.
--# create procedure {{ control }}.{{ rule.name }}_window
CREATE PROCEDURE {{ control }}.{{ rule.name }}_window(
    ⟦IN p_from datetime(6), IN p_rows bigint, IN p_families bigint, INOUT o_to datetime(6)⟧
)
SQL SECURITY DEFINER
COMMENT 'The {{ rule.end_time_name }} of the first row that has p_rows of its table before it, or p_families of {{ rule.table_name }}, from p_from on; o_to is unchanged where there is none. Reads only.'
BEGIN
{%- for member in rule.timed.members %}
    SELECT COALESCE(MIN(x.due), o_to) INTO o_to FROM (
        «SELECT t.{{ rule.end_time }} AS due FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < o_to
{%- for condition in member.conditions %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY t.{{ rule.end_time }} LIMIT {% if member.root %}p_families{% else %}p_rows{% endif %}, 1»
    ) AS x;
{%- endfor %}
END;

-- {{ rule.name }}_rows: rows of {{ rule.table_name }}, for rows_timed().
--# create procedure {{ control }}.{{ rule.name }}_rows
CREATE PROCEDURE {{ control }}.{{ rule.name }}_rows(⟦IN p_what varchar(10), IN p_from datetime(6), IN p_to datetime(6), IN p_limit bigint⟧)
SQL SECURITY DEFINER
COMMENT 'Fills work_row: named, the roots in work_target; undated, families without a {{ rule.end_time_name }}{% if rule.timed.ended %} though they have ended{% endif %}; families, those of a window; roots, the first p_limit of a window; window, those of them that are deleted. Reads only.'
BEGIN
    CASE p_what
    WHEN 'named' THEN
        INSERT INTO work_row (id, due)
        «SELECT t.{{ rule.key }}, NULLIF(t.{{ rule.end_time }}, 0)
        FROM work_target AS c
        STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = c.id
        WHERE {{ rule.timed.is_root }}
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}»;
    WHEN 'undated' THEN
        INSERT IGNORE INTO work_row (id)
        «SELECT DISTINCT {{ rule.timed.family_of_root }}
        {{ <w.undated_rows rule /> }}
        LIMIT p_limit»;
    WHEN 'families' THEN
        INSERT IGNORE INTO work_row (id)
        «SELECT {{ rule.timed.family_of_root }}
        FROM {{ rule.table }} AS r
        WHERE r.{{ rule.end_time }} >= p_from
          AND r.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.root_window %}
          AND {{ condition }}
{%- endfor %}»;
    WHEN 'roots' THEN
        INSERT INTO work_row (id, due)
        «SELECT t.{{ rule.key }}, t.{{ rule.end_time }}
        FROM {{ rule.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from
          AND t.{{ rule.end_time }} < p_to
          AND {{ rule.timed.is_root }}
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY t.{{ rule.end_time }}
        LIMIT p_limit»;
    ELSE
        INSERT INTO work_row (id, due)
        «SELECT t.{{ rule.key }}, t.{{ rule.end_time }}
{%- for member in rule.timed.members %}{% if member.root %}
        {{ <w.rows_of_window rule member stays={member.stays} /> | indent(width=4) }}
{%- endif %}{% endfor %}
          AND {{ rule.timed.is_root }}
        ORDER BY t.{{ rule.end_time }}, t.{{ rule.key }}
        LIMIT p_limit»;
    END CASE;
END;

-- {{ rule.name }}_count: how many roots a window has.
--# create procedure {{ control }}.{{ rule.name }}_count
CREATE PROCEDURE {{ control }}.{{ rule.name }}_count(⟦IN p_from datetime(6), IN p_to datetime(6), IN p_limit bigint, OUT o_rows bigint⟧)
SQL SECURITY DEFINER
COMMENT 'The roots of {{ rule.table_name }} in a window, else the rows without {{ rule.end_time_name }}, up to p_limit. Reads only.'
BEGIN
    IF p_from IS NULL THEN
        SELECT COUNT(*)
        INTO o_rows
        FROM (
            «SELECT r.{{ rule.end_time }}
            {{ <w.undated_rows rule /> }}
            LIMIT p_limit»
        ) AS x;
    ELSE
        SELECT COUNT(*)
        INTO o_rows
        FROM (
            «SELECT t.{{ rule.end_time }}
            FROM {{ rule.table }} AS t
            WHERE t.{{ rule.end_time }} >= p_from
              AND t.{{ rule.end_time }} < p_to
              AND {{ rule.timed.is_root }}
{%- for condition in rule.timed.conditions_of_root %}
              AND {{ condition }}
{%- endfor %}
            LIMIT p_limit»
        ) AS x;
    END IF;
END;

-- {{ rule.name }}_keep: what is kept of a window, and why: families that are held{% if rule.timed.ended %}, not ended or ended too recently{% endif %}{% if rule.timed.references %}, and what others refer to{% endif %}{% for other in rule.timed.others %}{% if loop.first %}; what is held of {% else %} and {% endif %}{{ other.table_name }}{% endfor %}.
{%- if rule.timed.root_column %}
-- A family is the rows that name the same root in {{ rule.table_name }}.
{%- endif %}
--# create procedure {{ control }}.{{ rule.name }}_keep
CREATE PROCEDURE {{ control }}.{{ rule.name }}_keep(⟦IN p_from datetime(6), IN p_to datetime(6), IN p_as_of datetime(6), IN p_lock boolean, IN p_dry boolean⟧)
SQL SECURITY DEFINER
COMMENT 'Fills work_keep with what is kept of the window from p_from to p_to, and work_skip with the reasons.{% if rule.timed.locks %} p_lock: locks the rows of {{ rule.table_name }} in it first; a family that another session holds is kept.{% endif %} p_dry: what goes in earlier batches is still there.'
BEGIN
    DECLARE v_rows  bigint;
{%- if rule.timed.bound %}
    DECLARE v_bound boolean;
{%- endif %}
{%- if rule.timed.ended %}
    DECLARE ⟦v_least datetime(6)⟧ DEFAULT {{ rule.timed.least }};
{% endif %}
{%- if rule.timed.locks %}
    -- A writer that changes a whole family also changes its rows in {{ rule.table_name }}: it waits, or this batch gives way.
    IF p_lock THEN
        INSERT INTO work_root (id, family, fault)
        {{ <w.roots_of_window rule /> }}
        FOR UPDATE SKIP LOCKED;
        INSERT INTO work_locked (id, family)
        «SELECT r.{{ rule.key }}, {{ rule.timed.family_of_root }}
        FROM {{ rule.table }} AS r
        LEFT JOIN work_root AS w ON w.id = r.{{ rule.key }}
        WHERE r.{{ rule.end_time }} >= p_from
          AND r.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.root_window %}
          AND {{ condition }}
{%- endfor %}
          AND w.id IS NULL»;
        INSERT INTO work_root (id, family, fault)
        SELECT l.id, l.family, 5 FROM work_locked AS l;
{%- for member in rule.timed.members | those(attribute="referenced", value=true) %}
{%- if loop.first %}
        -- Whoever brings a row that refers to one of these by a foreign key holds it until that row is there to be read. They are found
        -- by their instants, as by {{ rule.name }}_batch.
        IF COALESCE(@windrow_referred, true) THEN
{%- endif %}
            INSERT INTO work_due (position, due)
            «SELECT DISTINCT {{ member.position }}, t.{{ rule.end_time }} FROM {{ member.table }} AS t
            WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to»;
            «SELECT COUNT(*) ‹INTO v_rows› FROM work_due AS d STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ rule.end_time }} = d.due
            WHERE d.position = {{ member.position }}
{%- for condition in member.rootless %}
              AND {{ condition }}
{%- endfor %}
{%- if member.belongs %}
              AND NOT EXISTS (SELECT 1 FROM {% if rule.timed.middles_of_none %}work_locked AS w WHERE
{%- else %}work_root AS w WHERE w.fault < 9 AND
{%- endif %} w.family IN (t.{{ member.belongs | join(sep=", t.") }}))
{%- endif %}
            FOR UPDATE»;
{%- if rule.timed.middles_of_none %}
            INSERT INTO work_between (position, found)
            VALUES ({{ member.position }}, v_rows);
{%- endif %}
{%- if loop.last %}
            DELETE FROM work_due;
        END IF;
{%- endif %}
{%- endfor %}
    ELSE
        INSERT INTO work_root (id, family, fault)
        {{ <w.roots_of_window rule /> }};
    END IF;
{% endif %}
    CALL timed_held({{ rule.literal }});
{%- if rule.timed.bound %}
    -- Holds of other rules keep whole families, too.
    CALL bound_by({{ rule.literal }}, v_bound);
    IF v_bound THEN
{%- for member in rule.timed.members %}
{%- for column in member.belongs %}
        INSERT IGNORE INTO work_tied (id)
        «SELECT t.{{ column }} FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to AND t.{{ column }} IS NOT NULL»;
{%- endfor %}
{%- endfor %}
{%- for member in rule.timed.members %}
        {{ <w.bound_families member work="work_tied" /> | indent(width=8) }}
{%- if member.bound | length > 0 and member.key %}
        INSERT INTO work_skip (skip_key, reason)
        «SELECT {{ member.key_told }}, 'HELD'
        FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- for condition in member.conditions %}
          AND {{ condition }}
{%- endfor %}
{%- for column in member.belongs %}
          AND t.{{ column }} IS NULL
{%- endfor %}
          AND ({{ member.bound | join(sep=" OR ") }})
        ORDER BY t.{{ member.key }}»;
{%- endif %}
{%- if member.bound | length > 0 and member.adopt and not rule.timed.by_family %}
        {{ <w.bound_in_window rule member /> | indent(width=8) }}
{%- endif %}
{%- endfor %}
        DELETE FROM work_tied;
    END IF;
{%- endif %}
{%- for other in rule.timed.others %}
    INSERT IGNORE INTO {{ other.first }} (id)
    «SELECT {{ other.family }}
    FROM work_keep AS k
    STRAIGHT_JOIN {{ other.table }} AS r ON r.{{ other.key }} = k.id
{%- for condition in other.conditions %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}»;
{%- endfor %}
{%- for list in rule.timed.held %}
    -- What belongs to no family is held by itself, and with it what is its: {{ list.why }}.
{%- for way in list.ways %}
    INSERT IGNORE INTO {{ list.name }} (id)
    «SELECT {{ way.value }} FROM {{ rule.timed.others[way.other].first }} AS w
{%- for join in way.joins %}
    STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
    WHERE {{ way.value }} IS NOT NULL»;
{%- endfor %}
{%- endfor %}
{%- if rule.timed.root_column %}
    -- A hold on any member keeps the whole family.
    INSERT IGNORE INTO work_tied (id)
    «SELECT r.{{ rule.timed.root_column }}
    FROM work_keep AS h
    STRAIGHT_JOIN {{ rule.table }} AS r ON r.{{ rule.key }} = h.id
    WHERE r.{{ rule.timed.root_column }} IS NOT NULL»;
    INSERT IGNORE INTO work_keep (id)
    SELECT h.id FROM work_tied AS h;
    DELETE FROM work_tied;
{%- endif %}
{%- if not rule.timed.locks %}
    INSERT INTO work_root (id, family, fault)
    «SELECT r.{{ rule.key }}, r.{{ rule.key }}, 1
    FROM work_keep AS h
    STRAIGHT_JOIN {{ rule.table }} AS r ON r.{{ rule.key }} = h.id
    WHERE r.{{ rule.end_time }} >= p_from
      AND r.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.root_window %}
      AND {{ condition }}
{%- endfor %}»;
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.referrers %}
    -- {{ member.table_name }}: what is referred to is kept, and its family with it.
{%- for referrer in member.referrers %}
    INSERT IGNORE INTO {{ member.named }} (id)
    «SELECT t.{{ member.key }}
    FROM {{ member.table }} AS t
    STRAIGHT_JOIN {{ referrer.table }} AS r ON r.{{ referrer.column }} = t.{{ member.key }}
    WHERE t.{{ rule.end_time }} >= p_from
      AND t.{{ rule.end_time }} < p_to
{%- if rule.timed.by_family %}
{%- for predicate in member.spares %}
      AND {{ predicate }}
{%- endfor %}
{%- endif %}»;
{%- endfor %}
{%- for column in member.family %}
    INSERT IGNORE INTO work_tied (id)
    «SELECT t.{{ column }}
    FROM {{ member.named }} AS n
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ member.key }} = n.id
    WHERE t.{{ column }} IS NOT NULL»;
{%- endfor %}
{%- endif %}
{%- endfor %}
    CALL timed_faults();
    CALL timed_blame();
{%- for member in rule.timed.members %}
{%- if member.referrers %}
    INSERT INTO work_skip (skip_key, reason)
    «SELECT {{ member.key_told }}, 'REFERENCED'
    FROM {{ member.named }} AS n
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ member.key }} = n.id
{%- for column in member.family %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} t.{{ column }} IS NULL
{%- endfor %}
    ORDER BY t.{{ member.key }}»;
{%- endif %}
{%- endfor %}
{%- for other in rule.timed.others %}
    INSERT INTO work_skip (skip_key, reason)
    «SELECT r.{{ other.key }}, 'HELD'
    FROM {{ other.list }} AS h
    STRAIGHT_JOIN {{ other.table }} AS r ON r.{{ other.key }} = h.id
    WHERE r.{{ rule.end_time }} >= p_from
      AND r.{{ rule.end_time }} < p_to
    ORDER BY r.{{ other.key }}»;
{%- endfor %}
{%- for copy in rule.timed.keep_copies %}
    INSERT INTO {{ copy }} (id)
    SELECT k.id FROM work_keep AS k;
{%- endfor %}
{%- if rule.timed.adopts and not rule.timed.by_family %}
{%- for member in rule.timed.members %}
{%- if member.adopt and member.adopt.named %}
{%- for way in member.adopt.ways %}
    -- What rows of these families name in {{ member.table_name }} is kept with them: {{ way.why }}
{%- for column in rule.timed.names_root %}
    INSERT IGNORE INTO {{ member.named }} (id)
    «SELECT {{ way.names }}
    FROM (
        SELECT p.{{ rule.key }} AS id FROM work_keep AS k STRAIGHT_JOIN {{ rule.table }} AS p ON p.{{ column }} = k.id
    ) AS m
{%- for join in way.joins %}
    STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
    WHERE {{ way.names }} IS NOT NULL»;
{%- endfor %}
{%- for column in way.family %}
    INSERT IGNORE INTO {{ member.named }} (id)
    «SELECT {{ way.names }}
    FROM work_keep AS k
    STRAIGHT_JOIN {{ way.table }} AS r ON {{ column }} = k.id
    WHERE {{ way.names }} IS NOT NULL»;
{%- endfor %}
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.left %}
    -- {{ member.table_name }}: what belongs to no family is kept if rows that are kept, or deleted later, belong to it.
{%- for pin in member.pins %}
    INSERT IGNORE INTO {{ member.pinned }} (id)
    «SELECT p.{{ member.key }}
    {{ <w.pinned_in_window rule pin member child={rule.timed.members[pin.place]} /> }}»;
{%- endfor %}
    INSERT INTO {{ member.left }} (id)
    «SELECT t.{{ member.key }}
    {{ <w.rows_of_window rule member stays={member.stays_before} /> }}
      AND EXISTS (SELECT 1 FROM {{ member.pinned }} AS x WHERE x.id = t.{{ member.key }})»;
    INSERT INTO work_skip (skip_key, reason)
    SELECT {{ member.id_told }}, 'REFERENCED' FROM {{ member.left }} AS l ORDER BY l.id;
{%- endif %}
{%- endfor %}
END;

-- {{ rule.name }}_find: the instants of the rows of a window that are deleted{% if rule.timed.by_family %}, which are of no family whose root is there{% endif %}.
--# create procedure {{ control }}.{{ rule.name }}_find
CREATE PROCEDURE {{ control }}.{{ rule.name }}_find(⟦IN p_from datetime(6), IN p_to datetime(6)⟧)
SQL SECURITY DEFINER
COMMENT 'Fills work_due with the instants of the window from p_from to p_to at which {{ rule.name }}_keep does not keep all rows, by table, and how many rows are deleted. Reads only.'
BEGIN
{%- if rule.timed.middles_of_none %}
    DECLARE v_rows bigint;
{%- endif %}
{%- for member in rule.timed.members %}
    INSERT INTO work_due (position, due, found{% if member.root %}, roots{% endif %})
    «SELECT {{ member.position }}, t.{{ rule.end_time }}, COUNT(*){% if member.root %}, {% if rule.timed.root_column %}SUM({{ rule.timed.is_root }}){% else %}COUNT(*){% endif %}{% endif %} {{ <w.rows_of_window rule member stays={member.stays} /> }}
    GROUP BY t.{{ rule.end_time }}»;
{%- endfor %}
{%- if rule.timed.middles_of_none %}
{%- for member in rule.timed.members | those(attribute="referenced", value=true) %}
{%- if loop.first %}
    -- What has come to tables in between since their rows were locked is not judged.
    IF EXISTS (SELECT 1 FROM work_between) THEN
{%- endif %}
        «SELECT COUNT(*) ‹INTO v_rows› FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from AND t.{{ rule.end_time }} < p_to
{%- for condition in member.rootless %}
          AND {{ condition }}
{%- endfor %}
{%- if member.belongs %}
          AND NOT EXISTS (SELECT 1 FROM work_locked AS w WHERE w.family IN (t.{{ member.belongs | join(sep=", t.") }}))
{%- endif %}»;
        CALL timed_stays({{ member.position }}, v_rows);
{%- if loop.last %}
    END IF;
{%- endif %}
{%- endfor %}
{%- endif %}
END;

-- {{ rule.name }}_batch: one batch: the rows of a window that are deleted, of all tables, in the caller's transaction.
--# create procedure {{ control }}.{{ rule.name }}_batch
CREATE PROCEDURE {{ control }}.{{ rule.name }}_batch(⟦IN p_run bigint, OUT o_families bigint⟧)
SQL SECURITY DEFINER
COMMENT 'Deletes, in the caller''s transaction (READ COMMITTED), the rows with an instant of work_due that {{ rule.name }}_keep{% if rule.timed.locks %} has locked and{% endif %} does not keep, and counts them in work_count; timed_step() calls it.'
BEGIN
{%- if rule.archives %}
    DECLARE v_copied bigint;
    DECLARE v_rows   bigint;
    {{ <w.as_they_are /> | indent }}
{%- endif %}
{%- for member in rule.timed.members %}
    -- {{ member.why }}
{%- if member.archive %}
    {{ <w.copy_window rule member maria /> }}
{%- endif %}
    «DELETE t {{ <w.rest_of_window rule member /> }}
{%- if member.root and rule.timed.root_column %}
      AND NOT {{ rule.timed.is_root }}»;
    CALL timed_gone({{ member.position }}, ROW_COUNT());
    «DELETE t {{ <w.rest_of_window rule member /> }}
      AND {{ rule.timed.is_root }}»;
    SET o_families = ROW_COUNT();
    CALL timed_gone({{ member.position }}, o_families);
{%- elif member.root %}»;
    SET o_families = ROW_COUNT();
    CALL timed_gone({{ member.position }}, o_families);
{%- else %}»;
    CALL timed_gone({{ member.position }}, ROW_COUNT());
{%- endif %}
{%- if member.root and rule.timed.locks %}
    CALL timed_judged({{ member.position }}, false);
{%- elif member.referenced and rule.timed.middles_of_none %}
    CALL timed_between({{ member.position }}, {{ member.table_literal }});
{%- endif %}
{%- if member.archive %}
    {{ <w.all_taken member /> }}
{%- endif %}
{%- endfor %}
END;

{% include "30_families.sql" %}
-- {{ rule.name }}_strays: by table, rows that do not share the {{ rule.end_time_name }} of their root, and rows without one.
--# create procedure {{ control }}.{{ rule.name }}_strays
CREATE PROCEDURE {{ control }}.{{ rule.name }}_strays()
SQL SECURITY DEFINER
COMMENT 'Fills work_stray with the rows that would be deleted without their family, and rows that are never deleted, by table. Reads whole tables; verify() calls it.'
BEGIN
{%- for member in rule.timed.members %}
    INSERT INTO work_stray (table_name, apart, undated)
    «SELECT {{ member.table_literal }}, {% if member.with_root %}COUNT(CASE WHEN r.{{ rule.key }} IS NOT NULL AND NOT t.{{ rule.end_time }} <=> r.{{ rule.end_time }} THEN 1 END){% else %}0{% endif %},
        COUNT(CASE WHEN t.{{ rule.end_time }} IS NULL THEN 1 END)
    FROM {{ member.table }} AS t
{%- if member.with_root %}
    LEFT JOIN {{ rule.table }} AS r ON r.{{ rule.key }} = t.{{ member.with_root }}
{%- endif %}
{%- for condition in member.alone %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}»;
{%- endfor %}
END;

{{ <w.row control rule /> }}
