-- message_of: an error and what to do about it. A message holds 128 characters: of two that are longer, what to do is kept whole.
--# create procedure message_of
CREATE PROCEDURE message_of(IN p_message longtext, IN p_hint longtext, OUT o_text varchar(128))
SQL SECURITY DEFINER
COMMENT 'A message and a hint in 128 characters.'
BEGIN
    DECLARE v_room int DEFAULT 122 - CHAR_LENGTH(p_hint);
    SET o_text = LEFT(CONCAT_WS('; ', p_message, p_hint), 128);
    IF v_room > 40 AND CHAR_LENGTH(p_message) > v_room + 3 THEN
        SET o_text = CONCAT(LEFT(p_message, v_room), '...; ', p_hint);
    END IF;
END;

-- refuse, refuse_absent, not_ready: an error and what to do about it.
--# create procedure refuse
CREATE PROCEDURE refuse(IN p_message longtext, IN p_hint longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 22023: an option or a value makes no sense.'
BEGIN
    DECLARE v_text varchar(128);
    CALL message_of(p_message, p_hint, v_text);
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = v_text;
END;
--# create procedure refuse_absent
CREATE PROCEDURE refuse_absent(IN p_message longtext, IN p_hint longtext)
SQL SECURITY DEFINER
COMMENT 'Raises WD003: no such row, or no hold of it. The program knows this error by its SQLSTATE.'
BEGIN
    DECLARE v_text varchar(128);
    CALL message_of(p_message, p_hint, v_text);
    SIGNAL SQLSTATE 'WD003' SET MESSAGE_TEXT = v_text;
END;
--# create procedure not_ready
CREATE PROCEDURE not_ready(IN p_message longtext, IN p_hint longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 55000: the installation or the server is not in a state for this.'
BEGIN
    DECLARE v_text varchar(128);
    CALL message_of(p_message, p_hint, v_text);
    -- For who asks whether an error was this one.
    SET @windrow_not_ready = v_text;
    SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = v_text;
END;

-- seconds: '30d', '1d12h', 'P30D', 'PT90M' as seconds. Months and years are not a fixed length.
--# create procedure seconds
CREATE PROCEDURE seconds(IN p_duration longtext, OUT o_seconds bigint)
SQL SECURITY DEFINER
COMMENT 'Seconds of a duration like 30d, 1d12h or P30D; NULL of NULL.'
BEGIN
    DECLARE v_text longtext DEFAULT UPPER(p_duration);
    -- In ISO-8601 an M before the T is a month.
    IF p_duration IS NULL THEN
        SET o_seconds = NULL;
    ELSEIF p_duration NOT REGEXP '^([0-9]+[wdhms])+\\z|^P([0-9]+[WD])*(T([0-9]+[HMS])+)?\\z' OR v_text NOT REGEXP '[0-9]'
        OR v_text NOT REGEXP '^P?([0-9]{1,9}W)?([0-9]{1,9}D)?T?([0-9]{1,9}H)?([0-9]{1,9}M)?([0-9]{1,9}S)?\\z' THEN
        CALL refuse(CONCAT('not a duration: ', QUOTE(p_duration)), 'write it like 30d, 12h, 90m, 45s, 1d12h or P30D');
    END IF;
    IF v_text IS NOT NULL THEN
        SET o_seconds = COALESCE(CAST(NULLIF(REGEXP_SUBSTR(v_text, '[0-9]+(?=W)'), '') AS SIGNED), 0) * 604800
            + COALESCE(CAST(NULLIF(REGEXP_SUBSTR(v_text, '[0-9]+(?=D)'), '') AS SIGNED), 0) * 86400
            + COALESCE(CAST(NULLIF(REGEXP_SUBSTR(v_text, '[0-9]+(?=H)'), '') AS SIGNED), 0) * 3600
            + COALESCE(CAST(NULLIF(REGEXP_SUBSTR(v_text, '[0-9]+(?=M)'), '') AS SIGNED), 0) * 60
            + COALESCE(CAST(NULLIF(REGEXP_SUBSTR(v_text, '[0-9]+(?=S)'), '') AS SIGNED), 0);
    END IF;
    -- A thousand years: beyond, the calendar of datetimes ends, and every run with it.
    IF o_seconds > 31557600000 THEN
        CALL refuse(CONCAT('too long a duration: ', QUOTE(p_duration)), 'the longest one is a thousand years');
    END IF;
END;

-- in_words: a duration as people write it.
--# create procedure in_words
CREATE PROCEDURE in_words(IN p_seconds bigint, OUT o_words varchar(40))
SQL SECURITY DEFINER
COMMENT 'Seconds in words: 7 days.'
BEGIN
    SET o_words = CASE
        WHEN p_seconds >= 86400 AND p_seconds MOD 86400 = 0 THEN CONCAT(p_seconds DIV 86400, ' days')
        WHEN p_seconds >= 3600 AND p_seconds MOD 3600 = 0 THEN CONCAT(p_seconds DIV 3600, ' hours')
        WHEN p_seconds >= 60 AND p_seconds MOD 60 = 0 THEN CONCAT(p_seconds DIV 60, ' minutes')
        ELSE CONCAT(p_seconds, ' seconds')
    END;
END;

-- instant_of: an ISO-8601 text as an instant in UTC. The servers disagree about zones in texts, so the offset is added here.
--# create procedure instant_of
CREATE PROCEDURE instant_of(IN p_text longtext, OUT o_instant datetime(6))
SQL SECURITY DEFINER
COMMENT 'The instant in UTC of a text like 2027-01-01, 2027-01-01T08:30Z or 2027-01-01T08:30:00.5+02:00; NULL if it is none.'
BEGIN
    DECLARE v_local varchar(32);
    DECLARE v_zone varchar(8);
    -- It looks like an instant, but the calendar has none such, or it lies beyond the years from 1 to 9999.
    DECLARE EXIT HANDLER FOR 1292, 1441 SET o_instant = NULL;
    IF p_text REGEXP '^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}([T '
        ']([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)?)?\\z' THEN
        SET v_zone = NULLIF(REGEXP_SUBSTR(SUBSTRING(p_text, 11), '[+-].*'), '');
        SET v_local = REPLACE(TRIM(TRAILING 'Z' FROM TRIM(TRAILING COALESCE(v_zone, 'Z') FROM p_text)), 'T', ' ');
        -- Digits after the microseconds are ignored; the servers would round them differently.
        SET o_instant = CAST(LEFT(v_local, 26) AS datetime(6));
        IF v_zone IS NOT NULL THEN
            SET v_zone = RPAD(REPLACE(v_zone, ':', ''), 5, '0');
            SET o_instant = o_instant - INTERVAL CONCAT(LEFT(v_zone, 1),
                1) * (CAST(SUBSTRING(v_zone, 2, 2) AS SIGNED) * 60 + CAST(SUBSTRING(v_zone, 4, 2) AS SIGNED)) MINUTE;
        END IF;
        IF o_instant < '0001-01-01 00:00:00' THEN
            SET o_instant = NULL;
        END IF;
    END IF;
END;

-- days_before: the instant p_seconds before another, where 86,400 seconds are a day of the calendar: the clock of the zone
-- shows the same time then. A time that the clock showed twice is the first of the two. For one that it never showed, as
-- it was put forward, its distance from UTC before and after gives two instants; the earlier one counts.
--# create procedure days_before
CREATE PROCEDURE days_before(IN p_as_of datetime(6), IN p_seconds bigint, IN p_zone varchar(64), OUT o_instant datetime(6))
SQL SECURITY DEFINER
COMMENT 'The instant p_seconds before p_as_of, both in UTC, with the days of the calendar in p_zone.'
BEGIN
    DECLARE v_clock  datetime(6);
    DECLARE v_before bigint;
    DECLARE v_after  bigint;
    DECLARE v_early  datetime(6);
    DECLARE v_late   datetime(6);
    SET v_clock = CONVERT_TZ(p_as_of - INTERVAL (p_seconds MOD 86400) SECOND, '+00:00', p_zone) - INTERVAL (p_seconds DIV 86400) DAY;
    -- The zone's distance from UTC about a day before and a day after.
    SET v_before = TIMESTAMPDIFF(SECOND, v_clock - INTERVAL 1 DAY, CONVERT_TZ(v_clock - INTERVAL 1 DAY, '+00:00', p_zone));
    SET v_after = TIMESTAMPDIFF(SECOND, v_clock + INTERVAL 1 DAY, CONVERT_TZ(v_clock + INTERVAL 1 DAY, '+00:00', p_zone));
    SET v_early = v_clock - INTERVAL GREATEST(v_before, v_after) SECOND;
    SET v_late = v_clock - INTERVAL LEAST(v_before, v_after) SECOND;
    IF v_clock IS NULL OR v_early IS NULL OR v_late IS NULL THEN
        CALL not_ready(CONCAT('the server does not know the time zone ', p_zone),
            CONCAT('load the zones with ', /*!80000 'mysql_tzinfo_to_sql' */ /*M! 'mariadb-tzinfo-to-sql' */));
    END IF;
    SET o_instant = IF(
        CONVERT_TZ(v_early, '+00:00', p_zone) = v_clock OR CONVERT_TZ(v_late, '+00:00', p_zone) <> v_clock,
        v_early, v_late
    );
END;

-- check_options: an unknown option is an error, and so is a null: whoever had nothing to say has not said "all", nor "do it". Only a
-- setting and the windows are given back to the spec by one.
--# create procedure check_options
CREATE PROCEDURE check_options(IN p_options longtext, IN p_known longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 22023 for what is no JSON object, for an option that is not in the JSON array of known ones, and for a null.'
BEGIN
    DECLARE v_keys longtext;
    DECLARE v_name longtext;
    DECLARE v_value longtext;
    DECLARE v_place int DEFAULT 0;
    IF NOT COALESCE(JSON_VALID(p_options), false) THEN
        CALL refuse('the options are not a JSON object', 'pass ''{}'' for the defaults');
    END IF;
    IF JSON_TYPE(p_options) <> 'OBJECT' THEN
        CALL refuse('the options are not a JSON object', 'pass ''{}'' for the defaults');
    END IF;
    SET v_keys = JSON_KEYS(p_options);
    WHILE v_place < JSON_LENGTH(v_keys) DO
        SET v_name = JSON_EXTRACT(v_keys, CONCAT('$[', v_place, ']'));
        IF NOT JSON_CONTAINS(p_known, v_name) THEN
            CALL refuse(
                CONCAT('unknown option: ', QUOTE(JSON_UNQUOTE(v_name))),
                IF(JSON_LENGTH(p_known) = 0, 'there are none',
                    CONCAT('the options are: ', REPLACE(TRIM(BOTH ']' FROM TRIM(BOTH '[' FROM p_known)), '"', '')))
            );
        END IF;
        SET v_value = JSON_EXTRACT(p_options, CONCAT('$.', v_name));
        SET v_name = JSON_UNQUOTE(v_name);
        IF JSON_CONTAINS(v_value, 'null') AND NOT (v_name IN ('value', 'windows') AND JSON_TYPE(v_value) = 'NULL') THEN
            CALL refuse(CONCAT('null is no value of the option ', v_name), 'leave the option out, or give it a value');
        END IF;
        SET v_place = v_place + 1;
    END WHILE;
END;

-- option_of: an option as a text; NULL where it is left out or null.
--# create procedure option_of
CREATE PROCEDURE option_of(IN p_options longtext, IN p_name varchar(64), OUT o_value longtext)
SQL SECURITY DEFINER
COMMENT 'An option as a text; NULL where it is left out or null.'
BEGIN
    DECLARE v_value longtext DEFAULT JSON_EXTRACT(p_options, CONCAT('$.', p_name));
    IF JSON_TYPE(v_value) <> 'NULL' THEN
        SET o_value = JSON_UNQUOTE(v_value);
    END IF;
END;

-- flag_of: an option that is true or false.
--# create procedure flag_of
CREATE PROCEDURE flag_of(IN p_options longtext, IN p_name varchar(64), OUT o_value boolean)
SQL SECURITY DEFINER
COMMENT 'An option that is true or false; NULL where it is left out or null; raises 22023 for anything else.'
BEGIN
    DECLARE v_text longtext;
    CALL option_of(p_options, p_name, v_text);
    IF v_text NOT IN ('true', 'false') THEN
        CALL refuse(CONCAT(p_name, ' is not true or false: ', QUOTE(v_text)), CONCAT('write {"', p_name, '": true}'));
    END IF;
    SET o_value = v_text = 'true';
END;

-- check_rule: the rule that an option document names, or the only one.
--# create procedure check_rule
CREATE PROCEDURE check_rule(IN p_options longtext, OUT o_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'The rule that the options name; where the spec has one rule it may be left out.'
BEGIN
    DECLARE v_rule  longtext;
    DECLARE v_only  varchar(64);
    DECLARE v_names longtext;
    DECLARE v_count bigint;
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    CALL option_of(p_options, 'rule', v_rule);
    SET SESSION group_concat_max_len = 65536;
    SELECT MAX(r.rule), COUNT(r.rule), GROUP_CONCAT(r.rule ORDER BY r.position SEPARATOR ', ')
    INTO v_only, v_count, v_names
    FROM rule AS r;
    SET SESSION group_concat_max_len = v_length;
    IF v_rule IS NULL AND v_count > 1 THEN
        CALL refuse(CONCAT('the option rule is missing: there are ', v_count, ' rules'), CONCAT('name one of them: ', v_names));
    END IF;
    SET v_rule = COALESCE(v_rule, v_only);
    -- A blank at the end makes another name, too.
    IF NOT EXISTS (SELECT 1 FROM rule AS r WHERE r.rule = v_rule AND CHAR_LENGTH(r.rule) = CHAR_LENGTH(v_rule)) THEN
        CALL refuse(CONCAT('no such rule: ', QUOTE(v_rule)), CONCAT('the rules are: ', v_names));
    END IF;
    SET o_rule = v_rule;
END;

-- key_of: a key as the ledger writes it. One of several columns comes as a JSON array, however it is written.
--# create procedure key_of
CREATE PROCEDURE key_of(IN p_value longtext, OUT o_key longtext)
SQL SECURITY DEFINER
COMMENT 'A key, given as JSON, as a text: the parts of an array between commas and spaces; NULL of null.'
BEGIN
    DECLARE v_part longtext;
    DECLARE v_place int DEFAULT 0;
    IF JSON_TYPE(p_value) = 'ARRAY' THEN
        SET o_key = '';
        WHILE v_place < JSON_LENGTH(p_value) DO
            SET v_part = JSON_EXTRACT(p_value, CONCAT('$[', v_place, ']'));
            SET o_key = CONCAT(o_key, IF(v_place = 0, '', ', '),
                IF(JSON_TYPE(v_part) = 'STRING', JSON_QUOTE(JSON_UNQUOTE(v_part)), v_part));
            SET v_place = v_place + 1;
        END WHILE;
        SET o_key = CONCAT('[', o_key, ']');
    ELSEIF JSON_TYPE(p_value) <> 'NULL' THEN
        SET o_key = JSON_UNQUOTE(p_value);
    END IF;
END;

-- is_value: whether a text is the server's own spelling of a value of some type.
--# create procedure is_value
CREATE PROCEDURE is_value(IN p_text longtext, IN p_type varchar(64), OUT o_valid boolean)
SQL SECURITY DEFINER
COMMENT 'Whether a text is a value of a type, as the server writes it: smallint, int, bigint, each perhaps unsigned, uuid, dashless (a uuid
    with dashes or without), binary (hexadecimal digits), or text.'
BEGIN
    SET o_valid = COALESCE(CHAR_LENGTH(p_text) <= 255 AND CASE
        WHEN p_type REGEXP '^(smallint|int|bigint)' THEN p_text REGEXP '^(0|-?[1-9][0-9]{0,19})\\z'
        WHEN p_type = 'decimal' THEN p_text REGEXP '^(0|-?[1-9][0-9]{0,64})\\z'
        WHEN p_type = 'uuid' THEN p_text REGEXP '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\\z'
        WHEN p_type = 'dashless' THEN p_text REGEXP '^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\\z'
        WHEN p_type = 'binary' THEN BINARY p_text REGEXP '^([0-9A-F]{2})+\\z'
        ELSE p_text REGEXP '^.+\\z'
    END, false);
    -- A number that looks like one may still be beyond the range of its type. Twenty digits and a sign fit a decimal.
    IF o_valid AND p_type REGEXP '^(smallint|int|bigint)' THEN
        SET o_valid = CASE p_type
            WHEN 'smallint' THEN CAST(p_text AS DECIMAL(20)) BETWEEN -32768 AND 32767
            WHEN 'int' THEN CAST(p_text AS DECIMAL(20)) BETWEEN -2147483648 AND 2147483647
            WHEN 'bigint' THEN CAST(p_text AS DECIMAL(20)) BETWEEN -9223372036854775808 AND 9223372036854775807
            WHEN 'smallint unsigned' THEN CAST(p_text AS DECIMAL(20)) BETWEEN 0 AND 65535
            WHEN 'int unsigned' THEN CAST(p_text AS DECIMAL(20)) BETWEEN 0 AND 4294967295
            WHEN 'bigint unsigned' THEN CAST(p_text AS DECIMAL(20)) BETWEEN 0 AND 18446744073709551615
        END;
    END IF;
END;

-- check_scope: a scope is a value of the column by which the rule's policies are set.
--# create procedure check_scope
CREATE PROCEDURE check_scope(IN p_rule varchar(64), IN p_scope longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 22023 for what cannot be a scope of the rule.'
BEGIN
    DECLARE v_valid boolean;
    DECLARE v_name  varchar(64);
    DECLARE v_type  varchar(64);
    DECLARE v_root  varchar(64);
    DECLARE v_rules bigint;
    DECLARE v_schema varchar(64) DEFAULT (SELECT s.schema_name FROM spec AS s);
    SELECT r.root, r.scope_name, r.scope_type INTO v_root, v_name, v_type FROM rule AS r WHERE r.rule = p_rule;
    IF v_name IS NULL THEN
        SELECT COUNT(r.rule) INTO v_rules FROM rule AS r;
        CALL refuse(CONCAT('rule ', p_rule, ' has no scopes'),
            CONCAT('leave the option scope out', IF(v_rules > 1, ', or name another rule', '')));
    END IF;
    CALL is_value(p_scope, v_type, v_valid);
    IF v_valid THEN
        -- What the column has no room for is the scope of no row; a run could not compare the two. The names are variables, since
        -- MariaDB else opens the tables of all databases.
        SELECT COALESCE(
            MIN(CASE
                WHEN c.data_type = 'enum' THEN LOCATE(CONCAT('\'', REPLACE(p_scope, '\'', '\'\''), '\''), c.column_type) > 0
                WHEN c.data_type IN ('binary', 'varbinary') THEN CHAR_LENGTH(p_scope) <= 2 * c.character_maximum_length
                WHEN c.character_maximum_length IS NOT NULL THEN CHAR_LENGTH(p_scope) <= c.character_maximum_length
                WHEN c.numeric_precision IS NULL THEN true
                WHEN c.data_type = 'decimal' THEN CHAR_LENGTH(TRIM(LEADING '-' FROM p_scope)) <= c.numeric_precision
                WHEN c.column_type LIKE '%unsigned%' THEN CAST(p_scope AS DECIMAL(65)) BETWEEN 0 AND ELT(
                    FIELD(c.data_type, 'tinyint', 'smallint', 'mediumint', 'int', 'bigint'),
                    255, 65535, 16777215, 4294967295, 9223372036854775807
                )
                ELSE ABS(CAST(p_scope AS DECIMAL(65)) + 0.5) < ELT(
                    FIELD(c.data_type, 'tinyint', 'smallint', 'mediumint', 'int', 'bigint'),
                    128, 32768, 8388608, 2147483648, 9223372036854775808
                )
            END),
            true
        )
        INTO v_valid
        FROM information_schema.columns AS c
        WHERE c.table_schema = v_schema
          AND c.table_name = v_root
          AND c.column_name = v_name;
    END IF;
    IF NOT v_valid THEN
        CALL refuse(
            CONCAT('not a scope of rule ', p_rule, ': ', QUOTE(p_scope)),
            CONCAT('a scope is a value of ', v_root, '.', v_name, IF(v_type = 'binary', ', as HEX() writes it', ''))
        );
    END IF;
END;

-- check_run_options: the options of run() and preview(), checked before anything happens. Answers the pinned instant.
--# create procedure check_run_options
CREATE PROCEDURE check_run_options(IN p_options longtext, OUT o_as_of datetime(6))
SQL SECURITY DEFINER
COMMENT 'Raises 22023 with a hint for an option that makes no sense; answers the instant from which cutoffs are counted.'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_text longtext;
    DECLARE v_scope longtext;
    DECLARE v_seconds bigint;
    DECLARE v_from datetime(6);
    DECLARE v_place int;
    DECLARE v_at varchar(64);
    DECLARE v_strategy varchar(20);
    DECLARE v_retained boolean;
    DECLARE v_minimum bigint;
    DECLARE v_root varchar(64);
    DECLARE v_time varchar(200);
    DECLARE v_words varchar(40);
    DECLARE v_workers int DEFAULT (SELECT s.workers FROM spec AS s);
    DECLARE v_zone varchar(64);
    SET o_as_of = UTC_TIMESTAMP(6);
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.rule') THEN
        CALL check_rule(p_options, v_rule);
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.as_of') THEN
        CALL option_of(p_options, 'as_of', v_text);
        CALL instant_of(v_text, o_as_of);
        IF o_as_of IS NULL OR o_as_of > UTC_TIMESTAMP(6) THEN
            CALL refuse(CONCAT('as_of is not an instant of the past: ', QUOTE(v_text)),
                CONCAT('write it like ', DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%dT%TZ'), '; without a zone it is UTC'));
        END IF;
    END IF;
    CALL option_of(p_options, 'retention', v_text);
    CALL seconds(v_text, v_seconds);
    CALL option_of(p_options, 'scope', v_scope);
    -- What an option says must do for all rules that the run takes.
    SELECT MIN(r.position) INTO v_place FROM rule AS r WHERE r.rule = COALESCE(v_rule, r.rule);
    WHILE v_place IS NOT NULL DO
        SELECT r.rule, r.strategy, r.retained, r.minimum, r.root, r.time_name
        INTO v_at, v_strategy, v_retained, v_minimum, v_root, v_time
        FROM rule AS r
        WHERE r.position = v_place;
        IF v_strategy = 'removal-time' AND JSON_CONTAINS_PATH(p_options, 'one', '$.retention') THEN
            CALL refuse(CONCAT('rule ', v_at, ' has no retention of its own'),
                CONCAT('leave the option out: ', v_root, '.', v_time, ' holds it'));
        ELSEIF NOT v_retained AND JSON_CONTAINS_PATH(p_options, 'one', '$.retention') THEN
            CALL refuse(CONCAT('rule ', v_at, ' has no retention'), 'leave the option out: its rows are deleted at any age');
        ELSEIF v_seconds < v_minimum THEN
            CALL in_words(v_minimum, v_words);
            CALL refuse(
                CONCAT('a retention of ', v_text, ' is below the minimum of rule ', v_at),
                CONCAT('the minimum is ', v_words, '; it is set in the spec')
            );
        END IF;
        IF v_scope IS NOT NULL THEN
            CALL check_scope(v_at, v_scope);
        END IF;
        IF JSON_CONTAINS_PATH(p_options, 'one', '$.from') AND v_strategy IN ('expiry', 'orphan', 'keep-last') THEN
            CALL refuse(
                CONCAT('rule ', v_at, ' is not ordered by a time'),
                CONCAT('leave the option from out', IF((SELECT COUNT(r.rule) FROM rule AS r) > 1, ', or name another rule', ''))
            );
        END IF;
        SELECT MIN(r.position) INTO v_place FROM rule AS r WHERE r.rule = COALESCE(v_rule, r.rule) AND r.position > v_place;
    END WHILE;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.from') THEN
        CALL option_of(p_options, 'from', v_text);
        CALL instant_of(v_text, v_from);
        -- No zone: the server would refuse it further on, or turn it into that of the session.
        IF v_from IS NULL OR CHAR_LENGTH(v_text) > 26 OR v_text REGEXP ':.*[Z+-]' THEN
            CALL refuse(CONCAT('from is not a time: ', QUOTE(v_text)),
                'write it like 2026-01-31T12:00:00, by the clock of the application');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.run_families') THEN
        CALL option_of(p_options, 'run_families', v_text);
        IF (v_text REGEXP '^[1-9][0-9]{0,17}\\z') IS NOT TRUE THEN
            CALL refuse(CONCAT('run_families is not a number above 0: ', QUOTE(v_text)), 'write it like {"run_families": 100}');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.time_budget') THEN
        CALL option_of(p_options, 'time_budget', v_text);
        CALL seconds(v_text, v_seconds);
        IF COALESCE(v_seconds, 0) <= 0 THEN
            CALL refuse(CONCAT('time_budget is not a duration above 0: ', QUOTE(v_text)), 'write it like {"time_budget": "10m"}');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.dry_run') AND JSON_TYPE(JSON_EXTRACT(p_options, '$.dry_run')) <> 'BOOLEAN' THEN
        CALL refuse(CONCAT('dry_run is not true or false: ', JSON_EXTRACT(p_options, '$.dry_run')), 'write {"dry_run": true}');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.worker') THEN
        CALL option_of(p_options, 'worker', v_text);
        IF (
            JSON_TYPE(JSON_EXTRACT(p_options, '$.worker')) = 'INTEGER'
            AND v_text REGEXP '^[1-9][0-9]?\\z'
            AND CAST(v_text AS SIGNED) <= v_workers
        ) IS NOT TRUE THEN
            CALL refuse(
                CONCAT('worker is not a number from 1 to ', v_workers, ': ', COALESCE(QUOTE(v_text), 'null')),
                'the spec says how many there are'
            );
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.trigger') THEN
        CALL option_of(p_options, 'trigger', v_text);
        IF (v_text IN ('MANUAL', 'SCHEDULED')) IS NOT TRUE THEN
            CALL refuse(CONCAT('trigger is neither MANUAL nor SCHEDULED: ', QUOTE(v_text)), 'leave it out: MANUAL is the default');
        END IF;
    END IF;
    -- The cutoffs are counted in the zone of the application.
    SELECT JSON_VALUE(s.document, '$.named_zone') INTO v_zone FROM spec AS s;
    IF v_zone IS NOT NULL AND CONVERT_TZ('2026-01-01 00:00:00', '+00:00', v_zone) IS NULL THEN
        CALL not_ready(
            CONCAT('the server does not know the time zone ', v_zone),
            CONCAT('load the zones with ', /*!80000 'mysql_tzinfo_to_sql' */ /*M! 'mariadb-tzinfo-to-sql' */)
        );
    END IF;
END;

-- begin_ledger: each transaction that writes to several tables of the ledger has all of them from its beginning. A backup locks one
-- after the other (mysqldump --lock-tables): a transaction that wrote to some, and came to the others, would be in a deadlock with it,
-- and the server ends the transaction then. Nothing is done yet where this happens, so that it begins again behind the backup. No row
-- is read. A server that is read-only takes no such lock, and writes nothing.
--# create procedure begin_ledger
CREATE PROCEDURE begin_ledger()
SQL SECURITY DEFINER
COMMENT 'Begins a transaction, READ COMMITTED, that no lock on tables of the ledger comes in the way of. Waits as the session is told to.'
BEGIN
    DECLARE v_there   bigint;
    DECLARE v_workers int;
    DECLARE v_drops   bigint;
    SELECT s.workers INTO v_workers FROM spec AS s;
    SELECT COUNT(*) INTO v_drops FROM rule AS r WHERE r.strategy = 'partition';
    REPEAT
        taking: BEGIN
            DECLARE EXIT HANDLER FOR 1213
            BEGIN
                ROLLBACK;
                SET v_there = NULL;
            END;
            SET v_there = 0;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            START TRANSACTION;
            IF CAST(@@GLOBAL.read_only AS char) NOT IN ('0', 'OFF') THEN
                LEAVE taking;
            END IF;
            SELECT COUNT(*)
            INTO v_there
            FROM run AS r, run_rule AS p, run_table AS t, run_skip AS k, run_failure AS f, run_pass AS a, run_backlog AS b, run_claim AS c,
                run_sweep AS w, run_stamp AS m, unfinished AS u, artifact AS i, catalog_state AS g, control AS l, tally AS y,
                kept_run AS e, refusal AS n, setting_log AS h, rule_instant AS j
            WHERE false
            FOR UPDATE;
            more: BEGIN
                -- An installation that is under way has not made them yet.
                DECLARE EXIT HANDLER FOR 1146, 1305 BEGIN END;
                IF v_workers > 1 THEN
                    CALL sweep_taken();
                END IF;
                IF v_drops > 0 THEN
                    CALL partitions_taken();
                END IF;
            END more;
        END taking;
    UNTIL v_there IS NOT NULL END REPEAT;
END;
