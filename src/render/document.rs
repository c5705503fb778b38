//! What the kernel knows of a rule: its document, which an installation registers.

use std::collections::BTreeMap;

use serde::Serialize;

use super::settings::SettingView;
use crate::dialect::Dialect;
use crate::graph::{Graph, Rule, Single};
use crate::plan::Purge;

/// What stands in the registry of an installation about one rule, in the order in which a person reads it.
#[derive(Serialize)]
struct Document<'a> {
    rule: &'a str,
    strategy: &'static str,
    /// The table whose rows the rule looks at.
    root: &'a str,
    /// The tables whose rows go, in the order of deletion.
    tables: Vec<&'a str>,
    /// Seconds; none where the spec has no default.
    retention: Option<i64>,
    /// Seconds.
    minimum: i64,
    /// Whether workers share its families out.
    divided: bool,
    /// What the rule waits for besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_while_sql: Option<&'a str>,
    /// What the spec says of each setting, by name.
    limits: BTreeMap<&'static str, i64>,
}

/// What stands there about the whole installation.
#[derive(Serialize)]
struct SpecDocument<'a> {
    rules: Vec<&'a str>,
    /// How many runs there may be at a time.
    workers: i64,
    /// The table in which replicas say how far they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    heartbeat: Option<&'a str>,
}

/// The document of a spec as a literal.
pub(super) fn of_spec(graph: &Graph, dialect: Dialect) -> String {
    let document = SpecDocument {
        rules: graph.rules.iter().map(|rule| rule.name.as_str()).collect(),
        workers: graph.workers,
        heartbeat: graph.heartbeat.as_ref().map(|it| it.table.as_str()),
    };
    literal(&document, dialect)
}

/// The document of a rule as a literal, a line for each thing that a spec may say.
pub(super) fn of_rule(
    graph: &Graph,
    purge: &Purge,
    settings: &[SettingView],
    dialect: Dialect,
) -> String {
    let rule = &graph.rules[purge.rule];
    let document = Document {
        rule: &rule.name,
        strategy: strategy(rule),
        root: &graph.table(rule.root).name,
        tables: purge
            .steps
            .iter()
            .map(|step| graph.table(step.table).name.as_str())
            .collect(),
        retention: rule.retention.default,
        minimum: rule.retention.minimum,
        divided: rule.is_divided(),
        wait_while_sql: rule.limits.wait_while_sql.as_deref(),
        limits: settings.iter().map(SettingView::limit).collect(),
    };
    literal(&document, dialect)
}

/// What the strategy of a rule is called in a spec.
fn strategy(rule: &Rule) -> &'static str {
    match (&rule.timed, &rule.single) {
        (Some(timed), _) if timed.retention == 0 => "removal-time",
        (Some(_), _) => "age",
        (None, Some(Single::Expiry { .. })) => "expiry",
        (None, Some(Single::Orphan { .. })) => "orphan",
        (None, Some(Single::KeepLast { .. })) => "keep-last",
        (None, None) => "end-time",
    }
}

/// A document as a literal of the server, a line for each thing that it says. No spec can have the quote in it.
fn literal(document: &impl Serialize, dialect: Dialect) -> String {
    let text = serde_json::to_string_pretty(document).expect("names and numbers are JSON");
    match dialect {
        Dialect::Postgres => format!("$windrow$\n{text}\n$windrow$"),
        Dialect::Mysql | Dialect::Mariadb => dialect.text(&text),
    }
}
