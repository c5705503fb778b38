-- replica_beat: the beat. It is written on the primary, and replication carries it to every replica, also through others.
--# create table replica_beat
CREATE TABLE IF NOT EXISTS replica_beat (
    only_row boolean     NOT NULL PRIMARY KEY DEFAULT true,
    beat_at  datetime(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The last beat of windrow heartbeat: an instant of the primary in UTC.';

-- replica_heartbeat: the replicas, as windrow heartbeat has seen them.
--# create table replica_heartbeat
CREATE TABLE IF NOT EXISTS replica_heartbeat (
    replica          varchar(255)  NOT NULL PRIMARY KEY,
    replicated_until datetime(6),
    state            varchar(1000) NOT NULL,
    looked_at        datetime(6)   NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Each replica: the last beat that it had, what its replica status said, and when somebody looked; all in UTC.';

-- heartbeat: what was seen of replicas, and the next beat. A replica that could not be seen, or had no beat, keeps its instant.
--# create procedure heartbeat
CREATE PROCEDURE heartbeat(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Notes each replica that was looked at: its name, replicated_until (the beat that it had) and state; and writes the next beat.
    forget removes replicas by their names.
    Example: CALL heartbeat(''{"replicas": [{"replica": "db2:3306", "state": "cannot be reached"}], "forget": ["db3:3306"]}'');'
BEGIN
    DECLARE v_absent  longtext;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL check_options(p_options, '["replicas", "forget"]');
    SELECT MIN(f.replica)
    INTO v_absent
    FROM JSON_TABLE(p_options, '$.forget[*]' COLUMNS (replica varchar(255) PATH '$')) AS f
    LEFT JOIN replica_heartbeat AS h ON h.replica = f.replica
    WHERE h.replica IS NULL;
    IF v_absent IS NOT NULL THEN
        CALL refuse(CONCAT('no replica ', QUOTE(LEFT(v_absent, 60))), 'the replicas are in table replica_heartbeat');
    END IF;
    DELETE h
    FROM replica_heartbeat AS h
    JOIN JSON_TABLE(p_options, '$.forget[*]' COLUMNS (replica varchar(255) PATH '$')) AS f ON f.replica = h.replica;
    INSERT INTO replica_heartbeat (replica, replicated_until, state, looked_at)
    SELECT s.replica, s.replicated_until, LEFT(s.state, 1000), UTC_TIMESTAMP(6)
    FROM JSON_TABLE(p_options, '$.replicas[*]' COLUMNS (replica varchar(255) PATH '$.replica',
        replicated_until datetime(6) PATH '$.replicated_until', state longtext PATH '$.state')) AS s
    ON DUPLICATE KEY UPDATE
        replicated_until = COALESCE(VALUES(replicated_until), replica_heartbeat.replicated_until),
        state = VALUES(state),
        looked_at = VALUES(looked_at);
    INSERT INTO replica_beat (only_row, beat_at)
    VALUES (true, UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
        beat_at = VALUES(beat_at);
    CALL unsettle(v_session);
END;

-- replica_lag: the replica that a batch would wait for. Every instant is one of this server: the clocks of replicas do not count.
--# create procedure replica_lag
CREATE PROCEDURE replica_lag(IN p_lag bigint, OUT o_reason longtext)
SQL SECURITY DEFINER
COMMENT 'The replica that is furthest behind, if that is more than p_lag seconds, with what was last seen of it; or NULL.'
BEGIN
    DECLARE v_now   datetime(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_known bigint;
    SELECT COUNT(*) INTO v_known FROM replica_heartbeat AS h;
    IF v_known = 0 THEN
        SET o_reason = CONCAT('the first look at a replica (max_replica_lag ', p_lag, '): is windrow heartbeat running?');
    ELSE
        SELECT CONCAT(
            'replica ', h.replica, ', which is ', COALESCE(TIMESTAMPDIFF(SECOND, h.replicated_until, v_now), 'unknown'),
            ' seconds behind (max_replica_lag ', p_lag, '): ', IF(
                TIMESTAMPDIFF(SECOND, h.looked_at, v_now) > p_lag,
                CONCAT('nobody has looked since ', DATE_FORMAT(h.looked_at, '%Y-%m-%d %H:%i:%s'),
                    ' UTC; is windrow heartbeat running?'),
                h.state
            )
        )
        INTO o_reason
        FROM replica_heartbeat AS h
        WHERE h.replicated_until IS NULL
           OR TIMESTAMPDIFF(SECOND, h.replicated_until, v_now) > p_lag
        ORDER BY h.replicated_until
        LIMIT 1;
    END IF;
END;
