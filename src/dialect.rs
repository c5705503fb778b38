//! What differs between the servers, and how a value is written for each: the only file that names `sea_query`.

use sea_query::{
    Alias, Expr, ExprTrait, IntoIden, PostgresQueryBuilder, QueryBuilder, QuotedBuilder, SimpleExpr,
};

use crate::graph::{Condition, Kind, Literal};

/// The servers that windrow generates for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// PostgreSQL 14 and later.
    Postgres,
}

/// All dialects, in the order in which they are generated.
pub const DIALECTS: &[Dialect] = &[Dialect::Postgres];

/// What a DBA wants to know of a dialect: plain values, no behaviour.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Folder below `generated/<spec>/`.
    pub folder: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Longest identifier, in bytes.
    pub identifier_bytes: usize,
    /// Oldest major version that the generated SQL is made for.
    pub minimum_version: u32,
    /// What starts the scheduled run.
    pub scheduler: &'static str,
}

impl Dialect {
    /// The facts of this dialect.
    pub const fn facts(self) -> Facts {
        match self {
            Dialect::Postgres => Facts {
                folder: "postgres",
                title: "PostgreSQL",
                identifier_bytes: 63,
                minimum_version: 14,
                scheduler: "pg_cron",
            },
        }
    }

    /// A quoted identifier.
    pub fn ident(self, name: &str) -> String {
        let mut text = String::new();
        match self {
            Dialect::Postgres => {
                PostgresQueryBuilder.prepare_iden(&Alias::new(name).into_iden(), &mut text)
            }
        }
        text
    }

    /// A quoted identifier with its schema.
    pub fn qualified(self, schema: &str, name: &str) -> String {
        format!("{}.{}", self.ident(schema), self.ident(name))
    }

    /// A text literal.
    pub fn text(self, value: &str) -> String {
        self.expression(Expr::val(value))
    }

    /// A condition on a column: one value with `=`, several with `IN`.
    pub fn condition(self, condition: &Condition) -> String {
        let column = Expr::col(Alias::new(&condition.column.name));
        let mut literals: Vec<SimpleExpr> = condition
            .values
            .iter()
            .map(|value| match value {
                Literal::Integer(number) => Expr::val(*number),
                Literal::Text(text) => Expr::val(text.as_str()),
            })
            .collect();
        self.expression(match literals.len() {
            1 => column.eq(literals.remove(0)),
            _ => column.is_in(literals),
        })
    }

    /// The same condition on a column of the row alias `row`.
    pub fn condition_of(self, row: &str, condition: &Condition) -> String {
        format!("{row}.{}", self.condition(condition))
    }

    /// Name of a column type.
    pub const fn kind(self, kind: Kind) -> &'static str {
        match self {
            Dialect::Postgres => match kind {
                Kind::Smallint => "smallint",
                Kind::Integer => "integer",
                Kind::Bigint => "bigint",
                Kind::Uuid => "uuid",
                Kind::Varchar => "text",
                Kind::Timestamp => "timestamp",
                Kind::Timestamptz => "timestamptz",
            },
        }
    }

    fn expression(self, expression: SimpleExpr) -> String {
        let mut text = String::new();
        match self {
            Dialect::Postgres => PostgresQueryBuilder.prepare_expr(&expression, &mut text),
        }
        text
    }
}
