//! Holds of what a row belongs to: where a rule takes single rows below the roots of another, a hold of that rule keeps them.

use serde::Serialize;

use super::names::home;
use super::via;
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, Rule, TableId};

/// A way from row `t` of the rule's table to the rows that another rule's holds name.
#[derive(Serialize)]
pub(super) struct AboveView {
    /// That rule, as a literal.
    rule: String,
    /// The tables on the way up, the nearest one first.
    ways: Vec<WayView>,
    /// The key of the last one as the text of a hold.
    key: String,
}

#[derive(Serialize)]
struct WayView {
    table: String,
    alias: String,
    /// That the row before names this one.
    on: String,
}

pub(super) fn view(graph: &Graph, rule: &Rule, dialect: Dialect) -> Vec<AboveView> {
    let mut found = Vec::new();
    for other in &graph.rules {
        // A key of several columns has rows of its own only: nothing belongs to them.
        let [key] = &graph.table(other.root).key[..] else {
            continue;
        };
        if other.root == rule.root {
            continue;
        }
        let mut ways = Vec::new();
        climb(graph, rule.root, other.root, &mut Vec::new(), &mut ways);
        found.extend(ways.into_iter().map(|edges| {
            let last = format!("a{}.{}", edges.len(), dialect.ident(&key.name));
            AboveView {
                rule: dialect.text(&other.name),
                ways: ways_view(graph, &edges, dialect),
                key: match dialect {
                    Dialect::Postgres => format!("{last}::text"),
                    Dialect::Mysql => format!("CAST({last} AS CHAR) COLLATE utf8mb4_0900_bin"),
                    Dialect::Mariadb => format!("CAST({last} AS CHAR) COLLATE utf8mb4_nopad_bin"),
                },
            }
        }));
    }
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

fn ways_view(graph: &Graph, edges: &[&Edge], dialect: Dialect) -> Vec<WayView> {
    let mut below = "t".to_owned();
    edges
        .iter()
        .enumerate()
        .map(|(index, edge)| {
            let alias = format!("a{}", index + 1);
            let on = via::same(edge, dialect, &below, &alias);
            below.clone_from(&alias);
            WayView {
                table: dialect.qualified(home(graph, dialect), &graph.table(edge.parent).name),
                alias,
                on,
            }
        })
        .collect()
}
