//! The graph in the languages of programs that draw: Graphviz and Mermaid.

use std::fmt::Write as _;

use super::labels::{arrows, edge_label, heading, order, outside, referrers};
use crate::graph::{Graph, Rule};

/// Draws the graph in the language of Graphviz.
pub fn dot(graph: &Graph) -> String {
    let mut out = format!("digraph {} {{\n", dot_text(&graph.name));
    out += "    rankdir=RL;\n    node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=monospace];\n";
    out += "    edge [fontname=monospace, fontsize=10];\n";
    for (at, rule) in graph.rules.iter().enumerate() {
        let _ = write!(
            out,
            "\n    subgraph cluster_{at} {{\n        label={};\n",
            dot_text(&rule.name)
        );
        for &id in &rule.order {
            let label = format!("{}. {}", order(rule, id), heading(graph.table(id)));
            let fill = if id == rule.root {
                ", fillcolor=\"#fde68a\""
            } else {
                ""
            };
            let _ = writeln!(
                out,
                "        r{at}_t{} [label={}{fill}];",
                id.0,
                dot_text(&label)
            );
        }
        for arrow in arrows(graph, rule) {
            let style = if arrow.hierarchy {
                ", style=dashed"
            } else {
                ""
            };
            let (child, parent, label) = (arrow.child.0, arrow.parent.0, dot_text(&arrow.label));
            let _ = writeln!(
                out,
                "        r{at}_t{child} -> r{at}_t{parent} [label={label}{style}];"
            );
        }
        let node =
            |id: usize, label: &str| format!("        r{at}_t{id} [label={}];\n", dot_text(label));
        let arrow = |child: usize, parent: usize, label: &str| {
            let label = dot_text(label);
            format!("        r{at}_t{child} -> r{at}_t{parent} [label={label}, style=dotted];\n")
        };
        out += &around(graph, rule, node, arrow);
        out += "    }\n";
    }
    out += "}\n";
    out
}

/// Draws the graph in the language of Mermaid, for Markdown.
pub fn mermaid(graph: &Graph) -> String {
    let mut out = String::from("flowchart RL\n");
    for (at, rule) in graph.rules.iter().enumerate() {
        let _ = writeln!(out, "    subgraph r{at} [\"{}\"]", mermaid_text(&rule.name));
        for &id in &rule.order {
            let label = format!("{}. {}", order(rule, id), heading(graph.table(id)));
            let _ = writeln!(out, "        r{at}_t{}[\"{}\"]", id.0, mermaid_text(&label));
        }
        for arrow in arrows(graph, rule) {
            let line = if arrow.hierarchy { "-.->" } else { "-->" };
            let (child, parent, label) =
                (arrow.child.0, arrow.parent.0, mermaid_text(&arrow.label));
            let _ = writeln!(
                out,
                "        r{at}_t{child} {line}|\"{label}\"| r{at}_t{parent}"
            );
        }
        let node =
            |id: usize, label: &str| format!("        r{at}_t{id}[\"{}\"]\n", mermaid_text(label));
        let arrow = |child: usize, parent: usize, label: &str| {
            let label = mermaid_text(label);
            format!("        r{at}_t{child} -.->|\"{label}\"| r{at}_t{parent}\n")
        };
        out += &around(graph, rule, node, arrow);
        out += "    end\n";
        let _ = writeln!(
            out,
            "    style r{at}_t{} fill:#fde68a,stroke:#b45309",
            rule.root.0
        );
    }
    out
}

/// What names rows of a rule and is not deleted with them: the tables that are not the rule's, and the arrows.
fn around(
    graph: &Graph,
    rule: &Rule,
    node: impl Fn(usize, &str) -> String,
    arrow: impl Fn(usize, usize, &str) -> String,
) -> String {
    let referrers = referrers(graph, rule);
    let nodes = outside(rule, &referrers).into_iter();
    let nodes = nodes.map(|id| node(id.0, &heading(graph.table(id))));
    let arrows = referrers.iter().map(|it| {
        let label = format!("{}, {}", edge_label(it.edge), it.said);
        arrow(it.child.0, it.edge.parent.0, &label)
    });
    nodes.chain(arrows).collect()
}

fn dot_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn mermaid_text(text: &str) -> String {
    text.replace('&', "#amp;")
        .replace('"', "#quot;")
        .replace('<', "#lt;")
        .replace('>', "#gt;")
}
