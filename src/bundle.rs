//! The generated files of one spec for one dialect: in memory first, then written where bytes differ, or compared.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

pub use self::what::{Kind, Object, Verb, What};

mod what;

/// One statement as the server takes it, without a client's terminator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What it does.
    pub what: What,
    /// The SQL text, ending without a semicolon.
    pub sql: String,
    /// Whether it must run outside a transaction block (CREATE INDEX CONCURRENTLY).
    pub alone: bool,
    /// What the catalog shows afterwards; none where nothing is compared.
    pub shown: Option<Shown>,
}

/// What the catalog shows of a routine, an event or a trigger: its body, on PostgreSQL after a line that says how it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The text.
    pub text: String,
    /// Its hash, as the comment of the object names it and verify() computes it from the catalog.
    pub hash: String,
}

/// One generated file.
#[derive(Clone, Debug)]
pub struct File {
    /// Path below `generated/`, e.g. `dolphinscheduler/postgres/10_control.sql`.
    pub path: String,
    /// The statements in order.
    pub statements: Vec<Statement>,
    /// The whole text of the file, as `psql -f` takes it.
    pub text: String,
    /// Whether it is of the kernel: the same text in every spec, but for the names of schema and owner and what it is given.
    pub kernel: bool,
}

/// What is written of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For reviews and version control: what is the spec's own. Of the kernel, which files there are and what they are given.
    Review,
    /// For a client: every file whole, in the order of the names.
    Client,
}

/// All files of one spec for one dialect, sorted by path; numbered ones are applied in this order.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Name of the control schema.
    pub control: String,
    /// The files, as a client applies them.
    pub files: Vec<File>,
    /// What represents the files of the kernel where a person reviews.
    pub stand_ins: Vec<File>,
    /// Queries for what is not as it was installed and is no body: owners, rights, constraints. Object, problem, remedy.
    pub deviations: Vec<String>,
    /// The same of the schedule; on PostgreSQL it needs pg_cron.
    pub schedule: String,
}

/// A statement of a generated routine with literals in place of variables.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Where it comes from, for messages.
    pub what: String,
    /// The table whose index it needs.
    pub table: String,
    /// A statement that EXPLAIN takes.
    pub sql: String,
    /// The settings of the planner of PostgreSQL that are off in the routine.
    pub off: Vec<&'static str>,
}

impl Probe {
    /// The alias of a table of the application that represents a work table of MySQL and MariaDB: it is read whole.
    pub const FED: &'static str = "fed";

    /// The settings of the planner of PostgreSQL that routines turn off.
    pub const SETTINGS: [&'static str; 5] = [
        "enable_seqscan",
        "enable_bitmapscan",
        "enable_sort",
        "enable_hashjoin",
        "enable_mergejoin",
    ];
}

/// A file on disk that is not what the bundle says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// Path below the folder.
    pub path: String,
    /// What is there; none where the file is missing.
    pub before: Option<String>,
    /// What should be there; none where the file should be removed.
    pub after: Option<String>,
}

impl Bundle {
    /// The files of a form.
    pub fn form(&self, form: Form) -> impl Iterator<Item = &File> {
        let kept = move |file: &&File| form == Form::Client || !file.kernel;
        let stand_ins = self.stand_ins.iter();
        let stand_ins = stand_ins.filter(move |_| form == Form::Review);
        self.files.iter().filter(kept).chain(stand_ins)
    }

    /// Compares the bundle with a folder: what is missing, what differs, and what is left from an earlier spec.
    ///
    /// A file is left over only when it says itself that windrow generated it from this very spec.
    pub fn compare(&self, form: Form, folder: &Path) -> io::Result<Vec<Stale>> {
        let mut stale = Vec::new();
        for file in self.form(form) {
            let before = read(&folder.join(&file.path))?;
            if before.as_deref() != Some(file.text.as_str()) {
                stale.push(Stale {
                    path: file.path.clone(),
                    before,
                    after: Some(file.text.clone()),
                });
            }
        }
        let folders: BTreeSet<&str> = self
            .form(form)
            .filter_map(|file| Some(file.path.rsplit_once('/')?.0))
            .collect();
        for below in folders {
            let spec = below.split('/').next().unwrap_or(below);
            for name in names(&folder.join(below))? {
                let path = format!("{below}/{name}");
                if self.form(form).any(|file| file.path == path) {
                    continue;
                }
                let before = read(&folder.join(&path))?;
                if before.as_deref().is_some_and(|text| is_ours(text, spec)) {
                    stale.push(Stale {
                        path,
                        before,
                        after: None,
                    });
                }
            }
        }
        stale.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(stale)
    }

    /// Makes a folder what the bundle says, touching only what differs, and says what that was.
    pub fn write(&self, form: Form, folder: &Path) -> io::Result<Vec<Stale>> {
        let stale = self.compare(form, folder)?;
        for change in &stale {
            let path = folder.join(&change.path);
            match &change.after {
                Some(text) => {
                    if let Some(parent) = path.parent() {
                        fs::create_dir_all(parent)?;
                    }
                    fs::write(path, text)?;
                }
                None => fs::remove_file(path)?,
            }
        }
        Ok(stale)
    }
}

/// Whether a text says of itself that it was generated from this spec.
fn is_ours(text: &str, spec: &str) -> bool {
    let mark = format!("Generated by windrow from the spec `{spec}`");
    text.lines().take(5).any(|line| line.contains(&mark))
}

/// A text file; none where there is no file, empty where it is not text.
fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8(bytes).unwrap_or_default())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Names of the files in a folder, sorted; none where there is no folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file()
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(files: &[(&str, &str)]) -> Bundle {
        let file = |(name, text): &(&str, &str)| File {
            path: format!("demo/postgres/{name}"),
            statements: Vec::new(),
            text: format!(
                "-- {text}.\n-- Generated by windrow from the spec `demo`; edit the spec.\n"
            ),
            kernel: false,
        };
        Bundle {
            control: "windrow_demo".to_owned(),
            files: files.iter().map(file).collect(),
            stand_ins: Vec::new(),
            deviations: Vec::new(),
            schedule: String::new(),
        }
    }

    fn paths(stale: &[Stale]) -> Vec<&str> {
        stale.iter().map(|change| change.path.as_str()).collect()
    }

    #[test]
    fn only_what_differs_is_touched() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let first = bundle(&[("10_control.sql", "one"), ("30_a.sql", "two")]);
        assert_eq!(first.write(Form::Review, folder.path())?.len(), 2);
        assert_eq!(first.write(Form::Review, folder.path())?, []);
        let changed = bundle(&[("10_control.sql", "one"), ("30_a.sql", "other")]);
        assert_eq!(
            paths(&changed.compare(Form::Review, folder.path())?),
            ["demo/postgres/30_a.sql"]
        );
        assert_eq!(
            paths(&changed.write(Form::Review, folder.path())?),
            ["demo/postgres/30_a.sql"]
        );
        Ok(())
    }

    #[test]
    fn foreign_files_stay() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        bundle(&[("10_control.sql", "one"), ("30_old.sql", "two")])
            .write(Form::Review, folder.path())?;
        let below = folder.path().join("demo/postgres");
        fs::write(below.join("mine.sql"), "SELECT 1;\n")?;
        fs::write(
            below.join("other.sql"),
            "-- x\n-- Generated by windrow from the spec `demo2`; edit.\n",
        )?;
        fs::create_dir(below.join("folder"))?;
        let removed = bundle(&[("10_control.sql", "one")]).write(Form::Review, folder.path())?;
        assert_eq!(paths(&removed), ["demo/postgres/30_old.sql"]);
        assert_eq!(names(&below)?, ["10_control.sql", "mine.sql", "other.sql"]);
        Ok(())
    }
}
