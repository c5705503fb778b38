//! A statement of a routine of MySQL and MariaDB outside of it. Variables become values, as which the server knows them; work
//! tables become a few rows with the types that the routines give them.

use super::marks;
use super::variables::{declared, parts, replaced, word};
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
const KEYS: [&str; 8] = [
    "id", "root", "root_id", "ahead_id", "family", "other", "upper_id", "lower_id",
];
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
    /// Its text up to the statement, its file up to there, and its file.
    text: &'a str,
    before: &'a str,
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
            before,
            file,
            control,
            tables,
        }
    }

    /// A statement with values for variables, and with what stands for work tables and windrow's own.
    pub(super) fn explained(&self, statement: &str) -> String {
        let query = self.bare(statement);
        let query = match &query[..word(&query)] {
            "SELECT" | "DELETE" | "UPDATE" => query,
            // What a routine asks.
            _ => format!("SELECT {query}"),
        };
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

    /// A text without the name of the control database, and with bare names of work tables.
    fn bare(&self, text: &str) -> String {
        let quoted = format!("`{}`.", self.control.trim_end_matches('.'));
        let text = text.replace(&quoted, "").replace(&self.control, "");
        let mut parts = text.split("`work_");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            format!("{text}work_{}", part.replacen('`', "", 1))
        })
    }

    /// What stands for a work table in a statement, with the columns that this may name.
    fn work(&self, name: &str, query: &str) -> String {
        let Made { mut values, from } = self.made(name);
        let key = values
            .iter()
            .find(|(name, _)| name == "id")
            .or(values.first());
        let key = key.map(|(_, value)| value.clone()).unwrap_or_default();
        let more = |values: &mut Vec<(String, String)>, names: &[&str], value: &str| {
            for name in names {
                if values.iter().all(|(known, _)| known != name) {
                    values.push(((*name).to_owned(), value.to_owned()));
                }
            }
        };
        more(&mut values, &KEYS, &key);
        let single = SINGLE.contains(&name);
        for (_, value) in values
            .iter_mut()
            .filter(|(_, value)| single && value != TIME)
        {
            *value = format!("(SELECT {value} FROM {from} LIMIT 1)");
        }
        more(&mut values, &NUMBERS, "1");
        more(&mut values, &TIMES, TIME);
        let named = |name: &str| {
            let name = format!(".{name}");
            query
                .match_indices(&name)
                .any(|(at, _)| word(&query[at + name.len()..]) == 0)
        };
        values.retain(|(name, _)| named(name));
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

    /// From what a work table is made. What no file of a rule makes itself, the kernel makes like `work_type`.
    fn made(&self, name: &str) -> Made {
        let (before, file) = (self.before, self.file);
        let find = |name: &str| {
            let made = [
                format!("TEMPORARY TABLE {name} ("),
                format!("TEMPORARY TABLE {}{name} (", self.control),
            ];
            let mut earlier = made.iter().filter_map(|made| before.rfind(made));
            let earlier = earlier.next().map(|at| &before[at..]);
            earlier.or_else(|| made.iter().find_map(|made| Some(&file[file.find(made)?..])))
        };
        let text = find(name).or_else(|| find("work_type")).unwrap_or_default();
        let (columns, made) = text.split_once("InnoDB AS").unwrap_or_default();
        let made = parts(made, ";")[0];
        let said = self.bare(&marks::said(made));
        let select = said.strip_prefix("SELECT ").unwrap_or(&said);
        let halves = parts(select, " FROM ");
        let (listed, rest) = (halves[0], halves.get(1).copied().unwrap_or_default());
        // A copy of another one.
        if let Some(other) = rest
            .strip_prefix("work_")
            .filter(|_| listed.ends_with(".id"))
        {
            return self.made(&format!("work_{}", &other[..word(other)]));
        }
        let alias = listed.split('.').next().unwrap_or_default();
        let aliased = |table: &&&str| rest.contains(&format!("{table} AS {alias}"));
        let table = self
            .tables
            .iter()
            .find(aliased)
            .copied()
            .unwrap_or_default();
        let from = format!("{table} AS {}", Probe::FED);
        let fed = |value: &str| match value.strip_prefix(&format!("{alias}.")) {
            Some(column) => format!("{}.{column}", Probe::FED),
            None => value.to_owned(),
        };
        let listed = parts(listed, ", ");
        let values = listed.into_iter().filter_map(|value| {
            let (value, name) = value.rsplit_once(" AS ")?;
            // A key of another work table, of the same type.
            let other = value.starts_with("k.");
            (!other).then(|| (name.to_owned(), fed(value)))
        });
        let mut values: Vec<(String, String)> = values.collect();
        let times = columns.lines().flat_map(|line| line.split(", "));
        for time in times.filter_map(|column| column.trim().split_once(" datetime(6)")) {
            values.push((time.0.to_owned(), TIME.to_owned()));
        }
        Made { values, from }
    }
}

/// From what a work table is made: the values of its columns by their names, and where these are.
struct Made {
    values: Vec<(String, String)>,
    from: String,
}
