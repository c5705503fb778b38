-- sweep: what the workers go through together, from the first root of the first rule to the last one of the last. A worker
-- that starts while others are at work joins them, with their cutoff; else it begins a new sweep. One row for each rule:
-- behind which root the next claim begins, behind which one the first began, whether the claims have come to the end since and are
-- of what lies before that, which roots the sweep before had claimed and not looked at, whether nothing is left behind the cursor,
-- whether what was locked was handed out once more, and which run saw the end of it.
--# create table sweep
CREATE TABLE IF NOT EXISTS sweep (
    rule        varchar(64) NOT NULL PRIMARY KEY,
    sweep_id    bigint,
    cursor_time varchar(40),
    cursor_key  varchar(255),
    start_time  varchar(40),
    start_key   varchar(255),
    around      boolean     NOT NULL DEFAULT false,
    inherited   longtext,
    exhausted   boolean     NOT NULL DEFAULT false,
    handed_out  boolean     NOT NULL DEFAULT false,
    ended_by    bigint
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Where the present sweep of the workers has got to, by rule. sweep_id: the run that began it.';
-- What the table of an earlier version lacks.
--# add column sweep.start_time
CALL add_column('sweep', 'start_time', 'varchar(40) AFTER cursor_key');
--# add column sweep.start_key
CALL add_column('sweep', 'start_key', 'varchar(255) AFTER start_time');
--# add column sweep.around
CALL add_column('sweep', 'around', 'boolean NOT NULL DEFAULT false AFTER start_key');
--# add column sweep.inherited
CALL add_column('sweep', 'inherited', 'longtext AFTER around');
--# fill table sweep
INSERT IGNORE INTO sweep (rule)
SELECT r.rule
FROM rule AS r;

-- at_others: another worker of the sweep that is at work: at p_rule, or before it in the order of the rules.
--# create procedure at_others
CREATE PROCEDURE at_others(IN p_run bigint, IN p_rule varchar(64), IN p_before boolean, OUT o_other varchar(200))
SQL SECURITY DEFINER
COMMENT 'Which other worker of the sweep of run p_run is at p_rule, or with p_before at a rule before it; without a
    rule, which one still runs. NULL: none.'
BEGIN
    DECLARE v_lock varchar(64) DEFAULT (SELECT s.run_lock FROM spec AS s);
    SELECT MIN(CONCAT('worker ', o.worker, ', which is at rule ', COALESCE(o.at_rule, 'none')))
    INTO o_other
    FROM run_sweep AS s
    JOIN run_sweep AS o ON o.sweep_id = s.sweep_id AND o.run_id <> s.run_id
    JOIN run AS r ON r.run_id = o.run_id AND r.status = 'running'
    WHERE s.run_id = p_run
      AND (
          p_rule IS NULL
          OR IF(
              p_before,
              (SELECT k.position FROM rule AS k WHERE k.rule = o.at_rule) < (SELECT k.position FROM rule AS k WHERE k.rule = p_rule),
              o.at_rule = p_rule
          )
      )
      -- Whoever has the lock of his worker is alive.
      AND IS_USED_LOCK(CONCAT(
          v_lock, IF(JSON_VALUE(r.options, '$.worker') > 1, CONCAT('.w', JSON_VALUE(r.options, '$.worker') + 0), '')
      )) = r.backend_pid;
END;

-- sweep_join: a run becomes part of the sweep under way, or begins a new one.
--# create procedure sweep_join
CREATE PROCEDURE sweep_join(IN p_run bigint, IN p_worker int)
SQL SECURITY DEFINER
COMMENT 'Makes run p_run, of worker p_worker, part of the sweep under way, with its cutoff, or begins a new sweep.'
BEGIN
    DECLARE v_sweep bigint;
    DECLARE v_as_of datetime(6);
    DECLARE v_last  bigint;
    -- Who says running is alive: the begin of a run closes the others.
    SELECT o.sweep_id, r.as_of
    INTO v_sweep, v_as_of
    FROM run_sweep AS o
    JOIN run AS r ON r.run_id = o.run_id AND r.status = 'running'
    ORDER BY o.run_id
    LIMIT 1;
    INSERT INTO run_sweep (run_id, sweep_id, worker)
    VALUES (p_run, COALESCE(v_sweep, p_run), p_worker);
    INSERT INTO run_claim (run_id, rule, claimed, left_keys)
    SELECT p.run_id, p.rule, '[]', '[]'
    FROM run_rule AS p
    WHERE p.run_id = p_run;
    IF v_sweep IS NULL THEN
        SELECT MAX(s.run_id)
        INTO v_last
        FROM run_sweep AS s
        JOIN sweeping AS b ON b.run_id = s.run_id
        WHERE s.run_id BETWEEN p_run - 1000 AND p_run - 1
          AND NOT b.dry_run;
        UPDATE sweep AS s
        JOIN rule AS k ON k.rule = s.rule
        LEFT JOIN run_rule AS p ON p.run_id = p_run AND p.rule = s.rule
        SET s.sweep_id = p_run,
            s.cursor_time = p.start_time,
            s.cursor_key = p.start_key,
            s.start_time = p.start_time,
            s.start_key = p.start_key,
            s.around = false,
            -- What the workers before had claimed and not looked at, where this sweep goes on behind that.
            s.inherited = IF(p.start_time IS NULL, '[]', (
                SELECT CONCAT('[', COALESCE(GROUP_CONCAT(DISTINCT CAST(JSON_ARRAY(l.id, l.ended) AS char) SEPARATOR ', '), ''), ']')
                FROM run_sweep AS w
                JOIN run_sweep AS o ON o.sweep_id = w.sweep_id
                JOIN run_claim AS c ON c.run_id = o.run_id AND c.rule = k.rule
                JOIN JSON_TABLE(c.claimed, '$[*]' COLUMNS (id varchar(255) PATH '$[0]', ended varchar(40) PATH '$[1]')) AS l
                WHERE w.run_id = v_last
            )),
            s.exhausted = false,
            s.handed_out = false,
            s.ended_by = NULL;
        UPDATE run_claim AS c
        JOIN sweep AS s ON s.rule = c.rule
        SET c.claimed = s.inherited
        WHERE c.run_id = p_run;
    ELSE
        UPDATE run AS r
        SET r.as_of = v_as_of
        WHERE r.run_id = p_run;
    END IF;
    -- The sweep goes around, not the one worker.
    UPDATE run_rule AS p
    JOIN rule AS k ON k.rule = p.rule
    SET p.start_time = NULL,
        p.start_key = NULL
    WHERE p.run_id = p_run
      AND k.divided;
END;

-- sweep_enter: a worker goes to a rule when nobody works at an earlier one any more; to one whose rows are not divided, when
-- nobody works at it.
--# create procedure sweep_enter
CREATE PROCEDURE sweep_enter(IN p_run bigint, IN p_rule varchar(64), OUT o_wait varchar(200), OUT o_over boolean)
SQL SECURITY DEFINER
COMMENT 'Run p_run goes to p_rule; o_wait: whom it waits for first; o_over: the sweep is through with the rule.'
BEGIN
    -- Whoever has the row has it for no longer than a look for roots takes.
    SET SESSION innodb_lock_wait_timeout = 600;
    SELECT s.ended_by IS NOT NULL INTO o_over FROM sweep AS s WHERE s.rule = p_rule FOR UPDATE;
    CALL at_others(p_run, p_rule, true, o_wait);
    IF o_wait IS NULL AND NOT (SELECT k.divided FROM rule AS k WHERE k.rule = p_rule) THEN
        CALL at_others(p_run, p_rule, false, o_wait);
    END IF;
    UPDATE run_sweep AS s
    SET s.at_rule = IF(o_wait IS NULL AND NOT o_over, p_rule, NULL)
    WHERE s.run_id = p_run;
END;

-- sweep_rest: no root is left behind the cursor. What lies before the place where the sweep began comes next. Then who is the last
-- one at the rule looks once more at what was locked when it was met, by another worker perhaps, and at what workers that are gone
-- had claimed.
--# create procedure sweep_rest
CREATE PROCEDURE sweep_rest(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Called where nothing is left to claim behind the cursor: nothing left; or again, where what lies before the start of the
    sweep comes next, or run p_run is the last one at p_rule and has claimed what was locked.'
BEGIN
    DECLARE v_other varchar(200);
    DECLARE v_sweep bigint;
    DECLARE v_handed_out boolean;
    DECLARE v_keys longtext DEFAULT '[]';
    rest: BEGIN
        UPDATE sweep AS s
        SET s.cursor_time = NULL,
            s.cursor_key = NULL,
            s.around = true
        WHERE s.rule = p_rule
          AND s.start_time IS NOT NULL
          AND NOT s.around;
        IF ROW_COUNT() > 0 THEN
            SET o_state = 'again';
            LEAVE rest;
        END IF;
        SET o_state = 'nothing left';
        UPDATE sweep AS s SET s.exhausted = true WHERE s.rule = p_rule;
        CALL at_others(p_run, p_rule, false, v_other);
        IF v_other IS NOT NULL THEN
            UPDATE run_sweep AS s SET s.at_rule = NULL WHERE s.run_id = p_run;
        ELSE
            SELECT s.sweep_id, s.handed_out INTO v_sweep, v_handed_out FROM sweep AS s WHERE s.rule = p_rule;
            IF NOT v_handed_out THEN
                SELECT CONCAT('[', COALESCE(GROUP_CONCAT(k.entry ORDER BY k.entry SEPARATOR ', '), ''), ']')
                INTO v_keys
                FROM (
                    SELECT DISTINCT CAST(JSON_ARRAY(l.id, l.ended) AS char) AS entry
                    FROM run_sweep AS o
                    JOIN run_claim AS c ON c.run_id = o.run_id AND c.rule = p_rule
                    JOIN JSON_TABLE(JSON_MERGE_PRESERVE(c.claimed, c.left_keys),
                        '$[*]' COLUMNS (id varchar(255) PATH '$[0]', ended varchar(40) PATH '$[1]')) AS l
                    WHERE o.sweep_id = v_sweep
                ) AS k;
            END IF;
            UPDATE sweep AS s
            SET s.handed_out = true,
                s.ended_by = IF(v_keys = '[]', p_run, NULL)
            WHERE s.rule = p_rule;
            IF v_keys <> '[]' THEN
                UPDATE run_claim AS c
                SET c.claimed = v_keys,
                    c.left_keys = '[]',
                    c.is_last = true
                WHERE c.run_id = p_run
                  AND c.rule = p_rule;
                SET o_state = 'again';
            END IF;
        END IF;
    END rest;
END;

-- sweep_leave: a worker is through with a rule.
--# create procedure sweep_leave
CREATE PROCEDURE sweep_leave(IN p_run bigint, IN p_rule varchar(64), IN p_state varchar(1000), OUT o_ended boolean)
SQL SECURITY DEFINER
COMMENT 'Run p_run is through with p_rule, with the state p_state. o_ended: so is the sweep, and this run saw it.'
BEGIN
    SET SESSION innodb_lock_wait_timeout = 600;
    SELECT COALESCE(s.ended_by = p_run, p_state = 'nothing left' AND o.at_rule = p_rule, false)
    INTO o_ended
    FROM sweep AS s
    JOIN run_sweep AS o ON o.run_id = p_run
    WHERE s.rule = p_rule
    FOR UPDATE;
    IF o_ended THEN
        UPDATE sweep AS s SET s.ended_by = p_run WHERE s.rule = p_rule;
    END IF;
    UPDATE run_sweep AS s SET s.at_rule = NULL WHERE s.run_id = p_run;
END;

-- sweep_end: what the last one of a sweep does for all.
--# create procedure sweep_end
CREATE PROCEDURE sweep_end(IN p_run bigint, OUT o_last bigint)
SQL SECURITY DEFINER
COMMENT 'The last run of the sweep of p_run, if no other worker still runs; else NULL.'
BEGIN
    DECLARE v_other varchar(200);
    CALL at_others(p_run, NULL, false, v_other);
    SET o_last = NULL;
    IF v_other IS NULL THEN
        SELECT MAX(o.run_id)
        INTO o_last
        FROM run_sweep AS s
        JOIN run_sweep AS o ON o.sweep_id = s.sweep_id
        WHERE s.run_id = p_run;
    END IF;
END;
