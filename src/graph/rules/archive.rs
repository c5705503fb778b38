//! Which tables of a rule have an archive.

use toml::Spanned;

use super::family::Family;
use crate::diagnostic::Diagnostic;
use crate::graph::{TableId, names};
use crate::spec::{Archive, Rule};

/// The tables under `archive` whose partitions are kept, and those whose rows are copied.
pub(super) fn divided(
    rule: &Rule,
    by_partition: bool,
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<TableId>, Vec<TableId>) {
    let found = tables(rule.archive.as_ref(), family, diagnostics);
    found.into_iter().partition(|_| by_partition)
}

/// Resolves `archive`, in the order of deletion.
pub(super) fn tables(
    written: Option<&Spanned<Archive>>,
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<TableId> {
    let Some(written) = written else {
        return Vec::new();
    };
    let names = match written.get_ref() {
        Archive::All(false) => return Vec::new(),
        Archive::All(true) => return family.order.to_vec(),
        Archive::Tables(names) => names,
    };
    if names.is_empty() {
        diagnostics.push(Diagnostic::error(
            "empty-archive",
            written.span(),
            "`archive` names no table",
            "write `archive = true` for every table of the rule, name some, or remove it",
        ));
    }
    let mut found = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let first = names[..place]
            .iter()
            .find(|other| other.get_ref() == name.get_ref());
        if let Some(first) = first {
            diagnostics.push(names::twice(name.get_ref(), name.span(), first.span()));
            continue;
        }
        found.extend(family.require(name, diagnostics));
    }
    let mut order = family.order.to_vec();
    order.retain(|table| found.contains(table));
    order
}
