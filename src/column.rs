//! Columns, their types, and what they must hold: the words that the servers' SQL and the graph share.

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
    /// A number of any size; PostgreSQL only.
    Numeric,
    /// Text of any declared length.
    Varchar,
    /// Text that the server fills up with blanks to its length.
    Char,
    /// Bytes; PostgreSQL only.
    Bytea,
    /// Zone-less date and time, in the spec's time zone.
    Timestamp,
    /// An instant.
    Timestamptz,
}

/// What a number counts that says when something happened: from the beginning of 1970 in UTC, without leap seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Epoch {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
}

impl Epoch {
    /// All of them, the coarsest first.
    pub const ALL: [Epoch; 3] = [Epoch::Seconds, Epoch::Milliseconds, Epoch::Microseconds];

    /// The word for it in a spec.
    pub fn word(self) -> &'static str {
        match self {
            Epoch::Seconds => "epoch-s",
            Epoch::Milliseconds => "epoch-ms",
            Epoch::Microseconds => "epoch-us",
        }
    }

    /// How many of them are a second.
    pub fn per_second(self) -> i64 {
        match self {
            Epoch::Seconds => 1,
            Epoch::Milliseconds => 1_000,
            Epoch::Microseconds => 1_000_000,
        }
    }

    /// The last minute but one of the year 9999, in UTC. What lies behind is as far away as this: no server knows later years.
    pub fn greatest(self) -> i64 {
        253_402_300_740 * self.per_second()
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
    /// Column of the table. Where only NULL or a truth value is asked for, its type says nothing.
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
}

impl Condition {
    /// Whether the column holds the same in all rows that match, so that an index may begin with it.
    pub fn is_constant(&self) -> bool {
        match &self.test {
            Test::OneOf(values) => values.len() == 1,
            Test::Null | Test::Is(_) => true,
            Test::NotNull => false,
        }
    }
}
