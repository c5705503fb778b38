//! The documents of an installation as text for people. Pure functions.

mod drift;
mod findings;
mod fleet;
mod history;
mod list;
mod plan;
mod run;
mod status;
mod verify;
mod words;

pub use drift::drift;
pub use findings::summary;
pub use fleet::{fleet, fleet_says, only_waited};
pub use history::history;
pub use list::{
    archived, artifacts, candidates, changes, holds, kept_for, policies, replicas, restored,
    settings, windows,
};
pub use plan::{done, log, notes, plan, seconds, size};
pub use run::{because, preview, run, several};
pub use status::status;
pub use verify::verify;
pub use words::{all_kept, instant, kept, plain, though_armed};
