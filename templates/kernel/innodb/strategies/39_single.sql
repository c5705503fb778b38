-- Rules of single rows: expiry, orphan, keep-last. The temporary tables of a session begin with work_. From batch to batch an
-- empty one is kept: what names a recreated table is prepared again. One that has rows is dropped and recreated: DELETE costs as
-- much as the rows did, TRUNCATE commits. MySQL lets a statement name a temporary table once.
-- Of the types of keys nothing is known here: the rule makes work_type, which is like the rows to look at, and work_named, which
-- is like a key. It also goes from row to row: work_cursor has the last one that was looked at as row 1, and that of the batch
-- in progress as row 2. Columns that the document of the rule calls hexed are bytes: what is a text has them as hexadecimal digits.

-- single_open: the work tables that live as long as a run, or a preview.
--# create procedure single_open
CREATE PROCEDURE single_open(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Makes the work tables that outlive a batch: the cursor, what is skipped, what a dry run deletes, what killed runs left.'
BEGIN
    DECLARE v_family boolean DEFAULT (SELECT COUNT(*) > 1 FROM rule_table AS t WHERE t.rule = p_rule);
    -- Those of another rule, or of a run that was killed in this session, may be of other types.
    CALL single_close(p_rule);
    CALL perform(p_rule, 'types', '');
    CREATE TEMPORARY TABLE work_cursor LIKE work_type;
    -- Where what a worker has claimed ends.
    IF EXISTS (SELECT 1 FROM rule AS r WHERE r.rule = p_rule AND r.divided) THEN
        CREATE TEMPORARY TABLE work_end LIKE work_type;
    END IF;
    CREATE TEMPORARY TABLE work_skipped (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
    -- What killed runs left half done.
    CREATE TEMPORARY TABLE work_mend (
        PRIMARY KEY (run_id)
    ) ENGINE = InnoDB AS
    SELECT u.run_id FROM unfinished AS u WHERE u.rule = p_rule;
    IF v_family THEN
        -- The rows that a dry run or a preview would delete.
        CREATE TEMPORARY TABLE work_taken (
            PRIMARY KEY (id)
        ) ENGINE = InnoDB AS
        SELECT k.k1 AS id FROM work_named AS k LIMIT 0;
    END IF;
    CALL work_single(p_rule);
END;

-- work_single: the work tables of one batch, empty.
--# create procedure work_single
CREATE PROCEDURE work_single(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of one batch, with the types of work_type and work_named: those that are missing, and those that have
    rows anew.'
BEGIN
    DECLARE v_family  boolean DEFAULT (SELECT COUNT(*) > 1 FROM rule_table AS t WHERE t.rule = p_rule);
    DECLARE v_filled  longtext;
    DECLARE v_between longtext;
    -- Where some have rows, these are dropped, and made in a second round.
    work: LOOP
        -- The last row of a batch that may use a list of keys.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_bound LIKE work_type;
        -- The rows to judge, in the order of the search.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_row LIKE work_type;
        CREATE TEMPORARY TABLE IF NOT EXISTS work_held LIKE work_named;
        -- Those that this session has locked.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_locked (
            position bigint NOT NULL,
            PRIMARY KEY (position)
        ) ENGINE = InnoDB;
        -- What the first look at a row says, and the second one, under its lock: no reason, it is deleted.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_verdict (
            look integer NOT NULL,
            position bigint NOT NULL,
            reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
            due datetime(6),
            PRIMARY KEY (look, position)
        ) ENGINE = InnoDB;
        CREATE TEMPORARY TABLE IF NOT EXISTS work_gone (
            position bigint NOT NULL,
            row_key text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            PRIMARY KEY (position)
        ) ENGINE = InnoDB;
        -- What is kept, and why.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_skip (
            position bigint NOT NULL AUTO_INCREMENT,
            skip_key text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            PRIMARY KEY (position)
        ) ENGINE = InnoDB;
        SELECT CONCAT_WS(', ',
            IF(EXISTS (SELECT 1 FROM work_bound), 'work_bound', NULL),
            IF(EXISTS (SELECT 1 FROM work_row), 'work_row', NULL),
            IF(EXISTS (SELECT 1 FROM work_held), 'work_held', NULL),
            IF(EXISTS (SELECT 1 FROM work_locked), 'work_locked', NULL),
            IF(EXISTS (SELECT 1 FROM work_verdict), 'work_verdict', NULL),
            IF(EXISTS (SELECT 1 FROM work_gone), 'work_gone', NULL),
            IF(EXISTS (SELECT 1 FROM work_skip), 'work_skip', NULL)
        )
        INTO v_filled;
        IF v_family THEN
            -- The keys of those that are deleted, for what belongs to them.
            CREATE TEMPORARY TABLE IF NOT EXISTS work_member (
                PRIMARY KEY (id)
            ) ENGINE = InnoDB AS
            SELECT k.k1 AS id FROM work_named AS k LIMIT 0;
            CALL between_single(p_rule, true, v_between);
            SELECT CONCAT_WS(', ', NULLIF(v_filled, ''), NULLIF(v_between, ''), IF(EXISTS (SELECT 1 FROM work_member), 'work_member', NULL))
            INTO v_filled;
        END IF;
        IF v_filled = '' THEN
            LEAVE work;
        END IF;
        CALL run_text(CONCAT('DROP TEMPORARY TABLE ', v_filled));
    END LOOP work;
END;

-- next_single: the work tables of the next batch. What was deleted by lists of keys left few rows in two of them.
--# create procedure next_single
CREATE PROCEDURE next_single(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'As work_single(), unless the last batch wrote to work_bound and work_gone only: these are emptied.'
BEGIN
    IF EXISTS (SELECT 1 FROM work_row)
        OR EXISTS (SELECT 1 FROM work_held)
        OR EXISTS (SELECT 1 FROM work_locked)
        OR EXISTS (SELECT 1 FROM work_verdict)
        OR EXISTS (SELECT 1 FROM work_skip)
    THEN
        CALL work_single(p_rule);
    ELSE
        DELETE FROM work_bound;
        DELETE FROM work_gone;
    END IF;
END;

-- between_single: the keys of tables between the rows and what belongs to them, where a rule keeps them.
--# create procedure between_single
CREATE PROCEDURE between_single(IN p_rule varchar(64), IN p_make boolean, OUT o_filled longtext)
SQL SECURITY DEFINER
COMMENT 'p_make: makes those that are missing of the work tables which the rule has for keys of tables in between, and answers
    which have rows. Otherwise drops them.'
BEGIN
    DECLARE v_any boolean;
    SELECT COALESCE(JSON_CONTAINS(r.document, 'true', '$.collects'), false) INTO v_any FROM rule AS r WHERE r.rule = p_rule;
    IF v_any THEN
        SET @windrow_make = p_make;
        CALL perform(p_rule, 'between', '@windrow_make, @windrow_filled');
        SET o_filled = @windrow_filled;
    END IF;
END;

-- single_close: the work tables are dropped.
--# create procedure single_close
CREATE PROCEDURE single_close(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Drops the work tables.'
BEGIN
    DECLARE v_none longtext;
    DROP TEMPORARY TABLE IF EXISTS
        work_type, work_named, work_cursor, work_end, work_skipped, work_mend, work_taken, work_target,
        work_bound, work_row, work_held, work_locked, work_verdict, work_gone, work_skip, work_member;
    CALL between_single(p_rule, false, v_none);
END;

-- search_single: the next rows after the cursor.
--# create procedure search_single
CREATE PROCEDURE search_single(
    IN  p_rule   varchar(64),
    IN  p_pass   integer,
    IN  p_rows   bigint,
    IN  p_as_of  datetime(6),
    IN  p_cutoff datetime(6),
    OUT o_found  bigint
)
SQL SECURITY DEFINER
COMMENT 'Fills work_row with the next rows of a pass, at most p_rows, and row 2 of work_cursor with the last one. Answers how many.'
BEGIN
    SET @windrow_pass = p_pass, @windrow_limit = p_rows, @windrow_as_of = p_as_of, @windrow_cutoff = p_cutoff;
    CALL perform(p_rule, 'search', '@windrow_pass, @windrow_limit, @windrow_as_of, @windrow_cutoff');
    -- By its position: MySQL counts a whole table in several threads, for which this one waits.
    SELECT COUNT(r.position) INTO o_found FROM work_row AS r WHERE r.position > 0;
END;

-- single_within: of what was found, the rows before the one that would be one more to delete than a run still may.
--# create procedure single_within
CREATE PROCEDURE single_within(
    IN    p_rule   varchar(64),
    IN    p_pass   integer,
    IN    p_most   bigint,
    IN    p_as_of  datetime(6),
    IN    p_cutoff datetime(6),
    INOUT p_found  bigint
)
SQL SECURITY DEFINER
COMMENT 'Where more than p_most of the p_found rows in work_row may be deleted, drops these and what lies behind. Answers how many stay.'
BEGIN
    DECLARE v_beyond bigint;
    DECLARE v_text   longtext;
    IF p_found > p_most THEN
        CALL judge_single(p_rule, 1, p_pass, p_as_of, p_cutoff);
        SELECT MAX(d.position)
        INTO v_beyond
        FROM (SELECT v.position FROM work_verdict AS v WHERE v.reason IS NULL ORDER BY v.position LIMIT 1 OFFSET p_most) AS d;
        DELETE FROM work_verdict;
        IF v_beyond IS NOT NULL THEN
            DELETE FROM work_row WHERE position >= v_beyond;
            SET p_found = p_found - ROW_COUNT();
            SELECT CONCAT(
                'REPLACE INTO work_cursor (position, pass, row_key, ', GROUP_CONCAT(n.name ORDER BY n.position SEPARATOR ', '),
                ') SELECT 2, r.pass, r.row_key, ', GROUP_CONCAT(CONCAT('r.', n.name) ORDER BY n.position SEPARATOR ', '),
                ' FROM work_row AS r ORDER BY r.position DESC LIMIT 1'
            )
            INTO v_text
            FROM rule AS r
            JOIN JSON_TABLE(r.document, '$.cursor[*]' COLUMNS (position FOR ORDINALITY, name varchar(64) PATH '$')) AS n
            WHERE r.rule = p_rule;
            CALL run_text(v_text);
        END IF;
    END IF;
END;

-- single_place, single_resume: where a run is, so that the next one continues after that: the row of work_cursor.
--# create procedure single_place
CREATE PROCEDURE single_place(IN p_rule varchar(64), IN p_table varchar(20), OUT o_place longtext)
SQL SECURITY DEFINER
COMMENT 'Row 1 of work_cursor, or the row of work_bound, as a JSON list: the pass, the key as a text, the columns along which a pass
    goes. NULL: there is none.'
BEGIN
    DECLARE v_text longtext;
    SELECT CONCAT(
        'SELECT JSON_ARRAY(c.pass, c.row_key, ',
        GROUP_CONCAT(
            CONCAT(IF(JSON_CONTAINS(r.document, JSON_QUOTE(n.name), '$.hexed'), 'HEX(c.', 'CAST(c.'), n.name,
            IF(JSON_CONTAINS(r.document, JSON_QUOTE(n.name), '$.hexed'), ')', ' AS char)'))
            ORDER BY n.position
            SEPARATOR ', '
        ),
        ') INTO @windrow_place FROM ', p_table, ' AS c WHERE c.position = ', IF(p_table = 'work_bound', 2, 1)
    )
    INTO v_text
    FROM rule AS r
    JOIN JSON_TABLE(r.document, '$.cursor[*]' COLUMNS (position FOR ORDINALITY, name varchar(64) PATH '$')) AS n
    WHERE r.rule = p_rule;
    SET @windrow_place = NULL;
    CALL run_text(v_text);
    SET o_place = @windrow_place;
END;
--# create procedure single_goto
CREATE PROCEDURE single_goto(IN p_rule varchar(64), IN p_table varchar(20), IN p_place longtext)
SQL SECURITY DEFINER
COMMENT 'Makes what single_place() answered the row of work_cursor or work_end; a place that names only the pass is before all rows of it.'
BEGIN
    DECLARE v_text longtext;
    IF JSON_LENGTH(p_place) > 1 THEN
        SELECT
            CONCAT(
                'INSERT INTO ', p_table, ' (position, pass, row_key, ', GROUP_CONCAT(n.name ORDER BY n.position SEPARATOR ', '),
                ') SELECT ', IF(p_table = 'work_end', 2, 1), ', p.pass, p.row_key, ',
                GROUP_CONCAT(
                    IF(JSON_CONTAINS(r.document, JSON_QUOTE(n.name), '$.hexed'), CONCAT('UNHEX(p.', n.name, ')'), CONCAT('p.', n.name))
                    ORDER BY n.position
                    SEPARATOR ', '
                ),
                ' FROM JSON_TABLE(@windrow_place, ''$'' COLUMNS (',
                'pass integer PATH ''$[0]'', row_key longtext PATH ''$[1]'', ',
                GROUP_CONCAT(CONCAT(n.name, ' longtext PATH ''$[', n.position + 1, ']''') ORDER BY n.position SEPARATOR ', '), ')) AS p'
            ),
            p_place
        INTO v_text, @windrow_place
        FROM rule AS r
        JOIN JSON_TABLE(r.document, '$.cursor[*]' COLUMNS (position FOR ORDINALITY, name varchar(64) PATH '$')) AS n
        WHERE r.rule = p_rule;
        CALL run_text(v_text);
    END IF;
END;
--# create procedure single_claimed
CREATE PROCEDURE single_claimed(IN p_rule varchar(64), IN p_after longtext, IN p_end longtext)
SQL SECURITY DEFINER
COMMENT 'A search begins behind p_after and ends at p_end, or NULL: at the last row.'
BEGIN
    DELETE FROM work_cursor;
    DELETE FROM work_end;
    CALL single_goto(p_rule, 'work_cursor', p_after);
    CALL single_goto(p_rule, 'work_end', p_end);
END;
--# create procedure single_resume
CREATE PROCEDURE single_resume(IN p_run bigint, IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Where work_cursor has no row 1, makes it of what single_place() answered for the batch before, or for the run before.'
BEGIN
    DECLARE v_place longtext;
    -- MariaDB loses a row that is deleted and inserted again in a transaction that is rolled back: the row 1 that a batch has moved.
    IF NOT EXISTS (SELECT 1 FROM work_cursor AS c WHERE c.position = 1) THEN
        SELECT p.place INTO v_place FROM run_rule AS p WHERE p.run_id = p_run AND p.rule = p_rule;
        CALL single_goto(p_rule, 'work_cursor', v_place);
    END IF;
END;

-- single_moved: the cursor is where the batch has led it.
--# create procedure single_moved
CREATE PROCEDURE single_moved()
SQL SECURITY DEFINER
COMMENT 'Makes row 2 of work_cursor row 1: the next search begins after it.'
BEGIN
    DELETE FROM work_cursor WHERE position = 1;
    UPDATE work_cursor SET position = 1 WHERE position = 2;
END;

-- sweep_single: a batch that goes by a list of keys, if nobody is in the way.
--# create procedure sweep_single
CREATE PROCEDURE sweep_single(
    IN  p_run    bigint,
    IN  p_rule   varchar(64),
    IN  p_pass   integer,
    IN  p_rows   bigint,
    IN  p_as_of  datetime(6),
    IN  p_cutoff datetime(6),
    OUT o_found  bigint,
    OUT o_rows   bigint,
    OUT o_undo   boolean
)
SQL SECURITY DEFINER
COMMENT 'Deletes, in the caller''s transaction, those of the next p_rows rows that may be, and answers how many there are, and were deleted:
    the first of them in @windrow_first, the place of the last row in @windrow_place. o_rows is NULL where nothing is deleted, as a row is
    locked by others, is held, or has changed; with o_undo the caller rolls back.'
BEGIN
    -- The second is that of NOWAIT.
    DECLARE EXIT HANDLER FOR 1205, 3572
    BEGIN
        SET o_found = @windrow_found, o_rows = NULL, o_undo = true;
    END;
    -- Taken out before COMMIT, as that of other batches.
    INSERT INTO unfinished (run_id, rule, links)
    VALUES (p_run, p_rule, '[]');
    SET @windrow_pass = p_pass, @windrow_limit = p_rows, @windrow_as_of = p_as_of, @windrow_cutoff = p_cutoff;
    CALL perform(
        p_rule, 'sweep',
        '@windrow_pass, @windrow_limit, @windrow_as_of, @windrow_cutoff, @windrow_found, @windrow_first, @windrow_count, @windrow_rows, '
        '@windrow_place'
    );
    SET o_found = @windrow_found, o_rows = @windrow_rows, o_undo = COALESCE(@windrow_rows <> @windrow_count, false);
    IF o_undo THEN
        SET o_rows = NULL;
    ELSEIF o_rows IS NULL THEN
        DELETE FROM unfinished WHERE run_id = p_run AND rule = p_rule;
    ELSE
        DELETE FROM work_cursor WHERE position = 1;
        -- Each time anew: MariaDB reads the columns of the rule before, where * is in the text of a routine.
        CALL run_text('INSERT INTO work_cursor SELECT b.* FROM work_bound AS b');
        UPDATE work_cursor SET position = 1 WHERE position = 2;
    END IF;
END;

-- sweep_told: what is recorded of such a batch. The first rows of a pass are recorded once.
--# create procedure sweep_told
CREATE PROCEDURE sweep_told(IN p_run bigint, IN p_rule varchar(64), IN p_pass varchar(30), IN p_rows bigint)
SQL SECURITY DEFINER
COMMENT 'Adds p_rows, which were deleted as sweep_single() says, to tables run_pass and run_table.'
BEGIN
    UPDATE run_pass AS r
    SET r.deleted_rows = r.deleted_rows + p_rows
    WHERE r.run_id = p_run
      AND r.rule = p_rule
      AND r.pass = p_pass
      AND JSON_LENGTH(r.sample_keys) >= 10;
    IF ROW_COUNT() = 0 THEN
        INSERT INTO work_gone (position, row_key)
        SELECT k.position, k.row_key
        FROM JSON_TABLE(@windrow_first, '$[*]' COLUMNS (position FOR ORDINALITY, row_key varchar(20) PATH '$')) AS k;
        CALL record_pass(p_run, p_rule, p_pass, p_rows);
    END IF;
    UPDATE run_table AS t SET t.deleted_rows = t.deleted_rows + p_rows WHERE t.run_id = p_run AND t.rule = p_rule;
END;

-- delete_listed: a DELETE of MySQL that has the keys in its text: of a join with the list it would read each row twice. Without the hints,
-- it would search the whole table for a long list, and lock each row on its way, or wait for whoever has it.
--# create procedure delete_listed
CREATE PROCEDURE delete_listed(IN p_delete longtext, IN p_keys json, OUT o_rows bigint)
SQL SECURITY INVOKER
COMMENT 'Runs p_delete, of rows t and ending in (0), with these keys, a JSON list, in place of the 0; called by the verb sweep.'
BEGIN
    SET o_rows = 0, @windrow_delete = CONCAT(
        'DELETE /*+ INDEX(t) SET_VAR(range_optimizer_max_mem_size = 0) */',
        TRIM(TRAILING '(0)' FROM TRIM(LEADING 'DELETE' FROM p_delete)),
        NULLIF(REPLACE(REPLACE(p_keys, '[', '('), ']', ')'), '()')
    );
    IF @windrow_delete IS NOT NULL THEN
        PREPARE windrow_delete FROM @windrow_delete;
        EXECUTE windrow_delete;
        SET o_rows = ROW_COUNT();
        DEALLOCATE PREPARE windrow_delete;
    END IF;
END;

-- listed_held: whether a hold keeps a row of a list, or was set without a row, so that it may keep any.
--# create procedure listed_held
CREATE PROCEDURE listed_held(IN p_rule varchar(64), IN p_keys json, OUT o_held boolean)
SQL SECURITY DEFINER
COMMENT 'Whether one of these keys, a JSON list, may be held; called by the verb sweep.'
BEGIN
    SELECT MAX(h.absent = 1)
    INTO o_held
    FROM hold AS h
    WHERE h.rule = p_rule
      AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6));
    IF o_held IS FALSE THEN
        SELECT COUNT(*) > 0
        INTO o_held
        FROM JSON_TABLE(p_keys, '$[*]' COLUMNS (row_key varchar(20) PATH '$')) AS r
        STRAIGHT_JOIN hold AS h
            ON h.rule = p_rule
            AND h.`key` = r.row_key /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */
        WHERE h.until IS NULL OR h.until > UTC_TIMESTAMP(6);
    END IF;
    SET o_held = COALESCE(o_held, false);
END;

-- single_held: which of the rows to judge are held. They are found by the index of the holds, of which there may be many. What was held
-- without a row may spell its key otherwise than the row does.
--# create procedure single_held
CREATE PROCEDURE single_held(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Fills work_held with the keys of work_row that are held, and with all that was held without a row; called by the verb verdict.'
BEGIN
    DECLARE v_names  longtext;
    DECLARE v_values longtext;
    DECLARE v_holds  longtext DEFAULT CONCAT('h.rule = ', QUOTE(p_rule), ' AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6))');
    SELECT
        GROUP_CONCAT(CONCAT('k', k.position) ORDER BY k.position SEPARATOR ', '),
        GROUP_CONCAT(
            CONCAT(
                IF(k.said LIKE '% binary', 'UNHEX(', '('),
                IF(
                    JSON_LENGTH(r.document, '$.key') = 1, 'h.`key`',
                    CONCAT('JSON_UNQUOTE(JSON_EXTRACT(h.`key`, ''$[', k.position - 1, ']''))')
                ), ')'
            )
            ORDER BY k.position
            SEPARATOR ', '
        )
    INTO v_names, v_values
    FROM rule AS r
    JOIN JSON_TABLE(r.document, '$.key[*]' COLUMNS (position FOR ORDINALITY, said varchar(100) PATH '$')) AS k
    WHERE r.rule = p_rule
      AND EXISTS (SELECT 1 FROM hold AS h WHERE h.rule = p_rule);
    IF v_names IS NOT NULL THEN
        CALL run_text(CONCAT(
            'INSERT IGNORE INTO work_held (', v_names, ') SELECT ', v_names, ' FROM work_row AS r STRAIGHT_JOIN hold AS h ON ', v_holds,
            ' AND h.`key` = r.row_key COLLATE utf8mb4_', IF(VERSION() LIKE '%MariaDB%', 'nopad', '0900'), '_bin'
        ));
        CALL run_text(CONCAT(
            'INSERT IGNORE INTO work_held (', v_names, ') SELECT ', v_values, ' FROM hold AS h WHERE h.absent = 1 AND ', v_holds
        ));
    END IF;
END;

-- judge_single: which of the rows in work_row are deleted. p_as_of is NULL where a purge names them and their time does not matter.
--# create procedure judge_single
CREATE PROCEDURE judge_single(
    IN p_rule   varchar(64),
    IN p_look   integer,
    IN p_pass   integer,
    IN p_as_of  datetime(6),
    IN p_cutoff datetime(6)
)
SQL SECURITY DEFINER
COMMENT 'Writes to work_verdict, as look p_look, which rows are deleted (no reason), and which are due and kept. Look 2 locks them first.'
BEGIN
    SET @windrow_look = p_look, @windrow_pass = p_pass, @windrow_as_of = p_as_of, @windrow_cutoff = p_cutoff;
    CALL perform(p_rule, 'verdict', '@windrow_look, @windrow_pass, @windrow_as_of, @windrow_cutoff');
END;

-- single_lock: locks those of the rows in work_row that are deleted, in the caller's transaction.
--# create procedure single_lock
CREATE PROCEDURE single_lock(IN p_rule varchar(64), IN p_pass integer, IN p_as_of datetime(6), IN p_cutoff datetime(6))
SQL SECURITY DEFINER
COMMENT 'Locks the rows that are deleted, and looks at each again. Fills work_gone with them, work_skip with the others that are due.'
BEGIN
    -- A first look without locks, so that a row that is kept is not touched; then those that seem to be due are locked.
    CALL judge_single(p_rule, 1, p_pass, p_as_of, p_cutoff);
    INSERT INTO work_skip (skip_key, reason)
    SELECT r.row_key, v.reason
    FROM work_verdict AS v
    STRAIGHT_JOIN work_row AS r ON r.position = v.position
    WHERE v.look = 1
      AND v.reason IS NOT NULL
    ORDER BY v.position;
    DELETE r
    FROM work_row AS r
    LEFT JOIN work_verdict AS v ON v.look = 1 AND v.position = r.position AND v.reason IS NULL
    WHERE v.position IS NULL;

    -- Nobody changes them any more: what is judged now holds until the end of the transaction. Rows that another session has
    -- locked are left to it; those that it deleted are not worth a word.
    CALL judge_single(p_rule, 2, p_pass, p_as_of, p_cutoff);
    INSERT INTO work_skip (skip_key, reason)
    SELECT r.row_key, COALESCE(v.reason, 'LOCKED')
    FROM work_verdict AS v
    STRAIGHT_JOIN work_row AS r ON r.position = v.position
    LEFT JOIN work_locked AS l ON l.position = v.position
    WHERE v.look = 2
      AND (v.reason IS NOT NULL OR l.position IS NULL)
    ORDER BY v.position;
    INSERT INTO work_gone (position, row_key)
    SELECT r.position, r.row_key
    FROM work_locked AS l
    STRAIGHT_JOIN work_verdict AS v ON v.look = 2 AND v.position = l.position
    STRAIGHT_JOIN work_row AS r ON r.position = l.position
    WHERE v.reason IS NULL;
END;

-- batch_single: one batch: the rows in work_gone, in the caller's transaction.
--# create procedure batch_single
CREATE PROCEDURE batch_single(IN p_run bigint, IN p_rule varchar(64), OUT o_families bigint, OUT o_rows longtext)
SQL SECURITY DEFINER
COMMENT 'Deletes the rows in work_gone, which are locked, and what belongs to them. Answers how many, and rows by table: NULL for none.'
BEGIN
    DECLARE v_family boolean DEFAULT (SELECT COUNT(*) > 1 FROM rule_table AS t WHERE t.rule = p_rule);
    SET o_rows = NULL;
    SELECT COUNT(g.position) INTO o_families FROM work_gone AS g WHERE g.position > 0;
    IF o_families > 0 THEN
        -- Taken out before COMMIT: should the session of a killed run commit what it began, it shows here.
        INSERT INTO unfinished (run_id, rule, links)
        VALUES (p_run, p_rule, '[]');
        IF v_family THEN
            INSERT INTO work_member (id)
            SELECT r.k1
            FROM work_gone AS g
            STRAIGHT_JOIN work_row AS r ON r.position = g.position;
        END IF;
        SET @windrow_run = p_run, @windrow_count = o_families;
        CALL perform(p_rule, 'delete', '@windrow_run, @windrow_count, @windrow_rows');
        SET o_rows = @windrow_rows;
    END IF;
END;

-- single_gone: whether a rule deleted what it was asked to. A trigger or a cascade can keep or take rows without a word.
--# create procedure single_gone
CREATE PROCEDURE single_gone(IN p_rule varchar(64), IN p_rows bigint, IN p_count bigint)
SQL SECURITY DEFINER
COMMENT 'An error where p_rows of p_count were deleted.'
BEGIN
    DECLARE v_message varchar(128);
    IF p_rows <> p_count THEN
        SELECT LEFT(CONCAT(
            p_count - p_rows, ' of ', p_count, ' rows could not be deleted; a trigger or a cascade takes or keeps rows of ', r.root
        ), 128)
        INTO v_message
        FROM rule AS r
        WHERE r.rule = p_rule;
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_message;
    END IF;
END;

-- single_step: one batch of a run with its progress in the ledger, in one transaction.
-- A batch that fails is rolled back and retried, then halved down to a single row, which is recorded and skipped.
--# create procedure single_step
CREATE PROCEDURE single_step(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'One batch of run p_run and its progress in the ledger, committed. Answers more, again, or why the run should end. run() calls it.'
BEGIN
    DECLARE v_dry_run   boolean;
    DECLARE v_as_of     datetime(6);
    DECLARE v_cutoff    datetime(6);
    DECLARE v_text      varchar(700);
    DECLARE v_retention bigint;
    DECLARE v_limit     bigint;
    DECLARE v_done      bigint;
    DECLARE v_present   integer;
    DECLARE v_halving   boolean;
    DECLARE v_again     integer;
    DECLARE v_undo      boolean;
    DECLARE v_weigh     bigint;
    DECLARE v_place     longtext;
    DECLARE v_document  longtext;
    DECLARE v_batch     bigint;
    DECLARE v_take      bigint;
    DECLARE v_pass      integer;
    DECLARE v_name      varchar(30);
    DECLARE v_last      bigint DEFAULT 0;
    DECLARE v_key       longtext;
    DECLARE v_found     longtext;
    DECLARE v_sweeps    boolean;
    DECLARE v_families  bigint DEFAULT 0;
    DECLARE v_rows      longtext;
    DECLARE v_busy      boolean;
    DECLARE v_number    integer;
    DECLARE v_errno     integer;
    DECLARE v_sqlstate  varchar(5);
    DECLARE v_message   varchar(900);
    DECLARE v_shared    boolean;
    DECLARE v_claim     longtext;
    DECLARE v_after     longtext;
    DECLARE v_end       longtext;
    DECLARE v_at_pass   varchar(40);
    DECLARE v_at_key    varchar(700);
    SELECT s.workers > 1 AND r.divided INTO v_shared FROM rule AS r CROSS JOIN spec AS s WHERE r.rule = p_rule;
    SET o_state = NULL;

    step: BEGIN
        attempt: BEGIN
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                --+ failed.sql
                ROLLBACK;
            END;
            -- Work tables are made in a transaction of their own: MariaDB writes one in which a temporary table was made or dropped
            -- to its binary log even when it is rolled back, with all that it deleted.
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            START TRANSACTION;
            CALL next_single(p_rule);
            IF NOT v_shared THEN
                CALL single_resume(p_run, p_rule);
            END IF;
            COMMIT;
            CALL begin_ledger();
            CALL begin_step(p_run, p_rule, o_state);
            IF o_state IS NOT NULL THEN
                COMMIT;
                LEAVE step;
            END IF;
            SELECT
                r.dry_run, r.as_of, JSON_VALUE(r.options, '$.retention'), JSON_VALUE(r.options, '$.run_families'),
                p.families, p.batch_families, p.halving, p.retries_in_row, p.weigh, k.document
            INTO v_dry_run, v_as_of, v_text, v_limit, v_done, v_present, v_halving, v_again, v_weigh, v_document
            FROM run AS r
            JOIN run_rule AS p ON p.run_id = r.run_id AND p.rule = p_rule
            JOIN rule AS k ON k.rule = p.rule
            WHERE r.run_id = p_run;
            CALL setting_of(p_rule, 'batch_rows', v_batch);
            IF v_limit IS NULL THEN
                CALL setting_of(p_rule, 'run_families', v_limit);
            END IF;
            -- A batch looks at as many rows as one may have, however few of them the run may still delete.
            SET v_take = LEAST(v_present, v_batch);
            IF v_limit <= v_done THEN
                SET o_state = 'run_families reached';
                COMMIT;
                LEAVE step;
            END IF;
            CALL take_locks(p_run, p_rule, o_state);
            IF o_state IS NOT NULL THEN
                LEAVE step;
            END IF;

            CALL seconds(v_text, v_retention);
            CALL cutoff_of(p_rule, v_as_of, v_retention, v_cutoff);
            IF v_shared THEN
                SELECT c.claimed INTO v_claim FROM run_claim AS c WHERE c.run_id = p_run AND c.rule = p_rule;
                IF v_claim = '[]' THEN
                    CALL claim_more(p_run, p_rule, v_cutoff, v_take, v_limit - v_done, o_state);
                    LEAVE step;
                END IF;
                SET v_after = JSON_UNQUOTE(JSON_EXTRACT(v_claim, '$[0][0]')), v_end = JSON_UNQUOTE(JSON_EXTRACT(v_claim, '$[0][1]'));
                CALL single_claimed(p_rule, v_after, v_end);
                SET v_pass = JSON_VALUE(v_end, '$[0]');
            ELSE
                SELECT COALESCE(MAX(c.pass), 1) INTO v_pass FROM work_cursor AS c WHERE c.position = 1;
            END IF;
            -- After an error rows are deleted by their keys one by one, so that the one that fails is known.
            SET v_sweeps = NOT v_dry_run AND NOT v_halving AND v_again = 0 AND v_take > 1 AND v_take <= v_limit - v_done
                AND COALESCE(JSON_CONTAINS(v_document, 'true', '$.swept'), false);
            search: LOOP
                IF v_sweeps THEN
                    SET v_last = v_take;
                    CALL sweep_single(p_run, p_rule, v_pass, v_take, v_as_of, v_cutoff, v_last, v_families, v_undo);
                    IF v_undo THEN
                        -- Others are at its rows: they are locked and looked at one by one next.
                        ROLLBACK;
                        CALL begin_ledger();
                        UPDATE run_rule AS p SET p.retries_in_row = p.retries_in_row + 1 WHERE p.run_id = p_run AND p.rule = p_rule;
                        COMMIT;
                        SET o_state = 'again';
                        LEAVE step;
                    END IF;
                    SET v_sweeps = v_families IS NOT NULL;
                END IF;
                IF NOT v_sweeps THEN
                    CALL search_single(p_rule, v_pass, v_take, v_as_of, v_cutoff, v_last);
                END IF;
                IF v_last > 0 THEN
                    LEAVE search;
                END IF;
                IF v_shared THEN
                    SET v_place = NULL;
                    CALL claim_moved(p_run, p_rule, v_place, v_at_pass, v_at_key);
                    COMMIT;
                    SET o_state = 'again';
                    LEAVE step;
                ELSEIF v_pass = JSON_LENGTH(v_document, '$.passes') THEN
                    COMMIT;
                    SET o_state = 'nothing left';
                    LEAVE step;
                END IF;
                SET v_pass = v_pass + 1;
            END LOOP search;
            IF v_sweeps THEN
                SET v_place = @windrow_place, v_key = JSON_VALUE(v_place, '$[1]');
            ELSE
                CALL single_within(p_rule, v_pass, v_limit - v_done, v_as_of, v_cutoff, v_last);
                SELECT c.row_key INTO v_key FROM work_cursor AS c WHERE c.position = 2;
            END IF;
            IF v_weigh > 0 AND v_last > 1 AND (SELECT COUNT(*) > 1 FROM rule_table AS t WHERE t.rule = p_rule) THEN
                CALL weigh_single(p_rule, v_pass, v_as_of, v_cutoff, v_rows);
                CALL weighed(p_run, p_rule, v_last, v_rows);
                SET o_state = 'again';
                LEAVE step;
            END IF;
            IF NOT v_sweeps THEN
                CALL single_lock(p_rule, v_pass, v_as_of, v_cutoff);
                IF v_dry_run THEN
                    -- A dry run keeps what it found out, and rolls back what follows: by the whole transaction, since a savepoint
                    -- would not do in a cluster.
                    COMMIT;
                    CALL begin_ledger();
                END IF;
                CALL batch_single(p_run, p_rule, v_families, v_rows);
            END IF;
            IF v_dry_run THEN
                ROLLBACK;
                CALL begin_ledger();
            END IF;
            UPDATE run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
            IF NOT v_sweeps THEN
                CALL single_moved();
                CALL single_place(p_rule, 'work_cursor', v_place);
            END IF;
            SET v_at_pass = v_pass, v_at_key = LEFT(v_key, 255);
            IF v_shared THEN
                CALL claim_moved(p_run, p_rule, v_place, v_at_pass, v_at_key);
            END IF;
            IF v_dry_run AND (SELECT COUNT(*) > 1 FROM rule_table AS t WHERE t.rule = p_rule) THEN
                INSERT INTO work_taken (id)
                SELECT r.k1
                FROM work_gone AS g
                STRAIGHT_JOIN work_row AS r ON r.position = g.position;
            END IF;
            IF NOT v_sweeps THEN
                CALL record_skips(p_run, p_rule);
            END IF;
            SET v_name = JSON_UNQUOTE(JSON_EXTRACT(v_document, CONCAT('$.passes[', v_pass - 1, ']')));
            IF v_sweeps AND v_families > 0 THEN
                CALL sweep_told(p_run, p_rule, v_name, v_families);
            ELSEIF v_families > 0 THEN
                CALL record_pass(p_run, p_rule, v_name, v_families);
                CALL record_rows(p_run, p_rule, v_rows);
            END IF;
            UPDATE run_rule AS p
            SET p.families = p.families + v_families,
                p.deleted_rows = p.deleted_rows + IF(v_sweeps, v_families, 0),
                p.batches = p.batches + 1,
                p.retries_in_row = 0,
                p.batch_families = IF(v_halving AND v_last > 1, v_last DIV 2, LEAST(v_present * 2, v_batch)),
                p.halving = v_halving AND v_last > 1,
                p.cursor_time = v_at_pass,
                p.cursor_key = v_at_key,
                p.place = v_place,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            IF NOT v_sweeps THEN
                CALL weigh_more(p_run, p_rule, v_last, v_rows);
            END IF;
            CALL recheck_catalog(p_run, true, o_state);
            IF o_state IS NOT NULL THEN
                LEAVE step;
            END IF;
            DELETE FROM unfinished WHERE run_id = p_run AND rule = p_rule;
            COMMIT;
            SET o_state = 'more';
            LEAVE step;
        END attempt;

        CALL fail_step(p_run, p_rule, v_errno, v_sqlstate, v_message, v_last, v_last DIV 2, v_busy, o_state);
        IF o_state IS NOT NULL THEN
            LEAVE step;
        END IF;
        -- The cursor is where it was: it is led past this row, if that is still the next one.
        CALL work_single(p_rule);
        IF v_shared THEN
            CALL single_claimed(p_rule, v_after, v_end);
        ELSE
            CALL single_resume(p_run, p_rule);
        END IF;
        CALL search_single(p_rule, v_pass, 1, v_as_of, v_cutoff, v_last);
        SELECT MAX(r.row_key) INTO v_found FROM work_row AS r;
        IF NOT v_found <=> v_key THEN
            COMMIT;
            SET o_state = 'again';
            LEAVE step;
        END IF;
        CALL single_moved();
        CALL single_place(p_rule, 'work_cursor', v_place);
        SET v_at_pass = v_pass, v_at_key = LEFT(v_key, 255);
        IF v_shared THEN
            CALL claim_moved(p_run, p_rule, v_place, v_at_pass, v_at_key);
        END IF;
        INSERT IGNORE INTO run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
        VALUES (p_run, p_rule, LEFT(v_key, 700), v_errno, v_sqlstate, v_message);
        INSERT INTO work_skip (skip_key, reason)
        VALUES (v_key, IF(v_busy, 'LOCKED', 'FAILED'));
        CALL record_skips(p_run, p_rule);
        UPDATE run_rule AS p
        SET p.batches = p.batches + 1,
            p.retries_in_row = 0,
            p.batch_families = LEAST(v_present * 2, v_batch),
            p.halving = false,
            p.cursor_time = v_at_pass,
            p.cursor_key = v_at_key,
            p.place = v_place,
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = p_rule;
        COMMIT;
        SET o_state = 'more';
    END step;
END;

-- weigh_single: how many rows would be deleted with those that were found. Nothing is locked, and what a dry run recorded is kept.
--# create procedure weigh_single
CREATE PROCEDURE weigh_single(
    IN p_rule varchar(64), IN p_pass integer, IN p_as_of datetime(6), IN p_cutoff datetime(6), OUT o_rows longtext
)
SQL SECURITY DEFINER
COMMENT 'Counts the rows of work_row that may be deleted, and what belongs to them: a JSON list in that order. Makes work tables.'
BEGIN
    CALL judge_single(p_rule, 1, p_pass, p_as_of, p_cutoff);
    DROP TEMPORARY TABLE IF EXISTS work_before;
    CREATE TEMPORARY TABLE work_before LIKE work_taken;
    INSERT INTO work_before (id)
    SELECT t.id FROM work_taken AS t;
    DELETE FROM work_taken;
    INSERT INTO work_taken (id)
    SELECT r.k1
    FROM work_verdict AS v
    STRAIGHT_JOIN work_row AS r ON r.position = v.position
    WHERE v.reason IS NULL;
    CALL perform(p_rule, 'rows', '@windrow_rows');
    SET o_rows = @windrow_rows;
    DELETE FROM work_taken;
    INSERT INTO work_taken (id)
    SELECT b.id FROM work_before AS b;
    DROP TEMPORARY TABLE work_before;
END;

-- undated_single: rows that have neither an expiry nor the time of its fallback can never become due.
--# create procedure undated_single
CREATE PROCEDURE undated_single(IN p_rule varchar(64), IN p_as_of datetime(6))
SQL SECURITY DEFINER
COMMENT 'Makes the work tables anew, and writes to work_skip the rows without any time, as long as the fallback of the rule is on.'
BEGIN
    DECLARE v_cutoff datetime(6);
    DECLARE v_counts boolean;
    CALL work_single(p_rule);
    CALL cutoff_of(p_rule, p_as_of, NULL, v_cutoff);
    SELECT COALESCE(JSON_CONTAINS(r.document, 'true', '$.counts_undated'), false)
    INTO v_counts
    FROM rule AS r
    WHERE r.rule = p_rule;
    IF v_counts AND v_cutoff IS NOT NULL THEN
        CALL perform(p_rule, 'undated', '');
    END IF;
END;

-- single_finish: what is to be said of a rule when a run is through with it.
--# create procedure single_finish
CREATE PROCEDURE single_finish(IN p_run bigint, IN p_rule varchar(64), IN p_reason varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Counts rows without any time once all is looked at, forgets what killed runs left, counts again what a dry run would delete.'
BEGIN
    DECLARE v_as_of   datetime(6);
    DECLARE v_dry_run boolean;
    SELECT r.as_of, r.dry_run INTO v_as_of, v_dry_run FROM run AS r WHERE r.run_id = p_run;
    IF p_reason = 'nothing left' THEN
        CALL undated_single(p_rule, v_as_of);
        CALL record_skips(p_run, p_rule);
        -- The rows that killed runs left were looked at once more.
        IF NOT v_dry_run THEN
            DELETE u
            FROM work_mend AS d
            STRAIGHT_JOIN unfinished AS u ON u.run_id = d.run_id AND u.rule = p_rule;
        END IF;
    END IF;
    IF v_dry_run AND (SELECT COUNT(*) > 1 FROM rule_table AS t WHERE t.rule = p_rule) THEN
        -- The batches of a dry run were rolled back one by one, so that a row that belongs to rows of two batches was counted
        -- twice: count once more, over all.
        CALL work_single(p_rule);
        CALL perform(p_rule, 'rows', '@windrow_rows');
        UPDATE run_table AS t SET t.deleted_rows = 0 WHERE t.run_id = p_run AND t.rule = p_rule;
        UPDATE run_rule AS p SET p.deleted_rows = 0 WHERE p.run_id = p_run AND p.rule = p_rule;
        CALL record_rows(p_run, p_rule, @windrow_rows);
    END IF;
END;

-- single_idle: whether nothing is due, and nothing only lacks a time. What does not lie along a time is looked at row by row: where these
-- are no more than the first batch would take, it is done here, and counts as a batch.
--# create procedure single_idle
CREATE PROCEDURE single_idle(IN p_run bigint, IN p_rule varchar(64), OUT o_idle boolean, OUT o_batches bigint)
SQL SECURITY DEFINER
COMMENT 'Whether p_rule has no more rows than one batch takes, and nothing due; how many batches have looked then. Reads only.'
BEGIN
    DECLARE v_batch bigint;
    DECLARE v_limit bigint;
    CALL setting_of(p_rule, 'batch_rows', v_batch);
    SELECT IF(k.strategy = 'expiry', 1, LEAST(p.batch_families, v_batch))
    INTO v_limit
    FROM rule AS k
    JOIN run_rule AS p ON p.run_id = p_run AND p.rule = k.rule
    WHERE k.rule = p_rule;
    SET @windrow_limit = v_limit;
    CALL perform(p_rule, 'due', '@windrow_limit, @windrow_families, @windrow_looked, @windrow_undated');
    SET o_idle = @windrow_families = 0 AND @windrow_undated = 0 AND @windrow_looked < v_limit, o_batches = @windrow_looked > 0;
END;

-- single_preview: the batches of a run, judged but not locked and not deleted.
--# create procedure single_preview
CREATE PROCEDURE single_preview(IN p_rule varchar(64), IN p_options longtext, IN p_as_of datetime(6), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What a run of this rule would delete and skip now, as one JSON document; passes says why. Reads only; preview() calls it.'
BEGIN
    DECLARE v_zoned     boolean;
    DECLARE v_names     longtext;
    DECLARE v_family    boolean DEFAULT (SELECT COUNT(*) > 1 FROM rule_table AS t WHERE t.rule = p_rule);
    DECLARE v_retention bigint;
    DECLARE v_cutoff    datetime(6);
    DECLARE v_batch     bigint;
    DECLARE v_limit     bigint DEFAULT JSON_VALUE(p_options, '$.run_families');
    DECLARE v_pass      integer DEFAULT 1;
    DECLARE v_found     bigint;
    DECLARE v_time      datetime(6);
    DECLARE v_part      longtext;
    DECLARE v_families  bigint DEFAULT 0;
    DECLARE v_batches   bigint DEFAULT 0;
    DECLARE v_eldest    datetime(6);
    DECLARE v_oldest    varchar(64);
    DECLARE v_samples   longtext DEFAULT '';
    DECLARE v_passes    longtext DEFAULT '';
    -- Of the pass in progress: its rows, the oldest of them, its first keys.
    DECLARE v_here      bigint DEFAULT 0;
    DECLARE v_since     datetime(6);
    DECLARE v_first     longtext DEFAULT '';
    DECLARE v_rows      longtext;
    DECLARE v_skipped   longtext;
    DECLARE v_skip_keys longtext;
    DECLARE v_skips     bigint;
    DECLARE v_more      boolean DEFAULT false;
    DECLARE v_speed     decimal(30, 6);
    DECLARE v_failures  bigint;
    SELECT JSON_VALUE(r.document, '$.zone') IS NULL, JSON_EXTRACT(r.document, '$.passes')
    INTO v_zoned, v_names
    FROM rule AS r
    WHERE r.rule = p_rule;
    CALL seconds(JSON_VALUE(p_options, '$.retention'), v_retention);
    CALL cutoff_of(p_rule, p_as_of, v_retention, v_cutoff);
    CALL setting_of(p_rule, 'batch_rows', v_batch);
    IF v_limit IS NULL THEN
        CALL setting_of(p_rule, 'run_families', v_limit);
    END IF;
    CALL single_open(p_rule);
    CALL undated_single(p_rule, p_as_of);
    INSERT INTO work_skipped (skip_key, reason)
    SELECT k.skip_key, k.reason FROM work_skip AS k ORDER BY k.position;
    batches: LOOP
        CALL work_single(p_rule);
        CALL search_single(p_rule, v_pass, IF(v_families < v_limit, v_batch, 1), p_as_of, v_cutoff, v_found);
        SET v_more = v_found > 0 AND v_families >= v_limit;
        IF v_found = 0 OR v_more THEN
            CALL time_of_row(v_since, v_zoned, v_oldest);
            SET v_passes = CONCAT(
                v_passes, IF(v_passes = '', '', ', '),
                '{"pass": ', JSON_EXTRACT(v_names, CONCAT('$[', v_pass - 1, ']')),
                ', "rows": ', v_here,
                ', "oldest_end_time": ', v_oldest,
                ', "sample_keys": [', v_first, ']}'
            );
            IF v_more OR v_pass = JSON_LENGTH(v_names) THEN
                LEAVE batches;
            END IF;
            SET v_pass = v_pass + 1, v_here = 0, v_since = NULL, v_first = '';
            ITERATE batches;
        END IF;
        CALL single_within(p_rule, v_pass, v_limit - v_families, p_as_of, v_cutoff, v_found);
        CALL single_moved();
        CALL judge_single(p_rule, 1, v_pass, p_as_of, v_cutoff);
        INSERT INTO work_skipped (skip_key, reason)
        SELECT r.row_key, v.reason
        FROM work_verdict AS v
        STRAIGHT_JOIN work_row AS r ON r.position = v.position
        WHERE v.reason IS NOT NULL
        ORDER BY v.position;
        -- The first ten keys of the pass, and of all.
        CALL single_samples(GREATEST(10 - v_here, 0), v_part);
        SET v_first = CONCAT_WS(', ', NULLIF(v_first, ''), v_part);
        CALL single_samples(GREATEST(10 - v_families, 0), v_part);
        SET v_samples = CONCAT_WS(', ', NULLIF(v_samples, ''), v_part);
        SELECT COUNT(v.position), MIN(v.due) INTO v_found, v_time FROM work_verdict AS v WHERE v.reason IS NULL;
        IF v_family THEN
            INSERT INTO work_taken (id)
            SELECT r.k1
            FROM work_verdict AS v
            STRAIGHT_JOIN work_row AS r ON r.position = v.position
            WHERE v.reason IS NULL;
        END IF;
        SET v_batches = v_batches + 1, v_families = v_families + v_found, v_here = v_here + v_found,
            v_since = LEAST(COALESCE(v_since, v_time), COALESCE(v_time, v_since)),
            v_eldest = LEAST(COALESCE(v_eldest, v_time), COALESCE(v_time, v_eldest));
    END LOOP batches;
    CALL time_of_row(v_eldest, v_zoned, v_oldest);
    SET v_rows = CONCAT('[', v_families, ']');
    IF v_family THEN
        CALL work_single(p_rule);
        CALL perform(p_rule, 'rows', '@windrow_rows');
        SET v_rows = @windrow_rows;
    END IF;
    CALL preview_figures(p_rule, v_skips, v_skipped, v_skip_keys, v_failures, v_speed);
    CALL single_close(p_rule);
    CALL preview_of(
        p_rule, v_families, v_rows, v_oldest, CONCAT('[', v_samples, ']'), v_skips, v_skipped, v_skip_keys, v_passes, NULL, v_limit, v_more,
        v_batches, v_failures, v_speed, o_document
    );
END;
--# create procedure single_samples
CREATE PROCEDURE single_samples(IN p_rows bigint, OUT o_keys longtext)
SQL SECURITY DEFINER
COMMENT 'The keys of the first p_rows rows that a preview would delete, between commas; NULL where there are none.'
BEGIN
    SELECT GROUP_CONCAT(JSON_QUOTE(g.row_key) ORDER BY g.position SEPARATOR ', ')
    INTO o_keys
    FROM (
        SELECT v.position, r.row_key
        FROM work_verdict AS v
        STRAIGHT_JOIN work_row AS r ON r.position = v.position
        WHERE v.reason IS NULL
        ORDER BY v.position
        LIMIT p_rows
    ) AS g;
END;
--# create procedure time_of_row
CREATE PROCEDURE time_of_row(IN p_time datetime(6), IN p_zoned boolean, OUT o_text varchar(64))
SQL SECURITY DEFINER
COMMENT 'A time as PostgreSQL writes it, as a JSON text: null where there is none.'
BEGIN
    SET o_text = COALESCE(CONCAT(
        '"', TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(p_time, '%Y-%m-%dT%H:%i:%s.%f'))), IF(p_zoned, '+00:00"', '"')
    ), 'null');
END;

-- single_target: a key that is given as a text, as a row of a work table, so that it is compared as what it is.
--# create procedure single_target
CREATE PROCEDURE single_target(IN p_rule varchar(64), IN p_key varchar(700))
SQL SECURITY DEFINER
COMMENT 'Fills work_target with p_key, in the types and collations of the columns of the key.'
BEGIN
    DECLARE v_text longtext;
    SELECT CONCAT(
        'INSERT INTO work_target (', GROUP_CONCAT(CONCAT('k', k.position) ORDER BY k.position SEPARATOR ', '), ') VALUES (',
        GROUP_CONCAT(
            CONCAT(
                IF(k.said LIKE '% binary', 'UNHEX(', '('),
                IF(
                    JSON_LENGTH(r.document, '$.key') = 1, '@windrow_key',
                    CONCAT('JSON_UNQUOTE(JSON_EXTRACT(@windrow_key, ''$[', k.position - 1, ']''))')
                ), ')'
            )
            ORDER BY k.position
            SEPARATOR ', '
        ), ')'
    )
    INTO v_text
    FROM rule AS r
    JOIN JSON_TABLE(r.document, '$.key[*]' COLUMNS (position FOR ORDINALITY, said varchar(100) PATH '$')) AS k
    WHERE r.rule = p_rule;
    SET @windrow_key = p_key;
    CALL run_text(v_text);
END;

-- single_young: whether the row that a purge names is too young for it. An expiry that the row has itself knows no minimum.
--# create procedure single_young
CREATE PROCEDURE single_young(IN p_rule varchar(64), IN p_as_of datetime(6), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Why the minimum of p_rule, counted from p_as_of, keeps the row in work_row: it is too young, or has no time; NULL where it does
    not.'
BEGIN
    DECLARE v_expires  boolean;
    DECLARE v_fallback boolean;
    DECLARE v_cutoff   datetime(6);
    DECLARE v_count    bigint;
    SELECT r.strategy = 'expiry', JSON_CONTAINS(r.document, '"fallback"', '$.passes') IS TRUE
    INTO v_expires, v_fallback
    FROM rule AS r
    WHERE r.rule = p_rule;
    CALL cutoff_of(p_rule, p_as_of, 0, v_cutoff);
    DELETE FROM work_verdict;
    IF NOT v_expires THEN
        CALL judge_single(p_rule, 1, 0, p_as_of, v_cutoff);
        SELECT IF(COUNT(v.position) = 0, 'RETENTION_NOT_REACHED', MAX(v.reason)) INTO o_reason FROM work_verdict AS v;
    ELSEIF v_fallback THEN
        -- It has an expiry, or the fallback is due.
        CALL judge_single(p_rule, 1, 1, '9999-12-30 00:00:00', NULL);
        SELECT COUNT(v.position) INTO v_count FROM work_verdict AS v;
        IF v_count = 0 THEN
            CALL judge_single(p_rule, 1, 2, p_as_of, v_cutoff);
            SELECT COUNT(v.position) INTO v_count FROM work_verdict AS v;
            -- Neither that it never expires nor a time that is missing is one from which the minimum counts.
            IF v_count = 0 THEN
                CALL judge_single(p_rule, 1, 2, p_as_of, '9999-12-30 00:00:00');
                SELECT IF(COUNT(v.position) = 0, 'UNDATED_MEMBER', 'RETENTION_NOT_REACHED') INTO o_reason FROM work_verdict AS v;
            END IF;
        END IF;
    END IF;
END;

-- single_purge: deletes one named row and commits. Answers NULL, or why it is kept.
--# create procedure single_purge
CREATE PROCEDURE single_purge(IN p_run bigint, IN p_rule varchar(64), IN p_key varchar(700), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Deletes one named row with what belongs to it, but for the option force if it is older than the minimum, and commits. Answers
    NULL, or the reason why it is kept.'
BEGIN
    DECLARE v_dry_run  boolean;
    DECLARE v_as_of    datetime(6);
    DECLARE v_count    bigint;
    DECLARE v_rows     longtext;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    attempt: BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            --+ failed.sql
            ROLLBACK;
        END;
        -- Work tables are made in a transaction of their own: MariaDB writes one in which a temporary table was made or dropped
        -- to its binary log even when it is rolled back, with all that it deleted.
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        CALL work_single(p_rule);
        DROP TEMPORARY TABLE IF EXISTS work_target;
        CREATE TEMPORARY TABLE work_target LIKE work_named;
        COMMIT;
        CALL begin_ledger();
        CALL begin_purge(p_run, p_rule, o_reason);
        IF o_reason IS NOT NULL THEN
            COMMIT;
            LEAVE attempt;
        END IF;
        -- From when the minimum counts, if it does.
        SELECT r.dry_run, IF(JSON_CONTAINS(r.options, 'true', '$.force') IS TRUE, NULL, r.as_of)
        INTO v_dry_run, v_as_of
        FROM run AS r
        WHERE r.run_id = p_run;
        CALL single_target(p_rule, p_key);
        CALL search_single(p_rule, 0, 1, NULL, NULL, v_count);
        CALL judge_single(p_rule, 1, 0, NULL, NULL);
        SELECT COUNT(v.position), MAX(v.reason) INTO v_count, o_reason FROM work_verdict AS v;
        IF v_count = 0 THEN
            COMMIT;
            SET o_reason = 'NOT_A_ROOT';
            LEAVE attempt;
        END IF;
        IF o_reason IS NULL AND v_as_of IS NOT NULL THEN
            CALL single_young(p_rule, v_as_of, o_reason);
        END IF;
        IF o_reason IS NOT NULL THEN
            INSERT INTO work_skip (skip_key, reason)
            VALUES (p_key, o_reason);
            CALL record_skips(p_run, p_rule);
            COMMIT;
            LEAVE attempt;
        END IF;
        IF v_dry_run THEN
            -- A dry run keeps what it found out, and rolls back what follows: by the whole transaction, since a savepoint would
            -- not do in a cluster.
            COMMIT;
            CALL begin_ledger();
        END IF;
        INSERT INTO work_gone (position, row_key)
        SELECT r.position, r.row_key FROM work_row AS r;
        CALL batch_single(p_run, p_rule, v_count, v_rows);
        IF v_dry_run THEN
            ROLLBACK;
            CALL begin_ledger();
        END IF;
        UPDATE run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
        CALL record_rows(p_run, p_rule, v_rows);
        UPDATE run_rule AS p
        SET p.families = p.families + 1,
            p.batches = p.batches + 1,
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = p_rule;
        CALL same_catalog(p_run, true);
        DELETE FROM unfinished WHERE run_id = p_run AND rule = p_rule;
        COMMIT;
    END attempt;
    IF v_errno IS NOT NULL THEN
        CALL fail_purge(p_run, p_rule, p_key, v_errno, v_sqlstate, v_message, o_reason);
    END IF;
END;

-- single_checks: rows that have no place among their group, for verify().
--# create procedure single_checks
CREATE PROCEDURE single_checks(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Writes to work_check how many rows have no group or no place in it.'
BEGIN
    CALL perform(p_rule, 'unranked', '@windrow_rows');
    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT
        1, 'unranked', p_rule, IF(@windrow_rows = 0, 'ok', 'notice'), @windrow_rows,
        'rows without a group or without a place in it; they are kept';
END;
