//! The statements of the generated routines with literals in place of variables, for EXPLAIN.

use super::explain::{deletions, keys};
use super::names::table_name;
use super::rule_view::rule_view;
use super::views::StrategyView;
use super::{last, mysql_probes, newest, releases, single, timed};
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::{Graph, Kind};
use crate::plan::{self, Hop, Keep};

/// The statements of the generated routines with literals in place of variables, for EXPLAIN.
pub fn probes(graph: &Graph, dialect: Dialect) -> Vec<Probe> {
    let graph = &graph.named_for(dialect);
    let plan = plan::make(graph);
    if dialect != Dialect::Postgres {
        return mysql_probes::probes(graph, &plan, dialect);
    }
    let mut probes = Vec::new();
    for purge in &plan.purges {
        let rule = &graph.rules[purge.rule];
        let view = rule_view(graph, purge, dialect);
        let root = view.root();
        match &view.strategy {
            StrategyView::EndTime => (),
            StrategyView::Timed(timed) => {
                probes.extend(timed::probes(graph, rule, &root, timed, dialect));
                continue;
            }
            StrategyView::Single(single) => {
                probes.extend(single::probes(graph, purge, &root, single, dialect));
                continue;
            }
        }
        let name = &graph.table(rule.root).name;
        let scope = match &rule.retention.per {
            Some(per) if rule.retention.listed() => {
                let one = match per.kind {
                    Kind::Uuid => "'00000000-0000-0000-0000-000000000001'",
                    Kind::Varchar => "'1'",
                    _ => "1",
                };
                format!("i.{} = {one} AND ", view.scope.per)
            }
            _ => String::new(),
        };
        probes.push(Probe {
            what: format!("rule {}: the next roots, oldest first", rule.name),
            table: name.clone(),
            sql: format!(
                "SELECT i.{key} FROM {table} AS i WHERE {scope}{end} < '2000-01-01' AND ({end}, i.{key}) > ('-infinity', {first}) AND {eligible} ORDER BY {end}, i.{key} LIMIT 100",
                end = view.root.ended,
                key = view.root.key, table = view.root.table, first = view.root.first_key, eligible = view.root.eligible.join(" AND ")
            ),
        });
        probes.push(Probe {
            what: format!("rule {}: lock the members", rule.name),
            table: name.clone(),
            sql: format!("SELECT i.{key} FROM {table} AS i WHERE i.{key} = ANY ({ids}) ORDER BY i.{key} FOR UPDATE SKIP LOCKED", key = view.root.key, table = view.root.table, ids = keys(purge.id_kind)),
        });
        for column in &view.uppers {
            probes.push(Probe {
                what: format!("rule {}: look in {name} by {column}", rule.name),
                table: name.clone(),
                sql: format!(
                    "SELECT FROM {} AS t WHERE t.{column} = ANY ({})",
                    view.root.table,
                    keys(purge.id_kind)
                ),
            });
        }
        probes.extend(deletions(graph, purge, &root));
        probes.extend(newest::probes(
            graph,
            rule,
            root.table,
            &view.newest,
            dialect,
        ));
        probes.extend(
            view.root
                .last
                .as_ref()
                .and_then(|view| last::probe(graph, rule, view, &keys(purge.id_kind))),
        );
        probes.extend(releases::probes(graph, purge, dialect, keys));
        for Hop { table, edge, .. } in purge.keeps.iter().filter_map(Keep::keeper) {
            let (name, column) = (&graph.table(*table).name, dialect.ident(&edge.column.name));
            probes.push(Probe {
                what: format!("rule {}: look in {name} by {column}", rule.name),
                table: name.clone(),
                sql: format!(
                    "SELECT FROM {} AS t WHERE t.{column} = ANY ({})",
                    table_name(graph, dialect, name),
                    keys(edge.parent_column.kind)
                ),
            });
        }
    }
    probes
}
