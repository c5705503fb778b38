//! The view of a whole spec.

use super::archive::ArchiveView;
use super::edges::none;
use super::indexes::{IndexView, index_view};
use super::jobs::jobs;
use super::names::{control_name, escaped, home, role_name};
use super::rule_view::rule_view;
use super::rules::{by_calendar, by_end};
use super::tables::{counted, deleted, looked_into, referring, updates};
use super::views::{FileView, LockedView, OrphanView, RuleView, SpecView, TableView};
use super::{archive, document, grants, kernel, orphan_guard, registry, settings, single, stamp};
use crate::dialect::Dialect;
use crate::graph::{Edge, Graph, Rule, TableId};
use crate::plan::{self, Plan};

/// The routines that an auditor may call on MySQL and MariaDB: they read.
pub(super) const AUDITOR_PROCEDURES: &[&str] = &[
    "preview",
    "outlook",
    "verify",
    "run_result",
    "orphans",
    "in_window",
];

/// The routines that an operator may call there besides: each runs with the definer's rights, and calls what it needs.
pub(super) const OPERATOR_PROCEDURES: &[&str] = &[
    "run",
    "reap",
    "purge",
    "pause",
    "resume",
    "pause_rule",
    "resume_rule",
    "arm",
    "arm_with",
    "set_policy",
    "drop_policy",
    "set_hold",
    "release_hold",
    "set_setting",
    "set_windows",
    "claim_artifacts",
    "named_artifacts",
    "finish_artifact",
];

pub(super) fn spec_view(graph: &Graph, plan: &Plan, dialect: Dialect) -> SpecView {
    let control = control_name(graph);
    let rules: Vec<RuleView> = plan
        .purges
        .iter()
        .map(|purge| rule_view(graph, purge, dialect))
        .collect();
    let indexes: Vec<IndexView> = plan::make(graph)
        .indexes_for(dialect.facts().partial_indexes)
        .iter()
        .map(|index| index_view(graph, index, dialect))
        .collect();
    let deleted = deleted(plan);
    let tables = counted(plan);
    let edges = tables
        .iter()
        .flat_map(|id| {
            graph
                .table(*id)
                .edges
                .iter()
                .filter(|edge| !edge.alone)
                .map(|edge| orphan_view(graph, *id, edge, dialect))
        })
        .collect();
    let mut roots: Vec<(TableId, &str)> = graph
        .rules
        .iter()
        .map(|rule| (rule.root, graph.table(rule.root).key[0].name.as_str()))
        .collect();
    let lasts = graph.rules.iter().filter_map(|rule| rule.last.as_ref());
    roots.extend(lasts.map(|last| (last.table, last.names.name.as_str())));
    roots.sort_by_key(|(table, _)| *table);
    roots.dedup_by_key(|(table, _)| *table);
    let role = |suffix: &str| dialect.ident(&role_name(dialect, &control, suffix));
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let (mut auditor_routines, mut operator_routines): (Vec<String>, Vec<String>) =
        (owned(AUDITOR_PROCEDURES), owned(OPERATOR_PROCEDURES));
    if graph.has_stamps() {
        auditor_routines.push("stamp_result".to_owned());
        operator_routines.push("stamp".to_owned());
    }
    if archive::first(graph).is_some() {
        auditor_routines.push("archive_list".to_owned());
        operator_routines.extend(["archive_drop", "archive_restore"].map(ToOwned::to_owned));
    }
    let indexes_by_expression = indexes.iter().any(|index| index.expression);
    let grant_references = format!(
        "GRANT REFERENCES{} ON *.* TO {}",
        if dialect == Dialect::Mariadb {
            ", PROCESS"
        } else {
            ""
        },
        role("owner")
    );
    let mut view = SpecView {
        maria: dialect == Dialect::Mariadb,
        owner: role("owner"),
        operator: role("operator"),
        auditor: role("auditor"),
        owner_literal: dialect.text(&role_name(dialect, &control, "owner")),
        operator_literal: dialect.text(&role_name(dialect, &control, "operator")),
        auditor_literal: dialect.text(&role_name(dialect, &control, "auditor")),
        grant_auditor: dialect.text(&format!(
            "GRANT {} TO {}",
            role("auditor"),
            role("operator")
        )),
        grant_references: dialect.text(&grant_references),
        revoke_all: dialect.text(&format!(
            "REVOKE ALL PRIVILEGES, GRANT OPTION FROM {}",
            role("owner")
        )),
        q: if dialect == Dialect::Postgres {
            "\""
        } else {
            "`"
        },
        control_literal: dialect.text(&control),
        schema: dialect.ident(home(graph, dialect)),
        schema_pattern: dialect
            .ident(&home(graph, dialect).replace('_', "\\_").replace('%', "\\%")),
        schema_literal: match dialect {
            // A name to be cast to regnamespace.
            Dialect::Postgres => dialect.text(&dialect.ident(&graph.schema)),
            Dialect::Mysql | Dialect::Mariadb => dialect.text(&graph.database),
        },
        zone: escaped(dialect, &graph.time_zone),
        told: kernel::Told {
            spec: match dialect {
                Dialect::Postgres => document::of_spec(graph, plan, dialect),
                Dialect::Mysql | Dialect::Mariadb => registry::of_spec(graph, plan, dialect),
            },
            schedule: document::of_schedule(graph, dialect),
            undo: document::of_undo(graph, dialect),
            indexes: indexes.iter().rev().map(IndexView::dropped).collect(),
            archives: archive::views(graph, dialect)
                .iter()
                .map(ArchiveView::told)
                .collect(),
        },
        jobs: jobs(graph, dialect),
        schedule: graph
            .schedules
            .iter()
            .map(|schedule| escaped(dialect, schedule))
            .collect::<Vec<_>>()
            .join(", "),
        stamped: stamp::views(graph, dialect),
        indexes_reversed: indexes.iter().rev().cloned().collect(),
        indexes,
        edges,
        going_tables: deleted
            .iter()
            .map(|id| dialect.qualified(home(graph, dialect), &graph.table(*id).name))
            .collect(),
        tables: tables
            .iter()
            .map(|id| TableView {
                name: escaped(dialect, &graph.table(*id).name),
                class: dialect
                    .text(&dialect.qualified(home(graph, dialect), &graph.table(*id).name)),
                table: dialect.qualified(home(graph, dialect), &graph.table(*id).name),
                deleted: deleted.contains(id),
                updates: updates(graph, *id, dialect),
            })
            .collect(),
        referring: referring(graph, &tables)
            .into_iter()
            .map(|name| dialect.qualified(home(graph, dialect), name))
            .collect(),
        looked_into: looked_into(graph, &tables, dialect)
            .map(|name| dialect.text(&name))
            .collect(),
        roots: roots
            .iter()
            .map(|(id, column)| (&graph.table(*id).name, column))
            .map(|(table, column)| LockedView {
                name: escaped(dialect, table),
                table: dialect.qualified(home(graph, dialect), table),
                column: dialect.ident(column),
            })
            .collect(),
        archives: archive::views(graph, dialect),
        guards: orphan_guard::views(graph, dialect),
        auditor_routines,
        operator_routines,
        by_expression: indexes_by_expression,
        by_end: graph.rules.iter().any(by_end),
        by_family: graph
            .rules
            .iter()
            .any(|rule| by_end(rule) || single::has_family(rule)),
        by_calendar: graph.rules.iter().any(|rule| by_calendar(graph, rule)),
        definitions: definitions(graph, dialect),
        throttles: settings::throttles(graph, dialect, home(graph, dialect)),
        rules,
        files: files_view(graph, dialect),
        session: kernel::session(Some(&control)),
        session_outside: kernel::session(None),
        grants: Vec::new(),
        control,
    };
    if dialect == Dialect::Postgres {
        view.grants = grants::statements(&view);
    }
    view
}

/// Tables that say how long something is kept and from which no row goes.
pub(super) fn definitions(graph: &Graph, dialect: Dialect) -> Vec<TableView> {
    let mut names: Vec<&str> = graph
        .rules
        .iter()
        .flat_map(Rule::definitions)
        .map(|definition| definition.table.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| TableView {
            name: escaped(dialect, name),
            table: dialect.qualified(home(graph, dialect), name),
            class: dialect.text(&dialect.qualified(home(graph, dialect), name)),
            deleted: false,
            updates: String::new(),
        })
        .collect()
}

/// The columns that name files, each once.
pub(super) fn files_view(graph: &Graph, dialect: Dialect) -> Vec<FileView> {
    let mut files = Vec::new();
    for artifact in graph.rules.iter().flat_map(|rule| &rule.artifacts) {
        let name = &graph.table(artifact.table).name;
        let file = FileView {
            table: dialect.qualified(home(graph, dialect), name),
            table_literal: dialect.text(name),
            path: dialect.ident(&artifact.path),
        };
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

pub(super) fn orphan_view(graph: &Graph, id: TableId, edge: &Edge, dialect: Dialect) -> OrphanView {
    let table = graph.table(id);
    OrphanView {
        literal: dialect.text(&format!("{}.{}", table.name, edge.columns())),
        table: dialect.qualified(home(graph, dialect), &table.name),
        column: dialect.ident(&edge.column.name),
        none: none(edge, dialect),
        parent: dialect.qualified(home(graph, dialect), &graph.table(edge.parent).name),
        present: edge
            .pairs()
            .map(|(column, _)| format!("c.{} IS NOT NULL", dialect.ident(&column.name)))
            .collect::<Vec<_>>()
            .join(" AND "),
        same: edge
            .pairs()
            .map(|(column, named)| {
                format!(
                    "p.{} = c.{}",
                    dialect.ident(&named.name),
                    dialect.ident(&column.name)
                )
            })
            .collect::<Vec<_>>()
            .join(" AND "),
    }
}
