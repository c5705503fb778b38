//! The form of an export, the same from every server: a line with the names of the columns, then a line for each row.
//!
//! A value is between quotes where it has a comma, a quote or the end of a line in it, or nothing at all: NULL is what
//! has nothing and no quotes.

use std::io::{self, Write};

/// Writes one row.
pub(super) fn line<'a>(
    out: &mut dyn Write,
    values: impl IntoIterator<Item = Option<&'a str>>,
) -> io::Result<()> {
    for (at, value) in values.into_iter().enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        match value {
            None => {}
            Some(text) if text.is_empty() || text.contains([',', '"', '\r', '\n']) => {
                write!(out, "\"{}\"", text.replace('"', "\"\""))?;
            }
            Some(text) => out.write_all(text.as_bytes())?,
        }
    }
    out.write_all(b"\n")
}

/// Bytes as text.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("\\x");
    for byte in bytes {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Counts the rows of what passes by.
#[derive(Default)]
pub(super) struct Lines {
    quoted: bool,
    count: u64,
}

impl Lines {
    /// Looks at the next piece.
    pub(super) fn pass(&mut self, piece: &[u8]) {
        for byte in piece {
            match byte {
                b'"' => self.quoted = !self.quoted,
                b'\n' if !self.quoted => self.count += 1,
                _ => {}
            }
        }
    }

    /// How many rows there were, without the names of the columns.
    pub(super) fn rows(&self) -> u64 {
        self.count.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_told_from_an_empty_text_and_lines_are_counted_outside_quotes() {
        let mut out = Vec::new();
        line(&mut out, [Some("a"), Some("b")]).expect("a line");
        line(&mut out, [None, Some("")]).expect("a line");
        line(&mut out, [Some("x\ny"), Some("\"q\", r")]).expect("a line");
        line(&mut out, [Some(hex(&[0, 255]).as_str()), None]).expect("a line");
        let text = String::from_utf8_lossy(&out).into_owned();
        assert_eq!(text, "a,b\n,\"\"\n\"x\ny\",\"\"\"q\"\", r\"\n\\x00ff,\n");
        let mut lines = Lines::default();
        for piece in out.chunks(3) {
            lines.pass(piece);
        }
        assert_eq!(lines.rows(), 3);
    }
}
