//! The settings: the limits of a rule, and what else an operator may set while runs are in progress. The spec's ranges,
//! its JSON Schema,
//! the rows of the kernel (`templates/kernel/parts/settings.sql`) and the table in `docs/pace.md` come from here.

/// Where a range has no end.
pub const NO_END: i64 = 999_999_999_999_999_999;

/// A setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As specs, routines and documents call it.
    pub name: &'static str,
    /// What it counts.
    pub unit: &'static str,
    /// The least that it may be set to.
    pub least: i64,
    /// The most: [`NO_END`] where there is no end.
    pub greatest: i64,
    /// Whether 0 turns off what it is for.
    pub off: bool,
    /// What holds where the spec does not say.
    pub default: i64,
    /// The same in words, where it depends on more.
    pub depends: Option<&'static str>,
    /// The values allowed under `limits` of a rule; nothing: it is not such a limit.
    pub limit: Option<Limit>,
    /// A value that the JSON Schema shows.
    pub example: Option<i64>,
    /// Which servers have it.
    pub servers: Servers,
    /// What it means.
    pub meaning: &'static str,
}

/// Which servers have a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Servers {
    /// All of them.
    All,
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    InnoDb,
}

/// How a spec says a limit. Its author may go further than an operator: lint rules warn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number.
    Count {
        /// The least.
        least: i64,
        /// The most.
        greatest: i64,
    },
    /// A duration.
    Span {
        /// The least, in the unit of the setting.
        least: i64,
    },
}

impl Setting {
    const fn new(name: &'static str, unit: &'static str, least: i64, greatest: i64) -> Setting {
        Setting {
            name,
            unit,
            least,
            greatest,
            off: false,
            default: 0,
            depends: None,
            limit: None,
            example: None,
            servers: Servers::All,
            meaning: "",
        }
    }

    const fn or_off(self) -> Setting {
        Setting { off: true, ..self }
    }

    const fn default(self, default: i64) -> Setting {
        Setting { default, ..self }
    }

    const fn count(self, least: i64, greatest: i64) -> Setting {
        let limit = Some(Limit::Count { least, greatest });
        Setting { limit, ..self }
    }

    const fn span(self, least: i64) -> Setting {
        let limit = Some(Limit::Span { least });
        Setting { limit, ..self }
    }

    const fn example(self, example: i64) -> Setting {
        Setting {
            example: Some(example),
            ..self
        }
    }

    const fn means(self, meaning: &'static str) -> Setting {
        Setting { meaning, ..self }
    }

    /// Milliseconds in its unit, of a duration.
    pub fn milliseconds(&self) -> i64 {
        if self.unit == "seconds" { 1_000 } else { 1 }
    }

    /// What it may be set to, in words.
    pub fn takes(&self) -> String {
        let Setting { unit, .. } = self;
        let least = if self.off {
            "0 (off)".to_owned()
        } else {
            self.least.to_string()
        };
        match self.greatest {
            NO_END => format!("{least} or more {unit}"),
            greatest => format!("{least} to {greatest} {unit}"),
        }
    }
}

/// Families in one transaction.
pub const BATCH_FAMILIES: Setting = Setting::new("batch_families", "families", 1, 5_000)
    .default(200)
    .count(1, 100_000)
    .means("families in one transaction, at most, for rules that delete families");
/// Rows of one table in one transaction.
pub const BATCH_ROWS: Setting = Setting {
    depends: Some("20,000 on PostgreSQL, 5,000 on MySQL and MariaDB"),
    ..Setting::new("batch_rows", "rows", 1, 100_000)
        .count(1, 100_000)
        .example(10_000)
        .means("rows of one table in one transaction, at most, for rules that do not delete families; in slices of several \
             tables, rows with the same time go together")
};
/// Rows of whole families in one transaction.
pub const BATCH_FAMILY_ROWS: Setting = Setting::new("batch_family_rows", "rows", 1, 10_000_000)
    .default(100_000)
    .count(1, 10_000_000)
    .means("rows of all tables in one transaction, at most, for rules that delete families, or single rows with what \
         belongs to them; a larger family is a batch of its own, as no family is divided");
/// How long a statement waits for a lock.
pub const LOCK_TIMEOUT: Setting = Setting::new("lock_timeout", "milliseconds", 1, 60_000)
    .default(100)
    .span(1)
    .means("how long a statement waits for a lock (MySQL and MariaDB: whole seconds)");
/// How far a replica may be behind.
pub const MAX_REPLICA_LAG: Setting = Setting::new("max_replica_lag", "seconds", 0, 1_000_000)
    .or_off()
    .span(1)
    .example(30)
    .means("how far a replica may lag before a batch waits for it (MySQL and MariaDB: by the spec's `heartbeat`)");
/// The same in megabytes of WAL.
pub const MAX_REPLICA_WAL: Setting = Setting {
    servers: Servers::Postgres,
    ..Setting::new("max_replica_wal", "megabytes", 0, 1_000_000_000)
        .or_off()
        .count(1, 1_000_000_000)
        .example(512)
        .means("the same in megabytes of WAL, for replicas and replication slots; PostgreSQL only")
};
/// Transactions that a member of a cluster may have yet to apply.
pub const MAX_CLUSTER_QUEUE: Setting = Setting {
    servers: Servers::InnoDb,
    ..Setting::new("max_cluster_queue", "transactions", 0, 1_000_000_000)
        .or_off()
        .count(1, 1_000_000_000)
        .example(1_000)
        .means("how many transactions a member of a Galera cluster or of group replication may have yet to apply before a \
             batch waits; MySQL and MariaDB only")
};
/// Other sessions that may be active.
pub const MAX_ACTIVE_SESSIONS: Setting =
    Setting::new("max_active_sessions", "sessions", 0, 1_000_000)
        .or_off()
        .count(1, 1_000_000)
        .example(40)
        .means("how many other sessions may be active before a batch waits");
/// Transactions that an old snapshot may keep from being cleaned up behind.
pub const MAX_OLD_SNAPSHOT: Setting = Setting::new("max_old_snapshot", "transactions", 0, 1_000_000_000)
    .or_off()
    .count(1, 1_000_000_000)
    .example(1_000_000)
    .means("for how many transactions an old snapshot may prevent cleanup before a batch waits: the age of the oldest \
         snapshot (PostgreSQL), the length of the history list (MySQL, MariaDB)");
/// What holds for rows without a time of their own.
pub const FALLBACK_RETENTION: Setting = Setting {
    depends: Some("the fallback's retention"),
    ..Setting::new("fallback_retention", "seconds", 0, 31_557_600_000)
        .means("how long rows without an expiry time are kept by an `expiry` rule with a `fallback`; 0: forever")
};
/// How long a run may take.
pub const TIME_BUDGET: Setting = Setting::new("time_budget", "seconds", 1, 86_400)
    .default(1_800)
    .span(1)
    .means("how long a run, or a stamp, may take; the first rule's value applies, and as a setting only the first rule has it. \
         The procedure checks it before every batch. On PostgreSQL a shorter `statement_timeout` of the session ends it sooner, \
         after 80 % of that");
/// Days that the ledger remembers.
pub const LEDGER_DAYS: Setting = Setting::new("ledger_days", "days", 1, 36_500)
    .default(400)
    .means("how long the ledger and the log of settings are kept; only a setting, of the first rule. On PostgreSQL an \
         operator cannot make it shorter than it is. On all servers its own changes are kept in `setting_log` permanently");
/// Days after which archived rows are deleted.
pub const ARCHIVE_DAYS: Setting = Setting {
    depends: Some("off: forever"),
    ..Setting::new("archive_days", "days", 0, 36_500)
        .or_off()
        .means("how long [the archive](archive.md) keeps the rows of a run; in the spec next to `name`; as a setting, it \
             belongs to the first rule that archives")
};

/// Every setting, in the order in which lists show them.
pub const SETTINGS: [Setting; 22] = [
    BATCH_FAMILIES,
    BATCH_ROWS,
    BATCH_FAMILY_ROWS,
    Setting::new("run_families", "families", 1, NO_END)
        .default(10_000)
        .count(1, 1_000_000_000)
        .means("families of the rule in one run. A rule without families counts rows of its root table: `age`, `expiry`, `orphan`, \
             `keep-last`, removal times of one table or with `unit = \"window\"`. A rule of partitions counts partitions"),
    Setting::new("run_rows", "rows", 0, NO_END)
        .or_off()
        .count(1, 1_000_000_000_000)
        .example(1_000_000)
        .means("rows of the rule after which a run starts no further batch; the last batch may exceed it"),
    TIME_BUDGET,
    LOCK_TIMEOUT,
    Setting::new("retries", "times", 0, 100)
        .default(3)
        .count(0, 100)
        .means("how often a batch that met a lock is retried before it is halved"),
    Setting::new("target_batch", "milliseconds", 0, 600_000)
        .or_off()
        .span(1)
        .example(500)
        .means("how long a batch should take: its size follows, up to `batch_families` or `batch_rows`"),
    Setting::new("rate", "rows per second", 0, 1_000_000_000)
        .or_off()
        .count(1, 1_000_000_000)
        .example(20_000)
        .means("rows per second, averaged over a batch and the rest after it"),
    Setting::new("nice", "percent", 0, 10_000)
        .or_off()
        .count(0, 10_000)
        .example(100)
        .means("how long to rest after a batch, in percent of its duration"),
    Setting::new("scheduled_nice", "percent", 0, 100_000)
        .or_off()
        .default(15_000)
        .count(0, 100_000)
        .means("the same for scheduled runs, if neither `rate` nor `nice` sets their speed, so that the application is not \
             slowed down; at most a minute"),
    Setting::new("back_off_max", "seconds", 0, 604_800)
        .or_off()
        .default(1_800)
        .span(0)
        .means("the longest back-off of scheduled runs after runs that found nothing left: 10 seconds after the first, \
             doubled after each further one; of several rules the shortest above 0 applies, so that it is off only where all have 0"),
    Setting::new("suspend_after", "failed runs", 0, 100)
        .or_off()
        .default(5)
        .count(0, 100)
        .means("how many scheduled runs in a row may end with an error before no further one starts; of several rules the \
             smallest above 0 applies, so that it is off only where all have 0"),
    MAX_REPLICA_LAG,
    MAX_REPLICA_WAL,
    MAX_CLUSTER_QUEUE,
    MAX_ACTIVE_SESSIONS,
    MAX_OLD_SNAPSHOT,
    FALLBACK_RETENTION,
    LEDGER_DAYS,
    ARCHIVE_DAYS,
];

/// The setting that a spec may say among the `limits` of a rule by this name.
pub fn limit(name: &str) -> Option<&'static Setting> {
    SETTINGS
        .iter()
        .find(|setting| setting.name == name && setting.limit.is_some())
}
