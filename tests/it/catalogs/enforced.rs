//! What says nothing: from version 18 on, PostgreSQL knows foreign keys that are not enforced, and NOT NULL that is not validated.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::fit::{self, Severity};
use windrow::render;
use windrow::sandbox::{Postgres, Settings, installed};

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Session, apply, bundle, call, connect};

tests! {
    on_postgres: [
        a_key_that_is_not_enforced_is_no_matter,
        a_key_that_is_enforced_no_more_cascades_no_more,
        a_key_whose_not_null_is_not_validated_may_be_null,
    ],
}

const SPEC: &str = r#"
name = "enforced"

[tables]
runs = { key = "id integer" }

[ignore]
audit = "kept for the auditors"

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
"#;

/// What is kept without its run.
const MEMOS: &str = r#"
[tables.memos]
parents = ["run_id -> runs.id set null"]
indexed = ["run_id"]
"#;

const SCHEMA: &str = "
CREATE TABLE runs (id integer PRIMARY KEY, state varchar(20), ended timestamp);
CREATE TABLE audit (id integer PRIMARY KEY, run_id integer);
INSERT INTO runs VALUES (1, 'done', '2025-01-01');
INSERT INTO audit VALUES (11, 1)";

/// The newest server that is installed, with its version.
fn newest() -> (u32, Postgres) {
    let (major, bin_dir) = installed().pop().expect("a server");
    let server = Postgres::start(&Settings {
        bin_dir: Some(bin_dir),
        ..Settings::default()
    });
    (major, server.expect("a server starts"))
}

/// A row that was there before is NULL all the same; and the server lets nobody set another one to NULL.
fn a_key_whose_not_null_is_not_validated_may_be_null() {
    let (major, server) = newest();
    let graph = graph_of(
        &format!("{SPEC}{MEMOS}").replace("[ignore]\naudit = \"kept for the auditors\"\n", ""),
    );
    let mut session = connect(&server.url("postgres", "postgres"));
    session
        .execute(
            "CREATE TABLE runs (id integer UNIQUE, state varchar(20), ended timestamp);
             CREATE TABLE memos (id integer PRIMARY KEY, run_id integer);
             INSERT INTO runs VALUES (1, 'done', '2025-01-01'), (NULL, 'done', '2025-01-01');
             INSERT INTO memos VALUES (11, NULL)",
        )
        .expect("the schema loads");
    let told = |session: &mut Session| {
        let catalog = session.catalog("public").expect("a catalog");
        let mut found = fit::compare(&graph, &catalog);
        found.retain(|it| ["nullable-key", "not-nullable"].contains(&it.code));
        let told = found.iter().map(|it| format!("{} {}", it.code, it.object));
        told.collect::<Vec<_>>()
    };
    assert_eq!(told(&mut session), ["nullable-key runs"]);
    if major < 18 {
        return;
    }
    session
        .execute(
            "ALTER TABLE runs ADD CONSTRAINT filled NOT NULL id NOT VALID;
             ALTER TABLE memos ADD CONSTRAINT filled NOT NULL run_id NOT VALID",
        )
        .expect("constraints");
    assert_eq!(
        told(&mut session),
        ["not-nullable memos.run_id", "nullable-key runs"]
    );
    session
        .execute("DELETE FROM runs WHERE id IS NULL; ALTER TABLE runs ALTER id SET NOT NULL")
        .expect("what the finding says");
    assert_eq!(told(&mut session), ["not-nullable memos.run_id"]);
}

/// Steps with notes, by keys that cascade.
const STEPS: &str = r#"
[tables.steps]
key     = "id integer"
parents = ["run_id -> runs.id"]
indexed = ["run_id"]

[tables.notes]
parents = ["step_id -> steps.id"]
indexed = ["step_id"]
"#;

/// What a batch has left to a key, it deletes itself from then on; nothing of it stays, and nothing is counted twice.
fn a_key_that_is_enforced_no_more_cascades_no_more() {
    let (major, server) = newest();
    let text =
        format!("{SPEC}{STEPS}").replace("[ignore]\naudit = \"kept for the auditors\"\n", "");
    let graph = graph_of(&text);
    let control = render::control_name(&graph);
    let mut session = connect(&server.url("postgres", "postgres"));
    session
        .execute(
            "CREATE TABLE runs (id integer PRIMARY KEY, state varchar(20), ended timestamp);
             CREATE TABLE steps (id integer PRIMARY KEY, run_id integer);
             CREATE TABLE notes (step_id integer); CREATE INDEX ON notes (step_id); CREATE INDEX ON steps (run_id);
             ALTER TABLE steps ADD CONSTRAINT of_run FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE;
             ALTER TABLE notes ADD CONSTRAINT of_step FOREIGN KEY (step_id) REFERENCES steps (id) ON DELETE CASCADE;
             INSERT INTO runs VALUES (1, 'done', '2025-01-01'), (2, 'done', '2025-01-01'), (3, 'running', NULL);
             INSERT INTO steps SELECT n * 10 + s, n FROM generate_series(1, 3) AS n, generate_series(1, 4) AS s;
             INSERT INTO notes SELECT id FROM steps",
        )
        .expect("the schema loads");
    apply(&mut session, &bundle(Dialect::Postgres, &graph));
    session
        .execute(&format!("CALL {control}.arm()"))
        .expect("it is armed");
    let run = |session: &mut Session| {
        let options = json!({"run_families": 1});
        let answer = call(session, Dialect::Postgres, &control, "run", &options).expect("a run");
        let rule = &answer["rules"][0];
        assert_eq!(
            rule["tables"],
            json!({"notes": 4, "steps": 4, "runs": 1}),
            "{answer}"
        );
    };
    run(&mut session);
    if major >= 18 {
        session
            .execute(
                "ALTER TABLE steps ALTER CONSTRAINT of_run NOT ENFORCED;
                 ALTER TABLE notes ALTER CONSTRAINT of_step NOT ENFORCED",
            )
            .expect("keys that are not enforced");
    }
    run(&mut session);
    for table in ["steps", "notes"] {
        let rows = session
            .query(&format!("SELECT count(*) FROM {table}"), &[])
            .expect("a number");
        assert_eq!(rows[0][0].as_deref(), Some("4"), "{table}");
    }
}

/// On the newest server that is installed: where it knows no such keys, the same key acts and is told.
fn a_key_that_is_not_enforced_is_no_matter() {
    let (major, server) = newest();
    let graph = graph_of(SPEC);
    let control = render::control_name(&graph);
    let mut session = connect(&server.url("postgres", "postgres"));
    session.execute(SCHEMA).expect("the schema loads");
    apply(&mut session, &bundle(Dialect::Postgres, &graph));
    let is_known = major >= 18;
    let state = if is_known { "NOT ENFORCED" } else { "" };
    session
        .execute(&format!("ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE {state}"))
        .expect("a key");
    let armed = session.execute(&format!("CALL {control}.arm()"));
    let catalog = session.catalog("public").expect("a catalog");
    let mut found = fit::compare(&graph, &catalog);
    found.retain(|it| it.severity == Severity::Error);
    if !is_known {
        let error = format!("{:#}", armed.expect_err("a key that acts"));
        assert!(
            error.contains("table audit references runs by acts"),
            "{error}"
        );
        assert_eq!(found.len(), 1, "{found:?}");
        return;
    }
    armed.expect("nothing acts");
    assert!(found.is_empty(), "{found:?}");
    let run = format!("CALL {control}.run('{{}}')");
    session.execute(&run).expect("a run");
    for (table, left) in [("runs", "0"), ("audit", "1")] {
        let rows = session
            .query(&format!("SELECT count(*) FROM {table}"), &[])
            .expect("a number");
        assert_eq!(rows[0][0].as_deref(), Some(left), "{table}");
    }
}
