//! The cells of a row as values. A catalog query gives each of them; an empty one is an empty text or 0.

use super::session::Row;

pub(super) fn text(row: &Row, at: usize) -> String {
    row.get(at).cloned().flatten().unwrap_or_default()
}

pub(super) fn number(row: &Row, at: usize) -> i64 {
    text(row, at).parse().unwrap_or_default()
}
