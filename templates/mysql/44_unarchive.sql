{% import "macros.sql" as w -%}
{{ session }}

-- archive_next: the next run with archived rows.
--# create procedure {{ control }}.archive_next
CREATE PROCEDURE {{ control }}.archive_next(IN p_after bigint, OUT o_run bigint)
SQL SECURITY DEFINER
COMMENT 'The first run after p_after of which rows are archived; NULL if there is none. [body @body@]'
BEGIN
    SELECT MIN(n.run_id)
    INTO o_run
    FROM (
{%- for archive in archives %}
        SELECT MIN(a.windrow_run_id) AS run_id FROM {{ archive.archive }} AS a WHERE a.windrow_run_id > p_after{% if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    ) AS n;
END;

-- archive_last: when the last row of a run was archived.
--# create procedure {{ control }}.archive_last
CREATE PROCEDURE {{ control }}.archive_last(IN p_run bigint, OUT o_last datetime(6))
SQL SECURITY DEFINER
COMMENT 'When the last of the archived rows of a run came into the archive, in UTC; NULL if there is none. [body @body@]'
BEGIN
    SELECT MAX(n.archived_at)
    INTO o_last
    FROM (
{%- for archive in archives %}
        (SELECT a.windrow_archived_at AS archived_at FROM {{ archive.archive }} AS a WHERE a.windrow_run_id = p_run ORDER BY a.windrow_run_id DESC, a.windrow_row_id DESC LIMIT 1){% if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    ) AS n;
END;

-- archive_keep: the ledger does not forget a run while rows of it are archived.
--# create procedure {{ control }}.archive_keep
CREATE PROCEDURE {{ control }}.archive_keep(IN p_days bigint)
SQL SECURITY DEFINER
COMMENT 'Notes in table kept_run which runs older than p_days have archived rows; forgets what left the archive of runs that are forgotten. [body @body@]'
BEGIN
    DECLARE v_run  bigint DEFAULT 0;
    DECLARE v_last datetime(6);
    WHILE v_run IS NOT NULL DO
        SELECT MIN(r.run_id)
        INTO v_run
        FROM {{ control }}.run AS r
        LEFT JOIN {{ control }}.kept_run AS k ON k.run_id = r.run_id
        WHERE r.run_id > v_run
          AND r.finished_at < UTC_TIMESTAMP(6) - INTERVAL p_days DAY
          AND k.run_id IS NULL;
        CALL {{ control }}.archive_last(v_run, v_last);
        IF v_last IS NOT NULL THEN
            INSERT INTO {{ control }}.kept_run (run_id) VALUES (v_run);
        END IF;
    END WHILE;
    DELETE u
    FROM {{ control }}.unarchived AS u
    LEFT JOIN {{ control }}.run AS r ON r.run_id = u.run_id
    WHERE u.done_at < UTC_TIMESTAMP(6) - INTERVAL p_days DAY
      AND r.run_id IS NULL;
END;

-- archive_of: the archived rows of one run, or of all that are old enough, counted.
--# create procedure {{ control }}.archive_of
CREATE PROCEDURE {{ control }}.archive_of(IN p_run bigint, IN p_before datetime(6), OUT o_rows bigint, OUT o_runs longtext)
SQL SECURITY DEFINER
COMMENT 'What archive_list() answers, of one run or of those whose last row was archived before an instant: how many rows, and the runs as a JSON list. [body @body@]'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    SET SESSION group_concat_max_len = 67108864;
    SELECT
        COALESCE(SUM(t.row_count), 0),
        CONCAT('[', COALESCE(GROUP_CONCAT(CONCAT(
            '{"run": ', t.run_id,
            ', "trigger": ', {{ w::text(x="r.`trigger`") }},
            ', "status": ', {{ w::text(x="r.status") }},
            ', "started_at": ', {{ w::instant(x="r.started_at") }},
            ', "started_by": ', {{ w::text(x="r.started_by") }},
            ', "archived_at": ', {{ w::instant(x="t.last_at") }},
            ', "rules": [', COALESCE(p.rules, ''), ']',
            ', "rows": ', t.row_count,
            ', "tables": {', t.row_counts, '}',
            ', "restored": ', COALESCE(u.restored, 0),
            ', "dropped": ', COALESCE(u.dropped, 0),
            '}'
        ) ORDER BY t.run_id SEPARATOR ', '), ''), ']')
    INTO o_rows, o_runs
    FROM (
        SELECT c.run_id, SUM(c.row_count) AS row_count, MAX(c.last_at) AS last_at, GROUP_CONCAT(CONCAT(JSON_QUOTE(c.table_name), ': ', c.row_count) ORDER BY c.position SEPARATOR ', ') AS row_counts
        FROM (
{%- for archive in archives %}
            SELECT {{ loop.index }} AS position, {{ archive.table_literal }} AS table_name, a.windrow_run_id AS run_id, COUNT(*) AS row_count, MAX(a.windrow_archived_at) AS last_at FROM {{ archive.archive }} AS a WHERE p_run IS NULL OR a.windrow_run_id = p_run GROUP BY a.windrow_run_id{% if not loop.last %}
            UNION ALL{% endif %}
{%- endfor %}
        ) AS c
        GROUP BY c.run_id
    ) AS t
    LEFT JOIN {{ control }}.run AS r ON r.run_id = t.run_id
    LEFT JOIN (
        SELECT x.run_id, GROUP_CONCAT(JSON_QUOTE(x.rule) ORDER BY FIELD(x.rule, {{ rule_literals }}) SEPARATOR ', ') AS rules
        FROM {{ control }}.run_rule AS x
        WHERE x.deleted_rows > 0
        GROUP BY x.run_id
    ) AS p ON p.run_id = t.run_id
    LEFT JOIN (
        SELECT x.run_id, SUM(IF(x.action = 'RESTORED', x.table_rows, 0)) AS restored, SUM(IF(x.action = 'RESTORED', 0, x.table_rows)) AS dropped
        FROM {{ control }}.unarchived AS x
        GROUP BY x.run_id
    ) AS u ON u.run_id = t.run_id
    WHERE p_before IS NULL OR t.last_at < p_before AND NOT r.status <=> 'running';
    SET SESSION group_concat_max_len = v_length;
END;

-- archive_options: the options run and older_than, of which a list needs none and a drop one.
--# create procedure {{ control }}.archive_options
CREATE PROCEDURE {{ control }}.archive_options(IN p_options longtext, OUT o_run bigint, OUT o_before datetime(6))
SQL SECURITY DEFINER
COMMENT 'The options run and older_than of what works on the archive; raises 22023 with a hint for what makes no sense. [body @body@]'
BEGIN
    DECLARE v_text    longtext;
    DECLARE v_seconds bigint;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.run') THEN
        CALL {{ control }}.option_of(p_options, 'run', v_text);
        IF (v_text REGEXP '^[1-9][0-9]{0,17}\\z') IS NOT TRUE THEN
            CALL {{ control }}.refuse(CONCAT('run is not the number of a run: ', QUOTE(v_text)), 'write it like {"run": 17}; archive_list() has the runs');
        END IF;
        SET o_run = CAST(v_text AS signed);
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.older_than') THEN
        CALL {{ control }}.option_of(p_options, 'older_than', v_text);
        CALL {{ control }}.seconds(v_text, v_seconds);
        IF v_seconds IS NULL THEN
            CALL {{ control }}.refuse('older_than is not a duration', 'write it like {"older_than": "90d"}');
        END IF;
        SET o_before = UTC_TIMESTAMP(6) - INTERVAL v_seconds SECOND;
    END IF;
END;

-- archive_list: which runs have archived rows.
--# create procedure {{ control }}.archive_list
CREATE PROCEDURE {{ control }}.archive_list(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'The runs of which rows are archived, with the rows by table, and how many were restored or dropped already. Reads the archive from end to end, unless a run is named. Examples: CALL {{ control }}.archive_list(''{}''); CALL {{ control }}.archive_list(''{"older_than": "90d"}''); [body @body@]'
BEGIN
    DECLARE v_run    bigint;
    DECLARE v_before datetime(6);
    DECLARE v_rows   bigint;
    DECLARE v_runs   longtext;
    CALL {{ control }}.drop_shadows();
    SET SESSION timestamp = DEFAULT;
    CALL {{ control }}.check_options(p_options, '["run", "older_than"]');
    CALL {{ control }}.archive_options(p_options, v_run, v_before);
    CALL {{ control }}.archive_of(v_run, v_before, v_rows, v_runs);
    SELECT CONCAT('{"rows": ', v_rows, ', "runs": ', v_runs, '}') AS p_result;
END;

-- archive_step: one bounded step of dropping or pruning: it looks for the next run (io_place is 0), or deletes up to 10,000
-- rows of that run from the archive number io_place, behind row io_after. io_run is NULL when all is done. p_by_run is the
-- run at whose end this prunes, or 0.
--# create procedure {{ control }}.archive_step
CREATE PROCEDURE {{ control }}.archive_step(IN p_by_run bigint, IN p_only bigint, IN p_before datetime(6), INOUT io_run bigint, INOUT io_place integer, INOUT io_after bigint, OUT o_rows bigint)
SQL SECURITY DEFINER
COMMENT 'One step of archive_drop() or archive_prune(): the next run, or up to 10,000 rows of one table less, as noted in table unarchived. [body @body@]'
BEGIN
    DECLARE v_action varchar(20) DEFAULT IF(p_by_run = 0, 'DROPPED', 'PRUNED');
    DECLARE v_table  varchar(64);
    DECLARE v_last   bigint;
    DECLARE v_at     datetime(6);
    SET o_rows = 0;
    IF io_place = 0 THEN
        IF p_only IS NULL THEN
            CALL {{ control }}.archive_next(io_run, io_run);
            CALL {{ control }}.archive_last(io_run, v_at);
        ELSE
            SET io_run = IF(io_run = 0, p_only, NULL);
        END IF;
        -- The oldest first, up to one that is too young, or goes on.
        IF p_only IS NULL AND v_at >= p_before OR EXISTS (SELECT 1 FROM {{ control }}.run AS r WHERE r.run_id = io_run AND r.status = 'running') THEN
            SET io_run = NULL;
        END IF;
        SET io_place = IF(io_run IS NULL, 0, 1), io_after = 0;
    ELSE
{%- for archive in archives %}
        IF io_place = {{ loop.index }} THEN
            SET v_table = {{ archive.table_literal }};
            SELECT MAX(b.windrow_row_id)
            INTO v_last
            FROM (
                SELECT a.windrow_row_id
                FROM {{ archive.archive }} AS a
                WHERE a.windrow_run_id = io_run
                  AND a.windrow_row_id > io_after
                ORDER BY a.windrow_run_id, a.windrow_row_id
                LIMIT 10000
            ) AS b;
            DELETE FROM {{ archive.archive }}
            WHERE windrow_run_id = io_run
              AND windrow_row_id > io_after
              AND windrow_row_id <= v_last;
            SET o_rows = ROW_COUNT();
        END IF;
{%- endfor %}
        IF o_rows > 0 THEN
            UPDATE {{ control }}.unarchived AS u
            SET u.table_rows = u.table_rows + o_rows,
                u.done_at = UTC_TIMESTAMP(6)
            WHERE u.run_id = io_run
              AND u.action = v_action
              AND u.by_run = p_by_run
              AND u.table_name = v_table
              AND u.done_by = USER();
            IF ROW_COUNT() = 0 THEN
                INSERT INTO {{ control }}.unarchived (run_id, action, by_run, table_name, table_rows, done_by, done_at)
                VALUES (io_run, v_action, p_by_run, v_table, o_rows, USER(), UTC_TIMESTAMP(6));
            END IF;
        END IF;
        SET io_after = COALESCE(v_last, 0);
        IF v_last IS NULL THEN
            SET io_place = io_place + 1;
        END IF;
        IF io_place > {{ archives | length }} THEN
            SET io_place = 0;
            DELETE FROM {{ control }}.kept_run WHERE run_id = io_run;
        END IF;
    END IF;
END;

-- archive_prune: what the end of a run does to the archive. It goes on up to 100,000 rows, or as long as the time budget and
-- the window of the run last; not once it is paused.
--# create procedure {{ control }}.archive_prune
CREATE PROCEDURE {{ control }}.archive_prune(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Deletes archived rows of runs whose last row was archived more than archive_days ago, oldest run first, up to 10,000 in a transaction. The end of a run calls it. [body @body@]'
BEGIN
    DECLARE v_days    bigint;
    DECLARE v_before  datetime(6);
    DECLARE v_on      boolean;
    DECLARE v_state   varchar(1000);
    DECLARE v_run     bigint DEFAULT 0;
    DECLARE v_place   integer DEFAULT 0;
    DECLARE v_after   bigint DEFAULT 0;
    DECLARE v_rows    bigint;
    DECLARE v_sum     bigint DEFAULT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    START TRANSACTION;
    CALL {{ control }}.setting_of({{ archiving_first }}, 'archive_days', v_days);
    SELECT MAX(UTC_TIMESTAMP(6) - INTERVAL NULLIF(v_days, 0) DAY)
    INTO v_before
    FROM {{ control }}.run AS r
    WHERE r.run_id = p_run
      AND NOT r.dry_run
      AND r.status <> 'cancelled';
    COMMIT;
    WHILE v_before IS NOT NULL AND v_run IS NOT NULL DO
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        CALL {{ control }}.archive_step(p_run, NULL, v_before, v_run, v_place, v_after, v_rows);
        COMMIT;
        SET v_sum = v_sum + v_rows;
        CALL {{ control }}.window_state(p_run, v_state);
        SELECT NOT c.paused AND (v_sum < 100000 OR v_state IS NULL AND r.deadline > UTC_TIMESTAMP(6))
        INTO v_on
        FROM {{ control }}.run AS r
        CROSS JOIN {{ control }}.control AS c
        WHERE r.run_id = p_run;
        IF NOT v_on THEN
            SET v_run = NULL;
        END IF;
    END WHILE;
END;

-- archive_drop: archived rows of a run, or of all old ones, for good.
--# create procedure {{ control }}.archive_drop
CREATE PROCEDURE {{ control }}.archive_drop(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Deletes the archived rows of a run, or of the runs whose last row was archived that long ago: run or older_than, dry_run. Up to 10,000 rows in a transaction; they exist nowhere else. Examples: CALL {{ control }}.archive_drop(''{"run": 17}''); CALL {{ control }}.archive_drop(''{"older_than": "90d", "dry_run": true}''); [body @body@]'
BEGIN
    DECLARE v_before_call longtext;
    DECLARE v_open    boolean DEFAULT false;
    DECLARE v_only    bigint;
    DECLARE v_before  datetime(6);
    DECLARE v_last    datetime(6);
    DECLARE v_dry_run boolean;
    DECLARE v_run     bigint DEFAULT 0;
    DECLARE v_place   integer DEFAULT 0;
    DECLARE v_after   bigint DEFAULT 0;
    DECLARE v_rows    bigint;
    DECLARE v_sum     bigint DEFAULT 0;
    DECLARE v_runs    longtext;
    {{ w::roll_back(control=control, before="v_before_call") }}
    CALL {{ control }}.settle(v_before_call);
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET v_open = true;
    START TRANSACTION;
    CALL {{ control }}.check_options(p_options, '["run", "older_than", "dry_run"]');
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.run') + JSON_CONTAINS_PATH(p_options, 'one', '$.older_than') <> 1 THEN
        CALL {{ control }}.refuse('not one of run and older_than', 'write {"run": 17} or {"older_than": "90d"}');
    END IF;
    CALL {{ control }}.flag_of(p_options, 'dry_run', v_dry_run);
    CALL {{ control }}.archive_options(p_options, v_only, v_before);
    IF v_only IS NOT NULL THEN
        CALL {{ control }}.archive_last(v_only, v_last);
        IF v_last IS NULL THEN
            CALL {{ control }}.refuse(CONCAT('no rows of run ', v_only, ' are archived'), 'archive_list() has the runs with archived rows');
        END IF;
        IF EXISTS (SELECT 1 FROM {{ control }}.run AS r WHERE r.run_id = v_only AND r.status = 'running') THEN
            CALL {{ control }}.not_ready(CONCAT('run ', v_only, ' is in progress'), 'wait for its end');
        END IF;
    END IF;
    CALL {{ control }}.archive_of(v_only, v_before, v_sum, v_runs);
    COMMIT;
    IF v_dry_run IS NOT TRUE THEN
        SET v_sum = 0;
        WHILE v_run IS NOT NULL DO
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            START TRANSACTION;
            CALL {{ control }}.archive_step(0, v_only, v_before, v_run, v_place, v_after, v_rows);
            COMMIT;
            SET v_sum = v_sum + v_rows;
        END WHILE;
    END IF;
    CALL {{ control }}.unsettle(v_before_call);
    SET v_before_call = NULL;
    SELECT CONCAT('{"dry_run": ', IF(v_dry_run IS TRUE, 'true', 'false'), ', "rows": ', v_sum, ', "runs": ', v_runs, '}') AS p_result;
END;

-- archive_gap: the archive holds what the ledger says that a run deleted, but for what has left it since. A run that was
-- killed inside a batch, which its session committed, has other numbers.
--# create procedure {{ control }}.archive_gap
CREATE PROCEDURE {{ control }}.archive_gap(IN p_run bigint, OUT o_table varchar(64))
SQL SECURITY DEFINER
COMMENT 'The first table of which the archive of run p_run does not hold as many rows as the ledger says; NULL where all are there. [body @body@]'
BEGIN
    SET o_table = NULL;
{%- for archive in archives %}
    IF o_table IS NULL THEN
        SELECT IF(
            (SELECT COUNT(*) FROM {{ archive.archive }} AS x WHERE x.windrow_run_id = p_run)
            + COALESCE((SELECT SUM(x.table_rows) FROM {{ control }}.unarchived AS x WHERE x.run_id = p_run AND x.table_name = {{ archive.table_literal }}), 0)
            <> COALESCE((SELECT SUM(t.deleted_rows) FROM {{ control }}.run_table AS t WHERE t.run_id = p_run AND t.rule IN ({{ archive.rule_literals }}) AND t.table_name = {{ archive.table_literal }}), 0),
            {{ archive.table_literal }},
            NULL
        )
        INTO o_table;
    END IF;
{%- endfor %}
END;

-- archive_work: empty work tables for a restoration: the rows that come back, by table, and in which round.
--# create procedure {{ control }}.archive_work
CREATE PROCEDURE {{ control }}.archive_work()
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of archive_restore(), empty. [body @body@]'
BEGIN
{%- for place in unarchive.places %}
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_back_{{ place.place }};
    CREATE TEMPORARY TABLE {{ control }}.work_back_{{ place.place }} (row_id bigint NOT NULL PRIMARY KEY, round integer) ENGINE = InnoDB;
{%- endfor %}
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_next;
    CREATE TEMPORARY TABLE {{ control }}.work_next (row_id bigint NOT NULL PRIMARY KEY) ENGINE = InnoDB;
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_named;
    CREATE TEMPORARY TABLE {{ control }}.work_named (
        named varchar({{ key_length }}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (named)
    ) ENGINE = InnoDB;
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_found;
END;
{% for rule in unarchive.rules %}{% if not rule.unknown %}
-- {{ rule.name }}_archived: the archived rows of families, found along the edges of the spec in the archive of one run. The keys
-- that rows are found by stand in a work table with an index, since an archive has none.
--# create procedure {{ control }}.{{ rule.name }}_archived
CREATE PROCEDURE {{ control }}.{{ rule.name }}_archived(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Writes the archived rows of run p_run that belong to the families in work_named to the work tables of a restoration. [body @body@]'
BEGIN
    DECLARE v_more bigint DEFAULT 1;
{%- if rule.root > 0 %}
    DECLARE v_key longtext;
    INSERT INTO {{ control }}.work_back_{{ rule.root }} (row_id)
    SELECT t.windrow_row_id
    FROM {{ rule.root_archive }} AS t
    STRAIGHT_JOIN {{ control }}.work_named AS k ON {{ rule.is_named }}
    WHERE t.windrow_run_id = p_run
{%- for condition in rule.conditions %}
      AND {{ condition }}
{%- endfor %};
    SELECT MIN(k.named)
    INTO v_key
    FROM {{ control }}.work_named AS k
    LEFT JOIN (
        SELECT {{ rule.key_text }} AS named
        FROM {{ control }}.work_back_{{ rule.root }} AS w
        STRAIGHT_JOIN {{ rule.root_archive }} AS t ON t.windrow_run_id = p_run AND t.windrow_row_id = w.row_id
    ) AS f ON f.named = k.named
    WHERE f.named IS NULL;
    IF v_key IS NOT NULL THEN
        CALL {{ control }}.refuse(CONCAT('run ', p_run, ' has no archived root in ', '{{ rule.root_name }}', ' with the key ', v_key), 'archive_list() has the runs');
    END IF;
{%- if rule.timed %}
{%- for column in rule.within %}
    INSERT INTO {{ control }}.work_back_{{ rule.root }} (row_id)
    SELECT t.windrow_row_id
    FROM {{ rule.root_archive }} AS t
    STRAIGHT_JOIN {{ control }}.work_named AS k ON k.named = CAST(t.{{ column }} AS CHAR)
    WHERE t.windrow_run_id = p_run
    ON DUPLICATE KEY UPDATE row_id = VALUES(row_id);
{%- endfor %}
{%- elif rule.links or rule.within %}
    -- Level by level: what the last members found name as their descendants.
    DELETE FROM {{ control }}.work_next WHERE row_id IS NOT NULL;
    INSERT INTO {{ control }}.work_next (row_id) SELECT w.row_id FROM {{ control }}.work_back_{{ rule.root }} AS w;
    WHILE v_more > 0 DO
        DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_found;
        CREATE TEMPORARY TABLE {{ control }}.work_found (KEY (k1)) ENGINE = InnoDB
        SELECT DISTINCT p.{{ rule.key }} AS k1
        FROM {{ control }}.work_next AS n
        STRAIGHT_JOIN {{ rule.root_archive }} AS p ON p.windrow_run_id = p_run AND p.windrow_row_id = n.row_id;
        DELETE FROM {{ control }}.work_next WHERE row_id IS NOT NULL;
{%- for link in rule.links %}
        DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_below;
        CREATE TEMPORARY TABLE {{ control }}.work_below (KEY (k1)) ENGINE = InnoDB
        SELECT DISTINCT l.{{ link.child }} AS k1
        FROM {{ link.archive }} AS l
        STRAIGHT_JOIN {{ control }}.work_found AS k ON k.k1 = l.{{ link.parent }}
        WHERE l.windrow_run_id = p_run;
        INSERT INTO {{ control }}.work_next (row_id)
        SELECT t.windrow_row_id
        FROM {{ rule.root_archive }} AS t
        STRAIGHT_JOIN {{ control }}.work_below AS k ON k.k1 = t.{{ rule.key }}
        WHERE t.windrow_run_id = p_run
        ON DUPLICATE KEY UPDATE row_id = VALUES(row_id);
        DROP TEMPORARY TABLE {{ control }}.work_below;
{%- endfor %}
{%- for column in rule.within %}
        INSERT INTO {{ control }}.work_next (row_id)
        SELECT t.windrow_row_id
        FROM {{ rule.root_archive }} AS t
        STRAIGHT_JOIN {{ control }}.work_found AS k ON k.k1 = t.{{ column }}
        WHERE t.windrow_run_id = p_run
        ON DUPLICATE KEY UPDATE row_id = VALUES(row_id);
{%- endfor %}
        DELETE n
        FROM {{ control }}.work_next AS n
        STRAIGHT_JOIN {{ control }}.work_back_{{ rule.root }} AS w ON w.row_id = n.row_id;
        INSERT INTO {{ control }}.work_back_{{ rule.root }} (row_id) SELECT n.row_id FROM {{ control }}.work_next AS n;
        SET v_more = ROW_COUNT();
    END WHILE;
{%- endif %}
{%- endif %}
{%- for step in rule.steps %}
{%- for column in step.family %}
    INSERT INTO {{ control }}.work_back_{{ step.place }} (row_id)
    SELECT t.windrow_row_id
    FROM {{ step.archive }} AS t
    STRAIGHT_JOIN {{ control }}.work_named AS k ON k.named = CAST(t.{{ column }} AS CHAR)
    WHERE t.windrow_run_id = p_run
    ON DUPLICATE KEY UPDATE row_id = VALUES(row_id);
{%- endfor %}
{%- for edge in step.edges %}
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_found;
    CREATE TEMPORARY TABLE {{ control }}.work_found (KEY ({% for pair in edge.pairs %}k{{ loop.index }}{% if not loop.last %}, {% endif %}{% endfor %})) ENGINE = InnoDB
    SELECT DISTINCT {% for pair in edge.pairs %}p.{{ pair.parent }} AS k{{ loop.index }}{% if not loop.last %}, {% endif %}{% endfor %}
    FROM {{ control }}.work_back_{{ edge.place }} AS w
    STRAIGHT_JOIN {{ edge.archive }} AS p ON p.windrow_run_id = p_run AND p.windrow_row_id = w.row_id;
    INSERT INTO {{ control }}.work_back_{{ step.place }} (row_id)
    SELECT t.windrow_row_id
    FROM {{ step.archive }} AS t
    STRAIGHT_JOIN {{ control }}.work_found AS k ON {% for pair in edge.pairs %}k.k{{ loop.index }} = t.{{ pair.child }}{% if not loop.last %} AND {% endif %}{% endfor %}
    WHERE t.windrow_run_id = p_run
    ON DUPLICATE KEY UPDATE row_id = VALUES(row_id);
{%- endfor %}
{%- endfor %}
END;
{% endif %}{% endfor %}
-- archive_put: rows of the work table of a place go from their archive into their table, those of one round.
--# create procedure {{ control }}.archive_put
CREATE PROCEDURE {{ control }}.archive_put(IN p_table varchar(64), IN p_class varchar(300), IN p_archive varchar(300), IN p_place integer, IN p_run bigint, IN p_round integer, OUT o_rows bigint)
SQL SECURITY DEFINER
COMMENT 'Copies the rows of run p_run that work_back_ p_place names, in round p_round, from an archive into their table; answers how many. [body @body@]'
BEGIN
    DECLARE v_columns longtext;
    -- What the table generates, it generates again; a number 0 stays one.
    SET SESSION sql_mode = CONCAT(@@SESSION.sql_mode, ',NO_AUTO_VALUE_ON_ZERO');
    SELECT GROUP_CONCAT('`', REPLACE(c.column_name, '`', '``'), '`' ORDER BY c.ordinal_position SEPARATOR ', ')
    INTO v_columns
    FROM information_schema.columns AS c
    WHERE c.table_schema = {{ schema_literal }}
      AND c.table_name = p_table
      AND COALESCE(c.generation_expression, '') = '';
    SET @windrow_statement = CONCAT(
        'INSERT INTO ', p_class, ' (', v_columns, ') SELECT a.', REPLACE(v_columns, '`, `', '`, a.`'),
        ' FROM {{ control }}.work_back_', p_place, ' AS w STRAIGHT_JOIN ', p_archive, ' AS a ON a.windrow_run_id = ', p_run,
        ' AND a.windrow_row_id = w.row_id WHERE w.round = ', p_round
    );
    PREPARE windrow_statement FROM @windrow_statement;
    EXECUTE windrow_statement;
    SET o_rows = ROW_COUNT();
    DEALLOCATE PREPARE windrow_statement;
    SET @windrow_statement = NULL;
END;

-- archive_find: what is to come back.
--# create procedure {{ control }}.archive_find
CREATE PROCEDURE {{ control }}.archive_find(IN p_run bigint, IN p_rule varchar(64), IN p_most bigint)
SQL SECURITY DEFINER
COMMENT 'Writes the archived rows of run p_run, or of the families in work_named of rule p_rule, to the work tables of a restoration. Reads only. [body @body@]'
BEGIN
    DECLARE v_limit bigint DEFAULT p_most + 1;
    DECLARE v_total bigint DEFAULT 0;
    IF p_rule IS NULL THEN
{%- for place in unarchive.places %}
        INSERT INTO {{ control }}.work_back_{{ place.place }} (row_id)
        SELECT a.windrow_row_id FROM {{ place.archive.archive }} AS a WHERE a.windrow_run_id = p_run ORDER BY a.windrow_row_id LIMIT v_limit;
        SET v_total = v_total + ROW_COUNT();
{%- endfor %}
    END IF;
{%- for rule in unarchive.rules %}{% if not rule.unknown %}
    IF p_rule = {{ rule.literal }} THEN
        CALL {{ control }}.{{ rule.name }}_archived(p_run);
{%- for place in unarchive.places %}
        SET v_total = v_total + (SELECT COUNT(*) FROM {{ control }}.work_back_{{ place.place }} AS w);
{%- endfor %}
    END IF;
{%- endif %}{% endfor %}
    IF v_total = 0 THEN
        CALL {{ control }}.refuse(CONCAT('run ', p_run, ' has no archived rows of these families'), 'archive_list() has the runs');
    END IF;
    IF v_total > p_most THEN
        CALL {{ control }}.not_ready(CONCAT('more rows than one transaction should bring back: max_rows is ', p_most), 'restore by keys, or raise max_rows');
    END IF;
END;

-- archive_back: what archive_restore() does within its last transaction.
--# create procedure {{ control }}.archive_back
CREATE PROCEDURE {{ control }}.archive_back(IN p_run bigint, IN p_rule varchar(64), IN p_keys longtext, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'Moves the archived rows of run p_run that archive_find() has found back into their tables, and holds them. [body @body@]'
BEGIN
    DECLARE v_table   varchar(64) DEFAULT 'hold';
    DECLARE v_count   bigint;
    DECLARE v_total   bigint DEFAULT 0;
    DECLARE v_rows    bigint;
    DECLARE v_sum     bigint;
    DECLARE v_gone    bigint;
    DECLARE v_more    bigint;
    DECLARE v_round   integer;
    DECLARE v_holds   bigint DEFAULT 0;
    DECLARE v_unheld  bigint DEFAULT 0;
    DECLARE v_counts  longtext DEFAULT '';
    DECLARE v_missing longtext DEFAULT '';
    DECLARE v_latch   boolean;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    -- ER_DUP_ENTRY: which table, and that nothing has happened.
    DECLARE EXIT HANDLER FOR 1062
    BEGIN
        DECLARE v_text varchar(128);
        {{ w::diagnose(maria=maria) | indent(prefix="        ") }}
        SET v_text = LEFT(CONCAT('nothing is restored: table ', v_table, ': ', v_message, '; a row that has come since is in the way'), 128);
        SIGNAL SQLSTATE '23000' SET MESSAGE_TEXT = v_text;
    END;
{%- if unarchive.holds %}

    -- What comes back is due at once: a hold keeps it.
{%- endif %}
{%- for hold in unarchive.holds %}
    DELETE h
    FROM {{ control }}.work_back_{{ hold.place }} AS w
    STRAIGHT_JOIN {{ hold.archive }} AS t ON t.windrow_run_id = p_run AND t.windrow_row_id = w.row_id
    STRAIGHT_JOIN {{ control }}.hold AS h ON h.rule = {{ hold.rule }} AND h.`key` = {{ hold.key }} AND NOT {{ w::holds_now() }};
    INSERT INTO {{ control }}.hold (rule, `key`, reason, placed_by, placed_at)
    SELECT DISTINCT {{ hold.rule }}, {{ hold.key }}, CONCAT('restored from the archive of run ', p_run), USER(), UTC_TIMESTAMP(6)
    FROM {{ control }}.work_back_{{ hold.place }} AS w
    STRAIGHT_JOIN {{ hold.archive }} AS t ON t.windrow_run_id = p_run AND t.windrow_row_id = w.row_id
    LEFT JOIN {{ control }}.hold AS h ON h.rule = {{ hold.rule }} AND h.`key` = {{ hold.key }}
    WHERE h.rule IS NULL
{%- if hold.may_lack %}
      AND {{ hold.key }} IS NOT NULL
{%- endif %}
{%- for condition in hold.conditions %}
      AND {{ condition }}
{%- endfor %};
    SET v_holds = v_holds + ROW_COUNT();
{%- if hold.may_lack %}
    SET v_unheld = v_unheld + (
        SELECT COUNT(*)
        FROM {{ control }}.work_back_{{ hold.place }} AS w
        STRAIGHT_JOIN {{ hold.archive }} AS t ON t.windrow_run_id = p_run AND t.windrow_row_id = w.row_id
        WHERE {{ hold.key }} IS NULL
    );
{%- endif %}
{%- endfor %}

    -- Parents before children.
{%- for place in unarchive.places %}
    SET v_count = (SELECT COUNT(*) FROM {{ control }}.work_back_{{ place.place }} AS w), v_table = {{ place.archive.table_literal }}, v_sum = 0, v_round = 1;
    SET v_total = v_total + v_count;
    IF v_count > 0 THEN
{%- if place.uppers %}
        -- A foreign key is checked row by row: first those whose upper rows are there, round by round.
        REPEAT
            UPDATE {{ control }}.work_back_{{ place.place }} AS w
            STRAIGHT_JOIN {{ place.archive.archive }} AS a ON a.windrow_run_id = p_run AND a.windrow_row_id = w.row_id
{%- for column in place.uppers %}
            LEFT JOIN {{ place.archive.table }} AS u{{ loop.index }} ON u{{ loop.index }}.{{ place.key }} = a.{{ column }}
{%- endfor %}
            SET w.round = v_round
            WHERE w.round IS NULL
{%- for column in place.uppers %}
              AND (a.{{ column }} IS NULL OR a.{{ column }} = a.{{ place.key }} OR u{{ loop.index }}.{{ place.key }} IS NOT NULL)
{%- endfor %};
            SET v_more = ROW_COUNT();
            IF v_more = 0 THEN
                -- Rows that name each other in a circle, or what is not there.
                UPDATE {{ control }}.work_back_{{ place.place }} AS w SET w.round = v_round WHERE w.row_id > 0 AND w.round IS NULL;
            END IF;
            CALL {{ control }}.archive_put(v_table, {{ place.archive.table_class }}, {{ place.archive.archive_class }}, {{ place.place }}, p_run, v_round, v_rows);
            SET v_sum = v_sum + v_rows, v_round = v_round + 1;
        UNTIL v_more = 0 OR v_sum = v_count END REPEAT;
{%- else %}
        UPDATE {{ control }}.work_back_{{ place.place }} AS w SET w.round = v_round WHERE w.row_id > 0;
        CALL {{ control }}.archive_put(v_table, {{ place.archive.table_class }}, {{ place.archive.archive_class }}, {{ place.place }}, p_run, v_round, v_sum);
{%- endif %}
        DELETE a
        FROM {{ control }}.work_back_{{ place.place }} AS w
        STRAIGHT_JOIN {{ place.archive.archive }} AS a ON a.windrow_run_id = p_run AND a.windrow_row_id = w.row_id;
        SET v_gone = ROW_COUNT();
        IF v_sum <> v_count OR v_gone <> v_count THEN
            CALL {{ control }}.not_ready(CONCAT('nothing is restored: table ', v_table, ': ', v_count, ' rows were to come back, ', v_gone, ' left the archive, and ', v_sum, ' came in'), NULL);
        END IF;
        INSERT INTO {{ control }}.unarchived (run_id, action, table_name, table_rows, `keys`, done_by, done_at)
        VALUES (p_run, 'RESTORED', v_table, v_count, p_keys, USER(), UTC_TIMESTAMP(6));
        SET v_counts = CONCAT_WS(', ', NULLIF(v_counts, ''), CONCAT(JSON_QUOTE(v_table), ': ', v_count));
    END IF;
{%- endfor %}
    -- After it no batch is under way that did not see the holds.
    SELECT l.only_row INTO v_latch FROM {{ control }}.latch AS l FOR UPDATE;
    SELECT COALESCE(GROUP_CONCAT(DISTINCT JSON_QUOTE(m.table_name) ORDER BY m.table_name SEPARATOR ', '), '')
    INTO v_missing
    FROM (
        SELECT NULL AS rule, NULL AS table_name
{%- for missing in unarchive.missing %}{% for table in missing.tables %}
        UNION ALL SELECT {{ missing.rule }}, {{ table }}
{%- endfor %}{% endfor %}
    ) AS m
    WHERE IF(p_rule IS NULL, EXISTS (SELECT 1 FROM {{ control }}.run_rule AS p WHERE p.run_id = p_run AND p.rule = m.rule AND p.deleted_rows > 0), m.rule = p_rule);
    SET o_document = CONCAT(
        '{"run": ', p_run, ', "rows": ', v_total, ', "tables": {', v_counts, '}, "holds": ', v_holds, ', "not_held": ', v_unheld, ', "not_archived": [', v_missing, ']}'
    );
END;

-- archive_restore: archived rows come back, of a whole run or of families; all of them, or none.
--# create procedure {{ control }}.archive_restore
CREATE PROCEDURE {{ control }}.archive_restore(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Moves archived rows back into their tables, parents before children: all of a run, or families of it by their keys (run, rule, key, max_rows). All or nothing, in one transaction. Holds are placed, since what comes back is due at once. Examples: CALL {{ control }}.archive_restore(''{"run": 17}''); CALL {{ control }}.archive_restore(''{"run": 17, "key": [4]}''); [body @body@]'
BEGIN
    DECLARE v_settled  longtext;
    DECLARE v_open     boolean DEFAULT false;
    DECLARE v_run      bigint;
    DECLARE v_before   datetime(6);
    DECLARE v_last     datetime(6);
    DECLARE v_rule     varchar(64);
    DECLARE v_gap      varchar(64);
    DECLARE v_keys     longtext;
    DECLARE v_text     longtext;
    DECLARE v_most     bigint DEFAULT 1000000;
    DECLARE v_more     bigint;
    DECLARE v_place    integer DEFAULT 0;
    DECLARE v_document longtext;
    {{ w::roll_back(control=control, before="v_settled") }}
    CALL {{ control }}.settle(v_settled);
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET v_open = true;
    START TRANSACTION;
    CALL {{ control }}.check_options(p_options, '["run", "rule", "key", "max_rows"]');
    CALL {{ control }}.archive_options(p_options, v_run, v_before);
    IF v_run IS NULL THEN
        CALL {{ control }}.refuse('the option run is missing', 'write it like {"run": 17}; archive_list() has the runs');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.max_rows') THEN
        CALL {{ control }}.option_of(p_options, 'max_rows', v_text);
        IF (v_text REGEXP '^[1-9][0-9]{0,17}\\z') IS NOT TRUE THEN
            CALL {{ control }}.refuse(CONCAT('max_rows is not a number above 0: ', QUOTE(v_text)), 'write it like {"max_rows": 2000000}');
        END IF;
        SET v_most = CAST(v_text AS signed);
    END IF;
    CALL {{ control }}.archive_work();
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.key') THEN
        CALL {{ control }}.check_rule(p_options, v_rule);
        SET v_keys = JSON_EXTRACT(p_options, '$.key');
        IF JSON_TYPE(v_keys) <> 'ARRAY' OR JSON_LENGTH(v_keys) = 0 THEN
            CALL {{ control }}.refuse('the option key is not a list of keys', 'write it like {"key": [17, 18]}');
        END IF;
        WHILE v_place < JSON_LENGTH(v_keys) DO
            {% if by_composite %}CALL {{ control }}.key_of(JSON_EXTRACT(v_keys, CONCAT('$[', v_place, ']')), v_text){% else %}SET v_text = JSON_UNQUOTE(JSON_EXTRACT(v_keys, CONCAT('$[', v_place, ']'))){% endif %};
            CALL {{ control }}.check_key(v_rule, v_text);
            INSERT INTO {{ control }}.work_named (named) VALUES (v_text) ON DUPLICATE KEY UPDATE named = VALUES(named);
            SET v_place = v_place + 1;
        END WHILE;
        IF v_rule NOT IN ({{ archiving_literals }}) THEN
            CALL {{ control }}.refuse(CONCAT('rule ', v_rule, ' archives nothing'), CONCAT('the rules that do are: ', CONCAT_WS(', ', {{ archiving_literals }})));
        END IF;
{%- for rule in unarchive.rules %}{% if rule.unknown %}
        IF v_rule = {{ rule.literal }} THEN
            CALL {{ control }}.refuse('the families of rule {{ rule.name }} cannot be told apart in the archive: {{ rule.unknown }}', 'restore the whole run');
        END IF;
{%- endif %}{% endfor %}
    ELSEIF JSON_CONTAINS_PATH(p_options, 'one', '$.rule') THEN
        CALL {{ control }}.refuse('the option rule is for keys', 'name keys, too: {"run": 17, "rule": "{{ unarchive.rules.0.name }}", "key": [4]}');
    END IF;
    CALL {{ control }}.archive_last(v_run, v_last);
    IF v_last IS NULL THEN
        CALL {{ control }}.refuse(CONCAT('no rows of run ', v_run, ' are archived'), 'archive_list() has the runs with archived rows');
    END IF;
    IF EXISTS (SELECT 1 FROM {{ control }}.run AS r WHERE r.run_id = v_run AND r.status = 'running') THEN
        CALL {{ control }}.not_ready(CONCAT('run ', v_run, ' is in progress'), 'wait for its end');
    END IF;
    SELECT SUM(u.table_rows) INTO v_more FROM {{ control }}.unarchived AS u WHERE u.run_id = v_run AND u.action <> 'RESTORED';
    IF v_more > 0 THEN
        CALL {{ control }}.not_ready(CONCAT(v_more, ' rows of run ', v_run, ' were dropped from the archive: what is left is not whole'), 'export what is left');
    END IF;
    CALL {{ control }}.archive_gap(v_run, v_gap);
    IF v_gap IS NOT NULL THEN
        CALL {{ control }}.not_ready(CONCAT('the archive of run ', v_run, ' is not whole: table ', v_gap), 'a batch was killed, or it was changed by hand');
    END IF;
    CALL {{ control }}.check_archive(v_rule);
    CALL {{ control }}.archive_find(v_run, v_rule, v_most);
    -- The work tables were made: a transaction in which that was done is written to MariaDB's binary log even when it is
    -- rolled back. Should archived rows go meanwhile, archive_back() notices.
    COMMIT;
    {{ w::start(pad="    ") }}
    CALL {{ control }}.archive_back(v_run, v_rule, v_keys, v_document);
    COMMIT;
    CALL {{ control }}.archive_work();
    CALL {{ control }}.unsettle(v_settled);
    SET v_settled = NULL;
    SELECT v_document AS p_result;
END;
