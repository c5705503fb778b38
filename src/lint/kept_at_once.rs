use super::rule::{Rule, rules};
use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, Single, Strategy};
use crate::spec::Spec;

pub(super) const RULE: Rule = Rule {
    code: "kept-at-once",
    explanation: "\
`kept` of a table says which rows are kept when their parent is deleted. A kept row then refers to a deleted row, so a rule \
for orphans deletes it: with `at_once` and without `candidates`, such a rule leaves no kept row. Say with `candidates` which \
orphans the rule is about, or with `time` and `retention` how long the kept rows are to be kept.",
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
                    "kept rows of `{}` are orphans, and this rule deletes them at once",
                    graph.table(rule.root).name.escape_debug()
                ),
                "name the orphans that are meant under `candidates`, or write `time` and `retention` for them",
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
warning[kept-at-once]: kept rows of `notes` are orphans, and this rule deletes them at once
 --> windrow.toml:9:11
  |
9 | at_once = true
  |           ^^^^
  |
  = help: name the orphans that are meant under `candidates`, or write `time` and `retention` for them
"###);
        ok(&[(
            TABLE,
            &with("at_once = true\ncandidates = { kind = \"b\" }"),
        )]);
    }
}
