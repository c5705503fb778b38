-- What commits: run and purge.

-- run: batch after batch, each one a transaction.
-- SET TRANSACTION holds for the next transaction only, and is refused (1568) while the caller has one open.
--# create procedure run
CREATE PROCEDURE run(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'One run of all rules in order, in batches that commit. Options: rule, dry_run, scope, retention, as_of,
    run_families, time_budget, trigger; if there are several workers: worker (each has one run at a time, and they share the families).
    Examples: CALL run(''{}''); CALL run(''{"dry_run": true}'');'
BEGIN
    DECLARE v_before   longtext;
    DECLARE v_open     boolean DEFAULT false;
    DECLARE v_run      bigint;
    DECLARE v_refused  longtext;
    DECLARE v_rule     varchar(64);
    -- The rules that it is not through with, in the order in which it takes them, and those that it has begun.
    DECLARE v_left     longtext;
    DECLARE v_begun    longtext DEFAULT '[]';
    -- So many of them wait: the last ones that it took, without one between them that did not.
    DECLARE v_waiting  int DEFAULT 0;
    -- So many, at the end of them, were put off; when the last one was asked; whether they are asked again.
    DECLARE v_off      int DEFAULT 0;
    DECLARE v_asked    datetime(6);
    DECLARE v_aside    boolean;
    DECLARE v_opened   boolean;
    DECLARE v_state    varchar(1000);
    DECLARE v_reason   varchar(1000);
    DECLARE v_rank     int;
    DECLARE v_worst    int DEFAULT 9;
    DECLARE v_result   longtext;
    DECLARE v_rest     double DEFAULT 0;
    DECLARE v_slept    integer;
    DECLARE v_idle     longtext DEFAULT '';
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    DECLARE v_ended    boolean DEFAULT true;
    DECLARE v_last     bigint;
    DECLARE v_counts   boolean;
    DECLARE v_lock     varchar(80);
    DECLARE v_workers  int;
    DECLARE v_archives boolean;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        --+ failed.sql
        --+ closing.sql
        IF v_run IS NULL AND v_open AND v_errno <> 1317 THEN
            CALL note_error(p_options, CONCAT('error ', v_errno, ' (', v_sqlstate, '): ', v_message));
        END IF;
        IF v_lock IS NOT NULL THEN
            DO RELEASE_LOCK(v_lock);
        END IF;
        CALL unsettle(v_before);
        RESIGNAL;
    END;
    CALL settle(v_before);
    CALL wait_for_ledger();
    SELECT s.run_lock, s.workers, s.archives INTO v_lock, v_workers, v_archives FROM spec AS s;
    IF v_workers > 1 AND JSON_VALID(p_options) THEN
        IF JSON_TYPE(JSON_EXTRACT(p_options, '$.worker')) = 'INTEGER' THEN
            SET v_lock = LEFT(CONCAT(v_lock,
                IF(JSON_VALUE(p_options, '$.worker') > 1, CONCAT('.w', JSON_VALUE(p_options, '$.worker') + 0), '')), 64);
        END IF;
    END IF;
    -- A caller that ran into another that starts or ends looks again; after five times that one is said to be in the way.
    SET v_number = 0;
    REPEAT
        opening: BEGIN
            DECLARE EXIT HANDLER FOR 1180, 1213, 3101
            BEGIN
                ROLLBACK;
                DO RELEASE_LOCK(v_lock);
                SET v_run = NULL, v_refused = 'another run is starting', v_number = v_number + 1;
            END;
            SET v_refused = NULL;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            SET v_open = true;
            START TRANSACTION;
            CALL run_begin(p_options, v_run, v_refused);
            COMMIT;
            SET v_number = 5;
        END opening;
    UNTIL v_number >= 5 END REPEAT;
    IF v_run IS NOT NULL THEN
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        CALL rules_of(v_run, v_left);
        COMMIT;
        WHILE JSON_LENGTH(v_left) > 0 AND COALESCE(v_state, '') NOT IN ('cancelled', 'paused', 'time budget spent', 'window closed') DO
            SET v_rule = JSON_VALUE(v_left, '$[0]'), v_left = JSON_REMOVE(v_left, '$[0]'), v_state = NULL, v_opened = false,
                v_off = LEAST(v_off, JSON_LENGTH(v_left)), v_aside = false;
            IF NOT JSON_CONTAINS(v_begun, JSON_QUOTE(v_rule)) THEN
                SET v_begun = JSON_ARRAY_APPEND(v_begun, '$', v_rule);
                CALL begin_rule(v_run, v_rule, v_state);
            END IF;
            IF v_state IS NULL THEN
                REPEAT
                    IF v_rest = 0 THEN
                        CALL pace(v_run, v_rule, v_rest, v_state);
                        IF v_state IS NULL AND v_rest > 0 THEN
                            SET v_state = 'again';
                        END IF;
                    ELSE
                        -- An assignment, so that a cancel ends the run and not only the sleep.
                        SET v_slept = SLEEP(v_rest), v_rest = 0, v_state = 'again';
                    END IF;
                    IF v_state IS NULL OR v_state NOT IN ('again', 'waits') AND NOT v_opened THEN
                        IF NOT v_opened THEN
                            CALL enter_rule(v_run, v_rule);
                            SET v_opened = true;
                        END IF;
                        IF v_state IS NULL THEN
                            CALL step(v_run, v_rule, v_state);
                        END IF;
                    END IF;
                    IF v_state = 'more' THEN
                        SET v_waiting = 0;
                        IF v_off > 0 AND UTC_TIMESTAMP(6) > v_asked + INTERVAL 10 SECOND THEN
                            CALL rows_out(v_rule, v_aside);
                            SET v_aside = NOT v_aside;
                        END IF;
                    END IF;
                UNTIL v_aside OR v_state NOT IN ('more', 'again') END REPEAT;
                CALL begin_ledger();
                IF v_state = 'waits' THEN
                    -- The next one has its turn, and this one after it. If none goes on, the run rests.
                    SET v_left = JSON_ARRAY_APPEND(v_left, '$', v_rule), v_waiting = v_waiting + 1,
                        v_off = v_off + 1, v_asked = UTC_TIMESTAMP(6);
                    CALL put_off(v_run, v_rule, v_waiting >= JSON_LENGTH(v_left), v_rest);
                ELSEIF v_aside THEN
                    -- Those that were put off are asked again, before this one goes on.
                    SET v_left = JSON_ARRAY_INSERT(v_left, '$[0]', v_rule);
                    WHILE v_off > 0 DO
                        SET v_number = JSON_LENGTH(v_left) - 1,
                            v_left = JSON_ARRAY_INSERT(v_left, '$[0]', JSON_UNQUOTE(JSON_EXTRACT(v_left, CONCAT('$[', v_number, ']')))),
                            v_left = JSON_REMOVE(v_left, CONCAT('$[', v_number + 1, ']')),
                            v_off = v_off - 1;
                    END WHILE;
                    CALL put_off(v_run, v_rule, false, v_rest);
                ELSE
                    SET v_rest = 0, v_waiting = 0;
                    IF v_workers > 1 THEN
                        CALL sweep_leave(v_run, v_rule, v_state, v_ended);
                    END IF;
                    CALL finish(v_run, v_rule, IF(v_ended, v_state, NULL));
                END IF;
                IF v_opened THEN
                    CALL close_rule(v_rule);
                END IF;
                COMMIT;
            ELSEIF v_state = 'nothing left' THEN
                SET v_idle = CONCAT_WS(',', v_idle, v_rule);
            END IF;
            -- The reason of the run is the worst of its rules; of several that are alike, the first. What ended the run is worse than
            -- what ended a rule.
            SET v_rank = CASE
                WHEN v_state IN ('waits', 'more') THEN 9
                WHEN v_state LIKE 'error %' THEN 1
                WHEN v_state = 'cancelled' THEN 2
                WHEN v_state IN ('run_families reached', 'run_rows reached') THEN 4
                WHEN v_state LIKE 'rule %' THEN 5
                WHEN v_state = 'nothing left' THEN 6
                ELSE 3
            END;
            IF v_rank < v_worst THEN
                SET v_worst = v_rank, v_reason = v_state;
            END IF;
        END WHILE;
        IF v_workers > 1 THEN
            CALL leave_rules(v_run);
        END IF;
        CALL begin_ledger();
        CALL run_end(v_run, v_reason);
        SET v_last = v_run;
        IF v_workers > 1 THEN
            COMMIT;
            CALL begin_ledger();
            -- The last one of a sweep does what is to be done once.
            CALL sweep_end(v_run, v_last);
        END IF;
        IF v_archives THEN
            COMMIT;
            IF v_last IS NOT NULL THEN
                CALL archive_prune(v_run);
            END IF;
            CALL begin_ledger();
        END IF;
        CALL run_document(v_run, v_result);
        COMMIT;
        IF v_state <> 'cancelled' AND v_last IS NOT NULL THEN
            -- It counts for long, and only reads: nobody waits for a table of the ledger meanwhile.
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            START TRANSACTION;
            -- What a look has executed is executed again.
            CALL no_views(v_counts);
            CALL wait_for_ledger();
            IF v_counts THEN
                CALL count_backlog(v_last, v_idle);
            END IF;
            COMMIT;
        END IF;
        DO RELEASE_LOCK(v_lock);
    ELSE
        SET v_result = CONCAT('{"run": null, "status": "refused", "reason": ', JSON_QUOTE(v_refused), '}');
    END IF;
    CALL unsettle(v_before);
    SET v_before = NULL;
    -- Whatever a rule before met, who cancelled it is told.
    IF v_state = 'cancelled' THEN
        SET v_run = NULL;
        SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317, MESSAGE_TEXT = 'the run was cancelled; what it committed is kept';
    END IF;
    SELECT v_result AS p_result;
END;

-- purge: named families, now.
--# create procedure purge
CREATE PROCEDURE `purge`(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Deletes the named families now, in the same way as a run: they must be final, not on hold, linked to nothing that is kept,
    and older than the minimum. Retentions do not matter; nor do, with the option force, the minimum, a missing end time, a disabled policy
    and `keep` of families: the run says so.
    Example: CALL purge(''{"key": [17]}'');'
BEGIN
    DECLARE v_before   longtext;
    DECLARE v_open     boolean DEFAULT false;
    DECLARE v_run      bigint;
    DECLARE v_rule     varchar(64);
    DECLARE v_key      varchar(700);
    DECLARE v_reason   varchar(32);
    DECLARE v_result   longtext;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    DECLARE v_lock     varchar(64);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        --+ failed.sql
        --+ closing.sql
        IF v_lock IS NOT NULL THEN
            DO RELEASE_LOCK(CONCAT(v_lock, '.', COALESCE(v_run, 0)));
        END IF;
        CALL unsettle(v_before);
        RESIGNAL;
    END;
    CALL settle(v_before);
    CALL wait_for_ledger();
    SELECT s.run_lock INTO v_lock FROM spec AS s;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET v_open = true;
    START TRANSACTION;
    CALL purge_begin(p_options, v_run, v_rule);
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    START TRANSACTION;
    CALL open_rule(v_rule);
    SELECT MIN(k.named) INTO v_key FROM work_key AS k;
    COMMIT;
    WHILE v_key IS NOT NULL DO
        SET v_reason = NULL;
        -- What an installation replaces meanwhile would delete with the work tables of before.
        CALL unfinished(v_message);
        IF v_message IS NOT NULL THEN
            CALL not_ready(v_message, 'let it finish, or run windrow install again');
        END IF;
        CALL purge_one(v_run, v_rule, v_key, v_reason);
        CALL wait_for_ledger();
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        UPDATE work_key AS k SET k.reason = v_reason WHERE k.named = v_key;
        IF v_reason IN ('CANCELLED', 'PAUSED') THEN
            SET v_key = NULL;
        ELSE
            SELECT MIN(k.named) INTO v_key FROM work_key AS k WHERE k.named > v_key;
        END IF;
        COMMIT;
    END WHILE;
    -- Families that keep each other are deleted together.
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    START TRANSACTION;
    SELECT COUNT(k.found) INTO v_number FROM work_key AS k WHERE k.reason = 'AGAIN';
    UPDATE work_key AS k SET k.tied = true WHERE k.reason = 'AGAIN';
    COMMIT;
    IF v_number > 0 AND NOT COALESCE(v_reason IN ('CANCELLED', 'PAUSED'), false) THEN
        CALL purge_one(v_run, v_rule, NULL, v_reason);
        CALL wait_for_ledger();
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        UPDATE work_key AS k SET k.reason = v_reason WHERE k.reason = 'AGAIN';
        COMMIT;
    END IF;
    CALL begin_ledger();
    CALL purge_end(v_run, v_result);
    CALL close_rule(v_rule);
    DROP TEMPORARY TABLE IF EXISTS work_key;
    COMMIT;
    DO RELEASE_LOCK(CONCAT(v_lock, '.', v_run));
    CALL unsettle(v_before);
    SET v_before = NULL;
    IF v_reason = 'CANCELLED' THEN
        SET v_run = NULL;
        SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317, MESSAGE_TEXT = 'the purge was cancelled; what it committed is kept';
    END IF;
    SELECT v_result AS p_result;
END;
