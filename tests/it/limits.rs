//! Limits that belong to a run, although each rule could have them: those of the first rule.

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use crate::harness::tests;
use crate::session;
use crate::support::graphs::graph_of;
use crate::support::installation::Installation;

tests! {
    every_server: [
        the_first_rule_alone_has_the_time_of_a_run_and_the_days_of_the_ledger,
        an_installation_drops_what_earlier_versions_took_for_other_rules,
    ],
}

const SPEC: &str = r#"
name = "limits"

[tables]
logs   = { key = "id integer" }
tasks  = { key = "id integer" }
events = { parents = ["root_id -> tasks.id"] }

[rules.logs]
strategy  = "age"
root      = "logs"
time      = "at timestamp"
retention = { default = "30d" }
limits    = { time_budget = "1h" }

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

const TABLES: &str = "
CREATE TABLE logs (id integer NOT NULL PRIMARY KEY, at timestamp NOT NULL);
CREATE TABLE tasks (id integer NOT NULL PRIMARY KEY, root_id integer, kind varchar(20), started timestamp NULL, ended timestamp NULL, remove_at timestamp NULL);
CREATE UNIQUE INDEX of_time ON tasks (remove_at, id);
CREATE TABLE events (id integer NOT NULL PRIMARY KEY, root_id integer, remove_at timestamp NULL);
CREATE TABLE definition (id varchar(20) NOT NULL PRIMARY KEY, keep integer);
";

fn armed(dialect: Dialect) -> Installation {
    let mut installation = Installation::of(dialect, TABLES, &graph_of(SPEC));
    installation.arm();
    installation
}

fn set(installation: &mut Installation, rule: &str, name: &str, value: i64) -> Value {
    let setting = json!({"rule": rule, "name": name, "value": value});
    let answer = installation.call("set_setting", setting);
    answer.unwrap_or_else(|error| panic!("{rule}.{name}: {error:#}"))
}

/// How many seconds the last run, or stamp, was given.
fn given(installation: &mut Installation) -> i64 {
    let span = match installation.dialect {
        Dialect::Postgres => "round(extract(epoch FROM deadline - started_at))",
        Dialect::Mysql | Dialect::Mariadb => "TIMESTAMPDIFF(SECOND, started_at, deadline)",
    };
    installation.number(&format!(
        "SELECT {span} FROM W.run ORDER BY run_id DESC LIMIT 1"
    ))
}

fn the_first_rule_alone_has_the_time_of_a_run_and_the_days_of_the_ledger(dialect: Dialect) {
    let mut installation = armed(dialect);
    for (name, value) in [("time_budget", 7_200), ("ledger_days", 3_650)] {
        let settings = format!("SELECT rule FROM W.settings WHERE name = '{name}'");
        assert_eq!(installation.texts(&settings), ["logs"], "{name}");
        for value in [json!(value), json!(null)] {
            let setting = json!({"rule": "tasks", "name": name, "value": value});
            session::refused(
                installation.call("set_setting", setting),
                &[
                    "22023",
                    &format!("rule tasks has no setting {name}"),
                    "a setting of logs",
                ],
            );
        }
        assert_eq!(set(&mut installation, "logs", name, value)["value"], value);
    }
    // What no rule has is told as before.
    let setting = json!({"rule": "tasks", "name": "speed", "value": 1});
    session::refused(
        installation.call("set_setting", setting),
        &["no such setting: 'speed'"],
    );

    // A run has the time of the first rule, whichever rule it is of, and a stamp has the same.
    installation.run(json!({"rule": "tasks"})).expect("a run");
    assert_eq!(given(&mut installation), 7_200);
    installation
        .call("stamp", json!({"clear": true, "all": true}))
        .expect("a stamp");
    assert_eq!(given(&mut installation), 7_200);
    assert_eq!(installation.number("SELECT COUNT(*) FROM W.setting"), 2);
}

fn an_installation_drops_what_earlier_versions_took_for_other_rules(dialect: Dialect) {
    let mut installation = armed(dialect);
    set(&mut installation, "logs", "ledger_days", 500);
    set(&mut installation, "tasks", "retries", 5);
    // A trigger of this version would refuse it, as the call does.
    let (before, after) = match dialect {
        Dialect::Postgres => (
            "ALTER TABLE W.setting DISABLE TRIGGER check_setting;",
            "ALTER TABLE W.setting ENABLE TRIGGER check_setting",
        ),
        Dialect::Mysql | Dialect::Mariadb => ("", "DO 0"),
    };
    let earlier = ["time_budget", "ledger_days"].map(|name| {
        format!("INSERT INTO W.setting (rule, name, value, changed_by) VALUES ('tasks', '{name}', 900, 'olga');")
    });
    let gone = "INSERT INTO W.setting (rule, name, value, changed_by) VALUES ('gone', 'ledger_days', 900, 'olga');";
    installation.execute(&format!("{before}{}{gone}{after}", earlier.concat()));
    installation.install(&graph_of(SPEC));
    // Settings of a rule that the spec no longer has wait for it, as ever.
    let left = "SELECT CONCAT(rule, '.', name) FROM W.setting ORDER BY rule, name";
    assert_eq!(
        installation.texts(left),
        ["gone.ledger_days", "logs.ledger_days", "tasks.retries"]
    );
    let log = "SELECT CONCAT(name, ' ', old_value) FROM W.setting_log
               WHERE rule = 'tasks' AND new_value IS NULL AND changed_by IS NOT NULL ORDER BY name";
    assert_eq!(
        installation.texts(log),
        ["ledger_days 900", "time_budget 900"]
    );
}
