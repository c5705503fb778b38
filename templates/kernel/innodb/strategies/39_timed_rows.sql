-- timed_is_plain: whether a rule deletes rows of one table, and nothing else can keep them.
--# create procedure timed_is_plain
CREATE PROCEDURE timed_is_plain(IN p_rule varchar(64), OUT o_plain boolean)
SQL SECURITY DEFINER
COMMENT 'Whether p_rule takes rows of one table by a time of theirs, of which only a hold keeps one.'
BEGIN
    SELECT JSON_CONTAINS(r.document, 'true', '$.plain') IS TRUE INTO o_plain FROM rule AS r WHERE r.rule = p_rule;
END;

-- timed_before: the instant from which a time is too recent: the retention, never below the minimum, and the safety lag before an
-- instant. A stored removal time holds the retention already.
--# create procedure timed_before
CREATE PROCEDURE timed_before(IN p_rule varchar(64), IN p_as_of datetime(6), IN p_retention bigint, OUT o_before datetime(6))
SQL SECURITY DEFINER
COMMENT 'Before what a row of p_rule must lie to be due at p_as_of, in UTC. p_retention overrides the retention of a rule by age, never
    under its minimum.'
BEGIN
    SELECT
        p_as_of - INTERVAL CAST(
            IF(r.strategy = 'removal-time', 0, GREATEST(COALESCE(p_retention, r.retention), r.minimum))
            + JSON_VALUE(r.document, '$.safety_lag') AS signed
        ) SECOND
    INTO o_before
    FROM rule AS r
    WHERE r.rule = p_rule;
END;

-- timed_cutoff: the same by the clock of the application.
--# create procedure timed_cutoff
CREATE PROCEDURE timed_cutoff(IN p_rule varchar(64), IN p_as_of datetime(6), IN p_retention bigint, OUT o_cutoff datetime(6))
SQL SECURITY DEFINER
COMMENT 'Rows of p_rule with a time before this are due at p_as_of. p_retention overrides the retention of a rule by
    age, never under its minimum.'
BEGIN
    DECLARE v_offset bigint;
    DECLARE v_zone   varchar(64);
    CALL timed_before(p_rule, p_as_of, p_retention, o_cutoff);
    SELECT JSON_VALUE(r.document, '$.offset'), IF(r.zoned, NULL, JSON_VALUE(s.document, '$.named_zone'))
    INTO v_offset, v_zone
    FROM rule AS r
    CROSS JOIN spec AS s
    WHERE r.rule = p_rule;
    IF v_zone IS NOT NULL THEN
        SET o_cutoff = CONVERT_TZ(o_cutoff, '+00:00', v_zone);
    ELSEIF v_offset IS NOT NULL THEN
        SET o_cutoff = o_cutoff + INTERVAL v_offset SECOND;
    END IF;
END;

-- timed_least: the time before all others of a rule.
--# create procedure timed_least
CREATE PROCEDURE timed_least(IN p_rule varchar(64), OUT o_time datetime(6))
SQL SECURITY DEFINER
COMMENT 'The time before all others that the column of p_rule can hold.'
BEGIN
    SELECT JSON_VALUE(r.document, '$.least')
    INTO o_time
    FROM rule AS r
    WHERE r.rule = p_rule;
END;

-- window_timed: the next window of time, from its oldest row on (inclusive) to o_to (exclusive): no more than p_rows, and of the
-- root table than p_families, unless they have the same time. What lies before p_from is not looked at again: an index keeps the
-- entries of deleted rows for a while. The verb answers the time of the row that has so many before it, where there is one.
--# create procedure window_timed
CREATE PROCEDURE window_timed(
    IN  p_rule     varchar(64),
    IN  p_from     datetime(6),
    IN  p_cutoff   datetime(6),
    IN  p_rows     bigint,
    IN  p_families bigint,
    OUT o_from     datetime(6),
    OUT o_to       datetime(6)
)
SQL SECURITY DEFINER
COMMENT 'The next window of p_rule from p_from on; o_from is NULL where nothing before p_cutoff is left. p_rows 0: one instant. Reads only.'
BEGIN
    SET @windrow_from = p_from, @windrow_to = p_cutoff, @windrow_rows = 0, @windrow_families = 0;
    CALL perform(p_rule, 'window', '@windrow_from, @windrow_rows, @windrow_families, @windrow_to');
    SET o_from = @windrow_to, o_to = p_cutoff;
    IF o_from >= p_cutoff THEN
        SET o_from = NULL;
    ELSE
        IF p_rows > 0 THEN
            SET @windrow_from = o_from, @windrow_to = p_cutoff, @windrow_rows = p_rows, @windrow_families = LEAST(p_rows, p_families);
            CALL perform(p_rule, 'window', '@windrow_from, @windrow_rows, @windrow_families, @windrow_to');
            SET o_to = @windrow_to;
        END IF;
        -- Rows with the same time are in one window, however many they are.
        IF p_rows = 0 OR o_to <= o_from THEN
            SET o_to = o_from + INTERVAL 1 MICROSECOND;
        END IF;
    END IF;
END;

-- rows_timed: what a rule lists of the rows of its root table: named, those in work_target; undated, those without a time; of a
-- window: families, all; roots, those that are due, the oldest first; window, those that are deleted, the oldest first. Of an instant:
-- first, the first of these by their keys; next, those behind work_at. part and wait lock what is in work_row, and list it in work_target:
-- without what others have locked, or with it.
--# create procedure rows_timed
CREATE PROCEDURE rows_timed(IN p_rule varchar(64), IN p_what varchar(10), IN p_from datetime(6), IN p_to datetime(6), IN p_limit bigint)
SQL SECURITY DEFINER
COMMENT 'Fills work_row with keys and times of rows: p_what is named, undated, held, families, roots, window, first or next; part
    and wait lock. Reads only.'
BEGIN
    IF p_what NOT IN ('part', 'wait') THEN
        DELETE FROM work_row;
    END IF;
    SET @windrow_what = p_what, @windrow_from = p_from, @windrow_to = p_to, @windrow_limit = p_limit;
    CALL perform(p_rule, 'rows', '@windrow_what, @windrow_from, @windrow_to, @windrow_limit');
END;

-- timed_held: the keys that are held. A window needs them all: rows of a held family may be in any.
--# create procedure timed_held
CREATE PROCEDURE timed_held(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Fills work_keep with the keys that are held, unless it has them.'
BEGIN
    DECLARE v_said varchar(200);
    CALL holds_said(p_rule, v_said);
    IF NOT EXISTS (SELECT 1 FROM work_keep_of AS o WHERE o.said = v_said) THEN
        -- What the list was read from comes first: where MariaDB loses keys that are deleted and inserted again, as the transaction is
        -- rolled back, it loses this row, too, and the list is read again.
        DELETE FROM work_keep WHERE held;
        DELETE FROM work_keep_of;
        INSERT INTO work_keep_of (said)
        VALUES (v_said);
        IF @windrow_hexed THEN
            INSERT IGNORE INTO work_keep (id, held)
            SELECT UNHEX(h.`key`), true
            FROM hold AS h
            WHERE h.rule = p_rule
              AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6));
        ELSE
            INSERT IGNORE INTO work_keep (id, held)
            SELECT h.`key`, true
            FROM hold AS h
            WHERE h.rule = p_rule
              AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6));
        END IF;
    END IF;
END;

-- timed_held_whole: which of the whole families to judge are held. They are found by the index of the holds, of which there may be many.
--# create procedure timed_held_whole
CREATE PROCEDURE timed_held_whole(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Fills work_keep with the keys of rows and families of work_root that are held, and with all that was held without a row.'
BEGIN
    INSERT IGNORE INTO work_keep (id)
    SELECT w.id
    FROM work_root AS w
    STRAIGHT_JOIN hold AS h
        ON h.rule = p_rule
        AND h.`key` = IF(@windrow_hexed, HEX(w.id), CAST(w.id AS CHAR))
            /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */
    WHERE h.until IS NULL OR h.until > UTC_TIMESTAMP(6);
    INSERT IGNORE INTO work_keep (id)
    SELECT w.family
    FROM work_root AS w
    STRAIGHT_JOIN hold AS h
        ON h.rule = p_rule
        AND h.`key` = IF(@windrow_hexed, HEX(w.family), CAST(w.family AS CHAR))
            /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */
    WHERE h.until IS NULL OR h.until > UTC_TIMESTAMP(6);
    IF @windrow_hexed THEN
        INSERT IGNORE INTO work_keep (id)
        SELECT UNHEX(h.`key`)
        FROM hold AS h
        WHERE h.rule = p_rule
          AND h.absent = 1
          AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6));
    ELSE
        INSERT IGNORE INTO work_keep (id)
        SELECT h.`key`
        FROM hold AS h
        WHERE h.rule = p_rule
          AND h.absent = 1
          AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6));
    END IF;
END;

-- timed_beside: what holds of other rules keep.
--# create procedure timed_beside
CREATE PROCEDURE timed_beside(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Adds what holds of other rules keep to work_keep: of a window (@windrow_from, @windrow_to), or of work_target.'
BEGIN
    DECLARE v_bound boolean;
    CALL bound_by(p_rule, v_bound);
    IF v_bound THEN
        CALL perform(p_rule, 'bound', '@windrow_from, @windrow_to');
    END IF;
END;

-- timed_faults, timed_blame: what keeps the families of work_root.
--# create procedure timed_faults
CREATE PROCEDURE timed_faults()
SQL SECURITY DEFINER
COMMENT 'Says in work_root what is held, and what something refers to.'
BEGIN
    UPDATE work_keep AS h
    STRAIGHT_JOIN work_root AS w ON w.id = h.id
    SET w.fault = LEAST(w.fault, 1);
    UPDATE work_keep AS h
    STRAIGHT_JOIN work_root AS w ON w.family = h.id
    SET w.fault = LEAST(w.fault, 1);
    UPDATE work_tied AS h
    STRAIGHT_JOIN work_root AS w ON w.family = h.id
    SET w.fault = LEAST(w.fault, 4);
END;

-- timed_crossings: no row is left that names a deleted row. Where rows of other families name rows of these, they are deleted
-- together if all of them may be, or not at all.
--# create procedure timed_crossings
CREATE PROCEDURE timed_crossings(IN p_rule varchar(64), IN p_purge boolean)
SQL SECURITY DEFINER
COMMENT 'Adds to work_next and work_root the families of rows that name rows of those there, of a purge those that are
    named; says in work_root which are kept.'
BEGIN
    DECLARE v_more bigint;
    namers: LOOP
        CALL timed_faults();
        DELETE FROM work_namer;
        CALL perform(p_rule, 'namers', '');
        DELETE n FROM work_namer AS n STRAIGHT_JOIN work_gone AS g ON g.id = n.other AND NOT n.binds;
        DELETE n FROM work_namer AS n STRAIGHT_JOIN work_root AS w ON w.family = n.family WHERE w.fault < 9;
        IF p_purge THEN
            SET v_more = 0;
        ELSE
            INSERT IGNORE INTO work_next (id, asked)
            SELECT n.other, false FROM work_namer AS n WHERE NOT n.binds;
            SET v_more = ROW_COUNT();
        END IF;
        IF v_more = 0 THEN
            LEAVE namers;
        END IF;
        CALL perform(p_rule, 'judge', '@windrow_cutoff, @windrow_as_of, @windrow_lock');
    END LOOP namers;
    -- What has no root is not deleted.
    UPDATE work_namer AS n
    LEFT JOIN work_root AS w ON w.id = n.other AND w.family = n.other
    SET n.binds = true
    WHERE w.id IS NULL;
    REPEAT
        UPDATE work_namer AS n
        STRAIGHT_JOIN work_root AS w ON w.family = n.other
        SET n.binds = true
        WHERE w.fault < 9
          AND NOT n.binds;
        UPDATE work_namer AS n
        STRAIGHT_JOIN work_root AS w ON w.family = n.family
        SET w.fault = 4
        WHERE n.binds
          AND w.fault = 9;
        SET v_more = ROW_COUNT();
    UNTIL v_more = 0 END REPEAT;
END;

--# create procedure timed_blame
CREATE PROCEDURE timed_blame()
SQL SECURITY DEFINER
COMMENT 'Writes the families of work_root that are kept to work_skip, by the first reason, and with those of work_tied to
    work_keep, which has what is held. What was added to work_next is told when its turn comes.'
BEGIN
    INSERT INTO work_skip (skip_key, reason)
    SELECT
        IF(@windrow_hexed, HEX(f.family), f.family),
        ELT(f.fault, 'HELD', 'NON_FINAL_MEMBER', 'RETENTION_NOT_REACHED', 'REFERENCED', 'LOCKED')
    FROM (
        SELECT w.family, MIN(w.fault) AS fault
        FROM work_root AS w
        GROUP BY w.family
    ) AS f
    LEFT JOIN work_next AS n ON n.id = f.family
    WHERE f.fault BETWEEN 1 AND 5
      AND n.asked IS NOT FALSE
    ORDER BY f.family;
    INSERT IGNORE INTO work_keep (id)
    SELECT w.family FROM work_root AS w WHERE w.fault < 9;
    INSERT IGNORE INTO work_keep (id)
    SELECT h.id FROM work_tied AS h;
END;

-- timed_targets: the families that are deleted as such. Called by judge.
--# create procedure timed_targets
CREATE PROCEDURE timed_targets()
SQL SECURITY DEFINER
COMMENT 'Fills work_target with the families of work_root which nothing keeps, and whose root is there.'
BEGIN
    INSERT INTO work_target (id)
    SELECT f.family
    FROM (
        SELECT w.family, MIN(w.fault) AS fault, MAX(w.id = w.family) AS with_root
        FROM work_root AS w
        GROUP BY w.family
    ) AS f
    WHERE f.fault = 9
      AND f.with_root;
END;

-- timed_keepers: which families keep those that are kept because rows of others name theirs, and why these are kept.
--# create procedure timed_keepers
CREATE PROCEDURE timed_keepers()
SQL SECURITY DEFINER
COMMENT 'Writes to work_key, besides what is kept as REFERENCED after a purge has judged, the first family whose rows name rows of
    it and that is kept, with the reason, or that is not named.'
BEGIN
    DECLARE v_place integer DEFAULT (SELECT MIN(k.position) FROM work_key AS k WHERE k.reason = 'REFERENCED');
    DECLARE v_key   varchar(700);
    DECLARE v_why   varchar(32);
    WHILE v_place IS NOT NULL DO
        SET v_key = NULL, v_why = NULL;
        SELECT
            IF(@windrow_hexed, HEX(n.other), n.other),
            COALESCE(ELT(MIN(w.fault), 'HELD', 'NON_FINAL_MEMBER', 'RETENTION_NOT_REACHED', 'REFERENCED', 'LOCKED'), 'NOT_NAMED')
        INTO v_key, v_why
        FROM work_key AS k
        STRAIGHT_JOIN work_namer AS n ON IF(@windrow_hexed, HEX(n.family), n.family) = k.found
        LEFT JOIN work_root AS w ON w.family = n.other
        WHERE k.position = v_place
          AND n.other IS NOT NULL
          AND (w.id IS NULL OR w.fault < 9)
        GROUP BY n.other
        ORDER BY COALESCE(MIN(w.fault), 9) = 4, MIN(w.fault) IS NULL, IF(@windrow_hexed, HEX(n.other), CAST(n.other AS CHAR))
        LIMIT 1;
        -- It may have been named and have been kept already.
        IF v_why = 'NOT_NAMED' THEN
            SELECT COALESCE(MIN(k.reason), 'NOT_NAMED') INTO v_why FROM work_key AS k WHERE COALESCE(k.found, k.named) = v_key;
        END IF;
        UPDATE work_key SET keeper = v_key, keeper_reason = v_why WHERE position = v_place;
        SELECT MIN(k.position) INTO v_place FROM work_key AS k WHERE k.reason = 'REFERENCED' AND k.position > v_place;
    END WHILE;
END;

-- timed_gone: how many rows of a table were deleted. Called by batch and families, which say the position of the table.
--# create procedure timed_gone
CREATE PROCEDURE timed_gone(IN p_position integer, IN p_found bigint)
SQL SECURITY DEFINER
COMMENT 'Notes in work_count that p_found rows of a table were deleted.'
BEGIN
    INSERT INTO work_count (position, found)
    VALUES (p_position, p_found);
END;

-- timed_judged: what comes to a family, or into a window, after its rows were locked is deleted by the statements that follow: nobody
-- has judged it. Called by families and batch.
--# create procedure timed_judged
CREATE PROCEDURE timed_judged(IN p_position integer, IN p_whole boolean)
SQL SECURITY DEFINER
COMMENT 'Raises an error where more rows of the root table, at p_position, were deleted than work_root has that go: of the families in
    work_target (p_whole), or of those not in work_keep.'
BEGIN
    DECLARE v_gone   bigint;
    DECLARE v_judged bigint;
    SELECT COALESCE(SUM(c.found), 0) INTO v_gone FROM work_count AS c WHERE c.position = p_position;
    IF p_whole THEN
        SELECT COUNT(*) INTO v_judged FROM work_root AS w STRAIGHT_JOIN work_target AS c ON c.id = w.family;
    ELSE
        SELECT COUNT(*) INTO v_judged FROM work_root AS w LEFT JOIN work_keep AS k ON k.id = w.family WHERE k.id IS NULL;
    END IF;
    -- As where a row has changed since it was read: that is tried again.
    IF v_gone > v_judged THEN
        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1020, MESSAGE_TEXT = 'rows of the root table have come to what a batch deletes';
    END IF;
END;

-- timed_stays: of the rows of a table in between that were locked in a window, those that stay are not deleted. Called by find.
--# create procedure timed_stays
CREATE PROCEDURE timed_stays(IN p_position integer, IN p_found bigint)
SQL SECURITY DEFINER
COMMENT 'Takes from work_between what is not in work_due of the p_found rows that a window has now.'
BEGIN
    DECLARE v_due bigint;
    SELECT COALESCE(SUM(d.found), 0) INTO v_due FROM work_due AS d WHERE d.position = p_position;
    UPDATE work_between AS b SET b.found = b.found - p_found + v_due WHERE b.position = p_position;
END;

-- timed_between: the same as timed_judged of a table in between to which foreign keys refer: what is below a row that comes after the
-- others were locked was not read, and a foreign key deletes it uncounted and without a copy. Called by families and batch.
--# create procedure timed_between
CREATE PROCEDURE timed_between(IN p_position integer, IN p_table varchar(64))
SQL SECURITY DEFINER
COMMENT 'Raises an error where more rows of p_table, at p_position, were deleted than locked: of the families in work_target, as
    work_middle says, or of a window, as work_between does.'
BEGIN
    DECLARE v_gone    bigint;
    DECLARE v_middle  bigint;
    DECLARE v_between bigint;
    SELECT COALESCE(SUM(c.found), 0) INTO v_gone FROM work_count AS c WHERE c.position = p_position;
    -- A row that belongs to several families that are deleted counts once.
    DELETE m FROM work_target AS c STRAIGHT_JOIN work_middle AS m ON m.other = c.id WHERE m.position = p_position AND NOT m.alone;
    SELECT COALESCE(SUM(m.found), 0)
    INTO v_middle
    FROM work_target AS c
    STRAIGHT_JOIN work_middle AS m ON m.family = c.id
    WHERE m.position = p_position;
    SELECT COALESCE(SUM(b.found), 0) INTO v_between FROM work_between AS b WHERE b.position = p_position;
    CALL all_locked(p_table, v_gone, v_middle + v_between);
END;

-- timed_counted: what work_count says, by table.
--# create procedure timed_counted
CREATE PROCEDURE timed_counted(IN p_rule varchar(64), OUT o_rows longtext)
SQL SECURITY DEFINER
COMMENT 'The rows that work_count counts, as a JSON list in the order of deletion.'
BEGIN
    SELECT CONCAT('[', GROUP_CONCAT(COALESCE(n.found, 0) ORDER BY t.position SEPARATOR ', '), ']')
    INTO o_rows
    FROM rule_table AS t
    LEFT JOIN (
        SELECT c.position, SUM(c.found) AS found
        FROM work_count AS c
        GROUP BY c.position
    ) AS n ON n.position = t.position
    WHERE t.rule = p_rule;
END;

-- timed_kept: what is held of a window of one table.
--# create procedure timed_kept
CREATE PROCEDURE timed_kept(IN p_rule varchar(64), IN p_from datetime(6), IN p_to datetime(6))
SQL SECURITY DEFINER
COMMENT 'Writes the rows of a window that are in work_keep to work_skip.'
BEGIN
    IF EXISTS (SELECT 1 FROM work_keep) THEN
        CALL rows_timed(p_rule, 'held', p_from, p_to, NULL);
        INSERT INTO work_skip (skip_key, reason)
        SELECT IF(@windrow_hexed, HEX(w.id), w.id), 'HELD'
        FROM work_row AS w
        ORDER BY w.id;
    END IF;
END;

-- lock_timed: what holds of other rules keep of rows of one table is asked when they are locked: until then, each may come below a row
-- that is held. They are listed before, by an index, so that no other row is locked.
--# create procedure lock_timed
CREATE PROCEDURE lock_timed(IN p_rule varchar(64), IN p_what varchar(10), IN p_from datetime(6), IN p_to datetime(6))
SQL SECURITY DEFINER
COMMENT 'Locks the rows of work_row that lie in a window, and fills work_target with those that no hold keeps. p_what: part, without what
    others have locked; wait, with it.'
BEGIN
    CALL rows_timed(p_rule, p_what, p_from, p_to, NULL);
    SET @windrow_from = NULL, @windrow_to = NULL;
    CALL timed_beside(p_rule);
    DELETE c FROM work_target AS c STRAIGHT_JOIN work_keep AS k ON k.id = c.id;
END;

-- keep_timed: which rows of a window are kept.
--# create procedure keep_timed
CREATE PROCEDURE keep_timed(
    IN p_rule  varchar(64),
    IN p_plain boolean,
    IN p_from  datetime(6),
    IN p_to    datetime(6),
    IN p_as_of datetime(6),
    IN p_lock  boolean,
    IN p_dry   boolean
)
SQL SECURITY DEFINER
COMMENT 'Fills work_keep with what is kept, and work_skip with that of the window from p_from to p_to, and why. p_lock:
    whether families are locked. p_dry: what goes in earlier batches is still there.'
BEGIN
    SET @windrow_from = p_from, @windrow_to = p_to, @windrow_as_of = p_as_of, @windrow_lock = p_lock, @windrow_dry = p_dry;
    IF p_plain THEN
        CALL timed_held(p_rule);
        CALL timed_beside(p_rule);
        CALL timed_kept(p_rule, p_from, p_to);
    ELSE
        CALL perform(p_rule, 'keep', '@windrow_from, @windrow_to, @windrow_as_of, @windrow_lock, @windrow_dry');
        CALL perform(p_rule, 'find', '@windrow_from, @windrow_to');
    END IF;
END;

-- part_of_instant, begin_parts, list_part, lock_part, pass_part, note_part, leave_part, leave_rest, passed_over, resume_part: the rows of
-- one instant, of one table, go in parts where they are more than a batch takes, or where they cannot go together. work_at says behind
-- which key the next part begins, so that none is read again, and how the instant is looked at; rule_instant keeps that for the next run.
-- 0: what others have locked, and a row that fails by itself, is passed over without a word. 1: once more from the beginning, waiting for
-- locks. 2: one was waited for in vain: what is locked is passed over and told. In 1 and 2 a row that fails by itself is told. Then the
-- instant is over.
--# create procedure part_of_instant
CREATE PROCEDURE part_of_instant(
    IN p_rule varchar(64), IN p_from datetime(6), IN p_to datetime(6), IN p_rows bigint, OUT o_part bigint
)
SQL SECURITY DEFINER
COMMENT 'p_rows where the window from p_from to p_to of p_rule has more rows, else NULL. Reads only.'
BEGIN
    SET o_part = NULL;
    IF p_rows > 0 THEN
        SET @windrow_from = p_from, @windrow_to = p_to, @windrow_rows = p_rows, @windrow_families = p_rows;
        CALL perform(p_rule, 'window', '@windrow_from, @windrow_rows, @windrow_families, @windrow_to');
        IF @windrow_to < p_to THEN
            SET o_part = p_rows;
        END IF;
    END IF;
END;

--# create procedure begin_parts
CREATE PROCEDURE begin_parts(IN p_from datetime(6), IN p_look integer)
SQL SECURITY DEFINER
COMMENT 'The instant p_from goes in parts, from its first row on; NULL: none does.'
BEGIN
    UPDATE work_at AS c
    SET c.since = IF(c.due = p_from, c.since, NULL), c.due = p_from, c.look = p_look, c.begun = false, c.refused = 0, c.alike = 0;
END;

--# create procedure list_part
CREATE PROCEDURE list_part(
    IN  p_rule varchar(64),
    IN  p_from datetime(6),
    IN  p_to   datetime(6),
    IN  p_rows bigint,
    OUT o_look integer,
    OUT o_rows bigint,
    OUT o_key  varchar(700)
)
SQL SECURITY DEFINER
COMMENT 'Fills work_row with the next p_rows rows of an instant that are not held. o_rows: how many there are; o_key: the last one; o_look:
    how they are looked at. None are left where o_rows is 0. Reads only.'
BEGIN
    DECLARE v_begun boolean;
    SELECT MAX(c.look), MAX(c.begun) INTO o_look, v_begun FROM work_at AS c WHERE c.due = p_from;
    IF o_look IS NULL THEN
        CALL begin_parts(p_from, 0);
        SET o_look = 0, v_begun = false;
    END IF;
    CALL timed_held(p_rule);
    CALL rows_timed(p_rule, IF(v_begun, 'next', 'first'), p_from, p_to, p_rows);
    IF o_look = 0 AND NOT EXISTS (SELECT 1 FROM work_row) THEN
        CALL begin_parts(p_from, 1);
        SET o_look = 1;
        CALL rows_timed(p_rule, 'first', p_from, p_to, p_rows);
    END IF;
    SELECT COALESCE(SUM(1), 0) INTO o_rows FROM work_row AS w;
    IF o_rows > 0 THEN
        SELECT IF(@windrow_hexed, HEX(w.id), w.id) INTO o_key FROM work_row AS w ORDER BY w.id DESC LIMIT 1;
    END IF;
END;

--# create procedure lock_part
CREATE PROCEDURE lock_part(IN p_rule varchar(64), IN p_from datetime(6), IN p_to datetime(6), IN p_look integer)
SQL SECURITY DEFINER
COMMENT 'Locks the rows of work_row, fills work_target with those to delete, and work_skip with what is locked in look 2.'
BEGIN
    IF p_look > 0 THEN
        -- What is held is neither waited for nor told as locked.
        INSERT INTO work_target (id)
        SELECT w.id FROM work_row AS w;
        SET @windrow_from = NULL, @windrow_to = NULL;
        CALL timed_beside(p_rule);
        DELETE FROM work_target;
        DELETE w FROM work_row AS w STRAIGHT_JOIN work_keep AS k ON k.id = w.id;
    END IF;
    CALL lock_timed(p_rule, IF(p_look = 1, 'wait', 'part'), p_from, p_to);
    IF p_look = 2 THEN
        INSERT INTO work_skip (skip_key, reason)
        SELECT IF(@windrow_hexed, HEX(w.id), w.id), 'LOCKED'
        FROM work_row AS w
        LEFT JOIN work_target AS c ON c.id = w.id
        LEFT JOIN work_keep AS k ON k.id = w.id
        WHERE c.id IS NULL
          AND k.id IS NULL
        ORDER BY w.id;
    END IF;
END;

--# create procedure pass_part
CREATE PROCEDURE pass_part(IN p_from datetime(6), IN p_look integer, IN p_key varchar(700))
SQL SECURITY DEFINER
COMMENT 'The next part of the instant p_from begins behind p_key.'
BEGIN
    UPDATE work_at AS c SET c.due = p_from, c.look = p_look, c.begun = true;
    IF @windrow_hexed THEN
        UPDATE work_at AS c SET c.id = UNHEX(p_key);
    ELSE
        UPDATE work_at AS c SET c.id = p_key;
    END IF;
END;

--# create procedure note_part
CREATE PROCEDURE note_part(IN p_run bigint, IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Notes in rule_instant how far the instant that goes in parts has got, if one does: there the next run goes on.'
BEGIN
    REPLACE INTO rule_instant (rule, due, since, run_id, rule_hash, look, part_key, refused)
    SELECT
        p_rule, c.due, COALESCE(c.since, p_run), p_run, SHA2(r.document, 256), c.look,
        IF(c.begun, IF(@windrow_hexed, HEX(c.id), CAST(c.id AS CHAR)), NULL), COALESCE(c.refused, 0)
    FROM work_at AS c
    JOIN rule AS r ON r.rule = p_rule
    WHERE c.look IS NOT NULL;
END;

--# create procedure leave_part
CREATE PROCEDURE leave_part(IN p_run bigint, IN p_rule varchar(64), IN p_from datetime(6), IN p_look integer, IN p_key varchar(700))
SQL SECURITY DEFINER
COMMENT 'Run p_run is through with the instant p_from: the next one begins behind p_key, and with its first row where there is none.
    A dry run names no instant.'
BEGIN
    DECLARE v_since bigint;
    SELECT MAX(c.since) INTO v_since FROM work_at AS c WHERE c.due = p_from;
    CALL begin_parts(NULL, NULL);
    DELETE FROM rule_instant WHERE rule = p_rule AND due = p_from;
    IF p_key IS NOT NULL THEN
        INSERT INTO rule_instant (rule, due, since, run_id, rule_hash, look, part_key)
        SELECT p_rule, p_from, COALESCE(v_since, p_run), p_run, SHA2(r.document, 256), p_look, p_key FROM rule AS r WHERE r.rule = p_rule;
    END IF;
END;

--# create procedure leave_rest
CREATE PROCEDURE leave_rest(
    IN p_run    bigint,
    IN p_rule   varchar(64),
    IN p_from   datetime(6),
    IN p_to     datetime(6),
    IN p_look   integer,
    IN p_key    varchar(700),
    IN p_reason varchar(32)
)
SQL SECURITY DEFINER
COMMENT 'Run p_run leaves what is behind p_key of the instant p_from to the next one, and tells it as one, under the time of the instant;
    in looks 1 and 2 also p_key. keep_timed() has said what is held.'
BEGIN
    DECLARE v_told boolean DEFAULT p_look > 0 AND p_key IS NOT NULL;
    IF v_told THEN
        INSERT INTO work_skip (skip_key, reason)
        VALUES (p_key, p_reason);
        CALL pass_part(p_from, p_look, p_key);
        CALL rows_timed(p_rule, 'next', p_from, p_to, 1);
    END IF;
    IF NOT v_told OR EXISTS (SELECT 1 FROM work_row) THEN
        INSERT INTO work_skip (skip_key, reason)
        VALUES (TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM p_from)), p_reason);
    END IF;
    CALL leave_part(p_run, p_rule, p_from, p_look, p_key);
END;

--# create procedure passed_over
CREATE PROCEDURE passed_over(
    IN  p_rule   varchar(64),
    IN  p_from   datetime(6),
    IN  p_to     datetime(6),
    IN  p_since  bigint,
    IN  p_before bigint,
    OUT o_key    varchar(700)
)
SQL SECURITY DEFINER
COMMENT 'Fills work_skip with what was refused of the instant p_from in runs from p_since on, before p_before, and is left before the
    place in work_at; also with the instant where others are left there. o_key: of the refusal that the run shows. Reads the last
    10,000 refusals, their rows, and a hundred others. Locks none.'
BEGIN
    DECLARE v_more   boolean;
    DECLARE v_any    varchar(700);
    DECLARE v_others bigint;
    -- Without what was only in use, and what a purge or a stamp has met. An instant is the key of no row.
    INSERT INTO work_skip (skip_key, reason)
    SELECT f.`key`, 'FAILED'
    FROM run AS r
    STRAIGHT_JOIN run_failure AS f ON f.run_id = r.run_id AND f.rule = p_rule
    WHERE f.errno NOT IN (1205, 1213, 1020, 3101, 3572)
      AND f.`key` NOT LIKE '____-__-__ __:__:__'
      AND f.`key` NOT LIKE '____-__-__ __:__:__.%'
      AND r.run_id >= p_since
      AND r.run_id < p_before
      AND r.`trigger` NOT IN ('PURGE', 'STAMP')
      AND NOT r.dry_run
    ORDER BY r.run_id DESC
    LIMIT 10001;
    SET v_more = ROW_COUNT() > 10000;
    SELECT MIN(s.skip_key) INTO v_any FROM work_skip AS s;
    -- IGNORE: keys of an earlier type.
    IF @windrow_hexed THEN
        INSERT IGNORE INTO work_target (id)
        SELECT UNHEX(s.skip_key) FROM work_skip AS s;
    ELSE
        INSERT IGNORE INTO work_target (id)
        SELECT s.skip_key FROM work_skip AS s;
    END IF;
    DELETE FROM work_skip;
    BEGIN
        -- Rows with one key, which the application repeats, are told under the instant.
        DECLARE EXIT HANDLER FOR 1062
        BEGIN
            DELETE FROM work_row;
            SET v_more = true;
        END;
        CALL rows_timed(p_rule, 'named', NULL, NULL, NULL);
    END;
    DELETE w
    FROM work_at AS c
    STRAIGHT_JOIN work_row AS w
    WHERE w.id > c.id
       OR w.due IS NULL
       OR w.due < p_from
       OR w.due >= p_to;
    CALL timed_held(p_rule);
    SET @windrow_from = NULL, @windrow_to = NULL;
    CALL timed_beside(p_rule);
    DELETE w FROM work_row AS w STRAIGHT_JOIN work_keep AS k ON k.id = w.id;
    INSERT INTO work_skip (skip_key, reason)
    SELECT IF(@windrow_hexed, HEX(w.id), w.id), 'FAILED' FROM work_row AS w ORDER BY w.id;
    SELECT MIN(s.skip_key) INTO o_key FROM work_skip AS s;
    INSERT IGNORE INTO work_keep (id)
    SELECT w.id FROM work_row AS w;
    -- Others are locked, or were, or have come since, unless there were more refusals.
    CALL rows_timed(p_rule, 'first', p_from, p_to, 100);
    DELETE FROM work_target;
    INSERT INTO work_target (id)
    SELECT w.id FROM work_row AS w;
    SET @windrow_from = NULL, @windrow_to = NULL;
    CALL timed_beside(p_rule);
    SELECT COUNT(w.id)
    INTO v_others
    FROM work_at AS c
    STRAIGHT_JOIN work_row AS w ON w.id <= c.id
    LEFT JOIN work_keep AS k ON k.id = w.id
    WHERE k.id IS NULL;
    IF v_others > 0 THEN
        INSERT INTO work_skip (skip_key, reason)
        VALUES (TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM p_from)), IF(v_more, 'FAILED', 'LOCKED'));
        SET o_key = COALESCE(o_key, IF(v_more, v_any, NULL));
    END IF;
END;

--# create procedure resume_part
CREATE PROCEDURE resume_part(
    IN p_run bigint, IN p_rule varchar(64), IN p_from datetime(6), IN p_to datetime(6), OUT o_look integer, OUT o_resumed boolean
)
SQL SECURITY DEFINER
COMMENT 'How the instant p_from is looked at; NULL where it does not go in parts. o_resumed: work_at is now as note_part() found it, and
    work_skip has what is left of what another run has looked at, run_failure the error of one of these, also as a copy.'
BEGIN
    DECLARE v_run     bigint;
    DECLARE v_since   bigint;
    DECLARE v_before  bigint;
    DECLARE v_key     varchar(700);
    DECLARE v_refused bigint;
    DECLARE v_told    varchar(700);
    SET o_resumed = false;
    -- alike: where an installation came meanwhile, a column that is missing is met here, and the tables are made anew.
    SELECT MAX(c.look), MAX(c.since), MAX(c.alike) INTO o_look, v_since, v_refused FROM work_at AS c WHERE c.due = p_from;
    IF o_look IS NULL THEN
        SELECT MAX(i.run_id), MAX(COALESCE(i.since, i.run_id)), MAX(i.look), MAX(i.part_key), MAX(i.refused)
        INTO v_run, v_since, o_look, v_key, v_refused
        FROM rule_instant AS i
        JOIN rule AS r ON r.rule = i.rule AND SHA2(r.document, 256) = i.rule_hash
        WHERE i.rule = p_rule
          AND i.due = p_from;
        IF v_run <> p_run THEN
            -- It waits for locks once more.
            SET o_look = LEAST(o_look, 1), v_refused = 0;
        END IF;
        IF o_look IS NOT NULL THEN
            CALL begin_parts(p_from, o_look);
            IF v_key IS NOT NULL THEN
                CALL pass_part(p_from, o_look, v_key);
            END IF;
            UPDATE work_at AS c SET c.refused = v_refused, c.since = v_since;
            SET o_resumed = true;
        END IF;
        IF v_key IS NOT NULL AND o_look > 0 THEN
            -- What stays before the place is told once: by another worker of the sweep, if that was there. In look 0, look 1 will tell it.
            SELECT COALESCE(MIN(s.sweep_id), p_run) INTO v_before FROM run_sweep AS s WHERE s.run_id = p_run;
            IF v_run < v_before THEN
                CALL passed_over(p_rule, p_from, p_to, v_since, v_before, v_told);
                -- The run has failed, too, and shows why: if the ledger has forgotten who was refused, as a later run has shown it.
                INSERT IGNORE INTO run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
                SELECT
                    p_run, p_rule, f.`key`, f.errno, f.`sqlstate`,
                    IF(f.message LIKE 'not tried again since run %', f.message,
                        CONCAT('not tried again since run ', f.run_id, ': ', f.message))
                FROM run AS r
                STRAIGHT_JOIN run_failure AS f ON f.run_id = r.run_id AND f.rule = p_rule AND f.`key` = v_told
                WHERE r.run_id >= v_since
                  AND r.run_id < v_before
                  AND r.`trigger` NOT IN ('PURGE', 'STAMP')
                  AND NOT r.dry_run
                  AND f.errno NOT IN (1205, 1213, 1020, 3101, 3572)
                ORDER BY f.message LIKE 'not tried again since run %', f.run_id DESC
                LIMIT 1;
            END IF;
        END IF;
    END IF;
END;

-- delete_timed: deletes what keep_timed does not keep of a window, in the caller's transaction.
--# create procedure delete_timed
CREATE PROCEDURE delete_timed(
    IN  p_run      bigint,
    IN  p_rule     varchar(64),
    IN  p_plain    boolean,
    IN  p_from     datetime(6),
    IN  p_to       datetime(6),
    IN  p_listed   boolean,
    OUT o_families bigint
)
SQL SECURITY DEFINER
COMMENT 'Deletes, in the caller''s transaction (READ COMMITTED), what keep_timed() does not keep of the window from p_from to p_to;
    p_listed: of the rows of work_target.'
BEGIN
    SET @windrow_run = p_run, @windrow_from = p_from, @windrow_to = p_to, @windrow_listed = p_listed;
    IF p_plain THEN
        CALL perform(p_rule, 'delete', '@windrow_run, @windrow_from, @windrow_to, @windrow_listed, @windrow_families');
        CALL timed_gone(1, @windrow_families);
    ELSE
        CALL perform(p_rule, 'batch', '@windrow_run, @windrow_families');
    END IF;
    SET o_families = @windrow_families;
END;

-- count_timed: what a batch would delete of a window. Reads only.
--# create procedure count_timed
CREATE PROCEDURE count_timed(
    IN  p_rule     varchar(64),
    IN  p_plain    boolean,
    IN  p_from     datetime(6),
    IN  p_to       datetime(6),
    IN  p_as_of    datetime(6),
    OUT o_families bigint
)
SQL SECURITY DEFINER
COMMENT 'How many families of the window from p_from to p_to may be deleted; work_count: their rows; work_skip: what is kept. Reads only.'
BEGIN
    DECLARE v_held bigint;
    CALL keep_timed(p_rule, p_plain, p_from, p_to, p_as_of, false, true);
    IF p_plain THEN
        SELECT COUNT(k.position) INTO v_held FROM work_skip AS k;
        SET @windrow_from = p_from, @windrow_to = p_to, @windrow_limit = 9223372036854775807;
        CALL perform(p_rule, 'count', '@windrow_from, @windrow_to, @windrow_limit, @windrow_found');
        SET o_families = @windrow_found - v_held;
        CALL timed_gone(1, o_families);
    ELSE
        INSERT INTO work_count (position, found)
        SELECT d.position, SUM(d.found) FROM work_due AS d GROUP BY d.position;
        SELECT COALESCE(SUM(d.roots), 0) INTO o_families FROM work_due AS d;
    END IF;
END;

-- next_timed: the next families that are due, the oldest first, after a cursor.
--# create procedure next_timed
CREATE PROCEDURE next_timed(
    IN    p_rule    varchar(64),
    IN    p_cutoff  datetime(6),
    IN    p_limit   bigint,
    IN    p_to_time datetime(6),
    IN    p_to_key  varchar(700),
    INOUT o_time    datetime(6),
    INOUT o_key     varchar(700),
    OUT   o_found   bigint
)
SQL SECURITY DEFINER
COMMENT 'Fills work_next with the next p_limit roots before p_cutoff, behind o_time and o_key, which are then those of
    the last one; up to p_to_time and p_to_key where both are given. Reads only.'
BEGIN
    IF o_key IS NULL THEN
        SELECT JSON_VALUE(r.document, '$.first_key') INTO o_key FROM rule AS r WHERE r.rule = p_rule;
    END IF;
    -- The work table has the type and the collation of the key. Without a sign, the least key is 0, and IGNORE takes that.
    IF @windrow_hexed THEN
        INSERT INTO work_cursor (only_row, due, id)
        VALUES (1, o_time, UNHEX(o_key));
    ELSE
        INSERT IGNORE INTO work_cursor (only_row, due, id)
        VALUES (1, o_time, o_key);
    END IF;
    SET @windrow_cutoff = p_cutoff, @windrow_limit = p_limit;
    CALL perform(p_rule, 'next', '@windrow_cutoff, @windrow_limit');
    -- A place among the windows has no key.
    IF p_to_time IS NOT NULL AND p_to_key IS NOT NULL THEN
        IF @windrow_hexed THEN
            REPLACE INTO work_cursor (only_row, due, id)
            VALUES (1, p_to_time, UNHEX(p_to_key));
        ELSE
            REPLACE INTO work_cursor (only_row, due, id)
            VALUES (1, p_to_time, p_to_key);
        END IF;
        DELETE n
        FROM work_next AS n
        STRAIGHT_JOIN work_cursor AS c
        WHERE n.due > c.due
           OR n.due = c.due AND n.id > c.id;
    END IF;
    -- To count a whole table, MySQL starts threads, but not where it counts what may be NULL.
    SELECT COUNT(n.due) INTO o_found FROM work_next AS n;
    IF o_found > 0 THEN
        SELECT n.due, IF(@windrow_hexed, HEX(n.id), n.id) INTO o_time, o_key FROM work_next AS n ORDER BY n.due DESC, n.id DESC LIMIT 1;
    END IF;
END;

-- judge_timed: which of these are deleted.
--# create procedure judge_timed
CREATE PROCEDURE judge_timed(
    IN  p_rule     varchar(64),
    IN  p_cutoff   datetime(6),
    IN  p_as_of    datetime(6),
    IN  p_lock     boolean,
    OUT o_families bigint
)
SQL SECURITY DEFINER
COMMENT 'Fills work_target with the families of work_next that may be deleted, with those of rows that name theirs, and work_skip with
    the others. No p_cutoff: a purge names them; p_as_of: the minimum counts.'
BEGIN
    DECLARE v_crosses boolean;
    SELECT JSON_CONTAINS(r.document, 'true', '$.crosses') IS TRUE INTO v_crosses FROM rule AS r WHERE r.rule = p_rule;
    -- What a dry run or a preview has counted along with others.
    DELETE n FROM work_next AS n STRAIGHT_JOIN work_gone AS g ON g.id = n.id;
    SET @windrow_cutoff = p_cutoff, @windrow_as_of = p_as_of, @windrow_lock = p_lock;
    CALL perform(p_rule, 'judge', '@windrow_cutoff, @windrow_as_of, @windrow_lock');
    IF v_crosses THEN
        CALL timed_crossings(p_rule, p_cutoff IS NULL);
    ELSE
        CALL timed_faults();
    END IF;
    CALL timed_blame();
    CALL timed_targets();
    SELECT COALESCE(SUM(1), 0) INTO o_families FROM work_target AS c;
END;

-- undated_timed: rows without a time; they can never become due.
--# create procedure undated_timed
CREATE PROCEDURE undated_timed(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Writes to work_skip the first 100,000 of what has no time. Reads only.'
BEGIN
    DECLARE v_plain boolean;
    CALL timed_is_plain(p_rule, v_plain);
    CALL work_timed(p_rule, v_plain);
    CALL rows_timed(p_rule, 'undated', NULL, NULL, 100000);
    INSERT INTO work_skip (skip_key, reason)
    SELECT IF(@windrow_hexed, HEX(w.id), w.id), 'UNDATED_MEMBER' FROM work_row AS w ORDER BY w.id;
END;

-- timed_idle: a rule of which nothing is due, and all has a time.
--# create procedure timed_idle
CREATE PROCEDURE timed_idle(IN p_rule varchar(64), IN p_as_of datetime(6), OUT o_idle boolean)
SQL SECURITY DEFINER
COMMENT 'Whether no row of the tables of p_rule is due at p_as_of, and none has no time. Reads only.'
BEGIN
    DECLARE v_least  datetime(6);
    DECLARE v_cutoff datetime(6);
    CALL timed_least(p_rule, v_least);
    CALL timed_cutoff(p_rule, p_as_of, NULL, v_cutoff);
    CALL window_timed(p_rule, v_least, v_cutoff, 0, 0, v_least, v_cutoff);
    SET o_idle = v_least IS NULL;
    IF o_idle THEN
        SET @windrow_from = NULL, @windrow_to = NULL, @windrow_limit = 1;
        CALL perform(p_rule, 'count', '@windrow_from, @windrow_to, @windrow_limit, @windrow_found');
        SET o_idle = @windrow_found = 0;
    END IF;
END;

-- due_timed: how much is due now, counted up to a limit.
--# create procedure due_timed
CREATE PROCEDURE due_timed(IN p_rule varchar(64), IN p_limit bigint, OUT o_families bigint, OUT o_complete boolean)
SQL SECURITY DEFINER
COMMENT 'How much is due now by p_rule, counted up to p_limit, and whether that is all. Reads only.'
BEGIN
    DECLARE v_least  datetime(6);
    DECLARE v_cutoff datetime(6);
    CALL timed_least(p_rule, v_least);
    CALL timed_cutoff(p_rule, UTC_TIMESTAMP(6), NULL, v_cutoff);
    SET @windrow_from = v_least, @windrow_to = v_cutoff, @windrow_limit = p_limit;
    CALL perform(p_rule, 'count', '@windrow_from, @windrow_to, @windrow_limit, @windrow_found');
    SET o_families = @windrow_found, o_complete = @windrow_found < p_limit;
END;

-- timed_outlook: how what is due lies along time, and how much becomes due until p_then.
--# create procedure timed_outlook
CREATE PROCEDURE timed_outlook(
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
COMMENT 'What is due at p_now, counted up to p_limit, where each of p_parts equal parts of it begins, and how much more
    is due at p_then. Reads only.'
BEGIN
    DECLARE v_least datetime(6);
    DECLARE v_now   datetime(6);
    DECLARE v_then  datetime(6);
    DECLARE v_plain boolean;
    CALL timed_least(p_rule, v_least);
    CALL timed_cutoff(p_rule, p_now, NULL, v_now);
    CALL timed_cutoff(p_rule, p_then, NULL, v_then);
    SET @windrow_from = v_now, @windrow_to = v_then, @windrow_limit = p_limit;
    CALL perform(p_rule, 'count', '@windrow_from, @windrow_to, @windrow_limit, @windrow_found');
    SET o_soon = IF(@windrow_found < p_limit, @windrow_found, NULL);
    CALL timed_open(p_rule);
    CALL timed_is_plain(p_rule, v_plain);
    CALL work_timed(p_rule, v_plain);
    CALL rows_timed(p_rule, 'roots', v_least, v_now, p_limit);
    SELECT
        COALESCE(SUM(p.families), 0),
        COALESCE(SUM(p.families), 0) < p_limit,
        COALESCE(GROUP_CONCAT(
            CONCAT(
                '{"from": "', TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(p.since, '%Y-%m-%dT%H:%i:%s.%f'))),
                '", "families": ', p.families, '}'
            )
            ORDER BY p.part SEPARATOR ', '
        ), '')
    INTO o_families, o_complete, o_list
    FROM (
        SELECT d.part, MIN(d.due) AS since, COUNT(*) AS families
        FROM (
            SELECT w.due, (ROW_NUMBER() OVER (ORDER BY w.due) - 1) * p_parts DIV COUNT(*) OVER () AS part
            FROM work_row AS w
        ) AS d
        GROUP BY d.part
    ) AS p;
    CALL timed_close(p_rule);
END;

-- timed_checks: rows that would be deleted without their family, and rows that are never deleted, for verify().
--# create procedure timed_checks
CREATE PROCEDURE timed_checks(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Writes to work_check which rows have another time than their family, or none.'
BEGIN
    DECLARE v_plain boolean;
    CALL timed_is_plain(p_rule, v_plain);
    CALL timed_open(p_rule);
    DROP TEMPORARY TABLE IF EXISTS work_stray;
    CREATE TEMPORARY TABLE work_stray (
        position integer NOT NULL AUTO_INCREMENT,
        table_name varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        apart bigint NOT NULL,
        undated bigint NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
    IF v_plain THEN
        CALL undated_timed(p_rule);
        INSERT INTO work_stray (table_name, apart, undated)
        SELECT r.root, 0, (SELECT COUNT(w.id) FROM work_row AS w) FROM rule AS r WHERE r.rule = p_rule;
    ELSE
        CALL perform(p_rule, 'strays', '');
    END IF;
    INSERT INTO work_check (position, check_name, object, severity, count, detail)
    SELECT
        1, 'removal_time', CONCAT(r.rule, ' ', o.table_name), IF(o.apart + o.undated = 0, 'ok', 'notice'), o.apart + o.undated,
        CONCAT(o.apart, ' rows have another ', r.time_name, ' than their family and are deleted without it; ', o.undated,
            ' have none and are kept')
    FROM work_stray AS o
    JOIN rule AS r ON r.rule = p_rule
    ORDER BY o.position;
    DROP TEMPORARY TABLE work_stray;
    CALL timed_close(p_rule);
END;
