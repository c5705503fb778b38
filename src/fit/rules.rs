//! What a rule needs of the catalog besides its tables: end times, conditions, definitions, references, files.

use std::collections::BTreeSet;

use super::columns::{
    column_finding, condition_finding, group_finding, live_kind, missing_column, no_table,
    order_finding, unique_finding,
};
use super::finding::{Finding, error, notice};
use super::kinds::{has_fractions, is_whole};
use super::partitions;
use crate::catalog::{Catalog, CatalogColumn, CatalogIndex, CatalogTable};
use crate::dialect::Dialect;
use crate::graph::{
    Column, Definition, Epoch, Final, Graph, Kind, Need, Newest, Rule, Single, Stamp, Strategy,
    Table, Timed, With,
};

/// Adds what a rule reads and the catalog lacks.
pub(super) fn compare(graph: &Graph, rule: &Rule, catalog: &Catalog, found: &mut Vec<Finding>) {
    let root = graph.table(rule.root);
    if let Some(live) = catalog.tables.get(&root.name) {
        let newest = rule.newest.iter().flat_map(|newest| &newest.of);
        for condition in rule.candidates.iter().chain(&rule.r#final).chain(newest) {
            condition_finding(root, condition, catalog.dialect, live, found);
        }
        if let Some((time, epoch)) = rule.counted() {
            epoch_finding(root, time, epoch, catalog.dialect, live, found);
        }
        let counted = rule.counted().map(|(time, _)| time);
        let time = std::iter::once(&rule.end_time).filter(|time| counted != Some(*time));
        for column in time
            .chain(&rule.otherwise)
            .chain(rule.last.iter().flat_map(|last| &last.otherwise))
            .chain(rule.links_of_root().map(|link| &link.parent))
        {
            column_finding(root, column, catalog.dialect, live, found);
        }
        let newest = rule.newest.iter().flat_map(Newest::columns);
        for column in rule.retention.per.iter().chain(newest) {
            group_finding(root, column, catalog.dialect, live, found);
        }
    }
    if let Some(last) = &rule.last {
        let table = graph.table(last.table);
        if let Some(live) = catalog.tables.get(&table.name) {
            column_finding(table, &last.time, catalog.dialect, live, found);
        }
    }
    if rule.drops_partitions() {
        partitions::compare(graph, rule, catalog, found);
    }
    for definition in rule.definitions() {
        definition_findings(definition, catalog, found);
    }
    match &rule.strategy {
        Strategy::EndTime => {}
        Strategy::Timed(timed) => timed_findings(graph, rule, timed, catalog, found),
        Strategy::Single(single) => single_findings(graph, rule, single, catalog, found),
    }
    for artifact in &rule.artifacts {
        let table = graph.table(artifact.table);
        let Some(live) = catalog.tables.get(&table.name) else {
            continue;
        };
        for name in artifact.host.iter().chain([&artifact.path]) {
            if live.column(name).is_none() {
                found.push(missing_column(&table.name, name, live));
            }
        }
    }
}

/// A date says the day, and a number of any kind says when. But for a float of 32 bits on MySQL and MariaDB, where numbers are compared: it
/// has seven digits, and is not read again as it was written.
fn epoch_finding(
    root: &Table,
    time: &Column,
    epoch: Epoch,
    dialect: Dialect,
    live: &CatalogTable,
    found: &mut Vec<Finding>,
) {
    let name = &time.name;
    let Some(there) = live.column(name) else {
        found.push(missing_column(&root.name, name, live));
        return;
    };
    let bare = there.kind.split('(').next().unwrap_or_default();
    let number = live_kind(dialect, there).is_some_and(is_whole) || has_fractions(dialect, there);
    let fits = match epoch.per_second() {
        Some(_) => number,
        None => bare == "date",
    };
    if fits {
        return;
    }
    let message = format!("is `{}`, and the spec says `{}`", there.kind, epoch.word());
    let help = match dialect {
        _ if epoch == Epoch::Date => {
            "write `timestamp` or `timestamptz`, or for a number `epoch-s`, `epoch-ms` or `epoch-us`"
        }
        Dialect::Postgres => "write `timestamp` or `timestamptz` if the database has such a time",
        Dialect::Mysql | Dialect::Mariadb if bare.starts_with("float") => {
            "a FLOAT has seven digits, which tell an instant of these days to two minutes and are not read again as they were written: \
             make the column a DOUBLE, or give the table a generated column of type `bigint` and name that"
        }
        Dialect::Mysql | Dialect::Mariadb => {
            "write `timestamp` or `timestamptz` if the database has such a time, and a number where it has a whole one, a DECIMAL or \
             a DOUBLE: a generated column can hold it"
        }
    };
    let object = format!("{}.{name}", root.name);
    found.push(error("type-differs", &object, message).help(help));
}

/// The columns that a rule by time needs besides those of the edges, in its tables and in those that refer to them.
fn timed_findings(
    graph: &Graph,
    rule: &Rule,
    timed: &Timed,
    catalog: &Catalog,
    found: &mut Vec<Finding>,
) {
    for member in &timed.members {
        let table = graph.table(member.table);
        let Some(live) = catalog.tables.get(&table.name) else {
            continue;
        };
        let ended = timed.ended.iter().filter(|_| member.table == rule.root);
        let time = std::iter::once(&rule.end_time).filter(|_| rule.epoch.is_none());
        for column in time.chain(ended) {
            column_finding(table, column, catalog.dialect, live, found);
        }
        for column in &member.family {
            let kind = graph.table(rule.root).key[0].kind;
            let column = Column {
                name: column.clone(),
                kind,
            };
            column_finding(table, &column, catalog.dialect, live, found);
        }
    }
    let root = graph.table(rule.root);
    if let (Some(end), Some(live)) = (&timed.end, catalog.tables.get(&root.name)) {
        match end.epoch {
            Some(epoch) => epoch_finding(root, &end.time, epoch, catalog.dialect, live, found),
            None => column_finding(root, &end.time, catalog.dialect, live, found),
        }
        if let Some(otherwise) = &end.otherwise {
            column_finding(root, otherwise, catalog.dialect, live, found);
        }
    }
    for stamp in &timed.stamps {
        stamp_findings(graph, stamp, catalog, found);
    }
    for reference in &timed.references {
        match catalog.tables.get(&reference.table) {
            None => found.push(no_table(
                catalog,
                &reference.table,
                "remove it from `references`, if this version of the application lacks it",
            )),
            Some(live) if live.column(&reference.column).is_none() => {
                found.push(missing_column(&reference.table, &reference.column, live));
            }
            Some(_) => {}
        }
    }
}

/// The columns that a stamp needs besides.
fn stamp_findings(graph: &Graph, stamp: &Stamp, catalog: &Catalog, found: &mut Vec<Finding>) {
    let mut check = |table: &Table, column: &Column| {
        if let Some(live) = catalog.tables.get(&table.name) {
            column_finding(table, column, catalog.dialect, live, found);
        }
    };
    let root = graph.table(stamp.root);
    check(root, &stamp.start);
    check(root, &stamp.per);
    // The root table of the rule is looked at elsewhere.
    if stamp.of.is_some() {
        check(root, &stamp.ended);
    }
    let mut same = |table: &Table, name: &String, kind: Kind| {
        let name = name.clone();
        check(table, &Column { name, kind });
    };
    if let Some(column) = &stamp.family {
        same(root, column, root.key[0].kind);
    }
    for own in &stamp.own {
        let named = graph.table(own.through.unwrap_or(stamp.root));
        same(graph.table(own.table), &own.column, named.key[0].kind);
        if let Some(column) = &own.of_root {
            same(root, column, root.key[0].kind);
        }
    }
    for condition in &stamp.candidates {
        if let Some(live) = catalog.tables.get(&root.name) {
            condition_finding(root, condition, catalog.dialect, live, found);
        }
    }
    for (id, columns) in &stamp.untouched {
        let table = graph.table(*id);
        let Some(live) = catalog.tables.get(&table.name) else {
            continue;
        };
        let missing = columns.iter().filter(|name| live.column(name).is_none());
        found.extend(missing.map(|name| missing_column(&table.name, name, live)));
    }
}

fn definition_findings(definition: &Definition, catalog: &Catalog, found: &mut Vec<Finding>) {
    let Some(live) = catalog.tables.get(&definition.table) else {
        found.push(no_table(
            catalog,
            &definition.table,
            "`from` names it: is this spec for another version of the application?",
        ));
        return;
    };
    let table = Table {
        r#final: Final::default(),
        kept: Vec::new(),
        name: definition.table.clone(),
        key: vec![definition.key.clone()],
        unique: Vec::new(),
        indexed: Vec::new(),
        triggers: Vec::new(),
        edges: Vec::new(),
        with: With::All,
    };
    column_finding(&table, &definition.key, catalog.dialect, live, found);
    unique_finding(&table, &table.key, live, found);
    let Some(column) = live.column(&definition.column) else {
        found.push(missing_column(&definition.table, &definition.column, live));
        return;
    };
    if !live_kind(catalog.dialect, column).is_some_and(is_whole) {
        let message = format!("is `{}`, and a retention is a whole number", column.kind);
        let object = format!("{}.{}", definition.table, definition.column);
        found.push(error("type-differs", &object, message));
    }
}

/// The columns by which a rule of single rows goes through its table, and the tables that it looks into.
fn single_findings(
    graph: &Graph,
    rule: &Rule,
    single: &Single,
    catalog: &Catalog,
    found: &mut Vec<Finding>,
) {
    let table = graph.table(rule.root);
    let Some(live) = catalog.tables.get(&table.name) else {
        return;
    };
    let counted = rule.counted().map(|(time, _)| time);
    let columns = single.columns().into_iter();
    for column in columns.filter(|column| counted != Some(*column)) {
        match single {
            Single::KeepLast { group, .. } if group.contains(column) => {
                group_finding(table, column, catalog.dialect, live, found);
            }
            _ => column_finding(table, column, catalog.dialect, live, found),
        }
    }
    for column in single.columns().into_iter().chain(&table.key) {
        order_finding(table, column, catalog.dialect, live, found);
    }
    if let Single::KeepLast { group, order, .. } = single {
        let nullable = |column: &&Column| {
            let there = live.column(&column.name);
            there.is_some_and(CatalogColumn::may_lack)
        };
        for column in group.iter().chain(order).filter(nullable) {
            let message =
                "may be NULL; rows without a group, or without a position in it, are kept";
            let object = format!("{}.{}", table.name, column.name);
            let finding = notice("nullable-rank", &object, message.to_owned());
            found.push(finding.help("verify() counts such rows"));
        }
    }
    for needs in single.chains() {
        let mut upper = Some((table.name.as_str(), live));
        for need in needs {
            upper = need_findings(need, upper, catalog, found);
        }
    }
}

/// A table in which rows are looked up, by columns of the one before; answers that table, if it is there.
fn need_findings<'a>(
    need: &'a Need,
    upper: Option<(&str, &CatalogTable)>,
    catalog: &'a Catalog,
    found: &mut Vec<Finding>,
) -> Option<(&'a str, &'a CatalogTable)> {
    if let Some((name, live)) = upper {
        let columns = need.pairs.iter().map(|(column, _)| column);
        let missing = columns.filter(|column| live.column(column).is_none());
        found.extend(missing.map(|column| missing_column(name, column, live)));
    }
    let Some(live) = catalog.tables.get(&need.table) else {
        found.push(no_table(
            catalog,
            &need.table,
            "rows are looked up in it: is this spec for another version of the application?",
        ));
        return None;
    };
    let named: Vec<&str> = need.pairs.iter().map(|(_, named)| named.as_str()).collect();
    let missing: Vec<&&str> = named
        .iter()
        .filter(|named| live.column(named).is_none())
        .collect();
    found.extend(
        missing
            .iter()
            .map(|named| missing_column(&need.table, named, live)),
    );
    // All of them are compared, so any order will do.
    let leads = |index: &CatalogIndex| {
        let first = index.leads().iter().take(named.len()).map(String::as_str);
        index.predicate.is_none()
            && index.valid
            && first.collect::<BTreeSet<_>>() == named.iter().copied().collect()
    };
    if missing.is_empty() && !live.indexes.iter().any(leads) {
        let object = format!("{}.{}", need.table, named.join("_"));
        let message = format!(
            "no index leads with ({}), by which each row is looked up",
            named.join(", ")
        );
        found.push(error("missing-index", &object, message).help(
            "create one: windrow only looks up rows in this table, so it adds no index to it",
        ));
    }
    Some((need.table.as_str(), live))
}
