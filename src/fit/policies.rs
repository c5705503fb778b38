//! What an installation has, and the spec no longer allows or knows: policies, holds, pauses and settings.

use super::finding::{Finding, error, warning};
use crate::db::Row;
use crate::dialect::Dialect;
use crate::facts::{ARCHIVE_DAYS, LEDGER_DAYS, TIME_BUDGET};
use crate::graph::{Graph, Rule};
use crate::spec::duration::show;

/// The policies that are shorter than the minimum of their rule; a row has the rule, the scope and the retention in seconds.
pub fn under_minimum(graph: &Graph, policies: &[Row]) -> Vec<Finding> {
    let mut found = Vec::new();
    for row in policies {
        let cell = |at: usize| row.get(at).and_then(Option::as_deref);
        let (Some(name), Some(scope), Some(kept)) = (cell(0), cell(1), cell(2)) else {
            continue;
        };
        let Some(rule) = graph.rules.iter().find(|rule| rule.name == name) else {
            continue;
        };
        let (kept, minimum) = (kept.parse().unwrap_or(i64::MAX), rule.retention.minimum);
        if kept < minimum {
            let message = format!(
                "the policy keeps rows for {}, and the minimum is {}",
                show(kept * 1_000),
                show(minimum * 1_000)
            );
            found.push(
                error("policy-under-minimum", &format!("{name} {scope}"), message).help(format!(
                    "`windrow policy set` with `--rule {name} --scope {scope}` and a longer retention, or lower `minimum`"
                )),
            );
        }
    }
    found
}

/// How many keys, scopes or settings a finding names.
const NAMED: usize = 20;

/// The settings that one rule has for all: an installation gives them to the rule that has them then, where they are stricter.
const MOVE: [&str; 3] = [TIME_BUDGET.name, LEDGER_DAYS.name, ARCHIVE_DAYS.name];

/// Holds, policies, pauses and settings that match no rule of the spec: a row has the kind, the rule, the key, scope or setting, the
/// columns that it is a value of, and whether it matches no rule of the installed spec either.
pub fn orphaned(graph: &Graph, dialect: Dialect, decided: &[Row]) -> Vec<Finding> {
    let cell = |row: &'_ Row, at: usize| row.get(at).cloned().flatten();
    let mut found = Vec::new();
    // Those of one rule, and of one kind, follow each other.
    for rows in decided.chunk_by(|a, b| a.get(..2) == b.get(..2) && a.get(4) == b.get(4)) {
        let (Some(kind), Some(name)) = (cell(&rows[0], 0), cell(&rows[0], 1)) else {
            continue;
        };
        let rule = graph.rules.iter().find(|rule| rule.name == name);
        let now = rule.and_then(|rule| refers_to(graph, dialect, rule, &kind));
        let left: Vec<&Row> = rows
            .iter()
            .filter(|row| {
                rule.is_none() || cell(row, 3).is_some_and(|then| now.as_ref() != Some(&then))
            })
            .collect();
        let Some(first) = left.first() else {
            continue;
        };
        let names: Vec<String> = left.iter().filter_map(|row| cell(row, 2)).collect();
        let mut listed = names[..names.len().min(NAMED)].join("`, `");
        if names.len() > NAMED {
            listed += &format!("` and {} more", names.len() - NAMED);
        } else if !names.is_empty() {
            listed += "`";
        }
        if !listed.is_empty() {
            listed = format!(" `{listed}");
        }
        let then = cell(first, 3).unwrap_or_default();
        let why = match (rule, now) {
            (None, _) => format!("the spec has no rule `{name}`"),
            (Some(_), Some(now)) => format!("set for `{then}`, and the rule has `{now}` now"),
            (Some(_), None) => format!("set for `{then}`, and the rule has no scopes now"),
        };
        let command = match kind.as_str() {
            "hold" => format!("hold release SPEC --rule {name} --key KEY"),
            "policy" => format!("policy drop SPEC --rule {name} --scope SCOPE"),
            "pause" => format!("resume SPEC --rule {name}"),
            _ => format!("settings reset SPEC NAME --rule {name}"),
        };
        let object = format!("{kind}{listed} of rule {name}");
        if cell(first, 4).is_some() {
            // The installation takes nothing from it.
            let message = format!("it has no effect: {why}");
            found.push(warning("orphaned", &object, message).help(format!(
                "set it for the rule that it is meant for, if it is still needed, and take this one away with `windrow {command}`: \
                 until then windrow cannot be armed anew"
            )));
            continue;
        }
        // A setting keeps no row.
        let forced = if kind == "setting" {
            ""
        } else {
            ", which disarms"
        };
        let moves = if kind == "setting" && names.iter().any(|name| MOVE.contains(&name.as_str())) {
            format!(
                ". `{}` move by themselves to the rule that has them then, where they keep longer there, or let a run take less time",
                MOVE.join("`, `")
            )
        } else {
            String::new()
        };
        let message = format!("it would have no effect: {why}");
        found.push(error("orphaned", &object, message).help(format!(
            "keep the name and the columns of the rule. Or `windrow install --force`{forced}: then set it for the rule that it is \
             meant for, take this one away with `windrow {command}`, and arm{moves}"
        )));
    }
    found
}

/// What the keys of the holds of a rule, or the scopes of its policies, are values of, as the view `rule_refers` has it.
fn refers_to(graph: &Graph, dialect: Dialect, rule: &Rule, kind: &str) -> Option<String> {
    let root = graph.table(rule.root);
    let text = match kind {
        "hold" => {
            let key: Vec<&str> = root.key.iter().map(|column| column.name.as_str()).collect();
            format!("{}({})", root.name, key.join(", "))
        }
        "policy" => format!("{}.{}", root.name, rule.retention.per.as_ref()?.name),
        _ => return None,
    };
    Some(match dialect {
        Dialect::Postgres => text,
        Dialect::Mysql | Dialect::Mariadb => text.to_lowercase(),
    })
}

/// The installation of a spec with another name: both have one control schema.
pub fn of_another_spec(graph: &Graph, control: &str, installed: &[Row]) -> Option<Finding> {
    let spec = installed.first()?.first()?.as_deref()?;
    (spec != graph.name).then(|| {
        let message = format!("the spec `{spec}` is installed there, and this one would replace it");
        error("another-spec", control, message).help(
            "give one of them another name: `-`, `.` and `_` are the same in the name of a control schema. If the spec was \
             renamed, `windrow install --force` replaces it, and disarms",
        )
    })
}
