//! What lists, checks and commands say of archived partitions.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use windrow::dialect::Dialect;

use super::{example, kept, kept_in, spec_of};
use crate::partition::{SCHEMA, armed_as, only, partitions};
use crate::support::graphs::graph_of;
use crate::support::installation::{Installation, violations};

/// What `verify` says of archived partitions.
fn archived_checks(installation: &mut Installation) -> Vec<(String, String, i64)> {
    let verify = installation.call("verify", json!({})).expect("verify");
    let checks = verify["checks"].as_array().expect("checks");
    let told = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let archived = checks.iter().filter(|it| it["check"] == "archived");
    archived
        .map(|it| {
            let count = it["count"].as_i64().unwrap_or_default();
            (told(it, "object"), told(it, "severity"), count)
        })
        .collect()
}

/// A run archived so many partitions with so many rows: `verify` counts them, and names one that is missing (`name`, with `its_rows`)
/// and a table that nobody archived.
pub(crate) fn only_what_the_ledger_has_is_there(
    installation: &mut Installation,
    schema: &str,
    (partitions, rows): (i64, i64),
    (name, its_rows): (&str, i64),
) {
    const STRAY: &str = "archived_stray";
    let dialect = installation.dialect;
    let rename = |from: &str, to: &str| match dialect {
        Dialect::Postgres => format!("ALTER TABLE {schema}.{from} RENAME TO {to}"),
        Dialect::Mysql | Dialect::Mariadb => {
            format!("RENAME TABLE {schema}.{from} TO {schema}.{to}")
        }
    };
    let verify = installation.call("verify", json!({})).expect("verify");
    assert!(violations(&verify).is_empty(), "{verify}");
    let told = format!("archived partitions with {rows} rows");
    assert!(verify.to_string().contains(&told), "{verify}");
    let ok = [("event_log".to_owned(), "ok".to_owned(), partitions)];
    assert_eq!(archived_checks(installation), ok);
    installation.execute(&rename(name, STRAY));
    let violation =
        |table: &str, count| (format!("{schema}.{table}"), "violation".to_owned(), count);
    let mut found = archived_checks(installation);
    found.sort();
    assert_eq!(found, [violation(name, its_rows), violation(STRAY, 1)]);
    installation.execute(&rename(STRAY, name));
    assert_eq!(archived_checks(installation), ok);
}

/// The list says of each partition whether its rows were counted.
pub(super) fn what_is_estimated_is_told() {
    let spec = spec_of("event-log-guessed").replace(
        "archive   = true",
        "archive   = true\nrows      = \"estimated\"",
    );
    let mut installation = armed_as(&graph_of(&spec), SCHEMA);
    installation.execute(
        "UPDATE pg_class SET reltuples = 1000, relpages = 1 WHERE oid = 'event_log_past'::regclass",
    );
    let run = installation.run(json!({})).expect("a run");
    let list = installation
        .call("archive_list", json!({}))
        .expect("a list");
    let parts = &list["runs"][0]["partitions"];
    let told = [0, 1].map(|place| (&parts[place]["partition"], &parts[place]["counted"]));
    assert_eq!(
        told,
        [
            (&json!("event_log_old"), &json!(true)),
            (&json!("event_log_past"), &json!(false))
        ],
        "{list}"
    );
    assert_eq!(list["rows"], only(&run)["rows"], "{list}");
    assert_eq!(parts[1]["rows"], 1000, "{list}");
}

/// Calls a command with options, which begin with a dash, on the database of `url`: its exit code, and what it printed.
pub(crate) fn called(spec: &Path, url: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let (options, command): (Vec<&str>, Vec<&str>) =
        arguments.iter().partition(|it| it.starts_with('-'));
    let done = Command::new(env!("CARGO_BIN_EXE_windrow"))
        .args(command)
        .arg(spec)
        .args(["--url", url])
        .args(options)
        .output()
        .expect("it starts");
    let [out, err] = [done.stdout, done.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    (done.status.code(), out, err)
}

pub(super) fn the_commands_list_write_and_refuse() {
    let graph = example("event-log-commands");
    let mut installation = armed_as(&graph, SCHEMA);
    let rows = installation.number("SELECT count(*) FROM event_log_past");
    let run = installation.run(json!({})).expect("a run");
    let folder = tempfile::tempdir().expect("a folder");
    let spec = folder.path().join("spec.toml");
    fs::write(&spec, spec_of("event-log-commands")).expect("a spec");
    let url = installation.superuser();
    let windrow = |arguments: &[&str]| called(&spec, &url, arguments);
    let name = format!("archived_{}_2_event_log_past", run["run"]);
    let (code, list, _) = windrow(&["archive", "list"]);
    assert!(code == Some(0) && list.contains(&name), "{list}");
    let (code, csv, err) = windrow(&["archive", "export", "--table=event_log_past"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(csv.lines().next(), Some("id,logged_at,message"));
    assert_eq!(csv.lines().count() as i64, rows + 1, "{csv}");
    let to = format!("--to={}", folder.path().join("out").display());
    let (code, _, err) = windrow(&["archive", "export", &to]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        folder
            .path()
            .join("out")
            .join(format!("{name}.csv"))
            .exists()
    );
    let (code, _, err) = windrow(&["archive", "export", "--run=99"]);
    assert!(
        code == Some(2) && err.contains("no archive tables"),
        "{err}"
    );
    let (code, _, err) = windrow(&["uninstall", "--yes"]);
    let told = format!(
        "there are archived rows in `{}.archived_",
        kept_in(&installation)
    );
    assert!(code == Some(2) && err.contains(&told), "{err}");
    assert_eq!(kept(&mut installation).len(), 2);
    let (code, _, err) = windrow(&["archive", "restore", &format!("--run={}", run["run"])]);
    assert!(
        code == Some(0) && err.contains("2 holds were placed"),
        "{err}"
    );
    assert_eq!(partitions(&mut installation).len(), 3);
    let (code, _, err) = windrow(&["uninstall", "--yes"]);
    assert_eq!(code, Some(0), "{err}");
}
