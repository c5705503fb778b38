//! Past runs.

use schemars::JsonSchema;
use serde::Deserialize;

use super::fields::nullable;

/// A run of the ledger, in one line.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct PastRun {
    /// Its number.
    pub run_id: i64,
    /// What began it: `MANUAL`, `SCHEDULED`, `PURGE`, `STAMP`.
    pub trigger: String,
    /// Whether everything was rolled back.
    pub dry_run: bool,
    /// Whether it was a purge that was told to delete below the minimum, and what a disabled policy or `keep` keeps; missing from earlier
    /// versions.
    #[serde(default)]
    pub forced: bool,
    /// How it ended: `running`, `done`, `stopped`, `failed`, `cancelled`, `crashed`.
    pub status: String,
    /// Why it ended.
    #[serde(deserialize_with = "nullable")]
    pub reason: Option<String>,
    /// Which version of windrow had installed what ran; NULL if unknown.
    #[serde(default)]
    pub version: Option<String>,
    /// Who began it.
    pub started_by: String,
    /// When it began.
    #[schemars(extend("format" = "date-time"))]
    pub started_at: String,
    /// Families.
    pub families: i64,
    /// Transactions.
    pub batches: i64,
    /// How long it took; NULL while it is in progress.
    #[serde(deserialize_with = "nullable")]
    pub seconds: Option<f64>,
    /// Rows that it deleted.
    pub deleted_rows: i64,
    /// Rows whose removal time it set.
    pub changed_rows: i64,
}

impl PastRun {
    /// Rows that it deleted or, if it is a stamp, set.
    pub fn rows(&self) -> i64 {
        self.deleted_rows + self.changed_rows
    }
}
