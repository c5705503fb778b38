//! An address without its password, however it is written.

use super::read::is_parameter;

/// Hides every password in a text that is, or was meant to be, the address of a database, and the value of every parameter that
/// no address has: it may be a password whose name is misspelt.
///
/// Where it is not clear where a password ends, more than the password is hidden.
pub(super) fn redact(text: &str) -> String {
    hidden(text, |name| is_secret(name) || !is_parameter(name))
}

/// Whether a text that was meant to be an address has a password in it.
pub(super) fn holds_password(text: &str) -> bool {
    hidden(text, is_secret) != text
}

/// `password` and `sslpassword`, and other names for them.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name != "passfile" && (name.contains("pass") || name.contains("pwd"))
}

/// The text without what stands between a user and the `@` behind him, and without the values that are to be hidden.
fn hidden(text: &str, is_hidden: fn(&str) -> bool) -> String {
    let mut shown = text.to_owned();
    let is_url = shown.contains("://");
    let start = shown.find("://").map_or(0, |at| at + 3);
    if let Some(end) = shown.rfind('@').filter(|&end| end > start)
        && let Some(colon) = shown[start..end].find(':')
    {
        shown.replace_range(start + colon + 1..end, "***");
    }
    // Of an address the query, else all of `name=value name = 'value'`.
    let mut from = if is_url {
        shown.find('?').map_or(shown.len(), |at| at + 1)
    } else {
        0
    };
    while let Some(equals) = shown[from..].find('=').map(|at| from + at) {
        let name = shown[from..equals].trim_end();
        let begin = name.rfind(|it: char| !is_of_name(it)).map_or(0, |at| {
            at + name[at..].chars().next().map_or(0, char::len_utf8)
        });
        let name = &name[begin..];
        let value = equals + 1;
        let end = if is_url {
            shown[value..].find('&').map(|at| value + at)
        } else {
            None
        };
        if is_hidden(name) {
            shown.replace_range(value..end.unwrap_or(shown.len()), "***");
            from = value + "***".len();
        } else {
            from = end.unwrap_or(value).max(value);
        }
    }
    shown
}

fn is_of_name(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_' || it == '-'
}
