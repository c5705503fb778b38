//! The fields of a rule: which of them are missing, and which belong to another strategy.

use std::collections::BTreeMap;

use toml::Spanned;

use crate::diagnostic::{Diagnostic, Span};
use crate::facts::{BATCH_FAMILIES, BATCH_FAMILY_ROWS, BATCH_ROWS, Setting};
use crate::graph::written::by_family;
use crate::spec::{self, Strategy, Text};

/// What only rules by time have, where a rule goes by the end of its families.
pub(super) fn refuse_in_end_time(rule: &spec::Rule, diagnostics: &mut Vec<Diagnostic>) {
    let mut found: Vec<(&str, Span)> = Vec::new();
    found.extend(rule.time.as_ref().map(|it| ("time", it.span())));
    found.extend(rule.tables.first().map(|it| ("tables", it.span())));
    found.extend(rule.references.first().map(|it| ("references", it.span())));
    found.extend(rule.unit.as_ref().map(|it| ("unit", it.span())));
    found.extend(rule.stamp.as_ref().map(|it| ("stamp", it.span())));
    found.extend(rule.ahead.as_ref().map(|it| ("ahead", it.span())));
    found.extend(count(rule, BATCH_ROWS));
    found.extend(own_fields(rule));
    refuse(&found, Strategy::EndTime, diagnostics);
}

/// A limit that a rule says, and where.
fn count(rule: &spec::Rule, setting: Setting) -> Option<(&'static str, Span)> {
    let said = rule.limits.counts.get(setting.name)?;
    Some((setting.name, said.span()))
}

pub(super) fn refuse(
    found: &[(&str, Span)],
    strategy: Strategy,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let help = match strategy {
        Strategy::EndTime => {
            "it has `root`, `candidates`, `final`, `where_sql`, `end_time`, `start_time`, `hierarchy`, `shared`, `retention`, `keep`, `limits`, `artifacts`, `archive` and `orphan_guard`"
        }
        Strategy::RemovalTime => {
            "it has `root`, `time`, `tables`, `unit`, `end_time`, `references`, `retention` with `minimum` and \
             `safety_lag`, `stamp`, `archive`, and `limits` with `batch_rows`, and `batch_families` and `batch_family_rows` \
             where `unit` is `family`: the stored time already includes the retention"
        }
        Strategy::Age => {
            "it has `root`, `time`, `candidates`, `where_sql`, `references`, `retention`, `archive` and `limits` with \
             `batch_rows`"
        }
        Strategy::Partition => {
            "it has `root`, `time`, `tables`, `final`, `where_sql`, `end_time`, `references`, `rows`, `ahead`, `archive`, `retention` and \
             `limits`: a partition is dropped with all of its rows; the strategy `age` has more"
        }
        Strategy::Expiry => {
            "it has `root`, `time`, `candidates`, `where_sql`, `fallback` with a time and a retention, `archive`, and `limits` with `batch_rows` and `batch_family_rows`"
        }
        Strategy::Orphan => {
            "it has `root`, `needs`, `candidates`, `where_sql`, `time` and `retention` or `at_once`, `archive`, and `limits` with `batch_rows` and `batch_family_rows`"
        }
        Strategy::KeepLast => {
            "it has `root`, `keep`, `candidates`, `where_sql`, `time` and `retention`, `archive`, and `limits` with \
             `batch_rows` and `batch_family_rows`"
        }
    };
    for (field, span) in found {
        diagnostics.push(Diagnostic::error(
            "field-of-other-strategy",
            span.clone(),
            format!(
                "a rule of the strategy `{}` has no `{field}`",
                strategy.name()
            ),
            help,
        ));
    }
}

/// The fields that a rule by time should not have.
pub(super) fn foreign_to_time(
    text: &str,
    rule: &spec::Rule,
    strategy: Strategy,
) -> Vec<(&'static str, Span)> {
    let mut found = fields_of_families(rule);
    found.extend(own_fields(rule));
    if strategy == Strategy::RemovalTime {
        let limits = [BATCH_FAMILIES.name, BATCH_FAMILY_ROWS.name];
        found.retain(|(field, _)| !limits.contains(field) || !by_family(text, rule));
        let candidates: BTreeMap<_, _> = rule.candidates.iter().collect();
        found.extend(
            candidates
                .first_key_value()
                .map(|(column, _)| ("candidates", column.span())),
        );
        let retention = rule.retention.as_ref().map(Spanned::get_ref);
        found.extend(
            retention
                .and_then(|it| it.default.as_ref())
                .map(|it| ("default", it.span())),
        );
    } else {
        let tables = rule.tables.first();
        let tables = tables.filter(|_| strategy != Strategy::Partition);
        found.extend(tables.map(|it| ("tables", it.span())));
        let end_time = rule.end_time.as_ref();
        let end_time = end_time.filter(|_| strategy != Strategy::Partition);
        found.extend(end_time.map(|it| ("end_time", it.span())));
        found.extend(rule.unit.as_ref().map(|it| ("unit", it.span())));
        found.extend(rule.stamp.as_ref().map(|it| ("stamp", it.span())));
    }
    if strategy == Strategy::Partition {
        let candidates: BTreeMap<_, _> = rule.candidates.iter().collect();
        let candidate = candidates.first_key_value();
        found.extend(candidate.map(|(column, _)| ("candidates", column.span())));
        found.extend(count(rule, BATCH_ROWS));
        found.retain(|(field, _)| !["rows", "final"].contains(field));
    } else {
        found.extend(rule.ahead.as_ref().map(|it| ("ahead", it.span())));
    }
    found
}

/// The fields that only a rule by the end of families has; but `final` has one of partitions, too.
pub(super) fn fields_of_families(rule: &spec::Rule) -> Vec<(&'static str, Span)> {
    let mut found: Vec<(&str, Span)> = Vec::new();
    found.extend(rule.r#final.as_ref().map(|it| ("final", it.span())));
    found.extend(rule.start_time.as_ref().map(|it| ("start_time", it.span())));
    found.extend(rule.keep.as_ref().map(|it| ("keep", it.span())));
    found.extend(rule.hierarchy.first().map(|it| ("hierarchy", it.span())));
    found.extend(rule.shared.as_ref().map(|it| ("shared", it.span())));
    let guard = rule.orphan_guard.as_ref();
    found.extend(guard.map(|it| ("orphan_guard", it.span())));
    found.extend(
        rule.artifacts
            .first()
            .map(|it| ("artifacts", it.path.span())),
    );
    found.extend(count(rule, BATCH_FAMILIES));
    found.extend(count(rule, BATCH_FAMILY_ROWS));
    for retention in [
        rule.retention.as_ref(),
        rule.fallback
            .as_ref()
            .and_then(|it| it.get_ref().retention.as_ref()),
    ]
    .into_iter()
    .flatten()
    .map(Spanned::get_ref)
    {
        found.extend(retention.per.as_ref().map(|it| ("per", it.span())));
        found.extend(retention.opt_in.as_ref().map(|it| ("opt_in", it.span())));
        found.extend(retention.from.as_ref().map(|it| ("from", it.span())));
        found.extend(
            retention
                .by_value
                .as_ref()
                .map(|it| ("by_value", it.span())),
        );
        found.extend(retention.days.as_ref().map(|it| ("days", it.span())));
    }
    found
}

/// The fields that a rule of single rows should not have.
pub(super) fn foreign_to_single(
    rule: &spec::Rule,
    strategy: Strategy,
) -> Vec<(&'static str, Span)> {
    let mut found = fields_of_families(rule);
    found.retain(|(field, _)| *field != BATCH_FAMILY_ROWS.name);
    if strategy == Strategy::KeepLast {
        let keeps = rule.keep.as_ref().map_or(Vec::new(), spec::each_keep);
        let of = keeps.iter().flat_map(|it| it.get_ref().of.keys());
        let of = of.min().map(|column| ("of", column.span()));
        let mut optional = keeps.iter().filter_map(|it| it.get_ref().optional.as_ref());
        let optional = optional.next().map(|it| ("keep.optional", it.span()));
        found.retain(|(field, _)| *field != "keep");
        found.extend(of);
        found.extend(optional);
    }
    found.extend(rule.tables.first().map(|it| ("tables", it.span())));
    found.extend(rule.references.first().map(|it| ("references", it.span())));
    found.extend(rule.end_time.as_ref().map(|it| ("end_time", it.span())));
    found.extend(rule.unit.as_ref().map(|it| ("unit", it.span())));
    found.extend(rule.stamp.as_ref().map(|it| ("stamp", it.span())));
    found.extend(rule.ahead.as_ref().map(|it| ("ahead", it.span())));
    if strategy == Strategy::Expiry {
        found.extend(rule.retention.as_ref().map(|it| ("retention", it.span())));
    }
    let own: &[&str] = match strategy {
        Strategy::Expiry => &["fallback"],
        Strategy::Orphan => &["needs", "at_once"],
        _ => &[],
    };
    found.extend(
        own_fields(rule)
            .into_iter()
            .filter(|(field, _)| !own.contains(field)),
    );
    found
}

/// The fields that only rules of single rows have, or of partitions.
pub(super) fn own_fields(rule: &spec::Rule) -> Vec<(&'static str, Span)> {
    let mut found: Vec<(&str, Span)> = Vec::new();
    found.extend(rule.fallback.as_ref().map(|it| ("fallback", it.span())));
    found.extend(rule.needs.first().map(|it| ("needs", it.span())));
    found.extend(rule.at_once.as_ref().map(|it| ("at_once", it.span())));
    found.extend(rule.rows.as_ref().map(|it| ("rows", it.span())));
    found
}

/// A rule lacks a field.
pub(super) fn missing(name: &Text, field: &str, help: &str) -> Diagnostic {
    let message = format!("rule `{}` has no `{field}`", name.get_ref().escape_debug());
    Diagnostic::error("missing-field", name.span(), message, help)
}

/// Tells which fields a table of a rule lacks: name, whether it is there, how to write it.
pub(super) fn check_there(
    what: &str,
    written: Span,
    fields: &[(&str, bool, &str)],
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (field, _, help) in fields.iter().filter(|(_, is_there, _)| !is_there) {
        let message = format!("{what} has no `{field}`");
        diagnostics.push(Diagnostic::error(
            "missing-field",
            written.clone(),
            message,
            *help,
        ));
    }
}
