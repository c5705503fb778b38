-- sweep: what the workers go through together, from the first root of the first rule to the last one of the last. A worker
-- that starts while others are at work joins them, with their cutoff; else it begins a new sweep. One row for each rule:
-- after which root or window the next claim begins, after which one the first began, whether the claims have come to the end since
-- and are of what lies before that, what the sweep before had claimed and not looked at, whether nothing is left after the cursor,
-- whether what was locked was handed out once more, which run saw the end of it, how many claims there were, and the position of the rule
-- behind which the sweep began. Of single rows the places are those of single_place().
--# create table sweep
CREATE TABLE IF NOT EXISTS sweep (
    rule        varchar(64) NOT NULL PRIMARY KEY,
    sweep_id    bigint,
    cursor_time varchar(40),
    cursor_key  varchar(700),
    start_time  varchar(40),
    start_key   varchar(700),
    around      boolean     NOT NULL DEFAULT false,
    inherited   longtext,
    exhausted   boolean     NOT NULL DEFAULT false,
    handed_out  boolean     NOT NULL DEFAULT false,
    ended_by    bigint,
    place       longtext,
    start_place longtext,
    claims      bigint      NOT NULL DEFAULT 0,
    turn        int         NOT NULL DEFAULT 0
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'How far the current sweep of the workers has got, by rule. sweep_id: the run that began it.';
-- What the table of an earlier version lacks.
--# add column sweep.start_time
CALL add_column('sweep', 'start_time', 'varchar(40) AFTER cursor_key');
--# add column sweep.start_key
CALL add_column('sweep', 'start_key', 'varchar(700) AFTER start_time');
--# modify table sweep
ALTER TABLE sweep MODIFY COLUMN cursor_key varchar(700), MODIFY COLUMN start_key varchar(700);
--# add column sweep.around
CALL add_column('sweep', 'around', 'boolean NOT NULL DEFAULT false AFTER start_key');
--# add column sweep.inherited
CALL add_column('sweep', 'inherited', 'longtext AFTER around');
--# add column sweep.place
CALL add_column('sweep', 'place', 'longtext AFTER ended_by');
--# add column sweep.start_place
CALL add_column('sweep', 'start_place', 'longtext AFTER place');
--# add column sweep.claims
CALL add_column('sweep', 'claims', 'bigint NOT NULL DEFAULT 0 AFTER start_place');
--# add column sweep.turn
CALL add_column('sweep', 'turn', 'int NOT NULL DEFAULT 0 AFTER claims');
--# fill table sweep
INSERT IGNORE INTO sweep (rule)
SELECT r.rule
FROM rule AS r;

-- at_others: another worker of the sweep that is at work: at p_rule, or before it in the order of the rules, or not through with it.
--# create procedure at_others
CREATE PROCEDURE at_others(IN p_run bigint, IN p_rule varchar(64), IN p_before boolean, OUT o_other varchar(200))
SQL SECURITY DEFINER
COMMENT 'Which other worker of the sweep of run p_run is at p_rule, or with p_before at a rule before it, or if that is NULL, has still
    to look at it; without a rule, which one still runs. NULL: none.'
BEGIN
    DECLARE v_lock  varchar(64) DEFAULT (SELECT s.run_lock FROM spec AS s);
    DECLARE v_turn  int;
    DECLARE v_place int;
    -- The order of the sweep: those up to the position behind which it began come last.
    SELECT MAX(s.turn), MAX(k.position + IF(k.position <= s.turn, 1000000, 0))
    INTO v_turn, v_place
    FROM sweep AS s
    JOIN rule AS k ON k.rule = s.rule
    WHERE s.rule = p_rule;
    SELECT MIN(CONCAT('worker ', o.worker, ', which is at rule ', COALESCE(o.at_rule, 'none')))
    INTO o_other
    FROM run_sweep AS s
    JOIN run_sweep AS o ON o.sweep_id = s.sweep_id AND o.run_id <> s.run_id
    JOIN run AS r ON r.run_id = o.run_id AND r.status = 'running'
    WHERE s.run_id = p_run
      AND (
          p_rule IS NULL
          OR CASE
              WHEN p_before THEN (SELECT k.position FROM rule AS k WHERE k.rule = o.at_rule) + IF(
                  (SELECT k.position FROM rule AS k WHERE k.rule = o.at_rule) <= v_turn, 1000000, 0
              ) < v_place
              WHEN NOT p_before THEN o.at_rule = p_rule
              ELSE EXISTS (SELECT 1 FROM run_claim AS c WHERE c.run_id = o.run_id AND c.rule = p_rule AND NOT c.through)
          END
      )
      -- Whoever has the lock of his worker is alive.
      AND IS_USED_LOCK(CONCAT(
          v_lock, IF(JSON_VALUE(r.options, '$.worker') > 1, CONCAT('.w', JSON_VALUE(r.options, '$.worker') + 0), '')
      )) = r.backend_pid;
END;

-- sweep_taken: what is everybody's belongs to what begin_ledger() takes.
--# create procedure sweep_taken
CREATE PROCEDURE sweep_taken()
SQL SECURITY DEFINER
COMMENT 'Keeps the table sweep from being locked by others until the transaction ends. Reads no row.'
BEGIN
    DECLARE v_there bigint;
    SELECT COUNT(*) INTO v_there FROM sweep AS s WHERE false FOR UPDATE;
END;

-- sweep_refuses: workers whose runs overlap would keep a sweep alive for ever. Its cutoff stands still, and rules that it is through
-- with are not visited again: a run joins no sweep that began longer ago than a run may take.
--# create procedure sweep_refuses
CREATE PROCEDURE sweep_refuses(IN p_budget bigint, OUT o_refused longtext)
SQL SECURITY DEFINER
COMMENT 'Why a run with a time budget of p_budget seconds may not join the sweep under way: it is too old; NULL: it may, or there is
    none.'
BEGIN
    SET o_refused = NULL;
    SELECT CONCAT(
        'run ', r.run_id, ' is in progress (pid ', r.backend_pid, ', since ', DATE_FORMAT(r.started_at, '%Y-%m-%dT%TZ'),
        '), and the sweep of run ', o.sweep_id, ', which it is part of, is older than the time budget: a new one begins when that run has '
        'ended'
    )
    INTO o_refused
    FROM run_sweep AS o
    JOIN run AS r ON r.run_id = o.run_id AND r.status = 'running'
    JOIN run AS f ON f.run_id = o.sweep_id
    WHERE UTC_TIMESTAMP(6) >= GREATEST(f.deadline, f.started_at + INTERVAL p_budget SECOND)
    ORDER BY o.run_id
    LIMIT 1;
END;

-- sweep_join: a run becomes part of the sweep in progress, or begins a new one.
--# create procedure sweep_join
CREATE PROCEDURE sweep_join(IN p_run bigint, IN p_worker int)
SQL SECURITY DEFINER
COMMENT 'Makes run p_run, of worker p_worker, part of the sweep under way, with its cutoff, or begins a new sweep.'
BEGIN
    DECLARE v_sweep bigint;
    DECLARE v_as_of datetime(6);
    DECLARE v_last  bigint;
    DECLARE v_turn  int;
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
        CALL had_its_turn(p_run, v_turn);
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
            s.place = IF(p.start_time IS NULL, NULL, p.place),
            s.start_place = IF(p.start_time IS NULL, NULL, p.place),
            s.around = false,
            -- What the workers before had claimed and not looked at, where this sweep continues after that.
            s.inherited = IF(p.start_time IS NULL, '[]', (
                SELECT CONCAT('[', COALESCE(GROUP_CONCAT(DISTINCT CAST(JSON_ARRAY(l.id, l.ended, l.number) AS char) SEPARATOR ', '),
                    ''), ']')
                FROM run_sweep AS w
                JOIN run_sweep AS o ON o.sweep_id = w.sweep_id
                JOIN run_claim AS c ON c.run_id = o.run_id AND c.rule = k.rule
                JOIN JSON_TABLE(c.claimed,
                    '$[*]' COLUMNS (id longtext PATH '$[0]', ended longtext PATH '$[1]', number bigint PATH '$[2]')) AS l
                WHERE w.run_id = v_last
            )),
            -- A place among the windows that follow families has no key.
            s.exhausted = k.divided AND JSON_CONTAINS(k.document, '"family"', '$.unit') IS TRUE
                AND p.start_time IS NOT NULL AND p.start_key IS NULL,
            s.handed_out = false,
            s.ended_by = NULL,
            s.turn = v_turn;
        -- Nothing here compares places of single rows: they are looked at again from the first claim on that was not looked at.
        UPDATE sweep AS s
        JOIN (
            SELECT f.rule, f.place
            FROM (
                SELECT o.rule, l.place, ROW_NUMBER() OVER (PARTITION BY o.rule ORDER BY l.number) AS position
                FROM rule AS k
                JOIN sweep AS o ON o.rule = k.rule
                JOIN JSON_TABLE(o.inherited, '$[*]' COLUMNS (place longtext PATH '$[0]', number bigint PATH '$[2]')) AS l
                WHERE k.strategy IN ('expiry', 'orphan', 'keep-last')
            ) AS f
            WHERE f.position = 1
        ) AS n ON n.rule = s.rule
        SET s.place = n.place,
            s.start_place = n.place,
            s.inherited = '[]';
        UPDATE run_claim AS c
        JOIN sweep AS s ON s.rule = c.rule
        SET c.claimed = s.inherited
        WHERE c.run_id = p_run;
    ELSE
        UPDATE run AS r
        SET r.as_of = v_as_of
        WHERE r.run_id = p_run;
    END IF;
    -- The sweep starts again, not the one worker.
    UPDATE run_rule AS p
    JOIN rule AS k ON k.rule = p.rule
    SET p.start_time = NULL,
        p.start_key = NULL
    WHERE p.run_id = p_run
      AND k.divided;
END;

-- sweep_turn: in which order its workers take the rules.
--# create procedure sweep_turn
CREATE PROCEDURE sweep_turn(OUT o_position int)
SQL SECURITY DEFINER
COMMENT 'The position of the rule behind which the current sweep began; 0: at the first rule.'
BEGIN
    SELECT COALESCE(MAX(s.turn), 0) INTO o_position FROM sweep AS s;
END;

-- sweep_enter: a worker moves to a rule when no worker is at an earlier one any more; to one whose rows are not divided, when no
-- worker is at it.
--# create procedure sweep_enter
CREATE PROCEDURE sweep_enter(IN p_run bigint, IN p_rule varchar(64), OUT o_wait longtext, OUT o_over boolean)
SQL SECURITY DEFINER
COMMENT 'Run p_run goes to p_rule; o_wait: whom it waits for first; o_over: the sweep is through with the rule.'
BEGIN
    DECLARE v_divided boolean;
    -- Whether it may find without a lock that it goes on waiting.
    DECLARE v_waits   boolean;
    SELECT s.ended_by IS NOT NULL, s.ended_by IS NULL AND w.at_rule IS NULL, k.divided
    INTO o_over, v_waits, v_divided
    FROM sweep AS s
    JOIN rule AS k ON k.rule = s.rule
    JOIN run_sweep AS w ON w.run_id = p_run
    WHERE s.rule = p_rule;
    enter: LOOP
        IF NOT v_waits THEN
            -- Whoever has the row has it for no longer than a look for roots takes.
            SET SESSION innodb_lock_wait_timeout = 600;
            SELECT s.ended_by IS NOT NULL INTO o_over FROM sweep AS s WHERE s.rule = p_rule FOR UPDATE;
        END IF;
        CALL at_others(p_run, p_rule, true, o_wait);
        IF o_wait IS NULL AND NOT v_divided THEN
            CALL at_others(p_run, p_rule, false, o_wait);
        END IF;
        IF v_waits AND o_wait IS NULL THEN
            CALL throttled(p_rule, o_wait);
        END IF;
        IF NOT v_waits THEN
            UPDATE run_sweep AS s
            SET s.at_rule = IF(o_wait IS NULL AND NOT o_over, p_rule, NULL)
            WHERE s.run_id = p_run
              AND NOT s.at_rule <=> IF(o_wait IS NULL AND NOT o_over, p_rule, NULL);
            LEAVE enter;
        ELSEIF o_wait IS NOT NULL THEN
            LEAVE enter;
        END IF;
        SET v_waits = false;
    END LOOP enter;
END;

-- sweep_around: the claims have come to the end. What lies before the place where the sweep began comes next.
--# create procedure sweep_around
CREATE PROCEDURE sweep_around(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'again, where what lies before the start of the sweep comes next at p_rule; nothing left, where that was looked at.'
BEGIN
    UPDATE sweep AS s
    SET s.cursor_time = NULL,
        s.cursor_key = NULL,
        s.place = NULL,
        s.around = true,
        s.exhausted = false,
        s.handed_out = false
    WHERE s.rule = p_rule
      AND s.start_time IS NOT NULL
      AND NOT s.around;
    SET o_state = IF(ROW_COUNT() > 0, 'again', 'nothing left');
    IF o_state = 'again' THEN
        UPDATE run_claim AS c
        SET c.is_last = false,
            c.alone = false
        WHERE c.run_id = p_run
          AND c.rule = p_rule;
        -- Also of workers that went on with other rules meanwhile: they come back to other windows.
        UPDATE run_sweep AS w
        JOIN run_sweep AS o ON o.sweep_id = w.sweep_id
        JOIN run_rule AS p ON p.run_id = o.run_id AND p.rule = p_rule
        SET p.batch_families = p.family_size,
            p.family_size = NULL
        WHERE w.run_id = p_run
          AND p.family_size IS NOT NULL;
    END IF;
END;

-- sweep_rest: nothing is left after the cursor. What lies before the place where the sweep began comes next. Then who is the last
-- one at the rule looks once more at what was locked when it was visited, by another worker perhaps, and at what workers that are gone
-- had claimed. Where windows follow families, it goes through them after that, and before the sweep starts again.
--# create procedure sweep_rest
CREATE PROCEDURE sweep_rest(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Called where nothing is left to claim after the cursor: nothing left; or again, where what lies before the start of the
    sweep comes next, or run p_run is the last one at p_rule and has claimed what was locked, or goes through its windows.'
BEGIN
    DECLARE v_other varchar(200);
    DECLARE v_sweep bigint;
    DECLARE v_handed_out boolean;
    DECLARE v_around boolean;
    DECLARE v_time varchar(40);
    DECLARE v_key varchar(700);
    DECLARE v_windows boolean;
    DECLARE v_batch bigint;
    DECLARE v_least datetime(6);
    DECLARE v_keys longtext DEFAULT '[]';
    SELECT
        JSON_CONTAINS(k.document, '"family"', '$.unit') IS TRUE,
        JSON_VALUE(k.document, '$.least'),
        s.sweep_id, s.handed_out, s.around, s.start_time, s.start_key
    INTO v_windows, v_least, v_sweep, v_handed_out, v_around, v_time, v_key
    FROM rule AS k
    JOIN sweep AS s ON s.rule = k.rule
    WHERE k.rule = p_rule;
    SET o_state = 'nothing left';
    IF NOT v_windows THEN
        CALL sweep_around(p_run, p_rule, o_state);
    END IF;
    IF o_state = 'nothing left' THEN
        UPDATE sweep AS s SET s.exhausted = true WHERE s.rule = p_rule;
        CALL at_others(p_run, p_rule, false, v_other);
        IF v_other IS NOT NULL THEN
            UPDATE run_sweep AS s SET s.at_rule = NULL WHERE s.run_id = p_run;
        ELSE
            IF NOT v_handed_out THEN
                SELECT CONCAT('[', COALESCE(GROUP_CONCAT(k.entry ORDER BY k.entry SEPARATOR ', '), ''), ']')
                INTO v_keys
                FROM (
                    SELECT DISTINCT CAST(JSON_ARRAY(l.id, l.ended, l.number) AS char) AS entry
                    FROM run_sweep AS o
                    JOIN run_claim AS c ON c.run_id = o.run_id AND c.rule = p_rule
                    JOIN JSON_TABLE(JSON_MERGE_PRESERVE(c.claimed, c.left_keys),
                        '$[*]' COLUMNS (id longtext PATH '$[0]', ended longtext PATH '$[1]', number bigint PATH '$[2]')) AS l
                    WHERE o.sweep_id = v_sweep
                ) AS k;
                -- Also what workers had claimed that went on with other rules meanwhile.
                UPDATE run_claim AS c
                JOIN run_sweep AS o ON o.run_id = c.run_id AND o.sweep_id = v_sweep
                SET c.claimed = '[]',
                    c.left_keys = '[]'
                WHERE c.rule = p_rule;
            END IF;
            -- Up to a family that a sweep began with, there are families only.
            SET v_windows = v_windows AND v_keys = '[]' AND NOT (v_around AND v_key IS NOT NULL);
            UPDATE sweep AS s
            SET s.handed_out = true,
                s.ended_by = IF(v_keys = '[]' AND NOT v_windows, p_run, NULL)
            WHERE s.rule = p_rule;
            IF v_keys <> '[]' OR v_windows THEN
                UPDATE run_claim AS c
                SET c.claimed = v_keys,
                    c.left_keys = '[]',
                    c.is_last = true,
                    c.alone = v_windows
                WHERE c.run_id = p_run
                  AND c.rule = p_rule;
                SET o_state = 'again';
            END IF;
            IF v_windows THEN
                CALL setting_of(p_rule, 'batch_rows', v_batch);
                UPDATE run_rule AS p
                SET p.family_size = p.batch_families,
                    p.batch_families = v_batch,
                    p.halving = false,
                    p.cursor_time = IF(
                        v_key IS NULL AND v_time IS NOT NULL AND NOT v_around,
                        v_time,
                        TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_least))
                    ),
                    p.cursor_key = NULL,
                    p.updated_at = UTC_TIMESTAMP(6)
                WHERE p.run_id = p_run
                  AND p.rule = p_rule
                  -- Not where it was at the windows already, and comes back.
                  AND p.family_size IS NULL;
            END IF;
        END IF;
    END IF;
END;

-- next_rows: the part of a pass through single rows that follows the cursor of a sweep. One that starts again ends at the
-- place where it began.
--# create procedure next_rows
CREATE PROCEDURE next_rows(
    IN p_run bigint, IN p_rule varchar(64), IN p_cutoff datetime(6), IN p_rows bigint, OUT o_claim longtext, OUT o_place longtext
)
SQL SECURITY DEFINER
COMMENT 'The next p_rows rows of p_rule after the cursor of the sweep, as a JSON list, and the place of the last; NULL: none are left.'
BEGIN
    DECLARE v_around boolean;
    DECLARE v_number bigint;
    DECLARE v_start  longtext;
    DECLARE v_after  longtext;
    DECLARE v_pass   int;
    DECLARE v_last   int;
    SET o_claim = NULL;
    SELECT
        s.around, s.claims, s.start_place, s.place, COALESCE(JSON_VALUE(s.place, '$[0]'), 1),
        IF(s.around, COALESCE(JSON_VALUE(s.start_place, '$[0]'), 0), JSON_LENGTH(k.document, '$.passes')), r.as_of
    INTO v_around, v_number, v_start, v_after, v_pass, v_last, @windrow_as_of
    FROM sweep AS s
    JOIN rule AS k ON k.rule = s.rule
    JOIN run AS r ON r.run_id = p_run
    WHERE s.rule = p_rule;
    WHILE o_claim IS NULL AND v_pass <= v_last DO
        -- A place that names only the pass is before all rows of it.
        IF v_around AND v_pass = v_last AND JSON_LENGTH(v_start) = 1 THEN
            SET v_last = 0;
        ELSE
            SET v_after = COALESCE(v_after, CAST(JSON_ARRAY(v_pass) AS char));
            CALL single_claimed(p_rule, v_after, IF(v_around AND v_pass = v_last, v_start, NULL));
            DELETE FROM work_bound;
            SET @windrow_pass = v_pass, @windrow_limit = p_rows, @windrow_cutoff = p_cutoff;
            CALL perform(p_rule, 'reach', '@windrow_pass, @windrow_limit, @windrow_as_of, @windrow_cutoff');
            CALL single_place(p_rule, 'work_bound', o_place);
            IF o_place IS NOT NULL THEN
                SET o_claim = CAST(JSON_ARRAY(JSON_ARRAY(v_after, o_place, v_number)) AS char);
            END IF;
            SET v_pass = v_pass + 1, v_after = NULL;
        END IF;
    END WHILE;
END;

-- next_claim: what follows the cursor of a sweep: the roots of so many families; or of rows of one table that go by their
-- time, a window.
--# create procedure next_claim
CREATE PROCEDURE next_claim(
    IN    p_rule      varchar(64),
    IN    p_cutoff    datetime(6),
    IN    p_take      bigint,
    IN    p_families  bigint,
    IN    p_to_time   datetime(6),
    IN    p_to_key    varchar(700),
    IN    p_inherited longtext,
    INOUT o_time      datetime(6),
    INOUT o_key       varchar(700),
    OUT   o_claim     longtext
)
SQL SECURITY DEFINER
COMMENT 'p_take families, or rows of a window, at most p_families, after the cursor o_time and o_key, as a JSON list, and where they end;
    none of p_inherited, which a sweep that starts again has looked at. NULL: none are left. Reads only.'
BEGIN
    DECLARE v_strategy varchar(20);
    DECLARE v_plain    boolean;
    DECLARE v_first    varchar(700);
    DECLARE v_least    datetime(6);
    DECLARE v_found    bigint;
    DECLARE v_known    datetime(6);
    SET o_claim = NULL;
    SELECT
        r.strategy, JSON_CONTAINS(r.document, 'true', '$.plain') IS TRUE, JSON_VALUE(r.document, '$.first_key'),
        JSON_VALUE(r.document, '$.least')
    INTO v_strategy, v_plain, v_first, v_least
    FROM rule AS r
    WHERE r.rule = p_rule;
    SET o_time = COALESCE(o_time, v_least), o_key = COALESCE(o_key, v_first);
    -- A strategy that no rule has is not installed.
    IF v_strategy = 'end-time' THEN
        CALL end_time_from(o_time, o_key);
        CALL roots_end_time(p_rule, LEAST(p_take, p_families), p_to_time, p_to_key);
        SELECT COUNT(r.ended) INTO v_found FROM work_root AS r;
        IF v_found > 0 THEN
            SELECT r.ended, IF(@windrow_hexed, HEX(r.id), r.id)
            INTO o_time, o_key
            FROM work_root AS r
            ORDER BY r.ended DESC, r.id DESC
            LIMIT 1;
            -- What was looked at already is visited again.
            IF @windrow_hexed THEN
                INSERT INTO work_held (id)
                SELECT UNHEX(l.id) FROM JSON_TABLE(p_inherited, '$[*]' COLUMNS (id varchar(700) PATH '$[0]')) AS l;
            ELSE
                INSERT INTO work_held (id)
                SELECT l.id FROM JSON_TABLE(p_inherited, '$[*]' COLUMNS (id varchar(700) PATH '$[0]')) AS l;
            END IF;
            SELECT CONCAT('[', COALESCE(GROUP_CONCAT(
                CAST(JSON_ARRAY(IF(@windrow_hexed, HEX(r.id), CAST(r.id AS CHAR)), CAST(r.ended AS char)) AS char)
                ORDER BY r.ended, r.id SEPARATOR ', '), ''), ']')
            INTO o_claim
            FROM work_root AS r
            LEFT JOIN work_held AS h ON h.id = r.id
            WHERE h.id IS NULL;
        END IF;
    ELSEIF NOT v_plain THEN
        CALL next_timed(p_rule, p_cutoff, LEAST(p_take, p_families), p_to_time, p_to_key, o_time, o_key, v_found);
        IF v_found > 0 THEN
            IF @windrow_hexed THEN
                INSERT IGNORE INTO work_tied (id)
                SELECT UNHEX(l.id) FROM JSON_TABLE(p_inherited, '$[*]' COLUMNS (id varchar(700) PATH '$[0]')) AS l;
            ELSE
                INSERT IGNORE INTO work_tied (id)
                SELECT l.id FROM JSON_TABLE(p_inherited, '$[*]' COLUMNS (id varchar(700) PATH '$[0]')) AS l;
            END IF;
            SELECT CONCAT('[', COALESCE(GROUP_CONCAT(
                CAST(JSON_ARRAY(IF(@windrow_hexed, HEX(n.id), CAST(n.id AS CHAR)), CAST(n.due AS char)) AS char)
                ORDER BY n.due, n.id SEPARATOR ', '), ''), ']')
            INTO o_claim
            FROM work_next AS n
            LEFT JOIN work_tied AS h ON h.id = n.id
            WHERE h.id IS NULL;
        END IF;
    ELSE
        CALL window_timed(p_rule, o_time, LEAST(p_cutoff, COALESCE(p_to_time, p_cutoff)), p_take, p_families, v_known, o_time);
        SET o_key = NULL;
        IF v_known IS NOT NULL THEN
            SELECT COUNT(*), MAX(l.ended)
            INTO v_found, v_least
            FROM JSON_TABLE(p_inherited, '$[*]' COLUMNS (begins datetime(6) PATH '$[0]', ended datetime(6) PATH '$[1]')) AS l
            WHERE v_known >= l.begins
              AND v_known < l.ended;
            IF v_found > 0 THEN
                SET o_claim = '[]', o_time = v_least;
            ELSE
                SELECT LEAST(o_time, COALESCE(MIN(l.begins), o_time))
                INTO o_time
                FROM JSON_TABLE(p_inherited, '$[*]' COLUMNS (begins datetime(6) PATH '$[0]')) AS l
                WHERE l.begins > v_known;
                SET o_claim = CAST(JSON_ARRAY(JSON_ARRAY(CAST(v_known AS char), CAST(o_time AS char))) AS char);
            END IF;
        END IF;
    END IF;
END;

-- claim_more: the workers share out what is due: each claims what its next four batches take, in a transaction that does nothing
-- else.
--# create procedure claim_more
CREATE PROCEDURE claim_more(
    IN p_run bigint, IN p_rule varchar(64), IN p_cutoff datetime(6), IN p_take bigint, IN p_families bigint, OUT o_state varchar(1000)
)
SQL SECURITY DEFINER
COMMENT 'Claims what the next four batches take for the worker of run p_run, and commits; again, or what is to do where nothing is left.'
BEGIN
    DECLARE v_exhausted boolean;
    DECLARE v_time      datetime(6);
    DECLARE v_key       varchar(700);
    DECLARE v_to_time   datetime(6);
    DECLARE v_to_key    varchar(700);
    DECLARE v_inherited longtext;
    DECLARE v_claim     longtext;
    DECLARE v_place     longtext;
    DECLARE v_single    boolean;
    DECLARE v_text      varchar(40);
    SELECT r.strategy IN ('expiry', 'orphan', 'keep-last') INTO v_single FROM rule AS r WHERE r.rule = p_rule;
    claim: BEGIN
        DECLARE EXIT HANDLER FOR 1205, 1213
        BEGIN
            ROLLBACK;
            SET o_state = 'again';
        END;
        SELECT
            s.exhausted, IF(v_single, NULL, s.cursor_time), s.cursor_key, IF(s.around AND NOT v_single, s.start_time, NULL), s.start_key,
            IF(s.around, s.inherited, '[]')
        INTO v_exhausted, v_time, v_key, v_to_time, v_to_key, v_inherited
        FROM sweep AS s
        WHERE s.rule = p_rule
        FOR UPDATE;
        IF NOT v_exhausted AND v_single THEN
            CALL next_rows(p_run, p_rule, p_cutoff, 4 * p_take, v_claim, v_place);
            SET v_text = JSON_VALUE(v_place, '$[0]'), v_key = LEFT(JSON_UNQUOTE(JSON_EXTRACT(v_place, '$[1]')), 255);
        ELSEIF NOT v_exhausted THEN
            CALL next_claim(p_rule, p_cutoff, 4 * p_take, p_families, v_to_time, v_to_key, v_inherited, v_time, v_key, v_claim);
        END IF;
        IF v_claim IS NULL THEN
            CALL sweep_rest(p_run, p_rule, o_state);
        ELSE
            SET v_text = COALESCE(v_text, TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM v_time)));
            UPDATE sweep AS s
            SET s.cursor_time = v_text,
                s.cursor_key = v_key,
                s.place = v_place,
                s.claims = s.claims + 1
            WHERE s.rule = p_rule;
            UPDATE run_claim AS c
            SET c.claimed = v_claim
            WHERE c.run_id = p_run
              AND c.rule = p_rule;
            UPDATE run_rule AS p
            SET p.cursor_time = v_text,
                p.cursor_key = v_key,
                p.place = v_place,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            SET o_state = 'again';
        END IF;
        COMMIT;
    END claim;
END;

-- is_last: whether what a worker meets locked is looked at by nobody after it.
--# create procedure is_last
CREATE PROCEDURE is_last(IN p_run bigint, IN p_rule varchar(64), OUT o_last boolean)
SQL SECURITY DEFINER
COMMENT 'Whether run p_run is the last one at p_rule, or the only one of its sweep.'
BEGIN
    DECLARE v_others bigint;
    SELECT COUNT(o.run_id)
    INTO v_others
    FROM run_sweep AS s
    JOIN run_sweep AS o ON o.sweep_id = s.sweep_id AND o.run_id <> s.run_id
    WHERE s.run_id = p_run;
    SELECT c.is_last OR v_others = 0 INTO o_last FROM run_claim AS c WHERE c.run_id = p_run AND c.rule = p_rule;
END;

-- claim_later: what was locked by another worker perhaps, or is kept by such a row, is looked at once more when all others are
-- through.
--# create procedure claim_later
CREATE PROCEDURE claim_later(IN p_run bigint, IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Takes the roots that were locked from work_skip, and notes them for the last one at p_rule, unless that is run p_run.'
BEGIN
    DECLARE v_last    boolean;
    DECLARE v_ends    boolean;
    DECLARE v_crosses boolean;
    DECLARE v_left    longtext;
    CALL is_last(p_run, p_rule, v_last);
    -- Of a window, only a hold keeps rows.
    SELECT
        r.strategy = 'end-time', JSON_CONTAINS(r.document, 'true', '$.crosses') IS TRUE,
        v_last OR JSON_CONTAINS(r.document, 'true', '$.plain') IS TRUE
    INTO v_ends, v_crosses, v_last
    FROM rule AS r
    WHERE r.rule = p_rule;
    IF NOT v_last THEN
        IF v_ends THEN
            SELECT CONCAT('[', COALESCE(GROUP_CONCAT(CAST(JSON_ARRAY(k.skip_key, CAST(r.ended AS char)) AS char)
                ORDER BY k.position SEPARATOR ', '), ''), ']')
            INTO v_left
            FROM work_skip AS k
            JOIN work_root AS r ON IF(@windrow_hexed, HEX(r.id), CAST(r.id AS CHAR)) = k.skip_key
            WHERE k.reason IN ('LOCKED', 'SHARED_MEMBER');
        ELSE
            SELECT CONCAT('[', COALESCE(GROUP_CONCAT(CAST(JSON_ARRAY(k.skip_key, CAST(n.due AS char)) AS char)
                ORDER BY k.position SEPARATOR ', '), ''), ']')
            INTO v_left
            FROM work_skip AS k
            JOIN work_next AS n ON IF(@windrow_hexed, HEX(n.id), CAST(n.id AS CHAR)) = k.skip_key
            WHERE k.reason = 'LOCKED' OR k.reason = 'REFERENCED' AND v_crosses;
        END IF;
        IF v_left <> '[]' THEN
            UPDATE run_claim AS c
            SET c.left_keys = JSON_MERGE_PRESERVE(c.left_keys, v_left)
            WHERE c.run_id = p_run
              AND c.rule = p_rule;
            DELETE FROM work_skip WHERE reason IN ('LOCKED', 'SHARED_MEMBER') OR reason = 'REFERENCED' AND v_crosses;
        END IF;
    END IF;
END;

-- claim_done: what a batch leaves of a claim.
--# create procedure claim_done
CREATE PROCEDURE claim_done(
    IN p_run bigint, IN p_rule varchar(64), IN p_roots bigint, IN p_to datetime(6), OUT o_time varchar(40), OUT o_key varchar(700)
)
SQL SECURITY DEFINER
COMMENT 'Takes the first p_roots from the claim of run p_run, or where p_to is given, what lies before that of its first window. Answers
    the cursor of the sweep, which the claims have moved already: the next sweep continues after the last of them.'
BEGIN
    DECLARE v_claim longtext;
    DECLARE v_end   datetime(6);
    SELECT c.claimed, s.cursor_time, s.cursor_key
    INTO v_claim, o_time, o_key
    FROM run_claim AS c
    JOIN sweep AS s ON s.rule = c.rule
    WHERE c.run_id = p_run
      AND c.rule = p_rule;
    IF p_to IS NULL THEN
        SELECT CONCAT('[', COALESCE(GROUP_CONCAT(CAST(JSON_ARRAY(l.id, l.ended) AS char) ORDER BY l.position SEPARATOR ', '), ''), ']')
        INTO v_claim
        FROM JSON_TABLE(v_claim, '$[*]' COLUMNS (position FOR ORDINALITY, id varchar(700) PATH '$[0]', ended varchar(40) PATH '$[1]')) AS l
        WHERE l.position > p_roots;
    ELSE
        SET v_end = JSON_VALUE(v_claim, '$[0][1]');
        SET v_claim = IF(p_to >= v_end, JSON_REMOVE(v_claim, '$[0]'), JSON_SET(v_claim, '$[0][0]', CAST(p_to AS char)));
    END IF;
    UPDATE run_claim AS c
    SET c.claimed = v_claim
    WHERE c.run_id = p_run
      AND c.rule = p_rule;
END;

-- claim_moved: what a batch leaves of a part of a pass.
--# create procedure claim_moved
CREATE PROCEDURE claim_moved(
    IN p_run bigint, IN p_rule varchar(64), INOUT p_place longtext, OUT o_pass varchar(40), OUT o_key varchar(700)
)
SQL SECURITY DEFINER
COMMENT 'The claim of run p_run begins at p_place; NULL: nothing is left of it. Answers the cursor of the sweep.'
BEGIN
    DECLARE v_claim longtext;
    SELECT c.claimed INTO v_claim FROM run_claim AS c WHERE c.run_id = p_run AND c.rule = p_rule;
    SET v_claim = IF(
        COALESCE(p_place = JSON_UNQUOTE(JSON_EXTRACT(v_claim, '$[0][1]')), true), JSON_REMOVE(v_claim, '$[0]'),
        JSON_SET(v_claim, '$[0][0]', p_place)
    );
    UPDATE run_claim AS c
    SET c.claimed = v_claim
    WHERE c.run_id = p_run
      AND c.rule = p_rule;
    SELECT s.cursor_time, s.cursor_key, s.place INTO o_pass, o_key, p_place FROM sweep AS s WHERE s.rule = p_rule;
END;

-- claims_left: what was locked, where nobody will look at it once more: also of workers that have ended before.
--# create procedure claims_left
CREATE PROCEDURE claims_left(IN p_run bigint, IN p_rule varchar(64), OUT o_left longtext)
SQL SECURITY DEFINER
COMMENT 'What the workers of the sweep of run p_run left in p_rule because it was locked, as a JSON list, where none has still to look.'
BEGIN
    DECLARE v_other varchar(200);
    SET o_left = '[]';
    CALL at_others(p_run, p_rule, NULL, v_other);
    IF v_other IS NULL THEN
        SELECT CONCAT('[', COALESCE(GROUP_CONCAT(k.entry ORDER BY k.entry SEPARATOR ', '), ''), ']')
        INTO o_left
        FROM (
            SELECT DISTINCT CAST(JSON_ARRAY(l.id, l.ended) AS char) AS entry
            FROM sweep AS s
            JOIN run_sweep AS o ON o.sweep_id = s.sweep_id
            JOIN run_claim AS c ON c.run_id = o.run_id AND c.rule = p_rule
            JOIN JSON_TABLE(c.left_keys, '$[*]' COLUMNS (id longtext PATH '$[0]', ended longtext PATH '$[1]')) AS l
            WHERE s.rule = p_rule
              AND NOT s.handed_out
        ) AS k;
        -- They count once.
        IF o_left <> '[]' THEN
            UPDATE sweep AS s
            JOIN run_sweep AS o ON o.sweep_id = s.sweep_id
            JOIN run_claim AS c ON c.run_id = o.run_id AND c.rule = p_rule
            SET c.left_keys = '[]'
            WHERE s.rule = p_rule;
        END IF;
    END IF;
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
    UPDATE run_claim AS c SET c.through = true WHERE c.run_id = p_run AND c.rule = p_rule;
END;

-- leave_rules: a worker whose run ends is through with the rules that it does not come to any more, or had put off. What others left
-- there as locked is told by it, if none has still to look.
--# create procedure leave_rules
CREATE PROCEDURE leave_rules(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Run p_run is through with all rules that it did not finish. Each in a transaction of its own.'
BEGIN
    DECLARE v_rule  varchar(64);
    DECLARE v_ended boolean;
    DECLARE v_keys  bigint;
    DECLARE v_more  boolean DEFAULT true;
    WHILE v_more DO
        CALL begin_ledger();
        SELECT MIN(c.rule) INTO v_rule FROM run_claim AS c WHERE c.run_id = p_run AND NOT c.through;
        SET v_more = v_rule IS NOT NULL;
        IF v_more THEN
            CALL sweep_leave(p_run, v_rule, NULL, v_ended);
            SELECT COUNT(*)
            INTO v_keys
            FROM run_sweep AS s
            JOIN run_sweep AS o ON o.sweep_id = s.sweep_id
            JOIN run_claim AS c ON c.run_id = o.run_id AND c.rule = v_rule AND c.left_keys <> '[]'
            WHERE s.run_id = p_run;
            IF v_keys > 0 THEN
                CALL open_rule(v_rule);
                CALL finish(p_run, v_rule, NULL);
                CALL close_rule(v_rule);
            END IF;
        END IF;
        COMMIT;
    END WHILE;
END;

-- sweep_part: a worker leaves a rule that waits for another one, and comes back. What it has claimed stays its own, unless nobody else
-- is at the rule when nothing is left there to claim. If it was that last one, the next one to come is.
--# create procedure sweep_part
CREATE PROCEDURE sweep_part(IN p_run bigint, IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Run p_run leaves p_rule for a while, with what it has claimed.'
BEGIN
    DECLARE v_there  bigint;
    DECLARE v_length int;
    DECLARE v_last   boolean;
    SELECT COUNT(*) INTO v_there FROM run_sweep AS s WHERE s.run_id = p_run AND s.at_rule = p_rule;
    IF v_there > 0 THEN
        SET SESSION innodb_lock_wait_timeout = 600;
        SELECT LENGTH(s.rule) INTO v_length FROM sweep AS s WHERE s.rule = p_rule FOR UPDATE;
        SELECT c.is_last OR c.alone INTO v_last FROM run_claim AS c WHERE c.run_id = p_run AND c.rule = p_rule;
        IF v_last THEN
            UPDATE sweep AS s SET s.handed_out = false WHERE s.rule = p_rule;
            UPDATE run_claim AS c SET c.is_last = false, c.alone = false WHERE c.run_id = p_run AND c.rule = p_rule;
        END IF;
        UPDATE run_sweep AS s SET s.at_rule = NULL WHERE s.run_id = p_run;
    END IF;
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
