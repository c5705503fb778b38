//! Arguments of the commands that change what runs may do: policies, holds, settings, windows.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::common::WithOutput;

/// What to do with policies.
#[derive(Debug, Subcommand)]
pub enum Policy {
    /// List the policies
    List(WithOutput),
    /// Set the policy of one scope
    ///
    /// Example: windrow policy set specs/dolphinscheduler.toml --scope 42 --retention 30d
    Set(PolicySet),
    /// Drop the policy of one scope
    Drop(PolicyDrop),
}

/// Arguments of `policy set`.
#[derive(Debug, Args)]
pub struct PolicySet {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// The scope, e.g. a project's code
    #[arg(long)]
    pub scope: String,

    /// How long its families are kept, e.g. 30d; without it, the spec's default
    #[arg(long)]
    pub retention: Option<String>,

    /// Keep everything of this scope for now
    #[arg(long)]
    pub disable: bool,

    /// Whether files that deleted rows name are removed, too
    #[arg(long, value_name = "true|false")]
    pub artifacts: Option<bool>,

    /// Why, for those who come after
    #[arg(long)]
    pub note: Option<String>,
}

/// Arguments of `policy drop`.
#[derive(Debug, Args)]
pub struct PolicyDrop {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// The scope
    #[arg(long)]
    pub scope: String,
}

/// What to do with holds.
#[derive(Debug, Subcommand)]
pub enum Hold {
    /// List the holds
    List(WithOutput),
    /// Keep one family, whatever its age
    Set(HoldSet),
    /// Let a family go again
    Release(HoldRelease),
}

/// Arguments of `hold set`.
#[derive(Debug, Args)]
pub struct HoldSet {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// Key of the root, or of a row of its family in the same table, in any spelling that the column reads
    #[arg(long)]
    pub key: String,

    /// Why it must stay
    #[arg(long)]
    pub reason: String,

    /// When the hold ends, e.g. 2027-01-01T00:00:00Z (UTC without a zone); without it, never
    #[arg(long, value_name = "INSTANT")]
    pub until: Option<String>,

    /// Store the hold although the rule has no such row now
    #[arg(long)]
    pub even_if_absent: bool,

    /// Hold it for this spec as well, whose rules hold rows of the same table; all of them or none
    #[arg(long, value_name = "SPEC")]
    pub also: Vec<PathBuf>,
}

/// Arguments of `hold release`.
#[derive(Debug, Args)]
pub struct HoldRelease {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// Key of the root, in any spelling that the column reads
    #[arg(long)]
    pub key: String,

    /// Release it for this spec as well; all of them or none
    #[arg(long, value_name = "SPEC")]
    pub also: Vec<PathBuf>,
}

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub enum Settings {
    /// List every limit: its value, the spec's, what it may be, who has changed it
    ///
    /// Example: windrow settings list specs/dolphinscheduler.toml --log
    List(SettingsList),
    /// Change one setting
    ///
    /// Example: windrow settings set specs/dolphinscheduler.toml time_budget 3600
    Set(SettingSet),
    /// Go back to the spec's value
    Reset(SettingReset),
}

/// Arguments of `settings list`.
#[derive(Debug, Args)]
pub struct SettingsList {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// List every change instead, with the values before and after
    #[arg(long)]
    pub log: bool,
}

/// Arguments of `settings set`.
#[derive(Debug, Args)]
pub struct SettingSet {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Name, e.g. batch_families
    pub name: String,

    /// Value: a whole number, or a duration, e.g. 30d, where the setting is a time
    pub value: String,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,
}

/// Arguments of `settings reset`.
#[derive(Debug, Args)]
pub struct SettingReset {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Name, e.g. batch_families
    pub name: String,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,
}

/// What to do with windows.
#[derive(Debug, Subcommand)]
pub enum Window {
    /// List the windows in which scheduled runs may work
    List(WithOutput),
    /// Write other windows than the spec's
    ///
    /// A window has days, a start (inclusive), an end (exclusive) and a zone (UTC if left out). It begins on the days
    /// that are named and may end on the next; the same time twice is 24 hours. `always` and `never` stand alone.
    ///
    /// Example: windrow window set specs/dolphinscheduler.toml 'mon-fri 22:00-06:00 Europe/Berlin' 'sat,sun 00:00-00:00'
    Set(WindowSet),
    /// Go back to the spec's windows
    Reset(WithOutput),
}

/// Arguments of `window set`.
#[derive(Debug, Args)]
pub struct WindowSet {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Windows, `always` or `never`
    #[arg(required = true)]
    pub windows: Vec<String>,
}
