//! Rows that a batch leaves to a foreign key, which deletes them with what they name.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::names::home;
use super::rule_view::by_end;
use super::views::StepView;
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, Rule, TableId};
use crate::plan::{Purge, Step};

/// The foreign key of a table as the catalog has it.
#[derive(Clone, Serialize)]
pub(super) struct CascadeView {
    /// The columns as literals between commas, each as `child -> parent`, in the order of their bytes.
    columns: String,
}

/// The foreign key to which the deletion from a table may be left. What is archived has to be read first. The others do not
/// count what a foreign key deletes.
pub(super) fn view(rule: &Rule, step: &Step, dialect: Dialect) -> Option<CascadeView> {
    let [edge] = step.edges.as_slice() else {
        return None;
    };
    let left = edge.cascades
        && by_end(rule)
        && edge.parent != step.table
        && dialect == Dialect::Postgres
        && !rule.archive.contains(&step.table);
    left.then(|| CascadeView {
        columns: columns(edge, dialect),
    })
}

/// The tables that may be left to foreign keys, each with the one that these name.
pub(super) fn documents<'a>(
    graph: &'a Graph,
    purge: &'a Purge,
    dialect: Dialect,
) -> BTreeMap<&'a str, &'a str> {
    let rule = &graph.rules[purge.rule];
    let left = purge
        .steps
        .iter()
        .filter(|step| view(rule, step, dialect).is_some());
    left.flat_map(|step| step.edges.iter().map(move |edge| (step.table, edge.parent)))
        .map(|(child, parent)| {
            let name = |id: TableId| graph.table(id).name.as_str();
            (name(child), name(parent))
        })
        .collect()
}

fn columns(edge: &Edge, dialect: Dialect) -> String {
    let mut pairs: Vec<String> = edge
        .pairs()
        .map(|(column, parent)| format!("{} -> {}", column.name, parent.name))
        .collect();
    pairs.sort();
    let literals: Vec<String> = pairs.iter().map(|pair| dialect.text(pair)).collect();
    literals.join(", ")
}

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
        .map(|edge| dialect.qualified(home(graph, dialect), &graph.table(edge.parent).name))
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
