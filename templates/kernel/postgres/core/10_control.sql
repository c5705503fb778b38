-- owner: has the rights on the application's tables, and owns everything in the schema; it cannot log in.
-- operator: runs, previews, sets policies and holds, pauses; no rights on the application's tables.
-- auditor: previews, reads the ledger and the metrics.
-- Roles and schema are created here, or already windrow's. Objects of others under these names are refused by name: the owner of
-- an object decides what happens when it is used.
--# claim the schema
DO $windrow$
DECLARE
    v_spec    pg_catalog.jsonb;
    v_control pg_catalog.text;
    v_owner   pg_catalog.text;
    v_role    pg_catalog.text;
    v_other   record;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    v_spec := current_setting('windrow.document')::jsonb;
    v_control := v_spec ->> 'control';
    v_owner := v_spec -> 'roles' ->> 'owner';
    IF to_regnamespace(quote_ident(v_control)) IS NULL AND NOT has_database_privilege(current_database(), 'CREATE') THEN
        RAISE EXCEPTION 'permission denied for database %', current_database() USING ERRCODE = '42501';
    END IF;
    FOREACH v_role IN ARRAY ARRAY[v_owner, v_spec -> 'roles' ->> 'operator', v_spec -> 'roles' ->> 'auditor'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = v_role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', v_role);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                -- Roles belong to the whole server: an installation in another database was faster.
                NULL;
            END;
        END IF;
    END LOOP;
    FOR v_other IN
        WITH who AS (
            SELECT
                v_control AS control,
                v_owner AS owner,
                v_spec -> 'roles' ->> 'operator' AS operator,
                v_spec -> 'roles' ->> 'auditor' AS auditor,
                v_spec -> 'roles' ->> 'login' AS login,
                v_spec ->> 'schema' AS schema,
                ARRAY(SELECT t.key FROM jsonb_each(v_spec -> 'tables') AS t WHERE t.value ->> 'goes' = 'true') AS tables,
                ARRAY(SELECT t.key FROM jsonb_each(v_spec -> 'tables') AS t WHERE t.value ->> 'dropped' = 'true') AS dropped,
                ARRAY[current_user, session_user] AS installers,
                true AS installing
        )
        --+ claims.sql
    LOOP
        RAISE EXCEPTION '% %', v_other.object, v_other.problem
            USING ERRCODE = '55000', HINT = format('Nothing is installed beside what somebody else may change: %s.', v_other.remedy);
    END LOOP;
    -- From version 16 on, the creator of a role may grant it, also to itself, but is not yet a member.
    IF NOT pg_has_role(current_user, v_owner, 'USAGE')
        OR NOT pg_has_role(current_user, v_owner, CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER'
            ELSE 'SET' END)
    THEN
        IF EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = current_user AND r.rolinherit) THEN
            EXECUTE format('GRANT %I TO %I', v_owner, current_user);
        END IF;
        IF NOT pg_has_role(current_user, v_owner, 'USAGE') THEN
            RAISE EXCEPTION 'role % does not inherit the rights of %, which it needs here as its member', quote_ident(current_user),
                quote_ident(v_owner)
                USING ERRCODE = '55000', HINT = format('ALTER ROLE %I INHERIT%s. Or install as a role that inherits.', current_user,
                    CASE WHEN current_setting('server_version_num')::integer < 160000 THEN ''
                    ELSE format('; GRANT %I TO %I WITH INHERIT TRUE', v_owner, current_user) END);
        END IF;
    END IF;
    IF to_regnamespace(quote_ident(v_control)) IS NULL THEN
        EXECUTE format('CREATE SCHEMA %I AUTHORIZATION %I', v_control, v_owner);
        -- Roles belong to all databases of the server.
        FOR v_other IN
            SELECT quote_ident(r.rolname) AS problem, string_agg(DISTINCT quote_ident(m.rolname), ', ') AS object
            FROM pg_auth_members AS a
            JOIN pg_roles AS r ON r.oid = a.roleid
            JOIN pg_roles AS m ON m.oid = a.member
            WHERE r.rolname IN (v_owner, v_spec -> 'roles' ->> 'operator')
              AND m.rolname NOT IN (v_spec -> 'roles' ->> 'login', current_user)
              AND NOT m.rolsuper
            GROUP BY r.rolname
        LOOP
            RAISE WARNING 'the role % is there already: % may use it in this database, too', v_other.problem, v_other.object
                USING HINT = 'Roles belong to the whole server. Revoke it from those who must not have it, or give the spec another name.';
        END LOOP;
    END IF;
    -- The partitions that are detached are the application's: nobody else may use their schema.
    IF v_spec ->> 'detaches' <> ALL (ARRAY(SELECT n.nspname FROM pg_namespace AS n)) THEN
        EXECUTE format('CREATE SCHEMA %I AUTHORIZATION %I', v_spec ->> 'detaches', v_owner);
    END IF;
    FOR v_other IN
        SELECT n.nspname, pg_get_userbyid(n.nspowner) AS owned_by
        FROM pg_namespace AS n
        WHERE n.nspname = v_spec ->> 'detaches'
          AND pg_get_userbyid(n.nspowner) <> v_owner
    LOOP
        RAISE EXCEPTION 'schema % belongs to %, and archived partitions would be in it', quote_ident(v_other.nspname), v_other.owned_by
            USING ERRCODE = '55000', HINT = 'Drop it if nobody needs it, or give the spec another name.';
    END LOOP;
    -- What a superuser has made in here, by hand or by an installation that broke off.
    FOR v_other IN
        SELECT format('SCHEMA %I', n.nspname) AS object
        FROM pg_namespace AS n
        WHERE n.nspname = v_control
          AND pg_get_userbyid(n.nspowner) <> v_owner
        UNION ALL
        SELECT format('%s %s', CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, c.oid::regclass)
        FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = v_control
          AND c.relkind IN ('r', 'v', 'm', 'p')
          AND pg_get_userbyid(c.relowner) <> v_owner
        UNION ALL
        SELECT format('ROUTINE %s', p.oid::regprocedure)
        FROM pg_proc AS p
        JOIN pg_namespace AS n ON n.oid = p.pronamespace
        WHERE n.nspname = v_control
          AND pg_get_userbyid(p.proowner) <> v_owner
    LOOP
        EXECUTE format('ALTER %s OWNER TO %I', v_other.object, v_owner);
    END LOOP;
    -- The routines name tables and types of the application.
    FOR v_other IN
        SELECT DISTINCT s.name
        FROM unnest(ARRAY[v_spec ->> 'schema', v_spec ->> 'heartbeat_schema']) AS s(name)
        WHERE s.name IS NOT NULL
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', v_other.name, v_owner);
    END LOOP;
    EXECUTE format('GRANT %I TO %I', v_spec -> 'roles' ->> 'auditor', v_spec -> 'roles' ->> 'operator');
END
$windrow$;
-- Where the spec has runs wait for replicas or for the load, the owner must see the sessions of others. Where an earlier
-- state of the spec had, it need not any more, unless a cluster is armed or a setting has such a limit: what was granted by hand for
-- that stays. Roles belong to all databases of the server.
--# grant pg_read_all_stats to the owner
DO $windrow$
DECLARE
    v_spec   pg_catalog.jsonb := pg_catalog.current_setting('windrow.document')::pg_catalog.jsonb;
    v_owner  pg_catalog.text;
    v_needed pg_catalog.bool := false;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    v_owner := v_spec -> 'roles' ->> 'owner';
    IF to_regclass(format('%I.control', v_spec ->> 'control')) IS NOT NULL THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM %I.control AS c WHERE c.server_identity LIKE ''cluster %%'')', v_spec ->> 'control')
            INTO v_needed;
    END IF;
    IF NOT v_needed AND to_regclass(format('%I.setting', v_spec ->> 'control')) IS NOT NULL THEN
        EXECUTE format(
            'SELECT EXISTS (SELECT FROM %I.setting AS s WHERE s.name IN (%L, %L, %L) AND s.value > 0)',
            v_spec ->> 'control', 'max_replica_lag', 'max_replica_wal', 'max_active_sessions'
        )
        INTO v_needed;
    END IF;
    IF (v_spec -> 'sees_sessions')::boolean THEN
        EXECUTE format('GRANT pg_read_all_stats TO %I', v_owner);
    ELSIF NOT v_needed AND EXISTS (
        SELECT FROM pg_auth_members AS a
        WHERE a.roleid = 'pg_read_all_stats'::regrole
          AND a.member = quote_ident(v_owner)::regrole
          AND NOT EXISTS (
              SELECT FROM pg_shdepend AS d
              WHERE d.refobjid = a.member
                AND d.dbid NOT IN (SELECT 0::oid UNION ALL SELECT b.oid FROM pg_database AS b WHERE b.datname = current_database())
          )
    ) THEN
        EXECUTE format('REVOKE pg_read_all_stats FROM %I', v_owner);
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    IF (v_spec -> 'sees_sessions')::boolean THEN
        RAISE WARNING 'runs will wait until someone may GRANT pg_read_all_stats TO %', quote_ident(v_owner);
    ELSE
        RAISE WARNING 'the spec no longer needs it: someone may REVOKE pg_read_all_stats FROM %', quote_ident(v_owner);
    END IF;
END
$windrow$;
-- server_identity() knows a copy in another folder by the place of the data, which is for those to see who may read all settings.
--# grant pg_read_all_settings to the owner
DO $windrow$
DECLARE
    v_owner pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    v_owner := current_setting('windrow.document')::jsonb -> 'roles' ->> 'owner';
    IF NOT pg_has_role(v_owner, 'pg_read_all_settings', 'USAGE') THEN
        EXECUTE format('GRANT pg_read_all_settings TO %I', v_owner);
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'a copy of the server in another folder looks like this one until someone may GRANT pg_read_all_settings TO %, and arms '
        'again', quote_ident(v_owner);
END
$windrow$;

-- From here on everything is created by its owner, never by the installing account.
--# become the owner
DO $windrow$
DECLARE
    v_spec    pg_catalog.jsonb := pg_catalog.current_setting('windrow.document')::pg_catalog.jsonb;
    v_control pg_catalog.text := v_spec OPERATOR(pg_catalog.->>) 'control';
BEGIN
    PERFORM pg_catalog.set_config('search_path', pg_catalog.format('%I, pg_catalog, pg_temp', v_control), false);
    PERFORM pg_catalog.set_config('role', v_spec OPERATOR(pg_catalog.->) 'roles' OPERATOR(pg_catalog.->>) 'owner', false);
    EXECUTE format(
        'COMMENT ON SCHEMA %I IS %L',
        v_control,
        format('windrow: retention of %s. Everything in here is generated from the spec `%s`, except the rows.', v_spec ->> 'title',
            v_spec ->> 'spec')
    );
END
$windrow$;
-- Nobody else may call new routines.
--# revoke from public
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON ROUTINES FROM PUBLIC;

-- control: one row, the state of the whole installation. Nothing is deleted before arm() was called.
--# create table control
CREATE TABLE IF NOT EXISTS control (
    only_row        boolean     NOT NULL DEFAULT true PRIMARY KEY,
    spec            text        NOT NULL,
    armed           boolean     NOT NULL DEFAULT false,
    armed_by        text,
    armed_at        timestamptz,
    armed_rules     text[],
    server_identity text,
    orphans_at_arm  jsonb,
    paused          boolean     NOT NULL DEFAULT false,
    paused_by       text,
    paused_at       timestamptz,
    paused_reason   text,
    forced_install  jsonb,
    scheduled       boolean     NOT NULL DEFAULT false,
    installed_by    text        NOT NULL DEFAULT session_user,
    installed_at    timestamptz NOT NULL DEFAULT now()
);
--# create constraint control_only_row_check
ALTER TABLE control
    DROP CONSTRAINT IF EXISTS control_only_row_check,
    ADD CONSTRAINT control_only_row_check CHECK (only_row);
--# add column control.scheduled
ALTER TABLE control ADD COLUMN IF NOT EXISTS scheduled boolean NOT NULL DEFAULT false;

-- spec: what the spec says of the whole installation.
--# create table spec
CREATE TABLE IF NOT EXISTS spec (
    only_row    boolean NOT NULL DEFAULT true PRIMARY KEY,
    schema_name text    NOT NULL,
    workers     integer NOT NULL,
    archives    boolean NOT NULL,
    lock_class  integer NOT NULL,
    document    jsonb   NOT NULL
);
--# add column spec.named
ALTER TABLE spec ADD COLUMN IF NOT EXISTS named name[] NOT NULL DEFAULT '{}';
--# add column spec.called
ALTER TABLE spec ADD COLUMN IF NOT EXISTS called name[] NOT NULL DEFAULT '{}';
--# comment on table spec
COMMENT ON TABLE spec IS
    'What the spec says about the whole installation, in one row. schema_name: where the tables are; workers: how many runs there may '
    'be at a time; archives: some rows are copied before they are deleted; lock_class: of the advisory locks by which sessions see '
    'that a run is in progress; named, called: what SQL of the spec names, and which functions, operators and types it '
    'calls, each with its schema. '
    'Written by an installation.';
-- Who armed windrow looked at the tables of one schema, by one spec.
--# disarm where the schema is another one
DO $windrow$
DECLARE
    v_document jsonb := current_setting('windrow.document')::jsonb;
BEGIN
    UPDATE control AS c
    SET armed = false
    FROM spec AS s
    WHERE c.armed
      AND (s.schema_name, c.spec) IS DISTINCT FROM (v_document ->> 'schema', v_document ->> 'spec');
    IF FOUND THEN
        RAISE WARNING 'not armed any more: it was armed with another spec or for another schema';
    END IF;
    UPDATE control AS c
    SET spec = v_document ->> 'spec'
    WHERE c.spec <> v_document ->> 'spec';
END
$windrow$;
--# fill table spec
INSERT INTO spec (schema_name, workers, archives, lock_class, document, named, called)
SELECT
    d.schema, d.workers, num_nonnulls(s.document -> 'archives', s.document -> 'detaches') > 0, d.lock_class, s.document,
    coalesce(d.named, '{}'), coalesce(d.called, '{}')
FROM (SELECT current_setting('windrow.document')::jsonb AS document) AS s
CROSS JOIN LATERAL jsonb_to_record(s.document) AS d(schema text, workers integer, lock_class integer, named name[], called name[])
ON CONFLICT (only_row) DO UPDATE
SET schema_name = excluded.schema_name,
    workers = excluded.workers,
    archives = excluded.archives,
    lock_class = excluded.lock_class,
    document = excluded.document,
    named = excluded.named,
    called = excluded.called;

-- known_routine: the routines that the installation made, file by file: what verify() looks for.
--# create table known_routine
CREATE TABLE IF NOT EXISTS known_routine (
    file    text NOT NULL,
    routine text NOT NULL,
    PRIMARY KEY (file, routine)
);
--# comment on table known_routine
COMMENT ON TABLE known_routine IS
    'The routines that the last installation made, by file. Written by register_routines(), at the end of each file.';
-- What an earlier state of the spec had is looked for no more.
--# empty table known_routine
DELETE FROM known_routine;
-- routine_hash: of a routine as it is: its body, and how it is called, in the words and the order in which the files write it.
--# create function routine_hash
CREATE OR REPLACE FUNCTION routine_hash(p_routine oid)
RETURNS text
LANGUAGE sql STABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT left(encode(sha256(convert_to(concat(h.head, E'\n', p.prosrc), 'UTF8')), 'hex'), 12)
    FROM pg_proc AS p
    JOIN pg_language AS l ON l.oid = p.prolang
    CROSS JOIN LATERAL (SELECT
        --+ called.sql
    ) AS h(head)
    WHERE p.oid = p_routine;
$windrow$;
--# comment on function routine_hash
COMMENT ON FUNCTION routine_hash(oid) IS
    'The hash of a routine as it is in the catalog. The comment of each routine ends with the hash of what was generated.';
-- register_routines: a file says which routines it has made.
--# create function register_routines
CREATE OR REPLACE FUNCTION register_routines(p_file text, p_routines text[])
RETURNS void
LANGUAGE sql
SET search_path FROM CURRENT
AS $windrow$
    DELETE FROM known_routine AS k WHERE k.file = p_file;
    INSERT INTO known_routine (file, routine)
    SELECT DISTINCT p_file, r.routine
    FROM unnest(p_routines) AS r(routine);
$windrow$;
--# comment on function register_routines
COMMENT ON FUNCTION register_routines(text, text[]) IS
    'Notes which routines a file of the installation made.';

--# fill table control
INSERT INTO control (spec)
SELECT s.document ->> 'spec'
FROM spec AS s
ON CONFLICT (only_row) DO NOTHING;
-- A rule that did not exist when this was armed deletes nothing before it is armed again.
--# update table control
UPDATE control AS c
SET armed = false
FROM spec AS s
WHERE c.armed
  AND (to_jsonb(c.armed_rules) @> (s.document -> 'rules')) IS NOT TRUE;
-- Nor does one that was left out meanwhile.
--# forget armed rules
UPDATE control AS c
SET armed_rules = ARRAY(SELECT r.rule FROM jsonb_array_elements_text(s.document -> 'rules') AS r(rule))
FROM spec AS s
WHERE c.armed
  AND to_jsonb(c.armed_rules) <> s.document -> 'rules';

-- installed_version: which windrow has installed this, and since when. The SQL of a spec is the same whichever writes it.
--# create table installed_version
CREATE TABLE IF NOT EXISTS installed_version (
    since   timestamptz NOT NULL DEFAULT clock_timestamp() PRIMARY KEY,
    version text
);
--# comment on table installed_version
COMMENT ON TABLE installed_version IS
    'Which version of windrow installed this, and since when; NULL if the files were applied without it.';
--# fill table installed_version
INSERT INTO installed_version (version)
SELECT n.version
FROM (SELECT nullif(current_setting('windrow.version', true), '') AS version) AS n
WHERE (SELECT array_agg(v.version ORDER BY v.since DESC) FROM installed_version AS v)[1] IS DISTINCT FROM n.version
   OR NOT EXISTS (SELECT FROM installed_version);

-- installation: what it is called, and what belongs to it.
--# create view installation
CREATE OR REPLACE VIEW installation AS
SELECT
    s.document ->> 'control' AS control,
    s.document -> 'roles' ->> 'owner' AS owner,
    s.document -> 'roles' ->> 'operator' AS operator,
    s.document -> 'roles' ->> 'auditor' AS auditor,
    s.document -> 'roles' ->> 'login' AS login,
    s.schema_name AS schema,
    ARRAY(SELECT t.key FROM jsonb_each(s.document -> 'tables') AS t WHERE t.value ->> 'goes' = 'true') AS tables,
    ARRAY(SELECT r.value FROM jsonb_array_elements_text(s.document -> 'rules') AS r) AS rules,
    ARRAY(SELECT r.value FROM jsonb_array_elements_text(s.document -> 'stamps') AS r) AS stamps,
    s.workers,
    s.archives,
    ARRAY(SELECT c.installed_by FROM control AS c) AS installers,
    false AS installing,
    ARRAY(SELECT t.key FROM jsonb_each(s.document -> 'tables') AS t WHERE t.value ->> 'dropped' = 'true') AS dropped
FROM spec AS s;
--# comment on view installation
COMMENT ON VIEW installation IS
    'The names of this installation: its schema and roles, the application''s schema, the tables whose rows are deleted, the rules, '
    'who installed it, and the tables whose partitions are dropped.';
-- held_right: what the owner role may do outside of its schema.
--# create view held_right
CREATE OR REPLACE VIEW held_right AS
SELECT h.*
FROM installation AS w
CROSS JOIN LATERAL (
    --+ held.sql
) AS h;
--# comment on view held_right
COMMENT ON VIEW held_right IS
    'The rights of the owner role outside the control schema: in words, whether it only reads, in the form for REVOKE, who granted '
    'it, and who owns the object.';

-- policy: retention by scope; NULL: the default of the installed spec. A check for each rule, which register_rule() makes, enforces its
-- minimum, whoever writes.
--# create table policy
CREATE TABLE IF NOT EXISTS policy (
    rule              text        NOT NULL,
    scope             text        NOT NULL,
    enabled           boolean     NOT NULL DEFAULT true,
    retention_seconds bigint,
    artifacts         boolean     NOT NULL DEFAULT true,
    note              text,
    changed_by        text        NOT NULL DEFAULT session_user,
    changed_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (rule, scope)
);
--# add column policy.refers_to
ALTER TABLE policy ADD COLUMN IF NOT EXISTS refers_to text;
--# modify table policy
ALTER TABLE policy ALTER COLUMN retention_seconds DROP NOT NULL;
--# create index policy_shortest
CREATE INDEX IF NOT EXISTS policy_shortest ON policy (rule, retention_seconds) WHERE enabled;
--# comment on table policy
COMMENT ON TABLE policy IS
    'Retention by rule and scope, in seconds; NULL: the default of the installed spec. refers_to: the column of the scope, noted by '
    'the next installation. Written by set_policy() and drop_policy().';

-- hold: families that must be kept, e.g. for a legal hold.
--# create table hold
CREATE TABLE IF NOT EXISTS hold (
    rule      text        NOT NULL,
    key       text        NOT NULL,
    reason    text        NOT NULL,
    until     timestamptz,
    placed_by text        NOT NULL DEFAULT session_user,
    placed_at timestamptz NOT NULL DEFAULT now(),
    absent    boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (rule, key)
);
--# add column hold.refers_to
ALTER TABLE hold ADD COLUMN IF NOT EXISTS refers_to text;
--# create index hold_absent
CREATE INDEX IF NOT EXISTS hold_absent ON hold (rule) WHERE absent;
--# comment on table hold
COMMENT ON TABLE hold IS
    'Every family with a member named here is kept until the hold is released or its date has passed. absent: the rule had no such '
    'row when the hold was placed. refers_to: the columns of the key, noted by the next installation. Written by set_hold() and '
    'release_hold().';

-- run_window: when scheduled runs may work, where that is not what the spec says. Read again before every batch.
--# create table run_window
CREATE TABLE IF NOT EXISTS run_window (
    position   integer     NOT NULL PRIMARY KEY,
    written    text        NOT NULL,
    days       text        NOT NULL,
    begins     time        NOT NULL,
    ends       time        NOT NULL,
    zone       text        NOT NULL,
    changed_by text        NOT NULL DEFAULT session_user,
    changed_at timestamptz NOT NULL DEFAULT now()
);
--# create constraint run_window_days_check
ALTER TABLE run_window
    DROP CONSTRAINT IF EXISTS run_window_days_check,
    ADD CONSTRAINT run_window_days_check CHECK (days ~ '^1?2?3?4?5?6?7?$');
--# comment on table run_window
COMMENT ON TABLE run_window IS
    'When scheduled runs may work, instead of the windows in the spec; empty: those of the spec. days: those on which a window '
    'begins, 1 is Monday. Written by set_windows().';

-- latch: every batch locks the table while it works, so that others may, too; changes of policies and holds lock it exclusively:
-- then no batch is in progress that did not see the change. A table lock needs a right on the table; an advisory lock needs
-- none, and any login could stop all runs with it.
--# create table latch
CREATE TABLE IF NOT EXISTS latch ();
--# comment on table latch
COMMENT ON TABLE latch IS
    'Locked by every batch, and exclusively by changes of policies and holds. It has no rows.';
-- turn: one run opens the ledger at a time, and one stamp.
--# create table turn
CREATE TABLE IF NOT EXISTS turn (
    name text NOT NULL PRIMARY KEY
);
--# fill table turn
INSERT INTO turn (name)
VALUES ('run'), ('stamp')
ON CONFLICT (name) DO NOTHING;
--# comment on table turn
COMMENT ON TABLE turn IS
    'A run or stamp that begins locks its row: one run at a time opens the ledger, and one stamp.';

-- The ledger: what every run did.
--# create table run
CREATE TABLE IF NOT EXISTS run (
    run_id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    trigger     text        NOT NULL,
    dry_run     boolean     NOT NULL,
    options     jsonb       NOT NULL,
    as_of       timestamptz NOT NULL,
    deadline    timestamptz NOT NULL,
    status      text        NOT NULL DEFAULT 'running',
    reason      text,
    waiting_for   text,
    waiting_since timestamptz,
    backend_pid integer     NOT NULL DEFAULT pg_backend_pid(),
    started_by  text        NOT NULL DEFAULT session_user,
    started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz
);
--# create constraint run_trigger_check
ALTER TABLE run
    DROP CONSTRAINT IF EXISTS run_trigger_check,
    ADD CONSTRAINT run_trigger_check CHECK (trigger IN ('MANUAL', 'SCHEDULED', 'PURGE', 'STAMP'));
--# create constraint run_status_check
ALTER TABLE run
    DROP CONSTRAINT IF EXISTS run_status_check,
    ADD CONSTRAINT run_status_check CHECK (status IN ('running', 'done', 'stopped', 'failed', 'cancelled', 'crashed'));
-- The ledger keeps its runs for a year, and each start looks for those that say running.
--# create index run_in_progress
CREATE INDEX IF NOT EXISTS run_in_progress ON run (run_id) WHERE status = 'running';
--# comment on table run
COMMENT ON TABLE run IS
    'One row per run. as_of is the instant from which all cutoffs of the run are counted. crashed: its session ended without closing '
    'it, as the next run noticed. waiting_for: why it rests before its next batch, or rested when it ended.';
--# create table run_rule
CREATE TABLE IF NOT EXISTS run_rule (
    run_id         bigint      NOT NULL,
    rule           text        NOT NULL,
    families       bigint      NOT NULL DEFAULT 0,
    deleted_rows   bigint      NOT NULL DEFAULT 0,
    batches        bigint      NOT NULL DEFAULT 0,
    retries        bigint      NOT NULL DEFAULT 0,
    retries_in_row integer     NOT NULL DEFAULT 0,
    batch_families integer     NOT NULL,
    halving        boolean     NOT NULL DEFAULT false,
    weigh          bigint      NOT NULL DEFAULT 1,
    cursor_time    text,
    cursor_key     text,
    start_time     text,
    start_key      text,
    around         boolean     NOT NULL DEFAULT false,
    rule_hash      text,
    table_names    text[]      NOT NULL,
    table_rows     bigint[]    NOT NULL,
    gone           text[]      NOT NULL DEFAULT '{}',
    paced_at       timestamptz,
    paced_size     integer,
    paced_rows     bigint      NOT NULL DEFAULT 0,
    paced_batches  bigint      NOT NULL DEFAULT 0,
    rest_from      timestamptz,
    started_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    ahead_keys     text[]      NOT NULL DEFAULT '{}',
    ahead_times    text[]      NOT NULL DEFAULT '{}',
    ahead_at       bigint      NOT NULL DEFAULT 0,
    ahead_of       text,
    archived       text[],
    family_size    integer,
    PRIMARY KEY (run_id, rule)
);
-- What the table of an earlier version lacks.
--# add column run_rule.start_time
ALTER TABLE run_rule ADD COLUMN IF NOT EXISTS start_time text;
--# add column run_rule.start_key
ALTER TABLE run_rule ADD COLUMN IF NOT EXISTS start_key text;
--# add column run_rule.around
ALTER TABLE run_rule ADD COLUMN IF NOT EXISTS around boolean NOT NULL DEFAULT false;
--# add column run_rule.rule_hash
ALTER TABLE run_rule ADD COLUMN IF NOT EXISTS rule_hash text;
--# add column run_rule.weigh
ALTER TABLE run_rule ADD COLUMN IF NOT EXISTS weigh bigint NOT NULL DEFAULT 1;
--# add column run_rule.ahead_keys
ALTER TABLE run_rule ADD COLUMN IF NOT EXISTS ahead_keys text[] NOT NULL DEFAULT '{}';
--# add column run_rule.ahead_times
ALTER TABLE run_rule ADD COLUMN IF NOT EXISTS ahead_times text[] NOT NULL DEFAULT '{}';
--# add column run_rule.ahead_at
ALTER TABLE run_rule ADD COLUMN IF NOT EXISTS ahead_at bigint NOT NULL DEFAULT 0;
--# add column run_rule.ahead_of
ALTER TABLE run_rule ADD COLUMN IF NOT EXISTS ahead_of text;
--# add column run_rule.archived
ALTER TABLE run_rule ADD COLUMN IF NOT EXISTS archived text[];
--# add column run_rule.family_size
ALTER TABLE run_rule ADD COLUMN IF NOT EXISTS family_size integer;
--# comment on table run_rule
COMMENT ON TABLE run_rule IS
    'Progress of a run, written in the transaction that deletes: cursor, counts, current batch size; halving: a failing family is '
    'being searched for. weigh: for how many of the next families the rows are counted before they are deleted. gone: what a dry run '
    'already counted. paced: how pace() measures the last batch. start: where the previous run stopped and this one began; around: it '
    'has since reached the end, and examines what lies before; rule_hash: of the rule''s spec at that time. ahead: the roots of the '
    'next batches, if one search was made for several, their times, and how many of them were examined; empty when the run ends. Where '
    'ahead_of names an instant: the keys of its next rows (part/), or of what was locked (last/; many/: others are left), and instead of '
    'times what is locked. '
    'archived: the tables that the run archives by the rule, of which it keeps the rows or the partitions; NULL: a run of an earlier '
    'version. family_size: how big the batches of families were, while slices of rows that belong to none follow them.';
-- rule_instant: within which instants runs go on.
--# create table rule_instant
CREATE TABLE IF NOT EXISTS rule_instant (
    rule      text        NOT NULL,
    due       text        NOT NULL,
    since     bigint      NOT NULL,
    rule_hash text        NOT NULL,
    run_id    bigint      NOT NULL,
    failures  bigint      NOT NULL,
    noted_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (rule, due)
);
--# comment on table rule_instant
COMMENT ON TABLE rule_instant IS
    'Instants of rules of one table of which rows were refused, and of which no run has looked at all others since run since: what failed '
    'in these runs is passed over. due: in UTC where the time has a zone. run_id: the last run that met such rows '
    'there; failures: so many. rule_hash: of the rule''s spec.';
--# create view run_table
CREATE OR REPLACE VIEW run_table AS
SELECT
    r.run_id,
    r.rule,
    t.position,
    t.table_name,
    t.deleted_rows,
    t.table_name = ANY (r.archived) AS archived
FROM run_rule AS r
CROSS JOIN LATERAL unnest(r.table_names, r.table_rows) WITH ORDINALITY AS t(table_name, deleted_rows, position);
--# comment on view run_table
COMMENT ON VIEW run_table IS
    'Rows deleted by run, rule and table; position is the order of deletion; archived: the run archives the table (NULL: a run of an '
    'earlier version).';
--# create table run_skip
CREATE TABLE IF NOT EXISTS run_skip (
    run_id      bigint NOT NULL,
    rule        text   NOT NULL,
    reason      text   NOT NULL,
    families    bigint NOT NULL,
    sample_keys text[] NOT NULL,
    PRIMARY KEY (run_id, rule, reason)
);
--# create constraint run_skip_reason_check
ALTER TABLE run_skip
    DROP CONSTRAINT IF EXISTS run_skip_reason_check,
    ADD CONSTRAINT run_skip_reason_check CHECK (reason IN (
        --+ reasons.sql
    ));
--# comment on table run_skip
COMMENT ON TABLE run_skip IS
    'Families that a run skipped, by reason, with the keys of the first ten.';
--# create table run_pass
CREATE TABLE IF NOT EXISTS run_pass (
    run_id       bigint NOT NULL,
    rule         text   NOT NULL,
    pass         text   NOT NULL,
    deleted_rows bigint NOT NULL,
    sample_keys  text[] NOT NULL,
    PRIMARY KEY (run_id, rule, pass)
);
--# comment on table run_pass
COMMENT ON TABLE run_pass IS
    'Why rows of single-row rules were deleted: how many by run, rule and pass, with the keys of the first ten.';
--# create table run_key
CREATE TABLE IF NOT EXISTS run_key (
    run_id bigint  NOT NULL,
    key    text    NOT NULL,
    forced boolean NOT NULL,
    PRIMARY KEY (run_id, key)
);
--# comment on table run_key
COMMENT ON TABLE run_key IS
    'What a purge that is under way may delete: the keys that it was told, and whether with the option force.';
--# create table run_sweep
CREATE TABLE IF NOT EXISTS run_sweep (
    run_id   bigint  NOT NULL PRIMARY KEY,
    sweep_id bigint  NOT NULL,
    worker   integer NOT NULL,
    at_rule  text
);
--# create index run_sweep_of
CREATE INDEX IF NOT EXISTS run_sweep_of ON run_sweep (sweep_id);
--# comment on table run_sweep
COMMENT ON TABLE run_sweep IS
    'The worker of each run, its sweep (the run that began it), and the rule that it works on.';
-- The ledger of stamps: as many rows of table run, with the trigger STAMP, and their progress.
--# create table run_stamp
CREATE TABLE IF NOT EXISTS run_stamp (
    run_id         bigint      NOT NULL,
    rule           text        NOT NULL,
    families       bigint      NOT NULL DEFAULT 0,
    changed_rows   bigint      NOT NULL DEFAULT 0,
    batches        bigint      NOT NULL DEFAULT 0,
    retries        bigint      NOT NULL DEFAULT 0,
    retries_in_row integer     NOT NULL DEFAULT 0,
    batch_families integer     NOT NULL,
    cursor_key     text,
    table_names    text[]      NOT NULL,
    table_rows     bigint[]    NOT NULL,
    started_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, rule)
);
--# comment on table run_stamp
COMMENT ON TABLE run_stamp IS
    'Progress of a stamp, written in the transaction that changes the rows: cursor, examined families that now have the removal time, '
    'rows changed, by table.';
--# create table run_failure
CREATE TABLE IF NOT EXISTS run_failure (
    run_id    bigint      NOT NULL,
    rule      text        NOT NULL,
    key       text        NOT NULL,
    sqlstate  text        NOT NULL,
    message   text        NOT NULL,
    failed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, rule, key)
);
--# comment on table run_failure
COMMENT ON TABLE run_failure IS
    'Families whose deletion raised an error even on their own, with that error, or that of an earlier run which tried.';

--# create table run_backlog
CREATE TABLE IF NOT EXISTS run_backlog (
    rule             text        NOT NULL,
    run_id           bigint      NOT NULL,
    families         bigint      NOT NULL,
    counted_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    rows_per_family  double precision,
    due_per_hour     double precision,
    deleted_per_hour double precision,
    complete         boolean,
    PRIMARY KEY (rule, run_id)
);
-- What the table of an earlier version lacks.
--# add column run_backlog.complete
ALTER TABLE run_backlog ADD COLUMN IF NOT EXISTS complete boolean;
--# comment on table run_backlog
COMMENT ON TABLE run_backlog IS
    'Families that were due when a run ended, whether or not they may be deleted, counted up to 1,000,000 or among the first 1,000,000 '
    'rows; complete: whether these are all; rows per family in the last runs; families per hour that became due and that were deleted, '
    'over up to seven days.';

-- tally: keeps the metrics' counters when the ledger is pruned.
--# create table tally
CREATE TABLE IF NOT EXISTS tally (
    name   text   NOT NULL,
    labels jsonb  NOT NULL,
    value  bigint NOT NULL,
    PRIMARY KEY (name, labels)
);
--# fill table tally
INSERT INTO tally (name, labels, value)
VALUES ('up to run', '{}', 0)
ON CONFLICT (name, labels) DO NOTHING;
--# comment on table tally
COMMENT ON TABLE tally IS
    'The counters of view metrics, summed over the runs up to the one that the row "up to run" names. Written by tally_up().';

-- artifact: files that deleted rows named; `windrow artifacts drain` removes them, best effort.
--# create table artifact
CREATE TABLE IF NOT EXISTS artifact (
    artifact_id     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id          bigint      NOT NULL,
    rule            text        NOT NULL,
    host            text,
    path            text        NOT NULL,
    recorded_at     timestamptz NOT NULL DEFAULT now(),
    attempts        integer     NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL DEFAULT '-infinity',
    last_error      text,
    given_up        boolean     NOT NULL DEFAULT false
);
--# create index artifact_failed
CREATE INDEX IF NOT EXISTS artifact_failed ON artifact (run_id, rule) WHERE last_error IS NOT NULL;
--# comment on table artifact
COMMENT ON TABLE artifact IS
    'Outbox of files outside the database, written in the transaction that deleted their rows. A drained file is removed from it.';
