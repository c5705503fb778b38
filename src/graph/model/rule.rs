//! Rules: a root table, who is eligible, when, how much at once.

use std::collections::BTreeMap;

use super::retention::{Definition, Retention, Source};
use super::strategy::{Member, Single, Stamp, Timed, Unit};
use super::table::{Action, Edge, Table, TableId, With};
use crate::column::{Column, Condition, Epoch};
use crate::dialect::Dialect;
use crate::facts::{BATCH_ROWS, Setting};
use crate::spec::Strategy as Written;

/// What to purge: a root table, who is eligible, when, how much.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Name; the rule's routines start with it.
    pub name: String,
    /// The table of the roots (and of their descendants).
    pub root: TableId,
    /// Rows of the root table that are roots: every listed column has one of the listed values.
    pub candidates: Vec<Condition>,
    /// Rows of the root table that are final: every listed column has one of the listed values. Rules of partitions may have it, too.
    pub r#final: Vec<Condition>,
    /// SQL that must also be true for a final row (rules by the end of families, and of partitions), or for a row that is deleted by
    /// itself, with `{root}` for the row.
    pub where_sql: Option<String>,
    /// When a row of the root table ended, or the time by which rows are deleted: `Timestamp` or `Timestamptz`. A rule of single rows
    /// without a time has the first column here by which a run goes through the table; one whose roots end with rows of
    /// another table, the time at which a root began.
    pub end_time: Column,
    /// The fallback for an end time that is NULL; of the same type.
    pub otherwise: Option<Column>,
    /// What the end time counts, where it is a number; of orphans and of rows outnumbered by newer ones, what the time counts from which
    /// the retention does. Its type is `Timestamptz` here: it is an instant. A number that is not
    /// above 0 is none, as NULL is: nothing ended in 1970, and applications write 0 or -1 for what they do not know.
    pub epoch: Option<Epoch>,
    /// The rows with whose last one a row of the root table ended, where it does not say so itself.
    pub last: Option<Last>,
    /// How its rows become due.
    pub strategy: Strategy,
    /// What links a member to its descendants.
    pub hierarchy: Vec<Link>,
    /// What happens to a family that shares a member with another.
    pub shared: Shared,
    /// How long ended families are kept.
    pub retention: Retention,
    /// The roots that are kept whatever their age: by any of these.
    pub newest: Vec<Newest>,
    /// How much a run takes at once.
    pub limits: Limits,
    /// Files outside the database that deleted rows name.
    pub artifacts: Vec<Artifact>,
    /// The tables whose rows are copied into an archive before they are deleted, in the order of deletion.
    pub archive: Vec<TableId>,
    /// Whether triggers refuse rows whose parent is gone or going.
    pub orphan_guard: bool,
    /// Further names for the figures of the preview and run documents, in the order of the file.
    pub report: Vec<ReportField>,
    /// The tables whose rows are deleted, children before parents, the root table last.
    pub order: Vec<TableId>,
}

/// How the rows of a rule become due.
#[derive(Clone, Debug)]
pub enum Strategy {
    /// Whole families, by the end of their last member.
    EndTime,
    /// Rows by a time that each of them has, not by the end of their family.
    Timed(Timed),
    /// Rows one by one, each for what it is itself.
    Single(Single),
}

impl Strategy {
    /// As a spec writes it.
    pub fn name(&self) -> &'static str {
        let written = match self {
            Self::EndTime => Written::EndTime,
            Self::Timed(timed) if timed.retention == 0 => Written::RemovalTime,
            Self::Timed(timed) if timed.partitioned => Written::Partition,
            Self::Timed(_) => Written::Age,
            Self::Single(Single::Expiry { .. }) => Written::Expiry,
            Self::Single(Single::Orphan { .. }) => Written::Orphan,
            Self::Single(Single::KeepLast { .. }) => Written::KeepLast,
        };
        written.name()
    }
}

impl Rule {
    /// Whether its rows are deleted as families, by the end of their last member.
    pub fn by_end(&self) -> bool {
        matches!(self.strategy, Strategy::EndTime)
    }

    /// What it has whose rows are deleted by a time of their own.
    pub fn timed(&self) -> Option<&Timed> {
        match &self.strategy {
            Strategy::Timed(timed) => Some(timed),
            Strategy::EndTime | Strategy::Single(_) => None,
        }
    }

    /// What it has whose rows are deleted one by one.
    pub fn single(&self) -> Option<&Single> {
        match &self.strategy {
            Strategy::Single(single) => Some(single),
            Strategy::EndTime | Strategy::Timed(_) => None,
        }
    }

    /// The tables that say how long something is kept: for runs, and for removal times that are recalculated.
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

    /// How removal times can be recalculated.
    pub fn stamps(&self) -> &[Stamp] {
        self.timed().map_or(&[], |timed| &timed.stamps)
    }

    /// The links by which rows of the root table say what they are below: by its key, or over a row of another table.
    pub fn links_of_root(&self) -> impl Iterator<Item = &Link> {
        let links = self.hierarchy.iter();
        links.filter(|link| link.table == self.root)
    }

    /// Those by which rows of the root table name each other.
    pub fn links_within(&self) -> impl Iterator<Item = &Link> {
        self.links_of_root().filter(|link| link.over.is_none())
    }

    /// Two edges each, in either order, of a table whose rows are deleted with all of their parents: the first leads to families of
    /// this rule, which then depend on where the other leads. By an edge whose parents name the row, it may have several of
    /// them: that is both.
    pub fn joint_parents<'a>(&self, id: TableId, table: &'a Table) -> Vec<(&'a Edge, &'a Edge)> {
        let asks = table.with == With::All && id != self.root && self.by_end();
        let edges: Vec<&Edge> = table.parents().filter(|_| asks).collect();
        let mut pairs = Vec::new();
        for one in edges
            .iter()
            .filter(|edge| self.order.contains(&edge.parent))
        {
            let others = edges
                .iter()
                .filter(|other| one.alone || !std::ptr::eq(*one, **other));
            // A link keeps its ends together anyway.
            let others = others.filter(|other| !self.links(id, one, other));
            pairs.extend(others.map(|other| (*one, *other)));
        }
        pairs
    }

    /// Whether it takes rows of a table that name several parents by their time, and not with all of these.
    pub fn parts_parents(&self, id: TableId, table: &Table) -> bool {
        let takes = self.timed().is_some() && id != self.root && self.order.contains(&id);
        takes && table.parents().count() > 1
    }

    /// The edges by which rows of one of its tables may name rows of other families than their own.
    pub fn crossings<'a>(&self, member: &Member, table: &'a Table) -> Vec<&'a Edge> {
        let Some(timed) = self.timed().filter(|timed| timed.unit == Unit::Family) else {
            return Vec::new();
        };
        let has_family = |table: TableId| {
            let mut members = timed.members.iter().filter(|it| it.table == table);
            table == self.root || members.any(|it| !it.family.is_empty())
        };
        // One that refers to the root of the row's own family is no other way.
        let says_family = |edge: &Edge| {
            let mut pairs = edge.pairs();
            edge.parent == self.root
                && pairs.all(|(column, _)| member.family.contains(&column.name))
        };
        let edges = table.edges.iter();
        edges
            .filter(|edge| edge.action != Action::SetNull)
            .filter(|edge| has_family(edge.parent) && !says_family(edge))
            .collect()
    }

    /// Whether rows of one table are deleted by a time of theirs, each by itself, and nothing but a hold keeps one.
    pub fn is_plain(&self, root: &Table) -> bool {
        let Some(timed) = self.timed() else {
            return false;
        };
        let [member] = &timed.members[..] else {
            return false;
        };
        let mut family = member.family.iter();
        member.table == self.root
            && family.all(|column| root.key.iter().any(|own| own.name == *column))
            && timed.ended.is_none()
            && timed.references.is_empty()
            && timed.stamps.is_empty()
            && timed.unit == Unit::Window
    }

    /// The time that is a number, and what that counts.
    pub fn counted(&self) -> Option<(&Column, Epoch)> {
        let time = match self.single() {
            Some(Single::Orphan { time, .. } | Single::KeepLast { time, .. }) => time.as_ref()?,
            Some(Single::Expiry { .. }) | None => &self.end_time,
        };
        Some((time, self.epoch?))
    }

    /// Whether whole partitions of its tables are dropped.
    pub fn drops_partitions(&self) -> bool {
        self.timed().is_some_and(|timed| timed.partitioned)
    }

    /// Whether rows of its root table can be other than final, by `final` and `where_sql`.
    pub fn knows_final(&self) -> bool {
        self.by_end() || self.drops_partitions()
    }

    /// Of a rule of partitions: whether a row of the root table keeps its partition where it is not final.
    pub fn waits_for_final(&self) -> bool {
        self.drops_partitions() && (!self.r#final.is_empty() || self.where_sql.is_some())
    }

    /// The same, or where it ended too recently.
    pub fn waits_for_rows(&self) -> bool {
        let ends = self.timed().is_some_and(|timed| timed.end.is_some());
        ends || self.waits_for_final()
    }

    /// The tables of which an archive keeps what is deleted: copies of rows, or whole partitions.
    pub fn archived(&self) -> &[TableId] {
        match self.timed().filter(|timed| timed.partitioned) {
            Some(timed) => &timed.detached,
            None => &self.archive,
        }
    }

    /// Whether workers share it out: families, rows of one table by their time, or single rows. Windows of several tables have
    /// an order over the transactions, and so have partitions and rows that name others of their table: one worker does all of it.
    pub fn is_divided(&self, root: &Table) -> bool {
        let by_family = self.timed().is_some_and(|timed| timed.unit == Unit::Family);
        let mut needs = self.single().into_iter().flat_map(Single::needs);
        let names_itself = root.edges.iter().any(|edge| edge.parent == self.root)
            || needs.any(|need| need.table == root.name);
        let one_by_one = self.single().is_some() || self.is_plain(root);
        self.by_end() || by_family || one_by_one && !names_itself && !self.drops_partitions()
    }

    /// Rows of one table in one transaction, of those that do not go by families, where no setting says otherwise.
    ///
    /// To find a window of time costs as much however long it is, and so do the looks around a batch. On PostgreSQL one of
    /// 20,000 rows still takes a tenth of a second (`make bench`, parts `camunda` and `single`); to InnoDB a row costs several
    /// times as much.
    pub fn batch_rows(&self, dialect: Dialect) -> i64 {
        let otherwise = match dialect {
            Dialect::Postgres => 20_000,
            Dialect::Mysql | Dialect::Mariadb => 5_000,
        };
        let said = self.limits.said.get(BATCH_ROWS.name).copied();
        said.unwrap_or(otherwise)
    }

    fn links(&self, table: TableId, one: &Edge, other: &Edge) -> bool {
        let ends = |link: &Link, one: &Edge, other: &Edge| {
            link.parent == one.column && link.child == other.column
        };
        let mut links = self.hierarchy.iter().filter(|link| link.table == table);
        links.any(|link| ends(link, one, other) || ends(link, other, one))
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
    /// The column of the root table that is used where the end is unknown; of the same type.
    pub otherwise: Option<Column>,
}

/// A table whose rows say: `parent`'s member has the descendant `child`.
#[derive(Clone, Debug)]
pub struct Link {
    /// A relation table, and both columns are edges of it to the root table; or the root table itself.
    pub table: TableId,
    /// Column that names the upper member, or a row of the table between.
    pub parent: Column,
    /// Column that names the descendant; the key, where it is the root table itself.
    pub child: Column,
    /// The table between the two, where a row of the root table names the one above it by a row that belongs to that.
    pub over: Option<Over>,
}

/// The table between a member and the one above it.
#[derive(Clone, Debug)]
pub struct Over {
    /// Its rows belong to those of the root table.
    pub table: TableId,
    /// Its key, which the member names.
    pub key: Column,
    /// Its column that names the upper member.
    pub names: Column,
}

impl Link {
    /// The column that holds the key of the upper member.
    pub fn upper(&self) -> &Column {
        self.over.as_ref().map_or(&self.parent, |over| &over.names)
    }
}

/// The two readings of "a family with a shared member".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// Nothing is deleted from under a parent that is kept: families that share a member are deleted together or not at all.
    Closed,
    /// Each root is decided alone, whoever else links to its members.
    Literal,
}

/// The newest roots of each group are kept, with their families.
#[derive(Clone, Debug)]
pub struct Newest {
    /// How many of each group.
    pub count: i64,
    /// Columns of the root table that distinguish the groups; a root where one is NULL is in none.
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

    /// What defines the groups.
    pub fn group(&self) -> String {
        let names: Vec<&str> = self.per.iter().map(|column| column.name.as_str()).collect();
        names.join(", ")
    }
}

/// Defaults of the rule's settings; a row of the `setting` table overrides each.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// What the spec says, by the name of the setting and in its unit.
    pub said: BTreeMap<&'static str, i64>,
    /// A query of one value, without a semicolon; a batch waits while it is true or above 0.
    pub wait_while_sql: Option<String>,
}

impl Limits {
    /// The default, if nothing else is set.
    pub fn of(&self, setting: Setting) -> i64 {
        let said = self.said.get(setting.name).copied();
        said.unwrap_or(setting.default)
    }
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
    /// What it means.
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
    /// End time of the oldest family that would be deleted.
    OldestEndTime,
    /// Keys of the first roots that would be deleted.
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
