//! The marked statements of the rule files as EXPLAIN takes them.

use anyhow::Result;

use super::files::{MarkedText, Press};
use super::marks::{Routine, said};
use super::names::table_name;
use super::spec_view::spec_view;
use super::{innodb_probes, postgres_probes};
use crate::bundle::Probe;
use crate::dialect::Dialect;
use crate::graph::Graph;
use crate::plan;

/// How much of a statement a message shows.
const SHOWN: usize = 120;

/// The statements of the generated routines that touch tables of the application, with values in place of variables.
///
/// # Errors
///
/// Fails only where a template is broken: the message names it.
pub fn probes(graph: &Graph, dialect: Dialect) -> Result<Vec<Probe>> {
    let graph = &graph.named_for(dialect);
    let plan = plan::make(graph);
    let view = spec_view(graph, &plan, dialect);
    let tables: Vec<(String, &String)> = graph
        .tables
        .iter()
        .map(|table| (table_name(graph, dialect, &table.name), &table.name))
        .collect();
    let mut probes: Vec<Probe> = Vec::new();
    for MarkedText {
        of,
        routines,
        works,
    } in Press::new(graph, dialect, &view)?.marked()?
    {
        let control = format!("{}.", view.control);
        let postgres = postgres_probes::Routines {
            all: &routines,
            control: control.clone(),
        };
        let innodb = innodb_probes::Named {
            control,
            works: &works,
            tables: tables.iter().map(|(name, _)| name.as_str()).collect(),
        };
        let explained = routines.iter().filter(|routine| is_explained(routine));
        let marked = explained.flat_map(|routine| {
            let statements = routine.statements.iter();
            statements.map(move |statement| (routine, statement))
        });
        for (routine, statement) in marked {
            let sql = match dialect {
                Dialect::Postgres => postgres.explained(routine, statement),
                Dialect::Mysql | Dialect::Mariadb => innodb.explained(routine, statement),
            };
            if probes.iter().any(|probe| probe.sql == sql) {
                continue;
            }
            let said = said(statement, str::to_owned);
            let named = tables
                .iter()
                .filter_map(|(name, bare)| Some((said.find(name.as_str())?, bare)));
            let first = named.min().map(|(_, bare)| (*bare).clone());
            let shown: String = said.chars().take(SHOWN).collect();
            probes.push(Probe {
                what: format!("{of}: {}: {shown}", routine.name),
                table: first.unwrap_or_default(),
                sql,
                off: routine.off.clone(),
            });
        }
    }
    Ok(probes)
}

/// The routines whose statements EXPLAIN is not asked, with the reason.
const UNEXPLAINED: [(&str, &str); 10] = [
    ("_make_partition", "it asks the catalog alone"),
    ("_late_rows", "it counts up to a limit, in one partition"),
    ("_drop_partitions", "it asks the catalog alone"),
    (
        "_partition",
        "a partition is read from end to end, along no index",
    ),
    (
        "_undated",
        "a preview lists what has no time, which no index need find",
    ),
    ("_unlisted", "a preview counts all that would be due"),
    ("_unranked", "verify counts what has no group"),
    ("_strays", "verify reads all rows"),
    ("_due", "a metric counts up to a limit"),
    (
        "_row",
        "a call reads one row by its key, by a work table of its own",
    ),
];

fn is_explained(routine: &Routine) -> bool {
    // The position of the table, where there is one.
    let of = |c: char| c == '_' || c.is_ascii_digit();
    let name = routine.name.trim_end_matches(of);
    let mut known = UNEXPLAINED.iter();
    !known.any(|(known, _)| name.ends_with(known))
}

/// The lines of these files that name a table of the application and are in no statement that EXPLAIN is asked, and those with
/// a setting of the planner that it is not told. There should be none.
///
/// # Errors
///
/// As [`probes`].
pub fn unexplained(graph: &Graph, dialect: Dialect) -> Result<Vec<String>> {
    let graph = &graph.named_for(dialect);
    let plan = plan::make(graph);
    let view = spec_view(graph, &plan, dialect);
    let tables = graph.tables.iter();
    let tables: Vec<String> = tables
        .map(|table| table_name(graph, dialect, &table.name))
        .collect();
    let mut found = Vec::new();
    for text in Press::new(graph, dialect, &view)?.marked()? {
        let explained = text.routines.iter().filter(|routine| is_explained(routine));
        for Routine { name, rest, .. } in explained {
            for line in rest.lines() {
                let names = tables.iter().any(|table| line.contains(table.as_str()));
                // It makes a work table, and reads nothing.
                let made = line.ends_with(" LIMIT 0;");
                let asks = names && !made && !line.trim_start().starts_with("--");
                // A setting without a mark, with which a statement would have another plan.
                if asks || line.contains("SET enable_") {
                    found.push(format!("{name}: {line}"));
                }
            }
        }
    }
    Ok(found)
}
