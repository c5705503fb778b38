//! The graph as a tree of text.

use std::fmt::Write as _;

use super::labels::{edge_label, heading, kept, order, referrers};
use crate::graph::{Edge, Graph, Rule, TableId};

/// Draws trees for the terminal, one per rule, with the delete order in brackets.
pub fn text(graph: &Graph) -> String {
    let mut out = format!("{}: {}\n", graph.name, graph.title);
    for rule in &graph.rules {
        let _ = write!(out, "\nrule {}\n\n", rule.name);
        if let Some(sql) = &rule.where_sql {
            let what = if rule.knows_final() { "final" } else { "rows" };
            let _ = write!(
                out,
                "{what} where {sql} (SQL that windrow does not read)\n\n"
            );
        }
        let mut seen = Vec::new();
        branch(graph, rule, rule.root, "", "", &[], &mut seen, &mut out);
        // A rule by time may have tables besides the families.
        for &id in rule.order.iter().rev() {
            if !seen.contains(&id) {
                branch(graph, rule, id, "", "", &[], &mut seen, &mut out);
            }
        }
        for it in referrers(graph, rule) {
            let _ = writeln!(out, "\n{}", it.line(graph));
        }
    }
    if !graph.ignored.is_empty() {
        out += "\nleft alone\n\n";
        for ignored in &graph.ignored {
            let _ = writeln!(out, "{}: {}", ignored.table, ignored.reason);
        }
    }
    out += "\n[n] is the delete order; the names after a table are its columns that refer to the parent\n";
    out
}

#[expect(
    clippy::too_many_arguments,
    reason = "recursion over one tree, in one place"
)]
fn branch(
    graph: &Graph,
    rule: &Rule,
    id: TableId,
    lead: &str,
    fork: &str,
    edges: &[&Edge],
    seen: &mut Vec<TableId>,
    out: &mut String,
) {
    let table = graph.table(id);
    let again = seen.contains(&id);
    let columns: Vec<String> = edges.iter().map(|edge| edge_label(edge)).collect();
    let _ = write!(out, "{lead}{fork}[{}] {}", order(rule, id), heading(table));
    if !columns.is_empty() {
        let _ = write!(out, "  {}", columns.join(", "));
    }
    if id != rule.root {
        out.push_str(&kept(table));
    }
    if let Some(link) = rule.hierarchy.iter().find(|link| link.table == id) {
        let _ = match &link.over {
            Some(over) => write!(
                out,
                "  (hierarchy: {} -> {}.{})",
                link.parent.name,
                graph.table(over.table).name,
                over.names.name
            ),
            None => write!(
                out,
                "  (hierarchy: {} has {})",
                link.parent.name, link.child.name
            ),
        };
    }
    out.push_str(if again { "  (see above)\n" } else { "\n" });
    if again {
        return;
    }
    seen.push(id);
    let lead = match fork {
        "" => lead.to_owned(),
        "└─ " => format!("{lead}   "),
        _ => format!("{lead}│  "),
    };
    let children: Vec<TableId> = rule
        .order
        .iter()
        .copied()
        .filter(|&child| child != id && graph.table(child).parents().any(|edge| edge.parent == id))
        .collect();
    for (at, &child) in children.iter().enumerate() {
        let edges: Vec<&Edge> = graph
            .table(child)
            .parents()
            .filter(|edge| edge.parent == id)
            .collect();
        let fork = if at + 1 == children.len() {
            "└─ "
        } else {
            "├─ "
        };
        branch(graph, rule, child, &lead, fork, &edges, seen, out);
    }
}
