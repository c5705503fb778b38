//! PostgreSQL: what windrow sets may say to which part of a table a row belongs. Then the server moves the row, by a DELETE and an
//! INSERT of its own.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::fit::{self, Severity};

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    on_postgres: [
        triggers_that_a_moved_row_fires_are_told,
        a_superuser_lends_nothing_to_what_a_moved_row_fires,
    ],
}

const SPEC: &str = r#"
name   = "moves"
schema = "public"

[tables]
runs  = { key = "id integer" }
memos = { parents = ["run_id -> runs.id set null"], indexed = ["run_id"] }

[rules.runs]
strategy  = "end-time"
root      = "runs"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
"#;

/// A memo that loses its run moves to `stray`, which has parts of its own.
const SCHEMA: &str = "
CREATE TABLE runs (id integer NOT NULL PRIMARY KEY, state varchar(20), ended timestamp);
CREATE TABLE memos (id integer, run_id integer, note text) PARTITION BY LIST (run_id);
CREATE TABLE stray PARTITION OF memos FOR VALUES IN (NULL) PARTITION BY RANGE (id);
CREATE TABLE stray_1 PARTITION OF stray DEFAULT;
CREATE TABLE others PARTITION OF memos DEFAULT;
CREATE INDEX of_run ON memos (run_id);
INSERT INTO runs (id, state, ended) VALUES (1, 'done', '2025-01-01'), (2, 'running', NULL);
INSERT INTO memos (id, run_id) VALUES (11, 1), (12, 2);
CREATE FUNCTION idle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'";

/// The triggers that `check` warns of, each with its table.
fn warned(installation: &Installation) -> Vec<String> {
    let catalog = installation.connect().catalog("public").expect("a catalog");
    let found = fit::compare(&graph_of(SPEC), &catalog);
    let found = found.iter().filter(|it| it.code == "trigger");
    let mut told: Vec<_> = found
        .map(|it| {
            assert_eq!(it.severity, Severity::Warning);
            let name = it.message.split('`').nth(1).unwrap_or_default();
            format!("{} {name}", it.object)
        })
        .collect();
    told.sort();
    told
}

/// A trigger for a whole statement does not fire for the DELETE and the INSERT of a move.
fn triggers_that_a_moved_row_fires_are_told() {
    let mut installation = Installation::of(Dialect::Postgres, SCHEMA, &graph_of(SPEC));
    installation.execute(
        "CREATE TRIGGER leaves AFTER DELETE ON others FOR EACH ROW EXECUTE FUNCTION idle();
         CREATE TRIGGER comes AFTER INSERT ON stray_1 FOR EACH ROW EXECUTE FUNCTION idle();
         CREATE TRIGGER always AFTER INSERT ON memos FOR EACH ROW EXECUTE FUNCTION idle();
         CREATE TRIGGER whole AFTER INSERT OR DELETE ON memos FOR EACH STATEMENT EXECUTE FUNCTION idle();
         CREATE TRIGGER noted AFTER UPDATE OF note ON memos FOR EACH ROW EXECUTE FUNCTION idle();
         CREATE TRIGGER begins AFTER INSERT ON runs FOR EACH ROW EXECUTE FUNCTION idle()",
    );
    assert_eq!(
        warned(&installation),
        ["memos always", "memos comes", "memos leaves"]
    );
    installation.arm();
    let result = installation.run(json!({})).expect("a result");
    assert_eq!(result["status"], "done", "{result}");
    let left = installation.texts("SELECT tableoid::regclass || ' ' || id FROM memos ORDER BY 1");
    assert_eq!(left, ["others 12", "stray_1 11"]);
}

/// The trigger that an INSERT fires may put something off until the COMMIT, which has the rights of a superuser before version 18.
fn a_superuser_lends_nothing_to_what_a_moved_row_fires() {
    let mut installation = Installation::of(Dialect::Postgres, SCHEMA, &graph_of(SPEC));
    let app = format!("{}_app", installation.name);
    installation.execute(&format!(
        "CREATE ROLE {app}; CREATE SCHEMA app AUTHORIZATION {app};
         ALTER TABLE memos OWNER TO {app}; ALTER TABLE stray OWNER TO {app}; ALTER TABLE stray_1 OWNER TO {app};
         SET ROLE {app};
         CREATE FUNCTION app.later() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER mine AFTER INSERT ON stray_1 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION app.later();
         RESET ROLE"
    ));
    installation.arm();
    let error = installation.run(json!({})).expect_err("lent rights");
    let told = format!("{error:#}");
    assert!(
        told.contains("trigger mine of table public.stray_1 belongs to"),
        "{told}"
    );
    installation.execute(&format!(
        "DROP SCHEMA app CASCADE; DROP OWNED BY {app} CASCADE; DROP ROLE {app}"
    ));
}
