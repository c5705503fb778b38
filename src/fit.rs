//! Whether a spec fits a live database: the graph against the catalog, and plans against table sizes.
//!
//! Pure functions: what the database says comes in as values, findings go out.

mod acting;
mod codes;
mod columns;
mod compared;
mod finding;
mod indexes;
mod kinds;
mod mysql;
mod partitions;
mod plans;
mod policies;
mod rules;
mod schedule;

use std::collections::BTreeSet;

use crate::catalog::Catalog;
use crate::db::Row;
use crate::dialect::Dialect;
use crate::graph::{Graph, Rule};
use crate::render::home;

pub use codes::{CODES, explain};
pub use columns::{are_unsaid, key_kind, live_kind};
pub use finding::{Finding, Severity};
pub use indexes::{hides, lacks, replaced, serving};
pub use kinds::kind_name;
pub(crate) use kinds::{has_fractions, is_whole, small};
pub use mysql::unknown_zone;
pub(crate) use partitions::is_by;
pub use plans::{denied, judge_plan, unplanned};
pub use policies::{of_another_spec, orphaned, under_minimum};

use finding::{error, notice, warning};

/// Compares the spec, with the names of this server, with the catalog.
pub fn compare(graph: &Graph, catalog: &Catalog) -> Vec<Finding> {
    if !catalog.schema_exists {
        return vec![no_schema(home(graph, catalog.dialect), catalog.dialect)];
    }
    let mut found = Vec::new();
    if !columns::missing_tables(graph, catalog, &mut found) {
        return found;
    }
    for table in &graph.tables {
        if let Some(live) = catalog.tables.get(&table.name) {
            columns::table_findings(graph, table, catalog.dialect, live, &mut found);
        }
    }
    for rule in &graph.rules {
        rules::compare(graph, rule, catalog, &mut found);
    }
    match catalog.dialect {
        Dialect::Postgres => schedule::compare(graph, catalog, &mut found),
        Dialect::Mysql | Dialect::Mariadb => mysql::compare(graph, catalog, &mut found),
    }
    compared::compare(graph, catalog, &mut found);
    acting::compare(graph, catalog, &mut found);
    indexes::compare(graph, catalog, &mut found);
    outsiders(graph, catalog, &mut found);
    absent_ignored(graph, catalog, &mut found);
    // Several rules may ask for the same.
    let mut seen = BTreeSet::new();
    found.retain(|finding| {
        seen.insert((
            finding.code,
            finding.object.clone(),
            finding.message.clone(),
        ))
    });
    found.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| a.object.cmp(&b.object))
    });
    found
}

/// What is reported of something that is optional and absent.
pub fn left_out(what: &str, why: &str) -> Finding {
    notice(
        "left-out",
        &what.replace('"', ""),
        format!("{why}; it is left out"),
    )
    .help("`windrow init --from` writes a spec without it")
}

/// What is reported where what is left is no spec.
pub fn nothing_left(name: &str, why: &str) -> Finding {
    let message = format!(
        "without the parts that this database lacks, nothing useful is left of the spec: {why}"
    );
    error("left-out", name, message)
        .help("write into a copy of the spec what this version has instead, or leave out there what hangs on what is absent")
}

/// The tables and columns that a rule names and the catalog lacks, but for the keys and edges of its tables.
pub fn lacking(graph: &Graph, rule: &Rule, catalog: &Catalog) -> Vec<Finding> {
    let mut found = Vec::new();
    rules::compare(graph, rule, catalog, &mut found);
    found.retain(|finding| {
        ["missing-table", "not-a-table", "missing-column"].contains(&finding.code)
    });
    found
}

fn no_schema(home: &str, dialect: Dialect) -> Finding {
    let (what, help) = match dialect {
        Dialect::Postgres => (
            "schema",
            "check the last part of the address, and `schema` in the spec",
        ),
        Dialect::Mysql | Dialect::Mariadb => (
            "database",
            "check the server that the address names, and `database` in the spec; an account that may see nothing of it does not see it either",
        ),
    };
    error(
        "missing-schema",
        home,
        format!("the {what} `{home}` does not exist"),
    )
    .help(help)
}

/// Tables that the spec ignores and that do not exist.
fn absent_ignored(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) {
    for ignored in &graph.ignored {
        if !catalog.tables.contains_key(&ignored.table) {
            found.push(
                warning(
                    "ignored-missing",
                    &ignored.table,
                    "is ignored, but does not exist".to_owned(),
                )
                .help("remove the line from the spec"),
            );
        }
    }
}

/// What somebody else has made under windrow's names, by the rows that [`crate::render::claims`] asks for.
pub fn claimed(rows: &[Row]) -> Vec<Finding> {
    let cell = |row: &Row, at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    rows.iter()
        .map(|row| error("foreign-claim", &cell(row, 0), cell(row, 1)).help(cell(row, 2)))
        .collect()
}

/// What is reported where the accounts of the server are not to be seen.
pub fn unseen_accounts() -> Finding {
    let message = "this account may not read the accounts of the server: whether somebody has windrow's roles is not known";
    notice("foreign-claim", "mysql.user", message.to_owned())
        .help("GRANT SELECT ON mysql.* to it, or have an administrator check")
}

/// Tables that are not in the spec but look as if they hung on what is.
fn outsiders(graph: &Graph, catalog: &Catalog, found: &mut Vec<Finding>) {
    let known = |name: &str| {
        graph.tables.iter().any(|table| table.name == name)
            || graph.ignored.iter().any(|ignored| ignored.table == name)
    };
    let referencing: BTreeSet<String> = found
        .iter()
        .filter(|finding| finding.code == "unlisted-reference")
        .map(|finding| finding.object.clone())
        .collect();
    // One column of several says little: many tables have a `run_id`.
    let columns: BTreeSet<&str> = graph
        .tables
        .iter()
        .flat_map(|table| &table.edges)
        .filter(|edge| edge.further.is_empty() && !edge.alone)
        .map(|edge| edge.column.name.as_str())
        .collect();
    for (name, live) in &catalog.tables {
        let partition_of = live.partition_of.as_deref();
        if known(name) || referencing.contains(name) || partition_of.is_some() {
            continue;
        }
        for column in live
            .columns
            .iter()
            .filter(|column| columns.contains(column.name.as_str()))
            .filter(|column| !live.is_mere_key(&column.name))
        {
            let message = format!(
                "has the column `{}`, like an edge of the spec, but is not in the spec",
                column.name
            );
            found.push(
                warning("unlisted-column", name, message)
                    .help("add it to `[tables]`, or to the ignored tables with a reason"),
            );
        }
    }
}
