//! What a family hangs by: the edges of a draft, of which none is added that a spec could not say beside the others.

use std::collections::BTreeMap;

use super::words::small;
use crate::catalog::{Catalog, CatalogColumn, CatalogTable};
use crate::fit::key_kind;
use crate::graph::Action;

/// The tables that hang on a root, and by what.
#[derive(Clone, Debug, Default)]
pub struct Family {
    /// The tables in the order in which they were found, the root first.
    pub tables: Vec<String>,
    /// What they hang by.
    pub edges: Vec<Edge>,
    /// Tables that look as if they hung on one of these, and were left out, each with the reason.
    pub ignored: BTreeMap<String, String>,
    /// Columns by foreign keys of which a row of the root table names the one above it.
    pub hierarchy: Vec<String>,
    /// What only a person can say.
    pub questions: Vec<String>,
}

/// One table names rows of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The table whose rows name others.
    pub table: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// The table that is named.
    pub parent: String,
    /// The columns that are named.
    pub named: Vec<String>,
    /// What happens to the row.
    pub action: Action,
    /// How it was found.
    pub source: Source,
}

/// How an edge was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// By a foreign key: its name, and what it does.
    Key(String, String),
    /// By names and rows, or by rows alone.
    Guess {
        /// What the rows say.
        share: Share,
        /// Whether nothing else supports it.
        by_values: bool,
        /// The table that is kept to which a row belongs by a foreign key.
        owner: Option<String>,
        /// Whether its name says that it refers to the latest of many rows.
        pointer: bool,
    },
}

/// What a sample of rows says of a guess.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many values were looked at.
    pub values: i64,
    /// How many of them name a row.
    pub found: i64,
    /// The value that says that there is no such row, which is not among these.
    pub none: Option<String>,
    /// How many of those that it names have ended, where that is known.
    pub ended: Option<i64>,
    /// Why nothing was looked at.
    pub untold: Option<String>,
}

impl Share {
    /// `998 of 1000 values have a row`.
    pub fn told(&self) -> String {
        match &self.untold {
            Some(why) => why.clone(),
            None if self.values == 0 => "no row has a value".to_owned(),
            None => format!("{} of {} values match a row", self.found, self.values),
        }
    }
}

/// The columns that name a row of a table alone: its primary key, and others that are unique.
pub fn keys(live: &CatalogTable) -> impl Iterator<Item = &String> + Clone {
    let primary = live
        .primary_key
        .iter()
        .take(usize::from(live.primary_key.len() == 1));
    let unique = live
        .indexes
        .iter()
        .filter(|index| index.unique && index.valid && index.predicate.is_none());
    let alone = unique.filter_map(|index| match &index.keys[..] {
        [key] if live.primary_key != [key.clone()] => Some(key),
        _ => None,
    });
    primary.chain(alone)
}

/// The key by which rows of a root are named: of those of one column that no row lacks, the first whose type a spec knows, or else the
/// first.
pub fn root_key<'a>(catalog: &Catalog, live: &'a CatalogTable) -> Option<&'a String> {
    let known = |key: &&String| is_known(catalog, live, key);
    let mut all = keys(live).filter(|key| !may_be_null(live, key));
    let key = all.clone().find(known).or_else(|| all.next());
    key.or_else(|| parted_key(live))
}

/// Of a table that is partitioned by a time: the column that is its primary key together with that one. PostgreSQL lets no key of
/// such a table be without it.
fn parted_key(live: &CatalogTable) -> Option<&String> {
    let [one, other] = &live.primary_key[..] else {
        return None;
    };
    let by_time = |column: &String| {
        let printed = live.column(column).map_or("", |it| &it.kind);
        let time = printed == "date" || printed.starts_with("timestamp");
        time && live.partition_columns == [column.clone()]
    };
    match (by_time(one), by_time(other)) {
        (false, true) => Some(one),
        (true, false) => Some(other),
        _ => None,
    }
}

/// Whether a spec knows the type of a column as one of keys.
pub(super) fn is_known(catalog: &Catalog, live: &CatalogTable, column: &str) -> bool {
    let column = live.column(column);
    column.is_some_and(|column| key_kind(catalog.dialect, column).is_some())
}

/// The key by which others name rows of a table: of those of one column whose type a spec knows, the first that no row lacks, or else
/// the first.
pub fn key<'a>(catalog: &'a Catalog, table: &str) -> Option<&'a String> {
    let live = &catalog.tables[table];
    let mut all = keys(live).filter(|key| is_known(catalog, live, key));
    let whole = all.clone().find(|key| !may_be_null(live, key));
    whole.or_else(|| all.next())
}

/// Whether a row may lack a key.
pub(super) fn may_be_null(live: &CatalogTable, key: &str) -> bool {
    live.column(key).is_none_or(CatalogColumn::may_lack)
}

impl Family {
    /// Whether rows of the table are deleted with those of the root.
    pub fn goes(&self, table: &str) -> bool {
        self.tables.iter().any(|known| known == table)
    }

    /// The edges of a table, in the order in which they were found.
    pub fn edges_of(&self, table: &str) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.table == table)
    }

    /// Whether rows of a table are named by those of another, over however many tables.
    pub(super) fn is_above(&self, table: &str, below: &str) -> bool {
        table != below
            && self.edges_of(below).any(|edge| {
                edge.action == Action::Delete
                    && (edge.parent == table || self.is_above(table, &edge.parent))
            })
    }

    /// Whether a row would be deleted with one that is deleted with it.
    fn closes(&self, edge: &Edge) -> bool {
        edge.table == edge.parent || self.is_above(&edge.table, &edge.parent)
    }

    /// Adds an edge, if a spec can say it beside the others. A row is deleted or keeps another, and one that is deleted with another
    /// row keeps nothing longer than that. Rows that are deleted with others are not above them as well: no edge closes a circle.
    pub(super) fn hang(&mut self, catalog: &Catalog, mut edge: Edge) {
        if edge.action == Action::Restrict && self.goes(&edge.table) {
            edge.action = Action::Delete;
        }
        if edge.action == Action::Delete && self.closes(&edge) {
            if !is_released(catalog, &edge) {
                self.questions.push(of_circle(&edge));
                return;
            }
            edge.action = Action::SetNull;
        }
        if self.edges.contains(&edge) {
            return;
        }
        let keyless = |table: &str| key(catalog, table).is_none();
        if keyless(&edge.parent) && !self.is_around(&edge) {
            self.questions.push(of_keyless(&edge));
            return;
        }
        // What leads past rows without a key of one column leads to the only table to which these belong.
        let mut below = self.edges.iter().filter(|it| it.parent == edge.table);
        let is_passed = edge.action == Action::Delete && keyless(&edge.table);
        if is_passed && below.any(|it| it.action == Action::Delete) {
            self.questions.push(of_two_owners(&edge));
            return;
        }
        if let Some(at) = self.twin(catalog, &edge) {
            match (self.edges[at].columns.len(), edge.columns.len()) {
                // The way past other rows says both.
                (1, 2..) => drop(self.edges.remove(at)),
                (2.., 1) => return,
                _ => {
                    self.questions.push(of_twin(&edge));
                    return;
                }
            }
        }
        let (table, action) = (edge.table.clone(), edge.action);
        self.edges.push(edge);
        if action == Action::Delete && !self.goes(&table) {
            self.tables.push(table.clone());
            self.hang_again(catalog, |edge| {
                edge.table == table && edge.action == Action::Restrict
            });
        }
    }

    /// Takes edges out, and adds them to what is there now.
    fn hang_again(&mut self, catalog: &Catalog, which: impl Fn(&Edge) -> bool) {
        let (again, edges) = std::mem::take(&mut self.edges).into_iter().partition(which);
        self.edges = edges;
        let again: Vec<Edge> = again;
        for edge in again {
            self.hang(catalog, edge);
        }
    }

    /// Lets rows keep what their columns cannot let go of: a column that is part of a key, or of another edge, is not set to NULL.
    pub(super) fn settle(&mut self, catalog: &Catalog) {
        while let Some(at) = self
            .edges
            .iter()
            .position(|edge| edge.action == Action::SetNull && self.says_more(catalog, edge))
        {
            let mut edge = self.edges.remove(at);
            edge.action = Action::Restrict;
            // One that closes a circle would be as before.
            if self.goes(&edge.table) && self.closes(&edge) {
                self.questions.push(of_circle(&edge));
            } else {
                self.hang(catalog, edge);
            }
        }
    }

    /// Whether a column of an edge says something else as well.
    fn says_more(&self, catalog: &Catalog, edge: &Edge) -> bool {
        let mut others = self.edges_of(&edge.table).filter(|it| *it != edge);
        let mut named = self.edges.iter().filter(|it| it.parent == edge.table);
        let key = key(catalog, &edge.table);
        let is_key = key.is_some_and(|key| edge.columns.contains(key));
        let shares = |columns: &[String]| columns.iter().any(|it| edge.columns.contains(it));
        others.any(|it| shares(&it.columns)) || named.any(|it| shares(&it.named)) || is_key
    }

    /// Whether an edge to rows without a key of one column leads past them: they belong to one parent, by one of its columns.
    fn is_around(&self, edge: &Edge) -> bool {
        edge.action == Action::Delete && edge.columns.len() > 1 && self.past(edge).is_some()
    }

    /// The edge of the rows that another one leads past.
    fn past(&self, edge: &Edge) -> Option<&Edge> {
        let own = self.edges_of(&edge.parent);
        let own: Vec<&Edge> = own.filter(|it| it.action == Action::Delete).collect();
        match own.as_slice() {
            [own] if own.columns.len() == 1 && edge.named.contains(&own.columns[0]) => Some(own),
            _ => None,
        }
    }

    /// An edge by the same columns to the same rows.
    fn twin(&self, catalog: &Catalog, edge: &Edge) -> Option<usize> {
        let ends = |edge: &Edge| {
            let past = self
                .past(edge)
                .filter(|_| key(catalog, &edge.parent).is_none());
            let at = past.and_then(|past| edge.named.iter().position(|it| *it == past.columns[0]));
            match (past, at) {
                (Some(past), Some(at)) => (vec![edge.columns[at].clone()], past.parent.clone()),
                _ => (edge.columns.clone(), edge.parent.clone()),
            }
        };
        let new = ends(edge);
        let mut own = self.edges.iter();
        own.position(|it| it.table == edge.table && ends(it) == new)
    }
}

/// Whether a foreign key that refuses can be told to let go: all of its columns may be NULL.
fn is_released(catalog: &Catalog, edge: &Edge) -> bool {
    let live = &catalog.tables[&edge.table];
    let mut columns = edge.columns.iter().filter_map(|name| live.column(name));
    let refuses = match &edge.source {
        Source::Key(_, effect) => ["no action", "restrict"].contains(&effect.as_str()),
        Source::Guess { .. } => false,
    };
    refuses && columns.all(|column| column.nullable && !column.generated)
}

/// By what an edge was found.
fn named(edge: &Edge) -> String {
    let columns = edge.columns.join(", ");
    match &edge.source {
        Source::Key(name, effect) => format!("{columns} ({name}, on delete {effect})"),
        Source::Guess { share, .. } => {
            format!("{columns}, without a foreign key ({})", share.told())
        }
    }
}

/// The question of rows that would be deleted with what is deleted with them.
fn of_circle(edge: &Edge) -> String {
    let (table, parent) = (&edge.table, &edge.parent);
    let help = match &edge.source {
        Source::Guess { .. } => {
            "If it is no more than a hint at that row, there is nothing to do".to_owned()
        }
        Source::Key(_, effect) if ["no action", "restrict"].contains(&effect.as_str()) => format!(
            "Families that it refers to FAIL: drop the key, or let its columns be NULL, and add `{} -> {}.… set null` to the `parents` of `{table}`",
            edge.columns
                .iter()
                .map(|name| small(name))
                .collect::<Vec<_>>()
                .join(", "),
            small(parent)
        ),
        Source::Key(_, effect) if effect.starts_with("set null") => {
            "Let the key set columns to NULL that no other key and no key of the table has"
                .to_owned()
        }
        Source::Key(..) => {
            "Change the key to NO ACTION, or to SET NULL with `set null` in the spec".to_owned()
        }
    };
    format!(
        "`{table}` refers to rows of `{parent}` by {}, and these are deleted with its own rows: a row cannot be deleted with what is deleted \
         with it. {help}.",
        named(edge)
    )
}

fn of_keyless(edge: &Edge) -> String {
    let parent = &edge.parent;
    format!(
        "`{}` refers to rows of `{parent}` by {}: rows are collected by a key of one column, which `{parent}` lacks. How are they to be deleted?",
        edge.table,
        named(edge)
    )
}

/// The question of rows that others pass by on the way to their owner, and which have another one.
fn of_two_owners(edge: &Edge) -> String {
    let table = &edge.table;
    format!(
        "`{table}` also refers to rows of `{}` by {}, and rows that belong to its rows are found by its other parent, since it has no key of \
         one column. With a unique index on such a column, the draft has both.",
        edge.parent,
        named(edge)
    )
}

fn of_twin(edge: &Edge) -> String {
    format!(
        "`{}` refers to rows of `{}` by {}, and by the same columns to others of the same family: which of the two is an edge?",
        edge.table,
        edge.parent,
        named(edge)
    )
}
