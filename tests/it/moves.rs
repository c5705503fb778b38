//! PostgreSQL: what windrow sets may say to which part of a table a row belongs. Then the server moves the row, by a DELETE and an
//! INSERT of its own.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::acting::all_findings;
use crate::acting::stamps::verified;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    on_postgres: [
        triggers_that_a_moved_row_fires_are_told,
        what_names_a_row_that_moves_stays,
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

/// What `check` says under a code: the object with the first name in the message.
fn told(installation: &Installation, code: &str) -> Vec<String> {
    let found = all_findings(installation, Dialect::Postgres, SPEC);
    let found = found.iter().filter(|it| it.code == code);
    let mut told: Vec<_> = found
        .map(|it| {
            let name = it.message.split('`').nth(1).unwrap_or_default();
            format!("{:?} {} {name}", it.severity, it.object)
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
        told(&installation, "trigger"),
        [
            "Warning memos always",
            "Warning memos comes",
            "Warning memos leaves"
        ]
    );
    assert_eq!(
        verified(&mut installation),
        ["memos always", "memos comes", "memos leaves"]
    );
    installation.arm();
    let result = installation.run(json!({})).expect("a result");
    assert_eq!(result["status"], "done", "{result}");
    let left = installation.texts("SELECT tableoid::regclass || ' ' || id FROM memos ORDER BY 1");
    assert_eq!(left, ["others 12", "stray_1 11"]);
}

/// Before version 15 the server takes a row that moves for one that is deleted, and a key that cascades acts on it. Later ones
/// refuse that the row is set.
fn what_names_a_row_that_moves_stays() {
    let mut installation = Installation::of(Dialect::Postgres, SCHEMA, &graph_of(SPEC));
    installation.execute(
        "ALTER TABLE memos ADD CONSTRAINT one UNIQUE (id, run_id);
         CREATE TABLE audit (memo integer, run_id integer, CONSTRAINT acts FOREIGN KEY (memo, run_id) REFERENCES memos (id, run_id)
             ON DELETE CASCADE);
         INSERT INTO audit (memo, run_id) VALUES (11, 1), (12, 2)",
    );
    let version = installation.number("SELECT current_setting('server_version_num')::integer");
    let refused = "table audit references memos by acts (on update cascade)";
    match installation.attempt(&format!("CALL {}.arm()", installation.control)) {
        Err(error) => {
            let error = format!("{error:#}");
            assert!(version < 150_000 && error.contains(refused), "{error}");
            assert_eq!(
                told(&installation, "unlisted-reference"),
                ["Error audit memos"]
            );
        }
        Ok(()) => {
            let result = installation.run(json!({})).expect("a result");
            let skipped = &result["rules"][0]["skipped"];
            assert_eq!(skipped, &json!({"FAILED": 1}), "{result}");
        }
    }
    let left = installation.texts("SELECT memo FROM audit ORDER BY 1");
    assert_eq!(left, ["11", "12"]);
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
