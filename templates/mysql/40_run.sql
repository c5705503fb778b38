{% import "macros.sql" as w -%}

{#- The name of the lock that the session of row r holds. -#}
{% macro lock_of(run_lock, q, stamps, workers) -%}
{% if workers > 1 -%}
CASE r.{{ q }}trigger{{ q }} WHEN 'PURGE' THEN CONCAT({{ run_lock }}, '.', r.run_id){% if stamps > 0 %} WHEN 'STAMP' THEN CONCAT({{ run_lock }}, '.stamp'){% endif %} ELSE {{ w::worker_lock(run_lock=run_lock, options="r.options") }} END
{%- elif stamps > 0 -%}
CASE r.{{ q }}trigger{{ q }} WHEN 'PURGE' THEN CONCAT({{ run_lock }}, '.', r.run_id) WHEN 'STAMP' THEN CONCAT({{ run_lock }}, '.stamp') ELSE {{ run_lock }} END
{%- else -%}
IF(r.{{ q }}trigger{{ q }} = 'PURGE', CONCAT({{ run_lock }}, '.', r.run_id), {{ run_lock }})
{%- endif %}
{%- endmacro lock_of -%}
{{ w::session() }}

-- settle, unsettle: what the caller's session may have set and a run must not meet: chained transactions, foreign keys
-- that are not checked, deletions that are taken for a slip of the keyboard, short texts, waits of minutes.
--# create procedure {{ control }}.settle
CREATE PROCEDURE {{ control }}.settle(OUT o_before longtext)
SQL SECURITY DEFINER
COMMENT 'Sets the variables of the session that a run depends on, and answers what they were. [body @body@]'
BEGIN
    SET o_before = CONCAT_WS(',',
        IF(@@SESSION.completion_type IN ('CHAIN', '1'), 1, IF(@@SESSION.completion_type IN ('RELEASE', '2'), 2, 0)),
        IF(@@SESSION.foreign_key_checks, 1, 0),
        IF(@@SESSION.sql_safe_updates, 1, 0),
        IF(@@SESSION.sql_big_selects, 1, 0),
        @@SESSION.group_concat_max_len,
        @@SESSION.innodb_lock_wait_timeout,
        @@SESSION.lock_wait_timeout,
        @@SESSION.max_seeks_for_key,
{%- if maria %}
        @@SESSION.join_cache_level,
{%- else %}
        IF(FIND_IN_SET('block_nested_loop=on', @@SESSION.optimizer_switch), 1, 0),
{%- endif %}
        @@SESSION.time_zone
    );
    CALL {{ control }}.drop_shadows();
    -- The clock of the server, not one that the caller has put forward to make young families due. It is not put back.
    SET SESSION timestamp = DEFAULT;
    SET SESSION completion_type = 0;
    SET SESSION foreign_key_checks = 1;
    SET SESSION sql_safe_updates = 0;
    SET SESSION sql_big_selects = 1;
    SET SESSION group_concat_max_len = 67108864;
    -- A table that is scanned waits for every row that somebody holds: an index is always better here, however few the rows.
    SET SESSION max_seeks_for_key = 1;
{%- if maria %}
    SET SESSION join_cache_level = 0;
{%- else %}
    SET SESSION optimizer_switch = 'block_nested_loop=off';
{%- endif %}
    SET SESSION time_zone = '+00:00';
END;
--# create procedure {{ control }}.unsettle
CREATE PROCEDURE {{ control }}.unsettle(IN p_before longtext)
SQL SECURITY DEFINER
COMMENT 'Gives the session back what settle() answered. [body @body@]'
BEGIN
    IF p_before IS NOT NULL THEN
        SET SESSION completion_type = CAST(SUBSTRING_INDEX(p_before, ',', 1) AS unsigned);
        SET SESSION foreign_key_checks = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 2), ',', -1) AS unsigned);
        SET SESSION sql_safe_updates = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 3), ',', -1) AS unsigned);
        SET SESSION sql_big_selects = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 4), ',', -1) AS unsigned);
        SET SESSION group_concat_max_len = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 5), ',', -1) AS unsigned);
        SET SESSION innodb_lock_wait_timeout = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 6), ',', -1) AS unsigned);
        SET SESSION lock_wait_timeout = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 7), ',', -1) AS unsigned);
        SET SESSION max_seeks_for_key = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 8), ',', -1) AS unsigned);
{%- if maria %}
        SET SESSION join_cache_level = CAST(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 9), ',', -1) AS unsigned);
{%- else %}
        SET SESSION optimizer_switch = IF(SUBSTRING_INDEX(SUBSTRING_INDEX(p_before, ',', 9), ',', -1) = '1', 'block_nested_loop=on', 'block_nested_loop=off');
{%- endif %}
        SET SESSION time_zone = SUBSTRING_INDEX(p_before, ',', -1);
    END IF;
END;

-- record_rows: adds the rows that a batch deleted to the ledger.
--# create procedure {{ control }}.record_rows
CREATE PROCEDURE {{ control }}.record_rows(IN p_run bigint, IN p_rule varchar(64), IN p_rows longtext)
SQL SECURITY DEFINER
COMMENT 'Adds p_rows, a JSON list in the order of deletion, to tables run_table and run_rule. [body @body@]'
BEGIN
    UPDATE {{ control }}.run_table AS t
    SET t.deleted_rows = t.deleted_rows + CAST(JSON_UNQUOTE(JSON_EXTRACT(p_rows, CONCAT('$[', t.position - 1, ']'))) AS signed)
    WHERE t.run_id = p_run
      AND t.rule = p_rule;
    UPDATE {{ control }}.run_rule AS p
    SET p.deleted_rows = (
        SELECT SUM(t.deleted_rows)
        FROM {{ control }}.run_table AS t
        WHERE t.run_id = p_run
          AND t.rule = p_rule
    )
    WHERE p.run_id = p_run
      AND p.rule = p_rule;
END;

-- run_open: the progress rows of a run.
--# create procedure {{ control }}.run_open
CREATE PROCEDURE {{ control }}.run_open(IN p_run bigint, IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Opens the progress rows of run p_run, for one rule or all, and notes what the catalog says. [body @body@]'
BEGIN
    DECLARE v_batch bigint;
    CALL {{ control }}.note_catalog(p_run);
{%- for rule in rules %}
    IF COALESCE(p_rule, {{ rule.literal }}) = {{ rule.literal }} THEN
        CALL {{ control }}.setting_of({{ rule.literal }}, '{{ rule.batch_setting }}', v_batch);
        INSERT INTO {{ control }}.run_rule (run_id, rule, batch_families)
        VALUES (p_run, {{ rule.literal }}, v_batch);
        INSERT INTO {{ control }}.run_table (run_id, rule, position, table_name)
        VALUES
{%- for step in rule.steps %}
            (p_run, {{ rule.literal }}, {{ step.position }}, {{ step.table_literal }}){% if not loop.last %},{% else %};{% endif %}
{%- endfor %}
    END IF;
{%- endfor %}
END;

-- reap: closes the runs of the ledger that say running, though their call is over: its session vanished, or it is this
-- very session, whose statement was killed. What they committed stays. Sessions and their locks are known to their own
-- server only: a run of another one, in a cluster, has crashed when it gave no sign of life for an hour. Each batch gives one.
--# create procedure {{ control }}.reap
CREATE PROCEDURE {{ control }}.reap()
SQL SECURITY DEFINER
COMMENT 'Closes the runs of the ledger whose call is over, which the next run does too. After KILL QUERY first ROLLBACK in the session of the run. Example: CALL {{ control }}.reap(); [body @body@]'
BEGIN
    DECLARE v_torn bigint;
    DECLARE v_run  bigint;
    DECLARE v_last bigint DEFAULT 0;
    DECLARE v_node varchar(700);
    CALL {{ control }}.drop_shadows();
    CALL {{ control }}.server_identity(v_node);
    -- One by one: whoever reads them all to change some waits for those that live.
    closing: LOOP
        SELECT MIN(r.run_id)
        INTO v_run
        FROM {{ control }}.run AS r
        WHERE r.run_id > v_last
          AND r.status = 'running'
          AND IF(
              COALESCE(r.node, v_node) = v_node,
              COALESCE(IS_USED_LOCK({{ self::lock_of(run_lock=run_lock, q=q, stamps=stamps, workers=workers) }}), CONNECTION_ID()) = CONNECTION_ID(),
              r.alive_at < UTC_TIMESTAMP(6) - INTERVAL 1 HOUR
          );
        IF v_run IS NULL THEN
            LEAVE closing;
        END IF;
        UPDATE {{ control }}.run AS r
        SET r.status = IF(COALESCE(r.node, v_node) = v_node AND IS_USED_LOCK({{ self::lock_of(run_lock=run_lock, q=q, stamps=stamps, workers=workers) }}) = r.backend_pid, 'cancelled', 'crashed'),
            r.reason = CASE
                WHEN r.status = 'cancelled' THEN 'cancelled'
                WHEN r.node <> v_node THEN 'no sign of life from its server for an hour; what it committed stays'
                ELSE 'its session vanished; what it committed stays'
            END,
            r.finished_at = {% if stamps > 0 %}COALESCE(
                (SELECT MAX(p.updated_at) FROM {{ control }}.run_rule AS p WHERE p.run_id = r.run_id),
                (SELECT MAX(p.updated_at) FROM {{ control }}.run_stamp AS p WHERE p.run_id = r.run_id)
            ){% else %}(SELECT MAX(p.updated_at) FROM {{ control }}.run_rule AS p WHERE p.run_id = r.run_id){% endif %}
        WHERE r.run_id = v_run
          AND r.status = 'running';
        SET v_last = v_run;
    END LOOP closing;
    -- A session that kept the transaction of its killed run, and committed it: the ledger cannot tell what it deleted last.
    SELECT COUNT(*) INTO v_torn FROM {{ control }}.unfinished AS u;
    IF v_torn > 0 THEN
        UPDATE {{ control }}.unfinished AS u
        STRAIGHT_JOIN {{ control }}.run AS r ON r.run_id = u.run_id
        SET r.reason = 'killed inside a batch, which its session committed: part of it is gone without an entry here, and the next run finishes it'
        WHERE r.status <> 'running';
        UPDATE {{ control }}.unfinished AS u
        STRAIGHT_JOIN {{ control }}.run_rule AS p ON p.run_id = u.run_id AND p.rule = u.rule
        SET p.deleted_rows = (SELECT SUM(t.deleted_rows) FROM {{ control }}.run_table AS t WHERE t.run_id = p.run_id AND t.rule = p.rule);
    END IF;
    WHILE IS_USED_LOCK({{ run_lock }}) = CONNECTION_ID() DO
        DO RELEASE_LOCK({{ run_lock }});
    END WHILE;
{%- for worker in further_workers %}
    WHILE IS_USED_LOCK(CONCAT({{ run_lock }}, '.w{{ worker }}')) = CONNECTION_ID() DO
        DO RELEASE_LOCK(CONCAT({{ run_lock }}, '.w{{ worker }}'));
    END WHILE;
{%- endfor %}
{%- if stamps > 0 %}
    WHILE IS_USED_LOCK(CONCAT({{ run_lock }}, '.stamp')) = CONNECTION_ID() DO
        DO RELEASE_LOCK(CONCAT({{ run_lock }}, '.stamp'));
    END WHILE;
{%- endif %}
END;

-- open_hours: when scheduled runs may work.
--# create view {{ control }}.open_hours
CREATE OR REPLACE DEFINER = {{ owner }} SQL SECURITY INVOKER VIEW {{ control }}.open_hours (position, written, days, begins, ends, zone, changed_by, changed_at) AS
SELECT o.position, o.written, o.days, o.begins, o.ends, o.zone, o.changed_by, o.changed_at
FROM {{ control }}.run_window AS o
{%- for window in windows %}
UNION ALL
SELECT {{ loop.index }}, {{ window.written }}, {{ window.days }}, TIME {{ window.begins }}, TIME {{ window.ends }}, {{ window.zone }}, NULL, NULL
FROM {{ control }}.control AS c
WHERE NOT EXISTS (SELECT 1 FROM {{ control }}.run_window)
{%- endfor %};

-- window_at, in_window: whether a window is open at an instant in UTC. The clock of its zone decides: what it shows twice, as it is
-- put back, is in the window both times, and what it leaves out is in none.
--# create procedure {{ control }}.window_at
CREATE PROCEDURE {{ control }}.window_at(IN p_at datetime(6), OUT o_open boolean)
SQL SECURITY DEFINER
COMMENT 'What in_window() answers. Start inclusive, end exclusive, on the clock of each window''s zone. [body @body@]'
BEGIN
    DECLARE v_unknown varchar(64);
    SELECT
        MAX(IF(it.clock IS NULL, it.zone, NULL)),
        {{ w::is_open() | indent(prefix="        ") }}
    INTO v_unknown, o_open
    FROM {{ w::clocks(control=control, at="p_at") }};
    IF v_unknown IS NOT NULL THEN
        CALL {{ control }}.not_ready(CONCAT('the server does not know the time zone ', v_unknown), 'load the zones with {% if maria %}mariadb-tzinfo-to-sql{% else %}mysql_tzinfo_to_sql{% endif %}');
    END IF;
END;
--# create procedure {{ control }}.in_window
CREATE PROCEDURE {{ control }}.in_window(IN p_at datetime(6), OUT o_open boolean)
SQL SECURITY DEFINER
COMMENT 'Whether scheduled runs may work at an instant in UTC, by open_hours. Start inclusive, end exclusive, on the clock of each window''s zone. [body @body@]'
BEGIN
    CALL {{ control }}.drop_shadows();
    CALL {{ control }}.window_at(p_at, o_open);
END;

-- window_state: what a batch makes of the windows.
--# create procedure {{ control }}.window_state
CREATE PROCEDURE {{ control }}.window_state(IN p_run bigint, OUT o_state varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Answers "window closed" where run p_run is a scheduled one and no window is open, else NULL. [body @body@]'
BEGIN
    DECLARE v_trigger varchar(20);
    DECLARE v_open boolean;
    SET o_state = NULL;
    SELECT r.{{ q }}trigger{{ q }} INTO v_trigger FROM {{ control }}.run AS r WHERE r.run_id = p_run;
    IF v_trigger = 'SCHEDULED' THEN
        CALL {{ control }}.window_at(UTC_TIMESTAMP(6), v_open);
        IF NOT v_open THEN
            SET o_state = 'window closed';
        END IF;
    END IF;
END;

-- run_begin: takes the lock and opens the ledger, or says why not.
-- The lock belongs to the session: it outlives COMMIT and ends with the session at the latest. Who gets it knows that no
-- other run lives. A statement that was killed may have left it to this very session.
--# create procedure {{ control }}.run_begin
CREATE PROCEDURE {{ control }}.run_begin(IN p_options longtext, OUT o_run bigint, OUT o_refused longtext)
SQL SECURITY DEFINER
COMMENT 'Checks the options, takes the lock of the runs and opens the ledger. o_refused: why there is no run. [body @body@]'
BEGIN
    DECLARE v_as_of    datetime(6);
    DECLARE v_dry_run  boolean;
    DECLARE v_armed    boolean;
    DECLARE v_text     longtext;
    DECLARE v_rule     longtext;
    DECLARE v_trigger  longtext;
    DECLARE v_armed_on varchar(700);
    DECLARE v_identity varchar(700);
    DECLARE v_budget   bigint;
    DECLARE v_pid      bigint;
    DECLARE v_stranger longtext;
    DECLARE v_noted    boolean DEFAULT false;
    DECLARE v_node     varchar(700);
{%- if workers > 1 %}
    DECLARE v_lock     varchar(80);
{%- endif %}
    CALL {{ control }}.server_identity(v_node);
    CALL {{ control }}.check_options(p_options, '["rule", "dry_run", "scope", "retention", "as_of", "run_families", "time_budget", "trigger"{% if workers > 1 %}, "worker"{% endif %}]');
    CALL {{ control }}.check_run_options(p_options, v_as_of);
    CALL {{ control }}.option_of(p_options, 'dry_run', v_text);
    SET v_dry_run = COALESCE(v_text = 'true', false);
    IF @@GLOBAL.log_bin AND @@SESSION.binlog_format = 'STATEMENT' THEN
        CALL {{ control }}.not_ready('binlog_format is STATEMENT: a replica would delete other rows', 'set it to ROW or MIXED');
    END IF;
    CALL {{ control }}.held_back(p_options, v_dry_run, o_refused);
    IF o_refused IS NULL AND NOT v_dry_run THEN
        SELECT c.armed, c.server_identity
        INTO v_armed, v_armed_on
        FROM {{ control }}.control AS c;
        IF NOT v_armed THEN
            CALL {{ control }}.not_ready('not armed: nothing is deleted before someone said so', 'preview, then CALL {{ control }}.arm()');
        END IF;
        CALL {{ control }}.server_identity(v_identity);
        IF NOT v_armed_on <=> v_identity THEN
            CALL {{ control }}.not_ready('armed on another server; this looks like a copy', 'if it is to be cleaned too: CALL {{ control }}.arm()');
        END IF;
    END IF;
    CALL {{ control }}.option_of(p_options, 'trigger', v_trigger);
    -- What a scheduled run is refused for, held_back() has looked at.
    IF o_refused IS NULL AND NOT v_trigger <=> 'SCHEDULED' THEN
        CALL {{ control }}.check_catalog();
    END IF;
{%- if archives %}
    IF o_refused IS NULL THEN
        CALL {{ control }}.option_of(p_options, 'rule', v_rule);
        CALL {{ control }}.check_archive(v_rule);
    END IF;
{%- endif %}

    -- One run at a time{% if workers > 1 %} of each worker, and those at a time do the same{% endif %}. A purge of named families{% if stamps > 0 %} or a stamp{% endif %} may go on beside it. What says running but is dead, has crashed.
    IF o_refused IS NULL THEN
{%- if workers > 1 %}
        -- Workers that start in the same second wait for each other.
        SET v_lock = {{ w::worker_lock(run_lock=run_lock, options="p_options") }};
        SET SESSION innodb_lock_wait_timeout = 600;
        SELECT MAX(s.rule) INTO v_text FROM {{ control }}.sweep AS s FOR UPDATE;
        CALL {{ control }}.reap();
{%- else %}
        IF COALESCE(IS_USED_LOCK({{ run_lock }}), CONNECTION_ID()) = CONNECTION_ID() THEN
            CALL {{ control }}.reap();
        END IF;
{%- endif %}
        IF v_trigger = 'SCHEDULED' AND NOT v_dry_run THEN
            CALL {{ control }}.kept_back(o_refused);
            SET v_noted = o_refused IS NULL;
            IF NOT v_noted THEN
                CALL {{ control }}.note_refusal(o_refused);
            END IF;
        END IF;
    END IF;
    IF o_refused IS NULL THEN
        {{ w::elsewhere(control=control, what="run", which=w::is_run(stamps=stamps)) }}
    END IF;
    IF o_refused IS NULL THEN
{%- if workers > 1 %}
        SELECT CONCAT('run ', r.run_id, ' is in progress (pid ', r.backend_pid, ', since ', DATE_FORMAT(r.started_at, '%Y-%m-%dT%TZ'), ')')
        INTO o_refused
        FROM {{ control }}.run AS r
        WHERE r.status = 'running'
          AND {{ w::is_run(stamps=stamps) }}
          AND (
              r.dry_run
              OR v_dry_run
              OR {{ w::shared_options(options="r.options") }} <> {{ w::shared_options(options="p_options") }}
          )
        ORDER BY r.run_id
        LIMIT 1;
    END IF;
    IF o_refused IS NULL THEN
{%- endif %}
        IF COALESCE(GET_LOCK({% if workers > 1 %}v_lock{% else %}{{ run_lock }}{% endif %}, 0), 0) = 0 THEN
            SET v_pid = IS_USED_LOCK({% if workers > 1 %}v_lock{% else %}{{ run_lock }}{% endif %});
            SELECT CONCAT('run ', r.run_id, ' is in progress (pid ', r.backend_pid, ', since ', DATE_FORMAT(r.started_at, '%Y-%m-%dT%TZ'), ')')
            INTO o_refused
            FROM {{ control }}.run AS r
            WHERE r.status = 'running'
              AND {{ w::is_run(stamps=stamps) }}
              AND r.backend_pid = v_pid
            ORDER BY r.run_id DESC
            LIMIT 1;
            IF o_refused IS NULL THEN
                SET v_stranger = CONCAT('another run is starting; if connection ', COALESCE(v_pid, '?'), ' is none, it has taken the lock of the runs, which any session may');
                SET o_refused = v_stranger;
            END IF;
        END IF;
    END IF;
    IF v_noted THEN
        CALL {{ control }}.note_refusal(v_stranger);
    END IF;
    IF o_refused IS NULL THEN
        CALL {{ control }}.option_of(p_options, 'rule', v_rule);
        CALL {{ control }}.option_of(p_options, 'time_budget', v_text);
        CALL {{ control }}.seconds(v_text, v_budget);
        IF v_budget IS NULL THEN
            CALL {{ control }}.setting_of({{ rules.0.literal }}, 'time_budget', v_budget);
        END IF;
        INSERT INTO {{ control }}.run ({{ q }}trigger{{ q }}, dry_run, options, as_of, deadline, backend_pid, node, started_by)
        VALUES (COALESCE(v_trigger, 'MANUAL'), v_dry_run, p_options, v_as_of, UTC_TIMESTAMP(6) + INTERVAL v_budget SECOND, CONNECTION_ID(), v_node, USER());
        SET o_run = LAST_INSERT_ID();
        CALL {{ control }}.run_open(o_run, v_rule);
{%- if workers > 1 %}
        CALL {{ control }}.sweep_join(o_run, COALESCE(JSON_VALUE(p_options, '$.worker'), 1));
{%- endif %}
        CALL {{ control }}.log_settings(NULL);
    END IF;
END;

-- run_end: closes the ledger and prunes it.
--# create procedure {{ control }}.run_end
CREATE PROCEDURE {{ control }}.run_end(IN p_run bigint, IN p_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Closes run p_run: status, reason, pruning of the ledger by ledger_days. [body @body@]'
BEGIN
    DECLARE v_days  bigint;
    DECLARE v_ended longtext;
{%- if workers > 1 %}
    -- The end of a run writes to what is everybody's: one at a time.
    SET SESSION innodb_lock_wait_timeout = 600;
    SELECT MAX(LENGTH(s.rule)) INTO v_days FROM {{ control }}.sweep AS s FOR UPDATE;
{%- endif %}
    {{ w::close_run(control=control) }}

    -- The ledger keeps itself small; what it counted stays in the metrics.
    CALL {{ control }}.tally_up();
    CALL {{ control }}.setting_of({{ rules.0.literal }}, 'ledger_days', v_days);
{%- if archives %}
    CALL {{ control }}.archive_keep(v_days);
{%- endif %}
    -- Read first, without a lock: a join would wait for the row of a run that is at work{% if workers > 1 %}, which may wait for this one{% endif %}.
    SELECT JSON_ARRAYAGG(s.run_id)
    INTO v_ended
    FROM {{ control }}.catalog_state AS s
    LEFT JOIN {{ control }}.run AS r ON r.run_id = s.run_id AND r.status = 'running'
    WHERE s.run_id > 0
      AND r.run_id IS NULL;
    DELETE s
    FROM JSON_TABLE(COALESCE(v_ended, '[]'), '$[*]' COLUMNS (run_id bigint PATH '$')) AS e
    STRAIGHT_JOIN {{ control }}.catalog_state AS s ON s.run_id = e.run_id;
    DELETE b
    FROM {{ control }}.run AS r
    JOIN {{ control }}.run_backlog AS b ON b.run_id = r.run_id
    WHERE r.finished_at < UTC_TIMESTAMP(6) - INTERVAL v_days DAY
{%- if archives %}
      AND NOT EXISTS (SELECT 1 FROM {{ control }}.kept_run AS k WHERE k.run_id = r.run_id)
{%- endif %};
    DELETE r, p, t, s, f{% if by_row %}, x{% endif %}{% if stamps > 0 %}, y{% endif %}{% if workers > 1 %}, o, c{% endif %}
    FROM {{ control }}.run AS r
    LEFT JOIN {{ control }}.run_rule AS p ON p.run_id = r.run_id
    LEFT JOIN {{ control }}.run_table AS t ON t.run_id = r.run_id
    LEFT JOIN {{ control }}.run_skip AS s ON s.run_id = r.run_id
    LEFT JOIN {{ control }}.run_failure AS f ON f.run_id = r.run_id
{%- if by_row %}
    LEFT JOIN {{ control }}.run_pass AS x ON x.run_id = r.run_id
{%- endif %}
{%- if stamps > 0 %}
    LEFT JOIN {{ control }}.run_stamp AS y ON y.run_id = r.run_id
{%- endif %}
{%- if workers > 1 %}
    LEFT JOIN {{ control }}.run_sweep AS o ON o.run_id = r.run_id
    LEFT JOIN {{ control }}.run_claim AS c ON c.run_id = r.run_id
{%- endif %}
    WHERE r.finished_at < UTC_TIMESTAMP(6) - INTERVAL v_days DAY
{%- if archives %}
      AND NOT EXISTS (SELECT 1 FROM {{ control }}.kept_run AS k WHERE k.run_id = r.run_id)
{%- endif %};
    -- The last change of a setting stays: it says who has set the present value, and what a write by hand is compared with.
    DELETE l
    FROM {{ control }}.setting_log AS l
    JOIN {{ control }}.setting_log AS n ON n.rule = l.rule AND n.name = l.name AND n.log_id > l.log_id
    WHERE l.changed_at < UTC_TIMESTAMP(6) - INTERVAL v_days DAY
      -- Who makes the ledger forget earlier is not forgotten.
      AND l.name <> 'ledger_days';
END;

-- run_document, run_result: one run of the ledger as a document.
--# create procedure {{ control }}.run_document
CREATE PROCEDURE {{ control }}.run_document(IN p_run bigint, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'One run of the ledger as a JSON document; NULL if there is no such run. [body @body@]'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_head        longtext;
    DECLARE v_rules       longtext DEFAULT '';
    DECLARE v_dry_run     varchar(5);
    DECLARE v_duration    bigint;
    SET SESSION group_concat_max_len = 1048576;
    SELECT
        CONCAT(
            '{"run": ', r.run_id,
            ', "status": ', {{ w::text(x="r.status") }},
            ', "reason": ', {{ w::text(x="r.reason") }},
            ', "dry_run": ', {{ w::flag(x="r.dry_run") }},
            ', "trigger": ', {{ w::text(x="r." ~ q ~ "trigger" ~ q) }},
            ', "as_of": ', {{ w::instant(x="r.as_of") }},
            ', "started_at": ', {{ w::instant(x="r.started_at") }},
            ', "finished_at": ', {{ w::instant(x="r.finished_at") }},
            ', "duration_ms": ', {{ w::number(x="ROUND(TIMESTAMPDIFF(MICROSECOND, r.started_at, r.finished_at) / 1000)") }}
{%- if archives %},
            ', "archive_pruned": ', (SELECT COALESCE(SUM(u.table_rows), 0) FROM {{ control }}.unarchived AS u WHERE u.by_run = r.run_id)
{%- endif %}
        ),
        {{ w::flag(x="r.dry_run") }},
        ROUND(TIMESTAMPDIFF(MICROSECOND, r.started_at, r.finished_at) / 1000)
    INTO v_head, v_dry_run, v_duration
    FROM {{ control }}.run AS r
    WHERE r.run_id = p_run;
{%- for rule in rules %}
    BEGIN
        DECLARE v_families bigint;
        DECLARE v_deleted  bigint;
        DECLARE v_batches  bigint;
        DECLARE v_retries  bigint;
        DECLARE v_skips    bigint;
        DECLARE v_skipped  longtext;
        DECLARE v_samples  longtext;
        DECLARE v_failures longtext;
        DECLARE v_oldest   longtext;
        DECLARE v_rows     longtext;
        DECLARE v_artifact_failures bigint;
{%- if rule.single %}
        DECLARE v_passes   longtext;
{%- endif %}
{%- for step in rule.steps %}
        DECLARE v_rows_{{ step.position }} bigint;
{%- endfor %}
        SELECT p.families, p.deleted_rows, p.batches, p.retries
        INTO v_families, v_deleted, v_batches, v_retries
        FROM {{ control }}.run_rule AS p
        WHERE p.run_id = p_run
          AND p.rule = {{ rule.literal }};
        IF v_families IS NOT NULL THEN
            SELECT
{%- for step in rule.steps %}
                SUM(IF(t.table_name = {{ step.table_literal }}, t.deleted_rows, NULL)){% if not loop.last %},{% endif %}
{%- endfor %}
            INTO {% for step in rule.steps %}v_rows_{{ step.position }}{% if not loop.last %}, {% endif %}{% endfor %}
            FROM {{ control }}.run_table AS t
            WHERE t.run_id = p_run
              AND t.rule = {{ rule.literal }};
            SET v_rows = CONCAT('[', {% for step in rule.steps %}COALESCE(v_rows_{{ step.position }}, 'null'){% if not loop.last %}, ', ', {% endif %}{% endfor %}, ']');
            SELECT
                COALESCE(SUM(k.families), 0),
                CONCAT('{', COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(k.reason), ': ', k.families) ORDER BY k.reason SEPARATOR ', '), ''), '}'),
                CONCAT('{', COALESCE(GROUP_CONCAT(CONCAT(JSON_QUOTE(k.reason), ': ', k.sample_keys) ORDER BY k.reason SEPARATOR ', '), ''), '}')
            INTO v_skips, v_skipped, v_samples
            FROM {{ control }}.run_skip AS k
            WHERE k.run_id = p_run
              AND k.rule = {{ rule.literal }};
            SELECT CONCAT('[', COALESCE(GROUP_CONCAT(CONCAT('{"key": ', JSON_QUOTE(x.{{ q }}key{{ q }}), ', "sqlstate": ', JSON_QUOTE(x.{{ q }}sqlstate{{ q }}), ', "message": ', JSON_QUOTE(x.message), '}') ORDER BY x.failed_at, x.{{ q }}key{{ q }} SEPARATOR ', '), ''), ']')
            INTO v_failures
            FROM (
                SELECT f.{{ q }}key{{ q }}, f.{{ q }}sqlstate{{ q }}, f.message, f.failed_at
                FROM {{ control }}.run_failure AS f
                WHERE f.run_id = p_run
                  AND f.rule = {{ rule.literal }}
                ORDER BY f.failed_at, f.{{ q }}key{{ q }}
                LIMIT 100
            ) AS x;
            SELECT COUNT(*) INTO v_artifact_failures FROM {{ control }}.artifact AS a WHERE a.rule = {{ rule.literal }} AND a.last_error IS NOT NULL;
{%- if rule.single %}
            SELECT CONCAT('[', COALESCE(GROUP_CONCAT(CONCAT('{"pass": ', JSON_QUOTE(x.pass), ', "rows": ', x.deleted_rows, ', "sample_keys": ', x.sample_keys, '}') ORDER BY x.pass SEPARATOR ', '), ''), ']')
            INTO v_passes
            FROM {{ control }}.run_pass AS x
            WHERE x.run_id = p_run
              AND x.rule = {{ rule.literal }};
{%- endif %}
            SET v_rules = CONCAT(
                v_rules, IF(v_rules = '', '', ', '),
                '{"rule": ', JSON_QUOTE({{ rule.literal }}),
                ', "families": ', v_families,
                ', "rows": ', v_deleted,
                ', "batches": ', v_batches,
                ', "retries": ', v_retries,
                ', "tables": {',
{%- for step in rule.steps %}
                {% if not loop.first %}', ', {% endif %}JSON_QUOTE({{ step.table_literal }}), ': ', COALESCE(v_rows_{{ step.position }}, 'null'),
{%- endfor %}
                '}{% if rule.single %}, "passes": ', v_passes, '{% endif %}, "skipped_families": ', v_skips,
                ', "skipped": ', v_skipped,
                ', "skipped_samples": ', v_samples,
                ', "failures": ', v_failures{% for field in rule.report_run %},
                ', ', JSON_QUOTE({{ field.name }}), ': ', COALESCE(CAST({{ field.value }} AS char), 'null'){% endfor %},
                '}'
            );
        END IF;
    END;
{%- endfor %}
    SET o_document = CONCAT(v_head, ', "rules": ', IF(v_rules = '', 'null', CONCAT('[', v_rules, ']')), '}');
    SET SESSION group_concat_max_len = v_length;
END;
--# create procedure {{ control }}.run_result
CREATE PROCEDURE {{ control }}.run_result(IN p_run bigint)
SQL SECURITY DEFINER
COMMENT 'Answers one run of the ledger as a JSON document. Example: CALL {{ control }}.run_result(1); [body @body@]'
BEGIN
    DECLARE v_document longtext;
    CALL {{ control }}.drop_shadows();
    CALL {{ control }}.run_document(p_run, v_document);
    SELECT v_document AS p_result;
END;

-- run: batch after batch, each one a transaction.
-- SET TRANSACTION holds for the next transaction only, and is refused (1568) while the caller has one open.
--# create procedure {{ control }}.run
CREATE PROCEDURE {{ control }}.run(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'One run of all rules in order, in batches that commit. Options: rule, dry_run, scope, retention, as_of, run_families, time_budget, trigger{% if workers > 1 %}, worker (1 to {{ workers }}; each has a run at a time, and they share the families out){% endif %}. Examples: CALL {{ control }}.run(''{}''); CALL {{ control }}.run(''{"dry_run": true}''); [body @body@]'
BEGIN
    DECLARE v_before   longtext;
    DECLARE v_open     boolean DEFAULT false;
    DECLARE v_run      bigint;
    DECLARE v_refused  longtext;
    DECLARE v_rule     longtext;
    DECLARE v_state    varchar(1000);
    DECLARE v_reason   varchar(1000);
    DECLARE v_result   longtext;
    DECLARE v_rest     double;
    DECLARE v_slept    integer;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
{%- if workers > 1 %}
    DECLARE v_ended    boolean;
    DECLARE v_last     bigint;
    DECLARE v_lock     varchar(80) DEFAULT {{ run_lock }};
    {{ w::on_error(control=control, maria=maria, end="run_end", lock="v_lock") }}
    IF JSON_VALID(p_options) AND JSON_TYPE(JSON_EXTRACT(p_options, '$.worker')) = 'INTEGER' THEN
        SET v_lock = LEFT({{ w::worker_lock(run_lock=run_lock, options="p_options") }}, 64);
    END IF;
{%- else %}
    {{ w::on_error(control=control, maria=maria, end="run_end", lock=run_lock) }}
{%- endif %}
    CALL {{ control }}.settle(v_before);
    {% if workers > 1 %}{{ w::begin_run(control=control, call="CALL " ~ control ~ ".run_begin(p_options, v_run, v_refused);", what="run", lock="v_lock") }}{% else %}{{ w::begin_run(control=control, call="CALL " ~ control ~ ".run_begin(p_options, v_run, v_refused);", what="run", lock=run_lock) }}{% endif %}
    IF v_run IS NOT NULL THEN
        CALL {{ control }}.option_of(p_options, 'rule', v_rule);
{%- for rule in rules %}
        IF COALESCE(v_rule, {{ rule.literal }}) = {{ rule.literal }} AND COALESCE(v_state, '') NOT IN ('cancelled', 'paused', 'time budget spent', 'window closed') THEN
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            START TRANSACTION;
            CALL {{ control }}.{{ rule.name }}_open();
            COMMIT;
            REPEAT
                CALL {{ control }}.pace(v_run, {{ rule.literal }}, v_rest, v_state);
                IF v_rest > 0 THEN
                    -- An assignment, so that a cancel ends the run and not only the sleep.
                    SET v_slept = SLEEP(v_rest);
                    SET v_state = 'again';
                ELSEIF v_state IS NULL THEN
                    CALL {{ control }}.{{ rule.name }}_step(v_run, v_state);
                END IF;
            UNTIL v_state NOT IN ('more', 'again') END REPEAT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            START TRANSACTION;
{%- if workers > 1 %}
            CALL {{ control }}.sweep_leave(v_run, {{ rule.literal }}, v_state, v_ended);
            CALL {{ control }}.{{ rule.name }}_finish(v_run, IF(v_ended, v_state, NULL));
{%- else %}
            CALL {{ control }}.{{ rule.name }}_finish(v_run, v_state);
{%- endif %}
            CALL {{ control }}.{{ rule.name }}_close();
            COMMIT;
            -- The reason of the run is the worst of its rules.
            SET v_reason = CASE
                WHEN v_reason IS NULL OR v_state LIKE 'error %' THEN v_state
                WHEN v_reason LIKE 'error %' THEN v_reason
                WHEN v_reason = 'nothing left' OR v_reason LIKE 'rule %' AND v_state <> 'nothing left' THEN v_state
                ELSE v_reason
            END;
        END IF;
{%- endfor %}
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        CALL {{ control }}.run_end(v_run, v_reason);
{%- if workers > 1 %}
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        -- The last one of a sweep does what is to be done once.
        CALL {{ control }}.sweep_end(v_run, v_last);
{%- endif %}
{%- if archives %}
        COMMIT;
{%- if workers > 1 %}
        IF v_last IS NOT NULL THEN
            CALL {{ control }}.archive_prune(v_run);
        END IF;
{%- else %}
        CALL {{ control }}.archive_prune(v_run);
{%- endif %}
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
{%- endif %}
        CALL {{ control }}.run_document(v_run, v_result);
        COMMIT;
        IF v_reason <> 'cancelled'{% if workers > 1 %} AND v_last IS NOT NULL{% endif %} THEN
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
            START TRANSACTION;
            CALL {{ control }}.count_backlog({% if workers > 1 %}v_last{% else %}v_run{% endif %});
            COMMIT;
        END IF;
        DO RELEASE_LOCK({% if workers > 1 %}v_lock{% else %}{{ run_lock }}{% endif %});
    ELSE
        SET v_result = CONCAT('{"run": null, "status": "refused", "reason": ', JSON_QUOTE(v_refused), '}');
    END IF;
    CALL {{ control }}.unsettle(v_before);
    SET v_before = NULL;
    IF v_reason = 'cancelled' THEN
        SET v_run = NULL;
        SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317, MESSAGE_TEXT = 'the run was cancelled; what it committed stays';
    END IF;
    SELECT v_result AS p_result;
END;

-- preview: what a run would delete now.
--# create procedure {{ control }}.preview_document
CREATE PROCEDURE {{ control }}.preview_document(IN p_options longtext, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'What preview() answers, in the caller''s transaction. [body @body@]'
BEGIN
    DECLARE v_as_of datetime(6);
    DECLARE v_rule  longtext;
    DECLARE v_part  longtext;
    DECLARE v_rules longtext DEFAULT '';
    CALL {{ control }}.check_options(p_options, '["rule", "scope", "retention", "as_of", "run_families", "from"]');
    CALL {{ control }}.check_run_options(p_options, v_as_of);
    CALL {{ control }}.option_of(p_options, 'rule', v_rule);
{%- for rule in rules %}
    IF COALESCE(v_rule, {{ rule.literal }}) = {{ rule.literal }} THEN
        CALL {{ control }}.{{ rule.name }}_preview(p_options, v_as_of, v_part);
        SET v_rules = CONCAT(v_rules, IF(v_rules = '', '', ', '), v_part);
    END IF;
{%- endfor %}
    SELECT CONCAT(
        '{"spec": ', {{ w::text(x="c.spec") }},
        ', "as_of": ', {{ w::instant(x="v_as_of") }},
        ', "armed": ', {{ w::flag(x="c.armed") }},
        ', "paused": ', {{ w::flag(x="c.paused") }},
        ', "rules": [', v_rules, ']{% if not several %}}{% endif %}'
{%- if several %},
        -- A row that several rules would take is counted by each of them, and goes once.
        ', "counted_by_several": ', IF(v_rule IS NULL, {{ several }}, '{}'), '}'
{%- endif %}
    )
    INTO o_document
    FROM {{ control }}.control AS c;
END;
--# create procedure {{ control }}.preview
CREATE PROCEDURE {{ control }}.preview(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'What a run with the same options would delete and skip now, by rule and table, as one JSON document. from: only what ended then or later, by the clock of the application; undated rows and scopes without a policy are left out. {% if several %}counted_by_several: tables of which a row may be counted by each of these rules, though it goes once. {% endif %}Reads only, locks nothing. Example: CALL {{ control }}.preview(''{"run_families": 100}''); [body @body@]'
{{ w::answer(control=control, document="preview_document") }}

-- purge_begin: opens the ledger for a purge of named families.
--# create procedure {{ control }}.purge_begin
CREATE PROCEDURE {{ control }}.purge_begin(IN p_options longtext, OUT o_run bigint, OUT o_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Checks the options of purge() and opens the ledger. [body @body@]'
BEGIN
    DECLARE v_place    integer DEFAULT 0;
    DECLARE v_count    integer;
    DECLARE v_armed    boolean;
    DECLARE v_paused   boolean;
    DECLARE v_text     longtext;
    DECLARE v_armed_on varchar(700);
    DECLARE v_identity varchar(700);
    CALL {{ control }}.check_options(p_options, '["rule", "key", "dry_run"]');
    CALL {{ control }}.check_rule(p_options, o_rule);
    SET v_count = IF(COALESCE(JSON_TYPE(JSON_EXTRACT(p_options, '$.key')), '') = 'ARRAY', JSON_LENGTH(p_options, '$.key'), 0);
    IF v_count = 0 THEN
        CALL {{ control }}.refuse('the option key is not a list of keys', 'write it like {"key": [17, 18]}');
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.dry_run') AND JSON_TYPE(JSON_EXTRACT(p_options, '$.dry_run')) <> 'BOOLEAN' THEN
        CALL {{ control }}.refuse(CONCAT('dry_run is not true or false: ', JSON_EXTRACT(p_options, '$.dry_run')), 'write {"dry_run": true}');
    END IF;
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_key;
    CREATE TEMPORARY TABLE {{ control }}.work_key (
        position integer NOT NULL AUTO_INCREMENT,
        named varchar({{ key_length }}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        reason varchar(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
        PRIMARY KEY (position),
        UNIQUE KEY (named)
    ) ENGINE = InnoDB;
    WHILE v_place < v_count DO
        {% if by_composite %}CALL {{ control }}.key_of(JSON_EXTRACT(p_options, CONCAT('$.key[', v_place, ']')), v_text){% else %}SET v_text = JSON_UNQUOTE(JSON_EXTRACT(p_options, CONCAT('$.key[', v_place, ']'))){% endif %};
        CALL {{ control }}.check_key(o_rule, v_text);
        INSERT IGNORE INTO {{ control }}.work_key (named) VALUES (v_text);
        SET v_place = v_place + 1;
    END WHILE;
    IF @@GLOBAL.log_bin AND @@SESSION.binlog_format = 'STATEMENT' THEN
        CALL {{ control }}.not_ready('binlog_format is STATEMENT: a replica would delete other rows', 'set it to ROW or MIXED');
    END IF;
    SELECT c.armed, c.server_identity, c.paused, {{ w::paused() }}
    INTO v_armed, v_armed_on, v_paused, v_text
    FROM {{ control }}.control AS c;
    IF v_paused THEN
        CALL {{ control }}.not_ready(v_text, 'CALL {{ control }}.resume() first');
    END IF;
    CALL {{ control }}.rule_paused(o_rule, v_text);
    IF v_text IS NOT NULL THEN
        CALL {{ control }}.not_ready(v_text, 'CALL {{ control }}.resume_rule() first');
    END IF;
    CALL {{ control }}.server_identity(v_identity);
    IF NOT v_armed OR NOT v_armed_on <=> v_identity THEN
        CALL {{ control }}.not_ready('not armed on this server: nothing is deleted before someone said so', 'CALL {{ control }}.arm() first');
    END IF;
    CALL {{ control }}.check_catalog();
{%- if archives %}
    CALL {{ control }}.check_archive(o_rule);
{%- endif %}
    CALL {{ control }}.option_of(p_options, 'dry_run', v_text);
    INSERT INTO {{ control }}.run ({{ q }}trigger{{ q }}, dry_run, options, as_of, deadline, backend_pid, node, started_by)
    VALUES ('PURGE', COALESCE(v_text = 'true', false), p_options, UTC_TIMESTAMP(6), NULL, CONNECTION_ID(), v_identity, USER());
    SET o_run = LAST_INSERT_ID();
    CALL {{ control }}.run_open(o_run, o_rule);
    DO GET_LOCK(CONCAT({{ run_lock }}, '.', o_run), 0);
END;
{% for rule in rules %}{% if rule.by_end %}
-- {{ rule.name }}_purge: deletes one named family through the same batch as a run. Answers NULL, or why it stays.
--# create procedure {{ control }}.{{ rule.name }}_purge
CREATE PROCEDURE {{ control }}.{{ rule.name }}_purge(IN p_run bigint, IN p_key varchar(255), OUT o_reason varchar(32))
SQL SECURITY DEFINER
COMMENT 'Deletes one named family, whatever its age, if it is final and unheld, and commits. Answers NULL or the reason why it stays. [body @body@]'
BEGIN
    DECLARE v_dry_run  boolean;
    DECLARE v_as_of    datetime(6);
    DECLARE v_own      boolean DEFAULT false;
    DECLARE v_paused   boolean;
    DECLARE v_wait     bigint;
    DECLARE v_families bigint;
    DECLARE v_rows     longtext;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    attempt: BEGIN
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            {{ w::diagnose(maria=maria) | indent(prefix="            ") }}
            ROLLBACK;
        END;
        {{ w::start_batch(make="CALL " ~ control ~ "." ~ rule.name ~ "_work();", pad="        ") }}
        {{ w::before_purge(control=control, rule=rule, q=q) }}
        -- The work tables have the type and the collation of the key.
        REPLACE INTO {{ control }}.work_cursor (only_row, id)
        VALUES (1, p_key);
        INSERT INTO {{ control }}.work_root (id, ended)
        SELECT i.{{ rule.key }}, {{ rule.ended }}
        FROM {{ control }}.work_cursor AS c
        STRAIGHT_JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = c.id
        WHERE c.only_row = 1
{%- for predicate in rule.candidates %}
          AND {{ predicate }}
{%- endfor %};
        IF ROW_COUNT() = 0 THEN
            COMMIT;
            SET o_reason = 'NOT_A_ROOT';
            LEAVE attempt;
        END IF;
        SELECT l.only_row INTO v_own FROM {{ control }}.latch AS l LOCK IN SHARE MODE;
        CALL {{ control }}.{{ rule.name }}_scope(v_as_of, NULL, NULL);
        CALL {{ control }}.{{ rule.name }}_judge(true, true, v_families);
        {{ w::keep_found(pad="        ") }}
        CALL {{ control }}.{{ rule.name }}_batch(p_run, v_rows);
        {{ w::take_back(control=control, pad="        ") }}
        SELECT k.reason INTO o_reason FROM {{ control }}.work_skip AS k ORDER BY k.position LIMIT 1;
        CALL {{ control }}.record_skips(p_run, {{ rule.literal }});
        CALL {{ control }}.record_rows(p_run, {{ rule.literal }}, v_rows);
        UPDATE {{ control }}.run_rule AS p
        SET p.families = p.families + v_families,
            p.batches = p.batches + 1,
            p.updated_at = UTC_TIMESTAMP(6)
        WHERE p.run_id = p_run
          AND p.rule = {{ rule.literal }};
        {{ w::look_before_commit(control=control) }}
        DELETE FROM {{ control }}.unfinished WHERE run_id = p_run AND rule = {{ rule.literal }};
        COMMIT;
    END attempt;
    {{ w::after_purge(control=control, rule=rule, q=q) }}
END;
{% endif %}{% endfor %}
-- purge_end: closes the ledger of a purge.
--# create procedure {{ control }}.purge_end
CREATE PROCEDURE {{ control }}.purge_end(IN p_run bigint, OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'Closes purge p_run; answers run_document() with the refused keys and their reasons. [body @body@]'
BEGIN
    DECLARE v_refused   bigint;
    DECLARE v_cancelled bigint;
    DECLARE v_failed    bigint;
    DECLARE v_paused    bigint;
    DECLARE v_reasons   longtext;
    SELECT
        COUNT(k.reason), COUNT(IF(k.reason = 'CANCELLED', 1, NULL)), COUNT(IF(k.reason = 'FAILED', 1, NULL)), COUNT(IF(k.reason = 'PAUSED', 1, NULL)),
        COALESCE(GROUP_CONCAT(IF(k.reason IS NULL, NULL, CONCAT(JSON_QUOTE(k.named), ': ', JSON_QUOTE(k.reason))) ORDER BY k.named SEPARATOR ', '), '')
    INTO v_refused, v_cancelled, v_failed, v_paused, v_reasons
    FROM {{ control }}.work_key AS k;
    UPDATE {{ control }}.run AS r
    SET r.status = CASE
            WHEN v_cancelled > 0 THEN 'cancelled'
            WHEN v_failed > 0 THEN 'failed'
            WHEN v_paused > 0 THEN 'stopped'
            ELSE 'done'
        END,
        r.reason = CASE
            WHEN v_cancelled > 0 THEN 'cancelled'
            WHEN v_paused > 0 THEN 'paused'
            WHEN v_refused = 0 THEN 'all named families are gone'
            WHEN v_refused = 1 THEN '1 named family stays'
            ELSE CONCAT(v_refused, ' named families stay')
        END,
        r.finished_at = UTC_TIMESTAMP(6)
    WHERE r.run_id = p_run
      AND r.status = 'running'
      AND r.backend_pid = CONNECTION_ID();
    CALL {{ control }}.run_document(p_run, o_document);
    SET o_document = CONCAT(LEFT(o_document, CHAR_LENGTH(o_document) - 1), ', "refused": {', v_reasons, '}}');
END;

-- purge: named families, now.
--# create procedure {{ control }}.purge
CREATE PROCEDURE {{ control }}.purge(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Deletes the named families now, through the same engine as a run: still final, unheld, linked to nothing that stays; the retention does not matter. Example: CALL {{ control }}.purge(''{"key": [17]}''); [body @body@]'
BEGIN
    DECLARE v_before   longtext;
    DECLARE v_open     boolean DEFAULT false;
    DECLARE v_run      bigint;
    DECLARE v_rule     varchar(64);
    DECLARE v_key      varchar({{ key_length }});
    DECLARE v_reason   varchar(32);
    DECLARE v_result   longtext;
    DECLARE v_number   integer;
    DECLARE v_errno    integer;
    DECLARE v_sqlstate varchar(5);
    DECLARE v_message  varchar(900);
    {{ w::on_error(control=control, maria=maria, end="run_end", lock="CONCAT(" ~ run_lock ~ ", '.', COALESCE(v_run, 0))") }}
    CALL {{ control }}.settle(v_before);
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    SET v_open = true;
    START TRANSACTION;
    CALL {{ control }}.purge_begin(p_options, v_run, v_rule);
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    START TRANSACTION;
{%- for rule in rules %}
    IF v_rule = {{ rule.literal }} THEN
        CALL {{ control }}.{{ rule.name }}_open();
    END IF;
{%- endfor %}
    SELECT MIN(k.named) INTO v_key FROM {{ control }}.work_key AS k;
    COMMIT;
    WHILE v_key IS NOT NULL DO
        SET v_reason = NULL;
{%- for rule in rules %}
        IF v_rule = {{ rule.literal }} THEN
            CALL {{ control }}.{{ rule.name }}_purge(v_run, v_key, v_reason);
        END IF;
{%- endfor %}
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
        START TRANSACTION;
        UPDATE {{ control }}.work_key AS k SET k.reason = v_reason WHERE k.named = v_key;
        IF v_reason IN ('CANCELLED', 'PAUSED') THEN
            SET v_key = NULL;
        ELSE
            SELECT MIN(k.named) INTO v_key FROM {{ control }}.work_key AS k WHERE k.named > v_key;
        END IF;
        COMMIT;
    END WHILE;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
    START TRANSACTION;
    CALL {{ control }}.purge_end(v_run, v_result);
{%- for rule in rules %}
    IF v_rule = {{ rule.literal }} THEN
        CALL {{ control }}.{{ rule.name }}_close();
    END IF;
{%- endfor %}
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_key;
    COMMIT;
    DO RELEASE_LOCK(CONCAT({{ run_lock }}, '.', v_run));
    CALL {{ control }}.unsettle(v_before);
    SET v_before = NULL;
    IF v_reason = 'CANCELLED' THEN
        SET v_run = NULL;
        SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317, MESSAGE_TEXT = 'the purge was cancelled; what it committed stays';
    END IF;
    SELECT v_result AS p_result;
END;
