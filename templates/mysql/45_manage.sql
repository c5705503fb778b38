{% import "macros.sql" as w -%}
{{ w::session() }}

-- run_scheduled: what the event calls. An error before the run was opened would only reach the error log of the server:
-- here it reaches the ledger. The same refusal again and again is one row, with the time of the last one.
--# create procedure {{ control }}.run_scheduled
CREATE PROCEDURE {{ control }}.run_scheduled({% if workers > 1 %}IN p_worker int{% endif %})
SQL SECURITY DEFINER
COMMENT 'One scheduled run; an error is recorded in table run. The event calls it. [body @body@]'
BEGIN
    DECLARE v_started datetime(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_errno int;
    DECLARE v_sqlstate char(5);
    DECLARE v_message text;
    DECLARE v_last bigint;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        GET DIAGNOSTICS CONDITION 1 v_errno = MYSQL_ERRNO, v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT;
        ROLLBACK;
        SET v_message = CONCAT('error ', v_errno, ' (', v_sqlstate, '): ', v_message);
        IF NOT EXISTS (SELECT 1 FROM {{ control }}.run AS r WHERE r.backend_pid = CONNECTION_ID() AND r.started_at >= v_started) THEN
            SELECT MAX(r.run_id) INTO v_last FROM {{ control }}.run AS r;
            UPDATE {{ control }}.run AS r
            SET r.finished_at = UTC_TIMESTAMP(6)
            WHERE r.run_id = v_last
              AND r.`trigger` = 'SCHEDULED'
              AND r.status = 'failed'
              AND r.reason = v_message;
            IF ROW_COUNT() = 0 THEN
                INSERT INTO {{ control }}.run (`trigger`, dry_run, options, as_of, status, reason, backend_pid, started_at, finished_at)
                VALUES ('SCHEDULED', false, '{"trigger": "SCHEDULED"}', v_started, 'failed', v_message, CONNECTION_ID(), v_started, UTC_TIMESTAMP(6));
            END IF;
        END IF;
        COMMIT;
    END;
    -- A replica gets the deletions of its source.
    IF CAST(@@GLOBAL.read_only AS char) IN ('0', 'OFF') THEN
        CALL {{ control }}.run({% if workers > 1 %}CONCAT('{"trigger": "SCHEDULED", "worker": ', p_worker, '}'){% else %}'{"trigger": "SCHEDULED"}'{% endif %});
    END IF;
END;

-- Whoever calls may have set the clock of his session: what is written below bears the time of the server.
-- Every UPDATE and DELETE names a key, so that it works under sql_safe_updates.

-- pause, resume: the kill switch. A running purge obeys before its next batch.
--# create procedure {{ control }}.pause
CREATE PROCEDURE {{ control }}.pause(IN p_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Stops a running purge before its next batch and refuses new ones. Example: CALL {{ control }}.pause(''month-end closing''); [body @body@]'
BEGIN
    CALL {{ control }}.drop_shadows();
    SET SESSION timestamp = DEFAULT;
    UPDATE {{ control }}.control AS c
    SET c.paused = true,
        c.paused_by = USER(),
        c.paused_at = UTC_TIMESTAMP(6),
        c.paused_reason = LEFT(p_reason, 10000)
    WHERE c.only_row = true;
END;
--# create procedure {{ control }}.resume
CREATE PROCEDURE {{ control }}.resume()
SQL SECURITY DEFINER
COMMENT 'Allows runs again after pause(). Example: CALL {{ control }}.resume(); [body @body@]'
BEGIN
    CALL {{ control }}.drop_shadows();
    UPDATE {{ control }}.control AS c
    SET c.paused = false,
        c.paused_by = NULL,
        c.paused_at = NULL,
        c.paused_reason = NULL
    WHERE c.only_row = true;
END;

-- count_orphans: rows whose parent is not there, by edge, into the temporary table work_orphan. Reads whole tables.
--# create procedure {{ control }}.count_orphans
CREATE PROCEDURE {{ control }}.count_orphans()
SQL SECURITY DEFINER
COMMENT 'Fills the temporary table work_orphan with the rows whose parent is not there, by edge. Reads whole tables. [body @body@]'
BEGIN
    DECLARE v_count bigint;
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_orphan;
    CREATE TEMPORARY TABLE {{ control }}.work_orphan (
        edge    varchar(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        orphans bigint NOT NULL
    ) ENGINE = InnoDB;
    -- INSERT ... SELECT would lock the rows of the application where the isolation level is high.
{%- for edge in edges %}
    SELECT COUNT(*)
    INTO v_count
    FROM {{ edge.table }} AS c
    WHERE {{ edge.present }}
{%- if edge.none %}
      AND c.{{ edge.column }} <> {{ edge.none }}
{%- endif %}
      AND NOT EXISTS (SELECT 1 FROM {{ edge.parent }} AS p WHERE {{ edge.same }});
    INSERT INTO {{ control }}.work_orphan (edge, orphans)
    VALUES ({{ edge.literal }}, v_count);
{%- endfor %}
END;

-- orphans: the same as a result set.
--# create procedure {{ control }}.orphans
CREATE PROCEDURE {{ control }}.orphans()
SQL SECURITY DEFINER
COMMENT 'Rows whose parent is not there, by edge. Reads whole tables. Example: CALL {{ control }}.orphans(); [body @body@]'
BEGIN
    CALL {{ control }}.drop_shadows();
    CALL {{ control }}.count_orphans();
    SELECT o.edge, o.orphans FROM {{ control }}.work_orphan AS o ORDER BY o.edge;
    DROP TEMPORARY TABLE {{ control }}.work_orphan;
END;

-- arm: from now on runs may delete on this server. Notes the orphans that were there before.
--# create procedure {{ control }}.arm
CREATE PROCEDURE {{ control }}.arm()
SQL SECURITY DEFINER
COMMENT 'Allows runs to delete on this server, unless something acts on its tables that the spec does not know; needed once after the installation, and again after a new rule was installed, and after a restore, clone or promotion. Example: CALL {{ control }}.arm(); [body @body@]'
BEGIN
    CALL {{ control }}.arm_with('{}');
END;
--# create procedure {{ control }}.arm_with
CREATE PROCEDURE {{ control }}.arm_with(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'What arm() does, with options. until: "restart" ends it with the next start of the server, for those who clone by snapshots of the storage. Example: CALL {{ control }}.arm_with(''{"until": "restart"}''); [body @body@]'
BEGIN
    DECLARE v_until longtext;
    DECLARE v_identity varchar(700);
    DECLARE v_orphans longtext;
    DECLARE v_stranger longtext;
    DECLARE v_others  bigint;
    CALL {{ control }}.drop_shadows();
    SET SESSION timestamp = DEFAULT;
    CALL {{ control }}.stranger(v_stranger);
    IF v_stranger IS NOT NULL THEN
        CALL {{ control }}.not_ready(v_stranger, 'say in the spec what happens to its rows and run windrow install, or drop what acts');
    END IF;
    CALL {{ control }}.check_options(p_options, '["until"]');
    CALL {{ control }}.option_of(p_options, 'until', v_until);
    IF v_until <> 'restart' THEN
        CALL {{ control }}.refuse(CONCAT('until is not "restart": ', QUOTE(v_until)), 'leave it out, or write {"until": "restart"}');
    END IF;
    UPDATE {{ control }}.control AS c
    SET c.server_identity = IF(v_until IS NULL, NULL, ' started at ')
    WHERE c.only_row = true;
    CALL {{ control }}.server_identity(v_identity);
    CALL {{ control }}.count_orphans();
    SELECT COALESCE(JSON_OBJECTAGG(o.edge, o.orphans), '{}') INTO v_orphans FROM {{ control }}.work_orphan AS o;
    DROP TEMPORARY TABLE {{ control }}.work_orphan;
    UPDATE {{ control }}.control AS c
    SET c.armed = true,
        c.armed_by = USER(),
        c.armed_at = UTC_TIMESTAMP(6),
        c.armed_rules = {{ w::names_of_rules(rules=rules) }},
        c.server_identity = v_identity,
        c.orphans_at_arm = v_orphans
    WHERE c.only_row = true;
    -- The tables are taken as they are now.
    CALL {{ control }}.note_catalog(0);
    -- What runs on another server of a cluster ends before its next batch: only this one is armed.
    SELECT COUNT(*) INTO v_others FROM {{ control }}.run AS r WHERE r.status = 'running' AND r.node <> v_identity;
    IF v_others > 0 THEN
        UPDATE {{ control }}.run AS r
        SET r.status = 'cancelled',
            r.reason = 'another server was armed; what it committed stays',
            r.finished_at = UTC_TIMESTAMP(6)
        WHERE r.run_id > 0
          AND r.status = 'running'
          AND r.node <> v_identity;
    END IF;
    -- What refused on other servers, or here, is over.
    DELETE FROM {{ control }}.refusal WHERE server > '';
END;

-- Who writes a policy or a hold takes the latch afterwards, which every batch holds in share mode. With autocommit the row
-- is committed before the wait; in a transaction of the caller the latch is kept until it ends. Either way no batch is under
-- way, when the call returns, that did not see what was written.

-- policy_document, hold_document: one row as a document.
--# create procedure {{ control }}.policy_document
CREATE PROCEDURE {{ control }}.policy_document(IN p_rule varchar(64), IN p_scope varchar(255), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'One policy as a JSON document; NULL if there is none. [body @body@]'
BEGIN
    SET o_document = (
        SELECT CONCAT(
            '{"rule": ', {{ w::text(x="p.rule") }},
            ', "scope": ', {{ w::text(x="p.scope") }},
            ', "enabled": ', {{ w::flag(x="p.enabled") }},
            ', "retention_seconds": ', {{ w::number(x="p.retention_seconds") }},
            ', "artifacts": ', {{ w::flag(x="p.artifacts") }},
            ', "note": ', {{ w::text(x="p.note") }},
            ', "changed_by": ', {{ w::text(x="p.changed_by") }},
            ', "changed_at": ', {{ w::instant(x="p.changed_at") }}, '}'
        )
        FROM {{ control }}.policy AS p
        WHERE p.rule = p_rule
          AND p.scope = p_scope
    );
END;
--# create procedure {{ control }}.hold_document
CREATE PROCEDURE {{ control }}.hold_document(IN p_rule varchar(64), IN p_key varchar({{ key_length }}), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'One hold as a JSON document; NULL if there is none. [body @body@]'
BEGIN
    SET o_document = (
        SELECT CONCAT(
            '{"rule": ', {{ w::text(x="h.rule") }},
            ', "key": ', {{ w::text(x="h.`key`") }},
            ', "reason": ', {{ w::text(x="h.reason") }},
            ', "until": ', {{ w::instant(x="h.until") }},
            ', "placed_by": ', {{ w::text(x="h.placed_by") }},
            ', "placed_at": ', {{ w::instant(x="h.placed_at") }},
            ', "absent": ', {{ w::flag(x="h.absent") }}, '}'
        )
        FROM {{ control }}.hold AS h
        WHERE h.rule = p_rule
          AND h.`key` = p_key
    );
END;

-- set_policy, drop_policy: who is cleaned, and after how long.
--# create procedure {{ control }}.set_policy
CREATE PROCEDURE {{ control }}.set_policy(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Writes one policy: rule, scope, retention (the default of the spec if new), enabled, artifacts, note. Waits for a running batch. Example: CALL {{ control }}.set_policy(''{"scope": "42", "retention": "30d"}''); [body @body@]'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_scope longtext;
    DECLARE v_text longtext;
    DECLARE v_retention bigint;
    DECLARE v_default bigint;
    DECLARE v_minimum bigint;
    DECLARE v_enabled boolean;
    DECLARE v_artifacts boolean;
    DECLARE v_note longtext;
    DECLARE v_latch boolean;
    CALL {{ control }}.drop_shadows();
    SET SESSION timestamp = DEFAULT;
    CALL {{ control }}.check_options(p_options, '["rule", "scope", "retention", "enabled", "artifacts", "note"]');
    CALL {{ control }}.check_rule(p_options, v_rule);
    CALL {{ control }}.option_of(p_options, 'scope', v_scope);
    CALL {{ control }}.check_scope(v_rule, v_scope);
    CALL {{ control }}.option_of(p_options, 'retention', v_text);
    CALL {{ control }}.seconds(v_text, v_retention);
    CALL {{ control }}.flag_of(p_options, 'enabled', v_enabled);
    CALL {{ control }}.flag_of(p_options, 'artifacts', v_artifacts);
    CALL {{ control }}.option_of(p_options, 'note', v_note);
{%- for rule in rules %}
    IF v_rule = {{ rule.literal }} THEN
        SET v_default = {{ rule.retention }};
        SET v_minimum = {{ rule.minimum }};
    END IF;
{%- endfor %}
    SET v_retention = COALESCE(v_retention, (SELECT p.retention_seconds FROM {{ control }}.policy AS p WHERE p.rule = v_rule AND p.scope = v_scope), v_default);
{%- if no_default %}
    IF v_retention IS NULL THEN
        CALL {{ control }}.refuse(CONCAT('rule ', v_rule, ' has no default retention'), 'name one: {"retention": "30d"}');
    END IF;
{%- endif %}
    IF v_retention < v_minimum THEN
        CALL {{ control }}.refuse(
            CONCAT('a retention of ', COALESCE(v_text, CONCAT(v_retention, 's')), ' is under the minimum of rule ', v_rule),
            CONCAT('it is ', ROUND(v_minimum / 86400, 2), ' days')
        );
    END IF;
    INSERT INTO {{ control }}.policy (rule, scope, enabled, retention_seconds, artifacts, note, changed_by, changed_at)
    VALUES (v_rule, v_scope, COALESCE(v_enabled, true), v_retention, COALESCE(v_artifacts, true), v_note, USER(), UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
        enabled = COALESCE(v_enabled, enabled),
        retention_seconds = v_retention,
        artifacts = COALESCE(v_artifacts, artifacts),
        note = COALESCE(v_note, note),
        changed_by = USER(),
        changed_at = UTC_TIMESTAMP(6);
    SELECT l.only_row INTO v_latch FROM {{ control }}.latch AS l FOR UPDATE;
    CALL {{ control }}.policy_document(v_rule, v_scope, v_text);
    SELECT v_text AS p_result;
END;
--# create procedure {{ control }}.drop_policy
CREATE PROCEDURE {{ control }}.drop_policy(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Drops one policy and answers it. Waits for a running batch. Example: CALL {{ control }}.drop_policy(''{"scope": "42"}''); [body @body@]'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_scope longtext;
    DECLARE v_document longtext;
    DECLARE v_latch boolean;
    CALL {{ control }}.drop_shadows();
    CALL {{ control }}.check_options(p_options, '["rule", "scope"]');
    CALL {{ control }}.check_rule(p_options, v_rule);
    CALL {{ control }}.option_of(p_options, 'scope', v_scope);
    CALL {{ control }}.policy_document(v_rule, LEFT(v_scope, 255), v_document);
    IF v_document IS NULL THEN
        CALL {{ control }}.refuse(CONCAT('no policy for scope ', QUOTE(v_scope), ' of rule ', v_rule), 'the policies are in table {{ control }}.policy');
    END IF;
    DELETE FROM {{ control }}.policy WHERE rule = v_rule AND scope = v_scope;
    SELECT l.only_row INTO v_latch FROM {{ control }}.latch AS l FOR UPDATE;
    SELECT v_document AS p_result;
END;

-- row_of_key: the row that a hold names. The key becomes a value of the column, so that each spelling which that reads finds
-- the row, and by its index: no other row is locked.
--# create procedure {{ control }}.row_of_key
CREATE PROCEDURE {{ control }}.row_of_key(IN p_rule varchar(64), IN p_key longtext, OUT o_key longtext, OUT o_found boolean)
SQL SECURITY DEFINER
COMMENT 'The key of the row that p_key names, as the server writes it, and whether the rule could ever delete it; raises 22023 for what the column cannot hold. Reads the row as it is now. [body @body@]'
BEGIN
    DECLARE v_readable boolean DEFAULT false;
    DECLARE v_way int DEFAULT 0;
{%- for rule in rules %}
    IF p_rule = {{ rule.literal }} THEN
{%- if rule.held.composite %}
        IF JSON_VALID(p_key) THEN
            IF JSON_TYPE(p_key) = 'ARRAY' AND JSON_LENGTH(p_key) = {{ rule.held.parts | length }} THEN
                SET v_readable = {{ rule.held.readable }};
            END IF;
        END IF;
{%- else %}
        SET v_readable = {{ rule.held.readable }};
{%- endif %}
        DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_hold;
        CREATE TEMPORARY TABLE {{ control }}.work_hold ENGINE = InnoDB AS
        SELECT {{ rule.held.read }} FROM {{ rule.table }} AS i LIMIT 0;
        WHILE v_readable AND v_way <= {{ rule.held.last_way }} DO
            BEGIN
                -- The column cannot hold this spelling.
                DECLARE CONTINUE HANDLER FOR 1264, 1265, 1292, 1366, 1406, 1690 BEGIN END;
                INSERT INTO {{ control }}.work_hold ({{ rule.held.names }})
                SELECT {{ rule.held.values }};
            END;
            SET v_way = v_way + 1;
        END WHILE;
        SELECT {{ rule.held.key_as_read }} INTO o_key FROM {{ control }}.work_hold AS r LIMIT 1;
        IF o_key IS NULL OR CHAR_LENGTH(o_key) > {{ key_length }} THEN
            CALL {{ control }}.refuse(CONCAT('not a key of ', {{ rule.table_literal }}, ': ', QUOTE(p_key)), 'a key is a {% if rule.held.composite %}JSON array of{% else %}value of{% endif %} {{ rule.held.form }}');
        END IF;
        SELECT {{ rule.held.key }}, {% if rule.by_end %}{{ rule.is_root }}{% else %}true{% endif %}
        INTO o_key, o_found
        FROM {{ control }}.work_hold AS r
        STRAIGHT_JOIN {{ rule.table }} AS i ON {{ rule.held.matches }}
        ORDER BY {{ rule.held.key }} = p_key DESC
        LIMIT 1
        LOCK IN SHARE MODE;
{%- if rule.by_end and rule.links and rule.candidates %}
        -- Or it belongs to the family of one that is.
        IF NOT o_found THEN
            SET o_found = (
                WITH RECURSIVE up AS (
                    -- A link may name what is beyond the range of the key.
                    SELECT {% if rule.id_type %}CAST(r.k1 AS signed){% else %}r.k1{% endif %} AS id
                    FROM {{ control }}.work_hold AS r
{%- for link in rule.links %}
                    UNION
                    SELECT n.{{ link.parent }}
                    FROM up
                    JOIN {{ link.table }} AS n ON n.{{ link.child }} = up.id
                    WHERE n.{{ link.parent }} IS NOT NULL
{%- endfor %}
                )
                SELECT COUNT(*)
                FROM up
                JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = up.id
                WHERE {{ rule.is_root }}
            ) > 0;
        END IF;
{%- endif %}
{%- if rule.timed %}{% for other in rule.timed.others %}
        -- Or it is one of {{ other.table_name }}.
        IF o_found IS NOT TRUE THEN
            SELECT COALESCE(MAX(r.{{ other.key }}), o_key), COUNT(*) > 0
            INTO o_key, o_found
            FROM {{ control }}.work_hold AS h
            STRAIGHT_JOIN {{ other.table }} AS r ON r.{{ other.key }} = h.k1
{%- for condition in other.conditions %}
            {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}
            LOCK IN SHARE MODE;
        END IF;
{%- endfor %}{% endif %}
        DROP TEMPORARY TABLE {{ control }}.work_hold;
    END IF;
{%- endfor %}
    SET o_found = COALESCE(o_found, false);
END;

-- set_hold, release_hold: families that must stay.
--# create procedure {{ control }}.set_hold
CREATE PROCEDURE {{ control }}.set_hold(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Holds the family of a row that is there: rule, key (in any spelling that its column reads), reason, until (open if left out), even_if_absent (stores it without a row, too). Waits for a running batch. Example: CALL {{ control }}.set_hold(''{"key": 17, "reason": "audit 2026"}''); [body @body@]'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_key longtext;
    DECLARE v_reason longtext;
    DECLARE v_text longtext;
    DECLARE v_until datetime(6);
    DECLARE v_again longtext;
    DECLARE v_absent_too boolean;
    DECLARE v_found boolean;
    DECLARE v_latch boolean;
    CALL {{ control }}.drop_shadows();
    SET SESSION timestamp = DEFAULT;
    CALL {{ control }}.check_options(p_options, '["rule", "key", "reason", "until", "even_if_absent"]');
    CALL {{ control }}.check_rule(p_options, v_rule);
    CALL {{ control }}.option_of(p_options, 'reason', v_reason);
    IF COALESCE(TRIM(v_reason), '') = '' THEN
        CALL {{ control }}.refuse('a hold needs a reason', 'say who wants it kept and why: {"key": 17, "reason": "audit 2026"}');
    END IF;
    CALL {{ control }}.option_of(p_options, 'until', v_text);
    CALL {{ control }}.instant_of(v_text, v_until);
    IF v_text IS NOT NULL AND v_until IS NULL THEN
        CALL {{ control }}.refuse(CONCAT('until is not an instant: ', QUOTE(v_text)), 'write it like 2027-01-01T00:00:00Z; without a zone it is UTC');
    END IF;
    IF v_until <= UTC_TIMESTAMP(6) THEN
        CALL {{ control }}.refuse(CONCAT('until has passed: ', QUOTE(v_text)), 'such a hold keeps nothing: name a later instant, or none');
    END IF;
    CALL {{ control }}.flag_of(p_options, 'even_if_absent', v_absent_too);
    {% if by_composite %}CALL {{ control }}.key_of(JSON_EXTRACT(p_options, '$.key'), v_text){% else %}CALL {{ control }}.option_of(p_options, 'key', v_text){% endif %};
    CALL {{ control }}.row_of_key(v_rule, v_text, v_key, v_found);
    IF v_found OR v_absent_too THEN
        INSERT INTO {{ control }}.hold (rule, `key`, reason, until, placed_by, placed_at, absent)
        VALUES (v_rule, v_key, v_reason, v_until, USER(), UTC_TIMESTAMP(6), NOT v_found)
        ON DUPLICATE KEY UPDATE
            reason = v_reason,
            until = v_until,
            placed_by = USER(),
            placed_at = UTC_TIMESTAMP(6),
            absent = NOT v_found;
        SELECT l.only_row INTO v_latch FROM {{ control }}.latch AS l FOR UPDATE;
        -- No batch is under way that did not see the hold: the row is here to stay, or already gone.
        CALL {{ control }}.row_of_key(v_rule, v_text, v_again, v_found);
        IF v_found OR v_absent_too THEN
            UPDATE {{ control }}.hold SET absent = NOT v_found WHERE rule = v_rule AND `key` = v_key;
        ELSE
            DELETE FROM {{ control }}.hold WHERE rule = v_rule AND `key` = v_key;
        END IF;
    END IF;
    IF NOT v_found AND NOT COALESCE(v_absent_too, false) THEN
        CALL {{ control }}.refuse(CONCAT('rule ', v_rule, ' has no row with the key ', QUOTE(v_key)), 'with {"even_if_absent": true} the hold is stored all the same');
    END IF;
    CALL {{ control }}.hold_document(v_rule, v_key, v_text);
    SELECT CONCAT(TRIM(TRAILING '}' FROM v_text), ', "exists": ', {{ w::flag(x="v_found") }}, '}') AS p_result;
END;
--# create procedure {{ control }}.release_hold
CREATE PROCEDURE {{ control }}.release_hold(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Releases a hold and answers it. Example: CALL {{ control }}.release_hold(''{"key": 17}''); [body @body@]'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_key longtext;
    DECLARE v_text longtext;
    DECLARE v_found boolean;
    DECLARE v_document longtext;
    CALL {{ control }}.drop_shadows();
    CALL {{ control }}.check_options(p_options, '["rule", "key"]');
    CALL {{ control }}.check_rule(p_options, v_rule);
    {% if by_composite %}CALL {{ control }}.key_of(JSON_EXTRACT(p_options, '$.key'), v_text){% else %}CALL {{ control }}.option_of(p_options, 'key', v_text){% endif %};
    SET v_key = v_text;
    CALL {{ control }}.hold_document(v_rule, LEFT(v_key, {{ key_length }}), v_document);
    IF v_document IS NULL THEN
        CALL {{ control }}.row_of_key(v_rule, v_text, v_key, v_found);
        CALL {{ control }}.hold_document(v_rule, v_key, v_document);
    END IF;
    IF v_document IS NULL THEN
        CALL {{ control }}.refuse(CONCAT('no hold on key ', QUOTE(v_text), ' of rule ', v_rule), 'the holds are in table {{ control }}.hold');
    END IF;
    DELETE FROM {{ control }}.hold WHERE rule = v_rule AND `key` = v_key;
    SELECT v_document AS p_result;
END;

-- set_windows: says when scheduled runs may work, or gives that back to the spec with a null value.
--# create procedure {{ control }}.set_windows
CREATE PROCEDURE {{ control }}.set_windows(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Says when scheduled runs may work, from the next batch on; null: as the spec says. Examples: CALL {{ control }}.set_windows(''{"windows": ["mon-fri 22:00-06:00 Europe/Berlin", "sat,sun 00:00-00:00"]}''); CALL {{ control }}.set_windows(''{"windows": "never"}''); [body @body@]'
BEGIN
    DECLARE v_help    varchar(400) DEFAULT 'write it like "mon-fri 22:00-06:00 Europe/Berlin"; zone UTC if left out; or "always", or "never"';
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
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    CALL {{ control }}.drop_shadows();
    SET SESSION timestamp = DEFAULT;
    CALL {{ control }}.check_options(p_options, '["windows"]');
    IF JSON_TYPE(v_windows) = 'STRING' THEN
        SET v_windows = CONCAT('[', v_windows, ']');
    ELSEIF JSON_TYPE(v_windows) = 'NULL' THEN
        SET v_windows = '[]';
    ELSEIF COALESCE(JSON_TYPE(v_windows), '') <> 'ARRAY' OR JSON_LENGTH(v_windows) = 0 THEN
        CALL {{ control }}.refuse('the option windows is neither a text nor a list of texts', v_help);
    END IF;
    SET v_count = JSON_LENGTH(v_windows);
    START TRANSACTION;
    DELETE FROM {{ control }}.run_window WHERE position > 0;
    WHILE v_index < v_count DO
        IF JSON_TYPE(JSON_EXTRACT(v_windows, CONCAT('$[', v_index, ']'))) <> 'STRING' THEN
            CALL {{ control }}.refuse('the option windows is neither a text nor a list of texts', v_help);
        END IF;
        SET v_window = JSON_UNQUOTE(JSON_EXTRACT(v_windows, CONCAT('$[', v_index, ']')));
        SET v_index = v_index + 1;
        IF v_window IN ('always', 'never') AND v_count > 1 THEN
            CALL {{ control }}.refuse('"always" and "never" stand alone', v_help);
        END IF;
        SET v_list = '', v_times = '00:00-00:00', v_zone = 'UTC', v_chosen = '0000000';
        IF v_window = 'always' THEN
            SET v_list = 'mon-sun';
        ELSEIF v_window <> 'never' THEN
            IF CHAR_LENGTH(v_window) > 255 OR v_window NOT REGEXP '^[a-z]{3}[a-z,-]* ([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]( [^ ]+)?\\z' THEN
                CALL {{ control }}.refuse(CONCAT('no window: ', QUOTE(LEFT(v_window, 60))), v_help);
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
                CALL {{ control }}.refuse(CONCAT('no window: ', QUOTE(LEFT(v_window, 60))), v_help);
            END IF;
            SET v_chosen = INSERT(v_chosen, v_day, 1, v_day);
            WHILE v_day <> v_last DO
                SET v_day = v_day MOD 7 + 1;
                SET v_chosen = INSERT(v_chosen, v_day, 1, v_day);
            END WHILE;
        END WHILE;
        IF CHAR_LENGTH(v_zone) > 64 OR CONVERT_TZ('2026-01-01 00:00:00', '+00:00', IF(v_zone = 'UTC', '+00:00', v_zone)) IS NULL THEN
            CALL {{ control }}.refuse(CONCAT('the server does not know the time zone ', QUOTE(LEFT(v_zone, 64))), 'zones are loaded with {% if maria %}mariadb-tzinfo-to-sql{% else %}mysql_tzinfo_to_sql{% endif %}');
        END IF;
        INSERT INTO {{ control }}.run_window (position, written, days, begins, ends, zone, changed_by, changed_at)
        VALUES (
            v_index, v_window,
            REPLACE(v_chosen, '0', ''),
            CAST(SUBSTRING_INDEX(v_times, '-', 1) AS time), CAST(SUBSTRING_INDEX(v_times, '-', -1) AS time), v_zone, USER(), UTC_TIMESTAMP(6)
        );
    END WHILE;
    SELECT CONCAT('{"windows": [', GROUP_CONCAT(JSON_QUOTE(h.written) ORDER BY h.position SEPARATOR ', '), ']}') INTO v_document FROM {{ control }}.open_hours AS h;
    COMMIT;
    SELECT v_document AS p_result;
END;

-- claim_artifacts, named_artifacts, finish_artifact: the outbox of files. Best effort; retention never waits for it.
--# create procedure {{ control }}.claim_artifacts
CREATE PROCEDURE {{ control }}.claim_artifacts(IN p_limit int)
SQL SECURITY DEFINER
COMMENT 'Takes up to p_limit files of the outbox for one attempt; the next one is due after 1, 2, 4 ... 512 minutes. [body @body@]'
BEGIN
    DECLARE v_claim char(36) DEFAULT UUID();
    DECLARE v_now datetime(6);
    CALL {{ control }}.drop_shadows();
    SET SESSION timestamp = DEFAULT;
    SET v_now = UTC_TIMESTAMP(6);
    UPDATE {{ control }}.artifact
    SET next_attempt_at = v_now + INTERVAL CAST(POW(2, LEAST(attempts, 9)) AS signed) MINUTE,
        attempts = attempts + 1,
        claim = v_claim
    WHERE NOT given_up
      AND next_attempt_at <= v_now
    ORDER BY artifact_id
    LIMIT p_limit;
    SELECT a.artifact_id, a.host, a.path
    FROM {{ control }}.artifact AS a
    WHERE a.claim = v_claim
    ORDER BY a.artifact_id;
END;
--# create procedure {{ control }}.named_artifacts
CREATE PROCEDURE {{ control }}.named_artifacts(IN p_artifacts longtext)
SQL SECURITY DEFINER
COMMENT 'Which files of a JSON array of numbers a row that is there still names, whatever its host, and in which table: they must stay. Asked before a file is removed. Without an index on the path, it reads that table from end to end. [body @body@]'
BEGIN
    CALL {{ control }}.drop_shadows();
{%- for file in files %}
    SELECT a.artifact_id, {{ file.table_literal }} AS named_by
    FROM JSON_TABLE(p_artifacts, '$[*]' COLUMNS (artifact_id bigint PATH '$')) AS k
    STRAIGHT_JOIN {{ control }}.artifact AS a ON a.artifact_id = k.artifact_id
    WHERE EXISTS (SELECT 1 FROM {{ file.table }} AS t WHERE t.{{ file.path }} = a.path){% if loop.last %};{% else %}
    UNION ALL{% endif %}
{%- else %}
    -- No rule of the spec names files.
    SELECT NULL AS artifact_id, NULL AS named_by FROM DUAL WHERE false;
{%- endfor %}
END;
--# create procedure {{ control }}.finish_artifact
CREATE PROCEDURE {{ control }}.finish_artifact(IN p_artifact_id bigint, IN p_error longtext)
SQL SECURITY DEFINER
COMMENT 'Reports an attempt: no error takes the file out of the outbox, an error is kept; after ten attempts it is given up. [body @body@]'
BEGIN
    CALL {{ control }}.drop_shadows();
    IF p_error IS NULL THEN
        DELETE FROM {{ control }}.artifact WHERE artifact_id = p_artifact_id;
    ELSE
        UPDATE {{ control }}.artifact AS a
        SET a.last_error = LEFT(p_error, 1000),
            a.given_up = a.attempts >= 10
        WHERE a.artifact_id = p_artifact_id;
    END IF;
END;

-- record_forced_install: what `windrow install --force` overruled; null where there was nothing to overrule.
--# create procedure {{ control }}.record_forced_install
CREATE PROCEDURE {{ control }}.record_forced_install(IN p_findings longtext)
SQL SECURITY DEFINER
COMMENT 'Notes the findings of the check that an installation overruled; NULL clears the note. [body @body@]'
BEGIN
    SET SESSION timestamp = DEFAULT;
    UPDATE {{ control }}.control AS c
    SET c.forced_install = CONCAT('{"by": ', {{ w::text(x="USER()") }}, ', "at": ', {{ w::instant(x="UTC_TIMESTAMP(6)") }}, ', "findings": ', p_findings, '}')
    WHERE c.only_row = true;
END;

-- verify: is everything as it should be?
--# create procedure {{ control }}.verify
CREATE PROCEDURE {{ control }}.verify(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Orphans, what is due and why it stays, drift of routines and of the event, indexes, policies under the minimum, ledger arithmetic, as one JSON document. Reads whole tables. Example: CALL {{ control }}.verify(''{}''); [body @body@]'
BEGIN
    DECLARE v_preview longtext;
    DECLARE v_error text;
    DECLARE v_place int DEFAULT 0;
    DECLARE v_at int;
    DECLARE v_rule varchar(64);
    DECLARE v_skipped longtext;
    DECLARE v_reasons longtext;
    DECLARE v_reason varchar(64);
    DECLARE v_count bigint;
    DECLARE v_identity varchar(700);
    DECLARE v_checks longtext;
    DECLARE v_clean boolean;
    DECLARE v_before longtext;
    DECLARE v_open boolean DEFAULT false;
    DECLARE v_hours boolean;
    DECLARE v_starts boolean DEFAULT false;
    DECLARE v_minute datetime;
    DECLARE v_until datetime;
    {{ w::roll_back(control=control, before="v_before") }}
    CALL {{ control }}.check_options(p_options, '[]');
    CALL {{ control }}.settle(v_before);
    -- READ COMMITTED: at a higher level the rows that go to the work tables would be locked.
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET v_open = true;
    START TRANSACTION;
    -- A routine that was dropped or broken by hand is a finding, not the end of the report.
    BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
            GET DIAGNOSTICS CONDITION 1 v_error = MESSAGE_TEXT;
        CALL {{ control }}.preview_document('{}', v_preview);
    END;
    CALL {{ control }}.server_identity(v_identity);
    CALL {{ control }}.count_orphans();
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_check, {{ control }}.work_routine;
    CREATE TEMPORARY TABLE {{ control }}.work_check (
        position   int NOT NULL,
        check_name varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        object     varchar(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        severity   varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        count      bigint NOT NULL DEFAULT 1,
        detail     text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
    ) ENGINE = InnoDB;

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, count, detail)
    SELECT
        1, 'orphans', n.edge,
        CASE WHEN n.orphans = 0 THEN 'ok' WHEN n.orphans <= COALESCE(n.known, 0) THEN 'notice' ELSE 'violation' END,
        n.orphans,
        CASE
            WHEN n.orphans = 0 THEN 'every row has its parent'
            WHEN n.orphans_at_arm IS NULL THEN 'rows without a parent; arm() notes those that were there before'
            ELSE CONCAT('rows without a parent; ', COALESCE(n.known, 0), ' were there when windrow was armed')
        END
    FROM (
        SELECT o.edge, o.orphans, c.orphans_at_arm, CAST(JSON_UNQUOTE(JSON_EXTRACT(c.orphans_at_arm, CONCAT('$.', JSON_QUOTE(o.edge)))) AS signed) AS known
        FROM {{ control }}.work_orphan AS o
        CROSS JOIN {{ control }}.control AS c
    ) AS n;
    DROP TEMPORARY TABLE {{ control }}.work_orphan;
{%- for rule in rules %}{% if rule.timed %}

    CALL {{ control }}.{{ rule.name }}_strays();
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, count, detail)
    SELECT
        1, 'removal_time', CONCAT({{ rule.literal }}, ' ', o.table_name),
        IF(o.apart + o.undated = 0, 'ok', 'notice'),
        o.apart + o.undated,
        CONCAT(o.apart, ' rows have another {{ rule.end_time_name }} than their family and go without it; ', o.undated, ' have none and stay')
    FROM {{ control }}.work_stray AS o;
    DROP TEMPORARY TABLE {{ control }}.work_stray;
{%- elif rule.single and rule.single.keep_last %}

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, count, detail)
    SELECT 1, 'unranked', {{ rule.literal }}, IF(COUNT(*) = 0, 'ok', 'notice'), COUNT(*), 'rows without a group or without a place in it; they stay'
    FROM {{ rule.table }} AS t
    WHERE {% for condition in rule.single.conditions %}{{ condition }}
      AND {% endfor %}({{ rule.single.unranked }});
{%- endif %}{% endfor %}

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 2, 'preview', c.spec, 'violation', CONCAT('preview() fails: ', v_error)
    FROM {{ control }}.control AS c
    WHERE v_error IS NOT NULL;
    WHILE v_place < COALESCE(JSON_LENGTH(v_preview, '$.rules'), 0) DO
        SET v_rule = JSON_UNQUOTE(JSON_EXTRACT(v_preview, CONCAT('$.rules[', v_place, '].rule')));
        SET v_count = JSON_EXTRACT(v_preview, CONCAT('$.rules[', v_place, '].families'));
        INSERT INTO {{ control }}.work_check (position, check_name, object, severity, count, detail)
        VALUES (2, 'due', v_rule, IF(v_count = 0, 'ok', 'notice'), v_count, 'families that a run would delete now');
        SET v_skipped = JSON_EXTRACT(v_preview, CONCAT('$.rules[', v_place, '].skipped'));
        SET v_reasons = JSON_KEYS(v_skipped);
        SET v_at = 0;
        WHILE v_at < JSON_LENGTH(v_reasons) DO
            SET v_reason = JSON_UNQUOTE(JSON_EXTRACT(v_reasons, CONCAT('$[', v_at, ']')));
            SET v_count = JSON_EXTRACT(v_skipped, CONCAT('$.', v_reason));
            INSERT INTO {{ control }}.work_check (position, check_name, object, severity, count, detail)
            VALUES (3, 'undeletable', CONCAT(v_rule, ' ', v_reason), 'notice', v_count, 'families whose root is due but that stay');
            SET v_at = v_at + 1;
        END WHILE;
        SET v_place = v_place + 1;
    END WHILE;

    -- A client may have sent a body without its comments, or with other spaces: neither counts.
    CREATE TEMPORARY TABLE {{ control }}.work_routine (
        name varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY
    ) ENGINE = InnoDB;
    INSERT INTO {{ control }}.work_routine (name)
    VALUES
{%- for routine in routines %}
        ({{ routine }}){% if not loop.last %},{% endif %}
{%- endfor %};
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT
        4, 'routine', n.name,
        CASE WHEN NOT n.found OR NOT n.owned THEN 'violation' WHEN NOT n.readable THEN 'notice' WHEN n.body_known THEN 'ok' ELSE 'violation' END,
        CASE
            WHEN NOT n.found THEN 'missing; run windrow install'
            WHEN NOT n.readable AND n.owned THEN 'its body cannot be read by the owner role{% if maria %}, which needs SELECT on mysql.proc{% endif %}'
            WHEN NOT n.owned THEN CONCAT('its definer is ', n.definer, ', not the owner role; run windrow install')
            WHEN n.body_known THEN 'as generated'
            ELSE 'edited by hand; windrow install puts it back'
        END
    FROM (
        SELECT
            w.name,
            r.definer,
            r.routine_name IS NOT NULL AS found,
            r.routine_definition IS NOT NULL AS readable,
            COALESCE(r.definer IN ({{ owner_literal }}, CONCAT({{ owner_literal }}, '@%'), CONCAT({{ owner_literal }}, '@')), false) AS owned,
            COALESCE(
                r.routine_comment LIKE CONCAT('%[body ', {{ w::body_hash(x="r.routine_definition") }}, ']')
                    AND r.security_type = 'DEFINER'
                    AND r.sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
                false
            ) AS body_known
        FROM {{ control }}.work_routine AS w
        LEFT JOIN information_schema.routines AS r
            ON r.routine_schema = {{ control_literal }}
            AND r.routine_type = 'PROCEDURE'
            AND r.routine_name = w.name
    ) AS n;
    DROP TEMPORARY TABLE {{ control }}.work_routine;
    -- What is not as generated and is no body, as far as the owner role sees it.
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 4, 'claim', LEFT(c.object, 400), 'violation', CONCAT(c.problem, '; ', c.remedy)
    FROM (
        {{ claims_now | indent(prefix="        ") }}
    ) AS c;
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 4, 'rights', LEFT(c.object, 400), 'violation', CONCAT(c.problem, '; ', c.remedy)
    FROM (
        {{ rights | indent(prefix="        ") }}
    ) AS c;
{%- if indexes %}

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT
        5, 'index', n.index_name,
        IF(n.usable, 'ok', 'violation'),
        CASE
            WHEN n.usable THEN 'valid'
            WHEN n.found THEN '{% if maria %}IGNORED: ALTER TABLE ... ALTER INDEX ... NOT IGNORED{% else %}INVISIBLE: ALTER TABLE ... ALTER INDEX ... VISIBLE{% endif %}'
            ELSE CONCAT('missing on ', n.table_name, '; run windrow install')
        END
    FROM (
        {{ w::served(indexes=indexes, database=schema_literal, maria=maria, expression=by_expression) | indent(prefix="        ") }}
    ) AS n;
{%- endif %}
{%- if triggers %}

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT
        5, 'trigger', n.name,
        IF(n.found AND n.owned AND n.known, 'ok', 'violation'),
        CASE
            WHEN NOT n.found THEN 'missing; run windrow install'
            WHEN NOT n.owned THEN CONCAT('its definer is ', n.definer, ', not the owner role; run windrow install')
            WHEN n.known THEN 'refuses rows whose parent is gone'
            ELSE 'edited by hand; windrow install puts it back'
        END
    FROM (
        SELECT
            w.name,
            t.definer,
            t.trigger_name IS NOT NULL AS found,
            COALESCE(t.definer IN ({{ owner_literal }}, CONCAT({{ owner_literal }}, '@%'), CONCAT({{ owner_literal }}, '@')), false) AS owned,
            COALESCE({{ w::body_hash(x="t.action_statement") }} = w.hash, false) AS known
        FROM (
{%- for trigger in triggers %}
            SELECT {{ trigger.name }} AS name, {{ trigger.hash }} AS hash{% if not loop.last %}
            UNION ALL{% endif %}
{%- endfor %}
        ) AS w
        LEFT JOIN information_schema.triggers AS t
            ON t.trigger_schema = {{ schema_literal }}
            AND t.trigger_name = w.name
    ) AS n;
{%- endif %}

    CALL {{ control }}.strangers(true);
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT
        5, 'reference', s.object, 'violation',
        CONCAT(s.detail, ': ', IF(s.acts, 'its rows would go or change with it; runs refuse', 'no family that it names can go'))
    FROM {{ control }}.work_stranger AS s;
    DROP TEMPORARY TABLE {{ control }}.work_stranger;
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 5, 'reference', 'other databases', 'notice', {{ unseen }}
    FROM {{ control }}.control AS c
    WHERE NOT EXISTS (SELECT 1 FROM information_schema.tables AS t WHERE t.table_schema = 'mysql' AND t.table_name = 'db');
    CALL {{ control }}.unaccounted(v_error);
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 5, 'catalog', c.spec, 'violation', CONCAT(v_error, '; runs refuse')
    FROM {{ control }}.control AS c
    WHERE v_error LIKE 'catalog changed%';

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 6, 'policy', CONCAT(p.rule, ' ', p.scope), 'violation', CONCAT('its retention of ', p.retention_seconds, ' s is under the minimum of ', m.minimum, ' s')
    FROM {{ control }}.policy AS p
    JOIN (
{%- for rule in rules %}
        SELECT {{ rule.literal }} AS rule, {{ rule.minimum }} AS minimum{% if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    ) AS m ON m.rule = p.rule AND p.retention_seconds < m.minimum;

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, count, detail)
    SELECT 7, 'ledger', CONCAT('run ', r.run_id, ' ', r.rule), 'violation', r.deleted_rows, CONCAT('its tables sum up to ', SUM(t.deleted_rows), ' rows')
    FROM {{ control }}.run_rule AS r
    JOIN {{ control }}.run_table AS t ON t.run_id = r.run_id AND t.rule = r.rule
    GROUP BY r.run_id, r.rule, r.deleted_rows
    HAVING SUM(t.deleted_rows) <> r.deleted_rows;

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 8, 'run', CONCAT('run ', r.run_id), 'notice', CONCAT(r.status, ': ', r.reason)
    FROM {{ control }}.run AS r
    WHERE r.run_id = (SELECT MAX(l.run_id) FROM {{ control }}.run AS l)
      AND r.status NOT IN ('done', 'running');

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 8, 'unfinished', CONCAT('run ', u.run_id, ' ', u.rule), 'violation', 'killed inside a batch, which its session committed: part of it is gone, without an entry in the ledger; a run that gets to its end finishes it'
    FROM {{ control }}.unfinished AS u;

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT
        9, 'armed', c.spec,
        IF(c.armed AND c.server_identity = v_identity, 'ok', 'notice'),
        CASE
            WHEN NOT c.armed THEN 'not armed: runs refuse'
            WHEN c.server_identity = v_identity THEN CONCAT('armed by ', c.armed_by)
            ELSE 'armed on another server: runs refuse'
        END
    FROM {{ control }}.control AS c;

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 10, 'paused', c.spec, 'notice', {{ w::paused() }}
    FROM {{ control }}.control AS c
    WHERE c.paused;
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 10, 'paused', c.rule, 'notice', CONCAT('rule ', c.rule, ' is ', {{ w::paused(reason="reason") }})
    FROM {{ control }}.rule_pause AS c;
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 10, 'refused', LEFT(f.server, 400), 'notice', CONCAT('no scheduled run since ', DATE_FORMAT(f.since, '%Y-%m-%dT%TZ'), ': ', f.reason)
    FROM {{ control }}.refusal AS f;
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, count, detail)
    SELECT 10, 'suspended', c.spec, 'violation', s.failed_runs, CONCAT('no scheduled run starts after so many failed ones, until one by hand succeeds or arm(); the last one: ', s.last_error)
    FROM {{ control }}.scheduling AS s
    CROSS JOIN {{ control }}.control AS c
    WHERE s.suspended;

    BEGIN
        -- The server does not know a zone.
        DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET v_hours = NULL;
        CALL {{ control }}.window_at(UTC_TIMESTAMP(6), v_hours);
        -- Whether a start of the next days falls in a window. Days of the month count as any.
        SELECT MAX(h.days) = '' INTO v_starts FROM {{ control }}.open_hours AS h;
        SET v_minute = DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%d %H:%i:00'), v_until = v_minute + INTERVAL 8 DAY;
        WHILE v_hours IS NOT NULL AND NOT v_starts AND v_minute < v_until DO
{%- if starts_always %}
            CALL {{ control }}.window_at(v_minute, v_starts);
{%- else %}
            IF {% for job in jobs %}{% if not loop.first %} OR {% endif %}{{ job.starts | join(sep=" AND ") }}{% endfor %} THEN
                CALL {{ control }}.window_at(v_minute, v_starts);
            END IF;
{%- endif %}
            SET v_minute = v_minute + INTERVAL 1 MINUTE;
        END WHILE;
    END;
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT
        13, 'windows', LEFT(GROUP_CONCAT(h.written ORDER BY h.position SEPARATOR ', '), 400),
        CASE
            WHEN MAX(h.days) = '' THEN 'notice'
            WHEN v_hours IS NULL OR NOT v_starts THEN 'violation'
            ELSE 'ok'
        END,
        CASE
            WHEN MAX(h.days) = '' THEN 'no scheduled run will ever start'
            WHEN v_hours IS NULL THEN 'the server does not know a zone of theirs: scheduled runs refuse; load the zones with {% if maria %}mariadb-tzinfo-to-sql{% else %}mysql_tzinfo_to_sql{% endif %}'
            WHEN NOT v_starts THEN 'no start of the schedule ({{ schedule }}, in UTC) falls in one: no scheduled run will ever start'
            WHEN v_hours THEN 'open now'
            ELSE 'closed now'
        END
    FROM {{ control }}.open_hours AS h;

    -- Whether the event{% if jobs | length > 1 %}s run{% else %} runs{% endif %} at all is for the server to say, and it says so to nobody.
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT
        11, 'schedule', IF(j.name = 'run', c.spec, j.name),
        CASE
            WHEN e.event_name IS NULL OR e.status <> 'ENABLED' THEN 'notice'
            WHEN e.definer NOT IN ({{ owner_literal }}, CONCAT({{ owner_literal }}, '@%'), CONCAT({{ owner_literal }}, '@')) THEN 'violation'
            WHEN e.event_comment NOT LIKE CONCAT('%[body ', {{ w::body_hash(x="e.event_definition") }}, ']') THEN 'violation'
            ELSE 'ok'
        END,
        CASE
            WHEN e.event_name IS NULL THEN 'no event: nothing runs by itself'
            WHEN e.status = 'DISABLED' THEN 'the event is disabled'
            WHEN e.status <> 'ENABLED' THEN CONCAT('the event is ', e.status, ': it runs on the source of this replica; once this is the source: ALTER EVENT {{ control }}.', j.name, ' ENABLE')
            WHEN e.definer NOT IN ({{ owner_literal }}, CONCAT({{ owner_literal }}, '@%'), CONCAT({{ owner_literal }}, '@')) THEN CONCAT('the definer of the event is ', e.definer, ', not the owner role; run windrow install')
            WHEN e.event_comment NOT LIKE CONCAT('%[body ', {{ w::body_hash(x="e.event_definition") }}, ']') THEN 'the event was edited by hand; windrow install puts it back'
            ELSE COALESCE(CONCAT('last executed at ', e.last_executed), 'not executed so far')
        END
    FROM {{ control }}.control AS c
    CROSS JOIN (
{%- for job in jobs %}
        SELECT '{{ job.name }}' AS name{% if not loop.last %}
        UNION ALL{% endif %}
{%- endfor %}
    ) AS j
    LEFT JOIN information_schema.events AS e ON e.event_schema = {{ control_literal }} AND e.event_name = j.name;
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 11, 'schedule', e.event_name, 'violation', CONCAT('the event is of no line of the spec: DROP EVENT {{ control }}.', e.event_name, ', as windrow install does')
    FROM information_schema.events AS e
    WHERE e.event_schema = {{ control_literal }}
      AND e.event_name NOT IN ({% for job in jobs %}'{{ job.name }}'{% if not loop.last %}, {% endif %}{% endfor %});
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 11, 'schedule', 'event_scheduler', 'violation', CONCAT('it is ', @@GLOBAL.event_scheduler, ': no event runs; SET GLOBAL event_scheduler = ON, and in the configuration')
    FROM {{ control }}.control AS c
    WHERE @@GLOBAL.event_scheduler <> 'ON'
      AND EXISTS (
          SELECT 1 FROM information_schema.events AS e
          WHERE e.event_schema = {{ control_literal }}
            AND e.status = 'ENABLED'
      );
{%- for rule in rules %}{% if rule.archives %}

    CALL {{ control }}.archive_misfit({{ rule.literal }}, v_error);
    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    VALUES (14, 'archive', {{ rule.literal }}, IF(v_error IS NULL, 'ok', 'violation'), COALESCE(CONCAT(v_error, '; runs refuse: run windrow install'), 'it fits the tables'));
{%- endif %}{% endfor %}
{%- if named_zone %}

    INSERT INTO {{ control }}.work_check (position, check_name, object, severity, detail)
    SELECT 12, 'time zone', {{ named_zone }}, 'violation', 'the server does not know this zone: runs refuse; load the zones with {% if maria %}mariadb-tzinfo-to-sql{% else %}mysql_tzinfo_to_sql{% endif %}'
    FROM {{ control }}.control AS c
    WHERE CONVERT_TZ('2026-01-01 00:00:00', '+00:00', {{ named_zone }}) IS NULL;
{%- endif %}

    SET SESSION group_concat_max_len = 67108864;
    SELECT
        COALESCE(MAX(k.severity = 'violation'), 0) = 0,
        GROUP_CONCAT(
            CONCAT('{"check": ', JSON_QUOTE(k.check_name), ', "object": ', JSON_QUOTE(k.object), ', "severity": ', JSON_QUOTE(k.severity), ', "count": ', k.count, ', "detail": ', JSON_QUOTE(k.detail), '}')
            ORDER BY k.position, k.object SEPARATOR ', '
        )
    INTO v_clean, v_checks
    FROM {{ control }}.work_check AS k;
    DROP TEMPORARY TABLE {{ control }}.work_check;
    COMMIT;
    CALL {{ control }}.unsettle(v_before);
    SET v_before = NULL;
    SELECT CONCAT('{"clean": ', {{ w::flag(x="v_clean") }}, ', "checks": [', v_checks, ']}') AS p_result;
END;
