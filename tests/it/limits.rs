//! Limits that belong to a run, although each rule could have them: those of the first rule, and the smallest of all.

use std::process::Command;

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
        the_limits_of_runs_hold_where_another_rule_becomes_the_first,
        what_is_archived_is_kept_where_another_rule_becomes_the_first,
        off_in_one_rule_is_not_off_in_all,
        a_setting_that_does_not_apply_is_told,
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
    // One was set before that of the first rule; a shorter one of a rule that the spec no longer has waits for it, as ever.
    let gone = "INSERT INTO W.setting (rule, name, value, changed_by, changed_at) VALUES ('gone', 'ledger_days', 5000, 'olga', '2020-01-01');
                INSERT INTO W.setting (rule, name, value, changed_by) VALUES ('left', 'ledger_days', 30, 'olga');
                INSERT INTO W.rule_limit (rule, name, value) VALUES ('tasks', 'ledger_days', 400), ('tasks', 'time_budget', 3600);";
    installation.execute(&format!("{before}{}{gone}{after}", earlier.concat()));
    installation.install(&graph_of(SPEC));
    // A shorter time than the first rule has by the spec counts from now on, as whoever set it has asked for. But where the first
    // rule has a setting, that was in force, and stays.
    assert_eq!(
        settings(&mut installation),
        [
            "left ledger_days 30",
            "logs ledger_days 500",
            "logs time_budget 900",
            "tasks retries 5"
        ]
    );
    let log = "SELECT CONCAT(name, ' ', old_value) FROM W.setting_log
               WHERE rule = 'tasks' AND new_value IS NULL AND changed_by IS NOT NULL ORDER BY name";
    assert_eq!(
        installation.texts(log),
        ["ledger_days 900", "time_budget 900"]
    );
}

/// All that is set.
fn settings(installation: &mut Installation) -> Vec<String> {
    installation
        .texts("SELECT CONCAT(rule, ' ', name, ' ', value) FROM W.setting ORDER BY rule, name")
}

/// A spec with another rule before that of the logs.
fn with_first(spec: &str) -> String {
    let first = "[rules.first]\nstrategy = \"age\"\nroot = \"first\"\ntime = \"at timestamp\"\nretention = { default = \"30d\" }\n\n[rules.logs]";
    spec.replace("[tables]", "[tables]\nfirst  = { key = \"id integer\" }")
        .replace("[rules.logs]", first)
}

/// An installation with the table of that rule.
fn with_its_table(dialect: Dialect) -> Installation {
    let mut installation = armed(dialect);
    installation
        .execute("CREATE TABLE first (id integer NOT NULL PRIMARY KEY, at timestamp NOT NULL)");
    installation
}

fn the_limits_of_runs_hold_where_another_rule_becomes_the_first(dialect: Dialect) {
    let mut installation = with_its_table(dialect);
    let with_first = with_first(SPEC);
    let renamed = SPEC.replace("[rules.logs]", "[rules.first]");
    let days = "first ledger_days 3650";
    let budget = "first time_budget 900";
    for (spec, name, value, expected) in [
        (&with_first, "ledger_days", 3_650, &[days][..]),
        (&with_first, "ledger_days", 30, &[]),
        // A run that may take no longer than before hurts nobody.
        (&with_first, "time_budget", 900, &[budget]),
        (&with_first, "time_budget", 7_200, &[]),
        // Where the rule is gone, or has another name, they move. What does not count waits for somebody to look.
        (&renamed, "ledger_days", 3_650, &[days]),
        (&renamed, "ledger_days", 30, &["logs ledger_days 30"]),
        (&renamed, "time_budget", 900, &[budget]),
        (&renamed, "time_budget", 7_200, &["logs time_budget 7200"]),
    ] {
        installation.install(&graph_of(SPEC));
        installation.execute("DELETE FROM W.setting");
        set(&mut installation, "logs", name, value);
        installation.install(&graph_of(spec));
        assert_eq!(settings(&mut installation), expected, "{name} {value}");
        // And so with each change of mind.
        if spec == &renamed {
            installation.install(&graph_of(SPEC));
            let back = format!("logs {name} {value}");
            assert_eq!(settings(&mut installation), [back], "{name} {value}");
            installation.install(&graph_of(spec));
            assert_eq!(settings(&mut installation), expected, "{name} {value}");
        }
    }
    // What the rule has itself counts if it was set later.
    installation.install(&graph_of(SPEC));
    installation.execute("DELETE FROM W.setting");
    set(&mut installation, "logs", "ledger_days", 30);
    installation.install(&graph_of(&renamed));
    set(&mut installation, "first", "ledger_days", 3_650);
    installation.install(&graph_of(SPEC));
    assert_eq!(settings(&mut installation), ["logs ledger_days 3650"]);
    installation.install(&graph_of(&renamed));
    set(&mut installation, "first", "ledger_days", 500);
    installation.install(&graph_of(&renamed));
    assert_eq!(settings(&mut installation), ["first ledger_days 500"]);
    // Whoever has reset it is not overruled by a later installation, also where the ledger has forgotten that.
    let reset = json!({"rule": "first", "name": "ledger_days", "value": null});
    installation.call("set_setting", reset).expect("a reset");
    installation.execute("DELETE FROM W.setting_log");
    for spec in [&renamed, SPEC, &renamed] {
        installation.install(&graph_of(spec));
        assert_eq!(settings(&mut installation), [""; 0]);
    }
    // Also if it is the weaker one of the two: what waits of a rule that was gone is the older word.
    set(&mut installation, "first", "time_budget", 4_000);
    installation.install(&graph_of(SPEC));
    set(&mut installation, "logs", "time_budget", 5_000);
    installation.install(&graph_of(&renamed.replace("\"1h\"", "\"3h\"")));
    assert_eq!(settings(&mut installation), ["first time_budget 5000"]);
    installation.execute("DELETE FROM W.setting");
    // A rule that was the first before gets what the one between had, though it was dropped from itself then.
    installation.install(&graph_of(SPEC));
    set(&mut installation, "logs", "ledger_days", 3_650);
    for (spec, expected) in [(&*with_first, days), (SPEC, "logs ledger_days 3650")] {
        installation.install(&graph_of(spec));
        assert_eq!(settings(&mut installation), [expected]);
    }
}

/// 0 is for ever. What is kept for less time is no longer than before.
fn what_is_archived_is_kept_where_another_rule_becomes_the_first(dialect: Dialect) {
    let mut installation = with_its_table(dialect);
    let archive = |spec: &str| {
        let spec = spec.replace("\"30d\" }\n", "\"30d\" }\narchive = true\n");
        spec.replace("name = \"limits\"", "name = \"limits\"\narchive_days = 400")
    };
    let before = archive(SPEC);
    let renamed = before.replace("[rules.logs]", "[rules.first]");
    for (spec, days, expected) in [
        (archive(&with_first(SPEC)), 0, &["first archive_days 0"][..]),
        (
            archive(&with_first(SPEC)),
            3_650,
            &["first archive_days 3650"],
        ),
        (archive(&with_first(SPEC)), 90, &[]),
        (renamed.clone(), 0, &["first archive_days 0"]),
        (renamed, 90, &["logs archive_days 90"]),
    ] {
        installation.install(&graph_of(&before));
        installation.execute("DELETE FROM W.setting");
        set(&mut installation, "logs", "archive_days", days);
        installation.install(&graph_of(&spec));
        assert_eq!(settings(&mut installation), expected, "{days}");
    }
}

fn off_in_one_rule_is_not_off_in_all(dialect: Dialect) {
    let mut installation = armed(dialect);
    let run = installation.run(json!({"trigger": "SCHEDULED"}));
    assert_eq!(run.expect("a run")["reason"], "nothing left");
    let waits = "SELECT COUNT(*) FROM W.scheduling WHERE idle_until IS NOT NULL";
    for (logs, tasks, expected) in [(0, 600, 1), (600, 0, 1), (600, 600, 1), (0, 0, 0)] {
        set(&mut installation, "logs", "back_off_max", logs);
        set(&mut installation, "tasks", "back_off_max", tasks);
        assert_eq!(installation.number(waits), expected, "{logs}, {tasks}");
    }
    for _ in 0..2 {
        installation.execute(
            r#"INSERT INTO W.run ("trigger", dry_run, options, as_of, deadline, status, reason, backend_pid, finished_at)
               SELECT 'SCHEDULED', dry_run, options, as_of, deadline, 'crashed', 'its session vanished', backend_pid, finished_at
               FROM W.run WHERE run_id = (SELECT MAX(run_id) FROM W.run)"#,
        );
    }
    let state = "SELECT COUNT(*) FROM W.scheduling WHERE suspended";
    for (logs, tasks, expected) in [
        (0, 2, 1),
        (2, 0, 1),
        (9, 2, 1),
        (0, 3, 0),
        (3, 9, 0),
        (0, 0, 0),
    ] {
        set(&mut installation, "logs", "suspend_after", logs);
        set(&mut installation, "tasks", "suspend_after", tasks);
        assert_eq!(installation.number(state), expected, "{logs}, {tasks}");
        let known = "SELECT COUNT(*) FROM W.scheduling WHERE suspended IS NOT NULL";
        assert_eq!(installation.number(known), 1, "{logs}, {tasks}");
    }
}

fn a_setting_that_does_not_apply_is_told(dialect: Dialect) {
    let mut installation = armed(dialect);
    for (rule, name, value, notice) in [
        ("tasks", "suspend_after", 20, Some("5 (rule logs)")),
        ("tasks", "suspend_after", 0, Some("5 (rule logs)")),
        ("tasks", "suspend_after", 4, None),
        ("logs", "suspend_after", 4, None),
        ("logs", "suspend_after", 0, Some("4 (rule tasks)")),
        ("tasks", "suspend_after", 0, None),
        ("tasks", "back_off_max", 3_600, Some("1800 (rule logs)")),
        ("tasks", "retries", 9, None),
    ] {
        let answer = set(&mut installation, rule, name, value);
        let expected =
            notice.map(|it| format!("of all rules the smallest {name} above 0 applies: {it}"));
        assert_eq!(answer["notice"], json!(expected), "{rule}.{name} = {value}");
    }
    // So is one that is given back.
    let reset = json!({"rule": "logs", "name": "suspend_after", "value": null});
    let answer = installation.call("set_setting", reset).expect("an answer");
    assert_eq!(answer["notice"], json!(null), "{answer}");
    set(&mut installation, "logs", "suspend_after", 3);
    let reset = json!({"rule": "tasks", "name": "suspend_after", "value": null});
    let answer = installation.call("set_setting", reset).expect("an answer");
    let said = "of all rules the smallest suspend_after above 0 applies: 3 (rule logs)";
    assert_eq!(answer["notice"], said, "{answer}");

    // The command says it, too.
    let folder = tempfile::tempdir().expect("a folder");
    let spec = folder.path().join("limits.toml");
    let text = match dialect {
        Dialect::Postgres => SPEC.to_owned(),
        Dialect::Mysql | Dialect::Mariadb => {
            let control = installation.control.strip_prefix("windrow_");
            let name = control.expect("a prefix");
            let names = format!("name = \"{name}\"\ndatabase = \"{}\"", installation.name);
            SPEC.replace("name = \"limits\"", &names)
        }
    };
    std::fs::write(&spec, text).expect("a spec is written");
    let output = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(["settings", "set"])
        .arg(&spec)
        .args(["suspend_after", "20", "--rule", "tasks"])
        .args(["--url", &installation.superuser()])
        .output()
        .expect("windrow runs");
    let text = String::from_utf8_lossy(&output.stderr);
    let expected = format!("`suspend_after` is 20\n{said}\n");
    assert!(text.ends_with(&expected), "{text}");
}
