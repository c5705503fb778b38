//! Archived partitions on MySQL and MariaDB, by the commands.

use std::fs;

use serde_json::json;
use windrow::dialect::Dialect;

use super::archive::{kept, sleeps_at};
use super::{PAST, SCHEMA, armed_as, files, ids, only};
use crate::partition::archive::told::called;
use crate::partition::archive::{example, spec_of, with_noise};
use crate::support::installation::{Installation, server};

pub(super) fn an_uninstallation_keeps_archived_partitions(dialect: Dialect) {
    let graph = example("event-log-away");
    files(dialect);
    let mut installation = Installation::with(server(dialect), SCHEMA, &graph);
    installation.arm();
    installation.run(json!({})).expect("a run");
    let undo = |installation: &mut Installation| -> anyhow::Result<()> {
        let bundle = installation.bundle(&graph);
        let file = bundle
            .files
            .iter()
            .find(|it| it.path.ends_with("90_uninstall.sql"));
        for statement in &file.expect("an undo").statements {
            installation.attempt(&statement.sql)?;
        }
        Ok(())
    };
    let told = undo(&mut installation).expect_err("there are partitions");
    let told = format!("{told:#}");
    assert!(
        told.contains("there are rows in archived_1_1_old"),
        "{told}"
    );
    assert_eq!(kept(&mut installation).len(), 3);
    installation.execute("SET @windrow_drop_archive = 'yes'");
    undo(&mut installation).expect("an uninstallation");
}

pub(super) fn the_commands_list_write_and_refuse(dialect: Dialect) {
    let name = "event-log-commands";
    files(dialect);
    let folder = tempfile::tempdir().expect("a folder");
    let spec = folder.path().join("spec.toml");
    let mut installation = Installation::with(server(dialect), SCHEMA, &example(name));
    installation.arm();
    let own = installation
        .control
        .trim_start_matches("windrow_")
        .replace('_', "-");
    let text = spec_of(&own).replace(
        "database  = \"event_log\"",
        &format!("database  = \"{}\"", installation.name),
    );
    fs::write(&spec, text).expect("a spec");
    installation.run(json!({})).expect("a run");
    let url = installation.superuser();
    let windrow = |arguments: &[&str]| called(&spec, &url, arguments);
    let (code, list, err) = windrow(&["archive", "list"]);
    assert!(
        code == Some(0) && list.contains("archived_1_1_old"),
        "{list}{err}"
    );
    let (code, csv, err) = windrow(&["archive", "export", &format!("--table={PAST}")]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(csv.lines().next(), Some("id,logged_at,message,twice"));
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let to = format!("--to={}", folder.path().join("out").display());
    let (code, _, err) = windrow(&["archive", "export", "--run=1", &to]);
    assert_eq!(code, Some(0), "{err}");
    let files = fs::read_dir(folder.path().join("out")).expect("a folder");
    assert_eq!(files.count(), 3);
    let (code, _, err) = windrow(&["archive", "export", "--run=99"]);
    assert!(
        code == Some(2) && err.contains("no archive tables"),
        "{err}"
    );
    let (code, _, err) = windrow(&["uninstall", "--yes"]);
    assert!(
        code == Some(2) && err.contains("there are archived rows in"),
        "{err}"
    );
    let (code, _, err) = windrow(&["archive", "restore", "--run=1"]);
    assert!(
        code == Some(0) && err.contains("3 holds were placed"),
        "{err}"
    );
    assert_eq!(ids(&mut installation), "1 2 3 4 5 6");
    let (code, _, err) = windrow(&["uninstall", "--yes"]);
    assert_eq!(code, Some(0), "{err}");
}

/// One rule archives partitions of a table, another one copies of its rows.
pub(super) fn copies_and_partitions_of_one_table_come_back(dialect: Dialect) {
    let mut installation = armed_as(dialect, &with_noise("event-log-noise"));
    installation.execute(
        "INSERT INTO event_log (id, logged_at, message) VALUES (7, UTC_TIMESTAMP() - INTERVAL 40 DAY, 'noise')",
    );
    for noted in [true, false] {
        let run = installation.run(json!({})).expect("a run");
        assert_eq!(
            (
                &run["status"],
                &only(&run)["rows"],
                &run["rules"][1]["rows"]
            ),
            (&json!("done"), &json!(5), &json!(1)),
            "{run}"
        );
        let number = run["run"].clone();
        let list = installation.call("archive_list", json!({"run": number}));
        let list = list.expect("a list");
        assert_eq!(list["runs"][0]["tables"], json!({"event_log": 6}), "{list}");
        if !noted {
            installation.execute("UPDATE W.run_table SET archived = NULL");
        }
        // One of the partitions first.
        for options in [
            json!({"run": number, "rule": "event_log", "key": [list["runs"][0]["partitions"][0]["partition"]]}),
            json!({"run": number}),
        ] {
            let back = installation.call("archive_restore", options);
            back.expect("restored");
        }
        assert_eq!(ids(&mut installation), "1 2 3 4 5 6 7");
        installation.execute("DELETE FROM W.hold");
    }
}

/// MySQL runs no handler at KILL QUERY, and the session may commit what a restoration had done so far.
pub(super) fn what_is_killed_within_a_restoration_loses_no_row(dialect: Dialect) {
    let mut installation = armed_as(dialect, &example("event-log-interrupted"));
    let run = installation.run(json!({})).expect("a run");
    let number = run["run"].clone();
    assert_eq!(ids(&mut installation), "6");
    // The rows of the second partition are back, and those of the third are not.
    let copied = format!(
        "new.name = '{PAST}' AND EXISTS (SELECT 1 FROM `{}`.event_log WHERE id = 3)",
        installation.name
    );
    sleeps_at(&mut installation, "BEFORE UPDATE", &copied);
    installation.kill_asleep("killed", "archive_restore", json!({"run": number}));
    installation.execute("DROP TRIGGER W.sleeps");
    let (back, left) = match dialect {
        Dialect::Mysql => ("1 2 3 4 6", 2),
        _ => ("6", 3),
    };
    // The end of a run drops the tables of those that are restored.
    installation.run(json!({})).expect("a run");
    assert_eq!(ids(&mut installation), back);
    assert_eq!(kept(&mut installation).len(), left);
    if dialect == Dialect::Mysql {
        let told = installation.call("archive_restore", json!({"run": number}));
        let told = format!("{:#}", told.expect_err("rows are back"));
        assert!(
            told.contains("nothing is restored: table event_log"),
            "{told}"
        );
        installation.execute("DELETE FROM event_log WHERE id IN (3, 4)");
    }
    let restored = installation.call("archive_restore", json!({"run": number}));
    restored.expect("a restoration");
    assert_eq!(ids(&mut installation), "1 2 3 4 5 6");
    assert_eq!(kept(&mut installation), [""; 0]);
}
