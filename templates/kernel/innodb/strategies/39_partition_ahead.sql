-- Partitions that are made in advance, for rules of partitions with `ahead`: what is missing, how wide the next ones are, what they are
-- called, and what is in the way. The verb make_partition of the rule makes all of them in one statement, which commits; late_rows counts
-- what the partition up to MAXVALUE has. Times are those of work_partition: of a timestamp in UTC, else as the bounds have them.

-- run_ahead: what runs have made in advance, or a dry run would have.
--# create table run_ahead
CREATE TABLE IF NOT EXISTS run_ahead (
    run_id     bigint       NOT NULL,
    rule       varchar(64)  NOT NULL,
    name       varchar(64)  NOT NULL,
    from_bound varchar(64),
    to_bound   varchar(64),
    problem    varchar(900),
    made_at    datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (run_id, rule, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The partitions that runs have made in advance, with their bounds (from inclusive, to exclusive), and those that they could
        not make (problem). An empty name: all of the table.';

-- partitions_taken: the tables of the ledger that only runs over partitions write, for begin_ledger().
--# create procedure partitions_taken
CREATE PROCEDURE partitions_taken()
SQL SECURITY DEFINER
COMMENT 'Keeps the tables of partitions in the ledger from being locked by others until the transaction ends. Reads no row.'
BEGIN
    DECLARE v_there bigint;
    SELECT COUNT(*)
    INTO v_there
    FROM run_partition AS p, taken_partition AS t, empty_partition AS e, run_ahead AS a
    WHERE false
    FOR UPDATE;
END;

-- clock_now: an instant as the bounds of a rule have it.
--# create procedure clock_now
CREATE PROCEDURE clock_now(IN p_rule varchar(64), IN p_at datetime(6), OUT o_at datetime(6))
SQL SECURITY DEFINER
COMMENT 'p_at, in UTC, by the clock of the bounds of p_rule.'
BEGIN
    SELECT COALESCE(
        CONVERT_TZ(p_at, '+00:00', IF(r.zoned, NULL, JSON_VALUE(s.document, '$.named_zone'))),
        p_at + INTERVAL IF(r.zoned, 0, COALESCE(JSON_VALUE(r.document, '$.offset'), 0)) SECOND
    )
    INTO o_at
    FROM rule AS r
    CROSS JOIN spec AS s
    WHERE r.rule = p_rule;
END;

-- partition_interval: how wide the partitions of a table are, by the newest two. Whole months where these begin on first days, whole
-- days where they begin at midnight, or else so many seconds: in the zone of the spec, or in UTC where more of the bounds fit that.
--# create procedure partition_interval
CREATE PROCEDURE partition_interval(
    IN p_rule varchar(64), OUT o_position bigint, OUT o_zone varchar(64), OUT o_months bigint, OUT o_days bigint, OUT o_seconds bigint,
    OUT o_problem varchar(900)
)
SQL SECURITY DEFINER
COMMENT 'The newest partition of work_partition that has an end, and how wide the newest ones are, in months, days or seconds (0: not in
    these) by the clock of o_zone; o_problem: why that cannot be told.'
BEGIN
    DECLARE v_zoned boolean;
    DECLARE v_spec  varchar(64);
    DECLARE v_name  varchar(64);
    DECLARE v_from  datetime(6);
    DECLARE v_names varchar(200);
    DECLARE v_ours  bigint;
    DECLARE v_utc   bigint;
    DECLARE v_least bigint;
    SET o_months = 0, o_days = 0, o_seconds = 0, o_problem = NULL, o_zone = '+00:00';
    SELECT r.zoned, JSON_VALUE(r.document, '$.ahead_zone') INTO v_zoned, v_spec FROM rule AS r WHERE r.rule = p_rule;
    SELECT MAX(p.position) INTO o_position FROM work_partition AS p WHERE p.to_time IS NOT NULL;
    SELECT MAX(p.name), MAX(p.from_time) INTO v_name, v_from FROM work_partition AS p WHERE p.position = o_position;
    IF v_zoned THEN
        SELECT
            SUM(CONVERT_TZ(CAST(DATE(CONVERT_TZ(p.to_time, '+00:00', v_spec)) AS datetime(6)), v_spec, '+00:00') = p.to_time),
            SUM(p.to_time = DATE(p.to_time))
        INTO v_ours, v_utc
        FROM work_partition AS p;
        SET o_zone = IF(v_ours >= v_utc, v_spec, '+00:00');
    END IF;
    IF v_name IS NULL THEN
        SET o_problem = 'it has no partition with an end, and nothing else says how wide they are: make the first two by hand';
    ELSEIF v_from IS NULL THEN
        SET o_problem = CONCAT('its newest partition, ', v_name, ', has no beginning, so that nothing says how wide they are: make the ',
            'next one by hand');
    ELSEIF v_zoned AND v_ours IS NULL THEN
        SET o_problem = CONCAT('the server does not know the time zone ', v_spec, ': load the tables of zones (mysql_tzinfo_to_sql)');
    ELSE
        SELECT
            IF(MIN(w.at_months) AND MIN(w.months) = MAX(w.months), MAX(w.months), 0),
            IF(MIN(w.at_days) AND MIN(w.days) = MAX(w.days), MAX(w.days), 0),
            IF(MIN(w.micros) = MAX(w.micros) AND MAX(w.micros) MOD 1000000 = 0, MAX(w.micros) DIV 1000000, 0),
            GROUP_CONCAT(w.name ORDER BY w.position DESC SEPARATOR ', '),
            MIN(w.position)
        INTO o_months, o_days, o_seconds, v_names, v_least
        FROM (
            SELECT
                n.position, n.name,
                CONVERT_TZ(n.since, o_zone, '+00:00') = n.from_time AND CONVERT_TZ(n.till, o_zone, '+00:00') = n.to_time AS at_days,
                CONVERT_TZ(n.since, o_zone, '+00:00') = n.from_time AND CONVERT_TZ(n.till, o_zone, '+00:00') = n.to_time
                    AND DAYOFMONTH(n.since) = 1 AND DAYOFMONTH(n.till) = 1 AS at_months,
                (YEAR(n.till) - YEAR(n.since)) * 12 + MONTH(n.till) - MONTH(n.since) AS months,
                DATEDIFF(n.till, n.since) AS days,
                TIMESTAMPDIFF(MICROSECOND, n.from_time, n.to_time) AS micros
            FROM (
                SELECT
                    p.position, p.name, p.from_time, p.to_time,
                    CAST(DATE(CONVERT_TZ(p.from_time, '+00:00', o_zone)) AS datetime(6)) AS since,
                    CAST(DATE(CONVERT_TZ(p.to_time, '+00:00', o_zone)) AS datetime(6)) AS till
                FROM work_partition AS p
                WHERE p.to_time IS NOT NULL
                  AND p.from_time IS NOT NULL
                ORDER BY p.position DESC
                LIMIT 2
            ) AS n
        ) AS w;
        IF o_months > 0 THEN
            SET o_days = 0, o_seconds = 0;
        ELSEIF o_days > 0 THEN
            SET o_seconds = 0;
        ELSEIF o_seconds > 0 THEN
            SET o_zone = '+00:00';
        ELSE
            SET o_problem = CONCAT('its newest partitions, ', v_names, ', are not equally wide, so that nothing says how wide the next ',
                'one is: make it by hand');
        END IF;
    END IF;
END;

-- partition_called: what a partition is called, as its neighbour is: with the digits of its own time.
--# create procedure partition_called
CREATE PROCEDURE partition_called(
    IN p_like varchar(64), IN p_since datetime(6), IN p_till datetime(6), IN p_from datetime(6), IN p_to datetime(6), IN p_by_day boolean,
    OUT o_name varchar(64)
)
SQL SECURITY DEFINER
COMMENT 'A name that no partition of work_partition or work_ahead has, for one from p_from to p_to: that of p_like, which is from p_since to
    p_till, with other digits, or else p with a time. NULL: there is none.'
BEGIN
    SELECT c.name
    INTO o_name
    FROM (
        SELECT f.place, e.part, REPLACE(p_like, DATE_FORMAT(e.was, f.format), DATE_FORMAT(e.new, f.format)) AS name
        FROM JSON_TABLE(
            CONCAT(
                '["%Y%m%d%H%i%s", "%Y%m%d_%H%i%s", "%Y_%m_%d_%H%i%s", "%Y_%m_%d_%H_%i_%s", "%Y%m%d%H%i", "%Y%m%d_%H%i", ',
                '"%Y_%m_%d_%H%i", "%Y_%m_%d_%H_%i", "%Y%m%d%H", "%Y%m%d_%H", "%Y_%m_%d_%H", "%Y-%m-%d-%H", "%Y%m%d", "%Y_%m_%d", ',
                '"%Y-%m-%d", "%xw%v", "%x_w%v", "%Y%m", "%Y_%m", "%Y-%m", "%Y"]'
            ),
            '$[*]' COLUMNS (place FOR ORDINALITY, format varchar(40) PATH '$')
        ) AS f
        CROSS JOIN (SELECT 1 AS part, p_since AS was, p_from AS new UNION ALL SELECT 2, p_till, p_to) AS e
        -- Once, and not within a longer number.
        WHERE CHAR_LENGTH(p_like) - CHAR_LENGTH(REPLACE(p_like, DATE_FORMAT(e.was, f.format), ''))
              = CHAR_LENGTH(DATE_FORMAT(e.was, f.format))
          AND NOT p_like REGEXP CONCAT('[0-9]', DATE_FORMAT(e.was, f.format))
          AND NOT p_like REGEXP CONCAT(DATE_FORMAT(e.was, f.format), '[0-9]')
          AND DATE_FORMAT(e.was, f.format) <> DATE_FORMAT(e.new, f.format)
        UNION ALL
        SELECT 100, 1, DATE_FORMAT(p_from, IF(p_by_day, 'p%Y%m%d', 'p%Y%m%d_%H%i%s'))
        UNION ALL
        SELECT 101, n.number, DATE_FORMAT(p_from, CONCAT('p%Y%m%d_%H%i%s_', n.number))
        FROM (SELECT 2 AS number UNION ALL SELECT 3 UNION ALL SELECT 4) AS n
    ) AS c
    WHERE CHAR_LENGTH(c.name) <= 64
      AND NOT EXISTS (SELECT 1 FROM work_partition AS p WHERE LOWER(p.name) = LOWER(c.name))
      AND NOT EXISTS (SELECT 1 FROM work_ahead AS a WHERE LOWER(a.name) = LOWER(c.name))
    ORDER BY c.place, c.part
    LIMIT 1;
END;

-- plan_ahead: what is missing at an instant. Never more than 100: more come from a slip in the spec. Where what is newest is over, the
-- first one begins there.
--# create procedure plan_ahead
CREATE PROCEDURE plan_ahead(IN p_rule varchar(64), IN p_as_of datetime(6))
SQL SECURITY DEFINER
COMMENT 'Fills work_ahead with the partitions that p_rule should have at p_as_of and has not, or with one row, of an empty name, that says
    why none can be made. Needs the work tables; reads only.'
BEGIN
    DECLARE v_ahead    bigint;
    DECLARE v_dates    boolean;
    DECLARE v_now      datetime(6);
    DECLARE v_until    datetime(6);
    DECLARE v_like     bigint;
    DECLARE v_zone     varchar(64);
    DECLARE v_months   bigint;
    DECLARE v_days     bigint;
    DECLARE v_seconds  bigint;
    DECLARE v_problem  varchar(900);
    DECLARE v_name     varchar(64);
    DECLARE v_open     varchar(64);
    DECLARE v_called   varchar(64);
    DECLARE v_due      datetime(6);
    DECLARE v_since    datetime(6);
    DECLARE v_end      datetime(6);
    DECLARE v_base     datetime(6);
    DECLARE v_from     datetime(6);
    DECLARE v_till     datetime(6);
    DECLARE v_clock    datetime(6);
    DECLARE v_before   datetime(6);
    DECLARE v_number   bigint;
    DECLARE v_count    bigint DEFAULT 0;
    DECLARE v_there    bigint;
    SELECT JSON_VALUE(r.document, '$.ahead'), JSON_CONTAINS_PATH(r.document, 'one', '$.dates')
    INTO v_ahead, v_dates
    FROM rule AS r
    WHERE r.rule = p_rule;
    DELETE FROM work_ahead;
    CALL list_partitions(p_rule);
    CALL clock_now(p_rule, p_as_of, v_now);
    CALL clock_now(p_rule, p_as_of + INTERVAL v_ahead SECOND, v_until);
    SELECT MAX(p.to_time) INTO v_end FROM work_partition AS p;
    IF v_ahead IS NOT NULL AND (v_end IS NULL OR v_end <= v_until) THEN
        CALL partition_interval(p_rule, v_like, v_zone, v_months, v_days, v_seconds, v_problem);
        SELECT MAX(p.name), MAX(p.from_time), MAX(p.to_due) INTO v_name, v_since, v_due FROM work_partition AS p WHERE p.position = v_like;
        SELECT MAX(p.name) INTO v_open FROM work_partition AS p WHERE p.to_time IS NULL;
        IF v_problem IS NULL AND v_open IS NOT NULL THEN
            SET @windrow_from = v_due, @windrow_rows = NULL;
            CALL perform(p_rule, 'late_rows', '@windrow_from, @windrow_rows');
            IF @windrow_rows > 0 THEN
                SET v_problem = CONCAT('partition ', v_open, ', up to MAXVALUE, has ',
                    IF(@windrow_rows > 1000, 'more than 1000', @windrow_rows), ' rows: REORGANIZE it by hand, which copies them');
            END IF;
        END IF;
        IF v_problem IS NULL THEN
            SET v_base = CONVERT_TZ(v_end, '+00:00', v_zone);
            -- A midnight that the clocks leave out.
            IF v_months + v_days > 0 THEN
                SET v_base = DATE(v_base);
            END IF;
            SET v_number = GREATEST(TIMESTAMPDIFF(SECOND, v_end, v_now) DIV (v_months * 2678400 + v_days * 86400 + v_seconds) - 2, 0);
            SET v_from = v_end, v_till = v_end;
            ahead: WHILE v_till <= v_until DO
                SET v_number = v_number + 1, v_before = v_till;
                SET v_clock = v_base + INTERVAL v_number * v_months MONTH + INTERVAL v_number * v_days DAY
                    + INTERVAL v_number * v_seconds SECOND;
                SET v_till = CONVERT_TZ(v_clock, v_zone, '+00:00');
                IF v_till > v_now THEN
                    SET v_count = v_count + 1;
                    IF v_count > 100 THEN
                        SET v_problem = CONCAT('ahead = ', v_ahead, ' s needs more than 100 partitions as wide as ', v_name,
                            ': write a shorter `ahead`');
                        LEAVE ahead;
                    END IF;
                    CALL partition_called(v_name, CONVERT_TZ(v_since, '+00:00', v_zone), CONVERT_TZ(v_end, '+00:00', v_zone),
                        CONVERT_TZ(v_before, '+00:00', v_zone), v_clock, v_months + v_days > 0, v_called);
                    IF v_called IS NULL THEN
                        SET v_problem = CONCAT('no name is free for the partition up to ', v_till, ': make it by hand');
                        LEAVE ahead;
                    END IF;
                    INSERT INTO work_ahead (position, name, from_time, to_time, problem)
                    VALUES (v_count, v_called, v_from, v_till, NULL);
                    SET v_from = v_till;
                END IF;
            END WHILE ahead;
            SELECT COUNT(*)
            INTO v_there
            FROM information_schema.partitions AS p
            JOIN spec AS s ON s.schema_name = p.table_schema
            JOIN rule AS r ON r.root = p.table_name
            WHERE r.rule = p_rule;
            IF v_there DIV GREATEST((SELECT COUNT(*) FROM work_partition), 1) * v_count + v_there > 8192 THEN
                SET v_problem = CONCAT('the server takes 8192 partitions of a table, and it has ', v_there, ' already: drop or merge some');
            END IF;
        END IF;
        IF v_problem IS NOT NULL THEN
            DELETE FROM work_ahead;
            INSERT INTO work_ahead (position, name, from_time, to_time, problem)
            VALUES (1, '', NULL, NULL, v_problem);
        END IF;
    END IF;
END;

-- record_ahead: what a run made, or could not make. It ends red where the table would run out: where less than half of `ahead` is left.
--# create procedure record_ahead
CREATE PROCEDURE record_ahead(
    IN p_run bigint, IN p_rule varchar(64), IN p_errno integer, IN p_sqlstate varchar(5), IN p_problem varchar(900)
)
SQL SECURITY DEFINER
COMMENT 'Writes work_ahead to run_ahead, for p_run, with p_problem where it could not be made, and to run_failure where the table would run
    out.'
BEGIN
    DECLARE v_dry_run boolean;
    DECLARE v_as_of   datetime(6);
    DECLARE v_half    datetime(6);
    DECLARE v_end     datetime(6);
    DECLARE v_root    varchar(64);
    DECLARE v_name    varchar(64);
    DECLARE v_problem varchar(900);
    SELECT r.dry_run, r.as_of INTO v_dry_run, v_as_of FROM run AS r WHERE r.run_id = p_run;
    SELECT
        k.root, v_as_of + INTERVAL CAST(JSON_VALUE(k.document, '$.ahead') AS signed) DIV 2 SECOND
    INTO v_root, v_half
    FROM rule AS k
    WHERE k.rule = p_rule;
    INSERT IGNORE INTO run_ahead (run_id, rule, name, from_bound, to_bound, problem)
    SELECT
        p_run, p_rule, a.name, TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM a.from_time)),
        TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM a.to_time)), COALESCE(a.problem, p_problem)
    FROM work_ahead AS a
    -- Of those that were to be made together, the first stands for all.
    WHERE p_problem IS NULL OR a.position = 1;
    SELECT MAX(d.name), MAX(d.problem) INTO v_name, v_problem FROM run_ahead AS d WHERE d.run_id = p_run AND d.rule = p_rule
        AND d.problem IS NOT NULL;
    SELECT MAX(p.to_time) INTO v_end FROM work_partition AS p;
    CALL clock_now(p_rule, v_half, v_half);
    IF v_problem IS NOT NULL AND NOT v_dry_run AND (v_end IS NULL OR v_end < v_half) THEN
        INSERT IGNORE INTO run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
        VALUES (p_run, p_rule, IF(v_name = '', v_root, v_name), p_errno, p_sqlstate, LEFT(CONCAT('not made in advance: ', v_problem), 900));
    END IF;
END;

-- ahead_step: makes partitions in advance, before a run drops any: all of them at once, since each ALTER TABLE waits for everybody.
--# create procedure ahead_step
CREATE PROCEDURE ahead_step(IN p_run bigint, IN p_rule varchar(64), OUT o_made boolean)
SQL SECURITY DEFINER
COMMENT 'Makes the partitions in advance for p_run, with its entries in run_ahead; o_made: so that the transaction was committed. A dry run
    only notes them.'
BEGIN
    DECLARE v_done    bigint;
    DECLARE v_dry_run boolean;
    DECLARE v_as_of   datetime(6);
    DECLARE v_count   bigint;
    DECLARE v_dates   boolean;
    DECLARE v_method  varchar(64);
    DECLARE v_by      varchar(200);
    DECLARE v_name    longtext;
    DECLARE v_engine  longtext;
    DECLARE v_made    longtext;
    SET o_made = false;
    SELECT COUNT(*) INTO v_done FROM run_ahead AS d WHERE d.run_id = p_run AND d.rule = p_rule;
    IF v_done = 0 THEN
        SELECT r.dry_run, r.as_of INTO v_dry_run, v_as_of FROM run AS r WHERE r.run_id = p_run;
        SELECT JSON_CONTAINS_PATH(r.document, 'one', '$.dates') INTO v_dates FROM rule AS r WHERE r.rule = p_rule;
        CALL plan_ahead(p_rule, v_as_of);
        SELECT COUNT(*) INTO v_count FROM work_ahead AS a WHERE a.problem IS NULL;
        IF v_count > 0 AND NOT v_dry_run THEN
            COMMIT;
            CALL partition_made(p_rule, v_name, v_engine, v_made);
            -- As the catalog has the bounds: seconds, days, or texts.
            SELECT MAX(p.partition_method), LOWER(MAX(p.partition_expression))
            INTO v_method, v_by
            FROM information_schema.partitions AS p
            JOIN spec AS s ON s.schema_name = p.table_schema
            JOIN rule AS r ON r.root = p.table_name
            WHERE r.rule = p_rule;
            SELECT GROUP_CONCAT(
                CONCAT(
                    'PARTITION `', REPLACE(a.name, '`', '``'), '` VALUES LESS THAN (',
                    CASE
                        WHEN v_method = 'RANGE COLUMNS' THEN CONCAT(
                            '''', IF(v_dates, DATE(a.to_time), TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM a.to_time))), ''''
                        )
                        WHEN v_by LIKE 'unix%' THEN TIMESTAMPDIFF(SECOND, '1970-01-01', a.to_time)
                        ELSE TO_DAYS(a.to_time)
                    END,
                    ')'
                )
                ORDER BY a.position SEPARATOR ', '
            )
            INTO @windrow_list
            FROM work_ahead AS a;
            SELECT MAX(p.name) INTO @windrow_name FROM work_partition AS p WHERE p.to_time IS NULL;
            CALL perform(p_rule, 'make_partition', '@windrow_name, @windrow_list');
            CALL partition_noted(p_rule, v_made);
            SET o_made = true;
        END IF;
        CALL record_ahead(p_run, p_rule, 1644, '55000', NULL);
        IF o_made THEN
            UPDATE run_rule AS p
            SET p.retries_in_row = 0,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            COMMIT;
        END IF;
    END IF;
END;

-- ahead_failed: what a run does where no partition could be made.
--# create procedure ahead_failed
CREATE PROCEDURE ahead_failed(
    IN p_run bigint, IN p_rule varchar(64), IN p_errno integer, IN p_sqlstate varchar(5), IN p_message varchar(900),
    OUT o_state varchar(1000)
)
SQL SECURITY DEFINER
COMMENT 'After making partitions failed: tries again where others had the table, or else writes why to run_ahead. Commits.'
BEGIN
    DECLARE v_busy  boolean;
    DECLARE v_as_of datetime(6);
    DECLARE v_count bigint;
    CALL wait_for_ledger();
    CALL fault_of(p_errno, p_sqlstate, p_message, 1, v_busy, o_state);
    IF v_busy THEN
        CALL fail_step(p_run, p_rule, p_errno, p_sqlstate, p_message, 1, 1, v_busy, o_state);
    ELSEIF COALESCE(o_state, '') <> 'cancelled' THEN
        SET o_state = NULL;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
    END IF;
    IF o_state IS NULL THEN
        SELECT r.as_of INTO v_as_of FROM run AS r WHERE r.run_id = p_run;
        -- Where nothing is missing, somebody else has made them meanwhile.
        CALL plan_ahead(p_rule, v_as_of);
        CALL record_ahead(p_run, p_rule, p_errno, p_sqlstate, CONCAT(IF(v_busy, 'LOCKED: ', 'FAILED: '), p_message));
        UPDATE run_rule AS p
        SET p.retries_in_row = 0,
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = p_rule;
        COMMIT;
        SET o_state = 'more';
    END IF;
END;

-- ahead_fields: what is said of partitions in advance in the documents of a rule that makes some.
--# create procedure ahead_fields
CREATE PROCEDURE ahead_fields(IN p_rule varchar(64), IN p_run bigint, IN p_as_of datetime(6), OUT o_fields longtext)
SQL SECURITY DEFINER
COMMENT 'The fields made and not_made for the document of p_run or, without one, of a preview at p_as_of, which needs the work tables;
    nothing where p_rule makes no partitions.'
BEGIN
    DECLARE v_made     longtext;
    DECLARE v_not_made longtext;
    DECLARE v_root     varchar(64);
    SET o_fields = '';
    SELECT r.root INTO v_root FROM rule AS r WHERE r.rule = p_rule AND JSON_CONTAINS_PATH(r.document, 'one', '$.ahead');
    IF v_root IS NOT NULL THEN
        IF p_run IS NULL THEN
            CALL plan_ahead(p_rule, p_as_of);
            SELECT
                GROUP_CONCAT(IF(a.problem IS NULL, JSON_QUOTE(a.name), NULL) ORDER BY a.position SEPARATOR ', '),
                GROUP_CONCAT(CONCAT(JSON_QUOTE(IF(a.name = '', v_root, a.name)), ': ', JSON_QUOTE(a.problem)) SEPARATOR ', ')
            INTO v_made, v_not_made
            FROM work_ahead AS a;
        ELSE
            SELECT
                GROUP_CONCAT(IF(a.problem IS NULL, JSON_QUOTE(a.name), NULL) ORDER BY a.to_bound SEPARATOR ', '),
                GROUP_CONCAT(CONCAT(JSON_QUOTE(IF(a.name = '', v_root, a.name)), ': ', JSON_QUOTE(a.problem)) SEPARATOR ', ')
            INTO v_made, v_not_made
            FROM run_ahead AS a
            WHERE a.run_id = p_run
              AND a.rule = p_rule;
        END IF;
        SET o_fields = CONCAT(', "made": [', COALESCE(v_made, ''), '], "not_made": {', COALESCE(v_not_made, ''), '}');
    END IF;
END;

-- partition_watch: what verify() says of the partitions of a rule: whether there are some for the next time, and what is in the one up to
-- MAXVALUE, up to 1001 rows.
--# create procedure partition_watch
CREATE PROCEDURE partition_watch(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Writes to work_check up to when the table of p_rule has partitions, and how many rows are in the one up to MAXVALUE. Needs the work
    tables, filled; reads only.'
BEGIN
    DECLARE v_root    varchar(64);
    DECLARE v_ahead   bigint;
    DECLARE v_end     datetime(6);
    DECLARE v_due     datetime(6);
    DECLARE v_then    datetime(6);
    DECLARE v_open    varchar(64);
    DECLARE v_problem varchar(900);
    SELECT r.root, JSON_VALUE(r.document, '$.ahead') INTO v_root, v_ahead FROM rule AS r WHERE r.rule = p_rule;
    CALL clock_now(p_rule, UTC_TIMESTAMP(6) + INTERVAL COALESCE(v_ahead DIV 2, 86400) SECOND, v_then);
    SELECT MAX(p.to_time), MAX(p.to_due), MAX(IF(p.to_time IS NULL, p.name, NULL)) INTO v_end, v_due, v_open FROM work_partition AS p;
    IF v_ahead IS NOT NULL THEN
        CALL partition_interval(p_rule, @windrow_like, @windrow_zone, @windrow_months, @windrow_days, @windrow_seconds, v_problem);
    END IF;
    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT 1, 'ahead', CONCAT(p_rule, ' ', v_root),
        IF(v_end >= v_then, IF(v_problem IS NULL, 'ok', 'notice'), IF(v_open IS NULL, 'violation', 'notice')), 1,
        CONCAT(
            CASE
                WHEN v_end >= v_then THEN CONCAT('it has partitions up to ', TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_end)))
                WHEN v_open IS NULL THEN CONCAT('it has no partition for rows from ',
                    TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_end)), ' on, which are refused')
                ELSE CONCAT('it has no partition for rows from ',
                    COALESCE(TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_end)), 'any time'), ' on but the one up to MAXVALUE')
            END,
            COALESCE(CONCAT('; none can be made in advance: ', v_problem), '')
        );
    IF v_open IS NOT NULL THEN
        SET @windrow_from = COALESCE(v_due, '1000-01-01'), @windrow_rows = 0;
        CALL perform(p_rule, 'late_rows', '@windrow_from, @windrow_rows');
        INSERT INTO work_check (position, check_name, object, severity, count, detail)
        SELECT 1, 'rest', CONCAT(p_rule, ' ', v_open), IF(@windrow_rows = 0, 'ok', 'notice'), @windrow_rows,
            'rows in the partition up to MAXVALUE, counted to 1001: no run deletes them, and no partition of their time can be made';
    END IF;
END;
