-- Rows are copied here by the transaction that deletes them, under the locks of the deletion. An archive table has the columns
-- of its source behind three of its own, no constraint but its key, and no foreign key: rows come and go by windrow's routines
-- alone. Columns that the source gets are added when this file is applied again; none is dropped or changed. The view has the
-- columns of the source in their present order, so that a row comes in as it is.

-- known_archive: which tables have an archive.
--# create table known_archive
CREATE TABLE IF NOT EXISTS known_archive (
    name     varchar(64)  NOT NULL PRIMARY KEY,
    position int          NOT NULL,
    place    int          NOT NULL,
    archive  varchar(64)  NOT NULL,
    entry    varchar(64)  NOT NULL,
    quoted   varchar(140) NOT NULL,
    rules    json         NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The tables of which rows are archived, by their positions in the spec. place: in the order in which rows
        come back, parents before children; archive: the table with the copies, quoted: as statements name it; entry:
        the view through which they come in; rules: those that archive rows of the table; none: the spec does not archive the table
        any more, but its rows of earlier runs are there. Written by an installation.';
--# register the archives
REPLACE INTO known_archive (name, position, place, archive, entry, quoted, rules)
SELECT
    a.name, a.position, a.place, a.archive, a.entry, CONCAT('`', REPLACE(a.archive, '`', '``'), '`'),
    COALESCE((
        SELECT JSON_ARRAYAGG(r.rule)
        FROM rule AS r
        WHERE JSON_CONTAINS(r.document, JSON_QUOTE(a.name), '$.archive')
          AND r.strategy <> 'partition'
    ), '[]')
FROM spec AS s
JOIN JSON_TABLE(s.document, '$.archives[*]' COLUMNS (
    position FOR ORDINALITY, name varchar(64) PATH '$.table', place int PATH '$.place',
    archive varchar(64) PATH '$.archive', entry varchar(64) PATH '$.entry'
)) AS a;
--# forget other archives
DELETE FROM known_archive
WHERE name NOT IN (
    SELECT a.name
    FROM spec AS s
    JOIN JSON_TABLE(s.document, '$.archives[*]' COLUMNS (name varchar(64) PATH '$.table')) AS a
);
-- The rows in archives of tables that an earlier state of the spec archived are listed, dropped and pruned like others. The comment
-- of an archive says whose it is.
--# register the archives of earlier states of the spec
INSERT INTO known_archive (name, position, place, archive, entry, quoted, rules)
SELECT
    o.name, o.known + ROW_NUMBER() OVER (ORDER BY o.archive), 0, o.archive, LEFT(CONCAT('into_', o.archive), 64),
    CONCAT('`', REPLACE(o.archive, '`', '``'), '`'), '[]'
FROM (
    SELECT
        CONVERT(t.table_name USING utf8mb4) COLLATE utf8mb4_bin AS archive,
        SUBSTRING_INDEX(SUBSTRING(CONVERT(t.table_comment USING utf8mb4) COLLATE utf8mb4_bin, 9), ' that windrow deleted', 1) AS name,
        (SELECT COUNT(*) FROM known_archive AS n) AS known
    FROM information_schema.tables AS t
    JOIN information_schema.columns AS c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
    WHERE t.table_schema = DATABASE()
      AND t.table_type = 'BASE TABLE'
      AND t.table_comment LIKE 'Rows of % that windrow deleted%'
      AND c.column_name = 'windrow_row_id'
) AS o
LEFT JOIN known_archive AS k ON k.archive = o.archive OR k.name = o.name
WHERE k.name IS NULL;
--# set group_concat_max_len
SET SESSION group_concat_max_len = 1048576;
--# look where the tables are
SET @windrow_schema = (SELECT s.schema_name FROM spec AS s);
--+ each archive
--# look for this archive
SET @windrow_statement = (
    SELECT CONCAT(
        'CREATE TABLE IF NOT EXISTS ', k.quoted, ' (windrow_run_id bigint NOT NULL, windrow_row_id bigint NOT NULL AUTO_INCREMENT, ',
        'windrow_archived_at datetime(6) NOT NULL, PRIMARY KEY (windrow_run_id, windrow_row_id), KEY (windrow_row_id)) ',
        'ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin COMMENT = ',
        QUOTE(CONCAT('Rows of ', k.name, ' that windrow deleted, with the run and the instant (UTC).'))
    )
    FROM known_archive AS k
    WHERE k.name = @windrow_archived
);
--# parse this archive
PREPARE windrow_statement FROM @windrow_statement;
--# create table this archive
EXECUTE windrow_statement;
--# look for the columns of this archive
SET @windrow_statement = (
    SELECT COALESCE(CONCAT(
        'ALTER TABLE ', MIN(k.quoted), ' ',
        GROUP_CONCAT(
            'ADD COLUMN `', REPLACE(s.column_name, '`', '``'), '` ', s.column_type,
            COALESCE(CONCAT(' CHARACTER SET ', s.character_set_name, ' COLLATE ', s.collation_name), ''), ' NULL'
            ORDER BY s.ordinal_position
            SEPARATOR ', '
        )
    ), 'DO 0')
    FROM known_archive AS k
    JOIN information_schema.columns AS s ON s.table_schema = @windrow_schema AND s.table_name = @windrow_archived
    WHERE k.name = @windrow_archived
      AND s.column_name NOT IN (
          SELECT a.column_name
          FROM known_archive AS o
          JOIN information_schema.columns AS a ON a.table_schema = DATABASE() AND a.table_name = o.archive
          WHERE o.name = @windrow_archived
      )
);
--# parse the columns of this archive
PREPARE windrow_statement FROM @windrow_statement;
--# add the columns of this archive
EXECUTE windrow_statement;
--# look for the columns of this view
SET @windrow_statement = (
    SELECT CONCAT(
        'CREATE OR REPLACE DEFINER = `', MIN(w.owner), '` SQL SECURITY INVOKER VIEW `', REPLACE(MIN(k.entry), '`', '``'),
        '` AS SELECT windrow_run_id, windrow_archived_at, ',
        GROUP_CONCAT('`', REPLACE(s.column_name, '`', '``'), '`' ORDER BY s.ordinal_position SEPARATOR ', '),
        ' FROM ', MIN(k.quoted)
    )
    FROM known_archive AS k
    CROSS JOIN spec AS w
    JOIN information_schema.columns AS s ON s.table_schema = @windrow_schema AND s.table_name = @windrow_archived
    WHERE k.name = @windrow_archived
);
--# parse this view
PREPARE windrow_statement FROM @windrow_statement;
--# create view this view
EXECUTE windrow_statement;
--# forget this view
DEALLOCATE PREPARE windrow_statement;
--+ end

-- unarchived: what has left the archive.
--# create table unarchived
CREATE TABLE IF NOT EXISTS unarchived (
    entry_id   bigint       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    run_id     bigint       NOT NULL,
    action     varchar(20)  NOT NULL CHECK (action IN ('PRUNED', 'DROPPED', 'RESTORED')),
    by_run     bigint       NOT NULL DEFAULT 0,
    table_name varchar(64)  NOT NULL,
    table_rows bigint       NOT NULL,
    `keys`     longtext,
    done_by    varchar(400) NOT NULL,
    done_at    datetime(6)  NOT NULL,
    KEY (run_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Archived rows of run run_id that were removed from the archive, by table, and how: by_run is the run at whose end they
        were pruned. Written in the transaction that removed them.';

-- partition_archive: the partitions whose rows runs have archived instead of dropping them.
--# create table partition_archive
CREATE TABLE IF NOT EXISTS partition_archive (
    run_id         bigint      NOT NULL,
    place          int         NOT NULL,
    rule           varchar(64) NOT NULL,
    table_name     varchar(64) NOT NULL,
    name           varchar(64) NOT NULL,
    from_bound     varchar(64) NOT NULL,
    to_bound       varchar(64) NOT NULL,
    partition_rows bigint      NOT NULL,
    counted        boolean     NOT NULL,
    bytes          bigint      NOT NULL,
    archive        varchar(64) NOT NULL,
    state          varchar(10) NOT NULL,
    archived_at    datetime(6),
    left_at        datetime(6),
    PRIMARY KEY (run_id, place),
    KEY (rule, state)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The partitions whose rows runs have archived: their table, name, bounds, rows (counted, or estimated) and size, and the
        table of this database that has the rows now. state: archiving, they are about to be in it; kept; dropping, it is about to be
        dropped; dropped; restored, the rows are copied back, and it is not needed any more.';

-- archive_misfit: what keeps rows from being archived as they are. Looked at before a run, and at the end of each batch: by
-- then it holds locks that keep the columns as they are.
--# create procedure archive_misfit
CREATE PROCEDURE archive_misfit(IN p_rule varchar(64), OUT o_misfit text)
SQL SECURITY DEFINER
COMMENT 'Why rows of a rule (NULL: of any) cannot be archived as they are: a table and its column; NULL where nothing is in the way.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_schema varchar(64);
    DECLARE v_at     int DEFAULT 0;
    DECLARE v_table  varchar(64);
    DECLARE v_name   varchar(64);
    DECLARE v_source longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_entry  longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_hidden text;
    SET SESSION group_concat_max_len = 1048576;
    SELECT s.schema_name INTO v_schema FROM spec AS s;
    SET o_misfit = NULL;
    WHILE o_misfit IS NULL AND v_at IS NOT NULL DO
        SELECT MIN(k.position)
        INTO v_at
        FROM known_archive AS k
        WHERE k.position > v_at
          AND IF(p_rule IS NULL, JSON_LENGTH(k.rules) > 0, JSON_CONTAINS(k.rules, JSON_QUOTE(p_rule)));
        IF v_at IS NOT NULL THEN
            SELECT k.name, k.entry INTO v_table, v_name FROM known_archive AS k WHERE k.position = v_at;
            SELECT
                GROUP_CONCAT(
                    CONCAT(c.column_name, ' ', c.column_type, COALESCE(CONCAT(' ', c.character_set_name), ''))
                    ORDER BY c.ordinal_position
                    SEPARATOR ', '
                ),
                MIN(IF(c.extra LIKE '%INVISIBLE%', c.column_name, NULL))
            INTO v_source, v_hidden
            FROM information_schema.columns AS c
            WHERE c.table_schema = v_schema
              AND c.table_name = v_table;
            SELECT GROUP_CONCAT(
                CONCAT(c.column_name, ' ', c.column_type, COALESCE(CONCAT(' ', c.character_set_name), ''))
                ORDER BY c.ordinal_position
                SEPARATOR ', '
            )
            INTO v_entry
            FROM information_schema.columns AS c
            WHERE c.table_schema = DATABASE()
              AND c.table_name = v_name
              AND c.ordinal_position > 2;
            IF v_hidden IS NOT NULL THEN
                SET o_misfit = CONCAT(v_table, '.', v_hidden, ' is invisible, and would not be copied');
            ELSEIF NOT v_source <=> v_entry THEN
                SELECT MIN(CONCAT(
                    v_table, '.', c.column_name,
                    COALESCE(CONCAT(' is ', c.column_type, ', and ', e.column_type, ' there'), ' is not there')
                ))
                INTO o_misfit
                FROM information_schema.columns AS c
                LEFT JOIN information_schema.columns AS e
                    ON e.table_schema = DATABASE()
                    AND e.table_name = v_name
                    AND e.column_name = c.column_name
                WHERE c.table_schema = v_schema
                  AND c.table_name = v_table
                  AND NOT (e.column_type <=> c.column_type AND e.character_set_name <=> c.character_set_name);
                SET o_misfit = COALESCE(o_misfit, CONCAT('columns of ', v_table, ' are gone, or have another place'));
            END IF;
        END IF;
    END WHILE;
    SET SESSION group_concat_max_len = v_length;
END;
--# create procedure check_archive
CREATE PROCEDURE check_archive(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Raises an error where archive_misfit() finds something. windrow install adds new columns; a type is changed by
    hand, in the archive table.
    Example: CALL check_archive(NULL);'
BEGIN
    DECLARE v_misfit text;
    DECLARE v_text   varchar(128);
    CALL archive_misfit(p_rule, v_misfit);
    IF v_misfit IS NOT NULL THEN
        SET v_text = CONCAT(LEFT(CONCAT('the archive does not fit: ', v_misfit), 104), '; run windrow install');
        SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1136, MESSAGE_TEXT = v_text;
    END IF;
END;

-- check_copied: as many rows were deleted as were copied before, or the batch fails. A row that came in between is no fault of its
-- family: it is deleted without a copy only if the batch is not rolled back and tried again.
--# create procedure check_copied
CREATE PROCEDURE check_copied(IN p_table varchar(64), IN p_copied bigint, IN p_deleted bigint)
SQL SECURITY DEFINER
COMMENT 'Raises an error unless as many rows of a table were deleted as were copied into its archive.'
BEGIN
    DECLARE v_text varchar(128);
    IF p_deleted > p_copied THEN
        SET v_text = LEFT(CONCAT('rows of ', p_table, ' have come between their copy and their deletion'), 128);
        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1020, MESSAGE_TEXT = v_text;
    ELSEIF p_copied <> p_deleted THEN
        SET v_text = LEFT(
            CONCAT(p_copied, ' rows of ', p_table, ' were archived, and ', p_deleted, ' deleted; the batch is rolled back'), 128
        );
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_text;
    END IF;
END;

-- archive_do: the only place where the name of an archive becomes a statement. It is composed of names in the registry; what it
-- finds is in @windrow_found.
--# create procedure archive_do
CREATE PROCEDURE archive_do(IN p_statement longtext, OUT o_rows bigint)
SQL SECURITY DEFINER
COMMENT 'Does a statement about archives that is composed of names in the registry; answers how many rows it changed.'
BEGIN
    SET @windrow_statement = p_statement;
    PREPARE windrow_archived FROM @windrow_statement;
    EXECUTE windrow_archived;
    SET o_rows = ROW_COUNT();
    DEALLOCATE PREPARE windrow_archived;
    SET @windrow_statement = NULL;
END;

-- unshadow_archive: a temporary table of the session that has the name of an archived partition would be taken for it; see
-- drop_shadows().
--# create procedure unshadow_archive
CREATE PROCEDURE unshadow_archive(IN p_archive varchar(64))
SQL SECURITY DEFINER
COMMENT 'Drops a temporary table of the session that hides an archived partition.'
BEGIN
    DECLARE v_rows bigint;
    CALL archive_do(CONCAT('DROP TEMPORARY TABLE IF EXISTS `', REPLACE(p_archive, '`', '``'), '`'), v_rows);
END;

-- unshadow_archives: the same for the archives that the spec does not name any more: drop_shadows() does not know them.
--# create procedure unshadow_archives
CREATE PROCEDURE unshadow_archives()
SQL SECURITY DEFINER
COMMENT 'Drops the temporary tables of the session that hide archives of tables that the spec does not archive any more.'
BEGIN
    DECLARE v_at      int DEFAULT 0;
    DECLARE v_archive varchar(64);
    WHILE v_at IS NOT NULL DO
        SELECT MIN(k.position) INTO v_at FROM known_archive AS k WHERE k.position > v_at AND JSON_LENGTH(k.rules) = 0;
        IF v_at IS NOT NULL THEN
            SELECT k.archive INTO v_archive FROM known_archive AS k WHERE k.position = v_at;
            CALL unshadow_archive(v_archive);
        END IF;
    END WHILE;
END;

-- archive_there: an archive that the spec does not name any more may have been dropped by hand.
--# create procedure archive_there
CREATE PROCEDURE archive_there(IN p_position int, OUT o_table varchar(64), OUT o_quoted varchar(140))
SQL SECURITY DEFINER
COMMENT 'The table, and its archive, quoted, that has a position in known_archive; NULL where its archive is not there.'
BEGIN
    SELECT MAX(k.name), MAX(k.quoted)
    INTO o_table, o_quoted
    FROM known_archive AS k
    JOIN information_schema.tables AS t ON t.table_schema = DATABASE() AND t.table_name = k.archive
    WHERE k.position = p_position;
END;

-- archived_table: the archived partitions that are there. Others may have been dropped by hand, or just now.
--# create procedure archived_table
CREATE PROCEDURE archived_table(IN p_states varchar(40), OUT o_archive varchar(64))
SQL SECURITY DEFINER
COMMENT 'The first table with an archived partition that has one of the states, which are separated by commas; NULL: none.'
BEGIN
    SELECT MIN(p.archive)
    INTO o_archive
    FROM partition_archive AS p
    JOIN information_schema.tables AS t ON t.table_schema = DATABASE() AND t.table_name = p.archive
    WHERE FIND_IN_SET(p.state, p_states) > 0;
END;
