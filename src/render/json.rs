//! Documents as text, laid out for people, and as literals of a server.

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::layout;
use crate::dialect::Dialect;

/// A document as text: a line for each thing that it says, and for each item of a list or an object in it.
pub(super) fn written(document: &impl Serialize) -> String {
    let mut text = Vec::new();
    let mut writer = Serializer::with_formatter(&mut text, Lines::default());
    document
        .serialize(&mut writer)
        .expect("names and numbers are JSON");
    packed(&String::from_utf8(text).expect("JSON is UTF-8"))
}

/// How long a line becomes before the next one begins.
const WIDTH: usize = 120;

/// Lists of names and numbers share lines: a list or an object in which there is no other. Short fields do, too.
fn packed(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut list: Option<Vec<&str>> = None;
    for line in text.lines() {
        let opens = line.starts_with("  \"") && line.ends_with(['[', '{']);
        let closes = line.starts_with("  ]") || line.starts_with("  }");
        match list.as_mut() {
            None if opens => {
                lines.push(line.to_owned());
                list = Some(Vec::new());
            }
            None => lines.push(line.to_owned()),
            Some(items) if !closes => items.push(line),
            Some(items) => {
                if items.iter().any(|item| item.contains(['[', '{'])) {
                    lines.extend(items.iter().map(|item| (*item).to_owned()));
                    lines.push(line.to_owned());
                } else {
                    pack(items, line.trim_start(), &mut lines);
                }
                list = None;
            }
        }
    }
    let lines = joined(lines);
    // A quotation mark in a text has a backslash before it: such a line is kept.
    let lines = lines.iter().map(|line| {
        if line.len() > layout::WIDTH && !line.contains('\\') {
            layout::fit(line)
        } else {
            line.clone()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Puts fields that are on one line each behind one another.
fn joined(lines: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    let mut after_field = false;
    for line in lines {
        let is_field = line.starts_with("  \"") && !line.ends_with(['[', '{']);
        match joined.last_mut() {
            Some(last) if after_field && is_field && last.len() + line.len() < WIDTH => {
                last.extend([" ", line.trim_start()]);
            }
            _ => joined.push(line),
        }
        after_field = is_field;
    }
    joined
}

/// Puts items behind the line that opens their list, or on lines of their own where they are too many for it.
fn pack(items: &[&str], close: &str, lines: &mut Vec<String>) {
    let words: Vec<&str> = items.iter().map(|item| item.trim_start()).collect();
    let open = lines.last_mut().expect("a list is open");
    let all = words.join(" ");
    if open.len() + all.len() + close.len() <= WIDTH {
        open.extend([all.as_str(), close]);
        return;
    }
    let mut line = "   ".to_owned();
    for word in words {
        if line.len() + word.len() >= WIDTH {
            lines.push(line);
            line = "   ".to_owned();
        }
        line.extend([" ", word]);
    }
    lines.extend([line, format!("  {close}")]);
}

/// The text of a document as a literal. No spec can have PostgreSQL's quote in it; on the others a line stays a line, and a
/// quotation mark needs no backslash.
pub(super) fn quoted(dialect: Dialect, text: &str) -> String {
    match dialect {
        Dialect::Postgres => format!("$windrow$\n{text}\n$windrow$"),
        Dialect::Mysql | Dialect::Mariadb => {
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
        }
    }
}

/// Lines down to the second level, and one line for what is below.
#[derive(Default)]
struct Lines {
    depth: usize,
    empty: bool,
}

impl Lines {
    fn open<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        sign: &str,
    ) -> std::io::Result<()> {
        self.depth += 1;
        self.empty = true;
        writer.write_all(sign.as_bytes())
    }

    fn close<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        sign: &str,
    ) -> std::io::Result<()> {
        self.depth -= 1;
        if !self.empty && self.depth < 2 {
            write!(writer, "\n{}", "  ".repeat(self.depth))?;
        }
        self.empty = false;
        writer.write_all(sign.as_bytes())
    }

    fn item<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        self.empty = false;
        match (first, self.depth <= 2) {
            (true, true) => write!(writer, "\n{}", "  ".repeat(self.depth)),
            (false, true) => write!(writer, ",\n{}", "  ".repeat(self.depth)),
            (true, false) => Ok(()),
            (false, false) => writer.write_all(b", "),
        }
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.open(writer, "[")
    }

    fn end_array<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.close(writer, "]")
    }

    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        self.item(writer, first)
    }

    fn begin_object<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.open(writer, "{")
    }

    fn end_object<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.close(writer, "}")
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        self.item(writer, first)
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}
