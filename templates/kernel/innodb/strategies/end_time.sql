-- Rules by the end of families. The temporary tables of a session begin with work_. They are dropped and made anew instead of
-- emptied: DELETE costs as much as the rows did, TRUNCATE commits. MySQL lets a statement name a temporary table once.
-- Of the types of keys and scopes nothing is known here: the rule makes work_type (id, root_id, scope), from which the others
-- have them.

-- end_time_open: the work tables that live as long as a run, or a preview.
--# create procedure end_time_open
CREATE PROCEDURE end_time_open(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Makes the work tables that outlive a batch, with the types of work_type: the cursor, what a dry run or preview counted as gone, what it skipped, what killed runs left half done.'
BEGIN
    DECLARE v_key  varchar(64);
    DECLARE v_time datetime(6);
    SELECT JSON_VALUE(r.document, '$.first_key'), IF(r.zoned, '1970-01-01 00:00:01', '1000-01-01 00:00:00')
    INTO v_key, v_time
    FROM rule AS r
    WHERE r.rule = p_rule;
    DROP TEMPORARY TABLE IF EXISTS work_cursor, work_gone, work_skipped, work_mend, work_torn;
    CREATE TEMPORARY TABLE work_cursor (
        only_row integer NOT NULL DEFAULT 1,
        ended datetime(6) NOT NULL DEFAULT '1000-01-01 00:00:00',
        PRIMARY KEY (only_row)
    ) ENGINE = InnoDB AS
    SELECT k.root_id AS id FROM work_type AS k LIMIT 0;
    INSERT INTO work_cursor (only_row, ended, id)
    VALUES (1, v_time, v_key);
    CREATE TEMPORARY TABLE work_gone (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_skipped (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
    -- What killed runs left half done, and the links that they may have deleted.
    CREATE TEMPORARY TABLE work_mend (
        PRIMARY KEY (run_id)
    ) ENGINE = InnoDB AS
    SELECT u.run_id FROM unfinished AS u WHERE u.rule = p_rule;
    CREATE TEMPORARY TABLE work_torn (
        run_id bigint NOT NULL DEFAULT 0,
        KEY (upper_id),
        KEY (lower_id)
    ) ENGINE = InnoDB AS
    SELECT k.id AS upper_id, k.id AS lower_id FROM work_type AS k LIMIT 0;
    INSERT INTO work_torn (run_id, upper_id, lower_id)
    SELECT u.run_id, l.upper_id, l.lower_id
    FROM unfinished AS u
    JOIN JSON_TABLE(u.links, '$[*]' COLUMNS (upper_id varchar(255) PATH '$[0]', lower_id varchar(255) PATH '$[1]')) AS l
    WHERE u.rule = p_rule;
END;

-- end_time_work: the work tables of one batch, empty.
--# create procedure end_time_work
CREATE PROCEDURE end_time_work()
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of one batch anew, with the types of work_type.'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS
        work_scope, work_held, work_root, work_seen, work_member, work_link, work_locked, work_against, work_arc, work_doubt,
        work_front, work_case, work_rise, work_reach, work_stay, work_skip;
    -- Whom the rule may clean, up to which end time (exclusive), or the seconds to it; the row without a scope holds for all
    -- others.
    CREATE TEMPORARY TABLE work_scope (
        position integer NOT NULL AUTO_INCREMENT,
        cutoff datetime(6),
        seconds bigint,
        PRIMARY KEY (position),
        KEY (scope)
    ) ENGINE = InnoDB AS
    SELECT k.scope FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_held (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    -- The roots to judge.
    CREATE TEMPORARY TABLE work_root (
        ended datetime(6),
        PRIMARY KEY (id),
        KEY (ended, id)
    ) ENGINE = InnoDB AS
    SELECT k.root_id AS id FROM work_type AS k LIMIT 0;
    -- Every id that the expansion met, at the depth where it met it first, with the cutoff of the row that led there.
    CREATE TEMPORARY TABLE work_seen (
        depth integer NOT NULL DEFAULT 0,
        upwards boolean NOT NULL DEFAULT false,
        cutoff datetime(6),
        PRIMARY KEY (id),
        KEY (depth)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    -- The rows of the root table behind them. What is left in here after the verdict goes.
    CREATE TEMPORARY TABLE work_member (
        depth integer NOT NULL DEFAULT 0,
        upwards boolean NOT NULL DEFAULT false,
        final boolean NOT NULL DEFAULT false,
        root boolean NOT NULL DEFAULT false,
        ended datetime(6),
        cutoff datetime(6),
        PRIMARY KEY (id),
        KEY (depth)
    ) ENGINE = InnoDB AS
    SELECT k.id, k.scope FROM work_type AS k LIMIT 0;
    -- The links found at each depth, seen from their upper end or, upwards, from their lower end. shares: no link, both ends
    -- share a row.
    CREATE TEMPORARY TABLE work_link (
        depth integer NOT NULL DEFAULT 0,
        upwards boolean NOT NULL DEFAULT false,
        shares boolean NOT NULL DEFAULT false,
        cutoff datetime(6),
        KEY (depth, upwards)
    ) ENGINE = InnoDB AS
    SELECT k.id AS upper_id, k.id AS lower_id FROM work_type AS k LIMIT 0;
    -- Rows that another session holds.
    CREATE TEMPORARY TABLE work_locked (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    -- Rows that stay for a reason outside of their family: 4, they are among the newest of their group; 6, a row of another
    -- table keeps them.
    CREATE TEMPORARY TABLE work_against (
        fault integer NOT NULL DEFAULT 9,
        PRIMARY KEY (id, fault)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    -- What the verdict needs where something speaks against somebody.
    CREATE TEMPORARY TABLE work_arc (
        shares boolean NOT NULL DEFAULT false,
        PRIMARY KEY (upper_id, lower_id),
        KEY (lower_id)
    ) ENGINE = InnoDB AS
    SELECT k.id AS upper_id, k.id AS lower_id FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_doubt (
        round integer NOT NULL DEFAULT 0,
        PRIMARY KEY (id),
        KEY (round)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_front (
        purpose integer NOT NULL DEFAULT 0,
        round integer NOT NULL DEFAULT 0,
        KEY (purpose, round)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_case (
        root boolean NOT NULL DEFAULT false,
        locked boolean NOT NULL DEFAULT false,
        fault integer NOT NULL DEFAULT 9,
        verdict integer NOT NULL DEFAULT 9,
        round integer NOT NULL DEFAULT 0,
        cutoff datetime(6),
        newest datetime(6) NOT NULL DEFAULT '1000-01-01 00:00:00',
        PRIMARY KEY (id),
        KEY (round)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_rise (
        fault integer NOT NULL DEFAULT 9,
        round integer NOT NULL DEFAULT 0,
        newest datetime(6) NOT NULL DEFAULT '1000-01-01 00:00:00',
        PRIMARY KEY (round, id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_reach (
        round integer NOT NULL DEFAULT 0,
        PRIMARY KEY (id),
        KEY (round)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_stay (
        round integer NOT NULL DEFAULT 0,
        PRIMARY KEY (id),
        KEY (round)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    -- The roots that stay, and why.
    CREATE TEMPORARY TABLE work_skip (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
END;

-- end_time_close: the work tables go.
--# create procedure end_time_close
CREATE PROCEDURE end_time_close()
SQL SECURITY DEFINER
COMMENT 'Drops the work tables.'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS
        work_type, work_cursor, work_gone, work_skipped, work_mend, work_torn,
        work_scope, work_held, work_root, work_seen, work_member, work_link, work_locked, work_against, work_arc, work_doubt,
        work_front, work_case, work_rise, work_reach, work_stay, work_skip;
END;

-- end_time_doubt: the verdict where something speaks against somebody. All that is linked to a doubt is looked at
-- with care; the others go.
--# create procedure end_time_doubt
CREATE PROCEDURE end_time_doubt(IN p_closed boolean, IN p_purge boolean)
SQL SECURITY DEFINER
COMMENT 'Takes out of work_member what stays and writes the roots among it to work_skip, by the first reason that applies to any row of the family. p_closed: the rows on both ends of a link go together or not at all.'
BEGIN
    DECLARE v_round integer DEFAULT 0;
    DECLARE v_count bigint DEFAULT 1;

    -- A link to an id without a row links nothing. The end that a link was found from is a member.
    INSERT IGNORE INTO work_arc (upper_id, lower_id, shares)
    SELECT l.upper_id, l.lower_id, l.shares
    FROM work_link AS l
    JOIN work_member AS m ON m.id = CASE WHEN l.upwards THEN l.upper_id ELSE l.lower_id END
    ORDER BY l.shares;
    INSERT IGNORE INTO work_arc (upper_id, lower_id, shares)
    SELECT l.upper_id, l.lower_id, l.shares
    FROM work_link AS l
    JOIN work_locked AS k ON k.id = CASE WHEN l.upwards THEN l.upper_id ELSE l.lower_id END
    ORDER BY l.shares;

    -- The doubts, and all that is linked to them.
    INSERT INTO work_doubt (id)
    SELECT m.id
    FROM work_member AS m
    WHERE NOT m.final
       OR m.cutoff IS NULL
       OR (p_closed AND m.upwards AND NOT m.root)
       OR (NOT p_purge AND (m.ended IS NULL OR m.ended >= m.cutoff));
    INSERT IGNORE INTO work_doubt (id)
    SELECT k.id FROM work_locked AS k;
    INSERT IGNORE INTO work_doubt (id)
    SELECT m.id
    FROM work_held AS h
    STRAIGHT_JOIN work_member AS m ON m.id = h.id;
    INSERT IGNORE INTO work_doubt (id)
    SELECT a.id FROM work_against AS a;
    INSERT IGNORE INTO work_doubt (id)
    SELECT m.id
    FROM work_link AS l
    STRAIGHT_JOIN work_member AS m ON m.id = l.lower_id
    WHERE NOT l.upwards
      AND m.cutoff <> l.cutoff;
    WHILE v_count > 0 DO
        INSERT INTO work_front (id, purpose, round)
        SELECT a.lower_id, 1, v_round
        FROM work_doubt AS d
        STRAIGHT_JOIN work_arc AS a ON a.upper_id = d.id
        WHERE d.round = v_round;
        INSERT INTO work_front (id, purpose, round)
        SELECT a.upper_id, 1, v_round
        FROM work_doubt AS d
        STRAIGHT_JOIN work_arc AS a ON a.lower_id = d.id
        WHERE d.round = v_round;
        INSERT IGNORE INTO work_doubt (id, round)
        SELECT f.id, v_round + 1
        FROM work_front AS f
        WHERE f.purpose = 1
          AND f.round = v_round;
        SET v_count = ROW_COUNT();
        SET v_round = v_round + 1;
    END WHILE;

    -- What speaks against a row speaks against all rows above it: the first fault below, and the newest end time below.
    INSERT INTO work_case (id, root, fault, cutoff, newest)
    SELECT
        m.id, m.root,
        CASE
            WHEN h.id IS NOT NULL THEN 1
            WHEN NOT m.final THEN 2
            WHEN m.ended IS NULL AND NOT p_purge THEN 3
            ELSE COALESCE(k.fault, 9)
        END,
        IF(m.root, m.cutoff, NULL),
        COALESCE(m.ended, '1000-01-01 00:00:00')
    FROM work_doubt AS d
    STRAIGHT_JOIN work_member AS m ON m.id = d.id
    LEFT JOIN work_held AS h ON h.id = m.id
    LEFT JOIN (SELECT a.id, MIN(a.fault) AS fault FROM work_against AS a GROUP BY a.id) AS k ON k.id = m.id;
    INSERT INTO work_case (id, locked, fault, newest)
    SELECT k.id, true, IF(h.id IS NULL, 5, 1), '1000-01-01 00:00:00'
    FROM work_locked AS k
    LEFT JOIN work_held AS h ON h.id = k.id;
    SET v_round = 0, v_count = 1;
    WHILE v_count > 0 DO
        INSERT INTO work_rise (id, round, fault, newest)
        SELECT a.upper_id, v_round, MIN(c.fault), MAX(c.newest)
        FROM work_case AS c
        STRAIGHT_JOIN work_arc AS a ON a.lower_id = c.id
        WHERE c.round = v_round
          AND NOT a.shares
        GROUP BY a.upper_id;
        UPDATE work_rise AS u
        STRAIGHT_JOIN work_case AS c ON c.id = u.id
        SET c.fault = LEAST(c.fault, u.fault),
            c.newest = GREATEST(c.newest, u.newest),
            c.round = v_round + 1
        WHERE u.round = v_round
          AND (u.fault < c.fault OR u.newest > c.newest);
        SET v_count = ROW_COUNT();
        SET v_round = v_round + 1;
    END WHILE;
    UPDATE work_case AS c
    SET c.verdict = LEAST(c.fault, IF(NOT p_purge AND c.newest >= c.cutoff, 4, 9))
    WHERE c.root
      AND c.cutoff IS NOT NULL;

    IF p_closed THEN
        -- What stays: roots with a fault, roots without a cutoff, rows that no root with a cutoff leads to, and whatever is
        -- linked to these.
        INSERT INTO work_reach (id)
        SELECT c.id FROM work_case AS c WHERE c.root AND c.cutoff IS NOT NULL;
    ELSE
        -- What goes: the roots without a fault, and all rows below them.
        INSERT INTO work_reach (id)
        SELECT r.id
        FROM work_root AS r
        STRAIGHT_JOIN work_case AS c ON c.id = r.id
        WHERE c.root
          AND c.cutoff IS NOT NULL
          AND c.verdict = 9;
    END IF;
    SET v_round = 0, v_count = 1;
    WHILE v_count > 0 DO
        INSERT INTO work_front (id, purpose, round)
        SELECT a.lower_id, 2, v_round
        FROM work_reach AS c
        STRAIGHT_JOIN work_arc AS a ON a.upper_id = c.id
        WHERE c.round = v_round
          AND NOT a.shares;
        INSERT IGNORE INTO work_reach (id, round)
        SELECT f.id, v_round + 1
        FROM work_front AS f
        WHERE f.purpose = 2
          AND f.round = v_round;
        SET v_count = ROW_COUNT();
        SET v_round = v_round + 1;
    END WHILE;
    IF p_closed THEN
        INSERT INTO work_stay (id)
        SELECT c.id
        FROM work_case AS c
        LEFT JOIN work_reach AS u ON u.id = c.id
        WHERE c.locked
           OR u.id IS NULL
           OR (c.root AND (c.cutoff IS NULL OR c.verdict < 9));
        SET v_round = 0, v_count = 1;
        WHILE v_count > 0 DO
            INSERT INTO work_front (id, purpose, round)
            SELECT a.lower_id, 3, v_round
            FROM work_stay AS s
            STRAIGHT_JOIN work_arc AS a ON a.upper_id = s.id
            WHERE s.round = v_round;
            INSERT INTO work_front (id, purpose, round)
            SELECT a.upper_id, 3, v_round
            FROM work_stay AS s
            STRAIGHT_JOIN work_arc AS a ON a.lower_id = s.id
            WHERE s.round = v_round;
            INSERT IGNORE INTO work_stay (id, round)
            SELECT f.id, v_round + 1
            FROM work_front AS f
            WHERE f.purpose = 3
              AND f.round = v_round;
            SET v_count = ROW_COUNT();
            SET v_round = v_round + 1;
        END WHILE;
        DELETE m
        FROM work_stay AS s
        STRAIGHT_JOIN work_member AS m ON m.id = s.id;
    ELSE
        DELETE m
        FROM work_doubt AS d
        STRAIGHT_JOIN work_member AS m ON m.id = d.id
        LEFT JOIN work_reach AS u ON u.id = d.id
        WHERE u.id IS NULL;
    END IF;

    INSERT INTO work_skip (skip_key, reason)
    SELECT
        r.id,
        CASE
            WHEN c.locked THEN 'LOCKED'
            WHEN c.cutoff IS NULL THEN 'POLICY_DISABLED'
            ELSE ELT(
                LEAST(c.verdict, 7),
                'HELD', 'NON_FINAL_MEMBER', 'UNDATED_MEMBER', 'RETENTION_NOT_REACHED', 'LOCKED', 'REFERENCED', 'SHARED_MEMBER'
            )
        END
    FROM work_root AS r
    STRAIGHT_JOIN work_case AS c ON c.id = r.id
    LEFT JOIN work_member AS m ON m.id = r.id
    WHERE m.id IS NULL
    ORDER BY r.ended, r.id;
END;
