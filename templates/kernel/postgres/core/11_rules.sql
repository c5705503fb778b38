-- rule: what the spec says of each rule. Filled by register_rule(), from the document in the file of the rule.
--# create table rule
CREATE TABLE IF NOT EXISTS rule (
    rule           text    NOT NULL PRIMARY KEY,
    position       integer NOT NULL,
    strategy       text    NOT NULL,
    root           text    NOT NULL,
    tables         text[]  NOT NULL,
    time_name      text    NOT NULL,
    zoned          boolean NOT NULL,
    scope_name     text,
    scope_pattern  text,
    retention      bigint,
    minimum        bigint  NOT NULL,
    retained       boolean NOT NULL,
    counts_undated boolean NOT NULL,
    divided        boolean NOT NULL,
    document       jsonb   NOT NULL
);
--# comment on table rule
COMMENT ON TABLE rule IS
    'The rules of the spec, in the order in which a run applies them. root: the root table; tables: those whose rows are deleted, in '
    'the order of deletion; time_name: the column by which rows become due, zoned: it is an instant; scope_name: the column of the '
    'policies; retention (NULL: none by default) and minimum in seconds; retained: the rule has a retention; counts_undated: rows '
    'without a time are counted; divided: workers share its families; document: everything in the spec. Written by an installation.';

-- key_refers: the columns of a rule's key, as its document has them.
--# create function key_refers
CREATE OR REPLACE FUNCTION key_refers(p_document jsonb)
RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT format('%s(%s)', p_document ->> 'root', string_agg(regexp_replace(k.said, ' [a-z]+$', ''), ', ' ORDER BY k.place))
    FROM jsonb_array_elements_text(p_document -> 'key') WITH ORDINALITY AS k(said, place);
$windrow$;
--# comment on function key_refers
COMMENT ON FUNCTION key_refers(jsonb) IS
    'The root table of a rule and the columns of its key, as the document of the rule has them.';

-- rule_refers: which columns the keys of holds and the scopes of policies are values of. A hold or a policy notes it when the next
-- installation begins: by then the spec may have other columns for the rule of that name.
--# create view rule_refers
CREATE OR REPLACE VIEW rule_refers AS
SELECT r.rule, 'hold' AS kind, key_refers(r.document) AS refers_to
FROM rule AS r
UNION ALL
SELECT r.rule, 'policy', format('%s.%s', r.root, r.scope_name)
FROM rule AS r
WHERE r.scope_name IS NOT NULL;
--# comment on view rule_refers
COMMENT ON VIEW rule_refers IS
    'The columns that the keys of a rule''s holds, and the scopes of its policies, are values of.';

-- rule_limit: what the spec says of each setting of a rule.
--# create table rule_limit
CREATE TABLE IF NOT EXISTS rule_limit (
    rule  text   NOT NULL,
    name  text   NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (rule, name)
);
--# comment on table rule_limit
COMMENT ON TABLE rule_limit IS
    'The limits of the spec, which table setting overrides; view settings has both. Written by an installation.';

-- Earlier versions took the limits of a run for any rule. Where the first rule, as the rules are yet, had one, no other counted. The first
-- installation has no settings yet.
--# forget settings that never counted
DO $windrow$
BEGIN
    IF to_regclass('setting') IS NOT NULL THEN
        DELETE FROM setting AS s
        USING rule_limit AS l, rule AS r, rule AS f, setting AS w
        WHERE s.name IN ('time_budget', 'ledger_days')
          AND l.rule = s.rule
          AND l.name = s.name
          AND r.rule = s.rule
          AND r.position > 1
          AND f.position = 1
          AND w.rule = f.rule
          AND w.name = s.name;
    END IF;
END
$windrow$;

-- known_table: the tables of the application, and the columns that show which rows belong together.
--# create table known_table
CREATE TABLE IF NOT EXISTS known_table (
    name        text    NOT NULL PRIMARY KEY,
    columns     name[]  NOT NULL,
    goes        boolean NOT NULL,
    sets        name[]  NOT NULL,
    is_archived boolean NOT NULL
);
--# add column known_table.reads
ALTER TABLE known_table ADD COLUMN IF NOT EXISTS reads name[] NOT NULL DEFAULT '{}';
--# comment on table known_table
COMMENT ON TABLE known_table IS
    'The tables of the spec. columns: those of keys and edges; goes: its rows are deleted; sets: the columns that are set; '
    'is_archived: its rows are copied before they are deleted; reads: other columns by which rules decide. Written by an installation.';

-- known_key: the foreign keys that act, as the spec accounts for them.
--# create table known_key
CREATE TABLE IF NOT EXISTS known_key (
    table_name text   NOT NULL,
    columns    text[] NOT NULL,
    parent     text   NOT NULL,
    named      text[] NOT NULL,
    effects    text   NOT NULL
);
-- A publication of all tables takes no DELETE from a table whose rows it cannot name.
--# name the rows of known_key
ALTER TABLE known_key REPLICA IDENTITY FULL;
--# comment on table known_key
COMMENT ON TABLE known_key IS
    'What the spec says about foreign keys: columns, sorted, and what they refer to; effects: as in pg_constraint.confdeltype. '
    'Written by '
    'an installation.';

-- known_edge: which column holds a value of which other.
--# create table known_edge
CREATE TABLE IF NOT EXISTS known_edge (
    table_name text NOT NULL,
    own        text NOT NULL,
    parent     text NOT NULL,
    named      text NOT NULL
);
--# name the rows of known_edge
ALTER TABLE known_edge REPLICA IDENTITY FULL;
--# comment on table known_edge
COMMENT ON TABLE known_edge IS
    'The edges of the spec, column by column: own of table_name refers to named of parent. Written by an installation.';

-- catalog_state: what the catalog said of the tables of the spec: when nothing was seen to act (run_id -1), when somebody armed
-- windrow (run_id 0), and when each run that is open began.
--# create table catalog_state
CREATE TABLE IF NOT EXISTS catalog_state (
    run_id   bigint      NOT NULL PRIMARY KEY,
    state    jsonb       NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
--# comment on table catalog_state
COMMENT ON TABLE catalog_state IS
    'The result of catalog_now() when strangers() found nothing that acts (run_id -1), when windrow was armed or reinstalled (run_id '
    '0), and when each open run began. Every batch compares it.';

-- spelling_of: what a value of a type looks like. It has one spelling, the server's own: two policies for one scope would leave
-- open which of them holds.
--# create function spelling_of
CREATE OR REPLACE FUNCTION spelling_of(p_type text)
RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT CASE
        WHEN p_type IS NULL THEN NULL
        -- A cast finds what is out of range.
        WHEN p_type IN ('smallint', 'integer', 'bigint') THEN '^(0|-?[1-9][0-9]{0,18})$'
        WHEN p_type = 'uuid' THEN '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$'
        ELSE '^.+$'
    END;
$windrow$;
--# comment on function spelling_of
COMMENT ON FUNCTION spelling_of(text) IS
    'What a value of a type looks like, as a regular expression. Example: SELECT spelling_of(''bigint'');';

-- disarm_over: an installation that takes the effect from a hold, a policy or a pause disarms, in the transaction that does so. What had
-- none before does not count, and settings keep no row.
--# create function disarm_over
CREATE OR REPLACE FUNCTION disarm_over(p_rule text, p_key text, p_scope text)
RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    -- Where nothing is armed, the tables of an earlier version may lack.
    IF NOT coalesce((SELECT c.armed FROM control AS c), false) THEN
        RETURN;
    END IF;
    IF EXISTS (
        SELECT FROM rule_refers AS n
        JOIN hold AS h ON h.rule = n.rule AND coalesce(h.refers_to, n.refers_to) = n.refers_to
        WHERE n.rule = p_rule
          AND n.kind = 'hold'
          AND n.refers_to IS DISTINCT FROM p_key
          AND (h.until > clock_timestamp()) IS NOT FALSE
        UNION ALL
        SELECT FROM rule_refers AS n
        JOIN policy AS p ON p.rule = n.rule AND coalesce(p.refers_to, n.refers_to) = n.refers_to
        WHERE n.rule = p_rule
          AND n.kind = 'policy'
          AND n.refers_to IS DISTINCT FROM p_scope
        UNION ALL
        SELECT FROM rule_pause AS s WHERE s.rule = p_rule AND p_key IS NULL
    ) THEN
        UPDATE control SET armed = false;
        RAISE WARNING 'not armed any more: holds, policies or a pause of rule % have no effect now', p_rule;
    END IF;
END
$windrow$;
--# comment on function disarm_over
COMMENT ON FUNCTION disarm_over(text, text, text) IS
    'Disarms where holds, policies or a pause of p_rule lose their effect, because its keys are of p_key now, and its scopes of p_scope; '
    'NULL: it has none.';

-- register_spec: takes what the spec says of its tables. What is known of rules that it has no more is forgotten.
--# create function register_spec
CREATE OR REPLACE FUNCTION register_spec(p_document jsonb)
RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_check text;
BEGIN
    UPDATE hold AS h
    SET refers_to = n.refers_to
    FROM rule_refers AS n
    WHERE n.rule = h.rule
      AND n.kind = 'hold'
      AND h.refers_to IS NULL;
    UPDATE policy AS p
    SET refers_to = n.refers_to
    FROM rule_refers AS n
    WHERE n.rule = p.rule
      AND n.kind = 'policy'
      AND p.refers_to IS NULL;
    -- What keeps rows of a rule that goes has no effect any more: what it was set for would be deleted.
    PERFORM disarm_over(r.rule, NULL, NULL) FROM rule AS r WHERE NOT p_document -> 'rules' ? r.rule;
    DELETE FROM rule_limit AS l WHERE NOT p_document -> 'rules' ? l.rule;
    DELETE FROM rule AS r WHERE NOT p_document -> 'rules' ? r.rule;
    -- What acts is judged again.
    DELETE FROM catalog_state AS s WHERE s.run_id = -1;
    DELETE FROM known_table;
    INSERT INTO known_table (name, columns, goes, sets, is_archived, reads)
    SELECT
        t.key, d.columns, coalesce(d.goes, false), coalesce(d.sets, '{}'),
        coalesce(p_document -> 'archives' @> jsonb_build_array(jsonb_build_object('table', t.key)), false), coalesce(d.reads, '{}')
    FROM jsonb_each(p_document -> 'tables') AS t
    CROSS JOIN LATERAL jsonb_to_record(t.value) AS d(columns name[], goes boolean, sets name[], reads name[]);
    DELETE FROM known_key;
    INSERT INTO known_key (table_name, columns, parent, named, effects)
    SELECT d.table_name, d.columns, d.parent, d.named, d.effects
    FROM jsonb_to_recordset(p_document -> 'keys') AS d(table_name text, columns text[], parent text, named text[], effects text);
    -- A key of an edge is known by its columns, sorted.
    INSERT INTO known_key (table_name, columns, parent, named, effects)
    SELECT e."table", c.columns, e.parent, c.named, e.effects
    FROM jsonb_to_recordset(p_document -> 'edges') AS e("table" text, columns text[], parent text, named text[], effects text)
    CROSS JOIN LATERAL (
        SELECT array_agg(x.own ORDER BY x.own COLLATE "C", x.named COLLATE "C"),
            array_agg(x.named ORDER BY x.own COLLATE "C", x.named COLLATE "C")
        FROM unnest(e.columns, e.named) AS x(own, named)
    ) AS c(columns, named)
    WHERE e.effects IS NOT NULL;
    DELETE FROM known_edge;
    INSERT INTO known_edge (table_name, own, parent, named)
    SELECT e."table", c.own, e.parent, c.named
    FROM jsonb_to_recordset(p_document -> 'edges') AS e("table" text, columns text[], parent text, named text[])
    CROSS JOIN LATERAL unnest(e.columns, e.named) AS c(own, named);
    FOR v_check IN
        SELECT k.conname
        FROM pg_constraint AS k
        WHERE k.conrelid = 'policy'::regclass
          AND k.contype = 'c'
          AND starts_with(k.conname, 'policy_')
          AND NOT p_document -> 'rules' ? substr(k.conname, 8)
    LOOP
        EXECUTE format('ALTER TABLE policy DROP CONSTRAINT %I', v_check);
    END LOOP;
END
$windrow$;
--# comment on function register_spec
COMMENT ON FUNCTION register_spec(jsonb) IS
    'Takes what the spec says of its tables, and of its rules by name.';
--# register the tables of the spec
SELECT register_spec(s.document)
FROM spec AS s;

-- respell: earlier versions wrote bytes as their session printed them, and numbers as somebody wrote them. What two texts name that are
-- the same, the stricter of both keeps.
--# create function respell
CREATE OR REPLACE FUNCTION respell(p_rule text, p_scope_type text, p_document jsonb)
RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_said text := CASE p_scope_type WHEN 'bytea' THEN 'h.scope::bytea::text' WHEN 'numeric' THEN 'trim_scale(h.scope::numeric)::text' END;
    v_row  record;
    v_key  text;
    -- What follows the spec is kept for ever where that has no default.
    v_default constant bigint := coalesce((p_document ->> 'retention')::bigint, 31557600000);
BEGIN
    IF v_said IS NOT NULL THEN
        -- One of another column is no value of this type.
        FOR v_row IN EXECUTE format(
            $said$
            SELECT s.*
            FROM (
                SELECT h.*, CASE WHEN h.refers_to = $2 THEN %s END AS spelt
                FROM policy AS h
                WHERE h.rule = $1
            ) AS s
            WHERE s.spelt <> s.scope
            $said$,
            v_said
        ) USING p_rule, concat(p_document ->> 'root', '.', p_document ->> 'scope_name')
        LOOP
            DELETE FROM policy AS p WHERE p.rule = p_rule AND p.scope = v_row.scope;
            INSERT INTO policy AS p (rule, scope, enabled, retention_seconds, artifacts, note, changed_by, changed_at, refers_to)
            VALUES (p_rule, v_row.spelt, v_row.enabled, v_row.retention_seconds, v_row.artifacts, v_row.note, v_row.changed_by,
                v_row.changed_at, v_row.refers_to)
            ON CONFLICT (rule, scope) DO UPDATE
            SET enabled = p.enabled AND excluded.enabled,
                retention_seconds = CASE
                    WHEN coalesce(p.retention_seconds, v_default) < coalesce(excluded.retention_seconds, v_default)
                        THEN excluded.retention_seconds
                    ELSE p.retention_seconds
                END;
        END LOOP;
    END IF;
    IF jsonb_array_length(p_document -> 'key') = 1 AND p_document #>> '{key,0}' LIKE '% bytea' THEN
        FOR v_row IN SELECT * FROM hold AS h WHERE h.rule = p_rule AND h.refers_to = key_refers(p_document) LOOP
            BEGIN
                v_key := v_row.key::bytea::text;
            EXCEPTION WHEN data_exception THEN
                CONTINUE;
            END;
            CONTINUE WHEN v_key = v_row.key;
            DELETE FROM hold AS h WHERE h.rule = p_rule AND h.key = v_row.key;
            INSERT INTO hold AS h (rule, key, reason, until, placed_by, placed_at, absent, refers_to)
            VALUES (p_rule, v_key, v_row.reason, v_row.until, v_row.placed_by, v_row.placed_at, v_row.absent, v_row.refers_to)
            ON CONFLICT (rule, key) DO UPDATE
            SET until = CASE WHEN h.until IS NOT NULL AND excluded.until IS NOT NULL THEN greatest(h.until, excluded.until) END,
                absent = h.absent OR excluded.absent;
        END LOOP;
    END IF;
END
$windrow$;
--# comment on function respell
COMMENT ON FUNCTION respell(text, text, jsonb) IS
    'Writes the scopes of the policies of p_rule, and the keys of its holds, as the server prints them in every session.';

-- register_rule: takes what the spec says of one rule. Whoever writes a policy, a check enforces the minimum, and that the
-- scope is a value of its column.
--# create function register_rule
CREATE OR REPLACE FUNCTION register_rule(p_position integer, p_document jsonb)
RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_rule  constant text := p_document ->> 'rule';
    v_check constant text := concat('policy_', v_rule);
    v_type  constant text := coalesce(p_document ->> 'scope_type', 'text');
    -- A number has one spelling, whatever digits its column prints behind the point; bytes have one, whatever a session prints.
    v_looks constant text := coalesce(
        CASE v_type
            WHEN 'numeric' THEN '^(0|-?([1-9][0-9]*|(0|[1-9][0-9]*)[.][0-9]*[1-9])|NaN|-?Infinity)$'
            WHEN 'bytea' THEN E'^\\\\x([0-9a-f]{2})*$'
        END,
        spelling_of(p_document ->> 'scope_type')
    );
    v_spelt constant text := CASE v_type
        WHEN 'bytea' THEN format('concat(%L, encode(scope::bytea, ''hex''))', E'\\x')
        ELSE format('scope::%s::text', v_type)
    END;
BEGIN
    -- Who armed windrow looked at what is deleted from this table, by this strategy.
    UPDATE control AS c
    SET armed = false
    FROM rule AS r
    WHERE c.armed
      AND r.rule = v_rule
      AND (r.strategy, r.root) IS DISTINCT FROM (p_document ->> 'strategy', p_document ->> 'root');
    IF FOUND THEN
        RAISE WARNING 'not armed any more: rule % has another strategy or root table', v_rule;
    END IF;
    PERFORM disarm_over(v_rule, key_refers(p_document), (p_document ->> 'root') || '.' || (p_document ->> 'scope_name'));
    DELETE FROM rule AS r WHERE r.rule = v_rule;
    INSERT INTO rule (
        rule, position, strategy, root, tables, time_name, zoned, scope_name, scope_pattern, retention, minimum,
        retained, counts_undated, divided, document
    )
    SELECT
        d.rule, p_position, d.strategy, d.root, d.tables, d.time_name, coalesce(d.zoned, false), d.scope_name, v_looks,
            d.retention, d.minimum,
        coalesce(d.retained, false), coalesce(d.counts_undated, false), coalesce(d.divided, false), p_document
    FROM jsonb_to_record(p_document) AS d(
        rule text, strategy text, root text, tables text[], time_name text, zoned boolean, scope_name text, scope_type text,
        retention bigint, minimum bigint, retained boolean, counts_undated boolean, divided boolean
    );
    DELETE FROM rule_limit AS l WHERE l.rule = v_rule;
    INSERT INTO rule_limit (rule, name, value)
    SELECT v_rule, l.key, l.value::bigint
    FROM jsonb_each_text(p_document -> 'limits') AS l;
    EXECUTE format('ALTER TABLE policy DROP CONSTRAINT IF EXISTS %I', v_check);
    PERFORM respell(v_rule, v_type, p_document);
    -- Earlier versions took longer ones, with which each run of the rule failed: the calendar ends. A thousand years is as good.
    UPDATE policy SET retention_seconds = 31557600000 WHERE rule = v_rule AND retention_seconds > 31557600000;
    EXECUTE format(
        $check$
        ALTER TABLE policy ADD CONSTRAINT %I CHECK (
            CASE
                WHEN rule <> %L OR refers_to <> %L THEN true
                WHEN retention_seconds < %s OR retention_seconds > 31557600000 OR scope !~ %L THEN false
                ELSE %s = scope
            END
        )
        $check$,
        v_check,
        v_rule,
        coalesce((SELECT n.refers_to FROM rule_refers AS n WHERE n.rule = v_rule AND n.kind = 'policy'), ''),
        p_document ->> 'minimum',
        coalesce(v_looks, '^$'),
        v_spelt
    );
    EXECUTE format(
        'COMMENT ON CONSTRAINT %I ON policy IS %L',
        v_check,
        format('The minimum retention of rule %s is %s; it is set in the spec.', v_rule, in_words((p_document ->> 'minimum')::bigint))
    );
END
$windrow$;
--# comment on function register_rule
COMMENT ON FUNCTION register_rule(integer, jsonb) IS
    'Takes what the spec says of one rule: its document, and its place among the rules.';

-- verb_told: what a verb of a rule is for, for its comment. The file of the rule says more.
--# create function verb_told
CREATE OR REPLACE FUNCTION verb_told(p_verb text)
RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT CASE p_verb
        WHEN 'scope' THEN 'Cutoffs by scope, counted from p_as_of. p_retention overrides policies, never below the minimum.'
        WHEN 'roots' THEN 'The roots that have ended, or the root of their family. Statements include its text.'
        WHEN 'next' THEN 'The next p_limit roots after the cursor. Reads only; judge() decides.'
        WHEN 'bound' THEN 'Which of the given members, of a slice, or of a key, a hold of another rule keeps. Only reads.'
        WHEN 'kept' THEN 'Which of the given members a row of another table keeps, and so their families. Only reads.'
        WHEN 'met' THEN 'Which other members share a row with the given ones that is deleted with all of its parents. Only reads.'
        WHEN 'members' THEN 'The rows of some ids, and their links; p_lock: those that FOR UPDATE SKIP LOCKED gets.'
        WHEN 'above' THEN 'The parents of the given rows. Only reads.'
        WHEN 'newest' THEN 'Which of some rows are roots that are kept whatever their age: the newest of their group.'
        WHEN 'unlisted' THEN 'How many roots older than the default retention are kept because their scope has no policy.'
        WHEN 'rows' THEN 'The rows of the root table with their families and times. Statements include its text.'
        WHEN 'rooted' THEN 'The rows of the root table whose root exists. Statements include its text.'
        WHEN 'at' THEN 'When a slice with p_skip rows ends. Only reads.'
        WHEN 'keep' THEN 'What is kept of a slice, with the reasons. p_lock: locks its rows of the root table first.'
        WHEN 'judge' THEN 'The families of these roots that may be deleted, and why others are kept. p_lock: locks their rows first.'
        WHEN 'namers' THEN 'Families whose rows refer to rows of these; NULL: rows of no family do. Only reads.'
        WHEN 'adopted' THEN 'What finds the rows of these families that refer to no root. Only reads.'
        WHEN 'delete_families' THEN 'Deletes these families, in the caller''s transaction, and returns how many rows by table.'
        WHEN 'count_families' THEN 'Rows of these families, by table. Only reads.'
        WHEN 'other' THEN 'The key of a row that belongs to no family and can be held; NULL if there is none. Only reads.'
        WHEN 'strays' THEN 'Rows that would be deleted without their family, and rows that are never deleted, by table. Reads whole tables.'
        WHEN 'search' THEN 'The next rows, or the named ones, and why one is kept. Without p_as_of their time does not matter.'
        WHEN 'reach' THEN 'Where the next rows that a worker claims end. Only reads.'
        WHEN 'count' THEN 'How many rows of each table would be deleted, in the order of deletion. Only reads.'
        WHEN 'delete' THEN 'Deletes what it is given, in the caller''s transaction, and returns how many rows by table.'
        WHEN 'count_partition' THEN 'How many rows a partition has, and which of the given keys are among them. Only reads.'
        WHEN 'held_partition' THEN 'Which rows of a partition a hold of another rule keeps. Only reads.'
        WHEN 'drop_partition' THEN 'Drops one partition, in the caller''s transaction, if it is one of the rule''s table with these bounds.'
        WHEN 'make_partition' THEN 'Makes one partition like its neighbour, in the caller''s transaction.'
        WHEN 'undated' THEN 'Rows that have ended but have no time, so no retention can ever be reached. Only reads.'
        WHEN 'unranked' THEN 'Rows with NULL in a column by which they are grouped or ordered. Reads the whole table.'
        ELSE 'A part of the statements of the rule, which include its text.'
    END;
$windrow$;
--# comment on function verb_told
COMMENT ON FUNCTION verb_told(text) IS
    'What a verb of a rule is for. Example: SELECT verb_told(''delete'');';

-- register_verbs: the file of a rule says which verbs it has made, each with the hash of what was generated, for its comment.
--# create function register_verbs
CREATE OR REPLACE FUNCTION register_verbs(p_rule text, p_verbs text[])
RETURNS void
LANGUAGE plpgsql
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_verb record;
BEGIN
    PERFORM register_routines(
        format('30_%s.sql', p_rule), ARRAY(SELECT format('%s_%s', p_rule, split_part(v.told, ' ', 1)) FROM unnest(p_verbs) AS v(told))
    );
    -- One of the same name and other parameters is of an earlier state of the spec, and has a comment of its own.
    FOR v_verb IN
        SELECT p.oid::regprocedure AS routine, v.verb, v.hash
        FROM (SELECT split_part(l.told, ' ', 1) AS verb, split_part(l.told, ' ', 2) AS hash FROM unnest(p_verbs) AS l(told)) AS v
        JOIN pg_proc AS p ON p.proname = format('%s_%s', p_rule, v.verb) AND p.pronamespace = current_schema()::regnamespace
        WHERE v.hash = routine_hash(p.oid)
    LOOP
        EXECUTE format('COMMENT ON FUNCTION %s IS %L', v_verb.routine, format('%s [text %s]', verb_told(v_verb.verb), v_verb.hash));
    END LOOP;
END
$windrow$;
--# comment on function register_verbs
COMMENT ON FUNCTION register_verbs(text, text[]) IS
    'Notes which verbs the file of a rule made, and comments on them.';

-- first_rule: what applies to a whole run, such as its time budget, is a setting of the first rule.
--# create function first_rule
CREATE OR REPLACE FUNCTION first_rule()
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (SELECT r.rule FROM rule AS r ORDER BY r.position LIMIT 1);
END
$windrow$;
--# comment on function first_rule
COMMENT ON FUNCTION first_rule() IS
    'The first rule of the spec, whose settings hold for whole runs.';

-- in_words: a duration as people write it.
--# create function in_words
CREATE OR REPLACE FUNCTION in_words(p_seconds bigint)
RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT CASE
        WHEN p_seconds >= 86400 AND p_seconds % 86400 = 0 THEN format('%s days', p_seconds / 86400)
        WHEN p_seconds >= 3600 AND p_seconds % 3600 = 0 THEN format('%s hours', p_seconds / 3600)
        WHEN p_seconds >= 60 AND p_seconds % 60 = 0 THEN format('%s minutes', p_seconds / 60)
        ELSE format('%s seconds', p_seconds)
    END;
$windrow$;
--# comment on function in_words
COMMENT ON FUNCTION in_words(bigint) IS
    'Seconds in words: 7 days. Example: SELECT in_words(604800);';

-- retention_of: the default retention of a rule, in seconds; the minimum where only policies and sources say more.
--# create function retention_of
CREATE OR REPLACE FUNCTION retention_of(p_rule text)
RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT coalesce(r.retention, r.minimum) FROM rule AS r WHERE r.rule = p_rule;
$windrow$;
--# comment on function retention_of
COMMENT ON FUNCTION retention_of(text) IS
    'The default retention of a rule in seconds; the minimum where it has none.';
-- default_of: the retention of a policy that follows the spec. Where that has no default, it is the longest that a policy may say.
--# create function default_of
CREATE OR REPLACE FUNCTION default_of(p_rule text)
RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT coalesce((SELECT r.retention FROM rule AS r WHERE r.rule = p_rule), 31557600000);
$windrow$;
--# comment on function default_of
COMMENT ON FUNCTION default_of(text) IS
    'The default retention of a rule in seconds; a thousand years where it has none.';

-- routine_of: the only place where a name becomes a call. A verb of a rule is a routine of the owner's in this schema, with
-- the owner's rights and a search path of its own: what somebody else made or changed is not called.
--# create function routine_of
CREATE OR REPLACE FUNCTION routine_of(p_rule text, p_verb text)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_routine text;
BEGIN
    SELECT p.oid::regproc::text
    INTO v_routine
    FROM rule AS r
    JOIN pg_proc AS p ON p.proname = r.rule || '_' || p_verb
    WHERE r.rule = p_rule
      AND p.pronamespace = current_schema()::regnamespace
      AND p.proowner = current_user::regrole
      AND p.prosecdef
      AND p.proconfig IS NOT NULL;
    IF v_routine IS NULL THEN
        RAISE EXCEPTION 'rule % has no routine %_%: it is missing, or not the one that the installation made', p_rule, p_rule, p_verb
            USING ERRCODE = '55000', HINT = 'windrow install puts it back; windrow diff shows how it differs.';
    END IF;
    RETURN v_routine;
END
$windrow$;
--# comment on function routine_of
COMMENT ON FUNCTION routine_of(text, text) IS
    'The name of the routine that does p_verb for p_rule, to be called; raises 55000 where there is none as the installation made it.';
