//! Files outside the database that deleted rows name.

use super::family::Family;
use crate::diagnostic::Diagnostic;
use crate::graph::{Artifact, TableId, names};
use crate::spec;

pub(super) fn artifacts(
    written: &[spec::Artifact],
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Artifact> {
    let mut artifacts: Vec<Artifact> = Vec::new();
    for artifact in written {
        names::identifier(&artifact.path, "column", diagnostics);
        if let Some(host) = &artifact.host {
            names::identifier(host, "column", diagnostics);
        }
        let Some(table) = family.require(&artifact.table, diagnostics) else {
            continue;
        };
        if let Some(finding) = too_deep(artifact, table, family) {
            diagnostics.push(finding);
            continue;
        }
        let path = artifact.path.get_ref().clone();
        if let Some(first) = artifacts
            .iter()
            .position(|other| other.table == table && other.path == path)
        {
            diagnostics.push(
                Diagnostic::error(
                    "duplicate-artifact",
                    artifact.path.span(),
                    format!("the files of `{}` are listed twice", path.escape_debug()),
                    "remove one of the two",
                )
                .related(written[first].path.span(), "first here"),
            );
        }
        artifacts.push(Artifact {
            table,
            host: artifact.host.as_ref().map(|host| host.get_ref().clone()),
            path,
        });
    }
    artifacts
}

/// Files are noted by the keys of the members, so their rows must name these.
fn too_deep(artifact: &spec::Artifact, table: TableId, family: &Family<'_>) -> Option<Diagnostic> {
    let root = *family.order.last()?;
    let key = family.tables.tables[root.0].key.first();
    let mut parents = family.tables.tables[table.0].parents();
    let names_root = parents.any(|edge| {
        edge.parent == root && edge.further.is_empty() && Some(&edge.parent_column) == key
    });
    if table == root || names_root || family.tables.edges_are_unclear() {
        return None;
    }
    let shown = artifact.table.get_ref().escape_debug();
    Some(
        Diagnostic::error(
            "artifact-too-deep",
            artifact.table.span(),
            format!("`{shown}` has no column that refers to the key of the rule's root"),
            "files are recorded for rows that refer to a root by its key: add such a column to `parents`, or remove the \
             files by other means",
        )
        .related(family.tables.spans[table.0].clone(), "the table"),
    )
}
