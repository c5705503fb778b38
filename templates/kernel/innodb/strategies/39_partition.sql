-- Rules that drop whole range partitions of one table. Their verbs are types, any_partition, count_partition, stay_partition,
-- held_partition, marked_partition, swap_partition, back_partition, drop_partition and merge_partition; where rows keep their partition
-- until they have ended, waiting_partition. A partition is to them what a family is to others.
-- DDL commits, and between a judgement and a DROP PARTITION anybody could write to the partition. So the rows are taken out of the
-- table first, by exchanging them for those of an empty table of the control database, <rule>_taken; nobody writes to that. Then
-- they are judged, the ledger says that they go, and the table is dropped. If one of them has to stay, they are exchanged again.
-- The partition stays behind, empty. Empty ones that lie side by side become one, which deletes nothing. taken_partition says how
-- far that is, so that the next run finishes what a killed one left.

-- run_partition: what runs have dropped.
--# create table run_partition
CREATE TABLE IF NOT EXISTS run_partition (
    run_id       bigint      NOT NULL,
    rule         varchar(64) NOT NULL,
    name         varchar(64) NOT NULL,
    from_bound   varchar(64) NOT NULL,
    to_bound     varchar(64) NOT NULL,
    deleted_rows bigint      NOT NULL,
    counted      boolean     NOT NULL,
    bytes        bigint      NOT NULL,
    dropped_at   datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (run_id, rule, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The partitions whose rows runs have dropped, with their bounds (from inclusive, -infinity: the first one; to exclusive),
        these rows, and their size with indexes, which the catalog estimates. counted: whether the rows were counted when nobody could
        write to them any more, or estimated by the catalog.';

-- taken_partition: the partition of a rule whose rows are being taken out of its table.
--# create table taken_partition
CREATE TABLE IF NOT EXISTS taken_partition (
    rule       varchar(64) NOT NULL PRIMARY KEY,
    run_id     bigint      NOT NULL,
    name       varchar(64) NOT NULL,
    from_bound varchar(64) NOT NULL,
    to_bound   varchar(64) NOT NULL,
    to_due     datetime(6) NOT NULL,
    bytes      bigint      NOT NULL,
    guess      bigint,
    phase      varchar(10) NOT NULL,
    since      datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    mark       varchar(64)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The partition of each rule whose rows are in the table <rule>_taken, or were going to be. phase: taking, they are not judged
        yet; returning, one of them stays, and all go back; returned, they are back; dropping, archiving, the ledger has them as deleted.
        mark: of the key of one of those that go back.';
-- What the table of an earlier version lacks.
--# add column taken_partition.mark
CALL add_column('taken_partition', 'mark', 'varchar(64)');

-- empty_partition: what the metrics leave out, since the catalog only guesses how many rows a partition has.
--# create table empty_partition
CREATE TABLE IF NOT EXISTS empty_partition (
    rule    varchar(64) NOT NULL,
    name    varchar(64) NOT NULL,
    to_time datetime(6) NOT NULL,
    PRIMARY KEY (rule, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The partitions that were due and empty when a run last looked at all of its rule.';

-- partition_made: how the catalog knows the table of a rule.
--# create procedure partition_made
CREATE PROCEDURE partition_made(IN p_rule varchar(64), OUT o_name longtext, OUT o_engine longtext, OUT o_made longtext)
SQL SECURITY DEFINER
COMMENT 'Name, engine and time of the table of p_rule, as tables_now() writes them.'
BEGIN
    DECLARE v_schema varchar(64);
    DECLARE v_root   varchar(64);
    SELECT s.schema_name, r.root INTO v_schema, v_root FROM spec AS s CROSS JOIN rule AS r WHERE r.rule = p_rule;
    SELECT t.table_name, COALESCE(t.engine, 'none'), COALESCE(t.create_time, '')
    INTO o_name, o_engine, o_made
    FROM information_schema.tables AS t
    WHERE t.table_schema = v_schema
      AND t.table_name = v_root;
END;

-- partition_noted: each ALTER TABLE makes a table anew. What a run did itself is no change of the catalog.
--# create procedure partition_noted
CREATE PROCEDURE partition_noted(IN p_rule varchar(64), IN p_made longtext)
SQL SECURITY DEFINER
COMMENT 'Writes to catalog_state that the table of p_rule, which was made at p_made, has been made anew.'
BEGIN
    DECLARE v_name   longtext;
    DECLARE v_engine longtext;
    DECLARE v_made   longtext;
    CALL partition_made(p_rule, v_name, v_engine, v_made);
    UPDATE catalog_state AS s
    SET s.state = TRIM(BOTH '|' FROM REPLACE(CONCAT('|', s.state, '|'), CONCAT('|table ', v_name, ' ', v_engine, ' ', p_made, '|'),
            CONCAT('|table ', v_name, ' ', v_engine, ' ', v_made, '|'))),
        s.names = REPLACE(s.names, CONCAT('|', v_name, ' ', p_made, '|'), CONCAT('|', v_name, ' ', v_made, '|'));
END;

-- partition_misfit: why no partition of a rule is dropped, by the catalog. A drop fires no trigger.
--# create procedure partition_misfit
CREATE PROCEDURE partition_misfit(IN p_rule varchar(64), OUT o_misfit varchar(900))
SQL SECURITY DEFINER
COMMENT 'Why no partition of p_rule can be dropped: how its table is partitioned, a trigger on it, a cluster; NULL: nothing.'
BEGIN
    DECLARE v_schema varchar(64);
    DECLARE v_root   varchar(64);
    DECLARE v_time   varchar(140);
    DECLARE v_ansi   varchar(140);
    DECLARE v_fits   bigint;
    DECLARE v_found  varchar(200);
    DECLARE v_shared boolean;
    SELECT s.schema_name, r.root, r.time_name INTO v_schema, v_root, v_time FROM spec AS s CROSS JOIN rule AS r WHERE r.rule = p_rule;
    -- The quotes are those of the sql_mode in which the table was made.
    SET o_misfit = NULL, v_ansi = CONCAT('"', REPLACE(v_time, '"', '""'), '"'), v_time = CONCAT('`', REPLACE(v_time, '`', '``'), '`');
    SELECT COUNT(*)
    INTO v_fits
    FROM information_schema.partitions AS p
    WHERE p.table_schema = v_schema
      AND p.table_name = v_root
      AND (
          p.partition_method = 'RANGE COLUMNS' AND LOWER(p.partition_expression) IN (LOWER(v_time), LOWER(v_ansi))
          OR p.partition_method = 'RANGE'
             AND LOWER(p.partition_expression) IN (
                 LOWER(CONCAT('to_days(', v_time, ')')), LOWER(CONCAT('to_days(', v_ansi, ')')),
                 LOWER(CONCAT('unix_timestamp(', v_time, ')')), LOWER(CONCAT('unix_timestamp(', v_ansi, ')'))
             )
      );
    IF v_fits = 0 THEN
        SET o_misfit = CONCAT('table ', v_root, ' is not partitioned by RANGE COLUMNS (', v_time, '), RANGE (TO_DAYS(', v_time,
            ')) or RANGE (UNIX_TIMESTAMP(', v_time, ')): use the strategy age');
    END IF;
    IF o_misfit IS NULL THEN
        SELECT MIN(t.trigger_name)
        INTO v_found
        FROM information_schema.triggers AS t
        WHERE t.event_object_schema = v_schema
          AND t.event_object_table = v_root
          AND t.event_manipulation = 'DELETE';
        SET o_misfit = CONCAT('table ', v_root, ' has the trigger ', v_found,
            ' on DELETE, which a dropped partition does not fire: use the strategy age');
    END IF;
    IF o_misfit IS NULL THEN
        SELECT MAX(t.table_type)
        INTO v_found
        FROM information_schema.tables AS t
        WHERE t.table_schema = v_schema
          AND t.table_name = v_root
          AND t.table_type <> 'BASE TABLE';
        SET o_misfit = CONCAT('table ', v_root, ' is a ', LOWER(v_found), ' table, whose partitions are not dropped: use the strategy age');
    END IF;
    /*!80000
    IF o_misfit IS NULL AND NOT @@GLOBAL.innodb_file_per_table THEN
        SET o_misfit = CONCAT('table ', v_root, ' cannot be exchanged for one of a shared file: set innodb_file_per_table to ON');
    END IF;
    */
    -- Galera stops all writers for an ALTER TABLE. A group does not compare it with what another of its primaries writes meanwhile: rows
    -- would be in different tables on different servers.
    IF o_misfit IS NULL THEN
        CALL is_shared(v_shared);
        IF v_shared THEN
            SET o_misfit = CONCAT('table ', v_root, ' is in a cluster with several writers: use the strategy age');
        END IF;
    END IF;
END;

-- check_partitions: what is in the way of dropping partitions is told with what else acts on a table.
--# create procedure check_partitions
CREATE PROCEDURE check_partitions()
SQL SECURITY DEFINER
COMMENT 'Adds to work_stranger why partitions of a rule cannot be dropped; strangers() calls it.'
BEGIN
    DECLARE v_at     int;
    DECLARE v_rule   varchar(64);
    DECLARE v_root   varchar(64);
    DECLARE v_misfit varchar(900);
    SELECT MIN(r.position) INTO v_at FROM rule AS r WHERE r.strategy = 'partition';
    WHILE v_at IS NOT NULL DO
        SELECT r.rule, r.root INTO v_rule, v_root FROM rule AS r WHERE r.position = v_at;
        CALL partition_misfit(v_rule, v_misfit);
        IF v_misfit IS NOT NULL THEN
            INSERT INTO work_stranger (object, detail, acts)
            VALUES (v_root, LEFT(SUBSTR(v_misfit, CHAR_LENGTH(v_root) + 8), 400), true);
        END IF;
        SELECT MIN(r.position) INTO v_at FROM rule AS r WHERE r.strategy = 'partition' AND r.position > v_at;
    END WHILE;
END;

-- partition_open: the work tables that live as long as a run, or a preview.
--# create procedure partition_open
CREATE PROCEDURE partition_open(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of p_rule.'
BEGIN
    CALL partition_close();
    SELECT JSON_CONTAINS(r.document, '"id"', '$.hexed') IS TRUE INTO @windrow_hexed FROM rule AS r WHERE r.rule = p_rule;
    CALL perform(p_rule, 'types', '');
    CREATE TEMPORARY TABLE work_partition (
        position  bigint       NOT NULL PRIMARY KEY,
        name      varchar(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        divided   boolean      NOT NULL,
        bound     varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        bytes     bigint       NOT NULL,
        guess     bigint,
        from_time datetime(6),
        to_time   datetime(6),
        from_due  datetime(6),
        to_due    datetime(6)
    ) ENGINE = InnoDB;
    CREATE TEMPORARY TABLE work_ahead (
        position  bigint       NOT NULL PRIMARY KEY,
        name      varchar(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        from_time datetime(6),
        to_time   datetime(6),
        problem   varchar(900) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    ) ENGINE = InnoDB;
    CREATE TEMPORARY TABLE work_keep (
        held boolean NOT NULL DEFAULT false,
        PRIMARY KEY (id),
        KEY (held)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_keep_of (
        only_row integer NOT NULL DEFAULT 1 PRIMARY KEY,
        said varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
    ) ENGINE = InnoDB;
    CREATE TEMPORARY TABLE work_skip (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
    CREATE TEMPORARY TABLE work_skipped (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
END;
--# create procedure partition_close
CREATE PROCEDURE partition_close()
SQL SECURITY DEFINER
COMMENT 'Drops the work tables.'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS work_type, work_partition, work_ahead, work_keep, work_keep_of, work_skip, work_skipped;
END;

-- list_partitions: the partitions of the table of a rule. A date is over at the end of its day: what is due of a partition of dates is
-- a day later than its bounds.
--# create procedure list_partitions
CREATE PROCEDURE list_partitions(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Fills work_partition with the partitions of p_rule: their bounds as times (from NULL: the first; to NULL: MAXVALUE), from when to
    when their rows are due, and where the rule takes estimates, how many rows they have by the catalog (NULL: none known). Reads only.'
BEGIN
    DECLARE v_schema varchar(64);
    DECLARE v_root   varchar(64);
    DECLARE v_dates  boolean;
    DECLARE v_guess  boolean;
    SELECT s.schema_name, r.root, JSON_CONTAINS_PATH(r.document, 'one', '$.dates'), JSON_CONTAINS_PATH(r.document, 'one', '$.estimated')
    INTO v_schema, v_root, v_dates, v_guess
    FROM spec AS s
    CROSS JOIN rule AS r
    WHERE r.rule = p_rule;
    DELETE FROM work_partition;
    INSERT INTO work_partition (position, name, divided, bound, bytes, guess, from_time, to_time, from_due, to_due)
    SELECT
        b.position, b.name, b.divided, b.bound, b.bytes, IF(v_guess, NULLIF(b.guess, 0), NULL), b.from_time, b.to_time,
        b.from_time + INTERVAL IF(v_dates, 1, 0) DAY, b.to_time + INTERVAL IF(v_dates, 1, 0) DAY
    FROM (
        SELECT
            a.position, a.name, a.divided, a.bound, a.bytes, a.guess, a.to_time,
            LAG(a.to_time) OVER (ORDER BY a.position) AS from_time
        FROM (
            SELECT
                p.partition_ordinal_position AS position,
                p.partition_name AS name,
                MAX(p.subpartition_name IS NOT NULL) AS divided,
                MAX(p.partition_description) AS bound,
                SUM(p.data_length + p.index_length) AS bytes,
                -- Not what MySQL remembers for a day: that is of whole tables.
                SUM(p.table_rows) AS guess,
                MAX(CASE
                    WHEN p.partition_description = 'MAXVALUE' THEN NULL
                    WHEN p.partition_method = 'RANGE COLUMNS' THEN CAST(TRIM(BOTH '''' FROM p.partition_description) AS datetime(6))
                    WHEN p.partition_expression LIKE 'unix%'
                        THEN CAST('1970-01-01' AS datetime(6)) + INTERVAL CAST(p.partition_description AS signed) SECOND
                    -- Before the first day that a datetime has, there is only what has no time.
                    ELSE CAST('1000-01-01' AS datetime(6))
                        + INTERVAL GREATEST(CAST(p.partition_description AS signed) - TO_DAYS('1000-01-01'), 0) DAY
                END) AS to_time
            FROM information_schema.partitions AS p
            WHERE p.table_schema = v_schema
              AND p.table_name = v_root
            GROUP BY p.partition_ordinal_position, p.partition_name
        ) AS a
    ) AS b;
END;

-- next_partition: the partition that ends first behind p_after, if it ends before or at the cutoff.
--# create procedure next_partition
CREATE PROCEDURE next_partition(IN p_after datetime(6), IN p_until datetime(6), OUT o_position bigint)
SQL SECURITY DEFINER
COMMENT 'The next partition of work_partition that ends after p_after (NULL: the first), and at p_until at the latest; NULL: none.'
BEGIN
    SELECT MIN(p.position)
    INTO o_position
    FROM work_partition AS p
    WHERE p.to_time <= p_until
      AND (p_after IS NULL OR p.to_time > p_after);
END;

-- partition_held: the first row of a partition that a hold keeps, of this rule or of another.
--# create procedure partition_held
CREATE PROCEDURE partition_held(
    IN p_rule varchar(64), IN p_taken boolean, IN p_from datetime(6), IN p_to datetime(6), OUT o_key varchar(700)
)
SQL SECURITY DEFINER
COMMENT 'The first key of a partition, or of what was taken out of the table, that a hold keeps; NULL: none. Fills work_keep.'
BEGIN
    DELETE FROM work_keep WHERE NOT held;
    CALL timed_held(p_rule);
    CALL bound_by(p_rule, @windrow_bound);
    SET @windrow_taken = p_taken, @windrow_from = p_from, @windrow_to = p_to, @windrow_key = NULL;
    IF @windrow_bound OR EXISTS (SELECT 1 FROM work_keep) THEN
        CALL perform(p_rule, 'held_partition', '@windrow_taken, @windrow_from, @windrow_to, @windrow_bound, @windrow_key');
    END IF;
    SET o_key = @windrow_key;
END;

-- partition_waits: the first row of a partition that has not ended, or not long enough ago.
--# create procedure partition_waits
CREATE PROCEDURE partition_waits(
    IN  p_rule   varchar(64),
    IN  p_taken  boolean,
    IN  p_from   datetime(6),
    IN  p_to     datetime(6),
    IN  p_before datetime(6),
    OUT o_reason varchar(32),
    OUT o_key    varchar(700)
)
SQL SECURITY DEFINER
COMMENT 'Why a row of a partition, or of what was taken out of the table, keeps it by its own end, which must lie before p_before, and its
    key; NULL: none does, or the rule asks no row. Reads only.'
BEGIN
    DECLARE v_waits boolean;
    SELECT JSON_CONTAINS_PATH(r.document, 'one', '$.waits') INTO v_waits FROM rule AS r WHERE r.rule = p_rule;
    SET @windrow_fault = NULL, @windrow_key = NULL;
    IF v_waits THEN
        SET @windrow_taken = p_taken, @windrow_from = p_from, @windrow_to = p_to, @windrow_before = p_before;
        CALL perform(p_rule, 'waiting_partition',
            '@windrow_taken, @windrow_from, @windrow_to, @windrow_before, @windrow_fault, @windrow_key');
    END IF;
    SET o_reason = ELT(@windrow_fault, 'NON_FINAL_MEMBER', 'UNDATED_MEMBER', 'RETENTION_NOT_REACHED'), o_key = @windrow_key;
END;

-- judge_partition: whether a partition may go, as far as that can be seen without taking its rows out of the table.
--# create procedure judge_partition
CREATE PROCEDURE judge_partition(
    IN  p_rule     varchar(64),
    IN  p_position bigint,
    IN  p_before   datetime(6),
    OUT o_any      boolean,
    OUT o_reason   varchar(32),
    OUT o_key      varchar(700)
)
SQL SECURITY DEFINER
COMMENT 'Whether a partition of work_partition has rows, and why it is kept, with what keeps it; NULL: it may go, rows that ended before
    p_before. Locks nothing.'
BEGIN
    DECLARE v_name    varchar(64);
    DECLARE v_from    datetime(6);
    DECLARE v_to      datetime(6);
    DECLARE v_divided boolean;
    DECLARE v_held    varchar(700);
    SELECT p.name, p.from_due, p.to_due, p.divided
    INTO v_name, v_from, v_to, v_divided
    FROM work_partition AS p
    WHERE p.position = p_position;
    SET o_reason = NULL, o_key = v_name, @windrow_from = v_from, @windrow_to = v_to;
    CALL perform(p_rule, 'any_partition', '@windrow_from, @windrow_to, @windrow_any, @windrow_undated');
    SET o_any = @windrow_any;
    IF o_any AND v_divided THEN
        SET o_reason = 'NOT_DROPPABLE';
    ELSEIF o_any THEN
        SET o_reason = IF(@windrow_undated, 'UNDATED_MEMBER', NULL);
        CALL partition_held(p_rule, false, v_from, v_to, v_held);
        IF v_held IS NOT NULL THEN
            SET o_reason = 'HELD', o_key = CONCAT(v_name, ' (', v_held, ')');
        ELSEIF o_reason IS NULL THEN
            CALL partition_waits(p_rule, false, v_from, v_to, p_before, o_reason, v_held);
            SET o_key = IF(o_reason IS NULL, v_name, CONCAT(v_name, ' (', v_held, ')'));
        END IF;
    END IF;
END;

-- left_partition: the partition without an end, where it has rows that are due: it is never dropped.
--# create procedure left_partition
CREATE PROCEDURE left_partition(IN p_rule varchar(64), IN p_cutoff datetime(6))
SQL SECURITY DEFINER
COMMENT 'Writes to work_skip the partition up to MAXVALUE of work_partition, where rows in it are due by p_cutoff. Reads only.'
BEGIN
    DECLARE v_name varchar(64);
    DECLARE v_from datetime(6);
    SELECT MAX(p.name), MAX(p.from_due) INTO v_name, v_from FROM work_partition AS p WHERE p.to_time IS NULL;
    IF v_name IS NOT NULL AND (v_from IS NULL OR v_from <= p_cutoff) THEN
        SET @windrow_from = v_from, @windrow_to = p_cutoff + INTERVAL 1 MICROSECOND;
        CALL perform(p_rule, 'any_partition', '@windrow_from, @windrow_to, @windrow_any, @windrow_undated');
        IF @windrow_any THEN
            INSERT INTO work_skip (skip_key, reason)
            VALUES (v_name, IF(@windrow_undated, 'UNDATED_MEMBER', 'NOT_DROPPABLE'));
        END IF;
    END IF;
END;

-- take_partition: what comes before the rows of a partition are taken out of the table, and that.
--# create procedure take_partition
CREATE PROCEDURE take_partition(IN p_run bigint, IN p_rule varchar(64), IN p_position bigint)
SQL SECURITY DEFINER
COMMENT 'Writes to taken_partition that the rows of a partition of work_partition are taken out of the table, and takes them. Commits.'
BEGIN
    DECLARE v_name   longtext;
    DECLARE v_engine longtext;
    DECLARE v_made   longtext;
    INSERT INTO taken_partition (rule, run_id, name, from_bound, to_bound, to_due, bytes, guess, phase)
    SELECT
        p_rule, p_run, p.name,
        COALESCE(TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM p.from_time)), '-infinity'),
        TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM p.to_time)), p.to_due, p.bytes, p.guess, 'taking'
    FROM work_partition AS p
    WHERE p.position = p_position;
    COMMIT;
    CALL partition_made(p_rule, v_name, v_engine, v_made);
    SELECT t.name INTO @windrow_name FROM taken_partition AS t WHERE t.rule = p_rule;
    -- As it is now: MySQL remembers such figures for a day.
    /*!80000 SET @windrow_expiry = @@SESSION.information_schema_stats_expiry, SESSION information_schema_stats_expiry = 0; */
    SELECT t.auto_increment
    INTO @windrow_number
    FROM information_schema.tables AS t
    JOIN spec AS s ON s.schema_name = t.table_schema
    JOIN rule AS r ON r.root = t.table_name
    WHERE r.rule = p_rule;
    /*!80000 SET SESSION information_schema_stats_expiry = @windrow_expiry; */
    CALL perform(p_rule, 'swap_partition', '@windrow_name, true, @windrow_number');
    CALL partition_noted(p_rule, v_made);
END;

-- partition_away: what is out of its table is not gone. Whoever takes it out says so before, and then waits for all who have the table.
-- Not so a dry run, which deletes nothing, and a stamp.
--# create procedure partition_away
CREATE PROCEDURE partition_away(IN p_run bigint, IN p_rule varchar(64), OUT o_message varchar(900), OUT o_soon boolean)
SQL SECURITY DEFINER
COMMENT 'What rows_away() answers.'
BEGIN
    DECLARE v_rule    varchar(64);
    DECLARE v_workers int;
    SELECT MIN(t.rule)
    INTO v_rule
    FROM taken_partition AS t
    JOIN run AS r ON r.run_id = p_run AND NOT r.dry_run AND r.`trigger` <> 'STAMP'
    LEFT JOIN taken_partition AS o ON o.rule = p_rule
    WHERE t.phase IN ('taking', 'returning', 'returned')
      AND o.rule IS NULL;
    SET o_message = NULL, o_soon = false;
    IF v_rule IS NOT NULL THEN
        SELECT CONCAT('rows of partition ', MAX(t.name), ' are out of their table: rule ', v_rule, ' must settle them first')
        INTO o_message
        FROM taken_partition AS t
        WHERE t.rule = v_rule;
        SELECT s.workers INTO v_workers FROM spec AS s;
        IF v_workers > 1 THEN
            SELECT COUNT(*) > 0
            INTO o_soon
            FROM run_sweep AS w
            JOIN run AS r ON r.run_id = w.run_id AND r.status = 'running'
            WHERE w.at_rule = v_rule
              AND w.run_id <> p_run;
        END IF;
    END IF;
END;
--# create procedure partition_out
CREATE PROCEDURE partition_out(IN p_rule varchar(64), OUT o_out boolean)
SQL SECURITY DEFINER
COMMENT 'What rows_out() answers.'
BEGIN
    SELECT COUNT(*) > 0
    INTO o_out
    FROM taken_partition AS t
    WHERE t.rule = p_rule
      AND t.phase IN ('taking', 'returning', 'returned');
END;
--# create procedure away_first
CREATE PROCEDURE away_first(INOUT io_position int)
SQL SECURITY DEFINER
COMMENT 'Where rows are out of their table, a run begins at the rule that settles them, behind the position that this answers.'
BEGIN
    SELECT COALESCE(MIN(r.position) - 1, io_position)
    INTO io_position
    FROM taken_partition AS t
    JOIN rule AS r ON r.rule = t.rule;
END;

-- partition_place: rows that are out of their table can be held until they are judged.
--# create procedure partition_place
CREATE PROCEDURE partition_place(IN p_rule varchar(64), OUT o_table longtext)
SQL SECURITY DEFINER
COMMENT 'The table, quoted, in which rows of p_rule are that are out of their table and may come back; NULL: none are.'
BEGIN
    SELECT NULLIF(CONCAT_WS('.', CONCAT('`', MAX(i.table_schema), '`'), CONCAT('`', MAX(i.table_name), '`')), '')
    INTO o_table
    FROM taken_partition AS t
    JOIN information_schema.tables AS i ON i.table_schema = DATABASE() AND i.table_name = CONCAT(p_rule, '_taken')
    WHERE t.rule = p_rule
      AND t.phase IN ('taking', 'returning', 'returned');
END;

-- end_taken: what was taken out of the table of a rule is done with.
--# create procedure end_taken
CREATE PROCEDURE end_taken(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Drops what was taken out of the table of p_rule, and its row of taken_partition. Commits.'
BEGIN
    CALL perform(p_rule, 'drop_partition', '');
    DELETE FROM taken_partition WHERE rule = p_rule;
    COMMIT;
END;

-- column_misfit: INSERT would leave a column out, round a number or a time, or cut blanks at the end of a text, without a word.
--# create procedure column_misfit
CREATE PROCEDURE column_misfit(IN p_table varchar(64), IN p_root varchar(64), OUT o_misfit longtext)
SQL SECURITY DEFINER
COMMENT 'Which values of p_table, a table of this database, the table p_root of the spec cannot have as they are; NULL: it can have all.'
BEGIN
    SELECT MIN(IF(
        t.column_name IS NULL,
        CONCAT('column ', a.column_name, ' is not in both of ', p_root, ' and ', p_table),
        CONCAT(
            p_root, '.', t.column_name, ' is ', t.column_type,
            IF(a.character_set_name <=> t.character_set_name, '', CONCAT(' ', t.character_set_name)),
            ', and ', a.column_type, IF(a.character_set_name <=> t.character_set_name, '', CONCAT(' ', a.character_set_name)),
            ' in ', p_table
        )
    ))
    INTO o_misfit
    FROM information_schema.columns AS a
    CROSS JOIN spec AS s
    LEFT JOIN information_schema.columns AS t
        ON t.table_schema = s.schema_name
        AND t.table_name = p_root
        AND t.column_name = a.column_name
    WHERE a.table_schema = DATABASE()
      AND a.table_name = p_table
      -- What is generated is not copied, unless it is an ordinary column there.
      AND (COALESCE(a.generation_expression, '') = '' OR t.column_name IS NOT NULL)
      AND COALESCE(t.generation_expression, '') = ''
      AND NOT COALESCE(
          (
              a.character_set_name <=> t.character_set_name
              OR a.character_set_name IN ('utf8', 'utf8mb3') AND t.character_set_name = 'utf8mb4'
          ) AND (
              a.column_type = t.column_type
              -- A number that has no room is an error there.
              OR a.data_type IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint')
                  AND t.data_type IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint')
              OR a.data_type = 'decimal' AND t.data_type = 'decimal' AND t.numeric_scale >= a.numeric_scale
              OR a.data_type IN ('datetime', 'timestamp', 'time') AND t.data_type = a.data_type
                  AND t.datetime_precision >= a.datetime_precision
              -- A char has no blanks at its end. How long a text may be is said in bytes.
              OR a.data_type = 'char' AND t.data_type = 'char' AND t.character_maximum_length >= a.character_maximum_length
              OR a.data_type IN ('char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext') AND CASE
                  WHEN t.data_type = 'varchar' THEN t.character_maximum_length >= a.character_maximum_length
                  WHEN t.data_type IN ('tinytext', 'text', 'mediumtext', 'longtext')
                      THEN t.character_octet_length >= a.character_octet_length
              END
          ),
          false
      );
END;

-- return_partition: the rows that were taken out of a table go back, all of them.
--# create procedure return_partition
CREATE PROCEDURE return_partition(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Puts back what was taken out of the table of p_rule, and what was written to the partition meanwhile. Commits.'
BEGIN
    DECLARE v_schema  varchar(64);
    DECLARE v_root    varchar(64);
    DECLARE v_columns longtext;
    DECLARE v_name    longtext;
    DECLARE v_engine  longtext;
    DECLARE v_made    longtext;
    DECLARE v_phase   varchar(10);
    DECLARE v_misfit  longtext;
    DECLARE v_apart   boolean DEFAULT false;
    SELECT t.phase, t.name, t.mark INTO v_phase, @windrow_name, @windrow_mark FROM taken_partition AS t WHERE t.rule = p_rule;
    IF v_phase = 'returning' THEN
        -- A run that ended behind the exchange had no time to say so: another one would take the rows out again. Of one of before there
        -- is no mark.
        SET @windrow_there = 'unknown';
        IF @windrow_mark IS NOT NULL THEN
            CALL perform(p_rule, 'marked_partition', '@windrow_mark, @windrow_there');
        END IF;
        IF @windrow_there IS NOT NULL THEN
            CALL partition_made(p_rule, v_name, v_engine, v_made);
            swap: BEGIN
                -- Somebody has altered the table meanwhile: it has other columns or indexes, or no such partition. Then the rows go
                -- back one by one, by the columns that it still has.
                DECLARE EXIT HANDLER FOR 1505, 1507, 1731, 1734, 1735, 1736, 1737, 1740
                    SET v_apart = true;
                CALL perform(p_rule, 'swap_partition', '@windrow_name, false, NULL');
            END swap;
            -- Whoever has locked the ledger, such as a backup, is waited for.
            CALL wait_for_ledger();
            IF NOT v_apart THEN
                CALL partition_noted(p_rule, v_made);
            END IF;
        END IF;
        CALL wait_for_ledger();
        IF NOT v_apart THEN
            UPDATE taken_partition SET phase = 'returned' WHERE rule = p_rule;
        END IF;
    END IF;
    SELECT s.schema_name, r.root INTO v_schema, v_root FROM spec AS s CROSS JOIN rule AS r WHERE r.rule = p_rule;
    CALL column_misfit(CONCAT(p_rule, '_taken'), v_root, v_misfit);
    IF v_misfit IS NOT NULL THEN
        CALL not_ready(v_misfit, 'change it there by hand');
    END IF;
    SELECT GROUP_CONCAT(CONCAT('`', REPLACE(c.column_name, '`', '``'), '`') ORDER BY c.ordinal_position SEPARATOR ', ')
    INTO v_columns
    FROM information_schema.columns AS c
    JOIN information_schema.columns AS k
        ON k.table_schema = DATABASE()
        AND k.table_name = CONCAT(p_rule, '_taken')
        AND k.column_name = c.column_name
    WHERE c.table_schema = v_schema
      AND c.table_name = v_root
      AND COALESCE(c.generation_expression, '') = '';
    SET @windrow_columns = v_columns;
    CALL wait_for_locks(p_rule);
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    START TRANSACTION;
    CALL perform(p_rule, 'back_partition', '@windrow_columns');
    COMMIT;
    CALL wait_for_ledger();
    CALL end_taken(p_rule);
END;

-- uncount_partition: where a run is killed between what it writes down of a partition and that its rows go, and its session commits
-- (MySQL), the phase is still the same, and nothing has gone.
--# create procedure uncount_partition
CREATE PROCEDURE uncount_partition(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Takes out of the ledger, in the caller''s transaction, that what is taken out of the table of p_rule is deleted: it is not judged.'
BEGIN
    DECLARE v_archives bigint;
    DELETE p
    FROM taken_partition AS t
    STRAIGHT_JOIN run_partition AS p ON p.run_id >= t.run_id AND p.rule = t.rule AND p.name = t.name
    WHERE t.rule = p_rule
      AND p.dropped_at >= t.since;
    SELECT COUNT(*) INTO v_archives FROM rule AS r WHERE r.rule = p_rule AND JSON_CONTAINS_PATH(r.document, 'one', '$.archive');
    IF v_archives > 0 THEN
        CALL archive_unnote(p_rule);
    END IF;
END;

-- put_back: rows that are out of their table go back, judged or not. It deletes nothing, so that whoever may not go on may do that.
--# create procedure put_back
CREATE PROCEDURE put_back(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Puts back what is out of the table of p_rule, unless the ledger has it as deleted. Commits.'
BEGIN
    DECLARE v_phase varchar(10);
    DECLARE v_table longtext;
    COMMIT;
    CALL wait_for_ledger();
    SELECT MAX(t.phase) INTO v_phase FROM taken_partition AS t WHERE t.rule = p_rule;
    CALL partition_place(p_rule, v_table);
    IF v_phase = 'taking' THEN
        CALL uncount_partition(p_rule);
        SET @windrow_mark = NULL;
        IF v_table IS NOT NULL THEN
            CALL perform(p_rule, 'marked_partition', 'NULL, @windrow_mark');
        END IF;
        IF @windrow_mark IS NULL THEN
            -- Nothing was taken.
            CALL end_taken(p_rule);
        ELSE
            UPDATE taken_partition AS t
            SET t.phase = 'returning',
                t.mark = @windrow_mark
            WHERE t.rule = p_rule;
            COMMIT;
            SET v_phase = 'returning';
        END IF;
    END IF;
    IF v_phase IN ('returning', 'returned') AND v_table IS NULL THEN
        -- All are back: a run was killed behind that.
        CALL end_taken(p_rule);
    ELSEIF v_phase IN ('returning', 'returned') THEN
        CALL wait_for_locks(p_rule);
        CALL return_partition(p_rule);
        CALL wait_for_ledger();
    END IF;
END;
--# create procedure try_put_back
CREATE PROCEDURE try_put_back(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'The same; if it cannot be done now, a later step or run does it.'
BEGIN
    DECLARE v_left integer DEFAULT 10;
    -- This may be cancelled, too, one KILL QUERY after the other.
    REPEAT
        trying: BEGIN
            DECLARE EXIT HANDLER FOR 1317
            BEGIN
                ROLLBACK;
                SET v_left = v_left - 1;
            END;
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                ROLLBACK;
                SET v_left = 0;
            END;
            CALL put_back(p_rule);
            SET v_left = 0;
        END trying;
    UNTIL v_left <= 0 END REPEAT;
    CALL wait_for_ledger();
END;

-- give_back: no run may start while windrow is paused, not armed or suspended, and a server that was killed starts none.
--# create procedure give_back
CREATE PROCEDURE give_back()
SQL SECURITY DEFINER
COMMENT 'Puts all rows back into their tables that a run of a rule of partitions took out and has not judged. Deletes nothing: it works
    while windrow is paused, not armed or suspended; not beside a run.
    Example: CALL give_back();'
BEGIN
    DECLARE v_before  longtext;
    DECLARE v_open    boolean DEFAULT false;
    DECLARE v_message varchar(900);
    DECLARE v_rule    varchar(64);
    DECLARE v_last    varchar(64) DEFAULT '';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_open THEN
            ROLLBACK;
            CALL unlock_runs();
        END IF;
        CALL unsettle(v_before);
        RESIGNAL;
    END;
    CALL settle(v_before);
    CALL wait_for_ledger();
    CALL unfinished(v_message);
    IF v_message IS NOT NULL THEN
        CALL not_ready(v_message, 'let it finish, or run windrow install again');
    END IF;
    CALL lock_runs();
    SET v_open = true;
    REPEAT
        SELECT MIN(t.rule) INTO v_rule FROM taken_partition AS t WHERE t.rule > v_last;
        IF v_rule IS NOT NULL THEN
            CALL put_back(v_rule);
            SET v_last = v_rule;
        END IF;
    UNTIL v_rule IS NULL END REPEAT;
    CALL unlock_runs();
    CALL unsettle(v_before);
END;

-- tell_out: a run that has ended says if it left rows out of their table.
--# create procedure tell_out
CREATE PROCEDURE tell_out(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Adds to the reason of p_run, which has ended, that rows are out of their table, if they are and no run sees to it.'
BEGIN
    DECLARE v_name varchar(64);
    SELECT MIN(t.name)
    INTO v_name
    FROM taken_partition AS t
    LEFT JOIN run AS r ON r.run_id = t.run_id AND r.status = 'running'
    WHERE t.phase IN ('taking', 'returning', 'returned')
      AND r.run_id IS NULL
      AND NOT EXISTS (
          SELECT 1
          FROM run_sweep AS w
          JOIN run AS o ON o.run_id = w.run_id AND o.status = 'running'
          WHERE w.at_rule = t.rule
      );
    IF v_name IS NOT NULL THEN
        UPDATE run AS r
        SET r.reason = CONCAT(r.reason, '; rows of partition ', v_name, ' are out of their table')
        WHERE r.run_id = p_run
          AND r.status <> 'running'
          AND NOT r.dry_run
          AND r.`trigger` NOT IN ('PURGE', 'STAMP');
    END IF;
END;

-- settle_partition: what has been taken out of a table is judged, to the last row, and dropped, or goes back.
--# create procedure settle_partition
CREATE PROCEDURE settle_partition(IN p_run bigint, IN p_rule varchar(64), IN p_left boolean, OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'In the transaction of a step: judges what taken_partition names, with the progress of p_run in the ledger. p_left: an earlier step,
    or run, took it. Commits; answers more.'
BEGIN
    DECLARE v_schema  varchar(64) DEFAULT DATABASE();
    DECLARE v_phase   varchar(10);
    DECLARE v_name    varchar(64);
    DECLARE v_bound   varchar(64);
    DECLARE v_to      datetime(6);
    DECLARE v_there   bigint;
    DECLARE v_rows    bigint DEFAULT 0;
    DECLARE v_guess   bigint;
    DECLARE v_key     varchar(700);
    DECLARE v_reason  varchar(32);
    DECLARE v_table   varchar(64) DEFAULT CONCAT(p_rule, '_taken');
    DECLARE v_as_of   datetime(6);
    DECLARE v_text    varchar(700);
    DECLARE v_kept    bigint;
    DECLARE v_before  datetime(6);
    DECLARE v_goes    varchar(10);
    DECLARE v_others  bigint;
    SELECT
        t.phase, t.name, t.to_bound, t.to_due,
        IF(JSON_CONTAINS_PATH(r.document, 'one', '$.estimated'), t.guess, NULL),
        IF(JSON_CONTAINS_PATH(r.document, 'one', '$.archive'), 'archiving', 'dropping')
    INTO v_phase, v_name, v_bound, v_to, v_guess, v_goes
    FROM taken_partition AS t
    JOIN rule AS r ON r.rule = t.rule
    WHERE t.rule = p_rule;
    SELECT COUNT(*) INTO v_there FROM information_schema.tables AS t WHERE t.table_schema = v_schema AND t.table_name = v_table;
    SET o_state = 'more';
    IF v_phase = 'taking' AND v_there > 0 THEN
        SET @windrow_taken = true, @windrow_from = NULL, @windrow_to = v_to, @windrow_undated = 0, @windrow_strays = 0;
        IF v_guess IS NOT NULL THEN
            CALL perform(p_rule, 'stay_partition', '@windrow_to, @windrow_any, @windrow_stays');
            SET v_rows = IF(@windrow_any, v_guess, 0);
            -- Counting says why they stay.
            IF @windrow_stays THEN
                SET v_guess = NULL;
            END IF;
        END IF;
        IF v_guess IS NULL THEN
            CALL perform(p_rule, 'count_partition',
                '@windrow_taken, @windrow_from, @windrow_to, @windrow_rows, @windrow_undated, @windrow_strays, @windrow_oldest');
            SET v_rows = @windrow_rows;
        END IF;
    END IF;
    IF v_phase = 'taking' AND v_rows = 0 THEN
        -- Nothing was taken: others had the locks, or the run was killed before.
        COMMIT;
        CALL end_taken(p_rule);
        SET o_state = 'again';
    ELSEIF v_phase = 'taking' THEN
        CALL uncount_partition(p_rule);
        CALL partition_held(p_rule, true, NULL, v_to, v_key);
        SET v_reason = CASE
            WHEN v_key IS NOT NULL THEN 'HELD'
            WHEN @windrow_undated > 0 THEN 'UNDATED_MEMBER'
            WHEN @windrow_strays > 0 THEN 'NOT_DROPPABLE'
        END;
        IF v_reason IS NULL THEN
            SELECT r.as_of, JSON_VALUE(r.options, '$.retention') INTO v_as_of, v_text FROM run AS r WHERE r.run_id = p_run;
            CALL seconds(v_text, v_kept);
            -- A killed run may have had another retention, or another time.
            CALL timed_cutoff(p_rule, v_as_of, v_kept, v_before);
            IF CAST(v_bound AS datetime(6)) > v_before THEN
                SET v_reason = 'RETENTION_NOT_REACHED';
            ELSE
                CALL timed_before(p_rule, v_as_of, v_kept, v_before);
                CALL partition_waits(p_rule, true, NULL, v_to, v_before, v_reason, v_key);
            END IF;
        END IF;
        -- Rows of another rule that are out of their table could keep these. Both go back, and are looked at again one after the other.
        SELECT COUNT(*)
        INTO v_others
        FROM taken_partition AS t
        WHERE t.rule <> p_rule
          AND t.phase IN ('taking', 'returning', 'returned');
        IF v_reason IS NULL AND v_others > 0 THEN
            SET v_reason = 'LOCKED';
        END IF;
        SET v_phase = IF(v_reason IS NULL, v_goes, 'returning');
        IF v_phase = 'archiving' THEN
            CALL archive_note(p_run, p_rule, v_rows, v_guess IS NULL);
        END IF;
        IF v_reason IS NULL THEN
            INSERT INTO run_partition (run_id, rule, name, from_bound, to_bound, deleted_rows, counted, bytes)
            SELECT p_run, p_rule, t.name, t.from_bound, t.to_bound, v_rows, v_guess IS NULL, t.bytes
            FROM taken_partition AS t
            WHERE t.rule = p_rule
            ON DUPLICATE KEY UPDATE
                deleted_rows = run_partition.deleted_rows + v_rows,
                counted = run_partition.counted AND v_guess IS NULL;
            -- In one statement, behind what says which: what goes is counted, and what is counted goes.
            UPDATE taken_partition AS t
            STRAIGHT_JOIN run_rule AS p ON p.run_id = p_run AND p.rule = t.rule
            STRAIGHT_JOIN run_table AS n ON n.run_id = p.run_id AND n.rule = p.rule
            SET t.phase = v_phase,
                p.families = p.families + 1,
                p.deleted_rows = p.deleted_rows + v_rows,
                n.deleted_rows = n.deleted_rows + v_rows
            WHERE t.rule = p_rule;
        ELSE
            CALL perform(p_rule, 'marked_partition', 'NULL, @windrow_mark');
            UPDATE taken_partition AS t
            SET t.phase = v_phase,
                t.mark = @windrow_mark
            WHERE t.rule = p_rule;
            IF NOT p_left OR v_reason = 'RETENTION_NOT_REACHED' THEN
                INSERT INTO work_skip (skip_key, reason)
                VALUES (CONCAT(v_name, COALESCE(CONCAT(' (', v_key, ')'), '')), v_reason);
            END IF;
        END IF;
        -- What was left is settled first, wherever it is: the run has looked at nothing before it. What goes back, it comes to again.
        CALL end_partition(p_run, p_rule, 0, 0, IF(p_left, NULL, v_bound));
        COMMIT;
    ELSE
        COMMIT;
    END IF;
    IF v_phase = 'dropping' THEN
        CALL end_taken(p_rule);
    ELSEIF v_phase = 'archiving' THEN
        CALL archive_rename(p_rule);
    ELSEIF v_phase IN ('returning', 'returned') THEN
        CALL return_partition(p_rule);
    END IF;
END;

-- end_partition: what a batch had, in the ledger.
--# create procedure end_partition
CREATE PROCEDURE end_partition(IN p_run bigint, IN p_rule varchar(64), IN p_families bigint, IN p_rows bigint, IN p_bound varchar(64))
SQL SECURITY DEFINER
COMMENT 'Writes, in the caller''s transaction, what a batch deleted and skipped (work_skip), and that the run is behind p_bound (NULL: where
    it was).'
BEGIN
    CALL record_skips(p_run, p_rule);
    IF p_families > 0 THEN
        CALL record_rows(p_run, p_rule, CONCAT('[', p_rows, ']'));
    END IF;
    UPDATE run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
    UPDATE run_rule AS p
    SET p.families = p.families + p_families,
        p.batches = p.batches + 1,
        p.retries_in_row = 0,
        p.cursor_time = COALESCE(p_bound, p.cursor_time),
        p.cursor_key = NULL,
        p.updated_at = UTC_TIMESTAMP(6)
    WHERE p.run_id = p_run
      AND p.rule = p_rule;
END;

-- partition_step: one partition of a run with its progress in the ledger.
--# create procedure partition_step
CREATE PROCEDURE partition_step(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'One partition of run p_run and its progress in the ledger, committed. Answers more, again, or why the run should end. run()
    calls it.'
BEGIN
    DECLARE v_dry_run   boolean;
    DECLARE v_as_of     datetime(6);
    DECLARE v_text      varchar(700);
    DECLARE v_limit     bigint;
    DECLARE v_done      bigint;
    DECLARE v_again     bigint;
    DECLARE v_retention bigint;
    DECLARE v_from      datetime(6);
    DECLARE v_until     datetime(6);
    DECLARE v_cutoff    datetime(6);
    DECLARE v_before    datetime(6);
    DECLARE v_position  bigint;
    DECLARE v_bound     varchar(64);
    DECLARE v_name      varchar(64);
    DECLARE v_guess     bigint;
    DECLARE v_any       boolean;
    DECLARE v_reason    varchar(32);
    DECLARE v_key       varchar(700);
    DECLARE v_taken     bigint;
    DECLARE v_start     datetime(6);
    DECLARE v_making    boolean DEFAULT false;
    DECLARE v_made      boolean;
    DECLARE v_busy      boolean;
    DECLARE v_phase     varchar(10);
    -- Whether this run, and no other worker, sees to what is out of the table.
    DECLARE v_ours      boolean DEFAULT false;
    DECLARE v_retries   bigint;
    DECLARE v_slept     integer;
    DECLARE v_number    integer;
    DECLARE v_errno     integer;
    DECLARE v_sqlstate  varchar(5);
    DECLARE v_message   varchar(900);
    SET o_state = NULL;

    step: BEGIN
        attempt: BEGIN
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                --+ failed.sql
                ROLLBACK;
            END;
            CALL begin_ledger();
            DELETE FROM work_skip;
            SELECT
                r.dry_run, r.as_of, JSON_VALUE(r.options, '$.retention'), JSON_VALUE(r.options, '$.run_families'), p.families,
                p.retries_in_row, p.cursor_time, IF(p.around, p.start_time, NULL), p.start_time
            INTO v_dry_run, v_as_of, v_text, v_limit, v_done, v_again, v_from, v_until, v_start
            FROM run AS r
            JOIN run_rule AS p ON p.run_id = r.run_id AND p.rule = p_rule
            WHERE r.run_id = p_run;
            SELECT COUNT(t.rule), MAX(t.name), MAX(t.to_bound), MAX(t.phase)
            INTO v_taken, v_name, v_bound, v_phase
            FROM taken_partition AS t
            WHERE t.rule = p_rule;
            SET v_taken = IF(v_dry_run, 0, v_taken);
            SELECT NOT v_dry_run AND (s.workers = 1 OR COUNT(w.run_id) > 0)
            INTO v_ours
            FROM spec AS s
            LEFT JOIN run_sweep AS w ON w.run_id = p_run AND w.at_rule = p_rule
            GROUP BY s.workers;
            IF v_taken > 0 AND v_again > 0 THEN
                -- Whoever waits for the table is let through for so long, and nobody waits for the ledger.
                COMMIT;
                SET v_slept = SLEEP(LEAST(0.1 * POW(2, LEAST(v_again, 10) - 1), 10));
                CALL begin_ledger();
            END IF;
            CALL begin_step(p_run, p_rule, o_state);
            IF o_state IS NOT NULL THEN
                COMMIT;
                -- Nobody may wait for the next run to see his rows again.
                IF v_ours AND v_taken > 0
                    AND (o_state IN ('paused', 'time budget spent', 'window closed') OR o_state LIKE 'rule %') THEN
                    CALL put_back(p_rule);
                END IF;
                LEAVE step;
            END IF;
            IF v_limit IS NULL THEN
                CALL setting_of(p_rule, 'run_families', v_limit);
            END IF;
            IF v_limit <= v_done AND v_taken = 0 THEN
                SET o_state = 'run_families reached';
                COMMIT;
                LEAVE step;
            END IF;
            -- Others had the locks: back off, before any is taken.
            IF v_again > 0 AND v_taken = 0 THEN
                DO SLEEP(LEAST(0.1 * POW(2, LEAST(v_again, 10) - 1), 1));
            END IF;
            IF v_taken > 0 AND v_phase IN ('returning', 'returned') THEN
                -- That needs none of the locks of a batch.
                CALL put_back(p_rule);
                -- What comes next has not been tried.
                CALL begin_ledger();
                UPDATE run_rule AS p SET p.retries_in_row = 0 WHERE p.run_id = p_run AND p.rule = p_rule;
                COMMIT;
                SET o_state = 'more';
                LEAVE step;
            END IF;
            CALL take_locks(p_run, p_rule, o_state);
            IF o_state IS NOT NULL THEN
                CALL setting_of(p_rule, 'retries', v_retries);
                IF v_taken > 0 AND (v_again >= v_retries OR o_state LIKE 'error %') THEN
                    CALL put_back(p_rule);
                END IF;
                LEAVE step;
            END IF;
            CALL partition_misfit(p_rule, v_message);
            IF v_message IS NOT NULL THEN
                ROLLBACK;
                SET o_state = CONCAT('error 55000: ', v_message);
                IF v_taken > 0 THEN
                    CALL put_back(p_rule);
                END IF;
                LEAVE step;
            END IF;
            IF v_taken > 0 THEN
                CALL settle_partition(p_run, p_rule, true, o_state);
                LEAVE step;
            END IF;
            -- Before the first look.
            IF v_until IS NULL AND v_from <=> v_start THEN
                SET v_making = true;
                CALL ahead_step(p_run, p_rule, v_made);
                SET v_making = false;
                IF v_made THEN
                    SET o_state = 'more';
                    LEAVE step;
                END IF;
            END IF;

            CALL seconds(v_text, v_retention);
            CALL timed_cutoff(p_rule, v_as_of, v_retention, v_cutoff);
            CALL list_partitions(p_rule);
            -- What lies before the place where the run began comes last, up to that.
            CALL next_partition(v_from, LEAST(v_cutoff, COALESCE(v_until, v_cutoff)), v_position);
            IF v_position IS NULL THEN
                COMMIT;
                SET o_state = 'nothing left';
                LEAVE step;
            END IF;
            SELECT TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM p.to_time)), p.name, p.guess, p.from_due, p.to_due
            INTO v_bound, v_name, v_guess, @windrow_from, @windrow_to
            FROM work_partition AS p
            WHERE p.position = v_position;
            CALL timed_before(p_rule, v_as_of, v_retention, v_before);
            CALL judge_partition(p_rule, v_position, v_before, v_any, v_reason, v_key);
            IF v_any AND v_reason IS NULL AND NOT v_dry_run THEN
                CALL take_partition(p_run, p_rule, v_position);
                CALL begin_ledger();
                CALL take_locks(p_run, p_rule, o_state);
                IF o_state IS NULL THEN
                    CALL settle_partition(p_run, p_rule, false, o_state);
                ELSEIF o_state LIKE 'error %' THEN
                    CALL put_back(p_rule);
                END IF;
                LEAVE step;
            END IF;
            SET @windrow_rows = 0;
            IF v_reason IS NOT NULL THEN
                INSERT INTO work_skip (skip_key, reason)
                VALUES (v_key, v_reason);
            ELSEIF v_any AND v_guess IS NOT NULL THEN
                SET @windrow_rows = v_guess;
            ELSEIF v_any THEN
                SET @windrow_taken = false;
                CALL perform(p_rule, 'count_partition',
                    '@windrow_taken, @windrow_from, @windrow_to, @windrow_rows, @windrow_undated, @windrow_strays, @windrow_oldest');
            END IF;
            CALL end_partition(p_run, p_rule, v_any AND v_reason IS NULL, @windrow_rows, v_bound);
            COMMIT;
            SET o_state = 'more';
            LEAVE step;
        END attempt;

        IF v_making THEN
            CALL ahead_failed(p_run, p_rule, v_errno, v_sqlstate, v_message, o_state);
            LEAVE step;
        END IF;
        -- The batch failed. What it had taken out of the table is settled by the next one. If there is none, it goes back.
        CALL fail_step(p_run, p_rule, v_errno, v_sqlstate, v_message, 1, 1, v_busy, o_state);
        IF o_state IS NOT NULL THEN
            IF v_ours AND o_state <> 'again' THEN
                CALL try_put_back(p_rule);
            END IF;
            LEAVE step;
        END IF;
        SELECT MAX(t.phase) INTO v_phase FROM taken_partition AS t WHERE t.rule = p_rule;
        IF v_ours AND v_busy AND v_phase IN ('returning', 'returned') THEN
            -- The application misses these rows: that is tried until it is done.
            UPDATE run AS r
            SET r.waiting_since = COALESCE(r.waiting_since, UTC_TIMESTAMP(6)),
                r.waiting_for = 'a lock on a table, which another session alters or has locked'
            WHERE r.run_id = p_run
              AND r.status = 'running';
            UPDATE run_rule AS p
            SET p.retries = p.retries + 1,
                p.retries_in_row = p.retries_in_row + 1,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            COMMIT;
            SET o_state = 'again';
            LEAVE step;
        END IF;
        INSERT IGNORE INTO run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
        VALUES (p_run, p_rule, v_name, v_errno, v_sqlstate, v_message);
        DELETE FROM work_skip;
        INSERT INTO work_skip (skip_key, reason)
        VALUES (v_name, IF(v_busy, 'LOCKED', 'FAILED'));
        CALL end_partition(p_run, p_rule, 0, 0, IF(v_taken > 0, NULL, v_bound));
        COMMIT;
        -- What cannot be judged goes back, with the next step if not now.
        IF v_ours AND v_phase = 'taking' THEN
            CALL try_put_back(p_rule);
        END IF;
        -- A partition that cannot go back keeps rows from the application: nothing is more important. One that cannot be archived stays
        -- in the way of the next one.
        SELECT IF(COUNT(*) > 0, CONCAT('error ', v_errno, ' (', v_sqlstate, '): partition ', v_name,
            IF(MAX(t.phase) = 'archiving', ' could not be archived: ', ' is unfinished: '), v_message), 'more')
        INTO o_state
        FROM taken_partition AS t
        WHERE t.rule = p_rule
          AND (v_taken > 0 OR t.phase IN ('returning', 'returned', 'archiving'))
          AND NOT (v_phase = 'taking' AND t.phase IN ('returning', 'returned'));
    END step;
END;

-- merge_partitions: empty partitions that are due and lie side by side become one.
--# create procedure merge_partitions
CREATE PROCEDURE merge_partitions(IN p_rule varchar(64), IN p_cutoff datetime(6))
SQL SECURITY DEFINER
COMMENT 'Makes one of the partitions of work_partition that end at p_cutoff or before, are empty and lie side by side; empty_partition has
    which are empty then. Commits.'
BEGIN
    DECLARE v_position bigint DEFAULT 0;
    DECLARE v_last     bigint;
    DECLARE v_count    bigint DEFAULT 0;
    DECLARE v_names    longtext DEFAULT '';
    DECLARE v_to       datetime(6);
    DECLARE v_any      boolean;
    DECLARE v_reason   varchar(32);
    DECLARE v_key      varchar(700);
    DECLARE v_name     longtext;
    DECLARE v_engine   longtext;
    DECLARE v_made     longtext;
    -- Others have the table: the next run comes to it.
    DECLARE EXIT HANDLER FOR 1205
    BEGIN
        ROLLBACK;
        CALL wait_for_ledger();
    END;
    CALL wait_for_locks(p_rule);
    -- MariaDB would wait for one lock after the other.
    /*M! SET SESSION lock_wait_timeout = 0; */
    DELETE FROM empty_partition WHERE rule = p_rule;
    merges: LOOP
        SELECT MIN(p.position) INTO v_last FROM work_partition AS p WHERE p.position > v_position AND p.to_time <= p_cutoff;
        SET v_any = true;
        IF v_last IS NOT NULL THEN
            SET v_position = v_last;
            SELECT p.divided, p.from_due, p.to_due INTO v_any, @windrow_from, @windrow_to FROM work_partition AS p
                WHERE p.position = v_position;
            IF NOT v_any THEN
                CALL perform(p_rule, 'any_partition', '@windrow_from, @windrow_to, @windrow_any, @windrow_undated');
                SET v_any = @windrow_any;
            END IF;
        END IF;
        IF NOT v_any THEN
            SELECT
                CONCAT(v_names, IF(v_names = '', '', ', '), '`', REPLACE(p.name, '`', '``'), '`'), p.name, p.bound, p.to_time
            INTO v_names, @windrow_name, @windrow_bound, v_to
            FROM work_partition AS p
            WHERE p.position = v_position;
            SET v_count = v_count + 1;
        ELSE
            IF v_count > 1 THEN
                CALL partition_made(p_rule, v_name, v_engine, v_made);
                SET @windrow_names = v_names;
                CALL perform(p_rule, 'merge_partition', '@windrow_names, @windrow_name, @windrow_bound');
                CALL partition_noted(p_rule, v_made);
            END IF;
            IF v_count > 0 THEN
                INSERT INTO empty_partition (rule, name, to_time)
                VALUES (p_rule, @windrow_name, v_to);
            END IF;
            SET v_count = 0, v_names = '';
        END IF;
        IF v_last IS NULL THEN
            LEAVE merges;
        END IF;
    END LOOP merges;
    CALL wait_for_ledger();
END;

-- partition_finish: what is to be said of a rule when a run is through with it.
--# create procedure partition_finish
CREATE PROCEDURE partition_finish(IN p_run bigint, IN p_rule varchar(64), IN p_reason varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Tells of the partition without an end, and merges those that are empty, where the rule looked at all that is due.'
BEGIN
    DECLARE v_dry_run   boolean;
    DECLARE v_as_of     datetime(6);
    DECLARE v_text      varchar(700);
    DECLARE v_retention bigint;
    DECLARE v_cutoff    datetime(6);
    IF p_reason = 'nothing left' THEN
        SELECT r.dry_run, r.as_of, JSON_VALUE(r.options, '$.retention')
        INTO v_dry_run, v_as_of, v_text
        FROM run AS r
        WHERE r.run_id = p_run;
        CALL seconds(v_text, v_retention);
        CALL timed_cutoff(p_rule, v_as_of, v_retention, v_cutoff);
        DELETE FROM work_skip;
        CALL list_partitions(p_rule);
        CALL left_partition(p_rule, v_cutoff);
        CALL record_skips(p_run, p_rule);
        IF NOT v_dry_run THEN
            CALL merge_partitions(p_rule, v_cutoff);
        END IF;
    END IF;
END;

-- partition_idle: whether nothing is due, and nothing is to be said.
--# create procedure partition_idle
CREATE PROCEDURE partition_idle(IN p_rule varchar(64), IN p_as_of datetime(6), OUT o_idle boolean)
SQL SECURITY DEFINER
COMMENT 'Whether no partition of p_rule that has rows is due at p_as_of, none is taken out of its table, and nothing is to be told.'
BEGIN
    DECLARE v_misfit   varchar(900);
    DECLARE v_position bigint;
    DECLARE v_cutoff   datetime(6);
    DECLARE v_after    datetime(6);
    SELECT COUNT(*) = 0 INTO o_idle FROM taken_partition AS t WHERE t.rule = p_rule;
    CALL partition_misfit(p_rule, v_misfit);
    IF o_idle AND v_misfit IS NULL THEN
        CALL partition_open(p_rule);
        CALL list_partitions(p_rule);
        CALL timed_cutoff(p_rule, p_as_of, NULL, v_cutoff);
        CALL left_partition(p_rule, v_cutoff);
        CALL plan_ahead(p_rule, p_as_of);
        SET o_idle = NOT EXISTS (SELECT 1 FROM work_skip) AND NOT EXISTS (SELECT 1 FROM work_ahead);
        idle: LOOP
            CALL next_partition(v_after, v_cutoff, v_position);
            IF v_position IS NULL OR NOT o_idle THEN
                LEAVE idle;
            END IF;
            SELECT p.to_time, p.from_due, p.to_due INTO v_after, @windrow_from, @windrow_to FROM work_partition AS p
                WHERE p.position = v_position;
            CALL perform(p_rule, 'any_partition', '@windrow_from, @windrow_to, @windrow_any, @windrow_undated');
            SET o_idle = NOT @windrow_any;
        END LOOP idle;
        CALL partition_close();
    ELSE
        SET o_idle = false;
    END IF;
END;

-- partition_preview: the partitions that a run would drop, counted or estimated, but not locked.
--# create procedure partition_preview
CREATE PROCEDURE partition_preview(IN p_rule varchar(64), IN p_options longtext, IN p_as_of datetime(6), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What a run of this rule would drop and skip now, as one JSON document. Reads only; preview() calls it.'
BEGIN
    DECLARE v_retention bigint;
    DECLARE v_limit     bigint DEFAULT JSON_VALUE(p_options, '$.run_families');
    DECLARE v_cutoff    datetime(6);
    DECLARE v_before    datetime(6);
    DECLARE v_start     datetime(6) DEFAULT JSON_VALUE(p_options, '$.from');
    DECLARE v_after     datetime(6);
    DECLARE v_position  bigint;
    DECLARE v_guess     bigint;
    DECLARE v_any       boolean;
    DECLARE v_reason    varchar(32);
    DECLARE v_key       varchar(700);
    DECLARE v_name      varchar(64);
    DECLARE v_families  bigint DEFAULT 0;
    DECLARE v_rows      bigint DEFAULT 0;
    DECLARE v_batches   bigint DEFAULT 0;
    DECLARE v_oldest    varchar(64) DEFAULT 'null';
    DECLARE v_samples   longtext DEFAULT '';
    DECLARE v_skipped   longtext;
    DECLARE v_skip_keys longtext;
    DECLARE v_skips     bigint;
    DECLARE v_more      boolean DEFAULT false;
    DECLARE v_speed     decimal(30, 6);
    DECLARE v_failures  bigint;
    DECLARE v_zoned     boolean;
    DECLARE v_misfit    varchar(900);
    DECLARE v_ahead     longtext;
    CALL partition_misfit(p_rule, v_misfit);
    IF v_misfit IS NOT NULL THEN
        CALL not_ready(v_misfit, 'docs/partitions.md says what a table of partitions needs');
    END IF;
    SELECT r.zoned INTO v_zoned FROM rule AS r WHERE r.rule = p_rule;
    CALL seconds(JSON_VALUE(p_options, '$.retention'), v_retention);
    IF v_limit IS NULL THEN
        CALL setting_of(p_rule, 'run_families', v_limit);
    END IF;
    CALL timed_cutoff(p_rule, p_as_of, v_retention, v_cutoff);
    CALL timed_before(p_rule, p_as_of, v_retention, v_before);
    CALL partition_open(p_rule);
    CALL list_partitions(p_rule);
    SET v_after = v_start - INTERVAL 1 MICROSECOND;
    partitions: LOOP
        CALL next_partition(v_after, v_cutoff, v_position);
        IF v_position IS NULL THEN
            LEAVE partitions;
        END IF;
        SELECT p.to_time, p.name INTO v_after, v_name FROM work_partition AS p WHERE p.position = v_position;
        CALL judge_partition(p_rule, v_position, v_before, v_any, v_reason, v_key);
        IF v_any AND v_families >= v_limit THEN
            SET v_more = true;
            LEAVE partitions;
        END IF;
        IF v_reason IS NOT NULL THEN
            INSERT INTO work_skipped (skip_key, reason)
            VALUES (v_key, v_reason);
        ELSEIF v_any THEN
            SELECT p.guess, false, p.from_due, p.to_due
            INTO v_guess, @windrow_taken, @windrow_from, @windrow_to
            FROM work_partition AS p
            WHERE p.position = v_position;
            -- The oldest row is in the first of them, which is read for it.
            IF v_guess IS NULL OR v_families = 0 THEN
                CALL perform(p_rule, 'count_partition',
                    '@windrow_taken, @windrow_from, @windrow_to, @windrow_rows, @windrow_undated, @windrow_strays, @windrow_oldest');
            ELSE
                SET @windrow_rows = v_guess;
            END IF;
            SET v_families = v_families + 1, v_rows = v_rows + @windrow_rows;
            IF v_oldest = 'null' THEN
                SET v_oldest = CONCAT(
                    '"', TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(@windrow_oldest, '%Y-%m-%dT%H:%i:%s.%f'))),
                    IF(v_zoned, '+00:00"', '"')
                );
            END IF;
            IF v_families <= 10 THEN
                SET v_samples = CONCAT(v_samples, IF(v_samples = '', '', ', '), JSON_QUOTE(v_name));
            END IF;
        END IF;
        SET v_batches = v_batches + 1;
    END LOOP partitions;
    IF NOT v_more AND v_start IS NULL THEN
        CALL left_partition(p_rule, v_cutoff);
        INSERT INTO work_skipped (skip_key, reason)
        SELECT k.skip_key, k.reason FROM work_skip AS k ORDER BY k.position;
    END IF;
    CALL preview_figures(p_rule, v_skips, v_skipped, v_skip_keys, v_failures, v_speed);
    CALL ahead_fields(p_rule, NULL, p_as_of, v_ahead);
    CALL partition_close();
    CALL preview_of(
        p_rule, v_families, CONCAT('[', v_rows, ']'), v_oldest, CONCAT('[', v_samples, ']'), v_skips, v_skipped, v_skip_keys, NULL,
        NULL, v_limit, v_more, v_batches, v_failures, v_speed, o_document
    );
    SET o_document = CONCAT(LEFT(o_document, CHAR_LENGTH(o_document) - 1), v_ahead, '}');
END;

-- partition_outlook: how what is due lies along time, and how much becomes due until p_then.
--# create procedure partition_outlook
CREATE PROCEDURE partition_outlook(
    IN  p_rule     varchar(64),
    IN  p_now      datetime(6),
    IN  p_then     datetime(6),
    IN  p_limit    bigint,
    IN  p_parts    bigint,
    OUT o_families bigint,
    OUT o_complete boolean,
    OUT o_list     longtext,
    OUT o_soon     bigint
)
SQL SECURITY DEFINER
COMMENT 'How many partitions with rows are due at p_now, where each of p_parts equal parts of these begins, and how many more are due at
    p_then. Reads only.'
BEGIN
    DECLARE v_now      datetime(6);
    DECLARE v_then     datetime(6);
    DECLARE v_after    datetime(6);
    DECLARE v_position bigint;
    CALL timed_cutoff(p_rule, p_now, NULL, v_now);
    CALL timed_cutoff(p_rule, COALESCE(p_then, p_now), NULL, v_then);
    CALL partition_open(p_rule);
    CALL list_partitions(p_rule);
    ends: LOOP
        CALL next_partition(v_after, v_then, v_position);
        IF v_position IS NULL THEN
            LEAVE ends;
        END IF;
        SELECT p.to_time, p.from_due, p.to_due INTO v_after, @windrow_from, @windrow_to FROM work_partition AS p
            WHERE p.position = v_position;
        CALL perform(p_rule, 'any_partition', '@windrow_from, @windrow_to, @windrow_any, @windrow_undated');
        IF NOT @windrow_any THEN
            DELETE FROM work_partition WHERE position = v_position;
        END IF;
    END LOOP ends;
    SELECT COUNT(*) INTO o_soon FROM work_partition AS p WHERE p.to_time > v_now AND p.to_time <= v_then;
    SELECT
        COALESCE(SUM(p.families), 0),
        true,
        COALESCE(GROUP_CONCAT(
            CONCAT(
                '{"from": "', TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(p.since, '%Y-%m-%dT%H:%i:%s.%f'))),
                '", "families": ', p.families, '}'
            )
            ORDER BY p.part SEPARATOR ', '
        ), '')
    INTO o_families, o_complete, o_list
    FROM (
        SELECT d.part, MIN(d.to_time) AS since, COUNT(*) AS families
        FROM (
            SELECT w.to_time, (ROW_NUMBER() OVER (ORDER BY w.to_time) - 1) * COALESCE(p_parts, 1) DIV COUNT(*) OVER () AS part
            FROM work_partition AS w
            WHERE w.to_time <= v_now
        ) AS d
        GROUP BY d.part
    ) AS p;
    CALL partition_close();
END;

-- partition_checks: what a killed run has taken out of a table, for verify().
--# create procedure partition_checks
CREATE PROCEDURE partition_checks(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Writes to work_check which partition of p_rule is out of its table without a run that sees to it, and what partition_watch() and
    archived_watch() say.'
BEGIN
    CALL partition_open(p_rule);
    CALL list_partitions(p_rule);
    CALL partition_watch(p_rule);
    CALL partition_close();
    IF (SELECT JSON_CONTAINS_PATH(r.document, 'one', '$.archive') FROM rule AS r WHERE r.rule = p_rule) THEN
        CALL archived_watch(p_rule);
    END IF;
    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT 8, 'unfinished', CONCAT('run ', t.run_id, ' ', t.rule), 'violation', 1,
        CONCAT('the rows of partition ', t.name, ' may be in the table ', t.rule, '_taken (', t.phase,
            '); the next run drops or archives them, or puts them back; CALL ', DATABASE(),
            '.give_back() puts back what is not judged, also if no run may start')
    FROM taken_partition AS t
    WHERE t.rule = p_rule
      AND NOT EXISTS (SELECT 1 FROM run AS r WHERE r.run_id = t.run_id AND r.status = 'running');
END;

-- check_rules: what a rule has taken out of its table, only this rule settles, by what it knows of the table. An installation that would
-- take the rule away, or make it one of another table, is refused until that is done, and while a run may be about to take something out.
--# create procedure check_rules
CREATE PROCEDURE check_rules(IN p_rules longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 55000 where rows of a partition are out of their table, and p_rules, the rules of the spec to be installed, has no rule that
    settles them. 00_database.sql calls it.'
BEGIN
    DECLARE v_gone bigint;
    DECLARE v_name varchar(64);
    DECLARE v_rule varchar(64);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unlock_runs();
        RESIGNAL;
    END;
    DROP TEMPORARY TABLE IF EXISTS work_rule;
    CREATE TEMPORARY TABLE work_rule (
        rule     varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        archives boolean     NOT NULL
    ) ENGINE = InnoDB;
    -- Those that stay what they are. Of one that is not registered only the name is known.
    INSERT INTO work_rule (rule, archives)
    SELECT n.rule, n.archives
    FROM JSON_TABLE(p_rules, '$[*]' COLUMNS (
        rule varchar(64) PATH '$.rule', home varchar(64) PATH '$.home', root varchar(64) PATH '$.root',
        archives int EXISTS PATH '$.archives'
    )) AS n
    CROSS JOIN spec AS s
    LEFT JOIN rule AS r ON r.rule = n.rule
    WHERE r.rule IS NULL
       OR n.home = s.schema_name AND n.root = r.root;
    SELECT COUNT(*)
    INTO v_gone
    FROM rule AS r
    LEFT JOIN work_rule AS w ON w.rule = r.rule
    WHERE r.strategy = 'partition'
      AND (w.rule IS NULL OR JSON_CONTAINS_PATH(r.document, 'one', '$.archive') AND NOT w.archives);
    IF v_gone > 0 THEN
        CALL lock_runs();
    END IF;
    SELECT MIN(t.rule)
    INTO v_rule
    FROM taken_partition AS t
    LEFT JOIN work_rule AS w ON w.rule = t.rule
    WHERE w.rule IS NULL
       OR t.phase = 'archiving' AND NOT w.archives;
    DROP TEMPORARY TABLE work_rule;
    IF v_rule IS NOT NULL THEN
        SELECT t.name INTO v_name FROM taken_partition AS t WHERE t.rule = v_rule;
        CALL not_ready(CONCAT('rows of partition ', v_name, ' are out of their table: rule ', v_rule, ' must settle them first'),
            'let a run finish that');
    END IF;
END;
