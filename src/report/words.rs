//! Words, keys and instants as people read them.

use std::time::Duration;

use serde_json::Value;

use crate::ui::{counted, duration};

/// The first few keys of a list.
pub(super) fn keys(all: &[Value]) -> String {
    let mut text = all.iter().take(5).map(plain).collect::<Vec<_>>().join(", ");
    if all.len() > 5 {
        text += ", …";
    }
    text
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
