//! What a rule by removal time says of setting removal times.

use toml::Spanned;

use super::columns::end_time;
use super::family::root;
use super::fields::check_there;
use super::retention::{by_value, definition, naming, two_sources};
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::conditions::conditions;
use crate::graph::tables::Resolved;
use crate::graph::{Action, Column, Own, Source, Stamp, TableId, names};
use crate::spec::{self, Spec, StampOf, Text, grammar, in_file_order};

/// The rule around a stamp.
pub(super) struct Around<'a> {
    pub(super) spec: &'a Spec,
    pub(super) text: &'a str,
    pub(super) name: &'a Text,
    pub(super) tables: &'a Resolved,
    pub(super) root: Option<TableId>,
    /// The column of the root table that refers to the root of a row's family.
    pub(super) family: Option<&'a String>,
    /// The rule's tables, in the order in which their rows are deleted.
    pub(super) order: &'a [TableId],
    /// The time that is set, and the end of a row of the root table.
    pub(super) time: Option<&'a Column>,
    pub(super) ended: Option<&'a Column>,
}

/// Resolves `stamp`, without what misses something.
pub(super) fn stamps(
    around: &Around<'_>,
    written: &Spanned<spec::Stamp>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Stamp> {
    let untouched = untouched(around, &written.get_ref().untouched, diagnostics);
    let mut found = Vec::new();
    found.extend(of_families(around, written, &untouched, diagnostics));
    for (name, written) in in_file_order(&written.get_ref().of) {
        found.extend(of_others(around, name, written, &untouched, diagnostics));
    }
    found
}

/// The stamp of the rule's families.
fn of_families(
    around: &Around<'_>,
    written: &Spanned<spec::Stamp>,
    untouched: &[(TableId, Vec<String>)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Stamp> {
    let Around { text, .. } = *around;
    let stamp = written.get_ref();
    check_fields(around, written, diagnostics);
    let start = stamp
        .start
        .as_ref()
        .and_then(|written| end_time(text, written, diagnostics));
    let per = stamp
        .per
        .as_ref()
        .and_then(|written| naming(text, written, unnamed, diagnostics));
    let from = match (&stamp.from, &per) {
        (Some(from), Some(per)) => definition(text, from, per.kind, diagnostics),
        _ => None,
    };
    check_kinds(
        start.as_ref(),
        stamp.start.as_ref(),
        [around.ended, around.time],
        diagnostics,
    );
    let own = owns(around, around.root, &stamp.own, diagnostics);
    let named = named(around, &stamp.named, diagnostics);
    Some(Stamp {
        of: None,
        root: around.root?,
        candidates: Vec::new(),
        family: around.family.cloned(),
        start: start?,
        ended: around.ended?.clone(),
        per: per?,
        source: Source::Definition(from?),
        own,
        named,
        untouched: untouched.to_vec(),
    })
}

/// The stamp of rows that belong to none of the rule's families.
fn of_others(
    around: &Around<'_>,
    name: &Text,
    written: &Spanned<StampOf>,
    untouched: &[(TableId, Vec<String>)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Stamp> {
    let Around { text, .. } = *around;
    let stamp = written.get_ref();
    names::stamp_name(around.name, name, diagnostics);
    check_fields_of_others(name, written, diagnostics);
    let table = stamp.root.as_ref().and_then(|written| {
        member(around, written, diagnostics)?;
        root(around.spec, written, around.tables, diagnostics)
    });
    same_key(around, stamp, table, diagnostics);
    if let Some(family) = &stamp.family {
        names::identifier(family, "column", diagnostics);
    }
    let mut time = |written: &Option<Text>| {
        let column = written
            .as_ref()
            .and_then(|written| end_time(text, written, diagnostics));
        check_kinds(
            column.as_ref(),
            written.as_ref(),
            [around.time, None],
            diagnostics,
        );
        column
    };
    let (start, ended) = (time(&stamp.start), time(&stamp.end_time));
    let per = stamp
        .per
        .as_ref()
        .and_then(|written| naming(text, written, unnamed, diagnostics));
    two_sources(stamp.from.as_ref(), stamp.by_value.as_ref(), diagnostics);
    let source = match (&stamp.from, &stamp.by_value, &per) {
        (Some(from), _, Some(per)) => {
            definition(text, from, per.kind, diagnostics).map(Source::Definition)
        }
        (None, Some(values), per) => Some(Source::Values(by_value(
            values,
            per.as_ref(),
            None,
            None,
            diagnostics,
        ))),
        _ => None,
    };
    Some(Stamp {
        of: Some(name.get_ref().clone()),
        candidates: conditions(&stamp.candidates, diagnostics),
        family: stamp.family.as_ref().map(|it| it.get_ref().clone()),
        own: owns(around, table, &stamp.own, diagnostics),
        named: named(around, &stamp.named, diagnostics),
        root: table?,
        start: start?,
        ended: ended?,
        per: per?,
        source: source?,
        untouched: untouched.to_vec(),
    })
}

/// A hold names a row of any of these tables by one key.
fn same_key(
    around: &Around<'_>,
    stamp: &StampOf,
    table: Option<TableId>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let key = |id: TableId| around.tables.tables[id.0].key.first();
    let keys = (table.and_then(key), around.root.and_then(key));
    let (Some(written), (Some(key), Some(of_rule))) = (&stamp.root, keys) else {
        return;
    };
    if key.kind != of_rule.kind {
        diagnostics.push(Diagnostic::error(
            "type-mismatch",
            written.span(),
            format!(
                "the key of this table is `{}` and that of the rule's root table `{}`",
                names::kind_name(key.kind),
                names::kind_name(of_rule.kind)
            ),
            "a hold refers to a row of either table by its key: write both with one type",
        ));
    }
}

fn unnamed(kind: &str) -> String {
    format!("a `{kind}` cannot refer to a definition")
}

/// Times that are counted from each other have one type.
fn check_kinds(
    column: Option<&Column>,
    written: Option<&Text>,
    others: [Option<&Column>; 2],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let (Some(column), Some(place)) = (column, written) else {
        return;
    };
    let mut others = others.into_iter().flatten();
    if let Some(other) = others.find(|other| other.kind != column.kind) {
        diagnostics.push(Diagnostic::error(
            "type-mismatch",
            place.span(),
            format!(
                "`{}` is `{}` and `{}` is `{}`",
                column.name.escape_debug(),
                names::kind_name(column.kind),
                other.name.escape_debug(),
                names::kind_name(other.kind)
            ),
            "start, end and removal time are computed from each other: write them with one type",
        ));
    }
}

fn check_fields_of_others(
    name: &Text,
    written: &Spanned<StampOf>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let stamp = written.get_ref();
    let fields = [
        (
            "root",
            stamp.root.is_some(),
            "add `root = \"table\"`: one of the rule's `tables`",
        ),
        (
            "start",
            stamp.start.is_some(),
            "add `start = \"column\"`: when a row of the root table began",
        ),
        (
            "end_time",
            stamp.end_time.is_some(),
            "add `end_time = \"column\"`: when it ended; if start and end are one instant, name the same column for both",
        ),
        (
            "per",
            stamp.per.is_some(),
            "add `per = \"column type\"`: the column of the root table that refers to its definition, or has a value of `by_value`",
        ),
        (
            "from",
            stamp.from.is_some() || stamp.by_value.is_some(),
            "add `from = \"table: key -> column days\"` or `by_value = { value = \"30d\" }`: the retention",
        ),
    ];
    let what = format!("the stamp of `{}`", name.get_ref().escape_debug());
    check_there(&what, written.span(), &fields, diagnostics);
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
            "add `per = \"column type\"`: the column of the root table that refers to its definition",
        ),
        (
            "from",
            stamp.from.is_some(),
            "add `from = \"table: key -> column days\"`: the definitions, and the column that says how long",
        ),
    ];
    let rule = around.name.get_ref().escape_debug();
    let what = format!("`stamp` of rule `{rule}`");
    check_there(&what, written.span(), &fields, diagnostics);
    if around.ended.is_none() {
        diagnostics.push(Diagnostic::error(
            "missing-field",
            written.span(),
            format!("rule `{rule}` has a `stamp` and no `end_time`"),
            "add `end_time = \"column\"` to the rule: removal times count from the end of the root, or from its start",
        ));
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

fn owns(
    around: &Around<'_>,
    root: Option<TableId>,
    written: &[Text],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Own> {
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
        if let Some(named) = &read.named {
            names::identifier(named, "column", diagnostics);
        }
        let own = Own {
            table,
            column: read.column.get_ref().clone(),
            through: through.filter(|_| read.named.is_none()),
            of_root: read.named.as_ref().map(|it| it.get_ref().clone()),
        };
        if let Some(named) = read
            .named
            .as_ref()
            .filter(|_| root.is_some() && through != root)
        {
            diagnostics.push(Diagnostic::error(
                "own-through-nothing",
                named.span(),
                "only rows of the root table can be referred to by another column than the key",
                "remove the column",
            ));
            continue;
        }
        // A row may say whose it is by several columns.
        let again = |other: &Own| {
            let both = own.of_root.is_some() == other.of_root.is_some();
            let same = (&own.column, &own.of_root) == (&other.column, &other.of_root);
            own.table == other.table && (!both || same)
        };
        if let Some((_, first, _)) = found.iter().find(|(other, ..)| again(other)) {
            let name = read.table.get_ref();
            diagnostics.push(names::twice(name, read.table.span(), first.clone()));
            continue;
        }
        found.push((own, read.table.span(), read.through));
    }
    // What could not be read may be the table in between.
    if found.len() == written.len() {
        check_through(around, &found, diagnostics);
    }
    let mut found: Vec<Own> = found.into_iter().map(|(own, ..)| own).collect();
    found.sort_by_key(|own| around.order.iter().position(|table| *table == own.table));
    found
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
                format!("`own` does not say which instance a row of `{shown}` refers to"),
                format!("add `{shown}: column` with the column that refers to it"),
            ));
        } else if around.tables.tables[through.0].key.is_empty()
            && !around.tables.key_is_unclear(through)
        {
            diagnostics.push(
                Diagnostic::error(
                    "parent-without-key",
                    place.span(),
                    format!("`{shown}` has no key that a row could refer to"),
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
                    format!("no row of the rule refers to a row of `{shown}`"),
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
