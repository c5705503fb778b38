-- Rules by a stored removal time, or by age. Of one table (plain), their verbs are types, window, rows, count and delete. Of
-- several, they are types, work, window, rows, count, keep, find, batch, judge, families, strays; and, where one transaction takes
-- whole families, next and members.
-- The temporary tables of a session begin with work_. An empty one is kept from batch to batch: what names a recreated table is
-- prepared again. One that has rows is dropped and recreated: DELETE costs as much as the rows did, TRUNCATE commits. MySQL lets
-- a statement name a temporary table once. Of the type of keys nothing is known here: the rule makes work_type (id), from which
-- the others have it. Where keys are bytes, @windrow_hexed is true:
-- what is a text, as in the ledger, has them as hexadecimal digits.

-- timed_open: the work tables that live as long as a run, or a preview.
--# create procedure timed_open
CREATE PROCEDURE timed_open(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Makes the work tables that outlive a batch: the type of keys, what a preview skipped and counted, what killed runs left.'
BEGIN
    -- Those of another rule, or of a run that was killed in this session, may be of other types.
    CALL timed_close(p_rule);
    SELECT JSON_CONTAINS(r.document, '"id"', '$.hexed') IS TRUE INTO @windrow_hexed FROM rule AS r WHERE r.rule = p_rule;
    CALL perform(p_rule, 'types', '');
    CREATE TEMPORARY TABLE work_skipped (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
    CREATE TEMPORARY TABLE work_total (
        pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
        position integer NOT NULL,
        found bigint NOT NULL
    ) ENGINE = InnoDB;
    -- The families that a preview or a dry run has counted.
    CREATE TEMPORARY TABLE work_gone (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    -- What work_keep has the holds from.
    CREATE TEMPORARY TABLE work_keep_of (
        only_row integer NOT NULL DEFAULT 1 PRIMARY KEY,
        said varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
    ) ENGINE = InnoDB;
    -- How far an instant that goes in parts has got; none does where look is NULL. The row is only updated: MariaDB loses one that is
    -- deleted and inserted again in a transaction that is rolled back. IGNORE: every type has a key that stands for none.
    CREATE TEMPORARY TABLE work_at (
        only_row integer NOT NULL DEFAULT 1 PRIMARY KEY,
        due datetime(6),
        look integer,
        begun boolean,
        refused bigint,
        alike bigint,
        since bigint
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    INSERT IGNORE INTO work_at (only_row)
    VALUES (1);
    -- What killed runs left half done, and the families that killed purges named.
    CREATE TEMPORARY TABLE work_mend (
        PRIMARY KEY (run_id)
    ) ENGINE = InnoDB AS
    SELECT u.run_id FROM unfinished AS u WHERE u.rule = p_rule;
    CREATE TEMPORARY TABLE work_torn (
        pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
        run_id bigint NOT NULL DEFAULT 0,
        KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    IF @windrow_hexed THEN
        INSERT INTO work_torn (run_id, id)
        SELECT u.run_id, UNHEX(l.id)
        FROM unfinished AS u
        JOIN JSON_TABLE(u.links, '$[*]' COLUMNS (id varchar(700) PATH '$')) AS l
        WHERE u.rule = p_rule;
    ELSE
        INSERT INTO work_torn (run_id, id)
        SELECT u.run_id, l.id
        FROM unfinished AS u
        JOIN JSON_TABLE(u.links, '$[*]' COLUMNS (id varchar(700) PATH '$')) AS l
        WHERE u.rule = p_rule;
    END IF;
END;

-- work_timed: the work tables of one batch, empty.
--# create procedure work_timed
CREATE PROCEDURE work_timed(IN p_rule varchar(64), IN p_plain boolean)
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of one batch, with the type of work_type: those that are missing, and those that have rows anew.'
BEGIN
    DECLARE v_filled longtext;
    -- Where some have rows, these are dropped, and made in a second round.
    work: LOOP
        -- The instants of a window, by table: rows are deleted by one of them after the other, so that an index is always better than
        -- to read the table from end to end, and nothing but these rows is locked. found: the rows that are deleted; roots:
        -- those among them.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_due (
            position integer NOT NULL DEFAULT 1,
            due datetime(6) NOT NULL,
            found bigint NOT NULL DEFAULT 0,
            roots bigint NOT NULL DEFAULT 0,
            PRIMARY KEY (position, due)
        ) ENGINE = InnoDB;
        -- What the rule lists of the rows of its root table.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_row (
            due datetime(6),
            PRIMARY KEY (id)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        -- The keys that are kept: those of all holds, which there may be many of and the next batch needs, too, and further ones.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_keep (
            held boolean NOT NULL DEFAULT false,
            PRIMARY KEY (id),
            KEY (held)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        DELETE FROM work_keep WHERE NOT held;
        -- Those that are named or are deleted as families.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_target (
            PRIMARY KEY (id)
        ) ENGINE = InnoDB AS
        SELECT k.id FROM work_type AS k LIMIT 0;
        -- What is kept, and why.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_skip (
            position bigint NOT NULL AUTO_INCREMENT,
            skip_key varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            PRIMARY KEY (position)
        ) ENGINE = InnoDB;
        -- How many rows were deleted, by table.
        CREATE TEMPORARY TABLE IF NOT EXISTS work_count (
            pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
            position integer NOT NULL,
            found bigint NOT NULL
        ) ENGINE = InnoDB;
        SELECT CONCAT_WS(', ',
            IF(EXISTS (SELECT 1 FROM work_due), 'work_due', NULL),
            IF(EXISTS (SELECT 1 FROM work_row), 'work_row', NULL),
            IF(EXISTS (SELECT 1 FROM work_target), 'work_target', NULL),
            IF(EXISTS (SELECT 1 FROM work_skip), 'work_skip', NULL),
            IF(EXISTS (SELECT 1 FROM work_count), 'work_count', NULL)
        )
        INTO v_filled;
        IF NOT p_plain THEN
            -- The rows of the root table, with their family and what keeps it; those that another session holds.
            CREATE TEMPORARY TABLE IF NOT EXISTS work_root (
                fault integer NOT NULL DEFAULT 9,
                PRIMARY KEY (id),
                KEY (family)
            ) ENGINE = InnoDB AS
            SELECT k.id, k.id AS family FROM work_type AS k LIMIT 0;
            CREATE TEMPORARY TABLE IF NOT EXISTS work_locked (
                PRIMARY KEY (id)
            ) ENGINE = InnoDB AS
            SELECT k.id, k.id AS family FROM work_type AS k LIMIT 0;
            -- How many rows of tables in between are locked: by families, and by the way in which a row says its own; other, where not
            -- alone: the one by which it says another before. Of a window: those that are deleted.
            CREATE TEMPORARY TABLE IF NOT EXISTS work_middle (
                entry bigint NOT NULL AUTO_INCREMENT,
                position integer NOT NULL DEFAULT 0,
                way integer NOT NULL DEFAULT 1,
                alone boolean NOT NULL DEFAULT true,
                found bigint NOT NULL DEFAULT 0,
                PRIMARY KEY (entry),
                KEY (family),
                KEY (other)
            ) ENGINE = InnoDB AS
            SELECT k.id AS family, k.id AS other FROM work_type AS k LIMIT 0;
            CREATE TEMPORARY TABLE IF NOT EXISTS work_between (
                position integer NOT NULL,
                found bigint NOT NULL,
                PRIMARY KEY (position)
            ) ENGINE = InnoDB;
            -- Families with a row that something refers to.
            CREATE TEMPORARY TABLE IF NOT EXISTS work_tied (
                PRIMARY KEY (id)
            ) ENGINE = InnoDB AS
            SELECT k.id FROM work_type AS k LIMIT 0;
            -- The next roots, and behind which one they begin.
            CREATE TEMPORARY TABLE IF NOT EXISTS work_cursor (
                only_row integer NOT NULL DEFAULT 1,
                due datetime(6) NOT NULL DEFAULT '0001-01-01 00:00:00',
                PRIMARY KEY (only_row)
            ) ENGINE = InnoDB AS
            SELECT k.id FROM work_type AS k LIMIT 0;
            CREATE TEMPORARY TABLE IF NOT EXISTS work_next (
                due datetime(6),
                asked boolean NOT NULL DEFAULT true,
                PRIMARY KEY (id),
                KEY (due, id)
            ) ENGINE = InnoDB AS
            SELECT k.id FROM work_type AS k LIMIT 0;
            -- Families, and those of rows that name one of theirs. binds: such a row is kept.
            CREATE TEMPORARY TABLE IF NOT EXISTS work_namer (
                pk bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
                binds boolean NOT NULL DEFAULT false,
                KEY (family),
                KEY (other)
            ) ENGINE = InnoDB AS
            SELECT k.id AS family, k.id AS other FROM work_type AS k LIMIT 0;
            CALL perform(p_rule, 'work', 'true, @windrow_filled');
            SELECT CONCAT_WS(', ', NULLIF(v_filled, ''), NULLIF(@windrow_filled, ''),
                IF(EXISTS (SELECT 1 FROM work_root), 'work_root', NULL),
                IF(EXISTS (SELECT 1 FROM work_locked), 'work_locked', NULL),
                IF(EXISTS (SELECT 1 FROM work_middle), 'work_middle', NULL),
                IF(EXISTS (SELECT 1 FROM work_between), 'work_between', NULL),
                IF(EXISTS (SELECT 1 FROM work_tied), 'work_tied', NULL),
                IF(EXISTS (SELECT 1 FROM work_cursor), 'work_cursor', NULL),
                IF(EXISTS (SELECT 1 FROM work_next), 'work_next', NULL),
                IF(EXISTS (SELECT 1 FROM work_namer), 'work_namer', NULL)
            )
            INTO v_filled;
        END IF;
        IF v_filled = '' THEN
            LEAVE work;
        END IF;
        CALL run_text(CONCAT('DROP TEMPORARY TABLE ', v_filled));
    END LOOP work;
END;

-- timed_close: the work tables are dropped.
--# create procedure timed_close
CREATE PROCEDURE timed_close(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Drops the work tables.'
BEGIN
    DECLARE v_plain boolean;
    CALL timed_is_plain(p_rule, v_plain);
    DROP TEMPORARY TABLE IF EXISTS
        work_type, work_skipped, work_total, work_gone, work_at, work_mend, work_torn, work_due, work_row, work_keep, work_keep_of,
        work_target, work_skip, work_count, work_root, work_locked, work_middle, work_between, work_tied, work_cursor, work_next,
        work_namer;
    IF NOT v_plain THEN
        CALL perform(p_rule, 'work', 'false, @windrow_filled');
    END IF;
END;

-- timed_step: one batch of a run with its progress in the ledger, in one transaction. A batch that fails is rolled back and
-- retried, then halved down to one family, or the rows of one instant, which are recorded and skipped. Of one table, an instant that
-- has more rows than a batch takes, or fails as a whole, goes in parts, down to one row.
--# create procedure timed_step
CREATE PROCEDURE timed_step(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'One batch of run p_run and its progress in the ledger, committed. Answers more, again, or why the run should end; NULL:
    it is only where an instant goes on. step() calls it.'
BEGIN
    DECLARE v_dry_run   boolean;
    DECLARE v_as_of     datetime(6);
    DECLARE v_limit     bigint;
    DECLARE v_done      bigint;
    DECLARE v_present   integer;
    DECLARE v_halving   boolean;
    DECLARE v_weigh     bigint;
    DECLARE v_batch     bigint;
    DECLARE v_last      bigint DEFAULT 0;
    DECLARE v_families  bigint DEFAULT 0;
    DECLARE v_number    integer;
    DECLARE v_errno     integer;
    DECLARE v_sqlstate  varchar(5);
    DECLARE v_message   varchar(900);
    DECLARE v_busy      boolean DEFAULT false;
    DECLARE v_text      varchar(700);
    DECLARE v_retention bigint;
    DECLARE v_take      bigint;
    DECLARE v_cutoff    datetime(6);
    DECLARE v_from      datetime(6);
    DECLARE v_to        datetime(6);
    DECLARE v_key       varchar(700);
    DECLARE v_to_time   datetime(6);
    DECLARE v_to_key    varchar(700);
    DECLARE v_rows      longtext;
    DECLARE v_plain     boolean;
    DECLARE v_part      bigint;  -- so many rows of one instant, which goes in parts
    DECLARE v_look      integer;
    DECLARE v_part_key  varchar(700);
    DECLARE v_resumed   boolean DEFAULT false;
    DECLARE v_goes_on   datetime(6);
    DECLARE v_listed    boolean DEFAULT false;  -- the rows of one table to delete are in work_target
    DECLARE v_by_family boolean;
    DECLARE v_archives  boolean;
    DECLARE v_shared    boolean;
    DECLARE v_alone     boolean;
    DECLARE v_final     boolean;
    DECLARE v_claim     longtext;
    DECLARE v_at_time   varchar(40);
    DECLARE v_at_key    varchar(700);
    SELECT
        JSON_CONTAINS(r.document, 'true', '$.plain') IS TRUE, JSON_CONTAINS(r.document, '"family"', '$.unit') IS TRUE,
        JSON_CONTAINS(r.document, 'true', '$.archives') IS TRUE, s.workers > 1 AND r.divided
    INTO v_plain, v_by_family, v_archives, v_shared
    FROM rule AS r
    CROSS JOIN spec AS s
    WHERE r.rule = p_rule;
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
            CALL work_timed(p_rule, v_plain);
            COMMIT;
            CALL begin_ledger();
            CALL begin_step(p_run, p_rule, o_state);
            IF o_state IS NOT NULL THEN
                COMMIT;
                LEAVE step;
            END IF;
            SELECT
                r.dry_run, r.as_of, JSON_VALUE(r.options, '$.retention'), JSON_VALUE(r.options, '$.run_families'), p.families,
                p.batch_families, p.halving, p.weigh, p.cursor_time, p.cursor_key, IF(p.around, p.start_time, NULL), p.start_key
            INTO v_dry_run, v_as_of, v_text, v_limit, v_done, v_present, v_halving, v_weigh, v_from, v_key, v_to_time, v_to_key
            FROM run AS r
            JOIN run_rule AS p ON p.run_id = r.run_id AND p.rule = p_rule
            WHERE r.run_id = p_run;
            IF v_shared THEN
                SELECT c.claimed, c.alone, IF(s.around, s.start_time, NULL), s.start_key
                INTO v_claim, v_alone, v_to_time, v_to_key
                FROM run_claim AS c
                JOIN sweep AS s ON s.rule = c.rule
                WHERE c.run_id = p_run
                  AND c.rule = p_rule;
                SET v_shared = NOT v_alone;
            END IF;
            -- Families first. The cursor has a key as long as there are some.
            SET v_by_family = v_by_family AND (v_shared OR v_alone IS NULL AND (v_from IS NULL OR v_key IS NOT NULL));
            CALL setting_of(p_rule, IF(v_by_family, 'batch_families', 'batch_rows'), v_batch);
            IF v_limit IS NULL THEN
                CALL setting_of(p_rule, 'run_families', v_limit);
            END IF;
            -- Families, or rows of one table; 0: those of one instant, which no size of families is.
            SET v_take = LEAST(GREATEST(v_present, v_by_family), v_batch);
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
            CALL timed_cutoff(p_rule, v_as_of, v_retention, v_cutoff);
            IF v_from IS NULL THEN
                CALL timed_least(p_rule, v_from);
            END IF;
            IF v_shared AND v_claim = '[]' THEN
                CALL claim_more(p_run, p_rule, v_cutoff, v_take, v_limit - v_done, o_state);
                LEAVE step;
            END IF;
            IF v_by_family THEN
                IF v_shared THEN
                    SET v_last = LEAST(v_take, v_limit - v_done, JSON_LENGTH(v_claim));
                    IF @windrow_hexed THEN
                        INSERT INTO work_next (id, due)
                        SELECT UNHEX(l.id), l.due
                        FROM JSON_TABLE(v_claim, '$[*]' COLUMNS (position FOR ORDINALITY, id varchar(700) PATH '$[0]',
                            due varchar(40) PATH '$[1]')) AS l
                        WHERE l.position <= v_last;
                    ELSE
                        INSERT INTO work_next (id, due)
                        SELECT l.id, l.due
                        FROM JSON_TABLE(v_claim, '$[*]' COLUMNS (position FOR ORDINALITY, id varchar(700) PATH '$[0]',
                            due varchar(40) PATH '$[1]')) AS l
                        WHERE l.position <= v_last;
                    END IF;
                    SELECT n.due, IF(@windrow_hexed, HEX(n.id), n.id)
                    INTO v_to, v_key
                    FROM work_next AS n
                    ORDER BY n.due DESC, n.id DESC
                    LIMIT 1;
                ELSE
                    SET v_to = v_from;
                    CALL next_timed(p_rule, v_cutoff, LEAST(v_take, v_limit - v_done), v_to_time, v_to_key, v_to, v_key, v_last);
                END IF;
                IF v_last = 0 AND v_to_time IS NOT NULL AND v_to_key IS NOT NULL THEN
                    COMMIT;
                    SET o_state = 'nothing left';
                    LEAVE step;
                ELSEIF v_last = 0 THEN
                    -- Then what belongs to none.
                    CALL setting_of(p_rule, 'batch_rows', v_batch);
                    CALL timed_least(p_rule, v_from);
                    UPDATE run_rule AS p
                    SET p.family_size = p.batch_families,
                        p.batch_families = v_batch,
                        p.halving = false,
                        p.cursor_time = TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_from)),
                        p.cursor_key = NULL,
                        p.updated_at = UTC_TIMESTAMP(6)
                    WHERE p.run_id = p_run
                      AND p.rule = p_rule;
                    COMMIT;
                    SET o_state = 'more';
                    LEAVE step;
                END IF;
                SET v_take = v_last;
                IF v_weigh > 0 AND v_last > 1 THEN
                    CALL judge_timed(p_rule, v_cutoff, v_as_of, false, v_families);
                    CALL perform(p_rule, 'members', '');
                    CALL timed_counted(p_rule, v_rows);
                    CALL weighed(p_run, p_rule, v_last, v_rows);
                    SET o_state = 'again';
                    LEAVE step;
                END IF;
                CALL judge_timed(p_rule, v_cutoff, v_as_of, true, v_families);
            ELSE
                SET v_to = v_to_time, v_key = NULL;
                IF v_shared THEN
                    SET v_from = JSON_VALUE(v_claim, '$[0][0]'), v_to = JSON_VALUE(v_claim, '$[0][1]');
                END IF;
                -- A claim that was made under a later cutoff ends at this one.
                SET v_cutoff = LEAST(v_cutoff, COALESCE(v_to, v_cutoff));
                IF v_plain AND NOT v_dry_run AND v_from < v_cutoff THEN
                    SET v_to = v_from + INTERVAL 1 MICROSECOND;
                    CALL resume_part(p_run, p_rule, v_from, v_to, v_look, v_resumed);
                END IF;
                IF v_look IS NULL THEN
                    CALL window_timed(p_rule, v_from, v_cutoff, v_take, v_limit - v_done, v_from, v_to);
                END IF;
                IF v_from IS NULL THEN
                    SET o_state = 'nothing left';
                    IF v_shared THEN
                        CALL claim_done(p_run, p_rule, NULL, JSON_VALUE(v_claim, '$[0][1]'), v_at_time, v_at_key);
                        SET o_state = 'again';
                    ELSEIF v_alone THEN
                        -- From the windows that follow families the sweep starts again.
                        CALL sweep_around(p_run, p_rule, o_state);
                    END IF;
                    COMMIT;
                    LEAVE step;
                END IF;
                -- One instant cannot be halved, unless its rows go in parts.
                SET v_last = IF(v_to <= v_from + INTERVAL 1 MICROSECOND, 1, 2);
                IF v_plain AND NOT v_dry_run AND v_last = 1 AND v_look IS NULL THEN
                    CALL resume_part(p_run, p_rule, v_from, v_to, v_look, v_resumed);
                END IF;
                IF v_resumed THEN
                    -- A part that fails must not undo that. step() calls this once more.
                    CALL record_skips(p_run, p_rule);
                    CALL note_part(p_run, p_rule);
                    COMMIT;
                    LEAVE step;
                END IF;
                IF v_look IS NOT NULL THEN
                    SET v_part = GREATEST(LEAST(v_take, v_limit - v_done), 1);
                ELSEIF v_plain AND v_last = 1 THEN
                    CALL part_of_instant(p_rule, v_from, v_to, GREATEST(LEAST(v_take, v_limit - v_done), 1), v_part);
                END IF;
                IF v_part IS NOT NULL AND NOT v_dry_run THEN
                    CALL list_part(p_rule, v_from, v_to, v_part, v_look, v_part, v_part_key);
                    SET v_last = LEAST(GREATEST(v_part, 1), 2);
                END IF;
                IF v_part IS NULL AND v_plain THEN
                    CALL bound_by(p_rule, v_listed);
                END IF;
                IF v_listed THEN
                    CALL timed_held(p_rule);
                    CALL rows_timed(p_rule, 'window', v_from, v_to, 9223372036854775807);
                    CALL lock_timed(p_rule, 'wait', v_from, v_to);
                    CALL timed_kept(p_rule, v_from, v_to);
                ELSEIF v_part IS NULL THEN
                    CALL keep_timed(p_rule, v_plain, v_from, v_to, v_as_of, true, v_dry_run);
                ELSEIF v_dry_run THEN
                    -- The rows of the instant are more than a transaction takes: they are counted, up to the limit of the run.
                    CALL count_timed(p_rule, v_plain, v_from, v_to, v_as_of, v_families);
                    SET v_families = LEAST(v_families, v_limit - v_done);
                    UPDATE work_count SET found = v_families;
                ELSEIF v_part = 0 THEN
                    -- Nothing is left of the instant but what is held.
                    CALL leave_part(p_run, p_rule, v_from, NULL, NULL);
                    CALL keep_timed(p_rule, v_plain, v_from, v_to, v_as_of, false, v_dry_run);
                ELSE
                    CALL lock_part(p_rule, v_from, v_to, v_look);
                    CALL pass_part(v_from, v_look, v_part_key);
                END IF;
            END IF;
            IF v_dry_run THEN
                -- A dry run keeps what it found out, and rolls back what follows: by the whole transaction, since a savepoint would
                -- not do in a cluster.
                COMMIT;
                CALL begin_ledger();
            END IF;
            -- Taken out before COMMIT: should the session of a killed run commit what it began, the next run finishes the window,
            -- or finds the families by their roots, which are deleted last.
            INSERT INTO unfinished (run_id, rule, links)
            VALUES (p_run, p_rule, '[]');
            IF v_by_family THEN
                SET @windrow_run = p_run;
                CALL perform(p_rule, 'families', '@windrow_run');
            ELSEIF v_part IS NULL THEN
                CALL delete_timed(p_run, p_rule, v_plain, v_from, v_to, v_listed, v_families);
            ELSEIF v_part > 0 AND NOT v_dry_run THEN
                CALL delete_timed(p_run, p_rule, v_plain, v_from, v_to, true, v_families);
                UPDATE work_at AS c SET c.refused = IF(v_families > 0, 0, c.refused);
            END IF;
            CALL timed_counted(p_rule, v_rows);
            IF v_archives THEN
                CALL check_archive(p_rule);
            END IF;
            IF v_dry_run THEN
                ROLLBACK;
                CALL begin_ledger();
                IF v_by_family THEN
                    INSERT IGNORE INTO work_gone (id)
                    SELECT c.id FROM work_target AS c;
                END IF;
            END IF;
            UPDATE run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
            -- Behind a part, the next batch goes on with the same instant.
            SET v_goes_on = IF(COALESCE(v_part, 0) = 0 OR v_dry_run, v_to, v_from);
            SET v_at_time = TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_goes_on)), v_at_key = v_key;
            IF v_shared THEN
                CALL claim_later(p_run, p_rule);
                CALL claim_done(p_run, p_rule, v_last, IF(v_by_family, NULL, v_goes_on), v_at_time, v_at_key);
            END IF;
            CALL record_skips(p_run, p_rule);
            CALL record_rows(p_run, p_rule, v_rows);
            IF v_plain THEN
                CALL note_part(p_run, p_rule);
            END IF;
            UPDATE run_rule AS p
            SET p.families = p.families + v_families,
                p.batches = p.batches + 1,
                p.retries_in_row = 0,
                p.batch_families = IF(v_halving AND v_last > 1, v_take DIV 2, LEAST(GREATEST(v_take * 2, 1), v_batch)),
                p.halving = v_halving AND v_last > 1,
                p.cursor_time = v_at_time,
                p.cursor_key = v_at_key,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            IF v_by_family THEN
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

        -- The batch failed and is rolled back. What was waited for in vain is not halved: then nothing is waited for any more. What the
        -- first look at an instant has passed over is in no ledger.
        IF v_look = 0 THEN
            SELECT MAX(c.alike) INTO @windrow_untold FROM work_at AS c;
        END IF;
        CALL fail_step(
            p_run, p_rule, v_errno, v_sqlstate, v_message, IF(v_look = 1 AND v_errno = 1205, 1, v_last), COALESCE(v_part, v_take) DIV 2,
            v_busy, o_state
        );
        SET @windrow_untold = 0;
        IF o_state IS NOT NULL THEN
            LEAVE step;
        END IF;
        SET v_final = true, v_goes_on = v_to;
        IF v_shared AND v_busy AND COALESCE(v_look, 1) > 0 THEN
            CALL is_last(p_run, p_rule, v_final);
        END IF;
        CALL work_timed(p_rule, v_plain);
        IF v_plain AND v_final AND NOT v_dry_run THEN
            CALL fail_part(p_run, p_rule, v_from, v_to, v_look, v_part_key, v_errno, v_sqlstate, v_message, v_busy, v_goes_on);
        END IF;
        SET v_text = COALESCE(v_key, TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_from)));
        SET v_at_time = TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_goes_on)), v_at_key = v_key;
        IF v_shared THEN
            CALL claim_done(p_run, p_rule, 1, IF(v_by_family, NULL, v_goes_on), v_at_time, v_at_key);
        END IF;
        IF NOT v_final THEN
            -- What others have locked may be deleted yet: a worker looks at it once more, in parts from this one on.
            IF v_look IS NULL THEN
                CALL leave_part(p_run, p_rule, IF(v_dry_run, NULL, v_from), NULL, NULL);
            ELSE
                UPDATE work_at AS c
                SET c.refused = IF(c.look = v_look, c.refused, 0), c.begun = c.begun AND c.look = v_look, c.look = v_look;
                CALL note_part(p_run, p_rule);
                CALL begin_parts(NULL, NULL);
            END IF;
            UPDATE run_claim AS c
            SET c.left_keys = JSON_ARRAY_APPEND(c.left_keys, '$', JSON_ARRAY(COALESCE(v_key, CAST(v_from AS char)), CAST(v_to AS char)))
            WHERE c.run_id = p_run
              AND c.rule = p_rule;
        ELSEIF v_by_family OR v_goes_on = v_to THEN
            INSERT IGNORE INTO run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
            VALUES (p_run, p_rule, IF(v_look > 0, COALESCE(v_part_key, v_text), v_text), v_errno, v_sqlstate, v_message);
            IF v_plain THEN
                -- What is held is told as such.
                CALL keep_timed(p_rule, v_plain, v_from, v_to, v_as_of, false, v_dry_run);
            END IF;
            IF v_look IS NOT NULL THEN
                CALL leave_rest(p_run, p_rule, v_from, v_to, v_look, v_part_key, IF(v_busy, 'LOCKED', 'FAILED'));
            ELSE
                IF v_key IS NULL THEN
                    CALL rows_timed(p_rule, 'families', v_from, v_to, 9223372036854775807);
                    IF v_plain THEN
                        CALL leave_part(p_run, p_rule, IF(v_dry_run, NULL, v_from), NULL, NULL);
                    END IF;
                END IF;
                -- One family, or those of an instant; if there are none, rows of no family.
                INSERT INTO work_skip (skip_key, reason)
                SELECT IF(@windrow_hexed, HEX(w.id), w.id), IF(v_busy, 'LOCKED', 'FAILED') FROM work_row AS w ORDER BY w.id;
                IF ROW_COUNT() = 0 THEN
                    INSERT INTO work_skip (skip_key, reason)
                    VALUES (v_text, IF(v_busy, 'LOCKED', 'FAILED'));
                END IF;
            END IF;
            CALL record_skips(p_run, p_rule);
        END IF;
        IF v_plain THEN
            CALL note_part(p_run, p_rule);
        END IF;
        UPDATE run_rule AS p
        SET p.batches = p.batches + 1,
            p.retries_in_row = 0,
            p.batch_families = LEAST(GREATEST(v_take * 2, 1), v_batch),
            p.halving = false,
            p.cursor_time = v_at_time,
            p.cursor_key = v_at_key,
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = p_rule;
        COMMIT;
        SET o_state = 'more';
    END step;
END;

-- fail_part: what comes of an instant of one table of which a batch has failed for good. One that was to go as a whole goes in parts, but
-- for one row, which the caller tells. Of a part, one row is passed over, or nothing is waited for any more. Where 500 rows have
-- failed by themselves, and none went between them, the caller leaves the rest to the next run.
--# create procedure fail_part
CREATE PROCEDURE fail_part(
    IN  p_run      bigint,
    IN  p_rule     varchar(64),
    IN  p_from     datetime(6),
    IN  p_to       datetime(6),
    IN  p_look     integer,
    IN  p_key      varchar(700),
    IN  p_errno    integer,
    IN  p_sqlstate varchar(5),
    IN  p_message  varchar(900),
    IN  p_busy     boolean,
    OUT o_goes_on  datetime(6)
)
SQL SECURITY DEFINER
COMMENT 'Moves work_at, and records the row p_key of a part in looks 1 and 2. o_goes_on: p_from, or p_to where the instant is told whole.'
BEGIN
    DECLARE v_refusal boolean;
    DECLARE v_general boolean;
    SET o_goes_on = p_from;
    -- Those of the look before do not count; its end is rolled back with the first part of this one.
    UPDATE work_at AS c SET c.refused = 0 WHERE c.look <> p_look;
    IF p_look IS NULL THEN
        CALL timed_held(p_rule);
        CALL rows_timed(p_rule, 'window', p_from, p_to, 2);
        IF (SELECT COALESCE(SUM(1), 0) FROM work_row AS w) > 1 THEN
            CALL begin_parts(p_from, IF(p_errno = 1205, 2, 0));
        ELSE
            SET o_goes_on = p_to;
        END IF;
    ELSEIF p_look = 1 AND p_errno = 1205 THEN
        -- What this look has told is behind it, unless it begins.
        UPDATE work_at AS c SET c.begun = c.begun AND c.look = 1;
        UPDATE work_at AS c SET c.look = 2;
    ELSEIF p_key IS NULL OR (SELECT c.refused >= 500 FROM work_at AS c) THEN
        -- Where so many fail by themselves, one behind the other, a run would not come to an end of this instant: the next one goes on.
        SET o_goes_on = p_to;
    ELSE
        IF p_look > 0 THEN
            INSERT IGNORE INTO run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
            VALUES (p_run, p_rule, p_key, p_errno, p_sqlstate, p_message);
            INSERT INTO work_skip (skip_key, reason)
            VALUES (p_key, IF(p_busy, 'LOCKED', 'FAILED'));
            CALL record_skips(p_run, p_rule);
        END IF;
        CALL pass_part(p_from, p_look, p_key);
        CALL is_refusal(p_errno, p_sqlstate, v_refusal, v_general);
        UPDATE work_at AS c SET c.refused = COALESCE(c.refused, 0) + 1, c.alike = COALESCE(c.alike, 0) + (v_refusal AND v_general);
    END IF;
END;

-- timed_finish: what is to be said of a rule when a run is through with it.
--# create procedure timed_finish
CREATE PROCEDURE timed_finish(IN p_run bigint, IN p_rule varchar(64), IN p_reason varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Counts what has no time where the rule looked at all that is due, and forgets what is finished now.'
BEGIN
    DECLARE v_dry_run boolean;
    DECLARE v_plain   boolean;
    DECLARE v_left    longtext;
    SELECT r.dry_run INTO v_dry_run FROM run AS r WHERE r.run_id = p_run;
    CALL timed_is_plain(p_rule, v_plain);
    IF (SELECT s.workers > 1 FROM spec AS s) THEN
        CALL claims_left(p_run, p_rule, v_left);
        WHILE v_left <> '[]' DO
            CALL work_timed(p_rule, v_plain);
            IF v_plain THEN
                -- What is held is told as such.
                CALL keep_timed(
                    p_rule, v_plain, JSON_VALUE(v_left, '$[0][0]'), JSON_VALUE(v_left, '$[0][1]'), NULL, false, v_dry_run
                );
                CALL rows_timed(
                    p_rule, 'families', JSON_VALUE(v_left, '$[0][0]'), JSON_VALUE(v_left, '$[0][1]'), 9223372036854775807
                );
                INSERT INTO work_skip (skip_key, reason)
                SELECT IF(@windrow_hexed, HEX(w.id), w.id), 'LOCKED' FROM work_row AS w ORDER BY w.id;
            ELSE
                INSERT INTO work_skip (skip_key, reason)
                VALUES (JSON_VALUE(v_left, '$[0][0]'), 'LOCKED');
            END IF;
            CALL record_skips(p_run, p_rule);
            SET v_left = JSON_REMOVE(v_left, '$[0]');
        END WHILE;
    END IF;
    IF p_reason = 'nothing left' THEN
        CALL undated_timed(p_rule);
        CALL record_skips(p_run, p_rule);
        -- The windows that killed runs left half done were gone through once more; a family that a purge named is finished when
        -- its root is gone.
        IF NOT v_dry_run THEN
            CALL work_timed(p_rule, v_plain);
            INSERT IGNORE INTO work_target (id)
            SELECT k.id FROM work_torn AS k;
            CALL rows_timed(p_rule, 'named', NULL, NULL, NULL);
            DELETE u
            FROM work_mend AS d
            STRAIGHT_JOIN unfinished AS u ON u.run_id = d.run_id AND u.rule = p_rule
            LEFT JOIN (
                SELECT DISTINCT k.run_id
                FROM work_torn AS k
                STRAIGHT_JOIN work_row AS w ON w.id = k.id
            ) AS s ON s.run_id = d.run_id
            WHERE s.run_id IS NULL;
        END IF;
    END IF;
END;

-- timed_preview: the batches of a run, counted but not locked and not deleted.
--# create procedure timed_preview
CREATE PROCEDURE timed_preview(IN p_rule varchar(64), IN p_options longtext, IN p_as_of datetime(6), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What a run of this rule would delete and skip now, as one JSON document. Reads only; preview() calls it.'
BEGIN
    DECLARE v_retention bigint;
    DECLARE v_batch     bigint;
    DECLARE v_limit     bigint DEFAULT JSON_VALUE(p_options, '$.run_families');
    DECLARE v_cutoff    datetime(6);
    DECLARE v_start     datetime(6) DEFAULT JSON_VALUE(p_options, '$.from');
    DECLARE v_from      datetime(6);
    DECLARE v_to        datetime(6);
    DECLARE v_found     bigint;
    DECLARE v_room      bigint DEFAULT 10;
    DECLARE v_part      longtext;
    DECLARE v_time      datetime(6);
    DECLARE v_families  bigint DEFAULT 0;
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
    DECLARE v_number    boolean;
    DECLARE v_plain     boolean;
    DECLARE v_by_family boolean;
    DECLARE v_key       varchar(700);
    DECLARE v_most      bigint;
    DECLARE v_rows      longtext;
    SELECT
        r.zoned, JSON_VALUE(r.document, '$.key[0]'), JSON_CONTAINS(r.document, 'true', '$.plain') IS TRUE,
        JSON_CONTAINS(r.document, '"family"', '$.unit') IS TRUE
    INTO v_zoned, v_part, v_plain, v_by_family
    FROM rule AS r
    WHERE r.rule = p_rule;
    SET v_number = v_part REGEXP ' (smallint|int|bigint)$';
    CALL seconds(JSON_VALUE(p_options, '$.retention'), v_retention);
    CALL setting_of(p_rule, 'batch_rows', v_batch);
    IF v_limit IS NULL THEN
        CALL setting_of(p_rule, 'run_families', v_limit);
    END IF;
    CALL timed_cutoff(p_rule, p_as_of, v_retention, v_cutoff);
    CALL timed_open(p_rule);
    IF v_start IS NULL THEN
        CALL timed_least(p_rule, v_start);
        CALL undated_timed(p_rule);
        INSERT INTO work_skipped (skip_key, reason)
        SELECT k.skip_key, k.reason FROM work_skip AS k ORDER BY k.position;
    END IF;
    IF v_by_family THEN
        CALL setting_of(p_rule, 'batch_families', v_most);
    END IF;
    SET v_from = v_start;
    batches: LOOP
        CALL work_timed(p_rule, v_plain);
        -- Families first, then what belongs to none.
        IF v_by_family THEN
            CALL next_timed(p_rule, v_cutoff, LEAST(v_most, GREATEST(v_limit - v_families, 1)), NULL, NULL, v_from, v_key, v_found);
            IF v_found = 0 THEN
                SET v_by_family = false, v_from = v_start;
                ITERATE batches;
            END IF;
        ELSE
            CALL window_timed(p_rule, v_from, v_cutoff, v_batch, GREATEST(v_limit - v_families, 1), v_from, v_to);
            IF v_from IS NULL THEN
                LEAVE batches;
            END IF;
        END IF;
        IF v_families >= v_limit THEN
            SET v_more = true;
            LEAVE batches;
        END IF;
        IF v_by_family THEN
            CALL judge_timed(p_rule, v_cutoff, p_as_of, false, v_found);
            CALL perform(p_rule, 'members', '');
            INSERT IGNORE INTO work_gone (id)
            SELECT c.id FROM work_target AS c;
        ELSE
            CALL count_timed(p_rule, v_plain, v_from, v_to, p_as_of, v_found);
        END IF;
        IF v_plain AND v_found > v_limit - v_families THEN
            -- An instant that has more rows is not taken whole.
            SET v_found = v_limit - v_families, v_more = true;
            UPDATE work_count SET found = v_found;
        END IF;
        -- Of one table, an instant that has more rows takes several batches.
        SET v_batches = v_batches + IF(v_plain, GREATEST(1, (v_found + v_batch - 1) DIV v_batch), 1);
        SET v_families = v_families + v_found;
        INSERT INTO work_total (position, found)
        SELECT c.position, SUM(c.found) FROM work_count AS c GROUP BY c.position;
        INSERT INTO work_skipped (skip_key, reason)
        SELECT k.skip_key, k.reason FROM work_skip AS k ORDER BY k.position;
        IF v_room > 0 THEN
            IF v_by_family THEN
                INSERT INTO work_row (id, due)
                SELECT n.id, n.due
                FROM work_next AS n
                STRAIGHT_JOIN work_target AS c ON c.id = n.id
                WHERE n.asked
                ORDER BY n.due, n.id
                LIMIT v_room;
            ELSE
                CALL rows_timed(p_rule, 'window', v_from, v_to, v_room);
            END IF;
            SELECT
                COUNT(*),
                GROUP_CONCAT(IF(v_number, CAST(g.id AS CHAR), JSON_QUOTE(IF(@windrow_hexed, HEX(g.id), CAST(g.id AS CHAR))))
                    ORDER BY g.due, g.id SEPARATOR ', '),
                MIN(g.due)
            INTO v_found, v_part, v_time
            FROM work_row AS g;
            IF v_found > 0 THEN
                IF v_oldest = 'null' THEN
                    SET v_oldest = CONCAT(
                        '"', TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(v_time, '%Y-%m-%dT%H:%i:%s.%f'))),
                        IF(v_zoned, '+00:00"', '"')
                    );
                END IF;
                SET v_samples = CONCAT(v_samples, IF(v_samples = '', '', ', '), v_part);
                SET v_room = v_room - v_found;
            END IF;
        END IF;
        IF NOT v_by_family THEN
            SET v_from = v_to;
        END IF;
    END LOOP batches;
    CALL work_timed(p_rule, v_plain);
    INSERT INTO work_count (position, found)
    SELECT w.position, w.found FROM work_total AS w;
    CALL timed_counted(p_rule, v_rows);
    CALL preview_figures(p_rule, v_skips, v_skipped, v_skip_keys, v_failures, v_speed);
    CALL timed_close(p_rule);
    CALL preview_of(
        p_rule, v_families, v_rows, v_oldest, CONCAT('[', v_samples, ']'), v_skips, v_skipped, v_skip_keys, NULL,
        NULL, v_limit, v_more, v_batches, v_failures, v_speed, o_document
    );
END;

-- timed_least_age, timed_young, timed_refused: what is too young for a purge by a rule by age, and what else it refuses.
--# create procedure timed_least_age
CREATE PROCEDURE timed_least_age(IN p_rule varchar(64), IN p_as_of datetime(6), OUT o_cutoff datetime(6))
SQL SECURITY DEFINER
COMMENT 'The cutoff of the minimum of a rule by age at p_as_of; NULL: of another rule, or without p_as_of, times do not matter.'
BEGIN
    IF p_as_of IS NOT NULL AND EXISTS (SELECT 1 FROM rule AS r WHERE r.rule = p_rule AND r.strategy = 'age') THEN
        CALL timed_cutoff(p_rule, p_as_of, 0, o_cutoff);
    END IF;
END;
--# create procedure timed_young
CREATE PROCEDURE timed_young(IN p_cutoff datetime(6), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Why a row of work_row is too young for p_cutoff: its time, or it has none; NULL where none is.'
BEGIN
    SELECT MIN(IF(w.due IS NULL, 'UNDATED_MEMBER', 'RETENTION_NOT_REACHED'))
    INTO o_reason
    FROM work_row AS w
    WHERE p_cutoff IS NOT NULL
      AND (w.due IS NULL OR w.due >= p_cutoff);
END;

--# create procedure timed_refused
CREATE PROCEDURE timed_refused(IN p_rule varchar(64), IN p_plain boolean, IN p_cutoff datetime(6), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Fills work_row with the rows in work_target; why a purge keeps them, of one table also what holds them; NULL: nothing is known.'
BEGIN
    CALL rows_timed(p_rule, 'named', NULL, NULL, NULL);
    SELECT IF(COUNT(w.id) = 0, 'NOT_A_ROOT', NULL) INTO o_reason FROM work_row AS w;
    IF o_reason IS NULL AND p_plain THEN
        CALL timed_held(p_rule);
        SET @windrow_from = NULL, @windrow_to = NULL;
        CALL timed_beside(p_rule);
        SELECT IF(COUNT(k.id) > 0, 'HELD', NULL)
        INTO o_reason
        FROM work_row AS w
        STRAIGHT_JOIN work_keep AS k ON k.id = w.id;
    END IF;
    IF o_reason IS NULL THEN
        CALL timed_young(p_cutoff, o_reason);
    END IF;
END;

-- timed_purge: deletes one named family, found by its root, and commits. Answers NULL, or why it is kept.
--# create procedure timed_purge
CREATE PROCEDURE timed_purge(IN p_run bigint, IN p_rule varchar(64), IN p_key varchar(700), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Deletes the rows that name this root, if the family is unheld, and, but for the option force, older than the minimum,
    and commits. Answers NULL or the reason why it is kept, as purge_one() does.'
BEGIN
    DECLARE v_dry_run  boolean;
    DECLARE v_as_of    datetime(6);
    DECLARE v_cutoff   datetime(6);
    DECLARE v_young    varchar(32);
    DECLARE v_found    bigint;
    DECLARE v_rows     longtext;
    DECLARE v_plain    boolean;
    DECLARE v_archives boolean;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    CALL timed_is_plain(p_rule, v_plain);
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
        CALL work_timed(p_rule, v_plain);
        COMMIT;
        CALL begin_ledger();
        CALL begin_purge(p_run, p_rule, o_reason);
        IF o_reason IS NOT NULL THEN
            COMMIT;
            LEAVE attempt;
        END IF;
        -- From when the minimum counts, if it does.
        SELECT
            r.dry_run, JSON_CONTAINS(k.document, 'true', '$.archives') IS TRUE,
            IF(JSON_CONTAINS(r.options, 'true', '$.force') IS TRUE, NULL, r.as_of)
        INTO v_dry_run, v_archives, v_as_of
        FROM run AS r
        JOIN rule AS k ON k.rule = p_rule
        WHERE r.run_id = p_run;
        CALL timed_least_age(p_rule, v_as_of, v_cutoff);
        -- The work table has the type and the collation of the key.
        IF p_key IS NULL AND @windrow_hexed THEN
            INSERT IGNORE INTO work_target (id)
            SELECT UNHEX(k.found) FROM work_key AS k WHERE k.reason = 'AGAIN';
        ELSEIF p_key IS NULL THEN
            INSERT IGNORE INTO work_target (id)
            SELECT k.found FROM work_key AS k WHERE k.reason = 'AGAIN';
        ELSEIF @windrow_hexed THEN
            INSERT INTO work_target (id)
            VALUES (UNHEX(p_key));
        ELSE
            INSERT INTO work_target (id)
            VALUES (p_key);
        END IF;
        -- Those to be tried again were old enough.
        CALL timed_refused(p_rule, v_plain, IF(p_key IS NULL, NULL, v_cutoff), o_reason);
        IF o_reason IS NULL AND v_plain THEN
            -- What was true of the row before it was locked may be no more.
            CALL rows_timed(p_rule, 'wait', NULL, NULL, NULL);
            CALL timed_refused(p_rule, v_plain, v_cutoff, o_reason);
        END IF;
        IF o_reason IS NULL AND NOT v_plain THEN
            DELETE FROM work_target;
            INSERT INTO work_next (id)
            SELECT w.id FROM work_row AS w;
            CALL judge_timed(p_rule, NULL, v_as_of, true, v_found);
            IF v_cutoff IS NOT NULL AND v_found > 0 THEN
                CALL rows_timed(p_rule, 'named', NULL, NULL, NULL);
                CALL timed_young(v_cutoff, v_young);
                IF v_young IS NOT NULL THEN
                    SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1020, MESSAGE_TEXT = 'a family has become too young, until it was locked';
                END IF;
            END IF;
            IF p_key IS NULL THEN
                UPDATE work_key AS k
                LEFT JOIN work_skip AS s ON s.skip_key = k.found
                SET k.reason = s.reason
                WHERE k.reason = 'AGAIN';
                CALL timed_keepers();
                CALL record_skips(p_run, p_rule);
                IF v_found = 0 THEN
                    COMMIT;
                    LEAVE attempt;
                END IF;
            ELSEIF v_found = 0 THEN
                -- Of one family, there is one reason at most.
                SELECT COALESCE(MIN(k.reason), 'NOT_A_ROOT') INTO o_reason FROM work_skip AS k;
                DELETE FROM work_skip;
                -- What names its rows may be named, too.
                IF o_reason = 'REFERENCED'
                    AND EXISTS (SELECT 1 FROM rule AS r WHERE r.rule = p_rule AND JSON_CONTAINS_PATH(r.document, 'one', '$.crosses'))
                THEN
                    UPDATE work_key AS k
                    SET k.found = (SELECT IF(@windrow_hexed, HEX(w.id), CAST(w.id AS CHAR)) FROM work_row AS w)
                    WHERE k.named = p_key;
                    COMMIT;
                    SET o_reason = 'AGAIN';
                    LEAVE attempt;
                END IF;
            END IF;
        END IF;
        IF o_reason IS NOT NULL THEN
            IF o_reason <> 'NOT_A_ROOT' THEN
                INSERT INTO work_skip (skip_key, reason)
                VALUES (p_key, o_reason);
                CALL record_skips(p_run, p_rule);
            END IF;
            COMMIT;
            LEAVE attempt;
        END IF;
        IF v_dry_run THEN
            -- A dry run keeps what it found out, and rolls back what follows: by the whole transaction, since a savepoint would
            -- not do in a cluster.
            COMMIT;
            CALL begin_ledger();
        END IF;
        INSERT INTO unfinished (run_id, rule, links)
        VALUES (p_run, p_rule, COALESCE(
            (SELECT JSON_ARRAYAGG(IF(@windrow_hexed, HEX(c.id), CAST(c.id AS CHAR))) FROM work_target AS c), JSON_ARRAY(p_key)
        ));
        SET @windrow_run = p_run, @windrow_found = COALESCE(v_found, 1);
        IF v_plain THEN
            SET @windrow_to = v_cutoff;
            CALL perform(p_rule, 'delete', '@windrow_run, NULL, @windrow_to, true, @windrow_found');
            CALL timed_gone(1, @windrow_found);
        ELSE
            CALL perform(p_rule, 'families', '@windrow_run');
        END IF;
        SET v_found = @windrow_found;
        CALL timed_counted(p_rule, v_rows);
        IF v_archives THEN
            CALL check_archive(p_rule);
        END IF;
        IF v_dry_run THEN
            ROLLBACK;
            CALL begin_ledger();
        END IF;
        UPDATE run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
        CALL record_rows(p_run, p_rule, v_rows);
        UPDATE run_rule AS p
        SET p.families = p.families + v_found,
            p.batches = p.batches + 1,
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = p_rule;
        -- It was deleted meanwhile, or is no row of the rule any more.
        IF v_found = 0 THEN
            SET o_reason = 'NOT_A_ROOT';
        END IF;
        CALL same_catalog(p_run, true);
        DELETE FROM unfinished WHERE run_id = p_run AND rule = p_rule;
        COMMIT;
    END attempt;
    IF v_errno IS NOT NULL THEN
        CALL fail_purge(p_run, p_rule, p_key, v_errno, v_sqlstate, v_message, o_reason);
    END IF;
END;
