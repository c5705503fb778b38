//! The marks of the templates around what EXPLAIN is asked: `«` and `»` around a statement, `‹` and `›` in it around what only
//! a routine can run, such as INTO. No file has them.

/// What a template is read as: signs that nothing else of a spec has.
const SIGNS: [(char, char); 4] = [
    ('«', '\u{1}'),
    ('»', '\u{2}'),
    ('‹', '\u{3}'),
    ('›', '\u{4}'),
];

/// The source of a template, with signs for its marks.
pub(super) fn signed(source: &str) -> String {
    let mut signed = source.to_owned();
    // The marks are all that is not ASCII.
    if !source.is_ascii() {
        for (mark, sign) in SIGNS {
            signed = signed.replace(mark, sign.encode_utf8(&mut [0; 4]));
        }
    }
    signed
}

fn is_sign(letter: u8) -> bool {
    (1..=4).contains(&letter)
}

/// A text without its marks.
pub(super) fn unmarked(text: String) -> String {
    if !text.bytes().any(is_sign) {
        return text;
    }
    let parts = text.split(|letter: char| letter.is_ascii() && is_sign(letter as u8));
    parts.collect()
}

/// How long a text with marks is without them.
pub(super) fn length(text: &str) -> usize {
    text.len() - text.bytes().filter(|letter| is_sign(*letter)).count()
}

/// A marked statement, and what its file has before it.
pub(super) struct Marked<'a> {
    pub(super) before: &'a str,
    pub(super) text: String,
}

/// The marked statements of a text. What stands between two statements is none.
pub(super) fn statements(text: &str) -> Vec<Marked<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(begins) = text[from..].find('\u{1}').map(|at| from + at) {
        let ends = text[begins..]
            .find('\u{2}')
            .map_or(text.len(), |at| begins + at);
        found.push(Marked {
            before: &text[..begins],
            text: said(&text[begins + 1..ends]),
        });
        from = ends;
    }
    found
}

/// A text without its marked statements.
pub(super) fn outside(text: &str) -> String {
    let parts = text.split('\u{1}').enumerate();
    let parts = parts.map(|(number, part)| match number {
        0 => part,
        _ => part.split_once('\u{2}').map_or("", |(_, after)| after),
    });
    parts.collect()
}

/// A text on one line, without comments, and without what only a routine can run.
pub(super) fn said(text: &str) -> String {
    let mut said = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{3}') {
        said.push_str(before);
        rest = after.split_once('\u{4}').map_or("", |(_, after)| after);
    }
    said.push_str(rest);
    let code = said
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"));
    let words: Vec<&str> = code.flat_map(str::split_whitespace).collect();
    unmarked(words.join(" "))
}
