{% import "macros.sql" as w -%}
{{ w::session() }}

-- What somebody else has made in the control database is refused by name: CREATE TABLE IF NOT EXISTS would take it for
-- windrow's own. A statement that cannot be parsed is how a file refuses; the name that it does not know says why.
--# look for what others have made in {{ control }}
SET @windrow_statement = COALESCE(
    (
        SELECT CONCAT('DO `refused: ', REPLACE(CONCAT(c.object, ' ', c.problem), '`', ''), '`')
        FROM (
            {{ claims | indent(prefix="            ") }}
        ) AS c
        LIMIT 1
    ),
    'DO 0'
);
--# refuse what others have made in {{ control }}
PREPARE windrow_statement FROM @windrow_statement;
--# forget what others have made in {{ control }}
DEALLOCATE PREPARE windrow_statement;

-- Keys, names and scopes are compared byte by byte: utf8mb4_bin is the one such collation that both servers have.
--# create database {{ control }}
CREATE DATABASE IF NOT EXISTS {{ control }} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
--# set collation of database {{ control }}
ALTER DATABASE {{ control }} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- owner: the definer of all routines, views and events; nobody logs in as it. Everything runs with its rights only:
-- these here, and those on the application's tables in 50_grants.sql.
--# create role {{ owner }}
CREATE ROLE IF NOT EXISTS {{ owner }};
--# grant {{ control }} to {{ owner }}
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE TEMPORARY TABLES, EXECUTE, EVENT ON {{ control }}.* TO {{ owner }};

-- All times are in UTC, whatever the zone of the session or the server.

-- control: one row, the state of the whole installation. Nothing is deleted before arm() was called.
--# create table {{ control }}.control
CREATE TABLE IF NOT EXISTS {{ control }}.control (
    only_row        boolean      NOT NULL DEFAULT true PRIMARY KEY CHECK (only_row = true),
    spec            varchar(64)  NOT NULL,
    armed           boolean      NOT NULL DEFAULT false,
    armed_by        varchar(400),
    armed_at        datetime(6),
    armed_rules     json,
    server_identity varchar(700),
    orphans_at_arm  json,
    paused          boolean      NOT NULL DEFAULT false,
    paused_by       varchar(400),
    paused_at       datetime(6),
    paused_reason   text,
    begun           bigint       NOT NULL DEFAULT 0,
    forced_install  json,
    installed_by    varchar(400) NOT NULL DEFAULT (USER()),
    installed_at    datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = {{ schema_comment }};
--# fill table {{ control }}.control
INSERT INTO {{ control }}.control (spec)
SELECT {{ spec_literal }}
FROM DUAL
WHERE NOT EXISTS (SELECT 1 FROM {{ control }}.control AS c);
-- A rule that was not there when someone armed this deletes nothing before someone arms it again.
--# update table {{ control }}.control
UPDATE {{ control }}.control AS c
SET c.armed = false
WHERE c.armed
  AND (JSON_CONTAINS(c.armed_rules, {{ w::names_of_rules(rules=rules) }})) IS NOT TRUE;

-- latch: one row, which every batch locks in share mode while it works. Who writes a policy or a hold locks it exclusively
-- afterwards: then no batch is under way that did not see what was written.
--# create table {{ control }}.latch
CREATE TABLE IF NOT EXISTS {{ control }}.latch (
    only_row boolean NOT NULL DEFAULT true PRIMARY KEY CHECK (only_row = true)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Locked in share mode by every batch, exclusively by who writes a policy or a hold.';
--# fill table {{ control }}.latch
INSERT INTO {{ control }}.latch (only_row)
SELECT true
FROM DUAL
WHERE NOT EXISTS (SELECT 1 FROM {{ control }}.latch AS l);

-- policy: retention by scope. The minimum is enforced here, whoever writes.
--# create table {{ control }}.policy
CREATE TABLE IF NOT EXISTS {{ control }}.policy (
    rule              varchar(64)  NOT NULL,
    scope             varchar(255) NOT NULL,
    enabled           boolean      NOT NULL DEFAULT true,
    retention_seconds bigint       NOT NULL,
    artifacts         boolean      NOT NULL DEFAULT true,
    note              text,
    changed_by        varchar(400) NOT NULL DEFAULT (USER()),
    changed_at        datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (rule, scope)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Retention by rule and scope, in seconds. Written by set_policy() and drop_policy().';
{% for rule in rules %}
-- {{ rule.name }}: the minimum retention is {{ rule.minimum_text }}; it stands in the spec. An earlier constraint is replaced.
--# prepare constraint policy_{{ rule.name }}
SET @windrow_statement = CONCAT(
    'ALTER TABLE {{ control }}.policy ',
    (
        SELECT IF(COUNT(*) = 0, '', 'DROP CONSTRAINT policy_{{ rule.name }}, ')
        FROM information_schema.table_constraints AS c
        WHERE c.constraint_schema = {{ control_literal }}
          AND c.table_name = 'policy'
          AND c.constraint_name = 'policy_{{ rule.name }}'
    ),
    'ADD CONSTRAINT policy_{{ rule.name }} CHECK (',
    {{ rule.policy_check }},
    ')'
);
--# parse constraint policy_{{ rule.name }}
PREPARE windrow_statement FROM @windrow_statement;
--# create constraint policy_{{ rule.name }}
EXECUTE windrow_statement;
--# forget constraint policy_{{ rule.name }}
DEALLOCATE PREPARE windrow_statement;
{% endfor %}
-- hold: families that must stay, e.g. for a legal hold.
--# create table {{ control }}.hold
CREATE TABLE IF NOT EXISTS {{ control }}.hold (
    rule      varchar(64)  NOT NULL,
    `key`     varchar({{ key_length }}) NOT NULL,
    reason    text         NOT NULL,
    until     datetime(6),
    placed_by varchar(400) NOT NULL DEFAULT (USER()),
    placed_at datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    absent    boolean      NOT NULL DEFAULT false,
    PRIMARY KEY (rule, `key`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Every family with a member named here stays, until the hold is released or its date has passed. absent: the rule had no such row when the hold was set. Written by set_hold() and release_hold().';

-- run_window: when scheduled runs may work, where that is not what the spec says. Read again before every batch.
--# create table {{ control }}.run_window
CREATE TABLE IF NOT EXISTS {{ control }}.run_window (
    position   integer      NOT NULL PRIMARY KEY,
    written    varchar(255) NOT NULL,
    days       varchar(7)   NOT NULL CHECK (days REGEXP '^1?2?3?4?5?6?7?$'),
    begins     time         NOT NULL,
    ends       time         NOT NULL,
    zone       varchar(64)  NOT NULL,
    changed_by varchar(400) NOT NULL DEFAULT (USER()),
    changed_at datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'When scheduled runs may work, instead of the windows in the spec; empty: as the spec says. days: those on which a window begins, 1 is Monday. Written by set_windows().';

-- The ledger: what every run did.
--# create table {{ control }}.run
CREATE TABLE IF NOT EXISTS {{ control }}.run (
    run_id      bigint       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    `trigger`   varchar(20)  NOT NULL CHECK (`trigger` IN ('MANUAL', 'SCHEDULED', 'PURGE')),
    dry_run     boolean      NOT NULL,
    options     json         NOT NULL,
    as_of       datetime(6)  NOT NULL,
    deadline    datetime(6),
    status      varchar(20)  NOT NULL DEFAULT 'running'
        CHECK (status IN ('running', 'done', 'stopped', 'failed', 'cancelled', 'crashed')),
    reason      text,
    waiting_for   text,
    waiting_since datetime(6),
    backend_pid bigint       NOT NULL,
    node        varchar(700),
    alive_at    datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    started_by  varchar(400) NOT NULL DEFAULT (USER()),
    started_at  datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    finished_at datetime(6)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'One row per run. as_of is the instant that all cutoffs of the run are counted from. node: the server_identity() of the server it runs on; alive_at: its last sign of life, which every batch gives. crashed: its session vanished, seen by the next run; on another server of a cluster, no sign of life for an hour. waiting_for: why it rests before its next batch, or rested when it ended.';
--# create table {{ control }}.run_rule
CREATE TABLE IF NOT EXISTS {{ control }}.run_rule (
    run_id         bigint       NOT NULL,
    rule           varchar(64)  NOT NULL,
    families       bigint       NOT NULL DEFAULT 0,
    deleted_rows   bigint       NOT NULL DEFAULT 0,
    batches        bigint       NOT NULL DEFAULT 0,
    retries        bigint       NOT NULL DEFAULT 0,
    retries_in_row int          NOT NULL DEFAULT 0,
    batch_families int          NOT NULL,
    halving        boolean      NOT NULL DEFAULT false,
    cursor_time    varchar(40),
    cursor_key     varchar(255),
    paced_at       datetime(6),
    paced_size     int,
    paced_rows     bigint       NOT NULL DEFAULT 0,
    paced_batches  bigint       NOT NULL DEFAULT 0,
    rest_from      datetime(6),
    started_at     datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    updated_at     datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (run_id, rule)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Progress of a run, written in the transaction that deletes: cursor, counts, present batch size; halving: a family that fails is being searched. paced: what pace() measures the last batch by.';
--# create table {{ control }}.run_table
CREATE TABLE IF NOT EXISTS {{ control }}.run_table (
    run_id       bigint       NOT NULL,
    rule         varchar(64)  NOT NULL,
    position     int          NOT NULL,
    table_name   varchar(64)  NOT NULL,
    deleted_rows bigint       NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, rule, position)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Rows deleted by run, rule and table; position is the order of deletion.';
--# create table {{ control }}.run_skip
CREATE TABLE IF NOT EXISTS {{ control }}.run_skip (
    run_id      bigint      NOT NULL,
    rule        varchar(64) NOT NULL,
    reason      varchar(30) NOT NULL CHECK (reason IN (
        'NON_FINAL_MEMBER', 'RETENTION_NOT_REACHED', 'UNDATED_MEMBER', 'HELD', 'SHARED_MEMBER',
        'REFERENCED', 'LOCKED', 'FAILED', 'POLICY_DISABLED'
    )),
    families    bigint      NOT NULL,
    sample_keys json        NOT NULL,
    PRIMARY KEY (run_id, rule, reason)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Families that a run passed over, by reason, with the keys of the first ten.';
{%- if by_row %}
--# create table {{ control }}.run_pass
CREATE TABLE IF NOT EXISTS {{ control }}.run_pass (
    run_id       bigint      NOT NULL,
    rule         varchar(64) NOT NULL,
    pass         varchar(30) NOT NULL,
    deleted_rows bigint      NOT NULL,
    sample_keys  json        NOT NULL,
    PRIMARY KEY (run_id, rule, pass)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Why rows of single-row rules went: how many by run, rule and pass, with the keys of the first ten.';
{%- endif %}
--# create table {{ control }}.run_failure
CREATE TABLE IF NOT EXISTS {{ control }}.run_failure (
    run_id     bigint       NOT NULL,
    rule       varchar(64)  NOT NULL,
    `key`      varchar({{ key_length }}) NOT NULL,
    errno      int          NOT NULL,
    `sqlstate` char(5)      NOT NULL,
    message    text         NOT NULL,
    failed_at  datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (run_id, rule, `key`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Families whose deletion raised an error even on their own, with that error.';
--# create table {{ control }}.run_backlog
CREATE TABLE IF NOT EXISTS {{ control }}.run_backlog (
    rule             varchar(64) NOT NULL,
    run_id           bigint      NOT NULL,
    families         bigint      NOT NULL,
    counted_at       datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    rows_per_family  double,
    due_per_hour     double,
    deleted_per_hour double,
    PRIMARY KEY (rule, run_id),
    KEY (run_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Families that were due as a run ended, whether or not they may go, counted up to 1,000,000; rows of a family in the last runs; families an hour that became due and that went, over up to seven days.';

-- tally: what counters of the metrics count stays when the ledger is pruned.
--# create table {{ control }}.tally
CREATE TABLE IF NOT EXISTS {{ control }}.tally (
    name   varchar(64)  NOT NULL,
    labels varchar(300) NOT NULL,
    value  bigint       NOT NULL,
    PRIMARY KEY (name, labels)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The counters of view metrics, summed over the runs up to the one that the row "up to run" names. Written by tally_up().';
--# fill table {{ control }}.tally
INSERT INTO {{ control }}.tally (name, labels, value)
SELECT 'up to run', '{}', 0
FROM DUAL
WHERE NOT EXISTS (SELECT 1 FROM {{ control }}.tally AS t WHERE t.name = 'up to run' AND t.labels = '{}');

-- unfinished: the batch under way. Written in its transaction before the first deletion, taken out before its COMMIT: who
-- sees a row here sees what a session committed after its run was killed. Where no handler runs at KILL QUERY, a session
-- keeps the open transaction, and may commit it. The links tell the next run what was one family.
--# create table {{ control }}.unfinished
CREATE TABLE IF NOT EXISTS {{ control }}.unfinished (
    run_id bigint      NOT NULL,
    rule   varchar(64) NOT NULL,
    links  json        NOT NULL,
    since  datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (run_id, rule)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Batches that a session committed in part, after its run was killed: the links between their members. The next run finishes them.';

-- artifact: files that deleted rows named; `windrow artifacts drain` removes them, best effort.
--# create table {{ control }}.artifact
CREATE TABLE IF NOT EXISTS {{ control }}.artifact (
    artifact_id     bigint       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    run_id          bigint       NOT NULL,
    rule            varchar(64)  NOT NULL,
    host            longtext,
    path            longtext     NOT NULL,
    recorded_at     datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    attempts        int          NOT NULL DEFAULT 0,
    next_attempt_at datetime(6)  NOT NULL DEFAULT '1000-01-01 00:00:00',
    last_error      varchar(1000),
    given_up        boolean      NOT NULL DEFAULT false,
    claim           char(36),
    KEY (claim)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Outbox of files outside the database, written in the transaction that deleted their rows. A drained file leaves it. claim: the call of claim_artifacts() that took it last.';

-- Functions would need a privilege under the binary log: everything is a procedure with OUT parameters.

-- drop_shadows: a temporary table hides the table or view of its name, also from a routine that runs with other rights
-- than its caller. Everything that somebody may call drops the caller's own ones first.
{%- if maria %} Here anyone may even rename a temporary
-- table of his own to what he may not read.{% endif %}
--# create procedure {{ control }}.drop_shadows
CREATE PROCEDURE {{ control }}.drop_shadows()
SQL SECURITY DEFINER
COMMENT 'Drops the temporary tables of the session that have the name of a table or view which the routines read. [body @body@]'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS
{%- for name in shadows %}
        {{ name }}{% if loop.last %};{% else %},{% endif %}
{%- endfor %}
END;

-- refuse, not_ready: an error and what to do about it. A message holds 128 characters.
--# create procedure {{ control }}.refuse
CREATE PROCEDURE {{ control }}.refuse(IN p_message longtext, IN p_hint longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 22023: an option or a value makes no sense. [body @body@]'
BEGIN
    DECLARE v_text varchar(128);
    SET v_text = LEFT(CONCAT_WS('; ', p_message, p_hint), 128);
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = v_text;
END;
--# create procedure {{ control }}.not_ready
CREATE PROCEDURE {{ control }}.not_ready(IN p_message longtext, IN p_hint longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 55000: the installation or the server is not in a state for this. [body @body@]'
BEGIN
    DECLARE v_text varchar(128);
    SET v_text = LEFT(CONCAT_WS('; ', p_message, p_hint), 128);
    SIGNAL SQLSTATE '55000' SET MESSAGE_TEXT = v_text;
END;

-- seconds: '30d', '1d12h', 'P30D', 'PT90M' as seconds. Months and years are not a fixed length.
--# create procedure {{ control }}.seconds
CREATE PROCEDURE {{ control }}.seconds(IN p_duration longtext, OUT o_seconds bigint)
SQL SECURITY DEFINER
COMMENT 'Seconds of a duration like 30d, 1d12h or P30D; NULL of NULL. [body @body@]'
BEGIN
    DECLARE v_text longtext DEFAULT UPPER(p_duration);
    IF v_text NOT REGEXP '^P?([0-9]{1,9}W)?([0-9]{1,9}D)?T?([0-9]{1,9}H)?([0-9]{1,9}M)?([0-9]{1,9}S)?\\z' OR v_text NOT REGEXP '[0-9]' THEN
        CALL {{ control }}.refuse(CONCAT('not a duration: ', QUOTE(p_duration)), 'write it like 30d, 12h, 90m, 45s, 1d12h or P30D');
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
        CALL {{ control }}.refuse(CONCAT('too long a duration: ', QUOTE(p_duration)), 'the longest one is a thousand years');
    END IF;
END;

-- instant_of: an ISO-8601 text as an instant in UTC. The servers disagree about zones in texts, so the offset is added here.
--# create procedure {{ control }}.instant_of
CREATE PROCEDURE {{ control }}.instant_of(IN p_text longtext, OUT o_instant datetime(6))
SQL SECURITY DEFINER
COMMENT 'The instant in UTC of a text like 2027-01-01, 2027-01-01T08:30Z or 2027-01-01T08:30:00.5+02:00; NULL if it is none. [body @body@]'
BEGIN
    DECLARE v_local varchar(32);
    DECLARE v_zone varchar(8);
    -- It looks like an instant, but the calendar has none such.
    DECLARE EXIT HANDLER FOR 1292 SET o_instant = NULL;
    IF p_text REGEXP '^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)?)?\\z' THEN
        SET v_zone = NULLIF(REGEXP_SUBSTR(SUBSTRING(p_text, 11), '[+-].*'), '');
        SET v_local = REPLACE(TRIM(TRAILING 'Z' FROM TRIM(TRAILING COALESCE(v_zone, 'Z') FROM p_text)), 'T', ' ');
        -- Behind the microseconds nothing counts; the servers would round it differently.
        SET o_instant = CAST(LEFT(v_local, 26) AS datetime(6));
        IF v_zone IS NOT NULL THEN
            SET v_zone = RPAD(REPLACE(v_zone, ':', ''), 5, '0');
            SET o_instant = o_instant - INTERVAL CONCAT(LEFT(v_zone, 1), 1) * (CAST(SUBSTRING(v_zone, 2, 2) AS SIGNED) * 60 + CAST(SUBSTRING(v_zone, 4, 2) AS SIGNED)) MINUTE;
        END IF;
    END IF;
END;
{%- if by_calendar %}

-- days_before: the instant p_seconds before another, where 86,400 seconds are a day of the calendar: the clock of the zone
-- shows the same time then. A time that the clock showed twice is the first of the two. For one that it never showed, as
-- it was put forward, its distance from UTC before and after gives two instants; the earlier one counts.
--# create procedure {{ control }}.days_before
CREATE PROCEDURE {{ control }}.days_before(IN p_as_of datetime(6), IN p_seconds bigint, OUT o_instant datetime(6))
SQL SECURITY DEFINER
COMMENT 'The instant p_seconds before p_as_of, both in UTC, with the days of the calendar in {{ zone }}. [body @body@]'
BEGIN
    DECLARE v_clock  datetime(6);
    DECLARE v_before bigint;
    DECLARE v_after  bigint;
    DECLARE v_early  datetime(6);
    DECLARE v_late   datetime(6);
    SET v_clock = CONVERT_TZ(p_as_of - INTERVAL (p_seconds MOD 86400) SECOND, '+00:00', {{ named_zone }}) - INTERVAL (p_seconds DIV 86400) DAY;
    -- The zone's distance from UTC about a day before and a day after.
    SET v_before = TIMESTAMPDIFF(SECOND, v_clock - INTERVAL 1 DAY, CONVERT_TZ(v_clock - INTERVAL 1 DAY, '+00:00', {{ named_zone }}));
    SET v_after = TIMESTAMPDIFF(SECOND, v_clock + INTERVAL 1 DAY, CONVERT_TZ(v_clock + INTERVAL 1 DAY, '+00:00', {{ named_zone }}));
    SET v_early = v_clock - INTERVAL GREATEST(v_before, v_after) SECOND;
    SET v_late = v_clock - INTERVAL LEAST(v_before, v_after) SECOND;
    IF v_clock IS NULL OR v_early IS NULL OR v_late IS NULL THEN
        CALL {{ control }}.not_ready('the server does not know the time zone {{ zone }}', 'load the zones with {% if maria %}mariadb-tzinfo-to-sql{% else %}mysql_tzinfo_to_sql{% endif %}');
    END IF;
    SET o_instant = IF(CONVERT_TZ(v_early, '+00:00', {{ named_zone }}) = v_clock OR CONVERT_TZ(v_late, '+00:00', {{ named_zone }}) <> v_clock, v_early, v_late);
END;
{%- endif %}

-- check_options: an option that nobody knows is an error, not a surprise.
--# create procedure {{ control }}.check_options
CREATE PROCEDURE {{ control }}.check_options(IN p_options longtext, IN p_known longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 22023 for what is no JSON object, and for an option that is not in the JSON array of known ones. [body @body@]'
BEGIN
    DECLARE v_keys longtext;
    DECLARE v_name longtext;
    DECLARE v_place int DEFAULT 0;
    IF NOT COALESCE(JSON_VALID(p_options), false) THEN
        CALL {{ control }}.refuse('the options are not a JSON object', 'pass ''{}'' for the defaults');
    END IF;
    IF JSON_TYPE(p_options) <> 'OBJECT' THEN
        CALL {{ control }}.refuse('the options are not a JSON object', 'pass ''{}'' for the defaults');
    END IF;
    SET v_keys = JSON_KEYS(p_options);
    WHILE v_place < JSON_LENGTH(v_keys) DO
        SET v_name = JSON_EXTRACT(v_keys, CONCAT('$[', v_place, ']'));
        IF NOT JSON_CONTAINS(p_known, v_name) THEN
            CALL {{ control }}.refuse(
                CONCAT('unknown option: ', QUOTE(JSON_UNQUOTE(v_name))),
                IF(JSON_LENGTH(p_known) = 0, 'there are none', CONCAT('the options are: ', REPLACE(TRIM(BOTH ']' FROM TRIM(BOTH '[' FROM p_known)), '"', '')))
            );
        END IF;
        SET v_place = v_place + 1;
    END WHILE;
END;

-- option_of: an option as a text; NULL where it is left out or null.
--# create procedure {{ control }}.option_of
CREATE PROCEDURE {{ control }}.option_of(IN p_options longtext, IN p_name varchar(64), OUT o_value longtext)
SQL SECURITY DEFINER
COMMENT 'An option as a text; NULL where it is left out or null. [body @body@]'
BEGIN
    DECLARE v_value longtext DEFAULT JSON_EXTRACT(p_options, CONCAT('$.', p_name));
    IF JSON_TYPE(v_value) <> 'NULL' THEN
        SET o_value = JSON_UNQUOTE(v_value);
    END IF;
END;

-- flag_of: an option that is true or false.
--# create procedure {{ control }}.flag_of
CREATE PROCEDURE {{ control }}.flag_of(IN p_options longtext, IN p_name varchar(64), OUT o_value boolean)
SQL SECURITY DEFINER
COMMENT 'An option that is true or false; NULL where it is left out or null; raises 22023 for anything else. [body @body@]'
BEGIN
    DECLARE v_text longtext;
    CALL {{ control }}.option_of(p_options, p_name, v_text);
    IF v_text NOT IN ('true', 'false') THEN
        CALL {{ control }}.refuse(CONCAT(p_name, ' is not true or false: ', QUOTE(v_text)), CONCAT('write {"', p_name, '": true}'));
    END IF;
    SET o_value = v_text = 'true';
END;

-- check_rule: the rule that an option document names, or the only one.
--# create procedure {{ control }}.check_rule
CREATE PROCEDURE {{ control }}.check_rule(IN p_options longtext, OUT o_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'The rule that the options name; where the spec has one rule it may be left out. [body @body@]'
BEGIN
    DECLARE v_rule longtext;
    CALL {{ control }}.option_of(p_options, 'rule', v_rule);
{%- if rules | length == 1 %}
    SET v_rule = COALESCE(v_rule, {{ rules.0.literal }});
{%- else %}
    IF v_rule IS NULL THEN
        CALL {{ control }}.refuse('the option rule is missing: there are {{ rules | length }} rules', CONCAT('name one of them: ', CONCAT_WS(', ', {{ rule_literals }})));
    END IF;
{%- endif %}
    IF v_rule IS NULL OR v_rule NOT IN ({{ rule_literals }}) THEN
        CALL {{ control }}.refuse(CONCAT('no such rule: ', QUOTE(v_rule)), CONCAT('the rules are: ', CONCAT_WS(', ', {{ rule_literals }})));
    END IF;
    SET o_rule = v_rule;
END;

{% if by_composite -%}
-- key_of: a key as the ledger writes it. One of several columns comes as a JSON array, however it is written.
--# create procedure {{ control }}.key_of
CREATE PROCEDURE {{ control }}.key_of(IN p_value longtext, OUT o_key longtext)
SQL SECURITY DEFINER
COMMENT 'A key, given as JSON, as a text: the parts of an array between commas and spaces; NULL of null. [body @body@]'
BEGIN
    DECLARE v_part longtext;
    DECLARE v_place int DEFAULT 0;
    IF JSON_TYPE(p_value) = 'ARRAY' THEN
        SET o_key = '';
        WHILE v_place < JSON_LENGTH(p_value) DO
            SET v_part = JSON_EXTRACT(p_value, CONCAT('$[', v_place, ']'));
            SET o_key = CONCAT(o_key, IF(v_place = 0, '', ', '), IF(JSON_TYPE(v_part) = 'STRING', JSON_QUOTE(JSON_UNQUOTE(v_part)), v_part));
            SET v_place = v_place + 1;
        END WHILE;
        SET o_key = CONCAT('[', o_key, ']');
    ELSEIF JSON_TYPE(p_value) <> 'NULL' THEN
        SET o_key = JSON_UNQUOTE(p_value);
    END IF;
END;

{% endif -%}
-- check_key: a key is a value of the key column of the rule's root table.
--# create procedure {{ control }}.check_key
CREATE PROCEDURE {{ control }}.check_key(IN p_rule varchar(64), IN p_key longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 22023 for what cannot be a key of the root table of the rule. [body @body@]'
BEGIN
    DECLARE v_valid boolean DEFAULT false;
{%- for rule in rules %}
    IF p_rule = {{ rule.literal }} THEN
{%- if rule.single and rule.single.composite %}
        -- A key of several columns is a JSON array, written as the server writes it.
        IF JSON_VALID(p_key) AND CHAR_LENGTH(p_key) <= {{ key_length }} THEN
            IF JSON_TYPE(p_key) = 'ARRAY' THEN
                SET v_valid = {{ rule.single.is_key }};
            END IF;
        END IF;
        IF NOT v_valid THEN
            CALL {{ control }}.refuse(CONCAT('not a key of ', {{ rule.table_literal }}, ': ', QUOTE(p_key)), 'a key is a JSON array of {{ rule.single.key_form }}');
        END IF;
{%- else %}
        -- A number that looks like a key may still be beyond the range of the column.
        IF p_key REGEXP {{ rule.key_pattern }} AND CHAR_LENGTH(p_key) <= 255 THEN
            SET v_valid = {{ rule.key_within_range }};
        END IF;
        IF NOT v_valid THEN
            CALL {{ control }}.refuse(CONCAT('not a key of ', {{ rule.table_literal }}, ': ', QUOTE(p_key)), 'a key is a value of {{ rule.table_name }}.{{ rule.key_name }}');
        END IF;
{%- endif %}
    END IF;
{%- endfor %}
{%- for stamp in stamped %}{% if stamp.of %}
    IF p_rule = {{ stamp.whole_name }} THEN
        IF p_key REGEXP {{ stamp.key_pattern }} AND CHAR_LENGTH(p_key) <= 255 THEN
            SET v_valid = {{ stamp.key_within_range }};
        END IF;
        IF NOT v_valid THEN
            CALL {{ control }}.refuse(CONCAT('not a key of ', {{ stamp.table_literal }}, ': ', QUOTE(p_key)), 'a key is a value of {{ stamp.table_name }}.{{ stamp.key_name }}');
        END IF;
    END IF;
{%- endif %}{% endfor %}
END;

-- check_scope: a scope is a value of the column by which the rule's policies are set.
--# create procedure {{ control }}.check_scope
CREATE PROCEDURE {{ control }}.check_scope(IN p_rule varchar(64), IN p_scope longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 22023 for what cannot be a scope of the rule. [body @body@]'
BEGIN
    DECLARE v_valid boolean DEFAULT false;
{%- for rule in rules %}
    IF p_rule = {{ rule.literal }} THEN
{%- if rule.per %}
        IF p_scope REGEXP {{ rule.scope_pattern }} AND CHAR_LENGTH(p_scope) <= 255 THEN
            SET v_valid = {{ rule.scope_within_range }};
        END IF;
        IF NOT v_valid THEN
            CALL {{ control }}.refuse(CONCAT('not a scope of rule {{ rule.name }}: ', QUOTE(p_scope)), 'a scope is a value of {{ rule.table_name }}.{{ rule.per_name }}');
        END IF;
{%- else %}
        CALL {{ control }}.refuse('rule {{ rule.name }} has no scopes', 'leave the option scope out{% if rules | length > 1 %}, or name another rule{% endif %}');
{%- endif %}
    END IF;
{%- endfor %}
END;

-- check_run_options: the options of run() and preview(), checked before anything happens. Answers the pinned instant.
--# create procedure {{ control }}.check_run_options
CREATE PROCEDURE {{ control }}.check_run_options(IN p_options longtext, OUT o_as_of datetime(6))
SQL SECURITY DEFINER
COMMENT 'Raises 22023 with a hint for an option that makes no sense; answers the instant from which cutoffs are counted. [body @body@]'
BEGIN
    DECLARE v_rule varchar(64);
    DECLARE v_text longtext;
    DECLARE v_scope longtext;
    DECLARE v_seconds bigint;
    DECLARE v_from datetime(6);
    SET o_as_of = UTC_TIMESTAMP(6);
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.rule') THEN
        CALL {{ control }}.check_rule(p_options, v_rule);
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.as_of') THEN
        CALL {{ control }}.option_of(p_options, 'as_of', v_text);
        CALL {{ control }}.instant_of(v_text, o_as_of);
        IF o_as_of IS NULL OR o_as_of > UTC_TIMESTAMP(6) THEN
            CALL {{ control }}.refuse(CONCAT('as_of is not an instant of the past: ', QUOTE(v_text)), CONCAT('write it like ', DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%dT%TZ'), '; without a zone it is UTC'));
        END IF;
    END IF;
    CALL {{ control }}.option_of(p_options, 'retention', v_text);
    CALL {{ control }}.seconds(v_text, v_seconds);
    CALL {{ control }}.option_of(p_options, 'scope', v_scope);
{%- for rule in rules %}
    IF COALESCE(v_rule, {{ rule.literal }}) = {{ rule.literal }} THEN
{%- if rule.timed and not rule.timed.ages %}
        IF JSON_CONTAINS_PATH(p_options, 'one', '$.retention') THEN
            CALL {{ control }}.refuse('rule {{ rule.name }} has no retention of its own', 'leave the option out: {{ rule.table_name }}.{{ rule.end_time_name }} holds it');
        END IF;
{%- elif rule.single and not rule.single.aged %}
        IF JSON_CONTAINS_PATH(p_options, 'one', '$.retention') THEN
            CALL {{ control }}.refuse('rule {{ rule.name }} has no retention', 'leave the option out: its rows go whatever their age');
        END IF;
{%- else %}
        IF v_seconds < {{ rule.minimum }} THEN
            CALL {{ control }}.refuse(CONCAT('a retention of ', v_text, ' is under the minimum of rule {{ rule.name }}'), 'the minimum is {{ rule.minimum_text }}; it stands in the spec');
        END IF;
{%- endif %}
        IF v_scope IS NOT NULL THEN
            CALL {{ control }}.check_scope({{ rule.literal }}, v_scope);
        END IF;
    END IF;
{%- endfor %}
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.from') THEN
{%- for rule in rules %}{% if rule.single %}
        IF COALESCE(v_rule, {{ rule.literal }}) = {{ rule.literal }} THEN
            CALL {{ control }}.refuse('rule {{ rule.name }} does not go along a time', 'leave the option from out{% if rules | length > 1 %}, or name another rule{% endif %}');
        END IF;
{%- endif %}{% endfor %}
        CALL {{ control }}.option_of(p_options, 'from', v_text);
        CALL {{ control }}.instant_of(v_text, v_from);
        -- No zone: the server would refuse it further on, or turn it into that of the session.
        IF v_from IS NULL OR CHAR_LENGTH(v_text) > 26 OR v_text REGEXP ':.*[Z+-]' THEN
            CALL {{ control }}.refuse(CONCAT('from is not a time: ', QUOTE(v_text)), 'write it like 2026-01-31T12:00:00, by the clock of the application');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.run_families') THEN
        CALL {{ control }}.option_of(p_options, 'run_families', v_text);
        IF (v_text REGEXP '^[1-9][0-9]{0,17}\\z') IS NOT TRUE THEN
            CALL {{ control }}.refuse(CONCAT('run_families is not a number above 0: ', QUOTE(v_text)), 'write it like {"run_families": 100}');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.time_budget') THEN
        CALL {{ control }}.option_of(p_options, 'time_budget', v_text);
        CALL {{ control }}.seconds(v_text, v_seconds);
        IF COALESCE(v_seconds, 0) <= 0 THEN
            CALL {{ control }}.refuse(CONCAT('time_budget is not a duration above 0: ', QUOTE(v_text)), 'write it like {"time_budget": "10m"}');
        END IF;
    END IF;
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.dry_run') AND JSON_TYPE(JSON_EXTRACT(p_options, '$.dry_run')) <> 'BOOLEAN' THEN
        CALL {{ control }}.refuse(CONCAT('dry_run is not true or false: ', JSON_EXTRACT(p_options, '$.dry_run')), 'write {"dry_run": true}');
    END IF;
{%- if workers > 1 %}
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.worker') THEN
        CALL {{ control }}.option_of(p_options, 'worker', v_text);
        IF (JSON_TYPE(JSON_EXTRACT(p_options, '$.worker')) = 'INTEGER' AND v_text REGEXP '^[1-{{ workers }}]\\z') IS NOT TRUE THEN
            CALL {{ control }}.refuse(CONCAT('worker is not a number from 1 to {{ workers }}: ', COALESCE(QUOTE(v_text), 'null')), 'the spec says how many there are');
        END IF;
    END IF;
{%- endif %}
    IF JSON_CONTAINS_PATH(p_options, 'one', '$.trigger') THEN
        CALL {{ control }}.option_of(p_options, 'trigger', v_text);
        IF (v_text IN ('MANUAL', 'SCHEDULED')) IS NOT TRUE THEN
            CALL {{ control }}.refuse(CONCAT('trigger is neither MANUAL nor SCHEDULED: ', QUOTE(v_text)), 'leave it out: MANUAL is the default');
        END IF;
    END IF;
{%- if named_zone %}
    -- The cutoffs are counted in the zone of the application.
    IF CONVERT_TZ('2026-01-01 00:00:00', '+00:00', {{ named_zone }}) IS NULL THEN
        CALL {{ control }}.not_ready('the server does not know the time zone {{ zone }}', 'load the zones with {% if maria %}mariadb-tzinfo-to-sql{% else %}mysql_tzinfo_to_sql{% endif %}');
    END IF;
{%- endif %}
END;

-- server_identity: what tells this server from its restored copies, clones and promoted replicas.
{%- if maria %}
-- MariaDB has no identifier of its own that a copy would not share: host, port, folder, address and number tell them apart.
-- A restart and a minor upgrade change none of them; the start of the server counts where arm_with() said until restart.
{%- else %}
-- A copy of the whole folder shares the identifier: it stands on another host, in another folder, or has another port. A
-- restart and a minor upgrade change none of them; the start of the server counts where arm_with() said until restart.
{%- endif %}
--# create procedure {{ control }}.server_identity
CREATE PROCEDURE {{ control }}.server_identity(OUT o_identity varchar(700))
SQL SECURITY DEFINER
COMMENT 'The server and the control database; arm() stores it, and a run refuses when it has changed. [body @body@]'
BEGIN
{%- if maria %}
    SET o_identity = LEFT(CONCAT_WS(' ', @@hostname, @@port, @@datadir, @@bind_address, @@server_id, {{ control_literal }}), 600);
{%- else %}
    SET o_identity = LEFT(CONCAT_WS(' ', @@server_uuid, @@hostname, @@port, @@datadir, @@bind_address, {{ control_literal }}), 600);
{%- endif %}
    -- Both are counted from the same clock at the same instant: what is left is the second of the start, exactly.
    IF EXISTS (SELECT 1 FROM {{ control }}.control AS c WHERE c.server_identity LIKE '% started at %') THEN
        SELECT CONCAT(o_identity, ' started at ', UNIX_TIMESTAMP() - CAST(v.variable_value AS signed))
        INTO o_identity
        FROM {% if maria %}information_schema{% else %}performance_schema{% endif %}.global_status AS v
        WHERE v.variable_name = 'Uptime';
    END IF;
END;

-- record_skips: adds the families that a batch passed over to the ledger: the rows of the temporary table work_skip
-- (position, skip_key, reason).
--# create procedure {{ control }}.record_skips
CREATE PROCEDURE {{ control }}.record_skips(IN p_run bigint, IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Adds the rows of the temporary table work_skip (position, skip_key, reason) to table run_skip, by reason. [body @body@]'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    SET SESSION group_concat_max_len = 16777216;
    INSERT INTO {{ control }}.run_skip (run_id, rule, reason, families, sample_keys)
    SELECT
        p_run,
        p_rule,
        k.reason,
        COUNT(*),
        CONCAT('[', COALESCE(GROUP_CONCAT(CASE WHEN k.place + COALESCE(JSON_LENGTH(r.sample_keys), 0) <= 10 THEN JSON_QUOTE(k.skip_key) END ORDER BY k.place SEPARATOR ', '), ''), ']')
    FROM (
        SELECT
            s.reason,
            CAST(s.skip_key AS CHAR) AS skip_key,
            ROW_NUMBER() OVER (PARTITION BY s.reason ORDER BY s.position) AS place
        FROM {{ control }}.work_skip AS s
    ) AS k
    LEFT JOIN {{ control }}.run_skip AS r ON r.run_id = p_run AND r.rule = p_rule AND r.reason = k.reason
    GROUP BY k.reason
    ON DUPLICATE KEY UPDATE
        families = {{ control }}.run_skip.families + VALUES(families),
        sample_keys = JSON_MERGE_PRESERVE({{ control }}.run_skip.sample_keys, VALUES(sample_keys));
    SET SESSION group_concat_max_len = v_length;
END;
{%- if by_row %}

-- record_pass: adds the rows that a batch deleted to the ledger, by the reason why they went: the rows of the temporary table
-- work_gone (position, row_key).
--# create procedure {{ control }}.record_pass
CREATE PROCEDURE {{ control }}.record_pass(IN p_run bigint, IN p_rule varchar(64), IN p_pass varchar(30))
SQL SECURITY DEFINER
COMMENT 'Adds the rows of the temporary table work_gone (position, row_key) to table run_pass, by the pass that found them. [body @body@]'
BEGIN
    INSERT INTO {{ control }}.run_pass (run_id, rule, pass, deleted_rows, sample_keys)
    SELECT
        p_run,
        p_rule,
        p_pass,
        COUNT(*),
        CONCAT('[', COALESCE(GROUP_CONCAT(CASE WHEN k.place + COALESCE(JSON_LENGTH(r.sample_keys), 0) <= 10 THEN JSON_QUOTE(k.row_key) END ORDER BY k.place SEPARATOR ', '), ''), ']')
    FROM (
        SELECT g.row_key, ROW_NUMBER() OVER (ORDER BY g.position) AS place
        FROM {{ control }}.work_gone AS g
    ) AS k
    LEFT JOIN {{ control }}.run_pass AS r ON r.run_id = p_run AND r.rule = p_rule AND r.pass = p_pass
    ON DUPLICATE KEY UPDATE
        deleted_rows = {{ control }}.run_pass.deleted_rows + VALUES(deleted_rows),
        sample_keys = JSON_MERGE_PRESERVE({{ control }}.run_pass.sample_keys, VALUES(sample_keys));
END;
{%- endif %}
