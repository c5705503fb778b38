//! Policies of an installation that the spec no longer allows.

use super::finding::{Finding, error};
use crate::db::Row;
use crate::graph::Graph;
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
