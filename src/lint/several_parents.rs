use super::rule::Rule;
use crate::diagnostic::Diagnostic;
use crate::graph::{Graph, TableId};
use crate::spec::Spec;

pub(super) const RULE: Rule = Rule {
    code: "several-parents",
    explanation: "\
A row of the table has several parents, and one may be deleted while another is kept: held, running or too young. By default \
(`with = \"all\"`) the row is deleted only when all of its parents are. Within a rule, families that share such a row are \
therefore deleted together or not at all, and are skipped together. A parent that no rule deletes, or that has no root above \
it, keeps the family (`REFERENCED`) as long as it exists. If other rows refer to the row (`or alone`), all of them are its \
parents. With `with = \"any\"` the row is deleted with the first of its parents, whatever happens to the others: right for \
rows that mean nothing without both, such as those of a relation table, and for a table whose foreign keys cascade anyway. \
Say which one you mean. A rule by removal time supports only `any`, and requires the word: its rows are deleted with the \
root of their family, or by their own time; what else they refer to, and its family, is kept as long as they are.",
    check,
};

fn check(spec: &Spec, graph: &Graph) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (index, (name, written)) in spec.tables.iter().enumerate() {
        let id = TableId(index);
        let table = graph.table(id);
        if written.with.is_some() {
            continue;
        }
        let mut rules = graph.rules.iter();
        if rules.any(|rule| !rule.joint_parents(id, table).is_empty()) {
            found.push(Diagnostic::warning(
                RULE.code,
                name.span(),
                format!(
                    "a row of `{}` is deleted only when all of its parents are",
                    name.get_ref().escape_debug()
                ),
                "add `with = \"all\"` if this is intended: families that share a row are deleted together or not at all; \
                 with `with = \"any\"` it is deleted with the first of its parents",
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::lint::tests::{err, ok};

    const TABLE: &str = "orders = { key = \"id bigint\" }";

    fn with(with: &str) -> String {
        format!(
            "{TABLE}\nlinks = {{ parents = [\"one -> orders.id\", \"other -> orders.id\"]{with} }}"
        )
    }

    #[test]
    fn rows_that_wait_for_all_of_their_parents() {
        insta::assert_snapshot!(err(&[(TABLE, &with(""))]), @r###"
warning[several-parents]: a row of `links` is deleted only when all of its parents are
 --> windrow.toml:5:1
  |
5 | links = { parents = ["one -> orders.id", "other -> orders.id"] }
  | ^^^^^
  |
  = help: add `with = "all"` if this is intended: families that share a row are deleted together or not at all; with `with = "any"` it is deleted with the first of its parents
"###);
        ok(&[(TABLE, &with(", with = \"all\""))]);
        ok(&[(TABLE, &with(", with = \"any\""))]);
        // A link keeps both ends together.
        ok(&[
            (TABLE, &with("")),
            (
                "end_time =",
                "hierarchy = [\"links: one -> other\"]\nend_time =",
            ),
        ]);
    }

    #[test]
    fn rows_that_go_by_a_time_of_their_own() {
        let changes = |with: &str| {
            let tables = format!(
                "{TABLE}\nblobs = {{ key = \"id bigint\" }}\nlinks = {{ parents = [\"one -> orders.id\", \"blob -> blobs.id\"]{with} }}"
            );
            let rule = "strategy = \"removal-time\"\ntime = \"removal\"\ntables = [\"links: one\", \"blobs\", \"orders: id\"]";
            vec![
                (TABLE, tables),
                ("strategy = \"end-time\"", rule.to_owned()),
                ("final = { state = \"done\" }\n", String::new()),
                (
                    "default = \"30d\", minimum = \"7d\", safety_lag = \"1d\", per = \"tenant\", opt_in = true",
                    "minimum = \"7d\", safety_lag = \"1d\"".to_owned(),
                ),
                ("batch_families = 200, ", String::new()),
            ]
        };
        fn texts<'a>(changes: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
            changes.iter().map(|(from, to)| (*from, &**to)).collect()
        }
        ok(&texts(&changes(", with = \"any\"")));
        for unsaid in ["", ", with = \"all\""] {
            let told = err(&texts(&changes(unsaid)));
            assert!(told.contains("error[parents-never-all]"), "{told}");
        }
    }
}
