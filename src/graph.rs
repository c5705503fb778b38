//! The meaning of a spec: tables, edges and rules, with every name resolved and every duration a number.
//!
//! A `Graph` knows no SQL text, and of dialects only for which of them the spec is. What can be wrong with a spec is found while it is built, as
//! diagnostics; a graph without errors is always fit to be planned.

mod case;
mod heartbeat;
mod keys;
mod names;
mod rules;
mod several;
mod tables;
mod windows;

use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;
use crate::spec::{Spec, Text};

pub use keys::{ACTING, KnownKey};

/// Index of a table in [`Graph::tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub usize);

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
    /// When the scheduled run starts: five-field cron expressions in UTC, or `N seconds`; never empty.
    pub schedules: Vec<String>,
    /// How many runs there may be at a time; they share out families.
    pub workers: i64,
    /// Seconds that pg_cron remembers past starts; 0: for ever.
    pub cron_history: i64,
    /// Days after which archived rows go for good; 0: never.
    pub archive_days: i64,
    /// When scheduled runs may work; never empty.
    pub windows: Vec<Window>,
    /// Where replicas say how far they are.
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

/// A managed table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name as the catalog has it.
    pub name: String,
    /// Key columns; empty for a table that is nobody's parent and needs none.
    pub key: Vec<Column>,
    /// Further unique keys that children name.
    pub unique: Vec<Vec<Column>>,
    /// Columns that an index of the application leads with, those of one edge between commas; the statements need no
    /// further index on them.
    pub indexed: Vec<String>,
    /// Triggers on DELETE that the spec accepts by name.
    pub triggers: Vec<String>,
    /// What a row of this table names, and what becomes of it when that goes.
    pub edges: Vec<Edge>,
    /// With which of several parents a row goes.
    pub with: With,
}

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
    /// Text of any declared length.
    Varchar,
    /// Zone-less date and time, in the spec's time zone.
    Timestamp,
    /// An instant.
    Timestamptz,
}

/// A row of the owning table names the parent row with this key.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Column of the child table, the first one where there are several.
    pub column: Column,
    /// The parent table.
    pub parent: TableId,
    /// Column of the parent table that it names: its key, or the first one of a unique key.
    pub parent_column: Column,
    /// The other columns of an edge of several, each with the parent's that it names.
    pub further: Vec<(Column, Column)>,
    /// A value, besides NULL, that means "no parent" (DolphinScheduler writes 0).
    pub none: Option<Literal>,
    /// What becomes of the row when the parent row is due.
    pub action: Action,
    /// Whether it is the parent that names the row, so that one which no parent names is no orphan.
    pub alone: bool,
    /// Whether a foreign key that deletes the row with its parent may be left to do so, where the server says that it does.
    pub cascades: bool,
}

/// With which of its parents a row goes that has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// With all of them, or not at all.
    All,
    /// With the first that goes.
    Any,
}

/// What becomes of a row that names a row which is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It belongs to that row and goes with it; [`Table::with`] says what becomes of it where it has other parents.
    Delete,
    /// It keeps that row, and so the whole family, until it is gone itself.
    Restrict,
    /// It stays, and its columns are set to NULL before that row goes.
    SetNull,
}

impl Edge {
    /// Every column of the child with the parent's that it names.
    pub fn pairs(&self) -> impl Iterator<Item = (&Column, &Column)> {
        let further = self.further.iter().map(|(column, parent)| (column, parent));
        std::iter::once((&self.column, &self.parent_column)).chain(further)
    }

    /// The columns of the child between commas.
    pub fn columns(&self) -> String {
        let names: Vec<&str> = self
            .pairs()
            .map(|(column, _)| column.name.as_str())
            .collect();
        names.join(", ")
    }

    /// Whether it names the key of the parent, and no other unique key.
    pub fn names_key(&self, graph: &Graph) -> bool {
        self.further.is_empty() && graph.table(self.parent).key.first() == Some(&self.parent_column)
    }
}

impl Table {
    /// The edges to the rows that a row of this table belongs to.
    pub fn parents(&self) -> impl Iterator<Item = &Edge> {
        self.edges
            .iter()
            .filter(|edge| edge.action == Action::Delete)
    }

    /// The edges to the rows that a row of this table keeps.
    pub fn keeps(&self) -> impl Iterator<Item = &Edge> {
        self.edges
            .iter()
            .filter(|edge| edge.action == Action::Restrict)
    }

    /// The edges to the rows that a row of this table lets go of, and outlives.
    pub fn releases(&self) -> impl Iterator<Item = &Edge> {
        self.edges
            .iter()
            .filter(|edge| edge.action == Action::SetNull)
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

/// A table that the completeness check leaves alone.
#[derive(Clone, Debug)]
pub struct Ignored {
    /// Name as the catalog has it.
    pub table: String,
    /// Why it is left alone.
    pub reason: String,
}

/// What to purge: a root table, who is eligible, when, how much.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Name; the rule's routines start with it.
    pub name: String,
    /// The table of the roots (and of their descendants).
    pub root: TableId,
    /// Rows of the root table that are roots: every listed column has one of the listed values.
    pub candidates: Vec<Condition>,
    /// Rows of the root table that are final: every listed column has one of the listed values.
    pub r#final: Vec<Condition>,
    /// When a row of the root table ended, or the time by which rows go: `Timestamp` or `Timestamptz`. A rule of single rows
    /// without a time has the first column here by which a run goes through the table; one whose roots end with rows of
    /// another table, the time at which a root began.
    pub end_time: Column,
    /// What stands in for an end time that is NULL; of the same type.
    pub otherwise: Option<Column>,
    /// The rows with whose last one a row of the root table ended, where it does not say so itself.
    pub last: Option<Last>,
    /// What a rule has whose rows go by a time of their own, not by the end of their family.
    pub timed: Option<Timed>,
    /// What a rule has whose rows go one by one, each for what it is itself.
    pub single: Option<Single>,
    /// What links a member to its descendants.
    pub hierarchy: Vec<Link>,
    /// What happens to a family that shares a member with another.
    pub shared: Shared,
    /// How long ended families are kept.
    pub retention: Retention,
    /// The roots that stay whatever their age: those that one of these keeps.
    pub newest: Vec<Newest>,
    /// How much a run takes at once.
    pub limits: Limits,
    /// Files outside the database that deleted rows name.
    pub artifacts: Vec<Artifact>,
    /// The tables whose rows are copied into an archive before they go, in the order of deletion.
    pub archive: Vec<TableId>,
    /// Whether triggers refuse rows whose parent is gone or going.
    pub orphan_guard: bool,
    /// Further names for the figures of the preview and run documents, in the order of the file.
    pub report: Vec<ReportField>,
    /// The tables whose rows go, children before parents, the root table last.
    pub order: Vec<TableId>,
}

impl Rule {
    /// The tables that say how long something is kept: for runs, and for removal times that are set anew.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        let of_stamps = self
            .stamps()
            .iter()
            .filter_map(|stamp| match &stamp.source {
                Source::Definition(definition) => Some(definition),
                Source::Values(_) => None,
            });
        self.retention.definition().into_iter().chain(of_stamps)
    }

    /// How removal times can be set anew.
    pub fn stamps(&self) -> &[Stamp] {
        self.timed.as_ref().map_or(&[], |timed| &timed.stamps)
    }

    /// The links by which rows of the root table name each other.
    pub fn links_within(&self) -> impl Iterator<Item = &Link> {
        let links = self.hierarchy.iter();
        links.filter(|link| link.table == self.root)
    }

    /// Two edges each, in either order, of a table whose rows go with all of their parents: the first leads to families of
    /// this rule, which then depend on where the other leads.
    pub fn joint_parents<'a>(&self, id: TableId, table: &'a Table) -> Vec<(&'a Edge, &'a Edge)> {
        let asks = table.with == With::All && id != self.root && self.is_divided();
        let edges: Vec<&Edge> = table.parents().filter(|_| asks).collect();
        let mut pairs = Vec::new();
        for one in edges
            .iter()
            .filter(|edge| self.order.contains(&edge.parent))
        {
            let others = edges.iter().filter(|other| !std::ptr::eq(*one, **other));
            // A link keeps its ends together anyway.
            let others = others.filter(|other| !self.links(id, one, other));
            pairs.extend(others.map(|other| (*one, *other)));
        }
        pairs
    }

    fn links(&self, table: TableId, one: &Edge, other: &Edge) -> bool {
        let ends = |link: &Link, one: &Edge, other: &Edge| {
            link.parent == one.column && link.child == other.column
        };
        let mut links = self.hierarchy.iter().filter(|link| link.table == table);
        links.any(|link| ends(link, one, other) || ends(link, other, one))
    }
}

/// What a column of a row must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Column of the rule's root table. Where only NULL is asked for, its type does not matter.
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
}

impl Condition {
    /// Whether the column holds the same in all rows that match, so that an index may begin with it.
    pub fn is_constant(&self) -> bool {
        match &self.test {
            Test::OneOf(values) => values.len() == 1,
            Test::Null => true,
            Test::NotNull => false,
        }
    }
}

/// Rows of another table that say when a row of the root table ended: with the last of them. Its end is unknown while one
/// of them is not over, or where it has none.
#[derive(Clone, Debug)]
pub struct Last {
    /// Their table; its rows belong to those of the root table.
    pub table: TableId,
    /// Its column that names the row of the root table.
    pub names: Column,
    /// When such a row was over.
    pub time: Column,
    /// The column of the root table that stands in where the end is unknown; of the same type.
    pub otherwise: Option<Column>,
}

/// A table whose rows say: `parent`'s member has the descendant `child`.
#[derive(Clone, Debug)]
pub struct Link {
    /// A relation table, and both columns are edges of it to the root table; or the root table itself.
    pub table: TableId,
    /// Column that names the upper member.
    pub parent: Column,
    /// Column that names the descendant; the key, where it is the root table itself.
    pub child: Column,
}

/// A rule whose rows go by a time that each of them has: a stored removal time, or its age.
#[derive(Clone, Debug)]
pub struct Timed {
    /// What is added to the time of a row: the rule's retention for an age; a removal time holds it already.
    pub retention: i64,
    /// What one transaction takes.
    pub unit: Unit,
    /// The tables in the order in which their rows go.
    pub members: Vec<Member>,
    /// When a row of the root table ended: no family goes that has not, or not for the minimum retention.
    pub ended: Option<Column>,
    /// Foreign keys of tables beside; a row that they name stays.
    pub references: Vec<Reference>,
    /// How removal times can be set anew: first of the families of the rule, then of what belongs to none of them.
    pub stamps: Vec<Stamp>,
}

impl Timed {
    /// What belongs to no family of the rule, and is held by itself.
    pub fn others(&self) -> impl Iterator<Item = &Stamp> {
        self.stamps.iter().filter(|stamp| stamp.of.is_some())
    }
}

/// What one transaction of a rule by time takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A window of time of all tables: each row goes by its own.
    Window,
    /// Whole families, by the time of their root. What belongs to none goes by its own, in windows.
    Family,
}

/// How removal times can be set anew.
#[derive(Clone, Debug)]
pub struct Stamp {
    /// What it is called by; none for the families of the rule.
    pub of: Option<String>,
    /// The root table, a member of the rule.
    pub root: TableId,
    /// Which of its rows; empty for the families of the rule.
    pub candidates: Vec<Condition>,
    /// The column of the root table that names the root of a row's family; without it, each row is one.
    pub family: Option<String>,
    /// When a row of the root table began, of the type of the rule's time.
    pub start: Column,
    /// When it ended.
    pub ended: Column,
    /// The column of the root table that names the definition, or holds a value.
    pub per: Column,
    /// What says how long a family is kept.
    pub source: Source,
    /// Which rows are those of one row of the root table alone, in the order of the rule's tables.
    pub own: Vec<Own>,
    /// Members whose rows share the removal time of the rows that name them.
    pub named: Vec<TableId>,
    /// Columns that a change of the row must not set.
    pub untouched: Vec<(TableId, Vec<String>)>,
}

/// The rows of a table that are those of one row of the root table alone.
#[derive(Clone, Debug)]
pub struct Own {
    /// The table, a member of the rule.
    pub table: TableId,
    /// The column that names the row of the root table, or the key of a row in between.
    pub column: String,
    /// The table of the row in between, which names the row of the root table itself.
    pub through: Option<TableId>,
    /// The column of the root table that `column` names, where that is not the key.
    pub of_root: Option<String>,
}

/// A table of a rule by time.
#[derive(Clone, Debug)]
pub struct Member {
    /// The table.
    pub table: TableId,
    /// The columns that name the root of a row's family; a row without families has none.
    pub family: Vec<String>,
}

/// A foreign key of a table that is not managed.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Name of the table that refers.
    pub table: String,
    /// Its column.
    pub column: String,
    /// The managed table whose key it names.
    pub to: TableId,
}

/// A rule of one table whose rows go one by one: why a row goes.
#[derive(Clone, Debug)]
pub enum Single {
    /// Its own expiry time has passed. The rule's retention is that of the fallback.
    Expiry {
        /// The column from which the retention of a row without an expiry time counts; without one such a row stays.
        fallback: Option<Column>,
    },
    /// It names something that is gone.
    Orphan {
        /// What must exist; a row goes if one of these is broken. Never empty.
        needs: Vec<Vec<Need>>,
        /// The column from which the retention counts; without one a row goes at once.
        time: Option<Column>,
    },
    /// Enough rows of its group are newer.
    KeepLast {
        /// The columns that make a group.
        group: Vec<Column>,
        /// The columns that order a group, the newest last.
        order: Vec<Column>,
        /// How many rows of a group stay.
        keep: i64,
        /// The column from which the retention counts; without one a row goes at once.
        time: Option<Column>,
    },
}

impl Single {
    /// The column from which the rule's retention counts, if it has one.
    pub fn aged(&self) -> Option<&Column> {
        match self {
            Single::Expiry { fallback } => fallback.as_ref(),
            Single::Orphan { time, .. } | Single::KeepLast { time, .. } => time.as_ref(),
        }
    }

    /// The columns that it reads beside the key and the rule's own.
    pub fn columns(&self) -> Vec<&Column> {
        let placed: &[&[Column]] = match self {
            Single::KeepLast { group, order, .. } => &[group, order],
            Single::Expiry { .. } | Single::Orphan { .. } => &[],
        };
        placed
            .iter()
            .copied()
            .flatten()
            .chain(self.aged())
            .collect()
    }

    /// What must exist for a row to stay, one list for each thing.
    pub fn chains(&self) -> &[Vec<Need>] {
        match self {
            Single::Orphan { needs, .. } => needs,
            Single::Expiry { .. } | Single::KeepLast { .. } => &[],
        }
    }

    /// Every step of that.
    pub fn needs(&self) -> impl Iterator<Item = &Need> {
        self.chains().iter().flatten()
    }
}

/// One step of what must exist: the row of `table` that the columns name.
#[derive(Clone, Debug)]
pub struct Need {
    /// The columns of the row, or of the row that the step before has found, each with that of `table` that it names.
    pub pairs: Vec<(String, String)>,
    /// A value of the only column, besides NULL, that names nothing.
    pub none: Option<Literal>,
    /// Name of the table; it need not be managed.
    pub table: String,
}

/// The two readings of "a family with a shared member".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// Nothing is deleted from under a parent that stays: families that share a member go together or not at all.
    Closed,
    /// A root's own verdict decides, whoever else links to its members.
    Literal,
}

/// How long ended families are kept. All durations are in seconds; a day is 86,400 s.
#[derive(Clone, Debug)]
pub struct Retention {
    /// Retention where neither a policy nor the source says otherwise; none: such families are kept for ever.
    pub default: Option<i64>,
    /// No policy, option or call can go under this.
    pub minimum: i64,
    /// Added to every retention.
    pub safety_lag: i64,
    /// Column of the root table by which policies are set, e.g. the project.
    pub per: Option<Column>,
    /// Only scopes with an enabled policy row are cleaned.
    pub opt_in: bool,
    /// What says how long a scope without a policy is kept.
    pub source: Option<Source>,
    /// Whether 86,400 s are a day of the calendar in the spec's zone: to the same time of the clock.
    pub calendar: bool,
}

/// What says how long a scope is kept.
#[derive(Clone, Debug)]
pub enum Source {
    /// The row of a table.
    Definition(Definition),
    /// The spec, for some scopes: each as its column writes it, with the seconds.
    Values(Vec<(String, i64)>),
}

/// A table whose rows say how long is kept what names them.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Name of the table; it need not be managed.
    pub table: String,
    /// The column that the rule's scopes name.
    pub key: Column,
    /// The column with the retention, a whole number.
    pub column: String,
    /// Seconds that one of it stands for.
    pub unit: i64,
}

impl Retention {
    /// The table that says how long a scope is kept, if one does.
    pub fn definition(&self) -> Option<&Definition> {
        match &self.source {
            Some(Source::Definition(definition)) => Some(definition),
            Some(Source::Values(_)) | None => None,
        }
    }

    /// Whether only those scopes are cleaned that a policy or the source lists.
    pub fn listed(&self) -> bool {
        self.opt_in || self.default.is_none()
    }
}

/// The newest roots of each group stay, with their families.
#[derive(Clone, Debug)]
pub struct Newest {
    /// How many of each group.
    pub count: i64,
    /// Columns of the root table that tell the groups apart; a root where one is NULL is in none.
    pub per: Vec<Column>,
    /// Columns that order them, then the key does; a root where one is NULL is not among the newest.
    pub by: Vec<Column>,
    /// Which candidates count: every listed column has one of the listed values.
    pub of: Vec<Condition>,
}

impl Newest {
    /// The columns that give a root its place: the group, then what orders.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.per.iter().chain(&self.by)
    }

    /// What tells the groups apart.
    pub fn group(&self) -> String {
        let names: Vec<&str> = self.per.iter().map(|column| column.name.as_str()).collect();
        names.join(", ")
    }
}

/// A table with a row for each replica, and the instant up to which it has got, written back to this server.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// Its schema or database; none: that of the application's tables.
    pub schema: Option<String>,
    /// Its name.
    pub table: String,
    /// The column with the instant, in UTC.
    pub column: String,
}

/// Defaults of the rule's settings; a row of the `setting` table overrides each.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Families in one transaction, where they go as such.
    pub batch_families: i64,
    /// Rows of one table in one transaction, of those that do not go by families; see [`Rule::batch_rows`].
    pub batch_rows: Option<i64>,
    /// Families in one run.
    pub run_families: i64,
    /// Rows after which a run takes no further batch; 0: however many.
    pub run_rows: i64,
    /// Seconds that one run may take.
    pub time_budget: i64,
    /// Milliseconds that a statement waits for a lock.
    pub lock_timeout: i64,
    /// How often a batch that met a deadlock or a lock timeout is tried again before it is halved.
    pub retries: i64,
    /// Milliseconds that a batch should take; 0: its size does not follow.
    pub target_batch: i64,
    /// Rows per second; 0: as many as it can.
    pub rate: i64,
    /// Rest after a batch, in percent of its time.
    pub nice: i64,
    /// Seconds that a replica may be behind; 0: however many, as with the following.
    pub max_replica_lag: i64,
    /// Megabytes of WAL that a replica or a replication slot may be behind.
    pub max_replica_wal: i64,
    /// Other sessions that may be active.
    pub max_active_sessions: i64,
    /// Transactions that an old snapshot may keep from being cleaned up behind.
    pub max_old_snapshot: i64,
    /// A query of one value, without a semicolon; a batch waits while it is true or above 0.
    pub wait_while_sql: Option<String>,
    /// Seconds that scheduled runs pause for at most after runs that found nothing left; 0: not at all.
    pub back_off_max: i64,
    /// Scheduled runs in a row that may end with an error; 0: however many.
    pub suspend_after: i64,
}

/// A file that a deleted row names, to be removed by `windrow artifacts`.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// Table of the rows that name files.
    pub table: TableId,
    /// Column that names the host; none: the file is not tied to a host.
    pub host: Option<String>,
    /// Column that names the path; rows with NULL or '' name no file.
    pub path: String,
}

/// A further name for a figure, so that a document answers in the words of the managed system.
#[derive(Clone, Debug)]
pub struct ReportField {
    /// The JSON key.
    pub name: String,
    /// Which document carries it.
    pub document: Document,
    /// What it stands for.
    pub figure: Figure,
}

/// The two documents that a report field can be part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// What `preview` answers.
    Preview,
    /// What `run` answers.
    Run,
}

/// The figures that can be given a further name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Families deleted, or that would be.
    Families,
    /// Rows of one table deleted, or that would be.
    Table(TableId),
    /// End time of the oldest family that would go.
    OldestEndTime,
    /// Keys of the first roots that would go.
    SampleRoots,
    /// Skipped families by reason, an object.
    Skipped,
    /// Number of skipped families.
    SkippedFamilies,
    /// Whether nothing was truly deleted.
    DryRun,
    /// Files of the outbox that could not be removed so far.
    ArtifactFailures,
    /// Duration in milliseconds.
    DurationMs,
}

impl Rule {
    /// Whether workers share out its families. Whatever goes table by table or row by row has an order over the
    /// transactions: there one worker does all of it.
    pub fn is_divided(&self) -> bool {
        self.timed.is_none() && self.single.is_none()
    }

    /// Rows of one table in one transaction, of those that do not go by families, where no setting says otherwise.
    ///
    /// To find a window of time costs as much however long it is. On PostgreSQL one of 20,000 rows of each table still takes
    /// a tenth of a second (`make bench`, part `camunda`); to InnoDB a row costs several times as much.
    pub fn batch_rows(&self, dialect: Dialect) -> i64 {
        self.limits.batch_rows.unwrap_or(match dialect {
            Dialect::Postgres if self.timed.is_some() => 20_000,
            _ => 5_000,
        })
    }
}

impl Graph {
    /// Whether a rule says how removal times are set anew.
    pub fn has_stamps(&self) -> bool {
        self.rules.iter().any(|rule| !rule.stamps().is_empty())
    }

    /// The table behind an id.
    pub fn table(&self, id: TableId) -> &Table {
        &self.tables[id.0]
    }

    /// The links by which rows of a table name each other.
    pub fn links_within(&self, table: &str) -> impl Iterator<Item = &Link> {
        let rules = self.rules.iter();
        rules
            .flat_map(Rule::links_within)
            .filter(move |link| self.table(link.table).name == table)
    }
}

/// Resolves every name of a spec. The text is what the spec was read from; it gives the findings their places.
///
/// Beside errors the graph lacks what they are about and is fit for nothing but further checks.
pub fn build(spec: &Spec, text: &str) -> (Graph, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let name = names::spec_name(spec.name.as_ref(), &mut diagnostics);
    let value = |field: &Option<Text>, default: &str| {
        field
            .as_ref()
            .map_or(default, |field| field.get_ref())
            .to_owned()
    };
    if let Some(schema) = &spec.schema {
        names::identifier(schema, "schema", &mut diagnostics);
    }
    if let Some(database) = &spec.database {
        names::identifier(database, "database", &mut diagnostics);
    }
    if let Some(title) = &spec.title {
        names::title(title, &mut diagnostics);
    }
    if let Some(zone) = &spec.time_zone {
        names::time_zone(zone, &mut diagnostics);
    }
    let schedules = names::schedules(text, spec.schedule.as_ref(), &mut diagnostics);
    let history = spec.cron_history.as_ref();
    let cron_history = names::milliseconds(history, 0, 1_000, 1_000, &mut diagnostics) / 1_000;
    let workers = names::count(spec.workers.as_ref(), 1, 1..=8, &mut diagnostics);
    let archive_days = names::archive_days(spec, &mut diagnostics);
    let windows = windows::resolve(spec, text, &mut diagnostics);
    let resolved = tables::resolve(spec, text, &mut diagnostics);
    let ignored = tables::ignored(spec, &mut diagnostics);
    let rules = rules::resolve(spec, text, &resolved, &mut diagnostics);
    tables::check_reached(spec, text, &resolved, &mut diagnostics);
    several::check(spec, &resolved, &rules, &mut diagnostics);
    let dialects = names::dialects(spec.dialects.as_ref(), &mut diagnostics);
    let upper_case = names::upper_case(spec, &dialects, &mut diagnostics);
    let heartbeat = heartbeat::resolve(spec, &dialects, &mut diagnostics);
    if let Some(field) = &spec.workers
        && workers > 1
        && !rules.is_empty()
        && !rules.iter().any(Rule::is_divided)
    {
        diagnostics.push(Diagnostic::error(
            "workers-without-work",
            field.span(),
            "no rule has families to share out",
            "leave it out: rules of this kind are done by one worker alone, and the others would wait for it",
        ));
    }
    let graph = Graph {
        title: value(&spec.title, &name),
        dialects,
        upper_case,
        schema: value(&spec.schema, "public"),
        database: value(&spec.database, &name),
        time_zone: value(&spec.time_zone, "UTC"),
        schedules,
        workers,
        cron_history,
        archive_days,
        windows,
        heartbeat,
        name,
        tables: resolved.tables,
        ignored,
        rules,
    };
    (graph, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of the only rule of a spec with these tables.
    fn order(tables: &str) -> Vec<String> {
        let text = format!(
            "name = \"x\"\n[tables]\n{tables}\n[rules.x]\nstrategy = \"end-time\"\nroot = \"m_root\"\n\
             final = {{ state = 1 }}\nend_time = \"ended\"\nretention = {{ default = \"30d\" }}\n"
        );
        let (spec, _) = crate::spec::parse(&text);
        let (graph, _) = build(&spec.expect("a spec"), &text);
        graph.rules[0]
            .order
            .iter()
            .map(|id| graph.table(*id).name.clone())
            .collect()
    }

    #[test]
    fn children_go_before_parents_and_additions_elsewhere_change_nothing() {
        let tables = r#"
m_root = { key = "id integer" }
b_part = { key = "id integer", parents = ["root_id -> m_root.id"] }
z_part = { key = "id integer", parents = ["root_id -> m_root.id"] }
a_leaf = { parents = ["b_id -> b_part.id", "z_id -> z_part.id", "root_id -> m_root.id"], with = "any" }
other  = { key = "id integer" }
"#;
        assert_eq!(order(tables), ["a_leaf", "b_part", "z_part", "m_root"]);
        let more = "c_leaf = { parents = [\"z_id -> z_part.id\", \"other_id -> other.id\"], with = \"any\" }\nd_far = { parents = [\"o -> other.id\"] }\n";
        assert_eq!(
            order(&format!("{tables}{more}")),
            ["a_leaf", "b_part", "c_leaf", "z_part", "m_root"]
        );
    }
}
