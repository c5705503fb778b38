//! What the document of a rule says of the partitions that it drops, and makes.

use serde::Serialize;

use super::names::fixed_offset;
use crate::dialect::Dialect;
use crate::graph::{Graph, Rule};

/// Of a rule of partitions; all of it is missing elsewhere.
#[derive(Serialize)]
pub(super) struct Partitions {
    /// Whether their bounds are dates.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dates: bool,
    /// Whether rows of other tables may refer to its rows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    referred: bool,
    /// Whether rows of the root table keep their partition because they have not ended, or not long enough ago.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    waits: bool,
    /// Whether rows are estimated where the server has statistics, and not counted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    estimated: bool,
    /// How many seconds ahead they are made, and by which clock the days of instants are counted then.
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead_zone: Option<String>,
}

impl Partitions {
    pub(super) fn new(graph: &Graph, rule: &Rule, dialect: Dialect) -> Self {
        let timed = rule.timed().filter(|timed| timed.partitioned);
        let ahead = timed.and_then(|timed| timed.ahead);
        Self {
            dates: timed.is_some() && rule.epoch.is_some(),
            referred: timed.is_some_and(|timed| !timed.references.is_empty()),
            waits: rule.waits_for_rows(),
            estimated: timed.is_some_and(|timed| timed.estimated),
            ahead,
            ahead_zone: ahead.map(|_| days_of(graph, dialect)),
        }
    }
}

/// The zone of the spec as a server takes it; MySQL and MariaDB know one of a fixed offset without tables.
fn days_of(graph: &Graph, dialect: Dialect) -> String {
    match fixed_offset(&graph.time_zone) {
        Some(seconds) if dialect != Dialect::Postgres => {
            let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
            format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        }
        _ => graph.time_zone.clone(),
    }
}
