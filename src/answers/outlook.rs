//! What `outlook` answers: how much is due, whether or not it may be deleted.

use serde::Deserialize;

use super::fields::nullable;

/// How much is due.
#[derive(Clone, Debug, Deserialize)]
pub struct Outlook {
    /// The instant at which it looked.
    pub as_of: String,
    /// By rule.
    pub rules: Vec<OutlookRule>,
}

/// What is due by a rule.
#[derive(Clone, Debug, Deserialize)]
pub struct OutlookRule {
    /// Families, counted up to a limit.
    pub families: f64,
    /// Whether these are all.
    pub complete: bool,
    /// Parts of about the same size, the oldest first; a rule of single rows has none.
    pub parts: Vec<OutlookPart>,
    /// How many more become due within the requested time; NULL if unknown.
    #[serde(deserialize_with = "nullable")]
    pub ahead: Option<f64>,
}

/// A part of what is due.
#[derive(Clone, Debug, Deserialize)]
pub struct OutlookPart {
    /// When it begins, by the application's clock.
    #[serde(deserialize_with = "nullable")]
    pub from: Option<String>,
    /// Families in it.
    pub families: f64,
}
