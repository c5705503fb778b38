//! What a comparison finds: a code, how bad it is, what it is about, and the remedy.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// Something that the comparison found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable name, for `check --explain`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Which object it is about.
    pub object: String,
    /// What is wrong.
    pub message: String,
    /// What mends it; may be empty.
    pub help: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know; nothing to do.
    Notice,
    /// Deserves a look.
    Warning,
    /// Must be mended before an installation.
    Error,
}

pub(super) fn error(code: &'static str, object: &str, message: String) -> Finding {
    Finding {
        code,
        severity: Severity::Error,
        object: object.to_owned(),
        message,
        help: String::new(),
    }
}

pub(super) fn warning(code: &'static str, object: &str, message: String) -> Finding {
    Finding {
        severity: Severity::Warning,
        ..error(code, object, message)
    }
}

pub(super) fn notice(code: &'static str, object: &str, message: String) -> Finding {
    Finding {
        severity: Severity::Notice,
        ..error(code, object, message)
    }
}

impl Finding {
    /// Something that a spec names and a database lacks.
    pub(crate) fn lacking(object: &str, message: String) -> Finding {
        error("missing-column", object, message)
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Finding {
        self.help = help.into();
        self
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Severity::Notice => "notice",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}[{}]: `{}`: {}",
            self.severity, self.code, self.object, self.message
        )?;
        if self.help.is_empty() {
            Ok(())
        } else {
            write!(out, "\n  help: {}", self.help)
        }
    }
}
