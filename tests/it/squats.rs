//! Locks of GET_LOCK are free for every session of MySQL and MariaDB: who takes one of windrow's ends no call unseen.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windrow::graph::Shared;
use windrow::sandbox::mysql::Flavour;

use crate::harness::tests;
use crate::rights::{fill, user};
use crate::support::camunda::Camunda;
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, Session, dialect_of};
use crate::workers;

tests! {
    mysql_and_mariadb: [
        who_takes_the_lock_of_a_worker_or_a_purge_is_named,
    ],
    either_flavour: [
        who_takes_the_lock_of_stamps_is_named,
        who_keeps_an_uninstallation_waiting_is_named,
    ],
}

/// Takes locks of an installation by the ends of their names, without any right; answers the number of the connection.
fn squat(made: &mut Installation, stranger: &mut Session, ends: &[String]) -> Result<String> {
    let lock = windrow::render::run_lock(&made.control);
    for end in ends {
        let taken = stranger.query(&format!("SELECT GET_LOCK('{lock}{end}', 0)"), &[])?;
        ensure!(taken[0][0].as_deref() == Some("1"), "{end}");
    }
    let number = stranger.query("SELECT CONNECTION_ID()", &[])?;
    number[0][0].clone().context("a number")
}

fn is_named(what: &str, told: &str, connection: &str) -> Result<()> {
    ensure!(
        told.contains(&format!("connection {connection}")),
        "{what}: no connection {connection} in: {told}"
    );
    Ok(())
}

fn who_takes_the_lock_of_a_worker_or_a_purge_is_named(flavour: Flavour) -> Result<()> {
    let graph = workers::graph(Shared::Closed);
    let mut made = Installation::armed(dialect_of(flavour), &graph);
    fill(&mut made);
    let before = made.contents();
    let mut stranger = user(&mut made, None);
    let next = made.number("SELECT COALESCE(MAX(run_id), 0) FROM W.run") + 1;
    let mut ends = vec![".w2".to_owned()];
    ends.extend((next..next + 20).map(|run| format!(".{run}")));
    let connection = squat(&mut made, &mut stranger, &ends)?;
    let refused = made.run(json!({"worker": 2}))?;
    ensure!(refused["status"] == "refused", "{refused}");
    is_named("a worker", &refused["reason"].to_string(), &connection)?;
    let error = made.purge(json!({"key": [1]})).err().context("a purge")?;
    is_named("a purge", &format!("{error:#}"), &connection)?;
    let left = made.number("SELECT COUNT(*) FROM W.run WHERE status = 'running'");
    ensure!(left == 0, "{left} runs are left");
    ensure!(made.contents() == before);
    // A run that vanished is dead, whoever has its lock now.
    made.execute(
        "INSERT INTO W.run (`trigger`, dry_run, options, as_of, backend_pid, node)
         SELECT 'MANUAL', false, '{\"worker\": 2, \"scope\": \"7\"}', UTC_TIMESTAMP(6), 4000000000, c.server_identity FROM W.control AS c",
    );
    let run = made.run(json!({"worker": 1, "dry_run": true}))?;
    ensure!(run["status"] == "done", "{run}");
    let dead = made.texts("SELECT status FROM W.run WHERE backend_pid = 4000000000");
    ensure!(dead == ["crashed"], "{dead:?}");
    stranger.execute("DO RELEASE_ALL_LOCKS()")?;
    for options in [json!({"worker": 2}), json!({"worker": 1})] {
        let run = made.run(options)?;
        ensure!(run["status"] == "done", "{run}");
    }
    Ok(())
}

fn who_takes_the_lock_of_stamps_is_named(flavour: Flavour) -> Result<()> {
    let mut camunda = Camunda::new(dialect_of(flavour));
    let made = &mut camunda.windrow;
    let mut stranger = user(made, None);
    let connection = squat(made, &mut stranger, &[".stamp".to_owned()])?;
    let options = json!({"calculated": "end", "missing": true});
    let answer = made.call("stamp", options);
    let told = answer.map_or_else(|error| format!("{error:#}"), |it: Value| it.to_string());
    is_named("a stamp", &told, &connection)
}

fn who_keeps_an_uninstallation_waiting_is_named(flavour: Flavour) -> Result<()> {
    let graph = graph_of(
        r#"
name = "kept"

[tables]
job = { key = "id bigint" }

[rules.jobs]
strategy  = "end-time"
root      = "job"
final     = { state = "done" }
end_time  = "ended"
retention = { default = "30d" }
archive   = true
"#,
    );
    let schema = "CREATE TABLE job (id bigint PRIMARY KEY, state varchar(20), ended datetime(6), KEY (ended));";
    let mut made = Installation::of(dialect_of(flavour), schema, &graph);
    let mut stranger = user(&mut made, None);
    let connection = squat(&mut made, &mut stranger, &[String::new()])?;
    let error = made.attempt("CALL W.check_uninstall()");
    let error = error.err().context("an uninstallation")?;
    is_named("an uninstallation", &format!("{error:#}"), &connection)
}
