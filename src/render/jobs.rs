//! When runs start: the jobs of pg_cron, the events of MySQL and MariaDB.

use serde::Serialize;

use super::names::escaped;
use crate::dialect::Dialect;
use crate::graph::Graph;

/// A job of the schedule: there is one for each of its lines and each worker.
pub(super) struct Job<'a> {
    /// When it starts, as the spec has it.
    pub(super) schedule: &'a str,
    pub(super) line: i64,
    pub(super) number: i64,
    pub(super) workers: i64,
}

impl<'a> Job<'a> {
    pub(super) fn of(graph: &'a Graph) -> impl Iterator<Item = Job<'a>> {
        let lines = graph.schedules.iter().zip(1..);
        lines.flat_map(move |(schedule, line)| {
            (1..=graph.workers).map(move |number| Job {
                schedule,
                line,
                number,
                workers: graph.workers,
            })
        })
    }

    /// What its name has after that of the control schema: nothing, or ` line 2`, ` worker 2`, ` line 2 worker 2`.
    pub(super) fn suffix(&self) -> String {
        [("line", self.line), ("worker", self.number)]
            .into_iter()
            .filter(|(_, number)| *number > 1)
            .map(|(what, number)| format!(" {what} {number}"))
            .collect()
    }

    /// The name of its EVENT.
    pub(super) fn event(&self) -> String {
        format!("run{}", self.suffix().replace(' ', "_"))
    }

    /// The number of its worker, where there are several.
    pub(super) fn worker(&self) -> Option<i64> {
        (self.workers > 1).then_some(self.number)
    }

    /// The minutes, hours and days of the week (0 is Sunday) at which it may start: none where at any. Days of the month and
    /// months are left out.
    pub(super) fn starts(&self) -> [Option<Vec<u32>>; 3] {
        let fields: Vec<&str> = self.schedule.split_ascii_whitespace().collect();
        let [minute, hour, day, _, weekday] = fields[..] else {
            return [None, None, None];
        };
        let mut days = cron_values(weekday, 0, 7);
        days.iter_mut().for_each(|day| *day %= 7);
        days.sort_unstable();
        days.dedup();
        // Where the day of the month is restricted as well, either will do.
        if !day.starts_with('*') {
            days = (0..7).collect();
        }
        let some = |values: Vec<u32>, all: usize| (values.len() < all).then_some(values);
        [
            some(cron_values(minute, 0, 59), 60),
            some(cron_values(hour, 0, 23), 24),
            some(days, 7),
        ]
    }
}

/// An EVENT.
#[derive(Serialize)]
pub(super) struct JobView {
    /// The line of the schedule, for a text.
    pub(super) schedule: String,
    /// Its name: `run`, or `run_line_2`, `run_worker_2`, `run_line_2_worker_2`.
    pub(super) name: String,
    /// The number of the worker, where there are several.
    pub(super) worker: Option<i64>,
    pub(super) event: EventView,
    /// What holds of the minutes at which it starts, in UTC.
    pub(super) starts: Vec<String>,
}

pub(super) fn jobs(graph: &Graph, dialect: Dialect) -> Vec<JobView> {
    Job::of(graph)
        .map(|job| JobView {
            schedule: escaped(dialect, job.schedule),
            name: job.event(),
            worker: job.worker(),
            event: event_view(job.schedule),
            starts: starts(&job),
        })
        .collect()
}

/// The conditions of the minutes at which an EVENT may start.
pub(super) fn starts(job: &Job) -> Vec<String> {
    let parts = [
        "MINUTE(v_minute)",
        "HOUR(v_minute)",
        "DAYOFWEEK(v_minute) - 1",
    ];
    let of = parts.into_iter().zip(job.starts());
    of.filter_map(|(part, values)| {
        let values: Vec<String> = values?.iter().map(ToString::to_string).collect();
        Some(format!("{part} IN ({})", values.join(", ")))
    })
    .collect()
}

/// When an EVENT starts, and what it must find on the clock besides; the guard is empty where nothing.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(super) struct EventView {
    pub(super) every: String,
    pub(super) starts: String,
    pub(super) guard: String,
}

/// An EVENT for a schedule of five cron fields in UTC, or of `N seconds`.
pub(super) fn event_view(schedule: &str) -> EventView {
    let fields: Vec<&str> = schedule.split_ascii_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields[..] else {
        return EventView {
            every: format!("EVERY {} SECOND", fields.first().unwrap_or(&"60")),
            starts: event_start(1, 0, 0),
            guard: String::new(),
        };
    };
    let minutes = cron_values(minute, 0, 59);
    let hours = cron_values(hour, 0, 23);
    let mut weekdays: Vec<u32> = cron_values(weekday, 0, 7)
        .into_iter()
        .map(|d| d % 7)
        .collect();
    weekdays.sort_unstable();
    weekdays.dedup();
    let daily = day == "*" && month == "*";
    let view = |every: String, starts: String| EventView {
        every,
        starts,
        guard: String::new(),
    };
    match (&minutes[..], &hours[..], &weekdays[..]) {
        // The second of January 2000 was a Sunday.
        ([minute], [hour], [weekday]) if daily => {
            return view(
                "EVERY 1 WEEK".to_owned(),
                event_start(2 + weekday, *hour, *minute),
            );
        }
        ([minute], [hour], _) if daily && weekdays.len() == 7 => {
            return view("EVERY 1 DAY".to_owned(), event_start(1, *hour, *minute));
        }
        ([minute], _, _) if daily && weekdays.len() == 7 => {
            if let Some(step) = even_step(&hours, 24) {
                return view(
                    format!("EVERY {step} HOUR"),
                    event_start(1, hours[0], *minute),
                );
            }
        }
        _ if daily && weekdays.len() == 7 && hours.len() == 24 => {
            if let Some(step) = even_step(&minutes, 60) {
                return view(
                    format!("EVERY {step} MINUTE"),
                    event_start(1, 0, minutes[0]),
                );
            }
        }
        _ => {}
    }
    let one_of = |part: &str, values: &[u32], all: usize| {
        let list: Vec<String> = values.iter().map(ToString::to_string).collect();
        (values.len() < all).then(|| format!("{part} IN ({})", list.join(", ")))
    };
    let days = one_of("DAY(UTC_TIMESTAMP())", &cron_values(day, 1, 31), 31);
    // DAYOFWEEK() counts from Sunday, which is 1.
    let weekdays: Vec<u32> = weekdays.iter().map(|weekday| weekday + 1).collect();
    let weekdays = one_of("DAYOFWEEK(UTC_TIMESTAMP())", &weekdays, 7);
    // As every cron has it: where both are restricted, either will do.
    let date = match (days, weekdays) {
        (Some(days), Some(weekdays)) if !day.starts_with('*') && !weekday.starts_with('*') => {
            vec![format!("({days} OR {weekdays})")]
        }
        (days, weekdays) => days.into_iter().chain(weekdays).collect(),
    };
    let (every, starts, minute_guard) = match minutes[..] {
        [minute] => ("EVERY 1 HOUR", event_start(1, 0, minute), None),
        _ => (
            "EVERY 1 MINUTE",
            event_start(1, 0, 0),
            one_of("MINUTE(UTC_TIMESTAMP())", &minutes, 60),
        ),
    };
    let guard: Vec<String> = minute_guard
        .into_iter()
        .chain(one_of("HOUR(UTC_TIMESTAMP())", &hours, 24))
        .chain(date)
        .chain(one_of(
            "MONTH(UTC_TIMESTAMP())",
            &cron_values(month, 1, 12),
            12,
        ))
        .collect();
    EventView {
        every: every.to_owned(),
        starts,
        guard: guard.join(" AND "),
    }
}

/// An instant of the first days of 2000, from which an EVENT counts.
pub(super) fn event_start(day: u32, hour: u32, minute: u32) -> String {
    format!("'2000-01-{day:02} {hour:02}:{minute:02}:00'")
}

/// The distance of values that lie evenly on a round of `all`, if they do.
pub(super) fn even_step(values: &[u32], all: u32) -> Option<u32> {
    let count = u32::try_from(values.len())
        .ok()
        .filter(|count| *count > 0)?;
    let step = all / count;
    let even = values
        .iter()
        .zip(0..)
        .all(|(value, index)| *value == values[0] + index * step);
    (even && step * count == all).then_some(step)
}

/// The values that a checked cron field means.
pub(super) fn cron_values(field: &str, low: u32, high: u32) -> Vec<u32> {
    let mut values: Vec<u32> = field
        .split(',')
        .flat_map(|part| {
            let (range, step) = part.split_once('/').unwrap_or((part, "1"));
            let number = |text: &str| text.parse().unwrap_or(low);
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (number(first), number(last)),
                None if range == "*" => (low, high),
                None => (number(range), number(range)),
            };
            (first..=last).step_by(step.parse::<usize>().unwrap_or(1).max(1))
        })
        .collect();
    values.sort_unstable();
    values.dedup();
    values
}
