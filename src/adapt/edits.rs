//! Changes of a spec that leave everything else as somebody wrote it: order, comments, spaces.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Entries that are removed, texts that are replaced, and lines of comments next to them, by their places in the text.
pub(super) struct Edits<'a> {
    text: &'a str,
    removed: BTreeSet<usize>,
    around: BTreeSet<usize>,
    changed: Vec<(Range<usize>, String)>,
}

impl<'a> Edits<'a> {
    pub(super) fn of(text: &'a str) -> Edits<'a> {
        Edits {
            text,
            removed: BTreeSet::new(),
            around: BTreeSet::new(),
            changed: Vec::new(),
        }
    }

    /// Takes out the entry whose key or value begins here, or the element of an array that does.
    pub(super) fn remove(&mut self, start: usize) {
        self.removed.insert(start);
    }

    /// Takes out the element of an array that is a table and has this place in it.
    pub(super) fn remove_around(&mut self, place: usize) {
        self.around.insert(place);
    }

    /// Writes something else in a place.
    pub(super) fn replace(&mut self, span: Range<usize>, with: String) {
        self.changed.push((span, with));
    }

    /// Puts a comment above what begins here, if that has its line to itself; otherwise above the entry that it is part of.
    pub(super) fn note(&mut self, part: Range<usize>, entry: usize, comment: &str) {
        let start = if self.is_alone(&part) {
            part.start
        } else {
            entry
        };
        let line = self.line_start(start);
        let indent: String = self.text[line..]
            .chars()
            .take_while(|sign| [' ', '\t'].contains(sign))
            .collect();
        self.changed
            .push((line..line, format!("{indent}{comment}\n")));
    }

    /// Puts lines below what ends here.
    pub(super) fn below(&mut self, end: usize, lines: &str) {
        let at = self.line_end(end);
        let before = if self.text[..at].ends_with('\n') {
            ""
        } else {
            "\n"
        };
        self.changed.push((at..at, format!("{before}{lines}\n")));
    }

    /// The text with all of that.
    pub(super) fn apply(self) -> String {
        let (table, _) = DeTable::parse_recoverable(self.text);
        let mut cuts = Vec::new();
        self.entries(table.get_ref(), &mut cuts);
        let within = |outer: &Range<usize>, inner: &Range<usize>| {
            outer != inner && outer.start <= inner.start && inner.end <= outer.end
        };
        let mut changes: Vec<(Range<usize>, String)> = Vec::new();
        for (span, with) in self.changed {
            match cuts.iter().find(|cut| within(cut, &span)) {
                // What is said of something is kept where that is removed.
                Some(cut) if span.is_empty() => changes.push((cut.start..cut.start, with)),
                Some(_) => {}
                None => changes.push((span, with)),
            }
        }
        let outer = cuts
            .iter()
            .filter(|cut| !cuts.iter().any(|other| within(other, cut)));
        changes.extend(outer.map(|cut| (cut.clone(), String::new())));
        changes.sort_by_key(|(span, _)| (span.start, span.end));
        let mut made = String::new();
        let mut at = 0;
        for (span, with) in changes {
            if span.start < at {
                continue;
            }
            made += &self.text[at..span.start];
            made += &with;
            at = span.end;
        }
        made + &self.text[at..]
    }

    /// Collects what is removed from the file, or of a table under a header.
    fn entries(&self, table: &DeTable<'_>, cuts: &mut Vec<Range<usize>>) {
        for (key, value) in table {
            let (start, whole) = (key.span().start, key.span().start..value.span().end);
            let goes = self.goes(start) || self.goes(value.span().start);
            match self.below_header(value) {
                Some(_) if goes => self.cut_below(value, false, cuts),
                Some(table) => self.entries(table, cuts),
                None if goes || self.empties(value, cuts) => cuts.push(self.lines(&whole)),
                None => {}
            }
        }
    }

    fn goes(&self, start: usize) -> bool {
        self.removed.contains(&start)
    }

    /// The table, where it is below a header of its own.
    fn below_header<'t>(&self, value: &'t Spanned<DeValue<'_>>) -> Option<&'t DeTable<'t>> {
        match value.get_ref() {
            DeValue::Table(table) if !self.text[value.span().start..].starts_with('{') => {
                Some(table)
            }
            _ => None,
        }
    }

    /// Takes out a table below its header, with the tables below that, each of which has a header of its own.
    fn cut_below(&self, value: &Spanned<DeValue<'_>>, further: bool, cuts: &mut Vec<Range<usize>>) {
        let Some(table) = self.below_header(value) else {
            return;
        };
        let own = table
            .values()
            .filter(|value| self.below_header(value).is_none());
        let end = own.map(|value| value.span().end).max();
        let header = value.span();
        let mut cut = self.lines(&(header.start..end.unwrap_or(header.end)));
        // Nothing but the table has a use for the empty line before it.
        if further && self.text[..cut.start].ends_with("\n\n") {
            cut.start -= 1;
        }
        cuts.push(cut);
        for value in table.values() {
            self.cut_below(value, true, cuts);
        }
    }

    /// Whether nothing is left of an array or of a table in braces; collects what is removed from it otherwise.
    fn empties(&self, value: &Spanned<DeValue<'_>>, cuts: &mut Vec<Range<usize>>) -> bool {
        let mut items: Vec<(Range<usize>, bool)> = match value.get_ref() {
            DeValue::Array(array) => array
                .iter()
                .map(|element| {
                    let span = element.span();
                    let around = self.around.iter().any(|place| span.contains(place));
                    let goes = self.goes(span.start)
                        || around && element.get_ref().is_table()
                        || self.empties(element, cuts);
                    (span, goes)
                })
                .collect(),
            DeValue::Table(table) => table
                .iter()
                .map(|(key, value)| {
                    let goes = self.goes(key.span().start)
                        || self.goes(value.span().start)
                        || self.empties(value, cuts);
                    (key.span().start..value.span().end, goes)
                })
                .collect(),
            _ => return false,
        };
        items.sort_by_key(|(span, _)| span.start);
        if !items.is_empty() && items.iter().all(|(_, goes)| *goes) {
            return true;
        }
        for (at, (span, _)) in items.iter().enumerate().filter(|(_, (_, goes))| *goes) {
            cuts.push(if self.is_alone(span) {
                self.lines(span)
            } else if items[..at].iter().any(|(_, goes)| !goes) {
                items[at - 1].0.end..span.end
            } else {
                let next = items.get(at + 1).map_or(span.end, |(next, _)| next.start);
                span.start..next
            });
        }
        false
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Behind the line.
    fn line_end(&self, at: usize) -> usize {
        self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |newline| at + newline + 1)
    }

    fn lines(&self, part: &Range<usize>) -> Range<usize> {
        self.line_start(part.start)..self.line_end(part.end)
    }

    /// Whether nothing else is in the lines of an entry but a comment.
    fn is_alone(&self, part: &Range<usize>) -> bool {
        let lines = self.lines(part);
        let before = self.text[lines.start..part.start].trim();
        let behind = self.text[part.end..lines.end].trim();
        let behind = behind.strip_prefix(',').unwrap_or(behind).trim_start();
        before.is_empty() && (behind.is_empty() || behind.starts_with('#'))
    }
}

/// Where the entry of a table ends whose name begins here: its braces, or its last field below a header.
pub(super) fn end_of(text: &str, start: usize) -> usize {
    let (whole, _) = DeTable::parse_recoverable(text);
    let edits = Edits::of(text);
    let tables = whole.get_ref().get("tables");
    let tables = tables.and_then(|tables| tables.get_ref().as_table());
    let entry = tables.and_then(|tables| tables.iter().find(|(key, _)| key.span().start == start));
    let Some((_, value)) = entry else {
        return start;
    };
    match edits.below_header(value) {
        Some(fields) => {
            let ends = fields.values().map(|value| value.span().end);
            ends.max().unwrap_or(value.span().end)
        }
        None => value.span().end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# head
name = 'x'   # a name

[tables]
a = { key = 'id integer' }   # first
# of b
b = { parents = ['x -> a.id', 'y -> a.id'], indexed = ['x', 'y'] }
c = { parents = [
    'x -> a.id',   # one
    'y -> a.id',   # two
], with = 'any' }

# of r
[rules.r]
root = 'a'
keep = [
    { newest = 1, per = 'q' },
    { newest = 2, per = 'p' },
]

[rules.r.report.run]
n = 'rows of b'

# of s
[rules.s]
root = 'b'
";

    fn place(part: &str) -> usize {
        TEXT.find(part).unwrap_or_else(|| panic!("{part}"))
    }

    /// What is left without these, and what has been said next to each.
    fn without(parts: &[&str]) -> String {
        let mut edits = Edits::of(TEXT);
        for part in parts {
            edits.remove(place(part));
        }
        let made = edits.apply();
        made.parse::<toml::Table>()
            .unwrap_or_else(|error| panic!("{error}\n{made}"));
        made
    }

    #[test]
    fn an_entry_goes_with_its_line_and_its_comment_stays() {
        let made = without(&["b = {"]);
        assert_eq!(
            made,
            TEXT.replace(
                "b = { parents = ['x -> a.id', 'y -> a.id'], indexed = ['x', 'y'] }\n",
                ""
            )
        );
    }

    #[test]
    fn elements_go_with_their_commas() {
        let row = |made: &str| {
            let line = made.lines().find(|line| line.starts_with("b ="));
            line.expect("b").to_owned()
        };
        assert_eq!(
            row(&without(&["'x -> a.id', 'y"])),
            "b = { parents = ['y -> a.id'], indexed = ['x', 'y'] }"
        );
        assert_eq!(
            row(&without(&["'y -> a.id'], i", "'y'] }"])),
            "b = { parents = ['x -> a.id'], indexed = ['x'] }"
        );
        // What has nothing left is removed itself.
        assert_eq!(
            row(&without(&["'x', 'y'] }", "'y'] }"])),
            "b = { parents = ['x -> a.id', 'y -> a.id'] }"
        );
    }

    #[test]
    fn an_element_with_a_line_goes_with_it() {
        let made = without(&["'y -> a.id',   # two", "{ newest = 1"]);
        assert!(
            made.contains("'x -> a.id',   # one\n], with = 'any' }"),
            "{made}"
        );
        assert!(
            made.contains("keep = [\n    { newest = 2, per = 'p' },\n]"),
            "{made}"
        );
        let made = without(&["{ newest = 1", "{ newest = 2"]);
        assert!(
            made.contains("root = 'a'\n\n[rules.r.report.run]"),
            "{made}"
        );
    }

    #[test]
    fn a_table_below_a_header_goes_with_those_below_it() {
        let made = without(&["r]\nroot = 'a'"]);
        assert!(
            made.ends_with("# of r\n\n# of s\n[rules.s]\nroot = 'b'\n"),
            "{made}"
        );
    }

    #[test]
    fn comments_stand_where_something_was() {
        let mut edits = Edits::of(TEXT);
        for (part, entry) in [
            ("b = {", "b = {"),
            ("'y -> a.id',   # two", "c = {"),
            ("s]\nroot", "s]\nroot"),
        ] {
            let start = place(part);
            edits.remove(start);
            let end = start + TEXT[start..].find([',', '\n']).expect("an end");
            edits.note(start..end, place(entry), "# left out");
        }
        let made = edits.apply();
        assert!(made.contains("# of b\n# left out\nc = {"), "{made}");
        assert!(made.contains("# one\n    # left out\n],"), "{made}");
        assert!(made.ends_with("# of s\n# left out\n"), "{made}");
    }
}
