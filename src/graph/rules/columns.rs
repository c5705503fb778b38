//! The columns that a rule names: times, and those that group and order rows.

use crate::diagnostic::{Diagnostic, Span};
use crate::graph::{Column, Epoch, Kind, names};
use crate::spec::Text;
use crate::spec::grammar::{self, ColumnText};

pub(super) fn end_time(
    text: &str,
    written: &Text,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Column> {
    let read = grammar::column(text, written)
        .map_err(|diagnostic| diagnostics.push(*diagnostic))
        .ok()?;
    time_column(&read, written, diagnostics)
}

/// A time that may be a number or a date, with what that counts.
pub(super) fn time_or_number(
    text: &str,
    written: &Text,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(Column, Option<Epoch>)> {
    let read = grammar::column(text, written)
        .map_err(|diagnostic| diagnostics.push(*diagnostic))
        .ok()?;
    match epoch(&read) {
        Some(epoch) => Some((counted(&read, epoch, diagnostics), Some(epoch))),
        None => Some((time_column(&read, written, diagnostics)?, None)),
    }
}

/// What a column counts, if it is a number or a date that says an instant.
pub(super) fn epoch(read: &ColumnText) -> Option<Epoch> {
    let word = read.kind.as_ref()?.get_ref();
    Epoch::ALL.into_iter().find(|epoch| epoch.word() == word)
}

/// A column whose number or date says an instant, by which it is known.
pub(super) fn counted(
    read: &ColumnText,
    epoch: Epoch,
    diagnostics: &mut Vec<Diagnostic>,
) -> Column {
    names::identifier(&read.name, "column", diagnostics);
    Column {
        name: read.name.get_ref().clone(),
        kind: epoch.kind(),
    }
}

pub(super) fn time_column(
    read: &ColumnText,
    written: &Text,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Column> {
    let column = names::column(read, Kind::Timestamp, diagnostics)?;
    if names::identifies(column.kind) {
        diagnostics.push(Diagnostic::error(
            "type-mismatch",
            read.kind.as_ref().map_or(written.span(), |kind| kind.span()),
            format!("`{}` is `{}` and cannot be an end time", column.name.escape_debug(), names::kind_name(column.kind)),
            "an end time is a `timestamp` (zone-less, in the spec's `time_zone`) or a `timestamptz`",
        ));
        return None;
    }
    Some(column)
}

/// Columns of a list, each listed once.
pub(super) fn columns(
    text: &str,
    written: &[Text],
    default: Kind,
    seen: &mut Vec<(String, Span)>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<Column>> {
    let mut found = Vec::new();
    for one in written {
        let column = grammar::column(text, one)
            .map_err(|diagnostic| diagnostics.push(*diagnostic))
            .ok()
            .and_then(|read| names::column(&read, default, diagnostics));
        if let Some(column) = &column {
            match seen.iter().find(|(name, _)| *name == column.name) {
                Some((_, first)) => {
                    diagnostics.push(names::twice(&column.name, one.span(), first.clone()));
                }
                None => seen.push((column.name.clone(), one.span())),
            }
        }
        found.push(column);
    }
    found.into_iter().collect()
}
