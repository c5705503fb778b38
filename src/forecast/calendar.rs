//! When scheduled runs start, and when they may work.

use crate::schedule::{Cron, Form, Schedule};

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
    schedules: Vec<Schedule>,
    openings: Vec<Opening>,
}

impl Calendar {
    /// Without windows, runs may always work.
    pub fn new(schedules: &[Schedule], openings: &[Opening]) -> Calendar {
        Calendar {
            schedules: schedules.to_vec(),
            openings: openings.to_vec(),
        }
    }

    /// The same windows, with a start in every hour.
    pub fn hourly(&self) -> Calendar {
        Calendar::new(&[Schedule::hourly()], &self.openings)
    }

    /// Whether a run is started at a minute.
    pub fn starts(&self, minute: i64) -> bool {
        self.schedules.iter().any(|schedule| match schedule.form() {
            // Several starts a minute are no more than one to a calendar.
            Form::Seconds(_) => true,
            Form::Cron(cron) => starts(cron, minute),
        })
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

/// Whether these times of the clock are those of a minute.
fn starts(cron: &Cron, minute: i64) -> bool {
    let day = minute.div_euclid(1440);
    if !cron.minutes.contains(&minute.rem_euclid(60))
        || !cron.hours.contains(&(minute.rem_euclid(1440) / 60))
    {
        return false;
    }
    let (month, of_month) = date(day);
    // 1 January 1970 was a Thursday.
    let by_week = cron.weekdays.contains(&(day + 4).rem_euclid(7));
    let by_month = cron.days.contains(&of_month);
    cron.months.contains(&month)
        && if cron.either {
            by_week || by_month
        } else {
            by_week && by_month
        }
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

    fn with(schedules: &[&str], openings: &[Opening]) -> Calendar {
        let read = |text: &&str| Schedule::parse(text).expect("a schedule");
        let schedules: Vec<Schedule> = schedules.iter().map(read).collect();
        Calendar::new(&schedules, openings)
    }

    fn starts(schedule: &str, days: i64) -> Vec<i64> {
        let calendar = with(&[schedule], &[]);
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
        let both = with(&["30 2 * * *", "0 5 * * *"], &[]);
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
        let calendar = with(
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
        assert!(calendar.has_nights() && !with(&["* * * * *"], &[]).has_nights());
        // Equal begin and end: the whole day.
        let whole = Opening {
            days: "3".to_owned(),
            begins: 0,
            ends: 0,
            offset: 0,
        };
        let calendar = with(&["* * * * *"], &[whole]);
        assert_eq!(
            (0..7 * 1440)
                .filter(|minute| calendar.is_open(*minute))
                .count(),
            1440
        );
    }
}
