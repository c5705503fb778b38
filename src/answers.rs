//! What an installation answers, as types: of each document the fields that windrow looks at.
//!
//! A field that is missing is an error that names the document and the field. What may be NULL is an `Option` and has to
//! be there nevertheless; what only some specs or servers have says so.

mod archive;
mod fields;
mod history;
mod outlook;
mod preview;
mod run;
mod setting;
mod status;
mod verify;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;

pub use archive::{Archived, ArchivedRun, Held, Restored};
pub use fields::Pairs;
pub use history::PastRun;
pub use outlook::{Outlook, OutlookPart, OutlookRule};
pub use preview::{Preview, PreviewRule};
pub use run::{Failed, Figures, Pass, Run, RunAnswer, RunRule};
pub use setting::{Setting, Window};
pub use status::{Due, Running, Status, Undeletable};
pub use verify::{Check, Verification};

/// Reads a document; `what` answered it, as a person calls it.
///
/// # Errors
///
/// Fails where a field is missing or of another type: the installation is of another version.
pub fn read<T: DeserializeOwned>(what: &str, document: &Value) -> Result<T, Failure> {
    T::deserialize(document).map_err(|error| {
        Failure::new(format!("cannot read what `{what}` answered"))
            .caused_by(error)
            .hint("the installation may be of another version than this windrow: run `windrow install` again")
    })
}

#[cfg(test)]
mod tests;
