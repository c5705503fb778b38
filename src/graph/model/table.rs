//! Tables, and what their rows name.

use crate::column::{Column, Condition, Literal};

/// Index of a table in [`Graph::tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub usize);

/// A managed table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name as the catalog has it.
    pub name: String,
    /// Key columns; empty for a table that is no table's parent and needs none.
    pub key: Vec<Column>,
    /// Further unique keys that children name.
    pub unique: Vec<Vec<Column>>,
    /// Columns that an index of the application leads with, those of one edge between commas; the statements need no
    /// further index on them.
    pub indexed: Vec<String>,
    /// Triggers of the application that the spec accepts by name.
    pub triggers: Vec<String>,
    /// What a row of this table names, and what happens to it when that is deleted.
    pub edges: Vec<Edge>,
    /// With which of several parents a row is deleted.
    pub with: With,
    /// What a row must contain to be deleted with its parents; any other keeps them. Empty if every row is deleted.
    pub r#final: Final,
    /// What a row contains that is kept when its parents are deleted; empty if none is.
    pub kept: Vec<Condition>,
}

/// What a row must hold to keep nothing.
#[derive(Clone, Debug, Default)]
pub struct Final {
    /// In its own columns.
    pub own: Vec<Condition>,
    /// In those of rows that it names.
    pub named: Vec<Named>,
}

/// What a row must name.
#[derive(Clone, Debug)]
pub struct Named {
    /// By which of its edges.
    pub edge: Edge,
    /// What that row must hold. Where there is none, or the edge's column is NULL, nothing holds it.
    pub condition: Condition,
}

impl Final {
    /// Whether every row is final.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.named.is_empty()
    }
}

/// A row of the owning table names the parent row with this key.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Column of the child table, the first one where there are several.
    pub column: Column,
    /// The parent table.
    pub parent: TableId,
    /// Column of the parent table that it names: its key, or the first one of a unique key.
    pub parent_column: Column,
    /// The other columns of an edge of several, each with the parent's that it names.
    pub further: Vec<(Column, Column)>,
    /// A value, besides NULL, that means "no parent" (DolphinScheduler writes 0).
    pub none: Option<Literal>,
    /// What happens to the row when the parent row is due.
    pub action: Action,
    /// Whether the parent refers to the row, so that a row without such a parent is no orphan.
    pub alone: bool,
    /// Whether a foreign key that deletes the row with its parent may be left to do so, where the server says that it does.
    pub cascades: bool,
    /// The row that the spec says it names, where that has no key of its own: both belong to the same parent by a column that
    /// they share.
    pub through: Option<Through>,
}

/// A row between a row and the one to which both belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Through {
    /// Its table, whose rows are deleted after those that name them.
    pub table: TableId,
    /// The columns that name it, each with the one that it names.
    pub pairs: Vec<(String, String)>,
}

/// With which of its parents a row with several is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// With all of them, or not at all.
    All,
    /// With the first that is deleted.
    Any,
}

/// What happens to a row that names a row which is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It belongs to that row and is deleted with it; [`Table::with`] says what happens to it where it has other parents.
    Delete,
    /// It keeps that row, and so the whole family, until it is gone itself.
    Restrict,
    /// It is kept, and its columns are set to NULL before that row is deleted.
    SetNull,
}

impl Edge {
    /// Every column of the child with the parent's that it names.
    pub fn pairs(&self) -> impl Iterator<Item = (&Column, &Column)> {
        let further = self.further.iter().map(|(column, parent)| (column, parent));
        std::iter::once((&self.column, &self.parent_column)).chain(further)
    }

    /// The columns of the child between commas.
    pub fn columns(&self) -> String {
        let names: Vec<&str> = self
            .pairs()
            .map(|(column, _)| column.name.as_str())
            .collect();
        names.join(", ")
    }
}

impl Table {
    /// The edges to the rows that a row of this table belongs to.
    pub fn parents(&self) -> impl Iterator<Item = &Edge> {
        self.edges
            .iter()
            .filter(|edge| edge.action == Action::Delete)
    }

    /// The edges to the rows that a row of this table keeps.
    pub fn keeps(&self) -> impl Iterator<Item = &Edge> {
        self.edges
            .iter()
            .filter(|edge| edge.action == Action::Restrict)
    }

    /// The edges to the rows that a row of this table is unlinked from, and outlives.
    pub fn releases(&self) -> impl Iterator<Item = &Edge> {
        self.edges
            .iter()
            .filter(|edge| edge.action == Action::SetNull)
    }
}

/// A table that the completeness check leaves alone.
#[derive(Clone, Debug)]
pub struct Ignored {
    /// Name as the catalog has it.
    pub table: String,
    /// Why it is left alone.
    pub reason: String,
}
