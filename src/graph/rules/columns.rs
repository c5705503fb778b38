//! The columns that a rule names: times, and those that group and order rows.

use crate::diagnostic::{Diagnostic, Span};
use crate::graph::{Column, Kind, names};
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
