-- What the metrics count, as far as it stands in the ledger. What names tables of the application is the spec's: how much is
-- due by rule, and the views upon it.

-- count_backlog: what a run left of its rules, and what became due and went since the first count of the last seven days.
--# create procedure count_backlog
CREATE PROCEDURE count_backlog(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Counts what is due, up to 1,000,000 families for each rule of run p_run, into table run_backlog; run() calls it at its end.'
BEGIN
    DECLARE v_place    int;
    DECLARE v_rule     varchar(64);
    DECLARE v_families bigint;
    DECLARE v_complete boolean;
    DECLARE v_rows     double;
    DECLARE v_first    bigint;
    DECLARE v_before   bigint;
    DECLARE v_hours    double;
    DECLARE v_gone     double;
    SELECT MIN(k.position) INTO v_place FROM rule AS k JOIN run_rule AS p ON p.run_id = p_run AND p.rule = k.rule;
    WHILE v_place IS NOT NULL DO
        SELECT k.rule INTO v_rule FROM rule AS k WHERE k.position = v_place;
        CALL due_of(v_rule, 1000000, v_families, v_complete);
        SELECT SUM(l.deleted_rows) / SUM(l.families)
        INTO v_rows
        FROM (
            SELECT p.deleted_rows, p.families
            FROM run_rule AS p
            WHERE p.rule = v_rule
              AND p.families > 0
              AND p.run_id > p_run - 1000
            ORDER BY p.run_id DESC
            LIMIT 5
        ) AS l;
        SELECT MIN(b.run_id)
        INTO v_first
        FROM run_backlog AS b
        WHERE b.rule = v_rule
          AND b.counted_at BETWEEN UTC_TIMESTAMP(6) - INTERVAL 7 DAY AND UTC_TIMESTAMP(6) - INTERVAL 1 SECOND;
        SET v_before = (SELECT b.families FROM run_backlog AS b WHERE b.rule = v_rule AND b.run_id = v_first),
            v_hours = (
                SELECT TIMESTAMPDIFF(MICROSECOND, b.counted_at, UTC_TIMESTAMP(6)) / 3.6e9
                FROM run_backlog AS b
                WHERE b.rule = v_rule
                  AND b.run_id = v_first
            );
        IF GREATEST(v_families, v_before) >= 1000000 THEN
            SET v_hours = NULL;
        END IF;
        SELECT COALESCE(SUM(p.families), 0)
        INTO v_gone
        FROM run_rule AS p
        JOIN run AS r ON r.run_id = p.run_id
        WHERE p.rule = v_rule
          AND p.run_id > v_first
          AND NOT r.dry_run;
        INSERT IGNORE INTO run_backlog (rule, run_id, families, rows_per_family, due_per_hour, deleted_per_hour)
        VALUES (v_rule, p_run, v_families, v_rows, GREATEST(v_families - v_before + v_gone, 0) / v_hours, v_gone / v_hours);
        SELECT MIN(k.position) INTO v_place FROM rule AS k JOIN run_rule AS p ON p.run_id = p_run AND p.rule = k.rule
            WHERE k.position > v_place;
    END WHILE;
END;

-- last_look: by rule, the last run that looked at what is due: not one for a single scope or another instant.
--# create view last_look
CREATE OR REPLACE SQL SECURITY INVOKER VIEW last_look (rule, run_id) AS
SELECT k.rule, (
    SELECT r.run_id
    FROM run AS r
    JOIN run_rule AS p ON p.run_id = r.run_id AND p.rule = k.rule
    WHERE r.finished_at IS NOT NULL
      AND r.`trigger` NOT IN ('PURGE', 'STAMP')
      AND NOT JSON_CONTAINS_PATH(r.options, 'one', '$.scope', '$.retention', '$.as_of')
      AND (p.batches > 0 OR r.status = 'done')
      AND r.run_id > (SELECT MAX(l.run_id) FROM run AS l) - 1000
    ORDER BY r.run_id DESC
    LIMIT 1
)
FROM rule AS k;

-- left_behind: what that run left, and why, with the first root that it came upon. Workers look together.
--# create view left_behind
CREATE OR REPLACE SQL SECURITY INVOKER VIEW left_behind (rule, reason, families, `key`, run_id) AS
SELECT s.rule, s.reason, CAST(SUM(s.families) AS signed), JSON_UNQUOTE(JSON_EXTRACT(MIN(s.sample_keys), '$[0]')), l.run_id
FROM last_look AS l
LEFT JOIN run_sweep AS w ON w.run_id = l.run_id
LEFT JOIN run_sweep AS o ON o.sweep_id = w.sweep_id
JOIN run_skip AS s ON s.run_id = COALESCE(o.run_id, l.run_id) AND s.rule = l.rule
GROUP BY s.rule, s.reason, l.run_id;

-- run_count: what each run adds to the counters of the metrics; dry runs add nothing.
--# create view run_count
CREATE OR REPLACE SQL SECURITY INVOKER VIEW run_count (run_id, name, labels, value) AS
SELECT r.run_id, 'windrow_runs_total', CAST(JSON_OBJECT('status', r.status, 'trigger', r.`trigger`) AS CHAR), 1
FROM run AS r
WHERE r.status <> 'running'
  AND NOT r.dry_run
UNION ALL
SELECT p.run_id, 'windrow_deleted_families_total', CAST(JSON_OBJECT('rule', p.rule) AS CHAR), p.families
FROM run_rule AS p
JOIN run AS r ON r.run_id = p.run_id AND NOT r.dry_run
UNION ALL
SELECT t.run_id, 'windrow_deleted_rows_total', CAST(JSON_OBJECT('rule', t.rule, 'table', t.table_name) AS CHAR), t.deleted_rows
FROM run_table AS t
JOIN run AS r ON r.run_id = t.run_id AND NOT r.dry_run
UNION ALL
SELECT p.run_id, 'windrow_retries_total', CAST(JSON_OBJECT('rule', p.rule) AS CHAR), p.retries
FROM run_rule AS p
JOIN run AS r ON r.run_id = p.run_id AND NOT r.dry_run;

-- tally_up: adds up the runs that ended an hour ago and before, so that a scrape reads the later ones only, and a run that
-- is pruned still counts.
--# create procedure tally_up
CREATE PROCEDURE tally_up()
SQL SECURITY DEFINER
COMMENT 'Adds the runs that ended more than an hour ago to table tally; the end of a run calls it before it prunes the ledger.'
BEGIN
    DECLARE v_from bigint;
    DECLARE v_to   bigint;
    -- One at a time.
    SELECT t.value INTO v_from FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}' FOR UPDATE;
    -- The hour is for a run whose row is not committed yet, though a later one has ended.
    SELECT COALESCE(MIN(IF(r.finished_at IS NULL OR r.finished_at > UTC_TIMESTAMP(6) - INTERVAL 1 HOUR, r.run_id, NULL)) - 1, MAX(r.run_id))
    INTO v_to
    FROM run AS r
    WHERE r.run_id > v_from;
    IF v_to > v_from THEN
        INSERT INTO tally (name, labels, value)
        SELECT n.name, n.labels, n.value
        FROM (
            SELECT c.name, c.labels, SUM(c.value) AS value
            FROM run_count AS c
            WHERE c.run_id > v_from
              AND c.run_id <= v_to
            GROUP BY c.name, c.labels
        ) AS n
        ON DUPLICATE KEY UPDATE
            value = tally.value + n.value;
        UPDATE tally AS t
        SET t.value = v_to
        WHERE t.name = 'up to run'
          AND t.labels = '{}';
    END IF;
END;
