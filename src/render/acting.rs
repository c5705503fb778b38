//! What may act beside windrow's own statements, for the templates: the foreign keys that the spec accounts for, and the
//! columns by which rows are told to belong together.

use serde::Serialize;

use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, KnownKey, Table};

/// A foreign key that the spec accounts for.
#[derive(Serialize)]
pub(super) struct KeyView {
    table: String,
    /// Its columns and those that they name, sorted by the former: lists of literals.
    columns: String,
    named: String,
    /// The same as one literal in lower case, as MySQL and MariaDB compare the names of columns.
    pairs: String,
    parent: String,
    /// What it may do, as the catalog says it: letters on PostgreSQL, rules between commas elsewhere.
    effects: String,
}

/// The columns of a table that edges compare: text for text, they must stay what they are.
#[derive(Serialize)]
pub(super) struct ShapeView {
    table: String,
    columns: String,
}

/// The ends of an edge, where a collation could make them compare otherwise.
#[derive(Serialize)]
pub(super) struct EndsView {
    table: String,
    column: String,
    parent: String,
    named: String,
}

pub(super) fn keys(graph: &Graph, dialect: Dialect) -> Vec<KeyView> {
    let known = graph.known_keys();
    known.iter().map(|key| key_view(key, dialect)).collect()
}

fn key_view(key: &KnownKey, dialect: Dialect) -> KeyView {
    let list = |names: Vec<&String>| {
        let names: Vec<String> = names.into_iter().map(|name| dialect.text(name)).collect();
        names.join(", ")
    };
    let mut lower: Vec<String> = key
        .pairs
        .iter()
        .map(|(column, named)| format!("{column} -> {named}").to_lowercase())
        .collect();
    lower.sort();
    let effect = |effect: &&'static str| match dialect {
        Dialect::Postgres => match *effect {
            "CASCADE" => "c",
            "SET NULL" => "n",
            _ => "d",
        },
        Dialect::Mysql | Dialect::Mariadb => *effect,
    };
    let effects: Vec<&str> = key.effects.iter().map(effect).collect();
    KeyView {
        table: dialect.text(&key.table),
        columns: list(key.pairs.iter().map(|(column, _)| column).collect()),
        named: list(key.pairs.iter().map(|(_, named)| named).collect()),
        pairs: dialect.text(&lower.join(", ")),
        parent: dialect.text(&key.parent),
        effects: dialect.text(&match dialect {
            Dialect::Postgres => effects.concat(),
            Dialect::Mysql | Dialect::Mariadb => effects.join(","),
        }),
    }
}

/// Every managed table with the columns of its keys and edges.
pub(super) fn shapes(graph: &Graph, dialect: Dialect) -> Vec<ShapeView> {
    let shape = |table: &Table| {
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
        let columns: Vec<String> = columns.into_iter().map(|name| dialect.text(name)).collect();
        ShapeView {
            table: dialect.text(&table.name),
            columns: columns.join(", "),
        }
    };
    graph.tables.iter().map(shape).collect()
}

/// Both ends of every edge, column by column.
pub(super) fn ends(graph: &Graph, dialect: Dialect) -> Vec<EndsView> {
    let of_table = |table: &Table| {
        let pairs = table.edges.iter().flat_map(|edge| {
            let parent = &graph.table(edge.parent).name;
            edge.pairs()
                .map(move |(column, named)| (&column.name, parent, &named.name))
        });
        let view = |(column, parent, named): (&String, &String, &String)| EndsView {
            table: dialect.text(&table.name),
            column: dialect.text(column),
            parent: dialect.text(parent),
            named: dialect.text(named),
        };
        pairs.map(view).collect::<Vec<_>>()
    };
    graph.tables.iter().flat_map(of_table).collect()
}
