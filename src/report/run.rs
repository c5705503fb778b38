//! What `run`, `purge`, `stamp` and `preview` answer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use super::words::{instant, kept, keys, text, though_armed};
use crate::answers::{Figures, NoRun, Preview, Run, RunAnswer, RunRule};
use crate::facts::{UNDATED, meaning};
use crate::spec::duration::show;
use crate::ui::Align::{Left, Right};
use crate::ui::{Table, count, counted, duration, rows_per_second};

/// What `run`, `purge` and `stamp` answer.
pub fn run(answer: &RunAnswer) -> String {
    let run = match answer {
        RunAnswer::Refused(NoRun { reason, .. }) => return format!("refused: {reason}\n"),
        RunAnswer::Run(run) => run,
    };
    let dry = if run.dry_run {
        "dry run, rolled back: "
    } else {
        ""
    };
    let forced = if run.forced { "forced: " } else { "" };
    let mut out = format!(
        "{} {}: {dry}{forced}{}, {} ({})\n",
        if run.is_stamp() { "stamp" } else { "run" },
        run.run,
        run.status,
        text(run.reason.as_ref()),
        duration(took(run))
    );
    if let Some(what) = run.only_waited() {
        let _ = writeln!(out, "it only waited, for {what}");
    }
    for rule in run.rules() {
        out += &rule_of(run, rule);
    }
    if run.dry_run {
        out += &told_once(run.rules().iter().map(|rule| &rule.figures));
    }
    if !run.together.is_empty() {
        let _ = writeln!(
            out,
            "\n{} in one transaction, since their families share rows or refer to each other's: {}",
            if run.dry_run { "would go" } else { "went" },
            run.together.join(", ")
        );
    }
    let mut refused = Table::new(&[("refused", Left), ("reason", Left), ("meaning", Left)]);
    for (key, reason) in &run.refused.0 {
        refused.row([key.as_str(), reason, meaning(reason)]);
    }
    if !refused.is_empty() {
        let _ = write!(out, "\n{refused}");
    }
    out += &forcible(run);
    if !run.refused_with.0.is_empty() {
        out.push('\n');
    }
    for (key, keeper) in &run.refused_with.0 {
        let _ = write!(
            out,
            "{key} is deleted together with {} or not at all: ",
            keeper.key
        );
        let _ = match meaning(&keeper.reason) {
            "" => writeln!(out, "name both"),
            meaning => writeln!(out, "in that family, {meaning} ({})", keeper.reason),
        };
    }
    out
}

/// What a purge keeps that it would delete with `--force`.
fn forcible(run: &Run) -> String {
    let mut out = String::new();
    if let Some(minimum) = &run.minimum {
        let lag = match minimum.safety_lag_seconds {
            0 => String::new(),
            lag => format!(" and its safety lag {}", show(lag * 1000)),
        };
        let _ = writeln!(
            out,
            "\nthe minimum of the rule is {}{lag}: what ended at {} or later is kept, and so is what `keep` keeps",
            show(minimum.seconds * 1000),
            instant(&minimum.before)
        );
    }
    let asks = |(_, reason): &(String, String)| {
        ["RETENTION_NOT_REACHED", "POLICY_DISABLED", UNDATED].contains(&reason.as_str())
    };
    if run.trigger == "PURGE" && !run.forced && run.refused.0.iter().any(asks) {
        out += "\n`windrow purge --force` does not ask for the minimum, end times, policies and `keep`; the run history shows it\n";
    }
    out
}

fn took(run: &Run) -> Duration {
    Duration::from_millis(run.duration_ms.unwrap_or_default().max(0.0) as u64)
}

/// What a run did by one rule.
fn rule_of(run: &Run, rule: &RunRule) -> String {
    let figures = &rule.figures;
    let (row, rows) = if run.is_stamp() {
        ("row set", "rows set")
    } else {
        ("row", "rows")
    };
    let name = match &rule.of {
        Some(of) => format!("{}, {of}", figures.rule),
        None => figures.rule.clone(),
    };
    let mut out = format!(
        "\nrule {name}: {}, {} in {}",
        counted(figures.families, "family", "families"),
        counted(figures.rows, row, rows),
        counted(figures.batches, "batch", "batches")
    );
    if rule.retries > 0 {
        let _ = write!(out, ", {}", counted(rule.retries, "retry", "retries"));
    }
    let took = rule.work_ms.or(run.duration_ms).unwrap_or_default();
    if figures.rows > 0 && took > 0.0 {
        let speed = figures.rows as f64 / took * 1000.0;
        let _ = write!(out, ", {}", rows_per_second(speed));
    }
    out.push('\n');
    told(figures, &mut out);
    let mut failed = Table::new(&[("failed", Left), ("sqlstate", Left), ("error", Left)]);
    for failure in &rule.failures {
        failed.row([
            instant(&failure.key),
            failure.sqlstate.clone(),
            failure.message.clone(),
        ]);
    }
    if !failed.is_empty() {
        let _ = write!(out, "\n{failed}");
    }
    out
}

/// What `preview` answers.
pub fn preview(preview: &Preview) -> String {
    let mut out = format!("{}, as of {}: ", preview.spec, instant(&preview.as_of));
    let refused = though_armed(preview.not_armed.as_ref())
        .map(|reason| format!("{reason}; a run would be refused\n"));
    out += match (preview.paused, preview.armed) {
        (true, _) => "paused, a run would be refused\n",
        (_, false) => refused
            .as_deref()
            .unwrap_or("not armed, a run would be refused\n"),
        _ => "armed\n",
    };
    for rule in &preview.rules {
        let figures = &rule.figures;
        let _ = write!(
            out,
            "\nrule {}: {} with {} would be deleted, in {}",
            figures.rule,
            counted(figures.families, "family", "families"),
            counted(figures.rows, "row", "rows"),
            counted(figures.batches, "batch", "batches")
        );
        if let Some(seconds) = rule.estimated_seconds {
            let _ = write!(
                out,
                ", about {}",
                duration(Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
            );
        }
        out.push('\n');
        if rule.limited {
            let limit = counted(rule.run_families, "family", "families");
            let _ = writeln!(out, "one run takes at most {limit}; the next continues");
        }
        if let Some(families) = rule.without_policy.filter(|families| *families > 0) {
            let waits = if families == 1 { "waits" } else { "wait" };
            let _ = writeln!(
                out,
                "{} in scopes without a policy {waits} for one: `windrow policy set`",
                counted(families, "due family", "due families")
            );
        }
        if let Some(oldest) = &rule.oldest_end_time {
            let _ = writeln!(out, "the oldest ended {}", instant(oldest));
        }
        let samples = keys(rule.sample_roots.as_deref().unwrap_or_default());
        if !samples.is_empty() {
            let _ = writeln!(out, "first keys of `{}`: {samples}", rule.root);
        }
        told(figures, &mut out);
    }
    out += &told_once(preview.rules.iter().map(|rule| &rule.figures));
    out
}

/// The same on a line of its own.
fn told_once<'a>(rules: impl Iterator<Item = &'a Figures>) -> String {
    several(rules).map_or_else(String::new, |told| format!("\n{told}\n"))
}

/// Which rows more than one rule counts, in a document of what would be deleted.
pub fn several<'a>(rules: impl Iterator<Item = &'a Figures>) -> Option<String> {
    let mut tables: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for rule in rules {
        for (table, rows) in rule.tables.iter().flat_map(|tables| &tables.0) {
            if *rows > 0 {
                tables.entry(table).or_default().push(&rule.rule);
            }
        }
    }
    let tables: Vec<String> = tables
        .into_iter()
        .filter(|(_, rules)| rules.len() > 1)
        .map(|(table, rules)| format!("{table} ({})", rules.join(", ")))
        .collect();
    (!tables.is_empty()).then(|| {
        format!(
            "rows that match several rules are deleted once, but counted by each of them: {}",
            tables.join(", ")
        )
    })
}

/// Rows by table, why they are deleted, and what is kept.
fn told(figures: &Figures, out: &mut String) {
    let mut tables = Table::new(&[("table", Left), ("rows", Right)]);
    for (name, rows) in figures.tables.iter().flat_map(|tables| &tables.0) {
        tables.row([name.clone(), count(*rows)]);
    }
    let mut passes = Table::new(&[
        ("deleted", Left),
        ("rows", Right),
        ("because", Left),
        ("first keys", Left),
    ]);
    for pass in &figures.passes {
        passes.row([
            pass.pass.as_str(),
            &count(pass.rows),
            because(&pass.pass),
            &keys(&pass.sample_keys),
        ]);
    }
    let mut skipped = Table::new(&[
        ("kept", Left),
        ("families", Right),
        ("because", Left),
        ("first keys", Left),
    ]);
    for (reason, families) in &figures.skipped.0 {
        let samples = figures.skipped_samples.get(reason);
        skipped.row([
            reason.as_str(),
            &kept(reason, *families),
            meaning(reason),
            &keys(samples.map(Vec::as_slice).unwrap_or_default()),
        ]);
    }
    let mut not_made = Table::new(&[("not made", Left), ("because", Left)]);
    for (name, problem) in &figures.not_made.0 {
        not_made.row([name.as_str(), problem]);
    }
    if !figures.made.is_empty() {
        let made = counted(figures.made.len() as i64, "partition", "partitions");
        let _ = writeln!(out, "{made} in advance: {}", figures.made.join(", "));
    }
    for table in [tables, passes, skipped, not_made] {
        if !table.is_empty() {
            let _ = write!(out, "\n{table}");
        }
    }
}

/// Why rows are deleted, for rules of single rows.
const PASSES: [(&str, &str); 4] = [
    ("expired", "its expiry time has passed"),
    ("fallback", "it has no expiry time, and is old enough"),
    ("orphan", "the row that it refers to is gone"),
    ("surplus", "its group has enough newer rows"),
];

/// Why rows of a pass are deleted; nothing where it is not known.
pub fn because(pass: &str) -> &'static str {
    let known = PASSES.iter().find(|(known, _)| *known == pass);
    known.map_or("", |(_, because)| because)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::answers::read;

    #[test]
    fn a_run_is_told_by_table_and_reason() {
        let document = json!({"run": 12, "status": "failed", "reason": "1 family failed", "dry_run": false, "trigger": "MANUAL", "duration_ms": 2000,
            "rules": [{"rule": "workflow_instances", "families": 1200, "rows": 36000, "batches": 6, "retries": 1,
                "tables": {"t_ds_alert": 12000, "t_ds_workflow_instance": 24000},
                "skipped_families": 3, "skipped": {"NON_FINAL_MEMBER": 3},
                "skipped_samples": {"NON_FINAL_MEMBER": ["17", "18", "19"]},
                "failures": [{"key": "20", "sqlstate": "23503", "message": "violates foreign key"}]}]});
        let answer: RunAnswer = read("run", &document).expect("a run");
        insta::assert_snapshot!(run(&answer), @r"
        run 12: failed, 1 family failed (2.0 s)

        rule workflow_instances: 1,200 families, 36,000 rows in 6 batches, 1 retry, 18,000 rows/s

        table                     rows
        t_ds_alert              12,000
        t_ds_workflow_instance  24,000

        kept              families  because                 first keys
        NON_FINAL_MEMBER         3  a member has not ended  17, 18, 19

        failed  sqlstate  error
        20      23503     violates foreign key
        ");
        assert!(answer.is_found());
    }

    #[test]
    fn what_is_refused_for_another_family_says_for_which() {
        let document = json!({"run": 13, "status": "done", "reason": "3 named families are kept", "dry_run": false, "trigger": "PURGE",
            "duration_ms": 20, "rules": [], "refused": {"1": "SHARED_MEMBER", "4": "SHARED_MEMBER", "5": "HELD"},
            "refused_with": {"1": {"key": "3", "reason": "NOT_NAMED"}, "4": {"key": "5", "reason": "HELD"}}, "together": ["6", "7"]});
        let answer: RunAnswer = read("purge", &document).expect("a purge");
        insta::assert_snapshot!(run(&answer), @r"
        run 13: done, 3 named families are kept (20 ms)

        went in one transaction, since their families share rows or refer to each other's: 6, 7

        refused  reason         meaning
        1        SHARED_MEMBER  shares a member with a family that is kept
        4        SHARED_MEMBER  shares a member with a family that is kept
        5        HELD           a hold keeps it

        1 is deleted together with 3 or not at all: name both
        4 is deleted together with 5 or not at all: in that family, a hold keeps it (HELD)
        ");
    }

    #[test]
    fn what_only_force_deletes_says_so() {
        let document = json!({"run": 13, "status": "done", "reason": "2 named families are kept", "dry_run": false, "trigger": "PURGE",
            "duration_ms": 20, "rules": [], "refused": {"1": "RETENTION_NOT_REACHED", "4": "POLICY_DISABLED"},
            "minimum": {"seconds": 604_800, "safety_lag_seconds": 3600, "before": "2026-11-22T08:00:00Z"}});
        let answer: RunAnswer = read("purge", &document).expect("a purge");
        insta::assert_snapshot!(run(&answer), @r"
        run 13: done, 2 named families are kept (20 ms)

        refused  reason                 meaning
        1        RETENTION_NOT_REACHED  a member ended too recently
        4        POLICY_DISABLED        no enabled policy and no definition gives a retention

        the minimum of the rule is 7d and its safety lag 1h: what ended at 2026-11-22T08:00:00Z or later is kept, and so is what `keep` keeps

        `windrow purge --force` does not ask for the minimum, end times, policies and `keep`; the run history shows it
        ");
        let document = json!({"run": 14, "status": "done", "reason": "all named families are gone", "dry_run": false, "trigger": "PURGE",
            "forced": true, "duration_ms": 20, "rules": []});
        let answer: RunAnswer = read("purge", &document).expect("a purge");
        insta::assert_snapshot!(run(&answer), @"run 14: forced: done, all named families are gone (20 ms)");
    }

    #[test]
    fn rows_that_go_one_by_one_are_told_by_pass() {
        let mut out = String::new();
        let document = json!({"rule": "r", "families": 1201, "rows": 1201, "batches": 1, "tables": {}, "skipped_families": 0, "skipped": {},
            "skipped_samples": {}, "passes": [
                {"pass": "expired", "rows": 1200, "sample_keys": ["1", "2"]},
                {"pass": "fallback", "rows": 1, "sample_keys": ["[7, \"a\"]"]}]});
        told(&read("run", &document).expect("figures"), &mut out);
        insta::assert_snapshot!(out, @r#"

        deleted    rows  because                                   first keys
        expired   1,200  its expiry time has passed                1, 2
        fallback      1  it has no expiry time, and is old enough  [7, "a"]
        "#);
    }

    #[test]
    fn a_preview_says_what_would_go_and_what_stays() {
        let document = json!({"spec": "demo", "as_of": "2026-01-01T00:00:00Z", "armed": false, "paused": false,
            "rules": [{"rule": "r", "root": "t", "families": 1, "rows": 2, "tables": {"t": 2}, "oldest_end_time": "2025-01-01T00:00:00Z",
                "sample_roots": ["1"], "skipped_families": 2, "skipped": {"HELD": 2}, "skipped_samples": {"HELD": ["5"]}, "run_families": 1,
                "without_policy": 1234,
                "limited": true, "batches": 1, "estimated_seconds": 1.5}]});
        insta::assert_snapshot!(preview(&read("preview", &document).expect("a preview")), @r"
        demo, as of 2026-01-01T00:00:00Z: not armed, a run would be refused

        rule r: 1 family with 2 rows would be deleted, in 1 batch, about 1.5 s
        one run takes at most 1 family; the next continues
        1,234 due families in scopes without a policy wait for one: `windrow policy set`
        the oldest ended 2025-01-01T00:00:00Z
        first keys of `t`: 1

        table  rows
        t         2

        kept  families  because          first keys
        HELD         2  a hold keeps it  5
        ");
    }
}
