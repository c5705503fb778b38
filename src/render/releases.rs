//! What outlives the rows that it names, for the templates: columns that are set to NULL before these rows go.

use serde::Serialize;

use super::edges::{EdgeView, edge_view};
use super::explain::some_keys;
use super::names::table_name;
use super::via;
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, Table, TableId};
use crate::plan::{Purge, Release};

/// A statement that sets columns to NULL.
#[derive(Serialize)]
pub(super) struct ReleaseView {
    why: String,
    table: String,
    table_literal: String,
    /// The columns of row `t` and of a bare row, each with its new value.
    nulls: String,
    nulls_of_t: String,
    edge: EdgeView,
}

/// What lets go of the rows of a table.
pub(super) fn views(
    graph: &Graph,
    purge: &Purge,
    table: TableId,
    dialect: Dialect,
) -> Vec<ReleaseView> {
    let releases = purge.releases.iter();
    releases
        .filter(|release| release.edge.parent == table)
        .map(|release| view(graph, purge, release, dialect))
        .collect()
}

fn view(graph: &Graph, purge: &Purge, release: &Release, dialect: Dialect) -> ReleaseView {
    let name = &graph.table(release.table).name;
    ReleaseView {
        why: release.why.clone(),
        table: table_name(graph, dialect, name),
        table_literal: dialect.text(name),
        nulls: nulls(&release.edge, dialect, ""),
        nulls_of_t: nulls(&release.edge, dialect, "t."),
        edge: edge_view(graph, &graph.rules[purge.rule], &release.edge, dialect),
    }
}

fn nulls(edge: &Edge, dialect: Dialect, row: &str) -> String {
    let null = |column: &str| format!("{row}{} = NULL", dialect.ident(column));
    let columns = edge.pairs().map(|(column, _)| null(&column.name));
    columns.collect::<Vec<_>>().join(", ")
}

/// The tables whose rows outlive others.
pub(super) fn tables(purges: &[Purge]) -> impl Iterator<Item = TableId> {
    let releases = purges.iter().flat_map(|purge| &purge.releases);
    releases.map(|release| release.table)
}

/// The columns of a table that may be set to NULL.
pub(super) fn columns(table: &Table, dialect: Dialect) -> String {
    let mut columns: Vec<String> = Vec::new();
    for (column, _) in table.releases().flat_map(Edge::pairs) {
        let column = dialect.ident(&column.name);
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns.join(", ")
}

/// The statements for EXPLAIN on MySQL and MariaDB.
pub(super) fn mysql_probes(graph: &Graph, purge: &Purge, dialect: Dialect) -> Vec<Probe> {
    let releases = purge.releases.iter();
    let sql = |release: &Release| {
        let (edge, parent) = (&release.edge, graph.table(release.edge.parent));
        let name = table_name(graph, dialect, &graph.table(release.table).name);
        let key = dialect.ident(&parent.key[0].name);
        let parent = table_name(graph, dialect, &parent.name);
        let work = some_keys(&parent, &key);
        let joins = if edge.names_key(graph) {
            format!(
                "STRAIGHT_JOIN {name} AS t ON t.{} = w.k",
                dialect.ident(&edge.column.name)
            )
        } else {
            format!(
                "STRAIGHT_JOIN {parent} AS p ON p.{key} = w.k STRAIGHT_JOIN {name} AS t ON {}",
                via::same(edge, dialect, "t", "p")
            )
        };
        format!("UPDATE {work} {joins} SET {}", nulls(edge, dialect, "t."))
    };
    releases
        .map(|release| probe(graph, purge, release, sql(release)))
        .collect()
}

fn probe(graph: &Graph, purge: &Purge, release: &Release, sql: String) -> Probe {
    let table = graph.table(release.table).name.clone();
    Probe {
        off: Vec::new(),
        what: format!(
            "rule {}: set {} of {table} to NULL",
            graph.rules[purge.rule].name,
            release.edge.columns()
        ),
        table,
        sql,
    }
}
