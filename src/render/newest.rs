//! The newest roots of each group, which stay, for the templates.

use serde::Serialize;

use super::RuleView;
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::{Condition, Graph, Rule};
use crate::plan;

/// How the newest roots of a group are found.
#[derive(Serialize)]
pub(super) struct NewestView {
    count: i64,
    /// How many newer ones are passed over to find the last one that stays.
    offset: i64,
    per: String,
    per_name: String,
    /// Whether the groups are the scopes of the policies.
    of_scope: bool,
    by: String,
    /// Which rows `i` count among the roots, and which rows `n` do at all.
    of: Vec<String>,
    counted_of_i: Vec<String>,
    counted: Vec<String>,
}

pub(super) fn view(rule: &Rule, dialect: Dialect) -> Option<NewestView> {
    let newest = rule.newest.as_ref()?;
    let of = |row: &str, conditions: &[Condition]| -> Vec<String> {
        let conditions = conditions.iter();
        conditions
            .map(|condition| dialect.condition_of(row, condition))
            .collect()
    };
    let counted = plan::counted(rule, newest);
    Some(NewestView {
        count: newest.count,
        offset: newest.count - 1,
        per: dialect.ident(&newest.per.name),
        per_name: super::escaped(dialect, &newest.per.name),
        of_scope: rule
            .retention
            .per
            .as_ref()
            .is_some_and(|per| per.name == newest.per.name),
        by: dialect.ident(&newest.by.name),
        of: of("i", &newest.of),
        counted_of_i: of("i", &counted),
        counted: of("n", &counted),
    })
}

/// The search for the last root of a group that stays, for EXPLAIN.
pub(super) fn probe(
    graph: &Graph,
    rule: &Rule,
    view: &RuleView,
    dialect: Dialect,
) -> Option<Probe> {
    let newest = view.newest.as_ref()?;
    let (table, key, per, by) = (&view.table, &view.key, &newest.per, &newest.by);
    // See the macro: MySQL would read an index on the time alone.
    let group = match dialect {
        Dialect::Postgres => String::new(),
        Dialect::Mysql | Dialect::Mariadb => format!("n.{per} DESC, "),
    };
    let conditions: String = newest
        .counted
        .iter()
        .map(|it| format!(" AND {it}"))
        .collect();
    Some(Probe {
        what: format!("rule {}: the newest roots of a group", rule.name),
        table: graph.table(rule.root).name.clone(),
        sql: format!(
            "SELECT n.{by}, n.{key} FROM {table} AS n WHERE n.{per} = (SELECT s.{per} FROM {table} AS s WHERE s.{per} IS NOT NULL LIMIT 1) \
             AND n.{by} IS NOT NULL{conditions} ORDER BY {group}n.{by} DESC, n.{key} DESC LIMIT 1 OFFSET {}",
            newest.offset
        ),
    })
}
