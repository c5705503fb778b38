-- All times are in UTC, whatever the zone of the session or the server.

-- control: one row, the state of the whole installation. Nothing is deleted before arm() was called.
--# create table control
CREATE TABLE IF NOT EXISTS control (
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
    COMMENT = 'windrow: the state of the installation. Everything in this database is generated from a spec, except the rows.';
-- spec: what the spec says of the whole installation.
--# create table spec
CREATE TABLE IF NOT EXISTS spec (
    only_row    boolean      NOT NULL DEFAULT true PRIMARY KEY,
    schema_name varchar(64)  NOT NULL,
    workers     int          NOT NULL,
    archives    boolean      NOT NULL,
    run_lock    varchar(64)  NOT NULL,
    owner       varchar(80)  NOT NULL,
    operator    varchar(80)  NOT NULL,
    auditor     varchar(80)  NOT NULL,
    document    json         NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'What the spec says of the whole installation, in one row. schema_name: the database of its tables;
        workers: how many runs there may be at a time; archives: some rows are copied before they go; run_lock: the name
        of the lock that a run holds. Written by an installation.';
--# fill table spec
INSERT INTO spec (only_row, schema_name, workers, archives, run_lock, owner, operator, auditor, document)
VALUES (
    true,
    JSON_VALUE(@windrow_document, '$.schema'),
    JSON_VALUE(@windrow_document, '$.workers'),
    JSON_CONTAINS_PATH(@windrow_document, 'one', '$.archives'),
    JSON_VALUE(@windrow_document, '$.run_lock'),
    JSON_VALUE(@windrow_document, '$.roles.owner'),
    JSON_VALUE(@windrow_document, '$.roles.operator'),
    JSON_VALUE(@windrow_document, '$.roles.auditor'),
    @windrow_document
)
-- An event may read the row meanwhile: it waits for this change, where a REPLACE could meet it in a deadlock.
ON DUPLICATE KEY UPDATE
    schema_name = JSON_VALUE(@windrow_document, '$.schema'),
    workers = JSON_VALUE(@windrow_document, '$.workers'),
    archives = JSON_CONTAINS_PATH(@windrow_document, 'one', '$.archives'),
    run_lock = JSON_VALUE(@windrow_document, '$.run_lock'),
    owner = JSON_VALUE(@windrow_document, '$.roles.owner'),
    operator = JSON_VALUE(@windrow_document, '$.roles.operator'),
    auditor = JSON_VALUE(@windrow_document, '$.roles.auditor'),
    document = @windrow_document;

-- known_routine: the routines that the installation made, file by file: what verify() looks for.
--# create table known_routine
CREATE TABLE IF NOT EXISTS known_routine (
    file    varchar(100) NOT NULL,
    routine varchar(64)  NOT NULL,
    PRIMARY KEY (file, routine)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The routines that the last installation made, by file. Written by register_routines(), at the end of each file.';
-- What an earlier state of the spec had is looked for no more.
--# empty table known_routine
DELETE FROM known_routine WHERE file > '';
--# create procedure register_routines
CREATE PROCEDURE register_routines(IN p_file varchar(100), IN p_routines longtext)
SQL SECURITY DEFINER
COMMENT 'Notes which routines a file of the installation made.'
BEGIN
    DELETE FROM known_routine WHERE file = p_file;
    INSERT INTO known_routine (file, routine)
    SELECT DISTINCT p_file, r.routine
    FROM JSON_TABLE(p_routines, '$[*]' COLUMNS (routine varchar(64) PATH '$')) AS r;
END;

--# fill table control
INSERT INTO control (spec)
SELECT JSON_VALUE(s.document, '$.spec')
FROM spec AS s
WHERE NOT EXISTS (SELECT 1 FROM control AS c);
-- A rule that was not there when someone armed this deletes nothing before someone arms it again.
--# update table control
UPDATE control AS c
SET c.armed = false
WHERE c.armed
  AND (JSON_CONTAINS(c.armed_rules, JSON_EXTRACT(@windrow_document, '$.rules'))) IS NOT TRUE;

-- latch: one row, which every batch locks in share mode while it works. Who writes a policy or a hold locks it exclusively
-- afterwards: then no batch is under way that did not see what was written.
--# create table latch
CREATE TABLE IF NOT EXISTS latch (
    only_row boolean NOT NULL DEFAULT true PRIMARY KEY CHECK (only_row = true)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Locked in share mode by every batch, exclusively by who writes a policy or a hold.';
--# fill table latch
INSERT INTO latch (only_row)
SELECT true
FROM DUAL
WHERE NOT EXISTS (SELECT 1 FROM latch AS l);

-- policy: retention by scope. The minimum is enforced here, whoever writes.
--# create table policy
CREATE TABLE IF NOT EXISTS policy (
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

-- hold: families that must stay, e.g. for a legal hold.
-- No blanks are added to compare keys: the column that they are of may tell them apart.
--# create table hold
CREATE TABLE IF NOT EXISTS hold (
    rule      varchar(64)  NOT NULL,
    `key`     varchar(700) /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */ NOT NULL,
    reason    text         NOT NULL,
    until     datetime(6),
    placed_by varchar(400) NOT NULL DEFAULT (USER()),
    placed_at datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    absent    boolean      NOT NULL DEFAULT false,
    PRIMARY KEY (rule, `key`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Every family with a member named here stays, until the hold is released or its date has passed. absent:
        the rule had no such row when the hold was set. Written by set_hold() and release_hold().';

-- run_window: when scheduled runs may work, where that is not what the spec says. Read again before every batch.
--# create table run_window
CREATE TABLE IF NOT EXISTS run_window (
    position   integer      NOT NULL PRIMARY KEY,
    written    varchar(255) NOT NULL,
    days       varchar(7)   NOT NULL CHECK (days REGEXP '^1?2?3?4?5?6?7?$'),
    begins     time         NOT NULL,
    ends       time         NOT NULL,
    zone       varchar(64)  NOT NULL,
    changed_by varchar(400) NOT NULL DEFAULT (USER()),
    changed_at datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'When scheduled runs may work, instead of the windows in the spec; empty: as the spec says. days: those on
        which a window begins, 1 is Monday. Written by set_windows().';

-- The ledger: what every run did.
--# create table run
CREATE TABLE IF NOT EXISTS run (
    run_id      bigint       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    `trigger`   varchar(20)  NOT NULL,
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
    COMMENT = 'One row per run. as_of is the instant that all cutoffs of the run are counted from. node: the
        server_identity() of the server it runs on; alive_at: its last sign of life, which every batch gives. crashed:
        its session vanished, seen by the next run; on another server of a cluster, no sign of life for an hour.
        waiting_for: why it rests before its next batch, or rested when it ended.';
-- What may stand in a column is said again where an earlier version said it otherwise.
--# prepare constraint run_trigger
SET @windrow_statement = /*M! 'ALTER TABLE run MODIFY COLUMN `trigger` varchar(20) NOT NULL CHECK (`trigger` IN '
    '(''MANUAL'', ''SCHEDULED'', ''PURGE'', ''STAMP''))' */
/*!80000 COALESCE(
    (
        SELECT CONCAT(
            'ALTER TABLE run ', COALESCE(GROUP_CONCAT(CONCAT('DROP CONSTRAINT ', c.constraint_name, ', ') SEPARATOR ''), ''),
            'ADD CONSTRAINT run_trigger CHECK (`trigger` IN (''MANUAL'', ''SCHEDULED'', ''PURGE'', ''STAMP''))'
        )
        FROM information_schema.table_constraints AS t
        JOIN information_schema.check_constraints AS c ON c.constraint_schema = t.constraint_schema
            AND c.constraint_name = t.constraint_name
        WHERE t.constraint_schema = DATABASE()
          AND t.table_name = 'run'
          AND c.check_clause LIKE '%PURGE%'
    ),
    'DO 0'
) */;
--# parse constraint run_trigger
PREPARE windrow_statement FROM @windrow_statement;
--# create constraint run_trigger
EXECUTE windrow_statement;
--# forget constraint run_trigger
DEALLOCATE PREPARE windrow_statement;
--# modify table hold
ALTER TABLE hold MODIFY COLUMN `key` varchar(700) /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */ NOT NULL;
--# create table run_rule
CREATE TABLE IF NOT EXISTS run_rule (
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
    COMMENT = 'Progress of a run, written in the transaction that deletes: cursor, counts, present batch size; halving:
        a family that fails is being searched. paced: what pace() measures the last batch by.';
--# create table run_table
CREATE TABLE IF NOT EXISTS run_table (
    run_id       bigint       NOT NULL,
    rule         varchar(64)  NOT NULL,
    position     int          NOT NULL,
    table_name   varchar(64)  NOT NULL,
    deleted_rows bigint       NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, rule, position)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Rows deleted by run, rule and table; position is the order of deletion.';
--# create table run_skip
CREATE TABLE IF NOT EXISTS run_skip (
    run_id      bigint      NOT NULL,
    rule        varchar(64) NOT NULL,
    reason      varchar(30) NOT NULL CHECK (reason IN (
        --+ reasons.sql
    )),
    families    bigint      NOT NULL,
    sample_keys json        NOT NULL,
    PRIMARY KEY (run_id, rule, reason)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Families that a run passed over, by reason, with the keys of the first ten.';
--# create table run_pass
CREATE TABLE IF NOT EXISTS run_pass (
    run_id       bigint      NOT NULL,
    rule         varchar(64) NOT NULL,
    pass         varchar(30) NOT NULL,
    deleted_rows bigint      NOT NULL,
    sample_keys  json        NOT NULL,
    PRIMARY KEY (run_id, rule, pass)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Why rows of single-row rules went: how many by run, rule and pass, with the keys of the first ten.';
-- A sweep: what several workers go through together.
--# create table run_sweep
CREATE TABLE IF NOT EXISTS run_sweep (
    run_id   bigint NOT NULL PRIMARY KEY,
    sweep_id bigint NOT NULL,
    worker   int    NOT NULL,
    at_rule  varchar(64),
    KEY (sweep_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The worker of each run, the sweep that it is part of (the run that began it), and the rule at which it works.';
--# create table run_failure
CREATE TABLE IF NOT EXISTS run_failure (
    run_id     bigint       NOT NULL,
    rule       varchar(64)  NOT NULL,
    `key`      varchar(700) NOT NULL,
    errno      int          NOT NULL,
    `sqlstate` char(5)      NOT NULL,
    message    text         NOT NULL,
    failed_at  datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (run_id, rule, `key`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Families whose deletion raised an error even on their own, with that error.';
--# modify table run_failure
ALTER TABLE run_failure MODIFY COLUMN `key` varchar(700) NOT NULL;
--# create table run_stamp
CREATE TABLE IF NOT EXISTS run_stamp (
    run_id         bigint       NOT NULL,
    rule           varchar(64)  NOT NULL,
    families       bigint       NOT NULL DEFAULT 0,
    changed_rows   bigint       NOT NULL DEFAULT 0,
    batches        bigint       NOT NULL DEFAULT 0,
    retries        bigint       NOT NULL DEFAULT 0,
    retries_in_row int          NOT NULL DEFAULT 0,
    batch_families int          NOT NULL,
    halving        boolean      NOT NULL DEFAULT false,
    cursor_key     bigint       NOT NULL DEFAULT 0,
    table_rows     json         NOT NULL,
    started_at     datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    updated_at     datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (run_id, rule)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Progress of a stamp, written in the transaction that changes the rows: cursor, families looked at that
        have the removal time now, rows that were changed, by table.';
--# create table run_backlog
CREATE TABLE IF NOT EXISTS run_backlog (
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
    COMMENT = 'Families that were due as a run ended, whether or not they may go, counted up to 1,000,000; rows of a
        family in the last runs; families an hour that became due and that went, over up to seven days.';

--# create table run_claim
CREATE TABLE IF NOT EXISTS run_claim (
    run_id    bigint      NOT NULL,
    rule      varchar(64) NOT NULL,
    claimed   longtext    NOT NULL,
    left_keys longtext    NOT NULL,
    is_last   boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (run_id, rule)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The roots that a worker has claimed and not looked at yet, with their times; those that it left because a
        row of theirs was locked, for the last claim of the sweep.';

-- kept_run: runs that the ledger would have forgotten by now, if there were no archived rows of them.
--# create table kept_run
CREATE TABLE IF NOT EXISTS kept_run (
    run_id bigint NOT NULL PRIMARY KEY
) ENGINE = InnoDB
    COMMENT = 'Runs older than ledger_days that the ledger keeps, since rows of them are archived. Written by keep_archive().';

-- tally: what counters of the metrics count stays when the ledger is pruned.
--# create table tally
CREATE TABLE IF NOT EXISTS tally (
    name   varchar(64)  NOT NULL,
    labels varchar(300) NOT NULL,
    value  bigint       NOT NULL,
    PRIMARY KEY (name, labels)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The counters of view metrics, summed over the runs up to the one that the row "up to run" names. Written by tally_up().';
--# fill table tally
INSERT INTO tally (name, labels, value)
SELECT 'up to run', '{}', 0
FROM DUAL
WHERE NOT EXISTS (SELECT 1 FROM tally AS t WHERE t.name = 'up to run' AND t.labels = '{}');

-- unfinished: the batch under way. Written in its transaction before the first deletion, taken out before its COMMIT: who
-- sees a row here sees what a session committed after its run was killed. Where no handler runs at KILL QUERY, a session
-- keeps the open transaction, and may commit it. The links tell the next run what was one family.
--# create table unfinished
CREATE TABLE IF NOT EXISTS unfinished (
    run_id bigint      NOT NULL,
    rule   varchar(64) NOT NULL,
    links  json        NOT NULL,
    since  datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (run_id, rule)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Batches that a session committed in part, after its run was killed: the links between their members. The
        next run finishes them.';

-- artifact: files that deleted rows named; `windrow artifacts drain` removes them, best effort.
--# create table artifact
CREATE TABLE IF NOT EXISTS artifact (
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
    COMMENT = 'Outbox of files outside the database, written in the transaction that deleted their rows. A drained file
        leaves it. claim: the call of claim_artifacts() that took it last.';

-- Functions would need a privilege under the binary log: everything is a procedure with OUT parameters.

-- drop_shadows: a temporary table hides the table or view of its name, also from a routine that runs with other rights
-- than its caller. Everything that somebody may call drops the caller's own ones first: those that hide what is in here, and
-- by drop_shadows_of_tables(), of 31_shadows.sql, those that hide the application's. On MariaDB anyone may even rename a
-- temporary table of his own to what he may not read.
--# create procedure drop_shadows
CREATE PROCEDURE drop_shadows()
SQL SECURITY DEFINER
COMMENT 'Drops the temporary tables of the session that have the name of a table or view which the routines read.'
BEGIN
    DROP TEMPORARY TABLE IF EXISTS
        control, spec, known_routine, latch, policy, hold, run_window, run, run_rule, run_table, run_skip, run_pass, run_sweep,
        run_failure, run_backlog, run_stamp, run_claim, sweep, tally, unfinished, artifact, rule, rule_table, rule_limit,
        known_table, known_column, known_key, known_edge, known_index, known_window, known_job, known_trigger, known_setting,
        setting, setting_log, settings, rule_pause, refusal, scheduling, catalog_state, open_hours, last_look, undeletable, backlog,
        run_count, metrics, unarchived, index_state, left_behind, last_left, due_now, backlog_now, kept_run, known_archive,
        known_shape;
    CALL drop_shadows_of_tables();
END;

-- refuse, not_ready: an error and what to do about it. A message holds 128 characters.
--# create procedure refuse
CREATE PROCEDURE refuse(IN p_message longtext, IN p_hint longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 22023: an option or a value makes no sense.'
BEGIN
    DECLARE v_text varchar(128);
    SET v_text = LEFT(CONCAT_WS('; ', p_message, p_hint), 128);
    SIGNAL SQLSTATE '22023' SET MESSAGE_TEXT = v_text;
END;
--# create procedure not_ready
CREATE PROCEDURE not_ready(IN p_message longtext, IN p_hint longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 55000: the installation or the server is not in a state for this.'
BEGIN
    DECLARE v_text varchar(128);
    SET v_text = LEFT(CONCAT_WS('; ', p_message, p_hint), 128);
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
    IF p_duration NOT REGEXP '^([0-9]+[wdhms])+\\z|^P([0-9]+[WD])*(T([0-9]+[HMS])+)?\\z' OR v_text NOT REGEXP '[0-9]'
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
        -- Behind the microseconds nothing counts; the servers would round it differently.
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

-- check_options: an option that nobody knows is an error, not a surprise.
--# create procedure check_options
CREATE PROCEDURE check_options(IN p_options longtext, IN p_known longtext)
SQL SECURITY DEFINER
COMMENT 'Raises 22023 for what is no JSON object, and for an option that is not in the JSON array of known ones.'
BEGIN
    DECLARE v_keys longtext;
    DECLARE v_name longtext;
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
COMMENT 'Whether a text is a value of a type, as the server writes it: smallint, int, bigint, uuid, dashless (a uuid
    with dashes or without), or text.'
BEGIN
    SET o_valid = COALESCE(CHAR_LENGTH(p_text) <= 255 AND CASE
        WHEN p_type IN ('smallint', 'int', 'bigint') THEN p_text REGEXP '^(0|-?[1-9][0-9]{0,18})\\z'
        WHEN p_type = 'uuid' THEN p_text REGEXP '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\\z'
        WHEN p_type = 'dashless' THEN p_text REGEXP '^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\\z'
        ELSE p_text REGEXP '^.+\\z'
    END, false);
    -- A number that looks like one may still be beyond the range of its type. Nineteen digits and a sign fit a decimal.
    IF o_valid AND p_type IN ('smallint', 'int', 'bigint') THEN
        SET o_valid = CASE p_type
            WHEN 'smallint' THEN CAST(p_text AS DECIMAL(20)) BETWEEN -32768 AND 32767
            WHEN 'int' THEN CAST(p_text AS DECIMAL(20)) BETWEEN -2147483648 AND 2147483647
            ELSE CAST(p_text AS DECIMAL(20)) BETWEEN -9223372036854775808 AND 9223372036854775807
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
    SELECT r.root, r.scope_name, r.scope_type INTO v_root, v_name, v_type FROM rule AS r WHERE r.rule = p_rule;
    IF v_name IS NULL THEN
        SELECT COUNT(r.rule) INTO v_rules FROM rule AS r;
        CALL refuse(CONCAT('rule ', p_rule, ' has no scopes'),
            CONCAT('leave the option scope out', IF(v_rules > 1, ', or name another rule', '')));
    END IF;
    CALL is_value(p_scope, v_type, v_valid);
    IF NOT v_valid THEN
        CALL refuse(CONCAT('not a scope of rule ', p_rule, ': ', QUOTE(p_scope)), CONCAT('a scope is a value of ', v_root, '.', v_name));
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
            CALL refuse(CONCAT('rule ', v_at, ' has no retention'), 'leave the option out: its rows go whatever their age');
        ELSEIF v_seconds < v_minimum THEN
            CALL in_words(v_minimum, v_words);
            CALL refuse(
                CONCAT('a retention of ', v_text, ' is under the minimum of rule ', v_at),
                CONCAT('the minimum is ', v_words, '; it stands in the spec')
            );
        END IF;
        IF v_scope IS NOT NULL THEN
            CALL check_scope(v_at, v_scope);
        END IF;
        IF JSON_CONTAINS_PATH(p_options, 'one', '$.from') AND v_strategy IN ('expiry', 'orphan', 'keep-last') THEN
            CALL refuse(
                CONCAT('rule ', v_at, ' does not go along a time'),
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

-- server_identity: what tells this server from its restored copies, clones and promoted replicas.
-- A copy of the whole folder shares the identifier of MySQL: it stands on another host, in another folder, or has another
-- port. MariaDB has no identifier that a copy would not share. A restart and a minor upgrade change none of these; the start
-- of the server counts where arm_with() said until restart.
--# create procedure server_identity
CREATE PROCEDURE server_identity(OUT o_identity varchar(700))
SQL SECURITY DEFINER
COMMENT 'The server and the control database; arm() stores it, and a run refuses when it has changed.'
BEGIN
    SET o_identity = LEFT(CONCAT_WS(
        ' ',
        /*!80000 @@server_uuid, */
        @@hostname, @@port, @@datadir, @@bind_address,
        /*M! @@server_id, */
        DATABASE()
    ), 600);
    -- Both are counted from the same clock at the same instant: what is left is the second of the start, exactly.
    IF EXISTS (SELECT 1 FROM control AS c WHERE c.server_identity LIKE '% started at %') THEN
        SELECT CONCAT(o_identity, ' started at ', UNIX_TIMESTAMP() - CAST(v.variable_value AS signed))
        INTO o_identity
        FROM /*!80000 performance_schema.global_status */ /*M! information_schema.global_status */ AS v
        WHERE v.variable_name = 'Uptime';
    END IF;
END;

-- record_skips: adds the families that a batch passed over to the ledger: the rows of the temporary table work_skip
-- (position, skip_key, reason).
--# create procedure record_skips
CREATE PROCEDURE record_skips(IN p_run bigint, IN p_rule varchar(64))
SQL SECURITY DEFINER
COMMENT 'Adds the rows of the temporary table work_skip (position, skip_key, reason) to table run_skip, by reason.'
BEGIN
    DECLARE v_length bigint unsigned DEFAULT @@SESSION.group_concat_max_len;
    SET SESSION group_concat_max_len = 16777216;
    INSERT INTO run_skip (run_id, rule, reason, families, sample_keys)
    SELECT
        p_run,
        p_rule,
        k.reason,
        COUNT(*),
        CONCAT('[', COALESCE(GROUP_CONCAT(CASE WHEN k.place + COALESCE(JSON_LENGTH(r.sample_keys), 0) <= 10
            THEN JSON_QUOTE(k.skip_key) END ORDER BY k.place SEPARATOR ', '), ''), ']')
    FROM (
        SELECT
            s.reason,
            CAST(s.skip_key AS CHAR) AS skip_key,
            ROW_NUMBER() OVER (PARTITION BY s.reason ORDER BY s.position) AS place
        FROM work_skip AS s
    ) AS k
    LEFT JOIN run_skip AS r ON r.run_id = p_run AND r.rule = p_rule AND r.reason = k.reason
    GROUP BY k.reason
    ON DUPLICATE KEY UPDATE
        families = run_skip.families + VALUES(families),
        sample_keys = JSON_MERGE_PRESERVE(run_skip.sample_keys, VALUES(sample_keys));
    SET SESSION group_concat_max_len = v_length;
END;

-- record_pass: adds the rows that a batch deleted to the ledger, by the reason why they went: the rows of the temporary table
-- work_gone (position, row_key).
--# create procedure record_pass
CREATE PROCEDURE record_pass(IN p_run bigint, IN p_rule varchar(64), IN p_pass varchar(30))
SQL SECURITY DEFINER
COMMENT 'Adds the rows of the temporary table work_gone (position, row_key) to table run_pass, by the pass that found them.'
BEGIN
    INSERT INTO run_pass (run_id, rule, pass, deleted_rows, sample_keys)
    SELECT
        p_run,
        p_rule,
        p_pass,
        COUNT(*),
        CONCAT('[', COALESCE(GROUP_CONCAT(CASE WHEN k.place + COALESCE(JSON_LENGTH(r.sample_keys), 0) <= 10 THEN JSON_QUOTE(k.row_key) END
            ORDER BY k.place SEPARATOR ', '), ''), ']')
    FROM (
        SELECT g.row_key, ROW_NUMBER() OVER (ORDER BY g.position) AS place
        FROM work_gone AS g
    ) AS k
    LEFT JOIN run_pass AS r ON r.run_id = p_run AND r.rule = p_rule AND r.pass = p_pass
    ON DUPLICATE KEY UPDATE
        deleted_rows = run_pass.deleted_rows + VALUES(deleted_rows),
        sample_keys = JSON_MERGE_PRESERVE(run_pass.sample_keys, VALUES(sample_keys));
END;
