//! Facts that several parts name, each in one place: limits, the reasons for which rows stay.

mod limits;
mod reasons;

pub use limits::{
    BACK_OFF_MAX, BATCH_FAMILIES, BATCH_ROWS, Count, LOCK_TIMEOUT, MAX_ACTIVE_SESSIONS,
    MAX_OLD_SNAPSHOT, MAX_REPLICA_LAG, MAX_REPLICA_WAL, NICE, RATE, RETRIES, RUN_FAMILIES,
    RUN_ROWS, SUSPEND_AFTER, Span, TARGET_BATCH, TIME_BUDGET,
};
pub use reasons::{REASONS, Reason, meaning};
