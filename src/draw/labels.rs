//! What every picture says of a table and of an edge.

use crate::graph::{Edge, Graph, Literal, Rule, Table, TableId};

/// One arrow: a row of `child` belongs to the row of `parent` that the labelled column names.
pub(super) struct Arrow {
    pub(super) child: TableId,
    pub(super) parent: TableId,
    pub(super) label: String,
    pub(super) hierarchy: bool,
}

pub(super) fn arrows(graph: &Graph, rule: &Rule) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for &child in &rule.order {
        for edge in graph
            .table(child)
            .parents()
            .filter(|edge| rule.order.contains(&edge.parent))
        {
            let hierarchy = is_hierarchy(rule, child, edge);
            arrows.push(Arrow {
                child,
                parent: edge.parent,
                label: edge_label(edge),
                hierarchy,
            });
        }
    }
    arrows.extend(rule.links_within().map(|link| Arrow {
        child: rule.root,
        parent: rule.root,
        label: link.parent.name.clone(),
        hierarchy: true,
    }));
    arrows
}

pub(super) fn is_hierarchy(rule: &Rule, table: TableId, edge: &Edge) -> bool {
    rule.hierarchy.iter().any(|link| {
        link.table == table && [&link.parent.name, &link.child.name].contains(&&edge.column.name)
    })
}

pub(super) fn edge_label(edge: &Edge) -> String {
    match &edge.none {
        None => edge.columns(),
        Some(Literal::Integer(value)) => format!("{} unless {value}", edge.column.name),
        Some(Literal::Text(value)) => format!("{} unless '{value}'", edge.column.name),
    }
}

pub(super) fn heading(table: &Table) -> String {
    let key: Vec<&str> = table
        .key
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    if key.is_empty() {
        table.name.clone()
    } else {
        format!("{} ({})", table.name, key.join(", "))
    }
}

/// Whether the parent of an edge is among the tables of the rule.
pub(super) fn is_within(rule: &Rule, edge: &Edge) -> bool {
    rule.order.contains(&edge.parent)
}

/// Position in the delete order, from 1.
pub(super) fn order(rule: &Rule, id: TableId) -> usize {
    rule.order
        .iter()
        .position(|&other| other == id)
        .map_or(0, |at| at + 1)
}
