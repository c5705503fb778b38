//! Rules: who is eligible, when, and how much at once.

mod archive;
mod end;
mod retention;
pub(super) mod single;
mod stamp;
pub(super) mod timed;

use std::collections::BTreeMap;

use toml::Spanned;

use crate::diagnostic::{Diagnostic, Span, did_you_mean, nearest};
use crate::graph::names;
use crate::graph::tables::Resolved;
use crate::graph::{
    Artifact, Column, Condition, Document, Figure, Kind, Limits, Link, Literal, Newest,
    ReportField, Rule, Shared, TableId, Test,
};
use crate::spec::grammar::{self, ColumnText, FigureText, LinkText};
use crate::spec::{self, Scalar, Spec, Text, Values, in_file_order};

/// Figures by name, and the document that alone has them.
const FIGURES: [(&str, Figure, Option<Document>); 8] = [
    ("families", Figure::Families, None),
    (
        "oldest_end_time",
        Figure::OldestEndTime,
        Some(Document::Preview),
    ),
    ("sample_roots", Figure::SampleRoots, Some(Document::Preview)),
    ("skipped", Figure::Skipped, None),
    ("skipped_families", Figure::SkippedFamilies, None),
    ("dry_run", Figure::DryRun, None),
    ("artifact_failures", Figure::ArtifactFailures, None),
    ("duration_ms", Figure::DurationMs, Some(Document::Run)),
];

/// The keys that windrow's own documents have for a rule, and the names of all figures.
const OWN_KEYS: [&str; 20] = [
    "artifact_failures",
    "batches",
    "dry_run",
    "duration_ms",
    "estimated_seconds",
    "failures",
    "families",
    "limited",
    "oldest_end_time",
    "retries",
    "root",
    "rows",
    "rule",
    "run_families",
    "sample_roots",
    "skipped",
    "skipped_families",
    "skipped_samples",
    "tables",
    "without_policy",
];

const DAY: i64 = 86_400_000;

/// Resolves `[rules]`; what depends on something missing is left out.
pub(super) fn resolve(
    spec: &Spec,
    text: &str,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Rule> {
    check_stamp_names(spec, diagnostics);
    in_file_order(&spec.rules)
        .into_iter()
        .filter_map(|(name, rule)| self::rule(spec, text, name, rule, tables, diagnostics))
        .collect()
}

/// Routines are named after the rule and the stamp: `a_b` of rule `c` is not told from `a` of rule `c_b`.
fn check_stamp_names(spec: &Spec, diagnostics: &mut Vec<Diagnostic>) {
    let mut taken: BTreeMap<String, Span> = BTreeMap::new();
    for (rule, written) in in_file_order(&spec.rules) {
        let Some(stamp) = &written.stamp else {
            continue;
        };
        let others = in_file_order(&stamp.get_ref().of).into_iter();
        let others = others.map(|(name, _)| {
            (
                format!("{}_{}", rule.get_ref(), name.get_ref()),
                name.span(),
            )
        });
        for (name, span) in [(rule.get_ref().clone(), rule.span())]
            .into_iter()
            .chain(others)
        {
            match taken.get(&name) {
                Some(first) => diagnostics.push(names::twice(&name, span, first.clone())),
                None => drop(taken.insert(name, span)),
            }
        }
    }
}

fn rule(
    spec: &Spec,
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Rule> {
    names::rule_name(name, diagnostics);
    match rule.strategy.as_ref().map(Spanned::get_ref) {
        Some(strategy @ (spec::Strategy::RemovalTime | spec::Strategy::Age)) => {
            return timed::rule(spec, text, name, rule, *strategy, tables, diagnostics);
        }
        Some(
            strategy @ (spec::Strategy::Expiry | spec::Strategy::Orphan | spec::Strategy::KeepLast),
        ) => return single::rule(spec, text, name, rule, *strategy, tables, diagnostics),
        Some(spec::Strategy::EndTime) => timed::refuse_in_end_time(rule, diagnostics),
        None => {}
    }
    let mut lacks = |field: &str, help: &str| diagnostics.push(missing(name, field, help));
    if rule.strategy.is_none() {
        lacks("strategy", "add `strategy = \"end-time\"`");
    }
    if rule.root.is_none() {
        lacks(
            "root",
            "add `root = \"…\"`: the table of the rows that everything else belongs to",
        );
    }
    if rule.r#final.is_none() {
        lacks(
            "final",
            "add `final = { column = [values] }`: what a row holds when it will not change any more",
        );
    }
    if rule.end_time.is_none() {
        lacks(
            "end_time",
            "add `end_time = \"column\"`: when a row of the root table ended",
        );
    }
    let root = rule
        .root
        .as_ref()
        .and_then(|root| self::root(spec, root, tables, diagnostics));
    let candidates = conditions(&rule.candidates, diagnostics);
    let finals = rule.r#final.as_ref().map_or(Vec::new(), |written| {
        if written.get_ref().is_empty() {
            diagnostics.push(Diagnostic::error(
                "empty-final",
                written.span(),
                format!("rule `{}` does not say which rows are final", name.get_ref().escape_debug()),
                "name a column and the values of rows that will not change any more: `{ state = [5, 6, 7] }`",
            ));
        }
        conditions(written.get_ref(), diagnostics)
    });
    let retention = retention::retention(text, name, rule.retention.as_ref(), diagnostics);
    let newest = newest(text, name, rule, diagnostics);
    let limits = limits(&rule.limits, diagnostics);
    let order = root.map_or(Vec::new(), |root| tables.order(root));
    check_keepers(name, &order, tables, diagnostics);
    let family = Family {
        spec,
        tables,
        rule: &rule.root,
        order: &order,
    };
    let end = end::end(text, name, rule, &family, diagnostics);
    let hierarchy = hierarchy(text, rule, root, &family, diagnostics);
    let artifacts = artifacts(&rule.artifacts, &family, diagnostics);
    let archive = archive::tables(rule.archive.as_ref(), &family, diagnostics);
    let orphan_guard = orphan_guard(rule, &order, diagnostics);
    let report = reports(text, rule, &family, diagnostics);
    let end = end?;
    Some(Rule {
        name: name.get_ref().clone(),
        root: root?,
        candidates,
        r#final: finals,
        end_time: end.time,
        otherwise: end.otherwise,
        last: end.last,
        timed: None,
        single: None,
        hierarchy,
        shared: match rule.shared {
            spec::Shared::Closed => Shared::Closed,
            spec::Shared::Literal => Shared::Literal,
        },
        retention: retention?,
        newest,
        limits,
        artifacts,
        archive,
        orphan_guard,
        report,
        order,
    })
}

/// Whether the rule's triggers are wanted; they have to have a table to stand on.
fn orphan_guard(rule: &spec::Rule, order: &[TableId], diagnostics: &mut Vec<Diagnostic>) -> bool {
    let Some(written) = rule.orphan_guard.as_ref().filter(|it| *it.get_ref()) else {
        return false;
    };
    if order.len() == 1 && rule.hierarchy.is_empty() {
        diagnostics.push(Diagnostic::error(
            "nothing-to-guard",
            written.span(),
            "no row goes with a row of the root table",
            "take `orphan_guard` out, or list the tables whose rows name it",
        ));
    }
    true
}

/// Finds tables whose rows would keep families of the rule that they belong to themselves. What a preview would then call
/// kept could be free by the time a run comes to it.
fn check_keepers(
    rule: &Text,
    order: &[TableId],
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for id in order {
        let table = &tables.tables[id.0];
        if let Some(edge) = table.keeps().find(|edge| order.contains(&edge.parent)) {
            diagnostics.push(
                Diagnostic::error(
                    "keeper-goes",
                    tables.spans[id.0].clone(),
                    format!(
                        "rows of `{}` go with families of rule `{}` and would keep them",
                        table.name.escape_debug(),
                        rule.get_ref().escape_debug()
                    ),
                    format!(
                        "a row goes with a family or keeps one: take `restrict` out of the edge of `{}`, or take out the other edges",
                        edge.column.name.escape_debug()
                    ),
                )
                .related(rule.span(), "the rule"),
            );
        }
    }
}

fn root(
    spec: &Spec,
    root: &Text,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<TableId> {
    let found = tables.require(spec, root, diagnostics)?;
    if tables.tables[found.0].key.is_empty() && !tables.key_is_unclear(found) {
        diagnostics.push(
            Diagnostic::error(
                "root-without-key",
                root.span(),
                format!(
                    "the root table `{}` has no key",
                    root.get_ref().escape_debug()
                ),
                "add `key = \"column type\"` to the table: families are told apart by it",
            )
            .related(tables.spans[found.0].clone(), "defined without a key"),
        );
    }
    Some(found)
}

fn conditions(
    written: &BTreeMap<Text, Spanned<Values>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Condition> {
    in_file_order(written)
        .into_iter()
        .map(|(column, values)| condition(column, values, diagnostics))
        .collect()
}

fn condition(
    column: &Text,
    values: &Spanned<Values>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Condition {
    names::identifier(column, "column", diagnostics);
    let shown = column.get_ref().escape_debug();
    let of = |kind: Kind, test: Test| Condition {
        column: Column {
            name: column.get_ref().clone(),
            kind,
        },
        test,
    };
    let listed: Vec<(&Scalar, Span)> = match values.get_ref() {
        Values::Null(true) => return of(Kind::Varchar, Test::Null),
        Values::Null(false) => return of(Kind::Varchar, Test::NotNull),
        Values::One(value) => vec![(value, values.span())],
        Values::Many(values) => values
            .iter()
            .map(|value| (value.get_ref(), value.span()))
            .collect(),
    };
    if listed.is_empty() {
        let help = "list at least one value, or remove the column";
        let message = format!("`{shown}` has no values, so no row would match");
        diagnostics.push(Diagnostic::error(
            "empty-condition",
            values.span(),
            message,
            help,
        ));
    }
    let is_text = |value: &Scalar| matches!(value, Scalar::Text(_));
    for (index, (value, span)) in listed.iter().enumerate() {
        if let Some((_, first)) = listed[..index].iter().find(|(earlier, _)| earlier == value) {
            diagnostics.push(
                Diagnostic::error(
                    "duplicate-value",
                    span.clone(),
                    format!("`{shown}` lists a value twice"),
                    "remove one of the two",
                )
                .related(first.clone(), "first here"),
            );
        }
        if is_text(value) != is_text(listed[0].0) {
            diagnostics.push(
                Diagnostic::error(
                    "type-mismatch",
                    span.clone(),
                    format!("`{shown}` lists whole numbers and texts"),
                    "a column holds one or the other: write all values alike",
                )
                .related(listed[0].1.clone(), "unlike this"),
            );
            break;
        }
        if let Scalar::Text(text) = value
            && text.contains('\0')
        {
            let message = format!("a value of `{shown}` has a NUL character");
            diagnostics.push(Diagnostic::error(
                "invalid-value",
                span.clone(),
                message,
                "no server stores it: remove it",
            ));
        }
    }
    let wide = listed.iter().any(
        |(value, _)| matches!(value, Scalar::Integer(number) if i32::try_from(*number).is_err()),
    );
    let kind = match listed.first() {
        Some((Scalar::Text(_), _)) => Kind::Varchar,
        _ if wide => Kind::Bigint,
        _ => Kind::Integer,
    };
    let literals = listed.into_iter().map(|(value, _)| match value {
        Scalar::Integer(number) => Literal::Integer(*number),
        Scalar::Text(text) => Literal::Text(text.clone()),
    });
    of(kind, Test::OneOf(literals.collect()))
}

fn end_time(text: &str, written: &Text, diagnostics: &mut Vec<Diagnostic>) -> Option<Column> {
    let read = grammar::column(text, written)
        .map_err(|diagnostic| diagnostics.push(*diagnostic))
        .ok()?;
    time_column(&read, written, diagnostics)
}

/// A rule lacks a field.
fn missing(name: &Text, field: &str, help: &str) -> Diagnostic {
    let message = format!("rule `{}` has no `{field}`", name.get_ref().escape_debug());
    Diagnostic::error("missing-field", name.span(), message, help)
}

/// Tells which fields a table of a rule lacks: name, whether it is there, how to write it.
fn check_there(
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

fn time_column(
    read: &ColumnText,
    written: &Text,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Column> {
    let column = names::column(read, Kind::Timestamp, diagnostics)?;
    if names::identifies(column.kind) {
        diagnostics.push(Diagnostic::error(
            "type-mismatch",
            read.kind.as_ref().map_or(written.span(), |kind| kind.span()),
            format!("`{}` is `{}` and cannot be an end time", column.name.escape_debug(), names::kind_name(column.kind)),
            "an end time is a `timestamp` (zone-less, in the spec's `time_zone`) or a `timestamptz`",
        ));
        return None;
    }
    Some(column)
}

/// Tells what is missing in `keep`.
fn check_keep(rule: &Text, written: &Spanned<&spec::Keep>, diagnostics: &mut Vec<Diagnostic>) {
    let keep = written.get_ref();
    let fields = [
        (
            "newest",
            keep.newest.is_some(),
            "add `newest = 1`: how many of each group stay",
        ),
        (
            "per",
            keep.per.is_some(),
            "add `per = \"column type\"`: what tells the groups apart",
        ),
        (
            "by",
            keep.by.is_some(),
            "add `by = \"column type\"`: what says which are the newest",
        ),
    ];
    let what = format!("`keep` of rule `{}`", rule.get_ref().escape_debug());
    check_there(&what, written.span(), &fields, diagnostics);
}

/// What stays as the newest of its group, in each of the ways that are written.
fn newest(
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Newest> {
    let Some(written) = &rule.keep else {
        return Vec::new();
    };
    let keeps = spec::each_keep(written);
    if keeps.is_empty() {
        diagnostics.push(Diagnostic::error(
            "empty-condition",
            written.span(),
            format!(
                "`keep` of rule `{}` keeps nothing",
                name.get_ref().escape_debug()
            ),
            "list at least one group, or remove `keep`",
        ));
    }
    keeps
        .iter()
        .filter_map(|keep| newest_of(text, name, keep, diagnostics))
        .collect()
}

fn newest_of(
    text: &str,
    rule: &Text,
    written: &Spanned<&spec::Keep>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Newest> {
    check_keep(rule, written, diagnostics);
    let keep = written.get_ref();
    let mut seen = Vec::new();
    let mut columns = |written: &Option<Spanned<spec::Names>>, default| {
        let written = spec::each(written.as_ref()?);
        single::columns(text, &written, default, &mut seen, diagnostics)
    };
    let (per, by) = (
        columns(&keep.per, Kind::Bigint),
        columns(&keep.by, Kind::Timestamp),
    );
    let of = conditions(&keep.of, diagnostics);
    keep.newest.as_ref()?;
    let count = names::count(keep.newest.as_ref(), 1, 1..=1_000, diagnostics);
    let (per, by) = (per?, by?);
    for (field, columns) in [("per", &per), ("by", &by)] {
        if columns.is_empty() {
            diagnostics.push(Diagnostic::error(
                "empty-condition",
                written.span(),
                format!("`{field}` has no columns"),
                "name at least one",
            ));
        }
    }
    (!per.is_empty() && !by.is_empty()).then_some(Newest { count, per, by, of })
}

fn limits(written: &spec::Limits, diagnostics: &mut Vec<Diagnostic>) -> Limits {
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

/// What the parts of a rule that name tables of its family need to know.
struct Family<'a> {
    spec: &'a Spec,
    tables: &'a Resolved,
    rule: &'a Option<Text>,
    order: &'a [TableId],
}

impl Family<'_> {
    /// The table of that name, if the rule's families have rows of it.
    fn require(&self, name: &Text, diagnostics: &mut Vec<Diagnostic>) -> Option<TableId> {
        let table = self.tables.require(self.spec, name, diagnostics)?;
        let root = self.rule.as_ref()?;
        if self.order.is_empty() || self.order.contains(&table) {
            return Some(table);
        }
        if !self.tables.edges_are_unclear() {
            diagnostics.push(
                Diagnostic::error(
                    "table-outside-family",
                    name.span(),
                    format!(
                        "`{}` does not belong to the rule's root",
                        name.get_ref().escape_debug()
                    ),
                    format!(
                        "name a table whose rows belong to `{}`, or add the missing edge",
                        root.get_ref().escape_debug()
                    ),
                )
                .related(root.span(), "the root"),
            );
        }
        None
    }
}

fn hierarchy(
    text: &str,
    rule: &spec::Rule,
    root: Option<TableId>,
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Link> {
    let mut links: Vec<(Link, Span)> = Vec::new();
    for written in &rule.hierarchy {
        let read = grammar::link(text, written)
            .map_err(|diagnostic| diagnostics.push(*diagnostic))
            .ok();
        let Some(read) = read else { continue };
        let table = family.tables.require(family.spec, &read.table, diagnostics);
        let (Some(table), Some(root)) = (table, root) else {
            continue;
        };
        let (parent, child) = if table == root {
            own_ends(&read, root, family.tables, diagnostics)
        } else {
            let end = |column: &Text, diagnostics: &mut Vec<Diagnostic>| {
                relation_end(&read.table, column, table, root, family.tables, diagnostics)
            };
            (
                end(&read.parent, diagnostics),
                end(&read.child, diagnostics),
            )
        };
        let (Some(parent), Some(child)) = (parent, child) else {
            continue;
        };
        if parent == child {
            diagnostics.push(
                Diagnostic::error(
                    "relation-one-end",
                    read.child.span(),
                    format!(
                        "both ends of the relation are `{}`",
                        child.name.escape_debug()
                    ),
                    "name the column of the upper member first, then the column of the descendant",
                )
                .related(read.parent.span(), "the upper end"),
            );
            continue;
        }
        let link = Link {
            table,
            parent,
            child,
        };
        let same = |other: &Link| {
            (other.table, &other.parent, &other.child) == (link.table, &link.parent, &link.child)
        };
        match links.iter().find(|(other, _)| same(other)) {
            Some((_, first)) => diagnostics.push(
                Diagnostic::error(
                    "duplicate-link",
                    written.span(),
                    "the same relation is listed twice",
                    "remove one of the two",
                )
                .related(first.clone(), "first here"),
            ),
            None => links.push((link, written.span())),
        }
    }
    links.into_iter().map(|(link, _)| link).collect()
}

/// The ends of a link between rows of the root table: what a row names, and the key that it is named by.
fn own_ends(
    link: &LinkText,
    root: TableId,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Option<Column>, Option<Column>) {
    // A root without a key has been told of.
    let Some(key) = tables.tables[root.0].key.first() else {
        return (None, None);
    };
    names::identifier(&link.parent, "column", diagnostics);
    let parent = Column {
        name: link.parent.get_ref().clone(),
        kind: key.kind,
    };
    if link.child.get_ref() == &key.name {
        return (Some(parent), Some(key.clone()));
    }
    let shown = link.table.get_ref().escape_debug();
    let key = key.name.escape_debug();
    diagnostics.push(
        Diagnostic::error(
            "unknown-column",
            link.child.span(),
            format!("`{}` is not the key of `{shown}`", link.child.get_ref().escape_debug()),
            format!(
                "rows of the root table name the one above them by its key: write `{shown}: {} -> {key}`",
                link.parent.get_ref().escape_debug()
            ),
        )
        .related(tables.spans[root.0].clone(), format!("its key is `{key}`")),
    );
    (Some(parent), None)
}

fn relation_end(
    relation: &Text,
    column: &Text,
    table: TableId,
    root: TableId,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Column> {
    let edges = tables.tables[table.0]
        .parents()
        .filter(|edge| edge.parent == root && edge.further.is_empty())
        .filter(|edge| tables.tables[root.0].key.first() == Some(&edge.parent_column));
    let ends: Vec<&Column> = edges.map(|edge| &edge.column).collect();
    let found = ends.iter().find(|end| end.name == *column.get_ref());
    // An edge that could not be read may be the one that is missed here.
    if found.is_none() && !tables.edge_is_unclear(table) {
        let root = &tables.tables[root.0];
        let key = root.key.first().map_or("…", |key| key.name.as_str());
        let shown = column.get_ref().escape_debug();
        let restricts = tables.tables[table.0]
            .keeps()
            .any(|edge| edge.column.name == *column.get_ref());
        let otherwise = if restricts {
            format!(
                "take `restrict` out of the edge of `{shown}`: a link goes when either of its ends goes"
            )
        } else {
            format!(
                "add `{shown} -> {}.{}` to the parents of `{}`: a link goes when either of its ends goes",
                root.name.escape_debug(),
                key.escape_debug(),
                relation.get_ref().escape_debug()
            )
        };
        diagnostics.push(
            Diagnostic::error(
                "relation-one-end",
                column.span(),
                format!(
                    "`{shown}` is no edge from `{}` to the rule's root",
                    relation.get_ref().escape_debug()
                ),
                match nearest(column.get_ref(), ends.iter().map(|end| end.name.as_str())) {
                    Some(end) => format!("did you mean `{end}`? otherwise {otherwise}"),
                    None => otherwise,
                },
            )
            .related(tables.spans[table.0].clone(), "the relation table"),
        );
    }
    found.map(|end| (*end).clone())
}

fn artifacts(
    written: &[spec::Artifact],
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Artifact> {
    let mut artifacts: Vec<Artifact> = Vec::new();
    for artifact in written {
        names::identifier(&artifact.path, "column", diagnostics);
        if let Some(host) = &artifact.host {
            names::identifier(host, "column", diagnostics);
        }
        let Some(table) = family.require(&artifact.table, diagnostics) else {
            continue;
        };
        if let Some(finding) = too_deep(artifact, table, family) {
            diagnostics.push(finding);
            continue;
        }
        let path = artifact.path.get_ref().clone();
        if let Some(first) = artifacts
            .iter()
            .position(|other| other.table == table && other.path == path)
        {
            diagnostics.push(
                Diagnostic::error(
                    "duplicate-artifact",
                    artifact.path.span(),
                    format!("the files of `{}` are listed twice", path.escape_debug()),
                    "remove one of the two",
                )
                .related(written[first].path.span(), "first here"),
            );
        }
        artifacts.push(Artifact {
            table,
            host: artifact.host.as_ref().map(|host| host.get_ref().clone()),
            path,
        });
    }
    artifacts
}

/// Files are noted by the keys of the members, so their rows must name these.
fn too_deep(artifact: &spec::Artifact, table: TableId, family: &Family<'_>) -> Option<Diagnostic> {
    let root = *family.order.last()?;
    let key = family.tables.tables[root.0].key.first();
    let mut parents = family.tables.tables[table.0].parents();
    let names_root = parents.any(|edge| {
        edge.parent == root && edge.further.is_empty() && Some(&edge.parent_column) == key
    });
    if table == root || names_root || family.tables.edges_are_unclear() {
        return None;
    }
    let shown = artifact.table.get_ref().escape_debug();
    Some(
        Diagnostic::error(
            "artifact-too-deep",
            artifact.table.span(),
            format!("`{shown}` has no column that names the key of the rule's root"),
            "files are noted for the rows that name a root by its key: add such a column to `parents`, or leave the files to something else",
        )
        .related(family.tables.spans[table.0].clone(), "the table"),
    )
}

/// The further names of both documents.
fn reports(
    text: &str,
    rule: &spec::Rule,
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<ReportField> {
    let mut found = Vec::new();
    for document in [Document::Preview, Document::Run] {
        let fields = fields(&rule.report, document);
        found.extend(report(text, document, fields, family, diagnostics));
    }
    found
}

fn report(
    text: &str,
    document: Document,
    fields: &BTreeMap<Text, Text>,
    family: &Family<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<ReportField> {
    let mut report = Vec::new();
    for (name, written) in in_file_order(fields) {
        names::identifier(name, "report field", diagnostics);
        if OWN_KEYS.contains(&name.get_ref().as_str()) {
            let message = format!("`{}` is one of windrow's own keys", name.get_ref());
            let help = "the document has it anyway or may get it: choose another name";
            diagnostics.push(Diagnostic::error(
                "reserved-report-field",
                name.span(),
                message,
                help,
            ));
        }
        let figure = match grammar::figure(text, written) {
            Err(diagnostic) => {
                diagnostics.push(*diagnostic);
                None
            }
            Ok(FigureText::RowsOf(table)) => family.require(&table, diagnostics).map(Figure::Table),
            Ok(FigureText::Word(word)) => self::figure(&word, document, diagnostics),
        };
        if let Some(figure) = figure {
            report.push(ReportField {
                name: name.get_ref().clone(),
                document,
                figure,
            });
        }
    }
    report
}

fn figure(word: &Text, document: Document, diagnostics: &mut Vec<Diagnostic>) -> Option<Figure> {
    let here: Vec<&str> = FIGURES
        .iter()
        .filter(|(_, _, only)| only.is_none_or(|only| only == document))
        .map(|(name, _, _)| *name)
        .collect();
    let known = FIGURES.iter().find(|(name, _, _)| name == word.get_ref());
    if let Some((_, figure, _)) = known.filter(|(name, _, _)| here.contains(name)) {
        return Some(figure.clone());
    }
    let shown = word.get_ref().escape_debug();
    let title = match document {
        Document::Preview => "preview",
        Document::Run => "run",
    };
    let otherwise = format!(
        "figures of the {title}: `{}`, `rows of TABLE`",
        here.join("`, `")
    );
    diagnostics.push(match known {
        Some(_) => Diagnostic::error(
            "unknown-figure",
            word.span(),
            format!("the {title} document has no figure `{shown}`"),
            otherwise,
        ),
        None => Diagnostic::error(
            "unknown-figure",
            word.span(),
            format!("unknown figure `{shown}`"),
            did_you_mean(word.get_ref(), here, &otherwise),
        ),
    });
    None
}

fn fields(report: &spec::Report, document: Document) -> &BTreeMap<Text, Text> {
    match document {
        Document::Preview => &report.preview,
        Document::Run => &report.run,
    }
}
