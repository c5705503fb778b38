//! Settings of a connection by their names, and who gave them: the first to say something counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What an address is read with: variables of the environment and the home of the user.
pub(super) struct Surroundings {
    variables: BTreeMap<String, String>,
}

impl Surroundings {
    pub(super) fn of_process() -> Surroundings {
        Surroundings::of(std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }))
    }

    pub(super) fn of(variables: impl IntoIterator<Item = (String, String)>) -> Surroundings {
        Surroundings {
            variables: variables.into_iter().collect(),
        }
    }

    /// A variable that says something.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// A file in the home of the user.
    pub(super) fn at_home(&self, name: &str) -> Option<PathBuf> {
        Some(Path::new(self.variable("HOME")?).join(name))
    }
}

/// Who gave a setting.
#[derive(Clone)]
pub(super) enum Origin {
    /// The address itself.
    Address,
    /// A line of a file.
    File(PathBuf, usize),
    /// A variable of the environment.
    Variable(&'static str),
}

impl Origin {
    /// What is wrong with a setting, and where it is. The address is shown anyway.
    pub(super) fn blame(&self, why: String) -> String {
        match self {
            Origin::Address => why,
            Origin::File(file, line) => format!("`{}`, line {line}: {why}", file.display()),
            Origin::Variable(name) => format!("{name}: {why}"),
        }
    }
}

/// One setting.
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) origin: Origin,
}

/// The settings so far.
#[derive(Default)]
pub(super) struct Given(Vec<Setting>);

impl Given {
    /// What the address says counts whatever else is said, and of it what comes last.
    pub(super) fn insert(&mut self, name: &str, value: String) {
        self.0.retain(|setting| setting.name != name);
        self.offer(name, value, Origin::Address);
    }

    /// Takes a setting that nobody has given yet.
    pub(super) fn offer(&mut self, name: &str, value: String, origin: Origin) {
        if self.get(name).is_none() {
            self.0.push(Setting {
                name: name.to_owned(),
                value,
                origin,
            });
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|setting| setting.name == name);
        found.map(|setting| setting.value.as_str())
    }

    /// Whether the address itself says it.
    pub(super) fn is_of_address(&self, name: &str) -> bool {
        let found = self.0.iter().find(|setting| setting.name == name);
        found.is_some_and(|setting| matches!(setting.origin, Origin::Address))
    }

    /// Takes a setting out.
    pub(super) fn take(&mut self, name: &str) -> Option<Setting> {
        let at = self.0.iter().position(|setting| setting.name == name)?;
        Some(self.0.remove(at))
    }

    pub(super) fn into_settings(self) -> Vec<Setting> {
        self.0
    }
}
