{% import "macros.sql" as w -%}
{{ w::session() }}

-- rule_pause: rules that runs pass over.
--# create table {{ control }}.rule_pause
CREATE TABLE IF NOT EXISTS {{ control }}.rule_pause (
    rule      varchar(64)  NOT NULL PRIMARY KEY,
    reason    text,
    paused_by varchar(400) NOT NULL DEFAULT (USER()),
    paused_at datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Rules that runs pass over. Read again before every batch. Written by pause_rule() and resume_rule().';

-- refusal: why a server starts no scheduled run. A row changes when the reason does, not with every refusal.
--# create table {{ control }}.refusal
CREATE TABLE IF NOT EXISTS {{ control }}.refusal (
    server varchar(700) NOT NULL PRIMARY KEY,
    reason text         NOT NULL,
    since  datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Why a server, by its server_identity(), refuses scheduled runs, and since when. Its row goes when such a run starts there.';

-- scheduling: what the latest runs mean for the next scheduled one; the ledger says it, and nothing else counts.
-- A run is broken that an error ended, or that crashed. One is empty that found nothing left and deleted nothing, for
-- another reason than locks. Both count in a row since somebody armed windrow; a run by hand that is not broken ends the row.
--# create view {{ control }}.scheduling
CREATE OR REPLACE DEFINER = {{ owner }} SQL SECURITY INVOKER VIEW {{ control }}.scheduling (failed_runs, suspended, last_error, empty_runs, idle_until) AS
WITH latest AS (
    SELECT
        r.run_id,
{%- if workers > 1 %}
        COALESCE(w.sweep_id, r.run_id) AS sweep_id,
{%- endif %}
        r.reason,
        r.finished_at,
        COALESCE(r.`trigger` = 'SCHEDULED' AND r.started_at > c.armed_at, false) AS is_counted,
        r.status = 'crashed' OR COALESCE(r.reason LIKE 'error %', false) AS is_broken,
        COALESCE(r.reason = 'nothing left', false)
            AND NOT EXISTS (SELECT 1 FROM {{ control }}.run_rule AS p WHERE p.run_id {% if workers > 1 %}IN (SELECT r.run_id UNION SELECT o.run_id FROM {{ control }}.run_sweep AS o WHERE o.sweep_id = w.sweep_id){% else %}= r.run_id{% endif %} AND p.deleted_rows > 0)
            AND NOT EXISTS (SELECT 1 FROM {{ control }}.run_skip AS k WHERE k.run_id = r.run_id AND k.reason = 'LOCKED') AS is_empty
    FROM {{ control }}.run AS r
    CROSS JOIN {{ control }}.control AS c
{%- if workers > 1 %}
    -- The runs of a sweep count as one.
    LEFT JOIN {{ control }}.run_sweep AS w ON w.run_id = r.run_id
{%- endif %}
    WHERE {{ w::is_run(stamps=stamps) }}
      AND NOT r.dry_run
      AND r.status NOT IN ('running', 'cancelled')
    ORDER BY r.run_id DESC
    LIMIT 101
),
failures AS (
    SELECT COUNT({% if workers > 1 %}DISTINCT l.sweep_id{% else %}*{% endif %}) AS runs, MAX(l.run_id) AS last_run
    FROM latest AS l
    WHERE l.is_broken
      AND l.is_counted
      AND l.run_id > COALESCE((SELECT MAX(o.run_id) FROM latest AS o WHERE NOT o.is_broken), 0)
),
idle AS (
    SELECT COUNT({% if workers > 1 %}DISTINCT l.sweep_id{% else %}*{% endif %}) AS runs, MAX(l.finished_at) AS ended
    FROM latest AS l
    WHERE l.is_empty
      AND l.is_counted
      AND l.run_id > COALESCE((SELECT MAX(o.run_id) FROM latest AS o WHERE NOT (o.is_empty AND o.is_counted)), 0)
),
bounds AS (
    SELECT MIN(IF(s.name = 'suspend_after', s.value, NULL)) AS suspend_after, MIN(IF(s.name = 'back_off_max', s.value, NULL)) AS back_off_max
    FROM {{ control }}.settings AS s
)
SELECT
    f.runs,
    b.suspend_after > 0 AND f.runs >= b.suspend_after,
    (SELECT l.reason FROM latest AS l WHERE l.run_id = f.last_run),
    i.runs,
    IF(b.back_off_max > 0, i.ended + INTERVAL CAST(LEAST(b.back_off_max, 10 * POW(2, i.runs - 1)) AS signed) SECOND, NULL)
FROM failures AS f
CROSS JOIN idle AS i
CROSS JOIN bounds AS b;

-- pause_rule, resume_rule: a switch for one rule. A run under way obeys before its next batch, and goes on with other rules.
--# create procedure {{ control }}.pause_document
CREATE PROCEDURE {{ control }}.pause_document(IN p_rule varchar(64), OUT o_document longtext)
SQL SECURITY DEFINER
COMMENT 'The pause of a rule as a JSON document; NULL if it is not paused. [body @body@]'
BEGIN
    SET o_document = (
        SELECT CONCAT(
            '{"rule": ', {{ w::text(x="p.rule") }},
            ', "reason": ', {{ w::text(x="p.reason") }},
            ', "paused_by": ', {{ w::text(x="p.paused_by") }},
            ', "paused_at": ', {{ w::instant(x="p.paused_at") }}, '}'
        )
        FROM {{ control }}.rule_pause AS p
        WHERE p.rule = p_rule
    );
END;
--# create procedure {{ control }}.pause_rule
CREATE PROCEDURE {{ control }}.pause_rule(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Makes runs pass a rule over, from the next batch on. Example: CALL {{ control }}.pause_rule(''{"rule": "{{ rules.0.name }}", "reason": "audit"}''); [body @body@]'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_reason longtext;
    DECLARE v_document longtext;
    SET SESSION timestamp = DEFAULT;
    CALL {{ control }}.check_options(p_options, '["rule", "reason"]');
    CALL {{ control }}.check_rule(p_options, v_rule);
    CALL {{ control }}.option_of(p_options, 'reason', v_reason);
    SET v_reason = LEFT(v_reason, 10000);
    INSERT INTO {{ control }}.rule_pause (rule, reason, paused_by, paused_at)
    VALUES (v_rule, v_reason, USER(), UTC_TIMESTAMP(6))
    ON DUPLICATE KEY UPDATE
        reason = v_reason,
        paused_by = USER(),
        paused_at = UTC_TIMESTAMP(6);
    CALL {{ control }}.pause_document(v_rule, v_document);
    SELECT v_document AS p_result;
END;
--# create procedure {{ control }}.resume_rule
CREATE PROCEDURE {{ control }}.resume_rule(IN p_options longtext)
SQL SECURITY DEFINER
COMMENT 'Ends the pause of a rule and answers it. Example: CALL {{ control }}.resume_rule(''{"rule": "{{ rules.0.name }}"}''); [body @body@]'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_document longtext;
    CALL {{ control }}.check_options(p_options, '["rule"]');
    CALL {{ control }}.check_rule(p_options, v_rule);
    CALL {{ control }}.pause_document(v_rule, v_document);
    IF v_document IS NULL THEN
        CALL {{ control }}.refuse(CONCAT('rule ', v_rule, ' is not paused'), 'resume() ends a pause of everything');
    END IF;
    DELETE FROM {{ control }}.rule_pause WHERE rule = v_rule;
    SELECT v_document AS p_result;
END;

-- rule_paused: why a rule is passed over.
--# create procedure {{ control }}.rule_paused
CREATE PROCEDURE {{ control }}.rule_paused(IN p_rule varchar(64), OUT o_reason varchar(1000))
SQL SECURITY DEFINER
COMMENT 'Why the rule is passed over: who paused it, since when and why; NULL if nobody did. [body @body@]'
BEGIN
    SET o_reason = (
        SELECT LEFT(CONCAT('rule ', c.rule, ' is ', {{ w::paused(reason="reason") }}), 1000)
        FROM {{ control }}.rule_pause AS c
        WHERE c.rule = p_rule
    );
END;

-- note_refusal: what refuses a scheduled run on this server is written down once, not at every start.
--# create procedure {{ control }}.note_refusal
CREATE PROCEDURE {{ control }}.note_refusal(IN p_reason longtext)
SQL SECURITY DEFINER
COMMENT 'Writes to table refusal why this server refuses scheduled runs; NULL: it does not. [body @body@]'
BEGIN
    DECLARE v_server varchar(700);
    DECLARE v_known text;
    CALL {{ control }}.server_identity(v_server);
    SET v_known = (SELECT r.reason FROM {{ control }}.refusal AS r WHERE r.server = v_server);
    IF p_reason IS NULL AND v_known IS NOT NULL THEN
        DELETE FROM {{ control }}.refusal WHERE server = v_server;
    ELSEIF NOT p_reason <=> v_known THEN
        INSERT INTO {{ control }}.refusal (server, reason, since)
        VALUES (v_server, p_reason, UTC_TIMESTAMP(6))
        ON DUPLICATE KEY UPDATE
            reason = p_reason,
            since = UTC_TIMESTAMP(6);
    END IF;
END;

-- strangers: foreign keys that nobody told windrow of. A migration of the application may add one at any time: rows of
-- such a table would go, or lose their reference, without a rule, a count or a copy.
-- Tables of other databases are not looked for: the owner role sees this one only.
--# create procedure {{ control }}.strangers
CREATE PROCEDURE {{ control }}.strangers()
SQL SECURITY DEFINER
COMMENT 'Fills work_stranger with the foreign keys of tables that the spec does not name, to tables whose rows go. obeys: the server would delete or change their rows, and runs refuse; overruled: windrow install --force took note of it. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS {{ control }}.work_stranger;
    CREATE TEMPORARY TABLE {{ control }}.work_stranger (
        table_name      varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        constraint_name varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        parent          varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        on_delete       varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        obeys           boolean NOT NULL,
        overruled       boolean NOT NULL,
        PRIMARY KEY (table_name, constraint_name)
    ) ENGINE = InnoDB;
    INSERT INTO {{ control }}.work_stranger (table_name, constraint_name, parent, on_delete, obeys, overruled)
    SELECT
        f.table_name, f.constraint_name, f.referenced_table_name, LOWER(f.delete_rule),
        f.delete_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT'),
        COALESCE(JSON_CONTAINS(JSON_EXTRACT(c.forced_install, '$.findings'), JSON_OBJECT('code', 'unlisted-reference', 'object', f.table_name)), false)
    FROM information_schema.referential_constraints AS f
    CROSS JOIN {{ control }}.control AS c
    WHERE f.constraint_schema = {{ schema_literal }}
      AND f.unique_constraint_schema = {{ schema_literal }}
      AND f.referenced_table_name IN (
{%- for name in going %}
          {{ name }}{% if not loop.last %},{% endif %}
{%- endfor %}
      )
      AND f.table_name NOT IN (
{%- for name in known %}
          {{ name }}{% if not loop.last %},{% endif %}
{%- endfor %}
      );
END;

-- stranger: why no run may start, by the foreign keys.
--# create procedure {{ control }}.stranger
CREATE PROCEDURE {{ control }}.stranger(OUT o_stranger longtext)
SQL SECURITY DEFINER
COMMENT 'The first foreign key of an unknown table by which a deletion would reach further than the spec says; NULL if there is none. [body @body@]'
BEGIN
    CALL {{ control }}.strangers();
    SET o_stranger = (
        SELECT CONCAT('table ', s.table_name, ' references ', s.parent, ' by ', s.constraint_name, ' (on delete ', s.on_delete, '), and the spec does not know it')
        FROM {{ control }}.work_stranger AS s
        WHERE s.obeys
          AND NOT s.overruled
        ORDER BY s.table_name, s.constraint_name
        LIMIT 1
    );
    DROP TEMPORARY TABLE {{ control }}.work_stranger;
END;

-- check_stranger: a run by hand, or a purge, is told by an error.
--# create procedure {{ control }}.check_stranger
CREATE PROCEDURE {{ control }}.check_stranger()
SQL SECURITY DEFINER
COMMENT 'Raises 55000 where stranger() finds something. [body @body@]'
BEGIN
    DECLARE v_stranger longtext;
    CALL {{ control }}.stranger(v_stranger);
    IF v_stranger IS NOT NULL THEN
        CALL {{ control }}.not_ready(v_stranger, 'add it to the tables of the spec, or to the ignored ones with a reason, and run windrow install');
    END IF;
END;

-- held_back: why no run may start now. Where nobody armed windrow on this server, a scheduled run is refused without an
-- error: a replica that was promoted, a restored copy or another node of a cluster would fill the ledger with them.
--# create procedure {{ control }}.held_back
CREATE PROCEDURE {{ control }}.held_back(IN p_options longtext, IN p_dry_run boolean, OUT o_refused longtext)
SQL SECURITY DEFINER
COMMENT 'Why no run with these options may start now: a read-only server, a pause, and for scheduled runs also a server where nobody armed windrow, a foreign key that the spec does not know or a closed window; NULL if nothing speaks against it. [body @body@]'
BEGIN
    DECLARE v_armed    boolean;
    DECLARE v_armed_on varchar(700);
    DECLARE v_identity varchar(700);
    DECLARE v_paused   boolean;
    DECLARE v_text     longtext;
    DECLARE v_open     boolean;
    SELECT c.armed, c.server_identity, c.paused, {{ w::paused() }}
    INTO v_armed, v_armed_on, v_paused, v_text
    FROM {{ control }}.control AS c;
    IF CAST(@@GLOBAL.read_only AS char) NOT IN ('0', 'OFF') THEN
        SET o_refused = 'the server is read-only';
    ELSEIF v_paused THEN
        SET o_refused = v_text;
    ELSE
        -- Not one of the rules may be worked on.
        CALL {{ control }}.option_of(p_options, 'rule', v_text);
        SELECT IF(
            COUNT(p.rule) = COUNT(*),
            GROUP_CONCAT('rule ', p.rule, ' is ', {{ w::paused(c="p", reason="reason") }} ORDER BY r.position SEPARATOR '; '),
            NULL
        )
        INTO o_refused
        FROM (
{%- for rule in rules %}
            SELECT {{ rule.literal }} AS rule, {{ loop.index }} AS position{% if not loop.last %}
            UNION ALL{% endif %}
{%- endfor %}
        ) AS r
        LEFT JOIN {{ control }}.rule_pause AS p ON p.rule = r.rule
        WHERE r.rule = COALESCE(v_text, r.rule);
    END IF;
    CALL {{ control }}.option_of(p_options, 'trigger', v_text);
    IF v_text = 'SCHEDULED' AND NOT o_refused <=> 'the server is read-only' THEN
        IF o_refused IS NULL AND NOT p_dry_run THEN
            CALL {{ control }}.server_identity(v_identity);
            IF NOT v_armed THEN
                SET o_refused = 'not armed: nothing is deleted before someone said so';
            ELSEIF NOT v_armed_on <=> v_identity THEN
                SET o_refused = CONCAT('armed on another server: ', COALESCE(v_armed_on, 'unknown'));
            END IF;
        END IF;
        IF o_refused IS NULL THEN
            CALL {{ control }}.stranger(o_refused);
        END IF;
        IF o_refused IS NULL THEN
            CALL {{ control }}.in_window(UTC_TIMESTAMP(6), v_open);
            IF NOT v_open THEN
                SELECT CONCAT('no window is open: ', GROUP_CONCAT(h.written ORDER BY h.position SEPARATOR ', ')) INTO o_refused FROM {{ control }}.open_hours AS h;
            END IF;
        END IF;
        IF o_refused IS NOT NULL THEN
            CALL {{ control }}.note_refusal(o_refused);
        END IF;
    END IF;
END;

-- kept_back: why no scheduled run starts now, by the latest ones.
--# create procedure {{ control }}.kept_back
CREATE PROCEDURE {{ control }}.kept_back(OUT o_refused longtext)
SQL SECURITY DEFINER
COMMENT 'Why no scheduled run starts now: suspended after failures, or a back-off after runs that found nothing left; NULL if one may. [body @body@]'
BEGIN
    SELECT CASE
        WHEN s.suspended THEN CONCAT('suspended after ', s.failed_runs, ' failed runs in a row, the last one: ', s.last_error)
        WHEN s.idle_until > UTC_TIMESTAMP(6) THEN CONCAT('nothing left, runs in a row: ', s.empty_runs, '; back-off until ', DATE_FORMAT(s.idle_until, '%Y-%m-%dT%TZ'))
    END
    INTO o_refused
    FROM {{ control }}.scheduling AS s;
END;
