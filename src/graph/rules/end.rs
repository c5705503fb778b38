//! When a row of the root table ended: a column of its own says it, or the last of its rows of another table.

use super::columns::{counted, end_time, epoch, time_column};
use super::family::Family;
use super::fields::missing;
use crate::diagnostic::{Diagnostic, Span};
use crate::dialect::Dialect;
use crate::graph::conditions::conditions;
use crate::graph::{self, Column, Condition, Epoch, Last, TableId, names};
use crate::spec::grammar::{self, EndTimeText};
use crate::spec::{self, Spec, Text};

/// What a rule knows of the end of its roots.
pub(super) struct End {
    /// The end, or the time by which roots are looked for where other rows say it.
    pub(super) time: Column,
    /// What is used where it is NULL.
    pub(super) otherwise: Option<Column>,
    /// What it counts, if it is a number.
    pub(super) epoch: Option<Epoch>,
    /// The other rows.
    pub(super) last: Option<Last>,
}

/// Resolves `end_time` with `start_time`.
pub(super) fn end(
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<End> {
    let written = rule.end_time.as_ref()?;
    let read = grammar::end_time(text, written)
        .map_err(|diagnostic| diagnostics.push(*diagnostic))
        .ok()?;
    let own = own(&read, written, diagnostics);
    let Some(table) = &read.table else {
        check_otherwise(family.spec, &read, diagnostics);
        if let Some(start) = &rule.start_time {
            diagnostics.push(Diagnostic::error(
                "start-without-max",
                start.span(),
                format!(
                    "rule `{}` finds its roots by their end, but has a `start_time`",
                    name.get_ref().escape_debug()
                ),
                "remove it; or write `end_time = \"max(table.column)\"`, if rows of another table determine when a root ended",
            ));
        }
        let end = own?;
        return Some(End {
            time: end.time,
            otherwise: end.otherwise,
            epoch: end.epoch,
            last: None,
        });
    };
    if serves(family.spec, |dialect| dialect != Dialect::Postgres) {
        diagnostics.push(Diagnostic::error(
            "max-of-one-dialect",
            table.span(),
            "roots that end with rows of another table are supported only on PostgreSQL",
            "write `dialects = [\"postgres\"]` into the spec, or name a column of the root table",
        ));
    }
    let start = start(text, name, rule, diagnostics);
    let time = own.as_ref().map(|end| &end.time);
    if let (Some((start, written)), Some(time)) = (&start, time)
        && start.kind != time.kind
    {
        let [start_kind, kind] = [start, time].map(|column| names::kind_name(column.kind));
        diagnostics.push(
            Diagnostic::error(
                "type-mismatch",
                written.clone(),
                format!(
                    "`{}` is `{start_kind}` here, and `{}` is `{kind}`",
                    start.name.escape_debug(),
                    time.name.escape_debug()
                ),
                "both are compared with the same cutoff: write the types as in the catalog, if they are the same there",
            )
            .related(read.column.name.span(), format!("`{kind}` here")),
        );
    }
    let found = rows(table, family, diagnostics);
    let (end, (start, _), (table, names)) = (own?, start?, found?);
    Some(End {
        time: start,
        otherwise: None,
        epoch: None,
        last: Some(Last {
            table,
            names,
            otherwise: end.otherwise,
            time: end.time,
        }),
    })
}

/// What a row holds that is final.
pub(super) fn finals(
    name: &Text,
    rule: &spec::Rule,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Condition> {
    let Some(written) = &rule.r#final else {
        return Vec::new();
    };
    if written.get_ref().is_empty() {
        diagnostics.push(Diagnostic::error(
            "empty-final",
            written.span(),
            format!(
                "rule `{}` does not say which rows are final",
                name.get_ref().escape_debug()
            ),
            "name a column and the values of rows that no longer change: `{ state = [5, 6, 7] }`",
        ));
    }
    conditions(written.get_ref(), diagnostics)
}

/// Resolves `end_time` of a rule of partitions: each row of the root table says its own end.
pub(super) fn of_partitions(
    text: &str,
    rule: &spec::Rule,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<graph::End> {
    let written = rule.end_time.as_ref()?;
    let read = grammar::end_time(text, written)
        .map_err(|diagnostic| diagnostics.push(*diagnostic))
        .ok()?;
    if let Some(table) = &read.table {
        diagnostics.push(Diagnostic::error(
            "end-outside-root",
            table.span(),
            "partitions wait for rows of the root table, which say their end themselves",
            "name a column of the root table",
        ));
        return None;
    }
    check_fallback(&read, diagnostics);
    own(&read, written, diagnostics)
}

/// The columns that say an end, of whichever table.
fn own(
    read: &EndTimeText,
    written: &Text,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<graph::End> {
    // Anywhere else such a word is no known type.
    let alone = read.table.is_none() && read.otherwise.is_none();
    let epoch = epoch(&read.column).filter(|_| alone);
    let time = match epoch {
        Some(epoch) => Some(counted(&read.column, epoch, diagnostics)),
        None => time_column(&read.column, written, diagnostics),
    };
    if let Some(otherwise) = &read.otherwise {
        names::identifier(otherwise, "column", diagnostics);
    }
    let time = time?;
    let otherwise = read.otherwise.as_ref().map(|name| Column {
        name: name.get_ref().clone(),
        kind: time.kind,
    });
    Some(graph::End {
        time,
        otherwise,
        epoch,
    })
}

/// When a root began, and where that is.
fn start(
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(Column, Span)> {
    let Some(written) = &rule.start_time else {
        let help = "add `start_time = \"column\"`: when a row of the root table began; roots that end with rows of another \
             table are found by it";
        diagnostics.push(missing(name, "start_time", help));
        return None;
    };
    Some((end_time(text, written, diagnostics)?, written.span()))
}

/// The table whose rows say when a root ended, and its column that refers to the root.
fn rows(
    written: &Text,
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(TableId, Column)> {
    let table = family.require(written, diagnostics)?;
    let root = *family.order.last()?;
    let key = family.tables.tables[root.0].key.first();
    let of_key: Vec<&Column> = family.tables.tables[table.0]
        .parents()
        .filter(|edge| edge.parent == root && edge.further.is_empty() && !edge.alone)
        .filter(|edge| Some(&edge.parent_column) == key)
        .map(|edge| &edge.column)
        .collect();
    if let [names] = of_key[..] {
        return Some((table, names.clone()));
    }
    let shown = written.get_ref().escape_debug();
    let (message, help) = if table == root {
        (
            format!("`{shown}` is the root table itself"),
            "write the column alone",
        )
    } else if of_key.is_empty() {
        (
            format!("`{shown}` has no column that refers to the key of the rule's root"),
            "name a table whose rows refer to their root by its key, or a column of the root table",
        )
    } else {
        (
            format!("`{shown}` refers to the key of the rule's root by several columns"),
            "name a table whose rows have one root each, or a column of the root table",
        )
    };
    if !family.tables.edges_are_unclear() {
        diagnostics.push(
            Diagnostic::error("end-outside-root", written.span(), message, help)
                .related(family.tables.spans[table.0].clone(), "the table"),
        );
    }
    None
}

/// A column of the root table that replaces another one of it.
fn check_otherwise(spec: &Spec, read: &EndTimeText, diagnostics: &mut Vec<Diagnostic>) {
    let Some(otherwise) = &read.otherwise else {
        return;
    };
    let column = &read.column.name;
    check_fallback(read, diagnostics);
    if serves(spec, |dialect| dialect == Dialect::Mariadb) {
        diagnostics.push(Diagnostic::error(
            "no-index-on-expression",
            otherwise.span(),
            format!(
                "MariaDB has no index on `{}` or, where that is NULL, `{}`",
                column.get_ref().escape_debug(),
                otherwise.get_ref().escape_debug()
            ),
            "write `dialects` without \"mariadb\" into the spec; or add a generated column with the one or the other to the \
             table, and use that column",
        ));
    }
}

/// A fallback is another column.
fn check_fallback(read: &EndTimeText, diagnostics: &mut Vec<Diagnostic>) {
    let column = read.column.name.get_ref();
    let own = read.otherwise.as_ref().filter(|it| it.get_ref() == column);
    if let Some(otherwise) = own {
        diagnostics.push(Diagnostic::error(
            "duplicate-value",
            otherwise.span(),
            format!("`{}` is its own fallback", column.escape_debug()),
            "name another column, or remove `else`: then undated rows are reported",
        ));
    }
}

/// Whether the spec is for a server of that kind.
pub(super) fn serves(spec: &Spec, kind: impl Fn(Dialect) -> bool) -> bool {
    spec.dialects.as_ref().is_none_or(|dialects| {
        let mut listed = dialects.get_ref().iter();
        listed.any(|dialect| kind(*dialect.get_ref()))
    })
}
