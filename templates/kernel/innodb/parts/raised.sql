-- Warnings come before the error. Behind it are the lines of the routines (MariaDB), and what a deadlock could not roll
-- back: work tables.
GET /*!80000 STACKED */ DIAGNOSTICS v_number = NUMBER;
SET v_errno = 1105, v_sqlstate = 'HY000', v_message = 'unknown: max_error_count is 0';
IF v_number > 0 THEN
    REPEAT
        GET /*!80000 STACKED */ DIAGNOSTICS CONDITION v_number
            v_errno = MYSQL_ERRNO, v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT;
        SET v_number = v_number - 1;
    UNTIL v_errno NOT IN (4094, 1196, 1751, 1752) OR v_number < 1 END REPEAT;
END IF;
-- As long a list as max_error_count allows may be without the error, and end in a warning. It is raised once more, to see whose it is,
-- by the numbers that fault_of() knows; a number goes before a state.
IF v_number + 1 >= @@SESSION.max_error_count THEN
    SET v_errno = 1105, v_sqlstate = 'HY000',
        v_message = CONCAT('unknown: ', IF(@@SESSION.max_error_count = 0, 'max_error_count is 0', 'more warnings than max_error_count'));
    BEGIN
        DECLARE EXIT HANDLER FOR 1205
            SET v_errno = 1205, v_sqlstate = 'HY000', v_message = 'lock wait timeout';
        DECLARE EXIT HANDLER FOR 1213, 1020, 3101, 3572
            SET v_errno = 1213, v_sqlstate = '40001', v_message = 'deadlock';
        DECLARE EXIT HANDLER FOR 1317, 1927, 1053
            SET v_errno = 1317, v_sqlstate = '70100';
        DECLARE EXIT HANDLER FOR 1217, 1451
            SET v_errno = 1451, v_sqlstate = '23000', v_message = 'a foreign key refuses';
        DECLARE EXIT HANDLER FOR
            1016, 1021, 1023, 1024, 1026, 1030, 1036, 1037, 1041, 1114, 1194, 1195, 1290, 1356, 1412, 1419, 1449, 1598, 1637, 1665, 1731,
            1785, 1792, 1812, 1814, 1836, 1874, 1878, 1969, 3024, 3098, 3989, SQLSTATE '42000', SQLSTATE '42S02', SQLSTATE '42S22'
            SET v_sqlstate = '58000';
        -- What a trigger raises by itself has any state, and 42000 is a common one.
        DECLARE EXIT HANDLER FOR 1139, 1172, 1644, SQLEXCEPTION
            SET v_number = COALESCE(v_number, 0);
        RESIGNAL;
    END;
END IF;
