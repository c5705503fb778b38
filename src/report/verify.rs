//! What `verify` answers.

use std::fmt::Write as _;

use super::words::text;
use crate::answers::Verification;
use crate::ui::Align::{Left, Right};
use crate::ui::{Table, count};

/// What is not as it should be, and how many checks found nothing.
pub fn verify(verification: &Verification) -> String {
    let mut table = Table::new(&[
        ("", Left),
        ("check", Left),
        ("object", Left),
        ("count", Right),
        ("detail", Left),
    ]);
    let mut fine: Vec<(&str, i64)> = Vec::new();
    for check in &verification.checks {
        if check.severity == "ok" {
            match fine.iter_mut().find(|(known, _)| *known == check.check) {
                Some((_, times)) => *times += 1,
                None => fine.push((&check.check, 1)),
            }
            continue;
        }
        table.row([
            check.severity.clone(),
            check.check.clone(),
            text(check.object.as_ref()),
            count(check.count.unwrap_or_default()),
            text(check.detail.as_ref()),
        ]);
    }
    let mut out = String::new();
    if !table.is_empty() {
        let _ = writeln!(out, "{table}");
    }
    if !fine.is_empty() {
        let fine: Vec<String> = fine
            .iter()
            .map(|(name, times)| format!("{name} {}", count(*times)))
            .collect();
        let _ = writeln!(out, "checked without findings: {}", fine.join(", "));
    }
    out.push_str(if verification.clean {
        "clean\n"
    } else {
        "not clean\n"
    });
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::answers::read;

    #[test]
    fn a_verification_tells_what_is_not_right() {
        let document = json!({"clean": false, "checks": [
            {"check": "orphans", "object": "t.a", "severity": "ok", "count": 0, "detail": ""},
            {"check": "orphans", "object": "t.b", "severity": "violation", "count": 7, "detail": "rows without a parent"},
            {"check": "index", "object": "i", "severity": "ok", "count": 1, "detail": "valid"}]});
        insta::assert_snapshot!(verify(&read("verify", &document).expect("checks")), @r"
                   check    object  count  detail
        violation  orphans  t.b         7  rows without a parent

        checked without findings: orphans 1, index 1
        not clean
        ");
    }
}
