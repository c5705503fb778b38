//! Random specs with schemas that fit them: what a spec and its tables are made of.

mod random;
mod schema;
mod spec;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Small,
    Integer,
    Big,
    /// A number without a fraction that may have more digits than 64 bits.
    Decimal,
    Varchar,
    Uuid,
    Time,
    Instant,
    /// A number that says when: microseconds in each.
    Number(i64),
    /// The same with a fraction: a part of a microsecond more than that.
    Broken(i64),
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
}

/// What becomes of a row whose parent goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Delete,
    SetNull,
    Restrict,
}

#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) columns: Vec<usize>,
    pub(crate) parent: usize,
    pub(crate) parent_columns: Vec<usize>,
    pub(crate) action: Action,
    /// Whether 0 means "no parent".
    pub(crate) zero: bool,
    /// ON DELETE of the foreign key, if there is one.
    pub(crate) key: Option<&'static str>,
    /// Whether the spec leaves its rows to a foreign key, whatever that does.
    pub(crate) cascade: bool,
}

/// A table. Its first column tells its rows apart, and the spec knows nothing of it.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) key: Vec<usize>,
    pub(crate) unique: Option<[usize; 2]>,
    pub(crate) edges: Vec<Edge>,
    /// Whether a row of several parents goes with all of them, and not with any.
    pub(crate) with_all: bool,
    /// A column of texts, and what it holds in rows that stay when their parents go.
    pub(crate) kept: Option<(usize, Kept)>,
}

/// What a row holds that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// One of these texts, whose like are there as well.
    Texts(&'static [&'static str]),
    Null,
    NotNull,
}

impl Table {
    fn new(name: &str) -> Self {
        let mut table = Self {
            name: name.to_owned(),
            columns: Vec::new(),
            key: Vec::new(),
            unique: None,
            edges: Vec::new(),
            with_all: false,
            kept: None,
        };
        table.add("no", Kind::Integer, false);
        table
    }

    fn add(&mut self, name: &str, kind: Kind, nullable: bool) -> usize {
        let mut name = name.to_owned();
        while self.columns.iter().any(|column| column.name == name) {
            name.push('2');
        }
        self.columns.push(Column {
            name,
            kind,
            nullable,
        });
        self.columns.len() - 1
    }

    pub(crate) fn has_several_parents(&self) -> bool {
        let parents = self.edges.iter();
        parents.filter(|edge| edge.action == Action::Delete).count() > 1
    }

    pub(crate) fn at(&self, column: usize) -> &Column {
        &self.columns[column]
    }
}

/// How the members of a family are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hierarchy {
    None,
    /// A column of the root table names the row above.
    Own(usize),
    /// A table, and its columns for the upper and the lower member.
    Relation(usize, usize, usize),
    /// A column of the root table names a row of the second table, of which this column names the row above.
    Over(usize, usize),
}

/// Where a retention is written, beside the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Constant,
    Policies { opt_in: bool },
    Definitions,
    Values(Vec<(i64, i64)>),
}

/// The rule by end time, whose root is the first table.
#[derive(Clone, Debug)]
pub(crate) struct Families {
    pub(crate) hierarchy: Hierarchy,
    /// A column that is 1 in roots.
    pub(crate) candidates: Option<usize>,
    pub(crate) state: usize,
    /// A column of texts; a row in which it is NULL or "a" is not final, by SQL of the spec.
    pub(crate) raw: Option<usize>,
    pub(crate) ended: usize,
    /// The column that stands in where that one is NULL.
    pub(crate) otherwise: Option<usize>,
    pub(crate) scope: Option<usize>,
    pub(crate) source: Source,
    /// Days; without it, what nothing is said of stays.
    pub(crate) default: Option<i64>,
    pub(crate) minimum: i64,
    /// Hours.
    pub(crate) lag: i64,
}

/// A rule of single rows.
#[derive(Clone, Debug)]
pub(crate) enum Single {
    Age {
        time: usize,
    },
    Expiry {
        time: usize,
        fallback: Option<usize>,
    },
    KeepLast {
        newest: usize,
        per: Vec<usize>,
        by: usize,
        time: Option<usize>,
    },
    /// Rows of the last table that `column` names nothing in; with `time`, only old ones.
    Orphan {
        column: usize,
        target: usize,
        time: Option<usize>,
    },
}

impl Single {
    /// The time that may be a number.
    pub(crate) fn counted(&self) -> Option<usize> {
        match self {
            Self::Age { time }
            | Self::Expiry {
                time,
                fallback: None,
            } => Some(*time),
            Self::Expiry { .. } => None,
            Self::KeepLast { time, .. } | Self::Orphan { time, .. } => *time,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SingleRule {
    pub(crate) table: usize,
    pub(crate) what: Single,
    /// A column that is 1 or 2 in rows that the rule is about.
    pub(crate) candidates: Option<usize>,
    /// A column of texts; a row in which it is NULL or "a" is none of the rule's, by SQL of the spec.
    pub(crate) raw: Option<usize>,
    pub(crate) days: i64,
    pub(crate) minimum: i64,
    pub(crate) lag: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) tables: Vec<Table>,
    pub(crate) families: Families,
    pub(crate) single: SingleRule,
    /// Tables that only the application knows: what an orphan names.
    pub(crate) unmanaged: Vec<usize>,
    pub(crate) batch: i64,
}

/// The table of definitions, where there is one: its key and its days.
pub(crate) const DEFINITIONS: &str = "definition";

impl Plan {
    /// Whether the table says which members are linked.
    pub(crate) fn is_link(&self, table: usize) -> bool {
        matches!(self.families.hierarchy, Hierarchy::Relation(at, ..) if at == table)
    }
}
