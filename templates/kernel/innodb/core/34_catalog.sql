-- known_names: the tables of the spec, or those whose rows are deleted, as the catalog spells them.
--# create procedure known_names
CREATE PROCEDURE known_names(IN p_going boolean, OUT o_schema varchar(64), OUT o_names longtext)
SQL SECURITY DEFINER
COMMENT 'The database of the tables of the spec, and their names between bars; p_going: of those whose rows are deleted.'
BEGIN
    SELECT s.schema_name INTO o_schema FROM spec AS s;
    SELECT CONCAT('|', COALESCE(GROUP_CONCAT(IF(@@GLOBAL.lower_case_table_names = 0, k.name, LOWER(k.name))
        ORDER BY k.name SEPARATOR '|'), ''), '|')
    INTO o_names
    FROM known_table AS k
    WHERE IF(p_going, k.goes, NOT k.ignored);
END;

-- known_sets: what is set to NULL as the row is deleted that it names, or to a removal time.
--# create procedure known_sets
CREATE PROCEDURE known_sets(OUT o_columns longtext, OUT o_tables longtext)
SQL SECURITY DEFINER
COMMENT 'The columns that are set, with their tables, in lower case, and these tables as the catalog spells them, between bars.'
BEGIN
    SELECT
        LOWER(CONCAT('|', COALESCE(GROUP_CONCAT(CONCAT(k.table_name, '.', k.column_name) SEPARATOR '|'), ''), '|')),
        CONCAT('|', COALESCE(GROUP_CONCAT(DISTINCT IF(@@GLOBAL.lower_case_table_names = 0, k.table_name,
            LOWER(k.table_name)) SEPARATOR '|'), ''), '|')
    INTO o_columns, o_tables
    FROM known_column AS k
    WHERE k.is_set;
END;

-- read_shapes: the columns of the tables of the spec, which it notes in @windrow_shapes, too, for note_catalog(). The catalog of
-- columns is read once here: a join with it reads it for each row.
--# create procedure read_shapes
CREATE PROCEDURE read_shapes()
SQL SECURITY DEFINER
COMMENT 'Fills work_shape with the columns of these tables. is_known: of keys or edges; is_made: set by the server with others.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_schema varchar(64);
    -- Bytes: to look for characters in them takes ten times as long.
    DECLARE v_tables longblob;
    DECLARE v_known  longblob;
    DECLARE v_shapes longtext;
    SET SESSION group_concat_max_len = 67108864;
    CALL known_names(false, v_schema, v_tables);
    SELECT LOWER(CONCAT('|', GROUP_CONCAT(CONCAT(k.table_name, '.', k.column_name) SEPARATOR '|'), '|')) INTO v_known
        FROM known_column AS k;
    DROP TEMPORARY TABLE IF EXISTS work_shape;
    CREATE TEMPORARY TABLE work_shape (
        place       varchar(130) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        table_name  varchar(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        column_name varchar(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        type        varchar(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        kind        varchar(20)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        encoding    varchar(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        collation   varchar(64)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        position    bigint       NOT NULL,
        is_known    boolean      NOT NULL,
        is_made     boolean      NOT NULL
    ) ENGINE = InnoDB;
    INSERT INTO work_shape (place, table_name, column_name, type, kind, encoding, collation, position, is_known, is_made)
    SELECT
        CONCAT(IF(@@GLOBAL.lower_case_table_names = 0, c.table_name, LOWER(c.table_name)), '.', LOWER(c.column_name)),
        c.table_name,
        c.column_name,
        -- Labels may be long, and have a bar, which ends a type.
        CONCAT_WS(' ', LEFT(REPLACE(c.column_type, '|', '/'), 230), c.collation_name),
        CASE
            WHEN c.data_type IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint', 'decimal', 'bit', 'year') THEN 'number'
            -- A day is the midnight with which it begins. A timestamp is another time in each session.
            WHEN c.data_type IN ('date', 'datetime') THEN 'datetime'
            WHEN c.data_type IN ('float', 'double', 'time', 'timestamp') THEN c.data_type
            ELSE 'text'
        END,
        COALESCE(c.character_set_name, ''),
        COALESCE(c.collation_name, ''),
        c.ordinal_position,
        LOCATE(CAST(LOWER(CONCAT('|', c.table_name, '.', c.column_name, '|')) AS binary), v_known) > 0
            OR LOCATE(CAST(LOWER(CONCAT('|', c.table_name, '.*|')) AS binary), v_known) > 0,
        COALESCE(c.generation_expression, '') <> '' OR c.extra LIKE '%on update%'
    FROM information_schema.columns AS c
    WHERE c.table_schema = v_schema
      AND LOCATE(
          CAST(CONCAT('|', IF(@@GLOBAL.lower_case_table_names = 0, c.table_name, LOWER(c.table_name)), '|') AS binary), v_tables
      ) > 0;
    SELECT CONCAT('|', GROUP_CONCAT(
        CONCAT(s.table_name, '.', s.column_name, '|', s.type) ORDER BY s.table_name, s.position SEPARATOR '|'
    ), '|')
    INTO v_shapes
    FROM work_shape AS s;
    SET @windrow_shapes = v_shapes;
    SET SESSION group_concat_max_len = v_length;
END;

-- strangers: what the server would do, in addition to windrow and without being in the spec, when a row is deleted: rows would
-- be deleted or changed without a rule, a count or a copy. A migration of the application may add such a thing at any time.
-- Where the owner role may not see another database, its keys are not seen either: 50_grants.sql lets it see them all.
--# create procedure strangers
CREATE PROCEDURE strangers(IN p_all boolean)
SQL SECURITY DEFINER
COMMENT 'Fills work_stranger with what hangs on the tables whose rows are deleted and is not in the spec: foreign keys, and
    tables without transactions. acts: rows would be deleted or changed without windrow, and runs refuse; else it only refuses
    deletions. p_all: also what only refuses in other databases.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_ignored longtext DEFAULT (SELECT JSON_EXTRACT(s.document, '$.ignored') FROM spec AS s);
    DECLARE v_beside longtext;
    DECLARE v_schema varchar(64);
    DECLARE v_going  longtext;
    DECLARE v_sets   longtext;
    DECLARE v_set    longtext;
    DECLARE v_seen   longtext;
    DECLARE v_count  bigint;
    DECLARE v_known  longtext;
    SET SESSION group_concat_max_len = 67108864;
    CALL known_names(false, v_schema, v_known);
    CALL known_names(true, v_schema, v_going);
    CALL known_sets(v_sets, v_set);
    -- What is made of other columns, or is set to the time of each UPDATE, is set with them.
    CALL read_shapes();
    SELECT LOWER(CONCAT(v_sets, COALESCE(CONCAT(GROUP_CONCAT(CONCAT(s.table_name, '.', s.column_name) SEPARATOR '|'), '|'), '')))
    INTO v_sets
    FROM work_shape AS s
    WHERE LOCATE(CONCAT('|', IF(@@GLOBAL.lower_case_table_names = 0, s.table_name, LOWER(s.table_name)), '|'), v_set) > 0
      AND s.is_made;
    DROP TEMPORARY TABLE IF EXISTS work_stranger;
    CREATE TEMPORARY TABLE work_stranger (
        position integer NOT NULL AUTO_INCREMENT PRIMARY KEY,
        object   varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        detail   varchar(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        acts     boolean NOT NULL
    ) ENGINE = InnoDB;
    INSERT INTO work_stranger (object, detail, acts)
    SELECT
        f.table_name,
        CONCAT(
            'references ', f.referenced_table_name, ' by ', f.constraint_name, ' (on delete ', LOWER(f.delete_rule),
            '), and the spec does not know it'
        ),
        f.delete_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT')
    FROM information_schema.referential_constraints AS f
    LEFT JOIN (
        SELECT
            u.table_name, u.constraint_name,
            GROUP_CONCAT(
                CONVERT(LOWER(CONCAT(u.column_name, ' -> ', u.referenced_column_name)) USING utf8mb4) COLLATE utf8mb4_bin
                ORDER BY CONVERT(LOWER(CONCAT(u.column_name, ' -> ', u.referenced_column_name)) USING utf8mb4) COLLATE utf8mb4_bin
                SEPARATOR ', '
            ) AS pairs
        FROM information_schema.key_column_usage AS u
        WHERE u.table_schema = v_schema
          AND u.referenced_table_schema = v_schema
        GROUP BY u.table_name, u.constraint_name
    ) AS c ON c.table_name = f.table_name AND c.constraint_name = f.constraint_name
    LEFT JOIN known_key AS k
        ON (
            CONVERT(c.table_name USING utf8mb4) COLLATE utf8mb4_bin = k.table_name
            OR @@GLOBAL.lower_case_table_names <> 0 AND CONVERT(c.table_name USING utf8mb4) COLLATE utf8mb4_general_ci = k.table_name
        )
        AND c.pairs COLLATE utf8mb4_bin = k.pairs
        AND (
            CONVERT(f.referenced_table_name USING utf8mb4) COLLATE utf8mb4_bin = k.parent
            OR @@GLOBAL.lower_case_table_names <> 0 AND CONVERT(f.referenced_table_name USING utf8mb4) COLLATE utf8mb4_general_ci = k.parent
        )
        AND (f.delete_rule NOT IN ('CASCADE', 'SET NULL', 'SET DEFAULT') OR FIND_IN_SET(f.delete_rule, k.effects) > 0)
    WHERE f.constraint_schema = v_schema
      AND f.unique_constraint_schema = v_schema
      AND LOCATE(CONCAT('|', IF(@@GLOBAL.lower_case_table_names = 0, f.referenced_table_name, LOWER(f.referenced_table_name)), '|'),
          v_going) > 0
      AND k.table_name IS NULL
      -- That an ignored table keeps families is meant so.
      AND (
          f.delete_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT')
          OR JSON_CONTAINS(v_ignored, JSON_QUOTE(CONVERT(f.table_name USING utf8mb4))) IS NOT TRUE
      )
    ORDER BY f.table_name, f.constraint_name;
    -- No edge is one of another database. They are looked for one by one where there are some.
    CALL keys_now(true, p_all, v_beside);
    IF v_beside <> '' THEN
        INSERT INTO work_stranger (object, detail, acts)
        SELECT
            CONCAT(f.constraint_schema, '.', f.table_name),
            CONCAT(
                'references ', f.referenced_table_name, ' by ', f.constraint_name, ' (on delete ', LOWER(f.delete_rule),
                '), and the spec does not know it'
            ),
            f.delete_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT')
        FROM information_schema.referential_constraints AS f
        WHERE f.constraint_schema <> v_schema
          AND f.unique_constraint_schema = v_schema
          AND LOCATE(CONCAT('|', IF(@@GLOBAL.lower_case_table_names = 0, f.referenced_table_name, LOWER(f.referenced_table_name)), '|'),
              v_going) > 0
        ORDER BY f.constraint_schema, f.table_name, f.constraint_name;
    END IF;
    -- No handler of MariaDB sees the error of an UPDATE that joins tables: there what only refuses acts, too. The columns of keys are
    -- read once: an EXISTS reads them for each key.
    IF v_set <> '||' THEN
        INSERT INTO work_stranger (object, detail, acts)
        SELECT
            f.table_name,
            CONCAT('references ', f.referenced_table_name, ' by ', f.constraint_name, ' (on update ', LOWER(f.update_rule),
                IF(f.update_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT'), '), and the spec does not know it',
                '), and where it refuses, the run would end without its ledger')),
            true
        FROM information_schema.referential_constraints AS f
        JOIN (
            SELECT DISTINCT u.table_name, u.constraint_name
            FROM information_schema.key_column_usage AS u
            WHERE u.table_schema = v_schema
              AND u.referenced_table_schema = v_schema
              AND LOCATE(LOWER(CONCAT('|', u.referenced_table_name, '.', u.referenced_column_name, '|')), v_sets) > 0
        ) AS c ON c.table_name = f.table_name AND c.constraint_name = f.constraint_name
        WHERE f.constraint_schema = v_schema
          AND f.unique_constraint_schema = v_schema
          AND f.update_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT' /*M! , 'NO ACTION', 'RESTRICT' */)
          AND LOCATE(CONCAT('|', IF(@@GLOBAL.lower_case_table_names = 0, f.referenced_table_name, LOWER(f.referenced_table_name)), '|'),
              v_set) > 0
        ORDER BY f.table_name, f.constraint_name;
        IF v_beside <> '' THEN
            INSERT INTO work_stranger (object, detail, acts)
            SELECT
                CONCAT(f.constraint_schema, '.', f.table_name),
                CONCAT('references ', f.referenced_table_name, ' by ', f.constraint_name, ' (on update ', LOWER(f.update_rule),
                    IF(f.update_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT'), '), and the spec does not know it',
                    '), and where it refuses, the run would end without its ledger')),
                true
            FROM information_schema.referential_constraints AS f
            JOIN (
                SELECT DISTINCT u.table_schema, u.table_name, u.constraint_name
                FROM information_schema.key_column_usage AS u
                WHERE u.table_schema <> v_schema
                  AND u.referenced_table_schema = v_schema
                  AND LOCATE(LOWER(CONCAT('|', u.referenced_table_name, '.', u.referenced_column_name, '|')), v_sets) > 0
            ) AS c ON c.table_schema = f.constraint_schema AND c.table_name = f.table_name AND c.constraint_name = f.constraint_name
            WHERE f.constraint_schema <> v_schema
              AND f.unique_constraint_schema = v_schema
              AND f.update_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT' /*M! , 'NO ACTION', 'RESTRICT' */)
              AND LOCATE(CONCAT('|', IF(@@GLOBAL.lower_case_table_names = 0, f.referenced_table_name, LOWER(f.referenced_table_name)), '|'),
                  v_set) > 0
            ORDER BY f.constraint_schema, f.table_name, f.constraint_name;
        END IF;
    END IF;
    IF p_all AND v_beside <> '' THEN
        CALL keys_now(true, false, v_beside);
    END IF;
    IF v_beside <> '' THEN
        CALL keys_readable(true, false, v_seen, v_count);
        IF v_count < 1 + (CHAR_LENGTH(v_beside) - CHAR_LENGTH(REPLACE(v_beside, '|key ', ''))) / 5 THEN
            INSERT INTO work_stranger (object, detail, acts)
            VALUES ('of another database', LEFT(CONCAT('acts by a foreign key that the owner role may not read: ', v_beside), 400), true);
        END IF;
    END IF;
    -- What is compared otherwise finds rows of other parents. Bytes of one character set are exact: a row that belongs to another is
    -- kept where they differ. What keeps a row must be found, as the column does which is named.
    INSERT INTO work_stranger (object, detail, acts)
    SELECT
        MAX(IF(s.place = p.own, s.table_name, NULL)),
        LEFT(CONCAT(
            'compares ', MAX(IF(s.place = p.own, s.column_name, NULL)), ' otherwise than ', MAX(IF(s.place = p.named, s.table_name, NULL)),
            ' does ', MAX(IF(s.place = p.named, s.column_name, NULL)), ': they are ', MAX(IF(s.place = p.own, s.type, NULL)),
            ' and ', MAX(IF(s.place = p.named, s.type, NULL))
        ), 400),
        true
    FROM (
        SELECT k.own, k.named, MAX(k.keeps) AS keeps
        FROM (
            SELECT
                CONCAT(IF(@@GLOBAL.lower_case_table_names = 0, k.table_name, LOWER(k.table_name)), '.',
                    SUBSTRING_INDEX(j.pair, ' -> ', 1)) AS own,
                CONCAT(IF(@@GLOBAL.lower_case_table_names = 0, k.parent, LOWER(k.parent)), '.',
                    SUBSTRING_INDEX(j.pair, ' -> ', -1)) AS named,
                false AS keeps
            FROM known_key AS k
            CROSS JOIN JSON_TABLE(CONCAT('[', REPLACE(JSON_QUOTE(k.pairs), ', ', '", "'), ']'),
                '$[*]' COLUMNS (pair varchar(200) PATH '$')) AS j
            UNION ALL
            SELECT
                CONVERT(CONCAT(IF(@@GLOBAL.lower_case_table_names = 0, c.child, LOWER(c.child)), '.', LOWER(c.own)) USING utf8mb4)
                    COLLATE utf8mb4_bin,
                CONVERT(CONCAT(IF(@@GLOBAL.lower_case_table_names = 0, c.parent, LOWER(c.parent)), '.', LOWER(c.named)) USING utf8mb4)
                    COLLATE utf8mb4_bin,
                true
            FROM spec AS s
            CROSS JOIN JSON_TABLE(s.document, '$.compared[*]' COLUMNS (
                child varchar(64) PATH '$[0]', own varchar(64) PATH '$[1]', parent varchar(64) PATH '$[2]', named varchar(64) PATH '$[3]'
            )) AS c
        ) AS k
        GROUP BY k.own, k.named
    ) AS p
    JOIN work_shape AS s ON s.place IN (p.own, p.named)
    GROUP BY p.own, p.named
    HAVING MIN(s.kind) <> MAX(s.kind)
        OR MIN(s.collation) <> MAX(s.collation)
           AND MIN(s.collation) <> ''
           AND NOT (NOT MAX(p.keeps) AND MIN(s.encoding) = MAX(s.encoding) AND MAX(IF(s.place = p.own, s.collation, NULL)) LIKE '%\_bin')
    ORDER BY 1, 2;
    DROP TEMPORARY TABLE work_shape;
    INSERT INTO work_stranger (object, detail, acts)
    SELECT
        t.table_name,
        CASE
            WHEN t.table_type = 'VIEW' THEN 'is a view'
            WHEN t.engine IS NULL THEN 'is no table'
            ELSE CONCAT('has the engine ', t.engine, ', which knows no transactions')
        END,
        true
    FROM information_schema.tables AS t
    WHERE t.table_schema = v_schema
      AND LOCATE(
          CONCAT('|', IF(@@GLOBAL.lower_case_table_names = 0, t.table_name, LOWER(t.table_name)), '|'),
          -- What is behind a view that is only read may become something else unseen.
          IF(t.table_type = 'VIEW', v_known, CONCAT(v_going, v_set))
      ) > 0
      AND COALESCE(t.engine, '') <> 'InnoDB'
    ORDER BY t.table_name;
    IF EXISTS (SELECT 1 FROM rule AS r WHERE r.strategy = 'partition') THEN
        CALL check_partitions();
    END IF;
    SET SESSION group_concat_max_len = v_length;
END;
--# create procedure stranger
CREATE PROCEDURE stranger(OUT o_stranger longtext)
SQL SECURITY DEFINER
COMMENT 'The first thing in the catalog by which a deletion would reach further than the spec says; NULL if there is none.'
BEGIN
    CALL strangers(false);
    SET o_stranger = (
        SELECT CONCAT('table ', s.object, ' ', s.detail)
        FROM work_stranger AS s
        WHERE s.acts
        ORDER BY s.position
        LIMIT 1
    );
    DROP TEMPORARY TABLE work_stranger;
END;

-- refuse_stranger: the error of whoever would delete by such a catalog, with what to do about it.
--# create procedure refuse_stranger
CREATE PROCEDURE refuse_stranger(IN p_stranger longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 55000 for what stranger() has found.'
BEGIN
    CALL not_ready(p_stranger, CASE
        WHEN p_stranger LIKE 'table % compares %' THEN 'give both columns the same type and collation'
        WHEN p_stranger LIKE 'table % is a view' THEN 'name the table from which its rows come, and run windrow install'
        ELSE 'say in the spec what happens to its rows and run windrow install, or drop what acts' END);
END;

-- tables_now, no_views, keys_now: what must not change during a run without a look at it: which tables these are, and what acts on them. A
-- table has no number that an account without special rights may see: each change of it sets the time at which it was made.
--# create procedure tables_now
CREATE PROCEDURE tables_now(OUT o_tables longtext, OUT o_names longtext, OUT o_made datetime)
SQL SECURITY DEFINER
COMMENT 'The tables of the spec, their engines and when they were made; all tables of their database with that time, between bars;
    and the latest of these times.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_schema varchar(64);
    DECLARE v_known  longtext;
    SET SESSION group_concat_max_len = 67108864;
    CALL known_names(false, v_schema, v_known);
    -- By the name in a variable: MariaDB reads every database for one that it has to look up.
    SELECT
        GROUP_CONCAT(IF(t.is_known, CONCAT('table ', t.name, ' ', COALESCE(t.engine, 'none'), ' ', t.made), NULL)
            ORDER BY t.name SEPARATOR '|'),
        CONCAT('|', GROUP_CONCAT(CONCAT(t.name, ' ', t.made) ORDER BY t.name SEPARATOR '|'), '|'),
        MAX(t.create_time)
    INTO o_tables, o_names, o_made
    FROM (
        SELECT
            t.table_name AS name, t.engine, t.create_time, COALESCE(t.create_time, '') AS made,
            LOCATE(CONCAT('|', IF(@@GLOBAL.lower_case_table_names = 0, t.table_name, LOWER(t.table_name)), '|'), v_known) > 0 AS is_known
        FROM information_schema.tables AS t
        WHERE t.table_schema = v_schema
    ) AS t;
    SET SESSION group_concat_max_len = v_length;
END;
--# create procedure no_views
CREATE PROCEDURE no_views(OUT o_none boolean)
SQL SECURITY DEFINER
COMMENT 'Whether no table of the spec has become a view, and none can until the transaction ends. Asked on MariaDB only: version 10.11
    crashes where a call executes a statement of a routine again whose table is a view by then.'
BEGIN
    DECLARE v_tables longtext;
    DECLARE v_names  longtext;
    DECLARE v_made   datetime;
    -- It is gone, is being altered, or names what is gone.
    DECLARE EXIT HANDLER FOR 1146, 1205, 1356
    BEGIN
        SET o_none = false;
    END;
    SET o_none = true;
    IF VERSION() LIKE '%MariaDB%' THEN
        SET SESSION lock_wait_timeout = 1;
        CALL take_tables(NULL);
        CALL tables_now(v_tables, v_names, v_made);
        -- A view has no engine.
        SET o_none = v_tables NOT LIKE '% none %';
    END IF;
END;
--# create procedure keys_now
CREATE PROCEDURE keys_now(IN p_beside boolean, IN p_all boolean, OUT o_keys longtext)
SQL SECURITY DEFINER
COMMENT 'The foreign keys that act where rows of the spec are deleted or set, between bars. p_beside: only those of tables of other
    databases. p_all: also those that only refuse where rows are deleted.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_count  bigint;
    DECLARE v_here   varchar(400);
    DECLARE v_going  longtext;
    DECLARE v_set    longtext;
    DECLARE EXIT HANDLER FOR 1227
    BEGIN
        CALL keys_readable(p_beside, p_all, o_keys, v_count);
        SET SESSION group_concat_max_len = v_length;
    END;
    SET SESSION group_concat_max_len = 67108864;
    /*!80000 CALL keys_readable(p_beside, p_all, o_keys, v_count); */
    -- 1: ON DELETE CASCADE, 2: ON DELETE SET NULL. ON UPDATE, whatever it does counts.
    /*M!
    SELECT
        CONCAT(MAX(n.here), '/'),
        CONCAT('|', COALESCE(GROUP_CONCAT(IF(n.goes, n.name, NULL) SEPARATOR '|'), ''), '|'),
        CONCAT('|', COALESCE(GROUP_CONCAT(IF(n.is_set, n.name, NULL) SEPARATOR '|'), ''), '|')
    INTO v_here, v_going, v_set
    FROM (
        SELECT
            CAST(CONVERT(IF(@@GLOBAL.lower_case_table_names = 0, s.schema_name, LOWER(s.schema_name)) USING filename) AS binary) AS here,
            CAST(CONVERT(IF(@@GLOBAL.lower_case_table_names = 0, k.name, LOWER(k.name)) USING filename) AS binary) AS name,
            k.goes,
            EXISTS (SELECT 1 FROM known_column AS c WHERE c.table_name = k.name AND c.is_set) AS is_set
        FROM known_table AS k
        CROSS JOIN spec AS s
    ) AS n;
    SELECT COALESCE(GROUP_CONCAT(CONCAT('key ', f.id, ' ', f.for_name, ' ', f.ref_name, ' ', f.type) ORDER BY f.id SEPARATOR '|'), '')
    INTO o_keys
    FROM information_schema.innodb_sys_foreign AS f
    WHERE NOT (p_beside AND CAST(LEFT(f.for_name, CHAR_LENGTH(v_here)) AS binary) = v_here)
      AND CAST(LEFT(f.ref_name, CHAR_LENGTH(v_here)) AS binary) = v_here
      AND LOCATE(
          CAST(CONCAT('|', SUBSTR(f.ref_name, CHAR_LENGTH(v_here) + 1), '|') AS binary),
          CONCAT(IF(p_all OR f.type & 3 <> 0, v_going, ''), v_set)
      ) > 0;
    */
    SET SESSION group_concat_max_len = v_length;
END;

-- keys_readable: the same as information_schema has it. To find keys, MariaDB opens every table, so that it asks InnoDB instead,
-- which knows names as files have them and answers who has the right PROCESS.
--# create procedure keys_readable
CREATE PROCEDURE keys_readable(IN p_beside boolean, IN p_all boolean, OUT o_keys longtext, OUT o_count bigint)
SQL SECURITY DEFINER
COMMENT 'What keys_now() answers, as far as the owner role may read it, and how many keys these are.'
BEGIN
    DECLARE v_schema varchar(64);
    DECLARE v_going  longtext;
    DECLARE v_sets   longtext;
    DECLARE v_set    longtext;
    CALL known_names(true, v_schema, v_going);
    CALL known_sets(v_sets, v_set);
    SELECT COALESCE(GROUP_CONCAT(
        CONCAT('key ', f.constraint_schema, '.', f.table_name, '.', f.constraint_name, ' ', f.referenced_table_name, ' ', f.delete_rule,
            ' ', f.update_rule)
        ORDER BY f.constraint_schema, f.table_name, f.constraint_name SEPARATOR '|'
    ), ''), COUNT(*)
    INTO o_keys, o_count
    FROM information_schema.referential_constraints AS f
    WHERE NOT (p_beside AND f.constraint_schema = v_schema)
      AND f.unique_constraint_schema = v_schema
      AND LOCATE(
          CONCAT('|', IF(@@GLOBAL.lower_case_table_names = 0, f.referenced_table_name, LOWER(f.referenced_table_name)), '|'),
          CONCAT(
              IF(p_all OR f.delete_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT'), v_going, ''),
              IF(f.update_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT' /*M! , 'NO ACTION', 'RESTRICT' */), v_set, '')
          )
      ) > 0;
END;

-- read_catalog: what a run begins with. It is read before it is judged: what comes meanwhile, or later, is a change that the
-- first batch sees.
--# create procedure read_catalog
CREATE PROCEDURE read_catalog()
SQL SECURITY DEFINER
COMMENT 'Reads what the catalog says into @windrow_state, @windrow_names (behind the checksum of the spec), @windrow_made and
    @windrow_beside, for note_catalog(); @windrow_referred: whether any foreign key refers to rows that are deleted.'
BEGIN
    DECLARE v_state  longtext;
    DECLARE v_names  longtext;
    DECLARE v_made   datetime;
    DECLARE v_beside longtext;
    CALL tables_now(v_state, v_names, v_made);
    CALL keys_now(false, true, v_beside);
    SET @windrow_referred = v_beside <> '';
    CALL keys_now(false, false, v_beside);
    -- Another spec may account for less.
    SET v_names = CONCAT((SELECT SHA2(s.document, 256) FROM spec AS s), v_names);
    SET @windrow_state = v_state, @windrow_names = v_names, @windrow_made = v_made, @windrow_beside = v_beside;
END;

-- names_column: whether a change of what a column holds matters: where its name is a word of what the spec says, or of a statement that is
-- made of it. In whose table it stands there is not asked, and a body that cannot be read may name any column.
--# create procedure names_column
CREATE PROCEDURE names_column(IN p_column varchar(64), OUT o_names boolean)
SQL SECURITY DEFINER
COMMENT 'Whether the documents or routines of a rule name a column p_column, of whichever table.'
BEGIN
    DECLARE v_column  varchar(64) DEFAULT LOWER(p_column);
    -- Other names are looked for as they are.
    DECLARE v_plain   boolean DEFAULT LOWER(p_column) REGEXP '^[a-z0-9_]+$';
    DECLARE v_pattern varchar(200) DEFAULT CONCAT('(^|[^a-z0-9_$])', LOWER(p_column), '($|[^a-z0-9_$])');
    -- A document has the names of its fields, too.
    DECLARE v_value   varchar(200) DEFAULT CONCAT('(^|[^a-z0-9_$])', LOWER(p_column), '($|[^a-z0-9_$"]|"[^:])');
    SELECT COALESCE(MAX(k.says), true)
    INTO o_names
    FROM (
        SELECT r.body IS NULL OR IF(v_plain, r.body REGEXP v_pattern, LOCATE(v_column, r.body) > 0) AS says
        FROM (
            SELECT DISTINCT n.routine
            FROM known_routine AS n
            WHERE n.file LIKE '30#_%' ESCAPE '#'
               OR n.file IN ('36_waits.sql', '42_stamp.sql')
        ) AS w
        LEFT JOIN (
            SELECT r.routine_name, LOWER(CONVERT(r.routine_definition USING utf8mb4)) AS body
            FROM information_schema.routines AS r
            WHERE r.routine_schema = DATABASE()
              AND r.routine_type = 'PROCEDURE'
            -- With a limit, each routine is read once, and not for each name that is joined with it.
            LIMIT 1000000
        ) AS r ON r.routine_name = w.routine
    ) AS k;
    IF NOT o_names THEN
        SELECT COUNT(*) > 0
        INTO o_names
        FROM (
            SELECT LOWER(CAST(r.document AS char CHARACTER SET utf8mb4)) AS text FROM rule AS r
            UNION ALL
            SELECT LOWER(e.kept) FROM known_edge AS e
        ) AS d
        WHERE IF(v_plain, d.text REGEXP v_value, LOCATE(v_column, d.text) > 0);
    END IF;
END;

-- replaced: a table that is another one than it was, or whose rows compare otherwise. Each ALTER TABLE makes a table anew: that
-- another one was put in its place is shown by a table that was made or renamed since, too, and has the columns that it has, or all
-- those that it had.
--# create procedure replaced
CREATE PROCEDURE replaced(IN p_run bigint, IN p_elsewhere boolean, OUT o_reason longtext)
SQL SECURITY DEFINER
COMMENT 'The first table that is another one than catalog_state says for run p_run, unless another server made that note
    (p_elsewhere), or has other columns for its keys and edges, or these in another order, or another kind of values in a column
    that the rules name; NULL if none is.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_then   longtext;
    DECLARE v_names  longtext;
    DECLARE v_shapes longtext;
    DECLARE v_now    longtext DEFAULT @windrow_shapes;
    DECLARE v_schema varchar(64);
    DECLARE v_known  longtext;
    DECLARE v_others longtext;
    DECLARE v_moved  longtext;
    DECLARE v_table  varchar(64);
    DECLARE v_column varchar(64);
    DECLARE v_named  boolean;
    SET SESSION group_concat_max_len = 67108864;
    CALL known_names(false, v_schema, v_known);
    SELECT MAX(s.state), MAX(s.names), MAX(s.shapes) INTO v_then, v_names, v_shapes FROM catalog_state AS s WHERE s.run_id = p_run;
    -- Tables that are not the ones that they were, and for each those that are new or were recreated and have its columns, or those of
    -- the table that was there.
    WITH made AS (
        SELECT
            t.table_name AS name,
            GROUP_CONCAT(c.column_name ORDER BY c.column_name) AS shape,
            CONCAT('|', GROUP_CONCAT(
                CONCAT('?.', c.column_name, '|', CONCAT_WS(' ', LEFT(REPLACE(c.column_type, '|', '/'), 230), c.collation_name))
                ORDER BY c.ordinal_position SEPARATOR '|'
            ), '|') AS described,
            MAX(
                LOCATE(CONCAT('|', IF(@@GLOBAL.lower_case_table_names = 0, t.table_name, LOWER(t.table_name)), '|'), v_known) > 0
                AND LOCATE(CONCAT('|table ', t.table_name, ' ', COALESCE(t.engine, 'none'), ' ', COALESCE(t.create_time, ''), '|'),
                    CONCAT('|', v_then, '|')) = 0
            ) AS differs,
            MAX(LOCATE(CONCAT('|', t.table_name, ' ', COALESCE(t.create_time, ''), '|'), v_names) = 0) AS is_new
        FROM information_schema.tables AS t
        JOIN information_schema.columns AS c ON c.table_schema = v_schema AND c.table_name = t.table_name
        WHERE t.table_schema = v_schema
        GROUP BY t.table_name
    )
    SELECT MIN(CONCAT('table ', t.name, ' is another one, put in the place of the one that was there'))
    INTO o_reason
    FROM made AS t
    JOIN made AS o
        ON o.name <> t.name
        AND (
            o.shape = t.shape
            OR LOCATE(REPLACE(o.described, '|?.', CONCAT('|', t.name, '.')), v_shapes) > 0
               AND LOCATE(CONCAT(REPLACE(o.described, '|?.', CONCAT('|', t.name, '.')), t.name, '.'), v_shapes) = 0
        )
    WHERE t.differs
      AND o.is_new
      AND NOT p_elsewhere;
    IF o_reason IS NULL THEN
        IF NOT v_now <=> v_shapes THEN
            CALL read_shapes();
            SELECT MIN(CONCAT('table ', s.table_name, ' has other columns for its keys or edges, by name, type or collation'))
            INTO o_reason
            FROM work_shape AS s
            WHERE s.is_known
              AND LOCATE(CONCAT('|', s.table_name, '.', s.column_name, '|', s.type, '|'), v_shapes) = 0
              -- An installation may know more tables.
              AND LOCATE(CONCAT('|', s.table_name, '.'), v_shapes) > 0;
            IF o_reason IS NULL THEN
                -- Among the columns that were there and are, each has its place. A column is known by nothing else but its name.
                SELECT
                    MIN(CASE WHEN r.is_known THEN CONCAT('table ', r.table_name, ' has its columns in another order: another column may be '
                        'in the place of one of its keys or edges') END),
                    COALESCE(JSON_ARRAYAGG(JSON_ARRAY(r.table_name, r.column_name)), '[]')
                INTO o_reason, v_moved
                FROM (
                    SELECT
                        c.table_name, c.column_name, c.is_known,
                        ROW_NUMBER() OVER (PARTITION BY c.table_name ORDER BY c.was_at) AS place_then,
                        ROW_NUMBER() OVER (PARTITION BY c.table_name ORDER BY c.position) AS place_now
                    FROM (
                        SELECT
                            s.table_name, s.column_name, s.is_known, s.position,
                            LOCATE(CONCAT('|', s.table_name, '.', s.column_name, '|'), v_shapes) AS was_at
                        FROM work_shape AS s
                    ) AS c
                    WHERE c.was_at > 0
                ) AS r
                WHERE r.place_then <> r.place_now;
            END IF;
            IF o_reason IS NULL THEN
                -- A text that a condition names is 0 where numbers are compared with it. A TIMESTAMP is an instant and a DATETIME what the
                -- clock of the application says, so that they differ by hours. A collation says which letters are the same, whether
                -- blanks at the end count, and the order: only its name says all of that, which is the same for 3 and 4 bytes of UTF-8.
                -- An ENUM is sorted by the order of its labels; others may follow them.
                SELECT COALESCE(JSON_ARRAYAGG(JSON_ARRAY(d.table_name, d.column_name)), '[]')
                INTO v_others
                FROM (
                    SELECT MIN(k.table_name) AS table_name, MIN(k.column_name) AS column_name
                    FROM (
                        SELECT
                            c.place, c.table_name, c.column_name,
                            CASE
                                -- What is filled up to its length has other texts, and so has a number with digits behind the point.
                                WHEN c.type REGEXP '^(bit|binary|float|double)|zerofill$' THEN c.type
                                WHEN c.type REGEXP '^((tiny|small|medium|big)?int|decimal[(][0-9]+,0[)])' THEN 'number'
                                WHEN c.type LIKE 'decimal%' THEN CONCAT('decimal', REGEXP_SUBSTR(c.type, ',[0-9]+'))
                                WHEN c.type REGEXP '^(var)?binary|^[a-z]*blob' THEN 'bytes'
                                WHEN c.type REGEXP '^(enum|set|(var)?char|[a-z]*text)' THEN CONCAT(
                                    IF(c.type REGEXP '^(enum|set)', CONCAT(LEFT(c.type, 3), ' ', c.follows, ' '), ''),
                                    -- Without the blanks at its end.
                                    IF(c.type LIKE 'char%', 'char ', ''),
                                    REGEXP_REPLACE(SUBSTRING_INDEX(c.type, ' ', -1), '^utf8(mb[34])?_', 'utf8_')
                                )
                                ELSE REGEXP_SUBSTR(c.type, '^[a-z0-9]+')
                            END AS kind
                        FROM (
                            SELECT
                                t.place, t.table_name, t.column_name,
                                -- Each number of a float is one of a double.
                                IF(w.is_now AND NOT (t.type_then LIKE 'float%' AND t.type_now = 'double'), t.type_now, t.type_then) AS type,
                                -- Whether the labels that there were begin those that there are, without the bracket behind them.
                                IF(w.is_now, LOCATE(
                                    TRIM(TRAILING ')' FROM LEFT(t.type_then, GREATEST(
                                        CHAR_LENGTH(t.type_then) - CHAR_LENGTH(SUBSTRING_INDEX(t.type_then, ' ', -1)) - 1, 0
                                    ))), t.type_now
                                ), 1) AS follows
                            FROM (
                                SELECT
                                    s.place, s.table_name, s.column_name, s.type AS type_now,
                                    SUBSTRING_INDEX(SUBSTR(
                                        v_shapes,
                                        LOCATE(CONCAT('|', s.table_name, '.', s.column_name, '|'), v_shapes)
                                            + CHAR_LENGTH(CONCAT(s.table_name, s.column_name)) + 3,
                                        300
                                    ), '|', 1) AS type_then
                                FROM work_shape AS s
                                WHERE LOCATE(CONCAT('|', s.table_name, '.', s.column_name, '|'), v_shapes) > 0
                            ) AS t
                            CROSS JOIN (SELECT true AS is_now UNION ALL SELECT false) AS w
                        ) AS c
                    ) AS k
                    GROUP BY k.place
                    HAVING MIN(k.kind) <> MAX(k.kind)
                ) AS d;
                WHILE o_reason IS NULL AND JSON_LENGTH(v_others) > 0 DO
                    SET v_table = JSON_VALUE(v_others, '$[0][0]'), v_column = JSON_VALUE(v_others, '$[0][1]');
                    CALL names_column(v_column, v_named);
                    IF v_named THEN
                        SET o_reason = CONCAT('table ', v_table, ' has another kind of values in column ', v_column);
                    END IF;
                    SET v_others = JSON_REMOVE(v_others, '$[0]');
                END WHILE;
                WHILE o_reason IS NULL AND JSON_LENGTH(v_moved) > 0 DO
                    SET v_table = JSON_VALUE(v_moved, '$[0][0]'), v_column = JSON_VALUE(v_moved, '$[0][1]');
                    CALL names_column(v_column, v_named);
                    IF v_named THEN
                        SET o_reason = CONCAT('table ', v_table, ' may have another column in the place of ', v_column,
                            ': its columns have another order');
                    END IF;
                    SET v_moved = JSON_REMOVE(v_moved, '$[0]');
                END WHILE;
            END IF;
            DROP TEMPORARY TABLE work_shape;
        END IF;
    END IF;
    SET SESSION group_concat_max_len = v_length;
END;

-- note_clean, shapes_while_clean: what the catalog says while nothing acts. As long as it says the same, unaccounted() need not
-- look for what acts, which takes four times as long. The time at which a table was made is known in whole seconds: a change
-- within the second of the one before it shows nowhere, so that nothing is noted for two seconds.
--# create procedure note_clean
CREATE PROCEDURE note_clean()
SQL SECURITY DEFINER
COMMENT 'Notes what read_catalog() and read_shapes() have read, after unaccounted() found nothing; also for a server of a cluster
    that has noted nothing yet.'
BEGIN
    DECLARE v_made      datetime DEFAULT @windrow_made;
    DECLARE v_number    bigint;
    DECLARE v_elsewhere boolean;
    IF v_made < NOW() - INTERVAL 2 SECOND THEN
        CALL note_catalog(-1);
    END IF;
    CALL noted_here(v_number, v_elsewhere);
    IF v_elsewhere THEN
        CALL node_number(v_number);
        CALL note_catalog(v_number);
    END IF;
END;
--# create procedure shapes_while_clean
CREATE PROCEDURE shapes_while_clean(OUT o_shapes longtext)
SQL SECURITY DEFINER
COMMENT 'The columns of the tables, where the catalog says what it said when note_clean() noted it; else NULL.'
BEGIN
    DECLARE v_state  longtext DEFAULT @windrow_state;
    DECLARE v_names  longtext DEFAULT @windrow_names;
    DECLARE v_beside longtext DEFAULT @windrow_beside;
    SELECT MAX(s.shapes)
    INTO o_shapes
    FROM catalog_state AS s
    WHERE s.run_id = -1
      AND s.state = v_state
      AND s.names = v_names
      AND s.beside = v_beside;
END;

-- unfinished: while an installation is under way, or after it broke off, keys may be accounted for that the statements of a rule do not
-- know yet, and those statements may meet a judge of another version. Each file says at its end which routines it has made; the first
-- one forgets that. They are applied in the order of their names: 48_verify.sql is the last one with routines. 52_triggers.sql writes
-- the hash of a trigger once all of them are there: what they guard against comes from batches, so that there is none until then.
--# create procedure unfinished
CREATE PROCEDURE unfinished(OUT o_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Which file with routines or triggers an installation that has begun has not applied; NULL if there is none.'
BEGIN
    SELECT IF(
        COUNT(*) > SUM(f.applied) OR COUNT(*) = 2,
        CONCAT('an installation is not finished: it has not applied ',
            IF(COUNT(*) = 2, '11_spec.sql', MIN(IF(f.applied, NULL, f.file)))),
        NULL
    )
    INTO o_reason
    FROM (
        SELECT
            CONCAT('30_', r.rule, '.sql') AS file,
            EXISTS (SELECT 1 FROM known_routine AS n WHERE n.file = CONCAT('30_', r.rule, '.sql')) AS applied
        FROM rule AS r
        UNION ALL
        SELECT '48_verify.sql', EXISTS (SELECT 1 FROM known_routine AS n WHERE n.file = '48_verify.sql')
        UNION ALL
        SELECT '52_triggers.sql', NOT EXISTS (SELECT 1 FROM known_trigger AS t WHERE t.hash = '')
    ) AS f;
END;

-- noted_here: what the catalog said as windrow was armed counts where it was armed. Each server of a cluster made its tables at a time
-- of its own: there it is noted with a number below -1 that stands for the server. One without such a note has not deleted anything
-- since somebody armed the cluster: only the columns can be compared, which are the same everywhere.
--# create procedure node_number
CREATE PROCEDURE node_number(OUT o_number bigint)
SQL SECURITY DEFINER
COMMENT 'The number that stands for this server in catalog_state.'
BEGIN
    DECLARE v_node varchar(700);
    DECLARE v_made varchar(32);
    CALL identity_of(false, v_node);
    -- A server that was filled anew from another one has the notes of that time, and tables that were made since: latch, which no
    -- installation alters, too.
    SELECT MAX(t.create_time) INTO v_made
    FROM information_schema.tables AS t
    WHERE t.table_schema = DATABASE()
      AND t.table_name = 'latch';
    SET o_number = -2 - CAST(CRC32(CONCAT_WS(' ', v_node, v_made)) AS signed);
END;
--# create procedure noted_here
CREATE PROCEDURE noted_here(OUT o_number bigint, OUT o_elsewhere boolean)
SQL SECURITY DEFINER
COMMENT 'The number under which catalog_state says what this server has to compare: its own, or 0, which with o_elsewhere is a note of
    another server of the cluster that is armed; NULL where nobody armed this server or its cluster.'
BEGIN
    DECLARE v_armed_on varchar(700);
    DECLARE v_identity varchar(700);
    SET o_number = NULL, o_elsewhere = false;
    SELECT c.server_identity INTO v_armed_on FROM control AS c WHERE c.armed;
    IF v_armed_on LIKE 'cluster %' THEN
        CALL cluster_here(v_armed_on, v_identity);
        IF v_armed_on = v_identity THEN
            CALL node_number(o_number);
            SELECT COUNT(*) = 0 INTO o_elsewhere FROM catalog_state AS s WHERE s.run_id = o_number;
            SET o_number = IF(o_elsewhere, 0, o_number);
        END IF;
    ELSEIF v_armed_on IS NOT NULL THEN
        CALL server_identity(v_identity);
        SET o_number = IF(v_armed_on = v_identity, 0, NULL);
    END IF;
END;

-- unaccounted: why no run may start, by the catalog. What was there when windrow was armed counts only where it was armed.
--# create procedure unaccounted
CREATE PROCEDURE unaccounted(OUT o_reason longtext)
SQL SECURITY DEFINER
COMMENT 'An installation that is not finished, the first thing in the catalog by which a deletion would reach further than
    the spec says, or a table that is not the one that was armed; NULL if there is none.'
BEGIN
    DECLARE v_number    bigint;
    DECLARE v_elsewhere boolean;
    DECLARE v_then      longtext;
    DECLARE v_now       longtext;
    DECLARE v_shapes    longtext;
    CALL read_catalog();
    CALL shapes_while_clean(v_shapes);
    CALL unfinished(o_reason);
    IF o_reason IS NOT NULL THEN
        SET @windrow_shapes = NULL, @windrow_made = NULL;
    ELSEIF v_shapes IS NULL THEN
        CALL stranger(o_reason);
    ELSE
        -- It is noted already.
        SET @windrow_shapes = v_shapes, @windrow_made = NULL;
    END IF;
    IF o_reason IS NULL THEN
        CALL noted_here(v_number, v_elsewhere);
        SELECT MAX(a.state) INTO v_then FROM catalog_state AS a WHERE a.run_id = v_number;
        SET v_now = @windrow_state;
        IF v_then <> v_now THEN
            CALL replaced(v_number, v_elsewhere, o_reason);
            SET o_reason = CONCAT('catalog changed: ', o_reason);
        END IF;
    END IF;
END;

-- check_catalog: a manual run, a purge and arm() get an error.
--# create procedure check_catalog
CREATE PROCEDURE check_catalog()
SQL SECURITY DEFINER
COMMENT 'Raises 55000 where unaccounted() finds something.'
BEGIN
    DECLARE v_reason longtext;
    CALL unaccounted(v_reason);
    IF v_reason LIKE 'catalog changed%' THEN
        CALL not_ready(v_reason, CONCAT('look at both tables, then CALL ', DATABASE(), '.arm()'));
    ELSEIF v_reason LIKE 'an installation is not finished%' THEN
        CALL not_ready(v_reason, 'let it finish, or run windrow install again');
    ELSEIF v_reason IS NOT NULL THEN
        CALL refuse_stranger(v_reason);
    END IF;
END;

-- note_catalog: what the catalog said when it was judged, for a run, or for as long as windrow is armed (p_run 0).
--# create procedure note_catalog
CREATE PROCEDURE note_catalog(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Writes to catalog_state what read_catalog() and read_shapes() have read. p_run 0: also for this server, and forgets what
    others of its cluster have noted.'
BEGIN
    DECLARE v_state  longtext DEFAULT COALESCE(@windrow_state, '');
    DECLARE v_beside longtext DEFAULT COALESCE(@windrow_beside, '');
    DECLARE v_names  longtext DEFAULT COALESCE(@windrow_names, '');
    DECLARE v_shapes longtext DEFAULT COALESCE(@windrow_shapes, '');
    DECLARE v_number bigint;
    REPLACE INTO catalog_state (run_id, state, beside, names, shapes, taken_at)
    VALUES (p_run, v_state, v_beside, v_names, v_shapes, UTC_TIMESTAMP(6));
    IF p_run = 0 THEN
        CALL node_number(v_number);
        DELETE FROM catalog_state WHERE run_id < -1;
        INSERT INTO catalog_state (run_id, state, beside, names, shapes, taken_at)
        VALUES (v_number, v_state, v_beside, v_names, v_shapes, UTC_TIMESTAMP(6));
    END IF;
END;

-- note_installed: who installs on a server that is armed takes the tables as they are now.
--# create procedure note_installed
CREATE PROCEDURE note_installed()
SQL SECURITY DEFINER
COMMENT 'Calls note_shapes(), and note_catalog(0) where windrow is armed on this server or its cluster.'
BEGIN
    DECLARE v_number    bigint;
    DECLARE v_elsewhere boolean;
    CALL note_shapes();
    CALL noted_here(v_number, v_elsewhere);
    IF v_number IS NOT NULL THEN
        CALL read_catalog();
        CALL read_shapes();
        DROP TEMPORARY TABLE work_shape;
        CALL note_catalog(0);
    END IF;
END;

-- look_again: whether the catalog is still as it was when the run began. A batch asks for the tables when it has read all of
-- them, which keeps them from being altered until it ends; and for the keys before it commits: MariaDB lets another table refer
-- to them meanwhile. A key that did something keeps its table from being altered, too, and is seen then. One that refuses an
-- UPDATE that joins tables must be seen before: no handler of MariaDB sees that error.
--# create procedure look_again
CREATE PROCEDURE look_again(IN p_run bigint, IN p_last boolean, OUT o_changed boolean)
SQL SECURITY DEFINER
COMMENT 'Whether the tables of the spec, or with p_last the foreign keys that act on them, are not those with which run p_run began.'
BEGIN
    DECLARE v_then   longtext;
    DECLARE v_before longtext;
    DECLARE v_now    longtext;
    DECLARE v_names  longtext;
    DECLARE v_made   datetime;
    SELECT MAX(s.state), MAX(s.beside) INTO v_then, v_before FROM catalog_state AS s WHERE s.run_id = p_run;
    SET o_changed = false;
    IF NOT p_last THEN
        CALL tables_now(v_now, v_names, v_made);
        SET o_changed = NOT v_now <=> v_then;
    END IF;
    IF NOT o_changed AND (p_last OR EXISTS (SELECT 1 FROM known_column AS k WHERE k.is_set)) THEN
        CALL keys_now(false, false, v_now);
        SET o_changed = NOT v_now <=> v_before;
    END IF;
END;

-- judge_catalog: what a change of the catalog means for a run, once its batch is rolled back. What does no harm is noted, and
-- the run continues.
--# create procedure judge_catalog
CREATE PROCEDURE judge_catalog(IN p_run bigint, OUT o_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Why run p_run must end: something acts that the spec does not know, or a table is another one than when it
    began; else NULL, and the catalog is noted as it is.'
BEGIN
    CALL read_catalog();
    CALL stranger(o_reason);
    -- What an installation has accounted for meanwhile, its statements may not know yet.
    IF o_reason IS NULL THEN
        CALL unfinished(o_reason);
    END IF;
    IF o_reason IS NULL THEN
        CALL replaced(p_run, false, o_reason);
    END IF;
    IF o_reason IS NULL THEN
        CALL note_catalog(p_run);
    END IF;
    SET o_reason = LEFT(CONCAT('catalog changed: ', o_reason), 900);
END;
