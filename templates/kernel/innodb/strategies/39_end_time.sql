-- Rules by the end of families. The temporary tables of a session begin with work_. An empty one is kept from batch to batch: what
-- names a recreated table is prepared again. One that has rows is dropped and recreated: DELETE costs as much as the rows did,
-- TRUNCATE commits. MySQL lets a statement name a temporary table once.
-- Of the types of keys and scopes nothing is known here: the rule makes work_type (id, root_id, scope), from which the others
-- have them. Where keys are bytes, @windrow_hexed is true: what is a text, as in the ledger, has them as hexadecimal digits.
--
-- The verbs of a rule: types and keys make work tables, source says the retentions of scopes without a policy, next searches
-- roots, members reads rows and their links, against says which of them are kept for a reason outside of their family, delete and
-- count do as they say, undated, unlisted and due count roots. What is decided is decided here.

-- end_time_step: one batch of a run with its progress in the ledger, in one transaction.
-- A batch that fails is rolled back and retried, then halved down to a single family, which is recorded and passed
-- over. While the search continues, a half that succeeds is followed by a quarter, not by the double: it would only fail again.
--# create procedure end_time_step
CREATE PROCEDURE end_time_step(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'One batch of run p_run and its progress in the ledger, committed. Answers more, again, or why the run should end. run() calls it.'
BEGIN
    DECLARE v_dry_run   boolean;
    DECLARE v_as_of     datetime(6);
    DECLARE v_scope     varchar(255);
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
    DECLARE v_key       varchar(700);
    DECLARE v_time      datetime(6);
    DECLARE v_to_time   datetime(6);
    DECLARE v_to_key    varchar(700);
    DECLARE v_rows      longtext;
    DECLARE v_claim     longtext;
    DECLARE v_at_time   varchar(40);
    DECLARE v_at_key    varchar(700);
    DECLARE v_shared    boolean DEFAULT (SELECT s.workers > 1 FROM spec AS s);
    DECLARE v_first     varchar(64);
    DECLARE v_least     datetime(6);
    SELECT
        JSON_VALUE(r.document, '$.first_key'),
        JSON_VALUE(r.document, '$.least')
    INTO v_first, v_least
    FROM rule AS r
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
            CALL work_end_time(p_rule);
            COMMIT;
            CALL begin_ledger();
            CALL begin_step(p_run, p_rule, o_state);
            IF o_state IS NOT NULL THEN
                COMMIT;
                LEAVE step;
            END IF;
            SELECT
                r.dry_run, r.as_of, JSON_VALUE(r.options, '$.scope'), JSON_VALUE(r.options, '$.retention'),
                JSON_VALUE(r.options, '$.run_families'), p.families, p.batch_families, p.halving, p.weigh,
                COALESCE(p.cursor_time, v_least), COALESCE(p.cursor_key, v_first), IF(p.around, p.start_time, NULL), p.start_key
            INTO v_dry_run, v_as_of, v_scope, v_text, v_limit, v_done, v_present, v_halving, v_weigh, v_time, v_key, v_to_time, v_to_key
            FROM run AS r
            JOIN run_rule AS p ON p.run_id = r.run_id AND p.rule = p_rule
            WHERE r.run_id = p_run;
            CALL setting_of(p_rule, 'batch_families', v_batch);
            IF v_limit IS NULL THEN
                CALL setting_of(p_rule, 'run_families', v_limit);
            END IF;
            -- As long as nothing is known of families, the rows of some are counted.
            SET v_take = LEAST(v_present, v_batch, v_limit - v_done, IF(ABS(v_weigh) = 1, 50, v_batch));
            IF v_take <= 0 THEN
                SET o_state = 'run_families reached';
                COMMIT;
                LEAVE step;
            END IF;
            CALL take_locks(p_run, p_rule, o_state);
            IF o_state IS NOT NULL THEN
                LEAVE step;
            END IF;

            CALL seconds(v_text, v_retention);
            CALL end_time_scope(p_rule, v_as_of, v_retention, v_scope);
            IF v_shared THEN
                SELECT c.claimed INTO v_claim FROM run_claim AS c WHERE c.run_id = p_run AND c.rule = p_rule;
                IF v_claim = '[]' THEN
                    CALL claim_more(p_run, p_rule, NULL, v_take, v_limit - v_done, o_state);
                    LEAVE step;
                END IF;
                SET v_take = LEAST(v_take, JSON_LENGTH(v_claim));
                IF @windrow_hexed THEN
                    INSERT INTO work_root (id, ended)
                    SELECT UNHEX(l.id), l.ended
                    FROM JSON_TABLE(v_claim, '$[*]' COLUMNS (position FOR ORDINALITY, id varchar(700) PATH '$[0]',
                        ended varchar(40) PATH '$[1]')) AS l
                    WHERE l.position <= v_take;
                ELSE
                    INSERT INTO work_root (id, ended)
                    SELECT l.id, l.ended
                    FROM JSON_TABLE(v_claim, '$[*]' COLUMNS (position FOR ORDINALITY, id varchar(700) PATH '$[0]',
                        ended varchar(40) PATH '$[1]')) AS l
                    WHERE l.position <= v_take;
                END IF;
                IF v_dry_run THEN
                    DELETE r
                    FROM work_root AS r
                    JOIN work_gone AS g ON g.id = r.id;
                END IF;
                SELECT COUNT(r.ended) INTO v_last FROM work_root AS r;
            ELSE
                CALL end_time_from(v_time, v_key);
                CALL roots_end_time(p_rule, v_take, v_to_time, v_to_key);
                -- To count a whole table, MySQL starts threads, but not where it counts what may be NULL.
                SELECT COUNT(r.ended) INTO v_last FROM work_root AS r;
                IF v_last = 0 THEN
                    COMMIT;
                    SET o_state = 'nothing left';
                    LEAVE step;
                END IF;
            END IF;
            SELECT r.ended, IF(@windrow_hexed, HEX(r.id), r.id)
            INTO v_time, v_key
            FROM work_root AS r
            ORDER BY r.ended DESC, r.id DESC
            LIMIT 1;
            IF v_weigh > 0 AND v_last > 1 THEN
                CALL weigh_end_time(p_rule, v_rows);
                CALL weighed(p_run, p_rule, v_last, v_rows);
                SET o_state = 'again';
                LEAVE step;
            END IF;
            CALL judge_end_time(p_rule, false, NULL, true, v_families);
            IF v_dry_run THEN
                -- A dry run keeps what it found out, and rolls back what follows: by the whole transaction, since a savepoint would
                -- not do in a cluster.
                COMMIT;
                CALL begin_ledger();
            END IF;
            CALL batch_end_time(p_run, p_rule, v_rows);
            IF v_dry_run THEN
                ROLLBACK;
                CALL begin_ledger();
            END IF;
            UPDATE run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
            IF v_dry_run THEN
                INSERT INTO work_gone (id)
                SELECT m.id FROM work_member AS m;
            END IF;
            -- A root that was deleted with another one is none of the next batch.
            DELETE d
            FROM work_member AS m
            STRAIGHT_JOIN work_due AS d ON d.ended = m.ended AND d.id = m.id
            WHERE m.ended >= v_time;
            IF v_shared THEN
                CALL claim_later(p_run, p_rule);
                CALL claim_done(p_run, p_rule, v_take, NULL, v_at_time, v_at_key);
            END IF;
            CALL record_skips(p_run, p_rule);
            CALL record_rows(p_run, p_rule, v_rows);
            UPDATE run_rule AS p
            SET p.families = p.families + v_families,
                p.batches = p.batches + 1,
                p.retries_in_row = 0,
                p.batch_families = IF(v_halving AND v_last > 1, v_last DIV 2, LEAST(v_present * 2, v_batch)),
                p.halving = v_halving AND v_last > 1,
                -- The claims have moved the cursor already: the next sweep continues after the last of them.
                p.cursor_time = IF(v_shared, v_at_time, TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_time))),
                p.cursor_key = IF(v_shared, v_at_key, v_key),
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            CALL weigh_more(p_run, p_rule, v_last, v_rows);
            CALL recheck_catalog(p_run, true, o_state);
            IF o_state IS NOT NULL THEN
                LEAVE step;
            END IF;
            DELETE FROM unfinished WHERE run_id = p_run AND rule = p_rule;
            COMMIT;
            SET o_state = 'more';
            LEAVE step;
        END attempt;

        -- The batch failed and is rolled back.
        CALL fail_step(p_run, p_rule, v_errno, v_sqlstate, v_message, v_last, v_last DIV 2, v_busy, o_state);
        IF o_state IS NOT NULL THEN
            LEAVE step;
        END IF;
        INSERT IGNORE INTO run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
        VALUES (p_run, p_rule, v_key, v_errno, v_sqlstate, v_message);
        INSERT INTO work_skip (skip_key, reason)
        VALUES (v_key, IF(v_busy, 'LOCKED', 'FAILED'));
        CALL record_skips(p_run, p_rule);
        IF v_shared THEN
            CALL claim_done(p_run, p_rule, v_take, NULL, v_at_time, v_at_key);
        END IF;
        UPDATE run_rule AS p
        SET p.batches = p.batches + 1,
            p.retries_in_row = 0,
            p.batch_families = LEAST(v_present * 2, v_batch),
            p.halving = false,
            p.cursor_time = IF(v_shared, v_at_time, TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_time))),
            p.cursor_key = IF(v_shared, v_at_key, v_key),
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = p_rule;
        COMMIT;
        SET o_state = 'more';
    END step;
END;

-- end_time_from: a place in the order of a search.
--# create procedure end_time_from
CREATE PROCEDURE end_time_from(IN p_time datetime(6), IN p_key varchar(700))
SQL SECURITY DEFINER
COMMENT 'Writes a place to work_cursor, which has the type and the collation of the key.'
BEGIN
    -- The row is updated: MariaDB loses one that is deleted and inserted again in a transaction that is rolled back.
    IF @windrow_hexed THEN
        INSERT INTO work_cursor (only_row, ended, id)
        VALUES (1, p_time, UNHEX(p_key))
        ON DUPLICATE KEY UPDATE ended = p_time, id = UNHEX(p_key);
    ELSE
        -- The key before all others has a sign: where the column has none, the least is 0, and IGNORE takes that.
        INSERT IGNORE INTO work_cursor (only_row, ended, id)
        VALUES (1, p_time, p_key)
        ON DUPLICATE KEY UPDATE ended = p_time, id = p_key;
    END IF;
END;

-- roots_end_time: the next roots after the cursor, and none behind the place where this began, if that is given.
--# create procedure roots_end_time
CREATE PROCEDURE roots_end_time(IN p_rule varchar(64), IN p_limit bigint, IN p_to_time datetime(6), IN p_to_key varchar(700))
SQL SECURITY DEFINER
COMMENT 'Fills work_root with the next p_limit roots behind work_cursor, up to p_to_time and p_to_key.'
BEGIN
    SET @windrow_limit = p_limit;
    CALL perform(p_rule, 'next', '@windrow_limit');
    IF p_to_time IS NOT NULL THEN
        CALL end_time_from(p_to_time, p_to_key);
        DELETE r
        FROM work_root AS r
        STRAIGHT_JOIN work_cursor AS c
        WHERE r.ended > c.ended
           OR r.ended = c.ended AND r.id > c.id;
    END IF;
END;

-- weigh_end_time: how many rows would be deleted with the roots that were found. Nothing is locked, and what a dry run recorded is kept.
--# create procedure weigh_end_time
CREATE PROCEDURE weigh_end_time(IN p_rule varchar(64), OUT o_rows longtext)
SQL SECURITY DEFINER
COMMENT 'Counts the rows of those families of work_root that may be deleted: a JSON list in the order of deletion. Makes work tables.'
BEGIN
    DECLARE v_families bigint;
    CALL judge_end_time(p_rule, false, NULL, false, v_families);
    DROP TEMPORARY TABLE IF EXISTS work_before;
    CREATE TEMPORARY TABLE work_before LIKE work_gone;
    INSERT INTO work_before (id)
    SELECT g.id FROM work_gone AS g;
    DELETE FROM work_gone;
    INSERT INTO work_gone (id)
    SELECT m.id FROM work_member AS m;
    CALL perform(p_rule, 'count', '@windrow_rows');
    SET o_rows = @windrow_rows;
    DELETE FROM work_gone;
    INSERT INTO work_gone (id)
    SELECT b.id FROM work_before AS b;
    DROP TEMPORARY TABLE work_before;
END;

-- end_time_finish: what is to be said of a rule when a run is through with it.
--# create procedure end_time_finish
CREATE PROCEDURE end_time_finish(IN p_run bigint, IN p_rule varchar(64), IN p_reason varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Counts the roots without an end time where the rule looked at all that is due, and once more what a dry run would delete.'
BEGIN
    DECLARE v_as_of   datetime(6);
    DECLARE v_dry_run boolean;
    DECLARE v_scope   varchar(255);
    DECLARE v_rows    longtext;
    DECLARE v_left    longtext;
    SELECT r.as_of, r.dry_run, JSON_VALUE(r.options, '$.scope') INTO v_as_of, v_dry_run, v_scope
    FROM run AS r
    WHERE r.run_id = p_run;
    IF (SELECT s.workers > 1 FROM spec AS s) THEN
        CALL claims_left(p_run, p_rule, v_left);
        IF v_left <> '[]' THEN
            CALL work_end_time(p_rule);
            INSERT INTO work_skip (skip_key, reason)
            SELECT l.id, 'LOCKED' FROM JSON_TABLE(v_left, '$[*]' COLUMNS (id varchar(700) PATH '$[0]')) AS l;
            CALL record_skips(p_run, p_rule);
        END IF;
    END IF;
    IF p_reason = 'nothing left' THEN
        -- Roots without an end time can never become due.
        CALL undated_end_time(p_rule, v_as_of, v_scope);
        CALL record_skips(p_run, p_rule);
        -- What killed runs left is finished where nobody is left of the members that were linked.
        IF NOT v_dry_run THEN
            CALL end_time_mend(p_rule);
        END IF;
    END IF;
    IF v_dry_run THEN
        -- The batches of a dry run were rolled back one by one, so that a row that belongs to members of two batches was
        -- counted twice: count once more, over all members.
        CALL work_end_time(p_rule);
        CALL perform(p_rule, 'count', '@windrow_rows');
        SET v_rows = @windrow_rows;
        UPDATE run_table AS t SET t.deleted_rows = 0 WHERE t.run_id = p_run AND t.rule = p_rule;
        UPDATE run_rule AS p SET p.deleted_rows = 0 WHERE p.run_id = p_run AND p.rule = p_rule;
        CALL record_rows(p_run, p_rule, v_rows);
    END IF;
END;

-- end_time_preview: the batches of a run, judged but not locked and not deleted.
--# create procedure end_time_preview
CREATE PROCEDURE end_time_preview(IN p_rule varchar(64), IN p_options longtext, IN p_as_of datetime(6), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What a run of this rule would delete and skip now, as one JSON document. Reads only; preview() calls it.'
BEGIN
    DECLARE v_retention bigint;
    DECLARE v_scope     varchar(255) DEFAULT JSON_VALUE(p_options, '$.scope');
    DECLARE v_batch     bigint;
    DECLARE v_limit     bigint DEFAULT JSON_VALUE(p_options, '$.run_families');
    DECLARE v_from      datetime(6) DEFAULT JSON_VALUE(p_options, '$.from');
    DECLARE v_found     bigint;
    DECLARE v_judged    bigint;
    DECLARE v_room      bigint DEFAULT 10;
    DECLARE v_part      longtext;
    DECLARE v_time      datetime(6);
    DECLARE v_families  bigint DEFAULT 0;
    DECLARE v_batches   bigint DEFAULT 0;
    DECLARE v_oldest    varchar(64) DEFAULT 'null';
    DECLARE v_samples   longtext DEFAULT '';
    DECLARE v_rows      longtext;
    DECLARE v_skipped   longtext;
    DECLARE v_skip_keys longtext;
    DECLARE v_skips     bigint;
    DECLARE v_more      boolean DEFAULT false;
    DECLARE v_speed     decimal(30, 6);
    DECLARE v_failures  bigint;
    DECLARE v_without   bigint;
    DECLARE v_opt_in    boolean;
    DECLARE v_zoned     boolean;
    DECLARE v_number    boolean;
    SELECT r.opt_in, r.zoned, JSON_VALUE(r.document, '$.key[0]')
    INTO v_opt_in, v_zoned, v_part
    FROM rule AS r
    WHERE r.rule = p_rule;
    SET v_number = v_part REGEXP ' (smallint|int|bigint)$';
    CALL seconds(JSON_VALUE(p_options, '$.retention'), v_retention);
    CALL setting_of(p_rule, 'batch_families', v_batch);
    IF v_limit IS NULL THEN
        CALL setting_of(p_rule, 'run_families', v_limit);
    END IF;
    CALL end_time_open(p_rule);
    IF v_from IS NULL THEN
        CALL undated_end_time(p_rule, p_as_of, v_scope);
        INSERT INTO work_skipped (skip_key, reason)
        SELECT k.skip_key, k.reason FROM work_skip AS k ORDER BY k.position;
    ELSE
        UPDATE work_cursor SET ended = v_from WHERE only_row = 1;
    END IF;
    batches: LOOP
        CALL work_end_time(p_rule);
        CALL end_time_scope(p_rule, p_as_of, v_retention, v_scope);
        SET @windrow_limit = GREATEST(LEAST(v_batch, v_limit - v_families), 1);
        CALL perform(p_rule, 'next', '@windrow_limit');
        SELECT COUNT(r.ended) INTO v_found FROM work_root AS r;
        IF v_found = 0 THEN
            LEAVE batches;
        END IF;
        IF v_families >= v_limit THEN
            SET v_more = true;
            LEAVE batches;
        END IF;
        REPLACE INTO work_cursor (only_row, ended, id)
        SELECT 1, r.ended, r.id FROM work_root AS r ORDER BY r.ended DESC, r.id DESC LIMIT 1;
        CALL judge_end_time(p_rule, false, NULL, false, v_judged);
        SET v_batches = v_batches + 1;
        SET v_families = v_families + v_judged;
        INSERT INTO work_gone (id)
        SELECT m.id FROM work_member AS m;
        INSERT INTO work_skipped (skip_key, reason)
        SELECT k.skip_key, k.reason FROM work_skip AS k ORDER BY k.position;
        IF v_room > 0 THEN
            SELECT COUNT(*), GROUP_CONCAT(IF(v_number, CAST(g.id AS CHAR), JSON_QUOTE(IF(@windrow_hexed, HEX(g.id), CAST(g.id AS CHAR))))
                ORDER BY g.ended, g.id SEPARATOR ', '), MIN(g.ended)
            INTO v_found, v_part, v_time
            FROM (
                SELECT r.id, r.ended
                FROM work_root AS r
                STRAIGHT_JOIN work_member AS m ON m.id = r.id
                ORDER BY r.ended, r.id
                LIMIT v_room
            ) AS g;
            IF v_found > 0 THEN
                IF v_oldest = 'null' THEN
                    SET v_oldest = CONCAT('"', TRIM(TRAILING '.'
                        FROM TRIM(TRAILING '0' FROM DATE_FORMAT(v_time, '%Y-%m-%dT%H:%i:%s.%f'))), IF(v_zoned, '+00:00"', '"'));
                END IF;
                SET v_samples = CONCAT(v_samples, IF(v_samples = '', '', ', '), v_part);
                SET v_room = v_room - v_found;
            END IF;
        END IF;
    END LOOP batches;
    SET v_samples = CONCAT('[', v_samples, ']');

    CALL work_end_time(p_rule);
    CALL perform(p_rule, 'count', '@windrow_rows');
    SET v_rows = @windrow_rows;
    CALL preview_figures(p_rule, v_skips, v_skipped, v_skip_keys, v_failures, v_speed);
    IF v_opt_in AND v_from IS NULL THEN
        CALL work_end_time(p_rule);
        CALL end_time_scope(p_rule, p_as_of, NULL, NULL);
        SELECT COALESCE(v_retention, r.retention, r.minimum) INTO v_retention FROM rule AS r WHERE r.rule = p_rule;
        CALL end_time_cutoff(p_rule, p_as_of, v_retention, v_time);
        SET @windrow_before = v_time;
        CALL perform(p_rule, 'unlisted', '@windrow_before, @windrow_without');
        SET v_without = @windrow_without;
    END IF;
    CALL end_time_close(p_rule);

    CALL preview_of(
        p_rule, v_families, v_rows, v_oldest, v_samples, v_skips, v_skipped, v_skip_keys, NULL, v_without, v_limit, v_more, v_batches,
        v_failures, v_speed, o_document
    );
END;

-- end_time_purge: deletes one named family through the same batch as a run. Answers NULL, or why it is kept.
--# create procedure end_time_purge
CREATE PROCEDURE end_time_purge(IN p_run bigint, IN p_rule varchar(64), IN p_key varchar(700), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Deletes one named family, whatever its age, if it is final and unheld, and commits. Answers NULL or the reason why it
    is kept, as purge_one() does.'
BEGIN
    DECLARE v_dry_run  boolean;
    DECLARE v_as_of    datetime(6);
    DECLARE v_found    boolean;
    DECLARE v_families bigint;
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
        CALL work_end_time(p_rule);
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
        CALL end_time_named(p_rule, p_key, v_found);
        IF NOT v_found THEN
            COMMIT;
            SET o_reason = 'NOT_A_ROOT';
            LEAVE attempt;
        END IF;
        CALL judge_end_time(p_rule, true, v_as_of, true, v_families);
        -- What shares a member with it may be named, too.
        SELECT MIN(k.reason) INTO o_reason FROM work_skip AS k;
        IF p_key IS NOT NULL AND o_reason = 'SHARED_MEMBER' THEN
            UPDATE work_key AS k
            SET k.found = (SELECT IF(@windrow_hexed, HEX(r.id), CAST(r.id AS CHAR)) FROM work_root AS r)
            WHERE k.named = p_key;
            COMMIT;
            SET o_reason = 'AGAIN';
            LEAVE attempt;
        END IF;
        SET o_reason = NULL;
        IF v_dry_run THEN
            -- A dry run keeps what it found out, and rolls back what follows: by the whole transaction, since a savepoint would
            -- not do in a cluster.
            COMMIT;
            CALL begin_ledger();
        END IF;
        CALL batch_end_time(p_run, p_rule, v_rows);
        IF v_dry_run THEN
            ROLLBACK;
            CALL begin_ledger();
        END IF;
        UPDATE run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
        IF p_key IS NULL THEN
            UPDATE work_key AS k
            LEFT JOIN work_skip AS s ON s.skip_key = k.found
            SET k.reason = s.reason
            WHERE k.reason = 'AGAIN';
            CALL end_time_keepers();
        ELSE
            SELECT k.reason INTO o_reason FROM work_skip AS k ORDER BY k.position LIMIT 1;
        END IF;
        CALL record_skips(p_run, p_rule);
        CALL record_rows(p_run, p_rule, v_rows);
        UPDATE run_rule AS p
        SET p.families = p.families + v_families,
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
