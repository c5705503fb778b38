//! What a version of an installation does, statement by statement, and how two versions differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::bundle::{Bundle, File, Kind, Object, Statement, What};

/// A statement as the bundle has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Line {
    /// What it does, in the words of the bundle.
    pub(super) what: String,
    /// Its SQL, without a semicolon at its end.
    pub(super) sql: String,
    /// Whether it must be outside of a transaction.
    pub(super) alone: bool,
}

impl Line {
    /// A statement that may be in a transaction.
    pub(super) fn new(what: &str, sql: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            sql: sql.into(),
            alone: false,
        }
    }

    /// The index that it makes, drops, or prepares to drop.
    pub(super) fn index(&self) -> Option<&str> {
        let verbs = [
            "create index ",
            "drop index ",
            "look for index ",
            "parse index ",
            "forget index ",
        ];
        verbs.iter().find_map(|verb| self.what.strip_prefix(verb))
    }
}

/// All statements of a version: what installs it, and what takes all of it away again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Text {
    /// The numbered files, in order.
    pub(super) install: Vec<Line>,
    /// Their undo.
    pub(super) undo: Vec<Line>,
}

impl Text {
    /// What a bundle does.
    pub(super) fn of(bundle: &Bundle) -> Self {
        let numbered = |file: &&File| name(file).starts_with(|first: char| first.is_ascii_digit());
        let files = bundle.files.iter().filter(numbered);
        let (undo, install): (Vec<&File>, Vec<&File>) =
            files.partition(|file| name(file).starts_with("90_"));
        let lines = |files: Vec<&File>| {
            let statements = files.into_iter().flat_map(|file| &file.statements);
            statements.map(line).collect()
        };
        Self {
            install: lines(install),
            undo: lines(undo),
        }
    }

    /// The statements that make indexes outside of a transaction, by the names of these, in order.
    pub(super) fn indexes(&self) -> Vec<(&str, &str)> {
        let alone = self.install.iter().filter(|line| line.alone);
        alone
            .filter_map(|line| Some((line.index()?, line.sql.as_str())))
            .collect()
    }

    /// The statements that drop an index.
    pub(super) fn drops_of(&self, index: &str) -> Vec<Line> {
        let undo = self.undo.iter();
        undo.filter(|line| line.index() == Some(index))
            .cloned()
            .collect()
    }

    /// The names of all indexes that the undo takes away.
    pub(super) fn index_names(&self) -> BTreeSet<&str> {
        self.undo.iter().filter_map(Line::index).collect()
    }

    /// What this version makes of these kinds, by kind and name, each with the heads of its statements: all but the body.
    fn made(&self, kinds: &[Kind]) -> BTreeMap<(&'static str, String), BTreeSet<&str>> {
        let mut made: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        for line in &self.install {
            let what = What::new(&line.what);
            let Some(Object { kind, name }) = what.made() else {
                continue;
            };
            if kinds.contains(kind) {
                let head = line.sql.split(" $windrow$").next().unwrap_or_default();
                made.entry((kind.word(), name.clone()))
                    .or_default()
                    .insert(head);
            }
        }
        made
    }

    /// What of these kinds this version makes and another one does not; with `reshaped` also what that one makes with other
    /// parameters, results or columns.
    pub(super) fn gone(
        &self,
        other: &Text,
        kinds: &[Kind],
        reshaped: bool,
    ) -> Vec<(&'static str, String)> {
        let theirs = other.made(kinds);
        let ours = self.made(kinds).into_iter();
        let gone = ours.filter(|(object, heads)| match theirs.get(object) {
            None => true,
            Some(others) => reshaped && others != heads,
        });
        gone.map(|(object, _)| object).collect()
    }
}

fn name(file: &File) -> &str {
    file.path.rsplit('/').next().unwrap_or(&file.path)
}

fn line(statement: &Statement) -> Line {
    Line {
        what: statement.what.as_str().to_owned(),
        sql: statement.sql.clone(),
        alone: statement.alone,
    }
}
