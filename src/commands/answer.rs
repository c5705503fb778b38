//! How a command ends, and in which form it answers.

use serde_json::Value;

use crate::cli::Output;
use crate::ui::Ui;

/// How a command ended that could be done; what could not be done is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done and clean.
    Clean,
    /// Done, but something was found.
    Found,
}

/// Shows a document in the form that was asked for; `text` tells it to people.
pub(super) fn show(ui: &Ui, output: Output, document: &Value, text: impl FnOnce() -> String) {
    match output {
        Output::Json => ui.json(document),
        Output::Text => ui.data(&text()),
    }
}
