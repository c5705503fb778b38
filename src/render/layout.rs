//! How SQL is laid out: no line is longer than a person reads at once.

use super::marks::length;

/// How long a line may be.
pub(super) const WIDTH: usize = 140;

/// Lays a statement out on as few lines as it takes: what does not fit into one is broken where a condition or an item of a
/// list begins, outside of parentheses first, and continues further to the right.
pub(super) fn fit(text: &str) -> String {
    let mut parts = text.lines().filter(|part| !part.trim().is_empty());
    let Some(first) = parts.next() else {
        return String::new();
    };
    let indent = first.len() - first.trim_start().len();
    let mut joined = first.trim().to_owned();
    for part in parts.map(str::trim) {
        let bare = joined.ends_with('(') || part.starts_with(')');
        joined.extend([if bare { "" } else { " " }, part]);
    }
    let inner_space = joined.contains("( ") || joined.contains(" )");
    if indent + length(&joined) <= WIDTH && !inner_space {
        joined.insert_str(0, &" ".repeat(indent));
        return joined;
    }
    let room = WIDTH - indent - 4;
    let mut lines = vec![" ".repeat(indent)];
    for piece in pieces(&joined, room) {
        let line = lines.last_mut().expect("a line");
        let bare = line.trim().is_empty() || line.ends_with('(') || piece.starts_with(')');
        let gap = if bare { "" } else { " " };
        if line.trim().is_empty() || length(line) + gap.len() + length(piece) <= WIDTH {
            line.extend([gap, piece]);
        } else {
            lines.push(format!("{}{piece}", " ".repeat(indent + 4)));
        }
    }
    lines.join("\n")
}

/// A text with no longer lines: they are broken, comments between words, also what MySQL keeps as the comment of a routine. A
/// line with code before a comment is kept.
pub(super) fn wrapped(text: &str) -> String {
    let mut laid = String::new();
    for line in text.lines() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        match code.strip_prefix("-- ") {
            _ if code.starts_with("COMMENT '") => laid.push_str(&worded(indent, "    ", code)),
            _ if line.len() <= WIDTH => laid.push_str(line),
            Some(comment) => laid.push_str(&worded(indent, "-- ", comment)),
            None if code.contains("--") => laid.push_str(line),
            None => laid.push_str(&fit(line)),
        }
        laid.push('\n');
    }
    laid
}

/// Words on as many lines as it takes, each after `indent` and `mark`. What MySQL reads as one text has its mark from the second
/// line on.
fn worded(indent: &str, mark: &str, text: &str) -> String {
    let is_text = mark.trim().is_empty();
    // The hash of the body is put in later, before the end of the text.
    let hash = " [body 0123456789ab]".len();
    let words: Vec<&str> = text.split_whitespace().collect();
    let length = |at: usize| {
        words[at].len()
            + if is_text && at + 1 == words.len() {
                hash
            } else {
                0
            }
    };
    let mut lines: Vec<String> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + length(at) <= WIDTH => line.extend([" ", word]),
            None if is_text => lines.push(format!("{indent}{word}")),
            _ => lines.push(format!("{indent}{mark}{word}")),
        }
    }
    lines.join("\n")
}

/// What a line consists of: declarations, conditions, items of lists. Texts and quoted names stay whole, and so does what is between
/// parentheses where that is short enough.
fn pieces(line: &str, room: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    cut(&BEGIN, line, room, 0, &mut pieces);
    pieces
}

fn cut<'a>(words: &[&str], line: &'a str, room: usize, depth: usize, pieces: &mut Vec<&'a str>) {
    let mut cuts = Vec::new();
    let (mut quote, mut inside, mut deepest) = (None, 0_usize, 0);
    for (at, sign) in line.bytes().enumerate() {
        match (sign, quote) {
            (b'\'' | b'"' | b'`', None) => quote = Some(sign),
            (_, Some(open)) if sign == open => quote = None,
            (b'(' | b'[', None) => inside += 1,
            (b')' | b']', None) => inside = inside.saturating_sub(1),
            (b' ', None) if inside <= depth => {
                let rest = &line.as_bytes()[at + 1..];
                let begins = |word: &&str| rest.starts_with(word.as_bytes());
                let before = &line[..at];
                if before.ends_with([',', ';'])
                    || words.iter().any(begins) && !before.ends_with(" LEFT")
                {
                    cuts.push(at);
                }
            }
            _ => {}
        }
        deepest = deepest.max(inside);
    }
    let mut from = 0;
    for to in cuts.into_iter().chain([line.len()]) {
        let piece = &line[from..to];
        from = to + 1;
        if length(piece) <= room {
            pieces.push(piece);
        } else if depth < deepest {
            cut(words, piece, room, depth + 1, pieces);
        } else if words == BEGIN {
            cut(&MAY_BEGIN, piece, room, 0, pieces);
        } else {
            pieces.push(piece);
        }
    }
}

/// What a line may begin with.
const BEGIN: [&str; 13] = [
    "AND ",
    "OR ",
    "FROM ",
    "USING ",
    "JOIN ",
    "LEFT JOIN ",
    "STRAIGHT_JOIN ",
    "WHERE ",
    "ORDER BY ",
    "SET ",
    "WHEN ",
    "ELSE ",
    "THEN ",
];

/// What a line may begin with where it would be too long otherwise.
const MAY_BEGIN: [&str; 4] = ["ON ", "SQL SECURITY ", "DROP INDEX ", "' DROP INDEX "];

/// The head of each routine of PostgreSQL on as few lines as it takes: what it is given and answers, and below that, or behind it
/// where there is room, how it is called. Its end is one line.
pub(super) fn heads(text: &str) -> String {
    let open = "\nAS $windrow$\n";
    let laid = with_heads(text, "CREATE OR REPLACE FUNCTION ", open, |head| {
        match head.split_once("\nLANGUAGE ") {
            // A comment would hide what comes after it.
            Some((signature, called)) if !head.contains("--") => {
                let signature = fit(&one_space_apart(signature));
                let called = fit(&format!("LANGUAGE {called} AS $windrow$"));
                let last = signature.lines().last().unwrap_or_default();
                let both = length(last) + 1 + length(&called);
                let between = if both <= WIDTH { " " } else { "\n" };
                format!("{signature}{between}{called}\n")
            }
            _ => format!("{head}{open}"),
        }
    });
    laid.replace("\nEND\n$windrow$;", "\nEND $windrow$;")
}

/// A text whose heads, each from `create` to `open`, are laid out with what opens the body after them.
fn with_heads(text: &str, create: &str, open: &str, lay: impl Fn(&str) -> String) -> String {
    let mut laid = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(create) {
        laid.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(end) = rest.find(open) else { break };
        laid.push_str(&lay(&rest[..end]));
        rest = &rest[end + open.len()..];
    }
    laid + rest
}

/// Lines with one space between words: what is behind one another needs no columns.
fn one_space_apart(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n")
}

/// The signature of each procedure of MySQL and MariaDB on as few lines as it takes, with whose rights it has. The definer is
/// named later.
pub(super) fn signatures(text: &str, owner: &str) -> String {
    let (create, open) = ("CREATE PROCEDURE ", "\nCOMMENT '");
    let defined = format!("CREATE DEFINER = {owner} PROCEDURE ");
    with_heads(text, create, open, |head| {
        let signature = head.replacen(create, &defined, 1);
        fit(&signature).replacen(&defined, create, 1) + open
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comment_of_a_routine_leaves_room_for_the_hash_of_its_body() {
        let words = "word ".repeat(26);
        let laid = wrapped(&format!("COMMENT '{words}end'"));
        let hashed = laid.replace("end'", "end [body 0123456789ab]'");
        assert_eq!(hashed.lines().count(), 2, "{hashed}");
        assert!(hashed.lines().all(|line| line.len() <= WIDTH), "{hashed}");
        assert!(hashed.contains("\n    end [body 0"), "{hashed}");
    }

    #[test]
    fn lines_are_filled_and_long_ones_broken() {
        assert_eq!(
            fit("    SELECT f(\n  a\n  )\n\n  FROM b"),
            "    SELECT f(a) FROM b"
        );
        let long = format!(
            "  DELETE FROM t WHERE {}'a AND b'",
            "x = 'y, z' AND ".repeat(20)
        );
        let laid = fit(&long);
        assert!(laid.lines().count() > 2, "{laid}");
        assert!(laid.lines().all(|line| line.len() <= WIDTH), "{laid}");
        assert_eq!(
            laid.split_whitespace().count(),
            long.split_whitespace().count()
        );
        assert!(
            laid.contains("'y, z'") && laid.ends_with("'a AND b'"),
            "{laid}"
        );
    }

    #[test]
    fn heads_are_short() {
        let body = "    SELECT 1;\n$windrow$;\n";
        let head = "CREATE OR REPLACE FUNCTION w.f(\n    p integer\n)\nRETURNS text\nLANGUAGE sql\nSET a = b SET c = d";
        let laid = "CREATE OR REPLACE FUNCTION w.f(p integer) RETURNS text LANGUAGE sql SET a = b SET c = d AS $windrow$";
        assert_eq!(
            heads(&format!("-- f\n{head}\nAS $windrow$\n{body}")),
            format!("-- f\n{laid}\n{body}")
        );
        let more = ["e = f"; 10].join(" ");
        let laid = laid
            .replace(" LANGUAGE", "\nLANGUAGE")
            .replace("c = d", &format!("c = d {more}"));
        assert_eq!(
            heads(&format!("-- f\n{head} {more}\nAS $windrow$\n{body}")),
            format!("-- f\n{laid}\n{body}")
        );
        let body = "AS $windrow$\nBEGIN\nEND\n$windrow$;\n";
        assert!(heads(body).ends_with("BEGIN\nEND $windrow$;\n"));
        let head = "CREATE PROCEDURE w.f(IN p integer)\nSQL SECURITY DEFINER\nCOMMENT 'x'";
        let laid = "CREATE PROCEDURE w.f(IN p integer) SQL SECURITY DEFINER\nCOMMENT 'x'";
        assert_eq!(signatures(head, "o"), laid);
    }
}
