//! Ways from the root table to another, edge by edge.

use crate::graph::{Action, Edge, Graph, Link, Rule, TableId};

/// A step from one table to another along an edge.
#[derive(Clone, Debug)]
pub struct Hop {
    /// The table that is come to.
    pub table: TableId,
    /// The edge, which belongs to the lower of the two tables.
    pub edge: Edge,
    /// Whether the way goes from the row that names to the one that it names.
    pub up: bool,
}

impl Hop {
    pub(super) fn down(table: TableId, edge: &Edge) -> Self {
        Self {
            table,
            edge: edge.clone(),
            up: false,
        }
    }

    pub(super) fn up(edge: &Edge) -> Self {
        Self {
            table: edge.parent,
            edge: edge.clone(),
            up: true,
        }
    }
}

/// Every way from the root table down to a table of its families.
pub(super) fn ways(graph: &Graph, rule: &Rule, table: TableId) -> Vec<Vec<Hop>> {
    if table == rule.root {
        return vec![Vec::new()];
    }
    let parents = graph.table(table).parents();
    parents
        .filter(|edge| rule.order.contains(&edge.parent))
        .flat_map(|edge| {
            let mut ways = ways(graph, rule, edge.parent);
            for way in &mut ways {
                way.push(Hop::down(table, edge));
            }
            ways
        })
        .collect()
}

/// What a row of the root table names by a link, as an edge.
pub(super) fn link_edge(rule: &Rule, link: &Link) -> Edge {
    let (parent, parent_column) = match &link.over {
        Some(over) => (over.table, &over.key),
        None => (rule.root, &link.child),
    };
    Edge {
        column: link.parent.clone(),
        parent,
        parent_column: parent_column.clone(),
        further: Vec::new(),
        none: None,
        action: Action::Delete,
        alone: false,
        cascades: false,
        through: None,
    }
}
