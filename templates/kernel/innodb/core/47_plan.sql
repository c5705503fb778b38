-- outlook: how much is due by rule, how it is spread over time, and how much becomes due next; for windrow plan.
--# create procedure outlook_document
CREATE PROCEDURE outlook_document(IN p_options longtext, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What outlook() answers, in the caller''s transaction.'
BEGIN
    DECLARE v_now      datetime(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_then     datetime(6);
    DECLARE v_rule     varchar(64);
    DECLARE v_text     longtext;
    DECLARE v_limit    bigint DEFAULT 1000000;
    DECLARE v_parts    bigint DEFAULT 10;
    DECLARE v_seconds  bigint;
    DECLARE v_place    int;
    DECLARE v_at       varchar(64);
    DECLARE v_rules    longtext DEFAULT '';
    DECLARE v_families bigint;
    DECLARE v_complete boolean;
    DECLARE v_list     longtext;
    DECLARE v_soon     bigint;
    CALL check_options(p_options, '["rule", "limit", "parts", "ahead"]');
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.rule') THEN
        CALL check_rule(p_options, v_rule);
    END IF;
    CALL option_of(p_options, 'limit', v_text);
    IF (v_text REGEXP '^[1-9][0-9]{0,17}\\z') IS FALSE THEN
        CALL refuse('limit is not a number above 0', 'write it like {"limit": 1000000}');
    END IF;
    SET v_limit = COALESCE(v_text, v_limit);
    CALL option_of(p_options, 'parts', v_text);
    IF (v_text REGEXP '^[1-9][0-9]{0,3}\\z') IS FALSE THEN
        CALL refuse('parts is not a number above 0', 'write it like {"parts": 10}');
    END IF;
    SET v_parts = COALESCE(v_text, v_parts);
    CALL option_of(p_options, 'ahead', v_text);
    CALL seconds(v_text, v_seconds);
    SET v_then = v_now + INTERVAL COALESCE(v_seconds, 604800) SECOND;
    SELECT MIN(r.position) INTO v_place FROM rule AS r WHERE r.rule = COALESCE(v_rule, r.rule);
    WHILE v_place IS NOT NULL DO
        SELECT r.rule INTO v_at FROM rule AS r WHERE r.position = v_place;
        CALL outlook_of(v_at, v_now, v_then, v_limit, v_parts, v_families, v_complete, v_list, v_soon);
        SET v_rules = CONCAT(
            v_rules, IF(v_rules = '', '', ', '),
            '{"rule": ', JSON_QUOTE(v_at),
            ', "families": ', v_families,
            ', "complete": ', IF(v_complete, 'true', 'false'),
            ', "parts": [', v_list,
            '], "ahead": ', COALESCE(v_soon, 'null'),
            '}'
        );
        SELECT MIN(r.position) INTO v_place FROM rule AS r WHERE r.rule = COALESCE(v_rule, r.rule) AND r.position > v_place;
    END WHILE;
    SET o_document = CONCAT('{"as_of": ',
        COALESCE(CONCAT('"', DATE_FORMAT(v_now, '%Y-%m-%dT%T'), TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM DATE_FORMAT(v_now, '.%f'))),
        '+00:00"'), 'null'), ', "rules": [', v_rules, ']}');
END;
--# create procedure outlook
CREATE PROCEDURE outlook(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'By rule, families that are due, whether or not they may be deleted, counted up to limit; parts: when each of this many equal
    parts of them begins, the oldest first, by the application''s clock; ahead: how many more become due within that time. Reads
    only, at most limit entries of an index three times.
    Example: CALL outlook(''{"limit": 1000000, "parts": 10, "ahead": "7d"}'');'
BEGIN
    DECLARE v_before   longtext;
    DECLARE v_open     boolean DEFAULT false;
    DECLARE v_document longtext;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_open THEN
            ROLLBACK;
        END IF;
        CALL unsettle(v_before);
        RESIGNAL;
    END;
    CALL settle(v_before);
    -- READ COMMITTED: at a higher level the rows copied to the work tables would be locked.
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET v_open = true;
    START TRANSACTION;
    CALL outlook_document(p_options, v_document);
    COMMIT;
    CALL unsettle(v_before);
    SET v_before = NULL;
    SELECT v_document AS p_result;
END;
