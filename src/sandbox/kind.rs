//! What differs between the servers for whoever starts and ends them.

use std::fs;
use std::path::Path;

use super::process::runs_in;

/// What differs between the servers for whoever starts and ends them.
#[derive(Debug)]
pub(super) struct Kind {
    /// Name for people.
    pub(super) title: &'static str,
    /// The file below the data directory whose first line is the process id of a running server.
    pub(super) pid_file: &'static str,
    /// A file that every data directory has.
    pub(super) marker: &'static str,
    /// The socket with the longest name.
    pub(super) socket: &'static str,
    /// What the names of the files that it has next to the data directory start with.
    pub(super) files: &'static [&'static str],
    /// The signal that ends it in good order.
    pub(super) stop: &'static str,
    /// The signal that ends it at once, where its data is of no use any more.
    pub(super) abort: &'static str,
    /// Whom root runs it as; it refuses to run as root. `nobody` where there is none of them.
    pub(super) accounts: &'static [&'static str],
    /// What its log says about a port in use.
    pub(super) port_taken: &'static str,
    /// Whether it accepts connections since it was launched, by its data directory, its process id and its log.
    pub(super) is_ready: fn(data: &Path, pid: u32, log: &str) -> bool,
}

impl Kind {
    /// The process id of the server that runs in a data directory.
    pub(super) fn running(&self, data: &Path) -> Option<u32> {
        let text = fs::read_to_string(data.join(self.pid_file)).ok()?;
        let pid = text.lines().next()?.trim().parse().ok()?;
        runs_in(pid, data).then_some(pid)
    }
}
