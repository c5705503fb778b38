-- Rules that drop whole range partitions. Their verbs are rows, drop_partitions and, for each table by its position in the order of
-- deletion, count_partition_<n> and, where holds of other rules or rows of other tables may keep rows, held_partition_<n> and
-- referred_partition_<n>; where rows of the root table keep their partition, and those of what names them, until they have ended,
-- waiting_partition_<n>.
-- What a family is to others, to them is a partition, or of several tables all partitions whose ranges
-- overlap: it is deleted as a whole or not at all. Only the verb drop_partitions drops tables, and only those that the catalog has,
-- under its lock, as partitions of exactly the rule's tables with exactly these bounds.

-- run_partition: what runs have dropped.
--# create table run_partition
CREATE TABLE IF NOT EXISTS run_partition (
    run_id       bigint      NOT NULL,
    rule         text        NOT NULL,
    name         text        NOT NULL,
    table_name   text        NOT NULL,
    from_bound   text        NOT NULL,
    to_bound     text        NOT NULL,
    deleted_rows bigint      NOT NULL,
    counted      boolean     NOT NULL,
    bytes        bigint      NOT NULL,
    dropped_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, rule, name)
);
--# comment on table run_partition
COMMENT ON TABLE run_partition IS
    'The partitions that runs have dropped, with the table that they were of, their bounds (from inclusive, -infinity: MINVALUE; to '
    'exclusive), their rows, and their size with indexes. counted: whether the rows were counted while nobody could write to them, or '
    'estimated by the statistics of the server.';

-- partitions_of: the partitions of the tables of a rule. o_place: the position of their table in the order of deletion. o_kind:
-- plain, default, or other: what is partitioned itself, or is being detached. Bounds are texts of the type of the column; o_to is
-- NULL where there is no end.
--# create function partitions_of
CREATE OR REPLACE FUNCTION partitions_of(p_rule text)
RETURNS TABLE (o_id oid, o_place bigint, o_table text, o_name text, o_kind text, o_from text, o_to text, o_bound text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    RETURN QUERY
    SELECT
        c.oid,
        w.place,
        w.name,
        CASE WHEN n.nspname = s.schema_name THEN c.relname::text ELSE format('%s.%s', n.nspname, c.relname) END,
        CASE
            WHEN b.bound = 'DEFAULT' THEN 'default'
            WHEN c.relkind = 'r' AND NOT i.inhdetachpending AND b.ends IS NOT NULL THEN 'plain'
            ELSE 'other'
        END,
        CASE b.ends[1] WHEN 'MINVALUE' THEN '-infinity' ELSE trim('''' FROM b.ends[1]) END,
        CASE WHEN b.ends[2] <> 'MAXVALUE' THEN trim('''' FROM b.ends[2]) END,
        b.bound
    FROM rule AS r
    CROSS JOIN spec AS s
    CROSS JOIN LATERAL unnest(r.tables) WITH ORDINALITY AS w(name, place)
    JOIN pg_inherits AS i ON i.inhparent = to_regclass(format('%I.%I', s.schema_name, w.name))
    JOIN pg_class AS c ON c.oid = i.inhrelid AND c.relispartition
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    -- OFFSET: each is read once, where the server would put the expression in every place that names it.
    CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) OFFSET 0) AS p(bound)
    CROSS JOIN LATERAL (
        SELECT
            p.bound,
            CASE
                WHEN p.bound LIKE 'FOR VALUES FROM (%) TO (%)'
                    THEN string_to_array(substr(p.bound, 18, length(p.bound) - 18), ') TO (')
            END
        OFFSET 0
    ) AS b(bound, ends)
    WHERE r.rule = p_rule;
END
$windrow$;
--# comment on function partitions_of
COMMENT ON FUNCTION partitions_of(text) IS
    'The partitions of the tables of p_rule, with their bounds (from inclusive, to exclusive; NULL: the default one, or without an end).';

-- partition_families: the partitions of a rule that are dropped together. Of one table that is each for itself; of several those
-- whose ranges overlap, directly or through others: so each row of one is in one family. The default partitions are in none.
--# create function partition_families
CREATE OR REPLACE FUNCTION partition_families(p_rule text)
RETURNS TABLE (o_name text, o_from text, o_to text, o_ids oid[])
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $windrow$
BEGIN
    RETURN QUERY
    WITH part AS (
        -- Times without a zone are compared as if they were in UTC, all of them.
        SELECT
            p.*, p.o_table = r.root AS is_root, p.o_from::timestamptz AS since, coalesce(p.o_to::timestamptz, 'infinity') AS till
        FROM partitions_of(p_rule) AS p
        JOIN rule AS r ON r.rule = p_rule
        WHERE p.o_from IS NOT NULL
    ),
    begun AS (
        SELECT
            p.*,
            (p.since >= max(p.till) OVER (
                ORDER BY p.since, p.till, p.o_place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            )) IS NOT FALSE AS begins
        FROM part AS p
    ),
    numbered AS (
        SELECT b.*, count(*) FILTER (WHERE b.begins) OVER (ORDER BY b.since, b.till, b.o_place) AS number FROM begun AS b
    )
    SELECT
        (array_agg(n.o_name ORDER BY n.is_root DESC, n.till DESC, n.o_place DESC))[1],
        (array_agg(n.o_from ORDER BY n.since))[1],
        CASE WHEN bool_and(n.o_to IS NOT NULL) THEN (array_agg(n.o_to ORDER BY n.till DESC))[1] END,
        array_agg(n.o_id ORDER BY n.o_place, n.since)
    FROM numbered AS n
    GROUP BY n.number;
END
$windrow$;
--# comment on function partition_families
COMMENT ON FUNCTION partition_families(text) IS
    'The partitions of p_rule that are dropped together, in that order: name (of the last one of the root table, else of another), '
    'bounds (from inclusive, to exclusive; NULL: without an end).';

-- partition_misfit: why no partition of a rule is dropped, by the catalog. A drop asks no row, fires no trigger and is in no
-- replica by logical decoding: what needs one of these is not for it. A foreign key from a partition to one of its family is no
-- obstacle: it goes first.
--# create function partition_misfit
CREATE OR REPLACE FUNCTION partition_misfit(p_rule text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_rule   rule%ROWTYPE;
    v_schema text := (SELECT s.schema_name FROM spec AS s);
    v_name   text;
    v_table  oid;
    v_found  record;
    v_config jsonb;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    SELECT w.name
    INTO v_name
    FROM unnest(v_rule.tables) WITH ORDINALITY AS w(name, place)
    WHERE NOT EXISTS (
        SELECT
        FROM pg_partitioned_table AS t
        JOIN pg_attribute AS a ON a.attrelid = t.partrelid AND a.attnum = t.partattrs[0]
        WHERE t.partrelid = to_regclass(format('%I.%I', v_schema, w.name))
          AND t.partstrat = 'r'
          AND t.partnatts = 1
          AND a.attname = v_rule.time_name
    )
    ORDER BY w.place
    LIMIT 1;
    IF FOUND THEN
        RETURN format('table %s is not partitioned by range of %s alone: use the strategy age', v_name, v_rule.time_name);
    END IF;
    FOREACH v_name IN ARRAY v_rule.tables LOOP
        v_table := to_regclass(format('%I.%I', v_schema, v_name));
        SELECT f.conname, f.conrelid::regclass AS other
        INTO v_found
        FROM pg_constraint AS f
        WHERE f.contype = 'f'
          AND (f.confrelid = v_table OR f.confrelid IN (SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = v_table))
          AND NOT EXISTS (
              SELECT
              FROM partition_families(p_rule) AS p
              WHERE f.conrelid = ANY (p.o_ids)
                AND f.confrelid = ANY (p.o_ids)
                AND array_position(p.o_ids, f.conrelid) <= array_position(p.o_ids, f.confrelid)
          )
        ORDER BY f.conparentid = 0 DESC, f.conname
        LIMIT 1;
        IF FOUND THEN
            RETURN format('table %s refers to %s by %s, and a partition that rows refer to cannot be dropped: use the strategy age%s',
                v_found.other, v_name, v_found.conname,
                CASE WHEN cardinality(v_rule.tables) > 1 THEN ', or make keys from each partition to the one of its family' END);
        END IF;
        -- A partition can have one that the table has not.
        SELECT g.tgname, coalesce(c.relname, v_name) AS of_table
        INTO v_found
        FROM pg_trigger AS g
        LEFT JOIN pg_inherits AS i ON i.inhrelid = g.tgrelid AND i.inhparent = v_table
        LEFT JOIN pg_class AS c ON c.oid = i.inhrelid
        WHERE (g.tgrelid = v_table OR i.inhrelid IS NOT NULL)
          AND NOT g.tgisinternal
          AND g.tgenabled <> 'D'
          AND g.tgtype & 8 = 8
        ORDER BY g.tgrelid = v_table DESC, g.tgname
        LIMIT 1;
        IF FOUND THEN
            RETURN format('table %s has the trigger %s on DELETE, which a dropped partition does not fire: use the strategy age',
                v_found.of_table, v_found.tgname);
        END IF;
        -- The tables of pg_partman: it makes their partitions, and one of both drops them.
        FOR v_found IN
            SELECT
                c.oid::regclass AS config,
                has_schema_privilege(c.relnamespace, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AS readable,
                EXISTS (
                    SELECT
                    FROM pg_depend AS d
                    JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pg_partman'
                    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_extension'::regclass
                ) AS is_known
            FROM pg_class AS c
            JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'parent_table' AND NOT a.attisdropped
            WHERE c.relname = 'part_config'
              AND c.relkind = 'r'
            ORDER BY c.oid
        LOOP
            IF v_found.readable THEN
                EXECUTE format('SELECT to_jsonb(p) FROM %s AS p WHERE p.parent_table::text = $1', v_found.config)
                INTO v_config
                USING format('%s.%s', v_schema, v_name);
                IF v_config ->> 'retention' IS NOT NULL THEN
                    RETURN format('pg_partman drops partitions of %s, too, and knows no hold: set retention to NULL in %s, or leave the '
                        'rule out', v_name, v_found.config);
                END IF;
                IF v_rule.document ? 'ahead' AND v_config ->> 'automatic_maintenance' IS DISTINCT FROM 'off' AND v_config IS NOT NULL THEN
                    RETURN format('pg_partman makes the partitions of %s: leave out `ahead`, or set automatic_maintenance to off in %s',
                        v_name, v_found.config);
                END IF;
            ELSIF v_found.is_known THEN
                RETURN format('whether pg_partman maintains %s is not known: GRANT SELECT ON %s TO %I, and USAGE on its schema',
                    v_name, v_found.config, current_user);
            END IF;
        END LOOP;
    END LOOP;
    RETURN NULL;
END
$windrow$;
--# comment on function partition_misfit
COMMENT ON FUNCTION partition_misfit(text) IS
    'Why no partition of p_rule can be dropped: how its tables are partitioned, foreign keys and triggers on them, pg_partman; NULL: '
    'nothing.';

-- partition_unowned: a partition that the owner role may not drop, or a table from which it may not detach one. No right can be granted
-- for that, but membership.
--# create function partition_unowned
CREATE OR REPLACE FUNCTION partition_unowned(p_rule text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN coalesce((
        SELECT CASE
            WHEN o.is_member THEN format('partition %s is in a schema that it may not use: GRANT USAGE ON SCHEMA %s TO %I', p.o_name,
                c.relnamespace::regnamespace, current_user)
            ELSE format('partition %s belongs to %I, and only its owner can drop it: GRANT %2$I TO %3$I', p.o_name,
                pg_get_userbyid(c.relowner), current_user)
        END
        FROM partitions_of(p_rule) AS p
        JOIN pg_class AS c ON c.oid = p.o_id
        CROSS JOIN LATERAL (SELECT pg_has_role(c.relowner, 'USAGE')) AS o(is_member)
        WHERE p.o_kind = 'plain'
          AND NOT (o.is_member AND has_schema_privilege(c.relnamespace, 'USAGE'))
        ORDER BY p.o_name
        LIMIT 1
    ), (
        SELECT format('table %s belongs to %I, and only its owner can detach a partition, which archives it: GRANT %2$I TO %3$I', a.name,
            pg_get_userbyid(c.relowner), current_user)
        FROM rule AS r
        CROSS JOIN spec AS s
        CROSS JOIN LATERAL jsonb_array_elements_text(r.document -> 'archive') AS a(name)
        JOIN pg_class AS c ON c.oid = to_regclass(format('%I.%I', s.schema_name, a.name))
        WHERE r.rule = p_rule
          AND NOT pg_has_role(c.relowner, 'USAGE')
        ORDER BY a.name
        LIMIT 1
    ));
END
$windrow$;
--# comment on function partition_unowned
COMMENT ON FUNCTION partition_unowned(text) IS
    'The first partition of p_rule that the owner role may not drop, since it is no member of the role that owns it, or may not use '
    'its schema, or the first table whose partitions it may not detach; with the remedy. NULL: none.';

-- check_partitions: a manual run, a purge and arm() get an error.
--# create function check_partitions
CREATE OR REPLACE FUNCTION check_partitions()
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_misfit text;
BEGIN
    FOR v_misfit IN
        SELECT coalesce(partition_misfit(r.rule), partition_unowned(r.rule))
        FROM rule AS r
        WHERE r.strategy = 'partition'
        ORDER BY r.position
    LOOP
        IF v_misfit IS NOT NULL THEN
            RAISE EXCEPTION '%', v_misfit
                USING ERRCODE = '55000', HINT = 'Nothing was dropped. docs/partitions.md says what a table of partitions needs.';
        END IF;
    END LOOP;
END
$windrow$;
--# comment on function check_partitions
COMMENT ON FUNCTION check_partitions() IS
    'Raises 55000 where partitions of a rule cannot be dropped; check_catalog() calls it.';

-- next_partition: the family of partitions that ends first behind p_after, if it ends before or at the cutoff.
--# create function next_partition
CREATE OR REPLACE FUNCTION next_partition(
    p_rule text, p_after text, p_cutoff text, OUT o_name text, OUT o_from text, OUT o_to text, OUT o_ids oid[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    SELECT f.o_name, f.o_from, f.o_to, f.o_ids
    INTO o_name, o_from, o_to, o_ids
    FROM partition_families(p_rule) AS f
    WHERE f.o_to::timestamptz <= p_cutoff::timestamptz
      AND (p_after IS NULL OR f.o_to::timestamptz > p_after::timestamptz)
    ORDER BY f.o_to::timestamptz
    LIMIT 1;
END
$windrow$;
--# comment on function next_partition
COMMENT ON FUNCTION next_partition(text, text, text) IS
    'The next family of partitions of p_rule that is due: it ends after p_after (NULL: the first), and at p_cutoff at the latest. Reads '
    'only.';

-- partition_grants: for a partition that is made like this one, or comes back as it was.
--# create function partition_grants
CREATE OR REPLACE FUNCTION partition_grants(p_id oid, p_to text, p_not_of oid[])
RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT format('GRANT %s%s ON %s TO %s%s', g.privilege_type, r.columns, p_to,
        CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END,
        CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' END)
    FROM (
        SELECT c.relacl AS acl, '' AS columns FROM pg_class AS c WHERE c.oid = p_id
        UNION ALL
        SELECT a.attacl, format(' (%I)', a.attname) FROM pg_attribute AS a WHERE a.attrelid = p_id AND NOT a.attisdropped
    ) AS r
    CROSS JOIN LATERAL aclexplode(r.acl) AS g
    WHERE g.grantee <> ALL (p_not_of)
    ORDER BY 1
$windrow$;
--# comment on function partition_grants
COMMENT ON FUNCTION partition_grants(oid, text, oid[]) IS
    'The rights on a partition and its columns, but for those of the roles p_not_of, as statements that grant them on p_to.';

-- rows_estimated: as the planner does it: the rows of a page when statistics were last taken, times the pages that there are now.
--# create function rows_estimated
CREATE OR REPLACE FUNCTION rows_estimated(p_id oid)
RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    SELECT CASE
        WHEN c.reltuples > 0 AND c.relpages > 0
            THEN round(c.reltuples / c.relpages * (pg_relation_size(c.oid) / current_setting('block_size')::bigint))::bigint
    END
    FROM pg_class AS c
    WHERE c.oid = p_id
$windrow$;
--# comment on function rows_estimated
COMMENT ON FUNCTION rows_estimated(oid) IS
    'How many rows a table has by its statistics and its size; NULL: it was never analysed, or was empty then. Reads the catalog alone.';

-- partition_judged: what the partitions of a family hold, and why they are kept, if they are. o_counts: their rows, in the order of
-- p_ids, and o_counted, whether these are counted; o_rows: by table, in the order of deletion. o_key: a partition, and the first of
-- its rows that keeps it.
--# create function partition_judged
CREATE OR REPLACE FUNCTION partition_judged(
    p_rule text, p_ids oid[], p_estimated boolean, p_cutoff timestamptz,
    OUT o_counts bigint[], OUT o_counted boolean[], OUT o_rows bigint[], OUT o_oldest json, OUT o_key text, OUT o_reason text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_binds boolean := bound_by(p_rule);
    v_refer boolean := (SELECT r.document ? 'referred' FROM rule AS r WHERE r.rule = p_rule);
    v_waits boolean := (SELECT r.document ? 'waits' FROM rule AS r WHERE r.rule = p_rule);
    v_held  text[]  := held_keys(p_rule);
    v_part  record;
    v_fault integer;
    v_guess bigint;
    v_rows  bigint;
    v_time  timestamptz;
    v_first timestamptz;
    v_json  json;
    v_kept  text[];
    v_stay  text[];
    v_named text;
BEGIN
    SELECT array_fill(0::bigint, ARRAY[cardinality(r.tables)]) INTO o_rows FROM rule AS r WHERE r.rule = p_rule;
    o_counts := array_fill(0::bigint, ARRAY[cardinality(p_ids)]);
    o_counted := array_fill(true, ARRAY[cardinality(p_ids)]);
    FOR v_part IN
        SELECT p.* FROM partitions_of(p_rule) AS p WHERE p.o_id = ANY (p_ids) ORDER BY p.o_kind = 'plain', array_position(p_ids, p.o_id)
    LOOP
        IF v_part.o_kind <> 'plain' THEN
            o_key := v_part.o_name;
            o_reason := 'NOT_DROPPABLE';
            RETURN;
        END IF;
        v_guess := CASE WHEN p_estimated THEN rows_estimated(v_part.o_id) END;
        EXECUTE format(
            'SELECT c.o_rows, c.o_oldest, to_json(c.o_oldest), c.o_held FROM %s(%L, %L, $1::%s[], $2) AS c',
            routine_of(p_rule, 'count_partition_' || v_part.o_place), v_part.o_from, v_part.o_to, key_type_of(p_rule)
        )
        INTO v_rows, v_time, v_json, v_kept
        USING v_held, v_guess IS NULL;
        v_rows := coalesce(v_guess, v_rows);
        IF v_binds THEN
            EXECUTE format('SELECT %s(%L, %L)', routine_of(p_rule, 'held_partition_' || v_part.o_place), v_part.o_from, v_part.o_to)
            INTO v_stay;
            v_kept := ARRAY(SELECT k.id FROM unnest(v_kept || v_stay) AS k(id) ORDER BY k.id);
        END IF;
        IF v_kept <> '{}' AND o_reason IS NULL THEN
            o_key := format('%s (%s)', v_part.o_name, v_kept[1]);
            o_reason := 'HELD';
        END IF;
        -- '-infinity' is no time, whatever partition has it.
        IF v_time = '-infinity' AND o_reason IS NULL THEN
            o_key := v_part.o_name;
            o_reason := 'UNDATED_MEMBER';
        END IF;
        IF v_waits AND o_reason IS NULL THEN
            EXECUTE format(
                'SELECT w.o_fault, w.o_key FROM %s(%L, %L, $1) AS w',
                routine_of(p_rule, 'waiting_partition_' || v_part.o_place), v_part.o_from, v_part.o_to
            )
            INTO v_fault, v_named
            USING p_cutoff;
            IF v_fault IS NOT NULL THEN
                o_key := format('%s (%s)', v_part.o_name, v_named);
                o_reason := (ARRAY['NON_FINAL_MEMBER', 'UNDATED_MEMBER', 'RETENTION_NOT_REACHED'])[v_fault];
            END IF;
        END IF;
        IF v_refer AND o_reason IS NULL THEN
            EXECUTE format('SELECT %s(%L, %L)', routine_of(p_rule, 'referred_partition_' || v_part.o_place), v_part.o_from, v_part.o_to)
            INTO v_named;
            IF v_named IS NOT NULL THEN
                o_key := format('%s (%s)', v_part.o_name, v_named);
                o_reason := 'REFERENCED';
            END IF;
        END IF;
        o_counts[array_position(p_ids, v_part.o_id)] := v_rows;
        o_counted[array_position(p_ids, v_part.o_id)] := v_guess IS NULL;
        o_rows[v_part.o_place] := o_rows[v_part.o_place] + v_rows;
        IF v_time > '-infinity' AND (v_first IS NULL OR v_time < v_first) THEN
            v_first := v_time;
            o_oldest := v_json;
        END IF;
    END LOOP;
END
$windrow$;
--# comment on function partition_judged
COMMENT ON FUNCTION partition_judged(text, oid[], boolean, timestamptz) IS
    'Rows of partitions of p_rule by table; o_reason: why they are kept, NULL: they may be dropped. Rows that say their end must have '
    'ended before p_cutoff. Reads each from end to end, unless p_estimated says that estimates will do, and there are some.';

-- check_droppable: what a dry run finds out of a drop. It drops nothing, which would lock the tables exclusively: such a lock is in the
-- WAL as soon as it is granted, and cancels queries on standbys though it is given back.
--# create function check_droppable
CREATE OR REPLACE FUNCTION check_droppable(p_rule text, p_ids oid[])
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_used record;
BEGIN
    IF NOT EXISTS (SELECT FROM partition_families(p_rule) AS f WHERE f.o_ids = p_ids) THEN
        RAISE EXCEPTION 'partitions that go together are others now'
            USING ERRCODE = '55000', HINT = 'One was attached, dropped or detached meanwhile.';
    END IF;
    SELECT d.refobjid::regclass AS part, u.ev_class::regclass AS viewed
    INTO v_used
    FROM pg_depend AS d
    JOIN pg_rewrite AS u ON u.oid = d.objid
    WHERE d.classid = 'pg_rewrite'::regclass
      AND d.refclassid = 'pg_class'::regclass
      AND d.refobjid = ANY (p_ids)
      AND u.ev_class <> d.refobjid
    ORDER BY 1, 2
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'cannot drop partition % because view % depends on it', v_used.part, v_used.viewed
            USING ERRCODE = '2BP01', HINT = 'Drop the view, or let it read the partitioned table.';
    END IF;
END
$windrow$;
--# comment on function check_droppable
COMMENT ON FUNCTION check_droppable(text, oid[]) IS
    'Raises 55000 where p_ids are not the partitions of a family of p_rule any more, and 2BP01 where a view reads one. A dry run calls '
    'it instead of dropping them.';

-- partition_batch: one batch: one family of partitions. Has no transaction control.
--# create function partition_batch
CREATE OR REPLACE FUNCTION partition_batch(
    p_run bigint, p_rule text, p_ids oid[],
    OUT o_families bigint, OUT o_rows bigint[], OUT o_skip_keys text[], OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_part   record;
    v_judged record;
    v_bounds text[];
    v_family text;
BEGIN
    PERFORM begin_batch('holds');
    -- Nobody writes to them while their rows are counted: what is dropped is what was judged. Rows of other partitions are written.
    FOR v_part IN
        SELECT p.o_id, p.o_kind FROM partitions_of(p_rule) AS p WHERE p.o_id = ANY (p_ids) ORDER BY array_position(p_ids, p.o_id)
    LOOP
        IF v_part.o_kind = 'plain' THEN
            EXECUTE format('LOCK TABLE ONLY %s IN SHARE MODE', v_part.o_id::regclass);
        END IF;
    END LOOP;
    SELECT j.o_counts, j.o_counted, j.o_rows, j.o_key, j.o_reason
    INTO v_judged
    FROM rule AS r
    JOIN run AS n ON n.run_id = p_run
    CROSS JOIN LATERAL partition_judged(
        p_rule, p_ids, r.document ? 'estimated', cutoff_of(p_rule, n.as_of, seconds(n.options ->> 'retention'))
    ) AS j
    WHERE r.rule = p_rule;
    o_families := 0;
    o_rows := array_fill(0::bigint, ARRAY[cardinality(v_judged.o_rows)]);
    o_skip_keys := '{}';
    o_skip_reasons := '{}';
    IF v_judged.o_reason IS NOT NULL THEN
        o_skip_keys := ARRAY[v_judged.o_key];
        o_skip_reasons := ARRAY[v_judged.o_reason];
        RETURN;
    END IF;
    INSERT INTO run_partition (run_id, rule, name, table_name, from_bound, to_bound, deleted_rows, counted, bytes)
    SELECT p_run, p_rule, p.o_name, p.o_table, p.o_from, p.o_to, d.rows, d.counted, pg_total_relation_size(p.o_id)
    FROM unnest(p_ids, v_judged.o_counts, v_judged.o_counted) AS d(id, rows, counted)
    JOIN partitions_of(p_rule) AS p ON p.o_id = d.id;
    v_bounds := ARRAY(
        SELECT p.o_bound
        FROM unnest(p_ids) WITH ORDINALITY AS d(id, place)
        LEFT JOIN partitions_of(p_rule) AS p ON p.o_id = d.id
        ORDER BY d.place
    );
    IF EXISTS (SELECT FROM run AS n WHERE n.run_id = p_run AND n.dry_run) THEN
        PERFORM check_droppable(p_rule, p_ids);
    ELSIF EXISTS (SELECT FROM rule AS r WHERE r.rule = p_rule AND r.document ? 'archive') THEN
        SELECT f.o_name INTO v_family FROM partition_families(p_rule) AS f WHERE f.o_ids = p_ids;
        EXECUTE format('SELECT %s($1, $2, $3, $4, $5)', routine_of(p_rule, 'drop_partitions'))
        USING p_ids, v_bounds, setting_of(p_rule, 'lock_timeout')::integer, p_run, v_family;
    ELSE
        EXECUTE format('SELECT %s($1, $2, $3)', routine_of(p_rule, 'drop_partitions'))
        USING p_ids, v_bounds, setting_of(p_rule, 'lock_timeout')::integer;
    END IF;
    o_families := 1;
    o_rows := v_judged.o_rows;
END
$windrow$;
--# comment on function partition_batch
COMMENT ON FUNCTION partition_batch(bigint, text, oid[]) IS
    'Drops, in the caller''s transaction, the partitions of one family, unless something keeps one; a dry run only looks whether it '
    'could. partition_step() calls it.';

-- partitions_left: the default partitions, where they have rows that are due or have no time: they are never deleted; and what is
-- over, but of a family that is not.
--# create function partitions_left
CREATE OR REPLACE FUNCTION partitions_left(p_rule text, p_cutoff text, OUT o_skip_keys text[], OUT o_skip_reasons text[])
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_part    record;
    v_due     boolean;
    v_undated boolean;
BEGIN
    o_skip_keys := '{}';
    o_skip_reasons := '{}';
    FOR v_part IN
        SELECT
            p.o_id::regclass AS part, p.o_name,
            -- A date stands for the end of its day.
            format(CASE WHEN r.document ? 'dates' THEN '(t.%I + 1)' ELSE 't.%I' END, r.time_name) AS ended
        FROM partitions_of(p_rule) AS p
        JOIN rule AS r ON r.rule = p_rule
        WHERE p.o_kind = 'default'
        ORDER BY p.o_place
    LOOP
        EXECUTE format(
            'SELECT coalesce(bool_or(%1$s <= %2$L), false), coalesce(bool_or(%1$s IS NULL), false) FROM %3$s AS t',
            v_part.ended, p_cutoff, v_part.part
        )
        INTO v_due, v_undated;
        IF v_due THEN
            o_skip_keys := o_skip_keys || v_part.o_name;
            o_skip_reasons := o_skip_reasons || 'NOT_DROPPABLE'::text;
        END IF;
        IF v_undated THEN
            o_skip_keys := o_skip_keys || v_part.o_name;
            o_skip_reasons := o_skip_reasons || 'UNDATED_MEMBER'::text;
        END IF;
    END LOOP;
    FOR v_part IN
        SELECT w.over, w.young
        FROM partition_families(p_rule) AS f
        CROSS JOIN LATERAL (
            SELECT
                (array_agg(p.o_name ORDER BY o.is_over DESC, array_position(f.o_ids, p.o_id)))[1] AS over,
                (array_agg(p.o_name ORDER BY o.is_over, array_position(f.o_ids, p.o_id)))[1] AS young,
                bool_or(o.is_over) AND NOT bool_and(o.is_over) AS waits
            FROM partitions_of(p_rule) AS p
            CROSS JOIN LATERAL (SELECT coalesce(p.o_to::timestamptz <= p_cutoff::timestamptz, false)) AS o(is_over)
            WHERE p.o_id = ANY (f.o_ids)
        ) AS w
        WHERE w.waits
        ORDER BY f.o_from::timestamptz
    LOOP
        o_skip_keys := o_skip_keys || format('%s (%s)', v_part.over, v_part.young);
        o_skip_reasons := o_skip_reasons || 'RETENTION_NOT_REACHED'::text;
    END LOOP;
END
$windrow$;
--# comment on function partitions_left
COMMENT ON FUNCTION partitions_left(text, text) IS
    'The default partitions of p_rule, where rows in them are due by p_cutoff, or have no time, which are read from end to end; and the '
    'first partition that is over of each family that is not, with the first that is not.';

-- partition_step: one family of partitions of a run, with its progress in the ledger, in the caller's transaction. Its statements on
-- the catalog and the control tables are planned once for a session, not anew for the first five families.
--# create function partition_step
CREATE OR REPLACE FUNCTION partition_step(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_run      run%ROWTYPE;
    v_progress run_rule%ROWTYPE;
    v_state    text;
    v_cutoff   text;
    v_until    text;
    v_next     record;
    v_batch    record;
    v_sqlstate text;
    v_message  text;
    v_context  text;
BEGIN
    v_state := begin_step(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    SELECT * INTO STRICT v_progress FROM run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule;
    IF families_left(v_run, v_progress) <= 0 THEN
        RETURN 'run_families reached';
    END IF;
    -- Others had the locks: back off, before any is taken.
    IF v_progress.retries_in_row > 0 THEN
        PERFORM pg_sleep(least(0.1 * 2 ^ (v_progress.retries_in_row - 1), 1));
    END IF;
    v_state := take_locks(p_run, p_rule);
    IF v_state IS NOT NULL THEN
        RETURN v_state;
    END IF;
    v_state := coalesce(partition_misfit(p_rule), partition_unowned(p_rule));
    IF v_state IS NOT NULL THEN
        RAISE EXCEPTION '%', v_state
            USING ERRCODE = '55000', HINT = 'Nothing was dropped. docs/partitions.md says what a table of partitions needs.';
    END IF;
    -- Before the first batch.
    IF v_progress.batches = 0 THEN
        v_state := ahead_step(p_run, p_rule);
        IF v_state IS NOT NULL THEN
            RETURN v_state;
        END IF;
    END IF;
    EXECUTE format('SELECT (%s)::text', cutoff_call(p_rule, '$1', '$2'))
    INTO v_cutoff
    USING v_run.as_of, seconds(v_run.options ->> 'retention');
    -- What lies before the place where the run began comes last, up to that.
    v_until := v_cutoff;
    IF v_progress.around AND v_progress.start_time IS NOT NULL THEN
        v_until := least(v_cutoff::timestamptz, v_progress.start_time::timestamptz)::text;
    END IF;
    SELECT n.* INTO v_next FROM next_partition(p_rule, v_progress.cursor_time, v_until) AS n;
    IF v_next.o_to IS NULL THEN
        IF v_progress.around OR v_progress.start_time IS NULL THEN
            PERFORM record_skips(p_run, p_rule, l.o_skip_keys, l.o_skip_reasons)
            FROM partitions_left(p_rule, v_cutoff) AS l
            WHERE l.o_skip_keys <> '{}';
        END IF;
        RETURN 'nothing left';
    END IF;

    BEGIN
        SELECT b.o_families, b.o_rows, b.o_skip_keys, b.o_skip_reasons
        INTO v_batch
        FROM partition_batch(p_run, p_rule, v_next.o_ids) AS b;
        PERFORM look_at_last(p_run, p_rule);
        IF v_run.dry_run THEN
            -- The dry run is the real batch without the drop, rolled back.
            RAISE EXCEPTION 'dry run' USING ERRCODE = 'WD002';
        END IF;
    EXCEPTION
        WHEN SQLSTATE 'WD002' THEN
            NULL;
        WHEN query_canceled OR OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_context = PG_EXCEPTION_CONTEXT;
            IF v_sqlstate = '57014' AND is_cancel(v_message, v_context) THEN
                RETURN 'cancelled';
            END IF;
    END;
    IF v_sqlstate IS NOT NULL THEN
        -- The locks of this batch are given back already: whoever waited for them goes on.
        v_state := fail_step(p_run, p_rule, v_sqlstate, v_message, v_context, NULL);
        IF v_state IS NOT NULL THEN
            RETURN v_state;
        END IF;
        PERFORM record_failure(p_run, p_rule, v_next.o_name, v_sqlstate, v_message);
        SELECT
            0::bigint AS o_families,
            array_fill(0::bigint, ARRAY[cardinality(r.tables)]) AS o_rows,
            ARRAY[v_next.o_name] AS o_skip_keys,
            ARRAY[CASE WHEN is_busy(v_sqlstate) THEN 'LOCKED' ELSE 'FAILED' END] AS o_skip_reasons
        INTO v_batch
        FROM rule AS r
        WHERE r.rule = p_rule;
    END IF;
    PERFORM end_step(
        p_run, p_rule, v_batch.o_families, v_batch.o_rows, '{}',
        NULL, v_progress.batch_families, false,
        v_next.o_to, NULL,
        v_batch.o_skip_keys, v_batch.o_skip_reasons
    );
    RETURN 'more';
END
$windrow$;
--# comment on function partition_step
COMMENT ON FUNCTION partition_step(bigint, text) IS
    'One family of partitions of run p_run, and its progress in the ledger. Answers more, again, or why the run should end. run() '
    'calls it and commits.';

-- partition_idle: whether nothing is due, and nothing is to be said.
--# create function partition_idle
CREATE OR REPLACE FUNCTION partition_idle(p_rule text, p_as_of timestamptz)
RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_cutoff text;
BEGIN
    EXECUTE format('SELECT (%s)::text', cutoff_call(p_rule, '$1')) INTO v_cutoff USING p_as_of;
    RETURN (
        SELECT CASE
            WHEN n.o_to IS NULL AND l.o_skip_keys = '{}' AND partition_misfit(p_rule) IS NULL AND NOT ahead_missing(p_rule, p_as_of) THEN 0
        END
        FROM next_partition(p_rule, NULL, v_cutoff) AS n
        CROSS JOIN partitions_left(p_rule, v_cutoff) AS l
    );
END
$windrow$;
--# comment on function partition_idle
COMMENT ON FUNCTION partition_idle(text, timestamptz) IS
    '0 where no partition of p_rule is due at p_as_of, and nothing is to be told; else NULL. Reads only.';

-- partition_preview: the partitions that a run would drop, counted or estimated, but not locked.
--# create function partition_preview
CREATE OR REPLACE FUNCTION partition_preview(p_rule text, p_options jsonb, p_as_of timestamptz)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_families bigint := 0;
    v_batches  bigint := 0;
    v_limit    bigint := coalesce((p_options ->> 'run_families')::bigint, setting_of(p_rule, 'run_families'));
    v_after    text   := ((p_options ->> 'from')::timestamptz - interval '1 microsecond')::text;
    v_ended    timestamptz := cutoff_of(p_rule, p_as_of, seconds(p_options ->> 'retention'));
    v_cutoff   text;
    v_next     record;
    v_judged   record;
    v_left     record;
    v_rows     bigint[] := (SELECT array_fill(0::bigint, ARRAY[cardinality(r.tables)]) FROM rule AS r WHERE r.rule = p_rule);
    v_oldest   json;
    v_samples  jsonb := '[]';
    v_keys     text[] := '{}';
    v_reasons  text[] := '{}';
    v_more     boolean := false;
    v_misfit   text := partition_misfit(p_rule);
    v_estimated boolean := (SELECT r.document ? 'estimated' FROM rule AS r WHERE r.rule = p_rule);
BEGIN
    IF v_misfit IS NOT NULL THEN
        RAISE EXCEPTION '%', v_misfit
            USING ERRCODE = '55000', HINT = 'docs/partitions.md says what a table of partitions needs.';
    END IF;
    EXECUTE format('SELECT (%s)::text', cutoff_call(p_rule, '$1', '$2')) INTO v_cutoff USING p_as_of, seconds(p_options ->> 'retention');
    LOOP
        SELECT n.* INTO v_next FROM next_partition(p_rule, v_after, v_cutoff) AS n;
        EXIT WHEN v_next.o_to IS NULL;
        IF v_families >= v_limit THEN
            v_more := true;
            EXIT;
        END IF;
        v_after := v_next.o_to;
        v_batches := v_batches + 1;
        -- The oldest row is in the first of them, which is read for it.
        SELECT j.* INTO v_judged FROM partition_judged(p_rule, v_next.o_ids, v_estimated AND v_families > 0, v_ended) AS j;
        IF v_judged.o_reason IS NOT NULL THEN
            v_keys := v_keys || v_judged.o_key;
            v_reasons := v_reasons || v_judged.o_reason;
            CONTINUE;
        END IF;
        v_families := v_families + 1;
        v_rows := ARRAY(SELECT a.old + a.new FROM unnest(v_rows, v_judged.o_rows) WITH ORDINALITY AS a(old, new, place) ORDER BY a.place);
        v_oldest := coalesce(v_oldest, v_judged.o_oldest);
        IF jsonb_array_length(v_samples) < 10 THEN
            v_samples := v_samples || to_jsonb(v_next.o_name);
        END IF;
    END LOOP;
    IF NOT v_more AND NOT p_options ? 'from' THEN
        SELECT l.* INTO v_left FROM partitions_left(p_rule, v_cutoff) AS l;
        v_keys := v_keys || v_left.o_skip_keys;
        v_reasons := v_reasons || v_left.o_skip_reasons;
    END IF;
    RETURN with_ahead(
        preview_document(p_rule, v_families, v_rows, v_oldest, v_samples, v_keys, v_reasons, NULL, v_limit, v_more, v_batches),
        p_rule, p_as_of
    );
END
$windrow$;
--# comment on function partition_preview
COMMENT ON FUNCTION partition_preview(text, jsonb, timestamptz) IS
    'What a run of a rule of partitions would drop and skip now, as one JSON document. Reads only; preview() calls it.';

-- due_partitions: what lists the ends of the families of partitions that are due by a rule, the oldest first, for a FROM: up to the
-- cutoff at an instant.
--# create function due_partitions
CREATE OR REPLACE FUNCTION due_partitions(p_rule text, p_from text, p_at text, p_limit text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN format(
        $due$(
            SELECT f.o_to::%1$s AS ended
            FROM partition_families(%2$L) AS f
            WHERE f.o_to::%1$s > %3$s AND f.o_to::%1$s <= %4$s
            ORDER BY f.o_to::%1$s
            LIMIT %5$s
        )$due$,
        time_type_of(p_rule), p_rule, p_from, cutoff_call(p_rule, p_at), p_limit
    );
END
$windrow$;
--# comment on function due_partitions
COMMENT ON FUNCTION due_partitions(text, text, text, text) IS
    'The call that lists what is due by a rule at p_at, from p_from on, whether or not it may go, at most p_limit; these are expressions.';
