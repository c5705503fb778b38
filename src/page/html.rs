//! How the page is written: markup is text of this program, and all else goes through one function that escapes it.

use crate::markup::escaped;

/// A page as it grows. Markup can only be a literal: no value of a spec or a database becomes one.
#[derive(Default)]
pub(super) struct Html {
    out: String,
}

/// A part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// As people say it.
    Said(String),
    /// A name, a value or SQL.
    Code(String),
}

/// A sentence.
pub(super) type Line = Vec<Word>;

/// Words as people say them.
pub(super) fn said(text: impl Into<String>) -> Word {
    Word::Said(text.into())
}

/// A name, a value or SQL.
pub(super) fn code(text: impl Into<String>) -> Word {
    Word::Code(text.into())
}

/// Names with commas between them.
pub(super) fn names<'a>(all: impl IntoIterator<Item = &'a str>) -> Line {
    let mut line = Line::new();
    for name in all {
        if !line.is_empty() {
            line.push(said(", "));
        }
        line.push(code(name));
    }
    line
}

/// A text in which code is between backticks, as messages have it.
pub(super) fn ticked(text: &str) -> Line {
    let parts = text.split('`').enumerate();
    let parts = parts.filter(|(_, part)| !part.is_empty());
    parts
        .map(|(at, part)| if at % 2 == 1 { code(part) } else { said(part) })
        .collect()
}

impl Html {
    /// Adds markup.
    pub(super) fn put(&mut self, markup: &'static str) -> &mut Html {
        self.out.push_str(markup);
        self
    }

    /// Adds a text.
    pub(super) fn text(&mut self, text: &str) -> &mut Html {
        self.out.push_str(&escaped(text));
        self
    }

    /// Adds a picture, which escapes its texts by the same function.
    pub(super) fn picture(&mut self, svg: &str) -> &mut Html {
        self.out.push_str(svg);
        self
    }

    /// Adds a sentence.
    pub(super) fn line(&mut self, line: &[Word]) -> &mut Html {
        for word in line {
            match word {
                Word::Said(text) => self.text(text),
                Word::Code(text) => self.put("<code>").text(text).put("</code>"),
            };
        }
        self
    }

    /// Adds a list.
    pub(super) fn list(&mut self, lines: &[Line]) -> &mut Html {
        if lines.is_empty() {
            return self;
        }
        self.put("<ul>\n");
        for line in lines {
            self.put("<li>").line(line).put("</li>\n");
        }
        self.put("</ul>\n")
    }

    /// The text of the page so far.
    pub(super) fn finish(self) -> String {
        self.out
    }
}

/// A cell of a table.
pub(super) enum Cell {
    /// Words, to the left.
    Words(Line),
    /// A figure, to the right.
    Figure(String),
    /// Which part of a whole something is, as a bar, and how people say it.
    Bar(f64, String),
}

/// Adds a table in a box of its own, which scrolls where the page is narrow. The first cell of each row names it.
pub(super) fn table(html: &mut Html, caption: &str, heads: &[&str], rows: &[Vec<Cell>]) {
    let in_words = rows.iter().flatten().all(|it| matches!(it, Cell::Words(_)));
    html.put("<div class=\"wide\" tabindex=\"0\">");
    html.put(if in_words {
        "<table class=\"words\">\n<caption>"
    } else {
        "<table>\n<caption>"
    });
    html.text(caption).put("</caption>\n<thead><tr>");
    for (at, head) in heads.iter().enumerate() {
        let is_figure = rows
            .first()
            .is_some_and(|row| matches!(row.get(at), Some(Cell::Figure(_))));
        html.put(if is_figure {
            "<th scope=\"col\" class=\"figure\">"
        } else {
            "<th scope=\"col\">"
        });
        html.text(head).put("</th>");
    }
    html.put("</tr></thead>\n<tbody>\n");
    for row in rows {
        html.put("<tr>");
        for (at, cell) in row.iter().enumerate() {
            match (cell, at) {
                (Cell::Words(line), 0) => html.put("<th scope=\"row\">").line(line).put("</th>"),
                (Cell::Words(line), _) => {
                    // Where rows become blocks, each cell says what it is.
                    let head = heads.get(at).copied().unwrap_or_default();
                    html.put("<td data-head=\"").text(head).put("\">");
                    html.line(line).put("</td>")
                }
                (Cell::Figure(text), _) => {
                    html.put("<td class=\"figure\">").text(text).put("</td>")
                }
                (Cell::Bar(part, text), _) => {
                    bar(html.put("<td class=\"bar\">"), *part, text).put("</td>")
                }
            };
        }
        html.put("</tr>\n");
    }
    html.put("</tbody></table></div>\n");
}

/// A bar and the figure next to it.
fn bar<'a>(html: &'a mut Html, part: f64, text: &str) -> &'a mut Html {
    let part = if part.is_finite() {
        part.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let width = format!("{:.1}", part * 100.0);
    html.put("<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"track\" \
         width=\"100\" height=\"10\"/><rect width=\"");
    html.text(&width).put("\" height=\"10\"/></svg><span>");
    html.text(text).put("</span>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_never_markup() {
        let mut html = Html::default();
        let line = [said("<b>"), code("\"'&")];
        html.put("<p>")
            .line(&line)
            .put("</p>\n")
            .list(&[ticked("say `<x>` twice")]);
        let rows = vec![vec![
            Cell::Words(line.to_vec()),
            Cell::Bar(f64::NAN, "</svg>".to_owned()),
        ]];
        table(&mut html, "<caption>", &["<h>", "y"], &rows);
        let text = html.finish();
        assert!(text.starts_with("<p>&lt;b&gt;<code>&quot;&#39;&amp;</code></p>\n<ul>\n<li>say <code>&lt;x&gt;</code> twice</li>"));
        for markup in ["<b>", "<x>", "</svg></span>", "<h>"] {
            assert!(!text.contains(markup), "{text}");
        }
    }
}
