//! The documents of an installation as text for people. Pure functions.

mod drift;
mod history;
mod list;
mod plan;
mod run;
mod status;
mod verify;
mod words;

pub use drift::drift;
pub use history::history;
pub use list::{
    archived, artifacts, candidates, changes, holds, policies, restored, settings, windows,
};
pub use plan::plan;
pub use run::{preview, run};
pub use status::status;
pub use verify::verify;
