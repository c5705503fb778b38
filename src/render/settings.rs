//! The limits of a rule, which settings may override, and what a spec declares that runs wait for.

use std::collections::BTreeMap;

use serde::Serialize;

use super::archive;
use super::rules::{has_family, takes_families};
use crate::dialect::Dialect;
use crate::facts::{
    ARCHIVE_DAYS, BATCH_FAMILIES, BATCH_FAMILY_ROWS, BATCH_ROWS, FALLBACK_RETENTION, LEDGER_DAYS,
    MAX_ACTIVE_SESSIONS, MAX_CLUSTER_QUEUE, MAX_OLD_SNAPSHOT, MAX_REPLICA_LAG, MAX_REPLICA_WAL,
    SETTINGS, Servers, Setting, TIME_BUDGET,
};
use crate::graph::{Graph, Rule, Single};

/// What a spec declares that runs wait for, beyond the settings.
#[derive(Serialize)]
pub(super) struct ThrottlesView {
    /// The queries of the spec, by rule.
    queries: Vec<QueryView>,
    /// Whether SQL of the spec reads what windrow does not know: these, or conditions.
    reads_more: bool,
    pub(super) heartbeat: Option<HeartbeatView>,
    /// Whether the owner role must see the sessions of others, and the history list.
    pub(super) sees_sessions: bool,
    sees_history: bool,
    /// Whether it must see how far the members of its cluster are.
    pub(super) sees_members: bool,
}

/// The table in which replicas say how far they are.
#[derive(Serialize)]
pub(super) struct HeartbeatView {
    /// Its schema, quoted, where it is not the application's.
    schema: Option<String>,
    pub(super) table: String,
    column: String,
    /// What people read, within a literal.
    name: String,
}

/// A raw query of a rule, indented.
#[derive(Serialize)]
struct QueryView {
    name: String,
    rule: String,
    sql: String,
}

impl ThrottlesView {
    /// Whether the spec has queries of its own.
    pub(super) fn has_queries(&self) -> bool {
        !self.queries.is_empty()
    }

    /// Whether the spec declares a routine that says what runs wait for.
    pub(super) fn has_routines(&self) -> bool {
        !self.queries.is_empty() || self.heartbeat.is_some()
    }
}

/// What a spec declares; `home` is the schema of the application's tables.
pub(super) fn throttles(graph: &Graph, dialect: Dialect, home: &str) -> ThrottlesView {
    let heartbeat = graph.heartbeat_column().map(|it| HeartbeatView {
        schema: it.schema.as_ref().map(|schema| dialect.ident(schema)),
        table: dialect.qualified(it.schema.as_deref().unwrap_or(home), &it.table),
        column: dialect.ident(&it.column),
        name: it.table.clone(),
    });
    let query = |rule: &Rule| {
        let lines = rule.limits.wait_while_sql.as_ref()?.lines();
        let lines: Vec<String> = lines.map(|line| format!("            {line}")).collect();
        Some(QueryView {
            name: rule.name.clone(),
            rule: dialect.text(&rule.name),
            sql: lines.join("\n"),
        })
    };
    let declared = |setting| graph.rules.iter().any(|rule| rule.limits.of(setting) > 0);
    ThrottlesView {
        heartbeat,
        queries: graph.rules.iter().filter_map(query).collect(),
        reads_more: graph
            .rules
            .iter()
            .any(|rule| rule.limits.wait_while_sql.is_some() || rule.where_sql.is_some()),
        sees_sessions: [MAX_REPLICA_LAG, MAX_REPLICA_WAL, MAX_ACTIVE_SESSIONS]
            .into_iter()
            .any(declared),
        sees_history: declared(MAX_OLD_SNAPSHOT),
        sees_members: declared(MAX_CLUSTER_QUEUE),
    }
}

/// The limits of a rule as the spec has them, which settings may override: those that its strategy and the server know.
fn limits(rule: &Rule, graph: &Graph, dialect: Dialect) -> BTreeMap<&'static str, i64> {
    let value = |setting: &Setting| {
        let said = rule.limits.of(*setting);
        let known = match *setting {
            BATCH_FAMILIES => takes_families(rule),
            BATCH_FAMILY_ROWS => takes_families(rule) || has_family(rule),
            BATCH_ROWS => {
                let by_rows = !rule.by_end();
                return by_rows.then(|| rule.batch_rows(dialect));
            }
            FALLBACK_RETENTION => {
                let falls_back =
                    matches!(rule.single(), Some(Single::Expiry { fallback: Some(_) }));
                return falls_back.then(|| rule.retention.default.unwrap_or_default());
            }
            // The rules share the archives: one of them has the setting.
            ARCHIVE_DAYS => {
                let first = archive::first(graph).is_some_and(|first| first.name == rule.name);
                return first.then_some(graph.archive_days);
            }
            // A run has one of each.
            TIME_BUDGET | LEDGER_DAYS => graph.rules[0].name == rule.name,
            // The others do not know how far their replicas are.
            MAX_REPLICA_LAG => dialect == Dialect::Postgres || graph.heartbeat.is_some(),
            setting => match setting.servers {
                Servers::All => true,
                Servers::Postgres => dialect == Dialect::Postgres,
                Servers::InnoDb => dialect != Dialect::Postgres,
            },
        };
        known.then_some(said)
    };
    let values = SETTINGS
        .iter()
        .map(|setting| (setting.name, value(setting)));
    values
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// Those that are the same in all rules.
pub(super) fn shared_limits(graph: &Graph, dialect: Dialect) -> BTreeMap<&'static str, i64> {
    let mut rules = graph.rules.iter().map(|rule| limits(rule, graph, dialect));
    let mut shared = rules.next().unwrap_or_default();
    for other in rules {
        shared.retain(|name, value| other.get(name) == Some(value));
    }
    shared
}

/// Those of a rule that are not the same in all of them.
pub(super) fn own_limits(
    rule: &Rule,
    graph: &Graph,
    dialect: Dialect,
) -> BTreeMap<&'static str, i64> {
    let shared = shared_limits(graph, dialect);
    let mut own = limits(rule, graph, dialect);
    own.retain(|name, _| !shared.contains_key(name));
    own
}
