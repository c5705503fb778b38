//! Holds of other rules: what a hold of one rule keeps, no other rule takes, whether it belongs to it or leads to it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::names::{control_name, table_name};
use super::rules::{has_family, is_plain};
use super::via;
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, Rule, TableId};

/// A way from row `t` of the rule's table to the rows that another rule's holds name.
#[derive(Serialize)]
pub(super) struct AboveView {
    /// That rule, as a literal.
    rule: String,
    /// The tables on the way, the nearest one first; none where the holds are of the same table.
    ways: Vec<WayView>,
    /// The key of the last one as the text of a hold.
    key: String,
}

#[derive(Serialize)]
struct WayView {
    table: String,
    alias: String,
    /// That the row before names this one, or is named by it.
    on: String,
}

/// From the rows of a rule to those of another, along what belongs to what.
enum Way<'a> {
    /// The same table.
    Here,
    /// To what they belong to.
    Up(Vec<&'a Edge>),
    /// To what goes with them: the edges from its end.
    Down(Vec<&'a Edge>),
}

pub(super) fn view(graph: &Graph, rule: &Rule, dialect: Dialect) -> Vec<AboveView> {
    let others = graph.rules.iter().filter(|other| other.name != rule.name);
    others
        .flat_map(held_tables)
        .flat_map(|(other, root)| {
            let ways = ways(graph, rule, root).into_iter();
            ways.map(move |way| above(graph, other, root, way, dialect))
        })
        .collect()
}

/// The tables whose rows holds of a rule name: its root table, and what belongs to none of its families.
fn held_tables(rule: &Rule) -> Vec<(&Rule, TableId)> {
    let others = rule.timed().into_iter().flat_map(|timed| timed.others());
    let mut roots = vec![rule.root];
    for root in others.map(|stamp| stamp.root) {
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots.into_iter().map(|root| (rule, root)).collect()
}

/// Of a rule by time over several tables: that a hold of another rule keeps row `t` of one of them, or what is its.
pub(super) fn of_member(
    graph: &Graph,
    rule: &Rule,
    table: TableId,
    dialect: Dialect,
) -> Vec<String> {
    let others = graph.rules.iter().filter(|other| other.name != rule.name);
    others
        .flat_map(held_tables)
        .flat_map(|(other, root)| {
            let ways = ways_from(graph, table, true, root).into_iter();
            ways.map(move |way| above(graph, other, root, way, dialect).is_held(graph, dialect))
        })
        .collect()
}

impl AboveView {
    /// That row `t` is held this way.
    fn is_held(&self, graph: &Graph, dialect: Dialect) -> String {
        let one = via::one(dialect);
        let (hold, key, now) = match dialect {
            Dialect::Postgres => {
                let hold = format!("{}.hold", control_name(graph));
                (hold, "key", "clock_timestamp()")
            }
            Dialect::Mysql | Dialect::Mariadb => ("hold".to_owned(), "`key`", "UTC_TIMESTAMP(6)"),
        };
        let mut from = format!("SELECT {one}FROM ");
        let mut first = String::new();
        for way in &self.ways {
            if first.is_empty() {
                first = format!("{} AND ", way.on);
                from += &format!("{} AS {} JOIN ", way.table, way.alias);
            } else {
                from += &format!("{} AS {} ON {} JOIN ", way.table, way.alias, way.on);
            }
        }
        let same = format!("h.rule = {} AND h.{key} = {}", self.rule, self.key);
        let holds = match self.ways.is_empty() {
            true => format!("{hold} AS h WHERE {same} AND "),
            false => format!("{hold} AS h ON {same} WHERE {first}"),
        };
        format!("EXISTS ({from}{holds}coalesce(h.until > {now}, true))")
    }
}

fn above(graph: &Graph, other: &Rule, root: TableId, way: Way<'_>, dialect: Dialect) -> AboveView {
    let ways = match way {
        Way::Here => Vec::new(),
        Way::Up(edges) => ways_up(graph, &edges, dialect),
        Way::Down(edges) => ways_down(graph, root, &edges, dialect),
    };
    let last = ways.last().map_or("t", |way| way.alias.as_str());
    AboveView {
        rule: dialect.text(&other.name),
        key: key_text(graph, root, last, dialect),
        ways,
    }
}

fn ways<'a>(graph: &'a Graph, rule: &Rule, held: TableId) -> Vec<Way<'a>> {
    ways_from(graph, rule.root, rule.by_end() || has_family(rule), held)
}

/// From rows of a table, and where what belongs to them goes with them, from that.
fn ways_from(graph: &Graph, from: TableId, takes: bool, held: TableId) -> Vec<Way<'_>> {
    if held == from {
        return vec![Way::Here];
    }
    let up = climbs(graph, from, held);
    let down = match takes {
        true => climbs(graph, held, from),
        false => Vec::new(),
    };
    up.into_iter()
        .map(Way::Up)
        .chain(down.into_iter().map(Way::Down))
        .collect()
}

/// The same, of rules that ask for it once for many rows: by the end of families, and of one table by a time.
pub(super) fn of_many(graph: &Graph, rule: &Rule, dialect: Dialect) -> Vec<AboveView> {
    match asks_for_many(graph, rule) {
        true => view(graph, rule, dialect),
        false => Vec::new(),
    }
}

/// The rules whose holds such a rule asks for.
pub(super) fn binding<'a>(graph: &'a Graph, rule: &Rule) -> BTreeSet<&'a str> {
    let others = graph.rules.iter().filter(|other| other.name != rule.name);
    let reaches = |held: TableId| match rule.timed() {
        Some(timed) if !is_plain(graph, rule, timed) => {
            let mut members = timed.members.iter();
            members.any(|member| !ways_from(graph, member.table, true, held).is_empty())
        }
        _ => asks_for_many(graph, rule) && !ways(graph, rule, held).is_empty(),
    };
    others
        .flat_map(held_tables)
        .filter(|(_, held)| reaches(*held))
        .map(|(other, _)| other.name.as_str())
        .collect()
}

fn asks_for_many(graph: &Graph, rule: &Rule) -> bool {
    let plain = |it| is_plain(graph, rule, it);
    rule.by_end() || rule.timed().is_some_and(plain)
}

/// The key of a row of a table as the text of a hold.
fn key_text(graph: &Graph, table: TableId, alias: &str, dialect: Dialect) -> String {
    let key = graph.table(table).key.iter();
    let columns: Vec<String> = key
        .map(|column| format!("{alias}.{}", dialect.ident(&column.name)))
        .collect();
    let all = columns.join(", ");
    let text = match (dialect, columns.len()) {
        (Dialect::Postgres, 1) => return format!("{all}::text"),
        (Dialect::Postgres, _) => return format!("jsonb_build_array({all})::text"),
        (_, 1) => format!("CAST({all} AS CHAR)"),
        _ => format!("CAST(JSON_ARRAY({all}) AS CHAR)"),
    };
    match dialect {
        Dialect::Mariadb => format!("{text} COLLATE utf8mb4_nopad_bin"),
        _ => format!("{text} COLLATE utf8mb4_0900_bin"),
    }
}

fn climbs(graph: &Graph, from: TableId, to: TableId) -> Vec<Vec<&Edge>> {
    let mut found = Vec::new();
    climb(graph, from, to, &mut Vec::new(), &mut found);
    found
}

/// Every way from a table to another along what its rows belong to, without coming to a table twice.
fn climb<'a>(
    graph: &'a Graph,
    from: TableId,
    to: TableId,
    way: &mut Vec<&'a Edge>,
    found: &mut Vec<Vec<&'a Edge>>,
) {
    for edge in graph.table(from).parents() {
        if edge.parent == from || way.iter().any(|seen| seen.parent == edge.parent) {
            continue;
        }
        way.push(edge);
        if edge.parent == to {
            found.push(way.clone());
        } else {
            climb(graph, edge.parent, to, way, found);
        }
        way.pop();
    }
}

fn ways_up(graph: &Graph, edges: &[&Edge], dialect: Dialect) -> Vec<WayView> {
    let mut below = "t".to_owned();
    edges
        .iter()
        .enumerate()
        .map(|(index, edge)| {
            let alias = format!("a{}", index + 1);
            let on = via::same(edge, dialect, &below, &alias);
            below.clone_from(&alias);
            way(graph, edge.parent, alias, on, dialect)
        })
        .collect()
}

/// The same edges from their other end: `t` is what the last one names.
fn ways_down(graph: &Graph, from: TableId, edges: &[&Edge], dialect: Dialect) -> Vec<WayView> {
    let mut above = "t".to_owned();
    (0..edges.len())
        .rev()
        .enumerate()
        .map(|(index, at)| {
            let alias = format!("b{}", index + 1);
            let on = via::named_by(edges[at], dialect, &above, &alias);
            let child = match at {
                0 => from,
                _ => edges[at - 1].parent,
            };
            above.clone_from(&alias);
            way(graph, child, alias, on, dialect)
        })
        .collect()
}

fn way(graph: &Graph, table: TableId, alias: String, on: String, dialect: Dialect) -> WayView {
    WayView {
        table: table_name(graph, dialect, &graph.table(table).name),
        alias,
        on,
    }
}
