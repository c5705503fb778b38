-- Others may cancel this, too (MariaDB), one KILL QUERY after the other: it is tried ten times.
SET v_number = 0;
REPEAT
    closing: BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            SET v_number = v_number + 1;
        END;
        IF v_open THEN
            ROLLBACK;
        END IF;
        -- The session may have its own settings back by now.
        IF v_before IS NOT NULL THEN
            CALL wait_for_ledger();
        END IF;
        -- The last time, nothing is left open.
        IF v_run IS NOT NULL AND v_number < 9 THEN
            -- Pruning the ledger may fail each time, too. Then only the row of the run is written.
            IF v_number < 3 THEN
                CALL begin_ledger();
                CALL run_end(v_run, IF(v_errno = 1317, 'cancelled', CONCAT('error ', v_errno, ' (', v_sqlstate, '): ', v_message)));
            ELSE
                SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
                START TRANSACTION;
                CALL close_run(v_run, IF(v_errno = 1317, 'cancelled', CONCAT('error ', v_errno, ' (', v_sqlstate, '): ', v_message)));
            END IF;
            COMMIT;
        END IF;
        SET v_number = 10;
    END closing;
UNTIL v_number >= 10 END REPEAT;
