//! Rules whose rows are deleted one by one: expired, orphaned, or outnumbered by newer ones of their group.

use grammar::{EdgeText, NoneText};
use toml::Spanned;

use super::archive;
use super::columns::{columns, end_time, time_or_number};
use super::family::{Family, root};
use super::fields::{foreign_to_single, missing, refuse};
use super::limits::limits;
use super::raw;
use super::report::reports;
use super::retention::retention;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::conditions::conditions;
use crate::graph::tables::Resolved;
use crate::graph::{
    Action, Column, Edge, Kind, Literal, Need, Retention, Rule, Shared, Single, Strategy, TableId,
    names,
};
use crate::spec::{
    self, Spec, Text,
    duration::{self, DAY},
    grammar,
};

/// Where only the rows themselves say when they are deleted.
const NO_RETENTION: Retention = Retention {
    default: Some(0),
    minimum: 0,
    safety_lag: 0,
    per: None,
    opt_in: false,
    source: None,
    calendar: false,
};

/// Resolves a rule of the strategy `expiry`, `orphan` or `keep-last`.
pub(super) fn rule(
    spec: &Spec,
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    strategy: spec::Strategy,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Rule> {
    refuse(&foreign_to_single(rule, strategy), strategy, diagnostics);
    if rule.root.is_none() {
        let help = "add `root = \"…\"`: the table whose rows are deleted";
        diagnostics.push(missing(name, "root", help));
    }
    let root = rule
        .root
        .as_ref()
        .and_then(|written| root(spec, written, tables, diagnostics));
    let order = root.map_or(Vec::new(), |root| tables.order(root));
    if !tables.edges_are_unclear() {
        check_children(name, &order, tables, diagnostics);
    }
    let time = rule.time.as_ref();
    let time = time.and_then(|written| time_or_number(text, written, diagnostics));
    let (time, epoch) = time.unzip();
    let epoch = epoch.flatten();
    if let (Some(epoch), Some(fallback)) = (epoch, &rule.fallback) {
        diagnostics.push(Diagnostic::error(
            "epoch-elsewhere",
            fallback.span(),
            format!("`{}` cannot have a fallback", epoch.word()),
            "rows in which the number is not above 0 have no expiry, and are kept; add a generated column of a time type to \
             the table, and use that",
        ));
    }
    let resolved = match strategy {
        spec::Strategy::Expiry => expiry(text, name, rule, time, diagnostics),
        spec::Strategy::Orphan => orphan(text, name, rule, time, root, tables, diagnostics),
        _ => keep_last(text, name, rule, time, diagnostics),
    };
    let family = Family {
        spec,
        tables,
        rule: &rule.root,
        order: &order,
    };
    let archive = archive::tables(rule.archive.as_ref(), &family, diagnostics);
    let report = reports(text, rule, &family, diagnostics);
    let limits = limits(&rule.limits, diagnostics);
    let candidates = conditions(&rule.candidates, diagnostics);
    let where_sql = raw::condition(rule.where_sql.as_ref(), raw::OF_ROWS, diagnostics);
    let (single, first, retention) = resolved?;
    let root = root?;
    Some(Rule {
        name: name.get_ref().clone(),
        root,
        candidates,
        r#final: Vec::new(),
        where_sql,
        end_time: match first {
            Some(column) => column,
            None => tables.tables[root.0].key.first()?.clone(),
        },
        otherwise: None,
        epoch,
        last: None,
        strategy: Strategy::Single(single),
        hierarchy: Vec::new(),
        shared: Shared::Literal,
        retention,
        newest: Vec::new(),
        limits,
        artifacts: Vec::new(),
        archive,
        orphan_guard: false,
        report,
        order,
    })
}

/// What a strategy makes of its fields: why rows are deleted, the column by which a run goes through the table first (none: the
/// key), and the retention.
type Resolution = Option<(Single, Option<Column>, Retention)>;

fn expiry(
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    time: Option<Column>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Resolution {
    if rule.time.is_none() {
        let help = "add `time = \"column\"`: the column that says when a row expires";
        diagnostics.push(missing(name, "time", help));
    }
    let Some(written) = rule.fallback.as_ref().map(Spanned::get_ref) else {
        return Some((Single::Expiry { fallback: None }, Some(time?), NO_RETENTION));
    };
    let column = end_time(text, &written.time, diagnostics);
    if let (Some(time), Some(column)) = (&time, &column)
        && time.name == column.name
    {
        diagnostics.push(Diagnostic::error(
            "duplicate-value",
            written.time.span(),
            format!(
                "`{}` does not help for rows in which it is NULL",
                column.name.escape_debug()
            ),
            "name a column that has a time if `time` has none",
        ));
    }
    let retention = fallback(text, name, written, diagnostics);
    let fallback = Some(column?);
    Some((Single::Expiry { fallback }, Some(time?), retention?))
}

/// The retention of a fallback: a default of nothing at all turns it off.
fn fallback(
    text: &str,
    name: &Text,
    written: &spec::Fallback,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Retention> {
    let kept = written.retention.as_ref();
    let is_off = kept
        .and_then(|kept| kept.get_ref().default.as_ref())
        .is_some_and(|default| duration::parse(default.get_ref()).is_ok_and(|value| value == 0));
    if !is_off {
        return retention(text, name, kept, diagnostics);
    }
    let kept = kept?.get_ref();
    let seconds = |field: &Option<Text>, default, least, diagnostics: &mut Vec<Diagnostic>| {
        names::milliseconds(field.as_ref(), default, 1_000, least, diagnostics) / 1_000
    };
    Some(Retention {
        minimum: seconds(&kept.minimum, 7 * DAY, 1_000, diagnostics),
        safety_lag: seconds(&kept.safety_lag, DAY, 0, diagnostics),
        ..NO_RETENTION
    })
}

fn orphan(
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    time: Option<Column>,
    root: Option<TableId>,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Resolution {
    let at_once = rule.at_once.as_ref().filter(|it| *it.get_ref());
    match (&rule.time, at_once) {
        (None, None) => diagnostics.push(missing(
            name,
            "time",
            "add `time = \"column\"` and a `retention`: how long a row is kept at least; or `at_once = true` if its age does not matter",
        )),
        (Some(time), Some(at_once)) => diagnostics.push(
            Diagnostic::error(
                "at-once-with-time",
                at_once.span(),
                format!(
                    "rule `{}` has both a time and `at_once`",
                    name.get_ref().escape_debug()
                ),
                "remove `at_once`, or `time` and `retention`",
            )
            .related(time.span(), "the time"),
        ),
        _ => {}
    }
    let needs = needs(text, name, rule, root, tables, diagnostics);
    let retention = aged(text, name, rule, diagnostics);
    if rule.time.is_some() && time.is_none() {
        return None;
    }
    Some((
        Single::Orphan {
            needs: needs?,
            time,
        },
        None,
        retention?,
    ))
}

fn keep_last(
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    time: Option<Column>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Resolution {
    let keeps = rule.keep.as_ref().map_or(Vec::new(), spec::each_keep);
    if let [_, second, ..] = keeps.as_slice() {
        diagnostics.push(Diagnostic::error(
            "field-of-other-strategy",
            second.span(),
            "single rows can be kept in one way only",
            "a rule of the strategy `keep-last` uses one order; remove the others",
        ));
    }
    let keep = keeps.first().map(|keep| *keep.get_ref());
    if keep.is_none() {
        let help = "add `keep = { newest = 10, per = \"column type\", by = \"column type\" }`: the rows that are kept";
        diagnostics.push(missing(name, "keep", help));
    }
    let (newest, per, by) = (
        keep.and_then(|it| it.newest.as_ref()),
        keep.and_then(|it| it.per.as_ref()),
        keep.and_then(|it| it.by.as_ref()),
    );
    for (field, is_there, help) in [
        (
            "keep.newest",
            newest.is_some(),
            "add `newest = 10`: how many rows of each group are kept",
        ),
        (
            "keep.per",
            per.is_some(),
            "add `per = [\"column type\", …]`: rows with equal values are a group",
        ),
        (
            "keep.by",
            by.is_some(),
            "add `by = \"column type\"`: the newest row of a group has the highest value",
        ),
    ] {
        if keep.is_some() && !is_there {
            diagnostics.push(missing(name, field, help));
        }
    }
    let newest = newest.map(|newest| names::count(Some(newest), 1, 1..=1_000, diagnostics));
    let mut seen: Vec<(String, Span)> = Vec::new();
    let mut columns = |written: Option<&Spanned<spec::Names>>, default| {
        let written = written.map_or(Vec::new(), spec::each);
        self::columns(text, &written, default, &mut seen, diagnostics)
    };
    let (group, order) = (columns(per, Kind::Bigint), columns(by, Kind::Timestamp));
    let retention = aged(text, name, rule, diagnostics);
    if rule.time.is_some() && time.is_none() {
        return None;
    }
    let (keep, group, order) = (newest?, group?, order?);
    let first = group.first()?.clone();
    order.first()?;
    let single = Single::KeepLast {
        group,
        order,
        keep,
        time,
    };
    Some((single, Some(first), retention?))
}

/// The retention of a rule that has one where it has a time.
fn aged(
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Retention> {
    match (&rule.time, &rule.retention) {
        (Some(_), written) => retention(text, name, written.as_ref(), diagnostics),
        (None, Some(written)) => {
            diagnostics.push(Diagnostic::error(
                "retention-without-time",
                written.span(),
                format!(
                    "rule `{}` has a retention but no time to count from",
                    name.get_ref().escape_debug()
                ),
                "add `time = \"column\"`, or remove the retention",
            ));
            None
        }
        (None, None) => Some(NO_RETENTION),
    }
}

/// What must exist for a row to be kept: what the rule says, otherwise each parent of the table.
fn needs(
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    root: Option<TableId>,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<Vec<Need>>> {
    if rule.needs.is_empty() {
        let root = root?;
        let parents: Vec<Vec<Need>> = tables.tables[root.0]
            .parents()
            .filter(|edge| !edge.alone)
            .map(|edge| vec![parent(edge, tables)])
            .collect();
        if parents.is_empty() && !tables.edge_is_unclear(root) {
            let help =
                "add `needs = [\"column -> table.column\"]`: what must exist for a row to be kept";
            diagnostics.push(missing(name, "needs", help));
        }
        return (!parents.is_empty()).then_some(parents);
    }
    let steps: Vec<Option<Need>> = rule
        .needs
        .iter()
        .map(|written| {
            grammar::need(text, written)
                .map_err(|diagnostic| diagnostics.push(*diagnostic))
                .ok()
                .map(|read| need(&read, diagnostics))
        })
        .collect();
    Some(vec![steps.into_iter().collect::<Option<Vec<Need>>>()?])
}

fn need(read: &EdgeText, diagnostics: &mut Vec<Diagnostic>) -> Need {
    names::identifier(&read.table, "table", diagnostics);
    let mut pairs = Vec::new();
    for (column, named) in read.columns.iter().zip(&read.parent_columns) {
        names::identifier(&column.name, "column", diagnostics);
        names::identifier(named, "column", diagnostics);
        pairs.push((column.name.get_ref().clone(), named.get_ref().clone()));
    }
    Need {
        pairs,
        none: read.none.as_ref().map(|value| match value.get_ref() {
            NoneText::Integer(number) => Literal::Integer(*number),
            NoneText::Text(text) => Literal::Text(text.clone()),
        }),
        table: read.table.get_ref().clone(),
    }
}

/// The parent that an edge of the spec names.
fn parent(edge: &Edge, tables: &Resolved) -> Need {
    Need {
        pairs: edge
            .pairs()
            .map(|(column, named)| (column.name.clone(), named.name.clone()))
            .collect(),
        none: edge.none.clone(),
        table: tables.tables[edge.parent.0].name.clone(),
    }
}

/// A row is deleted with all that belongs to it; other references to that are not checked.
fn check_children(
    name: &Text,
    order: &[TableId],
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (index, table) in tables.tables.iter().enumerate() {
        let mut edges = table.edges.iter();
        let other =
            edges.find(|edge| order.contains(&edge.parent) && edge.action != Action::Delete);
        let Some(edge) = other else { continue };
        diagnostics.push(
            Diagnostic::error(
                "row-referred-to",
                name.span(),
                format!(
                    "rows of `{}` refer to those of `{}` that the rule deletes, but are not deleted with them",
                    table.name.escape_debug(),
                    tables.tables[edge.parent.0].name.escape_debug()
                ),
                "rows of this strategy are deleted with what belongs to them; use a rule by `end-time` for tables to which \
                 others refer by `restrict` or `set null`",
            )
            .related(tables.spans[index].clone(), "the table"),
        );
    }
    let Some(root) = order.last() else { return };
    if order.len() > 1 && tables.tables[root.0].key.len() > 1 {
        diagnostics.push(
            Diagnostic::error(
                "composite-key",
                tables.spans[root.0].clone(),
                "rows to which others belong are collected by a key of one column",
                "use a key of one column",
            )
            .related(name.span(), "the rule"),
        );
    }
}
