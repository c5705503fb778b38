//! Migrations: the installation of a spec as the files of a migration runner, version by version.
//!
//! A version that was written never changes. The folder records the last one, so that the next one drops what is gone, and
//! its way back installs the text of the one before.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bundle::{Bundle, Stale};
use crate::dialect::Dialect;
use crate::failure::Failure;
use crate::graph::Graph;
use crate::render;
use folder::{Folder, Memory, Version, remembers};
use runner::{Order, Runner, Told};
use session::Place;
use step::{Step, steps};
use text::Text;

mod folder;
pub mod runner;
mod session;
mod step;
mod text;

/// From here on, a number is the time at which somebody made the migration.
const TIMES: u64 = 10_000_000_000_000;

/// What happens to a folder.
#[derive(Debug)]
pub struct Outcome {
    /// The number of the last version.
    pub version: u32,
    /// Its files; where there is nothing to write, those that were written before.
    pub files: Vec<Stale>,
    /// Whether they are to be written.
    pub is_new: bool,
}

/// Which version of a spec comes next in a folder, if any. Nothing is written.
///
/// # Errors
///
/// Fails where the folder cannot be read, or what was written to it is no longer there.
pub fn next(
    runner: &Runner,
    graph: &Graph,
    dialect: Dialect,
    path: &Path,
    number: Option<u64>,
) -> anyhow::Result<Outcome> {
    let bundle = render::bundle(graph, dialect)?;
    let text = Text::of(&bundle);
    let mut folder = Folder::open(path).map_err(|error| {
        Failure::new(format!("cannot read the folder `{}`", path.display())).caused_by(error)
    })?;
    let memory = folder.memory(&graph.name)?;
    if let Some(memory) = &memory {
        known(memory, runner, dialect, &folder, path)?;
        if let Some(last) = memory.versions.last()
            && memory.text == text
        {
            return Ok(as_generated(last, &folder)?);
        }
    }
    let version = memory
        .as_ref()
        .and_then(|memory| memory.versions.last())
        .map_or(1, |last| last.version + 1);
    let place = place(graph, dialect, &bundle);
    let needed = folder.needed(&graph.name)?;
    let old = memory.as_ref().map(|memory| &memory.text);
    let steps = steps(&place, old, &text, &needed);
    let edition = Edition {
        runner,
        dialect,
        spec: &graph.name,
        version,
        steps: &steps,
    };
    let first = edition.first(&folder, path, number)?;
    let mut files = edition.files(&mut folder, path, first)?;
    let mut versions = memory.map(|memory| memory.versions).unwrap_or_default();
    versions.push(Version {
        version,
        files: files
            .iter()
            .map(|(name, text)| (name.clone(), render::sha256(text)))
            .collect(),
    });
    if runner.order == Order::Sqitch {
        let slugs = edition.slugs().into_iter().zip(&steps);
        let changes: Vec<_> = slugs
            .map(|(slug, step)| (slug, step.what.clone()))
            .collect();
        files.extend([folder.planned(&word(&graph.name), &changes)?]);
    }
    let memory = Memory {
        generated: origin(&graph.name),
        runner: runner.name.to_owned(),
        dialect: dialect.facts().folder.to_owned(),
        versions,
        text,
    };
    let memory = serde_json::to_string_pretty(&memory)? + "\n";
    files.insert(remembers(&graph.name), memory);
    let files = files.into_iter().map(|(name, text)| Stale {
        before: fs::read_to_string(path.join(&name)).ok(),
        path: name,
        after: Some(text),
    });
    Ok(Outcome {
        version,
        files: files.collect(),
        is_new: true,
    })
}

/// Writes the files of a version.
///
/// # Errors
///
/// Fails where one cannot be written.
pub fn write(outcome: &Outcome, path: &Path) -> std::io::Result<()> {
    // What remembers the version is written last: without it, nothing was generated.
    let (memory, others): (Vec<_>, Vec<_>) = outcome
        .files
        .iter()
        .partition(|file| file.path.ends_with(".lock"));
    for file in others.into_iter().chain(memory) {
        let place = path.join(&file.path);
        if let (Some(above), Some(text)) = (place.parent(), &file.after) {
            fs::create_dir_all(above)?;
            fs::write(&place, text)?;
        }
    }
    Ok(())
}

/// What a folder remembers must be of this runner and server, and its last version must still be there.
fn known(
    memory: &Memory,
    runner: &Runner,
    dialect: Dialect,
    folder: &Folder,
    path: &Path,
) -> anyhow::Result<()> {
    let asked = [runner.name, dialect.facts().folder];
    let written = [memory.runner.as_str(), memory.dialect.as_str()];
    if asked != written {
        return Err(Failure::new(format!(
            "`{}` has versions of this spec for {} on {}",
            path.display(),
            written[0],
            written[1]
        ))
        .hint("use another folder: each runner and each server has its own")
        .into());
    }
    let last = memory.versions.last();
    let changed = last.map(|last| folder.changed(last)).transpose()?.flatten();
    if let Some(name) = changed {
        return Err(Failure::new(format!(
            "`{}` was changed after it was written",
            path.join(name).display()
        ))
        .hint("restore it from version control: a version that was written never changes")
        .into());
    }
    Ok(())
}

fn as_generated(last: &Version, folder: &Folder) -> std::io::Result<Outcome> {
    let mut files = Vec::new();
    for name in last.files.keys() {
        let text = folder.text(name)?;
        files.push(Stale {
            path: name.clone(),
            before: text.clone(),
            after: text,
        });
    }
    Ok(Outcome {
        version: last.version,
        files,
        is_new: false,
    })
}

fn place(graph: &Graph, dialect: Dialect, bundle: &Bundle) -> Place {
    Place {
        dialect,
        control: bundle.control.clone(),
        owner: render::role_name(dialect, &bundle.control, "owner"),
        home: render::home(&graph.named_for(dialect), dialect).to_owned(),
    }
}

fn origin(spec: &str) -> String {
    format!(
        "Generated by windrow from the spec `{spec}`; edit the spec and generate the next version."
    )
}

/// A name as all runners take it.
fn word(name: &str) -> String {
    let letters = name.to_ascii_lowercase();
    letters.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

/// A version of a spec for a runner.
struct Edition<'a> {
    runner: &'a Runner,
    dialect: Dialect,
    spec: &'a str,
    version: u32,
    steps: &'a [Step],
}

impl Edition<'_> {
    /// The names of its migrations.
    fn slugs(&self) -> Vec<String> {
        let name = format!("windrow_{}_v{}", word(self.spec), self.version);
        let mut indexes = 0;
        let steps = self.steps.iter().map(|step| {
            if step.alone {
                indexes += 1;
                format!("{name}_index_{indexes}")
            } else {
                name.clone()
            }
        });
        steps.collect()
    }

    /// The number of its first migration, and how many digits a number has.
    fn first(
        &self,
        folder: &Folder,
        path: &Path,
        asked: Option<u64>,
    ) -> anyhow::Result<(u64, usize)> {
        let (prefix, digits) = match self.runner.order {
            Order::Number(prefix, digits) => (prefix, digits),
            Order::Django => ("", 4),
            Order::Alembic | Order::Sqitch => {
                return match asked {
                    None => Ok((0, 0)),
                    Some(_) => Err(Failure::new(format!(
                        "migrations of {} have no numbers",
                        self.runner.name
                    ))
                    .into()),
                };
            }
        };
        let (last, used) = folder.last(prefix);
        let digits = digits.max(used);
        match asked {
            Some(number) if number <= last => Err(Failure::new(format!(
                "`{}` has a migration with the number {last}: {number} would not come after it",
                path.display()
            ))
            .into()),
            Some(number) => Ok((number, digits)),
            None if last >= TIMES => Err(Failure::new(format!(
                "the migrations in `{}` are numbered by time",
                path.display()
            ))
            .hint("give the next number: `--number $(date -u +%Y%m%d%H%M%S)`")
            .into()),
            None => Ok((last + 1, digits)),
        }
    }

    /// Its files, which must not be there yet.
    fn files(
        &self,
        folder: &mut Folder,
        path: &Path,
        (first, digits): (u64, usize),
    ) -> anyhow::Result<BTreeMap<String, String>> {
        let mut files = BTreeMap::new();
        let all = self.steps.len();
        for (at, (slug, step)) in self.slugs().iter().zip(self.steps).enumerate() {
            let head = [
                format!("{slug}, {} of {all}: {}", at + 1, step.what),
                origin(self.spec),
            ];
            // Of a comment of XML, two hyphens would be the end.
            let head = head.map(|line| line.replace("--", "- -").replace(['\n', '\r'], " "));
            let told = Told {
                number: format!("{:0digits$}", first + at as u64),
                slug,
                id: &render::sha256(slug)[..12],
                previous: &folder.previous(self.runner.order)?,
                head: &head,
                alone: step.alone,
                up: &step.up,
                down: &step.down,
            };
            for (name, text) in self.runner.files(self.dialect, &told) {
                if folder.has(&name) {
                    return Err(Failure::new(format!(
                        "`{}` already exists",
                        path.join(&name).display()
                    ))
                    .hint(format!(
                        "if it is windrow's, restore `{}` from version control",
                        remembers(self.spec)
                    ))
                    .into());
                }
                // The next one comes behind this one.
                folder.put(&name, &text);
                files.insert(name, text);
            }
        }
        Ok(files)
    }
}

/// Where a folder remembers the versions of a spec.
pub fn memory(folder: &Path, spec: &str) -> PathBuf {
    folder.join(remembers(spec))
}
