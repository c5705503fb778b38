//! The indexes that the plan needs, and those that the spec says the application has.

use std::collections::BTreeSet;

use super::finding::{Finding, error, notice, warning};
use super::mysql;
use crate::catalog::{Catalog, CatalogIndex, CatalogTable};
use crate::dialect::Dialect;
use crate::graph::{Graph, Single, Strategy, Table};
use crate::plan::{self, IndexNeed};
use crate::render::{IndexName, expressions};

/// The index of a table by which an index is served that the plan needs, if there is one, ready for use: one of windrow's own first.
pub fn serving(graph: &Graph, catalog: &Catalog, need: &IndexNeed) -> Option<String> {
    let live = catalog.tables.get(&graph.table(need.table).name)?;
    let there = leading(graph, catalog.dialect, live, need);
    let usable = || there.iter().filter(|index| index.valid && index.ready);
    let own = usable().find(|index| is_ours(index));
    own.or_else(|| usable().next())
        .map(|index| index.name.clone())
}

/// Whether a table lacks an index that the plan needs, or has it, but not ready for use.
pub fn lacks(graph: &Graph, catalog: &Catalog, need: &IndexNeed) -> bool {
    let Some(live) = catalog.tables.get(&graph.table(need.table).name) else {
        return false;
    };
    let needed = needed(catalog.dialect, need);
    needed.iter().all(|name| live.column(name).is_some()) && serving(graph, catalog, need).is_none()
}

/// The columns of an index; where it cannot be partial, what its condition says is in front of it.
fn needed(dialect: Dialect, need: &IndexNeed) -> &[String] {
    if dialect.facts().partial_indexes {
        &need.columns
    } else {
        &need.whole_columns
    }
}

/// Adds what is wrong with either.
pub(super) fn compare(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) {
    let partial = catalog.dialect.facts().partial_indexes;
    let plan = plan::make(graph);
    for need in plan.indexes_for(partial) {
        let table = graph.table(need.table);
        let Some(live) = catalog.tables.get(&table.name) else {
            continue;
        };
        let needed = needed(catalog.dialect, need);
        if needed.iter().any(|name| live.column(name).is_none()) {
            continue;
        }
        let object = format!("{}.{}", table.name, needed.join("_"));
        if let Some(name) =
            serving(graph, catalog, need).filter(|name| !name.starts_with("windrow_"))
        {
            let message = format!(
                "`{name}` leads with ({}) and can be used",
                needed.join(", ")
            );
            found.push(notice("index-serves", &object, message).help(format!(
                "`windrow install` creates no other; with `indexed = [\"{}\"]` on `{}`, the files create none either",
                needed.join(", "), table.name
            )));
            continue;
        }
        let message = unserved(needed, &parts(needed, need, catalog.dialect), live);
        index_finding(
            &object,
            catalog.dialect,
            leading(graph, catalog.dialect, live, need),
            message,
            found,
        );
    }
    for table in &graph.tables {
        let Some(live) = catalog.tables.get(&table.name) else {
            continue;
        };
        for column in &table.indexed {
            let columns: BTreeSet<&str> = column.split(", ").collect();
            // Told already.
            if columns.iter().any(|name| live.column(name).is_none()) {
                continue;
            }
            // All of an edge's are compared, so any order will do; a run follows those of a group.
            let ordered = is_way(graph, table, column);
            let leads = |index: &CatalogIndex| {
                let first: Vec<&str> = index
                    .leads()
                    .iter()
                    .take(columns.len())
                    .map(String::as_str)
                    .collect();
                if ordered {
                    first == column.split(", ").collect::<Vec<_>>()
                } else {
                    first.into_iter().collect::<BTreeSet<_>>() == columns
                }
            };
            if !live
                .indexes
                .iter()
                .any(|index| index.predicate.is_none() && index.valid && leads(index))
            {
                let message = format!(
                    "the spec says that the application has an index on `{column}`, but there is none"
                );
                found.push(
                    error(
                        "missing-index",
                        &format!("{}.{column}", table.name),
                        message,
                    )
                    .help("remove the column from `indexed`, so that `20_indexes.sql` creates one"),
                );
            }
        }
    }
}

/// Whether a rule follows these columns of a table, in their order.
fn is_way(graph: &Graph, table: &Table, columns: &str) -> bool {
    graph.rules.iter().any(|rule| match &rule.strategy {
        Strategy::Single(Single::KeepLast { group, order, .. }) => {
            let names = group.iter().chain(order).map(|column| column.name.as_str());
            graph.table(rule.root).name == table.name
                && names.collect::<Vec<_>>().join(", ") == columns
        }
        _ => false,
    })
}

/// The parts of an index as the catalog has them: a column, or what represents it.
fn parts(columns: &[String], need: &IndexNeed, dialect: Dialect) -> Vec<String> {
    let expression = expressions(need, dialect);
    let part = |name: &String| match &expression {
        Some((column, written)) if column == name => plain(written),
        _ => name.clone(),
    };
    columns.iter().map(part).collect()
}

/// An expression without what the servers write differently: quotes, spaces, capitals, casts, parentheses.
fn plain(printed: &str) -> String {
    let mut plain = printed.to_lowercase();
    for cast in [
        "bigint",
        "integer",
        "numeric",
        "double precision",
        "timestamp with time zone",
        "timestamp without time zone",
        "timestamp",
        "date",
    ] {
        plain = plain.replace(&format!("::{cast}"), "");
    }
    // PostgreSQL says what a CASE without ELSE is.
    plain = plain.replace("else null", "");
    plain.retain(|sign| !sign.is_whitespace() && !"\"`'()".contains(sign));
    plain
}

/// The indexes that start with the parts of one that is needed. One on some of the rows, or on an expression, serves only if windrow
/// made it for this need: its name says that.
fn leading<'a>(
    graph: &Graph,
    dialect: Dialect,
    live: &'a CatalogTable,
    need: &IndexNeed,
) -> Vec<&'a CatalogIndex> {
    let parts = parts(needed(dialect, need), need, dialect);
    let wanted = IndexName::of(graph, need, dialect);
    let serves = |index: &&CatalogIndex| {
        index.name == wanted.name && !wanted.whole
            || index.predicate.is_none() && !(is_ours(index) && is_expression(dialect, need))
    };
    live.indexes
        .iter()
        .filter(serves)
        .filter(|index| keys(index.leads()).starts_with(&parts))
        .collect()
}

/// Whether PostgreSQL has an index on an expression for a need.
fn is_expression(dialect: Dialect, need: &IndexNeed) -> bool {
    dialect == Dialect::Postgres && need.instead.is_some()
}

/// The parts of an index, expressions as they can be compared.
fn keys(keys: &[String]) -> Vec<String> {
    let key = |key: &String| match key.contains('(') {
        true => plain(key),
        false => key.clone(),
    };
    keys.iter().map(key).collect()
}

/// That no index serves; one that has the columns, but does not find or order rows by them, is named.
fn unserved(needed: &[String], parts: &[String], live: &CatalogTable) -> String {
    let columns = needed.join(", ");
    let mut others = live.indexes.iter().filter(|index| {
        index.predicate.is_none()
            && !keys(index.leads()).starts_with(parts)
            && keys(&index.keys).starts_with(parts)
    });
    match others.next() {
        Some(other) => format!(
            "no index finds rows in the order of ({columns}): `{}` is no B-tree in the order of these columns",
            other.name
        ),
        None => format!("no index leads with ({columns})"),
    }
}

/// PostgreSQL: the indexes that windrow made for an earlier state of the spec, or as an earlier version: those with the same columns as
/// one that is needed, another condition or expression, and another name, where the needed one is there.
pub fn replaced(graph: &Graph, catalog: &Catalog) -> Vec<String> {
    if catalog.dialect != Dialect::Postgres {
        return Vec::new();
    }
    let plan = plan::make(graph);
    let needs = plan.indexes_for(true);
    let names: Vec<IndexName> = needs
        .iter()
        .map(|need| IndexName::of(graph, need, catalog.dialect))
        .collect();
    let mut found = BTreeSet::new();
    for (need, name) in needs.into_iter().zip(&names) {
        let live = catalog.tables.get(&graph.table(need.table).name);
        let Some(live) = live.filter(|_| serving(graph, catalog, need).is_some()) else {
            continue;
        };
        let partial = live.indexes.iter().filter(|index| {
            index.predicate.is_some() || index.keys.iter().any(|key| key.contains('('))
        });
        let others = partial.filter(|index| {
            is_alike(index, &need.columns)
                && name.replaces(&index.name)
                && names.iter().all(|it| it.name != index.name)
        });
        found.extend(others.map(|index| index.name.clone()));
    }
    found.into_iter().collect()
}

/// PostgreSQL: whether an index on some of the rows has the name of one that is needed on all of them, as an earlier version named it.
pub fn hides(graph: &Graph, catalog: &Catalog, need: &IndexNeed) -> bool {
    let wanted = IndexName::of(graph, need, catalog.dialect);
    let live = catalog.tables.get(&graph.table(need.table).name);
    let mut indexes = live.into_iter().flat_map(|live| &live.indexes);
    wanted.whole && indexes.any(|it| it.name == wanted.name && it.predicate.is_some())
}

/// Whether an index has these columns, or expressions in their place.
fn is_alike(index: &CatalogIndex, columns: &[String]) -> bool {
    let pairs = index.keys.iter().zip(columns);
    let mut alike = pairs.map(|(key, column)| key.contains('(') || key == column);
    index.keys.len() == columns.len() && alike.all(|it| it)
}

fn index_finding(
    object: &str,
    dialect: Dialect,
    indexes: Vec<&CatalogIndex>,
    message: String,
    found: &mut Vec<Finding>,
) {
    if indexes.iter().any(|index| index.valid && index.ready) {
        return;
    }
    match indexes.first() {
        None => {
            found.push(notice("missing-index", object, message).help("`20_indexes.sql` creates it"))
        }
        Some(index) if dialect != Dialect::Postgres => {
            found.push(mysql::unused_index(object, index));
        }
        Some(index) if is_ours(index) => found.push(
            error(
                "invalid-index",
                object,
                format!("the index `{}` is invalid", index.name),
            )
            .help("`windrow install` drops it and builds it again"),
        ),
        Some(index) => found.push(
            warning(
                "invalid-index",
                object,
                format!("the index `{}` is invalid", index.name),
            )
            .help(format!(
                "drop it; `20_indexes.sql` creates one, or use REINDEX INDEX CONCURRENTLY \"{}\"",
                index.name
            )),
        ),
    }
}

/// Whether windrow made this index; its predicates are those of its statements.
fn is_ours(index: &CatalogIndex) -> bool {
    index.name.starts_with("windrow_")
}
