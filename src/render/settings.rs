//! The settings of a rule: what the spec's limits are, what may override them, and in which unit they count.

use serde::Serialize;

use super::archive;
use crate::dialect::Dialect;
use crate::graph::{Graph, Limits, Rule, Single, Unit};

/// Days that the ledger remembers, where no setting says otherwise.
const LEDGER_DAYS: i64 = 400;

/// More than any count: a setting up to here has no upper limit worth naming.
const ANY: i64 = 999_999_999_999_999_999;

/// A setting of one rule. Names and units are words without anything to escape.
#[derive(Clone, Serialize)]
pub(super) struct SettingView {
    /// Where it stands among those of all rules.
    position: usize,
    pub(super) name: &'static str,
    unit: &'static str,
    /// What the spec says.
    value: i64,
    /// What the value may be.
    least: i64,
    greatest: i64,
    /// The same as words: `1 to 5000 families`.
    takes: String,
}

impl SettingView {
    /// Its name, and what the spec says.
    pub(super) fn limit(&self) -> (&'static str, i64) {
        (self.name, self.value)
    }
}

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

/// All settings of a rule, in the order in which they are shown; `place` is that of the rule among the rules.
pub(super) fn views(
    place: usize,
    rule: &Rule,
    graph: &Graph,
    dialect: Dialect,
) -> Vec<SettingView> {
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
    let families = view("batch_families", "families", batch_families, 1, 5_000);
    let rows = view("batch_rows", "rows", rule.batch_rows(dialect), 1, 100_000);
    let mut views = match (rule.timed.as_ref().map(|timed| timed.unit), &rule.single) {
        (Some(Unit::Family), _) => vec![families, rows],
        (None, None) => vec![families],
        (Some(Unit::Window), _) | (None, Some(_)) => vec![rows],
    };
    views.extend([
        view("run_families", "families", run_families, 1, ANY),
        limit("run_rows", "rows", run_rows, ANY),
        view("time_budget", "seconds", time_budget, 1, 86_400),
        view("lock_timeout", "milliseconds", lock_timeout, 1, 60_000),
        view("retries", "times", retries, 0, 100),
        limit("target_batch", "milliseconds", target_batch, 600_000),
        limit("rate", "rows per second", rate, 1_000_000_000),
        limit("nice", "percent", nice, 10_000),
        limit("back_off_max", "seconds", back_off_max, 604_800),
        limit("suspend_after", "failed runs", suspend_after, 100),
    ]);
    // The others do not know how far their replicas are.
    if dialect == Dialect::Postgres || graph.heartbeat.is_some() {
        let lag = limit("max_replica_lag", "seconds", max_replica_lag, 1_000_000);
        views.push(lag);
    }
    if dialect == Dialect::Postgres {
        let most = 1_000_000_000;
        views.push(limit("max_replica_wal", "megabytes", max_replica_wal, most));
    }
    views.extend([
        limit(
            "max_active_sessions",
            "sessions",
            max_active_sessions,
            1_000_000,
        ),
        limit(
            "max_old_snapshot",
            "transactions",
            max_old_snapshot,
            1_000_000_000,
        ),
    ]);
    if let Some(Single::Expiry { fallback: Some(_) }) = &rule.single {
        let retention = rule.retention.default.unwrap_or_default();
        views.push(view(
            "fallback_retention",
            "seconds",
            retention,
            0,
            31_557_600_000,
        ));
    }
    views.push(view("ledger_days", "days", LEDGER_DAYS, 1, 36_500));
    // The rules share the archives: one of them has the setting.
    if archive::first(graph).is_some_and(|first| first.name == rule.name) {
        views.push(limit("archive_days", "days", graph.archive_days, 36_500));
    }
    for (position, view) in views.iter_mut().enumerate() {
        view.position = place * 100 + position + 1;
    }
    views
}

/// Those of the settings that slow a run down, where they are not off.
pub(super) fn declared(settings: &[SettingView]) -> Vec<SettingView> {
    const PACE: [&str; 7] = [
        "run_rows",
        "target_batch",
        "rate",
        "nice",
        "max_replica_lag",
        "max_active_sessions",
        "max_old_snapshot",
    ];
    let slows = |it: &&SettingView| it.value > 0 && PACE.contains(&it.name);
    settings.iter().filter(slows).cloned().collect()
}

/// Each setting that any of the rules has, once.
pub(super) fn known<'a>(rules: impl Iterator<Item = &'a [SettingView]>) -> Vec<SettingView> {
    let mut known: Vec<SettingView> = Vec::new();
    for setting in rules.flatten() {
        if known.iter().all(|other| other.name != setting.name) {
            known.push(setting.clone());
        }
    }
    known
}

fn view(
    name: &'static str,
    unit: &'static str,
    value: i64,
    least: i64,
    greatest: i64,
) -> SettingView {
    SettingView {
        position: 0,
        name,
        unit,
        value,
        least,
        greatest,
        takes: match greatest {
            ANY => format!("{least} or more {unit}"),
            _ => format!("{least} to {greatest} {unit}"),
        },
    }
}

/// A setting that is off at 0.
fn limit(name: &'static str, unit: &'static str, value: i64, greatest: i64) -> SettingView {
    SettingView {
        takes: match greatest {
            ANY => format!("0 (off) or more {unit}"),
            _ => format!("0 (off) to {greatest} {unit}"),
        },
        ..view(name, unit, value, 0, greatest)
    }
}
