-- Partitions that are detached and kept instead of being dropped (archive). They become tables of the archive schema, which nobody
-- but the owner role may use: `detaches` in the document of the spec. What they lose on the way there, and get again when they come
-- back, is noted in table partition_archive as statements.

-- archive_partition: detaches a partition and moves it into the archive. <rule>_drop_partitions() calls it, which has found it in the
-- catalog and has the locks; its entry in run_partition is there.
--# create function archive_partition
CREATE OR REPLACE FUNCTION archive_partition(p_run bigint, p_rule text, p_family text, p_id oid)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_schema  text := (SELECT s.document ->> 'detaches' FROM spec AS s);
    v_part    record;
    v_view    text;
    v_used    record;
    v_place   integer;
    v_archive text;
    v_undo    text[];
    v_text    text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_namespace AS n WHERE n.nspname = v_schema AND n.nspowner = current_user::regrole) THEN
        RAISE EXCEPTION 'the schema % for archived partitions is missing, or belongs to somebody else', v_schema
            USING ERRCODE = '55000', HINT = 'Run windrow install again.';
    END IF;
    SELECT
        p.o_table, n.nspname, c.relname, p.o_bound, p.o_from, p.o_to, c.relowner, pg_get_userbyid(c.relowner) AS owned_by, c.relacl,
        o.deleted_rows, o.counted, o.bytes, i.inhparent::regclass AS parent, format('%I.%I', n.nspname, c.relname) AS called
    INTO STRICT v_part
    FROM partitions_of(p_rule) AS p
    JOIN run_partition AS o ON o.run_id = p_run AND o.rule = p_rule AND o.name = p.o_name
    JOIN pg_class AS c ON c.oid = p.o_id
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_inherits AS i ON i.inhrelid = c.oid
    WHERE p.o_id = p_id;
    -- A view would go on to show the rows; a drop is an error, too.
    SELECT u.ev_class::regclass::text
    INTO v_view
    FROM pg_depend AS d
    JOIN pg_rewrite AS u ON u.oid = d.objid
    WHERE d.classid = 'pg_rewrite'::regclass
      AND d.refclassid = 'pg_class'::regclass
      AND d.refobjid = p_id
      AND u.ev_class <> p_id
    ORDER BY 1
    LIMIT 1;
    IF v_view IS NOT NULL THEN
        RAISE EXCEPTION 'cannot archive partition % because view % depends on it', v_part.called, v_view
            USING ERRCODE = '2BP01', HINT = 'Drop the view, or let it read the partitioned table.';
    END IF;
    -- Its sequences would go along, and nobody else could use them.
    SELECT q.objid::regclass AS sequence, a.attname, pg_describe_object(d.classid, d.objid, d.objsubid) AS dependent
    INTO v_used
    FROM pg_depend AS q
    JOIN pg_class AS c ON c.oid = q.objid AND c.relkind = 'S'
    JOIN pg_attribute AS a ON a.attrelid = p_id AND a.attnum = q.refobjsubid
    JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = q.objid AND d.deptype = 'n'
    WHERE q.classid = 'pg_class'::regclass
      AND q.refclassid = 'pg_class'::regclass
      AND q.refobjid = p_id
      AND NOT EXISTS (
          SELECT FROM pg_attrdef AS f WHERE d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid AND f.adrelid = p_id
      )
    ORDER BY 1, 3
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'cannot archive partition % because % depends on its sequence: ALTER SEQUENCE % OWNED BY %.%', v_part.called,
            v_used.dependent, v_used.sequence, v_part.parent, quote_ident(v_used.attname)
            USING ERRCODE = '2BP01';
    END IF;
    v_place := (SELECT coalesce(max(p.place), 0) + 1 FROM partition_archive AS p WHERE p.run_id = p_run);
    v_archive := format('archived_%s_%s_%s', p_run, v_place, v_part.relname)::name;
    v_undo := ARRAY(
        SELECT format('ALTER INDEX %I.%I RENAME TO %I', v_part.nspname, format('archived_%s_%s_index_%s', p_run, v_place, x.number),
            x.relname)
        FROM (
            SELECT c.relname, row_number() OVER (ORDER BY c.oid) AS number
            FROM pg_index AS i
            JOIN pg_class AS c ON c.oid = i.indexrelid
            WHERE i.indrelid = p_id
        ) AS x
        ORDER BY x.number
    ) || ARRAY(
        SELECT g.statement FROM partition_grants(p_id, v_part.called, ARRAY[v_part.relowner]) AS g(statement)
    ) || ARRAY(
        -- Those of the table come again with it.
        SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', v_part.called, f.conname, pg_get_constraintdef(f.oid))
        FROM pg_constraint AS f
        WHERE f.conrelid = p_id
          AND f.contype = 'f'
          AND f.conparentid = 0
        ORDER BY f.conname
    );
    INSERT INTO partition_archive (
        run_id, place, rule, family, table_name, schema_name, name, bound, from_bound, to_bound, partition_rows, counted, bytes,
        archive_schema, archive, belonged_to, undo
    )
    VALUES (
        p_run, v_place, p_rule, p_family, v_part.o_table, v_part.nspname, v_part.relname, v_part.o_bound, v_part.o_from, v_part.o_to,
        v_part.deleted_rows, v_part.counted, v_part.bytes, v_schema, v_archive, v_part.owned_by, v_undo
    );
    EXECUTE format('ALTER TABLE %s DETACH PARTITION %s', v_part.parent, v_part.called);
    -- What is archived keeps no row of another table, and no deletion there reaches it.
    FOR v_text IN
        SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', v_part.called, f.conname)
        FROM pg_constraint AS f
        WHERE f.conrelid = p_id
          AND f.contype = 'f'
          AND f.conparentid = 0
        UNION ALL
        SELECT DISTINCT format('REVOKE ALL ON %s FROM %s CASCADE', v_part.called,
            CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END)
        FROM (
            SELECT v_part.relacl AS acl
            UNION ALL
            SELECT a.attacl FROM pg_attribute AS a WHERE a.attrelid = p_id AND NOT a.attisdropped
        ) AS r
        CROSS JOIN LATERAL aclexplode(r.acl) AS g
        WHERE g.grantee <> v_part.relowner
    LOOP
        EXECUTE v_text;
    END LOOP;
    EXECUTE format('ALTER TABLE %s SET SCHEMA %I', v_part.called, v_schema);
    EXECUTE format('ALTER TABLE %I.%I OWNER TO %I', v_schema, v_part.relname, current_user);
    EXECUTE format('ALTER TABLE %I.%I RENAME TO %I', v_schema, v_part.relname, v_archive);
    FOR v_text IN
        SELECT format('ALTER INDEX %I.%I RENAME TO %I', v_schema, c.relname,
            format('archived_%s_%s_index_%s', p_run, v_place, row_number() OVER (ORDER BY c.oid)))
        FROM pg_index AS i
        JOIN pg_class AS c ON c.oid = i.indexrelid
        WHERE i.indrelid = p_id
        ORDER BY c.oid
    LOOP
        EXECUTE v_text;
    END LOOP;
END
$windrow$;
--# comment on function archive_partition
COMMENT ON FUNCTION archive_partition(bigint, text, text, oid) IS
    'Detaches the partition p_id of p_rule and moves it into the archive schema, in the transaction of the batch that would drop it.';

-- archive_attach: makes an archived partition one of its table again. What takes long, the comparison of its rows with its bounds, is
-- done before anybody waits, for all partitions of a restoration (p_reads).
--# create function archive_attach
CREATE OR REPLACE FUNCTION archive_attach(p_run bigint, p_place integer, p_reads boolean)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '5s'
AS $windrow$
DECLARE
    v_part    partition_archive%ROWTYPE;
    v_table   text;
    v_column  text;
    v_old     text;
    v_new     text;
    v_owner   text;
    v_text    text;
    v_gone    text[] := '{}';
    v_state   text;
    v_message text;
    v_detail  text;
BEGIN
    SELECT * INTO STRICT v_part FROM partition_archive AS p WHERE p.run_id = p_run AND p.place = p_place FOR UPDATE;
    SELECT format('%I.%I', s.schema_name, v_part.table_name), r.time_name
    INTO v_table, v_column
    FROM rule AS r
    CROSS JOIN spec AS s
    WHERE r.rule = v_part.rule
      AND r.strategy = 'partition'
      AND v_part.table_name = ANY (r.tables);
    IF v_table IS NULL OR v_part.restored_at IS NOT NULL OR v_part.dropped_at IS NOT NULL THEN
        RAISE EXCEPTION 'nothing is restored: no rule % of the spec has partitions of %, or it has left the archive', v_part.rule,
            v_part.table_name
            USING ERRCODE = '55000', HINT = format('%I.%I can be attached by hand.', v_part.archive_schema, v_part.archive);
    END IF;
    v_old := format('%I.%I', v_part.archive_schema, v_part.archive);
    v_new := format('%I.%I', v_part.schema_name, v_part.name);
    IF to_regclass(v_old) IS NULL THEN
        RAISE EXCEPTION 'nothing is restored: the archived partition % is gone', v_old
            USING ERRCODE = '55000', HINT = 'Someone has changed the archive by hand.';
    END IF;
    BEGIN
        IF p_reads THEN
            EXECUTE format(
                'ALTER TABLE %s ADD CONSTRAINT windrow_bound CHECK (%I IS NOT NULL%s AND %2$I < %4$L)', v_old, v_column,
                CASE WHEN v_part.from_bound <> '-infinity' THEN format(' AND %I >= %L', v_column, v_part.from_bound) END, v_part.to_bound
            );
            RETURN;
        END IF;
        PERFORM set_config('lock_timeout', greatest(setting_of(v_part.rule, 'lock_timeout') / (2 + (
            SELECT count(*) FROM pg_constraint AS k WHERE k.conrelid = v_table::regclass AND k.contype = 'f'
        )), 1) || 'ms', true);
        EXECUTE format('ALTER TABLE %s SET SCHEMA %I', v_old, v_part.schema_name);
        EXECUTE format('ALTER TABLE %I.%I RENAME TO %I', v_part.schema_name, v_part.archive, v_part.name);
        -- Roles and tables that are gone since are nobody's loss: what was theirs is left out, and told.
        v_owner := coalesce(
            (SELECT r.rolname FROM pg_roles AS r WHERE r.rolname = v_part.belonged_to),
            (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = v_table::regclass)
        );
        IF v_owner <> v_part.belonged_to THEN
            v_gone := v_gone || format('ALTER TABLE %s OWNER TO %I', v_new, v_part.belonged_to);
        END IF;
        EXECUTE format('ALTER TABLE %s OWNER TO %I', v_new, v_owner);
        EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s %s', v_table, v_new, v_part.bound);
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT windrow_bound', v_new);
        FOREACH v_text IN ARRAY v_part.undo LOOP
            BEGIN
                EXECUTE v_text;
            EXCEPTION WHEN undefined_object OR undefined_table OR invalid_schema_name THEN
                IF v_text LIKE 'ALTER INDEX %' THEN
                    RAISE;
                END IF;
                v_gone := v_gone || v_text;
            END;
        END LOOP;
    EXCEPTION WHEN OTHERS OR assert_failure THEN
        GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_detail = PG_EXCEPTION_DETAIL;
        RAISE EXCEPTION 'nothing is restored: partition % of table %: %', v_part.name, v_part.table_name, concat_ws('. ', v_message,
            nullif(v_detail, ''))
            USING ERRCODE = v_state, HINT = CASE
                WHEN is_busy(v_state) THEN 'Others have the table: try again.'
                WHEN v_text IS NOT NULL THEN format('See to what is in the way, or leave the statement out: UPDATE %I.partition_archive '
                    'SET undo = array_remove(undo, %L) WHERE run_id = %s AND place = %s', current_schema(), v_text, p_run, p_place)
                WHEN v_state = '42501' THEN format('%I needs CREATE on the schema %I, and %I to be a member of it.',
                    coalesce(v_owner, v_part.belonged_to), v_part.schema_name, current_user)
                ELSE format('See to what is in the way, or change %s by hand until it fits.', v_old)
            END;
    END;
    UPDATE partition_archive AS p
    SET restored_at = clock_timestamp(),
        not_restored = v_gone
    WHERE p.run_id = p_run
      AND p.place = p_place;
END
$windrow$;
--# comment on function archive_attach
COMMENT ON FUNCTION archive_attach(bigint, integer, boolean) IS
    'Attaches an archived partition again, with its name, owner, rights and foreign keys but for those of roles and tables that are gone '
    '(not_restored), or (p_reads) compares its rows with its bounds before; raises what is in the way. restore_partitions() calls it.';

-- restore_partitions: attaches partitions again, in this order, after it has read all of them. They are due at once: the first row of
-- each of the root table is held, which keeps the partition and what goes with it.
--# create function restore_partitions
CREATE OR REPLACE FUNCTION restore_partitions(p_run bigint, p_places integer[], OUT o_holds bigint, OUT o_unheld bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_place integer;
    v_part  record;
    v_key   text;
    v_ids   oid[] := '{}';
    v_held  oid[] := '{}';
BEGIN
    o_holds := 0;
    FOREACH v_place IN ARRAY p_places LOOP
        PERFORM archive_attach(p_run, v_place, true);
    END LOOP;
    -- A batch that is in progress did not see the holds: it is waited for before anything of the application is locked.
    LOCK TABLE latch IN EXCLUSIVE MODE;
    FOREACH v_place IN ARRAY p_places LOOP
        PERFORM archive_attach(p_run, v_place, false);
        SELECT
            p.rule, p.table_name = r.root AS is_root, k.name AS key, format('%I.%I', p.schema_name, p.name)::regclass AS class
        INTO STRICT v_part
        FROM partition_archive AS p
        JOIN rule AS r ON r.rule = p.rule
        CROSS JOIN LATERAL key_of(p.rule) AS k
        WHERE p.run_id = p_run
          AND p.place = v_place;
        v_ids := v_ids || v_part.class::oid;
        CONTINUE WHEN NOT v_part.is_root;
        EXECUTE format('SELECT t.%1$I::text FROM %2$s AS t WHERE t.%1$I IS NOT NULL ORDER BY t.%1$I LIMIT 1', v_part.key, v_part.class)
        INTO v_key;
        CONTINUE WHEN v_key IS NULL;
        v_held := v_held || v_part.class::oid;
        INSERT INTO hold AS h (rule, key, reason)
        VALUES (v_part.rule, v_key, format('restored from the archive of run %s', p_run))
        ON CONFLICT (rule, key) DO UPDATE
        SET reason = concat_ws('; ', CASE WHEN h.until > clock_timestamp() THEN h.reason END, excluded.reason),
            until = NULL,
            placed_by = excluded.placed_by,
            placed_at = excluded.placed_at
        WHERE h.until IS NOT NULL;
        o_holds := o_holds + CASE WHEN FOUND THEN 1 ELSE 0 END;
    END LOOP;
    SELECT coalesce(sum(a.partition_rows), 0)
    INTO o_unheld
    FROM unnest(p_places, v_ids) AS w(place, id)
    JOIN partition_archive AS a ON a.run_id = p_run AND a.place = w.place
    WHERE NOT EXISTS (SELECT FROM partition_families(a.rule) AS f WHERE w.id = ANY (f.o_ids) AND f.o_ids && v_held);
END
$windrow$;
--# comment on function restore_partitions
COMMENT ON FUNCTION restore_partitions(bigint, integer[]) IS
    'Attaches archived partitions of run p_run again and holds them: how many holds were placed, and how many rows are in partitions that '
    'nothing holds. archive_restore() calls it.';

-- archived_watch: what verify() says of the partitions that a rule has archived: each must be where the ledger says. A table that the
-- ledger does not know is told of once, by the first rule that archives partitions.
--# create function archived_watch
CREATE OR REPLACE FUNCTION archived_watch(p_rule text)
RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
    WITH kept AS (
        SELECT
            p.partition_rows, format('%I.%I', p.archive_schema, p.archive) AS called,
            to_regclass(format('%I.%I', p.archive_schema, p.archive)) AS class, p.rule,
            -- A run prunes at its end, and most often there is one each day.
            p.archived_at < clock_timestamp() - make_interval(hours => 24 + 24 * nullif(d.days, 0)::integer) AS is_over
        FROM partition_archive AS p
        CROSS JOIN (
            SELECT setting_of(r.rule, 'archive_days') AS days FROM rule AS r WHERE r.document ? 'archive' ORDER BY r.position LIMIT 1
        ) AS d
        WHERE num_nulls(p.restored_at, p.dropped_at) = 2
    ),
    found AS (
        SELECT
            p_rule AS object, 'ok' AS severity, count(*) AS number,
            format('archived partitions with %s rows, each where the ledger says', coalesce(sum(k.partition_rows), 0)) AS detail
        FROM kept AS k
        WHERE k.rule = p_rule
        HAVING count(*) = count(k.class)
        UNION ALL
        SELECT
            k.called, 'violation', k.partition_rows,
            'rows of an archived partition that is missing: get the table from a backup, or note dropped_at in partition_archive'
        FROM kept AS k
        WHERE k.rule = p_rule
          AND k.class IS NULL
        UNION ALL
        SELECT
            min(k.called), 'notice', sum(k.partition_rows),
            format('rows of %s archived partitions that are older than archive_days and not pruned: if a run has ended since, see what '
                'reads the first, or is a view of it', count(*))
        FROM kept AS k
        WHERE k.rule = p_rule
          AND k.is_over
          AND k.class IS NOT NULL
        HAVING count(*) > 0
        UNION ALL
        SELECT
            c.oid::regclass::text, 'violation', 1, 'a table among the archived partitions that the ledger does not know: drop or move it'
        FROM pg_class AS c
        JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = (SELECT s.document ->> 'detaches' FROM spec AS s)
          AND c.relkind IN ('r', 'p')
          AND p_rule = (
              SELECT r.rule FROM rule AS r WHERE r.strategy = 'partition' AND r.document ? 'archive' ORDER BY r.position LIMIT 1
          )
          AND NOT EXISTS (SELECT FROM kept AS k WHERE k.class = c.oid)
    )
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'position', 14, 'check_name', 'archived', 'object', f.object, 'severity', f.severity, 'count', f.number, 'detail', f.detail
    )), '[]')
    FROM found AS f
$windrow$;
--# comment on function archived_watch
COMMENT ON FUNCTION archived_watch(text) IS
    'Whether the partitions that p_rule has archived are there, and no other tables beside them, as checks of verify(). Reads only.';
