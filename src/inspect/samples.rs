//! The statements that look at rows: bounded by their number, along an index or none at all.

use std::fmt::Write as _;

use super::family::Guess;
use crate::catalog::CatalogTable;
use crate::column::Epoch;
use crate::dialect::Dialect;

/// How many rows of a table are read for its values.
const ROWS: u32 = 10_000;

/// How many values of a column are looked for.
const VALUES: u32 = 1_000;

/// How many rows are read from each end of a root table.
const ENDS: u32 = 20_000;

/// Earlier than any time, in microseconds.
const LEAST: i64 = -9_000_000_000_000_000_000;

/// An earlier time is how some applications say that there is none.
const FIRST: &str = "'1971-01-01 00:00:00'";

/// A column of a time, and what it counts if it is none.
pub type Timed<'a> = (&'a str, Option<Epoch>);

/// Where the tables are, and in whose words the statements are written.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// The server.
    pub dialect: Dialect,
    /// The schema, or the database of MySQL and MariaDB.
    pub schema: &'a str,
}

impl Samples<'_> {
    /// What a session is set to before it looks: it can write nothing, and no statement takes longer than so many seconds.
    pub fn settings(dialect: Dialect, seconds: u64) -> Vec<String> {
        match dialect {
            Dialect::Postgres => vec![
                "SET default_transaction_read_only = on".to_owned(),
                "SET lock_timeout = '1s'".to_owned(),
                format!("SET statement_timeout = '{seconds}s'"),
            ],
            Dialect::Mysql => vec![
                "SET SESSION TRANSACTION READ ONLY".to_owned(),
                "SET SESSION lock_wait_timeout = 1".to_owned(),
                format!("SET SESSION max_execution_time = {}", seconds * 1_000),
            ],
            Dialect::Mariadb => vec![
                "SET SESSION TRANSACTION READ ONLY".to_owned(),
                "SET SESSION lock_wait_timeout = 1".to_owned(),
                format!("SET SESSION max_statement_time = {seconds}"),
            ],
        }
    }

    /// How many values of a guess there are, how many of them name a row, and of how many of these a time is not NULL. Each is
    /// looked up by itself, along the index of the key: a join could read the whole table instead.
    pub fn share(&self, guess: &Guess, end: Option<&str>) -> String {
        let ended = end.map_or("NULL".to_owned(), |end| self.lookup(guess, end));
        format!(
            "SELECT COUNT(*), COUNT(f.named), COUNT(f.ended) FROM (SELECT {named} AS named, {ended} AS ended FROM {values}) AS f",
            named = self.lookup(guess, &guess.named),
            values = self.values(guess),
        )
    }

    /// The values of a guess that name no row, the most frequent first, each with its number.
    pub fn strays(&self, guess: &Guess) -> String {
        format!(
            "SELECT {value}, COUNT(*) FROM (SELECT v.name, {named} AS named FROM {values}) AS f \
             WHERE f.named IS NULL GROUP BY f.name ORDER BY COUNT(*) DESC LIMIT 1",
            value = self.text("f.name"),
            named = self.lookup(guess, &guess.named),
            values = self.values(guess),
        )
    }

    /// A column of the row that a value of a guess names.
    fn lookup(&self, guess: &Guess, column: &str) -> String {
        format!(
            "(SELECT p.{} FROM {} AS p WHERE p.{} = v.name LIMIT 1)",
            self.dialect.ident(column),
            self.dialect.qualified(self.schema, &guess.parent),
            self.dialect.ident(&guess.named),
        )
    }

    /// The states of a root table, in how many rows each is, and in how many of these there is an end, and each other time. An end that
    /// is more than a day ahead has not come (zones differ by as much), and one before 1971 is how some say that there is none.
    pub fn states(
        &self,
        table: &str,
        live: &CatalogTable,
        state: Option<&str>,
        end: Option<Timed<'_>>,
        expires: bool,
        others: &[Timed<'_>],
    ) -> String {
        let state = state.map_or("NULL".to_owned(), |name| self.dialect.ident(name));
        let last = match self.dialect {
            Dialect::Postgres => "now() + interval '1 day'",
            Dialect::Mysql | Dialect::Mariadb => "UTC_TIMESTAMP() + INTERVAL 1 DAY",
        };
        let end = end.map_or("NULL".to_owned(), |(name, epoch)| {
            let at = self.instant(name, epoch);
            // That of an expiry is known before.
            let come = if expires {
                String::new()
            } else {
                format!(" AND {at} <= {last}")
            };
            format!("CASE WHEN {at} >= {FIRST}{come} THEN 1 END")
        });
        let mut columns = format!("{state} AS state, {end} AS ended");
        let mut counts = String::new();
        for (at, (name, epoch)) in others.iter().enumerate() {
            let _ = write!(columns, ", {} AS other{at}", self.instant(name, *epoch));
            let _ = write!(counts, ", COUNT(r.other{at})");
        }
        format!(
            "SELECT {state}, COUNT(*), COUNT(r.ended){counts} FROM {rows} AS r GROUP BY r.state ORDER BY COUNT(*) DESC LIMIT 50",
            state = self.text("r.state"),
            rows = self.both_ends(table, live, &columns),
        )
    }

    /// How many rows are looked at, and for each of these times how many have it, in how many it is the latest that has come, and in how
    /// many it is more than a day ahead.
    pub fn times(&self, table: &str, live: &CatalogTable, times: &[Timed<'_>]) -> String {
        // Microseconds or seconds: they are compared with each other alone.
        let (number, now, day) = match self.dialect {
            Dialect::Postgres => (
                "extract(epoch FROM {})",
                "extract(epoch FROM now())",
                86_400_i64,
            ),
            Dialect::Mysql | Dialect::Mariadb => (
                "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', {})",
                "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))",
                86_400_000_000,
            ),
        };
        let numbers = times.iter().enumerate().map(|(at, (name, epoch))| {
            format!(
                "{} AS at{at}",
                number.replace("{}", &self.instant(name, *epoch))
            )
        });
        let rows = self.both_ends(table, live, &numbers.collect::<Vec<_>>().join(", "));
        let come = (0..times.len())
            .map(|at| format!("COALESCE(CASE WHEN r.at{at} <= {now} THEN r.at{at} END, {LEAST})"));
        let mut counts = String::new();
        for at in 0..times.len() {
            let _ = write!(
                counts,
                ", COUNT(s.at{at}), COUNT(CASE WHEN s.at{at} = s.latest THEN 1 END), COUNT(CASE WHEN s.at{at} > {now} + {day} THEN 1 END)"
            );
        }
        format!(
            "SELECT COUNT(*){counts} FROM (SELECT r.*, GREATEST({}, {LEAST}) AS latest FROM {rows} AS r) AS s",
            come.collect::<Vec<_>>().join(", ")
        )
    }

    /// How many whole days ago the earliest of the rows was that are looked at.
    pub fn oldest(
        &self,
        table: &str,
        live: &CatalogTable,
        time: &str,
        epoch: Option<Epoch>,
    ) -> String {
        let (column, at) = (self.dialect.ident(time), self.instant(time, epoch));
        let leads = live.indexes.iter().any(|index| {
            index.valid
                && index.predicate.is_none()
                && index.leads().first().is_some_and(|key| key == time)
        });
        let rows = if leads {
            format!(
                "(SELECT {at} AS at FROM {} WHERE {column} {} ORDER BY {column} LIMIT 1)",
                self.dialect.qualified(self.schema, table),
                if epoch.and_then(Epoch::per_second).is_some() {
                    "> 0".to_owned()
                } else {
                    format!(">= {FIRST}")
                }
            )
        } else {
            self.both_ends(table, live, &format!("{at} AS at"))
        };
        match self.dialect {
            Dialect::Postgres => format!(
                "SELECT floor(extract(epoch FROM now() - min(r.at)) / 86400)::bigint FROM {rows} AS r WHERE isfinite(r.at) AND r.at >= {FIRST}"
            ),
            Dialect::Mysql | Dialect::Mariadb => {
                format!(
                    "SELECT TIMESTAMPDIFF(DAY, MIN(r.at), UTC_TIMESTAMP()) FROM {rows} AS r WHERE r.at >= {FIRST}"
                )
            }
        }
    }

    /// The greatest value of each of these columns of numbers, among the rows that are looked at.
    pub fn greatest(&self, table: &str, live: &CatalogTable, columns: &[&str]) -> String {
        let columns: Vec<String> = columns
            .iter()
            .map(|name| self.dialect.ident(name))
            .collect();
        let greatest = columns
            .iter()
            .map(|name| self.text(&format!("MAX(r.{name})")));
        format!(
            "SELECT {} FROM {} AS r",
            greatest.collect::<Vec<_>>().join(", "),
            self.both_ends(table, live, &columns.join(", "))
        )
    }

    /// A column of a time, or the instant that its number says.
    fn instant(&self, column: &str, epoch: Option<Epoch>) -> String {
        let column = self.dialect.ident(column);
        match epoch {
            Some(epoch) => self.dialect.instant(&column, epoch),
            None => column,
        }
    }

    /// The values of a guess as `v.name`.
    fn values(&self, guess: &Guess) -> String {
        let column = self.dialect.ident(&guess.column);
        let long = if guess.by_values {
            format!(" AND CHAR_LENGTH({}) >= 16", self.text("r.name"))
        } else {
            String::new()
        };
        format!(
            "(SELECT r.name FROM (SELECT t.{column} AS name FROM {table} AS t LIMIT {ROWS}) AS r \
             WHERE r.name IS NOT NULL{long} LIMIT {VALUES}) AS v",
            table = self.dialect.qualified(self.schema, &guess.table),
        )
    }

    /// Rows of a table: all of a small one; of others as many from either end of its key.
    fn both_ends(&self, table: &str, live: &CatalogTable, columns: &str) -> String {
        let table = self.dialect.qualified(self.schema, table);
        let from = format!("SELECT {columns} FROM {table}");
        if live.primary_key.is_empty() || live.estimated_rows < i64::from(2 * ENDS) {
            return format!("({from} LIMIT {})", 2 * ENDS);
        }
        let key: Vec<String> = live
            .primary_key
            .iter()
            .map(|name| self.dialect.ident(name))
            .collect();
        let down: Vec<String> = key.iter().map(|name| format!("{name} DESC")).collect();
        format!(
            "((({from} ORDER BY {} LIMIT {ENDS})) UNION ALL ({from} ORDER BY {} LIMIT {ENDS}))",
            key.join(", "),
            down.join(", ")
        )
    }

    fn text(&self, value: &str) -> String {
        match self.dialect {
            Dialect::Postgres => format!("{value}::text"),
            Dialect::Mysql | Dialect::Mariadb => format!("CAST({value} AS char)"),
        }
    }
}
