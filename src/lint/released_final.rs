use super::rule::Rule;
use crate::diagnostic::Diagnostic;
use crate::graph::{Action, Graph};
use crate::spec::Spec;

pub(super) const RULE: Rule = Rule {
    code: "released-final",
    explanation: "\
`final` of a table checks a column of a row that its rows refer to, and a rule deletes that row: the edge says `set null`, \
so the rows are kept and refer to nothing. Then it is unknown whether they were final, and they keep their families \
(`REFERENCED`) forever. With `restrict` the referenced row is kept as long as they are.",
    check,
};

fn check(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (table, written) in graph.tables.iter().zip(spec.tables.values()) {
        let Some(span) = written.r#final.as_ref().map(toml::Spanned::span) else {
            continue;
        };
        let mut named = table.r#final.named.iter().map(|named| &named.edge);
        let released = named.find(|edge| {
            let mut rules = graph.rules.iter();
            edge.action == Action::SetNull && rules.any(|rule| rule.order.contains(&edge.parent))
        });
        if let Some(edge) = released {
            found.push(Diagnostic::warning(
                RULE.code,
                span,
                format!(
                    "a row of `{}` is not final once the row of `{}` that it refers to is deleted",
                    table.name.escape_debug(),
                    graph.table(edge.parent).name.escape_debug()
                ),
                "write `restrict` instead of `set null`, so that the referenced row is kept as long, or remove the condition",
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::lint::tests::{err, ok};

    const TABLE: &str = "orders = { key = \"id bigint\" }";
    const CALLS: &str = r#"calls = { key = "id bigint" }
[rules.calls]
strategy = "end-time"
root = "calls"
final = { state = 1 }
end_time = "ended"
retention = { default = "30d", minimum = "7d", safety_lag = "1d", per = "tenant", opt_in = true }"#;

    fn with(action: &str) -> String {
        let items = "items = { parents = [\"order_id -> orders.id\", \"call_id -> calls.id";
        let end = "final = { \"call_id -> calls.state\" = 1 } }";
        format!("{TABLE}\n{items} {action}\"], {end}\n{CALLS}")
    }

    #[test]
    fn rows_that_would_never_be_final_again() {
        insta::assert_snapshot!(err(&[(TABLE, &with("set null"))]), @r###"
warning[released-final]: a row of `items` is not final once the row of `calls` that it refers to is deleted
 --> windrow.toml:5:88
  |
5 | items = { parents = ["order_id -> orders.id", "call_id -> calls.id set null"], final = { "call_id -> calls.state" = 1 } }
  |                                                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: write `restrict` instead of `set null`, so that the referenced row is kept as long, or remove the condition
"###);
        ok(&[(TABLE, &with("restrict"))]);
        // No rule deletes what is named.
        let (alone, _) = CALLS.split_once('\n').unwrap_or_default();
        ok(&[(TABLE, &with("set null").replace(CALLS, alone))]);
    }
}
