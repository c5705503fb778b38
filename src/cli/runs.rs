//! Arguments of the commands that foretell, call and stop runs.

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

    /// Another retention than the policies say, e.g. 45d; never under the minimum
    #[arg(long)]
    pub retention: Option<String>,

    /// Judge as if it were this instant, e.g. 2026-11-01T00:00:00Z (UTC without a zone)
    #[arg(long, value_name = "INSTANT")]
    pub as_of: Option<String>,

    /// At most this many families
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

    /// This rule only
    #[arg(long, value_name = "RULE")]
    pub rule: Option<String>,

    /// Up to how many families of a rule to count
    #[arg(long, value_name = "COUNT", default_value_t = Plan::COUNT, value_parser = clap::value_parser!(i64).range(1..))]
    pub count: i64,

    /// Up to how many families of a rule to look at; where more are due, slices of them
    #[arg(long, value_name = "COUNT", default_value_t = Plan::SAMPLE, value_parser = clap::value_parser!(i64).range(10..))]
    pub sample: i64,

    /// Stop a question to the database after this time, and do without its answer
    #[arg(long, value_name = "DURATION", default_value = Plan::TIMEOUT)]
    pub timeout: String,
}

impl Plan {
    const COUNT: i64 = 1_000_000;
    const SAMPLE: i64 = 5_000;
    const TIMEOUT: &'static str = "60s";

    /// What nobody has said anything of.
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

    /// Do the real batches and roll them back
    #[arg(long)]
    pub dry_run: bool,

    /// As a scheduler starts it: in its windows, with back-off, and not once it is suspended
    #[arg(long)]
    pub scheduled: bool,

    /// Which worker this is, where the spec has several: from 1
    #[arg(long, value_name = "NUMBER")]
    pub worker: Option<u32>,

    /// Stop after this time, e.g. 10m
    #[arg(long, value_name = "DURATION")]
    pub time_budget: Option<String>,

    /// Do not call preview first to know the total
    #[arg(long)]
    pub no_estimate: bool,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub struct Status {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// Show it again and again, every so many seconds, until it is interrupted; as JSON, a document a line
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5", value_parser = clap::value_parser!(u64).range(1..))]
    pub watch: Option<u64>,
}

/// Arguments of `history`.
#[derive(Debug, Args)]
pub struct History {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// How many runs, the newest first
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

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,
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

    /// Count from the end or the start of the root, by the time to live of its definition
    #[arg(long, value_enum, value_name = "BASE", num_args = 0..=1, require_equals = true, default_missing_value = "end")]
    pub calculated: Option<Base>,

    /// Set no removal time: what has none is kept
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

    /// Time to live where the definition has none, e.g. 30d; without it, those stay as they are
    #[arg(long, value_name = "DURATION", requires = "calculated")]
    pub default: Option<String>,

    /// Only the rows of the instances themselves, not of their whole families
    #[arg(long)]
    pub own_rows: bool,

    /// The rule, where the spec has more than one
    #[arg(long)]
    pub rule: Option<String>,

    /// Not the rule's families, but what the spec calls so, e.g. batches
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,

    /// Families in one transaction
    #[arg(long, value_name = "COUNT")]
    pub chunk: Option<u32>,

    /// Stop after this time, e.g. 10m
    #[arg(long, value_name = "DURATION")]
    pub time_budget: Option<String>,

    /// Do the real batches and roll them back
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

    /// This rule alone
    #[arg(long)]
    pub rule: Option<String>,

    /// Why, for those who come after
    #[arg(long)]
    pub reason: Option<String>,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct Resume {
    /// Which spec, which database, which form
    #[command(flatten)]
    pub with: WithOutput,

    /// This rule, which was paused alone
    #[arg(long)]
    pub rule: Option<String>,
}
