//! What a rule has whose rows do not go by the end of their family: by a time of their own, or one by one.

use super::retention::Source;
use super::table::TableId;
use crate::column::{Column, Condition, Epoch, Literal};

/// A rule whose rows are deleted by a time that each of them has: a stored removal time, or its age.
#[derive(Clone, Debug)]
pub struct Timed {
    /// What is added to the time of a row: the rule's retention for an age; a removal time holds it already.
    pub retention: i64,
    /// What one transaction takes.
    pub unit: Unit,
    /// Whether whole partitions are dropped, and no single rows are deleted.
    pub partitioned: bool,
    /// How far ahead partitions are made, in seconds; none: they are not made.
    pub ahead: Option<i64>,
    /// Whether the rows of dropped partitions are estimated where the server has statistics, and not counted.
    pub estimated: bool,
    /// The tables whose partitions are kept in an archive instead of being dropped, in the order of deletion.
    pub detached: Vec<TableId>,
    /// The tables in the order in which their rows are deleted.
    pub members: Vec<Member>,
    /// When a row of the root table ended: no family is deleted that has not ended, or not for the minimum retention.
    pub ended: Option<Column>,
    /// Of a rule of partitions: when a row of the root table ended, which keeps its partition until the rule's retention is over.
    pub end: Option<End>,
    /// Foreign keys of other tables; a row that they refer to is kept.
    pub references: Vec<Reference>,
    /// How removal times can be recalculated: first of the families of the rule, then of what belongs to none of them.
    pub stamps: Vec<Stamp>,
}

impl Timed {
    /// What belongs to no family of the rule, and is held by itself.
    pub fn others(&self) -> impl Iterator<Item = &Stamp> {
        self.stamps.iter().filter(|stamp| stamp.of.is_some())
    }
}

/// When a row of the root table of a rule of partitions ended.
#[derive(Clone, Debug)]
pub struct End {
    /// `Timestamp` or `Timestamptz`; also what a number says, by `epoch`.
    pub time: Column,
    /// What is used where it is NULL; of the same type.
    pub otherwise: Option<Column>,
    /// What it counts, if it is a number or a date.
    pub epoch: Option<Epoch>,
}

/// What one transaction of a rule by time takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A slice of time of all tables: each row is deleted by its own time.
    Window,
    /// Whole families, by the time of their root. Rows of no family are deleted by their own time, in slices.
    Family,
}

impl Unit {
    /// As a spec writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Family => "family",
        }
    }
}

/// How removal times can be recalculated.
#[derive(Clone, Debug)]
pub struct Stamp {
    /// What it is called by; none for the families of the rule.
    pub of: Option<String>,
    /// The root table, a member of the rule.
    pub root: TableId,
    /// Which of its rows; empty for the families of the rule.
    pub candidates: Vec<Condition>,
    /// The column of the root table that refers to the root of a row's family; without it, each row is one.
    pub family: Option<String>,
    /// When a row of the root table began, of the type of the rule's time.
    pub start: Column,
    /// When it ended.
    pub ended: Column,
    /// The column of the root table that names the definition, or holds a value.
    pub per: Column,
    /// What says how long a family is kept.
    pub source: Source,
    /// Which rows are those of one row of the root table alone, in the order of the rule's tables.
    pub own: Vec<Own>,
    /// Members whose rows share the removal time of the rows that name them.
    pub named: Vec<TableId>,
    /// Columns that a change of the row must not set.
    pub untouched: Vec<(TableId, Vec<String>)>,
}

impl Stamp {
    /// The other columns by which a row says its instance, and which count before this one.
    pub fn before<'a>(&'a self, own: &'a Own) -> impl Iterator<Item = &'a Own> {
        let owns = self.own.iter().filter(|it| it.table == own.table);
        owns.filter(|it| it.of_root.is_none())
            .take_while(|it| it.column != own.column)
    }
}

/// The rows of a table that are those of one row of the root table alone.
#[derive(Clone, Debug)]
pub struct Own {
    /// The table, a member of the rule.
    pub table: TableId,
    /// The column that names the row of the root table, or the key of a row in between.
    pub column: String,
    /// The table of the row in between, which names the row of the root table itself.
    pub through: Option<TableId>,
    /// The column of the root table that `column` names, where that is not the key.
    pub of_root: Option<String>,
}

/// A table of a rule by time.
#[derive(Clone, Debug)]
pub struct Member {
    /// The table.
    pub table: TableId,
    /// The columns that refer to the root of a row's family; a row without families has none.
    pub family: Vec<String>,
}

/// A foreign key of a table that is not managed.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Name of the table that refers.
    pub table: String,
    /// Its column.
    pub column: String,
    /// The managed table whose key it names.
    pub to: TableId,
}

/// A rule of one table whose rows are deleted one by one: why a row is deleted.
#[derive(Clone, Debug)]
pub enum Single {
    /// Its own expiry time has passed. The rule's retention is that of the fallback.
    Expiry {
        /// The column from which the retention of a row without an expiry time counts; without one such a row is kept.
        fallback: Option<Column>,
    },
    /// It names something that is gone.
    Orphan {
        /// What must exist; a row is deleted if one of these is missing. Never empty.
        needs: Vec<Vec<Need>>,
        /// The column from which the retention is counted; without one a row is deleted at once.
        time: Option<Column>,
    },
    /// Enough rows of its group are newer.
    KeepLast {
        /// The columns that make a group.
        group: Vec<Column>,
        /// The columns that order a group, the newest last.
        order: Vec<Column>,
        /// How many rows of a group are kept.
        keep: i64,
        /// The column from which the retention is counted; without one a row is deleted at once.
        time: Option<Column>,
    },
}

impl Single {
    /// The column from which the rule's retention counts, if it has one.
    pub fn aged(&self) -> Option<&Column> {
        match self {
            Single::Expiry { fallback } => fallback.as_ref(),
            Single::Orphan { time, .. } | Single::KeepLast { time, .. } => time.as_ref(),
        }
    }

    /// The columns that it reads besides the key and the rule's own.
    pub fn columns(&self) -> Vec<&Column> {
        let placed: &[&[Column]] = match self {
            Single::KeepLast { group, order, .. } => &[group, order],
            Single::Expiry { .. } | Single::Orphan { .. } => &[],
        };
        placed
            .iter()
            .copied()
            .flatten()
            .chain(self.aged())
            .collect()
    }

    /// What must exist for a row to be kept, one list for each requirement.
    pub fn chains(&self) -> &[Vec<Need>] {
        match self {
            Single::Orphan { needs, .. } => needs,
            Single::Expiry { .. } | Single::KeepLast { .. } => &[],
        }
    }

    /// Every step of that.
    pub fn needs(&self) -> impl Iterator<Item = &Need> {
        self.chains().iter().flatten()
    }
}

/// One step of what must exist: the row of `table` that the columns name.
#[derive(Clone, Debug)]
pub struct Need {
    /// The columns of the row, or of the row that the step before has found, each with that of `table` that it names.
    pub pairs: Vec<(String, String)>,
    /// A value of the only column, besides NULL, that names nothing.
    pub none: Option<Literal>,
    /// Name of the table; it need not be managed.
    pub table: String,
}
