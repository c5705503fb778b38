//! What a file of the kernel is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::render::names::sha256;

/// What was asked of texts so far, by path. They are the same in every spec.
type Known = Mutex<BTreeMap<&'static str, Arc<str>>>;

/// A text of the kernel.
#[derive(Clone, Copy)]
pub(super) struct Text {
    /// Where it is, below `templates/kernel/`.
    pub(super) path: &'static str,
    pub(super) sql: &'static str,
}

impl Text {
    /// Its line in a lock, as `sha256sum` writes it.
    pub(super) fn locked(&self) -> Arc<str> {
        static LOCKED: Known = Mutex::new(BTreeMap::new());
        self.once(&LOCKED, || {
            format!("{}  templates/kernel/{}\n", sha256(self.sql), self.path)
        })
    }

    /// Its lines that say what statements do, and which of them an installation does for each archive.
    pub(super) fn markers(&self) -> Arc<str> {
        static MARKERS: Known = Mutex::new(BTreeMap::new());
        self.once(&MARKERS, || {
            let lines = self.sql.split_inclusive('\n');
            lines
                .filter(|line| line.starts_with("--# ") || line.starts_with("--+ "))
                .collect()
        })
    }

    /// It with its parts. Of which kernel they are, its path says.
    pub(super) fn whole(&self, with_parts: impl FnOnce(&str) -> String) -> Arc<str> {
        static WHOLE: Known = Mutex::new(BTreeMap::new());
        self.once(&WHOLE, || with_parts(self.sql))
    }

    fn once(&self, known: &Known, make: impl FnOnce() -> String) -> Arc<str> {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let text = known.entry(self.path).or_insert_with(|| make().into());
        Arc::clone(text)
    }
}

/// One file of the kernel.
#[derive(Clone, Copy)]
pub(crate) struct KernelFile {
    /// Its name among the generated files.
    pub(crate) name: &'static str,
    /// What it is for.
    pub(crate) purpose: &'static str,
    pub(super) text: Text,
    pub(super) prologue: Prologue,
}

/// What is in front of the text of a file: who applies it, and what that session is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Prologue {
    /// The owner role, in the control schema.
    Owner,
    /// The same, for routines that COMMIT: they may have no search path of their own, so that their text names the schema,
    /// which is called `windrow` in the kernel.
    Commits,
    /// Who installs: roles and schema may not be there yet. It is given the document of the spec, and becomes the owner.
    Installer,
    /// The owner role, in the control schema. It is given the document of the rules.
    Rules,
    /// Who installs; it is given what the schedule starts.
    Schedule,
    /// Who uninstalls; it is given what is deleted. A line of the text represents the statements that drop the indexes.
    Undo,
}
