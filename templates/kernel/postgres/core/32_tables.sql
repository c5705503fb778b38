-- What names the tables of the application by what is registered of them, and only reads: their locks, keys, orphans and files.

-- key_of: the columns of a rule's key, with their types as the spec has them.
--# create function key_of
CREATE OR REPLACE FUNCTION key_of(p_rule text)
RETURNS TABLE (name text, type text, place bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT left(k.said, -length(t.type) - 1), t.type, k.place
    FROM rule AS r
    CROSS JOIN LATERAL jsonb_array_elements_text(r.document -> 'key') WITH ORDINALITY AS k(said, place)
    CROSS JOIN LATERAL substring(k.said FROM '[a-z]+$') AS t(type)
    WHERE r.rule = p_rule;
$windrow$;
--# comment on function key_of
COMMENT ON FUNCTION key_of(text) IS
    'The columns of the key of a rule''s root table, in their order, and their types.';

-- key_type_of: the type of a rule's keys where they are passed on: a key of several columns is a text, a JSON array.
--# create function key_type_of
CREATE OR REPLACE FUNCTION key_type_of(p_rule text)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT CASE WHEN count(*) = 1 THEN max(k.type) ELSE 'text' END
    FROM key_of(p_rule) AS k;
$windrow$;
--# comment on function key_type_of
COMMENT ON FUNCTION key_type_of(text) IS
    'The type of a list of keys of a rule has this type for each of them.';

-- keyed: the root table of a rule, or of what a stamp sets besides it (rule.of), and the columns of its key, with their types.
--# create function keyed
CREATE OR REPLACE FUNCTION keyed(p_name text)
RETURNS TABLE (root text, name text, type text, place bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN QUERY
    SELECT n.root, left(k.said, -length(t.type) - 1), t.type, k.place
    FROM (
        SELECT r.root, r.document -> 'key' FROM rule AS r WHERE r.rule = p_name
        UNION ALL
        SELECT s.root, s.key
        FROM rule AS r
        CROSS JOIN LATERAL jsonb_to_recordset(r.document -> 'stamps') AS s(of text, root text, key jsonb)
        WHERE concat(r.rule, '.', s.of) = p_name
    ) AS n(root, key)
    CROSS JOIN LATERAL jsonb_array_elements_text(n.key) WITH ORDINALITY AS k(said, place)
    CROSS JOIN LATERAL substring(k.said FROM '[a-z]+$') AS t(type);
END
$windrow$;
--# comment on function keyed
COMMENT ON FUNCTION keyed(text) IS
    'The root table of a rule, or of what stamps set besides it (rule.of), with the columns of its key, their types and their places.';

-- many_spellings: whether two keys of a root table may be equal and have different texts: numbers without a scale (17, 17.0), strings in a
-- collation that takes different ones for equal, and char where a key has several columns: JSON has its blanks.
--# create function many_spellings
CREATE OR REPLACE FUNCTION many_spellings(p_name text)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    -- Each batch asks. A subquery for each column is answered by the index of pg_attribute; a join would read all of that catalog.
    RETURN (
        SELECT coalesce(bool_or(a.differs), false) OR count(*) > 1 AND bool_or(k.type = 'bpchar')
        FROM keyed(p_name) AS k
        CROSS JOIN spec AS s
        CROSS JOIN LATERAL (
            SELECT (
                SELECT NOT c.collisdeterministic OR k.type = 'numeric' AND a.atttypmod = -1
                FROM pg_attribute AS a
                LEFT JOIN pg_collation AS c ON c.oid = a.attcollation
                WHERE a.attrelid = to_regclass(format('%I.%I', s.schema_name, k.root))::oid
                  AND a.attname = k.name::name
            ) AS differs
        ) AS a
    );
END
$windrow$;
--# comment on function many_spellings
COMMENT ON FUNCTION many_spellings(text) IS
    'Whether the key of the root table of a rule, or of rule.of, may have different texts that are equal.';

-- as_there: keys as the rows that have them spell them. Rows that name one may spell it otherwise, and so may people.
--# create function as_there
CREATE OR REPLACE FUNCTION as_there(p_name text, p_keys text[])
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
SET row_security = off
AS $windrow$
DECLARE
    v_query text;
    v_keys  text[];
BEGIN
    IF coalesce(p_keys, '{}') = '{}' OR NOT many_spellings(p_name) THEN
        RETURN p_keys;
    END IF;
    SELECT format(
        'SELECT array_agg(coalesce((SELECT %s FROM %I.%I AS t WHERE %s LIMIT 1), k.key) ORDER BY k.place) '
        'FROM unnest($1) WITH ORDINALITY AS k(key, place)',
        CASE WHEN count(*) = 1 THEN format('t.%I::text', max(c.name))
            ELSE format('jsonb_build_array(%s)::text', string_agg(format('t.%I', c.name), ', ' ORDER BY c.place)) END,
        max(s.schema_name), max(c.root),
        CASE WHEN count(*) = 1 THEN format('t.%I = k.key::%s', max(c.name), max(c.type))
            ELSE string_agg(format('t.%I = (k.key::jsonb ->> %s)::%s', c.name, c.place - 1, c.type), ' AND ' ORDER BY c.place) END
    )
    INTO v_query
    FROM keyed(p_name) AS c
    CROSS JOIN spec AS s;
    EXECUTE v_query INTO v_keys USING p_keys;
    RETURN v_keys;
END
$windrow$;
--# comment on function as_there
COMMENT ON FUNCTION as_there(text, text[]) IS
    'p_keys as the rows of the root table of a rule, or of rule.of, spell them; those without a row as they are. Reads only.';

-- lock_tables: what a batch does first, by take_tables().
--# create function lock_tables
CREATE OR REPLACE FUNCTION lock_tables(p_rule text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    EXECUTE format(
        'LOCK TABLE %s IN ROW EXCLUSIVE MODE',
        (
            SELECT string_agg(format('%I.%I', s.schema_name, t.name), ', ' ORDER BY t.name COLLATE "C")
            FROM known_table AS t
            CROSS JOIN spec AS s
            WHERE t.goes
              AND (p_rule IS NULL OR t.name = ANY ((SELECT r.tables FROM rule AS r WHERE r.rule = p_rule)::text[]))
        )
    );
END
$windrow$;
--# comment on function lock_tables
COMMENT ON FUNCTION lock_tables(text) IS
    'Locks the tables whose rows p_rule deletes in ROW EXCLUSIVE MODE until the transaction ends; those of all rules where it is NULL.';

-- check_key: a key is a value of the key column of the rule's root table, or of the tables listed besides it.
--# create function check_key
CREATE OR REPLACE FUNCTION check_key(p_rule text, p_key text)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_table text;
    v_key   text[];
    v_hint  text;
    v_each  text;
    v_valid boolean;
BEGIN
    SELECT o.root, o.key
    INTO v_table, v_key
    FROM rule AS r
    CROSS JOIN LATERAL (
        SELECT r.rule, r.root, r.document -> 'key'
        UNION ALL
        SELECT concat(r.rule, '.', s.of), s.root, s.key
        FROM jsonb_to_recordset(r.document -> 'stamps') AS s(of text, root text, key jsonb)
        WHERE s.of IS NOT NULL
    ) AS n(name, root, said)
    CROSS JOIN LATERAL (SELECT n.root, ARRAY(SELECT jsonb_array_elements_text(n.said))) AS o(root, key)
    WHERE n.name = p_rule;
    IF v_table IS NULL THEN
        RETURN;
    END IF;
    BEGIN
        IF cardinality(v_key) > 1 THEN
            -- A key of several columns is a JSON array, written as the server writes it.
            SELECT
                string_agg(format('($1::jsonb ->> %s)::%s', k.place - 1, substring(k.said FROM '[a-z]+$')), ', ' ORDER BY k.place),
                format('A key is a JSON array with the values of [%s].',
                    string_agg(regexp_replace(k.said, ' [a-z]+$', ''), ', ' ORDER BY k.place))
            INTO v_each, v_hint
            FROM unnest(v_key) WITH ORDINALITY AS k(said, place);
            EXECUTE format('SELECT jsonb_array_length($1::jsonb) = %s AND num_nulls(%s) = 0 AND jsonb_build_array(%s)::text = $1',
                cardinality(v_key), v_each, v_each)
            INTO v_valid
            USING p_key;
        ELSE
            -- A number that looks like a key may still be beyond the range of the column.
            v_each := substring(v_key[1] FROM '[a-z]+$');
            v_hint := format('A key is a value of %s.%s.', v_table, regexp_replace(v_key[1], ' [a-z]+$', ''));
            v_valid := p_key ~ spelling_of(v_each);
            IF v_valid THEN
                EXECUTE format('SELECT $1::%s IS NOT NULL', v_each) INTO v_valid USING p_key;
            END IF;
        END IF;
    EXCEPTION WHEN data_exception THEN
        v_valid := false;
    END;
    IF v_valid IS NOT TRUE THEN
        RAISE EXCEPTION 'not a key of %: %', v_table, quote_nullable(p_key)
            USING ERRCODE = '22023', HINT = v_hint;
    END IF;
END
$windrow$;
--# comment on function check_key
COMMENT ON FUNCTION check_key(text, text) IS
    'Raises 22023 for what cannot be a key of the root table of the rule.';

-- orphans: rows whose parent is not there, by edge. Reads whole tables.
--# create function orphans
CREATE OR REPLACE FUNCTION orphans()
RETURNS TABLE (edge text, orphans bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
SET row_security = off
AS $windrow$
DECLARE
    v_query text;
BEGIN
    FOR edge, v_query IN
        SELECT format('%s.%s', e."table", p.columns), format(
            'SELECT count(*) FROM %I.%I AS c WHERE %s%s AND NOT EXISTS (SELECT FROM %I.%I AS p WHERE %s)',
            s.schema_name, e."table", p.present,
            -- A value that means "no parent", and rows that are kept without one.
            concat(format(' AND c.%I <> ', e.columns ->> 0) || quote_literal(e."none"), ' AND ' || e.kept),
            s.schema_name, e.parent, p.same
        )
        FROM spec AS s
        CROSS JOIN LATERAL jsonb_array_elements(s.document -> 'edges') WITH ORDINALITY AS d(edge, place)
        CROSS JOIN LATERAL jsonb_to_record(d.edge) AS e(
            "table" text, columns jsonb, parent text, named jsonb, "none" text, beside boolean, kept text
        )
        CROSS JOIN LATERAL (
            SELECT
                string_agg(x.own, ', ' ORDER BY x.place) AS columns,
                string_agg(format('c.%I IS NOT NULL', x.own), ' AND ' ORDER BY x.place) AS present,
                string_agg(format('p.%I = c.%I', e.named ->> (x.place - 1)::integer, x.own), ' AND ' ORDER BY x.place) AS same
            FROM jsonb_array_elements_text(e.columns) WITH ORDINALITY AS x(own, place)
        ) AS p
        WHERE e.beside IS NOT TRUE
        ORDER BY d.place
    LOOP
        BEGIN
            EXECUTE v_query INTO orphans;
        EXCEPTION WHEN undefined_table OR undefined_column THEN
            orphans := NULL;
        END;
        RETURN NEXT;
    END LOOP;
END
$windrow$;
--# comment on function orphans
COMMENT ON FUNCTION orphans() IS
    'Rows whose parent does not exist, by edge. Reads whole tables.';

-- row_of_key: the row that a hold names. The type of the column reads the key, so that each of its spellings finds the row.
--# create function row_of_key
CREATE OR REPLACE FUNCTION row_of_key(p_rule text, p_key text, OUT o_key text, OUT o_found boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_rule    rule%ROWTYPE;
    v_many    boolean;
    v_said    jsonb;  -- the key by column, as it was given
    v_query   text;
    v_form    text;
    v_missing integer;
    v_here    text;
BEGIN
    SELECT * INTO v_rule FROM rule AS r WHERE r.rule = p_rule;
    SELECT
        count(*) > 1,
        format(
            CASE WHEN count(*) > 1
                THEN 'SELECT num_nulls(%1$s), jsonb_build_array(%1$s)::text, jsonb_build_array(%2$s)::text'
                ELSE 'SELECT num_nulls(%1$s), (%1$s)::text, (%2$s)::text'
            END || ', i.ctid IS NOT NULL FROM jsonb_to_record($1) AS r(%6$s) LEFT JOIN %3$I.%4$I AS i ON %5$s',
            string_agg(format('r.%I', k.name), ', ' ORDER BY k.place),
            string_agg(format('i.%I', k.name), ', ' ORDER BY k.place),
            max(s.schema_name), v_rule.root,
            string_agg(format('i.%1$I = r.%1$I', k.name), ' AND ' ORDER BY k.place),
            string_agg(format('%I %s', k.name, coalesce(format_type(a.atttypid, a.atttypmod), k.type)), ', ' ORDER BY k.place)
        ),
        string_agg(format('%s.%s', v_rule.root, k.name), ', ' ORDER BY k.place)
    INTO v_many, v_query, v_form
    FROM key_of(p_rule) AS k
    CROSS JOIN spec AS s
    LEFT JOIN pg_attribute AS a ON a.attrelid = to_regclass(format('%I.%I', s.schema_name, v_rule.root)) AND a.attname = k.name;
    BEGIN
        v_said := (SELECT jsonb_object_agg(k.name, CASE WHEN v_many THEN p_key::jsonb ->> (k.place - 1)::integer ELSE p_key END)
            FROM key_of(p_rule) AS k);
        EXECUTE v_query INTO v_missing, o_key, v_here, o_found USING v_said;
        IF v_many AND jsonb_array_length(p_key::jsonb) <> (SELECT count(*) FROM key_of(p_rule)) THEN
            v_missing := 1;
        END IF;
    EXCEPTION WHEN data_exception OR check_violation OR not_null_violation THEN
        v_missing := 1;
    END;
    IF v_missing > 0 THEN
        RAISE EXCEPTION 'not a key of %: %', v_rule.root, quote_nullable(p_key)
            USING ERRCODE = '22023', HINT = format('A key is a %s of %s.', CASE WHEN v_many THEN 'JSON array with values'
                ELSE 'value' END, v_form);
    END IF;
    o_key := CASE WHEN o_found THEN v_here ELSE o_key END;
    IF v_rule.strategy = 'end-time' THEN
        -- Only a candidate is ever a root; or it belongs to the family of one that is.
        o_found := end_time_finds(p_rule, o_key, o_found);
    ELSIF NOT o_found AND jsonb_path_exists(v_rule.document, '$.stamps[*].of') THEN
        -- Or it is one of what is held by itself.
        EXECUTE format('SELECT %s(%L)', routine_of(p_rule, 'other'), o_key) INTO v_here;
        o_key := coalesce(v_here, o_key);
        o_found := v_here IS NOT NULL;
    END IF;
END
$windrow$;
--# comment on function row_of_key
COMMENT ON FUNCTION row_of_key(text, text) IS
    'The key of the row that p_key names, as the server writes it, and whether the rule could ever delete it; raises 22023 for what the '
    'column cannot hold. Reads only.';

-- still_there: a transaction that sees what there was when it began may see a row that a run has deleted since. A lock tells: it fails
-- where the row is gone. A row that others have locked is there; it is waited for only if it has changed, too.
--# create function still_there
CREATE OR REPLACE FUNCTION still_there(p_rule text, p_key text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_said  jsonb;  -- the key by column
    v_query text;
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('repeatable read', 'serializable') THEN
        RETURN;
    END IF;
    IF (SELECT count(*) FROM key_of(p_rule)) > 1 THEN
        v_said := p_key::jsonb;
    ELSE
        v_said := jsonb_build_array(p_key);
    END IF;
    FOR v_query IN
        SELECT format('SELECT FROM %I.%I AS i WHERE %s FOR KEY SHARE SKIP LOCKED', s.schema_name, t.name,
            string_agg(format('i.%I = %L', regexp_replace(k.said, ' [a-z]+$', ''), v_said ->> (k.place - 1)::integer), ' AND '))
        FROM spec AS s
        CROSS JOIN (
            SELECT r.root, r.document -> 'key' FROM rule AS r WHERE r.rule = p_rule
            UNION
            SELECT o.stamp ->> 'root', o.stamp -> 'key'
            FROM rule AS r
            CROSS JOIN jsonb_path_query(r.document, '$.stamps[*] ? (exists(@.of))') AS o(stamp)
            WHERE r.rule = p_rule
        ) AS t(name, key)
        CROSS JOIN LATERAL jsonb_array_elements_text(t.key) WITH ORDINALITY AS k(said, place)
        GROUP BY s.schema_name, t.name
    LOOP
        EXECUTE v_query;
    END LOOP;
EXCEPTION WHEN serialization_failure THEN
    RAISE EXCEPTION 'the row with the key % has been deleted since the transaction began', quote_literal(p_key)
        USING ERRCODE = '40001', HINT = 'Begin another transaction and try again; at READ COMMITTED, each statement sees what there is.';
END
$windrow$;
--# comment on function still_there
COMMENT ON FUNCTION still_there(text, text) IS
    'Raises 40001 where the transaction sees a row with this key that is gone. Locks at most that row.';

-- alike: which scopes are the same to their column. Most collations tell all spellings apart.
--# create function alike
CREATE OR REPLACE FUNCTION alike(p_rule text, p_scopes text[], p_others text[])
RETURNS TABLE (scope text, other text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_query text;
BEGIN
    SELECT format(
        'SELECT a.scope, b.scope FROM (SELECT i.%I::text FROM %I.%I AS i WHERE false UNION ALL SELECT unnest($1)) AS a(scope) '
        'JOIN unnest($2) AS b(scope) ON a.scope = b.scope',
        r.scope_name, s.schema_name, r.root
    )
    INTO v_query
    FROM rule AS r
    CROSS JOIN spec AS s
    JOIN pg_attribute AS t ON t.attrelid = to_regclass(format('%I.%I', s.schema_name, r.root)) AND t.attname = r.scope_name
    JOIN pg_collation AS c ON c.oid = t.attcollation AND NOT c.collisdeterministic
    WHERE r.rule = p_rule;
    IF v_query IS NOT NULL THEN
        RETURN QUERY EXECUTE v_query USING p_scopes, p_others;
    ELSE
        RETURN QUERY SELECT a.scope, b.scope FROM unnest(p_scopes) AS a(scope) JOIN unnest(p_others) AS b(scope) ON a.scope = b.scope;
    END IF;
END
$windrow$;
--# comment on function alike
COMMENT ON FUNCTION alike(text, text[], text[]) IS
    'The pairs of scopes that the column of the scopes of p_rule takes for one, in whatever spelling.';

-- named_artifacts: which files of the outbox something still names.
--# create function named_artifacts
CREATE OR REPLACE FUNCTION named_artifacts(p_artifacts jsonb)
RETURNS TABLE (artifact_id bigint, named_by text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
SET row_security = off
AS $windrow$
DECLARE
    -- Without doubled slashes, dots that name a folder itself, and a slash at the end: the same file.
    v_shortest constant text := $text$regexp_replace(regexp_replace(%s::text, '/([.]?/)+', '/', 'g'), '(?<=.)/[.]?$', '')$text$;
    v_file     record;
BEGIN
    FOR v_file IN
        SELECT s.schema_name, f.said ->> 0 AS name, f.said ->> 1 AS path
        FROM spec AS s
        CROSS JOIN LATERAL jsonb_array_elements(s.document -> 'files') WITH ORDINALITY AS f(said, place)
        ORDER BY f.place
    LOOP
        RETURN QUERY EXECUTE format(
            $named$
            SELECT a.artifact_id, %1$L
            FROM artifact AS a
            WHERE a.artifact_id IN (SELECT k.artifact_id::bigint FROM jsonb_array_elements_text($1) AS k(artifact_id))
              AND (
                  EXISTS (SELECT FROM %2$I.%1$I AS t WHERE t.%3$I = a.path)
                  OR EXISTS (SELECT FROM %2$I.%1$I AS t WHERE t.%3$I = %4$s)
                  OR %4$s IN (SELECT %5$s FROM %2$I.%1$I AS t WHERE t.%3$I::text ~ '/[.]?(/|$)')
              )
            $named$,
            v_file.name, v_file.schema_name, v_file.path, format(v_shortest, 'a.path'), format(v_shortest, format('t.%I', v_file.path))
        )
        USING p_artifacts;
    END LOOP;
END
$windrow$;
--# comment on function named_artifacts
COMMENT ON FUNCTION named_artifacts(jsonb) IS
    'Which files of a JSON array of numbers a row that is there still names, whatever its host and in any spelling (a//b, a/./b), and in '
    'which table: they must stay. Asked before a file is removed. It reads the paths of that table from end to end.';
