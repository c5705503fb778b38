//! How the root of a family is identified in a rule by time.

use super::marks::own;
use super::names::{control_name, table_name};
use crate::dialect::Dialect;
use crate::graph::{Graph, Rule, Timed};

/// How the root of a family is identified.
pub(super) struct Roots {
    pub(super) table: String,
    pub(super) key: String,
    /// The column of the root table that names the family's root; empty where each row is a family.
    pub(super) column: String,
    /// PostgreSQL: what lists the keys of all roots, and of all rows whose root is there; statements take its text in.
    pub(super) roots: String,
    pub(super) rooted: String,
}

impl Roots {
    pub(super) fn new(graph: &Graph, rule: &Rule, timed: &Timed, dialect: Dialect) -> Roots {
        let table = graph.table(rule.root);
        let key = &table.key[0].name;
        let mut members = timed.members.iter();
        let root = members.find(|member| member.table == rule.root);
        let column = root
            .and_then(|root| root.family.first())
            .filter(|column| *column != key);
        Roots {
            table: table_name(graph, dialect, &table.name),
            key: dialect.ident(key),
            column: column.map_or(String::new(), |column| dialect.ident(column)),
            roots: own(&format!("{}.{}_roots()", control_name(graph), rule.name)),
            rooted: own(&format!("{}.{}_rooted()", control_name(graph), rule.name)),
        }
    }

    /// The key of the family of a row of the root table.
    pub(super) fn family_of(&self, row: &str, dialect: Dialect) -> String {
        let Roots { key, column, .. } = self;
        let coalesce = match dialect {
            Dialect::Postgres => "coalesce",
            Dialect::Mysql | Dialect::Mariadb => "COALESCE",
        };
        match column.as_str() {
            "" => format!("{row}.{key}"),
            column => format!("{coalesce}({row}.{column}, {row}.{key})"),
        }
    }

    /// Whether a row of the root table is the root of its family, where that is a question.
    pub(super) fn is_root(&self, row: &str, dialect: Dialect) -> Option<String> {
        let family = self.family_of(row, dialect);
        (!self.column.is_empty()).then(|| format!("{family} = {row}.{}", self.key))
    }

    /// The same, and `true` where each row is one.
    pub(super) fn said_root(&self, row: &str, dialect: Dialect) -> String {
        let is_root = self.is_root(row, dialect);
        is_root.unwrap_or_else(|| "true".to_owned())
    }

    /// That a row is the root of a family, which an expression names.
    pub(super) fn at(&self, row: &str, family: &str, dialect: Dialect) -> String {
        let is_root = self.is_root(row, dialect);
        let is_root = is_root.map_or(String::new(), |it| format!(" AND {it}"));
        format!("{row}.{} = {family}{is_root}", self.key)
    }

    /// That the root of a family, which an expression names, is not there.
    pub(super) fn missing(&self, family: &str, dialect: Dialect) -> String {
        match dialect {
            Dialect::Postgres => {
                format!(
                    "NOT EXISTS (SELECT FROM {} AS f(id) WHERE f.id = {family})",
                    self.roots
                )
            }
            Dialect::Mysql | Dialect::Mariadb => {
                let (table, at) = (&self.table, self.at("f", family, dialect));
                format!("NOT EXISTS (SELECT 1 FROM {table} AS f WHERE {at})")
            }
        }
    }
}
