//! Rows with several parents: what happens to one of which one parent is deleted and another is kept.

use crate::diagnostic::Diagnostic;
use crate::graph::tables::Resolved;
use crate::graph::{Rule, Shared, Table, TableId, With};
use crate::spec::Spec;

/// Finds tables whose rows could never be deleted with all of their parents, and those where the question does not arise.
pub(super) fn check(
    spec: &Spec,
    tables: &Resolved,
    rules: &[Rule],
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (index, (name, written)) in spec.tables.iter().enumerate() {
        let id = TableId(index);
        let table = &tables.tables[index];
        if tables.edge_is_unclear(id) {
            continue;
        }
        if table.parents().count() < 2 && table.parents().all(|edge| !edge.alone) {
            if let Some(with) = &written.with {
                diagnostics.push(Diagnostic::error(
                    "one-parent",
                    with.span(),
                    format!(
                        "rows of `{}` do not have several parents",
                        name.get_ref().escape_debug()
                    ),
                    "remove `with`; edges with `restrict` or `set null` are not parents",
                ));
            }
            continue;
        }
        let never = by_time(table, id, rules).or_else(|| {
            let (why, help) = never(table, id, rules)?;
            let any = "add `with = \"any\"` if it is deleted with the first of them";
            Some((why, format!("{any}; {help}")))
        });
        if table.with == With::All
            && let Some((why, help)) = never
        {
            let place = written
                .with
                .as_ref()
                .map_or(name.span(), |with| with.span());
            diagnostics.push(Diagnostic::error(
                "parents-never-all",
                place,
                format!(
                    "a row of `{}` cannot wait until all of its parents are deleted: {why}",
                    name.get_ref().escape_debug()
                ),
                help,
            ));
        }
    }
}

/// The rule that takes rows of a table by their time, whatever becomes of their parents.
fn by_time(table: &Table, id: TableId, rules: &[Rule]) -> Option<(String, String)> {
    let rule = rules.iter().find(|rule| rule.parts_parents(id, table))?;
    let shown = rule.name.escape_debug();
    Some((
        format!("rule `{shown}` deletes it by its removal time"),
        "add `with = \"any\"` if it is deleted with the root of its family, or by its own time, and what else it refers to \
         is kept as long as it is; or remove the table from that rule"
            .to_owned(),
    ))
}

/// Why rows of a table cannot be deleted with all of their parents, and what else than `any` would mend it.
fn never(table: &Table, id: TableId, rules: &[Rule]) -> Option<(String, &'static str)> {
    let takes = |rule: &Rule| {
        let parents = table.parents().filter(|edge| {
            rule.timed().is_none() && id != rule.root && rule.order.contains(&edge.parent)
        });
        // Several rows may name this one by one edge.
        parents
            .map(|edge| if edge.alone { 2 } else { 1 })
            .sum::<usize>()
    };
    let mut takers = rules.iter().filter(|rule| takes(rule) > 0);
    let first = takers.next()?;
    let shown = first.name.escape_debug();
    if let Some(second) = takers.next() {
        return Some((
            format!(
                "rules `{shown}` and `{}` would wait for each other",
                second.name.escape_debug()
            ),
            "or let only one of the rules delete it, and give the other parent's edge `restrict`",
        ));
    }
    if first.single().is_some() {
        return Some((
            format!("rule `{shown}` decides for each row alone"),
            "or delete its parents with a rule of `strategy = \"end-time\"`",
        ));
    }
    if first.shared == Shared::Literal && takes(first) > 1 {
        return Some((
            format!("with `shared = \"literal\"` each family of rule `{shown}` is deleted alone"),
            "or use `shared = \"closed\"`, which keeps families that share a row together",
        ));
    }
    None
}
