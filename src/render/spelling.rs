//! How the kernel learns what a value of a column looks like.

use super::single::SingleView;
use crate::dialect::Dialect;
use crate::graph::{self, Graph, Kind, Rule};

/// The columns of a key, with their types.
pub(super) fn key(table: &graph::Table, dialect: Dialect) -> Vec<String> {
    let key = &table.key;
    let kind = |kind| match dialect {
        Dialect::Postgres => dialect.kind(kind),
        Dialect::Mysql | Dialect::Mariadb => spelled_in_key(kind, key.len(), dialect),
    };
    let columns = key.iter();
    columns
        .map(|column| format!("{} {}", column.name, kind(column.kind)))
        .collect()
}

/// What a text must be to be a value of a key of some columns.
pub(super) fn spelled_in_key(kind: Kind, columns: usize, dialect: Dialect) -> &'static str {
    match kind {
        // Where there is no type for them, applications write uuids with dashes or without.
        Kind::Uuid if dialect == Dialect::Mysql && columns == 1 => "dashless",
        kind => spelled(kind),
    }
}

/// What the kernel calls a kind of values.
pub(super) fn spelled(kind: Kind) -> &'static str {
    match kind {
        Kind::Smallint => "smallint",
        Kind::Integer => "int",
        Kind::Bigint => "bigint",
        Kind::Uuid => "uuid",
        // Hexadecimal digits.
        Kind::Bytea => "binary",
        Kind::Numeric => "decimal",
        Kind::Varchar | Kind::Char | Kind::Timestamp | Kind::Timestamptz => "text",
    }
}

/// The columns of the work tables of a rule that are bytes; of rules by families or by time, these are keys and scopes.
pub(super) fn hexed<'a>(
    graph: &Graph,
    rule: &Rule,
    single: Option<&'a SingleView>,
    dialect: Dialect,
) -> Vec<&'a str> {
    if let Some(single) = single {
        return single.hexed();
    }
    if dialect == Dialect::Postgres {
        return Vec::new();
    }
    let key = graph.table(rule.root).key.first();
    [(key, "id"), (rule.retention.per.as_ref(), "scope")]
        .into_iter()
        .filter(|(column, _)| column.is_some_and(|it| it.kind == Kind::Bytea))
        .map(|(_, name)| name)
        .collect()
}
