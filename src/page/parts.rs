//! What the page is made of.

use std::fmt::Write as _;

use crate::answers::{Differences, Hold, Policy, Preview};
use crate::diagnostic::Located;
use crate::dialect::Dialect;
use crate::fit::Finding;
use crate::forecast::Report;
use crate::graph::Graph;
use crate::render::{Change, IndexStatement};

/// What the page is made of.
pub struct Page<'a> {
    /// What the spec means.
    pub graph: &'a Graph,
    /// The file of the spec.
    pub file: &'a str,
    /// The SHA-256 of the file.
    pub hash: &'a str,
    /// What was found in the spec.
    pub warnings: &'a [Located],
    /// What is generated, for each server.
    pub servers: &'a [Generated],
    /// What a database answered, if one was asked.
    pub reading: Option<&'a Reading>,
}

/// What is generated for a server.
pub struct Generated {
    /// The server.
    pub dialect: Dialect,
    /// The control schema.
    pub control: String,
    /// Where the application's tables are.
    pub home: String,
    /// The statements that change rows.
    pub changes: Vec<Change>,
    /// Those that make indexes.
    pub indexes: Vec<IndexStatement>,
}

/// What could be read, or why it could not, with what to do about it.
pub type Part<T> = Result<T, Missing>;

/// Why something is not on the page.
#[derive(Clone, Debug)]
pub struct Missing {
    /// The reason.
    pub reason: String,
    /// What to do about it; empty: nothing is known.
    pub hint: String,
}

/// What a database answered.
pub struct Reading {
    /// When, in UTC.
    pub at: String,
    /// The server with its version.
    pub server: String,
    /// Its address, without a password.
    pub address: String,
    /// Whether windrow is installed there, if this account may know.
    pub installed: Option<bool>,
    /// Whether what is installed was made of another spec, or by another version: its preview and plan are not of this one.
    pub other: bool,
    /// What the spec is without in this database, in words.
    pub left_out: Vec<String>,
    /// What `check` found.
    pub findings: Part<Vec<Finding>>,
    /// What people have decided.
    pub decisions: Part<Decisions>,
    /// What `plan` says.
    pub plan: Part<Report>,
    /// What `preview` says.
    pub preview: Part<Preview>,
    /// What `diff` found.
    pub differences: Part<Differences>,
}

/// What people have decided in a database: policies and holds.
pub struct Decisions {
    /// How long scopes are kept.
    pub policies: Vec<Policy>,
    /// Families that are kept.
    pub holds: Vec<Hold>,
}

/// How a state is shown.
#[derive(Clone, Copy)]
pub(super) enum Tone {
    Good,
    Look,
    Bad,
    Open,
}

/// What a section says that is empty without a database.
pub(super) fn without(what: &str, command: &str, file: &str) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "With a database, this section shows {what}: `windrow report {file} --database URL --out page.html`"
    );
    if !command.is_empty() {
        let _ = write!(text, ", or `windrow {command} {file} --url URL` alone");
    }
    text + "."
}
