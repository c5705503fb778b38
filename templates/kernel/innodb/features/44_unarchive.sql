-- How rows leave the archive for good. What is composed here at run time names archives, by table known_archive.

-- in_archives: a query over all archives. An archive of nothing is the answer where there are none but partitions.
--# create procedure in_archives
CREATE PROCEDURE in_archives(IN p_query text, IN p_partitions text, OUT o_query longtext)
SQL SECURITY DEFINER
COMMENT 'p_partitions, a query over archived partitions, and one for the rows that p_query finds in each archive, which it calls
    THE_ARCHIVE; THE_TABLE is its table, quoted.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    SET SESSION group_concat_max_len = 67108864;
    CALL unshadow_archives();
    -- One that the spec does not name any more may have been dropped by hand.
    SELECT CONCAT_WS(' UNION ALL ', GROUP_CONCAT(
        REPLACE(REPLACE(p_query, 'THE_TABLE', QUOTE(k.name)), 'THE_ARCHIVE', k.quoted)
        ORDER BY k.position
        SEPARATOR ' UNION ALL '
    ), p_partitions)
    INTO o_query
    FROM known_archive AS k
    WHERE JSON_LENGTH(k.rules) > 0
       OR EXISTS (SELECT 1 FROM information_schema.tables AS t WHERE t.table_schema = DATABASE() AND t.table_name = k.archive);
    SET SESSION group_concat_max_len = v_length;
END;

-- next_archive: the next run with archived rows.
--# create procedure next_archive
CREATE PROCEDURE next_archive(IN p_after bigint, OUT o_run bigint)
SQL SECURITY DEFINER
COMMENT 'The first run after p_after of which rows or partitions are archived; NULL if there is none.'
BEGIN
    DECLARE v_query longtext;
    DECLARE v_rows  bigint;
    CALL in_archives(
        CONCAT('SELECT MIN(a.windrow_run_id) AS found FROM THE_ARCHIVE AS a WHERE a.windrow_run_id > ', p_after),
        CONCAT(
            'SELECT MIN(p.run_id) AS found FROM partition_archive AS p ',
            'WHERE p.state IN (''kept'', ''dropping'') AND p.run_id > ', p_after
        ),
        v_query
    );
    CALL archive_do(CONCAT('SELECT MIN(n.found) INTO @windrow_found FROM (', v_query, ') AS n'), v_rows);
    SET o_run = @windrow_found;
END;

-- archive_last: when the last row of a run was archived.
--# create procedure archive_last
CREATE PROCEDURE archive_last(IN p_run bigint, OUT o_last datetime(6))
SQL SECURITY DEFINER
COMMENT 'When the last of the archived rows and partitions of a run came into the archive, in UTC; NULL if there is none.'
BEGIN
    DECLARE v_query longtext;
    DECLARE v_rows  bigint;
    SET o_last = NULL;
    IF p_run IS NOT NULL THEN
        CALL in_archives(CONCAT(
            '(SELECT a.windrow_archived_at AS found FROM THE_ARCHIVE AS a WHERE a.windrow_run_id = ', p_run,
            ' ORDER BY a.windrow_run_id DESC, a.windrow_row_id DESC LIMIT 1)'
        ), CONCAT(
            'SELECT MAX(p.archived_at) AS found FROM partition_archive AS p ',
            'WHERE p.state IN (''kept'', ''dropping'') AND p.run_id = ', p_run
        ), v_query);
        CALL archive_do(CONCAT('SELECT MAX(n.found) INTO @windrow_found FROM (', v_query, ') AS n'), v_rows);
        SET o_last = @windrow_found;
    END IF;
END;

-- keep_archive: the ledger does not forget a run while rows of it are archived.
--# create procedure keep_archive
CREATE PROCEDURE keep_archive(IN p_days bigint)
SQL SECURITY DEFINER
COMMENT 'Notes in table kept_run which runs older than p_days have archived rows; forgets what left the archive of runs that are forgotten.'
BEGIN
    DECLARE v_run  bigint DEFAULT 0;
    DECLARE v_last datetime(6);
    WHILE v_run IS NOT NULL DO
        SELECT MIN(r.run_id)
        INTO v_run
        FROM run AS r
        LEFT JOIN kept_run AS k ON k.run_id = r.run_id
        WHERE r.run_id > v_run
          AND r.finished_at < UTC_TIMESTAMP(6) - INTERVAL p_days DAY
          AND k.run_id IS NULL;
        CALL archive_last(v_run, v_last);
        IF v_last IS NOT NULL THEN
            INSERT INTO kept_run (run_id) VALUES (v_run);
        END IF;
    END WHILE;
    DELETE u
    FROM unarchived AS u
    LEFT JOIN run AS r ON r.run_id = u.run_id
    WHERE u.done_at < UTC_TIMESTAMP(6) - INTERVAL p_days DAY
      AND r.run_id IS NULL;
    DELETE p
    FROM partition_archive AS p
    LEFT JOIN run AS r ON r.run_id = p.run_id
    WHERE p.left_at < UTC_TIMESTAMP(6) - INTERVAL p_days DAY
      AND r.run_id IS NULL;
END;

-- archive_counts: how many rows are archived, by table and run. A query that fills a variable locks nothing.
--# create procedure archive_counts
CREATE PROCEDURE archive_counts(IN p_run bigint, OUT o_counts longtext)
SQL SECURITY DEFINER
COMMENT 'The archived rows, of one run or of all: a JSON list of a table, a run, the rows, and when the last one came. Rows of partitions
    are not counted once more.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_query  longtext;
    DECLARE v_rows   bigint;
    SET SESSION group_concat_max_len = 67108864;
    CALL in_archives(CONCAT(
        'SELECT THE_TABLE AS name, a.windrow_run_id AS run_id, COUNT(*) AS row_count, MAX(a.windrow_archived_at) AS last_at ',
        'FROM THE_ARCHIVE AS a', COALESCE(CONCAT(' WHERE a.windrow_run_id = ', p_run), ''), ' GROUP BY a.windrow_run_id'
    ), CONCAT(
        'SELECT p.table_name AS name, p.run_id, p.partition_rows AS row_count, p.archived_at AS last_at ',
        'FROM partition_archive AS p WHERE p.state IN (''kept'', ''dropping'')', COALESCE(CONCAT(' AND p.run_id = ', p_run), '')
    ), v_query);
    -- A table may have both: one rule archives its partitions, another one copies of its rows.
    CALL archive_do(CONCAT(
        'SELECT GROUP_CONCAT(CONCAT(''['', JSON_QUOTE(c.name), '', '', c.run_id, '', '', c.row_count, '', "'', c.last_at, ''"]'') ',
        'SEPARATOR '', '') INTO @windrow_found FROM (SELECT n.name, n.run_id, SUM(n.row_count) AS row_count, MAX(n.last_at) AS last_at ',
        'FROM (', v_query, ') AS n GROUP BY n.name, n.run_id) AS c'
    ), v_rows);
    SET o_counts = CONCAT('[', COALESCE(@windrow_found, ''), ']');
    SET SESSION group_concat_max_len = v_length;
END;

-- archive_of: the archived rows of one run, or of all that are old enough, counted.
--# create procedure archive_of
CREATE PROCEDURE archive_of(IN p_run bigint, IN p_before datetime(6), OUT o_rows bigint, OUT o_runs longtext)
SQL SECURITY DEFINER
COMMENT 'What archive_list() answers, of one run or of those whose last row was archived before an instant: how many
    rows, and the runs as a JSON list.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_counts longtext;
    SET SESSION group_concat_max_len = 67108864;
    CALL archive_counts(p_run, v_counts);
    SELECT
        COALESCE(SUM(t.row_count), 0),
        CONCAT('[', COALESCE(GROUP_CONCAT(CONCAT(
            '{"run": ', t.run_id,
            ', "trigger": ', COALESCE(JSON_QUOTE(r.`trigger`), 'null'),
            ', "status": ', COALESCE(JSON_QUOTE(r.status), 'null'),
            ', "started_at": ', COALESCE(CONCAT(
                '"', DATE_FORMAT(r.started_at, '%Y-%m-%dT%T'),
                TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(r.started_at, '.%f'))), '+00:00"'
            ), 'null'),
            ', "started_by": ', COALESCE(JSON_QUOTE(r.started_by), 'null'),
            ', "archived_at": ', CONCAT(
                '"', DATE_FORMAT(t.last_at, '%Y-%m-%dT%T'),
                TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(t.last_at, '.%f'))), '+00:00"'
            ),
            ', "rules": [', COALESCE(p.rules, ''), ']',
            ', "rows": ', t.row_count,
            ', "tables": {', t.row_counts, '}',
            ', "partitions": ', COALESCE(CONCAT('[', d.partitions, ']'), 'null'),
            ', "restored": ', COALESCE(u.restored, 0),
            ', "dropped": ', COALESCE(u.dropped, 0),
            '}'
        ) ORDER BY t.run_id SEPARATOR ', '), ''), ']')
    INTO o_rows, o_runs
    FROM (
        SELECT
            c.run_id, SUM(c.row_count) AS row_count, MAX(CAST(c.last_at AS datetime(6))) AS last_at,
            GROUP_CONCAT(CONCAT(JSON_QUOTE(c.name), ': ', c.row_count) ORDER BY k.position SEPARATOR ', ') AS row_counts
        FROM JSON_TABLE(v_counts, '$[*]' COLUMNS (
            name varchar(64) PATH '$[0]', run_id bigint PATH '$[1]', row_count bigint PATH '$[2]', last_at varchar(40) PATH '$[3]'
        )) AS c
        LEFT JOIN known_archive AS k ON k.name = c.name
        GROUP BY c.run_id
    ) AS t
    LEFT JOIN run AS r ON r.run_id = t.run_id
    LEFT JOIN (
        SELECT x.run_id, GROUP_CONCAT(JSON_QUOTE(x.rule) ORDER BY l.position IS NULL, l.position SEPARATOR ', ') AS rules
        FROM run_rule AS x
        LEFT JOIN rule AS l ON l.rule = x.rule
        WHERE x.deleted_rows > 0
        GROUP BY x.run_id
    ) AS p ON p.run_id = t.run_id
    LEFT JOIN (
        SELECT
            x.run_id,
            GROUP_CONCAT(JSON_OBJECT(
                'rule', x.rule, 'partition', x.name, 'table', x.table_name, 'from', x.from_bound, 'to', x.to_bound,
                'rows', x.partition_rows, 'counted', JSON_EXTRACT(IF(x.counted, 'true', 'false'), '$'), 'bytes', x.bytes,
                'archive', CONCAT(DATABASE(), '.', x.archive)
            ) ORDER BY x.place SEPARATOR ', ') AS partitions
        FROM partition_archive AS x
        WHERE x.state IN ('kept', 'dropping')
        GROUP BY x.run_id
    ) AS d ON d.run_id = t.run_id
    LEFT JOIN (
        SELECT
            x.run_id, SUM(IF(x.action = 'RESTORED', x.table_rows, 0)) AS restored,
            SUM(IF(x.action = 'RESTORED', 0, x.table_rows)) AS dropped
        FROM unarchived AS x
        GROUP BY x.run_id
    ) AS u ON u.run_id = t.run_id
    WHERE p_before IS NULL OR t.last_at < p_before AND NOT r.status <=> 'running';
    SET SESSION group_concat_max_len = v_length;
END;

-- archive_options: the options run and older_than, of which a list needs none and a drop one.
--# create procedure archive_options
CREATE PROCEDURE archive_options(IN p_options longtext, OUT o_run bigint, OUT o_before datetime(6))
SQL SECURITY DEFINER
COMMENT 'The options run and older_than of what works on the archive; raises 22023 with a hint for what makes no sense.'
BEGIN
    DECLARE v_text    longtext;
    DECLARE v_seconds bigint;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.run') THEN
        CALL option_of(p_options, 'run', v_text);
        IF (v_text REGEXP '^[1-9][0-9]{0,17}\\z') IS NOT TRUE THEN
            CALL refuse(
                CONCAT('run is not the number of a run: ', QUOTE(v_text)), 'write it like {"run": 17}; archive_list() has the runs'
            );
        END IF;
        SET o_run = CAST(v_text AS signed);
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.older_than') THEN
        CALL option_of(p_options, 'older_than', v_text);
        CALL seconds(v_text, v_seconds);
        IF v_seconds IS NULL THEN
            CALL refuse('older_than is not a duration', 'write it like {"older_than": "90d"}');
        END IF;
        SET o_before = UTC_TIMESTAMP(6) - INTERVAL v_seconds SECOND;
    END IF;
END;

-- archive_list: which runs have archived rows.
--# create procedure archive_list
CREATE PROCEDURE archive_list(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'The runs that have archived rows, with the rows by table, and how many were already restored or dropped. Reads the whole
    archive, unless a run is named.
    Examples: CALL archive_list(''{}''); CALL archive_list(''{"older_than": "90d"}'');'
BEGIN
    DECLARE v_run    bigint;
    DECLARE v_before datetime(6);
    DECLARE v_rows   bigint;
    DECLARE v_runs   longtext;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL check_options(p_options, '["run", "older_than"]');
    CALL archive_options(p_options, v_run, v_before);
    CALL archive_of(v_run, v_before, v_rows, v_runs);
    CALL unsettle(v_session);
    SELECT CONCAT('{"rows": ', v_rows, ', "runs": ', v_runs, '}') AS p_result;
END;

-- note_left: that rows of a table have left the archive for good. p_by_run: the run that prunes, or 0.
--# create procedure note_left
CREATE PROCEDURE note_left(IN p_run bigint, IN p_by_run bigint, IN p_table varchar(64), IN p_rows bigint)
SQL SECURITY DEFINER
COMMENT 'Notes in table unarchived that rows of a table have left the archive of run p_run for good; archive_step() calls it.'
BEGIN
    DECLARE v_action varchar(20) DEFAULT IF(p_by_run = 0, 'DROPPED', 'PRUNED');
    UPDATE unarchived AS u
    SET u.table_rows = u.table_rows + p_rows,
        u.done_at = UTC_TIMESTAMP(6)
    WHERE u.run_id = p_run
      AND u.action = v_action
      AND u.by_run = p_by_run
      AND u.table_name = p_table
      AND u.done_by = USER();
    IF ROW_COUNT() = 0 THEN
        INSERT INTO unarchived (run_id, action, by_run, table_name, table_rows, done_by, done_at)
        VALUES (p_run, v_action, p_by_run, p_table, p_rows, USER(), UTC_TIMESTAMP(6));
    END IF;
END;

-- tidy_partitions: the tables of archived partitions whose rows are copied back. Who reads one meanwhile has it for longer.
--# create procedure tidy_partitions
CREATE PROCEDURE tidy_partitions()
SQL SECURITY DEFINER
COMMENT 'Drops the tables of partitions that are restored, unless others read them. Commits.'
BEGIN
    DECLARE v_archive varchar(64);
    DECLARE v_wait    bigint DEFAULT @@SESSION.lock_wait_timeout;
    DECLARE v_rows    bigint;
    DECLARE EXIT HANDLER FOR 1205
    BEGIN
        SET SESSION lock_wait_timeout = v_wait;
    END;
    SET SESSION lock_wait_timeout = 1;
    CALL archived_table('restored', v_archive);
    WHILE v_archive IS NOT NULL DO
        CALL unshadow_archive(v_archive);
        CALL archive_do(CONCAT('DROP TABLE IF EXISTS `', REPLACE(v_archive, '`', '``'), '`'), v_rows);
        CALL archived_table('restored', v_archive);
    END WHILE;
    SET SESSION lock_wait_timeout = v_wait;
END;

-- drop_archived_partition: drops an archived partition. DROP commits: partition_archive says before that it is about to be dropped, so
-- that it is not restored meanwhile. What reads it, such as a dump, is not waited for long.
--# create procedure drop_archived_partition
CREATE PROCEDURE drop_archived_partition(IN p_run bigint, IN p_place int, IN p_by_run bigint, OUT o_rows bigint)
SQL SECURITY DEFINER
COMMENT 'Drops an archived partition of run p_run, and takes note in a new transaction; o_rows: its rows, NULL where others use it and run
    p_by_run prunes.'
BEGIN
    DECLARE v_wait    bigint DEFAULT @@SESSION.lock_wait_timeout;
    DECLARE v_archive varchar(64);
    DECLARE v_table   varchar(64);
    DECLARE v_rows    bigint;
    DECLARE v_done    bigint;
    DECLARE EXIT HANDLER FOR 1205
    BEGIN
        ROLLBACK;
        SET SESSION lock_wait_timeout = v_wait;
        SET o_rows = NULL;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        UPDATE partition_archive AS p SET p.state = 'kept' WHERE p.run_id = p_run AND p.place = p_place AND p.state = 'dropping';
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        IF p_by_run = 0 THEN
            RESIGNAL;
        END IF;
    END;
    UPDATE partition_archive AS p SET p.state = 'dropping' WHERE p.run_id = p_run AND p.place = p_place AND p.state = 'kept';
    SELECT p.archive, p.table_name, p.partition_rows
    INTO v_archive, v_table, v_rows
    FROM partition_archive AS p
    WHERE p.run_id = p_run
      AND p.place = p_place
      AND p.state = 'dropping';
    COMMIT;
    SET o_rows = 0;
    IF v_archive IS NOT NULL THEN
        SET SESSION lock_wait_timeout = 1;
        CALL unshadow_archive(v_archive);
        CALL archive_do(CONCAT('DROP TABLE IF EXISTS `', REPLACE(v_archive, '`', '``'), '`'), v_done);
        SET SESSION lock_wait_timeout = v_wait;
    END IF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    START TRANSACTION;
    UPDATE partition_archive AS p
    SET p.state = 'dropped',
        p.left_at = UTC_TIMESTAMP(6)
    WHERE p.run_id = p_run
      AND p.place = p_place
      AND p.state = 'dropping';
    IF ROW_COUNT() = 1 THEN
        SET o_rows = v_rows;
        CALL note_left(p_run, p_by_run, v_table, v_rows);
    END IF;
END;

-- archive_step: one bounded step of dropping or pruning: it looks for the next run (io_place is 0), or drops the next partition of that
-- run (1), or deletes up to 10,000 rows of it from the archive number io_place - 1, behind row io_after. io_run is NULL when all is done.
-- p_by_run is the run at whose end this prunes, or 0.
--# create procedure archive_step
CREATE PROCEDURE archive_step(
    IN p_by_run bigint, IN p_only bigint, IN p_before datetime(6),
    INOUT io_run bigint, INOUT io_place integer, INOUT io_after bigint, OUT o_rows bigint
)
SQL SECURITY DEFINER
COMMENT 'One step of archive_drop() or archive_prune(): the next run, or one partition or up to 10,000 rows of one table less, as noted in
    table unarchived.'
BEGIN
    DECLARE v_table  varchar(64);
    DECLARE v_quoted varchar(140);
    DECLARE v_last   bigint;
    DECLARE v_part   int;
    DECLARE v_at     datetime(6);
    DECLARE v_goes_on boolean;
    SET o_rows = 0;
    IF io_place = 0 THEN
        CALL unshadow_archives();
        IF p_only IS NULL THEN
            CALL next_archive(io_run, io_run);
            CALL archive_last(io_run, v_at);
        ELSE
            SET io_run = IF(io_run = 0, p_only, NULL);
        END IF;
        -- The oldest first, up to one that is too young or still in progress.
        SELECT COUNT(*) INTO v_goes_on FROM run AS r WHERE r.run_id = io_run AND r.status = 'running';
        IF p_only IS NULL AND v_at >= p_before OR v_goes_on THEN
            SET io_run = NULL;
        END IF;
        SET io_place = IF(io_run IS NULL, 0, 1), io_after = 0;
    ELSEIF io_place = 1 THEN
        SELECT MIN(p.place)
        INTO v_part
        FROM partition_archive AS p
        WHERE p.run_id = io_run
          AND p.place > io_after
          AND p.state IN ('kept', 'dropping');
        SET io_after = COALESCE(v_part, 0), io_place = IF(v_part IS NULL, 2, 1);
        IF v_part IS NOT NULL THEN
            CALL drop_archived_partition(io_run, v_part, p_by_run, o_rows);
        END IF;
        -- What others use is left to the next run; this one goes on with the rest.
        SET o_rows = COALESCE(o_rows, 0);
    ELSE
        CALL archive_there(io_place - 1, v_table, v_quoted);
        -- An archive that is not there has nothing to drop.
        SET io_place = IF(v_quoted IS NULL, io_place + 1, io_place);
    END IF;
    IF v_quoted IS NOT NULL THEN
        CALL archive_do(CONCAT(
            'SELECT MAX(b.windrow_row_id) INTO @windrow_found FROM (SELECT a.windrow_row_id FROM ', v_quoted,
            ' AS a WHERE a.windrow_run_id = ', io_run, ' AND a.windrow_row_id > ', io_after,
            ' ORDER BY a.windrow_run_id, a.windrow_row_id LIMIT 10000) AS b'
        ), o_rows);
        SET v_last = @windrow_found, o_rows = 0;
        IF v_last IS NOT NULL THEN
            CALL archive_do(CONCAT(
                'DELETE FROM ', v_quoted, ' WHERE windrow_run_id = ', io_run,
                ' AND windrow_row_id > ', io_after, ' AND windrow_row_id <= ', v_last
            ), o_rows);
        END IF;
        IF o_rows > 0 THEN
            CALL note_left(io_run, p_by_run, v_table, o_rows);
        END IF;
        SET io_after = COALESCE(v_last, 0);
        IF v_last IS NULL THEN
            SET io_place = io_place + 1;
        END IF;
    END IF;
    IF io_place > (SELECT COALESCE(MAX(k.position), 0) FROM known_archive AS k) + 1 THEN
        SET io_place = 0;
        SELECT COUNT(*) > 0 INTO v_goes_on FROM partition_archive AS p WHERE p.run_id = io_run AND p.state IN ('kept', 'dropping');
        DELETE FROM kept_run WHERE run_id = io_run AND NOT v_goes_on;
    END IF;
END;
