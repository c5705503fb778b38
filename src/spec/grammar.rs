//! The small languages inside the texts of a spec, e.g. `order_id -> order.id unless 0`.
//!
//! Names with spaces, dots or the like stand between double quotes. Everything that is read keeps its place in the
//! file, so that a diagnostic marks the wrong word and not the whole text.

use std::ops::Range;

use toml::Spanned;

use crate::diagnostic::{Diagnostic, Span};
use crate::spec::Text;

/// `column [type]`.
#[derive(Clone, Debug)]
pub struct ColumnText {
    /// The column.
    pub name: Text,
    /// The type, if one is given.
    pub kind: Option<Text>,
}

/// `column [type] -> table.column [unless value] [restrict | set null | cascade | or alone]`, or
/// `column, column -> table(column, column) [restrict | set null | cascade]`.
#[derive(Clone, Debug)]
pub struct EdgeText {
    /// The child's columns; at least one.
    pub columns: Vec<ColumnText>,
    /// The parent.
    pub table: Text,
    /// The parent's columns, as many.
    pub parent_columns: Vec<Text>,
    /// The value that means "no parent".
    pub none: Option<Spanned<NoneText>>,
    /// What becomes of a row when its parent is due.
    pub action: ActionText,
    /// Whether it is the parent that names the row, and most rows are named by none.
    pub alone: bool,
}

/// `column [type] [else column]`, or `max(table.column [type]) [else column]`.
#[derive(Clone, Debug)]
pub struct EndTimeText {
    /// The table of the column, where it is not the root table: the last of its rows counts.
    pub table: Option<Text>,
    /// The column.
    pub column: ColumnText,
    /// The column that stands in where it is NULL, of the same type.
    pub otherwise: Option<Text>,
}

/// The words at the end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionText {
    /// None: the row goes with its parent.
    Delete,
    /// `cascade`: likewise, by its foreign key.
    Cascade,
    /// `restrict`: it keeps its parent.
    Restrict,
    /// `set null`: it lets go of its parent and stays.
    SetNull,
}

/// The value after `unless`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoneText {
    /// A whole number.
    Integer(i64),
    /// A text between single quotes.
    Text(String),
}

/// `table: parent_column -> child_column`.
#[derive(Clone, Debug)]
pub struct LinkText {
    /// The relation table.
    pub table: Text,
    /// Column of the upper member.
    pub parent: Text,
    /// Column of the descendant.
    pub child: Text,
}

/// `table`, or `table: column, …`.
#[derive(Clone, Debug)]
pub struct MemberText {
    /// The table.
    pub table: Text,
    /// The columns that name the root of a row's family.
    pub columns: Vec<Text>,
}

/// `table: column`, `table: column -> other_table`, or `table: column -> other_table.other_column`.
#[derive(Clone, Debug)]
pub struct OwnText {
    /// The table.
    pub table: Text,
    /// The column that names an instance, or a row of the other table.
    pub column: Text,
    /// The other table.
    pub through: Option<Text>,
    /// Its column; its key if left out.
    pub named: Option<Text>,
}

/// `table: key -> column unit`.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The table of the definitions.
    pub table: Text,
    /// The column that tells its rows apart.
    pub key: Text,
    /// The column with the retention.
    pub column: Text,
    /// What the column counts.
    pub unit: Text,
}

/// A figure of the report.
#[derive(Clone, Debug)]
pub enum FigureText {
    /// One of windrow's own figures.
    Word(Text),
    /// `rows of table`.
    RowsOf(Text),
}

const EDGE: &str = "write `column -> table.column`, with a type after the column if it differs from the parent's, \
                    `unless value` if a value means no parent, \
                    or `a, b -> table(a, b)` for several columns, `restrict` if a row keeps its parent instead of going with it, \
                    `set null` if it stays without it, `cascade` if a foreign key deletes it with its parent, \
                    and `or alone` if it is the parent that names the row";

const NEED: &str = "write `column -> table.column`, with `unless value` behind it if a value means that a row names nothing, \
                    or `a, b -> table(a, b)` for several columns";

/// Reads `column type`, or several of these between commas.
pub fn key(text: &str, whole: &Text) -> Result<Vec<ColumnText>, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, "write `column type`, e.g. `id integer`")?;
    let mut columns = vec![cursor.column()?];
    while cursor.take(&Token::Comma) {
        columns.push(cursor.column()?);
    }
    cursor.end()?;
    Ok(columns)
}

/// Reads `column [type]`.
pub fn column(text: &str, whole: &Text) -> Result<ColumnText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, "write `column`, or `column type`")?;
    let column = cursor.column()?;
    cursor.end()?;
    Ok(column)
}

/// Reads `column [type] [else column]`, or `max(table.column [type]) [else column]`.
pub fn end_time(text: &str, whole: &Text) -> Result<EndTimeText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(
        text,
        whole,
        "write `column`, or `column type`, or `max(table.column)` for the last of the rows of another table, \
         and `else column` if another one stands in where that is unknown",
    )?;
    let table = if cursor.take_call("max") {
        let table = cursor.name("a table")?;
        cursor.expect(&Token::Dot)?;
        Some(table)
    } else {
        None
    };
    let column = cursor.column()?;
    if table.is_some() {
        cursor.expect(&Token::Close)?;
    }
    let otherwise = match cursor.take_word("else") {
        true => Some(cursor.name("a column")?),
        false => None,
    };
    cursor.end()?;
    Ok(EndTimeText {
        table,
        column,
        otherwise,
    })
}

/// Reads `column [type] -> table.column [unless value] [restrict | set null | cascade | or alone]`, or the form of several columns.
pub fn edge(text: &str, whole: &Text) -> Result<EdgeText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, EDGE)?;
    let edge = cursor.edge(Cursor::column)?;
    let action = if cursor.take_word("restrict") {
        ActionText::Restrict
    } else if cursor.take_word("set") {
        if !cursor.take_word("null") {
            return Err(cursor.expected("`null`"));
        }
        ActionText::SetNull
    } else if edge.none.is_none() && cursor.take_word("cascade") {
        ActionText::Cascade
    } else {
        ActionText::Delete
    };
    let alone = edge.columns.len() == 1
        && edge.none.is_none()
        && action == ActionText::Delete
        && cursor.take_word("or");
    if alone && !cursor.take_word("alone") {
        return Err(cursor.expected("`alone`"));
    }
    cursor.end()?;
    Ok(EdgeText {
        action,
        alone,
        ..edge
    })
}

/// Reads `column -> table.column [unless value]`, or `column, column -> table(column, column)`: what a row names, and must
/// exist.
pub fn need(text: &str, whole: &Text) -> Result<EdgeText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, NEED)?;
    let edge = cursor.edge(|cursor| {
        let name = cursor.name("a column")?;
        Ok(ColumnText { name, kind: None })
    })?;
    cursor.end()?;
    Ok(edge)
}

/// Reads `table: parent_column -> child_column`.
pub fn link(text: &str, whole: &Text) -> Result<LinkText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, "write `table: parent_column -> child_column`")?;
    let table = cursor.name("a table")?;
    cursor.expect(&Token::Colon)?;
    let parent = cursor.name("a column")?;
    cursor.expect(&Token::Arrow)?;
    let child = cursor.name("a column")?;
    cursor.end()?;
    Ok(LinkText {
        table,
        parent,
        child,
    })
}

/// Reads `table`, or `table: column, …`.
pub fn member(text: &str, whole: &Text) -> Result<MemberText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(
        text,
        whole,
        "write `table`, or `table: column` with the column that names the root of a row's family",
    )?;
    let table = cursor.name("a table")?;
    let mut columns = Vec::new();
    if cursor.take(&Token::Colon) {
        columns.push(cursor.name("a column")?);
        while cursor.take(&Token::Comma) {
            columns.push(cursor.name("a column")?);
        }
    }
    cursor.end()?;
    Ok(MemberText { table, columns })
}

/// Reads `other_table: column -> table`.
pub fn reference(text: &str, whole: &Text) -> Result<LinkText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, "write `other_table: column -> table`")?;
    let table = cursor.name("a table")?;
    cursor.expect(&Token::Colon)?;
    let parent = cursor.name("a column")?;
    cursor.expect(&Token::Arrow)?;
    let child = cursor.name("a table")?;
    cursor.end()?;
    Ok(LinkText {
        table,
        parent,
        child,
    })
}

/// Reads `table: column`, `table: column -> other_table`, or `table: column -> other_table.other_column`.
pub fn own(text: &str, whole: &Text) -> Result<OwnText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(
        text,
        whole,
        "write `table: column` with the column that names the instance, or `table: column -> other_table`",
    )?;
    let table = cursor.name("a table")?;
    cursor.expect(&Token::Colon)?;
    let column = cursor.name("a column")?;
    let through = match cursor.take(&Token::Arrow) {
        true => Some(cursor.name("a table")?),
        false => None,
    };
    let named = match through.is_some() && cursor.take(&Token::Dot) {
        true => Some(cursor.name("a column")?),
        false => None,
    };
    cursor.end()?;
    Ok(OwnText {
        table,
        column,
        through,
        named,
    })
}

/// Reads `table: key -> column unit`.
pub fn source(text: &str, whole: &Text) -> Result<SourceText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(
        text,
        whole,
        "write `table: key -> column days`, with what the column counts: `days`, `hours`, `minutes` or `seconds`",
    )?;
    let table = cursor.name("a table")?;
    cursor.expect(&Token::Colon)?;
    let key = cursor.name("a column")?;
    cursor.expect(&Token::Arrow)?;
    let column = cursor.name("a column")?;
    let unit = cursor.name("a unit")?;
    cursor.end()?;
    Ok(SourceText {
        table,
        key,
        column,
        unit,
    })
}

/// Reads a figure's name, or `rows of table`.
pub fn figure(text: &str, whole: &Text) -> Result<FigureText, Box<Diagnostic>> {
    let mut cursor = Cursor::new(text, whole, "write a figure's name, or `rows of table`")?;
    let word = cursor.name("a figure")?;
    let figure = if word.get_ref() == "rows" && cursor.take_word("of") {
        FigureText::RowsOf(cursor.name("a table")?)
    } else {
        FigureText::Word(word)
    };
    cursor.end()?;
    Ok(figure)
}

/// Where a part of a text stands in the file; the whole text where escapes make the two differ.
pub fn place(text: &str, whole: &Text, part: Range<usize>) -> Span {
    let span = whole.span();
    let value = whole.get_ref().as_str();
    let raw = text.get(span.clone()).unwrap_or_default();
    for quotes in [1, 3] {
        let inner = raw
            .len()
            .checked_sub(quotes)
            .and_then(|end| raw.get(quotes..end));
        if inner == Some(value) {
            let start = span.start + quotes;
            return start + part.start..start + part.end;
        }
    }
    span
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    QuotedName(String),
    QuotedText(String),
    Arrow,
    Dot,
    Comma,
    Colon,
    Open,
    Close,
}

struct Cursor<'a> {
    text: &'a str,
    whole: &'a Text,
    form: &'static str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(
        text: &'a str,
        whole: &'a Text,
        form: &'static str,
    ) -> Result<Cursor<'a>, Box<Diagnostic>> {
        let mut cursor = Cursor {
            text,
            whole,
            form,
            tokens: Vec::new(),
            at: 0,
        };
        cursor.tokens =
            tokens(whole.get_ref()).map_err(|(part, message)| cursor.malformed(part, message))?;
        Ok(cursor)
    }

    fn column(&mut self) -> Result<ColumnText, Box<Diagnostic>> {
        let name = self.name("a column")?;
        let kind = match self.tokens.get(self.at) {
            Some((Token::Word(word), _)) if !["unless", "else"].contains(&word.as_str()) => {
                Some(self.name("a type")?)
            }
            _ => None,
        };
        Ok(ColumnText { name, kind })
    }

    /// An edge without what may stand behind it.
    fn edge(
        &mut self,
        column: impl Fn(&mut Self) -> Result<ColumnText, Box<Diagnostic>>,
    ) -> Result<EdgeText, Box<Diagnostic>> {
        let mut columns = vec![column(self)?];
        while self.take(&Token::Comma) {
            columns.push(column(self)?);
        }
        self.expect(&Token::Arrow)?;
        let table = self.name("a table")?;
        let mut parent_columns = Vec::new();
        if columns.len() == 1 {
            self.expect(&Token::Dot)?;
            parent_columns.push(self.name("a column")?);
        } else {
            self.expect(&Token::Open)?;
            for at in 0..columns.len() {
                if at > 0 {
                    self.expect(&Token::Comma)?;
                }
                parent_columns.push(self.name("a column")?);
            }
            self.expect(&Token::Close)?;
        }
        let none = if columns.len() == 1 && self.take_word("unless") {
            Some(self.none()?)
        } else {
            None
        };
        Ok(EdgeText {
            columns,
            table,
            parent_columns,
            none,
            action: ActionText::Delete,
            alone: false,
        })
    }

    fn name(&mut self, what: &str) -> Result<Text, Box<Diagnostic>> {
        match self.tokens.get(self.at) {
            Some((Token::Word(name) | Token::QuotedName(name), part)) => {
                self.at += 1;
                Ok(Spanned::new(
                    place(self.text, self.whole, part.clone()),
                    name.clone(),
                ))
            }
            _ => Err(self.expected(what)),
        }
    }

    fn none(&mut self) -> Result<Spanned<NoneText>, Box<Diagnostic>> {
        let what = "a whole number, or a text in single quotes,";
        let Some((token, part)) = self.tokens.get(self.at) else {
            return Err(self.expected(what));
        };
        let value = match token {
            Token::QuotedText(value) => NoneText::Text(value.clone()),
            Token::Word(word) => match word.parse() {
                Ok(value) => NoneText::Integer(value),
                Err(_) => return Err(self.expected(what)),
            },
            _ => return Err(self.expected(what)),
        };
        self.at += 1;
        Ok(Spanned::new(
            place(self.text, self.whole, part.clone()),
            value,
        ))
    }

    fn take(&mut self, token: &Token) -> bool {
        let found = self
            .tokens
            .get(self.at)
            .is_some_and(|(next, _)| next == token);
        self.at += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        self.take(&Token::Word(word.to_owned()))
    }

    /// Takes the word and the parenthesis behind it, if that is what stands here.
    fn take_call(&mut self, word: &str) -> bool {
        let behind = self.tokens.get(self.at + 1);
        behind.is_some_and(|(next, _)| *next == Token::Open)
            && self.take_word(word)
            && self.take(&Token::Open)
    }

    fn expect(&mut self, token: &Token) -> Result<(), Box<Diagnostic>> {
        if self.take(token) {
            Ok(())
        } else {
            Err(self.expected(sign(token)))
        }
    }

    fn end(&self) -> Result<(), Box<Diagnostic>> {
        if self.at == self.tokens.len() {
            Ok(())
        } else {
            Err(self.expected("the end"))
        }
    }

    fn expected(&self, what: &str) -> Box<Diagnostic> {
        let end = self.whole.get_ref().len();
        let part = self
            .tokens
            .get(self.at)
            .map_or(end..end, |(_, part)| part.clone());
        self.malformed(part, format!("expected {what} here"))
    }

    fn malformed(&self, part: Range<usize>, message: String) -> Box<Diagnostic> {
        let shown = self.whole.get_ref().escape_debug();
        Box::new(
            Diagnostic::error(
                "malformed-text",
                place(self.text, self.whole, part),
                format!("cannot read `{shown}`"),
                self.form,
            )
            .labelled(message),
        )
    }
}

fn sign(token: &Token) -> &'static str {
    match token {
        Token::Arrow => "`->`",
        Token::Dot => "`.`",
        Token::Comma => "`,`",
        Token::Colon => "`:`",
        Token::Open => "`(`",
        Token::Close => "`)`",
        Token::Word(_) | Token::QuotedName(_) | Token::QuotedText(_) => "a word",
    }
}

type Unreadable = (Range<usize>, String);

fn tokens(value: &str) -> Result<Vec<(Token, Range<usize>)>, Unreadable> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(next) = value[at..].chars().next() {
        let rest = &value[at..];
        let (token, length) = match next {
            _ if next.is_whitespace() => {
                at += next.len_utf8();
                continue;
            }
            '.' => (Token::Dot, 1),
            ',' => (Token::Comma, 1),
            ':' => (Token::Colon, 1),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '"' | '\'' => {
                let (content, length) = quoted(rest, next)
                    .ok_or_else(|| (at..value.len(), format!("no closing `{next}`")))?;
                (
                    if next == '"' {
                        Token::QuotedName(content)
                    } else {
                        Token::QuotedText(content)
                    },
                    length,
                )
            }
            _ if rest.starts_with("->") => (Token::Arrow, 2),
            _ => {
                let ends = |(index, sign): (usize, char)| {
                    sign.is_whitespace()
                        || ".,:()\"'".contains(sign)
                        || rest[index..].starts_with("->")
                };
                let length = rest
                    .char_indices()
                    .find(|found| ends(*found))
                    .map_or(rest.len(), |(index, _)| index);
                (Token::Word(rest[..length].to_owned()), length)
            }
        };
        tokens.push((token, at..at + length));
        at += length;
    }
    Ok(tokens)
}

/// What stands between the quotes, a doubled one being one of the content, and the bytes it takes with them.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut signs = rest.char_indices().skip(1).peekable();
    while let Some((index, sign)) = signs.next() {
        if sign != quote {
            content.push(sign);
        } else if signs.next_if(|(_, next)| *next == quote).is_some() {
            content.push(quote);
        } else {
            return Some((content, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the grammar from a basic TOML string as it would stand in a file.
    fn read<T>(
        raw: &str,
        parse: impl Fn(&str, &Text) -> Result<T, Box<Diagnostic>>,
    ) -> Result<T, (String, String)> {
        let text = format!("key = {raw}");
        let span = 6..text.len();
        let value: toml::Table = toml::from_str(&text).expect("a TOML string");
        let value = value["key"].as_str().expect("a text").to_owned();
        parse(&text, &Spanned::new(span, value))
            .map_err(|diagnostic| (text[diagnostic.span.clone()].to_owned(), diagnostic.label))
    }

    #[test]
    fn an_edge_has_all_its_parts() {
        let edge = read("\" a bigint->t.b unless -1 restrict \"", edge).expect("an edge");
        assert_eq!(edge.columns[0].name.get_ref(), "a");
        let kind = edge.columns[0].kind.clone();
        assert_eq!(kind.map(Spanned::into_inner).as_deref(), Some("bigint"));
        assert_eq!(
            (
                edge.table.get_ref().as_str(),
                edge.parent_columns[0].get_ref().as_str()
            ),
            ("t", "b")
        );
        assert_eq!(
            edge.none.map(Spanned::into_inner),
            Some(NoneText::Integer(-1))
        );
        assert_eq!(edge.action, ActionText::Restrict);
    }

    #[test]
    fn a_foreign_key_may_be_the_one_that_deletes() {
        let cascading = read("\"a, b -> t(c, d) cascade\"", edge).expect("an edge");
        assert_eq!(cascading.action, ActionText::Cascade);
        // A foreign key knows no value but NULL that names nothing.
        let mistake = read("\"a -> t.b unless 0 cascade\"", edge).expect_err("a mistake");
        assert_eq!(mistake.1, "expected the end here");
    }

    #[test]
    fn a_row_may_be_the_one_that_is_named() {
        let named = read("\"id -> t.blob_id or alone\"", edge).expect("an edge");
        assert!(named.alone && named.action == ActionText::Delete);
        assert_eq!(named.parent_columns[0].get_ref(), "blob_id");
        let mistake = |raw: &str| read(raw, edge).map(|_| ()).expect_err("a mistake").1;
        assert_eq!(mistake("\"id -> t.b or\""), "expected `alone` here");
        assert_eq!(mistake("\"id -> t.b alone\""), "expected the end here");
        assert_eq!(
            mistake("\"id -> t.b restrict or alone\""),
            "expected the end here"
        );
        assert_eq!(
            mistake("\"id, a -> t(b, c) or alone\""),
            "expected the end here"
        );
    }

    #[test]
    fn an_edge_may_have_several_columns() {
        let edge = read("\"a varchar, b -> t(c, d) restrict\"", edge).expect("an edge");
        let names: Vec<&str> = edge
            .columns
            .iter()
            .map(|column| &column.name)
            .chain(&edge.parent_columns)
            .map(|name| name.get_ref().as_str())
            .collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert_eq!(edge.action, ActionText::Restrict);
        let mistake = |raw: &str| read(raw, super::edge).map(|_| ()).expect_err("a mistake").1;
        assert_eq!(mistake("\"a, b -> t(c)\""), "expected `,` here");
        assert_eq!(mistake("\"a, b -> t.c\""), "expected `(` here");
        assert_eq!(mistake("\"a -> t(c)\""), "expected `.` here");
        assert_eq!(
            mistake("\"a, b -> t(c, d) unless 0\""),
            "expected the end here"
        );
    }

    #[test]
    fn an_end_may_be_that_of_other_rows() {
        let end = read("\"max(t.a timestamptz) else b\"", end_time).expect("an end time");
        let kind = end.column.kind.map(Spanned::into_inner);
        assert_eq!(kind.as_deref(), Some("timestamptz"));
        let names = [end.table, Some(end.column.name), end.otherwise];
        assert_eq!(
            names.map(|name| name.map(Spanned::into_inner)),
            ["t", "a", "b"].map(|name| Some(name.to_owned()))
        );
        // A column may have that name, too.
        let column = read("\"max timestamp\"", end_time).expect("an end time");
        assert_eq!(column.column.name.get_ref(), "max");
        let mistake = |raw: &str| read(raw, end_time).map(|_| ()).expect_err("a mistake").1;
        assert_eq!(mistake("\"max(a)\""), "expected `.` here");
        assert_eq!(mistake("\"max(t.a, b)\""), "expected `)` here");
        assert_eq!(mistake("\"min(t.a)\""), "expected the end here");
    }

    #[test]
    fn a_need_names_rows_and_nothing_else() {
        let one = read("\"a -> t.b unless 0\"", need).expect("a need");
        assert_eq!(
            one.none.map(Spanned::into_inner),
            Some(NoneText::Integer(0))
        );
        let two = read("\"a, b -> t(c, d)\"", need).expect("a need");
        assert_eq!((two.columns.len(), two.parent_columns.len()), (2, 2));
        let mistake = |raw: &str| read(raw, need).map(|_| ()).expect_err("a mistake").1;
        assert_eq!(mistake("\"a bigint -> t.b\""), "expected `->` here");
        assert_eq!(mistake("\"a -> t.b restrict\""), "expected the end here");
    }

    #[test]
    fn names_between_quotes_may_hold_anything() {
        let edge = read(r#"'"my ""column" varchar -> "my.table"."Id"'"#, edge).expect("an edge");
        assert_eq!(edge.columns[0].name.get_ref(), "my \"column");
        assert_eq!(edge.table.get_ref(), "my.table");
        assert_eq!(edge.parent_columns[0].get_ref(), "Id");
        let edge = read("\"a -> t.b unless 'it''s none'\"", super::edge).expect("an edge");
        assert_eq!(
            edge.none.map(Spanned::into_inner),
            Some(NoneText::Text("it's none".to_owned()))
        );
    }

    #[test]
    fn keys_links_and_figures() {
        assert_eq!(read("\"a integer, b uuid\"", key).expect("a key").len(), 2);
        let link = read("\"r: up -> down\"", link).expect("a link");
        assert_eq!(
            (
                link.parent.get_ref().as_str(),
                link.child.get_ref().as_str()
            ),
            ("up", "down")
        );
        assert!(
            matches!(read("\"rows of t\"", figure), Ok(FigureText::RowsOf(table)) if table.get_ref() == "t")
        );
        assert!(
            matches!(read("\"families\"", figure), Ok(FigureText::Word(word)) if word.get_ref() == "families")
        );
    }

    #[test]
    fn a_mistake_is_marked_at_its_word() {
        let mistake = |raw: &str| read(raw, edge).map(|_| ()).expect_err("a mistake");
        assert_eq!(
            mistake("\"a = t.b\""),
            ("t".to_owned(), "expected `->` here".to_owned())
        );
        assert_eq!(
            mistake("\"a -> t b\""),
            ("b".to_owned(), "expected `.` here".to_owned())
        );
        assert_eq!(mistake("\"a -> t.b unless x\"").0, "x");
        assert_eq!(
            mistake("\"a -> t.b c\""),
            ("c".to_owned(), "expected the end here".to_owned())
        );
        assert_eq!(
            mistake("\"a -> t\""),
            (String::new(), "expected `.` here".to_owned())
        );
        assert_eq!(mistake("'\"a -> t.b'").1, "no closing `\"`");
        assert_eq!(mistake("\"\"\"a ->\"\"\"").1, "expected a table here");
        // An escape moves everything behind it; then the whole text is marked.
        assert_eq!(mistake(r#""a -> \u0074 b""#).0, r#""a -> \u0074 b""#);
    }
}
