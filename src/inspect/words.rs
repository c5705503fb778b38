//! How a draft writes names, texts and types.

use super::names;
use crate::catalog::{Catalog, CatalogTable};
use crate::column::Kind;
use crate::fit::live_kind;
pub(crate) use crate::fit::small;
use crate::graph::RESERVED_RULES;

/// The type of a column, as a spec declares it.
pub(super) fn kind(catalog: &Catalog, table: &CatalogTable, column: &str) -> Option<Kind> {
    table
        .column(column)
        .and_then(|column| live_kind(catalog.dialect, column))
}

/// A key of TOML.
pub(crate) fn bare(name: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '-';
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        string(name)
    }
}

/// A text of TOML.
pub(crate) fn string(text: &str) -> String {
    // The escapes of JSON are some of TOML's. It is one line, whatever the text has.
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

/// The most letters that a rule's name may have.
const LONGEST: usize = 30;

/// What a spec and its rule may be called: after the table, as far as it may.
pub(super) fn slug(catalog: &Catalog, root: &str) -> String {
    let common = names::common_words(catalog.tables.keys().map(String::as_str));
    let letters = names::short(root, &common);
    let mut slug = letters.replace(
        |sign: char| !sign.is_ascii_alphanumeric() && sign != '_',
        "_",
    );
    if !slug.starts_with(|sign: char| sign.is_ascii_alphabetic()) {
        slug.insert_str(0, "t_");
    }
    slug.truncate(LONGEST);
    if RESERVED_RULES.contains(&slug.as_str()) {
        slug.push_str("_rows");
    }
    slug
}

/// A sentence.
pub(super) fn capital(text: &str) -> String {
    let mut signs = text.chars();
    signs.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(signs).collect()
    })
}

/// What is in a comment: names and values of a database may have any sign in them, and none of these ends the line.
pub(crate) fn line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
