//! What `windrow plan` answers: the document, as text and as JSON. Unlike the answers of an installation, it is made here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// What a backlog asks for.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub struct Report {
    /// Name of the spec.
    pub spec: String,
    /// The server, by the name for people.
    pub server: &'static str,
    /// Whether windrow is installed; otherwise only the indexes are known.
    pub installed: bool,
    /// Whether this account sees any of the tables.
    pub sees_tables: bool,
    /// Indexes that are still to be made.
    pub indexes: Vec<MissingIndex>,
    /// By rule.
    pub rules: Vec<RuleForecast>,
    /// What is deleted from each table.
    pub tables: Vec<TableForecast>,
    /// What only an installation knows.
    #[serde(flatten)]
    pub outlook: Option<Forecast>,
}

/// An index that is still to be made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MissingIndex {
    /// Its name.
    pub index: String,
    /// Its table.
    pub table: String,
    /// What it is for.
    pub why: String,
    /// How big it becomes at most, where that is known.
    pub bytes: Option<f64>,
    /// What makes it.
    pub statement: String,
}

/// When runs work, and what they do all together.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Forecast {
    /// The instant at which was counted.
    pub as_of: Option<String>,
    /// Whether runs may delete on this server.
    pub armed: Option<bool>,
    /// Why not; null if they may.
    pub not_armed: Option<String>,
    /// When runs work.
    pub schedule: WorkingHours,
    /// What is written to the logs.
    pub log: LogVolume,
    /// All rules together.
    pub total: Total,
}

/// When runs work.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct WorkingHours {
    /// The schedules.
    pub cron: String,
    /// The windows, as written.
    pub windows: Vec<String>,
    /// Seconds that one run may take.
    pub time_budget: f64,
    /// What people count: `night` or `day`.
    pub unit: &'static str,
}

/// What is written to the logs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LogVolume {
    /// PostgreSQL's.
    Wal {
        /// `WAL`.
        kind: &'static str,
        /// How much, where that is known.
        bytes: Option<f64>,
        /// Whether each page is written whole once.
        page_images: bool,
    },
    /// Those of MySQL and MariaDB.
    Binary {
        /// `binary log`.
        kind: &'static str,
        /// How much, where that is known.
        bytes: Option<f64>,
        /// Whether it is on.
        on: bool,
        /// Which columns of a row it has.
        row_image: &'static str,
        /// The log of InnoDB itself.
        redo_bytes: f64,
    },
}

impl Default for LogVolume {
    fn default() -> LogVolume {
        LogVolume::Wal {
            kind: "WAL",
            bytes: None,
            page_images: false,
        }
    }
}

/// All rules together.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Total {
    /// Families that may be deleted.
    pub families: f64,
    /// Their rows.
    pub rows: f64,
    /// The transactions for them.
    pub batches: f64,
    /// Seconds of work.
    pub work_seconds: f64,
    /// Seconds from now until nothing is left; none: never.
    pub done_in_seconds: Option<i64>,
    /// Days on which runs work until then.
    pub days: Option<i64>,
}

/// How a rule fares.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct RuleForecast {
    /// Its name.
    pub rule: String,
    /// Families that are due, where they could be counted.
    pub due_families: Option<f64>,
    /// Whether these are all.
    pub due_complete: bool,
    /// Up to how many was counted; of a rule of single rows, among how many of its rows.
    pub counted: i64,
    /// Families that may be deleted; none where nobody looked.
    pub families: Option<f64>,
    /// Their rows.
    pub rows: Option<f64>,
    /// The transactions for them.
    pub batches: Option<f64>,
    /// Whether every due family was looked at.
    pub exact: bool,
    /// Otherwise, how many were.
    pub sampled_families: f64,
    /// How these were chosen.
    pub sample: Option<&'static str>,
    /// By how much the rows may be off.
    pub error_percent: f64,
    /// Families that are kept, by reason.
    pub stays: BTreeMap<String, f64>,
    /// Families that would be due if a policy said so.
    pub without_policy: Option<i64>,
    /// When the oldest ended.
    pub oldest_end_time: Option<String>,
    /// Families that become due, a day.
    pub due_per_day: Option<f64>,
    /// How that is known.
    pub due_per_day_from: Option<InflowFrom>,
    /// Seconds of work.
    pub work_seconds: Option<f64>,
    /// Runs until nothing is left; none: never.
    pub runs: Option<i64>,
    /// Days on which they work.
    pub days: Option<i64>,
    /// Families left now, and after each of these days; for pictures.
    #[serde(skip)]
    pub left: Vec<f64>,
    /// Seconds from now.
    pub done_in_seconds: Option<i64>,
    /// What ends the runs.
    pub limit: Option<&'static str>,
    /// Families in one run.
    pub run_families: f64,
    /// Rows in one run; none: however many.
    pub run_rows: Option<f64>,
    /// What could not be found out.
    pub notes: Vec<String>,
    /// How fast it is.
    pub speed: Speed,
    /// What would make the backlog shorter.
    pub remedies: Vec<Remedy>,
    /// Families that runs can take a day.
    pub capacity_per_day: Option<f64>,
}

/// How it is known how many families become due.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum InflowFrom {
    /// By rows that are there already and become due within this time.
    Rows {
        /// Seconds from now on.
        rows_of_the_next_seconds: f64,
    },
    /// As somebody saw it.
    Seen(&'static str),
}

/// How fast it is.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Speed {
    /// Rows a second.
    pub rows_per_second: f64,
    /// How that is known.
    pub basis: Basis,
}

/// How it is known how fast it is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Basis {
    /// By runs.
    Measured {
        /// How many.
        measured_runs: f64,
        /// Whether somebody started them, and no schedule.
        by_hand: bool,
        /// Rests of scheduled runs that these did not have, in percent.
        scheduled_nice: f64,
    },
    /// By the setting that limits it.
    Rate {
        /// Rows a second.
        rate: f64,
    },
    /// Nobody knows.
    Assumed {
        /// What such a server does at least.
        assumed: f64,
        /// Rests, in percent.
        nice: f64,
        /// Rests that scheduled runs have by default, in percent.
        scheduled_nice: f64,
    },
}

impl Default for Basis {
    fn default() -> Basis {
        Basis::Assumed {
            assumed: 0.0,
            nice: 0.0,
            scheduled_nice: 0.0,
        }
    }
}

/// A change that would make a backlog shorter.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Remedy {
    /// The setting.
    pub change: &'static str,
    /// Its new value.
    pub to: To,
    /// Days on which runs work then.
    pub days: i64,
    /// Runs until nothing is left then.
    pub runs: Option<i64>,
}

/// The value of a remedy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum To {
    /// A number.
    Count(i64),
    /// A duration.
    Seconds(f64),
    /// Percent.
    Percent(f64),
    /// No limit.
    Off(&'static str),
    /// A schedule: hourly.
    Schedule(String),
}

/// What is deleted of a table.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TableForecast {
    /// The table.
    pub table: String,
    /// Rows that are deleted.
    pub rows: f64,
    /// Rows that it has, by the server's statistics.
    pub rows_in_table: Option<f64>,
    /// Which part of it is deleted.
    pub share: Option<f64>,
    /// Its size with indexes.
    pub bytes: Option<i64>,
    /// How much of that is free inside then.
    pub dead_bytes: Option<f64>,
    /// What is logged of it.
    pub log_bytes: Option<f64>,
}
