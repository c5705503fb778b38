//! The statements of the routines for MySQL and MariaDB as EXPLAIN takes them: the base table itself stands for the
//! work table whose columns are made from it, so that types and collations are the real ones.

use super::rule_view::rule_view;
use super::views::StrategyView;
use super::{single, timed};
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::Graph;
use crate::plan::{Plan, Purge};

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
        StrategyView::EndTime => Vec::new(),
        StrategyView::Timed(timed) => timed::probes(graph, rule, &root, timed, dialect),
        StrategyView::Single(single) => single::mysql::probes(graph, purge, &root, single, dialect),
    }
}
