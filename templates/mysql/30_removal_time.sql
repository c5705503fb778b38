{% import "macros.sql" as w -%}
{{ session }}

-- The temporary tables of a session begin with work_. They are dropped and made anew instead of emptied: DELETE costs
-- as much as the rows did, TRUNCATE commits. MySQL lets a statement name a temporary table once (error 1137).

-- {{ rule.name }}_open: the work tables that live as long as a run, or a preview.
--# create procedure {{ control }}.{{ rule.name }}_open
CREATE PROCEDURE {{ control }}.{{ rule.name }}_open()
SQL SECURITY DEFINER
COMMENT 'Makes the work tables that outlive a batch: what a preview skipped, what killed runs left. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_skipped, {{ control }}.work_mend, {{ control }}.work_torn;
    CREATE TEMPORARY TABLE {{ control }}.work_skipped (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
    -- What killed runs left half done, and the families that killed purges named.
    CREATE TEMPORARY TABLE {{ control }}.work_mend (
        PRIMARY KEY (run_id)
    ) ENGINE = InnoDB AS
    SELECT u.run_id FROM {{ control }}.unfinished AS u WHERE u.rule = {{ rule.literal }};
    CREATE TEMPORARY TABLE {{ control }}.work_torn (
        {%- if rule.id_type %}
        id {{ rule.id_type }} NOT NULL,
        {%- endif %}
        run_id bigint NOT NULL DEFAULT 0,
        KEY (id)
    ) ENGINE = InnoDB AS
    SELECT i.{{ rule.key }} AS id FROM {{ rule.table }} AS i LIMIT 0;
    INSERT INTO {{ control }}.work_torn (run_id, id)
    SELECT u.run_id, l.id
    FROM {{ control }}.unfinished AS u
    JOIN JSON_TABLE(u.links, '$[*]' COLUMNS (id varchar(255) PATH '$')) AS l
    WHERE u.rule = {{ rule.literal }};
END;

-- {{ rule.name }}_work: the work tables of one batch, empty.
--# create procedure {{ control }}.{{ rule.name }}_work
CREATE PROCEDURE {{ control }}.{{ rule.name }}_work()
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of one batch anew. Key columns have the type and collation of {{ rule.table_name }}.{{ rule.key_name }}. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS
        {{ w::work_of_timed(control=control, rule=rule) }};
    -- The instants of a window, by table: rows are deleted by one of them after the other, so that an index is always
    -- better than to read the table from end to end, and nothing but these rows is locked.
    CREATE TEMPORARY TABLE {{ control }}.work_due (
        position integer NOT NULL,
        due datetime(6) NOT NULL,
        PRIMARY KEY (position, due)
    ) ENGINE = InnoDB;
{%- if rule.timed.by_family %}
    -- The next roots, and behind which one they begin.
    CREATE TEMPORARY TABLE {{ control }}.work_cursor (
        only_row integer NOT NULL DEFAULT 1,
        {%- if rule.id_type %}
        id {{ rule.id_type }} NOT NULL,
        {%- endif %}
        due datetime(6) NOT NULL DEFAULT {{ rule.least_time }},
        PRIMARY KEY (only_row)
    ) ENGINE = InnoDB AS
    SELECT i.{{ rule.key }} AS id FROM {{ rule.table }} AS i LIMIT 0;
    CREATE TEMPORARY TABLE {{ control }}.work_next (
        {%- if rule.id_type %}
        id {{ rule.id_type }} NOT NULL,
        {%- endif %}
        due datetime(6) NOT NULL DEFAULT {{ rule.least_time }},
        PRIMARY KEY (id),
        KEY (due, id)
    ) ENGINE = InnoDB AS
    SELECT i.{{ rule.key }} AS id FROM {{ rule.table }} AS i LIMIT 0;
{%- endif %}
    -- The rows of {{ rule.table_name }} in the {% if rule.timed.by_family %}batch{% else %}window{% endif %}, with their family and what speaks against it.
    CREATE TEMPORARY TABLE {{ control }}.work_root (
        {%- if rule.id_type %}
        id {{ rule.id_type }} NOT NULL,
        family {{ rule.id_type }} NOT NULL,
        {%- endif %}
        fault integer NOT NULL DEFAULT 9,
        PRIMARY KEY (id),
        KEY (family)
    ) ENGINE = InnoDB AS
    SELECT i.{{ rule.key }} AS id, i.{{ rule.key }} AS family FROM {{ rule.table }} AS i LIMIT 0;
    -- Those that another session holds.
    CREATE TEMPORARY TABLE {{ control }}.work_locked (
        {%- if rule.id_type %}
        id {{ rule.id_type }} NOT NULL,
        family {{ rule.id_type }} NOT NULL,
        {%- endif %}
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT i.{{ rule.key }} AS id, i.{{ rule.key }} AS family FROM {{ rule.table }} AS i LIMIT 0;
    -- Families with a row that something refers to; {% if rule.timed.by_family %}the families that go{% else %}the family that a purge names{% endif %}.
    CREATE TEMPORARY TABLE {{ control }}.work_tied (
        {%- if rule.id_type %}
        id {{ rule.id_type }} NOT NULL,
        {%- endif %}
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT i.{{ rule.key }} AS id FROM {{ rule.table }} AS i LIMIT 0;
    CREATE TEMPORARY TABLE {{ control }}.work_target (
        {%- if rule.id_type %}
        id {{ rule.id_type }} NOT NULL,
        {%- endif %}
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT i.{{ rule.key }} AS id FROM {{ rule.table }} AS i LIMIT 0;
    -- The families that stay{% if rule.timed.twins %}, once for every column of a table that names one{% endif %}.
    CREATE TEMPORARY TABLE {{ control }}.work_keep (
        {%- if rule.id_type %}
        id {{ rule.id_type }} NOT NULL,
        {%- endif %}
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT i.{{ rule.key }} AS id FROM {{ rule.table }} AS i LIMIT 0;
{%- for twin in rule.timed.twins %}
    CREATE TEMPORARY TABLE {{ control }}.{{ twin }} (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM {{ control }}.work_keep AS k;
{%- endfor %}
{%- for member in rule.timed.members %}
{%- if member.referrers %}
    -- The rows of {{ member.table_name }} that something refers to.
    CREATE TEMPORARY TABLE {{ control }}.{{ member.named }} (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT t.{{ member.key }} AS id FROM {{ member.table }} AS t LIMIT 0;
{%- endif %}
{%- endfor %}
{%- for member in rule.timed.members %}
{%- if member.adopt and member.adopt.named %}
    -- The rows of {{ member.table_name }} that rows without a root name, each with the family of these.
    CREATE TEMPORARY TABLE {{ control }}.{{ member.adopt.named }} (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT t.{{ member.adopt.key }} AS id, i.{{ rule.key }} AS family FROM {{ member.table }} AS t, {{ rule.table }} AS i LIMIT 0;
{%- endif %}
{%- endfor %}
{%- for list in rule.timed.held %}
    -- What stays with rows that are held and of no family: {{ list.why }}.
    CREATE TEMPORARY TABLE {{ control }}.{{ list.name }} (
        UNIQUE KEY (id)
    ) ENGINE = InnoDB AS
    SELECT t.{{ list.column }} AS id FROM {{ list.table }} AS t LIMIT 0;
{%- endfor %}
    -- What stays, and why.
    CREATE TEMPORARY TABLE {{ control }}.work_skip (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
END;

-- {{ rule.name }}_close: the work tables go.
--# create procedure {{ control }}.{{ rule.name }}_close
CREATE PROCEDURE {{ control }}.{{ rule.name }}_close()
SQL SECURITY DEFINER
COMMENT 'Drops the work tables. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS
        {{ control }}.work_skipped, {{ control }}.work_mend, {{ control }}.work_torn,
        {{ w::work_of_timed(control=control, rule=rule) }};
END;

-- {{ rule.name }}_cutoff: what is due{% if rule.timed.ages %}: rows older than the retention and the safety lag{% else %}: rows whose stored {{ rule.end_time_name }} lies before this instant{% endif %}.
--# create procedure {{ control }}.{{ rule.name }}_cutoff
CREATE PROCEDURE {{ control }}.{{ rule.name }}_cutoff(IN p_as_of datetime(6), IN p_retention bigint, OUT o_cutoff datetime(6))
SQL SECURITY DEFINER
{%- if rule.timed.ages %}
COMMENT 'Rows with a {{ rule.end_time_name }} before this are due, in the zone of the application ({{ zone }}): the retention, never under {{ rule.minimum }} seconds, and the safety lag of {{ rule.safety_lag }} seconds before p_as_of. [body @body@]'
{%- else %}
COMMENT 'Rows with a {{ rule.end_time_name }} before this are due, in the zone of the application ({{ zone }}): the safety lag of {{ rule.safety_lag }} seconds before p_as_of. The stored time holds the retention already. [body @body@]'
{%- endif %}
BEGIN
    SET o_cutoff = {{ rule.timed.cutoff }};
END;

-- {{ rule.name }}_window: the next window of time, from its oldest row on (inclusive) to o_to (exclusive).
-- No table has more than p_rows rows in it, the root table no more than p_families, unless they have the same time.
--# create procedure {{ control }}.{{ rule.name }}_window
CREATE PROCEDURE {{ control }}.{{ rule.name }}_window(
    IN  p_from     datetime(6),
    IN  p_cutoff   datetime(6),
    IN  p_rows     bigint,
    IN  p_families bigint,
    OUT o_from     datetime(6),
    OUT o_to       datetime(6)
)
SQL SECURITY DEFINER
COMMENT 'The next window of {{ rule.end_time_name }} from p_from on, with p_rows rows of any table at most; NULL where nothing before p_cutoff is left. p_rows 0: one instant. Reads only. [body @body@]'
BEGIN
    DECLARE v_roots bigint DEFAULT LEAST(p_rows, p_families);

    -- What lies before p_from is not looked at again: an index keeps the entries of deleted rows for a while.
    -- Nothing is SET to a query: MySQL would lock the rows that it reads.
    SET o_to = p_cutoff;
{%- for member in rule.timed.members %}
    SELECT COALESCE(MIN(x.due), o_to)
    INTO o_to
    FROM (
        SELECT t.{{ rule.end_time }} AS due
        FROM {{ member.table }} AS t
        WHERE t.{{ rule.end_time }} >= p_from
          AND t.{{ rule.end_time }} < o_to
{%- for condition in member.conditions %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY t.{{ rule.end_time }}
        LIMIT 1
    ) AS x;
{%- endfor %}
    IF o_to < p_cutoff THEN
        SET o_from = o_to;
    ELSE
        SET o_from = NULL;
    END IF;

    -- The window ends before the row that would be one too many, whichever table has it first.
    IF o_from IS NOT NULL AND p_rows > 0 THEN
        SET o_to = p_cutoff;
{%- for member in rule.timed.members %}
        SELECT COALESCE(MIN(x.due), o_to)
        INTO o_to
        FROM (
            SELECT t.{{ rule.end_time }} AS due
            FROM {{ member.table }} AS t
            WHERE t.{{ rule.end_time }} >= o_from
              AND t.{{ rule.end_time }} < o_to
{%- for condition in member.conditions %}
              AND {{ condition }}
{%- endfor %}
            ORDER BY t.{{ rule.end_time }}
            LIMIT {% if member.root %}v_roots{% else %}p_rows{% endif %}, 1
        ) AS x;
{%- endfor %}
    END IF;
    -- Rows with one and the same time go together, however many they are.
    IF o_to <= o_from THEN
        SET o_to = o_from + INTERVAL 1 MICROSECOND;
    END IF;
END;

-- {{ rule.name }}_keep: what stays of a window, and why: families that are held{% if rule.timed.ended %}, not ended or ended too recently{% endif %}{% if rule.timed.references %}, and what others refer to{% endif %}{% for other in rule.timed.others %}{% if loop.first %}; what is held of {% else %} and {% endif %}{{ other.table_name }}{% endfor %}.
{%- if rule.timed.root_column %}
-- A family is the rows that name the same root in {{ rule.table_name }}.
{%- endif %}
--# create procedure {{ control }}.{{ rule.name }}_keep
CREATE PROCEDURE {{ control }}.{{ rule.name }}_keep(
    IN p_from  datetime(6),
    IN p_to    datetime(6),
    IN p_as_of datetime(6),
    IN p_lock  boolean
)
SQL SECURITY DEFINER
COMMENT 'Fills work_keep with what stays of the window from p_from to p_to, and work_skip with the reasons.{% if rule.timed.locks %} p_lock: locks the rows of {{ rule.table_name }} in it first; a family that another session holds stays.{% endif %} [body @body@]'
BEGIN
{%- if rule.timed.ended %}
    DECLARE v_least datetime(6) DEFAULT {{ rule.timed.least }};
{% endif %}
{%- if rule.timed.locks %}
    -- Whoever changes a whole family changes its rows in {{ rule.table_name }} too: he waits for this batch, or it leaves the
    -- family to him.
    IF p_lock THEN
        INSERT INTO {{ control }}.work_root (id, family, fault)
        SELECT
            r.{{ rule.key }}, {{ rule.timed.family_of_root }},
            {{ w::fault_of_root(rule=rule) }}
        FROM {{ rule.table }} AS r
        WHERE r.{{ rule.end_time }} >= p_from
          AND r.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.root_window %}
          AND {{ condition }}
{%- endfor %}
        FOR UPDATE SKIP LOCKED;
        INSERT INTO {{ control }}.work_locked (id, family)
        SELECT r.{{ rule.key }}, {{ rule.timed.family_of_root }}
        FROM {{ rule.table }} AS r
        LEFT JOIN {{ control }}.work_root AS w ON w.id = r.{{ rule.key }}
        WHERE r.{{ rule.end_time }} >= p_from
          AND r.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.root_window %}
          AND {{ condition }}
{%- endfor %}
          AND w.id IS NULL;
        INSERT INTO {{ control }}.work_root (id, family, fault)
        SELECT l.id, l.family, 5
        FROM {{ control }}.work_locked AS l;
    ELSE
        INSERT INTO {{ control }}.work_root (id, family, fault)
        SELECT
            r.{{ rule.key }}, {{ rule.timed.family_of_root }},
            {{ w::fault_of_root(rule=rule) }}
        FROM {{ rule.table }} AS r
        WHERE r.{{ rule.end_time }} >= p_from
          AND r.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.root_window %}
          AND {{ condition }}
{%- endfor %};
    END IF;
{% endif %}
    INSERT IGNORE INTO {{ control }}.work_keep (id)
    SELECT h.`key`
    FROM {{ control }}.hold AS h
    WHERE h.rule = {{ rule.literal }}
      AND {{ w::holds_now() }};
{%- if rule.timed.others %}
    -- What belongs to no family is held by itself, and with it what is its.
    IF EXISTS (SELECT 1 FROM {{ control }}.work_keep) THEN
{%- for list in rule.timed.held %}
        -- {{ list.why }}
{%- for way in list.ways %}
        INSERT IGNORE INTO {{ control }}.{{ list.name }} (id)
        SELECT {{ way.value }}
        FROM (
            SELECT {{ rule.timed.others[way.other].family }} AS id
            FROM {{ control }}.work_keep AS k
            STRAIGHT_JOIN {{ rule.timed.others[way.other].table }} AS r ON r.{{ rule.timed.others[way.other].key }} = k.id
{%- for condition in rule.timed.others[way.other].conditions %}
            {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}
        ) AS w
{%- for join in way.joins %}
        STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
        WHERE {{ way.value }} IS NOT NULL;
{%- endfor %}
{%- endfor %}
    END IF;
{%- endif %}
{%- if rule.timed.root_column %}
    -- A hold on any member keeps the whole family.
    INSERT IGNORE INTO {{ control }}.work_tied (id)
    SELECT r.{{ rule.timed.root_column }}
    FROM {{ control }}.work_keep AS h
    STRAIGHT_JOIN {{ rule.table }} AS r ON r.{{ rule.key }} = h.id
    WHERE r.{{ rule.timed.root_column }} IS NOT NULL;
    INSERT IGNORE INTO {{ control }}.work_keep (id)
    SELECT h.id FROM {{ control }}.work_tied AS h;
    DELETE FROM {{ control }}.work_tied;
{%- endif %}
{%- if rule.timed.locks %}
    UPDATE {{ control }}.work_keep AS h
    STRAIGHT_JOIN {{ control }}.work_root AS w ON w.id = h.id
    SET w.fault = 1;
{%- if rule.timed.root_column %}
    UPDATE {{ control }}.work_keep AS h
    STRAIGHT_JOIN {{ control }}.work_root AS w ON w.family = h.id
    SET w.fault = 1;
{%- endif %}
{%- else %}
    INSERT INTO {{ control }}.work_root (id, family, fault)
    SELECT r.{{ rule.key }}, r.{{ rule.key }}, 1
    FROM {{ control }}.work_keep AS h
    STRAIGHT_JOIN {{ rule.table }} AS r ON r.{{ rule.key }} = h.id
    WHERE r.{{ rule.end_time }} >= p_from
      AND r.{{ rule.end_time }} < p_to
{%- for condition in rule.timed.root_window %}
      AND {{ condition }}
{%- endfor %};
{%- endif %}
{%- for member in rule.timed.members %}
{%- if member.referrers %}

    -- {{ member.table_name }}: what is referred to stays, and its family with it.
{%- for referrer in member.referrers %}
    INSERT IGNORE INTO {{ control }}.{{ member.named }} (id)
    SELECT t.{{ member.key }}
    FROM {{ member.table }} AS t
    STRAIGHT_JOIN {{ referrer.table }} AS r ON r.{{ referrer.column }} = t.{{ member.key }}
    WHERE t.{{ rule.end_time }} >= p_from
      AND t.{{ rule.end_time }} < p_to
{%- if rule.timed.by_family %}
{%- for predicate in member.spares %}
      AND {{ predicate }}
{%- endfor %}
{%- endif %};
{%- endfor %}
{%- for column in member.family %}
    INSERT IGNORE INTO {{ control }}.work_tied (id)
    SELECT t.{{ column }}
    FROM {{ control }}.{{ member.named }} AS n
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ member.key }} = n.id
    WHERE t.{{ column }} IS NOT NULL;
{%- endfor %}
{%- endif %}
{%- endfor %}
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
        WHERE w.fault < 9
        GROUP BY w.family
    ) AS f
    ORDER BY f.family;
{%- for member in rule.timed.members %}
{%- if member.referrers %}
    INSERT INTO {{ control }}.work_skip (skip_key, reason)
    SELECT t.{{ member.key }}, 'REFERENCED'
    FROM {{ control }}.{{ member.named }} AS n
    STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ member.key }} = n.id
{%- for column in member.family %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} t.{{ column }} IS NULL
{%- endfor %}
    ORDER BY t.{{ member.key }};
{%- endif %}
{%- endfor %}
{%- for other in rule.timed.others %}
    INSERT INTO {{ control }}.work_skip (skip_key, reason)
    SELECT r.{{ other.key }}, 'HELD'
    FROM {{ control }}.{{ other.list }} AS h
    STRAIGHT_JOIN {{ other.table }} AS r ON r.{{ other.key }} = h.id
    WHERE r.{{ rule.end_time }} >= p_from
      AND r.{{ rule.end_time }} < p_to
    ORDER BY r.{{ other.key }};
{%- endfor %}
    INSERT IGNORE INTO {{ control }}.work_keep (id)
    SELECT w.family FROM {{ control }}.work_root AS w WHERE w.fault < 9;
{%- if rule.timed.references %}
    INSERT IGNORE INTO {{ control }}.work_keep (id)
    SELECT h.id FROM {{ control }}.work_tied AS h;
{%- endif %}
{%- for twin in rule.timed.twins %}
    INSERT INTO {{ control }}.{{ twin }} (id)
    SELECT k.id FROM {{ control }}.work_keep AS k;
{%- endfor %}
{%- if rule.timed.adopts and not rule.timed.by_family %}
{%- for member in rule.timed.members %}
{%- if member.adopt and member.adopt.named and member.referrers %}
{%- for way in member.adopt.ways %}
    -- What rows of these families name in {{ member.table_name }} stays with them: {{ way.why }}
    INSERT IGNORE INTO {{ control }}.{{ member.named }} (id)
    SELECT {{ way.names }}
    FROM (SELECT p.{{ rule.key }} AS id FROM {{ control }}.work_keep AS k STRAIGHT_JOIN {{ rule.table }} AS p ON p.{{ rule.key }} = k.id AND p.{{ rule.timed.root_column }} IS NULL) AS m
{%- for join in way.joins %}
    STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
    WHERE {{ way.names }} IS NOT NULL;
{%- for column in way.family %}
    INSERT IGNORE INTO {{ control }}.{{ member.named }} (id)
    SELECT {{ way.names }}
    FROM {{ control }}.work_keep AS k
    STRAIGHT_JOIN {{ way.table }} AS r ON {{ column }} = k.id
    WHERE {{ way.names }} IS NOT NULL;
{%- endfor %}
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endif %}
END;

-- {{ rule.name }}_batch: one batch: the rows of a window that {{ rule.name }}_keep does not keep, of all tables{% if rule.timed.by_family %} and of no family whose root is there{% endif %}, in the caller's transaction.
--# create procedure {{ control }}.{{ rule.name }}_batch
CREATE PROCEDURE {{ control }}.{{ rule.name }}_batch(
    IN  p_run      bigint,
    IN  p_from     datetime(6),
    IN  p_to       datetime(6),
    OUT o_families bigint,
    OUT o_rows     longtext
)
SQL SECURITY DEFINER
COMMENT 'Deletes, in the caller''s transaction (READ COMMITTED), what {{ rule.name }}_keep{% if rule.timed.locks %} has locked and{% endif %} does not keep of the window from p_from to p_to: {{ rule.table_list }}. {{ rule.name }}_step calls it, and rolls back for a dry run. [body @body@]'
BEGIN
    DECLARE v_rows bigint;
{%- if rule.archives %}
    DECLARE v_copied bigint;
{%- endif %}
    -- Taken out before COMMIT: should the session of a killed run commit what it began, the next run finishes the window.
    INSERT INTO {{ control }}.unfinished (run_id, rule, links)
    VALUES (p_run, {{ rule.literal }}, '[]');
    SET o_rows = '';
{%- for member in rule.timed.members %}

    -- {{ member.why }}
    INSERT INTO {{ control }}.work_due (position, due)
    SELECT DISTINCT {{ member.position }}, t.{{ rule.end_time }}
    FROM {{ member.table }} AS t
    WHERE t.{{ rule.end_time }} >= p_from
      AND t.{{ rule.end_time }} < p_to
{%- for condition in member.alone %}
      AND {{ condition }}
{%- endfor %};
{%- if member.archive %}
    {{ w::copy_window(control=control, rule=rule, member=member, maria=maria) }}
{%- endif %}
    DELETE t
    {{ w::rest_of_window(control=control, rule=rule, member=member) }}
{%- if member.root and rule.timed.root_column %}
      AND NOT {{ rule.timed.is_root }};
    SET v_rows = ROW_COUNT();
    DELETE t
    {{ w::rest_of_window(control=control, rule=rule, member=member) }}
      AND {{ rule.timed.is_root }};
    SET o_families = ROW_COUNT();
    SET v_rows = v_rows + o_families;
{%- else %};
    SET v_rows = ROW_COUNT();
{%- if member.root %}
    SET o_families = v_rows;
{%- endif %}
{%- endif %}
{%- if member.archive %}
    {{ w::all_copied(control=control, archive=member.archive, rows="v_rows") }}
{%- endif %}
    SET o_rows = CONCAT(o_rows, {% if not loop.first %}', ', {% endif %}v_rows);
{%- endfor %}
    SET o_rows = CONCAT('[', o_rows, ']');
{%- if rule.archives %}
    {{ w::fits(control=control, rule=rule) }}
{%- endif %}
END;

-- {{ rule.name }}_count: what a batch would delete of a window. Reads only.
--# create procedure {{ control }}.{{ rule.name }}_count
CREATE PROCEDURE {{ control }}.{{ rule.name }}_count(
    IN  p_from     datetime(6),
    IN  p_to       datetime(6),
    IN  p_as_of    datetime(6),
    OUT o_families bigint,
    OUT o_rows     longtext
)
SQL SECURITY DEFINER
COMMENT 'Rows of the window from p_from to p_to that may go, as a JSON list in the order of deletion, and its families. Reads only. [body @body@]'
BEGIN
    DECLARE v_rows bigint;
    CALL {{ control }}.{{ rule.name }}_keep(p_from, p_to, p_as_of, false);
    SET o_rows = '';
{%- for member in rule.timed.members %}
    SELECT COUNT(*){% if member.root %}, COUNT({% if rule.timed.root_column %}CASE WHEN {{ rule.timed.is_root }} THEN 1 END{% else %}*{% endif %}){% endif %}
    INTO v_rows{% if member.root %}, o_families{% endif %}
    {{ w::rows_of_window(control=control, rule=rule, member=member, from="p_from", to="p_to") }};
    SET o_rows = CONCAT(o_rows, {% if not loop.first %}', ', {% endif %}v_rows);
{%- endfor %}
    SET o_rows = CONCAT('[', o_rows, ']');
END;

{% if rule.timed.by_family %}{% include "30_families.sql" %}
{% endif -%}
-- {{ rule.name }}_undated: families{% if rule.timed.ended %} that ended{% endif %} without a {{ rule.end_time_name }}; they can never become due.
--# create procedure {{ control }}.{{ rule.name }}_undated
CREATE PROCEDURE {{ control }}.{{ rule.name }}_undated()
SQL SECURITY DEFINER
COMMENT 'Writes to work_skip the families without a {{ rule.end_time_name }}{% if rule.timed.ended %}, though they have ended{% endif %}. Reads only. [body @body@]'
BEGIN
    CALL {{ control }}.{{ rule.name }}_work();
    INSERT INTO {{ control }}.work_skip (skip_key, reason)
    SELECT DISTINCT {{ rule.timed.family_of_root }} AS family, 'UNDATED_MEMBER'
    FROM {{ rule.table }} AS r
    WHERE r.{{ rule.end_time }} IS NULL
{%- for condition in rule.timed.root_alone %}
      AND {{ condition }}
{%- endfor %}
{%- if rule.timed.ended %}
      AND r.{{ rule.timed.ended }} IS NOT NULL
{%- endif %}
    ORDER BY family;
END;

-- {{ rule.name }}_strays: by table, rows that do not share the {{ rule.end_time_name }} of their root, and rows without one.
--# create procedure {{ control }}.{{ rule.name }}_strays
CREATE PROCEDURE {{ control }}.{{ rule.name }}_strays()
SQL SECURITY DEFINER
COMMENT 'Fills the temporary table work_stray with the rows that would go without their family, and rows that never go, by table. Reads whole tables; verify() calls it. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_stray;
    CREATE TEMPORARY TABLE {{ control }}.work_stray (
        table_name varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        apart bigint NOT NULL,
        undated bigint NOT NULL
    ) ENGINE = InnoDB;
{%- for member in rule.timed.members %}
    INSERT INTO {{ control }}.work_stray (table_name, apart, undated)
    SELECT
        {{ member.table_literal }},
{%- if member.with_root %}
        COUNT(CASE WHEN r.{{ rule.key }} IS NOT NULL AND NOT t.{{ rule.end_time }} <=> r.{{ rule.end_time }} THEN 1 END),
{%- else %}
        0,
{%- endif %}
        COUNT(CASE WHEN t.{{ rule.end_time }} IS NULL THEN 1 END)
    FROM {{ member.table }} AS t
{%- if member.with_root %}
    LEFT JOIN {{ rule.table }} AS r ON r.{{ rule.key }} = t.{{ member.with_root }}
{%- endif %}
{%- for condition in member.alone %}
    {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %};
{%- endfor %}
END;

-- {{ rule.name }}_step: one batch of a run with its progress in the ledger, in one transaction.
-- A batch that fails is rolled back and tried again, then halved down to {% if rule.timed.by_family %}one family, or {% endif %}the rows of one instant, which are recorded and
-- passed over.
--# create procedure {{ control }}.{{ rule.name }}_step
CREATE PROCEDURE {{ control }}.{{ rule.name }}_step(IN p_run bigint, OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'One batch of run p_run and its progress in the ledger, committed. Answers more, again, or why the run should end. run() calls it. [body @body@]'
BEGIN
    {{ w::step_variables() }}
    DECLARE v_retention bigint;
    DECLARE v_take      bigint;
    DECLARE v_cutoff    datetime(6);
    DECLARE v_from      datetime(6);
    DECLARE v_to        datetime(6);
{%- if rule.timed.by_family %}
    DECLARE v_key       varchar(255);
    DECLARE v_by_family boolean;
{%- endif %}
    DECLARE v_rows      longtext;
    SET o_state = NULL;

    step: BEGIN
        attempt: BEGIN
            {{ w::before_batch(control=control, rule=rule, maria=maria) }}
{%- if workers > 1 %}
            {{ w::at_rule(control=control, rule=rule) }}
{%- endif %}
{%- if rule.timed.by_family %}
            -- Families first. The cursor has a key as long as there are some.
            SELECT p.cursor_time, p.cursor_key
            INTO v_from, v_key
            FROM {{ control }}.run_rule AS p
            WHERE p.run_id = p_run
              AND p.rule = {{ rule.literal }};
            SET v_by_family = v_from IS NULL OR v_key IS NOT NULL;
            IF NOT v_by_family THEN
                CALL {{ control }}.setting_of({{ rule.literal }}, 'batch_rows', v_batch);
            END IF;
            -- Families, or rows of one table; 0: those of one instant.
{%- else %}
            -- Rows of one table; 0: those of one instant.
{%- endif %}
            SET v_take = LEAST(v_present, v_batch);
            IF v_limit <= v_done THEN
                SET o_state = 'run_families reached';
                COMMIT;
                LEAVE step;
            END IF;

            {{ w::latch(control=control) }}

            CALL {{ control }}.seconds(v_text, v_retention);
            CALL {{ control }}.{{ rule.name }}_cutoff(v_as_of, v_retention, v_cutoff);
{%- if rule.timed.by_family %}
            IF v_by_family THEN
                CALL {{ control }}.{{ rule.name }}_next(COALESCE(v_from, {{ rule.least_time }}), COALESCE(v_key, {{ rule.first_key }}), v_cutoff, LEAST(v_take, v_limit - v_done));
                -- COUNT(*) of a whole table would start threads on MySQL.
                SELECT COUNT(n.id) INTO v_last FROM {{ control }}.work_next AS n;
                IF v_last = 0 THEN
                    -- Then what belongs to none.
                    CALL {{ control }}.setting_of({{ rule.literal }}, 'batch_rows', v_batch);
                    UPDATE {{ control }}.run_rule AS p
                    SET p.batch_families = v_batch,
                        p.halving = false,
                        p.cursor_time = {{ rule.least_time }},
                        p.cursor_key = NULL,
                        p.updated_at = UTC_TIMESTAMP(6)
                    WHERE p.run_id = p_run
                      AND p.rule = {{ rule.literal }};
                    COMMIT;
                    SET o_state = 'more';
                    LEAVE step;
                END IF;
                SET v_from = NULL, v_take = v_last;
                SELECT n.due, n.id INTO v_to, v_key FROM {{ control }}.work_next AS n ORDER BY n.due DESC, n.id DESC LIMIT 1;
                CALL {{ control }}.{{ rule.name }}_judge(v_cutoff, v_as_of, true, v_families);
                {{ w::keep_found(pad="                ") }}
                CALL {{ control }}.{{ rule.name }}_families(p_run, v_rows);
                {{ w::take_back(control=control, pad="                ") }}
            ELSE
                {{ w::take_window(control=control, rule=rule) | indent(prefix="    ") }}
            END IF;
{%- else %}
            SELECT COALESCE(p.cursor_time, {{ rule.least_time }})
            INTO v_from
            FROM {{ control }}.run_rule AS p
            WHERE p.run_id = p_run
              AND p.rule = {{ rule.literal }};
            {{ w::take_window(control=control, rule=rule) }}
{%- endif %}
            CALL {{ control }}.record_skips(p_run, {{ rule.literal }});
            CALL {{ control }}.record_rows(p_run, {{ rule.literal }}, v_rows);
            UPDATE {{ control }}.run_rule AS p
            SET p.families = p.families + v_families,
                p.batches = p.batches + 1,
                p.retries_in_row = 0,
                p.batch_families = IF(v_halving AND v_last > 1, v_take DIV 2, LEAST(GREATEST(v_take * 2, 1), v_batch)),
                p.halving = v_halving AND v_last > 1,
                p.cursor_time = TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_to)),
{%- if rule.timed.by_family %}
                p.cursor_key = v_key,
{%- endif %}
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = {{ rule.literal }};
            {{ w::look_again(control=control, last=true) }}
            DELETE FROM {{ control }}.unfinished WHERE run_id = p_run AND rule = {{ rule.literal }};
            COMMIT;
            SET o_state = 'more';
            LEAVE step;
        END attempt;

        {{ w::after_batch(control=control, rule=rule, half="v_take DIV 2") }}
        INSERT IGNORE INTO {{ control }}.run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
        VALUES (p_run, {{ rule.literal }}, {% if rule.timed.by_family %}COALESCE(v_key, TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_from))){% else %}TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_from)){% endif %}, v_errno, v_sqlstate, v_message);
        CALL {{ control }}.{{ rule.name }}_work();
        INSERT INTO {{ control }}.work_skip (skip_key, reason)
        SELECT DISTINCT {{ rule.timed.family_of_root }} AS family, IF(v_busy, 'LOCKED', 'FAILED')
        FROM {{ rule.table }} AS r
        WHERE r.{{ rule.end_time }} >= v_from
          AND r.{{ rule.end_time }} < v_to
{%- for condition in rule.timed.root_window %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY family;
        IF ROW_COUNT() = 0 THEN
            -- {% if rule.timed.by_family %}One family, or rows of none{% else %}Rows of no family{% endif %}.
            INSERT INTO {{ control }}.work_skip (skip_key, reason)
            VALUES ({% if rule.timed.by_family %}COALESCE(v_key, TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_from))){% else %}TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_from)){% endif %}, IF(v_busy, 'LOCKED', 'FAILED'));
        END IF;
        CALL {{ control }}.record_skips(p_run, {{ rule.literal }});
        UPDATE {{ control }}.run_rule AS p
        SET p.batches = p.batches + 1,
            p.retries_in_row = 0,
            p.batch_families = LEAST(GREATEST(v_take * 2, 1), v_batch),
            p.halving = false,
            p.cursor_time = TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_to)),
{%- if rule.timed.by_family %}
            p.cursor_key = v_key,
{%- endif %}
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = {{ rule.literal }};
        COMMIT;
        SET o_state = 'more';
    END step;
END;

-- {{ rule.name }}_finish: what is to be said of a rule when a run is through with it.
--# create procedure {{ control }}.{{ rule.name }}_finish
CREATE PROCEDURE {{ control }}.{{ rule.name }}_finish(IN p_run bigint, IN p_reason varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Counts the families without a {{ rule.end_time_name }} where the rule looked at all that is due. [body @body@]'
BEGIN
    DECLARE v_dry_run boolean;
    SELECT r.dry_run INTO v_dry_run FROM {{ control }}.run AS r WHERE r.run_id = p_run;
    IF p_reason = 'nothing left' THEN
        CALL {{ control }}.{{ rule.name }}_undated();
        CALL {{ control }}.record_skips(p_run, {{ rule.literal }});
        -- The windows that killed runs left half done were gone through once more; a family that a purge named is finished
        -- when its root is gone.
        IF NOT v_dry_run THEN
            DELETE u
            FROM {{ control }}.work_mend AS d
            STRAIGHT_JOIN {{ control }}.unfinished AS u ON u.run_id = d.run_id AND u.rule = {{ rule.literal }}
            LEFT JOIN (
                SELECT DISTINCT k.run_id
                FROM {{ control }}.work_torn AS k
                STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = k.id
            ) AS s ON s.run_id = d.run_id
            WHERE s.run_id IS NULL;
        END IF;
    END IF;
END;

-- {{ rule.name }}_purge: deletes one named family, found by its root, and commits. Answers NULL, or why it stays.
--# create procedure {{ control }}.{{ rule.name }}_purge
CREATE PROCEDURE {{ control }}.{{ rule.name }}_purge(IN p_run bigint, IN p_key varchar(255), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Deletes the rows that name this root, whatever their {{ rule.end_time_name }}, if the family is{% if rule.timed.ended %} over and{% endif %} unheld, and commits. Answers NULL or the reason why it stays. [body @body@]'
BEGIN
    DECLARE v_dry_run  boolean;
    DECLARE v_as_of    datetime(6);
    DECLARE v_own      boolean DEFAULT false;
    DECLARE v_paused   boolean;
    DECLARE v_wait     bigint;
    DECLARE v_found    bigint;
    DECLARE v_deleted  bigint;
{%- if rule.archives %}
    DECLARE v_copied   bigint;
{%- endif %}
    DECLARE v_rows     longtext;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    attempt: BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            {{ w::diagnose(maria=maria) | indent(prefix="            ") }}
            ROLLBACK;
        END;
        {{ w::start_batch(make="CALL " ~ control ~ "." ~ rule.name ~ "_work();", pad="        ") }}
        {{ w::before_purge(control=control, rule=rule, q="`") }}
        SELECT l.only_row INTO v_own FROM {{ control }}.latch AS l LOCK IN SHARE MODE;
        -- The work table has the type and the collation of the key.
        INSERT INTO {{ control }}.work_target (id)
        VALUES (p_key);
{%- for member in rule.timed.members %}
{%- if member.root %}
{%- for column in member.belongs %}
        INSERT IGNORE INTO {{ control }}.work_root (id, family, fault)
        SELECT t.{{ rule.key }}, c.id, {% if rule.timed.ended %}IF(t.{{ rule.timed.ended }} IS NULL, 2, 9){% else %}9{% endif %}
        FROM {{ control }}.work_target AS c
        STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ column }} = c.id
        FOR UPDATE;
{%- endfor %}
{%- endif %}
{%- endfor %}
        INSERT IGNORE INTO {{ control }}.work_keep (id)
        SELECT h.`key`
        FROM {{ control }}.hold AS h
        WHERE h.rule = {{ rule.literal }}
          AND {{ w::holds_now() }};
        SELECT COUNT(*)
        INTO v_found
        FROM {{ control }}.work_target AS c
        STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = c.id
{%- if rule.timed.root_column %}
        WHERE {{ rule.timed.is_root }}
{%- for condition in rule.timed.conditions_of_root %}
          AND {{ condition }}
{%- endfor %}
{%- else %}
{%- for condition in rule.timed.conditions_of_root %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}
{%- endif %};
        IF v_found = 0 THEN
            COMMIT;
            SET o_reason = 'NOT_A_ROOT';
            LEAVE attempt;
        END IF;
        IF EXISTS (SELECT 1 FROM {{ control }}.work_keep AS h STRAIGHT_JOIN {{ control }}.work_root AS w ON w.id = h.id) THEN
            SET o_reason = 'HELD';
{%- if rule.timed.ended %}
        ELSEIF EXISTS (SELECT 1 FROM {{ control }}.work_root AS w WHERE w.fault = 2) THEN
            SET o_reason = 'NON_FINAL_MEMBER';
{%- endif %}
        END IF;
{%- if rule.timed.adopts %}
        {{ w::collect_adopted(control=control, rule=rule, pad="        ") }}
{%- for member in rule.timed.members %}
{%- if member.adopt %}
{%- for referrer in member.referrers %}
        SELECT COUNT(*)
        INTO v_found
        {{ w::adopted(control=control, member=member, pad="        ") }}
        STRAIGHT_JOIN {{ referrer.table }} AS x ON x.{{ referrer.column }} = t.{{ member.key }};
        IF o_reason IS NULL AND v_found > 0 THEN
            SET o_reason = 'REFERENCED';
        END IF;
{%- endfor %}
{%- endif %}
{%- endfor %}
{%- endif %}
{%- for member in rule.timed.members %}
{%- for referrer in member.referrers %}
{%- for column in member.belongs %}
        SELECT COUNT(*)
        INTO v_found
        FROM {{ control }}.work_target AS c
        STRAIGHT_JOIN {{ member.table }} AS t ON t.{{ column }} = c.id
        STRAIGHT_JOIN {{ referrer.table }} AS r ON r.{{ referrer.column }} = t.{{ member.key }};
        IF o_reason IS NULL AND v_found > 0 THEN
            SET o_reason = 'REFERENCED';
        END IF;
{%- endfor %}
{%- endfor %}
{%- endfor %}
        IF o_reason IS NOT NULL THEN
            INSERT INTO {{ control }}.work_skip (skip_key, reason)
            VALUES (p_key, o_reason);
            CALL {{ control }}.record_skips(p_run, {{ rule.literal }});
            COMMIT;
            LEAVE attempt;
        END IF;
        {{ w::keep_found(pad="        ") }}
        INSERT INTO {{ control }}.unfinished (run_id, rule, links)
        VALUES (p_run, {{ rule.literal }}, JSON_ARRAY(p_key));
        SET v_rows = '';
{%- for member in rule.timed.members %}
        {{ w::delete_of_targets(control=control, member=member, count="v_deleted", maria=maria, pad="        ") }}
        SET v_rows = CONCAT(v_rows, {% if not loop.first %}', ', {% endif %}v_deleted);
{%- endfor %}
        SET v_rows = CONCAT('[', v_rows, ']');
{%- if rule.archives %}
        {{ w::fits(control=control, rule=rule) }}
{%- endif %}
        {{ w::take_back(control=control, pad="        ") }}
        CALL {{ control }}.record_rows(p_run, {{ rule.literal }}, v_rows);
        UPDATE {{ control }}.run_rule AS p
        SET p.families = p.families + 1,
            p.batches = p.batches + 1,
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = {{ rule.literal }};
        {{ w::look_before_commit(control=control) }}
        DELETE FROM {{ control }}.unfinished WHERE run_id = p_run AND rule = {{ rule.literal }};
        COMMIT;
    END attempt;
    {{ w::after_purge(control=control, rule=rule, q="`") }}
END;

-- {{ rule.name }}_preview: the {% if rule.timed.by_family %}batches{% else %}windows{% endif %} of a run, counted but not locked and not deleted.
--# create procedure {{ control }}.{{ rule.name }}_preview
CREATE PROCEDURE {{ control }}.{{ rule.name }}_preview(IN p_options longtext, IN p_as_of datetime(6), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What a run of this rule would delete and skip now, as one JSON document. Reads only; preview() calls it. [body @body@]'
BEGIN
    DECLARE v_retention bigint;
    DECLARE v_batch     bigint;
    DECLARE v_limit     bigint DEFAULT JSON_VALUE(p_options, '$.run_families');
    DECLARE v_cutoff    datetime(6);
    DECLARE v_start     datetime(6) DEFAULT JSON_VALUE(p_options, '$.from');
    DECLARE v_from      datetime(6) DEFAULT COALESCE(v_start, {{ rule.least_time }});
    DECLARE v_to        datetime(6);
{%- if rule.timed.by_family %}
    DECLARE v_key       varchar(255) DEFAULT {{ rule.first_key }};
    DECLARE v_by_family boolean DEFAULT true;
    DECLARE v_most      bigint;
{%- endif %}
    DECLARE v_found     bigint;
    DECLARE v_room      bigint DEFAULT 10;
    DECLARE v_part      longtext;
    DECLARE v_time      datetime(6);
    DECLARE v_families  bigint DEFAULT 0;
    DECLARE v_batches   bigint DEFAULT 0;
    DECLARE v_oldest    varchar(64) DEFAULT 'null';
    DECLARE v_samples   longtext DEFAULT '';
    DECLARE v_rows      longtext;
{%- for step in rule.steps %}
    DECLARE v_rows_{{ step.position }} bigint DEFAULT 0;
{%- endfor %}
    DECLARE v_sum       bigint;
    DECLARE v_skipped   longtext;
    DECLARE v_skip_keys longtext;
    DECLARE v_skips     bigint;
    DECLARE v_more      boolean DEFAULT false;
    DECLARE v_speed     decimal(30, 6);
    DECLARE v_dry_run   varchar(5) DEFAULT 'true';
    DECLARE v_duration  bigint;
    DECLARE v_artifact_failures bigint;
    CALL {{ control }}.seconds(JSON_VALUE(p_options, '$.retention'), v_retention);
    CALL {{ control }}.setting_of({{ rule.literal }}, 'batch_rows', v_batch);
    IF v_limit IS NULL THEN
        CALL {{ control }}.setting_of({{ rule.literal }}, 'run_families', v_limit);
    END IF;
    CALL {{ control }}.{{ rule.name }}_cutoff(p_as_of, v_retention, v_cutoff);
    CALL {{ control }}.{{ rule.name }}_open();
    IF v_start IS NULL THEN
        CALL {{ control }}.{{ rule.name }}_undated();
        INSERT INTO {{ control }}.work_skipped (skip_key, reason)
        SELECT k.skip_key, k.reason FROM {{ control }}.work_skip AS k ORDER BY k.position;
    END IF;
{%- if rule.timed.by_family %}
    CALL {{ control }}.setting_of({{ rule.literal }}, 'batch_families', v_most);
    -- Families first, then what belongs to none.
    families: LOOP
        CALL {{ control }}.{{ rule.name }}_work();
        CALL {{ control }}.{{ rule.name }}_next(v_from, v_key, v_cutoff, LEAST(v_most, GREATEST(v_limit - v_families, 1)));
        SELECT COUNT(n.id) INTO v_found FROM {{ control }}.work_next AS n;
        IF v_found = 0 THEN
            LEAVE families;
        END IF;
        IF v_families >= v_limit THEN
            SET v_more = true;
            LEAVE families;
        END IF;
        SELECT n.due, n.id INTO v_from, v_key FROM {{ control }}.work_next AS n ORDER BY n.due DESC, n.id DESC LIMIT 1;
        CALL {{ control }}.{{ rule.name }}_families_count(v_cutoff, p_as_of, v_found, v_rows);
        {{ w::add_to_preview(control=control, rule=rule) }}
        IF v_room > 0 THEN
            {{ w::sample_roots(rule=rule) }}
                FROM {{ control }}.work_target AS c
                STRAIGHT_JOIN {{ rule.table }} AS t ON t.{{ rule.key }} = c.id
                {{ w::add_samples(rule=rule) }}
        END IF;
    END LOOP families;
    SET v_from = COALESCE(v_start, {{ rule.least_time }});
{%- endif %}
    windows: LOOP
        CALL {{ control }}.{{ rule.name }}_window(v_from, v_cutoff, v_batch, GREATEST(v_limit - v_families, 1), v_from, v_to);
        IF v_from IS NULL THEN
            LEAVE windows;
        END IF;
        IF v_families >= v_limit THEN
            SET v_more = true;
            LEAVE windows;
        END IF;
        CALL {{ control }}.{{ rule.name }}_work();
        CALL {{ control }}.{{ rule.name }}_count(v_from, v_to, p_as_of, v_found, v_rows);
        {{ w::add_to_preview(control=control, rule=rule) }}
        IF v_room > 0 THEN
            {{ w::sample_roots(rule=rule) }}
{%- for member in rule.timed.members %}{% if member.root %}
                {{ w::rows_of_window(control=control, rule=rule, member=member, from="v_from", to="v_to") | indent(prefix="            ") }}
{%- endif %}{% endfor %}
{%- if rule.timed.root_column %}
                  AND {{ rule.timed.is_root }}
{%- endif %}
                {{ w::add_samples(rule=rule) }}
        END IF;
        SET v_from = v_to;
    END LOOP windows;
    SET v_samples = CONCAT('[', v_samples, ']');

    SET v_rows = CONCAT('[', {% for step in rule.steps %}v_rows_{{ step.position }}{% if not loop.last %}, ', ', {% endif %}{% endfor %}, ']');
    SET v_sum = {% for step in rule.steps %}v_rows_{{ step.position }}{% if not loop.last %} + {% endif %}{% endfor %};
    {{ w::preview_figures(control=control, rule=rule) }}
    SELECT COUNT(*) INTO v_artifact_failures FROM {{ control }}.artifact AS a WHERE a.last_error IS NOT NULL;
    CALL {{ control }}.{{ rule.name }}_close();

    {{ w::preview_document(rule=rule) }}
END;

{{ w::verbs(control=control, rule=rule, by_calendar=by_calendar) }}

-- {{ rule.name }}_checks: rows whose {{ rule.end_time_name }} is not that of their family, for verify().
--# create procedure {{ control }}.{{ rule.name }}_checks
CREATE PROCEDURE {{ control }}.{{ rule.name }}_checks()
SQL SECURITY DEFINER
COMMENT 'Writes to work_check which rows have another {{ rule.end_time_name }} than their family, or none. [body @body@]'
BEGIN
    CALL {{ control }}.{{ rule.name }}_strays();
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, count, detail)
    SELECT
        1, 'removal_time', CONCAT({{ rule.literal }}, ' ', o.table_name),
        IF(o.apart + o.undated = 0, 'ok', 'notice'),
        o.apart + o.undated,
        CONCAT(o.apart, ' rows have another {{ rule.end_time_name }} than their family and go without it; ', o.undated, ' have none and stay')
    FROM {{ control }}.work_stray AS o;
    DROP TEMPORARY TABLE {{ control }}.work_stray;
END;
