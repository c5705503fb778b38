-- outlook: how much is due by rule, how it is spread over time, and how much becomes due next; for windrow plan.
--# create function outlook
CREATE OR REPLACE FUNCTION outlook(p_options jsonb DEFAULT '{}')
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
--+ printed.sql
SET row_security = off
SET jit = off
AS $windrow$
DECLARE
    v_now   timestamptz := clock_timestamp();
    v_then  timestamptz;
    v_limit bigint;
    v_parts bigint;
    v_rule  rule%ROWTYPE;
    v_along text;
    v_from  text;
    v_soon  bigint;
    v_due   json;
    v_rules json[] := '{}';
BEGIN
    PERFORM check_options(p_options, ARRAY['rule', 'limit', 'parts', 'ahead']);
    IF p_options ? 'rule' THEN
        PERFORM check_rule(p_options);
    END IF;
    IF coalesce(p_options ->> 'limit', '1') !~ '^[1-9][0-9]{0,17}$' OR coalesce(p_options ->> 'parts', '1') !~ '^[1-9][0-9]{0,3}$' THEN
        RAISE EXCEPTION 'limit and parts are not numbers above 0'
            USING ERRCODE = '22023', HINT = 'Write them like {"limit": 1000000, "parts": 10}.';
    END IF;
    v_limit := coalesce((p_options ->> 'limit')::bigint, 1000000);
    v_parts := coalesce((p_options ->> 'parts')::bigint, 10);
    v_then := v_now + make_interval(secs => coalesce(seconds(p_options ->> 'ahead'), 604800));
    FOR v_rule IN SELECT r.* FROM rule AS r WHERE r.rule = coalesce(p_options ->> 'rule', r.rule) ORDER BY r.position LOOP
        IF v_rule.strategy = 'end-time' THEN
            -- What is younger than the cutoff of now and older than that of then, of whatever scope.
            v_along := v_rule.document ->> 'along';
            v_from := '-infinity';
            IF v_along = 'ended' THEN
                EXECUTE format(
                    'SELECT min(s.cutoff)::text FROM %s($1, NULL, NULL) AS s WHERE s.cutoff > %L',
                    routine_of(v_rule.rule, 'scope'), v_from
                )
                INTO v_from
                USING v_now;
            END IF;
            EXECUTE format(
                $count$
                SELECT CASE WHEN greatest(s.later, s.now) < $3 THEN s.later - s.now END
                FROM (
                    SELECT
                        (SELECT count(*) FROM %1$s($2, NULL, NULL, %2$L, %3$L, $3)) AS later,
                        (SELECT count(*) FROM %1$s($1, NULL, NULL, %2$L, %3$L, $3)) AS now
                ) AS s
                $count$,
                routine_of(v_rule.rule, 'next'), v_from, v_rule.document ->> 'first_key'
            )
            INTO v_soon
            USING v_now, v_then, v_limit;
        ELSIF v_rule.strategy IN ('removal-time', 'age', 'partition') THEN
            v_along := 'ended';
            v_from := cutoff_call(v_rule.rule, '$1');
            -- A strategy that no rule has is not installed.
            IF v_rule.strategy = 'partition' THEN
                v_from := due_partitions(v_rule.rule, v_from, '$2', '$3');
            ELSE
                v_from := due_timed(v_rule.rule, v_from, '$2', '$3');
            END IF;
            EXECUTE format('SELECT CASE WHEN count(*) < $3 THEN count(*) END FROM %s AS n', v_from)
            INTO v_soon
            USING v_now, v_then, v_limit;
        ELSE
            v_along := NULL;
            SELECT json_build_object('rule', v_rule.rule, 'families', o.families, 'complete', o.complete, 'parts', '[]'::json, 'ahead',
                NULL)
            INTO v_due
            FROM single_overdue(v_rule.rule, v_now, v_limit) AS o;
        END IF;
        IF v_along IS NOT NULL THEN
            EXECUTE format(
                $parts$
                SELECT json_build_object(
                    'rule', $3,
                    'families', coalesce(sum(p.families), 0),
                    'complete', coalesce(sum(p.families), 0) < $2,
                    'parts', coalesce(json_agg(json_build_object('from', p.since, 'families', p.families) ORDER BY p.part), '[]'),
                    'ahead', $4
                )
                FROM (
                    SELECT d.part, min(d.due) AS since, count(*) AS families
                    FROM (
                        SELECT n.%1$I AS due, (row_number() OVER (ORDER BY n.%1$I) - 1) * $5 / count(*) OVER () AS part
                        FROM %2$s AS n
                    ) AS d
                    GROUP BY d.part
                ) AS p
                $parts$,
                v_along, due_query(v_rule.rule)
            )
            INTO v_due
            USING v_now, v_limit, v_rule.rule, v_soon, v_parts;
        END IF;
        v_rules := v_rules || v_due;
    END LOOP;
    RETURN json_build_object('as_of', v_now, 'rules', to_json(v_rules));
END
$windrow$;
--# comment on function outlook
COMMENT ON FUNCTION outlook(jsonb) IS
    'By rule, families that are due, whether or not they may be deleted, counted up to limit; parts: when each of this many equal '
    'parts of them begins, the oldest first, by the application''s clock; ahead: how many more become due within that time. Reads '
    'only, at most '
    'limit entries of an index three times. Example: SELECT outlook(''{"limit": 1000000, "parts": 10, "ahead": "7d"}'');';
