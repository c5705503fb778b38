//! How an installation does.

use serde::Deserialize;
use serde_json::Value;

use super::fields::nullable;

/// How an installation does.
#[derive(Clone, Debug, Deserialize)]
pub struct Status {
    /// The switches.
    pub control: Control,
    /// Rules that are paused.
    pub paused_rules: Vec<PausedRule>,
    /// Servers on which no scheduled run starts.
    pub refusals: Vec<Refusal>,
    /// What the latest runs mean for scheduled ones.
    pub scheduling: Scheduling,
    /// Policies that are enabled.
    pub policies: i64,
    /// Holds in force.
    pub holds: i64,
    /// Those of them without a row.
    pub absent_holds: i64,
    /// When scheduled runs may work, as written.
    pub windows: Vec<String>,
    /// Whether they may now.
    #[serde(deserialize_with = "nullable")]
    pub window_open: Option<bool>,
    /// Files that are still to be removed.
    pub artifacts_waiting: i64,
    /// Files that could not be.
    pub artifacts_given_up: i64,
    /// Runs under way, a line for each rule that they have come to.
    pub running: Vec<Running>,
    /// The last run that has ended.
    #[serde(deserialize_with = "nullable")]
    pub last_run: Option<LastRun>,
    /// What is due, by rule.
    pub rules: Vec<Due>,
    /// What is due and stays, by rule and reason.
    pub undeletable: Vec<Undeletable>,
}

/// The switches of an installation.
#[derive(Clone, Debug, Deserialize)]
pub struct Control {
    /// When it was installed last.
    pub installed_at: String,
    /// By whom.
    pub installed_by: String,
    /// Whether runs may delete.
    pub armed: bool,
    /// Since when.
    #[serde(deserialize_with = "nullable")]
    pub armed_at: Option<String>,
    /// Who said so.
    #[serde(deserialize_with = "nullable")]
    pub armed_by: Option<String>,
    /// Whether no run may start.
    pub paused: bool,
    /// Since when.
    #[serde(deserialize_with = "nullable")]
    pub paused_at: Option<String>,
    /// Who said so.
    #[serde(deserialize_with = "nullable")]
    pub paused_by: Option<String>,
    /// Why.
    #[serde(deserialize_with = "nullable")]
    pub paused_reason: Option<String>,
    /// What `install --force` overruled.
    #[serde(deserialize_with = "nullable")]
    pub forced_install: Option<ForcedInstall>,
}

/// An installation in spite of findings.
#[derive(Clone, Debug, Deserialize)]
pub struct ForcedInstall {
    /// When.
    pub at: String,
    /// By whom.
    pub by: String,
    /// The errors that were overruled.
    pub findings: Vec<Value>,
}

/// A rule that runs pass over.
#[derive(Clone, Debug, Deserialize)]
pub struct PausedRule {
    /// The rule.
    pub rule: String,
    /// Since when.
    pub paused_at: String,
    /// Who said so.
    pub paused_by: String,
    /// Why.
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<String>,
}

/// Why no scheduled run starts on a server.
#[derive(Clone, Debug, Deserialize)]
pub struct Refusal {
    /// The server.
    pub server: String,
    /// Since when.
    pub since: String,
    /// Why.
    pub reason: String,
}

/// What the latest runs mean for scheduled ones.
#[derive(Clone, Debug, Deserialize)]
pub struct Scheduling {
    /// Whether none starts any more.
    pub suspended: bool,
    /// How many failed in a row.
    pub failed_runs: i64,
    /// The error of the last of these.
    #[serde(deserialize_with = "nullable")]
    pub last_error: Option<String>,
}

/// A run under way, at one rule.
#[derive(Clone, Debug, Deserialize)]
pub struct Running {
    /// Its number.
    pub run_id: i64,
    /// The rule; NULL before the first, as all figures are.
    #[serde(deserialize_with = "nullable")]
    pub rule: Option<String>,
    /// Families so far.
    #[serde(deserialize_with = "nullable")]
    pub families: Option<i64>,
    /// Rows so far.
    #[serde(deserialize_with = "nullable")]
    pub deleted_rows: Option<i64>,
    /// Transactions so far.
    #[serde(deserialize_with = "nullable")]
    pub batches: Option<i64>,
    /// When it began.
    pub started_at: String,
    /// What it waits for before its next batch.
    #[serde(deserialize_with = "nullable")]
    pub waiting_for: Option<String>,
    /// Since when.
    #[serde(deserialize_with = "nullable")]
    pub waiting_since: Option<String>,
    /// Which of several workers it is.
    #[serde(deserialize_with = "nullable")]
    pub worker: Option<i64>,
    /// The other server of a cluster on which it runs; MySQL and MariaDB alone.
    #[serde(default)]
    pub server: Option<String>,
}

/// The last run that has ended.
#[derive(Clone, Debug, Deserialize)]
pub struct LastRun {
    /// Its number.
    pub run_id: i64,
    /// How it ended.
    pub status: String,
    /// Why.
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<String>,
    /// When.
    #[serde(deserialize_with = "nullable")]
    pub finished_at: Option<String>,
}

/// What of a rule is due, and how fast more becomes due and goes.
#[derive(Clone, Debug, Deserialize)]
pub struct Due {
    /// The rule.
    pub rule: String,
    /// Families, whether or not they may go.
    pub families: i64,
    /// About how many rows these have.
    #[serde(deserialize_with = "nullable")]
    pub rows: Option<f64>,
    /// Age of the oldest.
    #[serde(deserialize_with = "nullable")]
    pub oldest_age_seconds: Option<f64>,
    /// When all were counted; NULL: there are at least so many.
    #[serde(deserialize_with = "nullable")]
    pub counted_at: Option<String>,
    /// Families an hour that become due.
    #[serde(deserialize_with = "nullable")]
    pub due_per_hour: Option<f64>,
    /// Families an hour that go.
    #[serde(deserialize_with = "nullable")]
    pub deleted_per_hour: Option<f64>,
    /// The last run that looked at the rule.
    #[serde(deserialize_with = "nullable")]
    pub last_look: Option<i64>,
    /// How that ended.
    #[serde(deserialize_with = "nullable")]
    pub last_look_status: Option<String>,
    /// Whether that run rolled all back.
    #[serde(default)]
    pub last_look_dry_run: Option<bool>,
    /// Rows a second of the last runs; none before the first that took a while.
    #[serde(default)]
    pub rows_per_second: Option<f64>,
}

/// What is due and stays.
#[derive(Clone, Debug, Deserialize)]
pub struct Undeletable {
    /// The rule.
    pub rule: String,
    /// Why it stays.
    pub reason: String,
    /// Families.
    pub families: i64,
    /// The key of the first.
    #[serde(deserialize_with = "nullable")]
    pub sample_key: Option<String>,
    /// Its age.
    #[serde(deserialize_with = "nullable")]
    pub oldest_age_seconds: Option<f64>,
}
