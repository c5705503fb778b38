-- archive_prune: what the end of a run does to the archive. It continues up to 100,000 rows, or as long as the time budget and
-- the window of the run last; not once it is paused. The first rule that archives has the setting for all of them.
--# create procedure archive_prune
CREATE PROCEDURE archive_prune(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Deletes archived rows of runs whose last row was archived more than archive_days ago, oldest run first, up to
    10,000 or one partition in a transaction. The end of a run calls it.'
BEGIN
    DECLARE v_rule    varchar(64);
    DECLARE v_days    bigint;
    DECLARE v_before  datetime(6);
    DECLARE v_on      boolean;
    DECLARE v_state   varchar(1000);
    DECLARE v_begun   longtext;
    DECLARE v_run     bigint DEFAULT 0;
    DECLARE v_place   integer DEFAULT 0;
    DECLARE v_after   bigint DEFAULT 0;
    DECLARE v_rows    bigint;
    DECLARE v_sum     bigint DEFAULT 0;
    DECLARE v_dry_run boolean;
    SELECT r.dry_run INTO v_dry_run FROM run AS r WHERE r.run_id = p_run;
    IF NOT v_dry_run THEN
        CALL tidy_partitions();
    END IF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    START TRANSACTION;
    SELECT r.rule INTO v_rule FROM rule AS r WHERE JSON_CONTAINS_PATH(r.document, 'one', '$.archive') ORDER BY r.position LIMIT 1;
    CALL setting_of(v_rule, 'archive_days', v_days);
    -- Before an installation is finished, it is not said for how long the archive is kept.
    CALL unfinished(v_begun);
    SELECT MAX(UTC_TIMESTAMP(6) - INTERVAL NULLIF(v_days, 0) DAY)
    INTO v_before
    FROM run AS r
    WHERE r.run_id = p_run
      AND NOT r.dry_run
      AND r.status <> 'cancelled'
      AND v_begun IS NULL;
    COMMIT;
    WHILE v_before IS NOT NULL AND v_run IS NOT NULL DO
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        CALL archive_step(p_run, NULL, v_before, v_run, v_place, v_after, v_rows);
        COMMIT;
        SET v_sum = v_sum + v_rows;
        CALL window_state(p_run, v_state);
        CALL unfinished(v_begun);
        SELECT v_begun IS NULL AND NOT c.paused AND (v_sum < 100000 OR v_state IS NULL AND r.deadline > UTC_TIMESTAMP(6))
        INTO v_on
        FROM run AS r
        CROSS JOIN control AS c
        WHERE r.run_id = p_run;
        IF NOT v_on THEN
            SET v_run = NULL;
        END IF;
    END WHILE;
END;

-- archive_drop: archived rows of a run, or of all old ones, for good.
--# create procedure archive_drop
CREATE PROCEDURE archive_drop(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Deletes the archived rows of a run, or of the runs whose last row was archived at least that long ago: run or older_than,
    dry_run. Up to 10,000 rows per transaction; they exist nowhere else.
    Examples: CALL archive_drop(''{"run": 17}''); CALL archive_drop(''{"older_than": "90d", "dry_run": true}'');'
BEGIN
    DECLARE v_before_call longtext;
    DECLARE v_open    boolean DEFAULT false;
    DECLARE v_only    bigint;
    DECLARE v_before  datetime(6);
    DECLARE v_last    datetime(6);
    DECLARE v_dry_run boolean;
    DECLARE v_goes_on boolean;
    DECLARE v_run     bigint DEFAULT 0;
    DECLARE v_place   integer DEFAULT 0;
    DECLARE v_after   bigint DEFAULT 0;
    DECLARE v_rows    bigint;
    DECLARE v_sum     bigint DEFAULT 0;
    DECLARE v_runs    longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_open THEN
            ROLLBACK;
        END IF;
        CALL unsettle(v_before_call);
        RESIGNAL;
    END;
    CALL settle(v_before_call);
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET v_open = true;
    START TRANSACTION;
    CALL check_options(p_options, '["run", "older_than", "dry_run"]');
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.run') + JSON_CONTAINS_PATH(p_options, 'one', '$.older_than') <> 1 THEN
        CALL refuse('not one of run and older_than', 'write {"run": 17} or {"older_than": "90d"}');
    END IF;
    CALL flag_of(p_options, 'dry_run', v_dry_run);
    CALL archive_options(p_options, v_only, v_before);
    IF v_only IS NOT NULL THEN
        CALL archive_last(v_only, v_last);
        IF v_last IS NULL THEN
            CALL refuse(CONCAT('no rows of run ', v_only, ' are archived'), 'archive_list() has the runs with archived rows');
        END IF;
        SELECT COUNT(*) INTO v_goes_on FROM run AS r WHERE r.run_id = v_only AND r.status = 'running';
        IF v_goes_on THEN
            CALL not_ready(CONCAT('run ', v_only, ' is in progress'), 'wait for its end');
        END IF;
    END IF;
    CALL archive_of(v_only, v_before, v_sum, v_runs);
    COMMIT;
    IF v_dry_run IS NOT TRUE THEN
        SET v_sum = 0;
        WHILE v_run IS NOT NULL DO
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            START TRANSACTION;
            CALL archive_step(0, v_only, v_before, v_run, v_place, v_after, v_rows);
            COMMIT;
            SET v_sum = v_sum + v_rows;
        END WHILE;
    END IF;
    CALL unsettle(v_before_call);
    SET v_before_call = NULL;
    SELECT CONCAT('{"dry_run": ', IF(v_dry_run IS TRUE, 'true', 'false'), ', "rows": ', v_sum, ', "runs": ', v_runs, '}') AS p_result;
END;
