//! Rules: who is eligible, when, and how much at once.

mod archive;
mod artifacts;
mod columns;
mod end;
mod family;
mod fields;
mod hierarchy;
mod keep;
mod limits;
mod raw;
mod report;
mod retention;
mod single;
mod stamp;
mod timed;

use std::collections::BTreeMap;

use toml::Spanned;

use self::artifacts::artifacts;
use self::family::Family;
use self::fields::missing;
use self::hierarchy::hierarchy;
use self::keep::newest;
use self::limits::limits;
use self::report::reports;
use crate::diagnostic::{Diagnostic, Span};
use crate::graph::conditions::conditions;
use crate::graph::names;
use crate::graph::tables::Resolved;
use crate::graph::{Rule, Shared, Strategy, TableId};
use crate::spec::{self, Spec, Text, in_file_order};

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

/// Routines are named after the rule and the stamp: `a_b` of rule `c` is not distinguished from `a` of rule `c_b`.
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
    check_ends(spec, &taken, diagnostics);
}

/// Two words begin the names of routines and end like those of others: `a_stamp_rows` is one of stamp `a`, and would be one of a rule
/// `a_stamp`; on MySQL and MariaDB, `a_late_rows` is one of rule `a`.
fn check_ends(spec: &Spec, stamps: &BTreeMap<String, Span>, diagnostics: &mut Vec<Diagnostic>) {
    for (rule, _) in in_file_order(&spec.rules) {
        let name = rule.get_ref().as_str();
        let partitions = spec.rules.iter().filter(|(_, other)| {
            let strategy = other.strategy.as_ref().map(Spanned::get_ref);
            matches!(strategy, Some(spec::Strategy::Partition))
        });
        let first = match name.rsplit_once('_') {
            Some((of, "stamp")) => stamps.get(of).cloned(),
            Some((of, "late")) => {
                let mut partitions = partitions.map(|(other, _)| other);
                let other = partitions.find(|other| other.get_ref() == of);
                other.map(Spanned::span)
            }
            _ => None,
        };
        if let Some(first) = first {
            diagnostics.push(names::like_another(name, rule.span(), first));
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
        Some(
            strategy @ (spec::Strategy::RemovalTime
            | spec::Strategy::Age
            | spec::Strategy::Partition),
        ) => {
            return timed::rule(spec, text, name, rule, *strategy, tables, diagnostics);
        }
        Some(
            strategy @ (spec::Strategy::Expiry | spec::Strategy::Orphan | spec::Strategy::KeepLast),
        ) => return single::rule(spec, text, name, rule, *strategy, tables, diagnostics),
        Some(spec::Strategy::EndTime) => fields::refuse_in_end_time(rule, diagnostics),
        None => {}
    }
    let mut lacks = |field: &str, help: &str| diagnostics.push(missing(name, field, help));
    if rule.strategy.is_none() {
        lacks("strategy", "add `strategy = \"end-time\"`");
    }
    if rule.root.is_none() {
        lacks(
            "root",
            "add `root = \"…\"`: the table with the rows that everything else belongs to",
        );
    }
    if rule.r#final.is_none() {
        lacks(
            "final",
            "add `final = { column = [values] }`: the values of a row that no longer changes",
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
        .and_then(|root| family::root(spec, root, tables, diagnostics));
    let candidates = conditions(&rule.candidates, diagnostics);
    let finals = end::finals(name, rule, diagnostics);
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
        where_sql: raw::condition(rule.where_sql.as_ref(), raw::OF_FAMILIES, diagnostics),
        end_time: end.time,
        otherwise: end.otherwise,
        epoch: end.epoch,
        last: end.last,
        strategy: Strategy::EndTime,
        hierarchy,
        shared: match rule.shared.as_ref().map(Spanned::get_ref) {
            None | Some(spec::Shared::Closed) => Shared::Closed,
            Some(spec::Shared::Literal) => Shared::Literal,
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

/// Whether the rule's triggers are wanted; they need a table to be on.
fn orphan_guard(rule: &spec::Rule, order: &[TableId], diagnostics: &mut Vec<Diagnostic>) -> bool {
    let Some(written) = rule.orphan_guard.as_ref().filter(|it| *it.get_ref()) else {
        return false;
    };
    if order.len() == 1 && rule.hierarchy.is_empty() {
        diagnostics.push(Diagnostic::error(
            "nothing-to-guard",
            written.span(),
            "no other row is deleted with a row of the root table",
            "remove `orphan_guard`, or list the tables whose rows refer to it",
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
                        "rows of `{}` are deleted with families of rule `{}` and would keep them",
                        table.name.escape_debug(),
                        rule.get_ref().escape_debug()
                    ),
                    format!(
                        "a row either is deleted with a family or keeps one: remove `restrict` from the edge of `{}`, or \
                         remove the other edges",
                        edge.column.name.escape_debug()
                    ),
                )
                .related(rule.span(), "the rule"),
            );
        }
    }
}
