//! The graphs under test.

use windrow::graph::{Graph, Shared};
use windrow::lint;

/// What `specs/dolphinscheduler.toml` says, with either meaning of a shared member.
pub(crate) fn dolphinscheduler(shared: Shared) -> Graph {
    let (graph, findings) = lint::load(include_str!("../../../specs/dolphinscheduler.toml"));
    let mut graph = graph.unwrap_or_else(|| panic!("the spec has errors: {findings:?}"));
    graph.rules[0].shared = shared;
    graph
}
