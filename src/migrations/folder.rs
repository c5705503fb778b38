//! The folder of a runner: which migrations are there, and what windrow remembers of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::runner::Order;
use super::text::{Line, Text};
use crate::failure::Failure;
use crate::render;

/// The name of the plan of Sqitch.
const PLAN: &str = "sqitch.plan";

/// A version that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Version {
    /// Its number among the versions of the spec.
    pub(super) version: u32,
    /// Its files, with their SHA-256.
    pub(super) files: BTreeMap<String, String>,
}

/// What windrow knows of the versions of a spec in a folder: kept in a file next to them, which no runner reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Memory {
    /// Where it comes from.
    pub(super) generated: String,
    /// The runner for which the versions were written.
    pub(super) runner: String,
    /// The server.
    pub(super) dialect: String,
    /// All of them.
    pub(super) versions: Vec<Version>,
    /// The last one, statement by statement.
    pub(super) text: Text,
}

/// A folder with migrations, and those that are to be written to it.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    texts: BTreeMap<String, Option<String>>,
}

impl Folder {
    /// Looks into a folder, which need not be there.
    ///
    /// # Errors
    ///
    /// Fails where the folder cannot be read.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut texts = BTreeMap::new();
        for below in ["", "deploy", "revert"] {
            let entries = match fs::read_dir(path.join(below)) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => continue,
                Err(error) => return Err(error),
            };
            for entry in entries {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if !entry.path().is_dir() {
                    let name = match below {
                        "" => name,
                        _ => format!("{below}/{name}"),
                    };
                    texts.insert(name, None);
                }
            }
        }
        Ok(Self {
            path: path.to_owned(),
            texts,
        })
    }

    /// The text of a file; none where there is no such file.
    ///
    /// # Errors
    ///
    /// Fails where it cannot be read.
    pub(super) fn text(&self, name: &str) -> io::Result<Option<String>> {
        match self.texts.get(name) {
            None => Ok(None),
            Some(Some(text)) => Ok(Some(text.clone())),
            Some(None) => {
                let bytes = fs::read(self.path.join(name))?;
                Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
            }
        }
    }

    /// A file that is to be written.
    pub(super) fn put(&mut self, name: &str, text: &str) {
        self.texts.insert(name.to_owned(), Some(text.to_owned()));
    }

    /// Whether there is such a file.
    pub(super) fn has(&self, name: &str) -> bool {
        self.texts.contains_key(name)
    }

    /// What is remembered of a spec.
    ///
    /// # Errors
    ///
    /// Fails where the file cannot be read.
    pub(super) fn memory(&self, spec: &str) -> anyhow::Result<Option<Memory>> {
        self.remembered(&remembers(spec))
    }

    fn remembered(&self, name: &str) -> anyhow::Result<Option<Memory>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let memory = serde_json::from_str(&text).map_err(|error| {
            Failure::new(format!("cannot read `{}`", self.path.join(name).display()))
                .caused_by(error)
                .hint("it lists which versions were written: restore it from version control")
        })?;
        Ok(Some(memory))
    }

    /// The indexes that the installations of other specs in this folder make.
    ///
    /// # Errors
    ///
    /// Fails where what is remembered of them cannot be read.
    pub(super) fn needed(&self, spec: &str) -> anyhow::Result<BTreeSet<String>> {
        let mut needed = BTreeSet::new();
        for name in self.texts.keys() {
            let is_memory = name.starts_with("windrow.") && name.ends_with(".lock");
            if is_memory && *name != remembers(spec) {
                let memory = self.remembered(name)?;
                let made = memory.iter().flat_map(|memory| &memory.text.install);
                needed.extend(made.filter_map(Line::index).map(str::to_owned));
            }
        }
        Ok(needed)
    }

    /// Says which file of a version is not there, or is not as it was written.
    ///
    /// # Errors
    ///
    /// Fails where a file cannot be read.
    pub(super) fn changed(&self, version: &Version) -> io::Result<Option<String>> {
        for (name, hash) in &version.files {
            let text = self.text(name)?;
            if text.is_none_or(|text| render::sha256(&text) != *hash) {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }

    /// The last number among the migrations, and its digits; zero where there is none.
    pub(super) fn last(&self, prefix: &str) -> (u64, usize) {
        let numbers = self.texts.keys().filter_map(|name| {
            let digits: String = name
                .strip_prefix(prefix)?
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            Some((digits.parse().ok()?, digits.len()))
        });
        numbers.max().unwrap_or_default()
    }

    /// What says which migration comes before the next one, as the runner writes it.
    ///
    /// # Errors
    ///
    /// Fails where there are several candidates.
    pub(super) fn previous(&self, order: Order) -> anyhow::Result<String> {
        match order {
            Order::Number(..) | Order::Sqitch => Ok(String::new()),
            Order::Django => {
                let modules = self
                    .texts
                    .keys()
                    .filter_map(|name| name.strip_suffix(".py"));
                let last = modules
                    .filter(|name| name.starts_with(|first: char| first.is_ascii_digit()))
                    .max();
                Ok(match last {
                    None => "[]".to_owned(),
                    Some(last) => format!("[(\"{}\", \"{last}\")]", self.application()?),
                })
            }
            Order::Alembic => {
                let heads = self.heads()?;
                match &heads[..] {
                    [] => Ok("None".to_owned()),
                    [head] => Ok(format!("\"{head}\"")),
                    _ => Err(Failure::new(format!(
                        "`{}` has several heads: {}",
                        self.path.display(),
                        heads.join(", ")
                    ))
                    .hint("merge them first, with `alembic merge heads`")
                    .into()),
                }
            }
        }
    }

    /// The application of Django whose migrations these are: the name of the folder above.
    fn application(&self) -> anyhow::Result<String> {
        let path = std::path::absolute(&self.path)?;
        let above = path.parent().and_then(Path::file_name);
        Ok(above.unwrap_or_default().to_string_lossy().into_owned())
    }

    /// The revisions of Alembic that no other one follows.
    fn heads(&self) -> io::Result<Vec<String>> {
        let (mut revisions, mut followed) = (BTreeSet::new(), BTreeSet::new());
        for name in self.texts.keys().filter(|name| name.ends_with(".py")) {
            let text = self.text(name)?.unwrap_or_default();
            for line in text.lines() {
                let Some((name, value)) = line.split_once('=') else {
                    continue;
                };
                let name = name.split(':').next().unwrap_or_default().trim_end();
                let quoted = value.split(['"', '\'']).skip(1).step_by(2);
                match name {
                    "revision" => revisions.extend(quoted.map(str::to_owned)),
                    "down_revision" => followed.extend(quoted.map(str::to_owned)),
                    _ => {}
                }
            }
        }
        Ok(revisions.difference(&followed).cloned().collect())
    }

    /// The plan of Sqitch with these changes behind its others.
    ///
    /// # Errors
    ///
    /// Fails where there is a plan that cannot be read.
    pub(super) fn planned(
        &self,
        spec: &str,
        changes: &[(String, String)],
    ) -> io::Result<(String, String)> {
        let project = format!("%syntax-version=1.0.0\n%project=windrow_{spec}\n\n");
        let mut plan = self.text(PLAN)?.unwrap_or(project);
        if !plan.ends_with('\n') {
            plan.push('\n');
        }
        for (slug, note) in changes {
            // The identifier of a change has its time in it: this one is the same wherever it is generated.
            plan += &format!("{slug} 2000-01-01T00:00:00Z windrow <windrow@localhost> # {note}\n");
        }
        Ok((PLAN.to_owned(), plan))
    }
}

/// The file that says which versions of a spec were written.
pub(super) fn remembers(spec: &str) -> String {
    format!("windrow.{spec}.lock")
}
