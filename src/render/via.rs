//! Edges that do not name the key of the parent: their rows are found through the parent's, which is there until they are deleted.

use serde::Serialize;

use super::names::table_name;
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph};

/// The parent between the keys and the rows.
#[derive(Clone, Serialize)]
pub(super) struct ViaView {
    table: String,
    /// The parent's key, which the keys are of.
    key: String,
    /// Row `t` names row `p`.
    on: String,
    /// The columns of row `p` that this compares.
    named: String,
    /// Whether it is row `p` that names row `t`, as several may do.
    many: bool,
    /// The columns that this compares.
    #[serde(skip)]
    pairs: Vec<(String, String)>,
}

impl ViaView {
    /// The same where the parent goes by another alias.
    pub(super) fn of(&self, alias: &str) -> ViaView {
        ViaView {
            on: compare(&self.pairs, "t", alias),
            ..self.clone()
        }
    }
}

/// None where the edge names the key itself.
pub(super) fn view(graph: &Graph, edge: &Edge, dialect: Dialect) -> Option<ViaView> {
    let parent = graph.table(edge.parent);
    let key = parent.key.first().filter(|_| !edge.names_key(graph))?;
    Some(ViaView {
        table: table_name(graph, dialect, &parent.name),
        key: dialect.ident(&key.name),
        on: same(edge, dialect, "t", "p"),
        named: named(edge, dialect),
        many: edge.alone,
        pairs: pairs(edge, dialect),
    })
}

/// That a row, by its alias, names the row of the parent, by its alias.
pub(super) fn same(edge: &Edge, dialect: Dialect, child: &str, parent: &str) -> String {
    compare(&pairs(edge, dialect), child, parent)
}

/// What a query for existence selects, with the blank after it; PostgreSQL selects nothing.
pub(super) fn one(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "",
        Dialect::Mysql | Dialect::Mariadb => "1 ",
    }
}

/// The same, with the parent's columns first.
pub(super) fn named_by(edge: &Edge, dialect: Dialect, parent: &str, child: &str) -> String {
    let swapped: Vec<(String, String)> = pairs(edge, dialect)
        .into_iter()
        .map(|(column, named)| (named, column))
        .collect();
    compare(&swapped, parent, child)
}

fn named(edge: &Edge, dialect: Dialect) -> String {
    let columns = pairs(edge, dialect).into_iter();
    let columns = columns.map(|(_, named)| format!("p.{named}"));
    columns.collect::<Vec<_>>().join(", ")
}

/// The columns of a row with those of the parent that they name.
pub(super) fn pairs(edge: &Edge, dialect: Dialect) -> Vec<(String, String)> {
    edge.pairs()
        .map(|(column, named)| (dialect.ident(&column.name), dialect.ident(&named.name)))
        .collect()
}

/// That a row names another by these columns.
pub(super) fn compare(pairs: &[(String, String)], child: &str, parent: &str) -> String {
    let equal = |(column, named): &(String, String)| format!("{child}.{column} = {parent}.{named}");
    pairs.iter().map(equal).collect::<Vec<_>>().join(" AND ")
}
