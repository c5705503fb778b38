//! The names in the text of a routine that windrow itself has written.

/// A text with other words for some; `other` is told what stands before a word. Texts and quoted names stay.
pub(super) fn replaced(text: &str, other: impl Fn(&str, &str) -> Option<String>) -> String {
    let mut made = String::new();
    let mut rest = text;
    let mut quote = None;
    while let Some(sign) = rest.chars().next() {
        let inside = quote.is_some();
        match (sign, quote) {
            ('\'' | '"' | '`', None) => quote = Some(sign),
            (_, Some(open)) if sign == open => quote = None,
            _ => {}
        }
        let length = if inside { 0 } else { word(rest) };
        if length == 0 {
            made.push(sign);
            rest = &rest[sign.len_utf8()..];
            continue;
        }
        let name = &rest[..length];
        made += &other(&made, name).unwrap_or_else(|| name.to_owned());
        rest = &rest[length..];
    }
    made
}

/// What stands between these words of a text; those in texts and quoted names are none.
pub(super) fn parts<'a>(text: &'a str, between: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut from, mut quote) = (0, None);
    for (at, sign) in text.char_indices() {
        if at < from {
            continue;
        }
        match (sign, quote) {
            ('\'' | '"' | '`', None) => quote = Some(sign),
            (_, Some(open)) if sign == open => quote = None,
            (_, None) if text[at..].starts_with(between) => {
                parts.push(&text[from..at]);
                from = at + between.len();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// The type with which a text declares a variable, one of those that are known. Variables are called `p_…` and the like.
pub(super) fn declared(text: &str, name: &str, types: &[&str]) -> Option<String> {
    if name.as_bytes().get(1) != Some(&b'_') {
        return None;
    }
    text.match_indices(name).find_map(|(at, _)| {
        let of_other = |before: char| before.is_alphanumeric() || "_.".contains(before);
        let after = &text[at + name.len()..];
        let kind = after.trim_start();
        let list = kind[word(kind)..].starts_with("[]");
        let kind = &kind[..word(kind)];
        let known = after.starts_with(' ') && types.contains(&kind);
        (known && !text[..at].ends_with(of_other))
            .then(|| format!("{kind}{}", if list { "[]" } else { "" }))
    })
}

/// How long the word at the beginning of a text is.
pub(super) fn word(text: &str) -> usize {
    let other = |sign: char| !(sign.is_ascii_alphanumeric() || sign == '_');
    text.find(other).unwrap_or(text.len())
}
