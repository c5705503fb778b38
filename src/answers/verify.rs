//! What `verify` answers.

use schemars::JsonSchema;
use serde::Deserialize;

use super::fields::nullable;

/// What was checked, and what was found.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Verification {
    /// Whether nothing is violated.
    pub clean: bool,
    /// Every check.
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Check {
    /// Its name; one check can look at many objects.
    pub check: String,
    /// What was looked at.
    #[serde(deserialize_with = "nullable")]
    pub object: Option<String>,
    /// `ok`, `notice`, `warning` or `violation`.
    pub severity: String,
    /// How many objects it is about.
    #[serde(deserialize_with = "nullable")]
    pub count: Option<i64>,
    /// What was found.
    #[serde(deserialize_with = "nullable")]
    pub detail: Option<String>,
}
