//! A text as a spec without errors, or what is wrong with it.

use crate::diagnostic::{self, Diagnostic};
use crate::graph::{self, Graph};
use crate::spec::{self, Spec};

/// A spec and what it means, or its first error.
pub(super) fn read(text: &str) -> Result<(Spec, Graph), String> {
    let (spec, diagnostics) = spec::parse(text);
    if let Some(why) = first(&diagnostics) {
        return Err(why);
    }
    let spec = spec.ok_or_else(|| "it is not TOML".to_owned())?;
    let graph = build(&spec, text)?;
    Ok((spec, graph))
}

/// What a spec means, or its first error.
pub(super) fn build(spec: &Spec, text: &str) -> Result<Graph, String> {
    let (graph, diagnostics) = graph::build(spec, text);
    match first(&diagnostics) {
        Some(why) => Err(why),
        None => Ok(graph),
    }
}

/// The first error.
fn first(diagnostics: &[Diagnostic]) -> Option<String> {
    let mut errors = diagnostics
        .iter()
        .filter(|it| it.severity == diagnostic::Severity::Error);
    errors
        .next()
        .map(|it| format!("{}; {}", it.message, it.help))
}
