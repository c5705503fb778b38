//! Which windrow installed last: an older one does not know what that one made, and replaces routines by its own.

use super::Session;
use crate::dialect::Dialect;
use crate::failure::{self, Failure};
use crate::render;

/// Refuses where a newer windrow has installed, and where this account cannot see which one did. Files that were applied by hand note
/// no version.
pub(super) fn refuse_older(session: &mut Session, control: &str, own: &str) -> anyhow::Result<()> {
    // An installation of an earlier version, or none, has no such table.
    let rows = session.database.query(&session.calls.versions(), &[]);
    // PostgreSQL: one is there. What is to be compared with it would count as nothing: holds, policies, another spec.
    if let Err(error) = &rows
        && failure::errno(error).is_none()
        && failure::is_denied(error)
        && !broke_off(session, control)?
    {
        return Err(Failure::new(format!(
            "this account may not read what is installed in `{control}`"
        ))
        .hint(
            "whoever installed it, or a superuser, can make this account a member of its operator role that inherits its rights",
        )
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

/// Whether this account is a member that is denied what the role itself has no right to: an installation that broke off has not come to
/// `51_rights.sql`, and whoever began it gave the membership of the owner role back. It is gone on with.
fn broke_off(session: &mut Session, control: &str) -> anyhow::Result<bool> {
    let role = |suffix| render::role_name(Dialect::Postgres, control, suffix);
    let (operator, owner) = (role("operator"), role("owner"));
    let sql = "SELECT 1 FROM pg_catalog.pg_roles AS r JOIN pg_catalog.pg_namespace AS n ON n.nspname = $1
               LEFT JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = 'installed_version'
               WHERE r.rolname = $2
                 AND NOT (pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
                     AND pg_catalog.has_table_privilege(r.oid, c.oid, 'SELECT'))
                 AND EXISTS (
                     SELECT FROM pg_catalog.pg_roles AS m
                     WHERE m.rolname IN ($2, $3) AND pg_catalog.pg_has_role(current_user, m.oid, 'MEMBER')
                 )";
    let parameters = [control, &operator, &owner].map(Some);
    let rows = session.database.query(sql, &parameters)?;
    Ok(!rows.is_empty())
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
