//! The meaning of a spec: tables, edges and rules, with every name resolved and every duration a number.
//!
//! A `Graph` knows no SQL text, and of dialects only for which of them the spec is. What can be wrong with a spec is found while it is built, as
//! diagnostics; a graph without errors is always fit to be planned.

mod case;
mod conditions;
mod finals;
mod heartbeat;
mod kept;
mod keys;
mod looks;
mod model;
mod names;
mod rules;
mod servers;
mod several;
mod tables;
mod windows;
mod written;

use crate::diagnostic::Diagnostic;
use crate::spec::{Spec, Text};

pub use crate::column::{Column, Condition, Epoch, Kind, Literal, Test};
pub use keys::{ACTING, KnownKey};
pub use looks::Compared;
pub use model::{
    Action, Artifact, Definition, Document, Edge, End, Figure, Final, Graph, Heartbeat,
    HeartbeatColumn, Ignored, Last, Limits, Link, Member, Named, Need, Newest, Over, Own,
    Reference, ReportField, Retention, Rule, Shared, Single, Source, Stamp, Strategy, Table,
    TableId, Through, Timed, Unit, Window, With,
};
pub use names::RESERVED_RULES;

/// Resolves every name of a spec. The text is what the spec was read from; it gives the findings their places.
///
/// Beside errors the graph lacks what they are about and is fit for nothing but further checks.
pub fn build(spec: &Spec, text: &str) -> (Graph, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let name = names::spec_name(spec.name.as_ref(), &mut diagnostics);
    let value = |field: &Option<Text>, default: &str| {
        field
            .as_ref()
            .map_or(default, |field| field.get_ref())
            .to_owned()
    };
    if let Some(schema) = &spec.schema {
        names::identifier(schema, "schema", &mut diagnostics);
    }
    if let Some(database) = &spec.database {
        names::identifier(database, "database", &mut diagnostics);
    }
    if let Some(title) = &spec.title {
        names::title(title, &mut diagnostics);
    }
    if let Some(zone) = &spec.time_zone {
        names::time_zone(zone, &mut diagnostics);
    }
    let schedules = names::schedules(text, spec.schedule.as_ref(), &mut diagnostics);
    let history = spec.cron_history.as_ref();
    let cron_history = names::milliseconds(history, 0, 1_000, 1_000, &mut diagnostics) / 1_000;
    let workers = names::count(spec.workers.as_ref(), 1, 1..=8, &mut diagnostics);
    let archive_days = names::archive_days(spec, &mut diagnostics);
    let windows = windows::resolve(spec, text, &mut diagnostics);
    let resolved = tables::resolve(spec, text, &mut diagnostics);
    let ignored = tables::ignored(spec, &mut diagnostics);
    let rules = rules::resolve(spec, text, &resolved, &mut diagnostics);
    tables::check_reached(spec, text, &resolved, &mut diagnostics);
    several::check(spec, &resolved, &rules, &mut diagnostics);
    finals::check(spec, &resolved, &rules, &mut diagnostics);
    kept::check(spec, &resolved, &rules, &mut diagnostics);
    let dialects = names::dialects(spec.dialects.as_ref(), &mut diagnostics);
    servers::check(spec, &dialects, &mut diagnostics);
    let upper_case = names::upper_case(spec, &dialects, &mut diagnostics);
    let heartbeat = heartbeat::resolve(spec, &dialects, &mut diagnostics);
    let graph = Graph {
        title: value(&spec.title, &name),
        dialects,
        upper_case,
        schema: value(&spec.schema, "public"),
        database: value(&spec.database, &name),
        time_zone: value(&spec.time_zone, "UTC"),
        schedules,
        workers,
        cron_history,
        archive_days,
        windows,
        heartbeat,
        name,
        tables: resolved.tables,
        ignored,
        rules,
    };
    names::lengths(&graph, text, &mut diagnostics);
    tables::check_kinds(spec, &graph, &resolved.spans, &mut diagnostics);
    if let Some(field) = &spec.workers
        && workers > 1
        && !graph.rules.is_empty()
        && !graph
            .rules
            .iter()
            .any(|rule| rule.is_divided(graph.table(rule.root)))
    {
        diagnostics.push(Diagnostic::error(
            "workers-without-work",
            field.span(),
            "no rule has work that workers can share",
            "remove it: only one worker can do rules of this kind, and the others would wait for it",
        ));
    }
    (graph, diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of the only rule of a spec with these tables.
    fn order(tables: &str) -> Vec<String> {
        let text = format!(
            "name = \"x\"\n[tables]\n{tables}\n[rules.x]\nstrategy = \"end-time\"\nroot = \"m_root\"\n\
             final = {{ state = 1 }}\nend_time = \"ended\"\nretention = {{ default = \"30d\" }}\n"
        );
        let (spec, _) = crate::spec::parse(&text);
        let (graph, _) = build(&spec.expect("a spec"), &text);
        graph.rules[0]
            .order
            .iter()
            .map(|id| graph.table(*id).name.clone())
            .collect()
    }

    /// The edges of the second table, as graphs have them.
    fn edges_of(parents: &str) -> Vec<Edge> {
        let text = format!(
            "name = \"x\"\n[tables]\nrun = {{ key = \"uid uuid\" }}\nstep = {{ parents = [{parents}] }}\n\
             [rules.x]\nstrategy = \"end-time\"\nroot = \"run\"\nfinal = {{ state = 1 }}\nend_time = \"ended\"\nretention = {{ default = \"30d\" }}\n"
        );
        let (spec, _) = crate::spec::parse(&text);
        let (graph, found) = build(&spec.expect("a spec"), &text);
        assert!(!crate::diagnostic::has_errors(&found), "{found:?}");
        graph.tables[1].edges.clone()
    }

    #[test]
    fn an_edge_of_parts_means_the_same_as_a_string() {
        for (parts, string) in [
            ("column = \"run_id\", parent = \"run\"", "run_id -> run.uid"),
            (
                "column = \"run_id\", parent = \"run\", on_delete = \"restrict\"",
                "run_id -> run.uid restrict",
            ),
            (
                "column = \"run_id\", type = \"uuid\", parent = \"run\", key = \"uid\", unless = \"-\"",
                "run_id uuid -> run.uid unless '-'",
            ),
        ] {
            let (parts, string) = (
                edges_of(&format!("{{ {parts} }}")),
                edges_of(&format!("\"{string}\"")),
            );
            assert_eq!(parts.len(), 1, "{string:?}");
            assert_eq!(format!("{parts:?}"), format!("{string:?}"));
        }
    }

    #[test]
    fn children_go_before_parents_and_additions_elsewhere_change_nothing() {
        let tables = r#"
m_root = { key = "id integer" }
b_part = { key = "id integer", parents = ["root_id -> m_root.id"] }
z_part = { key = "id integer", parents = ["root_id -> m_root.id"] }
a_leaf = { parents = ["b_id -> b_part.id", "z_id -> z_part.id", "root_id -> m_root.id"], with = "any" }
other  = { key = "id integer" }
"#;
        assert_eq!(order(tables), ["a_leaf", "b_part", "z_part", "m_root"]);
        let more = "c_leaf = { parents = [\"z_id -> z_part.id\", \"other_id -> other.id\"], with = \"any\" }\nd_far = { parents = [\"o -> other.id\"] }\n";
        assert_eq!(
            order(&format!("{tables}{more}")),
            ["a_leaf", "b_part", "c_leaf", "z_part", "m_root"]
        );
    }
}
