use super::rule::{Rule, rules};
use crate::diagnostic::Diagnostic;
use crate::graph::Graph;
use crate::spec::Spec;

pub(super) const RULE: Rule = Rule {
    code: "raw-condition",
    explanation: "\
`where_sql` is SQL that windrow puts into its statements without reading it: `check --database` only lets the server plan \
it, no index is created for it, `verify` says nothing about the tables that it reads, and an update of the application may \
change what it means. Reviewers of the spec must read it as code. What `final` or `candidates` can express (`column = \
value(s)`, NULL or not) belongs there.",
    check,
};

fn check(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    rules(spec, graph)
        .filter_map(|(_, written, rule)| Some((written.where_sql.as_ref()?, rule.knows_final())))
        .map(|(sql, knows_final)| {
            let (which, field) = match knows_final {
                true => ("are final", "final"),
                false => ("a rule is about", "candidates"),
            };
            Diagnostic::warning(
                RULE.code,
                sql.span(),
                format!("SQL that windrow does not read decides which rows {which}"),
                format!("use `{field}` if that can express it; otherwise review it as code"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::lint::tests::{err, ok};

    #[test]
    fn a_condition_that_nobody_reads() {
        let rule = "end_time =";
        let raw = "where_sql = \"{root}.paid > {root}.owed\"\nend_time =";
        insta::assert_snapshot!(err(&[(rule, raw)]), @r###"
warning[raw-condition]: SQL that windrow does not read decides which rows are final
 --> windrow.toml:9:13
  |
9 | where_sql = "{root}.paid > {root}.owed"
  |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: use `final` if that can express it; otherwise review it as code
"###);
        ok(&[(rule, rule)]);
    }
}
