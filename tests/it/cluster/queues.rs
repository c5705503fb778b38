//! What a run does while a member of the cluster has transactions to apply: `max_cluster_queue`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::nodes::Cluster;
use super::{DUE, joined};
use crate::support::installation::{Session, connect};
use crate::support::patience::until;

/// How many transactions a member may have to apply.
const MOST: i64 = 5;

/// A session that stops what applies transactions on the last node.
fn blocker(cluster: &Cluster) -> Session {
    connect(&cluster.nodes[2].url(&cluster.name, "root"))
}

/// Rows that no rule deletes, in one transaction each.
fn write(session: &mut Session, first: i64) -> Result<()> {
    (first..first + 100)
        .try_for_each(|id| session.execute(&format!("INSERT INTO task VALUES ({id}, NULL)")))
}

fn set(cluster: &Cluster, name: &str, value: Value) -> Result<Value> {
    let options = json!({"rule": "mails", "name": name, "value": value});
    cluster.call(0, "set_setting", options)
}

/// Until the run says that it waits for this. Node 0 is asked for what it has: who waits for the others waits for the one that is behind.
fn waits_for(cluster: &Cluster, reason: &str) -> Result<()> {
    let sql = format!(
        "SELECT COUNT(*) FROM {}.run WHERE status = 'running' AND waiting_for LIKE '{reason}'",
        cluster.control
    );
    until(reason, || Ok(cluster.nodes[0].query(&sql)?.trim() == "1"))
}

/// What a batch on a node would wait for now, by this limit alone.
fn reason(cluster: &Cluster, node: usize) -> Result<String> {
    cluster.nodes[node].query(&format!(
        "CALL {}.throttle('mails', 0, {MOST}, 0, 0, @reason); SELECT COALESCE(@reason, 'nothing')",
        cluster.control
    ))
}

/// A run waits while a member is behind, says for which, and continues when it is not.
pub(super) fn waited_for(cluster: &Cluster) -> Result<()> {
    cluster.load(0)?;
    set(cluster, "max_cluster_queue", json!(MOST))?;
    for node in 0..3 {
        ensure!(reason(cluster, node)?.trim() == "nothing", "node {node}");
    }
    let runner = if cluster.dialect == Dialect::Mysql {
        of_a_group(cluster)?
    } else {
        of_galera(cluster)?
    };
    let answer = joined(runner)?;
    ensure!(
        answer["status"] == "done" && answer["rules"][0]["rows"] == DUE,
        "{answer}"
    );
    set(cluster, "max_cluster_queue", Value::Null)?;
    cluster.execute(0, "DELETE FROM task WHERE id >= 10000")?;
    cluster.alike("a queue", &[0, 1, 2])?;
    Ok(())
}

/// Members tell one another once a second how many transactions they have to apply; every one knows of all.
fn of_a_group(cluster: &Cluster) -> Result<thread::JoinHandle<Result<Value>>> {
    let mut late = blocker(cluster);
    late.execute("LOCK TABLES task READ")?;
    write(&mut cluster.session(0), 10_000)?;
    let member = cluster.nodes[2].query("SELECT @@server_uuid")?;
    let behind = format!("member {} of the cluster, which has ", member.trim());
    for node in 0..3 {
        until("the queue is known", || {
            Ok(reason(cluster, node)?.starts_with(&behind))
        })?;
    }
    let runner = cluster.begin_run(0, json!({"rule": "mails"}));
    waits_for(cluster, &format!("{behind}%"))?;
    ensure!(!runner.is_finished(), "{:?}", joined(runner));
    late.execute("UNLOCK TABLES")?;
    Ok(runner)
}

/// The node that is behind knows its queue. All others know only that nobody could commit meanwhile: neither could the run, which
/// sees afterwards that they were stopped.
fn of_galera(cluster: &Cluster) -> Result<thread::JoinHandle<Result<Value>>> {
    let mut late = blocker(cluster);
    let mut writer = cluster.session(0);
    let seen = AtomicBool::new(false);
    let is_stopped = || -> Result<bool> {
        let active = cluster.nodes[0].query("SHOW STATUS LIKE 'wsrep_flow_control_active'")?;
        Ok(active.contains("true"))
    };
    // Once more and once more, until the run was seen to wait for it, which it does for a second each time.
    let mut stop_and_go = |round: i64| -> Result<()> {
        late.execute("LOCK TABLES task READ")?;
        thread::scope(|scope| {
            let writer = scope.spawn(|| write(&mut writer, 10_000 + 100 * round));
            until("flow control stops the writers", is_stopped)?;
            let queue = reason(cluster, 2)?;
            late.execute("UNLOCK TABLES")?;
            ensure!(
                queue.starts_with("this node of the cluster, which has "),
                "{queue}"
            );
            writer.join().expect("no panic")
        })
    };
    stop_and_go(0)?;
    until("the node has caught up", || {
        Ok(reason(cluster, 2)?.trim() == "nothing")
    })?;
    // The run has several batches, and looks after each rest.
    set(cluster, "rate", json!(5))?;
    let runner = thread::scope(|scope| {
        let stopper = scope.spawn(|| {
            (1..200)
                .take_while(|_| !seen.load(Ordering::Relaxed))
                .try_for_each(&mut stop_and_go)
        });
        let runner = cluster.begin_run(0, json!({"rule": "mails"}));
        let waited = waits_for(
            cluster,
            "a node of the cluster that is behind: flow control stopped writers for % ms (max_cluster_queue 5)",
        );
        seen.store(true, Ordering::Relaxed);
        stopper.join().expect("no panic")?;
        waited.map(|()| runner)
    })
    .context("flow control")?;
    ensure!(!runner.is_finished(), "{:?}", joined(runner));
    set(cluster, "rate", Value::Null)?;
    Ok(runner)
}
