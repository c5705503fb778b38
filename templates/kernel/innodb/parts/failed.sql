--+ raised.sql
-- A cancel shows in its own way in a sort, where it meets MariaDB reading a routine as an error of a text that has none, and in
-- the middle of a check of the ledger as one that failed.
IF v_errno = 1028 AND v_message LIKE '%interrupted%'
    OR v_errno IN (1064, 1065, 1109, 1308, 1327)
    OR v_errno = 4025 AND v_message LIKE CONCAT('%failed for _', DATABASE(), '_.%') THEN
    SET v_errno = 1317, v_sqlstate = '70100';
END IF;
-- Why COMMIT failed, if not for the engine, is the condition before it, such as a lock that it waited for in vain.
IF v_errno = 1180 AND v_message LIKE 'Got error 1 %' AND v_number > 0 THEN
    GET /*!80000 STACKED */ DIAGNOSTICS CONDITION v_number
        v_errno = MYSQL_ERRNO, v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT;
END IF;
-- A deadlock with another node of a cluster may show at COMMIT only.
IF v_errno = 1180 AND v_message LIKE '%deadlock%' THEN
    SET v_errno = 1213, v_sqlstate = '40001';
END IF;
