//! The error of the edges: a message, what the server added to it, and hints that say how to continue.
//!
//! It is printed by `ui` alone. A failure never carries a secret.

use std::error::Error;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// An error with details and hints; an [`anyhow::Error`] is made from it by `?` or `.into()`.
#[derive(Debug, Default)]
pub struct Failure {
    message: String,
    sqlstate: Option<String>,
    errno: Option<u16>,
    details: Vec<String>,
    hints: Vec<String>,
    // An `anyhow::Error` in a box would no longer be known as the failure that it is, hints and all.
    source: Option<anyhow::Error>,
}

impl Failure {
    /// A failure with this message: lower case, no final period.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure {
            message: message.into(),
            ..Failure::default()
        }
    }

    /// Adds the server's SQLSTATE, which the message then shows.
    pub fn sqlstate(mut self, code: impl Into<String>) -> Failure {
        self.sqlstate = Some(code.into());
        self
    }

    /// Adds the error number of MySQL and MariaDB, which says more than their SQLSTATE; the message then shows it.
    pub fn errno(mut self, number: u16) -> Failure {
        self.errno = Some(number);
        self
    }

    /// Adds a line of detail.
    pub fn detail(mut self, detail: impl Into<String>) -> Failure {
        self.details.push(detail.into());
        self
    }

    /// Adds a hint: what the user can do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hints.push(hint.into());
        self
    }

    /// Puts the failure on top of the error that caused it.
    pub fn caused_by(mut self, source: impl Into<anyhow::Error>) -> Failure {
        self.source = Some(source.into());
        self
    }

    /// The lines of detail.
    pub fn details(&self) -> &[String] {
        &self.details
    }

    /// The hints.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)?;
        match (self.errno, &self.sqlstate) {
            // What a routine signals has this number, whatever it is about.
            (None | Some(SIGNALLED), Some(code)) => write!(out, " (SQLSTATE {code})"),
            (Some(number), Some(code)) => write!(out, " (error {number}, SQLSTATE {code})"),
            (Some(number), None) => write!(out, " (error {number})"),
            (None, None) => Ok(()),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

/// The failures among an error and its causes.
fn failures(error: &anyhow::Error) -> impl Iterator<Item = &Failure> {
    let causes = error.chain();
    causes.filter_map(|cause| cause.downcast_ref::<Failure>())
}

/// The hints of an error and of its causes, each once.
pub fn hints(error: &anyhow::Error) -> Vec<&str> {
    let mut hints: Vec<&str> = Vec::new();
    for hint in failures(error).flat_map(Failure::hints) {
        if !hints.contains(&hint.as_str()) {
            hints.push(hint);
        }
    }
    hints
}

/// An error for programs: what `--output json` prints in place of an answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ErrorDocument")]
pub struct Document {
    /// What could not be done, and why.
    pub error: Told,
}

/// What could not be done, and why.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct Told {
    /// What could not be done.
    pub message: String,
    /// What that was caused by, the nearest first.
    pub caused_by: Vec<String>,
    /// What the server or windrow adds.
    pub details: Vec<String>,
    /// How to continue.
    pub hints: Vec<String>,
    /// The server's SQLSTATE, if a server raised it.
    pub sqlstate: Option<String>,
    /// The number of an error of MySQL or MariaDB.
    pub errno: Option<u16>,
}

/// An error for programs.
pub fn document(error: &anyhow::Error) -> Document {
    let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect();
    let details = failures(error).flat_map(Failure::details).cloned();
    Document {
        error: Told {
            message: error.to_string(),
            caused_by: error.chain().skip(1).map(ToString::to_string).collect(),
            details: details.collect(),
            hints: owned(hints(error)),
            sqlstate: sqlstate(error).map(str::to_owned),
            errno: errno(error),
        },
    }
}

/// The SQLSTATE that an error carries, if a server raised it.
pub fn sqlstate(error: &anyhow::Error) -> Option<&str> {
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Failure>()?.sqlstate.as_deref())
}

/// The number of an error that a server raised, if it is MySQL or MariaDB.
pub fn errno(error: &anyhow::Error) -> Option<u16> {
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Failure>()?.errno)
}

/// Whether a server refused for want of a right.
pub fn is_denied(error: &anyhow::Error) -> bool {
    match errno(error) {
        Some(number) => DENIED.contains(&number),
        None => sqlstate(error) == Some("42501"),
    }
}

/// Whether a statement waited too long for a lock of another session.
pub fn is_lock_timeout(error: &anyhow::Error) -> bool {
    match errno(error) {
        Some(number) => number == LOCK_WAIT_TIMEOUT,
        None => sqlstate(error) == Some("55P03"),
    }
}

/// ER_LOCK_WAIT_TIMEOUT.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// ER_SIGNAL_EXCEPTION.
const SIGNALLED: u16 = 1644;

/// Rights on a database, table, column, routine, or of the whole server are missing.
const DENIED: [u16; 6] = [1044, 1142, 1143, 1227, 1370, 1410];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_still_known_as_a_failure() {
        let server = Failure::new("no space").sqlstate("53100").hint("free some");
        let error = anyhow::Error::from(server);
        let error = anyhow::Error::from(Failure::new("gave up").caused_by(error));
        assert_eq!(sqlstate(&error), Some("53100"));
    }

    #[test]
    fn the_chain_keeps_code_and_hints() {
        let server = Failure::new("permission denied for schema x")
            .sqlstate("42501")
            .hint("ask the owner");
        let error = anyhow::Error::from(server).context("cannot install");
        let error = anyhow::Error::from(Failure::new("gave up").caused_by(error));
        assert_eq!(sqlstate(&error), Some("42501"));
        let hints: Vec<_> = error
            .chain()
            .filter_map(|cause| cause.downcast_ref::<Failure>())
            .flat_map(Failure::hints)
            .collect();
        assert_eq!(hints, ["ask the owner"]);
        assert_eq!(
            format!("{error:#}"),
            "gave up: cannot install: permission denied for schema x (SQLSTATE 42501)"
        );
    }

    #[test]
    fn a_right_that_is_missing_is_known_on_every_server() {
        let postgres = anyhow::Error::from(Failure::new("no").sqlstate("42501"));
        let mysql = anyhow::Error::from(Failure::new("no").sqlstate("42000").errno(1142));
        let syntax = anyhow::Error::from(Failure::new("no").sqlstate("42000").errno(1064));
        assert!(is_denied(&postgres) && is_denied(&mysql) && !is_denied(&syntax));
        assert_eq!(mysql.to_string(), "no (error 1142, SQLSTATE 42000)");
        let signalled = Failure::new("bad option").sqlstate("22023").errno(1644);
        assert_eq!(signalled.to_string(), "bad option (SQLSTATE 22023)");
    }
}
