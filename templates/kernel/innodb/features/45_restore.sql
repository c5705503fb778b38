-- How rows come back from the archive. What is composed here at run time names archives, by table known_archive; archive_put()
-- alone writes to a table of the application, and put_partition(), if partitions are archived.

-- archived_copies: the copies that a run made, by table; partitions are no copies. And the rows of which it made them, or would have.
--# create procedure archived_copies
CREATE PROCEDURE archived_copies(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Writes to work_copy how many copied rows of run p_run archives have, and how many left them, by table; and to work_copied the rows
    that it deleted one by one, by rule and table, and whether it archives the table.'
BEGIN
    DECLARE v_query longtext;
    DECLARE v_rows  bigint;
    CALL in_archives(CONCAT(
        'SELECT THE_TABLE AS name, COUNT(*) AS row_count FROM THE_ARCHIVE AS a WHERE a.windrow_run_id = ', p_run
    ), 'SELECT '''' AS name, 0 AS row_count FROM spec AS s WHERE s.only_row IS NULL', v_query);
    CALL archive_do(CONCAT(
        'INSERT INTO work_copy (name, here, gone) SELECT c.name, c.row_count, COALESCE(u.row_count, 0) - COALESCE(p.row_count, 0) FROM (',
        v_query, ') AS c LEFT JOIN (SELECT x.table_name, SUM(x.table_rows) AS row_count FROM unarchived AS x WHERE x.run_id = ', p_run,
        ' GROUP BY x.table_name) AS u ON u.table_name = c.name LEFT JOIN (SELECT x.table_name, SUM(x.partition_rows) AS row_count ',
        'FROM partition_archive AS x WHERE x.state IN (''dropped'', ''restored'') AND x.run_id = ', p_run,
        ' GROUP BY x.table_name) AS p ON p.table_name = c.name'
    ), v_rows);
    INSERT INTO work_copied (rule, position, name, row_count, archived)
    SELECT t.rule, t.position, t.table_name, t.deleted_rows, t.archived
    FROM run_table AS t
    WHERE t.run_id = p_run
      AND t.deleted_rows > 0
      AND NOT EXISTS (
          SELECT 1 FROM partition_archive AS p WHERE p.run_id = p_run AND p.rule = t.rule AND p.table_name = t.table_name
      );
END;

-- recall_archive: a run of an earlier version did not note what it archives. The archive says it: all rows that were deleted from a table
-- are there, or those of the rules that archive it now, or those of one rule.
--# create procedure recall_archive
CREATE PROCEDURE recall_archive(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Notes what run p_run archives, where an earlier version did not, from what its archive has.'
BEGIN
    DECLARE v_told longtext;
    SELECT JSON_ARRAYAGG(JSON_ARRAY(w.rule, w.position, CASE w.copies
        WHEN 0 THEN 0
        WHEN w.all_rows THEN 1
        WHEN w.known_rows THEN w.known
        ELSE w.copies = w.row_count
    END))
    INTO v_told
    FROM (
        SELECT
            c.rule, c.position, c.row_count, COALESCE(a.here + a.gone, 0) AS copies, k.known,
            SUM(c.row_count) OVER (PARTITION BY c.name) AS all_rows,
            SUM(IF(k.known, c.row_count, 0)) OVER (PARTITION BY c.name) AS known_rows
        FROM work_copied AS c
        LEFT JOIN work_copy AS a ON a.name = c.name
        LEFT JOIN (
            SELECT r.rule, n.name, JSON_CONTAINS(n.rules, JSON_QUOTE(r.rule)) AS known
            FROM run_rule AS r
            CROSS JOIN known_archive AS n
            WHERE r.run_id = p_run
        ) AS k ON k.rule = c.rule AND k.name = c.name
        WHERE c.archived IS NULL
    ) AS w;
    UPDATE JSON_TABLE(COALESCE(v_told, '[]'), '$[*]' COLUMNS (
        rule varchar(64) PATH '$[0]', position int PATH '$[1]', archived int PATH '$[2]'
    )) AS d
    STRAIGHT_JOIN run_table AS t ON t.run_id = p_run AND t.rule = d.rule AND t.position = d.position
    STRAIGHT_JOIN work_copied AS c ON c.rule = d.rule AND c.position = d.position
    SET t.archived = d.archived,
        c.archived = d.archived;
    -- What is left are partitions, and tables of which no row was deleted.
    SELECT JSON_ARRAYAGG(JSON_ARRAY(w.rule, w.position, w.archived))
    INTO v_told
    FROM (
        SELECT t.rule, t.position, MAX(p.run_id IS NOT NULL) AS archived
        FROM run_table AS t
        LEFT JOIN partition_archive AS p ON p.run_id = t.run_id AND p.rule = t.rule AND p.table_name = t.table_name
        WHERE t.run_id = p_run
          AND t.archived IS NULL
        GROUP BY t.rule, t.position
    ) AS w;
    UPDATE JSON_TABLE(COALESCE(v_told, '[]'), '$[*]' COLUMNS (
        rule varchar(64) PATH '$[0]', position int PATH '$[1]', archived int PATH '$[2]'
    )) AS d
    STRAIGHT_JOIN run_table AS t ON t.run_id = p_run AND t.rule = d.rule AND t.position = d.position
    SET t.archived = d.archived;
END;

-- archive_gap: the archive holds what the ledger says that a run deleted and archived, but for what has left it since. A run that was
-- killed inside a batch, which its session committed, has other numbers.
--# create procedure archive_gap
CREATE PROCEDURE archive_gap(OUT o_table varchar(64))
SQL SECURITY DEFINER
COMMENT 'The first table, after archived_copies(), of which the archive of a run does not hold as many rows as the ledger says; NULL where
    all are there.'
BEGIN
    SET o_table = NULL;
    SELECT k.name
    INTO o_table
    FROM known_archive AS k
    JOIN work_copy AS c ON c.name = k.name
    LEFT JOIN (
        SELECT t.name, SUM(t.row_count) AS row_count FROM work_copied AS t WHERE t.archived GROUP BY t.name
    ) AS d ON d.name = k.name
    WHERE c.here + c.gone <> COALESCE(d.row_count, 0)
    ORDER BY k.position
    LIMIT 1;
END;

-- archive_untold: by keys, the families of a run are found along what the spec archives now.
--# create procedure archive_untold
CREATE PROCEDURE archive_untold(IN p_rule varchar(64), OUT o_table varchar(64))
SQL SECURITY DEFINER
COMMENT 'A table, after archived_copies(), that leads to rows of families of p_rule and that the run did not archive, though the spec does
    now; NULL: none.'
BEGIN
    DECLARE v_done longtext;
    -- A rule that the spec does not know may have been renamed.
    SELECT JSON_ARRAYAGG(JSON_ARRAY(t.name, t.archived))
    INTO v_done
    FROM work_copied AS t
    LEFT JOIN rule AS o ON o.rule = t.rule
    WHERE t.rule = p_rule
       OR o.rule IS NULL;
    SELECT MIN(d.name)
    INTO o_table
    FROM rule AS r
    CROSS JOIN JSON_TABLE(COALESCE(v_done, '[]'), '$[*]' COLUMNS (name varchar(64) PATH '$[0]', archived int PATH '$[1]')) AS d
    WHERE r.rule = p_rule
      AND NOT d.archived
      AND JSON_CONTAINS(r.document, JSON_QUOTE(d.name), '$.archive')
      AND (
          JSON_CONTAINS(r.document, JSON_OBJECT('table', d.name), '$.archive_links')
          OR EXISTS (
              SELECT 1
              FROM JSON_TABLE(r.document, '$.archive_ways[*]' COLUMNS (name varchar(64) PATH '$.table', parents json PATH '$.parents')) AS w
              JOIN JSON_TABLE(COALESCE(v_done, '[]'), '$[*]' COLUMNS (name varchar(64) PATH '$[0]', archived int PATH '$[1]')) AS b
                  ON b.name = w.name AND b.archived
              WHERE JSON_CONTAINS(w.parents, JSON_OBJECT('table', d.name))
          )
      );
END;

-- work_archive: empty work tables for a restoration: the rows that come back, by the place of their table, and in which round.
--# create procedure work_archive
CREATE PROCEDURE work_archive()
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of archive_restore(), empty.'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS work_back, work_next, work_named, work_found, work_below, work_part, work_held, work_copy, work_copied;
    CREATE TEMPORARY TABLE work_copy (name varchar(64) NOT NULL PRIMARY KEY, here bigint NOT NULL, gone bigint NOT NULL) ENGINE = InnoDB
        DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    CREATE TEMPORARY TABLE work_copied (
        rule      varchar(64) NOT NULL,
        position  int         NOT NULL,
        name      varchar(64) NOT NULL,
        row_count bigint      NOT NULL,
        archived  boolean,
        PRIMARY KEY (rule, position)
    ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    CREATE TEMPORARY TABLE work_part (place int NOT NULL PRIMARY KEY) ENGINE = InnoDB;
    CREATE TEMPORARY TABLE work_held (PRIMARY KEY (rule, `key`)) ENGINE = InnoDB AS SELECT h.rule, h.`key` FROM hold AS h LIMIT 0;
    CREATE TEMPORARY TABLE work_back (
        place  int    NOT NULL,
        row_id bigint NOT NULL,
        round  int,
        PRIMARY KEY (place, row_id)
    ) ENGINE = InnoDB;
    CREATE TEMPORARY TABLE work_next (row_id bigint NOT NULL PRIMARY KEY) ENGINE = InnoDB;
    CREATE TEMPORARY TABLE work_named (
        named varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (named)
    ) ENGINE = InnoDB;
END;

-- conditions_of: what row t must be, as the spec has it.
--# create procedure conditions_of
CREATE PROCEDURE conditions_of(IN p_conditions longtext, OUT o_text longtext)
SQL SECURITY DEFINER
COMMENT 'The conditions of a document on row t, each with AND in front of it.'
BEGIN
    DECLARE v_at    int DEFAULT 0;
    DECLARE v_each  int;
    DECLARE v_one   longtext;
    DECLARE v_value longtext;
    DECLARE v_list  longtext;
    DECLARE v_column longtext;
    SET o_text = '';
    WHILE v_at < JSON_LENGTH(p_conditions) DO
        SET v_one = JSON_EXTRACT(p_conditions, CONCAT('$[', v_at, ']'));
        SET v_each = 0, v_list = NULL;
        WHILE v_each < JSON_LENGTH(v_one, '$.values') DO
            SET v_value = JSON_EXTRACT(v_one, CONCAT('$.values[', v_each, ']'));
            SET v_list = CONCAT_WS(', ', v_list, IF(JSON_TYPE(v_value) = 'STRING', QUOTE(JSON_UNQUOTE(v_value)), v_value));
            SET v_each = v_each + 1;
        END WHILE;
        SET v_column = CONCAT('t.`', REPLACE(JSON_UNQUOTE(JSON_EXTRACT(v_one, '$.column')), '`', '``'), '`');
        SET o_text = CONCAT(
            o_text, ' AND ', IF(JSON_CONTAINS_PATH(v_one, 'one', '$.printed'), CONCAT('CAST(', v_column, ' AS char)'), v_column), ' ',
            CASE
                WHEN v_list IS NOT NULL THEN CONCAT('IN (', v_list, ')')
                WHEN JSON_CONTAINS(v_one, 'true', '$.null') THEN 'IS NULL'
                ELSE 'IS NOT NULL'
            END
        );
        SET v_at = v_at + 1;
    END WHILE;
END;

-- archive_key: the key of row t of a rule's root table, as the ledger writes it.
--# create procedure archive_key
CREATE PROCEDURE archive_key(IN p_rule varchar(64), OUT o_key longtext, OUT o_column varchar(140))
SQL SECURITY DEFINER
COMMENT 'An expression for the key of row t of the root table, as a text; and its first column.'
BEGIN
    SELECT
        IF(
            COUNT(*) = 1,
            IF(MAX(c.hexed), CONCAT('HEX(t.', MAX(c.name), ')'), CONCAT('CAST(t.', MAX(c.name), ' AS CHAR)')),
            CONCAT(
                'CAST(JSON_ARRAY(',
                GROUP_CONCAT(IF(c.hexed, CONCAT('HEX(t.', c.name, ')'), CONCAT('t.', c.name)) ORDER BY c.place SEPARATOR ', '),
                ') AS CHAR)'
            )
        ),
        MAX(IF(c.place = 1, c.name, NULL))
    INTO o_key, o_column
    FROM (
        SELECT
            k.place,
            k.said LIKE '% binary' AS hexed,
            CONCAT(
                '`', REPLACE(LEFT(k.said, CHAR_LENGTH(k.said) - CHAR_LENGTH(SUBSTRING_INDEX(k.said, ' ', -1)) - 1), '`', '``'), '`'
            ) AS name
        FROM rule AS r
        JOIN JSON_TABLE(r.document, '$.key[*]' COLUMNS (place FOR ORDINALITY, said varchar(100) PATH '$')) AS k
        WHERE r.rule = p_rule
    ) AS c;
END;

-- archived_below: the archived rows of the root table below those that were found, level by level: what the last members found
-- name as their descendants.
--# create procedure archived_below
CREATE PROCEDURE archived_below(IN p_rule varchar(64), IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Adds to work_back the archived rows of the root table of a rule that the roots in it lead to.'
BEGIN
    DECLARE v_told   longtext;
    DECLARE v_place  int;
    DECLARE v_root   varchar(140);
    DECLARE v_text   longtext;
    DECLARE v_key    varchar(140);
    DECLARE v_link   longtext;
    DECLARE v_quoted varchar(140);
    DECLARE v_at     int;
    DECLARE v_rows   bigint;
    DECLARE v_more   bigint DEFAULT 1;
    SELECT r.document, k.place, k.quoted
    INTO v_told, v_place, v_root
    FROM rule AS r
    JOIN known_archive AS k ON k.name = r.root
    WHERE r.rule = p_rule;
    CALL archive_key(p_rule, v_text, v_key);
    DELETE FROM work_next WHERE row_id IS NOT NULL;
    INSERT INTO work_next (row_id) SELECT w.row_id FROM work_back AS w WHERE w.place = v_place;
    WHILE v_more > 0 DO
        DROP TEMPORARY TABLE IF EXISTS work_found;
        CALL archive_do(CONCAT(
            'CREATE TEMPORARY TABLE work_found (pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, KEY (k1)) ENGINE = InnoDB ',
            'SELECT DISTINCT p.', v_key, ' AS k1 FROM work_next AS n ',
            'STRAIGHT_JOIN ', v_root, ' AS p ON p.windrow_run_id = ', p_run, ' AND p.windrow_row_id = n.row_id'
        ), v_rows);
        DELETE FROM work_next WHERE row_id IS NOT NULL;
        SET v_at = 0;
        WHILE v_at < JSON_LENGTH(v_told, '$.archive_links') DO
            SET v_link = JSON_EXTRACT(v_told, CONCAT('$.archive_links[', v_at, ']'));
            SELECT k.quoted INTO v_quoted FROM known_archive AS k WHERE k.name = JSON_UNQUOTE(JSON_EXTRACT(v_link, '$.table'));
            DROP TEMPORARY TABLE IF EXISTS work_below;
            CALL archive_do(CONCAT(
                'CREATE TEMPORARY TABLE work_below (pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, KEY (k1)) ENGINE = InnoDB ',
                'SELECT DISTINCT l.`',
                REPLACE(JSON_UNQUOTE(JSON_EXTRACT(v_link, '$.child')), '`', '``'), '` AS k1 FROM ', v_quoted,
                ' AS l STRAIGHT_JOIN work_found AS k ON k.k1 = l.`',
                REPLACE(JSON_UNQUOTE(JSON_EXTRACT(v_link, '$.parent')), '`', '``'), '` WHERE l.windrow_run_id = ', p_run
            ), v_rows);
            CALL archive_do(CONCAT(
                'INSERT INTO work_next (row_id) SELECT t.windrow_row_id FROM ', v_root, ' AS t STRAIGHT_JOIN work_below AS k ON k.k1 = t.',
                v_key, ' WHERE t.windrow_run_id = ', p_run, ' ON DUPLICATE KEY UPDATE row_id = VALUES(row_id)'
            ), v_rows);
            SET v_at = v_at + 1;
        END WHILE;
        SET v_at = 0;
        WHILE v_at < JSON_LENGTH(v_told, '$.archive_within') DO
            CALL archive_do(CONCAT(
                'INSERT INTO work_next (row_id) SELECT t.windrow_row_id FROM ', v_root, ' AS t STRAIGHT_JOIN work_found AS k ON k.k1 = t.`',
                REPLACE(JSON_UNQUOTE(JSON_EXTRACT(v_told, CONCAT('$.archive_within[', v_at, ']'))), '`', '``'),
                '` WHERE t.windrow_run_id = ', p_run, ' ON DUPLICATE KEY UPDATE row_id = VALUES(row_id)'
            ), v_rows);
            SET v_at = v_at + 1;
        END WHILE;
        DELETE n
        FROM work_next AS n
        STRAIGHT_JOIN work_back AS w ON w.place = v_place AND w.row_id = n.row_id;
        INSERT INTO work_back (place, row_id) SELECT v_place, n.row_id FROM work_next AS n;
        SET v_more = ROW_COUNT();
    END WHILE;
    DROP TEMPORARY TABLE IF EXISTS work_below;
END;

-- archived_by: the archived rows that have a key in work_named in a column.
--# create procedure archived_by
CREATE PROCEDURE archived_by(IN p_place int, IN p_quoted varchar(140), IN p_column varchar(64), IN p_hexed boolean, IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Adds to work_back the rows of an archive whose column names one of the keys in work_named. p_hexed: these are bytes.'
BEGIN
    DECLARE v_rows bigint;
    CALL archive_do(CONCAT(
        'INSERT INTO work_back (place, row_id) SELECT ', p_place, ', t.windrow_row_id FROM ', p_quoted,
        ' AS t STRAIGHT_JOIN work_named AS k ON k.named = ', IF(p_hexed, 'HEX', 'CAST'), '(t.`', REPLACE(p_column, '`', '``'),
        IF(p_hexed, '`) ', '` AS CHAR) '), 'WHERE t.windrow_run_id = ', p_run, ' ON DUPLICATE KEY UPDATE row_id = VALUES(row_id)'
    ), v_rows);
END;

-- archived_roots: the archived rows of the root table that are of the families in work_named.
--# create procedure archived_roots
CREATE PROCEDURE archived_roots(IN p_rule varchar(64), IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Adds to work_back the archived rows of the root table of a rule that belong to the families in work_named, in run p_run.'
BEGIN
    DECLARE v_told   longtext;
    DECLARE v_hexed  boolean;
    DECLARE v_timed  boolean;
    DECLARE v_root   varchar(64);
    DECLARE v_place  int;
    DECLARE v_quoted varchar(140);
    DECLARE v_text   longtext;
    DECLARE v_key    varchar(140);
    DECLARE v_where  longtext;
    DECLARE v_at     int DEFAULT 0;
    DECLARE v_rows   bigint;
    SELECT
        r.document, JSON_CONTAINS(r.document, '"id"', '$.hexed') IS TRUE, r.strategy IN ('removal-time', 'age'), r.root, k.place, k.quoted
    INTO v_told, v_hexed, v_timed, v_root, v_place, v_quoted
    FROM rule AS r
    JOIN known_archive AS k ON k.name = r.root
    WHERE r.rule = p_rule;
    CALL archive_key(p_rule, v_text, v_key);
    CALL conditions_of(JSON_EXTRACT(v_told, '$.candidates'), v_where);
    CALL archive_do(CONCAT(
        'INSERT INTO work_back (place, row_id) SELECT ', v_place, ', t.windrow_row_id FROM ', v_quoted,
        ' AS t STRAIGHT_JOIN work_named AS k ON k.named = ', v_text, ' WHERE t.windrow_run_id = ', p_run, v_where
    ), v_rows);
    CALL archive_do(CONCAT(
        'SELECT MIN(k.named) INTO @windrow_found FROM work_named AS k LEFT JOIN (SELECT ', v_text, ' AS named FROM work_back AS w ',
        'STRAIGHT_JOIN ', v_quoted, ' AS t ON t.windrow_run_id = ', p_run, ' AND t.windrow_row_id = w.row_id WHERE w.place = ', v_place,
        ') AS f ON f.named = k.named WHERE f.named IS NULL'
    ), v_rows);
    IF @windrow_found IS NOT NULL THEN
        CALL refuse(
            CONCAT('run ', p_run, ' has no archived root in ', v_root, ' with the key ', @windrow_found),
            'archive_list() has the runs'
        );
    END IF;
    IF v_timed THEN
        WHILE v_at < JSON_LENGTH(v_told, '$.archive_within') DO
            CALL archived_by(v_place, v_quoted, JSON_UNQUOTE(JSON_EXTRACT(v_told, CONCAT('$.archive_within[', v_at, ']'))), v_hexed, p_run);
            SET v_at = v_at + 1;
        END WHILE;
    ELSEIF JSON_CONTAINS_PATH(v_told, 'one', '$.archive_within', '$.archive_links') THEN
        CALL archived_below(p_rule, p_run);
    END IF;
END;

-- archived_named: the archived rows that name found ones. The keys that rows are found by are in a work table with an index,
-- since an archive has none.
--# create procedure archived_named
CREATE PROCEDURE archived_named(IN p_place int, IN p_quoted varchar(140), IN p_edge longtext, IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Adds to work_back the rows of an archive that name rows of another table in it, by an edge of a document.'
BEGIN
    DECLARE v_place  int;
    DECLARE v_quoted varchar(140);
    DECLARE v_keys   longtext;
    DECLARE v_named  longtext;
    DECLARE v_same   longtext;
    DECLARE v_rows   bigint;
    SELECT k.place, k.quoted
    INTO v_place, v_quoted
    FROM known_archive AS k
    WHERE k.name = JSON_UNQUOTE(JSON_EXTRACT(p_edge, '$.table'));
    SELECT
        GROUP_CONCAT(CONCAT('k', c.place) ORDER BY c.place SEPARATOR ', '),
        GROUP_CONCAT(CONCAT('p.`', REPLACE(n.name, '`', '``'), '` AS k', c.place) ORDER BY c.place SEPARATOR ', '),
        GROUP_CONCAT(CONCAT('k.k', c.place, ' = t.`', REPLACE(c.name, '`', '``'), '`') ORDER BY c.place SEPARATOR ' AND ')
    INTO v_keys, v_named, v_same
    FROM JSON_TABLE(p_edge, '$.columns[*]' COLUMNS (place FOR ORDINALITY, name varchar(64) PATH '$')) AS c
    JOIN JSON_TABLE(p_edge, '$.named[*]' COLUMNS (place FOR ORDINALITY, name varchar(64) PATH '$')) AS n ON n.place = c.place;
    DROP TEMPORARY TABLE IF EXISTS work_found;
    CALL archive_do(CONCAT(
        'CREATE TEMPORARY TABLE work_found (pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, KEY (', v_keys, ')) ENGINE = InnoDB ',
        'SELECT DISTINCT ', v_named, ' FROM work_back AS w ',
        'STRAIGHT_JOIN ', v_quoted, ' AS p ON p.windrow_run_id = ', p_run, ' AND p.windrow_row_id = w.row_id WHERE w.place = ', v_place
    ), v_rows);
    CALL archive_do(CONCAT(
        'INSERT INTO work_back (place, row_id) SELECT ', p_place, ', t.windrow_row_id FROM ', p_quoted,
        ' AS t STRAIGHT_JOIN work_found AS k ON ', v_same, ' WHERE t.windrow_run_id = ', p_run,
        ' ON DUPLICATE KEY UPDATE row_id = VALUES(row_id)'
    ), v_rows);
END;

-- archived_rows: the archived rows of families, found along the edges of the spec in the archive of one run.
--# create procedure archived_rows
CREATE PROCEDURE archived_rows(IN p_rule varchar(64), IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Writes the archived rows of run p_run that belong to the families in work_named to the work tables of a restoration.'
BEGIN
    DECLARE v_told   longtext;
    DECLARE v_hexed  boolean;
    DECLARE v_root   varchar(64);
    DECLARE v_way    longtext;
    DECLARE v_place  int;
    DECLARE v_quoted varchar(140);
    DECLARE v_at     int DEFAULT 0;
    DECLARE v_each   int;
    SELECT r.document, JSON_CONTAINS(r.document, '"id"', '$.hexed') IS TRUE, r.root
    INTO v_told, v_hexed, v_root
    FROM rule AS r
    WHERE r.rule = p_rule;
    IF JSON_CONTAINS(v_told, JSON_QUOTE(v_root), '$.archive') THEN
        CALL archived_roots(p_rule, p_run);
    END IF;
    WHILE v_at < JSON_LENGTH(v_told, '$.archive_ways') DO
        SET v_way = JSON_EXTRACT(v_told, CONCAT('$.archive_ways[', v_at, ']'));
        SELECT k.place, k.quoted
        INTO v_place, v_quoted
        FROM known_archive AS k
        WHERE k.name = JSON_UNQUOTE(JSON_EXTRACT(v_way, '$.table'));
        SET v_each = 0;
        WHILE v_each < JSON_LENGTH(v_way, '$.family') DO
            CALL archived_by(v_place, v_quoted, JSON_UNQUOTE(JSON_EXTRACT(v_way, CONCAT('$.family[', v_each, ']'))), v_hexed, p_run);
            SET v_each = v_each + 1;
        END WHILE;
        SET v_each = 0;
        WHILE v_each < JSON_LENGTH(v_way, '$.parents') DO
            CALL archived_named(v_place, v_quoted, JSON_EXTRACT(v_way, CONCAT('$.parents[', v_each, ']')), p_run);
            SET v_each = v_each + 1;
        END WHILE;
        SET v_at = v_at + 1;
    END WHILE;
END;

-- find_archive: what is to come back.
--# create procedure find_archive
CREATE PROCEDURE find_archive(IN p_run bigint, IN p_rule varchar(64), IN p_most bigint)
SQL SECURITY DEFINER
COMMENT 'Writes the archived rows of run p_run, or of the families in work_named of rule p_rule, to the work tables of a
    restoration. Reads only.'
BEGIN
    DECLARE v_at     int DEFAULT 0;
    DECLARE v_quoted varchar(140);
    DECLARE v_total  bigint;
    DECLARE v_parts  bigint;
    DECLARE v_rows   bigint DEFAULT 0;
    DECLARE v_whole  boolean DEFAULT false;
    SELECT COUNT(*) INTO v_whole FROM rule AS r WHERE r.rule = p_rule AND r.strategy = 'partition';
    IF p_rule IS NOT NULL THEN
        IF NOT v_whole THEN
            CALL archived_rows(p_rule, p_run);
        END IF;
        SET v_at = NULL;
    END IF;
    WHILE v_at IS NOT NULL DO
        -- What the spec does not archive any more has no place.
        SELECT MIN(k.place) INTO v_at FROM known_archive AS k WHERE k.place > v_at;
        IF v_at IS NOT NULL THEN
            SELECT k.quoted INTO v_quoted FROM known_archive AS k WHERE k.place = v_at;
            CALL archive_do(CONCAT(
                'INSERT INTO work_back (place, row_id) SELECT ', v_at, ', a.windrow_row_id FROM ', v_quoted, ' AS a ',
                'WHERE a.windrow_run_id = ', p_run, ' ORDER BY a.windrow_row_id LIMIT ', p_most + 1
            ), v_total);
        END IF;
    END WHILE;
    SELECT COUNT(*) INTO v_parts FROM partition_archive AS p WHERE p.run_id = p_run AND p.state = 'kept';
    IF v_parts > 0 THEN
        SELECT COUNT(*)
        INTO v_parts
        FROM rule AS r
        WHERE r.strategy = 'partition'
          AND JSON_CONTAINS_PATH(r.document, 'one', '$.archive');
        IF v_parts = 0 THEN
            CALL not_ready('nothing is restored: no rule of the spec archives partitions any more',
                'write archive = true in the rule again, and install');
        END IF;
        CALL find_partitions(p_run, p_rule, v_rows);
    END IF;
    SELECT COUNT(*) + v_rows INTO v_total FROM work_back AS w;
    IF v_total = 0 THEN
        CALL refuse(CONCAT('run ', p_run, ' has no archived rows of these families'), 'archive_list() has the runs');
    END IF;
    IF v_total > p_most THEN
        CALL not_ready(
            CONCAT('more rows than one transaction should restore: max_rows is ', p_most),
            'restore by keys, or raise max_rows'
        );
    END IF;
END;

-- archive_hold_by: what comes back is due at once: a hold keeps it.
--# create procedure archive_hold_by
CREATE PROCEDURE archive_hold_by(
    IN p_run bigint, IN p_rule varchar(64), IN p_table varchar(64), IN p_key longtext, IN p_where longtext,
    INOUT io_holds bigint, INOUT io_lacking bigint
)
SQL SECURITY DEFINER
COMMENT 'Holds the rows t of a table that come back, by the key p_key; adds to how many holds were placed, and how many
    rows have no such key.'
BEGIN
    DECLARE v_from longtext;
    DECLARE v_rows bigint;
    -- As the holds compare them.
    DECLARE v_key  longtext DEFAULT CONCAT('(', p_key, /*!80000 ') COLLATE utf8mb4_0900_bin' */ /*M! ') COLLATE utf8mb4_nopad_bin' */);
    SELECT CONCAT(
        ' FROM work_back AS w STRAIGHT_JOIN ', k.quoted, ' AS t ON w.place = ', k.place,
        ' AND t.windrow_run_id = ', p_run, ' AND t.windrow_row_id = w.row_id'
    )
    INTO v_from
    FROM known_archive AS k
    WHERE k.name = p_table
      AND k.place > 0;
    IF v_from IS NOT NULL THEN
        CALL archive_do(CONCAT(
            'DELETE h', v_from, ' STRAIGHT_JOIN hold AS h ON h.rule = ', QUOTE(p_rule), ' AND h.`key` = ', v_key,
            ' AND NOT (h.until IS NULL OR h.until > UTC_TIMESTAMP(6))'
        ), v_rows);
        -- One that ends is made one without an end.
        CALL archive_do(CONCAT(
            'UPDATE', SUBSTRING(v_from, 6), ' STRAIGHT_JOIN hold AS h ON h.rule = ', QUOTE(p_rule), ' AND h.`key` = ', v_key,
            ' SET h.until = NULL, h.placed_by = USER(), h.placed_at = UTC_TIMESTAMP(6),',
            ' h.reason = CONCAT(h.reason, ''; restored from the archive of run '', ', p_run, ') WHERE h.until IS NOT NULL', p_where
        ), v_rows);
        SET io_holds = io_holds + v_rows;
        CALL archive_do(CONCAT(
            'INSERT INTO hold (rule, `key`, reason, placed_by, placed_at) SELECT DISTINCT ', QUOTE(p_rule), ', ', v_key,
            ', CONCAT(''restored from the archive of run '', ', p_run, '), USER(), UTC_TIMESTAMP(6)', v_from,
            ' LEFT JOIN hold AS h ON h.rule = ', QUOTE(p_rule), ' AND h.`key` = ', v_key,
            ' WHERE h.rule IS NULL AND ', v_key, ' IS NOT NULL', p_where
        ), v_rows);
        SET io_holds = io_holds + v_rows;
        CALL archive_do(CONCAT('SELECT COUNT(*) INTO @windrow_found', v_from, ' WHERE ', v_key, ' IS NULL'), v_rows);
        SET io_lacking = io_lacking + @windrow_found;
    END IF;
END;

-- archive_hold: by what rows are held. A rule by time holds the family that a row names; what belongs to none is held by
-- itself, where its document says when.
--# create procedure archive_hold
CREATE PROCEDURE archive_hold(IN p_run bigint, OUT o_holds bigint, OUT o_unheld bigint)
SQL SECURITY DEFINER
COMMENT 'Holds what archive_restore() brings back: how many holds were placed, and how many rows belong to nothing that can be held.'
BEGIN
    DECLARE v_rule   varchar(64);
    DECLARE v_root   varchar(64);
    DECLARE v_timed  boolean;
    DECLARE v_told   longtext;
    DECLARE v_hexed  boolean;
    DECLARE v_member longtext;
    DECLARE v_table  varchar(64);
    DECLARE v_key    longtext;
    DECLARE v_own    longtext;
    DECLARE v_where  longtext;
    DECLARE v_column varchar(140);
    DECLARE v_none   bigint DEFAULT 0;
    DECLARE v_rules  int DEFAULT 0;
    DECLARE v_at     int;
    SET o_holds = 0, o_unheld = 0;
    WHILE v_rules IS NOT NULL DO
        SELECT MIN(r.position) INTO v_rules FROM rule AS r WHERE r.position > v_rules;
        SET v_told = NULL;
        SELECT r.rule, r.root, r.strategy IN ('removal-time', 'age'), r.document, JSON_CONTAINS(r.document, '"id"', '$.hexed') IS TRUE
        INTO v_rule, v_root, v_timed, v_told, v_hexed
        FROM rule AS r
        WHERE r.position = v_rules;
        IF v_told IS NOT NULL AND NOT v_timed THEN
            CALL archive_key(v_rule, v_key, v_column);
            CALL conditions_of(JSON_EXTRACT(v_told, '$.candidates'), v_where);
            CALL archive_hold_by(p_run, v_rule, v_root, v_key, v_where, o_holds, v_none);
        END IF;
        SET v_at = 0;
        WHILE v_at < JSON_LENGTH(v_told, '$.archive_members') DO
            SET v_member = JSON_EXTRACT(v_told, CONCAT('$.archive_members[', v_at, ']'));
            SET v_table = JSON_UNQUOTE(JSON_EXTRACT(v_member, '$.table'));
            CALL conditions_of(JSON_EXTRACT(v_member, '$.own'), v_own);
            SELECT GROUP_CONCAT(CONCAT('t.`', REPLACE(f.name, '`', '``'), '`') ORDER BY f.place SEPARATOR ', ')
            INTO v_key
            FROM JSON_TABLE(v_member, '$.family[*]' COLUMNS (place FOR ORDINALITY, name varchar(64) PATH '$')) AS f;
            SET v_key = CONCAT(IF(v_hexed, 'HEX(COALESCE(', 'CAST(COALESCE('), CONCAT_WS(', ',
                v_key,
                CONCAT('CASE WHEN true', v_own, ' THEN t.`', REPLACE(JSON_UNQUOTE(JSON_EXTRACT(v_member, '$.key')), '`', '``'), '` END'),
                'NULL'
            ), IF(v_hexed, '))', ') AS CHAR)'));
            CALL archive_hold_by(p_run, v_rule, v_table, v_key, '', o_holds, o_unheld);
            SET v_at = v_at + 1;
        END WHILE;
    END WHILE;
END;

-- archive_put: rows of one table that are found move from their archive into it, those of one round.
--# create procedure archive_put
CREATE PROCEDURE archive_put(
    IN p_table varchar(64), IN p_class varchar(300), IN p_quoted varchar(140),
    IN p_run bigint, IN p_place int, IN p_round int, OUT o_rows bigint
)
SQL SECURITY DEFINER
COMMENT 'Copies the rows of run p_run that work_back names for a place, in round p_round, from an archive into their
    table; answers how many.'
BEGIN
    DECLARE v_schema  varchar(64) DEFAULT (SELECT s.schema_name FROM spec AS s);
    DECLARE v_columns longtext;
    -- What the table generates, it generates again; a number 0 stays one, and so does a date without a day: see run_lenient().
    SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION';
    SELECT GROUP_CONCAT('`', REPLACE(c.column_name, '`', '``'), '`' ORDER BY c.ordinal_position SEPARATOR ', ')
    INTO v_columns
    FROM information_schema.columns AS c
    WHERE c.table_schema = v_schema
      AND c.table_name = p_table
      AND COALESCE(c.generation_expression, '') = '';
    SET @windrow_statement = CONCAT(
        'INSERT INTO ', p_class, ' (', v_columns, ') SELECT a.', REPLACE(v_columns, '`, `', '`, a.`'),
        ' FROM work_back AS w STRAIGHT_JOIN ', p_quoted, ' AS a ON a.windrow_run_id = ', p_run,
        ' AND a.windrow_row_id = w.row_id WHERE w.place = ', p_place, ' AND w.round = ', p_round
    );
    -- Not by archive_do(), which has a mode of its own.
    PREPARE windrow_statement FROM @windrow_statement;
    EXECUTE windrow_statement;
    SET o_rows = ROW_COUNT();
    DEALLOCATE PREPARE windrow_statement;
    SET @windrow_statement = NULL;
END;

-- archive_round: which rows of a table come back next. A foreign key is checked row by row: first those whose upper rows are
-- there, round by round.
--# create procedure archive_round
CREATE PROCEDURE archive_round(
    IN p_uppers longtext, IN p_key varchar(64), IN p_class varchar(300), IN p_quoted varchar(140),
    IN p_run bigint, IN p_place int, IN p_round int, OUT o_rows bigint
)
SQL SECURITY DEFINER
COMMENT 'Gives the rows of a place in work_back whose upper rows are there the number of a round; answers how many, 0
    where it took the rest.'
BEGIN
    DECLARE v_key   varchar(140) DEFAULT CONCAT('`', REPLACE(p_key, '`', '``'), '`');
    DECLARE v_joins longtext;
    DECLARE v_there longtext;
    SET o_rows = 0;
    IF p_uppers IS NOT NULL THEN
        SELECT
            GROUP_CONCAT(
                CONCAT(' LEFT JOIN ', p_class, ' AS u', u.place, ' ON u', u.place, '.', v_key, ' = a.', u.name)
                ORDER BY u.place
                SEPARATOR ''
            ),
            GROUP_CONCAT(CONCAT(
                ' AND (a.', u.name, ' IS NULL OR a.', u.name, ' = a.', v_key, ' OR u', u.place, '.', v_key, ' IS NOT NULL)'
            ) ORDER BY u.place SEPARATOR '')
        INTO v_joins, v_there
        FROM (
            SELECT n.place, CONCAT('`', REPLACE(n.name, '`', '``'), '`') AS name
            FROM JSON_TABLE(p_uppers, '$[*]' COLUMNS (place FOR ORDINALITY, name varchar(64) PATH '$')) AS n
        ) AS u;
        CALL archive_do(CONCAT(
            'UPDATE work_back AS w STRAIGHT_JOIN ', p_quoted, ' AS a ON a.windrow_run_id = ', p_run, ' AND a.windrow_row_id = w.row_id',
            v_joins, ' SET w.round = ', p_round, ' WHERE w.place = ', p_place, ' AND w.round IS NULL', v_there
        ), o_rows);
    END IF;
    IF o_rows = 0 THEN
        -- Rows of a table that names itself nowhere; or that name each other in a circle, or what is not there.
        UPDATE work_back AS w SET w.round = p_round WHERE w.place = p_place AND w.round IS NULL;
    END IF;
END;

-- archive_back: what archive_restore() does within its last transaction.
--# create procedure archive_back
CREATE PROCEDURE archive_back(IN p_run bigint, IN p_rule varchar(64), IN p_keys longtext, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'Moves the archived rows of run p_run that find_archive() has found back into their tables, and holds them.'
BEGIN
    DECLARE v_table   varchar(64) DEFAULT 'hold';
    DECLARE v_place   int DEFAULT 0;
    DECLARE v_class   varchar(300);
    DECLARE v_quoted  varchar(140);
    DECLARE v_told    longtext;
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
        --+ raised.sql
        SET v_text = LEFT(
            CONCAT('nothing is restored: table ', v_table, ': ', v_message, '; a row that has come since is in the way'), 128
        );
        SIGNAL SQLSTATE '23000' SET MESSAGE_TEXT = v_text;
    END;
    CALL archive_hold(p_run, v_holds, v_unheld);

    -- Parents before children.
    WHILE v_place IS NOT NULL DO
        SELECT MIN(w.place) INTO v_place FROM work_back AS w WHERE w.place > v_place;
        IF v_place IS NOT NULL THEN
            SELECT
                k.name, k.quoted, JSON_EXTRACT(s.document, CONCAT('$.archives[', k.position - 1, ']')),
                CONCAT('`', REPLACE(s.schema_name, '`', '``'), '`', '.', '`', REPLACE(k.name, '`', '``'), '`')
            INTO v_table, v_quoted, v_told, v_class
            FROM known_archive AS k
            CROSS JOIN spec AS s
            WHERE k.place = v_place;
            SELECT COUNT(*) INTO v_count FROM work_back AS w WHERE w.place = v_place;
            SET v_total = v_total + v_count, v_sum = 0, v_round = 1;
            REPEAT
                CALL archive_round(
                    JSON_EXTRACT(v_told, '$.uppers'), JSON_UNQUOTE(JSON_EXTRACT(v_told, '$.key')), v_class, v_quoted,
                    p_run, v_place, v_round, v_more
                );
                CALL archive_put(v_table, v_class, v_quoted, p_run, v_place, v_round, v_rows);
                SET v_sum = v_sum + v_rows, v_round = v_round + 1;
            UNTIL v_more = 0 OR v_sum = v_count END REPEAT;
            CALL archive_do(CONCAT(
                'DELETE a FROM work_back AS w STRAIGHT_JOIN ', v_quoted, ' AS a ON a.windrow_run_id = ', p_run,
                ' AND a.windrow_row_id = w.row_id WHERE w.place = ', v_place
            ), v_gone);
            IF v_sum <> v_count OR v_gone <> v_count THEN
                CALL not_ready(CONCAT(
                    'nothing is restored: table ', v_table, ': ', v_count, ' rows were to be restored, ', v_gone, ' left the archive, and ',
                    v_sum, ' came in'
                ), NULL);
            END IF;
            INSERT INTO unarchived (run_id, action, table_name, table_rows, `keys`, done_by, done_at)
            VALUES (p_run, 'RESTORED', v_table, v_count, p_keys, USER(), UTC_TIMESTAMP(6));
            SET v_counts = CONCAT_WS(', ', NULLIF(v_counts, ''), CONCAT(JSON_QUOTE(v_table), ': ', v_count));
        END IF;
    END WHILE;
    IF EXISTS (SELECT 1 FROM work_part) THEN
        CALL put_partitions(p_run, p_keys, v_total, v_counts, v_holds);
    END IF;
    -- After it no batch is in progress that did not see the holds.
    SELECT l.only_row INTO v_latch FROM latch AS l FOR UPDATE;
    CALL tell_runs();
    SELECT COALESCE(GROUP_CONCAT(DISTINCT JSON_QUOTE(t.table_name) ORDER BY t.table_name SEPARATOR ', '), '')
    INTO v_missing
    FROM run_table AS t
    JOIN (SELECT DISTINCT a.rule FROM run_table AS a WHERE a.run_id = p_run AND a.archived) AS r ON r.rule = t.rule
    LEFT JOIN rule AS o ON o.rule = t.rule
    WHERE t.run_id = p_run
      AND t.deleted_rows > 0
      AND NOT t.archived
      AND (p_rule IS NULL OR t.rule = p_rule OR o.rule IS NULL);
    -- What was dropped after the first look is not among what came back.
    CALL check_dropped(p_run);
    SET o_document = CONCAT(
        '{"run": ', p_run, ', "rows": ', v_total, ', "tables": {', v_counts, '}, "holds": ', v_holds, ', "not_held": ', v_unheld,
        ', "not_archived": [', v_missing, '], "not_restored": []}'
    );
END;

-- keys_archive: the options rule and key of a restoration.
--# create procedure keys_archive
CREATE PROCEDURE keys_archive(IN p_options longtext, OUT o_rule varchar(64), OUT o_keys longtext)
SQL SECURITY DEFINER
COMMENT 'The options rule and key of archive_restore(), the keys in work_named, too; raises 22023 with a hint for what makes no sense.'
BEGIN
    DECLARE v_archiving longtext;
    DECLARE v_told      longtext;
    DECLARE v_text      longtext;
    DECLARE v_place     integer DEFAULT 0;
    DECLARE v_whole     boolean;
    SELECT GROUP_CONCAT(r.rule ORDER BY r.position SEPARATOR ', ')
    INTO v_archiving
    FROM rule AS r
    WHERE JSON_CONTAINS_PATH(r.document, 'one', '$.archive');
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.key') THEN
        CALL check_rule(p_options, o_rule);
        SELECT COUNT(*) INTO v_whole FROM rule AS r WHERE r.rule = o_rule AND r.strategy = 'partition';
        SET o_keys = JSON_EXTRACT(p_options, '$.key');
        IF JSON_TYPE(o_keys) <> 'ARRAY' OR JSON_LENGTH(o_keys) = 0 THEN
            CALL refuse('the option key is not a list of keys', 'write it like {"key": [17, 18]}');
        END IF;
        WHILE v_place < JSON_LENGTH(o_keys) DO
            CALL key_of(JSON_EXTRACT(o_keys, CONCAT('$[', v_place, ']')), v_text);
            -- Those of a rule of partitions are their names.
            IF NOT v_whole THEN
                CALL check_key(o_rule, v_text);
            END IF;
            INSERT INTO work_named (named) VALUES (v_text) ON DUPLICATE KEY UPDATE named = VALUES(named);
            SET v_place = v_place + 1;
        END WHILE;
        SELECT r.document INTO v_told FROM rule AS r WHERE r.rule = o_rule;
        IF NOT JSON_CONTAINS_PATH(v_told, 'one', '$.archive') THEN
            CALL refuse(CONCAT('rule ', o_rule, ' archives nothing'), CONCAT('the rules that do are: ', v_archiving));
        END IF;
        SET v_text = JSON_UNQUOTE(JSON_EXTRACT(v_told, '$.archive_untold'));
        IF v_text IS NOT NULL THEN
            CALL refuse(CONCAT('the families of rule ', o_rule, ' cannot be distinguished in the archive: ', v_text),
                'restore the whole run');
        END IF;
    ELSEIF JSON_CONTAINS_PATH(p_options, 'one', '$.rule') THEN
        CALL refuse(
            'the option rule is for keys',
            CONCAT('name keys, too: {"run": 17, "rule": "', SUBSTRING_INDEX(v_archiving, ', ', 1), '", "key": [4]}')
        );
    END IF;
END;

-- check_dropped: what has left the archive for good.
--# create procedure check_dropped
CREATE PROCEDURE check_dropped(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Raises 55000 if archived rows of run p_run were dropped or pruned.'
BEGIN
    DECLARE v_more bigint;
    SELECT SUM(u.table_rows) INTO v_more FROM unarchived AS u WHERE u.run_id = p_run AND u.action <> 'RESTORED';
    IF v_more > 0 THEN
        CALL not_ready(
            CONCAT(v_more, ' rows of run ', p_run, ' were dropped from the archive: what is left is incomplete'),
            'export what is left'
        );
    END IF;
END;

-- check_whole: whether all that a run deleted and that was archived is still there, or came back, and can be restored: the whole run, or
-- families of a rule.
--# create procedure check_whole
CREATE PROCEDURE check_whole(IN p_run bigint, IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Raises 22023 or 55000 unless the archive has all of run p_run that it must have, and can restore it, or families of p_rule.'
BEGIN
    DECLARE v_last datetime(6);
    DECLARE v_goes_on boolean;
    DECLARE v_gap  varchar(64);
    CALL archive_last(p_run, v_last);
    IF v_last IS NULL THEN
        CALL refuse(CONCAT('no rows of run ', p_run, ' are archived'), 'archive_list() has the runs with archived rows');
    END IF;
    SELECT COUNT(*) INTO v_goes_on FROM run AS r WHERE r.run_id = p_run AND r.status = 'running';
    IF v_goes_on THEN
        CALL not_ready(CONCAT('run ', p_run, ' is in progress'), 'wait for its end');
    END IF;
    CALL check_dropped(p_run);
    CALL archived_copies(p_run);
    CALL recall_archive(p_run);
    CALL archive_gap(v_gap);
    IF v_gap IS NOT NULL THEN
        CALL not_ready(
            CONCAT('the archive of run ', p_run, ' is incomplete: table ', v_gap), 'a batch was killed, or it was changed by hand'
        );
    END IF;
    -- What else is needed for that, such as the right to insert, follows what the spec archives now.
    SELECT MIN(k.name)
    INTO v_gap
    FROM known_archive AS k
    JOIN work_copy AS c ON c.name = k.name
    LEFT JOIN rule_table AS t ON t.rule = p_rule AND t.table_name = k.name
    LEFT JOIN rule AS r ON r.rule = t.rule AND r.strategy <> 'partition'
    WHERE JSON_LENGTH(k.rules) = 0
      AND c.here > 0
      AND (p_rule IS NULL OR r.rule IS NOT NULL);
    IF v_gap IS NOT NULL THEN
        CALL not_ready(
            CONCAT('run ', p_run, ' has rows of table ', v_gap, ', which the spec does not archive now'), 'name it in archive, and install'
        );
    END IF;
    CALL archive_untold(p_rule, v_gap);
    IF v_gap IS NOT NULL THEN
        CALL refuse(CONCAT('run ', p_run, ' did not archive table ', v_gap, ', which leads to other rows'), 'restore the whole run');
    END IF;
END;

-- archive_restore: restores archived rows, of a whole run or of families; all of them, or none.
--# create procedure archive_restore
CREATE PROCEDURE archive_restore(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Moves archived rows back into their tables, parents before children: all of a run, or families of it by their
    keys (run, rule, key, max_rows). All or nothing, in one transaction. Holds are placed, because restored families are due at once.
    Examples: CALL archive_restore(''{"run": 17}''); CALL archive_restore(''{"run": 17, "key": [4]}'');'
BEGIN
    DECLARE v_settled  longtext;
    DECLARE v_open     boolean DEFAULT false;
    DECLARE v_run      bigint;
    DECLARE v_before   datetime(6);
    DECLARE v_rule     varchar(64);
    DECLARE v_keys     longtext;
    DECLARE v_text     longtext;
    DECLARE v_most     bigint DEFAULT 1000000;
    DECLARE v_document longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_open THEN
            ROLLBACK;
        END IF;
        CALL unsettle(v_settled);
        RESIGNAL;
    END;
    CALL settle(v_settled);
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET v_open = true;
    START TRANSACTION;
    CALL check_options(p_options, '["run", "rule", "key", "max_rows"]');
    CALL archive_options(p_options, v_run, v_before);
    IF v_run IS NULL THEN
        CALL refuse('the option run is missing', 'write it like {"run": 17}; archive_list() has the runs');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.max_rows') THEN
        CALL option_of(p_options, 'max_rows', v_text);
        IF (v_text REGEXP '^[1-9][0-9]{0,17}\\z') IS NOT TRUE THEN
            CALL refuse(CONCAT('max_rows is not a number above 0: ', QUOTE(v_text)), 'write it like {"max_rows": 2000000}');
        END IF;
        SET v_most = CAST(v_text AS signed);
    END IF;
    CALL work_archive();
    CALL keys_archive(p_options, v_rule, v_keys);
    CALL check_whole(v_run, v_rule);
    CALL check_archive(v_rule);
    CALL find_archive(v_run, v_rule, v_most);
    -- The work tables were made: a transaction in which that was done is written to MariaDB's binary log even when it is
    -- rolled back. Should archived rows be removed meanwhile, archive_back() notices.
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    START TRANSACTION;
    CALL archive_back(v_run, v_rule, v_keys, v_document);
    COMMIT;
    SET v_open = false;
    DROP TEMPORARY TABLE IF EXISTS work_back, work_next, work_named, work_found, work_below, work_part, work_held, work_copy, work_copied;
    CALL tidy_partitions();
    CALL unsettle(v_settled);
    SET v_settled = NULL;
    SELECT v_document AS p_result;
END;
