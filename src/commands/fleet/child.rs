//! The windrow that works on one database.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::answers::{FleetDatabase, FleetOutcome};
use crate::cli::FleetCommand;
use crate::commands::session::PASSWORD;
use crate::failure::Failure;
use crate::fleet::Target;
use crate::interrupt;
use crate::report;

/// How often the end of a command is looked for.
const POLL: Duration = Duration::from_millis(20);

/// How long a command may take to end once it is asked to, before it is killed: it cancels its statement first.
const GRACE: Duration = Duration::from_secs(20);

/// Bytes of what a command said on standard error that are looked at.
const SAID: u64 = 4_000;

/// What is called on each database.
pub(super) struct Call<'a> {
    pub(super) command: FleetCommand,
    pub(super) arguments: &'a [String],
    pub(super) timeout: Option<Duration>,
}

/// How a command ended.
struct Ended {
    status: ExitStatus,
    timed_out: bool,
    interrupted: bool,
    answer: Option<Value>,
    said: String,
}

impl Call<'_> {
    /// Calls the command on a database, and waits for its end.
    pub(super) fn on(&self, target: &Target) -> FleetDatabase {
        let start = Instant::now();
        let (outcome, exit_code, says, answer) = match self.ended(target) {
            Err(error) => (FleetOutcome::Failed, None, error, None),
            Ok(ended) => {
                let code = ended.status.code();
                let outcome = match code {
                    Some(0) => FleetOutcome::Clean,
                    Some(1) if self.only_waited(ended.answer.as_ref()) => FleetOutcome::Waited,
                    Some(1) => FleetOutcome::Found,
                    _ if ended.timed_out => FleetOutcome::TimedOut,
                    _ if ended.interrupted => FleetOutcome::Interrupted,
                    _ => FleetOutcome::Failed,
                };
                let says = match (&ended.answer, outcome) {
                    (_, FleetOutcome::TimedOut) => "took longer than `--timeout`".to_owned(),
                    (Some(answer), _) => report::fleet_says(self.command.name(), answer),
                    (None, _) => ended.said,
                };
                (outcome, code, says, ended.answer)
            }
        };
        FleetDatabase {
            exit_code,
            seconds: start.elapsed().as_secs_f64(),
            says,
            answer,
            ..without_a_call(target, outcome)
        }
    }

    /// Whether this is the answer of a run that did nothing else.
    fn only_waited(&self, answer: Option<&Value>) -> bool {
        self.command == FleetCommand::Run
            && answer.is_some_and(|it| report::only_waited(it).is_some())
    }

    fn ended(&self, target: &Target) -> Result<Ended, String> {
        let password = target.password.read().map_err(|error| told(&error))?;
        // Files instead of pipes: a pipe that nobody empties meanwhile would hold the command up.
        let (mut answer, answering) = file()?;
        let (mut said, saying) = file()?;
        let mut child = self
            .command_line(target, password)
            .stdout(answering)
            .stderr(saying)
            .spawn()
            .map_err(|error| format!("cannot start windrow: {error}"))?;
        let (status, timed_out, interrupted) = self.wait(&mut child)?;
        let answer = text(&mut answer, u64::MAX);
        let said = text(&mut said, SAID);
        Ok(Ended {
            status,
            timed_out,
            interrupted,
            answer: serde_json::from_str(&answer).ok(),
            said: said.lines().last().unwrap_or_default().to_owned(),
        })
    }

    /// The command line. The address and the password go by the environment: everybody may read the words of a command.
    fn command_line(&self, target: &Target, password: Option<String>) -> Command {
        let program = std::env::current_exe().unwrap_or_else(|_| "windrow".into());
        let mut command = Command::new(program);
        command
            .arg(self.command.name())
            .arg(&target.spec)
            .args(["--quiet", "--output", "json"])
            .args(self.arguments)
            .env_remove("WINDROW_SPEC")
            .stdin(Stdio::null())
            // An interrupt from the keyboard goes to this program, which passes it on, once.
            .process_group(0);
        if self.command == FleetCommand::Generate {
            command.env_remove("WINDROW_URL");
        } else {
            command.env("WINDROW_URL", &target.url);
        }
        // What the inventory says counts before what the option file of an administrator says.
        if let Some(password) = password {
            command.env(PASSWORD, password);
        }
        command
    }

    /// Waits for the end, and brings it about where it takes too long or somebody interrupts: whether it was the one or the other.
    fn wait(&self, child: &mut Child) -> Result<(ExitStatus, bool, bool), String> {
        let start = Instant::now();
        let mut asked = None;
        let (mut timed_out, mut interrupted) = (false, false);
        loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                return Ok((status, timed_out, interrupted));
            }
            match asked {
                None => {
                    interrupted = interrupt::hit();
                    timed_out = !interrupted && self.timeout.is_some_and(|it| start.elapsed() > it);
                    if interrupted || timed_out {
                        asked = Some(Instant::now());
                        terminate(child);
                    }
                }
                Some(at) if at.elapsed() > GRACE => {
                    child.kill().map_err(|error| error.to_string())?;
                }
                Some(_) => {}
            }
            thread::sleep(POLL);
        }
    }
}

/// What there is to say of a database on which the command was not called.
pub(super) fn without_a_call(target: &Target, outcome: FleetOutcome) -> FleetDatabase {
    FleetDatabase {
        name: target.name.clone(),
        groups: target.groups.clone(),
        spec: target.spec.display().to_string(),
        outcome,
        exit_code: None,
        seconds: 0.0,
        says: String::new(),
        answer: None,
    }
}

/// Asks a command to end; it cancels what the server does for it.
fn terminate(child: &mut Child) {
    let asked = Command::new("sh")
        .args(["-c", "kill -s TERM \"$1\"", "sh", &child.id().to_string()])
        .stderr(Stdio::null())
        .status();
    if asked.is_err() {
        // Without a shell only this is left.
        let _ = child.kill();
    }
}

/// A file for what a command prints: to read from, and to write to.
fn file() -> Result<(File, File), String> {
    let file = tempfile::tempfile().map_err(|error| error.to_string())?;
    let other = file.try_clone().map_err(|error| error.to_string())?;
    Ok((file, other))
}

fn text(file: &mut File, most: u64) -> String {
    let mut bytes = Vec::new();
    // What cannot be read is as good as nothing: the command has ended, and its exit code says how.
    let _ = file.rewind();
    let _ = file.take(most).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A failure in one line.
fn told(failure: &Failure) -> String {
    let details = failure.details().join("; ");
    match details.is_empty() {
        true => failure.to_string(),
        false => format!("{failure}: {details}"),
    }
}
