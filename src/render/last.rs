//! Roots that ended with the last of their rows of another table, for the templates.

use serde::Serialize;

use super::names::{escaped, finite, table_name};
use crate::dialect::Dialect;
use crate::graph::{Column, Graph, Rule};

/// How the end of a root is found.
#[derive(Serialize)]
pub(super) struct LastView {
    table: String,
    table_name: String,
    /// The column that refers to the root, and the one that says when a row was over.
    names: String,
    time: String,
    time_name: String,
    /// The column of root `i` that replaces it, and its name; empty where there is none.
    otherwise: String,
    otherwise_name: String,
    /// When root `i` ended, where `e` is what its rows say.
    ended: String,
}

pub(super) fn view(graph: &Graph, rule: &Rule, dialect: Dialect) -> Option<LastView> {
    let last = rule.last.as_ref()?;
    let table = &graph.table(last.table).name;
    let other = last.otherwise.as_ref();
    let text = |of: &dyn Fn(&Column) -> String| other.map_or(String::new(), of);
    let otherwise = text(&|column| format!("i.{}", dialect.ident(&column.name)));
    Some(LastView {
        table: table_name(graph, dialect, table),
        table_name: escaped(dialect, table),
        names: dialect.ident(&last.names.name),
        time: dialect.ident(&last.time.name),
        time_name: escaped(dialect, &last.time.name),
        ended: match other {
            None => "e.ended".to_owned(),
            Some(_) => format!("coalesce(e.ended, {})", finite(dialect, &otherwise)),
        },
        otherwise,
        otherwise_name: text(&|column| escaped(dialect, &column.name)),
    })
}

/// What the end of a root is called.
pub(super) fn name(graph: &Graph, rule: &Rule) -> Option<String> {
    let last = rule.last.as_ref()?;
    let table = &graph.table(last.table).name;
    let other = last.otherwise.as_ref();
    let other = other.map_or(String::new(), |column| format!(" or {}", column.name));
    Some(format!("last {} in {table}{other}", last.time.name))
}
