-- How rows come back from the archive. What is composed here at run time names archives, by table known_archive; archive_put()
-- alone writes to a table of the application.

-- conditions_of: what row t must be, as the spec has it.
--# create function conditions_of
CREATE OR REPLACE FUNCTION conditions_of(p_conditions jsonb)
RETURNS text
LANGUAGE sql STABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT coalesce(string_agg(format(
        ' AND t.%I%s %s',
        c."column",
        CASE WHEN c.printed THEN '::text' END,
        CASE
            WHEN c."null" THEN 'IS NULL'
            WHEN NOT c."null" THEN 'IS NOT NULL'
            ELSE format('IN (%s)', (SELECT string_agg(quote_literal(v.value), ', ') FROM jsonb_array_elements_text(c."values") AS v(value)))
        END
    ), ''), '')
    FROM jsonb_to_recordset(p_conditions) AS c("column" text, "null" boolean, "values" jsonb, printed boolean);
$windrow$;
--# comment on function conditions_of
COMMENT ON FUNCTION conditions_of(jsonb) IS
    'The conditions of a document on row t, each with AND in front of it.';

-- archived_roots: the archived rows of the root table that are of the families p_keys: the roots themselves and what is below.
--# create function archived_roots
CREATE OR REPLACE FUNCTION archived_roots(p_rule text, p_run bigint, p_keys text[])
RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_told    jsonb;
    v_timed   boolean;
    v_root    text;
    v_archive text;
    v_is      text;
    v_where   text;
    v_or      text;
    v_below   text;
    v_key     text;
    v_found   bigint[];
    v_next    bigint[];
BEGIN
    SELECT r.document, r.strategy IN ('removal-time', 'age'), r.root, k.archive, conditions_of(r.document -> 'candidates')
    INTO v_told, v_timed, v_root, v_archive, v_where
    FROM rule AS r
    JOIN known_archive AS k ON k.name = r.root
    WHERE r.rule = p_rule;
    SELECT CASE
        WHEN count(*) = 1 THEN format('t.%I = k.named::%s', max(k.name), max(k.type))
        ELSE string_agg(format('t.%I = (k.named::jsonb ->> %s)::%s', k.name, k.place - 1, k.type), ' AND ' ORDER BY k.place)
    END
    INTO v_is
    FROM key_of(p_rule) AS k;
    EXECUTE format(
        'SELECT k.named FROM unnest($2) AS k(named) WHERE NOT EXISTS (SELECT FROM %I AS t WHERE t.windrow_run_id = $1 AND %s%s) LIMIT 1',
        v_archive, v_is, v_where
    )
    INTO v_key
    USING p_run, p_keys;
    IF v_key IS NOT NULL THEN
        RAISE EXCEPTION 'run % has no archived root in % with the key %', p_run, v_root, v_key
            USING ERRCODE = '22023', HINT = format('SELECT %I.archive_list() has the runs with archived rows.', current_schema());
    END IF;
    -- Rows that refer to the root of their family are found by it, others level by level: what the last members found name as
    -- their descendants.
    SELECT string_agg(format(' OR t.%I = k.named::%s', w.name, key_type_of(p_rule)), '')
    INTO v_or
    FROM jsonb_array_elements_text(v_told -> 'archive_within') AS w(name)
    WHERE v_timed;
    EXECUTE format(
        'SELECT array_agg(DISTINCT t.windrow_row_id) FROM %I AS t JOIN unnest($2) AS k(named) ON %s%s WHERE t.windrow_run_id = $1%s',
        v_archive, v_is, v_or, v_where
    )
    INTO v_found
    USING p_run, p_keys;
    SELECT string_agg(format('SELECT t.windrow_row_id FROM %I AS t WHERE t.windrow_run_id = $1 AND %s', v_archive, b.named), ' UNION ')
    INTO v_below
    FROM (SELECT k.name FROM key_of(p_rule) AS k LIMIT 1) AS o(key)
    CROSS JOIN LATERAL (
        SELECT format(
            't.%1$I IN (SELECT l.%2$I FROM %3$I AS l JOIN %4$I AS p ON p.windrow_run_id = $1 AND p.%1$I = l.%5$I '
            'WHERE l.windrow_run_id = $1 AND p.windrow_row_id = ANY ($2))',
            o.key, l.child, a.archive, v_archive, l.parent
        )
        FROM jsonb_to_recordset(v_told -> 'archive_links') AS l("table" text, parent text, child text)
        JOIN known_archive AS a ON a.name = l."table"
        UNION ALL
        SELECT format(
            't.%I IN (SELECT p.%I FROM %I AS p WHERE p.windrow_run_id = $1 AND p.windrow_row_id = ANY ($2))',
            w.name, o.key, v_archive
        )
        FROM jsonb_array_elements_text(v_told -> 'archive_within') AS w(name)
    ) AS b(named)
    WHERE NOT v_timed;
    v_next := v_found;
    WHILE v_below IS NOT NULL AND cardinality(v_next) > 0 LOOP
        EXECUTE format('SELECT array_agg(n.row_id) FROM (%s EXCEPT SELECT unnest($3)) AS n(row_id)', v_below)
        INTO v_next
        USING p_run, v_next, v_found;
        v_found := v_found || v_next;
    END LOOP;
    RETURN coalesce(v_found, '{}');
END
$windrow$;
--# comment on function archived_roots
COMMENT ON FUNCTION archived_roots(text, bigint, text[]) IS
    'windrow_row_id of the archived rows of the root table of a rule that belong to the families p_keys, in run p_run.';

-- archived_rows: the archived rows of families, found along the edges of the spec in the archive of one run.
--# create function archived_rows
CREATE OR REPLACE FUNCTION archived_rows(p_rule text, p_run bigint, p_keys text[], OUT o_places integer[], OUT o_rows bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_told  constant jsonb := (SELECT r.document FROM rule AS r WHERE r.rule = p_rule);
    v_way   record;
    v_from  record;
    v_found bigint[];
    v_more  bigint[];
BEGIN
    o_places := '{}';
    o_rows := '{}';
    IF v_told -> 'archive' ? (v_told ->> 'root') THEN
        o_rows := archived_roots(p_rule, p_run, p_keys);
        o_places := array_fill((SELECT k.place FROM known_archive AS k WHERE k.name = v_told ->> 'root'), ARRAY[cardinality(o_rows)]);
    END IF;
    FOR v_way IN
        SELECT k.place, k.archive, w.family, w.parents
        FROM jsonb_to_recordset(v_told -> 'archive_ways') AS w("table" text, family jsonb, parents jsonb)
        JOIN known_archive AS k ON k.name = w."table"
        ORDER BY k.place
    LOOP
        v_found := '{}';
        FOR v_from IN SELECT f.name FROM jsonb_array_elements_text(v_way.family) AS f(name) LOOP
            EXECUTE format(
                'SELECT array_agg(t.windrow_row_id) FROM %I AS t WHERE t.windrow_run_id = $1 AND t.%I = ANY ($2::%s[])',
                v_way.archive, v_from.name, key_type_of(p_rule)
            )
            INTO v_more
            USING p_run, p_keys;
            v_found := v_found || v_more;
        END LOOP;
        FOR v_from IN
            SELECT k.place, k.archive, e.own, e.named
            FROM jsonb_to_recordset(v_way.parents) AS p("table" text, columns jsonb, named jsonb)
            JOIN known_archive AS k ON k.name = p."table"
            CROSS JOIN LATERAL (
                SELECT
                    string_agg(format('t.%I', c.name), ', ' ORDER BY c.at),
                    string_agg(format('p.%I', p.named ->> (c.at - 1)::integer), ', ' ORDER BY c.at)
                FROM jsonb_array_elements_text(p.columns) WITH ORDINALITY AS c(name, at)
            ) AS e(own, named)
        LOOP
            EXECUTE format(
                'SELECT array_agg(t.windrow_row_id) FROM %I AS t WHERE t.windrow_run_id = $1 '
                'AND (%s) IN (SELECT %s FROM %I AS p WHERE p.windrow_run_id = $1 AND p.windrow_row_id = ANY ($2))',
                v_way.archive, v_from.own, v_from.named, v_from.archive
            )
            INTO v_more
            USING p_run, ARRAY(SELECT f.row_id FROM unnest(o_places, o_rows) AS f(place, row_id) WHERE f.place = v_from.place);
            v_found := v_found || v_more;
        END LOOP;
        v_found := ARRAY(SELECT DISTINCT f.row_id FROM unnest(v_found) AS f(row_id));
        o_rows := o_rows || v_found;
        o_places := o_places || array_fill(v_way.place, ARRAY[cardinality(v_found)]);
    END LOOP;
END
$windrow$;
--# comment on function archived_rows
COMMENT ON FUNCTION archived_rows(text, bigint, text[]) IS
    'The archived rows of run p_run that belong to the families p_keys of a rule: the place of the table in the order of a '
    'restoration, and windrow_row_id.';

-- archived_copies: the copies that a run made, by table. Partitions are no copies.
--# create function archived_copies
CREATE OR REPLACE FUNCTION archived_copies(p_run bigint)
RETURNS TABLE (name text, rows bigint, gone bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT k.name, coalesce(c.rows, 0) - p.rows, u.rows - p.gone
    FROM known_archive AS k
    LEFT JOIN archive_counts(p_run) AS c ON c.name = k.name
    CROSS JOIN LATERAL (
        SELECT
            coalesce(sum(x.partition_rows) FILTER (WHERE num_nulls(x.restored_at, x.dropped_at) = 2), 0)::bigint,
            coalesce(sum(x.partition_rows) FILTER (WHERE num_nulls(x.restored_at, x.dropped_at) < 2), 0)::bigint
        FROM partition_archive AS x
        WHERE x.run_id = p_run
          AND x.table_name = k.name
    ) AS p(rows, gone)
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(x.table_rows), 0)::bigint FROM unarchived AS x WHERE x.run_id = p_run AND x.table_name = k.name
    ) AS u(rows);
$windrow$;
--# comment on function archived_copies
COMMENT ON FUNCTION archived_copies(bigint) IS
    'The rows that run p_run has copied to archives, by table: how many are there, and how many have left the archive.';

-- run_copied: the rows of which a run made copies, or would have: those of partitions are kept as they are.
--# create function run_copied
CREATE OR REPLACE FUNCTION run_copied(p_run bigint)
RETURNS TABLE (rule text, name text, rows bigint, archived boolean)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT t.rule, t.table_name, t.deleted_rows, t.archived
    FROM run_table AS t
    WHERE t.run_id = p_run
      AND t.deleted_rows > 0
      AND NOT EXISTS (
          SELECT FROM partition_archive AS p WHERE p.run_id = p_run AND p.rule = t.rule AND p.table_name = t.table_name
      );
$windrow$;
--# comment on function run_copied
COMMENT ON FUNCTION run_copied(bigint) IS
    'The rows that run p_run deleted one by one, by rule and table, and whether it archives the table.';

-- recall_archive: a run of an earlier version did not note what it archives. The archive says it: all rows that were deleted from a table
-- are there, or those of the rules that archive it now, or those of one rule.
--# create function recall_archive
CREATE OR REPLACE FUNCTION recall_archive(p_run bigint)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    UPDATE run_rule AS r
    SET archived = ARRAY(
        SELECT w.name
        FROM (
            SELECT
                c.rule, c.name, c.rows, a.rows + a.gone AS copies, c.rule = ANY (k.rules) AS known,
                sum(c.rows) OVER (PARTITION BY c.name) AS all_rows,
                sum(c.rows) FILTER (WHERE c.rule = ANY (k.rules)) OVER (PARTITION BY c.name) AS known_rows
            FROM run_copied(p_run) AS c
            JOIN known_archive AS k ON k.name = c.name
            JOIN archived_copies(p_run) AS a ON a.name = c.name
        ) AS w
        WHERE w.rule = r.rule
          AND CASE w.copies WHEN 0 THEN false WHEN w.all_rows THEN true WHEN w.known_rows THEN w.known ELSE w.copies = w.rows END
        UNION
        SELECT p.table_name FROM partition_archive AS p WHERE p.run_id = p_run AND p.rule = r.rule
    )
    WHERE r.run_id = p_run
      AND r.archived IS NULL;
$windrow$;
--# comment on function recall_archive
COMMENT ON FUNCTION recall_archive(bigint) IS
    'Notes what run p_run archives, where an earlier version did not, from what its archive has.';

-- archive_gap: the archive holds what the ledger says that a run deleted and archived, but for what has left it since.
--# create function archive_gap
CREATE OR REPLACE FUNCTION archive_gap(p_run bigint)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT format(
        'table %s: %s rows were deleted, %s of them are archived and %s have left the archive', k.name, d.rows, c.rows, c.gone
    )
    FROM known_archive AS k
    JOIN archived_copies(p_run) AS c ON c.name = k.name
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(t.rows) FILTER (WHERE t.archived), 0) FROM run_copied(p_run) AS t WHERE t.name = k.name
    ) AS d(rows)
    WHERE c.rows + c.gone <> d.rows
    ORDER BY k.position
    LIMIT 1;
$windrow$;
--# comment on function archive_gap
COMMENT ON FUNCTION archive_gap(bigint) IS
    'The first table of which the archive of run p_run does not hold as many rows as the ledger says; NULL where all are there.';

-- archive_put: moves rows from an archive back into their table, in one statement, and as many are inserted as are removed. Code of the
-- application that this sets off sees no more of the search path than in a batch.
--# create function archive_put
CREATE OR REPLACE FUNCTION archive_put(p_source text, p_archive text, p_name text, p_run bigint, p_rows bigint[])
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
DECLARE
    v_columns text;
    v_gone    bigint;
    v_put     bigint;
    v_message text;
    v_detail  text;
    v_state   text;
BEGIN
    -- What the table generates, it generates again.
    SELECT string_agg(quote_ident(s.attname), ', ' ORDER BY s.attnum)
    INTO v_columns
    FROM pg_attribute AS s
    WHERE s.attrelid = p_source::regclass
      AND s.attnum > 0
      AND NOT s.attisdropped
      AND s.attgenerated = '';
    BEGIN
        EXECUTE format(
            'WITH gone AS (DELETE FROM %1$s AS a USING unnest($2) AS w(row_id) '
            'WHERE a.windrow_run_id = $1 AND a.windrow_row_id = w.row_id RETURNING %2$s), '
            'put AS (INSERT INTO %3$s (%2$s) OVERRIDING SYSTEM VALUE SELECT %2$s FROM gone RETURNING 1) '
            'SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM put)',
            p_archive, v_columns, p_source
        )
        INTO v_gone, v_put
        USING p_run, p_rows;
    EXCEPTION WHEN unique_violation OR exclusion_violation THEN
        GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_detail = PG_EXCEPTION_DETAIL;
        RAISE EXCEPTION 'nothing is restored: table %: %', p_name, coalesce(nullif(v_detail, ''), v_message)
            USING ERRCODE = v_state, HINT = 'A row that has come since is in the way. '
                'Restore other families by their keys, or see to that row first.';
    END;
    IF v_gone <> cardinality(p_rows) OR v_put <> v_gone THEN
        RAISE EXCEPTION 'nothing is restored: table %: % rows were to be restored, % left the archive, and % came in',
            p_name, cardinality(p_rows), v_gone, v_put
            USING ERRCODE = '55000', HINT = 'Someone else took rows out of the archive, '
                'or a trigger or a rule of the table keeps them out.';
    END IF;
    RETURN v_put;
END
$windrow$;
--# comment on function archive_put
COMMENT ON FUNCTION archive_put(text, text, text, bigint, bigint[]) IS
    'Moves the rows of run p_run with these windrow_row_id from an archive into their table; answers how many.';

-- archive_holds: what comes back is due at once: a hold keeps it. A rule by time holds the family that a row names; what
-- belongs to none is held by itself, where its document says when.
--# create function archive_holds
CREATE OR REPLACE FUNCTION archive_holds(
    p_run bigint, p_places integer[], p_rows bigint[], OUT o_rules text[], OUT o_keys text[], OUT o_unheld bigint
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_held  record;
    v_rows  bigint[];
    v_keys  text[];
    v_count bigint;
BEGIN
    o_rules := '{}';
    o_keys := '{}';
    o_unheld := 0;
    FOR v_held IN
        SELECT
            r.rule, k.place, k.archive, t.timed,
            CASE WHEN t.timed THEN format('coalesce(%s)::text', concat_ws(', ', m.family, n.key, 'NULL')) ELSE n.key END AS key,
            conditions_of(r.document -> 'candidates') AS conditions
        FROM rule AS r
        CROSS JOIN LATERAL (SELECT r.strategy IN ('removal-time', 'age')) AS t(timed)
        CROSS JOIN LATERAL (
            SELECT a."table", a.family, a.own, a.key
            FROM jsonb_to_recordset(r.document -> 'archive_members') AS a("table" text, family jsonb, key text, own jsonb)
            WHERE t.timed
            UNION ALL
            SELECT r.root, NULL, NULL, NULL
            WHERE NOT t.timed
        ) AS h(name, columns, own, key)
        JOIN known_archive AS k ON k.name = h.name AND k.rules <> '{}'
        CROSS JOIN LATERAL (
            SELECT string_agg(format('t.%I', f.name), ', ' ORDER BY f.at)
            FROM jsonb_array_elements_text(h.columns) WITH ORDINALITY AS f(name, at)
        ) AS m(family)
        CROSS JOIN LATERAL (
            SELECT CASE
                WHEN t.timed AND h.key IS NULL THEN NULL
                WHEN t.timed THEN format('CASE WHEN true%s THEN t.%I END', conditions_of(h.own), h.key)
                WHEN count(*) = 1 THEN format('t.%I::text', max(c.name))
                ELSE format('jsonb_build_array(%s)::text', string_agg(format('t.%I', c.name), ', ' ORDER BY c.place))
            END
            FROM key_of(r.rule) AS c
        ) AS n(key)
        ORDER BY r.position, k.place
    LOOP
        v_rows := ARRAY(SELECT f.row_id FROM unnest(p_places, p_rows) AS f(place, row_id) WHERE f.place = v_held.place);
        EXECUTE format(
            $keys$
            SELECT ARRAY(
                SELECT DISTINCT %2$s
                FROM %1$I AS t
                WHERE t.windrow_run_id = $1
                  AND t.windrow_row_id = ANY ($2)
                  AND %2$s IS NOT NULL%3$s
            )
            $keys$,
            v_held.archive, v_held.key, v_held.conditions
        )
        INTO v_keys
        USING p_run, v_rows;
        o_rules := o_rules || array_fill(v_held.rule, ARRAY[cardinality(v_keys)]);
        o_keys := o_keys || v_keys;
        IF v_held.timed THEN
            EXECUTE format(
                'SELECT count(*) FROM %I AS t WHERE t.windrow_run_id = $1 AND t.windrow_row_id = ANY ($2) AND %s IS NULL',
                v_held.archive, v_held.key
            )
            INTO v_count
            USING p_run, v_rows;
            o_unheld := o_unheld + v_count;
        END IF;
    END LOOP;
END
$windrow$;
--# comment on function archive_holds
COMMENT ON FUNCTION archive_holds(bigint, integer[], bigint[]) IS
    'What holds what archive_restore() brings back: rules and keys; and how many rows belong to nothing that can be held. Reads only.';

-- archive_hold: one that ends is made one without an end. What came back may name its root in another spelling than that has: a hold has
-- the root's.
--# create function archive_hold
CREATE OR REPLACE FUNCTION archive_hold(p_run bigint, p_rules text[], p_keys text[])
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_count bigint;
BEGIN
    INSERT INTO hold AS h (rule, key, reason)
    SELECT DISTINCT n.rule, k.key, format('restored from the archive of run %s', p_run)
    FROM (SELECT k.rule, array_agg(k.key) AS keys FROM unnest(p_rules, p_keys) AS k(rule, key) GROUP BY k.rule) AS n
    CROSS JOIN LATERAL unnest(as_there(n.rule, n.keys)) AS k(key)
    ON CONFLICT (rule, key) DO UPDATE
    SET reason = concat_ws('; ', CASE WHEN h.until > clock_timestamp() THEN h.reason END, excluded.reason),
        until = NULL,
        placed_by = excluded.placed_by,
        placed_at = excluded.placed_at
    WHERE h.until IS NOT NULL;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$windrow$;
--# comment on function archive_hold
COMMENT ON FUNCTION archive_hold(bigint, text[], text[]) IS
    'Holds these keys of these rules for what run p_run had archived, behind the latch; answers how many holds were placed.';

-- archive_untold: by keys, the families of a run are found along what the spec archives now.
--# create function archive_untold
CREATE OR REPLACE FUNCTION archive_untold(p_run bigint, p_rule text)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    -- A rule that the spec does not know may have been renamed.
    WITH done AS (
        SELECT t.name, t.archived
        FROM run_copied(p_run) AS t
        WHERE t.rule = p_rule
           OR NOT EXISTS (SELECT FROM rule AS o WHERE o.rule = t.rule)
    )
    SELECT d.name
    FROM rule AS r
    JOIN done AS d ON NOT d.archived AND r.document -> 'archive' ? d.name
    WHERE r.rule = p_rule
      AND (
          r.document -> 'archive_links' @> jsonb_build_array(jsonb_build_object('table', d.name))
          OR EXISTS (
              SELECT
              FROM jsonb_to_recordset(r.document -> 'archive_ways') AS w("table" text, parents jsonb)
              JOIN done AS b ON b.name = w."table" AND b.archived
              WHERE w.parents @> jsonb_build_array(jsonb_build_object('table', d.name))
          )
      )
    ORDER BY d.name
    LIMIT 1;
$windrow$;
--# comment on function archive_untold
COMMENT ON FUNCTION archive_untold(bigint, text) IS
    'A table that leads to rows of families of p_rule and that run p_run did not archive, though the spec does now; NULL: none.';

-- keys_archive: the options rule and key of a restoration.
--# create function keys_archive
CREATE OR REPLACE FUNCTION keys_archive(p_options jsonb, OUT o_rule text, OUT o_keys text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_archiving constant text[] := ARRAY(SELECT r.rule FROM rule AS r WHERE r.document ? 'archive' ORDER BY r.position);
    v_key       text;
    v_untold    text;
BEGIN
    IF (p_options ? 'rule') AND NOT (p_options ? 'key') THEN
        RAISE EXCEPTION 'the option rule is for keys'
            USING ERRCODE = '22023', HINT = format('Name keys, too: {"run": 17, "rule": "%s", "key": [4]}.', v_archiving[1]);
    END IF;
    IF NOT p_options ? 'key' THEN
        RETURN;
    END IF;
    o_rule := check_rule(p_options);
    IF jsonb_typeof(p_options -> 'key') IS DISTINCT FROM 'array' OR jsonb_array_length(p_options -> 'key') = 0 THEN
        RAISE EXCEPTION 'the option key is not a list of keys'
            USING ERRCODE = '22023', HINT = 'Write it like {"key": [17, 18]}.';
    END IF;
    o_keys := ARRAY(SELECT DISTINCT k.key FROM jsonb_array_elements_text(p_options -> 'key') AS k(key) ORDER BY k.key);
    -- Those of a rule of partitions are their names.
    FOREACH v_key IN ARRAY o_keys LOOP
        PERFORM check_key(r.rule, v_key) FROM rule AS r WHERE r.rule = o_rule AND r.strategy <> 'partition';
    END LOOP;
    IF o_rule <> ALL (v_archiving) THEN
        RAISE EXCEPTION 'rule % archives nothing', o_rule
            USING ERRCODE = '22023', HINT = format('The rules that do are: %s.', array_to_string(v_archiving, ', '));
    END IF;
    v_untold := (SELECT r.document ->> 'archive_untold' FROM rule AS r WHERE r.rule = o_rule);
    IF v_untold IS NOT NULL THEN
        RAISE EXCEPTION 'the families of rule % cannot be distinguished in the archive: %', o_rule, v_untold
            USING ERRCODE = '22023', HINT = 'That table, or what its rows belong to, is not archived, or has no family. '
                'Restore the whole run.';
    END IF;
END
$windrow$;
--# comment on function keys_archive
COMMENT ON FUNCTION keys_archive(jsonb) IS
    'The options rule and key of archive_restore(); raises 22023 with a hint for what makes no sense.';

-- check_dropped: what has left the archive for good.
--# create function check_dropped
CREATE OR REPLACE FUNCTION check_dropped(p_run bigint)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_more bigint;
BEGIN
    SELECT sum(u.table_rows) INTO v_more FROM unarchived AS u WHERE u.run_id = p_run AND u.action <> 'RESTORED';
    IF v_more > 0 THEN
        RAISE EXCEPTION '% rows of run % were dropped from the archive: what is left is incomplete', v_more, p_run
            USING ERRCODE = '55000', HINT = 'windrow archive export writes what is left.';
    END IF;
END
$windrow$;
--# comment on function check_dropped
COMMENT ON FUNCTION check_dropped(bigint) IS
    'Raises 55000 if archived rows of run p_run were dropped or pruned.';

-- check_whole: whether all that a run deleted and that was archived is still there, or came back, and can be restored: the whole run, or
-- families of a rule.
--# create function check_whole
CREATE OR REPLACE FUNCTION check_whole(p_run bigint, p_rule text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_gap text;
BEGIN
    IF archive_last(p_run) IS NULL THEN
        RAISE EXCEPTION 'no rows of run % are archived', p_run
            USING ERRCODE = '22023', HINT = format('SELECT %I.archive_list() has the runs with archived rows.', current_schema());
    END IF;
    IF EXISTS (SELECT FROM run AS r WHERE r.run_id = p_run AND r.status = 'running') THEN
        RAISE EXCEPTION 'run % is in progress', p_run USING ERRCODE = '55000', HINT = 'Wait for its end.';
    END IF;
    PERFORM check_dropped(p_run);
    PERFORM recall_archive(p_run);
    v_gap := archive_gap(p_run);
    IF v_gap IS NOT NULL THEN
        RAISE EXCEPTION 'the archive of run % is incomplete: %', p_run, v_gap
            USING ERRCODE = '55000', HINT = 'Someone has changed the archive or the ledger by hand.';
    END IF;
    -- What else is needed for that, such as the right to insert, follows what the spec archives now.
    SELECT k.name
    INTO v_gap
    FROM known_archive AS k
    JOIN archived_copies(p_run) AS c ON c.name = k.name
    WHERE k.rules = '{}'
      AND c.rows > 0
      AND (p_rule IS NULL OR EXISTS (
          SELECT FROM rule AS r WHERE r.rule = p_rule AND r.strategy <> 'partition' AND k.name = ANY (r.tables)
      ))
    ORDER BY k.position
    LIMIT 1;
    IF v_gap IS NOT NULL THEN
        RAISE EXCEPTION 'run % has archived rows of table %, which the spec does not archive any more', p_run, v_gap
            USING ERRCODE = '55000', HINT = 'Name the table in archive again and install, then restore. '
                'windrow archive export writes its rows.';
    END IF;
    v_gap := archive_untold(p_run, p_rule);
    IF v_gap IS NOT NULL THEN
        RAISE EXCEPTION 'run % did not archive table %, which leads to other rows of a family', p_run, v_gap
            USING ERRCODE = '22023', HINT = 'Restore the whole run.';
    END IF;
END
$windrow$;
--# comment on function check_whole
COMMENT ON FUNCTION check_whole(bigint, text) IS
    'Raises 22023 or 55000 unless the archive has all of run p_run that it must have, and can restore it, or families of p_rule.';

-- archived_partitions: the partitions that a restoration brings back, of a run or by name, parents before children; and their rows by
-- table.
--# create function archived_partitions
CREATE OR REPLACE FUNCTION archived_partitions(
    p_run bigint, p_rule text, p_keys text[], OUT o_places integer[], OUT o_names text[], OUT o_rows bigint[]
)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    WITH part AS (
        SELECT p.place, p.table_name, p.partition_rows
        FROM partition_archive AS p
        WHERE p.run_id = p_run
          AND num_nulls(p.restored_at, p.dropped_at) = 2
          AND (p_keys IS NULL OR p.rule = p_rule AND p.family = ANY (p_keys))
    )
    SELECT
        ARRAY(SELECT p.place FROM part AS p ORDER BY p.place DESC),
        coalesce(array_agg(t.table_name ORDER BY t.last DESC), '{}'),
        coalesce(array_agg(t.counted ORDER BY t.last DESC), '{}')
    FROM (
        SELECT p.table_name, max(p.place) AS last, sum(p.partition_rows)::bigint AS counted FROM part AS p GROUP BY p.table_name
    ) AS t;
$windrow$;
--# comment on function archived_partitions
COMMENT ON FUNCTION archived_partitions(bigint, text, text[]) IS
    'The archived partitions of run p_run (place in table partition_archive), or those of p_rule that went with the partitions p_keys.';

-- archive_restore: restores archived rows and partitions, of a whole run or of families; all of them, or none.
--# create function archive_restore
CREATE OR REPLACE FUNCTION archive_restore(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
AS $windrow$
DECLARE
    v_run    bigint;
    v_rule   text;
    v_keys   text[];
    v_most   bigint := 1000000;
    v_known  record;
    v_rows   bigint[];
    v_placed integer[] := '{}';
    v_found  bigint[] := '{}';
    v_parts  record;
    v_held   record;
    v_holds  bigint := 0;
    v_unheld bigint;
    v_names  text[] := '{}';
    v_counts bigint[] := '{}';
BEGIN
    PERFORM check_caller(session_user, true);
    PERFORM check_options(p_options, ARRAY['run', 'rule', 'key', 'max_rows']);
    IF keys_off() IS NOT NULL THEN
        RAISE EXCEPTION '%', keys_off()
            USING ERRCODE = '55000', HINT = 'SET session_replication_role = origin, or call it in another session.';
    END IF;
    SELECT o.o_run INTO v_run FROM archive_options(p_options) AS o;
    IF v_run IS NULL THEN
        RAISE EXCEPTION 'the option run is missing'
            USING ERRCODE = '22023', HINT = format('Write it like {"run": 17}; SELECT %I.archive_list() has the runs.', current_schema());
    END IF;
    IF p_options ? 'max_rows' THEN
        IF (p_options ->> 'max_rows' ~ '^[1-9][0-9]{0,17}$') IS NOT TRUE THEN
            RAISE EXCEPTION 'max_rows is not a number above 0: %', quote_nullable(p_options ->> 'max_rows')
                USING ERRCODE = '22023', HINT = 'Write it like {"max_rows": 2000000}.';
        END IF;
        v_most := (p_options ->> 'max_rows')::bigint;
    END IF;
    SELECT o.o_rule, o.o_keys INTO v_rule, v_keys FROM keys_archive(p_options) AS o;
    PERFORM check_whole(v_run, v_rule);
    PERFORM check_archive(v_rule);

    -- Which rows.
    IF v_keys IS NULL THEN
        FOR v_known IN SELECT k.place, k.archive FROM known_archive AS k WHERE k.rules <> '{}' ORDER BY k.place LOOP
            EXECUTE format(
                'SELECT ARRAY(SELECT a.windrow_row_id FROM %I AS a WHERE a.windrow_run_id = $1 ORDER BY a.windrow_row_id LIMIT $2)',
                v_known.archive
            )
            INTO v_rows
            USING v_run, v_most + 1;
            v_found := v_found || v_rows;
            v_placed := v_placed || array_fill(v_known.place, ARRAY[cardinality(v_rows)]);
        END LOOP;
    ELSIF EXISTS (SELECT FROM rule AS r WHERE r.rule = v_rule AND r.strategy <> 'partition') THEN
        SELECT f.o_places, f.o_rows INTO v_placed, v_found FROM archived_rows(v_rule, v_run, v_keys) AS f;
    END IF;
    SELECT p.* INTO v_parts FROM archived_partitions(v_run, v_rule, v_keys) AS p;
    IF cardinality(v_found) = 0 AND cardinality(v_parts.o_places) = 0 THEN
        RAISE EXCEPTION 'run % has no archived rows of these families', v_run
            USING ERRCODE = '22023', HINT = format('SELECT %I.archive_list() has the runs with archived rows.', current_schema());
    END IF;
    IF cardinality(v_found) > v_most THEN
        RAISE EXCEPTION 'more rows than one transaction should restore: max_rows is %', v_most
            USING ERRCODE = '54000', HINT = 'Restore families by their keys, or raise the limit: {"max_rows": 2000000}.';
    END IF;
    -- Before the rows leave the archive. The holds are set at the end: whoever sets one waits for the latch first, and not for long.
    SELECT h.o_rules, h.o_keys, h.o_unheld INTO v_held FROM archive_holds(v_run, v_placed, v_found) AS h;
    v_unheld := v_held.o_unheld;

    -- Parents before children.
    FOR v_known IN
        SELECT k.place, k.name, format('%I.%I', s.schema_name, k.name) AS source, format('%I.%I', current_schema(), k.archive) AS archive
        FROM known_archive AS k
        CROSS JOIN spec AS s
        WHERE k.rules <> '{}'
        ORDER BY k.place
    LOOP
        v_rows := ARRAY(SELECT f.row_id FROM unnest(v_placed, v_found) AS f(place, row_id) WHERE f.place = v_known.place ORDER BY f.row_id);
        IF cardinality(v_rows) > 0 THEN
            v_counts := v_counts || archive_put(v_known.source, v_known.archive, v_known.name, v_run, v_rows);
            v_names := v_names || v_known.name;
        END IF;
    END LOOP;
    IF cardinality(v_parts.o_places) > 0 THEN
        IF (SELECT s.document ->> 'detaches' IS NULL FROM spec AS s) THEN
            RAISE EXCEPTION 'nothing is restored: no rule of the spec archives partitions any more'
                USING ERRCODE = '55000', HINT = 'Write archive = true in the rule again, and install; or attach them by hand.';
        END IF;
        v_names := v_names || v_parts.o_names;
        v_counts := v_counts || v_parts.o_rows;
        SELECT v_holds + p.o_holds, v_unheld + p.o_unheld INTO v_holds, v_unheld FROM restore_partitions(v_run, v_parts.o_places) AS p;
    END IF;
    INSERT INTO unarchived (run_id, action, table_name, table_rows, keys)
    SELECT v_run, 'RESTORED', n.name, n.rows, to_jsonb(v_keys)
    FROM unnest(v_names, v_counts) WITH ORDINALITY AS n(name, rows, position)
    ORDER BY n.position;
    -- By now the tables are locked, and get no further trigger.
    PERFORM check_caller(session_user, true);
    -- After the lock no batch is in progress that did not see the holds.
    LOCK TABLE latch IN EXCLUSIVE MODE;
    v_holds := v_holds + archive_hold(v_run, v_held.o_rules, v_held.o_keys);
    -- What was dropped after the first look is not among what came back.
    PERFORM check_dropped(v_run);
    RETURN json_build_object(
        'run', v_run,
        'rows', (SELECT coalesce(sum(n.rows), 0) FROM unnest(v_counts) AS n(rows)),
        'tables', (
            SELECT json_object_agg(n.name, n.rows ORDER BY n.position)
            FROM unnest(v_names, v_counts) WITH ORDINALITY AS n(name, rows, position)
        ),
        'holds', v_holds,
        'not_held', v_unheld,
        'not_archived', (
            SELECT coalesce(json_agg(DISTINCT t.table_name), '[]')
            FROM run_rule AS r
            JOIN run_table AS t ON t.run_id = r.run_id AND t.rule = r.rule
            WHERE r.run_id = v_run
              AND r.archived <> '{}'
              AND t.deleted_rows > 0
              AND NOT t.archived
              AND (v_rule IS NULL OR r.rule = v_rule OR NOT EXISTS (SELECT FROM rule AS o WHERE o.rule = r.rule))
        ),
        'not_restored', (
            SELECT coalesce(json_agg(n.statement ORDER BY p.place, n.place), '[]')
            FROM partition_archive AS p
            CROSS JOIN LATERAL unnest(p.not_restored) WITH ORDINALITY AS n(statement, place)
            WHERE p.run_id = v_run
              AND p.place = ANY (v_parts.o_places)
        )
    );
END
$windrow$;
--# comment on function archive_restore
COMMENT ON FUNCTION archive_restore(jsonb) IS
    'Moves archived rows back into their tables, parents before children: all of a run, or families of it by their keys '
    '(run, rule, key, max_rows). All or nothing, in one transaction. Holds are placed, because restored families are due at once. '
    'Examples: SELECT archive_restore(''{"run": 17}''); SELECT archive_restore(''{"run": 17, "key": [4]}'');';
