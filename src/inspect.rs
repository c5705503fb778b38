//! `inspect`: what a database says of a spec that nobody has written yet.
//!
//! Pure functions: the catalog and what the rows of a sample say come in, a draft goes out. [`samples`] has the statements,
//! and the command asks them.

pub mod draft;
pub mod ends;
pub mod family;
pub mod names;
mod rule;
pub mod samples;
pub(crate) mod words;
