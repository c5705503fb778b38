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
    /// families, rows of one table by their time, and single rows. The limits of a run hold for each.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 8), extend("default" = 1), example = &2)]
    pub workers: Option<Spanned<i64>>,
    /// How long pg_cron keeps its rows of past starts of these runs, which it never deletes by itself; left out: for ever.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = PATTERN), example = &"30d")]
    pub cron_history: Option<Text>,
    /// Days after which archived rows go for good, whole runs at the end of a later one; left out: never.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = facts::ARCHIVE_DAYS.greatest), example = &365)]
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
    /// The key that children name: `column type`. Bytes are `binary` on MySQL and MariaDB, `bytea` on PostgreSQL: on the former, holds,
    /// purges and the ledger have such a key as the hexadecimal digits that HEX() writes. `numeric` is a number of any size, on MySQL and
    /// MariaDB a DECIMAL without a fraction.
    #[serde(default)]
    #[schemars(
        with = "String",
        regex(pattern = r#"^\s*("[^"]+"|\S+)\s+(smallint|integer|bigint|numeric|uuid|varchar|char|bytea|binary)\s*$"#),
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
    /// `column, column -> table(column, column)`; where that row has no key of its own, both must belong to the same parent by
    /// one of these columns, and go with that. With `optional` behind all of it, the edge is left out where a database lacks its
    /// column, as `optional` of a table says. A table of these parts says the same as a text.
    #[serde(default)]
    #[schemars(
        with = "Vec<Parent>",
        example = ["parent_id -> parent.id", "owner_id bigint -> owner.id unless 0", "audited_id -> parent.id restrict", "last_id -> parent.id set null", "noted_id -> parent.id cascade", "id -> parent.blob_id or alone"]
    )]
    pub parents: Vec<Spanned<Parent>>,
    /// With which of several parents a row goes.
    #[serde(default)]
    #[schemars(with = "With")]
    pub with: Option<Spanned<With>>,
    /// Which rows have nothing before them any more: `column = value(s)`, or `"column -> table.column" = value(s)` for a column
    /// of the row that an edge of `parents` names. Any other keeps the row that it belongs to, and its whole family
    /// (`REFERENCED`), until it is final; so does one in which the column is NULL, or which names no row that is there. Every row
    /// is final if left out.
    #[serde(default)]
    #[schemars(
        with = "BTreeMap<String, Values>",
        example = serde_json::json!({"missed": true, "callback_id -> callback.state": ["success", "failed"]})
    )]
    pub r#final: Option<Spanned<BTreeMap<Text, Spanned<Values>>>>,
    /// Which rows are kept when the row goes that they belong to: `column = value(s)`, all of which must hold. They stay as they
    /// are, and so does what belongs to them, until a rule deletes them whose root this table is. A row in which the column is
    /// NULL is not kept, unless that is what it says: `column = { null = true }`. No row is kept if left out.
    #[serde(default)]
    #[schemars(
        with = "BTreeMap<String, Values>",
        example = serde_json::json!({"dagster_event_type": ["ASSET_MATERIALIZATION", "ASSET_OBSERVATION"]})
    )]
    pub kept: Option<Spanned<BTreeMap<Text, Spanned<Values>>>>,
    /// Columns of `parents` (of several: as written there) that an index of the application leads with, so that none needs to be added.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub indexed: Vec<Text>,
    /// Triggers of the application that are accepted, by name: those that fire on DELETE, or on UPDATE of a column that is set.
    /// They are code that windrow cannot account for: whoever lists one has read what it does to each row. Any other is a
    /// warning of `check --database`.
    #[serde(default)]
    #[schemars(with = "Vec<String>", example = ["audit_deletions"])]
    pub triggers: Vec<Text>,
    /// Whether some versions of the application lack it. Where a database does, `windrow init --from` and `windrow install`
    /// leave it out, with the edges that lead to it and the rules whose root it is.
    #[serde(default)]
    #[schemars(with = "bool", extend("default" = false))]
    pub optional: Option<Spanned<bool>>,
}

/// With which of its parents a row goes that has several. A parent that is not there does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum With {
    /// With all of them: families that share such a row go together or not at all, and one whose row has a parent outside
    /// of the rule, or of no family, stays (`REFERENCED`) for as long as that is there.
    #[default]
    All,
    /// With the first of them that goes, whatever becomes of the others. A rule by removal time knows no other way: a row goes
    /// with the root of its family, or by its own time, and what else it names stays as long as it does.
    Any,
}
