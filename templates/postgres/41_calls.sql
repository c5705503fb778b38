{% import "macros.sql" as w -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- lock_tables: what a batch does first, by take_tables().
--# create function {{ control }}.lock_tables
CREATE OR REPLACE FUNCTION {{ control }}.lock_tables()
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    LOCK TABLE
{%- for table in going_tables %}
        {{ table }}{% if not loop.last %},{% endif %}
{%- endfor %}
    IN ROW EXCLUSIVE MODE;
END
$windrow$;
--# comment on function {{ control }}.lock_tables
COMMENT ON FUNCTION {{ control }}.lock_tables() IS
    'Locks the tables whose rows go in ROW EXCLUSIVE MODE until the transaction ends. [body @body@]';

-- run: loops and commits, nothing else. What it may do, the definer functions that it calls may do.
--# create procedure {{ control }}.run
CREATE OR REPLACE PROCEDURE {{ control }}.run(p_options jsonb DEFAULT '{}', INOUT p_result json DEFAULT NULL)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_rule    pg_catalog.text;
    v_run     bigint;
    v_refused pg_catalog.text;
    v_state   pg_catalog.text;
    v_rest    double precision;
    v_reasons pg_catalog.text[] := '{}';
{%- if workers > 1 %}
    v_last    bigint;
{%- endif %}
BEGIN
    -- An old snapshot would not see a hold, nor a child that came while a batch waited for locks.
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    PERFORM {{ control }}.check_caller(current_user, false);
    SELECT b.o_run, b.o_refused INTO v_run, v_refused FROM {{ control }}.run_begin(p_options) AS b;
    IF v_run IS NULL THEN
        p_result := pg_catalog.json_build_object('run', NULL, 'status', 'refused', 'reason', v_refused);
        RAISE NOTICE 'no run: %', v_refused;
        RETURN;
    END IF;
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    FOREACH v_rule IN ARRAY ARRAY[{{ rule_literals }}] LOOP
        v_state := NULL;
        IF p_options OPERATOR(pg_catalog.->>) 'rule' IS NULL OR p_options OPERATOR(pg_catalog.->>) 'rule' OPERATOR(pg_catalog.=) v_rule THEN
            v_rest := 0;
            LOOP
                BEGIN
                    IF v_rest OPERATOR(pg_catalog.>) 0 THEN
                        -- A transaction that does nothing else: no lock is held, and no snapshot for long.
                        PERFORM pg_catalog.pg_sleep(v_rest);
                        v_rest := 0;
                        v_state := 'again';
                    ELSE
                        SELECT p.o_rest, p.o_state INTO v_rest, v_state FROM {{ control }}.pace(v_run, v_rule) AS p;
                        v_state := CASE
                            WHEN v_state IS NOT NULL THEN v_state
                            WHEN v_rest OPERATOR(pg_catalog.>) 0 THEN 'again'
                            ELSE {{ control }}.step(v_run, v_rule)
                        END;
                        PERFORM {{ control }}.check_caller(current_user, false);
                    END IF;
                EXCEPTION
                    WHEN query_canceled THEN
                        v_state := 'cancelled';
                    WHEN OTHERS THEN
                        v_state := pg_catalog.format('error %s: %s', SQLSTATE, SQLERRM);
                END;
                COMMIT;
                SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
                EXIT WHEN v_state OPERATOR(pg_catalog.<>) ALL (ARRAY['more', 'again']);
            END LOOP;
{%- if workers > 1 %}
            PERFORM {{ control }}.sweep_leave(v_run, v_rule, v_state);
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
{%- endif %}
        END IF;
        v_reasons := pg_catalog.array_append(v_reasons, v_state);
        EXIT WHEN v_state OPERATOR(pg_catalog.=) ANY (ARRAY['cancelled', 'paused', 'time budget spent', 'window closed']);
    END LOOP;
    {{ w::close(call=control ~ ".run_end(v_run, v_reasons)", state="v_state", cancelled="cancelled", again=control ~ ".run_end(v_run, pg_catalog.array_append(pg_catalog.array_replace(v_reasons, 'nothing left', v_state), v_state))") | indent }}
    COMMIT;
{%- if workers > 1 %}
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    -- The last one of a sweep does what is to be done once.
    v_last := {{ control }}.sweep_end(v_run);
{%- if archives %}
    IF v_last IS NOT NULL THEN
        CALL {{ control }}.archive_prune(v_run);
        p_result := {{ control }}.run_result(v_run);
    END IF;
{%- endif %}
    IF (v_state OPERATOR(pg_catalog.=) 'cancelled') IS NOT TRUE AND v_last IS NOT NULL THEN
        PERFORM {{ control }}.count_backlog(v_last);
    END IF;
    COMMIT;
{%- else %}
{%- if archives %}
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    CALL {{ control }}.archive_prune(v_run);
    p_result := {{ control }}.run_result(v_run);
{%- endif %}
    IF (v_state OPERATOR(pg_catalog.=) 'cancelled') IS NOT TRUE THEN
        PERFORM {{ control }}.count_backlog(v_run);
        COMMIT;
    END IF;
{%- endif %}
    PERFORM {{ control }}.run_unlock();
    IF v_state OPERATOR(pg_catalog.=) 'cancelled' THEN
        RAISE EXCEPTION 'run % was cancelled; what it committed stays', v_run USING ERRCODE = '57014';
    END IF;
END
$windrow$;
--# comment on procedure {{ control }}.run
COMMENT ON PROCEDURE {{ control }}.run(jsonb, json) IS
    'One run of all rules in order, in batches that commit. Options: rule, dry_run, scope, retention, as_of, run_families, time_budget, trigger{% if workers > 1 %}, worker (1 to {{ workers }}; each has a run at a time, and they share the families out){% endif %}. Examples: CALL {{ control }}.run(); CALL {{ control }}.run(''{"dry_run": true}''); [body @body@]';

-- check_key: a key is a value of the key column of the rule's root table.
--# create function {{ control }}.check_key
CREATE OR REPLACE FUNCTION {{ control }}.check_key(p_rule text, p_key text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_valid boolean;
BEGIN
{%- for rule in rules %}
    IF p_rule = {{ rule.literal }} THEN
        BEGIN
{%- if rule.single and rule.single.composite %}
            -- A key of several columns is a JSON array, written as the server writes it.
            v_valid := {{ rule.single.is_key }};
        EXCEPTION WHEN data_exception THEN
            v_valid := false;
        END;
        IF v_valid IS NOT TRUE THEN
            RAISE EXCEPTION 'not a key of %: %', {{ rule.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a JSON array with the values of {{ rule.single.key_form }}.';
        END IF;
{%- else %}
            -- A number that looks like a key may still be beyond the range of the column.
            v_valid := (p_key ~ {{ rule.key_pattern }}) AND p_key::{{ rule.key_type }} IS NOT NULL;
        EXCEPTION WHEN data_exception THEN
            v_valid := false;
        END;
        IF v_valid IS NOT TRUE THEN
            RAISE EXCEPTION 'not a key of %: %', {{ rule.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a value of {{ rule.table_name }}.{{ rule.key_name }}.';
        END IF;
{%- endif %}
    END IF;
{%- endfor %}
{%- for stamp in stamped %}{% if stamp.of %}
    IF p_rule = {{ stamp.whole_name }} THEN
        BEGIN
            v_valid := (p_key ~ {{ stamp.key_pattern }}) AND p_key::{{ stamp.key_type }} IS NOT NULL;
        EXCEPTION WHEN data_exception THEN
            v_valid := false;
        END;
        IF v_valid IS NOT TRUE THEN
            RAISE EXCEPTION 'not a key of %: %', {{ stamp.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a value of {{ stamp.table_name }}.{{ stamp.key_name }}.';
        END IF;
    END IF;
{%- endif %}{% endfor %}
END
$windrow$;
--# comment on function {{ control }}.check_key
COMMENT ON FUNCTION {{ control }}.check_key(text, text) IS
    'Raises 22023 for what cannot be a key of the root table of the rule. [body @body@]';

-- purge: named families, now.
--# create procedure {{ control }}.purge
CREATE OR REPLACE PROCEDURE {{ control }}.purge(p_options jsonb, INOUT p_result json DEFAULT NULL)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_run     bigint;
    v_rule    pg_catalog.text;
    v_key     pg_catalog.text;
    v_reason  pg_catalog.text;
    v_keys    pg_catalog.text[] := '{}';
    v_reasons pg_catalog.text[] := '{}';
BEGIN
    -- Whatever the session prefers: what is locked, linked and held must be read as it is committed now.
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    PERFORM {{ control }}.check_caller(current_user, false);
    v_run := {{ control }}.purge_begin(p_options);
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    v_rule := {{ control }}.check_rule(p_options);
    -- No cursor stays open over a COMMIT.
    FOREACH v_key IN ARRAY ARRAY(SELECT DISTINCT k.key FROM pg_catalog.jsonb_array_elements_text(p_options OPERATOR(pg_catalog.->) 'key') AS k(key) ORDER BY k.key) LOOP
        BEGIN
            v_reason := {{ control }}.purge_one(v_run, v_rule, v_key);
            PERFORM {{ control }}.check_caller(current_user, false);
        EXCEPTION
            WHEN query_canceled THEN
                v_reason := 'CANCELLED';
        END;
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        IF v_reason IS NOT NULL THEN
            v_keys := pg_catalog.array_append(v_keys, v_key);
            v_reasons := pg_catalog.array_append(v_reasons, v_reason);
        END IF;
        EXIT WHEN v_reason OPERATOR(pg_catalog.=) ANY (ARRAY['CANCELLED', 'PAUSED']);
    END LOOP;
    {{ w::close(call=control ~ ".purge_end(v_run, v_keys, v_reasons)", state="v_reason", cancelled="CANCELLED", again=control ~ ".purge_end(v_run, pg_catalog.array_append(v_keys, v_key), pg_catalog.array_append(v_reasons, v_reason))") | indent }}
    COMMIT;
    PERFORM {{ control }}.run_unlock();
    IF v_reason OPERATOR(pg_catalog.=) 'CANCELLED' THEN
        RAISE EXCEPTION 'run % was cancelled; what it committed stays', v_run USING ERRCODE = '57014';
    END IF;
END
$windrow$;
--# comment on procedure {{ control }}.purge
COMMENT ON PROCEDURE {{ control }}.purge(jsonb, json) IS
    'Deletes the named families now, through the same engine as a run: still final, unheld, linked to nothing that stays; the retention does not matter. Example: CALL {{ control }}.purge(''{"key": [17]}''); [body @body@]';

-- orphans: rows whose parent is not there, by edge. Reads whole tables.
--# create function {{ control }}.orphans
CREATE OR REPLACE FUNCTION {{ control }}.orphans()
RETURNS TABLE (edge text, orphans bigint)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
{%- for edge in edges %}
    SELECT {{ edge.literal }}, count(*)
    FROM {{ edge.table }} AS c
    WHERE {{ edge.present }}
{%- if edge.none %}
      AND c.{{ edge.column }} <> {{ edge.none }}
{%- endif %}
      AND NOT EXISTS (SELECT FROM {{ edge.parent }} AS p WHERE {{ edge.same }})
{%- if not loop.last %}
    UNION ALL{% else %};{% endif %}
{%- endfor %}
{%- if not edges %}
    SELECT NULL::text, 0::bigint WHERE false;
{%- endif %}
$windrow$;
--# comment on function {{ control }}.orphans
COMMENT ON FUNCTION {{ control }}.orphans() IS
    'Rows whose parent is not there, by edge. Reads whole tables. [body @body@]';

-- row_of_key: the row that a hold names. The type of the column reads the key, so that each of its spellings finds the row.
--# create function {{ control }}.row_of_key
CREATE OR REPLACE FUNCTION {{ control }}.row_of_key(p_rule text, p_key text, OUT o_key text, OUT o_found boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
SET timezone = 'UTC'
AS $windrow$
DECLARE
{%- for rule in rules %}
{%- for part in rule.held.parts %}
    {{ part.variable }} {{ part.kind }};
{%- endfor %}
{%- endfor %}
BEGIN
{%- for rule in rules %}
    IF p_rule = {{ rule.literal }} THEN
        BEGIN
{%- for part in rule.held.parts %}
            {{ part.variable }} := {{ part.value }};
{%- endfor %}
{%- if rule.held.composite %}
            IF jsonb_array_length(p_key::jsonb) <> {{ rule.held.parts | length }} THEN
                {{ rule.held.parts.0.variable }} := NULL;
            END IF;
{%- endif %}
        EXCEPTION WHEN data_exception OR check_violation OR not_null_violation THEN
            {{ rule.held.parts.0.variable }} := NULL;
        END;
        IF num_nulls({% for part in rule.held.parts %}{{ part.variable }}{% if not loop.last %}, {% endif %}{% endfor %}) > 0 THEN
            RAISE EXCEPTION 'not a key of %: %', {{ rule.table_literal }}, quote_nullable(p_key)
                USING ERRCODE = '22023', HINT = 'A key is a {% if rule.held.composite %}JSON array with values{% else %}value{% endif %} of {{ rule.held.form }}.';
        END IF;
        SELECT {{ rule.held.key }}, {% if rule.by_end %}{{ rule.is_root }}{% else %}true{% endif %}
        INTO o_key, o_found
        FROM {{ rule.table }} AS i
        WHERE {{ rule.held.matches }};
        o_key := coalesce(o_key, {{ rule.held.key_as_read }});
{%- if rule.by_end and rule.links and rule.candidates %}
        -- Or it belongs to the family of one that is.
        IF NOT o_found THEN
            WITH RECURSIVE up AS (
                SELECT {{ rule.held.parts.0.variable }}::{{ rule.id_type }} AS id
                UNION
                SELECT l.parent
                FROM up
                CROSS JOIN LATERAL (
{%- for link in rule.links %}
                    SELECT n.{{ link.parent }}::{{ rule.id_type }} AS parent FROM {{ link.table }} AS n WHERE n.{{ link.child }} = up.id AND n.{{ link.parent }} IS NOT NULL{% if not loop.last %}
                    UNION ALL{% endif %}
{%- endfor %}
                ) AS l
            )
            SELECT EXISTS (SELECT FROM up JOIN {{ rule.table }} AS i ON i.{{ rule.key }} = up.id WHERE {{ rule.is_root }}) INTO o_found;
        END IF;
{%- endif %}
{%- if rule.timed %}{% for other in rule.timed.others %}
        -- Or it is one of {{ other.table_name }}.
        IF o_found IS NOT TRUE THEN
            SELECT coalesce(max(r.{{ other.key }}::text), o_key), count(*) > 0
            INTO o_key, o_found
            FROM {{ other.table }} AS r
            WHERE r.{{ other.key }} = {{ rule.held.parts.0.variable }}
{%- for condition in other.conditions %}
              AND {{ condition }}
{%- endfor %};
        END IF;
{%- endfor %}{% endif %}
    END IF;
{%- endfor %}
    o_found := coalesce(o_found, false);
END
$windrow$;
--# comment on function {{ control }}.row_of_key
COMMENT ON FUNCTION {{ control }}.row_of_key(text, text) IS
    'The key of the row that p_key names, as the server writes it, and whether the rule could ever delete it; raises 22023 for what the column cannot hold. Reads only. [body @body@]';

-- named_artifacts: which files of the outbox something still names.
--# create function {{ control }}.named_artifacts
CREATE OR REPLACE FUNCTION {{ control }}.named_artifacts(p_artifacts jsonb)
RETURNS TABLE (artifact_id bigint, named_by text)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET row_security = off
AS $windrow$
{%- for file in files %}
    SELECT a.artifact_id, {{ file.table_literal }}
    FROM {{ control }}.artifact AS a
    WHERE a.artifact_id IN (SELECT k.artifact_id::bigint FROM jsonb_array_elements_text(p_artifacts) AS k(artifact_id))
      AND EXISTS (SELECT FROM {{ file.table }} AS t WHERE t.{{ file.path }} = a.path){% if loop.last %};{% else %}
    UNION ALL{% endif %}
{%- else %}
    -- No rule of the spec names files.
    SELECT NULL::bigint, NULL::text WHERE false;
{%- endfor %}
$windrow$;
--# comment on function {{ control }}.named_artifacts
COMMENT ON FUNCTION {{ control }}.named_artifacts(jsonb) IS
    'Which files of a JSON array of numbers a row that is there still names, whatever its host, and in which table: they must stay. Asked before a file is removed. Without an index on the path, it reads that table from end to end. [body @body@]';

-- verify: is everything as it should be?
--# create function {{ control }}.verify
CREATE OR REPLACE FUNCTION {{ control }}.verify(p_options jsonb DEFAULT '{}')
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $windrow$
DECLARE
    v_preview json;
    v_error   text;
    v_starts  boolean;
    v_checks  json;
    v_clean   boolean;
BEGIN
    PERFORM {{ control }}.check_options(p_options, '{}');
    -- A routine that was dropped or broken by hand is a finding, not the end of the report.
    BEGIN
        v_preview := {{ control }}.preview() -> 'rules';
    EXCEPTION WHEN OTHERS THEN
        v_error := SQLERRM;
    END;
    -- Whether a start of the next days falls in a window. Days of the month count as any.
    v_starts := EXISTS (
        SELECT
        FROM generate_series(date_trunc('minute', clock_timestamp()), clock_timestamp() + interval '8 days', interval '1 minute') AS m(minute)
        CROSS JOIN LATERAL (SELECT m.minute AT TIME ZONE 'UTC' AS at) AS s
        WHERE {{ control }}.in_window(m.minute)
{%- if not starts_always %}
          AND (
{%- for job in jobs %}
              {% if not loop.first %}OR {% endif %}{{ job.starts | join(sep=" AND ") }}
{%- endfor %}
          )
{%- endif %}
    );
    WITH
    skipped AS (
        SELECT r.value ->> 'rule' AS rule, (r.value ->> 'families')::bigint AS due, r.value -> 'skipped' AS reasons
        FROM json_array_elements(v_preview) AS r
    ),
    routine (name) AS (
        VALUES
{%- for routine in routines %}
            ({{ routine }}){% if not loop.last %},{% endif %}
{%- endfor %}
    ),
    needed (table_name, index_name) AS (
{%- if indexes %}
        VALUES
{%- for index in indexes %}
            ({{ index.table_literal }}, {{ index.literal }}){% if not loop.last %},{% endif %}
{%- endfor %}
{%- else %}
        SELECT NULL::text, NULL::text WHERE false
{%- endif %}
    ),
    checks (position, check_name, object, severity, count, detail) AS (
        SELECT
            1, 'orphans', o.edge,
            CASE WHEN o.orphans = 0 THEN 'ok' WHEN o.orphans <= coalesce((c.orphans_at_arm ->> o.edge)::bigint, 0) THEN 'notice' ELSE 'violation' END,
            o.orphans,
            CASE
                WHEN o.orphans = 0 THEN 'every row has its parent'
                WHEN c.orphans_at_arm IS NULL THEN 'rows without a parent; arm() notes those that were there before'
                ELSE format('rows without a parent; %s were there when windrow was armed', coalesce(c.orphans_at_arm ->> o.edge, '0'))
            END
        FROM {{ control }}.orphans() AS o
        CROSS JOIN {{ control }}.control AS c
{%- for rule in rules %}{% if rule.timed %}
        UNION ALL
        SELECT
            1, 'removal_time', format('%s %s', {{ rule.literal }}, o.table_name),
            CASE WHEN o.apart + o.undated = 0 THEN 'ok' ELSE 'notice' END,
            o.apart + o.undated,
            format('%s rows have another {{ rule.end_time_name }} than their family and go without it; %s have none and stay', o.apart, o.undated)
        FROM {{ control }}.{{ rule.name }}_strays() AS o
{%- elif rule.single and rule.single.keep_last %}
        UNION ALL
        SELECT
            1, 'unranked', {{ rule.literal }}, CASE WHEN o.rows = 0 THEN 'ok' ELSE 'notice' END, o.rows,
            'rows without a group or without a place in it; they stay'
        FROM {{ control }}.{{ rule.name }}_unranked() AS o(rows)
{%- endif %}{% endfor %}
        UNION ALL
        SELECT 2, 'preview', c.spec, 'violation', 1, format('preview() fails: %s', v_error)
        FROM {{ control }}.control AS c
        WHERE v_error IS NOT NULL
        UNION ALL
        SELECT 2, 'due', s.rule, CASE WHEN s.due = 0 THEN 'ok' ELSE 'notice' END, s.due, 'families that a run would delete now'
        FROM skipped AS s
        UNION ALL
        SELECT 3, 'undeletable', s.rule || ' ' || k.key, 'notice', k.value::bigint, 'families whose root is due but that stay'
        FROM skipped AS s
        CROSS JOIN LATERAL json_each_text(s.reasons) AS k
        UNION ALL
        SELECT
            4, 'routine', r.name,
            CASE WHEN p.known THEN 'ok' ELSE 'violation' END,
            1,
            CASE
                WHEN p.known IS NULL THEN 'missing; run windrow install'
                WHEN p.known THEN 'as generated'
                ELSE 'edited by hand; windrow install puts it back'
            END
        FROM routine AS r
        -- The hash is of the body and of how it is called: its rights, its settings, whether it changes anything.
        LEFT JOIN LATERAL (
            SELECT bool_or(coalesce(d.description LIKE concat('%[body ', left(encode(sha256(convert_to(concat(h.head, E'\n', p.prosrc), 'UTF8')), 'hex'), 12), ']'), false)) AS known
            FROM pg_proc AS p
            LEFT JOIN pg_description AS d ON d.objoid = p.oid AND d.classoid = 'pg_proc'::regclass AND d.objsubid = 0
            CROSS JOIN LATERAL (SELECT concat_ws(
                ' ',
                CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END,
                CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
                CASE WHEN p.proisstrict THEN 'strict' END,
                CASE WHEN p.prosecdef THEN 'definer' ELSE 'invoker' END,
                (
                    SELECT string_agg(t.told, ' ' ORDER BY t.told COLLATE "C")
                    FROM unnest(p.proconfig) AS s(setting)
                    CROSS JOIN LATERAL (SELECT CASE s.setting
                        WHEN 'search_path={{ control }}, pg_catalog, pg_temp' THEN 'search_path from current'
                        ELSE lower(s.setting)
                    END) AS t(told)
                )
            )) AS h(head)
            WHERE p.pronamespace = {{ control_literal }}::regnamespace
              AND p.proname = r.name
        ) AS p ON true
        UNION ALL
        -- What somebody else has made in the schema, or may do to what is in it.
        SELECT 4, 'claim', c.object, 'violation', 1, format('%s; %s', c.problem, c.remedy)
        FROM (
            {{ claims_now | indent(prefix="            ") }}
        ) AS c
        UNION ALL
        SELECT 4, 'claim', format('role %I', r.rolname), 'notice', 1, format('is granted to %I, who owns another database of the server with windrow, and may act as the owner in this one, too', m.rolname)
        FROM pg_auth_members AS a
        JOIN pg_roles AS r ON r.oid = a.roleid
        JOIN pg_roles AS m ON m.oid = a.member
        WHERE r.rolname = {{ owner_literal }}
          AND NOT m.rolsuper
          AND m.oid <> (SELECT d.datdba FROM pg_database AS d WHERE d.datname = current_database())
          AND EXISTS (
              SELECT FROM pg_database AS b
              JOIN pg_shdepend AS e ON e.dbid = b.oid AND e.refclassid = 'pg_authid'::regclass AND e.refobjid = r.oid
              WHERE b.datdba = m.oid
                AND b.datname <> current_database()
          )
        UNION ALL
        SELECT 4, 'rights', c.object, 'violation', 1, format('%s; %s', c.problem, c.remedy)
        FROM (
            {{ rights | indent(prefix="            ") }}
        ) AS c
        UNION ALL
        SELECT
            5, 'index', n.index_name,
            CASE WHEN i.indisvalid AND i.indisready THEN 'ok' ELSE 'violation' END,
            1,
            CASE
                WHEN i.indexrelid IS NULL THEN format('missing on %s; run windrow install', n.table_name)
                WHEN NOT (i.indisvalid AND i.indisready) THEN 'invalid, an earlier build failed; run windrow install'
                ELSE 'valid'
            END
        FROM needed AS n
        LEFT JOIN pg_class AS x ON x.relname = n.index_name AND x.relnamespace = {{ schema_literal }}::regnamespace
        LEFT JOIN pg_index AS i ON i.indexrelid = x.oid
{%- if guards %}
        UNION ALL
        SELECT
            5, 'trigger', n.table_name,
            CASE WHEN t.known AND t.tgenabled IN ('O', 'A') THEN 'ok' ELSE 'violation' END,
            1,
            CASE
                WHEN t.known IS NULL THEN 'missing; run windrow install'
                WHEN NOT t.known THEN 'edited by hand; windrow install puts it back'
                WHEN t.tgenabled IN ('O', 'A') THEN 'refuses rows whose parent is gone'
                ELSE 'disabled: ALTER TABLE ... ENABLE TRIGGER'
            END
        FROM (
            VALUES
{%- for guard in guards %}
                ({{ guard.table_class }}, {{ guard.trigger_name }}, {{ guard.function_literal }}, {{ guard.columns_literal }}){% if not loop.last %},{% endif %}
{%- endfor %}
        ) AS n(table_name, trigger_name, function_name, columns)
        LEFT JOIN LATERAL (
            -- After INSERT or UPDATE, for each row, whatever is in it.
            SELECT
                g.tgenabled,
                p.pronamespace = {{ control_literal }}::regnamespace AND p.proname = n.function_name AND g.tgtype = 21 AND g.tgqual IS NULL
                    AND n.columns = (
                        SELECT string_agg('"' || replace(a.attname, '"', '""') || '"', ', ' ORDER BY k.place)
                        FROM unnest(g.tgattr) WITH ORDINALITY AS k(number, place)
                        JOIN pg_attribute AS a ON a.attrelid = g.tgrelid AND a.attnum = k.number
                    ) AS known
            FROM pg_trigger AS g
            JOIN pg_proc AS p ON p.oid = g.tgfoid
            WHERE g.tgrelid = to_regclass(n.table_name)
              AND g.tgname = n.trigger_name
        ) AS t ON true
{%- endif %}
        UNION ALL
        SELECT
            5, 'reference', s.object, 'violation', 1,
            format('%s: %s', s.detail, CASE WHEN s.acts THEN 'its rows would go or change with it; runs refuse' ELSE 'no family that it names can go' END)
        FROM {{ control }}.strangers() AS s
        UNION ALL
        SELECT 5, 'catalog', c.spec, 'violation', 1, {{ control }}.unaccounted() || '; runs refuse'
        FROM {{ control }}.control AS c
        WHERE starts_with({{ control }}.unaccounted(), 'catalog changed')
        UNION ALL
        SELECT 6, 'policy', p.rule || ' ' || p.scope, 'violation', 1, format('its retention of %s s is under the minimum of %s s', p.retention_seconds, m.minimum)
        FROM {{ control }}.policy AS p
        JOIN (
            VALUES
{%- for rule in rules %}
                ({{ rule.literal }}, {{ rule.minimum }}::bigint){% if not loop.last %},{% endif %}
{%- endfor %}
        ) AS m(rule, minimum) ON m.rule = p.rule AND p.retention_seconds < m.minimum
        UNION ALL
        SELECT 7, 'ledger', format('run %s %s', r.run_id, r.rule), 'violation', r.deleted_rows, format('its tables sum up to %s rows', s.deleted_rows)
        FROM {{ control }}.run_rule AS r
        CROSS JOIN LATERAL (SELECT sum(t.deleted_rows) AS deleted_rows FROM {{ control }}.run_table AS t WHERE t.run_id = r.run_id AND t.rule = r.rule) AS s
        WHERE s.deleted_rows <> r.deleted_rows
        UNION ALL
        SELECT 8, 'run', 'run ' || r.run_id, 'notice', 1, format('%s: %s', r.status, r.reason)
        FROM {{ control }}.run AS r
        WHERE r.run_id = (SELECT max(l.run_id) FROM {{ control }}.run AS l)
          AND r.status NOT IN ('done', 'running')
        UNION ALL
        SELECT 9, 'armed', c.spec, CASE WHEN c.armed AND c.server_identity = {{ control }}.server_identity() THEN 'ok' ELSE 'notice' END, 1,
            CASE
                WHEN NOT c.armed THEN 'not armed: runs refuse'
                WHEN c.server_identity IS DISTINCT FROM {{ control }}.server_identity() THEN 'armed on another server: runs refuse'
                ELSE format('armed by %s', c.armed_by)
            END
        FROM {{ control }}.control AS c
        UNION ALL
        SELECT 10, 'paused', c.spec, 'notice', 1, {{ control }}.why_paused(c.paused_by, c.paused_at, c.paused_reason)
        FROM {{ control }}.control AS c
        WHERE c.paused
        UNION ALL
        SELECT 10, 'paused', p.rule, 'notice', 1, {{ control }}.rule_paused(p.rule)
        FROM {{ control }}.rule_pause AS p
        UNION ALL
        SELECT 10, 'refused', f.server, 'notice', 1, format('no scheduled run since %s: %s', to_char(f.since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), f.reason)
        FROM {{ control }}.refusal AS f
        UNION ALL
{%- if archives %}
        SELECT
            14, 'archive', a.rule,
            CASE WHEN a.misfit IS NULL THEN 'ok' ELSE 'violation' END,
            1,
            coalesce(a.misfit || '; runs refuse: run windrow install', 'it fits the tables')
        FROM (
            SELECT r.rule, {{ control }}.archive_misfit(r.rule) AS misfit
            FROM unnest(ARRAY[{{ archiving_literals }}]) AS r(rule)
        ) AS a
        UNION ALL
{%- endif %}
        SELECT 10, 'suspended', c.spec, 'violation', s.failed_runs, format('no scheduled run starts after so many failed ones, until one by hand succeeds or arm(); the last one: %s', s.last_error)
        FROM {{ control }}.scheduling AS s
        CROSS JOIN {{ control }}.control AS c
        WHERE s.suspended
        UNION ALL
        SELECT 13, 'windows', string_agg(h.written, ', ' ORDER BY h.position), CASE WHEN bool_and(h.days = '') THEN 'notice' WHEN v_starts THEN 'ok' ELSE 'violation' END, 1,
            CASE
                WHEN bool_and(h.days = '') THEN 'no scheduled run will ever start'
                WHEN NOT v_starts THEN 'no start of the schedule ({{ schedule }}, in UTC) falls in one: no scheduled run will ever start'
                WHEN {{ control }}.in_window(clock_timestamp()) THEN 'open now'
                ELSE 'closed now'
            END
        FROM {{ control }}.open_hours AS h
    )
    SELECT
        json_agg(json_build_object('check', k.check_name, 'object', k.object, 'severity', k.severity, 'count', k.count, 'detail', k.detail) ORDER BY k.position, k.object),
        bool_and(k.severity <> 'violation')
    INTO v_checks, v_clean
    FROM checks AS k;
    RETURN json_build_object('clean', v_clean, 'checks', v_checks);
END
$windrow$;
--# comment on function {{ control }}.verify
COMMENT ON FUNCTION {{ control }}.verify(jsonb) IS
    'Orphans, what is due and why it stays, drift of routines, indexes, policies under the minimum, ledger arithmetic, as one JSON document. Reads whole tables. Example: SELECT {{ control }}.verify(); [body @body@]';
--# become who installs
RESET ROLE;
