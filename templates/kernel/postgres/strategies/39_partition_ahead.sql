-- Partitions that are made in advance, for rules of partitions with `ahead`: what is missing, how wide the next ones are, what they are
-- called, and what is in the way. The verb make_partition of the rule makes one. Times without a zone are computed with as if they were
-- in UTC, all of them.

-- run_ahead: what runs have made in advance, or a dry run would have.
--# create table run_ahead
CREATE TABLE IF NOT EXISTS run_ahead (
    run_id     bigint      NOT NULL,
    rule       text        NOT NULL,
    table_name text        NOT NULL,
    name       text        NOT NULL,
    from_bound text,
    to_bound   text,
    problem    text,
    sqlstate   text,
    made_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run_id, rule, table_name, name)
);
--# comment on table run_ahead
COMMENT ON TABLE run_ahead IS
    'The partitions that runs have made in advance, with their bounds (from inclusive, to exclusive), and those that they could not make '
    '(problem; sqlstate: they tried). An empty name: all of the table.';

-- covered_until: up to where partitions follow each other without a gap. The default one is not among them.
--# create function covered_until
CREATE OR REPLACE FUNCTION covered_until(p_rule text, p_place bigint, p_from timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_part  record;
    v_until timestamptz := p_from;
BEGIN
    FOR v_part IN
        SELECT p.o_from::timestamptz AS since, coalesce(p.o_to::timestamptz, 'infinity') AS till
        FROM partitions_of(p_rule) AS p
        WHERE p.o_place = p_place
          AND p.o_from IS NOT NULL
          AND coalesce(p.o_to::timestamptz, 'infinity') > p_from
        ORDER BY 1
    LOOP
        EXIT WHEN v_part.since > v_until;
        v_until := v_part.till;
    END LOOP;
    RETURN v_until;
END
$windrow$;
--# comment on function covered_until
COMMENT ON FUNCTION covered_until(text, bigint, timestamptz) IS
    'The first time from p_from on for which the table at p_place of p_rule has no range partition; infinity: it has them for all.';

-- clock_now: an instant as the bounds of a rule have it.
--# create function clock_now
CREATE OR REPLACE FUNCTION clock_now(p_rule text, p_at timestamptz)
RETURNS timestamptz
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_now text;
BEGIN
    EXECUTE format('SELECT (($1)%s)::text', in_zone(p_rule)) INTO v_now USING p_at;
    RETURN v_now::timestamptz;
END
$windrow$;
--# comment on function clock_now
COMMENT ON FUNCTION clock_now(text, timestamptz) IS
    'p_at by the clock of the bounds of p_rule; where these have no zone, as if that clock showed UTC.';

-- partition_interval: how wide the partitions of a table are, by the newest two. Whole months where these begin on first days, whole
-- days where they begin at midnight, or else so many seconds: in the zone of the spec, or in UTC where more of the bounds fit that.
--# create function partition_interval
CREATE OR REPLACE FUNCTION partition_interval(
    p_rule text, p_place bigint,
    OUT o_like oid, OUT o_name text, OUT o_since timestamptz, OUT o_till timestamptz, OUT o_zone text, OUT o_step interval,
    OUT o_problem text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rule  rule%ROWTYPE;
    v_width record;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    SELECT p.o_id, p.o_name, p.o_from::timestamptz, coalesce(p.o_to::timestamptz, 'infinity')
    INTO o_like, o_name, o_since, o_till
    FROM partitions_of(p_rule) AS p
    WHERE p.o_place = p_place
      AND p.o_from IS NOT NULL
    ORDER BY 4 DESC
    LIMIT 1;
    IF o_like IS NULL THEN
        o_problem := 'it has no range partition, and nothing else says how wide they are: make the first one by hand';
        RETURN;
    END IF;
    IF o_till = 'infinity' THEN
        o_problem := format('partition %s has no end: none can follow it', o_name);
        RETURN;
    END IF;
    IF o_since = '-infinity' THEN
        o_problem := format('its newest partition, %s, has no beginning, so that nothing says how wide they are: make the next one by hand',
            o_name);
        RETURN;
    END IF;
    SELECT z.name
    INTO o_zone
    FROM unnest(ARRAY[CASE WHEN v_rule.zoned THEN v_rule.document ->> 'ahead_zone' END, 'UTC']) WITH ORDINALITY AS z(name, place)
    WHERE z.name IS NOT NULL
    ORDER BY (
        SELECT count(*)
        FROM partitions_of(p_rule) AS p
        CROSS JOIN LATERAL (VALUES (p.o_from::timestamptz), (p.o_to::timestamptz)) AS b(bound)
        WHERE p.o_place = p_place
          AND isfinite(b.bound)
          AND date_trunc('day', b.bound AT TIME ZONE z.name) AT TIME ZONE z.name = b.bound
    ) DESC, z.place
    LIMIT 1;
    SELECT
        CASE WHEN bool_and(w.at_months) AND min(w.months) = max(w.months) THEN max(w.months) END AS months,
        CASE WHEN bool_and(w.at_days) AND min(w.days) = max(w.days) THEN max(w.days) END AS days,
        CASE WHEN min(w.seconds) = max(w.seconds) AND max(w.seconds) % 1 = 0 THEN max(w.seconds) END AS seconds,
        string_agg(w.name, ', ' ORDER BY w.till DESC) AS names
    INTO v_width
    FROM (
        SELECT
            n.name, n.till,
            d.since AT TIME ZONE o_zone = n.since AND d.till AT TIME ZONE o_zone = n.till AS at_days,
            date_trunc('month', d.since) AT TIME ZONE o_zone = n.since AND date_trunc('month', d.till) AT TIME ZONE o_zone = n.till
                AS at_months,
            (extract(year FROM d.till) - extract(year FROM d.since)) * 12 + extract(month FROM d.till) - extract(month FROM d.since)
                AS months,
            d.till::date - d.since::date AS days,
            extract(epoch FROM n.till - n.since) AS seconds
        FROM (
            SELECT p.o_name AS name, p.o_from::timestamptz AS since, p.o_to::timestamptz AS till
            FROM partitions_of(p_rule) AS p
            WHERE p.o_place = p_place
              AND isfinite(p.o_from::timestamptz)
              AND isfinite(p.o_to::timestamptz)
            ORDER BY 3 DESC
            LIMIT 2
        ) AS n
        CROSS JOIN LATERAL (
            SELECT date_trunc('day', n.since AT TIME ZONE o_zone) AS since, date_trunc('day', n.till AT TIME ZONE o_zone) AS till
        ) AS d
    ) AS w;
    o_step := CASE
        WHEN v_width.months >= 1 THEN make_interval(months => v_width.months::integer)
        WHEN v_width.days >= 1 THEN make_interval(days => v_width.days)
        WHEN v_width.seconds >= 1 THEN make_interval(secs => v_width.seconds::double precision)
    END;
    IF o_step IS NULL THEN
        o_problem := format('its newest partitions, %s, are not equally wide, so that nothing says how wide the next one is: make it by '
            'hand', v_width.names);
    ELSIF v_width.months IS NULL AND v_width.days IS NULL THEN
        o_zone := 'UTC';
    END IF;
END
$windrow$;
--# comment on function partition_interval
COMMENT ON FUNCTION partition_interval(text, bigint) IS
    'The newest range partition of the table at p_place of p_rule, and the width of the newest ones as an interval in o_zone; o_problem: '
    'why none can be told.';

-- partition_called: what a partition is called, as its neighbour is: with the digits of its own time.
--# create function partition_called
CREATE OR REPLACE FUNCTION partition_called(
    p_table text, p_schema text, p_like text, p_was tstzrange, p_is tstzrange, p_zone text, p_taken text[]
)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT c.name
        FROM (
            -- The finest digits come first, and those of its begin before those of its end.
            SELECT f.place, e.place, replace(p_like, e.was, e.new)
            FROM unnest(ARRAY[
                'YYYYMMDDHH24MISS', 'YYYYMMDD_HH24MISS', 'YYYY_MM_DD_HH24MISS', 'YYYY_MM_DD_HH24_MI_SS', 'YYYYMMDDHH24MI',
                'YYYYMMDD_HH24MI', 'YYYY_MM_DD_HH24MI', 'YYYY_MM_DD_HH24_MI', 'YYYYMMDDHH24', 'YYYYMMDD_HH24', 'YYYY_MM_DD_HH24',
                'YYYY-MM-DD-HH24', 'YYYYMMDD', 'YYYY_MM_DD', 'YYYY-MM-DD', 'IYYY"w"IW', 'IYYY"_w"IW', 'YYYYMM', 'YYYY_MM', 'YYYY-MM',
                'YYYY"q"Q', 'YYYY"_q"Q', 'YYYY"Q"Q', 'YYYY'
            ]) WITH ORDINALITY AS f(format, place)
            CROSS JOIN LATERAL (
                VALUES
                    (1, to_char(lower(p_was) AT TIME ZONE p_zone, f.format), to_char(lower(p_is) AT TIME ZONE p_zone, f.format)),
                    (2, to_char(upper(p_was) AT TIME ZONE p_zone, f.format), to_char(upper(p_is) AT TIME ZONE p_zone, f.format))
            ) AS e(place, was, new)
            -- Once, and not within a longer number.
            WHERE cardinality(string_to_array(p_like, e.was)) = 2
              AND p_like !~ ('[0-9]' || e.was)
              AND p_like !~ (e.was || '[0-9]')
              AND e.was <> e.new
            UNION ALL
            SELECT 100, 1, concat(p_table, '_p', to_char(lower(p_is) AT TIME ZONE p_zone, 'YYYYMMDD'))
            WHERE upper(p_was) - lower(p_was) > interval '22 hours'
            UNION ALL
            SELECT 101, 1, concat(p_table, '_p', to_char(lower(p_is) AT TIME ZONE p_zone, 'YYYYMMDD_HH24MISS'))
            UNION ALL
            SELECT 102, n.number, concat(p_table, '_p', to_char(lower(p_is) AT TIME ZONE p_zone, 'YYYYMMDD_HH24MISS'), '_', n.number)
            FROM generate_series(2, 9) AS n(number)
        ) AS c(place, part, name)
        WHERE octet_length(c.name) <= 63
          AND c.name <> ALL (p_taken)
          AND NOT EXISTS (
              SELECT FROM pg_class AS k JOIN pg_namespace AS n ON n.oid = k.relnamespace WHERE n.nspname = p_schema AND k.relname = c.name
          )
        ORDER BY c.place, c.part
        LIMIT 1
    );
END
$windrow$;
--# comment on function partition_called
COMMENT ON FUNCTION partition_called(text, text, text, tstzrange, tstzrange, text, text[]) IS
    'A name that nothing in p_schema has, nor p_taken, for a partition from p_is: that of p_like, which has p_was, with other digits, or '
    'else the name of the table with a time. NULL: there is none.';

-- partition_obstacle: why no partition of a table can be made as its neighbour is. What attaching makes by itself is as the table has it:
-- indexes, keys and row triggers; what only the neighbour has must be copied, or is in the way.
--# create function partition_obstacle
CREATE OR REPLACE FUNCTION partition_obstacle(p_table regclass, p_like oid)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT CASE
            WHEN c.relkind <> 'r' THEN format('its newest partition, %s, is partitioned itself, or is foreign: make the next one by hand',
                c.relname)
            WHEN NOT pg_has_role(t.relowner, 'USAGE') THEN format('table %s belongs to %I, and only its owner can give it partitions: '
                'GRANT %2$I TO %3$I', t.relname, pg_get_userbyid(t.relowner), current_user)
            WHEN NOT has_schema_privilege(t.relowner, c.relnamespace, 'CREATE') THEN format('%I, who owns table %s, may not create tables: '
                'GRANT CREATE ON SCHEMA %s TO %1$I', pg_get_userbyid(t.relowner), t.relname, c.relnamespace::regnamespace)
            WHEN NOT has_schema_privilege(c.relnamespace, 'CREATE') THEN format('it may not create tables in schema %s: GRANT CREATE ON '
                'SCHEMA %1$s TO %2$I', c.relnamespace::regnamespace, current_user)
            WHEN g.names IS NOT NULL THEN format('partition %s has a trigger or rule that the table has not (%s): make it one of the '
                'table, or the next partition by hand', c.relname, g.names)
            WHEN u.names IS NOT NULL THEN format('publication %s names partition %s: name the table instead, or make the next partition by '
                'hand', u.names, c.relname)
        END
        FROM pg_class AS c
        JOIN pg_class AS t ON t.oid = p_table
        CROSS JOIN LATERAL (
            SELECT string_agg(o.name, ', ' ORDER BY o.name) AS names
            FROM (
                SELECT r.tgname FROM pg_trigger AS r WHERE r.tgrelid = c.oid AND NOT r.tgisinternal AND r.tgparentid = 0
                UNION ALL
                SELECT w.rulename FROM pg_rewrite AS w WHERE w.ev_class = c.oid
            ) AS o(name)
        ) AS g
        CROSS JOIN LATERAL (
            SELECT string_agg(p.pubname, ', ' ORDER BY p.pubname) AS names
            FROM pg_publication_rel AS r
            JOIN pg_publication AS p ON p.oid = r.prpubid
            WHERE r.prrelid = c.oid
        ) AS u
        WHERE c.oid = p_like
    );
END
$windrow$;
--# comment on function partition_obstacle
COMMENT ON FUNCTION partition_obstacle(regclass, oid) IS
    'Why no partition of p_table can be made as p_like is: rights, or what only that one has; with the remedy. NULL: nothing.';

-- default_obstacle: what the default partition has of a range. To attach a partition, the server reads all of the default one, while
-- nobody else gets at it: 16 MiB are a few milliseconds.
--# create function default_obstacle
CREATE OR REPLACE FUNCTION default_obstacle(p_rule text, p_table regclass, p_from text, p_to text)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_default oid := (SELECT t.partdefid FROM pg_partitioned_table AS t WHERE t.partrelid = p_table);
    v_rows    bigint;
BEGIN
    IF v_default <> 0 THEN
        EXECUTE format(
            'SELECT count(*) FROM (SELECT FROM %s AS t WHERE t.%I >= %L AND t.%2$I < %4$L LIMIT 1001) AS x',
            p_table, (SELECT r.time_name FROM rule AS r WHERE r.rule = p_rule), p_from, p_to
        )
        INTO v_rows;
        IF v_rows > 0 THEN
            RETURN format('the default partition %s has %s rows of its time: move them, and make it by hand (docs/partitions.md)',
                v_default::regclass, CASE WHEN v_rows > 1000 THEN 'more than 1000' ELSE v_rows::text END);
        END IF;
        IF pg_relation_size(v_default) > 16 * 1024 * 1024 THEN
            RETURN format('the default partition %s has %s: PostgreSQL would read all of it while nobody gets at it: empty it, or make the '
                'partition by hand', v_default::regclass, pg_size_pretty(pg_relation_size(v_default)));
        END IF;
    END IF;
    RETURN NULL;
END
$windrow$;
--# comment on function default_obstacle
COMMENT ON FUNCTION default_obstacle(text, regclass, text, text) IS
    'Why the default partition of p_table keeps one from p_from to p_to from being made. NULL: it does not. Counts to 1000.';

-- partition_keys: the foreign keys of a partition that its table has not. One to a partition of another table of the rule is
-- made to that of the same time, and one to the partition itself to the new one.
--# create function partition_keys
CREATE OR REPLACE FUNCTION partition_keys(p_rule text, p_like oid, p_from text, p_to text)
RETURNS TABLE (o_key oid, o_twin oid, o_place bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN QUERY
    SELECT k.oid, CASE WHEN p.o_id IS NULL OR p.o_id = p_like THEN k.confrelid ELSE w.o_id END, p.o_place
    FROM pg_constraint AS k
    LEFT JOIN partitions_of(p_rule) AS p ON p.o_id = k.confrelid
    LEFT JOIN LATERAL (
        SELECT q.o_id
        FROM partitions_of(p_rule) AS q
        WHERE q.o_place = p.o_place
          AND q.o_from::timestamptz <= p_from::timestamptz
          AND coalesce(q.o_to::timestamptz, 'infinity') >= p_to::timestamptz
    ) AS w ON true
    WHERE k.conrelid = p_like
      AND k.contype = 'f'
      AND k.conparentid = 0
    ORDER BY k.conname;
END
$windrow$;
--# comment on function partition_keys
COMMENT ON FUNCTION partition_keys(text, oid, text, text) IS
    'The foreign keys of partition p_like that are its own, and which table those of a partition from p_from to p_to refer to: p_like, if '
    'it is itself; NULL, if there is none of that time yet. o_place: that of its partitioned table in the rule.';

-- keys_obstacle: which foreign key would refer to a partition that is not there, nor made before.
--# create function keys_obstacle
CREATE OR REPLACE FUNCTION keys_obstacle(
    p_rule text, p_like oid, p_from text, p_to text, p_places bigint[] DEFAULT '{}', p_spans tstzrange[] DEFAULT '{}'
)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT format('the foreign key %s of partition %s refers to a partition, and there is none of this time: make that one', c.conname,
            p_like::regclass)
        FROM partition_keys(p_rule, p_like, p_from, p_to) AS k
        JOIN pg_constraint AS c ON c.oid = k.o_key
        WHERE k.o_twin IS NULL
          AND NOT EXISTS (
              SELECT
              FROM unnest(p_places, p_spans) AS m(place, span)
              WHERE m.place = k.o_place
                AND m.span @> tstzrange(p_from::timestamptz, p_to::timestamptz)
          )
        ORDER BY c.conname
        LIMIT 1
    );
END
$windrow$;
--# comment on function keys_obstacle
COMMENT ON FUNCTION keys_obstacle(text, oid, text, text, bigint[], tstzrange[]) IS
    'Why the foreign keys of p_like keep one from p_from to p_to from being made; partitions of the tables at p_places are made before it, '
    'with p_spans. NULL: they do not.';

-- partitions_ahead: what is missing at an instant: the partitions that a rule should have and has not, parents first, with the neighbour
-- that each is made like, and what is in the way. Never more than 100 of a table: more come from a slip in the spec.
--# create function partitions_ahead
CREATE OR REPLACE FUNCTION partitions_ahead(p_rule text, p_as_of timestamptz)
RETURNS TABLE (o_place bigint, o_table text, o_name text, o_from text, o_to text, o_like oid, o_problem text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_most   constant integer := 100;
    v_rule   rule%ROWTYPE;
    v_now    timestamptz;
    v_until  timestamptz;
    v_id     regclass;
    v_like   record;
    v_schema text;
    v_gap    record;
    v_base   timestamp;
    v_number bigint;
    v_since  timestamptz;
    v_till   timestamptz;
    v_ranges tstzrange[];
    v_range  tstzrange;
    v_names  text[];
    v_placed bigint[] := '{}';
    v_spans  tstzrange[] := '{}';
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    v_now := clock_now(p_rule, p_as_of);
    v_until := clock_now(p_rule, p_as_of + make_interval(secs => (v_rule.document ->> 'ahead')::bigint));
    FOR o_place, o_table IN SELECT w.place, w.name FROM unnest(v_rule.tables) WITH ORDINALITY AS w(name, place) ORDER BY w.place DESC LOOP
        CONTINUE WHEN v_until IS NULL OR covered_until(p_rule, o_place, v_now) > v_until;
        o_name := '';
        o_from := NULL;
        o_to := NULL;
        v_id := to_regclass(format('%I.%I', (SELECT s.schema_name FROM spec AS s), o_table));
        SELECT i.* INTO v_like FROM partition_interval(p_rule, o_place) AS i;
        o_like := v_like.o_like;
        o_problem := coalesce(v_like.o_problem, partition_obstacle(v_id, o_like));
        IF o_problem IS NOT NULL THEN
            RETURN NEXT;
            CONTINUE;
        END IF;
        v_ranges := '{}';
        FOR v_gap IN
            SELECT g.since, g.till
            FROM (
                SELECT '-infinity'::timestamptz AS since, min(p.o_from::timestamptz) AS till
                FROM partitions_of(p_rule) AS p
                WHERE p.o_place = partitions_ahead.o_place
                UNION ALL
                SELECT p.o_to::timestamptz, coalesce(lead(p.o_from::timestamptz) OVER (ORDER BY p.o_from::timestamptz), 'infinity')
                FROM partitions_of(p_rule) AS p
                WHERE p.o_place = partitions_ahead.o_place
                  AND p.o_from IS NOT NULL
            ) AS g
            WHERE g.since < g.till
              AND g.till > v_now
              AND g.since <= v_until
            ORDER BY g.since
        LOOP
            IF v_gap.since = '-infinity' THEN
                o_problem := format('it has partitions from %s on, and none before: make that of now by hand', v_gap.till::text);
                CONTINUE;
            END IF;
            v_base := v_gap.since AT TIME ZONE v_like.o_zone;
            -- A midnight that the clocks leave out.
            IF v_like.o_step >= interval '1 day' AND date_trunc('day', v_base) AT TIME ZONE v_like.o_zone = v_gap.since THEN
                v_base := date_trunc('day', v_base);
            END IF;
            -- Those that are over are not needed any more.
            v_number := greatest(floor(extract(epoch FROM v_now - v_gap.since) / (
                extract(epoch FROM v_like.o_step) + 86400 * (extract(month FROM v_like.o_step) + extract(year FROM v_like.o_step))
            )) - 2, 0);
            v_since := CASE v_number WHEN 0 THEN v_gap.since ELSE (v_base + v_number * v_like.o_step) AT TIME ZONE v_like.o_zone END;
            WHILE v_since <= v_until AND v_since < v_gap.till AND cardinality(v_ranges) <= v_most LOOP
                v_number := v_number + 1;
                v_till := (v_base + v_number * v_like.o_step) AT TIME ZONE v_like.o_zone;
                IF v_till > v_gap.till THEN
                    o_problem := format('what is missing from %s to %s is not as wide as its newest partitions: make it by hand',
                        v_since::text, v_gap.till::text);
                    EXIT;
                END IF;
                IF v_till > v_now THEN
                    v_ranges := v_ranges || tstzrange(v_since, v_till);
                END IF;
                v_since := v_till;
            END LOOP;
        END LOOP;
        IF cardinality(v_ranges) > v_most THEN
            o_problem := format('ahead = %s s needs more than %s partitions as wide as %s: write a shorter `ahead`',
                v_rule.document ->> 'ahead', v_most, v_like.o_name);
            v_ranges := '{}';
        END IF;
        IF o_problem IS NOT NULL THEN
            RETURN NEXT;
        END IF;
        v_names := '{}';
        v_schema := (SELECT n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = o_like);
        FOREACH v_range IN ARRAY v_ranges LOOP
            o_name := partition_called(o_table, v_schema, (SELECT c.relname FROM pg_class AS c WHERE c.oid = o_like),
                tstzrange(v_like.o_since, v_like.o_till), v_range, v_like.o_zone, v_names);
            v_names := v_names || o_name;
            o_from := bound_text(p_rule, lower(v_range));
            o_to := bound_text(p_rule, upper(v_range));
            o_problem := CASE WHEN o_name IS NULL THEN 'no name for it is free: make it by hand'
                ELSE coalesce(default_obstacle(p_rule, v_id, o_from, o_to), keys_obstacle(p_rule, o_like, o_from, o_to, v_placed, v_spans))
                END;
            o_name := coalesce(o_name, o_from);
            IF o_problem IS NULL THEN
                v_placed := v_placed || o_place;
                v_spans := v_spans || v_range;
            END IF;
            RETURN NEXT;
        END LOOP;
    END LOOP;
END
$windrow$;
--# comment on function partitions_ahead
COMMENT ON FUNCTION partitions_ahead(text, timestamptz) IS
    'The partitions that p_rule should have at p_as_of and has not, with their bounds and the one that each is made like; o_problem: why '
    'it cannot be made, or with an empty name none of the table. Reads only.';

-- bound_text: a time as a bound of a rule is written.
--# create function bound_text
CREATE OR REPLACE FUNCTION bound_text(p_rule text, p_at timestamptz)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT CASE WHEN r.document ? 'dates' THEN p_at::date::text WHEN r.zoned THEN p_at::text ELSE p_at::timestamp::text END
        FROM rule AS r
        WHERE r.rule = p_rule
    );
END
$windrow$;
--# comment on function bound_text
COMMENT ON FUNCTION bound_text(text, timestamptz) IS
    'p_at, which clock_now() and the like compute with, as a text of the type of the bounds of p_rule.';

-- record_ahead: a partition that a run made, or could not make. It ends red where the table would run out: where less than half of
-- `ahead` is left.
--# create function record_ahead
CREATE OR REPLACE FUNCTION record_ahead(p_run bigint, p_rule text, p_of run_ahead)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_run   run%ROWTYPE;
    v_place bigint;
    v_half  interval;
BEGIN
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    INSERT INTO run_ahead (run_id, rule, table_name, name, from_bound, to_bound, problem, sqlstate)
    VALUES (p_run, p_rule, p_of.table_name, p_of.name, p_of.from_bound, p_of.to_bound, p_of.problem, p_of.sqlstate)
    ON CONFLICT (run_id, rule, table_name, name) DO NOTHING;
    IF p_of.problem IS NOT NULL AND NOT v_run.dry_run THEN
        SELECT array_position(r.tables, p_of.table_name), make_interval(secs => (r.document ->> 'ahead')::bigint / 2)
        INTO v_place, v_half
        FROM rule AS r
        WHERE r.rule = p_rule;
        IF covered_until(p_rule, v_place, clock_now(p_rule, v_run.as_of)) < clock_now(p_rule, v_run.as_of + v_half) THEN
            PERFORM record_failure(p_run, p_rule, coalesce(nullif(p_of.name, ''), p_of.table_name), coalesce(p_of.sqlstate, '55000'),
                'not made in advance: ' || p_of.problem);
        END IF;
    END IF;
END
$windrow$;
--# comment on function record_ahead
COMMENT ON FUNCTION record_ahead(bigint, text, run_ahead) IS
    'Writes to run_ahead that run p_run made a partition, or why it could not, and to run_failure where its table would run out.';

-- ahead_step: the next partition that a run makes, before it drops any, in the caller's transaction.
--# create function ahead_step
CREATE OR REPLACE FUNCTION ahead_step(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_run      run%ROWTYPE;
    v_part     record;
    v_of       run_ahead%ROWTYPE;
    v_state    text;
    v_sqlstate text;
    v_message  text;
BEGIN
    SELECT * INTO STRICT v_run FROM run AS r WHERE r.run_id = p_run;
    FOR v_part IN
        SELECT a.*
        FROM partitions_ahead(p_rule, v_run.as_of) AS a
        WHERE NOT EXISTS (
            SELECT
            FROM run_ahead AS d
            WHERE d.run_id = p_run
              AND d.rule = p_rule
              AND d.table_name = a.o_table
              AND (d.name = a.o_name OR d.sqlstate IS NOT NULL)
        )
    LOOP
        v_of.table_name := v_part.o_table;
        v_of.name := v_part.o_name;
        v_of.from_bound := v_part.o_from;
        v_of.to_bound := v_part.o_to;
        v_of.problem := v_part.o_problem;
        v_of.sqlstate := NULL;
        IF v_part.o_problem IS NULL AND NOT v_run.dry_run THEN
            BEGIN
                PERFORM make_ahead(p_rule, v_part.o_place, v_part.o_like, v_part.o_name, v_part.o_from, v_part.o_to);
            EXCEPTION
                WHEN query_canceled THEN
                    RETURN 'cancelled';
                WHEN OTHERS OR assert_failure THEN
                    GET STACKED DIAGNOSTICS v_sqlstate = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT;
            END;
            IF v_sqlstate IS NOT NULL THEN
                IF is_busy(v_sqlstate) THEN
                    v_state := fail_step(p_run, p_rule, v_sqlstate, v_message, NULL, NULL);
                    IF v_state IS NOT NULL THEN
                        RETURN v_state;
                    END IF;
                END IF;
                v_of.problem := format('%s: %s', CASE WHEN is_busy(v_sqlstate) THEN 'LOCKED' ELSE 'FAILED' END, v_message);
                v_of.sqlstate := v_sqlstate;
                -- Somebody else has made it meanwhile.
                IF NOT EXISTS (
                    SELECT
                    FROM partitions_ahead(p_rule, v_run.as_of) AS a
                    WHERE a.o_table = v_part.o_table
                      AND a.o_from = v_part.o_from
                ) THEN
                    RETURN 'more';
                END IF;
            END IF;
        END IF;
        PERFORM record_ahead(p_run, p_rule, v_of);
        -- Each is made in a transaction of its own, which gives its locks back.
        IF v_of.problem IS NULL AND NOT v_run.dry_run OR v_of.sqlstate IS NOT NULL THEN
            UPDATE run_rule AS r
            SET retries_in_row = 0,
                updated_at = clock_timestamp()
            WHERE r.run_id = p_run
              AND r.rule = p_rule;
            RETURN 'more';
        END IF;
    END LOOP;
    RETURN NULL;
END
$windrow$;
--# comment on function ahead_step
COMMENT ON FUNCTION ahead_step(bigint, text) IS
    'Makes the next partition in advance for run p_run, with its entry in run_ahead; answers more or again, or NULL where none is to be '
    'made. A dry run only notes them. partition_step() calls it.';

-- make_ahead: makes a partition like its neighbour.
--# create function make_ahead
CREATE OR REPLACE FUNCTION make_ahead(p_rule text, p_place bigint, p_like oid, p_name text, p_from text, p_to text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_keys  oid[];
    v_twins oid[];
    v_lost  text := keys_obstacle(p_rule, p_like, p_from, p_to);
BEGIN
    IF v_lost IS NOT NULL THEN
        RAISE EXCEPTION '%', v_lost USING ERRCODE = '55000';
    END IF;
    SELECT coalesce(array_agg(k.o_key), '{}'), coalesce(array_agg(k.o_twin), '{}')
    INTO v_keys, v_twins
    FROM partition_keys(p_rule, p_like, p_from, p_to) AS k;
    EXECUTE format('SELECT %s($1, $2, $3, $4, $5, $6, $7, $8)', routine_of(p_rule, 'make_partition'))
    USING p_place::integer, p_like, p_name, p_from, p_to, v_keys, v_twins, setting_of(p_rule, 'lock_timeout')::integer;
END
$windrow$;
--# comment on function make_ahead
COMMENT ON FUNCTION make_ahead(text, bigint, oid, text, text, text) IS
    'Makes partition p_name from p_from to p_to of the table at p_place of p_rule like partition p_like, in the caller''s transaction.';

-- ahead_missing: whether a run has partitions to make in advance, or something to say of them.
--# create function ahead_missing
CREATE OR REPLACE FUNCTION ahead_missing(p_rule text, p_as_of timestamptz)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN EXISTS (SELECT FROM partitions_ahead(p_rule, p_as_of));
END
$windrow$;
--# comment on function ahead_missing
COMMENT ON FUNCTION ahead_missing(text, timestamptz) IS
    'Whether p_rule lacks partitions that it should have in advance at p_as_of. Reads only.';

-- with_ahead: the preview of a rule with what would be made in advance.
--# create function with_ahead
CREATE OR REPLACE FUNCTION with_ahead(p_document json, p_rule text, p_as_of timestamptz)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF (SELECT r.document ? 'ahead' FROM rule AS r WHERE r.rule = p_rule) THEN
        RETURN (
            SELECT format(
                '%s, "made": %s, "not_made": %s}', rtrim(rtrim(p_document::text), '}'),
                coalesce(json_agg(a.o_name ORDER BY a.o_place DESC, a.o_from) FILTER (WHERE a.o_problem IS NULL), '[]'),
                coalesce(json_object_agg(coalesce(nullif(a.o_name, ''), a.o_table), a.o_problem ORDER BY a.o_place DESC, a.o_from)
                    FILTER (WHERE a.o_problem IS NOT NULL), '{}')
            )
            FROM partitions_ahead(p_rule, p_as_of) AS a
        );
    END IF;
    RETURN p_document;
END
$windrow$;
--# comment on function with_ahead
COMMENT ON FUNCTION with_ahead(json, text, timestamptz) IS
    'p_document, the preview of p_rule, with the partitions that a run would make in advance, and those that it could not. Reads only.';

-- made_by: what a run made in advance.
--# create function made_by
CREATE OR REPLACE FUNCTION made_by(p_run bigint, p_rule text, OUT o_made json, OUT o_not_made json)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    SELECT
        coalesce(json_agg(a.name ORDER BY a.made_at, a.from_bound) FILTER (WHERE a.problem IS NULL), '[]'),
        coalesce(json_object_agg(coalesce(nullif(a.name, ''), a.table_name), a.problem ORDER BY a.made_at, a.from_bound)
            FILTER (WHERE a.problem IS NOT NULL), '{}')
    INTO o_made, o_not_made
    FROM run_ahead AS a
    WHERE a.run_id = p_run
      AND a.rule = p_rule;
END
$windrow$;
--# comment on function made_by
COMMENT ON FUNCTION made_by(bigint, text) IS
    'The partitions that run p_run made in advance, and what it could not make, and why.';

-- partition_watch: what verify() says of the partitions of a rule: whether there are some for the next time, and what is in the default
-- ones, up to 1001 rows.
--# create function partition_watch
CREATE OR REPLACE FUNCTION partition_watch(p_rule text)
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET row_security = off
AS $windrow$
DECLARE
    v_now    timestamptz := clock_timestamp();
    v_then   timestamptz;
    v_table  record;
    v_until  timestamptz;
    v_wide   text;
    v_rows   bigint;
    v_checks jsonb := '[]';
BEGIN
    SELECT clock_now(p_rule, v_now + make_interval(secs => coalesce((r.document ->> 'ahead')::bigint / 2, 86400)))
    INTO v_then
    FROM rule AS r
    WHERE r.rule = p_rule;
    FOR v_table IN
        SELECT w.place, w.name, nullif(t.partdefid, 0)::regclass AS rest, r.document ? 'ahead' AS makes
        FROM rule AS r
        CROSS JOIN spec AS s
        CROSS JOIN LATERAL unnest(r.tables) WITH ORDINALITY AS w(name, place)
        JOIN pg_partitioned_table AS t ON t.partrelid = to_regclass(format('%I.%I', s.schema_name, w.name))
        WHERE r.rule = p_rule
        ORDER BY w.place
    LOOP
        v_until := covered_until(p_rule, v_table.place, clock_now(p_rule, v_now));
        v_wide := CASE WHEN v_table.makes AND v_until < 'infinity' THEN (SELECT i.o_problem FROM partition_interval(p_rule, v_table.place)
            AS i) END;
        v_checks := v_checks || jsonb_build_object(
            'position', 1,
            'check_name', 'ahead',
            'object', format('%s %s', p_rule, v_table.name),
            'severity', CASE
                WHEN v_until >= v_then AND v_wide IS NULL THEN 'ok'
                WHEN v_until >= v_then OR v_table.rest IS NOT NULL THEN 'notice'
                ELSE 'violation'
            END,
            'count', 1,
            'detail', concat(
                CASE
                    WHEN v_until = 'infinity' THEN 'it has a partition without an end'
                    WHEN v_until >= v_then THEN format('it has partitions up to %s', bound_text(p_rule, v_until))
                    ELSE format('it has no partition for rows from %s on, which %s', bound_text(p_rule, v_until),
                        CASE WHEN v_table.rest IS NULL THEN 'are refused' ELSE 'go to the default one' END)
                END,
                '; none can be made in advance: ' || v_wide
            )
        );
        IF v_table.rest IS NOT NULL THEN
            BEGIN
                EXECUTE format('SELECT count(*) FROM (SELECT FROM %s LIMIT 1001) AS x', v_table.rest) INTO v_rows;
                v_checks := v_checks || jsonb_build_object(
                    'position', 1,
                    'check_name', 'rest',
                    'object', format('%s %s', p_rule, v_table.rest),
                    'severity', CASE v_rows WHEN 0 THEN 'ok' ELSE 'notice' END,
                    'count', v_rows,
                    'detail', 'rows in the default partition, counted to 1001: no run deletes them, and no partition of their time can be '
                        'made'
                );
            EXCEPTION WHEN insufficient_privilege THEN
                -- A run says so.
                NULL;
            END;
        END IF;
    END LOOP;
    IF EXISTS (SELECT FROM rule AS r WHERE r.rule = p_rule AND r.document ? 'archive') THEN
        v_checks := v_checks || archived_watch(p_rule);
    END IF;
    RETURN v_checks;
END
$windrow$;
--# comment on function partition_watch
COMMENT ON FUNCTION partition_watch(text) IS
    'Up to when the tables of p_rule have partitions, and how many rows are in their default ones, as checks of verify(). Reads only.';
