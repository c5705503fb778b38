//! Archives, for the templates: where copies of deleted rows are stored.

use serde::Serialize;

use super::indexes::within_limit;
use super::names::{control_name, escaped, role_name, table_name};
use crate::bundle::{Kind, Object};
use crate::dialect::Dialect;
use crate::graph::{Graph, Rule, TableId};

/// The archive of a table, which all rules share that archive its rows.
#[derive(Clone, Serialize)]
pub(super) struct ArchiveView {
    /// The table: quoted, within a literal, and as one.
    pub(super) table: String,
    table_name: String,
    table_literal: String,
    /// The archive table, and the view through which rows come in.
    pub(super) archive: String,
    pub(super) entry: String,
}

impl ArchiveView {
    /// The table as a literal, its archive table, and the view in front of that.
    pub(super) fn told(&self) -> [String; 3] {
        [&self.table_literal, &self.archive, &self.entry].map(Clone::clone)
    }
}

/// The archives of a spec, in the order of its tables.
pub(super) fn views(graph: &Graph, dialect: Dialect) -> Vec<ArchiveView> {
    let mut tables: Vec<TableId> = graph
        .rules
        .iter()
        .flat_map(|rule| rule.archive.iter().copied())
        .collect();
    tables.sort();
    tables.dedup();
    tables
        .into_iter()
        .map(|table| named(graph, table, dialect))
        .collect()
}

/// The archive of a table, if the rule archives its rows.
pub(super) fn view(
    graph: &Graph,
    rule: &Rule,
    table: TableId,
    dialect: Dialect,
) -> Option<ArchiveView> {
    let archived = rule.archive.contains(&table);
    archived.then(|| named(graph, table, dialect))
}

/// The first rule that archives rows or partitions: its setting says how long they are kept there.
pub(super) fn first(graph: &Graph) -> Option<&Rule> {
    graph.rules.iter().find(|rule| !rule.archived().is_empty())
}

/// Whether partitions are kept instead of being dropped.
pub(super) fn detaches(graph: &Graph) -> bool {
    let mut rules = graph.rules.iter();
    rules.any(|rule| rule.drops_partitions() && !rule.archived().is_empty())
}

/// The schema of PostgreSQL for the partitions that are detached; nobody but the owner role may use it.
pub(super) fn schema(graph: &Graph, dialect: Dialect) -> Option<String> {
    detaches(graph).then(|| role_name(dialect, &control_name(graph), "archive"))
}

/// The tables and views of the control schema that are no archives, as the files make them.
pub(super) fn readable<'a>(
    archives: &[ArchiveView],
    made: impl Iterator<Item = &'a Object>,
) -> Vec<String> {
    let mut names: Vec<String> = made
        .filter(|made| [Kind::Table, Kind::View].contains(&made.kind))
        .map(|made| made.name.as_str())
        .filter(|name| {
            let is_archive = |it: &ArchiveView| [it.archive.as_str(), &it.entry].contains(name);
            !archives.iter().any(is_archive)
        })
        .map(ToOwned::to_owned)
        .collect();
    names.sort();
    names
}

/// The archive of a table.
pub(super) fn named(graph: &Graph, id: TableId, dialect: Dialect) -> ArchiveView {
    let name = &graph.table(id).name;
    let control = control_name(graph);
    let [archive, entry] = names(name, dialect);
    let within = |name: &str| format!("{control}.{}", dialect.ident(name));
    ArchiveView {
        table: table_name(graph, dialect, name),
        table_name: escaped(dialect, name),
        table_literal: dialect.text(name),
        archive: within(&archive),
        entry: within(&entry),
    }
}

/// The archive table of a table, and the view in front of it.
pub(super) fn names(table: &str, dialect: Dialect) -> [String; 2] {
    ["archive", "into_archive"].map(|prefix| within_limit(dialect, format!("{prefix}_{table}")))
}
