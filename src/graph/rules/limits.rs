//! How much a rule takes at once, and what makes a batch wait.

use crate::diagnostic::Diagnostic;
use crate::facts::{Limit, SETTINGS};
use crate::graph::{Limits, names};
use crate::spec::{self, Text};

/// Resolves `limits`; durations in the unit that each is counted in.
pub(super) fn limits(written: &spec::Limits, diagnostics: &mut Vec<Diagnostic>) -> Limits {
    let mut limits = Limits::default();
    for setting in &SETTINGS {
        let said = match setting.limit {
            None => None,
            Some(Limit::Count { least, greatest }) => {
                let said = written.counts.get(setting.name);
                said.map(|said| {
                    names::count(Some(said), setting.default, least..=greatest, diagnostics)
                })
            }
            Some(Limit::Span { least }) => written.spans.get(setting.name).map(|said| {
                let unit = setting.milliseconds();
                let default = setting.default * unit;
                names::milliseconds(Some(said), default, unit, least * unit, diagnostics) / unit
            }),
        };
        limits.said.extend(said.map(|said| (setting.name, said)));
    }
    let query = written.wait_while_sql.as_ref();
    limits.wait_while_sql = query.and_then(|sql| raw_query(sql, diagnostics));
    limits
}

/// A query of the spec that is used unchanged: it is put in brackets into a routine, and must not close them.
fn raw_query(written: &Text, diagnostics: &mut Vec<Diagnostic>) -> Option<String> {
    let sql = written.get_ref().trim();
    let first = sql.split_whitespace().next().unwrap_or_default();
    if first.eq_ignore_ascii_case("select")
        && ![";", "$$", "$windrow$", "--"]
            .iter()
            .any(|end| sql.contains(end))
    {
        return Some(sql.to_owned());
    }
    diagnostics.push(Diagnostic::error(
        "no-query",
        written.span(),
        "`wait_while_sql` is not a single query",
        "write one `SELECT` of one value, without `;` and comments",
    ));
    None
}
