//! Whether a server plans the statements that `windrow check --database` explains, in each schema that a test has.

use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;

/// Panics where a statement is not planned, before anything of windrow is there.
pub(crate) fn all(
    dialect: Dialect,
    graph: &Graph,
    mut query: impl FnMut(&str) -> Result<(), String>,
) {
    let left = render::unexplained(graph, dialect).expect("the statements");
    assert!(left.is_empty(), "{}", left.join("\n"));
    let probes = render::probes(graph, dialect).expect("the statements");
    let failed = probes.iter().filter_map(|probe| {
        let error = query(&format!("EXPLAIN {}", probe.sql)).err()?;
        Some(format!("{}: {error}\n{}", probe.what, probe.sql))
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
