//! Specs as commands read them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::diagnostic::{self, Colour, Diagnostic};
use crate::failure::Failure;
use crate::graph::Graph;
use crate::lint;
use crate::ui::Ui;

/// A spec without errors; what it says in passing is printed.
pub(super) fn load(path: &Path, ui: &Ui) -> anyhow::Result<Graph> {
    match try_load(path, ui)? {
        Some(graph) => Ok(graph),
        None => Err(
            Failure::new(format!("the spec `{}` has errors", path.display()))
                .hint(format!(
                    "`windrow check {}` shows them alone",
                    path.display()
                ))
                .into(),
        ),
    }
}

/// A spec, or none where it has errors; what was found is printed.
pub(super) fn try_load(path: &Path, ui: &Ui) -> anyhow::Result<Option<Graph>> {
    let (graph, found) = read_spec(path)?;
    if !found.diagnostics.is_empty() {
        ui.findings(&found.text());
    }
    Ok(graph)
}

/// What was found in a spec, with what is needed to show it.
pub(super) struct Found {
    pub(super) path: String,
    pub(super) source: String,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Found {
    pub(super) fn text(&self) -> String {
        diagnostic::render(&self.diagnostics, &self.path, &self.source, Colour::Always)
    }

    pub(super) fn json(&self) -> Value {
        diagnostic::to_json(&self.diagnostics, &self.path, &self.source)
    }
}

pub(super) fn read_spec(path: &Path) -> anyhow::Result<(Option<Graph>, Found)> {
    let name = path.display().to_string();
    let source = fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read the spec `{name}`")).caused_by(error))?;
    let (graph, diagnostics) = lint::load(&source);
    Ok((
        graph,
        Found {
            path: name,
            source,
            diagnostics,
        },
    ))
}
