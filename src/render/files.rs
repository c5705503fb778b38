//! The files of an installation, from the templates and the kernel.

use anyhow::Result;

use super::sql::file;
use super::templates::{Shown, Templates};
use super::views::{RuleView, SpecView};
use super::{kernel, unarchive};
use crate::bundle::File;
use crate::dialect::Dialect;
use crate::graph::Graph;

/// The template of a file that an installation has, with what it is for; its rules come besides.
fn templates(view: &SpecView) -> Vec<(&'static str, &'static str)> {
    let archives = !view.archives.is_empty();
    let guards = !view.guards.is_empty();
    let all = [
        (
            true,
            "00_database.sql",
            "the control database and the role of its routines",
        ),
        (
            true,
            "11_spec.sql",
            "the rules of the spec, as the kernel knows them",
        ),
        (
            true,
            "20_indexes.sql",
            "the indexes that the statements need and the application lacks",
        ),
        (
            archives,
            "25_archive.sql",
            "the archive: copies of the rows that go",
        ),
        (
            true,
            "32_tables.sql",
            "what names the tables of the application: their locks, keys, orphans and files",
        ),
        (
            view.stamps > 0,
            "42_stamp.sql",
            "setting removal times anew, on demand",
        ),
        (archives, "44_unarchive.sql", "how rows leave the archive"),
        (
            true,
            "47_backlog.sql",
            "how much is due, what stays and why, and the metrics",
        ),
        (
            guards,
            "48_orphan_guard.sql",
            "what refuses a row whose parent is gone or going",
        ),
        (true, "50_grants.sql", "the roles and their rights"),
        (
            guards,
            "52_triggers.sql",
            "the triggers that refuse a row whose parent is gone or going",
        ),
        (true, "60_schedule.sql", "the schedule"),
        (
            true,
            "90_uninstall.sql",
            "the undo of everything else; NOT part of an installation",
        ),
        (true, "verify.sql", "read-only checks, safe anywhere"),
    ];
    let used = all.into_iter().filter(|(used, ..)| *used);
    used.map(|(_, name, purpose)| (name, purpose)).collect()
}

/// The template of a rule's file.
fn of_rule(rule: &RuleView) -> &'static str {
    match (&rule.timed, &rule.single) {
        (Some(timed), _) if timed.plain => "30_plain.sql",
        (Some(_), _) => "30_removal_time.sql",
        (_, Some(_)) => "30_single.sql",
        (None, None) => "30_rule.sql",
    }
}

/// All files, sorted: numbers and names say in which order they are applied.
///
/// # Errors
///
/// Fails only where a template is broken: the message names it.
pub(super) fn files(
    graph: &Graph,
    folder: Templates,
    dialect: Dialect,
    view: &SpecView,
) -> Result<Vec<File>> {
    let mut shown = Shown::of(view)?;
    if !view.archives.is_empty() && dialect != Dialect::Postgres {
        shown = shown.with("unarchive", &unarchive::view(graph, dialect));
    }
    let path = |name: &str| format!("{}/{}/{name}", graph.name, dialect.facts().folder);
    let mut files = Vec::new();
    for (template, purpose) in templates(view) {
        if folder.has(template) {
            let body = folder.text(template, &shown)?;
            files.push(file(graph, dialect, path(template), purpose, &body));
        }
    }
    for rule in &view.rules {
        let body = folder.text(of_rule(rule), &shown.with("rule", rule))?;
        let purpose = format!(
            "the rule {}: who may go, and the statements that delete",
            rule.name
        );
        let path = path(&format!("30_{}.sql", rule.name));
        files.push(file(graph, dialect, path, &purpose, &body));
    }
    for kernel in kernel::files(graph, dialect) {
        let text = kernel.text(dialect, &view.control, &view.owner, &view.told);
        files.push(File {
            kernel: true,
            ..file(graph, dialect, path(kernel.name), kernel.purpose, &text)
        });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}
