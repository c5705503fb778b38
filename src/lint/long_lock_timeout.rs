use super::rule::{Rule, rules};
use crate::diagnostic::Diagnostic;
use crate::facts::LOCK_TIMEOUT;
use crate::graph::Graph;
use crate::spec::Spec;

pub(super) const RULE: Rule = Rule {
    code: "long-lock-timeout",
    explanation: "\
While a batch waits for a lock it holds all the locks that it already has, and the application waits for those. The cleanup \
can always retry later, so it should give way first: keep `lock_timeout` below a second or two. A batch that timed out is \
retried and then halved.",
    check,
};

const LONGEST: i64 = 2_000;

fn check(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    rules(spec, graph)
        .filter(|(_, _, resolved)| resolved.limits.of(LOCK_TIMEOUT) > LONGEST)
        .filter_map(|(_, written, _)| written.limits.spans.get(LOCK_TIMEOUT.name))
        .map(|timeout| {
            Diagnostic::warning(
                RULE.code,
                timeout.span(),
                format!(
                    "a batch waits `{}` for a lock while it holds others",
                    timeout.get_ref()
                ),
                "let the cleanup give way sooner, e.g. after `100ms`; it retries",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::lint::tests::{err, ok};

    #[test]
    fn the_application_waits_behind_a_waiting_batch() {
        insta::assert_snapshot!(err(&[("100ms", "30s")]), @r###"
warning[long-lock-timeout]: a batch waits `30s` for a lock while it holds others
  --> windrow.toml:11:49
   |
11 | limits = { batch_families = 200, lock_timeout = "30s" }
   |                                                 ^^^^^
   |
   = help: let the cleanup give way sooner, e.g. after `100ms`; it retries
"###);
        ok(&[("100ms", "2s")]);
    }
}
