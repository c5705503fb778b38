//! Processes, as `/proc` shows them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Ticks per second of the times in `/proc/*/stat`: the same on every Linux platform that the servers run on.
pub(super) const TICKS_PER_SECOND: f64 = 100.0;

/// User and system time of one server process, such as the backend that `pg_backend_pid()` names; 0 once it has ended.
pub fn backend_cpu_seconds(pid: u32) -> f64 {
    // One that its parent has not waited for yet still has its times.
    Process::read(pid)
        .filter(|process| !process.ended)
        .map_or(0.0, |process| process.ticks as f64 / TICKS_PER_SECOND)
}

/// The shell's own `kill` needs no package, and windrow no `unsafe`.
pub(super) fn signal(name: &str, pids: &[u32]) -> Result<()> {
    let status = Command::new("sh")
        .args([
            "-c",
            r#"signal=$1; shift; kill -s "$signal" "$@""#,
            "kill",
            name,
        ])
        .args(pids.iter().map(u32::to_string))
        .stderr(Stdio::null())
        .status()
        .context("cannot run `sh`")?;
    // A process that has ended by itself in the meantime is no failure; one that lives on is.
    let refused = pids
        .iter()
        .any(|pid| Process::read(*pid).is_some_and(|process| process.is_alive()));
    ensure!(
        status.success() || !refused,
        "cannot send {name} to the server with process id {}",
        pids[0]
    );
    Ok(())
}

/// A server's working directory is its data directory, which distinguishes it from a later process with the same id.
pub(super) fn runs_in(pid: u32, data: &Path) -> bool {
    fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == data)
}

/// Whether a server, of whatever kind, runs in a data directory.
pub(super) fn is_occupied(data: &Path) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .any(|pid| runs_in(pid, data))
}

/// One line of `/proc/*/stat`.
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) ended: bool,
    pub(super) started: u64,
    /// User and system time, that of reaped children included.
    pub(super) ticks: u64,
}

impl Process {
    pub(super) fn read(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field, the name in parentheses, may contain anything.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some(Self {
            pid,
            parent: number(1)?.try_into().ok()?,
            ended: matches!(fields[0], "Z" | "X"),
            started: number(19)?,
            ticks: number(11)? + number(12)? + number(13)? + number(14)?,
        })
    }

    pub(super) fn is_alive(&self) -> bool {
        Self::read(self.pid).is_some_and(|now| now.started == self.started && !now.ended)
    }
}

pub(super) fn children_of(parent: u32) -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Process::read(entry.file_name().to_str()?.parse().ok()?))
        .filter(|process| process.parent == parent)
        .collect()
}
