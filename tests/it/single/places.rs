//! PostgreSQL deletes a row where a search saw it. What others do to it, or to its place, in between.

use std::collections::BTreeSet;

use serde_json::json;
use windrow::dialect::Dialect;

use super::model::{left, only};
use super::trouble::{beside_writers, run_aside, stays};
use super::world::{ample, due};
use super::{AS_OF, loaded, run};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::patience::until;

tests! {
    on_postgres: [
        a_row_that_changes_during_its_batch_stays,
        what_comes_to_the_place_of_a_row_stays,
        rows_of_the_time_of_an_open_transaction_go,
        where_a_table_has_others_below_it_rows_go_by_their_keys,
        what_writers_re_date_beside_runs_stays,
    ],
}

const POSTGRES: Dialect = Dialect::Postgres;

/// What a search finds, as a batch is told it.
fn found(rule: &str) -> String {
    format!(
        "SELECT array_agg(o_key) AS keys, array_agg(o_place) AS places, pg_snapshot_xmin(pg_current_snapshot())::xid AS before
         FROM W.{rule}_search(1, NULL, NULL, 1000, '{AS_OF}', NULL)
         WHERE o_reason IS NULL"
    )
}

/// How many rows go by a batch that is told this.
fn batch(rule: &str, told: &str) -> String {
    format!(
        "SELECT b.o_families FROM {told} AS n
         CROSS JOIN LATERAL W.batch_single(1, '{rule}', 1, n.keys, n.places, n.before, '{AS_OF}', NULL) AS b"
    )
}

fn a_row_that_changes_during_its_batch_stays() {
    let world = ample();
    let mut installation = loaded(POSTGRES, &world);
    let last = installation.texts(&format!(
        "SELECT id::text FROM task_state_store WHERE expires_at < '{AS_OF}' ORDER BY ctid DESC LIMIT 1"
    ));
    // The first row is deleted when this session lets go of the lock.
    installation.execute(
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN OLD; END $$;
         CREATE TRIGGER wait BEFORE DELETE ON task_state_store FOR EACH ROW EXECUTE FUNCTION wait();
         SELECT pg_advisory_lock(7)",
    );
    let (runner, _, number) = run_aside(&installation);
    until("rows are being deleted", || {
        Ok(installation.number(&format!(
            "SELECT count(*) FROM pg_stat_activity WHERE pid = {number} AND wait_event_type = 'Lock' AND wait_event = 'advisory'"
        )) > 0)
    })
    .expect("it begins");
    // The statement that deletes has found this row, and has not come to it.
    installation.execute(&format!(
        "UPDATE task_state_store SET expires_at = '2037-01-01' WHERE id = {}",
        last[0]
    ));
    installation.execute("SELECT pg_advisory_unlock(7)");
    let (_, answer) = runner.join().expect("no panic");
    let answer = answer.expect("a run");
    assert_eq!(answer["status"], "done", "{answer}");
    assert_eq!(only(&answer)["skipped"], json!({}), "{answer}");
    assert_eq!(left(&mut installation, "task_state"), stays(&world, &last));
}

fn what_comes_to_the_place_of_a_row_stays() {
    // All rows are looked for at once, or, where one of them is locked, one by one.
    for locked in [false, true] {
        let world = ample();
        let mut installation = loaded(POSTGRES, &world);
        let mut rival = installation.connect();
        let all = world.keys("task_state");
        installation.execute(&format!("CREATE TABLE told AS {}", found("task_state")));
        for sql in [
            "CREATE TABLE aside AS SELECT * FROM task_state_store ORDER BY ctid",
            "UPDATE aside SET expires_at = '2037-01-01'",
            "DELETE FROM task_state_store",
            "VACUUM task_state_store",
            "INSERT INTO task_state_store SELECT * FROM aside ORDER BY ctid",
        ] {
            rival.execute(sql).expect(sql);
        }
        let taken = "SELECT count(*) FROM told JOIN task_state_store AS t ON t.ctid = ANY (told.places) AND t.id = ANY (told.keys)";
        assert_eq!(
            installation.number(taken),
            installation.number("SELECT cardinality(keys) FROM told")
        );
        if locked {
            rival.execute("BEGIN").expect("a transaction");
            let lock =
                "SELECT 1 FROM task_state_store WHERE id = (SELECT keys[1] FROM told) FOR UPDATE";
            rival.query(lock, &[]).expect("a lock");
        }
        assert_eq!(installation.number(&batch("task_state", "told")), 0);
        assert_eq!(left(&mut installation, "task_state"), all);
    }
}

fn rows_of_the_time_of_an_open_transaction_go() {
    let world = ample();
    let mut installation = super::new(POSTGRES);
    let mut rival = installation.connect();
    rival.execute("BEGIN").expect("a transaction");
    rival
        .query("SELECT pg_current_xact_id()::text", &[])
        .expect("a number");
    // What is written from now on may be newer than what a snapshot has, by all that its version says.
    world.load(&mut installation);
    for rule in ["task_state", "asset_state", "tries"] {
        let expected = due(&world, rule);
        let answer = run(&mut installation, rule);
        assert_eq!(answer["status"], "done", "{answer}");
        assert_eq!(only(&answer)["rows"], expected.len(), "{answer}");
        let stays: BTreeSet<String> = world.keys(rule).difference(&expected).cloned().collect();
        assert_eq!(left(&mut installation, rule), stays);
    }
}

const SPEC: &str = r#"
name = "below"

[tables]
event = { key = "id integer", indexed = ["ends"] }

[rules.events]
strategy = "expiry"
root     = "event"
time     = "ends timestamptz"
"#;

/// Tables whose rows with odd numbers are in one table, and the others in another, so that there are two at each place.
const BELOW: [&str; 2] = [
    "CREATE TABLE event (id integer PRIMARY KEY, ends timestamptz) PARTITION BY HASH (id);
     CREATE TABLE event_0 PARTITION OF event FOR VALUES WITH (MODULUS 2, REMAINDER 0);
     CREATE TABLE event_1 PARTITION OF event FOR VALUES WITH (MODULUS 2, REMAINDER 1);
     CREATE INDEX ON event (ends)",
    "CREATE TABLE event (id integer PRIMARY KEY, ends timestamptz);
     CREATE TABLE event_0 (PRIMARY KEY (id)) INHERITS (event);
     CREATE INDEX ON event (ends);
     CREATE INDEX ON event_0 (ends);
     CREATE FUNCTION below() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN INSERT INTO event_0 VALUES (NEW.id, NEW.ends); RETURN NULL; END $$;
     CREATE TRIGGER below BEFORE INSERT ON event FOR EACH ROW WHEN (NEW.id % 2 = 0) EXECUTE FUNCTION below()",
];

fn where_a_table_has_others_below_it_rows_go_by_their_keys() {
    let graph = graph_of(SPEC);
    for schema in BELOW {
        let mut installation = Installation::of(POSTGRES, schema, &graph);
        installation.execute(&format!(
            "INSERT INTO event
             SELECT n, '{AS_OF}'::timestamptz + CASE WHEN n % 3 = 0 THEN -1 ELSE 1 END * interval '1 day'
             FROM generate_series(1, 400) AS n"
        ));
        let places = "SELECT count(*) - count(DISTINCT ctid) FROM event";
        assert!(installation.number(places) > 100);
        let expected = installation.number(&format!(
            "SELECT count(*) FROM event WHERE ends < '{AS_OF}'"
        ));
        // Not by a run, which refuses a table that others inherit from, if it has seen them.
        let gone = installation.number(&batch("events", &format!("({})", found("events"))));
        assert_eq!(gone, expected);
        assert_eq!(
            installation
                .texts("SELECT DISTINCT ends::text FROM event")
                .len(),
            1
        );
        assert_eq!(
            installation.number("SELECT count(*) FROM event"),
            400 - expected
        );
    }
}

/// Due rows get a later time, and are noted; others are changed and stay due; new ones come, due or not.
const WRITER: &str = "
CREATE TABLE saved (id integer);
CREATE SEQUENCE number START 1000;
CREATE PROCEDURE writer() LANGUAGE plpgsql AS $$
DECLARE v_end timestamptz := clock_timestamp() + interval '3 seconds';
BEGIN
    WHILE clock_timestamp() < v_end LOOP
        WITH due AS (
            SELECT id FROM task_state_store WHERE expires_at < '2026-06-01' ORDER BY random() LIMIT 3 FOR UPDATE SKIP LOCKED
        ), later AS (
            UPDATE task_state_store AS t SET expires_at = '2037-01-01' FROM due WHERE t.id = due.id RETURNING t.id
        )
        INSERT INTO saved SELECT id FROM later;
        PERFORM pg_sleep(0.004 * random());
        COMMIT;
        UPDATE task_state_store SET value = 'new'
        WHERE id IN (SELECT id FROM task_state_store WHERE expires_at < '2026-06-01' ORDER BY random() LIMIT 3 FOR UPDATE SKIP LOCKED);
        COMMIT;
        WITH new AS (
            INSERT INTO task_state_store (id, dag_run_id, task_id, name, value, expires_at)
            SELECT id, id, '', '', '', CASE WHEN id % 4 = 0 THEN timestamptz '2037-01-01' ELSE '2026-01-01' END
            FROM (SELECT nextval('number') AS id FROM generate_series(1, 20)) AS n
            RETURNING id
        )
        INSERT INTO saved SELECT id FROM new WHERE id % 4 = 0;
        COMMIT;
    END LOOP;
END $$";

fn what_writers_re_date_beside_runs_stays() {
    let mut installation = super::new(POSTGRES);
    installation.execute(WRITER);
    let mut rival = installation.connect();
    // What is gone makes room for what comes.
    let vacuum = || rival.execute("VACUUM task_state_store").expect("VACUUM");
    let writer = "CALL writer()".to_owned();
    beside_writers(&mut installation, &[writer.clone(), writer], vacuum);
}
