//! Words, keys and instants as people read them.

use std::time::Duration;

use serde_json::Value;

use crate::answers::Figures;
use crate::facts::{UNDATED, UNDATED_COUNTED};
use crate::ui::{count, counted, duration};

/// The first few keys of a list.
pub(super) fn keys(all: &[Value]) -> String {
    let mut text = all.iter().take(5).map(plain).collect::<Vec<_>>().join(", ");
    if all.len() > 5 {
        text += ", …";
    }
    text
}

/// So many families are kept for a reason, or more where no more are counted.
pub fn kept(reason: &str, families: i64) -> String {
    at_least(families, reason == UNDATED && families >= UNDATED_COUNTED)
}

/// The same for all reasons.
pub fn all_kept(figures: &Figures) -> String {
    let undated = figures.skipped.get(UNDATED).copied().unwrap_or(0);
    at_least(figures.skipped_families, undated >= UNDATED_COUNTED)
}

fn at_least(families: i64, more: bool) -> String {
    let families = count(families);
    if more {
        format!("{families} at least")
    } else {
        families
    }
}

/// A text of a document that may be NULL.
pub(super) fn text(text: Option<&String>) -> String {
    text.map(|text| instant(text)).unwrap_or_default()
}

/// Why runs are refused on this server although windrow was armed; nothing where nobody armed it.
pub fn though_armed(not_armed: Option<&String>) -> Option<&str> {
    let reason = not_armed.map(String::as_str);
    reason.filter(|reason| !reason.starts_with("not armed"))
}

/// A truth in a word.
pub(super) fn truth(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

/// A value of a list without its quotes.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => instant(text),
        Value::Bool(is_so) => truth(*is_so).to_owned(),
        other => other.to_string(),
    }
}

/// An instant to the second; any other text as it is.
pub fn instant(text: &str) -> String {
    let bytes = text.as_bytes();
    let dated = bytes.len() > 19
        && [bytes[4], bytes[7], bytes[10], bytes[13], bytes[16]] == *b"--T::"
        && bytes[..4].iter().all(u8::is_ascii_digit);
    if !dated {
        return text.to_owned();
    }
    let rest = text[19..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let zone = if rest == "+00:00" { "Z" } else { rest };
    format!("{}{zone}", &text[..19])
}

/// A duration of any length: days from two of them on.
pub(super) fn long(time: Duration) -> String {
    match time.as_secs() / 86_400 {
        0 | 1 => duration(time),
        days => counted(days as i64, "day", "days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_counted_to_the_end_is_at_least_so_much() {
        assert_eq!(kept(UNDATED, UNDATED_COUNTED - 1), "99,999");
        assert_eq!(kept(UNDATED, UNDATED_COUNTED), "100,000 at least");
        assert_eq!(kept("HELD", UNDATED_COUNTED), "100,000");
        let figures = serde_json::json!({"rule": "r", "families": 0, "rows": 0, "batches": 0, "tables": {},
            "skipped_families": 100_002, "skipped": {"HELD": 2, "UNDATED_MEMBER": 100_000}, "skipped_samples": {}});
        let figures: Figures = serde_json::from_value(figures).expect("figures");
        assert_eq!(all_kept(&figures), "100,002 at least");
    }

    #[test]
    fn instants_are_told_to_the_second() {
        let texts = [
            "2026-11-21T06:03:56.89711+00:00",
            "2026-11-21T06:03:56Z",
            "2026-05-26T05:48:48.18988",
            "nightly",
        ];
        assert_eq!(
            texts.map(instant),
            [
                "2026-11-21T06:03:56Z",
                "2026-11-21T06:03:56Z",
                "2026-05-26T05:48:48",
                "nightly"
            ]
        );
    }
}
