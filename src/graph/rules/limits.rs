//! How much a rule takes at once, and what makes a batch wait.

use toml::Spanned;

use crate::diagnostic::Diagnostic;
use crate::facts;
use crate::graph::{Limits, names};
use crate::spec::{self, Text};

/// Resolves `limits`; durations in the unit that each is counted in.
pub(super) fn limits(written: &spec::Limits, diagnostics: &mut Vec<Diagnostic>) -> Limits {
    Limits {
        batch_families: count(
            written.batch_families.as_ref(),
            facts::BATCH_FAMILIES,
            diagnostics,
        ),
        batch_rows: written
            .batch_rows
            .as_ref()
            .map(|rows| count(Some(rows), facts::BATCH_ROWS, diagnostics)),
        run_families: count(
            written.run_families.as_ref(),
            facts::RUN_FAMILIES,
            diagnostics,
        ),
        run_rows: count(written.run_rows.as_ref(), facts::RUN_ROWS, diagnostics),
        time_budget: span(
            written.time_budget.as_ref(),
            facts::TIME_BUDGET,
            diagnostics,
        ),
        lock_timeout: span(
            written.lock_timeout.as_ref(),
            facts::LOCK_TIMEOUT,
            diagnostics,
        ),
        retries: count(written.retries.as_ref(), facts::RETRIES, diagnostics),
        target_batch: span(
            written.target_batch.as_ref(),
            facts::TARGET_BATCH,
            diagnostics,
        ),
        rate: count(written.rate.as_ref(), facts::RATE, diagnostics),
        nice: count(written.nice.as_ref(), facts::NICE, diagnostics),
        max_replica_lag: span(
            written.max_replica_lag.as_ref(),
            facts::MAX_REPLICA_LAG,
            diagnostics,
        ),
        max_replica_wal: count(
            written.max_replica_wal.as_ref(),
            facts::MAX_REPLICA_WAL,
            diagnostics,
        ),
        max_active_sessions: count(
            written.max_active_sessions.as_ref(),
            facts::MAX_ACTIVE_SESSIONS,
            diagnostics,
        ),
        max_old_snapshot: count(
            written.max_old_snapshot.as_ref(),
            facts::MAX_OLD_SNAPSHOT,
            diagnostics,
        ),
        wait_while_sql: written
            .wait_while_sql
            .as_ref()
            .and_then(|sql| raw_query(sql, diagnostics)),
        back_off_max: span(
            written.back_off_max.as_ref(),
            facts::BACK_OFF_MAX,
            diagnostics,
        ),
        suspend_after: count(
            written.suspend_after.as_ref(),
            facts::SUSPEND_AFTER,
            diagnostics,
        ),
    }
}

fn count(
    written: Option<&Spanned<i64>>,
    limit: facts::Count,
    diagnostics: &mut Vec<Diagnostic>,
) -> i64 {
    names::count(
        written,
        limit.default,
        limit.least..=limit.greatest,
        diagnostics,
    )
}

fn span(written: Option<&Text>, limit: facts::Span, diagnostics: &mut Vec<Diagnostic>) -> i64 {
    names::milliseconds(written, limit.default, limit.unit, limit.least, diagnostics) / limit.unit
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
