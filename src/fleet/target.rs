//! A database of an inventory.

use std::path::PathBuf;

use super::password::Password;

/// One database that a command is called on.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server's name, with `/database` where the inventory lists databases.
    pub name: String,
    /// The server's name.
    pub server: String,
    /// Where the server is: host and port, or a socket. Two entries of an inventory may be of one server.
    pub place: String,
    /// The groups of the server.
    pub groups: Vec<String>,
    /// The spec file.
    pub spec: PathBuf,
    /// Address of the database, without a password.
    pub url: String,
    /// Where the password comes from.
    pub password: Password,
}

impl Target {
    /// Whether a word means it: its own name, or that of its server.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name == name || self.server == name
    }
}
