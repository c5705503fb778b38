-- COMMIT forbids a procedure a search_path of its own: in here, every name says where it is from. windrow: the schema.

-- archive_prune: what the end of a run does to the archive.
--# create procedure archive_prune
CREATE OR REPLACE PROCEDURE windrow.archive_prune(p_run bigint)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_before pg_catalog.timestamptz;
    v_run    bigint := 0;
    v_place  integer := 0;
    v_after  bigint := 0;
    v_rows   bigint;
    v_sum    bigint := 0;
BEGIN
    v_before := windrow.archive_cutoff(p_run);
    WHILE v_before IS NOT NULL AND v_run IS NOT NULL AND windrow.archive_goes_on(p_run, v_sum) LOOP
        BEGIN
            SELECT s.io_run, s.io_place, s.io_after, s.o_rows
            INTO v_run, v_place, v_after, v_rows
            FROM windrow.archive_step(p_run, NULL, v_before, v_run, v_place, v_after) AS s;
        EXCEPTION WHEN query_canceled OR OTHERS OR assert_failure THEN
            -- The run is closed: its session must not keep the next one out.
            PERFORM windrow.run_unlock();
            RAISE;
        END;
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        v_sum := v_sum OPERATOR(pg_catalog.+) v_rows;
    END LOOP;
END
$windrow$;
--# comment on procedure archive_prune
COMMENT ON PROCEDURE windrow.archive_prune(bigint) IS
    'Deletes archived rows of runs whose last row was archived more than archive_days ago, oldest run first, up to 10,000 in a '
    'transaction. The end of a run calls it.';

-- archive_drop: archived rows of a run, or of all old ones, for good.
--# create procedure archive_drop
CREATE OR REPLACE PROCEDURE windrow.archive_drop(p_options jsonb, INOUT p_result json DEFAULT NULL)
LANGUAGE plpgsql
AS $windrow$
-- COMMIT forbids a search_path of its own: every name in here says where it is from.
DECLARE
    v_only    bigint;
    v_before  pg_catalog.timestamptz;
    v_dry_run boolean;
    v_found   pg_catalog.json;
    v_run     bigint := 0;
    v_place   integer := 0;
    v_after   bigint := 0;
    v_rows    bigint;
    v_sum     bigint := 0;
BEGIN
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SELECT d.o_run, d.o_before, d.o_dry_run, d.o_found
    INTO v_only, v_before, v_dry_run, v_found
    FROM windrow.archive_drop_begin(p_options) AS d;
    WHILE v_run IS NOT NULL AND NOT v_dry_run LOOP
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        SELECT s.io_run, s.io_place, s.io_after, s.o_rows
        INTO v_run, v_place, v_after, v_rows
        FROM windrow.archive_step(0, v_only, v_before, v_run, v_place, v_after) AS s;
        v_sum := v_sum OPERATOR(pg_catalog.+) v_rows;
    END LOOP;
    p_result := pg_catalog.json_build_object(
        'dry_run', v_dry_run,
        'rows', CASE WHEN v_dry_run THEN (v_found OPERATOR(pg_catalog.->>) 'rows')::bigint ELSE v_sum END,
        'runs', v_found OPERATOR(pg_catalog.->) 'runs'
    );
END
$windrow$;
--# comment on procedure archive_drop
COMMENT ON PROCEDURE windrow.archive_drop(jsonb, json) IS
    'Deletes the archived rows of a run, or of the runs whose last row was archived at least that long ago: run or older_than, '
    'dry_run. Up to 10,000 rows per transaction; they exist nowhere else. Examples: CALL windrow.archive_drop(''{"run": 17}''); '
    'CALL windrow.archive_drop(''{"older_than": "90d", "dry_run": true}'');';
