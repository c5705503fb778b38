use super::rule::{Rule, rules};
use crate::diagnostic::Diagnostic;
use crate::graph::Graph;
use crate::spec::Spec;

pub(super) const RULE: Rule = Rule {
    code: "no-opt-in",
    explanation: "\
Policies are set by scope (`per`), but a scope without a policy is still cleaned, after the default retention. If each owner \
should decide first, set `opt_in = true`: then only scopes with an enabled policy are cleaned. If everything is to be \
cleaned by default, say so with `opt_in = false`.",
    check,
};

fn check(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    rules(spec, graph)
        .filter_map(|(_, written, _)| written.retention.as_ref())
        .map(|retention| retention.get_ref())
        // Where a source decides, it is what each owner says.
        .filter(|it| it.opt_in.is_none() && it.from.is_none() && it.by_value.is_none())
        .filter_map(|retention| retention.per.as_ref())
        .map(|per| {
            Diagnostic::warning(
                RULE.code,
                per.span(),
                "a scope without a policy is cleaned after the default retention",
                "add `opt_in = true` if each scope must opt in, or `opt_in = false` if this is intended",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::lint::tests::{err, ok};

    #[test]
    fn scopes_that_nobody_asked() {
        insta::assert_snapshot!(err(&[(", opt_in = true", "")]), @r###"
warning[no-opt-in]: a scope without a policy is cleaned after the default retention
  --> windrow.toml:10:73
   |
10 | retention = { default = "30d", minimum = "7d", safety_lag = "1d", per = "tenant" }
   |                                                                         ^^^^^^^^
   |
   = help: add `opt_in = true` if each scope must opt in, or `opt_in = false` if this is intended
"###);
        ok(&[("opt_in = true", "opt_in = false")]);
        ok(&[(", per = \"tenant\", opt_in = true", "")]);
    }
}
