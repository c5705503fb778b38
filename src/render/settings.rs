//! The limits of a rule, which settings may override, and what a spec declares that runs wait for.

use std::collections::BTreeMap;

use serde::Serialize;

use super::archive;
use crate::dialect::Dialect;
use crate::graph::{Graph, Limits, Rule, Single, Unit};

/// Days that the ledger remembers, where no setting says otherwise.
const LEDGER_DAYS: i64 = 400;

/// What a spec declares that runs wait for, beyond the settings.
#[derive(Serialize)]
pub(super) struct ThrottlesView {
    /// The queries of the spec, by rule.
    queries: Vec<QueryView>,
    pub(super) heartbeat: Option<HeartbeatView>,
    /// Whether the owner role must see the sessions of others, and the history list.
    pub(super) sees_sessions: bool,
    sees_history: bool,
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

/// What a spec declares; `home` is the schema of the application's tables.
pub(super) fn throttles(graph: &Graph, dialect: Dialect, home: &str) -> ThrottlesView {
    let heartbeat = graph.heartbeat.as_ref().map(|it| HeartbeatView {
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
    let declared = |what: fn(&Limits) -> bool| graph.rules.iter().any(|rule| what(&rule.limits));
    ThrottlesView {
        heartbeat,
        queries: graph.rules.iter().filter_map(query).collect(),
        sees_sessions: declared(|it| {
            it.max_replica_lag > 0 || it.max_replica_wal > 0 || it.max_active_sessions > 0
        }),
        sees_history: declared(|it| it.max_old_snapshot > 0),
    }
}

/// The limits of a rule as the spec has them, which settings may override: those that its strategy and the server know.
pub(super) fn limits(rule: &Rule, graph: &Graph, dialect: Dialect) -> BTreeMap<&'static str, i64> {
    let Limits {
        batch_families,
        batch_rows: _,
        run_families,
        run_rows,
        time_budget,
        lock_timeout,
        retries,
        target_batch,
        rate,
        nice,
        max_replica_lag,
        max_replica_wal,
        max_active_sessions,
        max_old_snapshot,
        wait_while_sql: _,
        back_off_max,
        suspend_after,
    } = rule.limits;
    let mut limits = BTreeMap::from([
        ("run_families", run_families),
        ("run_rows", run_rows),
        ("time_budget", time_budget),
        ("lock_timeout", lock_timeout),
        ("retries", retries),
        ("target_batch", target_batch),
        ("rate", rate),
        ("nice", nice),
        ("back_off_max", back_off_max),
        ("suspend_after", suspend_after),
        ("max_active_sessions", max_active_sessions),
        ("max_old_snapshot", max_old_snapshot),
        ("ledger_days", LEDGER_DAYS),
    ]);
    let by_window = rule
        .timed
        .as_ref()
        .is_some_and(|timed| timed.unit == Unit::Window);
    if rule.single.is_none() && !by_window {
        limits.insert("batch_families", batch_families);
    }
    if rule.timed.is_some() || rule.single.is_some() {
        limits.insert("batch_rows", rule.batch_rows(dialect));
    }
    // The others do not know how far their replicas are.
    if dialect == Dialect::Postgres || graph.heartbeat.is_some() {
        limits.insert("max_replica_lag", max_replica_lag);
    }
    if dialect == Dialect::Postgres {
        limits.insert("max_replica_wal", max_replica_wal);
    }
    if let Some(Single::Expiry { fallback: Some(_) }) = &rule.single {
        let retention = rule.retention.default.unwrap_or_default();
        limits.insert("fallback_retention", retention);
    }
    // The rules share the archives: one of them has the setting.
    if archive::first(graph).is_some_and(|first| first.name == rule.name) {
        limits.insert("archive_days", graph.archive_days);
    }
    limits
}
