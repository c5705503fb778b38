-- known_shape: what the checks, keys, columns and views of the ledger said when the last installation was done.
--# create table known_shape
CREATE TABLE IF NOT EXISTS known_shape (
    name  varchar(200) NOT NULL PRIMARY KEY,
    says  char(64),
    lasts boolean      NOT NULL,
    made  varchar(64)  NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Hashes of the primary keys, columns, checks and views of the control database. lasts: an installation does not make it
        anew; made: the hash of the tables as they are generated. Written by note_shapes().';
-- note_shapes: what verify() and windrow diff compare.
--# create procedure note_shapes
CREATE PROCEDURE note_shapes()
SQL SECURITY DEFINER
COMMENT 'Notes in table known_shape what the checks, primary keys, columns and views say now. The installation calls it.'
BEGIN
    DECLARE v_made varchar(64) DEFAULT (SELECT JSON_VALUE(s.document, '$.ledger') FROM spec AS s);
    -- What is not recreated remains recorded as it was made: nothing that was changed by hand is taken for windrow's own.
    DELETE FROM known_shape
    WHERE name > ''
      AND (
          NOT lasts
          OR made <> v_made
          -- What was out of its table when an earlier version was installed.
          OR name IN (
              SELECT CONCAT('primary key of ', r.rule, '_taken') FROM rule AS r WHERE r.strategy = 'partition'
          )
          OR SUBSTRING_INDEX(name, '.', 1) IN (
              SELECT CONCAT('column ', r.rule, '_taken') FROM rule AS r WHERE r.strategy = 'partition'
          )
      );
    INSERT INTO known_shape (name, says, lasts, made)
    SELECT s.name, s.says, s.lasts, v_made
    FROM (
        --+ shapes.sql
    ) AS s
    LEFT JOIN known_shape AS k ON k.name = s.name
    WHERE k.name IS NULL;
END;

-- look_at_schedule: whether the server starts the scheduled runs: it says so to nobody. Where windrow is armed and nothing starts one,
-- nobody would notice either. Other members of a cluster may have the events: they are disabled on all but the one that made them. And
-- where an installation left the schedule out, runs are started from elsewhere.
--# create procedure look_at_schedule
CREATE PROCEDURE look_at_schedule(IN p_not_armed longtext)
SQL SECURITY DEFINER
COMMENT 'Fills work_schedule: object, severity and detail of each event, where p_not_armed is what not_armed() says.'
BEGIN
    DECLARE v_works     boolean DEFAULT p_not_armed IS NULL AND CAST(@@GLOBAL.read_only AS char) IN ('0', 'OFF');
    DECLARE v_beside    boolean DEFAULT false;
    DECLARE v_armed_on  varchar(700);
    DECLARE v_scheduled boolean;
    DECLARE v_elsewhere varchar(100)
        DEFAULT '; if runs are started from elsewhere: windrow install --skip 60_schedule.sql';
    SELECT c.server_identity, c.scheduled INTO v_armed_on, v_scheduled FROM control AS c;
    IF v_armed_on LIKE 'cluster %' AND v_armed_on NOT LIKE 'cluster of servers %' THEN
        SELECT COALESCE(MAX(CAST(v.variable_value AS signed) > 1), false)
        INTO v_beside
        FROM /*!80000 performance_schema.global_status */ /*M! information_schema.global_status */ AS v
        WHERE v.variable_name = 'wsrep_cluster_size';
        /*!80000
        of_group: BEGIN
            -- No right to see the members.
            DECLARE EXIT HANDLER FOR 1142 BEGIN END;
            SELECT v_beside OR COUNT(*) > 0
            INTO v_beside
            FROM performance_schema.replication_group_members AS m
            WHERE m.member_id <> @@server_uuid
              AND m.member_role = 'PRIMARY';
        END of_group; */
    END IF;
    DROP TEMPORARY TABLE IF EXISTS work_schedule;
    CREATE TEMPORARY TABLE work_schedule (
        pk       bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
        object   varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        severity varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        detail   text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
    ) ENGINE = InnoDB;
    INSERT INTO work_schedule (object, severity, detail)
    SELECT
        IF(j.name = 'run', c.spec, j.name),
        IF(
            v_works AND v_scheduled AND (j.idle IN ('disabled', 'missing') OR (j.idle = 'replica' AND NOT v_beside)),
            'violation', j.severity
        ),
        CONCAT(j.detail, IF(v_works AND v_scheduled AND j.idle IS NOT NULL, v_elsewhere, ''))
    FROM control AS c
    CROSS JOIN (
        --+ events.sql
    ) AS j;
    INSERT INTO work_schedule (object, severity, detail)
    SELECT e.event_name, 'violation',
        CONCAT('the event is of no line of the spec: DROP EVENT ', DATABASE(), '.', e.event_name, ', as windrow install does')
    FROM information_schema.events AS e
    WHERE e.event_schema = DATABASE()
      AND NOT EXISTS (SELECT 1 FROM known_job AS j WHERE j.name = e.event_name);
    INSERT INTO work_schedule (object, severity, detail)
    SELECT 'event_scheduler', IF(v_scheduled, 'violation', 'notice'),
        CONCAT('it is ', @@GLOBAL.event_scheduler, ': no event runs; SET GLOBAL event_scheduler = ON, and in the configuration',
            IF(v_scheduled, v_elsewhere, ''))
    FROM control AS c
    WHERE @@GLOBAL.event_scheduler <> 'ON'
      AND EXISTS (
          SELECT 1 FROM information_schema.events AS e
          WHERE e.event_schema = DATABASE()
            AND e.status = 'ENABLED'
      );
END;
--# create procedure schedule_check
CREATE PROCEDURE schedule_check()
SQL SECURITY DEFINER
COMMENT 'Whether the event scheduler will start runs, as one JSON document; verify() says it, too. Example: CALL schedule_check();'
BEGIN
    DECLARE v_not_armed longtext;
    DECLARE v_check longtext;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL not_armed(v_not_armed);
    CALL look_at_schedule(v_not_armed);
    SELECT JSON_OBJECT(
        'check', 'schedule',
        'object', (SELECT c.spec FROM control AS c),
        'severity', CASE
            WHEN MAX(j.severity = 'violation') THEN 'violation'
            WHEN MAX(j.severity = 'notice') THEN 'notice'
            ELSE 'ok'
        END,
        'count', 1,
        'detail', GROUP_CONCAT(j.detail ORDER BY j.severity = 'violation' DESC, j.object SEPARATOR '; ')
    )
    INTO v_check
    FROM work_schedule AS j;
    DROP TEMPORARY TABLE work_schedule;
    CALL unsettle(v_session);
    SELECT v_check AS p_result;
END;

-- verify: is everything as it should be?
--# create procedure verify
CREATE PROCEDURE verify(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Orphans, what is due or kept and why, drift of routines and of the event, indexes, policies below the minimum, ledger
    arithmetic, as one JSON document. Reads whole tables.
    Example: CALL verify(''{}'');'
BEGIN
    DECLARE v_preview longtext;
    DECLARE v_error text;
    DECLARE v_number integer;
    DECLARE v_errno integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message text;
    DECLARE v_place int DEFAULT 0;
    DECLARE v_at int;
    DECLARE v_rule varchar(64);
    DECLARE v_skipped longtext;
    DECLARE v_reasons longtext;
    DECLARE v_reason varchar(64);
    DECLARE v_count bigint;
    DECLARE v_not_armed longtext;
    DECLARE v_checks longtext;
    DECLARE v_clean boolean;
    DECLARE v_before longtext;
    DECLARE v_open boolean DEFAULT false;
    DECLARE v_hours boolean;
    DECLARE v_starts boolean DEFAULT false;
    DECLARE v_minute datetime;
    DECLARE v_until datetime;
    DECLARE v_owner varchar(80);
    DECLARE v_schema varchar(64);
    DECLARE v_zone varchar(64);
    DECLARE v_schedule longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_open THEN
            ROLLBACK;
        END IF;
        CALL unsettle(v_before);
        RESIGNAL;
    END;
    CALL check_options(p_options, '[]');
    CALL settle(v_before);
    SELECT s.owner, s.schema_name, JSON_VALUE(s.document, '$.named_zone'), JSON_VALUE(s.document, '$.schedule')
    INTO v_owner, v_schema, v_zone, v_schedule
    FROM spec AS s;
    -- READ COMMITTED: at a higher level the rows copied to the work tables would be locked.
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET v_open = true;
    START TRANSACTION;
    -- A routine that was dropped or broken by hand is a finding, not the end of the report.
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            --+ raised.sql
            SET v_error = v_message;
        END;
        CALL preview_document('{}', v_preview);
    END;
    CALL not_armed(v_not_armed);
    CALL count_orphans();
    DROP TEMPORARY TABLE IF EXISTS work_check;
    CREATE TEMPORARY TABLE work_check (
        pk         bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
        position   int NOT NULL,
        check_name varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        object     varchar(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        severity   varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        count      bigint NOT NULL DEFAULT 1,
        detail     text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
    ) ENGINE = InnoDB;

    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT
        1, 'orphans', n.edge,
        CASE WHEN n.orphans = 0 THEN 'ok' WHEN n.orphans <= COALESCE(n.known, 0) THEN 'notice' ELSE 'violation' END,
        COALESCE(n.orphans, 0),
        CASE
            WHEN n.orphans IS NULL THEN 'cannot be counted: a table or a column of it is missing'
            WHEN n.orphans = 0 THEN 'every row has its parent'
            WHEN n.orphans_at_arm IS NULL THEN 'rows without a parent; arm() notes those that were there before'
            ELSE CONCAT('rows without a parent; ', COALESCE(n.known, 0), ' were there when windrow was armed')
        END
    FROM (
        SELECT o.edge, o.orphans, c.orphans_at_arm,
            CAST(JSON_UNQUOTE(JSON_EXTRACT(c.orphans_at_arm, CONCAT('$.', JSON_QUOTE(o.edge)))) AS signed) AS known
        FROM work_orphan AS o
        CROSS JOIN control AS c
    ) AS n;
    DROP TEMPORARY TABLE work_orphan;

    -- What is odd in the rows of a rule, where its strategy knows of such a thing.
    SELECT MIN(r.position) INTO v_at FROM rule AS r WHERE r.strategy IN ('removal-time', 'age', 'partition', 'keep-last');
    WHILE v_at IS NOT NULL DO
        SELECT r.rule INTO v_rule FROM rule AS r WHERE r.position = v_at;
        BEGIN
            -- That a table, a column or a routine is missing is a finding of its own.
            DECLARE CONTINUE HANDLER FOR 1054, 1146, 1305 SET v_count = NULL;
            CALL checks_of(v_rule);
        END;
        SELECT MIN(r.position) INTO v_at FROM rule AS r
            WHERE r.strategy IN ('removal-time', 'age', 'partition', 'keep-last') AND r.position > v_at;
    END WHILE;

    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 2, 'preview', c.spec, 'violation', CONCAT('preview() fails: ', v_error)
    FROM control AS c
    WHERE v_error IS NOT NULL;
    WHILE v_place < COALESCE(JSON_LENGTH(v_preview, '$.rules'), 0) DO
        SET v_rule = JSON_UNQUOTE(JSON_EXTRACT(v_preview, CONCAT('$.rules[', v_place, '].rule')));
        SET v_count = JSON_EXTRACT(v_preview, CONCAT('$.rules[', v_place, '].families'));
        INSERT INTO work_check (position, check_name, object, severity, count, detail)
        VALUES (2, 'due', v_rule, IF(v_count = 0, 'ok', 'notice'), v_count, 'families that a run would delete now');
        SET v_skipped = JSON_EXTRACT(v_preview, CONCAT('$.rules[', v_place, '].skipped'));
        SET v_reasons = JSON_KEYS(v_skipped);
        SET v_at = 0;
        WHILE v_at < JSON_LENGTH(v_reasons) DO
            SET v_reason = JSON_UNQUOTE(JSON_EXTRACT(v_reasons, CONCAT('$[', v_at, ']')));
            SET v_count = JSON_EXTRACT(v_skipped, CONCAT('$.', v_reason));
            INSERT INTO work_check (position, check_name, object, severity, count, detail)
            VALUES (3, 'undeletable', CONCAT(v_rule, ' ', v_reason), 'notice', v_count, 'families whose root is due but that are kept');
            SET v_at = v_at + 1;
        END WHILE;
        SET v_place = v_place + 1;
    END WHILE;

    -- A client may have sent a body without its comments, or with other spaces: neither counts.
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT
        4, 'routine', n.name,
        CASE WHEN NOT n.found OR NOT n.owned THEN 'violation' WHEN NOT n.readable THEN 'notice' WHEN n.body_known THEN 'ok'
            ELSE 'violation' END,
        CASE
            WHEN NOT n.found THEN 'missing; run windrow install'
            WHEN NOT n.readable AND n.owned
                THEN CONCAT('its body cannot be read by the owner role', /*M! ', which needs SELECT on mysql.proc', */ '')
            WHEN NOT n.owned THEN CONCAT('its definer is ', n.definer, ', not the owner role; run windrow install')
            WHEN n.body_known THEN 'as generated'
            ELSE 'edited by hand; windrow install puts it back'
        END
    FROM (
        SELECT
            w.routine AS name,
            r.definer,
            r.routine_name IS NOT NULL AS found,
            COALESCE(r.readable, false) AS readable,
            COALESCE(r.definer IN (v_owner, CONCAT(v_owner, '@%'), CONCAT(v_owner, '@')), false) AS owned,
            COALESCE(r.body_known, false) AS body_known
        FROM (SELECT DISTINCT k.routine FROM known_routine AS k) AS w
        LEFT JOIN (
            SELECT
                r.routine_name,
                r.definer,
                r.routine_definition IS NOT NULL AS readable,
                r.routine_comment LIKE CONCAT('%[body ',
                    LEFT(SHA2(TRIM(REGEXP_REPLACE(REPLACE(REPLACE(REGEXP_REPLACE(REGEXP_REPLACE(r.routine_definition,
                    '(?m)^[[:blank:]]*--.*$', ''), '(?s)/[*]M!.*?[*]/', ''), '''', ''), CHAR(92 USING utf8mb4), ''),
                    '[[:space:]]{2,}|(?! )[[:space:]]', ' ')), 256), 12), ']')
                    AND (
                        --+ as_made.sql
                    ) AS body_known
            FROM information_schema.routines AS r
            WHERE r.routine_schema = DATABASE()
              AND r.routine_type = 'PROCEDURE'
            -- With a limit, each routine is read once, and not for each name that is joined with it.
            LIMIT 1000000
        ) AS r ON r.routine_name = w.routine
    ) AS n;
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 4, 'rights', LEFT(c.object, 400), 'violation', CONCAT(c.problem, '; ', c.remedy)
    FROM (
        --+ reshaped.sql
    ) AS c;
    -- What is not as generated and is no body, as far as the owner role sees it.
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 4, 'claim', LEFT(c.object, 400), 'violation', CONCAT(c.problem, '; ', c.remedy)
    FROM (
        SELECT CONCAT('table ', t.table_schema, '.', t.table_name) AS object, CONCAT('has the engine ', t.engine) AS problem,
            'ALTER TABLE ... ENGINE = InnoDB' AS remedy
        FROM information_schema.tables AS t
        WHERE t.table_schema = DATABASE()
          AND t.table_type = 'BASE TABLE'
          AND t.engine <> 'InnoDB'
        UNION ALL
        SELECT
            CONCAT('trigger ', t.trigger_schema, '.', t.trigger_name),
            CONCAT('acts when table ', t.event_object_table, ' is written to, as ', COALESCE(t.definer, 'somebody')),
            'look whose it is, and drop it'
        FROM information_schema.triggers AS t
        WHERE t.event_object_schema = DATABASE()
        UNION ALL
        SELECT CONCAT('view ', v.table_schema, '.', v.table_name), CONCAT('belongs to ', v.definer), 'look whose it is, and drop it'
        FROM information_schema.views AS v
        WHERE v.table_schema = DATABASE()
          AND v.definer NOT IN (v_owner, CONCAT(v_owner, '@%'), CONCAT(v_owner, '@'), CURRENT_USER())
    ) AS c;
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 4, 'rights', LEFT(c.object, 400), 'violation', CONCAT(c.problem, '; ', c.remedy)
    FROM (
        --+ views.sql
    ) AS c;
    -- MySQL shows triggers only to who may make some: without that right, a table looks like one without triggers.
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT
        4, 'rights', CONCAT('role ', v_owner), 'violation',
        CONCAT('may no longer: TRIGGER on ', DATABASE(), '; the triggers of the ledger are not seen; run windrow install')
    FROM spec AS s
    WHERE /*!80000 true */ /*M! false */
      AND NOT EXISTS (
          SELECT 1
          FROM information_schema.schema_privileges AS p
          WHERE p.privilege_type = 'TRIGGER'
            AND p.grantee = CONCAT(QUOTE(v_owner), '@', QUOTE('%'))
            AND DATABASE() LIKE p.table_schema
      )
      AND NOT EXISTS (
          SELECT 1
          FROM information_schema.user_privileges AS p
          WHERE p.privilege_type = 'TRIGGER'
            AND p.grantee = CONCAT(QUOTE(v_owner), '@', QUOTE('%'))
      );

    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT
        5, 'index', n.index_name,
        IF(n.usable, 'ok', 'violation'),
        CASE
            WHEN n.usable THEN 'valid'
            WHEN n.found THEN CONCAT(
                /*!80000 'INVISIBLE: ALTER TABLE ... ALTER INDEX ... VISIBLE', */
                /*M! 'IGNORED: ALTER TABLE ... ALTER INDEX ... NOT IGNORED', */
                ''
            )
            ELSE CONCAT('missing on ', n.table_name, '; run windrow install')
        END
    FROM index_state AS n;

    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT
        5, 'trigger', n.name,
        IF(n.found AND n.owned AND n.known, 'ok', 'violation'),
        CASE
            WHEN NOT n.found THEN 'missing, or unseen by the owner role; run windrow install'
            WHEN NOT n.owned THEN CONCAT('its definer is ', n.definer, ', not the owner role; run windrow install')
            WHEN n.known THEN 'refuses rows whose parent is gone'
            WHEN n.hash IN ('', '-') THEN 'of an earlier installation; run windrow install'
            ELSE 'edited by hand; windrow install puts it back'
        END
    FROM (
        SELECT
            w.name,
            w.hash,
            t.definer,
            t.trigger_name IS NOT NULL AS found,
            COALESCE(t.definer IN (v_owner, CONCAT(v_owner, '@%'), CONCAT(v_owner, '@')), false) AS owned,
            COALESCE(LEFT(SHA2(TRIM(REGEXP_REPLACE(REPLACE(REPLACE(REGEXP_REPLACE(REGEXP_REPLACE(t.action_statement,
                '(?m)^[[:blank:]]*--.*$', ''), '(?s)/[*]M!.*?[*]/', ''), '''', ''), CHAR(92 USING utf8mb4), ''), '[[:space:]]+', ' ')),
                256), 12) = w.hash, false) AS known
        FROM known_trigger AS w
        LEFT JOIN (
            SELECT a.trigger_name, a.definer, a.action_statement
            FROM information_schema.triggers AS a
            WHERE a.event_object_schema = v_schema
            LIMIT 1000000
        ) AS t ON t.trigger_name = w.name
    ) AS n;

    -- Code of the application, for which nobody can account but by its name: as far as the owner role sees it. MariaDB shows it to who
    -- writes to the table, MySQL to who may make more of it, which windrow verify asks as its caller.
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT
        5, 'trigger', t.table_name, 'notice',
        CONCAT('the trigger ', t.trigger_name, ' fires ', IF(t.event = 'DELETE', 'for each deleted row', 'when windrow sets a column'),
            ', and the spec does not accept it: read it, then list it there under triggers')
    FROM (
        SELECT
            IF(@@GLOBAL.lower_case_table_names = 0, a.event_object_table, LOWER(a.event_object_table)) AS table_name,
            a.trigger_name, a.event_manipulation AS event
        FROM information_schema.triggers AS a
        WHERE a.event_object_schema = v_schema
        LIMIT 1000000
    ) AS t
    JOIN (
        SELECT
            k.name, k.goes, EXISTS (SELECT 1 FROM known_column AS c WHERE c.table_name = k.name AND c.is_set) AS is_set
        FROM known_table AS k
    ) AS k ON IF(@@GLOBAL.lower_case_table_names = 0, k.name, LOWER(k.name)) = CONVERT(t.table_name USING utf8mb4) COLLATE utf8mb4_bin
    LEFT JOIN known_trigger AS w ON w.name = CONVERT(t.trigger_name USING utf8mb4) COLLATE utf8mb4_bin
    LEFT JOIN (
        SELECT d.name, d.trigger_name
        FROM spec AS s
        CROSS JOIN JSON_TABLE(s.document, '$.tables[*]' COLUMNS (
            name varchar(64) PATH '$.name', NESTED PATH '$.triggers[*]' COLUMNS (trigger_name varchar(64) PATH '$')
        )) AS d
    ) AS a ON a.name COLLATE utf8mb4_bin = k.name
        AND a.trigger_name COLLATE utf8mb4_bin = CONVERT(t.trigger_name USING utf8mb4) COLLATE utf8mb4_bin
    WHERE (k.goes AND t.event = 'DELETE' OR k.is_set AND t.event = 'UPDATE')
      AND w.name IS NULL
      AND a.trigger_name IS NULL;
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 5, 'table', k.name, 'violation', CONCAT('missing in database ', v_schema, ', or unseen by the owner role: runs refuse')
    FROM known_table AS k
    LEFT JOIN (
        SELECT IF(@@GLOBAL.lower_case_table_names = 0, t.table_name, LOWER(t.table_name)) AS name
        FROM information_schema.tables AS t
        WHERE t.table_schema = v_schema
        LIMIT 1000000
    ) AS t ON t.name = IF(@@GLOBAL.lower_case_table_names = 0, k.name, LOWER(k.name))
    WHERE NOT k.ignored
      AND t.name IS NULL;
    CALL strangers(true);
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT
        5, 'reference', s.object, 'violation',
        CONCAT(s.detail, ': ',
            CASE
                WHEN NOT s.acts THEN 'no family that it names can be deleted'
                WHEN s.detail LIKE 'compares %' THEN 'rows could be taken for those of others, or for missing; runs refuse'
                WHEN s.detail LIKE 'references %' THEN 'its rows would be deleted or changed with it; runs refuse'
                ELSE 'runs refuse'
            END)
    FROM work_stranger AS s;
    DROP TEMPORARY TABLE work_stranger;
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 5, 'reference', 'other databases', 'notice',
        CONCAT(
            'foreign keys of their tables are not seen by the owner role: GRANT REFERENCES', /*M! ', PROCESS', */ ' ON *.* TO `', v_owner,
                '`'
        )
    FROM control AS c
    WHERE NOT EXISTS (SELECT 1 FROM information_schema.tables AS t WHERE t.table_schema = 'mysql' AND t.table_name = 'db');
    CALL unaccounted(v_error);
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 5, 'catalog', c.spec, 'violation', CONCAT(v_error, '; runs refuse')
    FROM control AS c
    WHERE v_error LIKE 'catalog changed%'
       OR v_error LIKE 'an installation is not finished%';

    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 6, 'policy', CONCAT(p.rule, ' ', p.scope), 'violation',
        CONCAT('its retention of ', p.retention_seconds, ' s is below the minimum of ', m.minimum, ' s')
    FROM policy AS p
    JOIN rule AS m ON m.rule = p.rule AND p.retention_seconds < m.minimum;
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 6, 'policy', CONCAT(p.rule, ' ', p.scope), 'notice',
        'it follows the default retention of the spec, which has none: everything of the scope is kept'
    FROM policy AS p
    JOIN rule AS m ON m.rule = p.rule AND m.scope_name IS NOT NULL AND m.retention IS NULL
    WHERE p.enabled
      AND p.retention_seconds IS NULL;

    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT 7, 'ledger', CONCAT('run ', r.run_id, ' ', r.rule), 'violation', r.deleted_rows,
        CONCAT('its tables sum up to ', SUM(t.deleted_rows), ' rows')
    FROM run_rule AS r
    JOIN run_table AS t ON t.run_id = r.run_id AND t.rule = r.rule
    GROUP BY r.run_id, r.rule, r.deleted_rows
    HAVING SUM(t.deleted_rows) <> r.deleted_rows;

    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 8, 'run', CONCAT('run ', r.run_id), 'notice', CONCAT(r.status, ': ', r.reason)
    FROM run AS r
    WHERE r.run_id = (SELECT MAX(l.run_id) FROM run AS l)
      AND r.status NOT IN ('done', 'running');

    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 8, 'unfinished', CONCAT('run ', u.run_id, ' ', u.rule), 'violation',
        'killed inside a batch, which its session committed: part of it is gone, without an entry in the ledger; a run that gets to its '
        'end finishes it'
    FROM unfinished AS u;

    CALL look_at_schedule(v_not_armed);
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 11, 'schedule', j.object, j.severity, j.detail
    FROM work_schedule AS j;
    DROP TEMPORARY TABLE work_schedule;

    IF v_not_armed IS NULL THEN
        CALL unfollowed(v_not_armed);
    ELSE
        SET v_not_armed = CONCAT(v_not_armed, '; runs refuse');
    END IF;
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 9, 'armed', c.spec, IF(v_not_armed IS NULL, 'ok', 'notice'), COALESCE(v_not_armed, CONCAT('armed by ', c.armed_by))
    FROM control AS c;

    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 10, 'paused', c.spec, 'notice',
        CONCAT('paused by ', c.paused_by, ' since ', DATE_FORMAT(c.paused_at, '%Y-%m-%dT%TZ'), ': ',
        COALESCE(c.paused_reason, 'no reason given'))
    FROM control AS c
    WHERE c.paused;
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 10, 'paused', c.rule, 'notice',
        CONCAT('rule ', c.rule, ' is ',
        CONCAT('paused by ', c.paused_by, ' since ', DATE_FORMAT(c.paused_at, '%Y-%m-%dT%TZ'), ': ', COALESCE(c.reason, 'no reason given')))
    FROM rule_pause AS c;
    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT 10, 'orphaned', CONCAT(o.kind, ' of rule ', o.rule), 'violation', o.count,
        CONCAT(COALESCE(CONCAT(o.names, ': '), ''), o.why, '; it has no effect, and windrow cannot be armed')
    FROM orphaned AS o;
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT 10, 'refused', LEFT(f.server, 400), 'notice',
        CONCAT('no scheduled run since ', DATE_FORMAT(f.since, '%Y-%m-%dT%TZ'), ': ', f.reason)
    FROM refusal AS f;
    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT 10, 'suspended', c.spec, 'violation', s.failed_runs,
        CONCAT('no scheduled run starts after so many failed ones, until one by hand succeeds or arm(); the last one: ', s.last_error)
    FROM scheduling AS s
    CROSS JOIN control AS c
    WHERE s.suspended;

    BEGIN
        -- The server does not know a zone.
        DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET v_hours = NULL;
        CALL window_at(UTC_TIMESTAMP(6), v_hours);
        -- Whether a start of the next days falls in a window. Days of the month count as any.
        SELECT MAX(h.days) = '' INTO v_starts FROM open_hours AS h;
        SET v_minute = DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%d %H:%i:00'), v_until = v_minute + INTERVAL 8 DAY;
        WHILE v_hours IS NOT NULL AND NOT v_starts AND v_minute < v_until DO
            IF EXISTS (
                SELECT 1
                FROM known_job AS j
                WHERE (j.minutes IS NULL OR FIND_IN_SET(MINUTE(v_minute), j.minutes) > 0)
                  AND (j.hours IS NULL OR FIND_IN_SET(HOUR(v_minute), j.hours) > 0)
                  AND (j.weekdays IS NULL OR FIND_IN_SET(DAYOFWEEK(v_minute) - 1, j.weekdays) > 0)
            ) THEN
                CALL window_at(v_minute, v_starts);
            END IF;
            SET v_minute = v_minute + INTERVAL 1 MINUTE;
        END WHILE;
    END;
    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT
        13, 'windows', LEFT(GROUP_CONCAT(h.written ORDER BY h.position SEPARATOR ', '), 400),
        CASE
            WHEN MAX(h.days) = '' THEN 'notice'
            WHEN v_hours IS NULL OR NOT v_starts THEN 'violation'
            ELSE 'ok'
        END,
        CASE
            WHEN MAX(h.days) = '' THEN 'no scheduled run will ever start'
            WHEN v_hours IS NULL THEN CONCAT('the server does not know a zone of theirs: scheduled runs refuse; load the zones with ',
                /*!80000 'mysql_tzinfo_to_sql' */ /*M! 'mariadb-tzinfo-to-sql' */)
            WHEN NOT v_starts THEN CONCAT('no start of the schedule (', v_schedule,
                ', in UTC) falls in one: no scheduled run will ever start')
            WHEN v_hours THEN 'open now'
            ELSE 'closed now'
        END
    FROM open_hours AS h;

    SELECT MIN(r.position) INTO v_at FROM rule AS r WHERE JSON_CONTAINS(r.document, 'true', '$.archives');
    WHILE v_at IS NOT NULL DO
        SELECT r.rule INTO v_rule FROM rule AS r WHERE r.position = v_at;
        CALL archive_misfit(v_rule, v_error);
        INSERT INTO work_check (position, check_name, object, severity, detail)
        VALUES (
            14, 'archive', v_rule, IF(v_error IS NULL, 'ok', 'violation'),
            COALESCE(CONCAT(v_error, '; runs refuse: run windrow install'), 'it fits the tables')
        );
        SELECT MIN(r.position) INTO v_at FROM rule AS r WHERE JSON_CONTAINS(r.document, 'true', '$.archives') AND r.position > v_at;
    END WHILE;

    INSERT INTO work_check (position, check_name, object, severity, detail)
    SELECT
        12, 'time zone', v_zone, 'violation',
        CONCAT(
            'the server does not know this zone: runs refuse; load the zones with ',
                /*!80000 'mysql_tzinfo_to_sql' */ /*M! 'mariadb-tzinfo-to-sql' */
        )
    FROM control AS c
    WHERE v_zone IS NOT NULL
      AND CONVERT_TZ('2026-01-01 00:00:00', '+00:00', v_zone) IS NULL;

    SET SESSION group_concat_max_len = 67108864;
    SELECT
        COALESCE(MAX(k.severity = 'violation'), 0) = 0,
        GROUP_CONCAT(
            CONCAT('{"check": ', JSON_QUOTE(k.check_name), ', "object": ', JSON_QUOTE(k.object), ', "severity": ', JSON_QUOTE(k.severity),
                ', "count": ', k.count, ', "detail": ', JSON_QUOTE(k.detail), '}')
            ORDER BY k.position, k.object SEPARATOR ', '
        )
    INTO v_clean, v_checks
    FROM work_check AS k;
    DROP TEMPORARY TABLE work_check;
    COMMIT;
    CALL unsettle(v_before);
    SET v_before = NULL;
    SELECT CONCAT('{"clean": ', IF(v_clean, 'true', 'false'), ', "checks": [', v_checks, ']}') AS p_result;
END;
