-- COMMIT forbids a procedure a search_path of its own: in here, every name says where it is from. windrow: the schema.

-- run: loops and commits, nothing else. What it may do, the definer functions that it calls may do.
--# create procedure run
CREATE OR REPLACE PROCEDURE windrow.run(p_options jsonb DEFAULT '{}', INOUT p_result json DEFAULT NULL)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_rule    pg_catalog.text;
    v_left    pg_catalog.text[];  -- the rules that it is not through with, in the order in which it takes them
    v_begun   pg_catalog.text[] := '{}';
    v_waiting integer := 0;  -- so many of them wait: the last ones that it took, without one between them that did not
    v_off     integer := 0;  -- so many, at the end of them, were put off; when the last one was asked
    v_asked   pg_catalog.timestamptz;
    v_place   integer;
    v_run     bigint;
    v_refused pg_catalog.text;
    v_error   pg_catalog.json;
    v_state   pg_catalog.text;
    v_rest    double precision := 0;
    v_reasons pg_catalog.text[] := '{}';
    v_known   pg_catalog.record;
    v_last    bigint;
BEGIN
    -- An old snapshot would not see a hold, nor a child that came while a batch waited for locks.
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SELECT b.o_run, b.o_refused, b.o_error INTO v_run, v_refused, v_error FROM windrow.open_run(p_options, current_user) AS b;
    IF v_error IS NOT NULL THEN
        COMMIT;
        IF v_error OPERATOR(pg_catalog.->>) 'hint' OPERATOR(pg_catalog.<>) '' THEN
            RAISE EXCEPTION '%', v_error OPERATOR(pg_catalog.->>) 'message'
                USING ERRCODE = v_error OPERATOR(pg_catalog.->>) 'code', DETAIL = v_error OPERATOR(pg_catalog.->>) 'detail',
                    HINT = v_error OPERATOR(pg_catalog.->>) 'hint';
        END IF;
        RAISE EXCEPTION '%', v_error OPERATOR(pg_catalog.->>) 'message'
            USING ERRCODE = v_error OPERATOR(pg_catalog.->>) 'code', DETAIL = v_error OPERATOR(pg_catalog.->>) 'detail';
    END IF;
    SELECT i.* INTO v_known FROM windrow.installation AS i;
    IF v_run IS NULL THEN
        p_result := pg_catalog.json_build_object('run', NULL, 'status', 'refused', 'reason', v_refused);
        RAISE NOTICE 'no run: %', v_refused;
        RETURN;
    END IF;
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    BEGIN
        v_left := windrow.rules_of(v_run);
    EXCEPTION
        WHEN query_canceled THEN
            v_state := 'cancelled';
        WHEN OTHERS OR assert_failure THEN
            v_state := pg_catalog.format('error %s: %s', SQLSTATE, SQLERRM);
    END;
    IF v_state IS NOT NULL THEN
        v_reasons := ARRAY[v_state];
    END IF;
    WHILE pg_catalog.cardinality(v_left) OPERATOR(pg_catalog.>) 0 LOOP
        v_rule := v_left[1];
        v_left := v_left[2:];
        v_off := least(v_off, pg_catalog.cardinality(v_left));
        LOOP
            BEGIN
                IF v_rule OPERATOR(pg_catalog.<>) ALL (v_begun) THEN
                    v_begun := pg_catalog.array_append(v_begun, v_rule);
                    v_state := coalesce(windrow.begin_rule(v_run, v_rule), 'again');
                    PERFORM windrow.check_caller(current_user, false);
                ELSIF v_rest OPERATOR(pg_catalog.>) 0 THEN
                    -- A transaction that does nothing else: no lock is held, and no snapshot for long.
                    PERFORM pg_catalog.pg_sleep(v_rest);
                    v_rest := 0;
                    v_state := 'again';
                ELSE
                    SELECT p.o_rest, p.o_state INTO v_rest, v_state FROM windrow.pace(v_run, v_rule) AS p;
                    v_state := CASE
                        WHEN v_state IS NOT NULL THEN v_state
                        WHEN v_rest OPERATOR(pg_catalog.>) 0 THEN 'again'
                        ELSE windrow.step(v_run, v_rule)
                    END;
                    PERFORM windrow.check_caller(current_user, false);
                END IF;
            EXCEPTION
                WHEN query_canceled THEN
                    v_state := 'cancelled';
                WHEN OTHERS OR assert_failure THEN
                    v_state := pg_catalog.format('error %s: %s', SQLSTATE, SQLERRM);
            END;
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
            EXIT WHEN v_state OPERATOR(pg_catalog.<>) ALL (ARRAY['more', 'again']);
            IF v_state OPERATOR(pg_catalog.=) 'more' THEN
                v_waiting := 0;
                EXIT WHEN v_off OPERATOR(pg_catalog.>) 0
                    AND pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) v_asked OPERATOR(pg_catalog.>) interval '10 s';
            END IF;
        END LOOP;
        IF v_state OPERATOR(pg_catalog.=) ANY (ARRAY['waits', 'more']) THEN
            IF v_state OPERATOR(pg_catalog.=) 'waits' THEN
                -- The next one has its turn, and this one after it. If none goes on, the run rests.
                v_left := pg_catalog.array_append(v_left, v_rule);
                v_off := v_off OPERATOR(pg_catalog.+) 1;
                v_asked := pg_catalog.clock_timestamp();
                v_waiting := v_waiting OPERATOR(pg_catalog.+) 1;
            ELSE
                -- Those that were put off are asked again, before this one goes on.
                v_place := pg_catalog.cardinality(v_left) OPERATOR(pg_catalog.-) v_off;
                v_left := pg_catalog.array_cat(
                    v_left[v_place OPERATOR(pg_catalog.+) 1:], pg_catalog.array_prepend(v_rule, v_left[:v_place])
                );
                v_off := 0;
            END IF;
            BEGIN
                v_rest := windrow.put_off(v_run, v_rule, v_rest, v_waiting OPERATOR(pg_catalog.>=) pg_catalog.cardinality(v_left));
            EXCEPTION
                WHEN query_canceled THEN
                    v_state := 'cancelled';
                WHEN OTHERS OR assert_failure THEN
                    v_state := pg_catalog.format('error %s: %s', SQLSTATE, SQLERRM);
                    v_left := pg_catalog.array_remove(v_left, v_rule);
            END;
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
            CONTINUE WHEN v_state OPERATOR(pg_catalog.=) ANY (ARRAY['waits', 'more']);
        END IF;
        v_waiting := 0;
        v_rest := 0;
        IF v_known.workers OPERATOR(pg_catalog.>) 1 THEN
            BEGIN
                PERFORM windrow.sweep_leave(v_run, v_rule, v_state);
            EXCEPTION
                WHEN query_canceled THEN
                    v_state := 'cancelled';
                WHEN OTHERS OR assert_failure THEN
                    v_state := pg_catalog.format('error %s: %s', SQLSTATE, SQLERRM);
            END;
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END IF;
        v_reasons[pg_catalog.array_position(v_known.rules, v_rule)] := v_state;
        EXIT WHEN v_state OPERATOR(pg_catalog.=) ANY (ARRAY['cancelled', 'paused', 'time budget spent', 'window closed']);
    END LOOP;
    BEGIN
        p_result := windrow.run_end(v_run, v_reasons);
    EXCEPTION
        WHEN query_canceled THEN
            -- A client's cancel comes as two signals, of which the second may come late.
            v_state := 'cancelled';
            BEGIN
                p_result := windrow.run_end(v_run,
                    pg_catalog.array_append(pg_catalog.array_replace(v_reasons, 'nothing left', v_state), v_state));
            EXCEPTION WHEN query_canceled OR OTHERS OR assert_failure THEN
                p_result := windrow.close_run(v_run, v_state);
            END;
        WHEN OTHERS OR assert_failure THEN
            p_result := windrow.close_run(v_run, pg_catalog.format('error %s: %s', SQLSTATE, SQLERRM));
    END;
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    -- The last one of a sweep does what is to be done once.
    v_last := v_run;
    IF v_known.workers OPERATOR(pg_catalog.>) 1 THEN
        v_last := windrow.sweep_end(v_run);
    END IF;
    IF v_last IS NOT NULL THEN
        IF v_known.archives THEN
            CALL windrow.archive_prune(v_run);
            p_result := windrow.run_result(v_run);
        END IF;
        IF (v_state OPERATOR(pg_catalog.=) 'cancelled') IS NOT TRUE THEN
            BEGIN
                PERFORM windrow.count_backlog(v_last);
            EXCEPTION WHEN query_canceled OR OTHERS OR assert_failure THEN
                -- The run is closed: its session must not keep the next one out.
                PERFORM windrow.run_unlock();
                RAISE;
            END;
        END IF;
    END IF;
    COMMIT;
    PERFORM windrow.run_unlock();
    IF v_state OPERATOR(pg_catalog.=) 'cancelled' THEN
        RAISE EXCEPTION 'run % was cancelled; what it committed is kept', v_run USING ERRCODE = '57014';
    END IF;
END
$windrow$;
--# comment on procedure run
COMMENT ON PROCEDURE windrow.run(jsonb, json) IS
    'One run of all rules in order, in batches that commit. Options: rule, dry_run, scope, retention, as_of, run_families, time_budget, '
    'trigger; if there are several workers: worker (each has one run at a time, and they share the families). Examples: CALL '
    'windrow.run(); CALL windrow.run(''{"dry_run": true}'');';

-- purge: named families, now.
--# create procedure purge
CREATE OR REPLACE PROCEDURE windrow.purge(p_options jsonb, INOUT p_result json DEFAULT NULL)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_run     bigint;
    v_rule    pg_catalog.text;
    v_key     pg_catalog.text;
    v_reason  pg_catalog.text;
    v_again   pg_catalog.text[] := '{}';
    v_why     pg_catalog.text[];
    v_keys    pg_catalog.text[] := '{}';
    v_reasons pg_catalog.text[] := '{}';
    v_tied    pg_catalog.text[] := '{}';
    v_code    pg_catalog.text;
    v_said    pg_catalog.text;
    v_hint    pg_catalog.text;
BEGIN
    -- Whatever the session prefers: what is locked, linked and held must be read as it is committed now.
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    PERFORM windrow.check_caller(current_user, false);
    v_run := windrow.purge_begin(p_options);
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    v_rule := windrow.check_rule(p_options);
    -- No cursor stays open over a COMMIT.
    FOREACH v_key IN ARRAY ARRAY(SELECT DISTINCT k.key
        FROM pg_catalog.jsonb_array_elements_text(p_options OPERATOR(pg_catalog.->) 'key') AS k(key) ORDER BY k.key) LOOP
        BEGIN
            v_reason := (windrow.purge_one(v_run, v_rule, ARRAY[v_key], true))[1];
            PERFORM windrow.check_caller(current_user, false);
        EXCEPTION
            WHEN query_canceled THEN
                v_reason := 'CANCELLED';
            WHEN OTHERS OR assert_failure THEN
                GET STACKED DIAGNOSTICS v_code = RETURNED_SQLSTATE, v_said = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT;
        END;
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        EXIT WHEN v_code IS NOT NULL;
        IF v_reason OPERATOR(pg_catalog.=) 'AGAIN' THEN
            v_again := pg_catalog.array_append(v_again, v_key);
        ELSIF v_reason IS NOT NULL THEN
            v_keys := pg_catalog.array_append(v_keys, v_key);
            v_reasons := pg_catalog.array_append(v_reasons, v_reason);
        END IF;
        EXIT WHEN v_reason OPERATOR(pg_catalog.=) ANY (ARRAY['CANCELLED', 'PAUSED']);
    END LOOP;
    -- Families that keep each other are deleted together.
    IF v_again OPERATOR(pg_catalog.<>) '{}' AND v_code IS NULL
        AND (v_reason OPERATOR(pg_catalog.=) ANY (ARRAY['CANCELLED', 'PAUSED'])) IS NOT TRUE THEN
        BEGIN
            v_why := windrow.purge_one(v_run, v_rule, v_again, false);
            PERFORM windrow.check_caller(current_user, false);
        EXCEPTION
            WHEN query_canceled THEN
                v_reason := 'CANCELLED';
                v_why := pg_catalog.array_fill('CANCELLED'::pg_catalog.text, ARRAY[pg_catalog.cardinality(v_again)]);
            WHEN OTHERS OR assert_failure THEN
                GET STACKED DIAGNOSTICS v_code = RETURNED_SQLSTATE, v_said = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT;
        END;
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        FOR v_place IN 1..pg_catalog.cardinality(v_again) LOOP
            IF v_why[v_place] IS NOT NULL THEN
                v_keys := pg_catalog.array_append(v_keys, v_again[v_place]);
                v_reasons := pg_catalog.array_append(v_reasons, v_why[v_place]);
            ELSE
                v_tied := pg_catalog.array_append(v_tied, v_again[v_place]);
            END IF;
        END LOOP;
    END IF;
    BEGIN
        IF v_code IS NULL THEN
            p_result := windrow.purge_end(v_run, v_keys, v_reasons, v_tied);
        END IF;
    EXCEPTION
        WHEN query_canceled THEN
            -- A client's cancel comes as two signals, of which the second may come late.
            v_reason := 'CANCELLED';
            BEGIN
                p_result := windrow.purge_end(v_run, pg_catalog.array_append(v_keys, v_key), pg_catalog.array_append(v_reasons, v_reason),
                    v_tied);
            EXCEPTION WHEN query_canceled OR OTHERS OR assert_failure THEN
                p_result := windrow.close_run(v_run, 'cancelled');
            END;
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS v_code = RETURNED_SQLSTATE, v_said = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT;
    END;
    IF v_code IS NOT NULL THEN
        p_result := windrow.close_run(v_run, pg_catalog.format('error %s: %s', v_code, v_said));
    END IF;
    COMMIT;
    PERFORM windrow.run_unlock();
    IF v_code IS NOT NULL AND v_hint OPERATOR(pg_catalog.<>) '' THEN
        RAISE EXCEPTION '%', v_said USING ERRCODE = v_code, HINT = v_hint;
    ELSIF v_code IS NOT NULL THEN
        RAISE EXCEPTION '%', v_said USING ERRCODE = v_code;
    END IF;
    IF v_reason OPERATOR(pg_catalog.=) 'CANCELLED' THEN
        RAISE EXCEPTION 'run % was cancelled; what it committed is kept', v_run USING ERRCODE = '57014';
    END IF;
END
$windrow$;
--# comment on procedure purge
COMMENT ON PROCEDURE windrow.purge(jsonb, json) IS
    'Deletes the named families now, in the same way as a run: they must be final, not on hold, linked to nothing that is kept, and older '
    'than the minimum. Retentions do not matter; nor do, with the option force, the minimum, a missing end time, a disabled policy and '
    '`keep` of families: the run says so. Example: CALL windrow.purge(''{"key": [17]}'');';
