//! The database's JSON documents as text for people. Pure functions.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use crate::ui::Align::{Left, Right};
use crate::ui::{Table, count, counted, duration};

mod plan;
mod sight;

pub use plan::plan;

/// Why families stay, and what each reason means.
pub const REASONS: [(&str, &str); 10] = [
    ("NON_FINAL_MEMBER", "a member has not ended"),
    ("RETENTION_NOT_REACHED", "a member ended too recently"),
    ("UNDATED_MEMBER", "a member is final but has no end time"),
    ("HELD", "a hold keeps it"),
    ("SHARED_MEMBER", "shares a member with a family that stays"),
    ("REFERENCED", "a row that stays refers to it"),
    (
        "LOCKED",
        "another session had it locked; the next run tries again",
    ),
    ("FAILED", "deleting it raised an error"),
    (
        "POLICY_DISABLED",
        "no enabled policy and no definition says how long",
    ),
    ("NOT_A_ROOT", "no family has this root"),
];

/// The rule, and what of it is stamped besides its families.
fn of_rule(rule: &Value) -> String {
    match rule["of"].as_str() {
        Some(of) => format!("{}, {of}", text(rule, "rule")),
        None => text(rule, "rule"),
    }
}

/// What `run`, `purge` and `stamp` answer.
pub fn run(document: &Value) -> String {
    let status = text(document, "status");
    let reason = text(document, "reason");
    if status == "refused" {
        return format!("refused: {reason}\n");
    }
    let dry = if document["dry_run"] == true {
        "dry run, rolled back: "
    } else {
        ""
    };
    let stamp = document["trigger"] == "STAMP";
    let (row, rows_of) = match stamp {
        true => ("row set", "rows set"),
        false => ("row", "rows"),
    };
    let took = Duration::from_millis(document["duration_ms"].as_u64().unwrap_or_default());
    let mut out = format!(
        "{} {}: {dry}{status}, {reason} ({})\n",
        if stamp { "stamp" } else { "run" },
        text(document, "run"),
        duration(took)
    );
    for rule in list(document, "rules") {
        let (families, rows, batches) = (
            number(rule, "families"),
            number(rule, "rows"),
            number(rule, "batches"),
        );
        let _ = write!(
            out,
            "\nrule {}: {}, {} in {}",
            of_rule(rule),
            counted(families, "family", "families"),
            counted(rows, row, rows_of),
            counted(batches, "batch", "batches")
        );
        if number(rule, "retries") > 0 {
            let _ = write!(
                out,
                ", {}",
                counted(number(rule, "retries"), "retry", "retries")
            );
        }
        if rows > 0 && took.as_millis() > 0 {
            let _ = write!(
                out,
                ", {} rows/s",
                count((rows as f64 / took.as_secs_f64()) as i64)
            );
        }
        out.push('\n');
        tables(rule, &mut out);
        passes(rule, &mut out);
        skipped(rule, &mut out);
        let mut failed = Table::new(&[("failed", Left), ("sqlstate", Left), ("error", Left)]);
        for failure in list(rule, "failures") {
            failed.row([
                text(failure, "key"),
                text(failure, "sqlstate"),
                text(failure, "message"),
            ]);
        }
        if !failed.is_empty() {
            let _ = write!(out, "\n{failed}");
        }
    }
    if document["dry_run"] == true {
        out += &several(document);
    }
    let mut refused = Table::new(&[("refused", Left), ("reason", Left), ("meaning", Left)]);
    for (key, reason) in document["refused"].as_object().into_iter().flatten() {
        let reason = reason.as_str().unwrap_or_default();
        refused.row([key.as_str(), reason, meaning(reason)]);
    }
    if !refused.is_empty() {
        let _ = write!(out, "\n{refused}");
    }
    out
}

/// Whether a run's document asks for a look: refused, failed, or some families failed or were refused.
pub fn run_found(document: &Value) -> bool {
    let (status, reason) = (text(document, "status"), text(document, "reason"));
    // A scheduled run that only waits for its time is as it should be.
    let waits = ["no window is open", "nothing left"]
        .iter()
        .any(|start| reason.starts_with(start));
    let clean = ["done", "stopped"].contains(&status.as_str()) || status == "refused" && waits;
    let failures = list(document, "rules")
        .iter()
        .any(|rule| !list(rule, "failures").is_empty());
    !clean
        || failures
        || document["refused"]
            .as_object()
            .is_some_and(|refused| !refused.is_empty())
}

/// What `preview` answers.
pub fn preview(document: &Value) -> String {
    let mut out = format!(
        "{}, as of {}: ",
        text(document, "spec"),
        text(document, "as_of")
    );
    out += match (document["paused"] == true, document["armed"] == true) {
        (true, _) => "paused, a run would be refused\n",
        (_, false) => "not armed, a run would be refused\n",
        _ => "armed\n",
    };
    for rule in list(document, "rules") {
        let _ = write!(
            out,
            "\nrule {}: {} with {} would go, in {}",
            text(rule, "rule"),
            counted(number(rule, "families"), "family", "families"),
            counted(number(rule, "rows"), "row", "rows"),
            counted(number(rule, "batches"), "batch", "batches")
        );
        if let Some(seconds) = rule["estimated_seconds"].as_f64() {
            let _ = write!(
                out,
                ", about {}",
                duration(Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
            );
        }
        out.push('\n');
        if rule["limited"] == true {
            let limit = counted(number(rule, "run_families"), "family", "families");
            let _ = writeln!(out, "one run takes at most {limit}; the next goes on");
        }
        if rule["oldest_end_time"].is_string() {
            let _ = writeln!(out, "the oldest ended {}", text(rule, "oldest_end_time"));
        }
        let samples = words(&rule["sample_roots"]);
        if !samples.is_empty() {
            let _ = writeln!(out, "first keys of `{}`: {samples}", text(rule, "root"));
        }
        tables(rule, &mut out);
        passes(rule, &mut out);
        skipped(rule, &mut out);
    }
    out += &several(document);
    out
}

/// What `diff` answers: an object a line, with its differences below it; nothing where all is as generated.
pub fn drift(document: &Value) -> String {
    let mut out = String::new();
    for object in list(document, "drift") {
        let _ = writeln!(
            out,
            "{} {}: {}",
            text(object, "kind"),
            text(object, "name"),
            text(object, "detail")
        );
        out += &text(object, "diff");
        let statement = text(object, "statement");
        if !statement.is_empty() {
            let _ = writeln!(out, "    {statement}");
        }
    }
    out
}

/// Which rows more than one rule counts, in a document of what would go.
fn several(document: &Value) -> String {
    let mut tables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for rule in list(document, "rules") {
        for (table, rows) in rule["tables"].as_object().into_iter().flatten() {
            if rows.as_i64() > Some(0) {
                tables.entry(table).or_default().push(text(rule, "rule"));
            }
        }
    }
    let tables: Vec<String> = tables
        .into_iter()
        .filter(|(_, rules)| rules.len() > 1)
        .map(|(table, rules)| format!("{table} ({})", rules.join(", ")))
        .collect();
    match tables.is_empty() {
        true => String::new(),
        false => format!(
            "\na row that several rules would take goes once, and is counted by each of them: {}\n",
            tables.join(", ")
        ),
    }
}

/// What `verify` answers: what is not as it should be, and how many checks found nothing.
pub fn verify(document: &Value) -> String {
    let mut table = Table::new(&[
        ("", Left),
        ("check", Left),
        ("object", Left),
        ("count", Right),
        ("detail", Left),
    ]);
    let mut fine: Vec<(String, i64)> = Vec::new();
    for check in list(document, "checks") {
        let (name, severity) = (text(check, "check"), text(check, "severity"));
        if severity == "ok" {
            match fine.iter_mut().find(|(known, _)| *known == name) {
                Some((_, times)) => *times += 1,
                None => fine.push((name, 1)),
            }
            continue;
        }
        table.row([
            severity,
            name,
            text(check, "object"),
            count(number(check, "count")),
            text(check, "detail"),
        ]);
    }
    let mut out = String::new();
    if !table.is_empty() {
        let _ = writeln!(out, "{table}");
    }
    if !fine.is_empty() {
        let fine: Vec<String> = fine
            .iter()
            .map(|(name, times)| format!("{name} {}", count(*times)))
            .collect();
        let _ = writeln!(out, "checked and found right: {}", fine.join(", "));
    }
    out.push_str(if document["clean"] == true {
        "clean\n"
    } else {
        "not clean\n"
    });
    out
}

/// How an installation does: armed, paused, at work, waiting, keeping up, and what it cannot delete.
pub fn status(document: &Value) -> String {
    let control = &document["control"];
    let mut out = String::new();
    let by = |out: &mut String, name: &str, on: &str, at: &str, who: &str| {
        let _ = writeln!(
            out,
            "{name:<10} {on}, {} by {}",
            text(control, at),
            text(control, who)
        );
    };
    by(&mut out, "installed", "yes", "installed_at", "installed_by");
    match control["armed"] == true {
        true => by(&mut out, "armed", "yes", "armed_at", "armed_by"),
        false => out += "armed      no: runs are refused until `windrow arm`\n",
    }
    match control["paused"] == true {
        true => {
            by(&mut out, "paused", "yes", "paused_at", "paused_by");
            let _ = writeln!(out, "           {}", text(control, "paused_reason"));
        }
        false => out += "paused     no\n",
    }
    for pause in list(document, "paused_rules") {
        let _ = writeln!(
            out,
            "           rule {}, {} by {}: {}",
            text(pause, "rule"),
            text(pause, "paused_at"),
            text(pause, "paused_by"),
            text(pause, "reason")
        );
    }
    let scheduling = &document["scheduling"];
    if scheduling["suspended"] == true {
        let _ = writeln!(
            out,
            "suspended  yes, after {} failed scheduled runs in a row: {}\n           until `windrow run` succeeds, or `windrow arm`",
            count(number(scheduling, "failed_runs")),
            text(scheduling, "last_error")
        );
    }
    for refusal in list(document, "refusals") {
        let _ = writeln!(
            out,
            "refused    no scheduled run since {}: {} (on {})",
            text(refusal, "since"),
            text(refusal, "reason"),
            text(refusal, "server")
        );
    }
    if !control["forced_install"].is_null() {
        let forced = &control["forced_install"];
        let findings = list(forced, "findings").len() as i64;
        let _ = writeln!(
            out,
            "forced     {} by {}, in spite of {}",
            text(forced, "at"),
            text(forced, "by"),
            counted(findings, "error", "errors")
        );
    }
    let count_of = |name: &str| count(number(document, name));
    let _ = writeln!(out, "policies   {} enabled", count_of("policies"));
    let absent = match document["absent_holds"].as_i64() {
        None | Some(0) => String::new(),
        Some(count) => format!(", {count} set without a row"),
    };
    let _ = writeln!(out, "holds      {}{absent}", count_of("holds"));
    let windows: Vec<&str> = list(document, "windows")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let open = match document["window_open"] == true {
        true => "open now",
        false => "closed now",
    };
    let _ = writeln!(
        out,
        "windows    {} (of scheduled runs; {open})",
        windows.join(", ")
    );
    let _ = writeln!(
        out,
        "artifacts  {} waiting, {} given up",
        count_of("artifacts_waiting"),
        count_of("artifacts_given_up")
    );
    let mut runs = Table::new(&[
        ("running", Left),
        ("rule", Left),
        ("families", Right),
        ("rows", Right),
        ("batches", Right),
        ("since", Left),
    ]);
    for run in list(document, "running") {
        let id = text(run, "run_id");
        runs.row([
            match run["worker"].as_i64() {
                Some(worker) => format!("{id} (worker {worker})"),
                None if run["server"].is_string() => format!("{id} (on another server)"),
                None => id,
            },
            text(run, "rule"),
            count(number(run, "families")),
            count(number(run, "deleted_rows")),
            count(number(run, "batches")),
            text(run, "started_at"),
        ]);
    }
    if !runs.is_empty() {
        let _ = write!(out, "\n{runs}");
    }
    let mut told = Vec::new();
    for run in list(document, "running") {
        // A run has a line for each rule, and waits but once.
        if run["waiting_for"].is_string() && !told.contains(&&run["run_id"]) {
            told.push(&run["run_id"]);
            let of_worker = match run["worker"].as_i64() {
                Some(worker) => format!(" (worker {worker})"),
                None => String::new(),
            };
            let _ = writeln!(
                out,
                "waiting    since {}, for {}{of_worker}",
                text(run, "waiting_since"),
                text(run, "waiting_for")
            );
        }
    }
    let last = &document["last_run"];
    if last.is_object() {
        let _ = writeln!(
            out,
            "\nlast run   {}: {}, {} ({})",
            text(last, "run_id"),
            text(last, "status"),
            text(last, "reason"),
            text(last, "finished_at")
        );
    }
    out += &sight::rules(document);
    out
}

/// Past runs, the newest first, as bars and as a table.
///
/// `blocks` says whether the terminal knows more than ASCII.
pub fn history(document: &Value, blocks: bool) -> String {
    let mut runs = document.clone();
    for run in runs.as_array_mut().into_iter().flatten() {
        run["rows"] = sight::rows_of(run).into();
    }
    let table = rows(
        &runs,
        &[
            ("run", "run_id"),
            ("started", "started_at"),
            ("by", "started_by"),
            ("trigger", "trigger"),
            ("dry", "dry_run"),
            ("families", "families"),
            ("rows", "rows"),
            ("batches", "batches"),
            ("seconds", "seconds"),
            ("status", "status"),
            ("reason", "reason"),
        ],
    );
    let all = document.as_array().map(Vec::as_slice).unwrap_or_default();
    table + &sight::plot(all, blocks)
}

/// Every limit: its value, the default where that is another one, and what it may be.
pub fn settings(document: &Value) -> String {
    let mut table = Table::new(&[
        ("rule", Left),
        ("setting", Left),
        ("value", Right),
        ("spec", Right),
        ("takes", Left),
        ("changed", Left),
        ("by", Left),
    ]);
    for setting in document.as_array().into_iter().flatten() {
        table.row([
            text(setting, "rule"),
            text(setting, "name"),
            format!(
                "{} {}",
                count(number(setting, "value")),
                text(setting, "unit")
            ),
            count(number(setting, "spec_value")),
            text(setting, "takes"),
            text(setting, "changed_at"),
            text(setting, "changed_by"),
        ]);
    }
    table.to_string()
}

/// A list of flat objects as a table; `columns` are (heading, key).
pub fn rows(document: &Value, columns: &[(&str, &str)]) -> String {
    let all = document.as_array().map(Vec::as_slice).unwrap_or_default();
    let headings: Vec<_> = columns
        .iter()
        .map(|(heading, key)| {
            (
                *heading,
                if all.iter().any(|row| row[*key].is_number()) {
                    Right
                } else {
                    Left
                },
            )
        })
        .collect();
    let mut table = Table::new(&headings);
    for row in all {
        table.row(columns.iter().map(|(_, key)| match &row[*key] {
            // Keys and numbers of runs are names, not amounts.
            Value::Number(number) if !key.ends_with("_id") && !key.ends_with("pid") => {
                number.as_i64().map_or_else(|| number.to_string(), count)
            }
            value => plain(value),
        }));
    }
    table.to_string()
}

fn tables(rule: &Value, out: &mut String) {
    let mut table = Table::new(&[("table", Left), ("rows", Right)]);
    for (name, rows) in rule["tables"].as_object().into_iter().flatten() {
        table.row([name.clone(), count(rows.as_i64().unwrap_or_default())]);
    }
    if !table.is_empty() {
        let _ = write!(out, "\n{table}");
    }
}

/// Why rows go, where they go one by one.
const PASSES: [(&str, &str); 4] = [
    ("expired", "its expiry time has passed"),
    ("fallback", "it has no expiry time and is old enough"),
    ("orphan", "what it names is gone"),
    ("surplus", "enough rows of its group are newer"),
];

fn passes(rule: &Value, out: &mut String) {
    let mut table = Table::new(&[
        ("goes", Left),
        ("rows", Right),
        ("because", Left),
        ("first keys", Left),
    ]);
    for pass in list(rule, "passes") {
        let name = text(pass, "pass");
        let because = PASSES.iter().find(|(known, _)| *known == name);
        table.row([
            name.as_str(),
            &count(number(pass, "rows")),
            because.map_or("", |(_, because)| because),
            &words(&pass["sample_keys"]),
        ]);
    }
    if !table.is_empty() {
        let _ = write!(out, "\n{table}");
    }
}

fn skipped(rule: &Value, out: &mut String) {
    let mut table = Table::new(&[
        ("stays", Left),
        ("families", Right),
        ("because", Left),
        ("first keys", Left),
    ]);
    for (reason, families) in rule["skipped"].as_object().into_iter().flatten() {
        let samples = words(&rule["skipped_samples"][reason]);
        table.row([
            reason.as_str(),
            &count(families.as_i64().unwrap_or_default()),
            meaning(reason),
            &samples,
        ]);
    }
    if !table.is_empty() {
        let _ = write!(out, "\n{table}");
    }
}

fn meaning(reason: &str) -> &'static str {
    REASONS
        .iter()
        .find(|(name, _)| *name == reason)
        .map_or("", |(_, meaning)| meaning)
}

/// The first few values of a list.
fn words(value: &Value) -> String {
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = all.iter().take(5).map(plain).collect::<Vec<_>>().join(", ");
    if all.len() > 5 {
        text += ", …";
    }
    text
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> i64 {
    value[key].as_i64().unwrap_or_default()
}

fn text(value: &Value, key: &str) -> String {
    plain(&value[key])
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => instant(text),
        Value::Bool(truth) => if *truth { "yes" } else { "no" }.to_owned(),
        other => other.to_string(),
    }
}

/// An instant to the second; any other text as it is.
fn instant(text: &str) -> String {
    let bytes = text.as_bytes();
    let dated = bytes.len() > 19
        && [bytes[4], bytes[7], bytes[10], bytes[13], bytes[16]] == *b"--T::"
        && bytes[..4].iter().all(u8::is_ascii_digit);
    if !dated {
        return text.to_owned();
    }
    let rest = text[19..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let zone = if rest == "+00:00" { "Z" } else { rest };
    format!("{}{zone}", &text[..19])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_is_told_by_table_and_reason() {
        let document = json!({"run": 12, "status": "failed", "reason": "1 family failed", "dry_run": false, "duration_ms": 2000,
            "rules": [{"rule": "workflow_instances", "families": 1200, "rows": 36000, "batches": 6, "retries": 1,
                "tables": {"t_ds_alert": 12000, "t_ds_workflow_instance": 24000},
                "skipped_families": 3, "skipped": {"NON_FINAL_MEMBER": 3},
                "skipped_samples": {"NON_FINAL_MEMBER": ["17", "18", "19"]},
                "failures": [{"key": "20", "sqlstate": "23503", "message": "violates foreign key"}]}]});
        insta::assert_snapshot!(run(&document), @r"
        run 12: failed, 1 family failed (2.0 s)

        rule workflow_instances: 1,200 families, 36,000 rows in 6 batches, 1 retry, 18,000 rows/s

        table                     rows
        t_ds_alert              12,000
        t_ds_workflow_instance  24,000

        stays             families  because                 first keys
        NON_FINAL_MEMBER         3  a member has not ended  17, 18, 19

        failed  sqlstate  error
        20      23503     violates foreign key
        ");
        assert!(run_found(&document));
        assert!(!run_found(&json!({"status": "stopped", "rules": []})));
        assert!(run_found(
            &json!({"run": null, "status": "refused", "reason": "run 11 is in progress"})
        ));
    }

    #[test]
    fn a_run_that_waits_says_for_what() {
        let run = |waiting: Value| json!({"running": [{"run_id": 7, "rule": "x", "waiting_for": waiting, "waiting_since": "2026-11-21T08:00:00+00:00"}]});
        let told = status(&run(json!("the rate of 5 rows per second")));
        assert!(
            told.contains("\nwaiting    since 2026-11-21T08:00:00")
                && told.ends_with(", for the rate of 5 rows per second\n"),
            "{told}"
        );
        assert!(!status(&run(Value::Null)).contains("waiting "));
    }

    #[test]
    fn rows_that_go_one_by_one_are_told_by_pass() {
        let mut out = String::new();
        passes(
            &json!({"passes": [
                {"pass": "expired", "rows": 1200, "sample_keys": ["1", "2"]},
                {"pass": "fallback", "rows": 1, "sample_keys": ["[7, \"a\"]"]}]}),
            &mut out,
        );
        insta::assert_snapshot!(out, @r#"

        goes       rows  because                                  first keys
        expired   1,200  its expiry time has passed               1, 2
        fallback      1  it has no expiry time and is old enough  [7, "a"]
        "#);
    }

    #[test]
    fn instants_are_told_to_the_second() {
        let texts = [
            "2026-11-21T06:03:56.89711+00:00",
            "2026-11-21T06:03:56Z",
            "2026-05-26T05:48:48.18988",
            "nightly",
        ];
        assert_eq!(
            texts.map(instant),
            [
                "2026-11-21T06:03:56Z",
                "2026-11-21T06:03:56Z",
                "2026-05-26T05:48:48",
                "nightly"
            ]
        );
    }

    #[test]
    fn a_verification_tells_what_is_not_right() {
        let document = json!({"clean": false, "checks": [
            {"check": "orphans", "object": "t.a", "severity": "ok", "count": 0, "detail": ""},
            {"check": "orphans", "object": "t.b", "severity": "violation", "count": 7, "detail": "rows without a parent"},
            {"check": "index", "object": "i", "severity": "ok", "count": 1, "detail": "valid"}]});
        insta::assert_snapshot!(verify(&document), @r"
                   check    object  count  detail
        violation  orphans  t.b         7  rows without a parent

        checked and found right: orphans 1, index 1
        not clean
        ");
    }

    #[test]
    fn a_preview_says_what_would_go_and_what_stays() {
        let document = json!({"spec": "demo", "as_of": "2026-01-01T00:00:00Z", "armed": false, "paused": false,
            "rules": [{"rule": "r", "root": "t", "families": 1, "rows": 2, "tables": {"t": 2}, "oldest_end_time": "2025-01-01T00:00:00Z",
                "sample_roots": ["1"], "skipped": {"HELD": 2}, "skipped_samples": {"HELD": ["5"]}, "run_families": 1,
                "limited": true, "batches": 1, "estimated_seconds": 1.5}]});
        insta::assert_snapshot!(preview(&document), @r"
        demo, as of 2026-01-01T00:00:00Z: not armed, a run would be refused

        rule r: 1 family with 2 rows would go, in 1 batch, about 1.5 s
        one run takes at most 1 family; the next goes on
        the oldest ended 2025-01-01T00:00:00Z
        first keys of `t`: 1

        table  rows
        t         2

        stays  families  because          first keys
        HELD          2  a hold keeps it  5
        ");
    }
}
