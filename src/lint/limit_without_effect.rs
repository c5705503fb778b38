use std::ops::Range;

use super::rule::{Rule, rules};
use crate::diagnostic::Diagnostic;
use crate::facts::{self, Setting};
use crate::graph::{self, Graph};
use crate::spec::{self, Spec};

pub(super) const RULE: Rule = Rule {
    code: "limit-without-effect",
    explanation: "\
Some limits belong to a run, not to a rule, though each rule can name them. A run has one `time_budget`, that of the first rule. Of \
`suspend_after` and `back_off_max` the smallest value of all rules applies, and a rule that does not name them has the default. \
Write `time_budget` in the first rule, and the others with the same value in every rule.",
    check,
};

/// What a rule says of one limit.
struct Said<'a> {
    rule: &'a str,
    value: i64,
    /// Where it is written.
    place: Option<Range<usize>>,
    /// Whether a database may lack the rule, so that the next one is the first.
    may_lack: bool,
}

fn check(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    let of = |name| facts::limit(name).map(|limit| said(limit, spec, graph));
    let budgets = of("time_budget").unwrap_or_default();
    let mut found = Vec::new();
    for (place, said) in budgets.iter().enumerate() {
        let before = &budgets[..place];
        let first = before.iter().find(|it| !it.may_lack);
        let differs = before.iter().any(|it| it.value != said.value);
        if let (Some(first), Some(place), true) = (first, &said.place, differs) {
            found.push(warning(
                place,
                format!(
                    "a run takes its `time_budget` from its first rule, `{}`",
                    first.rule
                ),
                format!("write it in `[rules.{}]`", first.rule),
            ));
        }
    }
    for name in ["suspend_after", "back_off_max"] {
        let limits = of(name).unwrap_or_default();
        for said in &limits {
            let mut others = limits.iter().filter(|it| !it.may_lack);
            let smaller = others.find(|it| it.value < said.value);
            if let (Some(smaller), Some(place)) = (smaller, &said.place) {
                let otherwise = match smaller.place {
                    Some(_) => "has a smaller one",
                    None => "has the default, which is smaller",
                };
                found.push(warning(
                    place,
                    format!(
                        "of all rules the smallest `{name}` applies, and `{}` {otherwise}",
                        smaller.rule
                    ),
                    "write the same value in every rule".to_owned(),
                ));
            }
        }
    }
    found
}

fn said<'a>(limit: &'static Setting, spec: &'a Spec, graph: &'a Graph) -> Vec<Said<'a>> {
    let of_rule = |(name, written, resolved): (&'a spec::Text, &'a spec::Rule, &'a graph::Rule)| {
        let limits = &written.limits;
        let span = limits.spans.get(limit.name).map(spec::Text::span);
        let count = limits.counts.get(limit.name).map(|it| it.span());
        let root = written.root.as_ref().and_then(|root| spec.tables.get(root));
        let optional = [
            written.optional.as_ref(),
            root.and_then(|it| it.optional.as_ref()),
        ];
        Said {
            rule: name.get_ref(),
            value: resolved.limits.of(*limit),
            place: span.or(count),
            may_lack: optional.into_iter().flatten().any(|it| *it.get_ref()),
        }
    };
    rules(spec, graph).map(of_rule).collect()
}

fn warning(place: &Range<usize>, message: String, help: String) -> Diagnostic {
    Diagnostic::warning(RULE.code, place.clone(), message, help)
}

#[cfg(test)]
mod tests {
    use crate::lint::tests::{err, ok};

    /// A change that adds a second rule with these limits.
    fn second(limits: &str) -> (&'static str, String) {
        let end = "limits = { batch_families = 200, lock_timeout = \"100ms\" }\n";
        let rule = "[rules.later]\nstrategy = \"end-time\"\nroot = \"orders\"\nfinal = { state = \"void\" }\nend_time = \"ended_at\"\n\
                    retention = { default = \"30d\", minimum = \"7d\", safety_lag = \"1d\" }\n";
        (end, format!("{end}{rule}limits = {{ {limits} }}\n"))
    }

    #[test]
    fn a_run_has_the_limits_of_its_first_rule_or_the_smallest_ones() {
        let (end, text) = second(r#"time_budget = "2h", suspend_after = 10, back_off_max = "10m""#);
        insta::assert_snapshot!(err(&[(end, &text)]), @r#"
warning[limit-without-effect]: a run takes its `time_budget` from its first rule, `orders`
  --> windrow.toml:18:26
   |
18 | limits = { time_budget = "2h", suspend_after = 10, back_off_max = "10m" }
   |                          ^^^^
   |
   = help: write it in `[rules.orders]`

warning[limit-without-effect]: of all rules the smallest `suspend_after` applies, and `orders` has the default, which is smaller
  --> windrow.toml:18:48
   |
18 | limits = { time_budget = "2h", suspend_after = 10, back_off_max = "10m" }
   |                                                ^^
   |
   = help: write the same value in every rule
"#);
        let same = [(
            "lock_timeout = \"100ms\" }\n[",
            "lock_timeout = \"100ms\", time_budget = \"2h\" }\n[",
        )];
        let (end, text) = second(r#"time_budget = "2h", suspend_after = 3"#);
        ok(&[(end, &text), same[0]]);
        // Where a database lacks the first rule, the second is the first.
        let (end, text) = second(r#"time_budget = "2h""#);
        ok(&[
            (end, &text),
            (
                "strategy = \"end-time\"\nroot = \"orders\"\nfinal = { state = \"done\" }",
                "strategy = \"end-time\"\noptional = true\nroot = \"orders\"\nfinal = { state = \"done\" }",
            ),
        ]);
    }
}
