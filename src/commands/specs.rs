//! Specs as commands read them.

use std::fs;
use std::path::Path;

use crate::diagnostic::{self, Colour, Diagnostic, Located};
use crate::failure::Failure;
use crate::graph::Graph;
use crate::lint;
use crate::ui::{Ui, counted};

/// A spec without errors. That there are warnings about it is said; `windrow check` shows them.
pub(super) fn load(path: &Path, ui: &Ui) -> anyhow::Result<Graph> {
    Ok(load_with_text(path, ui)?.0)
}

/// The same, and what it was read from.
pub(super) fn load_with_text(path: &Path, ui: &Ui) -> anyhow::Result<(Graph, String)> {
    let (graph, found) = read_spec(path)?;
    match graph {
        Some(graph) => {
            if !found.diagnostics.is_empty() {
                let count = found.diagnostics.len() as i64;
                ui.note(&format!(
                    "{} about the spec: run `windrow check {}` to see",
                    counted(count, "warning", "warnings"),
                    path.display()
                ));
            }
            Ok((graph, found.source))
        }
        None => Err(refused(&found, path, ui)),
    }
}

/// Shows what is wrong with a spec that has errors.
pub(super) fn refused(found: &Found, path: &Path, ui: &Ui) -> anyhow::Error {
    ui.findings(&found.text());
    Failure::new(format!("the spec `{}` has errors", path.display()))
        .hint(format!(
            "`windrow check {}` lists only these",
            path.display()
        ))
        .into()
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

    pub(super) fn located(&self) -> Vec<Located> {
        diagnostic::located(&self.diagnostics, &self.path, &self.source)
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
