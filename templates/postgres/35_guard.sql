{% import "macros.sql" as w -%}
--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';
--# become {{ owner }}
SET ROLE {{ owner }};

-- rule_pause: rules that runs pass over.
--# create table {{ control }}.rule_pause
CREATE TABLE IF NOT EXISTS {{ control }}.rule_pause (
    rule      text        NOT NULL PRIMARY KEY,
    reason    text,
    paused_by text        NOT NULL DEFAULT session_user,
    paused_at timestamptz NOT NULL DEFAULT now()
);
--# comment on table {{ control }}.rule_pause
COMMENT ON TABLE {{ control }}.rule_pause IS
    'Rules that runs pass over. Read again before every batch. Written by pause_rule() and resume_rule().';

-- refusal: why a server starts no scheduled run. A row changes when the reason does, not with every refusal.
--# create table {{ control }}.refusal
CREATE TABLE IF NOT EXISTS {{ control }}.refusal (
    server text        NOT NULL PRIMARY KEY,
    reason text        NOT NULL,
    since  timestamptz NOT NULL DEFAULT clock_timestamp()
);
--# comment on table {{ control }}.refusal
COMMENT ON TABLE {{ control }}.refusal IS
    'Why a server, by its server_identity(), refuses scheduled runs, and since when. Its row goes when such a run starts there.';

-- scheduling: what the latest runs mean for the next scheduled one; the ledger says it, and nothing else counts.
-- A run is broken that an error ended, or that crashed. One is empty that found nothing left and deleted nothing, for
-- another reason than locks. Both count in a row since somebody armed windrow; a run by hand that is not broken ends the row.
--# create view {{ control }}.scheduling
CREATE OR REPLACE VIEW {{ control }}.scheduling AS
WITH latest AS (
    SELECT
        r.run_id,
{%- if workers > 1 %}
        coalesce(w.sweep_id, r.run_id) AS sweep_id,
{%- endif %}
        r.reason,
        r.finished_at,
        coalesce(r.trigger = 'SCHEDULED' AND r.started_at > c.armed_at, false) AS is_counted,
        r.status = 'crashed' OR coalesce(r.reason LIKE 'error %', false) AS is_broken,
        coalesce(r.reason = 'nothing left', false)
            AND NOT EXISTS (SELECT FROM {{ control }}.run_rule AS p WHERE p.run_id {% if workers > 1 %}IN (SELECT r.run_id UNION SELECT o.run_id FROM {{ control }}.run_sweep AS o WHERE o.sweep_id = w.sweep_id){% else %}= r.run_id{% endif %} AND p.deleted_rows > 0)
            AND NOT EXISTS (SELECT FROM {{ control }}.run_skip AS k WHERE k.run_id = r.run_id AND k.reason = 'LOCKED') AS is_empty
    FROM {{ control }}.run AS r
    CROSS JOIN {{ control }}.control AS c
{%- if workers > 1 %}
    -- The runs of a sweep count as one.
    LEFT JOIN {{ control }}.run_sweep AS w ON w.run_id = r.run_id
{%- endif %}
    WHERE {{ w::is_run(stamps=stamps) }}
      AND NOT r.dry_run
      AND r.status NOT IN ('running', 'cancelled')
    ORDER BY r.run_id DESC
    LIMIT 101
),
failures AS (
    SELECT count({% if workers > 1 %}DISTINCT l.sweep_id{% else %}*{% endif %}) AS runs, max(l.run_id) AS last_run
    FROM latest AS l
    WHERE l.is_broken
      AND l.is_counted
      AND l.run_id > coalesce((SELECT max(o.run_id) FROM latest AS o WHERE NOT o.is_broken), 0)
),
idle AS (
    SELECT count({% if workers > 1 %}DISTINCT l.sweep_id{% else %}*{% endif %}) AS runs, max(l.finished_at) AS ended
    FROM latest AS l
    WHERE l.is_empty
      AND l.is_counted
      AND l.run_id > coalesce((SELECT max(o.run_id) FROM latest AS o WHERE NOT (o.is_empty AND o.is_counted)), 0)
),
bounds AS (
    SELECT min(s.value) FILTER (WHERE s.name = 'suspend_after') AS suspend_after, min(s.value) FILTER (WHERE s.name = 'back_off_max') AS back_off_max
    FROM {{ control }}.settings AS s
)
SELECT
    f.runs AS failed_runs,
    b.suspend_after > 0 AND f.runs >= b.suspend_after AS suspended,
    (SELECT l.reason FROM latest AS l WHERE l.run_id = f.last_run) AS last_error,
    i.runs AS empty_runs,
    CASE WHEN b.back_off_max > 0 THEN i.ended + make_interval(secs => least(b.back_off_max, 10 * 2 ^ (i.runs - 1))) END AS idle_until
FROM failures AS f
CROSS JOIN idle AS i
CROSS JOIN bounds AS b;
--# comment on view {{ control }}.scheduling
COMMENT ON VIEW {{ control }}.scheduling IS
    'Scheduled runs that failed, or found nothing left, in a row; whether no further one starts before a run by hand succeeds or arm(), and the end of the back-off.';

-- pause_rule, resume_rule: a switch for one rule. A run under way obeys before its next batch, and goes on with other rules.
--# create function {{ control }}.pause_rule
CREATE OR REPLACE FUNCTION {{ control }}.pause_rule(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_pause {{ control }}.rule_pause%ROWTYPE;
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule', 'reason']);
    INSERT INTO {{ control }}.rule_pause AS p (rule, reason)
    VALUES ({{ control }}.check_rule(p_options), p_options ->> 'reason')
    ON CONFLICT (rule) DO UPDATE
    SET reason = excluded.reason,
        paused_by = session_user,
        paused_at = clock_timestamp()
    RETURNING p.* INTO v_pause;
    RETURN row_to_json(v_pause);
END
$windrow$;
--# comment on function {{ control }}.pause_rule
COMMENT ON FUNCTION {{ control }}.pause_rule(jsonb) IS
    'Makes runs pass a rule over, from the next batch on. Example: SELECT {{ control }}.pause_rule(''{"rule": "{{ rules.0.name }}", "reason": "audit"}''); [body @body@]';
--# create function {{ control }}.resume_rule
CREATE OR REPLACE FUNCTION {{ control }}.resume_rule(p_options jsonb)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_pause {{ control }}.rule_pause%ROWTYPE;
BEGIN
    PERFORM {{ control }}.check_options(p_options, ARRAY['rule']);
    DELETE FROM {{ control }}.rule_pause AS p
    WHERE p.rule = {{ control }}.check_rule(p_options)
    RETURNING p.* INTO v_pause;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'rule % is not paused', {{ control }}.check_rule(p_options)
            USING ERRCODE = '22023', HINT = 'The paused rules are in table {{ control }}.rule_pause; CALL {{ control }}.resume() ends a pause of everything.';
    END IF;
    RETURN row_to_json(v_pause);
END
$windrow$;
--# comment on function {{ control }}.resume_rule
COMMENT ON FUNCTION {{ control }}.resume_rule(jsonb) IS
    'Ends the pause of a rule and answers it. Example: SELECT {{ control }}.resume_rule(''{"rule": "{{ rules.0.name }}"}''); [body @body@]';

-- rule_paused: why a rule is passed over.
--# create function {{ control }}.rule_paused
CREATE OR REPLACE FUNCTION {{ control }}.rule_paused(p_rule text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    RETURN (
        SELECT format('rule %s is %s', p.rule, {{ w::paused(c="p", reason="reason") }})
        FROM {{ control }}.rule_pause AS p
        WHERE p.rule = p_rule
    );
END
$windrow$;
--# comment on function {{ control }}.rule_paused
COMMENT ON FUNCTION {{ control }}.rule_paused(text) IS
    'Why the rule is passed over: who paused it, since when and why; NULL if nobody did. [body @body@]';

-- note_refusal: what refuses a scheduled run on this server is written down once, not at every start.
--# create function {{ control }}.note_refusal
CREATE OR REPLACE FUNCTION {{ control }}.note_refusal(p_reason text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_server constant text := {{ control }}.server_identity();
    v_known  text := (SELECT r.reason FROM {{ control }}.refusal AS r WHERE r.server = v_server);
BEGIN
    IF p_reason IS NULL AND v_known IS NOT NULL THEN
        DELETE FROM {{ control }}.refusal AS r WHERE r.server = v_server;
    ELSIF p_reason <> v_known OR v_known IS NULL AND p_reason IS NOT NULL THEN
        INSERT INTO {{ control }}.refusal (server, reason)
        VALUES (v_server, p_reason)
        ON CONFLICT (server) DO UPDATE
        SET reason = excluded.reason,
            since = excluded.since;
    END IF;
END
$windrow$;
--# comment on function {{ control }}.note_refusal
COMMENT ON FUNCTION {{ control }}.note_refusal(text) IS
    'Writes to table refusal why this server refuses scheduled runs; NULL: it does not. [body @body@]';

-- catalog_state: what the catalog said of the tables of the spec: when somebody armed windrow (run_id 0), and when each run
-- that is open began.
--# create table {{ control }}.catalog_state
CREATE TABLE IF NOT EXISTS {{ control }}.catalog_state (
    run_id   bigint      NOT NULL PRIMARY KEY,
    state    jsonb       NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
--# comment on table {{ control }}.catalog_state
COMMENT ON TABLE {{ control }}.catalog_state IS
    'What catalog_now() said when somebody armed windrow or installed it anew (run_id 0), and when each open run began. Every batch compares it.';

-- covered: the tables whose rows go, and their partitions.
--# create view {{ control }}.covered
CREATE OR REPLACE VIEW {{ control }}.covered AS
WITH whole AS (
    SELECT t.oid AS table_id, t.relname::text AS name, t.relkind
    FROM pg_namespace AS n
    JOIN pg_class AS t ON t.relnamespace = n.oid
    WHERE n.nspname = {{ schema_name }}
      AND t.relname = ANY (ARRAY[
{%- for name in going %}
          {{ name }}{% if not loop.last %},{% endif %}
{%- endfor %}
      ])
)
SELECT w.table_id, w.name, w.relkind
FROM whole AS w
UNION ALL
SELECT p.relid, w.name, t.relkind
FROM whole AS w
CROSS JOIN LATERAL pg_partition_tree(w.table_id) AS p
JOIN pg_class AS t ON t.oid = p.relid
WHERE w.relkind = 'p'
  AND p.relid <> w.table_id;
--# comment on view {{ control }}.covered
COMMENT ON VIEW {{ control }}.covered IS
    'The tables whose rows go, by name, and their partitions with the name of the whole table.';

-- keys_on: the foreign keys to them. A key has a trigger on the table that it names, which is how it is found by an index.
--# create view {{ control }}.keys_on
CREATE OR REPLACE VIEW {{ control }}.keys_on AS
SELECT
    p.name AS parent,
    f.oid AS key_id,
    f.conname, f.conrelid, f.conkey, f.confrelid, f.confkey, f.confdeltype,
    to_jsonb(f) ->> 'confdelsetcols' AS partly
FROM {{ control }}.covered AS p
JOIN pg_trigger AS g ON g.tgrelid = p.table_id AND g.tgconstraint <> 0 AND g.tgtype & 8 = 8
JOIN pg_constraint AS f ON f.oid = g.tgconstraint AND f.contype = 'f' AND f.confrelid = p.table_id AND f.conparentid = 0;
--# comment on view {{ control }}.keys_on
COMMENT ON VIEW {{ control }}.keys_on IS
    'The foreign keys that name a table whose rows go, or a partition of one, with the name of the whole table; what hangs on partitions of the other side is left out.';

-- strangers: what the spec does not account for and the server would do beside windrow when a row goes: rows would go or
-- change without a rule, a count or a copy. A migration of the application may add such a thing at any time.
--# create function {{ control }}.strangers
CREATE OR REPLACE FUNCTION {{ control }}.strangers()
RETURNS TABLE (object text, detail text, acts boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $windrow$
BEGIN
    RETURN QUERY
    WITH known (name, columns, parent, named, effects) AS (
{%- if known_keys %}
        VALUES
{%- for key in known_keys %}
            ({{ key.table }}, ARRAY[{{ key.columns }}], {{ key.parent }}, ARRAY[{{ key.named }}], {{ key.effects }}){% if not loop.last %},{% endif %}
{%- endfor %}
{%- else %}
        SELECT NULL, NULL::text[], NULL, NULL::text[], NULL WHERE false
{%- endif %}
    ),
    -- A partition counts as its table.
    keys AS (
        SELECT
            CASE WHEN n.nspname = {{ schema_name }} THEN t.relname::text ELSE format('%s.%s', n.nspname, t.relname) END AS name,
            n.nspname = {{ schema_name }} AS is_here,
            f.conname, f.confdeltype, f.partly, f.parent, c.columns, c.named
        FROM {{ control }}.keys_on AS f
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
            'references %s by %s (on delete %s), and the spec does not know it', k.parent, k.conname,
            CASE k.confdeltype WHEN 'c' THEN 'cascade' WHEN 'n' THEN 'set null' WHEN 'd' THEN 'set default' WHEN 'r' THEN 'restrict' ELSE 'no action' END
        ),
        k.confdeltype IN ('c', 'n', 'd')
    FROM keys AS k
    WHERE NOT EXISTS (
        SELECT FROM known AS o
        WHERE k.is_here
          AND o.name = k.name
          AND o.columns = k.columns
          AND o.parent = k.parent
          AND o.named = k.named
          -- What is to set some columns to NULL (ON DELETE SET NULL (...)) is not what windrow does.
          AND (k.confdeltype NOT IN ('c', 'n', 'd') OR strpos(o.effects, k.confdeltype::text) > 0 AND (k.partly IS NULL OR o.effects <> 'n'))
    )
{%- if ignored %}
      -- That an ignored table keeps families is meant so.
      AND (k.confdeltype IN ('c', 'n', 'd') OR NOT k.is_here OR k.name <> ALL (ARRAY[{{ ignored }}]))
{%- endif %}
    UNION ALL
    SELECT p.name, format('has the rule %s, which acts on DELETE', r.rulename), true
    FROM {{ control }}.covered AS p
    JOIN pg_rewrite AS r ON r.ev_class = p.table_id AND r.ev_type = '4' AND r.ev_enabled IN ('O', 'A')
    UNION ALL
    SELECT
        CASE WHEN n.nspname = {{ schema_name }} THEN t.relname::text ELSE format('%s.%s', n.nspname, t.relname) END,
        format('inherits from %s, so that its rows would be taken for rows of that', p.name),
        true
    FROM {{ control }}.covered AS p
    JOIN pg_inherits AS i ON i.inhparent = p.table_id
    JOIN pg_class AS t ON t.oid = i.inhrelid
    JOIN pg_namespace AS n ON n.oid = t.relnamespace
    WHERE p.relkind = 'r'
    UNION ALL
    SELECT p.name, CASE p.relkind WHEN 'v' THEN 'is a view' WHEN 'f' THEN 'is or has a foreign table, whose rows do not come back with a rollback' ELSE 'is no table' END, true
    FROM {{ control }}.covered AS p
    WHERE p.relkind NOT IN ('r', 'p')
{%- if ends %}
    UNION ALL
    SELECT
        e.name,
        format('compares %s otherwise than %s does %s: their collations are %s and %s, and must be the same', e.own, e.parent, e.named, x.collname, y.collname),
        true
    FROM (
        VALUES
{%- for end in ends %}
            ({{ end.table }}, {{ end.column }}, {{ end.parent }}, {{ end.named }}){% if not loop.last %},{% endif %}
{%- endfor %}
    ) AS e(name, own, parent, named)
    JOIN pg_namespace AS n ON n.nspname = {{ schema_name }}
    JOIN pg_class AS s ON s.relnamespace = n.oid AND s.relname = e.name
    JOIN pg_class AS t ON t.relnamespace = n.oid AND t.relname = e.parent
    JOIN pg_attribute AS a ON a.attrelid = s.oid AND a.attname = e.own AND NOT a.attisdropped
    JOIN pg_attribute AS b ON b.attrelid = t.oid AND b.attname = e.named AND NOT b.attisdropped
    JOIN pg_collation AS x ON x.oid = a.attcollation
    JOIN pg_collation AS y ON y.oid = b.attcollation
    WHERE x.oid <> y.oid
{%- endif %};
END
$windrow$;
--# comment on function {{ control }}.strangers
COMMENT ON FUNCTION {{ control }}.strangers() IS
    'What hangs on the tables whose rows go and is not in the spec: foreign keys, rules, tables that inherit, other collations. acts: rows would go or change beside windrow, and runs refuse; else it only refuses deletions. [body @body@]';

-- stranger: the first of them that acts.
--# create function {{ control }}.stranger
CREATE OR REPLACE FUNCTION {{ control }}.stranger()
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT format('table %s %s', s.object, s.detail)
    FROM {{ control }}.strangers() AS s
    WHERE s.acts
    ORDER BY s.object, s.detail
    LIMIT 1;
$windrow$;
--# comment on function {{ control }}.stranger
COMMENT ON FUNCTION {{ control }}.stranger() IS
    'The first of strangers() that acts, in words; NULL if none does. [body @body@]';

-- catalog_now: what must not change during a run without a look at it: which tables these are, and what acts on them.
--# create function {{ control }}.catalog_now
CREATE OR REPLACE FUNCTION {{ control }}.catalog_now()
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $windrow$
BEGIN
    RETURN (
        SELECT jsonb_object_agg(s.object, s.state)
        FROM (
            SELECT 'table ' || e.name AS object, format('%s %s', coalesce(t.oid::text, 'none'), c.columns) AS state
            FROM (
                VALUES
{%- for shape in shapes %}
                    ({{ shape.table }}, ARRAY[{{ shape.columns }}]::name[]){% if not loop.last %},{% endif %}
{%- endfor %}
            ) AS e(name, columns)
            JOIN pg_namespace AS n ON n.nspname = {{ schema_name }}
            LEFT JOIN pg_class AS t ON t.relnamespace = n.oid AND t.relname = e.name
            CROSS JOIN LATERAL (
                SELECT string_agg(format('%s:%s:%s', a.attname, a.atttypid, a.attcollation), ' ' ORDER BY a.attname) AS columns
                FROM pg_attribute AS a
                WHERE a.attrelid = t.oid
                  AND a.attname = ANY (e.columns)
            ) AS c
            UNION ALL
            SELECT 'key ' || f.key_id, format('%s %s %s %s %s', f.conrelid, f.conkey, f.confrelid, f.confkey, f.confdeltype)
            FROM {{ control }}.keys_on AS f
            WHERE f.confdeltype IN ('c', 'n', 'd')
            UNION ALL
            SELECT 'rule ' || r.oid, r.ev_enabled::text
            FROM {{ control }}.covered AS p
            JOIN pg_rewrite AS r ON r.ev_class = p.table_id AND r.ev_type = '4'
            UNION ALL
            SELECT 'child ' || i.inhrelid, i.inhparent::text
            FROM {{ control }}.covered AS p
            JOIN pg_inherits AS i ON i.inhparent = p.table_id
            WHERE p.relkind = 'r'
            UNION ALL
            SELECT 'foreign ' || p.table_id, p.relkind::text
            FROM {{ control }}.covered AS p
            WHERE p.relkind NOT IN ('r', 'p')
        ) AS s
    );
END
$windrow$;
--# comment on function {{ control }}.catalog_now
COMMENT ON FUNCTION {{ control }}.catalog_now() IS
    'Which tables those of the spec are, the types of the columns that belong to edges, and what acts on them: foreign keys, rules, tables that inherit. [body @body@]';

-- replaced: a table that is another one than it was, or whose rows compare otherwise.
--# create function {{ control }}.replaced
CREATE OR REPLACE FUNCTION {{ control }}.replaced(p_then jsonb, p_now jsonb)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT format(
        CASE split_part(p_now ->> o.key, ' ', 1)
            WHEN split_part(o.value, ' ', 1) THEN '%s has other columns for its keys or edges, by name, type or collation'
            WHEN 'none' THEN '%s is gone'
            ELSE '%s is another one, put in the place of the one that was there'
        END,
        o.key
    )
    FROM jsonb_each_text(p_then) AS o
    WHERE starts_with(o.key, 'table ')
      AND p_now ? o.key
      AND p_now ->> o.key <> o.value
    ORDER BY o.key
    LIMIT 1;
$windrow$;
--# comment on function {{ control }}.replaced
COMMENT ON FUNCTION {{ control }}.replaced(jsonb, jsonb) IS
    'The first table that is another one between two answers of catalog_now(); NULL if none is. [body @body@]';

-- unaccounted: why no run may start, by the catalog. What was there when windrow was armed counts only where it was armed.
--# create function {{ control }}.unaccounted
CREATE OR REPLACE FUNCTION {{ control }}.unaccounted()
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
BEGIN
    RETURN coalesce(
        {{ control }}.stranger(),
        (
            SELECT 'catalog changed: ' || {{ control }}.replaced(a.state, {{ control }}.catalog_now())
            FROM {{ control }}.catalog_state AS a
            JOIN {{ control }}.control AS c ON c.armed AND c.server_identity = {{ control }}.server_identity()
            WHERE a.run_id = 0
        )
    );
END
$windrow$;
--# comment on function {{ control }}.unaccounted
COMMENT ON FUNCTION {{ control }}.unaccounted() IS
    'The first thing in the catalog by which a deletion would reach further than the spec says, or a table that is not the one that was armed; NULL if there is none. [body @body@]';

-- check_catalog: a run by hand, a purge, or who arms windrow is told by an error.
--# create function {{ control }}.check_catalog
CREATE OR REPLACE FUNCTION {{ control }}.check_catalog()
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_reason text := {{ control }}.unaccounted();
BEGIN
    IF starts_with(v_reason, 'catalog changed') THEN
        RAISE EXCEPTION '%', v_reason
            USING ERRCODE = '55000', HINT = 'Rows of the one before are left as they were. Look at both tables, then CALL {{ control }}.arm().';
    ELSIF v_reason IS NOT NULL THEN
        RAISE EXCEPTION '%', v_reason
            USING ERRCODE = '55000', HINT = 'Rows would go or change uncounted. Say in the spec what happens to them and run windrow install, or drop what acts; windrow check --database says how.';
    END IF;
END
$windrow$;
--# comment on function {{ control }}.check_catalog
COMMENT ON FUNCTION {{ control }}.check_catalog() IS
    'Raises 55000 where unaccounted() finds something. [body @body@]';

-- look_again: whether the catalog is still as it was when the run began. A batch asks when it has its locks, and before it
-- commits: a partition or a child may come in spite of them.
--# create function {{ control }}.look_again
CREATE OR REPLACE FUNCTION {{ control }}.look_again(p_run bigint)
RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_then jsonb := (SELECT s.state FROM {{ control }}.catalog_state AS s WHERE s.run_id = p_run);
    v_now  jsonb := {{ control }}.catalog_now();
    v_why  text;
BEGIN
    IF v_now = v_then THEN
        RETURN;
    END IF;
    v_why := coalesce(
        {{ control }}.stranger(),
        {{ control }}.replaced(v_then, v_now)
    );
    IF v_why IS NOT NULL THEN
        RAISE EXCEPTION 'catalog changed: %', v_why
            USING ERRCODE = 'WD001', HINT = 'The batch is rolled back. Look at what changed; windrow check --database says what the spec lacks.';
    END IF;
END
$windrow$;
--# comment on function {{ control }}.look_again
COMMENT ON FUNCTION {{ control }}.look_again(bigint) IS
    'Raises WD001 where the catalog is not what it was when run p_run began, and something acts that the spec does not know, or a table is another one. [body @body@]';

-- take_tables: what a batch does first. The locks let the application write, and keep foreign keys, rules and triggers from
-- being added or dropped until the batch commits.
--# create function {{ control }}.take_tables
CREATE OR REPLACE FUNCTION {{ control }}.take_tables(p_run bigint)
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
EXCEPTION WHEN undefined_table OR insufficient_privilege OR wrong_object_type THEN
    -- A table that is gone, or another one in its place: say so.
    PERFORM {{ control }}.look_again(p_run);
    RAISE;
END
$windrow$;
--# comment on function {{ control }}.take_tables
COMMENT ON FUNCTION {{ control }}.take_tables(bigint) IS
    'Locks the tables whose rows go in ROW EXCLUSIVE MODE until the transaction ends, for a batch of run p_run. [body @body@]';

-- held_back: why no run may start now. Where nobody armed windrow on this server, a scheduled run is refused without an
-- error: a standby that was promoted, a restored copy or another node of a cluster would fill its log with them.
--# create function {{ control }}.held_back
CREATE OR REPLACE FUNCTION {{ control }}.held_back(p_options jsonb)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_control {{ control }}.control%ROWTYPE;
    v_reason  text;
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'the server is a standby: nothing is deleted here' USING ERRCODE = '25006';
    END IF;
    SELECT * INTO STRICT v_control FROM {{ control }}.control;
    IF v_control.paused THEN
        v_reason := {{ w::paused(c="v_control") }};
    ELSE
        -- Not one of the rules may be worked on.
        SELECT CASE WHEN bool_and(p.why IS NOT NULL) THEN string_agg(p.why, '; ' ORDER BY p.position) END
        INTO v_reason
        FROM (
            SELECT r.position, {{ control }}.rule_paused(r.name) AS why
            FROM unnest(ARRAY[{{ rule_literals }}]) WITH ORDINALITY AS r(name, position)
            WHERE r.name = coalesce(p_options ->> 'rule', r.name)
        ) AS p;
    END IF;
    IF p_options ->> 'trigger' = 'SCHEDULED' THEN
        v_reason := coalesce(
            v_reason,
            CASE
                WHEN (p_options ->> 'dry_run')::boolean THEN NULL
                WHEN NOT v_control.armed THEN 'not armed: nothing is deleted before someone said so'
                WHEN v_control.server_identity IS DISTINCT FROM {{ control }}.server_identity() THEN format('armed on another server: %s', v_control.server_identity)
            END,
            {{ control }}.unaccounted(),
            CASE WHEN NOT {{ control }}.in_window(clock_timestamp()) THEN
                format('no window is open: %s', (SELECT string_agg(h.written, ', ' ORDER BY h.position) FROM {{ control }}.open_hours AS h))
            END
        );
        IF v_reason IS NOT NULL THEN
            PERFORM {{ control }}.note_refusal(v_reason);
        END IF;
    END IF;
    RETURN v_reason;
END
$windrow$;
--# comment on function {{ control }}.held_back
COMMENT ON FUNCTION {{ control }}.held_back(jsonb) IS
    'Why no run with these options may start now: a pause, and for scheduled runs also a server where nobody armed windrow, something in the catalog that the spec does not know or a closed window; NULL if nothing speaks against it. [body @body@]';

-- kept_back: why no scheduled run starts now, by the latest ones.
--# create function {{ control }}.kept_back
CREATE OR REPLACE FUNCTION {{ control }}.kept_back()
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT CASE
        WHEN s.suspended THEN format('suspended after %s failed runs in a row, the last one: %s', s.failed_runs, s.last_error)
        WHEN s.idle_until > clock_timestamp() THEN format('nothing left, runs in a row: %s; back-off until %s', s.empty_runs, to_char(s.idle_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    END
    FROM {{ control }}.scheduling AS s;
$windrow$;
--# comment on function {{ control }}.kept_back
COMMENT ON FUNCTION {{ control }}.kept_back() IS
    'Why no scheduled run starts now: suspended after failures, or a back-off after runs that found nothing left; NULL if one may. [body @body@]';

-- schedule_check: whether pg_cron will start runs. With the rights of its caller: pg_cron shows everybody his own jobs only,
-- and its settings to those alone who may read all settings.
--# create function {{ control }}.schedule_check
CREATE OR REPLACE FUNCTION {{ control }}.schedule_check()
RETURNS json
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $windrow$
DECLARE
    v_home     text;
    v_inside   boolean;
    v_severity text := 'violation';
    v_detail   text;
BEGIN
    SELECT max(s.setting) FILTER (WHERE s.name = 'cron.database_name'), bool_or(s.setting = 'on') FILTER (WHERE s.name = 'cron.use_background_workers')
    INTO v_home, v_inside
    FROM pg_settings AS s;
    BEGIN
        PERFORM current_setting('cron.database_name', true);
    EXCEPTION WHEN insufficient_privilege THEN
        -- It is there and not to be seen, so pg_cron is loaded.
        v_home := current_database();
    END;
    IF NOT EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'pg_cron') THEN
        v_severity := 'notice';
        v_detail := format('pg_cron is not in database %s: no run starts by itself', current_database());
    ELSIF v_home IS NULL THEN
        v_detail := 'the server has not loaded pg_cron: no run starts; add it to shared_preload_libraries and restart the server';
    ELSIF v_home <> current_database() THEN
        v_detail := format('pg_cron takes its jobs from database %s (cron.database_name), not from this one: no run starts', v_home);
    ELSE
        -- The extension may come later than this function.
        EXECUTE $jobs$
            SELECT
                CASE min(c.rank) WHEN 1 THEN 'violation' WHEN 2 THEN 'notice' ELSE 'ok' END,
                string_agg(c.detail, '; ' ORDER BY c.position, c.jobid)
            FROM (
                SELECT
                    n.position, j.jobid,
                    CASE
                        WHEN j.jobid IS NULL OR NOT j.active THEN 2
                        WHEN n.position IS NULL OR j.database <> current_database() OR NOT f.is_here OR j.username <> $4 THEN 1
                        ELSE 3
                    END AS rank,
                    CASE
                        WHEN j.jobid IS NULL THEN format('no job of pg_cron is called %s, or %s may not see it, being another than who installed', n.name, current_user)
                        WHEN n.position IS NULL THEN format('job %s of pg_cron, %s, is of no line of the spec: windrow install takes it away', j.jobid, j.jobname)
                        WHEN NOT j.active THEN format('job %s of pg_cron is not active: SELECT cron.alter_job(%s, active := true)', j.jobid, j.jobid)
                        WHEN j.database <> current_database() THEN format('job %s of pg_cron works in database %s; windrow install schedules it here', j.jobid, j.database)
                        WHEN NOT f.is_here THEN format('job %s of pg_cron works on another server: it connects to %s, port %s, and this one has port %s; windrow install makes it anew', j.jobid, j.nodename, j.nodeport, current_setting('port'))
                        WHEN j.username <> $4 THEN format('job %s of pg_cron runs as %s, not as the login of the schedule, %s; windrow install gives it to that', j.jobid, j.username, $4)
                        ELSE format('job %s of pg_cron, as %s: %s', j.jobid, j.username, j.schedule)
                    END AS detail
                FROM unnest($1) WITH ORDINALITY AS n(name, position)
                FULL JOIN (
                    SELECT k.* FROM cron.job AS k WHERE starts_with(k.jobname || ' ', $2 || ' ') AND k.jobname <> $2 || ' history'
                ) AS j ON j.jobname = n.name
                CROSS JOIN LATERAL (SELECT coalesce($3, false) OR j.nodeport = current_setting('port')::integer) AS f(is_here)
            ) AS c
        $jobs$
        INTO v_severity, v_detail
        USING ARRAY[{% for job in jobs %}'{{ control }}{{ job.suffix }}'{% if not loop.last %}, {% endif %}{% endfor %}], {{ control_literal }}, v_inside, {{ login_literal }};
    END IF;
    RETURN json_build_object('check', 'schedule', 'object', {{ spec_literal }}, 'severity', v_severity, 'count', 1, 'detail', v_detail);
END
$windrow$;
--# comment on function {{ control }}.schedule_check
COMMENT ON FUNCTION {{ control }}.schedule_check() IS
    'Whether pg_cron will start runs, as far as the caller may see; windrow verify adds it to what verify() answers. Example: SELECT {{ control }}.schedule_check(); [body @body@]';
--# become who installs
RESET ROLE;
