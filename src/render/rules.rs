//! What several parts ask of a rule.

use super::last;
use super::names::fixed_offset;
use crate::column::Epoch;
use crate::graph::{Graph, Kind, Rule, Unit};

/// Whether rows of other tables are deleted with the single rows of a rule.
pub(super) fn has_family(rule: &Rule) -> bool {
    rule.single().is_some() && rule.order.len() > 1
}

/// The setting that says how much a batch of a rule takes at first.
pub(super) fn batch_setting(rule: &Rule) -> &'static str {
    if takes_families(rule) {
        "batch_families"
    } else {
        "batch_rows"
    }
}

/// Whether a batch of a rule takes whole families.
pub(super) fn takes_families(rule: &Rule) -> bool {
    let unit = rule.timed().map(|timed| timed.unit);
    rule.by_end() || unit == Some(Unit::Family)
}

/// Whether rows below another are roots, too: where every row is one, and where the rows say themselves what they are below.
pub(super) fn nested(rule: &Rule) -> bool {
    let mut links = rule.hierarchy.iter();
    !rule.hierarchy.is_empty()
        && (rule.candidates.is_empty() || links.all(|link| link.table == rule.root))
}

/// What people call the time by which the rows of a rule become due.
pub(super) fn time_name(graph: &Graph, rule: &Rule) -> String {
    match (&rule.otherwise, last::name(graph, rule)) {
        (_, Some(name)) => name,
        (None, None) => rule.end_time.name.clone(),
        (Some(other), None) => format!("{} or {}", rule.end_time.name, other.name),
    }
}

/// Whether the days of a retention are those of the calendar: where the clocks are never changed, these have 24 hours.
pub(super) fn by_calendar(graph: &Graph, rule: &Rule) -> bool {
    rule.retention.calendar && fixed_offset(&graph.time_zone).is_none()
}

/// The clock of the application as CONVERT_TZ takes it: an offset where it is always the same.
pub(super) fn clock(graph: &Graph, kind: Kind) -> String {
    match (kind, fixed_offset(&graph.time_zone)) {
        (Kind::Timestamptz, _) => "+00:00".to_owned(),
        (_, None) => graph.time_zone.clone(),
        (_, Some(seconds)) => format!(
            "{}{:02}:{:02}",
            if seconds < 0 { '-' } else { '+' },
            seconds.abs() / 3600,
            seconds.abs() / 60 % 60
        ),
    }
}

/// Whether what rows become due by is an instant.
pub(super) fn is_zoned(rule: &Rule) -> bool {
    rule.single().is_some() || rule.end_time.kind == Kind::Timestamptz
}

/// The time before all others that the column can hold on MySQL and MariaDB: a day is its end, and only a number says instants that a
/// TIMESTAMP cannot.
pub(super) fn least(rule: &Rule) -> &'static str {
    match rule.epoch {
        Some(Epoch::Date) => "0001-01-02 00:00:00",
        None if is_zoned(rule) => "1970-01-01 00:00:01",
        _ => "0001-01-01 00:00:00",
    }
}
