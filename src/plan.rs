//! What is to be indexed and deleted, in which order and why: dialect-neutral, made from a graph, never fails.

mod guards;
mod indexes;
mod purge;
mod ways;

use crate::graph::Graph;

pub use guards::{Guard, GuardedEdge, guards};
pub use indexes::{IndexNeed, Instead, Substitute, counted, eligible};
pub use purge::{Keep, Meet, Purge, Release, Step};
pub use ways::Hop;

/// The plan of a whole spec.
#[derive(Debug)]
pub struct Plan {
    /// One purge per rule, in the order of the rules.
    pub purges: Vec<Purge>,
    /// Indexes that the statements need and the application does not bring, sorted by table and columns.
    pub indexes: Vec<IndexNeed>,
}

impl Plan {
    /// The indexes where there are partial ones, or where there are none: two that differ in their conditions alone are one then.
    pub fn indexes_for(&self, partial: bool) -> Vec<&IndexNeed> {
        let mut indexes: Vec<&IndexNeed> = Vec::new();
        for need in &self.indexes {
            if partial || !indexes.iter().any(|other| other.is_one_with(need)) {
                indexes.push(need);
            }
        }
        indexes
    }
}

/// Makes the plan of a graph.
pub fn make(graph: &Graph) -> Plan {
    let purges: Vec<Purge> = graph
        .rules
        .iter()
        .enumerate()
        .map(|(index, rule)| purge::purge(graph, index, rule))
        .collect();
    let indexes = indexes::needs(graph, &purges);
    Plan { purges, indexes }
}
