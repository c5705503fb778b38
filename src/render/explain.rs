//! What the statements of all strategies share where EXPLAIN is asked.

use super::names::table_name;
use super::via;
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::Graph;
use crate::plan::Purge;

/// The root table of a rule, as its statements name it.
pub(super) struct Root<'a> {
    pub(super) table: &'a str,
    pub(super) key: &'a str,
    /// The key before all others, and the time.
    pub(super) first_key: &'a str,
    pub(super) time: &'a str,
}

/// Whether a value is in an array of PostgreSQL, of which the server makes a hash: `= ANY (list)` in a generic plan compares
/// it with one element after the other, which with 1,000 holds made a run thirty times as slow.
pub(super) fn among(value: &str, list: &str) -> String {
    format!("{value} IN (SELECT unnest({list}))")
}

/// A few keys in the place of a work table; DISTINCT and LIMIT keep the server from merging it into the statement.
pub(super) fn some_keys(table: &str, key: &str) -> String {
    format!("(SELECT DISTINCT fed.{key} AS k FROM {table} AS fed LIMIT 3) AS w")
}

/// The deletions of a purge; that of the root table only where it is by members.
pub(super) fn mysql_deletions(
    graph: &Graph,
    purge: &Purge,
    root: &Root,
    dialect: Dialect,
) -> Vec<Probe> {
    let rule = &graph.rules[purge.rule];
    let (key, table) = (root.key, root.table);
    let mut probes = Vec::new();
    let steps = purge.steps.iter();
    for step in steps.filter(|step| rule.single().is_none() || step.table != rule.root) {
        let below = graph.table(step.table);
        let name = table_name(graph, dialect, &below.name);
        let ends: Vec<(String, String, String)> = if step.edges.is_empty() {
            vec![(key.to_owned(), table.to_owned(), key.to_owned())]
        } else {
            for edge in step.edges.iter().filter(|edge| !edge.names_key(graph)) {
                let parent = graph.table(edge.parent);
                let key = dialect.ident(&parent.key[0].name);
                let parent = table_name(graph, dialect, &parent.name);
                probes.push(Probe {
                    off: Vec::new(),
                    what: format!(
                        "rule {}: delete from {} by {}",
                        rule.name,
                        below.name,
                        edge.columns()
                    ),
                    table: below.name.clone(),
                    sql: format!(
                        "DELETE {name} FROM {work} STRAIGHT_JOIN {parent} AS p ON p.{key} = w.k STRAIGHT_JOIN {name} ON {}",
                        via::same(edge, dialect, &name, "p"),
                        work = some_keys(&parent, &key)
                    ),
                });
            }
            step.edges
                .iter()
                .filter(|edge| edge.names_key(graph))
                .map(|edge| {
                    let parent = &graph.table(edge.parent).name;
                    (
                        dialect.ident(&edge.column.name),
                        table_name(graph, dialect, parent),
                        dialect.ident(&edge.parent_column.name),
                    )
                })
                .collect()
        };
        for (column, parent, parent_key) in ends {
            // By its full name: an alias would need a current database, which a session need not have.
            probes.push(Probe {
                off: Vec::new(),
                what: format!("rule {}: delete from {} by {column}", rule.name, below.name),
                table: below.name.clone(),
                sql: format!(
                    "DELETE {name} FROM {work} STRAIGHT_JOIN {name} ON {name}.{column} = w.k",
                    work = some_keys(&parent, &parent_key)
                ),
            });
        }
    }
    probes
}
