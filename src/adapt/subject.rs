//! What is looked at, and what is said of it.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::catalog::{Catalog, CatalogTable};
use crate::graph::{Graph, Rule, TableId};
use crate::spec::grammar::EdgeText;
use crate::spec::{self, Spec, Text, in_file_order};

/// Something that is left out, or written otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// What has been done about it.
    pub kind: ChangeKind,
    /// What it is about, e.g. `table "callback"`.
    pub what: String,
    /// The reason.
    pub why: String,
    /// Whether somebody has to say whether it is right.
    pub asks: bool,
}

/// What has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It is no longer there.
    LeftOut,
    /// It says what the database says.
    Mended,
    /// It keeps more than it did.
    Stricter,
    /// Nothing: the database has something that the spec does not know.
    Unknown,
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.kind {
            ChangeKind::LeftOut => "left out",
            ChangeKind::Mended => "mended",
            ChangeKind::Stricter => "stricter",
            ChangeKind::Unknown => "not in this spec",
        };
        write!(out, "{word}: {}: {}", self.what, self.why)
    }
}

impl Change {
    /// The change as a line of a spec.
    pub(super) fn comment(&self) -> String {
        let mark = if self.asks { "# ? " } else { "# " };
        format!("{mark}{self}").replace(char::is_control, " ")
    }
}

/// What is looked at.
pub(super) struct Subject<'a> {
    pub(super) text: &'a str,
    pub(super) spec: &'a Spec,
    /// With the names that the server has.
    pub(super) graph: &'a Graph,
    pub(super) catalog: &'a Catalog,
    /// Tables of which nobody knows whether they are there.
    pub(super) unseen: &'a BTreeSet<String>,
    /// Whether somebody reads the result and answers.
    pub(super) asks: bool,
}

impl Subject<'_> {
    /// The tables as the spec writes them, in the order of the graph.
    pub(super) fn tables(&self) -> impl Iterator<Item = (TableId, &Text, &spec::Table)> {
        let tables = self.spec.tables.iter().enumerate();
        tables.map(|(at, (name, table))| (TableId(at), name, table))
    }

    /// The rules as the spec writes them, each with what it means.
    pub(super) fn rules(&self) -> impl Iterator<Item = (usize, &Text, &spec::Rule, &Rule)> {
        let written = in_file_order(&self.spec.rules).into_iter();
        let rules = written.zip(&self.graph.rules).enumerate();
        rules.map(|(at, ((name, written), rule))| (at, name, written, rule))
    }

    /// The table in the database.
    pub(super) fn live(&self, id: TableId) -> Option<&CatalogTable> {
        self.catalog.tables.get(&self.graph.table(id).name)
    }

    /// The edges of a table as the spec writes them, in the order of the graph.
    pub(super) fn edge_texts(&self, table: &spec::Table) -> Vec<EdgeText> {
        let texts = table.parents.iter();
        texts
            .filter_map(|written| spec::edge(self.text, written).ok())
            .collect()
    }
}

/// Whether the spec says that something may be absent.
pub(super) fn is_optional(written: Option<&toml::Spanned<bool>>) -> bool {
    written.is_some_and(|written| *written.get_ref())
}
