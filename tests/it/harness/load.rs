//! How many tests run at a time: as many as keep the machine busy. Some wait for a server for most of their time, others keep it
//! at work; and two that keep one server at work cost more than one after the other.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// How long the load is looked at before one more test starts.
const LOOK: Duration = Duration::from_millis(400);

/// The share of the machine that must have been idle for one more test.
const IDLE: f64 = 0.03;

/// How many tests a core can have at most, and how many while memory is short: each may have servers of its own, whose files
/// are in memory, too.
const MOST_BY_CORE: usize = 6;
const FEW_BY_CORE: usize = 4;

/// How much memory must be free for more than few, in KiB: 8 GiB.
const ROOM: u64 = 8 << 20;

/// What `/proc/stat` counts in: hundredths of a second of one core.
const TICKS: f64 = 100.0;

/// Whether one more test may start.
pub(super) struct Load {
    /// So many, whatever the machine does.
    asked_for: Option<usize>,
    cores: usize,
    /// When it was looked at, and how long all cores had been idle by then, in seconds.
    since: Instant,
    idle: f64,
}

impl Load {
    pub(super) fn new(asked_for: Option<usize>) -> Self {
        Self {
            asked_for,
            cores: thread::available_parallelism().map_or(1, usize::from),
            since: Instant::now(),
            idle: idle(),
        }
    }

    /// Asked again after a while, or when a test has ended.
    pub(super) fn has_room(&mut self, running: usize) -> bool {
        if let Some(most) = self.asked_for {
            return running < most.max(1);
        }
        if running < self.cores {
            self.look();
            return true;
        }
        let looked = self.since.elapsed();
        if running >= self.cores * MOST_BY_CORE || looked < LOOK {
            return false;
        }
        if running >= self.cores * FEW_BY_CORE && memory() < ROOM {
            return false;
        }
        let share = (idle() - self.idle) / looked.as_secs_f64() / self.cores as f64;
        self.look();
        share >= IDLE
    }

    /// How long to wait before it is asked again.
    pub(super) fn pause(&self) -> Duration {
        if self.asked_for.is_some() {
            return Duration::MAX;
        }
        LOOK.saturating_sub(self.since.elapsed())
            .max(Duration::from_millis(20))
    }

    fn look(&mut self) {
        self.since = Instant::now();
        self.idle = idle();
    }
}

/// How much memory is free, or can be, in KiB; 0 where nobody knows.
fn memory() -> u64 {
    let figures = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = figures
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    free.and_then(|free| free.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// For how many seconds all cores together did nothing; 0 where nobody knows: then a core has one test.
fn idle() -> f64 {
    let counters = fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = counters.lines().next().unwrap_or_default();
    // user nice system idle iowait …
    let ticks = all.split_whitespace().skip(4).take(2);
    ticks
        .filter_map(|tick| tick.parse::<f64>().ok())
        .sum::<f64>()
        / TICKS
}
