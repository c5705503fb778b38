//! Which steps of a batch may be left to foreign keys, and what these point at.

use std::collections::BTreeSet;

use super::names::table_name;
use super::views::StepView;
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, TableId};
use crate::plan::Purge;

/// The tables at which these foreign keys point, between commas.
pub(super) fn parents(
    graph: &Graph,
    purge: &Purge,
    steps: &[StepView],
    dialect: Dialect,
) -> String {
    let left = purge
        .steps
        .iter()
        .zip(steps)
        .filter(|(_, view)| view.cascade.is_some());
    let mut found: Vec<String> = left
        .flat_map(|(step, _)| &step.edges)
        .map(|edge| table_name(graph, dialect, &graph.table(edge.parent).name))
        .collect();
    found.sort();
    found.dedup();
    found.join(", ")
}

/// The positions of the steps that alone need the keys of a table, between commas, where all these may be left to foreign
/// keys; else empty.
pub(super) fn users(graph: &Graph, purge: &Purge, steps: &[StepView], table: TableId) -> String {
    let found = left(graph, purge, steps, table).unwrap_or_default();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    found.join(", ")
}

fn left(
    graph: &Graph,
    purge: &Purge,
    steps: &[StepView],
    table: TableId,
) -> Option<BTreeSet<usize>> {
    let names = |edge: &Edge| edge.parent == table;
    if purge.releases.iter().any(|it| names(&it.edge)) {
        return None;
    }
    let mut found = BTreeSet::new();
    for (step, view) in purge.steps.iter().zip(steps) {
        let by_own_keys = step.table == table && !view.collected.is_empty();
        if by_own_keys || step.edges.iter().any(names) {
            view.cascade.as_ref()?;
            found.insert(view.position);
        }
    }
    for other in purge.collects.iter().filter(|other| **other != table) {
        if graph.table(*other).parents().any(names) {
            found.extend(left(graph, purge, steps, *other)?);
        }
    }
    Some(found)
}
