//! Edges: what a row of a table refers to, and what happens to the row when that is deleted.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::resolved::Resolved;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::names;
use crate::graph::{Action, Column, Edge, Kind, Literal, Table, TableId, Through};
use crate::spec::grammar::{ActionText, ColumnText, EdgeText, NoneText};
use crate::spec::{self, Spec};

pub(super) fn edges(
    spec: &Spec,
    text: &str,
    child: TableId,
    table: &spec::Table,
    resolved: &mut Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<Edge>, Vec<Span>) {
    let mut edges: Vec<Edge> = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    // The first mention of each column, with its type.
    let mut kinds: BTreeMap<String, (Kind, Span)> = BTreeMap::new();
    if let (Some(column), Some(key)) = (resolved.tables[child.0].key.first(), &table.key) {
        kinds.insert(column.name.clone(), (column.kind, key.span()));
    }
    for written in &table.parents {
        let edge = spec::edge(text, written)
            .map_err(|diagnostic| diagnostics.push(*diagnostic))
            .ok();
        let Some(edge) = edge else {
            resolved.unclear_edges.insert(child);
            continue;
        };
        let Some(found) = self::edge(spec, text, &edge, resolved, diagnostics) else {
            resolved.unclear_edges.insert(child);
            continue;
        };
        // A parent that names the row may do so by several columns.
        let same = |other: &Edge| {
            other.columns() == found.columns()
                && other.parent == found.parent
                && (other.parent_column == found.parent_column || !other.alone || !found.alone)
        };
        if let Some(first) = edges.iter().position(same) {
            diagnostics.push(
                Diagnostic::error(
                    "duplicate-edge",
                    written.span(),
                    format!(
                        "`{}` refers to the parent `{}` twice",
                        found.columns().escape_debug(),
                        edge.table.get_ref().escape_debug()
                    ),
                    "remove one of the two",
                )
                .labelled("second edge")
                .related(spans[first].clone(), "first edge"),
            );
            continue;
        }
        for (column, _) in found.pairs() {
            let (kind, first) = kinds
                .entry(column.name.clone())
                .or_insert_with(|| (column.kind, written.span()))
                .clone();
            if kind != column.kind {
                diagnostics.push(
                    Diagnostic::error(
                        "type-mismatch",
                        written.span(),
                        format!(
                            "`{}` is `{}` here and `{}` elsewhere in the same table",
                            column.name.escape_debug(),
                            names::kind_name(column.kind),
                            names::kind_name(kind)
                        ),
                        "write the catalog's type in both places",
                    )
                    .related(first, format!("`{}` here", names::kind_name(kind))),
                );
            }
        }
        edges.push(found);
        spans.push(written.span());
    }
    check_releases(&resolved.tables[child.0], &edges, &spans, diagnostics);
    (edges, spans)
}

/// Finds columns that would be set to NULL although they say something else as well.
fn check_releases(
    table: &Table,
    edges: &[Edge],
    spans: &[Span],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let releases = edges.iter().zip(spans);
    for (edge, span) in releases.filter(|(edge, _)| edge.action == Action::SetNull) {
        let names = |column: &Column| edge.pairs().any(|(own, _)| own.name == column.name);
        let keys = std::iter::once(&table.key).chain(&table.unique).flatten();
        let shared = keys
            .clone()
            .find(|column| names(column))
            .map(|column| (column, None));
        let shared = shared.or_else(|| {
            let mut others = edges
                .iter()
                .zip(spans)
                .filter(|(other, _)| !std::ptr::eq(*other, edge));
            others.find_map(|(other, place)| {
                let mut columns = other.pairs().map(|(column, _)| column);
                Some((columns.find(|column| names(column))?, Some(place)))
            })
        });
        let Some((column, other)) = shared else {
            continue;
        };
        let shown = column.name.escape_debug();
        let finding = Diagnostic::error(
            "set-null-shared",
            span.clone(),
            format!(
                "`{shown}` cannot be set to NULL: it is also part of {}",
                match other {
                    None => "a key",
                    Some(_) => "another edge",
                }
            ),
            "set only columns to NULL that have no other meaning; remove `set null` if the row is deleted with its parent",
        );
        diagnostics.push(match other {
            None => finding,
            Some(place) => finding.related(place.clone(), "the other edge"),
        });
    }
}

fn edge(
    spec: &Spec,
    text: &str,
    edge: &EdgeText,
    resolved: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Edge> {
    let parent = resolved.require(spec, &edge.table, diagnostics)?;
    let table = &resolved.tables[parent.0];
    let Some(key) = table.key.first() else {
        return to_keyless(spec, text, edge, parent, resolved, diagnostics);
    };
    let by_key = by_key(edge, key);
    let edge = by_key.as_ref().unwrap_or(edge);
    let named: BTreeSet<&str> = edge
        .parent_columns
        .iter()
        .map(|name| name.get_ref().as_str())
        .collect();
    // What names a row need not be the only one that does.
    let naming = edge.parent_columns.iter().filter(|_| edge.alone);
    let naming: Vec<Column> = naming
        .map(|name| Column {
            name: name.get_ref().clone(),
            kind: key.kind,
        })
        .collect();
    let keys = std::iter::once(&table.key).chain(&table.unique);
    let keys = keys.chain(std::iter::once(&naming));
    let found = keys.clone().find(|columns| {
        let columns: BTreeSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        columns == named && named.len() == edge.columns.len()
    });
    let Some(found) = found else {
        diagnostics.push(not_a_key(
            edge,
            table,
            key,
            resolved.spans[parent.0].clone(),
        ));
        return None;
    };
    let mut pairs = Vec::new();
    for (written, name) in edge.columns.iter().zip(&edge.parent_columns) {
        let target = found.iter().find(|column| column.name == *name.get_ref())?;
        pairs.push((end(written, target, edge, diagnostics)?, target.clone()));
    }
    let (column, parent_column) = pairs.remove(0);
    let none = match &edge.none {
        None => None,
        Some(value) => {
            let literal = match value.get_ref() {
                NoneText::Integer(number) => Literal::Integer(*number),
                NoneText::Text(text) => {
                    let shown = column.name.escape_debug().to_string();
                    names::value(text, &shown, value.span(), diagnostics);
                    Literal::Text(text.clone())
                }
            };
            let fits = match &literal {
                Literal::Integer(_) => {
                    names::is_integer(column.kind) || column.kind == Kind::Numeric
                }
                Literal::Text(_) => !names::is_integer(column.kind),
            };
            if !fits {
                diagnostics.push(Diagnostic::error(
                    "type-mismatch",
                    value.span(),
                    format!("`{}` is `{}` and never has this value", column.name.escape_debug(), names::kind_name(column.kind)),
                    "write a whole number for a column of whole numbers, and a string in single quotes for any other",
                ));
                return None;
            }
            Some(literal)
        }
    };
    Some(Edge {
        column,
        parent,
        parent_column,
        further: pairs,
        none,
        action: match edge.action {
            ActionText::Delete | ActionText::Cascade => Action::Delete,
            ActionText::Restrict => Action::Restrict,
            ActionText::SetNull => Action::SetNull,
        },
        alone: edge.alone,
        cascades: edge.action == ActionText::Cascade,
        through: None,
    })
}

/// An edge that names no columns of the parent: it is to its key.
fn by_key(edge: &EdgeText, key: &Column) -> Option<EdgeText> {
    edge.parent_columns.is_empty().then(|| EdgeText {
        parent_columns: vec![Spanned::new(edge.table.span(), key.name.clone())],
        ..edge.clone()
    })
}

/// An edge to a table without a key of its own.
fn to_keyless(
    spec: &Spec,
    text: &str,
    edge: &EdgeText,
    parent: TableId,
    resolved: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Edge> {
    let table = &resolved.tables[parent.0];
    let shown = table.name.escape_debug();
    if let Some(around) = around(spec, text, edge, &table.name) {
        let pairs = edge.columns.iter().zip(&edge.parent_columns);
        let pairs =
            pairs.map(|(column, named)| (column.name.get_ref().clone(), named.get_ref().clone()));
        let through = Some(Through {
            table: parent,
            pairs: pairs.collect(),
        });
        let found = self::edge(spec, text, &around, resolved, diagnostics)?;
        return Some(Edge { through, ..found });
    }
    if !resolved.key_is_unclear(parent) {
        diagnostics.push(
            Diagnostic::error(
                "parent-without-key",
                edge.table.span(),
                format!("`{shown}` has no key that a row could refer to"),
                match edge.parent_columns.as_slice() {
                    [] => format!("add `key = \"id …\"` with its type to `{shown}`, or its name if it is called otherwise"),
                    [column] => format!("add `key = \"{} …\"` with its type to `{shown}`", column.get_ref().escape_debug()),
                    _ if !goes(edge) => format!(
                        "`restrict` and `set null` need a key: give `{shown}` a `key` of one column, and list this one under \
                         `unique`"
                    ),
                    _ => format!(
                        "give `{shown}` a `key` of one column, and list this one under `unique`; without one, `{shown}` \
                         itself must belong to one parent by one of these columns"
                    ),
                },
            )
            .related(resolved.spans[parent.0].clone(), "defined without a key"),
        );
    }
    None
}

/// The edge around a row without a key of its own: to the parent to which that belongs by a column which this one names, too.
fn around(spec: &Spec, text: &str, edge: &EdgeText, between: &str) -> Option<EdgeText> {
    let parents = &spec.tables.get(between)?.parents;
    let parents = parents
        .iter()
        .filter_map(|written| spec::edge(text, written).ok());
    let parents: Vec<EdgeText> = parents.filter(goes).collect();
    let ([above], true) = (&parents[..], goes(edge) && edge.columns.len() > 1) else {
        return None;
    };
    let ([shared], None, false) = (&above.columns[..], &above.none, above.alone) else {
        return None;
    };
    let at = edge.parent_columns.iter();
    let at = at
        .map(Spanned::get_ref)
        .position(|name| name == shared.name.get_ref())?;
    let own = &edge.columns[at];
    Some(EdgeText {
        columns: vec![ColumnText {
            name: own.name.clone(),
            kind: own.kind.clone().or_else(|| shared.kind.clone()),
        }],
        action: edge.action,
        optional: edge.optional,
        ..above.clone()
    })
}

/// Whether a row is deleted with what it names.
fn goes(edge: &EdgeText) -> bool {
    matches!(edge.action, ActionText::Delete | ActionText::Cascade)
}

fn not_a_key(edge: &EdgeText, table: &Table, key: &Column, defined: Span) -> Diagnostic {
    let shown = table.name.escape_debug();
    let names: Vec<&str> = edge
        .parent_columns
        .iter()
        .map(|name| name.get_ref().as_str())
        .collect();
    let named = names.join(", ");
    let help = if names.len() == 1 {
        format!(
            "an edge points at the parent's key: write `{shown}.{}`",
            key.name.escape_debug()
        )
    } else {
        format!(
            "an edge of several columns points at a unique key: add `unique = [\"{}\"]` with their types to `{shown}`",
            named.escape_debug()
        )
    };
    Diagnostic::error(
        "unknown-column",
        edge.parent_columns[0].span(),
        format!("`{}` is not the key of `{shown}`", named.escape_debug()),
        help,
    )
    .related(defined, format!("its key is `{}`", key.name.escape_debug()))
}

/// The child's column of a pair, if it can name the parent's.
fn end(
    written: &ColumnText,
    key: &Column,
    edge: &EdgeText,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Column> {
    let column = names::column(written, key.kind, diagnostics)?;
    let fits =
        column.kind == key.kind || (names::is_integer(column.kind) && names::is_integer(key.kind));
    if !fits {
        diagnostics.push(
            Diagnostic::error(
                "type-mismatch",
                written
                    .kind
                    .as_ref()
                    .map_or(written.name.span(), |kind| kind.span()),
                format!(
                    "`{}` is `{}` and cannot refer to a `{}` key",
                    column.name.escape_debug(),
                    names::kind_name(column.kind),
                    names::kind_name(key.kind)
                ),
                "declare both columns with the catalog's types; whole numbers of any width match",
            )
            .related(
                edge.table.span(),
                format!(
                    "the key `{}` is `{}`",
                    key.name.escape_debug(),
                    names::kind_name(key.kind)
                ),
            ),
        );
        return None;
    }
    Some(column)
}
