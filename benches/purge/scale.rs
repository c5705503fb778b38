//! What a row costs as the history grows a hundredfold, and what the server and the client need for it: the program
//! `windrow` itself previews and runs, once for each size.

use std::any::Any;
use std::cell::Cell;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use windrow::db;

use crate::data;
use crate::installer::SPEC;
use crate::observe::observed;
use crate::report::{Point, Report};

/// Families of the three histories, unless `WINDROW_BENCH_SIZES` says others: about 100,000, 1,000,000 and 10,000,000 rows.
const SIZES: &str = "4034,40340,403400";

/// How often the progress of a run is read, and the memory of the server.
const POLL: Duration = Duration::from_millis(50);

/// A server with a fresh copy of a history.
pub(crate) struct Lab {
    /// The address of the copy.
    pub(crate) url: String,
    /// The moment from which cutoffs are counted, as an option of `windrow run`.
    pub(crate) as_of: String,
    /// A query of rows, batches and the time of the last commit of the run.
    pub(crate) progress: String,
    /// The server's first process.
    pub(crate) pid: u32,
    /// CPU seconds of the whole server.
    pub(crate) cpu: Box<dyn Fn() -> f64>,
    /// What ends the server once it is dropped.
    pub(crate) server: Box<dyn Any>,
}

/// A fresh copy of a history of so many families on PostgreSQL, for one run.
pub(crate) fn postgres(families: u32) -> Result<Lab> {
    let mut lab = data::Lab::open(families)?;
    lab.fresh(false)?;
    let server = Rc::new(lab.server);
    let clock = Rc::clone(&server);
    Ok(Lab {
        url: server.url("run", "postgres"),
        as_of: lab.as_of,
        progress: format!(
            "SELECT deleted_rows, batches, extract(epoch FROM updated_at)::float8 FROM {}.run_rule",
            lab.control
        ),
        pid: server.pid(),
        cpu: Box::new(move || clock.cpu_seconds()),
        server: Box::new(server),
    })
}

/// Every size on one server; `open` makes a history of so many families.
pub(crate) fn measure(
    report: &mut Report,
    open: impl Fn(u32) -> Result<Lab>,
) -> Result<Vec<Point>> {
    std::env::var("WINDROW_BENCH_SIZES")
        .unwrap_or(SIZES.to_owned())
        .split(',')
        .map(|families| {
            let families = families
                .parse()
                .context("WINDROW_BENCH_SIZES is no list of numbers")?;
            point(report, open(families)?)
        })
        .collect()
}

fn point(report: &mut Report, lab: Lab) -> Result<Point> {
    let selection = ["--as-of", &lab.as_of];
    let mut preview = Program::start(&lab.url, "preview", &selection)?;
    let began = Instant::now();
    preview.end()?;
    let preview = began.elapsed().as_secs_f64() * 1e3;

    let mut reader = db::connect_as_application(&lab.url.parse()?)?;
    let idle = private_memory(lab.pid);
    let peak = Cell::new(idle);
    // The session that did the work is gone when the program is, and its time with it.
    let cpu = Cell::new(0.0_f64);
    let options = [
        &selection[..],
        &[
            "--no-estimate",
            "--run-families",
            "1000000000",
            "--time-budget",
            "4h",
        ],
    ]
    .concat();
    let mut program = Program::start(&lab.url, "run", &options)?;
    let run = observed(
        POLL,
        || {
            peak.set(private_memory(lab.pid).max(peak.get()));
            cpu.set((lab.cpu)().max(cpu.get()));
            cpu.get()
        },
        || {
            let rows = reader.query(&lab.progress, &[])?;
            let Some(row) = rows.first() else {
                return Ok(None);
            };
            let number = |column: usize| -> Result<f64> {
                Ok(row[column].as_deref().unwrap_or("0").parse()?)
            };
            Ok(Some((number(0)? as i64, number(1)? as i64, number(2)?)))
        },
        || program.end(),
    )?;
    ensure!(run.rows > 0, "nothing was deleted");
    let point = Point {
        rows: run.rows as f64,
        cpu: run.cpu / run.rows as f64 * 1e6,
        longest: run.longest,
        preview,
    };
    let rows = run.rows;
    let mut tell = |what: &str, figure: f64, digits: usize| {
        report.figure(&format!("{rows} rows: {what}"), figure, digits);
    };
    tell("CPU of the server per row, µs", point.cpu, 2);
    tell("rows per second", point.rows / run.wall, 0);
    tell("longest batch, ms", point.longest, 0);
    tell("preview, ms", point.preview, 0);
    tell(
        "memory that the server takes for it, MB",
        (peak.get() - idle) / 1024.0,
        0,
    );
    tell(
        "memory of the program windrow, MB",
        program.peak / 1024.0,
        0,
    );
    drop(lab.server);
    Ok(point)
}

/// The program while it works, and its memory at its peak in kB.
struct Program {
    process: Child,
    peak: f64,
}

impl Program {
    fn start(url: &str, command: &str, options: &[&str]) -> Result<Self> {
        let process = Command::new(env!("CARGO_BIN_EXE_windrow"))
            .args([command, SPEC, "--url", url, "--quiet"])
            .args(options)
            .stdout(Stdio::null())
            .spawn()
            .context("windrow does not start")?;
        Ok(Self { process, peak: 0.0 })
    }

    /// Waits for its end, which must be a good one.
    fn end(&mut self) -> Result<()> {
        let path = format!("/proc/{}/status", self.process.id());
        loop {
            if let Some(status) = self.process.try_wait()? {
                ensure!(status.success(), "windrow ended with {status}");
                return Ok(());
            }
            self.peak = kilobytes(&path, "VmHWM:").unwrap_or(self.peak);
            sleep(Duration::from_millis(5));
        }
    }
}

/// A figure of `/proc/*/status`, in kB.
pub(crate) fn kilobytes(path: &str, name: &str) -> Option<f64> {
    let status = fs::read_to_string(path).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// What a process and its children share with no other, in kB: without the buffers that PostgreSQL's share, with those of
/// InnoDB.
fn private_memory(pid: u32) -> f64 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let pids = children
        .split_whitespace()
        .filter_map(|child| child.parse().ok())
        .chain([pid]);
    pids.filter_map(|pid: u32| kilobytes(&format!("/proc/{pid}/status"), "RssAnon:"))
        .sum()
}
