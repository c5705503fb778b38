//! What the rules, as they are written, tell of tables before anything is resolved.

use toml::Spanned;

use crate::spec::{self, Spec, StampOf, Strategy, Text, grammar};

/// Whether one transaction of the rule takes whole families: where its rows say to which they belong, unless it is written.
pub(super) fn by_family(text: &str, rule: &spec::Rule) -> bool {
    if let Some(unit) = &rule.unit {
        return *unit.get_ref() == spec::Unit::Family;
    }
    let root = rule.root.as_ref().map(Spanned::get_ref);
    let by_removal_time =
        rule.strategy.as_ref().map(Spanned::get_ref) == Some(&Strategy::RemovalTime);
    let mut members = rule.tables.iter();
    by_removal_time
        && members.any(|member| {
            grammar::member(text, member)
                .is_ok_and(|read| !read.columns.is_empty() && Some(read.table.get_ref()) != root)
        })
}

/// The columns of a table by which rules find its rows besides its edges, so that `indexed` may name them.
pub(super) fn searched(spec: &Spec, text: &str, table: &str) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    let column = |written: &Option<Text>| {
        let read = grammar::column(text, written.as_ref()?).ok()?;
        Some(read.name.into_inner())
    };
    for rule in spec.rules.values() {
        let at_root = rule
            .root
            .as_ref()
            .is_some_and(|root| root.get_ref() == table);
        for member in &rule.tables {
            if let Ok(read) = grammar::member(text, member)
                && read.table.get_ref() == table
            {
                columns.extend(column(&rule.time));
                columns.extend(read.columns.into_iter().map(Spanned::into_inner));
            }
        }
        columns.extend(of_stamps(rule, text, table));
        let links = rule.hierarchy.iter();
        let links = links.filter_map(|link| grammar::link(text, link).ok());
        let within = links.filter(|link| at_root && link.table.get_ref() == table);
        columns.extend(within.map(|link| link.parent.into_inner()));
        if at_root && rule.tables.is_empty() {
            columns.extend(column(&rule.time));
            columns.extend(of_single_rows(rule, text));
        }
    }
    columns.sort();
    columns.dedup();
    columns
}

/// The tables that a rule lists, as far as they can be read.
pub(super) fn listed(rule: &spec::Rule, text: &str) -> Vec<String> {
    rule.tables
        .iter()
        .filter_map(|written| grammar::member(text, written).ok())
        .map(|read| read.table.into_inner())
        .collect()
}

/// The columns of a table by which a stamp finds its rows, so that `indexed` may name them.
fn of_stamps(rule: &spec::Rule, text: &str, table: &str) -> Vec<String> {
    let stamps = rule.stamp.iter().map(Spanned::get_ref);
    let of_others = stamps.clone().flat_map(|stamp| stamp.of.values());
    let of_others: Vec<&StampOf> = of_others.map(Spanned::get_ref).collect();
    let families = of_others.iter().filter(|of| {
        let root = of.root.as_ref();
        root.is_some_and(|root| root.get_ref() == table)
    });
    let own = stamps.flat_map(|stamp| &stamp.own);
    own.chain(of_others.iter().flat_map(|of| &of.own))
        .filter_map(|written| grammar::own(text, written).ok())
        .filter(|read| read.table.get_ref() == table)
        .map(|read| read.column.into_inner())
        .chain(families.filter_map(|of| of.family.as_ref().map(|it| it.get_ref().clone())))
        .collect()
}

/// Whether a rule's rows are deleted one by one.
pub(super) fn is_single(rule: &spec::Rule) -> bool {
    matches!(
        rule.strategy.as_ref().map(Spanned::get_ref),
        Some(Strategy::Expiry | Strategy::Orphan | Strategy::KeepLast)
    )
}

/// The columns by which a rule of single rows goes through its table, besides its time, so that `indexed` may name them.
fn of_single_rows(rule: &spec::Rule, text: &str) -> Vec<String> {
    let names = |written: &[Text]| -> Option<Vec<String>> {
        let name = |one| Some(grammar::column(text, one).ok()?.name.into_inner());
        written.iter().map(name).collect()
    };
    let mut columns = Vec::new();
    if let Some(fallback) = &rule.fallback {
        columns.extend(names(std::slice::from_ref(&fallback.get_ref().time)).unwrap_or_default());
    }
    let keeps = rule.keep.as_ref().map_or(Vec::new(), spec::each_keep);
    if let Some(keep) = keeps.first().map(|keep| *keep.get_ref())
        && let (Some(per), Some(by)) = (&keep.per, &keep.by)
        && let (Some(group), Some(order)) = (names(&spec::each(per)), names(&spec::each(by)))
    {
        columns.push([group, order].concat().join(", "));
    }
    columns
}
