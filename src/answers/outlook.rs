//! What `outlook` answers: how much is due, whether or not it may go.

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

/// What of a rule is due.
#[derive(Clone, Debug, Deserialize)]
pub struct OutlookRule {
    /// Families, counted up to a limit.
    pub families: f64,
    /// Whether these are all.
    pub complete: bool,
    /// Parts of about the same size, the oldest first; a rule of single rows has none.
    pub parts: Vec<OutlookPart>,
    /// How many more become due within the time that was asked for; NULL where nobody knows.
    #[serde(deserialize_with = "nullable")]
    pub ahead: Option<f64>,
}

/// A part of what is due.
#[derive(Clone, Debug, Deserialize)]
pub struct OutlookPart {
    /// Where it begins, by the clock of the application.
    #[serde(deserialize_with = "nullable")]
    pub from: Option<String>,
    /// Families in it.
    pub families: f64,
}
