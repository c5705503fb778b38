//! Arguments of the commands that install windrow into a database, allow it to delete, and uninstall it.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use clap_complete::Shell;

use super::common::{Output, WithOutput, dialects};
use crate::demo::{SYSTEMS, System};
use crate::dialect::Dialect;

/// Options of `arm`.
#[derive(Clone, Debug, Args)]
pub struct Arm {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// When permission to delete ends: at the next server start (for sites that clone servers by storage snapshots)
    #[arg(long, value_name = "WHEN", value_parser = ["restart"])]
    pub until: Option<String>,

    /// Arm each server of this cluster: PostgreSQL's cluster_name, the Galera cluster, the group, or db1:3306,db2:3306
    #[arg(long, value_name = "NAME", conflicts_with = "until")]
    pub cluster: Option<String>,

    /// Arm this server alone; without it, a cluster that is armed and that this server belongs to stays armed
    #[arg(long, conflicts_with = "cluster")]
    pub this_server: bool,
}

/// Arguments of `install`.
#[derive(Debug, Args)]
pub struct Install {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Install despite errors found by the check; the errors are recorded
    #[arg(long)]
    pub force: bool,

    /// Install over an installation that a newer windrow has made
    #[arg(long)]
    pub downgrade: bool,

    /// Leave out this file, e.g. 60_schedule.sql; may be given many times
    #[arg(long, value_name = "FILE")]
    pub skip: Vec<String>,

    /// Allow full scans of tables with at most this many estimated rows
    #[arg(long, value_name = "ROWS", default_value_t = 10_000)]
    pub threshold: i64,
}

/// A system of the demo by its name.
fn systems() -> impl TypedValueParser<Value = &'static System> {
    const ALL: &[System] = &SYSTEMS;
    PossibleValuesParser::new(ALL.iter().map(|system| system.name)).map(|name| {
        let named = ALL.iter().find(|system| system.name == name);
        named.unwrap_or(&ALL[0])
    })
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Stop the server of an earlier demo and remove it
    #[arg(long)]
    pub down: bool,

    /// The workflow engine whose history is loaded
    #[arg(long, value_name = "SYSTEM", default_value = SYSTEMS[0].name, value_parser = systems())]
    pub system: &'static System,

    /// The server to start
    #[arg(long, value_name = "DIALECT", default_value = "postgres", value_parser = dialects())]
    pub dialect: Dialect,

    /// Families of workflow instances to load; default: about a quarter of a million rows
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1_000..=1_000_000))]
    pub families: Option<u32>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// Arguments of `uninstall`.
#[derive(Debug, Args)]
pub struct Uninstall {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Drop what is listed
    #[arg(long)]
    pub yes: bool,

    /// Also drop archived rows; without this option, there must be none
    #[arg(long)]
    pub drop_archive: bool,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub struct Schema {
    /// Which schema
    #[arg(long, value_enum, default_value_t = SchemaOf::Spec)]
    pub of: SchemaOf,
}

/// What a JSON Schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// A spec, for editors
    Spec,
    /// What `--output json` prints, for programs
    Answers,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Folder to write to
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
}
