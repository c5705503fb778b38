//! The view of a whole spec.

use serde_json::{Value, json};

use super::archive::ArchiveView;
use super::indexes::{IndexView, index_view};
use super::jobs::jobs;
use super::names::{control_name, escaped, home, role_name, table_name};
use super::rule_view::rule_view;
use super::rules::by_calendar;
use super::tables::{counted, deleted, looked_into, referring, updates};
use super::views::{AccountsView, LockedView, RuleView, SpecView, TableView};
use super::{archive, document, grants, kept, kernel, orphan_guard, registry, settings, stamp};
use crate::dialect::Dialect;
use crate::graph::{Graph, Rule, TableId};
use crate::plan::Plan;

/// The rules that drop partitions: each settles what it has taken out of its table.
fn partitioned(graph: &Graph, dialect: Dialect) -> String {
    let rules = graph.rules.iter().filter(|rule| rule.drops_partitions());
    let documents = rules.map(|rule| {
        let mut document = json!({
            "rule": rule.name,
            "home": home(graph, dialect),
            "root": graph.table(rule.root).name,
        });
        if !rule.archived().is_empty() {
            document["archives"] = json!(true);
        }
        document
    });
    Value::from_iter(documents).to_string()
}

/// The routines that an auditor may call on MySQL and MariaDB: they read.
pub(super) const AUDITOR_PROCEDURES: &[&str] = &[
    "preview",
    "outlook",
    "verify",
    "run_result",
    "orphans",
    "in_window",
    "schedule_check",
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
    let indexes: Vec<IndexView> = plan
        .indexes_for(dialect.facts().partial_indexes)
        .iter()
        .map(|index| index_view(graph, index, dialect))
        .collect();
    let deleted = deleted(plan);
    let tables = counted(plan);
    let (auditor_routines, operator_routines) = routines(graph);
    let mut view = SpecView {
        maria: dialect == Dialect::Mariadb,
        accounts: accounts_view(graph, dialect),
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
        told: told(graph, plan, &rules, &indexes, dialect),
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
        tables: tables
            .iter()
            .map(|id| table_view(graph, *id, deleted.contains(id), dialect))
            .collect(),
        referring: referring(graph, &tables)
            .into_iter()
            .map(|name| table_name(graph, dialect, name))
            .collect(),
        looked_into: looked_into(graph, &tables, dialect)
            .map(|name| dialect.text(&name))
            .collect(),
        roots: locked(graph, plan, dialect),
        archives: archive::views(graph, dialect),
        keeps: archive::detaches(graph),
        drops: !document::dropped(graph).is_empty(),
        partitioned: dialect.text(&partitioned(graph, dialect)),
        guards: orphan_guard::views(graph, dialect),
        auditor_routines,
        operator_routines,
        by_calendar: graph.rules.iter().any(|rule| by_calendar(graph, rule)),
        definitions: definitions(graph, dialect),
        throttles: settings::throttles(graph, dialect, home(graph, dialect)),
        rules,
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

/// The roles of the installation, and what they are given.
fn accounts_view(graph: &Graph, dialect: Dialect) -> AccountsView {
    let control = control_name(graph);
    let role = |suffix: &str| dialect.ident(&role_name(dialect, &control, suffix));
    let literal = |suffix: &str| dialect.text(&role_name(dialect, &control, suffix));
    let references = match dialect {
        Dialect::Mariadb => "REFERENCES, PROCESS",
        _ => "REFERENCES",
    };
    AccountsView {
        owner: role("owner"),
        operator: role("operator"),
        auditor: role("auditor"),
        owner_literal: literal("owner"),
        operator_literal: literal("operator"),
        auditor_literal: literal("auditor"),
        grant_auditor: dialect.text(&format!(
            "GRANT {} TO {}",
            role("auditor"),
            role("operator")
        )),
        grant_references: dialect.text(&format!("GRANT {references} ON *.* TO {}", role("owner"))),
        from_owner: dialect.text(&format!(" FROM {}", role("owner"))),
    }
}

/// The routines that an auditor may call on MySQL and MariaDB, and an operator besides.
fn routines(graph: &Graph) -> (Vec<String>, Vec<String>) {
    let owned = |names: &[&str]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    let (mut auditor, mut operator) = (owned(AUDITOR_PROCEDURES), owned(OPERATOR_PROCEDURES));
    if graph.has_stamps() {
        auditor.push("stamp_result".to_owned());
        operator.push("stamp".to_owned());
    }
    if archive::first(graph).is_some() {
        auditor.push("archive_list".to_owned());
        operator.extend(["archive_drop", "archive_restore"].map(ToOwned::to_owned));
    }
    if graph.keeps_heartbeat() {
        operator.push("heartbeat".to_owned());
    }
    if graph.rules.iter().any(Rule::drops_partitions) {
        operator.push("give_back".to_owned());
    }
    (auditor, operator)
}

/// What the kernel knows about the whole installation.
fn told(
    graph: &Graph,
    plan: &Plan,
    rules: &[RuleView],
    indexes: &[IndexView],
    dialect: Dialect,
) -> kernel::Told {
    kernel::Told {
        spec: match dialect {
            Dialect::Postgres => document::of_spec(graph, plan, dialect),
            Dialect::Mysql | Dialect::Mariadb => registry::of_spec(graph, plan, dialect),
        },
        rules: document::of_rules(
            graph,
            dialect,
            rules.iter().map(|rule| rule.document.as_str()),
        ),
        schedule: document::of_schedule(graph, dialect),
        undo: document::of_undo(graph, indexes, dialect),
        indexes: indexes.iter().rev().map(IndexView::dropped).collect(),
        archives: archive::views(graph, dialect)
            .iter()
            .map(ArchiveView::told)
            .collect(),
    }
}

/// The tables whose rows are locked, each with the column on which the right to do so is given.
fn locked(graph: &Graph, plan: &Plan, dialect: Dialect) -> Vec<LockedView> {
    let mut roots: Vec<(TableId, &str)> = graph
        .rules
        .iter()
        .map(|rule| (rule.root, graph.table(rule.root).key[0].name.as_str()))
        .collect();
    let lasts = graph.rules.iter().filter_map(|rule| rule.last.as_ref());
    roots.extend(lasts.map(|last| (last.table, last.names.name.as_str())));
    let links = graph.rules.iter().flat_map(|rule| &rule.hierarchy);
    let overs = links.filter_map(|link| link.over.as_ref());
    roots.extend(overs.map(|over| (over.table, over.names.name.as_str())));
    let between = kept::between(graph, plan).map(|id| (id, graph.table(id).key.first()));
    roots.extend(between.filter_map(|(id, key)| Some((id, key?.name.as_str()))));
    roots.sort_by_key(|(table, _)| *table);
    roots.dedup_by_key(|(table, _)| *table);
    roots
        .iter()
        .map(|(id, column)| (&graph.table(*id).name, column))
        .map(|(table, column)| LockedView {
            name: escaped(dialect, table),
            table: table_name(graph, dialect, table),
            column: dialect.ident(column),
        })
        .collect()
}

/// A table that rows are deleted from, or that is read.
fn table_view(graph: &Graph, id: TableId, deleted: bool, dialect: Dialect) -> TableView {
    let name = &graph.table(id).name;
    let table = table_name(graph, dialect, name);
    TableView {
        name: escaped(dialect, name),
        class: dialect.text(&table),
        table,
        deleted,
        dropped: document::dropped(graph).contains(&name.as_str()),
        updates: updates(graph, id, dialect),
    }
}

/// Tables that say how long something is kept and from which no row is deleted.
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
            table: table_name(graph, dialect, name),
            class: dialect.text(&table_name(graph, dialect, name)),
            deleted: false,
            dropped: false,
            updates: String::new(),
        })
        .collect()
}
