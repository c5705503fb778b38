//! The whole of a spec, resolved.

use crate::dialect::Dialect;
use crate::schedule::Schedule;

mod retention;
mod rule;
mod strategy;
mod table;

pub use retention::{Definition, Retention, Source};
pub use rule::{
    Artifact, Document, Figure, Last, Limits, Link, Newest, Over, ReportField, Rule, Shared,
    Strategy,
};
pub use strategy::{End, Member, Need, Own, Reference, Single, Stamp, Timed, Unit};
pub use table::{Action, Edge, Final, Ignored, Named, Table, TableId, Through, With};

/// One managed system: its tables, what belongs to what, and what to purge when.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Name of the spec; the control schema is `windrow_<name>` with `-` and `.` turned into `_`.
    pub name: String,
    /// One line about the managed system, for headings and comments.
    pub title: String,
    /// The servers that the managed system runs on, in the order in which files are generated.
    pub dialects: Vec<Dialect>,
    /// The servers among them on which the names of tables and columns are in upper case.
    pub upper_case: Vec<Dialect>,
    /// Schema that holds the application's tables on PostgreSQL.
    pub schema: String,
    /// Database that holds the application's tables on MySQL and MariaDB.
    pub database: String,
    /// IANA zone in which the application writes its zone-less timestamps.
    pub time_zone: String,
    /// Every managed table, sorted by name.
    pub tables: Vec<Table>,
    /// Tables left alone on purpose, sorted by name.
    pub ignored: Vec<Ignored>,
    /// The rules, in the order of the file, which is the order of a run.
    pub rules: Vec<Rule>,
    /// When the scheduled run starts; never empty.
    pub schedules: Vec<Schedule>,
    /// How many runs there may be at a time; they share out families.
    pub workers: i64,
    /// Seconds that pg_cron remembers past starts; 0: forever.
    pub cron_history: i64,
    /// Days after which archived rows are deleted for good; 0: never.
    pub archive_days: i64,
    /// When scheduled runs may work; never empty.
    pub windows: Vec<Window>,
    /// Where it stands how far replicas are.
    pub heartbeat: Option<Heartbeat>,
}

/// A span of the clock on some days of the week. A time of the clock that comes twice, as the clock is put back, is in it
/// both times; one that is left out is in no window.
#[derive(Clone, Debug)]
pub struct Window {
    /// As the spec has it.
    pub written: String,
    /// The days on which it begins: numbers from 1, which is Monday, to 7; empty: never.
    pub days: String,
    /// When it begins, inclusive: `HH:MM`.
    pub begins: String,
    /// When it ends, exclusive; on the next day, unless it is after the beginning.
    pub ends: String,
    /// The zone of that clock, an IANA name.
    pub zone: String,
}

/// Where it stands how far replicas are.
#[derive(Clone, Debug)]
pub enum Heartbeat {
    /// In a table with a row for each replica, and the instant up to which it has got, written back to this server.
    Column(HeartbeatColumn),
    /// On MySQL and MariaDB in a table of the control database, where `windrow heartbeat` notes it.
    Windrow,
}

/// The column that has it.
#[derive(Clone, Debug)]
pub struct HeartbeatColumn {
    /// Schema or database of the table; none: that of the application's tables.
    pub schema: Option<String>,
    /// The table.
    pub table: String,
    /// The column with the instant, in UTC.
    pub column: String,
}

impl Edge {
    /// Whether it names the key of the parent, and no other unique key.
    pub fn names_key(&self, graph: &Graph) -> bool {
        self.further.is_empty() && graph.table(self.parent).key.first() == Some(&self.parent_column)
    }
}

impl Graph {
    /// Whether windrow itself notes how far replicas are (MySQL and MariaDB).
    pub fn keeps_heartbeat(&self) -> bool {
        matches!(self.heartbeat, Some(Heartbeat::Windrow))
    }

    /// The column in which they report it.
    pub fn heartbeat_column(&self) -> Option<&HeartbeatColumn> {
        match &self.heartbeat {
            Some(Heartbeat::Column(column)) => Some(column),
            Some(Heartbeat::Windrow) | None => None,
        }
    }

    /// Whether a rule says how removal times are set anew.
    pub fn has_stamps(&self) -> bool {
        self.rules.iter().any(|rule| !rule.stamps().is_empty())
    }

    /// The table behind an id.
    pub fn table(&self, id: TableId) -> &Table {
        &self.tables[id.0]
    }
}
