//! Where the password of a server comes from.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Where the password of a server comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Password {
    /// From where windrow looks by itself: `.pgpass`, option files, the environment.
    Elsewhere,
    /// From a variable of the environment.
    Variable(String),
    /// From the first line of a file.
    File(PathBuf),
    /// From the first line that a command of the shell prints.
    Command(String),
}

impl Password {
    /// The password, where the inventory says where it is.
    ///
    /// # Errors
    ///
    /// Fails where there is none: without the variable, or where the file cannot be read, or the command fails.
    pub fn read(&self) -> Result<Option<String>, Failure> {
        let text = match self {
            Password::Elsewhere => return Ok(None),
            Password::Variable(name) => std::env::var(name).map_err(|error| {
                Failure::new(format!("no password: `{name}` of the environment")).caused_by(error)
            })?,
            Password::File(path) => fs::read_to_string(path).map_err(|error| {
                Failure::new(format!("no password: cannot read `{}`", path.display()))
                    .caused_by(error)
            })?,
            Password::Command(command) => output(command)?,
        };
        let line = text.lines().next().unwrap_or_default();
        if line.is_empty() {
            return Err(Failure::new("no password: the first line is empty"));
        }
        Ok(Some(line.to_owned()))
    }
}

/// What a command prints. What it says on standard error is told where it fails; what it prints never is.
fn output(command: &str) -> Result<String, Failure> {
    let failed = || Failure::new(format!("no password: `{command}` failed"));
    let output = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed().caused_by(error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(failed().detail(format!("{}: {said}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(|error| failed().caused_by(error))
}
