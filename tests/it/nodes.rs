//! What a server of MySQL or MariaDB makes of runs that other servers of its cluster have in the ledger. Real clusters are in
//! `cluster`.

use serde_json::{Value, json};
use windrow::answers;
use windrow::calls::Calls;
use windrow::dialect::Dialect;
use windrow::graph::Shared;
use windrow::report;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::support::graphs::dolphinscheduler;
use crate::support::installation::{Installation, dialect_of};
use crate::windows::due_families;

tests! {
    mysql_and_mariadb: [
        a_run_elsewhere_lives_as_long_as_it_gives_signs_of_life,
        a_run_elsewhere_ends_when_this_server_is_armed,
        a_server_whose_name_ends_as_this_ones_is_another,
        a_run_here_that_is_over_locks_nothing,
        a_run_here_goes_on_when_this_server_is_armed,
        every_batch_is_a_sign_of_life,
        every_table_has_a_primary_key,
    ],
}

fn installation(flavour: Flavour) -> Installation {
    let dialect: Dialect = dialect_of(flavour);
    due_families(dialect, &dolphinscheduler(Shared::Closed), 3)
}

/// A run, or another thing of the ledger, that another server has begun.
fn elsewhere(installation: &mut Installation, trigger: &str, minutes: i64) {
    installation.execute(&format!(
        "INSERT INTO W.run (\"trigger\", dry_run, options, as_of, backend_pid, node, alive_at)
         VALUES ('{trigger}', false, '{{}}', UTC_TIMESTAMP(6), 1, 'another server', UTC_TIMESTAMP(6) - INTERVAL {minutes} MINUTE)"
    ));
}

fn last(installation: &mut Installation) -> Vec<String> {
    installation.texts("SELECT CONCAT(status, ': ', COALESCE(reason, '')) FROM W.run WHERE node = 'another server' ORDER BY run_id DESC LIMIT 1")
}

fn refusal(answer: &Value) -> &str {
    assert_eq!(answer["status"], "refused", "{answer}");
    answer["reason"].as_str().expect("a reason")
}

fn a_run_elsewhere_lives_as_long_as_it_gives_signs_of_life(flavour: Flavour) {
    let mut installation = installation(flavour);
    for minutes in [0, 4] {
        elsewhere(&mut installation, "MANUAL", minutes);
        installation.execute("CALL W.reap()");
        assert_eq!(last(&mut installation), ["running: "], "{minutes}");
        for options in [json!({}), json!({"dry_run": true})] {
            let answer = installation.run(options).expect("an answer");
            let why = refusal(&answer);
            assert!(why.contains("on another server (another server"), "{why}");
        }
        assert_eq!(last(&mut installation), ["running: "], "{minutes}");
        let calls = Calls::new(installation.dialect, &installation.control, "nodes");
        let status = installation.document(&calls.status(), "nodes");
        assert_eq!(status["running"][0]["server"], "another server", "{status}");
        let screen = report::status(&answers::read("status", &status).expect("a status"));
        assert!(screen.contains("(on another server)"), "{screen}");
        installation.execute("DELETE FROM W.run WHERE node = 'another server'");
    }
    // What it does by name goes on beside a run.
    elsewhere(&mut installation, "PURGE", 0);
    let answer = installation.run(json!({"run_families": 1})).expect("a run");
    assert_eq!(answer["rules"][0]["families"], 1, "{answer}");
    assert_eq!(last(&mut installation), ["running: "]);
    for (minutes, state) in [(59, "running: "), (61, "crashed: no sign of life")] {
        elsewhere(&mut installation, "PURGE", minutes);
        installation.execute("CALL W.reap()");
        let why = last(&mut installation).remove(0);
        assert!(why.starts_with(state), "{minutes}: {why}");
    }
    elsewhere(&mut installation, "MANUAL", 6);
    let answer = installation.run(json!({})).expect("a run");
    assert_eq!(answer["status"], "done", "{answer}");
    let why = last(&mut installation).remove(0);
    assert!(why.starts_with("crashed: no sign of life"), "{why}");
}

fn a_run_elsewhere_ends_when_this_server_is_armed(flavour: Flavour) {
    let mut installation = installation(flavour);
    elsewhere(&mut installation, "MANUAL", 0);
    installation.arm();
    let why = last(&mut installation).remove(0);
    assert!(
        why.starts_with("cancelled: another server was armed"),
        "{why}"
    );
    let answer = installation.run(json!({})).expect("a run");
    assert_eq!(answer["status"], "done", "{answer}");
}

/// A host `mydb1` beside a host `db1`, with the same port and folder.
fn a_server_whose_name_ends_as_this_ones_is_another(flavour: Flavour) {
    let mut installation = installation(flavour);
    let identity =
        "SELECT REPLACE(server_identity, @@hostname, CONCAT('my', @@hostname)) FROM W.control";
    let there = installation.texts(identity).remove(0);
    elsewhere(&mut installation, "MANUAL", 0);
    installation.execute(&format!(
        "UPDATE W.run SET node = '{there}' WHERE node = 'another server'"
    ));
    let calls = Calls::new(installation.dialect, &installation.control, "nodes");
    let status = installation.document(&calls.status(), "nodes");
    assert_eq!(status["running"][0]["server"], there, "{status}");
}

/// Where the start of the server counts, a run does not note it: what ended here is no run of another server.
fn a_run_here_that_is_over_locks_nothing(flavour: Flavour) {
    let mut installation = installation(flavour);
    for arm in ["CALL W.arm()", r#"CALL W.arm_with('{"until": "restart"}')"#] {
        installation.execute(arm);
        let run = installation.run(json!({"run_families": 1})).expect("a run");
        // Its session has vanished.
        installation.execute(&format!(
            "UPDATE W.run SET status = 'running', finished_at = NULL, backend_pid = 1 WHERE run_id = {}",
            run["run"]
        ));
        installation.execute("CALL W.lock_runs(); CALL W.unlock_runs()");
        installation.execute("CALL W.reap()");
    }
}

/// Whatever counts from then on: the start of the server, or not.
fn a_run_here_goes_on_when_this_server_is_armed(flavour: Flavour) {
    let mut installation = installation(flavour);
    installation
        .set_setting("batch_families", 1)
        .expect("a setting");
    let options = r#"CALL W.arm_with('{"until": "restart"}')"#;
    for arm in [options, "CALL W.arm()"] {
        let answer = installation.run_meanwhile(json!({"run_families": 2}), |it| {
            it.execute(arm);
            it.execute("CALL W.reap()");
        });
        let answer = answer.expect("a run");
        assert_ne!(answer["status"], "cancelled", "{arm}: {answer}");
    }
}

fn every_batch_is_a_sign_of_life(flavour: Flavour) {
    let mut installation = installation(flavour);
    for options in [json!({"dry_run": true}), json!({})] {
        let answer = installation.run(options).expect("a run");
        assert_eq!(answer["status"], "done", "{answer}");
        let later = installation.number(&format!(
            "SELECT COUNT(*) FROM W.run AS r JOIN W.run_rule AS p ON p.run_id = r.run_id
             WHERE r.run_id = {} AND r.alive_at > r.started_at AND r.node IS NOT NULL AND r.alive_at <= p.updated_at",
            answer["run"]
        ));
        assert_eq!(later, 1, "{answer}");
    }
}

/// Group Replication takes no row of another table, and no installation then; Galera is slow with it.
fn every_table_has_a_primary_key(flavour: Flavour) {
    let mut installation = installation(flavour);
    let without = installation.texts(
        "SELECT t.table_name FROM information_schema.tables AS t
         WHERE CONCAT(t.table_schema, '.') = 'W.' AND t.table_type = 'BASE TABLE' AND NOT EXISTS (
             SELECT 1 FROM information_schema.table_constraints AS c
             WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name AND c.constraint_type = 'PRIMARY KEY'
         )",
    );
    assert!(without.is_empty(), "{without:?}");
}
