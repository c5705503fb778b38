//! The state of an installation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::fields::nullable;

/// The state of an installation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Status {
    /// Name of the spec.
    #[serde(default)]
    pub spec: String,
    /// The switches.
    pub control: Control,
    /// Rules that are paused.
    pub paused_rules: Vec<PausedRule>,
    /// Where it is armed: what is wrong with the schedule on this server: nothing starts runs, or not as the spec says; null if nothing
    /// is.
    #[serde(default)]
    pub not_scheduled: Option<String>,
    /// Servers on which no scheduled run starts.
    pub refusals: Vec<Refusal>,
    /// What the latest runs mean for scheduled ones.
    pub scheduling: Scheduling,
    /// Policies that are enabled.
    pub policies: i64,
    /// Holds in force.
    pub holds: i64,
    /// Of these, the ones without a row.
    pub absent_holds: i64,
    /// When scheduled runs may work, as written.
    pub windows: Vec<String>,
    /// Whether they may now.
    #[serde(deserialize_with = "nullable")]
    pub window_open: Option<bool>,
    /// Files that are still to be removed.
    pub artifacts_waiting: i64,
    /// Files that could not be removed.
    pub artifacts_given_up: i64,
    /// Runs in progress, one line for each rule that they have reached.
    pub running: Vec<Running>,
    /// The last run that ended.
    #[serde(deserialize_with = "nullable")]
    pub last_run: Option<LastRun>,
    /// What is due, by rule.
    pub rules: Vec<Due>,
    /// What is due but kept, by rule and reason.
    pub undeletable: Vec<Undeletable>,
    /// What monitoring reads: the view `metrics`.
    #[serde(default)]
    pub metrics: Vec<Metric>,
}

/// A figure of the view `metrics`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// What it is about, by name.
    pub labels: BTreeMap<String, String>,
    /// Its value; NULL if unknown.
    #[serde(deserialize_with = "nullable")]
    pub value: Option<f64>,
}

/// The switches of an installation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Control {
    /// When it was installed last.
    #[schemars(extend("format" = "date-time"))]
    pub installed_at: String,
    /// By whom.
    pub installed_by: String,
    /// By which version of windrow; NULL if the files were applied without it.
    #[serde(default)]
    pub version: Option<String>,
    /// Whether runs may delete on this server.
    pub armed: bool,
    /// Why not; null if they may. Of a cluster of MySQL or MariaDB, as the last scheduled run on this server found it.
    #[serde(default)]
    pub not_armed: Option<String>,
    /// Whether the server takes no writes, as a standby and most replicas do: its primary deletes.
    #[serde(default)]
    pub read_only: bool,
    /// Since when, there or on another server.
    #[serde(deserialize_with = "nullable")]
    #[schemars(extend("format" = "date-time"))]
    pub armed_at: Option<String>,
    /// By whom.
    #[serde(deserialize_with = "nullable")]
    pub armed_by: Option<String>,
    /// Whether no run may start.
    pub paused: bool,
    /// Since when.
    #[serde(deserialize_with = "nullable")]
    #[schemars(extend("format" = "date-time"))]
    pub paused_at: Option<String>,
    /// By whom.
    #[serde(deserialize_with = "nullable")]
    pub paused_by: Option<String>,
    /// Why.
    #[serde(deserialize_with = "nullable")]
    pub paused_reason: Option<String>,
    /// What `install --force` overruled.
    #[serde(deserialize_with = "nullable")]
    pub forced_install: Option<ForcedInstall>,
    /// The rules that existed when it was armed: no other rule deletes.
    #[serde(default)]
    pub armed_rules: Option<Vec<String>>,
    /// The server on which it was armed.
    #[serde(default)]
    pub server_identity: Option<String>,
    /// Orphans that existed then, by edge.
    #[serde(default)]
    pub orphans_at_arm: Option<BTreeMap<String, Option<i64>>>,
    /// True: the table has one row.
    #[serde(default)]
    pub only_row: bool,
}

/// An installation despite findings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ForcedInstall {
    /// When.
    #[schemars(extend("format" = "date-time"))]
    pub at: String,
    /// By whom.
    pub by: String,
    /// The errors that were overruled.
    pub findings: Vec<Value>,
}

/// A rule that runs skip.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct PausedRule {
    /// The rule.
    pub rule: String,
    /// Since when.
    #[schemars(extend("format" = "date-time"))]
    pub paused_at: String,
    /// By whom.
    pub paused_by: String,
    /// Why.
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<String>,
}

/// Why no scheduled run starts on a server.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Refusal {
    /// The server.
    pub server: String,
    /// Since when.
    #[schemars(extend("format" = "date-time"))]
    pub since: String,
    /// Why.
    pub reason: String,
    /// PostgreSQL: where an error before a run comes from, its DETAIL and CONTEXT, the first time.
    #[serde(default)]
    pub detail: Option<String>,
}

/// What the latest runs mean for scheduled ones.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Scheduling {
    /// Whether none starts any more.
    pub suspended: bool,
    /// How many failed in a row.
    pub failed_runs: i64,
    /// The error of the last of these.
    #[serde(deserialize_with = "nullable")]
    pub last_error: Option<String>,
    /// How many in a row found nothing to do.
    #[serde(default)]
    pub empty_runs: i64,
    /// Until when none starts after these (back-off).
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub idle_until: Option<String>,
}

/// A run in progress, at one rule.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
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
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// What it waits for before its next batch.
    #[serde(deserialize_with = "nullable")]
    pub waiting_for: Option<String>,
    /// Since when.
    #[serde(deserialize_with = "nullable")]
    #[schemars(extend("format" = "date-time"))]
    pub waiting_since: Option<String>,
    /// Which of several workers it is.
    #[serde(deserialize_with = "nullable")]
    pub worker: Option<i64>,
    /// What began it: `MANUAL`, `SCHEDULED`, `PURGE`, `STAMP`.
    #[serde(default)]
    pub trigger: String,
    /// The session that works.
    #[serde(default)]
    pub backend_pid: i64,
    /// Who began it.
    #[serde(default)]
    pub started_by: String,
    /// The other server of a cluster on which it runs; only on MySQL and MariaDB.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// The last run that ended.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
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
    #[schemars(extend("format" = "date-time"))]
    pub finished_at: Option<String>,
    /// What began it: `MANUAL`, `SCHEDULED`, `PURGE`, `STAMP`.
    #[serde(default)]
    pub trigger: String,
    /// Whether everything was rolled back.
    #[serde(default)]
    pub dry_run: bool,
    /// The options of its call.
    #[serde(default)]
    pub options: Value,
    /// The instant that its cutoffs are counted from.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub as_of: String,
    /// When it had to end; null or `infinity`: a purge has no time limit.
    #[serde(default)]
    pub deadline: Option<String>,
    /// What it was waiting for when it ended.
    #[serde(default)]
    pub waiting_for: Option<String>,
    /// Since when.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub waiting_since: Option<String>,
    /// The session that worked.
    #[serde(default)]
    pub backend_pid: i64,
    /// Who began it.
    #[serde(default)]
    pub started_by: String,
    /// When it began.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
}

/// What is due by a rule, and how fast more becomes due and is deleted.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Due {
    /// The rule.
    pub rule: String,
    /// Families, whether or not they may be deleted.
    pub families: i64,
    /// About how many rows these have.
    #[serde(deserialize_with = "nullable")]
    pub rows: Option<f64>,
    /// Age of the oldest.
    #[serde(deserialize_with = "nullable")]
    pub oldest_age_seconds: Option<f64>,
    /// When all were counted; NULL: there are at least this many.
    #[serde(deserialize_with = "nullable")]
    #[schemars(extend("format" = "date-time"))]
    pub counted_at: Option<String>,
    /// Families that become due per hour.
    #[serde(deserialize_with = "nullable")]
    pub due_per_hour: Option<f64>,
    /// Families deleted per hour.
    #[serde(deserialize_with = "nullable")]
    pub deleted_per_hour: Option<f64>,
    /// The last run that examined the rule.
    #[serde(deserialize_with = "nullable")]
    pub last_look: Option<i64>,
    /// How that ended.
    #[serde(deserialize_with = "nullable")]
    pub last_look_status: Option<String>,
    /// When that ended.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub last_look_at: Option<String>,
    /// Whether that run was a dry run.
    #[serde(default)]
    pub last_look_dry_run: Option<bool>,
    /// Whether that run saw everything of the rule that was due, however it went on with other rules.
    #[serde(default)]
    pub last_look_complete: Option<bool>,
    /// Rows per second of the last runs; none before the first that took long enough.
    #[serde(default)]
    pub rows_per_second: Option<f64>,
}

/// What is due but kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Undeletable {
    /// The rule.
    pub rule: String,
    /// Why it is kept.
    pub reason: String,
    /// Families.
    pub families: i64,
    /// The key of the first.
    #[serde(deserialize_with = "nullable")]
    pub sample_key: Option<String>,
    /// The run that saw it.
    #[serde(default)]
    pub run_id: i64,
    /// Its age.
    #[serde(deserialize_with = "nullable")]
    pub oldest_age_seconds: Option<f64>,
}
