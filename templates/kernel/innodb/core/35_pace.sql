-- next_batch: the size of the next batch, after one of p_size has taken p_took of the p_target milliseconds that it may
-- take. Slowly up, by a fifth, if that much more would still be in time; down at once, in proportion. A size of 0 is that of the one
-- instant to which a slice that fails is halved.
--# create procedure next_batch
CREATE PROCEDURE next_batch(IN p_size bigint, IN p_took bigint, IN p_target bigint, OUT o_size bigint)
SQL SECURITY DEFINER
COMMENT 'The size of the batch after one of p_size that took p_took milliseconds instead of p_target.'
BEGIN
    SET o_size = CASE
        WHEN p_took > p_target THEN GREATEST(p_size * p_target DIV p_took, 1)
        WHEN p_took + p_took DIV 5 <= p_target THEN GREATEST(p_size + (p_size + 4) DIV 5, 1)
        ELSE GREATEST(p_size, 1)
    END;
END;

-- cluster_queue: what the members of a cluster have yet to apply. A node of Galera knows its own queue, and for how long writers were
-- stopped because another node was behind (flow control). A member of a group knows the queues of all.
--# create procedure cluster_queue
CREATE PROCEDURE cluster_queue(IN p_most bigint, OUT o_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Which member of the cluster of this server has more than p_most transactions to apply, or NULL, as a server has that is in
    none. In Galera also whether flow control stopped writers since the last call in this session.'
BEGIN
    DECLARE v_queue   bigint;
    DECLARE v_stopped bigint;
    SELECT
        MAX(IF(v.variable_name = 'wsrep_local_recv_queue', CAST(v.variable_value AS signed), NULL)),
        MAX(IF(v.variable_name = 'wsrep_flow_control_paused_ns', CAST(v.variable_value AS signed), NULL))
    INTO v_queue, v_stopped
    FROM /*!80000 performance_schema.global_status */ /*M! information_schema.global_status */ AS v
    WHERE v.variable_name IN ('wsrep_local_recv_queue', 'wsrep_flow_control_paused_ns');
    SET o_reason = CASE
        WHEN v_queue > p_most THEN CONCAT(
            'this node of the cluster, which has ', v_queue, ' transactions to apply (max_cluster_queue ', p_most, ')'
        )
        WHEN v_stopped > @windrow_stopped THEN CONCAT(
            'a node of the cluster that is behind: flow control stopped writers for ', CEILING((v_stopped - @windrow_stopped) / 1e6),
            ' ms (max_cluster_queue ', p_most, ')'
        )
    END;
    SET @windrow_stopped = v_stopped;
    /*!80000
    members: BEGIN
        DECLARE v_owner varchar(80);
        -- A run that may not look waits, and says so.
        DECLARE EXIT HANDLER FOR 1142
        BEGIN
            SELECT s.owner INTO v_owner FROM spec AS s;
            SET o_reason = CONCAT('the right to see the members of the group: GRANT SELECT ON '
                'performance_schema.replication_group_member_stats TO ', v_owner);
        END;
        SELECT CONCAT(
            'member ', s.member_id, ' of the cluster, which has ', s.queue, ' transactions to apply (max_cluster_queue ', p_most, ')'
        )
        INTO o_reason
        FROM (
            SELECT m.member_id, m.count_transactions_in_queue + m.count_transactions_remote_in_applier_queue AS queue
            FROM performance_schema.replication_group_member_stats AS m
        ) AS s
        WHERE s.queue > p_most
        ORDER BY s.queue DESC
        LIMIT 1;
    END members; */
END;

-- throttle: the first reason not to do a batch now, or NULL. A limit of 0 is off.
--# create procedure throttle
CREATE PROCEDURE throttle(
    IN  p_rule     varchar(64),
    IN  p_lag      bigint,
    IN  p_queue    bigint,
    IN  p_active   bigint,
    IN  p_snapshot bigint,
    OUT o_reason   longtext
)
SQL SECURITY DEFINER
COMMENT 'What a batch of p_rule would wait for now, by the limits max_replica_lag (seconds), max_cluster_queue (transactions),
    max_active_sessions and max_old_snapshot (transactions), or NULL.
    Example: CALL throttle(''a_rule'', 30, 1000, 40, 1000000, @reason);'
BEGIN
    DECLARE v_found bigint;
    DECLARE v_said  double;
    DECLARE v_owner varchar(80);
    DECLARE v_beats varchar(64);
    DECLARE v_keeps boolean;
    DECLARE v_waits boolean;
    SET o_reason = NULL;
    throttle: BEGIN
        IF p_lag > 0 THEN
            SELECT JSON_VALUE(s.document, '$.heartbeat'), JSON_VALUE(s.document, '$.keeps_heartbeat') IS NOT NULL
            INTO v_beats, v_keeps
            FROM spec AS s;
            IF v_keeps THEN
                CALL replica_lag(p_lag, o_reason);
                IF o_reason IS NOT NULL THEN
                    LEAVE throttle;
                END IF;
            ELSEIF v_beats IS NOT NULL THEN
                CALL heartbeat_age(v_found);
                IF v_found IS NULL OR v_found > p_lag THEN
                    SET o_reason = CONCAT(
                        'the slowest replica in ', v_beats, ', which is ', COALESCE(v_found, 'unknown'),
                        ' seconds behind (max_replica_lag ', p_lag, ')'
                    );
                    LEAVE throttle;
                END IF;
            END IF;
        END IF;
        IF p_queue > 0 THEN
            CALL cluster_queue(p_queue, o_reason);
            IF o_reason IS NOT NULL THEN
                LEAVE throttle;
            END IF;
        END IF;
        IF p_active > 0 THEN
            -- This session is one of them.
            SELECT CAST(v.variable_value AS signed) - 1
            INTO v_found
            FROM /*!80000 performance_schema.global_status */ /*M! information_schema.global_status */ AS v
            WHERE v.variable_name = 'Threads_running';
            IF v_found > p_active THEN
                SET o_reason = CONCAT('other sessions, of which ', v_found, ' are active (max_active_sessions ', p_active, ')');
                LEAVE throttle;
            END IF;
        END IF;
        IF p_snapshot > 0 THEN
            -- Deleted rows slow down every scan while someone may still have to see it. A run that may not look
            -- waits, and says so.
            look: BEGIN
                DECLARE EXIT HANDLER FOR 1227
                BEGIN
                    SELECT s.owner INTO v_owner FROM spec AS s;
                    SET o_reason = CONCAT('the right to see the history list: GRANT PROCESS ON *.* TO ', v_owner);
                END;
                /*!80000
                SELECT m.count INTO v_found FROM information_schema.innodb_metrics AS m WHERE m.name = 'trx_rseg_history_len';
                */
                /*M!
                SELECT CAST(v.variable_value AS signed)
                INTO v_found
                FROM information_schema.global_status AS v
                WHERE v.variable_name = 'Innodb_history_list_length';
                */
            END look;
            IF v_found > p_snapshot THEN
                SET o_reason = CONCAT('an old snapshot, with ', v_found, ' transactions in the history list (max_old_snapshot ',
                    p_snapshot, ')');
            END IF;
            IF o_reason IS NOT NULL THEN
                LEAVE throttle;
            END IF;
        END IF;
        -- As the spec has it (wait_while_sql): true or a number above 0 is a reason.
        SELECT JSON_CONTAINS_PATH(r.document, 'one', '$.wait_while_sql') INTO v_waits FROM rule AS r WHERE r.rule = p_rule;
        IF v_waits THEN
            CALL perform(p_rule, 'wait_while', '@windrow_said');
            SET v_said = @windrow_said;
            IF v_said > 0 THEN
                SET o_reason = CONCAT('the query of the spec, which says ', IF(v_said = 1, 'true', v_said));
            END IF;
        END IF;
    END throttle;
END;

-- is_over: whether a run that rests does not go on with a rule, as its next step will find and report.
--# create procedure is_over
CREATE PROCEDURE is_over(IN p_run bigint, IN p_rule varchar(64), OUT o_over boolean)
SQL SECURITY DEFINER
COMMENT 'Whether something is paused, or the window of a scheduled run is closed, so that it makes no further batch of p_rule.'
BEGIN
    DECLARE v_closed varchar(1000);
    DECLARE v_paused varchar(1000);
    CALL window_state(p_run, v_closed);
    CALL rule_paused(p_rule, v_paused);
    SELECT v_closed IS NOT NULL OR v_paused IS NOT NULL OR c.paused INTO o_over FROM control AS c;
END;

-- throttled: the same by the settings of a rule.
--# create procedure throttled
CREATE PROCEDURE throttled(IN p_rule varchar(64), OUT o_reason longtext)
SQL SECURITY DEFINER
COMMENT 'What a batch of p_rule would wait for now, by its settings, or NULL.'
BEGIN
    DECLARE v_lag      bigint;
    DECLARE v_queue    bigint;
    DECLARE v_active   bigint;
    DECLARE v_snapshot bigint;
    DECLARE v_waits    boolean;
    SELECT
        MAX(IF(l.name = 'max_replica_lag', COALESCE(s.value, l.value), 0)),
        MAX(IF(l.name = 'max_cluster_queue', COALESCE(s.value, l.value), 0)),
        MAX(IF(l.name = 'max_active_sessions', COALESCE(s.value, l.value), 0)),
        MAX(IF(l.name = 'max_old_snapshot', COALESCE(s.value, l.value), 0)),
        MAX(JSON_CONTAINS_PATH(r.document, 'one', '$.wait_while_sql'))
    INTO v_lag, v_queue, v_active, v_snapshot, v_waits
    FROM rule AS r
    JOIN rule_limit AS l ON l.rule = r.rule
    LEFT JOIN setting AS s ON s.rule = l.rule AND s.name = l.name
    WHERE r.rule = p_rule;
    SET o_reason = NULL;
    IF v_waits OR v_lag + v_queue + v_active + v_snapshot > 0 THEN
        CALL throttle(p_rule, v_lag, v_queue, v_active, v_snapshot, o_reason);
    END IF;
END;

-- pace: called before every batch. How long the run rests first, in seconds: 0, or up to 1, after which it checks again, so
-- that a pause, the end of a window and the deadline are obeyed at once. run() rests outside of any transaction. Meanwhile its
-- row shows what the run waits for.
--# create procedure pace
CREATE PROCEDURE pace(IN p_run bigint, IN p_rule varchar(64), OUT o_rest double, OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'What run p_run does before the next batch of p_rule: o_rest, for how many seconds it rests; o_state, why it
    takes none; waits: other rules may go on meanwhile. Sets the size of the batch where target_batch says so. Commits.'
BEGIN
    DECLARE v_now           datetime(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_own           boolean;
    DECLARE v_deadline      datetime(6);
    DECLARE v_waiting_for   longtext;
    DECLARE v_since         datetime(6);
    DECLARE v_alive_at      datetime(6);
    DECLARE v_rows          bigint;
    DECLARE v_batches       bigint;
    DECLARE v_size          bigint;
    DECLARE v_halving       boolean;
    DECLARE v_paced_at      datetime(6);
    DECLARE v_paced_size    bigint;
    DECLARE v_paced_rows    bigint;
    DECLARE v_paced_batches bigint;
    DECLARE v_rest_from     datetime(6);
    DECLARE v_until         datetime(6);
    -- The settings, 0: off.
    DECLARE v_run_rows            bigint DEFAULT 0;
    DECLARE v_target_batch        bigint DEFAULT 0;
    DECLARE v_rate                bigint DEFAULT 0;
    DECLARE v_nice                bigint DEFAULT 0;
    DECLARE v_scheduled_nice      bigint DEFAULT 0;
    DECLARE v_max_replica_lag     bigint DEFAULT 0;
    DECLARE v_max_cluster_queue   bigint DEFAULT 0;
    DECLARE v_max_active_sessions bigint DEFAULT 0;
    DECLARE v_max_old_snapshot    bigint DEFAULT 0;
    DECLARE v_took          bigint;
    DECLARE v_next          bigint;
    DECLARE v_longest_rest  bigint DEFAULT 86400000;
    DECLARE v_paced         boolean;
    DECLARE v_reason        longtext;
    DECLARE v_at            varchar(64);
    DECLARE v_other         longtext;
    DECLARE v_over          boolean;
    DECLARE v_workers       int;
    DECLARE v_scheduled     boolean;
    DECLARE v_waits         boolean DEFAULT false;
    DECLARE v_dry_run       boolean;
    -- Whether the run does not leave the rule while it waits; whether rows are out of their table, which does not wait.
    DECLARE v_stays         boolean;
    DECLARE v_out           boolean;
    SET o_rest = 0, o_state = NULL;
    CALL begin_ledger();
    pace: BEGIN
        SELECT
            r.status = 'running' AND r.backend_pid = CONNECTION_ID(), r.deadline, r.waiting_for, r.alive_at, s.workers,
            r.`trigger` = 'SCHEDULED', r.waiting_since, r.dry_run
        INTO v_own, v_deadline, v_waiting_for, v_alive_at, v_workers, v_scheduled, v_since, v_dry_run
        FROM run AS r
        CROSS JOIN spec AS s
        WHERE r.run_id = p_run;
        IF NOT v_own THEN
            LEAVE pace;
        END IF;
        CALL rows_out(p_rule, v_out);
        SET v_stays = v_out OR v_dry_run;
        -- A run that rests for long lives.
        IF v_alive_at < v_now - INTERVAL 1 MINUTE THEN
            UPDATE run AS r SET r.alive_at = UTC_TIMESTAMP(6) WHERE r.run_id = p_run AND r.status = 'running';
        END IF;
        IF v_workers > 1 THEN
            SELECT COUNT(s.run_id), MAX(s.at_rule) INTO v_over, v_at FROM run_sweep AS s WHERE s.run_id = p_run;
            IF NOT v_over THEN
                SET o_state = 'begun before there were workers';
                LEAVE pace;
            END IF;
            IF NOT v_at <=> p_rule THEN
                CALL sweep_enter(p_run, p_rule, v_other, v_over);
                IF v_over THEN
                    SET o_state = 'nothing left';
                    LEAVE pace;
                END IF;
                -- For whom it waits is in its row already: as long as it goes on, nothing is written or locked.
                IF v_other = v_waiting_for THEN
                    SET o_rest = LEAST(
                        IF(v_other LIKE 'worker %' AND v_since > v_now - INTERVAL 1 SECOND, 0.1, 1),
                        TIMESTAMPDIFF(MICROSECOND, v_now, v_deadline) / 1000000
                    );
                    CALL is_over(p_run, p_rule, v_over);
                    IF o_rest <= 0 OR v_over THEN
                        SET o_rest = 0;
                    ELSEIF NOT v_stays THEN
                        SET o_state = 'waits';
                    END IF;
                    LEAVE pace;
                END IF;
            END IF;
        END IF;
        SELECT p.deleted_rows, p.batches, p.batch_families, p.halving, p.paced_at, p.paced_size, p.paced_rows, p.paced_batches, p.rest_from
        INTO v_rows, v_batches, v_size, v_halving, v_paced_at, v_paced_size, v_paced_rows, v_paced_batches, v_rest_from
        FROM run_rule AS p
        WHERE p.run_id = p_run
          AND p.rule = p_rule;
        -- The rules before it do not count for its speed.
        IF v_batches = 0 THEN
            UPDATE run_rule AS p
            SET p.started_at = v_now,
                p.updated_at = v_now
            WHERE p.run_id = p_run
              AND p.rule = p_rule
              AND p.retries = 0;
        END IF;
        IF v_out AND NOT v_dry_run AND v_other IS NULL THEN
            LEAVE pace;
        END IF;
        SELECT
            MAX(IF(l.name = 'run_rows', COALESCE(s.value, l.value), 0)),
            MAX(IF(l.name = 'target_batch', COALESCE(s.value, l.value), 0)),
            MAX(IF(l.name = 'rate', COALESCE(s.value, l.value), 0)),
            MAX(IF(l.name = 'nice', COALESCE(s.value, l.value), 0)),
            MAX(IF(l.name = 'scheduled_nice', COALESCE(s.value, l.value), 0)),
            MAX(IF(l.name = 'max_replica_lag', COALESCE(s.value, l.value), 0)),
            MAX(IF(l.name = 'max_cluster_queue', COALESCE(s.value, l.value), 0)),
            MAX(IF(l.name = 'max_active_sessions', COALESCE(s.value, l.value), 0)),
            MAX(IF(l.name = 'max_old_snapshot', COALESCE(s.value, l.value), 0))
        INTO v_run_rows, v_target_batch, v_rate, v_nice, v_scheduled_nice, v_max_replica_lag,
            v_max_cluster_queue, v_max_active_sessions, v_max_old_snapshot
        FROM rule_limit AS l
        LEFT JOIN setting AS s ON s.rule = l.rule AND s.name = l.name
        WHERE l.rule = p_rule;
        -- Nobody waits for a scheduled run, and it should not slow down the application. None of these rests is longer than a
        -- minute, since a batch may have taken long for waiting itself; batches that would need more get smaller.
        SET v_scheduled = v_scheduled AND v_rate = 0 AND v_nice = 0;
        IF v_scheduled THEN
            SET v_nice = v_scheduled_nice,
                v_longest_rest = 60000;
            IF v_nice > 0 AND v_target_batch = 0 THEN
                SET v_target_batch = v_longest_rest * 100 DIV v_nice;
            END IF;
        END IF;
        SET v_paced = v_target_batch > 0 OR v_rate > 0 OR v_nice > 0;

        IF v_paced AND v_batches = v_paced_batches + 1 AND v_paced_at IS NOT NULL THEN
            -- The last batch, to the end of its COMMIT.
            SET v_took = CEILING(TIMESTAMPDIFF(MICROSECOND, v_paced_at, COALESCE(v_rest_from, v_now)) / 1000);
            IF v_rest_from IS NULL AND v_target_batch > 0 AND NOT v_halving THEN
                CALL next_batch(v_paced_size, v_took, v_target_batch, v_next);
                SET v_size = LEAST(v_size, v_next);
            END IF;
            SET v_rest_from = COALESCE(v_rest_from, v_now);
            SET v_until = GREATEST(
                IF(v_rate > 0, v_paced_at + INTERVAL LEAST((v_rows - v_paced_rows) * 1000000 DIV v_rate, 86400000000) MICROSECOND,
                    v_rest_from),
                v_rest_from + INTERVAL LEAST(v_took * v_nice DIV 100, v_longest_rest) * 1000 MICROSECOND
            );
        ELSEIF v_target_batch > 0 AND v_paced_at IS NULL THEN
            -- The first batch: as big as the last one of the run before; of families, where slices followed them.
            SELECT GREATEST(COALESCE(p.family_size, p.batch_families), 1) INTO v_next
            FROM run_rule AS p
            WHERE p.run_id = (SELECT MAX(l.run_id) FROM run_rule AS l WHERE l.rule = p_rule AND l.run_id < p_run AND l.paced_at IS NOT NULL)
              AND p.rule = p_rule;
            SET v_size = LEAST(v_size, COALESCE(v_next, v_size));
        END IF;

        IF v_until > v_now THEN
            SET v_reason = CONCAT_WS(' and ',
                IF(v_rate > 0, CONCAT('the rate of ', v_rate, ' rows per second'), NULL),
                IF(v_nice > 0, CONCAT(IF(v_scheduled, 'scheduled_nice', 'nice'), ', ', v_nice, ' % of the time of a batch'), NULL)
            );
            SET o_rest = TIMESTAMPDIFF(MICROSECOND, v_now, v_until) / 1000000;
        ELSEIF v_run_rows > 0 AND v_rows >= v_run_rows THEN
            -- Behind the rest: the next rule has its first batch at once.
            SET o_state = 'run_rows reached';
            LEAVE pace;
        ELSE
            CALL throttle(p_rule, v_max_replica_lag, v_max_cluster_queue, v_max_active_sessions, v_max_old_snapshot, v_reason);
            SET o_rest = IF(v_reason IS NULL, 0, 1);
            IF v_other IS NOT NULL THEN
                SET v_reason = v_other, o_rest = IF(v_other LIKE 'worker %', 0.1, 1);
            END IF;
            SET v_waits = v_reason IS NOT NULL AND NOT v_stays;
        END IF;
        IF v_reason IS NOT NULL THEN
            SET o_rest = LEAST(o_rest, 1, TIMESTAMPDIFF(MICROSECOND, v_now, v_deadline) / 1000000);
            CALL is_over(p_run, p_rule, v_over);
            IF o_rest <= 0 OR v_over THEN
                -- The run or the rule ends here, as the next step finds and reports; what it waited for is kept in its row.
                SET o_rest = 0;
                LEAVE pace;
            END IF;
        END IF;

        -- Whether a lock is still in the way, the batch finds out.
        IF NOT v_reason <=> v_waiting_for AND (v_reason IS NOT NULL OR v_waiting_for NOT LIKE 'a lock on %') THEN
            UPDATE run AS r
            SET r.waiting_for = v_reason,
                r.waiting_since = IF(v_reason IS NULL, NULL, COALESCE(r.waiting_since, v_now))
            WHERE r.run_id = p_run;
        END IF;
        IF v_paced THEN
            -- What the next batch is measured by, once it begins.
            UPDATE run_rule AS p
            SET p.batch_families = v_size,
                p.rest_from = IF(v_reason IS NULL, NULL, v_rest_from),
                p.paced_at = IF(v_reason IS NULL, UTC_TIMESTAMP(6), p.paced_at),
                p.paced_size = IF(v_reason IS NULL, v_size, p.paced_size),
                p.paced_rows = IF(v_reason IS NULL, p.deleted_rows, p.paced_rows),
                p.paced_batches = IF(v_reason IS NULL, p.batches, p.paced_batches)
            WHERE p.run_id = p_run
              AND p.rule = p_rule;
        END IF;
        IF v_waits THEN
            SET o_state = 'waits';
        END IF;
    END pace;
    COMMIT;
END;

-- put_off: a rule that waits does not hold up the rules behind it.
--# create procedure put_off
CREATE PROCEDURE put_off(IN p_run bigint, IN p_rule varchar(64), IN p_all boolean, INOUT io_rest double)
SQL SECURITY DEFINER
COMMENT 'Run p_run leaves p_rule, which waits, for the next rule; p_all: all that it has left wait, and it rests io_rest seconds, 1 if 0.'
BEGIN
    DECLARE v_workers int;
    DECLARE v_left    double;
    SELECT s.workers INTO v_workers FROM spec AS s;
    IF v_workers > 1 THEN
        CALL sweep_part(p_run, p_rule);
    END IF;
    IF p_all THEN
        SELECT TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), r.deadline) / 1000000 INTO v_left FROM run AS r WHERE r.run_id = p_run;
        SET io_rest = GREATEST(LEAST(IF(io_rest > 0, io_rest, 1), v_left), 0);
    ELSE
        UPDATE run AS r
        SET r.waiting_for = NULL,
            r.waiting_since = NULL
        WHERE r.run_id = p_run
          AND r.waiting_for NOT LIKE 'worker %';
        SET io_rest = 0;
    END IF;
END;
