//! Tables and edges: who belongs to whom, and in which order rows may go.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::graph::names;
use crate::graph::rules::{single, timed};
use crate::graph::{Action, Column, Edge, Ignored, Kind, Literal, Table, TableId, With};
use crate::spec::grammar::{self, ActionText, ColumnText, EdgeText, NoneText};
use crate::spec::{self, Spec, Text};

/// The tables with what the checks need beside them; all lists are parallel.
pub(super) struct Resolved {
    pub(super) tables: Vec<Table>,
    /// Where each table is defined.
    pub(super) spans: Vec<Span>,
    /// Tables with a key that could not be read; what names them is not blamed for it.
    unclear_keys: BTreeSet<TableId>,
    /// Tables with an edge that could not be resolved; they may belong to anything.
    unclear_edges: BTreeSet<TableId>,
    /// The tables whose rows belong to each table's, sorted.
    children: Vec<Vec<TableId>>,
}

impl Resolved {
    /// The table of that name.
    pub(super) fn find(&self, name: &str) -> Option<TableId> {
        self.tables
            .binary_search_by(|table| table.name.as_str().cmp(name))
            .ok()
            .map(TableId)
    }

    /// The table of that name, or a finding that says which one may be meant.
    pub(super) fn require(
        &self,
        spec: &Spec,
        name: &Text,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<TableId> {
        let found = self.find(name.get_ref());
        if found.is_none() {
            let shown = name.get_ref().escape_debug();
            let finding = Diagnostic::error(
                "unknown-table",
                name.span(),
                format!("unknown table `{shown}`"),
                did_you_mean(
                    name.get_ref(),
                    self.tables.iter().map(|table| table.name.as_str()),
                    &format!("add `{shown}` to [tables]"),
                ),
            );
            diagnostics.push(match spec.ignore.get_key_value(name.get_ref().as_str()) {
                Some((ignored, _)) => finding.related(ignored.span(), "ignored here"),
                None => finding,
            });
        }
        found
    }

    /// True if the table's key is missing because of an error that has been reported.
    pub(super) fn key_is_unclear(&self, table: TableId) -> bool {
        self.unclear_keys.contains(&table)
    }

    /// True if an edge of this table is missing because of an error that has been reported.
    pub(super) fn edge_is_unclear(&self, table: TableId) -> bool {
        self.unclear_edges.contains(&table)
    }

    /// True if what belongs to what is not completely known because of errors that have been reported.
    pub(super) fn edges_are_unclear(&self) -> bool {
        !self.unclear_edges.is_empty()
    }

    /// The tables that belong to a root, children before parents, the root last.
    ///
    /// Depth first by name: a table that is added elsewhere changes nothing here.
    pub(super) fn order(&self, root: TableId) -> Vec<TableId> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::from([root]);
        let mut path = vec![(root, 0)];
        while let Some((table, next)) = path.last_mut() {
            match self.children[table.0].get(*next) {
                Some(&child) => {
                    *next += 1;
                    if seen.insert(child) {
                        path.push((child, 0));
                    }
                }
                None => {
                    order.push(*table);
                    path.pop();
                }
            }
        }
        order
    }
}

/// Resolves `[tables]`.
pub(super) fn resolve(spec: &Spec, text: &str, diagnostics: &mut Vec<Diagnostic>) -> Resolved {
    let mut resolved = Resolved {
        tables: Vec::new(),
        spans: Vec::new(),
        unclear_keys: BTreeSet::new(),
        unclear_edges: BTreeSet::new(),
        children: vec![Vec::new(); spec.tables.len()],
    };
    for (index, (name, table)) in spec.tables.iter().enumerate() {
        names::identifier(name, "table", diagnostics);
        let key = table.key.as_ref().map_or(Some(Vec::new()), |key| {
            self::key(text, key, goes_row_by_row(spec, text, name), diagnostics)
        });
        if key.is_none() {
            resolved.unclear_keys.insert(TableId(index));
        }
        let name_span = name.span();
        resolved.tables.push(Table {
            name: name.get_ref().clone(),
            key: key.unwrap_or_default(),
            unique: uniques(text, table, diagnostics),
            indexed: Vec::new(),
            triggers: table
                .triggers
                .iter()
                .map(|name| name.get_ref().clone())
                .collect(),
            edges: Vec::new(),
            with: match table.with.as_ref().map(|with| *with.get_ref()) {
                Some(spec::With::Any) => With::Any,
                Some(spec::With::All) | None => With::All,
            },
        });
        resolved.spans.push(name_span);
    }
    let mut edge_spans = Vec::new();
    for (index, table) in spec.tables.values().enumerate() {
        let (edges, spans) = edges(
            spec,
            text,
            TableId(index),
            table,
            &mut resolved,
            diagnostics,
        );
        for edge in edges.iter().filter(|edge| edge.action == Action::Delete) {
            let siblings = &mut resolved.children[edge.parent.0];
            if siblings.last() != Some(&TableId(index)) {
                siblings.push(TableId(index));
            }
        }
        let unclear = resolved.edge_is_unclear(TableId(index));
        let searched = timed::searched(spec, text, &resolved.tables[index].name);
        resolved.tables[index].indexed = indexed(table, &edges, &searched, unclear, diagnostics);
        resolved.tables[index].edges = edges;
        edge_spans.push(spans);
    }
    check_cycles(&resolved, &edge_spans, diagnostics);
    resolved
}

/// Resolves `[ignore]`.
pub(super) fn ignored(spec: &Spec, diagnostics: &mut Vec<Diagnostic>) -> Vec<Ignored> {
    let mut ignored = Vec::new();
    for (table, reason) in &spec.ignore {
        names::identifier(table, "table", diagnostics);
        let shown = table.get_ref().escape_debug();
        if reason.get_ref().trim().is_empty() {
            diagnostics.push(Diagnostic::error(
                "ignored-without-reason",
                reason.span(),
                format!("`{shown}` is ignored without a reason"),
                "say why its rows may stay when what they refer to is gone",
            ));
        }
        if let Some((managed, _)) = spec.tables.get_key_value(table) {
            diagnostics.push(
                Diagnostic::error(
                    "managed-and-ignored",
                    table.span(),
                    format!("`{shown}` is both managed and ignored"),
                    "remove it from [tables] or from [ignore]",
                )
                .labelled("ignored here")
                .related(managed.span(), "managed here"),
            );
        }
        ignored.push(Ignored {
            table: table.get_ref().clone(),
            reason: reason.get_ref().clone(),
        });
    }
    ignored
}

/// Finds tables that no rule reaches from its root.
pub(super) fn check_reached(
    spec: &Spec,
    text: &str,
    resolved: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut reached = BTreeSet::new();
    for rule in spec.rules.values() {
        let listed = timed::listed(rule, text);
        reached.extend(listed.iter().filter_map(|name| resolved.find(name)));
        if listed.len() < rule.tables.len() {
            return;
        }
        match rule.root.as_ref().map(|root| resolved.find(root.get_ref())) {
            Some(Some(root)) => reached.extend(resolved.order(root)),
            // A rule without a known root may be meant for any table.
            _ => return,
        }
    }
    for table in &resolved.unclear_edges {
        reached.extend(resolved.order(*table));
    }
    // A table that only keeps others, or lets go of them, is there for that.
    let keepers = resolved
        .tables
        .iter()
        .enumerate()
        .filter(|(_, table)| {
            let mut edges = table.keeps().chain(table.releases());
            edges.any(|edge| reached.contains(&edge.parent))
        })
        .map(|(index, _)| TableId(index));
    let keepers: Vec<TableId> = keepers.collect();
    reached.extend(keepers);
    if spec.rules.is_empty() {
        let at = spec.name.as_ref().map_or(0..0, |name| name.span());
        let help = "add a rule: `[rules.NAME]` with `strategy`, `root`, `final`, `end_time` and `retention`";
        diagnostics.push(Diagnostic::error(
            "no-rules",
            at,
            "the spec has no rules",
            help,
        ));
        return;
    }
    for (index, table) in resolved.tables.iter().enumerate() {
        if !reached.contains(&TableId(index)) {
            diagnostics.push(Diagnostic::error(
                "unreachable-table",
                resolved.spans[index].clone(),
                format!(
                    "`{}` does not belong to the root of any rule",
                    table.name.escape_debug()
                ),
                "add what its rows belong to under `parents`, or take the table out",
            ));
        }
    }
}

/// Whether the rows of a table go by rules of single rows alone, which find each by its whole key.
fn goes_row_by_row(spec: &Spec, text: &str, table: &Text) -> bool {
    let of = |rule: &&spec::Rule| {
        let root = rule.root.as_ref();
        root.is_some_and(|root| root.get_ref() == table.get_ref())
            || timed::listed(rule, text).contains(table.get_ref())
    };
    let mut rules = spec.rules.values().filter(of).peekable();
    rules.peek().is_some() && rules.all(single::is_single)
}

/// The columns of a key; `several` if there may be more than one.
fn key(
    text: &str,
    key: &Text,
    several: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<Column>> {
    let columns = match grammar::key(text, key) {
        Ok(columns) => columns,
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            return None;
        }
    };
    if columns.len() > 1 && !several {
        diagnostics.push(Diagnostic::error(
            "composite-key",
            key.span(),
            format!("the key has {} columns, and rows are collected by one", columns.len()),
            "use a key of one column, e.g. a surrogate `id`, and list this one under `unique`; a table that is nobody's parent needs no key",
        ));
        return None;
    }
    columns
        .iter()
        .map(|column| key_column(column, key, diagnostics))
        .collect()
}

/// The unique keys beside the key; those with a mistake are left out.
fn uniques(text: &str, table: &spec::Table, diagnostics: &mut Vec<Diagnostic>) -> Vec<Vec<Column>> {
    let mut uniques = Vec::new();
    for written in &table.unique {
        match grammar::key(text, written) {
            Err(diagnostic) => diagnostics.push(*diagnostic),
            Ok(columns) => {
                let columns = columns
                    .iter()
                    .map(|column| key_column(column, written, diagnostics));
                uniques.extend(columns.collect::<Option<Vec<Column>>>());
            }
        }
    }
    uniques
}

fn key_column(
    column: &ColumnText,
    key: &Text,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Column> {
    if column.kind.is_none() {
        let shown = column.name.get_ref().escape_debug();
        diagnostics.push(Diagnostic::error(
            "malformed-text",
            column.name.span(),
            format!("the key `{shown}` has no type"),
            format!("write the type after it, e.g. `{shown} integer`"),
        ));
        return None;
    }
    let resolved = names::column(column, Kind::Integer, diagnostics)?;
    if !names::identifies(resolved.kind) {
        diagnostics.push(Diagnostic::error(
            "type-mismatch",
            column.kind.as_ref().map_or(key.span(), |kind| kind.span()),
            format!("a key cannot be a `{}`", names::kind_name(resolved.kind)),
            "keys are `smallint`, `integer`, `bigint`, `uuid` or `varchar`",
        ));
        return None;
    }
    Some(resolved)
}

fn edges(
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
        let edge = grammar::edge(text, written)
            .map_err(|diagnostic| diagnostics.push(*diagnostic))
            .ok();
        let Some(edge) = edge else {
            resolved.unclear_edges.insert(child);
            continue;
        };
        let Some(found) = self::edge(spec, &edge, resolved, diagnostics) else {
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
                        "`{}` names the parent `{}` twice",
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
                        "write the type that the catalog has in both places",
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
            "set only columns to NULL that say nothing else; take `set null` out if the row goes with its parent",
        );
        diagnostics.push(match other {
            None => finding,
            Some(place) => finding.related(place.clone(), "the other edge"),
        });
    }
}

/// The columns that need no index. Only the columns of edges, and those that a rule by time names, are searched: any
/// other is a mistake.
fn indexed(
    table: &spec::Table,
    edges: &[Edge],
    searched: &[String],
    unclear: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<String> {
    let edges = edges.iter().map(Edge::columns);
    let columns: Vec<String> = edges.chain(searched.iter().cloned()).collect();
    for (position, written) in table.indexed.iter().enumerate() {
        let shown = written.get_ref().escape_debug();
        if let Some(first) = table.indexed[..position]
            .iter()
            .find(|earlier| *earlier == written)
        {
            diagnostics.push(names::twice(
                written.get_ref(),
                written.span(),
                first.span(),
            ));
        } else if !unclear && !columns.contains(written.get_ref()) {
            diagnostics.push(Diagnostic::error(
                "unknown-column",
                written.span(),
                format!("`{shown}` is not a column of the table's parents"),
                did_you_mean(
                    written.get_ref(),
                    columns.iter().map(String::as_str),
                    "only columns of `parents` are searched: take it out",
                ),
            ));
        }
    }
    table
        .indexed
        .iter()
        .map(|written| written.get_ref().clone())
        .collect()
}

fn edge(
    spec: &Spec,
    edge: &EdgeText,
    resolved: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Edge> {
    let parent = resolved.require(spec, &edge.table, diagnostics)?;
    let table = &resolved.tables[parent.0];
    let shown = table.name.escape_debug();
    let Some(key) = table.key.first() else {
        if !resolved.key_is_unclear(parent) {
            diagnostics.push(
                Diagnostic::error(
                    "parent-without-key",
                    edge.table.span(),
                    format!("`{shown}` has no key that a row could name"),
                    format!(
                        "add `key = \"{} …\"` with its type to `{shown}`",
                        edge.parent_columns[0].get_ref().escape_debug()
                    ),
                )
                .related(resolved.spans[parent.0].clone(), "defined without a key"),
            );
        }
        return None;
    };
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
                NoneText::Text(text) => Literal::Text(text.clone()),
            };
            if matches!(literal, Literal::Integer(_)) != names::is_integer(column.kind) {
                diagnostics.push(Diagnostic::error(
                    "type-mismatch",
                    value.span(),
                    format!("`{}` is `{}` and never has this value", column.name.escape_debug(), names::kind_name(column.kind)),
                    "write a whole number for a column of whole numbers, and a text in single quotes for any other",
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
    })
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
                written.kind.as_ref().map_or(written.name.span(), |kind| kind.span()),
                format!(
                    "`{}` is `{}` and cannot name a `{}` key",
                    column.name.escape_debug(),
                    names::kind_name(column.kind),
                    names::kind_name(key.kind)
                ),
                "declare both columns with the types that the catalog has; whole numbers of any width go together",
            )
            .related(edge.table.span(), format!("the key `{}` is `{}`", key.name.escape_debug(), names::kind_name(key.kind))),
        );
        return None;
    }
    Some(column)
}

/// Reports cycles of the belongs-to graph, one for each knot.
fn check_cycles(resolved: &Resolved, edge_spans: &[Vec<Span>], diagnostics: &mut Vec<Diagnostic>) {
    let mut knotted: BTreeSet<TableId> = (0..resolved.tables.len()).map(TableId).collect();
    loop {
        // What has no parent, or no child, among the rest is on no cycle.
        let step_up = |table: TableId, knotted: &BTreeSet<TableId>| {
            resolved.tables[table.0]
                .edges
                .iter()
                .position(|edge| edge.action == Action::Delete && knotted.contains(&edge.parent))
        };
        loop {
            let loose: Vec<TableId> = knotted
                .iter()
                .copied()
                .filter(|table| {
                    let children = &resolved.children[table.0];
                    step_up(*table, &knotted).is_none()
                        || !children.iter().any(|child| knotted.contains(child))
                })
                .collect();
            if loose.is_empty() {
                break;
            }
            knotted.retain(|table| !loose.contains(table));
        }
        let Some(start) = knotted.first().copied() else {
            return;
        };
        let mut path: Vec<(TableId, usize)> = Vec::new();
        let mut table = start;
        while !path.iter().any(|(earlier, _)| *earlier == table) {
            let Some(edge) = step_up(table, &knotted) else {
                return;
            };
            path.push((table, edge));
            table = resolved.tables[table.0].edges[edge].parent;
        }
        // The walk may have begun outside the cycle that it met.
        path.drain(
            ..path
                .iter()
                .position(|(earlier, _)| *earlier == table)
                .unwrap_or(0),
        );
        diagnostics.push(cycle(resolved, edge_spans, &path));
        knotted.retain(|table| !path.iter().any(|(member, _)| member == table));
    }
}

fn cycle(resolved: &Resolved, edge_spans: &[Vec<Span>], path: &[(TableId, usize)]) -> Diagnostic {
    let names: Vec<String> = path
        .iter()
        .chain(path.first())
        .map(|(table, _)| format!("`{}`", resolved.tables[table.0].name.escape_debug()))
        .collect();
    let span = |(table, edge): &(TableId, usize)| edge_spans[table.0][*edge].clone();
    let first = path.first().map_or(0..0, span);
    let step = |index: usize| format!("{} belongs to {}", names[index], names[index + 1]);
    let help = if path.len() == 1 {
        "remove this edge; rows of a root table that name each other are linked under `hierarchy`"
    } else {
        "remove the edge that is not ownership; an edge to a mere reference does not belong in `parents`"
    };
    let message = format!(
        "tables belong to each other in a circle: {}",
        names.join(" → ")
    );
    let mut diagnostic =
        Diagnostic::error("belongs-to-cycle", first, message, help).labelled(step(0));
    for (index, member) in path.iter().enumerate().skip(1) {
        diagnostic = diagnostic.related(span(member), step(index));
    }
    diagnostic
}
