-- judge: expands the given roots to their families and decides, row by row under lock, which may be deleted. A member is a row of the
-- root table; links to ids without a row are not followed. Of the rule it asks, level by level: members (the rows of some ids,
-- locked in the order of their keys, so that two batches cannot deadlock: final, root, ended, scope; and, read behind the
-- locks, both ends of their links), and where the document says so, met (members that share a row), kept (those that a row of
-- another table keeps) and newest (roots that are kept whatever their age); then the cutoffs of the scopes found.
-- Arrays that run beside each other are unnested in the SELECT list: in FROM each is stored in a tuplestore of its own first.
-- Closed: the rows at both ends of a link are deleted together or not at all, so members are collected in both directions.
-- Otherwise a root's own descendants decide, whoever else links to them.
--# create function judge
CREATE OR REPLACE FUNCTION judge(
    p_rule      text,
    p_roots     anyarray,
    p_as_of     timestamptz,
    p_retention bigint,
    p_scope     text,
    p_purge     boolean,
    p_lock      boolean,
    p_gone      anyarray,
    OUT o_members      anyarray,
    OUT o_artifacts    anyarray,
    OUT o_families     bigint,
    OUT o_other_roots  anyarray,
    OUT o_skip_keys    anyarray,
    OUT o_skip_reasons text[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
SET enable_nestloop = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_reasons constant text[] := ARRAY[
        'HELD', 'NON_FINAL_MEMBER', 'UNDATED_MEMBER', 'RETENTION_NOT_REACHED', 'LOCKED', 'POLICY_DISABLED', 'SHARED_MEMBER', 'REFERENCED'
    ];
    v_says    constant jsonb := (SELECT r.document FROM rule AS r WHERE r.rule = p_rule);
    -- Whether times, policies and the newest count. A purge that is not forced says a retention: the minimum is more, and counts.
    v_aged    constant boolean := NOT p_purge OR p_retention IS NOT NULL;
    v_closed  constant boolean := coalesce((v_says -> 'closed')::boolean, false);
    v_linked  constant boolean := coalesce((v_says -> 'linked')::boolean, false);
    v_meets   constant boolean := coalesce((v_says -> 'meets')::boolean, false);
    -- A purge of a root takes the roots below it with it.
    v_nested  constant boolean := coalesce((v_says -> 'nested')::boolean, false);
    v_members constant text := format('SELECT m.* FROM %s($1, $2) AS m', routine_of(p_rule, 'members'));
    v_met     text;
    -- Links may name a row in another spelling than its own: whole numbers have one each.
    v_spelled constant boolean := v_linked AND pg_typeof(p_roots) NOT IN ('integer[]'::regtype, 'bigint[]'::regtype)
        AND many_spellings(p_rule);
    -- The scopes of the members; those of them that may be cleaned, and those of whose rows files are not recorded.
    v_among    text[];
    v_scopes   text[];
    v_cutoffs  timestamp[];
    v_silent   text[];
    v_least    timestamp;  -- the earliest cutoff
    v_unscoped timestamp;  -- the cutoff of rows without a scope
    v_none   p_roots%TYPE := p_roots[1:0];
    v_level  p_roots%TYPE := p_roots;  -- ids of the present level of the expansion
    v_seen   p_roots%TYPE := p_gone;  -- ids of all levels so far
    v_first  integer;  -- how many members the first level has
    v_beside p_roots%TYPE := v_none;  -- ids of further levels that no link from above led to
    v_there  p_roots%TYPE;
    v_locked p_roots%TYPE := v_none;  -- rows that another session holds
    v_held   p_roots%TYPE;
    v_bound  p_roots%TYPE;  -- rows that holds of other rules keep
    v_kept   p_roots%TYPE := v_none;  -- rows that a row of another table keeps
    v_newest p_roots%TYPE := v_none;  -- roots that are among the newest of their group
    v_doubt  p_roots%TYPE;  -- rows that something may keep
    v_bad    p_roots%TYPE;  -- roots with a fault below them, and the fault's rank in v_reasons
    v_rank   integer[];
    v_go     p_roots%TYPE;  -- rows in doubt that are deleted all the same
    v_stay   p_roots%TYPE;
    -- The members so far: parallel arrays, one element per row.
    v_id     p_roots%TYPE := v_none;
    v_final  boolean[] := '{}';
    v_root   boolean[] := '{}';
    v_ended  timestamp[] := '{}';
    v_scope  text[] := '{}';
    v_cutoff timestamp[];  -- what a root must have ended before; none for other rows
    v_record boolean[];
    -- The links so far, and members that share a row, each with each.
    v_upper  p_roots%TYPE := v_none;
    v_lower  p_roots%TYPE := v_none;
    v_one    p_roots%TYPE := v_none;
    v_other  p_roots%TYPE := v_none;
    -- What one level added.
    n_id     p_roots%TYPE;
    n_final  boolean[];
    n_root   boolean[];
    n_ended  timestamp[];
    n_scope  text[];
    n_upper  p_roots%TYPE;
    n_lower  p_roots%TYPE;
    n_one    p_roots%TYPE;
    n_other  p_roots%TYPE;
BEGIN
    IF v_meets THEN
        v_met := format('SELECT array_agg(s.id), array_agg(s.other) FROM %s($1) AS s', routine_of(p_rule, 'met'));
    END IF;

    WHILE cardinality(v_level) > 0 LOOP
        -- The rows of this level, and their links. What another session holds is left to it.
        EXECUTE v_members INTO n_id, n_final, n_root, n_ended, n_scope, n_upper, n_lower USING v_level, p_lock;
        IF p_lock AND cardinality(n_id) IS DISTINCT FROM cardinality(v_level) THEN
            EXECUTE format('SELECT m.o_ids FROM (%s) AS m', v_members) INTO v_there USING v_level, false;
            v_locked := v_locked || ARRAY(
                SELECT t.id FROM unnest(v_there) AS t(id)
                EXCEPT
                SELECT m.id FROM unnest(n_id) AS m(id)
            );
        END IF;
        EXIT WHEN n_id IS NULL;
        v_first := coalesce(v_first, cardinality(n_id));
        v_id := v_id || n_id;
        v_final := v_final || n_final;
        v_root := v_root || n_root;
        v_ended := v_ended || n_ended;
        v_scope := v_scope || n_scope;
        EXIT WHEN NOT v_linked;

        IF v_meets THEN
            EXECUTE v_met INTO n_one, n_other USING n_id;
        END IF;
        IF v_spelled THEN
            n_upper := as_there(p_rule, n_upper::text[]);
            n_lower := as_there(p_rule, n_lower::text[]);
            n_other := as_there(p_rule, n_other::text[]);
        END IF;
        EXIT WHEN n_upper IS NULL AND n_one IS NULL;
        v_upper := v_upper || n_upper;
        v_lower := v_lower || n_lower;
        v_one := v_one || n_one;
        v_other := v_other || n_other;
        v_seen := v_seen || v_level;
        IF v_closed THEN
            -- A row that was not found from above may belong to a family that is not in this batch.
            SELECT coalesce(array_agg(f.id), v_none), v_beside || coalesce(array_agg(f.id) FILTER (WHERE NOT f.below), v_none)
            INTO v_level, v_beside
            FROM (
                SELECT l.id, bool_or(l.below) AS below
                FROM (
                    SELECT unnest(n_upper) AS id, false AS below
                    UNION ALL
                    SELECT unnest(n_lower), true
                    UNION ALL
                    SELECT unnest(n_other), false
                ) AS l
                WHERE l.id NOT IN (SELECT unnest(v_seen))
                GROUP BY l.id
            ) AS f;
        ELSE
            v_level := ARRAY(SELECT DISTINCT d.id FROM (SELECT unnest(n_lower) AS id) AS d WHERE d.id NOT IN (SELECT unnest(v_seen)));
        END IF;
    END LOOP;

    v_among := ARRAY(SELECT DISTINCT m.scope FROM (SELECT unnest(v_scope) AS scope) AS m);
    EXECUTE format(
        'SELECT array_agg(c.scope::text), array_agg(c.cutoff%s) FROM %s($1, $2, $3) AS c',
        CASE WHEN v_says ? 'zone' THEN '' ELSE ' AT TIME ZONE ''UTC''' END, routine_of(p_rule, 'scope')
    )
    INTO v_scopes, v_cutoffs
    USING p_as_of, p_retention, CASE WHEN p_scope IS NULL THEN v_among
        ELSE ARRAY(SELECT a.scope FROM alike(p_rule, v_among, ARRAY[p_scope]) AS a) END;
    SELECT min(c.cutoff) FILTER (WHERE c.cutoff > '-infinity'), max(c.cutoff) FILTER (WHERE c.scope IS NULL)
    INTO v_least, v_unscoped
    FROM unnest(v_scopes, v_cutoffs) AS c(scope, cutoff);
    -- A policy says whether files are recorded even where it is disabled, or not of the scope of this run.
    IF EXISTS (SELECT FROM policy AS o WHERE o.rule = p_rule AND NOT o.artifacts) THEN
        v_silent := ARRAY(SELECT a.scope FROM alike(p_rule, v_among, ARRAY(
            SELECT o.scope
            FROM policy AS o
            JOIN rule_refers AS n ON n.rule = o.rule AND n.kind = 'policy'
            WHERE o.rule = p_rule
              AND NOT o.artifacts
              AND (o.refers_to = n.refers_to) IS NOT FALSE
        )) AS a);
    END IF;
    SELECT
        array_agg((m.scope = ANY (v_silent)) IS NOT TRUE ORDER BY m.position),
        array_agg(CASE
            WHEN NOT m.root THEN NULL
            WHEN NOT p_purge THEN CASE WHEN m.scope IS NULL THEN v_unscoped ELSE c.cutoff END
            WHEN m.position <= v_first OR v_nested AND NOT m.id = ANY (v_beside) THEN CASE
                WHEN v_aged THEN coalesce(CASE WHEN m.scope IS NULL THEN v_unscoped ELSE c.cutoff END, '-infinity')
                ELSE 'infinity'
            END::timestamp
        END ORDER BY m.position)
    INTO v_record, v_cutoff
    FROM (
        SELECT unnest(v_id) AS id, unnest(v_root) AS root, unnest(v_scope) AS scope, generate_subscripts(v_id, 1) AS position
    ) AS m
    LEFT JOIN (SELECT unnest(v_scopes) AS scope, unnest(v_cutoffs) AS cutoff) AS c ON c.scope = m.scope;
    -- Suspicious rows, generously: what is not final, undated or possibly too young, and what is not a root that may be cleaned.
    v_doubt := v_beside || ARRAY(
        SELECT m.id
        FROM (
            SELECT
                unnest(v_id) AS id, unnest(v_final) AS final, unnest(v_root) AS root, unnest(v_ended) AS ended, unnest(v_cutoff) AS cutoff,
                generate_subscripts(v_id, 1) AS position
        ) AS m
        WHERE NOT m.final
           OR m.ended IS NULL
           OR m.ended >= v_least
           OR (m.root AND (m.cutoff IS NULL OR m.ended >= m.cutoff))
           OR (NOT m.root AND m.position <= v_first)
    );
    -- The type of the keys reads what a hold names.
    v_held := held_among(p_rule, v_id::text[]);
    IF v_says ? 'bound' AND bound_by(p_rule) THEN
        EXECUTE format('SELECT %s($1)', routine_of(p_rule, 'bound')) INTO v_bound USING v_id;
        v_held := v_held || v_bound;
    END IF;
    v_doubt := v_doubt || v_locked || ARRAY(
        SELECT m.id FROM (SELECT unnest(v_id) AS id) AS m WHERE m.id IN (SELECT unnest(v_held))
    );
    IF v_says ? 'keeps' THEN
        -- Read after the rows were locked, too. With a foreign key, no further row can come to keep them.
        EXECUTE format('SELECT %s($1)', routine_of(p_rule, 'kept')) INTO v_kept USING v_id;
        v_doubt := v_doubt || v_kept;
    END IF;
    IF v_says ? 'newest' AND v_aged THEN
        -- Read after the rows were locked, too. While the newest are locked, nobody can delete them and leave the group without.
        EXECUTE format('SELECT %s($1, $2)', routine_of(p_rule, 'newest')) INTO v_newest USING v_id, p_lock;
        v_doubt := v_doubt || v_newest;
    END IF;
    IF v_linked THEN
        WITH RECURSIVE doubt (id) AS (
            SELECT d.id
            FROM unnest(v_doubt) AS d(id)
            UNION
            SELECT l.there
            FROM doubt AS d
            JOIN unnest(v_upper || v_lower || v_one || v_other, v_lower || v_upper || v_other || v_one) AS l(here, there) ON l.here = d.id
        )
        SELECT coalesce(array_agg(d.id), v_none)
        INTO v_doubt
        FROM doubt AS d;
    END IF;

    -- What is linked to nothing suspicious is deleted: final, old enough, not held, below a root that may be cleaned. That is most of it.
    SELECT
        coalesce(array_agg(m.id) FILTER (WHERE NOT m.doubtful), v_none),
        coalesce(array_agg(m.id) FILTER (WHERE NOT m.doubtful AND m.record), v_none),
        count(*) FILTER (WHERE NOT m.doubtful AND m.root),
        coalesce(array_agg(m.id) FILTER (WHERE NOT m.doubtful AND m.root AND m.position > v_first), v_none),
        array_agg(m.id) FILTER (WHERE m.doubtful),
        array_agg(m.final) FILTER (WHERE m.doubtful),
        array_agg(m.root) FILTER (WHERE m.doubtful),
        array_agg(m.ended) FILTER (WHERE m.doubtful),
        array_agg(m.cutoff) FILTER (WHERE m.doubtful),
        array_agg(m.record) FILTER (WHERE m.doubtful)
    INTO o_members, o_artifacts, o_families, o_other_roots, v_id, v_final, v_root, v_ended, v_cutoff, v_record
    FROM (
        SELECT a.*, a.id IN (SELECT unnest(v_doubt)) AS doubtful
        FROM (
            SELECT
                unnest(v_id) AS id, unnest(v_final) AS final, unnest(v_root) AS root, unnest(v_ended) AS ended, unnest(v_cutoff) AS cutoff,
                unnest(v_record) AS record, generate_subscripts(v_id, 1) AS position
        ) AS a
    ) AS m;
    o_skip_keys := v_none;
    o_skip_reasons := '{}';
    IF cardinality(v_doubt) = 0 THEN
        RETURN;
    END IF;
    v_id := coalesce(v_id, v_none);

    -- A link to an id without a row links nothing.
    SELECT coalesce(array_agg(l.upper), v_none), coalesce(array_agg(l.lower), v_none)
    INTO v_upper, v_lower
    FROM (
        SELECT DISTINCT unnest(v_upper) AS upper, unnest(v_lower) AS lower
    ) AS l
    WHERE l.upper IN (SELECT unnest(v_id || v_locked))
      AND l.lower IN (SELECT unnest(v_id || v_locked));
    SELECT coalesce(array_agg(s.one), v_none), coalesce(array_agg(s.other), v_none)
    INTO v_one, v_other
    FROM unnest(v_one, v_other) AS s(one, other)
    WHERE s.other IN (SELECT p.id FROM unnest(v_id || v_locked) AS p(id));

    -- A reason to keep a row applies to all rows above it. A fault with a cutoff applies only to roots with this cutoff.
    WITH RECURSIVE fault (id, rank, cutoff) AS (
        (
            SELECT h.id, 1, NULL::timestamp
            FROM unnest(v_held) AS h(id)
            UNION ALL
            SELECT m.id, CASE WHEN m.final THEN 3 ELSE 2 END, NULL
            FROM unnest(v_id, v_final, v_ended) AS m(id, final, ended)
            WHERE NOT m.final
               OR (m.ended IS NULL AND v_aged)
            UNION ALL
            SELECT m.id, 4, c.cutoff
            FROM (SELECT DISTINCT r.cutoff FROM unnest(v_cutoff) AS r(cutoff)) AS c
            JOIN unnest(v_id, v_ended) AS m(id, ended) ON m.ended >= c.cutoff
            WHERE v_aged
            UNION ALL
            SELECT n.id, 4, NULL
            FROM unnest(v_newest) AS n(id)
            UNION ALL
            SELECT l.id, 5, NULL
            FROM unnest(v_locked) AS l(id)
            UNION ALL
            SELECT k.id, 8, NULL
            FROM unnest(v_kept) AS k(id)
        )
        UNION
        SELECT l.upper, f.rank, f.cutoff
        FROM fault AS f
        JOIN unnest(v_upper, v_lower) AS l(upper, lower) ON l.lower = f.id
    )
    SELECT coalesce(array_agg(v.id), v_none), coalesce(array_agg(v.rank), '{}')
    INTO v_bad, v_rank
    FROM (
        SELECT m.id, min(f.rank) AS rank
        FROM fault AS f
        JOIN unnest(v_id, v_cutoff) AS m(id, cutoff) ON m.id = f.id
        WHERE m.cutoff IS NOT NULL
          AND (f.cutoff IS NULL OR f.cutoff = m.cutoff)
        GROUP BY m.id
    ) AS v;

    IF v_closed THEN
        -- What is kept: roots with a fault, roots without a cutoff, rows that no root with a cutoff leads to, and whatever is linked
        -- to these.
        WITH RECURSIVE covered (id) AS (
            SELECT m.id
            FROM unnest(v_id, v_cutoff) AS m(id, cutoff)
            WHERE m.cutoff IS NOT NULL
            UNION
            SELECT l.lower
            FROM covered AS c
            JOIN unnest(v_upper, v_lower) AS l(upper, lower) ON l.upper = c.id
        )
        SELECT v_bad || v_locked || coalesce(array_agg(m.id), v_none)
        INTO v_stay
        FROM unnest(v_id, v_root, v_cutoff) AS m(id, root, cutoff)
        WHERE (m.root AND m.cutoff IS NULL)
           OR m.id NOT IN (SELECT c.id FROM covered AS c);
        IF cardinality(v_stay) > 0 THEN
            WITH RECURSIVE stay (id) AS (
                SELECT s.id
                FROM unnest(v_stay) AS s(id)
                UNION
                SELECT l.there
                FROM stay AS s
                JOIN unnest(v_upper || v_lower || v_one || v_other, v_lower || v_upper || v_other || v_one) AS l(here, there)
                    ON l.here = s.id
            )
            SELECT array_agg(s.id)
            INTO v_stay
            FROM stay AS s;
        END IF;
        v_go := ARRAY(SELECT m.id FROM unnest(v_id) AS m(id) WHERE m.id NOT IN (SELECT s.id FROM unnest(v_stay) AS s(id)));
    ELSE
        -- What is deleted: the roots without a fault, and all rows below them.
        WITH RECURSIVE below (id) AS (
            SELECT m.id
            FROM unnest(v_id, v_cutoff) AS m(id, cutoff)
            WHERE m.cutoff IS NOT NULL
              AND m.id IN (SELECT r.id FROM unnest(p_roots) AS r(id))
              AND m.id NOT IN (SELECT b.id FROM unnest(v_bad) AS b(id))
            UNION
            SELECT l.lower
            FROM below AS b
            JOIN unnest(v_upper, v_lower) AS l(upper, lower) ON l.upper = b.id
        )
        SELECT coalesce(array_agg(b.id), v_none)
        INTO v_go
        FROM below AS b;
    END IF;

    SELECT
        o_members || v_go,
        o_artifacts || coalesce(array_agg(m.id) FILTER (WHERE m.record), v_none),
        o_families + count(*) FILTER (WHERE m.root),
        o_other_roots || coalesce(array_agg(m.id) FILTER (WHERE m.root AND m.id NOT IN (SELECT r.id FROM unnest(p_roots) AS r(id))), v_none)
    INTO o_members, o_artifacts, o_families, o_other_roots
    FROM unnest(v_id, v_root, v_record) AS m(id, root, record)
    WHERE m.id IN (SELECT g.id FROM unnest(v_go) AS g(id));
    SELECT
        coalesce(array_agg(r.id ORDER BY r.position), v_none),
        coalesce(array_agg(v_reasons[CASE
            WHEN p_purge AND b.rank = 4 AND m.cutoff = '-infinity' THEN 6
            WHEN b.rank IS NOT NULL THEN b.rank
            WHEN m.id IS NULL THEN 5
            WHEN m.cutoff IS NULL THEN 6
            ELSE 7
        END] ORDER BY r.position), '{}')
    INTO o_skip_keys, o_skip_reasons
    FROM unnest(p_roots) WITH ORDINALITY AS r(id, position)
    LEFT JOIN unnest(v_id, v_cutoff) AS m(id, cutoff) ON m.id = r.id
    LEFT JOIN unnest(v_bad, v_rank) AS b(id, rank) ON b.id = r.id
    WHERE r.id IN (SELECT p.id FROM unnest(v_id || v_locked) AS p(id))
      AND r.id NOT IN (SELECT g.id FROM unnest(v_go) AS g(id));
END
$windrow$;
--# comment on function judge
COMMENT ON FUNCTION judge(text, anyarray, timestamptz, bigint, text, boolean, boolean, anyarray) IS
    'Expands p_roots to their families and decides which may be deleted: every member final, ended before the cutoff, unheld, not among '
    'the newest roots of its group, kept by no row of another table, and, where the rule is closed, linked to nothing that is kept. '
    'p_lock: every member is locked first, FOR UPDATE SKIP LOCKED. p_purge: only what p_roots name is deleted; without p_retention, '
    'whatever its age. '
    'p_gone: ids to treat as gone. o_members may be deleted; o_skip_keys may not, by o_skip_reasons.';

-- next_roots: the next roots that a run has not looked at: their keys, the times by which they are searched, and for a preview
-- their ends.
-- What a dry run has already counted is still there, but no longer a root to look at.
--# create function next_roots
CREATE OR REPLACE FUNCTION next_roots(
    p_rule      text,
    p_as_of     timestamptz,
    p_retention bigint,
    p_scope     text,
    p_time      text,
    p_key       text,
    p_take      bigint,
    p_gone      text[],
    p_ends      boolean,
    p_to_time   text DEFAULT NULL,
    p_to_key    text DEFAULT NULL,
    OUT o_roots text[],
    OUT o_times text[],
    OUT o_ends  text[],
    OUT o_keys  jsonb
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rule rule%ROWTYPE;
    v_like text;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    -- A key may have a collation of its own, by which the rule compares; what a routine answers has none, and `keep` asks one.
    IF p_to_time IS NOT NULL AND NOT v_rule.document ? 'newest' THEN
        SELECT format(' COLLATE %s', a.attcollation::regcollation)
        INTO v_like
        FROM keyed(p_rule) AS k
        CROSS JOIN spec AS s
        JOIN pg_attribute AS a ON a.attrelid = to_regclass(format('%I.%I', s.schema_name, k.root))::oid AND a.attname = k.name::name
        WHERE a.attcollation <> 0;
    END IF;
    -- They stay in the order in which the rule finds them.
    EXECUTE format(
        'SELECT
            array_agg(n.root::text),
            array_agg(n.%1$I::text),
            %5$s
        FROM (
            SELECT g.*
            FROM %2$s($1, $2, $3, %3$L, %4$L, $4 + cardinality($5)) WITH ORDINALITY AS g
            WHERE (cardinality($5) = 0 OR g.root::text NOT IN (SELECT x.id FROM unnest($5) AS x(id)))%6$s
            ORDER BY g.ordinality
            LIMIT $4
        ) AS n',
        v_rule.document ->> 'along', routine_of(p_rule, 'next'), coalesce(p_time, '-infinity'),
            coalesce(p_key, v_rule.document ->> 'first_key'),
        CASE WHEN p_ends THEN 'array_agg(to_json(n.ended)::text), jsonb_agg(n.root)' ELSE 'NULL, NULL' END,
        CASE
            WHEN p_to_time IS NOT NULL
                THEN format(' AND (g.%I, g.root%s) <= (%L, %L)', v_rule.document ->> 'along', v_like, p_to_time, p_to_key)
        END
    )
    INTO o_roots, o_times, o_ends, o_keys
    USING p_as_of, p_retention, p_scope, p_take, p_gone;
END
$windrow$;
--# comment on function next_roots
COMMENT ON FUNCTION next_roots(text, timestamptz, bigint, text, text, text, bigint, text[], boolean, text, text) IS
    'The next p_take roots of p_rule behind p_time and p_key, up to p_to_time and p_to_key where these are given, oldest first: keys, '
    'times in the search, and with p_ends ends and keys as JSON has them; NULL where none is left. Reads only.';

-- cascades_of: the tables of a rule whose rows are left to foreign keys, by their places among its tables, and what the server
-- has counted of them in this session. Where a foreign key cascades, the server looks for the rows of a table with every row that
-- they may name, whatever was deleted before. Such a table is left to it if the triggers of the key act, nothing may keep a row, and the
-- server counts what it deletes. The keys stay as they are until the batch ends: take_tables() has locked their tables.
--# create function cascades_of
CREATE OR REPLACE FUNCTION cascades_of(p_rule text, OUT o_left integer[], OUT o_tables oid[], OUT o_counted bigint[])
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    SELECT coalesce(array_agg(e.place ORDER BY e.place), '{}'), array_agg(e.child ORDER BY e.place),
        array_agg(pg_stat_get_xact_tuples_deleted(e.child) ORDER BY e.place)
    INTO o_left, o_tables, o_counted
    FROM (
        SELECT
            array_position(r.tables, d.child) AS place,
            to_regclass(format('%I.%I', s.schema_name, d.child)) AS child,
            to_regclass(format('%I.%I', s.schema_name, d.parent)) AS parent,
            ARRAY(
                SELECT format('%s -> %s', k.own, k.named) COLLATE "C"
                FROM known_edge AS k
                WHERE k.table_name = d.child
                  AND k.parent = d.parent
                ORDER BY 1
            ) AS columns
        FROM rule AS r
        CROSS JOIN spec AS s
        CROSS JOIN LATERAL jsonb_each_text(r.document -> 'cascades') AS d(child, parent)
        WHERE r.rule = p_rule
    ) AS e
    WHERE current_setting('track_counts')::boolean
      AND current_setting('session_replication_role') <> 'replica'
      AND (
          SELECT bool_or(
              e.columns = ARRAY(
                  SELECT format('%s -> %s', a.attname, b.attname) COLLATE "C"
                  FROM unnest(c.conkey, c.confkey) AS k(child, parent)
                  JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = k.child
                  JOIN pg_attribute AS b ON b.attrelid = c.confrelid AND b.attnum = k.parent
                  ORDER BY 1
              )
              AND EXISTS (
                  SELECT FROM pg_trigger AS g
                  WHERE g.tgconstraint = c.oid
                    AND g.tgrelid = c.confrelid
                    AND g.tgtype & 8 = 8
                    AND g.tgenabled IN ('A', 'O')
              )
          )
          FROM pg_constraint AS c
          WHERE c.contype = 'f'
            AND c.conrelid = e.child
            AND c.confrelid = e.parent
            AND c.confdeltype = 'c'
      );
END
$windrow$;
--# comment on function cascades_of
COMMENT ON FUNCTION cascades_of(text) IS
    'Which tables of a rule a batch leaves to foreign keys that cascade, and how many of their rows this session has deleted so far.';

-- are_close: whether sorted keys lie close together. Where few rows name what lies between the first and the last, one scan among them
-- costs less than to look for each key. A verb of a rule asks for each list of keys: without settings of its own the server puts this
-- expression in its place.
--# create function are_close
CREATE OR REPLACE FUNCTION are_close(p_keys anyarray)
RETURNS boolean
LANGUAGE sql IMMUTABLE
AS $windrow$
    SELECT p_keys[cardinality(p_keys)]::numeric OPERATOR(pg_catalog.-) p_keys[1]::numeric
        OPERATOR(pg_catalog.<) (4 OPERATOR(pg_catalog.*) cardinality(p_keys))::numeric;
$windrow$;
--# comment on function are_close
COMMENT ON FUNCTION are_close(anyarray) IS
    'Whether sorted keys are so close together that to read what lies between them costs less than to look for each.';

-- named: those of sorted keys that are among what was found between the first and the last; all where p_many rows were found, as there
-- may be more, or none were looked for (0).
--# create function named
CREATE OR REPLACE FUNCTION named(p_keys anyarray, p_many bigint, p_found anyarray)
RETURNS anyarray
LANGUAGE plpgsql IMMUTABLE
AS $windrow$
BEGIN
    IF cardinality(p_found) >= p_many THEN
        RETURN p_keys;
    ELSIF cardinality(p_found) = 0 THEN
        RETURN p_found;
    END IF;
    RETURN ARRAY(SELECT n.id FROM (SELECT unnest(p_found) AS id) AS n WHERE n.id IN (SELECT unnest(p_keys)));
END
$windrow$;
--# comment on function named
COMMENT ON FUNCTION named(anyarray, bigint, anyarray) IS
    'The keys of which a row was found, one for each row; all keys where as many rows were found as were looked for.';

-- none_came: what comes below rows between a root and others, until a batch has locked these, nobody has judged.
--# create function none_came
CREATE OR REPLACE FUNCTION none_came(p_rule text, p_members anyarray, p_gone anyarray)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_says constant jsonb := (SELECT r.document FROM rule AS r WHERE r.rule = p_rule);
    v_came p_members%TYPE;
BEGIN
    IF v_says ? 'keeps' THEN
        EXECUTE format('SELECT %s($1)', routine_of(p_rule, 'kept')) INTO v_came USING p_members;
    END IF;
    IF v_says ? 'meets' AND v_says ? 'closed' AND coalesce(cardinality(v_came), 0) = 0 THEN
        EXECUTE format('SELECT array_agg(DISTINCT s.other) FROM %s($1) AS s', routine_of(p_rule, 'met'))
        INTO v_came
        USING p_members;
        IF many_spellings(p_rule) THEN
            v_came := as_there(p_rule, v_came::text[]);
        END IF;
        v_came := ARRAY(SELECT c.id FROM unnest(v_came) AS c(id) WHERE c.id NOT IN (SELECT unnest(p_members || p_gone)));
        -- A link to an id without a row links nothing.
        IF cardinality(v_came) > 0 THEN
            EXECUTE format('SELECT m.o_ids FROM %s($1, false) AS m', routine_of(p_rule, 'members')) INTO v_came USING v_came;
        END IF;
    END IF;
    IF cardinality(v_came) > 0 THEN
        RAISE EXCEPTION 'rows have come that keep % of the families of a batch', cardinality(v_came)
            USING ERRCODE = 'serialization_failure', HINT = 'The batch is rolled back and tried again.';
    END IF;
END
$windrow$;
--# comment on function none_came
COMMENT ON FUNCTION none_came(text, anyarray, anyarray) IS
    'Raises an error where a row of another table keeps one of p_members by now, or ties it to a member that is neither of them nor in '
    'p_gone.';

-- batch_end_time: deletes the families of the given roots that may be deleted, in the caller's transaction.
--# create function batch_end_time
CREATE OR REPLACE FUNCTION batch_end_time(
    p_run bigint, p_rule text, p_roots anyarray, p_as_of timestamptz, p_retention bigint, p_scope text, p_purge boolean, p_gone anyarray,
    OUT o_members anyarray, OUT o_families bigint, OUT o_other_roots anyarray, OUT o_skip_keys anyarray, OUT o_skip_reasons text[],
    OUT o_rows bigint[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
SET jit = off
SET enable_seqscan = off
SET enable_bitmapscan = off
SET plan_cache_mode = force_generic_plan
AS $windrow$
DECLARE
    v_rule      rule%ROWTYPE;
    v_artifacts p_roots%TYPE;
    v_watched   boolean;  -- whether a trigger or a rule may keep rows
    v_left      integer[] := '{}';
    v_tables    oid[];
    v_counted   bigint[];
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    o_rows := array_fill(0::bigint, ARRAY[cardinality(v_rule.tables)]);
    PERFORM begin_batch('holds and new children');
    SELECT j.o_members, j.o_artifacts, j.o_families, j.o_other_roots, j.o_skip_keys, j.o_skip_reasons
    INTO o_members, v_artifacts, o_families, o_other_roots, o_skip_keys, o_skip_reasons
    FROM judge(p_rule, p_roots, p_as_of, p_retention, p_scope, p_purge, true, p_gone) AS j;
    IF cardinality(o_members) = 0 THEN
        RETURN;
    END IF;
    -- Each statement that looks keys up sorts them first: at once, where they are sorted.
    o_members := ARRAY(SELECT m.id FROM unnest(o_members) AS m(id) ORDER BY m.id);
    -- A trigger or a rule can keep rows without a word. Only where there is one, it is worth looking.
    v_watched := may_keep(p_rule);
    IF v_rule.document ? 'cascades' AND NOT v_watched THEN
        SELECT c.o_left, c.o_tables, c.o_counted INTO v_left, v_tables, v_counted FROM cascades_of(p_rule) AS c;
    END IF;
    EXECUTE format('SELECT %s($1, $2, $3, $4, $5, $6)', routine_of(p_rule, 'delete'))
    INTO o_rows
    USING p_run, o_members, v_artifacts, v_left, v_watched, p_gone;
    IF o_rows[cardinality(o_rows)] <> cardinality(o_members) THEN
        RAISE EXCEPTION '% of % rows of % could not be deleted', cardinality(o_members) - o_rows[cardinality(o_rows)],
            cardinality(o_members), v_rule.root
            USING HINT = 'A trigger or a rule keeps them. The batch is rolled back.';
    END IF;
    -- What the foreign keys have deleted.
    FOR v_at IN 1..cardinality(v_left) LOOP
        o_rows[v_left[v_at]] := pg_stat_get_xact_tuples_deleted(v_tables[v_at]) - v_counted[v_at];
    END LOOP;
    PERFORM end_batch(p_rule);
END
$windrow$;
--# comment on function batch_end_time
COMMENT ON FUNCTION batch_end_time(bigint, text, anyarray, timestamptz, bigint, text, boolean, anyarray) IS
    'Deletes, in the caller''s transaction, the families of p_roots that judge() lets through. No transaction control, so it can be rolled '
    'back; end_time_step() calls it.';
