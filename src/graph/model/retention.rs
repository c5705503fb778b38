//! How long something is kept, and what says so.

use crate::column::Column;

/// How long ended families are kept. All durations are in seconds; a day is 86,400 s.
#[derive(Clone, Debug)]
pub struct Retention {
    /// Retention where neither a policy nor the source says otherwise; none: such families are kept forever.
    pub default: Option<i64>,
    /// No policy, option or run can go under this.
    pub minimum: i64,
    /// Added to every retention.
    pub safety_lag: i64,
    /// Column of the root table by which policies are set, e.g. the project.
    pub per: Option<Column>,
    /// Only scopes with an enabled policy row are cleaned.
    pub opt_in: bool,
    /// What says how long a scope without a policy is kept.
    pub source: Option<Source>,
    /// Whether 86,400 s are a day of the calendar in the spec's zone: to the same time of the clock.
    pub calendar: bool,
}

/// What says how long a scope is kept.
#[derive(Clone, Debug)]
pub enum Source {
    /// The row of a table.
    Definition(Definition),
    /// The spec, for some scopes: each as its column writes it, with the seconds.
    Values(Vec<(String, i64)>),
}

/// A table whose rows say how long is kept what names them.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Name of the table; it need not be managed.
    pub table: String,
    /// The column that the rule's scopes name.
    pub key: Column,
    /// The column with the retention, a whole number.
    pub column: String,
    /// Seconds that one of it means.
    pub unit: i64,
}

impl Retention {
    /// The table that says how long a scope is kept, if one does.
    pub fn definition(&self) -> Option<&Definition> {
        match &self.source {
            Some(Source::Definition(definition)) => Some(definition),
            Some(Source::Values(_)) | None => None,
        }
    }

    /// Whether only those scopes are cleaned that a policy or the source lists.
    pub fn listed(&self) -> bool {
        self.opt_in || self.default.is_none()
    }
}
