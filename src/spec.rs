//! The spec as written: what TOML says, with the place of everything that a diagnostic may point at.
//!
//! Nothing is resolved here. A field that every spec needs is an `Option` nevertheless, so that a spec without it
//! is still read and everything else that is wrong with it is found too.

pub mod duration;
pub mod grammar;
mod parse;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::diagnostic::Diagnostic;
use crate::dialect::Dialect;

/// A text and its place, quotes included.
pub type Text = Spanned<String>;

/// A windrow spec: the tables of one managed system, what belongs to what, and what to purge when.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
#[schemars(title = "windrow spec", extend("required" = ["name", "tables", "rules"]))]
pub struct Spec {
    /// Name of the spec: lower-case letters, digits, `_`, `-`, `.`. The control schema is `windrow_<name>`.
    #[schemars(
        with = "String",
        regex(pattern = r"^[a-z][a-z0-9_.-]*$"),
        length(max = 40),
        example = &"dolphinscheduler"
    )]
    pub name: Option<Text>,
    /// One line about the managed system; the name if left out.
    #[serde(default)]
    #[schemars(with = "String", example = &"Apache DolphinScheduler 3.4")]
    pub title: Option<Text>,
    /// The servers that the managed system runs on; all if left out.
    #[serde(default)]
    #[schemars(with = "Vec<Dialect>")]
    pub dialects: Option<Spanned<Vec<Spanned<Dialect>>>>,
    /// The servers on which the names of the tables and columns are in upper case, whatever their case in this file.
    #[serde(default)]
    #[schemars(with = "Vec<Dialect>", example = ["mysql", "mariadb"])]
    pub upper_case: Option<Spanned<Vec<Spanned<Dialect>>>>,
    /// Schema of the application's tables on PostgreSQL.
    #[serde(default)]
    #[schemars(with = "String", extend("default" = "public"))]
    pub schema: Option<Text>,
    /// Database of the application's tables on MySQL and MariaDB; the name of the spec if left out.
    #[serde(default)]
    #[schemars(with = "String", example = &"dolphinscheduler")]
    pub database: Option<Text>,
    /// IANA time zone in which the application writes its zone-less timestamps.
    #[serde(default)]
    #[schemars(with = "String", extend("default" = "UTC"), example = &"Europe/Berlin")]
    pub time_zone: Option<Text>,
    /// When the scheduled run starts: five cron fields in UTC, or `N seconds`; several of these are a job each.
    #[serde(default)]
    #[schemars(with = "Names", extend("default" = "7 * * * *"), example = &"30 seconds")]
    pub schedule: Option<Spanned<Names>>,
    /// How many workers there are, each a job of its own for every line of the schedule: those that run at a time share out
    /// the families of rules with the strategy `end-time`. The limits of a run hold for each.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 8), extend("default" = 1), example = &2)]
    pub workers: Option<Spanned<i64>>,
    /// How long pg_cron keeps its rows of past starts of these runs, which it never deletes by itself; left out: for ever.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = DURATION), example = &"30d")]
    pub cron_history: Option<Text>,
    /// Days after which archived rows go for good, whole runs at the end of a later one; left out: never.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 36_500), example = &365)]
    pub archive_days: Option<Spanned<i64>>,
    /// When scheduled runs may work: `always`, `never`, or windows like `mon-fri 22:00-06:00 Europe/Berlin`. Days are
    /// those on which a window begins; the start is inclusive, the end exclusive, and the same twice is 24 hours. Without a
    /// zone it is UTC.
    #[serde(default)]
    #[schemars(with = "Names", extend("default" = "always"), example = &"mon-fri 22:00-06:00 Europe/Berlin")]
    pub windows: Option<Spanned<Names>>,
    /// The column, `table.column` or `schema.table.column`, in which each replica says in a row of its own up to which
    /// instant it has got, in UTC. What writes it there is not windrow's. `max_replica_lag` asks it; MySQL and MariaDB do
    /// not know their replicas.
    #[serde(default)]
    #[schemars(with = "String", example = &"ops.heartbeat.seen_at")]
    pub heartbeat: Option<Text>,
    /// The managed tables.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Table>")]
    pub tables: BTreeMap<Text, Table>,
    /// Tables that look as if they belonged to a managed one and are left alone, each with the reason.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub ignore: BTreeMap<Text, Text>,
    /// What to purge: the rules, in the order in which a run takes them.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Rule>")]
    pub rules: BTreeMap<Text, Rule>,
}

/// A managed table.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ key = \"id integer\" }`"
)]
pub struct Table {
    /// The key that children name: `column type`.
    #[serde(default)]
    #[schemars(
        with = "String",
        regex(pattern = r#"^\s*("[^"]+"|\S+)\s+(smallint|integer|bigint|uuid|varchar)\s*$"#),
        example = &"id integer"
    )]
    pub key: Option<Text>,
    /// Further unique keys that children name: `column type, column type`.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["dag_id varchar, run_id varchar"])]
    pub unique: Vec<Text>,
    /// What a row belongs to: `column [type] -> table.column [unless value]`. With `restrict` at the end it does not
    /// belong to that row but keeps it, and its whole family, for as long as it is there. With `set null` it stays when that
    /// row goes, and the column is set to NULL before. With `cascade` a batch on PostgreSQL leaves the row to its foreign key, where
    /// that deletes it, and counts what it has deleted. With `or alone` it is the other row that names this one, by any of
    /// its columns, and a row that none names is no orphan. A key of several columns is named
    /// `column, column -> table(column, column)`.
    #[serde(default)]
    #[schemars(
        with = "Vec<String>",
        inner(regex(pattern = r"->.+(\..+|\(.+\))")),
        example = ["parent_id -> parent.id", "owner_id bigint -> owner.id unless 0", "audited_id -> parent.id restrict", "last_id -> parent.id set null", "noted_id -> parent.id cascade", "id -> parent.blob_id or alone"]
    )]
    pub parents: Vec<Text>,
    /// With which of several parents a row goes.
    #[serde(default)]
    #[schemars(with = "With")]
    pub with: Option<Spanned<With>>,
    /// Columns of `parents` (of several: as written there) that an index of the application leads with, so that none needs to be added.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub indexed: Vec<Text>,
    /// Triggers of the application that fire on DELETE and are accepted, by name. They are code that windrow cannot account
    /// for: whoever lists one has read what it does to each row that goes. Any other is a warning of `check --database`.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["audit_deletions"])]
    pub triggers: Vec<Text>,
}

/// What to purge: a root table, who is eligible, when, how much.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of a rule's fields")]
pub struct Rule {
    /// How rows become due.
    #[schemars(with = "Strategy")]
    pub strategy: Option<Spanned<Strategy>>,
    /// The table of the roots.
    #[schemars(with = "String")]
    pub root: Option<Text>,
    /// Which rows of the root table are roots: `column = value(s)`, or `column = { null = true }` for rows in which it is
    /// NULL. Every row if left out.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Values>")]
    pub candidates: BTreeMap<Text, Spanned<Values>>,
    /// Which rows of the root table are final: `column = value(s)`, or `column = { null = false }` for rows in which it is
    /// not NULL.
    #[schemars(with = "BTreeMap<String, Values>", extend("minProperties" = 1))]
    pub r#final: Option<Spanned<BTreeMap<Text, Spanned<Values>>>>,
    /// When a row of the root table ended: `column [timestamp | timestamptz]`. With `else other_column` that one stands in
    /// where the first is NULL; where both are, the row is undated. MariaDB has no index for it. `max(table.column)` is the
    /// time at which the last of its rows of another table was over: unknown while the column is NULL in one of them, or
    /// where there are none. For PostgreSQL, and only with `start_time`.
    #[schemars(
        with = "String",
        example = &"end_time",
        example = &"ended_at timestamptz",
        example = &"ended_at timestamptz else updated_at",
        example = &"max(step.completed_at) else updated_at"
    )]
    pub end_time: Option<Text>,
    /// When a row of the root table began: `column [timestamp | timestamptz]`. Where `end_time` stands in another table, roots
    /// are looked for by this; one that began after the cutoff has not ended before it.
    #[serde(default)]
    #[schemars(with = "String", example = &"created_at")]
    pub start_time: Option<Text>,
    /// What links a member to its descendants: `table: parent_column -> child_column` for a relation table, and
    /// `root: parent_column -> key` where rows of the root table name the one above them.
    #[serde(default)]
    #[schemars(
        with = "Vec<String>",
        inner(regex(pattern = r":.+->")),
        example = ["relation: parent_instance_id -> instance_id", "instance: parent_id -> id"]
    )]
    pub hierarchy: Vec<Text>,
    /// What happens to a family that shares a member with another.
    #[serde(default)]
    pub shared: Shared,
    /// Which column says when a row goes (`removal-time`, `expiry`) or how old it is (`age`, `orphan`, `keep-last`):
    /// `column [timestamp | timestamptz]`.
    #[serde(default)]
    #[schemars(with = "String", example = &"removal_time")]
    pub time: Option<Text>,
    /// The tables of a rule by removal time, in the order in which their rows go: `table`, or `table: column, …` with the
    /// columns that name the root of a row's family.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["task: root_instance_id", "instance: root_instance_id"])]
    pub tables: Vec<Text>,
    /// What one transaction of a rule by removal time takes: whole families, where `tables` says to which one rows belong.
    #[serde(default)]
    #[schemars(with = "Unit", extend("default" = "family"))]
    pub unit: Option<Spanned<Unit>>,
    /// Foreign keys of other tables; a row that they name stays: `other_table: column -> table`.
    #[serde(default)]
    #[schemars(
        with = "Vec<String>",
        inner(regex(pattern = r":.+->")),
        example = ["variable: blob_id -> blob"]
    )]
    pub references: Vec<Text>,
    /// When rows go that have no expiry time of their own; left out: never.
    #[schemars(with = "Fallback")]
    pub fallback: Option<Spanned<Fallback>>,
    /// What must exist for a row of an `orphan` rule to stay, from the row on: `column -> table.column [unless value]`, or
    /// `column, column -> table(column, column)`; each further entry starts at the row that the one before names. Left
    /// out: the parents of the table.
    #[serde(default)]
    #[schemars(
        with = "Vec<String>",
        inner(regex(pattern = r"->.+(\..+|\(.+\))")),
        example = ["asset_id -> asset.id", "name, uri -> asset_active(name, uri)"]
    )]
    pub needs: Vec<Text>,
    /// Orphans go however young they are; for a table that has no time.
    #[serde(default)]
    #[schemars(with = "bool", extend("default" = false))]
    pub at_once: Option<Spanned<bool>>,
    /// What stays whatever its age: the newest roots of each group with their families, or the newest rows (`keep-last`).
    /// Of families, an array of these keeps what any of them keeps.
    #[serde(default)]
    #[schemars(with = "Keeps")]
    pub keep: Option<Spanned<Keeps>>,
    /// How long ended families are kept.
    #[schemars(with = "Retention")]
    pub retention: Option<Spanned<Retention>>,
    /// How removal times can be set anew, for a rule by removal time.
    #[schemars(with = "Stamp")]
    pub stamp: Option<Spanned<Stamp>>,
    /// How much a run takes at once.
    #[serde(default)]
    #[schemars(extend("default" = {}))]
    pub limits: Limits,
    /// Files outside the database that deleted rows name.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// Which rows are copied into archive tables in the transaction that deletes them: `true` for those of every table of
    /// the rule, or the names of its tables. None if left out.
    #[serde(default)]
    #[schemars(with = "Archive")]
    pub archive: Option<Spanned<Archive>>,
    /// Whether triggers refuse a row whose parent is gone or going: on every table whose rows go with the families of an
    /// `end-time` rule. For schemas without foreign keys; it costs a look at the parent for each inserted row.
    #[serde(default)]
    #[schemars(with = "bool", extend("default" = false))]
    pub orphan_guard: Option<Spanned<bool>>,
    /// Further names for the figures of the two documents.
    #[serde(default)]
    #[schemars(extend("default" = {}))]
    pub report: Report,
}

/// How rows become due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Whole families, a retention after their last member ended.
    EndTime,
    /// Rows whose stored removal time has come, over several tables.
    RemovalTime,
    /// Rows of one table, a retention after their time.
    Age,
    /// Rows of one table whose own expiry time has passed.
    Expiry,
    /// Rows of one table that name something that is gone.
    Orphan,
    /// Rows of one table, but for the newest of each group.
    KeepLast,
}

/// What one transaction of a rule by removal time takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A window of time: every row goes when its own removal time has come, whether or not that of its root has. Cheaper, and
    /// right only where all rows of a family share one.
    Window,
    /// Whole families: they go when the removal time of their root has come, whatever that of their other rows is; no row goes
    /// whose root is there and stays. What belongs to no family goes by its own time, in windows.
    #[default]
    Family,
}

/// With which of its parents a row goes that has several. A parent that is not there does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum With {
    /// With all of them: families that share such a row go together or not at all, and one whose row has a parent outside
    /// of the rule stays (`REFERENCED`) for as long as that is there.
    #[default]
    All,
    /// With the first of them that goes, whatever becomes of the others.
    Any,
}

/// What happens to a family that shares a member with another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shared {
    /// Families that share a member go together or not at all.
    #[default]
    Closed,
    /// A root's own verdict decides, whoever else links to its members.
    Literal,
}

/// How long ended families are kept. Durations are like `30d`, `1d12h` or `P30D`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ default = \"30d\" }`"
)]
pub struct Retention {
    /// Retention where no policy says otherwise.
    #[schemars(with = "String", regex(pattern = DURATION), example = &"30d", example = &"P30D")]
    pub default: Option<Text>,
    /// No policy, option or call can go under this.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = DURATION), extend("default" = "7d"))]
    pub minimum: Option<Text>,
    /// Added to every retention.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = DURATION), extend("default" = "1d"))]
    pub safety_lag: Option<Text>,
    /// What a day is, where a retention is counted in days.
    #[serde(default)]
    #[schemars(with = "Days", extend("default" = "24h"))]
    pub days: Option<Spanned<Days>>,
    /// Column of the root table by which policies are set: `column [type]`, bigint if no type is given. What `from` and
    /// `by_value` say is by this column, too.
    #[serde(default)]
    #[schemars(with = "String", example = &"project_code bigint")]
    pub per: Option<Text>,
    /// Only scopes with an enabled policy row are cleaned.
    #[serde(default)]
    #[schemars(with = "bool", extend("default" = false))]
    pub opt_in: Option<Spanned<bool>>,
    /// A table that says how long what is kept whose `per` names its row: `table: key -> column unit`. NULL there means
    /// the default, or for ever where there is none.
    #[serde(default)]
    #[schemars(
        with = "String",
        regex(pattern = r"^.+:.+->.+\s(days|hours|minutes|seconds)\s*$"),
        example = &"definition: id -> keep_days days"
    )]
    pub from: Option<Text>,
    /// Retention by value of `per`. Another value means the default, or for ever where there is none.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>", extend("minProperties" = 1))]
    pub by_value: Option<Spanned<BTreeMap<Text, Text>>>,
}

/// What a day is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Days {
    /// 24 hours.
    #[default]
    #[serde(rename = "24h")]
    Hours,
    /// From a time of the clock in the spec's `time_zone` to the same time on the next day of the calendar.
    #[serde(rename = "calendar")]
    Calendar,
}

/// When rows go that have no expiry time of their own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ time = \"updated_at\", retention = { default = \"30d\" } }`"
)]
pub struct Fallback {
    /// The column from which the retention counts: `column [timestamp | timestamptz]`.
    #[schemars(with = "String", example = &"updated_at timestamptz")]
    pub time: Text,
    /// How long after it; a default of `0d` turns this off, and rows without an expiry time stay.
    #[schemars(with = "Retention")]
    pub retention: Option<Spanned<Retention>>,
}

/// The newest rows of each group. Where families go, the newest roots stay with their families. A row in which one of the
/// columns is NULL has no place in a group, and is not among them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ newest = 1, per = \"dag_id varchar\", by = \"run_after timestamptz\" }`"
)]
#[schemars(extend("required" = ["newest", "per", "by"]))]
pub struct Keep {
    /// How many of each group.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1, max = 1_000))]
    pub newest: Option<Spanned<i64>>,
    /// Columns that tell the groups apart: `column [type]`, bigint if no type is given.
    #[serde(default)]
    #[schemars(with = "Names", example = &["dag_id varchar", "map_index integer"])]
    pub per: Option<Spanned<Names>>,
    /// Columns that order a group, the newest last: `column [type]`, timestamp if no type is given. The key decides between
    /// equals.
    #[serde(default)]
    #[schemars(with = "Names", example = &"try_number integer")]
    pub by: Option<Spanned<Names>>,
    /// Which roots count, and stay: `column = value(s)`. Every candidate, final or not, if left out.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Values>")]
    pub of: BTreeMap<Text, Spanned<Values>>,
}

/// How removal times can be set anew: what a calculated one counts from, and which rows are those of one instance. What
/// `stamp` is called with says the rest.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ start = \"started_at\", per = \"definition_id varchar\", from = \"definition: id -> keep_days days\" }`"
)]
#[schemars(extend("required" = ["start", "per", "from"]))]
pub struct Stamp {
    /// When a row of the root table began, of the type of the rule's `end_time`: `column [timestamp | timestamptz]`.
    #[serde(default)]
    #[schemars(with = "String", example = &"started_at")]
    pub start: Option<Text>,
    /// Column of the root table that names its definition: `column [type]`, bigint if no type is given.
    #[serde(default)]
    #[schemars(with = "String", example = &"definition_id varchar")]
    pub per: Option<Text>,
    /// A table that says how long what is kept whose `per` names its row: `table: key -> column unit`.
    #[serde(default)]
    #[schemars(
        with = "String",
        regex(pattern = r"^.+:.+->.+\s(days|hours|minutes|seconds)\s*$"),
        example = &"definition: id -> keep_days days"
    )]
    pub from: Option<Text>,
    /// Which rows are those of one row of the root table alone, not of its whole family: `table: column` with the column
    /// that names it, or `table: column -> other_table` where the row names one of another table of this list. Where such a
    /// row names no root, it is of the family of that instance: for runs, holds, `purge` and stamps.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["task: instance_id", "comment: task_id -> task"])]
    pub own: Vec<Text>,
    /// Tables whose rows share the removal time of the rows that name them, by the `parents` of these, and their family, if
    /// neither names a root.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["blob"])]
    pub named: Vec<Text>,
    /// Columns that MySQL and MariaDB would set to the present instant at every change of the row, and must not:
    /// `table: column, …`.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["task: updated_at"])]
    pub untouched: Vec<Text>,
    /// The same for rows of the rule that belong to no row of its root table, by the name that the option `of` takes: the
    /// columns that are not to be touched are those above.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, StampOf>")]
    pub of: BTreeMap<Text, Spanned<StampOf>>,
}

/// How removal times can be set anew of rows that have another root table than the rule.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ root = \"job\", start = \"started_at\", end_time = \"ended_at\", per = \"kind varchar\", by_value = { import = \"30d\" } }`"
)]
#[schemars(extend("required" = ["root", "start", "end_time", "per"]))]
pub struct StampOf {
    /// The root table, one of the rule's `tables`.
    #[schemars(with = "String")]
    pub root: Option<Text>,
    /// Which of its rows, as in a rule. Every row if left out.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Values>")]
    pub candidates: BTreeMap<Text, Spanned<Values>>,
    /// Column of the root table that names the root of a row's family; without it, each row is one.
    #[serde(default)]
    #[schemars(with = "String", example = &"root_id")]
    pub family: Option<Text>,
    /// When a row of the root table began, of the type of the rule's `time`: `column [timestamp | timestamptz]`.
    #[serde(default)]
    #[schemars(with = "String", example = &"started_at")]
    pub start: Option<Text>,
    /// When it ended. What happens at one instant has one column for both.
    #[serde(default)]
    #[schemars(with = "String", example = &"ended_at")]
    pub end_time: Option<Text>,
    /// Column of the root table that names its definition, or holds a value of `by_value`: `column [type]`, bigint if no type
    /// is given.
    #[serde(default)]
    #[schemars(with = "String", example = &"kind varchar")]
    pub per: Option<Text>,
    /// A table that says how long what is kept whose `per` names its row: `table: key -> column unit`.
    #[serde(default)]
    #[schemars(
        with = "String",
        regex(pattern = r"^.+:.+->.+\s(days|hours|minutes|seconds)\s*$"),
        example = &"definition: id -> keep_days days"
    )]
    pub from: Option<Text>,
    /// How long by value of `per`, instead of a table.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>", extend("minProperties" = 1))]
    pub by_value: Option<Spanned<BTreeMap<Text, Text>>>,
    /// Which rows are those of one row of the root table: as above, or `table: column -> root.column` where they name
    /// another column than its key.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["message: job_id", "log: queue_id -> job.queue_id"])]
    pub own: Vec<Text>,
    /// Tables whose rows share the removal time of the rows that name them, by the `parents` of these.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["blob"])]
    pub named: Vec<Text>,
}

/// How much a run takes at once.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ batch_families = 200 }`"
)]
pub struct Limits {
    /// Families in one transaction, where they go as such.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1, max = 100_000), extend("default" = 200))]
    pub batch_families: Option<Spanned<i64>>,
    /// Rows of one table in one transaction, of those that do not go by families. Left out: 5,000, and 20,000 in windows of
    /// time on PostgreSQL.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1, max = 100_000), example = &10_000)]
    pub batch_rows: Option<Spanned<i64>>,
    /// Families in one run.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1, max = 1_000_000_000), extend("default" = 10_000))]
    pub run_families: Option<Spanned<i64>>,
    /// Rows of one rule after which a run takes no further batch; left out: however many.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1, max = 1_000_000_000_000_i64), example = &1_000_000)]
    pub run_rows: Option<Spanned<i64>>,
    /// How long one run may take.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = DURATION), extend("default" = "30m"))]
    pub time_budget: Option<Text>,
    /// How long a statement waits for a lock.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = DURATION), extend("default" = "100ms"))]
    pub lock_timeout: Option<Text>,
    /// How often a batch that met a deadlock or a lock timeout is tried again before it is halved.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 0, max = 100), extend("default" = 3))]
    pub retries: Option<Spanned<i64>>,
    /// How long a batch should take: its size follows, up to `batch_families` or `batch_rows`. Left out: it does not.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = DURATION), example = &"500ms")]
    pub target_batch: Option<Text>,
    /// Rows per second, on the average of a batch and the rest after it. Left out: as fast as it goes.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1, max = 1_000_000_000), example = &20_000)]
    pub rate: Option<Spanned<i64>>,
    /// How long to rest after a batch, in percent of the time that it took.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 0, max = 10_000), extend("default" = 0), example = &100)]
    pub nice: Option<Spanned<i64>>,
    /// How far a replica may be behind before a batch waits for it. On MySQL and MariaDB by the spec's `heartbeat`.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = DURATION), example = &"30s")]
    pub max_replica_lag: Option<Text>,
    /// The same in megabytes of WAL, of replicas and of replication slots, on PostgreSQL.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1, max = 1_000_000_000), example = &512)]
    pub max_replica_wal: Option<Spanned<i64>>,
    /// How many other sessions may be active before a batch waits.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1, max = 1_000_000), example = &40)]
    pub max_active_sessions: Option<Spanned<i64>>,
    /// How many transactions an old snapshot may keep from being cleaned up behind before a batch waits: the age of the
    /// oldest one on PostgreSQL, the length of the history list on MySQL and MariaDB.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 1, max = 1_000_000_000), example = &1_000_000)]
    pub max_old_snapshot: Option<Spanned<i64>>,
    /// Raw SQL: a query of one value; while it is true, or a number above 0, a batch waits. It runs with the rights of the
    /// owner role, and names tables with their schema.
    #[serde(default)]
    #[schemars(with = "String", example = &"SELECT EXISTS (SELECT 1 FROM ops.maintenance WHERE active)")]
    pub wait_while_sql: Option<Text>,
    /// How long scheduled runs pause at most after runs that found nothing left: 10 seconds after the first, twice as long
    /// after each further one. Of several rules the shortest counts; `0s`: they do not pause.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = DURATION), extend("default" = "30m"))]
    pub back_off_max: Option<Text>,
    /// How many scheduled runs in a row may end with an error before no further one starts. Of several rules the smallest
    /// counts; 0: however many.
    #[serde(default)]
    #[schemars(with = "i64", range(min = 0, max = 100), extend("default" = 5))]
    pub suspend_after: Option<Spanned<i64>>,
}

/// A file that a deleted row names.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ table = \"job\", path = \"log_path\" }`"
)]
pub struct Artifact {
    /// Table of the rows that name files.
    #[schemars(with = "String")]
    pub table: Text,
    /// Column that names the host; left out: the file is not tied to a host.
    #[serde(default)]
    #[schemars(with = "String")]
    pub host: Option<Text>,
    /// Column that names the path.
    #[schemars(with = "String")]
    pub path: Text,
}

/// Further names for figures, so that a document answers in the words of the managed system.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "the tables `preview` and `run`")]
pub struct Report {
    /// Names in the preview document: `name = "figure"`.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub preview: BTreeMap<Text, Text>,
    /// Names in the run document: `name = "figure"`.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub run: BTreeMap<Text, Text>,
}

/// What a column of a condition may hold: one value, several of one kind, or whether it holds any.
#[derive(Clone, Debug)]
pub enum Values {
    /// `{ null = true }`: the column is NULL; `{ null = false }`: it is not.
    Null(bool),
    /// A single value.
    One(Scalar),
    /// An array.
    Many(Vec<Spanned<Scalar>>),
}

/// One text or several.
#[derive(Clone, Debug)]
pub enum Names {
    /// A single text.
    One(String),
    /// An array.
    Many(Vec<Text>),
}

/// What stays of each group, in one way or in several.
#[derive(Clone, Debug)]
pub enum Keeps {
    /// A single table.
    One(Box<Keep>),
    /// An array.
    Many(Vec<Spanned<Keep>>),
}

/// Which tables of a rule have an archive.
#[derive(Clone, Debug)]
pub enum Archive {
    /// All of them, or none.
    All(bool),
    /// These.
    Tables(Vec<Text>),
}

/// A value of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(String),
}

const DURATION: &str = r"^(([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?|P([0-9]+W)?([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+S)?)?)$";

/// Reads a spec. No spec means that the text is not TOML; a spec beside errors lacks what they are about.
pub fn parse(text: &str) -> (Option<Spec>, Vec<Diagnostic>) {
    parse::spec(text)
}

/// The JSON Schema of a spec, for editors.
pub fn json_schema() -> String {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(forget_null));
    let schema = settings.into_generator().into_root_schema_for::<Spec>();
    // A schema is JSON and nothing in it can fail to be printed.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

/// TOML has no null, so it is nobody's default.
fn forget_null(schema: &mut Schema) {
    if schema
        .get("default")
        .is_some_and(|default| default.is_null())
    {
        schema.remove("default");
    }
}

/// Entries of a table in the order of the file.
pub fn in_file_order<V>(map: &BTreeMap<Text, V>) -> Vec<(&Text, &V)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        struct ScalarVisitor;
        impl Visitor<'_> for ScalarVisitor {
            type Value = Scalar;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a whole number or a text")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar::Integer(value))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(value.to_owned()))
            }
        }
        deserializer.deserialize_any(ScalarVisitor)
    }
}

// Not an untagged enum: that would lose the places of the array's values and say nothing about what is wrong.
impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Values, D::Error> {
        struct ValuesVisitor;
        impl<'de> Visitor<'de> for ValuesVisitor {
            type Value = Values;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(
                    "a whole number, a text, an array of one of these, or `{ null = true }`",
                )
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Values, A::Error> {
                #[derive(Deserialize)]
                #[serde(
                    deny_unknown_fields,
                    expecting = "`{ null = true }` or `{ null = false }`"
                )]
                struct Null {
                    null: bool,
                }
                let read = Null::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Values::Null(read.null))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Values, E> {
                Ok(Values::One(Scalar::Integer(value)))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Values, E> {
                Ok(Values::One(Scalar::Text(value.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Values, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = sequence.next_element()? {
                    values.push(value);
                }
                Ok(Values::Many(values))
            }
        }
        deserializer.deserialize_any(ValuesVisitor)
    }
}

/// The texts of a field, each with its place.
pub fn each(names: &Spanned<Names>) -> Vec<Text> {
    match names.get_ref() {
        Names::One(name) => vec![Spanned::new(names.span(), name.clone())],
        Names::Many(names) => names.clone(),
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Names, D::Error> {
        struct NamesVisitor;
        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = Names;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text, or an array of texts")
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Names, E> {
                Ok(Names::One(value.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = sequence.next_element()? {
                    names.push(name);
                }
                Ok(Names::Many(names))
            }
        }
        deserializer.deserialize_any(NamesVisitor)
    }
}

/// The ways in which rows of a rule stay, each with its place.
pub fn each_keep(keeps: &Spanned<Keeps>) -> Vec<Spanned<&Keep>> {
    match keeps.get_ref() {
        Keeps::One(keep) => vec![Spanned::new(keeps.span(), &**keep)],
        Keeps::Many(keeps) => keeps
            .iter()
            .map(|keep| Spanned::new(keep.span(), keep.get_ref()))
            .collect(),
    }
}

impl<'de> Deserialize<'de> for Keeps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Keeps, D::Error> {
        struct KeepsVisitor;
        impl<'de> Visitor<'de> for KeepsVisitor {
            type Value = Keeps;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(
                    "a table like `{ newest = 1, per = \"dag_id varchar\", by = \"run_after timestamptz\" }`, or an array of these",
                )
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Keeps, A::Error> {
                let keep = Keep::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Keeps::One(Box::new(keep)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Keeps, A::Error> {
                let mut keeps = Vec::new();
                while let Some(keep) = sequence.next_element()? {
                    keeps.push(keep);
                }
                Ok(Keeps::Many(keeps))
            }
        }
        deserializer.deserialize_any(KeepsVisitor)
    }
}

impl JsonSchema for Keeps {
    fn schema_name() -> Cow<'static, str> {
        "Keeps".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keep = generator.subschema_for::<Keep>();
        json_schema!({
            "description": "What stays of each group, in one way or in several.",
            "anyOf": [
                keep,
                { "type": "array", "items": keep, "minItems": 1 },
            ],
        })
    }
}

impl<'de> Deserialize<'de> for Archive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Archive, D::Error> {
        struct ArchiveVisitor;
        impl<'de> Visitor<'de> for ArchiveVisitor {
            type Value = Archive;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("`true`, or an array of table names")
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Archive, E> {
                Ok(Archive::All(value))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Archive, A::Error> {
                let mut tables = Vec::new();
                while let Some(table) = sequence.next_element()? {
                    tables.push(table);
                }
                Ok(Archive::Tables(tables))
            }
        }
        deserializer.deserialize_any(ArchiveVisitor)
    }
}

impl JsonSchema for Archive {
    fn schema_name() -> Cow<'static, str> {
        "Archive".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Which tables of a rule have an archive: all, none, or these.",
            "anyOf": [
                { "type": "boolean" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1, "uniqueItems": true },
            ],
        })
    }
}

impl JsonSchema for Names {
    fn schema_name() -> Cow<'static, str> {
        "Names".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "One text or several.",
            "anyOf": [
                { "type": "string" },
                { "type": "array", "items": { "type": "string" }, "minItems": 1, "uniqueItems": true },
            ],
        })
    }
}

impl JsonSchema for Values {
    fn schema_name() -> Cow<'static, str> {
        "Values".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "One value, several of one kind, or whether the column is NULL.",
            "anyOf": [
                { "type": "integer" },
                { "type": "string" },
                { "type": "array", "items": { "type": "integer" }, "minItems": 1, "uniqueItems": true },
                { "type": "object", "properties": { "null": { "type": "boolean" } }, "required": ["null"], "additionalProperties": false },
                { "type": "array", "items": { "type": "string" }, "minItems": 1, "uniqueItems": true },
            ],
        })
    }
}
