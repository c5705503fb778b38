//! A statement of a routine of PostgreSQL outside of it. Variables become subqueries, which the planner knows as little of as of
//! the parameters of a generic plan.

use super::marks;
use crate::bundle::Probe;

/// What the rule files name of the kernel: tables with their columns, functions with what they answer.
const KERNEL_TABLES: [(&str, &str); 2] = [
    ("hold", "rule text, key text, until timestamptz"),
    (
        "policy",
        "rule text, scope text, enabled boolean, retention_seconds bigint",
    ),
];
const KERNEL_FUNCTIONS: [(&str, &str); 2] = [("held_keys", "text[]"), ("retention_of", "bigint")];

/// The types of what the routines declare, each with a value.
const TYPES: [(&str, &str); 8] = [
    ("bigint", "1"),
    ("integer", "1"),
    ("smallint", "1"),
    ("text", "1"),
    ("boolean", "true"),
    ("timestamp", "2000-01-01"),
    ("timestamptz", "2000-01-01"),
    ("uuid", "00000000-0000-0000-0000-000000000001"),
];

/// The routine in which a statement stands.
pub(super) struct Routine<'a> {
    pub(super) name: &'a str,
    /// Its text up to the statement, and its file.
    text: &'a str,
    file: &'a str,
    /// The control schema, with a dot.
    control: String,
}

impl<'a> Routine<'a> {
    /// The last one that `before` begins.
    pub(super) fn of(file: &'a str, before: &'a str, control: &str) -> Self {
        let control = format!("{control}.");
        let head = format!("CREATE OR REPLACE FUNCTION {control}");
        let text = before.rsplit(&head).next().unwrap_or_default();
        Routine {
            name: text.split('(').next().unwrap_or_default(),
            text,
            file,
            control,
        }
    }

    /// The settings of the planner that the routine turns off.
    pub(super) fn off(&self) -> Vec<&'static str> {
        let settings = Probe::SETTINGS.iter().copied();
        settings
            .filter(|name| self.text.contains(&format!("SET {name} = off")))
            .collect()
    }

    /// A statement with values for variables, and with what stands for windrow's own tables and functions.
    pub(super) fn explained(&self, statement: &str) -> String {
        let first = &statement[..word(statement)];
        let query = match first {
            "SELECT" | "WITH" | "DELETE" | "UPDATE" => statement.to_owned(),
            "PERFORM" => format!("SELECT {}", &statement[first.len()..]),
            // What a routine assigns.
            _ => format!("SELECT {statement}"),
        };
        self.valued(&self.without_own(&query))
    }

    fn without_own(&self, query: &str) -> String {
        let mut made = String::new();
        let mut rest = query;
        while let Some((before, after)) = rest.split_once(&self.control) {
            made.push_str(before);
            let name = &after[..word(after)];
            rest = &after[name.len()..];
            if let Some(arguments) = rest.strip_prefix('(') {
                rest = &arguments[closing(arguments) + 1..];
                made.push_str(&self.answer(name));
            } else if let Some((_, columns)) =
                KERNEL_TABLES.iter().find(|(known, _)| *known == name)
            {
                made.push_str(&format!("(SELECT {})", row(columns)));
            } else {
                made.push_str(&format!("{}{name}", self.control));
            }
        }
        made + rest
    }

    /// What stands for a call: the text of a function that PostgreSQL takes into the statement, or rows as another answers.
    fn answer(&self, name: &str) -> String {
        if let Some((_, kind)) = KERNEL_FUNCTIONS.iter().find(|(known, _)| *known == name) {
            return value(kind);
        }
        let head = format!("FUNCTION {}{name}(", self.control);
        let function = self.file.split_once(&head).map_or("", |(_, after)| after);
        let (head, body) = function.split_once("AS $windrow$").unwrap_or_default();
        let answers = head
            .split_once("RETURNS TABLE (")
            .and_then(|(_, after)| after.split_once(')'));
        let columns = answers.map_or("", |(columns, _)| columns);
        if head.contains("SECURITY DEFINER") || head.is_empty() {
            // As many as the planner thinks that a function answers.
            return format!("(SELECT {} FROM generate_series(1, 1000))", row(columns));
        }
        let body = body.split_once("$windrow$").map_or("", |(body, _)| body);
        let body = marks::said(body);
        let names = columns
            .split(',')
            .filter_map(|column| column.split_whitespace().next());
        let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
        let names = if names.is_empty() {
            "it".to_owned()
        } else {
            names.join(", ")
        };
        let body = self.without_own(body.trim_end_matches(';'));
        format!("(SELECT * FROM ({body}) AS x({names}))")
    }

    fn valued(&self, query: &str) -> String {
        let mut made = String::new();
        let mut rest = query;
        let mut quote = None;
        while let Some(sign) = rest.chars().next() {
            let inside = quote.is_some();
            match (sign, quote) {
                ('\'' | '"', None) => quote = Some(sign),
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
            // What a record holds was declared where it comes from.
            let record = ["k.", "a."].iter().find(|record| made.ends_with(*record));
            let column = made.ends_with('.') && record.is_none() || made.ends_with("AS ");
            match self.kind(name).filter(|_| !column) {
                Some(kind) => {
                    made.truncate(made.len() - record.map_or(0, |record| record.len()));
                    made.push_str(&value(&kind));
                }
                None => made.push_str(name),
            }
            rest = &rest[length..];
        }
        made
    }

    /// The type of a variable: `p_…` and the like, which are declared before they are used.
    fn kind(&self, name: &str) -> Option<String> {
        if name.as_bytes().get(1) != Some(&b'_') {
            return None;
        }
        declared(self.text, name).or_else(|| declared(self.file, name))
    }
}

fn declared(text: &str, name: &str) -> Option<String> {
    let mut found = text.match_indices(name);
    found.find_map(|(at, _)| {
        let whole =
            !text[..at].ends_with(|before: char| before.is_alphanumeric() || "_.".contains(before));
        let after = &text[at + name.len()..];
        let kind = after.trim_start();
        let kind = &kind[..word(kind)];
        let known =
            whole && after.starts_with(' ') && TYPES.iter().any(|(known, _)| *known == kind);
        let list = after.trim_start()[kind.len()..].starts_with("[]");
        known.then(|| format!("{kind}{}", if list { "[]" } else { "" }))
    })
}

/// A value of a type that the planner does not see.
fn value(kind: &str) -> String {
    let bare = kind.trim_end_matches("[]");
    let one = TYPES
        .iter()
        .find(|(known, _)| *known == bare)
        .map_or("1", |(_, one)| *one);
    let text = if bare == kind {
        one.to_owned()
    } else {
        format!("{{{one}}}")
    };
    format!("((SELECT '{text}'::{kind})::{kind})")
}

/// A row of values by the names and types of its columns.
fn row(columns: &str) -> String {
    let columns = columns.split(',').filter_map(|column| {
        let (name, kind) = column.trim().split_once(' ')?;
        Some(format!("{} AS {name}", value(kind.trim())))
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// How long the word at the beginning of a text is.
fn word(text: &str) -> usize {
    let other = |sign: char| !(sign.is_ascii_alphanumeric() || sign == '_');
    text.find(other).unwrap_or(text.len())
}

/// Where the parenthesis closes that is open at the beginning of a text.
fn closing(text: &str) -> usize {
    let mut open = 1;
    for (at, sign) in text.char_indices() {
        match sign {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at;
        }
    }
    text.len()
}
