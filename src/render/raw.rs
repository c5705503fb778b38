//! SQL of the spec, for the templates.

use super::names::home;
use crate::dialect::Dialect;
use crate::graph::{Graph, Rule};

/// What a rule has besides its conditions on a row, by its alias.
pub(super) fn condition(graph: &Graph, rule: &Rule, row: &str, dialect: Dialect) -> Option<String> {
    let sql = rule.where_sql.as_ref()?;
    let home = dialect.ident(home(graph, dialect));
    let sql = sql.replace("{root}", row).replace("{schema}", &home);
    Some(format!("({sql})"))
}
