//! Rows that a batch leaves to a foreign key, which deletes them with what they name.

use std::collections::BTreeMap;

use serde::Serialize;

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
        && rule.by_end()
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
