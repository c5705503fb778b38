//! What keeps a family, or keeps it together with another, for the templates: the joins from a member to such rows.

use serde::Serialize;

use super::edges::excluded;
use super::kept;
use super::names::table_name;
use super::via;
use crate::dialect::Dialect;
use crate::graph::{Action, Final, Graph, TableId};
use crate::plan::{Hop, Keep, Meet, Purge};

/// A query whose rows keep the member that they were found from.
#[derive(Serialize)]
pub(super) struct KeepView {
    why: String,
    /// From the member's child to the rows that keep.
    hops: Vec<HopView>,
}

/// A query whose rows some rows keep.
#[derive(Serialize)]
pub(super) struct WayView {
    /// What no way before it said.
    whys: Vec<String>,
    hops: Vec<HopView>,
    keepers: Vec<HopView>,
}

/// A query for the members of other families that share rows with a member.
#[derive(Serialize)]
pub(super) struct MeetView {
    why: String,
    /// From the member's child down to the shared rows, and up to the other family.
    hops: Vec<HopView>,
    /// The key of the other member.
    other: String,
}

/// A table that is joined: to member `m`, or to the hop before.
#[derive(PartialEq, Serialize)]
struct HopView {
    table: String,
    alias: String,
    on: String,
}

pub(super) fn keeps(graph: &Graph, purge: &Purge, dialect: Dialect) -> Vec<KeepView> {
    let view = |keep: &Keep| {
        let mut hops = hops(graph, purge, &keep.hops, !keep.unless.is_empty(), dialect);
        if let Some(last) = hops.last_mut() {
            let above = keep.without.iter();
            let above: String = above
                .map(|way| rootless(graph, way, &last.alias, dialect))
                .collect();
            last.on.push_str(&above);
            last.on
                .push_str(&not_final(graph, &keep.unless, &last.alias, dialect));
        }
        KeepView {
            why: keep.why.clone(),
            hops,
        }
    };
    purge.keeps.iter().map(view).collect()
}

/// That a row does not hold all that it must, as far as is known; behind other conditions.
fn not_final(graph: &Graph, r#final: &Final, row: &str, dialect: Dialect) -> String {
    let own = r#final.own.iter();
    let own = own.map(|condition| dialect.condition_of(row, condition));
    let named = r#final.named.iter().enumerate();
    let named = named.map(|(at, named)| {
        let alias = format!("f{}", at + 1);
        let asked = format!("{alias}.{}", dialect.ident(&named.edge.parent_column.name));
        let on =
            via::same(&named.edge, dialect, row, &alias) + &excluded(&named.edge, dialect, &asked);
        let table = table_name(graph, dialect, &graph.table(named.edge.parent).name);
        let one = via::one(dialect);
        let holds = dialect.condition_of(&alias, &named.condition);
        format!("EXISTS (SELECT {one}FROM {table} AS {alias} WHERE {on} AND {holds})")
    });
    let held: Vec<String> = own.chain(named).collect();
    if held.is_empty() {
        String::new()
    } else {
        format!(" AND ({}) IS NOT TRUE", held.join(" AND "))
    }
}

/// That no row of the root table is above a row, by a way from there down to its table; behind other conditions.
fn rootless(graph: &Graph, way: &[Hop], row: &str, dialect: Dialect) -> String {
    let mut from = String::new();
    let mut below = row.to_owned();
    let mut first = String::new();
    for (at, hop) in way.iter().rev().enumerate() {
        let alias = format!("u{}", at + 1);
        let edge = &hop.edge;
        let asked = format!("{alias}.{}", dialect.ident(&edge.parent_column.name));
        let on = via::same(edge, dialect, &below, &alias) + &excluded(edge, dialect, &asked);
        let table = table_name(graph, dialect, &graph.table(edge.parent).name);
        if at == 0 {
            from += &format!("{table} AS {alias}");
            first = on;
        } else {
            from += &format!(" JOIN {table} AS {alias} ON {on}");
        }
        below = alias;
    }
    let one = via::one(dialect);
    format!(" AND NOT EXISTS (SELECT {one}FROM {from} WHERE {first})")
}

/// The same by the way that leads from the member to what is kept: a statement goes it once, whatever keeps the rows there.
pub(super) fn ways(graph: &Graph, purge: &Purge, dialect: Dialect) -> Vec<WayView> {
    let mut ways: Vec<WayView> = Vec::new();
    let mut told = Vec::new();
    for mut keep in keeps(graph, purge, dialect) {
        let Some(keeper) = keep.hops.pop() else {
            continue;
        };
        let whys = if told.contains(&keep.why) {
            Vec::new()
        } else {
            vec![keep.why.clone()]
        };
        told.push(keep.why);
        match ways.iter_mut().find(|way| way.hops == keep.hops) {
            Some(way) => {
                way.whys.extend(whys);
                way.keepers.push(keeper);
            }
            None => ways.push(WayView {
                whys,
                hops: keep.hops,
                keepers: vec![keeper],
            }),
        }
    }
    ways
}

pub(super) fn meets(graph: &Graph, purge: &Purge, dialect: Dialect) -> Vec<MeetView> {
    let view = |meet: &Meet| {
        let mut hops = hops(graph, purge, &meet.hops, false, dialect);
        let last = meet.hops.last()?;
        let other = if last.edge.names_key(graph) && last.edge.none.is_none() {
            // The key is in the row below.
            hops.pop();
            format!(
                "{}.{}",
                hops.last()?.alias,
                dialect.ident(&last.edge.column.name)
            )
        } else {
            let key = &graph.table(last.table).key[0].name;
            format!("{}.{}", hops.last()?.alias, dialect.ident(key))
        };
        Some(MeetView {
            why: meet.why.clone(),
            hops,
            other,
        })
    };
    purge.meets.iter().filter_map(view).collect()
}

/// The tables of a way. Rows that are kept when their parents go are on none, but at the end of one to rows that may not be final.
fn hops(
    graph: &Graph,
    purge: &Purge,
    way: &[Hop],
    ends_with_any: bool,
    dialect: Dialect,
) -> Vec<HopView> {
    let qualified = |table: TableId| table_name(graph, dialect, &graph.table(table).name);
    let mut hops = Vec::new();
    for (at, hop) in way.iter().enumerate() {
        let (before, alias) = (format!("t{at}"), format!("t{}", at + 1));
        let edge = &hop.edge;
        let parent = if hop.up { &alias } else { &before };
        let mut asked = format!("{parent}.{}", dialect.ident(&edge.parent_column.name));
        let mut on = if hop.up {
            via::same(edge, dialect, &before, &alias)
        } else if at > 0 {
            via::same(edge, dialect, &alias, &before)
        } else if edge.names_key(graph) {
            "m.id".clone_into(&mut asked);
            format!("{alias}.{} = m.id", dialect.ident(&edge.column.name))
        } else {
            // A member is known by its key; what the edge names is in its row.
            let root = graph.rules[purge.rule].root;
            let key = dialect.ident(&graph.table(root).key[0].name);
            hops.push(HopView {
                table: qualified(root),
                alias: before.clone(),
                on: format!("{before}.{key} = m.id"),
            });
            via::same(edge, dialect, &alias, &before)
        };
        on.push_str(&excluded(edge, dialect, &asked));
        let is_last = at + 1 == way.len();
        if !hop.up && edge.action == Action::Delete && !(ends_with_any && is_last) {
            on.push_str(&kept::unless(graph, hop.table, &alias, dialect));
        }
        hops.push(HopView {
            table: qualified(hop.table),
            alias,
            on,
        });
    }
    hops
}

/// The tables below the root table to whose rows those that are deleted refer, by what may be a foreign key, and may keep a family all
/// the same, or tie it to another.
pub(super) fn middles(graph: &Graph, purge: &Purge) -> Vec<TableId> {
    let keeps = purge.keeps.iter().map(|keep| &keep.hops);
    let meets = purge.meets.iter().map(|meet| &meet.hops);
    let mut found = Vec::new();
    for hops in keeps.chain(meets) {
        let down = hops.iter().take_while(|hop| !hop.up);
        let down: Vec<&Hop> = down.collect();
        let [.., above, last] = down.as_slice() else {
            continue;
        };
        let deleted = last.edge.action == Action::Delete;
        if deleted && kept::is_referenced(graph, above.table) && !found.contains(&above.table) {
            found.push(above.table);
        }
    }
    found
}

/// The tables that are read, besides those that rows are deleted from.
pub(super) fn tables(purges: &[Purge]) -> impl Iterator<Item = TableId> {
    let keeps = purges.iter().flat_map(|purge| &purge.keeps);
    keeps.flat_map(|keep| {
        let named = keep.unless.named.iter().map(|named| named.edge.parent);
        keep.hops
            .last()
            .map(|hop| hop.table)
            .into_iter()
            .chain(named)
    })
}
