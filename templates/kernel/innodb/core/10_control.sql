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
    scheduled       boolean      NOT NULL DEFAULT false,
    installed_by    varchar(400) NOT NULL DEFAULT (USER()),
    installed_at    datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'windrow: the state of the installation. Everything in this database is generated from a spec, except the rows.';
-- installed_version: which windrow has installed this, and since when. The SQL of a spec is the same whichever writes it.
--# create table installed_version
CREATE TABLE IF NOT EXISTS installed_version (
    since   datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)) PRIMARY KEY,
    version varchar(200)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Which version of windrow installed this, and since when; NULL if the files were applied without it.';
--# fill table installed_version
INSERT INTO installed_version (version)
SELECT n.version
FROM (SELECT LEFT(CAST(@windrow_version AS char), 200) COLLATE utf8mb4_bin AS version, 1 AS one) AS n
LEFT JOIN (SELECT v.version, 1 AS one FROM installed_version AS v ORDER BY v.since DESC LIMIT 1) AS l USING (one)
WHERE l.one IS NULL
   OR NOT l.version <=> n.version;
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
        workers: how many runs there may be at a time; archives: some of what is deleted is kept; run_lock: the name
        of the lock that a run holds. Written by an installation.';
-- fill_spec: notes what the spec says. Who armed windrow looked at the tables of one database, by one spec. A routine takes the document,
-- since a binary log with statements lacks a variable of the session where no row made the server read it, and a replica stops there.
--# create procedure fill_spec
CREATE PROCEDURE fill_spec(IN p_document longtext)
SQL SECURITY INVOKER
COMMENT 'Fills the table spec, and disarms where that was filled for another database or by another spec. The installation calls it.'
BEGIN
    UPDATE control AS c
    JOIN spec AS s ON s.only_row = c.only_row
    SET c.armed = false
    WHERE c.only_row = true
      AND c.armed
      AND NOT (s.schema_name = JSON_VALUE(p_document, '$.schema') AND c.spec = JSON_VALUE(p_document, '$.spec'));
    UPDATE control AS c
    SET c.spec = JSON_VALUE(p_document, '$.spec')
    WHERE c.only_row = true;
    INSERT INTO spec (only_row, schema_name, workers, archives, run_lock, owner, operator, auditor, document)
    VALUES (
        true,
        JSON_VALUE(p_document, '$.schema'),
        JSON_VALUE(p_document, '$.workers'),
        JSON_CONTAINS_PATH(p_document, 'one', '$.archives', '$.detaches'),
        JSON_VALUE(p_document, '$.run_lock'),
        JSON_VALUE(p_document, '$.roles.owner'),
        JSON_VALUE(p_document, '$.roles.operator'),
        JSON_VALUE(p_document, '$.roles.auditor'),
        p_document
    )
    -- An event may read the row meanwhile: it waits for this change, where a REPLACE could meet it in a deadlock.
    ON DUPLICATE KEY UPDATE
        schema_name = JSON_VALUE(p_document, '$.schema'),
        workers = JSON_VALUE(p_document, '$.workers'),
        archives = JSON_CONTAINS_PATH(p_document, 'one', '$.archives', '$.detaches'),
        run_lock = JSON_VALUE(p_document, '$.run_lock'),
        owner = JSON_VALUE(p_document, '$.roles.owner'),
        operator = JSON_VALUE(p_document, '$.roles.operator'),
        auditor = JSON_VALUE(p_document, '$.roles.auditor'),
        document = p_document;
END;
--# fill table spec
CALL fill_spec(@windrow_document);

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

-- run_text: runs a statement that is composed of names in the registry. Values are variables of the session, never text.
--# create procedure run_text
CREATE PROCEDURE run_text(IN p_text longtext)
SQL SECURITY INVOKER
COMMENT 'Runs p_text with the rights of the caller.'
BEGIN
    SET @windrow_text = p_text;
    PREPARE windrow_text FROM @windrow_text;
    EXECUTE windrow_text;
    DEALLOCATE PREPARE windrow_text;
END;
-- run_lenient: the same for what moves columns and rows of the application as they are: defaults and dates without a day, dates that the
-- calendar does not have, and numbers 0 of an AUTO_INCREMENT. A value that does not fit its column is an error as elsewhere.
--# create procedure run_lenient
CREATE PROCEDURE run_lenient(IN p_text longtext)
SQL SECURITY INVOKER
COMMENT 'Runs p_text with the rights of the caller, in an sql_mode that takes every date.'
BEGIN
    -- The caller gets its own mode back at the end of this routine.
    SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION';
    SET @windrow_text = p_text;
    PREPARE windrow_text FROM @windrow_text;
    EXECUTE windrow_text;
    DEALLOCATE PREPARE windrow_text;
END;
-- run_texts: what who installs may not do is passed over; windrow diff names the rights that are left.
--# create procedure run_texts
CREATE PROCEDURE run_texts(IN p_texts json)
SQL SECURITY INVOKER
COMMENT 'Runs each statement of a list with the rights of the caller, who may lack some. The installation calls it.'
BEGIN
    DECLARE v_at integer DEFAULT 0;
    -- Denied, on a database, a table, a column, or the whole server.
    DECLARE CONTINUE HANDLER FOR 1044, 1142, 1143, 1227 BEGIN END;
    WHILE v_at < JSON_LENGTH(p_texts) DO
        CALL run_text(JSON_UNQUOTE(JSON_EXTRACT(p_texts, CONCAT('$[', v_at, ']'))));
        SET v_at = v_at + 1;
    END WHILE;
END;

-- let_read: auditors may read everything but what an earlier state of the spec archived: these rows are the application's.
--# create procedure let_read
CREATE PROCEDURE let_read()
SQL SECURITY INVOKER
COMMENT 'Grants auditors the tables and views of this database, but for archives of an earlier state of the spec. The installation
    calls it.'
BEGIN
    DECLARE v_role longtext DEFAULT (SELECT CONCAT('`', REPLACE(s.auditor, '`', '``'), '`') FROM spec AS s);
    DECLARE v_given json DEFAULT (
        SELECT JSON_ARRAYAGG(CONCAT('GRANT SELECT ON ', DATABASE(), '.', '`', REPLACE(t.table_name, '`', '``'), '` TO ', v_role))
        FROM information_schema.tables AS t
        WHERE t.table_schema = DATABASE()
          AND t.table_name NOT REGEXP '^(archive|archived|into_archive)_|_taken$'
    );
    CALL run_text(CONCAT('GRANT SELECT ON ', DATABASE(), '.* TO ', v_role));
    IF EXISTS (
        SELECT 1
        FROM information_schema.tables AS t
        WHERE t.table_schema = DATABASE()
          AND t.table_name REGEXP '^(archive|archived|into_archive)_|_taken$'
    ) THEN
        CALL run_text(CONCAT('REVOKE SELECT ON ', DATABASE(), '.* FROM ', v_role));
        CALL run_texts(v_given);
    END IF;
END;
-- add_column: MySQL has no ADD COLUMN IF NOT EXISTS.
--# create procedure add_column
CREATE PROCEDURE add_column(IN p_table varchar(64), IN p_column varchar(64), IN p_definition text)
SQL SECURITY INVOKER
COMMENT 'Adds a column that a table of an earlier version lacks. The installation calls it.'
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM information_schema.columns AS c
        WHERE c.table_schema = DATABASE()
          AND c.table_name = p_table
          AND c.column_name = p_column
    ) THEN
        CALL run_text(CONCAT('ALTER TABLE ', p_table, ' ADD COLUMN ', p_column, ' ', p_definition));
    END IF;
END;
-- add_key: nor have CREATE INDEX and ADD KEY.
--# create procedure add_key
CREATE PROCEDURE add_key(IN p_table varchar(64), IN p_key varchar(64), IN p_column varchar(64))
SQL SECURITY INVOKER
COMMENT 'Adds an index that a table of an earlier version lacks. The installation calls it.'
BEGIN
    IF NOT EXISTS (
        SELECT 1
        FROM information_schema.statistics AS s
        WHERE s.table_schema = DATABASE()
          AND s.table_name = p_table
          AND s.index_name = p_key
    ) THEN
        CALL run_text(CONCAT('ALTER TABLE ', p_table, ' ADD KEY ', p_key, ' (', p_column, ')'));
    END IF;
END;

--# add column control.scheduled
CALL add_column('control', 'scheduled', 'boolean NOT NULL DEFAULT false AFTER forced_install');
--# fill table control
INSERT INTO control (spec)
SELECT JSON_VALUE(s.document, '$.spec')
FROM spec AS s
WHERE NOT EXISTS (SELECT 1 FROM control AS c);
-- A rule that did not exist when this was armed deletes nothing before it is armed again.
--# update table control
UPDATE control AS c
JOIN spec AS s ON s.only_row = c.only_row
SET c.armed = false
WHERE c.armed
  AND (JSON_CONTAINS(c.armed_rules, JSON_EXTRACT(s.document, '$.rules'))) IS NOT TRUE;
-- Nor does one that was left out meanwhile.
--# forget armed rules
UPDATE control AS c
JOIN spec AS s ON s.only_row = c.only_row
SET c.armed_rules = JSON_EXTRACT(s.document, '$.rules')
WHERE c.armed;

-- latch: one row, which every batch locks in share mode while it works. Who writes a policy or a hold locks it exclusively
-- afterwards: then no batch is in progress that did not see what was written.
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

-- policy: retention by scope; NULL: the default of the installed spec. The minimum is enforced here, whoever writes.
--# create table policy
CREATE TABLE IF NOT EXISTS policy (
    rule              varchar(64)  NOT NULL,
    scope             varchar(255) NOT NULL,
    enabled           boolean      NOT NULL DEFAULT true,
    retention_seconds bigint,
    artifacts         boolean      NOT NULL DEFAULT true,
    note              text,
    changed_by        varchar(400) NOT NULL DEFAULT (USER()),
    changed_at        datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    said              integer unsigned AS (CRC32(CONCAT_WS('/', enabled, retention_seconds, scope))) STORED,
    refers_to         varchar(700),
    PRIMARY KEY (rule, scope),
    KEY policy_said (rule, said)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Retention by rule and scope, in seconds; NULL: the default of the installed spec. Written by set_policy() and
        drop_policy(). said: what a batch compares.';
--# modify table policy
ALTER TABLE policy MODIFY COLUMN retention_seconds bigint;
--# add column policy.said
CALL add_column('policy', 'said',
    'integer unsigned AS (CRC32(CONCAT_WS(''/'', enabled, retention_seconds, scope))) STORED, ADD KEY policy_said (rule, said)');
--# add column policy.refers_to
CALL add_column('policy', 'refers_to', 'varchar(700)');

-- hold: families that must be kept, e.g. for a legal hold.
-- No blanks are added to compare keys: the column that they are of may distinguish them.
--# create table hold
CREATE TABLE IF NOT EXISTS hold (
    rule      varchar(64)  NOT NULL,
    `key`     varchar(700) /*!80000 COLLATE utf8mb4_0900_bin */ /*M! COLLATE utf8mb4_nopad_bin */ NOT NULL,
    reason    text         NOT NULL,
    until     datetime(6),
    placed_by varchar(400) NOT NULL DEFAULT (USER()),
    placed_at datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    absent    boolean      NOT NULL DEFAULT false,
    refers_to varchar(700),
    PRIMARY KEY (rule, `key`)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Every family with a member named here is kept until the hold is released or its date has passed. absent: the rule had
        no such row when the hold was placed; 2: it had one, and set_hold() waits for a batch that may delete it. Written by set_hold() and
        release_hold().';
--# add column hold.refers_to
CALL add_column('hold', 'refers_to', 'varchar(700)');

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
    COMMENT = 'When scheduled runs may work, instead of the windows in the spec; empty: those of the spec. days: those on which a
        window begins, 1 is Monday. Written by set_windows().';

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
    member      varchar(36),
    alive_at    datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    started_by  varchar(400) NOT NULL DEFAULT (USER()),
    started_at  datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    finished_at datetime(6),
    KEY run_open (status)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'One row per run. as_of is the instant that all cutoffs of the run are counted from. node: the
        identity_of(false) of the server it runs on; member: as what that belongs to a Galera cluster or a group; alive_at: its last
        sign of life, which every batch gives. crashed: its session vanished, seen by the next run; on another server of a cluster,
        that is no member any more, or gave no sign of life for five minutes.
        waiting_for: why it rests before its next batch, or rested when it ended.';
--# add column run.member
CALL add_column('run', 'member', 'varchar(36) AFTER node');
-- Which runs are under way is looked up before every batch.
--# add index run.run_open
CALL add_key('run', 'run_open', 'status');
-- What a column may hold is declared again where an earlier version declared it otherwise.
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
    weigh          bigint       NOT NULL DEFAULT 1,
    family_size    int,
    cursor_time    varchar(40),
    cursor_key     varchar(700),
    place          longtext,
    start_time     varchar(40),
    start_key      varchar(700),
    around         boolean      NOT NULL DEFAULT false,
    rule_hash      varchar(64),
    paced_at       datetime(6),
    paced_size     int,
    paced_rows     bigint       NOT NULL DEFAULT 0,
    paced_batches  bigint       NOT NULL DEFAULT 0,
    rest_from      datetime(6),
    told           bigint       NOT NULL DEFAULT 0,
    started_at     datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    updated_at     datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (run_id, rule)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Progress of a run, written in the transaction that deletes: cursor, counts, present batch size; halving:
        a family that fails is being searched. weigh: of how many of the next families the rows are counted before they
        go, below 0: those of the next batch were. family_size: how big the batches of families were, while slices of rows
        that belong to none follow them. paced: what pace() measures the last batch by. place: of a rule of single
        rows, whose cursor_time is its pass: the row at the cursor, as work_cursor has it. start: where the run before left
        off, and this one began; around: it has come to the end since, and looks at what lies before;
        rule_hash: of what the spec said of the rule then. told: how often tell_runs() of a cluster has written the row.';
-- What the table of an earlier version lacks.
--# add column run_rule.start_time
CALL add_column('run_rule', 'start_time', 'varchar(40) AFTER cursor_key');
--# add column run_rule.place
CALL add_column('run_rule', 'place', 'longtext AFTER cursor_key');
--# add column run_rule.start_key
CALL add_column('run_rule', 'start_key', 'varchar(700) AFTER start_time');
--# modify table run_rule
ALTER TABLE run_rule MODIFY COLUMN cursor_key varchar(700), MODIFY COLUMN start_key varchar(700);
--# add column run_rule.around
CALL add_column('run_rule', 'around', 'boolean NOT NULL DEFAULT false AFTER start_key');
--# add column run_rule.rule_hash
CALL add_column('run_rule', 'rule_hash', 'varchar(64) AFTER around');
--# add column run_rule.told
CALL add_column('run_rule', 'told', 'bigint NOT NULL DEFAULT 0 AFTER rest_from');
--# add column run_rule.weigh
CALL add_column('run_rule', 'weigh', 'bigint NOT NULL DEFAULT 1 AFTER halving');
--# add column run_rule.family_size
CALL add_column('run_rule', 'family_size', 'int AFTER weigh');
-- rule_instant: within which instants runs go on.
--# create table rule_instant
CREATE TABLE IF NOT EXISTS rule_instant (
    rule      varchar(64)  NOT NULL,
    due       datetime(6)  NOT NULL,
    since     bigint,
    run_id    bigint       NOT NULL,
    rule_hash varchar(64)  NOT NULL,
    look      int          NOT NULL,
    part_key  varchar(700),
    refused   bigint       NOT NULL DEFAULT 0,
    noted_at  datetime(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (rule, due)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Instants of rules of one table whose rows go in parts, and of which no run has come to the end: since which run, the last run
        that was there, behind which key the next part begins (part_key; NULL: with the first row), and how rows are looked at: 0, without
        waiting for locks; 1, waiting; 2, waiting no more. refused: so many rows before that could not be deleted, one behind the other.
        rule_hash: of what the spec said of the rule.';
--# add column rule_instant.since
CALL add_column('rule_instant', 'since', 'bigint AFTER due');
--# create table run_table
CREATE TABLE IF NOT EXISTS run_table (
    run_id       bigint       NOT NULL,
    rule         varchar(64)  NOT NULL,
    position     int          NOT NULL,
    table_name   varchar(64)  NOT NULL,
    deleted_rows bigint       NOT NULL DEFAULT 0,
    archived     boolean,
    PRIMARY KEY (run_id, rule, position)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Rows deleted by run, rule and table; position is the order of deletion; archived: the run archives the table, and keeps
        its rows or partitions (NULL: a run of an earlier version).';
--# add column run_table.archived
CALL add_column('run_table', 'archived', 'boolean AFTER deleted_rows');
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
    COMMENT = 'Families that a run skipped, by reason, with the keys of the first ten.';
-- Earlier versions had fewer reasons.
--# alter table run_skip
ALTER TABLE run_skip
    /*!80000 DROP CHECK run_skip_chk_1, ADD CONSTRAINT run_skip_chk_1 */ /*M! MODIFY COLUMN reason varchar(30) NOT NULL */
    CHECK (reason IN (
        --+ reasons.sql
    ));
--# create table run_pass
CREATE TABLE IF NOT EXISTS run_pass (
    run_id       bigint      NOT NULL,
    rule         varchar(64) NOT NULL,
    pass         varchar(30) NOT NULL,
    deleted_rows bigint      NOT NULL,
    sample_keys  json        NOT NULL,
    PRIMARY KEY (run_id, rule, pass)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Why rows of single-row rules were deleted: how many by run, rule and pass, with the keys of the first ten.';
-- A sweep: what several workers go through together.
--# create table run_sweep
CREATE TABLE IF NOT EXISTS run_sweep (
    run_id   bigint NOT NULL PRIMARY KEY,
    sweep_id bigint NOT NULL,
    worker   int    NOT NULL,
    at_rule  varchar(64),
    KEY (sweep_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The worker of each run, its sweep (the run that began it), and the rule that it works on.';
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
    COMMENT = 'Families whose deletion raised an error even on their own, with that error, or that of an earlier run which tried.';
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
    COMMENT = 'Progress of a stamp, written in the transaction that changes the rows: cursor, examined families that now have the
        removal time, rows changed, by table.';
--# create table run_backlog
CREATE TABLE IF NOT EXISTS run_backlog (
    rule             varchar(64) NOT NULL,
    run_id           bigint      NOT NULL,
    families         bigint      NOT NULL,
    counted_at       datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    rows_per_family  double,
    due_per_hour     double,
    deleted_per_hour double,
    complete         boolean,
    PRIMARY KEY (rule, run_id),
    KEY (run_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Families that were due when a run ended, whether or not they may be deleted, counted up to 1,000,000 or among the first
        1,000,000 rows; complete: whether these are all; rows per family in the last runs; families per hour that became due and that
        were deleted, over up to seven days.';
--# add column run_backlog.complete
CALL add_column('run_backlog', 'complete', 'boolean');

--# create table run_claim
CREATE TABLE IF NOT EXISTS run_claim (
    run_id    bigint      NOT NULL,
    rule      varchar(64) NOT NULL,
    claimed   longtext    NOT NULL,
    left_keys longtext    NOT NULL,
    is_last   boolean     NOT NULL DEFAULT false,
    alone     boolean     NOT NULL DEFAULT false,
    through   boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (run_id, rule)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'The roots, with their times, windows, or parts of a pass through single rows, that a worker has claimed and not looked at
        yet; those that it left because a row was locked. alone: it goes through windows that follow families. through: it is
        through with the rule.';
--# add column run_claim.alone
CALL add_column('run_claim', 'alone', 'boolean NOT NULL DEFAULT false AFTER is_last');
--# add column run_claim.through
CALL add_column('run_claim', 'through', 'boolean NOT NULL DEFAULT false AFTER alone');

-- kept_run: runs that the ledger would have forgotten by now, if there were no archived rows of them.
--# create table kept_run
CREATE TABLE IF NOT EXISTS kept_run (
    run_id bigint NOT NULL PRIMARY KEY
) ENGINE = InnoDB
    COMMENT = 'Runs older than ledger_days that the ledger keeps because it has archived rows of them. Written by keep_archive().';

-- tally: keeps the metrics' counters when the ledger is pruned.
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

-- unfinished: the batch in progress. Written in its transaction before the first deletion, taken out before its COMMIT: who
-- sees a row here sees what a session committed after its run was killed. Where no handler runs at KILL QUERY, a session
-- keeps the open transaction, and may commit it. The links show the next run what was one family.
--# create table unfinished
CREATE TABLE IF NOT EXISTS unfinished (
    run_id bigint      NOT NULL,
    rule   varchar(64) NOT NULL,
    links  json        NOT NULL,
    since  datetime(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (run_id, rule)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
    COMMENT = 'Batches that a session committed in part after its run was killed: the links between their members. The next run
        finishes them.';

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
    COMMENT = 'Outbox of files outside the database, written in the transaction that deleted their rows. A drained file is removed
        from it. claim: the call of claim_artifacts() that took it last.';

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
        known_shape, sweeping, installed_version, run_partition, taken_partition, empty_partition, run_ahead, partition_archive,
        rule_instant, replica_beat, replica_heartbeat, arming, rule_refers, decided, orphaned;
    CALL drop_shadows_of_tables();
END;
