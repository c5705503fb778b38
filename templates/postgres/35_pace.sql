--# set lock_timeout
SET lock_timeout = '5s';
--# set statement_timeout
SET statement_timeout = '1min';

-- next_batch: the size of the next batch, after one of p_size has taken p_took of the p_target milliseconds that it may
-- take. Slowly up, by a fifth, if that much more would still be in time; down at once, in proportion.
--# create function {{ control }}.next_batch
CREATE OR REPLACE FUNCTION {{ control }}.next_batch(p_size bigint, p_took bigint, p_target bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $windrow$
    SELECT CASE
        WHEN p_took > p_target THEN greatest(p_size * p_target / p_took, 1)
        WHEN p_took + p_took / 5 <= p_target THEN p_size + (p_size + 4) / 5
        ELSE p_size
    END;
$windrow$;
--# comment on function {{ control }}.next_batch
COMMENT ON FUNCTION {{ control }}.next_batch(bigint, bigint, bigint) IS
    'The size of the batch after one of p_size that took p_took milliseconds instead of p_target. Example: SELECT {{ control }}.next_batch(100, 800, 500); [body @body@]';

-- pace: called before every batch. How long the run rests first, in seconds: 0, or up to 1, after which it asks again, so
-- that a pause, the end of a window and the deadline are obeyed at once. run() rests outside of the transactions that
-- delete. What the run waits for stands in its row meanwhile.
--# create function {{ control }}.pace
CREATE OR REPLACE FUNCTION {{ control }}.pace(p_run bigint, p_rule text, OUT o_rest double precision, OUT o_state text)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $windrow$
DECLARE
    v_run      {{ control }}.run%ROWTYPE;
    v_progress {{ control }}.run_rule%ROWTYPE;
    v_limit    record;
    v_now      timestamptz := clock_timestamp();
    v_took     bigint;
    v_paced    boolean;
    v_reason   text;
BEGIN
    o_rest := 0;
    SELECT * INTO STRICT v_run FROM {{ control }}.run AS r WHERE r.run_id = p_run;
    IF NOT {{ control }}.is_own(p_run) THEN
        RETURN;
    END IF;
    SELECT * INTO STRICT v_progress FROM {{ control }}.run_rule AS r WHERE r.run_id = p_run AND r.rule = p_rule FOR UPDATE;
    SELECT
        max(s.value) FILTER (WHERE s.name = 'run_rows') AS run_rows,
        max(s.value) FILTER (WHERE s.name = 'target_batch') AS target_batch,
        max(s.value) FILTER (WHERE s.name = 'rate') AS rate,
        max(s.value) FILTER (WHERE s.name = 'nice') AS nice
    INTO v_limit
    FROM {{ control }}.settings AS s
    WHERE s.rule = p_rule;
    IF v_limit.run_rows > 0 AND v_progress.deleted_rows >= v_limit.run_rows THEN
        o_state := 'run_rows reached';
        RETURN;
    END IF;
    v_paced := v_limit.target_batch > 0 OR v_limit.rate > 0 OR v_limit.nice > 0;

    IF v_paced AND v_progress.batches > v_progress.paced_batches AND v_progress.paced_at IS NOT NULL THEN
        -- The last batch, from the begin of its transaction to the end of its COMMIT.
        v_took := ceil(extract(epoch FROM v_now - v_progress.paced_at) * 1000);
        IF v_limit.target_batch > 0 AND NOT v_progress.halving THEN
            v_progress.batch_families := least(v_progress.batch_families, {{ control }}.next_batch(v_progress.paced_size, v_took, v_limit.target_batch));
        END IF;
        v_progress.rest_until := greatest(
            CASE WHEN v_limit.rate > 0 THEN v_progress.paced_at + make_interval(secs => (v_progress.deleted_rows - v_progress.paced_rows) / v_limit.rate::double precision) END,
            CASE WHEN v_limit.nice > 0 THEN v_now + make_interval(secs => v_took * v_limit.nice / 100000.0::double precision) END
        );
    ELSIF v_limit.target_batch > 0 AND v_progress.paced_at IS NULL THEN
        -- The first batch: as big as the last one of the run before.
        v_progress.batch_families := least(
            v_progress.batch_families,
            (SELECT r.batch_families FROM {{ control }}.run_rule AS r WHERE r.rule = p_rule AND r.run_id < p_run AND r.paced_at IS NOT NULL ORDER BY r.run_id DESC LIMIT 1)
        );
    END IF;

    IF v_paced AND v_progress.rest_until > v_now THEN
        v_reason := concat_ws(' and ',
            CASE WHEN v_limit.rate > 0 THEN format('the rate of %s rows per second', v_limit.rate) END,
            CASE WHEN v_limit.nice > 0 THEN format('nice, %s %% of the time of a batch', v_limit.nice) END
        );
        o_rest := least(1, extract(epoch FROM least(v_progress.rest_until, v_run.deadline) - v_now));
    END IF;
    IF v_reason IS NOT NULL AND (
        v_now >= v_run.deadline
        OR (SELECT c.paused FROM {{ control }}.control AS c)
        OR (v_run.trigger = 'SCHEDULED' AND NOT {{ control }}.in_window(v_now))
    ) THEN
        -- The run ends here, as the next step finds and tells; what it has waited for stays in its row.
        o_rest := 0;
        RETURN;
    END IF;

    IF v_reason IS DISTINCT FROM v_run.waiting_for THEN
        UPDATE {{ control }}.run AS r
        SET waiting_for = v_reason,
            waiting_since = CASE WHEN v_reason IS NOT NULL THEN coalesce(r.waiting_since, v_now) END
        WHERE r.run_id = p_run;
    END IF;
    IF v_paced THEN
        UPDATE {{ control }}.run_rule AS r
        SET batch_families = v_progress.batch_families,
            rest_until = v_progress.rest_until,
            paced_at = CASE WHEN v_reason IS NULL THEN clock_timestamp() ELSE r.paced_at END,
            paced_size = v_progress.batch_families,
            paced_rows = r.deleted_rows,
            paced_batches = r.batches
        WHERE r.run_id = p_run
          AND r.rule = p_rule;
    END IF;
END
$windrow$;
--# comment on function {{ control }}.pace
COMMENT ON FUNCTION {{ control }}.pace(bigint, text) IS
    'What run p_run does before the next batch of p_rule: o_rest, for how many seconds it rests; o_state, why it takes none. Sets the size of the batch where target_batch says so. [body @body@]';
