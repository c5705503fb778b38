-- stamp: batch after batch, each one a transaction.
--# create procedure stamp
CREATE PROCEDURE stamp(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Sets removal times, in batches that commit; after an interruption, the same call continues. What: to, calculated (start or
    end) with default, or clear. Of which: key, missing or all; of their whole families unless hierarchical is false. Of what: of,
    otherwise of the families of the rule. Further options: rule, chunk, time_budget, dry_run.
    Example: CALL stamp(''{"calculated": "end", "missing": true}'');'
BEGIN
    DECLARE v_before   longtext;
    DECLARE v_open     boolean DEFAULT false;
    DECLARE v_run      bigint;
    DECLARE v_rule     varchar(64);
    DECLARE v_of       varchar(64);
    DECLARE v_text     longtext;
    DECLARE v_whole    boolean;
    DECLARE v_refused  longtext;
    DECLARE v_state    varchar(1000);
    DECLARE v_result   longtext;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    DECLARE v_lock     varchar(80);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        --+ failed.sql
        --+ closing.sql
        IF v_lock IS NOT NULL THEN
            DO RELEASE_LOCK(v_lock);
        END IF;
        CALL unsettle(v_before);
        RESIGNAL;
    END;
    CALL settle(v_before);
    CALL wait_for_ledger();
    SELECT CONCAT(s.run_lock, '.stamp') INTO v_lock FROM spec AS s;
    -- A caller that ran into another that starts or ends looks again; after five times that one is said to be in the way.
    SET v_number = 0;
    REPEAT
        opening: BEGIN
            DECLARE EXIT HANDLER FOR 1180, 1213, 3101
            BEGIN
                ROLLBACK;
                DO RELEASE_LOCK(v_lock);
                SET v_run = NULL, v_refused = 'another stamp is starting', v_number = v_number + 1;
            END;
            SET v_refused = NULL;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            SET v_open = true;
            START TRANSACTION;
            CALL stamp_begin(p_options, v_run, v_rule, v_of, v_refused);
            COMMIT;
            SET v_number = 5;
        END opening;
    UNTIL v_number >= 5 END REPEAT;
    IF v_run IS NOT NULL THEN
        CALL option_of(p_options, 'hierarchical', v_text);
        SET v_whole = COALESCE(v_text <> 'false', true);
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        CALL search_stamp(v_rule, v_of, p_options, v_whole);
        COMMIT;
        REPEAT
            CALL stamp_advance(v_run, v_rule, v_of, v_whole, v_state);
            CALL wait_for_ledger();
        UNTIL v_state NOT IN ('more', 'again') END REPEAT;
        CALL begin_ledger();
        CALL stamp_leave();
        CALL run_end(v_run, v_state);
        CALL stamp_document(v_run, v_result);
        COMMIT;
        DO RELEASE_LOCK(v_lock);
    ELSE
        SET v_result = CONCAT('{"run": null, "status": "refused", "reason": ', JSON_QUOTE(v_refused), '}');
    END IF;
    CALL unsettle(v_before);
    SET v_before = NULL;
    IF v_state = 'cancelled' THEN
        SET v_run = NULL;
        SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317, MESSAGE_TEXT = 'the stamp was cancelled; what it committed is kept';
    END IF;
    SELECT v_result AS p_result;
END;
