//! Columns of types that not every server has: what a spec may ask of them, and what a run then does.

use serde_json::json;
use windrow::dialect::Dialect;

use crate::acting::all_findings;
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    each_server: [
        enumerated_states_are_asked_by_their_labels,
    ],
}

fn spec(states: &str) -> String {
    format!(
        r#"
name = "kinds"
schema = "public"
database = "kinds"

[tables]
job = {{ key = "id integer" }}
step = {{ parents = ["job_id -> job.id"] }}

[rules.jobs]
strategy = "end-time"
root = "job"
candidates = {{ sort = "batch" }}
final = {{ state = [{states}] }}
end_time = "ended_at"
retention = {{ default = "30d", minimum = "7d", safety_lag = "1d" }}
"#
    )
}

/// What is said of types.
fn findings(database: &Installation, spec: &str) -> Vec<String> {
    let found = all_findings(database, database.dialect, spec);
    let of_types = found.iter().filter(|found| found.code == "type-differs");
    of_types.map(ToString::to_string).collect()
}

fn enumerated_states_are_asked_by_their_labels(dialect: Dialect) {
    let (before, sort, state, time) = match dialect {
        Dialect::Postgres => (
            "CREATE TYPE job_sort AS ENUM ('batch', 'service');
             CREATE TYPE \"Job State\" AS ENUM ('new', 'it''s running', 'done', 'lost');",
            "job_sort",
            "\"Job State\"",
            "timestamp",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "",
            "ENUM('batch', 'service')",
            "ENUM('new', 'it''s running', 'done', 'lost')",
            "datetime",
        ),
    };
    let schema = format!(
        "{before}
         CREATE TABLE job (id integer PRIMARY KEY, sort {sort} NOT NULL, state {state}, ended_at {time} NULL);
         CREATE TABLE step (id integer PRIMARY KEY, job_id integer NOT NULL);"
    );
    let as_written = spec("\"done\", \"lost\"");
    let mut database = Installation::of(dialect, &schema, &graph_of(&as_written));
    assert_eq!(findings(&database, &as_written), [""; 0]);

    database.arm();
    database.execute(
        "INSERT INTO job VALUES
             (1, 'batch', 'done', '2024-01-01'), (2, 'batch', 'lost', '2024-01-01'), (3, 'batch', 'it''s running', '2024-01-01'),
             (4, 'service', 'done', '2024-01-01'), (5, 'batch', NULL, '2024-01-01'), (6, 'batch', 'done', NULL);
         INSERT INTO step SELECT id, id FROM job",
    );
    let preview = database.preview(json!({})).expect("a preview");
    assert_eq!(preview["rules"][0]["families"], 2, "{preview}");
    let run = database.run(json!({})).expect("a run");
    assert_eq!(run["rules"][0]["families"], 2, "{run}");
    assert_eq!(
        database.texts("SELECT CAST(id AS char(1)) FROM job ORDER BY id"),
        ["3", "4", "5", "6"]
    );
    assert_eq!(database.number("SELECT COUNT(*) FROM step"), 4);

    if dialect == Dialect::Postgres {
        // The server refuses a statement with such a text; InnoDB finds no row by it.
        let told = findings(&database, &spec("\"done\", \"gone\""));
        let said = "error[type-differs]: `job.state`: is `\"Job State\"`, which has no `gone`\n  help: it has `new`, `it's running`, `done`, `lost`";
        assert_eq!(told, [said]);
    }
}
