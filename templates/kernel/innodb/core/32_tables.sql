-- What names the tables of the application by what is registered of them, and only reads: their locks, keys, orphans and files.

-- take_tables: what a batch does first. Whoever has read a table keeps it from being altered until his transaction ends. FOR UPDATE
-- waits for those that others have locked for reading (LOCK TABLES), as DELETE would at one family after the other.
--# create procedure take_tables
CREATE PROCEDURE take_tables(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Reads no row of the tables of the spec, and so keeps them from being altered until the transaction ends; those whose rows p_rule
    deletes also from being locked by others. NULL: none of them.'
BEGIN
    DECLARE v_text longtext;
    SELECT CONCAT(
        'SELECT COUNT(*) INTO @windrow_none FROM DUAL WHERE ',
        GROUP_CONCAT(CONCAT(
            'EXISTS (SELECT 1 FROM ',
            CONCAT_WS('.', CONCAT('`', REPLACE(s.schema_name, '`', '``'), '`'), CONCAT('`', REPLACE(t.name, '`', '``'), '`')),
            IF(g.goes, ' LIMIT 0 FOR UPDATE)', ' LIMIT 0)')
        ) ORDER BY t.name SEPARATOR ' OR ')
    )
    INTO v_text
    FROM known_table AS t
    CROSS JOIN spec AS s
    LEFT JOIN (SELECT DISTINCT k.table_name, true AS goes FROM rule_table AS k WHERE k.rule = p_rule) AS g ON g.table_name = t.name
    WHERE NOT t.ignored;
    CALL run_text(v_text);
END;

-- key_type: the type of a column of a key; a spec has no word for numbers without a sign, so that the catalog says it.
--# create procedure key_type
CREATE PROCEDURE key_type(IN p_table varchar(64), IN p_part varchar(100), OUT o_type varchar(64))
SQL SECURITY DEFINER
COMMENT 'The type of a column of p_table that a spec writes as `column type`; a number, with `unsigned` after it where it has no sign.'
BEGIN
    DECLARE v_unsigned bigint;
    SET o_type = SUBSTRING_INDEX(p_part, ' ', -1);
    SELECT COUNT(c.column_name)
    INTO v_unsigned
    FROM spec AS s
    STRAIGHT_JOIN information_schema.columns AS c ON c.table_schema = s.schema_name
    WHERE c.table_name = p_table
      AND c.column_name = LEFT(p_part, CHAR_LENGTH(p_part) - CHAR_LENGTH(o_type) - 1)
      AND c.column_type LIKE '%unsigned%';
    IF v_unsigned > 0 THEN
        SET o_type = CONCAT(o_type, ' unsigned');
    END IF;
END;

-- check_key: a key is a value of the key of the rule's root table; of several columns, a JSON array as the server writes it.
--# create procedure check_key
CREATE PROCEDURE check_key(IN p_rule varchar(64), INOUT p_key longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 22023 for what cannot be a key of the root table of the rule. A key of bytes is made what HEX() writes.'
BEGIN
    DECLARE v_valid boolean DEFAULT false;
    DECLARE v_key   longtext;
    DECLARE v_root  varchar(64);
    DECLARE v_part  longtext;
    DECLARE v_form  longtext;
    DECLARE v_type  varchar(64);
    DECLARE v_again longtext DEFAULT '';
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_place int DEFAULT 0;
    SELECT JSON_EXTRACT(k.document, '$.key'), k.root INTO v_key, v_root FROM rule AS k WHERE k.rule = p_rule;
    IF v_key IS NULL THEN
        SELECT JSON_EXTRACT(k.document, CONCAT('$.stamps[', s.place - 1, '].key')), s.root
        INTO v_key, v_root
        FROM rule AS k
        JOIN JSON_TABLE(k.document, '$.stamps[*]' COLUMNS (
            place FOR ORDINALITY, of_name varchar(64) PATH '$.of', root varchar(64) PATH '$.root'
        )) AS s
        WHERE CONCAT(k.rule, '.', s.of_name) = p_rule;
    END IF;
    SET SESSION group_concat_max_len = 65536;
    SELECT GROUP_CONCAT(CONCAT(v_root, '.', LEFT(c.part, CHAR_LENGTH(c.part) - CHAR_LENGTH(SUBSTRING_INDEX(c.part, ' ', -1)) - 1))
        ORDER BY c.position SEPARATOR ', ')
    INTO v_form
    FROM JSON_TABLE(v_key, '$[*]' COLUMNS (position FOR ORDINALITY, part varchar(100) PATH '$')) AS c;
    SET SESSION group_concat_max_len = v_length;
    IF JSON_LENGTH(v_key) = 1 THEN
        CALL key_type(v_root, JSON_VALUE(v_key, '$[0]'), v_type);
        IF v_type = 'binary' AND p_key REGEXP '^(0[xX])?([0-9a-fA-F]{2})+\\z|^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\\z' THEN
            SET p_key = UPPER(REGEXP_REPLACE(p_key, '^0[xX]|-', ''));
        END IF;
        CALL is_value(p_key, v_type, v_valid);
        IF NOT v_valid THEN
            CALL refuse(
                CONCAT('not a key of ', v_root, ': ', QUOTE(p_key)),
                CONCAT('a key is a value of ', v_form, IF(v_type = 'binary', ', as HEX() writes it', ''))
            );
        END IF;
    ELSEIF v_key IS NOT NULL THEN
        IF JSON_VALID(p_key) AND CHAR_LENGTH(p_key) <= 700 THEN
            SET v_valid = JSON_TYPE(p_key) = 'ARRAY' AND JSON_LENGTH(p_key) = JSON_LENGTH(v_key);
        END IF;
        WHILE v_valid AND v_place < JSON_LENGTH(v_key) DO
            SET v_part = JSON_EXTRACT(p_key, CONCAT('$[', v_place, ']'));
            CALL key_type(v_root, JSON_UNQUOTE(JSON_EXTRACT(v_key, CONCAT('$[', v_place, ']'))), v_type);
            -- MySQL calls a number from 2^32 on UNSIGNED INTEGER.
            SET v_valid = IF(
                v_type REGEXP '^(smallint|int|bigint)',
                JSON_TYPE(v_part) IN ('INTEGER', 'UNSIGNED INTEGER'),
                JSON_TYPE(v_part) = 'STRING'
            );
            IF v_valid AND v_type <> 'text' THEN
                CALL is_value(JSON_UNQUOTE(v_part), v_type, v_valid);
            END IF;
            SET v_again = CONCAT(v_again, IF(v_place = 0, '', ', '),
                IF(JSON_TYPE(v_part) = 'STRING', JSON_QUOTE(JSON_UNQUOTE(v_part)), v_part));
            SET v_place = v_place + 1;
        END WHILE;
        SET v_valid = v_valid AND CONCAT('[', v_again, ']') = p_key;
        IF NOT v_valid THEN
            CALL refuse(CONCAT('not a key of ', v_root, ': ', QUOTE(p_key)), CONCAT('a key is a JSON array of ', v_form));
        END IF;
    END IF;
END;

-- count_orphans: rows whose parent is not there, by edge, into the temporary table work_orphan. Reads whole tables.
--# create procedure count_orphans
CREATE PROCEDURE count_orphans()
SQL SECURITY DEFINER
COMMENT 'Fills the temporary table work_orphan with the rows whose parent is not there, by edge. Reads whole tables.'
BEGIN
    DECLARE v_edge int DEFAULT (SELECT MIN(e.edge) FROM known_edge AS e WHERE e.counts);
    DECLARE v_name varchar(200);
    DECLARE v_text longtext;
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    SET SESSION group_concat_max_len = 65536;
    DROP TEMPORARY TABLE IF EXISTS work_orphan;
    CREATE TEMPORARY TABLE work_orphan (
        edge    varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        orphans bigint
    ) ENGINE = InnoDB;
    WHILE v_edge IS NOT NULL DO
        SELECT
            CONCAT(MAX(e.table_name), '.', GROUP_CONCAT(e.own ORDER BY e.place SEPARATOR ', ')),
            CONCAT(
                'SELECT COUNT(*) INTO @windrow_count FROM ', MAX(e.own_table), ' AS c WHERE ',
                GROUP_CONCAT(CONCAT('c.', e.own_column, ' IS NOT NULL') ORDER BY e.place SEPARATOR ' AND '),
                COALESCE(MAX(IF(e.place = 1 AND e.none IS NOT NULL, CONCAT(' AND c.', e.own_column, ' <> ', QUOTE(e.none)), NULL)), ''),
                COALESCE(CONCAT(' AND ', MAX(e.kept)), ''),
                ' AND NOT EXISTS (SELECT 1 FROM ', MAX(e.parent_table), ' AS p WHERE ',
                GROUP_CONCAT(CONCAT('p.', e.named_column, ' = c.', e.own_column) ORDER BY e.place SEPARATOR ' AND '), ')'
            )
        INTO v_name, v_text
        FROM (
            SELECT
                k.place, k.table_name, k.own, k.none, k.kept,
                CONCAT_WS(
                    '.', CONCAT('`', REPLACE(s.schema_name, '`', '``'), '`'), CONCAT('`', REPLACE(k.table_name, '`', '``'), '`')
                ) AS own_table,
                CONCAT_WS(
                    '.', CONCAT('`', REPLACE(s.schema_name, '`', '``'), '`'), CONCAT('`', REPLACE(k.parent, '`', '``'), '`')
                ) AS parent_table,
                CONCAT('`', REPLACE(k.own, '`', '``'), '`') AS own_column,
                CONCAT('`', REPLACE(k.named, '`', '``'), '`') AS named_column
            FROM known_edge AS k
            CROSS JOIN spec AS s
            WHERE k.edge = v_edge
        ) AS e;
        -- INSERT ... SELECT would lock the rows of the application where the isolation level is high.
        SET @windrow_count = NULL;
        BEGIN
            -- A table or a column is missing.
            DECLARE CONTINUE HANDLER FOR 1054, 1146 SET @windrow_count = NULL;
            CALL run_text(v_text);
        END;
        INSERT INTO work_orphan (edge, orphans) VALUES (v_name, @windrow_count);
        SELECT MIN(e.edge) INTO v_edge FROM known_edge AS e WHERE e.counts AND e.edge > v_edge;
    END WHILE;
    SET SESSION group_concat_max_len = v_length;
END;
--# create procedure orphans
CREATE PROCEDURE orphans()
SQL SECURITY DEFINER
COMMENT 'Rows whose parent does not exist, by edge. Reads whole tables. Example: CALL orphans();'
BEGIN
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL count_orphans();
    SELECT o.edge, o.orphans FROM work_orphan AS o ORDER BY o.edge;
    DROP TEMPORARY TABLE work_orphan;
    CALL unsettle(v_session);
END;

-- row_by_key: the row of the table of a rule that a key names, in whatever spelling its columns read: these would take the number
-- in front of letters, too, and round fractions. A uuid, which is a text in most tables, has dashes or none, in either case; bytes are
-- hexadecimal digits in either case, behind 0x or not, or a uuid.
--# create procedure row_by_key
CREATE PROCEDURE row_by_key(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Reads @windrow_key: the key of its row as the server writes it into @windrow_as_read, true into @windrow_found; NULL: no key.'
BEGIN
    DECLARE v_table    longtext;
    DECLARE v_parts    int;
    DECLARE v_names    longtext;
    DECLARE v_columns  longtext;
    DECLARE v_readable longtext;
    DECLARE v_values   longtext;
    DECLARE v_matches  longtext;
    DECLARE v_key      longtext;
    DECLARE v_as_read  longtext;
    DECLARE v_last     int;
    DECLARE v_drops    bigint;
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    SET SESSION group_concat_max_len = 65536;
    SELECT
        CONCAT_WS('.', CONCAT('`', REPLACE(MAX(w.schema_name), '`', '``'), '`'), CONCAT('`', REPLACE(MAX(w.root), '`', '``'), '`')),
        COUNT(*),
        GROUP_CONCAT(w.name ORDER BY w.position SEPARATOR ', '),
        GROUP_CONCAT(CONCAT(w.own, ' AS ', w.name) ORDER BY w.position SEPARATOR ', '),
        GROUP_CONCAT(CONCAT(
            '(', w.value, ') REGEXP ',
            CASE
                WHEN w.kind IN ('smallint', 'int', 'bigint') THEN '''^ *[+-]?[0-9]{1,40} *\\\\z'''
                WHEN w.kind = 'decimal' THEN '''^ *[+-]?[0-9]{1,65} *\\\\z'''
                WHEN w.kind IN ('uuid', 'dashless') THEN '''^ *[{]?[0-9a-fA-F]{4}(-?[0-9a-fA-F]{4}){7}[}]? *\\\\z'''
                WHEN w.kind = 'binary' THEN CONCAT(
                    '''^ *((0[xX])?([0-9a-fA-F]{2})+|',
                    '[{]?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}[}]?) *\\\\z'''
                )
                ELSE '''.'''
            END
        ) ORDER BY w.position SEPARATOR ' AND '),
        GROUP_CONCAT(CASE
            WHEN w.kind IN ('smallint', 'int', 'bigint') THEN CONCAT('CAST(TRIM(', w.value, ') AS decimal(41))')
            WHEN w.kind = 'decimal' THEN CONCAT('CAST(TRIM(', w.value, ') AS decimal(65))')
            WHEN w.kind IN ('uuid', 'dashless') THEN CONCAT(
                'CASE @windrow_way WHEN 1 THEN LOWER(', w.digits, ') WHEN 2 THEN UPPER(', w.digits,
                ') WHEN 3 THEN LOWER(', w.dashes, ') WHEN 4 THEN UPPER(', w.dashes, ') ELSE ', w.value, ' END'
            )
            WHEN w.kind = 'binary' THEN CONCAT('UNHEX(REGEXP_REPLACE(', w.value, ', ''^ *0[xX]|[^0-9a-fA-F]'', ''''))')
            ELSE w.value
        END ORDER BY w.position SEPARATOR ', '),
        GROUP_CONCAT(CONCAT(w.own, ' = r.', w.name) ORDER BY w.position SEPARATOR ' AND '),
        GROUP_CONCAT(IF(w.kind = 'binary', CONCAT('HEX(', w.own, ')'), w.own) ORDER BY w.position SEPARATOR ', '),
        GROUP_CONCAT(IF(w.kind = 'binary', CONCAT('HEX(r.', w.name, ')'), CONCAT('r.', w.name)) ORDER BY w.position SEPARATOR ', '),
        MAX(IF(w.kind IN ('uuid', 'dashless'), 4, 0))
    INTO v_table, v_parts, v_names, v_columns, v_readable, v_values, v_matches, v_key, v_as_read, v_last
    FROM (
        SELECT
            p.schema_name, p.root, p.position, p.name, p.kind, p.own, p.value,
            CONCAT('REGEXP_REPLACE(', p.value, ', ''[^0-9a-fA-F]'', '''')') AS digits,
            CONCAT(
                'INSERT(INSERT(INSERT(INSERT(REGEXP_REPLACE(', p.value,
                ', ''[^0-9a-fA-F]'', ''''), 21, 0, ''-''), 17, 0, ''-''), 13, 0, ''-''), 9, 0, ''-'')'
            ) AS dashes
        FROM (
            SELECT
                s.schema_name, r.root, k.position, CONCAT('k', k.position) AS name, SUBSTRING_INDEX(k.said, ' ', -1) AS kind,
                CONCAT('i.', CONCAT('`', REPLACE(
                    LEFT(k.said, CHAR_LENGTH(k.said) - CHAR_LENGTH(SUBSTRING_INDEX(k.said, ' ', -1)) - 1), '`', '``'
                ), '`')) AS own,
                IF(
                    JSON_LENGTH(r.document, '$.key') = 1, '@windrow_key',
                    CONCAT('JSON_UNQUOTE(JSON_EXTRACT(@windrow_key, ''$[', k.position - 1, ']''))')
                ) AS value
            FROM rule AS r
            CROSS JOIN spec AS s
            JOIN JSON_TABLE(r.document, '$.key[*]' COLUMNS (position FOR ORDINALITY, said varchar(100) PATH '$')) AS k
            WHERE r.rule = p_rule
        ) AS p
    ) AS w;
    SET SESSION group_concat_max_len = v_length;
    SET @windrow_way = v_parts = 1;
    IF v_parts > 1 AND JSON_VALID(@windrow_key) THEN
        SET @windrow_way = JSON_TYPE(@windrow_key) = 'ARRAY' AND JSON_LENGTH(@windrow_key) = v_parts;
    END IF;
    IF @windrow_way THEN
        CALL run_text(CONCAT('SELECT ', v_readable, ' INTO @windrow_way'));
    END IF;
    IF @windrow_way THEN
        DROP TEMPORARY TABLE IF EXISTS work_hold;
        CALL run_text(CONCAT('CREATE TEMPORARY TABLE work_hold (pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY) ',
            'ENGINE = InnoDB AS SELECT ', v_columns, ' FROM ', v_table, ' AS i LIMIT 0'));
        SET @windrow_way = 0;
        WHILE @windrow_way <= v_last DO
            BEGIN
                -- The column cannot hold this spelling.
                DECLARE CONTINUE HANDLER FOR 1264, 1265, 1292, 1366, 1406, 1690 BEGIN END;
                CALL run_text(CONCAT('INSERT INTO work_hold (', v_names, ') SELECT ', v_values));
            END;
            SET @windrow_way = @windrow_way + 1;
        END WHILE;
        IF v_parts > 1 THEN
            SET v_key = CONCAT('JSON_ARRAY(', v_key, ')'), v_as_read = CONCAT('JSON_ARRAY(', v_as_read, ')');
        END IF;
        CALL run_text(CONCAT('SELECT CAST(', v_as_read, ' AS char) INTO @windrow_as_read FROM work_hold AS r LIMIT 1'));
        IF @windrow_as_read IS NOT NULL THEN
            SELECT COUNT(*) INTO v_drops FROM rule AS r WHERE r.rule = p_rule AND r.strategy = 'partition';
            places: LOOP
                CALL run_text(CONCAT(
                    'SELECT CAST(', v_key, ' AS char), true INTO @windrow_as_read, @windrow_found FROM work_hold AS r STRAIGHT_JOIN ',
                    v_table, ' AS i ON ', v_matches, ' ORDER BY CAST(', v_key, ' AS char) = @windrow_key DESC LIMIT 1 LOCK IN SHARE MODE'
                ));
                IF @windrow_found OR v_drops = 0 THEN
                    LEAVE places;
                END IF;
                SET v_drops = 0;
                CALL partition_place(p_rule, v_table);
                IF v_table IS NULL THEN
                    LEAVE places;
                END IF;
            END LOOP places;
        END IF;
        DROP TEMPORARY TABLE work_hold;
    END IF;
END;

-- row_of_key: the row that a hold names. The key becomes a value of the column, so that each spelling which that reads finds
-- the row, and by its index: no other row is locked.
--# create procedure row_of_key
CREATE PROCEDURE row_of_key(IN p_rule varchar(64), IN p_key longtext, OUT o_key longtext, OUT o_found boolean)
SQL SECURITY DEFINER
COMMENT 'The key of the row that p_key names, as the server writes it, and whether the rule could ever delete it; raises
    22023 for what the column cannot hold. Reads the row as it is now.'
BEGIN
    DECLARE v_kind  varchar(20);
    DECLARE v_root  varchar(64);
    DECLARE v_parts int;
    DECLARE v_form  longtext;
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    SET @windrow_key = p_key, @windrow_as_read = NULL, @windrow_found = NULL;
    CALL kind_of(p_rule, v_kind);
    -- A rule of several tables by time may let rows be held that are not of its root table.
    IF v_kind = 'single' OR EXISTS (SELECT 1 FROM rule AS r WHERE r.rule = p_rule AND JSON_CONTAINS(r.document, 'true', '$.plain')) THEN
        CALL row_by_key(p_rule);
    ELSE
        CALL perform(p_rule, 'row', '@windrow_key, @windrow_as_read, @windrow_found');
    END IF;
    SET o_key = @windrow_as_read, o_found = COALESCE(@windrow_found, false);
    IF o_key IS NULL OR CHAR_LENGTH(o_key) > 700 THEN
        SET SESSION group_concat_max_len = 65536;
        SELECT r.root, JSON_LENGTH(r.document, '$.key'),
            GROUP_CONCAT(CONCAT(r.root, '.', LEFT(c.part, CHAR_LENGTH(c.part) - CHAR_LENGTH(SUBSTRING_INDEX(c.part, ' ', -1)) - 1))
            ORDER BY c.position SEPARATOR ', ')
        INTO v_root, v_parts, v_form
        FROM rule AS r
        JOIN JSON_TABLE(r.document, '$.key[*]' COLUMNS (position FOR ORDINALITY, part varchar(100) PATH '$')) AS c
        WHERE r.rule = p_rule
        GROUP BY r.rule;
        SET SESSION group_concat_max_len = v_length;
        CALL refuse(
            CONCAT('not a key of ', v_root, ': ', QUOTE(p_key)),
            CONCAT('a key is a ', IF(v_parts > 1, 'JSON array of', 'value of'), ' ', v_form)
        );
    END IF;
END;

-- named_artifacts: which files a row that is there still names. A file may be named by rows of other families.
--# create procedure named_artifacts
CREATE PROCEDURE named_artifacts(IN p_artifacts longtext)
SQL SECURITY DEFINER
COMMENT 'Which files of a JSON array of numbers a row that is there still names, whatever its host, and in which table:
    they must stay, in any spelling (a//b, a/./b). Asked before a file is removed. It reads the paths of that table from
    end to end.'
BEGIN
    DECLARE v_text     longtext;
    DECLARE v_asked    varchar(400) DEFAULT CONCAT(
        'JSON_TABLE(@windrow_artifacts, ''$[*]'' COLUMNS (artifact_id bigint PATH ''$'')) AS k ',
        'STRAIGHT_JOIN artifact AS a ON a.artifact_id = k.artifact_id '
    );
    -- Without doubled slashes, dots that name a folder itself, and a slash at the end: the same file.
    DECLARE v_shortest varchar(400) DEFAULT 'REGEXP_REPLACE(REGEXP_REPLACE(@, ''/([.]?/)+'', ''/''), ''(?<=.)/[.]?$'', '''')';
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    SET @windrow_artifacts = p_artifacts;
    SELECT GROUP_CONCAT(CONCAT(
        'SELECT a.artifact_id, ', n.name, ' AS named_by FROM ', v_asked, 'WHERE EXISTS (SELECT 1 FROM ', n.class, ' AS t WHERE t.', n.path,
        ' = a.path) OR EXISTS (SELECT 1 FROM ', n.class, ' AS t WHERE t.', n.path, ' = ', REPLACE(v_shortest, '@', 'a.path'),
        ') UNION ALL SELECT a.artifact_id, ', n.name, ' FROM (SELECT DISTINCT ', REPLACE(v_shortest, '@', CONCAT('t.', n.path)),
        ' AS path FROM ', n.class, ' AS t WHERE t.', n.path, ' REGEXP ''/[.]?(/|$)'') AS o STRAIGHT_JOIN (', v_asked, ') WHERE ',
        REPLACE(v_shortest, '@', 'a.path'), ' = o.path'
    ) ORDER BY n.place SEPARATOR ' UNION ALL ')
    INTO v_text
    FROM (
        SELECT
            f.place,
            QUOTE(f.table_name) AS name,
            CONCAT_WS('.', CONCAT('`', REPLACE(s.schema_name, '`', '``'), '`'), CONCAT('`', REPLACE(f.table_name, '`', '``'), '`'))
                AS class,
            CONCAT('`', REPLACE(f.path, '`', '``'), '`') AS path
        FROM spec AS s
        JOIN JSON_TABLE(s.document, '$.files[*]' COLUMNS (
            place FOR ORDINALITY, table_name varchar(64) PATH '$[0]', path varchar(64) PATH '$[1]'
        )) AS f
    ) AS n;
    -- No rule of the spec may name files.
    CALL run_text(COALESCE(v_text, 'SELECT NULL AS artifact_id, NULL AS named_by FROM DUAL WHERE false'));
    CALL unsettle(v_session);
END;
