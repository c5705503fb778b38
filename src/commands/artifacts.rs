//! `artifacts`: the files that deleted rows named, removed by a command of the user's, one call for each file.

use std::io::{Read as _, Seek as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Exit, Session, show};
use crate::calls::List;
use crate::cli::{Artifacts, Drain, WithOutput};
use crate::failure::Failure;
use crate::interrupt;
use crate::report;
use crate::ui::{Ui, counted};

/// How many files are marked as being tried at once.
const CLAIM: u32 = 50;

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
    show(ui, args.output, &document, |document| {
        report::rows(
            document,
            &[
                ("artifact", "artifact_id"),
                ("run", "run_id"),
                ("host", "host"),
                ("path", "path"),
                ("attempts", "attempts"),
                ("next", "next_attempt_at"),
                ("given up", "given_up"),
                ("last error", "last_error"),
            ],
        )
    });
    Ok(Exit::Clean)
}

fn drain(args: &Drain, ui: &Ui) -> anyhow::Result<Exit> {
    let template = Template::parse(&args.command)?;
    let mut session = Session::open(&args.on, ui)?;
    interrupt::cancels(session.database.cancel())?;
    let (claim, finish) = (
        session.calls.claim_artifacts(),
        session.calls.finish_artifact(),
    );
    let (mut removed, mut failed) = (0, 0);
    let mut progress = ui.progress("artifacts", None);
    'claims: while removed + failed < i64::from(args.limit) {
        let left = (i64::from(args.limit) - removed - failed).min(i64::from(CLAIM));
        let claimed = session.database.query(&claim, &[Some(&left.to_string())])?;
        if claimed.is_empty() {
            break;
        }
        for row in claimed {
            if interrupt::hit() {
                break 'claims;
            }
            let cell = |at: usize| row.get(at).cloned().flatten();
            let (id, host, path) = (
                cell(0).unwrap_or_default(),
                cell(1),
                cell(2).unwrap_or_default(),
            );
            let outcome = template
                .words(host.as_deref(), &path)
                .and_then(|words| call(&words, Duration::from_secs(args.timeout)));
            match outcome {
                Ok(()) => removed += 1,
                Err(ref error) => {
                    failed += 1;
                    ui.warning(&format!(
                        "cannot remove `{path}` of `{}`: {error}",
                        host.as_deref().unwrap_or("")
                    ));
                }
            }
            session
                .database
                .query(&finish, &[Some(&id), outcome.err().as_deref()])?;
            progress.set(
                (removed + failed) as u64,
                &format!("{removed} removed, {failed} failed"),
            );
        }
    }
    drop(progress);
    ui.note(&format!(
        "{} removed, {} failed",
        counted(removed, "file", "files"),
        failed
    ));
    if interrupt::hit() {
        return Err(interrupt::failure("artifacts drain").into());
    }
    Ok(if failed > 0 { Exit::Found } else { Exit::Clean })
}

/// A command in words with places for what a row names.
struct Template(Vec<String>);

impl Template {
    fn parse(command: &str) -> anyhow::Result<Template> {
        let refuse = |why: &str| {
            Failure::new(format!("cannot use the command `{command}`"))
                .caused_by(Failure::new(why))
                .hint("write it like `ssh {host:name} rm -f -- {path:q}`")
        };
        let words = shell_words::split(command).map_err(|error| refuse(&error.to_string()))?;
        if words.is_empty() {
            return Err(refuse("it is empty").into());
        }
        if words[0].contains('{') {
            return Err(refuse("its first word, the program, must not come from a row").into());
        }
        if !words
            .iter()
            .any(|word| word.contains("{path}") || word.contains("{path:q}"))
        {
            return Err(refuse("it names neither {path} nor {path:q}").into());
        }
        Ok(Template(words))
    }

    /// The words for one file. What a row says is data: it never becomes an option, a second word, or another folder.
    fn words(&self, host: Option<&str>, path: &str) -> Result<Vec<String>, String> {
        if path.is_empty() || path.contains('\0') {
            return Err("the path is empty or has a zero byte".to_owned());
        }
        if path.split('/').any(|part| part == "..") {
            return Err("the path goes up by `..`".to_owned());
        }
        let host = host.unwrap_or_default();
        let needs_host = self
            .0
            .iter()
            .any(|word| word.contains("{host}") || word.contains("{host:name}"));
        let sound = |c: char| c.is_ascii_alphanumeric() || ".:-_[]".contains(c);
        if needs_host && (host.is_empty() || host.starts_with('-') || !host.chars().all(sound)) {
            return Err("the row names no sound host".to_owned());
        }
        if path.starts_with('-')
            && self.0.iter().any(|word| word.starts_with("{path"))
            && !self.0.iter().any(|word| word == "--")
        {
            return Err(
                "the path starts with `-`, and the command has no `--` before it".to_owned(),
            );
        }
        let quoted = shell_words::quote(path);
        Ok(self
            .0
            .iter()
            .map(|word| {
                fill(
                    word,
                    &[
                        ("{host:name}", host_name(host)),
                        ("{host}", host),
                        ("{path:q}", &quoted),
                        ("{path}", path),
                    ],
                )
            })
            .collect())
    }
}

/// Replaces the places from left to right; what was put in is not looked at again.
fn fill(word: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        if let Some((place, value)) = values.iter().find(|(place, _)| rest.starts_with(place)) {
            out += value;
            rest = &rest[place.len()..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// A host without its port: `10.0.0.7:1234`, `[::1]:1234`.
fn host_name(host: &str) -> &str {
    if let Some(address) = host
        .strip_prefix('[')
        .and_then(|rest| rest.split(']').next())
    {
        return address;
    }
    // More than one colon is an IPv6 address without a port.
    match host.split_once(':') {
        Some((name, port)) if !port.contains(':') => name,
        _ => host,
    }
}

/// Calls a command and waits for it; what it says on stderr is the error.
fn call(words: &[String], limit: Duration) -> Result<(), String> {
    // A file instead of a pipe: a grandchild that keeps the pipe open could hold us up for ever.
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

    fn words(command: &str, host: Option<&str>, path: &str) -> Result<Vec<String>, String> {
        Template::parse(command)
            .map_err(|error| format!("{error:#}"))?
            .words(host, path)
    }

    #[test]
    fn what_a_row_says_stays_one_word() {
        let path = "/logs/a b'; rm -rf $HOME {host}";
        assert_eq!(
            words("rm -f -- {path}", None, path),
            Ok(vec![
                "rm".to_owned(),
                "-f".to_owned(),
                "--".to_owned(),
                path.to_owned()
            ])
        );
        let far = words(
            "ssh {host:name} rm -f -- {path:q}",
            Some("10.0.0.7:1234"),
            path,
        )
        .unwrap_or_default();
        assert_eq!(far[1], "10.0.0.7");
        assert_eq!(
            shell_words::split(&far[5]).ok(),
            Some(vec![path.to_owned()])
        );
    }

    #[test]
    fn what_is_no_host_or_path_is_refused() {
        let ssh = "ssh {host} rm -f -- {path:q}";
        for (host, path) in [
            (Some("-oProxyCommand=sh"), "/a"),
            (Some("a b"), "/a"),
            (None, "/a"),
            (Some("a"), ""),
            (Some("a"), "/logs/../../etc/passwd"),
        ] {
            assert!(words(ssh, host, path).is_err(), "{host:?} {path}");
        }
        assert!(words("rm {path}", None, "-rf").is_err());
        assert!(words("rm {file}", None, "/a").is_err());
        assert!(words("{path}", None, "/bin/sh").is_err());
        assert!(words("rm 'x {path}", None, "/a").is_err());
    }

    #[test]
    fn a_host_may_have_a_port() {
        let hosts = ["a:1", "a", "[::1]:1", "fe80::1"].map(host_name);
        assert_eq!(hosts, ["a", "a", "::1", "fe80::1"]);
    }

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
