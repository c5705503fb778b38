//! An address without its password, however it is written.

/// Hides every password in a text that is, or was meant to be, the address of a database.
///
/// Where it is not clear where a password ends, more than the password is hidden.
pub(super) fn redact(text: &str) -> String {
    let mut shown = text.to_owned();
    if let Some(scheme) = shown.find("://") {
        let start = scheme + 3;
        if let Some(end) = shown.rfind('@').filter(|&end| end > start)
            && let Some(colon) = shown[start..end].find(':')
        {
            shown.replace_range(start + colon + 1..end, "***");
        }
    }
    // `password` in a query string or a key=value text, and `sslpassword` with it.
    let lower = shown.to_ascii_lowercase();
    let Some(word) = lower.find("password") else {
        return shown;
    };
    let after = word + "password".len();
    let blank = shown[after..].len() - shown[after..].trim_start().len();
    if !shown[after + blank..].starts_with('=') {
        return shown;
    }
    let value = after + blank + 1;
    let is_url = shown.contains("://");
    let end = if is_url {
        shown[value..].find('&').map(|end| value + end)
    } else {
        None
    };
    let rest = end.map(|end| redact(&shown[end..])).unwrap_or_default();
    shown.truncate(value);
    shown.push_str("***");
    shown.push_str(&rest);
    shown
}
