//! What acts on a part acts on its table, and what acts on the whole on each part.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::{assert_told, changed_during_a_run, errors, findings, warned};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;
use crate::support::patience::until;

tests! {
    on_postgres: [
        keys_of_partitions_act_on_their_table,
        keys_of_the_whole_act_on_a_partition,
        a_partition_that_comes_during_a_batch_rolls_it_back,
        what_comes_to_a_table_of_another_rule_during_a_batch_rolls_it_back,
        triggers_of_parts_of_parts_are_told,
    ],
}

/// A row of a part of a part goes with its trigger, wherever the part stands; a trigger for a whole statement that names the
/// part does not fire.
fn triggers_of_parts_of_parts_are_told() {
    let schema = "
        CREATE TABLE events (id integer, state varchar(20), ended timestamp) PARTITION BY RANGE (id);
        CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (id);
        CREATE TABLE events_11 PARTITION OF events_1 FOR VALUES FROM (0) TO (50);
        CREATE SCHEMA aside;
        CREATE TABLE aside.events_12 PARTITION OF events_1 FOR VALUES FROM (50) TO (100);
        CREATE FUNCTION idle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER below AFTER DELETE ON events_11 FOR EACH ROW EXECUTE FUNCTION idle();
        CREATE TRIGGER beside AFTER DELETE ON aside.events_12 FOR EACH ROW EXECUTE FUNCTION idle();
        CREATE TRIGGER never AFTER DELETE ON events_11 FOR EACH STATEMENT EXECUTE FUNCTION idle()";
    let installation = Installation::of(Dialect::Postgres, schema, &graph_of(EVENTS));
    let told = warned(&installation, Dialect::Postgres, EVENTS);
    assert_eq!(told, ["events below", "events beside"]);
}

const EVENTS: &str = r#"
name = "acting"

[tables]
events = { key = "id integer", indexed = ["ended"] }

[rules.events]
strategy  = "age"
root      = "events"
time      = "ended timestamp"
retention = { default = "30d" }
limits    = { batch_rows = 2 }
"#;

const PARTITIONED: &str = "
CREATE TABLE events (id integer PRIMARY KEY, state varchar(20), ended timestamp) PARTITION BY RANGE (id);
CREATE INDEX ON events (ended);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (100);
CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (100) TO (200);
INSERT INTO events SELECT g, 'done', timestamp '2025-01-01' + g * interval '1 day' FROM generate_series(1, 6) AS g";

fn keys_of_partitions_act_on_their_table() {
    let mut installation = Installation::of(Dialect::Postgres, PARTITIONED, &graph_of(EVENTS));
    installation.arm();
    let bill = "CREATE TABLE bill (id integer, event integer CONSTRAINT acts REFERENCES events_1 (id) ON DELETE CASCADE); INSERT INTO bill VALUES (1, 6)";
    installation.execute(bill);
    let told = "table bill references events by acts (on delete cascade)";
    let error = installation
        .run(json!({}))
        .expect_err("a key to a partition");
    assert_told(&error, told);
    assert_eq!(
        errors(&findings(&installation, Dialect::Postgres, EVENTS)),
        ["bill"]
    );
    installation.execute("DROP TABLE bill");
    let run = changed_during_a_run(&mut installation, bill);
    assert_told(&anyhow::anyhow!("{}", run["reason"]), told);
    assert_eq!(installation.number("SELECT COUNT(*) FROM bill"), 1);
    // A further partition is nothing to stop for, nor is a rule of one, which does nothing where the whole table is named.
    installation.execute("DROP TABLE bill");
    installation.execute("CREATE RULE idle AS ON DELETE TO events_1 DO INSTEAD NOTHING");
    let run = changed_during_a_run(
        &mut installation,
        "CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM (200) TO (300)",
    );
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM events"), 0);
}

/// The spec names a partition, and keys name the table that it is a part of.
fn keys_of_the_whole_act_on_a_partition() {
    let spec = EVENTS.replace("events", "events_1");
    let mut installation = Installation::of(Dialect::Postgres, PARTITIONED, &graph_of(&spec));
    installation.arm();
    installation.execute("CREATE TABLE bill (id integer, event integer CONSTRAINT acts REFERENCES events (id) ON DELETE CASCADE); INSERT INTO bill VALUES (1, 6)");
    let told = "table bill references events_1 by acts (on delete cascade)";
    let error = installation.run(json!({})).expect_err("a key to the whole");
    assert_told(&error, told);
    let found = findings(&installation, Dialect::Postgres, &spec);
    assert_eq!(errors(&found), ["bill"]);
    installation.execute("DROP TABLE bill");
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(installation.number("SELECT COUNT(*) FROM events"), 0);
}

/// The locks of a batch do not keep a partition from being attached, and what refers to it comes with it: the batch looks again
/// before it commits. A trigger of the application keeps the batch at work meanwhile.
fn a_partition_that_comes_during_a_batch_rolls_it_back() {
    let schema = format!(
        "{PARTITIONED};
         CREATE TABLE loose (LIKE events INCLUDING ALL);
         INSERT INTO loose VALUES (201, 'done', '2025-01-01');
         CREATE TABLE bill (id integer, event integer CONSTRAINT acts REFERENCES loose (id) ON DELETE CASCADE);
         INSERT INTO bill VALUES (1, 201);
         {WAIT};
         CREATE TRIGGER wait AFTER DELETE ON events_1 FOR EACH ROW EXECUTE FUNCTION wait()"
    );
    let mut installation = Installation::of(Dialect::Postgres, &schema, &graph_of(EVENTS));
    installation.arm();
    let run = meanwhile(
        &mut installation,
        "ALTER TABLE events ATTACH PARTITION loose FOR VALUES FROM (200) TO (300)",
    );
    assert_rolled_back(&run, "table bill references events by acts");
    assert_eq!(installation.number("SELECT COUNT(*) FROM events_1"), 6);
    assert_eq!(installation.number("SELECT COUNT(*) FROM bill"), 1);
}

/// A batch locks the tables of its own rule: of another one it sets a column, and a rewrite rule on it can come until then.
fn what_comes_to_a_table_of_another_rule_during_a_batch_rolls_it_back() {
    const TWO: &str = r#"
name = "acting"

[tables]
runs  = { key = "id integer" }
parts = { key = "id integer", parents = ["run_id -> runs.id"], triggers = ["wait"] }
memos = { key = "id integer", parents = ["run_id -> runs.id set null"] }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }

[rules.memos]
strategy  = "age"
root      = "memos"
time      = "written timestamp"
retention = { default = "30d" }
"#;
    let schema = format!(
        "CREATE TABLE runs (id integer PRIMARY KEY, state varchar(20), ended timestamp);
         CREATE TABLE parts (id integer PRIMARY KEY, run_id integer);
         CREATE TABLE memos (id integer PRIMARY KEY, run_id integer, written timestamp);
         CREATE TABLE bills AS SELECT 1 AS id;
         INSERT INTO runs VALUES (1, 'done', '2025-01-01');
         INSERT INTO parts VALUES (1, 1);
         INSERT INTO memos VALUES (1, 1, '2999-01-01');
         {WAIT};
         CREATE TRIGGER wait AFTER DELETE ON parts FOR EACH ROW EXECUTE FUNCTION wait()"
    );
    let mut installation = Installation::of(Dialect::Postgres, &schema, &graph_of(TWO));
    installation.arm();
    let run = meanwhile(
        &mut installation,
        "CREATE RULE acts AS ON UPDATE TO memos DO ALSO DELETE FROM bills",
    );
    assert_rolled_back(&run, "acts");
    assert_eq!(installation.number("SELECT COUNT(*) FROM runs"), 1);
    assert_eq!(installation.number("SELECT run_id FROM memos"), 1);
    assert_eq!(installation.number("SELECT COUNT(*) FROM bills"), 1);
}

/// What a trigger does that keeps a batch at work.
const WAIT: &str = "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(77);
    RETURN NULL;
END $$";

/// A run in whose first batch, while it waits in its trigger, something else happens.
fn meanwhile(installation: &mut Installation, sql: &str) -> Value {
    installation.execute("DO 'BEGIN PERFORM pg_advisory_lock(77); END'");
    let (runner, _, _) = installation.call_aside("run", json!({}));
    until("a batch that waits in the trigger", || {
        Ok(installation.number("SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 77 AND NOT granted") > 0)
    })
    .expect("a batch that waits");
    installation.execute(sql);
    installation.execute("DO 'BEGIN PERFORM pg_advisory_unlock(77); END'");
    let (_, run) = runner.join().expect("a session");
    run.expect("a run")
}

fn assert_rolled_back(run: &Value, why: &str) {
    let reason = run["reason"].as_str().unwrap_or_default();
    assert!(
        run["status"] == "failed" && reason.contains("catalog changed: ") && reason.contains(why),
        "{run}"
    );
    assert_eq!(run["rules"][0]["rows"], 0, "{run}");
}
