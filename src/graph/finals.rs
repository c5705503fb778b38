//! Rows that are not final and keep what they belong to: whether each rule that would take them asks.

use super::tables::Resolved;
use super::{Rule, Single, Strategy, TableId};
use crate::diagnostic::Diagnostic;
use crate::spec::Spec;

/// Finds tables whose rows keep nothing, and rules that take such rows whatever they hold.
pub(super) fn check(
    spec: &Spec,
    tables: &Resolved,
    rules: &[Rule],
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (index, (name, written)) in spec.tables.iter().enumerate() {
        let id = TableId(index);
        let Some(r#final) = &written.r#final else {
            continue;
        };
        let shown = name.get_ref().escape_debug();
        if tables.tables[index].parents().next().is_none() && !tables.edge_is_unclear(id) {
            diagnostics.push(Diagnostic::error(
                "final-keeps-nothing",
                r#final.span(),
                format!("a row of `{shown}` belongs to nothing that it could keep"),
                "remove `final`, or list under `parents` what its rows belong to",
            ));
        }
        if r#final.get_ref().is_empty() {
            diagnostics.push(Diagnostic::error(
                "empty-final",
                r#final.span(),
                format!("`{shown}` does not say which rows are final"),
                "name a column and the values of finished rows",
            ));
        }
        if let Some(rule) = rules.iter().find(|rule| takes_any(tables, rule, id)) {
            diagnostics.push(Diagnostic::error(
                "final-not-asked",
                r#final.span(),
                format!(
                    "rule `{}` deletes rows of `{shown}` that are not final",
                    rule.name.escape_debug()
                ),
                "only rules by end time check rows of other tables: remove `final`, or remove the table from that rule",
            ));
        }
    }
}

/// Whether a rule takes rows of a table whatever they hold.
fn takes_any(tables: &Resolved, rule: &Rule, id: TableId) -> bool {
    let takes = rule.order.contains(&id);
    match &rule.strategy {
        Strategy::EndTime => false,
        Strategy::Timed(_) => takes,
        Strategy::Single(single) => takes && !spares(tables, rule, single, id),
    }
}

/// Whether an orphan is a row that no row of a table names, so that none is deleted with it.
fn spares(tables: &Resolved, rule: &Rule, single: &Single, id: TableId) -> bool {
    let Single::Orphan { needs, .. } = single else {
        return false;
    };
    let table = &tables.tables[id.0];
    let [chain] = &needs[..] else {
        return false;
    };
    let [need] = &chain[..] else {
        return false;
    };
    let mut within = table
        .parents()
        .filter(|edge| rule.order.contains(&edge.parent));
    within.all(|edge| {
        let needed = need.pairs.iter().map(|(own, named)| (named, own));
        let named = edge.pairs().map(|(own, named)| (&own.name, &named.name));
        edge.parent == rule.root && need.table == table.name && needed.eq(named)
    })
}
