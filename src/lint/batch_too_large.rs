use super::rule::{Rule, rules};
use crate::diagnostic::Diagnostic;
use crate::facts::BATCH_FAMILIES;
use crate::graph::Graph;
use crate::spec::Spec;

pub(super) const RULE: Rule = Rule {
    code: "batch-too-large",
    explanation: "\
A batch is one transaction. With more than 5,000 families it holds many row locks for a long time, is costly to roll back \
when it meets a lock, and delays replicas, but is no faster: the cost per row stops falling at a few hundred families. Lower \
`batch_families`; `run_families` and `time_budget` decide how much a run deletes.",
    check,
};

const MOST: i64 = BATCH_FAMILIES.greatest;

fn check(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    rules(spec, graph)
        .filter_map(|(_, written, _)| written.limits.counts.get(BATCH_FAMILIES.name))
        .filter(|families| *families.get_ref() > MOST)
        .map(|families| {
            Diagnostic::warning(
                RULE.code,
                families.span(),
                format!(
                    "one transaction would delete {} families",
                    families.get_ref()
                ),
                "a few hundred families are as fast and hold their locks for a shorter time",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::lint::tests::{err, ok};

    #[test]
    fn thousands_of_families_in_one_transaction() {
        insta::assert_snapshot!(err(&[("batch_families = 200", "batch_families = 5_001")]), @r###"
warning[batch-too-large]: one transaction would delete 5001 families
  --> windrow.toml:11:29
   |
11 | limits = { batch_families = 5_001, lock_timeout = "100ms" }
   |                             ^^^^^
   |
   = help: a few hundred families are as fast and hold their locks for a shorter time
"###);
        ok(&[("batch_families = 200", "batch_families = 5_000")]);
    }
}
