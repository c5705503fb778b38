//! What the routines of the archive answer.

use schemars::JsonSchema;
use serde::Deserialize;

use super::fields::{Pairs, nullable};

/// Which runs have archived rows, or had.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Archived {
    /// Rows of all these runs.
    pub rows: i64,
    /// Whether nothing was dropped yet; only for `archive drop`.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// Run by run.
    pub runs: Vec<ArchivedRun>,
}

/// The archived rows of a run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ArchivedRun {
    /// Number of the run.
    pub run: i64,
    /// What began it; NULL if the ledger no longer has it.
    #[serde(default)]
    pub trigger: Option<String>,
    /// How it ended.
    #[serde(default)]
    pub status: Option<String>,
    /// When it began.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub started_at: Option<String>,
    /// When its last row was archived.
    #[schemars(extend("format" = "date-time"))]
    #[serde(deserialize_with = "nullable")]
    pub archived_at: Option<String>,
    /// Who began it; NULL if the ledger no longer has it.
    #[serde(deserialize_with = "nullable")]
    pub started_by: Option<String>,
    /// The rules that deleted.
    pub rules: Vec<String>,
    /// Its rows.
    pub rows: i64,
    /// The same by table.
    #[serde(deserialize_with = "nullable")]
    pub tables: Option<Pairs<i64>>,
    /// The partitions of it that are kept; NULL if there are none.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<Vec<ArchivedPartition>>,
    /// Rows that were restored.
    #[serde(deserialize_with = "nullable")]
    pub restored: Option<i64>,
    /// Rows that were dropped.
    #[serde(deserialize_with = "nullable")]
    pub dropped: Option<i64>,
}

/// A partition that is kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ArchivedPartition {
    /// The rule that archived it.
    pub rule: String,
    /// The name by which it is restored: its own, or that of the partition of the root table that went with it.
    pub partition: String,
    /// The table that it was of.
    pub table: String,
    /// Its lower bound, inclusive.
    pub from: String,
    /// Its upper bound, exclusive.
    pub to: String,
    /// Its rows.
    pub rows: i64,
    /// Whether these were counted; else the server estimated them.
    pub counted: bool,
    /// Its size with indexes.
    pub bytes: i64,
    /// The table that it is now, with its schema or database.
    pub archive: String,
}

/// What `archive_restore` restored.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Restored {
    /// The run that deleted the rows.
    #[serde(default)]
    pub run: i64,
    /// Rows.
    pub rows: i64,
    /// The same by table.
    #[serde(deserialize_with = "nullable")]
    pub tables: Option<Pairs<i64>>,
    /// Holds that were placed, so that no run deletes the rows again.
    pub holds: i64,
    /// Rows of no family; these cannot be held.
    pub not_held: i64,
    /// Tables from which the run deleted rows without archiving them: these rows are lost.
    pub not_archived: Vec<String>,
    /// Of partitions on PostgreSQL: the statements that were left out, since the role or the table that they name is gone.
    #[serde(default)]
    pub not_restored: Vec<String>,
}
