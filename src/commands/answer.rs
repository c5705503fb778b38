//! How a command ends, and in which form it answers.

use serde::Serialize;

use crate::cli::Output;
use crate::ui::Ui;

/// How a command ended that could be done; what could not be done is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done and clean.
    Clean,
    /// Done, but something was found.
    Found,
    /// Of many things some could not be done; the answer says which.
    Failed,
}

impl Exit {
    /// Found, where something asks for a look.
    pub(super) fn found(found: bool) -> Exit {
        if found { Exit::Found } else { Exit::Clean }
    }
}

/// Shows an answer in the form that was asked for; `text` tells it to people.
pub(super) fn show(
    ui: &Ui,
    output: Output,
    answer: &impl Serialize,
    text: impl FnOnce() -> String,
) {
    match output {
        Output::Json => ui.json(answer),
        Output::Text => ui.data(&text()),
    }
}

/// The same for an action that people see on stderr alone.
pub(super) fn tell(ui: &Ui, output: Output, answer: &impl Serialize, text: &str) {
    if output == Output::Json {
        ui.json(answer);
    }
    ui.note(text);
}
