//! Where triggers refuse rows whose parent is gone or going.

use super::ways::{Hop, link_edge, ways};
use crate::graph::{Edge, Graph, TableId};

/// The table on which triggers refuse rows whose parent is gone or going.
#[derive(Debug)]
pub struct Guard {
    /// The table.
    pub table: TableId,
    /// What its rows name.
    pub edges: Vec<GuardedEdge>,
}

/// What a row names, and where the rows are that a batch locks before it deletes anything.
#[derive(Debug)]
pub struct GuardedEdge {
    /// The edge.
    pub edge: Edge,
    /// The root table.
    pub root: TableId,
    /// Every way from the root table down to the parent of the edge, none where that is the root table.
    pub ways: Vec<Vec<Hop>>,
}

/// The guards of a graph, sorted by table: one for each edge within the families of a rule that wants them.
pub fn guards(graph: &Graph) -> Vec<Guard> {
    let mut guards: Vec<Guard> = Vec::new();
    for (index, table) in graph.tables.iter().enumerate() {
        let id = TableId(index);
        let mut edges = Vec::new();
        for rule in graph.rules.iter().filter(|rule| rule.orphan_guard) {
            let of_rule = |edge: &&Edge| {
                rule.order.contains(&id) && rule.order.contains(&edge.parent) && !edge.alone
            };
            let links = rule.links_of_root().filter(|_| id == rule.root);
            let within = links.map(|link| link_edge(rule, link));
            for edge in table.parents().filter(of_rule).cloned().chain(within) {
                let ways = if edge.parent == rule.root {
                    Vec::new()
                } else {
                    ways(graph, rule, edge.parent)
                };
                let root = rule.root;
                let known = edges.iter().any(|it: &GuardedEdge| {
                    it.root == root
                        && it.edge.parent == edge.parent
                        && it.edge.columns() == edge.columns()
                });
                if !known {
                    edges.push(GuardedEdge { edge, root, ways });
                }
            }
        }
        if !edges.is_empty() {
            guards.push(Guard { table: id, edges });
        }
    }
    guards
}
