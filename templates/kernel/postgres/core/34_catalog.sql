-- covered: the tables whose rows are deleted or set, and their partitions. Each is looked up by index (OFFSET 0 keeps the lookup
-- separate): every batch needs it, and a database may have very many tables and keys.
--# create view covered
CREATE OR REPLACE VIEW covered AS
WITH whole AS (
    SELECT t.oid AS table_id, t.relname::text AS name, t.relkind, k.goes, k.sets
    FROM known_table AS k
    CROSS JOIN spec AS s
    CROSS JOIN LATERAL (
        SELECT c.oid, c.relname, c.relkind FROM pg_class AS c WHERE c.oid = to_regclass(format('%I.%I', s.schema_name, k.name)) OFFSET 0
    ) AS t
    WHERE k.goes
       OR k.sets <> '{}'
)
SELECT w.table_id, w.name, w.relkind, w.goes, w.sets, true AS is_whole
FROM whole AS w
UNION ALL
SELECT p.relid, w.name, t.relkind, w.goes, w.sets, false
FROM whole AS w
CROSS JOIN LATERAL pg_partition_tree(w.table_id) AS p
JOIN pg_class AS t ON t.oid = p.relid
WHERE w.relkind = 'p'
  AND p.relid <> w.table_id;
--# comment on view covered
COMMENT ON VIEW covered IS
    'The tables whose rows are deleted or set, by name, and their partitions with the name of the partitioned table.';

-- key_events: on what the server looks at a foreign key of the tables that name a table: 8 is its DELETE, 16 its UPDATE. A key
-- has triggers on the table that it names, by which an index finds it; one that is not enforced has none. Before version 15 one
-- that names a table of partitions has them on the partitions alone.
--# create view key_events
CREATE OR REPLACE VIEW key_events AS
SELECT g.tgrelid AS table_id, g.tgconstraint AS key_id, g.tgtype AS events
FROM pg_trigger AS g
WHERE g.tgconstraint <> 0
UNION ALL
SELECT t.oid, f.oid, 24::smallint
FROM pg_class AS t
JOIN pg_constraint AS f ON f.confrelid = t.oid AND f.contype = 'f'
WHERE t.relkind = 'p'
  AND current_setting('server_version_num')::integer < 150000;
--# comment on view key_events
COMMENT ON VIEW key_events IS
    'The foreign keys that refer to a table, and the events of that table (8: DELETE, 16: UPDATE) at which the server checks them.';

-- is_referenced: whether the server looks at a foreign key when a row of a table is deleted. Who inserts or changes a row that refers to
-- it holds it then. Asked once for each table in a batch.
--# create function is_referenced
CREATE OR REPLACE FUNCTION is_referenced(p_table text)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_table constant regclass := (SELECT to_regclass(format('%I.%I', s.schema_name, p_table)) FROM spec AS s);
BEGIN
    RETURN EXISTS (
        SELECT
        FROM (SELECT v_table UNION ALL SELECT p.relid FROM pg_partition_tree(v_table) AS p) AS t(table_id)
        CROSS JOIN LATERAL (SELECT e.events FROM key_events AS e WHERE e.table_id = t.table_id OFFSET 0) AS g
        WHERE g.events & 8 = 8
    );
END
$windrow$;
--# comment on function is_referenced
COMMENT ON FUNCTION is_referenced(text) IS
    'Whether a foreign key refers to rows of a table of the spec, or of a partition of it. Example: SELECT is_referenced(''job'');';

-- keys_on: the foreign keys to them. One of a whole table has a copy for each partition, which counts where the spec knows the
-- partition alone.
--# create view keys_on
CREATE OR REPLACE VIEW keys_on AS
WITH these AS MATERIALIZED (
    SELECT c.* FROM covered AS c
),
keys AS (
    SELECT p.name, p.goes, p.sets, g.events, f.oid, f.conrelid, f.conkey, f.confrelid, f.confkey, f.confdeltype, f.confupdtype
    FROM these AS p
    CROSS JOIN LATERAL (SELECT e.key_id, e.events FROM key_events AS e WHERE e.table_id = p.table_id OFFSET 0) AS g
    JOIN pg_constraint AS f ON f.oid = g.key_id AND f.contype = 'f' AND f.confrelid = p.table_id
    WHERE (p.goes AND g.events & 8 = 8 OR p.sets <> '{}' AND g.events & 16 = 16)
      AND (
          f.conparentid = 0
          OR NOT EXISTS (SELECT FROM pg_constraint AS u JOIN these AS c ON c.table_id = u.confrelid WHERE u.oid = f.conparentid)
      )
)
SELECT k.name AS parent, k.oid AS key_id, k.conrelid, k.conkey, k.confrelid, k.confkey, k.confdeltype, 'delete' AS event
FROM keys AS k
WHERE k.goes
  AND k.events & 8 = 8
UNION ALL
SELECT k.name, k.oid, k.conrelid, k.conkey, k.confrelid, k.confkey, k.confupdtype, 'update'
FROM keys AS k
WHERE k.confupdtype IN ('c', 'n', 'd')
  AND k.events & 16 = 16
  -- What is made of other columns is set with them.
  AND EXISTS (
      SELECT FROM pg_attribute AS a
      WHERE a.attrelid = k.confrelid AND a.attnum = ANY (k.confkey) AND (a.attname = ANY (k.sets) OR a.attgenerated <> '')
  )
UNION ALL
-- Before version 15 a row that moves to another partition is deleted, for the keys that name it. The columns by which it belongs to
-- one may not be dropped.
SELECT k.name, k.oid, k.conrelid, k.conkey, k.confrelid, k.confkey, k.confdeltype, 'update'
FROM keys AS k
WHERE current_setting('server_version_num')::integer < 150000
  AND k.confdeltype IN ('c', 'n', 'd')
  AND k.events & 16 = 16
  AND EXISTS (
      SELECT
      FROM pg_partition_tree(pg_partition_root(k.confrelid)) AS p
      JOIN pg_attribute AS a ON a.attrelid = p.relid AND a.attname = ANY (k.sets)
      JOIN pg_depend AS d ON d.objid = p.relid AND d.objsubid = a.attnum AND d.refobjid = p.relid AND d.refobjsubid = 0
      WHERE d.classid = 'pg_class'::regclass
        AND d.refclassid = 'pg_class'::regclass
        AND d.deptype = 'i'
  );
--# comment on view keys_on
COMMENT ON VIEW keys_on IS
    'The foreign keys that refer to a table whose rows are deleted, or to a partition of one, with the name of the partitioned table, '
    'and those that act when a column is set (event; confdeltype: what they do then); keys of partitions on the referring side are '
    'left out.';

-- triggers_off: by which the server would look at a foreign key when a row of a covered table is deleted, but for ALTER TABLE ... DISABLE
-- TRIGGER ALL, or ENABLE REPLICA TRIGGER.
--# create view triggers_off
CREATE OR REPLACE VIEW triggers_off AS
SELECT p.table_id, g.oid AS trigger_id
FROM covered AS p
CROSS JOIN LATERAL (
    SELECT t.oid, t.tgconstraint, t.tgtype, t.tgenabled FROM pg_trigger AS t WHERE t.tgrelid = p.table_id OFFSET 0
) AS g
WHERE p.goes
  AND g.tgconstraint <> 0
  AND g.tgtype & 8 = 8
  AND g.tgenabled IN ('D', 'R')
  -- A constraint trigger of the application is none of a key.
  AND (SELECT f.contype = 'f' FROM pg_constraint AS f WHERE f.oid = g.tgconstraint);
--# comment on view triggers_off
COMMENT ON VIEW triggers_off IS
    'The triggers of foreign keys that are disabled on tables whose rows are deleted: the server does not look whether something refers '
    'to a row.';

-- keys_off: a session that applies what others have replicated looks at no foreign key: none would refuse what it has to, and a row could
-- lose the one that it refers to. Rules act there that act nowhere else (ENABLE REPLICA RULE). So it is in any session where the triggers
-- of a key are disabled.
--# create function keys_off
CREATE OR REPLACE FUNCTION keys_off()
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET jit = off
SET enable_seqscan = off
AS $windrow$
BEGIN
    RETURN CASE
        WHEN current_setting('session_replication_role') <> 'replica' THEN (
            SELECT format('no foreign key is checked: a trigger of table %s is disabled', t.table_id::regclass)
            FROM triggers_off AS t
            ORDER BY 1
            LIMIT 1
        )
        WHEN EXISTS (SELECT FROM keys_on) THEN 'no foreign key is checked: session_replication_role is replica'
        WHEN EXISTS (
            SELECT FROM covered AS p
            JOIN pg_rewrite AS r ON r.ev_class = p.table_id AND r.ev_type IN ('2', '4') AND r.ev_enabled = 'R'
            WHERE p.is_whole
        ) THEN 'rules act that nobody looked at: session_replication_role is replica'
    END;
END
$windrow$;
--# comment on function keys_off
COMMENT ON FUNCTION keys_off() IS
    'Why nobody, or not this session, may delete or bring back rows to which foreign keys refer; NULL if it may.';

-- sorts_anew: a collation whose library has been replaced since its indexes were built, by an upgrade of the system or of its image. The
-- texts stand in another order there: what an index does not find would be taken for a hold or a parent that does not exist.
--# create function sorts_anew
CREATE OR REPLACE FUNCTION sorts_anew()
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_found text := (
        SELECT format('the collation %I has changed: its indexes are of version %s, the server has %s', l.collname, l.collversion,
            l.version)
        FROM (
            SELECT DISTINCT n.collation_id
            FROM known_table AS k
            CROSS JOIN spec AS s
            CROSS JOIN LATERAL (SELECT to_regclass(format('%I.%I', s.schema_name, k.name))::oid) AS t(oid)
            JOIN pg_index AS i ON i.indrelid = t.oid
            CROSS JOIN LATERAL unnest(i.indcollation) AS n(collation_id)
        ) AS u
        -- To ask for the version loads the collation: of those only that an index has.
        CROSS JOIN LATERAL (
            SELECT c.collname, c.collversion, pg_collation_actual_version(c.oid) AS version
            FROM pg_collation AS c
            WHERE c.oid = u.collation_id
            OFFSET 0
        ) AS l
        WHERE l.collversion <> l.version
        ORDER BY l.collname
        LIMIT 1
    );
BEGIN
    -- Version 14 knows none of a database.
    IF v_found IS NULL AND current_setting('server_version_num')::integer >= 150000 THEN
        EXECUTE $own$
            SELECT format('the collation of database %I has changed: its indexes are of version %s, the server has %s', d.datname,
                d.datcollversion, pg_database_collation_actual_version(d.oid))
            FROM pg_database AS d
            WHERE d.datname = current_database()
              AND d.datcollversion <> pg_database_collation_actual_version(d.oid)
        $own$
        INTO v_found;
    END IF;
    RETURN v_found;
END
$windrow$;
--# comment on function sorts_anew
COMMENT ON FUNCTION sorts_anew() IS
    'Which collation, of an index of the tables or of the database, is of another version than what it has ordered; NULL if none.';

-- strangers: what the server would do, in addition to windrow and without being in the spec, when a row is deleted: rows would
-- be deleted or changed without a rule, a count or a copy. A migration of the application may add such a thing at any time.
-- Its joins, and those of catalog_now(), are written in the order in which they are done: to look for another one took the server
-- longer than the look itself.
--# create function strangers
CREATE OR REPLACE FUNCTION strangers()
RETURNS TABLE (object text, detail text, acts boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET jit = off
SET join_collapse_limit = 1
AS $windrow$
DECLARE
    v_schema   text;
    v_ignored  jsonb;
    v_compared jsonb;
BEGIN
    SELECT s.schema_name, s.document -> 'ignored', s.document -> 'compared' INTO STRICT v_schema, v_ignored, v_compared FROM spec AS s;
    RETURN QUERY
    WITH
    -- What is exact among each other: a day is the midnight with which it begins. What has a zone is another time in each session. A
    -- domain writes its values as its type does.
    kinds AS (
        SELECT
            t.oid AS type_id,
            CASE
                WHEN t.typoutput IN ('int2out'::regproc, 'int4out'::regproc, 'int8out'::regproc, 'numeric_out'::regproc) THEN 'a number'
                -- A char(n) is compared without its trailing blanks, by a key of the server, and with them where a text is beside it.
                WHEN t.typoutput IN ('textout'::regproc, 'varcharout'::regproc) THEN 'a text'
                WHEN t.typoutput IN ('date_out'::regproc, 'timestamp_out'::regproc) THEN 'a day or a time of one'
                ELSE t.typoutput::oid::text
            END AS kind,
            -- What an extension calls a text, as citext, compares otherwise than texts, by which statements look for it.
            t.typcategory = 'S'
                AND t.typoutput NOT IN ('textout'::regproc, 'varcharout'::regproc, 'bpcharout'::regproc, 'nameout'::regproc) AS is_other
        FROM pg_type AS t
    ),
    -- A partition counts as its table.
    keys AS (
        SELECT
            CASE WHEN n.nspname = v_schema THEN t.relname::text ELSE format('%s.%s', n.nspname, t.relname) END AS name,
            n.nspname = v_schema AS is_here,
            h.conname, f.event, f.confdeltype AS effect, h.partly, f.parent, c.columns, c.named
        FROM keys_on AS f
        CROSS JOIN LATERAL (
            -- A copy of a key for a partition has the name of the key.
            WITH RECURSIVE above AS (
                SELECT u.conname, u.conparentid, to_jsonb(u) ->> 'confdelsetcols' AS partly FROM pg_constraint AS u WHERE u.oid = f.key_id
                UNION ALL
                SELECT u.conname, u.conparentid, a.partly FROM above AS a JOIN pg_constraint AS u ON u.oid = a.conparentid
            )
            SELECT a.conname, CASE f.event WHEN 'delete' THEN a.partly END AS partly FROM above AS a WHERE a.conparentid = 0
        ) AS h
        JOIN pg_class AS t ON t.oid = coalesce(pg_partition_root(f.conrelid), f.conrelid)
        JOIN pg_namespace AS n ON n.oid = t.relnamespace
        CROSS JOIN LATERAL (
            SELECT array_agg(a.attname::text ORDER BY a.attname) AS columns, array_agg(b.attname::text ORDER BY a.attname) AS named
            FROM unnest(f.conkey, f.confkey) AS k(own, named)
            JOIN pg_attribute AS a ON a.attrelid = f.conrelid AND a.attnum = k.own
            JOIN pg_attribute AS b ON b.attrelid = f.confrelid AND b.attnum = k.named
        ) AS c
    )
    SELECT
        k.name,
        format(
            'references %s by %s (on %s %s), and the spec does not know it', k.parent, k.conname, k.event,
            CASE k.effect WHEN 'c' THEN 'cascade' WHEN 'n' THEN 'set null' WHEN 'd' THEN 'set default' WHEN 'r' THEN 'restrict'
                ELSE 'no action' END
        ),
        k.effect IN ('c', 'n', 'd')
    FROM keys AS k
    WHERE NOT EXISTS (
        SELECT FROM known_key AS o
        WHERE k.is_here
          AND k.event = 'delete'
          AND o.table_name = k.name
          AND o.columns = k.columns
          AND o.parent = k.parent
          AND o.named = k.named
          -- What is to set some columns to NULL (ON DELETE SET NULL (...)) is not what windrow does.
          AND (k.effect NOT IN ('c', 'n', 'd') OR strpos(o.effects, k.effect::text) > 0 AND (k.partly IS NULL OR o.effects <> 'n'))
    )
      -- That an ignored table keeps families is meant so.
      AND (k.effect IN ('c', 'n', 'd') OR NOT k.is_here OR NOT v_ignored ? k.name)
    UNION ALL
    -- A rule of a partition does nothing where the whole table is named.
    SELECT p.name, format('has the rule %s, which acts on %s', r.rulename, CASE r.ev_type WHEN '4' THEN 'DELETE' ELSE 'UPDATE' END), true
    FROM covered AS p
    JOIN pg_rewrite AS r ON r.ev_class = p.table_id AND r.ev_enabled IN ('O', 'A')
    WHERE p.is_whole
      AND (p.goes AND r.ev_type = '4' OR p.sets <> '{}' AND r.ev_type = '2')
    UNION ALL
    SELECT
        CASE WHEN n.nspname = v_schema THEN t.relname::text ELSE format('%s.%s', n.nspname, t.relname) END,
        format('inherits from %s, so that its rows would be taken for rows of that', p.name),
        true
    FROM covered AS p
    JOIN pg_inherits AS i ON i.inhparent = p.table_id
    JOIN pg_class AS t ON t.oid = i.inhrelid
    JOIN pg_namespace AS n ON n.oid = t.relnamespace
    WHERE p.relkind = 'r'
    UNION ALL
    SELECT p.name, CASE p.relkind WHEN 'v' THEN 'is a view' WHEN 'f'
        THEN 'is or has a foreign table, whose rows do not come back with a rollback' ELSE 'is no table' END, true
    FROM covered AS p
    WHERE p.relkind NOT IN ('r', 'p')
    UNION ALL
    -- What is behind it may become something else unseen.
    SELECT
        k.name,
        CASE c.relkind WHEN 'v' THEN 'is a view' WHEN 'm' THEN 'is a materialized view' WHEN 'f' THEN 'is a foreign table'
            ELSE 'is no table' END,
        true
    FROM known_table AS k
    CROSS JOIN LATERAL (
        SELECT t.relkind FROM pg_class AS t WHERE t.oid = to_regclass(format('%I.%I', v_schema, k.name)) OFFSET 0
    ) AS c
    WHERE NOT k.goes
      AND k.sets = '{}'
      AND c.relkind NOT IN ('r', 'p')
    UNION ALL
    SELECT
        e.table_name,
        format(
            'compares %s otherwise than %s does %s: their %s are %s and %s, and must %s', e.own, e.parent, e.named,
            CASE WHEN u.kind = v.kind AND NOT u.is_other THEN 'collations' ELSE 'types' END,
            CASE WHEN u.kind = v.kind AND NOT u.is_other THEN x.collname ELSE format_type(a.atttypid, NULL) END,
            CASE WHEN u.kind = v.kind AND NOT u.is_other THEN y.collname ELSE format_type(b.atttypid, NULL) END,
            CASE WHEN u.kind <> v.kind THEN 'be of one kind' WHEN u.is_other THEN 'be text' ELSE 'be the same' END
        ),
        true
    FROM (
        SELECT k.table_name, k.own, k.parent, k.named FROM known_edge AS k
        UNION ALL
        SELECT c.pair ->> 0, c.pair ->> 1, c.pair ->> 2, c.pair ->> 3 FROM jsonb_array_elements(v_compared) AS c(pair)
    ) AS e
    JOIN pg_namespace AS n ON n.nspname = v_schema
    JOIN pg_class AS s ON s.relnamespace = n.oid AND s.relname = e.table_name
    JOIN pg_class AS t ON t.relnamespace = n.oid AND t.relname = e.parent
    JOIN pg_attribute AS a ON a.attrelid = s.oid AND a.attname = e.own AND NOT a.attisdropped
    JOIN pg_attribute AS b ON b.attrelid = t.oid AND b.attname = e.named AND NOT b.attisdropped
    JOIN kinds AS u ON u.type_id = a.atttypid
    JOIN kinds AS v ON v.type_id = b.atttypid
    LEFT JOIN pg_collation AS x ON x.oid = a.attcollation
    LEFT JOIN pg_collation AS y ON y.oid = b.attcollation
    WHERE u.kind <> v.kind
       OR x.oid <> y.oid
       OR u.is_other;
END
$windrow$;
--# comment on function strangers
COMMENT ON FUNCTION strangers() IS
    'What hangs on the tables whose rows are deleted or set and is not in the spec: foreign keys, rules, tables that inherit; and other '
    'collations and types of what is compared. acts: rows would be deleted or changed without windrow, and runs refuse; else it only '
    'refuses deletions.';

-- stranger: the first of them that acts.
--# create function stranger
CREATE OR REPLACE FUNCTION stranger()
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT format('table %s %s', s.object, s.detail)
    FROM strangers() AS s
    WHERE s.acts
    ORDER BY s.object, s.detail
    LIMIT 1;
$windrow$;
--# comment on function stranger
COMMENT ON FUNCTION stranger() IS
    'The first of strangers() that acts, in words; NULL if none does.';

-- catalog_now: what must not change during a run without a look at it: which tables these are, and what acts on them.
--# create function catalog_now
CREATE OR REPLACE FUNCTION catalog_now()
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET jit = off
SET join_collapse_limit = 1
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    RETURN (
        WITH these AS MATERIALIZED (
            SELECT c.* FROM covered AS c
        )
        SELECT jsonb_object_agg(s.object, s.state)
        FROM (
            SELECT 'table ' || e.name AS object, format('%s %s', coalesce(t.oid::text, 'none'), c.columns) AS state
            FROM known_table AS e
            CROSS JOIN spec AS s
            CROSS JOIN LATERAL (SELECT to_regclass(format('%I.%I', s.schema_name, e.name))::oid) AS t(oid)
            CROSS JOIN LATERAL (
                SELECT string_agg(CASE
                    WHEN a.attname = ANY (e.columns) THEN format('%s:%s:%s:%s', n.told, a.attnum, a.atttypid, a.attcollation)
                    -- Each number of a float is one of a double, which is noted as both: one that becomes a float lacks a note.
                    ELSE format('%1$s:%2$s %1$s:@%3$s', n.told, k.kind, a.attnum)
                        || CASE WHEN k.kind = 'double.0' THEN format(' %s:float.0', n.told) ELSE '' END
                END, ' ' ORDER BY a.attname) AS columns
                FROM pg_attribute AS a
                -- Without the signs that are between the notes.
                CROSS JOIN LATERAL (SELECT translate(a.attname, ' :', E'\1\2')) AS n(told)
                -- Of others only what changes how they compare: a domain writes its values as its type does.
                LEFT JOIN LATERAL (
                    SELECT CASE
                        -- A decimal may have another text, by which policies are found, and is divided otherwise.
                        WHEN p.typoutput IN ('int2out'::regproc, 'int4out'::regproc, 'int8out'::regproc) THEN 'number'
                        WHEN p.typoutput = 'numeric_out'::regproc
                            THEN format('numeric%s.%s', m.size - 4 & 2047, CASE m.size WHEN -1 THEN p.typbasetype END)
                        WHEN p.typoutput = 'float4out'::regproc THEN 'float'
                        WHEN p.typoutput = 'float8out'::regproc THEN 'double'
                        WHEN p.typoutput IN ('textout'::regproc, 'varcharout'::regproc) THEN 'text'
                        -- Filled up to their length.
                        WHEN p.typoutput IN ('bpcharout'::regproc, 'bit_out'::regproc) THEN format('%s.%s', p.typoutput::oid, m.size)
                        -- Each enumeration has an order of its own, and what else is written alike has values of any type.
                        WHEN p.typoutput IN ('enum_out'::regproc, 'array_out'::regproc, 'range_out'::regproc, 'multirange_out'::regproc,
                            'record_out'::regproc) THEN format('type%s.%s', coalesce(nullif(p.typbasetype, 0), p.oid),
                                CASE WHEN p.typelem IN ('numeric'::regtype, 'bpchar'::regtype, 'bit'::regtype) THEN m.size END)
                        ELSE p.typoutput::oid::text
                    -- It says which letters are the same, and sorts them.
                    END || '.' || a.attcollation AS kind
                    FROM pg_type AS p
                    CROSS JOIN LATERAL (SELECT greatest(a.atttypmod, p.typtypmod) AS size) AS m
                    WHERE p.oid = a.atttypid
                ) AS k ON a.attname <> ALL (e.columns)
                WHERE a.attrelid = t.oid
                  AND a.attname = ANY (e.columns || e.reads)
            ) AS c
            UNION ALL
            SELECT format('key %s %s', f.key_id, f.event),
                format('%s %s %s %s %s', f.conrelid, f.conkey, f.confrelid, f.confkey, f.confdeltype)
            FROM keys_on AS f
            WHERE f.confdeltype IN ('c', 'n', 'd')
            UNION ALL
            -- CREATE OR REPLACE leaves a rule its identity.
            SELECT 'rule ' || r.oid, format('%s %s', r.ev_type, r.ev_enabled)
            FROM these AS p
            JOIN pg_rewrite AS r ON r.ev_class = p.table_id AND r.ev_type IN ('2', '4')
            UNION ALL
            SELECT 'child ' || i.inhrelid, i.inhparent::text
            FROM these AS p
            JOIN pg_inherits AS i ON i.inhparent = p.table_id
            WHERE p.relkind = 'r'
            UNION ALL
            SELECT 'foreign ' || p.table_id, p.relkind::text
            FROM these AS p
            WHERE p.relkind NOT IN ('r', 'p')
            UNION ALL
            SELECT 'off ' || t.trigger_id, t.table_id::text
            FROM triggers_off AS t
        ) AS s
    );
END
$windrow$;
--# comment on function catalog_now
COMMENT ON FUNCTION catalog_now() IS
    'Which tables those of the spec are and those that its rules read, the places and types of the columns by which rows are found there, '
    'the places and kinds of those by which rules decide, and what acts on the tables: foreign keys, rules, tables that inherit.';

-- replaced: a table that is another one than it was, or whose rows compare otherwise.
--# create function replaced
CREATE OR REPLACE FUNCTION replaced(p_then jsonb, p_now jsonb)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT format(
        CASE split_part(p_now ->> o.key, ' ', 1)
            WHEN split_part(o.value, ' ', 1) THEN CASE
                WHEN c.edge THEN '%s has other columns for its keys or edges, by name, place, type or collation'
                WHEN c.is_there AND c.place THEN '%s has another column by the name %s'
                WHEN c.is_there THEN '%s has another kind of values in column %s'
                ELSE '%s has no column %s any more'
            END
            WHEN 'none' THEN '%s is gone'
            ELSE '%s is another one, put in the place of the one that was there'
        END,
        o.key, translate(c.name, E'\1\2', ' :')
    )
    FROM jsonb_each_text(p_then) AS o
    CROSS JOIN LATERAL (
        SELECT l.edge, l.place, l.name, strpos(p_now ->> o.key, format(' %s:', l.name)) > 0 AS is_there
        FROM (
            SELECT bool_or(split_part(l.says, ':', 3) <> '') AS edge, bool_and(split_part(l.says, ':', 2) LIKE '@%') AS place,
                min(split_part(l.says, ':', 1)) AS name
            FROM unnest(string_to_array(o.value, ' ')) AS l(says)
            WHERE l.says <> ALL (string_to_array(p_now ->> o.key, ' '))
        ) AS l
    ) AS c
    WHERE starts_with(o.key, 'table ')
      AND p_now ? o.key
      -- An installation may note more columns.
      AND NOT string_to_array(o.value, ' ') <@ string_to_array(p_now ->> o.key, ' ')
    ORDER BY o.key
    LIMIT 1;
$windrow$;
--# comment on function replaced
COMMENT ON FUNCTION replaced(jsonb, jsonb) IS
    'The first table that is another one between two answers of catalog_now(); NULL if none is.';

-- note_clean: what the catalog says while nothing acts. As long as it says the same, unaccounted() need not look for what acts,
-- which takes four times as long. p_state was read before the look.
--# create function note_clean
CREATE OR REPLACE FUNCTION note_clean(p_state jsonb)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    DELETE FROM catalog_state AS s WHERE s.run_id = -1;
    INSERT INTO catalog_state (run_id, state)
    SELECT -1, p_state
    WHERE stranger() IS NULL;
$windrow$;
--# comment on function note_clean
COMMENT ON FUNCTION note_clean(jsonb) IS
    'Notes an answer of catalog_now() if nothing acts that the spec does not know.';

-- unfinished: while an installation is under way, or after it broke off, keys may be accounted for that the statements of a rule do not
-- know yet, and those statements may meet a judge of another version. Each file says at its end which routines it has made; the first
-- one forgets that. They are applied in the order of their names: 48_verify.sql is the last one with routines.
--# create function unfinished
CREATE OR REPLACE FUNCTION unfinished()
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT format('an installation is not finished: it has not applied %s', f.file)
        FROM (
            SELECT format('30_%s.sql', r.rule) AS file, r.position
            FROM rule AS r
            UNION ALL
            SELECT '48_verify.sql', NULL
        ) AS f
        WHERE NOT EXISTS (SELECT FROM known_routine AS k WHERE k.file = f.file)
        ORDER BY f.position NULLS LAST
        LIMIT 1
    );
END
$windrow$;
--# comment on function unfinished
COMMENT ON FUNCTION unfinished() IS
    'Which file with routines an installation that has begun has not applied; NULL if there is none.';

-- unaccounted: why no run may start, by the catalog. What was there when windrow was armed counts only where it was armed.
--# create function unaccounted
CREATE OR REPLACE FUNCTION unaccounted()
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_now   jsonb   := catalog_now();
    v_clean boolean := EXISTS (SELECT FROM catalog_state AS s WHERE s.run_id = -1 AND s.state = v_now);
BEGIN
    RETURN coalesce(
        unfinished(),
        keys_off(),
        sorts_anew(),
        CASE WHEN NOT v_clean THEN stranger() END,
        (
            SELECT 'catalog changed: ' || replaced(a.state, v_now)
            FROM catalog_state AS a
            WHERE a.run_id = 0
              AND not_armed() IS NULL
        )
    );
END
$windrow$;
--# comment on function unaccounted
COMMENT ON FUNCTION unaccounted() IS
    'An installation that is not finished, a session that checks no foreign keys, indexes of texts in another order, the first thing in '
    'the catalog by which a deletion would reach further than the spec says, or a table that is not the one that was armed; NULL if there '
    'is none.';

-- check_catalog: a manual run, a purge and arm() get an error.
--# create function check_catalog
CREATE OR REPLACE FUNCTION check_catalog()
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_reason text := unaccounted();
BEGIN
    IF starts_with(v_reason, 'catalog changed') THEN
        RAISE EXCEPTION '%', v_reason
            USING ERRCODE = '55000', HINT = format('Rows of the one before are left as they were. Look at both tables, then CALL '
                '%I.arm().', current_schema());
    ELSIF v_reason = keys_off() THEN
        RAISE EXCEPTION '%', v_reason
            USING ERRCODE = '55000', HINT = CASE
                WHEN EXISTS (SELECT FROM triggers_off) THEN 'ALTER TABLE ... ENABLE TRIGGER ALL; rows may refer to others that are gone.'
                ELSE 'SET session_replication_role = origin, or call it in another session.'
            END;
    ELSIF v_reason = sorts_anew() THEN
        RAISE EXCEPTION '%', v_reason
            USING ERRCODE = '55000', HINT = 'Rows that an index does not find would be taken for missing. REINDEX what has texts, then '
                'ALTER DATABASE ... REFRESH COLLATION VERSION, or ALTER COLLATION ... REFRESH VERSION.';
    ELSIF v_reason = unfinished() THEN
        RAISE EXCEPTION '%', v_reason
            USING ERRCODE = '55000', HINT = 'Let it finish, or run windrow install again.';
    ELSIF v_reason IS NOT NULL THEN
        RAISE EXCEPTION '%', v_reason USING ERRCODE = '55000', HINT = CASE
            WHEN v_reason LIKE 'table % compares % must be text' THEN 'Rows could be taken for those of others, or for missing, and go. '
                'Make both columns text; windrow check --database says which.'
            WHEN v_reason LIKE 'table % compares %' THEN 'Rows could be taken for those of others, or for missing, and go. '
                'Give both columns the same type and collation; windrow check --database says which.'
            WHEN v_reason ~ '^table .* is a (view|materialized view|foreign table)$' THEN
                'Name the table from which its rows come in the spec, and run windrow install.'
            ELSE 'Rows would be deleted or changed uncounted. Say in the spec what happens to them and run windrow install, or '
                'drop what acts; windrow check --database says how.' END;
    END IF;
    -- A strategy that no rule has is not installed.
    IF EXISTS (SELECT FROM rule AS r WHERE r.strategy = 'partition') THEN
        PERFORM check_partitions();
    END IF;
END
$windrow$;
--# comment on function check_catalog
COMMENT ON FUNCTION check_catalog() IS
    'Raises 55000 where unaccounted() finds something, or partitions cannot be dropped as a rule says.';

-- look_again: whether the catalog is still as it was when the run began. A batch checks this when it has its locks.
--# create function look_again
CREATE OR REPLACE FUNCTION look_again(p_run bigint)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_then jsonb := (SELECT s.state FROM catalog_state AS s WHERE s.run_id = p_run);
    v_now  jsonb := catalog_now();
    v_why  text;
BEGIN
    IF v_now = v_then THEN
        RETURN;
    END IF;
    -- What an installation has accounted for meanwhile, its statements may not know yet.
    v_why := coalesce(
        stranger(),
        unfinished(),
        keys_off(),
        replaced(v_then, v_now)
    );
    IF v_why IS NOT NULL THEN
        RAISE EXCEPTION 'catalog changed: %', v_why
            USING ERRCODE = 'WD001', HINT = 'The batch is rolled back. Look at what changed; windrow check --database says what the spec '
                'lacks.';
    END IF;
END
$windrow$;
--# comment on function look_again
COMMENT ON FUNCTION look_again(bigint) IS
    'Raises WD001 where the catalog is not what it was when run p_run began, and something acts that the spec does not know, or a table is '
    'another one.';

-- look_at_last: the same before a batch commits. The locks keep the tables whose rows are deleted unchanged, except for
-- partitions and tables that inherit from them. If there are none, and the spec names no table that is not locked, there is
-- nothing to compare.
--# create function look_at_last
CREATE OR REPLACE FUNCTION look_at_last(p_run bigint, p_rule text)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF EXISTS (
        SELECT
        FROM known_table AS t
        WHERE NOT t.goes
           OR t.name <> ALL ((SELECT r.tables FROM rule AS r WHERE r.rule = p_rule)::text[])
    ) OR EXISTS (
        SELECT
        FROM known_table AS t
        CROSS JOIN spec AS s
        JOIN pg_inherits AS i ON i.inhparent = to_regclass(format('%I.%I', s.schema_name, t.name))
    ) THEN
        PERFORM look_again(p_run);
    END IF;
END
$windrow$;
--# comment on function look_at_last
COMMENT ON FUNCTION look_at_last(bigint, text) IS
    'Raises WD001 as look_again() does, where something may have come in spite of the locks of a batch of run p_run, which locks the '
    'tables of p_rule; those of all rules where it is NULL.';

-- take_tables: what a batch does first. The locks let the application write, and keep foreign keys, rules and triggers from
-- being added or dropped until the batch commits.
--# create function take_tables
CREATE OR REPLACE FUNCTION take_tables(p_run bigint, p_rule text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    PERFORM lock_tables(p_rule);
EXCEPTION WHEN undefined_table OR insufficient_privilege OR wrong_object_type THEN
    -- A table that is gone, or another one in its place: say so.
    PERFORM look_again(p_run);
    RAISE;
END
$windrow$;
--# comment on function take_tables
COMMENT ON FUNCTION take_tables(bigint, text) IS
    'Locks the tables whose rows p_rule deletes, or any rule, in ROW EXCLUSIVE MODE until the transaction ends, for a batch of run p_run.';
