//! Which tables of the application an installation reads, sets and deletes from.

use std::collections::BTreeSet;

use super::names::home;
use super::{keeps, releases, settings, single, stamp};
use crate::dialect::Dialect;
use crate::graph::{Graph, Rule, TableId};
use crate::plan::Plan;

/// The columns of a table that may be set, quoted, between commas.
pub(super) fn updates(graph: &Graph, table: TableId, dialect: Dialect) -> String {
    let nulls = releases::columns(graph.table(table), dialect);
    let mut columns = stamp::columns(graph, table, dialect);
    if !nulls.is_empty() {
        columns.insert(0, nulls);
    }
    columns.join(", ")
}

/// The tables whose rows are deleted.
pub(super) fn deleted(plan: &Plan) -> Vec<TableId> {
    let steps = plan.purges.iter().flat_map(|purge| &purge.steps);
    let mut tables: Vec<TableId> = steps.map(|step| step.table).collect();
    tables.sort();
    tables.dedup();
    tables
}

/// These, those whose rows keep them, and those whose rows release them: an edge of theirs should lead somewhere.
pub(super) fn counted(plan: &Plan) -> Vec<TableId> {
    let mut tables = deleted(plan);
    tables.extend(keeps::tables(&plan.purges));
    tables.extend(releases::tables(&plan.purges));
    tables.sort();
    tables.dedup();
    tables
}

/// The names of the tables that rules by time only look into, without those in `tables`.
pub(super) fn referring<'a>(graph: &'a Graph, tables: &[TableId]) -> Vec<&'a str> {
    let timed = graph.rules.iter().filter_map(|rule| rule.timed());
    let mut names: Vec<&str> = timed
        .flat_map(|timed| &timed.references)
        .map(|reference| reference.table.as_str())
        .filter(|name| tables.iter().all(|id| graph.table(*id).name != *name))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The tables of others that the routines read and no more, qualified, without those in `tables`.
pub(super) fn looked_into(
    graph: &Graph,
    tables: &[TableId],
    dialect: Dialect,
) -> impl Iterator<Item = String> {
    let definitions = graph.rules.iter().flat_map(Rule::definitions);
    let singles = graph.rules.iter().filter_map(|rule| rule.single());
    let names = definitions
        .map(|definition| definition.table.as_str())
        .chain(referring(graph, tables))
        .chain(singles.flat_map(single::references));
    let home = home(graph, dialect);
    let heartbeat = settings::throttles(graph, dialect, home).heartbeat;
    let found: BTreeSet<String> = names
        .map(|name| dialect.qualified(home, name))
        .chain(heartbeat.map(|it| it.table))
        .collect();
    found.into_iter()
}
