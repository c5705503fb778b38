-- What the steps, previews and purges of rules share.

-- preview_of: what the preview of a rule returns. The spec may ask for more fields, under names of its own.
--# create procedure preview_of
CREATE PROCEDURE preview_of(
    IN  p_rule     varchar(64),
    IN  p_families bigint,
    IN  p_rows     longtext,
    IN  p_oldest   varchar(64),
    IN  p_samples  longtext,
    IN  p_skips    bigint,
    IN  p_skipped  longtext,
    IN  p_keys     longtext,
    IN  p_passes   longtext,
    IN  p_without  bigint,
    IN  p_limit    bigint,
    IN  p_more     boolean,
    IN  p_batches  bigint,
    IN  p_failures bigint,
    IN  p_speed    decimal(30, 6),
    OUT o_document longtext
)
SQL SECURITY DEFINER
COMMENT 'What the preview of a rule answers, as one JSON document: p_rows by table in the order of deletion; p_passes,
    where rows are taken one by one.'
BEGIN
    DECLARE v_sum    bigint;
    DECLARE v_tables longtext;
    DECLARE v_fields longtext;
    SELECT
        SUM(n.found),
        GROUP_CONCAT(CONCAT(JSON_QUOTE(t.table_name), ': ', n.found) ORDER BY t.position SEPARATOR ', ')
    INTO v_sum, v_tables
    FROM rule_table AS t
    JOIN JSON_TABLE(p_rows, '$[*]' COLUMNS (position FOR ORDINALITY, found bigint PATH '$')) AS n ON n.position = t.position
    WHERE t.rule = p_rule;
    SELECT COALESCE(GROUP_CONCAT(
        CONCAT(', ', JSON_QUOTE(f.name), ': ', COALESCE(CASE f.figure
            WHEN 'families' THEN CAST(p_families AS char)
            WHEN 'table' THEN (
                SELECT CAST(JSON_UNQUOTE(JSON_EXTRACT(p_rows, CONCAT('$[', t.position - 1, ']'))) AS char)
                FROM rule_table AS t
                WHERE t.rule = p_rule
                  AND t.table_name = f.of_table
            )
            WHEN 'oldest_end_time' THEN p_oldest
            WHEN 'sample_roots' THEN p_samples
            WHEN 'skipped' THEN p_skipped
            WHEN 'skipped_families' THEN CAST(p_skips AS char)
            WHEN 'dry_run' THEN 'true'
            WHEN 'artifact_failures' THEN CAST(p_failures AS char)
        END, 'null'))
        ORDER BY f.position SEPARATOR ''
    ), '')
    INTO v_fields
    FROM rule AS k
    JOIN JSON_TABLE(COALESCE(JSON_EXTRACT(k.document, '$.report_preview'), '[]'), '$[*]' COLUMNS (
        position FOR ORDINALITY, name varchar(64) PATH '$.name', figure varchar(40) PATH '$.figure', of_table varchar(64) PATH '$.table'
    )) AS f
    WHERE k.rule = p_rule;
    SELECT CONCAT(
        '{"rule": ', JSON_QUOTE(p_rule),
        ', "root": ', JSON_QUOTE(k.root),
        ', "families": ', p_families,
        ', "rows": ', v_sum,
        ', "tables": {', v_tables,
        '}, "oldest_end_time": ', p_oldest,
        ', "sample_roots": ', p_samples,
        ', "skipped_families": ', p_skips,
        ', "skipped": ', p_skipped,
        ', "skipped_samples": ', p_keys,
        COALESCE(CONCAT(', "passes": [', p_passes, ']'), ''),
        IF(k.opt_in, CONCAT(', "without_policy": ', COALESCE(p_without, 'null')), ''),
        ', "run_families": ', p_limit,
        ', "limited": ', IF(p_more, 'true', 'false'),
        ', "batches": ', p_batches,
        ', "estimated_seconds": ', COALESCE(ROUND(v_sum / p_speed, 1), 'null'), v_fields,
        '}'
    )
    INTO o_document
    FROM rule AS k
    WHERE k.rule = p_rule;
END;

-- may_go_on: everything that may end a run is looked at before every batch.
--# create procedure may_go_on
CREATE PROCEDURE may_go_on(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Whether p_run, of this session, continues with p_rule. Answers NULL, or what the step answers instead of a batch.'
BEGIN
    DECLARE v_own      boolean DEFAULT false;
    DECLARE v_paused   boolean;
    DECLARE v_deadline datetime(6);
    SET o_state = NULL;
    SELECT r.deadline, r.status = 'running' AND r.backend_pid = CONNECTION_ID(), c.paused
    INTO v_deadline, v_own, v_paused
    FROM run AS r
    CROSS JOIN control AS c
    WHERE r.run_id = p_run;
    IF NOT v_own THEN
        SET o_state = 'the run was ended from outside';
    ELSEIF v_paused THEN
        SET o_state = 'paused';
    ELSEIF UTC_TIMESTAMP(6) >= v_deadline THEN
        SET o_state = 'time budget spent';
    ELSE
        CALL window_state(p_run, o_state);
    END IF;
    IF o_state IS NULL THEN
        CALL unfinished(o_state);
    END IF;
    IF o_state IS NULL THEN
        CALL rule_paused(p_rule, o_state);
    END IF;
END;

-- begin_step: whether a run continues, of which nobody else writes the progress meanwhile.
--# create procedure begin_step
CREATE PROCEDURE begin_step(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Locks the progress of p_run with p_rule, in the caller''s transaction. Answers NULL, or what the step answers instead of a batch.'
BEGIN
    DECLARE v_there bigint;
    SELECT p.families INTO v_there FROM run_rule AS p WHERE p.run_id = p_run AND p.rule = p_rule FOR UPDATE;
    CALL may_go_on(p_run, p_rule, o_state);
    -- A worker that is not at the rule may not do a batch of it; pace() lets it there.
    IF o_state IS NULL AND (SELECT s.workers > 1 FROM spec AS s) THEN
        SELECT COUNT(s.run_id) INTO v_there FROM run_sweep AS s WHERE s.run_id = p_run AND s.at_rule = p_rule;
        IF v_there = 0 THEN
            SET o_state = 'again';
        END IF;
    END IF;
END;

-- wait_for_locks, wait_for_ledger: how long a batch waits, and how long a run does where it holds nothing up: a backup may have locked
-- the whole server, or the tables of the ledger.
--# create procedure wait_for_locks
CREATE PROCEDURE wait_for_locks(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Sets how long the session waits for locks, by the setting lock_timeout of p_rule.'
BEGIN
    DECLARE v_wait bigint;
    CALL setting_of(p_rule, 'lock_timeout', v_wait);
    -- The server counts in whole seconds. The second one is for tables that are being altered.
    SET v_wait = GREATEST(1, (v_wait + 999) DIV 1000);
    SET SESSION innodb_lock_wait_timeout = v_wait;
    SET SESSION lock_wait_timeout = v_wait;
END;
--# create procedure wait_for_ledger
CREATE PROCEDURE wait_for_ledger()
SQL SECURITY DEFINER
COMMENT 'Has the session wait for what it writes to the ledger: for rows ten minutes, for tables and the server as long as it takes.'
BEGIN
    SET SESSION innodb_lock_wait_timeout = 600;
    SET SESSION lock_wait_timeout = 31536000;
END;

-- recheck_catalog: a step ends where the catalog is not what the run began with, and says why. Its transaction is rolled back
-- before anybody makes a work table: MariaDB would log what it did.
--# create procedure recheck_catalog
CREATE PROCEDURE recheck_catalog(IN p_run bigint, IN p_last boolean, OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Looks at the catalog again; p_last: before COMMIT. Answers NULL, or rolls back and answers what the step answers.'
BEGIN
    DECLARE v_changed boolean;
    DECLARE v_message varchar(900);
    SET o_state = NULL;
    CALL look_again(p_run, p_last, v_changed);
    IF v_changed THEN
        ROLLBACK;
        CALL begin_ledger();
        CALL judge_catalog(p_run, v_message);
        COMMIT;
        SET o_state = COALESCE(CONCAT('error 55000: ', v_message), 'again');
    END IF;
END;

-- bound_by: whether there is a hold of a rule whose rows belong to those of another, or lead to them.
--# create procedure bound_by
CREATE PROCEDURE bound_by(IN p_rule varchar(64), OUT o_bound boolean)
SQL SECURITY DEFINER
COMMENT 'Whether a hold of another rule may keep rows of p_rule.'
BEGIN
    SELECT COUNT(*) > 0
    INTO o_bound
    FROM rule AS r
    JOIN JSON_TABLE(r.document, '$.bound[*]' COLUMNS (name varchar(64) PATH '$')) AS b
    JOIN hold AS h ON h.rule = b.name
    WHERE r.rule = p_rule
      AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6));
END;

-- rows_away: rows that are out of their table while their partition is judged are not gone: no other rule may take them for that.
--# create procedure rows_away
CREATE PROCEDURE rows_away(IN p_run bigint, IN p_rule varchar(64), OUT o_message varchar(900), OUT o_soon boolean)
SQL SECURITY DEFINER
COMMENT 'Called behind take_tables(). Why p_run may delete nothing of p_rule now, since rows of another rule are out of their table; o_soon:
    another worker is about to settle that. NULL: none are.'
BEGIN
    DECLARE v_drops bigint;
    SET o_message = NULL, o_soon = false;
    SELECT COUNT(*) INTO v_drops FROM rule AS r WHERE r.strategy = 'partition';
    IF v_drops > 0 THEN
        CALL partition_away(p_run, p_rule, o_message, o_soon);
    END IF;
END;

-- rows_out: a run does not leave a rule whose rows are out of their table: no other rule may go on before they are settled.
--# create procedure rows_out
CREATE PROCEDURE rows_out(IN p_rule varchar(64), OUT o_out boolean)
SQL SECURITY DEFINER
COMMENT 'Whether rows of p_rule are out of their table.'
BEGIN
    DECLARE v_drops bigint;
    SET o_out = false;
    SELECT COUNT(*) INTO v_drops FROM rule AS r WHERE r.rule = p_rule AND r.strategy = 'partition';
    IF v_drops > 0 THEN
        CALL partition_out(p_rule, o_out);
    END IF;
END;

-- locked_out: the run says what is in the way, and tries as often as after other errors of this kind; then other rules have their turn.
--# create procedure locked_out
CREATE PROCEDURE locked_out(IN p_run bigint, IN p_rule varchar(64), IN p_wanted varchar(200), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Notes what the next batch of p_rule waits for. Answers again, and where the setting retries is reached, waits. Commits.'
BEGIN
    DECLARE v_retries bigint;
    DECLARE v_again   integer;
    DECLARE v_dry_run boolean;
    DECLARE v_out     boolean;
    CALL wait_for_ledger();
    CALL begin_ledger();
    UPDATE run AS r
    SET r.alive_at = UTC_TIMESTAMP(6),
        r.waiting_since = COALESCE(r.waiting_since, UTC_TIMESTAMP(6)),
        r.waiting_for = p_wanted
    WHERE r.run_id = p_run
      AND r.status = 'running';
    CALL setting_of(p_rule, 'retries', v_retries);
    SELECT MAX(r.dry_run), MAX(p.retries_in_row)
    INTO v_dry_run, v_again
    FROM run AS r
    LEFT JOIN run_rule AS p ON p.run_id = r.run_id AND p.rule = p_rule
    WHERE r.run_id = p_run;
    UPDATE run_rule AS p
    SET p.retries = p.retries + 1,
        p.retries_in_row = IF(v_again >= v_retries, 0, v_again + 1),
        p.updated_at = UTC_TIMESTAMP(6)
    WHERE p.run_id = p_run
      AND p.rule = p_rule;
    CALL rows_out(p_rule, v_out);
    COMMIT;
    SET o_state = IF(v_again >= v_retries AND NOT v_dry_run AND NOT v_out, 'waits', 'again');
END;

-- take_locks: the tables, and the latch of holds and policies. What the catalog says must be what the run began with.
--# create procedure take_locks
CREATE PROCEDURE take_locks(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Takes, in the caller''s transaction, the locks of a batch, but none of its rows. Answers NULL, or rolls back and answers a state.'
BEGIN
    DECLARE v_wanted  varchar(200) DEFAULT 'a lock on a table, which another session alters or has locked';
    DECLARE v_waited  boolean;
    DECLARE v_latch   boolean;
    DECLARE v_message varchar(900);
    DECLARE v_soon    boolean;
    SET o_state = NULL;
    CALL wait_for_locks(p_rule);
    -- A hold or a policy that is being written waits for this batch, or this batch for it. That is no fault of a family:
    -- look at everything again.
    latch: BEGIN
        DECLARE EXIT HANDLER FOR 1205, 1213
        BEGIN
            SET o_state = 'again';
        END;
        CALL take_tables(p_rule);
        SET v_wanted = 'a lock on holds and policies, which another session changes';
        SELECT l.only_row INTO v_latch FROM latch AS l LOCK IN SHARE MODE;
        SELECT r.waiting_for LIKE 'a lock on %' INTO v_waited FROM run AS r WHERE r.run_id = p_run;
        IF v_waited THEN
            UPDATE run AS r
            SET r.waiting_for = NULL,
                r.waiting_since = NULL
            WHERE r.run_id = p_run;
            -- The batch has all its tries.
            UPDATE run_rule AS p
            SET p.retries_in_row = 0
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
        END IF;
    END latch;
    IF o_state IS NULL THEN
        CALL recheck_catalog(p_run, false, o_state);
    ELSE
        ROLLBACK;
        CALL locked_out(p_run, p_rule, v_wanted, o_state);
    END IF;
    IF o_state IS NULL THEN
        CALL rows_away(p_run, p_rule, v_message, v_soon);
        IF v_message IS NOT NULL THEN
            ROLLBACK;
            DO SLEEP(IF(v_soon, 0.1, 0));
            SET o_state = IF(v_soon, 'again', CONCAT('error 55000: ', v_message));
        END IF;
    END IF;
END;

-- all_locked: rows between a root and others that come after those were locked, which nobody has judged: what is below them was not
-- read, and a foreign key deletes it uncounted and without a copy.
--# create procedure all_locked
CREATE PROCEDURE all_locked(IN p_table varchar(64), IN p_rows bigint, IN p_locked bigint)
SQL SECURITY DEFINER
COMMENT 'Raises an error by which a batch is tried again, where more rows of p_table were deleted than locked before.'
BEGIN
    DECLARE v_message varchar(128);
    IF p_rows > p_locked AND COALESCE(@windrow_referred, true) THEN
        SET v_message = CONCAT('rows have come to what a batch deletes, of ', p_table);
        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1020, MESSAGE_TEXT = v_message;
    END IF;
END;

-- is_refusal: whose error it is, as its number and its state say: what a trigger raises by itself (1644, numbers of its own), or meets
-- in the rows of one family (1139, 1172), is a refusal, whatever its state.
--# create procedure is_refusal
CREATE PROCEDURE is_refusal(IN p_errno integer, IN p_sqlstate varchar(5), OUT o_refusal boolean, OUT o_general boolean)
SQL SECURITY DEFINER
COMMENT 'Whether an error concerns what a batch would delete, and whether its state is that of rights, resources or a server.'
BEGIN
    SET o_refusal = p_errno IN (1139, 1172, 1644) OR p_errno >= 10000,
        o_general = LEFT(p_sqlstate, 2) IN ('08', '25', '28', '42', '53', '54', '57', '58', '70', 'XA');
END;

-- fault_of: whose fault the error of a batch is. A statement that was cancelled ends the run; so do rights, resources, a
-- read-only server or schema, files of the server: they are no fault of a family. A group takes no transaction above its limit (3100),
-- but smaller ones; where the server has left it, the ledger cannot be written either. raised.sql names these numbers, too.
--# create procedure fault_of
CREATE PROCEDURE fault_of(
    IN  p_errno    integer,
    IN  p_sqlstate varchar(5),
    IN  p_message  varchar(900),
    IN  p_found    bigint,
    OUT o_busy     boolean,
    OUT o_state    varchar(1000)
)
SQL SECURITY DEFINER
COMMENT 'Whether a batch of p_found ran into others, and may be tried again; or the state that ends the run.'
BEGIN
    DECLARE v_refusal boolean;
    DECLARE v_general boolean;
    CALL is_refusal(p_errno, p_sqlstate, v_refusal, v_general);
    SET o_busy = p_errno IN (1205, 1213, 1020, 3101, 3572), o_state = NULL;
    IF p_errno IN (1317, 1927, 1053) THEN
        SET o_state = 'cancelled';
    ELSEIF NOT o_busy AND (
        v_general AND NOT v_refusal
        OR p_errno < 1000
        OR p_errno IN (1016, 1021, 1023, 1024, 1026, 1030, 1036, 1037, 1041, 1114, 1194, 1195, 1290, 1356, 1412, 1419, 1449, 1598, 1637)
        OR p_errno IN (1665, 1731, 1785, 1812, 1814, 1836, 1874, 1878, 1969, 3024, 3098, 3989)
        OR p_errno = 1105 AND p_message LIKE 'Percona-XtraDB-Cluster prohibits%'
        OR p_errno = 3100 AND CAST(@@GLOBAL.read_only AS char) NOT IN ('0', 'OFF')
        OR p_found = 0
    ) THEN
        SET o_state = CONCAT('error ', p_errno, ' (', p_sqlstate, '): ', p_message);
    END IF;
END;

-- refused_often: a trigger that refuses all with a state of rights or resources does not refuse a family.
--# create procedure refused_often
CREATE PROCEDURE refused_often(
    IN  p_run      bigint,
    IN  p_rule     varchar(64),
    IN  p_errno    integer,
    IN  p_sqlstate varchar(5),
    OUT o_often    boolean
)
SQL SECURITY DEFINER
COMMENT 'Whether one more refusal of this kind ends the run: after 100. @windrow_untold: that are in no ledger.'
BEGIN
    DECLARE v_refusal boolean;
    DECLARE v_general boolean;
    CALL is_refusal(p_errno, p_sqlstate, v_refusal, v_general);
    SET o_often = false;
    IF v_refusal AND v_general THEN
        SELECT COUNT(*) + COALESCE(@windrow_untold, 0) >= 100 INTO o_often
        FROM run_failure AS f
        WHERE f.run_id = p_run
          AND f.rule = p_rule
          AND f.`sqlstate` = p_sqlstate
          AND f.message NOT LIKE 'not tried again since run %';
    END IF;
END;

-- fail_step: what the error of a batch means. A busy one is retried, then halved.
--# create procedure fail_step
CREATE PROCEDURE fail_step(
    IN  p_run      bigint,
    IN  p_rule     varchar(64),
    IN  p_errno    integer,
    IN  p_sqlstate varchar(5),
    IN  p_message  varchar(900),
    IN  p_found    bigint,
    IN  p_half     bigint,
    OUT o_busy     boolean,
    OUT o_state    varchar(1000)
)
SQL SECURITY DEFINER
COMMENT 'After a batch of p_found was rolled back. Answers a state, or NULL in an open transaction: the one of the batch is passed over.'
BEGIN
    DECLARE v_again   integer;
    DECLARE v_retries bigint;
    DECLARE v_often   boolean;
    -- What is in the way of the ledger, such as a backup, ends no run.
    CALL wait_for_ledger();
    CALL fault_of(p_errno, p_sqlstate, p_message, p_found, o_busy, o_state);
    IF o_state IS NULL THEN
        CALL begin_ledger();
        UPDATE run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
        CALL setting_of(p_rule, 'retries', v_retries);
        SELECT p.retries_in_row INTO v_again FROM run_rule AS p WHERE p.run_id = p_run AND p.rule = p_rule;
        CALL refused_often(p_run, p_rule, p_errno, p_sqlstate, v_often);
        -- A foreign key that refuses may have got a row since what keeps rows was read: a batch that cannot be halved, and is not judged
        -- anew by that, is tried once more.
        IF o_busy AND v_again < v_retries OR p_errno IN (1217, 1451) AND p_found = 1 AND v_again = 0 THEN
            UPDATE run_rule AS p
            SET p.retries = p.retries + 1,
                p.retries_in_row = p.retries_in_row + 1,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            COMMIT;
            SET o_state = 'again';
        ELSEIF p_found = 0 OR p_found = 1 AND v_often THEN
            ROLLBACK;
            SET o_state = CONCAT('error ', p_errno, ' (', p_sqlstate, '): ', p_message);
        ELSEIF p_found > 1 THEN
            UPDATE run_rule AS p
            SET p.retries = p.retries + 1,
                p.retries_in_row = 0,
                p.batch_families = p_half,
                p.halving = true,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            COMMIT;
            SET o_state = 'again';
        END IF;
    END IF;
END;

-- fits: how many families fit in one transaction, where so many have so many rows. What a batch had is what the next one is
-- expected to have; only where that would be too much, its rows are counted before.
--# create procedure fits
CREATE PROCEDURE fits(IN p_rule varchar(64), IN p_families bigint, IN p_rows longtext, OUT o_fits bigint)
SQL SECURITY DEFINER
COMMENT 'How many families have as many rows as batch_family_rows allows, where p_families have p_rows, a JSON list: one at least, or NULL.'
BEGIN
    DECLARE v_most bigint;
    DECLARE v_rows bigint;
    CALL setting_of(p_rule, 'batch_family_rows', v_most);
    IF v_most IS NULL THEN
        -- It deletes no families, but has stamps of them.
        CALL setting_of(p_rule, 'batch_rows', v_most);
    END IF;
    SET o_fits = NULL;
    IF v_most IS NOT NULL AND p_rows IS NOT NULL THEN
        SELECT SUM(n.found) INTO v_rows FROM JSON_TABLE(p_rows, '$[*]' COLUMNS (found bigint PATH '$')) AS n;
        SET o_fits = GREATEST(p_families * v_most DIV NULLIF(v_rows, 0), 1);
    END IF;
END;

-- weighed: what a step writes down that has counted the rows of a batch and does no more, since to count makes work tables.
--# create procedure weighed
CREATE PROCEDURE weighed(IN p_run bigint, IN p_rule varchar(64), IN p_families bigint, IN p_rows longtext)
SQL SECURITY DEFINER
COMMENT 'Has the next step take as many families as fit, where p_families have p_rows: fewer, counted again, or just these.'
BEGIN
    DECLARE v_fits bigint;
    CALL fits(p_rule, p_families, p_rows, v_fits);
    COMMIT;
    CALL begin_ledger();
    UPDATE run_rule AS p
    SET p.weigh = IF(v_fits < p_families, GREATEST(p.weigh, p_families), - p.weigh),
        p.batch_families = IF(v_fits < p_families, v_fits, p.batch_families),
        p.updated_at = UTC_TIMESTAMP(6)
    WHERE p.run_id = p_run
      AND p.rule = p_rule;
    COMMIT;
END;

-- weigh_more: what the rows of a batch say of the next one.
--# create procedure weigh_more
CREATE PROCEDURE weigh_more(IN p_run bigint, IN p_rule varchar(64), IN p_families bigint, IN p_rows longtext)
SQL SECURITY DEFINER
COMMENT 'Sets the size of the batch behind one of p_families with p_rows, and whether its rows are counted before it is deleted.'
BEGIN
    DECLARE v_fits bigint;
    CALL fits(p_rule, p_families, p_rows, v_fits);
    IF v_fits IS NOT NULL THEN
        -- From the left to the right.
        UPDATE run_rule AS p
        SET p.weigh = GREATEST(ABS(p.weigh) - p_families, IF(v_fits < p.batch_families, p.batch_families, 0)),
            p.batch_families = LEAST(p.batch_families, v_fits)
        WHERE p.run_id = p_run
          AND p.rule = p_rule
          AND (p.weigh <> 0 OR v_fits < p.batch_families);
    ELSE
        -- Families that all stay say nothing of those behind them: their rows are counted.
        UPDATE run_rule AS p
        SET p.weigh = ABS(p.weigh)
        WHERE p.run_id = p_run
          AND p.rule = p_rule
          AND p.weigh < 0;
    END IF;
END;

-- begin_purge: what a purge of one family or row looks at first.
--# create procedure begin_purge
CREATE PROCEDURE begin_purge(IN p_run bigint, IN p_rule varchar(64), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Looks, in the caller''s transaction, whether a purge may continue, and takes its locks, but none of rows. Answers NULL, or PAUSED.'
BEGIN
    DECLARE v_own     boolean DEFAULT false;
    DECLARE v_paused  boolean;
    DECLARE v_message varchar(900);
    DECLARE v_soon    boolean;
    SET o_reason = NULL;
    SELECT
        r.status = 'running' AND r.`trigger` = 'PURGE' AND r.backend_pid = CONNECTION_ID(),
        c.paused OR EXISTS (SELECT 1 FROM rule_pause AS p WHERE p.rule = p_rule)
    INTO v_own, v_paused
    FROM run AS r
    CROSS JOIN control AS c
    WHERE r.run_id = p_run;
    IF NOT v_own THEN
        CALL not_ready(CONCAT('run ', p_run, ' is not an open purge of this session'), 'CALL purge() opens one');
    END IF;
    CALL unfinished(v_message);
    IF v_message IS NOT NULL THEN
        CALL not_ready(v_message, 'let it finish, or run windrow install again');
    END IF;
    IF v_paused THEN
        SET o_reason = 'PAUSED';
    ELSE
        CALL wait_for_locks(p_rule);
        CALL take_tables(p_rule);
        CALL same_catalog(p_run, false);
        CALL purge_latch(p_run);
        CALL rows_away(p_run, p_rule, v_message, v_soon);
        IF v_message IS NOT NULL THEN
            CALL not_ready(v_message, 'let a run of all rules settle them, then purge again');
        END IF;
    END IF;
END;
--# create procedure purge_latch
CREATE PROCEDURE purge_latch(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Locks, in the caller''s transaction, what holds wait for: the row of run_rule, for those of another server, and the latch.'
BEGIN
    DECLARE v_locked bigint;
    SELECT MAX(p.told) INTO v_locked FROM run_rule AS p WHERE p.run_id = p_run FOR UPDATE;
    SELECT l.only_row INTO v_locked FROM latch AS l LOCK IN SHARE MODE;
END;
--# create procedure same_catalog
CREATE PROCEDURE same_catalog(IN p_run bigint, IN p_last boolean)
SQL SECURITY DEFINER
COMMENT 'An error where the catalog is not what purge p_run began with; p_last: as look_again().'
BEGIN
    DECLARE v_changed boolean;
    CALL look_again(p_run, p_last, v_changed);
    IF v_changed THEN
        CALL not_ready('catalog changed: something now acts, or a table was swapped', 'windrow check --database says what');
    END IF;
END;

-- fail_purge: what an error of a purge means; it is recorded.
--# create procedure fail_purge
CREATE PROCEDURE fail_purge(
    IN  p_run      bigint,
    IN  p_rule     varchar(64),
    IN  p_key      varchar(700),
    IN  p_errno    integer,
    IN  p_sqlstate varchar(5),
    IN  p_message  varchar(900),
    OUT o_reason   varchar(32)
)
SQL SECURITY DEFINER
COMMENT 'Records and commits why p_key, NULL: those of one batch, could not be deleted, and answers it. It has been rolled back.
    REFUSED: a foreign key refuses for the first time. An error where it concerns none of them.'
BEGIN
    DECLARE v_busy  boolean;
    DECLARE v_state varchar(1000);
    DECLARE v_text  varchar(128) DEFAULT LEFT(p_message, 128);
    CALL wait_for_ledger();
    CALL fault_of(p_errno, p_sqlstate, p_message, 1, v_busy, v_state);
    IF v_state = 'cancelled' THEN
        SET o_reason = 'CANCELLED';
    ELSEIF v_state IS NOT NULL OR p_sqlstate = '55000' AND v_text = @windrow_not_ready THEN
        -- It would be the same for each key: it ends the purge, as it ends a run.
        SIGNAL SQLSTATE '55000' SET MYSQL_ERRNO = p_errno, MESSAGE_TEXT = v_text;
    ELSEIF p_errno IN (1217, 1451) AND NOT @windrow_refused THEN
        -- It may have got a row since what keeps rows was read.
        SET @windrow_refused = true, o_reason = 'REFUSED';
    ELSE
        SET o_reason = IF(v_busy, 'LOCKED', 'FAILED');
        CALL begin_ledger();
        IF o_reason = 'FAILED' THEN
            INSERT IGNORE INTO run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
            SELECT p_run, p_rule, COALESCE(p_key, MIN(k.named)), p_errno, p_sqlstate, p_message
            FROM work_key AS k
            WHERE k.reason = 'AGAIN';
        END IF;
        DELETE FROM work_skip;
        INSERT INTO work_skip (skip_key, reason)
        SELECT k.named, o_reason FROM work_key AS k WHERE k.named = p_key OR p_key IS NULL AND k.reason = 'AGAIN';
        CALL record_skips(p_run, p_rule);
        COMMIT;
    END IF;
END;

-- cutoff_of: before this instant a row is old enough: the retention, never below the minimum, and the safety lag before an
-- instant. A stored removal time already includes the retention. If a fallback has a retention of 0, there is none, and no
-- option of a run turns it on.
--# create procedure cutoff_of
CREATE PROCEDURE cutoff_of(IN p_rule varchar(64), IN p_as_of datetime(6), IN p_retention bigint, OUT o_cutoff datetime(6))
SQL SECURITY DEFINER
COMMENT 'Rows with a time before this are old enough at p_as_of, by p_retention in seconds or the spec; NULL where fallback_retention is 0.'
BEGIN
    DECLARE v_strategy  varchar(20);
    DECLARE v_retention bigint;
    DECLARE v_minimum   bigint;
    DECLARE v_lag       bigint;
    SELECT r.strategy, COALESCE(r.retention, 0), r.minimum, COALESCE(JSON_VALUE(r.document, '$.safety_lag'), 0)
    INTO v_strategy, v_retention, v_minimum, v_lag
    FROM rule AS r
    WHERE r.rule = p_rule;
    IF v_strategy = 'expiry' THEN
        CALL setting_of(p_rule, 'fallback_retention', v_retention);
        SET v_retention = NULLIF(v_retention, 0);
    END IF;
    SET v_retention = CASE
        WHEN v_strategy = 'removal-time' THEN 0
        WHEN v_retention IS NOT NULL THEN GREATEST(COALESCE(p_retention, v_retention), v_minimum)
    END;
    SET o_cutoff = p_as_of - INTERVAL (v_retention + v_lag) SECOND;
END;

-- preview_figures: what a preview skipped, by reason, and how fast the last runs were.
--# create procedure preview_figures
CREATE PROCEDURE preview_figures(
    IN  p_rule     varchar(64),
    OUT o_skips    bigint,
    OUT o_skipped  longtext,
    OUT o_keys     longtext,
    OUT o_failures bigint,
    OUT o_speed    decimal(30, 6)
)
SQL SECURITY DEFINER
COMMENT 'What work_skipped has, by reason, with the first ten keys; files that failed; rows per second of the last five manual runs that
    did some work, or else of the last five scheduled ones, which rest.'
BEGIN
    DECLARE v_trigger varchar(20) DEFAULT 'MANUAL';
    SELECT
        COALESCE(SUM(s.families), 0),
        CONCAT('{', COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(s.reason), ': ', s.families) ORDER BY s.reason SEPARATOR ', '), ''), '}'),
        CONCAT('{', COALESCE(GROUP_CONCAT(
            CONCAT(JSON_QUOTE(s.reason), ': [', s.sample_keys, ']') ORDER BY s.reason SEPARATOR ', '
        ), ''), '}')
    INTO o_skips, o_skipped, o_keys
    FROM (
        SELECT
            k.reason,
            COUNT(*) AS families,
            GROUP_CONCAT(IF(k.place <= 10, JSON_QUOTE(k.skip_key), NULL) ORDER BY k.place SEPARATOR ', ') AS sample_keys
        FROM (
            SELECT w.reason, w.skip_key, ROW_NUMBER() OVER (PARTITION BY w.reason ORDER BY w.position) AS place
            FROM work_skipped AS w
        ) AS k
        GROUP BY k.reason
    ) AS s;
    -- A purge of single families takes its time for other things, and a dry run rolls back.
    REPEAT
        SELECT SUM(l.deleted_rows) / NULLIF(SUM(TIMESTAMPDIFF(MICROSECOND, l.started_at, l.updated_at)) / 1000000, 0)
        INTO o_speed
        FROM (
            SELECT r.deleted_rows, r.updated_at, r.started_at
            FROM run_rule AS r
            JOIN run AS g ON g.run_id = r.run_id AND NOT g.dry_run AND g.`trigger` = v_trigger
            WHERE r.rule = p_rule
              AND r.deleted_rows > 0
            ORDER BY r.run_id DESC
            LIMIT 5
        ) AS l;
        SET v_trigger = IF(v_trigger = 'MANUAL', 'SCHEDULED', NULL);
    UNTIL o_speed IS NOT NULL OR v_trigger IS NULL END REPEAT;
    -- Only what was claimed can have failed, and that has an index.
    SELECT COUNT(*) INTO o_failures FROM artifact AS a WHERE a.claim IS NOT NULL AND a.last_error IS NOT NULL;
END;

-- kind_of: which text of the kernel serves a rule: that of its strategy, or none, where the rule has routines of its own.
--# create procedure kind_of
CREATE PROCEDURE kind_of(IN p_rule varchar(64), OUT o_kind varchar(20))
SQL SECURITY DEFINER
COMMENT 'Which text of the kernel serves p_rule: end-time, timed, partition, single, or none.'
BEGIN
    SELECT CASE
        WHEN r.strategy = 'end-time' THEN 'end-time'
        WHEN r.strategy IN ('expiry', 'orphan', 'keep-last') THEN 'single'
        WHEN r.strategy IN ('removal-time', 'age') THEN 'timed'
        WHEN r.strategy = 'partition' THEN 'partition'
        ELSE 'none'
    END
    INTO o_kind
    FROM rule AS r
    WHERE r.rule = p_rule;
END;

-- holds_said: by what a list of holds, which may be long, is known again.
--# create procedure holds_said
CREATE PROCEDURE holds_said(IN p_rule varchar(64), OUT o_said varchar(200))
SQL SECURITY DEFINER
COMMENT 'How many holds of p_rule there are now, and two sums over their keys.'
BEGIN
    SELECT CONCAT_WS('/', COUNT(*), SUM(CRC32(h.`key`)), BIT_XOR(CRC32(h.`key`)))
    INTO o_said
    FROM hold AS h
    WHERE h.rule = p_rule
      AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6));
END;

-- begin_rule: what a run does before the first batch of a rule. Most runs find nothing that is due: a look that locks nothing, and
-- makes no work tables but those of scopes, is enough for that. Wherever more is to be done or said, or waited for, batches do it.
--# create procedure begin_rule
CREATE PROCEDURE begin_rule(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'What a batch would answer, where that is found out without one: nothing left, or why the run should end. NULL: batches do it.'
BEGIN
    DECLARE v_looks    boolean;
    DECLARE v_idle     boolean;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    SET o_state = NULL;
    look: BEGIN
        -- A batch meets the same, and says so.
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            --+ failed.sql
            ROLLBACK;
            CALL fault_of(v_errno, v_sqlstate, v_message, 1, v_idle, o_state);
            SET o_state = IF(o_state = 'cancelled', o_state, NULL);
        END;
        CALL begin_ledger();
        CALL looks_first(p_run, p_rule, v_looks);
        IF v_looks THEN
            CALL may_go_on(p_run, p_rule, o_state);
        END IF;
        IF v_looks AND o_state IS NULL THEN
            CALL wait_for_locks(p_rule);
            CALL find_idle(p_run, p_rule, v_idle);
            SET o_state = IF(v_idle, 'nothing left', NULL);
        END IF;
        COMMIT;
    END look;
    CALL wait_for_ledger();
END;

-- enter_rule: before the first batch, and where a rule was put off, before the next one. What killed runs left since the first batch,
-- may lie before the place where the run is: a later one mends it.
--# create procedure enter_rule
CREATE PROCEDURE enter_rule(IN p_run bigint, IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Makes the work tables that outlive a batch of p_rule, where run p_run begins with it or comes back to it. Commits.'
BEGIN
    DECLARE v_kind varchar(20);
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    START TRANSACTION;
    CALL open_rule(p_rule);
    CALL kind_of(p_rule, v_kind);
    IF v_kind <> 'partition' THEN
        DELETE d
        FROM work_mend AS d
        JOIN unfinished AS u ON u.run_id = d.run_id AND u.rule = p_rule
        JOIN run_rule AS p ON p.run_id = p_run AND p.rule = u.rule AND p.batches > 0
        WHERE u.since >= p.started_at;
    END IF;
    COMMIT;
END;
--# create procedure looks_first
CREATE PROCEDURE looks_first(IN p_run bigint, IN p_rule varchar(64), OUT o_looks boolean)
SQL SECURITY DEFINER
COMMENT 'Whether p_run may find out without a batch that nothing is due of p_rule. What a scope, a retention or an instant of its own
    means is left to batches, and what other runs left, what a dry run would delete, and what is shared out.'
BEGIN
    DECLARE v_reason longtext;
    DECLARE v_out    boolean;
    SELECT
        s.workers = 1
            AND NOT r.dry_run AND NOT JSON_CONTAINS_PATH(r.options, 'one', '$.scope', '$.retention', '$.as_of')
            AND r.waiting_for IS NULL AND p.start_time IS NULL AND NOT EXISTS (SELECT 1 FROM unfinished AS u WHERE u.rule = p_rule)
    INTO o_looks
    FROM run AS r
    JOIN run_rule AS p ON p.run_id = r.run_id AND p.rule = p_rule
    CROSS JOIN spec AS s
    WHERE r.run_id = p_run;
    IF o_looks THEN
        CALL throttled(p_rule, v_reason);
        -- What is out of its table is for a batch, whatever ends the run.
        CALL rows_out(p_rule, v_out);
        SET o_looks = v_reason IS NULL AND NOT v_out;
    END IF;
END;
--# create procedure find_idle
CREATE PROCEDURE find_idle(IN p_run bigint, IN p_rule varchar(64), OUT o_idle boolean)
SQL SECURITY DEFINER
COMMENT 'Whether a run would find nothing to do of p_rule. Then writes to the ledger of p_run what batches would have written.'
BEGIN
    DECLARE v_now     datetime(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_as_of   datetime(6);
    DECLARE v_kind    varchar(20);
    DECLARE v_batches bigint DEFAULT 0;
    SELECT r.as_of INTO v_as_of FROM run AS r WHERE r.run_id = p_run;
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL end_time_idle(p_rule, v_as_of, o_idle);
    ELSEIF v_kind = 'timed' THEN
        CALL timed_idle(p_rule, v_as_of, o_idle);
    ELSEIF v_kind = 'partition' THEN
        CALL partition_idle(p_rule, v_as_of, o_idle);
    ELSEIF v_kind = 'single' THEN
        CALL single_idle(p_run, p_rule, o_idle, v_batches);
    END IF;
    IF o_idle THEN
        UPDATE run_rule AS p
        SET p.batches = v_batches,
            p.around = true,
            p.started_at = v_now,
            p.updated_at = v_now
        WHERE p.run_id = p_run
          AND p.rule = p_rule;
    END IF;
END;

-- open_rule, step, finish, close_rule, preview_rule, purge_one, due_of, outlook_of, checks_of: what a run, a purge, the metrics, the
-- plan and verify() do with a rule, by its strategy.
--# create procedure open_rule
CREATE PROCEDURE open_rule(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Makes the work tables that outlive a batch.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL end_time_open(p_rule);
    ELSEIF v_kind = 'timed' THEN
        CALL timed_open(p_rule);
    ELSEIF v_kind = 'partition' THEN
        CALL partition_open(p_rule);
    ELSEIF v_kind = 'single' THEN
        CALL single_open(p_rule);
    ELSE
        CALL perform(p_rule, 'open', '');
    END IF;
END;
--# create procedure step
CREATE PROCEDURE step(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'One batch of run p_run and its progress in the ledger, committed. Answers more, again, or why the run should end.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL end_time_step(p_run, p_rule, o_state);
    ELSEIF v_kind = 'timed' THEN
        CALL timed_step(p_run, p_rule, o_state);
        IF o_state IS NULL THEN
            CALL timed_step(p_run, p_rule, o_state);
            SET o_state = COALESCE(o_state, 'again');
        END IF;
    ELSEIF v_kind = 'partition' THEN
        CALL partition_step(p_run, p_rule, o_state);
    ELSEIF v_kind = 'single' THEN
        CALL single_step(p_run, p_rule, o_state);
    ELSE
        SET @windrow_run = p_run;
        CALL perform(p_rule, 'step', '@windrow_run, @windrow_state');
        SET o_state = @windrow_state;
    END IF;
    CALL wait_for_ledger();
    IF (o_state LIKE 'error 1146 %' OR o_state LIKE 'error 1054 %') AND NOT COALESCE(@windrow_anew, false) THEN
        -- The routines of an installation that came while the run rested may need other work tables than those before.
        BEGIN
            -- Or a table of the application is gone: that ends this rule, and no other.
            DECLARE EXIT HANDLER FOR 1146, 1054
            BEGIN
                ROLLBACK;
            END;
            CALL enter_rule(p_run, p_rule);
            SET o_state = 'again', @windrow_anew = true;
        END;
    ELSE
        SET @windrow_anew = false;
    END IF;
    IF o_state = 'nothing left' THEN
        -- What lies before the place where it began comes last. Then the next run begins at the oldest.
        CALL begin_ledger();
        SELECT IF(p.around OR p.start_time IS NULL, o_state, 'again')
        INTO o_state
        FROM run_rule AS p
        WHERE p.run_id = p_run
          AND p.rule = p_rule;
        UPDATE run_rule AS p
        SET p.cursor_time = NULL,
            p.cursor_key = NULL,
            p.place = NULL,
            p.batch_families = COALESCE(p.family_size, p.batch_families),
            p.family_size = NULL,
            p.around = true
        WHERE p.run_id = p_run
          AND p.rule = p_rule;
        IF o_state = 'again' AND v_kind = 'single' THEN
            -- All single rows are examined once more: what is kept is counted again.
            DELETE FROM work_cursor;
            DELETE FROM run_skip WHERE run_id = p_run AND rule = p_rule;
        END IF;
        COMMIT;
    END IF;
END;
--# create procedure finish
CREATE PROCEDURE finish(IN p_run bigint, IN p_rule varchar(64), IN p_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'What is to be said of a rule when a run is through with it.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL end_time_finish(p_run, p_rule, p_state);
    ELSEIF v_kind = 'timed' THEN
        CALL timed_finish(p_run, p_rule, p_state);
    ELSEIF v_kind = 'partition' THEN
        CALL partition_finish(p_run, p_rule, p_state);
    ELSEIF v_kind = 'single' THEN
        CALL single_finish(p_run, p_rule, p_state);
    ELSE
        SET @windrow_run = p_run, @windrow_state = p_state;
        CALL perform(p_rule, 'finish', '@windrow_run, @windrow_state');
    END IF;
END;
--# create procedure close_rule
CREATE PROCEDURE close_rule(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Drops the work tables.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL end_time_close(p_rule);
    ELSEIF v_kind = 'timed' THEN
        CALL timed_close(p_rule);
    ELSEIF v_kind = 'partition' THEN
        CALL partition_close();
    ELSEIF v_kind = 'single' THEN
        CALL single_close(p_rule);
    ELSE
        CALL perform(p_rule, 'close', '');
    END IF;
END;
--# create procedure preview_rule
CREATE PROCEDURE preview_rule(IN p_rule varchar(64), IN p_options longtext, IN p_as_of datetime(6), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What a run of this rule would delete and skip now, as one JSON document. Reads only.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL end_time_preview(p_rule, p_options, p_as_of, o_document);
    ELSEIF v_kind = 'timed' THEN
        CALL timed_preview(p_rule, p_options, p_as_of, o_document);
    ELSEIF v_kind = 'partition' THEN
        CALL partition_preview(p_rule, p_options, p_as_of, o_document);
    ELSEIF v_kind = 'single' THEN
        CALL single_preview(p_rule, p_options, p_as_of, o_document);
    ELSE
        SET @windrow_options = p_options, @windrow_as_of = p_as_of;
        CALL perform(p_rule, 'preview', '@windrow_options, @windrow_as_of, @windrow_document');
        SET o_document = @windrow_document;
    END IF;
END;
--# create procedure purge_one
CREATE PROCEDURE purge_one(IN p_run bigint, IN p_rule varchar(64), IN p_key varchar(700), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Deletes one named family or row, and commits. Answers NULL or the reason why it is kept; AGAIN: others keep it, which
    may be named, too. Without p_key: all that are to be tried again, together; work_key has the reasons then.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    SET @windrow_refused = false;
    REPEAT
        IF v_kind = 'end-time' THEN
            CALL end_time_purge(p_run, p_rule, p_key, o_reason);
        ELSEIF v_kind = 'timed' THEN
            CALL timed_purge(p_run, p_rule, p_key, o_reason);
        ELSEIF v_kind = 'single' THEN
            CALL single_purge(p_run, p_rule, p_key, o_reason);
        ELSE
            SET @windrow_run = p_run, @windrow_key = p_key;
            CALL perform(p_rule, 'purge', '@windrow_run, @windrow_key, @windrow_reason');
            SET o_reason = @windrow_reason;
        END IF;
    UNTIL COALESCE(o_reason <> 'REFUSED', true) END REPEAT;
END;
--# create procedure due_of
CREATE PROCEDURE due_of(IN p_rule varchar(64), IN p_limit bigint, OUT o_families bigint, OUT o_complete boolean)
SQL SECURITY DEFINER
COMMENT 'How much is due now, counted up to p_limit, and whether that is all. Reads only.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL due_end_time(p_rule, p_limit, o_families, o_complete);
    ELSEIF v_kind = 'timed' THEN
        CALL due_timed(p_rule, p_limit, o_families, o_complete);
    ELSEIF v_kind = 'partition' THEN
        CALL partition_outlook(p_rule, UTC_TIMESTAMP(6), NULL, p_limit, NULL, o_families, o_complete, @windrow_list, @windrow_soon);
    ELSE
        SET @windrow_limit = p_limit;
        CALL perform(p_rule, 'due', '@windrow_limit, @windrow_families, @windrow_looked, @windrow_undated');
        SET o_families = @windrow_families, o_complete = @windrow_looked < p_limit;
    END IF;
END;
--# create procedure outlook_of
CREATE PROCEDURE outlook_of(
    IN  p_rule     varchar(64),
    IN  p_now      datetime(6),
    IN  p_then     datetime(6),
    IN  p_limit    bigint,
    IN  p_parts    bigint,
    OUT o_families bigint,
    OUT o_complete boolean,
    OUT o_list     longtext,
    OUT o_soon     bigint
)
SQL SECURITY DEFINER
COMMENT 'What is due at p_now, counted up to p_limit, where each of p_parts equal parts of it begins, and how much more is due at p_then.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL end_time_outlook(p_rule, p_now, p_then, p_limit, p_parts, o_families, o_complete, o_list, o_soon);
    ELSEIF v_kind = 'timed' THEN
        CALL timed_outlook(p_rule, p_now, p_then, p_limit, p_parts, o_families, o_complete, o_list, o_soon);
    ELSEIF v_kind = 'partition' THEN
        CALL partition_outlook(p_rule, p_now, p_then, p_limit, p_parts, o_families, o_complete, o_list, o_soon);
    ELSEIF v_kind = 'single' THEN
        -- Single rows do not lie along a time.
        CALL due_of(p_rule, p_limit, o_families, o_complete);
        SET o_list = '', o_soon = NULL;
    ELSE
        SET @windrow_now = p_now, @windrow_then = p_then, @windrow_limit = p_limit, @windrow_parts = p_parts;
        CALL perform(
            p_rule, 'outlook',
            '@windrow_now, @windrow_then, @windrow_limit, @windrow_parts, @windrow_families, @windrow_complete, @windrow_list, '
            '@windrow_soon'
        );
        SET o_families = @windrow_families, o_complete = @windrow_complete, o_list = @windrow_list, o_soon = @windrow_soon;
    END IF;
END;
--# create procedure checks_of
CREATE PROCEDURE checks_of(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Writes to work_check what is odd in the rows of a rule.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'timed' THEN
        CALL timed_checks(p_rule);
    ELSEIF v_kind = 'partition' THEN
        CALL partition_checks(p_rule);
    ELSEIF v_kind = 'single' THEN
        CALL single_checks(p_rule);
    ELSE
        CALL perform(p_rule, 'checks', '');
    END IF;
END;
