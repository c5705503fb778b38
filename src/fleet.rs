//! Many databases under one command: the inventory, and which of its databases a call is about.
//!
//! An inventory names servers, and the spec of each. A server may have many databases of the same application, such as one for
//! each tenant; each of them is a target of its own.

mod inventory;
mod password;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

pub use inventory::{Inventory, parse};
pub use password::Password;

/// One database that a command is called on.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server's name, with `/database` where the inventory lists databases.
    pub name: String,
    /// The server's name.
    pub server: String,
    /// The groups of the server.
    pub groups: Vec<String>,
    /// The spec file.
    pub spec: PathBuf,
    /// Address of the database, without a password.
    pub url: String,
    /// Where the password comes from.
    pub password: Password,
}

impl Inventory {
    /// The databases that a call is about: those of the groups and of the names, of which none means all.
    ///
    /// # Errors
    ///
    /// Names a group or a name that the inventory does not have.
    pub fn select(self, groups: &[String], names: &[String]) -> Result<Vec<Target>, Unknown> {
        for group in groups {
            if !self.targets.iter().any(|it| it.groups.contains(group)) {
                let known = self.targets.iter().flat_map(|it| it.groups.clone());
                return Err(Unknown::new("group", group, known));
            }
        }
        for name in names {
            if !self.targets.iter().any(|it| it.is_named(name)) {
                let known = self.targets.iter().map(|it| it.name.clone());
                return Err(Unknown::new("server or database", name, known));
            }
        }
        let mut targets = self.targets;
        targets.retain(|it| {
            (groups.is_empty() || groups.iter().any(|group| it.groups.contains(group)))
                && (names.is_empty() || names.iter().any(|name| it.is_named(name)))
        });
        Ok(targets)
    }
}

impl Target {
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.server == name
    }
}

/// A group or a name that is not in the inventory.
#[derive(Debug)]
pub struct Unknown {
    /// What it would be.
    pub kind: &'static str,
    /// The word.
    pub word: String,
    /// What there is.
    pub known: Vec<String>,
}

impl Unknown {
    fn new(kind: &'static str, word: &str, known: impl Iterator<Item = String>) -> Unknown {
        let mut known: Vec<String> = known.collect();
        known.sort();
        known.dedup();
        Unknown {
            kind,
            word: word.to_owned(),
            known,
        }
    }
}
