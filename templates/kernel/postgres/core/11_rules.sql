-- spec: what the spec says of the whole installation.
--# create table spec
CREATE TABLE IF NOT EXISTS spec (
    only_row boolean NOT NULL DEFAULT true PRIMARY KEY,
    workers  integer NOT NULL,
    document jsonb   NOT NULL
);
--# comment on table spec
COMMENT ON TABLE spec IS
    'What the spec says of the whole installation, in one row. workers: how many runs there may be at a time. Written by an installation.';

-- rule: what the spec says of each rule. Filled by register_rule(), from the document in the file of the rule.
--# create table rule
CREATE TABLE IF NOT EXISTS rule (
    rule          text    NOT NULL PRIMARY KEY,
    position      integer NOT NULL,
    strategy      text    NOT NULL,
    root          text    NOT NULL,
    tables        text[]  NOT NULL,
    retention     bigint,
    minimum       bigint  NOT NULL,
    divided       boolean NOT NULL,
    document      jsonb   NOT NULL
);
--# comment on table rule
COMMENT ON TABLE rule IS
    'The rules of the spec, in the order in which a run takes them. root: the table whose rows a rule looks at; tables: those whose rows go, in the order of deletion; retention (NULL: none by default) and minimum in seconds; divided: workers share its families out; document: all that the spec says. Written by an installation.';

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

-- register_spec: takes what the spec says of the whole installation. What is known of rules that it has no more is forgotten.
--# create function register_spec
CREATE OR REPLACE FUNCTION register_spec(p_document jsonb)
RETURNS void
LANGUAGE sql
SET search_path FROM CURRENT
AS $windrow$
    INSERT INTO spec (workers, document)
    VALUES ((p_document ->> 'workers')::integer, p_document)
    ON CONFLICT (only_row) DO UPDATE
    SET workers = excluded.workers,
        document = excluded.document;
    DELETE FROM rule_limit AS l WHERE NOT p_document -> 'rules' ? l.rule;
    DELETE FROM rule AS r WHERE NOT p_document -> 'rules' ? r.rule;
$windrow$;
--# comment on function register_spec
COMMENT ON FUNCTION register_spec(jsonb) IS
    'Takes what the spec says of the whole installation: its rules by name, how many workers, and the rest.';

-- register_rule: takes what the spec says of one rule.
--# create function register_rule
CREATE OR REPLACE FUNCTION register_rule(p_position integer, p_document jsonb)
RETURNS void
LANGUAGE sql
SET search_path FROM CURRENT
AS $windrow$
    INSERT INTO rule AS r (rule, position, strategy, root, tables, retention, minimum, divided, document)
    SELECT d.rule, p_position, d.strategy, d.root, d.tables, d.retention, d.minimum, d.divided, p_document
    FROM jsonb_to_record(p_document) AS d(
        rule text, strategy text, root text, tables text[], retention bigint, minimum bigint, divided boolean
    )
    ON CONFLICT (rule) DO UPDATE
    SET position = excluded.position,
        strategy = excluded.strategy,
        root = excluded.root,
        tables = excluded.tables,
        retention = excluded.retention,
        minimum = excluded.minimum,
        divided = excluded.divided,
        document = excluded.document;
    DELETE FROM rule_limit AS l WHERE l.rule = p_document ->> 'rule';
    INSERT INTO rule_limit (rule, name, value)
    SELECT p_document ->> 'rule', l.key, l.value::bigint
    FROM jsonb_each_text(p_document -> 'limits') AS l;
$windrow$;
--# comment on function register_rule
COMMENT ON FUNCTION register_rule(integer, jsonb) IS
    'Takes what the spec says of one rule: its document, and its place among the rules.';

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

-- routine_of: the only place where a name becomes a call. A verb of a rule is a routine of the owner's in this schema, with
-- the owner's rights and a search path of its own: what somebody else made or changed is not called.
--# create function routine_of
CREATE OR REPLACE FUNCTION routine_of(p_rule text, p_verb text)
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
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
        RAISE EXCEPTION 'rule % has no routine %_%: it is missing, or another than the installation made', p_rule, p_rule, p_verb
            USING ERRCODE = '55000', HINT = 'windrow install puts it back; windrow diff shows how it differs.';
    END IF;
    RETURN v_routine;
END
$windrow$;
--# comment on function routine_of
COMMENT ON FUNCTION routine_of(text, text) IS
    'The name of the routine that does p_verb for p_rule, to be called; raises 55000 where there is none as the installation made it.';
