//! What acts on the columns that a stamp sets.

use std::process::Command;

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::acts::{Act, DROP_KEY};
use super::replaced::{swap, until_a_second_old};
use super::{SPEC, assert_told, made, refill, text_for, warned};
use crate::harness::tests;
use crate::support::effort::share;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        triggers_on_what_is_set_are_told,
        verify_tells_of_triggers_to_who_may_see_them,
        what_comes_to_act_ends_a_stamp,
        what_acts_is_told_before_a_stamp,
    ],
}

/// Triggers of the application, some of which fire.
fn idle(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "CREATE FUNCTION idle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             CREATE TRIGGER of_memos AFTER UPDATE OF run_id ON memos FOR EACH ROW EXECUTE FUNCTION idle();
             CREATE TRIGGER of_ids AFTER UPDATE OF id OR DELETE ON memos FOR EACH ROW EXECUTE FUNCTION idle();
             CREATE TRIGGER off AFTER UPDATE ON memos FOR EACH ROW EXECUTE FUNCTION idle();
             ALTER TABLE memos DISABLE TRIGGER off;
             CREATE TRIGGER of_arts AFTER UPDATE ON arts FOR EACH ROW EXECUTE FUNCTION idle();
             CREATE TRIGGER of_uses AFTER DELETE ON uses FOR EACH ROW EXECUTE FUNCTION idle()",
        Dialect::Mysql | Dialect::Mariadb => "CREATE TRIGGER of_memos AFTER UPDATE ON memos FOR EACH ROW SET @idle = 1;
             CREATE TRIGGER of_ids AFTER DELETE ON memos FOR EACH ROW SET @idle = 1;
             CREATE TRIGGER of_arts AFTER UPDATE ON arts FOR EACH ROW SET @idle = 1;
             CREATE TRIGGER of_uses AFTER DELETE ON uses FOR EACH ROW SET @idle = 1",
    }
}

/// The triggers that `verify` tells of, each with its table.
fn told_in(document: &Value) -> Vec<String> {
    let checks = document["checks"].as_array().expect("checks");
    let told = checks
        .iter()
        .filter(|it| it["check"] == "trigger" && it["severity"] == "notice");
    let mut told: Vec<String> = told
        .map(|it| {
            let words = it["detail"].as_str().unwrap_or_default();
            let name = words.split(' ').nth(2).unwrap_or_default();
            format!("{} {name}", it["object"].as_str().unwrap_or_default())
        })
        .collect();
    told.sort();
    told
}

pub(crate) fn verified(installation: &mut Installation) -> Vec<String> {
    told_in(&installation.call("verify", json!({})).expect("a report"))
}

/// What the owner role sees of them: MySQL shows none to who may make none.
fn seen(dialect: Dialect, told: &[String]) -> Vec<String> {
    match dialect {
        Dialect::Mysql => Vec::new(),
        Dialect::Postgres | Dialect::Mariadb => told.to_vec(),
    }
}

/// On MySQL it depends on who asks.
fn verify_tells_of_triggers_to_who_may_see_them(dialect: Dialect) {
    let mut installation = made(dialect);
    installation.execute(idle(dialect));
    let whole =
        "CREATE TRIGGER of_all AFTER DELETE ON uses FOR EACH STATEMENT EXECUTE FUNCTION idle()";
    if dialect == Dialect::Postgres {
        installation.execute(whole);
    }
    let name = installation.name.clone();
    let spec = SPEC.replace(
        "name     = \"acting\"",
        &format!("name = \"w_{name}\"\ndatabase = \"{name}\""),
    );
    let spec = match dialect {
        Dialect::Postgres => spec,
        Dialect::Mysql | Dialect::Mariadb => spec.replace("\"ended\"", "\"ended timestamptz\""),
    };
    // What is accepted and does not exist is a matter of `check`.
    let uses = "uses = { key = \"id integer\", ";
    let spec = spec.replace(uses, &format!("{uses}triggers = [\"of_nothing\"], "));
    assert!(spec.contains("of_nothing"), "{spec}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spec.toml");
    std::fs::write(&path, spec).expect("a spec");
    let windrow = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windrow"));
        let command = command.arg(words[0]).arg(&path).args(&words[1..]);
        let output = command
            .env("WINDROW_URL", installation.superuser())
            .output();
        output.expect("windrow runs")
    };
    let installed = windrow(&["install", "--threshold", "1000000"]);
    assert!(installed.status.success(), "{installed:?}");
    let said = windrow(&["verify", "--output", "json"]).stdout;
    let document: Value = serde_json::from_slice(&said).expect("a document");
    let mut told = told_in(&document);
    if dialect == Dialect::Postgres {
        assert_eq!(told.remove(1), "uses of_all");
        let said = String::from_utf8_lossy(&said);
        let when = "the trigger of_all fires for each statement that deletes rows";
        assert!(said.contains(when), "{said}");
        assert!(
            said.contains("the trigger of_uses fires for each deleted row"),
            "{said}"
        );
    }
    assert_eq!(told, ["memos of_memos", "uses of_uses"]);
}

/// Code of the application that runs as windrow sets a column: told, unless the spec accepts it by name.
fn triggers_on_what_is_set_are_told(dialect: Dialect) {
    let mut installation = made(dialect);
    installation.execute(idle(dialect));
    let mut told = warned(&installation, dialect, SPEC);
    told.sort();
    assert_eq!(told, ["memos of_memos", "uses of_uses"]);
    assert_eq!(verified(&mut installation), seen(dialect, &told));
    let memos = "memos = { parents = [\"run_id -> runs.id set null\"]";
    let accepts = |names: &str| SPEC.replace(memos, &format!("{memos}, triggers = [{names}]"));
    let told = warned(&installation, dialect, &accepts("\"of_memos\""));
    assert_eq!(told, ["uses of_uses"]);
    installation.install(&graph_of(&accepts("\"of_memos\"")));
    assert_eq!(verified(&mut installation), seen(dialect, &told));
    // What is accepted and never fires is told, too.
    let mut told = warned(&installation, dialect, &accepts("\"of_memos\", \"of_ids\""));
    told.sort();
    assert_eq!(told, ["memos of_ids", "uses of_uses"]);
    // A stamp sets columns of tables whose rows go.
    let mut stamped = stamped(dialect);
    stamped.execute(match dialect {
        Dialect::Postgres => {
            "CREATE FUNCTION idle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             CREATE TRIGGER of_events AFTER UPDATE ON events FOR EACH ROW EXECUTE FUNCTION idle()"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "CREATE TRIGGER of_events AFTER UPDATE ON events FOR EACH ROW SET @idle = 1"
        }
    });
    let told = warned(&stamped, dialect, TASKS);
    assert_eq!(told, ["events of_events"]);
    assert_eq!(verified(&mut stamped), seen(dialect, &told));
}

/// Rows with a removal time, which a stamp sets.
const TASKS: &str = r#"
name = "acting"

[tables]
tasks  = { key = "id integer" }
events = { parents = ["root_id -> tasks.id"] }

[rules.tasks]
strategy  = "removal-time"
root      = "tasks"
time      = "remove_at timestamp"
end_time  = "ended"
tables    = ["events: root_id", "tasks: root_id"]
unit      = "window"
retention = { safety_lag = "0s" }

[rules.tasks.stamp]
start = "started"
per   = "kind varchar"
from  = "definition: id -> keep days"
own   = ["events: root_id"]
"#;

const TASK_SCHEMA: &str = "
CREATE TABLE tasks (id integer NOT NULL PRIMARY KEY, root_id integer, kind varchar(20), started timestamp NULL, ended timestamp NULL, remove_at timestamp NULL);
CREATE UNIQUE INDEX of_time ON tasks (remove_at, id);
CREATE TABLE events (id integer NOT NULL PRIMARY KEY, root_id integer, remove_at timestamp NULL);
CREATE TABLE audit (id integer NOT NULL PRIMARY KEY, task_id integer, task_time timestamp NULL);
CREATE TABLE definition (id varchar(20) NOT NULL PRIMARY KEY, keep integer);
INSERT INTO tasks (id, root_id, kind, started, ended, remove_at) VALUES
    (1, 1, 'a', '2025-01-01 00:00:00', '2025-01-01 00:00:00', '2031-01-01 00:00:00'),
    (2, 2, 'a', '2025-01-01 00:00:00', '2025-01-01 00:00:00', '2031-01-01 00:00:00'),
    (3, 3, 'a', '2025-01-01 00:00:00', '2025-01-01 00:00:00', '2031-01-01 00:00:00');
INSERT INTO events (id, root_id, remove_at) VALUES (11, 1, '2031-01-01 00:00:00'), (13, 3, '2031-01-01 00:00:00');
INSERT INTO audit VALUES (23, 3, '2031-01-01 00:00:00')";

const FOLLOWS: &str = "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (task_time, task_id) REFERENCES tasks (remove_at, id) ON UPDATE CASCADE";

/// What acts on what a stamp sets, how it goes again, and how it is told.
fn stamp_acts(dialect: Dialect) -> Vec<Act<'static>> {
    let act = |make, undo, told| Act {
        make,
        undo,
        told,
        object: "",
    };
    let mut acts = vec![act(
        FOLLOWS,
        DROP_KEY[2],
        "table audit references tasks by acts (on update cascade)",
    )];
    acts.push(match dialect {
        Dialect::Postgres => act(
            "CREATE RULE acts AS ON UPDATE TO events DO INSTEAD NOTHING",
            "DROP RULE acts ON events",
            "table events has the rule acts, which acts on UPDATE",
        ),
        Dialect::Mysql | Dialect::Mariadb => act(
            "DROP DATABASE IF EXISTS aside; CREATE DATABASE aside; CREATE TABLE aside.bills (id integer NOT NULL PRIMARY KEY, at timestamp NULL, task integer, CONSTRAINT acts FOREIGN KEY (at, task) REFERENCES HERE.tasks (remove_at, id) ON UPDATE CASCADE)",
            "DROP DATABASE aside",
            "table aside.bills references tasks by acts (on update cascade)",
        ),
    });
    if dialect == Dialect::Mariadb {
        acts.push(act(
            "ALTER TABLE audit ADD CONSTRAINT acts FOREIGN KEY (task_time, task_id) REFERENCES tasks (remove_at, id)",
            DROP_KEY[2],
            "table audit references tasks by acts (on update ",
        ));
    }
    acts
}

fn stamped(dialect: Dialect) -> Installation {
    Installation::of(dialect, TASK_SCHEMA, &graph_of(TASKS))
}

fn what_acts_is_told_before_a_stamp(dialect: Dialect) {
    let mut installation = stamped(dialect);
    let to = json!({"to": "2032-01-01T00:00:00Z", "all": true});
    let times = "SELECT COUNT(*) FROM tasks WHERE remove_at < '2031-06-01 00:00:00'";
    for act in share(dialect, stamp_acts(dialect)) {
        let make = text_for(&mut installation, dialect, act.make);
        let undo = text_for(&mut installation, dialect, act.undo);
        let told = text_for(&mut installation, dialect, act.told).replace('`', "");
        installation.execute(&make);
        let mut dry = to.clone();
        dry["dry_run"] = json!(true);
        for options in [&to, &dry] {
            let error = installation
                .call("stamp", options.clone())
                .expect_err(act.make);
            assert_told(&error, &told);
        }
        assert_eq!(installation.number(times), 3, "{}", act.make);
        installation.execute(&undo);
    }
    until_a_second_old(&mut installation, dialect);
    installation.arm();
    installation.execute(&swap(dialect).replace("uses", "events"));
    let error = installation
        .call("stamp", to.clone())
        .expect_err("a table that was swapped");
    assert_told(&error, "catalog changed: table events is another one");
    installation.arm();
    let stamp = installation.call("stamp", to).expect("a stamp");
    assert_eq!(
        (&stamp["status"], &stamp["rules"][0]["rows"]),
        (&json!("done"), &json!(3)),
        "{stamp}"
    );
    let left = "SELECT COUNT(*) FROM W.catalog_state WHERE run_id > 0";
    assert_eq!(installation.number(left), 0);
}

/// What comes while the first batch is at work, in a trigger of the application: it is there before the next one, or before
/// the first one commits, where the locks let it come.
fn what_comes_to_act_ends_a_stamp(dialect: Dialect) {
    let swapped = swap(dialect).replace("uses", "events");
    let mut acts = stamp_acts(dialect);
    acts.push(Act {
        make: &swapped,
        undo: "",
        told: "table events",
        object: "",
    });
    let mut installation = stamped(dialect);
    installation.execute(match dialect {
        Dialect::Postgres => {
            "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF OLD.id = 1 THEN
                     PERFORM pg_sleep(3);
                 END IF;
                 RETURN NEW;
             END $$;
             CREATE TRIGGER wait BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION wait()"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "CREATE TRIGGER wait BEFORE UPDATE ON tasks FOR EACH ROW DO SLEEP(IF(OLD.id = 1, 3, 0))"
        }
    });
    for act in share(dialect, acts) {
        refill(&mut installation, TASK_SCHEMA);
        until_a_second_old(&mut installation, dialect);
        let make = text_for(&mut installation, dialect, act.make);
        let undo = text_for(&mut installation, dialect, act.undo);
        let told = text_for(&mut installation, dialect, act.told).replace('`', "");
        let options = json!({"to": "2032-01-01T00:00:00Z", "all": true, "chunk": 1});
        let (runner, _, number) = installation.call_aside("stamp", options.clone());
        installation.until_asleep("a batch in the trigger", &runner, number);
        installation.execute(&make);
        let (_, stamp) = runner.join().expect("a session");
        let stamp = stamp.expect("a stamp");
        let reason = stamp["reason"].as_str().unwrap_or_default();
        assert_eq!(stamp["status"], "failed", "{}: {stamp}", act.make);
        assert!(
            reason.contains("catalog changed: ") && reason.contains(&told),
            "{reason}"
        );
        let kept = "SELECT COUNT(*) FROM tasks WHERE remove_at < '2031-06-01 00:00:00' AND id > 1";
        assert_eq!(installation.number(kept), 2, "{}", act.make);
        let kept = "SELECT COUNT(*) FROM audit WHERE task_time < '2031-06-01 00:00:00'";
        assert_eq!(installation.number(kept), 1, "{}", act.make);
        if !undo.is_empty() {
            installation.execute(&undo);
            let stamp = installation.call("stamp", options).expect("a stamp");
            assert_eq!(stamp["status"], "done", "{}: {stamp}", act.make);
        }
    }
}
