//! What `preview` answers.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::fields::{Pairs, nullable};
use super::run::Figures;

/// What a run would delete now.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Preview {
    /// Name of the spec.
    pub spec: String,
    /// The instant at which it looked.
    #[schemars(extend("format" = "date-time"))]
    pub as_of: String,
    /// Whether a run would be refused as paused.
    pub paused: bool,
    /// Whether runs may delete on this server.
    pub armed: bool,
    /// Why not; null if they may.
    #[serde(default)]
    pub not_armed: Option<String>,
    /// By rule.
    pub rules: Vec<PreviewRule>,
    /// The rules that each count a row which is deleted only once; only if several rules delete rows of one table.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Pairs::is_empty")]
    pub counted_by_several: Pairs<Vec<String>>,
}

/// What one rule would delete, and the fields that `report` of the spec asks for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = true))]
pub struct PreviewRule {
    /// What would be deleted, and what is kept.
    #[serde(flatten)]
    pub figures: Figures,
    /// Name of the root table.
    pub root: String,
    /// When the oldest family to be deleted ended, by the application's clock.
    #[serde(deserialize_with = "nullable")]
    pub oldest_end_time: Option<String>,
    /// The first keys that would be deleted.
    #[serde(deserialize_with = "nullable")]
    pub sample_roots: Option<Vec<Value>>,
    /// Families that would be due with a policy; only if scopes must opt in.
    #[serde(default)]
    #[schemars(skip_serializing_if = "Option::is_none")]
    pub without_policy: Option<i64>,
    /// How many families one run takes at most.
    pub run_families: i64,
    /// Whether there are more.
    pub limited: bool,
    /// How long it would take, estimated from the last manual runs, or else from scheduled ones with their rests, in seconds; NULL before
    /// the first.
    #[serde(deserialize_with = "nullable")]
    pub estimated_seconds: Option<f64>,
}
