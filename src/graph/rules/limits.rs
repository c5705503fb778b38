//! How much a rule takes at once, and what makes a batch wait.

use crate::diagnostic::Diagnostic;
use crate::graph::{Limits, names};
use crate::spec::{self, Text};

pub(super) fn limits(written: &spec::Limits, diagnostics: &mut Vec<Diagnostic>) -> Limits {
    Limits {
        batch_families: names::count(
            written.batch_families.as_ref(),
            200,
            1..=100_000,
            diagnostics,
        ),
        batch_rows: written
            .batch_rows
            .as_ref()
            .map(|rows| names::count(Some(rows), 1, 1..=100_000, diagnostics)),
        run_families: names::count(
            written.run_families.as_ref(),
            10_000,
            1..=1_000_000_000,
            diagnostics,
        ),
        run_rows: names::count(
            written.run_rows.as_ref(),
            0,
            1..=1_000_000_000_000,
            diagnostics,
        ),
        time_budget: names::milliseconds(
            written.time_budget.as_ref(),
            1_800_000,
            1_000,
            1_000,
            diagnostics,
        ) / 1_000,
        // For PostgreSQL 0 means to wait for ever.
        lock_timeout: names::milliseconds(written.lock_timeout.as_ref(), 100, 1, 1, diagnostics),
        retries: names::count(written.retries.as_ref(), 3, 0..=100, diagnostics),
        target_batch: names::milliseconds(written.target_batch.as_ref(), 0, 1, 1, diagnostics),
        rate: names::count(written.rate.as_ref(), 0, 1..=1_000_000_000, diagnostics),
        nice: names::count(written.nice.as_ref(), 0, 0..=10_000, diagnostics),
        max_replica_lag: names::milliseconds(
            written.max_replica_lag.as_ref(),
            0,
            1_000,
            1_000,
            diagnostics,
        ) / 1_000,
        max_replica_wal: names::count(
            written.max_replica_wal.as_ref(),
            0,
            1..=1_000_000_000,
            diagnostics,
        ),
        max_active_sessions: names::count(
            written.max_active_sessions.as_ref(),
            0,
            1..=1_000_000,
            diagnostics,
        ),
        max_old_snapshot: names::count(
            written.max_old_snapshot.as_ref(),
            0,
            1..=1_000_000_000,
            diagnostics,
        ),
        wait_while_sql: written
            .wait_while_sql
            .as_ref()
            .and_then(|sql| raw_query(sql, diagnostics)),
        back_off_max: names::milliseconds(
            written.back_off_max.as_ref(),
            1_800_000,
            1_000,
            0,
            diagnostics,
        ) / 1_000,
        suspend_after: names::count(written.suspend_after.as_ref(), 5, 0..=100, diagnostics),
    }
}

/// A query that stands in the spec as it is: it is set between brackets in a routine, and must not end them.
fn raw_query(written: &Text, diagnostics: &mut Vec<Diagnostic>) -> Option<String> {
    let sql = written.get_ref().trim();
    let first = sql.split_whitespace().next().unwrap_or_default();
    if first.eq_ignore_ascii_case("select")
        && ![";", "$$", "$windrow$", "--"]
            .iter()
            .any(|end| sql.contains(end))
    {
        return Some(sql.to_owned());
    }
    diagnostics.push(Diagnostic::error(
        "no-query",
        written.span(),
        "`wait_while_sql` is not a single query",
        "write one `SELECT` of one value, without `;` and comments",
    ));
    None
}
