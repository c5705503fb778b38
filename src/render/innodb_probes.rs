//! A statement of a routine of MySQL and MariaDB outside of it. Variables become values, as which the server knows them; work
//! tables become a few rows with the types that the routines give them.

use super::marks::{Routine, replaced, said};
use super::works::Works;
use crate::bundle::Probe;
use crate::dialect::Dialect;

/// MySQL and MariaDB read texts alike.
const SERVER: Dialect = Dialect::Mysql;

const TIME: &str = "TIMESTAMP'2000-01-01 00:00:00'";

/// The types that variables have, each with a value.
const TYPES: [(&str, &str); 7] = [
    ("bigint", "100"),
    ("decimal(65,30)", "100"),
    ("integer", "1"),
    ("boolean", "true"),
    ("datetime(6)", TIME),
    ("longtext", "'1'"),
    ("json", "'[1]'"),
];

/// What the work tables of the kernel have besides keys and scopes.
const KEYS: [&str; 8] = [
    "id", "root", "root_id", "ahead_id", "family", "other", "upper_id", "lower_id",
];
const NUMBERS: [&str; 9] = [
    "pk", "depth", "upwards", "position", "pass", "round", "fault", "only_row", "final",
];
const TIMES: [&str; 3] = ["ended", "cutoff", "due"];

/// Of which there is one row, or a statement takes one: the server reads it first, as a constant.
const SINGLE: [&str; 4] = ["work_cursor", "work_at", "work_bound", "work_scope"];

/// The kernel's own table that rules name.
const HOLD: &str = "(SELECT '1' AS rule, '1' AS `key`, UTC_TIMESTAMP(6) AS until)";

/// What the statements of a file name.
pub(super) struct Named<'a> {
    /// The control database, with a dot.
    pub(super) control: String,
    pub(super) works: &'a Works<'a>,
    /// The tables of the application as statements name them.
    pub(super) tables: Vec<&'a str>,
}

impl Named<'_> {
    /// A statement with values for variables, and with what represents work tables and windrow's own.
    pub(super) fn explained(&self, routine: &Routine, statement: &str) -> String {
        let said = said(statement, |_| String::new());
        let query = match said.split([' ', '(']).next() {
            Some("SELECT" | "DELETE" | "UPDATE") => said,
            // What a routine asks.
            _ => format!("SELECT {said}"),
        };
        let query = self.named_in_full(&query);
        let mut columns = Vec::new();
        replaced(&query, SERVER, |word| {
            columns.extend(word.split_once('.').map(|(_, column)| column.to_owned()));
            None
        });
        replaced(&query, SERVER, |word| {
            let name = word.strip_prefix(&self.control).unwrap_or(word);
            if name.starts_with("work_") {
                return Some(self.work(name, &columns));
            }
            if name == "hold" {
                return Some(HOLD.to_owned());
            }
            let kind = routine.kind(name)?;
            let found = TYPES.iter().find(|(known, _)| *known == kind);
            found.map(|(_, value)| (*value).to_owned())
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
        let rest = replaced(&rest, SERVER, |word| {
            (word == "t.").then(|| format!("{table}."))
        });
        format!("DELETE {table} {rest}")
    }

    /// What represents a work table in a statement that names these columns.
    fn work(&self, name: &str, named: &[String]) -> String {
        let made = self.works.like(name);
        let from = format!("{} AS {}", made.table, Probe::FED);
        let single = SINGLE.contains(&name);
        let value = |column: &str| {
            let value = match column {
                "" => "CAST(NULL AS signed)".to_owned(),
                column => format!("{}.{column}", Probe::FED),
            };
            if single {
                format!("(SELECT {value} FROM {from} LIMIT 1)")
            } else {
                value
            }
        };
        let key = made.columns.first().map_or("", |(_, column)| column);
        let own = made
            .columns
            .iter()
            .map(|(name, column)| (&name[..], value(column)));
        let times = made.times.iter().map(|name| &name[..]).chain(TIMES);
        let all = own
            .chain(KEYS.map(|name| (name, value(key))))
            .chain(NUMBERS.map(|name| (name, "1".to_owned())))
            .chain(times.map(|name| (name, TIME.to_owned())));
        let mut found: Vec<(&str, String)> = Vec::new();
        for (name, value) in all {
            let known = found.iter().any(|(known, _)| *known == name);
            if !known && named.iter().any(|it| it == name) {
                found.push((name, format!("{value} AS {name}")));
            }
        }
        let columns: Vec<String> = found.into_iter().map(|(_, column)| column).collect();
        let columns = if columns.is_empty() {
            "1".to_owned()
        } else {
            columns.join(", ")
        };
        // DISTINCT and LIMIT keep the server from merging it into the statement.
        if single {
            format!("(SELECT {columns})")
        } else {
            format!("(SELECT DISTINCT {columns} FROM {from} LIMIT 3)")
        }
    }
}
