-- record_skips: adds the families that a batch skipped to the ledger: the rows of the temporary table work_skip
-- (position, skip_key, reason).
--# create procedure record_skips
CREATE PROCEDURE record_skips(IN p_run bigint, IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Adds the rows of the temporary table work_skip (position, skip_key, reason) to table run_skip, by reason.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    SET SESSION group_concat_max_len = 16777216;
    INSERT INTO run_skip (run_id, rule, reason, families, sample_keys)
    SELECT
        p_run,
        p_rule,
        k.reason,
        COUNT(*),
        CONCAT('[', COALESCE(GROUP_CONCAT(CASE WHEN k.place + COALESCE(JSON_LENGTH(r.sample_keys), 0) <= 10
            THEN JSON_QUOTE(k.skip_key) END ORDER BY k.place SEPARATOR ', '), ''), ']')
    FROM (
        SELECT
            s.reason,
            CAST(s.skip_key AS CHAR) AS skip_key,
            ROW_NUMBER() OVER (PARTITION BY s.reason ORDER BY s.position) AS place
        FROM work_skip AS s
    ) AS k
    LEFT JOIN run_skip AS r ON r.run_id = p_run AND r.rule = p_rule AND r.reason = k.reason
    GROUP BY k.reason
    ON DUPLICATE KEY UPDATE
        families = run_skip.families + VALUES(families),
        sample_keys = JSON_MERGE_PRESERVE(run_skip.sample_keys, VALUES(sample_keys));
    SET SESSION group_concat_max_len = v_length;
END;

-- record_pass: adds the rows that a batch deleted to the ledger, by their reasons. The temporary table work_gone (position,
-- row_key) has the first of them.
--# create procedure record_pass
CREATE PROCEDURE record_pass(IN p_run bigint, IN p_rule varchar(64), IN p_pass varchar(30), IN p_rows bigint)
SQL SECURITY DEFINER
COMMENT 'Adds p_rows to table run_pass, by the pass that found them, and the first of the temporary table work_gone (position, row_key).'
BEGIN
    INSERT INTO run_pass (run_id, rule, pass, deleted_rows, sample_keys)
    SELECT
        p_run,
        p_rule,
        p_pass,
        p_rows,
        CONCAT('[', COALESCE(GROUP_CONCAT(CASE WHEN k.place + COALESCE(JSON_LENGTH(r.sample_keys), 0) <= 10 THEN JSON_QUOTE(k.row_key) END
            ORDER BY k.place SEPARATOR ', '), ''), ']')
    FROM (
        SELECT g.row_key, ROW_NUMBER() OVER (ORDER BY g.position) AS place
        FROM (SELECT w.position, w.row_key FROM work_gone AS w ORDER BY w.position LIMIT 10) AS g
    ) AS k
    LEFT JOIN run_pass AS r ON r.run_id = p_run AND r.rule = p_rule AND r.pass = p_pass
    ON DUPLICATE KEY UPDATE
        deleted_rows = run_pass.deleted_rows + VALUES(deleted_rows),
        sample_keys = JSON_MERGE_PRESERVE(run_pass.sample_keys, VALUES(sample_keys));
END;

-- record_rows: adds the rows that a batch deleted to the ledger.
--# create procedure record_rows
CREATE PROCEDURE record_rows(IN p_run bigint, IN p_rule varchar(64), IN p_rows longtext)
SQL SECURITY DEFINER
COMMENT 'Adds p_rows, a JSON list in the order of deletion, to tables run_table and run_rule.'
BEGIN
    UPDATE run_table AS t
    SET t.deleted_rows = t.deleted_rows + CAST(JSON_UNQUOTE(JSON_EXTRACT(p_rows, CONCAT('$[', t.position - 1, ']'))) AS signed)
    WHERE t.run_id = p_run
      AND t.rule = p_rule;
    UPDATE run_rule AS p
    SET p.deleted_rows = (
        SELECT SUM(t.deleted_rows)
        FROM run_table AS t
        WHERE t.run_id = p_run
          AND t.rule = p_rule
    )
    WHERE p.run_id = p_run
      AND p.rule = p_rule;
END;

-- sweeping: the runs that examine everything that is due: not those for one scope or another time.
--# create view sweeping
CREATE OR REPLACE SQL SECURITY INVOKER VIEW sweeping (run_id, status, dry_run, finished_at) AS
SELECT r.run_id, r.status, r.dry_run, r.finished_at
FROM run AS r
WHERE r.`trigger` NOT IN ('PURGE', 'STAMP')
  AND NOT JSON_CONTAINS_PATH(r.options, 'one', '$.scope', '$.retention', '$.as_of');

-- left_off: where such a run continues, if it is not a dry run: at the cursor of a rule, if the previous run had more to examine
-- there; with several workers, where the one that was last at the rule had. Kept rows before it are skipped at first; the run
-- comes to them at its end, as far
-- as its time lasts. A spec that says something else of the rule begins at the oldest, since the cursor may be of another column.
--# create procedure left_off
CREATE PROCEDURE left_off(IN p_run bigint, IN p_rule varchar(64), OUT o_time varchar(40), OUT o_key varchar(700), OUT o_place longtext)
SQL SECURITY DEFINER
COMMENT 'Where run p_run takes p_rule up: the cursor of the latest run before it that had more to look at; NULL: at the oldest.'
BEGIN
    DECLARE v_workers bigint DEFAULT (SELECT s.workers FROM spec AS s);
    DECLARE v_last    bigint;
    SELECT MAX(l.run_id)
    INTO v_last
    FROM (
        SELECT e.run_id
        FROM (
            SELECT b.run_id, o.updated_at
            FROM sweeping AS r
            JOIN sweeping AS b ON b.run_id BETWEEN r.run_id - 1000 AND r.run_id - 1
            JOIN run_rule AS o ON o.run_id = b.run_id AND o.rule = p_rule
            WHERE r.run_id = p_run
              AND NOT r.dry_run
              AND NOT b.dry_run
            ORDER BY b.run_id DESC
            LIMIT v_workers
        ) AS e
        ORDER BY e.updated_at DESC, e.run_id DESC
        LIMIT 1
    ) AS l;
    SELECT MAX(p.cursor_time), MAX(p.cursor_key), MAX(p.place)
    INTO o_time, o_key, o_place
    FROM run_rule AS p
    JOIN rule AS n ON n.rule = p.rule
    WHERE p.run_id = v_last
      AND p.rule = p_rule
      AND p.rule_hash = SHA2(n.document, 256)
      AND p.cursor_time IS NOT NULL;
END;

-- had_its_turn: where the run of all rules before left one before it had seen everything, however it ended, that rule comes last, so
-- that it cannot take the time of the others forever; so does the last rule that it took, if it did not come to all. A rule was taken
-- if its row was written since the run began: what comes before the first batch does so, too. The runs of a sweep count as one.
--# create procedure had_its_turn
CREATE PROCEDURE had_its_turn(IN p_run bigint, OUT o_position int)
SQL SECURITY DEFINER
COMMENT 'The position of the rule at which the run before p_run had no more time; run p_run begins after it. 0: at the first rule.'
BEGIN
    DECLARE v_drops bigint;
    DECLARE v_last  bigint;
    DECLARE v_sweep bigint;
    -- Neither one of a single rule, nor one that took none.
    SELECT MAX(l.run_id)
    INTO v_last
    FROM sweeping AS r
    JOIN sweeping AS l ON l.run_id BETWEEN p_run - 1000 AND p_run - 1 AND NOT l.dry_run
    JOIN run AS a ON a.run_id = l.run_id AND NOT JSON_CONTAINS_PATH(a.options, 'one', '$.rule')
    WHERE r.run_id = p_run
      AND NOT r.dry_run
      AND EXISTS (SELECT 1 FROM run_rule AS t WHERE t.run_id = a.run_id AND t.updated_at > a.started_at);
    SELECT MAX(w.sweep_id) INTO v_sweep FROM run_sweep AS w WHERE w.run_id = v_last;
    SELECT COALESCE((
        SELECT n.position
        FROM (
            SELECT
                p.rule, MAX(p.updated_at) AS last, MAX(p.around AND p.cursor_time IS NULL) AS is_through, COUNT(*) OVER () AS taken
            FROM (
                SELECT v_last AS run_id
                UNION
                SELECT o.run_id FROM run_sweep AS o WHERE o.sweep_id = v_sweep
            ) AS d
            JOIN run AS b ON b.run_id = d.run_id
            JOIN run_rule AS p ON p.run_id = b.run_id AND p.updated_at > b.started_at
            GROUP BY p.rule
        ) AS t
        JOIN rule AS n ON n.rule = t.rule
        WHERE NOT t.is_through
           OR t.taken < (SELECT COUNT(*) FROM rule)
        ORDER BY t.last DESC
        LIMIT 1
    ), 0)
    INTO o_position;
    SELECT COUNT(*) INTO v_drops FROM rule AS r WHERE r.strategy = 'partition';
    IF v_drops > 0 THEN
        CALL away_first(o_position);
    END IF;
END;

-- rules_of: the rules of a run in the order in which it takes them. The workers of a sweep keep to one order.
--# create procedure rules_of
CREATE PROCEDURE rules_of(IN p_run bigint, OUT o_rules longtext)
SQL SECURITY DEFINER
COMMENT 'The rules of run p_run in the order in which it takes them, as a JSON list: what had its turn when time was up comes last.'
BEGIN
    DECLARE v_workers int;
    DECLARE v_turn    int DEFAULT 0;
    DECLARE v_only    varchar(64);
    DECLARE v_place   int;
    DECLARE v_rule    varchar(64);
    SELECT s.workers INTO v_workers FROM spec AS s;
    SELECT JSON_VALUE(r.options, '$.rule') INTO v_only FROM run AS r WHERE r.run_id = p_run;
    IF v_workers > 1 THEN
        CALL sweep_turn(v_turn);
    ELSE
        CALL had_its_turn(p_run, v_turn);
    END IF;
    SET o_rules = '[]';
    SELECT r.position INTO v_place FROM rule AS r WHERE r.rule = COALESCE(v_only, r.rule) ORDER BY r.position <= v_turn, r.position LIMIT 1;
    WHILE v_place IS NOT NULL DO
        SELECT r.rule INTO v_rule FROM rule AS r WHERE r.position = v_place;
        SET o_rules = JSON_ARRAY_APPEND(o_rules, '$', v_rule);
        SET v_place = (
            SELECT r.position
            FROM rule AS r
            WHERE r.rule = COALESCE(v_only, r.rule)
              AND (
                  (r.position <= v_turn) > (v_place <= v_turn)
                  OR (r.position <= v_turn) = (v_place <= v_turn) AND r.position > v_place
              )
            ORDER BY r.position <= v_turn, r.position
            LIMIT 1
        );
    END WHILE;
END;

-- run_open: the progress rows of a run.
--# create procedure run_open
CREATE PROCEDURE run_open(IN p_run bigint, IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Opens the progress rows of run p_run, for one rule or all, and notes what the catalog says.'
BEGIN
    DECLARE v_place int;
    DECLARE v_rule  varchar(64);
    DECLARE v_time  varchar(40);
    DECLARE v_key   varchar(700);
    DECLARE v_seen  longtext;
    CALL note_catalog(p_run);
    CALL note_clean();
    INSERT INTO run_rule (run_id, rule, batch_families, weigh, rule_hash, started_at, updated_at)
    SELECT
        p_run, r.rule, COALESCE(s.value, l.value),
        -- What the last batches had: a run without any leaves it as it was. Nothing is known before the first.
        COALESCE((SELECT ABS(b.weigh) FROM run_rule AS b WHERE b.rule = r.rule AND b.run_id < p_run ORDER BY b.run_id DESC LIMIT 1), 1),
        SHA2(r.document, 256), u.started_at, u.started_at
    FROM run AS u
    CROSS JOIN rule AS r
    JOIN rule_limit AS l ON l.rule = r.rule AND l.name = r.batch_setting
    LEFT JOIN setting AS s ON s.rule = l.rule AND s.name = l.name
    WHERE u.run_id = p_run
      AND r.rule = COALESCE(p_rule, r.rule);
    INSERT INTO run_table (run_id, rule, position, table_name, archived)
    SELECT p_run, t.rule, t.position, t.table_name, JSON_CONTAINS(r.document, JSON_QUOTE(t.table_name), '$.archive') IS TRUE
    FROM rule_table AS t
    JOIN rule AS r ON r.rule = t.rule
    WHERE t.rule = COALESCE(p_rule, t.rule);
    SELECT MIN(r.position) INTO v_place FROM rule AS r WHERE r.rule = COALESCE(p_rule, r.rule);
    WHILE v_place IS NOT NULL DO
        SELECT r.rule INTO v_rule FROM rule AS r WHERE r.position = v_place;
        CALL left_off(p_run, v_rule, v_time, v_key, v_seen);
        IF v_time IS NOT NULL THEN
            UPDATE run_rule AS p
            SET p.cursor_time = v_time,
                p.cursor_key = v_key,
                p.place = v_seen,
                p.start_time = v_time,
                p.start_key = v_key
            WHERE p.run_id = p_run
              AND p.rule = v_rule;
        END IF;
        SELECT MIN(r.position) INTO v_place FROM rule AS r WHERE r.rule = COALESCE(p_rule, r.rule) AND r.position > v_place;
    END WHILE;
END;

-- end_look: what was looked at before is over. Where another server of a cluster ends a transaction, its server undoes that
-- while the session continues; a row of a work table that is gone already has ended MySQL 9.7 then, in its dictionary.
--# create procedure end_look
CREATE PROCEDURE end_look()
SQL SECURITY DEFINER
COMMENT 'Commits, and begins the transaction that opens the ledger: no work table is made or dropped in that.'
BEGIN
    COMMIT;
    CALL begin_ledger();
END;

-- run_begin: takes the lock and opens the ledger, or says why not.
-- The lock belongs to the session: it outlives COMMIT and ends with the session at the latest. Who gets it knows that no
-- other run lives. A statement that was killed may have left it to this very session.
--# create procedure run_begin
CREATE PROCEDURE run_begin(IN p_options longtext, OUT o_run bigint, OUT o_refused longtext)
SQL SECURITY DEFINER
COMMENT 'Checks the options, takes the lock of the runs and opens the ledger. o_refused: why there is no run.'
BEGIN
    DECLARE v_as_of    datetime(6);
    DECLARE v_dry_run  boolean;
    DECLARE v_text     longtext;
    DECLARE v_rule     longtext;
    DECLARE v_trigger  longtext;
    DECLARE v_budget   bigint;
    DECLARE v_pid      bigint;
    DECLARE v_stranger longtext;
    DECLARE v_noted    boolean DEFAULT false;
    DECLARE v_node     varchar(700);
    DECLARE v_first    varchar(64);
    DECLARE v_workers  int;
    DECLARE v_archives boolean;
    DECLARE v_lock     varchar(80);
    SELECT s.run_lock, s.workers, s.archives INTO v_lock, v_workers, v_archives FROM spec AS s;
    CALL identity_of(false, v_node);
    CALL check_options(p_options, CONCAT(
        '["rule", "dry_run", "scope", "retention", "as_of", "run_families", "time_budget", "trigger"',
            IF(v_workers > 1, ', "worker"', ''), ']'
    ));
    CALL check_run_options(p_options, v_as_of);
    CALL option_of(p_options, 'dry_run', v_text);
    SET v_dry_run = COALESCE(v_text = 'true', false);
    IF @@GLOBAL.log_bin AND @@SESSION.binlog_format = 'STATEMENT' THEN
        CALL not_ready('binlog_format is STATEMENT: a replica would delete other rows', 'set it to ROW or MIXED');
    END IF;
    CALL held_back(p_options, v_dry_run, o_refused);
    CALL option_of(p_options, 'trigger', v_trigger);
    -- What a scheduled run is refused for, held_back() has looked at.
    IF o_refused IS NULL AND NOT v_trigger <=> 'SCHEDULED' THEN
        IF NOT v_dry_run THEN
            CALL check_armed();
        END IF;
        CALL check_catalog();
    END IF;
    IF o_refused IS NULL AND v_archives THEN
        CALL option_of(p_options, 'rule', v_rule);
        CALL check_archive(v_rule);
    END IF;

    CALL end_look();
    -- One run at a time, or one of each worker, which do the same then. A purge of named families or a stamp may run beside
    -- it. What says running but is dead, has crashed.
    IF o_refused IS NULL THEN
        IF v_workers > 1 THEN
            -- Workers that start in the same second wait for each other.
            SET v_lock = CONCAT(v_lock, IF(JSON_VALUE(p_options, '$.worker') > 1, CONCAT('.w', JSON_VALUE(p_options, '$.worker') + 0), ''));
            SET SESSION innodb_lock_wait_timeout = 600;
            SELECT MAX(s.rule) INTO v_text FROM sweep AS s FOR UPDATE;
            CALL reap();
        ELSEIF COALESCE(IS_USED_LOCK(v_lock), CONNECTION_ID()) = CONNECTION_ID() THEN
            CALL reap();
        END IF;
        IF v_trigger = 'SCHEDULED' AND NOT v_dry_run THEN
            CALL kept_back(o_refused);
            SET v_noted = o_refused IS NULL;
            IF NOT v_noted THEN
                CALL note_refusal(o_refused);
            END IF;
        END IF;
    END IF;
    IF o_refused IS NULL THEN
        -- Of two servers of a cluster that begin a run at a time, which write the same row, one gives way: whoever looks has
        -- written before, so that no other can begin unseen.
        UPDATE control AS c SET c.begun = c.begun + 1 WHERE c.only_row = true;
        SELECT CONCAT(
            'run ', r.run_id, ' is in progress on another server (', r.node, ', since ', DATE_FORMAT(r.started_at, '%Y-%m-%dT%TZ'),
            ', last sign of life ', DATE_FORMAT(r.alive_at, '%Y-%m-%dT%TZ'), ')'
        )
        INTO o_refused
        FROM run AS r
        WHERE r.status = 'running'
          AND r.`trigger` NOT IN ('PURGE', 'STAMP')
          AND r.node <> v_node
        ORDER BY r.run_id
        LIMIT 1;
    END IF;
    IF o_refused IS NULL AND v_workers > 1 THEN
        SELECT CONCAT('run ', r.run_id, ' is in progress (pid ', r.backend_pid, ', since ', DATE_FORMAT(r.started_at, '%Y-%m-%dT%TZ'), ')')
        INTO o_refused
        FROM run AS r
        WHERE r.status = 'running'
          AND r.`trigger` NOT IN ('PURGE', 'STAMP')
          AND (
              r.dry_run
              OR v_dry_run
              OR CONCAT_WS(
                  ' ', CONCAT('rule ', CAST(JSON_EXTRACT(r.options, '$.rule') AS char)),
                      CONCAT('scope ', CAST(JSON_EXTRACT(r.options, '$.scope') AS char)),
                  CONCAT('retention ', CAST(JSON_EXTRACT(r.options, '$.retention') AS char)),
                      CONCAT('as_of ', CAST(JSON_EXTRACT(r.options, '$.as_of') AS char))
              ) <> CONCAT_WS(
                  ' ', CONCAT('rule ', CAST(JSON_EXTRACT(p_options, '$.rule') AS char)),
                      CONCAT('scope ', CAST(JSON_EXTRACT(p_options, '$.scope') AS char)),
                  CONCAT('retention ', CAST(JSON_EXTRACT(p_options, '$.retention') AS char)),
                      CONCAT('as_of ', CAST(JSON_EXTRACT(p_options, '$.as_of') AS char))
              )
          )
        ORDER BY r.run_id
        LIMIT 1;
    END IF;
    IF o_refused IS NULL THEN
        CALL option_of(p_options, 'time_budget', v_text);
        CALL seconds(v_text, v_budget);
        IF v_budget IS NULL THEN
            CALL first_rule(v_first);
            CALL setting_of(v_first, 'time_budget', v_budget);
        END IF;
        IF v_workers > 1 THEN
            CALL sweep_refuses(v_budget, o_refused);
        END IF;
    END IF;
    IF o_refused IS NULL THEN
        IF COALESCE(GET_LOCK(v_lock, 0), 0) = 0 THEN
            SET v_pid = IS_USED_LOCK(v_lock);
            SELECT CONCAT('run ', r.run_id, ' is in progress (pid ', r.backend_pid, ', since ', DATE_FORMAT(r.started_at, '%Y-%m-%dT%TZ'),
                ')')
            INTO o_refused
            FROM run AS r
            WHERE r.status = 'running'
              AND r.`trigger` NOT IN ('PURGE', 'STAMP')
              AND r.backend_pid = v_pid
            ORDER BY r.run_id DESC
            LIMIT 1;
            IF o_refused IS NULL THEN
                SET v_stranger = CONCAT(
                    'another run is starting; if connection ', COALESCE(v_pid, '?'),
                        ' is none, it has taken the lock of the runs, which any session may'
                );
                SET o_refused = v_stranger;
            END IF;
        END IF;
    END IF;
    IF v_noted THEN
        CALL note_refusal(v_stranger);
    END IF;
    IF o_refused IS NULL THEN
        CALL option_of(p_options, 'rule', v_rule);
        INSERT INTO run (`trigger`, dry_run, options, as_of, deadline, backend_pid, node, started_by)
        VALUES (COALESCE(v_trigger, 'MANUAL'), v_dry_run, p_options, v_as_of, UTC_TIMESTAMP(6) + INTERVAL v_budget SECOND,
            CONNECTION_ID(), v_node, USER());
        SET o_run = LAST_INSERT_ID();
        CALL note_member(o_run);
        CALL run_open(o_run, v_rule);
        IF v_workers > 1 THEN
            CALL sweep_join(o_run, COALESCE(JSON_VALUE(p_options, '$.worker'), 1));
        END IF;
        CALL log_settings(NULL);
    END IF;
END;

-- close_run, run_end: close the ledger of a run or a stamp.
--# create procedure close_run
CREATE PROCEDURE close_run(IN p_run bigint, IN p_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Closes the row of run or stamp p_run, and nothing else: status, reason.'
BEGIN
    DECLARE v_drops  bigint;
    DECLARE v_closed bigint;
    UPDATE run AS r
    SET r.status = CASE
            WHEN p_reason LIKE 'error %' THEN 'failed'
            WHEN p_reason = 'cancelled' THEN 'cancelled'
            WHEN EXISTS (SELECT 1 FROM run_failure AS f WHERE f.run_id = p_run AND f.errno NOT IN (1205, 1213, 1020, 3101, 3572))
                THEN 'failed'
            -- What earlier runs have met is passed over, and told.
            WHEN EXISTS (SELECT 1 FROM run_skip AS k WHERE k.run_id = p_run AND k.reason = 'FAILED') THEN 'failed'
            WHEN p_reason = 'nothing left' THEN 'done'
            ELSE 'stopped'
        END,
        r.reason = IF(r.status = 'stopped', CONCAT_WS(' while waiting for ', p_reason, r.waiting_for), p_reason),
        r.finished_at = UTC_TIMESTAMP(6)
    WHERE r.run_id = p_run
      AND r.status = 'running'
      AND r.backend_pid = CONNECTION_ID();
    SET v_closed = ROW_COUNT();
    SELECT COUNT(*) INTO v_drops FROM rule AS r WHERE r.strategy = 'partition';
    IF v_closed > 0 AND v_drops > 0 THEN
        CALL tell_out(p_run);
    END IF;
END;
--# create procedure run_end
CREATE PROCEDURE run_end(IN p_run bigint, IN p_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Closes run or stamp p_run: status, reason; a run prunes the ledger by ledger_days.'
BEGIN
    DECLARE v_stamp   boolean;
    DECLARE v_workers int;
    DECLARE v_length  int;
    -- A subquery of DECLARE or SET would lock the row that it reads (MariaDB).
    SELECT COUNT(*) INTO v_stamp FROM run AS r WHERE r.run_id = p_run AND r.`trigger` = 'STAMP';
    SELECT s.workers INTO v_workers FROM spec AS s;
    IF v_workers > 1 AND NOT v_stamp THEN
        -- The end of a run writes to what is everybody's: one at a time.
        SET SESSION innodb_lock_wait_timeout = 600;
        SELECT MAX(LENGTH(s.rule)) INTO v_length FROM sweep AS s FOR UPDATE;
    END IF;
    CALL close_run(p_run, p_reason);
    IF v_stamp THEN
        DELETE FROM catalog_state WHERE run_id = p_run;
    ELSE
        CALL prune_ledger();
    END IF;
END;

-- prune_ledger: the ledger keeps itself small; what it counted is kept in the metrics.
--# create procedure prune_ledger
CREATE PROCEDURE prune_ledger()
SQL SECURITY DEFINER
COMMENT 'Forgets runs, and changes of settings, that are older than ledger_days.'
BEGIN
    DECLARE v_days  bigint;
    DECLARE v_ended longtext;
    DECLARE v_old   longtext;
    DECLARE v_first varchar(64);
    DECLARE v_state longtext;
    CALL tally_up();
    CALL first_rule(v_first);
    CALL setting_of(v_first, 'ledger_days', v_days);
    -- Before an installation is finished, it is not said for how long the ledger is kept: nothing is older than NULL.
    CALL unfinished(v_state);
    IF v_state IS NOT NULL THEN
        SET v_days = NULL;
    END IF;
    -- Runs whose rows are in the archive are not forgotten.
    IF (SELECT s.archives FROM spec AS s) THEN
        CALL keep_archive(v_days);
    END IF;
    -- What is to be forgotten is read first, without a lock: a join would wait for the row of a run that is at work, which may
    -- wait for this one.
    SELECT JSON_ARRAYAGG(s.run_id)
    INTO v_ended
    FROM catalog_state AS s
    LEFT JOIN run AS r ON r.run_id = s.run_id AND r.status = 'running'
    WHERE s.run_id > 0
      AND r.run_id IS NULL;
    DELETE s
    FROM JSON_TABLE(COALESCE(v_ended, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN catalog_state AS s ON s.run_id = e.run_id;
    SELECT JSON_ARRAYAGG(r.run_id)
    INTO v_old
    FROM run AS r
    WHERE r.finished_at < UTC_TIMESTAMP(6) - INTERVAL v_days DAY
      AND NOT EXISTS (SELECT 1 FROM kept_run AS k WHERE k.run_id = r.run_id);
    DELETE b
    FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN run_backlog AS b ON b.run_id = e.run_id;
    IF EXISTS (SELECT 1 FROM rule AS r WHERE r.strategy = 'partition') THEN
        DELETE p
        FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
        STRAIGHT_JOIN run_partition AS p ON p.run_id = e.run_id;
        DELETE a
        FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
        STRAIGHT_JOIN run_ahead AS a ON a.run_id = e.run_id;
    END IF;
    -- One table after the other, the run last: a join of several would be as long as their rows multiplied.
    DELETE p
    FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN run_rule AS p ON p.run_id = e.run_id;
    DELETE t
    FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN run_table AS t ON t.run_id = e.run_id;
    DELETE s
    FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN run_skip AS s ON s.run_id = e.run_id;
    DELETE f
    FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN run_failure AS f ON f.run_id = e.run_id;
    DELETE x
    FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN run_pass AS x ON x.run_id = e.run_id;
    DELETE y
    FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN run_stamp AS y ON y.run_id = e.run_id;
    DELETE o
    FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN run_sweep AS o ON o.run_id = e.run_id;
    DELETE c
    FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN run_claim AS c ON c.run_id = e.run_id;
    DELETE r
    FROM JSON_TABLE(COALESCE(v_old, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN run AS r ON r.run_id = e.run_id;
    -- Whose rows went otherwise.
    DELETE FROM rule_instant WHERE noted_at < UTC_TIMESTAMP(6) - INTERVAL v_days DAY;
    -- The last change of a setting is kept: it says who has set the present value, and what a write by hand is compared with.
    DELETE l
    FROM setting_log AS l
    JOIN setting_log AS n ON n.rule = l.rule AND n.name = l.name AND n.log_id > l.log_id
    WHERE l.changed_at < UTC_TIMESTAMP(6) - INTERVAL v_days DAY
      -- A change that shortens the ledger is never pruned.
      AND l.name <> 'ledger_days';
END;

-- run_document, run_document_of, run_result: one run of the ledger as a document. The spec may ask for more fields of a rule,
-- under names of its own.
--# create procedure run_document_of
CREATE PROCEDURE run_document_of(
    IN  p_run      bigint,
    IN  p_rule     varchar(64),
    IN  p_dry_run  varchar(5),
    IN  p_duration bigint,
    OUT o_document longtext
)
SQL SECURITY DEFINER
COMMENT 'What one run of the ledger did by one rule, as a JSON document.'
BEGIN
    DECLARE v_families bigint;
    DECLARE v_deleted  bigint;
    DECLARE v_batches  bigint;
    DECLARE v_retries  bigint;
    DECLARE v_work     bigint;
    DECLARE v_found    bigint;
    DECLARE v_single   boolean;
    DECLARE v_report   longtext;
    DECLARE v_skips    bigint;
    DECLARE v_skipped  longtext DEFAULT '{}';
    DECLARE v_samples  longtext DEFAULT '{}';
    DECLARE v_failures longtext DEFAULT '[]';
    DECLARE v_tables   longtext;
    DECLARE v_passes   longtext DEFAULT '';
    DECLARE v_fields   longtext DEFAULT '';
    DECLARE v_ahead    longtext DEFAULT '';
    DECLARE v_artifact_failures bigint;
    SELECT p.families, p.deleted_rows, p.batches, p.retries, ROUND(TIMESTAMPDIFF(MICROSECOND, p.started_at, p.updated_at) / 1000)
    INTO v_families, v_deleted, v_batches, v_retries, v_work
    FROM run_rule AS p
    WHERE p.run_id = p_run
      AND p.rule = p_rule;
    SELECT k.strategy IN ('expiry', 'orphan', 'keep-last'), JSON_EXTRACT(k.document, '$.report_run')
    INTO v_single, v_report
    FROM rule AS k
    WHERE k.rule = p_rule;
    -- Lists are made only of what is there: MariaDB makes a file for each that may be long.
    -- In the order of the spec's tables, whatever they were when the run began.
    SELECT GROUP_CONCAT(CONCAT(CAST(JSON_QUOTE(k.table_name) AS char(400)), ': ', COALESCE(t.deleted_rows, 'null'))
        ORDER BY k.position SEPARATOR ', ')
    INTO v_tables
    FROM rule_table AS k
    LEFT JOIN run_table AS t ON t.run_id = p_run AND t.rule = k.rule AND t.table_name = k.table_name
    WHERE k.rule = p_rule;
    SELECT COALESCE(SUM(k.families), 0), COUNT(*) INTO v_skips, v_found FROM run_skip AS k WHERE k.run_id = p_run AND k.rule = p_rule;
    IF v_found > 0 THEN
        SELECT
            CONCAT('{', GROUP_CONCAT(CONCAT(JSON_QUOTE(k.reason), ': ', k.families) ORDER BY k.reason SEPARATOR ', '), '}'),
            CONCAT('{', GROUP_CONCAT(CONCAT(JSON_QUOTE(k.reason), ': ', k.sample_keys) ORDER BY k.reason SEPARATOR ', '), '}')
        INTO v_skipped, v_samples
        FROM run_skip AS k
        WHERE k.run_id = p_run
          AND k.rule = p_rule;
    END IF;
    SELECT COUNT(*) INTO v_found FROM run_failure AS f WHERE f.run_id = p_run AND f.rule = p_rule;
    IF v_found > 0 THEN
        SELECT CONCAT('[', GROUP_CONCAT(
            CONCAT('{"key": ', JSON_QUOTE(x.`key`), ', "sqlstate": ', JSON_QUOTE(x.`sqlstate`), ', "message": ', JSON_QUOTE(x.message), '}')
            ORDER BY x.failed_at, x.`key` SEPARATOR ', '
        ), ']')
        INTO v_failures
        FROM (
            SELECT f.`key`, f.`sqlstate`, f.message, f.failed_at
            FROM run_failure AS f
            WHERE f.run_id = p_run
              AND f.rule = p_rule
            ORDER BY f.failed_at, f.`key`
            LIMIT 100
        ) AS x;
    END IF;
    IF v_single THEN
        SET v_passes = ', "passes": []';
        SELECT COUNT(*) INTO v_found FROM run_pass AS x WHERE x.run_id = p_run AND x.rule = p_rule;
        IF v_found > 0 THEN
            SELECT CONCAT(', "passes": [', GROUP_CONCAT(
                CONCAT('{"pass": ', JSON_QUOTE(x.pass), ', "rows": ', x.deleted_rows, ', "sample_keys": ', x.sample_keys, '}')
                ORDER BY x.pass SEPARATOR ', '
            ), ']')
            INTO v_passes
            FROM run_pass AS x
            WHERE x.run_id = p_run
              AND x.rule = p_rule;
        END IF;
    END IF;
    IF v_report IS NOT NULL THEN
        SELECT COUNT(*)
        INTO v_artifact_failures
        FROM artifact AS a
        WHERE a.claim IS NOT NULL
          AND a.last_error IS NOT NULL
          AND a.run_id = p_run
          AND a.rule = p_rule;
        SELECT COALESCE(GROUP_CONCAT(
            CONCAT(', ', JSON_QUOTE(f.name), ': ', COALESCE(CASE f.figure
                WHEN 'families' THEN CAST(v_families AS char)
                WHEN 'table' THEN (SELECT CAST(t.deleted_rows AS char) FROM run_table AS t WHERE t.run_id = p_run AND t.rule = p_rule
                    AND t.table_name = f.of_table)
                WHEN 'skipped' THEN v_skipped
                WHEN 'skipped_families' THEN CAST(v_skips AS char)
                WHEN 'dry_run' THEN p_dry_run
                WHEN 'artifact_failures' THEN CAST(v_artifact_failures AS char)
                WHEN 'duration_ms' THEN CAST(p_duration AS char)
            END, 'null'))
            ORDER BY f.position SEPARATOR ''
        ), '')
        INTO v_fields
        FROM JSON_TABLE(v_report, '$[*]' COLUMNS (
            position FOR ORDINALITY, name varchar(64) PATH '$.name', figure varchar(40) PATH '$.figure', of_table varchar(64) PATH '$.table'
        )) AS f;
    END IF;
    IF EXISTS (SELECT 1 FROM rule AS k WHERE k.rule = p_rule AND JSON_CONTAINS_PATH(k.document, 'one', '$.ahead')) THEN
        CALL ahead_fields(p_rule, p_run, NULL, v_ahead);
    END IF;
    SET o_document = CONCAT(
        '{"rule": ', JSON_QUOTE(p_rule),
        ', "families": ', v_families,
        ', "rows": ', v_deleted,
        ', "batches": ', v_batches,
        ', "retries": ', v_retries,
        ', "tables": {', v_tables, '}', v_passes,
        ', "skipped_families": ', v_skips,
        ', "skipped": ', v_skipped,
        ', "skipped_samples": ', v_samples,
        ', "failures": ', v_failures,
        ', "work_ms": ', v_work, v_ahead, v_fields,
        '}'
    );
END;
--# create procedure run_document
CREATE PROCEDURE run_document(IN p_run bigint, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'One run of the ledger as a JSON document; NULL if there is no such run.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_head        longtext;
    DECLARE v_rules       longtext DEFAULT '';
    DECLARE v_dry_run     varchar(5);
    DECLARE v_duration    bigint;
    DECLARE v_place       int;
    DECLARE v_rule        varchar(64);
    DECLARE v_part        longtext;
    SET SESSION group_concat_max_len = 1048576;
    SELECT
        CONCAT(
            '{"run": ', r.run_id,
            ', "status": ', COALESCE(JSON_QUOTE(r.status), 'null'),
            ', "reason": ', COALESCE(JSON_QUOTE(r.reason), 'null'),
            ', "dry_run": ', IF(r.dry_run, 'true', 'false'),
            ', "trigger": ', COALESCE(JSON_QUOTE(r.`trigger`), 'null'),
            IF(JSON_CONTAINS(r.options, 'true', '$.force') IS TRUE, ', "forced": true', ''),
            ', "as_of": ', COALESCE(CONCAT('"', DATE_FORMAT(r.as_of, '%Y-%m-%dT%T'),
                TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(r.as_of, '.%f'))), '+00:00"'), 'null'),
            ', "started_at": ', COALESCE(CONCAT('"', DATE_FORMAT(r.started_at, '%Y-%m-%dT%T'),
                TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(r.started_at, '.%f'))), '+00:00"'), 'null'),
            ', "finished_at": ', COALESCE(CONCAT('"', DATE_FORMAT(r.finished_at, '%Y-%m-%dT%T'),
                TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(r.finished_at, '.%f'))), '+00:00"'), 'null'),
            ', "duration_ms": ', COALESCE(CAST(ROUND(TIMESTAMPDIFF(MICROSECOND, r.started_at, r.finished_at) / 1000) AS CHAR), 'null')
        ),
        IF(r.dry_run, 'true', 'false'),
        ROUND(TIMESTAMPDIFF(MICROSECOND, r.started_at, r.finished_at) / 1000)
    INTO v_head, v_dry_run, v_duration
    FROM run AS r
    WHERE r.run_id = p_run;
    -- What has left the archive is the work of the run, too.
    IF (SELECT s.archives FROM spec AS s) THEN
        SELECT CONCAT(v_head, ', "archive_pruned": ', COALESCE(SUM(u.table_rows), 0))
        INTO v_head
        FROM unarchived AS u
        WHERE u.by_run = p_run;
    END IF;
    SELECT MIN(k.position) INTO v_place FROM rule AS k JOIN run_rule AS p ON p.run_id = p_run AND p.rule = k.rule;
    WHILE v_place IS NOT NULL DO
        SELECT k.rule INTO v_rule FROM rule AS k WHERE k.position = v_place;
        CALL run_document_of(p_run, v_rule, v_dry_run, v_duration, v_part);
        SET v_rules = CONCAT(v_rules, IF(v_rules = '', '', ', '), v_part);
        SELECT MIN(k.position) INTO v_place FROM rule AS k JOIN run_rule AS p ON p.run_id = p_run AND p.rule = k.rule
            WHERE k.position > v_place;
    END WHILE;
    SET o_document = CONCAT(v_head, ', "rules": ', IF(v_rules = '', 'null', CONCAT('[', v_rules, ']')), '}');
    SET SESSION group_concat_max_len = v_length;
END;
--# create procedure run_result
CREATE PROCEDURE run_result(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Returns one run of the ledger as a JSON document. Example: CALL run_result(1);'
BEGIN
    DECLARE v_document longtext;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL run_document(p_run, v_document);
    CALL unsettle(v_session);
    SELECT v_document AS p_result;
END;

-- preview: what a run would delete now.
--# create procedure preview_document
CREATE PROCEDURE preview_document(IN p_options longtext, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What preview() answers, in the caller''s transaction.'
BEGIN
    DECLARE v_as_of datetime(6);
    DECLARE v_rule  longtext;
    DECLARE v_at    varchar(64);
    DECLARE v_place int;
    DECLARE v_several longtext;
    DECLARE v_not_armed longtext;
    DECLARE v_part  longtext;
    DECLARE v_rules longtext DEFAULT '';
    CALL check_options(p_options, '["rule", "scope", "retention", "as_of", "run_families", "from"]');
    CALL check_run_options(p_options, v_as_of);
    CALL option_of(p_options, 'rule', v_rule);
    SELECT MIN(r.position) INTO v_place FROM rule AS r WHERE r.rule = COALESCE(v_rule, r.rule);
    WHILE v_place IS NOT NULL DO
        SELECT r.rule INTO v_at FROM rule AS r WHERE r.position = v_place;
        CALL preview_rule(v_at, p_options, v_as_of, v_part);
        SET v_rules = CONCAT(v_rules, IF(v_rules = '', '', ', '), v_part);
        SELECT MIN(r.position) INTO v_place FROM rule AS r WHERE r.rule = COALESCE(v_rule, r.rule) AND r.position > v_place;
    END WHILE;
    -- A row that matches several rules is counted by each of them, and deleted once.
    SELECT GROUP_CONCAT(CONCAT(JSON_QUOTE(m.table_name), ': [', m.rules, ']') ORDER BY m.table_name SEPARATOR ', ')
    INTO v_several
    FROM (
        SELECT k.table_name, GROUP_CONCAT(JSON_QUOTE(k.rule) ORDER BY r.position SEPARATOR ', ') AS rules
        FROM (SELECT DISTINCT t.table_name, t.rule FROM rule_table AS t) AS k
        JOIN rule AS r ON r.rule = k.rule
        GROUP BY k.table_name
        HAVING COUNT(*) > 1
    ) AS m;
    CALL not_armed(v_not_armed);
    SELECT CONCAT(
        '{"spec": ', COALESCE(JSON_QUOTE(c.spec), 'null'),
        ', "as_of": ', COALESCE(CONCAT('"', DATE_FORMAT(v_as_of, '%Y-%m-%dT%T'),
            TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(v_as_of, '.%f'))), '+00:00"'), 'null'),
        ', "armed": ', IF(v_not_armed IS NULL, 'true', 'false'),
        ', "not_armed": ', COALESCE(JSON_QUOTE(v_not_armed), 'null'),
        ', "paused": ', IF(c.paused, 'true', 'false'),
        ', "rules": [', v_rules, ']',
        COALESCE(CONCAT(', "counted_by_several": {', IF(v_rule IS NULL, v_several, ''), '}'), ''),
        '}'
    )
    INTO o_document
    FROM control AS c;
END;
--# create procedure preview
CREATE PROCEDURE preview(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'What a run with the same options would delete and skip now, by rule and table, as one JSON document. from: only what ended
    then or later, by the application''s clock; undated rows and scopes without a policy are left out. counted_by_several: tables
    whose rows may be counted by each of these rules, though each row is deleted once. Reads only,
    locks nothing.
    Example: CALL preview(''{"run_families": 100}'');'
BEGIN
    DECLARE v_before   longtext;
    DECLARE v_open     boolean DEFAULT false;
    DECLARE v_document longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_open THEN
            ROLLBACK;
        END IF;
        CALL unsettle(v_before);
        RESIGNAL;
    END;
    CALL settle(v_before);
    -- READ COMMITTED: at a higher level the rows copied to the work tables would be locked.
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET v_open = true;
    START TRANSACTION;
    CALL preview_document(p_options, v_document);
    COMMIT;
    CALL unsettle(v_before);
    SET v_before = NULL;
    SELECT v_document AS p_result;
END;

-- purge_begin: opens the ledger for a purge of named families.
--# create procedure purge_begin
CREATE PROCEDURE purge_begin(IN p_options longtext, OUT o_run bigint, OUT o_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Checks the options of purge() and opens the ledger.'
BEGIN
    DECLARE v_place    integer DEFAULT 0;
    DECLARE v_count    integer;
    DECLARE v_paused   boolean;
    DECLARE v_text     longtext;
    DECLARE v_node     varchar(700);
    CALL check_options(p_options, '["rule", "key", "dry_run", "force"]');
    CALL check_rule(p_options, o_rule);
    IF EXISTS (SELECT 1 FROM rule AS r WHERE r.rule = o_rule AND r.strategy = 'partition') THEN
        CALL refuse(CONCAT('rule ', o_rule, ' drops whole partitions, and no single rows'),
            'delete the rows by hand, or by another rule of the strategy age');
    END IF;
    SET v_count = IF(COALESCE(JSON_TYPE(JSON_EXTRACT(p_options, '$.key')), '') = 'ARRAY', JSON_LENGTH(p_options, '$.key'), 0);
    IF v_count = 0 THEN
        CALL refuse('the option key is not a list of keys', 'write it like {"key": [17, 18]}');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.dry_run') AND JSON_TYPE(JSON_EXTRACT(p_options, '$.dry_run')) <> 'BOOLEAN' THEN
        CALL refuse(CONCAT('dry_run is not true or false: ', JSON_EXTRACT(p_options, '$.dry_run')), 'write {"dry_run": true}');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.force') AND JSON_TYPE(JSON_EXTRACT(p_options, '$.force')) <> 'BOOLEAN' THEN
        CALL refuse(CONCAT('force is not true or false: ', JSON_EXTRACT(p_options, '$.force')), 'write {"force": true}');
    END IF;
    DROP TEMPORARY TABLE IF EXISTS work_key;
    CREATE TEMPORARY TABLE work_key (
        position integer NOT NULL AUTO_INCREMENT,
        named varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
        tied boolean NOT NULL DEFAULT false,
        found varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
        keeper varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
        keeper_reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
        PRIMARY KEY (position),
        UNIQUE KEY (named)
    ) ENGINE = InnoDB;
    WHILE v_place < v_count DO
        CALL key_of(JSON_EXTRACT(p_options, CONCAT('$.key[', v_place, ']')), v_text);
        CALL check_key(o_rule, v_text);
        INSERT IGNORE INTO work_key (named) VALUES (v_text);
        SET v_place = v_place + 1;
    END WHILE;
    IF @@GLOBAL.log_bin AND @@SESSION.binlog_format = 'STATEMENT' THEN
        CALL not_ready('binlog_format is STATEMENT: a replica would delete other rows', 'set it to ROW or MIXED');
    END IF;
    SELECT c.paused,
        CONCAT('paused by ', c.paused_by, ' since ', DATE_FORMAT(c.paused_at, '%Y-%m-%dT%TZ'), ': ',
        COALESCE(c.paused_reason, 'no reason given'))
    INTO v_paused, v_text
    FROM control AS c;
    IF v_paused THEN
        CALL not_ready(v_text, CONCAT('CALL ', DATABASE(), '.resume() first'));
    END IF;
    CALL rule_paused(o_rule, v_text);
    IF v_text IS NOT NULL THEN
        CALL not_ready(v_text, CONCAT('CALL ', DATABASE(), '.resume_rule() first'));
    END IF;
    CALL check_armed();
    CALL check_catalog();
    IF (SELECT s.archives FROM spec AS s) THEN
        CALL check_archive(o_rule);
    END IF;
    CALL option_of(p_options, 'dry_run', v_text);
    CALL identity_of(false, v_node);
    CALL end_look();
    UPDATE control AS c SET c.begun = c.begun + 1 WHERE c.only_row = true;
    INSERT INTO run (`trigger`, dry_run, options, as_of, deadline, backend_pid, node, started_by)
    VALUES ('PURGE', COALESCE(v_text = 'true', false), p_options, UTC_TIMESTAMP(6), NULL, CONNECTION_ID(), v_node, USER());
    SET o_run = LAST_INSERT_ID();
    SET v_text = CONCAT((SELECT s.run_lock FROM spec AS s), '.', o_run);
    IF COALESCE(GET_LOCK(v_text, 0), 0) = 0 THEN
        SET v_text = CONCAT('connection ', COALESCE(IS_USED_LOCK(v_text), '?'), ' has taken the lock of this purge');
        UPDATE run AS r
        SET r.status = 'failed',
            r.reason = v_text,
            r.finished_at = UTC_TIMESTAMP(6)
        WHERE r.run_id = o_run;
        CALL not_ready(v_text, 'any session may: end it, and purge again');
    END IF;
    CALL note_member(o_run);
    CALL run_open(o_run, o_rule);
END;

-- purge_end: closes the ledger of a purge.
--# create procedure purge_end
CREATE PROCEDURE purge_end(IN p_run bigint, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'Closes purge p_run; answers run_document() with the refused keys and their reasons, and the keys that one transaction deleted.'
BEGIN
    DECLARE v_refused   bigint;
    DECLARE v_cancelled bigint;
    DECLARE v_failed    bigint;
    DECLARE v_paused    bigint;
    DECLARE v_young     bigint;
    DECLARE v_minimum   bigint;
    DECLARE v_lag       bigint;
    DECLARE v_calendar  varchar(64);
    DECLARE v_before    datetime(6);
    DECLARE v_reasons   longtext;
    DECLARE v_keepers   longtext;
    DECLARE v_tied      longtext;
    SELECT
        COUNT(k.reason), COUNT(IF(k.reason = 'CANCELLED', 1, NULL)), COUNT(IF(k.reason = 'FAILED', 1, NULL)),
            COUNT(IF(k.reason = 'PAUSED', 1, NULL)), COUNT(IF(k.reason = 'RETENTION_NOT_REACHED', 1, NULL)),
        COALESCE(GROUP_CONCAT(IF(k.reason IS NULL, NULL, CONCAT(JSON_QUOTE(k.named), ': ', JSON_QUOTE(k.reason)))
            ORDER BY k.named SEPARATOR ', '), ''),
        COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(k.named), ': {"key": ', JSON_QUOTE(k.keeper), ', "reason": "', k.keeper_reason, '"}')
            ORDER BY k.named SEPARATOR ', '), ''),
        IF(SUM(k.tied AND k.reason IS NULL) > 1,
            GROUP_CONCAT(IF(k.tied AND k.reason IS NULL, JSON_QUOTE(k.named), NULL) ORDER BY k.named SEPARATOR ', '), NULL)
    INTO v_refused, v_cancelled, v_failed, v_paused, v_young, v_reasons, v_keepers, v_tied
    FROM work_key AS k;
    UPDATE run AS r
    SET r.status = CASE
            WHEN v_cancelled > 0 THEN 'cancelled'
            WHEN v_failed > 0 THEN 'failed'
            WHEN v_paused > 0 THEN 'stopped'
            ELSE 'done'
        END,
        r.reason = CASE
            WHEN v_cancelled > 0 THEN 'cancelled'
            WHEN v_paused > 0 THEN 'paused'
            WHEN v_refused = 0 THEN 'all named families are gone'
            WHEN v_refused = 1 THEN '1 named family is kept'
            ELSE CONCAT(v_refused, ' named families are kept')
        END,
        r.finished_at = UTC_TIMESTAMP(6)
    WHERE r.run_id = p_run
      AND r.status = 'running'
      AND r.backend_pid = CONNECTION_ID();
    SELECT MAX(r.as_of), MAX(k.minimum), MAX(JSON_VALUE(k.document, '$.safety_lag') + 0), MAX(JSON_VALUE(k.document, '$.calendar'))
    INTO v_before, v_minimum, v_lag, v_calendar
    FROM run AS r
    JOIN run_rule AS p ON p.run_id = r.run_id
    JOIN rule AS k ON k.rule = p.rule
    WHERE r.run_id = p_run
      AND v_young > 0;
    -- As the rule counts days.
    IF v_calendar IS NULL THEN
        SET v_before = v_before - INTERVAL (v_minimum + v_lag) SECOND;
    ELSE
        CALL days_before(v_before, v_minimum + v_lag, v_calendar, v_before);
    END IF;
    CALL run_document(p_run, o_document);
    SET o_document = CONCAT(
        LEFT(o_document, CHAR_LENGTH(o_document) - 1), ', "refused": {', v_reasons, '}, "refused_with": {', v_keepers, '}',
        COALESCE(CONCAT(', "together": [', v_tied, ']'), ''), COALESCE(CONCAT(
            ', "minimum": {"seconds": ', v_minimum, ', "safety_lag_seconds": ', v_lag, ', "before": "',
            DATE_FORMAT(v_before, '%Y-%m-%dT%TZ'), '"}'
        ), ''), '}'
    );
END;

-- last_look: by rule, the last run that looked at what is due: not one for a single scope or another instant.
--# create view last_look
CREATE OR REPLACE SQL SECURITY INVOKER VIEW last_look (rule, run_id) AS
SELECT k.rule, (
    SELECT r.run_id
    FROM sweeping AS r
    JOIN run_rule AS p ON p.run_id = r.run_id AND p.rule = k.rule
    WHERE r.finished_at IS NOT NULL
      AND (p.batches > 0 OR r.status = 'done')
      AND r.run_id > (SELECT MAX(l.run_id) FROM run AS l) - 1000
    ORDER BY r.run_id DESC
    LIMIT 1
)
FROM rule AS k;

-- left_behind: what that run left, and why, with the first root that it came upon. Workers look together.
--# create view left_behind
CREATE OR REPLACE SQL SECURITY INVOKER VIEW left_behind (rule, reason, families, `key`, run_id) AS
SELECT s.rule, s.reason, CAST(SUM(s.families) AS signed), JSON_UNQUOTE(JSON_EXTRACT(MIN(s.sample_keys), '$[0]')), l.run_id
FROM last_look AS l
LEFT JOIN run_sweep AS w ON w.run_id = l.run_id
LEFT JOIN run_sweep AS o ON o.sweep_id = w.sweep_id
JOIN run_skip AS s ON s.run_id = COALESCE(o.run_id, l.run_id) AND s.rule = l.rule
GROUP BY s.rule, s.reason, l.run_id;
