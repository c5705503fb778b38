//! Arguments of the commands that preview, start and stop runs.

use clap::{ArgGroup, Args, ValueEnum};

use super::common::{OnDatabase, Output, WithOutput};

/// Which families a preview or a run looks at.
#[derive(Clone, Debug, Default, Args)]
pub struct Selection {
    /// Only this rule
    #[arg(long)]
    pub rule: Option<String>,

    /// Only this scope, e.g. one project
    #[arg(long)]
    pub scope: Option<String>,

    /// A retention to use instead of the policies, e.g. 45d; never below the minimum
    #[arg(long)]
    pub retention: Option<String>,

    /// Count retention from this instant instead of now, e.g. 2026-11-01T00:00:00Z (UTC without a zone)
    #[arg(long, value_name = "INSTANT")]
    pub as_of: Option<String>,

    /// At most this many families of each rule; rows, or partitions, of a rule that deletes these
    #[arg(long, value_name = "COUNT")]
    pub run_families: Option<i64>,
}

/// Arguments of `preview`.
#[derive(Debug, Args)]
pub struct Preview {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Which families
    #[command(flatten)]
    pub selection: Selection,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct Plan {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Only this rule
    #[arg(long, value_name = "RULE")]
    pub rule: Option<String>,

    /// Count at most this many families of a rule
    #[arg(long, value_name = "COUNT", default_value_t = Plan::COUNT, value_parser = clap::value_parser!(i64).range(1..))]
    pub count: i64,

    /// Look at no more than this many families of a rule; if more are due, at slices of them
    #[arg(long, value_name = "COUNT", default_value_t = Plan::SAMPLE, value_parser = clap::value_parser!(i64).range(10..))]
    pub sample: i64,

    /// Cancel a query after this time, and continue without its result
    #[arg(long, value_name = "DURATION", default_value = Plan::TIMEOUT)]
    pub timeout: String,
}

impl Plan {
    const COUNT: i64 = 1_000_000;
    const SAMPLE: i64 = 5_000;
    const TIMEOUT: &'static str = "60s";

    /// All options at their defaults.
    pub fn by_default(on: OnDatabase) -> Plan {
        Plan {
            with: WithOutput {
                on,
                output: Output::Text,
            },
            rule: None,
            count: Plan::COUNT,
            sample: Plan::SAMPLE,
            timeout: Plan::TIMEOUT.to_owned(),
        }
    }
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Which families
    #[command(flatten)]
    pub selection: Selection,

    /// Execute the real batches, then roll each one back
    #[arg(long)]
    pub dry_run: bool,

    /// Behave like a run of the scheduler: obey windows, back-off and suspension, and rest between batches (`scheduled_nice`)
    #[arg(long)]
    pub scheduled: bool,

    /// Which worker this is (from 1), if the spec has several
    #[arg(long, value_name = "NUMBER")]
    pub worker: Option<u32>,

    /// Stop after this time, e.g. 10m
    #[arg(long, value_name = "DURATION")]
    pub time_budget: Option<String>,

    /// Skip the preview that computes the total
    #[arg(long)]
    pub no_estimate: bool,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub struct Status {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Refresh every so many seconds (5, if only --watch is given) until interrupted; as JSON, one document per line
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5", value_parser = clap::value_parser!(u64).range(1..))]
    pub watch: Option<u64>,
}

/// Arguments of `history`.
#[derive(Debug, Args)]
pub struct History {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// How many runs to show, newest first
    #[arg(long, default_value_t = 20)]
    pub limit: u32,
}

/// Arguments of `purge`.
#[derive(Debug, Args)]
pub struct Purge {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Key of a root; may be given many times
    #[arg(long = "key", required = true, value_name = "KEY")]
    pub keys: Vec<String>,

    /// The rule, if the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// Delete below the minimum, too, without an end time, in spite of a disabled policy and of `keep`; the run history shows it
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `stamp`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["to", "calculated", "clear"])))]
#[command(group(ArgGroup::new("which").required(true).args(["keys", "missing", "all"])))]
pub struct Stamp {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Set this instant, e.g. 2027-01-01T00:00:00Z
    #[arg(long, value_name = "INSTANT")]
    pub to: Option<String>,

    /// Calculate from the end (the default) or the start of the root, with the time to live of its definition
    #[arg(long, value_enum, value_name = "BASE", num_args = 0..=1, require_equals = true, default_missing_value = "end")]
    pub calculated: Option<Base>,

    /// Clear the removal time: rows without one are kept
    #[arg(long)]
    pub clear: bool,

    /// Key of an instance; may be given many times
    #[arg(long = "key", value_name = "KEY")]
    pub keys: Vec<String>,

    /// The instances without a removal time
    #[arg(long)]
    pub missing: bool,

    /// All instances
    #[arg(long)]
    pub all: bool,

    /// Time to live if the definition has none, e.g. 30d; without it, those are left unchanged
    #[arg(long, value_name = "DURATION", requires = "calculated")]
    pub default: Option<String>,

    /// Only the instances' own rows, not their whole families
    #[arg(long)]
    pub own_rows: bool,

    /// The rule, if the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// Instead of the rule's families, the rows that the spec lists under this name, e.g. batches
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,

    /// Families in one transaction
    #[arg(long, value_name = "COUNT")]
    pub chunk: Option<u32>,

    /// Stop after this time, e.g. 10m
    #[arg(long, value_name = "DURATION")]
    pub time_budget: Option<String>,

    /// Execute the real batches, then roll each one back
    #[arg(long)]
    pub dry_run: bool,
}

/// What a calculated removal time counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Base {
    /// The end of the root
    End,
    /// The start of the root
    Start,
}

/// Arguments of `pause`.
#[derive(Debug, Args)]
pub struct Pause {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Only this rule
    #[arg(long)]
    pub rule: Option<String>,

    /// The reason, for whoever reads this later
    #[arg(long)]
    pub reason: Option<String>,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct Resume {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Only this rule, if it was paused on its own
    #[arg(long)]
    pub rule: Option<String>,
}
