//! What may act beside windrow's own statements, for the templates: the foreign keys that the spec accounts for, and the
//! columns by which rows are told to belong together.

use serde::Serialize;

use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, KnownKey, Table};

/// A foreign key that the spec accounts for.
#[derive(Serialize)]
pub(super) struct KeyView {
    table: String,
    /// Its columns and those that they name, sorted, as one literal in lower case, as names of columns are compared.
    pairs: String,
    parent: String,
    /// What it may do, as the catalog says it: rules between commas.
    effects: String,
}

/// The columns of a table that edges compare: text for text, they must stay what they are.
#[derive(Serialize)]
pub(super) struct ShapeView {
    table: String,
    columns: String,
}

pub(super) fn keys(graph: &Graph, dialect: Dialect) -> Vec<KeyView> {
    let known = graph.known_keys();
    known.iter().map(|key| key_view(key, dialect)).collect()
}

fn key_view(key: &KnownKey, dialect: Dialect) -> KeyView {
    let mut lower: Vec<String> = key
        .pairs
        .iter()
        .map(|(column, named)| format!("{column} -> {named}").to_lowercase())
        .collect();
    lower.sort();
    KeyView {
        table: dialect.text(&key.table),
        pairs: dialect.text(&lower.join(", ")),
        parent: dialect.text(&key.parent),
        effects: dialect.text(&key.effects.join(",")),
    }
}

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

/// The foreign keys that a spec accounts for.
pub(super) fn documents(graph: &Graph) -> Vec<KeyDocument> {
    let document = |key: KnownKey| {
        let letter = |effect: &&'static str| letter(effect);
        let effects = key.effects.iter().map(letter).collect();
        let (columns, named) = key.pairs.into_iter().unzip();
        KeyDocument {
            table_name: key.table,
            columns,
            parent: key.parent,
            named,
            effects,
        }
    };
    graph.known_keys().into_iter().map(document).collect()
}

/// What a foreign key does as a row that it names goes, as PostgreSQL's catalog has it.
fn letter(effect: &str) -> &'static str {
    match effect {
        "CASCADE" => "c",
        "SET NULL" => "n",
        _ => "d",
    }
}

/// Both ends of every edge, column by column: table, its column, parent, the column that is named.
pub(super) fn edges(graph: &Graph) -> Vec<[&str; 4]> {
    let mut ends = Vec::new();
    for table in &graph.tables {
        for edge in &table.edges {
            let parent = graph.table(edge.parent).name.as_str();
            for (column, named) in edge.pairs() {
                ends.push([table.name.as_str(), &column.name, parent, &named.name]);
            }
        }
    }
    ends
}

/// The columns of the keys and edges of a table, sorted.
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
        .collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Every managed table with the columns of its keys and edges.
pub(super) fn shapes(graph: &Graph, dialect: Dialect) -> Vec<ShapeView> {
    let shape = |table: &Table| {
        let columns = columns(graph, table).into_iter();
        let columns: Vec<String> = columns.map(|name| dialect.text(name)).collect();
        ShapeView {
            table: dialect.text(&table.name),
            columns: columns.join(", "),
        }
    };
    graph.tables.iter().map(shape).collect()
}
