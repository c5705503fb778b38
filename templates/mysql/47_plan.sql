{% import "macros.sql" as w -%}
{{ w::session() }}

-- outlook: how much is due by rule, how that lies along time, and how much becomes due next. windrow plan asks for it.
--# create procedure {{ control }}.outlook_document
CREATE PROCEDURE {{ control }}.outlook_document(IN p_options longtext, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What outlook() answers, in the caller''s transaction. [body @body@]'
BEGIN
    DECLARE v_now      datetime(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_then     datetime(6);
    DECLARE v_rule     varchar(64);
    DECLARE v_text     longtext;
    DECLARE v_limit    bigint DEFAULT 1000000;
    DECLARE v_parts    bigint DEFAULT 10;
    DECLARE v_seconds  bigint;
    DECLARE v_families bigint;
    DECLARE v_complete boolean;
    DECLARE v_soon     bigint;
    DECLARE v_later    bigint;
    DECLARE v_least    datetime(6);
    DECLARE v_most     datetime(6);
    DECLARE v_list     longtext;
    DECLARE v_rules    longtext DEFAULT '';
    CALL {{ control }}.check_options(p_options, '["rule", "limit", "parts", "ahead"]');
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.rule') THEN
        CALL {{ control }}.check_rule(p_options, v_rule);
    END IF;
    CALL {{ control }}.option_of(p_options, 'limit', v_text);
    IF (v_text REGEXP '^[1-9][0-9]{0,17}\\z') IS FALSE THEN
        CALL {{ control }}.refuse('limit is not a number above 0', 'write it like {"limit": 1000000}');
    END IF;
    SET v_limit = COALESCE(v_text, v_limit);
    CALL {{ control }}.option_of(p_options, 'parts', v_text);
    IF (v_text REGEXP '^[1-9][0-9]{0,3}\\z') IS FALSE THEN
        CALL {{ control }}.refuse('parts is not a number above 0', 'write it like {"parts": 10}');
    END IF;
    SET v_parts = COALESCE(v_text, v_parts);
    CALL {{ control }}.option_of(p_options, 'ahead', v_text);
    CALL {{ control }}.seconds(v_text, v_seconds);
    SET v_then = v_now + INTERVAL COALESCE(v_seconds, 604800) SECOND;
{%- for rule in rules %}
    IF COALESCE(v_rule, {{ rule.literal }}) = {{ rule.literal }} THEN
        SET v_list = '', v_soon = NULL, v_least = NULL;
{%- if rule.single %}
        SELECT n.families, n.complete
        INTO v_families, v_complete
        FROM (
            {{ w::due_now(control=control, rule=rule, limit="v_limit") | indent(prefix="            ") }}
        ) AS n;
{%- elif rule.timed %}
        CALL {{ control }}.{{ rule.name }}_cutoff(v_now, NULL, v_least);
        CALL {{ control }}.{{ rule.name }}_cutoff(v_then, NULL, v_most);
        SELECT IF(COUNT(*) < v_limit, COUNT(*), NULL)
        INTO v_soon
        FROM (
            SELECT t.{{ rule.end_time }}
            FROM {{ rule.table }} AS t
            WHERE t.{{ rule.end_time }} >= v_least
              AND t.{{ rule.end_time }} < v_most
{%- if rule.timed.root_column %}
              AND {{ rule.timed.is_root }}
{%- endif %}
{%- for condition in rule.timed.conditions_of_root %}
              AND {{ condition }}
{%- endfor %}
            LIMIT v_limit
        ) AS s;
        SELECT
            COALESCE(SUM(p.families), 0),
            COALESCE(SUM(p.families), 0) < v_limit,
            COALESCE(GROUP_CONCAT({{ w::part() }} ORDER BY p.part SEPARATOR ', '), '')
        INTO v_families, v_complete, v_list
        FROM (
            SELECT d.part, MIN(d.due) AS since, COUNT(*) AS families
            FROM (
                SELECT o.due, (ROW_NUMBER() OVER (ORDER BY o.due) - 1) * v_parts DIV COUNT(*) OVER () AS part
                FROM (
                    SELECT t.{{ rule.end_time }} AS due
                    FROM {{ rule.table }} AS t
                    WHERE t.{{ rule.end_time }} < v_least
{%- if rule.timed.root_column %}
                      AND {{ rule.timed.is_root }}
{%- endif %}
{%- for condition in rule.timed.conditions_of_root %}
                      AND {{ condition }}
{%- endfor %}
                    ORDER BY t.{{ rule.end_time }}
                    LIMIT v_limit
                ) AS o
            ) AS d
            GROUP BY d.part
        ) AS p;
{%- else %}
        CALL {{ control }}.{{ rule.name }}_open();
        CALL {{ control }}.{{ rule.name }}_work();
        CALL {{ control }}.{{ rule.name }}_scope(v_now, NULL, NULL);
        CALL {{ control }}.{{ rule.name }}_next(v_limit);
        SELECT
            COALESCE(SUM(p.families), 0),
            COALESCE(SUM(p.families), 0) < v_limit,
            COALESCE(GROUP_CONCAT({{ w::part() }} ORDER BY p.part SEPARATOR ', '), '')
        INTO v_families, v_complete, v_list
        FROM (
            SELECT d.part, MIN(d.ended) AS since, COUNT(*) AS families
            FROM (
                SELECT r.ended, (ROW_NUMBER() OVER (ORDER BY r.ended) - 1) * v_parts DIV COUNT(*) OVER () AS part
                FROM {{ control }}.work_root AS r
            ) AS d
            GROUP BY d.part
        ) AS p;
        -- What is younger than the cutoff of now and older than that of then, of whatever scope.
        SELECT MIN(s.cutoff) INTO v_least FROM {{ control }}.work_scope AS s WHERE s.cutoff > {{ rule.least_time }};
        IF v_least IS NULL THEN
            SET v_soon = 0;
        ELSE
            UPDATE {{ control }}.work_cursor SET ended = v_least WHERE only_row = 1;
            CALL {{ control }}.{{ rule.name }}_work();
            CALL {{ control }}.{{ rule.name }}_scope(v_now, NULL, NULL);
            CALL {{ control }}.{{ rule.name }}_next(v_limit);
            SELECT COUNT(*) INTO v_soon FROM {{ control }}.work_root AS r;
            CALL {{ control }}.{{ rule.name }}_work();
            CALL {{ control }}.{{ rule.name }}_scope(v_then, NULL, NULL);
            CALL {{ control }}.{{ rule.name }}_next(v_limit);
            SELECT COUNT(*) INTO v_later FROM {{ control }}.work_root AS r;
            SET v_soon = IF(GREATEST(v_soon, v_later) < v_limit, v_later - v_soon, NULL);
        END IF;
        CALL {{ control }}.{{ rule.name }}_close();
{%- endif %}
        SET v_rules = CONCAT(
            v_rules, IF(v_rules = '', '', ', '),
            '{"rule": ', JSON_QUOTE({{ rule.literal }}),
            ', "families": ', v_families,
            ', "complete": ', IF(v_complete, 'true', 'false'),
            ', "parts": [', v_list,
            '], "ahead": ', COALESCE(v_soon, 'null'),
            '}'
        );
    END IF;
{%- endfor %}
    SET o_document = CONCAT('{"as_of": ', {{ w::instant(x="v_now") }}, ', "rules": [', v_rules, ']}');
END;
--# create procedure {{ control }}.outlook
CREATE PROCEDURE {{ control }}.outlook(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'By rule, families that are due, whether or not they may go, counted up to limit; parts: where each of so many equal parts of them begins, the oldest first, by the clock of the application; ahead: how many more become due within that time. Reads only, at most limit entries of an index three times. Example: CALL {{ control }}.outlook(''{"limit": 1000000, "parts": 10, "ahead": "7d"}''); [body @body@]'
{{ w::answer(control=control, document="outlook_document") }}
