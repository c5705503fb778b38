//! How long a backlog takes: what is due, how fast it is deleted, when runs start and what ends them.
//!
//! Arithmetic only: what the database says comes in as values.

use std::collections::BTreeMap;

mod calendar;
mod report;
mod width;

pub use calendar::{Calendar, Opening};
pub use report::{
    Basis, Forecast, InflowFrom, LogVolume, MissingIndex, Remedy, Report, RuleForecast, Speed,
    TableForecast, To, Total, WorkingHours,
};
pub use width::{Image, binlog_row, fixed_width, index_entry, wal};

/// What a rule has to do, and what its runs may do at once.
#[derive(Clone, Debug)]
pub struct Load {
    /// The rule.
    pub rule: String,
    /// Families that are due and may be deleted.
    pub families: f64,
    /// Rows of a family.
    pub rows_per_family: f64,
    /// Families that become due and may be deleted, a day.
    pub inflow: f64,
    /// Rows a second, rests included.
    pub speed: f64,
    /// Percent of the time of a batch that scheduled runs rest by default; 0: none, or as long as somebody has said.
    pub default_rest: f64,
    /// Families in one run.
    pub run_families: f64,
    /// Rows after which a run takes no further batch; infinite: however many.
    pub run_rows: f64,
}

/// What ended the runs of a rule before all was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// `run_families`.
    Families,
    /// `run_rows`.
    Rows,
    /// `time_budget`.
    Time,
    /// The end of the window.
    Window,
}

impl Limit {
    /// The setting, or what else it is called.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Families => "run_families",
            Limit::Rows => "run_rows",
            Limit::Time => "time_budget",
            Limit::Window => "window",
        }
    }
}

/// What holds for all runs.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// Seconds that one may take.
    pub budget: f64,
    /// Whether a run begins behind the rule that took the time of the one before; several workers keep to the order of the rules.
    pub in_turn: bool,
}

/// The order of the rules of a run, as the kernel has it: a run that did not come to all of them has the next one begin behind the
/// last that it took; one that did, behind the last of which something is left.
#[derive(Clone, Debug)]
struct Order {
    rules: usize,
    in_turn: bool,
    first: usize,
    taken: Vec<(usize, bool)>,
}

impl Order {
    fn new(rules: usize, runs: Runs) -> Order {
        Order {
            rules,
            in_turn: runs.in_turn,
            first: 0,
            taken: Vec::new(),
        }
    }

    fn of_run(&self) -> impl Iterator<Item = usize> + use<> {
        (self.first..self.rules).chain(0..self.first)
    }

    /// A run took a rule, and left something of it or not.
    fn took(&mut self, rule: usize, leaves: bool) {
        self.taken.push((rule, leaves));
    }

    fn end_run(&mut self) {
        let all = self.taken.len() == self.rules;
        let last = self.taken.iter().rfind(|(_, leaves)| *leaves || !all);
        if self.in_turn {
            self.first = last.map_or(0, |(rule, _)| (rule + 1) % self.rules);
        }
        self.taken.clear();
    }
}

/// How a rule fares when scheduled runs do it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Runs until nothing is left; `None`: not within three years.
    pub runs: Option<i64>,
    /// Days, or nights, of these runs.
    pub days: i64,
    /// Seconds until then, from now on.
    pub wait: i64,
    /// What ended most of the runs before.
    pub limit: Option<Limit>,
    /// Families of the biggest run.
    pub most: f64,
    /// Families left now, and after each day on which runs took some, until nothing is.
    pub left: Vec<f64>,
}

/// How far a course is followed, in minutes.
const FAR: i64 = 3 * 366 * 24 * 60;

/// Plays the scheduled runs of the rules, in the order of each, from a minute on (counted from 1970, in UTC), until nothing is
/// left of any of them.
pub fn play(loads: &[Load], calendar: &Calendar, runs: Runs, now: i64) -> Vec<Course> {
    let budget = runs.budget;
    let mut order = Order::new(loads.len(), runs);
    let mut left: Vec<f64> = loads.iter().map(|load| load.families).collect();
    let mut courses = vec![Course::default(); loads.len()];
    let mut ends = vec![BTreeMap::<Limit, i64>::new(); loads.len()];
    let mut last_day = vec![None; loads.len()];
    let mut tries = vec![0; loads.len()];
    for (load, course) in loads.iter().zip(&mut courses) {
        course.left.push(load.families);
        if load.families < 0.5 {
            course.runs = Some(0);
        }
    }
    let mut seen = now;
    let mut free = now;
    for minute in now..now + FAR {
        if courses.iter().all(|course| course.runs.is_some()) {
            break;
        }
        if minute < free || !calendar.starts(minute) || !calendar.is_open(minute) {
            continue;
        }
        let closes = calendar.closes(minute, minute + (budget / 60.0) as i64 + 1);
        let window = (closes - minute) as f64 * 60.0;
        let mut time = window.min(budget);
        let mut took = 0.0;
        for at in order.of_run() {
            let load = &loads[at];
            left[at] += load.inflow * (minute - seen) as f64 / 1440.0;
            let has_time = time > 1e-6;
            if left[at] < 0.5 {
                if has_time {
                    order.took(at, false);
                }
                continue;
            }
            let by_rows = load.run_rows / load.rows_per_family;
            let by_time = time * load.speed / load.rows_per_family;
            let takes = left[at].min(load.run_families).min(by_rows).min(by_time);
            left[at] -= takes;
            let seconds = takes * load.rows_per_family / load.speed;
            time -= seconds;
            took += seconds;
            if has_time {
                order.took(at, left[at] >= 0.5);
            }
            if courses[at].runs.is_some() {
                continue;
            }
            tries[at] += 1;
            courses[at].most = courses[at].most.max(takes);
            if takes > 0.0 && last_day[at] != Some(calendar.day(minute)) {
                last_day[at] = Some(calendar.day(minute));
                courses[at].days += 1;
                courses[at].left.push(left[at]);
            } else if let Some(rest) = courses[at].left.last_mut() {
                *rest = left[at];
            }
            if left[at] < 0.5 {
                courses[at].runs = Some(tries[at]);
                courses[at].wait = (minute - now) * 60 + took as i64;
                continue;
            }
            let limit = match takes {
                takes if takes >= load.run_families => Limit::Families,
                takes if takes >= by_rows => Limit::Rows,
                _ if window < budget => Limit::Window,
                _ => Limit::Time,
            };
            *ends[at].entry(limit).or_default() += 1;
        }
        order.end_run();
        seen = minute;
        free = minute + (took / 60.0).ceil() as i64;
    }
    for (course, ends) in courses.iter_mut().zip(ends) {
        course.limit = ends
            .into_iter()
            .max_by_key(|(limit, times)| (*times, std::cmp::Reverse(*limit)))
            .map(|(limit, _)| limit);
    }
    courses
}

/// Families of one rule that the runs of a week can take, a day, besides what becomes due of the other rules.
pub fn capacity(loads: &[Load], at: usize, calendar: &Calendar, runs: Runs, now: i64) -> f64 {
    let budget = runs.budget;
    let mut order = Order::new(loads.len(), runs);
    let mut left: Vec<f64> = vec![0.0; loads.len()];
    left[at] = f64::INFINITY;
    let (mut sum, mut seen, mut free) = (0.0, now, now);
    for minute in now..now + 7 * 1440 {
        if minute < free || !calendar.starts(minute) || !calendar.is_open(minute) {
            continue;
        }
        let closes = calendar.closes(minute, minute + (budget / 60.0) as i64 + 1);
        let mut time = ((closes - minute) as f64 * 60.0).min(budget);
        let whole = time;
        for other in order.of_run() {
            let load = &loads[other];
            left[other] += load.inflow * (minute - seen) as f64 / 1440.0;
            let takes = left[other]
                .min(load.run_families)
                .min(load.run_rows / load.rows_per_family)
                .min(time * load.speed / load.rows_per_family);
            if other == at {
                sum += takes;
            } else {
                left[other] -= takes;
            }
            if time > 1e-6 {
                order.took(other, left[other] >= 0.5);
            }
            time -= takes * load.rows_per_family / load.speed;
        }
        order.end_run();
        seen = minute;
        free = minute + ((whole - time) / 60.0).ceil() as i64;
    }
    sum / 7.0
}

/// A slice of what is due that was looked at.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// The families that the slice represents.
    pub stands_for: f64,
    /// Families that were looked at.
    pub looked: f64,
    /// Those of them that may be deleted.
    pub going: f64,
    /// Rows of those.
    pub rows: f64,
    /// Batches that these need.
    pub batches: f64,
}

/// What slices say of all that is due.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Families that may be deleted.
    pub going: f64,
    /// Rows of those.
    pub rows: f64,
    /// Batches.
    pub batches: f64,
    /// How far the rows may be off, in percent of them: twice the standard error, by the differences between the slices.
    pub error: f64,
}

/// Sums up slices, each with the weight of what it represents.
pub fn estimate(slices: &[Slice]) -> Estimate {
    let all: f64 = slices.iter().map(|slice| slice.stands_for).sum();
    let per_family = |slice: &Slice, what: f64| slice.stands_for * what / slice.looked.max(1.0);
    let mut sum = Estimate::default();
    for slice in slices {
        sum.going += per_family(slice, slice.going);
        sum.rows += per_family(slice, slice.rows);
        sum.batches += per_family(slice, slice.batches);
    }
    let mean = sum.rows / all;
    let variance: f64 = slices
        .iter()
        .map(|slice| slice.stands_for / all * (slice.rows / slice.looked.max(1.0) - mean).powi(2))
        .sum();
    if slices.len() > 1 && mean > 0.0 {
        sum.error = 200.0 * (variance / (slices.len() - 1) as f64).sqrt() / mean;
    }
    sum
}

/// A number that is at least as big, and easy to say: two digits, then zeros.
pub fn rounded_up(number: f64) -> i64 {
    let mut step = 1.0;
    while number / step >= 100.0 {
        step *= 10.0;
    }
    ((number / step).ceil() * step) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;

    fn load(families: f64) -> Load {
        Load {
            rule: "r".to_owned(),
            families,
            rows_per_family: 10.0,
            inflow: 0.0,
            speed: 1_000.0,
            default_rest: 0.0,
            run_families: 10_000.0,
            run_rows: f64::INFINITY,
        }
    }

    /// Monday, 2 November 2026, 12:00 UTC.
    const NOON: i64 = 29_893_680;

    fn nightly() -> Calendar {
        Calendar::new(&[Schedule::parse("0 2 * * *").expect("a schedule")], &[])
    }

    fn runs(budget: f64) -> Runs {
        Runs {
            budget,
            in_turn: true,
        }
    }

    #[test]
    fn one_night_after_the_other_until_nothing_is_left() {
        // 100 seconds of work a run.
        let course = &play(&[load(38_001.0)], &nightly(), runs(1_800.0), NOON)[0];
        assert_eq!(
            (course.runs, course.days, course.limit),
            (Some(4), 4, Some(Limit::Families))
        );
        // From noon to two in the morning of the fourth day, and the last 80 seconds.
        assert_eq!(course.wait, (3 * 24 + 14) * 3_600 + 80);
        let nothing = &play(&[load(0.0)], &nightly(), runs(1_800.0), NOON)[0];
        assert_eq!((nothing.runs, nothing.days, nothing.wait), (Some(0), 0, 0));
    }

    #[test]
    fn what_comes_first_ends_a_run() {
        let course = |change: fn(&mut Load), budget| {
            let mut load = load(100_000.0);
            change(&mut load);
            play(&[load], &nightly(), runs(budget), NOON)[0].clone()
        };
        let rows = course(|load| load.run_rows = 50_000.0, 1_800.0);
        assert_eq!((rows.runs, rows.limit), (Some(20), Some(Limit::Rows)));
        let time = course(|load| load.run_families = 1e9, 200.0);
        assert_eq!((time.runs, time.limit), (Some(5), Some(Limit::Time)));
        assert!((time.most - 20_000.0).abs() < 1e-6);
        let never = course(|load| load.inflow = 10_001.0, 1_800.0);
        assert_eq!((never.runs, never.limit), (None, Some(Limit::Families)));
    }

    #[test]
    fn rules_share_the_time_of_a_run_in_their_order() {
        let mut loads = [load(15_000.0), load(5_000.0)];
        for load in &mut loads {
            load.run_families = 1e9;
        }
        // 200 seconds for the first one's 150 and the second one's 50.
        let courses = play(&loads, &nightly(), runs(190.0), NOON);
        assert_eq!((courses[0].runs, courses[1].runs), (Some(1), Some(2)));
        assert_eq!(courses[1].limit, Some(Limit::Time));
        assert_eq!(courses[1].wait, 38 * 3_600 + 10);
        let shared = capacity(&loads, 1, &nightly(), runs(190.0), NOON);
        assert!((shared - 19_000.0).abs() < 1e-6, "{shared}");
    }

    #[test]
    fn a_rule_that_takes_the_time_of_a_run_comes_last_in_the_next() {
        let mut loads = [load(190_000.0), load(190_000.0)];
        for load in &mut loads {
            load.run_families = 1e9;
        }
        let workers = Runs {
            in_turn: false,
            ..runs(190.0)
        };
        let nights = |loads: &[Load], runs| {
            let courses = play(loads, &nightly(), runs, NOON);
            [courses[0].runs, courses[1].runs]
        };
        assert_eq!(nights(&loads, runs(190.0)), [Some(19), Some(20)]);
        assert_eq!(nights(&loads, workers), [Some(10), Some(20)]);
        // Of the first one, more becomes due each night than a run deletes.
        loads[0].inflow = 20_000.0;
        assert_eq!(nights(&loads, runs(190.0)), [None, Some(20)]);
        assert_eq!(nights(&loads, workers), [None, None]);
        // In the first night, part of a day's worth leaves time.
        let [turns, none] =
            [runs(190.0), workers].map(|runs| capacity(&loads, 1, &nightly(), runs, NOON).floor());
        assert_eq!([turns, none], [9_190.0, 1_047.0]);
    }

    #[test]
    fn a_window_ends_a_run_and_a_long_run_passes_over_starts() {
        let window = Opening {
            days: "1234567".to_owned(),
            begins: 22 * 60,
            ends: 60,
            offset: 0,
        };
        let calendar = Calendar::new(
            &[Schedule::parse("*/10 * * * *").expect("a schedule")],
            std::slice::from_ref(&window),
        );
        let mut load = load(1e6);
        load.run_families = 1e9;
        // Three hours a night are 1,080,000 families: one run of an hour, then two more.
        let course = &play(&[load.clone()], &calendar, runs(3_600.0), NOON)[0];
        assert_eq!((course.runs, course.days), (Some(3), 1));
        load.families = 1.1e6;
        let course = &play(&[load], &calendar, runs(86_400.0), NOON)[0];
        assert_eq!(
            (course.runs, course.days, course.limit),
            (Some(2), 2, Some(Limit::Window))
        );
    }

    #[test]
    fn slices_stand_for_the_rest() {
        let slice = |stands_for, rows| Slice {
            stands_for,
            looked: 100.0,
            going: 50.0,
            rows,
            batches: 1.0,
        };
        let sum = estimate(&[slice(1_000.0, 500.0), slice(1_000.0, 500.0)]);
        assert_eq!(
            (sum.going, sum.rows, sum.batches, sum.error),
            (1_000.0, 10_000.0, 20.0, 0.0)
        );
        // Per family 4 and 6 rows: five on the average, one off each, and two slices.
        let sum = estimate(&[slice(1_000.0, 400.0), slice(1_000.0, 600.0)]);
        assert_eq!((sum.rows, sum.error), (10_000.0, 40.0));
        assert_eq!(estimate(&[]).going, 0.0);
    }

    #[test]
    fn limits_are_raised_to_numbers_that_are_easily_said() {
        assert_eq!(
            [7.2, 99.1, 101.0, 118_400.0, 120_000.0].map(rounded_up),
            [8, 100, 110, 120_000, 120_000]
        );
    }
}
