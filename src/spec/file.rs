//! The file as a whole, and its tables.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::duration::PATTERN;
use super::edge::Parent;
use super::rule::Rule;
use super::text::Text;
use super::values::Names;
use super::values::Values;
use crate::dialect::Dialect;
use crate::facts;

/// A windrow spec: the tables of one managed system, what belongs to what, and when to delete what.
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
    /// One line about the managed system; default: the name.
    #[serde(default)]
    #[schemars(with = "String", example = &"Apache DolphinScheduler 3.4")]
    pub title: Option<Text>,
    /// The servers that the managed system runs on; default: all.
    #[serde(default)]
    #[schemars(with = "Vec<Dialect>")]
    pub dialects: Option<Spanned<Vec<Spanned<Dialect>>>>,
    /// The servers on which table and column names are in upper case, whatever their case in this file.
    #[serde(default)]
    #[schemars(with = "Vec<Dialect>", example = ["mysql", "mariadb"])]
    pub upper_case: Option<Spanned<Vec<Spanned<Dialect>>>>,
    /// Schema of the application's tables on PostgreSQL.
    #[serde(default)]
    #[schemars(with = "String", extend("default" = "public"))]
    pub schema: Option<Text>,
    /// Database of the application's tables on MySQL and MariaDB; default: the name of the spec.
    #[serde(default)]
    #[schemars(with = "String", example = &"dolphinscheduler")]
    pub database: Option<Text>,
    /// IANA time zone in which the application writes its zone-less timestamps.
    #[serde(default)]
    #[schemars(with = "String", extend("default" = "UTC"), example = &"Europe/Berlin")]
    pub time_zone: Option<Text>,
    /// When scheduled runs start: five cron fields in UTC, or `N seconds` (pg_cron 1.5 and later); of several, each becomes its
    /// own job. pg_cron counts by the clock of `cron.timezone`, which is GMT unless the server says otherwise.
    #[serde(default)]
    #[schemars(with = "Names", extend("default" = "7 * * * *"), example = &"30 seconds")]
    pub schedule: Option<Spanned<Names>>,
    /// How many workers there are, each with its own job for every line of the schedule: workers that run at the same
    /// time share families, rows of one table by their time, and single rows. The limits of a run apply to each.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 8), extend("default" = 1), example = &2)]
    pub workers: Option<Spanned<i64>>,
    /// How long pg_cron keeps its records of past starts of these runs, which it never deletes by itself; default: forever.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = PATTERN), example = &"30d")]
    pub cron_history: Option<Text>,
    /// Days after which archived rows are permanently deleted, a whole run's at the end of a later run; default: never.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = facts::ARCHIVE_DAYS.greatest), example = &365)]
    pub archive_days: Option<Spanned<i64>>,
    /// When scheduled runs may work: `always`, `never`, or windows like `mon-fri 22:00-06:00 Europe/Berlin`. Days are
    /// those on which a window begins; the start is inclusive, the end exclusive, and the same time twice is 24 hours.
    /// The default time zone is UTC.
    #[serde(default)]
    #[schemars(with = "Names", extend("default" = "always"), example = &"mon-fri 22:00-06:00 Europe/Berlin")]
    pub windows: Option<Spanned<Names>>,
    /// How far replicas have got, for `max_replica_lag`: MySQL and MariaDB do not know their replicas. `windrow`: the command
    /// `windrow heartbeat` notes it in the control database. Or a column of yours, `table.column` or `schema.table.column`,
    /// in which each replica has its own row with the instant, in UTC, up to which it has replicated; windrow does not write it.
    #[serde(default)]
    #[schemars(with = "String", example = &"windrow")]
    pub heartbeat: Option<Text>,
    /// The managed tables.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Table>")]
    pub tables: BTreeMap<Text, Table>,
    /// Tables that seem to belong to a managed table and are left alone, each with the reason.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub ignore: BTreeMap<Text, Text>,
    /// What to delete: the rules, in the order in which a run applies them.
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
    /// The key that children refer to: `column type`. Bytes are `binary` on MySQL and MariaDB, `bytea` on PostgreSQL: on
    /// MySQL and MariaDB, holds, purges and the ledger have such a key as the hexadecimal digits that HEX() writes.
    /// `numeric` is a number of any size, on MySQL and
    /// MariaDB a DECIMAL without a fraction.
    #[serde(default)]
    #[schemars(
        with = "String",
        regex(pattern = r#"^((^|,)\s*("[^"]+"|[^\s,]+)\s+(smallint|integer|bigint|numeric|uuid|varchar|char|bytea|binary)\s*)+$"#),
        example = &"id integer"
    )]
    pub key: Option<Text>,
    /// Further unique keys that children refer to: `column type, column type`.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["dag_id varchar, run_id varchar"])]
    pub unique: Vec<Text>,
    /// What a row belongs to: `column [type] -> table.column [unless value]`. With `restrict` at the end it does not
    /// belong to that row but keeps it, and its whole family, as long as it exists. With `set null` it is kept when that
    /// row is deleted, and the column is first set to NULL. With `cascade` a batch on PostgreSQL leaves the row to its
    /// foreign key, if that deletes it, and counts what the key deleted. With `or alone` the other row refers to this
    /// one, by any of its columns, and a row that none refers to is no orphan. For a key of several columns, write
    /// `column, column -> table(column, column)`; if that row has no key of its own, both must belong to the same parent
    /// by one of these columns, and are deleted with it. With `optional` at the very end, the edge is left out if a
    /// database lacks its column, like `optional` of a table. A table of these parts means the same as a string.
    #[serde(default)]
    #[schemars(
        with = "Vec<Parent>",
        example = ["parent_id -> parent.id", "owner_id bigint -> owner.id unless 0", "audited_id -> parent.id restrict", "last_id -> parent.id set null", "noted_id -> parent.id cascade", "id -> parent.blob_id or alone"]
    )]
    pub parents: Vec<Spanned<Parent>>,
    /// With which of several parents a row is deleted.
    #[serde(default)]
    #[schemars(with = "With")]
    pub with: Option<Spanned<With>>,
    /// Which rows are finished: `column = value(s)`, or `"column -> table.column" = value(s)` for a column of the row
    /// that an edge of `parents` refers to. Any other row keeps the row that it belongs to, and its whole family
    /// (`REFERENCED`), until it is final; so does a row in which the column is NULL, or which refers to no existing row.
    /// Default: every row is final.
    #[serde(default)]
    #[schemars(
        with = "BTreeMap<String, Values>",
        example = serde_json::json!({"missed": true, "callback_id -> callback.state": ["success", "failed"]})
    )]
    pub r#final: Option<Spanned<BTreeMap<Text, Spanned<Values>>>>,
    /// Which rows are kept when the row that they belong to is deleted: `column = value(s)`, all of which must hold.
    /// They are left unchanged, and so is what belongs to them, until a rule with this table as its root deletes them. A
    /// row in which the column is NULL is not kept, unless the condition is `column = { null = true }`. Default: no row is kept.
    #[serde(default)]
    #[schemars(
        with = "BTreeMap<String, Values>",
        example = serde_json::json!({"dagster_event_type": ["ASSET_MATERIALIZATION", "ASSET_OBSERVATION"]})
    )]
    pub kept: Option<Spanned<BTreeMap<Text, Spanned<Values>>>>,
    /// Columns of `parents` (several: as written there) that lead an index of the application, so that none needs to be added.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub indexed: Vec<Text>,
    /// Accepted triggers of the application, by name: those that fire on DELETE, or on UPDATE of a column that windrow
    /// sets. They are code that windrow cannot account for: list one only after reading what it does to each row. Any
    /// other is a warning of `check --database`.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["audit_deletions"])]
    pub triggers: Vec<Text>,
    /// Whether some versions of the application lack it. If a database does, `windrow init --from` and `windrow install`
    /// leave it out, with the edges that lead to it and the rules that have it as their root.
    #[serde(default)]
    #[schemars(with = "bool", extend("default" = false))]
    pub optional: Option<Spanned<bool>>,
}

/// With which of its parents a row with several is deleted. A parent that does not exist does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum With {
    /// With all of them: families that share such a row are deleted together or not at all, and a family whose row has a
    /// parent outside the rule, or in no family, is kept (`REFERENCED`) as long as that parent exists.
    #[default]
    All,
    /// With the first of them that is deleted, whatever becomes of the others. A rule by removal time knows no other way: a row is deleted
    /// with the root of its family, or by its own time, and what else it names is kept as long as it does.
    Any,
}
