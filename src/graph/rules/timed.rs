//! Rules whose rows are deleted by a time of their own: a stored removal time, or their age.

use toml::Spanned;

use super::archive;
use super::columns::{end_time, time_or_number};
use super::end::{finals, of_partitions, serves};
use super::family::{Family, root};
use super::fields::{foreign_to_time, missing, refuse};
use super::limits::limits;
use super::raw;
use super::report::reports;
use super::retention::retention;
use super::stamp::{Around, stamps};
use crate::diagnostic::{Diagnostic, Span};
use crate::dialect::Dialect;
use crate::graph::conditions::conditions;
use crate::graph::tables::Resolved;
use crate::graph::written::by_family;
use crate::graph::{
    Column, Condition, End, Epoch, Member, Reference, Retention, Rule, Shared, Stamp, Strategy,
    TableId, Timed, Unit, names,
};
use crate::spec::{self, Spec, Text, duration::DAY, grammar};

/// Resolves a rule of the strategy `removal-time`, `age` or `partition`.
pub(super) fn rule(
    spec: &Spec,
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    strategy: spec::Strategy,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Rule> {
    let by_removal_time = strategy == spec::Strategy::RemovalTime;
    let foreign = foreign_to_time(text, rule, strategy);
    refuse(&foreign, strategy, diagnostics);
    check_written(name, rule, by_removal_time, diagnostics);
    let written = rule.root.as_ref();
    let root = written.and_then(|written| root(spec, written, tables, diagnostics));
    let (time, epoch) = time(spec, text, rule, strategy, diagnostics).unzip();
    let by_partition = strategy == spec::Strategy::Partition;
    let ended = rule.end_time.as_ref().filter(|_| !by_partition);
    let ended = ended.and_then(|written| end_time(text, written, diagnostics));
    let members = if by_removal_time || by_partition && !rule.tables.is_empty() {
        members(spec, text, rule, root, tables, diagnostics)
    } else {
        root.map(alone).into_iter().collect()
    };
    let order: Vec<TableId> = members.iter().map(|member| member.table).collect();
    // A table that could not be read may be the one that is missed.
    if members.len() >= rule.tables.len() && !tables.edges_are_unclear() {
        check_children(name, &order, strategy, tables, diagnostics);
    }
    let references = references(text, spec, rule, &order, tables, diagnostics);
    let around = Around {
        spec,
        text,
        name,
        tables,
        root,
        family: family_column(root, &members, tables),
        order: &order,
        time: time.as_ref(),
        ended: ended.as_ref(),
    };
    let stamped = rule.stamp.as_ref().filter(|_| by_removal_time);
    let stamps = stamped
        .map(|written| stamps(&around, written, diagnostics))
        .unwrap_or_default();
    let kept = if by_removal_time {
        Some(stored(name, rule, diagnostics))
    } else {
        retention(text, name, rule.retention.as_ref(), diagnostics)
    };
    let family = Family {
        spec,
        tables,
        rule: &rule.root,
        order: &order,
    };
    let (detached, archive) = archive::divided(rule, by_partition, &family, diagnostics);
    let report = reports(text, rule, &family, diagnostics);
    check_unit(rule, root, &members, diagnostics);
    check_order_of_own(rule, text, &stamps, &order, tables, diagnostics);
    let limits = limits(&rule.limits, diagnostics);
    let candidates = conditions(&rule.candidates, diagnostics);
    let where_sql = raw::of_time(rule, strategy, diagnostics);
    let (r#final, end) = waits(text, name, rule, by_partition, diagnostics);
    let kept = kept?;
    Some(Rule {
        name: name.get_ref().clone(),
        root: root?,
        candidates,
        r#final,
        where_sql,
        end_time: time?,
        otherwise: None,
        epoch: epoch?,
        last: None,
        strategy: Strategy::Timed(Timed {
            retention: kept.default.filter(|_| !by_removal_time).unwrap_or(0),
            unit: unit(text, rule),
            partitioned: by_partition,
            ahead: ahead(rule, diagnostics),
            estimated: by_partition && estimated(rule),
            detached,
            members,
            ended,
            end,
            references,
            stamps,
        }),
        hierarchy: Vec::new(),
        shared: Shared::Literal,
        retention: kept,
        newest: Vec::new(),
        limits,
        artifacts: Vec::new(),
        archive,
        orphan_guard: false,
        report,
        order,
    })
}

/// Which rows of the root table are final, and when they ended: others keep their partition.
fn waits(
    text: &str,
    name: &Text,
    rule: &spec::Rule,
    by_partition: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<Condition>, Option<End>) {
    if !by_partition {
        return (Vec::new(), None);
    }
    let finals = finals(name, rule, diagnostics);
    (finals, of_partitions(text, rule, diagnostics))
}

/// The time of the rows, and what it counts if it is a number, which no removal time is.
fn time(
    spec: &Spec,
    text: &str,
    rule: &spec::Rule,
    strategy: spec::Strategy,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(Column, Option<Epoch>)> {
    let written = rule.time.as_ref();
    if strategy == spec::Strategy::RemovalTime {
        return Some((end_time(text, written?, diagnostics)?, None));
    }
    let time = written.and_then(|written| time_or_number(text, written, diagnostics));
    if strategy == spec::Strategy::Partition {
        let epoch = time.as_ref().and_then(|(_, epoch)| *epoch);
        check_partitions(spec, rule, epoch, diagnostics);
    }
    time
}

/// How far ahead partitions are made, in seconds.
fn ahead(rule: &spec::Rule, diagnostics: &mut Vec<Diagnostic>) -> Option<i64> {
    let written = rule.ahead.as_ref()?;
    Some(names::milliseconds(Some(written), 0, 1_000, 1_000, diagnostics) / 1_000)
}

/// Whole partitions are dropped where a column of a time is what they are divided by.
fn check_partitions(
    spec: &Spec,
    rule: &spec::Rule,
    epoch: Option<Epoch>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    // A table that is there with others, or one that others refer to.
    let several = rule.tables.get(1).or(rule.references.first());
    if let Some(several) = several
        && serves(spec, |dialect| dialect != Dialect::Postgres)
    {
        diagnostics.push(Diagnostic::error(
            "partitions-of-one-dialect",
            several.span(),
            "partitions of several tables go together, and stay for rows that refer to them, only on PostgreSQL",
            "write `dialects = [\"postgres\"]` into the spec; for the other servers, write a rule for each table, or \
             `strategy = \"age\"`, which keeps what `references` says",
        ));
    }
    let number = epoch.filter(|epoch| epoch.per_second().is_some());
    if let (Some(epoch), Some(time)) = (number, &rule.time) {
        diagnostics.push(Diagnostic::error(
            "partitions-by-number",
            time.span(),
            format!("the bounds of partitions are not read as `{}`", epoch.word()),
            "partitions are dropped by a `timestamp`, `timestamptz` or `date`; `strategy = \"age\"` deletes the rows",
        ));
    }
}

/// Whether the rows of dropped partitions need not be counted.
fn estimated(rule: &spec::Rule) -> bool {
    let rows = rule.rows.as_ref().map(Spanned::get_ref);
    rows == Some(&spec::Rows::Estimated)
}

/// Tells which of the fields are missing that every rule by time needs.
fn check_written(
    name: &Text,
    rule: &spec::Rule,
    by_removal_time: bool,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut lacks = |field: &str, help: &str| diagnostics.push(missing(name, field, help));
    if rule.root.is_none() {
        lacks(
            "root",
            "add `root = \"…\"`: the table whose keys identify families",
        );
    }
    if rule.time.is_none() {
        lacks(
            "time",
            "add `time = \"column\"`: the column that says when a row is deleted",
        );
    }
    if by_removal_time && rule.tables.is_empty() {
        lacks(
            "tables",
            "add `tables = [\"table: column that refers to the root\", …]`, children before parents",
        );
    }
}

/// The root table of a rule that has no other.
fn alone(table: TableId) -> Member {
    let family = Vec::new();
    Member { table, family }
}

/// The column of the root table that refers to the root of a row's family; none where each row is one.
fn family_column<'a>(
    root: Option<TableId>,
    members: &'a [Member],
    tables: &Resolved,
) -> Option<&'a String> {
    let member = members.iter().find(|member| Some(member.table) == root)?;
    let key = tables.tables[member.table.0].key.first()?;
    let column = member.family.first()?;
    (*column != key.name).then_some(column)
}

/// What is deleted together.
fn unit(text: &str, rule: &spec::Rule) -> Unit {
    if by_family(text, rule) {
        Unit::Family
    } else {
        Unit::Window
    }
}

/// Families need rows that say to which one they belong.
fn check_unit(
    rule: &spec::Rule,
    root: Option<TableId>,
    members: &[Member],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let by_family = |unit: &&Spanned<spec::Unit>| *unit.get_ref() == spec::Unit::Family;
    let Some(unit) = rule.unit.as_ref().filter(by_family) else {
        return;
    };
    // A table that could not be read may be the one that is missed.
    let unclear = root.is_none() || members.len() < rule.tables.len();
    let belongs = |member: &Member| Some(member.table) != root && !member.family.is_empty();
    if !unclear && !members.is_empty() && !members.iter().any(belongs) {
        diagnostics.push(Diagnostic::error(
            "family-of-the-root-alone",
            unit.span(),
            "no table of the rule says which family its rows belong to",
            "name the columns: `tables = [\"table: column that refers to the root\", …]`, or remove `unit`",
        ));
    }
}

/// Rows without a root are found by a row in between, which must still be there then.
fn check_order_of_own(
    rule: &spec::Rule,
    text: &str,
    stamps: &[Stamp],
    order: &[TableId],
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let place = |table: TableId| order.iter().position(|it| *it == table);
    let of_families = stamps.iter().filter(|stamp| stamp.of.is_none());
    for own in of_families.flat_map(|stamp| &stamp.own) {
        let Some(between) = own.through.filter(|it| place(*it) < place(own.table)) else {
            continue;
        };
        let name = |table: TableId| tables.tables[table.0].name.escape_debug().to_string();
        let written = rule.tables.iter().find(|member| {
            grammar::member(text, member)
                .is_ok_and(|read| *read.table.get_ref() == tables.tables[own.table.0].name)
        });
        let Some(written) = written else { continue };
        diagnostics.push(Diagnostic::error(
            "parent-before-child",
            written.span(),
            format!(
                "`{}` is listed after `{}`, by which its rows without a root are found",
                name(own.table),
                name(between)
            ),
            format!(
                "move it before `{}`: rows are deleted in this order",
                name(between)
            ),
        ));
    }
}

/// The retention of a rule by removal time: a minimum after the end, if the end is known, and the safety lag.
fn stored(name: &Text, rule: &spec::Rule, diagnostics: &mut Vec<Diagnostic>) -> Retention {
    let written = rule.retention.as_ref().map(Spanned::get_ref);
    let minimum = written.and_then(|it| it.minimum.as_ref());
    let safety_lag = written.and_then(|it| it.safety_lag.as_ref());
    if let (Some(minimum), None) = (minimum, &rule.end_time) {
        diagnostics.push(Diagnostic::error(
            "minimum-without-end-time",
            minimum.span(),
            format!(
                "rule `{}` cannot keep a minimum: it does not know when a family ended",
                name.get_ref().escape_debug()
            ),
            "add `end_time = \"column\"` of the root table, or remove the minimum: then only the stored removal time decides",
        ));
    }
    let default = if rule.end_time.is_some() { 7 * DAY } else { 0 };
    let minimum = names::milliseconds(minimum, default, 1_000, 0, diagnostics) / 1_000;
    let safety_lag = names::milliseconds(safety_lag, DAY, 1_000, 0, diagnostics) / 1_000;
    Retention {
        default: Some(minimum),
        minimum,
        safety_lag,
        per: None,
        opt_in: false,
        source: None,
        calendar: false,
    }
}

fn members(
    spec: &Spec,
    text: &str,
    rule: &spec::Rule,
    root: Option<TableId>,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Member> {
    let mut found: Vec<(Member, Span)> = Vec::new();
    let mut unclear = false;
    for written in &rule.tables {
        let read = grammar::member(text, written)
            .map_err(|diagnostic| diagnostics.push(*diagnostic))
            .ok();
        let table = read
            .as_ref()
            .and_then(|read| tables.require(spec, &read.table, diagnostics));
        let (Some(read), Some(table)) = (read, table) else {
            unclear = true;
            continue;
        };
        if let Some((_, first)) = found.iter().find(|(member, _)| member.table == table) {
            let name = read.table.get_ref();
            diagnostics.push(names::twice(name, read.table.span(), first.clone()));
            continue;
        }
        let mut family: Vec<String> = Vec::new();
        for column in &read.columns {
            names::identifier(column, "column", diagnostics);
            if !family.contains(column.get_ref()) {
                family.push(column.get_ref().clone());
            }
        }
        let place = read.table.span();
        // A row that names another is deleted first: listed after it, it would be left without it for a moment, or for good.
        for edge in &tables.tables[table.0].edges {
            let parent = found.iter().find(|(member, _)| member.table == edge.parent);
            if let Some((_, parent)) = parent {
                let name = tables.tables[edge.parent.0].name.escape_debug();
                diagnostics.push(
                    Diagnostic::error(
                        "parent-before-child",
                        place.clone(),
                        format!(
                            "`{}` is listed after `{name}`, to which its rows belong",
                            read.table.get_ref().escape_debug()
                        ),
                        format!("move it before `{name}`: rows are deleted in this order"),
                    )
                    .related(parent.clone(), "the parent"),
                );
            }
        }
        found.push((Member { table, family }, place));
    }
    if let (Some(root), Some(written), false) = (root, &rule.root, unclear)
        && !rule.tables.is_empty()
        && found.iter().all(|(member, _)| member.table != root)
    {
        diagnostics.push(Diagnostic::error(
            "root-not-listed",
            written.span(),
            format!(
                "the root table `{}` is not among the rule's `tables`",
                written.get_ref().escape_debug()
            ),
            "list it after all tables whose rows belong to it",
        ));
    }
    let place = |table| found.iter().position(|(member, _)| member.table == table);
    if let Some(root) = root.filter(|_| by_family(text, rule)).and_then(place) {
        // The next run finds by its root what a killed one has left of a family.
        for (member, span) in found[root + 1..]
            .iter()
            .filter(|it| !it.0.family.is_empty())
            .filter(|it| {
                // Told above.
                let mut edges = tables.tables[it.0.table.0].edges.iter();
                edges.all(|edge| edge.parent != found[root].0.table)
            })
        {
            let child = tables.tables[member.table.0].name.escape_debug();
            let parent = tables.tables[found[root].0.table.0].name.escape_debug();
            diagnostics.push(
                Diagnostic::error(
                    "parent-before-child",
                    span.clone(),
                    format!(
                        "`{child}` is listed after `{parent}`, whose families its rows belong to"
                    ),
                    format!("move it before `{parent}`: the root of a family is deleted last"),
                )
                .related(found[root].1.clone(), "the root table"),
            );
        }
    }
    found.into_iter().map(|(member, _)| member).collect()
}

/// A table whose rows belong to one that is emptied would be left with orphans.
fn check_children(
    name: &Text,
    order: &[TableId],
    strategy: spec::Strategy,
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (index, table) in tables.tables.iter().enumerate() {
        if let Some(edge) = table.releases().find(|edge| order.contains(&edge.parent)) {
            diagnostics.push(
                Diagnostic::error(
                    "set-null-by-time",
                    name.span(),
                    format!(
                        "the rule would have to set `{}` of `{}` to NULL",
                        edge.columns().escape_debug(),
                        table.name.escape_debug()
                    ),
                    "only rules of the strategy `end-time` do: remove the edge, and name it under `references` if its rows \
                     are to be kept unchanged",
                )
                .related(tables.spans[index].clone(), "the table"),
            );
            continue;
        }
        if order.contains(&TableId(index)) {
            continue;
        }
        if let Some(edge) = table.edges.iter().find(|edge| order.contains(&edge.parent)) {
            let parent = tables.tables[edge.parent.0].name.escape_debug();
            let child = table.name.escape_debug();
            diagnostics.push(
                Diagnostic::error(
                    "child-not-listed",
                    name.span(),
                    format!("the rows of `{child}` belong to `{parent}`, but the rule leaves them behind"),
                    if strategy != spec::Strategy::Age {
                        format!("list `{child}` before `{parent}` under `tables`, or remove the edge")
                    } else {
                        "the rule deletes rows of one table: use the strategy `orphan` or `expiry`, which also deletes \
                         what belongs to its rows, or remove the edge"
                            .to_owned()
                    },
                )
                .related(tables.spans[index].clone(), "the table"),
            );
        }
    }
}

fn references(
    text: &str,
    spec: &Spec,
    rule: &spec::Rule,
    order: &[TableId],
    tables: &Resolved,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Reference> {
    let mut found = Vec::new();
    for written in &rule.references {
        let read = grammar::reference(text, written)
            .map_err(|diagnostic| diagnostics.push(*diagnostic))
            .ok();
        let Some(read) = read else { continue };
        names::identifier(&read.table, "table", diagnostics);
        names::identifier(&read.parent, "column", diagnostics);
        let Some(to) = tables.require(spec, &read.child, diagnostics) else {
            continue;
        };
        let shown = read.child.get_ref().escape_debug();
        if !order.is_empty() && !order.contains(&to) {
            diagnostics.push(Diagnostic::error(
                "table-outside-family",
                read.child.span(),
                format!("`{shown}` is not a table of the rule"),
                "name a table whose rows the rule deletes",
            ));
        } else if tables.tables[to.0].key.is_empty() && !tables.key_is_unclear(to) {
            diagnostics.push(
                Diagnostic::error(
                    "parent-without-key",
                    read.child.span(),
                    format!("`{shown}` has no key that a row could refer to"),
                    format!("add `key = \"column type\"` to `{shown}`"),
                )
                .related(tables.spans[to.0].clone(), "defined without a key"),
            );
        } else {
            found.push(Reference {
                table: read.table.get_ref().clone(),
                column: read.parent.get_ref().clone(),
                to,
            });
        }
    }
    found
}
