//! What commands answer, as types: what they print as text is made of these, and so is the JSON Schema of `--output json`.
//!
//! What an installation answers is read into them and printed as it is. A field that windrow looks at and that is missing is an
//! error that names the document and the field; what may be NULL is an `Option` and has to be there nevertheless. Fields that it
//! only passes on have a default, since an installation of an earlier version may lack them.

mod archive;
mod decided;
mod deeds;
mod fields;
mod fleet;
mod heartbeat;
mod history;
mod outlook;
mod preview;
mod run;
mod schema;
mod setting;
mod specs;
mod status;
mod verify;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;

pub use archive::{Archived, ArchivedRun, Restored};
pub use decided::{Artifact, HeldFor, Hold, Holds, Policy};
pub use deeds::{
    AppliedFile, Armed, Deed, DemoStep, Demonstrated, Drained, DrainedFile, DroppedObject,
    Exported, ExportedTable, Installed, KeptIndex, Overlap, Paused, Uninstalled,
};
pub use fields::Pairs;
pub use fleet::{Fleet, FleetDatabase, FleetOutcome};
pub use heartbeat::{Heartbeat, Replica};
pub use history::PastRun;
pub use outlook::{Outlook, OutlookPart, OutlookRule};
pub use preview::{Preview, PreviewRule};
pub use run::{Failed, Figures, NoRun, Pass, Run, RunAnswer, RunRule};
pub use schema::{WITHOUT, definition, json_schema};
pub use setting::{Setting, SettingChange, SettingNow, Window, WindowsNow};
pub use specs::{
    Candidate, Candidates, Checked, Differences, Drafted, Drawn, Explained, FileChange, Fitted,
    Generated, GeneratedFile, MissingPart, Question, Reported,
};
pub use status::{Due, Running, Status, Undeletable};
pub use verify::{Check, Verification};

/// Reads a document; `what` says what returned it, for people.
///
/// # Errors
///
/// Fails if a field is missing or of another type: the installation is of another version.
pub fn read<T: DeserializeOwned>(what: &str, document: &Value) -> Result<T, Failure> {
    T::deserialize(document).map_err(|error| {
        Failure::new(format!("cannot read the answer of `{what}`"))
            .caused_by(error)
            .hint("the installation may come from another version of windrow: run `windrow install` again")
    })
}

#[cfg(test)]
mod tests;
