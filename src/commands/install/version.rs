//! Which windrow installed last: an older one does not know what that one made, and replaces routines by its own.

use super::Session;
use crate::failure::{self, Failure};

/// Refuses where a newer windrow has installed, and where nobody can see what is. Files that were applied by hand note no version.
pub(super) fn refuse_older(session: &mut Session, control: &str, own: &str) -> anyhow::Result<()> {
    // An installation of an earlier version, or none, has no such table.
    let rows = session.database.query(&session.calls.versions(), &[]);
    // PostgreSQL: one is there. What is to be compared with it would count as nothing: holds, policies, another spec.
    if let Err(error) = &rows
        && failure::errno(error).is_none()
        && failure::is_denied(error)
    {
        return Err(Failure::new(format!(
            "this account may not read what is installed in `{control}`"
        ))
        .hint("whoever installed it, or a superuser, can make this account a member of its operator role")
        .into());
    }
    let mut known = rows
        .unwrap_or_default()
        .into_iter()
        .filter_map(|row| row.into_iter().nth(1).flatten());
    match known.next() {
        Some(installed) if is_newer(&installed, own) => Err(Failure::new(format!(
            "windrow {installed} installed what is here, and this is windrow {own}, which is older"
        ))
        .hint(
            "use that version, or a newer one; `--downgrade` installs this one all the same: what the newer one added to the run history \
             stays, and this version was not tested with it",
        )
        .into()),
        _ => Ok(()),
    }
}

/// Whether one version comes after another. What follows the three numbers, such as a commit, says nothing of that.
fn is_newer(one: &str, other: &str) -> bool {
    match (numbers(one), numbers(other)) {
        (Some(one), Some(other)) => one > other,
        _ => false,
    }
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let end = version.find(|it: char| !(it.is_ascii_digit() || it == '.'));
    let mut parts = version[..end.unwrap_or(version.len())].split('.');
    let mut next = || parts.next()?.parse().ok();
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (one, other) in [
            ("0.2.1 (abc 2026-01-01)", "0.2.0 (def 2027-01-01)"),
            ("0.10.0", "0.9.9 (development build)"),
            ("1.0.0-rc.1 (abc)", "0.99.99"),
        ] {
            assert!(is_newer(one, other), "{one} {other}");
            assert!(!is_newer(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("0.2.0 (abc 2027-01-01)", "0.2.0 (def 2026-01-01)"),
            ("", "0.2.0"),
            ("of somebody", "0.2.0"),
            ("9.9", "0.2.0"),
        ] {
            assert!(!is_newer(one, other), "{one} {other}");
        }
    }
}
