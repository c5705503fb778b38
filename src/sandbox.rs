//! Throw-away servers for the demo, the tests and the benchmarks: PostgreSQL, MySQL and MariaDB.
//!
//! A sandbox is a private server in a directory of its own, on a free port of 127.0.0.1 and a Unix socket. It never
//! touches a server of the system, needs no service manager, and is gone with the process that started it, even when
//! that process is killed. Linux only: processes are observed through `/proc`.

mod account;
mod instance;
mod kind;
pub mod mysql;
pub mod postgres;
mod process;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use self::instance::Instance;
use self::kind::Kind;

pub use mysql::Mysql;
pub use postgres::{Postgres, Settings, installed};
pub use process::backend_cpu_seconds;

const KINDS: [&Kind; 2] = [&postgres::KIND, &mysql::KIND];

/// Ends the server that an earlier process left in a directory and removes what belongs to it, and nothing else.
pub fn stop_at(dir: &Path) -> Result<()> {
    let dir = dir
        .canonicalize()
        .with_context(|| format!("cannot open `{}`", dir.display()))?;
    let data = dir.join("data");
    let kind = KINDS
        .into_iter()
        .find(|kind| data.join(kind.marker).exists())
        .ok_or_else(|| anyhow!("`{}` is not the directory of a sandbox", dir.display()))?;
    if kind.running(&data).is_some() {
        Instance::attach(kind, &dir)?.stop()?;
    }
    fs::remove_dir_all(&data).with_context(|| format!("cannot remove `{}`", data.display()))?;
    for entry in fs::read_dir(&dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == "server.log" || kind.files.iter().any(|start| name.starts_with(start)) {
            fs::remove_file(entry.path())?;
        }
    }
    // Files that are not the sandbox's own keep the directory.
    if fs::read_dir(&dir)?.next().is_none() {
        fs::remove_dir(&dir)?;
    }
    Ok(())
}
