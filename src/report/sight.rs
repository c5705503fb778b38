//! What `status` tells of each rule, and the plot of `history`. Pure functions.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::{list, meaning, number, text};
use crate::ui::Align::{Left, Right};
use crate::ui::{Table, count, counted, duration};

/// Steps of a bar, from what is almost nothing to the most.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The same for terminals that know nothing else.
const SIGNS: [char; 8] = ['.', ':', '-', '=', '+', 'o', '#', '@'];
/// As many runs as a line of a terminal holds.
const WIDEST: usize = 60;

/// By rule: what is due, whether the runs keep up with it, and what cannot go and why.
pub(super) fn rules(document: &Value) -> String {
    let mut out = String::new();
    let mut due = Table::new(&[
        ("rule", Left),
        ("due", Right),
        ("rows", Right),
        ("oldest", Right),
        ("due/h", Right),
        ("gone/h", Right),
        ("keeps up", Left),
    ]);
    for rule in list(document, "rules") {
        let families = count(number(rule, "families"));
        let estimated = |name: &str| match rule[name].as_f64() {
            Some(value) => count(value.round() as i64),
            None => String::new(),
        };
        due.row([
            text(rule, "rule"),
            match rule["counted_at"].is_string() {
                true => families,
                false => format!("{families} at least"),
            },
            estimated("rows"),
            age(&rule["oldest_age_seconds"]),
            estimated("due_per_hour"),
            estimated("deleted_per_hour"),
            verdict(rule, stays(document, &text(rule, "rule"))),
        ]);
    }
    if !due.is_empty() {
        let _ = write!(out, "\n{due}");
    }
    let mut stays = Table::new(&[
        ("stays", Left),
        ("rule", Left),
        ("families", Right),
        ("oldest", Right),
        ("its key", Left),
        ("because", Left),
    ]);
    for skip in list(document, "undeletable") {
        let reason = text(skip, "reason");
        stays.row([
            reason.as_str(),
            &text(skip, "rule"),
            &count(number(skip, "families")),
            &age(&skip["oldest_age_seconds"]),
            &text(skip, "sample_key"),
            meaning(&reason),
        ]);
    }
    if !stays.is_empty() {
        let _ = write!(out, "\n{stays}");
    }
    out
}

/// How many families of a rule are due and stay, as the last run saw it.
fn stays(document: &Value, rule: &str) -> i64 {
    list(document, "undeletable")
        .iter()
        .filter(|skip| text(skip, "rule") == rule)
        .map(|skip| number(skip, "families"))
        .sum()
}

/// Whether the runs keep up with a rule, of whose due families so many stay.
fn verdict(rule: &Value, stays: i64) -> String {
    let families = number(rule, "families");
    let rate = |name: &str| rule[name].as_f64();
    if families == 0 {
        return "yes: nothing is due".to_owned();
    }
    if rule["last_look"].is_null() {
        return "no run has looked so far".to_owned();
    }
    if rule["last_look_status"] == "done" {
        return match families <= stays {
            true => "yes: what is due stays, see below".to_owned(),
            false => "yes: the last run left nothing that may go".to_owned(),
        };
    }
    match (rate("due_per_hour"), rate("deleted_per_hour")) {
        (Some(due), Some(gone)) if gone > due => {
            let hours = (families - stays).max(0) as f64 / (gone - due);
            let left = Duration::from_secs_f64((hours * 3600.0).clamp(0.0, 1e10));
            format!("catches up: about {} left", long(left))
        }
        (Some(due), Some(gone)) => format!(
            "no: {} more become due than go, an hour",
            count((due - gone).ceil() as i64)
        ),
        _ => "not yet: the last run ended before all was done".to_owned(),
    }
}

/// An age in the unit that suits it.
fn age(seconds: &Value) -> String {
    match seconds.as_f64() {
        Some(seconds) if seconds > 0.0 => long(Duration::from_secs_f64(seconds.min(1e11))),
        _ => String::new(),
    }
}

/// A duration of any length: days from two of them on.
pub(super) fn long(time: Duration) -> String {
    match time.as_secs() / 86_400 {
        0 | 1 => duration(time),
        days => counted(days as i64, "day", "days"),
    }
}

/// Rows and durations of past runs as bars, the oldest run first; empty where there are less than two runs.
pub(super) fn plot(runs: &[Value], blocks: bool) -> String {
    let newest = runs.iter().take(WIDEST).rev();
    let newest: Vec<&Value> = newest.filter(|run| run["seconds"].is_number()).collect();
    if newest.len() < 2 {
        return String::new();
    }
    let line = |values: &[f64]| -> String {
        let most = values.iter().copied().fold(0.0, f64::max);
        values
            .iter()
            .map(|value| bar(*value, most, blocks))
            .collect()
    };
    let rows: Vec<f64> = newest.iter().map(|run| rows_of(run) as f64).collect();
    let seconds = newest.iter().filter_map(|run| run["seconds"].as_f64());
    let seconds: Vec<f64> = seconds.collect();
    let most_rows = newest.iter().map(|run| rows_of(run)).max().unwrap_or(0);
    let longest = seconds.iter().copied().fold(0.0, f64::max);
    format!(
        "\nrows      {}  up to {}\nduration  {}  up to {}\n",
        line(&rows),
        count(most_rows),
        line(&seconds),
        duration(Duration::from_secs_f64(longest.clamp(0.0, 1e10)))
    )
}

/// Rows that a run deleted or, if it is a stamp, set.
pub(super) fn rows_of(run: &Value) -> i64 {
    number(run, "deleted_rows") + number(run, "changed_rows")
}

/// A sign for a value between nothing, which has none, and the most.
fn bar(value: f64, most: f64, blocks: bool) -> char {
    if value <= 0.0 || most <= 0.0 {
        return ' ';
    }
    let step = ((value / most * 8.0).ceil() as usize).clamp(1, 8) - 1;
    match blocks {
        true => BLOCKS[step],
        false => SIGNS[step],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_rule_is_told_whether_the_runs_keep_up_and_what_cannot_go() {
        let rule = |name: &str, families: i64, status: Value, due: Value, gone: Value| {
            json!({"rule": name, "families": families, "rows": families * 30, "oldest_age_seconds": 8_640_000.5,
                "counted_at": "2026-11-22T00:00:00Z", "due_per_hour": due, "deleted_per_hour": gone,
                "last_look": if status.is_null() { Value::Null } else { json!(7) }, "last_look_status": status})
        };
        let mut more = rule("e", 10_000, json!("stopped"), Value::Null, Value::Null);
        more["counted_at"] = Value::Null;
        let document = json!({"rules": [
                rule("a", 0, json!("done"), json!(5.0), json!(5.0)),
                rule("b", 3, json!("done"), json!(5.0), json!(5.0)),
                rule("c", 4810, json!("stopped"), json!(60.0), json!(80.0)),
                rule("d", 9000, json!("stopped"), json!(80.2), json!(60.0)),
                more,
                rule("f", 5, Value::Null, Value::Null, Value::Null)],
            "undeletable": [
                {"rule": "b", "reason": "HELD", "families": 3, "sample_key": "17", "oldest_age_seconds": 90_000.0},
                {"rule": "c", "reason": "UNDATED_MEMBER", "families": 10, "sample_key": "18", "oldest_age_seconds": null}]});
        insta::assert_snapshot!(rules(&document), @r"

        rule              due     rows    oldest  due/h  gone/h  keeps up
        a                   0        0  100 days      5       5  yes: nothing is due
        b                   3       90  100 days      5       5  yes: what is due stays, see below
        c               4,810  144,300  100 days     60      80  catches up: about 10 days left
        d               9,000  270,000  100 days     80      60  no: 21 more become due than go, an hour
        e     10,000 at least  300,000  100 days                 not yet: the last run ended before all was done
        f                   5      150  100 days                 no run has looked so far

        stays           rule  families       oldest  its key  because
        HELD            b            3  25 h 00 min  17       a hold keeps it
        UNDATED_MEMBER  c           10               18       a member is final but has no end time
        ");
    }

    #[test]
    fn past_runs_are_plotted_from_the_oldest_on() {
        let run = |rows: i64, set: i64, seconds: Value| json!({"deleted_rows": rows, "changed_rows": set, "seconds": seconds});
        let runs = [
            run(5, 0, Value::Null),
            run(0, 400, json!(1.5)),
            run(100, 0, json!(12.0)),
            run(800, 0, json!(96.0)),
            run(0, 0, json!(0.0)),
        ];
        insta::assert_snapshot!(plot(&runs, true), @r"

        rows       █▁▄  up to 800
        duration   █▁▁  up to 1 min 36 s
        ");
        insta::assert_snapshot!(plot(&runs, false), @r"

        rows       @.=  up to 800
        duration   @..  up to 1 min 36 s
        ");
        assert_eq!(plot(&runs[..2], true), "");
    }
}
