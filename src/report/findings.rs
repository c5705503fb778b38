//! What `check` found, in a few words.

use crate::fit::{Finding, Severity};
use crate::ui::counted;

/// `2 errors, 1 warning`; notices count where there is nothing else.
pub fn summary(findings: &[Finding]) -> String {
    let count = |severity| {
        findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count() as i64
    };
    let parts: Vec<String> = [
        (Severity::Error, "error", "errors"),
        (Severity::Warning, "warning", "warnings"),
        (Severity::Notice, "notice", "notices"),
    ]
    .into_iter()
    .filter(|(severity, ..)| count(*severity) > 0)
    .map(|(severity, one, many)| counted(count(severity), one, many))
    .collect();
    if parts.is_empty() {
        "no findings".to_owned()
    } else {
        parts.join(", ")
    }
}
