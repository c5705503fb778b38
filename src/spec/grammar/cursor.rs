//! A text in tokens, read from left to right; errors say what was expected where.

use std::ops::Range;

use toml::Spanned;

use super::parts::{ActionText, ColumnText, EdgeText, NoneText};
use crate::diagnostic::{Diagnostic, Span};
use crate::spec::Text;

/// Where a part of a text is in the file; the whole text where escapes make the two differ.
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
pub(super) enum Token {
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

pub(super) struct Cursor<'a> {
    text: &'a str,
    whole: &'a Text,
    form: &'static str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(
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

    pub(super) fn column(&mut self) -> Result<ColumnText, Box<Diagnostic>> {
        let name = self.name("a column")?;
        let kind = match self.tokens.get(self.at) {
            Some((Token::Word(word), _)) if !["unless", "else"].contains(&word.as_str()) => {
                Some(self.name("a type")?)
            }
            _ => None,
        };
        Ok(ColumnText { name, kind })
    }

    /// An edge without what may be after it.
    pub(super) fn edge(
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
            optional: false,
        })
    }

    pub(super) fn name(&mut self, what: &str) -> Result<Text, Box<Diagnostic>> {
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

    pub(super) fn none(&mut self) -> Result<Spanned<NoneText>, Box<Diagnostic>> {
        let what = "a whole number, or a string in single quotes,";
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

    pub(super) fn take(&mut self, token: &Token) -> bool {
        let found = self
            .tokens
            .get(self.at)
            .is_some_and(|(next, _)| next == token);
        self.at += usize::from(found);
        found
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        self.take(&Token::Word(word.to_owned()))
    }

    /// Takes the word and the parenthesis after it, if that is what is here.
    pub(super) fn take_call(&mut self, word: &str) -> bool {
        let behind = self.tokens.get(self.at + 1);
        behind.is_some_and(|(next, _)| *next == Token::Open)
            && self.take_word(word)
            && self.take(&Token::Open)
    }

    pub(super) fn expect(&mut self, token: &Token) -> Result<(), Box<Diagnostic>> {
        if self.take(token) {
            Ok(())
        } else {
            Err(self.expected(sign(token)))
        }
    }

    pub(super) fn end(&self) -> Result<(), Box<Diagnostic>> {
        if self.at == self.tokens.len() {
            Ok(())
        } else {
            Err(self.expected("the end"))
        }
    }

    pub(super) fn expected(&self, what: &str) -> Box<Diagnostic> {
        let end = self.whole.get_ref().len();
        let part = self
            .tokens
            .get(self.at)
            .map_or(end..end, |(_, part)| part.clone());
        self.malformed(part, format!("expected {what} here"))
    }

    pub(super) fn malformed(&self, part: Range<usize>, message: String) -> Box<Diagnostic> {
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

/// What is between the quotes, a doubled one being one of the content, and the bytes it takes with them.
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
