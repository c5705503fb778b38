//! What is installed or uninstalled while rows are out of their table: only the rule that took them puts them back.

use serde_json::json;
use windrow::bundle::Bundle;
use windrow::calls::Calls;
use windrow::dialect::Dialect;
use windrow::drift;
use windrow::graph::Graph;

use super::{PAST, SCHEMA, armed, armed_as, files, ids, leave, taken};
use crate::partition::{archive, example, only, without_ahead};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, bundle, violations};

/// The rows are out of the table, and not judged.
const TAKEN: &[&str] = &["INTENT taking", "TWIN", "SWAP"];

const OUT: &str = "rows of partition the `past` are out of their table";

/// The statements of a file of what a spec generates.
pub(super) fn of_file(bundle: &Bundle, end: &str) -> Vec<String> {
    let file = bundle.files.iter().find(|file| file.path.ends_with(end));
    let statements = &file.expect("a file").statements;
    statements.iter().map(|it| it.sql.clone()).collect()
}

/// Begins to install what a spec generates: the first file refuses before anything has changed.
fn begins(installation: &mut Installation, bundle: &Bundle) -> anyhow::Result<()> {
    let statements = of_file(bundle, "00_database.sql");
    let done = statements
        .iter()
        .try_for_each(|sql| installation.attempt(sql));
    installation.execute("DO RELEASE_ALL_LOCKS()");
    done
}

fn undo(installation: &mut Installation, bundle: &Bundle) -> anyhow::Result<()> {
    let statements = of_file(bundle, "90_uninstall.sql");
    statements
        .iter()
        .try_for_each(|sql| installation.attempt(sql))
}

/// The spec of the example, changed.
fn changed(changes: &[(&str, &str)]) -> Graph {
    let spec = changes.iter().fold(without_ahead(), |spec, (from, to)| {
        assert!(spec.contains(from), "{from}");
        spec.replace(from, to)
    });
    graph_of(&spec)
}

/// Specs whose rules do not settle what the rule of the example has taken out.
fn others() -> Vec<(&'static str, Graph)> {
    vec![
        (
            "renamed",
            changed(&[("[rules.event_log]", "[rules.events]")]),
        ),
        (
            "by age",
            changed(&[("strategy  = \"partition\"", "strategy  = \"age\"")]),
        ),
        (
            "another table",
            changed(&[
                ("event_log = {", "other_log = {"),
                ("root      = \"event_log\"", "root      = \"other_log\""),
            ]),
        ),
    ]
}

pub(super) fn no_rule_is_taken_away_while_its_rows_are_out(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-rules");
    installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
    let own = installation.bundle(&example("event-log-rules"));
    let elsewhere = Graph {
        name: installation.control.replacen("windrow_", "", 1),
        database: "elsewhere".to_owned(),
        ..example("event-log-rules")
    };
    let mut refused: Vec<(&str, Bundle)> = vec![("another database", bundle(dialect, &elsewhere))];
    for (what, graph) in others() {
        refused.push((what, installation.bundle(&graph)));
    }
    for phase in ["taking", "returning", "returned", "dropping"] {
        let intent = format!("INTENT {phase}");
        leave(&mut installation, &[&intent]);
        for (what, other) in &refused {
            let told = begins(&mut installation, other).expect_err(what);
            assert!(format!("{told:#}").contains(OUT), "{what}: {told:#}");
        }
        begins(&mut installation, &own).expect("the same spec");
        installation.execute("DELETE FROM W.taken_partition");
    }

    leave(&mut installation, TAKEN);
    assert_eq!(ids(&mut installation), "6");
    begins(&mut installation, &refused[1].1).expect_err("renamed");
    installation.run(json!({})).expect("a run");
    assert_eq!(taken(&mut installation), 0);
    // A run in progress could be about to take rows out.
    let mut run = installation.connect();
    let lock = installation.named("SELECT GET_LOCK(s.run_lock, 0) FROM W.spec AS s");
    run.query(&lock, &[]).expect("a lock");
    begins(&mut installation, &own).expect("the same spec");
    let told = begins(&mut installation, &refused[1].1).expect_err("renamed");
    assert!(
        format!("{told:#}").contains("a run is in progress"),
        "{told:#}"
    );
    run.execute("DO RELEASE_ALL_LOCKS()").expect("the lock");
    for (what, other) in &refused {
        begins(&mut installation, other).expect(what);
    }
    installation.install(&others()[1].1);
    let verify = installation.call("verify", json!({})).expect("verify");
    assert!(violations(&verify).is_empty(), "{verify}");
}

/// What is to be archived needs the routines of a spec that archives.
pub(super) fn no_archive_is_taken_away_while_rows_are_archived(dialect: Dialect) {
    let mut installation = armed_as(dialect, &archive::example("event-log-rules-archive"));
    let without = installation.bundle(&example("event-log-rules-archive"));
    leave(&mut installation, &["INTENT archiving"]);
    let told = begins(&mut installation, &without).expect_err("no archive");
    assert!(format!("{told:#}").contains(OUT), "{told:#}");
    installation.execute("UPDATE W.taken_partition SET phase = 'dropping'");
    begins(&mut installation, &without).expect("it is not archived");
}

/// Whatever the spec says by then, and while a run may take something out.
pub(super) fn an_uninstallation_drops_no_rows_that_are_out(dialect: Dialect) {
    let graph = Graph {
        workers: 2,
        ..example("event-log-undo")
    };
    files(dialect);
    let mut installation = Installation::with(super::server(dialect), SCHEMA, &graph);
    installation.arm();
    installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
    let other = installation.bundle(&others()[1].1);
    leave(&mut installation, TAKEN);
    for drops in ["no", "yes"] {
        installation.execute(&format!("SET @windrow_drop_archive = '{drops}'"));
        let told = undo(&mut installation, &other).expect_err("rows are out");
        assert!(format!("{told:#}").contains(OUT), "{told:#}");
    }
    installation.run(json!({"worker": 1})).expect("a run");
    assert_eq!(taken(&mut installation), 0);
    let mut run = installation.connect();
    for worker in ["", ".w2"] {
        let lock = format!("SELECT GET_LOCK(CONCAT(s.run_lock, '{worker}'), 0) FROM W.spec AS s");
        run.query(&installation.named(&lock), &[]).expect("a lock");
        let told = undo(&mut installation, &other).expect_err("a run is in progress");
        assert!(
            format!("{told:#}").contains("a run is in progress"),
            "{told:#}"
        );
        run.execute("DO RELEASE_ALL_LOCKS()").expect("the lock");
    }
    installation.execute(
        "INSERT INTO W.run (`trigger`, dry_run, options, as_of, backend_pid, node)
         VALUES ('MANUAL', false, '{}', UTC_TIMESTAMP(6), 1, 'another server')",
    );
    let told = undo(&mut installation, &other).expect_err("a run of another server");
    assert!(format!("{told:#}").contains("is in progress"), "{told:#}");
    installation.execute("UPDATE W.run SET status = 'done' WHERE node = 'another server'");
    undo(&mut installation, &other).expect("an uninstallation");
}

/// The table with the rows is windrow's own, while it is there and when it is gone.
pub(super) fn the_table_with_the_rows_is_no_stranger(dialect: Dialect) {
    let name = "event-log-own";
    // With a constraint, and an index that is unique.
    let schema = SCHEMA.replace(
        "    PRIMARY KEY (id, logged_at)\n",
        "    PRIMARY KEY (id, logged_at), UNIQUE KEY other (logged_at, id), CHECK (message <> '')\n",
    );
    assert_ne!(schema, SCHEMA);
    files(dialect);
    let mut installation = Installation::of(dialect, &schema, &example(name));
    installation.arm();
    installation.execute("DELETE FROM event_log WHERE id IN (1, 2, 5)");
    let strangers = |installation: &mut Installation| -> Vec<String> {
        let bundle = installation.bundle(&example(name));
        let calls = Calls::new(dialect, &installation.control, "unused");
        let control = installation.control.clone();
        let rows = installation
            .session
            .query(calls.objects(), &[Some(&control)]);
        let drift = drift::compare(&bundle, dialect, &rows.expect("objects"));
        let of_tables = drift.iter().filter(|it| it.kind == drift::Kind::Table);
        let mut told: Vec<String> = of_tables.map(|it| it.name.clone()).collect();
        told.extend(
            installation
                .deviations(&example(name))
                .into_iter()
                .filter(|it| it.contains("taken")),
        );
        let verify = installation.call("verify", json!({})).expect("verify");
        told.extend(violations(&verify).iter().map(|it| it["check"].to_string()));
        told
    };
    assert_eq!(strangers(&mut installation), [""; 0]);
    leave(&mut installation, TAKEN);
    assert_eq!(strangers(&mut installation), ["\"unfinished\""]);
    installation.install(&example(name));
    assert_eq!(strangers(&mut installation), ["\"unfinished\""]);
    installation.run(json!({})).expect("a run");
    assert_eq!(taken(&mut installation), 0);
    assert_eq!(strangers(&mut installation), [""; 0]);
    // What an earlier version noted of such a table is forgotten.
    installation.execute(
        "INSERT INTO W.known_shape (name, says, lasts, made) SELECT n.name, 'x', true, k.made
         FROM (SELECT 'column event_log_taken.id' AS name UNION ALL SELECT 'primary key of event_log_taken') AS n
         CROSS JOIN (SELECT MAX(s.made) AS made FROM W.known_shape AS s) AS k",
    );
    installation.install(&example(name));
    assert_eq!(strangers(&mut installation), [""; 0]);
}

/// What a killed run has taken out is settled first; what is due before it is not passed over.
pub(super) fn what_is_due_before_it_goes_in_the_same_run(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-before");
    leave(&mut installation, TAKEN);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&run["status"], &only(&run)["families"], &only(&run)["rows"]),
        (&json!("done"), &json!(3), &json!(5)),
        "{run}"
    );
    assert_eq!(ids(&mut installation), "6", "{run}");

    // What goes back is told of once.
    let mut installation = armed(dialect, "event-log-before-held");
    let hold = json!({"rule": "event_log", "key": 3, "reason": "a test"});
    installation.set_hold(hold).expect("a hold");
    leave(&mut installation, TAKEN);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(
        (&only(&run)["families"], &only(&run)["skipped_samples"]),
        (&json!(2), &json!({"HELD": [format!("{PAST} (3)")]})),
        "{run}"
    );
    assert_eq!(only(&run)["skipped"], json!({"HELD": 1}), "{run}");
    assert_eq!(ids(&mut installation), "3 4 6", "{run}");
}

/// Rows of two rules are out at once: none is judged while a row that may keep it is out.
pub(super) fn what_two_rules_have_taken_out_goes_back_first(dialect: Dialect) {
    const OTHER: &str = r#"
[rules.other_log]
strategy  = "partition"
root      = "other_log"
time      = "logged_at timestamptz"
retention = { default = "90d", minimum = "30d", safety_lag = "1d" }
"#;
    files(dialect);
    let spec = without_ahead().replace("\"event-log\"", "\"event-log-two\"");
    let spec = spec.replace(
        "event_log = { key = \"id bigint\" }\n",
        "event_log = { key = \"id bigint\" }\nother_log = { key = \"id bigint\" }\n",
    );
    let spec = format!("{spec}{OTHER}");
    let schema = format!("{SCHEMA}; {}", SCHEMA.replace("event_log", "other_log"));
    let mut installation = Installation::of(dialect, &schema, &graph_of(&spec));
    installation.arm();
    for table in ["event_log", "other_log"] {
        installation.execute(&format!("DELETE FROM {table} WHERE id IN (1, 2, 5)"));
    }
    leave(&mut installation, TAKEN);
    let twin = format!("{}.other_log_taken", installation.control);
    installation.execute(&format!(
        "INSERT INTO W.taken_partition (rule, run_id, name, from_bound, to_bound, to_due, bytes, phase)
         VALUES ('other_log', 0, '{PAST}', '2025-01-01 00:00:00', '2025-06-01 00:00:00', '2025-06-01', 1, 'taking');
         CREATE TABLE {twin} LIKE other_log; ALTER TABLE {twin} REMOVE PARTITIONING;
         ALTER TABLE other_log EXCHANGE PARTITION `the ``past``` WITH TABLE {twin}"
    ));
    let mut runs = 0;
    while runs < 3 && installation.number("SELECT COUNT(*) FROM W.taken_partition") > 0 {
        let run = installation.run(json!({})).expect("a run");
        if runs == 0 {
            // The first that is settled is not judged: it goes back.
            assert_eq!(run["rules"][0]["rows"], 0, "{run}");
        }
        runs += 1;
    }
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(ids(&mut installation), "6");
    assert_eq!(installation.texts("SELECT id FROM other_log"), ["6"]);
    assert_eq!(
        installation.number("SELECT SUM(deleted_rows) FROM W.run_partition"),
        4
    );
}

/// A server that is one of several which take writes: Galera, Percona XtraDB Cluster, a group with several primaries.
pub(super) fn a_cluster_with_several_writers_is_refused(dialect: Dialect) {
    let mut installation = armed(dialect, "event-log-cluster");
    installation.execute("DROP PROCEDURE W.is_shared");
    installation.execute("CREATE PROCEDURE W.is_shared(OUT o_shared boolean) SET o_shared = true");
    let said = "in a cluster with several writers";
    let preview = installation.preview(json!({}));
    let told = format!("{:#}", preview.expect_err("a cluster"));
    assert!(told.contains(said), "{told}");
    let run = installation.run(json!({}));
    let told = run.map_or_else(|error| format!("{error:#}"), |run| run.to_string());
    let said = "in a cluster with several writers";
    assert!(told.contains(said), "{told}");
    assert_eq!(ids(&mut installation), "1 2 3 4 5 6");
}
