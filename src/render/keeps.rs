//! What keeps a family, for the templates: the joins from a member to the rows that restrict.

use serde::Serialize;

use super::{home, via};
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

/// A table that is joined: to member `m`, or to the hop before.
#[derive(Serialize)]
struct HopView {
    table: String,
    alias: String,
    on: String,
}

pub(super) fn views(graph: &Graph, purge: &Purge, dialect: Dialect) -> Vec<KeepView> {
    purge
        .keeps
        .iter()
        .map(|keep| view(graph, purge, keep, dialect))
        .collect()
}

fn view(graph: &Graph, purge: &Purge, keep: &Keep, dialect: Dialect) -> KeepView {
    let qualified =
        |table: TableId| dialect.qualified(home(graph, dialect), &graph.table(table).name);
    let mut hops = Vec::new();
    for (at, (table, edge)) in keep.hops.iter().enumerate() {
        let alias = format!("t{}", at + 1);
        let on = if at > 0 {
            via::same(edge, dialect, &alias, &format!("t{at}"))
        } else if edge.names_key(graph) {
            format!("{alias}.{} = m.id", dialect.ident(&edge.column.name))
        } else {
            // A member is known by its key; what the edge names stands in its row.
            let root = graph.rules[purge.rule].root;
            let key = dialect.ident(&graph.table(root).key[0].name);
            hops.push(HopView {
                table: qualified(root),
                alias: "t0".to_owned(),
                on: format!("t0.{key} = m.id"),
            });
            via::same(edge, dialect, &alias, "t0")
        };
        hops.push(HopView {
            table: qualified(*table),
            alias,
            on,
        });
    }
    KeepView {
        why: keep.why.clone(),
        hops,
    }
}

/// The tables that are read, beside those that rows are deleted from.
pub(super) fn tables(purges: &[Purge]) -> impl Iterator<Item = TableId> {
    let keeps = purges.iter().flat_map(|purge| &purge.keeps);
    keeps.filter_map(|keep| Some(keep.hops.last()?.0))
}
