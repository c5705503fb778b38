//! The statements of the routines for MySQL and MariaDB as EXPLAIN takes them: the base table itself stands for the
//! work table whose columns are made from it, so that types and collations are the real ones.

use super::names::home;
use super::rule_view::rule_view;
use super::views::RuleView;
use super::{newest, releases, via};
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::Graph;
use crate::plan::{Hop, Keep, Plan, Purge};

pub(super) fn probes(graph: &Graph, plan: &Plan, dialect: Dialect) -> Vec<Probe> {
    plan.purges
        .iter()
        .flat_map(|purge| rule_probes(graph, purge, dialect))
        .collect()
}

fn rule_probes(graph: &Graph, purge: &Purge, dialect: Dialect) -> Vec<Probe> {
    let rule = &graph.rules[purge.rule];
    let view = rule_view(graph, purge, dialect);
    if let Some(timed) = &view.timed {
        return super::timed::probes(graph, rule, &view, timed, dialect);
    }
    if let Some(single) = &view.single {
        return super::single::probes(graph, purge, &view, single, dialect);
    }
    let (key, table, end) = (&view.key, &view.table, &view.ended);
    let root = &graph.table(rule.root).name;
    let scope = if rule.retention.per.is_some() && rule.retention.listed() {
        // One scope after the other, each as a value of the column's own type.
        format!(
            "i.{per} = (SELECT s.{per} FROM {table} AS s WHERE s.{per} IS NOT NULL LIMIT 1) AND ",
            per = view.per
        )
    } else {
        String::new()
    };
    let mut probes = vec![
        Probe {
            what: format!("rule {}: the next roots, oldest first", rule.name),
            table: root.clone(),
            sql: format!(
                "SELECT i.{key} FROM {table} AS i WHERE {scope}{end} < '2000-01-01' AND {end} >= {least} \
                 AND ({end} > {least} OR i.{key} > {first}) AND {eligible} ORDER BY {end}, i.{key} LIMIT 100",
                least = view.least_time,
                first = view.first_key,
                eligible = view.eligible.join(" AND ")
            ),
        },
        Probe {
            what: format!("rule {}: lock the members", rule.name),
            table: root.clone(),
            sql: format!(
                "SELECT i.{key} FROM {work} STRAIGHT_JOIN {table} AS i ON i.{key} = w.k ORDER BY w.k FOR UPDATE SKIP LOCKED",
                work = some_keys(table, key)
            ),
        },
    ];
    for column in &view.uppers {
        probes.push(Probe {
            what: format!("rule {}: look in {root} by {column}", rule.name),
            table: root.clone(),
            sql: format!(
                "SELECT t.{column} FROM {work} STRAIGHT_JOIN {table} AS t ON t.{column} = w.k",
                work = some_keys(table, key)
            ),
        });
    }
    probes.extend(step_probes(graph, purge, &view, dialect));
    probes.extend(newest::probes(graph, rule, &view, dialect));
    probes.extend(releases::mysql_probes(graph, purge, dialect));
    for Hop { table, edge, .. } in purge.keeps.iter().filter_map(Keep::keeper) {
        let (name, column) = (&graph.table(*table).name, dialect.ident(&edge.column.name));
        let parent = dialect.qualified(home(graph, dialect), &graph.table(edge.parent).name);
        probes.push(Probe {
            what: format!("rule {}: look in {name} by {column}", rule.name),
            table: name.clone(),
            sql: format!(
                "SELECT t.{column} FROM {work} STRAIGHT_JOIN {table} AS t ON t.{column} = w.k",
                table = dialect.qualified(home(graph, dialect), name),
                work = some_keys(&parent, &dialect.ident(&edge.parent_column.name))
            ),
        });
    }
    probes
}

/// The deletions of a purge; that of the root table only where it is by members.
pub(super) fn step_probes(
    graph: &Graph,
    purge: &Purge,
    view: &RuleView,
    dialect: Dialect,
) -> Vec<Probe> {
    let rule = &graph.rules[purge.rule];
    let (key, table) = (&view.key, &view.table);
    let mut probes = Vec::new();
    let steps = purge.steps.iter();
    for step in steps.filter(|step| rule.single.is_none() || step.table != rule.root) {
        let below = graph.table(step.table);
        let name = dialect.qualified(home(graph, dialect), &below.name);
        let ends: Vec<(String, String, String)> = if step.edges.is_empty() {
            vec![(key.clone(), table.clone(), key.clone())]
        } else {
            for edge in step.edges.iter().filter(|edge| !edge.names_key(graph)) {
                let parent = graph.table(edge.parent);
                let key = dialect.ident(&parent.key[0].name);
                let parent = dialect.qualified(home(graph, dialect), &parent.name);
                probes.push(Probe {
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
                        dialect.qualified(home(graph, dialect), parent),
                        dialect.ident(&edge.parent_column.name),
                    )
                })
                .collect()
        };
        for (column, parent, parent_key) in ends {
            // By its full name: an alias would need a current database, which a session need not have.
            probes.push(Probe {
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

/// A few keys in the place of a work table; DISTINCT and LIMIT keep the server from merging it into the statement.
pub(super) fn some_keys(table: &str, key: &str) -> String {
    format!("(SELECT DISTINCT k.{key} AS k FROM {table} AS k LIMIT 3) AS w")
}
