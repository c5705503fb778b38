-- Warnings come before the error. Behind it are the lines of the routines (MariaDB), and what a deadlock could not roll
-- back: work tables.
GET /*!80000 STACKED */ DIAGNOSTICS v_number = NUMBER;
REPEAT
    GET /*!80000 STACKED */ DIAGNOSTICS CONDITION v_number
        v_errno = MYSQL_ERRNO, v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT;
    SET v_number = v_number - 1;
UNTIL v_errno NOT IN (4094, 1196, 1751, 1752) OR v_number = 0 END REPEAT;
