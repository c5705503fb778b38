//! A run as it is watched from outside: CPU seconds, progress, latencies.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use postgres::{Client, NoTls};

/// How often the progress of a run is read: several times within a batch.
const POLL: Duration = Duration::from_millis(4);

/// What one run did and took.
pub(crate) struct Run {
    pub(crate) rows: i64,
    pub(crate) batches: i64,
    pub(crate) cpu: f64,
    pub(crate) wall: f64,
    /// Progress: rows deleted, with the CPU and wall seconds until then.
    pub(crate) samples: Vec<[f64; 3]>,
    /// The longest time between two commits, in milliseconds.
    pub(crate) longest: f64,
}

impl Run {
    /// Milliseconds per 1,000 rows in each tenth of the run: 1 is CPU, 2 is wall time.
    pub(crate) fn deciles(&self, column: usize) -> [f64; 10] {
        let last = self.samples[self.samples.len() - 1][0];
        let at = |rows: f64| {
            let index = self
                .samples
                .partition_point(|sample| sample[0] < rows)
                .max(1);
            let (before, after) = (self.samples[index - 1], self.samples[index]);
            let share = (rows - before[0]) / (after[0] - before[0]);
            before[column] + share * (after[column] - before[column])
        };
        std::array::from_fn(|decile| {
            let bound = |tenths: usize| last * tenths as f64 / 10.0;
            let end = if decile == 9 { last } else { bound(decile + 1) };
            (at(end) - at(bound(decile).max(self.samples[0][0]))) * 1e6 / (last / 10.0)
        })
    }

    /// What a row costs at the end beside what it costs at the beginning, in CPU time.
    pub(crate) fn steepness(&self) -> f64 {
        let deciles = self.deciles(1);
        deciles[9] / deciles[0]
    }
}

/// On-CPU seconds of a backend, to the nanosecond; the ticks of `/proc/*/stat` are too coarse for a tenth of a run.
pub(crate) fn cpu_seconds(pid: u32) -> f64 {
    fs::read_to_string(format!("/proc/{pid}/schedstat"))
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok())
        .map_or_else(
            || windrow::sandbox::backend_cpu_seconds(pid),
            |nanoseconds| nanoseconds / 1e9,
        )
}

pub(crate) fn backend(client: &mut Client) -> Result<u32> {
    let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[])?.get(0);
    Ok(pid.unsigned_abs())
}

/// Does the work while looking at its CPU seconds and its progress: rows, batches and the time of the last commit.
pub(crate) fn observed(
    poll: Duration,
    cpu: impl Fn() -> f64,
    mut progress: impl FnMut() -> Result<Option<(i64, i64, f64)>>,
    work: impl FnOnce() -> Result<()> + Send,
) -> Result<Run> {
    let cpu_before = cpu();
    let began = Instant::now();
    let mut samples = vec![[0.0; 3]];
    let mut longest: f64 = 0.0;
    let mut last_commit = None;
    let (rows, batches) = thread::scope(|scope| -> Result<_> {
        let worker = scope.spawn(work);
        loop {
            let ended = worker.is_finished();
            let (cpu, wall) = (cpu() - cpu_before, began.elapsed().as_secs_f64());
            let (rows, batches, commit) = progress()?.unwrap_or_default();
            if rows as f64 > samples[samples.len() - 1][0] {
                if let Some(last) = last_commit {
                    longest = longest.max((commit - last) * 1e3);
                }
                last_commit = Some(commit);
                samples.push([rows as f64, cpu, wall]);
            }
            if ended {
                worker.join().expect("the worker does not panic")?;
                return Ok((rows, batches));
            }
            sleep(poll);
        }
    })?;
    Ok(Run {
        rows,
        batches,
        cpu: cpu() - cpu_before,
        wall: began.elapsed().as_secs_f64(),
        samples,
        longest,
    })
}

/// The same with two clients of PostgreSQL: one works, the other reads the progress with a statement.
pub(crate) fn watched(
    worker: &mut Client,
    reader: &mut Client,
    progress: &str,
    work: impl FnOnce(&mut Client) -> Result<()> + Send,
) -> Result<Run> {
    let pid = backend(worker)?;
    let progress = reader.prepare(progress)?;
    observed(
        POLL,
        || cpu_seconds(pid),
        || {
            let row = reader.query_opt(&progress, &[])?;
            Ok(row.map(|row| (row.get(0), row.get(1), row.get(2))))
        },
        || work(worker),
    )
}

/// Every session does 50 transactions a second while `work` lasts; latencies in milliseconds, counted from the moment
/// at which a transaction was due.
pub(crate) fn on_time(
    sessions: Vec<impl FnMut() -> Result<()> + Send>,
    work: impl FnOnce(),
) -> Result<Vec<f64>> {
    const EVERY: Duration = Duration::from_millis(20);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let sessions: Vec<_> = sessions
            .into_iter()
            .map(|mut transaction| {
                let ended = &ended;
                scope.spawn(move || -> Result<Vec<f64>> {
                    let mut latencies = Vec::new();
                    let mut due = Instant::now();
                    while !ended.load(Ordering::Relaxed) {
                        sleep(due.saturating_duration_since(Instant::now()));
                        transaction()?;
                        latencies.push(due.elapsed().as_secs_f64() * 1e3);
                        due += EVERY;
                    }
                    Ok(latencies)
                })
            })
            .collect();
        work();
        ended.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for session in sessions {
            all.extend(session.join().expect("a session does not panic")?);
        }
        Ok(all)
    })
}

/// A session with the superuser's rights.
pub(crate) fn connect(url: &str) -> Result<Client> {
    Client::connect(url, NoTls).with_context(|| format!("cannot connect to {url}"))
}
