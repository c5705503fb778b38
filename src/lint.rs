//! What a spec says, judged: errors of the graph, then warnings about what is legal but hardly wished.
//!
//! One rule, one file; each carries the explanation that `windrow check --explain` prints.

mod batch_too_large;
mod kept_at_once;
mod limit_without_effect;
mod long_lock_timeout;
mod no_opt_in;
mod raw_condition;
mod released_final;
mod rule;
mod several_parents;
mod short_safety_lag;

pub mod explain;

use crate::diagnostic::{Diagnostic, has_errors};
use crate::graph::{self, Graph};
use crate::spec;

pub use rule::Rule;

/// Every rule.
pub const RULES: [Rule; 9] = [
    batch_too_large::RULE,
    kept_at_once::RULE,
    limit_without_effect::RULE,
    long_lock_timeout::RULE,
    no_opt_in::RULE,
    raw_condition::RULE,
    released_final::RULE,
    several_parents::RULE,
    short_safety_lag::RULE,
];

/// Codes of findings about a spec of which something else could not be read: they may only follow from that.
const CONSEQUENCES: [&str; 17] = [
    "child-not-listed",
    "empty-final",
    "empty-kept",
    "link-over-nothing",
    "minimum-without-end-time",
    "missing-field",
    "no-rules",
    "opt-in-without-scope",
    "parent-without-key",
    "parents-never-all",
    "relation-one-end",
    "retention-without-time",
    "root-not-listed",
    "root-without-key",
    "rule-without-retention",
    "unknown-table",
    "unreachable-table",
];

/// Reads a spec, resolves and judges it: the graph, unless there are errors, and all findings in the order of the file.
pub fn load(text: &str) -> (Option<Graph>, Vec<Diagnostic>) {
    let (spec, mut diagnostics) = spec::parse(text);
    let mut graph = None;
    if let Some(spec) = spec {
        let (built, mut findings) = graph::build(&spec, text);
        if !diagnostics.is_empty() {
            findings.retain(|finding| !CONSEQUENCES.contains(&finding.code));
        }
        diagnostics.append(&mut findings);
        if !has_errors(&diagnostics) {
            diagnostics.extend(RULES.iter().flat_map(|rule| (rule.check)(&spec, &built)));
            graph = Some(built);
        }
    }
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
    (graph, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Colour, render};

    /// A spec without a finding; tests change one line of it.
    const SPEC: &str = r#"name = "orders"
time_zone = "UTC"
[tables]
orders = { key = "id bigint" }
[rules.orders]
strategy = "end-time"
root = "orders"
final = { state = "done" }
end_time = "ended_at"
retention = { default = "30d", minimum = "7d", safety_lag = "1d", per = "tenant", opt_in = true }
limits = { batch_families = 200, lock_timeout = "100ms" }
"#;

    /// The findings of the spec with changes that must lead to at least one.
    pub(super) fn err(changes: &[(&str, &str)]) -> String {
        let text = changed(changes);
        let (_, diagnostics) = load(&text);
        assert!(!diagnostics.is_empty(), "no finding in\n{text}");
        render(&diagnostics, "windrow.toml", &text, Colour::Never)
    }

    /// Changes that must lead to no finding.
    pub(super) fn ok(changes: &[(&str, &str)]) {
        let text = changed(changes);
        let (_, diagnostics) = load(&text);
        assert!(
            diagnostics.is_empty(),
            "{}",
            render(&diagnostics, "windrow.toml", &text, Colour::Never)
        );
    }

    fn changed(changes: &[(&str, &str)]) -> String {
        changes.iter().fold(SPEC.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "`{from}` is not part of the spec");
            text.replace(from, to)
        })
    }

    #[test]
    fn the_unchanged_spec_is_clean() {
        ok(&[]);
    }
}
