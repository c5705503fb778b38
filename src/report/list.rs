//! Lists: settings, policies, holds and the like.

use super::words::{instant, text, truth};
use crate::answers::{
    Archived, Artifact, Candidates, Hold, Policy, Replica, Restored, Setting, SettingChange, Window,
};
use crate::ui::Align::{Left, Right};
use crate::ui::{Table, count, retention};

/// Every limit: its value, the default where that is another one, and what it may be.
pub fn settings(settings: &[Setting]) -> String {
    let mut table = Table::new(&[
        ("rule", Left),
        ("setting", Left),
        ("value", Right),
        ("spec", Right),
        ("takes", Left),
        ("changed", Left),
        ("by", Left),
    ]);
    for setting in settings {
        table.row([
            setting.rule.clone(),
            setting.name.clone(),
            format!(
                "{} {}",
                count(setting.value),
                setting.unit.as_deref().unwrap_or_default()
            ),
            count(setting.spec_value),
            setting.takes.clone(),
            text(setting.changed_at.as_ref()),
            text(setting.changed_by.as_ref()),
        ]);
    }
    table.to_string()
}

/// How long the scope of a policy is kept while it is enabled.
pub fn kept_for(policy: &Policy) -> String {
    match (policy.retention_seconds.map(retention), policy.follows_spec) {
        (Some(kept), false) => kept,
        (Some(kept), true) => format!("{kept} (the spec's default)"),
        (None, _) => "for ever (the spec has no default)".to_owned(),
    }
}

/// How long each scope is kept.
pub fn policies(policies: &[Policy]) -> String {
    let mut table = Table::new(&[
        ("rule", Left),
        ("scope", Left),
        ("enabled", Left),
        ("retention", Left),
        ("artifacts", Left),
        ("changed", Left),
        ("by", Left),
        ("note", Left),
    ]);
    for policy in policies {
        table.row([
            policy.rule.as_str(),
            &policy.scope,
            truth(policy.enabled),
            &kept_for(policy),
            truth(policy.artifacts),
            &instant(&policy.changed_at),
            &policy.changed_by,
            policy.note.as_deref().unwrap_or_default(),
        ]);
    }
    table.to_string()
}

/// When a hold ends, or that it has.
fn until(hold: &Hold) -> String {
    let ended = if hold.expired { " (ended)" } else { "" };
    text(hold.until.as_ref()) + ended
}

/// Families that are kept.
pub fn holds(holds: &[Hold]) -> String {
    let mut table = Table::new(&[
        ("rule", Left),
        ("key", Left),
        ("until", Left),
        ("placed", Left),
        ("by", Left),
        ("absent", Left),
        ("reason", Left),
    ]);
    for hold in holds {
        table.row([
            hold.rule.as_str(),
            &hold.key,
            &until(hold),
            &instant(&hold.placed_at),
            &hold.placed_by,
            truth(hold.absent),
            &hold.reason,
        ]);
    }
    table.to_string()
}

/// Replicas, and how far each has got.
pub fn replicas(replicas: &[Replica]) -> String {
    let mut table = Table::new(&[
        ("replica", Left),
        ("replicated until", Left),
        ("looked", Left),
        ("state", Left),
    ]);
    for replica in replicas {
        table.row([
            replica.replica.as_str(),
            &text(replica.replicated_until.as_ref()),
            &replica.looked_at,
            &replica.state,
        ]);
    }
    table.to_string()
}

/// Every change of a setting.
pub fn changes(changes: &[SettingChange]) -> String {
    let mut table = Table::new(&[
        ("changed", Left),
        ("by", Left),
        ("rule", Left),
        ("name", Left),
        ("before", Right),
        ("after", Right),
    ]);
    for change in changes {
        table.row([
            instant(&change.changed_at),
            change.changed_by.clone(),
            change.rule.clone(),
            change.name.clone(),
            change.old_value.map(count).unwrap_or_default(),
            change.new_value.map(count).unwrap_or_default(),
        ]);
    }
    table.to_string()
}

/// When scheduled runs may work.
pub fn windows(windows: &[Window]) -> String {
    let mut table = Table::new(&[
        ("window", Left),
        ("zone", Left),
        ("changed", Left),
        ("by", Left),
    ]);
    for window in windows {
        table.row([
            window.written.clone(),
            window.zone.clone(),
            text(window.changed_at.as_ref()),
            text(window.changed_by.as_ref()),
        ]);
    }
    table.to_string()
}

/// Files that wait to be removed.
pub fn artifacts(files: &[Artifact]) -> String {
    let mut table = Table::new(&[
        ("artifact", Right),
        ("run", Right),
        ("host", Left),
        ("path", Left),
        ("attempts", Right),
        ("next", Left),
        ("given up", Left),
        ("last error", Left),
    ]);
    for file in files {
        table.row([
            file.artifact_id.to_string(),
            file.run_id.to_string(),
            text(file.host.as_ref()),
            file.path.clone(),
            count(file.attempts),
            text(file.next_attempt_at.as_ref()),
            truth(file.given_up).to_owned(),
            text(file.last_error.as_ref()),
        ]);
    }
    table.to_string()
}

/// The runs of which rows are archived.
pub fn archived(archived: &Archived) -> String {
    let mut table = Table::new(&[
        ("run", Right),
        ("archived", Left),
        ("by", Left),
        ("rules", Left),
        ("rows", Right),
        ("restored", Right),
        ("dropped", Right),
        ("tables", Left),
    ]);
    for run in &archived.runs {
        let partitions = || run.partitions.iter().flatten();
        let estimated = |table: &str| partitions().any(|it| !it.counted && it.table == table);
        let tables = run.tables.iter().flat_map(|tables| &tables.0);
        let tables = tables.map(|(name, rows)| format!("{name} {}", about(*rows, estimated(name))));
        let kept = partitions().map(|it| match it.counted {
            true => it.archive.clone(),
            false => format!("{} ({})", it.archive, about(it.rows, true)),
        });
        table.row([
            run.run.to_string(),
            text(run.archived_at.as_ref()),
            text(run.started_by.as_ref()),
            run.rules.join(", "),
            about(run.rows, partitions().any(|it| !it.counted)),
            run.restored.map(count).unwrap_or_default(),
            run.dropped.map(count).unwrap_or_default(),
            tables.chain(kept).collect::<Vec<_>>().join(", "),
        ]);
    }
    table.to_string()
}

/// A number of rows, of which the server estimated some.
fn about(rows: i64, estimated: bool) -> String {
    match estimated {
        true => format!("about {}", count(rows)),
        false => count(rows),
    }
}

/// What came back, by table.
pub fn restored(back: &Restored) -> String {
    let mut table = Table::new(&[("table", Left), ("rows", Right)]);
    for (name, rows) in back.tables.iter().flat_map(|tables| &tables.0) {
        table.row([name.clone(), count(*rows)]);
    }
    table.to_string()
}

/// The tables that look like roots.
pub fn candidates(found: &Candidates) -> String {
    let mut lines = vec![format!(
        "{:<40} {:>14} {:>10} {:>8} {}",
        "table", "rows, about", "MB", "below it", "ended since"
    )];
    for candidate in &found.tables {
        let since = candidate.ended_days_ago.map(|days| {
            let time = candidate.time.as_deref().unwrap_or_default();
            format!("{days} days ({time})")
        });
        let line = format!(
            "{:<40} {:>14} {:>10} {:>8} {}",
            candidate.table.replace(char::is_control, " "),
            candidate.estimated_rows,
            candidate.bytes / 1_000_000,
            candidate.tables_below,
            since.unwrap_or_default()
        );
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_estimated_is_told() {
        let part = |table: &str, rows: i64, counted: bool| {
            serde_json::json!({
                "rule": "log", "partition": table, "table": table, "from": "-infinity", "to": "2026-01-01",
                "rows": rows, "counted": counted, "bytes": 8192, "archive": format!("kept.{table}"),
            })
        };
        let run = |rows: i64, parts: serde_json::Value| {
            serde_json::json!({
                "run": 17, "archived_at": "2026-02-01", "started_by": "an operator", "rules": ["log"], "rows": rows,
                "tables": {"log": rows - 1, "note": 1}, "partitions": parts, "restored": 0, "dropped": 0,
            })
        };
        let (log, note) = (part("log", 3000, false), part("note", 1, true));
        let document = serde_json::json!({
            "rows": 3002, "runs": [run(3001, serde_json::json!([log, note])), run(1, serde_json::json!([note]))],
        });
        let told = serde_json::from_value(document).expect("a list");
        insta::assert_snapshot!(archived(&told), @"
        run  archived    by           rules         rows  restored  dropped  tables
         17  2026-02-01  an operator  log    about 3,001         0        0  log about 3,000, note 1, kept.log (about 3,000), kept.note
         17  2026-02-01  an operator  log              1         0        0  log 0, note 1, kept.note
        ");
    }
}
