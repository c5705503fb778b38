-- setting: what overrides the limits of the spec. Read again before every batch.
--# create table setting
CREATE TABLE IF NOT EXISTS setting (
    rule       varchar(64)  NOT NULL,
    name       varchar(64)  NOT NULL,
    value      bigint       NOT NULL,
    changed_by varchar(400) NOT NULL DEFAULT (USER()),
    changed_at datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (rule, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Overrides of the limits in the spec; the view settings has all of them, with the defaults. Written by set_setting().';

-- known_setting: every setting, and what a value may be.
--# create table known_setting
CREATE TABLE IF NOT EXISTS known_setting (
    position       int          NOT NULL,
    name           varchar(64)  NOT NULL PRIMARY KEY,
    unit           varchar(20)  NOT NULL,
    least_value    bigint       NOT NULL,
    greatest_value bigint       NOT NULL,
    takes          varchar(100) NOT NULL,
    postgres_alone boolean      NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Every setting: its unit, and the values allowed, also in words. Written by an installation.';
--# forget known_setting
DELETE FROM known_setting WHERE name > '';
--# fill known_setting
INSERT INTO known_setting (position, name, unit, least_value, greatest_value, takes, postgres_alone)
VALUES
    --+ settings.sql
;
--# forget settings of PostgreSQL
DELETE FROM known_setting WHERE postgres_alone;

-- What a value may be is in the name of a constraint, which is all that the error of a write by hand shows. Earlier
-- constraints are replaced.
--# set group_concat_max_len
SET SESSION group_concat_max_len = 65536;
--# prepare constraints of setting
SET @windrow_statement = (
    SELECT CONCAT(
        'ALTER TABLE setting ',
        (
            SELECT COALESCE(GROUP_CONCAT(CONCAT('DROP CONSTRAINT `', c.constraint_name, '`, ') SEPARATOR ''), '')
            FROM information_schema.table_constraints AS c
            WHERE c.constraint_schema = DATABASE()
              AND c.table_name = 'setting'
              AND c.constraint_type = 'CHECK'
        ),
        GROUP_CONCAT(
            'ADD CONSTRAINT `', k.name, ' takes ', k.takes, '` CHECK (name <> ''', k.name,
            ''' OR value BETWEEN ', k.least_value, ' AND ', k.greatest_value, '), '
            ORDER BY k.position SEPARATOR ''
        ),
        'ADD CONSTRAINT `there is no such setting` CHECK (name IN (',
        GROUP_CONCAT('''', k.name, '''' ORDER BY k.position SEPARATOR ', '),
        '))'
    )
    FROM known_setting AS k
);
--# parse constraints of setting
PREPARE windrow_statement FROM @windrow_statement;
--# create constraints of setting
EXECUTE windrow_statement;
--# forget constraints of setting
DEALLOCATE PREPARE windrow_statement;

-- setting_log: every change of a setting.
--# create table setting_log
CREATE TABLE IF NOT EXISTS setting_log (
    log_id     bigint      NOT NULL AUTO_INCREMENT PRIMARY KEY,
    rule       varchar(64) NOT NULL,
    name       varchar(64) NOT NULL,
    old_value  bigint,
    new_value  bigint,
    changed_by varchar(400),
    changed_at datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    KEY (rule, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Every change of table setting; a value of NULL: the default of the spec. changed_by NULL: written by
        hand, changed_at is when that was noticed. Pruned with the ledger, except the last change of each setting.';

-- settings: every limit with its present value, its unit, the default of the spec, and what a value may be.
--# create view settings
CREATE OR REPLACE SQL SECURITY INVOKER VIEW settings (
    position, rule, name, value, unit, spec_value, least_value, greatest_value, takes, changed_by, changed_at
) AS
SELECT
    r.position * 100 + k.position, r.rule, l.name, COALESCE(s.value, l.value), k.unit, l.value, k.least_value, k.greatest_value,
    k.takes, s.changed_by, s.changed_at
FROM known_setting AS k
JOIN rule_limit AS l ON l.name = k.name
JOIN rule AS r ON r.rule = l.rule
LEFT JOIN setting AS s ON s.rule = l.rule AND s.name = l.name;

-- setting_of: the present value of a limit: the override, else the default of the spec.
--# create procedure setting_of
CREATE PROCEDURE setting_of(IN p_rule varchar(64), IN p_name varchar(255), OUT o_value bigint)
SQL SECURITY DEFINER
COMMENT 'Present value of a limit: the override in table setting, else the default of the spec; NULL if there is no such limit.'
BEGIN
    SELECT COALESCE(
        (SELECT s.value FROM setting AS s WHERE s.rule = p_rule AND s.name = p_name),
        (SELECT l.value FROM rule_limit AS l WHERE l.rule = p_rule AND l.name = p_name)
    )
    INTO o_value;
END;

-- log_settings: logs what has changed in setting since the last entry of the log. A trigger would see every write, but
-- with a binary log only an administrator may create one: so set_setting() calls this before and after its own write, and
-- every run when it begins.
--# create procedure log_settings
CREATE PROCEDURE log_settings(IN p_by varchar(400))
SQL SECURITY DEFINER
COMMENT 'Logs every setting that is not what its last entry in setting_log says; p_by: who changed it, NULL: it is not known.'
BEGIN
    INSERT INTO setting_log (rule, name, old_value, new_value, changed_by, changed_at)
    SELECT k.rule, k.name, g.new_value, s.value, p_by, UTC_TIMESTAMP(6)
    FROM (
        SELECT t.rule, t.name FROM setting AS t
        UNION
        SELECT t.rule, t.name FROM setting_log AS t
    ) AS k
    LEFT JOIN setting AS s ON s.rule = k.rule AND s.name = k.name
    LEFT JOIN (
        SELECT t.rule, t.name, MAX(t.log_id) AS log_id FROM setting_log AS t GROUP BY t.rule, t.name
    ) AS l ON l.rule = k.rule AND l.name = k.name
    LEFT JOIN setting_log AS g ON g.log_id = l.log_id
    WHERE NOT g.new_value <=> s.value;
END;

-- Each of these is a setting of one rule. Where that is another one than before, also because the one before is gone, the ledger and
-- the archive are kept as long as before, if that is longer than the spec says: what a run forgets does not come back. And a run takes
-- no longer than before: its time may be what the application can spare. Where both rules have one, the later word counts. What a rule
-- gets is taken from the other: whoever resets it is not overruled by the next installation, and a rule that comes back gets it in the
-- same way.
--# log settings before
CALL log_settings(NULL);
--# keep the limits of runs
REPLACE INTO setting (rule, name, value)
SELECT l.rule, s.name, CASE WHEN s.name = 'time_budget' OR MIN(s.value) = 0 THEN MIN(s.value) ELSE MAX(s.value) END
FROM setting AS s
JOIN rule_limit AS l ON l.name = s.name AND l.rule <> s.rule
LEFT JOIN setting AS w ON w.rule = l.rule AND w.name = s.name
WHERE s.name IN ('time_budget', 'ledger_days', 'archive_days')
  AND (w.rule IS NULL OR w.changed_at < s.changed_at)
  AND CASE s.name
      WHEN 'time_budget' THEN s.value < l.value
      WHEN 'ledger_days' THEN s.value > l.value
      ELSE l.value > 0 AND (s.value = 0 OR s.value > l.value)
  END
GROUP BY l.rule, s.name;
--# forget settings without effect
DELETE s
FROM setting AS s
JOIN rule_limit AS l ON l.name = s.name AND l.rule <> s.rule
LEFT JOIN rule AS r ON r.rule = s.rule
WHERE s.name IN ('time_budget', 'ledger_days', 'archive_days')
  AND (
      r.rule IS NOT NULL
      OR CASE s.name
          WHEN 'time_budget' THEN s.value < l.value
          WHEN 'ledger_days' THEN s.value > l.value
          ELSE l.value > 0 AND (s.value = 0 OR s.value > l.value)
      END
  );
--# log settings after
CALL log_settings(USER());

-- set_setting: overrides a limit of the spec, or gives it back with a null value.
--# create procedure set_setting
CREATE PROCEDURE set_setting(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Overrides a limit of the spec from the next batch on; a null value restores the spec''s.
    Example: CALL set_setting(''{"name": "time_budget", "value": 600}'');'
BEGIN
    DECLARE v_rule     varchar(64);
    DECLARE v_name     longtext;
    DECLARE v_text     longtext;
    DECLARE v_value    bigint;
    DECLARE v_least    bigint;
    DECLARE v_greatest bigint;
    DECLARE v_takes    varchar(100);
    DECLARE v_names    longtext;
    DECLARE v_minimum  bigint;
    DECLARE v_first    varchar(64);
    DECLARE v_told     longtext;
    DECLARE v_set      bigint DEFAULT 0;
    DECLARE v_session  longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        CALL unsettle(v_session);
        RESIGNAL;
    END;
    CALL ease(v_session);
    CALL check_options(p_options, '["rule", "name", "value"]');
    CALL option_of(p_options, 'name', v_name);
    CALL option_of(p_options, 'value', v_text);
    IF v_text IS NULL THEN
        CALL check_decided(p_options, v_rule);
        SELECT COUNT(*) INTO v_set FROM setting AS s WHERE s.rule = v_rule AND s.name = v_name;
    ELSE
        CALL check_rule(p_options, v_rule);
    END IF;
    SELECT MAX(s.least_value), MAX(s.greatest_value), MAX(s.takes)
    INTO v_least, v_greatest, v_takes
    FROM settings AS s
    WHERE s.rule = v_rule
      AND s.name = v_name;
    IF v_takes IS NULL AND v_set = 0 THEN
        SELECT GROUP_CONCAT(l.rule ORDER BY r.position SEPARATOR ', ')
        INTO v_names
        FROM rule_limit AS l
        JOIN rule AS r ON r.rule = l.rule
        WHERE l.name = v_name;
        IF v_names IS NOT NULL THEN
            CALL refuse(CONCAT('rule ', v_rule, ' has no setting ', v_name), CONCAT('it is a setting of ', v_names));
        END IF;
        SELECT GROUP_CONCAT(s.name ORDER BY s.position SEPARATOR ', ') INTO v_names FROM settings AS s WHERE s.rule = v_rule;
        CALL refuse(CONCAT('no such setting: ', QUOTE(v_name)), CONCAT('there are ', v_names));
    END IF;
    CALL log_settings(NULL);
    IF v_text IS NULL THEN
        DELETE FROM setting WHERE rule = v_rule AND name = v_name;
    ELSEIF v_text NOT REGEXP '^[0-9]{1,18}\\z' THEN
        CALL refuse(CONCAT('not a whole number: ', QUOTE(v_text)), CONCAT('it takes ', v_takes));
    ELSE
        -- Not left to the constraint of the table, which check_constraint_checks of the session switches off on MariaDB.
        SET v_value = CAST(v_text AS signed);
        SELECT r.minimum INTO v_minimum FROM rule AS r WHERE r.rule = v_rule;
        IF v_name = 'fallback_retention' AND v_value BETWEEN 1 AND v_minimum - 1 THEN
            CALL refuse(
                CONCAT('a retention of ', v_text, ' seconds is below the minimum of rule ', v_rule),
                CONCAT('it is ', v_minimum, '; 0 turns the fallback off')
            );
        END IF;
        IF v_value NOT BETWEEN v_least AND v_greatest THEN
            CALL refuse(CONCAT(v_name, ' is out of range: ', v_text), CONCAT('it takes ', v_takes));
        END IF;
        INSERT INTO setting (rule, name, value, changed_by, changed_at)
        VALUES (v_rule, v_name, v_value, USER(), UTC_TIMESTAMP(6))
        ON DUPLICATE KEY UPDATE
            value = v_value,
            changed_by = USER(),
            changed_at = UTC_TIMESTAMP(6);
    END IF;
    CALL log_settings(USER());
    CALL setting_of(v_rule, v_name, v_value);
    -- A run that is under way ends by it, too, unless it was told one of its own.
    CALL first_rule(v_first);
    IF v_name = 'time_budget' AND v_rule = v_first THEN
        UPDATE run AS r
        SET r.deadline = r.started_at + INTERVAL v_value SECOND
        WHERE r.status = 'running'
          AND r.`trigger` NOT IN ('PURGE', 'STAMP')
          AND JSON_VALUE(r.options, '$.time_budget') IS NULL;
    END IF;
    SELECT MAX(CONCAT('of all rules the smallest ', v_name, ' above 0 applies: ', l.value, ' (rule ', l.rule, ')'))
    INTO v_told
    FROM (
        SELECT s.rule, s.value
        FROM settings AS s
        WHERE s.name = v_name
          AND s.name IN ('suspend_after', 'back_off_max')
          AND s.value > 0
        ORDER BY s.value, s.position
        LIMIT 1
    ) AS l
    WHERE l.value <> v_value;
    CALL unsettle(v_session);
    SELECT CONCAT('{"rule": ', COALESCE(JSON_QUOTE(v_rule), 'null'), ', "name": ', COALESCE(JSON_QUOTE(v_name), 'null'), ', "value": ',
        COALESCE(CAST(v_value AS CHAR), 'null'), ', "notice": ', COALESCE(JSON_QUOTE(v_told), 'null'), '}') AS p_result;
END;

-- Earlier versions took longer ones, with which each run of the rule failed: the calendar ends. A thousand years is as good.
--# update table policy
UPDATE policy SET retention_seconds = 31557600000 WHERE retention_seconds > 31557600000;

-- The minimum retention of each rule is enforced by a check, whoever writes a policy, and that a scope is a value of its
-- column. Earlier checks are replaced. The server reads the text of a check again in the sql_mode of whoever opens the table:
-- it has no backslashes.
--# prepare constraints of policy
SET @windrow_statement = (
    SELECT CONCAT(
        'ALTER TABLE policy ',
        (
            SELECT COALESCE(GROUP_CONCAT(CONCAT('DROP CONSTRAINT `', c.constraint_name, '`, ') SEPARATOR ''), '')
            FROM information_schema.table_constraints AS c
            WHERE c.constraint_schema = DATABASE()
              AND c.table_name = 'policy'
              AND c.constraint_type = 'CHECK'
        ),
        GROUP_CONCAT(
            'ADD CONSTRAINT policy_', r.rule, ' CHECK ((CASE WHEN rule <> ''', r.rule, ''' OR refers_to <> ',
            QUOTE(COALESCE(n.refers_to, '')), ' THEN true WHEN retention_seconds < ', r.minimum,
            ' OR retention_seconds > 31557600000 OR CONCAT(scope, ''.'') NOT REGEXP ''^',
            CASE
                WHEN r.scope_type IN ('smallint', 'int', 'bigint') THEN '(0|-?[1-9][0-9]{0,18})'
                WHEN r.scope_type = 'decimal' THEN '(0|-?[1-9][0-9]{0,64})'
                WHEN r.scope_type = 'uuid' THEN '[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}'
                WHEN r.scope_type IS NULL THEN ''
                ELSE '.+'
            END,
            '[.]$'' THEN false ELSE ',
            CASE r.scope_type
                WHEN 'smallint' THEN 'CAST(scope AS DECIMAL(20)) BETWEEN -32768 AND 32767'
                WHEN 'int' THEN 'CAST(scope AS DECIMAL(20)) BETWEEN -2147483648 AND 2147483647'
                WHEN 'bigint' THEN 'CAST(scope AS DECIMAL(20)) BETWEEN -9223372036854775808 AND 9223372036854775807'
                ELSE 'true'
            END,
            ' END) IS TRUE)'
            ORDER BY r.position SEPARATOR ', '
        )
    )
    FROM rule AS r
    LEFT JOIN rule_refers AS n ON n.rule = r.rule AND n.kind = 'policy'
);
--# parse constraints of policy
PREPARE windrow_statement FROM @windrow_statement;
--# create constraints of policy
EXECUTE windrow_statement;
--# forget constraints of policy
DEALLOCATE PREPARE windrow_statement;
