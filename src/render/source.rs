//! What says how long a scope without a policy is kept, for the templates: a row `d` for each such scope.

use serde::Serialize;

use super::names::{escaped, listed, spelled_out, table_name};
use crate::dialect::Dialect;
use crate::graph::{Column, Definition, Graph, Kind, Rule, Source};

/// A definition that says more days than a hundred years has, or less than none, means forever.
const LONGEST: i64 = 36_525 * 86_400;

#[derive(Serialize)]
pub(super) struct SourceView {
    /// One sentence: becomes the comment above the query.
    why: String,
    /// The rows `d` with their alias: a table, or the values of the spec as one.
    rows: String,
    /// The scope of row `d`, as it is and as a text.
    scope: String,
    scope_text: String,
    /// The text of a table that may compare it otherwise than the rows do, without how it does; empty where nothing does.
    plain: String,
    /// Whether row `d` says anything; empty where it always does.
    says: String,
    /// Whether what it says is a retention, and not forever; empty where it always is.
    ends: String,
    /// The retention in seconds.
    pub(super) seconds: String,
    /// The table that is read; empty where the spec itself says it.
    table: String,
}

pub(super) fn view(graph: &Graph, rule: &Rule, dialect: Dialect) -> Option<SourceView> {
    let per = rule.retention.per.as_ref()?;
    match rule.retention.source.as_ref()? {
        Source::Definition(definition) => Some(of_definition(
            graph,
            definition,
            per,
            rule.retention.listed(),
            dialect,
        )),
        Source::Values(values) => Some(of_values(values, per, dialect)),
    }
}

fn of_definition(
    graph: &Graph,
    definition: &Definition,
    per: &Column,
    listed: bool,
    dialect: Dialect,
) -> SourceView {
    let column = format!("d.{}", dialect.ident(&definition.column));
    let ends = format!("{column} BETWEEN 0 AND {}", LONGEST / definition.unit);
    let table = table_name(graph, dialect, &definition.table);
    let scope = format!("d.{}", dialect.ident(&definition.key.name));
    SourceView {
        why: format!(
            "Without a policy, the definition in {} says it: {}, NULL is {}. Less than 0 or more than a hundred years is for ever.",
            escaped(dialect, &definition.table),
            escaped(dialect, &definition.column),
            if listed { "for ever" } else { "the default" },
        ),
        rows: format!("{table} AS d"),
        scope_text: as_text(&scope, per, dialect),
        plain: match (dialect, per.kind) {
            (Dialect::Postgres, Kind::Varchar) => format!("to_json({scope}) #>> '{{}}'"),
            _ => String::new(),
        },
        scope,
        // What is kept forever need not be listed where only what is listed is deleted. On MySQL and MariaDB another spelling of the
        // same scope may be listed, too; PostgreSQL looks at all spellings of what is listed.
        says: match dialect {
            Dialect::Postgres if listed => ends.clone(),
            _ if listed => String::new(),
            _ => format!("{column} IS NOT NULL"),
        },
        ends,
        seconds: match (dialect, definition.unit) {
            (Dialect::Postgres, 1) => format!("{column}::bigint"),
            (Dialect::Postgres, unit) => format!("{column}::bigint * {unit}"),
            (Dialect::Mysql | Dialect::Mariadb, 1) => column,
            (Dialect::Mysql | Dialect::Mariadb, unit) => format!("{column} * {unit}"),
        },
        table,
    }
}

fn of_values(values: &[(String, i64)], per: &Column, dialect: Dialect) -> SourceView {
    let kind = dialect.kind(per.kind);
    let literal = |value: &str| listed(dialect, per.kind, value);
    let rows: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(at, (value, seconds))| match (dialect, at) {
            (Dialect::Postgres, 0) => format!("({}::{kind}, {seconds}::bigint)", literal(value)),
            (Dialect::Postgres, _) => format!("({}, {seconds})", literal(value)),
            (_, 0) => format!("SELECT {} AS scope, {seconds} AS seconds", literal(value)),
            (_, _) => format!("SELECT {}, {seconds}", literal(value)),
        })
        .collect();
    let rows = match dialect {
        Dialect::Postgres => format!(
            "(\n        VALUES\n            {}\n    ) AS d(scope, seconds)",
            rows.join(",\n            ")
        ),
        Dialect::Mysql | Dialect::Mariadb => format!(
            "(\n        {}\n    ) AS d",
            rows.join("\n        UNION ALL ")
        ),
    };
    SourceView {
        why: "Without a policy, the spec says it by value.".to_owned(),
        rows,
        scope: "d.scope".to_owned(),
        scope_text: as_text("d.scope", per, dialect),
        plain: String::new(),
        says: String::new(),
        ends: String::new(),
        seconds: "d.seconds".to_owned(),
        table: String::new(),
    }
}

/// A scope as policies have it. A number has one text, whatever digits its column prints behind the point.
pub(super) fn as_text(value: &str, per: &Column, dialect: Dialect) -> String {
    match dialect {
        Dialect::Postgres if per.kind == Kind::Numeric => format!("trim_scale({value})::text"),
        Dialect::Postgres => format!("{value}::text"),
        Dialect::Mysql | Dialect::Mariadb => spelled_out(per.kind, value),
    }
}
