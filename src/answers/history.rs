//! Past runs.

use serde::Deserialize;

use super::fields::nullable;

/// A run of the ledger, in one line.
#[derive(Clone, Debug, Deserialize)]
pub struct PastRun {
    /// How long it took; NULL while it is under way.
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
