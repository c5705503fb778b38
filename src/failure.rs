//! The error of the edges: a message, what the server added to it, and hints that say how to go on.
//!
//! It is printed by `ui` alone. A failure never carries a secret.

use std::error::Error;
use std::fmt;

/// An error with details and hints; an [`anyhow::Error`] is made from it by `?` or `.into()`.
#[derive(Debug, Default)]
pub struct Failure {
    message: String,
    sqlstate: Option<String>,
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
        match &self.sqlstate {
            Some(code) => write!(out, " (SQLSTATE {code})"),
            None => Ok(()),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

/// The SQLSTATE that an error carries, if a server raised it.
pub fn sqlstate(error: &anyhow::Error) -> Option<&str> {
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Failure>()?.sqlstate.as_deref())
}

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
}
