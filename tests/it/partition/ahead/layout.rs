//! Random layouts of partitions, and which ones are missing of them: a model in memory, by another calendar than the servers'.

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

/// The zones of specs. In Cairo the clocks go forward at midnight, which is left out then.
pub(crate) const ZONES: [&str; 2] = ["Europe/Berlin", "Africa/Cairo"];

/// Before and after the nights on which the clocks of these change, at the end of a year, and a plain day.
const INSTANTS: [&str; 9] = [
    "2026-04-22T12:00:00Z",
    "2026-04-24T02:00:00Z",
    "2026-10-28T12:00:00Z",
    "2026-03-28T12:00:00Z",
    "2026-03-29T00:30:00Z",
    "2026-10-24T22:00:00Z",
    "2026-10-25T03:59:59Z",
    "2025-12-31T23:00:00Z",
    "2026-04-10T09:30:00Z",
];

/// How wide partitions are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Width {
    Months(i64),
    Days(i64),
    Hours(i64),
}

/// How names are made: from the begin of a partition, by its place, and what windrow is to call the next ones.
const NAMES: [&str; 4] = [
    "event_log_p%Y%m%d_%H%M%S",
    "log \"%Y_%m_%d",
    "p%Y%m%d",
    "part",
];

/// A layout: partitions `0 .. count`, without one that is missing, at an instant.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) now: Timestamp,
    zone: TimeZone,
    /// The clock of the bounds, where these have no zone.
    clock: TimeZone,
    width: Width,
    base: DateTime,
    pub(crate) count: i64,
    pub(crate) hole: Option<i64>,
    names: &'static str,
}

impl Layout {
    /// Of a column of instants, or not; of dates; with a gap, or not.
    pub(crate) fn random(
        random: &mut SmallRng,
        spec: &str,
        zoned: bool,
        dates: bool,
        gaps: bool,
    ) -> Layout {
        let now: Timestamp = INSTANTS
            .choose(random)
            .expect("an instant")
            .parse()
            .expect("an instant");
        let ours = TimeZone::get(spec).expect("a zone");
        let in_ours = zoned && random.random_bool(0.6);
        let clock = if zoned { TimeZone::UTC } else { ours.clone() };
        let widths = [
            Width::Months(1),
            Width::Months(3),
            Width::Days(1),
            Width::Days(1),
            Width::Days(7),
            Width::Hours(4),
            Width::Hours(6),
        ];
        let width = *widths[..if dates { 5 } else { 7 }]
            .choose(random)
            .expect("a width");
        let zone = match width {
            Width::Hours(_) => TimeZone::UTC,
            _ if in_ours => ours,
            _ => TimeZone::UTC,
        };
        let local = if zoned {
            now.to_zoned(zone.clone()).datetime()
        } else {
            now.to_zoned(clock.clone()).datetime()
        };
        let day = local.date().to_datetime(Time::midnight());
        // One that is missing among others, and is still needed.
        let hole = (gaps && random.random_bool(0.3)).then(|| random.random_range(2..4));
        let (count, after) = match hole {
            Some(_) => (6, 4),
            None => (random.random_range(1..6), random.random_range(-2..4)),
        };
        let back = (count - after).max(0);
        let base = match width {
            Width::Months(n) => {
                let first = day.date().first_of_month().to_datetime(Time::midnight());
                first - (n * back).months()
            }
            Width::Days(n) => day - (n * back).days(),
            Width::Hours(n) => day + i64::from(local.hour()).hours() - (n * back).hours(),
        };
        let names: Vec<&'static str> = match width {
            Width::Hours(_) => vec![NAMES[0], NAMES[3]],
            _ => NAMES.to_vec(),
        };
        Layout {
            now,
            zone,
            clock,
            width,
            base,
            count,
            hole,
            names: names.choose(random).expect("a name"),
        }
    }

    /// The begin of a partition by the clock of its own zone.
    fn local(&self, place: i64) -> DateTime {
        match self.width {
            Width::Months(n) => self.base + (n * place).months(),
            Width::Days(n) => self.base + (n * place).days(),
            Width::Hours(n) => self.base + (n * place).hours(),
        }
    }

    /// As the bound has it: instants in UTC.
    pub(crate) fn bound(&self, place: i64) -> DateTime {
        let zoned = self.local(place).to_zoned(self.zone.clone());
        zoned
            .expect("a time")
            .with_time_zone(TimeZone::UTC)
            .datetime()
    }

    pub(crate) fn name(&self, place: i64) -> String {
        if self.names == "part" {
            return format!("part{}", place + 1);
        }
        self.local(place).strftime(self.names).to_string()
    }

    /// What windrow calls one that is missing: as the others are, or with what it puts before a time.
    pub(crate) fn missing_name(&self, place: i64, prefix: &str) -> String {
        if self.names != "part" {
            return self.name(place);
        }
        let how = match self.width {
            Width::Hours(_) => "%Y%m%d_%H%M%S",
            _ => "%Y%m%d",
        };
        format!("{prefix}{}", self.local(place).strftime(how))
    }

    pub(crate) fn there(&self) -> Vec<i64> {
        let places = 0..self.count;
        places.filter(|place| Some(*place) != self.hole).collect()
    }

    /// What a run should make: what ends behind now, and begins at `ahead` at the latest.
    pub(crate) fn missing(&self, ahead: i64) -> Vec<i64> {
        let now = self.now.to_zoned(self.clock.clone()).datetime();
        let until = (self.now + ahead.seconds())
            .to_zoned(self.clock.clone())
            .datetime();
        let there = self.there();
        // Far enough for the shortest of them.
        (0..self.count + 4000)
            .take_while(|place| self.bound(*place) <= until)
            .filter(|place| self.bound(place + 1) > now && !there.contains(place))
            .collect()
    }
}
