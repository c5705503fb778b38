//! Whether the scheduler of PostgreSQL can keep to the schedule.

use super::finding::{Finding, warning};
use crate::catalog::Catalog;
use crate::graph::Graph;
use crate::schedule::Form;

/// The first version of pg_cron that starts jobs every so many seconds.
const SECONDS: (u32, u32) = (1, 5);

/// Finds a schedule of seconds where pg_cron knows none. Without the extension, nothing is scheduled, and an installation says so.
pub(super) fn compare(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) {
    let schedules = graph.schedules.iter();
    let mut of_seconds = schedules.filter(|it| matches!(it.form(), Form::Seconds(_)));
    if let Some(schedule) = of_seconds.next()
        && let Some(version) = catalog.setting("pg_cron")
        && numbers(version).is_some_and(|it| it < SECONDS)
    {
        let message = format!(
            "is version {version}, which refuses the schedule `{schedule}`: seconds need 1.5"
        );
        found.push(warning("pg-cron-seconds", "pg_cron", message).help(
            "upgrade pg_cron, then `ALTER EXTENSION pg_cron UPDATE`; or write five cron fields, such as `* * * * *`",
        ));
    }
}

/// The first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split(['.', '-']).map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        for (version, older) in [
            ("1.4-1", true),
            ("1.3", true),
            ("1.5", false),
            ("1.6", false),
            ("1.10", false),
            ("2.0", false),
        ] {
            let numbers = numbers(version);
            assert_eq!(numbers.map(|it| it < SECONDS), Some(older), "{version}");
        }
        assert_eq!(numbers("next"), None);
    }
}
