//! Three nodes of a cluster, of which each may write: Galera, and group replication with one primary or several. `make
//! prove` starts them; every wait is bounded.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windrow::dialect::Dialect;
use windrow::graph::Graph;

use crate::harness::tests;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, call, connect};
use crate::support::patience::until;

mod nodes;
mod patroni;
mod queues;

use nodes::{Cluster, of_galera, of_group_replication};

tests! {
    when_asked: [
        galera_stays_alike_and_alive,
        group_replication_with_several_primaries_stays_alike_and_alive,
        group_replication_with_one_primary_stays_alike_and_alive,
    ],
    within: [
        patroni::tests,
    ],
}

const SPEC: &str = r#"
name = "cluster"

[tables]
job  = { key = "id bigint" }
step = { key = "id bigint", parents = ["job_id -> job.id"] }
task = { key = "id bigint" }
mail = { key = "id bigint" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
limits    = { batch_families = 10, lock_timeout = "1s" }

[rules.tasks]
strategy  = "removal-time"
root      = "task"
time      = "remove_at"
tables    = ["task"]
retention = { safety_lag = "0s" }
limits    = { batch_rows = 10 }

[rules.mails]
strategy  = "expiry"
root      = "mail"
time      = "expires"
limits    = { batch_rows = 10, max_cluster_queue = 1_000_000 }
"#;

const SCHEMA: &str = "CREATE TABLE job (id bigint PRIMARY KEY, state varchar(20), ended datetime(6), KEY (ended, id));
CREATE TABLE step (id bigint PRIMARY KEY, job_id bigint, note longtext, KEY (job_id));
CREATE TABLE task (id bigint PRIMARY KEY, remove_at datetime(6), KEY (remove_at));
CREATE TABLE mail (id bigint PRIMARY KEY, expires datetime(6), KEY (expires, id));
CREATE TABLE slow (id bigint PRIMARY KEY);
";

const TABLES: [&str; 4] = ["job", "step", "task", "mail"];

/// How many families of each rule are due.
const DUE: i64 = 40;

const FULL: [i64; 4] = [DUE + 1, 2 * DUE + 1, DUE, DUE];

fn joined(runner: thread::JoinHandle<Result<Value>>) -> Result<Value> {
    runner.join().expect("no panic")
}

fn galera_stays_alike_and_alive() -> Result<()> {
    check(of_galera()?)
}

fn group_replication_with_several_primaries_stays_alike_and_alive() -> Result<()> {
    check(of_group_replication(true)?)
}

fn group_replication_with_one_primary_stays_alike_and_alive() -> Result<()> {
    check(of_group_replication(false)?)
}

fn check(mut cluster: Cluster) -> Result<()> {
    let graph: Graph = graph_of(SPEC);
    // The node that it drops its databases on may have died.
    let mut installed = ManuallyDrop::new(Installation::with(&cluster.nodes[0], SCHEMA, &graph));
    cluster.name.clone_from(&installed.name);
    cluster.control.clone_from(&installed.control);
    // A run sleeps until the row is gone that this trigger finds; each waits for a look at most half a minute.
    installed.execute(
        "CREATE TRIGGER slowly BEFORE DELETE ON job FOR EACH ROW BEGIN
             DECLARE v_turns integer DEFAULT 600;
             DECLARE v_slept integer;
             WHILE v_turns > 0 AND EXISTS (SELECT 1 FROM slow WHERE id = OLD.id) DO
                 SET v_slept = SLEEP(0.05), v_turns = v_turns - 1;
             END WHILE;
             IF OLD.id = 7 AND @loading IS NULL THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF;
         END",
    );
    cluster.load(0)?;
    installed.arm();
    ensure!(cluster.alike("before", &[0, 1, 2])? == FULL);

    events(&cluster)?;
    dry_runs(&cluster)?;
    beside(&cluster)?;
    queues::waited_for(&cluster)?;
    if cluster.dialect == Dialect::Mysql {
        too_large(&cluster)?;
    }
    if cluster.is_open {
        at_once(&cluster)?;
        rivals(&cluster)?;
        held_elsewhere(&cluster)?;
        held_at_once(&cluster)?;
        armed_elsewhere(&cluster)?;
    }
    dies(&mut cluster)
}

/// On which nodes the event of the schedule is enabled that was installed on one of them.
fn events(cluster: &Cluster) -> Result<()> {
    let state = format!(
        "SELECT status FROM information_schema.events WHERE event_schema = '{}'",
        cluster.control
    );
    let states =
        || -> Result<Vec<String>> { (0..3).map(|node| cluster.text(node, &state)).collect() };
    let (elsewhere, alone) = match cluster.dialect {
        Dialect::Mysql => ("REPLICA_SIDE_DISABLED", "sql_log_bin"),
        _ => ("SLAVESIDE_DISABLED", "wsrep_on"),
    };
    let seen = states()?;
    ensure!(seen == ["ENABLED", elsewhere, elsewhere], "{seen:?}");
    if cluster.is_open {
        // On one node alone.
        cluster.execute(
            1,
            &format!("SET SESSION {alone} = 0; ALTER EVENT W.run ENABLE"),
        )?;
        let seen = states()?;
        ensure!(seen == ["ENABLED", "ENABLED", elsewhere], "{seen:?}");
    }
    Ok(())
}

/// Nothing goes, on any node, and writes go on everywhere afterwards.
fn dry_runs(cluster: &Cluster) -> Result<()> {
    for node in if cluster.is_open { vec![0, 1] } else { vec![0] } {
        let answer = cluster.call(node, "run", json!({"dry_run": true}))?;
        ensure!(
            answer["status"] == "failed" && answer["rules"][0]["families"] == DUE - 1,
            "{answer}"
        );
        ensure!(
            answer["rules"][1]["rows"] == DUE && answer["rules"][2]["rows"] == DUE,
            "{answer}"
        );
        let purge = json!({"rule": "jobs", "key": ["3"], "dry_run": true});
        if node == 0 {
            let answer = cluster.call(node, "purge", purge)?;
            ensure!(answer["rules"][0]["rows"] == 3, "{answer}");
        }
        ensure!(cluster.alike("a dry run", &[0, 1, 2])? == FULL);
        cluster.execute(node, "UPDATE job SET state = 'busy' WHERE id = 100")?;
    }
    Ok(())
}

/// While a run lives on one node, the others know it: none begins one, none calls it crashed.
fn beside(cluster: &Cluster) -> Result<()> {
    let runner = cluster.run_aside(0, 15)?;
    ensure!(
        !runner.is_finished(),
        "it did not wait: {:?}",
        joined(runner)
    );
    let last = "SELECT CONCAT(r.status, ' ', COALESCE(r.reason, '')) FROM W.run AS r ORDER BY r.run_id DESC LIMIT 1";
    for node in 0..3 {
        if cluster.is_open {
            cluster.execute(node, "CALL W.reap()")?;
            let refused = cluster.call(node, "run", json!({"dry_run": true}))?;
            let where_ = if node == 0 {
                "in progress"
            } else {
                "on another server"
            };
            ensure!(
                refused["status"] == "refused" && refused["reason"].to_string().contains(where_),
                "{refused}"
            );
            let real = cluster.call(node, "run", json!({}));
            if node == 0 {
                ensure!(real?["status"] == "refused");
            } else {
                let error = real.err().context("a refusal")?;
                ensure!(
                    format!("{error:#}").contains("armed on another server"),
                    "{error:#}"
                );
            }
        } else if node > 0 {
            let refused = cluster.call(node, "run", json!({}));
            ensure!(
                refused
                    .as_ref()
                    .map_or(true, |answer| answer["status"] == "refused"),
                "{refused:?}"
            );
            cluster.execute(node, "CALL W.run_scheduled(NULL)")?;
        }
        let said = cluster.text(node, last)?;
        ensure!(said.trim() == "running", "node {node}: {said}");
    }
    cluster.execute(0, "DELETE FROM slow")?;
    let answer = joined(runner)?;
    ensure!(answer["status"] == "failed", "{answer}");
    ensure!(answer["rules"][0]["families"] == DUE - 1, "{answer}");
    ensure!(answer["rules"][0]["failures"][0]["key"] == "7", "{answer}");
    let left = cluster.alike("a run", &[0, 1, 2])?;
    ensure!(left == [2, 3, DUE, DUE], "{left:?}");
    let answer = cluster.call(0, "run", json!({}))?;
    ensure!(answer["rules"][1]["rows"] == DUE, "{answer}");
    let left = cluster.alike("another run", &[0, 1, 2])?;
    ensure!(left == [2, 3, 0, 0], "{left:?} after {answer}");
    Ok(())
}

/// A batch that is larger than a transaction of the group may be is halved, and a family that is so by itself is passed over.
fn too_large(cluster: &Cluster) -> Result<()> {
    cluster.load(0)?;
    cluster.execute(
        0,
        "UPDATE step SET note = REPEAT('x', IF(job_id = 15, 300000, 20000))",
    )?;
    let limit = "SET GLOBAL group_replication_transaction_size_limit";
    cluster.execute(0, &format!("{limit} = 200000"))?;
    let answer = cluster.call(0, "run", json!({"rule": "jobs"}))?;
    ensure!(answer["status"] == "failed", "{answer}");
    ensure!(answer["reason"] == "nothing left", "{answer}");
    ensure!(answer["rules"][0]["families"] == DUE - 2, "{answer}");
    let failures = answer["rules"][0]["failures"].to_string();
    ensure!(
        failures.contains("refused") && failures.contains("running replication hook"),
        "{answer}"
    );
    cluster.execute(0, &format!("{limit} = DEFAULT"))?;
    let left = cluster.alike("a limit", &[0, 1, 2])?;
    ensure!(left[..2] == [3, 5], "{left:?} after {answer}");
    cluster.call(0, "run", json!({"rule": "jobs"}))?;
    let left = cluster.alike("no limit", &[0, 1, 2])?;
    ensure!(left[..2] == [2, 3], "{left:?}");
    Ok(())
}

/// Nodes that begin at the same moment: one of them does, and no two runs are ever under way.
fn at_once(cluster: &Cluster) -> Result<()> {
    for _ in 0..10 {
        cluster.load(0)?;
        let runners: Vec<_> = (0..3)
            .map(|node| cluster.begin_run(node, json!({"dry_run": true})))
            .collect();
        for runner in runners {
            let answer = joined(runner)?;
            ensure!(
                answer["status"] == "refused" || answer["rules"][1]["rows"] == DUE,
                "{answer}"
            );
        }
        ensure!(cluster.alike("runs at once", &[0, 1, 2])? == FULL);
    }
    let both = cluster.text(
        0,
        "SELECT COUNT(*) FROM W.run AS a JOIN W.run AS b ON b.run_id <> a.run_id AND b.started_at >= a.started_at AND b.started_at < a.finished_at
         WHERE a.`trigger` = 'MANUAL' AND b.`trigger` = 'MANUAL'",
    )?;
    ensure!(
        both == "0",
        "{both} runs began while another one was under way"
    );
    Ok(())
}

/// The application changes a root on another node while the batch that deletes it is under way: it stays. The batch is
/// undone, by Galera with the whole call in some cases; the next run does the rest.
fn rivals(cluster: &Cluster) -> Result<()> {
    cluster.load(0)?;
    let runner = cluster.run_aside(0, 15)?;
    cluster.execute(1, "UPDATE job SET state = 'busy' WHERE id = 15")?;
    cluster.execute(1, "DELETE FROM slow")?;
    if let Ok(answer) = joined(runner) {
        ensure!(
            answer["rules"][0]["families"].as_i64() < Some(DUE - 1),
            "{answer}"
        );
    }
    cluster.alike("a rival", &[0, 1, 2])?;
    until("the session is gone, and a run does the rest", || {
        let answer = cluster.call(0, "run", json!({"rule": "jobs"}))?;
        Ok(answer["status"] == "failed")
    })?;
    let left = cluster.alike("after a rival", &[0, 1, 2])?;
    ensure!(left[..2] == [3, 5], "{left:?}");
    Ok(())
}

/// A hold that is set on another node counts for the batch that is under way: it is undone, or its whole call, and the next
/// one finds the family held.
fn held_elsewhere(cluster: &Cluster) -> Result<()> {
    for (routine, options) in [
        ("run", json!({"rule": "jobs"})),
        ("purge", json!({"rule": "jobs", "key": ["15"]})),
    ] {
        cluster.load(0)?;
        let runner = cluster.aside(0, 15, routine, options)?;
        ensure!(!runner.is_finished(), "{routine} did not wait");
        let hold = json!({"rule": "jobs", "key": 15, "reason": "audit"});
        let held = cluster.call(1, "set_hold", hold)?;
        ensure!(held["exists"] == true, "{held}");
        // By the node of the run: what comes from another one may end a batch that has read the row.
        cluster.execute(0, "DELETE FROM slow")?;
        let answer = joined(runner);
        for node in 0..3 {
            let kept = "SELECT CONCAT((SELECT COUNT(*) FROM job WHERE id = 15), (SELECT COUNT(*) FROM step WHERE job_id = 15))";
            let kept = cluster.text(node, kept)?;
            ensure!(
                kept == "12",
                "{routine}, node {node}: {kept} after {answer:?}"
            );
        }
        until("the session is gone, and a run does the rest", || {
            let answer = cluster.call(0, "run", json!({"rule": "jobs"}))?;
            Ok(answer["status"] == "failed" && answer["rules"][0]["skipped"]["HELD"] == 1)
        })?;
        let left = cluster.alike("after a hold", &[0, 1, 2])?;
        ensure!(left[..2] == [3, 5], "{routine}: {left:?}");
        cluster.call(1, "release_hold", json!({"rule": "jobs", "key": 15}))?;
    }
    Ok(())
}

/// Holds that are set on one node while a run begins and works on another: what is said to be held is there, everywhere.
fn held_at_once(cluster: &Cluster) -> Result<()> {
    for round in 0..10 {
        cluster.load(0)?;
        let runner = cluster.begin_run(0, json!({"rule": "jobs"}));
        thread::sleep(Duration::from_millis(5 * round));
        let mut holder = cluster.session(1);
        let mut held = Vec::new();
        for key in (1..=DUE).rev() {
            let hold = json!({"rule": "jobs", "key": key, "reason": "audit"});
            // It is refused where the row is gone.
            if call(
                &mut holder,
                cluster.dialect,
                &cluster.control,
                "set_hold",
                &hold,
            )
            .is_ok()
            {
                held.push(key.to_string());
            }
        }
        let answer = joined(runner);
        ensure!(!held.is_empty(), "round {round}: {answer:?}");
        cluster.alike("holds at once", &[0, 1, 2])?;
        let keys = held.join(", ");
        let there = format!("SELECT COUNT(*) FROM job WHERE id IN ({keys})");
        let there = cluster.text(2, &there)?;
        ensure!(
            there == held.len().to_string(),
            "round {round}: {there} of {} are there ({keys}): {answer:?}",
            held.len()
        );
        cluster.execute(0, "DELETE FROM W.hold")?;
    }
    Ok(())
}

/// Whoever arms another node ends what runs on the first: its batch and that write the same row of the ledger.
fn armed_elsewhere(cluster: &Cluster) -> Result<()> {
    let crashed = "SELECT COUNT(*) FROM W.run AS r WHERE r.status = 'crashed'";
    let before = cluster.text(0, crashed)?;
    cluster.load(0)?;
    let runner = cluster.run_aside(0, 15)?;
    cluster.execute(1, "CALL W.arm()")?;
    cluster.execute(1, "DELETE FROM slow")?;
    if let Ok(answer) = joined(runner) {
        ensure!(answer["status"] == "cancelled", "{answer}");
        ensure!(
            answer["rules"][0]["families"].as_i64() < Some(DUE - 1),
            "{answer}"
        );
    }
    let answer = cluster.call(1, "run", json!({}))?;
    ensure!(answer["status"] == "failed", "{answer}");
    let left = cluster.alike("another node", &[0, 1, 2])?;
    ensure!(left == [2, 3, 0, 0], "{left:?} after {answer}");
    let after = cluster.text(0, crashed)?;
    ensure!(after == before, "a living run was called crashed");
    Ok(())
}

/// Without a name the cluster stays armed; a member of a group that cannot see itself arms nothing unasked.
fn armed_again(cluster: &Cluster, node: usize) -> Result<()> {
    let armed_on = "SELECT server_identity FROM W.control";
    let identity = cluster.text(node, armed_on)?;
    cluster.execute(node, "CALL W.arm()")?;
    ensure!(cluster.text(node, armed_on)? == identity, "not {identity}");
    if cluster.dialect == Dialect::Mysql {
        let owner = cluster.text(node, "SELECT owner FROM W.spec")?;
        let right = "SELECT ON performance_schema.replication_group_members";
        cluster.execute(node, &format!("REVOKE {right} FROM {owner}"))?;
        let error = cluster.execute(node, "CALL W.arm()").expect_err("unseen");
        ensure!(
            format!("{error:#}").contains("does not see itself in cluster"),
            "{error:#}"
        );
        ensure!(cluster.text(node, armed_on)? == identity, "not {identity}");
        cluster.execute(node, &format!("GRANT {right} TO {owner}"))?;
    }
    cluster.execute(node, "CALL W.arm_with('{\"this_server\": true}')")?;
    let alone = cluster.text(node, armed_on)?;
    ensure!(!alone.starts_with("cluster "), "{alone}");
    let name = cluster.text(node, cluster.own_name)?;
    let again = format!("CALL W.arm_with('{{\"cluster\": \"{name}\"}}')");
    cluster.execute(node, &again)?;
    ensure!(cluster.text(node, armed_on)? == identity, "not {identity}");
    Ok(())
}

/// The cluster is armed by its name; another name, and a list that lacks the node, arm nothing. Every node that takes writes may run.
fn armed_together(cluster: &Cluster, node: usize) -> Result<()> {
    let name = cluster.text(node, cluster.own_name)?;
    let arm = |name: &str| {
        cluster.execute(
            node,
            &format!("CALL W.arm_with('{{\"cluster\": \"{name}\"}}')"),
        )
    };
    for other in ["another", "db1:3306,db2:3306"] {
        arm(other).expect_err(other);
    }
    if cluster.dialect == Dialect::Mysql {
        // Who belongs to a group is not for everybody to see.
        let error = arm(&name).expect_err("a group that the owner role cannot see");
        ensure!(
            format!("{error:#}").contains("may not see its members"),
            "{error:#}"
        );
        let owner = cluster.text(node, "SELECT owner FROM W.spec")?;
        cluster.execute(
            node,
            &format!("GRANT SELECT ON performance_schema.replication_group_members TO {owner}"),
        )?;
    } else {
        let owner = cluster.text(node, "SELECT owner FROM W.spec")?;
        cluster.execute(
            node,
            &format!("GRANT SELECT ON mysql.wsrep_cluster_members TO {owner}"),
        )?;
    }
    arm(&name)?;
    armed_again(cluster, node)?;
    for other in if cluster.is_open {
        vec![0, 1, 2]
    } else {
        vec![node]
    } {
        cluster.call(other, "run", json!({}))?;
    }
    Ok(())
}

/// A node that is started outside of its cluster has all that is in its tables, and does nothing.
fn comes_back_outside(cluster: &mut Cluster, node: usize) -> Result<()> {
    if cluster.dialect == Dialect::Mariadb {
        let configuration = cluster.nodes[node].dir().join("server.cnf");
        let mut configuration = OpenOptions::new().append(true).open(configuration)?;
        writeln!(configuration, "wsrep_on = OFF")?;
    }
    cluster.nodes[node].restart()?;
    let mut session = connect(&cluster.nodes[node].url(&cluster.name, "root"));
    let answer = call(
        &mut session,
        cluster.dialect,
        &cluster.control,
        "run",
        &json!({"trigger": "SCHEDULED"}),
    )?;
    ensure!(
        answer["reason"]
            .to_string()
            .contains("armed for another cluster"),
        "{answer}"
    );
    Ok(())
}

/// The node that runs is killed. The others go on by themselves, as soon as it is no member any more; where they may not see the
/// members, its run counts as alive. The dead one comes back by itself, outside of its cluster, and does nothing.
fn dies(cluster: &mut Cluster) -> Result<()> {
    let (dying, others) = if cluster.is_open {
        (1, [0, 2])
    } else {
        (0, [1, 2])
    };
    armed_together(cluster, dying)?;
    cluster.load(dying)?;
    let runner = cluster.run_aside(dying, 15)?;
    ensure!(!runner.is_finished(), "it did not wait");
    cluster.nodes[dying].kill()?;
    ensure!(joined(runner).is_err());
    let mut heir = others[0];
    until("another node takes writes", || {
        heir = if heir == others[0] {
            others[1]
        } else {
            others[0]
        };
        Ok(cluster.nodes[heir]
            .query(&format!("DELETE FROM {}.slow", cluster.name))
            .is_ok())
    })?;
    let last = "SELECT r.status FROM W.run AS r ORDER BY r.run_id DESC LIMIT 1";
    let member = "SELECT r.member IS NOT NULL FROM W.run AS r ORDER BY r.run_id DESC LIMIT 1";
    ensure!(cluster.text(heir, member)? == "1", "no member is noted");
    if cluster.dialect == Dialect::Mariadb {
        let owner = cluster.text(heir, "SELECT owner FROM W.spec")?;
        let right = "SELECT ON mysql.wsrep_cluster_members";
        cluster.execute(heir, &format!("REVOKE {right} FROM {owner}"))?;
        cluster.execute(heir, "CALL W.reap()")?;
        ensure!(cluster.text(heir, last)? == "running");
        let refused = cluster.call(heir, "run", json!({"dry_run": true}))?;
        ensure!(
            refused["reason"].to_string().contains("another server"),
            "{refused}"
        );
        cluster.execute(heir, &format!("GRANT {right} TO {owner}"))?;
    }
    until("the dead node is no member", || {
        cluster.execute(heir, "CALL W.reap()")?;
        Ok(cluster.text(heir, last)? == "crashed")
    })?;
    let why = "SELECT r.reason FROM W.run AS r ORDER BY r.run_id DESC LIMIT 1";
    let why = cluster.text(heir, why)?;
    ensure!(why.contains("no member of the cluster any more"), "{why}");
    let answer = cluster.call(heir, "run", json!({}))?;
    ensure!(answer["status"] == "failed", "{answer}");
    let left = cluster.alike("a dead node", &others)?;
    ensure!(left == [2, 3, 0, 0], "{left:?} after {answer}");
    comes_back_outside(cluster, dying)
}
