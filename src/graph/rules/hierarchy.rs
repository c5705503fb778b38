//! What links a member of a family to its descendants.

use super::family::Family;
use crate::diagnostic::{Diagnostic, Span, nearest};
use crate::graph::tables::Resolved;
use crate::graph::{Column, Link, Over, TableId, With, names};
use crate::spec::grammar::{self, LinkText};
use crate::spec::{self, Text};

pub(super) fn hierarchy(
    text: &str,
    rule: &spec::Rule,
    root: Option<TableId>,
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Link> {
    let mut links: Vec<(Link, Span)> = Vec::new();
    for written in &rule.hierarchy {
        let read = grammar::link(text, written)
            .map_err(|diagnostic| diagnostics.push(*diagnostic))
            .ok();
        let Some(read) = read else { continue };
        let table = family.tables.require(family.spec, &read.table, diagnostics);
        let (Some(table), Some(root)) = (table, root) else {
            continue;
        };
        let mut over = None;
        let (parent, child) = if let Some(between) = &read.over {
            let found = over_ends(&read, between, (table, root), family, diagnostics);
            let Some((parent, found)) = found else {
                continue;
            };
            over = Some(found);
            (
                Some(parent),
                family.tables.tables[root.0].key.first().cloned(),
            )
        } else if table == root {
            own_ends(&read, root, family.tables, diagnostics)
        } else {
            let end = |column: &Text, diagnostics: &mut Vec<Diagnostic>| {
                relation_end(&read.table, column, table, root, family.tables, diagnostics)
            };
            (
                end(&read.parent, diagnostics),
                end(&read.child, diagnostics),
            )
        };
        let (Some(parent), Some(child)) = (parent, child) else {
            continue;
        };
        if parent == child {
            diagnostics.push(
                Diagnostic::error(
                    "relation-one-end",
                    read.child.span(),
                    format!(
                        "both ends of the relation are `{}`",
                        child.name.escape_debug()
                    ),
                    "name the column of the parent member first, then the column of the descendant",
                )
                .related(read.parent.span(), "the parent end"),
            );
            continue;
        }
        let link = Link {
            table,
            parent,
            child,
            over,
        };
        let same = |other: &Link| {
            (other.table, &other.parent, &other.child, other.upper())
                == (link.table, &link.parent, &link.child, link.upper())
        };
        match links.iter().find(|(other, _)| same(other)) {
            Some((_, first)) => diagnostics.push(
                Diagnostic::error(
                    "duplicate-link",
                    written.span(),
                    "the same relation is listed twice",
                    "remove one of the two",
                )
                .related(first.clone(), "first here"),
            ),
            None => links.push((link, written.span())),
        }
    }
    links.into_iter().map(|(link, _)| link).collect()
}

/// The ends of a link between rows of the root table: what a row names, and the key that it is named by.
fn own_ends(
    link: &LinkText,
    root: TableId,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Option<Column>, Option<Column>) {
    // A root without a key has been reported.
    let Some(key) = tables.tables[root.0].key.first() else {
        return (None, None);
    };
    names::identifier(&link.parent, "column", diagnostics);
    let parent = Column {
        name: link.parent.get_ref().clone(),
        kind: key.kind,
    };
    if link.child.get_ref() == &key.name {
        return (Some(parent), Some(key.clone()));
    }
    let shown = link.table.get_ref().escape_debug();
    let key = key.name.escape_debug();
    diagnostics.push(
        Diagnostic::error(
            "unknown-column",
            link.child.span(),
            format!("`{}` is not the key of `{shown}`", link.child.get_ref().escape_debug()),
            format!(
                "rows of the root table refer to their parent by its key: write `{shown}: {} -> {key}`",
                link.parent.get_ref().escape_debug()
            ),
        )
        .related(tables.spans[root.0].clone(), format!("its key is `{key}`")),
    );
    (Some(parent), None)
}

/// What a row of the root table names, and the table between it and the one above it.
fn over_ends(
    link: &LinkText,
    between: &Text,
    (table, root): (TableId, TableId),
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(Column, Over)> {
    let tables = family.tables;
    let id = tables.require(family.spec, between, diagnostics)?;
    names::identifier(&link.parent, "column", diagnostics);
    let (name_of_root, name) = (&tables.tables[root.0].name, &tables.tables[id.0].name);
    let [shown_root, shown, names, column] = [
        name_of_root,
        name,
        link.child.get_ref(),
        link.parent.get_ref(),
    ]
    .map(|it| it.escape_debug());
    let mut wrong = |span: Span, message: String, help: String, defined: Option<TableId>| {
        let finding = Diagnostic::error("link-over-nothing", span, message, help);
        diagnostics.push(match defined {
            Some(id) => finding.related(tables.spans[id.0].clone(), "the table between"),
            None => finding,
        });
        None
    };
    if table != root {
        let help = format!(
            "write `{shown_root}: column -> {shown}.{names}`: a row of `{shown_root}` refers to one of `{shown}`"
        );
        let message = "only rows of the root table refer to their parent through another table";
        return wrong(link.table.span(), message.to_owned(), help, None);
    }
    if id == root {
        let key = tables.tables[root.0].key.first()?.name.escape_debug();
        let help = format!("write `{shown_root}: {column} -> {key}`");
        let message = format!("`{shown_root}` cannot be the table between its own rows");
        return wrong(between.span(), message, help, None);
    }
    let key = tables.tables[root.0].key.first()?;
    let edges = tables.tables[id.0].parents().filter(|edge| {
        edge.parent == root && edge.further.is_empty() && edge.parent_column == *key && !edge.alone
    });
    let edges: Vec<&Column> = edges.map(|edge| &edge.column).collect();
    let Some(found) = edges.iter().find(|it| it.name == *link.child.get_ref()) else {
        if tables.edge_is_unclear(id) {
            return None;
        }
        let otherwise = format!(
            "add `{names} -> {shown_root}.{}` to the parents of `{shown}`: its rows are deleted with the member that they refer to",
            key.name.escape_debug()
        );
        let help = match nearest(
            link.child.get_ref(),
            edges.iter().map(|it| it.name.as_str()),
        ) {
            Some(end) => format!("did you mean `{end}`? otherwise {otherwise}"),
            None => otherwise,
        };
        let message = format!("`{names}` is not an edge from `{shown}` to the rule's root");
        return wrong(link.child.span(), message, help, Some(id));
    };
    let Some(own) = tables.tables[id.0].key.first() else {
        if tables.key_is_unclear(id) {
            return None;
        }
        let message = format!("`{shown}` has no key that `{column}` could refer to");
        let help = format!("add `key = \"column type\"` to `{shown}`");
        return wrong(between.span(), message, help, Some(id));
    };
    if tables.tables[id.0].with == With::Any {
        let message = format!(
            "a row of `{shown}` may be deleted without the member that `{names}` refers to"
        );
        let help = format!(
            "write `with = \"all\"` at `{shown}`: with `any` the link would be deleted too early"
        );
        return wrong(link.child.span(), message, help, Some(id));
    }
    let known = tables.tables[root.0].edges.iter();
    let known = known
        .map(|edge| &edge.column)
        .find(|it| it.name == *link.parent.get_ref());
    let parent = known.cloned().unwrap_or_else(|| Column {
        name: link.parent.get_ref().clone(),
        kind: own.kind,
    });
    let over = Over {
        table: id,
        key: own.clone(),
        names: (*found).clone(),
    };
    Some((parent, over))
}

fn relation_end(
    relation: &Text,
    column: &Text,
    table: TableId,
    root: TableId,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Column> {
    let edges = tables.tables[table.0]
        .parents()
        .filter(|edge| edge.parent == root && edge.further.is_empty())
        .filter(|edge| tables.tables[root.0].key.first() == Some(&edge.parent_column));
    let ends: Vec<&Column> = edges.map(|edge| &edge.column).collect();
    let found = ends.iter().find(|end| end.name == *column.get_ref());
    // An edge that could not be read may be the one that is missed here.
    if found.is_none() && !tables.edge_is_unclear(table) {
        let root = &tables.tables[root.0];
        let key = root.key.first().map_or("…", |key| key.name.as_str());
        let shown = column.get_ref().escape_debug();
        let restricts = tables.tables[table.0]
            .keeps()
            .any(|edge| edge.column.name == *column.get_ref());
        let otherwise = if restricts {
            format!(
                "remove `restrict` from the edge of `{shown}`: a link is deleted when either of its ends is"
            )
        } else {
            format!(
                "add `{shown} -> {}.{}` to the parents of `{}`: a link is deleted when either of its ends is",
                root.name.escape_debug(),
                key.escape_debug(),
                relation.get_ref().escape_debug()
            )
        };
        diagnostics.push(
            Diagnostic::error(
                "relation-one-end",
                column.span(),
                format!(
                    "`{shown}` is not an edge from `{}` to the rule's root",
                    relation.get_ref().escape_debug()
                ),
                match nearest(column.get_ref(), ends.iter().map(|end| end.name.as_str())) {
                    Some(end) => format!("did you mean `{end}`? otherwise {otherwise}"),
                    None => otherwise,
                },
            )
            .related(tables.spans[table.0].clone(), "the relation table"),
        );
    }
    found.map(|end| (*end).clone())
}
