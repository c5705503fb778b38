-- Partitions whose rows are kept instead of being dropped (archive). What a run has taken out of a table, <rule>_taken, is judged there as
-- by all rules of partitions. If it may go, it is not dropped but renamed, to a table of this database, which nobody but the owner role
-- may read. A RENAME commits: partition_archive says how far that is, so that the next run finishes what a killed one left.

-- archive_note: what is going to be archived, in the transaction in which the ledger says that it is deleted. The server makes names of
-- a table's constraints of its own: it leaves room for that.
--# create procedure archive_note
CREATE PROCEDURE archive_note(IN p_run bigint, IN p_rule varchar(64), IN p_rows bigint, IN p_counted boolean)
SQL SECURITY DEFINER
COMMENT 'Writes to partition_archive, in the caller''s transaction, that p_run archives what is taken out of the table of p_rule, p_rows
    rows.'
BEGIN
    DECLARE v_place int;
    SELECT COALESCE(MAX(p.place), 0) + 1 INTO v_place FROM partition_archive AS p WHERE p.run_id = p_run;
    INSERT INTO partition_archive (
        run_id, place, rule, table_name, name, from_bound, to_bound, partition_rows, counted, bytes, archive, state
    )
    SELECT
        p_run, v_place, p_rule, r.root, t.name, t.from_bound, t.to_bound, p_rows, p_counted, t.bytes,
        LEFT(CONCAT('archived_', p_run, '_', v_place, '_', t.name), 56), 'archiving'
    FROM taken_partition AS t
    JOIN rule AS r ON r.rule = t.rule
    WHERE t.rule = p_rule;
END;

--# create procedure archive_unnote
CREATE PROCEDURE archive_unnote(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Takes out of partition_archive, in the caller''s transaction, what was going to be archived of p_rule.'
BEGIN
    DELETE FROM partition_archive WHERE rule = p_rule AND state = 'archiving';
END;

-- archive_rename: what was taken out of the table of a rule becomes a table of the archive.
--# create procedure archive_rename
CREATE PROCEDURE archive_rename(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Renames what was taken out of the table of p_rule as partition_archive says, unless that is done, and takes note. Commits.'
BEGIN
    DECLARE v_schema  varchar(64) DEFAULT DATABASE();
    DECLARE v_table   varchar(64) DEFAULT CONCAT(p_rule, '_taken');
    DECLARE v_archive varchar(64);
    DECLARE v_there   bigint;
    DECLARE v_rows    bigint;
    SELECT MAX(p.archive) INTO v_archive FROM partition_archive AS p WHERE p.rule = p_rule AND p.state = 'archiving';
    SELECT COUNT(*) INTO v_there FROM information_schema.tables AS t WHERE t.table_schema = v_schema AND t.table_name = v_table;
    IF v_there > 0 THEN
        CALL archive_do(CONCAT('RENAME TABLE `', v_table, '` TO `', REPLACE(v_archive, '`', '``'), '`'), v_rows);
    END IF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    START TRANSACTION;
    UPDATE partition_archive AS p
    SET p.state = 'kept',
        p.archived_at = UTC_TIMESTAMP(6)
    WHERE p.rule = p_rule
      AND p.state = 'archiving';
    DELETE FROM taken_partition WHERE rule = p_rule;
    COMMIT;
END;

-- check_partition: whether the rows of an archived partition can be those of its table again.
--# create procedure check_partition
CREATE PROCEDURE check_partition(IN p_run bigint, IN p_place int)
SQL SECURITY DEFINER
COMMENT 'Raises 55000 where an archived partition of run p_run cannot be restored: it, its rule or a column is missing or of another type.'
BEGIN
    DECLARE v_schema  varchar(64) DEFAULT DATABASE();
    DECLARE v_source  varchar(64) DEFAULT (SELECT s.schema_name FROM spec AS s);
    DECLARE v_rule    varchar(64);
    DECLARE v_root    varchar(64);
    DECLARE v_archive varchar(64);
    DECLARE v_there   bigint;
    DECLARE v_column  varchar(64);
    DECLARE v_misfit  longtext;
    SELECT p.rule, p.table_name, p.archive
    INTO v_rule, v_root, v_archive
    FROM partition_archive AS p
    WHERE p.run_id = p_run
      AND p.place = p_place;
    CALL unshadow_archive(v_archive);
    SELECT COUNT(*) INTO v_there FROM rule AS r WHERE r.rule = v_rule AND r.strategy = 'partition' AND r.root = v_root;
    IF v_there = 0 THEN
        CALL not_ready(CONCAT('nothing is restored: no rule ', v_rule, ' of the spec has partitions of ', v_root),
            CONCAT('copy ', v_archive, ' by hand'));
    END IF;
    SELECT COUNT(*) INTO v_there FROM information_schema.tables AS t WHERE t.table_schema = v_schema AND t.table_name = v_archive;
    IF v_there = 0 THEN
        CALL not_ready(CONCAT('nothing is restored: the archived partition ', v_archive, ' is gone'), 'it was changed by hand');
    END IF;
    SELECT MIN(c.column_name)
    INTO v_column
    FROM (
        SELECT t.column_name
        FROM information_schema.columns AS t
        WHERE t.table_schema = v_source AND t.table_name = v_root OR t.table_schema = v_schema AND t.table_name = v_archive
        GROUP BY t.column_name
        HAVING COUNT(*) = 1
    ) AS c;
    IF v_column IS NOT NULL THEN
        CALL not_ready(CONCAT('nothing is restored: column ', v_column, ' is not in both of ', v_root, ' and ', v_archive),
            'add or drop it there by hand');
    END IF;
    -- The original is dropped behind the copy.
    CALL column_misfit(v_archive, v_root, v_misfit);
    IF v_misfit IS NOT NULL THEN
        CALL not_ready(CONCAT('nothing is restored: ', v_misfit), 'change it there by hand');
    END IF;
END;

-- find_partitions: the archived partitions that come back, and what holds them: the first row of each partition of the table in which
-- their rows will be, which keeps all of that.
--# create procedure find_partitions
CREATE PROCEDURE find_partitions(IN p_run bigint, IN p_rule varchar(64), OUT o_rows bigint)
SQL SECURITY DEFINER
COMMENT 'Fills work_part with the archived partitions of p_run, or with those of p_rule that are in work_named, and work_held with the
    keys to hold; o_rows: their rows.'
BEGIN
    DECLARE v_place   int DEFAULT 0;
    DECLARE v_at      bigint;
    DECLARE v_rule    varchar(64);
    DECLARE v_time    varchar(140);
    DECLARE v_key     longtext;
    DECLARE v_column  varchar(140);
    DECLARE v_archive varchar(140);
    DECLARE v_where   varchar(400);
    DECLARE v_rows    bigint;
    INSERT INTO work_part (place)
    SELECT p.place
    FROM partition_archive AS p
    LEFT JOIN work_named AS n ON n.named = p.name
    WHERE p.run_id = p_run
      AND p.state = 'kept'
      AND (p_rule IS NULL OR p.rule = p_rule AND n.named IS NOT NULL);
    SELECT COALESCE(SUM(p.partition_rows), 0)
    INTO o_rows
    FROM work_part AS w
    JOIN partition_archive AS p ON p.run_id = p_run AND p.place = w.place;
    WHILE v_place IS NOT NULL DO
        SELECT MIN(w.place) INTO v_place FROM work_part AS w WHERE w.place > v_place;
        IF v_place IS NOT NULL THEN
            CALL check_partition(p_run, v_place);
            SELECT p.rule, CONCAT('`', REPLACE(p.archive, '`', '``'), '`'), CONCAT('t.`', REPLACE(r.time_name, '`', '``'), '`')
            INTO v_rule, v_archive, v_time
            FROM partition_archive AS p
            JOIN rule AS r ON r.rule = p.rule
            WHERE p.run_id = p_run
              AND p.place = v_place;
            CALL archive_key(v_rule, v_key, v_column);
            CALL partition_open(v_rule);
            CALL list_partitions(v_rule);
            SET v_at = 0;
            WHILE v_at IS NOT NULL DO
                SELECT MIN(w.position) INTO v_at FROM work_partition AS w WHERE w.position > v_at;
                IF v_at IS NOT NULL THEN
                    SELECT CONCAT_WS(' AND ', 'true', CONCAT(v_time, ' >= ''', w.from_time, ''''), CONCAT(v_time, ' < ''', w.to_time, ''''))
                    INTO v_where
                    FROM work_partition AS w
                    WHERE w.position = v_at;
                    SET @windrow_found = NULL;
                    CALL archive_do(CONCAT(
                        'SELECT ', v_key, ' INTO @windrow_found FROM ', v_archive, ' AS t WHERE ', v_where, ' ORDER BY t.', v_column,
                        ' LIMIT 1'
                    ), v_rows);
                    INSERT INTO work_held (rule, `key`)
                    SELECT v_rule, @windrow_found FROM spec AS s WHERE @windrow_found IS NOT NULL
                    ON DUPLICATE KEY UPDATE rule = VALUES(rule);
                END IF;
            END WHILE;
            CALL partition_close();
        END IF;
    END WHILE;
END;

-- put_partition: the rows of an archived partition are copied into its table. Whatever its partitions are now, each row is in the right
-- one then.
--# create procedure put_partition
CREATE PROCEDURE put_partition(IN p_run bigint, IN p_place int)
SQL SECURITY DEFINER
COMMENT 'Copies the rows of an archived partition of run p_run into its table, in the caller''s transaction, all that were archived, and
    takes note.'
BEGIN
    DECLARE v_columns  longtext;
    DECLARE v_class    varchar(300);
    DECLARE v_root     varchar(64);
    DECLARE v_archive  varchar(64);
    DECLARE v_rows     bigint;
    DECLARE v_counted  boolean;
    DECLARE v_put      bigint;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    -- ER_DUP_ENTRY: which table, and that nothing has happened.
    DECLARE EXIT HANDLER FOR 1062
    BEGIN
        DECLARE v_text varchar(128);
        --+ raised.sql
        SET v_text = LEFT(CONCAT('nothing is restored: table ', v_root, ': ', v_message, '; a row that has come since is in the way'), 128);
        SIGNAL SQLSTATE '23000' SET MESSAGE_TEXT = v_text;
    END;
    -- What the table generates, it generates again; a number 0 stays one, and so does a date without a day: see run_lenient().
    SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION';
    SELECT
        p.archive, p.table_name, p.partition_rows, p.counted,
        CONCAT('`', REPLACE(s.schema_name, '`', '``'), '`', '.', '`', REPLACE(p.table_name, '`', '``'), '`')
    INTO v_archive, v_root, v_rows, v_counted, v_class
    FROM partition_archive AS p
    CROSS JOIN spec AS s
    WHERE p.run_id = p_run
      AND p.place = p_place;
    SELECT GROUP_CONCAT('`', REPLACE(c.column_name, '`', '``'), '`' ORDER BY c.ordinal_position SEPARATOR ', ')
    INTO v_columns
    FROM information_schema.columns AS c
    JOIN spec AS s ON s.schema_name = c.table_schema
    WHERE c.table_name = v_root
      AND COALESCE(c.generation_expression, '') = '';
    SET @windrow_statement = CONCAT(
        'INSERT INTO ', v_class, ' (', v_columns, ') SELECT ', v_columns, ' FROM `', REPLACE(v_archive, '`', '``'), '`'
    );
    -- Not by archive_do(), which has a mode of its own.
    PREPARE windrow_statement FROM @windrow_statement;
    EXECUTE windrow_statement;
    SET v_put = ROW_COUNT();
    DEALLOCATE PREPARE windrow_statement;
    SET @windrow_statement = NULL;
    IF v_counted AND v_put <> v_rows THEN
        CALL not_ready(CONCAT('nothing is restored: ', v_archive, ' has ', v_put, ' rows, and ', v_rows, ' were archived'),
            'it was changed by hand');
    END IF;
    -- Not before: at KILL QUERY MySQL runs no handler, and the session may commit. Whose rows are not copied stays archived.
    UPDATE partition_archive AS p
    SET p.state = 'restored',
        p.left_at = UTC_TIMESTAMP(6),
        p.partition_rows = v_put,
        p.counted = true
    WHERE p.run_id = p_run
      AND p.place = p_place;
END;

-- put_partitions: what archive_restore() does with partitions within its last transaction. What comes back is due at once: a hold keeps
-- it.
--# create procedure put_partitions
CREATE PROCEDURE put_partitions(
    IN p_run bigint, IN p_keys longtext, INOUT io_rows bigint, INOUT io_counts longtext, INOUT io_holds bigint
)
SQL SECURITY DEFINER
COMMENT 'Copies the rows of the partitions in work_part back, and holds what work_held names. Adds to the rows and holds of a restoration.'
BEGIN
    DECLARE v_place int DEFAULT 0;
    DECLARE v_parts bigint;
    DECLARE v_rows  bigint;
    SELECT COUNT(*) INTO v_parts FROM work_part AS w;
    -- Nobody drops them meanwhile, and nobody else restores them.
    SELECT COUNT(*)
    INTO v_rows
    FROM work_part AS w
    STRAIGHT_JOIN partition_archive AS p ON p.run_id = p_run AND p.place = w.place AND p.state = 'kept'
    FOR UPDATE;
    IF v_rows <> v_parts THEN
        CALL not_ready('nothing is restored: a partition has left the archive meanwhile', 'archive_list() has what is left');
    END IF;
    DELETE h
    FROM hold AS h
    STRAIGHT_JOIN work_held AS w ON w.rule = h.rule AND w.`key` = h.`key`
    WHERE NOT (h.until IS NULL OR h.until > UTC_TIMESTAMP(6));
    UPDATE hold AS h
    JOIN work_held AS w ON w.rule = h.rule AND w.`key` = h.`key`
    SET h.until = NULL,
        h.placed_by = USER(),
        h.placed_at = UTC_TIMESTAMP(6),
        h.reason = CONCAT(h.reason, '; restored from the archive of run ', p_run)
    WHERE h.rule > ''
      AND h.until IS NOT NULL;
    SET io_holds = io_holds + ROW_COUNT();
    INSERT INTO hold (rule, `key`, reason, placed_by, placed_at)
    SELECT w.rule, w.`key`, CONCAT('restored from the archive of run ', p_run), USER(), UTC_TIMESTAMP(6)
    FROM work_held AS w
    LEFT JOIN hold AS h ON h.rule = w.rule AND h.`key` = w.`key`
    WHERE h.rule IS NULL;
    SET io_holds = io_holds + ROW_COUNT();
    WHILE v_place IS NOT NULL DO
        SELECT MIN(w.place) INTO v_place FROM work_part AS w WHERE w.place > v_place;
        IF v_place IS NOT NULL THEN
            CALL put_partition(p_run, v_place);
        END IF;
    END WHILE;
    INSERT INTO unarchived (run_id, action, table_name, table_rows, `keys`, done_by, done_at)
    SELECT p_run, 'RESTORED', p.table_name, SUM(p.partition_rows), p_keys, USER(), UTC_TIMESTAMP(6)
    FROM work_part AS w
    STRAIGHT_JOIN partition_archive AS p ON p.run_id = p_run AND p.place = w.place
    GROUP BY p.table_name;
    SELECT
        SUM(t.row_count),
        CONCAT_WS(', ', NULLIF(io_counts, ''), GROUP_CONCAT(JSON_QUOTE(t.table_name), ': ', t.row_count SEPARATOR ', '))
    INTO v_rows, io_counts
    FROM (
        SELECT p.table_name, SUM(p.partition_rows) AS row_count
        FROM work_part AS w
        STRAIGHT_JOIN partition_archive AS p ON p.run_id = p_run AND p.place = w.place
        GROUP BY p.table_name
    ) AS t;
    SET io_rows = io_rows + COALESCE(v_rows, 0);
END;

-- archived_watch: what verify() says of the partitions that a rule has archived: each must be where the ledger says. A table that the
-- ledger does not know is told of once, by the first rule that archives partitions.
--# create procedure archived_watch
CREATE PROCEDURE archived_watch(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Writes to work_check whether the partitions that p_rule has archived are there, and no other tables beside them.'
BEGIN
    DECLARE v_first varchar(64);
    DECLARE v_days  bigint;
    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT 14, 'archived', p_rule, 'ok', COUNT(*),
        CONCAT('archived partitions with ', COALESCE(SUM(p.partition_rows), 0), ' rows, each where the ledger says')
    FROM partition_archive AS p
    LEFT JOIN information_schema.tables AS t ON t.table_schema = DATABASE() AND t.table_name = p.archive
    WHERE p.rule = p_rule
      AND p.state = 'kept'
    HAVING COUNT(*) = COUNT(t.table_name);
    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT 14, 'archived', CONCAT(DATABASE(), '.', p.archive), 'violation', p.partition_rows,
        'rows of an archived partition that is missing: get the table from a backup, or set its state in partition_archive to dropped'
    FROM partition_archive AS p
    LEFT JOIN information_schema.tables AS t ON t.table_schema = DATABASE() AND t.table_name = p.archive
    WHERE p.rule = p_rule
      AND p.state = 'kept'
      AND t.table_name IS NULL;
    SELECT r.rule INTO v_first FROM rule AS r WHERE JSON_CONTAINS_PATH(r.document, 'one', '$.archive') ORDER BY r.position LIMIT 1;
    CALL setting_of(v_first, 'archive_days', v_days);
    -- A run prunes at its end, and most often there is one each day.
    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT 14, 'archived', CONCAT(DATABASE(), '.', MIN(p.archive)), 'notice', SUM(p.partition_rows),
        CONCAT('rows of ', COUNT(*), ' archived partitions that are older than archive_days and not pruned: if a run has ended since, ',
            'see what reads the first')
    FROM partition_archive AS p
    WHERE p.rule = p_rule
      AND p.state = 'kept'
      AND p.archived_at < UTC_TIMESTAMP(6) - INTERVAL (1 + NULLIF(v_days, 0)) DAY
    HAVING COUNT(*) > 0;
    SELECT r.rule
    INTO v_first
    FROM rule AS r
    WHERE r.strategy = 'partition'
      AND JSON_CONTAINS_PATH(r.document, 'one', '$.archive')
    ORDER BY r.position
    LIMIT 1;
    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT 14, 'archived', CONCAT(DATABASE(), '.', t.table_name), 'violation', 1,
        'a table among the archived partitions that the ledger does not know: drop or move it'
    FROM information_schema.tables AS t
    LEFT JOIN partition_archive AS p ON p.archive = t.table_name AND p.state IN ('archiving', 'kept', 'dropping', 'restored')
    WHERE t.table_schema = DATABASE()
      AND t.table_name LIKE 'archived|_%' ESCAPE '|'
      AND p.run_id IS NULL
      AND p_rule = v_first;
END;
