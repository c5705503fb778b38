//! Rows that are kept when their parents are deleted, for the templates.

use super::edges::EdgeView;
use super::names::variable;
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, TableId};
use crate::plan::{Plan, Purge, Step};

/// That a row, by its alias, is not one of those that are kept, behind other conditions; empty where no row of its table does.
pub(super) fn unless(graph: &Graph, table: TableId, row: &str, dialect: Dialect) -> String {
    match said(graph, table, row, dialect) {
        None => String::new(),
        Some(said) => format!(" AND {said}"),
    }
}

/// The same as a condition of its own.
pub(super) fn said(graph: &Graph, table: TableId, row: &str, dialect: Dialect) -> Option<String> {
    let kept = graph.table(table).kept.iter();
    let kept: Vec<String> = kept
        .map(|condition| dialect.condition_of(row, condition))
        .collect();
    (!kept.is_empty()).then(|| format!("({}) IS NOT TRUE", kept.join(" AND ")))
}

/// Whether the rows of a table that are deleted are listed under their locks before anything is deleted, and deleted by that list: some
/// are kept, and what belongs to those must be kept with them, whatever becomes of the row meanwhile.
pub(super) fn is_listed(graph: &Graph, purge: &Purge, table: TableId) -> bool {
    !graph.table(table).kept.is_empty() && purge.collects.contains(&table)
}

/// Whether foreign keys may refer to the rows of a table that a batch collects. They are locked before what is below them is read: who
/// brings a row below one of them holds it, and is waited for. Where the row itself names those that belong to it, the key is on its
/// side.
pub(super) fn is_referenced(graph: &Graph, id: TableId) -> bool {
    let mut edges = graph.tables.iter().flat_map(|table| &table.edges);
    edges.any(|edge| {
        let through = edge.through.as_ref();
        let through = through.is_some_and(|through| through.table == id);
        !edge.alone && (edge.parent == id || through)
    })
}

/// MySQL and MariaDB: the variable with how many rows of a table a batch has locked so; empty where it deletes what it has listed, or
/// locks none. Where it deletes more, some have come since: nobody has read what is below those.
pub(super) fn locked(graph: &Graph, purge: &Purge, id: TableId) -> String {
    let position = purge.steps.iter().position(|step| step.table == id);
    let locks = purge.collects.contains(&id) && is_referenced(graph, id);
    match position.filter(|_| locks && !is_listed(graph, purge, id)) {
        None => String::new(),
        Some(position) => format!("v_locked_{}", position + 1),
    }
}

/// PostgreSQL: the variable with the keys of all rows of a table that a batch has read before it deletes them, locked or not; empty
/// where it deletes what it has listed, or has read only some. Where it deletes more, some have come since.
pub(super) fn found(graph: &Graph, purge: &Purge, id: TableId, naming: &str) -> String {
    let counts = purge.collects.contains(&id) && !is_listed(graph, purge, id);
    match counts && naming.is_empty() {
        true => variable(graph, id),
        false => String::new(),
    }
}

/// The tables between a root table and others whose rows batches lock so.
pub(super) fn between<'a>(graph: &'a Graph, plan: &'a Plan) -> impl Iterator<Item = TableId> {
    let collected = plan.purges.iter().flat_map(move |purge| {
        let collects = purge.collects.iter().copied();
        collects.filter(move |id| is_listed(graph, purge, *id) || is_referenced(graph, *id))
    });
    let rules = graph.rules.iter().filter(|rule| rule.timed().is_some());
    let timed = rules.flat_map(move |rule| {
        let order = rule.order.iter().copied();
        order.filter(move |id| *id != rule.root && is_referenced(graph, *id))
    });
    collected.chain(timed)
}

/// An edge of a table whose rows are deleted, without those that are kept.
pub(super) fn spared(graph: &Graph, table: TableId, edge: EdgeView, dialect: Dialect) -> EdgeView {
    let kept = unless(graph, table, "t", dialect);
    EdgeView {
        unless: edge.unless.clone() + &kept,
        kept,
        ..edge
    }
}

/// By what the rows of a step are deleted, where these are `edges`.
pub(super) fn taken(
    graph: &Graph,
    purge: &Purge,
    step: &Step,
    edges: &[EdgeView],
    listed: EdgeView,
    dialect: Dialect,
) -> Vec<EdgeView> {
    let key = graph.table(step.table).key.first();
    match key.filter(|_| !step.edges.is_empty() && is_listed(graph, purge, step.table)) {
        None => edges.to_vec(),
        Some(key) => vec![spared(
            graph,
            step.table,
            EdgeView {
                column: dialect.ident(&key.name),
                ..listed
            },
            dialect,
        )],
    }
}

/// What the comment of a step adds.
pub(super) fn why(graph: &Graph, table: TableId, edges: &[Edge]) -> &'static str {
    if graph.table(table).kept.is_empty() || edges.is_empty() {
        ""
    } else {
        " Those that `kept` of the spec names are kept."
    }
}
