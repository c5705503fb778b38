//! Holds of other rules: what a hold of one rule keeps, no other rule takes, whether it belongs to it or leads to it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::adopt::{self, Adopter};
use super::names::{control_name, key_spelled_out, table_name};
use super::roots::Roots;
use super::rules::has_family;
use super::via;

use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, Kind, Member, Rule, TableId, Timed};

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

#[derive(Clone, Serialize)]
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
    /// To what is deleted with them: the edges from its end.
    Down(Vec<&'a Edge>),
}

pub(super) fn view(graph: &Graph, rule: &Rule, dialect: Dialect) -> Vec<AboveView> {
    let takes = rule.by_end() || has_family(rule);
    let others = graph.rules.iter().filter(|other| other.name != rule.name);
    others
        .flat_map(|other| from_table(graph, other, rule.root, takes, dialect))
        .collect()
}

/// From rows of a table, and where what belongs to them is deleted with them, from that, to the rows that holds of a rule name.
fn from_table(
    graph: &Graph,
    other: &Rule,
    from: TableId,
    takes: bool,
    dialect: Dialect,
) -> Vec<AboveView> {
    let by_edges = held_tables(other).into_iter().flat_map(|held| {
        let ways = ways_from(graph, from, takes, held).into_iter();
        ways.map(move |way| above(graph, other, held, way, dialect))
    });
    let families = by_family(graph, other, from, dialect);
    by_edges.chain(families).collect()
}

/// The tables whose rows holds of a rule name: its root table, and what belongs to none of its families.
fn held_tables(rule: &Rule) -> Vec<TableId> {
    let others = rule.timed().into_iter().flat_map(|timed| timed.others());
    let mut roots = vec![rule.root];
    for root in others.map(|stamp| stamp.root) {
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots
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
        .flat_map(|other| from_table(graph, other, table, true, dialect))
        .map(|above| above.is_held(graph, dialect))
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
        let holds = if self.ways.is_empty() {
            format!("{hold} AS h WHERE {same} AND ")
        } else {
            format!("{hold} AS h ON {same} WHERE {first}")
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

/// The same along edges.
fn ways_from(graph: &Graph, from: TableId, takes: bool, held: TableId) -> Vec<Way<'_>> {
    if held == from {
        return vec![Way::Here];
    }
    let up = climbs(graph, from, held);
    let down = if takes {
        climbs(graph, held, from)
    } else {
        Vec::new()
    };
    up.into_iter()
        .map(Way::Up)
        .chain(down.into_iter().map(Way::Down))
        .collect()
}

/// The same, of rules that ask for it once for many rows: by the end of families, and of one table by a time.
pub(super) fn of_many(graph: &Graph, rule: &Rule, dialect: Dialect) -> Vec<AboveView> {
    if asks_for_many(graph, rule) {
        view(graph, rule, dialect)
    } else {
        Vec::new()
    }
}

/// The rules whose holds such a rule asks for.
pub(super) fn binding<'a>(graph: &'a Graph, rule: &Rule, dialect: Dialect) -> BTreeSet<&'a str> {
    let others = graph.rules.iter().filter(|other| other.name != rule.name);
    let reaches = |other: &Rule, from, takes| {
        let found = from_table(graph, other, from, takes, dialect);
        !found.is_empty()
    };
    let binds = |other: &&Rule| match rule.timed() {
        Some(timed) if !rule.is_plain(graph.table(rule.root)) => {
            let mut members = timed.members.iter();
            members.any(|member| reaches(other, member.table, true))
        }
        _ => {
            let takes = rule.by_end() || has_family(rule);
            asks_for_many(graph, rule) && reaches(other, rule.root, takes)
        }
    };
    others
        .filter(binds)
        .map(|other| other.name.as_str())
        .collect()
}

fn asks_for_many(graph: &Graph, rule: &Rule) -> bool {
    rule.by_end() || rule.is_plain(graph.table(rule.root))
}

/// The key of a row of a table as the text of a hold.
fn key_text(graph: &Graph, table: TableId, alias: &str, dialect: Dialect) -> String {
    let key = graph.table(table).key.iter();
    let columns: Vec<(Kind, String)> = key
        .map(|column| {
            let name = format!("{alias}.{}", dialect.ident(&column.name));
            (column.kind, name)
        })
        .collect();
    if dialect == Dialect::Postgres {
        let names: Vec<&str> = columns.iter().map(|(_, name)| name.as_str()).collect();
        let all = names.join(", ");
        return match names.len() {
            1 => format!("{all}::text"),
            _ => format!("jsonb_build_array({all})::text"),
        };
    }
    let text = key_spelled_out(columns);
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

/// A rule by removal time whose families may have several rows of the root table. A hold of any of them keeps all that is of the
/// family, whether that refers to the root, or an instance, or is named by what does.
struct Families<'a> {
    graph: &'a Graph,
    rule: &'a Rule,
    timed: &'a Timed,
    roots: Roots,
    dialect: Dialect,
}

/// From row `t` of a table to the rows that such holds may name; none of a rule by which each row is a family.
fn by_family(graph: &Graph, rule: &Rule, from: TableId, dialect: Dialect) -> Vec<AboveView> {
    let Some(timed) = rule.timed() else {
        return Vec::new();
    };
    let families = Families {
        graph,
        rule,
        timed,
        roots: Roots::new(graph, rule, timed, dialect),
        dialect,
    };
    if families.roots.column.is_empty() {
        return Vec::new();
    }
    let members = timed.members.iter();
    members
        .flat_map(|member| families.over(member, from))
        .collect()
}

impl Families<'_> {
    /// Those that lead over a table of the rule, along what belongs to what.
    fn over(&self, member: &Member, from: TableId) -> Vec<AboveView> {
        let ways = if member.table == from {
            vec![Vec::new()]
        } else {
            climbs(self.graph, from, member.table)
        };
        let ways = ways
            .into_iter()
            .filter(|edges| !self.says_family(edges, from));
        ways.flat_map(|edges| {
            let ways = ways_up(self.graph, &edges, self.dialect);
            let last = ways.last().map_or("t", |way| way.alias.as_str()).to_owned();
            let mut found = self.of_row(member, &ways, &last);
            found.extend(self.of_owners(member, &ways, &last));
            found
        })
        .collect()
    }

    /// Whether the last edge only refers to the root of a row's family, which that says itself.
    fn says_family(&self, edges: &[&Edge], from: TableId) -> bool {
        let Some((last, before)) = edges.split_last() else {
            return false;
        };
        let table = before.last().map_or(from, |edge| edge.parent);
        let mut members = self.timed.members.iter();
        last.parent == self.rule.root
            && members.any(|it| it.table == table && it.family.contains(&last.column.name))
    }

    /// From a row that names its root or an instance.
    fn of_row(&self, member: &Member, ways: &[WayView], row: &str) -> Vec<AboveView> {
        let families = adopt::families(
            self.graph,
            self.rule,
            self.timed,
            &self.roots,
            member,
            row,
            self.dialect,
        );
        let each = families.iter().flat_map(|family| {
            [&self.roots.key, &self.roots.column].map(|column| {
                let on = format!("m.{column} = {family}");
                let mut ways = ways.to_vec();
                ways.push(self.way(self.rule.root, "m", on));
                AboveView {
                    rule: self.dialect.text(&self.rule.name),
                    key: key_text(self.graph, self.rule.root, "m", self.dialect),
                    ways,
                }
            })
        });
        each.collect()
    }

    fn way(&self, table: TableId, alias: &str, on: String) -> WayView {
        way(self.graph, table, alias.to_owned(), on, self.dialect)
    }

    /// From a row that names neither, by those that name it.
    fn of_owners(&self, member: &Member, ways: &[WayView], row: &str) -> Vec<AboveView> {
        let adopter = Adopter::new(self.graph, self.rule, self.timed, &self.roots, self.dialect);
        let Some(adopter) = adopter else {
            return Vec::new();
        };
        let owners = adopter.owners(member).into_iter();
        let each = owners.flat_map(|(owner, edge)| {
            let on = format!(
                "{} AND {} AND {}",
                via::named_by(edge, self.dialect, row, "w"),
                adopter.rootless(member, row),
                adopter.rootless(owner, "w")
            );
            let mut ways = ways.to_vec();
            ways.push(self.way(owner.table, "w", on));
            self.of_row(owner, &ways, "w")
        });
        each.collect()
    }
}
