//! When scheduled runs start, and when they may work.

/// A window in which scheduled runs may work, on the clock of its zone.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The ISO days on which it begins: `12345`.
    pub days: String,
    /// The minute of the day at which it begins.
    pub begins: i64,
    /// The minute of the day at which it ends, on the next day where that is not later.
    pub ends: i64,
    /// Minutes by which the clock of its zone is before UTC.
    pub offset: i64,
}

/// Starts and windows. Minutes count from 1970, in UTC.
#[derive(Clone, Debug)]
pub struct Calendar {
    lines: Vec<Line>,
    openings: Vec<Opening>,
}

/// A schedule of five cron fields.
#[derive(Clone, Debug)]
struct Line {
    minutes: Vec<i64>,
    hours: Vec<i64>,
    days: Vec<i64>,
    months: Vec<i64>,
    weekdays: Vec<i64>,
    /// Whether a day of the month or one of the week will do.
    either: bool,
}

impl Calendar {
    /// Checked schedules (five cron fields in UTC, or `N seconds`); without windows, runs may always work.
    pub fn new(schedules: &[impl AsRef<str>], openings: &[Opening]) -> Calendar {
        let lines = schedules.iter();
        Calendar {
            lines: lines.map(|schedule| Line::new(schedule.as_ref())).collect(),
            openings: openings.to_vec(),
        }
    }

    /// The same windows, with a start in every hour.
    pub fn hourly(&self) -> Calendar {
        Calendar::new(&["7 * * * *"], &self.openings)
    }

    /// Whether a run is started at a minute.
    pub fn starts(&self, minute: i64) -> bool {
        self.lines.iter().any(|line| line.starts(minute))
    }

    /// Whether runs may work at a minute.
    pub fn is_open(&self, minute: i64) -> bool {
        self.openings.is_empty() || self.opened(minute).is_some()
    }

    /// The first minute from one on at which runs may not work, or the last that is asked about.
    pub fn closes(&self, minute: i64, last: i64) -> i64 {
        (minute..last).find(|at| !self.is_open(*at)).unwrap_or(last)
    }

    /// The day on which the work of a minute began.
    pub fn day(&self, minute: i64) -> i64 {
        self.opened(minute)
            .unwrap_or_else(|| minute.div_euclid(1440))
    }

    /// Whether there are times at which runs may not work.
    pub fn has_nights(&self) -> bool {
        (0..7 * 1440).any(|minute| !self.is_open(minute))
    }

    /// The day on which the window began that is open at a minute.
    fn opened(&self, minute: i64) -> Option<i64> {
        self.openings.iter().find_map(|opening| {
            let local = minute + opening.offset;
            let (day, of_day) = (local.div_euclid(1440), local.rem_euclid(1440));
            // 1 January 1970 was a Thursday, which is 4.
            let begins_on = |day: i64| {
                let weekday = (day + 3).rem_euclid(7) + 1;
                opening.days.contains(&weekday.to_string())
            };
            let over_midnight = opening.ends <= opening.begins;
            if of_day >= opening.begins
                && (over_midnight || of_day < opening.ends)
                && begins_on(day)
            {
                Some(day)
            } else if over_midnight && of_day < opening.ends && begins_on(day - 1) {
                Some(day - 1)
            } else {
                None
            }
        })
    }
}

impl Line {
    fn new(schedule: &str) -> Line {
        let fields: Vec<&str> = schedule.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            // Several starts a minute are no more than one to a calendar.
            return Line::new("* * * * *");
        };
        let mut weekdays = values(weekday, 0, 7);
        weekdays.iter_mut().for_each(|day| *day %= 7);
        Line {
            minutes: values(minute, 0, 59),
            hours: values(hour, 0, 23),
            days: values(day, 1, 31),
            months: values(month, 1, 12),
            weekdays,
            either: !day.starts_with('*') && !weekday.starts_with('*'),
        }
    }

    fn starts(&self, minute: i64) -> bool {
        let day = minute.div_euclid(1440);
        if !self.minutes.contains(&(minute.rem_euclid(60)))
            || !self.hours.contains(&(minute.rem_euclid(1440) / 60))
        {
            return false;
        }
        let (month, of_month) = date(day);
        // 1 January 1970 was a Thursday.
        let by_week = self.weekdays.contains(&(day + 4).rem_euclid(7));
        let by_month = self.days.contains(&of_month);
        self.months.contains(&month)
            && match self.either {
                true => by_week || by_month,
                false => by_week && by_month,
            }
    }
}

/// The values that a checked cron field stands for.
fn values(field: &str, low: i64, high: i64) -> Vec<i64> {
    let number = |text: &str| text.parse().unwrap_or(low);
    field
        .split(',')
        .flat_map(|part| {
            let (range, step) = part.split_once('/').unwrap_or((part, "1"));
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (number(first), number(last)),
                None if range == "*" => (low, high),
                None => (number(range), number(range)),
            };
            (first..=last).step_by(step.parse().unwrap_or(1))
        })
        .collect()
}

/// The month and the day of the month of a day since 1970, by the Gregorian calendar.
fn date(day: i64) -> (i64, i64) {
    // Years begin in March here, so that the leap day is the last one.
    let day = day + 719_468;
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    (
        if month < 10 { month + 3 } else { month - 9 },
        of_year - (153 * month + 2) / 5 + 1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Monday, 2 November 2026, 00:00 UTC.
    const MONDAY: i64 = 29_892_960;

    fn starts(schedule: &str, days: i64) -> Vec<i64> {
        let calendar = Calendar::new(&[schedule], &[]);
        (MONDAY..MONDAY + days * 1440)
            .filter(|minute| calendar.starts(*minute))
            .map(|minute| minute - MONDAY)
            .collect()
    }

    #[test]
    fn cron_starts_when_it_says() {
        assert_eq!(starts("30 2 * * *", 2), [150, 1590]);
        assert_eq!(starts("0 0 * * 7", 7), [6 * 1440]);
        assert_eq!(starts("0 0 30 11 *", 30), [28 * 1440]);
        // Either will do where both are restricted.
        assert_eq!(starts("0 0 4 * 1", 7), [0, 2 * 1440]);
        assert_eq!(starts("10-30/10,5 0 * * *", 1), [5, 10, 20, 30]);
        assert_eq!(starts("30 seconds", 1).len(), 1440);
        let both = Calendar::new(&["30 2 * * *", "0 5 * * *"], &[]);
        assert!(both.starts(MONDAY + 150) && both.starts(MONDAY + 300));
        assert!(!both.starts(MONDAY + 151));
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), (1, 1));
        // 29 February 2024 and the day after.
        assert_eq!((date(19_782), date(19_783)), ((2, 29), (3, 1)));
        assert_eq!(date(MONDAY / 1440), (11, 2));
    }

    #[test]
    fn windows_go_over_midnight_on_the_clock_of_their_zone() {
        let calendar = Calendar::new(
            &["* * * * *"],
            &[Opening {
                days: "1".to_owned(),
                begins: 22 * 60,
                ends: 6 * 60,
                offset: 60,
            }],
        );
        let open: Vec<i64> = (0..7 * 1440)
            .filter(|minute| calendar.is_open(MONDAY + minute))
            .collect();
        assert_eq!((open[0], open.len()), (21 * 60, 8 * 60));
        assert_eq!(calendar.day(MONDAY + 21 * 60), MONDAY / 1440);
        assert_eq!(calendar.day(MONDAY + 28 * 60), MONDAY / 1440);
        assert_eq!(
            calendar.closes(MONDAY + 21 * 60, MONDAY + 2 * 1440),
            MONDAY + 29 * 60
        );
        assert!(calendar.has_nights() && !Calendar::new(&["* * * * *"], &[]).has_nights());
        // Equal begin and end: the whole day.
        let whole = Opening {
            days: "3".to_owned(),
            begins: 0,
            ends: 0,
            offset: 0,
        };
        let calendar = Calendar::new(&["* * * * *"], &[whole]);
        assert_eq!(
            (0..7 * 1440)
                .filter(|minute| calendar.is_open(*minute))
                .count(),
            1440
        );
    }
}
