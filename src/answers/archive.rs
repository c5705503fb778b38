//! What the routines of the archive, and those of holds, answer.

use serde::Deserialize;

use super::fields::{Pairs, nullable};

/// Which runs have archived rows, or had.
#[derive(Clone, Debug, Deserialize)]
pub struct Archived {
    /// Rows of all these runs.
    pub rows: i64,
    /// Run by run.
    pub runs: Vec<ArchivedRun>,
}

/// The archived rows of a run.
#[derive(Clone, Debug, Deserialize)]
pub struct ArchivedRun {
    /// Number of the run.
    pub run: i64,
    /// When its last row was archived.
    #[serde(deserialize_with = "nullable")]
    pub archived_at: Option<String>,
    /// Who began it; NULL where the ledger has forgotten it.
    #[serde(deserialize_with = "nullable")]
    pub started_by: Option<String>,
    /// The rules that deleted.
    pub rules: Vec<String>,
    /// Its rows.
    pub rows: i64,
    /// The same by table.
    #[serde(deserialize_with = "nullable")]
    pub tables: Option<Pairs<i64>>,
    /// Rows that were restored.
    #[serde(deserialize_with = "nullable")]
    pub restored: Option<i64>,
    /// Rows that were dropped.
    #[serde(deserialize_with = "nullable")]
    pub dropped: Option<i64>,
}

/// What `archive_restore` brought back.
#[derive(Clone, Debug, Deserialize)]
pub struct Restored {
    /// Rows.
    pub rows: i64,
    /// The same by table.
    #[serde(deserialize_with = "nullable")]
    pub tables: Option<Pairs<i64>>,
    /// Holds that were placed, so that no run deletes the rows again.
    pub holds: i64,
    /// Rows of no family, which cannot be held.
    pub not_held: i64,
    /// Tables of the rule without an archive, whose rows are gone.
    pub not_archived: Vec<String>,
}

/// What `set_hold` and `release_hold` answer.
#[derive(Clone, Debug, Deserialize)]
pub struct Held {
    /// The rule.
    pub rule: String,
    /// The key as the table has it.
    pub key: String,
    /// Whether no row has the key now; of `set_hold` alone.
    #[serde(default)]
    pub absent: bool,
}
