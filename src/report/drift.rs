//! The output of `diff`.

use std::fmt::Write as _;

use crate::drift::Drift;

/// An object a line, with its differences below it; nothing where all is as generated.
pub fn drift(found: &[Drift]) -> String {
    let mut out = String::new();
    for object in found {
        let _ = writeln!(
            out,
            "{} {}: {}",
            object.kind.title(),
            object.name,
            object.detail
        );
        out += &object.diff;
        if !object.statement.is_empty() {
            let _ = writeln!(out, "    {}", object.statement);
        }
    }
    out
}
