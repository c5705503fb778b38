//! Facts that several parts name, each in one place: settings, the reasons for which families are kept, how runs end.

mod outcomes;
mod reasons;
mod settings;

pub use outcomes::{CHECKS, Outcome, REFUSALS, STATUSES, STOPS, WAITS};
pub use reasons::{REASONS, Reason, UNDATED, UNDATED_COUNTED, meaning};
pub use settings::{
    ARCHIVE_DAYS, BATCH_FAMILIES, BATCH_FAMILY_ROWS, BATCH_ROWS, FALLBACK_RETENTION, LEDGER_DAYS,
    LOCK_TIMEOUT, Limit, MAX_ACTIVE_SESSIONS, MAX_CLUSTER_QUEUE, MAX_OLD_SNAPSHOT, MAX_REPLICA_LAG,
    MAX_REPLICA_WAL, NO_END, SETTINGS, Servers, Setting, TIME_BUDGET, limit,
};
