-- seconds: '30d', '1d12h', 'P30D', 'PT90M' as seconds. Months and years are not a fixed length.
--# create function seconds
CREATE OR REPLACE FUNCTION seconds(p_duration text)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_part text[];
    v_sum  bigint := 0;
BEGIN
    -- In ISO-8601 an M before the T is a month.
    IF p_duration ~ '^([0-9]+[wdhms])+$|^P([0-9]+[WD])*(T([0-9]+[HMS])+)?$' THEN
        v_part := regexp_match(upper(p_duration),
            '^P?(?:([0-9]{1,9})W)?(?:([0-9]{1,9})D)?T?(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})S)?$');
    END IF;
    IF v_part IS NULL OR coalesce(array_to_string(v_part, ''), '') = '' THEN
        RAISE EXCEPTION 'not a duration: %', quote_literal(p_duration)
            USING ERRCODE = '22023', HINT = 'Write it like 30d, 12h, 90m, 45s, 1d12h or P30D.';
    END IF;
    v_sum := coalesce(v_part[1]::bigint, 0) * 604800
           + coalesce(v_part[2]::bigint, 0) * 86400
           + coalesce(v_part[3]::bigint, 0) * 3600
           + coalesce(v_part[4]::bigint, 0) * 60
           + coalesce(v_part[5]::bigint, 0);
    -- A thousand years: beyond, the calendar of timestamps ends, and every run with it.
    IF v_sum > 31557600000 THEN
        RAISE EXCEPTION 'too long a duration: %', quote_literal(p_duration)
            USING ERRCODE = '22023', HINT = 'The longest one is a thousand years.';
    END IF;
    RETURN v_sum;
END
$windrow$;
--# comment on function seconds
COMMENT ON FUNCTION seconds(text) IS
    'Seconds of a duration like 30d, 1d12h or P30D. Example: SELECT seconds(''30d'');';

-- run_ends: when a run ends that may last until its deadline. A statement_timeout of the session, the role or the database, which
-- counts from the CALL on, would cancel it as it works: the run ends by itself before that, and the next one continues.
--# create function run_ends
CREATE OR REPLACE FUNCTION run_ends(p_deadline timestamptz)
RETURNS timestamptz
LANGUAGE sql STABLE
SET search_path FROM CURRENT
AS $windrow$
    SELECT CASE WHEN t.most > '0' THEN least(p_deadline, statement_timestamp() + 0.8 * t.most) ELSE p_deadline END
    FROM (SELECT current_setting('statement_timeout')::interval AS most) AS t
$windrow$;
--# comment on function run_ends
COMMENT ON FUNCTION run_ends(timestamptz) IS
    'The deadline of a run, or 80 % of the statement_timeout of the session, whichever is first. Example: SELECT run_ends(''infinity'');';

-- instant_of: an ISO-8601 text as an instant. The server's own parser would accept words such as yesterday, and follow DateStyle.
--# create function instant_of
CREATE OR REPLACE FUNCTION instant_of(p_text text)
RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_instant timestamptz;
BEGIN
    IF p_text ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T '
        ']([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)?)?$' THEN
        -- Digits after the microseconds are ignored; the servers would round them differently.
        v_instant := regexp_replace(p_text, '([.][0-9]{6})[0-9]+', E'\\1')::timestamptz;
        -- A zone may lead beyond the years that the others have.
        IF v_instant >= '0001-01-01' AND v_instant < '10000-01-01' THEN
            RETURN v_instant;
        END IF;
    END IF;
    RETURN NULL;
EXCEPTION WHEN data_exception THEN
    -- It looks like an instant, but does not exist in the calendar.
    RETURN NULL;
END
$windrow$;
--# comment on function instant_of
COMMENT ON FUNCTION instant_of(text) IS
    'The instant of a text like 2027-01-01, 2027-01-01T08:30Z or 2027-01-01T08:30:00.5+02:00, in UTC where no zone is named; NULL if it is '
    'none. Example: SELECT instant_of(''2027-01-01'');';
-- calendar_before: the instant p_seconds before another, where 86,400 seconds are a day of the calendar: the clock of the
-- zone shows the same time then. A time that the clock showed twice is the first of the two. For one that it never showed,
-- as it was put forward, its distance from UTC before and after gives two instants; the earlier one counts.
--# create function calendar_before
CREATE OR REPLACE FUNCTION calendar_before(p_as_of timestamptz, p_seconds bigint, p_zone text)
RETURNS timestamptz
LANGUAGE sql STABLE STRICT
SET search_path FROM CURRENT
AS $windrow$
    SELECT CASE
        WHEN r.early AT TIME ZONE p_zone = r.clock OR r.late AT TIME ZONE p_zone <> r.clock THEN r.early
        ELSE r.late
    END
    FROM (
        SELECT
            c.clock,
            (c.clock - greatest(o.before, o.after)) AT TIME ZONE 'UTC' AS early,
            (c.clock - least(o.before, o.after)) AT TIME ZONE 'UTC' AS late
        FROM (
            SELECT (p_as_of - make_interval(secs => p_seconds % 86400)) AT TIME ZONE p_zone
                - make_interval(days => (p_seconds / 86400)::integer)
        ) AS c(clock)
        -- The zone's distance from UTC about a day before and a day after.
        CROSS JOIN LATERAL (
            SELECT
                (c.clock - interval '24 hours') AT TIME ZONE 'UTC' AT TIME ZONE p_zone - (c.clock - interval '24 hours'),
                (c.clock + interval '24 hours') AT TIME ZONE 'UTC' AT TIME ZONE p_zone - (c.clock + interval '24 hours')
        ) AS o(before, after)
    ) AS r;
$windrow$;
--# comment on function calendar_before
COMMENT ON FUNCTION calendar_before(timestamptz, bigint, text) IS
    'The instant p_seconds before p_as_of, with the days of the calendar in p_zone. Example: SELECT calendar_before(now(), 30 * '
    '86400, ''Europe/Berlin'');';
-- check_options: an unknown option is an error, and so is a null: whoever had nothing to say has not said "all", nor "do it". Only a
-- setting and the windows are given back to the spec by one.
--# create function check_options
CREATE OR REPLACE FUNCTION check_options(p_options jsonb, p_known text[])
RETURNS void
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_name text;
BEGIN
    IF p_options IS NULL OR jsonb_typeof(p_options) <> 'object' THEN
        RAISE EXCEPTION 'the options are not a JSON object'
            USING ERRCODE = '22023', HINT = 'Pass ''{}'' for the defaults.';
    END IF;
    FOR v_name IN SELECT o.name FROM jsonb_object_keys(p_options) AS o(name) ORDER BY o.name LOOP
        IF v_name <> ALL (p_known) THEN
            RAISE EXCEPTION 'unknown option: %', quote_literal(v_name)
                USING ERRCODE = '22023', HINT = format('The options are: %s.', array_to_string(p_known, ', '));
        END IF;
        IF jsonb_path_exists(p_options -> v_name, '$[*] ? (@ == null)')
            AND NOT (v_name IN ('value', 'windows') AND p_options -> v_name = 'null') THEN
            RAISE EXCEPTION 'null is no value of the option %', v_name
                USING ERRCODE = '22023', HINT = 'Leave the option out, or give it a value.';
        END IF;
    END LOOP;
END
$windrow$;
--# comment on function check_options
COMMENT ON FUNCTION check_options(jsonb, text[]) IS
    'Raises 22023 for an option that is not in the list of known ones, and for a null.';

-- check_rule: the rule that an option document names, or the only one.
--# create function check_rule
CREATE OR REPLACE FUNCTION check_rule(p_options jsonb)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rules constant text[] := ARRAY(SELECT e.value FROM spec AS s CROSS
        JOIN LATERAL jsonb_array_elements_text(s.document -> 'rules') AS e);
    v_rule  text := p_options ->> 'rule';
BEGIN
    IF v_rule IS NULL AND cardinality(v_rules) = 1 THEN
        RETURN v_rules[1];
    END IF;
    IF v_rule IS NULL THEN
        RAISE EXCEPTION 'the option rule is missing: there are % rules', cardinality(v_rules)
            USING ERRCODE = '22023', HINT = format('Name one of them: %s.', array_to_string(v_rules, ', '));
    END IF;
    IF v_rule IS NULL OR v_rule <> ALL (v_rules) THEN
        RAISE EXCEPTION 'no such rule: %', quote_nullable(v_rule)
            USING ERRCODE = '22023', HINT = format('The rules are: %s.', array_to_string(v_rules, ', '));
    END IF;
    RETURN v_rule;
END
$windrow$;
--# comment on function check_rule
COMMENT ON FUNCTION check_rule(jsonb) IS
    'The rule that the options name; where the spec has one rule it may be left out.';

-- check_run_options: the options of run() and preview(), checked before anything happens. Answers the pinned instant.
--# create function check_run_options
CREATE OR REPLACE FUNCTION check_run_options(p_options jsonb)
RETURNS timestamptz
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_of      record;
    v_workers integer := (SELECT s.workers FROM spec AS s);
    v_as_of   timestamptz := clock_timestamp();
BEGIN
    IF p_options ? 'rule' THEN
        PERFORM check_rule(p_options);
    END IF;
    IF p_options ? 'as_of' THEN
        v_as_of := instant_of(p_options ->> 'as_of');
        IF v_as_of IS NULL OR v_as_of > clock_timestamp() THEN
            RAISE EXCEPTION 'as_of is not an instant of the past: %', quote_nullable(p_options ->> 'as_of')
                USING ERRCODE = '22023', HINT = format('Write it like %s; without a zone it is UTC. It cannot be after the clock of the '
                    'database.', to_char(clock_timestamp(), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
        END IF;
    END IF;
    FOR v_of IN
        SELECT
            r.rule, r.strategy, r.root, r.minimum, r.retained, r.time_name, r.zoned, r.scope_name, r.scope_pattern,
            CASE WHEN count(*) OVER () > 1 THEN ', or name another rule' END AS else_other
        FROM rule AS r
        ORDER BY r.position
    LOOP
        CONTINUE WHEN p_options ->> 'rule' <> v_of.rule;
        IF p_options ? 'retention' AND v_of.strategy = 'removal-time' THEN
            RAISE EXCEPTION 'rule % has no retention of its own', v_of.rule
                USING ERRCODE = '22023', HINT = format('The stored %s.%s holds it: leave the option retention out, or name another rule.',
                    v_of.root, v_of.time_name);
        ELSIF p_options ? 'retention' AND NOT v_of.retained THEN
            RAISE EXCEPTION 'rule % has no retention', v_of.rule
                USING ERRCODE = '22023', HINT = 'Its rows are deleted at any age: leave the option retention out, or name another rule.';
        ELSIF seconds(p_options ->> 'retention') < v_of.minimum THEN
            RAISE EXCEPTION 'a retention of % is below the minimum of rule %', p_options ->> 'retention', v_of.rule
                USING ERRCODE = '22023', HINT = format('The minimum is %s; it is set in the spec.', in_words(v_of.minimum));
        END IF;
        IF p_options ? 'scope' AND v_of.scope_name IS NULL THEN
            RAISE EXCEPTION 'rule % has no scopes', v_of.rule
                USING ERRCODE = '22023', HINT = concat('Leave the option scope out', v_of.else_other, '.');
        ELSIF p_options ->> 'scope' !~ v_of.scope_pattern THEN
            RAISE EXCEPTION 'not a scope of rule %: %', v_of.rule, quote_literal(p_options ->> 'scope')
                USING ERRCODE = '22023', HINT = format('A scope is a value of %s.%s.', v_of.root, v_of.scope_name);
        END IF;
    END LOOP;
    IF p_options ? 'from' THEN
        FOR v_of IN
            SELECT r.rule, CASE WHEN count(*) OVER () > 1 THEN ', or name another rule' END AS else_other
            FROM rule AS r
            WHERE r.strategy IN ('expiry', 'orphan', 'keep-last')
              AND coalesce(p_options ->> 'rule', r.rule) = r.rule
            ORDER BY r.position
            LIMIT 1
        LOOP
            RAISE EXCEPTION 'rule % is not ordered by a time', v_of.rule
                USING ERRCODE = '22023', HINT = concat('Leave the option from out', v_of.else_other, '.');
        END LOOP;
        IF instant_of(p_options ->> 'from') IS NULL THEN
            RAISE EXCEPTION 'from is not a time: %', quote_nullable(p_options ->> 'from')
                USING ERRCODE = '22023', HINT = 'Write it like 2026-01-31T12:00:00, by the clock of the application.';
        END IF;
        FOR v_of IN
            SELECT r.root, r.time_name
            FROM rule AS r
            WHERE NOT r.zoned
              AND p_options ->> 'from' ~ ':.*[Z+-]'
              AND coalesce(p_options ->> 'rule', r.rule) = r.rule
            ORDER BY r.position
            LIMIT 1
        LOOP
            RAISE EXCEPTION 'from has a zone: %', quote_nullable(p_options ->> 'from')
                USING ERRCODE = '22023', HINT = format('Write it like 2026-01-31T12:00:00, by the clock of the application: %s.%s has no '
                    'zone.', v_of.root, v_of.time_name);
        END LOOP;
    END IF;
    IF p_options ? 'run_families' AND (p_options ->> 'run_families' !~ '^[1-9][0-9]{0,17}$') IS NOT FALSE THEN
        RAISE EXCEPTION 'run_families is not a number above 0: %', quote_nullable(p_options ->> 'run_families')
            USING ERRCODE = '22023', HINT = 'Write it like {"run_families": 100}.';
    END IF;
    IF p_options ? 'time_budget' AND coalesce(seconds(p_options ->> 'time_budget'), 0) <= 0 THEN
        RAISE EXCEPTION 'time_budget is not a duration above 0: %', quote_nullable(p_options ->> 'time_budget')
            USING ERRCODE = '22023', HINT = 'Write it like {"time_budget": "10m"}.';
    END IF;
    IF p_options ? 'dry_run' AND jsonb_typeof(p_options -> 'dry_run') <> 'boolean' THEN
        RAISE EXCEPTION 'dry_run is not true or false: %', p_options -> 'dry_run'
            USING ERRCODE = '22023', HINT = 'Write {"dry_run": true}.';
    END IF;
    IF p_options ? 'worker' AND NOT coalesce(
        jsonb_typeof(p_options -> 'worker') = 'number' AND p_options ->> 'worker' ~ '^[1-9][0-9]?$'
            AND (p_options ->> 'worker')::integer <= v_workers,
        false
    ) THEN
        RAISE EXCEPTION 'worker is not a number from 1 to %: %', v_workers, quote_nullable(p_options ->> 'worker')
            USING ERRCODE = '22023', HINT = 'The spec says how many workers there are; without the option it is the first.';
    END IF;
    IF p_options ? 'trigger' AND (p_options ->> 'trigger' IN ('MANUAL', 'SCHEDULED')) IS NOT TRUE THEN
        RAISE EXCEPTION 'trigger is neither MANUAL nor SCHEDULED: %', quote_nullable(p_options ->> 'trigger')
            USING ERRCODE = '22023', HINT = 'Leave it out: MANUAL is the default.';
    END IF;
    RETURN v_as_of;
END
$windrow$;
--# comment on function check_run_options
COMMENT ON FUNCTION check_run_options(jsonb) IS
    'Raises 22023 with a hint for an option that makes no sense; answers the instant from which cutoffs are counted.';
