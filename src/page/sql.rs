//! SQL with a little colour.

use super::html::Html;
use crate::dialect::Dialect;

/// The words that are set apart.
const WORDS: &str = " ALL ALTER AND ANY ARRAY AS ASC BETWEEN BY CASE COLUMNS CONCURRENTLY CREATE DELETE DESC DISTINCT ELSE END EXISTS \
                     FALSE FOR FROM GROUP IF IN INDEX INTO IS JOIN LATERAL LEFT LIMIT LOCKED NOT NULL ON ONLY OR ORDER PATH \
                     RETURNING SELECT SET SKIP STRAIGHT_JOIN TABLE THEN TRUE UNION UNIQUE UPDATE USING VALUES WHEN WHERE WITH ";

/// What a piece of a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Keyword,
    Text,
    Comment,
}

/// Adds statements, each with a semicolon at its end.
pub(super) fn block<'a>(
    html: &mut Html,
    dialect: Dialect,
    statements: impl IntoIterator<Item = &'a str>,
) {
    html.put("<pre class=\"sql\" tabindex=\"0\"><code>");
    for (at, statement) in statements.into_iter().enumerate() {
        if at > 0 {
            html.put("\n");
        }
        for (kind, piece) in pieces(statement, dialect) {
            match kind {
                Kind::Plain => html.text(piece),
                Kind::Keyword => html.put("<b>").text(piece).put("</b>"),
                Kind::Text => html.put("<i>").text(piece).put("</i>"),
                Kind::Comment => html.put("<em>").text(piece).put("</em>"),
            };
        }
        if !statement.ends_with(';') {
            html.put(";");
        }
    }
    html.put("</code></pre>\n");
}

/// A statement in pieces, which together are all of it.
fn pieces(text: &str, dialect: Dialect) -> Vec<(Kind, &str)> {
    let mut found: Vec<(Kind, &str)> = Vec::new();
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let (kind, length) = match sign {
            '-' if rest.starts_with("--") => (Kind::Comment, rest.find('\n').unwrap_or(rest.len())),
            '\'' => (Kind::Text, quoted(rest, '\'', dialect != Dialect::Postgres)),
            '"' | '`' => (Kind::Plain, quoted(rest, sign, false)),
            _ if is_word(sign) => {
                let length = rest.find(|sign| !is_word(sign)).unwrap_or(rest.len());
                let word = format!(" {} ", &rest[..length]);
                let kind = if WORDS.contains(&word) {
                    Kind::Keyword
                } else {
                    Kind::Plain
                };
                (kind, length)
            }
            _ => (Kind::Plain, sign.len_utf8()),
        };
        found.push((kind, &rest[..length]));
        rest = &rest[length..];
    }
    found
}

fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// The length of what begins with a quote.
fn quoted(text: &str, quote: char, escapes: bool) -> usize {
    let mut signs = text.char_indices().skip(1);
    while let Some((at, sign)) = signs.next() {
        if escapes && sign == '\\' {
            signs.next();
        } else if sign == quote {
            return at + sign.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_statement_is_lost() {
        let text =
            "DELETE FROM \"DELETE\" AS t -- FROM\nWHERE t.\"x\" = 'it''s \\' AND `<b>` IN ('ü";
        for dialect in [Dialect::Postgres, Dialect::Mysql] {
            let pieces = pieces(text, dialect);
            assert_eq!(pieces.iter().map(|it| it.1).collect::<String>(), text);
            let keywords: Vec<&str> = pieces
                .iter()
                .filter(|it| it.0 == Kind::Keyword)
                .map(|it| it.1)
                .collect();
            assert_eq!(keywords[..4], ["DELETE", "FROM", "AS", "WHERE"]);
            assert!(pieces.contains(&(Kind::Comment, "-- FROM")));
        }
    }
}
