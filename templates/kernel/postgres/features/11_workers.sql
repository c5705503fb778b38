-- sweep: what the workers go through together, from the first root of the first rule to the last one of the last. A worker
-- that starts while others are at work joins them, with their cutoff; else it begins a new sweep. One row for each rule:
-- after which root or window the next claim begins, after which one the first began, whether the claims have come to the end since
-- and are of what lies before that, what the sweep before had claimed and not looked at, whether nothing is left after the cursor,
-- whether what was locked was handed out once more, which run saw the end of it, how many claims there were, and which place the rule
-- has in the order of the sweep.
--# create table sweep
CREATE TABLE IF NOT EXISTS sweep (
    rule        text    NOT NULL PRIMARY KEY,
    sweep_id    bigint,
    cursor_time text,
    cursor_key  text,
    start_time  text,
    start_key   text,
    around      boolean NOT NULL DEFAULT false,
    inherited   text[]  NOT NULL DEFAULT '{}',
    exhausted   boolean NOT NULL DEFAULT false,
    handed_out  boolean NOT NULL DEFAULT false,
    ended_by    bigint,
    claims      bigint  NOT NULL DEFAULT 0,
    turn        integer,
    ahead_keys  text[]  NOT NULL DEFAULT '{}',
    ahead_times text[]  NOT NULL DEFAULT '{}',
    ahead_at    bigint  NOT NULL DEFAULT 0
);
-- What the table of an earlier version lacks.
--# add columns to sweep
ALTER TABLE sweep
    ADD COLUMN IF NOT EXISTS claims bigint NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS turn integer,
    ADD COLUMN IF NOT EXISTS start_time text,
    ADD COLUMN IF NOT EXISTS start_key text,
    ADD COLUMN IF NOT EXISTS around boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS inherited text[] NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS ahead_keys text[] NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS ahead_times text[] NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS ahead_at bigint NOT NULL DEFAULT 0;
--# fill table sweep
INSERT INTO sweep (rule)
SELECT r.rule
FROM rule AS r
ON CONFLICT (rule) DO NOTHING;
--# comment on table sweep
COMMENT ON TABLE sweep IS
    'How far the current sweep of the workers has got, by rule. sweep_id: the run that began it. ahead: the roots by removal time or age '
    'that the next claims take, their times, and how many of them are claimed.';
--# create table run_claim
CREATE TABLE IF NOT EXISTS run_claim (
    run_id    bigint  NOT NULL,
    rule      text    NOT NULL,
    claimed   text[]  NOT NULL DEFAULT '{}',
    left_keys text[]  NOT NULL DEFAULT '{}',
    is_last   boolean NOT NULL DEFAULT false,
    alone     boolean NOT NULL DEFAULT false,
    through   boolean NOT NULL DEFAULT false,
    PRIMARY KEY (run_id, rule)
);
-- What the table of an earlier version lacks.
--# add columns to run_claim
ALTER TABLE run_claim
    ADD COLUMN IF NOT EXISTS alone boolean NOT NULL DEFAULT false,
    ADD COLUMN IF NOT EXISTS through boolean NOT NULL DEFAULT false;
--# comment on table run_claim
COMMENT ON TABLE run_claim IS
    'The roots, slices of time (from/to), or ranges of a pass through single rows, that a worker has claimed and not examined yet; '
    'those that it left because a row was locked, for the last claim of the sweep. alone: it works on the slices that follow families. '
    'through: it is through with the rule, and does not come back.';

-- at_others: another worker of the sweep that is at work: at p_rule, or before it in the order of the rules, or not through with it.
--# create function at_others
CREATE OR REPLACE FUNCTION at_others(p_run bigint, p_rule text, p_before boolean)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_turn  integer := (SELECT s.turn FROM sweep AS s WHERE s.rule = p_rule);
    v_other record;
BEGIN
    FOR v_other IN
        SELECT r.run_id, r.backend_pid, o.worker, o.at_rule
        FROM run_sweep AS s
        JOIN run_sweep AS o ON o.sweep_id = s.sweep_id AND o.run_id <> s.run_id
        JOIN run AS r ON r.run_id = o.run_id AND r.status = 'running'
        WHERE s.run_id = p_run
          AND (
              p_rule IS NULL
              OR CASE
                  WHEN p_before THEN (SELECT k.turn FROM sweep AS k WHERE k.rule = o.at_rule) < v_turn
                  WHEN NOT p_before THEN o.at_rule = p_rule
                  ELSE EXISTS (SELECT FROM run_claim AS c WHERE c.run_id = o.run_id AND c.rule = p_rule AND NOT c.through)
              END
          )
        ORDER BY o.worker
    LOOP
        IF is_alive(v_other.backend_pid) THEN
            RETURN format('worker %s, which is at rule %s', v_other.worker, v_other.at_rule);
        END IF;
    END LOOP;
    RETURN NULL;
END
$windrow$;
--# comment on function at_others
COMMENT ON FUNCTION at_others(bigint, text, boolean) IS
    'Which other worker of the sweep of run p_run is at p_rule, or with p_before at a rule before it, or if that is NULL, has still to '
    'look at it; without a rule, which one still runs. NULL: none.';

-- claims_left: what the sweep before had claimed and not looked at, where this one continues after that.
--# create function claims_left
CREATE OR REPLACE FUNCTION claims_left(p_run bigint, p_rule text)
RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (
        SELECT coalesce(array_agg(DISTINCT k.key), '{}')
        FROM run_rule AS p
        JOIN run_sweep AS o
            ON o.sweep_id = (
                SELECT s.sweep_id
                FROM run_sweep AS s
                JOIN sweeping AS b ON b.run_id = s.run_id AND NOT b.dry_run
                WHERE s.run_id BETWEEN p_run - 1000 AND p_run - 1
                ORDER BY s.run_id DESC
                LIMIT 1
            )
        JOIN run_claim AS c ON c.run_id = o.run_id AND c.rule = p_rule
        CROSS JOIN LATERAL unnest(c.claimed) AS k(key)
        WHERE p.run_id = p_run
          AND p.rule = p_rule
          AND p.start_time IS NOT NULL
    );
END
$windrow$;
--# comment on function claims_left
COMMENT ON FUNCTION claims_left(bigint, text) IS
    'The roots that the workers before run p_run claimed and did not look at, where that run continues after them.';

-- has_windows: whether windows follow the families of a rule. One worker alone goes through them, before the sweep starts again.
--# create function has_windows
CREATE OR REPLACE FUNCTION has_windows(p_rule text)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (SELECT coalesce(r.divided AND r.document ->> 'unit' = 'family', false) FROM rule AS r WHERE r.rule = p_rule);
END
$windrow$;
--# comment on function has_windows
COMMENT ON FUNCTION has_windows(text) IS
    'Whether windows of rows whose root is gone follow the families of p_rule.';

-- sweep_refuses: workers whose runs overlap would keep a sweep alive for ever. Its cutoff stands still, and rules that it is through
-- with are not visited again: a run joins no sweep that began longer ago than a run may take.
--# create function sweep_refuses
CREATE OR REPLACE FUNCTION sweep_refuses(p_budget bigint)
RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
SET timezone = 'UTC'
AS $windrow$
BEGIN
    RETURN (
        SELECT format(
            'run %s is in progress (pid %s, since %s), and the sweep of run %s, which it is part of, is older than the time budget: a new '
            'one begins when that run has ended',
            r.run_id, r.backend_pid, to_char(r.started_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), o.sweep_id
        )
        FROM run_sweep AS o
        JOIN run AS r ON r.run_id = o.run_id AND r.status = 'running'
        JOIN run AS f ON f.run_id = o.sweep_id
        WHERE clock_timestamp() >= greatest(f.deadline, f.started_at + make_interval(secs => p_budget))
        ORDER BY o.run_id
        LIMIT 1
    );
END
$windrow$;
--# comment on function sweep_refuses
COMMENT ON FUNCTION sweep_refuses(bigint) IS
    'Why a run with a time budget of p_budget seconds may not join the sweep under way: it is too old; NULL: it may, or there is none.';

-- sweep_join: a run becomes part of the sweep in progress, or begins a new one.
--# create function sweep_join
CREATE OR REPLACE FUNCTION sweep_join(p_run bigint, p_worker integer)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_sweep bigint;
    v_as_of timestamptz;
    v_order text[];
BEGIN
    -- Who says running is alive: the begin of a run closes the others.
    SELECT o.sweep_id, r.as_of
    INTO v_sweep, v_as_of
    FROM run_sweep AS o
    JOIN run AS r ON r.run_id = o.run_id AND r.status = 'running'
    ORDER BY o.run_id
    LIMIT 1;
    INSERT INTO run_sweep (run_id, sweep_id, worker)
    VALUES (p_run, coalesce(v_sweep, p_run), p_worker);
    INSERT INTO run_claim (run_id, rule)
    SELECT p.run_id, p.rule
    FROM run_rule AS p
    WHERE p.run_id = p_run;
    IF v_sweep IS NULL THEN
        v_order := rules_of(p_run);
        UPDATE sweep AS s
        SET sweep_id = p_run,
            cursor_time = p.start_time,
            cursor_key = p.start_key,
            start_time = p.start_time,
            start_key = p.start_key,
            around = false,
            inherited = claims_left(p_run, s.rule),
            -- A place among the windows that follow families has no key.
            exhausted = p.start_time IS NOT NULL AND p.start_key IS NULL AND has_windows(s.rule),
            handed_out = false,
            ended_by = NULL,
            turn = array_position(v_order, s.rule),
            ahead_keys = '{}',
            ahead_times = '{}',
            ahead_at = 0
        FROM rule AS r
        LEFT JOIN run_rule AS p ON p.run_id = p_run AND p.rule = r.rule
        WHERE s.rule = r.rule;
        -- Nothing here compares places of single rows: they are looked at again from the first claim on that was not looked at.
        UPDATE sweep AS s
        SET cursor_time = f.place,
            cursor_key = f.pass,
            start_time = f.place,
            start_key = f.pass,
            inherited = '{}'
        FROM (
            SELECT DISTINCT ON (r.rule)
                r.rule, c.claim ->> 'pass' AS pass, ARRAY(SELECT jsonb_array_elements_text(c.claim -> 'after'))::text AS place
            FROM rule AS r
            JOIN sweep AS o ON o.rule = r.rule
            CROSS JOIN LATERAL (SELECT k.claim::jsonb FROM unnest(o.inherited) AS k(claim)) AS c
            WHERE r.strategy IN ('expiry', 'orphan', 'keep-last')
            ORDER BY r.rule, (c.claim ->> 'number')::bigint
        ) AS f
        WHERE s.rule = f.rule;
        UPDATE run_claim AS c
        SET claimed = s.inherited
        FROM sweep AS s
        WHERE s.rule = c.rule
          AND c.run_id = p_run;
    ELSE
        UPDATE run AS r
        SET as_of = v_as_of
        WHERE r.run_id = p_run;
    END IF;
    -- The sweep starts again, not the one worker.
    UPDATE run_rule AS p
    SET start_time = NULL,
        start_key = NULL
    FROM rule AS r
    WHERE r.rule = p.rule
      AND r.divided
      AND p.run_id = p_run;
END
$windrow$;
--# comment on function sweep_join
COMMENT ON FUNCTION sweep_join(bigint, integer) IS
    'Makes run p_run, of worker p_worker, part of the sweep under way, with its cutoff, or begins a new sweep.';

-- sweep_enter: a worker moves to a rule when no worker is at an earlier one any more; to one whose rows are not divided, when no
-- worker is at it.
--# create function sweep_enter
CREATE OR REPLACE FUNCTION sweep_enter(p_run bigint, p_rule text, OUT o_wait text, OUT o_over boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = 0
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_waits   boolean;  -- whether it may find without a lock that it goes on waiting
    v_divided boolean := (SELECT r.divided FROM rule AS r WHERE r.rule = p_rule);
    v_at      text;
BEGIN
    SELECT s.ended_by IS NOT NULL, s.ended_by IS NULL AND w.at_rule IS NULL
    INTO STRICT o_over, v_waits
    FROM sweep AS s
    JOIN run_sweep AS w ON w.run_id = p_run
    WHERE s.rule = p_rule;
    LOOP
        IF NOT v_waits THEN
            SELECT s.ended_by IS NOT NULL INTO STRICT o_over FROM sweep AS s WHERE s.rule = p_rule FOR UPDATE;
        END IF;
        o_wait := at_others(p_run, p_rule, true);
        IF NOT v_divided THEN
            o_wait := coalesce(o_wait, at_others(p_run, p_rule, false));
        END IF;
        IF v_waits THEN
            o_wait := coalesce(o_wait, throttled(p_rule));
        END IF;
        IF v_waits AND o_wait IS NOT NULL THEN
            RETURN;
        END IF;
        EXIT WHEN NOT v_waits;
        v_waits := false;
    END LOOP;
    v_at := CASE WHEN o_wait IS NULL AND NOT o_over THEN p_rule END;
    UPDATE run_sweep AS s
    SET at_rule = v_at
    WHERE s.run_id = p_run
      AND s.at_rule IS DISTINCT FROM v_at;
END
$windrow$;
--# comment on function sweep_enter
COMMENT ON FUNCTION sweep_enter(bigint, text) IS
    'Run p_run goes to p_rule; o_wait: whom it waits for first; o_over: the sweep is through with the rule.';

-- sweep_around: the claims have come to the end. What lies before the place where the sweep began comes next.
--# create function sweep_around
CREATE OR REPLACE FUNCTION sweep_around(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    UPDATE sweep AS s
    SET cursor_time = NULL,
        cursor_key = NULL,
        around = true,
        exhausted = false,
        handed_out = false,
        ahead_keys = '{}',
        ahead_times = '{}',
        ahead_at = 0
    WHERE s.rule = p_rule
      AND s.start_time IS NOT NULL
      AND NOT s.around;
    IF NOT FOUND THEN
        RETURN 'nothing left';
    END IF;
    UPDATE run_claim AS c
    SET is_last = false,
        alone = false
    WHERE c.run_id = p_run
      AND c.rule = p_rule;
    -- Also of workers that went on with other rules meanwhile: they come back to other windows.
    UPDATE run_rule AS r
    SET batch_families = r.family_size,
        family_size = NULL
    FROM run_sweep AS w
    JOIN run_sweep AS o ON o.sweep_id = w.sweep_id
    WHERE w.run_id = p_run
      AND r.run_id = o.run_id
      AND r.rule = p_rule
      AND r.family_size IS NOT NULL;
    RETURN 'again';
END
$windrow$;
--# comment on function sweep_around
COMMENT ON FUNCTION sweep_around(bigint, text) IS
    'again, where what lies before the start of the sweep comes next at p_rule; nothing left, where that was looked at.';

-- sweep_rest: nothing is left after the cursor. What lies before the place where the sweep began comes next. Then who is the last
-- one at the rule looks once more at what was locked when it was visited, by another worker perhaps, and at what workers that are gone
-- had claimed. Where windows follow families, it goes through them after that, and before the sweep starts again.
--# create function sweep_rest
CREATE OR REPLACE FUNCTION sweep_rest(p_run bigint, p_rule text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_windows boolean := has_windows(p_rule);
    v_sweep   sweep%ROWTYPE;
    v_keys    text[] := '{}';
BEGIN
    IF NOT v_windows AND sweep_around(p_run, p_rule) = 'again' THEN
        RETURN 'again';
    END IF;
    UPDATE sweep AS s
    SET exhausted = true
    WHERE s.rule = p_rule
    RETURNING s.* INTO STRICT v_sweep;
    IF at_others(p_run, p_rule, false) IS NOT NULL THEN
        UPDATE run_sweep AS s SET at_rule = NULL WHERE s.run_id = p_run;
        RETURN 'nothing left';
    END IF;
    IF NOT v_sweep.handed_out THEN
        SELECT coalesce(array_agg(DISTINCT k.key), '{}')
        INTO v_keys
        FROM run_sweep AS o
        JOIN run_claim AS c ON c.run_id = o.run_id AND c.rule = p_rule
        CROSS JOIN LATERAL unnest(c.claimed || c.left_keys) AS k(key)
        WHERE o.sweep_id = v_sweep.sweep_id;
        -- Also what workers had claimed that went on with other rules meanwhile.
        UPDATE run_claim AS c
        SET claimed = '{}',
            left_keys = '{}'
        FROM run_sweep AS o
        WHERE o.sweep_id = v_sweep.sweep_id
          AND c.run_id = o.run_id
          AND c.rule = p_rule
          AND (c.claimed <> '{}' OR c.left_keys <> '{}');
    END IF;
    -- Up to a family that a sweep began with, there are families only.
    v_windows := v_windows AND v_keys = '{}' AND NOT (v_sweep.around AND v_sweep.start_key IS NOT NULL);
    UPDATE sweep AS s
    SET handed_out = true,
        ended_by = CASE WHEN v_keys = '{}' AND NOT v_windows THEN p_run END
    WHERE s.rule = p_rule;
    IF v_keys = '{}' AND NOT v_windows THEN
        RETURN 'nothing left';
    END IF;
    UPDATE run_claim AS c
    SET claimed = v_keys,
        left_keys = '{}',
        is_last = true,
        alone = v_windows
    WHERE c.run_id = p_run
      AND c.rule = p_rule;
    UPDATE run_rule AS r
    SET ahead_of = NULL
    WHERE r.run_id = p_run
      AND r.rule = p_rule
      AND r.ahead_of IS NOT NULL;
    IF v_windows THEN
        UPDATE run_rule AS r
        SET family_size = r.batch_families,
            batch_families = setting_of(p_rule, 'batch_rows'),
            halving = false,
            cursor_time = coalesce(
                CASE WHEN v_sweep.start_key IS NULL AND NOT v_sweep.around THEN v_sweep.start_time END, '4714-11-24 00:00:00 BC'
            ),
            cursor_key = NULL,
            updated_at = clock_timestamp()
        WHERE r.run_id = p_run
          AND r.rule = p_rule
          -- Not where it was at the windows already, and comes back.
          AND r.family_size IS NULL;
    END IF;
    RETURN 'again';
END
$windrow$;
--# comment on function sweep_rest
COMMENT ON FUNCTION sweep_rest(bigint, text) IS
    'Called where nothing is left to claim behind the cursor: nothing left; or again, where what lies before the start of the sweep '
    'comes next, or run p_run is the last one at p_rule and has claimed what was locked, or goes through its windows.';

-- next_rows: the part of a pass through single rows that follows the cursor of a sweep. One that starts again ends at the
-- place where it began.
--# create function next_rows
CREATE OR REPLACE FUNCTION next_rows(
    p_run run, p_rule text, p_sweep sweep, p_rows bigint,
    OUT o_claim text[], OUT o_time text, OUT o_key text
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_document constant jsonb := (SELECT r.document FROM rule AS r WHERE r.rule = p_rule);
    v_last     constant integer :=
        CASE WHEN p_sweep.around THEN p_sweep.start_key::integer ELSE jsonb_array_length(v_document -> 'passes') END;
    v_pass     integer := coalesce(p_sweep.cursor_key::integer, 1);
    v_after    text[] := nullif(p_sweep.cursor_time::text[], '{}');
    v_end      text[];
    v_to       text[];
BEGIN
    WHILE v_pass <= v_last LOOP
        v_end := CASE WHEN p_sweep.around AND v_pass = v_last THEN p_sweep.start_time::text[] END;
        IF v_end = coalesce(v_after, '{}') OR v_end = '{}' THEN
            RETURN;
        END IF;
        EXECUTE format('SELECT %s($1, $2, $3, $4, $5)', routine_of(p_rule, 'reach'))
        INTO v_to
        USING
            v_pass, coalesce(v_after, array_fill(NULL::text, ARRAY[jsonb_array_length(v_document -> 'ways' -> v_pass - 1)])) || v_end,
            p_rows, p_run.as_of, cutoff_of(p_rule, p_run.as_of, seconds(p_run.options ->> 'retention'));
        v_to := coalesce(v_to, v_end);
        IF v_to IS NOT NULL THEN
            o_claim := ARRAY[
                jsonb_build_object('number', p_sweep.claims, 'pass', v_pass, 'after', coalesce(v_after, '{}'), 'to', v_to)::text
            ];
            o_time := v_to::text;
            o_key := v_pass::text;
            RETURN;
        END IF;
        v_pass := v_pass + 1;
        v_after := NULL;
    END LOOP;
END
$windrow$;
--# comment on function next_rows
COMMENT ON FUNCTION next_rows(run, text, sweep, bigint) IS
    'The next p_rows rows of p_rule after the cursor of a sweep, as a claim, and where they end; NULL: none are left. Reads only.';

-- next_claim: what follows the cursor of a sweep: the roots of so many families; of rows of one table that go by their
-- time, a window; of single rows, a part of a pass.
--# create function next_claim
CREATE OR REPLACE FUNCTION next_claim(
    p_run run, p_rule text, p_sweep sweep, p_take bigint, p_families bigint, p_gone text[],
    OUT o_claim text[], OUT o_time text, OUT o_key text, OUT o_ahead_keys text[], OUT o_ahead_times text[], OUT o_ahead_at bigint
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    c_first     constant text := '4714-11-24 00:00:00 BC';
    c_most      constant bigint := 10000;
    v_retention constant bigint := seconds(p_run.options ->> 'retention');
    v_ahead     text[];
    v_rule      rule%ROWTYPE;
    v_start     text := CASE WHEN p_sweep.around THEN p_sweep.start_time END;
    v_cutoff    text;
    v_from      text;
    v_known     text;
BEGIN
    SELECT * INTO STRICT v_rule FROM rule AS r WHERE r.rule = p_rule;
    -- A strategy that no rule has is not installed.
    IF v_rule.strategy = 'end-time' THEN
        SELECT n.o_roots, n.o_times[cardinality(n.o_times)]
        INTO o_claim, o_time
        FROM next_roots(
            p_rule, p_run.as_of, v_retention, p_run.options ->> 'scope', p_sweep.cursor_time, p_sweep.cursor_key,
            least(p_take, p_families), p_gone, false, v_start, p_sweep.start_key
        ) AS n;
    ELSIF v_rule.strategy IN ('expiry', 'orphan', 'keep-last') THEN
        SELECT n.o_claim, n.o_time, n.o_key
        INTO o_claim, o_time, o_key
        FROM next_rows(p_run, p_rule, p_sweep, p_take) AS n;
        RETURN;
    ELSE
        EXECUTE format('SELECT (%s)::text', cutoff_call(p_rule, '$1', '$2')) INTO v_cutoff USING p_run.as_of, v_retention;
        IF v_rule.document ? 'plain' THEN
            EXECUTE format('SELECT least($1::%1$s, $2::%1$s)::text', time_type_of(p_rule)) INTO v_cutoff USING v_cutoff, v_start;
            SELECT w.o_from, w.o_to
            INTO v_from, o_time
            FROM window_timed(p_rule, coalesce(p_sweep.cursor_time, c_first), v_cutoff, p_take, p_families, NULL) AS w;
            IF v_from IS NULL THEN
                RETURN;
            END IF;
            -- What the sweep before had claimed was looked at first.
            IF p_sweep.around THEN
                SELECT split_part(i.span, '/', 2)
                INTO v_known
                FROM unnest(p_sweep.inherited) AS i(span)
                WHERE v_from::timestamptz >= split_part(i.span, '/', 1)::timestamptz
                  AND v_from::timestamptz < split_part(i.span, '/', 2)::timestamptz;
                IF FOUND THEN
                    o_claim := '{}';
                    o_time := v_known;
                    RETURN;
                END IF;
                SELECT i.begins
                INTO o_time
                FROM (
                    SELECT split_part(k.span, '/', 1) AS begins FROM unnest(p_sweep.inherited) AS k(span)
                    UNION ALL
                    SELECT o_time
                ) AS i
                WHERE i.begins::timestamptz > v_from::timestamptz
                ORDER BY i.begins::timestamptz
                LIMIT 1;
            END IF;
            o_claim := ARRAY[v_from || '/' || o_time];
            RETURN;
        END IF;
        o_ahead_at := p_sweep.ahead_at;
        IF o_ahead_at >= cardinality(p_sweep.ahead_keys) THEN
            SELECT n.o_roots, n.o_times, 0
            INTO o_ahead_keys, o_ahead_times, o_ahead_at
            FROM next_timed(
                p_rule, coalesce(p_sweep.cursor_time, c_first), p_sweep.cursor_key, v_cutoff, most_ahead(p_take, c_most),
                v_start, CASE WHEN p_sweep.around THEN p_sweep.start_key END
            ) AS n;
        END IF;
        v_ahead := coalesce(o_ahead_keys, p_sweep.ahead_keys);
        o_claim := nullif(v_ahead[o_ahead_at + 1:o_ahead_at + least(p_take, p_families)], '{}');
        o_ahead_at := o_ahead_at + coalesce(cardinality(o_claim), 0);
        o_time := (coalesce(o_ahead_times, p_sweep.ahead_times))[o_ahead_at];
    END IF;
    o_key := o_claim[cardinality(o_claim)];
    IF p_sweep.around AND p_sweep.inherited <> '{}' THEN
        -- What was looked at already is visited again.
        o_claim := CASE WHEN o_key IS NOT NULL THEN ARRAY(
            SELECT k.key
            FROM unnest(o_claim) WITH ORDINALITY AS k(key, position)
            WHERE k.key <> ALL (p_sweep.inherited)
            ORDER BY k.position
        ) END;
    END IF;
END
$windrow$;
--# comment on function next_claim
COMMENT ON FUNCTION next_claim(run, text, sweep, bigint, bigint, text[]) IS
    'What p_take families, or rows of a window, at most p_families, are next behind the cursor of a sweep, and where they end; NULL: none '
    'are left. o_ahead: the list of roots by time from which they are, where it is a new one, and how many of it are claimed. Reads only.';

-- claim_more: the workers share out what is due: each claims what its next four batches take, in a transaction that does nothing
-- else.
--# create function claim_more
CREATE OR REPLACE FUNCTION claim_more(p_run run, p_progress run_rule, p_take bigint)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_rule  text := p_progress.rule;
    v_sweep sweep%ROWTYPE;
    v_next  record;
BEGIN
    BEGIN
        SELECT * INTO STRICT v_sweep FROM sweep AS s WHERE s.rule = v_rule FOR UPDATE;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
        RETURN 'again';
    END;
    IF v_sweep.exhausted THEN
        RETURN sweep_rest(p_run.run_id, v_rule);
    END IF;
    SELECT *
    INTO v_next
    FROM next_claim(p_run, v_rule, v_sweep, 4 * p_take, families_left(p_run, p_progress), p_progress.gone) AS n;
    IF v_next.o_claim IS NULL THEN
        RETURN sweep_rest(p_run.run_id, v_rule);
    END IF;
    UPDATE sweep AS s
    SET cursor_time = v_next.o_time,
        cursor_key = v_next.o_key,
        claims = s.claims + 1,
        ahead_keys = coalesce(v_next.o_ahead_keys, s.ahead_keys),
        ahead_times = coalesce(v_next.o_ahead_times, s.ahead_times),
        ahead_at = coalesce(v_next.o_ahead_at, s.ahead_at)
    WHERE s.rule = v_rule;
    UPDATE run_claim AS c
    SET claimed = v_next.o_claim
    WHERE c.run_id = p_run.run_id
      AND c.rule = v_rule;
    UPDATE run_rule AS r
    SET cursor_time = v_next.o_time,
        cursor_key = v_next.o_key,
        ahead_of = NULL,
        updated_at = clock_timestamp()
    WHERE r.run_id = p_run.run_id
      AND r.rule = v_rule;
    RETURN 'again';
END
$windrow$;
--# comment on function claim_more
COMMENT ON FUNCTION claim_more(run, run_rule, bigint) IS
    'Claims what the next four batches take for the worker of a run; again, or what is to do where nothing is left.';

-- is_last: whether what a worker meets locked is looked at by nobody after it.
--# create function is_last
CREATE OR REPLACE FUNCTION is_last(p_run bigint, p_rule text)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    RETURN (SELECT c.is_last FROM run_claim AS c WHERE c.run_id = p_run AND c.rule = p_rule) OR NOT EXISTS (
        SELECT
        FROM run_sweep AS s
        JOIN run_sweep AS o ON o.sweep_id = s.sweep_id AND o.run_id <> s.run_id
        WHERE s.run_id = p_run
    );
END
$windrow$;
--# comment on function is_last
COMMENT ON FUNCTION is_last(bigint, text) IS
    'Whether run p_run is the last one at p_rule, or the only one of its sweep.';

-- claim_done: what a batch leaves of a claim. What was locked by another worker perhaps, or is kept by such a row, is looked at once
-- more when all others are through.
--# create function claim_done
CREATE OR REPLACE FUNCTION claim_done(
    p_run bigint, p_rule text, p_claim text[], p_keys text[], p_reasons text[],
    OUT o_skip_keys text[], OUT o_skip_reasons text[], OUT o_time text, OUT o_key text
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_later text[] := '{}';
BEGIN
    IF NOT is_last(p_run, p_rule) THEN
        SELECT CASE
            -- No worker has locked a single row of another one's claim.
            WHEN r.strategy IN ('expiry', 'orphan', 'keep-last') THEN '{}'
            WHEN r.document ? 'crosses' THEN ARRAY['LOCKED', 'REFERENCED']
            ELSE ARRAY['LOCKED', 'SHARED_MEMBER']
        END
        INTO v_later
        FROM rule AS r
        WHERE r.rule = p_rule;
    END IF;
    UPDATE run_claim AS c
    SET claimed = p_claim,
        left_keys = c.left_keys || ARRAY(
            SELECT k.key
            FROM unnest(p_keys, p_reasons) WITH ORDINALITY AS k(key, reason, position)
            WHERE k.reason = ANY (v_later)
            ORDER BY k.position
        )
    WHERE c.run_id = p_run
      AND c.rule = p_rule;
    SELECT coalesce(array_agg(k.key ORDER BY k.position), '{}'), coalesce(array_agg(k.reason ORDER BY k.position), '{}')
    INTO o_skip_keys, o_skip_reasons
    FROM unnest(p_keys, p_reasons) WITH ORDINALITY AS k(key, reason, position)
    WHERE (k.reason = ANY (v_later)) IS NOT TRUE;
    -- The claims have moved the cursor already: the next sweep continues after the last of them.
    SELECT s.cursor_time, s.cursor_key INTO o_time, o_key FROM sweep AS s WHERE s.rule = p_rule;
END
$windrow$;
--# comment on function claim_done
COMMENT ON FUNCTION claim_done(bigint, text, text[], text[], text[]) IS
    'Notes p_claim, what a batch of run p_run leaves of its claim; answers which of the skips p_keys count now, and the cursor.';

-- what_is_left: what was locked, where nobody will look at it once more, as keys: also of workers that have ended before.
--# create function what_is_left
CREATE OR REPLACE FUNCTION what_is_left(p_run bigint, p_rule text)
RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
DECLARE
    v_left text[];
    v_held text[];
BEGIN
    IF at_others(p_run, p_rule, NULL) IS NOT NULL THEN
        RETURN '{}';
    END IF;
    SELECT coalesce(array_agg(DISTINCT k.key), '{}')
    INTO v_left
    FROM run_sweep AS s
    JOIN run_sweep AS o ON o.sweep_id = s.sweep_id
    JOIN run_claim AS c ON c.run_id = o.run_id AND c.rule = p_rule
    JOIN sweep AS w ON w.rule = p_rule AND w.sweep_id = s.sweep_id AND NOT w.handed_out
    CROSS JOIN LATERAL unnest(c.left_keys) AS k(key)
    WHERE s.run_id = p_run;
    IF v_left = '{}' THEN
        RETURN v_left;
    END IF;
    -- They count once.
    UPDATE run_claim AS c
    SET left_keys = '{}'
    FROM run_sweep AS s
    JOIN run_sweep AS o ON o.sweep_id = s.sweep_id
    WHERE s.run_id = p_run
      AND c.run_id = o.run_id
      AND c.rule = p_rule
      AND c.left_keys <> '{}';
    IF (SELECT r.document ? 'plain' FROM rule AS r WHERE r.rule = p_rule) THEN
        -- What is held of them is told as such.
        v_held := ARRAY(
            SELECT k.key
            FROM unnest(v_left) AS l(span)
            CROSS JOIN count_timed(p_rule, split_part(l.span, '/', 1), split_part(l.span, '/', 2), now(), NULL) AS c
            CROSS JOIN unnest(c.o_skip_keys) AS k(key)
        );
        PERFORM record_skips(p_run, p_rule, v_held, array_fill('HELD'::text, ARRAY[cardinality(v_held)]));
        RETURN ARRAY(
            SELECT k.key
            FROM unnest(v_left) AS l(span)
            CROSS JOIN unnest(timed_in_window(p_rule, split_part(l.span, '/', 1), split_part(l.span, '/', 2))) AS k(key)
            WHERE k.key NOT IN (SELECT unnest(v_held))
        );
    END IF;
    RETURN v_left;
END
$windrow$;
--# comment on function what_is_left
COMMENT ON FUNCTION what_is_left(bigint, text) IS
    'The keys of what the workers of the sweep of run p_run have left in p_rule: roots, or the rows of windows; none while another worker '
    'has still to look at it. What is held of such windows it writes down.';

-- sweep_leave: a worker is through with a rule.
--# create function sweep_leave
CREATE OR REPLACE FUNCTION sweep_leave(p_run bigint, p_rule text, p_state text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = 0
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF NOT is_own(p_run) THEN
        RETURN;
    END IF;
    PERFORM FROM sweep AS s WHERE s.rule = p_rule FOR UPDATE;
    UPDATE sweep AS s
    SET ended_by = p_run
    FROM run_sweep AS o
    WHERE s.rule = p_rule
      AND s.ended_by IS NULL
      AND p_state = 'nothing left'
      AND o.run_id = p_run
      AND o.at_rule = p_rule;
    UPDATE run_sweep AS s SET at_rule = NULL WHERE s.run_id = p_run;
    UPDATE run_claim AS c SET through = true WHERE c.run_id = p_run AND c.rule = p_rule;
END
$windrow$;
--# comment on function sweep_leave
COMMENT ON FUNCTION sweep_leave(bigint, text, text) IS
    'Run p_run is through with p_rule, with the state p_state.';

-- sweep_part: a worker leaves a rule that waits for another one, and comes back. What it has claimed stays its own, unless nobody else
-- is at the rule when nothing is left there to claim. If it was that last one, the next one to come is.
--# create function sweep_part
CREATE OR REPLACE FUNCTION sweep_part(p_run bigint, p_rule text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET lock_timeout = 0
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF NOT EXISTS (SELECT FROM run_sweep AS s WHERE s.run_id = p_run AND s.at_rule = p_rule) THEN
        RETURN;
    END IF;
    PERFORM FROM sweep AS s WHERE s.rule = p_rule FOR UPDATE;
    UPDATE sweep AS s
    SET handed_out = false
    FROM run_claim AS c
    WHERE s.rule = p_rule
      AND c.rule = p_rule
      AND c.run_id = p_run
      AND (c.is_last OR c.alone);
    UPDATE run_claim AS c
    SET is_last = false,
        alone = false
    WHERE c.run_id = p_run
      AND c.rule = p_rule
      AND (c.is_last OR c.alone);
    UPDATE run_sweep AS s SET at_rule = NULL WHERE s.run_id = p_run;
END
$windrow$;
--# comment on function sweep_part
COMMENT ON FUNCTION sweep_part(bigint, text) IS
    'Run p_run leaves p_rule for a while, with what it has claimed.';

-- sweep_end: what the last one of a sweep does for all.
--# create function sweep_end
CREATE OR REPLACE FUNCTION sweep_end(p_run bigint)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $windrow$
BEGIN
    IF at_others(p_run, NULL, false) IS NOT NULL THEN
        RETURN NULL;
    END IF;
    RETURN (
        SELECT max(o.run_id)
        FROM run_sweep AS s
        JOIN run_sweep AS o ON o.sweep_id = s.sweep_id
        WHERE s.run_id = p_run
    );
END
$windrow$;
--# comment on function sweep_end
COMMENT ON FUNCTION sweep_end(bigint) IS
    'The last run of the sweep of p_run, if no other worker still runs; else NULL.';
