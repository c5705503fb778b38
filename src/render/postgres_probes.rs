//! A statement of a routine of PostgreSQL outside of it. Variables become subqueries, which the planner knows as little of as of
//! the parameters of a generic plan.

use super::marks::{Routine, replaced, said};
use crate::dialect::Dialect;

/// What the rule files name of the kernel: tables with their columns, functions with what they answer.
const KERNEL_TABLES: [(&str, &[(&str, &str)]); 2] = [
    (
        "hold",
        &[("rule", "text"), ("key", "text"), ("until", "timestamptz")],
    ),
    (
        "policy",
        &[
            ("rule", "text"),
            ("scope", "text"),
            ("enabled", "boolean"),
            ("retention_seconds", "bigint"),
            ("refers_to", "text"),
        ],
    ),
];
const KERNEL_FUNCTIONS: [(&str, &str); 3] = [
    ("held_keys", "text[]"),
    ("calendar_before", "timestamptz"),
    ("default_of", "bigint"),
];

/// The types that variables have, each with a value.
const TYPES: [(&str, &str); 5] = [
    ("boolean", "true"),
    ("timestamp", "2000-01-01"),
    ("timestamptz", "2000-01-01"),
    // In a list of them.
    ("tid", "\"(0,1)\""),
    ("uuid", "00000000-0000-0000-0000-000000000001"),
];

/// The routines of a file.
pub(super) struct Routines<'a> {
    pub(super) all: &'a [Routine],
    /// The control schema, with a dot.
    pub(super) control: String,
}

impl Routines<'_> {
    /// A statement of one of them with values for variables, and with what represents windrow's own tables and functions.
    pub(super) fn explained(&self, routine: &Routine, statement: &str) -> String {
        let said = said(statement, |own| self.stand_in(own));
        let query = match said.split(' ').next() {
            Some("SELECT" | "WITH" | "DELETE" | "UPDATE") => said,
            // What a routine asks or assigns, or looks for.
            _ => format!("SELECT {}", said.trim_start()),
        };
        replaced(&query, Dialect::Postgres, |word| self.value(routine, word))
    }

    /// What represents a word, if it is no other's.
    fn value(&self, routine: &Routine, word: &str) -> Option<String> {
        if let Some(table) = word.strip_prefix(&self.control) {
            let columns = KERNEL_TABLES.iter().find(|(name, _)| *name == table)?.1;
            return Some(format!("(SELECT {})", row(columns.iter().copied())));
        }
        // What a record holds was declared where it comes from.
        let kind = match word.strip_prefix("k.").or_else(|| word.strip_prefix("a.")) {
            Some(held) => self.all.iter().find_map(|routine| routine.kind(held)),
            None => routine.kind(word),
        };
        kind.map(value)
    }

    /// What represents a call: the text of a function that PostgreSQL takes into the statement, or rows as another answers.
    fn stand_in(&self, call: &str) -> String {
        let name = call
            .strip_prefix(&self.control)
            .and_then(|call| call.split('(').next());
        // Its argument stands for a call that is marked without it.
        let around = call.matches('(').count() != call.matches(')').count();
        let Some(name) = name.filter(|_| !around) else {
            return String::new();
        };
        if let Some((_, kind)) = KERNEL_FUNCTIONS.iter().find(|(known, _)| *known == name) {
            return value(kind);
        }
        let routine = self.all.iter().find(|routine| routine.name == name);
        let Some(routine) = routine else {
            return call.to_owned();
        };
        let columns = routine.answers();
        let Some(text) = &routine.text else {
            // As many as the planner thinks that a function answers.
            let row = row(columns.map(|(name, kind)| (&name[..], &kind[..])));
            return format!("(SELECT {row} FROM generate_series(1, 1000))");
        };
        let mut names: Vec<String> = columns.map(|(name, _)| format!("\"{name}\"")).collect();
        if names.is_empty() {
            names.push("it".to_owned());
        }
        let text = self.explained(routine, text);
        format!("(SELECT * FROM ({text}) AS x({}))", names.join(", "))
    }
}

/// A value of a type that the planner does not see.
fn value(kind: &str) -> String {
    let bare = kind.trim_end_matches("[]");
    let one = TYPES.iter().find(|(known, _)| *known == bare);
    let one = one.map_or("1", |(_, one)| *one);
    let text = if bare == kind {
        one.to_owned()
    } else {
        format!("{{{one}}}")
    };
    format!("((SELECT '{text}'::{kind})::{kind})")
}

/// A row of values by the names and types of its columns.
fn row<'a>(columns: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let columns = columns.map(|(name, kind)| format!("{} AS {name}", value(kind)));
    columns.collect::<Vec<_>>().join(", ")
}
