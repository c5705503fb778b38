//! The views of the edges of a rule.

use serde::Serialize;

use super::names::{near, table_name, variable, work_table};
use super::via;
use super::via::ViaView;
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, Rule, TableId};

/// A column and the variable with the keys that it is compared with: `keys` in the batch, `keys_of_rows` in the count.
#[derive(Clone, Serialize)]
pub(super) struct EdgeView {
    pub(super) column: String,
    pub(super) keys: String,
    pub(super) keys_of_rows: String,
    /// Whether the keys may lie close together: not where they are the members.
    pub(super) near: bool,
    /// The type of the members, where a batch looks first which of them are named at all; empty where it does not: by the rows of a
    /// table below which there is another, most members are.
    pub(super) sifted: &'static str,
    /// Where the keys do not are in the column: what is between.
    pub(super) via: Option<ViaView>,
    /// The edges before it, for counting a row once.
    pub(super) others: Vec<OtherView>,
    /// The table between the members in `keys` and the column, where no work table holds its keys.
    pub(super) between: Option<BetweenView>,
    /// The value of the column that means that a row belongs to nothing; empty where every value names a row.
    pub(super) none: String,
    /// What keeps out such rows, and those that are kept: ` AND …`, or empty.
    pub(super) unless: String,
    /// What keeps out those that are kept.
    pub(super) kept: String,
}

/// A table whose rows belong to the members and nothing else: its column with their keys, and its own key.
#[derive(Clone, Serialize)]
pub(super) struct BetweenView {
    pub(super) table: String,
    pub(super) column: String,
    pub(super) key: String,
}

/// An edge before another of the same table: its column, and the work table with its keys.
#[derive(Clone, Serialize)]
pub(super) struct OtherView {
    pub(super) column: String,
    pub(super) keys: String,
    pub(super) via: Option<ViaView>,
    pub(super) none: String,
}

pub(super) fn edge_view(graph: &Graph, rule: &Rule, edge: &Edge, dialect: Dialect) -> EdgeView {
    let keys = if edge.parent == rule.root {
        members(rule, dialect)
    } else {
        collected(graph, edge.parent, dialect)
    };
    let via = via::view(graph, edge, dialect);
    let between = between(graph, rule, edge.parent, dialect);
    EdgeView {
        column: dialect.ident(&edge.column.name),
        keys: match between {
            Some(_) => members(rule, dialect).keys,
            None => keys.keys,
        },
        near: via.is_none() && edge.parent != rule.root && near(graph, edge.parent),
        none: none(edge, dialect),
        unless: unless(edge, dialect, via.is_some(), between.as_ref()),
        via,
        between,
        ..keys
    }
}

/// A value that means "no parent" means it also where a row has it as its key. On MySQL and MariaDB it is asked of the
/// parent, so that the optimizer sees no reason to read the table by anything else than the parent's key.
pub(super) fn unless(
    edge: &Edge,
    dialect: Dialect,
    via: bool,
    between: Option<&BetweenView>,
) -> String {
    let asked = match (dialect, between) {
        (Dialect::Postgres, _) => format!("t.{}", dialect.ident(&edge.column.name)),
        (_, Some(between)) => format!("p.{}", between.key),
        (_, None) if via => format!("p.{}", dialect.ident(&edge.parent_column.name)),
        (_, None) => "w.id".to_owned(),
    };
    excluded(edge, dialect, &asked)
}

/// That a value, of the edge's column or what it names, does not mean "no parent"; empty where none does.
pub(super) fn excluded(edge: &Edge, dialect: Dialect, asked: &str) -> String {
    match none(edge, dialect).as_str() {
        "" => String::new(),
        none => format!(" AND {asked} <> {none}"),
    }
}

/// The value of an edge's column that means "no parent"; empty where every value names one.
pub(super) fn none(edge: &Edge, dialect: Dialect) -> String {
    match &edge.none {
        Some(crate::graph::Literal::Integer(number)) => number.to_string(),
        Some(crate::graph::Literal::Text(text)) => dialect.text(text),
        None => String::new(),
    }
}

/// How a batch reaches the rows of a table by a join: on MySQL and MariaDB, where they belong to the members by one
/// column. Its keys in a work table of their own would cost more than to read the index again.
pub(super) fn between(
    graph: &Graph,
    rule: &Rule,
    id: TableId,
    dialect: Dialect,
) -> Option<BetweenView> {
    let table = graph.table(id);
    // Where some rows are kept, those that are deleted are listed under their locks.
    if dialect == Dialect::Postgres || id == rule.root || !table.kept.is_empty() {
        return None;
    }
    let mut edges = table
        .parents()
        .filter(|edge| rule.order.contains(&edge.parent));
    match (edges.next(), edges.next()) {
        (Some(edge), None) if edge.parent == rule.root && edge.names_key(graph) => {
            Some(BetweenView {
                table: table_name(graph, dialect, &table.name),
                column: dialect.ident(&edge.column.name),
                key: dialect.ident(&table.key[0].name),
            })
        }
        _ => None,
    }
}

/// What holds the keys of the members: variables on PostgreSQL, a work table elsewhere.
pub(super) fn members(rule: &Rule, dialect: Dialect) -> EdgeView {
    let (keys, keys_of_rows) = match (dialect, rule.single()) {
        // They are handed to the function that deletes what belongs to them.
        (Dialect::Postgres, _) => ("p_members", "p_members"),
        (Dialect::Mysql | Dialect::Mariadb, None) => ("work_member", "work_gone"),
        (Dialect::Mysql | Dialect::Mariadb, Some(_)) => ("work_member", "work_taken"),
    };
    EdgeView {
        keys_of_rows: keys_of_rows.to_owned(),
        ..by_keys(keys)
    }
}

/// What compares a column with some keys.
fn by_keys(keys: &str) -> EdgeView {
    EdgeView {
        column: String::new(),
        keys: keys.to_owned(),
        keys_of_rows: keys.to_owned(),
        near: false,
        sifted: "",
        via: None,
        others: Vec::new(),
        between: None,
        none: String::new(),
        unless: String::new(),
        kept: String::new(),
    }
}

/// What compares a column with the keys of a table that were collected: a variable on PostgreSQL, a work table elsewhere.
pub(super) fn collected(graph: &Graph, id: TableId, dialect: Dialect) -> EdgeView {
    let keys = match dialect {
        Dialect::Postgres => variable(graph, id),
        Dialect::Mysql | Dialect::Mariadb => work_table(graph, id),
    };
    by_keys(&keys)
}
