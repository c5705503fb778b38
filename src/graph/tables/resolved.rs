//! The tables as far as they are resolved, with what the checks need besides them.

use std::collections::BTreeSet;

use crate::diagnostic::{Diagnostic, Span, did_you_mean};
use crate::graph::{Table, TableId};
use crate::spec::{Spec, Text};

/// The tables with what the checks need besides them; all lists are parallel.
pub(in crate::graph) struct Resolved {
    pub(in crate::graph) tables: Vec<Table>,
    /// Where each table is defined.
    pub(in crate::graph) spans: Vec<Span>,
    /// Tables with a key that could not be read; what names them is not blamed for it.
    pub(super) unclear_keys: BTreeSet<TableId>,
    /// Tables with an edge that could not be resolved; they may belong to anything.
    pub(super) unclear_edges: BTreeSet<TableId>,
    /// The tables whose rows belong to each table's, sorted.
    pub(super) children: Vec<Vec<TableId>>,
}

impl Resolved {
    /// The table of that name.
    pub(in crate::graph) fn find(&self, name: &str) -> Option<TableId> {
        self.tables
            .binary_search_by(|table| table.name.as_str().cmp(name))
            .ok()
            .map(TableId)
    }

    /// The table of that name, or a finding that says which one may be meant.
    pub(in crate::graph) fn require(
        &self,
        spec: &Spec,
        name: &Text,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<TableId> {
        let found = self.find(name.get_ref());
        if found.is_none() {
            let shown = name.get_ref().escape_debug();
            let finding = Diagnostic::error(
                "unknown-table",
                name.span(),
                format!("unknown table `{shown}`"),
                did_you_mean(
                    name.get_ref(),
                    self.tables.iter().map(|table| table.name.as_str()),
                    &format!("add `{shown}` to [tables]"),
                ),
            );
            diagnostics.push(match spec.ignore.get_key_value(name.get_ref().as_str()) {
                Some((ignored, _)) => finding.related(ignored.span(), "ignored here"),
                None => finding,
            });
        }
        found
    }

    /// True if the table's key is missing because of an error that has been reported.
    pub(in crate::graph) fn key_is_unclear(&self, table: TableId) -> bool {
        self.unclear_keys.contains(&table)
    }

    /// True if an edge of this table is missing because of an error that has been reported.
    pub(in crate::graph) fn edge_is_unclear(&self, table: TableId) -> bool {
        self.unclear_edges.contains(&table)
    }

    /// True if what belongs to what is not completely known because of errors that have been reported.
    pub(in crate::graph) fn edges_are_unclear(&self) -> bool {
        !self.unclear_edges.is_empty()
    }

    /// The tables that belong to a root, children before parents, the root last.
    ///
    /// Depth first by name: a table that is added elsewhere changes nothing here.
    pub(in crate::graph) fn order(&self, root: TableId) -> Vec<TableId> {
        let mut order = Vec::new();
        let mut seen = BTreeSet::from([root]);
        let mut path = vec![(root, 0)];
        while let Some((table, next)) = path.last_mut() {
            match self.children[table.0].get(*next) {
                Some(&child) => {
                    *next += 1;
                    if seen.insert(child) {
                        path.push((child, 0));
                    }
                }
                None => {
                    order.push(*table);
                    path.pop();
                }
            }
        }
        order
    }
}
