//! What outlives the rows that it names, for the templates: columns that are set to NULL before these rows are deleted.

use serde::Serialize;

use super::edges::{EdgeView, edge_view};
use super::names::table_name;
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

/// What is unlinked from the rows of a table.
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
