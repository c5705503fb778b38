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

-- kind_of: which text of the kernel serves a rule: that of its strategy, or none, where the rule has routines of its own.
--# create procedure kind_of
CREATE PROCEDURE kind_of(IN p_rule varchar(64), OUT o_kind varchar(20))
SQL SECURITY DEFINER
COMMENT 'Which text of the kernel serves p_rule: end-time, timed, or none.'
BEGIN
    SELECT CASE
        WHEN r.strategy = 'end-time' THEN 'end-time'
        WHEN JSON_CONTAINS(r.document, 'true', '$.plain') THEN 'timed'
        ELSE 'none'
    END
    INTO o_kind
    FROM rule AS r
    WHERE r.rule = p_rule;
END;

-- open_rule, step, finish, close_rule, preview_rule, purge_one, due_of, outlook_of, checks_of: what a run, a purge, the metrics, the
-- plan and verify() do with a rule, by its strategy.
--# create procedure open_rule
CREATE PROCEDURE open_rule(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Makes the work tables that outlive a batch.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'timed' THEN
        CALL timed_open(p_rule);
    ELSE
        CALL perform(p_rule, 'open', '');
    END IF;
END;
--# create procedure step
CREATE PROCEDURE step(IN p_run bigint, IN p_rule varchar(64), OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'One batch of run p_run and its progress in the ledger, committed. Answers more, again, or why the run should end.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL end_time_step(p_run, p_rule, o_state);
    ELSEIF v_kind = 'timed' THEN
        CALL timed_step(p_run, p_rule, o_state);
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
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL end_time_finish(p_run, p_rule, p_state);
    ELSEIF v_kind = 'timed' THEN
        CALL timed_finish(p_run, p_rule, p_state);
    ELSE
        SET @windrow_run = p_run, @windrow_state = p_state;
        CALL perform(p_rule, 'finish', '@windrow_run, @windrow_state');
    END IF;
END;
--# create procedure close_rule
CREATE PROCEDURE close_rule(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Drops the work tables.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'timed' THEN
        CALL timed_close();
    ELSE
        CALL perform(p_rule, 'close', '');
    END IF;
END;
--# create procedure preview_rule
CREATE PROCEDURE preview_rule(IN p_rule varchar(64), IN p_options longtext, IN p_as_of datetime(6), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What a run of this rule would delete and skip now, as one JSON document. Reads only.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL end_time_preview(p_rule, p_options, p_as_of, o_document);
    ELSEIF v_kind = 'timed' THEN
        CALL timed_preview(p_rule, p_options, p_as_of, o_document);
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
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'end-time' THEN
        CALL end_time_purge(p_run, p_rule, p_key, o_reason);
    ELSEIF v_kind = 'timed' THEN
        CALL timed_purge(p_run, p_rule, p_key, o_reason);
    ELSE
        SET @windrow_run = p_run, @windrow_key = p_key;
        CALL perform(p_rule, 'purge', '@windrow_run, @windrow_key, @windrow_reason');
        SET o_reason = @windrow_reason;
    END IF;
END;
--# create procedure due_of
CREATE PROCEDURE due_of(IN p_rule varchar(64), IN p_limit bigint, OUT o_families bigint, OUT o_complete boolean)
SQL SECURITY DEFINER
COMMENT 'How much is due now, counted up to p_limit, and whether that is all. Reads only.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'timed' THEN
        CALL timed_due(p_rule, p_limit, o_families, o_complete);
    ELSE
        SET @windrow_limit = p_limit;
        CALL perform(p_rule, 'due', '@windrow_limit, @windrow_families, @windrow_complete');
        SET o_families = @windrow_families, o_complete = @windrow_complete;
    END IF;
END;
--# create procedure outlook_of
CREATE PROCEDURE outlook_of(
    IN  p_rule     varchar(64),
    IN  p_now      datetime(6),
    IN  p_then     datetime(6),
    IN  p_limit    bigint,
    IN  p_parts    bigint,
    OUT o_families bigint,
    OUT o_complete boolean,
    OUT o_list     longtext,
    OUT o_soon     bigint
)
SQL SECURITY DEFINER
COMMENT 'What is due at p_now, counted up to p_limit, where each of p_parts equal parts of it begins, and how much more is due at p_then.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'timed' THEN
        CALL timed_outlook(p_rule, p_now, p_then, p_limit, p_parts, o_families, o_complete, o_list, o_soon);
    ELSE
        SET @windrow_now = p_now, @windrow_then = p_then, @windrow_limit = p_limit, @windrow_parts = p_parts;
        CALL perform(
            p_rule, 'outlook',
            '@windrow_now, @windrow_then, @windrow_limit, @windrow_parts, @windrow_families, @windrow_complete, @windrow_list, @windrow_soon'
        );
        SET o_families = @windrow_families, o_complete = @windrow_complete, o_list = @windrow_list, o_soon = @windrow_soon;
    END IF;
END;
--# create procedure checks_of
CREATE PROCEDURE checks_of(IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Writes to work_check what is odd in the rows of a rule.'
BEGIN
    DECLARE v_kind varchar(20);
    CALL kind_of(p_rule, v_kind);
    IF v_kind = 'timed' THEN
        CALL timed_checks(p_rule);
    ELSE
        CALL perform(p_rule, 'checks', '');
    END IF;
END;
