//! The statements of the generated routines with literals in place of variables, for EXPLAIN.

use super::names::home;
use super::rule_view::rule_view;
use super::views::RuleView;
use super::{last, mysql_probes, newest, releases, single, timed, via};
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::{Graph, Kind};
use crate::plan::{self, Hop, Keep, Purge};

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
        if let Some(timed) = &view.timed {
            probes.extend(timed::probes(graph, rule, &view, timed, dialect));
            continue;
        }
        if let Some(single) = &view.single {
            probes.extend(single::probes(graph, purge, &view, single, dialect));
            continue;
        }
        let root = &graph.table(rule.root).name;
        let scope = match &rule.retention.per {
            Some(per) if rule.retention.listed() => {
                let one = match per.kind {
                    Kind::Uuid => "'00000000-0000-0000-0000-000000000001'",
                    Kind::Varchar => "'1'",
                    _ => "1",
                };
                format!("i.{} = {one} AND ", view.per)
            }
            _ => String::new(),
        };
        probes.push(Probe {
            what: format!("rule {}: the next roots, oldest first", rule.name),
            table: root.clone(),
            sql: format!(
                "SELECT i.{key} FROM {table} AS i WHERE {scope}{end} < '2000-01-01' AND ({end}, i.{key}) > ('-infinity', {first}) AND {eligible} ORDER BY {end}, i.{key} LIMIT 100",
                end = view.ended,
                key = view.key, table = view.table, first = view.first_key, eligible = view.eligible.join(" AND ")
            ),
        });
        probes.push(Probe {
            what: format!("rule {}: lock the members", rule.name),
            table: root.clone(),
            sql: format!("SELECT i.{key} FROM {table} AS i WHERE i.{key} = ANY ({ids}) ORDER BY i.{key} FOR UPDATE SKIP LOCKED", key = view.key, table = view.table, ids = keys(purge.id_kind)),
        });
        for column in &view.uppers {
            probes.push(Probe {
                what: format!("rule {}: look in {root} by {column}", rule.name),
                table: root.clone(),
                sql: format!(
                    "SELECT FROM {} AS t WHERE t.{column} = ANY ({})",
                    view.table,
                    keys(purge.id_kind)
                ),
            });
        }
        probes.extend(step_probes(graph, purge, &view));
        probes.extend(newest::probes(graph, rule, &view, dialect));
        probes.extend(last::probe(graph, rule, &view, &keys(purge.id_kind)));
        probes.extend(releases::probes(graph, purge, dialect, keys));
        for Hop { table, edge, .. } in purge.keeps.iter().filter_map(Keep::keeper) {
            let (name, column) = (&graph.table(*table).name, dialect.ident(&edge.column.name));
            probes.push(Probe {
                what: format!("rule {}: look in {name} by {column}", rule.name),
                table: name.clone(),
                sql: format!(
                    "SELECT FROM {} AS t WHERE t.{column} = ANY ({})",
                    dialect.qualified(home(graph, dialect), name),
                    keys(edge.parent_column.kind)
                ),
            });
        }
    }
    probes
}

/// Whether a value is in an array of PostgreSQL, of which the server makes a hash: `= ANY (list)` in a generic plan compares
/// it with one element after the other, which with 1,000 holds made a run thirty times as slow.
pub(super) fn among(value: &str, list: &str) -> String {
    format!("{value} IN (SELECT unnest({list}))")
}

/// Some keys as an array of PostgreSQL.
pub(super) fn keys(kind: Kind) -> String {
    match kind {
        Kind::Uuid => "'{00000000-0000-0000-0000-000000000001}'::uuid[]".to_owned(),
        Kind::Varchar => "'{a,b}'::text[]".to_owned(),
        _ => format!("'{{1,2,3}}'::{}[]", Dialect::Postgres.kind(kind)),
    }
}

/// The deletions of a purge on PostgreSQL; that of the root table only where it is by members.
pub(super) fn step_probes(graph: &Graph, purge: &Purge, view: &RuleView) -> Vec<Probe> {
    let (rule, dialect) = (&graph.rules[purge.rule], Dialect::Postgres);
    let mut probes = Vec::new();
    let steps = purge.steps.iter();
    for step in steps.filter(|step| rule.single.is_none() || step.table != rule.root) {
        let table = graph.table(step.table);
        let name = dialect.qualified(home(graph, dialect), &table.name);
        for edge in step.edges.iter().filter(|edge| !edge.names_key(graph)) {
            let parent = graph.table(edge.parent);
            probes.push(Probe {
                what: format!(
                    "rule {}: delete from {} by {}",
                    rule.name,
                    table.name,
                    edge.columns()
                ),
                table: table.name.clone(),
                sql: format!(
                    "DELETE FROM {name} AS t USING {} AS p WHERE p.{} = ANY ({}) AND {}",
                    dialect.qualified(home(graph, dialect), &parent.name),
                    dialect.ident(&parent.key[0].name),
                    keys(parent.key[0].kind),
                    via::same(edge, dialect, "t", "p")
                ),
            });
        }
        let columns: Vec<(String, Kind)> = if step.edges.is_empty() {
            vec![(view.key.clone(), purge.id_kind)]
        } else {
            step.edges
                .iter()
                .filter(|edge| edge.names_key(graph))
                .map(|edge| {
                    (
                        dialect.ident(&edge.column.name),
                        if edge.parent == rule.root {
                            purge.id_kind
                        } else {
                            edge.parent_column.kind
                        },
                    )
                })
                .collect()
        };
        for (column, kind) in columns {
            probes.push(Probe {
                what: format!("rule {}: delete from {} by {column}", rule.name, table.name),
                table: table.name.clone(),
                sql: format!(
                    "DELETE FROM {name} AS t WHERE t.{column} = ANY ({})",
                    keys(kind)
                ),
            });
        }
    }
    probes
}
