//! Tables that are partitioned: what a rule that drops partitions needs of them, and where a rule could.

use super::finding::{Finding, error, notice, warning};
use crate::catalog::{Catalog, CatalogTable, ForeignKey};
use crate::dialect::Dialect;
use crate::graph::{Graph, Rule, Table};
use crate::render::{control_name, role_name};

/// Adds what keeps a rule from dropping partitions.
pub(super) fn compare(graph: &Graph, rule: &Rule, catalog: &Catalog, found: &mut Vec<Finding>) {
    for table in &rule.order {
        compare_table(graph, rule, graph.table(*table), catalog, found);
    }
}

/// The same of one of its tables.
fn compare_table(
    graph: &Graph,
    rule: &Rule,
    table: &Table,
    catalog: &Catalog,
    found: &mut Vec<Finding>,
) {
    let Some(live) = catalog.tables.get(&table.name) else {
        return;
    };
    let time = &rule.end_time.name;
    if !is_by(live, time) {
        let is = match &live.partition_key {
            Some(key) => format!("is partitioned by {key}"),
            None => "is not partitioned".to_owned(),
        };
        let message = format!("{is}, and the rule drops partitions by range of `{time}`");
        found.push(
            error("not-partitioned", &table.name, message).help(
                "`strategy = \"age\"` deletes the rows one by one, however the table is made",
            ),
        );
        return;
    }
    if rule.timed().is_some_and(|timed| timed.ahead.is_some()) && live.bounded_partitions < 1 {
        let message = "no partition of it has a begin and an end, so that nothing says how wide those ahead are";
        found.push(
            warning("partition-width", &table.name, message.to_owned())
                .help("make two partitions by hand, of the same width"),
        );
    }
    if let Some(key) = keys(graph, rule, table, live, catalog).next() {
        let message = format!(
            "`{}` refers to it by {}: a partition that rows may refer to is not dropped",
            key.table, key.name
        );
        found.push(error("partition-bound", &table.name, message).help(
            "`strategy = \"age\"` deletes the rows that nothing refers to, or drop the foreign key; between tables of one \
             rule, make it from each partition to the one of its family",
        ));
    }
    let mut triggers = live.triggers.iter();
    if let Some(trigger) = triggers.find(|trigger| trigger.enabled && trigger.on_delete) {
        let message = format!(
            "the trigger `{}` acts on DELETE, and a dropped partition does not fire it",
            trigger.name
        );
        found.push(
            error("partition-bound", &table.name, message)
                .help("`strategy = \"age\"` deletes the rows, or drop the trigger"),
        );
    }
    owners(graph, rule, table, catalog, found);
    if catalog.extensions.iter().any(|name| name == "pg_partman") {
        let message =
            "pg_partman is installed: a run refuses if that drops partitions of this table, too";
        found.push(
            notice("partitioned", &table.name, message.to_owned()).help(
                "`retention` in `part_config` must be NULL, and the owner role of windrow must be able to read it",
            ),
        );
    }
}

/// The foreign keys that keep partitions of a table from being dropped: to the table, and to a partition, unless it comes from
/// another table of the rule: a run looks whether that partition goes with this one.
fn keys<'a>(
    graph: &'a Graph,
    rule: &'a Rule,
    table: &'a Table,
    live: &'a CatalogTable,
    catalog: &'a Catalog,
) -> impl Iterator<Item = &'a ForeignKey> {
    let of_rule = |key: &&ForeignKey| {
        let mut tables = rule.order.iter().map(|table| &graph.table(*table).name);
        tables.any(|name| key.table == format!("{}.{name}", graph.schema))
    };
    let parts = catalog.tables.values();
    let parts = parts.filter(|it| it.partition_of.as_ref() == Some(&table.name));
    let to_parts = parts.flat_map(|part| &part.referenced_by);
    live.referenced_by
        .iter()
        .chain(to_parts.filter(move |key| !of_rule(key)))
}

/// Only the owner of a partition can drop it, and only that of the table can detach one. On MySQL and MariaDB tables have no owner.
fn owners(graph: &Graph, rule: &Rule, table: &Table, catalog: &Catalog, found: &mut Vec<Finding>) {
    if catalog.dialect != Dialect::Postgres {
        return;
    }
    let ours = role_name(catalog.dialect, &control_name(graph), "owner");
    let archived = rule.archived().iter();
    let detaches = archived
        .map(|it| &graph.table(*it).name)
        .any(|it| *it == table.name);
    let owner = catalog.tables.get(&table.name).filter(|_| detaches);
    let parts = catalog.tables.values();
    let parts = parts.filter(|it| it.partition_of.as_ref() == Some(&table.name));
    let mut owners: Vec<&str> = parts.map(|part| part.owner.as_str()).collect();
    owners.sort_unstable();
    owners.dedup();
    let of_table = owner.map(|it| it.owner.as_str());
    let of_table = of_table.filter(|it| !owners.contains(it));
    let drops = owners
        .iter()
        .map(|it| (*it, "owns partitions, and only an owner can drop them"));
    let detaches = of_table.iter().map(|it| {
        (
            *it,
            "owns the table, and only its owner can detach partitions",
        )
    });
    for (owner, why) in drops.chain(detaches).filter(|(owner, _)| *owner != ours) {
        found.push(
            notice("partition-owner", &table.name, format!("`{owner}` {why}")).help(format!(
                "GRANT {} TO {}, unless it is done; docs/partitions.md says what that allows",
                Dialect::Postgres.ident(owner),
                Dialect::Postgres.ident(&ours)
            )),
        );
    }
}

/// Tells of a partitioned table that rows are deleted from it, or that a rule could drop partitions instead.
pub(super) fn told(graph: &Graph, table: &Table, live: &CatalogTable, found: &mut Vec<Finding>) {
    let mut rules = graph.rules.iter();
    let of_it = |rule: &&Rule| graph.table(rule.root).name == table.name;
    let drops = |rule: &Rule| rule.drops_partitions() && has(graph, rule, table);
    if !live.partitioned || rules.clone().any(drops) {
        return;
    }
    let message = "is partitioned: each statement touches all its partitions, and none is dropped";
    // What is more than the age of a row, no partition knows.
    let could = rules.any(|rule| {
        let is_plain = rule.is_plain(table) && rule.candidates.is_empty();
        of_it(&rule) && is_plain && rule.where_sql.is_none() && is_by(live, &rule.end_time.name)
    });
    let help = if could {
        "`strategy = \"partition\"` drops whole partitions instead, at a fraction of the cost"
    } else {
        "measure a run with `--dry-run` first"
    };
    found.push(warning("partitioned", &table.name, message.to_owned()).help(help));
}

/// Whether rows of a table go with their partitions alone.
pub(super) fn alone(graph: &Graph, table: &Table) -> bool {
    let rules = graph.rules.iter().filter(|rule| has(graph, rule, table));
    let ways: Vec<bool> = rules.map(Rule::drops_partitions).collect();
    !ways.is_empty() && ways.iter().all(|drops| *drops)
}

/// Whether rows of a table go by a rule.
fn has(graph: &Graph, rule: &Rule, table: &Table) -> bool {
    let mut tables = rule.order.iter();
    tables.any(|it| graph.table(*it).name == table.name)
}

/// Whether a table is partitioned by range of one column, in a way in which its partitions can be dropped.
pub(crate) fn is_by(live: &CatalogTable, column: &str) -> bool {
    // MySQL and MariaDB quote as the sql_mode said when the table was made.
    let (quoted, ansi) = (
        Dialect::Mysql.ident(column),
        Dialect::Postgres.ident(column),
    );
    live.partition_key.as_deref().is_some_and(|key| {
        [
            format!("RANGE ({column})"),
            format!("RANGE (\"{column}\")"),
            format!("RANGE COLUMNS ({quoted})"),
            format!("RANGE COLUMNS ({ansi})"),
            format!("RANGE (to_days({quoted}))"),
            format!("RANGE (to_days({ansi}))"),
            format!("RANGE (unix_timestamp({quoted}))"),
            format!("RANGE (unix_timestamp({ansi}))"),
        ]
        .iter()
        .any(|form| form.eq_ignore_ascii_case(key))
    })
}
