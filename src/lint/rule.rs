//! A rule of the lint, and what the rules look at.

use crate::diagnostic::Diagnostic;
use crate::graph::{self, Graph};
use crate::spec::{self, Spec, Text};

/// A rule of the lint.
pub struct Rule {
    /// Code of its findings.
    pub code: &'static str,
    /// What it finds, why that matters, and what to do.
    pub explanation: &'static str,
    /// Looks for it in a spec whose graph has no errors.
    pub(super) check: fn(&Spec, &Graph) -> Vec<Diagnostic>,
}

/// The rules as written besides the rules as resolved; both have the order of the file.
pub(super) fn rules<'a>(
    spec: &'a Spec,
    graph: &'a Graph,
) -> impl Iterator<Item = (&'a Text, &'a spec::Rule, &'a graph::Rule)> {
    let written = spec::in_file_order(&spec.rules);
    written
        .into_iter()
        .zip(&graph.rules)
        .map(|((name, written), resolved)| (name, written, resolved))
}
