//! Where the password of a server comes from.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::interrupt;

/// How long a command may take to say a password.
const LONGEST: Duration = Duration::from_secs(60);

/// How often its end is looked for.
const POLL: Duration = Duration::from_millis(20);

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

/// What a command prints. What it says on standard error is told where it fails; what it prints never is, nor is the command
/// itself, which may hold a secret.
fn output(command: &str) -> Result<String, Failure> {
    let failed = || Failure::new("no password: the command of `password_command` failed");
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed().caused_by(error))?;
    // Both are read meanwhile: a pipe that is full would hold the command up.
    let (printed, said) = (read(child.stdout.take()), read(child.stderr.take()));
    let start = Instant::now();
    let mut ended = None;
    let status = loop {
        ended = match ended {
            Some(status) => Some(status),
            None => child
                .try_wait()
                .map_err(|error| failed().caused_by(error))?,
        };
        // What it leaves in the background may still have its output.
        if let Some(status) = ended.filter(|_| printed.is_finished() && said.is_finished()) {
            break status;
        }
        if start.elapsed() > LONGEST || interrupt::hit() {
            // It may have ended by itself in between.
            let _ = child.kill();
            let _ = child.wait();
            let seconds = start.elapsed().as_secs();
            return Err(failed()
                .detail(format!("it did not end within {seconds} s"))
                .hint("nobody can answer it here: let it print the password without a question"));
        }
        thread::sleep(POLL);
    };
    let texts = (printed.join(), said.join());
    let (Ok(Ok(printed)), Ok(Ok(said))) = texts else {
        return Err(failed().detail("what it printed cannot be read"));
    };
    if !status.success() {
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        return Err(failed().detail(format!("{status}: {said}")));
    }
    String::from_utf8(printed).map_err(|error| failed().caused_by(error.utf8_error()))
}

fn read(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    })
}
