use super::rule::{Rule, rules};
use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, Single, Strategy};
use crate::spec::Spec;

pub(super) const RULE: Rule = Rule {
    code: "kept-at-once",
    explanation: "\
`kept` of a table says which rows stay when what they belong to goes. A row that is kept names something that is gone, and a rule for \
orphans takes it: one that takes them `at_once` and says nothing of which ones leaves none of them. Say by `candidates` which orphans \
the rule is about, or by `time` and `retention` how long the others are to stay.",
    check,
};

fn check(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    let at_once = |rule: &crate::graph::Rule| {
        matches!(
            rule.strategy,
            Strategy::Single(Single::Orphan { time: None, .. })
        ) && rule.candidates.is_empty()
            && rule.where_sql.is_none()
    };
    rules(spec, graph)
        .filter(|(_, _, rule)| at_once(rule) && !graph.table(rule.root).kept.is_empty())
        .map(|(_, written, rule)| {
            let span = written.at_once.as_ref().map_or(0..0, toml::Spanned::span);
            Diagnostic::warning(
                RULE.code,
                span,
                format!(
                    "rows of `{}` that are kept are orphans, and this rule deletes them at once",
                    graph.table(rule.root).name.escape_debug()
                ),
                "name those that are meant under `candidates`, or write `time` and `retention` for them",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::lint::tests::{err, ok};

    const TABLE: &str = "orders = { key = \"id bigint\" }";

    fn with(rule: &str) -> String {
        let parents = "parents = [\"order_id -> orders.id\"]";
        let notes =
            format!("notes = {{ key = \"id bigint\", {parents}, kept = {{ kind = \"a\" }} }}");
        let debris = "[rules.debris]\nstrategy = \"orphan\"\nroot = \"notes\"";
        format!("{TABLE}\n{notes}\n{debris}\n{rule}")
    }

    #[test]
    fn what_is_kept_goes_as_an_orphan() {
        insta::assert_snapshot!(err(&[(TABLE, &with("at_once = true"))]), @r###"
warning[kept-at-once]: rows of `notes` that are kept are orphans, and this rule deletes them at once
 --> windrow.toml:9:11
  |
9 | at_once = true
  |           ^^^^
  |
  = help: name those that are meant under `candidates`, or write `time` and `retention` for them
"###);
        ok(&[(
            TABLE,
            &with("at_once = true\ncandidates = { kind = \"b\" }"),
        )]);
    }
}
