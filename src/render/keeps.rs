//! What keeps a family, for the templates: the joins from a member to the rows that restrict.

use serde::Serialize;

use super::home;
use crate::dialect::Dialect;
use crate::graph::{Graph, TableId};
use crate::plan::{Keep, Purge};

/// A query whose rows keep the member that they were found from.
#[derive(Serialize)]
pub(super) struct KeepView {
    why: String,
    /// From the member's child down to the rows that keep.
    hops: Vec<HopView>,
}

/// A table that is joined: `alias.column = parent`.
#[derive(Serialize)]
struct HopView {
    table: String,
    alias: String,
    column: String,
    /// What the column names: the key of the member, or of the hop before.
    parent: String,
}

pub(super) fn views(graph: &Graph, purge: &Purge, dialect: Dialect) -> Vec<KeepView> {
    purge
        .keeps
        .iter()
        .map(|keep| view(graph, keep, dialect))
        .collect()
}

fn view(graph: &Graph, keep: &Keep, dialect: Dialect) -> KeepView {
    let hops = keep.hops.iter().enumerate().map(|(at, (table, edge))| {
        let parent = if at == 0 {
            "m.id".to_owned()
        } else {
            format!("t{at}.{}", dialect.ident(&edge.parent_column.name))
        };
        HopView {
            table: dialect.qualified(home(graph, dialect), &graph.table(*table).name),
            alias: format!("t{}", at + 1),
            column: dialect.ident(&edge.column.name),
            parent,
        }
    });
    KeepView {
        why: keep.why.clone(),
        hops: hops.collect(),
    }
}

/// The tables that are read, beside those that rows are deleted from.
pub(super) fn tables(purges: &[Purge]) -> impl Iterator<Item = TableId> {
    let keeps = purges.iter().flat_map(|purge| &purge.keeps);
    keeps.filter_map(|keep| Some(keep.hops.last()?.0))
}
