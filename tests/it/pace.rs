//! How fast a run goes: the size of its batches, its rests, and how many rows it takes.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use crate::support::graphs::dolphinscheduler;
use crate::support::history::until;
use crate::support::installation::{Installation, on_every_server};

on_every_server!(
    batches_grow_slowly_and_shrink_at_once,
    a_run_rests_as_long_as_it_is_told,
);

/// The rule in whole numbers: up by a fifth if that much more would still be in time, down in proportion.
fn model(size: i64, took: i64, target: i64) -> i64 {
    if took > target {
        (size * target / took).max(1)
    } else if took + took / 5 <= target {
        size + (size + 4) / 5
    } else {
        size
    }
}

fn next_batch(installation: &mut Installation, size: i64, took: i64, target: i64) -> i64 {
    match installation.dialect {
        Dialect::Postgres => {
            installation.number(&format!("SELECT W.next_batch({size}, {took}, {target})"))
        }
        Dialect::Mysql | Dialect::Mariadb => {
            installation.execute(&format!(
                "CALL W.next_batch({size}, {took}, {target}, @size)"
            ));
            installation.number("SELECT @size")
        }
    }
}

/// An installation with a policy under which families are long due.
fn armed(dialect: Dialect) -> Installation {
    let mut installation = Installation::armed(dialect, &dolphinscheduler(Shared::Closed));
    installation
        .set_policy(json!({"scope": "1", "retention": "30d", "artifacts": false}))
        .expect("a policy");
    installation
}

/// Adds families of one row each; what was there before is gone.
fn add(installation: &mut Installation, families: u32) {
    installation.execute("DELETE FROM t_ds_workflow_instance");
    let rows: Vec<String> = (1..=families)
        .map(|id| format!("({id}, 1, 1, 1, 0, 1, 7, '2025-01-01 12:00:00', '2025-01-01 12:00:00')"))
        .collect();
    installation.execute(&format!(
        "INSERT INTO t_ds_workflow_instance (id, project_code, workflow_definition_code, workflow_definition_version, is_sub_workflow, executor_id, state, start_time, end_time) VALUES {}",
        rows.join(", ")
    ));
}

fn set(installation: &mut Installation, settings: &[(&str, i64)]) {
    for (name, value) in settings {
        installation.set_setting(name, *value).expect("a setting");
    }
}

/// Families and batches of a run.
fn figures(run: &Value) -> (i64, i64) {
    let figure = |name| run["rules"][0][name].as_i64().expect("a number");
    (figure("families"), figure("batches"))
}

fn batches_grow_slowly_and_shrink_at_once(dialect: Dialect) {
    let mut installation = armed(dialect);
    let mut random = SmallRng::seed_from_u64(1);
    for _ in 0..300 {
        let size = random.random_range(1..=1_000);
        let target = random.random_range(1..=2_000);
        let took = random.random_range(1..=target * 3);
        assert_eq!(
            next_batch(&mut installation, size, took, target),
            model(size, took, target),
            "{size} families took {took} ms of {target}"
        );
    }

    // No batch is in time: each one is smaller than the one before.
    set(
        &mut installation,
        &[("batch_families", 30), ("target_batch", 1)],
    );
    add(&mut installation, 60);
    let run = installation.run(json!({})).expect("a run");
    let (families, batches) = figures(&run);
    assert!(families == 60 && batches > 2, "{run}");

    // Every batch is in time: the next run begins where this one ended, and goes up to what batch_families says.
    installation.execute("UPDATE W.run_rule SET batch_families = 1");
    set(
        &mut installation,
        &[("batch_families", 5), ("target_batch", 600_000)],
    );
    add(&mut installation, 1 + 2 + 3 + 4 + 5 + 5 + 5);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(figures(&run), (25, 7), "{run}");

    // As fast as it was.
    set(&mut installation, &[("target_batch", 0)]);
    add(&mut installation, 25);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(figures(&run), (25, 5), "{run}");

    // The budget of rows is looked at between two batches.
    set(&mut installation, &[("run_rows", 6)]);
    add(&mut installation, 25);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["reason"], "run_rows reached", "{run}");
    assert_eq!(run["status"], "stopped", "{run}");
    assert_eq!(figures(&run), (10, 2), "{run}");
}

/// Waits until the run under way says that it waits for this.
fn wait_for(installation: &mut Installation, reason: &str) {
    let sql = "SELECT waiting_for FROM W.run WHERE status = 'running' AND waiting_for IS NOT NULL AND waiting_since IS NOT NULL";
    until(reason, || Ok(installation.texts(sql) == [reason])).expect("a run that waits");
}

fn a_run_rests_as_long_as_it_is_told(dialect: Dialect) {
    const RATE: &str = "the rate of 1 rows per second";
    let mut installation = armed(dialect);
    // A batch is worth ten minutes.
    set(
        &mut installation,
        &[("batch_families", 600), ("rate", 1), ("time_budget", 7_200)],
    );
    add(&mut installation, 601);
    let (runner, _, _) = installation.call_aside("run", json!({}));
    wait_for(&mut installation, RATE);
    assert_eq!(
        installation.number("SELECT batches FROM W.run_rule"),
        1,
        "it rests after the first batch"
    );
    // It looks at the settings while it rests.
    set(&mut installation, &[("rate", 0)]);
    let (_, run) = runner.join().expect("a session");
    let run = run.expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(figures(&run), (601, 2), "{run}");
    assert_eq!(
        installation.number("SELECT COUNT(*) FROM W.run WHERE waiting_for IS NOT NULL"),
        0
    );

    // A pause ends the rest, and it is told what the run was doing.
    set(&mut installation, &[("rate", 1), ("nice", 10)]);
    add(&mut installation, 601);
    let (runner, _, _) = installation.call_aside("run", json!({}));
    let both = format!("{RATE} and nice, 10 % of the time of a batch");
    wait_for(&mut installation, &both);
    installation.execute("CALL W.pause('enough')");
    let (_, run) = runner.join().expect("a session");
    let run = run.expect("a run");
    assert_eq!(run["status"], "stopped", "{run}");
    assert_eq!(run["reason"], format!("paused while waiting for {both}"));
    assert_eq!(figures(&run), (600, 1), "{run}");
    installation.execute("CALL W.resume()");

    // The budget is never exceeded by a rest.
    add(&mut installation, 601);
    set(&mut installation, &[("time_budget", 2)]);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "stopped", "{run}");
    let reason = run["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("time budget spent"), "{run}");
}
