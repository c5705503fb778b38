{% import "macros.sql" as w -%}

{#- Changes the rows t of a step that are found in one way. -#}
{% macro change(control, stamp, step, change) -%}
-- {{ change.why }}
UPDATE {{ control }}.work_time AS w
{%- for join in change.joins %}
STRAIGHT_JOIN {{ join.table }} AS {{ join.alias }} ON {{ join.on }}
{%- endfor %}
STRAIGHT_JOIN {{ step.table }} AS t ON {{ change.on }}
SET t.{{ stamp.end_time }} = w.due{% for column in step.untouched %}, t.{{ column }} = t.{{ column }}{% endfor %}
WHERE NOT t.{{ stamp.end_time }} <=> w.due;
SET v_rows = v_rows + ROW_COUNT();
{%- endmacro change -%}
{{ session }}

-- check_stamp_options: the options of stamp(), checked before anything happens. Answers the rule.
--# create procedure {{ control }}.check_stamp_options
CREATE PROCEDURE {{ control }}.check_stamp_options(IN p_options longtext, OUT o_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Raises 22023 with a hint for an option of stamp() that makes no sense; answers the rule. [body @body@]'
BEGIN
    DECLARE v_text    longtext;
{%- if stamps_of %}
    DECLARE v_of      longtext;
{%- endif %}
    DECLARE v_flag    boolean;
    DECLARE v_to      datetime(6);
    DECLARE v_seconds bigint;
    DECLARE v_count   integer;
    DECLARE v_place   integer DEFAULT 0;
    CALL {{ control }}.check_options(p_options, '["rule", "to", "calculated", "default", "clear", "key", "missing", "all", "hierarchical", "chunk", "time_budget", "dry_run"{% if stamps_of %}, "of"{% endif %}]');
    CALL {{ control }}.option_of(p_options, 'rule', v_text);
{%- if stamps == 1 %}
    SET v_text = COALESCE(v_text, {{ stamp_literals }});
{%- endif %}
    IF v_text IS NULL OR v_text NOT IN ({{ stamp_literals }}) THEN
        CALL {{ control }}.refuse(CONCAT('no such rule with removal times to set: ', QUOTE(v_text)), CONCAT('the rules are: ', CONCAT_WS(', ', {{ stamp_literals }})));
    END IF;
    SET o_rule = v_text;
{%- if stamps_of %}
    CALL {{ control }}.option_of(p_options, 'of', v_of);
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.of') AND (CONCAT(o_rule, '.', v_of) IN ({{ stamps_of }})) IS NOT TRUE THEN
        CALL {{ control }}.refuse(CONCAT('rule ', o_rule, ' has no such removal times to set: ', QUOTE(v_of)), CONCAT('of is the last part of one of these: ', CONCAT_WS(', ', {{ stamps_of }})));
    END IF;
{%- endif %}
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.to') + JSON_CONTAINS_PATH(p_options, 'one', '$.calculated') + JSON_CONTAINS_PATH(p_options, 'one', '$.clear') <> 1 THEN
        CALL {{ control }}.refuse('not one of to, calculated and clear', 'write {"to": "2027-01-01T00:00:00Z"}, {"calculated": "end"} or {"clear": true}');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.key') + JSON_CONTAINS_PATH(p_options, 'one', '$.missing') + JSON_CONTAINS_PATH(p_options, 'one', '$.all') <> 1 THEN
        CALL {{ control }}.refuse('not one of key, missing and all', 'write {"key": [17, 18]}, {"missing": true} or {"all": true}');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.to') THEN
        CALL {{ control }}.option_of(p_options, 'to', v_text);
        CALL {{ control }}.instant_of(v_text, v_to);
        -- Whole seconds of four-digit years: what every server stores alike.
        IF v_to IS NULL OR v_to < '1970-01-02 00:00:00' OR v_to >= '9999-01-01 00:00:00' OR MICROSECOND(v_to) > 0 THEN
            CALL {{ control }}.refuse(CONCAT('to is not an instant in whole seconds: ', QUOTE(v_text)), 'write it like 2027-01-01T00:00:00Z; without a zone it is UTC');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.calculated') THEN
        CALL {{ control }}.option_of(p_options, 'calculated', v_text);
        IF (v_text IN ('start', 'end')) IS NOT TRUE THEN
            CALL {{ control }}.refuse(CONCAT('calculated is neither start nor end: ', QUOTE(v_text)), 'write {"calculated": "end"}');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.default') THEN
        CALL {{ control }}.option_of(p_options, 'default', v_text);
        CALL {{ control }}.seconds(v_text, v_seconds);
        IF v_seconds IS NULL OR NOT JSON_CONTAINS_PATH(p_options, 'one', '$.calculated') THEN
            CALL {{ control }}.refuse(CONCAT('default is not the time to live of a calculated removal time: ', QUOTE(v_text)), 'write {"calculated": "end", "default": "30d"}');
        END IF;
    END IF;
    CALL {{ control }}.flag_of(p_options, 'clear', v_flag);
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.clear') AND v_flag IS NOT TRUE THEN
        CALL {{ control }}.refuse('clear is not true', 'write {"clear": true}, or leave it out');
    END IF;
    CALL {{ control }}.flag_of(p_options, 'missing', v_flag);
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.missing') AND v_flag IS NOT TRUE THEN
        CALL {{ control }}.refuse('missing is not true', 'write {"missing": true}, or leave it out');
    END IF;
    CALL {{ control }}.flag_of(p_options, 'all', v_flag);
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.all') AND v_flag IS NOT TRUE THEN
        CALL {{ control }}.refuse('all is not true', 'write {"all": true}, or leave it out');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.hierarchical') AND JSON_TYPE(JSON_EXTRACT(p_options, '$.hierarchical')) <> 'BOOLEAN' THEN
        CALL {{ control }}.refuse(CONCAT('hierarchical is not true or false: ', JSON_EXTRACT(p_options, '$.hierarchical')), 'write {"hierarchical": false}');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.dry_run') AND JSON_TYPE(JSON_EXTRACT(p_options, '$.dry_run')) <> 'BOOLEAN' THEN
        CALL {{ control }}.refuse(CONCAT('dry_run is not true or false: ', JSON_EXTRACT(p_options, '$.dry_run')), 'write {"dry_run": true}');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.chunk') THEN
        CALL {{ control }}.option_of(p_options, 'chunk', v_text);
        IF (v_text REGEXP '^[1-9][0-9]{0,3}\\z') IS NOT TRUE THEN
            CALL {{ control }}.refuse(CONCAT('chunk is not a number from 1 to 9999: ', QUOTE(v_text)), 'write it like {"chunk": 200}');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.time_budget') THEN
        CALL {{ control }}.option_of(p_options, 'time_budget', v_text);
        CALL {{ control }}.seconds(v_text, v_seconds);
        IF COALESCE(v_seconds, 0) <= 0 THEN
            CALL {{ control }}.refuse(CONCAT('time_budget is not a duration above 0: ', QUOTE(v_text)), 'write it like {"time_budget": "10m"}');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.key') THEN
        SET v_count = IF(JSON_TYPE(JSON_EXTRACT(p_options, '$.key')) = 'ARRAY', JSON_LENGTH(p_options, '$.key'), 0);
        IF v_count = 0 THEN
            CALL {{ control }}.refuse('the option key is not a list of keys', 'write it like {"key": [17, 18]}');
        END IF;
        WHILE v_place < v_count DO
            CALL {{ control }}.check_key({% if stamps_of %}CONCAT_WS('.', o_rule, v_of){% else %}o_rule{% endif %}, JSON_UNQUOTE(JSON_EXTRACT(p_options, CONCAT('$.key[', v_place, ']'))));
            SET v_place = v_place + 1;
        END WHILE;
    END IF;
{%- if named_zone %}
    IF CONVERT_TZ('2026-01-01 00:00:00', '+00:00', {{ named_zone }}) IS NULL THEN
        CALL {{ control }}.not_ready('the server does not know the time zone {{ zone }}', 'load the zones with {% if maria %}mariadb-tzinfo-to-sql{% else %}mysql_tzinfo_to_sql{% endif %}');
    END IF;
{%- endif %}
END;
{% for stamp in stamped %}
-- {{ stamp.name }}_stamp_open: what a stamp is to go through: the families, or the instances where it is not hierarchical.
--# create procedure {{ control }}.{{ stamp.name }}_stamp_open
CREATE PROCEDURE {{ control }}.{{ stamp.name }}_stamp_open(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Fills the temporary table work_todo with the families that the options of a stamp name, or the instances where it is not hierarchical, in the order of their keys. Locks nothing. [body @body@]'
BEGIN
{%- if stamp.root_column %}
    DECLARE v_text   longtext;
    DECLARE v_family boolean;
{%- endif %}
    DECLARE v_all    boolean DEFAULT JSON_CONTAINS_PATH(p_options, 'one', '$.all');
{%- if stamp.root_column %}
    CALL {{ control }}.option_of(p_options, 'hierarchical', v_text);
    SET v_family = COALESCE(v_text <> 'false', true);
{%- endif %}
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_todo, {{ control }}.work_named;
    CREATE TEMPORARY TABLE {{ control }}.work_todo (
        position bigint NOT NULL AUTO_INCREMENT,
        {%- if stamp.id_type %}
        id {{ stamp.id_type }} NOT NULL,
        {%- endif %}
        PRIMARY KEY (position)
    ) ENGINE = InnoDB AS
    SELECT r.{{ stamp.key }} AS id FROM {{ stamp.table }} AS r LIMIT 0;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.key') THEN
        -- It has the type and the collation of the key.
        CREATE TEMPORARY TABLE {{ control }}.work_named (
            {%- if stamp.id_type %}
            id {{ stamp.id_type }} NOT NULL,
            {%- endif %}
            PRIMARY KEY (id)
        ) ENGINE = InnoDB AS
        SELECT r.{{ stamp.key }} AS id FROM {{ stamp.table }} AS r LIMIT 0;
        INSERT IGNORE INTO {{ control }}.work_named (id)
        SELECT k.id FROM JSON_TABLE(p_options, '$.key[*]' COLUMNS (id varchar(255) PATH '$')) AS k;
        INSERT INTO {{ control }}.work_todo (id)
        SELECT DISTINCT {% if stamp.root_column %}IF(v_family, {{ stamp.family_of_root }}, r.{{ stamp.key }}){% else %}r.{{ stamp.key }}{% endif %} AS id
        FROM {{ control }}.work_named AS n
        STRAIGHT_JOIN {{ stamp.table }} AS r ON r.{{ stamp.key }} = n.id
{%- for condition in stamp.conditions %}
        {% if loop.first %}WHERE{% else %}  AND{% endif %} {{ condition }}
{%- endfor %}
        ORDER BY id;
        DROP TEMPORARY TABLE {{ control }}.work_named;
    ELSE
        INSERT INTO {{ control }}.work_todo (id)
        SELECT DISTINCT {% if stamp.root_column %}IF(v_family, {{ stamp.family_of_root }}, r.{{ stamp.key }}){% else %}r.{{ stamp.key }}{% endif %} AS id
        FROM {{ stamp.table }} AS r
        WHERE {% if stamp.conditions %}({% endif %}v_all OR r.{{ stamp.end_time }} IS NULL{% if stamp.conditions %}){% endif %}
{%- for condition in stamp.conditions %}
          AND {{ condition }}
{%- endfor %}
        ORDER BY id;
    END IF;
END;

-- {{ stamp.name }}_stamp_close: the work tables of a stamp go.
--# create procedure {{ control }}.{{ stamp.name }}_stamp_close
CREATE PROCEDURE {{ control }}.{{ stamp.name }}_stamp_close()
SQL SECURITY DEFINER
COMMENT 'Drops the work tables of a stamp. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS
        {{ control }}.work_todo, {{ control }}.work_named, {{ control }}.work_stamp, {{ control }}.work_member, {{ control }}.work_time, {{ control }}.work_skip;
END;

-- {{ stamp.name }}_stamp_work: the work tables of one batch, empty.
--# create procedure {{ control }}.{{ stamp.name }}_stamp_work
CREATE PROCEDURE {{ control }}.{{ stamp.name }}_stamp_work()
SQL SECURITY DEFINER
COMMENT 'Makes the work tables of one batch of a stamp anew. Their columns have the types and collations of {{ stamp.table_name }}. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_stamp, {{ control }}.work_member, {{ control }}.work_time, {{ control }}.work_skip;
    -- What the batch is about, and the rows of {{ stamp.table_name }} that it locks, with their family.
    CREATE TEMPORARY TABLE {{ control }}.work_stamp (
        position bigint NOT NULL DEFAULT 0,
        {%- if stamp.id_type %}
        id {{ stamp.id_type }} NOT NULL,
        {%- endif %}
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT r.{{ stamp.key }} AS id FROM {{ stamp.table }} AS r LIMIT 0;
    CREATE TEMPORARY TABLE {{ control }}.work_member (
        {%- if stamp.id_type %}
        id {{ stamp.id_type }} NOT NULL,
        family {{ stamp.id_type }} NOT NULL,
        {%- endif %}
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT r.{{ stamp.key }} AS id, r.{{ stamp.key }} AS family FROM {{ stamp.table }} AS r LIMIT 0;
    -- The removal time of each, or why it has none.
    CREATE TEMPORARY TABLE {{ control }}.work_time (
        {%- if stamp.id_type %}
        id {{ stamp.id_type }} NOT NULL,
        family {{ stamp.id_type }} NOT NULL,
        {%- endif %}
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
        PRIMARY KEY (id)
    ) ENGINE = InnoDB AS
    SELECT r.{{ stamp.key }} AS id, r.{{ stamp.key }} AS family, r.{{ stamp.end_time }} AS due FROM {{ stamp.table }} AS r LIMIT 0;
    CREATE TEMPORARY TABLE {{ control }}.work_skip (
        position bigint NOT NULL AUTO_INCREMENT,
        skip_key varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (position)
    ) ENGINE = InnoDB;
END;

-- {{ stamp.name }}_stamp_lock: locks the families or instances in work_stamp, and finds their removal time.
--# create procedure {{ control }}.{{ stamp.name }}_stamp_lock
CREATE PROCEDURE {{ control }}.{{ stamp.name }}_stamp_lock(IN p_options longtext, OUT o_families bigint)
SQL SECURITY DEFINER
COMMENT 'Locks, in the caller''s transaction (READ COMMITTED), the rows of {{ stamp.table_name }} of the families in work_stamp, or those of the instances where a stamp is not hierarchical. Fills work_time with the {{ stamp.end_time_name }} that its options say, and work_skip with what has none. {{ stamp.name }}_stamp_step calls it. [body @body@]'
BEGIN
{%- if stamp.by_family %}
    DECLARE v_family  boolean;
{%- endif %}
    DECLARE v_base    longtext;
    DECLARE v_default bigint;
    DECLARE v_to      datetime(6);
    DECLARE v_text    longtext;
{%- if stamp.by_family %}
    CALL {{ control }}.option_of(p_options, 'hierarchical', v_text);
    SET v_family = COALESCE(v_text <> 'false', true);
{%- endif %}
    CALL {{ control }}.option_of(p_options, 'calculated', v_base);
    CALL {{ control }}.option_of(p_options, 'default', v_text);
    CALL {{ control }}.seconds(v_text, v_default);
    CALL {{ control }}.option_of(p_options, 'to', v_text);
    CALL {{ control }}.instant_of(v_text, v_to);
    SET v_to = {{ stamp.to }};
{%- if stamp.of %}

    -- These rows first: no other stamp meets a family that is stamped in part.
{%- else %}

    -- The same lock as that of a purge: no run meets a family that is stamped in part, and no stamp one that is half gone.
{%- endif %}
{%- if stamp.root_column %}
    IF v_family THEN
        INSERT IGNORE INTO {{ control }}.work_member (id, family)
        SELECT r.{{ stamp.key }}, {{ stamp.family_of_root }}
        FROM {{ control }}.work_stamp AS w
        STRAIGHT_JOIN {{ stamp.table }} AS r ON r.{{ stamp.root_column }} = w.id
        ORDER BY r.{{ stamp.key }}
        FOR UPDATE;
    END IF;
{%- endif %}
    INSERT IGNORE INTO {{ control }}.work_member (id, family)
    SELECT r.{{ stamp.key }}, {{ stamp.family_of_root }}
    FROM {{ control }}.work_stamp AS w
    STRAIGHT_JOIN {{ stamp.table }} AS r ON r.{{ stamp.key }} = w.id
    ORDER BY r.{{ stamp.key }}
    FOR UPDATE;

{%- if stamp.definition %}
    -- A calculated time counts from the root of the family, by the time to live of the root's definition in {{ stamp.definition_name }}:
    -- NULL there is the default, less than 0 or more than a hundred years is for ever. What cannot be calculated stays as it is.
{%- else %}
    -- A calculated time counts from the root of the family, by the time to live that the spec has for its {{ stamp.per_name }}: any
    -- other means the default. What cannot be calculated stays as it is.
{%- endif %}
    INSERT INTO {{ control }}.work_time (id, family, due, reason)
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
            w.id, k.family, b.{{ stamp.key }} AS root,
            IF(v_base = 'start', b.{{ stamp.start }}, b.{{ stamp.ended }}) AS base,
            {% if stamp.definition %}CASE WHEN {{ stamp.says }} IS NULL THEN v_default WHEN {{ stamp.ends }} THEN {{ stamp.seconds }} END{% else %}COALESCE({{ stamp.says }}, v_default){% endif %} AS live
        FROM (
            SELECT DISTINCT {% if stamp.root_column %}IF(v_family, m.family, m.id){% else %}m.id{% endif %} AS id, m.family
            FROM {{ control }}.work_member AS m
        ) AS k
        STRAIGHT_JOIN {{ control }}.work_stamp AS w ON w.id = k.id
        LEFT JOIN {{ stamp.table }} AS b ON b.{{ stamp.key }} = k.family
{%- if stamp.definition %}
        LEFT JOIN {{ stamp.definition }} AS d ON d.{{ stamp.definition_key }} = b.{{ stamp.per }}
{%- endif %}
    ) AS c;
    INSERT INTO {{ control }}.work_skip (skip_key, reason)
    SELECT w.id, w.reason
    FROM {{ control }}.work_time AS w
    WHERE w.reason IS NOT NULL
    ORDER BY w.id;
    DELETE FROM {{ control }}.work_time WHERE reason IS NOT NULL;
    SELECT COUNT(*) INTO o_families FROM {{ control }}.work_time AS w;
END;

-- {{ stamp.name }}_stamp_batch: sets the removal times in work_time, in the caller's transaction.
--# create procedure {{ control }}.{{ stamp.name }}_stamp_batch
CREATE PROCEDURE {{ control }}.{{ stamp.name }}_stamp_batch(IN p_options longtext, OUT o_rows longtext)
SQL SECURITY DEFINER
COMMENT 'Sets, in the caller''s transaction (READ COMMITTED), the {{ stamp.end_time_name }} that {{ stamp.name }}_stamp_lock found: of all rows of a family, or of the rows of an instance where the stamp is not hierarchical. {{ stamp.name }}_stamp_step calls it, and rolls back for a dry run. [body @body@]'
BEGIN
{%- if stamp.by_family %}
    DECLARE v_family boolean;
    DECLARE v_text   longtext;
{%- endif %}
    DECLARE v_rows   bigint;
{%- if stamp.by_family %}
    CALL {{ control }}.option_of(p_options, 'hierarchical', v_text);
    SET v_family = COALESCE(v_text <> 'false', true);
{%- endif %}
    SET o_rows = '';
{%- for step in stamp.steps %}

    -- {{ step.table_name }}
    SET v_rows = 0;
{%- for change in step.always %}
    {{ self::change(control=control, stamp=stamp, step=step, change=change) | indent(prefix="    ") }}
{%- endfor %}
{%- if step.whole %}
    IF v_family THEN
{%- for change in step.whole %}
        {{ self::change(control=control, stamp=stamp, step=step, change=change) | indent(prefix="        ") }}
{%- endfor %}
    END IF;
{%- endif %}
{%- if step.own %}
    IF NOT v_family THEN
{%- for change in step.own %}
        {{ self::change(control=control, stamp=stamp, step=step, change=change) | indent(prefix="        ") }}
{%- endfor %}
    END IF;
{%- endif %}
    SET o_rows = CONCAT(o_rows, {% if not loop.first %}', ', {% endif %}v_rows);
{%- endfor %}
    SET o_rows = CONCAT('[', o_rows, ']');
END;

-- {{ stamp.name }}_stamp_step: one batch of a stamp with its progress in the ledger, in one transaction.
-- A batch that fails is rolled back and tried again, then halved down to one family, which is recorded and passed over.
--# create procedure {{ control }}.{{ stamp.name }}_stamp_step
CREATE PROCEDURE {{ control }}.{{ stamp.name }}_stamp_step(IN p_run bigint, OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'One batch of stamp p_run and its progress in the ledger, committed. Answers more, again, or why the stamp should end. stamp() calls it. [body @body@]'
BEGIN
    {{ w::step_variables() }}
    DECLARE v_place     bigint;
    DECLARE v_key       varchar(255);
    DECLARE v_options   longtext;
    DECLARE v_rows      longtext;
    DECLARE v_sum       bigint;
    SET o_state = NULL;

    step: BEGIN
        attempt: BEGIN
            {{ w::before_batch(control=control, rule=stamp, maria=maria, progress="run_stamp", work="stamp_work") }}
            {{ w::waits() }}

            SELECT r.options INTO v_options FROM {{ control }}.run AS r WHERE r.run_id = p_run;
            SELECT COALESCE(JSON_VALUE(v_options, '$.chunk'), 200) INTO v_batch;
            SELECT p.cursor_key INTO v_place FROM {{ control }}.run_stamp AS p WHERE p.run_id = p_run AND p.rule = {{ stamp.literal }};
            INSERT INTO {{ control }}.work_stamp (position, id)
            SELECT t.position, t.id
            FROM {{ control }}.work_todo AS t
            WHERE t.position > v_place
            ORDER BY t.position
            LIMIT v_present;
            SET v_last = ROW_COUNT();
            IF v_last = 0 THEN
                COMMIT;
                SET o_state = 'nothing left';
                LEAVE step;
            END IF;
            SELECT MAX(w.position), MIN(w.id) INTO v_place, v_key FROM {{ control }}.work_stamp AS w;
            CALL {{ control }}.{{ stamp.name }}_stamp_lock(v_options, v_families);
            {{ w::keep_found(pad="            ") }}
            CALL {{ control }}.{{ stamp.name }}_stamp_batch(v_options, v_rows);
            {{ w::take_back(control=control, pad="            ") }}
            CALL {{ control }}.record_skips(p_run, {{ stamp.literal }});
            SET v_sum = {% for step in stamp.steps %}JSON_VALUE(v_rows, '$[{{ loop.index0 }}]'){% if not loop.last %} + {% endif %}{% endfor %};
            UPDATE {{ control }}.run_stamp AS p
            SET p.families = p.families + v_families,
                p.changed_rows = p.changed_rows + v_sum,
                p.table_rows = CONCAT(
                    '[',
{%- for step in stamp.steps %}
                    CAST(JSON_VALUE(p.table_rows, '$[{{ loop.index0 }}]') AS signed) + CAST(JSON_VALUE(v_rows, '$[{{ loop.index0 }}]') AS signed),{% if not loop.last %} ', ',{% endif %}
{%- endfor %}
                    ']'
                ),
                p.batches = p.batches + 1,
                p.retries_in_row = 0,
                p.batch_families = IF(v_halving AND v_last > 1, v_last DIV 2, LEAST(v_present * 2, v_batch)),
                p.halving = v_halving AND v_last > 1,
                p.cursor_key = v_place,
                p.updated_at = UTC_TIMESTAMP(6)
            WHERE p.run_id = p_run
              AND p.rule = {{ stamp.literal }};
            COMMIT;
            SET o_state = 'more';
            LEAVE step;
        END attempt;

        {{ w::after_batch(control=control, rule=stamp, half="v_last DIV 2", progress="run_stamp") }}
        INSERT IGNORE INTO {{ control }}.run_failure (run_id, rule, `key`, errno, `sqlstate`, message)
        VALUES (p_run, {{ stamp.literal }}, v_key, v_errno, v_sqlstate, v_message);
        CALL {{ control }}.{{ stamp.name }}_stamp_work();
        INSERT INTO {{ control }}.work_skip (skip_key, reason)
        VALUES (v_key, IF(v_busy, 'LOCKED', 'FAILED'));
        CALL {{ control }}.record_skips(p_run, {{ stamp.literal }});
        UPDATE {{ control }}.run_stamp AS p
        SET p.batches = p.batches + 1,
            p.retries_in_row = 0,
            p.batch_families = LEAST(v_present * 2, v_batch),
            p.halving = false,
            p.cursor_key = v_place,
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = {{ stamp.literal }};
        COMMIT;
        SET o_state = 'more';
    END step;
END;
{% endfor %}
-- stamp_begin: opens the ledger for a stamp, or says why not.
--# create procedure {{ control }}.stamp_begin
CREATE PROCEDURE {{ control }}.stamp_begin(IN p_options longtext, OUT o_run bigint, OUT o_rule varchar(64), OUT o_refused longtext)
SQL SECURITY DEFINER
COMMENT 'Checks the options of stamp(), takes the lock of the stamps and opens the ledger. o_refused: why there is no stamp. [body @body@]'
BEGIN
    DECLARE v_paused boolean;
    DECLARE v_text   longtext;
{%- if stamps_of %}
    DECLARE v_of     longtext;
{%- endif %}
    DECLARE v_dry    longtext;
    DECLARE v_budget bigint;
    DECLARE v_chunk  bigint DEFAULT 200;
    DECLARE v_pid    bigint;
    DECLARE v_node   varchar(700);
    CALL {{ control }}.server_identity(v_node);
    CALL {{ control }}.check_stamp_options(p_options, o_rule);
    IF @@GLOBAL.log_bin AND @@SESSION.binlog_format = 'STATEMENT' THEN
        CALL {{ control }}.not_ready('binlog_format is STATEMENT: a replica would change other rows', 'set it to ROW or MIXED');
    END IF;
    SELECT c.paused, {{ w::paused() }}
    INTO v_paused, v_text
    FROM {{ control }}.control AS c;
    IF v_paused THEN
        SET o_refused = v_text;
    ELSE
        CALL {{ control }}.rule_paused(o_rule, o_refused);
    END IF;

    -- One stamp at a time. Runs and purges may go on beside it.
    IF o_refused IS NULL THEN
        IF COALESCE(IS_USED_LOCK(CONCAT({{ run_lock }}, '.stamp')), CONNECTION_ID()) = CONNECTION_ID() THEN
            CALL {{ control }}.reap();
        END IF;
        {{ w::elsewhere(control=control, what="stamp", which="r.`trigger` = 'STAMP'") }}
    END IF;
    IF o_refused IS NULL THEN
        IF COALESCE(GET_LOCK(CONCAT({{ run_lock }}, '.stamp'), 0), 0) = 0 THEN
            SET v_pid = IS_USED_LOCK(CONCAT({{ run_lock }}, '.stamp'));
            SELECT CONCAT('stamp ', r.run_id, ' is in progress (pid ', r.backend_pid, ', since ', DATE_FORMAT(r.started_at, '%Y-%m-%dT%TZ'), ')')
            INTO o_refused
            FROM {{ control }}.run AS r
            WHERE r.status = 'running'
              AND r.`trigger` = 'STAMP'
              AND r.backend_pid = v_pid
            ORDER BY r.run_id DESC
            LIMIT 1;
            SET o_refused = COALESCE(o_refused, 'another stamp is starting');
        END IF;
    END IF;
    IF o_refused IS NULL THEN
        CALL {{ control }}.option_of(p_options, 'dry_run', v_dry);
        CALL {{ control }}.option_of(p_options, 'time_budget', v_text);
        CALL {{ control }}.seconds(v_text, v_budget);
        IF v_budget IS NULL THEN
            CALL {{ control }}.setting_of(o_rule, 'time_budget', v_budget);
        END IF;
        CALL {{ control }}.option_of(p_options, 'chunk', v_text);
{%- if stamps_of %}
        CALL {{ control }}.option_of(p_options, 'of', v_of);
{%- endif %}
        INSERT INTO {{ control }}.run (`trigger`, dry_run, options, as_of, deadline, backend_pid, node, started_by)
        VALUES ('STAMP', COALESCE(v_dry = 'true', false), p_options, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL v_budget SECOND, CONNECTION_ID(), v_node, USER());
        SET o_run = LAST_INSERT_ID();
        INSERT INTO {{ control }}.run_stamp (run_id, rule, batch_families, table_rows)
        SELECT o_run, o_rule, COALESCE(v_text, 200), CASE {% if stamps_of %}CONCAT_WS('.', o_rule, v_of){% else %}o_rule{% endif %}
{%- for stamp in stamped %}
            WHEN {{ stamp.whole_name }} THEN '[{{ stamp.zeros }}]'
{%- endfor %}
        END;
{%- if stamps_of %}
        -- What tells the stamp from all others.
        SET o_rule = CONCAT_WS('.', o_rule, v_of);
{%- endif %}
    END IF;
END;

-- stamp_end: closes the ledger of a stamp.
--# create procedure {{ control }}.stamp_end
CREATE PROCEDURE {{ control }}.stamp_end(IN p_run bigint, IN p_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Closes stamp p_run: status and reason. [body @body@]'
BEGIN
    {{ w::close_run(control=control) }}
END;

-- stamp_document, stamp_result: one stamp of the ledger as a document, in the form of run_result().
--# create procedure {{ control }}.stamp_document
CREATE PROCEDURE {{ control }}.stamp_document(IN p_run bigint, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'One stamp of the ledger as a JSON document; NULL if there is no such one. [body @body@]'
BEGIN
    DECLARE v_length   bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_options  longtext;
    DECLARE v_rule     varchar(64);
    DECLARE v_rows     longtext;
    DECLARE v_skips    longtext;
    DECLARE v_failures longtext;
    DECLARE v_tables   longtext;
    DECLARE v_refused  longtext;
    SET SESSION group_concat_max_len = 1048576;
    SELECT
        r.options, {% if stamps_of %}CONCAT_WS('.', p.rule, JSON_VALUE(r.options, '$.of')){% else %}p.rule{% endif %}, p.table_rows,
        CONCAT(
            '{"run": ', r.run_id,
            ', "status": ', {{ w::text(x="r.status") }},
            ', "reason": ', {{ w::text(x="r.reason") }},
            ', "dry_run": ', {{ w::flag(x="r.dry_run") }},
            ', "trigger": ', {{ w::text(x="r.`trigger`") }},
            ', "as_of": ', {{ w::instant(x="r.as_of") }},
            ', "started_at": ', {{ w::instant(x="r.started_at") }},
            ', "finished_at": ', {{ w::instant(x="r.finished_at") }},
            ', "duration_ms": ', {{ w::number(x="ROUND(TIMESTAMPDIFF(MICROSECOND, r.started_at, r.finished_at) / 1000)") }},
            ', "rules": [{"rule": ', JSON_QUOTE(p.rule),
{%- if stamps_of %}
            ', "of": ', {{ w::text(x="JSON_VALUE(r.options, '$.of')") }},
{%- endif %}
            ', "families": ', p.families,
            ', "rows": ', p.changed_rows,
            ', "batches": ', p.batches,
            ', "retries": ', p.retries
        )
    INTO v_options, v_rule, v_rows, o_document
    FROM {{ control }}.run AS r
    JOIN {{ control }}.run_stamp AS p ON p.run_id = r.run_id
    WHERE r.run_id = p_run;
    SELECT CONCAT(
        ', "skipped_families": ', COALESCE(SUM(k.families), 0),
        ', "skipped": {', COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(k.reason), ': ', k.families) ORDER BY k.reason SEPARATOR ', '), ''),
        '}, "skipped_samples": {', COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(k.reason), ': ', k.sample_keys) ORDER BY k.reason SEPARATOR ', '), ''), '}'
    )
    INTO v_skips
    FROM {{ control }}.run_skip AS k
    WHERE k.run_id = p_run;
    SELECT CONCAT('[', COALESCE(GROUP_CONCAT(CONCAT('{"key": ', JSON_QUOTE(x.`key`), ', "sqlstate": ', JSON_QUOTE(x.`sqlstate`), ', "message": ', JSON_QUOTE(x.message), '}') ORDER BY x.failed_at, x.`key` SEPARATOR ', '), ''), ']')
    INTO v_failures
    FROM (
        SELECT f.`key`, f.`sqlstate`, f.message, f.failed_at
        FROM {{ control }}.run_failure AS f
        WHERE f.run_id = p_run
        ORDER BY f.failed_at, f.`key`
        LIMIT 100
    ) AS x;
    SET v_refused = '';
{%- for stamp in stamped %}
    IF v_rule = {{ stamp.whole_name }} THEN
        SET v_tables = CONCAT(
{%- for step in stamp.steps %}
            {% if not loop.first %}', ', {% endif %}JSON_QUOTE({{ step.table_literal }}), ': ', CAST(JSON_VALUE(v_rows, '$[{{ loop.index0 }}]') AS signed){% if not loop.last %},{% endif %}
{%- endfor %}
        );
        -- Keys that no row has.
        IF JSON_CONTAINS_PATH(v_options, 'one', '$.key') THEN
            DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_named;
            CREATE TEMPORARY TABLE {{ control }}.work_named (
                {%- if stamp.id_type %}
                id {{ stamp.id_type }} NOT NULL,
                {%- endif %}
                PRIMARY KEY (id)
            ) ENGINE = InnoDB AS
            SELECT r.{{ stamp.key }} AS id FROM {{ stamp.table }} AS r LIMIT 0;
            INSERT IGNORE INTO {{ control }}.work_named (id)
            SELECT k.id FROM JSON_TABLE(v_options, '$.key[*]' COLUMNS (id varchar(255) PATH '$')) AS k;
            SELECT COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(CAST(n.id AS CHAR)), ': "NOT_A_ROOT"') ORDER BY n.id SEPARATOR ', '), '')
            INTO v_refused
            FROM {{ control }}.work_named AS n
            LEFT JOIN {{ stamp.table }} AS r ON r.{{ stamp.key }} = n.id{% for condition in stamp.conditions %} AND {{ condition }}{% endfor %}
            WHERE r.{{ stamp.key }} IS NULL;
            DROP TEMPORARY TABLE {{ control }}.work_named;
        END IF;
    END IF;
{%- endfor %}
    SET o_document = CONCAT(o_document, ', "tables": {', v_tables, '}', v_skips, ', "failures": ', v_failures, '}], "refused": {', v_refused, '}}');
    SET SESSION group_concat_max_len = v_length;
END;
--# create procedure {{ control }}.stamp_result
CREATE PROCEDURE {{ control }}.stamp_result(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Answers one stamp of the ledger as a JSON document: rows are those that were changed. Example: CALL {{ control }}.stamp_result(1); [body @body@]'
BEGIN
    DECLARE v_document longtext;
    CALL {{ control }}.drop_shadows();
    CALL {{ control }}.stamp_document(p_run, v_document);
    SELECT v_document AS p_result;
END;

-- stamp: batch after batch, each one a transaction.
--# create procedure {{ control }}.stamp
CREATE PROCEDURE {{ control }}.stamp(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Sets removal times anew, in batches that commit; a stamp that was ended is finished by the same call again. What: to, calculated (start or end) with default, or clear. Of which: key, missing or all; of their whole families unless hierarchical is false. {% if stamps_of %}Of what: of, or else of the families of the rule. {% endif %}Further options: rule, chunk, time_budget, dry_run. Example: CALL {{ control }}.stamp(''{"calculated": "end", "missing": true}''); [body @body@]'
BEGIN
    DECLARE v_before   longtext;
    DECLARE v_open     boolean DEFAULT false;
    DECLARE v_run      bigint;
    DECLARE v_rule     varchar(64);
    DECLARE v_refused  longtext;
    DECLARE v_state    varchar(1000);
    DECLARE v_result   longtext;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    {{ w::on_error(control=control, maria=maria, end="stamp_end", lock="CONCAT(" ~ run_lock ~ ", '.stamp')") }}
    CALL {{ control }}.settle(v_before);
    {{ w::begin_run(control=control, call="CALL " ~ control ~ ".stamp_begin(p_options, v_run, v_rule, v_refused);", what="stamp", lock="CONCAT(" ~ run_lock ~ ", '.stamp')") }}
    IF v_run IS NOT NULL THEN
{%- for stamp in stamped %}
        IF v_rule = {{ stamp.whole_name }} THEN
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            START TRANSACTION;
            CALL {{ control }}.{{ stamp.name }}_stamp_open(p_options);
            COMMIT;
            REPEAT
                CALL {{ control }}.{{ stamp.name }}_stamp_step(v_run, v_state);
            UNTIL v_state NOT IN ('more', 'again') END REPEAT;
            CALL {{ control }}.{{ stamp.name }}_stamp_close();
        END IF;
{%- endfor %}
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        CALL {{ control }}.stamp_end(v_run, v_state);
        CALL {{ control }}.stamp_document(v_run, v_result);
        COMMIT;
        DO RELEASE_LOCK(CONCAT({{ run_lock }}, '.stamp'));
    ELSE
        SET v_result = CONCAT('{"run": null, "status": "refused", "reason": ', JSON_QUOTE(v_refused), '}');
    END IF;
    CALL {{ control }}.unsettle(v_before);
    SET v_before = NULL;
    IF v_state = 'cancelled' THEN
        SET v_run = NULL;
        SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317, MESSAGE_TEXT = 'the stamp was cancelled; what it committed stays';
    END IF;
    SELECT v_result AS p_result;
END;
