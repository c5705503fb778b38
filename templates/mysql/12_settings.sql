{% import "macros.sql" as w -%}
{{ w::session() }}

-- setting: what overrides the limits of the spec. Read again before every batch.
--# create table {{ control }}.setting
CREATE TABLE IF NOT EXISTS {{ control }}.setting (
    rule       varchar(64)  NOT NULL,
    name       varchar(64)  NOT NULL,
    value      bigint       NOT NULL,
    changed_by varchar(400) NOT NULL DEFAULT (USER()),
    changed_at datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (rule, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Overrides of the limits in the spec; the view settings has all of them, with the defaults. Written by set_setting().';

-- What a value may be stands in the name of a constraint, which is all that the error of a write by hand shows. Earlier
-- constraints are replaced.
--# set group_concat_max_len
SET SESSION group_concat_max_len = 65536;
--# prepare constraints of {{ control }}.setting
SET @windrow_statement = CONCAT(
    'ALTER TABLE {{ control }}.setting ',
    (
        SELECT COALESCE(GROUP_CONCAT(CONCAT('DROP CONSTRAINT `', c.constraint_name, '`, ') SEPARATOR ''), '')
        FROM information_schema.table_constraints AS c
        WHERE c.constraint_schema = {{ control_literal }}
          AND c.table_name = 'setting'
          AND c.constraint_type = 'CHECK'
    ),
{%- for setting in settings %}
    'ADD CONSTRAINT `{{ setting.name }} takes {{ setting.takes }}` CHECK (name <> ''{{ setting.name }}'' OR value BETWEEN {{ setting.least }} AND {{ setting.greatest }}), ',
{%- endfor %}
    'ADD CONSTRAINT `there is no such setting` CHECK (name IN ({% for setting in settings %}''{{ setting.name }}''{% if not loop.last %}, {% endif %}{% endfor %}))'
);
--# parse constraints of {{ control }}.setting
PREPARE windrow_statement FROM @windrow_statement;
--# create constraints of {{ control }}.setting
EXECUTE windrow_statement;
--# forget constraints of {{ control }}.setting
DEALLOCATE PREPARE windrow_statement;

-- setting_log: every change of a setting.
--# create table {{ control }}.setting_log
CREATE TABLE IF NOT EXISTS {{ control }}.setting_log (
    log_id     bigint      NOT NULL AUTO_INCREMENT PRIMARY KEY,
    rule       varchar(64) NOT NULL,
    name       varchar(64) NOT NULL,
    old_value  bigint,
    new_value  bigint,
    changed_by varchar(400),
    changed_at datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    KEY (rule, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Every change of table setting; a value of NULL: the default of the spec. changed_by NULL: written by hand, changed_at is when that was noticed. Pruned with the ledger, but for the last change of each setting.';

-- settings: every limit with its present value, its unit, the default of the spec, and what a value may be.
--# create view {{ control }}.settings
CREATE OR REPLACE DEFINER = {{ owner }} SQL SECURITY INVOKER VIEW {{ control }}.settings (position, rule, name, value, unit, spec_value, least_value, greatest_value, takes, changed_by, changed_at) AS
SELECT l.position, l.rule, l.name, COALESCE(s.value, l.spec_value), l.unit, l.spec_value, l.least_value, l.greatest_value, l.takes, s.changed_by, s.changed_at
FROM (
{%- for rule in rules %}{% for setting in rule.settings %}
    SELECT {{ setting.position }} AS position, {{ rule.literal }} AS rule, '{{ setting.name }}' AS name, '{{ setting.unit }}' AS unit, {{ setting.value }} AS spec_value, {{ setting.least }} AS least_value, {{ setting.greatest }} AS greatest_value, '{{ setting.takes }}' AS takes{% if not loop.last %} UNION ALL{% endif %}
{%- endfor %}{% if not loop.last %} UNION ALL{% endif %}{% endfor %}
) AS l
LEFT JOIN {{ control }}.setting AS s ON s.rule = l.rule AND s.name = l.name;

-- setting_of: the present value of a limit: the override, else the default of the spec.
--# create procedure {{ control }}.setting_of
CREATE PROCEDURE {{ control }}.setting_of(IN p_rule varchar(64), IN p_name varchar(255), OUT o_value bigint)
SQL SECURITY DEFINER
COMMENT 'Present value of a limit: the override in table setting, else the default of the spec; NULL if there is no such limit. [body @body@]'
BEGIN
    SET o_value = COALESCE(
        (SELECT s.value FROM {{ control }}.setting AS s WHERE s.rule = p_rule AND s.name = p_name),
        CASE CONCAT(p_rule, '.', p_name)
{%- for rule in rules %}{% for setting in rule.settings %}
            WHEN '{{ rule.name }}.{{ setting.name }}' THEN {{ setting.value }}
{%- endfor %}{% endfor %}
        END
    );
END;

-- log_settings: logs what has changed in setting since the last entry of the log. A trigger would see every write, but
-- with a binary log only an administrator may create one: so set_setting() calls this before and after its own write, and
-- every run when it begins.
--# create procedure {{ control }}.log_settings
CREATE PROCEDURE {{ control }}.log_settings(IN p_by varchar(400))
SQL SECURITY DEFINER
COMMENT 'Logs every setting that is not what its last entry in setting_log says; p_by: who changed it, NULL: it is not known. [body @body@]'
BEGIN
    INSERT INTO {{ control }}.setting_log (rule, name, old_value, new_value, changed_by, changed_at)
    SELECT k.rule, k.name, g.new_value, s.value, p_by, UTC_TIMESTAMP(6)
    FROM (
        SELECT t.rule, t.name FROM {{ control }}.setting AS t
        UNION
        SELECT t.rule, t.name FROM {{ control }}.setting_log AS t
    ) AS k
    LEFT JOIN {{ control }}.setting AS s ON s.rule = k.rule AND s.name = k.name
    LEFT JOIN (
        SELECT t.rule, t.name, MAX(t.log_id) AS log_id FROM {{ control }}.setting_log AS t GROUP BY t.rule, t.name
    ) AS l ON l.rule = k.rule AND l.name = k.name
    LEFT JOIN {{ control }}.setting_log AS g ON g.log_id = l.log_id
    WHERE NOT g.new_value <=> s.value;
END;

-- set_setting: overrides a limit of the spec, or gives it back with a null value.
--# create procedure {{ control }}.set_setting
CREATE PROCEDURE {{ control }}.set_setting(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Overrides a limit of the spec from the next batch on; a null value gives it back. Example: CALL {{ control }}.set_setting(''{"name": "{{ rules.0.batch_setting }}", "value": 50}''); [body @body@]'
BEGIN
    DECLARE v_rule     varchar(64);
    DECLARE v_name     longtext;
    DECLARE v_text     longtext;
    DECLARE v_value    bigint;
    DECLARE v_least    bigint;
    DECLARE v_greatest bigint;
    DECLARE v_takes    varchar(100);
    DECLARE v_names    longtext;
    CALL {{ control }}.drop_shadows();
    SET SESSION timestamp = DEFAULT;
    CALL {{ control }}.check_options(p_options, '["rule", "name", "value"]');
    CALL {{ control }}.check_rule(p_options, v_rule);
    CALL {{ control }}.option_of(p_options, 'name', v_name);
    SELECT MAX(s.least_value), MAX(s.greatest_value), MAX(s.takes)
    INTO v_least, v_greatest, v_takes
    FROM {{ control }}.settings AS s
    WHERE s.rule = v_rule
      AND s.name = v_name;
    IF v_takes IS NULL THEN
        SELECT GROUP_CONCAT(s.name ORDER BY s.position SEPARATOR ', ') INTO v_names FROM {{ control }}.settings AS s WHERE s.rule = v_rule;
        CALL {{ control }}.refuse(CONCAT('no such setting: ', QUOTE(v_name)), CONCAT('there are ', v_names));
    END IF;
    CALL {{ control }}.option_of(p_options, 'value', v_text);
    CALL {{ control }}.log_settings(NULL);
    IF v_text IS NULL THEN
        DELETE FROM {{ control }}.setting WHERE rule = v_rule AND name = v_name;
    ELSEIF v_text NOT REGEXP '^[0-9]{1,18}\\z' THEN
        CALL {{ control }}.refuse(CONCAT('not a whole number: ', QUOTE(v_text)), CONCAT('it takes ', v_takes));
    ELSE
        -- Not left to the constraint of the table{% if maria %}, which check_constraint_checks of the session switches off{% endif %}.
        SET v_value = CAST(v_text AS signed);
{%- for rule in rules %}{% if rule.single and rule.single.expiry and rule.single.aged %}
        IF v_rule = {{ rule.literal }} AND v_name = 'fallback_retention' AND v_value BETWEEN 1 AND {{ rule.minimum }} - 1 THEN
            CALL {{ control }}.refuse(CONCAT('a retention of ', v_text, ' seconds is under the minimum of rule {{ rule.name }}'), 'it is {{ rule.minimum }}; 0 turns the fallback off');
        END IF;
{%- endif %}{% endfor %}
        IF v_value NOT BETWEEN v_least AND v_greatest THEN
            CALL {{ control }}.refuse(CONCAT(v_name, ' is beyond its limits: ', v_text), CONCAT('it takes ', v_takes));
        END IF;
        INSERT INTO {{ control }}.setting (rule, name, value, changed_by, changed_at)
        VALUES (v_rule, v_name, v_value, USER(), UTC_TIMESTAMP(6))
        ON DUPLICATE KEY UPDATE
            value = v_value,
            changed_by = USER(),
            changed_at = UTC_TIMESTAMP(6);
    END IF;
    CALL {{ control }}.log_settings(USER());
    CALL {{ control }}.setting_of(v_rule, v_name, v_value);
    SELECT CONCAT('{"rule": ', {{ w::text(x="v_rule") }}, ', "name": ', {{ w::text(x="v_name") }}, ', "value": ', {{ w::number(x="v_value") }}, '}') AS p_result;
END;
