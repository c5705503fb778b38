//! When scheduled runs start: five cron fields in UTC, or every so many seconds. Read once, when a spec is resolved.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Deref, Range};

/// A schedule that can be kept to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    written: String,
    form: Form,
}

/// The two forms of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// Every so many seconds, from 1 to 59.
    Seconds(i64),
    /// At these times of the clock.
    Cron(Box<Cron>),
}

/// The values of five cron fields, in UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    /// Minutes of the hour.
    pub minutes: Vec<i64>,
    /// Hours of the day.
    pub hours: Vec<i64>,
    /// Days of the month, from 1.
    pub days: Vec<i64>,
    /// Months, from 1.
    pub months: Vec<i64>,
    /// Days of the week: 0 is Sunday.
    pub weekdays: Vec<i64>,
    /// Whether a day of the month or one of the week will do: both are restricted.
    pub either: bool,
}

/// What is wrong with a text that is no schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It has so many fields, and should have five.
    Fields(usize),
    /// A field has a value that it cannot have.
    Field {
        /// Where the field is in the text.
        place: Range<usize>,
        /// What it is called.
        name: &'static str,
        /// Its least and its greatest value.
        range: (i64, i64),
    },
}

const FIELDS: [(&str, i64, i64); 5] = [
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of month", 1, 31),
    ("month", 1, 12),
    ("day of week", 0, 7),
];

impl Schedule {
    /// Reads a schedule.
    ///
    /// # Errors
    ///
    /// Answers everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Schedule, Vec<Problem>> {
        let written = text.to_owned();
        let fields: Vec<(usize, &str)> = text
            .split_ascii_whitespace()
            .map(|field| (field.as_ptr() as usize - text.as_ptr() as usize, field))
            .collect();
        if let [(_, number), (_, "seconds")] = fields.as_slice()
            && let Some(seconds) = whole_number(number).filter(|it| (1..=59).contains(it))
        {
            let form = Form::Seconds(seconds);
            return Ok(Schedule { written, form });
        }
        if fields.len() != FIELDS.len() {
            return Err(vec![Problem::Fields(fields.len())]);
        }
        let mut problems = Vec::new();
        let mut values = Vec::new();
        for ((start, field), (name, low, high)) in fields.iter().zip(FIELDS) {
            match self::values(field, low, high) {
                Some(read) => values.push(read),
                None => problems.push(Problem::Field {
                    place: *start..start + field.len(),
                    name,
                    range: (low, high),
                }),
            }
        }
        let [minutes, hours, days, months, mut weekdays] =
            <[Vec<i64>; 5]>::try_from(values).map_err(|_| problems)?;
        weekdays.iter_mut().for_each(|day| *day %= 7);
        let is_restricted = |field: usize| !fields[field].1.starts_with('*');
        let form = Form::Cron(Box::new(Cron {
            minutes,
            hours,
            days,
            months,
            weekdays,
            either: is_restricted(2) && is_restricted(4),
        }));
        Ok(Schedule { written, form })
    }

    /// Seven minutes past every hour.
    pub fn hourly() -> Schedule {
        let all = |low: i64, high: i64| (low..=high).collect();
        Schedule {
            written: "7 * * * *".to_owned(),
            form: Form::Cron(Box::new(Cron {
                minutes: vec![7],
                hours: all(0, 23),
                days: all(1, 31),
                months: all(1, 12),
                weekdays: vec![0, 1, 2, 3, 4, 5, 6, 0],
                either: false,
            })),
        }
    }

    /// What it says.
    pub fn form(&self) -> &Form {
        &self.form
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.written)
    }
}

/// As it was written: what the servers' schedulers are given.
impl Deref for Schedule {
    type Target = str;

    fn deref(&self) -> &str {
        &self.written
    }
}

/// Schedules are listed as texts.
impl Borrow<str> for Schedule {
    fn borrow(&self) -> &str {
        &self.written
    }
}

/// The values that a field means; none where it is no field.
fn values(field: &str, low: i64, high: i64) -> Option<Vec<i64>> {
    let parts: Option<Vec<Vec<i64>>> = field
        .split(',')
        .map(|part| value(part, low, high))
        .collect();
    Some(parts?.concat())
}

fn value(part: &str, low: i64, high: i64) -> Option<Vec<i64>> {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(whole_number(step)?)),
        None => (part, None),
    };
    let within = |text: &str| whole_number(text).filter(|number| (low..=high).contains(number));
    let (first, last) = match range.split_once('-') {
        Some((first, last)) => (within(first)?, within(last)?),
        None if range == "*" => (low, high),
        // Servers disagree about the meaning of `5/10`.
        None if step.is_none() => (within(range)?, within(range)?),
        None => return None,
    };
    let step = step.unwrap_or(1);
    let sound = first <= last && (1..=high).contains(&step);
    sound.then(|| (first..=last).step_by(step as usize).collect())
}

fn whole_number(text: &str) -> Option<i64> {
    if text.len() <= 4 && text.bytes().all(|digit| digit.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cron(text: &str) -> Cron {
        match Schedule::parse(text).expect("a schedule").form {
            Form::Cron(cron) => *cron,
            Form::Seconds(seconds) => panic!("{seconds} seconds"),
        }
    }

    #[test]
    fn fields_are_values() {
        let read = cron("*/20 1-3,22 1 * 5-7");
        assert_eq!(read.minutes, [0, 20, 40]);
        assert_eq!(read.hours, [1, 2, 3, 22]);
        assert_eq!(read.days, [1]);
        assert_eq!(read.months.len(), 12);
        assert_eq!(read.weekdays, [5, 6, 0]);
        assert!(read.either);
        assert!(!cron("0 0 1 * *").either);
        assert_eq!(cron("7 * * * *"), cron(&Schedule::hourly()));
        let seconds = Schedule::parse("30 seconds").map(|it| it.form);
        assert_eq!(seconds, Ok(Form::Seconds(30)));
    }

    #[test]
    fn every_problem_is_found() {
        assert_eq!(Schedule::parse("nightly"), Err(vec![Problem::Fields(1)]));
        assert_eq!(Schedule::parse("60 seconds"), Err(vec![Problem::Fields(2)]));
        let fields = |text: &str| match Schedule::parse(text) {
            Err(problems) => problems
                .into_iter()
                .map(|problem| match problem {
                    Problem::Field { name, .. } => name,
                    Problem::Fields(_) => "fields",
                })
                .collect(),
            Ok(_) => Vec::new(),
        };
        assert_eq!(
            fields("60 25 * 13 x"),
            ["minute", "hour", "month", "day of week"]
        );
        for wrong in [
            "5/10 * * * *",
            "9-5 * * * *",
            "*/0 * * * *",
            ", * * * *",
            "-1 * * * *",
        ] {
            assert_eq!(fields(wrong), ["minute"], "{wrong}");
        }
    }
}
