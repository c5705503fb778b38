//! The statements of the routines for MySQL and MariaDB as EXPLAIN takes them: the base table itself stands for the
//! work table whose columns are made from it, so that types and collations are the real ones.

use super::explain::{mysql_deletions, some_keys};
use super::names::table_name;
use super::rule_view::rule_view;
use super::views::StrategyView;
use super::{newest, releases, single, timed};
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
    let root = view.root();
    match &view.strategy {
        StrategyView::EndTime => (),
        StrategyView::Timed(timed) => return timed::probes(graph, rule, &root, timed, dialect),
        StrategyView::Single(single) => {
            return single::mysql::probes(graph, purge, &root, single, dialect);
        }
    }
    let (key, table, end) = (&view.root.key, &view.root.table, &view.root.ended);
    let name = &graph.table(rule.root).name;
    let scope = if rule.retention.per.is_some() && rule.retention.listed() {
        // One scope after the other, each as a value of the column's own type.
        format!(
            "i.{per} = (SELECT s.{per} FROM {table} AS s WHERE s.{per} IS NOT NULL LIMIT 1) AND ",
            per = view.scope.per
        )
    } else {
        String::new()
    };
    let mut probes = vec![
        Probe {
            off: Vec::new(),
            what: format!("rule {}: the next roots, oldest first", rule.name),
            table: name.clone(),
            sql: format!(
                "SELECT i.{key} FROM {table} AS i WHERE {scope}{end} < '2000-01-01' AND {end} >= {least} \
                 AND ({end} > {least} OR i.{key} > {first}) AND {eligible} ORDER BY {end}, i.{key} LIMIT 100",
                least = view.times.least_time,
                first = view.root.first_key,
                eligible = view.root.eligible.join(" AND ")
            ),
        },
        Probe {
            off: Vec::new(),
            what: format!("rule {}: lock the members", rule.name),
            table: name.clone(),
            sql: format!(
                "SELECT i.{key} FROM {work} STRAIGHT_JOIN {table} AS i ON i.{key} = w.k ORDER BY w.k FOR UPDATE SKIP LOCKED",
                work = some_keys(table, key)
            ),
        },
    ];
    for column in &view.uppers {
        probes.push(Probe {
            off: Vec::new(),
            what: format!("rule {}: look in {name} by {column}", rule.name),
            table: name.clone(),
            sql: format!(
                "SELECT t.{column} FROM {work} STRAIGHT_JOIN {table} AS t ON t.{column} = w.k",
                work = some_keys(table, key)
            ),
        });
    }
    probes.extend(mysql_deletions(graph, purge, &root, dialect));
    probes.extend(newest::probes(
        graph,
        rule,
        root.table,
        &view.newest,
        dialect,
    ));
    probes.extend(releases::mysql_probes(graph, purge, dialect));
    for Hop { table, edge, .. } in purge.keeps.iter().filter_map(Keep::keeper) {
        let (name, column) = (&graph.table(*table).name, dialect.ident(&edge.column.name));
        let parent = table_name(graph, dialect, &graph.table(edge.parent).name);
        probes.push(Probe {
            off: Vec::new(),
            what: format!("rule {}: look in {name} by {column}", rule.name),
            table: name.clone(),
            sql: format!(
                "SELECT t.{column} FROM {work} STRAIGHT_JOIN {table} AS t ON t.{column} = w.k",
                table = table_name(graph, dialect, name),
                work = some_keys(&parent, &dialect.ident(&edge.parent_column.name))
            ),
        });
    }
    probes
}
