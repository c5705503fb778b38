//! A statement of a routine of PostgreSQL outside of it. Variables become subqueries, which the planner knows as little of as of
//! the parameters of a generic plan.

use super::marks;
use super::variables::{declared, replaced, word};
use crate::bundle::Probe;

/// What the rule files name of the kernel: tables with their columns, functions with what they answer.
const KERNEL_TABLES: [(&str, &str); 2] = [
    ("hold", "rule text, key text, until timestamptz"),
    (
        "policy",
        "rule text, scope text, enabled boolean, retention_seconds bigint",
    ),
];
const KERNEL_FUNCTIONS: [(&str, &str); 3] = [
    ("held_keys", "text[]"),
    ("retention_of", "bigint"),
    ("calendar_before", "timestamptz"),
];

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
        let types: Vec<&str> = TYPES.iter().map(|(known, _)| *known).collect();
        let kind = |name: &str| {
            let here = declared(self.text, name, &types);
            here.or_else(|| declared(self.file, name, &types))
        };
        // What a record holds was declared where it comes from.
        let mut query = query.to_owned();
        for record in ["k.", "a."] {
            query = replaced(&query, |before, name| {
                let longer = |sign: char| sign.is_alphanumeric() || "_.\"".contains(sign);
                let held = before
                    .strip_suffix(record)
                    .is_some_and(|it| !it.ends_with(longer));
                (held && kind(name).is_some()).then(|| format!("\u{1}{name}"))
            });
            query = query.replace(&format!("{record}\u{1}"), "");
        }
        replaced(&query, |before, name| {
            let column = before.ends_with('.') || before.ends_with("AS ");
            kind(name).filter(|_| !column).map(|kind| value(&kind))
        })
    }
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
