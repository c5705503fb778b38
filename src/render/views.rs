//! What the templates are shown.

use serde::{Serialize, Serializer};

use super::above::AboveView;
use super::archive::ArchiveView;
use super::cascade::CascadeView;
use super::edges::EdgeView;
use super::held::HeldView;
use super::indexes::IndexView;
use super::jobs::JobView;
use super::keeps::{KeepView, MeetView, WayView};
use super::last::LastView;
use super::newest::NewestView;
use super::orphan_guard::GuardView;
use super::releases::ReleaseView;
use super::settings::ThrottlesView;
use super::works::{WorkView, Works};
use super::{kernel, single, source, stamp, timed};

#[derive(Serialize)]
pub(super) struct SpecView {
    /// Whether the file is for MariaDB, where the templates of MySQL serve both.
    pub(super) maria: bool,
    pub(super) control: String,
    /// What the session of a file is given on MySQL and MariaDB, in the control database, and before there is one.
    pub(super) session: String,
    pub(super) session_outside: String,
    #[serde(flatten)]
    pub(super) accounts: AccountsView,
    /// What is around a name that is a word of the server's language.
    pub(super) q: &'static str,
    pub(super) control_literal: String,
    pub(super) schema: String,
    pub(super) schema_literal: String,
    /// The schema where GRANT would take `_` and `%` for any sign.
    pub(super) schema_pattern: String,
    pub(super) zone: String,
    /// What starts the scheduled runs: one for each line of the schedule and each worker.
    pub(super) jobs: Vec<JobView>,
    /// The lines of the schedule, for a text.
    pub(super) schedule: String,
    pub(super) rules: Vec<RuleView>,
    /// What the kernel knows about the whole installation.
    #[serde(skip)]
    pub(super) told: kernel::Told,
    pub(super) throttles: ThrottlesView,
    /// What has removal times that can be set anew.
    pub(super) stamped: Vec<stamp::StampView>,
    /// Whether a rule counts days of the calendar.
    pub(super) by_calendar: bool,
    pub(super) indexes: Vec<IndexView>,
    pub(super) indexes_reversed: Vec<IndexView>,
    pub(super) tables: Vec<TableView>,
    /// The other tables that say how long something is kept.
    pub(super) definitions: Vec<TableView>,
    /// Tables besides these that refer to rows of rules by time.
    pub(super) referring: Vec<String>,
    /// All tables of others that are read and no more, as literals.
    pub(super) looked_into: Vec<String>,
    pub(super) roots: Vec<LockedView>,
    /// PostgreSQL: the statements that give the owner role its rights.
    pub(super) grants: Vec<String>,
    /// The archives, one for each table that some rule archives.
    pub(super) archives: Vec<ArchiveView>,
    /// Whether partitions are kept instead of being dropped.
    pub(super) keeps: bool,
    /// Whether a rule drops partitions.
    pub(super) drops: bool,
    /// The rules that drop partitions, with their tables, as a literal of a JSON list.
    pub(super) partitioned: String,
    /// What is on tables whose rows may not become orphans.
    pub(super) guards: Vec<GuardView>,
    pub(super) auditor_routines: Vec<String>,
    pub(super) operator_routines: Vec<String>,
}

/// The roles of an installation.
#[derive(Serialize)]
pub(super) struct AccountsView {
    /// The quoted roles.
    pub(super) owner: String,
    pub(super) operator: String,
    pub(super) auditor: String,
    pub(super) owner_literal: String,
    pub(super) operator_literal: String,
    pub(super) auditor_literal: String,
    /// What makes operators auditors, and what takes all rights from the owner, as literals.
    pub(super) grant_auditor: String,
    /// What shows the owner the foreign keys of other databases, as a literal.
    pub(super) grant_references: String,
    pub(super) from_owner: String,
}

/// A rule: its fields and those of the views in it are beside each other in templates.
#[derive(Serialize)]
pub(super) struct RuleView {
    pub(super) name: String,
    pub(super) literal: String,
    #[serde(flatten)]
    pub(super) root: RootView,
    #[serde(flatten)]
    pub(super) scope: ScopeView,
    #[serde(flatten)]
    pub(super) times: TimesView,
    /// What says how long a scope without a policy is kept.
    pub(super) source: Option<source::SourceView>,
    /// What the kernel knows about the rule.
    #[serde(skip)]
    pub(super) document: String,
    pub(super) closed: bool,
    pub(super) links: Vec<LinkView>,
    /// Whether one of these leads over another table.
    pub(super) over: bool,
    pub(super) meets: Vec<MeetView>,
    /// Whether families may be more than one row of the root table, by links or by rows that they share.
    pub(super) linked: bool,
    /// The columns by which rows of the root table name each other.
    pub(super) uppers: Vec<String>,
    pub(super) level_columns: String,
    pub(super) collects: Vec<CollectView>,
    /// Whether a batch keeps keys of such tables in work tables.
    pub(super) between: bool,
    /// PostgreSQL: whether a batch reads keys of such tables, at times, without a lock on their rows.
    pub(super) unlocked: bool,
    /// Whether a batch asks of any table which members its rows name.
    pub(super) sifts: bool,
    /// The work tables that only a count makes, between commas.
    pub(super) further: String,
    pub(super) steps: Vec<StepView>,
    /// Whether rows of some are locked before what is below them is read.
    pub(super) locks: bool,
    pub(super) keeps: Vec<KeepView>,
    /// The tables below the root table to whose rows such rows refer that are deleted otherwise, as literals.
    pub(super) middles: Vec<String>,
    /// The ways to rows by which holds of other rules keep those of this one.
    pub(super) bound: Vec<AboveView>,
    pub(super) ways_of_keeps: Vec<WayView>,
    /// The roots that are kept whatever their age.
    pub(super) newest: Vec<NewestView>,
    /// The tables at which foreign keys point that deletions are left to, between commas; empty where there are none.
    pub(super) cascading: String,
    pub(super) copies: Vec<CopyView>,
    /// What work tables of the kernel have their types from, on MySQL and MariaDB.
    pub(super) types: WorkView,
    pub(super) zeros: String,
    pub(super) artifacts: Vec<ArtifactView>,
    pub(super) held: HeldView,
    /// Whether rows of a table are archived before they are deleted, and the archive of the root table.
    pub(super) archives: bool,
    /// Whether rows of other tables are set to NULL in what they name.
    pub(super) releases: bool,
    pub(super) archive: Option<ArchiveView>,
    /// What it has besides, by its strategy; templates find that as `by_end`, `timed` or `single`.
    #[serde(flatten)]
    pub(super) strategy: StrategyView,
}

impl RuleView {
    /// The work tables of MySQL and MariaDB.
    pub(super) fn works(&self) -> Works<'_> {
        let between = self.collects.iter().map(|collect| &collect.made);
        let copies = self.copies.iter();
        Works {
            types: &self.types,
            made: between.chain(self.strategy.works()).collect(),
            copies: copies.map(|copy| (&copy.work[..], &copy.of[..])).collect(),
        }
    }
}

/// What rules have by their strategy.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StrategyView {
    /// By the end of families. Its name in templates is none of a column.
    #[serde(rename = "by_end", serialize_with = "truth")]
    EndTime,
    Timed(timed::TimedView),
    Single(single::SingleView),
}

fn truth<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(true)
}

impl StrategyView {
    /// That of a rule of single rows.
    pub(super) fn single(&self) -> Option<&single::SingleView> {
        match self {
            Self::Single(single) => Some(single),
            Self::EndTime | Self::Timed(_) => None,
        }
    }

    /// Further tables that its statements look into.
    pub(super) fn references(&self) -> &[String] {
        match self {
            Self::EndTime => &[],
            Self::Timed(timed) => &timed.references,
            Self::Single(single) => &single.references,
        }
    }

    /// The work tables that it makes, besides those for keys of tables in between.
    pub(super) fn works(&self) -> &[WorkView] {
        match self {
            Self::Timed(timed) => &timed.works,
            Self::EndTime | Self::Single(_) => &[],
        }
    }

    /// The template of the rule's file.
    pub(super) fn template(&self) -> &'static str {
        match self {
            Self::EndTime => "30_rule.sql",
            Self::Timed(timed) if timed.partition.is_some() => "30_partition.sql",
            Self::Timed(timed) if timed.plain => "30_plain.sql",
            Self::Timed(_) => "30_removal_time.sql",
            Self::Single(_) => "30_single.sql",
        }
    }
}

/// The root table of a rule, and its row `i`.
#[derive(Serialize)]
pub(super) struct RootView {
    pub(super) table: String,
    pub(super) table_name: String,
    pub(super) key: String,
    pub(super) key_name: String,
    pub(super) key_type: &'static str,
    pub(super) id_type: &'static str,
    /// What makes a key that type where a function on PostgreSQL answers it: a text of some length is no `text` there, and a
    /// domain not what it is a domain of.
    pub(super) key_cast: String,
    /// On PostgreSQL, behind the key that a function answers whose text the server takes into statements: they compare what a function
    /// answers by the collation of the database, and would sort it by that of the column.
    pub(super) key_sorts: &'static str,
    /// The key of a hold `h` as a value of the key's type.
    pub(super) key_of_hold: String,
    /// On MySQL and MariaDB: the key of row `i`, for a column that takes texts.
    pub(super) key_told: String,
    pub(super) end_time: String,
    pub(super) end_time_name: String,
    /// When row `i` of the root table ended, and what that is called in a subquery; whether a second column replaces it.
    pub(super) ended: String,
    /// The same, where a zero date is none.
    pub(super) dated: String,
    pub(super) ended_name: String,
    pub(super) otherwise: bool,
    /// What is compared of row `i` with a time, and ordered by: the same, or on MySQL and MariaDB the number or date that says it.
    pub(super) time: String,
    /// Whether it is a number; what is before an instant and after it where it becomes what it is compared with.
    pub(super) numbered: bool,
    pub(super) number_of: (String, String),
    /// Rows of another table that say when a root ended; `ended` is then when it began, and this the name of that.
    pub(super) last: Option<LastView>,
    pub(super) start_name: String,
    /// What the time is called by which roots are searched, where they are looked for.
    pub(super) along: &'static str,
    /// Whether row `i` of the root table is final, or a root: true or false, never NULL.
    pub(super) is_final: String,
    pub(super) is_root: String,
    pub(super) candidates: Vec<String>,
    pub(super) eligible: Vec<String>,
    /// The condition of the spec that windrow does not read, as it is written; empty where there is none.
    pub(super) raw: String,
}

/// The scopes of a rule.
#[derive(Serialize)]
pub(super) struct ScopeView {
    /// The quoted scope column, or empty.
    pub(super) per: String,
    pub(super) per_name: String,
    pub(super) scope_type: &'static str,
    /// As policies have it, on PostgreSQL: the scope of a row `m` of a level, of row `i` of the root table, and of root `i`.
    pub(super) text_of_m: String,
    pub(super) text_of_i: String,
    pub(super) text_of_root: String,
    /// The scope of root `i`, and that of row `s`: both have the collation of the column, by which PostgreSQL compares what they meet.
    pub(super) of_root: String,
    pub(super) scope_of_s: String,
    /// Whether the collation of the column may take several spellings for one scope.
    pub(super) spelled: bool,
    /// Whether only those scopes are cleaned that the scope routine lists.
    pub(super) opt_in: bool,
    /// MySQL and MariaDB: what the scope of row `i` becomes where it gives the column of a view its type.
    pub(super) roomy: String,
    /// The scope of a policy `p` as what the scope column takes.
    pub(super) scope_of_policy: String,
    /// Whether `p` is a policy of the rule, and not of another column that the rule had for its scopes.
    pub(super) is_policy: String,
}

/// The times of a rule: their type, and the cutoffs before which a root is old enough.
#[derive(Serialize)]
pub(super) struct TimesView {
    pub(super) time_type: &'static str,
    /// Whether the end time is an instant.
    pub(super) zoned: bool,
    /// What makes the end an instant of UTC, on PostgreSQL: nothing where it has no zone.
    pub(super) in_utc: &'static str,
    /// After every end time that the type of its column holds on MySQL.
    pub(super) greatest_time: &'static str,
    pub(super) minimum: i64,
    pub(super) safety_lag: i64,
    /// On PostgreSQL, the cutoffs counted from p_as_of.
    pub(super) cutoff_of_policy: String,
    /// The retention of a policy `p`, which may follow the spec: on MySQL and MariaDB; NULL: for ever.
    pub(super) seconds_of_policy: String,
    pub(super) cutoff_of_source: String,
    pub(super) cutoff_of_default: String,
    /// The present instant as the application writes it, and the cutoff of scope `s` counted from now; NULL: forever.
    pub(super) now_here: String,
    pub(super) cutoff_now: String,
    /// On MySQL and MariaDB: that of the scope or, where nothing is said of it, of the default.
    pub(super) cutoff_now_either: String,
    pub(super) cutoff_now_default: String,
    pub(super) cutoff_now_minimum: String,
}

#[derive(Serialize)]
pub(super) struct LinkView {
    pub(super) table: String,
    pub(super) parent: String,
    pub(super) child: String,
    /// The key of the member above row `l`, and above row `n`; which rows `l` are below some, on PostgreSQL.
    pub(super) upper: String,
    pub(super) upper_of_n: String,
    pub(super) below: String,
    /// The table between, where a row names the one above it by a row of that.
    pub(super) over: Option<OverView>,
}

#[derive(Serialize)]
pub(super) struct OverView {
    pub(super) table: String,
    pub(super) key: String,
    /// The column that names the upper member.
    pub(super) names: String,
}

#[derive(Serialize)]
pub(super) struct CollectView {
    pub(super) variable: String,
    /// The work table where there are no array variables, and how it is made.
    pub(super) work: String,
    pub(super) made: WorkView,
    pub(super) key: String,
    pub(super) key_type: &'static str,
    pub(super) table: String,
    pub(super) table_literal: String,
    pub(super) edges: Vec<EdgeView>,
    /// Whether the rows are listed under their locks, as some of the table are kept.
    pub(super) locks: bool,
    /// Whether they are locked where foreign keys refer to them.
    pub(super) referenced: bool,
    /// PostgreSQL: whether they are locked even where none does.
    pub(super) always: bool,
    /// PostgreSQL: that a row names rows of others at all, where its key is needed for them alone. No index serves it.
    pub(super) naming: String,
    /// Whether a batch reaches the rows by joining the table itself, so that it needs no work table for their keys.
    pub(super) joined: bool,
    /// The variable with how many were locked so; empty where none are.
    pub(super) locked: String,
    /// The positions of the steps that alone need them, between commas, where their deletions may be left to foreign keys.
    pub(super) users: String,
}

#[derive(Serialize)]
pub(super) struct StepView {
    pub(super) position: usize,
    pub(super) table: String,
    pub(super) table_literal: String,
    pub(super) why: String,
    /// What is unlinked from its rows before they are deleted.
    pub(super) releases: Vec<ReleaseView>,
    pub(super) edges: Vec<EdgeView>,
    /// By what its rows are deleted: these, or their own keys, where those that are deleted were listed.
    pub(super) taken: Vec<EdgeView>,
    /// Whether some of its rows are kept.
    pub(super) spares: bool,
    /// The table's own key, if it has one.
    pub(super) key: String,
    /// The variable with the keys of its rows, where that is a shorter way to them than through their parents.
    pub(super) collected: String,
    /// The variable with how many of its rows were locked before what is below them was read; empty where none were.
    pub(super) locked: String,
    /// The variable with the keys of all its rows as they were read before that; empty where they were not.
    pub(super) found: String,
    pub(super) archive: Option<ArchiveView>,
    /// The foreign key to which its deletion is left, where the catalog has that.
    pub(super) cascade: Option<CascadeView>,
}

/// A second work table with the same keys: MySQL lets a statement name a temporary table once.
#[derive(Serialize, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CopyView {
    pub(super) work: String,
    pub(super) of: String,
}

#[derive(Serialize)]
pub(super) struct ArtifactView {
    pub(super) table: String,
    pub(super) table_name: String,
    pub(super) column: String,
    pub(super) host: String,
    pub(super) path: String,
    /// What keeps out rows that are kept: ` AND …`, or empty.
    pub(super) kept: String,
}

#[derive(Serialize)]
pub(super) struct TableView {
    pub(super) name: String,
    pub(super) table: String,
    /// The table, as a literal to be looked up.
    pub(super) class: String,
    /// Whether rows of it are deleted; others are only read.
    pub(super) deleted: bool,
    /// Whether partitions of it are dropped.
    pub(super) dropped: bool,
    /// The quoted columns that may be set, between commas.
    pub(super) updates: String,
}

#[derive(Serialize)]
pub(super) struct LockedView {
    pub(super) name: String,
    pub(super) table: String,
    /// The column on which the right to lock rows is given.
    pub(super) column: String,
}
