//! Limits and windows as they are in force.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::fields::nullable;

/// A limit of a rule.
#[derive(Clone, Debug, Deserialize)]
pub struct Setting {
    /// The rule.
    pub rule: String,
    /// Its name.
    pub name: String,
    /// What is in force, in `unit`.
    pub value: i64,
    /// What it counts; empty for a mere number.
    #[serde(deserialize_with = "nullable")]
    pub unit: Option<String>,
    /// What the spec says.
    pub spec_value: i64,
    /// What it may be, in words.
    pub takes: String,
    /// When it was changed last; NULL where it is the spec's.
    #[serde(deserialize_with = "nullable")]
    pub changed_at: Option<String>,
    /// By whom.
    #[serde(deserialize_with = "nullable")]
    pub changed_by: Option<String>,
}

/// When scheduled runs may work.
#[derive(Clone, Debug, Deserialize)]
pub struct Window {
    /// As it was written.
    pub written: String,
    /// The days on which it begins: numbers from 1, which is Monday, to 7.
    pub days: String,
    /// The minute of the day at which it begins, inclusive.
    #[serde(deserialize_with = "minute")]
    pub begins: i64,
    /// The minute of the day at which it ends, exclusive; on the next day, unless it is later.
    #[serde(deserialize_with = "minute")]
    pub ends: i64,
    /// The zone of that clock.
    pub zone: String,
}

/// Reads a time of the clock, `HH:MM`, perhaps with seconds.
fn minute<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let text = String::deserialize(deserializer)?;
    let mut parts = text.split(':').map(|part| part.parse::<i64>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(hours), Some(minutes)) => Ok(hours * 60 + minutes),
        _ => Err(D::Error::custom(format!(
            "`{text}` is no time of the clock"
        ))),
    }
}
