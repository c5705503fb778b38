//! The limits of a rule: what a spec may say, and what holds where it says nothing.

/// A limit that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// What holds where the spec does not say; 0 under a `least` of 1: no limit.
    pub default: i64,
    /// The least that a spec may say.
    pub least: i64,
    /// The most.
    pub greatest: i64,
}

/// A limit that is a duration; all are milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// What holds where the spec does not say; 0 under a `least` above it: no limit.
    pub default: i64,
    /// What it is counted in.
    pub unit: i64,
    /// The least that a spec may say.
    pub least: i64,
}

const SECOND: i64 = 1_000;

const fn count(default: i64, least: i64, greatest: i64) -> Count {
    Count {
        default,
        least,
        greatest,
    }
}

const fn span(default: i64, unit: i64, least: i64) -> Span {
    Span {
        default,
        unit,
        least,
    }
}

/// Families in one transaction.
pub const BATCH_FAMILIES: Count = count(200, 1, 100_000);
/// Rows of one table in one transaction; what holds otherwise depends on the rule and the server.
pub const BATCH_ROWS: Count = count(1, 1, 100_000);
/// Families in one run.
pub const RUN_FAMILIES: Count = count(10_000, 1, 1_000_000_000);
/// Rows after which a run takes no further batch.
pub const RUN_ROWS: Count = count(0, 1, 1_000_000_000_000);
/// How long one run may take.
pub const TIME_BUDGET: Span = span(1_800 * SECOND, SECOND, SECOND);
/// How long a statement waits for a lock. For PostgreSQL 0 means to wait for ever.
pub const LOCK_TIMEOUT: Span = span(100, 1, 1);
/// How often a batch is tried again before it is halved.
pub const RETRIES: Count = count(3, 0, 100);
/// How long a batch should take.
pub const TARGET_BATCH: Span = span(0, 1, 1);
/// Rows per second.
pub const RATE: Count = count(0, 1, 1_000_000_000);
/// Rest after a batch, in percent of its time.
pub const NICE: Count = count(0, 0, 10_000);
/// How far a replica may be behind.
pub const MAX_REPLICA_LAG: Span = span(0, SECOND, SECOND);
/// The same in megabytes of WAL.
pub const MAX_REPLICA_WAL: Count = count(0, 1, 1_000_000_000);
/// Other sessions that may be active.
pub const MAX_ACTIVE_SESSIONS: Count = count(0, 1, 1_000_000);
/// Transactions that an old snapshot may keep from being cleaned up behind.
pub const MAX_OLD_SNAPSHOT: Count = count(0, 1, 1_000_000_000);
/// How long scheduled runs pause at most after runs that found nothing left.
pub const BACK_OFF_MAX: Span = span(1_800 * SECOND, SECOND, 0);
/// Scheduled runs in a row that may end with an error; 0: however many.
pub const SUSPEND_AFTER: Count = count(5, 0, 100);
