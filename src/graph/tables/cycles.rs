//! Circles of tables that belong to each other.

use std::collections::BTreeSet;

use super::resolved::Resolved;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::{Action, TableId};

/// Reports cycles of the belongs-to graph, one for each knot.
pub(super) fn check_cycles(
    resolved: &Resolved,
    edge_spans: &[Vec<Span>],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut knotted: BTreeSet<TableId> = (0..resolved.tables.len()).map(TableId).collect();
    loop {
        // What has no parent, or no child, among the rest is on no cycle.
        let step_up = |table: TableId, knotted: &BTreeSet<TableId>| {
            resolved.tables[table.0]
                .edges
                .iter()
                .position(|edge| edge.action == Action::Delete && knotted.contains(&edge.parent))
        };
        loop {
            let loose: Vec<TableId> = knotted
                .iter()
                .copied()
                .filter(|table| {
                    let children = &resolved.children[table.0];
                    step_up(*table, &knotted).is_none()
                        || !children.iter().any(|child| knotted.contains(child))
                })
                .collect();
            if loose.is_empty() {
                break;
            }
            knotted.retain(|table| !loose.contains(table));
        }
        let Some(start) = knotted.first().copied() else {
            return;
        };
        let mut path: Vec<(TableId, usize)> = Vec::new();
        let mut table = start;
        while !path.iter().any(|(earlier, _)| *earlier == table) {
            let Some(edge) = step_up(table, &knotted) else {
                return;
            };
            path.push((table, edge));
            table = resolved.tables[table.0].edges[edge].parent;
        }
        // The walk may have begun outside the cycle that it found.
        path.drain(
            ..path
                .iter()
                .position(|(earlier, _)| *earlier == table)
                .unwrap_or(0),
        );
        diagnostics.push(cycle(resolved, edge_spans, &path));
        knotted.retain(|table| !path.iter().any(|(member, _)| member == table));
    }
}

fn cycle(resolved: &Resolved, edge_spans: &[Vec<Span>], path: &[(TableId, usize)]) -> Diagnostic {
    let names: Vec<String> = path
        .iter()
        .chain(path.first())
        .map(|(table, _)| format!("`{}`", resolved.tables[table.0].name.escape_debug()))
        .collect();
    let span = |(table, edge): &(TableId, usize)| edge_spans[table.0][*edge].clone();
    let first = path.first().map_or(0..0, span);
    let step = |index: usize| format!("{} belongs to {}", names[index], names[index + 1]);
    let help = if path.len() == 1 {
        "remove this edge; link rows of a root table that refer to each other under `hierarchy`"
    } else {
        "remove the edge that is not ownership; a mere reference does not belong in `parents`"
    };
    let message = format!(
        "tables belong to each other in a circle: {}",
        names.join(" → ")
    );
    let mut diagnostic =
        Diagnostic::error("belongs-to-cycle", first, message, help).labelled(step(0));
    for (index, member) in path.iter().enumerate().skip(1) {
        diagnostic = diagnostic.related(span(member), step(index));
    }
    diagnostic
}
