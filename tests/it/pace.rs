//! How fast a run goes: the size of its batches, its rests, and how many rows it takes.

use std::thread;

use crate::support::systems::dolphinscheduler as demo;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Shared;

use crate::harness::tests;
use crate::support::graphs::{dolphinscheduler, with_limits};
use crate::support::installation::Installation;
use crate::support::patience::until;
use crate::workers::slow_down;

tests! {
    on_postgres: [
        a_gate_that_row_security_hides_is_not_open,
    ],
    each_server: [
        a_run_waits_while_something_speaks_against_a_batch,
    ],
    every_server: [
        batches_grow_slowly_and_shrink_at_once,
        a_run_rests_as_long_as_it_is_told,
        a_scheduled_run_rests_by_default_and_one_by_hand_does_not,
        no_rest_of_a_scheduled_run_is_longer_than_a_minute,
    ],
}

/// The rule in whole numbers: up by a fifth if that much more would still be in time, down in proportion.
fn model(size: i64, took: i64, target: i64) -> i64 {
    if took > target {
        (size * target / took).max(1)
    } else if took + took / 5 <= target {
        (size + (size + 4) / 5).max(1)
    } else {
        size.max(1)
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
    with_policy(&mut installation);
    installation
}

fn with_policy(installation: &mut Installation) {
    installation
        .set_policy(json!({"scope": "1", "retention": "30d", "artifacts": false}))
        .expect("a policy");
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
        let size = random.random_range(0..=1_000) / random.random_range(1..=100);
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

/// Waits until the run under way says that it waits for what begins so, and ends so.
fn wait_for(installation: &mut Installation, begin: &str, end: &str) {
    let sql = "SELECT waiting_for FROM W.run WHERE status = 'running' AND waiting_for IS NOT NULL AND waiting_since IS NOT NULL";
    let found = until(end, || {
        let found = installation.texts(sql);
        Ok(found
            .iter()
            .any(|reason| reason.starts_with(begin) && reason.ends_with(end)))
    });
    found.expect("a run that waits");
}

fn a_scheduled_run_rests_by_default_and_one_by_hand_does_not(dialect: Dialect) {
    const REST: &str = "scheduled_nice, 10000 % of the time of a batch";
    const RATE: &str = "the rate of 1 rows per second";
    const PACED: &str = "SELECT COUNT(*) FROM W.run_rule WHERE paced_at IS NOT NULL";
    let scheduled = json!({"trigger": "SCHEDULED"});
    let mut installation = armed(dialect);
    let default = "SELECT value FROM W.settings WHERE name = 'scheduled_nice'";
    assert!(
        installation.number(default) >= 1_000,
        "a spec that says nothing has it"
    );
    set(
        &mut installation,
        &[
            ("batch_families", 600),
            ("scheduled_nice", 10_000),
            ("time_budget", 7_200),
        ],
    );
    add(&mut installation, 601);
    let run = installation.run(json!({})).expect("a run by hand");
    assert_eq!(figures(&run), (601, 2), "{run}");
    assert_eq!(installation.number(PACED), 0, "{run}");

    // What somebody has said counts alone, whoever starts the run.
    set(&mut installation, &[("rate", 1)]);
    add(&mut installation, 601);
    let (runner, _, _) = installation.call_aside("run", scheduled.clone());
    wait_for(&mut installation, RATE, RATE);
    set(&mut installation, &[("rate", 0), ("scheduled_nice", 0)]);
    let (_, run) = runner.join().expect("a session");
    let run = run.expect("a run");
    assert_eq!(figures(&run), (601, 2), "{run}");

    set(&mut installation, &[("scheduled_nice", 10_000)]);
    add(&mut installation, 601);
    let (runner, _, _) = installation.call_aside("run", scheduled);
    wait_for(&mut installation, REST, REST);
    set(&mut installation, &[("scheduled_nice", 0)]);
    let (_, run) = runner.join().expect("a session");
    let run = run.expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(figures(&run), (601, 2), "{run}");
}

/// A batch that waited itself would cost the run the night, and every batch that takes so long is felt.
fn no_rest_of_a_scheduled_run_is_longer_than_a_minute(dialect: Dialect) {
    const REST: &str = "scheduled_nice, 10000 % of the time of a batch";
    let mut installation = armed(dialect);
    set(
        &mut installation,
        &[
            ("batch_families", 600),
            ("scheduled_nice", 10_000),
            ("time_budget", 7_200),
        ],
    );
    add(&mut installation, 1_200);
    // Three minutes more than the longest rest.
    slow_down(&mut installation, "t_ds_workflow_instance", 2.4, Some(1));
    let (runner, _, _) = installation.call_aside("run", json!({"trigger": "SCHEDULED"}));
    wait_for(&mut installation, REST, REST);
    let size = installation.number("SELECT batch_families FROM W.run_rule");
    assert!(size <= 150, "600 took 2.4 s or more, of 0.6: {size}");
    // A minute later.
    installation.execute(match dialect {
        Dialect::Postgres => {
            "UPDATE W.run_rule SET paced_at = paced_at - interval '1 min', rest_from = rest_from - interval '1 min'"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "UPDATE W.run_rule SET paced_at = paced_at - INTERVAL 1 MINUTE, rest_from = rest_from - INTERVAL 1 MINUTE"
        }
    });
    until("the batch behind the rest", || {
        Ok(installation.number("SELECT batches FROM W.run_rule") > 1)
    })
    .expect("a batch");
    set(&mut installation, &[("scheduled_nice", 0)]);
    let (_, run) = runner.join().expect("a session");
    let run = run.expect("a run");
    let (families, batches) = figures(&run);
    assert!(families == 1_200 && batches > 2, "{run}");
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
    wait_for(&mut installation, RATE, RATE);
    assert_eq!(
        installation.number("SELECT batches FROM W.run_rule"),
        1,
        "it rests after the first batch"
    );
    // It looks at the settings while it rests.
    set(&mut installation, &[("rate", 1_000_000)]);
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
    wait_for(&mut installation, &both, &both);
    installation.execute("CALL W.pause('enough')");
    let (_, run) = runner.join().expect("a session");
    let run = run.expect("a run");
    assert_eq!(run["status"], "stopped", "{run}");
    assert_eq!(run["reason"], format!("paused while waiting for {both}"));
    assert_eq!(figures(&run), (600, 1), "{run}");
    installation.execute("CALL W.resume()");

    // A smaller budget ends a run that is under way, unless that was told its own.
    set(&mut installation, &[("nice", 0)]);
    let (runner, _, _) = installation.call_aside("run", json!({}));
    wait_for(&mut installation, RATE, RATE);
    set(&mut installation, &[("time_budget", 1)]);
    let (_, run) = runner.join().expect("a session");
    let run = run.expect("a run");
    assert_eq!(run["status"], "stopped", "{run}");
    let reason = run["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("time budget spent"), "{run}");
    add(&mut installation, 601);
    let (runner, _, _) = installation.call_aside("run", json!({"time_budget": "1h"}));
    wait_for(&mut installation, RATE, RATE);
    set(
        &mut installation,
        &[("time_budget", 2), ("rate", 1_000_000)],
    );
    let (_, run) = runner.join().expect("a session");
    assert_eq!(run.expect("a run")["status"], "done");
    set(&mut installation, &[("rate", 1)]);

    // The budget is never exceeded by a rest.
    add(&mut installation, 601);
    set(&mut installation, &[("time_budget", 2)]);
    let run = installation.run(json!({})).expect("a run");
    assert_eq!(run["status"], "stopped", "{run}");
    let reason = run["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("time budget spent"), "{run}");
}

/// Each of these keeps a run from its first batch, and none of them longer than it lasts.
fn a_run_waits_while_something_speaks_against_a_batch(dialect: Dialect) {
    let postgres = dialect == Dialect::Postgres;
    // Locks stand for what the application knows, and for work of others.
    let (gate, close, open, queue) = if postgres {
        (
            "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 4242 AND granted)",
            "SELECT pg_advisory_lock(4242), pg_advisory_lock(4243)",
            "SELECT pg_advisory_unlock_all()",
            "SELECT pg_advisory_lock(4243), pg_advisory_unlock_all()",
        )
    } else {
        (
            "SELECT IS_USED_LOCK('windrow gate') IS NOT NULL",
            "DO GET_LOCK('windrow gate', 0), GET_LOCK('windrow queue', 0)",
            "DO RELEASE_ALL_LOCKS()",
            "DO GET_LOCK('windrow queue', 600), RELEASE_ALL_LOCKS()",
        )
    };
    let limits = format!(
        "max_replica_lag = \"1h\", max_cluster_queue = 1, max_active_sessions = 5000, max_old_snapshot = 1000000000, wait_while_sql = \"{gate}\","
    );
    let schema = match postgres {
        true => demo::SCHEMA_34,
        false => demo::mysql::SCHEMA_34,
    };
    let heartbeat =
        "CREATE TABLE heartbeat (replica varchar(20) PRIMARY KEY, seen_at timestamp NULL);\n";
    let mut installation = Installation::of(
        dialect,
        &format!("{schema}{heartbeat}"),
        &with_limits(&limits, "heartbeat.seen_at"),
    );
    installation.arm();
    with_policy(&mut installation);
    installation.execute("INSERT INTO heartbeat VALUES ('a', '2037-01-01'), ('b', '2037-01-01')");
    add(&mut installation, 3);
    installation.execute(close);
    let query = "the query of the spec, which says true";
    let (runner, _, _) = installation.call_aside("run", json!({}));
    wait_for(&mut installation, query, "");

    // Two others at work, though all they do is to wait.
    let others: Vec<_> = (0..2)
        .map(|_| {
            let mut session = installation.connect();
            thread::spawn(move || session.execute(queue))
        })
        .collect();
    set(&mut installation, &[("max_active_sessions", 1)]);
    wait_for(
        &mut installation,
        "other sessions, of which ",
        " are active (max_active_sessions 1)",
    );
    if postgres {
        // Who may not see the sessions does not take that for silence.
        let owner = format!("{}_owner", installation.control);
        installation.execute(&format!("REVOKE pg_read_all_stats FROM {owner}"));
        wait_for(&mut installation, "the right to see the sessions", &owner);
        installation.execute(&format!("GRANT pg_read_all_stats TO {owner}"));
    }
    set(&mut installation, &[("max_active_sessions", 5_000)]);

    // A replica that has not got far.
    installation.execute("UPDATE heartbeat SET seen_at = '2020-01-01' WHERE replica = 'b'");
    wait_for(
        &mut installation,
        "the slowest replica in heartbeat, which is ",
        " seconds behind (max_replica_lag 3600)",
    );
    installation.execute("UPDATE heartbeat SET seen_at = '2037-01-01'");

    an_old_snapshot(&mut installation);

    if dialect == Dialect::Mysql {
        members_that_cannot_be_seen(&mut installation);
    }
    if postgres {
        a_replica_that_is_away(&mut installation);
    }

    wait_for(&mut installation, query, "");
    assert_eq!(
        installation.number("SELECT SUM(batches) FROM W.run_rule"),
        0
    );
    installation.execute(open);
    let (_, run) = runner.join().expect("a session");
    let run = run.expect("a run");
    assert_eq!(run["status"], "done", "{run}");
    assert_eq!(figures(&run), (3, 1), "{run}");
    for other in others {
        other.join().expect("a session").expect("a lock");
    }

    no_routine_is_edited(&mut installation);

    one_that_only_waited(&mut installation, (close, open), query);
}

/// The owner of the control schema sees no row of it: that is no word of it for "go on".
fn a_gate_that_row_security_hides_is_not_open() {
    let limits = "wait_while_sql = \"SELECT EXISTS (SELECT FROM public.maintenance)\",";
    let gate = "CREATE TABLE beat (at timestamptz);
                CREATE TABLE maintenance (since timestamptz);
                INSERT INTO maintenance VALUES (now());
                ALTER TABLE maintenance ENABLE ROW LEVEL SECURITY;";
    let mut installation = Installation::of(
        Dialect::Postgres,
        &format!("{}{gate}", demo::SCHEMA_34),
        &with_limits(limits, "beat.at"),
    );
    let owner = format!("{}_owner", installation.control);
    installation.execute(&format!("GRANT SELECT ON maintenance TO {owner}"));
    installation.arm();
    with_policy(&mut installation);
    add(&mut installation, 3);
    let run = installation
        .run(json!({"time_budget": "2s"}))
        .expect("a run");
    assert_eq!(run["status"], "failed", "{run}");
    assert!(run["reason"].to_string().contains("42501"), "{run}");
    assert_eq!(figures(&run).0, 0, "{run}");
}

/// The query of the spec stands in a routine as it was generated.
fn no_routine_is_edited(installation: &mut Installation) {
    let verify = installation.call("verify", json!({})).expect("verify");
    let checks = verify["checks"].as_array().expect("checks").iter();
    let edited: Vec<_> = checks
        .filter(|check| check["check"] == "routine" && check["severity"] != "ok")
        .collect();
    assert!(edited.is_empty(), "{edited:?}");
}

/// A session that may still want to see what others have changed since.
fn an_old_snapshot(installation: &mut Installation) {
    let mut reader = installation.connect();
    reader
        .execute(if installation.dialect == Dialect::Postgres {
            "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class"
        } else {
            "START TRANSACTION WITH CONSISTENT SNAPSHOT"
        })
        .expect("a snapshot");
    for turn in 0..9 {
        installation.execute(&format!("UPDATE W.control SET paused_reason = '{turn}'"));
    }
    set(installation, &[("max_old_snapshot", 3)]);
    wait_for(installation, "", " (max_old_snapshot 3)");
    reader.execute("COMMIT").expect("the end of the snapshot");
    set(installation, &[("max_old_snapshot", 0)]);
}

/// Who may not see the members of a group does not take that for a server that is in none.
fn members_that_cannot_be_seen(installation: &mut Installation) {
    let members = "SELECT ON performance_schema.replication_group_member_stats";
    let owner = installation.texts("SELECT owner FROM W.spec").remove(0);
    installation.execute(&format!("REVOKE {members} FROM {owner}"));
    wait_for(
        installation,
        &format!("the right to see the members of the group: GRANT {members} TO "),
        &owner,
    );
    installation.execute(&format!("GRANT {members} TO {owner}"));
}

/// A replica that is away.
fn a_replica_that_is_away(installation: &mut Installation) {
    let slot = format!("away_{}", installation.name);
    installation.execute(&format!(
        "SELECT pg_create_physical_replication_slot('{slot}', true)"
    ));
    // The next two files of the WAL, each with something in it.
    for turn in 0..2 {
        installation.execute(&format!("UPDATE W.control SET paused_reason = '{turn}'"));
        installation.execute("SELECT pg_switch_wal()");
    }
    set(installation, &[("max_replica_wal", 1)]);
    wait_for(
        installation,
        &format!("replication slot {slot}, which is "),
        " MB of WAL behind (max_replica_wal 1)",
    );
    installation.execute(&format!("SELECT pg_drop_replication_slot('{slot}')"));
}

/// A run that only waited has deleted nothing, and says why.
fn one_that_only_waited(installation: &mut Installation, (close, open): (&str, &str), query: &str) {
    let success = "SELECT COALESCE(MAX(value), 0) FROM W.metrics WHERE name = 'windrow_last_success_timestamp_seconds'";
    let before = installation.texts(success);
    add(installation, 3);
    installation.execute(close);
    let (runner, _, _) = installation.call_aside("run", json!({}));
    wait_for(installation, query, "");
    installation.execute("CALL W.pause('enough')");
    let (_, run) = runner.join().expect("a session");
    let run = run.expect("a run");
    assert_eq!(run["status"], "stopped", "{run}");
    assert_eq!(run["reason"], format!("paused while waiting for {query}"));
    assert_eq!(installation.texts(success), before, "that is no success");
    assert_eq!(figures(&run), (0, 0), "{run}");
    installation.execute(open);
}
