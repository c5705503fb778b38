//! Which rows of a table are kept when their parents are deleted.

use crate::diagnostic::Diagnostic;
use crate::graph::Condition;
use crate::graph::conditions::condition;
use crate::spec::{self, grammar, in_file_order};

/// What a kept row of a table contains.
pub(super) fn resolve(written: &spec::Table, diagnostics: &mut Vec<Diagnostic>) -> Vec<Condition> {
    let mut found = Vec::new();
    let conditions = written.kept.iter().map(toml::Spanned::get_ref);
    for (name, values) in conditions.flat_map(in_file_order) {
        if grammar::names_another(name) {
            diagnostics.push(Diagnostic::error(
                "kept-by-another",
                name.span(),
                format!("`{}` is a column of another row", name.get_ref().escape_debug()),
                "`kept` checks only the row itself, as rows that it refers to may be deleted: use one of its own columns",
            ));
            continue;
        }
        found.push(condition(name, values, diagnostics));
    }
    found
}
