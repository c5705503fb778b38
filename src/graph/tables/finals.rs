//! Which rows of a table are final: what their own columns must hold, and those of rows that they name.

use super::resolved::Resolved;
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::graph::conditions::condition;
use crate::graph::names;
use crate::graph::{Edge, Final, Named, TableId};
use crate::spec::grammar::{self, NamedText};
use crate::spec::{self, in_file_order};

/// What a row of a table, whose edges are resolved, must hold to keep nothing.
pub(super) fn resolve(
    text: &str,
    written: &spec::Table,
    tables: &Resolved,
    id: TableId,
    diagnostics: &mut Vec<Diagnostic>,
) -> Final {
    let mut found = Final::default();
    let Some(written) = &written.r#final else {
        return found;
    };
    for (name, values) in in_file_order(written.get_ref()) {
        if !grammar::names_another(name) {
            found.own.push(condition(name, values, diagnostics));
            continue;
        }
        let read = match grammar::named(text, name) {
            Ok(read) => read,
            Err(diagnostic) => {
                diagnostics.push(*diagnostic);
                continue;
            }
        };
        let condition = condition(&read.column, values, diagnostics);
        names::identifier(&read.table, "table", diagnostics);
        if let Some(edge) = edge(&read, tables, id, diagnostics) {
            found.named.push(Named { edge, condition });
        }
    }
    found
}

/// The edge that a condition names.
fn edge(
    read: &NamedText,
    tables: &Resolved,
    id: TableId,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Edge> {
    let table = &tables.tables[id.0];
    let columns: Vec<&str> = read
        .columns
        .iter()
        .map(|it| it.get_ref().as_str())
        .collect();
    let columns = columns.join(", ");
    let named = |edge: &Edge| tables.tables[edge.parent.0].name.as_str();
    let mut edges = table.edges.iter();
    let found = edges.find(|edge| edge.columns() == columns && named(edge) == read.table.get_ref());
    let span = read.columns[0].span().start..read.table.span().end;
    let shown = format!("{columns} -> {}", read.table.get_ref());
    let Some(edge) = found else {
        if !tables.edge_is_unclear(id) {
            let known: Vec<String> = table
                .edges
                .iter()
                .map(|edge| format!("{} -> {}", edge.columns(), named(edge)))
                .collect();
            let else_help = "name an edge of the table's `parents`: its columns, and the table that they refer to";
            diagnostics.push(Diagnostic::error(
                "unknown-edge",
                span,
                format!(
                    "`{}` has no edge `{}`",
                    table.name.escape_debug(),
                    shown.escape_debug()
                ),
                did_you_mean(&shown, known.iter().map(String::as_str), else_help),
            ));
        }
        return None;
    };
    if edge.alone {
        diagnostics.push(Diagnostic::error(
            "final-of-many",
            span,
            format!("several rows of `{}` may refer to one of `{}`", named(edge).escape_debug(), table.name.escape_debug()),
            "an edge with `or alone` cannot be used: say which values the row itself, or one that it refers to, must have",
        ));
        return None;
    }
    Some(edge.clone())
}
