//! The marked statements of the rule files as EXPLAIN takes them.

use anyhow::Result;

use super::files::Press;
use super::names::table_name;
use super::spec_view::spec_view;
use super::{innodb_probes, marks, postgres_probes};
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
    for (of, text) in Press::new(graph, dialect, &view)?.marked()? {
        for statement in marks::statements(&text) {
            let (before, control) = (statement.before, &view.control);
            let (name, sql, off) = match dialect {
                Dialect::Postgres => {
                    let routine = postgres_probes::Routine::of(&text, before, control);
                    (
                        routine.name,
                        routine.explained(&statement.text),
                        routine.off(),
                    )
                }
                Dialect::Mysql | Dialect::Mariadb => {
                    let names = tables.iter().map(|(name, _)| name.as_str()).collect();
                    let routine = innodb_probes::Routine::of(&text, before, control, names);
                    (routine.name, routine.explained(&statement.text), Vec::new())
                }
            };
            if probes.iter().any(|probe| probe.sql == sql) {
                continue;
            }
            let named = tables
                .iter()
                .filter_map(|(name, bare)| Some((statement.text.find(name.as_str())?, bare)));
            let first = named.min().map(|(_, bare)| (*bare).clone());
            let shown: String = statement.text.chars().take(SHOWN).collect();
            probes.push(Probe {
                what: format!("{of}: {name}: {shown}"),
                table: first.unwrap_or_default(),
                sql,
                off,
            });
        }
    }
    Ok(probes)
}

/// The routines whose statements EXPLAIN is not asked, with the reason.
const UNEXPLAINED: [(&str, &str); 10] = [
    ("_roots", "its text is part of the statements that name it"),
    ("_rooted", "the same"),
    ("_names_", "the same; a number follows"),
    ("_rows", "the same, in statements of the kernel"),
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

/// The lines of these files that name a table of the application and are in no statement that EXPLAIN is asked. There should
/// be none.
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
    for (_, text) in Press::new(graph, dialect, &view)?.marked()? {
        let mut routine = "";
        for line in marks::outside(&text).lines() {
            if let Some((_, head)) = line
                .split_once(" FUNCTION ")
                .or_else(|| line.split_once(" PROCEDURE "))
            {
                routine = head.split('(').next().unwrap_or_default();
            }
            let bare = routine.trim_end_matches(|sign: char| sign.is_ascii_digit());
            let known = UNEXPLAINED.iter().any(|(name, _)| bare.ends_with(name));
            let names = tables.iter().any(|table| line.contains(table.as_str()));
            // It makes a work table, and reads nothing.
            let made = line.ends_with(" LIMIT 0;");
            if names && !known && !made && !line.trim_start().starts_with("--") {
                found.push(format!("{routine}: {line}"));
            }
        }
    }
    Ok(found)
}
