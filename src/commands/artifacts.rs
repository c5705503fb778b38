//! `artifacts`: the files that deleted rows named, removed by a command of the user's, one call for each file.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use self::root::Root;
use self::template::Template;
use serde_json::Value;

use super::answer::{Exit, show, tell};
use super::session::Session;
use crate::answers::{self, Artifact, Drained, DrainedFile};
use crate::calls::List;
use crate::cli::{Artifacts, Drain, WithOutput};
use crate::interrupt;
use crate::report;
use crate::ui::{Ui, counted};

mod programs;
mod root;
mod template;

/// How many files are marked as being tried at once.
const CLAIM: u32 = 50;

/// How long the database's answer counts that no row names these files: a table without an index on the path is read from
/// end to end for it.
const FRESH: Duration = Duration::from_secs(1);

/// Lists or removes files.
pub(super) fn artifacts(command: &Artifacts, ui: &Ui) -> anyhow::Result<Exit> {
    match command {
        Artifacts::List(args) => list(args, ui),
        Artifacts::Drain(args) => drain(args, ui),
    }
}

fn list(args: &WithOutput, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.on, ui)?;
    let document = session.documents(&session.calls.list(List::Artifact), &[])?;
    let document = Value::from(document);
    let files: Vec<Artifact> = answers::read(List::Artifact.title(), &document)?;
    show(ui, args.output, &document, || report::artifacts(&files));
    Ok(Exit::Clean)
}

fn drain(args: &Drain, ui: &Ui) -> anyhow::Result<Exit> {
    let template = Template::parse(&args.command)?;
    let root = args
        .root
        .as_deref()
        .map(|folder| Root::new(folder, template.files))
        .transpose()?;
    let mut session = Session::open(&args.with.on, ui)?;
    interrupt::cancels(session.database.cancel())?;
    let (claim, finish) = (
        session.calls.claim_artifacts(),
        session.calls.finish_artifact(),
    );
    let mut drained = Drained::default();
    let mut progress = ui.progress("artifacts", None);
    'claims: while drained.removed + drained.failed < i64::from(args.limit) {
        let left = (i64::from(args.limit) - drained.removed - drained.failed).min(i64::from(CLAIM));
        let claimed = session.database.query(&claim, &[Some(&left.to_string())])?;
        if claimed.is_empty() {
            break;
        }
        let files: Vec<File> = claimed.into_iter().map(File::of).collect();
        let (mut named, mut asked) = (BTreeMap::new(), None::<Instant>);
        for (at, File { id, host, path }) in files.iter().enumerate() {
            if interrupt::hit() {
                break 'claims;
            }
            if asked.is_none_or(|asked| asked.elapsed() > FRESH) {
                named = still_named(&mut session, &files[at..])?;
                asked = Some(Instant::now());
            }
            let outcome = match named.get(id) {
                Some(table) => Err(format!("a row of `{table}` still refers to it")),
                None => match &root {
                    Some(root) => root.confine(path),
                    None => Ok(path.clone()),
                }
                .and_then(|path| template.fill(host.as_deref(), &path))
                .and_then(|words| call(&words, Duration::from_secs(args.timeout))),
            };
            match outcome {
                Ok(()) => drained.removed += 1,
                Err(ref error) => {
                    drained.failed += 1;
                    ui.warning(&format!(
                        "cannot remove `{path}` of `{}`: {error}",
                        host.as_deref().unwrap_or("")
                    ));
                }
            }
            let error = outcome.err();
            session
                .database
                .query(&finish, &[Some(id), error.as_deref()])?;
            drained.files.push(DrainedFile {
                artifact_id: id.parse().unwrap_or_default(),
                host: host.clone(),
                path: path.clone(),
                removed: error.is_none(),
                error,
            });
            let Drained {
                removed, failed, ..
            } = drained;
            progress.set(
                (removed + failed) as u64,
                &format!("{removed} removed, {failed} failed"),
            );
        }
    }
    drop(progress);
    let text = format!(
        "{} removed, {} failed",
        counted(drained.removed, "file", "files"),
        drained.failed
    );
    if interrupt::hit() {
        ui.note(&text);
        return Err(interrupt::failure("artifacts drain").into());
    }
    tell(ui, args.with.output, &drained, &text);
    Ok(Exit::found(drained.failed > 0))
}

/// A file of the outbox.
struct File {
    id: String,
    host: Option<String>,
    path: String,
}

impl File {
    fn of(row: Vec<Option<String>>) -> File {
        let mut cells = row.into_iter();
        let mut cell = || cells.next().flatten();
        File {
            id: cell().unwrap_or_default(),
            host: cell(),
            path: cell().unwrap_or_default(),
        }
    }
}

/// The files of which a row that is there names the path, with the table.
fn still_named(session: &mut Session, files: &[File]) -> anyhow::Result<BTreeMap<String, String>> {
    let ids: Vec<&str> = files.iter().map(|file| file.id.as_str()).collect();
    let rows = session.database.query(
        &session.calls.named_artifacts(),
        &[Some(&format!("[{}]", ids.join(",")))],
    )?;
    Ok(rows
        .into_iter()
        .filter_map(|row| match &row[..] {
            [Some(id), Some(table)] => Some((id.clone(), table.clone())),
            _ => None,
        })
        .collect())
}

/// Calls a command and waits for it; what it says on stderr is the error.
fn call(words: &[String], limit: Duration) -> Result<(), String> {
    // A file instead of a pipe: a grandchild that keeps the pipe open could hold us up forever.
    let mut said = tempfile::tempfile().map_err(|error| error.to_string())?;
    let stderr = said.try_clone().map_err(|error| error.to_string())?;
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn()
        .map_err(|error| format!("cannot start `{}`: {error}", words[0]))?;
    let start = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if start.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "`{}` took more than {} s",
                    words[0],
                    limit.as_secs()
                ));
            }
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    let _ = said.rewind();
    let _ = said.by_ref().take(500).read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text).trim().replace('\n', "; ");
    let status = match status.code() {
        Some(code) => format!("`{}` ended with {code}", words[0]),
        None => format!("`{}` was killed", words[0]),
    };
    Err(if text.is_empty() {
        status
    } else {
        format!("{status}: {text}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_judged_by_its_end_and_its_time() {
        let call = |words: &[&str], limit| {
            call(
                &words
                    .iter()
                    .map(|word| (*word).to_owned())
                    .collect::<Vec<_>>(),
                limit,
            )
        };
        let long = Duration::from_secs(10);
        assert_eq!(call(&["true"], long), Ok(()));
        assert_eq!(
            call(&["sh", "-c", "echo no >&2; exit 3"], long),
            Err("`sh` ended with 3: no".to_owned())
        );
        assert_eq!(
            call(&["sleep", "5"], Duration::ZERO),
            Err("`sleep` took more than 0 s".to_owned())
        );
        assert!(
            call(&["/nowhere/at/all"], long).is_err_and(|error| error.starts_with("cannot start"))
        );
    }
}
