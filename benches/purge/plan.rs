//! What is to be measured, and how often.

use std::env;
use std::time::Duration;

/// How often a part is measured.
pub(crate) const ROUNDS: usize = 3;

/// Rounds where a bar is near: what the same run takes differs by a quarter where others use the machine, too.
pub(crate) const PAIRS: usize = 7;

/// How long the live load is watched without a purge, per round.
pub(crate) const QUIET: Duration = Duration::from_secs(8);

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
