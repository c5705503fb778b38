//! What a rule by removal time says of setting removal times anew.

use toml::Spanned;

use super::retention::{definition, naming};
use super::{end_time, names};
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::tables::Resolved;
use crate::graph::{Action, Column, Own, Stamp, TableId};
use crate::spec::{self, Spec, Text, grammar};

/// The rule around a stamp.
pub(super) struct Around<'a> {
    pub(super) spec: &'a Spec,
    pub(super) text: &'a str,
    pub(super) name: &'a Text,
    pub(super) tables: &'a Resolved,
    /// The rule's tables, in the order in which their rows go.
    pub(super) order: &'a [TableId],
    /// The time that is set, and the end of a row of the root table.
    pub(super) time: Option<&'a Column>,
    pub(super) ended: Option<&'a Column>,
}

/// Resolves `stamp`; none where something is missing.
pub(super) fn stamp(
    around: &Around<'_>,
    written: &Spanned<spec::Stamp>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Stamp> {
    let Around { text, .. } = *around;
    let stamp = written.get_ref();
    check_fields(around, written, diagnostics);
    let start = stamp
        .start
        .as_ref()
        .and_then(|written| end_time(text, written, diagnostics));
    let unnamed = |kind: &str| format!("a `{kind}` cannot name a definition");
    let per = stamp
        .per
        .as_ref()
        .and_then(|written| naming(text, written, unnamed, diagnostics));
    let from = match (&stamp.from, &per) {
        (Some(from), Some(per)) => definition(text, from, per.kind, diagnostics),
        _ => None,
    };
    if let (Some(start), Some(place)) = (&start, &stamp.start) {
        for other in [around.ended, around.time].into_iter().flatten() {
            if other.kind != start.kind {
                diagnostics.push(Diagnostic::error(
                    "type-mismatch",
                    place.span(),
                    format!(
                        "`{}` is `{}` and `{}` is `{}`",
                        start.name.escape_debug(),
                        names::kind_name(start.kind),
                        other.name.escape_debug(),
                        names::kind_name(other.kind)
                    ),
                    "start, end and removal time are counted from each other: write them with one type",
                ));
                break;
            }
        }
    }
    let mut own = owns(around, &stamp.own, diagnostics);
    own.sort_by_key(|own| around.order.iter().position(|table| *table == own.table));
    let named = named(around, &stamp.named, diagnostics);
    let untouched = untouched(around, &stamp.untouched, diagnostics);
    Some(Stamp {
        start: start?,
        per: per?,
        definition: from?,
        own,
        named,
        untouched,
    })
}

fn check_fields(
    around: &Around<'_>,
    written: &Spanned<spec::Stamp>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let stamp = written.get_ref();
    let fields = [
        (
            "start",
            stamp.start.is_some(),
            "add `start = \"column\"`: when a row of the root table began",
        ),
        (
            "per",
            stamp.per.is_some(),
            "add `per = \"column type\"`: the column of the root table that names its definition",
        ),
        (
            "from",
            stamp.from.is_some(),
            "add `from = \"table: key -> column days\"`: the definitions, and the column that says how long",
        ),
    ];
    let mut missing = |what: String, help: &str| {
        diagnostics.push(Diagnostic::error(
            "missing-field",
            written.span(),
            what,
            help,
        ));
    };
    let rule = around.name.get_ref().escape_debug();
    for (field, _, help) in fields.iter().filter(|(_, is_there, _)| !is_there) {
        missing(format!("`stamp` of rule `{rule}` has no `{field}`"), help);
    }
    if around.ended.is_none() {
        missing(
            format!("rule `{rule}` has a `stamp` and no `end_time`"),
            "add `end_time = \"column\"` to the rule: removal times count from the end of the root, or from its start",
        );
    }
}

/// A table that a stamp names, which must be one of the rule's.
fn member(
    around: &Around<'_>,
    written: &Text,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<TableId> {
    let found = around.tables.require(around.spec, written, diagnostics)?;
    if around.order.contains(&found) || around.order.is_empty() {
        return Some(found);
    }
    diagnostics.push(Diagnostic::error(
        "table-outside-family",
        written.span(),
        format!(
            "`{}` is not a table of the rule",
            written.get_ref().escape_debug()
        ),
        "name one of the rule's `tables`: only these have its removal time",
    ));
    None
}

fn owns(around: &Around<'_>, written: &[Text], diagnostics: &mut Vec<Diagnostic>) -> Vec<Own> {
    let mut found: Vec<(Own, Span, Option<Text>)> = Vec::new();
    for text in written {
        let read = grammar::own(around.text, text)
            .map_err(|diagnostic| diagnostics.push(*diagnostic))
            .ok();
        let Some(read) = read else { continue };
        names::identifier(&read.column, "column", diagnostics);
        let Some(table) = member(around, &read.table, diagnostics) else {
            continue;
        };
        let through = match &read.through {
            Some(through) => match member(around, through, diagnostics) {
                Some(through) => Some(through),
                None => continue,
            },
            None => None,
        };
        if let Some((_, first, _)) = found.iter().find(|(own, ..)| own.table == table) {
            let name = read.table.get_ref();
            diagnostics.push(names::twice(name, read.table.span(), first.clone()));
            continue;
        }
        let own = Own {
            table,
            column: read.column.get_ref().clone(),
            through,
        };
        found.push((own, read.table.span(), read.through));
    }
    // What could not be read may be the table in between.
    if found.len() == written.len() {
        check_through(around, &found, diagnostics);
    }
    found.into_iter().map(|(own, ..)| own).collect()
}

/// A row in between must name the instance itself, and have a key by which it is named.
fn check_through(
    around: &Around<'_>,
    found: &[(Own, Span, Option<Text>)],
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (own, _, place) in found {
        let (Some(through), Some(place)) = (own.through, place) else {
            continue;
        };
        let shown = place.get_ref().escape_debug();
        let direct = |other: &&(Own, Span, Option<Text>)| {
            other.0.table == through && other.0.through.is_none()
        };
        if !found.iter().any(|other| direct(&other)) {
            diagnostics.push(Diagnostic::error(
                "own-through-nothing",
                place.span(),
                format!("`own` does not say which instance a row of `{shown}` names"),
                format!("add `{shown}: column` with the column that names it"),
            ));
        } else if around.tables.tables[through.0].key.is_empty()
            && !around.tables.key_is_unclear(through)
        {
            diagnostics.push(
                Diagnostic::error(
                    "parent-without-key",
                    place.span(),
                    format!("`{shown}` has no key that a row could name"),
                    format!("add `key = \"column type\"` to `{shown}`"),
                )
                .related(
                    around.tables.spans[through.0].clone(),
                    "defined without a key",
                ),
            );
        }
    }
}

fn named(around: &Around<'_>, written: &[Text], diagnostics: &mut Vec<Diagnostic>) -> Vec<TableId> {
    let mut found: Vec<(TableId, Span)> = Vec::new();
    for text in written {
        let Some(table) = member(around, text, diagnostics) else {
            continue;
        };
        let shown = text.get_ref().escape_debug();
        if let Some((_, first)) = found.iter().find(|(other, _)| *other == table) {
            diagnostics.push(names::twice(text.get_ref(), text.span(), first.clone()));
            continue;
        }
        let mut edges = around
            .order
            .iter()
            .flat_map(|id| &around.tables.tables[id.0].edges);
        let is_named = edges.any(|edge| edge.parent == table && edge.action == Action::Delete);
        if !is_named && !around.tables.edges_are_unclear() {
            diagnostics.push(
                Diagnostic::error(
                    "named-by-nothing",
                    text.span(),
                    format!("no row of the rule names a row of `{shown}`"),
                    format!(
                        "add `column -> {shown}.key` to the `parents` of the tables whose rows do"
                    ),
                )
                .related(around.tables.spans[table.0].clone(), "the table"),
            );
        }
        found.push((table, text.span()));
    }
    found.into_iter().map(|(table, _)| table).collect()
}

fn untouched(
    around: &Around<'_>,
    written: &[Text],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<(TableId, Vec<String>)> {
    let mut found = Vec::new();
    for text in written {
        let read = grammar::member(around.text, text)
            .map_err(|diagnostic| diagnostics.push(*diagnostic))
            .ok();
        let Some(read) = read else { continue };
        for column in &read.columns {
            names::identifier(column, "column", diagnostics);
        }
        if let Some(table) = member(around, &read.table, diagnostics) {
            let columns = read.columns.into_iter().map(Spanned::into_inner);
            found.push((table, columns.collect()));
        }
    }
    found
}

/// The columns of a table by which a stamp finds its rows, so that `indexed` may name them.
pub(super) fn searched(rule: &spec::Rule, text: &str, table: &str) -> Vec<String> {
    rule.stamp
        .iter()
        .flat_map(|stamp| &stamp.get_ref().own)
        .filter_map(|written| grammar::own(text, written).ok())
        .filter(|read| read.table.get_ref() == table)
        .map(|read| read.column.into_inner())
        .collect()
}
