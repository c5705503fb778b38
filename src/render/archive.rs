//! Archives, for the templates: where copies of the rows go that a rule deletes.

use serde::Serialize;

use super::indexes::within_limit;
use super::names::{control_name, escaped, home};
use crate::dialect::Dialect;
use crate::graph::{Graph, Rule, TableId};

/// The archive of a table, which all rules share that archive its rows.
#[derive(Clone, Serialize)]
pub(super) struct ArchiveView {
    /// The table: quoted, as a literal, and quoted as a literal.
    pub(super) table: String,
    table_name: String,
    table_literal: String,
    table_class: String,
    /// The archive table: its quoted name, that with the control schema before it, and its bare name as a literal.
    bare: String,
    pub(super) archive: String,
    archive_literal: String,
    archive_class: String,
    /// The view through which rows come in, in the same forms.
    pub(super) entry: String,
    entry_literal: String,
    entry_class: String,
    /// Both as they stand within a literal.
    archive_within: String,
    entry_within: String,
    /// The rules that archive rows of the table, as literals between commas.
    rule_literals: String,
}

impl ArchiveView {
    /// The statements that make the archive and the view in front of it, by what they do.
    pub(super) fn made(&self) -> [(String, String); 2] {
        let call = |routine| format!("SELECT {routine}({});", self.table_literal);
        [
            (
                format!("create table {}", self.archive),
                call("make_archive"),
            ),
            (format!("create view {}", self.entry), call("fit_archive")),
        ]
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

/// The rules that archive rows.
pub(super) fn rules(graph: &Graph) -> impl Iterator<Item = &Rule> {
    graph.rules.iter().filter(|rule| !rule.archive.is_empty())
}

/// The first rule that archives rows: its setting says how long they stay there.
pub(super) fn first(graph: &Graph) -> Option<&Rule> {
    rules(graph).next()
}

/// The tables and views of the control schema that are no archives, as the files make them.
pub(super) fn readable<'a>(
    archives: &[ArchiveView],
    statements: impl Iterator<Item = &'a str>,
) -> Vec<String> {
    let made = statements.filter_map(|what| {
        what.strip_prefix("create table ")
            .or_else(|| what.strip_prefix("create view "))
    });
    let mut names: Vec<String> = made
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
    let table = dialect.qualified(home(graph, dialect), name);
    let rules: Vec<String> = graph
        .rules
        .iter()
        .filter(|rule| rule.archive.contains(&id))
        .map(|rule| dialect.text(&rule.name))
        .collect();
    ArchiveView {
        table_name: escaped(dialect, name),
        table_literal: dialect.text(name),
        table_class: dialect.text(&table),
        table,
        bare: dialect.ident(&archive),
        archive: within(&archive),
        archive_literal: dialect.text(&archive),
        archive_class: dialect.text(&within(&archive)),
        entry: within(&entry),
        entry_literal: dialect.text(&entry),
        entry_class: dialect.text(&within(&entry)),
        archive_within: escaped(dialect, &within(&archive)),
        entry_within: escaped(dialect, &within(&entry)),
        rule_literals: rules.join(", "),
    }
}

/// The archive table of a table, and the view in front of it.
pub(super) fn names(table: &str, dialect: Dialect) -> [String; 2] {
    ["archive", "into_archive"].map(|prefix| within_limit(dialect, format!("{prefix}_{table}")))
}
