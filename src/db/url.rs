//! The address of a database. Neither its `Display` nor its `Debug` shows a password, and no error repeats one.

mod address;
mod files;
mod given;
mod passfile;
mod read;
mod redact;

use std::fmt;
use std::str::FromStr;

use self::given::Surroundings;
use self::read::read;
use self::redact::{holds_password, redact};
use crate::failure::Failure;

pub use address::{Host, Scheme, ServerKey, SslMode, Url};

/// An address as the user wrote it, not yet read: it can be shown in a message without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct RawUrl(String);

impl RawUrl {
    /// Reads the address.
    pub fn parse(&self) -> Result<Url, Failure> {
        self.0.parse()
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }
}

impl FromStr for RawUrl {
    type Err = std::convert::Infallible;

    // Reading happens later: clap would repeat a value that it refuses, password and all.
    fn from_str(text: &str) -> Result<RawUrl, Self::Err> {
        Ok(RawUrl(text.to_owned()))
    }
}

impl RawUrl {
    /// Whether a password stands in it.
    pub fn holds_password(&self) -> bool {
        holds_password(&self.0)
    }
}

impl fmt::Display for RawUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&redact(&self.0))
    }
}

impl fmt::Debug for RawUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", redact(&self.0))
    }
}

impl FromStr for Url {
    type Err = Failure;

    /// Reads an address with what the environment and the files of the servers' own clients add to it.
    fn from_str(text: &str) -> Result<Url, Failure> {
        Url::within(text, &Surroundings::of_process())
    }
}

impl Url {
    fn within(text: &str, around: &Surroundings) -> Result<Url, Failure> {
        let text = text.trim();
        let refuse = |why: String, hint: &str| {
            Failure::new(format!(
                "cannot read the database address `{}`",
                redact(text)
            ))
            .caused_by(Failure::new(why))
            .hint(hint)
        };
        let Some((scheme, rest)) = Scheme::of(text) else {
            return Err(refuse(
                "it does not start with `postgres://`, `mysql://` or `mariadb://`".to_owned(),
                "write it as `postgres://user@host:5432/database` or `mysql://user@host:3306/`; \
                 the password may come from PGPASSWORD, MYSQL_PWD or --password-file",
            ));
        };
        read(scheme, rest, around).map_err(|why| refuse(why, scheme.example()))
    }
}

#[cfg(test)]
mod tests;
