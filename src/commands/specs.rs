//! Specs as commands read them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::diagnostic::{self, Colour, Diagnostic, Located};
use crate::failure::Failure;
use crate::graph::Graph;
use crate::lint;
use crate::render;
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

/// The specs of a command that writes files for each of them: every one without errors, and no two of them for the same files.
/// One that is named twice is read once.
pub(super) fn load_each(paths: &[PathBuf], ui: &Ui) -> anyhow::Result<Vec<Graph>> {
    let mut graphs = Vec::new();
    for path in once_each(paths.iter()) {
        graphs.push((path, load(path, ui)?));
    }
    let told = graphs.iter().map(|(path, graph)| (*path, graph));
    apart(told)?;
    Ok(graphs.into_iter().map(|(_, graph)| graph).collect())
}

/// Each file once, however its path is written.
pub(super) fn once_each<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<&'a PathBuf> {
    let mut seen = BTreeSet::new();
    // One that is not there is an error of whoever reads it.
    let real = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    paths.filter(|path| seen.insert(real(path))).collect()
}

/// Refuses specs whose files would be the same, or whose control schemas.
pub(super) fn apart<'a>(
    specs: impl Iterator<Item = (&'a PathBuf, &'a Graph)>,
) -> Result<(), Failure> {
    let mut known: BTreeMap<String, (&Path, &Graph)> = BTreeMap::new();
    for (path, graph) in specs {
        let control = render::control_name(graph);
        let Some((first, other)) = known.get(&control) else {
            known.insert(control, (path, graph));
            continue;
        };
        let (first, path) = (first.display(), path.display());
        return Err(if other.name == graph.name {
            let message = format!("`{first}` and `{path}` are both called `{}`", graph.name);
            let why = "the files of one would overwrite those of the other";
            Failure::new(message).detail(why)
        } else {
            Failure::new(format!(
                "`{first}` and `{path}` have the same control schema, `{control}`"
            ))
            .detail(format!(
                "they are called `{}` and `{}`",
                other.name, graph.name
            ))
        }
        .hint(
            "give each a `name` of its own, or generate each by itself, into a folder of its own",
        ));
    }
    Ok(())
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
