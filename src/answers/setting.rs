//! Limits and windows as they are in force.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::fields::nullable;

/// A limit of a rule.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its place in the list.
    #[serde(default)]
    pub position: i64,
    /// The rule.
    pub rule: String,
    /// Its name.
    pub name: String,
    /// What is in force, in `unit`.
    pub value: i64,
    /// Its unit; empty for a plain number.
    #[serde(deserialize_with = "nullable")]
    pub unit: Option<String>,
    /// The spec's value.
    pub spec_value: i64,
    /// The smallest value allowed.
    #[serde(default)]
    pub least_value: i64,
    /// The most.
    #[serde(default)]
    pub greatest_value: i64,
    /// The values allowed, in words.
    pub takes: String,
    /// When it was last changed; NULL if it is the spec's value.
    #[serde(deserialize_with = "nullable")]
    #[schemars(extend("format" = "date-time"))]
    pub changed_at: Option<String>,
    /// By whom.
    #[serde(deserialize_with = "nullable")]
    pub changed_by: Option<String>,
}

/// What `set_setting` returns.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct SettingNow {
    /// The rule.
    pub rule: String,
    /// Its name.
    pub name: String,
    /// What is in force now; NULL: the spec no longer has the rule.
    #[serde(deserialize_with = "nullable")]
    pub value: Option<i64>,
    /// What applies instead, of a setting of which the smallest of all rules does; null: this one. An installation of an earlier version
    /// does not say it.
    #[serde(default)]
    pub notice: Option<String>,
}

/// A change of a setting.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct SettingChange {
    /// Its place among all changes.
    #[serde(default)]
    pub log_id: i64,
    /// The rule.
    pub rule: String,
    /// The name of the setting.
    pub name: String,
    /// The value before; NULL: the spec's.
    #[serde(deserialize_with = "nullable")]
    pub old_value: Option<i64>,
    /// The value after; NULL: the spec's.
    #[serde(deserialize_with = "nullable")]
    pub new_value: Option<i64>,
    /// When.
    #[schemars(extend("format" = "date-time"))]
    pub changed_at: String,
    /// By whom.
    pub changed_by: String,
}

/// What `set_windows` returns.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct WindowsNow {
    /// When scheduled runs may work, as written.
    pub windows: Vec<String>,
}

/// When scheduled runs may work.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Window {
    /// Its place in the list.
    #[serde(default)]
    pub position: i64,
    /// As it was written.
    pub written: String,
    /// The days on which it begins: numbers from 1, which is Monday, to 7.
    pub days: String,
    /// The time of day at which it begins, inclusive: `HH:MM`, possibly with seconds.
    #[serde(deserialize_with = "minute")]
    #[schemars(with = "String")]
    pub begins: i64,
    /// The time of day at which it ends, exclusive; on the next day, unless it is later than the start.
    #[serde(deserialize_with = "minute")]
    #[schemars(with = "String")]
    pub ends: i64,
    /// The time zone.
    pub zone: String,
    /// When it was changed; NULL if it is the spec's.
    #[serde(default)]
    #[schemars(extend("format" = "date-time"))]
    pub changed_at: Option<String>,
    /// By whom.
    #[serde(default)]
    pub changed_by: Option<String>,
}

/// Reads a time of day, `HH:MM`, possibly with seconds.
fn minute<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let mut parts = text.split(':').map(|part| part.parse::<i64>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(hours), Some(minutes)) => Ok(hours * 60 + minutes),
        _ => Err(D::Error::custom(format!("`{text}` is not a time of day"))),
    }
}
