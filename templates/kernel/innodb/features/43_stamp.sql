-- Sets removal times, on demand. The verbs of a rule: stamp_type, stamp_todo, stamp_rows, stamp_set; with the name of what
-- is stamped besides the families of the rule in front of them, where it is not these.

-- check_stamp_options: the options of stamp(), checked before anything happens. Answers the rule, and of what.
--# create procedure check_stamp_options
CREATE PROCEDURE check_stamp_options(IN p_options longtext, OUT o_rule varchar(64), OUT o_of varchar(64))
SQL SECURITY DEFINER
COMMENT 'Raises 22023 with a hint for an option of stamp() that makes no sense; answers the rule and the option of.'
BEGIN
    DECLARE v_text    longtext;
    DECLARE v_flag    boolean;
    DECLARE v_to      datetime(6);
    DECLARE v_seconds bigint;
    DECLARE v_count   integer;
    DECLARE v_place   integer DEFAULT 0;
    DECLARE v_rules   longtext;
    DECLARE v_others  longtext;
    DECLARE v_zone    varchar(64);
    SELECT
        COUNT(DISTINCT r.rule), GROUP_CONCAT(DISTINCT r.rule ORDER BY r.position SEPARATOR ', '),
        GROUP_CONCAT(CONCAT(r.rule, '.', s.of_name) ORDER BY r.position, s.place SEPARATOR ', ')
    INTO v_count, v_rules, v_others
    FROM rule AS r
    JOIN JSON_TABLE(r.document, '$.stamps[*]' COLUMNS (place FOR ORDINALITY, of_name varchar(64) PATH '$.of')) AS s;
    CALL check_options(p_options, CONCAT(
        '["rule", "to", "calculated", "default", "clear", "key", "missing", "all", "hierarchical", "chunk", "time_budget", "dry_run"',
        IF(v_others IS NULL, '', ', "of"'), ']'
    ));
    CALL option_of(p_options, 'rule', v_text);
    IF v_count = 1 THEN
        SET v_text = COALESCE(v_text, v_rules);
    END IF;
    IF v_text IS NULL OR NOT EXISTS (
        SELECT 1 FROM rule AS r WHERE r.rule = v_text AND JSON_CONTAINS_PATH(r.document, 'one', '$.stamps[0]')
    ) THEN
        CALL refuse(CONCAT('no such rule with removal times to set: ', QUOTE(v_text)), CONCAT('the rules are: ', v_rules));
    END IF;
    SET o_rule = v_text;
    CALL option_of(p_options, 'of', v_text);
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.of')
        AND (FIND_IN_SET(CONCAT(o_rule, '.', v_text), REPLACE(v_others, ', ', ',')) > 0) IS NOT TRUE THEN
        CALL refuse(
            CONCAT('rule ', o_rule, ' has no such removal times to set: ', QUOTE(v_text)),
            CONCAT('of is the last part of one of these: ', v_others)
        );
    END IF;
    SET o_of = v_text;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.to') + JSON_CONTAINS_PATH(p_options, 'one', '$.calculated')
        + JSON_CONTAINS_PATH(p_options, 'one', '$.clear') <> 1 THEN
        CALL refuse(
            'not one of to, calculated and clear', 'write {"to": "2027-01-01T00:00:00Z"}, {"calculated": "end"} or {"clear": true}'
        );
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.key') + JSON_CONTAINS_PATH(p_options, 'one', '$.missing')
        + JSON_CONTAINS_PATH(p_options, 'one', '$.all') <> 1 THEN
        CALL refuse('not one of key, missing and all', 'write {"key": [17, 18]}, {"missing": true} or {"all": true}');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.to') THEN
        CALL option_of(p_options, 'to', v_text);
        CALL instant_of(v_text, v_to);
        -- Whole seconds of four-digit years: what every server stores alike.
        IF v_to IS NULL OR v_to < '1970-01-02 00:00:00' OR v_to >= '9999-01-01 00:00:00' OR MICROSECOND(v_to) > 0 THEN
            CALL refuse(
                CONCAT('to is not an instant in whole seconds: ', QUOTE(v_text)),
                'write it like 2027-01-01T00:00:00Z; without a zone it is UTC'
            );
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.calculated') THEN
        CALL option_of(p_options, 'calculated', v_text);
        IF (v_text IN ('start', 'end')) IS NOT TRUE THEN
            CALL refuse(CONCAT('calculated is neither start nor end: ', QUOTE(v_text)), 'write {"calculated": "end"}');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.default') THEN
        CALL option_of(p_options, 'default', v_text);
        CALL seconds(v_text, v_seconds);
        IF v_seconds IS NULL OR NOT JSON_CONTAINS_PATH(p_options, 'one', '$.calculated') THEN
            CALL refuse(
                CONCAT('default is not the time to live of a calculated removal time: ', QUOTE(v_text)),
                'write {"calculated": "end", "default": "30d"}'
            );
        END IF;
    END IF;
    CALL flag_of(p_options, 'clear', v_flag);
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.clear') AND v_flag IS NOT TRUE THEN
        CALL refuse('clear is not true', 'write {"clear": true}, or leave it out');
    END IF;
    CALL flag_of(p_options, 'missing', v_flag);
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.missing') AND v_flag IS NOT TRUE THEN
        CALL refuse('missing is not true', 'write {"missing": true}, or leave it out');
    END IF;
    CALL flag_of(p_options, 'all', v_flag);
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.all') AND v_flag IS NOT TRUE THEN
        CALL refuse('all is not true', 'write {"all": true}, or leave it out');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.hierarchical') AND JSON_TYPE(JSON_EXTRACT(p_options, '$.hierarchical')) <> 'BOOLEAN' THEN
        CALL refuse(
            CONCAT('hierarchical is not true or false: ', JSON_EXTRACT(p_options, '$.hierarchical')), 'write {"hierarchical": false}'
        );
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.dry_run') AND JSON_TYPE(JSON_EXTRACT(p_options, '$.dry_run')) <> 'BOOLEAN' THEN
        CALL refuse(CONCAT('dry_run is not true or false: ', JSON_EXTRACT(p_options, '$.dry_run')), 'write {"dry_run": true}');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.chunk') THEN
        CALL option_of(p_options, 'chunk', v_text);
        IF (v_text REGEXP '^[1-9][0-9]{0,3}\\z') IS NOT TRUE THEN
            CALL refuse(CONCAT('chunk is not a number from 1 to 9999: ', QUOTE(v_text)), 'write it like {"chunk": 200}');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.time_budget') THEN
        CALL option_of(p_options, 'time_budget', v_text);
        CALL seconds(v_text, v_seconds);
        IF COALESCE(v_seconds, 0) <= 0 THEN
            CALL refuse(CONCAT('time_budget is not a duration above 0: ', QUOTE(v_text)), 'write it like {"time_budget": "10m"}');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.key') THEN
        SET v_count = IF(JSON_TYPE(JSON_EXTRACT(p_options, '$.key')) = 'ARRAY', JSON_LENGTH(p_options, '$.key'), 0);
        IF v_count = 0 THEN
            CALL refuse('the option key is not a list of keys', 'write it like {"key": [17, 18]}');
        END IF;
        WHILE v_place < v_count DO
            SET v_text = JSON_UNQUOTE(JSON_EXTRACT(p_options, CONCAT('$.key[', v_place, ']')));
            CALL check_key(CONCAT_WS('.', o_rule, o_of), v_text);
            SET v_place = v_place + 1;
        END WHILE;
    END IF;
    SELECT JSON_VALUE(s.document, '$.named_zone') INTO v_zone FROM spec AS s;
    IF v_zone IS NOT NULL AND CONVERT_TZ('2026-01-01 00:00:00', '+00:00', v_zone) IS NULL THEN
        CALL not_ready(
            CONCAT('the server does not know the time zone ', v_zone),
            CONCAT('load the zones with ', /*!80000 'mysql_tzinfo_to_sql' */ /*M! 'mariadb-tzinfo-to-sql' */)
        );
    END IF;
END;

-- search_stamp: what a stamp is to go through: the families, or the instances where p_whole is false.
--# create procedure search_stamp
CREATE PROCEDURE search_stamp(IN p_rule varchar(64), IN p_of varchar(64), IN p_options longtext, IN p_whole boolean)
SQL SECURITY DEFINER
COMMENT 'Fills work_todo with what the options of a stamp name, in the order of its keys, and work_named with the option key.'
BEGIN
    CALL perform(p_rule, CONCAT_WS('_', p_of, 'stamp_type'), '');
    DROP TEMPORARY TABLE IF EXISTS work_todo, work_named;
    CREATE TEMPORARY TABLE work_todo (
        position bigint NOT NULL AUTO_INCREMENT,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_named (
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    SET @windrow_whole = p_whole,
        @windrow_named = JSON_CONTAINS_PATH(p_options, 'one', '$.key'),
        @windrow_all = JSON_CONTAINS_PATH(p_options, 'one', '$.all');
    IF @windrow_named THEN
        INSERT IGNORE INTO work_named (id)
        SELECT k.id FROM JSON_TABLE(p_options, '$.key[*]' COLUMNS (id varchar(700) PATH '$')) AS k;
    END IF;
    CALL perform(p_rule, CONCAT_WS('_', p_of, 'stamp_todo'), '@windrow_whole, @windrow_named, @windrow_all');
END;

-- stamp_leave: the work tables of a stamp are dropped.
--# create procedure stamp_leave
CREATE PROCEDURE stamp_leave()
SQL SECURITY DEFINER
COMMENT 'Drops the work tables of a stamp.'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS
        work_type, work_todo, work_named, work_batch, work_member, work_base, work_found, work_time, work_skip;
END;

-- stamp_tables: the work tables of one batch, empty.
--# create procedure stamp_tables
CREATE PROCEDURE stamp_tables()
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of one batch of a stamp anew, with the types of work_type.'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS work_batch, work_member, work_base, work_found, work_time, work_skip;
    -- What the batch is about, the rows of the root table that it locks, with their family and whether they lack a time, and the
    -- roots of these families.
    CREATE TEMPORARY TABLE work_batch (
        position bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_member (
        lacks boolean NOT NULL DEFAULT false,
        PRIMARY KEY (id),
        KEY (family)
    ) ENGINE = InnoDB AS
    SELECT k.id, k.id AS family FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_base (
        starts datetime(6),
        ends datetime(6),
        live bigint,
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id FROM work_type AS k LIMIT 0;
    -- The removal time of each, or why it has none, and that of all instances.
    CREATE TEMPORARY TABLE work_found (
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id, k.id AS family, k.due FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_time (
        root boolean NOT NULL DEFAULT false,
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT k.id, k.id AS family, k.due FROM work_type AS k LIMIT 0;
    CREATE TEMPORARY TABLE work_skip (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
END;

-- stamp_times: the removal times of the families or instances in work_batch, whose rows it locks.
--# create procedure stamp_times
CREATE PROCEDURE stamp_times(
    IN p_rule varchar(64), IN p_of varchar(64), IN p_options longtext, IN p_whole boolean, OUT o_families bigint
)
SQL SECURITY DEFINER
COMMENT 'Locks the rows of what is in work_batch; fills work_time with the times that the options say, work_skip with what has none.'
BEGIN
    DECLARE v_base    longtext;
    DECLARE v_default bigint;
    DECLARE v_to      datetime(6);
    DECLARE v_text    longtext;
    DECLARE v_offset  integer;
    DECLARE v_zone    varchar(64);
    CALL option_of(p_options, 'calculated', v_base);
    CALL option_of(p_options, 'default', v_text);
    CALL seconds(v_text, v_default);
    CALL option_of(p_options, 'to', v_text);
    CALL instant_of(v_text, v_to);
    -- As the application writes it.
    SELECT s.zone_offset, JSON_VALUE(p.document, '$.named_zone')
    INTO v_offset, v_zone
    FROM spec AS p
    CROSS JOIN rule AS r
    JOIN JSON_TABLE(r.document, '$.stamps[*]' COLUMNS (of_name varchar(64) PATH '$.of', zone_offset int PATH '$.offset')) AS s
    WHERE r.rule = p_rule
      AND s.of_name <=> p_of;
    IF v_offset IS NULL THEN
        -- From 2038 on the servers convert nothing, or know no summer. The rules of the zone are those of the last years before: on
        -- that day of one of these, whatever day of the week it was, the clock was ahead so far. Nothing is due too early then.
        SELECT MAX(TIMESTAMPDIFF(SECOND, k.at, CONVERT_TZ(k.at, '+00:00', v_zone)))
        INTO v_offset
        FROM (
            SELECT v_to - INTERVAL GREATEST(CAST(YEAR(v_to) AS signed) - y.number, 0) YEAR AS at
            FROM JSON_TABLE('[2027, 2028, 2029, 2030, 2031, 2032, 2033, 2034, 2035, 2036, 2037]', '$[*]' COLUMNS (number int PATH '$')) AS y
            WHERE YEAR(v_to) > 2037
               OR y.number = 2037
        ) AS k;
    END IF;
    SET v_to = v_to + INTERVAL v_offset SECOND;
    SET @windrow_whole = p_whole;
    CALL perform(p_rule, CONCAT_WS('_', p_of, 'stamp_rows'), '@windrow_whole');
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.missing') THEN
        -- What lacked a time when it was searched may have got one since.
        DELETE FROM work_batch WHERE id NOT IN (SELECT IF(p_whole, m.family, m.id) FROM work_member AS m WHERE m.lacks);
    END IF;

    -- A calculated time counts from the root of the family. What cannot be calculated is left unchanged.
    INSERT INTO work_found (id, family, due, reason)
    SELECT
        c.id, c.family,
        IF(v_base IS NULL, v_to, c.base + INTERVAL c.live SECOND),
        CASE
            WHEN v_base IS NULL THEN NULL
            WHEN c.root IS NULL THEN 'UNDATED_MEMBER'
            WHEN c.base IS NULL AND v_base = 'end' THEN 'NON_FINAL_MEMBER'
            WHEN c.base IS NULL THEN 'UNDATED_MEMBER'
            WHEN c.live IS NULL THEN 'POLICY_DISABLED'
        END
    FROM (
        SELECT
            w.id, k.family, b.id AS root,
            IF(v_base = 'start', b.starts, b.ends) AS base,
            IF(b.live < 0, v_default, b.live) AS live
        FROM (SELECT DISTINCT IF(p_whole, m.family, m.id) AS id, m.family FROM work_member AS m) AS k
        STRAIGHT_JOIN work_batch AS w ON w.id = k.id
        LEFT JOIN work_base AS b ON b.id = k.family
    ) AS c;
    INSERT INTO work_skip (skip_key, reason)
    SELECT f.id, f.reason
    FROM work_found AS f
    WHERE f.reason IS NOT NULL
    ORDER BY f.id;
    DELETE FROM work_found WHERE reason IS NOT NULL;
    INSERT INTO work_time (id, family, root, due)
    SELECT f.id, f.family, p_whole, f.due
    FROM work_found AS f;
    SET o_families = ROW_COUNT();
    IF p_whole THEN
        -- The other instances of the families.
        INSERT IGNORE INTO work_time (id, family, root, due)
        SELECT m.id, f.family, false, f.due
        FROM work_found AS f
        STRAIGHT_JOIN work_member AS m ON m.family = f.id;
    END IF;
END;

-- stamp_advance: one batch of a stamp with its progress in the ledger, in one transaction.
-- A batch that fails is rolled back and retried, then halved down to one family, which is recorded and skipped.
--# create procedure stamp_advance
CREATE PROCEDURE stamp_advance(IN p_run bigint, IN p_rule varchar(64), IN p_of varchar(64), IN p_whole boolean, OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'One batch of stamp p_run and its progress in the ledger, committed. Answers more, again, or why the stamp should end.'
BEGIN
    DECLARE v_dry_run  boolean;
    DECLARE v_again    integer;
    DECLARE v_present  integer;
    DECLARE v_halving  boolean;
    DECLARE v_batch    bigint;
    DECLARE v_fits     bigint;
    DECLARE v_retries  bigint;
    DECLARE v_last     bigint DEFAULT 0;
    DECLARE v_families bigint DEFAULT 0;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    DECLARE v_busy     boolean DEFAULT false;
    DECLARE v_often    boolean;
    DECLARE v_place    bigint;
    DECLARE v_key      varchar(700);
    DECLARE v_options  longtext;
    DECLARE v_rows     longtext;
    DECLARE v_sum      bigint;
    SET o_state = NULL;

    step: BEGIN
        attempt: BEGIN
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                --+ failed.sql
                ROLLBACK;
            END;
            -- Work tables are made in a transaction of their own: MariaDB writes one in which a temporary table was made or dropped
            -- to its binary log even when it is rolled back, with all that it changed.
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            START TRANSACTION;
            CALL stamp_tables();
            COMMIT;
            CALL begin_ledger();
            SELECT p.retries_in_row, p.batch_families, p.halving, p.cursor_key
            INTO v_again, v_present, v_halving, v_place
            FROM run_stamp AS p
            WHERE p.run_id = p_run
              AND p.rule = p_rule
            FOR UPDATE;
            CALL may_go_on(p_run, p_rule, o_state);
            IF o_state IS NOT NULL THEN
                COMMIT;
                LEAVE step;
            END IF;
            SELECT r.dry_run, r.options INTO v_dry_run, v_options FROM run AS r WHERE r.run_id = p_run;
            CALL setting_of(p_rule, 'retries', v_retries);
            CALL take_locks(p_run, p_rule, o_state);
            IF o_state IS NOT NULL THEN
                LEAVE step;
            END IF;

            SET v_batch = COALESCE(JSON_VALUE(v_options, '$.chunk'), 200);
            INSERT INTO work_batch (position, id)
            SELECT t.position, t.id
            FROM work_todo AS t
            WHERE t.position > v_place
            ORDER BY t.position
            LIMIT v_present;
            SET v_last = ROW_COUNT();
            IF v_last = 0 THEN
                COMMIT;
                SET o_state = 'nothing left';
                LEAVE step;
            END IF;
            SELECT MAX(w.position), MIN(w.id) INTO v_place, v_key FROM work_batch AS w;
            CALL stamp_times(p_rule, p_of, v_options, p_whole, v_families);
            IF v_dry_run THEN
                -- A dry run keeps what it found out, and rolls back what follows: by the whole transaction, since a savepoint would
                -- not do in a cluster.
                COMMIT;
                CALL begin_ledger();
            END IF;
            SET @windrow_whole = p_whole;
            CALL perform(p_rule, CONCAT_WS('_', p_of, 'stamp_set'), '@windrow_whole, @windrow_rows');
            SET v_rows = @windrow_rows;
            CALL fits(p_rule, v_last, v_rows, v_fits);
            IF v_fits < v_last THEN
                -- Too many rows for one transaction.
                ROLLBACK;
                CALL begin_ledger();
                UPDATE run_stamp AS p
                SET p.batch_families = v_fits,
                    p.updated_at = UTC_TIMESTAMP(6)
                WHERE p.run_id = p_run
                  AND p.rule = p_rule;
                COMMIT;
                SET o_state = 'again';
                LEAVE step;
            END IF;
            IF v_dry_run THEN
                ROLLBACK;
                CALL begin_ledger();
            END IF;
            UPDATE run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
            CALL record_skips(p_run, p_rule);
            SELECT SUM(n.changed), CONCAT('[', GROUP_CONCAT(b.changed + n.changed ORDER BY n.position SEPARATOR ', '), ']')
            INTO v_sum, v_rows
            FROM run_stamp AS p
            JOIN JSON_TABLE(p.table_rows, '$[*]' COLUMNS (position FOR ORDINALITY, changed bigint PATH '$')) AS b
            JOIN JSON_TABLE(v_rows, '$[*]' COLUMNS (position FOR ORDINALITY, changed bigint PATH '$')) AS n ON n.position = b.position
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            UPDATE run_stamp AS p
            SET p.families = p.families + v_families,
                p.changed_rows = p.changed_rows + v_sum,
                p.table_rows = v_rows,
                p.batches = p.batches + 1,
                p.retries_in_row = 0,
                p.batch_families = IF(v_halving AND v_last > 1, v_last DIV 2, LEAST(v_present * 2, v_batch, COALESCE(v_fits, v_batch))),
                p.halving = v_halving AND v_last > 1,
                p.cursor_key = v_place,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            CALL recheck_catalog(p_run, true, o_state);
            IF o_state IS NOT NULL THEN
                LEAVE step;
            END IF;
            COMMIT;
            SET o_state = 'more';
            LEAVE step;
        END attempt;

        -- The batch failed and is rolled back.
        CALL wait_for_ledger();
        CALL fault_of(v_errno, v_sqlstate, v_message, v_last, v_busy, o_state);
        IF o_state IS NOT NULL THEN
            LEAVE step;
        END IF;
        CALL begin_ledger();
        UPDATE run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
        IF v_busy AND v_again < v_retries THEN
            UPDATE run_stamp AS p
            SET p.retries = p.retries + 1,
                p.retries_in_row = p.retries_in_row + 1,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            COMMIT;
            SET o_state = 'again';
            LEAVE step;
        END IF;
        CALL refused_often(p_run, p_rule, v_errno, v_sqlstate, v_often);
        IF v_last = 0 OR v_last = 1 AND v_often THEN
            ROLLBACK;
            SET o_state = CONCAT('error ', v_errno, ' (', v_sqlstate, '): ', v_message);
            LEAVE step;
        END IF;
        IF v_last > 1 THEN
            UPDATE run_stamp AS p
            SET p.retries = p.retries + 1,
                p.retries_in_row = 0,
                p.batch_families = v_last DIV 2,
                p.halving = true,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
            COMMIT;
            SET o_state = 'again';
            LEAVE step;
        END IF;
        INSERT IGNORE INTO run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
        VALUES (p_run, p_rule, v_key, v_errno, v_sqlstate, v_message);
        CALL stamp_tables();
        INSERT INTO work_skip (skip_key, reason)
        VALUES (v_key, IF(v_busy, 'LOCKED', 'FAILED'));
        CALL record_skips(p_run, p_rule);
        UPDATE run_stamp AS p
        SET p.batches = p.batches + 1,
            p.retries_in_row = 0,
            p.batch_families = LEAST(v_present * 2, v_batch),
            p.halving = false,
            p.cursor_key = v_place,
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = p_rule;
        COMMIT;
        SET o_state = 'more';
    END step;
END;

-- stamp_begin: opens the ledger for a stamp, or says why not.
--# create procedure stamp_begin
CREATE PROCEDURE stamp_begin(
    IN p_options longtext, OUT o_run bigint, OUT o_rule varchar(64), OUT o_of varchar(64), OUT o_refused longtext
)
SQL SECURITY DEFINER
COMMENT 'Checks the options of stamp(), takes the lock of the stamps and opens the ledger. o_refused: why there is no stamp.'
BEGIN
    DECLARE v_paused boolean;
    DECLARE v_text   longtext;
    DECLARE v_dry    longtext;
    DECLARE v_budget bigint;
    DECLARE v_first  varchar(64);
    DECLARE v_pid    bigint;
    DECLARE v_node   varchar(700);
    DECLARE v_lock   varchar(80) DEFAULT (SELECT CONCAT(s.run_lock, '.stamp') FROM spec AS s);
    CALL identity_of(false, v_node);
    CALL check_stamp_options(p_options, o_rule, o_of);
    IF @@GLOBAL.log_bin AND @@SESSION.binlog_format = 'STATEMENT' THEN
        CALL not_ready('binlog_format is STATEMENT: a replica would change other rows', 'set it to ROW or MIXED');
    END IF;
    SELECT
        c.paused,
        CONCAT(
            'paused by ', c.paused_by, ' since ', DATE_FORMAT(c.paused_at, '%Y-%m-%dT%TZ'), ': ',
            COALESCE(c.paused_reason, 'no reason given')
        )
    INTO v_paused, v_text
    FROM control AS c;
    IF v_paused THEN
        SET o_refused = v_text;
    ELSE
        CALL rule_paused(o_rule, o_refused);
    END IF;
    IF o_refused IS NULL THEN
        CALL check_catalog();
    END IF;

    CALL end_look();
    -- One stamp at a time. Runs and purges may run at the same time.
    IF o_refused IS NULL THEN
        IF COALESCE(IS_USED_LOCK(v_lock), CONNECTION_ID()) = CONNECTION_ID() THEN
            CALL reap();
        END IF;
        -- Of two servers of a cluster that begin a stamp at a time, which write the same row, one gives way: whoever looks has
        -- written before, so that no other can begin unseen.
        UPDATE control AS c SET c.begun = c.begun + 1 WHERE c.only_row = true;
        SELECT CONCAT(
            'stamp ', r.run_id, ' is in progress on another server (', r.node, ', since ', DATE_FORMAT(r.started_at, '%Y-%m-%dT%TZ'),
            ', last sign of life ', DATE_FORMAT(r.alive_at, '%Y-%m-%dT%TZ'), ')'
        )
        INTO o_refused
        FROM run AS r
        WHERE r.status = 'running'
          AND r.`trigger` = 'STAMP'
          AND r.node <> v_node
        ORDER BY r.run_id
        LIMIT 1;
    END IF;
    IF o_refused IS NULL THEN
        IF COALESCE(GET_LOCK(v_lock, 0), 0) = 0 THEN
            SET v_pid = IS_USED_LOCK(v_lock);
            SELECT CONCAT(
                'stamp ', r.run_id, ' is in progress (pid ', r.backend_pid, ', since ', DATE_FORMAT(r.started_at, '%Y-%m-%dT%TZ'), ')'
            )
            INTO o_refused
            FROM run AS r
            WHERE r.status = 'running'
              AND r.`trigger` = 'STAMP'
              AND r.backend_pid = v_pid
            ORDER BY r.run_id DESC
            LIMIT 1;
            SET o_refused = COALESCE(o_refused, CONCAT(
                'another stamp is starting; if connection ', COALESCE(v_pid, '?'),
                    ' is none, it has taken the lock of the stamps, which any session may'
            ));
        END IF;
    END IF;
    IF o_refused IS NULL THEN
        CALL option_of(p_options, 'dry_run', v_dry);
        CALL option_of(p_options, 'time_budget', v_text);
        CALL seconds(v_text, v_budget);
        IF v_budget IS NULL THEN
            CALL first_rule(v_first);
            CALL setting_of(v_first, 'time_budget', v_budget);
        END IF;
        CALL option_of(p_options, 'chunk', v_text);
        INSERT INTO run (`trigger`, dry_run, options, as_of, deadline, backend_pid, node, started_by)
        VALUES (
            'STAMP', COALESCE(v_dry = 'true', false), p_options, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL v_budget SECOND,
            CONNECTION_ID(), v_node, USER()
        );
        SET o_run = LAST_INSERT_ID();
        CALL note_member(o_run);
        CALL note_catalog(o_run);
        INSERT INTO run_stamp (run_id, rule, batch_families, table_rows)
        SELECT o_run, r.rule, LEAST(COALESCE(v_text, 200) + 0, 20), CONCAT('[', GROUP_CONCAT('0' SEPARATOR ', '), ']')
        FROM rule AS r
        JOIN JSON_TABLE(r.document, '$.stamps[*]' COLUMNS (
            of_name varchar(64) PATH '$.of', NESTED PATH '$.tables[*]' COLUMNS (position FOR ORDINALITY)
        )) AS s
        WHERE r.rule = o_rule
          AND s.of_name <=> o_of
        GROUP BY r.rule;
    END IF;
END;

-- stamp_document, stamp_result: one stamp of the ledger as a document, in the form of run_result().
--# create procedure stamp_document
CREATE PROCEDURE stamp_document(IN p_run bigint, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'One stamp of the ledger as a JSON document; NULL if there is no such one.'
BEGIN
    DECLARE v_length   bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_options  longtext;
    DECLARE v_rule     varchar(64);
    DECLARE v_of       varchar(64);
    DECLARE v_head     longtext;
    DECLARE v_figures  longtext;
    DECLARE v_rows     longtext;
    DECLARE v_skips    longtext;
    DECLARE v_failures longtext;
    DECLARE v_tables   longtext;
    DECLARE v_others   boolean;
    DECLARE v_refused  longtext DEFAULT '';
    SET SESSION group_concat_max_len = 1048576;
    SELECT
        r.options, p.rule, JSON_VALUE(r.options, '$.of'), p.table_rows,
        CONCAT(
            '{"run": ', r.run_id,
            ', "status": ', COALESCE(JSON_QUOTE(r.status), 'null'),
            ', "reason": ', COALESCE(JSON_QUOTE(r.reason), 'null'),
            ', "dry_run": ', IF(r.dry_run, 'true', 'false'),
            ', "trigger": ', COALESCE(JSON_QUOTE(r.`trigger`), 'null'),
            ', "as_of": ', COALESCE(CONCAT(
                '"', DATE_FORMAT(r.as_of, '%Y-%m-%dT%T'),
                TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(r.as_of, '.%f'))), '+00:00"'
            ), 'null'),
            ', "started_at": ', COALESCE(CONCAT(
                '"', DATE_FORMAT(r.started_at, '%Y-%m-%dT%T'),
                TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(r.started_at, '.%f'))), '+00:00"'
            ), 'null'),
            ', "finished_at": ', COALESCE(CONCAT(
                '"', DATE_FORMAT(r.finished_at, '%Y-%m-%dT%T'),
                TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(r.finished_at, '.%f'))), '+00:00"'
            ), 'null'),
            ', "duration_ms": ', COALESCE(CAST(ROUND(TIMESTAMPDIFF(MICROSECOND, r.started_at, r.finished_at) / 1000) AS char), 'null')
        ),
        CONCAT(', "families": ', p.families, ', "rows": ', p.changed_rows, ', "batches": ', p.batches, ', "retries": ', p.retries)
    INTO v_options, v_rule, v_of, v_rows, v_head, v_figures
    FROM run AS r
    JOIN run_stamp AS p ON p.run_id = r.run_id
    WHERE r.run_id = p_run;
    SELECT CONCAT(
        ', "skipped_families": ', COALESCE(SUM(k.families), 0),
        ', "skipped": {', COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(k.reason), ': ', k.families) ORDER BY k.reason SEPARATOR ', '), ''),
        '}, "skipped_samples": {',
        COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(k.reason), ': ', k.sample_keys) ORDER BY k.reason SEPARATOR ', '), ''), '}'
    )
    INTO v_skips
    FROM run_skip AS k
    WHERE k.run_id = p_run;
    SELECT CONCAT('[', COALESCE(GROUP_CONCAT(
        CONCAT('{"key": ', JSON_QUOTE(x.`key`), ', "sqlstate": ', JSON_QUOTE(x.`sqlstate`), ', "message": ', JSON_QUOTE(x.message), '}')
        ORDER BY x.failed_at, x.`key` SEPARATOR ', '
    ), ''), ']')
    INTO v_failures
    FROM (
        SELECT f.`key`, f.`sqlstate`, f.message, f.failed_at
        FROM run_failure AS f
        WHERE f.run_id = p_run
        ORDER BY f.failed_at, f.`key`
        LIMIT 100
    ) AS x;
    SELECT COUNT(s.of_name) > 0
    INTO v_others
    FROM rule AS r
    JOIN JSON_TABLE(r.document, '$.stamps[*]' COLUMNS (of_name varchar(64) PATH '$.of')) AS s;
    SELECT GROUP_CONCAT(CONCAT(JSON_QUOTE(s.table_name), ': ', n.changed) ORDER BY s.position SEPARATOR ', ')
    INTO v_tables
    FROM rule AS r
    JOIN JSON_TABLE(r.document, '$.stamps[*]' COLUMNS (
        of_name varchar(64) PATH '$.of',
        NESTED PATH '$.tables[*]' COLUMNS (position FOR ORDINALITY, table_name varchar(64) PATH '$')
    )) AS s
    JOIN JSON_TABLE(v_rows, '$[*]' COLUMNS (position FOR ORDINALITY, changed bigint PATH '$')) AS n ON n.position = s.position
    WHERE r.rule = v_rule
      AND s.of_name <=> v_of;
    IF JSON_CONTAINS_PATH(v_options, 'one', '$.key') THEN
        -- Keys that no row has.
        CALL search_stamp(v_rule, v_of, v_options, false);
        SELECT COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(CAST(n.id AS char)), ': "NOT_A_ROOT"') ORDER BY n.id SEPARATOR ', '), '')
        INTO v_refused
        FROM work_named AS n
        LEFT JOIN work_todo AS t ON t.id = n.id
        WHERE t.id IS NULL;
        CALL stamp_leave();
    END IF;
    SET o_document = CONCAT(
        v_head, ', "rules": [{"rule": ', JSON_QUOTE(v_rule), IF(v_others, CONCAT(', "of": ', COALESCE(JSON_QUOTE(v_of), 'null')), ''),
        v_figures, ', "tables": {', v_tables, '}', v_skips, ', "failures": ', v_failures, '}], "refused": {', v_refused, '}}'
    );
    SET SESSION group_concat_max_len = v_length;
END;
--# create procedure stamp_result
CREATE PROCEDURE stamp_result(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Returns one stamp of the ledger as a JSON document: rows are those that were changed. Example: CALL stamp_result(1);'
BEGIN
    DECLARE v_document longtext;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL stamp_document(p_run, v_document);
    CALL unsettle(v_session);
    SELECT v_document AS p_result;
END;
