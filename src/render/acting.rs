//! What may act besides windrow's own statements, for the templates: the foreign keys that the spec accounts for, and the
//! columns by which rows belong together.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{kept, stamp};
use crate::dialect::Dialect;
use crate::graph::{Action, Edge, Graph, KnownKey, Literal, Table, TableId};

/// A foreign key that the spec accounts for, as the kernel knows it.
#[derive(Serialize)]
pub(super) struct KeyDocument {
    table_name: String,
    /// Its columns and those that they name, sorted by the former.
    columns: Vec<String>,
    parent: String,
    named: Vec<String>,
    /// Letters as PostgreSQL's catalog has them.
    effects: String,
}

/// The foreign keys that a spec accounts for besides those of its edges.
pub(super) fn documents(graph: &Graph) -> Vec<KeyDocument> {
    let tables = graph.tables.iter();
    let of_edges: Vec<KnownKey> = tables
        .flat_map(|table| {
            let edges = table.edges.iter().filter(|edge| !edge.alone);
            edges.map(|edge| KnownKey::of_edge(graph, &table.name, edge))
        })
        .collect();
    let document = |key: KnownKey| {
        let effects = letters(&key);
        let (columns, named) = key.pairs.into_iter().unzip();
        KeyDocument {
            table_name: key.table,
            columns,
            parent: key.parent,
            named,
            effects,
        }
    };
    let known = graph.known_keys().into_iter();
    known
        .filter(|key| !of_edges.contains(key))
        .map(document)
        .collect()
}

/// What a foreign key may do, as PostgreSQL's catalog has it.
fn letters(key: &KnownKey) -> String {
    key.effects.iter().map(|effect| letter(effect)).collect()
}

/// What a foreign key does as a row that it names is deleted, as PostgreSQL's catalog has it.
fn letter(effect: &str) -> &'static str {
    match effect {
        "CASCADE" => "c",
        "SET NULL" => "n",
        _ => "d",
    }
}

/// An edge, as the kernel knows it.
#[derive(Serialize)]
pub(super) struct EdgeDocument<'a> {
    table: &'a str,
    columns: Vec<&'a str>,
    parent: &'a str,
    /// The columns of the parent, in the order of those.
    named: Vec<&'a str>,
    /// A value of the first column that means "no parent".
    #[serde(skip_serializing_if = "Option::is_none")]
    none: Option<String>,
    /// Whether rows without the parent are no orphans.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    beside: bool,
    /// What a foreign key of these columns may do, in letters as PostgreSQL's catalog has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    effects: Option<String>,
    /// That row `c` of the table is not one of those that are kept without the parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
}

/// Both ends of every edge. Orphans are looked for in some tables.
pub(super) fn edges<'a>(
    graph: &'a Graph,
    counted: &[TableId],
    dialect: Dialect,
) -> Vec<EdgeDocument<'a>> {
    let tables = graph.tables.iter().zip(0..);
    let of = |(table, at): (&'a Table, usize)| {
        let counts = counted.contains(&TableId(at));
        let edges = table.edges.iter();
        edges.map(move |edge| EdgeDocument {
            table: &table.name,
            columns: edge.pairs().map(|(own, _)| own.name.as_str()).collect(),
            parent: &graph.table(edge.parent).name,
            named: edge.pairs().map(|(_, named)| named.name.as_str()).collect(),
            none: edge.none.as_ref().map(|none| match none {
                Literal::Integer(number) => number.to_string(),
                Literal::Text(text) => text.clone(),
            }),
            beside: !counts || edge.alone,
            effects: (!edge.alone).then(|| letters(&KnownKey::of_edge(graph, &table.name, edge))),
            kept: kept::said(graph, TableId(at), "c", dialect)
                .filter(|_| edge.action == Action::Delete),
        })
    };
    tables.flat_map(of).collect()
}

/// What statements compare besides edges: table, column, table and column that are named. On MySQL and MariaDB the edges among them
/// are listed, too, since there an edge may compare by bytes what its parent does not.
pub(super) fn compared(graph: &Graph, dialect: Dialect) -> Vec<[&str; 4]> {
    let compared = graph.compared().into_iter();
    compared
        .filter(|it| dialect != Dialect::Postgres || !graph.is_edge(it))
        .map(|it| [it.table, it.own, it.parent, it.named])
        .collect()
}

/// What windrow knows of a table, and does to it, for PostgreSQL.
#[derive(Serialize)]
pub(super) struct TableDocument<'a> {
    /// The columns of keys and edges.
    columns: Vec<&'a str>,
    /// Other columns by whose values rules decide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reads: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    goes: bool,
    /// Whether its partitions are dropped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dropped: bool,
    /// The columns that are set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sets: Vec<&'a str>,
    /// The triggers that the spec accepts.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    triggers: &'a [String],
}

/// The tables of the spec, and those that rules only read, with what there is to know of each.
pub(super) fn tables<'a>(
    graph: &'a Graph,
    going: &[&str],
    dropped: &[&str],
    dialect: Dialect,
) -> BTreeMap<&'a str, TableDocument<'a>> {
    let own = graph.tables.iter().zip(0..).map(|(table, at)| {
        let columns = columns(graph, table);
        let mut reads = graph.decides_by(&table.name);
        reads.retain(|column| !columns.contains(&column.as_str()));
        let known = TableDocument {
            columns,
            reads: reads.into_iter().collect(),
            goes: going.contains(&table.name.as_str()),
            dropped: dropped.contains(&table.name.as_str()),
            sets: sets(graph, TableId(at), dialect),
            triggers: &table.triggers,
        };
        (table.name.as_str(), known)
    });
    let read = graph.read_only().into_iter().map(|name| {
        let known = TableDocument {
            columns: graph.looked_at(name).into_iter().collect(),
            reads: Vec::new(),
            goes: false,
            dropped: false,
            sets: Vec::new(),
            triggers: &[],
        };
        (name, known)
    });
    own.chain(read).collect()
}

/// The columns of a table that are set: to NULL, as the row that they name is deleted, or to a removal time.
pub fn sets(graph: &Graph, table: TableId, dialect: Dialect) -> Vec<&str> {
    let nulls = graph.table(table).releases().flat_map(Edge::pairs);
    let stamped = stamp::columns(graph, table, dialect);
    let times = graph.rules.iter().map(|rule| rule.end_time.name.as_str());
    let mut columns: Vec<&str> = nulls
        .map(|(column, _)| column.name.as_str())
        .chain(times.filter(|time| stamped.contains(&dialect.ident(time))))
        .collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The columns of the keys and edges of a table, and others by which rows are found, sorted.
pub(super) fn columns<'a>(graph: &'a Graph, table: &'a Table) -> Vec<&'a str> {
    let named = graph.tables.iter().flat_map(|other| &other.edges);
    let named = named.filter(|edge| graph.table(edge.parent).name == table.name);
    let mut columns: Vec<&str> = table
        .key
        .iter()
        .chain(table.unique.iter().flatten())
        .chain(table.edges.iter().flat_map(Edge::pairs).map(|(own, _)| own))
        .chain(named.flat_map(Edge::pairs).map(|(_, named)| named))
        .map(|column| column.name.as_str())
        .chain(graph.looked_at(&table.name))
        .collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}
