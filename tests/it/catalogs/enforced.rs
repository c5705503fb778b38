//! Keys that say nothing: from version 18 on, PostgreSQL knows foreign keys that are not enforced.

use windrow::dialect::Dialect;
use windrow::fit::{self, Severity};
use windrow::render;
use windrow::sandbox::{Postgres, Settings, installed};

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{apply, bundle, connect};

tests! {
    on_postgres: [
        a_key_that_is_not_enforced_is_no_matter,
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

const SCHEMA: &str = "
CREATE TABLE runs (id integer PRIMARY KEY, state varchar(20), ended timestamp);
CREATE TABLE audit (id integer PRIMARY KEY, run_id integer);
INSERT INTO runs VALUES (1, 'done', '2025-01-01');
INSERT INTO audit VALUES (11, 1)";

/// On the newest server that is installed: where it knows no such keys, the same key acts and is told.
fn a_key_that_is_not_enforced_is_no_matter() {
    let (major, bin_dir) = installed().pop().expect("a server");
    let server = Postgres::start(&Settings {
        bin_dir: Some(bin_dir),
        ..Settings::default()
    })
    .expect("a server starts");
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
