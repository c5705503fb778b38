//! Outages, each on one server, and the alerts that tell of them.

use std::process::Command;
use std::thread::{self, JoinHandle};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::ground::{CONTROL, Host, here};
use crate::support::installation::{call, numbers};
use crate::support::patience::until;

/// Something that goes wrong, and how it is mended.
pub(super) struct Outage {
    /// The alerts that it raises.
    pub(super) alerts: &'static [&'static str],
    pub(super) begin: fn(&mut Host) -> Result<()>,
    pub(super) end: fn(&mut Host) -> Result<()>,
}

/// What alerts there are, each by what it is for.
pub(super) const OUTAGES: &[Outage] = &[
    Outage {
        alerts: &["WindrowRunFailed", "WindrowUndeletable"],
        begin: poison,
        end: cure,
    },
    Outage {
        alerts: &["WindrowSuspended"],
        begin: revoke,
        end: grant,
    },
    Outage {
        alerts: &["WindrowFallsBehind"],
        begin: flood,
        end: |_| Ok(()),
    },
    Outage {
        alerts: &["WindrowArtifactsFail"],
        begin: litter,
        end: |host| host.execute("DELETE FROM W.artifact"),
    },
    Outage {
        alerts: &["WindrowRunStuck"],
        begin: vanish,
        end: recover,
    },
    Outage {
        alerts: &["WindrowNoSuccess"],
        begin: |host| {
            let (started, finished) = (host.ago(73), host.ago(72));
            host.execute(&format!(
                "UPDATE W.run SET started_at = {started}, finished_at = {finished}"
            ))
        },
        end: |host| succeed(host, &json!({})),
    },
    Outage {
        alerts: &["WindrowPaused"],
        begin: |host| host.execute("CALL W.pause('an audit')"),
        end: |host| host.execute("CALL W.resume()"),
    },
    Outage {
        alerts: &["WindrowRefused"],
        begin: migrate,
        end: |host| {
            host.execute("DROP TABLE audit_note")?;
            succeed(host, &json!({}))
        },
    },
    Outage {
        alerts: &["WindrowDisarmed"],
        // As the installation of a new rule does.
        begin: |host| host.execute("UPDATE W.control SET armed = false"),
        end: |host| host.execute("CALL W.arm()"),
    },
    Outage {
        alerts: &["WindrowMetricsAbsent"],
        begin: Host::kill,
        end: Host::restart,
    },
];

/// Roots that are old and final, the oldest first.
const DUE: &str = "SELECT i.id FROM t_ds_workflow_instance AS i
    WHERE i.is_sub_workflow = 0 AND i.state = 7 AND i.end_time IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM t_ds_relation_workflow_instance AS r WHERE r.parent_workflow_instance_id = i.id)
    ORDER BY i.end_time LIMIT 2";

fn succeed(host: &mut Host, options: &Value) -> Result<()> {
    let answer = host.call("run", options)?;
    let well = answer["status"] == "done" || answer["status"] == "stopped";
    ensure!(well, "{}: {answer}", host.name);
    Ok(())
}

fn set(host: &mut Host, settings: &[(&str, u32)]) -> Result<()> {
    for (name, value) in settings {
        host.call("set_setting", &json!({"name": name, "value": value}))?;
    }
    Ok(())
}

/// Lets the counts of the backlog have been two hours earlier: rates are between two of them.
fn earlier(host: &mut Host) -> Result<()> {
    let time = host.either("interval '2 hours'", "INTERVAL 2 HOUR");
    host.execute(&format!(
        "UPDATE W.run_backlog SET counted_at = counted_at - {time}"
    ))
}

/// A run in a session of its own that rests after its first batch.
fn resting(host: &mut Host) -> Result<JoinHandle<Result<Value>>> {
    set(host, &[("rate", 1), ("batch_families", 3)])?;
    let (mut session, dialect) = (host.connect(), host.dialect);
    let run = thread::spawn(move || {
        let options = json!({"time_budget": "1h", "run_families": 9});
        call(&mut session, dialect, CONTROL, "run", &options)
    });
    until("a run that rests", || {
        ensure!(!run.is_finished(), "{}: it ended", host.name);
        let rests = "SELECT run_id FROM W.run WHERE status = 'running' AND waiting_for IS NOT NULL";
        Ok(!host.texts(rests)?.is_empty())
    })?;
    Ok(run)
}

/// Two runs, of which the second finds the oldest family held, and a third that is in progress.
pub(super) fn in_progress(host: &mut Host) -> Result<JoinHandle<Result<Value>>> {
    succeed(host, &json!({"run_families": 5}))?;
    earlier(host)?;
    let oldest = host.texts(DUE)?.remove(0);
    host.call("set_hold", &json!({"key": oldest, "reason": "an audit"}))?;
    succeed(host, &json!({"run_families": 5}))?;
    resting(host)
}

/// Lets it end at full speed.
pub(super) fn ends(host: &mut Host, run: JoinHandle<Result<Value>>) -> Result<()> {
    at_full_speed(host)?;
    let answer = run.join().expect("no panic")?;
    ensure!(answer["status"] == "stopped", "{}: {answer}", host.name);
    Ok(())
}

fn at_full_speed(host: &mut Host) -> Result<()> {
    set(host, &[("rate", 1_000_000), ("batch_families", 500)])
}

/// A family whose deletion raises an error.
fn poison(host: &mut Host) -> Result<()> {
    let key = host.texts(DUE)?.remove(1);
    let veto = host.either(
        format!(
            "CREATE FUNCTION veto() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF OLD.id = {key} THEN RAISE EXCEPTION 'audit wants %', OLD.id; END IF;
                 RETURN OLD;
             END $$;
             CREATE TRIGGER veto BEFORE DELETE ON t_ds_workflow_instance FOR EACH ROW EXECUTE FUNCTION veto()"
        ),
        format!(
            "CREATE TRIGGER veto BEFORE DELETE ON t_ds_workflow_instance FOR EACH ROW
             IF OLD.id = {key} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'audit wants this'; END IF"
        ),
    );
    host.execute(&veto)?;
    fail(host, &json!({}))
}

fn fail(host: &mut Host, options: &Value) -> Result<()> {
    let answer = host.call("run", options)?;
    ensure!(answer["status"] == "failed", "{}: {answer}", host.name);
    Ok(())
}

fn cure(host: &mut Host) -> Result<()> {
    host.execute(host.either("DROP FUNCTION veto() CASCADE", "DROP TRIGGER veto"))?;
    succeed(host, &json!({}))
}

/// A right that is gone, where two failed runs suspend.
fn revoke(host: &mut Host) -> Result<()> {
    set(host, &[("suspend_after", 2), ("back_off_max", 0)])?;
    due(host, 1)?;
    let owner = owner(host);
    host.execute(&format!(
        "REVOKE DELETE ON t_ds_workflow_instance FROM {owner}"
    ))?;
    for _ in 0..2 {
        fail(host, &json!({"trigger": "SCHEDULED"}))?;
    }
    Ok(())
}

fn grant(host: &mut Host) -> Result<()> {
    let owner = owner(host);
    host.execute(&format!(
        "GRANT DELETE ON t_ds_workflow_instance TO {owner}"
    ))?;
    host.execute("CALL W.arm()")?;
    succeed(host, &json!({}))
}

/// The owner role; on MySQL and MariaDB names of roles are short.
fn owner(host: &Host) -> &'static str {
    host.either(
        "windrow_dolphinscheduler_owner",
        "windrow_dolphi_d04cb0e5_owner",
    )
}

/// So many families that have been due for years.
fn due(host: &mut Host, families: i64) -> Result<()> {
    let above = host.texts("SELECT MAX(id) FROM t_ds_workflow_instance")?;
    let above = &above[0];
    let many = numbers(host.dialect, families);
    host.execute(&format!(
        "INSERT INTO t_ds_workflow_instance
             (id, state, end_time, is_sub_workflow, project_code, executor_id, workflow_definition_code)
         SELECT n + {above}, 7, '2020-01-01', 0, (SELECT MIN(code) FROM t_ds_project), 1, 1 FROM {many}"
    ))
}

/// More than a scrape counts becomes due, and a run takes one family.
fn flood(host: &mut Host) -> Result<()> {
    earlier(host)?;
    due(host, 10_100)?;
    succeed(host, &json!({"run_families": 1}))
}

/// Files of deleted rows that cannot be removed.
fn litter(host: &mut Host) -> Result<()> {
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(["artifacts", "drain", "specs/dolphinscheduler.toml", "--url"])
        .args([&host.url(), "--command", "false {path}", "--limit", "3"])
        .current_dir(here(""))
        .output()?;
    ensure!(!output.status.success(), "{}: {output:?}", host.name);
    Ok(())
}

/// The session of a run vanishes, and the ledger says that it began 26 hours ago.
fn vanish(host: &mut Host) -> Result<()> {
    let run = resting(host)?;
    let sessions = host.texts("SELECT backend_pid FROM W.run WHERE status = 'running'")?;
    let session = &sessions[0];
    host.execute(&host.either(
        format!("SELECT pg_terminate_backend({session})"),
        format!("KILL CONNECTION {session}"),
    ))?;
    ensure!(run.join().expect("no panic").is_err(), "{}", host.name);
    let began = host.ago(26);
    host.execute(&format!(
        "UPDATE W.run SET started_at = {began} WHERE status = 'running'"
    ))
}

/// A migration adds a table whose rows would go with the families, and the schedule starts a run.
fn migrate(host: &mut Host) -> Result<()> {
    host.execute(
        "CREATE TABLE audit_note (id int PRIMARY KEY, instance_id int,
             FOREIGN KEY (instance_id) REFERENCES t_ds_workflow_instance (id) ON DELETE CASCADE)",
    )?;
    let answer = host.call("run", &json!({"trigger": "SCHEDULED"}))?;
    ensure!(answer["status"] == "refused", "{}: {answer}", host.name);
    Ok(())
}

/// The next run notices, and takes all that is due.
fn recover(host: &mut Host) -> Result<()> {
    at_full_speed(host)?;
    succeed(host, &json!({"run_families": 100}))
}
