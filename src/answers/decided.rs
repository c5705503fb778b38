//! What people have decided: policies, holds, pauses; and the files that wait to be removed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::nullable;

/// How long a scope is kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Policy {
    /// The rule.
    pub rule: String,
    /// The scope.
    pub scope: String,
    /// Whether it is enabled; otherwise everything of the scope is kept.
    pub enabled: bool,
    /// How long its families are kept, if it is enabled; NULL: for ever, since the spec has no default any more.
    #[serde(deserialize_with = "nullable")]
    pub retention_seconds: Option<i64>,
    /// Whether this is the default of the spec, and follows it whenever another one is installed; missing from earlier versions, where
    /// it never was.
    #[serde(default)]
    pub follows_spec: bool,
    /// Whether files that deleted rows refer to are also removed.
    pub artifacts: bool,
    /// Why.
    #[serde(deserialize_with = "nullable")]
    pub note: Option<String>,
    /// Who changed it last.
    pub changed_by: String,
    /// When.
    #[schemars(extend("format" = "date-time"))]
    pub changed_at: String,
}

/// A family that is kept.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct Hold {
    /// The rule.
    pub rule: String,
    /// The key as the table has it.
    pub key: String,
    /// Why it must be kept.
    pub reason: String,
    /// When the hold ends; NULL: never.
    #[serde(deserialize_with = "nullable")]
    #[schemars(extend("format" = "date-time"))]
    pub until: Option<String>,
    /// Who placed it.
    pub placed_by: String,
    /// When.
    #[schemars(extend("format" = "date-time"))]
    pub placed_at: String,
    /// Whether no row had the key when it was placed.
    pub absent: bool,
    /// Whether it has ended, and so keeps nothing.
    #[serde(default)]
    pub expired: bool,
}

/// A hold that was placed or released, with its spec.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeldFor {
    /// Name of the spec.
    pub spec: String,
    /// The hold.
    #[serde(flatten)]
    pub hold: Hold,
}

/// What `hold set` and `hold release` did: for the rule of the spec, and for those of the other named specs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Holds {
    /// The holds.
    pub holds: Vec<HeldFor>,
}

/// A file outside the database that waits to be removed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Artifact {
    /// Its number.
    pub artifact_id: i64,
    /// The run that deleted the row which referred to it.
    pub run_id: i64,
    /// The rule.
    #[serde(default)]
    pub rule: String,
    /// The host, if the row has one.
    #[serde(deserialize_with = "nullable")]
    pub host: Option<String>,
    /// The path.
    pub path: String,
    /// When the row was deleted.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub recorded_at: String,
    /// How many attempts there were to remove it.
    pub attempts: i64,
    /// When it may be retried; `-infinity`: at once.
    #[serde(deserialize_with = "nullable")]
    pub next_attempt_at: Option<String>,
    /// The last error.
    #[serde(deserialize_with = "nullable")]
    pub last_error: Option<String>,
    /// Whether it is no longer tried.
    pub given_up: bool,
}
