//! `verify`, `status` and `history`: what stands and what was.

use serde_json::{Value, json};

use super::{Exit, Session, show};
use crate::cli::{History, WithOutput};
use crate::report;
use crate::ui::Ui;

/// Asks the database to verify itself.
pub(super) fn verify(args: &WithOutput, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.on, ui)?;
    let document = session.call("verify", &json!({}))?;
    show(ui, args.output, &document, report::verify);
    Ok(if document["clean"] == true {
        Exit::Clean
    } else {
        Exit::Found
    })
}

/// Shows the state of the installation.
pub(super) fn status(args: &WithOutput, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.on, ui)?;
    let w = session.control.clone();
    let name = session.graph.name.clone();
    let sql = format!(
        "SELECT jsonb_build_object(
            'spec', $1,
            'control', (SELECT to_jsonb(c) - 'spec' FROM {w}.control c LIMIT 1),
            'policies', (SELECT count(*) FROM {w}.policy WHERE enabled),
            'holds', (SELECT count(*) FROM {w}.hold WHERE until IS NULL OR until > now()),
            'artifacts_waiting', (SELECT count(*) FROM {w}.artifact WHERE NOT given_up),
            'artifacts_given_up', (SELECT count(*) FROM {w}.artifact WHERE given_up),
            'running', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'run_id', r.run_id, 'trigger', r.trigger, 'backend_pid', r.backend_pid, 'started_by', r.started_by,
                    'started_at', r.started_at, 'rule', p.rule, 'families', p.families,
                    'deleted_rows', p.deleted_rows, 'batches', p.batches)), '[]')
                FROM {w}.run r LEFT JOIN {w}.run_rule p USING (run_id)
                WHERE r.status = 'running' AND r.backend_pid IN (SELECT a.pid FROM pg_stat_activity a)),
            'last_run', (SELECT to_jsonb(r) FROM {w}.run r WHERE r.status <> 'running' ORDER BY r.run_id DESC LIMIT 1),
            'metrics', (SELECT coalesce(jsonb_agg(to_jsonb(m)), '[]') FROM {w}.metrics m)
        )::text"
    );
    let document = session.document(&sql, &[Some(&name)])?;
    show(ui, args.output, &document, report::status);
    Ok(Exit::Clean)
}

/// Shows past runs, the newest first.
pub(super) fn history(args: &History, ui: &Ui) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.with.on, ui)?;
    let w = session.control.clone();
    let sql = format!(
        "SELECT coalesce(jsonb_agg(to_jsonb(h) ORDER BY h.run_id DESC), '[]')::text FROM (
            SELECT r.run_id, r.trigger, r.dry_run, r.status, r.reason, r.started_by,
                   to_char(r.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') AS started_at,
                   round(extract(epoch FROM r.finished_at - r.started_at), 1)::float8 AS seconds,
                   coalesce(sum(p.families), 0)::bigint AS families,
                   coalesce(sum(p.deleted_rows), 0)::bigint AS deleted_rows,
                   coalesce(sum(p.batches), 0)::bigint AS batches
            FROM {w}.run r LEFT JOIN {w}.run_rule p USING (run_id)
            GROUP BY r.run_id ORDER BY r.run_id DESC LIMIT $1::int) h"
    );
    let document: Value = session.document(&sql, &[Some(&args.limit.to_string())])?;
    show(ui, args.with.output, &document, |document| {
        report::rows(
            document,
            &[
                ("run", "run_id"),
                ("started", "started_at"),
                ("by", "started_by"),
                ("trigger", "trigger"),
                ("dry", "dry_run"),
                ("families", "families"),
                ("rows", "deleted_rows"),
                ("batches", "batches"),
                ("seconds", "seconds"),
                ("status", "status"),
                ("reason", "reason"),
            ],
        )
    });
    Ok(Exit::Clean)
}
