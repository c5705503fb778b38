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

    /// The rule, if the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// The scope, e.g. a project's code
    #[arg(long)]
    pub scope: String,

    /// How long its families are kept, e.g. 30d; `default`: as long as the spec says, also when it says something else later.
    /// Left out: as the policy has it, of a new one `default`
    #[arg(long)]
    pub retention: Option<String>,

    /// Keep everything of this scope, until `--enable`
    #[arg(long, conflicts_with = "enable")]
    pub disable: bool,

    /// Clean this scope again; without it, a disabled policy stays disabled
    #[arg(long)]
    pub enable: bool,

    /// Whether to also remove the files that deleted rows refer to
    #[arg(long, value_name = "true|false")]
    pub artifacts: Option<bool>,

    /// The reason, for whoever reads this later
    #[arg(long)]
    pub note: Option<String>,
}

/// Arguments of `policy drop`.
#[derive(Debug, Args)]
pub struct PolicyDrop {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// The rule, if the spec has more than one
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
    /// Release a hold, so that runs may delete the family again
    Release(HoldRelease),
}

/// Arguments of `hold set`.
#[derive(Debug, Args)]
pub struct HoldSet {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// The rule, if the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// Key of the root, or of a row of its family in the same table, in any spelling that the column accepts
    #[arg(long)]
    pub key: String,

    /// Why it must be kept
    #[arg(long)]
    pub reason: String,

    /// When the hold ends, e.g. 2027-01-01T00:00:00Z (UTC without a zone); default: never
    #[arg(long, value_name = "INSTANT")]
    pub until: Option<String>,

    /// Place the hold even if the rule's table has no such row now
    #[arg(long)]
    pub even_if_absent: bool,

    /// Also hold it for this spec, which has a rule for the same table; either all specs hold it or none
    #[arg(long, value_name = "SPEC")]
    pub also: Vec<PathBuf>,
}

/// Arguments of `hold release`.
#[derive(Debug, Args)]
pub struct HoldRelease {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// The rule, if the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// Key of the root, in any spelling that the column accepts
    #[arg(long)]
    pub key: String,

    /// Also release it for this spec; either all specs release it or none
    #[arg(long, value_name = "SPEC")]
    pub also: Vec<PathBuf>,
}

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub enum Settings {
    /// List every limit: its value, the spec's, the values allowed, who changed it
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

    /// Value: a whole number, or for times a duration, e.g. 30d
    pub value: String,

    /// The rule, if the spec has more than one
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

    /// The rule, if the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,
}

/// What to do with windows.
#[derive(Debug, Subcommand)]
pub enum Window {
    /// List the windows in which scheduled runs may work
    List(WithOutput),
    /// Replace the spec's windows
    ///
    /// A window has days, a start (inclusive), an end (exclusive) and a time zone (default UTC). It begins on the named
    /// days and may end on the next; the same time twice is 24 hours. `always` and `never` are used alone.
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
