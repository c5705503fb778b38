//! A statement of a routine of MySQL and MariaDB outside of it. Variables become values, as which the server knows them; work
//! tables become a few rows with the types that the routines give them.

use super::marks;
use super::variables::{declared, replaced, word};
use crate::bundle::Probe;

const TIME: &str = "TIMESTAMP'2000-01-01 00:00:00'";

/// The types of what the routines declare, each with a value.
const TYPES: [(&str, &str); 6] = [
    ("bigint", "100"),
    ("integer", "1"),
    ("boolean", "true"),
    ("datetime", TIME),
    ("varchar", "'1'"),
    ("longtext", "'1'"),
];

/// What the work tables of the kernel have beside keys and scopes.
const KEYS: [&str; 6] = ["id", "root_id", "family", "other", "upper_id", "lower_id"];
const NUMBERS: [&str; 9] = [
    "pk", "depth", "upwards", "position", "pass", "round", "fault", "only_row", "final",
];
const TIMES: [&str; 3] = ["ended", "cutoff", "due"];

/// Of which there is one row, or a statement takes one: the server reads it first, as a constant.
const SINGLE: [&str; 2] = ["work_cursor", "work_scope"];

/// The kernel's own tables that rules name.
const KERNEL: [(&str, &str); 2] = [
    (
        "hold",
        "'1' AS rule, '1' AS `key`, UTC_TIMESTAMP(6) AS until",
    ),
    (
        "policy",
        "'1' AS rule, '1' AS scope, true AS enabled, 1 AS retention_seconds",
    ),
];

/// The routine in which a statement stands.
pub(super) struct Routine<'a> {
    pub(super) name: &'a str,
    /// Its text up to the statement, and its file.
    text: &'a str,
    file: &'a str,
    /// The control database, with a dot.
    control: String,
    /// The tables of the application as statements name them.
    tables: Vec<&'a str>,
}

impl<'a> Routine<'a> {
    /// The last one that `before` begins.
    pub(super) fn of(file: &'a str, before: &'a str, control: &str, tables: Vec<&'a str>) -> Self {
        let control = format!("{control}.");
        let head = format!("CREATE PROCEDURE {control}");
        let text = before.rsplit(&head).next().unwrap_or_default();
        Routine {
            name: text.split('(').next().unwrap_or_default(),
            text,
            file,
            control,
            tables,
        }
    }

    /// A statement with values for variables, and with what stands for work tables and windrow's own.
    pub(super) fn explained(&self, statement: &str) -> String {
        let query = statement.replace(&self.control, "");
        let query = self.named_in_full(&query);
        replaced(&query, |before, name| {
            if before.ends_with('.') || before.ends_with("AS ") {
                return None;
            }
            let known = KERNEL.iter().find(|(known, _)| *known == name);
            if name.starts_with("work_") {
                return Some(self.work(name, &query));
            }
            if let Some((_, row)) = known {
                return Some(format!("(SELECT {row})"));
            }
            let known: Vec<&str> = TYPES.iter().map(|(known, _)| *known).collect();
            let kind = declared(self.text, name, &known)?;
            let value = TYPES.iter().find(|(known, _)| *known == kind)?.1;
            Some(value.to_owned())
        })
    }

    /// A deletion by the full name of its table: an alias would need a current database, which a session need not have.
    fn named_in_full(&self, query: &str) -> String {
        let Some(rest) = query.strip_prefix("DELETE t ") else {
            return query.to_owned();
        };
        let aliased = |table: &&&str| rest.contains(&format!("{table} AS t"));
        let Some(table) = self.tables.iter().find(aliased) else {
            return query.to_owned();
        };
        let rest = rest.replace(&format!("{table} AS t"), table);
        let rest = replaced(&rest, |before, name| {
            let alias = name == "t" && !before.ends_with('.');
            alias.then(|| (*table).to_owned())
        });
        format!("DELETE {table} {rest}")
    }

    /// What stands for a work table in a statement, with the columns that this may name.
    fn work(&self, name: &str, query: &str) -> String {
        let (key, from, scope) = self.keys(name);
        let mut values: Vec<(&str, String)> = Vec::new();
        values.extend(KEYS.map(|name| (name, key.clone())));
        values.extend(scope.map(|scope| ("scope", scope)));
        let single = SINGLE.contains(&name);
        for (_, value) in values.iter_mut().filter(|_| single) {
            *value = format!("(SELECT {value} FROM {from} LIMIT 1)");
        }
        values.extend(NUMBERS.map(|name| (name, "1".to_owned())));
        values.extend(TIMES.map(|name| (name, TIME.to_owned())));
        values.retain(|(name, _)| query.contains(&format!(".{name}")));
        let columns: Vec<String> = values
            .iter()
            .map(|(name, value)| format!("{value} AS {name}"))
            .collect();
        let columns = match columns.is_empty() {
            true => "1".to_owned(),
            false => columns.join(", "),
        };
        // DISTINCT and LIMIT keep the server from merging it into the statement.
        match single {
            true => format!("(SELECT {columns})"),
            false => format!("(SELECT DISTINCT {columns} FROM {from} LIMIT 3)"),
        }
    }

    /// Where a work table has its keys from: the value, its table, and that of scopes. What the file does not make itself, the
    /// kernel makes like `work_type`.
    fn keys(&self, name: &str) -> (String, String, Option<String>) {
        let make = |name: &str| format!("TEMPORARY TABLE {name} (");
        let file = self.file;
        let made = file
            .find(&make(name))
            .or_else(|| file.find(&make("work_type")));
        let made = made.and_then(|at| file[at..].split_once("InnoDB AS"));
        let made = made.and_then(|(_, select)| select.split_once(';'));
        let (made, _) = made.unwrap_or_default();
        let said = marks::said(made).replace(&self.control, "");
        let select = said.strip_prefix("SELECT ").unwrap_or(&said);
        let (values, rest) = select.split_once(" FROM ").unwrap_or_default();
        // A copy of another one.
        if let Some(other) = rest.strip_prefix("work_").filter(|_| values == "w.id") {
            return self.keys(&format!("work_{}", &other[..word(other)]));
        }
        let value = |name: &str| {
            let mut values = values.split(", ");
            values.find_map(|value| value.strip_suffix(&format!(" AS {name}")))
        };
        let key = value("id").unwrap_or(values);
        let (alias, _) = key.split_once('.').unwrap_or_default();
        let aliased = |table: &&&str| rest.contains(&format!("{table} AS {alias}"));
        let table = self
            .tables
            .iter()
            .find(aliased)
            .copied()
            .unwrap_or_default();
        let fed =
            |value: &str| value.replacen(&format!("{alias}."), &format!("{}.", Probe::FED), 1);
        (
            fed(key),
            format!("{table} AS {}", Probe::FED),
            value("scope").map(fed),
        )
    }
}
