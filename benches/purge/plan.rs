//! What is to be measured, and how often.

use std::env;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use windrow::dialect::Dialect;

/// How often a part is measured.
pub(crate) const ROUNDS: usize = 3;

/// Rounds where a bar is near: what the same run takes differs by a quarter where others use the machine, too.
pub(crate) const PAIRS: usize = 7;

/// How long the live load is watched without a purge, per round.
pub(crate) const QUIET: Duration = Duration::from_secs(8);

/// How long the live load is watched during a scheduled run, and as long without one, per round: so long that how a run
/// begins and ends does not weigh more than it does in one of half an hour.
pub(crate) const PACED: Duration = Duration::from_secs(60);

/// What a row may cost at the end of a run beside what it costs at the beginning.
pub(crate) const FLAT_BAR: f64 = 1.1;

/// The 99th percentile of a live load during a purge at full speed beside that without one, on two cores: behind the session of a
/// run on MySQL and MariaDB another thread clears away.
pub(crate) fn live_bar(dialect: Dialect) -> f64 {
    match dialect {
        Dialect::Postgres => 4.0,
        Dialect::Mysql | Dialect::Mariadb => 12.0,
    }
}

/// The same during a scheduled run with the pace that it has by default.
pub(crate) const PACED_BAR: f64 = 1.5;

/// How often the catalog is looked at to measure one look.
pub(crate) const LOOKS: u32 = 500;

pub(crate) const CATALOG: &str = "the locks and looks at the catalog";

/// What they may take of a batch.
pub(crate) const CATALOG_BAR: f64 = 0.03;

pub(crate) const SERVERS: [&str; 3] = ["postgres", "mysql", "mariadb"];

/// What is to be measured.
pub(crate) struct Plan {
    servers: Vec<String>,
    parts: Vec<String>,
}

impl Plan {
    pub(crate) fn from_environment() -> Self {
        let only = env::var("WINDROW_BENCH_ONLY").unwrap_or_default();
        let (servers, parts) = only
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .partition(|name| SERVERS.contains(&name.as_str()));
        Self { servers, parts }
    }

    pub(crate) fn has(&self, server: &str) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|name| name == server)
    }

    pub(crate) fn wants(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|name| name == part)
    }
}

/// Writes to the disk what it has not got yet: a fresh copy of the data is no part of what is measured.
pub(crate) fn settle() -> Result<()> {
    ensure!(Command::new("sync").status()?.success(), "cannot sync");
    Ok(())
}

/// What a schedule would call, with a budget of time; `as_of` is an ISO 8601 text.
pub(crate) fn scheduled(control: &str, as_of: &str) -> String {
    let options = json!({
        "trigger": "SCHEDULED", "run_families": 1_000_000_000, "time_budget": format!("{}s", PACED.as_secs()), "as_of": as_of,
    });
    format!("CALL {control}.run('{options}')")
}

/// The rows that such a run deleted; an error if it ended before its time.
pub(crate) fn deleted(run: &Value) -> Result<i64> {
    ensure!(run["status"] == "stopped", "the run ended with {run}");
    run["rules"][0]["rows"].as_i64().context("no rows")
}
