//! The user that a server runs as.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use super::kind::Kind;

/// The user and group that the server runs as.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Account {
    /// Root hands over to the server's own user or `nobody`; nobody else needs to.
    pub(super) fn for_server(kind: &Kind) -> Result<Option<Self>> {
        let status =
            fs::read_to_string("/proc/self/status").context("cannot read `/proc/self/status`")?;
        let ids = status
            .lines()
            .find_map(|line| line.strip_prefix("Uid:"))
            .unwrap_or_default();
        // Real, effective, saved and file-system user.
        if ids.split_whitespace().nth(1) != Some("0") {
            return Ok(None);
        }
        let users = fs::read_to_string("/etc/passwd").context("cannot read `/etc/passwd`")?;
        kind.accounts
            .iter()
            .chain(&["nobody"])
            .find_map(|name| Self::parse(&users, name))
            .map(Some)
            .ok_or_else(|| {
                anyhow!(
                    "{} cannot run as root\n\nhint: run as another user, or add `{}`",
                    kind.title,
                    kind.accounts[0]
                )
            })
    }

    fn parse(users: &str, name: &str) -> Option<Self> {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some(Self {
            uid: fields.next()?.parse().ok()?,
            gid: fields.next()?.parse().ok()?,
        })
    }

    /// Hands a directory over; others may enter it.
    pub(super) fn own(self, dir: &Path) -> Result<()> {
        chown(dir, Some(self.uid), Some(self.gid)).context("cannot hand the directory over")?;
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }
}
