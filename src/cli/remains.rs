//! Arguments of the commands for what deleted rows leave behind: archives, and files outside the database.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use super::common::WithOutput;

/// What to do with the archive.
#[derive(Debug, Subcommand)]
pub enum Archive {
    /// List the runs that have archived rows
    ///
    /// Counts every row of the archive, unless a run is named.
    List(ArchiveList),
    /// Permanently delete the archived rows and partitions of a run, or of all old runs
    ///
    /// Lists what it would delete; with --yes it deletes it, in bounded transactions.
    ///
    /// Example: windrow archive drop specs/yworkflow.toml --older-than 90d --yes
    Drop(ArchiveDrop),
    /// Move the archived rows and partitions of a run, or of some of its families, back
    ///
    /// All or nothing, in one transaction, parents before children. The restored families are due at once, so holds are
    /// placed on them; after `windrow hold release` a run may delete them again. An archived partition is attached again (PostgreSQL), or its rows are copied back.
    ///
    /// Example: windrow archive restore specs/yworkflow.toml --run 17 --key 4
    Restore(ArchiveRestore),
    /// Write archived rows as CSV
    ///
    /// One file for each table and archived partition, or one of them to stdout. NULL is written as nothing, an empty string as "", and binary
    /// values in hexadecimal (\\x00ff). Needs SELECT on the archive tables.
    ///
    /// Example: windrow archive export specs/yworkflow.toml --run 17 --to /srv/archive
    Export(ArchiveExport),
}

/// Arguments of `archive restore`.
#[derive(Debug, Args)]
pub struct ArchiveRestore {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// The run that deleted the rows
    #[arg(long, value_name = "RUN")]
    pub run: u64,

    /// Key of a root, or name of a partition; may be given many times; without it, everything
    #[arg(long = "key", value_name = "KEY")]
    pub keys: Vec<String>,

    /// The rule of the keys, if the spec has more than one
    #[arg(long, requires = "keys")]
    pub rule: Option<String>,

    /// Refuse to restore more rows than this in one transaction
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    pub max_rows: u64,
}

/// Arguments of `archive export`.
#[derive(Debug, Args)]
pub struct ArchiveExport {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Only the rows of this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<u64>,

    /// Only this table, or this partition
    #[arg(long)]
    pub table: Option<String>,

    /// Folder to write the files to; without it, the only table goes to stdout
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,
}

/// Arguments of `archive list`.
#[derive(Debug, Args)]
pub struct ArchiveList {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Only this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<u64>,
}

/// Arguments of `archive drop`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("which_runs").required(true).args(["run", "older_than"])))]
pub struct ArchiveDrop {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// The rows of this run
    #[arg(long, value_name = "RUN")]
    pub run: Option<u64>,

    /// The rows of all runs whose last row was archived at least this long ago, e.g. 90d
    #[arg(long, value_name = "DURATION")]
    pub older_than: Option<String>,

    /// Delete them
    #[arg(long)]
    pub yes: bool,
}

/// What to do with artifacts.
#[derive(Debug, Subcommand)]
pub enum Artifacts {
    /// List the files that are waiting to be removed
    List(WithOutput),
    /// Remove them with your own command, one call per file
    ///
    /// The command is split into words once and not passed to a shell. In its words, {path} and {host} are replaced by the
    /// values in the row, {host:name} by the host without its port, and {path:q} by the path quoted for a shell: ssh passes
    /// its words to a shell on the remote side, so a remote path needs {path:q}.
    ///
    /// Example: windrow artifacts drain specs/dolphinscheduler.toml --command 'ssh {host:name} rm -f -- {path:q}'
    Drain(Drain),
}

/// Arguments of `artifacts drain`.
#[derive(Debug, Args)]
pub struct Drain {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// The command, with {host}, {host:name}, {path} or {path:q}
    ///
    /// Use {path} as a word of its own for a program that windrow starts itself: `rm -f -- {path}`, `sh SCRIPT {path}`.
    /// {path:q} is quoted for the one shell that reads it: `ssh {host:name} rm -f -- {path:q}`, `sh -c 'rm -f -- {path:q}'`.
    /// {host:name} is the host without its port.
    #[arg(long)]
    pub command: String,

    /// Remove nothing outside of this folder
    ///
    /// Relative paths, and paths with `..`, are then refused. Links are resolved if the files are on this machine;
    /// windrow cannot see links on the other side of `ssh`.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// At most this many files
    #[arg(long, default_value_t = 1_000)]
    pub limit: u32,

    /// Seconds that one command may take
    #[arg(long, default_value_t = 30, value_name = "SECONDS")]
    pub timeout: u64,
}
