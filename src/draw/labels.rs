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
                label: label_of(graph.table(child), edge),
                hierarchy,
            });
        }
    }
    arrows.extend(rule.links_of_root().map(|link| Arrow {
        child: rule.root,
        parent: link.over.as_ref().map_or(rule.root, |over| over.table),
        label: link.parent.name.clone(),
        hierarchy: true,
    }));
    arrows
}

/// What a line of a box says of another table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Port {
    /// The row is deleted with the one that it names.
    Belongs,
    /// It says what the row is below.
    Link,
    /// It keeps the one that it names.
    Keeps,
    /// It is set to NULL when that is deleted.
    Releases,
}

impl Port {
    /// The class of its text and of its arrow.
    pub(super) fn class(self) -> &'static str {
        match self {
            Port::Belongs => "belongs",
            Port::Link => "link",
            Port::Keeps => "keeps",
            Port::Releases => "releases",
        }
    }

    /// What the legend says of it.
    pub(super) fn told(self) -> &'static str {
        match self {
            Port::Belongs => "deleted with the row that the column refers to",
            Port::Link => "links parent and child of one family",
            Port::Keeps => "keeps the row that it refers to",
            Port::Releases => "is kept, and the column is set to NULL",
        }
    }
}

/// A reference to a row of a rule by a row that is not deleted with it: that row keeps the row, or is unlinked from it.
pub(super) struct Referrer<'a> {
    pub(super) child: TableId,
    pub(super) edge: &'a Edge,
    pub(super) port: Port,
    /// What an arrow says, after the columns.
    pub(super) said: &'static str,
    /// What a line of text says between them and the parent.
    pub(super) verb: &'static str,
}

/// What names rows of a rule and keeps these, or outlives them.
pub(super) fn referrers<'a>(graph: &'a Graph, rule: &Rule) -> Vec<Referrer<'a>> {
    let mut found = Vec::new();
    for (at, table) in graph.tables.iter().enumerate() {
        let keeps = table.keeps();
        let keeps = keeps.map(|edge| (edge, Port::Keeps, "keeps it", "keeps"));
        let releases = table.releases();
        let releases = releases.map(|edge| (edge, Port::Releases, "set null", "is unlinked from"));
        for (edge, port, said, verb) in keeps.chain(releases) {
            if is_within(rule, edge) {
                found.push(Referrer {
                    child: TableId(at),
                    edge,
                    port,
                    said,
                    verb,
                });
            }
        }
    }
    found
}

impl Referrer<'_> {
    /// The same as a line of text.
    pub(super) fn line(&self, graph: &Graph) -> String {
        format!(
            "{}: {}  {} {}",
            graph.table(self.child).name,
            edge_label(self.edge),
            self.verb,
            graph.table(self.edge.parent).name
        )
    }
}

/// The tables of these that are not among those of the rule.
pub(super) fn outside(rule: &Rule, referrers: &[Referrer]) -> Vec<TableId> {
    let mut outside: Vec<TableId> = referrers.iter().map(|it| it.child).collect();
    outside.retain(|id| !rule.order.contains(id));
    outside.dedup();
    outside
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

/// The same of an edge of whose rows some may be kept.
fn label_of(table: &Table, edge: &Edge) -> String {
    format!("{}{}", edge_label(edge), some_kept(table))
}

/// What is said after the columns of such an edge.
pub(super) fn some_kept(table: &Table) -> &'static str {
    if table.kept.is_empty() {
        ""
    } else {
        ", some kept"
    }
}

/// Which rows of a table are kept when those that they belong to are deleted, for a line of text; empty where none does.
pub(super) fn kept(table: &Table) -> String {
    let kept: Vec<String> = table.kept.iter().map(ToString::to_string).collect();
    if kept.is_empty() {
        String::new()
    } else {
        format!("  (kept: {})", kept.join(" and "))
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
