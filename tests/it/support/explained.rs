//! Whether a server plans the statements that `windrow check --database` explains, in each schema that a test has.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use windrow::dialect::Dialect;
use windrow::graph::Graph;
use windrow::render;

use super::effort;

/// How many schemas each spec has had on each server.
static MADE: LazyLock<Mutex<HashMap<String, usize>>> = LazyLock::new(Mutex::default);

/// Whether the statements of a spec are planned: of the first schema and of each eighth one that is made for it, and of all in
/// `make prove`. To plan them takes a sixth of the time of a short test.
pub(crate) fn is_asked(dialect: Dialect, spec: &str) -> bool {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let number = made.entry(format!("{spec} on {dialect:?}")).or_default();
    *number += 1;
    effort::is_proof() || *number % 8 == 1
}

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
