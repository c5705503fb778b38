//! Rows that are kept when their parents are deleted: whether the spec says what happens to everything around them.

use toml::Spanned;

use super::tables::Resolved;
use super::{Edge, Rule, Strategy, Table, TableId};
use crate::diagnostic::{Diagnostic, Span};
use crate::spec::{self, Spec};

/// Finds tables of which some rows are kept, where that cannot be, or would let others go by surprise.
pub(super) fn check(
    spec: &Spec,
    tables: &Resolved,
    rules: &[Rule],
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (index, written) in spec.tables.values().enumerate() {
        let Some(kept) = &written.kept else {
            continue;
        };
        let table = Kept {
            id: TableId(index),
            span: kept.span(),
            tables,
        };
        if kept.get_ref().is_empty() {
            diagnostics.push(Diagnostic::error(
                "empty-kept",
                kept.span(),
                format!("`{}` does not say which rows are kept", table.shown()),
                "name a column and the values of the rows that are kept when their parent is deleted",
            ));
        }
        if !tables.edge_is_unclear(table.id) {
            table.check_edges(written, diagnostics);
        }
        table.check_below(spec, diagnostics);
        table.check_rules(rules, diagnostics);
    }
}

/// A table of which some rows are kept.
struct Kept<'a> {
    id: TableId,
    /// Where the spec says so.
    span: Span,
    tables: &'a Resolved,
}

impl Kept<'_> {
    fn table(&self) -> &Table {
        &self.tables.tables[self.id.0]
    }

    fn shown(&self) -> String {
        self.table().name.escape_debug().to_string()
    }

    /// Rows that belong to nothing are kept anyway, and a foreign key asks nobody which rows it may take.
    fn check_edges(&self, written: &spec::Table, diagnostics: &mut Vec<Diagnostic>) {
        let shown = self.shown();
        if self.table().parents().next().is_none() {
            diagnostics.push(Diagnostic::error(
                "kept-without-parent",
                self.span.clone(),
                format!("a row of `{shown}` belongs to nothing with which it could be deleted"),
                "remove `kept`: with `restrict` or `set null` every row is kept. A rule's `candidates` say which rows of \
                 its root table it deletes",
            ));
        }
        let mut edges = self.table().edges.iter().zip(&written.parents);
        if let Some((_, edge)) = edges.find(|(edge, _)| edge.cascades) {
            diagnostics.push(
                Diagnostic::error(
                    "kept-cascades",
                    edge.span(),
                    format!("a foreign key would delete the rows of `{shown}` that are kept"),
                    "remove `cascade`, and drop the foreign key: it cannot spare single rows",
                )
                .related(self.span.clone(), "kept here"),
            );
        }
    }

    /// What belongs to a kept row must have no other way to be deleted.
    fn check_below(&self, spec: &Spec, diagnostics: &mut Vec<Diagnostic>) {
        let mut below = vec![self.id];
        let mut at = 0;
        while let Some(parent) = below.get(at).copied() {
            at += 1;
            for (index, table) in self.tables.tables.iter().enumerate() {
                let id = TableId(index);
                let mut edges = table.parents();
                if edges.any(|edge| edge.parent == parent) && !below.contains(&id) {
                    below.push(id);
                }
            }
        }
        for (index, (table, written)) in self
            .tables
            .tables
            .iter()
            .zip(spec.tables.values())
            .enumerate()
        {
            let id = TableId(index);
            let parents: Vec<&Edge> = table.parents().collect();
            let between = |edge: &Edge| {
                let through = edge.through.as_ref();
                through.is_some_and(|through| through.table == self.id)
            };
            if parents.iter().any(|edge| between(edge)) {
                diagnostics.push(self.surprise(
                    table,
                    written,
                    "refers to rows of it that have no key",
                ));
            } else if id != self.id && below.contains(&id) {
                if parents.len() > 1 {
                    diagnostics.push(self.surprise(table, written, "has another parent"));
                } else if parents.iter().any(|edge| edge.alone) {
                    diagnostics.push(self.surprise(
                        table,
                        written,
                        "may be referred to by several rows",
                    ));
                }
            }
        }
    }

    fn surprise(&self, table: &Table, written: &spec::Table, why: &str) -> Diagnostic {
        let (shown, child) = (self.shown(), table.name.escape_debug());
        let at = written.parents.first().map_or(0..0, Spanned::span);
        let last = written.parents.last().map_or(0..0, Spanned::span);
        Diagnostic::error(
            "kept-with-others",
            at.start..last.end,
            format!(
                "a row of `{child}` could be deleted although it belongs to a kept row of `{shown}`: it {why}"
            ),
            format!(
                "let the rows of `{child}` belong to rows of one table only, by their key: to those of `{shown}`, and be \
                 kept or deleted with them, or to those of another table, and be deleted with them; or remove `kept`"
            ),
        )
        .related(self.span.clone(), "kept here")
    }

    /// Rules that would take such rows whatever they hold, or need them gone.
    fn check_rules(&self, rules: &[Rule], diagnostics: &mut Vec<Diagnostic>) {
        let shown = self.shown();
        for rule in rules {
            let name = rule.name.escape_debug();
            let over = |id: Option<TableId>| id == Some(self.id);
            let links = rule.hierarchy.iter();
            let mut links = links.map(|link| (link.table, link.over.as_ref().map(|it| it.table)));
            if matches!(rule.strategy, Strategy::Timed(_))
                && rule.order.contains(&self.id)
                && rule.order.len() > 1
            {
                diagnostics.push(Diagnostic::error(
                    "kept-not-asked",
                    self.span.clone(),
                    format!("rule `{name}` deletes rows of `{shown}` by their own time, kept or not"),
                    "only rules by end time and of single rows check which rows are kept: remove `kept`, or remove the \
                     table from that rule",
                ));
            } else if links
                .any(|(table, between)| table == self.id && table != rule.root || over(between))
            {
                diagnostics.push(Diagnostic::error(
                    "kept-hierarchy",
                    self.span.clone(),
                    format!("rows of `{shown}` link the members of rule `{name}`, and are deleted with these"),
                    "remove `kept`: a link to a deleted member would hold the rest of its family together",
                ));
            }
        }
    }
}
