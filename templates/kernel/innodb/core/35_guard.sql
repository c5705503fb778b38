-- rule_pause: rules that runs pass over.
--# create table rule_pause
CREATE TABLE IF NOT EXISTS rule_pause (
    rule      varchar(64)  NOT NULL PRIMARY KEY,
    reason    text,
    paused_by varchar(400) NOT NULL DEFAULT (USER()),
    paused_at datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Rules that runs skip. Read again before every batch. Written by pause_rule() and resume_rule().';

-- refusal: why a server starts no scheduled run. A row changes when the reason does, not with every refusal.
--# create table refusal
CREATE TABLE IF NOT EXISTS refusal (
    server varchar(700) NOT NULL PRIMARY KEY,
    reason text         NOT NULL,
    since  datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Why a server, by its identity_of(false), refuses scheduled runs, and since when. The row is deleted when such a run
        starts there.';

-- scheduling: what the latest runs mean for the next scheduled one; the ledger says it, and nothing else counts.
-- A run is broken that an error ended, or that crashed. One is empty that found nothing left and deleted nothing, for
-- another reason than locks. Both count in a row since somebody armed windrow; a run by hand that is not broken ends the row.
-- At most 808 runs are read, backwards along the key, before anything is joined: a server that joins first reads the ledger whole. No
-- window functions, and subqueries about a row only beside a LIMIT: MariaDB answers wrongly, or not at all, when a routine reads such a
-- view again.
--# create view scheduling
CREATE OR REPLACE SQL SECURITY INVOKER VIEW scheduling (failed_runs, suspended, last_error, empty_runs, idle_until) AS
WITH sweeps AS (
    SELECT g.sweep_id, g.is_broken, g.broken_run, g.is_empty, g.ended
    FROM (
        -- One worker that fails is enough; that others do not, does not make up for it.
        SELECT
            COALESCE(w.sweep_id, r.run_id) AS sweep_id,
            MAX(r.is_broken) AS is_broken,
            MAX(IF(r.is_broken AND r.is_scheduled AND r.started_at > c.armed_at, r.run_id, NULL)) AS broken_run,
            MIN(r.is_empty AND r.is_scheduled AND COALESCE(r.started_at > c.armed_at, false)) AS is_empty,
            MAX(r.finished_at) AS ended
        FROM (
            SELECT
                a.run_id, a.started_at, a.finished_at,
                -- What was written by a clock that was ahead does not count.
                a.`trigger` = 'SCHEDULED' AND COALESCE(a.finished_at, a.started_at) <= UTC_TIMESTAMP(6) AS is_scheduled,
                a.status = 'crashed' OR COALESCE(a.reason LIKE 'error %', false) AS is_broken,
                COALESCE(a.reason = 'nothing left', false)
                    AND NOT EXISTS (SELECT 1 FROM run_rule AS p WHERE p.run_id = a.run_id AND p.deleted_rows > 0)
                    AND NOT EXISTS (
                        SELECT 1
                        FROM run_sweep AS m
                        JOIN run_sweep AS o ON o.sweep_id = m.sweep_id
                        JOIN run_rule AS p ON p.run_id = o.run_id
                        WHERE m.run_id = a.run_id
                          AND p.deleted_rows > 0
                    )
                    AND NOT EXISTS (SELECT 1 FROM run_skip AS k WHERE k.run_id = a.run_id AND k.reason = 'LOCKED') AS is_empty
            FROM run AS a
            WHERE a.`trigger` NOT IN ('PURGE', 'STAMP')
              AND NOT a.dry_run
              AND a.status NOT IN ('running', 'cancelled')
            ORDER BY a.run_id DESC
            LIMIT 808
        ) AS r
        CROSS JOIN control AS c
        CROSS JOIN spec AS s
        -- The runs of a sweep count as one.
        LEFT JOIN run_sweep AS w ON w.run_id = r.run_id
        -- One run more than may count in a row; of several workers as many for each: there are no more than 8.
        WHERE s.workers > 1
           OR r.run_id >= COALESCE((
               SELECT a.run_id
               FROM run AS a
               WHERE a.`trigger` NOT IN ('PURGE', 'STAMP')
                 AND NOT a.dry_run
                 AND a.status NOT IN ('running', 'cancelled')
               ORDER BY a.run_id DESC
               LIMIT 1 OFFSET 100
           ), 0)
        GROUP BY COALESCE(w.sweep_id, r.run_id)
    ) AS g
    -- Of a sweep that is under way, nothing else is known yet.
    WHERE g.is_broken
       OR g.sweep_id NOT IN (SELECT o.sweep_id FROM run AS r JOIN run_sweep AS o ON o.run_id = r.run_id WHERE r.status = 'running')
),
streaks AS (
    SELECT
        COUNT(IF(w.sweep_id > l.good, w.broken_run, NULL)) AS failures,
        MAX(IF(w.sweep_id > l.good, w.broken_run, NULL)) AS broken_run,
        COUNT(IF(w.sweep_id > l.busy, 1, NULL)) AS idle,
        MAX(IF(w.sweep_id > l.busy, w.ended, NULL)) AS ended
    FROM sweeps AS w
    CROSS JOIN (SELECT MAX(IF(o.is_broken, 0, o.sweep_id)) AS good, MAX(IF(o.is_empty, 0, o.sweep_id)) AS busy FROM sweeps AS o) AS l
),
bounds AS (
    -- Off is not the smallest: it is off where all rules have it off.
    SELECT COALESCE(MIN(IF(s.name = 'suspend_after', s.value, NULL)), 0) AS suspend_after,
        COALESCE(MIN(IF(s.name = 'back_off_max', s.value, NULL)), 0) AS back_off_max
    FROM settings AS s
    WHERE s.value > 0
)
SELECT
    t.failures,
    b.suspend_after > 0 AND t.failures >= b.suspend_after,
    (SELECT r.reason FROM run AS r WHERE r.run_id = t.broken_run),
    t.idle,
    IF(b.back_off_max > 0, t.ended + INTERVAL CAST(LEAST(b.back_off_max, 10 * POW(2, t.idle - 1)) AS signed) SECOND, NULL)
FROM streaks AS t
CROSS JOIN bounds AS b;

-- pause_rule, resume_rule: a switch for one rule. A run in progress obeys before its next batch, and continues with other rules. The
-- document is of the row as it is now: the caller's transaction may have begun long ago.
--# create procedure pause_document
CREATE PROCEDURE pause_document(IN p_rule varchar(64), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'The pause of a rule as a JSON document; NULL if it is not paused.'
BEGIN
    SELECT MAX(CONCAT(
        '{"rule": ', COALESCE(JSON_QUOTE(p.rule), 'null'),
        ', "reason": ', COALESCE(JSON_QUOTE(p.reason), 'null'),
        ', "paused_by": ', COALESCE(JSON_QUOTE(p.paused_by), 'null'),
        ', "paused_at": ', COALESCE(CONCAT('"', DATE_FORMAT(p.paused_at, '%Y-%m-%dT%T'),
            TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(p.paused_at, '.%f'))), '+00:00"'), 'null'), '}'
    ))
    INTO o_document
    FROM rule_pause AS p
    WHERE p.rule = p_rule
    LOCK IN SHARE MODE;
END;
--# create procedure pause_rule
CREATE PROCEDURE pause_rule(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Makes runs skip a rule, from the next batch on. Example: CALL pause_rule(''{"rule": "a_rule", "reason": "audit"}'');'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_reason longtext;
    DECLARE v_document longtext;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL check_options(p_options, '["rule", "reason"]');
    CALL check_rule(p_options, v_rule);
    CALL option_of(p_options, 'reason', v_reason);
    SET v_reason = LEFT(v_reason, 10000);
    INSERT INTO rule_pause (rule, reason, paused_by, paused_at)
    VALUES (v_rule, v_reason, USER(), UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
        reason = v_reason,
        paused_by = USER(),
        paused_at = UTC_TIMESTAMP(6);
    CALL pause_document(v_rule, v_document);
    CALL unsettle(v_session);
    SELECT v_document AS p_result;
END;
--# create procedure resume_rule
CREATE PROCEDURE resume_rule(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Ends the pause of a rule and returns it. Example: CALL resume_rule(''{"rule": "a_rule"}'');'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_document longtext;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL check_options(p_options, '["rule"]');
    CALL check_decided(p_options, v_rule);
    CALL pause_document(v_rule, v_document);
    IF v_document IS NULL THEN
        CALL refuse(CONCAT('rule ', v_rule, ' is not paused'), 'resume() ends a pause of everything');
    END IF;
    DELETE FROM rule_pause WHERE rule = v_rule;
    CALL unsettle(v_session);
    SELECT v_document AS p_result;
END;

-- rule_paused: why a rule is skipped.
--# create procedure rule_paused
CREATE PROCEDURE rule_paused(IN p_rule varchar(64), OUT o_reason varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Why the rule is passed over: who paused it, since when and why; NULL if nobody did.'
BEGIN
    SELECT MAX(LEFT(CONCAT('rule ', c.rule, ' is paused by ', c.paused_by, ' since ', DATE_FORMAT(c.paused_at, '%Y-%m-%dT%TZ'), ': ',
        COALESCE(c.reason, 'no reason given')), 1000))
    INTO o_reason
    FROM rule_pause AS c
    WHERE c.rule = p_rule;
END;

-- note_refusal: what refuses a scheduled run on this server is written down once, not at every start, and anew where a run has begun
-- meanwhile: those who watch count only what came after it.
--# create procedure note_refusal
CREATE PROCEDURE note_refusal(IN p_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Writes to table refusal why this server refuses scheduled runs; NULL: it does not.'
BEGIN
    DECLARE v_server varchar(700);
    DECLARE v_known text;
    CALL identity_of(false, v_server);
    SELECT MAX(f.reason)
    INTO v_known
    FROM refusal AS f
    WHERE f.server = v_server
      AND (
          p_reason IS NULL
          OR f.since > COALESCE((
              SELECT r.started_at FROM run AS r WHERE NOT r.dry_run AND r.`trigger` NOT IN ('PURGE', 'STAMP') ORDER BY r.run_id DESC LIMIT 1
          ), '1000-01-01')
      );
    IF p_reason IS NULL AND v_known IS NOT NULL THEN
        DELETE FROM refusal WHERE server = v_server;
    ELSEIF NOT p_reason <=> v_known THEN
        INSERT INTO refusal (server, reason, since)
        VALUES (v_server, p_reason, UTC_TIMESTAMP(6))
        ON DUPLICATE KEY UPDATE
            reason = p_reason,
            since = UTC_TIMESTAMP(6);
    END IF;
END;

-- note_error: an error before a scheduled run begins refuses it, too: its caller may be a job whose errors nobody reads. Not at READ
-- COMMITTED, at which nothing is written where binlog_format is STATEMENT.
--# create procedure note_error
CREATE PROCEDURE note_error(IN p_options longtext, IN p_error longtext)
SQL SECURITY DEFINER
COMMENT 'Writes to table refusal that a scheduled run with these options did not begin because of an error, in a transaction of its own.'
BEGIN
    DECLARE v_trigger longtext;
    DECLARE v_dry_run longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION ROLLBACK;
    CALL option_of(p_options, 'trigger', v_trigger);
    CALL option_of(p_options, 'dry_run', v_dry_run);
    IF v_trigger = 'SCHEDULED' AND NOT v_dry_run <=> 'true' THEN
        SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE;
        START TRANSACTION;
        CALL note_refusal(p_error);
        COMMIT;
    END IF;
END;

-- check_armed: a manual run and a purge get an error where nobody armed windrow.
--# create procedure check_armed
CREATE PROCEDURE check_armed()
SQL SECURITY DEFINER
COMMENT 'Raises 55000 where not_armed() finds something.'
BEGIN
    DECLARE v_reason longtext;
    CALL not_armed(v_reason);
    IF v_reason LIKE 'not armed%' THEN
        CALL not_ready(v_reason, CONCAT('preview, then CALL ', DATABASE(), '.arm()'));
    ELSEIF v_reason LIKE 'armed%' THEN
        CALL not_ready(v_reason, CONCAT('this looks like a copy; if it is to be cleaned too: CALL ', DATABASE(), '.arm()'));
    ELSEIF v_reason LIKE '%is not seen%' THEN
        CALL not_ready(SUBSTRING_INDEX(v_reason, ': ', 1), SUBSTR(v_reason, LOCATE(': ', v_reason) + 2));
    ELSEIF v_reason IS NOT NULL THEN
        CALL not_ready(
            v_reason, 'where it is still the source, arm it again, or let a replica follow it; where it is not, make it a replica'
        );
    END IF;
END;

-- held_back: why no run may start now. Where nobody armed windrow on this server, a scheduled run is refused without an
-- error: a replica that was promoted, a restored copy or another node of a cluster would fill the ledger with them.
--# create procedure held_back
CREATE PROCEDURE held_back(IN p_options longtext, IN p_dry_run boolean, OUT o_refused longtext)
SQL SECURITY DEFINER
COMMENT 'Why no run with these options may start now: a read-only server, a pause, and for scheduled runs also a server
    where nobody armed windrow, something in the catalog that the spec does not know or a closed window; NULL if nothing
    keeps it.'
BEGIN
    DECLARE v_paused boolean;
    DECLARE v_text   longtext;
    DECLARE v_open   boolean;
    SELECT c.paused,
        CONCAT('paused by ', c.paused_by, ' since ', DATE_FORMAT(c.paused_at, '%Y-%m-%dT%TZ'), ': ',
        COALESCE(c.paused_reason, 'no reason given'))
    INTO v_paused, v_text
    FROM control AS c;
    IF CAST(@@GLOBAL.read_only AS char) NOT IN ('0', 'OFF') THEN
        SET o_refused = 'the server is read-only';
    ELSEIF v_paused THEN
        SET o_refused = v_text;
    ELSE
        -- Not one of the rules may be worked on.
        CALL option_of(p_options, 'rule', v_text);
        SELECT IF(
            COUNT(p.rule) = COUNT(*),
            GROUP_CONCAT('rule ', p.rule, ' is ',
                CONCAT('paused by ', p.paused_by, ' since ', DATE_FORMAT(p.paused_at, '%Y-%m-%dT%TZ'), ': ',
                COALESCE(p.reason, 'no reason given')) ORDER BY r.position SEPARATOR '; '),
            NULL
        )
        INTO o_refused
        FROM rule AS r
        LEFT JOIN rule_pause AS p ON p.rule = r.rule
        WHERE r.rule = COALESCE(v_text, r.rule);
    END IF;
    CALL option_of(p_options, 'trigger', v_text);
    IF v_text = 'SCHEDULED' AND NOT o_refused <=> 'the server is read-only' THEN
        IF o_refused IS NULL AND NOT p_dry_run THEN
            CALL not_armed(o_refused);
        END IF;
        IF o_refused IS NULL THEN
            CALL unaccounted(o_refused);
        END IF;
        IF o_refused IS NULL THEN
            CALL window_at(UTC_TIMESTAMP(6), v_open);
            IF NOT v_open THEN
                SELECT CONCAT('no window is open: ', GROUP_CONCAT(h.written ORDER BY h.position SEPARATOR ', ')) INTO o_refused
                    FROM open_hours AS h;
            END IF;
        END IF;
        IF o_refused IS NOT NULL THEN
            CALL note_refusal(o_refused);
        END IF;
    END IF;
END;

-- kept_back: why no scheduled run starts now, by the latest ones.
--# create procedure kept_back
CREATE PROCEDURE kept_back(OUT o_refused longtext)
SQL SECURITY DEFINER
COMMENT 'Why no scheduled run starts now: suspended after failures, or a back-off after runs that found nothing left; NULL if one may.'
BEGIN
    SELECT CASE
        WHEN s.suspended THEN CONCAT('suspended after ', s.failed_runs, ' failed runs in a row, the last one: ', s.last_error)
        WHEN s.idle_until > UTC_TIMESTAMP(6)
            THEN CONCAT('nothing left, runs in a row: ', s.empty_runs, '; back-off until ', DATE_FORMAT(s.idle_until, '%Y-%m-%dT%TZ'))
    END
    INTO o_refused
    FROM scheduling AS s;
END;
