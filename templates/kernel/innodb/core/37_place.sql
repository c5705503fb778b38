-- identity_of, server_identity: what distinguishes this server from its restored copies, clones and promoted replicas.
-- A copy of the whole folder shares the identifier of MySQL: it is on another host, in another folder, or has another
-- port. MariaDB has no identifier that a copy would not share. A restart and a minor upgrade change none of these; the start
-- of the server counts where arm_with() said until restart. What begins with the word cluster is the identity of one.
--# create procedure identity_of
CREATE PROCEDURE identity_of(IN p_started boolean, OUT o_identity varchar(700))
SQL SECURITY DEFINER
COMMENT 'The server and the control database, and with p_started when the server has started.'
BEGIN
    SET o_identity = LEFT(CONCAT_WS(
        ' ',
        /*!80000 @@server_uuid, */
        /*M! IF(@@hostname LIKE BINARY 'cluster', 'host', NULL), */
        @@hostname, @@port, @@datadir, @@bind_address,
        /*M! @@server_id, */
        DATABASE()
    ), 600);
    -- Both are counted from the same clock at the same instant: what is left is the second of the start, exactly.
    IF p_started THEN
        SELECT CONCAT(o_identity, ' started at ', UNIX_TIMESTAMP() - CAST(v.variable_value AS signed))
        INTO o_identity
        FROM /*!80000 performance_schema.global_status */ /*M! information_schema.global_status */ AS v
        WHERE v.variable_name = 'Uptime';
    END IF;
END;
--# create procedure server_identity
CREATE PROCEDURE server_identity(OUT o_identity varchar(700))
SQL SECURITY DEFINER
COMMENT 'What identity_of() answers, with the start of the server where that counts; arm() stores it, and a run refuses when it has
    changed.'
BEGIN
    DECLARE v_started boolean;
    SELECT COUNT(*) INTO v_started FROM control AS c WHERE c.server_identity LIKE '% started at %';
    CALL identity_of(v_started, o_identity);
END;

-- cluster_identity: what tells the cluster that this server belongs to from all others; the same on each of its servers. Galera and
-- MySQL's groups say who belongs to them: a copy that was started by itself does not, unless it was bootstrapped under the name.
-- Servers that only replicate know no cluster: a list of them stands for it.
--# create procedure cluster_identity
CREATE PROCEDURE cluster_identity(IN p_servers varchar(700), OUT o_identity varchar(700))
SQL SECURITY DEFINER
COMMENT 'Identity of the Galera cluster or group that this server is a member of, or of a list of servers, host:port, that it is in;
    NULL if there is none. arm_with() with a cluster stores it.'
BEGIN
    DECLARE v_status varchar(700);
    SET o_identity = NULL, @windrow_cluster = NULL;
    IF p_servers IS NOT NULL THEN
        IF FIND_IN_SET(CONCAT(@@hostname, ':', @@port), p_servers) > 0 THEN
            SET o_identity = CONCAT_WS(' ', 'cluster of servers', p_servers, DATABASE());
        END IF;
    ELSE
        -- Where it is no member there is no such variable, or no member.
        galera: BEGIN
            DECLARE EXIT HANDLER FOR 1193 BEGIN END;
            CALL run_text('SET @windrow_cluster = IF(@@GLOBAL.wsrep_on, @@GLOBAL.wsrep_cluster_name, NULL)');
            SELECT
                MAX(IF(v.variable_name = 'wsrep_cluster_status', v.variable_value, NULL)),
                CONCAT('cluster ', @windrow_cluster, ' ', MAX(IF(v.variable_name = 'wsrep_cluster_state_uuid', v.variable_value, NULL)))
            INTO v_status, o_identity
            FROM /*!80000 performance_schema.global_status */ /*M! information_schema.global_status */ AS v
            WHERE v.variable_name IN ('wsrep_cluster_state_uuid', 'wsrep_cluster_status');
            IF NOT v_status <=> 'Primary' THEN
                SET o_identity = NULL;
            END IF;
        END galera;
        /*!80000
        of_group: BEGIN
            -- No such variable, or no right to see the members.
            DECLARE EXIT HANDLER FOR 1142, 1193 BEGIN END;
            CALL run_text('SET @windrow_cluster = @@GLOBAL.group_replication_group_name');
            SELECT MAX(CONCAT('cluster ', @windrow_cluster))
            INTO o_identity
            FROM performance_schema.replication_group_members AS m
            WHERE m.member_id = @@server_uuid
              AND m.member_state = 'ONLINE';
        END of_group; */
        SET o_identity = CONCAT(o_identity, ' ', DATABASE());
    END IF;
END;
--# create procedure cluster_here
CREATE PROCEDURE cluster_here(IN p_armed_on varchar(700), OUT o_identity varchar(700))
SQL SECURITY DEFINER
COMMENT 'Identity of the cluster of this server, by the list of servers where p_armed_on, which names an armed one, is of such a list.'
BEGIN
    CALL cluster_identity(
        IF(p_armed_on LIKE 'cluster of servers %', SUBSTRING_INDEX(SUBSTRING_INDEX(p_armed_on, ' ', 4), ' ', -1), NULL), o_identity
    );
END;

-- cluster_nodes: who belongs to the cluster of this server, as its members call themselves. A member that has failed or left commits
-- nothing any more. Galera writes its members into a table of its own.
--# create procedure cluster_nodes
CREATE PROCEDURE cluster_nodes(OUT o_own varchar(36), OUT o_all longtext)
SQL SECURITY DEFINER
COMMENT 'The identifier of this server in its Galera cluster or group, and those of all members, with commas between them; NULL where it
    is no member now, or may not see them.'
BEGIN
    SET o_own = NULL, o_all = NULL;
    /*M!
    galera: BEGIN
        -- No such table, or no right to read it.
        DECLARE EXIT HANDLER FOR 1142, 1146 BEGIN END;
        SELECT GROUP_CONCAT(m.node_uuid) INTO o_all FROM mysql.wsrep_cluster_members AS m;
        SELECT MAX(IF(v.variable_name = 'wsrep_gcomm_uuid', v.variable_value, NULL))
        INTO o_own
        FROM information_schema.global_status AS v
        WHERE v.variable_name IN ('wsrep_cluster_status', 'wsrep_gcomm_uuid')
        HAVING MAX(IF(v.variable_name = 'wsrep_cluster_status', v.variable_value, NULL)) = 'Primary';
    END galera; */
    /*!80000
    of_group: BEGIN
        -- No right to see them.
        DECLARE EXIT HANDLER FOR 1142 BEGIN END;
        SELECT MAX(IF(m.member_id = @@server_uuid AND m.member_state = 'ONLINE', m.member_id, NULL)), GROUP_CONCAT(m.member_id)
        INTO o_own, o_all
        FROM performance_schema.replication_group_members AS m;
    END of_group; */
    IF COALESCE(FIND_IN_SET(o_own, o_all), 0) = 0 THEN
        SET o_own = NULL, o_all = NULL;
    END IF;
END;

-- note_member: as which member of its cluster a run works.
--# create procedure note_member
CREATE PROCEDURE note_member(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Writes run.member, where a Galera cluster or a group is armed.'
BEGIN
    DECLARE v_armed_on varchar(700);
    DECLARE v_own      varchar(36);
    DECLARE v_all      longtext;
    SELECT c.server_identity INTO v_armed_on FROM control AS c;
    IF v_armed_on LIKE 'cluster %' AND v_armed_on NOT LIKE 'cluster of servers %' THEN
        CALL cluster_nodes(v_own, v_all);
        UPDATE run AS r SET r.member = v_own WHERE r.run_id = p_run;
    END IF;
END;

-- followers: which replicas follow this server. MySQL does not count them; the session of a replica names its channel, which a session
-- that only reads the binary log does not (mysqlbinlog, CDC).
--# create procedure followers
CREATE PROCEDURE followers(OUT o_count bigint, OUT o_unseen varchar(400))
SQL SECURITY DEFINER
COMMENT 'How many replicas are connected to this server, or why that is not seen.'
BEGIN
    SET o_count = 0, o_unseen = NULL;
    /*M!
    SELECT MAX(CAST(v.variable_value AS signed)) INTO o_count
    FROM information_schema.global_status AS v
    WHERE v.variable_name = 'Slaves_connected'; */
    /*!80000
    IF NOT @@performance_schema THEN
        SET o_unseen = ': performance_schema is off';
    ELSEIF @@performance_schema_session_connect_attrs_size = 0 THEN
        SET o_unseen = ': performance_schema_session_connect_attrs_size is 0';
    ELSE
        BEGIN
            -- No right to see the sessions of others.
            DECLARE EXIT HANDLER FOR 1142, 1143 SET o_unseen = CONCAT(
                ' without the right: GRANT SELECT ON performance_schema.session_connect_attrs TO ', (SELECT s.owner FROM spec AS s)
            );
            SELECT COUNT(*) INTO o_count
            FROM performance_schema.session_connect_attrs AS a
            WHERE a.attr_name = '_client_replication_channel_name';
        END;
    END IF; */
END;

-- unfollowed: who arms a list of servers may not know that there must be a replica, and that it must be seen.
--# create procedure unfollowed
CREATE PROCEDURE unfollowed(OUT o_notice longtext)
SQL SECURITY DEFINER
COMMENT 'What will keep runs from starting once this server, of a list of servers that is armed, has restarted; NULL if nothing will.'
BEGIN
    DECLARE v_count  bigint;
    DECLARE v_unseen varchar(400);
    SET o_notice = NULL;
    SELECT COUNT(*) INTO v_count FROM control AS c WHERE c.armed AND c.server_identity LIKE 'cluster of servers %';
    IF v_count > 0 AND CAST(@@GLOBAL.read_only AS char) IN ('0', 'OFF') THEN
        CALL followers(v_count, v_unseen);
        IF v_unseen IS NOT NULL THEN
            SET o_notice = CONCAT('whether a replica follows this server is not seen', v_unseen);
        ELSEIF COALESCE(v_count, 0) = 0 THEN
            SET o_notice = 'no replica follows this server';
        END IF;
        SET o_notice = CONCAT(o_notice, ': once it has restarted, runs refuse until somebody arms it again or one is seen');
    END IF;
END;

-- not_armed: why nobody armed windrow here. Where a cluster is armed, each of its servers that takes writes may delete. One of those
-- that only replicate, which failed and has come back, may find that another one has taken over, and cannot see it: it waits until a
-- replica follows it. Dry runs and stamps begin on a server that waits, too, and so does what failed before it was a run (without
-- a node): they show nothing.
--# create procedure not_armed
CREATE PROCEDURE not_armed(OUT o_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Why nothing is deleted on this server: nobody armed windrow, or for another server or cluster, or the server has come back
    alone; NULL if it is armed.'
BEGIN
    DECLARE v_armed    boolean;
    DECLARE v_armed_on varchar(700);
    DECLARE v_servers  varchar(700);
    DECLARE v_identity varchar(700);
    DECLARE v_alive    datetime(6);
    DECLARE v_started  datetime;
    DECLARE v_followed bigint;
    DECLARE v_unseen   varchar(400);
    SET o_reason = NULL;
    SELECT c.armed, c.server_identity, c.armed_at INTO v_armed, v_armed_on, v_alive FROM control AS c;
    IF NOT v_armed THEN
        SET o_reason = 'not armed: nothing is deleted until you arm it';
    ELSEIF v_armed_on LIKE 'cluster %' THEN
        IF v_armed_on LIKE 'cluster of servers %' THEN
            SET v_servers = SUBSTRING_INDEX(SUBSTRING_INDEX(v_armed_on, ' ', 4), ' ', -1);
            SELECT GREATEST(v_alive, COALESCE(MAX(r.alive_at), v_alive))
            INTO v_alive
            FROM run AS r
            WHERE NOT r.dry_run
              AND r.`trigger` <> 'STAMP'
              AND r.node IS NOT NULL;
            SELECT UTC_TIMESTAMP() - INTERVAL MAX(CAST(v.variable_value AS signed)) SECOND
            INTO v_started
            FROM /*!80000 performance_schema.global_status */ /*M! information_schema.global_status */ AS v
            WHERE v.variable_name = 'Uptime';
            -- Only the second of the start is known: it may have started after what was seen of it in that second.
            IF v_alive < v_started + INTERVAL 1 SECOND THEN
                CALL followers(v_followed, v_unseen);
                IF v_unseen IS NOT NULL THEN
                    SET o_reason = CONCAT(
                        'this server has started since the last run, and whether a replica follows it is not seen', v_unseen
                    );
                ELSEIF COALESCE(v_followed, 0) = 0 THEN
                    SET o_reason = 'this server has started since the last run, and no replica follows it: another one may have taken over';
                END IF;
            END IF;
        END IF;
        CALL cluster_identity(v_servers, v_identity);
        IF NOT v_armed_on <=> v_identity THEN
            SET o_reason = CONCAT('armed for another ', v_armed_on);
        END IF;
    ELSE
        CALL server_identity(v_identity);
        IF NOT v_armed_on <=> v_identity THEN
            SET o_reason = CONCAT('armed on another server: ', COALESCE(v_armed_on, 'unknown'));
        END IF;
    END IF;
END;

-- arming: what not_armed() says, as far as a view may ask. On MariaDB it knows of a cluster what the last scheduled run on this server
-- was told, and who is in a list. A view of MySQL sees nothing of its server: there it is what a scheduled run was told after the
-- last one that began. On a replica no run starts, whatever it says.
--# create view arming
CREATE OR REPLACE SQL SECURITY INVOKER VIEW arming (reason, read_only) AS
/*!80000
SELECT
    IF(c.armed, (
        SELECT MAX(f.reason)
        FROM refusal AS f
        WHERE (f.reason LIKE 'armed %' OR f.reason LIKE 'this server has started since %')
          AND f.since > COALESCE((
              SELECT MAX(r.started_at)
              FROM run AS r
              WHERE NOT r.dry_run
                AND r.`trigger` <> 'STAMP'
                AND r.node IS NOT NULL
          ), '1000-01-01')
    ), 'not armed: nothing is deleted until you arm it'),
    false
FROM control AS c */
/*M!
SELECT
    CASE
        WHEN NOT h.armed THEN 'not armed: nothing is deleted until you arm it'
        WHEN h.armed_on LIKE 'cluster of servers %'
            AND FIND_IN_SET(h.place, SUBSTRING_INDEX(SUBSTRING_INDEX(h.armed_on, ' ', 4), ' ', -1)) = 0
            THEN CONCAT('armed for another ', h.armed_on)
        WHEN h.armed_on LIKE 'cluster %' THEN f.reason
        WHEN NOT h.armed_on <=> h.identity THEN CONCAT('armed on another server: ', COALESCE(h.armed_on, 'unknown'))
    END,
    h.read_only NOT IN ('0', 'OFF')
FROM (
    SELECT
        c.armed, c.server_identity AS armed_on, o.read_only, CONCAT(o.host, ':', o.port) AS place,
        CONCAT(
            LEFT(CONCAT_WS(' ', IF(o.host LIKE BINARY 'cluster', 'host', NULL), o.host, o.port, o.folder, o.address, o.id,
                JSON_VALUE(s.document, '$.control')), 600),
            IF(c.server_identity LIKE '% started at %', CONCAT(' started at ', UNIX_TIMESTAMP() - (
                SELECT CAST(u.variable_value AS signed) FROM information_schema.global_status AS u WHERE u.variable_name = 'Uptime'
            )), '')
        ) AS identity
    FROM control AS c
    CROSS JOIN spec AS s
    CROSS JOIN (
        SELECT
            MAX(IF(v.variable_name = 'hostname', v.variable_value, NULL)) AS host,
            MAX(IF(v.variable_name = 'port', v.variable_value, NULL)) AS port,
            MAX(IF(v.variable_name = 'datadir', v.variable_value, NULL)) AS folder,
            MAX(IF(v.variable_name = 'bind_address', v.variable_value, NULL)) AS address,
            MAX(IF(v.variable_name = 'server_id', v.variable_value, NULL)) AS id,
            MAX(IF(v.variable_name = 'read_only', v.variable_value, NULL)) AS read_only
        FROM information_schema.global_variables AS v
        WHERE v.variable_name IN ('hostname', 'port', 'datadir', 'bind_address', 'server_id', 'read_only')
    ) AS o
) AS h
LEFT JOIN refusal AS f
    ON f.server = h.identity
    AND (f.reason LIKE 'armed for another %' OR f.reason LIKE 'this server has started since %') */;

-- open_hours: when scheduled runs may work.
--# create view open_hours
CREATE OR REPLACE SQL SECURITY INVOKER VIEW open_hours (position, written, days, begins, ends, zone, changed_by, changed_at) AS
SELECT o.position, o.written, o.days, o.begins, o.ends, o.zone, o.changed_by, o.changed_at
FROM run_window AS o
UNION ALL
SELECT w.position, w.written, w.days, w.begins, w.ends, w.zone, NULL, NULL
FROM known_window AS w
WHERE NOT EXISTS (SELECT 1 FROM run_window);

-- window_at, in_window: whether a window is open at an instant in UTC. The clock of its zone decides: what it shows twice, as it is
-- put back, is in the window both times, and what it leaves out is in none.
--# create procedure window_at
CREATE PROCEDURE window_at(IN p_at datetime(6), OUT o_open boolean)
SQL SECURITY DEFINER
COMMENT 'What in_window() answers. Start inclusive, end exclusive, in each window''s time zone.'
BEGIN
    DECLARE v_unknown varchar(64);
    SELECT
        MAX(IF(it.clock IS NULL, it.zone, NULL)),
        COALESCE(MAX(IF(
            it.begins < it.ends,
            it.today AND TIME(it.clock) >= it.begins AND TIME(it.clock) < it.ends,
            (it.today AND TIME(it.clock) >= it.begins) OR (it.yesterday AND TIME(it.clock) < it.ends)
        )), false)
    INTO v_unknown, o_open
    FROM (
        SELECT
            l.begins, l.ends, l.zone, l.clock,
            LOCATE(WEEKDAY(l.clock) + 1, l.days) > 0 AS today,
            LOCATE(WEEKDAY(l.clock - INTERVAL 1 DAY) + 1, l.days) > 0 AS yesterday
        FROM (
            SELECT h.begins, h.ends, h.zone, h.days, CONVERT_TZ(p_at, '+00:00', IF(h.zone = 'UTC', '+00:00', h.zone)) AS clock
            FROM open_hours AS h
        ) AS l
    ) AS it;
    IF v_unknown IS NOT NULL THEN
        CALL not_ready(CONCAT('the server does not know the time zone ', v_unknown),
            CONCAT('load the zones with ', /*!80000 'mysql_tzinfo_to_sql' */ /*M! 'mariadb-tzinfo-to-sql' */));
    END IF;
END;
--# create procedure in_window
CREATE PROCEDURE in_window(IN p_at datetime(6), OUT o_open boolean)
SQL SECURITY DEFINER
COMMENT 'Whether scheduled runs may work at an instant in UTC, by open_hours. Start inclusive, end exclusive, in each window''s time
    zone.'
BEGIN
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL window_at(p_at, o_open);
    CALL unsettle(v_session);
END;

-- window_state: what a batch makes of the windows.
--# create procedure window_state
CREATE PROCEDURE window_state(IN p_run bigint, OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Answers "window closed" where run p_run is a scheduled one and no window is open, else NULL.'
BEGIN
    DECLARE v_trigger varchar(20);
    DECLARE v_open boolean;
    SET o_state = NULL;
    SELECT r.`trigger` INTO v_trigger FROM run AS r WHERE r.run_id = p_run;
    IF v_trigger = 'SCHEDULED' THEN
        CALL window_at(UTC_TIMESTAMP(6), v_open);
        IF NOT v_open THEN
            SET o_state = 'window closed';
        END IF;
    END IF;
END;

-- read_on: in a group (MySQL), whether each transaction waits for those of other servers first. Where one of these ends a
-- transaction of windrow, its next statement would begin another, and wait with the locks of the first for who waits for them.
--# create procedure read_on
CREATE PROCEDURE read_on(IN p_as varchar(40), OUT o_before varchar(40))
SQL SECURITY DEFINER
COMMENT 'Sets group_replication_consistency of the session, without p_as to one that does not wait; answers what it was.'
BEGIN
    -- No such variable, or none that this caller may set.
    DECLARE EXIT HANDLER FOR 1193, 1227 SET o_before = COALESCE(o_before, '');
    CALL run_text('SET @windrow_as = @@SESSION.group_replication_consistency');
    SET o_before = @windrow_as;
    SET @windrow_as = COALESCE(
        p_as, CASE o_before WHEN 'BEFORE' THEN 'BEFORE_ON_PRIMARY_FAILOVER' WHEN 'BEFORE_AND_AFTER' THEN 'AFTER' ELSE o_before END
    );
    IF @windrow_as <> o_before THEN
        CALL run_text('SET SESSION group_replication_consistency = @windrow_as');
    END IF;
END;

-- settle, unsettle: what the caller's session may have set and a run must not meet: chained transactions, foreign keys
-- that are not checked, deletions that are taken for a slip of the keyboard, short texts, waits of minutes, no autocommit, a past.
-- ease: the same for what may be called in a transaction of the caller.
--# create procedure settings_of_session
CREATE PROCEDURE settings_of_session(IN p_reads varchar(40), OUT o_before longtext)
SQL SECURITY DEFINER
COMMENT 'What unsettle() gives the session back.'
BEGIN
    SET o_before = CONCAT_WS(',',
        IF(@@SESSION.completion_type IN ('CHAIN', '1'), 1, IF(@@SESSION.completion_type IN ('RELEASE', '2'), 2, 0)),
        IF(@@SESSION.foreign_key_checks, 1, 0),
        IF(@@SESSION.sql_safe_updates, 1, 0),
        IF(@@SESSION.sql_big_selects, 1, 0),
        @@SESSION.group_concat_max_len,
        @@SESSION.innodb_lock_wait_timeout,
        @@SESSION.lock_wait_timeout,
        @@SESSION.max_seeks_for_key,
        /*M! @@SESSION.join_cache_level, */
        /*!80000 IF(FIND_IN_SET('block_nested_loop=on', @@SESSION.optimizer_switch), 1, 0), */
        p_reads,
        IF(@@SESSION.autocommit, 1, 0),
        @@SESSION.max_sort_length,
        @@SESSION.optimizer_search_depth,
        /*M! IF(@@SESSION.sql_if_exists, 1, 0), */
        /*M! @@SESSION.max_error_count, */
        /*!80000 IF(FIND_IN_SET('derived_merge=on', @@SESSION.optimizer_switch), 1, 0), */
        /*M! @@SESSION.system_versioning_asof, */
        @@SESSION.time_zone
    );
END;
--# create procedure eased
CREATE PROCEDURE eased()
SQL SECURITY DEFINER
COMMENT 'Sets the variables of the session that a call depends on.'
BEGIN
    -- A handler reads what was raised behind all warnings, where there is room for it. MySQL asks for a right that the owner has not.
    /*M! SET SESSION max_error_count = 65535; */
    CALL drop_shadows();
    -- The clock of the server, not one that the caller has put forward to make young families due. It is not put back.
    SET SESSION timestamp = DEFAULT;
    SET SESSION completion_type = 0;
    SET SESSION foreign_key_checks = 1;
    SET SESSION sql_safe_updates = 0;
    SET SESSION sql_big_selects = 1;
    SET SESSION group_concat_max_len = 67108864;
    -- What is longer is taken for the same, also where rows are put in groups.
    SET SESSION max_sort_length = 4096;
    --+ planner.sql
    -- Or MariaDB reads CREATE TABLE ... LIKE as a table without columns.
    /*M! SET SESSION sql_if_exists = 0; */
    -- A look at a table WITH SYSTEM VERSIONING would see what it was then.
    /*M! SET SESSION system_versioning_asof = DEFAULT; */
    SET SESSION time_zone = '+00:00';
END;
--# create procedure ease
CREATE PROCEDURE ease(OUT o_before longtext)
SQL SECURITY DEFINER
COMMENT 'What settle() does, in a transaction of the caller if there is one.'
BEGIN
    CALL settings_of_session('', o_before);
    CALL eased();
END;
--# create procedure settle
CREATE PROCEDURE settle(OUT o_before longtext)
SQL SECURITY DEFINER
COMMENT 'Sets the variables of the session that a run depends on, and answers what they were.'
BEGIN
    DECLARE v_reads varchar(40);
    -- Raises 25001 in a transaction: what is open is the caller's to end.
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    CALL read_on(NULL, v_reads);
    CALL settings_of_session(v_reads, o_before);
    -- Without it whatever reads or drops a table begins a transaction.
    SET SESSION autocommit = 1;
    CALL eased();
END;
--# create procedure unsettle
CREATE PROCEDURE unsettle(IN p_before longtext)
SQL SECURITY DEFINER
COMMENT 'Gives the session back what settle() answered.'
BEGIN
    DECLARE v_before varchar(40);
    DECLARE v_reads varchar(40);
    IF p_before IS NOT NULL THEN
        SET SESSION completion_type = CAST(SUBSTRING_INDEX(p_before, ',', 1) AS unsigned);
        SET SESSION foreign_key_checks = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 2), ',', -1) AS unsigned);
        SET SESSION sql_safe_updates = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 3), ',', -1) AS unsigned);
        SET SESSION sql_big_selects = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 4), ',', -1) AS unsigned);
        SET SESSION group_concat_max_len = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 5), ',', -1) AS unsigned);
        SET SESSION innodb_lock_wait_timeout = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 6), ',', -1) AS unsigned);
        SET SESSION lock_wait_timeout = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 7), ',', -1) AS unsigned);
        SET SESSION max_seeks_for_key = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 8), ',', -1) AS unsigned);
        SET v_before = SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 9), ',', -1);
        /*M! SET SESSION join_cache_level = CAST(v_before AS unsigned); */
        -- MySQL reads beyond the end of a text here that is not one of the statement.
        /*!80000 SET SESSION optimizer_switch = IF(v_before = '1', 'block_nested_loop=on', 'block_nested_loop=off'); */
        SET SESSION max_sort_length = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 12), ',', -1) AS unsigned);
        SET SESSION optimizer_search_depth = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 13), ',', -1) AS unsigned);
        SET v_before = SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 14), ',', -1);
        /*M! SET SESSION sql_if_exists = CAST(v_before AS unsigned); */
        /*M! SET SESSION max_error_count = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 15), ',', -1) AS unsigned); */
        /*!80000 SET SESSION optimizer_switch = IF(v_before = '1', 'derived_merge=on', 'derived_merge=off'); */
        SET SESSION time_zone = SUBSTRING_INDEX(p_before, ',', -1);
        -- It is said in that zone.
        SET v_before = SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', -2), ',', 1);
        /*M! IF v_before <> 'DEFAULT' THEN SET SESSION system_versioning_asof = v_before; END IF; */
        SET v_reads = SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 10), ',', -1);
        IF v_reads <> '' THEN
            CALL read_on(v_reads, v_before);
        END IF;
        IF NOT @@SESSION.autocommit <=> CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 11), ',', -1) AS unsigned) THEN
            SET SESSION autocommit = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 11), ',', -1) AS unsigned);
        END IF;
    END IF;
END;

-- let_go: gives a lock back as often as this very session has taken it.
--# create procedure let_go
CREATE PROCEDURE let_go(IN p_lock varchar(80))
SQL SECURITY DEFINER
COMMENT 'Gives back the lock of this name where the session has it.'
BEGIN
    WHILE IS_USED_LOCK(LEFT(p_lock, 64)) = CONNECTION_ID() DO
        DO RELEASE_LOCK(LEFT(p_lock, 64));
    END WHILE;
END;

-- lock_runs, unlock_runs: no run begins, and none is in progress, until the session ends or gives the locks back.
--# create procedure unlock_runs
CREATE PROCEDURE unlock_runs()
SQL SECURITY DEFINER
COMMENT 'Gives back what lock_runs() took.'
BEGIN
    DECLARE v_lock    varchar(64);
    DECLARE v_workers int;
    SELECT s.run_lock, s.workers INTO v_lock, v_workers FROM spec AS s;
    CALL let_go(v_lock);
    WHILE v_workers > 1 DO
        CALL let_go(CONCAT(v_lock, '.w', v_workers));
        SET v_workers = v_workers - 1;
    END WHILE;
END;
--# create procedure lock_runs
CREATE PROCEDURE lock_runs()
SQL SECURITY DEFINER
COMMENT 'Takes the locks of the runs of all workers, or raises 55000 where a run or a purge is in progress.'
BEGIN
    DECLARE v_lock    varchar(64);
    DECLARE v_own     varchar(64);
    DECLARE v_node    varchar(700);
    DECLARE v_workers int;
    DECLARE v_worker  int DEFAULT 1;
    DECLARE v_run     bigint;
    DECLARE v_pid     bigint;
    SELECT s.run_lock, s.workers INTO v_lock, v_workers FROM spec AS s;
    WHILE v_worker <= v_workers DO
        SET v_own = LEFT(CONCAT(v_lock, IF(v_worker > 1, CONCAT('.w', v_worker), '')), 64);
        IF COALESCE(GET_LOCK(v_own, 10), 0) = 0 THEN
            SET v_pid = IS_USED_LOCK(v_own);
            CALL unlock_runs();
            CALL not_ready(CONCAT('a run is in progress, or connection ', COALESCE(v_pid, '?'), ' has taken its lock'),
                CONCAT('CALL ', DATABASE(), '.pause() and wait for its end, or end that connection'));
        END IF;
        SET v_worker = v_worker + 1;
    END WHILE;
    -- Purges have locks of their own, and sessions of other servers have none here.
    CALL identity_of(false, v_node);
    SELECT MIN(r.run_id)
    INTO v_run
    FROM run AS r
    WHERE r.status = 'running'
      AND NOT r.dry_run
      AND r.`trigger` <> 'STAMP'
      AND IF(
          r.node <> v_node,
          true,
          r.`trigger` = 'PURGE' AND r.backend_pid <> CONNECTION_ID()
          AND IS_USED_LOCK(LEFT(CONCAT(v_lock, '.', r.run_id), 64)) = r.backend_pid
      );
    IF v_run IS NOT NULL THEN
        CALL unlock_runs();
        CALL not_ready(CONCAT('run ', v_run, ' is in progress'), CONCAT('wait for its end; if it is dead, CALL ', DATABASE(), '.reap()'));
    END IF;
END;

-- reap: closes the runs of the ledger that say running, though their call is over: its session vanished, or it is this
-- very session, whose statement was killed. What they committed is kept. Sessions and their locks are known to their own
-- server only: a run of another one, in a cluster, has crashed when that is no member any more, or when it gave no sign of life for five
-- minutes; each batch gives one, and each minute of a rest. A purge or a stamp has an hour. What is called crashed and lives ends before
-- its next batch.
--# create procedure reap
CREATE PROCEDURE reap()
SQL SECURITY DEFINER
COMMENT 'Closes runs of the ledger whose call has ended, as the next run also does. After KILL QUERY first ROLLBACK in the session of
    the run.
    Example: CALL reap();'
BEGIN
    DECLARE v_torn bigint;
    DECLARE v_run  bigint;
    DECLARE v_last bigint DEFAULT 0;
    DECLARE v_node varchar(700);
    DECLARE v_lock varchar(64);
    DECLARE v_workers int;
    DECLARE v_own     varchar(36);
    DECLARE v_members longtext;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    SELECT s.run_lock, s.workers INTO v_lock, v_workers FROM spec AS s;
    CALL identity_of(false, v_node);
    SELECT MIN(r.run_id) INTO v_run FROM run AS r WHERE r.status = 'running' AND r.member IS NOT NULL AND r.node <> v_node;
    IF v_run IS NOT NULL THEN
        CALL cluster_nodes(v_own, v_members);
    END IF;
    -- One by one: whoever reads them all to change some waits for those that live.
    closing: LOOP
        SELECT MIN(r.run_id)
        INTO v_run
        FROM run AS r
        WHERE r.run_id > v_last
          AND r.status = 'running'
          AND IF(
              COALESCE(r.node, v_node) = v_node,
              -- Any session may hold the lock; only the run's own one says that it lives.
              r.backend_pid = CONNECTION_ID() OR NOT IS_USED_LOCK(CASE r.`trigger`
                  WHEN 'PURGE' THEN CONCAT(v_lock, '.', r.run_id)
                  WHEN 'STAMP' THEN CONCAT(v_lock, '.stamp')
                  ELSE CONCAT(v_lock, IF(JSON_VALUE(r.options, '$.worker') > 1, CONCAT('.w', JSON_VALUE(r.options, '$.worker') + 0), ''))
              END) <=> r.backend_pid,
              FIND_IN_SET(r.member, v_members) = 0
              OR r.alive_at < UTC_TIMESTAMP(6) - INTERVAL IF(r.`trigger` IN ('PURGE', 'STAMP'), 60, 5) MINUTE
          );
        IF v_run IS NULL THEN
            LEAVE closing;
        END IF;
        UPDATE run AS r
        SET r.status = IF(
                COALESCE(r.node, v_node) = v_node
                AND IS_USED_LOCK(CASE r.`trigger`
                    WHEN 'PURGE' THEN CONCAT(v_lock, '.', r.run_id)
                    WHEN 'STAMP' THEN CONCAT(v_lock, '.stamp')
                    ELSE CONCAT(v_lock, IF(JSON_VALUE(r.options, '$.worker') > 1, CONCAT('.w', JSON_VALUE(r.options, '$.worker') + 0), ''))
                END) = r.backend_pid,
                'cancelled', 'crashed'
            ),
            r.reason = CASE
                WHEN r.status = 'cancelled' THEN 'cancelled'
                WHEN r.node <> v_node AND FIND_IN_SET(r.member, v_members) = 0
                    THEN 'its server is no member of the cluster any more; what it committed is kept'
                WHEN r.node <> v_node THEN CONCAT('no sign of life from its server for ',
                    IF(r.`trigger` IN ('PURGE', 'STAMP'), 'an hour', 'five minutes'), '; what it committed is kept')
                ELSE 'its session vanished; what it committed is kept'
            END,
            r.finished_at = COALESCE(
                (SELECT MAX(p.updated_at) FROM run_rule AS p WHERE p.run_id = r.run_id),
                (SELECT MAX(p.updated_at) FROM run_stamp AS p WHERE p.run_id = r.run_id)
            )
        WHERE r.run_id = v_run
          AND r.status = 'running';
        SET v_last = v_run;
    END LOOP closing;
    -- A session that kept the transaction of its killed run, and committed it: the ledger cannot say what it deleted last.
    SELECT COUNT(u.run_id) INTO v_torn FROM unfinished AS u WHERE u.run_id > 0;
    IF v_torn > 0 THEN
        UPDATE unfinished AS u
        STRAIGHT_JOIN run AS r ON r.run_id = u.run_id
        SET r.reason = 'killed inside a batch, which its session committed: part of it is gone without an entry here, and the next run '
            'finishes it'
        WHERE r.status <> 'running';
        UPDATE unfinished AS u
        STRAIGHT_JOIN run_rule AS p ON p.run_id = u.run_id AND p.rule = u.rule
        SET p.deleted_rows = (SELECT SUM(t.deleted_rows) FROM run_table AS t WHERE t.run_id = p.run_id AND t.rule = p.rule);
    END IF;
    CALL let_go(v_lock);
    CALL let_go(CONCAT(v_lock, '.stamp'));
    WHILE v_workers > 1 DO
        CALL let_go(CONCAT(v_lock, '.w', v_workers));
        SET v_workers = v_workers - 1;
    END WHILE;
    CALL unsettle(v_session);
END;
