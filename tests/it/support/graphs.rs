//! The graphs under test, and foreign keys for their tables.

use windrow::dialect::Dialect;
use windrow::graph::{Action, Graph, KnownKey, Shared};
use windrow::lint;

pub(crate) const DOLPHINSCHEDULER: &str = include_str!("../../../specs/dolphinscheduler.toml");

/// What `specs/dolphinscheduler.toml` says, with either meaning of a shared member.
pub(crate) fn dolphinscheduler(shared: Shared) -> Graph {
    load(DOLPHINSCHEDULER, shared)
}

/// The same where a start that waits keeps its instance, and a notice that was sent keeps the instance of its alert.
pub(crate) fn with_keepers(shared: Shared) -> Graph {
    let mut text = DOLPHINSCHEDULER.to_owned();
    for (table, edge) in [
        ("t_ds_command ", "t_ds_workflow_instance.id unless 0"),
        ("t_ds_alert_send_status ", "t_ds_alert.id"),
    ] {
        let line = text.lines().find(|line| line.starts_with(table));
        let line = line.expect("the table has a line").to_owned();
        let edge = format!("-> {edge}");
        assert!(line.contains(&edge), "{line}");
        text = text.replace(&line, &line.replace(&edge, &format!("{edge} restrict")));
    }
    load(&text, shared)
}

/// The same where an instance names the one above it, in a column that is there for something else.
pub(crate) fn within(shared: Shared) -> Graph {
    let relation =
        "t_ds_relation_workflow_instance: parent_workflow_instance_id -> workflow_instance_id";
    assert!(DOLPHINSCHEDULER.contains(relation));
    let own = "t_ds_workflow_instance: next_workflow_instance_id -> id";
    load(&DOLPHINSCHEDULER.replace(relation, own), shared)
}

/// A foreign key for that column.
pub(crate) fn foreign_key_within(on_delete: &str) -> Vec<String> {
    let table = "ALTER TABLE t_ds_workflow_instance";
    let column = "next_workflow_instance_id";
    vec![
        format!("{table} ALTER {column} SET DEFAULT NULL"),
        format!(
            "{table} ADD FOREIGN KEY ({column}) REFERENCES t_ds_workflow_instance (id) ON DELETE {on_delete}"
        ),
    ]
}

/// The same with another retention, in another zone.
pub(crate) fn with_retention(retention: &str, zone: &str) -> Graph {
    let line = DOLPHINSCHEDULER
        .lines()
        .find(|line| line.starts_with("retention "));
    let text = DOLPHINSCHEDULER
        .replace(
            line.expect("the rule has a retention"),
            &format!("retention = {{ {retention} }}"),
        )
        .replace("time_zone = \"UTC\"", &format!("time_zone = \"{zone}\""));
    load(&text, Shared::Closed)
}

/// The same with windows for scheduled runs, as a spec writes them.
pub(crate) fn with_windows(windows: &str) -> Graph {
    let text = DOLPHINSCHEDULER.replace("[tables]", &format!("windows = {windows}\n[tables]"));
    load(&text, Shared::Closed)
}

/// The same with further limits, as a spec writes them, each with a comma behind it, and with a heartbeat.
pub(crate) fn with_limits(limits: &str, heartbeat: &str) -> Graph {
    let begin = "limits     = {";
    assert!(DOLPHINSCHEDULER.contains(begin));
    let text = DOLPHINSCHEDULER
        .replace(begin, &format!("{begin} {limits}"))
        .replace(
            "[tables]",
            &format!("heartbeat = \"{heartbeat}\"\n[tables]"),
        );
    load(&text, Shared::Closed)
}

/// The graph of a spec without errors.
pub(crate) fn graph_of(spec: &str) -> Graph {
    let (graph, findings) = lint::load(spec);
    graph.unwrap_or_else(|| panic!("the spec has errors: {findings:#?}\n{spec}"))
}

fn load(text: &str, shared: Shared) -> Graph {
    let mut graph = graph_of(text);
    graph.rules[0].shared = shared;
    graph
}

/// A foreign key for every edge, in turns one that cascades and one that refuses. What keeps a family would be taken by
/// a cascade.
pub(crate) fn foreign_keys(graph: &Graph, dialect: Dialect) -> Vec<String> {
    let edges = graph.tables.iter().flat_map(|table| {
        let edges = table.edges.iter();
        edges.map(|edge| (table.name.as_str(), edge))
    });
    // Elsewhere both ends must have the same type.
    let edges = edges.filter(|(_, edge)| {
        dialect == Dialect::Postgres || edge.column.kind == edge.parent_column.kind
    });
    let alter = |(at, (table, edge)): (usize, (&str, &windrow::graph::Edge))| {
        let on_delete = match edge.action {
            _ if KnownKey::of_edge(graph, table, edge).effects.is_empty() => "NO ACTION",
            Action::Restrict
                if !KnownKey::of_edge(graph, table, edge)
                    .effects
                    .contains(&"CASCADE") =>
            {
                "NO ACTION"
            }
            Action::Restrict => "CASCADE",
            Action::Delete if at % 2 == 0 => "CASCADE",
            Action::Delete => "NO ACTION",
            Action::SetNull => "SET NULL",
        };
        format!(
            "ALTER TABLE {table} ADD FOREIGN KEY ({}) REFERENCES {} ({}) ON DELETE {on_delete}",
            edge.column.name,
            graph.table(edge.parent).name,
            edge.parent_column.name
        )
    };
    edges.enumerate().map(alter).collect()
}
