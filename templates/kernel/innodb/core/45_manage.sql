-- run_scheduled: what the event calls. An error before the run was opened would only reach the error log of the server:
-- here it reaches the ledger. The same refusal again and again is one row, with the time of the last one.
--# create procedure run_scheduled
CREATE PROCEDURE run_scheduled(IN p_worker int)
SQL SECURITY DEFINER
COMMENT 'One scheduled run, of a worker where there are several; an error is recorded in table run. The event calls it.'
BEGIN
    DECLARE v_started datetime(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_errno int;
    DECLARE v_sqlstate char(5);
    DECLARE v_message text;
    DECLARE v_last bigint;
    DECLARE v_own boolean;
    DECLARE v_number integer;
    DECLARE v_kept integer DEFAULT @@SESSION.max_error_count;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        --+ raised.sql
        ROLLBACK;
        /*M! SET SESSION max_error_count = v_kept; */
        SET v_message = CONCAT('error ', v_errno, ' (', v_sqlstate, '): ', v_message);
        SELECT MAX(r.run_id), MAX(r.backend_pid = CONNECTION_ID() AND r.started_at >= v_started) INTO v_last, v_own FROM run AS r;
        IF NOT COALESCE(v_own, false) THEN
            UPDATE run AS r
            SET r.finished_at = UTC_TIMESTAMP(6)
            WHERE r.run_id = v_last
              AND r.`trigger` = 'SCHEDULED'
              AND r.status = 'failed'
              AND r.reason = v_message;
            IF ROW_COUNT() = 0 THEN
                INSERT INTO run (`trigger`, dry_run, options, as_of, status, reason, backend_pid, started_at, finished_at)
                VALUES ('SCHEDULED', false, '{"trigger": "SCHEDULED"}', v_started, 'failed', v_message, CONNECTION_ID(), v_started,
                    UTC_TIMESTAMP(6));
            END IF;
        END IF;
        COMMIT;
    END;
    -- run() gives back what it finds: it raises behind that.
    /*M! SET SESSION max_error_count = 65535; */
    -- A replica gets the deletions of its source.
    IF CAST(@@GLOBAL.read_only AS char) IN ('0', 'OFF') THEN
        CALL run(CONCAT('{"trigger": "SCHEDULED"', COALESCE(CONCAT(', "worker": ', p_worker), ''), '}'));
    END IF;
    /*M! SET SESSION max_error_count = v_kept; */
END;

-- Whoever calls may have set the clock of his session: what is written below bears the time of the server.
-- Every UPDATE and DELETE names a key, so that it works under sql_safe_updates.

-- pause, resume: the kill switch. A running purge obeys before its next batch.
--# create procedure pause
CREATE PROCEDURE pause(IN p_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Stops the current run before its next batch and refuses new ones. Example: CALL pause(''month-end closing'');'
BEGIN
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    UPDATE control AS c
    SET c.paused = true,
        c.paused_by = USER(),
        c.paused_at = UTC_TIMESTAMP(6),
        c.paused_reason = LEFT(p_reason, 10000)
    WHERE c.only_row = true;
    CALL unsettle(v_session);
END;
--# create procedure resume
CREATE PROCEDURE resume()
SQL SECURITY DEFINER
COMMENT 'Allows runs again after pause(). Example: CALL resume();'
BEGIN
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    UPDATE control AS c
    SET c.paused = false,
        c.paused_by = NULL,
        c.paused_at = NULL,
        c.paused_reason = NULL
    WHERE c.only_row = true;
    CALL unsettle(v_session);
END;

-- decided: what people have decided for rules by their names. orphaned: what of it matches no rule of the spec any more, because a
-- rule was renamed, left out, or given another key or scope: it has no effect, so nothing is deleted until somebody releases it.
--# create view decided
CREATE OR REPLACE SQL SECURITY INVOKER VIEW decided (kind, rule, name, refers_to, in_force) AS
SELECT d.kind, d.rule, d.name, COALESCE(d.refers_to, n.refers_to), d.in_force
FROM (
    SELECT
        'hold' AS kind, h.rule, h.`key` COLLATE utf8mb4_bin AS name, h.refers_to, COALESCE(h.until > UTC_TIMESTAMP(6), true) AS in_force
    FROM hold AS h
    UNION ALL
    SELECT 'policy', p.rule, p.scope, p.refers_to, true FROM policy AS p
    UNION ALL
    SELECT 'pause', p.rule, NULL, NULL, true FROM rule_pause AS p
    UNION ALL
    SELECT 'setting', s.rule, s.name, NULL, true FROM setting AS s
) AS d
LEFT JOIN rule_refers AS n ON n.rule = d.rule AND n.kind = d.kind;
--# create view orphaned
CREATE OR REPLACE SQL SECURITY INVOKER VIEW orphaned (kind, rule, count, names, why) AS
SELECT
    d.kind, d.rule, COUNT(*),
    -- No window function and no list of all: MariaDB reads the one wrongly again in a routine, a setting of the session cuts the other.
    CONCAT(
        LEFT(MIN(d.name), 40), IF(COUNT(*) > 2, ', ...', ''), IF(COUNT(*) > 1, CONCAT(', ', LEFT(MAX(d.name), 40)), '')
    ),
    IF(
        MAX(r.rule) IS NOT NULL,
        CONCAT('set for ', d.refers_to, ', and rule ', d.rule, ' has ', COALESCE(MAX(n.refers_to), 'no scopes'), ' now'),
        CONCAT('the spec has no rule ', d.rule)
    )
FROM decided AS d
LEFT JOIN rule AS r ON r.rule = d.rule
LEFT JOIN rule_refers AS n ON n.rule = d.rule AND n.kind = d.kind
WHERE d.in_force
  AND (r.rule IS NULL OR d.refers_to <> COALESCE(n.refers_to, ''))
GROUP BY d.kind, d.rule, d.refers_to;

-- check_decided: the rule of something that was decided. It may be one that the spec no longer has.
--# create procedure check_decided
CREATE PROCEDURE check_decided(IN p_options longtext, OUT o_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'The rule that the options name, also one that the spec no longer has, if there are holds, policies, a pause or settings of it.'
BEGIN
    DECLARE v_rule longtext;
    CALL option_of(p_options, 'rule', v_rule);
    SELECT MAX(d.rule) INTO o_rule FROM decided AS d WHERE d.rule = v_rule AND CHAR_LENGTH(d.rule) = CHAR_LENGTH(v_rule);
    IF o_rule IS NULL THEN
        CALL check_rule(p_options, o_rule);
    END IF;
END;

-- check_orphaned: what has no effect keeps nothing.
--# create procedure check_orphaned
CREATE PROCEDURE check_orphaned()
SQL SECURITY DEFINER
COMMENT 'Raises 55000 where a hold, a policy, a pause or a setting matches no rule of the spec.'
BEGIN
    DECLARE v_orphan longtext;
    SELECT CONCAT_WS(': ', CONCAT(o.kind, ' of rule ', o.rule, ' has no effect'), o.why, o.names)
    INTO v_orphan
    FROM orphaned AS o
    ORDER BY o.kind, o.rule
    LIMIT 1;
    IF v_orphan IS NOT NULL THEN
        CALL not_ready(v_orphan, CONCAT('release or drop it, see view ', DATABASE(), '.orphaned'));
    END IF;
END;

-- named_cluster: which cluster arm_with() names.
--# create procedure named_cluster
CREATE PROCEDURE named_cluster(IN p_cluster varchar(700), OUT o_identity varchar(700))
SQL SECURITY DEFINER
COMMENT 'Identity of the cluster with this name, or of this list of servers; raises 22023 where this server does not belong to it.'
BEGIN
    DECLARE v_servers varchar(700) DEFAULT IF(LOCATE(':', p_cluster) > 0, REPLACE(p_cluster, ' ', ''), NULL);
    CALL cluster_identity(v_servers, o_identity);
    IF v_servers IS NOT NULL AND o_identity IS NULL THEN
        CALL refuse(CONCAT('this server is not in the list: ', @@hostname, ':', @@port),
            'name each server as it names itself: SELECT @@hostname, @@port');
    ELSEIF v_servers IS NULL AND NOT @windrow_cluster <=> p_cluster THEN
        CALL refuse(CONCAT('this server is not of cluster ', QUOTE(p_cluster), ', but of ', COALESCE(QUOTE(@windrow_cluster), 'none')),
            'name its Galera cluster (wsrep_cluster_name) or its group (group_replication_group_name); for servers that only replicate '
            'write a list, "db1:3306,db2:3306"');
    ELSEIF o_identity IS NULL THEN
        CALL not_ready(CONCAT('this server is not a member of cluster ', QUOTE(p_cluster), ' now, or may not see its members'), CONCAT(
            'arm a member that takes writes; on MySQL first GRANT SELECT ON performance_schema.replication_group_members TO ',
            (SELECT s.owner FROM spec AS s)));
    END IF;
END;

-- armed_cluster: the cluster that is armed already, if this server belongs to it. In a group (MySQL) it may be one that cannot see
-- itself: then nobody knows.
--# create procedure armed_cluster
CREATE PROCEDURE armed_cluster(OUT o_identity varchar(700))
SQL SECURITY DEFINER
COMMENT 'Identity of the cluster that is armed, where this server belongs to it; NULL for another or none.'
BEGIN
    DECLARE v_armed_on varchar(700);
    SELECT c.server_identity INTO v_armed_on FROM control AS c WHERE c.server_identity LIKE 'cluster %';
    IF v_armed_on IS NOT NULL THEN
        CALL cluster_here(v_armed_on, o_identity);
        IF o_identity IS NULL AND LOCATE(CONCAT('cluster ', @windrow_cluster, ' '), v_armed_on) = 1 THEN
            CALL not_ready(CONCAT('this server does not see itself in cluster ', QUOTE(@windrow_cluster)),
                'arm_with(''{"this_server": true}'')');
        ELSEIF NOT o_identity <=> v_armed_on THEN
            SET o_identity = NULL;
        END IF;
    END IF;
END;

-- arm: from now on runs may delete on this server. Notes the orphans that were there before. Where a cluster is armed that this
-- server belongs to, it stays armed as a whole, unless the caller says that this server alone is meant: nobody would notice before
-- the next failover.
--# create procedure arm
CREATE PROCEDURE arm()
SQL SECURITY DEFINER
COMMENT 'Allows runs to delete on this server, unless something that is not in the spec acts on its tables; needed once after the
    installation, and again after a new rule was installed, and after a restore, clone or promotion.
    Example: CALL arm();'
BEGIN
    CALL arm_with('{}');
END;
--# create procedure arm_with
CREATE PROCEDURE arm_with(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Like arm(), with options. until: "restart" ends this permission at the next server start, for sites that clone servers
    by storage snapshots. cluster: the name of the Galera cluster or of the group, or a list of servers that replicate, host:port:
    whichever of its servers takes writes may delete, also after a failover. Once armed, the cluster stays armed when one of its
    servers calls arm(); this_server: true arms that server alone. Answers, where no replica of a list is seen, what that means.
    Examples: CALL arm_with(''{"until": "restart"}''); CALL arm_with(''{"cluster": "db1:3306,db2:3306"}'');'
BEGIN
    DECLARE v_until    longtext;
    DECLARE v_cluster  longtext;
    DECLARE v_alone    boolean;
    DECLARE v_identity varchar(700);
    DECLARE v_node     varchar(700);
    DECLARE v_orphans  longtext;
    DECLARE v_stranger longtext;
    DECLARE v_others   bigint;
    DECLARE v_notice   longtext;
    DECLARE v_session  longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    -- The tables are taken as they are now; what acts on them must be in the spec.
    CALL read_catalog();
    CALL stranger(v_stranger);
    IF v_stranger IS NOT NULL THEN
        CALL refuse_stranger(v_stranger);
    END IF;
    CALL check_options(p_options, '["until", "cluster", "this_server"]');
    CALL option_of(p_options, 'until', v_until);
    CALL option_of(p_options, 'cluster', v_cluster);
    CALL flag_of(p_options, 'this_server', v_alone);
    IF v_until <> 'restart' THEN
        CALL refuse(CONCAT('until is not "restart": ', QUOTE(v_until)), 'leave it out, or write {"until": "restart"}');
    ELSEIF v_until = 'restart' AND v_cluster IS NOT NULL THEN
        CALL refuse('until and cluster exclude each other', 'a cluster is armed until somebody arms a server or another cluster');
    ELSEIF v_alone AND v_cluster IS NOT NULL THEN
        CALL refuse('this_server and cluster exclude each other', 'write {"this_server": true} to arm this server alone');
    END IF;
    CALL check_orphaned();
    IF v_cluster IS NOT NULL THEN
        CALL named_cluster(v_cluster, v_identity);
    ELSEIF v_until IS NULL AND v_alone IS NOT TRUE THEN
        CALL armed_cluster(v_identity);
    END IF;
    IF v_identity IS NULL THEN
        CALL identity_of(v_until IS NOT NULL, v_identity);
    END IF;
    -- Whole tables are read before anything is written: whoever is interrupted has changed nothing.
    CALL count_orphans();
    SELECT COALESCE(JSON_OBJECTAGG(o.edge, o.orphans), '{}') INTO v_orphans FROM work_orphan AS o;
    DROP TEMPORARY TABLE work_orphan;
    CALL note_catalog(0);
    UPDATE control AS c
    SET c.armed = true,
        c.armed_by = USER(),
        c.armed_at = UTC_TIMESTAMP(6),
        c.armed_rules = (SELECT JSON_EXTRACT(s.document, '$.rules') FROM spec AS s),
        c.server_identity = v_identity,
        c.orphans_at_arm = v_orphans
    WHERE c.only_row = true;
    -- What runs on another server of a cluster ends before its next batch, also where the cluster is armed: it may be dead.
    CALL identity_of(false, v_node);
    SELECT COUNT(*) INTO v_others FROM run AS r WHERE r.status = 'running' AND r.node <> v_node;
    IF v_others > 0 THEN
        UPDATE run AS r
        SET r.status = 'cancelled',
            r.reason = 'another server was armed; what it committed is kept',
            r.finished_at = UTC_TIMESTAMP(6)
        WHERE r.run_id > 0
          AND r.status = 'running'
          AND r.node <> v_node;
    END IF;
    -- What refused on other servers, or here, is over.
    DELETE FROM refusal WHERE server > '';
    CALL unfollowed(v_notice);
    CALL unsettle(v_session);
    IF v_notice IS NOT NULL THEN
        SELECT v_notice AS p_result;
    END IF;
END;

-- Who writes a policy or a hold takes the latch afterwards, which every batch holds in share mode. With autocommit the row
-- is committed before the wait; in a transaction of the caller the latch is kept until it ends. Either way no batch is under
-- way, when the call returns, that did not see what was written. Other servers of a cluster know nothing of the latch: there
-- it writes what a batch in progress has locked and will write itself, and the cluster lets only one of the two commit.

-- tell_runs: each batch locks its row of run_rule before it reads a hold, and each call writes the row of control before it
-- opens that. So a batch which did not see what was written before this is undone, or was committed before.
--# create procedure is_shared
CREATE PROCEDURE is_shared(OUT o_shared boolean)
SQL SECURITY DEFINER
COMMENT 'Whether this server is one of several that take writes: of a Galera cluster, or of a group with several primaries.'
BEGIN
    SET @windrow_shared = false;
    -- No such variable.
    galera: BEGIN
        DECLARE EXIT HANDLER FOR 1193 BEGIN END;
        CALL run_text('SET @windrow_shared = @@GLOBAL.wsrep_on');
    END galera;
    of_group: BEGIN
        DECLARE EXIT HANDLER FOR 1193 BEGIN END;
        CALL run_text('SET @windrow_shared = @windrow_shared OR NOT @@GLOBAL.group_replication_single_primary_mode');
    END of_group;
    SET o_shared = @windrow_shared;
END;
--# create procedure is_alone
CREATE PROCEDURE is_alone(OUT o_alone boolean)
SQL SECURITY DEFINER
COMMENT 'Whether each statement commits by itself: without a transaction no savepoint is kept.'
BEGIN
    DECLARE EXIT HANDLER FOR 1305 SET o_alone = true;
    SAVEPOINT windrow_alone;
    RELEASE SAVEPOINT windrow_alone;
    SET o_alone = false;
END;
--# create procedure catch_up
CREATE PROCEDURE catch_up()
SQL SECURITY DEFINER
COMMENT 'In a group: waits until all is here that was committed before anywhere. A transaction of the caller does not.'
BEGIN
    DECLARE v_reads varchar(40);
    DECLARE v_other varchar(40);
    DECLARE v_latch boolean;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL read_on(v_reads, v_other);
        RESIGNAL;
    END;
    CALL read_on('BEFORE', v_reads);
    SELECT l.only_row INTO v_latch FROM latch AS l;
    IF v_reads <> '' THEN
        CALL read_on(v_reads, v_other);
    END IF;
END;
--# create procedure tell_runs
CREATE PROCEDURE tell_runs()
SQL SECURITY DEFINER
COMMENT 'In a cluster: undoes each batch under way on another server that did not see what was written before. Elsewhere nothing.'
BEGIN
    DECLARE v_shared boolean;
    DECLARE v_alone  boolean;
    DECLARE v_told   boolean DEFAULT false;
    DECLARE v_left   integer DEFAULT 20;
    CALL is_shared(v_shared);
    IF v_shared THEN
        CALL is_alone(v_alone);
        WHILE NOT v_told DO
            telling: BEGIN
                -- A batch or a run that begins was faster. In a transaction of the caller, all that he did is undone then.
                DECLARE EXIT HANDLER FOR 1180, 1213, 3101
                BEGIN
                    SET v_left = v_left - 1;
                    IF v_left = 0 OR NOT v_alone THEN
                        RESIGNAL;
                    END IF;
                END;
                UPDATE control AS c SET c.begun = c.begun + 1 WHERE c.only_row = true;
                UPDATE run AS r
                STRAIGHT_JOIN run_rule AS p ON p.run_id = r.run_id
                SET p.told = p.told + 1
                WHERE r.run_id > 0
                  AND r.status = 'running';
                SET v_told = true;
            END telling;
        END WHILE;
        CALL catch_up();
    END IF;
END;

-- policy_document, hold_document: one row as a document, as it is now: the caller's transaction may have begun long ago.
--# create procedure policy_document
CREATE PROCEDURE policy_document(IN p_rule varchar(64), IN p_scope varchar(255), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'One policy as a JSON document; NULL if there is none. retention_seconds: what is in force; follows_spec: it is the default of
    the spec.'
BEGIN
    SELECT MAX(CONCAT(
        '{"rule": ', COALESCE(JSON_QUOTE(p.rule), 'null'),
        ', "scope": ', COALESCE(JSON_QUOTE(p.scope), 'null'),
        ', "enabled": ', IF(p.enabled, 'true', 'false'),
        ', "retention_seconds": ', COALESCE(CAST(COALESCE(p.retention_seconds, r.retention) AS CHAR), 'null'),
        ', "follows_spec": ', IF(p.retention_seconds IS NULL, 'true', 'false'),
        ', "artifacts": ', IF(p.artifacts, 'true', 'false'),
        ', "note": ', COALESCE(JSON_QUOTE(p.note), 'null'),
        ', "changed_by": ', COALESCE(JSON_QUOTE(p.changed_by), 'null'),
        ', "changed_at": ', COALESCE(CONCAT('"', DATE_FORMAT(p.changed_at, '%Y-%m-%dT%T'),
            TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(p.changed_at, '.%f'))), '+00:00"'), 'null'), '}'
    ))
    INTO o_document
    FROM policy AS p
    LEFT JOIN rule AS r ON r.rule = p.rule
    WHERE p.rule = p_rule
      AND p.scope = p_scope
    LOCK IN SHARE MODE;
END;
--# create procedure hold_document
CREATE PROCEDURE hold_document(IN p_rule varchar(64), IN p_key varchar(700), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'One hold as a JSON document; NULL if there is none.'
BEGIN
    SELECT MAX(CONCAT(
        '{"rule": ', COALESCE(JSON_QUOTE(h.rule), 'null'),
        ', "key": ', COALESCE(JSON_QUOTE(h.`key`), 'null'),
        ', "reason": ', COALESCE(JSON_QUOTE(h.reason), 'null'),
        ', "until": ', COALESCE(CONCAT('"', DATE_FORMAT(h.until, '%Y-%m-%dT%T'),
            TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(h.until, '.%f'))), '+00:00"'), 'null'),
        ', "placed_by": ', COALESCE(JSON_QUOTE(h.placed_by), 'null'),
        ', "placed_at": ', COALESCE(CONCAT('"', DATE_FORMAT(h.placed_at, '%Y-%m-%dT%T'),
            TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(h.placed_at, '.%f'))), '+00:00"'), 'null'),
        ', "absent": ', IF(h.absent = 1, 'true', 'false'), '}'
    ))
    INTO o_document
    FROM hold AS h
    WHERE h.rule = p_rule
      AND h.`key` = p_key /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */
    LOCK IN SHARE MODE;
END;

-- one_spelling: a scope has one policy, however its column lets it be spelled.
--# create procedure one_spelling
CREATE PROCEDURE one_spelling(IN p_rule varchar(64), IN p_scope varchar(255))
SQL SECURITY DEFINER
COMMENT 'Raises 22023 if the rule has a policy for another spelling of the scope: one that its column takes for the same.'
BEGIN
    DECLARE v_root  varchar(64);
    DECLARE v_name  varchar(64);
    DECLARE v_text  longtext;
    DECLARE v_schema varchar(64) DEFAULT (SELECT s.schema_name FROM spec AS s);
    SELECT r.root, r.scope_name INTO v_root, v_name FROM rule AS r WHERE r.rule = p_rule;
    SELECT MAX(CONCAT(
        'SELECT MIN(p.scope) INTO @windrow_alike FROM policy AS p WHERE p.rule = @windrow_rule AND p.scope <> @windrow_scope',
        ' AND (p.refers_to = ', QUOTE(LOWER(CONCAT(v_root, '.', v_name))), ') IS NOT FALSE',
        ' AND CONVERT(p.scope USING ', c.character_set_name,
        ') = CONVERT(@windrow_scope USING ', c.character_set_name, ') COLLATE ', c.collation_name
    ))
    INTO v_text
    FROM information_schema.columns AS c
    WHERE c.table_schema = v_schema
      AND c.table_name = v_root
      AND c.column_name = v_name
      AND c.collation_name IS NOT NULL;
    IF v_text IS NOT NULL THEN
        SET @windrow_rule = p_rule, @windrow_scope = p_scope, @windrow_alike = NULL;
        CALL run_text(v_text);
        IF @windrow_alike IS NOT NULL THEN
            CALL refuse(
                CONCAT('scope ', QUOTE(p_scope), ' has a policy already, for its spelling ', QUOTE(@windrow_alike)),
                CONCAT('change or drop that one: to ', v_root, '.', v_name, ' they are the same')
            );
        END IF;
    END IF;
END;

-- set_policy, drop_policy: what is cleaned, and after how long.
--# create procedure set_policy
CREATE PROCEDURE set_policy(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Writes one policy: rule, scope, retention ("default", or none where it is new: the default of the spec, also of each later
    one), enabled, artifacts, note. Waits for a running batch.
    Example: CALL set_policy(''{"scope": "42", "retention": "30d"}'');'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_scope longtext;
    DECLARE v_text longtext;
    DECLARE v_retention bigint;
    DECLARE v_default bigint;
    DECLARE v_minimum bigint;
    DECLARE v_known bigint;
    DECLARE v_enabled boolean;
    DECLARE v_artifacts boolean;
    DECLARE v_note longtext;
    DECLARE v_latch boolean;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL check_options(p_options, '["rule", "scope", "retention", "enabled", "artifacts", "note"]');
    CALL check_rule(p_options, v_rule);
    CALL option_of(p_options, 'scope', v_scope);
    CALL check_scope(v_rule, v_scope);
    CALL one_spelling(v_rule, v_scope);
    CALL option_of(p_options, 'retention', v_text);
    CALL seconds(NULLIF(v_text, 'default'), v_retention);
    CALL flag_of(p_options, 'enabled', v_enabled);
    CALL flag_of(p_options, 'artifacts', v_artifacts);
    CALL option_of(p_options, 'note', v_note);
    SELECT r.retention, r.minimum INTO v_default, v_minimum FROM rule AS r WHERE r.rule = v_rule;
    SELECT COALESCE(v_retention, MAX(IF(v_text = 'default', NULL, p.retention_seconds))), COUNT(*)
    INTO v_retention, v_known
    FROM policy AS p
    WHERE p.rule = v_rule
      AND p.scope = v_scope
    LOCK IN SHARE MODE;
    -- One that follows the spec may be disabled or noted, also where that has no default any more.
    IF v_retention IS NULL AND v_default IS NULL AND (v_known = 0 OR v_text = 'default') THEN
        CALL refuse(CONCAT('rule ', v_rule, ' has no default retention'), 'name one: {"retention": "30d"}');
    END IF;
    IF v_retention < v_minimum THEN
        CALL refuse(
            CONCAT('a retention of ', COALESCE(v_text, CONCAT(v_retention, 's')), ' is below the minimum of rule ', v_rule),
            CONCAT('it is ', ROUND(v_minimum / 86400, 2), ' days')
        );
    END IF;
    INSERT INTO policy (rule, scope, enabled, retention_seconds, artifacts, note, changed_by, changed_at)
    VALUES (v_rule, v_scope, COALESCE(v_enabled, true), v_retention, COALESCE(v_artifacts, true), v_note, USER(), UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
        enabled = COALESCE(v_enabled, enabled),
        retention_seconds = v_retention,
        artifacts = COALESCE(v_artifacts, artifacts),
        note = COALESCE(v_note, note),
        changed_by = USER(),
        changed_at = UTC_TIMESTAMP(6),
        refers_to = NULL;
    SELECT l.only_row INTO v_latch FROM latch AS l FOR UPDATE;
    CALL tell_runs();
    CALL policy_document(v_rule, v_scope, v_text);
    CALL unsettle(v_session);
    SELECT v_text AS p_result;
END;
--# create procedure drop_policy
CREATE PROCEDURE drop_policy(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Drops one policy and returns it. Waits for a running batch. Example: CALL drop_policy(''{"scope": "42"}'');'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_scope longtext;
    DECLARE v_document longtext;
    DECLARE v_latch boolean;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL check_options(p_options, '["rule", "scope"]');
    CALL check_decided(p_options, v_rule);
    CALL option_of(p_options, 'scope', v_scope);
    CALL policy_document(v_rule, LEFT(v_scope, 255), v_document);
    IF v_document IS NULL THEN
        CALL refuse(CONCAT('no policy for scope ', QUOTE(v_scope), ' of rule ', v_rule),
            CONCAT('the policies are in table ', DATABASE(), '.policy'));
    END IF;
    DELETE FROM policy WHERE rule = v_rule AND scope = v_scope;
    SELECT l.only_row INTO v_latch FROM latch AS l FOR UPDATE;
    CALL tell_runs();
    CALL unsettle(v_session);
    SELECT v_document AS p_result;
END;

-- set_hold, release_hold: families that must be kept.
--# create procedure set_hold
CREATE PROCEDURE set_hold(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Holds the family of an existing row: rule, key (in any spelling that its column accepts), reason, until (default: no end; not
    before that of a hold that is there, whose reason is kept, too), even_if_absent (also places it without a row). Waits for a running
    batch.
    Example: CALL set_hold(''{"key": 17, "reason": "audit 2026"}'');'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_key longtext;
    DECLARE v_reason longtext;
    DECLARE v_text longtext;
    DECLARE v_until datetime(6);
    DECLARE v_end datetime(6);
    DECLARE v_by longtext;
    DECLARE v_again longtext;
    DECLARE v_absent_too boolean;
    DECLARE v_found boolean;
    DECLARE v_kept bigint;
    DECLARE v_now datetime(6);
    DECLARE v_latch boolean;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL check_options(p_options, '["rule", "key", "reason", "until", "even_if_absent"]');
    CALL check_rule(p_options, v_rule);
    CALL option_of(p_options, 'reason', v_reason);
    IF COALESCE(TRIM(v_reason), '') = '' THEN
        CALL refuse('a hold needs a reason', 'say who wants it kept and why: {"key": 17, "reason": "audit 2026"}');
    END IF;
    CALL option_of(p_options, 'until', v_text);
    CALL instant_of(v_text, v_until);
    IF v_text IS NOT NULL AND v_until IS NULL THEN
        CALL refuse(CONCAT('until is not an instant: ', QUOTE(v_text)), 'write it like 2027-01-01T00:00:00Z; without a zone it is UTC');
    END IF;
    IF v_until <= UTC_TIMESTAMP(6) THEN
        CALL refuse(CONCAT('until has passed: ', QUOTE(v_text)), 'such a hold keeps nothing: name a later instant, or none');
    END IF;
    CALL flag_of(p_options, 'even_if_absent', v_absent_too);
    SET v_absent_too = COALESCE(v_absent_too, false);
    CALL key_of(JSON_EXTRACT(p_options, '$.key'), v_text);
    CALL row_of_key(v_rule, v_text, v_key, v_found);
    IF v_found OR v_absent_too THEN
        REPEAT
            -- Nobody makes a hold shorter, or forgets a reason, by setting another one.
            SELECT MAX(COALESCE(h.until, '9999-12-31')), MAX(h.placed_by)
            INTO v_end, v_by
            FROM hold AS h
            WHERE h.rule = v_rule
              AND h.`key` = v_key /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */
              AND (h.until IS NULL OR h.until > UTC_TIMESTAMP(6))
            FOR UPDATE;
            IF v_until < v_end THEN
                CALL refuse(
                    CONCAT('held ', IF(v_end >= '9999-12-31', 'without an end', CONCAT('until ', DATE_FORMAT(v_end, '%Y-%m-%dT%TZ'))),
                        ' by ', v_by, ': key ', QUOTE(v_key), ' of rule ', v_rule),
                    'to set one that ends earlier, release it first'
                );
            END IF;
            SET v_now = UTC_TIMESTAMP(6);
            DELETE FROM hold
            WHERE rule = v_rule AND until <= v_now
              AND `key` = v_key /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */;
            -- Somebody else may set one at the same time. The latest reason comes first, each once; of the others as many as there is
            -- room for.
            INSERT INTO hold (rule, `key`, reason, until, placed_by, placed_at, absent)
            VALUES (v_rule, v_key, v_reason, v_until, USER(), v_now, IF(v_absent_too, NOT v_found, 2))
            ON DUPLICATE KEY UPDATE
                reason = LEFT(
                    CONCAT_WS('; ', v_reason, NULLIF(TRIM(BOTH '; ' FROM
                        REPLACE(CONCAT('; ', reason, '; '), CONCAT('; ', v_reason, '; '), '; ')), '')),
                    GREATEST(1000, CHAR_LENGTH(v_reason))
                ),
                until = IF(until IS NULL OR v_until IS NULL, NULL, GREATEST(until, v_until)),
                placed_by = USER(),
                placed_at = v_now,
                absent = IF(v_absent_too, NOT v_found, absent),
                refers_to = NULL;
            SELECT l.only_row INTO v_latch FROM latch AS l FOR UPDATE;
            CALL tell_runs();
            -- No batch is in progress that did not see the hold: the row is kept, or already deleted. Then what was set for it goes that
            -- nobody was told of yet, whoever set it, and no other. If the row came back meanwhile, it is set once more.
            CALL row_of_key(v_rule, v_text, v_again, v_found);
            DELETE FROM hold
            WHERE rule = v_rule AND absent = 2 AND NOT v_found
              AND `key` = v_key /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */;
            UPDATE hold
            SET absent = NOT v_found
            WHERE rule = v_rule
              AND `key` = v_key /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */;
            SELECT COUNT(*)
            INTO v_kept
            FROM hold AS h
            WHERE h.rule = v_rule
              AND h.`key` = v_key /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */;
        UNTIL v_kept > 0 OR NOT (v_found OR v_absent_too) END REPEAT;
    END IF;
    IF NOT v_found AND NOT v_absent_too THEN
        CALL refuse_absent(CONCAT('rule ', v_rule, ' has no row with the key ', QUOTE(v_key)),
            'with {"even_if_absent": true} the hold is stored all the same');
    END IF;
    CALL hold_document(v_rule, v_key, v_text);
    CALL unsettle(v_session);
    SELECT CONCAT(TRIM(TRAILING '}' FROM v_text), ', "exists": ', IF(v_found, 'true', 'false'), '}') AS p_result;
END;
-- absent_hold: a hold that was set before its row came may spell the key otherwise than that does.
--# create procedure absent_hold
CREATE PROCEDURE absent_hold(IN p_rule varchar(64), IN p_key longtext, OUT o_key longtext)
SQL SECURITY DEFINER
COMMENT 'The key of the hold that was set without a row and names that with the key p_key now; NULL if there is none.'
BEGIN
    DECLARE v_next  longtext DEFAULT '';
    DECLARE v_there longtext;
    DECLARE v_found boolean;
    WHILE v_next IS NOT NULL AND o_key IS NULL DO
        SELECT MIN(h.`key`)
        INTO v_next
        FROM hold AS h
        WHERE h.rule = p_rule
          AND h.absent = 1
          AND h.`key` > v_next /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */;
        IF v_next IS NOT NULL THEN
            CALL row_of_key(p_rule, v_next, v_there, v_found);
            IF v_found AND v_there = p_key /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */ THEN
                SET o_key = v_next;
            END IF;
        END IF;
    END WHILE;
END;
--# create procedure release_hold
CREATE PROCEDURE release_hold(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Releases a hold and returns it. Example: CALL release_hold(''{"key": 17}'');'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_key longtext;
    DECLARE v_text longtext;
    DECLARE v_found boolean;
    DECLARE v_other longtext;
    DECLARE v_known bigint;
    DECLARE v_document longtext;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL check_options(p_options, '["rule", "key"]');
    CALL check_decided(p_options, v_rule);
    CALL key_of(JSON_EXTRACT(p_options, '$.key'), v_text);
    SET v_key = LEFT(v_text, 700);
    CALL hold_document(v_rule, v_key, v_document);
    SELECT COUNT(*) INTO v_known FROM rule AS r WHERE r.rule = v_rule;
    IF v_document IS NULL AND v_known > 0 THEN
        CALL row_of_key(v_rule, v_text, v_key, v_found);
        CALL hold_document(v_rule, v_key, v_document);
    END IF;
    IF v_document IS NULL AND v_found THEN
        CALL absent_hold(v_rule, v_key, v_other);
        SET v_key = v_other;
        CALL hold_document(v_rule, v_key, v_document);
    END IF;
    IF v_document IS NULL THEN
        CALL refuse_absent(CONCAT('no hold on key ', QUOTE(v_text), ' of rule ', v_rule),
            CONCAT('the holds are in table ', DATABASE(), '.hold'));
    END IF;
    DELETE FROM hold
    WHERE rule = v_rule
      AND `key` = v_key /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */;
    CALL unsettle(v_session);
    SELECT v_document AS p_result;
END;

-- set_windows: says when scheduled runs may work, or gives that back to the spec with a null value.
--# create procedure set_windows
CREATE PROCEDURE set_windows(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Sets the windows in which scheduled runs may work, from the next batch on; null: those of the spec.
    Examples: CALL set_windows(''{"windows": ["mon-fri 22:00-06:00 Europe/Berlin", "sat,sun 00:00-00:00"]}''); CALL
    set_windows(''{"windows": "never"}'');'
BEGIN
    DECLARE v_help    varchar(400) DEFAULT 'write it like "mon-fri 22:00-06:00 Europe/Berlin"; zone UTC if left out; or "always", or '
        '"never"';
    DECLARE v_windows longtext DEFAULT JSON_EXTRACT(p_options, '$.windows');
    DECLARE v_count   bigint;
    DECLARE v_index   bigint DEFAULT 0;
    DECLARE v_window  longtext;
    DECLARE v_list    longtext;
    DECLARE v_range   longtext;
    DECLARE v_times   longtext;
    DECLARE v_zone    longtext;
    DECLARE v_day     integer;
    DECLARE v_last    integer;
    DECLARE v_chosen  varchar(7);
    DECLARE v_document longtext;
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_session IS NOT NULL THEN
            ROLLBACK;
        END IF;
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    -- A transaction of the caller is the caller's to end.
    CALL settle(v_session);
    CALL check_options(p_options, '["windows"]');
    IF JSON_TYPE(v_windows) = 'STRING' THEN
        SET v_windows = CONCAT('[', v_windows, ']');
    ELSEIF JSON_TYPE(v_windows) = 'NULL' THEN
        SET v_windows = '[]';
    ELSEIF COALESCE(JSON_TYPE(v_windows), '') <> 'ARRAY' OR JSON_LENGTH(v_windows) = 0 THEN
        CALL refuse('the option windows is neither a string nor a list of strings', v_help);
    END IF;
    SET v_count = JSON_LENGTH(v_windows);
    START TRANSACTION;
    DELETE FROM run_window WHERE position > 0;
    WHILE v_index < v_count DO
        IF JSON_TYPE(JSON_EXTRACT(v_windows, CONCAT('$[', v_index, ']'))) <> 'STRING' THEN
            CALL refuse('the option windows is neither a string nor a list of strings', v_help);
        END IF;
        SET v_window = JSON_UNQUOTE(JSON_EXTRACT(v_windows, CONCAT('$[', v_index, ']')));
        SET v_index = v_index + 1;
        IF v_window IN ('always', 'never') AND v_count > 1 THEN
            CALL refuse('"always" and "never" cannot be combined', v_help);
        END IF;
        SET v_list = '', v_times = '00:00-00:00', v_zone = 'UTC', v_chosen = '0000000';
        IF v_window = 'always' THEN
            SET v_list = 'mon-sun';
        ELSEIF v_window <> 'never' THEN
            IF CHAR_LENGTH(v_window) > 255
                OR v_window NOT REGEXP '^[a-z]{3}[a-z,-]* ([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]( [^ ]+)?\\z' THEN
                CALL refuse(CONCAT('not a window: ', QUOTE(LEFT(v_window, 60))), v_help);
            END IF;
            SET v_list = SUBSTRING_INDEX(v_window, ' ', 1),
                v_times = SUBSTRING_INDEX(SUBSTRING_INDEX(v_window, ' ', 2), ' ', -1);
            IF CHAR_LENGTH(v_window) > CHAR_LENGTH(v_list) + 1 + CHAR_LENGTH(v_times) THEN
                SET v_zone = SUBSTRING_INDEX(v_window, ' ', -1);
            END IF;
            IF v_list = 'daily' THEN
                SET v_list = 'mon-sun';
            END IF;
        END IF;
        WHILE v_list <> '' DO
            SET v_range = SUBSTRING_INDEX(v_list, ',', 1);
            SET v_list = SUBSTRING(v_list, CHAR_LENGTH(v_range) + 2);
            SET v_day = FIELD(LEFT(v_range, 3), 'mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'),
                v_last = FIELD(RIGHT(v_range, 3), 'mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun');
            IF v_range NOT REGEXP '^[a-z]{3}(-[a-z]{3})?\\z' OR v_day = 0 OR v_last = 0 OR SUBSTRING_INDEX(v_window, ' ', 1) LIKE '%,' THEN
                CALL refuse(CONCAT('not a window: ', QUOTE(LEFT(v_window, 60))), v_help);
            END IF;
            SET v_chosen = INSERT(v_chosen, v_day, 1, v_day);
            WHILE v_day <> v_last DO
                SET v_day = v_day MOD 7 + 1;
                SET v_chosen = INSERT(v_chosen, v_day, 1, v_day);
            END WHILE;
        END WHILE;
        IF CHAR_LENGTH(v_zone) > 64 OR CONVERT_TZ('2026-01-01 00:00:00', '+00:00', IF(v_zone = 'UTC', '+00:00', v_zone)) IS NULL THEN
            CALL refuse(CONCAT('the server does not know the time zone ', QUOTE(LEFT(v_zone, 64))),
                CONCAT('zones are loaded with ', /*!80000 'mysql_tzinfo_to_sql' */ /*M! 'mariadb-tzinfo-to-sql' */));
        END IF;
        INSERT INTO run_window (position, written, days, begins, ends, zone, changed_by, changed_at)
        VALUES (
            v_index, v_window,
            REPLACE(v_chosen, '0', ''),
            CAST(SUBSTRING_INDEX(v_times, '-', 1) AS time), CAST(SUBSTRING_INDEX(v_times, '-', -1) AS time), v_zone, USER(),
                UTC_TIMESTAMP(6)
        );
    END WHILE;
    SELECT CONCAT('{"windows": [', GROUP_CONCAT(JSON_QUOTE(h.written) ORDER BY h.position SEPARATOR ', '), ']}') INTO v_document
        FROM open_hours AS h;
    COMMIT;
    CALL unsettle(v_session);
    SELECT v_document AS p_result;
END;

-- claim_artifacts, finish_artifact: the outbox of files. Best effort; retention never waits for it.
--# create procedure claim_artifacts
CREATE PROCEDURE claim_artifacts(IN p_limit int)
SQL SECURITY DEFINER
COMMENT 'Takes up to p_limit files of the outbox for one attempt; the next one is due after 1, 2, 4 ... 512 minutes.'
BEGIN
    DECLARE v_claim char(36) DEFAULT UUID();
    DECLARE v_now datetime(6);
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    SET v_now = UTC_TIMESTAMP(6);
    UPDATE artifact
    SET next_attempt_at = v_now + INTERVAL CAST(POW(2, LEAST(attempts, 9)) AS signed) MINUTE,
        attempts = attempts + 1,
        claim = v_claim
    WHERE NOT given_up
      AND next_attempt_at <= v_now
    ORDER BY artifact_id
    LIMIT p_limit;
    SELECT a.artifact_id, a.host, a.path
    FROM artifact AS a
    WHERE a.claim = v_claim
    ORDER BY a.artifact_id;
    CALL unsettle(v_session);
END;
--# create procedure finish_artifact
CREATE PROCEDURE finish_artifact(IN p_artifact_id bigint, IN p_error longtext)
SQL SECURITY DEFINER
COMMENT 'Reports an attempt: no error takes the file out of the outbox, an error is kept; after ten attempts it is given up.'
BEGIN
    DECLARE v_session longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    IF p_error IS NULL THEN
        DELETE FROM artifact WHERE artifact_id = p_artifact_id;
    ELSE
        UPDATE artifact AS a
        SET a.last_error = LEFT(p_error, 1000),
            a.given_up = a.attempts >= 10,
            a.claim = COALESCE(a.claim, '')
        WHERE a.artifact_id = p_artifact_id;
    END IF;
    CALL unsettle(v_session);
END;

-- record_forced_install: what `windrow install --force` overruled; null where there was nothing to overrule.
--# create procedure record_forced_install
CREATE PROCEDURE record_forced_install(IN p_findings longtext)
SQL SECURITY DEFINER
COMMENT 'Notes the findings of the check that an installation overruled; NULL clears the note.'
BEGIN
    SET SESSION timestamp = DEFAULT;
    UPDATE control AS c
    SET c.forced_install = CONCAT('{"by": ', COALESCE(JSON_QUOTE(USER()), 'null'), ', "at": ',
        COALESCE(CONCAT('"', DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%T'),
        TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(UTC_TIMESTAMP(6), '.%f'))), '+00:00"'), 'null'), ', "findings": ',
        p_findings, '}')
    WHERE c.only_row = true;
END;

-- check_uninstall: what exists nowhere else is not dropped: rows that are out of their table, and archived rows unless you say so, by:
-- SET @windrow_drop_archive = 'yes'; An earlier spec may have taken out or archived them.
--# create procedure check_uninstall
CREATE PROCEDURE check_uninstall()
SQL SECURITY DEFINER
COMMENT 'Raises an error while rows of a partition are out of their table, or rows are archived and @windrow_drop_archive is not ''yes'';
    if there could be any, then no run begins any more. 90_uninstall.sql calls it.'
BEGIN
    DECLARE v_length   bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_takes    boolean;
    DECLARE v_drops    boolean DEFAULT COALESCE(@windrow_drop_archive, '') = 'yes';
    DECLARE v_archived varchar(64);
    DECLARE v_query    longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION group_concat_max_len = v_length;
        CALL unlock_runs();
        RESIGNAL;
    END;
    SELECT COUNT(*) INTO v_takes FROM information_schema.tables AS t
        WHERE t.table_schema = DATABASE() AND t.table_name = 'taken_partition';
    SET SESSION group_concat_max_len = 67108864;
    SELECT GROUP_CONCAT(
        CONCAT('(SELECT ', QUOTE(c.table_name), ' AS found FROM `', REPLACE(c.table_name, '`', '``'), '` LIMIT 1)') SEPARATOR ' UNION ALL '
    )
    INTO v_query
    FROM information_schema.columns AS c
    JOIN information_schema.tables AS t ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.table_type = 'BASE TABLE'
    WHERE c.table_schema = DATABASE()
      AND c.column_name = 'windrow_row_id';
    SET SESSION group_concat_max_len = v_length;
    IF v_takes OR v_query IS NOT NULL AND NOT v_drops THEN
        CALL lock_runs();
    END IF;
    SET @windrow_found = NULL;
    IF v_takes THEN
        CALL run_text('SELECT MIN(t.name) INTO @windrow_found FROM taken_partition AS t WHERE t.phase <> ''dropping''');
        IF @windrow_found IS NOT NULL THEN
            CALL not_ready(CONCAT('rows of partition ', @windrow_found, ' are out of their table, and would be dropped'),
                'let a run finish that, then uninstall');
        END IF;
    END IF;
    IF NOT v_drops THEN
        SELECT MIN(t.table_name)
        INTO v_archived
        FROM information_schema.tables AS t
        WHERE t.table_schema = DATABASE()
          AND t.table_name REGEXP '^archived_[0-9]+_';
        IF v_archived IS NULL AND v_query IS NOT NULL THEN
            CALL run_text(CONCAT('SELECT MIN(f.found) INTO @windrow_found FROM (', v_query, ') AS f'));
            SET v_archived = @windrow_found;
        END IF;
        IF v_archived IS NOT NULL THEN
            CALL not_ready(
                CONCAT('there are rows in ', v_archived), 'copy them, then SET @windrow_drop_archive = ''yes'' (--drop-archive)'
            );
        END IF;
    END IF;
END;
