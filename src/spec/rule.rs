//! The rules: who is eligible, when, how much at once.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::duration::PATTERN;
use super::keep::Keeps;
use super::limits::Limits;
use super::stamp::Stamp;
use super::text::Text;
use super::values::{Archive, Values};

/// What to delete: a root table, which rows, when, how much.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of a rule's fields")]
pub struct Rule {
    /// How rows become due.
    #[schemars(with = "Strategy")]
    pub strategy: Option<Spanned<Strategy>>,
    /// The table of the roots.
    #[schemars(with = "String")]
    pub root: Option<Text>,
    /// Which rows of the root table are roots: `column = value(s)`, or `column = { null = true }` for rows in which it
    /// is NULL. Default: every row.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Values>")]
    pub candidates: BTreeMap<Text, Spanned<Values>>,
    /// Which rows of the root table are final: `column = value(s)`, or `column = { null = false }` for rows in which it is
    /// not NULL. In a rule of partitions it may be left out; a row that is not final keeps its partition.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Values>", extend("minProperties" = 1))]
    pub r#final: Option<Spanned<BTreeMap<Text, Spanned<Values>>>>,
    /// SQL that must also be true, in addition to `final`, for a row to be final (`end-time`, `partition`), or, in addition to `candidates`, for
    /// the rule to apply to a row (`age`, `expiry`, `orphan`, `keep-last`): one condition on the row `{root}`;
    /// `{schema}` is the schema or database of the application's tables. NULL is not true: the row is kept. windrow does
    /// not read it, and says so (`raw-condition`).
    #[serde(default)]
    #[schemars(with = "String", example = &"{root}.paid >= {root}.owed")]
    pub where_sql: Option<Text>,
    /// When a row of the root table ended: `column [timestamp | timestamptz | date | epoch-s | epoch-ms | epoch-us]`. A
    /// date means the end of that day in the spec's `time_zone`. A number counts from the beginning of 1970 in UTC,
    /// and means no time if it is not above 0. `else other_column` is used where the first is NULL; where both are, the
    /// row is undated. MariaDB has no index for it. `max(table.column)` is the time at which the last of its rows of
    /// another table ended: unknown while the column is NULL in one of them, or if there are none. For PostgreSQL, and
    /// only with `start_time`. In a rule of partitions it may be left out, and `max` is none; a row that ended too recently, or has no
    /// end, keeps its partition.
    #[serde(default)]
    #[schemars(
        with = "String",
        example = &"end_time",
        example = &"ended_at timestamptz",
        example = &"end_time epoch-ms",
        example = &"ended_at timestamptz else updated_at",
        example = &"max(step.completed_at) else updated_at"
    )]
    pub end_time: Option<Text>,
    /// When a row of the root table began: `column [timestamp | timestamptz]`. If `end_time` is in another table, roots
    /// are found by this column; a root that began after the cutoff cannot have ended before it.
    #[serde(default)]
    #[schemars(with = "String", example = &"created_at")]
    pub start_time: Option<Text>,
    /// What links a member to its descendants: `table: parent_column -> child_column` for a relation table,
    /// `root: parent_column -> key` if rows of the root table refer to their parent, and `root: column ->
    /// table.parent_column` if they refer to a row of another table that belongs to their parent.
    #[serde(default)]
    #[schemars(
        with = "Vec<String>",
        inner(regex(pattern = r":.+->")),
        example = ["relation: parent_instance_id -> instance_id", "instance: parent_id -> id"],
        example = ["flow_run: parent_task_run_id -> task_run.flow_run_id"]
    )]
    pub hierarchy: Vec<Text>,
    /// What happens to a family that shares a member with another.
    #[serde(default)]
    #[schemars(with = "Shared", extend("default" = "closed"))]
    pub shared: Option<Spanned<Shared>>,
    /// Which column says when a row is deleted (`removal-time`, `expiry`) or how old it is (`age`, `orphan`, `keep-last`), or
    /// by which the table is partitioned (`partition`):
    /// `column [timestamp | timestamptz | date | epoch-s | epoch-ms | epoch-us]`. A date means the end of that day.
    /// A number counts from the beginning of 1970 in UTC, and means no time if it is not above 0. A removal time is neither,
    /// and no table is partitioned by a number here.
    #[serde(default)]
    #[schemars(with = "String", example = &"removal_time", example = &"event_time epoch-ms")]
    pub time: Option<Text>,
    /// How far ahead partitions are made (`partition`), as `7d`: before a run drops anything, it makes range partitions until
    /// the newest one ends later than that. How wide they are, it takes from the newest ones that are there. Default: none are made.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = PATTERN), example = &"7d")]
    pub ahead: Option<Text>,
    /// The tables of a rule by removal time or of partitions, in the order in which their rows are deleted: `table`, or
    /// `table: column, …` with the columns that refer to the root of a row's family.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["task: root_instance_id", "instance: root_instance_id"])]
    pub tables: Vec<Text>,
    /// What one transaction of a rule by removal time deletes: whole families, if `tables` says which one each row belongs to.
    #[serde(default)]
    #[schemars(with = "Unit", extend("default" = "family"))]
    pub unit: Option<Spanned<Unit>>,
    /// Of a rule of partitions: how the rows of a partition that is dropped are known.
    #[serde(default)]
    #[schemars(with = "Rows", extend("default" = "counted"))]
    pub rows: Option<Spanned<Rows>>,
    /// Foreign keys of other tables; a row that they refer to is kept: `other_table: column -> table`. In a rule of
    /// partitions: columns of other tables without a foreign key.
    #[serde(default)]
    #[schemars(
        with = "Vec<String>",
        inner(regex(pattern = r":.+->")),
        example = ["variable: blob_id -> blob"]
    )]
    pub references: Vec<Text>,
    /// When rows without an expiry time are deleted; default: never.
    #[serde(default)]
    #[schemars(with = "Fallback")]
    pub fallback: Option<Spanned<Fallback>>,
    /// What must exist for a row of an `orphan` rule to be kept, starting at the row: `column -> table.column [unless
    /// value]`, or `column, column -> table(column, column)`; each further entry starts at the row that the previous one
    /// refers to. Default: the parents of the table.
    #[serde(default)]
    #[schemars(
        with = "Vec<String>",
        inner(regex(pattern = r"->.+(\..+|\(.+\))")),
        example = ["asset_id -> asset.id", "name, uri -> asset_active(name, uri)"]
    )]
    pub needs: Vec<Text>,
    /// Orphans are deleted however young they are; for a table that has no time.
    #[serde(default)]
    #[schemars(with = "bool", extend("default" = false))]
    pub at_once: Option<Spanned<bool>>,
    /// What is kept whatever its age: the newest roots of each group with their families, or the newest rows
    /// (`keep-last`). For families, an array of these keeps what any of them keeps.
    #[serde(default)]
    #[schemars(with = "Keeps")]
    pub keep: Option<Spanned<Keeps>>,
    /// How long ended families are kept.
    #[serde(default)]
    #[schemars(with = "Retention")]
    pub retention: Option<Spanned<Retention>>,
    /// How removal times can be recalculated, for a rule by removal time.
    #[serde(default)]
    #[schemars(with = "Stamp")]
    pub stamp: Option<Spanned<Stamp>>,
    /// How much a run deletes at once, and how fast.
    #[serde(default)]
    #[schemars(extend("default" = {}))]
    pub limits: Limits,
    /// Files outside the database that deleted rows refer to.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// Which rows are copied into archive tables in the transaction that deletes them: `true` for those of every table
    /// of the rule, or the names of its tables. Default: none.
    #[serde(default)]
    #[schemars(with = "Archive")]
    pub archive: Option<Spanned<Archive>>,
    /// Whether triggers refuse a row whose parent is deleted or being deleted: on every table whose rows are deleted
    /// with the families of an `end-time` rule. For schemas without foreign keys; it costs a lookup of the parent for
    /// each inserted row.
    #[serde(default)]
    #[schemars(with = "bool", extend("default" = false))]
    pub orphan_guard: Option<Spanned<bool>>,
    /// Whether some versions of the application have no such rows. If a database lacks a table or a column that the rule
    /// names, `windrow init --from` and `windrow install` leave the rule out: it deletes nothing.
    #[serde(default)]
    #[schemars(with = "bool", extend("default" = false))]
    pub optional: Option<Spanned<bool>>,
    /// Other names for the figures of the two documents.
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
    /// Rows whose stored removal time has passed, in several tables.
    RemovalTime,
    /// Rows of one table, a retention after their time.
    Age,
    /// Whole range partitions of one table, or on PostgreSQL of several by the same time, a retention after their upper bound.
    Partition,
    /// Rows of one table whose own expiry time has passed.
    Expiry,
    /// Rows of one table that refer to a missing row.
    Orphan,
    /// Rows of one table, except the newest of each group.
    KeepLast,
}

impl Strategy {
    /// As a spec writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::EndTime => "end-time",
            Strategy::RemovalTime => "removal-time",
            Strategy::Age => "age",
            Strategy::Partition => "partition",
            Strategy::Expiry => "expiry",
            Strategy::Orphan => "orphan",
            Strategy::KeepLast => "keep-last",
        }
    }
}

/// What one transaction of a rule by removal time deletes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A slice of removal time: every row is deleted when its own removal time has passed, whether or not that of its
    /// root has. Cheaper, and right only if all rows of a family share one.
    Window,
    /// Whole families: they are deleted when the removal time of their root has passed, whatever that of their other
    /// rows is; no row is deleted whose root exists and is kept. Rows of no family are deleted by their own time, in slices.
    #[default]
    Family,
}

/// How the rows of a partition that is dropped are known. What keeps a partition is judged by its rows either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rows {
    /// They are counted while nobody can write to them: the partition is read once.
    #[default]
    Counted,
    /// By the statistics of the server, and its size; where it has none yet, they are counted. `run_partition` says which.
    Estimated,
}

/// What happens to a family that shares a member with another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shared {
    /// Families that share a member are deleted together or not at all.
    #[default]
    Closed,
    /// Each root is decided alone, whoever else links to its members.
    Literal,
}

/// How long ended families are kept. Durations are like `30d`, `1d12h` or `P30D`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ default = \"30d\" }`"
)]
pub struct Retention {
    /// Retention unless a policy sets another; policies for which nobody named one follow it.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = PATTERN), example = &"30d", example = &"P30D")]
    pub default: Option<Text>,
    /// No policy, option or run can go below this; only `purge --force` can, which is told the keys. A rule by
    /// removal time without `end_time` has none.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = PATTERN), extend("default" = "7d"))]
    pub minimum: Option<Text>,
    /// Added to every retention.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = PATTERN), extend("default" = "1d"))]
    pub safety_lag: Option<Text>,
    /// What a day is, if a retention is counted in days.
    #[serde(default)]
    #[schemars(with = "Days", extend("default" = "24h"))]
    pub days: Option<Spanned<Days>>,
    /// Column of the root table for which policies are set: `column [type]`, default bigint. `from` and `by_value` also
    /// use this column.
    #[serde(default)]
    #[schemars(with = "String", example = &"project_code bigint")]
    pub per: Option<Text>,
    /// Only scopes with an enabled policy row are cleaned.
    #[serde(default)]
    #[schemars(with = "bool", extend("default" = false))]
    pub opt_in: Option<Spanned<bool>>,
    /// A table with the retention of the rows whose `per` refers to it: `table: key -> column unit`. NULL there means
    /// the default, or forever if there is none.
    #[serde(default)]
    #[schemars(
        with = "String",
        regex(pattern = r"^.+:.+->.+\s(days|hours|minutes|seconds)\s*$"),
        example = &"definition: id -> keep_days days"
    )]
    pub from: Option<Text>,
    /// Retention by value of `per`. Any other value means the default, or forever if there is none.
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
    /// From a time of day in the spec's `time_zone` to the same time on the next calendar day.
    #[serde(rename = "calendar")]
    Calendar,
}

/// When rows without an expiry time are deleted.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ time = \"updated_at\", retention = { default = \"30d\" } }`"
)]
pub struct Fallback {
    /// The column from which the retention is counted: `column [timestamp | timestamptz]`.
    #[schemars(with = "String", example = &"updated_at timestamptz")]
    pub time: Text,
    /// How long after it; a default of `0d` turns this off, and rows without an expiry time are kept.
    #[schemars(with = "Retention")]
    pub retention: Option<Spanned<Retention>>,
}

/// A file that a deleted row refers to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table like `{ table = \"job\", path = \"log_path\" }`"
)]
pub struct Artifact {
    /// Table of the rows that refer to files.
    #[schemars(with = "String")]
    pub table: Text,
    /// Column with the host; default: the file is not tied to a host.
    #[serde(default)]
    #[schemars(with = "String")]
    pub host: Option<Text>,
    /// Column with the path.
    #[schemars(with = "String")]
    pub path: Text,
}

/// Other names for figures, so that a document uses the terms of the managed system.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_is_called_what_a_spec_writes() {
        for strategy in [
            Strategy::EndTime,
            Strategy::RemovalTime,
            Strategy::Age,
            Strategy::Partition,
            Strategy::Expiry,
            Strategy::Orphan,
            Strategy::KeepLast,
        ] {
            let read = serde_json::from_value(strategy.name().into()).ok();
            assert_eq!(read, Some(strategy), "{}", strategy.name());
        }
    }
}
