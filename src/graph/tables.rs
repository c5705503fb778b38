//! Tables and edges: who belongs to whom, and in which order rows may be deleted.

mod cycles;
mod edges;
mod finals;
mod kept;
mod resolved;

use std::collections::BTreeSet;

use self::cycles::check_cycles;
use self::edges::edges;
use super::{names, written};
use crate::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::dialect::Dialect;
use crate::graph::{
    Action, Column, Edge, Final, Graph, Ignored, Kind, Source, Table, TableId, With,
};
use crate::spec::grammar::{self, ColumnText};
use crate::spec::{self, Spec, Text};

pub(super) use resolved::Resolved;

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
            r#final: Final::default(),
            kept: kept::resolve(table, diagnostics),
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
        let goes = edges.iter().filter(|edge| edge.action == Action::Delete);
        let between = goes.clone().filter_map(|edge| edge.through.as_ref());
        let between = between.map(|through| through.table);
        for parent in goes.map(|edge| edge.parent).chain(between) {
            let siblings = &mut resolved.children[parent.0];
            if siblings.last() != Some(&TableId(index)) {
                siblings.push(TableId(index));
            }
        }
        let unclear = resolved.edge_is_unclear(TableId(index));
        let searched = written::searched(spec, text, &resolved.tables[index].name);
        resolved.tables[index].indexed = indexed(table, &edges, &searched, unclear, diagnostics);
        resolved.tables[index].edges = edges;
        let id = TableId(index);
        resolved.tables[index].r#final = finals::resolve(text, table, &resolved, id, diagnostics);
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
                "say why its rows may be kept when what they refer to is deleted",
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

/// Finds columns of types that not all servers of the spec have.
pub(super) fn check_kinds(
    spec: &Spec,
    graph: &Graph,
    spans: &[Span],
    diagnostics: &mut Vec<Diagnostic>,
) {
    if graph.dialects.iter().all(|it| *it == Dialect::Postgres) {
        return;
    }
    for (index, table) in graph.tables.iter().enumerate() {
        let Some((column, what)) = bytes_elsewhere(graph, index) else {
            continue;
        };
        let mut finding = Diagnostic::error(
            "type-of-one-dialect",
            spans[index].clone(),
            format!(
                "`{}.{}` is `binary`, {what}",
                table.name.escape_debug(),
                column.name.escape_debug(),
            ),
            "write `dialects = [\"postgres\"]`, or remove that from the spec",
        );
        if let Some(dialects) = &spec.dialects {
            finding = finding.related(dialects.span(), "the servers of the spec");
        }
        diagnostics.push(finding);
    }
}

/// A column of bytes of a table, and for what windrow does not read it on MySQL and MariaDB.
fn bytes_elsewhere(graph: &Graph, index: usize) -> Option<(&Column, &'static str)> {
    let table = &graph.tables[index];
    let is_bytes = |column: &&Column| column.kind == Kind::Bytea;
    let mut edges = table.edges.iter();
    let lacking = edges.find(|edge| edge.none.is_some() && is_bytes(&&edge.column));
    if let Some(edge) = lacking {
        return Some((
            &edge.column,
            "and comparing it with a value that means no parent is supported only on PostgreSQL",
        ));
    }
    for rule in &graph.rules {
        let stamps = rule.timed().is_some_and(|timed| !timed.stamps.is_empty());
        if stamps && rule.order.contains(&TableId(index)) {
            let edges = table.edges.iter().flat_map(Edge::pairs);
            let mut columns = table.key.iter().chain(edges.map(|(own, _)| own));
            if let Some(column) = columns.find(is_bytes) {
                return Some((
                    column,
                    "and a rule with stamps supports it only on PostgreSQL",
                ));
            }
        }
        let values = matches!(rule.retention.source, Some(Source::Values(_)));
        let per = rule.retention.per.as_ref().filter(is_bytes);
        if let Some(per) = per.filter(|_| values && rule.root.0 == index) {
            return Some((per, "and `by_value` supports it only on PostgreSQL"));
        }
    }
    None
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
        let listed = written::listed(rule, text);
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
    // A table that only keeps others, or is unlinked from them, is there for that.
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
    // So is one that says which rows of another are final.
    let tables = resolved.tables.iter();
    let named = tables.flat_map(|table| &table.r#final.named);
    reached.extend(named.map(|named| named.edge.parent));
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
                "add what its rows belong to under `parents`, or remove the table",
            ));
        }
    }
}

/// Whether the rows of a table go by rules of single rows alone, which find each by its whole key.
fn goes_row_by_row(spec: &Spec, text: &str, table: &Text) -> bool {
    let of = |rule: &&spec::Rule| {
        let root = rule.root.as_ref();
        root.is_some_and(|root| root.get_ref() == table.get_ref())
            || written::listed(rule, text).contains(table.get_ref())
    };
    let mut rules = spec.rules.values().filter(of).peekable();
    rules.peek().is_some() && rules.all(written::is_single)
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
            format!("the key has {} columns, but rows are collected by one", columns.len()),
            "use a key of one column, e.g. a surrogate `id`, and list this one under `unique`; a table that is nobody's parent needs no key",
        ));
        return None;
    }
    columns
        .iter()
        .map(|column| key_column(column, key, diagnostics))
        .collect()
}

/// The unique keys besides the key; those with a mistake are left out.
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
            "keys are `smallint`, `integer`, `bigint`, `numeric`, `uuid`, `varchar`, `char`, or `bytea` (`binary` on MySQL and MariaDB)",
        ));
        return None;
    }
    Some(resolved)
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
                    "only columns of `parents` are searched: remove it",
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
