//! Option documents: what routines of an installation take.

use serde_json::{Map, Value};

use crate::cli::Selection;

/// An option document: only what was given.
pub(super) fn options<const N: usize>(given: [(&str, Option<Value>); N]) -> Map<String, Value> {
    given
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// The options that preview and run share.
pub(super) fn selection(selection: &Selection) -> Map<String, Value> {
    let text = |value: &Option<String>| value.clone().map(Value::from);
    options([
        ("rule", text(&selection.rule)),
        ("scope", text(&selection.scope)),
        ("retention", text(&selection.retention)),
        ("as_of", text(&selection.as_of)),
        ("run_families", selection.run_families.map(Value::from)),
    ])
}
