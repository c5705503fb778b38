-- end_time_open: the work tables that live as long as a run, or a preview.
--# create procedure end_time_open
CREATE PROCEDURE end_time_open(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Makes the work tables that outlive a batch, with the types of work_type: the cursor, the scopes
    and their next roots, what a dry run or preview counted as gone, what it skipped, what killed runs left half done.'
BEGIN
    DECLARE v_key  varchar(64);
    DECLARE v_time datetime(6);
    SELECT
        JSON_VALUE(r.document, '$.first_key'),
        JSON_VALUE(r.document, '$.least'),
        JSON_CONTAINS(r.document, '"id"', '$.hexed') IS TRUE
    INTO v_key, v_time, @windrow_hexed
    FROM rule AS r
    WHERE r.rule = p_rule;
    -- Those of another rule, or of a run that was killed in this session, may be of other types.
    CALL end_time_close(p_rule);
    CALL perform(p_rule, 'types', '');
    CREATE TEMPORARY TABLE work_cursor (
        only_row integer NOT NULL DEFAULT 1,
        ended datetime(6) NOT NULL DEFAULT '0001-01-01 00:00:00',
        PRIMARY KEY (only_row)
    ) ENGINE = InnoDB AS
    SELECT k.root_id AS id FROM work_type AS k LIMIT 0;
    CALL end_time_from(v_time, v_key);
    CALL work_scopes();
    CREATE TEMPORARY TABLE work_gone (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    -- The keys that holds of the rule name, and what they were read from.
    CREATE TEMPORARY TABLE work_holds (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_holds_of (
        only_row integer NOT NULL DEFAULT 1 PRIMARY KEY,
        said varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
    ) ENGINE = InnoDB;
    CREATE TEMPORARY TABLE work_skipped (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
    -- What killed runs left half done, and the links that they may have deleted.
    CREATE TEMPORARY TABLE work_mend (
        PRIMARY KEY (run_id)
    ) ENGINE = InnoDB AS
    SELECT u.run_id FROM unfinished AS u WHERE u.rule = p_rule;
    CREATE TEMPORARY TABLE work_torn (
        pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
        run_id bigint NOT NULL DEFAULT 0,
        KEY (upper_id),
        KEY (lower_id)
    ) ENGINE = InnoDB AS
    SELECT k.id AS upper_id, k.id AS lower_id FROM work_type AS k LIMIT 0;
    IF @windrow_hexed THEN
        INSERT INTO work_torn (run_id, upper_id, lower_id)
        SELECT u.run_id, UNHEX(l.upper_id), UNHEX(l.lower_id)
        FROM unfinished AS u
        JOIN JSON_TABLE(u.links, '$[*]' COLUMNS (upper_id varchar(700) PATH '$[0]', lower_id varchar(700) PATH '$[1]')) AS l
        WHERE u.rule = p_rule;
    ELSE
        INSERT INTO work_torn (run_id, upper_id, lower_id)
        SELECT u.run_id, l.upper_id, l.lower_id
        FROM unfinished AS u
        JOIN JSON_TABLE(u.links, '$[*]' COLUMNS (upper_id varchar(700) PATH '$[0]', lower_id varchar(700) PATH '$[1]')) AS l
        WHERE u.rule = p_rule;
    END IF;
END;

-- work_scopes: the work tables of scopes.
--# create procedure work_scopes
CREATE PROCEDURE work_scopes()
SQL SECURITY DEFINER
COMMENT 'Makes work_told, work_said, work_scope, work_scope_of and work_due anew, with the types of work_type. end_time_scope() fills them.'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS work_told, work_said, work_scope, work_scope_of, work_due;
    -- What is said of scopes, in any spelling: 1, by a policy; 2, by a definition; 3, that a run is for this one. seconds, NULL: forever.
    CREATE TEMPORARY TABLE work_told (
        pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
        scope longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
        said integer NOT NULL DEFAULT 2,
        seconds bigint
    ) ENGINE = InnoDB;
    -- The same as values of the column: end_time_said().
    CREATE TEMPORARY TABLE work_said (
        pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
        said integer NOT NULL DEFAULT 2,
        seconds bigint,
        told longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    ) ENGINE = InnoDB AS
    SELECT k.scope FROM (SELECT 1 AS one) AS o LEFT JOIN work_type AS k ON true LIMIT 0;
    -- Whom the rule may clean, up to which end time (exclusive), and its retention, NULL: forever; the row without a scope
    -- holds for all others. ahead, ahead_id: the last root of the scope in work_due; ahead is NULL where there are no more. chunk: how many
    -- roots of it are read next.
    CREATE TEMPORARY TABLE work_scope (
        position integer NOT NULL AUTO_INCREMENT,
        cutoff datetime(6),
        seconds bigint,
        ahead datetime(6),
        chunk bigint NOT NULL DEFAULT 4,
        PRIMARY KEY (position),
        KEY (scope, cutoff),
        KEY (seconds),
        KEY (ahead)
    ) ENGINE = InnoDB AS
    -- Of the type of the column, but nullable.
    SELECT k.scope, NULLIF(k.root_id, k.root_id) AS ahead_id FROM (SELECT 1 AS one) AS o LEFT JOIN work_type AS k ON true LIMIT 0;
    -- What work_scope was filled from, its latest cutoff, and that of the scopes that it does not name. ahead_from: behind which end
    -- time work_due has the next roots; NULL: nothing was read of these scopes.
    CREATE TEMPORARY TABLE work_scope_of (
        only_row integer NOT NULL DEFAULT 1 PRIMARY KEY,
        said longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        latest datetime(6),
        others datetime(6),
        ahead_from datetime(6)
    ) ENGINE = InnoDB;
    -- The next roots of the scopes, where the rule searches scope by scope. The first of them are those of the next batch.
    CREATE TEMPORARY TABLE work_due (
        pk bigint NOT NULL AUTO_INCREMENT,
        ended datetime(6) NOT NULL DEFAULT '1970-01-01 00:00:01',
        PRIMARY KEY (pk),
        KEY (ended, id)
    ) ENGINE = InnoDB AS
    SELECT k.root_id AS id FROM work_type AS k LIMIT 0;
END;

-- work_end_time: the work tables of one batch, empty.
--# create procedure work_end_time
CREATE PROCEDURE work_end_time(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of one batch, with the types of work_type: those that are missing, and those that have rows anew.'
BEGIN
    DECLARE v_keyed  boolean;
    DECLARE v_source boolean;
    DECLARE v_filled longtext;
    SELECT JSON_CONTAINS_PATH(r.document, 'one', '$.keyed'), JSON_CONTAINS_PATH(r.document, 'one', '$.source')
    INTO v_keyed, v_source
    FROM rule AS r
    WHERE r.rule = p_rule;
    -- What definitions say is read for each batch.
    IF v_source THEN
        CALL work_scopes();
    END IF;
    -- Where some have rows, these are dropped, and made in a second round.
    work: LOOP
        CREATE TEMPORARY TABLE IF NOT EXISTS work_held (
            PRIMARY KEY (id)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        -- The roots to judge.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_root (
            ended datetime(6),
            PRIMARY KEY (id),
            KEY (ended, id)
        ) ENGINE = InnoDB AS
        SELECT k.root_id AS id FROM work_type AS k LIMIT 0;
        -- Every id that the expansion reached, at the depth where it reached it first, with the cutoff of the row that led there.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_seen (
            depth integer NOT NULL DEFAULT 0,
            upwards boolean NOT NULL DEFAULT false,
            cutoff datetime(6),
            PRIMARY KEY (id),
            KEY (depth)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        -- The rows of the root table with these ids. What is left in here after the verdict is deleted.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_member (
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
        -- share a row. known: work_seen had the other end before.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_link (
            pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
            depth integer NOT NULL DEFAULT 0,
            upwards boolean NOT NULL DEFAULT false,
            shares boolean NOT NULL DEFAULT false,
            known boolean NOT NULL DEFAULT false,
            cutoff datetime(6)
        ) ENGINE = InnoDB AS
        SELECT k.id AS upper_id, k.id AS lower_id FROM work_type AS k LIMIT 0;
        -- Rows that another session holds.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_locked (
            PRIMARY KEY (id)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        -- Rows that are kept for a reason outside of their family: 4, they are among the newest of their group; 6, a row of another
        -- table keeps them.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_against (
            fault integer NOT NULL DEFAULT 9,
            PRIMARY KEY (id, fault)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        -- What the verdict needs where something keeps a family.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_arc (
            shares boolean NOT NULL DEFAULT false,
            PRIMARY KEY (upper_id, lower_id),
            KEY (lower_id)
        ) ENGINE = InnoDB AS
        SELECT k.id AS upper_id, k.id AS lower_id FROM work_type AS k LIMIT 0;
        CREATE TEMPORARY TABLE IF NOT EXISTS work_doubt (
            round integer NOT NULL DEFAULT 0,
            PRIMARY KEY (id),
            KEY (round)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        CREATE TEMPORARY TABLE IF NOT EXISTS work_front (
            pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
            purpose integer NOT NULL DEFAULT 0,
            round integer NOT NULL DEFAULT 0,
            KEY (purpose, round)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        CREATE TEMPORARY TABLE IF NOT EXISTS work_case (
            root boolean NOT NULL DEFAULT false,
            locked boolean NOT NULL DEFAULT false,
            fault integer NOT NULL DEFAULT 9,
            verdict integer NOT NULL DEFAULT 9,
            round integer NOT NULL DEFAULT 0,
            cutoff datetime(6),
            newest datetime(6) NOT NULL DEFAULT '0001-01-01 00:00:00',
            PRIMARY KEY (id),
            KEY (round)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        CREATE TEMPORARY TABLE IF NOT EXISTS work_rise (
            fault integer NOT NULL DEFAULT 9,
            round integer NOT NULL DEFAULT 0,
            newest datetime(6) NOT NULL DEFAULT '0001-01-01 00:00:00',
            PRIMARY KEY (round, id)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        CREATE TEMPORARY TABLE IF NOT EXISTS work_reach (
            round integer NOT NULL DEFAULT 0,
            PRIMARY KEY (id),
            KEY (round)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        CREATE TEMPORARY TABLE IF NOT EXISTS work_stay (
            round integer NOT NULL DEFAULT 0,
            PRIMARY KEY (id),
            KEY (round)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        -- The roots that are kept, and why.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_skip (
            position bigint NOT NULL AUTO_INCREMENT,
            skip_key varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            PRIMARY KEY (position)
        ) ENGINE = InnoDB;
        -- The scopes whose files are not recorded.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_silent (
            pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
            KEY (scope)
        ) ENGINE = InnoDB AS
        SELECT k.scope FROM work_type AS k LIMIT 0;
        -- What was deleted in which round.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_lowest (
            round integer NOT NULL DEFAULT 0,
            PRIMARY KEY (id),
            KEY (round)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        SET @windrow_filled = '';
        IF v_keyed THEN
            CALL perform(p_rule, 'keys', 'true, @windrow_filled');
        END IF;
        IF v_filled IS NOT NULL THEN
            LEAVE work;
        END IF;
        SELECT CONCAT_WS(', ',
            IF(EXISTS (SELECT 1 FROM work_held), 'work_held', NULL),
            IF(EXISTS (SELECT 1 FROM work_root), 'work_root', NULL),
            IF(EXISTS (SELECT 1 FROM work_seen), 'work_seen', NULL),
            IF(EXISTS (SELECT 1 FROM work_member), 'work_member', NULL),
            IF(EXISTS (SELECT 1 FROM work_link), 'work_link', NULL),
            IF(EXISTS (SELECT 1 FROM work_locked), 'work_locked', NULL),
            IF(EXISTS (SELECT 1 FROM work_against), 'work_against', NULL),
            IF(EXISTS (SELECT 1 FROM work_arc), 'work_arc', NULL),
            IF(EXISTS (SELECT 1 FROM work_doubt), 'work_doubt', NULL),
            IF(EXISTS (SELECT 1 FROM work_front), 'work_front', NULL),
            IF(EXISTS (SELECT 1 FROM work_case), 'work_case', NULL),
            IF(EXISTS (SELECT 1 FROM work_rise), 'work_rise', NULL),
            IF(EXISTS (SELECT 1 FROM work_reach), 'work_reach', NULL),
            IF(EXISTS (SELECT 1 FROM work_stay), 'work_stay', NULL),
            IF(EXISTS (SELECT 1 FROM work_skip), 'work_skip', NULL),
            IF(EXISTS (SELECT 1 FROM work_silent), 'work_silent', NULL),
            IF(EXISTS (SELECT 1 FROM work_lowest), 'work_lowest', NULL),
            NULLIF(@windrow_filled, '')
        )
        INTO v_filled;
        IF v_filled = '' THEN
            LEAVE work;
        END IF;
        CALL run_text(CONCAT('DROP TEMPORARY TABLE ', v_filled));
    END LOOP work;
END;

-- end_time_close: the work tables are dropped.
--# create procedure end_time_close
CREATE PROCEDURE end_time_close(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Drops the work tables.'
BEGIN
    DECLARE v_keyed boolean DEFAULT (SELECT JSON_CONTAINS_PATH(r.document, 'one', '$.keyed') FROM rule AS r WHERE r.rule = p_rule);
    DROP TEMPORARY TABLE IF EXISTS
        work_type, work_cursor, work_gone, work_skipped, work_mend, work_torn, work_holds, work_holds_of,
        work_told, work_said, work_scope, work_scope_of, work_held, work_root, work_seen, work_member, work_link, work_locked,
        work_against, work_arc, work_doubt, work_front, work_case, work_rise, work_reach, work_stay, work_skip,
        work_silent, work_due, work_lowest;
    IF v_keyed THEN
        CALL perform(p_rule, 'keys', 'false, @windrow_filled');
    END IF;
END;

-- end_time_cutoff: up to which end time (exclusive) a retention lets rows be deleted, by the clock of the application.
--# create procedure end_time_cutoff
CREATE PROCEDURE end_time_cutoff(IN p_rule varchar(64), IN p_as_of datetime(6), IN p_seconds bigint, OUT o_cutoff datetime(6))
SQL SECURITY DEFINER
COMMENT 'The cutoff of a retention counted from p_as_of: never below the minimum of the rule, and the safety lag is added.'
BEGIN
    DECLARE v_calendar varchar(64);
    DECLARE v_clock    varchar(64);
    DECLARE v_seconds  bigint;
    SELECT
        JSON_VALUE(r.document, '$.calendar'), JSON_VALUE(r.document, '$.clock'),
        GREATEST(p_seconds, r.minimum) + JSON_VALUE(r.document, '$.safety_lag')
    INTO v_calendar, v_clock, v_seconds
    FROM rule AS r
    WHERE r.rule = p_rule;
    -- The days are those of the application's zone, also where the times are in UTC.
    IF v_calendar IS NOT NULL THEN
        CALL days_before(p_as_of, v_seconds, v_calendar, o_cutoff);
    ELSE
        SET o_cutoff = p_as_of - INTERVAL v_seconds SECOND;
    END IF;
    SET o_cutoff = CONVERT_TZ(o_cutoff, '+00:00', v_clock);
END;

-- end_time_said: what the column cannot have is the scope of no row, and is left out. The server says which that is: where it refuses
-- some of what is told, half of that is tried, down to the one. An ENUM takes digits that are no label of it for the place of one.
--# create procedure end_time_said
CREATE PROCEDURE end_time_said(IN p_hexed boolean, IN p_text boolean)
SQL SECURITY DEFINER
COMMENT 'Writes to work_said what work_told says of scopes that the column can have.'
BEGIN
    DECLARE v_from bigint;
    DECLARE v_to   bigint;
    DECLARE v_last bigint;
    DECLARE v_size bigint;
    DECLARE v_fits boolean;
    SELECT MIN(t.pk) - 1, MAX(t.pk), MAX(t.pk) INTO v_from, v_to, v_last FROM work_told AS t;
    WHILE v_from < v_last DO
        SET v_fits = true;
        BEGIN
            DECLARE EXIT HANDLER FOR 1264, 1265, 1292, 1366, 1406 SET v_fits = false;
            IF p_hexed THEN
                INSERT INTO work_said (scope, said, seconds)
                SELECT UNHEX(t.scope), t.said, t.seconds FROM work_told AS t WHERE t.pk > v_from AND t.pk <= v_to;
            ELSE
                INSERT INTO work_said (scope, said, seconds, told)
                SELECT t.scope, t.said, t.seconds, t.scope FROM work_told AS t WHERE t.pk > v_from AND t.pk <= v_to;
            END IF;
        END;
        IF v_fits OR v_to = v_from + 1 THEN
            SET v_size = v_to - v_from, v_from = v_to, v_to = LEAST(v_last, v_to + 2 * v_size);
        ELSE
            SET v_to = v_from + (v_to - v_from) DIV 2;
        END IF;
    END WHILE;
    IF p_text THEN
        DELETE FROM work_said WHERE told REGEXP '^[ +0-9]+$' AND CAST(scope AS CHAR) <> told;
    END IF;
END;

-- end_time_scope: whom the rule may clean, and up to which end time (exclusive). There may be thousands of policies: those of the
-- batch before are taken, where they are the same.
--# create procedure end_time_scope
CREATE PROCEDURE end_time_scope(IN p_rule varchar(64), IN p_as_of datetime(6), IN p_retention bigint, IN p_scope varchar(255))
SQL SECURITY DEFINER
COMMENT 'Fills work_scope with the cutoffs by scope, counted from p_as_of. p_retention overrides the policies and the source of the rule.'
BEGIN
    DECLARE v_scoped  boolean;
    DECLARE v_opt_in  boolean;
    DECLARE v_source  boolean;
    DECLARE v_spec    bigint;
    DECLARE v_default bigint;
    DECLARE v_least   datetime(6);
    DECLARE v_seconds bigint DEFAULT -1;
    DECLARE v_cutoff  datetime(6);
    DECLARE v_said    longtext;
    DECLARE v_column  varchar(700);
    DECLARE v_hexed   boolean;
    DECLARE v_text    boolean;
    DECLARE v_before  longtext DEFAULT (SELECT o.said FROM work_scope_of AS o);
    SELECT
        r.scope_name IS NOT NULL, r.opt_in, JSON_CONTAINS_PATH(r.document, 'one', '$.source'),
        JSON_CONTAINS(r.document, '"scope"', '$.hexed') IS TRUE, r.scope_type = 'text',
        r.retention, COALESCE(p_retention, r.retention, r.minimum),
        JSON_VALUE(r.document, '$.least'),
        CONCAT_WS('/', p_as_of, COALESCE(p_retention, ''), r.retention, r.minimum, SHA2(r.document, 256), p_scope),
        LOWER(CONCAT(r.root, '.', r.scope_name))
    INTO v_scoped, v_opt_in, v_source, v_hexed, v_text, v_spec, v_default, v_least, v_said, v_column
    FROM rule AS r
    WHERE r.rule = p_rule;
    IF v_scoped THEN
        SELECT CONCAT_WS('/', COUNT(*), SUM(p.said), BIT_XOR(p.said), v_said)
        INTO v_said
        FROM policy AS p
        WHERE p.rule = p_rule;
    END IF;
    IF v_source OR NOT v_said <=> v_before THEN
        -- Whatever they say: MariaDB loses a row that is deleted and inserted again in a transaction that is rolled back, as that of
        -- work_scope_of is here, while others come back.
        DELETE FROM work_told;
        DELETE FROM work_said;
        DELETE FROM work_scope;
        DELETE FROM work_scope_of;
        IF v_scoped THEN
            INSERT INTO work_told (scope, said, seconds)
            SELECT p.scope, 1, IF(p.enabled, COALESCE(p_retention, p.retention_seconds, v_spec), NULL)
            FROM policy AS p
            WHERE p.rule = p_rule
              AND (p.refers_to = v_column) IS NOT FALSE;
            INSERT INTO work_told (scope, said, seconds)
            SELECT p_scope, 3, v_default FROM spec AS s WHERE p_scope IS NOT NULL;
            IF v_source THEN
                SET @windrow_retention = p_retention;
                CALL perform(p_rule, 'source', '@windrow_retention');
            END IF;
            CALL end_time_said(v_hexed, v_text);
            -- What the column takes for one scope, whatever its spelling, is one: a policy overrides a definition, and of several the
            -- strictest counts. Without a gap, as a search counts them.
            INSERT INTO work_scope (position, scope, seconds)
            SELECT ROW_NUMBER() OVER (ORDER BY o.scope), o.scope, o.seconds
            FROM (
                SELECT
                    w.scope, w.said, w.seconds, MAX(w.said) OVER (PARTITION BY w.scope) AS named,
                    ROW_NUMBER() OVER (PARTITION BY w.scope ORDER BY w.said, w.seconds IS NOT NULL, w.seconds DESC) AS place
                FROM work_said AS w
                WHERE w.scope IS NOT NULL
            ) AS o
            WHERE o.place = 1
              AND (p_scope IS NULL OR o.named = 3)
              AND (NOT v_opt_in OR o.said < 3 AND o.seconds IS NOT NULL);
        END IF;
        IF NOT v_opt_in AND (NOT v_scoped OR p_scope IS NULL) THEN
            INSERT INTO work_scope (scope, seconds)
            VALUES (NULL, v_default);
        END IF;
        -- The cutoff of each length that there is. No length: forever.
        lengths: LOOP
            SELECT MIN(s.seconds) INTO v_seconds FROM work_scope AS s WHERE s.seconds > v_seconds;
            IF v_seconds IS NULL THEN
                LEAVE lengths;
            END IF;
            CALL end_time_cutoff(p_rule, p_as_of, v_seconds, v_cutoff);
            UPDATE work_scope SET cutoff = v_cutoff WHERE seconds = v_seconds;
        END LOOP lengths;
        -- A document of an earlier version may not say it. Where a scope has no cutoff, that of all others counts.
        UPDATE work_scope SET cutoff = COALESCE(v_least, '0001-01-01 00:00:00') WHERE seconds IS NULL;
        INSERT INTO work_scope_of (said, latest, others)
        SELECT v_said, MAX(s.cutoff), MAX(IF(s.scope IS NULL, s.cutoff, NULL)) FROM work_scope AS s;
    END IF;
END;

-- scopes_ahead: a search goes from scope to scope, and there may be thousands. So it reads some roots of a scope at a time, and what
-- a batch does not take, the next ones do. Where the cursor lies before that of the batch before, or where the scopes are others, it
-- begins anew, and reads every scope: of those that have few roots that is all. The work tables say how far a search has come, so that a
-- batch that is rolled back loses what it found.
--# create procedure scopes_ahead
CREATE PROCEDURE scopes_ahead(
    IN p_limit bigint, OUT o_position integer, OUT o_last integer, OUT o_after datetime(6), OUT o_chunk bigint, OUT o_bound datetime(6),
    OUT o_new bigint
)
SQL SECURITY DEFINER
COMMENT 'Takes out of work_due what lies behind work_cursor, or empties it for a search that begins anew and reads all scopes up to o_last.
    Answers the first scope to read, as next_scope() does the others. roots_ahead() ends the search.'
BEGIN
    DECLARE v_anew boolean;
    SELECT c.ended, (o.ahead_from <= c.ended) IS NOT TRUE
    INTO o_after, v_anew
    FROM work_cursor AS c
    JOIN work_scope_of AS o
    WHERE c.only_row = 1;
    SET o_new = p_limit;
    IF v_anew THEN
        DELETE FROM work_due;
        -- Of all scopes together about as many as a batch takes, and eight of each at least: a statement costs more than they do.
        SELECT MIN(s.position), MAX(s.position), LEAST(GREATEST(GREATEST(p_limit, 500) DIV MAX(s.position), 8), 1024)
        INTO o_position, o_last, o_chunk
        FROM work_scope AS s;
        UPDATE work_scope AS s
        JOIN work_cursor AS c ON c.only_row = 1
        SET s.ahead = NULL, s.ahead_id = c.id, s.chunk = o_chunk;
    ELSE
        -- The end is a constant of the statement, so that nothing after it is read.
        DELETE d
        FROM work_cursor AS c
        STRAIGHT_JOIN work_due AS d FORCE INDEX (ended)
        WHERE c.only_row = 1
          AND d.ended <= o_after
          AND (d.ended < o_after OR d.id <= c.id);
        -- A preview may have passed the last known root of a scope.
        SET o_after = '0001-01-01 00:00:00';
        CALL next_scope(p_limit, 0, o_position, o_last, o_after, o_chunk, o_bound, o_new);
    END IF;
END;

-- next_scope: the scope whose roots are read next. A search that begins anew reads some of each; after that, and in the batches that
-- follow, those are read whose roots may come before the last one of the batch.
--# create procedure next_scope
CREATE PROCEDURE next_scope(
    IN p_limit bigint, IN p_found bigint, INOUT p_position integer, INOUT p_last integer, INOUT p_after datetime(6), INOUT p_chunk bigint,
    INOUT p_bound datetime(6), INOUT p_new bigint
)
SQL SECURITY DEFINER
COMMENT 'Notes that p_found of p_chunk roots of a scope were found. Answers the next scope of a search for p_limit roots, where it begins,
    and how many to read; NULL: all is found. p_new: how many were read since p_bound, the end time of the last root of the batch,
    was looked up.'
BEGIN
    DECLARE v_before bigint DEFAULT p_limit - 1;
    DECLARE v_from   datetime(6);
    SET p_new = p_new + p_found;
    IF p_found >= p_chunk THEN
        UPDATE work_scope AS s
        JOIN (SELECT d.ended, d.id FROM work_due AS d ORDER BY d.pk DESC LIMIT 1) AS l
        SET s.ahead = l.ended, s.ahead_id = l.id, s.chunk = LEAST(2 * s.chunk, 1024)
        WHERE s.position = p_position;
    ELSEIF p_last IS NULL THEN
        UPDATE work_scope SET ahead = NULL WHERE position = p_position;
    END IF;
    IF p_position < p_last THEN
        SET p_position = p_position + 1;
    ELSE
        SET p_last = NULL;
        IF p_new * 4 >= p_limit THEN
            -- What lies before the cursor was taken out, and would be passed again.
            SELECT c.ended INTO v_from FROM work_cursor AS c WHERE c.only_row = 1;
            SELECT COALESCE(MAX(b.ended), '9999-12-31 23:59:59'), 0
            INTO p_bound, p_new
            FROM (
                SELECT d.ended FROM work_due AS d FORCE INDEX (ended) WHERE d.ended >= v_from ORDER BY d.ended, d.id LIMIT v_before, 1
            ) AS b;
        END IF;
        SELECT MAX(n.position), MAX(n.ahead), MAX(n.chunk)
        INTO p_position, p_after, p_chunk
        FROM (
            SELECT s.position, s.ahead, s.chunk FROM work_scope AS s WHERE s.ahead BETWEEN p_after AND p_bound ORDER BY s.ahead LIMIT 1
        ) AS n;
    END IF;
END;

-- roots_ahead: a search is through.
--# create procedure roots_ahead
CREATE PROCEDURE roots_ahead(IN p_limit bigint)
SQL SECURITY DEFINER
COMMENT 'Fills work_root with the first p_limit roots of work_due.'
BEGIN
    UPDATE work_scope_of AS o
    JOIN work_cursor AS c ON c.only_row = 1
    SET o.ahead_from = c.ended;
    INSERT INTO work_root (id, ended)
    SELECT d.id, d.ended
    FROM work_due AS d FORCE INDEX (ended)
    LEFT JOIN work_gone AS g ON g.id = d.id
    WHERE g.id IS NULL
    ORDER BY d.ended, d.id
    LIMIT p_limit;
END;

-- judge_end_time: expands the roots to their families and decides, row by row under lock, which may be deleted.
--
-- A member is a row of the root table. Links to ids without a row are not followed. Closed: the rows on both ends of a link go
-- together or not at all; so members are collected in both directions. Literal: a root's own descendants decide, whoever else
-- links to them. Usually nothing keeps any of them, and one look at the members is enough. Otherwise end_time_doubt() continues.
--# create procedure judge_end_time
CREATE PROCEDURE judge_end_time(
    IN p_rule varchar(64), IN p_purge boolean, IN p_as_of datetime(6), IN p_lock boolean, OUT o_families bigint
)
SQL SECURITY DEFINER
COMMENT 'Expands work_root to the families and decides which may be deleted: every member final, ended before the cutoff,
    unheld, kept by nothing. p_lock: FOR UPDATE SKIP LOCKED on every member first. p_purge: only what work_root
    names is deleted, and of the retention the minimum counts from p_as_of; without that, no age matters. What is left
    in work_member may be deleted; work_skip has the roots that are kept.'
BEGIN
    DECLARE v_bound boolean;
    DECLARE v_closed  boolean;
    DECLARE v_linked  boolean;
    DECLARE v_nested  boolean;
    DECLARE v_keeps   boolean;
    DECLARE v_newest  boolean;
    DECLARE v_mixed   boolean;
    DECLARE v_aged    boolean DEFAULT NOT p_purge OR p_as_of IS NOT NULL;
    DECLARE v_late    datetime(6);
    DECLARE v_default datetime(6);
    DECLARE v_depth   integer DEFAULT 0;
    DECLARE v_count   bigint;
    DECLARE v_before  bigint;
    DECLARE v_found   bigint;
    DECLARE v_doubts  bigint DEFAULT 0;
    DECLARE v_torn    boolean DEFAULT EXISTS (SELECT 1 FROM work_torn AS k);
    DECLARE v_first   datetime(6);
    DECLARE v_last    datetime(6);
    SELECT
        JSON_CONTAINS_PATH(r.document, 'one', '$.closed'), JSON_CONTAINS_PATH(r.document, 'one', '$.linked'),
        JSON_CONTAINS_PATH(r.document, 'one', '$.nested'), JSON_CONTAINS_PATH(r.document, 'one', '$.keeps'),
        JSON_CONTAINS_PATH(r.document, 'one', '$.newest'),
        IF(YEAR(JSON_VALUE(r.document, '$.least')) = 1970, '2038-01-19 03:14:07', '9999-12-31 23:59:59')
    INTO v_closed, v_linked, v_nested, v_keeps, v_newest, v_late
    FROM rule AS r
    WHERE r.rule = p_rule;
    SET v_default = (SELECT s.cutoff FROM work_scope AS s WHERE s.scope IS NULL);

    INSERT INTO work_seen (id, depth)
    SELECT r.id, 0 FROM work_root AS r;
    SET v_count = ROW_COUNT();
    expansion: WHILE v_count > 0 DO
        SELECT COALESCE(MAX(l.pk), 0) INTO v_before FROM work_link AS l;
        -- A root that may be cleaned has a cutoff of its own, any other row that of the row which led to it. In a purge only
        -- the roots that it names may be cleaned, and, where rows below another are roots, those below.
        SET @windrow_default = IF(NOT p_purge, v_default, IF(v_depth = 0 OR v_nested, v_late, NULL)),
            @windrow_above = IF(p_purge, NULL, v_default);
        CALL perform(p_rule, 'members', CONCAT(v_depth, ', ', p_lock, ', @windrow_default, @windrow_above, @windrow_found'));
        SET v_found = @windrow_found;
        IF p_lock AND v_found < v_count THEN
            -- What has a row all the same is held by another session, and left to it.
            UPDATE work_seen AS w
            LEFT JOIN work_member AS m ON m.id = w.id
            SET w.depth = -2
            WHERE w.depth = v_depth
              AND m.id IS NULL;
            CALL perform(p_rule, 'members', '-2, false, NULL, NULL, @windrow_found');
            INSERT INTO work_locked (id)
            SELECT m.id FROM work_member AS m WHERE m.depth = -2;
            SET v_doubts = v_doubts + ROW_COUNT();
            DELETE FROM work_member WHERE depth = -2;
            DELETE FROM work_link WHERE pk > v_before AND depth = -2;
            UPDATE work_seen SET depth = -1 WHERE depth = -2;
        END IF;
        IF v_found = 0 OR NOT v_linked THEN
            LEAVE expansion;
        END IF;
        -- Links that a killed run has deleted hold on.
        IF v_torn THEN
            INSERT INTO work_link (upper_id, lower_id, depth, upwards, cutoff)
            SELECT m.id, k.lower_id, v_depth, false, m.cutoff
            FROM work_member AS m
            STRAIGHT_JOIN work_torn AS k ON k.upper_id = m.id
            WHERE m.depth = v_depth;
            IF v_closed THEN
                INSERT INTO work_link (upper_id, lower_id, depth, upwards, cutoff)
                SELECT k.upper_id, m.id, v_depth, true, NULL
                FROM work_member AS m
                STRAIGHT_JOIN work_torn AS k ON k.lower_id = m.id
                WHERE m.depth = v_depth;
            END IF;
        END IF;
        -- What is gone already, of a dry run or a preview, is not visited again.
        INSERT IGNORE INTO work_seen (id, depth, upwards, cutoff)
        SELECT l.lower_id, v_depth + 1, false, l.cutoff
        FROM work_link AS l
        LEFT JOIN work_gone AS g ON g.id = l.lower_id
        WHERE l.pk > v_before
          AND NOT l.upwards
          AND g.id IS NULL;
        SET v_count = ROW_COUNT();
        IF v_closed THEN
            INSERT IGNORE INTO work_seen (id, depth, upwards, cutoff)
            SELECT l.upper_id, v_depth + 1, true, NULL
            FROM work_link AS l
            LEFT JOIN work_gone AS g ON g.id = l.upper_id
            WHERE l.pk > v_before
              AND l.upwards
              AND NOT l.known
              AND g.id IS NULL;
            SET v_count = v_count + ROW_COUNT();
        END IF;
        SET v_depth = v_depth + 1;
    END WHILE;

    IF p_purge AND v_aged THEN
        CALL end_time_least(p_rule, p_as_of);
    END IF;

    -- What keeps any of them?
    CALL end_time_held(p_rule);
    CALL bound_by(p_rule, v_bound);
    IF v_bound THEN
        CALL perform(p_rule, 'bound', '');
    END IF;
    SELECT v_doubts + COUNT(h.id) INTO v_doubts FROM work_held AS h;
    IF v_keeps OR v_newest AND v_aged THEN
        CALL perform(p_rule, 'against', CONCAT(v_aged, ', ', p_lock));
        SELECT v_doubts + COUNT(a.id) INTO v_doubts FROM work_against AS a;
    END IF;
    SELECT
        v_doubts + COUNT(CASE
            WHEN NOT m.final OR m.cutoff IS NULL OR (v_closed AND m.upwards AND NOT m.root) THEN 1
            WHEN v_aged AND (m.ended IS NULL OR m.ended >= m.cutoff) THEN 1
        END),
        COUNT(CASE WHEN m.root THEN 1 END), MIN(m.cutoff), MAX(m.cutoff)
    INTO v_doubts, o_families, v_first, v_last
    FROM work_member AS m;
    -- A member that two cutoffs apply to was compared with one of them only.
    SET v_mixed = v_linked AND v_first < v_last;
    IF v_doubts = 0 AND v_mixed THEN
        SELECT COUNT(*) INTO v_doubts
        FROM work_link AS l
        STRAIGHT_JOIN work_member AS m ON m.id = l.lower_id
        WHERE NOT l.upwards
          AND m.cutoff <> l.cutoff;
    END IF;
    IF v_doubts > 0 THEN
        CALL end_time_doubt(v_closed, v_aged, v_mixed);
        SELECT COUNT(*) INTO o_families FROM work_member AS m WHERE m.root;
    END IF;
END;

-- end_time_least: what is too young for a purge: that has a cutoff of its own, where the rule may clean the scope at all. A scope that it
-- may not clean has the cutoff 0001-01-01, before which no time is. The scopes are forgotten again: the roots that a purge does not name
-- have none.
--# create procedure end_time_least
CREATE PROCEDURE end_time_least(IN p_rule varchar(64), IN p_as_of datetime(6))
SQL SECURITY DEFINER
COMMENT 'Gives what may be deleted in work_member the cutoffs of the minimum, counted from p_as_of, other rows than roots the earliest.'
BEGIN
    DECLARE v_other datetime(6);
    CALL end_time_scope(p_rule, p_as_of, 0, NULL);
    SELECT MAX(s.cutoff) INTO v_other FROM work_scope AS s WHERE s.scope IS NULL;
    UPDATE work_member AS m
    LEFT JOIN work_scope AS s ON s.scope = m.scope
    SET m.cutoff = CASE
            WHEN s.scope IS NULL THEN COALESCE(v_other, '0001-01-01 00:00:00')
            WHEN s.seconds IS NULL THEN '0001-01-01 00:00:00'
            ELSE s.cutoff
        END
    WHERE m.root
      AND m.cutoff IS NOT NULL;
    SELECT MIN(m.cutoff) INTO v_other FROM work_member AS m WHERE m.root;
    UPDATE work_member SET cutoff = v_other WHERE NOT root AND cutoff IS NOT NULL;
    DELETE FROM work_said;
    DELETE FROM work_scope;
    DELETE FROM work_scope_of;
END;

-- end_time_held: what holds of the rule keep of a batch. The list of holds, which may be long, is read where it is another one.
--# create procedure end_time_held
CREATE PROCEDURE end_time_held(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Writes to work_held what work_seen has of the keys that holds of p_rule name.'
BEGIN
    DECLARE v_said varchar(200);
    CALL holds_said(p_rule, v_said);
    IF NOT EXISTS (SELECT 1 FROM work_holds_of AS o WHERE o.said = v_said) THEN
        -- What the list was read from comes first: where MariaDB loses keys that are deleted and inserted again, as the transaction is
        -- rolled back, it loses this row, too, and the list is read again.
        DELETE FROM work_holds;
        DELETE FROM work_holds_of;
        INSERT INTO work_holds_of (said)
        VALUES (v_said);
        IF @windrow_hexed THEN
            INSERT IGNORE INTO work_holds (id)
            SELECT UNHEX(h.`key`)
            FROM hold AS h
            WHERE h.rule = p_rule
              AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6));
        ELSE
            INSERT IGNORE INTO work_holds (id)
            SELECT h.`key`
            FROM hold AS h
            WHERE h.rule = p_rule
              AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6));
        END IF;
    END IF;
    IF EXISTS (SELECT 1 FROM work_holds) THEN
        INSERT INTO work_held (id)
        SELECT w.id
        FROM work_seen AS w
        STRAIGHT_JOIN work_holds AS h ON h.id = w.id;
    END IF;
END;

-- end_time_doubt: the verdict where something keeps a family. All that is linked to a doubt is looked at
-- with care; the others are deleted.
--# create procedure end_time_doubt
CREATE PROCEDURE end_time_doubt(IN p_closed boolean, IN p_aged boolean, IN p_mixed boolean)
SQL SECURITY DEFINER
COMMENT 'Takes out of work_member what is kept and writes the roots among it to work_skip, by the first reason that
    applies to any row of the family. p_closed: the rows on both ends of a link go together or not at all. p_aged: times count. p_mixed:
    there are several cutoffs.'
BEGIN
    DECLARE v_round integer DEFAULT 0;
    DECLARE v_count bigint DEFAULT 1;

    -- A link to an id without a row links nothing. The end that a link was found from is a member.
    INSERT IGNORE INTO work_arc (upper_id, lower_id, shares)
    SELECT l.upper_id, l.lower_id, MIN(l.shares)
    FROM work_link AS l
    JOIN work_member AS m ON m.id = CASE WHEN l.upwards THEN l.upper_id ELSE l.lower_id END
    GROUP BY l.upper_id, l.lower_id;
    INSERT IGNORE INTO work_arc (upper_id, lower_id, shares)
    SELECT l.upper_id, l.lower_id, MIN(l.shares)
    FROM work_link AS l
    JOIN work_locked AS k ON k.id = CASE WHEN l.upwards THEN l.upper_id ELSE l.lower_id END
    GROUP BY l.upper_id, l.lower_id;

    -- The doubts, and all that is linked to them.
    INSERT INTO work_doubt (id)
    SELECT m.id
    FROM work_member AS m
    WHERE NOT m.final
       OR m.cutoff IS NULL
       OR (p_closed AND m.upwards AND NOT m.root)
       OR (p_aged AND (m.ended IS NULL OR m.ended >= m.cutoff));
    INSERT IGNORE INTO work_doubt (id)
    SELECT k.id FROM work_locked AS k;
    INSERT IGNORE INTO work_doubt (id)
    SELECT m.id
    FROM work_held AS h
    STRAIGHT_JOIN work_member AS m ON m.id = h.id;
    INSERT IGNORE INTO work_doubt (id)
    SELECT a.id FROM work_against AS a;
    IF p_mixed THEN
        INSERT IGNORE INTO work_doubt (id)
        SELECT m.id
        FROM work_link AS l
        STRAIGHT_JOIN work_member AS m ON m.id = l.lower_id
        WHERE NOT l.upwards
          AND m.cutoff <> l.cutoff;
    END IF;
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

    -- What keeps a row keeps all rows above it: the first fault below, and the newest end time below.
    INSERT INTO work_case (id, root, fault, cutoff, newest)
    SELECT
        m.id, m.root,
        CASE
            WHEN h.id IS NOT NULL THEN 1
            WHEN NOT m.final THEN 2
            WHEN m.ended IS NULL AND p_aged THEN 3
            ELSE COALESCE(k.fault, 9)
        END,
        IF(m.root, m.cutoff, NULL),
        COALESCE(m.ended, '0001-01-01 00:00:00')
    FROM work_doubt AS d
    STRAIGHT_JOIN work_member AS m ON m.id = d.id
    LEFT JOIN work_held AS h ON h.id = m.id
    LEFT JOIN (SELECT a.id, MIN(a.fault) AS fault FROM work_against AS a GROUP BY a.id) AS k ON k.id = m.id;
    INSERT INTO work_case (id, locked, fault, newest)
    SELECT k.id, true, IF(h.id IS NULL, 5, 1), '0001-01-01 00:00:00'
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
    SET c.verdict = LEAST(c.fault, IF(p_aged AND c.newest >= c.cutoff, 4, 9))
    WHERE c.root
      AND c.cutoff IS NOT NULL;

    IF p_closed THEN
        -- What is kept: roots with a fault, roots without a cutoff, rows that no root with a cutoff leads to, and whatever is
        -- linked to these.
        INSERT INTO work_reach (id)
        SELECT c.id FROM work_case AS c WHERE c.root AND c.cutoff IS NOT NULL;
    ELSE
        -- What is deleted: the roots without a fault, and all rows below them.
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
        IF(@windrow_hexed, HEX(r.id), r.id),
        CASE
            WHEN c.locked THEN 'LOCKED'
            WHEN c.cutoff IS NULL OR c.verdict = 4 AND c.cutoff = '0001-01-01 00:00:00' THEN 'POLICY_DISABLED'
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

-- end_time_keepers: which families keep those that are kept because others share a row with them, and why these are kept.
--# create procedure end_time_keepers
CREATE PROCEDURE end_time_keepers()
SQL SECURITY DEFINER
COMMENT 'Writes to work_key, besides what is kept as SHARED_MEMBER after a purge has judged, the nearest family linked to it that
    is kept for a reason of its own, with the reason; else the nearest that is not named.'
BEGIN
    DECLARE v_place integer DEFAULT (SELECT MIN(k.position) FROM work_key AS k WHERE k.reason = 'SHARED_MEMBER');
    DECLARE v_round integer;
    DECLARE v_count bigint;
    DECLARE v_key   varchar(700);
    DECLARE v_why   varchar(32);
    WHILE v_place IS NOT NULL DO
        DELETE FROM work_reach;
        DELETE FROM work_front;
        IF @windrow_hexed THEN
            INSERT INTO work_reach (id)
            SELECT UNHEX(k.found) FROM work_key AS k WHERE k.position = v_place;
        ELSE
            INSERT INTO work_reach (id)
            SELECT k.found FROM work_key AS k WHERE k.position = v_place;
        END IF;
        SET v_round = 0, v_count = 1;
        WHILE v_count > 0 DO
            INSERT INTO work_front (id, purpose, round)
            SELECT a.lower_id, 4, v_round
            FROM work_reach AS s
            STRAIGHT_JOIN work_arc AS a ON a.upper_id = s.id
            WHERE s.round = v_round;
            INSERT INTO work_front (id, purpose, round)
            SELECT a.upper_id, 4, v_round
            FROM work_reach AS s
            STRAIGHT_JOIN work_arc AS a ON a.lower_id = s.id
            WHERE s.round = v_round;
            INSERT IGNORE INTO work_reach (id, round)
            SELECT f.id, v_round + 1
            FROM work_front AS f
            WHERE f.purpose = 4
              AND f.round = v_round;
            SET v_count = ROW_COUNT();
            SET v_round = v_round + 1;
        END WHILE;
        SET v_key = NULL, v_why = NULL;
        SELECT
            IF(@windrow_hexed, HEX(c.id), c.id),
            CASE
                WHEN c.locked THEN 'LOCKED'
                WHEN LEAST(c.fault, c.verdict) = 4 AND c.cutoff = '0001-01-01 00:00:00' THEN 'POLICY_DISABLED'
                ELSE COALESCE(ELT(
                    LEAST(c.fault, c.verdict),
                    'HELD', 'NON_FINAL_MEMBER', 'UNDATED_MEMBER', 'RETENTION_NOT_REACHED', 'LOCKED', 'REFERENCED'
                ), 'NOT_NAMED')
            END
        INTO v_key, v_why
        FROM work_reach AS s
        STRAIGHT_JOIN work_case AS c ON c.id = s.id
        WHERE c.locked
           OR (c.root AND (c.fault < 9 OR c.verdict < 9 OR c.cutoff IS NULL))
        ORDER BY NOT c.locked AND LEAST(c.fault, c.verdict) = 9, s.round, IF(@windrow_hexed, HEX(c.id), CAST(c.id AS CHAR))
        LIMIT 1;
        UPDATE work_key SET keeper = v_key, keeper_reason = v_why WHERE position = v_place;
        SELECT MIN(k.position) INTO v_place FROM work_key AS k WHERE k.reason = 'SHARED_MEMBER' AND k.position > v_place;
    END WHILE;
END;

-- none_came: what comes below rows between a root and others, until a batch has locked these, nobody has judged.
--# create procedure none_came
CREATE PROCEDURE none_came(IN p_came boolean)
SQL SECURITY DEFINER
COMMENT 'Raises an error by which a batch is tried again, where rows have come that keep a family of it.'
BEGIN
    IF p_came THEN
        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1020, MESSAGE_TEXT = 'rows have come that keep a family of this batch';
    END IF;
END;

-- batch_end_time: deletes what judge_end_time() left in work_member, in the caller's transaction (READ COMMITTED).
--# create procedure batch_end_time
CREATE PROCEDURE batch_end_time(IN p_run bigint, IN p_rule varchar(64), OUT o_rows longtext)
SQL SECURITY DEFINER
COMMENT 'Deletes the families in work_member, and answers how many rows by table. end_time_step() calls it, and rolls back for a dry run.'
BEGIN
    DECLARE v_members  bigint;
    DECLARE v_rows     bigint;
    DECLARE v_root     varchar(64);
    DECLARE v_silences boolean;
    DECLARE v_archives boolean;
    DECLARE v_column   varchar(700);
    DECLARE v_hexed    boolean;
    DECLARE v_message  varchar(128);
    -- COUNT of a whole table has MySQL start threads: 7 ms.
    SELECT COALESCE(SUM(1), 0) INTO v_members FROM work_member AS m;
    SELECT
        r.root, JSON_CONTAINS_PATH(r.document, 'one', '$.silences'), JSON_CONTAINS_PATH(r.document, 'one', '$.archives'),
        JSON_CONTAINS(r.document, '"scope"', '$.hexed') IS TRUE, CONCAT('[0', REPEAT(', 0', JSON_LENGTH(r.document, '$.tables') - 1), ']'),
        LOWER(CONCAT(r.root, '.', r.scope_name))
    INTO v_root, v_silences, v_archives, v_hexed, o_rows, v_column
    FROM rule AS r
    WHERE r.rule = p_rule;
    IF v_members > 0 THEN
        -- Taken out before COMMIT: should the session of a killed run commit what it began, the next run knows what to finish.
        INSERT INTO unfinished (run_id, rule, links)
        SELECT p_run, p_rule, COALESCE(
            JSON_ARRAYAGG(IF(@windrow_hexed, JSON_ARRAY(HEX(l.upper_id), HEX(l.lower_id)), JSON_ARRAY(l.upper_id, l.lower_id))), '[]'
        )
        FROM work_link AS l
        STRAIGHT_JOIN work_member AS m ON m.id = l.lower_id
        WHERE NOT l.upwards;
        IF v_silences THEN
            IF v_hexed THEN
                INSERT INTO work_silent (scope)
                SELECT UNHEX(p.scope)
                FROM policy AS p
                WHERE p.rule = p_rule
                  AND (p.refers_to = v_column) IS NOT FALSE
                  AND NOT p.artifacts;
            ELSE
                INSERT INTO work_silent (scope)
                SELECT p.scope
                FROM policy AS p
                WHERE p.rule = p_rule
                  AND (p.refers_to = v_column) IS NOT FALSE
                  AND NOT p.artifacts;
            END IF;
        END IF;
        SET @windrow_run = p_run;
        CALL perform(p_rule, 'delete', '@windrow_run, @windrow_rows');
        SET o_rows = @windrow_rows;
        -- The members are the last.
        SET v_rows = JSON_UNQUOTE(JSON_EXTRACT(o_rows, CONCAT('$[', JSON_LENGTH(o_rows) - 1, ']')));
        IF v_rows <> v_members THEN
            SET v_message = LEFT(CONCAT(
                v_members - v_rows, ' of ', v_members, ' rows could not be deleted; a trigger or a cascade takes or keeps rows of ', v_root
            ), 128);
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = v_message;
        END IF;
        IF v_archives THEN
            CALL check_archive(p_rule);
        END IF;
    END IF;
END;

-- end_time_named: the root that a purge names.
--# create procedure end_time_named
CREATE PROCEDURE end_time_named(IN p_rule varchar(64), IN p_key varchar(700), OUT o_found boolean)
SQL SECURITY DEFINER
COMMENT 'Writes the root with this key to work_root, or those to be tried again, and whether there is one.'
BEGIN
    -- The work tables have the type and the collation of the key.
    IF p_key IS NULL AND @windrow_hexed THEN
        INSERT IGNORE INTO work_seen (id, depth)
        SELECT UNHEX(k.found), 0 FROM work_key AS k WHERE k.reason = 'AGAIN';
    ELSEIF p_key IS NULL THEN
        INSERT IGNORE INTO work_seen (id, depth)
        SELECT k.found, 0 FROM work_key AS k WHERE k.reason = 'AGAIN';
    ELSEIF @windrow_hexed THEN
        INSERT INTO work_seen (id, depth)
        VALUES (UNHEX(p_key), 0);
    ELSE
        INSERT INTO work_seen (id, depth)
        VALUES (p_key, 0);
    END IF;
    CALL perform(p_rule, 'members', '0, false, NULL, NULL, @windrow_found');
    INSERT INTO work_root (id, ended)
    SELECT m.id, m.ended FROM work_member AS m WHERE m.root;
    SET o_found = ROW_COUNT() > 0;
    DELETE FROM work_seen WHERE depth = 0;
    DELETE FROM work_member WHERE depth = 0;
    DELETE FROM work_link WHERE depth = 0;
END;

-- end_time_mend: what killed runs left is finished where nobody is left of the members that were linked.
--# create procedure end_time_mend
CREATE PROCEDURE end_time_mend(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Takes out of table unfinished what killed runs left half done, once it is gone.'
BEGIN
    -- Where rows name each other by foreign keys, the upper one is deleted last.
    DECLARE v_within boolean DEFAULT (SELECT JSON_CONTAINS_PATH(r.document, 'one', '$.within') FROM rule AS r WHERE r.rule = p_rule);
    IF EXISTS (SELECT 1 FROM work_mend AS d) THEN
        CALL work_end_time(p_rule);
        INSERT IGNORE INTO work_seen (id, depth)
        SELECT k.lower_id, 0 FROM work_torn AS k;
        IF v_within THEN
            INSERT IGNORE INTO work_seen (id, depth)
            SELECT k.upper_id, 0 FROM work_torn AS k;
        END IF;
        CALL perform(p_rule, 'members', '0, false, NULL, NULL, @windrow_found');
        DELETE u
        FROM work_mend AS d
        STRAIGHT_JOIN unfinished AS u ON u.run_id = d.run_id AND u.rule = p_rule
        LEFT JOIN (
            SELECT DISTINCT k.run_id
            FROM work_torn AS k
            STRAIGHT_JOIN work_member AS m ON m.id = k.lower_id OR (v_within AND m.id = k.upper_id)
        ) AS s ON s.run_id = d.run_id
        WHERE s.run_id IS NULL;
    END IF;
END;

-- undated_end_time: roots that are final but carry no end time; they can never become due.
--# create procedure undated_end_time
CREATE PROCEDURE undated_end_time(IN p_rule varchar(64), IN p_as_of datetime(6), IN p_scope varchar(255))
SQL SECURITY DEFINER
COMMENT 'Writes to work_skip the roots that are final but have no end time, so that no retention can ever be reached. Reads only.'
BEGIN
    CALL work_end_time(p_rule);
    CALL end_time_scope(p_rule, p_as_of, NULL, p_scope);
    SET @windrow_scope = p_scope;
    CALL perform(p_rule, 'undated', '@windrow_scope');
END;

-- due_end_time, end_time_idle: how much is due now, counted up to a limit; whether nothing is due, and all has a time.
--# create procedure due_end_time
CREATE PROCEDURE due_end_time(IN p_rule varchar(64), IN p_limit bigint, OUT o_families bigint, OUT o_complete boolean)
SQL SECURITY DEFINER
COMMENT 'How much is due now, counted up to p_limit, and whether that is all. Reads only.'
BEGIN
    CALL end_time_counted(p_rule, UTC_TIMESTAMP(6), p_limit, false, o_families);
    SET o_complete = o_families < p_limit;
END;
--# create procedure end_time_idle
CREATE PROCEDURE end_time_idle(IN p_rule varchar(64), IN p_as_of datetime(6), OUT o_idle boolean)
SQL SECURITY DEFINER
COMMENT 'Whether no root of p_rule is due at p_as_of, and none has no end time, as far as one look shows. Reads only.'
BEGIN
    DECLARE v_families bigint;
    -- Where some scopes have policies and all others the default, a look would read all that is older than the shortest of these;
    -- batches search scope by scope. Work tables are made once in a call on MariaDB: no_views() says why.
    SELECT r.scope_name IS NULL OR r.opt_in AND VERSION() NOT LIKE '%MariaDB%' INTO o_idle FROM rule AS r WHERE r.rule = p_rule;
    IF o_idle THEN
        CALL end_time_counted(p_rule, p_as_of, 1, true, v_families);
        SET o_idle = v_families = 0;
    END IF;
END;
--# create procedure end_time_counted
CREATE PROCEDURE end_time_counted(
    IN p_rule varchar(64), IN p_as_of datetime(6), IN p_limit bigint, IN p_undated boolean, OUT o_families bigint
)
SQL SECURITY DEFINER
COMMENT 'How many roots are due at p_as_of, counted up to p_limit; with p_undated, where none is, how many have no end time. Makes the work
    tables of scopes, where the rule has some.'
BEGIN
    DECLARE v_scoped    boolean;
    DECLARE v_retention bigint;
    DECLARE v_cutoff    datetime(6);
    SELECT r.scope_name IS NOT NULL, COALESCE(r.retention, r.minimum) INTO v_scoped, v_retention FROM rule AS r WHERE r.rule = p_rule;
    IF v_scoped THEN
        CALL end_time_close(p_rule);
        CALL perform(p_rule, 'types', '');
        CALL work_scopes();
        CALL end_time_scope(p_rule, p_as_of, NULL, NULL);
    ELSE
        CALL end_time_cutoff(p_rule, p_as_of, v_retention, v_cutoff);
    END IF;
    SET @windrow_limit = p_limit, @windrow_cutoff = v_cutoff;
    CALL perform(p_rule, 'due', '@windrow_limit, @windrow_cutoff, false, @windrow_families');
    IF p_undated AND @windrow_families = 0 THEN
        CALL perform(p_rule, 'due', '@windrow_limit, @windrow_cutoff, true, @windrow_families');
    END IF;
    SET o_families = @windrow_families;
    IF v_scoped THEN
        CALL end_time_close(p_rule);
    END IF;
END;

-- end_time_outlook: how what is due lies along time, and how much becomes due until p_then.
--# create procedure end_time_outlook
CREATE PROCEDURE end_time_outlook(
    IN p_rule varchar(64), IN p_now datetime(6), IN p_then datetime(6), IN p_limit bigint, IN p_parts bigint,
    OUT o_families bigint, OUT o_complete boolean, OUT o_list longtext, OUT o_soon bigint
)
SQL SECURITY DEFINER
COMMENT 'What is due at p_now, counted up to p_limit, where each of p_parts equal parts of it begins, and how much more
    is due at p_then. Reads only.'
BEGIN
    DECLARE v_later bigint;
    DECLARE v_least datetime(6);
    SET @windrow_limit = p_limit;
    CALL end_time_open(p_rule);
    CALL work_end_time(p_rule);
    CALL end_time_scope(p_rule, p_now, NULL, NULL);
    CALL perform(p_rule, 'next', '@windrow_limit');
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
        SELECT d.part, MIN(d.ended) AS since, COUNT(*) AS families
        FROM (
            SELECT r.ended, (ROW_NUMBER() OVER (ORDER BY r.ended) - 1) * p_parts DIV COUNT(*) OVER () AS part
            FROM work_root AS r
        ) AS d
        GROUP BY d.part
    ) AS p;
    -- What is younger than the cutoff of now and older than that of then, of whatever scope.
    SELECT MIN(s.cutoff) INTO v_least FROM work_scope AS s WHERE s.seconds IS NOT NULL;
    IF v_least IS NULL THEN
        SET o_soon = 0;
    ELSE
        UPDATE work_cursor SET ended = v_least WHERE only_row = 1;
        CALL work_end_time(p_rule);
        CALL end_time_scope(p_rule, p_now, NULL, NULL);
        CALL perform(p_rule, 'next', '@windrow_limit');
        SELECT COUNT(r.ended) INTO o_soon FROM work_root AS r;
        CALL work_end_time(p_rule);
        CALL end_time_scope(p_rule, p_then, NULL, NULL);
        CALL perform(p_rule, 'next', '@windrow_limit');
        SELECT COUNT(r.ended) INTO v_later FROM work_root AS r;
        SET o_soon = IF(GREATEST(o_soon, v_later) < p_limit, v_later - o_soon, NULL);
    END IF;
    CALL end_time_close(p_rule);
END;
