-- rule: what the spec says of each rule. Filled by register_rule(), from the document in the file of the rule.
--# create table rule
CREATE TABLE IF NOT EXISTS rule (
    rule          varchar(64)  NOT NULL PRIMARY KEY,
    position      int          NOT NULL,
    strategy      varchar(20)  NOT NULL,
    root          varchar(64)  NOT NULL,
    time_name     varchar(200) NOT NULL,
    zoned         boolean      NOT NULL,
    scope_name    varchar(64),
    scope_type    varchar(20),
    retention     bigint,
    minimum       bigint       NOT NULL,
    retained      boolean      NOT NULL,
    opt_in        boolean      NOT NULL,
    divided       boolean      NOT NULL,
    batch_setting varchar(64)  NOT NULL,
    document      json         NOT NULL,
    UNIQUE KEY (position)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The rules of the spec, in the order in which a run takes them. root: the table whose rows a rule looks
        at; time_name: what rows become due by, zoned: it is an instant; scope_name: the column of the policies;
        retention (NULL: none by default) and minimum in seconds; retained: a retention counts at all; opt_in: only
        scopes with a policy are cleaned; divided: workers share its families out; batch_setting: what a batch takes;
        document: all that the spec says. Written by an installation.';

-- rule_refers: which columns the keys of holds and the scopes of policies are values of. A hold or a policy notes it when the next
-- installation begins: by then the spec may have other columns for the rule of that name.
--# create view rule_refers
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rule_refers (rule, kind, refers_to) AS
SELECT
    r.rule, 'hold',
    LOWER(CONCAT(r.root, REPLACE(REPLACE(REPLACE(
        REGEXP_REPLACE(CAST(JSON_EXTRACT(r.document, '$.key') AS char CHARACTER SET utf8mb4), ' [a-z]+"', '"'),
        '["', '('), '"]', ')'), '", "', ', ')))
FROM rule AS r
UNION ALL
SELECT r.rule, 'policy', LOWER(CONCAT(r.root, '.', r.scope_name))
FROM rule AS r
WHERE r.scope_name IS NOT NULL;

-- rule_table: the tables whose rows are deleted.
--# create table rule_table
CREATE TABLE IF NOT EXISTS rule_table (
    rule       varchar(64) NOT NULL,
    position   int         NOT NULL,
    table_name varchar(64) NOT NULL,
    PRIMARY KEY (rule, position)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The tables whose rows a rule deletes, in the order of deletion. Written by an installation.';

-- rule_limit: what the spec says of each setting of a rule.
--# create table rule_limit
CREATE TABLE IF NOT EXISTS rule_limit (
    rule  varchar(64) NOT NULL,
    name  varchar(64) NOT NULL,
    value bigint      NOT NULL,
    PRIMARY KEY (rule, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The limits of the spec, which table setting overrides; view settings has both. Written by an installation.';

-- catalog_state: what the catalog said of the tables of the spec: when nothing was seen to act (run_id -1), when somebody armed
-- windrow (run_id 0), and when each run that is open began.
--# create table catalog_state
CREATE TABLE IF NOT EXISTS catalog_state (
    run_id   bigint      NOT NULL PRIMARY KEY,
    state    longtext    NOT NULL,
    beside   longtext    NOT NULL,
    names    longtext    NOT NULL,
    shapes   longtext    NOT NULL,
    taken_at datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'What the catalog said when nothing was seen to act (run_id -1), when somebody armed windrow or installed it
        anew (run_id 0), and when each open run began: tables_now(), keys_now() and the columns of the tables. Every batch compares it.';

-- known_table: the tables of the application, and the columns that show which rows belong together.
--# create table known_table
CREATE TABLE IF NOT EXISTS known_table (
    name    varchar(64) NOT NULL PRIMARY KEY,
    goes    boolean     NOT NULL,
    ignored boolean     NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The tables of the spec. goes: its rows are deleted; ignored: the spec looks away from it. Written by an installation.';
--# create table known_column
CREATE TABLE IF NOT EXISTS known_column (
    table_name  varchar(64) NOT NULL,
    column_name varchar(64) NOT NULL,
    is_set      boolean     NOT NULL,
    PRIMARY KEY (table_name, column_name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The columns of the keys and edges of the tables of the spec, and those that are set. Written by an installation.';

-- known_key: the foreign keys that act, as the spec accounts for them.
--# create table known_key
CREATE TABLE IF NOT EXISTS known_key (
    position   int           NOT NULL AUTO_INCREMENT PRIMARY KEY,
    table_name varchar(64)   NOT NULL,
    pairs      varchar(2000) NOT NULL,
    parent     varchar(64)   NOT NULL,
    effects    varchar(100)  NOT NULL,
    KEY (table_name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'What the spec says of foreign keys. pairs: their columns and what these name, sorted, in lower case;
        effects: what they may do as a row goes, as information_schema has it. Written by an installation.';

-- known_edge: which column holds a value of which other.
--# create table known_edge
CREATE TABLE IF NOT EXISTS known_edge (
    edge       int         NOT NULL,
    place      int         NOT NULL,
    table_name varchar(64) NOT NULL,
    own        varchar(64) NOT NULL,
    parent     varchar(64) NOT NULL,
    named      varchar(64) NOT NULL,
    none       text,
    counts     boolean     NOT NULL,
    effects    varchar(3),
    kept       text,
    PRIMARY KEY (edge, place)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The edges of the spec, column by column. none: means no parent; counts: orphans are looked for. From an installation.';
--# add column known_edge.kept
CALL add_column('known_edge', 'kept', 'text AFTER effects');

-- known_index: the indexes that the statements need. known_window: when scheduled runs may work, by the spec.
--# create table known_index
CREATE TABLE IF NOT EXISTS known_index (
    table_name  varchar(64)  NOT NULL,
    index_name  varchar(64)  NOT NULL,
    place       int          NOT NULL,
    column_name varchar(255) NOT NULL,
    PRIMARY KEY (table_name, index_name, place)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The indexes that the statements need, column by column; any index that leads with these columns can be used, whoever
        created it. Written by an installation.';
--# create table known_window
CREATE TABLE IF NOT EXISTS known_window (
    position integer      NOT NULL PRIMARY KEY,
    written  varchar(255) NOT NULL,
    days     varchar(7)   NOT NULL,
    begins   time         NOT NULL,
    ends     time         NOT NULL,
    zone     varchar(64)  NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'When scheduled runs may work, according to the spec. Written by an installation.';

-- index_state: of every index that the statements need, whether one that leads with its columns may be used, whoever made it, and
-- whether its own name is there. MariaDB reads one database only where its name is known before the catalog is read.
--# create view index_state
CREATE OR REPLACE SQL SECURITY INVOKER VIEW index_state (table_name, index_name, usable, found) AS
SELECT c.table_name, c.index_name, MAX(c.usable), MAX(c.found)
FROM (
    SELECT
        w.table_name,
        w.index_name,
        COUNT(s.serves) = w.width AS usable,
        COALESCE(s.index_name = w.index_name, false) AS found
    FROM (
        SELECT k.table_name, k.index_name, k.place, k.column_name, COUNT(*) OVER (PARTITION BY k.table_name, k.index_name) AS width
        FROM known_index AS k
    ) AS w
    LEFT JOIN (
        SELECT
            x.table_name, x.index_name, x.seq_in_index,
            LOWER(/*!80000 COALESCE(x.column_name, x.expression) */ /*M! x.column_name */) AS column_name,
            IF(x.collation = 'A' AND x.sub_part IS NULL AND /*!80000 x.is_visible = 'YES' */ /*M! x.ignored = 'NO' */, 1, NULL) AS serves
        FROM spec AS p
        JOIN information_schema.statistics AS x ON x.table_schema = CONVERT(p.schema_name USING utf8mb3) COLLATE utf8mb3_bin
        WHERE p.only_row = true
        LIMIT 1000000
    ) AS s
        ON s.table_name = w.table_name
        AND s.seq_in_index = w.place
        AND s.column_name = LOWER(w.column_name)
    GROUP BY w.table_name, w.index_name, w.width, s.index_name
) AS c
GROUP BY c.table_name, c.index_name;

-- known_job: what starts the scheduled runs. known_trigger: what refuses a row whose parent is gone.
--# create table known_job
CREATE TABLE IF NOT EXISTS known_job (
    name     varchar(64) NOT NULL PRIMARY KEY,
    minutes  varchar(300),
    hours    varchar(100),
    weekdays varchar(40),
    every    varchar(40),
    starts   datetime
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The events of the schedule, and when they may start: between commas, NULL: at any; weekdays: 0 is Sunday;
        every, starts: what the event itself says. Written by an installation.';
--# create table known_trigger
CREATE TABLE IF NOT EXISTS known_trigger (
    name varchar(64) NOT NULL PRIMARY KEY,
    hash varchar(64) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The triggers on tables of the application, and the hashes of their bodies. Written by an installation.';

-- register_spec: takes what the spec says of its tables. Holds and policies note the columns that they were set for.
--# create procedure register_spec
CREATE PROCEDURE register_spec()
SQL SECURITY DEFINER
COMMENT 'Takes what the spec says of its tables, indexes, windows and jobs from table spec.'
BEGIN
    DECLARE v_document longtext DEFAULT (SELECT s.document FROM spec AS s);
    SET SESSION group_concat_max_len = 65536;
    UPDATE hold AS h
    JOIN rule_refers AS n ON n.rule = h.rule AND n.kind = 'hold'
    SET h.refers_to = n.refers_to
    WHERE h.rule > ''
      AND h.refers_to IS NULL;
    UPDATE policy AS p
    JOIN rule_refers AS n ON n.rule = p.rule AND n.kind = 'policy'
    SET p.refers_to = n.refers_to
    WHERE p.rule > ''
      AND p.refers_to IS NULL;
    DELETE FROM known_table WHERE name > '';
    INSERT INTO known_table (name, goes, ignored)
    SELECT t.name, COALESCE(t.goes, 0), false
    FROM JSON_TABLE(v_document, '$.tables[*]' COLUMNS (name varchar(64) PATH '$.name', goes int PATH '$.goes')) AS t;
    INSERT IGNORE INTO known_table (name, goes, ignored)
    SELECT t.name, false, true
    FROM JSON_TABLE(v_document, '$.ignored[*]' COLUMNS (name varchar(64) PATH '$')) AS t;
    DELETE FROM known_column WHERE table_name > '';
    INSERT INTO known_column (table_name, column_name, is_set)
    SELECT t.name, t.column_name, false
    FROM JSON_TABLE(v_document, '$.tables[*]' COLUMNS (
        name varchar(64) PATH '$.name',
        NESTED PATH '$.columns[*]' COLUMNS (column_name varchar(64) PATH '$')
    )) AS t
    WHERE t.column_name IS NOT NULL;
    INSERT INTO known_column (table_name, column_name, is_set)
    SELECT t.name, t.column_name, true
    FROM JSON_TABLE(v_document, '$.tables[*]' COLUMNS (
        name varchar(64) PATH '$.name',
        NESTED PATH '$.sets[*]' COLUMNS (column_name varchar(64) PATH '$')
    )) AS t
    WHERE t.column_name IS NOT NULL
    ON DUPLICATE KEY UPDATE is_set = true;
    DELETE FROM known_edge WHERE edge > 0;
    INSERT INTO known_edge (edge, place, table_name, own, parent, named, none, counts, effects, kept)
    SELECT
        e.edge, COALESCE(e.place, e.place_named), MAX(e.table_name), MAX(e.own), MAX(e.parent), MAX(e.named), MAX(e.none),
        MAX(e.beside) = 0, MAX(e.effects), MAX(e.kept)
    FROM JSON_TABLE(v_document, '$.edges[*]' COLUMNS (
        edge FOR ORDINALITY, table_name varchar(64) PATH '$.table', parent varchar(64) PATH '$.parent', none text PATH '$.none',
        beside int EXISTS PATH '$.beside', effects varchar(3) PATH '$.effects', kept text PATH '$.kept',
        NESTED PATH '$.columns[*]' COLUMNS (place FOR ORDINALITY, own varchar(64) PATH '$'),
        NESTED PATH '$.named[*]' COLUMNS (place_named FOR ORDINALITY, named varchar(64) PATH '$')
    )) AS e
    GROUP BY e.edge, COALESCE(e.place, e.place_named);
    DELETE FROM known_key WHERE table_name > '';
    INSERT INTO known_key (table_name, pairs, parent, effects)
    SELECT
        MAX(k.table_name), GROUP_CONCAT(k.pair ORDER BY k.pair SEPARATOR ', '), MAX(k.parent),
        CONCAT_WS(',', IF(MAX(k.effects) LIKE '%c%', 'CASCADE', NULL), IF(MAX(k.effects) LIKE '%n%', 'SET NULL', NULL),
            IF(MAX(k.effects) LIKE '%d%', 'SET DEFAULT', NULL))
    FROM (
        SELECT e.edge AS number, e.table_name, LOWER(CONCAT(e.own, ' -> ', e.named)) AS pair, e.parent, e.effects
        FROM known_edge AS e
        WHERE e.effects IS NOT NULL
        UNION ALL
        -- Those of no edge.
        SELECT -b.number, MAX(b.table_name), LOWER(CONCAT(MAX(b.own), ' -> ', MAX(b.named))), MAX(b.parent), MAX(b.effects)
        FROM JSON_TABLE(v_document, '$.keys[*]' COLUMNS (
            number FOR ORDINALITY, table_name varchar(64) PATH '$.table_name', parent varchar(64) PATH '$.parent',
            effects varchar(3) PATH '$.effects',
            NESTED PATH '$.columns[*]' COLUMNS (place FOR ORDINALITY, own varchar(64) PATH '$'),
            NESTED PATH '$.named[*]' COLUMNS (place_named FOR ORDINALITY, named varchar(64) PATH '$')
        )) AS b
        GROUP BY b.number, COALESCE(b.place, b.place_named)
    ) AS k
    GROUP BY k.number;
    DELETE FROM known_index WHERE table_name > '';
    INSERT INTO known_index (table_name, index_name, place, column_name)
    SELECT k.table_name, k.index_name, k.place, k.column_name
    FROM JSON_TABLE(v_document, '$.indexes[*]' COLUMNS (
        table_name varchar(64) PATH '$.table_name', index_name varchar(64) PATH '$.index_name',
        NESTED PATH '$.columns[*]' COLUMNS (place FOR ORDINALITY, column_name varchar(255) PATH '$')
    )) AS k;
    DELETE FROM known_window WHERE position > 0;
    INSERT INTO known_window (position, written, days, begins, ends, zone)
    SELECT w.position, w.written, w.days, w.begins, w.ends, w.zone
    FROM JSON_TABLE(v_document, '$.windows[*]' COLUMNS (
        position FOR ORDINALITY, written varchar(255) PATH '$.written', days varchar(7) PATH '$.days',
        begins varchar(20) PATH '$.begins', ends varchar(20) PATH '$.ends', zone varchar(64) PATH '$.zone'
    )) AS w;
    DELETE FROM known_job WHERE name > '';
    INSERT INTO known_job (name, minutes, hours, weekdays, every, starts)
    SELECT j.name, j.minutes, j.hours, j.weekdays, j.every, j.starts
    FROM JSON_TABLE(v_document, '$.jobs[*]' COLUMNS (
        name varchar(64) PATH '$.name', minutes varchar(300) PATH '$.minutes',
        hours varchar(100) PATH '$.hours', weekdays varchar(40) PATH '$.weekdays',
        every varchar(40) PATH '$.every', starts varchar(20) PATH '$.starts'
    )) AS j;
    -- The file that makes a trigger writes its hash. Until then nobody knows whether it is the right one, and runs refuse; '-' is one that
    -- an installation was told to leave out.
    DELETE FROM known_trigger WHERE name > '';
    INSERT INTO known_trigger (name, hash)
    SELECT t.name, ''
    FROM JSON_TABLE(v_document, '$.triggers[*]' COLUMNS (name varchar(64) PATH '$')) AS t;
END;
--# register the tables of the spec
CALL register_spec();

-- register_rule: takes what the spec says of one rule.
--# create procedure register_rule
CREATE PROCEDURE register_rule(IN p_position int, IN p_document longtext)
SQL SECURITY DEFINER
COMMENT 'Takes what the spec says of one rule: its document, and its place among the rules.'
BEGIN
    DECLARE v_rule varchar(64) DEFAULT JSON_VALUE(p_document, '$.rule');
    DECLARE v_names longtext DEFAULT JSON_KEYS(p_document, '$.limits');
    INSERT INTO rule (
        rule, position, strategy, root, time_name, zoned, scope_name, scope_type, retention, minimum, retained, opt_in, divided,
        batch_setting, document
    )
    VALUES (
        v_rule, p_position, JSON_VALUE(p_document, '$.strategy'), JSON_VALUE(p_document, '$.root'), JSON_VALUE(p_document, '$.time_name'),
        COALESCE(JSON_CONTAINS(p_document, 'true', '$.zoned'), false),
        JSON_VALUE(p_document, '$.scope_name'), JSON_VALUE(p_document, '$.scope_type'),
        JSON_VALUE(p_document, '$.retention'), JSON_VALUE(p_document, '$.minimum'),
        COALESCE(JSON_CONTAINS(p_document, 'true', '$.retained'), false),
        COALESCE(JSON_CONTAINS(p_document, 'true', '$.opt_in'), false),
        COALESCE(JSON_CONTAINS(p_document, 'true', '$.divided'), false),
        JSON_VALUE(p_document, '$.batch_setting'), p_document
    );
    INSERT INTO rule_table (rule, position, table_name)
    SELECT v_rule, t.position, t.name
    FROM JSON_TABLE(p_document, '$.tables[*]' COLUMNS (position FOR ORDINALITY, name varchar(64) PATH '$')) AS t;
    INSERT INTO rule_limit (rule, name, value)
    SELECT v_rule, n.name, JSON_UNQUOTE(JSON_EXTRACT(p_document, CONCAT('$.limits.', n.name)))
    FROM JSON_TABLE(v_names, '$[*]' COLUMNS (name varchar(64) PATH '$')) AS n;
END;

-- disarm_over: an installation that takes the effect from a hold, a policy or a pause disarms, in the transaction that does so. What had
-- none before does not count, and settings keep no row.
--# create procedure disarm_over
CREATE PROCEDURE disarm_over(IN p_before longtext)
SQL SECURITY DEFINER
COMMENT 'Disarms where holds, policies or a pause had an effect with the rules of p_before, which view rule_refers had, and have none now.'
BEGIN
    DECLARE v_armed boolean;
    SELECT c.armed INTO v_armed FROM control AS c WHERE c.only_row = true;
    -- Where nothing is armed, the tables of an earlier version may lack.
    IF v_armed THEN
        UPDATE control AS c
        SET c.armed = false
        WHERE c.only_row = true
          AND EXISTS (
              SELECT 1
              FROM JSON_TABLE(p_before, '$[*]' COLUMNS (
                  kind varchar(6) PATH '$.kind', rule varchar(64) PATH '$.rule', refers_to varchar(700) PATH '$.refers_to'
              )) AS b
              LEFT JOIN rule_refers AS n ON n.rule = b.rule AND n.kind = b.kind
              LEFT JOIN hold AS h ON b.kind = 'hold' AND h.rule = b.rule AND COALESCE(h.refers_to, b.refers_to) = b.refers_to
                  AND COALESCE(h.until > UTC_TIMESTAMP(6), true)
              LEFT JOIN policy AS p ON b.kind = 'policy' AND p.rule = b.rule AND COALESCE(p.refers_to, b.refers_to) = b.refers_to
              LEFT JOIN rule_pause AS s ON b.kind = 'hold' AND s.rule = b.rule AND n.rule IS NULL
              WHERE NOT b.refers_to <=> n.refers_to
                AND COALESCE(h.rule, p.rule, s.rule) IS NOT NULL
          );
    END IF;
END;

-- clean_idle_settings: earlier versions took the limits of a run for any rule. Where the first rule had one, no other counted. The
-- first installation has no settings yet.
--# create procedure clean_idle_settings
CREATE PROCEDURE clean_idle_settings()
SQL SECURITY DEFINER
COMMENT 'Forgets a time_budget or ledger_days of another rule than the first, as the rules are yet, where the first one has its own.'
BEGIN
    DECLARE v_tables bigint;
    SELECT COUNT(*)
    INTO v_tables
    FROM information_schema.tables AS t
    WHERE t.table_schema = DATABASE()
      AND t.table_name IN ('setting', 'setting_log');
    IF v_tables = 2 THEN
        INSERT INTO setting_log (rule, name, old_value, changed_by)
        SELECT s.rule, s.name, s.value, USER()
        FROM setting AS s
        JOIN rule_limit AS l ON l.rule = s.rule AND l.name = s.name
        JOIN rule AS r ON r.rule = s.rule AND r.position > 1
        JOIN rule AS f ON f.position = 1
        JOIN setting AS w ON w.rule = f.rule AND w.name = s.name
        WHERE s.name IN ('time_budget', 'ledger_days');
        DELETE s
        FROM setting AS s
        JOIN rule_limit AS l ON l.rule = s.rule AND l.name = s.name
        JOIN rule AS r ON r.rule = s.rule AND r.position > 1
        JOIN rule AS f ON f.position = 1
        JOIN setting AS w ON w.rule = f.rule AND w.name = s.name
        WHERE s.name IN ('time_budget', 'ledger_days');
    END IF;
END;

-- register_rules: takes what the spec says of all rules, in the order in which a run takes them.
--# create procedure register_rules
CREATE PROCEDURE register_rules(IN p_document longtext)
SQL SECURITY DEFINER
COMMENT 'Takes what the spec says of the rules, and forgets those that it has no more. Limits that are the same in all of them are
    recorded once.'
BEGIN
    DECLARE v_place  int DEFAULT 0;
    DECLARE v_rule   longtext;
    DECLARE v_before longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    -- Who armed windrow looked at what a rule deletes from its table, by its strategy.
    UPDATE control AS c
    SET c.armed = false
    WHERE c.only_row = true
      AND c.armed
      AND EXISTS (
          SELECT 1
          FROM rule AS r
          JOIN JSON_TABLE(p_document, '$.rules[*]' COLUMNS (
              rule varchar(64) PATH '$.rule', strategy varchar(20) PATH '$.strategy', root varchar(64) PATH '$.root'
          )) AS n ON n.rule = r.rule
          WHERE NOT (n.strategy = r.strategy AND LOWER(n.root) = LOWER(r.root))
      );
    START TRANSACTION;
    CALL clean_idle_settings();
    SELECT JSON_ARRAYAGG(JSON_OBJECT('kind', n.kind, 'rule', n.rule, 'refers_to', n.refers_to)) INTO v_before FROM rule_refers AS n;
    DELETE FROM rule_limit WHERE rule > '';
    DELETE FROM rule_table WHERE rule > '';
    DELETE FROM rule WHERE rule > '';
    WHILE v_place < JSON_LENGTH(p_document, '$.rules') DO
        SET v_rule = JSON_EXTRACT(p_document, CONCAT('$.rules[', v_place, ']'));
        SET v_place = v_place + 1;
        CALL register_rule(v_place, JSON_SET(v_rule, '$.limits', JSON_MERGE_PATCH(
            JSON_EXTRACT(p_document, '$.limits'), COALESCE(JSON_EXTRACT(v_rule, '$.limits'), JSON_OBJECT())
        )));
    END WHILE;
    CALL disarm_over(v_before);
    COMMIT;
END;

-- make_index: an index of the spec where none serves, with the rights of who installs: the owner role changes no table.
--# create procedure make_index
CREATE PROCEDURE make_index(IN p_index varchar(64), IN p_statement longtext)
SQL SECURITY INVOKER
COMMENT 'Runs p_statement, which makes p_index, unless an index that can be used leads with its columns, or one has its name.'
BEGIN
    DECLARE v_there bigint;
    SELECT COUNT(*)
    INTO v_there
    FROM (
        SELECT i.index_name
        FROM index_state AS i
        WHERE i.index_name = p_index
          AND i.usable
        UNION ALL
        SELECT s.index_name
        FROM known_index AS k
        CROSS JOIN spec AS p
        JOIN information_schema.statistics AS s
            ON s.table_schema = CONVERT(p.schema_name USING utf8mb3) COLLATE utf8mb3_bin
            AND s.table_name = k.table_name
            AND s.index_name = k.index_name
        WHERE p.only_row = true
          AND k.index_name = p_index
    ) AS l;
    IF v_there = 0 THEN
        CALL run_lenient(p_statement);
    END IF;
END;

-- first_rule: what applies to a whole run, such as its time budget, is a setting of the first rule.
--# create procedure first_rule
CREATE PROCEDURE first_rule(OUT o_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'The first rule of the spec, whose settings hold for whole runs.'
BEGIN
    SELECT r.rule INTO o_rule FROM rule AS r ORDER BY r.position LIMIT 1;
END;

-- perform: the only place where a name becomes a call. A verb of a rule is a procedure of this database that has the name of
-- a rule in front of its own; what it is given and what it answers are variables of the session. A verb performs no other one.
--# create procedure perform
CREATE PROCEDURE perform(IN p_rule varchar(64), IN p_verb varchar(64), IN p_arguments varchar(400))
SQL SECURITY DEFINER
COMMENT 'Calls the procedure that does p_verb for p_rule, with variables of the session.'
BEGIN
    SET @windrow_call = NULL;
    SELECT CONCAT('CALL `', r.rule, '_', p_verb, '`(', p_arguments, ')') INTO @windrow_call FROM rule AS r WHERE r.rule = p_rule;
    PREPARE windrow_call FROM @windrow_call;
    EXECUTE windrow_call;
    DEALLOCATE PREPARE windrow_call;
END;
