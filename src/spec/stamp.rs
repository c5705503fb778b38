//! How removal times are set anew.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::text::Text;
use super::values::Values;

/// How removal times can be recalculated: what a calculated one counts from, and which rows belong to one instance. The
/// options of `stamp` say the rest.
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
    /// Column of the root table that refers to its definition: `column [type]`, default bigint.
    #[serde(default)]
    #[schemars(with = "String", example = &"definition_id varchar")]
    pub per: Option<Text>,
    /// A table with the retention of the rows whose `per` refers to it: `table: key -> column unit`.
    #[serde(default)]
    #[schemars(
        with = "String",
        regex(pattern = r"^.+:.+->.+\s(days|hours|minutes|seconds)\s*$"),
        example = &"definition: id -> keep_days days"
    )]
    pub from: Option<Text>,
    /// Which rows belong to one row of the root table alone, not to its whole family: `table: column` with the column
    /// that refers to it, or `table: column -> other_table` if the row refers to one of another table of this list. If
    /// such a row refers to no root, it belongs to the family of that instance: for runs, holds, `purge` and stamps.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["task: instance_id", "comment: task_id -> task"])]
    pub own: Vec<Text>,
    /// Tables whose rows share the removal time of the rows that refer to them, by the `parents` of these, and their
    /// family, if neither refers to a root.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["blob"])]
    pub named: Vec<Text>,
    /// Columns that MySQL and MariaDB would set to the current time at every change of the row, and must not:
    /// `table: column, …`.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["task: updated_at"])]
    pub untouched: Vec<Text>,
    /// The same for rows of the rule that belong to no row of its root table, by the name for the option `of`;
    /// `untouched` above also applies to them.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, StampOf>")]
    pub of: BTreeMap<Text, Spanned<StampOf>>,
}

/// How removal times can be recalculated for rows that have another root table than the rule.
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
    /// Which of its rows, as in a rule. Default: every row.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Values>")]
    pub candidates: BTreeMap<Text, Spanned<Values>>,
    /// Column of the root table that refers to the root of a row's family; without it, each row is a root.
    #[serde(default)]
    #[schemars(with = "String", example = &"root_id")]
    pub family: Option<Text>,
    /// When a row of the root table began, of the type of the rule's `time`: `column [timestamp | timestamptz]`.
    #[serde(default)]
    #[schemars(with = "String", example = &"started_at")]
    pub start: Option<Text>,
    /// When it ended. If start and end are one instant, name the same column for both.
    #[serde(default)]
    #[schemars(with = "String", example = &"ended_at")]
    pub end_time: Option<Text>,
    /// Column of the root table that refers to its definition, or has a value of `by_value`: `column [type]`, default bigint.
    #[serde(default)]
    #[schemars(with = "String", example = &"kind varchar")]
    pub per: Option<Text>,
    /// A table with the retention of the rows whose `per` refers to it: `table: key -> column unit`.
    #[serde(default)]
    #[schemars(
        with = "String",
        regex(pattern = r"^.+:.+->.+\s(days|hours|minutes|seconds)\s*$"),
        example = &"definition: id -> keep_days days"
    )]
    pub from: Option<Text>,
    /// Retention by value of `per`, instead of a table.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>", extend("minProperties" = 1))]
    pub by_value: Option<Spanned<BTreeMap<Text, Text>>>,
    /// Which rows belong to one row of the root table: as above, or `table: column -> root.column` if they refer to
    /// another column than its key.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["message: job_id", "log: queue_id -> job.queue_id"])]
    pub own: Vec<Text>,
    /// Tables whose rows share the removal time of the rows that refer to them, by the `parents` of these.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["blob"])]
    pub named: Vec<Text>,
}
