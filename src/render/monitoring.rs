//! What a monitoring system reads: the collector file for sql_exporter, the query for other exporters, the alert rules for
//! Prometheus and the dashboard for Grafana. The metrics are those of the view `metrics`; their names, types and meanings are here once.

use jiff::civil::{Date, date};
use serde::Serialize;

use super::names::role_name;
use crate::dialect::Dialect;
use crate::graph::Graph;
use crate::schedule::Form;

/// The folder of the templates, and of the files that are the same for every dialect.
pub(super) const FOLDER: &str = "monitoring";

/// A metric of the view `metrics`.
#[derive(Debug, Serialize)]
pub struct Metric {
    /// Its name: what it counts in base units; `_total` where it only grows.
    pub name: &'static str,
    /// `gauge` or `counter`.
    pub kind: &'static str,
    /// Its labels besides `spec`.
    pub labels: &'static [&'static str],
    /// What it means, and how current it is.
    pub help: &'static str,
}

/// All labels but `spec`, in the order of the collector's columns.
pub const LABELS: [&str; 5] = ["rule", "reason", "table", "status", "trigger"];

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric {
        name,
        kind: "gauge",
        labels,
        help,
    }
}

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric {
        name,
        kind: "counter",
        labels,
        help,
    }
}

/// The metrics, sorted by subject.
pub const METRICS: &[Metric] = &[
    gauge(
        "windrow_armed",
        &[],
        "Whether runs may delete on this server, 1 or 0; a standby or replica repeats what its primary was told.",
    ),
    gauge("windrow_paused", &[], "Whether it is paused, 1 or 0."),
    gauge(
        "windrow_rule_paused",
        &["rule"],
        "Whether this rule is paused, 1 or 0.",
    ),
    gauge(
        "windrow_suspended",
        &[],
        "Whether scheduled runs are suspended after failures, 1 or 0.",
    ),
    gauge(
        "windrow_failed_runs_in_row",
        &[],
        "Scheduled runs that failed in a row.",
    ),
    gauge(
        "windrow_back_off_until_timestamp_seconds",
        &[],
        "Until when scheduled runs back off because nothing was left; 0 if they do not.",
    ),
    gauge(
        "windrow_window_open",
        &[],
        "Whether scheduled runs may work now, 1 or 0.",
    ),
    gauge(
        "windrow_refused",
        &["reason"],
        "Whether a scheduled run was refused for this reason since the last run began, 1 or 0; 0 where another metric says why.",
    ),
    gauge(
        "windrow_running",
        &[],
        "Runs, purges and stamps in progress; one whose session ended without a trace counts until the next run.",
    ),
    gauge(
        "windrow_running_since_timestamp_seconds",
        &[],
        "When the run in progress began; absent if there is none.",
    ),
    gauge(
        "windrow_last_success_timestamp_seconds",
        &[],
        "When the last run ended that left nothing or did a batch; absent before the first.",
    ),
    gauge(
        "windrow_last_run_duration_seconds",
        &[],
        "How long the last run that ended took.",
    ),
    gauge(
        "windrow_last_run_failed",
        &[],
        "Whether the last run that ended failed, crashed or was cancelled, 1 or 0.",
    ),
    counter(
        "windrow_runs_total",
        &["status", "trigger"],
        "Runs, purges and stamps that ended; dry runs are not counted.",
    ),
    counter(
        "windrow_deleted_families_total",
        &["rule"],
        "Families deleted, including those of the run in progress.",
    ),
    counter(
        "windrow_deleted_rows_total",
        &["rule", "table"],
        "Rows deleted, including those of the run in progress.",
    ),
    counter(
        "windrow_retries_total",
        &["rule"],
        "Batches that were retried because other sessions held locks.",
    ),
    gauge(
        "windrow_backlog_families",
        &["rule"],
        "Families that are due, deletable or not. Beyond 10,000, the count of the last run minus what was deleted since.",
    ),
    gauge(
        "windrow_backlog_rows",
        &["rule"],
        "Rows of these families, estimated from those of the last five runs; absent before the first run that deleted.",
    ),
    gauge(
        "windrow_backlog_oldest_age_seconds",
        &["rule"],
        "How long ago the oldest due family ended, whether or not it may be deleted; 0 if none is due.",
    ),
    gauge(
        "windrow_backlog_counted_timestamp_seconds",
        &["rule"],
        "When windrow_backlog_families was counted; absent if it is only a lower bound.",
    ),
    gauge(
        "windrow_due_families_per_hour",
        &["rule"],
        "Families that became due per hour, over up to seven days, as seen by the last run.",
    ),
    gauge(
        "windrow_deleted_families_per_hour",
        &["rule"],
        "Families deleted per hour over the same time.",
    ),
    gauge(
        "windrow_skipped_families",
        &["rule", "reason"],
        "Families that are due but kept, by reason, as seen by the last run that looked. What has no time is counted up to 100,000.",
    ),
    gauge(
        "windrow_skipped_oldest_age_seconds",
        &["rule", "reason"],
        "How long ago the oldest of these ended; absent if it has no end, and for rules of single rows.",
    ),
    gauge("windrow_holds", &[], "Holds that have not expired."),
    gauge(
        "windrow_artifacts_pending",
        &[],
        "Files in the outbox that are waiting to be removed.",
    ),
    gauge(
        "windrow_artifacts_failed",
        &[],
        "Files in the outbox whose last removal failed.",
    ),
];

/// What the templates see.
#[derive(Serialize)]
pub(super) struct View {
    spec: String,
    /// A name for objects of the monitoring system.
    id: String,
    control: String,
    /// The role that may read the view.
    role: String,
    labels: Vec<LabelView>,
    metrics: &'static [Metric],
    /// Days without a success after which an alert fires.
    patience: i32,
}

/// A column of the collector's query.
#[derive(Serialize)]
struct LabelView {
    /// Its name, quoted.
    name: String,
    /// What reads it from the document `labels`.
    value: String,
}

/// The longest distance between two days on which a scheduled run may start, by the spec: its schedules, and the days of its
/// windows. 1 where none ever may.
fn days_between_starts(graph: &Graph) -> i32 {
    // Four years from a first of January: whatever a calendar has comes once.
    let mut days = date(2027, 1, 1)
        .series(jiff::Span::new().days(1))
        .take(1461);
    let mut longest = 1;
    let Some(mut last) = days.find(|day| may_start(graph, *day)) else {
        return longest;
    };
    for day in days.filter(|day| may_start(graph, *day)) {
        longest = longest.max(day.since(last).map_or(1, |it| it.get_days()));
        last = day;
    }
    longest
}

fn may_start(graph: &Graph, day: Date) -> bool {
    let is_open = graph.windows.iter().any(|window| {
        // One may last until the next day, or be in another zone.
        [day.yesterday().ok(), Some(day)]
            .iter()
            .flatten()
            .any(|it| {
                let number = it.weekday().to_monday_one_offset();
                window
                    .days
                    .contains(char::from(b'0' + number.unsigned_abs()))
            })
    });
    let starts = |form: &Form| match form {
        Form::Seconds(_) => true,
        Form::Cron(cron) => {
            let of_month = cron.days.contains(&i64::from(day.day()));
            let weekday = day.weekday().to_sunday_zero_offset();
            let of_week = cron.weekdays.contains(&i64::from(weekday));
            cron.months.contains(&i64::from(day.month()))
                && match cron.either {
                    true => of_month || of_week,
                    false => of_month && of_week,
                }
        }
    };
    is_open && graph.schedules.iter().any(|it| starts(it.form()))
}

/// What the templates see, and the template and the path of each file.
pub(super) fn files(
    graph: &Graph,
    dialect: Dialect,
    control: &str,
) -> (View, [(&'static str, String); 4]) {
    let view = View {
        spec: graph.name.clone(),
        id: graph.name.replace(['-', '.'], "_"),
        control: control.to_owned(),
        role: role_name(dialect, control, "auditor"),
        labels: LABELS
            .iter()
            .map(|name| LabelView {
                name: dialect.ident(name),
                value: match dialect {
                    Dialect::Postgres => format!("m.labels ->> '{name}'"),
                    Dialect::Mysql | Dialect::Mariadb => {
                        format!("JSON_UNQUOTE(JSON_EXTRACT(m.labels, '$.{name}'))")
                    }
                },
            })
            .collect(),
        metrics: METRICS,
        patience: 2 * days_between_starts(graph),
    };
    let (spec, folder) = (&graph.name, dialect.facts().folder);
    let files = [
        (
            "collector.yml",
            format!("{spec}/{folder}/metrics.collector.yml"),
        ),
        ("metrics.query", format!("{spec}/{folder}/metrics.query")),
        ("alerts.yml", format!("{spec}/{FOLDER}/alerts.yml")),
        ("dashboard.json", format!("{spec}/{FOLDER}/dashboard.json")),
    ];
    (view, files)
}

#[cfg(test)]
mod tests {
    use super::days_between_starts;

    #[test]
    fn the_alert_waits_for_two_starts_in_a_row() {
        let text = include_str!("../../specs/dolphinscheduler.toml");
        let hourly = "schedule  = \"7 * * * *\"";
        assert!(text.contains(hourly));
        let days = |fields: &str| {
            let (graph, _) = crate::lint::load(&text.replace(hourly, fields));
            days_between_starts(&graph.expect("a spec without errors"))
        };
        assert_eq!(days(hourly), 1);
        assert_eq!(days("schedule = \"20 seconds\""), 1);
        assert_eq!(days("schedule = \"0 3 * * 0\""), 7);
        assert_eq!(days("schedule = [\"0 3 * * 0\", \"0 3 * * 3\"]"), 4);
        assert_eq!(days("schedule = \"0 3 1 * *\""), 31);
        assert_eq!(days("schedule = \"0 3 1 * 1\""), 7);
        assert_eq!(days("schedule = \"0 3 29 2 *\""), 1);
        // Sunday's window may end on Monday.
        let weekends = "schedule = \"7 * * * *\"\nwindows = [\"sat,sun 22:00-04:00\"]";
        assert_eq!(days(weekends), 5);
        assert_eq!(days("windows = \"never\""), 1);
    }
}
