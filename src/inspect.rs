//! `inspect`: a first draft of a spec, from what a database shows.
//!
//! Pure functions: the catalog and what the rows of a sample say come in, a draft goes out. [`samples`] has the statements,
//! and the command asks them.

pub mod draft;
pub mod edges;
pub mod ends;
pub mod family;
pub mod names;
mod rule;
pub mod samples;
pub(crate) mod words;
