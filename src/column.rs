//! Columns, their types, and what they must hold: the words that the servers' SQL and the graph share.

use std::fmt;

/// A column with the type that the spec declares for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name as the catalog has it.
    pub name: String,
    /// Declared type.
    pub kind: Kind,
}

/// The column types that keys, edges and conditions may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 16 bits.
    Smallint,
    /// 32 bits.
    Integer,
    /// 64 bits.
    Bigint,
    /// 128-bit identifier.
    Uuid,
    /// A number of any size; on MySQL and MariaDB a decimal without a fraction.
    Numeric,
    /// Text of any declared length.
    Varchar,
    /// Text that the server fills up with blanks to its length.
    Char,
    /// Bytes; on MySQL and MariaDB their hexadecimal digits wherever they are texts.
    Bytea,
    /// Zone-less date and time, in the spec's time zone.
    Timestamp,
    /// An instant.
    Timestamptz,
}

/// What a column counts that is no time and says one: a number counts from the beginning of 1970 in UTC, without leap seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Epoch {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Days, as a date: it says the end of that day in the zone of the application, so that nothing is deleted a day too early.
    Date,
}

impl Epoch {
    /// Those that are numbers, the coarsest first.
    pub const NUMBERS: [Epoch; 3] = [Epoch::Seconds, Epoch::Milliseconds, Epoch::Microseconds];

    /// All of them.
    pub const ALL: [Epoch; 4] = [
        Epoch::Date,
        Epoch::Seconds,
        Epoch::Milliseconds,
        Epoch::Microseconds,
    ];

    /// The word for it in a spec.
    pub fn word(self) -> &'static str {
        match self {
            Epoch::Seconds => "epoch-s",
            Epoch::Milliseconds => "epoch-ms",
            Epoch::Microseconds => "epoch-us",
            Epoch::Date => "date",
        }
    }

    /// How many of them are a second, if it is a number.
    pub fn per_second(self) -> Option<i64> {
        match self {
            Epoch::Seconds => Some(1),
            Epoch::Milliseconds => Some(1_000),
            Epoch::Microseconds => Some(1_000_000),
            Epoch::Date => None,
        }
    }

    /// The kind of the instant that it says: a number counts in UTC.
    pub fn kind(self) -> Kind {
        match self {
            Epoch::Seconds | Epoch::Milliseconds | Epoch::Microseconds => Kind::Timestamptz,
            Epoch::Date => Kind::Timestamp,
        }
    }
}

/// A constant of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(String),
}

/// What a column of a row must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Column of the table. Its type says something only where it is one of some values.
    pub column: Column,
    /// What it must hold.
    pub test: Test,
}

/// What a column must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// One of these values, at least one, all integers or all texts. NULL never matches.
    OneOf(Vec<Literal>),
    /// NULL.
    Null,
    /// Anything but NULL.
    NotNull,
    /// A truth value. NULL is neither.
    Is(bool),
    /// One of these texts, at least one, is what the server prints of it, whatever its type is. NULL never matches.
    Printed(Vec<String>),
}

impl fmt::Display for Condition {
    /// For people: `state = 1 or 2`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.column.name;
        match &self.test {
            Test::Null => write!(out, "{name} is NULL"),
            Test::NotNull => write!(out, "{name} is not NULL"),
            Test::Is(value) => write!(out, "{name} = {value}"),
            Test::Printed(values) => {
                let values = values.iter().map(|value| value.escape_debug().to_string());
                let values: Vec<String> = values.collect();
                write!(out, "{name} as text = {}", values.join(" or "))
            }
            Test::OneOf(values) => {
                let values = values.iter().map(|value| match value {
                    Literal::Integer(number) => number.to_string(),
                    Literal::Text(text) => text.escape_debug().to_string(),
                });
                let values: Vec<String> = values.collect();
                write!(out, "{name} = {}", values.join(" or "))
            }
        }
    }
}

impl Condition {
    /// Whether the column holds the same in all rows that match, so that an index may begin with it.
    pub fn is_constant(&self) -> bool {
        match &self.test {
            Test::OneOf(values) => values.len() == 1,
            Test::Null | Test::Is(_) => true,
            // An index has the values, not what is printed of them.
            Test::NotNull | Test::Printed(_) => false,
        }
    }
}
