//! How a rule deletes: what is deleted and in which order, what keeps families, what is set to NULL.

use super::ways::{Hop, ways};
use crate::graph::{Edge, Final, Graph, Kind, Rule, Strategy, TableId, With};

/// How one rule deletes.
#[derive(Debug)]
pub struct Purge {
    /// Index of the rule in [`Graph::rules`].
    pub rule: usize,
    /// Type that holds every id of a member: the widest of the key and of the columns that link members.
    pub id_kind: Kind,
    /// Whether other columns than the key hold such ids.
    pub linked: bool,
    /// Tables whose keys are collected before anything is deleted, parents first.
    pub collects: Vec<TableId>,
    /// The deletions, children first, the root last.
    pub steps: Vec<Step>,
    /// What keeps families, sorted by table.
    pub keeps: Vec<Keep>,
    /// The rows that families share, sorted by table.
    pub meets: Vec<Meet>,
    /// What is unlinked from rows that are deleted, sorted by table.
    pub releases: Vec<Release>,
}

/// Rows that are kept when the row that they refer to is deleted, and refer to none afterwards.
#[derive(Debug)]
pub struct Release {
    /// Their table.
    pub table: TableId,
    /// The edge to the row that is deleted.
    pub edge: Edge,
    /// One sentence: becomes the comment above the statement.
    pub why: String,
}

/// Rows that keep the families of the rows they name, by one way from there to the root table.
#[derive(Debug)]
pub struct Keep {
    /// From the root table's child down to the table of the rows that keep; where these are to be deleted with all of their
    /// parents, up to one that no rule takes.
    pub hops: Vec<Hop>,
    /// The ways from the root table down to the last table, where only those of its rows keep that no root is above.
    pub without: Vec<Vec<Hop>>,
    /// What a row of the last table must hold to keep nothing; empty where each keeps.
    pub unless: Final,
    /// One sentence: becomes the comment above the query.
    pub why: String,
}

/// Rows that are deleted with all of their parents, and so tie together the families that these belong to.
#[derive(Debug)]
pub struct Meet {
    /// From the root table's child down to the table of those rows, and up again to the root table.
    pub hops: Vec<Hop>,
    /// One sentence: becomes the comment above the query.
    pub why: String,
}

impl Keep {
    /// The rows that keep, with the edge by which they are found.
    pub fn keeper(&self) -> Option<&Hop> {
        self.hops.iter().rfind(|hop| !hop.up)
    }
}

/// The deletion from one table.
#[derive(Debug)]
pub struct Step {
    /// The table.
    pub table: TableId,
    /// The edges through which its rows belong to what is deleted; empty for the root table.
    pub edges: Vec<Edge>,
    /// One sentence: becomes the comment above the statement.
    pub why: String,
}

pub(super) fn purge(graph: &Graph, index: usize, rule: &Rule) -> Purge {
    let steps: Vec<Step> = rule.order.iter().map(|id| step(graph, rule, *id)).collect();
    let releases = releases(graph, rule);
    // Keys are collected for tables that rows of this family, or rows that outlive it, name; from the root downwards.
    let collects = rule
        .order
        .iter()
        .rev()
        .copied()
        .filter(|id| {
            let mut edges = steps.iter().flat_map(|step| &step.edges);
            *id != rule.root
                && (edges.any(|edge| edge.parent == *id)
                    || releases.iter().any(|it| it.edge.parent == *id))
        })
        .collect();
    let root_kind = graph.table(rule.root).key[0].kind;
    let meets = meets(graph, rule);
    let ends = meets.iter().filter_map(|meet| meet.hops.last());
    let ends = ends.filter(|end| end.edge.names_key(graph));
    let links = rule.hierarchy.iter();
    let others: Vec<Kind> = links
        .flat_map(|link| [link.upper().kind, link.child.kind])
        .chain(ends.map(|end| end.edge.column.kind))
        .collect();
    let id_kind = others.iter().copied().fold(root_kind, wider);
    Purge {
        rule: index,
        id_kind,
        linked: !others.is_empty(),
        collects,
        steps,
        keeps: keeps(graph, rule),
        meets,
        releases,
    }
}

fn releases(graph: &Graph, rule: &Rule) -> Vec<Release> {
    let mut releases = Vec::new();
    for (index, table) in graph.tables.iter().enumerate() {
        let edges = table.releases();
        for edge in edges.filter(|edge| rule.order.contains(&edge.parent)) {
            releases.push(Release {
                table: TableId(index),
                edge: edge.clone(),
                why: format!(
                    "{}: rows are kept; they name deleted rows of {} by {}, which becomes NULL.",
                    table.name,
                    graph.table(edge.parent).name,
                    edge.columns()
                ),
            });
        }
    }
    releases
}

fn keeps(graph: &Graph, rule: &Rule) -> Vec<Keep> {
    let mut keeps = Vec::new();
    for (index, table) in graph.tables.iter().enumerate() {
        for edge in table
            .keeps()
            .filter(|edge| rule.order.contains(&edge.parent))
        {
            for mut hops in ways(graph, rule, edge.parent) {
                hops.push(Hop::down(TableId(index), edge));
                keeps.push(Keep {
                    hops,
                    without: Vec::new(),
                    unless: Final::default(),
                    why: format!(
                        "A row of {} keeps the row of {} that {} names.",
                        table.name,
                        graph.table(edge.parent).name,
                        edge.columns()
                    ),
                });
            }
        }
        keeps.extend(unfinished(graph, rule, TableId(index)));
        for (one, other) in rule.joint_parents(TableId(index), table) {
            // What has no row of the root table above it goes by no run.
            let is_of_rule = rule.order.contains(&other.parent);
            if is_of_rule && other.parent == rule.root {
                continue;
            }
            let above = if is_of_rule {
                ways(graph, rule, other.parent)
            } else {
                Vec::new()
            };
            let of_none = if above.is_empty() {
                ""
            } else {
                " of no family"
            };
            for mut hops in ways(graph, rule, one.parent) {
                hops.extend([Hop::down(TableId(index), one), Hop::up(other)]);
                keeps.push(Keep {
                    hops,
                    without: above.clone(),
                    unless: Final::default(),
                    why: format!(
                        "A row of {} that belongs to one of {}{of_none} as well, by {}, is deleted when that one is.",
                        table.name,
                        graph.table(other.parent).name,
                        other.columns()
                    ),
                });
            }
        }
    }
    keeps
}

/// The rows of a table that keep what they belong to for as long as they are not final.
fn unfinished(graph: &Graph, rule: &Rule, id: TableId) -> Vec<Keep> {
    let table = graph.table(id);
    let mut keeps = Vec::new();
    if table.r#final.is_empty() || !matches!(rule.strategy, Strategy::EndTime) {
        return keeps;
    }
    let within = table.parents();
    for edge in within.filter(|edge| rule.order.contains(&edge.parent)) {
        for mut hops in ways(graph, rule, edge.parent) {
            hops.push(Hop::down(id, edge));
            keeps.push(Keep {
                hops,
                without: Vec::new(),
                unless: table.r#final.clone(),
                why: format!(
                    "A row of {} that is not final keeps the row of {} that {} names.",
                    table.name,
                    graph.table(edge.parent).name,
                    edge.columns()
                ),
            });
        }
    }
    keeps
}

fn meets(graph: &Graph, rule: &Rule) -> Vec<Meet> {
    let mut meets = Vec::new();
    for (index, table) in graph.tables.iter().enumerate() {
        let id = TableId(index);
        for (one, other) in rule.joint_parents(id, table) {
            if !rule.order.contains(&other.parent) {
                continue;
            }
            for up in ways(graph, rule, other.parent) {
                for mut hops in ways(graph, rule, one.parent) {
                    hops.extend([Hop::down(id, one), Hop::up(other)]);
                    hops.extend(up.iter().rev().map(|hop| Hop::up(&hop.edge)));
                    meets.push(Meet {
                        hops,
                        why: format!(
                            "{}: a row of the family of {} may belong to another's by {}.",
                            table.name,
                            one.columns(),
                            other.columns()
                        ),
                    });
                }
            }
        }
    }
    meets
}

fn step(graph: &Graph, rule: &Rule, id: TableId) -> Step {
    let table = graph.table(id);
    if rule.drops_partitions() {
        return Step {
            table: id,
            edges: Vec::new(),
            why: format!("{}: whole partitions, once their time is over.", table.name),
        };
    }
    if rule.timed().is_some() {
        return Step {
            table: id,
            edges: Vec::new(),
            why: format!(
                "{}: rows whose {} has come.",
                table.name, rule.end_time.name
            ),
        };
    }
    if rule.single().is_some() && id == rule.root {
        let why = match rule.order.len() {
            1 => "each row for itself",
            _ => "each row with what belongs to it",
        };
        return Step {
            table: id,
            edges: Vec::new(),
            why: format!("{}: {why}.", table.name),
        };
    }
    if id == rule.root {
        return Step {
            table: id,
            edges: Vec::new(),
            why: format!("{}: the members themselves are deleted last.", table.name),
        };
    }
    let edges: Vec<Edge> = table
        .parents()
        .filter(|edge| rule.order.contains(&edge.parent))
        .cloned()
        .collect();
    let mut parents: Vec<&str> = edges
        .iter()
        .map(|edge| graph.table(edge.parent).name.as_str())
        .collect();
    let both_ends = parents.len() == 2 && parents[0] == parents[1];
    parents.dedup();
    let why = if both_ends {
        format!(
            "{}: a link is deleted with either of its ends in {}.",
            table.name, parents[0]
        )
    } else {
        let joint = match table.with {
            With::All => " and ",
            With::Any => " or ",
        };
        format!("{}: rows belong to {}.", table.name, parents.join(joint))
    };
    Step {
        table: id,
        edges,
        why,
    }
}

fn wider(a: Kind, b: Kind) -> Kind {
    let rank = |kind| match kind {
        Kind::Smallint => 1,
        Kind::Integer => 2,
        Kind::Bigint => 3,
        Kind::Numeric => 4,
        Kind::Uuid
        | Kind::Varchar
        | Kind::Char
        | Kind::Bytea
        | Kind::Timestamp
        | Kind::Timestamptz => 0,
    };
    if rank(b) > rank(a) { b } else { a }
}
