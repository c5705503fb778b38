//! Deadlines of runs that have ended: while the scheduler may still act on one, its run stays.

use serde_json::json;
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use super::history::{OLD, Run, uuid};
use super::rows::model::AS_OF;
use super::runs::small;
use super::{SPEC, graph};
use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    postgres_and_mysql: [
        a_deadline_that_was_not_missed_yet_keeps_its_run,
        a_deadline_whose_callback_has_not_ended_keeps_its_run,
        the_column_of_the_row_that_is_named_is_checked,
    ],
}

fn deadline(database: &mut Installation, number: i32, run: i32, time: &str, missed: bool) {
    let id = |number| uuid(database.dialect, number);
    let (id, callback, old) = (id(number), id(number + 100), "2025-06-01");
    database.execute(&format!("INSERT INTO callback (id, type, fetch_method, data, priority_weight, created_at, state) VALUES ('{callback}', 'x', 'x', '{{}}', 1, '{old}', '{}')", if missed { "success" } else { "scheduled" }));
    database.execute(&format!("INSERT INTO deadline (id, created_at, last_updated_at, dagrun_id, deadline_time, missed, callback_id) VALUES ('{id}', '{old}', '{old}', {run}, '{time}', {missed}, '{callback}')"));
}

/// The scheduler calls the callback of each deadline that has passed and is not marked as missed, whatever the state of its
/// run; it marks it then. It never asks again for one that is marked.
fn a_deadline_that_was_not_missed_yet_keeps_its_run(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    for (id, state) in [
        (33, "failed"),
        (36, "failed"),
        (39, "success"),
        (42, "success"),
    ] {
        Run { id, state, ..OLD }.insert(&mut database);
    }
    deadline(&mut database, 21, 33, "2026-06-01", false);
    deadline(&mut database, 22, 36, "2025-06-02", false);
    deadline(&mut database, 23, 39, "2025-06-02", true);
    deadline(&mut database, 24, 39, "2025-06-03", true);
    deadline(&mut database, 25, 42, "2025-06-02", true);
    deadline(&mut database, 26, 42, "2026-06-01", false);
    let options = json!({"as_of": AS_OF, "rule": "dag_runs"});
    let mut dry = options.clone();
    dry["dry_run"] = json!(true);
    let kept = |database: &mut Installation| {
        database.texts("SELECT id FROM dag_run WHERE id IN (33, 36, 39, 42) ORDER BY id")
    };
    for document in [
        database.preview(options.clone()).expect("a preview"),
        database.run(dry).expect("a dry run"),
        database.run(options.clone()).expect("a run"),
    ] {
        let skipped = &document["rules"][0]["skipped"];
        assert_eq!(skipped["REFERENCED"], 3, "{document}");
    }
    assert_eq!(kept(&mut database), ["33", "36", "42"]);
    assert_eq!(database.number("SELECT count(*) FROM deadline"), 4);
    // Nor does a purge take one.
    let purged = database.call("purge", json!({"rule": "dag_runs", "key": ["33"]}));
    let purged = purged.expect("a purge");
    assert_eq!(purged["refused"], json!({"33": "REFERENCED"}), "{purged}");
    assert_eq!(kept(&mut database), ["33", "36", "42"]);
    // The scheduler has acted.
    database.execute("UPDATE deadline SET missed = true");
    database.execute("UPDATE callback SET state = 'success'");
    let run = database.run(options).expect("a run");
    assert_eq!(run["rules"][0]["skipped"].get("REFERENCED"), None, "{run}");
    assert_eq!(kept(&mut database), [""; 0]);
    assert_eq!(database.number("SELECT count(*) FROM deadline"), 0);
}

/// By `check --database`, like a column of the row itself.
fn the_column_of_the_row_that_is_named_is_checked(dialect: Dialect) {
    let database = small(dialect, &graph());
    let spec = |text: &str| Graph {
        database: database.name.clone(),
        ..graph_of(text)
    };
    let home = spec(SPEC);
    let home = windrow::render::home(&home, dialect);
    let catalog = database.connect().catalog(home);
    let catalog = catalog.expect("the catalog");
    let asked = "\"callback_id -> callback.state\" = [\"success\", \"failed\"]";
    for (instead, told) in [
        (asked, None),
        (
            "\"callback_id -> callback.stat\" = \"failed\"",
            Some("error missing-column callback.stat"),
        ),
        (
            "\"callback_id -> callback.state\" = [1, 2]",
            Some("error type-differs callback.state"),
        ),
        (
            "\"callback_id -> callback.state\" = true",
            Some("error type-differs callback.state"),
        ),
    ] {
        let graph = spec(&SPEC.replace(asked, instead));
        let findings = windrow::fit::compare(&graph, &catalog);
        let errors = findings
            .iter()
            .filter(|it| it.object.starts_with("callback."));
        let errors: Vec<String> = errors
            .map(|it| format!("{} {} {}", it.severity, it.code, it.object))
            .collect();
        assert_eq!(errors, told.into_iter().collect::<Vec<_>>(), "{instead}");
    }
}

/// A scheduler starts no callback whose run is gone, and the run stays while one has been started.
fn a_deadline_whose_callback_has_not_ended_keeps_its_run(dialect: Dialect) {
    let mut database = small(dialect, &graph());
    let states = [
        (33, "'pending'"),
        (36, "'queued'"),
        (39, "'running'"),
        (42, "'success'"),
        (45, "'failed'"),
        (48, "NULL"),
    ];
    for (id, state) in states {
        let run = Run {
            id,
            state: "failed",
            ..OLD
        };
        run.insert(&mut database);
        deadline(&mut database, id, id, "2025-06-02", true);
        let callback = uuid(dialect, id + 100);
        database.execute(&format!(
            "UPDATE callback SET state = {state} WHERE id = '{callback}'"
        ));
    }
    let options = json!({"as_of": AS_OF, "rule": "dag_runs"});
    let preview = database.preview(options.clone()).expect("a preview");
    assert_eq!(preview["rules"][0]["skipped"]["REFERENCED"], 4, "{preview}");
    let purged = database.call(
        "purge",
        json!({"rule": "dag_runs", "key": ["33", "36", "39", "48"]}),
    );
    let purged = purged.expect("a purge");
    let why = "REFERENCED";
    let refused = json!({"33": why, "36": why, "39": why, "48": why});
    assert_eq!(purged["refused"], refused, "{purged}");
    // Nobody waits for who is writing to a callback.
    let mut rival = database.connect();
    for statement in ["BEGIN", "UPDATE callback SET priority_weight = 2"] {
        rival.execute(statement).expect("a rival");
    }
    let run = database.run(options.clone()).expect("a run");
    assert_eq!(
        run["rules"][0]["skipped"],
        json!({"REFERENCED": 4}),
        "{run}"
    );
    rival.execute("ROLLBACK").expect("a rival");
    let kept = |database: &mut Installation| {
        database.texts("SELECT id FROM dag_run WHERE id >= 33 AND id <= 48 ORDER BY id")
    };
    assert_eq!(kept(&mut database), ["33", "36", "39", "48"]);
    database.execute("UPDATE callback SET state = 'failed'");
    database.run(options).expect("a run");
    assert_eq!(kept(&mut database), [""; 0]);
}
