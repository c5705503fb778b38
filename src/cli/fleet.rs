//! Arguments of `fleet`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::common::Output;

/// Arguments of `fleet`.
#[derive(Debug, Args)]
pub struct Fleet {
    /// The command to call on each database
    #[arg(value_enum)]
    pub command: FleetCommand,

    /// The inventory: a TOML file with servers, databases, specs and groups
    #[arg(long, value_name = "FILE", default_value = "fleet.toml")]
    pub inventory: PathBuf,

    /// Only servers of this group; may be repeated
    #[arg(long, value_name = "GROUP")]
    pub group: Vec<String>,

    /// Only this server, or this database as `server/database`; may be repeated
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,

    /// At most this many databases at once; never two of one server
    #[arg(long, value_name = "COUNT", default_value_t = Fleet::JOBS, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub jobs: u16,

    /// First this many databases; the others only if nothing was found there and nothing failed
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    pub canary: usize,

    /// How long one database may take, e.g. 90s or 2h; then the command is ended there, and what it committed is kept
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<String>,

    /// Go on where the last call of this command was interrupted, or stopped by its canaries
    #[arg(long)]
    pub resume: bool,

    /// How to show the answer
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,

    /// Further arguments of the command, behind `--`
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
}

impl Fleet {
    /// Databases at once, where nobody says otherwise.
    const JOBS: u16 = 8;
}

/// The commands that are called on every database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FleetCommand {
    /// Check the spec against the database
    Check,
    /// Write the SQL files, once for each spec
    Generate,
    /// Install the generated SQL
    Install,
    /// Compare what is installed with the spec
    Diff,
    /// Show whether it keeps up
    Status,
    /// Check the deletions so far and the installation
    Verify,
    /// Estimate how long the backlog takes
    Plan,
    /// Call the cleanup
    Run,
    /// Stop runs
    Pause,
    /// Let runs start again
    Resume,
    /// Allow runs to delete
    Arm,
}

impl FleetCommand {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            FleetCommand::Check => "check",
            FleetCommand::Generate => "generate",
            FleetCommand::Install => "install",
            FleetCommand::Diff => "diff",
            FleetCommand::Status => "status",
            FleetCommand::Verify => "verify",
            FleetCommand::Plan => "plan",
            FleetCommand::Run => "run",
            FleetCommand::Pause => "pause",
            FleetCommand::Resume => "resume",
            FleetCommand::Arm => "arm",
        }
    }
}
