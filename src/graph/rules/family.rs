//! The root table of a rule, and the tables whose rows belong to it.

use crate::diagnostic::Diagnostic;
use crate::graph::TableId;
use crate::graph::tables::Resolved;
use crate::spec::{Spec, Text};

pub(super) fn root(
    spec: &Spec,
    root: &Text,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<TableId> {
    let found = tables.require(spec, root, diagnostics)?;
    if tables.tables[found.0].key.is_empty() && !tables.key_is_unclear(found) {
        diagnostics.push(
            Diagnostic::error(
                "root-without-key",
                root.span(),
                format!(
                    "the root table `{}` has no key",
                    root.get_ref().escape_debug()
                ),
                "add `key = \"column type\"` to the table: it identifies families",
            )
            .related(tables.spans[found.0].clone(), "defined without a key"),
        );
    }
    Some(found)
}

/// What the parts of a rule that name tables of its family need to know.
pub(super) struct Family<'a> {
    pub(super) spec: &'a Spec,
    pub(super) tables: &'a Resolved,
    /// The name of the root table, as the rule has it.
    pub(super) rule: &'a Option<Text>,
    /// The tables of the family, children before parents.
    pub(super) order: &'a [TableId],
}

impl Family<'_> {
    /// The table of that name, if the rule's families have rows of it.
    pub(super) fn require(
        &self,
        name: &Text,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<TableId> {
        let table = self.tables.require(self.spec, name, diagnostics)?;
        let root = self.rule.as_ref()?;
        if self.order.is_empty() || self.order.contains(&table) {
            return Some(table);
        }
        if !self.tables.edges_are_unclear() {
            diagnostics.push(
                Diagnostic::error(
                    "table-outside-family",
                    name.span(),
                    format!(
                        "`{}` does not belong to the rule's root",
                        name.get_ref().escape_debug()
                    ),
                    format!(
                        "name a table whose rows belong to `{}`, or add the missing edge",
                        root.get_ref().escape_debug()
                    ),
                )
                .related(root.span(), "the root"),
            );
        }
        None
    }
}
