-- What the previews of rules share.

-- preview_of: what the preview of a rule answers. The spec may ask for more fields, under names of its own.
--# create procedure preview_of
CREATE PROCEDURE preview_of(
    IN  p_rule     varchar(64),
    IN  p_families bigint,
    IN  p_rows     longtext,
    IN  p_oldest   varchar(64),
    IN  p_samples  longtext,
    IN  p_skips    bigint,
    IN  p_skipped  longtext,
    IN  p_keys     longtext,
    IN  p_passes   longtext,
    IN  p_without  bigint,
    IN  p_limit    bigint,
    IN  p_more     boolean,
    IN  p_batches  bigint,
    IN  p_failures bigint,
    IN  p_speed    decimal(30, 6),
    OUT o_document longtext
)
SQL SECURITY DEFINER
COMMENT 'What the preview of a rule answers, as one JSON document: p_rows by table in the order of deletion; p_passes, where rows are taken one by one.'
BEGIN
    DECLARE v_sum    bigint;
    DECLARE v_tables longtext;
    DECLARE v_fields longtext;
    SELECT
        SUM(n.found),
        GROUP_CONCAT(CONCAT(JSON_QUOTE(t.table_name), ': ', n.found) ORDER BY t.position SEPARATOR ', ')
    INTO v_sum, v_tables
    FROM rule_table AS t
    JOIN JSON_TABLE(p_rows, '$[*]' COLUMNS (position FOR ORDINALITY, found bigint PATH '$')) AS n ON n.position = t.position
    WHERE t.rule = p_rule;
    SELECT COALESCE(GROUP_CONCAT(
        CONCAT(', ', JSON_QUOTE(f.name), ': ', COALESCE(CASE f.figure
            WHEN 'families' THEN CAST(p_families AS char)
            WHEN 'table' THEN (
                SELECT CAST(JSON_UNQUOTE(JSON_EXTRACT(p_rows, CONCAT('$[', t.position - 1, ']'))) AS char)
                FROM rule_table AS t
                WHERE t.rule = p_rule
                  AND t.table_name = f.of_table
            )
            WHEN 'oldest_end_time' THEN p_oldest
            WHEN 'sample_roots' THEN p_samples
            WHEN 'skipped' THEN p_skipped
            WHEN 'skipped_families' THEN CAST(p_skips AS char)
            WHEN 'dry_run' THEN 'true'
            WHEN 'artifact_failures' THEN CAST(p_failures AS char)
        END, 'null'))
        ORDER BY f.position SEPARATOR ''
    ), '')
    INTO v_fields
    FROM rule AS k
    JOIN JSON_TABLE(COALESCE(JSON_EXTRACT(k.document, '$.report_preview'), '[]'), '$[*]' COLUMNS (
        position FOR ORDINALITY, name varchar(64) PATH '$.name', figure varchar(40) PATH '$.figure', of_table varchar(64) PATH '$.table'
    )) AS f
    WHERE k.rule = p_rule;
    SELECT CONCAT(
        '{"rule": ', JSON_QUOTE(p_rule),
        ', "root": ', JSON_QUOTE(k.root),
        ', "families": ', p_families,
        ', "rows": ', v_sum,
        ', "tables": {', v_tables,
        '}, "oldest_end_time": ', p_oldest,
        ', "sample_roots": ', p_samples,
        ', "skipped_families": ', p_skips,
        ', "skipped": ', p_skipped,
        ', "skipped_samples": ', p_keys,
        COALESCE(CONCAT(', "passes": [', p_passes, ']'), ''),
        IF(k.opt_in, CONCAT(', "without_policy": ', COALESCE(p_without, 'null')), ''),
        ', "run_families": ', p_limit,
        ', "limited": ', IF(p_more, 'true', 'false'),
        ', "batches": ', p_batches,
        ', "estimated_seconds": ', COALESCE(ROUND(v_sum / p_speed, 1), 'null'), v_fields,
        '}'
    )
    INTO o_document
    FROM rule AS k
    WHERE k.rule = p_rule;
END;

-- step, finish, preview_rule, purge_one: what a run does with a rule, by its strategy.
--# create procedure step
CREATE PROCEDURE step(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'One batch of run p_run and its progress in the ledger, committed. Answers more, again, or why the run should end.'
BEGIN
    IF (SELECT r.strategy FROM rule AS r WHERE r.rule = p_rule) = 'end-time' THEN
        CALL end_time_step(p_run, p_rule, o_state);
    ELSE
        SET @windrow_run = p_run;
        CALL perform(p_rule, 'step', '@windrow_run, @windrow_state');
        SET o_state = @windrow_state;
    END IF;
END;
--# create procedure finish
CREATE PROCEDURE finish(IN p_run bigint, IN p_rule varchar(64), IN p_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'What is to be said of a rule when a run is through with it.'
BEGIN
    IF (SELECT r.strategy FROM rule AS r WHERE r.rule = p_rule) = 'end-time' THEN
        CALL end_time_finish(p_run, p_rule, p_state);
    ELSE
        SET @windrow_run = p_run, @windrow_state = p_state;
        CALL perform(p_rule, 'finish', '@windrow_run, @windrow_state');
    END IF;
END;
--# create procedure preview_rule
CREATE PROCEDURE preview_rule(IN p_rule varchar(64), IN p_options longtext, IN p_as_of datetime(6), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What a run of this rule would delete and skip now, as one JSON document. Reads only.'
BEGIN
    IF (SELECT r.strategy FROM rule AS r WHERE r.rule = p_rule) = 'end-time' THEN
        CALL end_time_preview(p_rule, p_options, p_as_of, o_document);
    ELSE
        SET @windrow_options = p_options, @windrow_as_of = p_as_of;
        CALL perform(p_rule, 'preview', '@windrow_options, @windrow_as_of, @windrow_document');
        SET o_document = @windrow_document;
    END IF;
END;
--# create procedure purge_one
CREATE PROCEDURE purge_one(IN p_run bigint, IN p_rule varchar(64), IN p_key varchar(700), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Deletes one named family or row, and commits. Answers NULL or the reason why it stays.'
BEGIN
    IF (SELECT r.strategy FROM rule AS r WHERE r.rule = p_rule) = 'end-time' THEN
        CALL end_time_purge(p_run, p_rule, p_key, o_reason);
    ELSE
        SET @windrow_run = p_run, @windrow_key = p_key;
        CALL perform(p_rule, 'purge', '@windrow_run, @windrow_key, @windrow_reason');
        SET o_reason = @windrow_reason;
    END IF;
END;
