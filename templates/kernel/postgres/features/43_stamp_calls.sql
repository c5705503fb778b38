-- COMMIT forbids a procedure a search_path of its own: in here, every name says where it is from. windrow: the schema.

-- stamp: loops and commits, nothing else. What it may do, the definer functions that it calls may do.
--# create procedure stamp
CREATE OR REPLACE PROCEDURE windrow.stamp(p_options jsonb, INOUT p_result json DEFAULT NULL)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_run     bigint;
    v_rule    pg_catalog.text;
    v_refused pg_catalog.text;
    v_state   pg_catalog.text;
    v_code    pg_catalog.text;
    v_said    pg_catalog.text;
    v_hint    pg_catalog.text;
BEGIN
    -- Whatever the session prefers: what others have written must be read as it is committed now.
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    PERFORM windrow.check_caller(current_user, false);
    SELECT b.o_run, b.o_rule, b.o_refused INTO v_run, v_rule, v_refused FROM windrow.stamp_begin(p_options) AS b;
    IF v_run IS NULL THEN
        p_result := pg_catalog.json_build_object('run', NULL, 'status', 'refused', 'reason', v_refused);
        RAISE NOTICE 'no stamp: %', v_refused;
        RETURN;
    END IF;
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    LOOP
        BEGIN
            v_state := windrow.stamp_step(v_run);
            PERFORM windrow.check_caller(current_user, false);
        EXCEPTION
            WHEN query_canceled THEN
                v_state := 'cancelled';
            WHEN OTHERS OR assert_failure THEN
                v_state := pg_catalog.format('error %s: %s', SQLSTATE, SQLERRM);
        END;
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        EXIT WHEN v_state OPERATOR(pg_catalog.<>) ALL (ARRAY['more', 'again']);
    END LOOP;
    BEGIN
        p_result := windrow.stamp_end(v_run, v_state);
    EXCEPTION
        WHEN query_canceled THEN
            -- A client's cancel comes as two signals, of which the second may come late.
            v_state := 'cancelled';
            BEGIN
                p_result := windrow.stamp_end(v_run, v_state);
            EXCEPTION WHEN query_canceled OR OTHERS OR assert_failure THEN
                p_result := windrow.close_run(v_run, v_state);
            END;
        WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS v_code = RETURNED_SQLSTATE, v_said = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT;
            p_result := windrow.close_run(v_run, pg_catalog.format('error %s: %s', v_code, v_said));
    END;
    COMMIT;
    PERFORM windrow.run_unlock();
    IF v_code IS NOT NULL AND v_hint OPERATOR(pg_catalog.<>) '' THEN
        RAISE EXCEPTION '%', v_said USING ERRCODE = v_code, HINT = v_hint;
    ELSIF v_code IS NOT NULL THEN
        RAISE EXCEPTION '%', v_said USING ERRCODE = v_code;
    END IF;
    IF v_state OPERATOR(pg_catalog.=) 'cancelled' THEN
        RAISE EXCEPTION 'stamp % was cancelled; what it committed is kept', v_run USING ERRCODE = '57014';
    END IF;
END
$windrow$;
--# comment on procedure stamp
COMMENT ON PROCEDURE windrow.stamp(jsonb, json) IS
    'Sets removal times, in batches that commit; after an interruption, the same call continues. What: to, calculated (start or end) '
    'with default, or clear. Of which: key, missing or all; of their whole families unless hierarchical is false. Of what: of, '
    'otherwise of the families of the rule. Further options: rule, chunk, time_budget, dry_run. Example: CALL '
    'windrow.stamp(''{"calculated": "end", "missing": true}'');';
