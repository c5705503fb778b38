//! Texts with their places.

use std::collections::BTreeMap;

use toml::Spanned;

/// A text and its place, quotes included.
pub type Text = Spanned<String>;

/// Entries of a table in the order of the file.
pub fn in_file_order<V>(map: &BTreeMap<Text, V>) -> Vec<(&Text, &V)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}
