//! What a call that did not come to its end has done, so that the next one can continue.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::cli::Fleet;
use crate::failure::Failure;
use crate::fleet::Target;
use crate::render;
use crate::version::VERSION;

/// For how many seconds what a call did on a database counts: later, it may have been undone since.
const KEPT: u64 = 24 * 60 * 60;

/// The file next to the inventory, and the call that it is about.
pub(super) struct Journal {
    path: PathBuf,
    call: Kept,
    /// The databases that the call is about, with their states when it began.
    states: BTreeMap<String, String>,
}

/// What the file holds.
#[derive(Clone, Deserialize, Serialize)]
struct Kept {
    command: String,
    arguments: Vec<String>,
    /// The groups and names that select databases.
    selection: Vec<String>,
    /// The databases on which the command ended clean, with the state in which each was.
    clean: BTreeMap<String, String>,
    /// When it did, however many calls ago that was. Files of earlier versions do not say it.
    #[serde(default)]
    ended: BTreeMap<String, u64>,
}

/// Now, as seconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

impl Journal {
    /// That of a call: `fleet.toml.run.json` next to `fleet.toml`.
    pub(super) fn of(args: &Fleet, targets: &[Target]) -> Journal {
        let mut path = args.inventory.clone().into_os_string();
        path.push(format!(".{}.json", args.command.name()));
        Journal {
            path: path.into(),
            call: Kept {
                command: args.command.name().to_owned(),
                arguments: args.arguments.clone(),
                selection: args.group.iter().chain(&args.only).cloned().collect(),
                clean: BTreeMap::new(),
                ended: BTreeMap::new(),
            },
            states: targets
                .iter()
                .map(|it| (it.name.clone(), state_of(it)))
                .collect(),
        }
    }

    /// The databases that need no further call, with when they ended: what they were called with is what it would be now.
    pub(super) fn read(&self) -> Result<BTreeMap<String, u64>, Failure> {
        let name = self.path.display();
        let text = fs::read_to_string(&self.path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::new(format!(
                "nothing to resume: no call of `{}` was interrupted",
                self.call.command
            ))
            .hint("leave `--resume` out"),
            _ => Failure::new(format!("cannot read `{name}`")).caused_by(error),
        })?;
        let kept: Kept = serde_json::from_str(&text)
            .map_err(|error| Failure::new(format!("cannot read `{name}`")).caused_by(error))?;
        let now = now();
        let is_recent = |ended: &u64| now.saturating_sub(*ended) <= KEPT;
        if !kept.ended.is_empty() && !kept.ended.values().any(is_recent) {
            return Err(Failure::new(
                "all that the interrupted call has done was more than a day ago",
            )
            .detail(format!("it is kept in `{name}`"))
            .hint("leave `--resume` out: what was done then may have been undone since"));
        }
        if kept.arguments != self.call.arguments {
            return Err(Failure::new("the interrupted call had other arguments")
                .detail(format!("they were: {}", words(&kept.arguments)))
                .hint("give the same ones behind `--`, or leave `--resume` out"));
        }
        if kept.selection != self.call.selection {
            return Err(
                Failure::new("the interrupted call was about other databases")
                    .detail(format!(
                        "its groups and names were: {}",
                        words(&kept.selection)
                    ))
                    .hint("give the same `--group` and `--only`, or leave `--resume` out"),
            );
        }
        let mut ended = kept.ended;
        ended.retain(|name, ended| {
            is_recent(ended)
                && self.states.contains_key(name)
                && self.states.get(name) == kept.clean.get(name)
        });
        Ok(ended)
    }

    /// Forgets an earlier call when one begins: whatever ends this one, nobody continues that one.
    pub(super) fn begin(&self, done: &BTreeMap<String, u64>) -> anyhow::Result<()> {
        match self.path.exists() {
            true => self.keep(done),
            false => Ok(()),
        }
    }

    /// Keeps what is clean, with when it ended, where databases are left; else there is nothing to continue.
    pub(super) fn write(&self, left: bool, clean: &BTreeMap<String, u64>) -> anyhow::Result<()> {
        let name = self.path.display().to_string();
        if !left {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(Failure::new(format!("cannot remove `{name}`"))
                        .caused_by(error)
                        .into())
                }
                _ => Ok(()),
            };
        }
        self.keep(clean)
    }

    fn keep(&self, clean: &BTreeMap<String, u64>) -> anyhow::Result<()> {
        let mut states = self.states.clone();
        states.retain(|name, _| clean.contains_key(name));
        let kept = Kept {
            clean: states,
            ended: clean.clone(),
            ..self.call.clone()
        };
        put(&self.path, &serde_json::to_string_pretty(&kept)?).map_err(|error| {
            let name = self.path.display();
            Failure::new(format!("cannot write `{name}`: `--resume` will not work"))
                .caused_by(error)
                .into()
        })
    }
}

/// What decides what a command does on a database, in one number: where it is, its spec, and this program.
fn state_of(target: &Target) -> String {
    // A spec that cannot be read is an error of the call.
    let spec = fs::read_to_string(&target.spec).unwrap_or_default();
    let address = &target.url;
    render::sha256(&format!("{VERSION}\n{address}\n{spec}"))
}

/// Writes a file whole, or leaves it as it was.
fn put(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

fn words(arguments: &[String]) -> String {
    match arguments.is_empty() {
        true => "none".to_owned(),
        false => shell_words::join(arguments),
    }
}
