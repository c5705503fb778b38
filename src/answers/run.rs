//! What `run`, `purge` and `stamp` answer.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

use super::fields::{Pairs, nullable};

/// What a run waits for that cannot have what it must lock.
const LOCKS: &str = "locks of other sessions";

/// What such a call returns: a run, or why there is none.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(untagged)]
pub enum RunAnswer {
    /// No run was begun.
    Refused(NoRun),
    /// A run of the ledger.
    Run(Box<Run>),
}

/// Why no run was begun.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct NoRun {
    /// Null: it has no number.
    #[serde(default)]
    pub run: Option<i64>,
    /// `refused`.
    pub status: String,
    /// Why.
    pub reason: String,
}

/// A run of the ledger.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Run {
    /// Its number.
    pub run: i64,
    /// How it ended: `done`, `stopped`, `failed`.
    pub status: String,
    /// Why it ended.
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<String>,
    /// Whether everything was rolled back.
    pub dry_run: bool,
    /// What began it: `MANUAL`, `SCHEDULED`, `PURGE`, `STAMP`.
    pub trigger: String,
    /// Whether it was told to delete below the minimum, and what a disabled policy or `keep` keeps; only for such a `purge`.
    #[serde(default)]
    #[schemars(skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// The instant that its cutoffs are counted from.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub as_of: String,
    /// When it began.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// When it ended.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub finished_at: Option<String>,
    /// How long it took, in milliseconds; NULL while it is in progress.
    #[serde(deserialize_with = "nullable")]
    pub duration_ms: Option<f64>,
    /// Archived rows that were deleted because they were old enough; only if the spec archives.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub archive_pruned: Option<i64>,
    /// What it did by rule; NULL or empty if it reached none.
    #[serde(deserialize_with = "nullable")]
    pub rules: Option<Vec<RunRule>>,
    /// Named keys that were kept, with the reason; only for `purge` and `stamp`.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Pairs::is_empty")]
    pub refused: Pairs<String>,
    /// Of those, the ones kept because of another family; only for `purge`.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Pairs::is_empty")]
    pub refused_with: Pairs<Keeper>,
    /// The named keys that went in one transaction, after the others, because their families share rows or refer to each other's;
    /// only for `purge`, and only if there are several.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
    /// What the rule keeps whatever the retention is; only for `purge`, and only if it refused a key as `RETENTION_NOT_REACHED`.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Minimum>,
}

/// The minimum of a rule.
#[derive(Clone, Debug, Deserialize, PartialEq, JsonSchema)]
pub struct Minimum {
    /// The minimum retention, in seconds.
    pub seconds: i64,
    /// The safety lag, which is added to it, in seconds.
    pub safety_lag_seconds: i64,
    /// Only what ended before this instant was old enough.
    #[schemars(extend("format" = "date-time"))]
    pub before: String,
}

/// The family because of which a named one is kept.
#[derive(Clone, Debug, Deserialize, PartialEq, JsonSchema)]
pub struct Keeper {
    /// Key of its root.
    pub key: String,
    /// Why it is kept; `NOT_NAMED`: only because it was not named as well.
    pub reason: String,
}

/// What a run did by one rule, and the fields that `report` of the spec asks for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub struct RunRule {
    /// What was deleted, or set, and what was kept.
    #[serde(flatten)]
    pub figures: Figures,
    /// What the rule's stamp set besides its families; only for stamps, and only if the spec has such rows.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// How often a batch was retried.
    pub retries: i64,
    /// Families that failed even on their own.
    pub failures: Vec<Failed>,
    /// From its first batch to the end of its last one, in milliseconds; missing from earlier versions.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub work_ms: Option<f64>,
}

/// What a rule deletes and keeps: the same in the documents of runs and previews.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Figures {
    /// Name of the rule.
    pub rule: String,
    /// Families, or single rows.
    pub families: i64,
    /// Rows of all tables; of partitions, as many as the rule counts or estimates.
    pub rows: i64,
    /// Transactions.
    pub batches: i64,
    /// Rows by table, in the order of deletion; NULL if the run did not reach the rule.
    #[serde(deserialize_with = "nullable")]
    pub tables: Option<Pairs<i64>>,
    /// Why rows are deleted, for rules of single rows; rules of families have none.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<Pass>,
    /// Families that are kept, for any reason.
    pub skipped_families: i64,
    /// Families that are kept, by reason. `UNDATED_MEMBER` is counted up to 100,000: then there are at least so many.
    pub skipped: Pairs<i64>,
    /// The first keys of these, by reason.
    pub skipped_samples: Pairs<Vec<Value>>,
    /// The partitions that were made in advance, or would be; only of rules with `ahead`.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<String>,
    /// What could not be made, a partition or those of a table, and why; only of rules with `ahead`.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Pairs::is_empty")]
    pub not_made: Pairs<String>,
}

/// Rows that are deleted for one reason.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Pass {
    /// Its name.
    pub pass: String,
    /// How many.
    pub rows: i64,
    /// When the oldest was due, by the application's clock; only in previews.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub oldest_end_time: Option<String>,
    /// The first keys.
    pub sample_keys: Vec<Value>,
}

/// A family that could not be deleted.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Failed {
    /// Key of its root.
    pub key: String,
    /// The server's error code.
    pub sqlstate: String,
    /// The server's error message.
    pub message: String,
}

impl RunAnswer {
    /// Whether it needs attention: refused, failed, it only waited, or some families failed or were refused.
    pub fn is_found(&self) -> bool {
        match self {
            // A scheduled run that only waits for its time is as it should be.
            RunAnswer::Refused(NoRun { reason, .. }) => !["no window is open", "nothing left"]
                .iter()
                .any(|start| reason.starts_with(start)),
            RunAnswer::Run(run) => {
                !["done", "stopped"].contains(&run.status.as_str())
                    || run.only_waited().is_some()
                    || run.rules().iter().any(|rule| !rule.failures.is_empty())
                    || !run.refused.0.is_empty()
            }
        }
    }
}

impl Run {
    /// What it did, rule by rule.
    pub fn rules(&self) -> &[RunRule] {
        self.rules.as_deref().unwrap_or_default()
    }

    /// What it waited for until it ended, where it did not come to a batch of a rule and deleted nothing. A worker that waits for others
    /// does as it should.
    pub fn only_waited(&self) -> Option<&str> {
        let rules = self.rules();
        let is_run = !["PURGE", "STAMP"].contains(&self.trigger.as_str());
        if !is_run || self.status != "stopped" || rules.iter().any(|rule| rule.figures.rows > 0) {
            return None;
        }
        let mut without = rules.iter().filter(|rule| rule.figures.batches == 0);
        let reason = self.reason.as_deref().unwrap_or_default();
        match reason.split_once(" while waiting for ") {
            Some((_, what)) if what.starts_with("worker ") => None,
            // That rows are out of their table may follow.
            Some((_, what)) => without
                .next()
                .and_then(|_| what.split("; rows of partition ").next()),
            None => without.find(|rule| rule.retries > 0).map(|_| LOCKS),
        }
    }

    /// Whether it set removal times, and deleted nothing.
    pub fn is_stamp(&self) -> bool {
        self.trigger == "STAMP"
    }
}

impl<'de> Deserialize<'de> for RunAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RunAnswer, D::Error> {
        let document = Value::deserialize(deserializer)?;
        let read = if document["status"] == "refused" {
            NoRun::deserialize(document).map(RunAnswer::Refused)
        } else {
            Run::deserialize(document).map(|run| RunAnswer::Run(Box::new(run)))
        };
        read.map_err(D::Error::custom)
    }
}
